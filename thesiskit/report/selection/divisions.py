"""Tables and figures of random divisions of the features into groups (the colon experiment)."""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import (
    GREY,
    INK,
    Figure,
    Table,
    canvas,
    drawn_words,
    hide_from,
    save_space,
)
from thesiskit.report.record import Record

METHODS = ("corrected", "uncorrected")


def _which_relevant(record: Record) -> str:
    """Say which arms are shown, where others differ in what may be relevant, or are tempered."""
    first, several = record.manners[0], record.manners
    keys = [f"model.relevant: {first.relevant}"] * (len({one.relevant for one in several}) > 1)
    if len({one.temperature for one in several}) > 1:
        keys.append(f"model.temperature: {first.temperature}")
    return f" The arms shown are those with {' and '.join(keys)}." if keys else ""


@lru_cache(maxsize=2)
def group_frame(record: Record, replicate: int | None = None) -> pd.DataFrame:
    """Scores of the two methods in each group of features of each replicate."""
    found = record.predictions
    label = record.labels[0]
    arms = {m: record.find(label, m) for m in ("corrected", "uncorrected")}
    rows = []
    replicates = np.unique(found["replicate"]) if replicate is None else [replicate]
    for r in replicates:
        mine = np.flatnonzero(found["replicate"] == r)
        for g in np.unique(found["group"][mine]):
            cases = mine[found["group"][mine] == g]
            row: dict[str, float] = {"division": int(r) + 1, "group": int(g) + 1}
            for method, arm in arms.items():
                assert arm is not None
                values = metrics.scores(record.probability(arm)[cases], found["response"][cases])
                row |= {f"{method}: {name}": value for name, value in values.items()}
            rows.append(row)
    return pd.DataFrame(rows)


def group_table(record: Record) -> list[Table]:
    """The groups of the first division."""
    return [
        Table(
            "groups",
            "The groups of the first division",
            group_frame(record, 0),
            f"Predictions of {len(np.unique(record.predictions['case']))} cases, from the features "
            "kept in each group." + _which_relevant(record),
        )
    ]


def group_scores(record: Record) -> list[Table]:
    """Every method over the groups of features, and against the first one."""
    group = record.predictions["group"]
    frames = {
        arm: pd.DataFrame(
            [
                metrics.scores(record.probability(arm)[group == g], record.response[group == g])
                for g in np.unique(group)
            ]
        )
        for arm in record.arms
    }
    rows = []
    first = record.arms[0]
    for arm, frame in frames.items():
        row: dict[str, Any] = {
            "features": arm.label,
            "method": arm.words,
            "variant": arm.variant,
        }
        row |= {f"mean over groups: {name}": frame[name].mean() for name in frame}
        for name in ("AMLP", "squared error"):
            same = arm is first
            better = (frames[first][name] < frame[name]).sum()
            row[f"{name}: groups where the first row is better"] = np.nan if same else int(better)
        rows.append(row)
    return [
        Table(
            "group-scores",
            "Methods over the groups of features",
            pd.DataFrame(rows).rename(columns={"variant": record.variant_name}),
            f"Each of {len(np.unique(group))} groups is analysed separately. The table shows means "
            f"over the groups, and in how many groups the first method ({first.words}) has the "
            "lower loss.",
        )
    ]


@lru_cache(maxsize=1)
def divisions(record: Record) -> pd.DataFrame:
    """One row per division: in how many groups correction helps, and paired t tests."""
    rows = []
    for division, part in group_frame(record).groupby("division"):
        rows.append(
            {
                "division": division,
                "AMLP better": int((part["corrected: AMLP"] < part["uncorrected: AMLP"]).sum()),
                "squared error better": int(
                    (part["corrected: squared error"] < part["uncorrected: squared error"]).sum()
                ),
                "AMLP p-value": metrics.paired_t(
                    part["corrected: AMLP"], part["uncorrected: AMLP"]
                ),
                "squared error p-value": metrics.paired_t(
                    part["corrected: squared error"], part["uncorrected: squared error"]
                ),
                "optimistic": int(
                    (part["uncorrected: expected error"] < part["uncorrected: error"]).sum()
                ),
            }
        )
    frame = pd.DataFrame(rows)
    frame["mean gamma"] = record.selection["gamma"].reshape(len(frame), -1).mean(axis=1)
    return frame


def colon_summary(record: Record) -> list[Table]:
    """Where the thesis's single division falls among ours."""
    frame = divisions(record)
    names = {
        "AMLP better": "amlp_better",
        "squared error better": "squared_error_better",
        "AMLP p-value": "amlp_p_value",
        "squared error p-value": "squared_error_p_value",
        "optimistic": "optimistic",
        "mean gamma": "gamma_about",
    }
    words = {
        "AMLP better": "groups where correction improves AMLP",
        "squared error better": "groups where correction improves squared error",
        "AMLP p-value": "paired t test of AMLP, p-value",
        "squared error p-value": "paired t test of squared error, p-value",
        "optimistic": "groups where the uncorrected expected error is below the actual error",
        "mean gamma": "correlation of the last feature selected",
    }
    rows = []
    for column, key in names.items():
        values, printed = frame[column], record.thesis.get(key, np.nan)
        rows.append(
            {
                "": words[column],
                "thesis": printed,
                "first division": values.iloc[0],
                "median": values.median(),
                "5 %": values.quantile(0.05),
                "95 %": values.quantile(0.95),
                "below it": float((values < printed).mean()),
                "at or below": float((values <= printed).mean()),
            }
        )
    return [
        Table(
            "colon-summary",
            "The thesis's single division among ours",
            pd.DataFrame(rows),
            f"{len(frame)} random divisions of the features into "
            f"{record.config['evaluation']['groups']} groups; the last two columns are the "
            "fractions of divisions below the thesis's number, and at or below it.",
        )
    ]


def division_table(record: Record) -> list[Table]:
    """All divisions."""
    return [
        Table(
            "divisions",
            "All divisions",
            divisions(record),
            "For each division: in how many groups the correction improves the predictions, paired "
            "t tests over the groups, and in how many groups the uncorrected method expects fewer "
            "errors than it makes." + _which_relevant(record),
            long=True,
        )
    ]


def probability_scatter(record: Record) -> list[Figure]:
    """Corrected against uncorrected predictions in each group of the first division."""
    found = record.predictions
    arms = [record.find(record.labels[0], method) for method in METHODS]
    corrected, uncorrected = (record.probability(arm) for arm in arms if arm)
    groups = np.unique(found["group"])
    columns = min(5, len(groups))
    rows = -(-len(groups) // columns)
    figure, axes = canvas(rows, columns, height=1.75 * rows + 0.6, sharex=True, sharey=True)
    hide_from(axes, len(groups))
    names = [drawn_words(record.class_words(y)) for y in (0, 1)]
    for g, axis in zip(groups, axes.flat, strict=False):
        for y, face, words in ((1, INK, names[1]), (0, "white", names[0])):
            cases = (found["replicate"] == 0) & (found["group"] == g) & (found["response"] == y)
            axis.plot(
                uncorrected[cases],
                corrected[cases],
                "o",
                markersize=4,
                markerfacecolor=face,
                markeredgecolor=INK,
                markeredgewidth=0.7,
                label=words,
                linestyle="none",
            )
        axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.7, zorder=0)
        axis.set_title(f"group {g + 1}", fontsize=9)
        axis.set_aspect("equal")
    figure.supxlabel(f"predictive probability of {names[1]}, uncorrected", fontsize=10)
    figure.supylabel("corrected", fontsize=10)
    handles, words = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside upper right", ncols=2, frameon=False)
    return [
        Figure(
            "probability-scatter",
            "Predictive probabilities with and without correction",
            figure,
            "There is one point for each case in each group of the first division. Uncorrected "
            "predictions are often close to 0 or 1." + _which_relevant(record),
        )
    ]


def error_scatter(record: Record) -> list[Figure]:
    """Expected against actual error in each group of the first division."""
    frame = group_frame(record, 0)
    figure, axes = canvas(1, 2, height=3.6, sharex=True, sharey=True)
    for method, axis in zip(("uncorrected", "corrected"), axes.flat, strict=True):
        actual, expected = frame[f"{method}: error"], frame[f"{method}: expected error"]
        _diagonal(axis, frame[[f"{m}: {e}" for e in ("error", "expected error") for m in METHODS]])
        axis.plot(actual, expected, "o", color=INK, markerfacecolor="none")
        axis.set_title(method)
        axis.set_xlabel("actual error rate")
    axes.flat[0].set_ylabel("expected error rate")
    return [
        Figure(
            "error-scatter",
            "Actual against expected error rates",
            figure,
            "There is one point for each group of the first division. Below the line the "
            "predictions promise fewer errors than they make." + _which_relevant(record),
        )
    ]


def performance_scatter(record: Record) -> list[Figure]:
    """AMLP and squared error of the two methods in each group of the first division."""
    frame = group_frame(record, 0)
    figure, axes = canvas(1, 2, height=3.6)
    pairs = (("AMLP", "average minus log probability"), ("squared error", "average squared error"))
    for (name, words), axis in zip(pairs, axes.flat, strict=True):
        _diagonal(axis, frame[[f"{method}: {name}" for method in METHODS]])
        axis.plot(
            frame[f"uncorrected: {name}"],
            frame[f"corrected: {name}"],
            "o",
            color=INK,
            markerfacecolor="none",
        )
        axis.set_title(words)
        axis.set_xlabel("uncorrected")
        axis.set_ylabel("corrected")
    return [
        Figure(
            "performance-scatter",
            "Average minus log probability and squared error",
            figure,
            "There is one point for each group of the first division. Below the line the "
            "correction improves the predictions." + _which_relevant(record),
        )
    ]


def _diagonal(axis, frame: pd.DataFrame) -> None:
    low, high = frame.min().min(), frame.max().max()
    margin = 0.06 * (high - low)
    ends = [low - margin, high + margin]
    axis.plot(ends, ends, color=GREY, linewidth=0.7, zorder=0)
    axis.set_xlim(ends)
    axis.set_ylim(ends)
    axis.set_aspect("equal")


def division_figure(record: Record) -> list[Figure]:
    """The spread of the four statistics over divisions, the thesis's values marked."""
    frame = divisions(record)
    figure, axes = canvas(2, 2, height=5.0)
    counts = (("AMLP better", "amlp_better"), ("squared error better", "squared_error_better"))
    tests = (
        ("AMLP p-value", "amlp_p_value"),
        ("squared error p-value", "squared_error_p_value"),
    )
    for (name, key), axis in zip(counts, axes[0], strict=True):
        bins = np.arange(-0.5, record.config["evaluation"]["groups"] + 1)
        axis.hist(frame[name], bins=bins, color=GREY, edgecolor=INK)
        axis.set_xlabel(f"groups with {name.replace(' better', '')} better")
        _mark(axis, record.thesis.get(key))
    for (name, key), axis in zip(tests, axes[1], strict=True):
        axis.hist(np.log10(frame[name]), bins=20, color=GREY, edgecolor=INK)
        axis.set_xlabel(f"log10 of the {name}")
        printed = record.thesis.get(key)
        _mark(axis, None if printed is None else np.log10(printed))
    for axis in axes[:, 0]:
        axis.set_ylabel("divisions")
    save_space(axes)
    return [
        Figure(
            "divisions",
            "The thesis's division among ours",
            figure,
            f"{len(frame)} random divisions of the features. The dashed line is the number of the "
            "thesis.",
        )
    ]


def _mark(axis, value: float | None) -> None:
    if value is not None:
        axis.axvline(value, color="black", linestyle="--", linewidth=1.2)
