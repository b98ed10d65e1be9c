"""The probability that a feature is left out: that its F is at most the threshold.

| symbol | name | shape |
|---|---|---|
| rho_j, the ratio of one feature | `ratio` in `tails` | any |
| rho, and T_j = rho_j / rho | `ratio` elsewhere; integrated out | (R,) |
| c, the shape of T_j | `shape`; None where T_j is 1 | |
| d_i | `_spreads` | (G - 1,) |

Given rho_j, the sum of squares between classes is w_j times a sum of c_i chi-squared variables with
one degree of freedom, c_i = 1 + rho_j d_i, where d_i are the nonzero eigenvalues of
diag(n) - n n' / N; that within classes is w_j times one with N - G.  So F does not depend on w_j.
With two classes F / (1 + rho_j d) has the F distribution.  With more, Ruben's series (1962, Annals
of Mathematical Statistics 33, 542-570) has positive terms only: with beta = min c_i,

    P(F <= f) = sum_k alpha_k I_{q / (1 + q)}((G - 1) / 2 + k, (N - G) / 2),
    q = f (G - 1) / ((N - G) beta),   alpha_0 = prod sqrt(beta / c_i),
    alpha_k = 1 / (2 k) sum_{r < k} g_{k - r} alpha_r,   g_m = sum_i (1 - beta / c_i)^m.

T_j is integrated out by the trapezoid rule in log rho_j, on one lattice for every rho.  The factor
is raised to the power p - k, so the smaller of P(F <= f) and P(F > f) is always kept, too.
"""

from collections.abc import Sequence

import numpy as np
from scipy import special

STEP = 0.25  # of log rho_j, where T_j is wide
SMALL = 1e-18  # relative to 1: what is left out of sums
LEAST_F = 1e-12  # where the threshold is 0, in its place: factors have a limit
MOST_TERMS = 20_000


def log_discard_probability(
    class_counts: Sequence[int], threshold: float, ratio: np.ndarray, *, shape: float | None
) -> np.ndarray:
    """Return log P(F <= threshold) of a feature whose effects have each ratio rho, like `ratio`.

    class_counts (G,) are the cases that have the feature; shape is c, None where T_j is 1.
    """
    ratio = np.asarray(ratio, dtype=float)
    counts = np.asarray(class_counts)
    lower, upper = averaged_tails(counts, threshold, ratio.reshape(-1), shape)
    return log_lower(lower, upper).reshape(ratio.shape)


def log_lower(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the log of a probability from itself and its complement."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(upper < 0.5, np.log1p(-upper), np.log(lower))


def averaged_tails(
    counts: np.ndarray, threshold: float, ratio: np.ndarray, shape: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return P(F <= threshold) and P(F > threshold), the mean over T_j, (R,) each."""
    if shape is None or not len(ratio):
        return tails(counts, threshold, ratio)
    log_ratio = np.log(ratio)
    log_nodes, weight = lattice(log_ratio, shape)
    lower, upper = tails(counts, threshold, np.exp(np.minimum(log_nodes, 600)))
    return weight @ lower, weight @ upper


def lattice(log_ratio: np.ndarray, shape: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes of log rho_j, (M,), and the weights of the average for each rho, (R, M).

    The sum of the trapezoid rule is as exact on any lattice, so all rho can share one.  With
    s = log(rho_j / rho), T_j = e^s has density proportional to exp(-(c / 2) (s + e^-s)) in s.
    """
    step = min(STEP, 0.7 * float(np.sqrt(special.polygamma(1, shape / 2))))
    low, high = s_range(shape, 50)
    first, last = np.floor((log_ratio.min() + low) / step), np.ceil((log_ratio.max() + high) / step)
    nodes = step * np.arange(first, last + 1)
    return nodes, step * effect_density(nodes - log_ratio[:, None], shape)


def s_range(shape: float, drop: float) -> tuple[float, float]:
    """Return where the density of s = log T_j is below exp(-drop), about."""
    return -float(np.log1p(2 * (drop + 1) / shape)), 2 * drop / shape


def effect_density(s: np.ndarray, shape: float | np.ndarray) -> np.ndarray:
    """Return the density of s = log T_j, T_j ~ Inverse-Gamma(c / 2, c / 2)."""
    half = shape / 2
    log_norm = half * np.log(half) - special.gammaln(half)
    return np.exp(log_norm - half * (s + np.exp(np.minimum(-s, 600))))


def tails(counts: np.ndarray, threshold: float, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P(F <= threshold) and P(F > threshold) for features with each rho_j, (M,) each."""
    counts = np.asarray(counts)[np.asarray(counts) > 0]
    classes, rest = len(counts), int(counts.sum()) - len(counts)
    f = max(float(threshold), LEAST_F)
    c = 1 + np.multiply.outer(np.asarray(ratio, dtype=float), _spreads(counts))
    if classes == 2 or np.ptp(c, axis=1).max(initial=0) == 0:
        scaled = f / c[:, 0]
        return special.fdtr(classes - 1, rest, scaled), special.fdtrc(classes - 1, rest, scaled)
    return _ruben(f, c, classes, rest)


def _spreads(counts: np.ndarray) -> np.ndarray:
    """Return the nonzero eigenvalues of diag(n) - n n' / N, (G - 1,), rising."""
    n = counts.astype(float)
    if len(n) == 2:
        return np.array([2 * n[0] * n[1] / n.sum()])
    return np.linalg.eigvalsh(np.diag(n) - np.outer(n, n) / n.sum())[1:]


def _ruben(f: float, c: np.ndarray, classes: int, rest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both tails by Ruben's series, for c (M, G - 1).

    Terms end where those left out are below SMALL, because alpha_k or I is.  In the latter case
    what is left of the sum of alpha belongs to the upper tail.
    """
    beta = c.min(axis=1)
    theta = 1 - beta[:, None] / c
    q = f * (classes - 1) / (rest * beta)
    half = (classes - 1) / 2
    alpha = np.prod(np.sqrt(beta[:, None] / c), axis=1)
    # sums[i] = sum over r < k of theta_i^(k - r) alpha_r
    sums = np.zeros_like(theta)
    slowest = theta.max(axis=1)
    mean = (theta / (1 - theta)).sum(axis=1) / 2  # of k, under the distribution alpha
    left = np.arange(len(c))
    lower, upper, total = (np.zeros(len(c)) for _ in range(3))
    for k in range(MOST_TERMS):
        if k:
            alpha = sums.sum(axis=1) / (2 * k)
        below = special.betainc(half + k, rest / 2, q[left] / (1 + q[left]))
        above = special.betaincc(half + k, rest / 2, q[left] / (1 + q[left]))
        lower[left] += alpha * below
        upper[left] += alpha * above
        total[left] += alpha
        sums = theta[left] * (sums + alpha[:, None])
        # beyond their mean, alpha fall about as the geometric series of the slowest
        negligible = (alpha < SMALL * (1 - slowest[left])) & (k > mean[left])
        ended = negligible | (below < SMALL)
        if ended.any():
            left, alpha, sums = left[~ended], alpha[~ended], sums[~ended]
            if not len(left):
                break
    missing = 1 - total
    return lower, upper + np.where(missing > 1e-12, missing, 0)
