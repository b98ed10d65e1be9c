"""Predicted and observed errors of methods, on tables that were screened before."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from thesiskit.models.peers import Method
from thesiskit.report import metrics
from thesiskit.report.layout import GREY, INK, Figure, PageTable, grid, percent
from thesiskit.report.posteriors import base_label, features_words
from thesiskit.report.record import Record
from thesiskit.report.scores import STYLES, style
from thesiskit.report.stages import listed, manner_words, question

NEXT = (
    "What to do next: predict new cases, by `thesiskit predict CONFIG --new TABLE`, where CONFIG "
    "is the file that you ran. If you have the responses of cases that took no part in the "
    "screening, name their file in data.test_path, and this page will test the methods with them."
)


class Told(NamedTuple):
    """The error rate that an arm predicts, and the observed one if cases are tested.

    size : how many features it keeps.
    of : how many there were, as far as the arm knows; None if it does not.
    """

    arm: Method
    size: str
    of: int | None
    told: float
    actual: float | None


def _told(record: Record) -> list[Told]:
    """Return the error that each of our arms predicts, with the first rule for theta.

    Where cases are tested it is the mean of their predictions, else of cases that were drawn.
    """
    if not (record.tests or "promised" in record.fits):
        return []
    first, found = {arm.row for arm in record.main_arms}, []
    known = {label: int(values.max()) for label, values in record.by_size("n_features")}
    for j, arm in enumerate(record.own):
        if arm.row not in first:
            continue
        if record.tests:
            p, y = record.probability(arm), record.response
            told, actual = metrics.expected_error(p), metrics.error_rate(p, y)
        else:
            told, actual = float(record.fits["promised"][:, j].mean()), None
        of = None if arm.method == "uncorrected" else known[arm.label]
        found.append(Told(arm, base_label(arm.label), of, told, actual))
    return found


def _guessing(record: Record) -> tuple[float, str]:
    """Return the error rate of always predicting the most frequent class, and that in words."""
    counts = record.selection["class_counts"].sum(axis=0)
    which = "more frequent" if record.n_classes == 2 else "most frequent"
    words = f"always predicting the {which} class"
    return float((counts.sum() - counts.max()) / counts.sum()), words


# ---- no case is tested ----


def predicted_table(record: Record) -> list[PageTable]:
    """The error that each arm predicts of new cases; nothing is tested."""
    found = _told(record)
    rows = [
        {
            "features": one.size,
            "method": one.arm.words,
            "kept from": f"{one.of:,}" if one.of else "not known",
            "predicted error": one.told,
        }
        for one in found
    ]
    caption = (
        "The predicted error is the error rate that an arm expects on new cases, which are "
        "drawn from its own posterior distribution; of a tempered arm they are the imitated cases. "
        "'Kept from' is how many features there were before the screening; an uncorrected arm does "
        "not know it, and takes the features in the table for all there ever were."
        + manner_words(record)
    )
    if not rows:  # the mixture model expects nothing
        rows = [{"features": arm.label, "method": arm.words} for arm in record.own]
        caption = "The arms, which predict new cases."
    screened = record.config["selection"]["screened"]
    of = listed([f"{one:,}" for one in screened["of"]], "or")
    above, f = screened["threshold"], screened.get("f")
    what = "absolute correlation" if record.n_classes == 2 else "correlation ratio"
    which = f"the best of {of}, by their correlations with the response"
    if f is not None:
        which = f"those of {of} whose F statistic is above {f:g}"
    elif above is not None:
        which = f"those of {of} whose {what} with the response is above {above:g}"
    cases = len(record.results.load("simulate", 0, ("response",))["response"][0])
    why = (
        f"This table was screened before: its features are {which} in these same "
        f"{cases:,} cases. So no case is tested here. Each has helped to choose the features, and "
        "among many useless ones a few always fit the cases at hand by luck; a test on these "
        "cases, also by cross-validation, would make them look good."
    )
    lead = (why, question(record), expected_sentence(record), NEXT)
    frame = pd.DataFrame(rows)
    return [PageTable("summary", "Summary", frame, caption, lead=tuple(filter(None, lead)))]


def expected_sentence(record: Record) -> str:
    """Return the predicted error of the corrected methods with most features, beside guessing."""
    found = _told(record)
    if not found:
        return "What error to expect of new cases, the mixture model does not say here."
    corrected = [one for one in found if one.of is not None]
    if not corrected:
        return ""
    arms = [one.arm for one in corrected]
    best = max(arms, key=lambda arm: (arm.relevant == "some", arm.tempered, record.kept(arm.label)))
    alike = [one for one in corrected if one.arm.family == best.family]
    rates = [
        f"{_percent(one.told)} if there were {one.of:,} before"
        for one in alike
        if one.size == base_label(best.label)
    ]
    guess, always = _guessing(record)
    return (
        f"With {features_words(record, best.label)}, {best.words}, the predicted error rate on new "
        f"cases is {listed(rates)}; {always} is wrong in {_percent(guess)}."
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


# ---- how the answer moves ----


def screened_answers(record: Record) -> list[Figure]:
    """How the predicted error moves with the number of features before the screening."""
    found = _told(record)
    if not found:
        return []
    sizes = list(dict.fromkeys(one.size for one in found))
    figure, axes = grid(
        len(sizes), 3, width=lambda columns: max(4.8, 3.0 * columns + 0.8),
        height=lambda rows: 2.6 * rows + 1.0, sharey=True, sharex=True,
    )  # fmt: skip
    ofs = sorted({one.of for one in found if one.of is not None})
    guess, always = _guessing(record)
    for axis, size in zip(axes.flat, sizes, strict=False):
        mine = [one for one in found if one.size == size]
        for family in dict.fromkeys(one.arm.family for one in mine):
            told = {one.of: one for one in mine if one.arm.family == family}
            look = style(family) if family.method in STYLES else {"markerfacecolor": "white"}
            look |= {"marker": ""} if None in told else {}  # knowing no number, it is a level line
            all_one = [told.get(of, told.get(None)) for of in ofs]
            heights = [one.told if one else np.nan for one in all_one]
            axis.plot(ofs, heights, color=INK, label=family.words, **look)
            made = {of: one.actual for of, one in told.items() if of and one.actual is not None}
            mark = "+" if family.relevant == "some" else "x"
            axis.plot(list(made), list(made.values()), mark, color=INK, markersize=7)
        axis.axhline(guess, color=GREY, linewidth=1.2, zorder=0, label="guessing")
        axis.set_title(features_words(record, mine[0].arm.label), fontsize=10)
        axis.set_xscale("log")
        axis.minorticks_off()
        axis.set_xticks(ofs, [f"{of:,}" for of in ofs], rotation=30 if len(ofs) > 3 else 0)
        axis.set_ylim(0, max(guess, *(one.told for one in found)) * 1.12)
        axis.yaxis.set_major_formatter(percent)
    for axis in axes[:, 0]:
        axis.set_ylabel("predicted error")
    figure.supxlabel("features before the screening", fontsize=10)
    lines = axes[0, 0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside upper center", ncols=2, frameon=False)
    title = "The predicted error, by the number of features before the screening"
    caption = (
        "The error rate that each method expects on new cases, by how many features "
        "there were before the screening. Uncorrected methods do not use this number, so "
        f"they expect the same whatever it was. The grey line is the error rate of {always}."
    )
    if any(one.actual is not None for one in found):
        caption += (
            " Crosses are the error rates of corrected methods on the test cases (upright ones "
            "where some features are relevant)."
        )
    return [Figure("screened-answers", title, figure, caption)]
