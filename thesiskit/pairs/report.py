"""Reports on selected patterns: what is left of an odds ratio that was chosen for its size."""

import numpy as np
import pandas as pd

from thesiskit.report.layout import GREY, INK, PALE, Figure, PageTable, canvas, drawn_words, percent
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

MOST_DRAWN = 25  # patterns of a figure


def candidate_words(record: Record, features: str) -> tuple[str, str]:
    """Return what is selected, and how.

    features : those that patterns are made of, in words.
    """
    selection, number = record.config["selection"], int(record.selection["n_features"][0])
    order, disjoint = selection.get("order", 1), selection.get("disjoint", [False])
    of = f"at most {order} of {features}" if order > 1 else f"one of {features}"
    several = " or in several" if False in disjoint else ""
    how = f" (each feature in one pattern{several})" if True in disjoint else ""
    return f"{number:,} patterns of {of}", how


def _first_patterns(record: Record, estimate: Relevance) -> pd.DataFrame:
    """Return what an arm says of the patterns that it kept in the first training set."""
    select, fit = (record.results.load(stage, 0) for stage in ("select", "fit"))
    place = select["label"].tolist().index(estimate.arm.label)
    part = slice(*select["offset"][place : place + 2])
    column = fit["some"].tolist().index(record.own.index(estimate.arm))
    estimate_part = slice(*fit["relevance_offset"][column, :2])
    selected, n_present = select["selected"][part], select["ones"][part]
    ratio = fit["odds_ratio"][estimate_part]
    n_known = np.broadcast_to(select["class_counts"][place], n_present.shape)
    n_known = select["present"][part] if "present" in select else n_known
    names = [record.class_words(y) for y in (0, 1)]
    columns: Row = {
        "selection": estimate.arm.label,
        "pattern": feature_names(record, selected),
        **{f"with it: {name}": n_present[:, y] for y, name in enumerate(names)},
        **{f"known: {name}": n_known[:, y] for y, name in enumerate(names)},
        "odds ratio: counted": ratio[:, 0],
        "odds ratio: corrected": ratio[:, 1],
        "probability relevant": fit["relevance"][estimate_part],
    }
    if record.n_sets > 1 and not record.config["drawn"]:
        columns["kept in"] = estimate.kept[np.searchsorted(estimate.features, selected)]
    return pd.DataFrame(columns)


def winners_curse_caption(record: Record, estimate: Relevance) -> str:
    """Say what was corrected, and why."""
    first = int(dict(record.by_size("n_features"))[estimate.arm.label][0])
    caption = (
        f"Odds ratios that were counted are too far from 1, because these patterns are the best of "
        f"{first:,} that vary (the winner's curse). The corrected ones are what the model expects "
        "of new cases: it counts all patterns that were not kept, and averages over whether a "
        "pattern is relevant."
    )
    if False in record.config["selection"].get("disjoint", [False]):
        caption += (
            " It takes patterns as independent within a class: where several of those kept share a "
            "feature, one that is relevant makes others look so, and less is corrected."
        )
    return caption


def pairs_part(record: Record) -> list[PageTable | Figure]:
    """The patterns kept, their odds ratios as counted and corrected, and the cells of pairs."""
    estimates = relevances(record)
    frames = [_first_patterns(record, estimate) for estimate in estimates]
    second = record.class_words(1)
    caption = (
        "Patterns are in the order of their correlations with the response. 'With it' are the "
        "training cases that have a pattern, of those for which this is known. An odds ratio above "
        f"1 says that {second} is more frequent where the pattern is present; each count has 1/2 "
        f"more. {winners_curse_caption(record, estimates[0])}"
    )
    if record.n_sets > 1:
        caption += f" All are of the first of {record.n_sets:,} training sets"
        caption += ", but for 'kept in'." if "kept in" in frames[0] else "."
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
        "For each pair of features whose patterns correlate best with the response, how many cases "
        "of the first training set have each two values, by class. The shares of the values that "
        "look best are too far from that of all cases, because these pairs were chosen for it."
    )
    return [
        PageTable("pair-cells", "Cases by the values of two features", pd.DataFrame(rows), caption)
    ]


def _pair_figure(record: Record) -> Figure:
    """How far the correction moves the odds ratio of each pattern towards 1."""
    estimate = widest_estimates(record)[0]
    frame = _first_patterns(record, estimate).head(MOST_DRAWN)
    heights = -np.arange(len(frame))
    figure, axes = canvas(width=7.6, height=0.24 * len(frame) + 1.1)
    axis = axes[0, 0]
    ends = [frame[f"odds ratio: {kind}"] for kind in ("counted", "corrected")]
    axis.axvline(1, color=GREY, linewidth=1, zorder=0)
    axis.hlines(heights, *ends, color=PALE, linewidth=3, zorder=1)
    looks = {"counted": {"color": GREY}, "corrected": {"color": INK}}
    for values, (label, look) in zip(ends, looks.items(), strict=True):
        axis.plot(values, heights, "o", label=label, markersize=6, clip_on=False, **look)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}")
    axis.set_yticks(heights, [drawn_words(name, 44) for name in frame["pattern"]], fontsize=8)
    axis.set(ylim=(-len(frame) + 0.4, 0.6), xlabel="odds ratio")
    right_axis = axis.secondary_yaxis("right")
    right_axis.set_yticks(heights, [*map(percent, frame["probability relevant"])], fontsize=8)
    for side, name in ((axis, "left"), (right_axis, "right")):
        side.tick_params(axis="y", length=0)
        side.spines[name].set_visible(False)
    fractions, points = "axes fraction", "offset points"
    axis.annotate("relevant", (1, 1), (3, 3), fractions, textcoords=points, fontsize=8)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    arm = estimate.arm
    start = f"The first {len(frame)} of" if len(frame) < record.kept(arm.label) else "The"
    caption = (
        f"{start} {features_words(record, arm.label)}, {arm.words}, in the order of their "
        "correlations with the response; on the right are the probabilities that they are "
        f"relevant. {winners_curse_caption(record, estimate)}"
    )
    return Figure("pair-figure", "Odds ratios, counted and corrected", figure, caption)
