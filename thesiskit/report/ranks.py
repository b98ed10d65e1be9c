"""Simulation-based calibration: where the truth stands among draws from the posterior."""

import numpy as np
import pandas as pd
from scipy import stats

from thesiskit.report.figures import GREY, INK, PALE, Figure, canvas, save_space
from thesiskit.report.logistic_record import Arm, LogisticRecord
from thesiskit.report.tables import Table

QUANTITIES = ("log sigma_1", "predictive probability")
MOST_BINS = 20
LEVEL = 0.99


def _ranks(record: LogisticRecord) -> tuple[np.ndarray, int]:
    """Return ranks (replicates, arms, 2) and the number of draws."""
    blocks = [record.results.load("predict", number) for number in range(record.n_blocks)]
    return np.concatenate([one["ranks"] for one in blocks]), int(blocks[0]["rank_draws"])


def _arms(record: LogisticRecord) -> list[Arm]:
    """The models that are those the data were drawn from."""
    return [record.arms[row] for row in record.results.load("predict", 0)["ranked"]]


def _counts(ranks: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ranks by bin, and the probability of each bin."""
    bins = max(n for n in range(1, MOST_BINS + 1) if (draws + 1) % n == 0)
    bins = bins if bins > 4 else min(MOST_BINS, draws + 1)
    edges = np.linspace(0, draws + 1, bins + 1).astype(int)
    return np.histogram(ranks, edges)[0], np.diff(edges) / (draws + 1)


def rank_table(record: LogisticRecord) -> list[Table]:
    """Tests that ranks are uniform."""
    ranks, draws = _ranks(record)
    rows = []
    for a, arm in enumerate(_arms(record)):
        for q, name in enumerate(QUANTITIES):
            counts, probability = _counts(ranks[:, a, q], draws)
            expected = len(ranks) * probability
            statistic = float(((counts - expected) ** 2 / expected).sum())
            rows.append(
                {
                    "order": arm.order,
                    "model": arm.words,
                    "quantity": name,
                    "mean rank / draws": ranks[:, a, q].mean() / draws,
                    "chi-squared": statistic,
                    "p-value": stats.chi2.sf(statistic, len(counts) - 1),
                }
            )
    return [
        Table(
            "ranks",
            "Are the ranks uniform?",
            pd.DataFrame(rows),
            f"{len(ranks):,} data sets, each drawn with parameters from the prior; the rank is the "
            f"number of {draws} draws from the posterior that are below the true value; ties, as "
            "where both are 1, are broken at random.",
        )
    ]


def rank_figure(record: LogisticRecord) -> list[Figure]:
    """Histograms of ranks, and how far their distribution is from the uniform one."""
    ranks, draws = _ranks(record)
    arms = _arms(record)
    figure, axes = canvas(len(arms) * 2, 2, height=3.0 * len(arms) + 0.4)
    n = len(ranks)
    for a, arm in enumerate(arms):
        for q, name in enumerate(QUANTITIES):
            above, below = axes[2 * a, q], axes[2 * a + 1, q]
            counts, probability = _counts(ranks[:, a, q], draws)
            above.bar(range(len(counts)), counts, width=1, color=PALE, edgecolor=INK, lw=0.6)
            tail = (1 - LEVEL) / 2 / len(counts)
            low, high = (stats.binom.ppf(at, n, probability) for at in (tail, 1 - tail))
            for bound in (low, high):
                above.step(np.arange(len(counts)), bound, where="mid", color=INK, ls=":", lw=1)
            above.set_title(f"{name}: {arm.words}, order {arm.order}", fontsize=9)
            above.set_xticks([])
            x = np.arange(draws + 1)
            ecdf = np.searchsorted(np.sort(ranks[:, a, q]), x, side="right") / n
            below.plot((x + 1) / (draws + 1), ecdf - (x + 1) / (draws + 1), color=INK, lw=1)
            band = stats.kstwobign.ppf(LEVEL) / np.sqrt(n)
            below.axhspan(-band, band, color=PALE, zorder=0)
            below.axhline(0, color=GREY, lw=0.8)
            below.set_ylim(-2 * band, 2 * band)
            below.set_xlabel("rank / draws")
            if q == 0:
                above.set_ylabel("data sets")
                below.set_ylabel("ECDF less uniform")
    save_space(axes)
    return [
        Figure(
            "ranks",
            "Simulation-based calibration",
            figure,
            f"{n:,} data sets drawn with parameters from the prior. Above, ranks of the truth "
            f"among {draws} draws from the posterior, by bin, with 99 % bands for all bins of a "
            "histogram together; below, their distribution less the uniform one, with the "
            "simultaneous 99 % band. A sampler that is right gives uniform ranks.",
        )
    ]
