"""What methods promise and what they make, a line each: two dots and what lies between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from thesiskit.report.layout import INK, PALE, canvas, hide_from
from thesiskit.report.record import OURS, WHOLE, Arm

GREEN, RED, NEAR = "#00785a", "#c44e00", 0.05  # of promises that are kept, or nearly
PROMISES, MAKES = "promises", "makes"  # the series of the figure
GAP = 0.9  # above each of the two groups of methods


@dataclass(frozen=True)
class Promise:
    """The error rates of a method on one kind of data, with their standard errors.

    data : what the data are drawn with, in words; empty where there is one kind.
    told : what the method promises, by its predictions or by cross-validation.
    amlp : average minus log probability.
    """

    data: str
    arm: Arm
    actual: tuple[float, float]
    told: tuple[float, float]
    amlp: tuple[float, float]

    @property
    def ours(self) -> bool:
        """Whether the method is of this package."""
        return self.arm.method in OURS


def draw(found: list[Promise], *, columns: int = 2, amlp: bool = False):
    """Return a figure with a panel for each kind of data, and a line for each method.

    amlp : that is written at the right edge, too.
    """
    kinds = list(dict.fromkeys(one.data for one in found))
    order = sorted(dict.fromkeys(map(_row, found)), key=lambda row: not row.ours)  # ours above
    heights = {row: -i - GAP * (2 - row.ours) for i, row in enumerate(order)}
    columns = min(columns, len(kinds))
    rows = -(-len(kinds) // columns)
    figure, axes = canvas(
        rows, columns, width=2.6 + 3 * columns + 0.6 * (columns == 1),
        height=(0.34 * len(order) + 1.5) * rows + 0.5, sharey=True, sharex=True,
    )  # fmt: skip
    hide_from(axes, len(kinds))
    most = max(rate[0] for one in found for rate in (one.actual, one.told))
    for axis, data in zip(axes.flat, kinds, strict=False):
        mine = [one for one in found if one.data == data]
        for one in mine:
            _dumbbell(axis, one, heights[_row(one)])
        if amlp:
            _write_amlp(axis, mine, heights)
        axis.set_title(_title(data), fontsize=9.5)
        axis.set_xlim(-0.08 if amlp else -0.06, most + (0.26 if amlp else 0.075))
        axis.set_xticks([place for place in axis.get_xticks() if 0 <= place <= most + 0.03])
        axis.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
        axis.grid(axis="x", color=PALE, zorder=0)
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(min(heights.values()) - 0.7, 0.2)
        axis.spines[["top", "right", "left"]].set_visible(False)
    for first in axes[:, 0]:
        _name_lines(first, heights)
    figure.supxlabel("error rate", fontsize=10)
    # in the order of what is done: first one promises
    signs = [
        axes[0, 0].plot([], [], "o", color=INK, markerfacecolor=face, markersize=8,
                        markeredgewidth=1.8, label=words)[0]
        for words, face in ((PROMISES, "white"), (MAKES, INK))
    ]  # fmt: skip
    figure.legend(handles=signs, loc="outside upper center", ncols=2, frameon=False)
    return figure


def _name_lines(axis, heights: dict[_Row, float]) -> None:
    """Write the names of the methods, ours below one heading and the others below another."""
    several = len({row.label for row in heights if not row.whole}) > 1
    names = [f"{row.label}: {row.words}" if several else row.words for row in heights]
    axis.set_yticks(list(heights.values()), [one.replace(", cal", ",\ncal") for one in names])
    for ours, words in ((True, "thesiskit"), (False, "scikit-learn")):
        first = next((row for row in heights if row.ours == ours), None)
        if first is not None:
            axis.annotate(
                words, (0, heights[first] + 0.72), xycoords=("axes fraction", "data"),
                xytext=(-7, 0), textcoords="offset points", ha="right", va="center",
                fontsize=10, fontweight="bold", annotation_clip=False,
            )  # fmt: skip


def _write_amlp(axis, found: list[Promise], heights: dict[_Row, float]) -> None:
    """Write the AMLP at the right edge, the lowest one in bold."""
    lowest = min(one.amlp[0] for one in found)
    top = max(heights.values()) + 0.72
    texts = [(top, "AMLP", "normal")] + [
        (heights[_row(one)], f"{one.amlp[0]:.3f}", "bold" if one.amlp[0] == lowest else "normal")
        for one in found
    ]
    for height, text, weight in texts:
        axis.annotate(text, (1, height), xycoords=("axes fraction", "data"), ha="right",
                      va="center", fontsize=8, fontweight=weight, color=INK)  # fmt: skip


def _title(data: str) -> str:
    """Return the title of a panel; nothing where there is one kind of data."""
    if not data:
        return ""
    about, _, rest = data.partition(", ")
    if " relevant" in about:
        about = f"{'Noise' if data.startswith('0 of ') else 'Signal'}: {about}"
    return f"{about[0].upper()}{about[1:]}\n{rest}"


class _Row(NamedTuple):
    """A line of the figure."""

    label: str
    words: str
    ours: bool
    whole: bool  # it takes all features, whatever is kept


def _row(one: Promise) -> _Row:
    return _Row(one.arm.label, one.arm.words, one.ours, one.arm.method == WHOLE)


def _dumbbell(axis, one: Promise, height: float) -> None:
    """Draw a promise, what is made, and a line between, with the numbers at its ends."""
    told, actual = one.told[0], one.actual[0]
    colour = GREEN if abs(told - actual) <= NEAR else RED
    axis.plot([told, actual], [height, height], color=colour, linewidth=2.4, alpha=0.5, zorder=2)
    axis.plot(actual, height, "o", color=colour, markersize=8, zorder=3, label=MAKES)
    axis.plot(told, height, "o", color=colour, markerfacecolor="white", markersize=8,
              markeredgewidth=1.8, zorder=4, label=PROMISES)  # fmt: skip
    low, high = sorted((told, actual))
    for value, place, side in ((low, -7, "right"), (high, 7, "left")):
        axis.annotate(
            f"{100 * value:.0f} %", (value, height), xytext=(place, 0), ha=side, va="center",
            textcoords="offset points", fontsize=8, color=INK,
        )  # fmt: skip
