"""What is known of the features that a selection left out.

| thesis | name | shape |
|---|---|---|
| (n_0, n_1, event, number of such features) | `LeftOut.rows` | (D, 4) |
| gamma^2 | `LeftOut.gamma_squared`, a Fraction | |

Sections "Our Method for Avoiding Selection Bias" and "Computation of the Adjustment Factor ...".
The thesis knows one event, |COR| <= gamma.  Where a number of features is kept, the ones that tie
with the weakest kept one are known too, or at least that lots were drawn among them.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

WITHIN, BELOW, AT, LOT = range(4)


@dataclass(frozen=True)
class LeftOut:
    """Features that were left out, and what their correlations are known to be.

    rows (D, 4) are n0, n1, event and count: the cases of each class that have the feature, what is
    known of its COR^2, and how many such features there are.  Events: WITHIN, COR^2 <= gamma^2;
    BELOW, COR^2 < gamma^2; AT, COR^2 = gamma^2; LOT, COR^2 <= gamma^2, and it is not known how many
    of them tie with gamma and lost a draw by lot against `tied_kept` kept features that tie too.
    """

    rows: np.ndarray
    gamma_squared: Fraction
    tied_kept: int = 0

    @property
    def total(self) -> int:
        """How many features were left out."""
        return int(self.rows[:, 3].sum())


@dataclass(frozen=True)
class Screened:
    """How a table was made by somebody who kept only some features.

    of : features there were before.
    gamma_squared : those with COR^2 > gamma_squared were kept; None where the best were kept, so
        that gamma is the smallest |COR| in the table.
    """

    of: int
    gamma_squared: Fraction | None
