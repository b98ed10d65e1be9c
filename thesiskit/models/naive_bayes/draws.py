"""Draws from the posterior of the naive Bayes model, each independent of the others.

| thesis | name | shape |
|---|---|---|
| alpha | `alpha` | (L,) |
| theta_j of the kept features | `theta` | (L, k) |
| pi, and which kept features are relevant; not in the thesis | `pi`, `relevant` | (L,), (L, k) |

Predictions need none of them, for they are integrals; simulation-based calibration does.  Given
alpha, the density of theta_j is a product of factors linear in theta (equation pxj-b), those of
cases that are one and those of cases that are zero.  Written out,

  prod over y of prod_{i < I_y} (alpha theta + i) = sum_t A_t (alpha theta)^t,

and so with B_u (alpha (1 - theta))^u for the zeros; no term is negative.  theta is therefore a
mixture of Beta(1 + t, 1 + u) with weights A_t B_u alpha^(t + u) B(1 + t, 1 + u), and can be drawn
exactly.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from thesiskit.models.naive_bayes.posterior import Posterior, relevant_given


@dataclass(frozen=True)
class Draws:
    """Draws of alpha and pi (L,); of each kept feature theta, and whether it is relevant (L, k)."""

    alpha: np.ndarray
    pi: np.ndarray
    theta: np.ndarray
    relevant: np.ndarray


def sample(posterior: Posterior, count: int, rng: np.random.Generator) -> Draws:
    """Return draws from the posterior.

    Each point of the posterior's grid of alpha stands for a cell, in which the likelihood is taken
    to be what it is at the point: alpha is drawn from the prior within the cell under the midpoint
    rule, evenly on the log scale under the adaptive one.  pi is a point of its grid.
    """
    J = len(posterior.pi)
    drawn = rng.choice(posterior.log_joint.size, size=count, p=np.exp(posterior.log_joint.ravel()))
    point, j = np.divmod(drawn, J)
    within = rng.random(count)
    if posterior.settings.alpha_quadrature == "midpoint":
        alpha = posterior.settings.prior.quantile((point + within) / len(posterior.alpha))
    else:
        t = np.log(posterior.alpha)
        alpha = np.exp(t[point] + (t[1] - t[0]) * (within - 0.5))
    group = posterior.kept.group
    relevant = np.ones((count, len(group)), dtype=bool)
    if posterior.irrelevant is not None:
        chance = np.empty((count, len(posterior.kept.pairs)))
        for one in np.unique(j):
            mine = j == one
            chance[mine] = relevant_given(posterior, point[mine], one).T
        relevant = rng.random(relevant.shape) < chance[:, group]
    ones = posterior.kept.pairs[group]
    zeros = posterior.kept.class_counts - ones
    theta = np.empty(relevant.shape)
    for f, (one, zero) in enumerate(zip(ones.tolist(), zeros.tolist(), strict=True)):
        at = relevant[:, f]
        theta[at, f] = draw_theta(alpha[at], tuple(one), tuple(zero), rng)
        theta[~at, f] = rng.beta(1 + sum(one), 1 + sum(zero), size=(~at).sum())
    return Draws(alpha, posterior.pi[j], theta, relevant)


def draw_theta(
    alpha: np.ndarray, ones: tuple[int, ...], zeros: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Draw theta of a feature with these counts in the classes, one given each alpha, (L,).

    Its density is pxj-b.
    """
    log_a, log_b = _log_coefficients(ones), _log_coefficients(zeros)
    t, u = (one.reshape(-1) for one in np.indices((len(log_a), len(log_b))))
    log_weight = log_a[t] + log_b[u] + special.betaln(1 + t, 1 + u)
    log_weight = log_weight + np.log(alpha)[:, None] * (t + u)
    cumulative = np.exp(log_weight - log_weight.max(axis=1, keepdims=True)).cumsum(axis=1)
    at = rng.random(len(alpha)) * cumulative[:, -1]
    term = (cumulative <= at[:, None]).sum(axis=1)
    return rng.beta(1 + t[term], 1 + u[term])


@lru_cache(maxsize=4096)
def _log_coefficients(counts: tuple[int, ...]) -> np.ndarray:
    """Log coefficients of prod over y of prod_{i < counts_y} (x + i), lowest power first."""
    log = np.zeros(1)
    for count in counts:
        for i in range(count):
            by_i = np.append(log, -np.inf) + (np.log(i) if i else -np.inf)
            log = np.logaddexp(np.append(-np.inf, log), by_i)
    return log


def log_odds(posterior: Posterior, draws: Draws, case: np.ndarray) -> np.ndarray:
    """Return log P(y* = 1) - log P(y* = 0) given x* = case, (k,) of 0 and 1, by each draw, (L,).

    phi and psi are integrated out: P(x_j* = 1 given y*) = (alpha theta_j + I_y) / (alpha + N_y) of
    a relevant feature.  Others are as probable in both classes.
    """
    kept, alpha, theta = posterior.kept, draws.alpha[:, None], draws.theta
    ones = kept.pairs[kept.group]
    f0, f1 = posterior.settings.class_prior
    n0, n1 = kept.class_counts
    log = []
    for y, n in enumerate((n0, n1)):
        one = alpha * theta + ones[:, y]
        zero = alpha * (1 - theta) + (n - ones[:, y])
        each = np.log(np.where(case == 1, one, zero) / (alpha + n))
        log.append(np.where(draws.relevant, each, 0).sum(axis=1))
    return np.log((f1 + n1) / (f0 + n0)) + log[1] - log[0]
