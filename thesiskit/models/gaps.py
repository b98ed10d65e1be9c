"""Integrals over theta where values are missing, so that counts of cases differ by feature.

| thesis | name | shape |
|---|---|---|
| N_0, N_1 of a feature: the cases that have it | rows of `present`, of `counts` | (D, 2) |
| I_0, I_1 | rows of `pairs` | (D, 2) |

The same integrals as in `models/integrals`, for many numbers of cases.  Up to TABLE_CASES cases
they share tables of P(I given n, alpha, theta): one for each n, not for each pair of them, at the
nodes of the rule for the largest numbers, which is exact for the smaller ones too.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from thesiskit._kernels import naive_bayes as kernel  # type: ignore[attr-defined]
from thesiskit.defaults import TABLE_CASES
from thesiskit.models.correlation import reach, tied_pairs
from thesiskit.models.integrals import PairIntegrals, log_discard_probability, pair_integrals
from thesiskit.models.quadrature import theta_rule

TABLE_BYTES = 1 << 26  # of tables at a time


def pair_integrals_of(
    pairs: np.ndarray, present: np.ndarray, alpha: np.ndarray, quadrature: str
) -> PairIntegrals:
    """Return what `pair_integrals` does, (D, K) each, where present (D, 2) cases have a feature."""
    shape = (len(pairs), len(alpha))
    # what a feature that no case has says: nothing
    found = PairIntegrals(np.zeros(shape), np.full(shape, 0.5), np.full(shape, 0.5))
    distinct, which = np.unique(present, axis=0, return_inverse=True)
    members = [np.flatnonzero(which.reshape(-1) == d) for d in range(len(distinct))]
    rows = [d for d in range(len(distinct)) if distinct[d].any()]
    if not rows:
        return found
    if distinct.sum(axis=1).max() > TABLE_CASES:
        for d in rows:
            n0, n1 = distinct[d].tolist()
            part = pair_integrals(pairs[members[d]], (n0, n1), alpha, quadrature)
            for values, own in zip(found, part, strict=True):
                values[members[d]] = own
        return found
    for points, tables in _tables(distinct[rows], alpha, quadrature):
        for d in rows:
            n0, n1 = distinct[d].tolist()
            mine = np.ascontiguousarray(pairs[members[d]], dtype=np.intp)
            size = (len(mine), points.stop - points.start)
            part = PairIntegrals(*(np.empty(size) for _ in found))
            weighted = tables.weighted(n0)
            kernel.integrate_pairs(
                weighted,
                tables.plain(n1),
                np.ascontiguousarray(mine[:, 0]),
                np.ascontiguousarray(mine[:, 1]),
                tables.rule.theta,
                tables.rule.complement,
                np.empty((2, *weighted.shape[1:])),
                *part,
            )
            np.log(part.log_marginal, out=part.log_marginal)
            for values, own in zip(found, part, strict=True):
                values[members[d], points] = own
    return found


def log_discard_of(
    counts: np.ndarray,
    gamma_squared: Fraction,
    alpha: np.ndarray,
    quadrature: str,
    *,
    below: bool = False,
) -> np.ndarray:
    """Return what `log_discard_probability` does for each row (n0, n1) of counts, (D, K)."""
    found = np.zeros((len(counts), len(alpha)))
    limits = [
        reach(n0, n1, gamma_squared, attained=below) if n0 and n1 else None
        for n0, n1 in counts.tolist()
    ]
    # where nothing can be retained, the logarithm is 0
    rows = [d for d, limit in enumerate(limits) if limit is not None and limit[-1] >= 0]
    if not rows:
        return found
    if counts.sum(axis=1).max() > TABLE_CASES:
        for d in rows:
            n0, n1 = counts[d].tolist()
            found[d] = log_discard_probability(
                n0, n1, gamma_squared, alpha, quadrature=quadrature, below=below
            )
        return found
    for points, tables in _tables(counts[rows], alpha, quadrature):
        scratch = np.empty(len(tables.rule.theta))
        for d in rows:
            n0, n1 = counts[d].tolist()
            retained = np.empty(points.stop - points.start)
            kernel.sum_retained(tables.weighted(n0), tables.plain(n1), limits[d], scratch, retained)
            found[d, points] = np.log1p(-np.minimum(retained, 1.0))
    return found


def log_tied_of(
    counts: np.ndarray, gamma_squared: Fraction, alpha: np.ndarray, quadrature: str
) -> np.ndarray:
    """Return what `log_tied_probability` does for each row (n0, n1) of counts, (D, K)."""
    if gamma_squared == 0:
        return log_discard_of(counts, gamma_squared, alpha, quadrature)
    pairs = [tied_pairs(n0, n1, gamma_squared) for n0, n1 in counts.tolist()]
    row = np.repeat(np.arange(len(counts)), [len(one) for one in pairs])
    log_marginal = pair_integrals_of(
        np.concatenate(pairs), counts[row], alpha, quadrature
    ).log_marginal
    found = np.full((len(counts), len(alpha)), -np.inf)
    np.logaddexp.at(found, row, log_marginal)
    return found


class _Tables:
    """P(I given n, alpha, theta) for some numbers n of cases, made when they are asked for."""

    def __init__(self, most: int, quadrature: str, alpha: np.ndarray):
        self.rule, self.alpha = theta_rule(quadrature, most), alpha
        self._plain: dict[int, np.ndarray] = {}
        self._weighted: dict[int, np.ndarray] = {}

    def plain(self, n: int) -> np.ndarray:
        """Return the table of n cases, (K, n + 1, G)."""
        if n not in self._plain:
            table = np.empty((len(self.alpha), n + 1, len(self.rule.theta)))
            rule = self.rule
            kernel.fill_count_probabilities(self.alpha, rule.theta, rule.complement, n, table)
            self._plain[n] = table
        return self._plain[n]

    def weighted(self, n: int) -> np.ndarray:
        """Return the same times the weights of the rule."""
        if n not in self._weighted:
            self._weighted[n] = self.plain(n) * self.rule.weight
        return self._weighted[n]


def _tables(
    counts: np.ndarray, alpha: np.ndarray, quadrature: str
) -> Iterator[tuple[slice, _Tables]]:
    """Yield tables for some alphas at a time, as many as TABLE_BYTES allow."""
    alpha = np.ascontiguousarray(alpha, dtype=float)
    most = int(counts.sum(axis=1).max())
    nodes = len(theta_rule(quadrature, most).theta)
    each = sum(8 * (n + 1) * nodes for column in counts.T for n in set(column.tolist()))
    step = max(1, int(TABLE_BYTES // (2 * each)))
    for start in range(0, len(alpha), step):
        points = slice(start, min(start + step, len(alpha)))
        yield points, _Tables(most, quadrature, alpha[points].copy())
