"""Tables and figures of random divisions of the features into groups (the colon experiment)."""

from functools import lru_cache

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import GREY, INK, Figure, PageTable, canvas, drawn_words, grid
from thesiskit.report.record import Record

METHODS = ("corrected", "uncorrected")
SQUARE = 0.05  # of probabilities: samples in it share a circle
STATISTICS = {  # of a division: key of numbers.yaml, and words
    "AMLP better": ("amlp_better", "groups where correction improves AMLP"),
    "squared error better": (
        "squared_error_better",
        "groups where correction improves squared error",
    ),
    "AMLP p-value": ("amlp_p_value", "paired t test of AMLP, p-value"),
    "squared error p-value": ("squared_error_p_value", "paired t test of squared error, p-value"),
    "optimistic": (
        "optimistic",
        "groups where the uncorrected expected error is below the actual error",
    ),
    "mean gamma": ("gamma_about", "correlation of the last feature selected"),
}


def _which_shown(record: Record) -> str:
    """Say which arms are shown, where others differ in what may be relevant, or are tempered."""
    options = record.options
    keys = []
    if len({method.relevant for method in options}) > 1:
        keys.append(f"model.relevant: {options[0].relevant}")
    if len({method.temperature for method in options}) > 1:
        keys.append(f"model.temperature: {options[0].temperature}")
    return f" The arms shown are those with {' and '.join(keys)}." if keys else ""


@lru_cache(maxsize=2)
def _group_frame(record: Record, replicate: int | None = None) -> pd.DataFrame:
    """Scores of the two methods in each group of features of each replicate."""
    arrays = record.predictions
    arms = {method: record.find(record.labels[0], method) for method in METHODS}
    rows = []
    for r in np.unique(arrays["replicate"]) if replicate is None else [replicate]:
        cases_of_division = np.flatnonzero(arrays["replicate"] == r)
        for g in np.unique(arrays["group"][cases_of_division]):
            cases = cases_of_division[arrays["group"][cases_of_division] == g]
            row: dict[str, float] = {"division": int(r) + 1, "group": int(g) + 1}
            for method, arm in arms.items():
                assert arm is not None
                values = metrics.scores(record.probability(arm)[cases], arrays["response"][cases])
                row |= {f"{method}: {name}": value for name, value in values.items()}
            rows.append(row)
    return pd.DataFrame(rows)


def group_table(record: Record) -> list[PageTable]:
    """The groups of the first division."""
    caption = (
        f"Predictions of {len(np.unique(record.predictions['case']))} cases, from the features "
        "kept in each group." + _which_shown(record)
    )
    return [
        PageTable("groups", "The groups of the first division", _group_frame(record, 0), caption)
    ]


def divisions(record: Record) -> pd.DataFrame:
    """One row per division: in how many groups correction helps, and paired t tests."""
    rows = []
    for division, part in _group_frame(record).groupby("division"):
        row = {"division": division}
        pairs = {
            name: [part[f"{method}: {name}"] for method in METHODS]
            for name in ("AMLP", "squared error")
        }
        row |= {f"{name} better": int((a < b).sum()) for name, (a, b) in pairs.items()}
        row |= {f"{name} p-value": metrics.paired_t(a, b) for name, (a, b) in pairs.items()}
        predicted, observed = part["uncorrected: expected error"], part["uncorrected: error"]
        rows.append(row | {"optimistic": int((predicted < observed).sum())})
    frame = pd.DataFrame(rows)
    frame["mean gamma"] = record.selection["gamma"].reshape(len(frame), -1).mean(axis=1)
    return frame


def colon_summary(record: Record) -> list[PageTable]:
    """Where the thesis's single division falls among ours."""
    frame = divisions(record)
    rows = []
    for column, (key, words) in STATISTICS.items():
        values, printed = frame[column], record.thesis.get(key, np.nan)
        rows.append(
            {
                "": words,
                "thesis": printed,
                "first division": values.iloc[0],
                "median": values.median(),
                "5 %": values.quantile(0.05),
                "95 %": values.quantile(0.95),
                "below it": float((values < printed).mean()),
                "at or below": float((values <= printed).mean()),
            }
        )
    title = "The thesis's single division among ours"
    caption = (
        f"{len(frame)} random divisions of the features into "
        f"{record.config['evaluation']['groups']} groups; the last two columns are the "
        "fractions of divisions below the thesis's number, and at or below it."
    )
    return [PageTable("colon-summary", title, pd.DataFrame(rows), caption)]


def divisions_part(record: Record) -> list[PageTable | Figure]:
    """All divisions; the spread of the four statistics, the thesis's values marked."""
    frame = divisions(record)
    caption = (
        "For each division: in how many groups the correction improves the predictions, paired "
        "t tests over the groups, and in how many groups the uncorrected method expects fewer "
        "errors than are observed." + _which_shown(record)
    )
    table = PageTable("divisions", "All divisions", frame, caption, long=True)
    return [table, *([_division_figure(record, frame)] if len(frame) > 1 else [])]


def group_scatters(record: Record) -> list[Figure]:
    """Predictions, error rates and losses in each group of the first division, in two methods."""
    frame = _group_frame(record, 0)
    return [_probabilities(record), _errors(record, frame), _losses(record, frame)]


def _probabilities(record: Record) -> Figure:
    """Return corrected against uncorrected predictions in each group of the first division."""
    arrays = record.predictions
    arms = [record.find(record.labels[0], method) for method in METHODS]
    corrected, uncorrected = (record.probability(arm) for arm in arms if arm)
    groups = np.unique(arrays["group"])
    figure, axes = grid(
        len(groups), 5, height=lambda rows: 1.75 * rows + 0.6, sharex=True, sharey=True, framed=True
    )
    names = [drawn_words(record.class_words(y)) for y in (0, 1)]
    most = 0
    for g, axis in zip(groups, axes.flat, strict=False):
        for y, face in ((1, INK), (0, "none")):
            cases = (arrays["replicate"] == 0) & (arrays["group"] == g) & (arrays["response"] == y)
            points, counts = _binned(uncorrected[cases], corrected[cases])
            most = max(most, *counts)
            look = {"facecolors": face, "edgecolors": INK, "linewidths": 0.7, "alpha": 0.7}
            axis.scatter(*points, s=7 * counts, label=names[y], zorder=3 - y, **look)
        axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.7, zorder=0)
        axis.set_title(f"group {g + 1}", fontsize=9)
        axis.set(xlim=(-0.14, 1.14), ylim=(-0.14, 1.14), aspect="equal")
    figure.supxlabel(f"predictive probability of {names[1]}, uncorrected", fontsize=10)
    figure.supylabel("corrected", fontsize=10)
    handles, words = axes.flat[0].get_legend_handles_labels()
    legend = figure.legend(handles, words, loc="outside upper right", ncols=2, frameon=False)
    for handle in legend.legend_handles:
        handle.set_sizes([30])
    title = "Predictive probabilities with and without correction"
    caption = (
        f"The test samples of each group of the first division. Samples in the same square of side "
        f"{SQUARE} share a circle at their mean; its area is proportional to their number, at most "
        f"{most} here. Uncorrected predictions are often close to 0 or 1." + _which_shown(record)
    )
    return Figure("probability-scatter", title, figure, caption)


def _binned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean points (2, B) of pairs of probabilities by square, and their numbers (B,)."""
    squares = np.floor(np.stack([x, y]) / SQUARE)
    _, place, counts = np.unique(squares, axis=1, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    return np.stack([np.bincount(place, values) for values in (x, y)]) / counts, counts


def _errors(record: Record, frame: pd.DataFrame) -> Figure:
    """Return expected against actual error in each group of the first division."""
    all_rates = frame[[f"{m}: {e}" for e in ("error", "expected error") for m in METHODS]]
    figure, axes = canvas(1, 2, height=3.6, sharex=True, sharey=True, framed=True)
    for method, axis in zip(("uncorrected", "corrected"), axes.flat, strict=True):
        _scatter(axis, frame[[f"{method}: error", f"{method}: expected error"]], all_rates)
        axis.set(title=method, xlabel="actual error rate")
    axes.flat[0].set_ylabel("expected error rate")
    caption = (
        "There is one point for each group of the first division. Below the line the "
        "predictions expect fewer errors than they make." + _which_shown(record)
    )
    return Figure("error-scatter", "Actual against expected error rates", figure, caption)


def _losses(record: Record, frame: pd.DataFrame) -> Figure:
    """Return AMLP and squared error of the two methods in each group of the first division."""
    figure, axes = canvas(1, 2, height=3.6, framed=True)
    pairs = (("AMLP", "average minus log probability"), ("squared error", "average squared error"))
    for (name, words), axis in zip(pairs, axes.flat, strict=True):
        pair = frame[[f"uncorrected: {name}", f"corrected: {name}"]]
        _scatter(axis, pair, pair)
        axis.set(title=words, xlabel="uncorrected", ylabel="corrected")
    title = "Average minus log probability and squared error"
    caption = (
        "There is one point for each group of the first division. Below the line the "
        "correction improves the predictions." + _which_shown(record)
    )
    return Figure("performance-scatter", title, figure, caption)


def _scatter(axis, pairs: pd.DataFrame, limits: pd.DataFrame) -> None:
    """Draw pairs of numbers and the diagonal, on axes that have room for every number."""
    low, high = limits.min().min(), limits.max().max()
    margin = 0.06 * (high - low)
    ends = [low - margin, high + margin]
    axis.plot(ends, ends, color=GREY, linewidth=0.7, zorder=0)
    axis.set(xlim=ends, ylim=ends, aspect="equal")
    axis.plot(pairs.iloc[:, 0], pairs.iloc[:, 1], "o", color=INK, markerfacecolor="none")


def _division_figure(record: Record, frame: pd.DataFrame) -> Figure:
    """Return the spread of the four statistics over divisions, the thesis's values marked."""
    figure, axes = canvas(2, 2, height=5.0)
    names = [name for name in frame if name.endswith((" better", " p-value"))]
    for name, axis in zip(names, axes.flat, strict=True):
        printed = record.thesis.get(STATISTICS[name][0])
        if name.endswith(" better"):
            bins = np.arange(-0.5, record.config["evaluation"]["groups"] + 1)
            axis.hist(frame[name], bins=bins, color=GREY, edgecolor=INK)
            axis.set_xlabel(f"groups with {name}")
        else:
            axis.hist(np.log10(frame[name]), bins=20, color=GREY, edgecolor=INK)
            axis.set_xlabel(f"log10 of the {name}")
            printed = None if printed is None else np.log10(printed)
        if printed is not None:
            axis.axvline(printed, color="black", linestyle="--", linewidth=1.2)
    for axis in axes[:, 0]:
        axis.set_ylabel("divisions")
    caption = (
        f"{len(frame)} random divisions of the features. The dashed line is the number of the "
        "thesis."
    )
    return Figure("divisions", "The thesis's division among ours", figure, caption)
