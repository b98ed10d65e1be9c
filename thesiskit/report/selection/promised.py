"""What methods promise for new cases, where a table was screened before it came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import GREY, INK, Figure, Table, canvas, save_space
from thesiskit.report.record import Arm, Manner, Record, Way
from thesiskit.report.selection.kept import base_label, features_words
from thesiskit.report.selection.relevance import relevance_sentence, relevances
from thesiskit.report.selection.styles import STYLES, style
from thesiskit.report.stages import listed, manner_words, question

_CROSSES = (
    " Crosses are the error rates of corrected methods on the test cases (upright ones where some "
    "features are relevant)."
)
LITTLE = 0.8  # of the errors by guessing: a method that promises so many knows little
NEXT = (
    "What to do next: predict new cases, by `thesiskit predict CONFIG --new TABLE`, where CONFIG "
    "is the file that you ran. If you have the responses of cases that took no part in the "
    "screening, name their file in data.test_path, and this page will test the methods with them."
)


@dataclass(frozen=True)
class Promise:
    """The error rate that an arm promises, and that it makes if cases are tested.

    of : how many features there were, as far as the arm knows; None if it is not told.
    """

    arm: Arm
    of: int | None
    told: float
    actual: float | None = None


def promises(record: Record) -> list[Promise]:
    """Return what each of our arms promises, with the first rule for theta.

    Where cases are tested it is the mean of their predictions, else of cases that were drawn.
    """
    first = {arm.row for arm in record.main_arms}
    sizes = {label: int(values.max()) for label, values in record.by_size("n_features")}
    found = []
    for j, arm in enumerate(record.own):
        if arm.row not in first:
            continue
        of = None if arm.method == "uncorrected" else sizes[arm.label]
        if record.tests:
            p, y = record.probability(arm), record.response
            told = metrics.expected_error(p), metrics.error_rate(p, y)
            found.append(Promise(arm, of, *told))
        elif "promised" in record.fits:
            found.append(Promise(arm, of, float(record.fits["promised"][:, j].mean())))
    return found


def guessing(record: Record) -> float:
    """Return the error rate of guessing the most frequent class."""
    counts = record.selection["class_counts"].sum(axis=0)
    return float((counts.sum() - counts.max()) / counts.sum())


# ---- no case is tested ----


def promised_table(record: Record) -> list[Table]:
    """What each arm promises for new cases; nothing is tested."""
    found = promises(record)
    says = relevances(record)
    rows = []
    for one in found:
        row = {
            "features": base_label(one.arm.label),
            "method": one.arm.words,
            "kept from": f"{one.of:,}" if one.of else "not told",
            "promised error": one.told,
        }
        if says:
            mine = [relevance for relevance in says if relevance.arm == one.arm]
            row["relevant features"] = mine[0].words if mine else ""
        rows.append(row)
    if not rows:  # the mixture model promises nothing
        rows = [{"features": arm.label, "method": arm.words} for arm in record.own]
    return [
        Table(
            "summary",
            "Summary",
            pd.DataFrame(rows),
            _explained(record) if found else "The arms, which predict new cases.",
            lead=tuple(filter(None, [
                _screened(record), question(record), *_promised(record, found),
                relevance_sentence(record), NEXT,
            ])),
        )
    ]  # fmt: skip


def _explained(record: Record) -> str:
    return (
        "The promised error is the error rate that an arm expects to have on new cases, which are "
        "drawn from its own posterior distribution. 'Kept from' is how many features it is told "
        "that there were before the screening; an uncorrected arm is told nothing, and so believes "
        "that the features in the table are all there ever were." + manner_words(record)
    )


def _screened(record: Record) -> str:
    """Say that the table was screened, and why nothing is tested."""
    cases = len(record.results.load("simulate", 0, ("response",))["response"][0])
    return (
        f"This table was screened before: its features are {screening(record)} in these same "
        f"{cases:,} cases. So no case is tested here. Each has helped to choose the features, and "
        "among many useless ones a few always fit the cases at hand by luck; a test on these "
        "cases, also by cross-validation, would make them look good."
    )


def screening(record: Record) -> str:
    """Say which features of how many were kept."""
    screened = record.config["selection"]["screened"]
    of = listed([f"{one:,}" for one in screened["of"] or ()], "or")
    above, f = screened["threshold"], screened.get("f")
    if f is not None:
        return f"those of {of} whose F statistic is above {f:g}"
    if above is None:
        return f"the best of {of}, by their correlations with the response"
    what = "absolute correlation" if record.n_classes == 2 else "correlation ratio"
    return f"those of {of} whose {what} with the response is above {above:g}"


def _promised(record: Record, found: list[Promise]) -> list[str]:
    """Say what error is to be expected, what was believed, and whether that is better than none."""
    if not found:
        return ["What error to expect of new cases, the mixture model does not say here."]
    corrected = [one for one in found if one.of is not None]
    if not corrected:
        return []
    manner = max((one.arm.manner for one in corrected), key=lambda one: one.relevant == "some")
    size = max((one for one in corrected), key=lambda one: record.kept(one.arm.label)).arm.label
    mine = [one for one in corrected if _alike(one.arm, size, manner)]
    believed = [one for one in found if one.of is None and _alike(one.arm, size, manner)]
    guess = guessing(record)
    told = (
        "The models say themselves how often they expect to be wrong on new cases. With "
        f"{features_words(record, size)}, {mine[0].arm.words}, it is {_rates(mine)}; always "
        f"predicting the {_frequent(record)} class is wrong in {percent(guess)}."
    )
    if believed:
        told += f" Without the correction one would have believed in {percent(believed[0].told)}."
    if min(one.told for one in mine) > LITTLE * guess:
        told += " So these features say little about new cases, if anything."
    elif max(one.told for one in mine) > LITTLE * guess:
        told += " So it depends on the number before the screening whether they say anything."
    return [told]


def _frequent(record: Record) -> str:
    return "more frequent" if record.n_classes == 2 else "most frequent"


def _alike(arm: Arm, label: str, manner: Manner) -> bool:
    return base_label(arm.label) == base_label(label) and arm.manner == manner


def _rates(mine: list[Promise]) -> str:
    """Return the error rates that an arm promises, by the number before the screening."""
    if len(mine) == 1:
        return f"{percent(mine[0].told)} of them"
    return listed([f"{percent(one.told)} if there were {one.of:,} before" for one in mine])


def percent(rate: float) -> str:
    """Return a rate as sentences have it."""
    return f"{100 * rate:.1f} %"


# ---- how the answer moves ----


def screened_answers(record: Record) -> list[Figure]:
    """How the error that is promised moves with the number of features before the screening."""
    found = promises(record)
    if not found:
        return []
    labels = list(dict.fromkeys(base_label(one.arm.label) for one in found))
    columns = min(len(labels), 3)
    rows = -(-len(labels) // columns)
    figure, axes = canvas(
        rows, columns, width=max(4.8, 3.0 * columns + 0.8), height=2.6 * rows + 1.0,
        sharey=True, sharex=True,
    )  # fmt: skip
    ofs = sorted({one.of for one in found if one.of is not None})
    guess = guessing(record)
    for axis, label in zip(axes.flat, labels, strict=False):
        mine = [one for one in found if base_label(one.arm.label) == label]
        for way in dict.fromkeys(one.arm.way for one in mine):
            _line(axis, [one for one in mine if one.arm.way == way], way, ofs)
        axis.axhline(guess, color=GREY, linewidth=1.2, zorder=0, label="guessing")
        axis.set_title(features_words(record, mine[0].arm.label), fontsize=10)
        axis.set_xscale("log")
        axis.minorticks_off()
        axis.set_xticks(ofs, [f"{of:,}" for of in ofs], rotation=30 if len(ofs) > 3 else 0)
        axis.set_ylim(0, max(guess, *(one.told for one in found)) * 1.12)
        axis.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f} %")
    for axis in axes.flat[len(labels) :]:
        axis.set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("promised error")
    figure.supxlabel("features before the screening", fontsize=10)
    handles, words = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside upper center", ncols=2, frameon=False)
    save_space(axes)
    tested = any(one.actual is not None for one in found)
    return [
        Figure(
            "screened-answers",
            "What is promised, by the number of features before the screening",
            figure,
            "The error rate that each method promises for new cases, by how many features it is "
            "told that there were before the screening. Uncorrected methods are told nothing, so "
            "they promise the same whatever it was. The grey line is the error rate of always "
            f"predicting the {_frequent(record)} class." + (_CROSSES if tested else ""),
        )
    ]


def _line(axis, mine: list[Promise], way: Way, ofs: list[int]) -> None:
    """Draw what a method promises; one that is told nothing is a level line."""
    look = {"markerfacecolor": "white"} | (style(way) if way.method in STYLES else {})
    told = {one.of: one.told for one in mine}
    look |= {"marker": ""} if None in told else {}
    heights = [told.get(of, told.get(None, np.nan)) for of in ofs]
    axis.plot(ofs, heights, color=INK, label=way.words, **look)
    made = {one.of: one.actual for one in mine if one.of is not None and one.actual is not None}
    mark = "+" if way.relevant == "some" else "x"
    axis.plot(list(made), list(made.values()), mark, color=INK, markersize=7)
