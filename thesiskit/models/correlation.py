"""Correlations of binary features with the classes, exactly: values on a lattice.

| thesis | name |
|---|---|
| I0, I1; N_0, N_1 | `ones0`, `ones1`; `n0`, `n1` |
| gamma^2 | `gamma_squared`, a Fraction |

Section "Computation of the Adjustment Factor for Naive Bayes Models" (cor-express).  On binary data
the weakest feature kept attains gamma exactly, so comparisons that decide are made on integers:
COR^2 = (n I1 - n1 s)^2 / (n0 n1 s (n - s)), s = I0 + I1, and 0 where that is 0 / 0.
"""

from fractions import Fraction
from functools import lru_cache
from operator import index

import numpy as np

from thesiskit.errors import UserError


def squared_correlation(ones0: int, ones1: int, n0: int, n1: int) -> Fraction:
    """Return Cor(I0, I1)^2 exactly (cor-express), 0 where the correlation is undefined."""
    ones0, ones1, n0, n1 = (index(count) for count in (ones0, ones1, n0, n1))
    n, s = n0 + n1, ones0 + ones1
    denominator = n0 * n1 * s * (n - s)
    if denominator == 0:
        return Fraction(0)
    return Fraction((n * ones1 - n1 * s) ** 2, denominator)


def correlation_lattice(n0: int, n1: int, gamma: Fraction | str) -> tuple[np.ndarray, np.ndarray]:
    """Return Cor(I0, I1) and its kind, (n0 + 1, n1 + 1) each (figure fig-sets).

    Kinds: 0 where Cor = 0, 1 where 0 < |Cor| <= gamma (dropped, too), 2 where a feature is kept.
    """
    shape = (n0 + 1, n1 + 1)
    correlation, kind = np.zeros(shape), np.zeros(shape, dtype=np.uint8)
    cut = Fraction(gamma) ** 2
    for i0, i1 in np.ndindex(shape):
        square = squared_correlation(i0, i1, n0, n1)
        sign = 1 if i1 * n0 > i0 * n1 else -1
        correlation[i0, i1] = sign * float(square) ** 0.5
        kind[i0, i1] = 0 if square == 0 else 1 if square <= cut else 2
    return correlation, kind


@lru_cache(maxsize=256)
def reach(n0: int, n1: int, gamma_squared: Fraction, *, attained: bool = False) -> np.ndarray:
    """Return r[I1], the largest I0 with Cor(I0, I1) > gamma, -1 where there is none, (n1 + 1,).

    Section "Computation of the Adjustment Factor ..."; strictly above, compared in integers.  With
    `attained`, the largest I0 with Cor(I0, I1) >= gamma, which must be positive.
    """
    top, bottom = gamma_squared.numerator, gamma_squared.denominator
    n0, n1 = index(n0), index(n1)  # NumPy's integers would overflow below
    n = n0 + n1
    result = np.full(n1 + 1, -1, dtype=np.intp)
    i0 = -1
    for i1 in range(n1 + 1):
        # Cor falls with I0 and grows with I1, so r never decreases
        while i0 < n0:
            s = i0 + 1 + i1
            d = n * i1 - n1 * s
            if d <= 0:
                break
            ours, bound = bottom * d * d, top * n0 * n1 * s * (n - s)
            if ours < bound or (ours == bound and not attained):
                break
            i0 += 1
        result[i1] = i0
    result.flags.writeable = False
    return result


def tied_pairs(n0: int, n1: int, gamma_squared: Fraction) -> np.ndarray:
    """Return the pairs (I0, I1) with COR^2 = gamma^2 > 0, (., 2)."""
    most = reach(n0, n1, gamma_squared, attained=True)
    positive = np.flatnonzero(most > reach(n0, n1, gamma_squared))
    found = np.column_stack([most[positive], positive])
    # zeros and ones exchanged
    return np.concatenate([found, (n0, n1) - found]).astype(np.intp)


def as_gamma_squared(value) -> Fraction:
    """Return gamma^2, given as a Fraction or a pair of integers, as a Fraction."""
    gamma_squared = Fraction(*value) if isinstance(value, tuple) else Fraction(value)
    if gamma_squared < 0:
        raise UserError(f"gamma_squared must not be negative, got {gamma_squared}")
    return gamma_squared
