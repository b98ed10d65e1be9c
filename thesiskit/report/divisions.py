"""Tables and figures of random divisions of the features into groups (the colon experiment)."""

from functools import lru_cache
from itertools import chain

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import (
    ACCENT,
    GREY,
    INK,
    Figure,
    PageTable,
    canvas,
    caption,
    drawn_words,
    grid,
    read_yaml,
)
from thesiskit.report.record import THESIS, Record

METHODS = ("corrected", "uncorrected")
SQUARE = 0.05  # of probabilities: samples in it share a circle


def _which_shown(record: Record) -> str:
    """Say which methods are shown, where others differ in what may be relevant, or are tempered."""
    options = record.options
    keys = []
    if len({method.relevant for method in options}) > 1:
        keys.append(f"model.relevant: {options[0].relevant}")
    if len({method.temperature for method in options}) > 1:
        keys.append(f"model.temperature: {options[0].temperature}")
    return f" The methods shown are those with {' and '.join(keys)}." if keys else ""


@lru_cache(maxsize=2)
def _group_frame(record: Record) -> pd.DataFrame:
    """Return the scores of the two methods in each group of features of each division."""
    methods = {method: record.find(record.labels[0], method) for method in METHODS}
    predicted = {name: record.probability(method) for name, method in methods.items() if method}
    rows = []
    groups = record.predictions.groupby(["replicate", "group"]).indices
    for (replicate, group), samples in sorted(groups.items()):
        row: dict[str, float] = {"division": int(replicate) + 1, "group": int(group) + 1}
        for name, p in predicted.items():
            measures = metrics.scores(p[samples], record.response[samples])
            row |= {f"{name}: {measure}": value for measure, value in measures.items()}
        rows.append(row)
    return pd.DataFrame(rows)


def group_table(record: Record) -> list[PageTable]:
    """The groups of the first division."""
    about = caption("groups", record=record, shown=_which_shown(record))
    frame = _group_frame(record).query("division == 1")
    return [PageTable("groups", "The groups of the first division", frame, about)]


@lru_cache(maxsize=2)
def divisions(record: Record) -> pd.DataFrame:
    """One row per division: in how many groups correction helps, and paired t tests."""
    groups = _group_frame(record)
    frame = pd.DataFrame({"division": groups["division"].unique()})
    by_division = [part for _, part in groups.groupby("division")]
    for name in ("log loss", "squared error"):
        pairs = [[part[f"{method}: {name}"] for method in METHODS] for part in by_division]
        frame[f"{name} better"] = [int((a < b).sum()) for a, b in pairs]
        frame[f"{name} p-value"] = [metrics.paired_t(a, b) for a, b in pairs]
    optimistic = groups["uncorrected: expected error"] < groups["uncorrected: error"]
    frame["optimistic"] = optimistic.groupby(groups["division"]).sum().to_numpy()
    frame["mean gamma"] = record.selections["gamma"].to_numpy().reshape(len(frame), -1).mean(axis=1)
    return frame


def colon_summary(record: Record) -> list[PageTable]:
    """Where the thesis's single division falls among ours."""
    frame, entries = divisions(record), division_numbers()
    values = frame[[column for column, *_ in entries.values()]]
    printed = pd.Series([record.comparable.get(key, np.nan) for key in entries], values.columns)
    columns = {
        "": [words for *_, words in entries.values()],
        "thesis": printed,
        "first division": values.iloc[0],
        "median": values.median(),
        "5%": values.quantile(0.05),
        "95%": values.quantile(0.95),
        "below it": (values < printed).mean(),
        "at or below": (values <= printed).mean(),
    }
    title = "The division of the thesis versus ours"
    about = caption("colon-summary", record=record, n=len(frame))
    return [PageTable("colon-summary", title, pd.DataFrame(columns).reset_index(drop=True), about)]


def division_numbers() -> dict[str, tuple[str, int, str]]:
    """Return what the thesis prints of its division: column of `divisions`, decimals, words."""
    return read_yaml(THESIS / "settings.yaml")["divisions"]


def divisions_part(record: Record) -> list[PageTable | Figure]:
    """All divisions; the spread of the four statistics, the thesis's values marked."""
    frame = divisions(record)
    about = caption("divisions", shown=_which_shown(record))
    table = PageTable("divisions", "All divisions", frame, about, long=True)
    return [table, *([_division_figure(record, frame)] if len(frame) > 1 else [])]


def group_scatters(record: Record) -> list[Figure]:
    """Predictions, error rates and losses in each group of the first division, in two methods."""
    frame = _group_frame(record).query("division == 1")
    return [_probabilities(record), *_scatters(record, frame)]


def _probabilities(record: Record) -> Figure:
    """Return corrected against uncorrected predictions in each group of the first division."""
    tests = record.predictions
    tests = tests[tests["replicate"] == 0]
    methods = [record.find(record.labels[0], estimator) for estimator in METHODS]
    corrected, uncorrected = (record.probability(method) for method in methods if method)
    groups = tests["group"].unique()
    figure, axes = grid(
        len(groups), 3, height=lambda rows: 2.5 * rows + 0.6, sharex=True, sharey=True, framed=True
    )
    names = [drawn_words(record.class_words(y)) for y in (0, 1)]
    for g, axis in zip(groups, axes.flat, strict=False):
        for y, colour in ((1, ACCENT), (0, GREY)):
            samples = tests.index[(tests["group"] == g) & (tests["response"] == y)]
            points, counts = _binned(uncorrected[samples], corrected[samples])
            look = {"facecolors": colour, "edgecolors": INK, "linewidths": 0.7, "alpha": 0.7}
            axis.scatter(*points, s=7 * counts, label=names[y], zorder=3 - y, **look)
        axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.7, zorder=0)
        axis.set_title(f"group {g + 1}")
        axis.set(xlim=(-0.14, 1.14), ylim=(-0.14, 1.14), aspect="equal")
    figure.supxlabel(f"predictive probability of {names[1]}, uncorrected")
    figure.supylabel("corrected")
    handles, words = axes.flat[0].get_legend_handles_labels()
    legend = figure.legend(handles, words, loc="outside upper center", ncols=2)
    for handle in legend.legend_handles:
        handle.set_sizes([30])
    title = "Predictive probabilities with and without correction"
    about = caption("probability-scatter", shown=_which_shown(record))
    return Figure("probability-scatter", title, figure, about)


def _binned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean points (2, B) of pairs of probabilities by square, and their numbers (B,)."""
    squares = np.floor(np.stack([x, y]) / SQUARE)
    _, place, counts = np.unique(squares, axis=1, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    return np.stack([np.bincount(place, values) for values in (x, y)]) / counts, counts


def _scatters(record: Record, frame: pd.DataFrame) -> list[Figure]:
    """Return predicted against observed error, and scores with the correction against without."""
    about = "Each point is a group of the first division; below the line "
    more = _which_shown(record)
    errors, axes = canvas(1, 2, height=3.6, sharex=True, sharey=True, framed=True)
    rates = {m: [f"{m}: error", f"{m}: expected error"] for m in ("uncorrected", "corrected")}
    for (method, names), axis in zip(rates.items(), axes.flat, strict=True):
        _scatter(axis, frame[names], frame[[*chain.from_iterable(rates.values())]])
        axis.set(title=method, xlabel="observed error")
    axes.flat[0].set_ylabel("predicted error")
    losses, axes = canvas(1, 2, height=3.6, framed=True)
    for name, axis in zip(("log loss", "squared error"), axes.flat, strict=True):
        pair = frame[[f"uncorrected: {name}", f"corrected: {name}"]]
        _scatter(axis, pair, pair)
        axis.set(title=name, xlabel="uncorrected", ylabel="corrected")
    lower = f"{about}the predicted error is lower than the observed error.{more}"
    better = f"{about}the correction improves the predictions.{more}"
    return [
        Figure("error-scatter", "Observed and predicted error", errors, lower),
        Figure("performance-scatter", "Log loss and squared error", losses, better),
    ]


def _scatter(axis, pairs: pd.DataFrame, limits: pd.DataFrame) -> None:
    """Draw pairs of numbers and the diagonal, on axes that have room for every number."""
    low, high = limits.min().min(), limits.max().max()
    margin = 0.06 * (high - low)
    ends = [low - margin, high + margin]
    axis.plot(ends, ends, color=GREY, linewidth=0.7, zorder=0)
    axis.set(xlim=ends, ylim=ends, aspect="equal")
    axis.plot(pairs.iloc[:, 0], pairs.iloc[:, 1], ".", color=ACCENT, markersize=9)


def _division_figure(record: Record, frame: pd.DataFrame) -> Figure:
    """Return the spread of the four statistics over divisions, the thesis's values marked."""
    figure, axes = canvas(2, 2, height=5.0)
    keys = {column: key for key, (column, *_) in division_numbers().items()}
    names = [name for name in frame if name.endswith((" better", " p-value"))]
    for name, axis in zip(names, axes.flat, strict=True):
        printed = record.comparable.get(keys[name])
        if name.endswith(" better"):
            bins = np.arange(-0.5, record.config["evaluation"]["groups"] + 1)
            axis.hist(frame[name], bins=bins, color=GREY, edgecolor=INK)
            axis.set_xlabel(f"groups with {name}")
        else:
            axis.hist(np.log10(frame[name]), bins=20, color=GREY, edgecolor=INK)
            axis.set_xlabel(f"log10 of the {name}")
            printed = None if printed is None else np.log10(printed)
        if printed is not None:
            axis.axvline(printed, color=ACCENT, linestyle="--")
    for axis in axes[:, 0]:
        axis.set_ylabel("divisions")
    about = caption("division-figure", n=len(frame), printed=record.comparable)
    return Figure("divisions", "The thesis's division among ours", figure, about)
