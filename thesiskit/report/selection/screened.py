"""What methods promise on a table that was screened before, and what they make of new cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from thesiskit.report.layout import INK, PALE, Figure, Table, canvas
from thesiskit.report.metrics import standard_error
from thesiskit.report.selection.record import OURS, Arm, Record
from thesiskit.report.selection.signals import scored, setting_words

GREEN, RED, NEAR = "#00785a", "#c44e00", 0.05  # of promises that are kept, or nearly
GAP = 0.9  # above each of the two groups of methods


@dataclass(frozen=True)
class Promise:
    """The error rates of a method on one kind of data, with their standard errors.

    told : the promise; by cross-validation if the method is not ours.
    """

    data: str
    arm: Arm
    actual: tuple[float, float]
    told: tuple[float, float]
    amlp: tuple[float, float]

    @property
    def ours(self) -> bool:
        """Whether the promise is that of the predictions."""
        return self.arm.method in OURS


def promises(record: Record) -> list[Promise]:
    """Return what every method promises and makes, on each kind of data."""
    found = scored(record)
    blocks = [record.results.load("predict", number, ("cross_validated",))["cross_validated"]
              for number in range(record.n_blocks)]  # fmt: skip
    # a number for each replicate: the mean over its folds
    replicates = found.values.shape[1] * found.values.shape[2]
    folded = np.concatenate(blocks, axis=1).reshape(len(record.arms), replicates, -1).mean(axis=2)
    result = []
    for s, setting in enumerate(found.settings):
        for i, arm in enumerate(found.arms):
            values = found.values[i, s]
            told = values[:, 1]
            if arm.method not in OURS:
                told = folded[arm.row].reshape(len(found.settings), -1)[s]
            columns = (values[:, 0], told, values[:, 2])
            numbers = [(float(one.mean()), standard_error(one)) for one in columns]
            result.append(Promise(setting_words(setting) if setting else "", arm, *numbers))
    return result


def screened_table(record: Record) -> list[Table]:
    """What each method promises on a table that was screened before, and what it makes."""
    rows: list[dict[str, Any]] = [
        {
            "data": one.data,
            "kept": one.arm.label,
            "method": one.arm.words,
            "promised by": "its predictions" if one.ours else "cross-validation",
            "promised error: mean": one.told[0],
            "promised error: ±": one.told[1],
            "actual error: mean": one.actual[0],
            "actual error: ±": one.actual[1],
            "AMLP: mean": one.amlp[0],
            "AMLP: ±": one.amlp[1],
        }
        for one in promises(record)
    ]
    frame = pd.DataFrame(rows)
    return [
        Table(
            "screened",
            "What each method promises, and what it makes",
            frame if frame["data"].any() else frame.drop(columns="data"),
            "Models of scikit-learn are cross-validated (ten folds) on the table that they were "
            "given, as anybody would who does not know how it was screened. Ours say how often "
            "they will be wrong by their predictions. The actual error rate is that of test cases "
            f"that took no part in the screening. Means over {record.config['replicates']:,} "
            f"{_repetitions(record)}, ± standard errors"
            + (
                "."
                if record.config["drawn"]
                else ", as if divisions were independent; they share cases."
            ),
            lead=tuple(_sentences(promises(record))),
        )
    ]


def _repetitions(record: Record) -> str:
    return "data sets of each kind" if record.config["drawn"] else "random divisions"


def _sentences(found: list[Promise]) -> list[str]:
    """Say of each kind of data who keeps the promise best and worst, and who is wrong least."""
    told = []
    for data in dict.fromkeys(one.data for one in found):
        mine = [one for one in found if one.data == data]
        best = min(mine, key=lambda one: abs(one.told[0] - one.actual[0]))
        worst = max(mine, key=lambda one: abs(one.told[0] - one.actual[0]))
        least = min(mine, key=lambda one: one.amlp[0])
        told.append(
            (f"{data[0].upper()}{data[1:]}: " if data else "")
            + f"nearest to its promise is {_said(best)}; farthest from it is {_said(worst)}. "
            f"The lowest AMLP is {least.amlp[0]:.3f}, of {least.arm.words}."
        )
    return told


def _said(one: Promise) -> str:
    return f"{one.arm.words} (promised {one.told[0]:.1%}, makes {one.actual[0]:.1%})"


def screened_figure(record: Record) -> list[Figure]:
    """Promised and actual error rates of each method on a table that was screened before."""
    found = promises(record)
    kinds = list(dict.fromkeys(one.data for one in found))
    order = sorted(dict.fromkeys(map(_row, found)), key=lambda row: not row.ours)  # ours above
    heights = {row: -i - GAP * (2 - row.ours) for i, row in enumerate(order)}
    figure, axes = canvas(
        1, len(kinds), width=8.6 if len(kinds) > 1 else 6.2, height=0.36 * len(order) + 2.1,
        sharey=True, sharex=True,
    )  # fmt: skip
    most = max(rate[0] for one in found for rate in (one.actual, one.told))
    for axis, data in zip(axes[0], kinds, strict=True):
        for one in found:
            if one.data == data:
                _dumbbell(axis, one, heights[_row(one)])
        axis.set_title(_title(data), fontsize=9.5)
        axis.set_xlim(-0.055, most + 0.075)
        axis.set_xticks([place for place in axis.get_xticks() if 0 <= place <= most + 0.075])
        axis.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
        axis.grid(axis="x", color=PALE, zorder=0)
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(min(heights.values()) - 0.7, 0.2)
        axis.spines[["top", "right", "left"]].set_visible(False)
    several = len({row.label for row in order}) > 1
    names = [f"{row.label}: {row.words}" if several else row.words for row in order]
    axes[0, 0].set_yticks(list(heights.values()), [one.replace(", cal", ",\ncal") for one in names])
    for ours, words in ((True, "thesiskit"), (False, "scikit-learn")):
        first = next((row for row in order if row.ours == ours), None)
        if first is not None:
            axes[0, 0].annotate(
                words, (0, heights[first] + 0.72), xycoords=("axes fraction", "data"),
                xytext=(-7, 0), textcoords="offset points", ha="right", va="center",
                fontsize=10, fontweight="bold", annotation_clip=False,
            )  # fmt: skip
    figure.supxlabel("error rate", fontsize=10)
    # in the order of what is done: first one promises
    for words, face in (("promises", "white"), ("makes", INK)):
        axes[0, 0].plot([], [], "o", color=INK, markerfacecolor=face, markersize=8,
                        markeredgewidth=1.8, label=words)  # fmt: skip
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return [
        Figure(
            "screened",
            "Promised and actual error rates on a table that was screened before",
            figure,
            "Models of scikit-learn promise by cross-validation of the table that they were "
            "given, ours by their predictions. The line between is what a promise is off by; it "
            f"is green up to {100 * NEAR:.0f} points. Means over {record.config['replicates']:,} "
            f"{_repetitions(record)}.",
        )
    ]


def _title(data: str) -> str:
    """Return the title of a panel; nothing where there is one kind of data."""
    if not data:
        return ""
    about, _, rest = data.partition(", ")
    kind = "Noise" if data.startswith("0 of ") else "Signal"
    return f"{kind}: {about}\n{rest}"


class _Row(NamedTuple):
    """A line of the figure."""

    label: str
    words: str
    ours: bool


def _row(one: Promise) -> _Row:
    return _Row(one.arm.label, one.arm.words, one.ours)


def _dumbbell(axis, one: Promise, height: float) -> None:
    """Draw a promise, what is made, and a line between, with the numbers at its ends."""
    told, actual = one.told[0], one.actual[0]
    colour = GREEN if abs(told - actual) <= NEAR else RED
    axis.plot([told, actual], [height, height], color=colour, linewidth=2.4, alpha=0.5, zorder=2)
    axis.plot(actual, height, "o", color=colour, markersize=8, zorder=3)
    axis.plot(told, height, "o", color=colour, markerfacecolor="white", markersize=8,
              markeredgewidth=1.8, zorder=4)  # fmt: skip
    low, high = sorted((told, actual))
    for value, place, side in ((low, -7, "right"), (high, 7, "left")):
        axis.annotate(
            f"{100 * value:.0f} %", (value, height), xytext=(place, 0), ha=side, va="center",
            textcoords="offset points", fontsize=8, color=INK,
        )  # fmt: skip
