"""Slow, obvious twins of the kernels and models: rational arithmetic and enumeration.

Nothing here imports a kernel or the code it checks.
"""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np


def multiply(p: list[Fraction], q: list[Fraction]) -> list[Fraction]:
    """Product of two polynomials, lowest power first."""
    out = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


def integral(p: list[Fraction]) -> Fraction:
    """Integral of a polynomial over (0, 1)."""
    return sum((a / (i + 1) for i, a in enumerate(p)), Fraction(0))


def rising_u(alpha: Fraction, ones: int, zeros: int) -> list[Fraction]:
    """U(alpha theta, alpha (1 - theta), ones, zeros) as a polynomial in theta (section
    "Integrating Away psi and phi")."""
    p = [Fraction(1)]
    for i in range(ones):
        p = multiply(p, [Fraction(i), alpha])
    for i in range(zeros):
        p = multiply(p, [alpha + i, -alpha])
    denominator = Fraction(1)
    for i in range(ones + zeros):
        denominator *= alpha + i
    return [a / denominator for a in p]


def marginal(ones0: int, ones1: int, n0: int, n1: int, alpha: Fraction) -> Fraction:
    """P(I0, I1 given alpha), exactly (pxj-b, integrated over theta, times the orderings)."""
    p = multiply(rising_u(alpha, ones0, n0 - ones0), rising_u(alpha, ones1, n1 - ones1))
    return comb(n0, ones0) * comb(n1, ones1) * integral(p)


def theta_mean(ones0: int, ones1: int, n0: int, n1: int, alpha: Fraction) -> Fraction:
    """E(theta given I0, I1, alpha), exactly."""
    p = multiply(rising_u(alpha, ones0, n0 - ones0), rising_u(alpha, ones1, n1 - ones1))
    return integral([Fraction(0), *p]) / integral(p)


def correlation_squared(x: tuple[int, ...], y: tuple[int, ...]) -> Fraction:
    """COR(x, y)^2 from the samples themselves (eq-cor-def), 0 where undefined."""
    n = len(y)
    sxy = n * sum(a * b for a, b in zip(x, y, strict=True)) - sum(x) * sum(y)
    sxx = n * sum(x) - sum(x) ** 2
    syy = n * sum(y) - sum(y) ** 2
    return Fraction(sxy**2, sxx * syy) if sxx * syy else Fraction(0)


def discard_by_enumeration(n0: int, n1: int, gamma_squared: Fraction, alpha: Fraction) -> Fraction:
    """P(|COR| <= gamma given alpha): every one of the 2^n configurations of a feature."""
    y = (0,) * n0 + (1,) * n1
    total = Fraction(0)
    cache: dict[tuple[int, int], Fraction] = {}
    for x in product((0, 1), repeat=n0 + n1):
        if correlation_squared(x, y) <= gamma_squared:
            pair = sum(x[:n0]), sum(x[n0:])
            if pair not in cache:
                cache[pair] = marginal(*pair, n0, n1, alpha) / (
                    comb(n0, pair[0]) * comb(n1, pair[1])
                )
            total += cache[pair]
    return total


def predictive(
    x_train: np.ndarray,
    y_train: np.ndarray,
    x_test: np.ndarray,
    alpha: list[Fraction],
    class_prior: tuple[Fraction, Fraction],
    discard: list[Fraction],
    n_dropped: int,
) -> Fraction:
    """P(y* = 1) for one test sample (eq-unc-pp, eq-alpha-int2-mod): sums of joint probabilities.

    Each joint probability treats the test sample as one more training sample of class y*.
    """
    numerators = []
    for label in (0, 1):
        y = np.append(y_train, label)
        total = Fraction(0)
        for a, drop in zip(alpha, discard, strict=True):
            term = drop**n_dropped
            for j in range(x_train.shape[1]):
                x = np.append(x_train[:, j], x_test[j])
                n = [int((y == c).sum()) for c in (0, 1)]
                ones = [int(x[y == c].sum()) for c in (0, 1)]
                term *= marginal(ones[0], ones[1], n[0], n[1], a) / (
                    comb(n[0], ones[0]) * comb(n[1], ones[1])
                )
            total += term
        numerators.append(total * (class_prior[label] + int((y_train == label).sum())))
    return numerators[1] / sum(numerators)


def predictive_with_missing(
    x_train: np.ndarray,
    y_train: np.ndarray,
    x_test: np.ndarray,
    alpha: list[Fraction],
    class_prior: tuple[Fraction, Fraction],
    gamma_squared: Fraction | None,
    dropped: np.ndarray,
) -> Fraction:
    """P(y* = 1) for one test sample where NaN is a missing value.

    Every sample with a feature counts for it, the test sample among them.  The columns of `dropped`
    (n, p - k) are discarded by enumeration of the samples that have them; gamma_squared None: their
    being discarded is not conditioned on.
    """
    numerators = []
    for label in (0, 1):
        y = np.append(y_train, label)
        total = Fraction(0)
        for a in alpha:
            term = Fraction(1)
            for j in range(x_train.shape[1]):
                x = np.append(x_train[:, j], x_test[j])
                here = ~np.isnan(x)
                n = [int((here & (y == c)).sum()) for c in (0, 1)]
                ones = [int((x[here] == 1)[y[here] == c].sum()) for c in (0, 1)]
                orderings = comb(n[0], ones[0]) * comb(n[1], ones[1])
                term *= marginal(ones[0], ones[1], n[0], n[1], a) / orderings
            for column in dropped.T if gamma_squared is not None else ():
                here = ~np.isnan(column)
                n = [int((here & (y_train == c)).sum()) for c in (0, 1)]
                term *= discard_by_enumeration(n[0], n[1], gamma_squared, a)
            total += term
        numerators.append(total * (class_prior[label] + int((y_train == label).sum())))
    return numerators[1] / sum(numerators)


def screen_with_missing(x: np.ndarray, y: np.ndarray) -> list[Fraction]:
    """COR^2 of every column over the samples that have it, exactly."""
    here = ~np.isnan(x)
    return [
        correlation_squared(tuple(int(v) for v in column[has]), tuple(int(v) for v in y[has]))
        for column, has in zip(x.T, here.T, strict=True)
    ]


def screen(x: np.ndarray, y: np.ndarray) -> list[Fraction]:
    """COR^2 of every column, exactly."""
    response = tuple(int(v) for v in y)
    return [correlation_squared(tuple(int(v) for v in column), response) for column in x.T]


def marginal_irrelevant(ones0: int, ones1: int, n0: int, n1: int) -> Fraction:
    """P(I0, I1) of a feature with phi_0 = phi_1 = theta, theta uniform."""
    ones, n = ones0 + ones1, n0 + n1
    return Fraction(comb(n0, ones0) * comb(n1, ones1), comb(n, ones) * (n + 1))


def mixed_marginal(
    ones0: int, ones1: int, n0: int, n1: int, alpha: Fraction, pi: Fraction
) -> Fraction:
    """P(I0, I1) of a feature that is relevant with probability pi."""
    relevant = marginal(ones0, ones1, n0, n1, alpha)
    return pi * relevant + (1 - pi) * marginal_irrelevant(ones0, ones1, n0, n1)


def chance_of_leaving_out(
    y: tuple[int, ...],
    gamma_squared: Fraction,
    tied_kept: int,
    count: int,
    alpha: Fraction,
    pi: Fraction,
    tied: int | None,
) -> Fraction:
    """P(so many features are left out, and `tied` of them have COR^2 = gamma^2), by all tables.

    Of all features that tie, `tied_kept` are drawn to be kept, and those here lost every such lot.
    tied is None where it is not known.  Not multiplied by what the kept features have to do with.
    """
    n1 = sum(y)
    n0 = len(y) - n1
    columns = []
    for x in product((0, 1), repeat=len(y)):
        ones1 = sum(a * b for a, b in zip(x, y, strict=True))
        ones0 = sum(x) - ones1
        orderings = comb(n0, ones0) * comb(n1, ones1)
        square = correlation_squared(x, y)
        if square <= gamma_squared:
            chance = mixed_marginal(ones0, ones1, n0, n1, alpha, pi) / orderings
            columns.append((square == gamma_squared, chance))
    total = Fraction(0)
    for table in product(columns, repeat=count):
        ties = sum(tie for tie, _ in table)
        if tied is None or ties == tied:
            chance = Fraction(1, comb(ties + tied_kept, tied_kept))
            for _, one in table:
                chance *= one
            total += chance
    return total


def predictive_some(
    table: np.ndarray,
    y: np.ndarray,
    sample: np.ndarray,
    points: list[tuple[Fraction, Fraction]],
    class_prior: tuple[Fraction, Fraction],
    left_out: list[Fraction],
) -> tuple[Fraction, list[Fraction]]:
    """P(y* = 1) given x* = sample, and P(relevant) of each kept feature, by points (alpha, pi)."""
    n1 = int(y.sum())
    n0 = len(y) - n1
    joint = [Fraction(0), Fraction(0)]
    whole, relevant = Fraction(0), [Fraction(0)] * table.shape[1]
    for (alpha, pi), factor in zip(points, left_out, strict=True):
        weight, given, each = factor, [Fraction(1), Fraction(1)], []
        for x, new in zip(table.T, sample, strict=True):
            ones = int(x[y == 0].sum()), int(x[y == 1].sum())
            mine = pi * marginal(*ones, n0, n1, alpha)
            other = (1 - pi) * marginal_irrelevant(*ones, n0, n1)
            weight *= mine + other
            each.append(mine / (mine + other))
            theta = theta_mean(*ones, n0, n1, alpha)
            same = Fraction(sum(ones) + 1, n0 + n1 + 2)
            for c, n in enumerate((n0, n1)):
                one = (mine * (alpha * theta + ones[c]) / (alpha + n) + other * same) / (
                    mine + other
                )
                given[c] *= one if new else 1 - one
        whole += weight
        relevant = [a + weight * b for a, b in zip(relevant, each, strict=True)]
        for c, n in enumerate((n0, n1)):
            joint[c] += weight * given[c] * (class_prior[c] + n)
    return joint[1] / (joint[0] + joint[1]), [one / whole for one in relevant]


def simpson_transformed(ones0: int, ones1: int, n0: int, n1: int, alpha: float) -> tuple:
    """Return P(I0, I1 given alpha) and E(theta given the same) by Simpson's rule with 21 points.

    theta = m + ((u - v) / s)^3 with m the fraction of ones; v and s are searched for, so that u = 0
    and u = 1 become theta = 0 and theta = 1, and the rule is summed point by point.
    """
    m = (ones0 + ones1) / (n0 + n1)
    low, high = 0.0, 1.0  # v is where (u - v)^3 takes the fraction m of its range below 0
    for _ in range(200):
        v = (low + high) / 2
        below = v**3 / (v**3 + (1 - v) ** 3)
        low, high = (v, high) if below < m else (low, v)
    scale = v**3 + (1 - v) ** 3  # s^3
    total = first = 0.0
    for i in range(21):
        u = i / 20
        theta = min(max(m + (u - v) ** 3 / scale, 0.0), 1.0)
        slope = 3 * (u - v) ** 2 / scale
        weight = (1 if i in (0, 20) else 4 if i % 2 else 2) / 60
        value = float(comb(n0, ones0) * comb(n1, ones1))
        for ones, n in ((ones0, n0), (ones1, n1)):
            for j in range(n):
                factor = alpha * theta + j if j < ones else alpha * (1 - theta) + j - ones
                value *= factor / (alpha + j)
        total += weight * slope * value
        first += weight * slope * value * theta
    return total, first / total
