"""What the groups of patterns add to the linear function of a test case.

| thesis | name | shape |
|---|---|---|
| s_g, of groups whose patterns the case expresses all | `whole` groups | (.) |
| E s_g^t, of groups that it expresses in part | share times s_g | (D, S, .) |

Sections "Splitting Compressed Parameters" and "Making Prediction for a Test Case".  Shares are
expectations given each draw; the patterns that no training case expresses add 0 in expectation.
So the contributions of all groups add up to `agreement.expected`, draw by draw.
"""

from functools import cached_property

import numpy as np

from thesiskit.models.logistic.agreement import shares
from thesiskit.models.patterns import Shared

AT_ONCE = 4_000_000  # numbers held at once


class Contributions:
    """The groups that one test case shares, and what they add to its linear functions.

    coefficient (D, S, G) and log_sigma (D, O + 1) are draws; case : the row of `shared`.
    groups (M,) : those of which the case expresses a pattern.
    """

    def __init__(
        self,
        coefficient: np.ndarray,
        log_sigma: np.ndarray,
        shared: Shared,
        case: int,
        *,
        cauchy: bool,
    ):
        self.coefficient = coefficient
        whole = shared.whole[shared.whole_begin[case] : shared.whole_begin[case + 1]]
        part = slice(shared.partial_begin[case], shared.partial_begin[case + 1])
        self.groups = np.concatenate([whole, shared.partial[part]]).astype(np.intp)
        kinds, kind = np.unique(shared.partial_kind[part], return_inverse=True)
        ones = np.ones((len(log_sigma), 1))
        partly = shares(shared, kinds, log_sigma, cauchy=cauchy)
        self._ratio = np.hstack([ones, partly])  # (D, 1 + kinds)
        self._column = np.concatenate([np.zeros(len(whole), dtype=np.intp), 1 + kind.reshape(-1)])

    def values(self, places) -> np.ndarray:
        """Return draws of what groups[places] add, (D, S, len(places))."""
        ratio = self._ratio[:, None, self._column[places]]
        return self.coefficient[:, :, self.groups[places]].astype(float) * ratio

    @property
    def share(self) -> np.ndarray:
        """Means of the shares of the groups' sums that the case expresses, (M,)."""
        return self._ratio.mean(axis=0)[self._column]

    @cached_property
    def _summed(self) -> tuple[np.ndarray, np.ndarray]:
        draws, sets, _ = self.coefficient.shape
        mean, total = np.empty((sets, len(self.groups))), np.zeros((draws, sets))
        step = max(1, AT_ONCE // (draws * sets))
        for start in range(0, len(self.groups), step):
            places = np.arange(start, min(start + step, len(self.groups)))
            values = self.values(places)
            mean[:, places] = values.mean(axis=0)
            total += values.sum(axis=2)
        return mean, total

    @property
    def mean(self) -> np.ndarray:
        """Means over the draws of what each group adds, (S, M)."""
        return self._summed[0]

    @property
    def total(self) -> np.ndarray:
        """The linear functions, (D, S): the sums over all groups."""
        return self._summed[1]
