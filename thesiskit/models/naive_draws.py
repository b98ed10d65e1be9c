"""Draws from the posterior of the naive Bayes model, each independent of the others.

| thesis | name | shape |
|---|---|---|
| alpha | `alpha` | (L,) |
| theta_j of the kept features | `theta` | (L, k) |

Predictions need none of them, for they are integrals; simulation-based calibration does.  Given
alpha, the density of theta_j is a product of factors linear in theta (equation pxj-b), those of
cases that are one and those of cases that are zero.  Written out,

  prod over y of prod_{i < I_y} (alpha theta + i) = sum_t A_t (alpha theta)^t,

and so with B_u (alpha (1 - theta))^u for the zeros; no term is negative.  theta is therefore a
mixture of Beta(1 + t, 1 + u) with weights A_t B_u alpha^(t + u) B(1 + t, 1 + u), and can be drawn
exactly.
"""

from functools import lru_cache

import numpy as np
from scipy import special

from thesiskit.models.naive_bayes import Posterior


def sample(
    posterior: Posterior, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of alpha (count,) and of theta of every kept feature (count, k).

    Each point of the posterior's grid stands for a cell, in which the likelihood is taken to be
    what it is at the point: alpha is drawn from the prior within the cell under the midpoint rule,
    evenly on the log scale under the adaptive one.
    """
    point = rng.choice(len(posterior.alpha), size=count, p=np.exp(posterior.log_posterior))
    within = rng.random(count)
    if posterior.settings.alpha_quadrature == "midpoint":
        alpha = posterior.settings.prior.quantile((point + within) / len(posterior.alpha))
    else:
        t = np.log(posterior.alpha)
        alpha = np.exp(t[point] + (t[1] - t[0]) * (within - 0.5))
    ones = posterior.kept.pairs[posterior.kept.group]
    zeros = posterior.kept.class_counts - ones
    theta = [
        draw_theta(alpha, tuple(one.tolist()), tuple(zero.tolist()), rng)
        for one, zero in zip(ones, zeros, strict=True)
    ]
    return alpha, np.array(theta).reshape(-1, count).T


def draw_theta(
    alpha: np.ndarray, ones: tuple[int, ...], zeros: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Draw theta of a feature with these counts in the classes, one given each alpha, (L,)."""
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


def log_odds(
    posterior: Posterior, alpha: np.ndarray, theta: np.ndarray, case: np.ndarray
) -> np.ndarray:
    """Return log P(y* = 1) - log P(y* = 0) given x* = case, (k,) of 0 and 1, by each draw, (L,).

    phi and psi are integrated out: P(x_j* = 1 given y*) = (alpha theta_j + I_y) / (alpha + N_y).
    """
    kept = posterior.kept
    ones = kept.pairs[kept.group]
    f0, f1 = posterior.settings.class_prior
    n0, n1 = kept.class_counts
    log = []
    for y, n in enumerate((n0, n1)):
        one = alpha[:, None] * theta + ones[:, y]
        zero = alpha[:, None] * (1 - theta) + (n - ones[:, y])
        each = np.log(np.where(case == 1, one, zero) / (alpha[:, None] + n))
        log.append(each.sum(axis=1))
    return np.log((f1 + n1) / (f0 + n0)) + log[1] - log[0]
