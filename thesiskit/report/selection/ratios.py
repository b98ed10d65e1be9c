"""The posterior of rho, the size of the effects of normal features, by selection."""

from typing import Any

import numpy as np

from thesiskit.report.layout import GREY, INK, Figure, canvas, hide_from, kept_words, save_space
from thesiskit.report.record import Arm, Record
from thesiskit.report.selection.kept import base_label

STYLES: dict[str, Any] = {"complete": "-", "corrected": "--", "uncorrected": ":"}
LINES: tuple[Any, ...] = ("--", (0, (3, 1, 1, 1)), "-.", (0, (5, 1)))  # of corrected arms
NEGLIGIBLE = 1e-3  # of the highest point


def log_ratio(record: Record) -> list[Figure]:
    """Posterior of log rho, how far apart class means are; one panel for each selection."""
    truth = record.config["data"].get("ratio")
    known = isinstance(truth, float | int)
    bases = dict.fromkeys(map(base_label, record.labels))
    wanted = [(base, manner) for base in bases for manner in record.plain_manners]
    columns = 2 if len(wanted) > 1 else 1
    rows = -(-len(wanted) // columns)
    figure, axes = canvas(rows, columns, height=2.4 * rows + 0.4, sharex=True)
    hide_from(axes, len(wanted))
    shown = [float(np.log(truth))] if known else []
    for (base, manner), axis in zip(wanted, axes.flat, strict=False):
        arms = [arm for arm in record.own if base_label(arm.label) == base]
        for arm in (one for one in arms if one.manner == manner):
            x, weight = posterior(record, arm)
            axis.plot(x, weight, color=INK, **_look(record, arm))
            shown += list(x[weight > NEGLIGIBLE * weight.max()])
        axis.axhline(1 / len(x), color=GREY, linewidth=1, zorder=0)
        if known:
            axis.axvline(np.log(truth), color=GREY, linewidth=1.5, zorder=0)
        axis.set_title(kept_words(base) + manner.words.replace(", tempered", ""), fontsize=10)
        axis.set_ylim(bottom=0)
    axes[0, 0].set_xlim(min(shown) - 0.5, max(shown) + 0.5)
    figure.supxlabel("log rho", fontsize=10)
    figure.supylabel("posterior probability", fontsize=10)
    lines = {
        line.get_label(): line
        for axis in axes.flat
        for line in axis.get_lines()
        if not str(line.get_label()).startswith("_")
    }
    figure.legend(lines.values(), lines, loc="outside upper center", ncols=3, frameon=False)
    save_space(axes)
    return [
        Figure(
            "log-ratio",
            "Posterior of log rho",
            figure,
            ("The upright line is the value with which the data were drawn. " if known else "")
            + "Rho is the variance of a relevant feature's class means, divided by its variance "
            "within a class, so that a large one means features that predict well; without the "
            "correction for selection it is estimated too large. Before the data are seen all "
            f"points are equally probable (the level line).{_about_sets(record)}",
        )
    ]


def _look(record: Record, arm: Arm) -> dict[str, Any]:
    """Return the line of an arm, and what it is called: by how many features it is told of."""
    words, of = "all features" if arm.method == "complete" else arm.method, ""
    line = STYLES[arm.method]
    if arm.method == "corrected":
        of = arm.label.partition(" of ")[2]
        known = list(dict.fromkeys(label.partition(" of ")[2] for label in record.labels))
        line = LINES[known.index(of) % len(LINES)]
    return {"linestyle": line, "label": words + (f", of {of}" if of else "")}


def posterior(record: Record, arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """Return log rho (R,) and its posterior in the first training set."""
    fits = record.fits
    column = list(fits["arm"]).index(arm.row)
    joint = np.exp(fits["log_joint"][0, column].astype(float)).sum(axis=(0, 2))
    return np.log(fits["ratio"]), joint / joint.sum()


def _about_sets(record: Record) -> str:
    sets = len(record.selection["kept"]) // len(record.labels)
    return f" The posteriors are those of the first of {sets:,} training sets." if sets > 1 else ""
