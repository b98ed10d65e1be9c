"""Calibration with exact bands: the reliability table and diagram."""

import numpy as np
import pandas as pd

from thesiskit.report import metrics
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
from thesiskit.report.selection.figures import (
    first_shown,
    panels,
    rows_and_columns,
    variants_shown,
)
from thesiskit.report.selection.styles import STYLES

LEVEL = 0.99  # of the bands, all categories of a method together


def reliability(record: Record, arm: Arm) -> pd.DataFrame:
    """Calibration with the exact band of each category, all holding together at LEVEL."""
    p, y = record.of_one(arm)
    frame = metrics.calibration(p, y)
    category = metrics.categories(p)
    filled = np.flatnonzero(frame["cases"])
    level = 1 - (1 - LEVEL) / len(filled)
    frame["band low"] = frame["band high"] = np.nan
    for c in filled:
        low, high = metrics.exact_band(p[category == c], level)
        frame.loc[c, ["band low", "band high"]] = low, high
    frame["inside"] = [
        "" if not row.cases else "yes" if low <= row.actual <= high else "no"
        for row, low, high in zip(
            frame.itertuples(), frame["band low"], frame["band high"], strict=True
        )
    ]
    return frame


def _about_bands(record: Record) -> str:
    """Say what the bands mean; test cases are independent if each data set has only one."""
    cases = len(record.response) / len(np.unique(record.predictions["replicate"]))
    words = (
        f"If predictions are calibrated, all categories of a method are inside their bands with a "
        f"probability of at least {LEVEL:.0%}. The bands are exact (Poisson-binomial), and the "
        "level is divided between the categories."
    )
    if cases > 1:
        words += " This holds for independent cases; here test cases share training sets."
    return words


def _confidence(record: Record) -> str:
    """Say of what the probabilities are, where there are more than two classes."""
    if record.n_classes == 2:
        return ""
    return (
        "The confidence of a prediction is the probability of the predicted class, which is right "
        "in the fraction of cases shown. "
    )


def reliability_table(record: Record) -> list[Table]:
    """Calibration of every arm with exact bands."""
    parts = []
    several = record.mixture and len(record.variants) > 1
    for arm in record.arms if several else record.main_arms:
        frame = reliability(record, arm)
        if several:
            frame.insert(0, "sampler", arm.variant)
        frame.insert(0, "method", arm.words)
        frame.insert(0, "features", arm.label)
        parts.append(frame.rename(columns={"category": "C"}))
    frame = pd.concat(parts, ignore_index=True)
    rows = []
    keys = ["features", "method", *(["sampler"] if several else [])]
    for names, part in frame.groupby(keys, sort=False):
        used = part[part.cases > 0]
        rows.append(
            dict(zip(keys, names, strict=True))
            | {
                "categories inside their band": int((used.inside == "yes").sum()),
                "of": len(used),
            }
        )
    words = _confidence(record) + _about_bands(record)
    return [
        Table("reliability-summary", "Calibration: inside the bands?", pd.DataFrame(rows), words),
        Table("reliability", "Calibration with exact bands", frame, words, long=True),
    ]


def reliability_figure(record: Record) -> list[Figure]:
    """Reliability diagrams with exact bands, methods by selections, for every sampler."""
    return [
        Figure(
            f"reliability{suffix}",
            f"Reliability{title}",
            _draw_reliability(record, variant),
            "Each point is a category of predictions with the same first decimal, over "
            f"{len(record.response):,} test cases, and its bar is the band. Points outside their "
            f"band are hollow. {_confidence(record)}{_about_bands(record)}",
        )
        for variant, suffix, title in variants_shown(record)
    ]


def _draw_reliability(record: Record, variant: str):
    rows, columns = rows_and_columns(record, STYLES)
    figure, axes = canvas(
        len(rows),
        len(columns),
        height=2.5 * len(rows) + 0.4,
        width=2.5 * len(columns) + 0.6,
        sharex=True,
        sharey=True,
    )
    one = drawn_words(record.one_words, 20)
    told, true = f"mean probability of {one}", f"fraction in {one}"
    if record.n_classes > 2:
        told, true = "mean confidence", "fraction that is right"
    for i, j, arm, axis in panels(record, rows, columns, axes, variant):
        _diagram(axis, reliability(record, arm))
        if i == first_shown(axes[:, j]):
            axis.set_title(kept_words(columns[j]), fontsize=10)
        if j == first_shown(axes[i]):
            words = rows[i].words.replace(", of ", ",\nof ").replace(", temp", ",\ntemp")
            axis.set_ylabel(f"{words}\n{true}")
        if i == len(rows) - 1:
            axis.set_xlabel(told)
    save_space(axes)
    return figure


def _diagram(axis, frame: pd.DataFrame) -> None:
    frame = frame[frame.cases > 0]
    axis.vlines(
        frame.predicted, frame["band low"], frame["band high"], color=PALE, linewidth=7, zorder=0
    )
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.7)
    for inside, face in (("yes", INK), ("no", "white")):
        part = frame[frame.inside == inside]
        axis.plot(part.predicted, part.actual, "o", color=INK, markerfacecolor=face, markersize=5)
    axis.set_aspect("equal")
