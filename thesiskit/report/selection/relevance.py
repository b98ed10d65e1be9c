"""How many features are relevant, and which: what the arms with `some` in model.relevant say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report.layout import (
    GREY,
    INK,
    PALE,
    Figure,
    Table,
    canvas,
    drawn_words,
    kept_words,
    save_space,
)
from thesiskit.report.record import Arm, Record
from thesiskit.report.selection.kept import base_label, each_kept, feature_names, features_words
from thesiskit.report.stages import listed

NAMED = 10  # features of the figure
ENDS = (0.05, 0.95)  # of intervals
LINES = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)))  # of arms


@dataclass(frozen=True)
class Relevance:
    """What an arm says of pi, and of the features that it kept.

    Attributes
    ----------
    p : how many features there were to choose from, the mean over training sets.
    pi : (J,) its values, in order; weight : (J,) their posterior, the mean over training sets.
    probability : by feature of the table, the probability that it is relevant: the mean over the
        training sets that kept it, NaN if none did.
    kept : by feature, in what fraction of the training sets it was kept.
    expected : how many of the features kept are relevant, the mean over training sets.
    """

    arm: Arm
    p: float
    pi: np.ndarray
    weight: np.ndarray
    probability: np.ndarray
    kept: np.ndarray
    expected: float

    def number(self, level: float) -> float:
        """Return a quantile of pi times p, the number of relevant features to be expected."""
        place = np.searchsorted(np.cumsum(self.weight), level * self.weight.sum())
        return float(self.p * self.pi[min(place, len(self.pi) - 1)])

    @property
    def middle(self) -> str:
        """About how many features are relevant, in words."""
        return number_words(self.number(0.5))

    @property
    def interval(self) -> str:
        """The interval of 90 % of this number, in words."""
        return " to ".join(number_words(self.number(level)) for level in ENDS)

    @property
    def words(self) -> str:
        """How many are relevant, such as "12 of 2,000 features (90 % interval 3 to 40)"."""
        return f"{self.middle} of {self.p:,.0f} features (90 % interval {self.interval})"


def number_words(number: float) -> str:
    """Return a number of features with two digits; one below 1 is a fraction of a feature."""
    if number < 1:
        return "less than 1"
    return f"{float(f'{number:.2g}'):,.0f}"


@lru_cache(maxsize=2)
def relevances(record: Record) -> list[Relevance]:
    """Return what the arms say that estimate pi and know what was left out; often there are none.

    Without the correction pi is of the features kept, which tells nothing of the others.
    """
    if record.mixture or "some" not in record.fits:
        return []
    places = [int(column) for column in record.fits["some"]]
    mine = [(i, record.own[column]) for i, column in enumerate(places)]
    first, plain = {arm.row for arm in record.main_arms}, record.plain_manners
    return [
        _relevance(record, i, arm)
        for i, arm in mine
        if arm.method != "uncorrected" and arm.row in first and arm.manner in plain
    ]


def _relevance(record: Record, i: int, arm: Arm) -> Relevance:
    """Return what the i-th arm with `some` says."""
    blocks = [
        record.results.load("fit", number, ("pi", "log_pi", "relevance", "relevance_offset"))
        for number in range(record.n_blocks)
    ]
    width = record.results.load("simulate", 0, ("group",))["group"].shape[1]
    total, kept, sets, expected = np.zeros(width), np.zeros(width), 0, 0.0
    for one in each_kept(record):
        # features of data that are drawn are others in each data set
        if one.label != arm.label or (record.config["drawn"] and one.replicate > 0):
            continue
        block = blocks[one.block]
        start, end = block["relevance_offset"][i, one.split : one.split + 2]
        mine = block["relevance"][start:end]
        total[one.features] += mine
        kept[one.features] += 1
        expected += mine.sum()
        sets += 1
    log_pi = np.concatenate([block["log_pi"][:, i] for block in blocks])
    pi, order = blocks[0]["pi"], np.argsort(blocks[0]["pi"])
    with np.errstate(invalid="ignore"):
        probability = total / kept
    groups = record.config["evaluation"]["groups"]
    return Relevance(
        arm,
        float(np.mean(dict(record.by_size("n_features"))[arm.label])),
        pi[order],
        np.exp(log_pi).mean(axis=0)[order],
        probability,
        kept * groups / sets,
        expected / sets,
    )


def alike(record: Record) -> list[Relevance]:
    """Return what the arms with most features say, one for each number before a screening."""
    found = relevances(record)
    most = max((record.kept(one.arm.label) for one in found), default=0)
    return [one for one in found if record.kept(one.arm.label) == most]


def main_relevance(record: Record) -> Relevance | None:
    """Return what the arm says that keeps most features; None if none says anything."""
    found = sorted(alike(record), key=lambda one: one.p)
    return found[len(found) // 2] if found else None


def relevance_sentence(record: Record) -> str:
    """Say how many features are relevant; nothing if no arm estimates it."""
    found, says = alike(record), relevances(record)
    if not found:
        return ""
    by = f"{features_words(record, found[0].arm.label)}, {found[0].arm.words}"
    by = f", by the arm with {by}" if len(says) > len(found) else ""
    if len(found) == 1:
        return f"About {found[0].words} seem to be relevant{by}."
    told = [f"{one.middle} of {one.p:,.0f} (90 % interval {one.interval})" for one in found]
    return (
        f"Of the features before the screening, about {listed(told, 'or')} seem to be relevant{by}."
    )


def relevance_part(record: Record) -> list[Table | Figure]:
    """How many features are relevant, and the probabilities of those that were kept."""
    found = relevances(record)
    rows = []
    for one in found:
        row = {"features": base_label(one.arm.label), "method": one.arm.words, "of": one.p}
        for name, level in (("median", 0.5), ("low", ENDS[0]), ("high", ENDS[1])):
            row[f"relevant of all: {name}"] = float(f"{one.number(level):.2g}")
        row["relevant of those kept"] = f"{one.expected:.1f}"
        rows.append(row)
    return [
        Table(
            "relevance",
            "How many features are relevant",
            pd.DataFrame(rows),
            "A feature is relevant if its distribution differs between the classes. Each is so "
            "with the same probability pi, of which the table shows the posterior, times the "
            "number of features: the number of relevant ones to be expected, with its interval of "
            "90 %. The last column adds up the probabilities of the features that were kept."
            + _about_sets(record),
        ),
        _figure(record, found),
    ]


def _about_sets(record: Record) -> str:
    sets = len(record.selection["kept"]) // len(record.labels)
    if sets == 1:
        return ""
    if record.config["drawn"] and record.config["replicates"] > 1:
        return f" Pi is averaged over {sets:,} training sets; the features are those of the first."
    return f" All are means over {sets:,} training sets."


def _figure(record: Record, found: list[Relevance]) -> Figure:
    figure, axes = canvas(1, 3, width=9.6, height=3.5)
    one, several = main_relevance(record), len(found) > 1
    assert one is not None
    # lines for all sizes, or for all numbers before a screening
    lines = alike(record) if len(alike(record)) > 1 else found
    often = _often(one)
    for i, other in enumerate(lines):
        look = {"linestyle": LINES[i % len(LINES)], "color": INK if i < len(LINES) else GREY}
        _draw_pi(axes[0, 0], other, look)
        if other is one or len(alike(record)) > 1:
            values = np.sort(other.probability[_often(other)])[::-1]
            axes[0, 1].plot(np.arange(1, len(values) + 1), values, marker="o", markersize=3, **look)
    axes[0, 0].axhline(1 / len(one.pi), color=GREY, linewidth=1, zorder=0)
    _name_axes(axes[0, 0], axes[0, 1], len(often))
    if several:
        axes[0, 0].legend(frameon=False, fontsize=8)
    first = often[np.lexsort((often, -one.probability[often]))][:NAMED]
    _draw_named(axes[0, 2], one.probability[first], feature_names(record, first))
    save_space(axes)
    of = f"{kept_words(one.arm.label)}, {one.arm.words}" if several else ""
    return Figure(
        "relevance",
        "Which features are relevant",
        figure,
        "On the left is the posterior of pi, the fraction of features that are relevant; before "
        "the data are seen, all its points are equally probable (the grey line). In the middle are "
        "the probabilities that features are relevant, largest first, and on the right the "
        "largest ones by name"
        + (f" ({of})." if of else ".")
        + (" Features are shown that half of the training sets kept, or more."
           if len(often) < (one.kept > 0).sum() else "")
        + _about_sets(record),
    )  # fmt: skip


def _often(one: Relevance) -> np.ndarray:
    """Return the features that were kept often; those of few training sets were kept by luck."""
    return np.flatnonzero(one.kept >= min(0.5, one.kept.max()))


def _draw_pi(axis, one: Relevance, look: dict[str, Any]) -> None:
    """Draw the posterior of pi."""
    axis.plot(one.pi, one.weight, marker="o", markersize=3, label=kept_words(one.arm.label), **look)


def _name_axes(left, middle, features: int) -> None:
    """Name the axes of the posteriors of pi, and of the probabilities."""
    left.set_xscale("log")
    left.xaxis.set_major_formatter(lambda x, _: f"{100 * x:g} %")
    left.tick_params(axis="x", labelsize=8)
    left.set_xlabel("pi, the fraction that is relevant")
    left.set_ylabel("posterior probability")
    left.set_ylim(bottom=0)
    if features > 30:
        middle.set_xscale("log")
        middle.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    middle.set_xlabel("features, by rank")
    middle.set_ylabel("probability relevant")
    middle.set_ylim(-0.03, 1.03)


def _draw_named(axis, probability: np.ndarray, names: list[str]) -> None:
    """Draw the probabilities of the first features, beside their names."""
    heights = -np.arange(len(probability))
    axis.hlines(heights, 0, probability, color=PALE, linewidth=3, zorder=0)
    axis.plot(probability, heights, "o", color=INK, markersize=5, clip_on=False)
    axis.set_yticks(heights, [drawn_words(name, 22) for name in names], fontsize=8)
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(-max(len(probability), 4) + 0.4, 0.6)
    axis.set_xlim(0, 1)
    axis.set_xlabel("probability relevant")
