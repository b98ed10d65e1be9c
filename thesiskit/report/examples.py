"""Drawings of the thesis that are computed: groups of patterns of two examples, and the HMM.

Sections "Grouping Parameters of Sequence Prediction Models", "Grouping Parameters of Classification
Models" and "Experiments with a Hidden Markov Model".
"""

from itertools import pairwise, product

import numpy as np
import pandas as pd

from thesiskit.models.patterns import UNSEEN, Groups, compress_features, compress_sequences
from thesiskit.report.layout import GREY, INK, Figure, Table, canvas
from thesiskit.report.record import Record

EXAMPLE = np.array([[1, 2, 1], [2, 1, 2], [1, 1, 2]])  # the thesis prints it for sequences
STATES = ["1", "2"]
SHADES = ("#f3d9b1", "#cfe0f3", "#d4ead0", "#ecd3e6", "#f5eeb0", "#f2c6c2")
MARKS = "so^Dv<>"  # of hidden states, by what they emit most often
Pattern = tuple[int, ...]  # a value of each place, 0 where the pattern fixes none


def sequence_groups(_: Record) -> list[Figure | Table]:
    """The groups of all patterns of three sequences (fig-seq-group)."""
    groups = compress_sequences(EXAMPLE - 1, EXAMPLE.shape[1])
    nodes = [p for p in _patterns() if all(a == 0 or b > 0 for a, b in pairwise(p))]
    about = "The sequences are those of the thesis. Each step to the right fixes one earlier state."
    words = [groups.describe(g, STATES) or "(any)" for g in range(groups.n_groups)]
    return _drawn("sequence-groups", "sequences", groups, sorted(nodes, key=lambda p: p[::-1]),
                  0, words, about)  # fmt: skip


def feature_groups(_: Record) -> list[Figure | Table]:
    """The groups of all patterns of three features in three samples (fig-group-cls)."""
    groups = compress_features(EXAMPLE - 1, EXAMPLE.shape[1])
    names, values = ["x1", "x2", "x3"], [STATES] * 3
    about = (
        "The samples of the thesis's figure are lost; these are the three sequences of its other "
        "example. Each step to the right fixes one more feature."
    )
    words = [groups.describe(g, names, values, 9) for g in range(groups.n_groups)]
    return _drawn("feature-groups", "samples", groups, _patterns(), -1, words, about)


def _patterns() -> list[Pattern]:
    return list(product(range(len(STATES) + 1), repeat=EXAMPLE.shape[1]))


def _drawn(
    name: str, samples: str, groups: Groups, nodes: list[Pattern], last: int, words: list[str],
    about: str,
) -> list[Figure | Table]:  # fmt: skip
    """Return the tree of patterns, those of a group in one shade, and a table of the groups.

    nodes : in the order of the tree, where each follows the pattern without one of its values:
        the first (last is 0) or the last (-1).
    """
    cases = np.split(groups.indices + 1, groups.indptr[1:-1])
    texts = [", ".join(map(str, np.sort(each))) for each in cases]
    above = {
        p: (*p[:t], 0, *p[t + 1 :]) for p in nodes if any(p) for t in [np.flatnonzero(p)[last]]
    }
    leaves = [p for p in nodes if p not in above.values()]
    height = {p: -float(row) for row, p in enumerate(leaves)}
    for p in sorted(set(above.values()), key=np.count_nonzero, reverse=True):
        height[p] = float(np.mean([height[q] for q in nodes if above.get(q) == p]))
    figure, axes = canvas(height=0.28 * len(leaves) + 0.9)
    axis = axes[0, 0]
    for p in nodes:
        order, codes = np.count_nonzero(p), np.where(np.array(p) > 0, np.array(p) - 1, UNSEEN)
        shared, _ = groups.shared_patterns(codes)
        found = np.flatnonzero(shared[:, order])  # the group of the pattern; none if not expressed
        text = (
            "[" + "".join(map(str, p)) + "]  " + (f"{{{texts[found[0]]}}}" if len(found) else "–")
        )
        if len(found):
            text += f"  {chr(65 + found[0])}"
        box = {"boxstyle": "round", "edgecolor": INK if len(found) else GREY, "linewidth": 0.7,
               "facecolor": SHADES[found[0] % len(SHADES)] if len(found) else "white"}  # fmt: skip
        axis.text(order, height[p], text, ha="center", va="center", fontsize=8, bbox=box)
        if p in above:
            axis.plot([order - 1, order], [height[above[p]], height[p]], color=GREY, zorder=0)
    axis.set(xlim=(-0.4, len(p) + 0.4), ylim=(0.1 - len(leaves), 0.7), yticks=[])
    axis.set(xticks=range(len(p) + 1), xlabel="order of the pattern")
    axis.spines["left"].set_visible(False)
    data = ", ".join(f"({', '.join(map(str, row))})" for row in EXAMPLE)
    caption = (
        f"All patterns of three places, of {samples} 1 to 3: {data}. {about} Braces list "
        f"the {samples} that express a pattern. Patterns that the same {samples} express are a "
        "group, with a letter and a shade of its own. A dash: not expressed."
    )
    frame = pd.DataFrame({
        "group": [chr(65 + g) for g in range(groups.n_groups)], "patterns": words, samples: texts,
        "number of patterns": groups.patterns_per_order.sum(axis=1),
    })  # fmt: skip
    title = f"Groups of patterns of three {samples}"
    return [
        Figure(name, title, figure, caption),
        Table(name, title, frame, f"What is left of {len(nodes)} patterns after grouping."),
    ]


def hidden_markov(record: Record) -> list[Figure]:
    """The hidden Markov model that data are drawn from (fig-hmm)."""
    data = record.config["data"]
    transition, emission = np.array(data["transition"]), np.array(data["emission"])
    strong, emits = transition.argmax(axis=1), emission.argmax(axis=1)
    figure, axes = canvas(height=0.42 * len(strong) + 0.9)
    axis = axes[0, 0]
    for step, (i, j) in product(range(2), enumerate(strong)):
        arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 11, "shrinkB": 11}
        axis.annotate("", (step + 1, -j), (step, -i), arrowprops=arrow)
    for k in np.unique(emits):
        x, states = np.arange(3), np.flatnonzero(emits == k)
        axis.plot(
            np.repeat(x, len(states)), -np.tile(states, 3), MARKS[k % len(MARKS)], markersize=17,
            color=INK, markerfacecolor="white", linestyle="none", label=f"emits {k + 1} most often",
        )  # fmt: skip
        for place, state in product(x, states):
            axis.text(place, -state, str(state + 1), ha="center", va="center", fontsize=9)
    axis.set(xticks=range(3), xticklabels=["$h_{t-1}$", "$h_t$", "$h_{t+1}$"], yticks=[])
    axis.set(xlim=(-0.3, 2.3), ylim=(0.6 - len(strong), 0.6))
    axis.spines[["left", "bottom"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=2, frameon=False, markerscale=0.5)
    low, high = (f"{end(transition.max(axis=1)):g}" for end in (min, max))
    least, most = (f"{end(emission.max(axis=1)):g}" for end in (min, max))
    caption = (
        "Hidden states at three successive times. An arrow is the most probable transition of a "
        f"state, of probability {low}{'' if low == high else f' to {high}'}; the others are not "
        f"drawn. The state emits what its shape says with probability {least}"
        f"{'' if least == most else f' to {most}'}."
    )
    return [Figure("hidden-markov", "The hidden Markov model", figure, caption)]
