"""One row for each number that the thesis prints, with its place among replicates.

A number from the one data set of the thesis is compared with R data sets of ours.  If it comes
from the same distribution, all R + 1 ranks are equally likely.  It is outside 99 % if fewer than
k = floor((R + 1) / 200) of ours are at most as large, or at least as large.  With fewer than 199
replicates k is 0; then the row only says whether the number is beyond all replicates.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

TAIL = 200  # 1 / 0.005: half of what 99 % leaves out

PRINTED, INSIDE, OUTSIDE = "as printed", "inside 99 %", "outside 99 %"
BEYOND, DIFFERS, NOT_COMPARABLE = "beyond all", "differs", "not comparable"
UNKNOWN = "no reason known"


@dataclass(frozen=True)
class Spread:
    """Where a printed number lies among replicates.

    low, high : the 0.5 and 99.5 % quantiles, or the least and the most where replicates are fewer
        than 199.
    percentile : of the printed number, in %; equal ones count half.
    chance : probability that a number from the same distribution is outside; at most that.
    """

    mean: float
    sd: float
    low: float
    high: float
    percentile: float
    replicates: int
    verdict: str
    chance: float


@dataclass(frozen=True)
class Row:
    """A number that the thesis prints, and what we find.

    key : of numbers.yaml, such as naive_simulation.gamma.10.
    thesis : as printed; here : what is found where that is not a distribution.
    way : the rule or sampler that gave `spread`, `sound_way` that of `sound`: where the thesis's
        own is a poor one, the one we trust.
    """

    key: str
    what: str
    kind: str
    thesis: Any
    verdict: str
    here: Any = ""
    spread: Spread | None = None
    way: str = ""
    sound: Spread | None = None
    sound_way: str = ""
    reason: str = ""

    @property
    def experiment(self) -> str:
        """The part of numbers.yaml it is from."""
        return self.key.partition(".")[0]


def spread(printed: float, values: np.ndarray, decimals: int | None = None) -> Spread | None:
    """Place a printed number among replicates (R,); None where none of them has a number.

    decimals : as many as the thesis prints, to which ours are rounded, so that equal ones tie.
    """
    values = np.asarray(values, dtype=float)
    values = np.sort(values[~np.isnan(values)])
    if not len(values):
        return None
    rounded = values if decimals is None else np.round(values, decimals)
    below, equal = int((rounded < printed).sum()), int((rounded == printed).sum())
    n = len(values)
    k = (n + 1) // TAIL
    low, high = rounded[max(k, 1) - 1], rounded[n - max(k, 1)]
    within = low <= printed <= high
    return Spread(
        mean=float(rounded.mean()),
        sd=float(values.std(ddof=1)) if n > 1 else float("nan"),
        low=float(low),
        high=float(high),
        percentile=100 * (below + equal / 2) / n,
        replicates=n,
        verdict=INSIDE if within else OUTSIDE if k else BEYOND,
        chance=2 * k / (n + 1),
    )


def replicated(key: str, what: str, printed: float, values: np.ndarray, decimals: int) -> Row:
    """Return the row of a number that differs from data set to data set."""
    found = spread(printed, values, decimals)
    if found is None:
        return Row(key, what, "replicated", printed, NOT_COMPARABLE, "in no replicate")
    return Row(key, what, "replicated", printed, found.verdict, spread=found)


def statement(key: str, what: str, holds: np.ndarray) -> Row:
    """Return the row of what the thesis says of its data set; holds (R,) in each of ours.

    Outside where it holds in none of 99 replicates or more, or in so few of them.
    """
    n, true = len(holds), int(np.sum(holds))
    k = (n + 1) // (TAIL // 2)
    verdict = INSIDE if true >= max(k, 1) else OUTSIDE if k else BEYOND
    found = f"in {true:,} of {n:,}"
    where = Spread(true / n, float("nan"), float("nan"), float("nan"), float("nan"), n, verdict,
                   k / (n + 1))  # fmt: skip
    return Row(key, what, "statement", "holds", verdict, found, spread=where)


def setting(key: str, what: str, printed: Any, here: Any) -> Row:
    """Return the row of a setting: it is the same here, or it is not."""
    return Row(key, what, "setting", printed, PRINTED if same(printed, here) else DIFFERS, here)


def exact(key: str, what: str, printed: float, here: float, decimals: int) -> Row:
    """Return the row of a number that can be computed, compared to the digits printed."""
    coarse = Decimal(repr(printed)).normalize().as_tuple().exponent
    assert isinstance(coarse, int)
    unit = 10.0 ** (coarse if coarse > 1 else -decimals)
    right = abs(here - printed) <= unit / 2 * (1 + 1e-9)
    return Row(key, what, "exact", printed, PRINTED if right else DIFFERS, float(here))


def aside(key: str, what: str, kind: str, printed: Any, here: Any = "", reason: str = "") -> Row:
    """Return the row of what cannot be compared."""
    return Row(key, what, kind, printed, NOT_COMPARABLE, here, reason=reason)


def same(printed: Any, here: Any) -> bool:
    """Whether two settings are equal; numbers to eight digits."""
    if isinstance(printed, list) and isinstance(here, list):
        return len(printed) == len(here) and all(map(same, printed, here))
    if isinstance(printed, int | float) and isinstance(here, int | float):
        return bool(np.isclose(printed, here, rtol=1e-8, atol=0))
    return printed == here
