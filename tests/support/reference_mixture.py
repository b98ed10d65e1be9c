"""Slow, obvious twins of the binary mixture model: enumeration of labels, cells and counts.

Nothing here imports a kernel or the code it checks. Priors of a class or label are pairs
(f0, f1); counts[z][y] is n_y^[z], the number of samples of class y in component z.

What is known of features left out comes as an object with rows (n0, n1, event, count),
gamma_squared and tied_kept.  Events: |COR| <= gamma, < gamma, = gamma, and <= gamma where lots were
drawn against tied_kept features that tie.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from reference import correlation_squared, integral, multiply, rising_u

Counts = Sequence[Sequence[int]]
Grid = Sequence[Fraction | float]
Pair = tuple[int, int]
WITHIN, BELOW, AT, LOT = range(4)


@cache
def _pair_likelihood(ones: Pair, zeros: Pair, a: Fraction) -> Fraction:
    """Integral over theta of prod_z U(a theta, a (1 - theta), ones[z], zeros[z])."""
    return integral(multiply(*(rising_u(a, i, o) for i, o in zip(ones, zeros, strict=True))))


def _tally(column: Sequence[int], z: Sequence[int], value: int) -> Pair:
    """How many samples of each label have the value."""
    pairs = list(zip(column, z, strict=True))
    return pairs.count((value, 0)), pairs.count((value, 1))


def column_likelihood(column: Sequence[int], z: Sequence[int], a: Fraction | float) -> Fraction:
    """P(one binary column given labels and its a), theta and phi integrated (like-part-mix)."""
    return _pair_likelihood(_tally(column, z, 1), _tally(column, z, 0), Fraction(a))


def label_prior(z: Sequence[int], class_prior: tuple[Fraction, Fraction]) -> Fraction:
    """P(z), psi integrated away (dir): labels drawn one after the other."""
    p, seen = Fraction(1), [Fraction(f) for f in class_prior]
    for label in z:
        p *= seen[label] / sum(seen)
        seen[label] += 1
    return p


def _square(ones: Pair, n: Pair) -> Fraction:
    """COR^2 for ones[y] ones among the n[y] samples of class y, 0 where it is 0 / 0."""
    total, s = sum(n), sum(ones)
    sxy, sxx_syy = total * ones[1] - n[1] * s, n[0] * n[1] * s * (total - s)
    return Fraction(sxy**2, sxx_syy) if sxx_syy else Fraction(0)


def _is(event: int, square: Fraction, gamma_squared: Fraction) -> bool:
    """Whether COR^2 is within, below or at gamma^2."""
    return (square <= gamma_squared, square < gamma_squared, square == gamma_squared)[event]


def _is_dropped(ones: Pair, n: Pair, gamma_squared: Fraction) -> bool:
    """Whether COR^2 <= gamma^2."""
    return _square(ones, n) <= gamma_squared


@cache
def _discard(
    counts: tuple[Pair, Pair], gamma_squared: Fraction, alpha: Fraction, event: int
) -> Fraction:
    (n00, n01), (n10, n11) = counts
    total = Fraction(0)
    for i00, i01, i10, i11 in product(*(range(m + 1) for m in (n00, n01, n10, n11))):
        square = _square((i00 + i10, i01 + i11), (n00 + n10, n01 + n11))
        if _is(event, square, gamma_squared):
            ways = comb(n00, i00) * comb(n01, i01) * comb(n10, i10) * comb(n11, i11)
            ones = i00 + i01, i10 + i11
            zeros = n00 + n01 - ones[0], n10 + n11 - ones[1]
            total += ways * _pair_likelihood(ones, zeros, alpha)
    return total


def mixture_discard(
    counts: Counts, gamma_squared: Fraction, alpha: Fraction | float, event: int = WITHIN
) -> Fraction:
    """P(|COR| <= gamma given y, z, alpha), summed over the ones in each of the four cells."""
    (n00, n01), (n10, n11) = ([int(m) for m in row] for row in counts)
    return _discard(((n00, n01), (n10, n11)), Fraction(gamma_squared), Fraction(alpha), event)


def mixture_discard_brute(
    counts: Counts, gamma_squared: Fraction, alpha: Fraction | float, event: int = WITHIN
) -> Fraction:
    """The same from every one of the 2^n configurations of a column, sample by case."""
    samples = [(z, y) for z in (0, 1) for y in (0, 1) for _ in range(counts[z][y])]
    labels, response = tuple(z for z, _ in samples), tuple(y for _, y in samples)
    return sum(
        (
            column_likelihood(x, labels, alpha)
            for x in product((0, 1), repeat=len(samples))
            if _is(event, correlation_squared(x, response), gamma_squared)
        ),
        Fraction(0),
    )


def lot(e: Fraction, s: Fraction, d: int, m: int) -> Fraction:
    """P(d features are left out, and the m kept ones that tie win the lot), by the ties among d."""
    return sum(
        (comb(d, t) * e**t * s ** (d - t) * Fraction(1, comb(m + t, m)) for t in range(d + 1)),
        Fraction(0),
    )


def selection_factor(
    counts: Counts, left_out: Any, alpha: Fraction | float, top: Fraction = Fraction(1)
) -> Fraction:
    """P(S given y, z, alpha) (adjust-factor-mix), probabilities of features divided by `top`.

    They are rounded to doubles before the power, so large numbers of features cost neither digits
    nor memory: the relative error is of the order of their number times 1e-16.
    """
    total, g = Fraction(1), Fraction(left_out.gamma_squared)
    for _, _, event, count in left_out.rows.tolist():
        parts = (AT, BELOW) if event == LOT else (event,)
        found = [Fraction(float(mixture_discard(counts, g, alpha, one) / top)) for one in parts]
        if event == LOT:
            total *= lot(*found, count, left_out.tied_kept)
        else:
            total *= Fraction(float(found[0]) ** count)
    return total


def _selection(
    y: tuple[int, ...], alphas: Grid, left_out: Any | None
) -> dict[tuple[int, ...], list[Fraction]]:
    """P(S given z, y, alpha) for every z and alpha, up to one constant."""
    labels = list(product((0, 1), repeat=len(y)))
    if left_out is None:
        return {z: [Fraction(1)] * len(alphas) for z in labels}
    tallies = {z: list(zip(_tally(y, z, 0), _tally(y, z, 1), strict=True)) for z in labels}
    g = left_out.gamma_squared
    top = max(mixture_discard(tallies[z], g, a) for z in labels for a in alphas)
    return {z: [selection_factor(tallies[z], left_out, a, top) for a in alphas] for z in labels}


def _joint(
    columns: list[tuple[int, ...]],
    y: tuple[int, ...],
    z: tuple[int, ...],
    alphas: Grid,
    alpha0s: Grid,
    class_prior: tuple[Fraction, Fraction],
) -> Iterator[tuple[int, int, Fraction]]:
    """Index of alpha, index of alpha0, and P(z) P(columns, y given z, alpha, alpha0)."""
    prior = label_prior(z, class_prior)
    features = []
    for a in alphas:
        p = Fraction(1)
        for column in columns:
            p *= column_likelihood(column, z, a)
        features.append(p)
    response = [column_likelihood(y, z, a) for a in alpha0s]
    for (i, p), (j, r) in product(enumerate(features), enumerate(response)):
        yield i, j, prior * p * r


def _tuples(x: np.ndarray, y: np.ndarray) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Columns of x, and y, as tuples of int."""
    columns = [tuple(int(v) for v in column) for column in np.asarray(x).T]
    return columns, tuple(int(v) for v in y)


def label_posterior(
    x: np.ndarray,
    y: np.ndarray,
    alpha_grid: Grid,
    alpha0_grid: Grid,
    class_prior: tuple[Fraction, Fraction],
    left_out: Any | None,
) -> dict:
    """Posterior of the labels and of both grids, by enumeration of all of them."""
    columns, response = _tuples(x, y)
    selection = _selection(response, alpha_grid, left_out)
    labels = dict.fromkeys(selection, Fraction(0))
    alpha = [Fraction(0)] * len(alpha_grid)
    alpha0 = [Fraction(0)] * len(alpha0_grid)
    for z, factor in selection.items():
        for i, j, p in _joint(columns, response, z, alpha_grid, alpha0_grid, class_prior):
            weight = p * factor[i]
            labels[z] += weight
            alpha[i] += weight
            alpha0[j] += weight
    total = sum(alpha)
    return {
        "labels": {z: float(p / total) for z, p in labels.items()},
        "alpha": [float(p / total) for p in alpha],
        "alpha0": [float(p / total) for p in alpha0],
    }


def mixture_predictive(
    x: np.ndarray,
    y: np.ndarray,
    x_new: np.ndarray,
    alpha_grid: Grid,
    alpha0_grid: Grid,
    class_prior: tuple[Fraction, Fraction],
    left_out: Any | None,
) -> float:
    """P(y* = 1 given x*, x, y, S): the new sample is one more, outside the selection only."""
    columns, response = _tuples(x, y)
    columns = [(*column, int(v)) for column, v in zip(columns, x_new, strict=True)]
    selection = _selection(response, alpha_grid, left_out)
    total = [Fraction(0), Fraction(0)]
    for z, factor in selection.items():
        for z_new, y_new in product((0, 1), repeat=2):
            longer = (*response, y_new), (*z, z_new)
            for i, _, p in _joint(columns, *longer, alpha_grid, alpha0_grid, class_prior):
                total[y_new] += p * factor[i]
    return float(total[1] / sum(total))


def _log_rising(start: np.ndarray | float, n: int) -> np.ndarray:
    """log of start (start + 1) ... (start + i - 1) for i = 0..n, along a new last axis."""
    start = np.asarray(start, dtype=float)
    logs = np.log(start[..., None] + np.arange(n))
    return np.concatenate([np.zeros((*start.shape, 1)), np.cumsum(logs, axis=-1)], axis=-1)


def _log_sum(a: np.ndarray, axis: int | None = None) -> np.ndarray:
    """log of the sum of exp(a)."""
    top = a.max(axis=axis, keepdims=True)
    out = np.log(np.exp(a - top).sum(axis=axis, keepdims=True)) + top
    return out.reshape(()) if axis is None else np.squeeze(out, axis=axis)


class _Quadrature:
    """log of the integral over theta of both components' U, on a grid of a, for n samples."""

    def __init__(self, grid: Grid, n: int):
        a = np.array([float(v) for v in grid])
        nodes, weights = leggauss(n // 2 + 2)
        theta = (nodes + 1) / 2
        self.ones = _log_rising(a[:, None] * theta, n)
        self.zeros = _log_rising(a[:, None] * (1 - theta), n)
        self.norm = _log_rising(a, n)
        self.weights = np.log(weights / 2)

    def log_likelihood(self, i0: np.ndarray, o0: np.ndarray, i1: np.ndarray, o1: np.ndarray):
        """By a along the first axis, then as the (broadcast) ones and zeros of each label."""
        u = self.ones[:, :, i0] + self.zeros[:, :, o0] + self.ones[:, :, i1] + self.zeros[:, :, o1]
        u += self.weights.reshape(1, -1, *(1,) * (u.ndim - 2))
        return _log_sum(u, axis=1) - self.norm[:, i0 + o0] - self.norm[:, i1 + o1]


def _log_selection(n: Pair, grid: Grid, left_out: Any) -> np.ndarray:
    """log P(S), indexed by alpha, n_0^[1] and n_1^[1]."""
    total, g, m = np.zeros(()), left_out.gamma_squared, left_out.tied_kept
    for _, _, event, d in left_out.rows.tolist():
        if event == LOT:
            e, s = (_log_event(n, grid, g, one) for one in (AT, BELOW))
            terms = [
                np.log(comb(d, t) / comb(m + t, m)) + t * e + (d - t) * s for t in range(d + 1)
            ]
            total = total + _log_sum(np.stack(terms), axis=0)
        else:
            total = total + d * _log_event(n, grid, g, event)
    return total


def _log_event(n: Pair, grid: Grid, gamma_squared: Fraction, event: int) -> np.ndarray:
    """log of the probability of an event, indexed by alpha, n_0^[1] and n_1^[1]."""
    quadrature = _Quadrature(grid, sum(n))
    dropped = np.array(
        [
            [_is(event, _square((i, j), n), gamma_squared) for j in range(n[1] + 1)]
            for i in range(n[0] + 1)
        ]
    )
    log_q = np.empty((len(grid), n[0] + 1, n[1] + 1))
    for n10, n11 in product(range(n[0] + 1), range(n[1] + 1)):
        cells = n[0] - n10, n[1] - n11, n10, n11
        i00, i01, i10, i11 = np.indices([m + 1 for m in cells])
        ways = np.ones(i00.shape)
        for m, i in zip(cells, (i00, i01, i10, i11), strict=True):
            ways *= np.array([comb(m, v) for v in range(m + 1)], dtype=float)[i]
        ways *= dropped[i00 + i10, i01 + i11]
        size0, size1 = cells[0] + cells[1], cells[2] + cells[3]
        s0, s1 = np.indices((size0 + 1, size1 + 1))
        place = (i00 + i01) * (size1 + 1) + i10 + i11
        total = np.bincount(place.ravel(), weights=ways.ravel(), minlength=s0.size)
        likelihood = np.exp(quadrature.log_likelihood(s0, size0 - s0, s1, size1 - s1))
        log_q[:, n10, n11] = np.log(likelihood.reshape(len(grid), -1) @ total)
    return log_q


def posterior_by_counts(
    x: np.ndarray,
    y: np.ndarray,
    alpha_grid: Grid,
    alpha0_grid: Grid,
    class_prior: tuple[Fraction, Fraction],
    left_out: Any | None,
) -> dict:
    """Exact posterior for k = 1: equal rows (x, y) are exchangeable, so labels are counts.

    The m_xy samples of label 1 among the rows (x, y) are enumerated, in floats. "size" is
    P(n^[1] = m), "agreement" is P(z = y in m samples) and "predictive" maps x* to P(y* = 1).
    """
    x, y = np.asarray(x, dtype=int).ravel(), np.asarray(y, dtype=int).ravel()
    n = len(y)
    rows = [int(((x == a) & (y == b)).sum()) for a in (0, 1) for b in (0, 1)]
    nx, ny = (rows[0] + rows[1], rows[2] + rows[3]), (rows[0] + rows[2], rows[1] + rows[3])
    grids = np.indices([m + 1 for m in rows]).reshape(4, -1)
    m00, m01, m10, m11 = grids
    mx, my = (m00 + m01, m10 + m11), (m00 + m10, m01 + m11)
    size = mx[0] + mx[1]

    ways = np.zeros(size.shape)
    for total, m in zip(rows, grids, strict=True):
        ways += np.log([float(comb(total, v)) for v in range(total + 1)])[m]
    f0, f1 = (float(f) for f in class_prior)
    rising0, rising1 = _log_rising(f0, n + 1), _log_rising(f1, n + 1)
    features, response = _Quadrature(alpha_grid, n + 1), _Quadrature(alpha0_grid, n + 1)
    selection = np.zeros((len(alpha_grid), 1))
    if left_out is not None:
        selection = _log_selection(ny, alpha_grid, left_out)[:, my[0], my[1]]

    def log_column(
        quadrature: _Quadrature, totals: Pair, label1: tuple, extra: tuple
    ) -> np.ndarray:
        """log L of a column by (a, counts); extra is () or the (value, label) of one more case."""
        # One entry per distinct (zeros, ones) of label 1, then spread over the counts.
        o1, i1 = np.indices((totals[0] + 1, totals[1] + 1))
        cell = {(v, z): 0 for v in (0, 1) for z in (0, 1)}
        if extra:
            cell[extra] = 1
        table = quadrature.log_likelihood(
            totals[1] - i1 + cell[1, 0],
            totals[0] - o1 + cell[0, 0],
            i1 + cell[1, 1],
            o1 + cell[0, 1],
        )
        return table[:, label1[0], label1[1]]

    feature = log_column(features, nx, mx, ()) + selection
    by_alpha0 = log_column(response, ny, my, ())
    base = ways + rising1[size] + rising0[n - size]
    over_alpha, over_alpha0 = _log_sum(feature, axis=0), _log_sum(by_alpha0, axis=0)
    joint = base + over_alpha + over_alpha0
    evidence = _log_sum(joint)
    p = np.exp(joint - evidence)

    predictive = {}
    for x_new in (0, 1):
        terms: dict[int, list[np.ndarray]] = {0: [], 1: []}
        for y_new, z_new in product((0, 1), repeat=2):
            prior = ways + rising1[size + z_new] + rising0[n - size + 1 - z_new]
            lx = _log_sum(log_column(features, nx, mx, (x_new, z_new)) + selection, axis=0)
            ly = _log_sum(log_column(response, ny, my, (y_new, z_new)), axis=0)
            terms[y_new].append(_log_sum(prior + lx + ly))
        zero, one = (_log_sum(np.array(terms[c])) for c in (0, 1))
        predictive[x_new] = float(1 / (1 + np.exp(zero - one)))
    return {
        "alpha": np.exp(_log_sum(base + feature + over_alpha0, axis=1) - evidence),
        "alpha0": np.exp(_log_sum(base + by_alpha0 + over_alpha, axis=1) - evidence),
        "size": np.bincount(size, weights=p, minlength=n + 1),
        "agreement": np.bincount(my[1] + ny[0] - my[0], weights=p, minlength=n + 1),
        "predictive": predictive,
    }
