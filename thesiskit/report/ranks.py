"""Simulation-based calibration: ranks of true values among draws from the posterior.

Are they uniform?  Histograms and simultaneous bands for their distribution are exact.  n ranks are
whole numbers from 0 to L; with P = L + 1 places, how many ranks are in the first i places is
Binomial(n, i / P) if they are uniform.  The band of Säilynoja, Bürkner and Vehtari (2022) takes, at
every i, the counts whose two-sided tail probability is above one gamma for all, chosen so that all
i are within at once with the probability wanted.  Counts in places are independent Poisson
variables given their sum, so that this probability is a product of convolutions, each cut to the
band, divided by the probability of the sum.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy  # scipy.stats takes seconds: it is loaded at its first use

from thesiskit.report.layout import GREY, INK, PALE, Figure, Table, canvas
from thesiskit.report.record import Record
from thesiskit.report.stages import listed

MOST_BINS = 20
LEVEL = 0.99


class Ranked(NamedTuple):
    """Ranks (N,) of a quantity by a model, each from 0 to `draws`."""

    model: str
    quantity: str
    ranks: np.ndarray
    draws: int


def _ranked(record: Record) -> list[Ranked]:
    """Return what was ranked: of each model, as many quantities."""
    found = record.predictions
    return [
        Ranked(record.title(record.arms[row]), str(name), found["ranks"][row, :, q], int(draws))
        for row, draws in enumerate(found["rank_draws"])
        if draws
        for q, name in enumerate(found["rank_names"])
    ]


def _about(ranked: list[Ranked]) -> str:
    """Return the sentences of a caption that say what a rank is."""
    return (
        f"{len(ranked[0].ranks):,} data sets, each drawn with parameters from the prior. The rank "
        f"is the number of {ranked[0].draws} draws from the posterior that are below the true "
        "value; ties are broken at random. If the posterior is right, the ranks are uniform."
    )


def uniform_sentence(record: Record) -> str:
    """Say of each model how many quantities have ranks that are not uniform."""
    ranked, far = _ranked(record), dict[str, list[bool]]()
    for one in ranked:
        p = ecdf_p_value(one.ranks, one.draws)
        far.setdefault(one.model, []).append(p < (1 - LEVEL) / len(ranked))
    told = [f"{sum(mine)} of {len(mine)} with {model}" for model, mine in far.items()]
    return (
        f"Ranked among posterior draws in {len(ranked[0].ranks):,} data sets, these quantities are "
        f"not uniform at a level of {1 - LEVEL:.0%} for all together: {listed(told)}."
    )


def rank_table(record: Record) -> list[Table]:
    """Tests that ranks are uniform."""
    ranked = _ranked(record)
    rows = [
        {
            "model": one.model,
            "quantity": one.quantity,
            "mean rank / draws": one.ranks.mean() / one.draws,
            "chi-squared p": histogram(one.ranks, one.draws).p_value,
            "ECDF p": ecdf_p_value(one.ranks, one.draws),
        }
        for one in ranked
    ]
    caption = (
        f"{_about(ranked)} p-values of uniform ranks: by the chi-squared test of the histogram, "
        "and by how near the distribution comes to leaving its simultaneous band."
    )
    return [Table("ranks", "Are the ranks uniform?", pd.DataFrame(rows), caption)]


def rank_figure(record: Record) -> list[Figure]:
    """Histograms of ranks."""
    ranked = _ranked(record)

    def draw(axis, one: Ranked) -> None:
        found = histogram(one.ranks, one.draws)
        edges = np.arange(len(found.counts) + 1) - 0.5
        low, high = (np.append(ends, ends[-1]) for ends in found.band(LEVEL))
        axis.fill_between(edges, low, high, step="post", color=PALE, lw=0, zorder=0)
        axis.stairs(len(one.ranks) * found.probability, edges, color=GREY, lw=0.8, zorder=1)
        axis.bar(edges[1:] - 0.5, found.counts, width=1, color="none", edgecolor=INK, lw=0.8,
                 zorder=2)  # fmt: skip
        axis.set_xticks(edges[[0, -1]], ["0", f"{one.draws}"])
        axis.set_ylim(bottom=0)

    caption = (
        f"{_about(ranked)} The line is the expected height. Each bar by itself is within the grey "
        "band in 99 of 100 studies."
    )
    figure = _panels(ranked, draw, "rank", "data sets")
    return [Figure("ranks", "Simulation-based calibration: ranks", figure, caption)]


def ecdf_figure(record: Record) -> list[Figure]:
    """How far the distribution of ranks is from the uniform one."""
    ranked = _ranked(record)

    def draw(axis, one: Ranked) -> None:
        n = len(one.ranks)
        share = np.arange(1, one.draws + 1) / (one.draws + 1)
        low, high = (bound / n - share for bound in ecdf_band(n, one.draws, LEVEL))
        axis.fill_between(share, low, high, color=PALE, lw=0, zorder=0)
        axis.axhline(0, color=GREY, lw=0.8)
        axis.plot(share, reached(one.ranks, one.draws) / n - share, color=INK, lw=1)
        axis.set_xlim(0, 1)
        axis.set_xticks([0, 0.5, 1], ["0", "½", "1"])

    caption = (
        f"{_about(ranked)} The curve is the distribution of the ranks minus the uniform one. "
        "If ranks are uniform, the whole curve is within the grey band in 99 of 100 studies."
    )
    figure = _panels(ranked, draw, "rank / draws", "ECDF less uniform")
    title = "Simulation-based calibration: distribution of ranks"
    return [Figure("rank-ecdf", title, figure, caption)]


def _panels(ranked: list[Ranked], draw: Callable[..., None], below: str, beside: str):
    """Return a figure with a row of panels for each model, and a panel for each quantity."""
    columns = len({one.quantity for one in ranked})
    rows = len(ranked) // columns
    width, height = max(7.6, 2.6 * columns), 1.9 * rows + 0.5
    figure, axes = canvas(rows, columns, width=width, height=height)
    for axis, one in zip(axes.flat, ranked, strict=True):
        axis.set_title(f"{one.model}\n{one.quantity}", fontsize=8.5)
        axis.tick_params(labelsize=8)
        draw(axis, one)
    for axis in axes[:, 0]:
        axis.set_ylabel(beside, fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel(below, fontsize=9)
    return figure


# ---- uniform ranks ----


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
