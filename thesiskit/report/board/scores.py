"""The scores of every arm on every table of a study, and how it stands against tuned ridge.

| symbol | name | shape |
|---|---|---|
| A | arms | |
| S | tables | |
| error rate, promised error rate, AMLP | `values` | (A, S, 3) |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # scipy.stats takes seconds: it is loaded at its first use

from thesiskit.report import metrics
from thesiskit.report.forecasts import Score
from thesiskit.report.record import TEMPERED, WHOLE, Arm, Record

ERROR, PROMISED, AMLP = range(3)
SURE = 2.0  # standard errors between two methods that clearly differ on a table


class Mean(NamedTuple):
    """A mean over tables, with its interval of 95 %."""

    value: float
    low: float
    high: float


class Against(NamedTuple):
    """AMLP less that of a rival, on the tables that both predict.

    difference : its mean over tables.
    lower, higher : the numbers of tables on which it is lower, and higher.
    clearly_lower, clearly_higher : those where it is so by more than SURE standard errors over
        cases.
    """

    difference: Mean
    lower: int
    higher: int
    clearly_lower: int
    clearly_higher: int


@dataclass(frozen=True)
class Board:
    """The scores of the arms; those of an arm that does not predict a table are NaN."""

    names: list[str]
    arms: list[Arm]
    scores: list[list[Score]]  # by arm, then by table

    @cached_property
    def values(self) -> np.ndarray:
        """Error rate, promised error rate and AMLP of each arm on each table, (A, S, 3)."""
        found = np.array(
            [[(one.error, one.expected, one.amlp) for one in row] for row in self.scores]
        )
        return np.where(np.isnan(found[:, :, [AMLP]]), np.nan, found)

    @cached_property
    def predicts(self) -> np.ndarray:
        """Which tables an arm predicts, (A, S)."""
        return np.isfinite(self.values[:, :, AMLP])

    @cached_property
    def rival(self) -> int:
        """The row of tuned ridge."""
        return next(i for i, arm in enumerate(self.arms) if arm.method == WHOLE)

    def mean(self, arm: int, measure: int) -> Mean:
        """Return the mean of a measure over the tables that an arm predicts."""
        values = self.values[arm, :, measure]
        return interval(values[np.isfinite(values)])

    def within(self, arm: int) -> float:
        """Return the standard error of the mean AMLP over cases, the tables being these."""
        errors = [
            metrics.standard_error(one.tested.by_case(one.loss))
            for one, known in zip(self.scores[arm], self.predicts[arm], strict=True)
            if known
        ]
        return float(np.sqrt(np.square(errors).sum()) / len(errors))

    def against(self, arm: int) -> Against:
        """Return how an arm stands against tuned ridge."""
        both = np.flatnonzero(self.predicts[arm] & self.predicts[self.rival])
        pairs = [self.scores[arm][s].less(self.scores[self.rival][s]) for s in both]
        difference, error = np.array(pairs).T
        clear = np.abs(difference) > SURE * error
        return Against(
            interval(difference),
            int((difference < 0).sum()),
            int((difference > 0).sum()),
            int((clear & (difference < 0)).sum()),
            int((clear & (difference > 0)).sum()),
        )

    @property
    def lowest(self) -> int:
        """The row of the arm with the lowest mean AMLP, of those that predict all tables."""
        mean = np.where(self.predicts.all(axis=1), self.values[:, :, AMLP].sum(axis=1), np.inf)
        return int(mean.argmin())


def interval(values: np.ndarray) -> Mean:
    """Return the mean of the values of some tables, with Student's interval of 95 %."""
    mean, error = float(values.mean()), metrics.standard_error(values)
    half = error * scipy.stats.t.ppf(0.975, max(1, len(values) - 1))
    return Mean(mean, mean - half, mean + half)


def tempered(arm: Arm) -> bool:
    """Whether the log odds of an arm are divided by a temperature."""
    return arm.temperature == TEMPERED


@lru_cache(maxsize=1)
def board_of(study: Record) -> Board:
    """Return the scores of a study."""
    by_table = [[score for _, score in table.scores()] for table in study.tables.values()]
    return Board(list(study.tables), study.arms, [list(row) for row in zip(*by_table, strict=True)])
