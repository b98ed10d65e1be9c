"""Numbers of original and compressed parameters, by settings of uniform features.

Section "Experiments Demonstrating Parameter Reduction".  Original parameters are patterns that
some training case expresses, compressed ones groups of patterns with one expression.
"""

from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report.layout import INK, Figure, Table, canvas
from thesiskit.report.record import Record
from thesiskit.report.stages import warnings

LETTERS = {"features": "p", "values": "K", "order": "O"}
WORDS = {"features": "features", "values": "values of each feature", "order": "order"}


class Sweep:
    """What was found where one setting was varied.

    varied : its name; x (S,) its values; patterns, groups, ratio : arrays (R, S).
    fixed : what is not varied, such as "p = 10, O = 4".
    """

    def __init__(self, numbers: dict[str, np.ndarray], number: int):
        at = numbers["sweep"] == number
        settings = {name: numbers[name][at] for name in LETTERS}
        self.varied = next(name for name, x in settings.items() if len(set(x)) > 1)
        self.x, self.letter = settings.pop(self.varied), LETTERS[self.varied]
        self.patterns, self.groups = numbers["patterns"][:, at], numbers["groups"][:, at]
        self.ratio = self.groups / self.patterns
        self.fixed = ", ".join(f"{LETTERS[name]} = {x[0]}" for name, x in settings.items())


def sweeps(record: Record) -> list[Sweep]:
    """Return the sweeps, in the order of the config."""
    numbers = record.reduction
    return [Sweep(numbers, i) for i in range(numbers["sweep"].max() + 1)]


def reduction_figure(record: Record) -> list[Figure]:
    """Parameters and their ratio, a row for each sweep (fig-comp-cls-notest)."""
    varied = sweeps(record)
    figure, axes = canvas(len(varied), 2, height=2.6 * len(varied) + 0.2)
    style = {"color": INK, "markerfacecolor": "white", "markersize": 5, "elinewidth": 0.5}
    for row, sweep in zip(axes, varied, strict=True):
        for axis, values, marker, label, front in (
            (row[0], sweep.patterns, "x", "original", 3),  # crosses show within circles
            (row[0], sweep.groups, "o", "compressed", 2),
            (row[1], sweep.ratio, "^", None, 2),
        ):
            mean = values.mean(axis=0)
            reach = [mean - values.min(axis=0), values.max(axis=0) - mean]
            axis.errorbar(sweep.x, mean, reach, marker=marker, label=label, zorder=front, **style)
        row[0].set(yscale="log", ylabel="parameters")
        row[1].set(ylabel="compressed / original", ylim=(0, 1.05))
        for axis in row:
            axis.set_title(sweep.fixed, fontsize=10)
            axis.set(xticks=sweep.x, xlabel=f"{sweep.letter}, {WORDS[sweep.varied]}")
    axes[0, 0].legend(frameon=False)
    cases, sets = record.config["reduction"]["cases"], len(record.reduction["groups"])
    bars = ", bars from least to most where they are longer than the marks"
    caption = (
        f"Of {cases:,} training cases with uniform features, for each class, on a log scale, "
        "and their ratios. p: features, K: values of each, O: order of the interactions."
        + (f" Means of {sets} data sets{bars}." if sets > 1 else "")
    )
    return [Figure("reduction", "Original and compressed parameters", figure, caption)]


def reduction_table(record: Record) -> list[Table]:
    """Numbers of parameters and superpatterns, and processor seconds, of every setting."""
    found = record.reduction
    sets = len(found["groups"])
    letters = np.array([sweep.letter for sweep in sweeps(record)])
    columns: dict[str, Any] = {"varied": letters[found["sweep"]]}
    columns |= {letter: found[name] for name, letter in LETTERS.items()}
    for words, name in (("original", "patterns"), ("compressed", "groups")):
        columns[f"{words}: mean"] = np.rint(found[name].mean(axis=0)).astype(np.int64)
        if sets > 1:
            columns[f"{words}: least"] = found[name].min(axis=0)
            columns[f"{words}: most"] = found[name].max(axis=0)
    columns["ratio"] = (found["groups"] / found["patterns"]).mean(axis=0)
    for words, number, seconds in (
        ("splitting and merging", "superpatterns", "thesis_seconds"),
        ("each group once", "intervals", "closed_seconds"),
    ):
        mean = np.rint(found[number].mean(axis=0)).astype(np.int64)
        columns[f"{words}: superpatterns"] = mean
        columns[f"{words}: seconds"] = found[seconds].mean(axis=0)
    frame = pd.DataFrame(columns)
    if sets == 1:
        frame = frame.rename(columns=lambda name: name.removesuffix(": mean"))
    same = " Both found the same groups, with the same numbers of patterns by order."
    means = f" Means of {sets} data sets." if sets > 1 else ""
    caption = (
        "'Splitting and merging' is the algorithm of the thesis; its superpatterns are counted "
        "before those with the same expression are merged. 'Each group once' is our algorithm; "
        "its superpatterns are those that its groups can be written as."
        + ("" if warnings(record) else same)
        + f"{means} Processor seconds are the best of three runs."
    )
    title = "Parameters, superpatterns and seconds"
    return [Table("reduction-numbers", title, frame, caption)]
