"""Are ranks uniform?  Histograms and simultaneous bands for their distribution, both exact.

n ranks are whole numbers from 0 to L; with P = L + 1 places, how many ranks are in the first i
places is Binomial(n, i / P) if they are uniform.  The band of Säilynoja, Bürkner and Vehtari
(2022) takes, at every i, the counts whose two-sided tail probability is above one gamma for all,
chosen so that all i are within at once with the probability wanted.  Counts in places are
independent Poisson variables given their sum, so that this probability is a product of
convolutions, each cut to the band, divided by the probability of the sum.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # scipy.stats takes seconds: it is loaded at its first use

MOST_BINS = 20


class Histogram(NamedTuple):
    """Ranks by bin, and the probability of each bin, (B,) each."""

    counts: np.ndarray
    probability: np.ndarray

    @property
    def p_value(self) -> float:
        """Of the chi-squared test."""
        expected = self.counts.sum() * self.probability
        statistic = float(((self.counts - expected) ** 2 / expected).sum())
        return float(scipy.stats.chi2.sf(statistic, len(self.counts) - 1))

    def band(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the counts between which each bin by itself is with this probability."""
        n, tail = self.counts.sum(), (1 - level) / 2
        low, high = (scipy.stats.binom.ppf(at, n, self.probability) for at in (tail, 1 - tail))
        return low, high


def histogram(ranks: np.ndarray, draws: int) -> Histogram:
    """Return ranks by bin: up to 20 equal ones, or as equal as can be, of 5 ranks or more."""
    most = min(MOST_BINS, max(2, len(ranks) // 5), draws + 1)
    bins = max(n for n in range(1, most + 1) if (draws + 1) % n == 0)
    bins = bins if 2 * bins >= most else most
    edges = np.linspace(0, draws + 1, bins + 1).astype(int)
    return Histogram(np.histogram(ranks, edges)[0], np.diff(edges) / (draws + 1))


def reached(ranks: np.ndarray, draws: int) -> np.ndarray:
    """Return how many ranks are in the first 1, ..., L places, (L,)."""
    return np.bincount(ranks, minlength=draws + 1).cumsum()[:draws]


def ecdf_p_value(ranks: np.ndarray, draws: int) -> float:
    """Return the probability, if ranks are uniform, of coming as near to leaving the band."""
    tails = _tails(len(ranks), draws)
    gamma = tails[np.arange(draws), reached(ranks, draws)].min()
    return float(np.clip(1 - coverage(len(ranks), draws, gamma), 0, 1))


@lru_cache
def ecdf_band(n: int, draws: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the most ranks in the first 1, ..., L places, (L,) each.

    All are within with a probability of at least `level`, as near to it as counts come.
    """
    low, high = -60.0, 0.0  # of log gamma
    for _ in range(50):
        middle = (low + high) / 2
        if coverage(n, draws, np.exp(middle)) >= level:
            low = middle
        else:
            high = middle
    return _bounds(_tails(n, draws), np.exp(low))


def coverage(n: int, draws: int, gamma: float) -> float:
    """Return the probability that the tail probabilities of uniform ranks all exceed gamma."""
    least, most = _bounds(_tails(n, draws), gamma)
    if (least > most).any():
        return 0.0
    mean = n / (draws + 1)
    step = scipy.stats.poisson.pmf(np.arange(n + 1), mean)
    step = step[: 1 + np.flatnonzero(step > 1e-300)[-1]]
    start, weight = 0, np.ones(1)
    for low, high in zip(least, most, strict=True):
        found = np.convolve(weight, step)  # of start, start + 1, ...
        weight = np.zeros(high - low + 1)
        first, last = max(low, start), min(high, start + len(found) - 1)
        weight[first - low : last - low + 1] = found[first - start : last - start + 1]
        start = low
    rest = n - start - np.arange(len(weight))
    last_step = scipy.stats.poisson.pmf(rest, mean)
    return float(weight @ last_step / scipy.stats.poisson.pmf(n, n))


def _bounds(tails: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the most counts whose tail probability is above gamma, (L,) each."""
    within = tails > gamma
    n = tails.shape[1] - 1
    least, most = within.argmax(axis=1), n - within[:, ::-1].argmax(axis=1)
    return np.where(within.any(axis=1), least, n + 1), most


@lru_cache
def _tails(n: int, draws: int) -> np.ndarray:
    """Two-sided tail probabilities of 0, ..., n ranks in the first 1, ..., L places, (L, n + 1)."""
    count, share = np.arange(n + 1), np.arange(1, draws + 1)[:, None] / (draws + 1)
    below, above = scipy.stats.binom.cdf(count, n, share), scipy.stats.binom.sf(count - 1, n, share)
    return 2 * np.minimum(below, above)
