"""Reports on selected patterns: what is left of an odds ratio that was chosen for its size."""

import numpy as np
import pandas as pd

from thesiskit.report import layout
from thesiskit.report.layout import Figure, PageTable
from thesiskit.report.posteriors import (
    MOST_SHOWN,
    Relevance,
    Row,
    feature_names,
    features_words,
    relevances,
    widest_estimates,
)
from thesiskit.report.record import Record
from thesiskit.report.scores import STYLES

MOST_DRAWN = 25  # patterns of a figure


def _first_patterns(record: Record, estimate: Relevance) -> pd.DataFrame:
    """Return what a method says of the patterns that it kept in the first training set."""
    select, fit = (record.results.load(stage, 0) for stage in ("select", "fit"))
    place = select["label"].tolist().index(estimate.method.label)
    part = slice(*select["offset"][place : place + 2])
    column = fit["some"].tolist().index(record.own.index(estimate.method))
    estimate_part = slice(*fit["relevance_offset"][column, :2])
    selected, n_present = select["selected"][part], select["ones"][part]
    odds_ratio: Row = {}
    if "effect" in fit:
        raw, _, _, corrected, low, high = np.exp(fit["effect"][estimate_part, 0].astype(float)).T
        odds_ratio = {"95% interval: low": low, "95% interval: high": high}
    else:  # results of earlier versions
        raw, corrected = fit["odds_ratio"][estimate_part].T
    n_known = np.broadcast_to(select["class_counts"][place], n_present.shape)
    n_known = select["present"][part] if "present" in select else n_known
    names = [record.class_words(y) for y in (0, 1)]
    columns: Row = {
        "selection": estimate.method.label,
        "pattern": feature_names(record, selected),
        **{f"present: {name}": n_present[:, y] for y, name in enumerate(names)},
        **{f"known: {name}": n_known[:, y] for y, name in enumerate(names)},
        "odds ratio: counted": raw,
        "odds ratio: corrected": corrected,
        **odds_ratio,
        "probability relevant": fit["relevance"][estimate_part],
    }
    if record.n_sets > 1 and not record.config["drawn"]:
        columns["selected in"] = estimate.kept[np.searchsorted(estimate.features, selected)]
    return pd.DataFrame(columns)


def winners_curse_caption(record: Record, estimate: Relevance) -> str:
    """Say what was corrected, and why."""
    first = int(record.by_size("n_features")[estimate.method.label][0])
    caption = (
        f"Odds ratios that were counted are too far from 1, because these patterns are the best of "
        f"{first:,} that vary (the winner's curse). The corrected ones are posterior means, on "
        "the log scale: the model counts all patterns that were dropped, and averages over whether "
        "a pattern is relevant."
    )
    if False in record.config["selection"].get("disjoint", [False]):
        caption += (
            " It assumes that patterns are independent within a class: where several selected "
            "patterns share a feature, a relevant pattern makes the others look relevant, and less "
            "is corrected."
        )
    return caption


def pairs_part(record: Record) -> list[PageTable | Figure]:
    """The patterns kept, their odds ratios as counted and corrected, and the cells of pairs."""
    estimates = relevances(record)
    frames = [_first_patterns(record, estimate) for estimate in estimates]
    second = record.class_words(1)
    caption = (
        "Patterns are in the order of their correlations with the response. 'Present' are the "
        "training samples that have a pattern, of those for which this is known. An odds ratio "
        f"above 1: {second} is more frequent where the pattern is present; each count has "
        f"1/2 more. {winners_curse_caption(record, estimates[0])}"
    )
    if record.n_sets > 1:
        caption += f" All are of the first of {record.n_sets:,} training sets"
        caption += ", but for 'selected in'." if "selected in" in frames[0] else "."
    frame = pd.concat(frames, ignore_index=True)
    title = "Patterns and their odds ratios"
    first_rows = tuple(np.flatnonzero(frame.groupby("selection").cumcount() < MOST_SHOWN).tolist())
    table = PageTable("pair-table", title, frame, caption, shown=first_rows)
    return [_pair_figure(record), table, *_cell_table(record)]


def _cell_table(record: Record) -> list[PageTable]:
    select = record.results.load("select", 0, ("pair_feature", "pair_value", "cells"))
    names, rows = [record.class_words(y) for y in (0, 1)], []
    pairs = zip(select["pair_feature"], select["pair_value"], select["cells"], strict=True)
    for (first, second), (values, second_values), cells in pairs:
        for value, counts in zip(values, cells, strict=True):
            row = {"features": f"{first}, {second}", "first": f"{first}={value}"}
            for second_value, (n0, n1) in zip(second_values, counts.tolist(), strict=True):
                if value and second_value:
                    share = n1 / (n0 + n1) if n0 + n1 else np.nan
                    columns = zip((*names, f"share of {names[1]}"), (n0, n1, share), strict=True)
                    row |= {f"second is {second_value}: {name}": number for name, number in columns}
            rows += [row] if value else []
    if not rows:
        return []
    caption = (
        "For each pair of features whose patterns correlate best with the response, how many "
        "samples of the first training set have each two values, by class. The shares of the "
        "values that look best are too far from that of all samples, because they were selected."
    )
    return [
        PageTable(
            "pair-cells", "Samples by the values of two features", pd.DataFrame(rows), caption
        )
    ]


def _pair_figure(record: Record) -> Figure:
    """How far the correction moves the odds ratio of each pattern towards 1."""
    estimate = widest_estimates(record)[0]
    frame = _first_patterns(record, estimate).head(MOST_DRAWN)
    heights = -np.arange(len(frame))
    figure, axes = layout.canvas(width=7.6, height=0.24 * len(frame) + 1.1)
    axis = axes[0, 0]
    ends = [frame[f"odds ratio: {kind}"] for kind in ("counted", "corrected")]
    axis.axvline(1, color=layout.GREY, linewidth=1, zorder=0)
    axis.hlines(heights, *ends, color=layout.PALE, linewidth=3, zorder=1)
    looks = {"counted": {"marker": "s", "color": layout.QUIET}, "corrected": STYLES["corrected"]}
    for values, (label, look) in zip(ends, looks.items(), strict=True):
        axis.plot(values, heights, label=label, linestyle="none", clip_on=False, **look)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}")
    axis.set_yticks(heights, [layout.drawn_words(name, 44) for name in frame["pattern"]])
    axis.set(ylim=(-len(frame) + 0.4, 0.6), xlabel="odds ratio")
    right_axis = axis.secondary_yaxis("right")
    right_axis.set_yticks(heights, [*map(layout.percent, frame["probability relevant"])])
    for side, name in ((axis, "left"), (right_axis, "right")):
        side.tick_params(axis="y", length=0)
        side.spines[name].set_visible(False)
    fractions, points = "axes fraction", "offset points"
    axis.annotate("relevant", (1, 1), (3, 3), fractions, textcoords=points)
    layout.legend(figure, axis)
    method = estimate.method
    start = f"The first {len(frame)} of" if len(frame) < record.kept(method.label) else "The"
    caption = (
        f"{start} {features_words(record, method.label)}, {method.words}, in the order of their "
        "correlations with the response; on the right are the probabilities that they are "
        f"relevant. {winners_curse_caption(record, estimate)}"
    )
    return Figure("pair-figure", "Odds ratios, counted and corrected", figure, caption)
