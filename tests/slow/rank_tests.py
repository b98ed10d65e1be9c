"""Simulation-based calibration: ranks of true values among posterior draws, and tests of them.

Of data drawn with parameters from the prior, the rank of a true value among independent draws
from the posterior is uniform, for any function of parameters and training data (Talts and others,
2018).  The band of Säilynoja, Bürkner and Vehtari (2022) for the distribution of n ranks from 0 to
L takes, at every i, the counts whose two-sided tail probability is above one gamma for all.
"""

from functools import lru_cache

import numpy as np
from scipy import stats

DRAWS = 99  # the truth has 100 places among them, which 5, 10 and 20 bins divide
MOST_BINS = 20


def spaced(count):
    """Return which of `count` draws in a row to compare with: DRAWS of them, evenly spaced."""
    return np.arange(count) if count <= DRAWS else np.linspace(0, count - 1, DRAWS).astype(int)


def rank_last(values, rng):
    """Count the draws below the last value, which is the truth; ties are broken at random."""
    draws, truth = values[:-1], values[-1]
    return int((draws < truth).sum() + rng.integers(0, (draws == truth).sum() + 1))


def chi_squared_p_value(ranks, draws=DRAWS):
    """Return the p-value of equal counts in up to 20 bins, of 5 ranks or more on average."""
    most = min(MOST_BINS, max(2, len(ranks) // 5), draws + 1)
    bins = max(n for n in range(1, most + 1) if (draws + 1) % n == 0)
    counts = np.histogram(ranks, np.linspace(0, draws + 1, bins + 1))[0]
    return float(stats.chisquare(counts).pvalue)


def ecdf_p_value(ranks, draws=DRAWS):
    """Return the probability, if ranks are uniform, of coming as near to leaving the band."""
    tails = _tails(len(ranks), draws)
    within = np.bincount(ranks, minlength=draws + 1).cumsum()[:draws]
    gamma = tails[np.arange(draws), within].min()
    return float(np.clip(1 - coverage(len(ranks), draws, gamma), 0, 1))


def coverage(n, draws, gamma):
    """Return the probability that the tail probabilities of n uniform ranks all exceed gamma.

    Counts in places are independent Poisson variables given their sum: the probability is a
    product of convolutions, each cut to the band, divided by the probability of the sum.
    """
    inside = _tails(n, draws) > gamma
    if not inside.any(axis=1).all():
        return 0.0
    least, most = inside.argmax(axis=1), n - inside[:, ::-1].argmax(axis=1)
    step = stats.poisson.pmf(np.arange(n + 1), n / (draws + 1))
    step = step[: 1 + np.flatnonzero(step > 1e-300)[-1]]
    start, weight = 0, np.ones(1)
    for low, high in zip(least, most, strict=True):
        moved = np.convolve(weight, step)  # of start, start + 1, ...
        weight = np.zeros(high - low + 1)
        first, last = max(low, start), min(high, start + len(moved) - 1)
        weight[first - low : last - low + 1] = moved[first - start : last - start + 1]
        start = low
    rest = n - start - np.arange(len(weight))
    last_step = stats.poisson.pmf(rest, n / (draws + 1))
    return float(weight @ last_step / stats.poisson.pmf(n, n))


@lru_cache
def _tails(n, draws):
    """Two-sided tail probabilities of 0, ..., n ranks in the first 1, ..., L places, (L, n + 1)."""
    count, share = np.arange(n + 1), np.arange(1, draws + 1)[:, None] / (draws + 1)
    below, above = stats.binom.cdf(count, n, share), stats.binom.sf(count - 1, n, share)
    return 2 * np.minimum(below, above)
