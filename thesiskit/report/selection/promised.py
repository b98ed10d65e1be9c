"""How many errors a model of a screened table expects, by what is said of the screening."""

from __future__ import annotations

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import GREY, INK, Figure, Table, canvas, kept_words, save_space
from thesiskit.report.selection.record import Arm, Record

STYLES = {
    ("corrected", "all"): ("o", "-"),
    ("corrected", "some"): ("s", "--"),
    ("uncorrected", "all"): ("", ":"),
    ("uncorrected", "some"): ("", "-."),
}


def promise_table(record: Record) -> list[Table]:
    """How many errors each model of a screened table expects, and how many it makes if tested."""
    several, rows = len(record.variants) > 1, []
    for arm, error in record.promised:
        size, before = _parts(record, arm)
        row = {"features": size, "before the screening": before, "method": arm.words}
        row |= {record.variant_name: arm.variant} if several else {}
        row["promised error"] = error
        if record.tests:
            row["error"] = metrics.error_rate(record.probability(arm), record.response)
        rows.append(row)
    return [
        Table(
            "promises",
            "Promised errors",
            pd.DataFrame(rows),
            "The error rate that each model promises. " + _source(record) + " Without the "
            "correction a model knows neither of the features that were screened away nor of those "
            "that it left out itself.",
        )
    ]


def promise_figure(record: Record) -> list[Figure]:
    """Promised errors against the number of features that there are said to have been before."""
    found = [(*_parts(record, arm), arm, error) for arm, error in record.promised]
    found = [one for one in found if one[2].variant == record.variants[0]]
    sizes = list(dict.fromkeys(size for size, *_ in found))
    figure, axes = canvas(1, len(sizes), width=3.4 * len(sizes) + 1, sharey=True)
    for axis, size in zip(axes[0], sizes, strict=True):
        for (method, relevant), (marker, line) in STYLES.items():
            mine = [
                (before, error, arm)
                for label, before, arm, error in found
                if (label, arm.method, arm.relevant) == (size, method, relevant)
            ]
            if not mine:
                continue
            x, y, arms = zip(*sorted(mine, key=lambda one: one[0]), strict=True)
            label = arms[0].words
            if method == "uncorrected":
                axis.axhline(y[0], color=INK, linestyle=line, linewidth=1.2, label=label)
                continue
            axis.plot(x, y, line, marker=marker, color=INK, label=label)
            if record.tests:
                actual = [metrics.error_rate(record.probability(a), record.response) for a in arms]
                axis.plot(x, actual, line, marker=marker, color=GREY, label=f"{label}: made")
        axis.set_xscale("log")
        axis.set_title(kept_words(size), fontsize=10)
        axis.set_ylim(0, None)
    axes[0, 0].set_ylabel("error rate")
    figure.supxlabel("features before the screening", fontsize=10)
    handles, words = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside upper center", ncols=2, frameon=False)
    save_space(axes)
    return [
        Figure(
            "promises",
            "How the answer depends on the number of features before the screening",
            figure,
            "The error rate that each model promises, by how many features it is told that there "
            "were before the screening. "
            + _source(record)
            + (" The error rates that are made are grey." if record.tests else ""),
        )
    ]


def _source(record: Record) -> str:
    if record.tests:
        return "It is the mean probability of the less probable class over the test cases."
    return (
        "No case can be tested, because all took part in the screening: it is what the posterior "
        "expects of new cases, by 2,000 that are drawn from it."
    )


def _parts(record: Record, arm: Arm) -> tuple[str, float]:
    """Return which features an arm keeps, and how many it was told that there were before."""
    size, _, of = arm.label.partition(" of ")
    if arm.method == "uncorrected":
        return size, np.nan
    told = float(of.replace(",", "")) if of else dict(record.by_size("n_features"))[arm.label][0]
    return size, float(told)
