"""What is known of the features that were left out of a selection.

| thesis | name | shape |
|---|---|---|
| N_0, N_1 of a feature | `rows[:, 0]`, `rows[:, 1]` | (D,) |
| p - k | `LeftOut.total` | |
| gamma^2 | `gamma_squared`, a Fraction | |

Section "Our Method for Avoiding Selection Bias".  The event S is that these features were not
kept.  Where a threshold was given beforehand, each of them has |COR| <= gamma.  Where k features
were kept, gamma is the |COR| of the weakest of them, and on discrete data others can have the same:
of the T features with |COR| = gamma, m were kept by lot, and t = T - m were not.  The selection
knows t; then the others are below gamma.  In a table that somebody else has screened, t is not
known.  With e = P(|COR| = gamma), s = P(|COR| < gamma) of one feature and d = p - k,

    P(S) = (e + s)^d                                            for a threshold,
    P(S) = e^t s^(d - t)                                        where t is known,
    P(S) = sum over t of C(d, t) e^t s^(d - t) / C(m + t, m)    where it is not,

up to factors without parameters.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

WITHIN, BELOW, AT, LOT = range(4)  # |COR| <= gamma, < gamma, = gamma; not known how many are equal


@dataclass(frozen=True)
class LeftOut:
    """The features left out.

    Attributes
    ----------
    rows : (D, 4) whole numbers: the cases of class 0 and of class 1 that have a feature, which of
        the events WITHIN, BELOW, AT and LOT it is, and of how many features.
    gamma_squared : the square of gamma.
    tied_kept : of LOT, m: how many features with |COR| = gamma were kept.
    """

    rows: np.ndarray
    gamma_squared: Fraction
    tied_kept: int = 0

    @property
    def total(self) -> int:
        """How many features were left out, p - k."""
        return int(self.rows[:, 3].sum())

    @classmethod
    def of(
        cls, counts: dict[int, int], class_counts: tuple[int, int], gamma_squared: Fraction,
        tied_kept: int = 0,
    ) -> "LeftOut":  # fmt: skip
        """Return features that all have the same cases: how many there are, by event."""
        rows = [[*class_counts, event, count] for event, count in counts.items() if count]
        return cls(np.array(rows, dtype=np.int64).reshape(-1, 4), gamma_squared, tied_kept)


@dataclass(frozen=True)
class Screened:
    """A table that somebody kept from more features.

    of : how many features there were before.
    gamma_squared : the square of the threshold that the kept ones were above; None if the best
        were kept, so that gamma is the smallest |COR| in the table.
    """

    of: int
    gamma_squared: Fraction | None = None
