"""What the arms of an experiment predicted for its test cases, whatever its kind, and their scores.

| symbol | name | shape |
|---|---|---|
| N | predictions of an arm: test cases, each as often as it was tested | |
| K | classes | |
| P(class) | `probability` | (N, K) |
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from thesiskit.report import metrics

MOST_LINES = 12  # of scores on the terminal
BORDER = 0.01  # p-values below it speak against calibration
CAREFUL, SURE, WELL = "too careful", "too sure", "nothing against"


@dataclass(frozen=True)
class Tested:
    """The test cases, in the order of the predictions.

    Attributes
    ----------
    response : (N,) codes of classes, or real responses.
    ids : (N,) what the cases are called.
    unit : (N,) the number of the case: a case that is tested twice has one number.
    division : for each column that tells how cases were divided, (N,) numbers from 1.
    classes : what the classes are called; none of real responses.
    base : (N, K) frequencies of the classes in the training cases.
    named : whether classes have names, not only numbers.
    """

    response: np.ndarray
    ids: np.ndarray
    unit: np.ndarray
    division: dict[str, np.ndarray]
    classes: list[str]
    base: np.ndarray
    named: bool = True

    @cached_property
    def repeat(self) -> np.ndarray:
        """How often a case was tested before, (N,)."""
        order = np.argsort(self.unit, kind="stable")
        _, first, counts = np.unique(self.unit[order], return_index=True, return_counts=True)
        result = np.empty(len(order), dtype=np.int64)
        result[order] = np.arange(len(order)) - np.repeat(first, counts)
        return result

    def by_case(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values (N,) for each distinct case."""
        _, place, counts = np.unique(self.unit, return_inverse=True, return_counts=True)
        return np.bincount(place, values) / counts


@dataclass(frozen=True)
class Forecast:
    """What an arm predicted.

    keys : what it is, for the columns of tables.
    name : what it is, in a few words.
    own : whether it is one of ours, not another method to compare with.
    linear : whether it is a regularised logistic regression.
    """

    keys: dict[str, Any]
    name: str
    probability: np.ndarray
    own: bool = True
    linear: bool = False


@dataclass(frozen=True)
class Score:
    """How well an arm predicted: means, intervals of 95 %, and whether it kept its promises."""

    name: str
    wrong: np.ndarray = field(repr=False)  # (N,) whether a prediction is wrong
    risk: np.ndarray = field(repr=False)  # (N,) the probability of that, by the arm itself
    loss: np.ndarray = field(repr=False)  # (N,) minus log probability of the actual class
    tested: Tested = field(repr=False)

    @property
    def error(self) -> float:
        """Error rate."""
        return float(self.wrong.mean())

    @property
    def expected(self) -> float:
        """Error rate that the predictions promise."""
        return float(self.risk.mean())

    @property
    def amlp(self) -> float:
        """Average minus log probability."""
        return float(self.loss.mean())

    @property
    def error_interval(self) -> tuple[float, float]:
        """Wilson's interval of the error rate, over distinct cases."""
        return metrics.wilson(self.error, len(np.unique(self.tested.unit)))

    @property
    def amlp_interval(self) -> tuple[float, float]:
        """The normal interval of AMLP, over distinct cases."""
        half = 1.96 * metrics.standard_error(self.tested.by_case(self.loss))
        return max(0.0, self.amlp - half), self.amlp + half

    @cached_property
    def p_value(self) -> float:
        """The p-value of as many errors as were made, if the predictions are calibrated.

        If cases are tested several times, it is twice the median of the p-values of the
        repetitions, which holds however they depend on each other.
        """
        repeat = self.tested.repeat
        found = [
            metrics.errors_p_value(self.risk[repeat == r], int(self.wrong[repeat == r].sum()))
            for r in range(repeat.max() + 1)
        ]
        return found[0] if len(found) == 1 else min(1.0, 2 * float(np.median(found)))

    @property
    def verdict(self) -> str:
        """Whether the predictions are well calibrated."""
        if self.p_value >= BORDER:
            return WELL
        return SURE if self.wrong.sum() > self.risk.sum() else CAREFUL

    def less(self, other: "Score") -> tuple[float, float]:
        """Return the AMLP less that of another arm, and the standard error of the difference."""
        difference = self.tested.by_case(self.loss - other.loss)
        return float(difference.mean()), metrics.standard_error(difference)


def score(tested: Tested, name: str, probability: np.ndarray) -> Score:
    """Return the scores of predictions (N, K)."""
    top = probability[:, -1] >= 0.5 if probability.shape[1] == 2 else probability.argmax(axis=1)
    return Score(
        name,
        wrong=top != tested.response,
        risk=1 - probability.max(axis=1),
        loss=metrics.log_losses(probability, tested.response),
        tested=tested,
    )


def headline(scores: list[tuple[Forecast, Score]]) -> list[str]:
    """Return lines with the scores of arms; of many arms, those with the lowest AMLP."""
    scores = [pair for pair in scores if not np.isnan(pair[1].amlp)]  # some predict nothing
    few = scores
    if len(scores) > MOST_LINES:
        best = sorted(scores, key=lambda pair: pair[1].amlp)[:MOST_LINES]
        chosen = {id(found) for _, found in best}
        few = [pair for pair in scores if id(pair[1]) in chosen]
    rows = [
        (one.name, f"{found.error:.3f}", f"{found.expected:.3f}", f"{found.amlp:.3f}")
        for one, found in few
    ]
    return aligned(["", "error", "expected", "AMLP"], rows) + (
        [f"(the best {len(few)} of {len(scores)} by AMLP)"] if len(few) < len(scores) else []
    )


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for the terminal; the first column is of words."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (header, *rows)
    ]
