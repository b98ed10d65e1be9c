"""Tables of the mixture model: marginals of features, and adjustment factors.

Integrated over phi and theta, a feature enters through its ones in all and in component 1; the
adjustment factor (adjust-factor-mix) depends on the labels through four counts, two of which are
free.  Both are tables by component size and alpha, computed when first met (kernel
`mixture`).  Appendix 2 of chapter 2.

The thesis's factor is P(|COR| <= gamma)^d.  Where it is known which of the d features left out tie
with gamma, it is a product of P(|COR| < gamma) and P(|COR| = gamma); where lots were drawn among
unknown ties, a sum of such products (`log_lot` of the kernel).
"""

from fractions import Fraction
from math import isqrt

import numpy as np
from scipy import special

from thesiskit._kernels import mixture as kernel  # type: ignore[attr-defined]
from thesiskit._kernels.mixture import Discards
from thesiskit.defaults import TABLE_SAMPLES
from thesiskit.errors import DataError, UserError
from thesiskit.models.integrals import theta_rule
from thesiskit.models.selection import AT, BELOW, LOT, WITHIN, LeftOut, reach

BLOCK_BYTES = 3 << 26  # of marginals at nodes for alpha kept, by each thread
POOL_BYTES = 1 << 27  # of marginals at points of the grid
ENOUGH, MORE = 40, 60  # nodes for alpha, times the distance from the poles
KEPT = 4  # sets of marginals, and of adjustment factors, of different data


def check_samples(n: int) -> None:
    """Say so if there are more training samples than tables serve."""
    if n > TABLE_SAMPLES:
        raise UserError(
            f"the mixture model takes at most {TABLE_SAMPLES} training samples, got {n}. Fix: "
            "use fewer samples, or the naive Bayes model"
        )


class Tables:
    """Marginals and adjustment factors for n samples and a grid of alpha, kept while they serve.

    They depend on no feature, so that fits to equally many samples can share them; one thread at a
    time may use them.
    """

    def __init__(self, n: int, alpha: np.ndarray, *, block_bytes: int = BLOCK_BYTES):
        check_samples(n)
        self.n, self.alpha, self.block_bytes = n, alpha, block_bytes
        self.node, self.interpolation = interpolation(alpha, n)
        self.log_factorial = special.gammaln(np.arange(n + 1) + 1.0)
        self._marginals: dict[bytes, kernel.Marginals] = {}
        self._counted: dict[str, kernel.Marginals] = {}
        self._chances: dict[tuple, tuple[kernel.Chances, ...]] = {}
        self._discards: dict[tuple, Discards] = {}

    def marginals(self, totals: np.ndarray) -> kernel.Marginals:
        """Return log m of features with these totals, which are sorted."""
        return recent(
            self._marginals, totals.tobytes(), lambda: self._make_marginals(totals, "exact")
        )

    def _make_marginals(
        self, totals: np.ndarray, quadrature: str, *, counted: bool = False, tied: bool = False
    ) -> kernel.Marginals:
        """Return marginals of features with these totals; of ties, counted, and at more nodes."""
        node, matrix = self.node, self.interpolation
        if tied:
            node, matrix = interpolation(self.alpha, self.n, MORE)
        return kernel.Marginals(
            self.n,
            counted,
            node,
            matrix,
            theta_rule(quadrature, self.n),
            self.log_factorial,
            totals.astype(np.intp),
            self.block_bytes // 8 if tied else self.block_bytes,  # few totals have ties
            0 if counted else POOL_BYTES,  # the counted ones are read at the nodes only
        )

    def discards(
        self, class_counts: tuple[int, int], left_out: LeftOut, quadrature: str = "exact"
    ) -> Discards:
        """Return the adjustment factors for these class counts and these features left out.

        Equations adjust-factor-mix, prob-n01-n11-z and prob-mix-n01-n11 of one feature, theta
        integrated exactly; those of all are eq-cor-lik.  `log_discards(c10, c11, result)` writes
        the log at each alpha, where c1y samples of class y are in component 1.

        Raises DataError if the features were seen in other samples, or ties are impossible.
        """
        key = (left_out.rows.tobytes(), left_out.gamma_squared, left_out.tied_kept)
        return recent(
            self._discards,
            (class_counts, *key, quadrature),
            lambda: self._make_discards(class_counts, left_out, quadrature),
        )

    def _make_discards(self, class_counts, left_out: LeftOut, quadrature) -> Discards:
        count = count_events(left_out, class_counts)
        cut, tied_kept = left_out.gamma_squared, left_out.tied_kept
        above = reaching = equal = None
        at = (class_counts, cut, quadrature)
        if count[WITHIN]:
            key = (*at, False)
            (above,) = recent(self._chances, key, lambda: self._make_chances(*key))
        if count[[BELOW, AT, LOT]].any():
            key = (*at, True)
            reaching, equal = recent(self._chances, key, lambda: self._make_chances(*key))
        # log C(d + m, m), without the cancellation of large logarithms
        smaller, larger = sorted((int(count[LOT]), tied_kept))
        log_choices = float(np.log1p(larger / np.arange(1, smaller + 1)).sum())
        return Discards(
            *class_counts,
            len(self.alpha),
            above,
            reaching,
            equal,
            count,
            tied_kept,
            log_choices,
        )

    def _make_chances(
        self, class_counts: tuple[int, int], cut: Fraction, quadrature: str, ties: bool
    ) -> tuple:
        """Return chances that |COR| is above the cut, or that it reaches and that it equals it."""
        if quadrature not in self._counted:
            totals = np.arange(self.n // 2 + 1)
            self._counted[quadrature] = self._make_marginals(totals, quadrature, counted=True)
        counted = self._counted[quadrature]
        high, low = _retained_from(*class_counts, cut)
        if not ties:
            return (kernel.Chances(*class_counts, counted, high, low, False),)
        up, down = _tied_at(*class_counts, cut)
        totals = np.flatnonzero((up <= class_counts[1]) | (down >= 0))
        tied = self._make_marginals(totals, quadrature, counted=True, tied=True)
        equal = kernel.Chances(*class_counts, tied, up, down, True)
        if cut == 0:  # each feature reaches it
            return None, equal
        high, low = np.minimum(high, up), np.maximum(low, down)
        return kernel.Chances(*class_counts, counted, high, low, False), equal


def count_events(left_out: LeftOut, class_counts: tuple[int, int]) -> np.ndarray:
    """Return how many features were left out, by event, (4,); raise if that cannot be."""
    rows = left_out.rows
    if len(rows) and (rows[:, :2] != class_counts).any():
        raise DataError(
            f"the dropped features were observed in {rows[0, 0]} and {rows[0, 1]} samples of the "
            f"classes, but there are {class_counts[0]} and {class_counts[1]}: the mixture model "
            "does not accept missing values"
        )
    count = np.bincount(rows[:, 2], rows[:, 3], minlength=4)
    up, down = _tied_at(*class_counts, left_out.gamma_squared)
    if (count[AT] and (up > class_counts[1]).all() and (down < 0).all()) or (
        count[BELOW] and left_out.gamma_squared == 0
    ):
        raise DataError(
            f"no feature of {class_counts[0]} and {class_counts[1]} samples can be dropped like "
            f"this: gamma^2 = {left_out.gamma_squared}"
        )
    return count


def recent(values_by_key: dict, key, make):
    """Return known[key], made if it is not there; forget what was not asked for lately."""
    value = values_by_key.pop(key) if key in values_by_key else make()
    values_by_key[key] = value
    if len(values_by_key) > KEPT:
        del values_by_key[next(iter(values_by_key))]
    return value


def interpolation(
    alpha: np.ndarray, n: int, effort: float = ENOUGH
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes for alpha, and the matrix (K, nodes) that takes values there to all alpha.

    Probabilities of counts are rational in alpha with poles, and zeros, among 0, ..., -(n - 1) or
    near them.  With u = log(alpha / (alpha + n)) these lie at a distance pi from the real line,
    and interpolation in Chebyshev nodes of u gains a digit with every two or three nodes.  Sums
    over few counts can have zeros at two thirds of this distance.
    """
    u = -np.log1p(n / alpha)
    low, high = u.min(), u.max()
    # the ellipse of Bernstein that stays clear of the poles promises a rate of the whole asinh
    count = int(effort / np.arcsinh(2 * np.pi / (high - low))) + 1 if high > low else 1
    if len(alpha) <= count:
        node, matrix = alpha, np.eye(len(alpha))
    else:
        angle = np.pi * (np.arange(count) + 0.5) / count
        v = (low + high) / 2 + (high - low) / 2 * np.cos(angle)
        difference = u[:, None] - v
        with np.errstate(divide="ignore", invalid="ignore"):
            matrix = (-1.0) ** np.arange(count) * np.sin(angle) / difference
            matrix /= matrix.sum(axis=1, keepdims=True)
        exact = difference == 0
        matrix[exact.any(axis=1)] = exact[exact.any(axis=1)]
        node = n / np.expm1(-v)
    return node, matrix


def _retained_from(n0: int, n1: int, gamma_squared: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each total s up to n / 2, the least I1 with Cor > gamma, the most with < -gamma.

    n1 + 1 and -1 where there is none.
    """
    limit = reach(n0, n1, gamma_squared)
    half = (n0 + n1) // 2 + 1
    high = np.full(half, n1 + 1, dtype=np.intp)
    low = np.full(half, -1, dtype=np.intp)
    for s in range(half):
        for i1 in range(max(0, s - n0), min(s, n1) + 1):
            if s - i1 <= limit[i1]:
                high[s] = min(high[s], i1)
            # H- is H+ with zeros and ones exchanged
            if n0 - (s - i1) <= limit[n1 - i1]:
                low[s] = i1
    return high, low


def _tied_at(n0: int, n1: int, gamma_squared: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each total s up to n / 2, the I1 with Cor = gamma, and that with Cor = -gamma.

    n1 + 1 and -1 where there is none; a correlation of 0 is in the first only.
    """
    n = n0 + n1
    up = np.full(n // 2 + 1, n1 + 1, dtype=np.intp)
    down = np.full(n // 2 + 1, -1, dtype=np.intp)
    for s in range(n // 2 + 1):
        # (n I1 - n1 s)^2 = gamma^2 n0 n1 s (n - s), which must be the square of a whole number
        square = gamma_squared * (n0 * n1 * s * (n - s))
        root = isqrt(int(square))
        if root * root != square or (square == 0) != (gamma_squared == 0):
            continue  # where s = 0 or a class is empty, the correlation is 0
        for sign, roots in ((1, up), (-1, down))[: 2 if root else 1]:
            i1, rest = divmod(n1 * s + sign * root, n)
            if rest == 0 and max(0, s - n0) <= i1 <= min(s, n1):
                roots[s] = i1
    return up, down
