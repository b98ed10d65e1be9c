"""The exact posterior of the mixture model with one feature, with which samplers are compared.

Cases with the same feature and response are exchangeable, so the posterior depends on the labels
only through four counts (n_y^[z] by value of the feature), and is summed over these.  Section
"Application to Bayesian Mixture Models"; the grids of alpha and alpha_0 are those of the sampler.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from thesiskit.errors import UserError
from thesiskit.models.integrals import pair_integrals
from thesiskit.models.mixture.tables import Tables
from thesiskit.models.mixture.target import Target

MOST = 20_000_000  # sums over counts and points for alpha


@dataclass(frozen=True)
class Enumerated:
    """The exact posterior.

    alpha (K,) and response_alpha (K,) probabilities of the grid points, agreement (n + 1,) of the
    larger of the number of cases whose label is their response, and whose is not; predictive
    (2,), P(y* = 1) by the feature of a new case.
    """

    alpha: np.ndarray
    response_alpha: np.ndarray
    agreement: np.ndarray
    predictive: np.ndarray


def enumerate_posterior(target: Target) -> Enumerated:
    """Sum over all labels.

    Raises UserError if more than one feature is kept, or if there are too many sums.
    """
    if target.k != 1:
        raise UserError(f"only one feature can be enumerated, not {target.k}")
    x, y, n = target.features[:, 0], target.response, target.n
    settings = target.settings
    group = [int(((x == i) & (y == j)).sum()) for i in (0, 1) for j in (0, 1)]
    sums = int(np.prod([size + 1 for size in group]))
    if sums * settings.alpha_points > MOST:
        raise UserError(
            f"{sums:,} sums over counts, for {settings.alpha_points} points of alpha, are too many "
            "to enumerate; use fewer cases or points"
        )
    # cases in component 1 by (x, y) = (0, 0), (0, 1), (1, 0), (1, 1)
    a = np.stack(np.meshgrid(*(np.arange(size + 1) for size in group), indexing="ij"), axis=-1)
    a = a.reshape(-1, 4)
    m, c0, c1 = a.sum(axis=1), a[:, 0] + a[:, 2], a[:, 1] + a[:, 3]
    ones = a[:, 2] + a[:, 3]
    log_weight = target.log_prior[m] + sum(
        _log_choose(size, a[:, g]) for g, size in enumerate(group)
    )
    feature = _Column(ones, int(x.sum()), m, n, settings.alpha)
    response = _Column(c1, target.class_counts[1], m, n, settings.response_alpha)
    log_feature = feature.log_marginal
    if target.left_out is not None:
        tables = Tables(n, settings.alpha)
        discards = tables.discards(target.class_counts, target.left_out, settings.quadrature)
        entry = np.empty(len(settings.alpha))
        for i, counts in enumerate(zip(c0.tolist(), c1.tolist(), strict=True)):
            discards.log_discards(*counts, entry)
            log_feature[i] += entry
    both = [special.logsumexp(one, axis=1) for one in (log_feature, response.log_marginal)]
    weight = special.softmax(log_weight + both[0] + both[1])
    given = [special.softmax(one, axis=1) for one in (log_feature, response.log_marginal)]
    same = c1 + (target.class_counts[0] - c0)
    f0, f1 = settings.class_prior
    component = np.stack([f0 + n - m, f1 + m], axis=1) / (f0 + f1 + n)
    joint = np.zeros((2, 2))  # of x* and y*
    for z in (0, 1):
        one = [
            (part * column.predictive(z)).sum(axis=1)
            for part, column in zip(given, (feature, response), strict=True)
        ]
        for i, j in np.ndindex(2, 2):
            chance = (one[0] if i else 1 - one[0]) * (one[1] if j else 1 - one[1])
            joint[i, j] += weight @ (component[:, z] * chance)
    return Enumerated(
        weight @ given[0],
        weight @ given[1],
        np.bincount(np.maximum(same, n - same), weight, n + 1),
        joint[:, 1] / joint.sum(axis=1),
    )


def _log_choose(n, k) -> np.ndarray:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


class _Column:
    """log marginals (M, K) of a binary column given labels, and its predictive probabilities."""

    def __init__(self, ones, total, m, n, alpha):
        self.ones, self.total, self.m, self.n, self.alpha = ones, total, m, n, alpha
        self.log_marginal = np.empty((len(m), len(alpha)))
        self.mean = np.empty((len(m), len(alpha)))
        for size in np.unique(m):
            rows = np.flatnonzero(m == size)
            pairs = np.stack([total - ones[rows], ones[rows]], axis=1)
            found = pair_integrals(pairs, (n - size, size), alpha)
            orderings = _log_choose(n - size, pairs[:, 0]) + _log_choose(size, pairs[:, 1])
            self.log_marginal[rows] = found.log_marginal - orderings[:, None]
            self.mean[rows] = found.theta_mean

    def predictive(self, z: int) -> np.ndarray:
        """P(1) for a new case of component z, (M, K)."""
        i, size = (self.ones, self.m) if z else (self.total - self.ones, self.n - self.m)
        return (self.alpha * self.mean + i[:, None]) / (self.alpha + size[:, None])
