"""Simulation-based calibration: the rank of each true value among draws from the posterior."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from thesiskit.report import rank_bands
from thesiskit.report.layout import GREY, INK, PALE, Figure, Table, canvas, save_space
from thesiskit.report.record import Record

LEVEL = 0.99


class Ranked(NamedTuple):
    """Ranks (N,) of a quantity by a model, each from 0 to `draws`."""

    model: str
    quantity: str
    ranks: np.ndarray
    draws: int


def _ranked(record: Record) -> list[list[Ranked]]:
    """Return what was ranked: for each model its quantities."""
    blocks = [record.results.load("predict", number) for number in range(record.n_blocks)]
    ranks = np.concatenate([one["ranks"] for one in blocks], axis=1)
    first = blocks[0]
    return [
        [
            Ranked(record.title(record.arms[row]), str(name), ranks[row, :, q], int(draws))
            for q, name in enumerate(first["rank_names"])
        ]
        for row, draws in enumerate(first["rank_draws"])
        if draws
    ]


def _about(ranked: list[list[Ranked]]) -> str:
    """Return the sentences of a caption that say what a rank is."""
    one = ranked[0][0]
    return (
        f"{len(one.ranks):,} data sets, each drawn with parameters from the prior. The rank is the "
        f"number of {one.draws} draws from the posterior that are below the true value; ties are "
        "broken at random. If the posterior is right, the ranks are uniform."
    )


def rank_table(record: Record) -> list[Table]:
    """Tests that ranks are uniform."""
    ranked = _ranked(record)
    rows = [
        {
            "model": one.model,
            "quantity": one.quantity,
            "mean rank / draws": one.ranks.mean() / one.draws,
            "chi-squared p": rank_bands.histogram(one.ranks, one.draws).p_value,
            "ECDF p": rank_bands.ecdf_p_value(one.ranks, one.draws),
        }
        for quantities in ranked
        for one in quantities
    ]
    return [
        Table(
            "ranks",
            "Are the ranks uniform?",
            pd.DataFrame(rows),
            _about(ranked)
            + " p-values of uniform ranks: by the chi-squared test of the histogram, "
            "and by how near the distribution comes to leaving its simultaneous band.",
        )
    ]


def rank_figure(record: Record) -> list[Figure]:
    """Histograms of ranks."""
    ranked = _ranked(record)
    figure, axes = _canvas(ranked)
    for axis, one in _panels(ranked, axes):
        found = rank_bands.histogram(one.ranks, one.draws)
        places = np.arange(len(found.counts))
        low, high = found.band(LEVEL)
        axis.fill_between(
            np.append(places, len(places)) - 0.5, np.append(low, low[-1]),
            np.append(high, high[-1]), step="post", color=PALE, lw=0, zorder=0,
        )  # fmt: skip
        expected = len(one.ranks) * found.probability
        axis.stairs(expected, np.arange(len(places) + 1) - 0.5, color=GREY, lw=0.8, zorder=1)
        axis.bar(places, found.counts, width=1, color="none", edgecolor=INK, lw=0.8, zorder=2)
        axis.set_xticks([-0.5, len(places) - 0.5], ["0", f"{one.draws}"])
        axis.set_ylim(bottom=0)
    _label(axes, "rank", "data sets")
    return [
        Figure(
            "ranks",
            "Simulation-based calibration: ranks",
            figure,
            _about(ranked)
            + " The line is the expected height. Each bar by itself is within the grey band in 99 "
            "of 100 studies.",
        )
    ]


def ecdf_figure(record: Record) -> list[Figure]:
    """How far the distribution of ranks is from the uniform one."""
    ranked = _ranked(record)
    figure, axes = _canvas(ranked)
    for axis, one in _panels(ranked, axes):
        n = len(one.ranks)
        share = np.arange(1, one.draws + 1) / (one.draws + 1)
        low, high = (bound / n - share for bound in rank_bands.ecdf_band(n, one.draws, LEVEL))
        axis.fill_between(share, low, high, color=PALE, lw=0, zorder=0)
        axis.axhline(0, color=GREY, lw=0.8)
        axis.plot(share, rank_bands.reached(one.ranks, one.draws) / n - share, color=INK, lw=1)
        axis.set_xlim(0, 1)
        axis.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    _label(axes, "rank / draws", "ECDF less uniform")
    return [
        Figure(
            "rank-ecdf",
            "Simulation-based calibration: distribution of ranks",
            figure,
            _about(ranked) + " The curve is the distribution of the ranks minus the uniform one. "
            "If ranks are uniform, the whole curve is within the grey band in 99 of 100 studies.",
        )
    ]


def _canvas(ranked: list[list[Ranked]]):
    columns = len(ranked[0])
    return canvas(
        len(ranked), columns, width=max(7.6, 2.6 * columns), height=1.9 * len(ranked) + 0.5
    )


def _panels(ranked: list[list[Ranked]], axes) -> Iterator[tuple]:
    """Yield an axis, with its title, for each quantity of each model."""
    for row, quantities in zip(axes, ranked, strict=True):
        for axis, one in zip(row, quantities, strict=True):
            axis.set_title(f"{one.model}\n{one.quantity}", fontsize=8.5)
            axis.tick_params(labelsize=8)
            yield axis, one


def _label(axes, below: str, beside: str) -> None:
    for axis in axes[-1]:
        axis.set_xlabel(below, fontsize=9)
    for axis in axes[:, 0]:
        axis.set_ylabel(beside, fontsize=9)
    save_space(axes)
