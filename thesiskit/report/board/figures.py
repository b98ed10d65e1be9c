"""The figures of a board: promised against actual error rates, and AMLP table by table."""

from __future__ import annotations

from typing import Any

import numpy as np

from thesiskit.report.board.scores import AMLP, ERROR, PROMISED, Board, board_of, tempered
from thesiskit.report.layout import (
    GREY,
    INK,
    PALE,
    Figure,
    canvas,
    hide_from,
    kept_words,
    save_space,
)
from thesiskit.report.record import OURS, WHOLE, Arm, Record, method_words

GREEN, BLUE, RED = "#00785a", "#2f6fb0", "#c44e00"
SHADE = "#f6ede4"
COLOURS = (
    "Green is the model of this page, blue naive Bayes of features that are cut at their medians."
)
COLUMNS, OFF, NAMED = 4, 0.1, 3  # panels in a row; tables that are off by more are named, so many
LEAST = 1e-3  # an AMLP below it is drawn there
TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)


# ---- promised against actual ----


def board_promises(study: Record) -> list[Figure]:
    """Promised against actual error rate, a panel for each method and a mark for each table."""
    board = board_of(study)
    kinds = list(dict.fromkeys(short_words(arm) for arm in board.arms))
    columns = min(COLUMNS, len(kinds))
    rows = -(-len(kinds) // columns)
    figure, axes = canvas(
        rows, columns, width=1.95 * columns + 0.4, height=2.1 * rows + 0.5, sharex=True, sharey=True
    )
    hide_from(axes, len(kinds))
    labels = list(dict.fromkeys(arm.label for arm in board.arms if arm.label != "all"))
    most = 1.08 * float(np.nanmax(board.values[:, :, [ERROR, PROMISED]]))
    for axis, words in zip(axes.flat, kinds, strict=False):
        axis.fill_between([0, most], [0, most], [most, most], color=SHADE, zorder=0)
        axis.plot([0, most], [0, most], color=GREY, linewidth=0.8, zorder=1)
        mine = [i for i, arm in enumerate(board.arms) if short_words(arm) == words]
        for i in mine:
            _draw_promises(axis, board, i, hollow=_hollow(board.arms[i], labels))
        _name_far(axis, board, mine[-1], most)
        axis.set_title(_lines(words), fontsize=8, color=_colour(board.arms[mine[0]]))
        axis.set_xlim(-0.02, most)
        axis.set_ylim(-0.02, most)
        axis.set_aspect("equal")
        for one in (axis.xaxis, axis.yaxis):
            one.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
        axis.tick_params(labelsize=7.5)
    if len(kinds) < axes.size:
        _draw_key(axes.flat[len(kinds)], labels)
    save_space(axes)
    figure.supxlabel("promised error rate", fontsize=10)
    figure.supylabel("actual error rate", fontsize=10)
    keys = (
        f"Hollow marks keep {labels[0]} features, filled ones {labels[-1]}. "
        if len(labels) > 1
        else ""
    )
    return [
        Figure(
            "board-promises",
            "What each method promises and makes",
            figure,
            "Each mark is a table. On the line a method makes as many errors as its predictions "
            "promise; in the shaded half it makes more, so it is too sure, and below it is too "
            f"careful. {COLOURS} {keys}Lines are Wilson's intervals of 95 % over cases; tables "
            f"that are farthest off, by more than {100 * OFF:.0f} points, are named.",
        )
    ]


def _draw_promises(axis, board: Board, i: int, *, hollow: bool) -> None:
    colour = _colour(board.arms[i])
    for s in np.flatnonzero(board.predicts[i]):
        promised, error = board.values[i, s, PROMISED], board.values[i, s, ERROR]
        low, high = board.scores[i][s].error_interval
        if not hollow:
            axis.plot([promised] * 2, [low, high], color=colour, linewidth=0.7, alpha=0.5, zorder=2)
        axis.plot(
            promised, error, "o", markersize=4.5, color=colour, zorder=4 - hollow,
            markerfacecolor="white" if hollow else colour, markeredgewidth=1, clip_on=False,
        )  # fmt: skip


def _name_far(axis, board: Board, i: int, most: float) -> None:
    """Write the names of the tables whose promise is farthest off, none upon another."""
    promised, error = board.values[i, :, PROMISED], board.values[i, :, ERROR]
    off = np.nan_to_num(np.abs(error - promised))
    heights: list[float] = []
    for s in np.argsort(-off, kind="stable")[:NAMED]:
        height = float(error[s])
        if off[s] <= OFF or any(abs(height - one) < 0.07 * most for one in heights):
            continue
        heights.append(height)
        right = promised[s] < 0.75 * most
        axis.annotate(
            board.names[s], (promised[s], height), xytext=(5 if right else -5, 0),
            textcoords="offset points", ha="left" if right else "right", va="center",
            fontsize=7, color=INK, zorder=5,
        )  # fmt: skip


def _draw_key(axis, labels: list[str]) -> None:
    """Say in an empty panel what marks and shades mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    axis.set_visible(True)
    axis.set_axis_off()
    marks = [(labels[0], "white"), (labels[-1], INK)] if len(labels) > 1 else []
    keys: list[Any] = [
        Line2D([], [], linestyle="none", marker="o", color=INK, markerfacecolor=face,
               markersize=5, label=kept_words(label))
        for label, face in marks
    ]  # fmt: skip
    keys += [Patch(color=SHADE, label="too sure"), Patch(facecolor="white", label="too careful",
                                                         edgecolor=GREY)]  # fmt: skip
    axis.legend(handles=keys, loc="center", frameon=False, fontsize=8.5)


def _hollow(arm: Arm, labels: list[str]) -> bool:
    """Whether an arm keeps fewer features than the arms that are drawn filled."""
    return len(labels) > 1 and arm.label in labels[:-1]


def _colour(arm: Arm) -> str:
    """Return the colour of a method: ours green, binary naive Bayes blue, others in ink."""
    if arm.method in OURS:
        return GREEN
    return BLUE if arm.method.startswith("naive") else INK


def short_words(arm: Arm) -> str:
    """Return what a method is called on a small panel: which features are relevant is left out."""
    return f"{method_words(arm.method)}{', tempered' if tempered(arm) else ''}"


def _lines(words: str) -> str:
    """Return the name of a method on two lines, unless it is short."""
    if len(words) <= 14:
        return words
    breaks = [i for i, letter in enumerate(words) if letter == " "]
    middle = min(breaks, key=lambda i: abs(i - len(words) / 2), default=len(words))
    return f"{words[:middle]}\n{words[middle + 1 :]}"


# ---- log losses ----


def board_losses(study: Record) -> list[Figure]:
    """AMLP of the methods, a row for each table."""
    board = board_of(study)
    chosen = _shown(board)
    order = np.argsort(-np.nan_to_num(board.values[board.rival, :, AMLP]), kind="stable")
    figure, axes = canvas(1, 1, width=8.2, height=0.42 * len(order) + 2.1)
    axis = axes[0, 0]
    names = [board.names[s] for s in order]
    heights = [*range(len(order), 0, -1), -0.4]
    values = np.column_stack([
        board.values[chosen][:, order, AMLP],
        [board.mean(i, AMLP).value for i in chosen],
    ])  # fmt: skip
    values[:, -1] = np.where(board.predicts[chosen].all(axis=1), values[:, -1], np.nan)
    for column, height in enumerate(heights):
        found = np.maximum(values[:, column], LEAST)
        axis.plot([np.nanmin(found), np.nanmax(found)], [height] * 2, color=PALE, linewidth=5,
                  solid_capstyle="round", zorder=1)  # fmt: skip
    for row, i in enumerate(chosen):
        axis.plot(
            np.maximum(values[row], LEAST), heights, linestyle="none", zorder=3 + row / 100,
            label=short_words(board.arms[i]), **_mark(board.arms[i]),
        )  # fmt: skip
    axis.axvline(np.log(2), color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    axis.annotate("to guess between\ntwo classes", (np.log(2), heights[0] + 0.75), fontsize=7,
                  ha="left", va="center", xytext=(3, 0), textcoords="offset points", color=INK,
                  annotation_clip=False)  # fmt: skip
    axis.axhline(0.3, color=INK, linewidth=0.6)
    axis.set_xscale("log")
    low, high = axis.get_xlim()
    axis.set_xticks([x for x in TICKS if low <= x <= high])
    axis.minorticks_off()
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axis.set_yticks(heights, [*names, "mean"])
    axis.get_yticklabels()[-1].set_fontweight("bold")
    axis.set_ylim(-1, len(order) + 1.2)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("average minus log probability (AMLP), lower is better")
    axis.grid(axis="x", color=PALE, linewidth=0.6, zorder=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    labels = list(
        dict.fromkeys(board.arms[i].label for i in chosen if board.arms[i].label != "all")
    )
    kept = f" Methods that select keep {labels[-1]} features." if labels else ""
    return [
        Figure(
            "board-losses",
            "Log loss, table by table",
            figure,
            f"The tables are in the order of the AMLP of tuned ridge, the hardest above.{kept} "
            "The scale is logarithmic; the last row has the means over the tables, of methods "
            "that predict all of them.",
        )
    ]


MARKS: dict[tuple[str, bool], dict[str, Any]] = {  # by method, and whether it has a temperature
    ("corrected", True): {"marker": "D", "color": GREEN, "markersize": 8},
    ("corrected", False): {"marker": "D", "color": GREEN, "markerfacecolor": "white"},
    ("uncorrected", False): {"marker": "x", "color": GREEN},
    ("uncorrected", True): {"marker": "+", "color": GREEN, "markersize": 8},
    ("naive-corrected", True): {"marker": "p", "color": BLUE},
    (WHOLE, False): {"marker": "s", "color": INK, "markersize": 7},
    ("lasso", False): {"marker": "s", "color": INK, "markerfacecolor": "white"},
    ("random-forest", False): {"marker": "^", "color": "#7a5195", "markersize": 7},
    ("nearest-centroids", False): {"marker": "o", "color": RED, "markerfacecolor": "white"},
    ("gaussian-nb", False): {"marker": "v", "color": RED},
}
UNSHOWN = [("uncorrected", True), ("naive-corrected", True)]  # of many methods


def _mark(arm: Arm) -> dict[str, Any]:
    found = MARKS[arm.method, tempered(arm)]
    return {"markersize": 6, "markeredgewidth": 1.4} | found


def _shown(board: Board) -> list[int]:
    """Return one arm of each method that is drawn, that which keeps most, in the order of MARKS."""
    found: dict[tuple[str, bool], int] = {}
    for i, arm in enumerate(board.arms):
        found[arm.method, tempered(arm)] = i  # later ones keep more
    return [found[key] for key in MARKS if key in found and key not in UNSHOWN]
