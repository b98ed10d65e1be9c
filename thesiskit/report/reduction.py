"""Numbers of original and compressed parameters, and drawings of groups and of the HMM.

Section "Experiments Demonstrating Parameter Reduction".  Original parameters are patterns that
some training sample expresses, compressed ones groups of patterns with one expression.  The
drawings are of sections "Grouping Parameters of Sequence Prediction Models", "Grouping Parameters
of Classification Models" and "Experiments with a Hidden Markov Model".
"""

from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from thesiskit.report import layout
from thesiskit.report.layout import Figure, PageTable
from thesiskit.report.record import Record
from thesiskit.report.stages import warnings

if TYPE_CHECKING:  # kernels are loaded where a drawing is made
    from thesiskit.models.patterns import FeatureGroups, SequenceGroups

LETTERS = {"features": "p", "values": "K", "order": "O"}
WORDS = {"features": "features", "values": "values of each feature", "order": "order"}
EXAMPLE = np.array([[1, 2, 1], [2, 1, 2], [1, 1, 2]])  # the thesis prints it for sequences
STATES = ["1", "2"]
SHADES = ("#f3d9b1", "#cfe0f3", "#d4ead0", "#ecd3e6", "#f5eeb0", "#f2c6c2")
MARKS = "so^Dv<>"  # of hidden states, by what they emit most often
Pattern = tuple[int, ...]  # a value of each place, 0 where the pattern fixes none
PATTERNS: list[Pattern] = list(product(range(len(STATES) + 1), repeat=EXAMPLE.shape[1]))


class SweepCurves:
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


def sweeps(record: Record) -> list[SweepCurves]:
    """Return the sweeps, in the order of the config."""
    numbers = record.reduction
    return [SweepCurves(numbers, i) for i in range(numbers["sweep"].max() + 1)]


def parameter_reduction(record: Record) -> list[Figure | PageTable]:
    """Parameters, their ratio, superpatterns and seconds of each setting (Figure 3.17)."""
    return [_reduction_figure(record), _reduction_table(record)]


def _reduction_figure(record: Record) -> Figure:
    varied = sweeps(record)
    figure, axes = layout.canvas(len(varied), 2, height=2.6 * len(varied) + 0.2)
    for row, sweep in zip(axes, varied, strict=True):
        for axis, values, look, label in (
            (row[0], sweep.patterns, layout.ORIGINAL, "original"),
            (row[0], sweep.groups, layout.COMPRESSED, "compressed"),
            (row[1], sweep.ratio, layout.COMPRESSED, None),
        ):
            mean = values.mean(axis=0)
            reach = [mean - values.min(axis=0), values.max(axis=0) - mean]
            axis.errorbar(sweep.x, mean, reach, label=label, elinewidth=0.5, **look)
        row[0].set(yscale="log", ylabel="parameters")
        row[1].set(ylabel="compressed / original", ylim=(0, 1.05))
        for axis in row:
            axis.set_title(sweep.fixed)
            axis.set(xticks=sweep.x, xlabel=f"{sweep.letter}, {WORDS[sweep.varied]}")
    layout.name_series(figure, axes[0, 0])
    samples, sets = record.config["reduction"]["samples"], len(record.reduction["groups"])
    caption = layout.caption("reduction", samples=samples, sets=sets)
    return Figure("reduction", "Original and compressed parameters", figure, caption)


def _reduction_table(record: Record) -> PageTable:
    reduction = record.reduction
    sets = len(reduction["groups"])
    letters = np.array([sweep.letter for sweep in sweeps(record)])
    columns: dict[str, Any] = {"varied": letters[reduction["sweep"]]}
    columns |= {letter: reduction[name] for name, letter in LETTERS.items()}
    for words, name in (("original", "patterns"), ("compressed", "groups")):
        columns[f"{words}: mean"] = np.rint(reduction[name].mean(axis=0)).astype(np.int64)
        if sets > 1:
            columns[f"{words}: least"] = reduction[name].min(axis=0)
            columns[f"{words}: most"] = reduction[name].max(axis=0)
    columns["ratio"] = (reduction["groups"] / reduction["patterns"]).mean(axis=0)
    for words, number, seconds in (
        ("splitting and merging", "superpatterns", "thesis_seconds"),
        ("each group once", "intervals", "closed_seconds"),
    ):
        mean = np.rint(reduction[number].mean(axis=0)).astype(np.int64)
        columns[f"{words}: superpatterns"] = mean
        columns[f"{words}: seconds"] = reduction[seconds].mean(axis=0)
    frame = pd.DataFrame(columns)
    if sets == 1:
        frame = frame.rename(columns=lambda name: name.removesuffix(": mean"))
    about = layout.caption("reduction-numbers", agree=not warnings(record), n_sets=sets)
    title = "Parameters, superpatterns and seconds"
    return PageTable("reduction-numbers", title, frame, about)


# ---- drawings ----


def sequence_groups(_: Record) -> list[Figure | PageTable]:
    """The groups of all patterns of three sequences (Figure 3.4)."""
    from thesiskit.models.patterns import compress_sequences

    groups = compress_sequences(EXAMPLE - 1, EXAMPLE.shape[1])
    nodes = [p for p in PATTERNS if all(a == 0 or b > 0 for a, b in pairwise(p))]
    words = [groups.describe(g, STATES) or "(any)" for g in range(groups.n_groups)]
    return _drawn("sequence-groups", "sequences", groups, sorted(nodes, key=lambda p: p[::-1]),
                  0, words)  # fmt: skip


def feature_groups(_: Record) -> list[Figure | PageTable]:
    """The groups of all patterns of three features in three samples (Figure 3.15)."""
    from thesiskit.models.patterns import compress_features

    groups = compress_features(EXAMPLE - 1, EXAMPLE.shape[1])
    names, values = ["x1", "x2", "x3"], [STATES] * 3
    words = [groups.describe(g, names, values, 9) for g in range(groups.n_groups)]
    return _drawn("feature-groups", "samples", groups, PATTERNS, -1, words)


def _drawn(
    name: str, unit: str, groups: "SequenceGroups | FeatureGroups", nodes: list[Pattern],
    last: int, words: list[str],
) -> list[Figure | PageTable]:  # fmt: skip
    """Return the tree of patterns, those of a group in one shade, and a table of the groups.

    nodes : in the order of the tree, where each follows the pattern without one of its values:
        the first (last is 0) or the last (-1).
    """
    from thesiskit.models.patterns import UNSEEN

    samples = np.split(groups.indices + 1, groups.indptr[1:-1])
    texts = [", ".join(map(str, np.sort(rows))) for rows in samples]
    above = {
        p: (*p[:t], 0, *p[t + 1 :]) for p in nodes if any(p) for t in [np.flatnonzero(p)[last]]
    }
    leaves = [p for p in nodes if p not in above.values()]
    height = {p: -float(row) for row, p in enumerate(leaves)}
    for p in sorted(set(above.values()), key=np.count_nonzero, reverse=True):
        height[p] = float(np.mean([height[q] for q in nodes if above.get(q) == p]))
    figure, axes = layout.canvas(height=0.28 * len(leaves) + 0.9)
    axis = axes[0, 0]
    for p in nodes:
        order, codes = np.count_nonzero(p), np.where(np.array(p) > 0, np.array(p) - 1, UNSEEN)
        n_shared, _ = groups.shared_patterns(codes)
        label, face, edge = "–", "white", layout.GREY
        for g in np.flatnonzero(n_shared[:, order])[:1]:  # the group; none if not expressed
            label, edge = f"{{{texts[g]}}}  {chr(65 + g)}", layout.INK
            face = SHADES[g % len(SHADES)]
        text = f"[{''.join(map(str, p))}]  {label}"
        box = {"boxstyle": "round", "edgecolor": edge, "linewidth": 0.7, "facecolor": face}
        axis.text(order, height[p], text, ha="center", va="center", bbox=box)
        if p in above:
            heights = [height[above[p]], height[p]]
            axis.plot([order - 1, order], heights, color=layout.GREY, zorder=0)
    axis.set(xlim=(-0.4, len(p) + 0.4), ylim=(0.1 - len(leaves), 0.7), yticks=[])
    axis.set(xticks=range(len(p) + 1), xlabel="order of the pattern")
    axis.spines["left"].set_visible(False)
    data = ", ".join(f"({', '.join(map(str, row))})" for row in EXAMPLE)
    caption = layout.caption("groups-of-three", unit=unit, data=data)
    frame = pd.DataFrame({
        "group": [chr(65 + g) for g in range(groups.n_groups)], "patterns": words, unit: texts,
        "number of patterns": groups.patterns_per_order.sum(axis=1),
    })  # fmt: skip
    title = f"Groups of patterns of three {unit}"
    return [
        Figure(name, title, figure, caption),
        PageTable(name, title, frame, f"What is left of {len(nodes)} patterns after grouping."),
    ]


def hidden_markov(record: Record) -> list[Figure]:
    """The hidden Markov model that data are drawn from (Figure 3.6)."""
    data = record.config["data"]
    transition, emission = np.array(data["transition"]), np.array(data["emission"])
    strong, emits = transition.argmax(axis=1), emission.argmax(axis=1)
    figure, axes = layout.canvas(height=0.42 * len(strong) + 0.9)
    axis = axes[0, 0]
    for step, (i, j) in product(range(2), enumerate(strong)):
        arrow = {"arrowstyle": "-|>", "color": layout.INK, "shrinkA": 11, "shrinkB": 11}
        axis.annotate("", (step + 1, -j), (step, -i), arrowprops=arrow)
    for k in np.unique(emits):
        x, states = np.arange(3), np.flatnonzero(emits == k)
        axis.plot(
            np.repeat(x, len(states)), -np.tile(states, 3), MARKS[k % len(MARKS)], color=layout.INK,
            markersize=17, markerfacecolor="white", label=f"emits {k + 1} most often",
        )  # fmt: skip
        for place, state in product(x, states):
            axis.text(place, -state, str(state + 1), ha="center", va="center")
    axis.set(xticks=range(3), xticklabels=["$h_{t-1}$", "$h_t$", "$h_{t+1}$"], yticks=[])
    axis.set(xlim=(-0.3, 2.3), ylim=(0.6 - len(strong), 0.6))
    axis.spines[["left", "bottom"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=2, markerscale=0.5)
    ends = [
        " to ".join(dict.fromkeys(f"{end(rows.max(axis=1)):g}" for end in (min, max)))
        for rows in (transition, emission)
    ]
    caption = layout.caption("hidden-markov", transition=ends[0], emission=ends[1])
    return [Figure("hidden-markov", "The hidden Markov model", figure, caption)]
