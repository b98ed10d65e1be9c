"""What methods promise on a table that was screened before, and what they make of new cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from thesiskit.report.layout import GREY, INK, Figure, Table, canvas
from thesiskit.report.metrics import standard_error
from thesiskit.report.selection.record import OURS, Arm, Record
from thesiskit.report.selection.signals import scored, setting_words


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
    rows = [
        ({"data": one.data} if one.data else {})
        | {
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
    return [
        Table(
            "screened",
            "What each method promises, and what it makes",
            pd.DataFrame(rows),
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
    rows = list(dict.fromkeys((one.arm.label, one.arm.words) for one in found))
    # ours above, then a gap, then models to compare with
    ours = {(one.arm.label, one.arm.words) for one in found if one.ours}
    order = [row for row in rows if row in ours] + [row for row in rows if row not in ours]
    heights = {row: -i - 0.7 * (row not in ours) for i, row in enumerate(order)}
    figure, axes = canvas(
        1, len(kinds), width=8.2 if len(kinds) > 1 else 6.4, height=0.42 * len(order) + 1.5,
        sharey=True, sharex=True,
    )  # fmt: skip
    several = len({label for label, _ in rows}) > 1
    for axis, data in zip(axes[0], kinds, strict=True):
        for one in found:
            if one.data == data:
                _dumbbell(axis, one, heights[one.arm.label, one.arm.words])
        axis.set_title(f"{data[0].upper()}{data[1:]}" if data else "", fontsize=10)
        axis.set_xlim(-0.015, max(0.57, 1.15 * max(max(one.actual, one.told)[0] for one in found)))
        axis.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axis.grid(axis="x", color="#ececec", zorder=0)
        axis.tick_params(axis="y", length=0)
        axis.set_yticks(
            list(heights.values()),
            [f"{label}: {words}" if several else words for label, words in heights],
        )
        axis.set_ylim(min(heights.values()) - 0.6, 0.6)
        axis.spines[["top", "right", "left"]].set_visible(False)
    figure.supxlabel("error rate", fontsize=10)
    handles, words = axes[0, 0].get_legend_handles_labels()
    unique = dict(zip(words, handles, strict=True))
    figure.legend(
        unique.values(), unique.keys(), loc="outside upper center", ncols=2, frameon=False
    )
    return [
        Figure(
            "screened",
            "Promised and actual error rates on a table that was screened before",
            figure,
            "Models of scikit-learn promise by cross-validation of the table that they were "
            "given, ours by their predictions. The line between is what the promise is off by. "
            f"Means over {record.config['replicates']:,} {_repetitions(record)}.",
        )
    ]


def _dumbbell(axis, one: Promise, height: float) -> None:
    """Draw a promise, what is made, and a line between, with the numbers at its ends."""
    told, actual = one.told[0], one.actual[0]
    good = "#00785a" if one.ours and abs(told - actual) < 0.05 else "#c44e00"
    axis.plot([told, actual], [height, height], color=good, linewidth=2.2, zorder=2, alpha=0.55,
              solid_capstyle="butt")  # fmt: skip
    axis.plot(told, height, "o", color=good, markerfacecolor="white", markersize=8,
              markeredgewidth=1.8, label="promised", zorder=3)  # fmt: skip
    axis.plot(actual, height, "o", color=good, markersize=8, label="actual", zorder=3)
    for value, other in ((told, actual), (actual, told)):
        left = value < other or (value == other and value is told)
        axis.annotate(
            f"{value:.0%}", (value, height), xytext=(-7 if left else 7, 0),
            textcoords="offset points", ha="right" if left else "left", va="center", fontsize=8,
            color=INK,
        )  # fmt: skip
