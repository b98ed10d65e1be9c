"""Maps of a grid of signals: how many features are relevant, by how large their effect is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from thesiskit.report.layout import GREY, INK, Figure, canvas, kept_words
from thesiskit.report.record import Record
from thesiskit.report.signals.tables import SURE, scored

# colours that everybody can tell apart: orange is too sure, or worse than to guess
COLOURS, GUESSING = "PuOr", float(np.log(2))
LEAST = 0.005  # of AMLP: nobody minds less
NAMES = {  # on narrow maps
    "corrected, some relevant": "corrected,\nsome relevant",
    "SelectKBest + BernoulliNB": "SelectKBest +\nBernoulliNB",
    "SelectKBest + BernoulliNB, calibrated": "SelectKBest +\nBernoulliNB,\ncalibrated",
    "logistic regression, L2": "logistic\nregression, L2\n(all features)",
}
SHORT = {  # in a square of a map, with a colour of its own
    "uncorrected": ("unc.", "#f7ea8f"),
    "corrected": ("corr.", "#9fd3f2"),
    "corrected, some relevant": ("some", "#84cfb4"),
    "SelectKBest + BernoulliNB": ("NB", "#f3c173"),
    "SelectKBest + BernoulliNB, calibrated": ("cal.", "#e2b4d0"),
    "logistic regression, L2": ("L2", "#d5d5d5"),
}


class Map(NamedTuple):
    """One map: the settings with as many features and cases, for one selection.

    places : setting -> row and column, by size of effect and by number of relevant features.
    """

    title: str
    label: str
    effects: list[float]
    relevant: list[int]
    places: dict[int, tuple[int, int]]

    def squares(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the settings as a map, NaN where the grid has none."""
        found = np.full((len(self.effects), len(self.relevant)), np.nan)
        for setting, place in self.places.items():
            found[place] = values[setting]
        return found


def maps_of(record: Record) -> list[Map]:
    """Return the maps of a grid."""
    settings = {
        s: one for s, one in enumerate(record.config["data"]["settings"]) if one["alpha"] is None
    }
    kinds = dict.fromkeys((one["of"], tuple(one["train"])) for one in settings.values())
    found = []
    for (of, train), label in product(kinds, record.labels):
        mine = {
            s: one for s, one in settings.items() if (one["of"], tuple(one["train"])) == (of, train)
        }
        effects = sorted({one["effect"] for one in mine.values()})
        relevant = sorted({one["relevant"] for one in mine.values()})
        places = {s: (effects.index(one["effect"]), relevant.index(one["relevant"]))
                  for s, one in mine.items()}  # fmt: skip
        title = f"{of:,} features\n{sum(train):,} cases\n{kept_words(label)}"
        found.append(Map(title, label, effects, relevant, places))
    return found


def signals_maps(record: Record) -> list[Figure]:
    """Maps of what each method promises and makes, and of which is best where."""
    found = scored(record)
    promise = _small_multiples(
        record,
        found.mean[:, :, 1] - found.mean[:, :, 0],
        (-0.4, 0.0, 0.4),
        COLOURS,
        "promised minus actual error rate",
        _signed,
    )
    amlp = _small_multiples(
        record, found.mean[:, :, 2], (0.0, GUESSING, 2 * GUESSING),
        f"{COLOURS}_r",
        "average minus log probability", lambda value: f"{value:.2f}".lstrip("0"),
    )  # fmt: skip
    each = record.config["replicates"]
    return [
        Figure(
            "signals-best",
            "Which method is best where",
            _best(record),
            "In each square is the method with the lowest AMLP, and by how much it is lower than "
            "that of the next. Where this is less than two standard errors over "
            f"{each:,} data sets, or less than {LEAST:g}, nobody is clearly best: the name is in "
            "brackets and the square is white. Whatever is kept, logistic regression takes all "
            "features.",
        ),
        Figure(
            "signals-promise",
            "Promised minus actual error rate",
            promise,
            "Below zero (orange) a method is too sure of itself, above (purple) too careful. "
            f"Means over {each:,} data sets.",
        ),
        Figure(
            "signals-amlp",
            "Average minus log probability",
            amlp,
            "Lower is better. Purple is better than to guess with probability one half, which has "
            f"0.693, and orange is worse. Means over {each:,} data sets.",
        ),
    ]


def _signed(value: float) -> str:
    text = f"{value:+.2f}"
    return "0" if text[1:] == "0.00" else text.replace("0.", ".").replace("-", "−")


def _small_multiples(
    record: Record,
    values: np.ndarray,
    limits: tuple[float, float, float],
    colours: str,
    words: str,
    text: Callable[[float], str],
):
    """Draw a map of each method, one below the other for each number of features and cases.

    values (arms, settings) : `text` writes them into the squares.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import TwoSlopeNorm

    found, maps = scored(record), maps_of(record)
    columns = len(found.rivals(record.labels[0]))
    figure, axes = canvas(
        len(maps), columns, width=1.55 * columns + 1.2, height=1.45 * len(maps) + 1.1
    )
    norm = TwoSlopeNorm(limits[1], limits[0], limits[2])
    for r, one in enumerate(maps):
        for c, i in enumerate(found.rivals(one.label)):
            axis = axes[r, c]
            squares = one.squares(values[i])
            axis.imshow(squares, origin="lower", cmap=colours, norm=norm, aspect="auto")
            for place, number in np.ndenumerate(squares):
                if np.isfinite(number):
                    dark = abs(norm(number) - 0.5) > 0.3
                    axis.text(*place[::-1], text(number), ha="center", va="center", fontsize=6.5,
                              color="white" if dark else INK)  # fmt: skip
            _ticks(axis, one, left=c == 0, below=r == len(maps) - 1)
            if r == 0:
                name = found.arms[i].words
                axis.set_title(NAMES.get(name, name), fontsize=8.5)
        axes[r, 0].set_ylabel(
            one.title, fontsize=8.5, rotation=0, ha="right", va="center", labelpad=22
        )
    figure.supxlabel("number of relevant features (size of effect at the left edge)", fontsize=9)
    bar = figure.colorbar(
        ScalarMappable(norm, colours), ax=axes, shrink=0.4, aspect=30, extend="both", pad=0.01
    )
    bar.set_label(words, fontsize=8.5)
    bar.ax.tick_params(labelsize=7.5)
    return figure


def _ticks(axis, one: Map, *, left: bool, below: bool) -> None:
    """Name the squares of a map at its left and lower edge."""
    axis.set_xticks(range(len(one.relevant)), [f"{x:,}" for x in one.relevant] if below else [])
    axis.set_yticks(range(len(one.effects)), [f"{y:g}" for y in one.effects] if left else [])
    axis.tick_params(length=0, labelsize=7)
    axis.spines[:].set_visible(False)


def _best(record: Record):
    """Draw which method is best where, and by how much."""
    from matplotlib.patches import Patch

    found, maps = scored(record), maps_of(record)
    columns = len(record.labels)
    rows = len(maps) // columns
    figure, axes = canvas(rows, columns, width=3.3 * columns + 1.0, height=2.1 * rows + 1.1)
    used: dict[str, Any] = {}
    for m, one in enumerate(maps):
        axis = axes.flat[m]
        for s, (y, x) in one.places.items():
            first, _, lower, error = found.best(found.rivals(one.label), s)
            words = found.arms[first].words
            short, colour = SHORT.get(words, (words[:6], GREY))
            sure = lower > max(SURE * error, LEAST)
            face = colour if sure else "white"
            axis.add_patch(_square(x, y, face))
            name = short if sure else f"({short})"
            axis.text(x, y + 0.14, name, ha="center", va="center", fontsize=8.5)
            axis.text(x, y - 0.22, _lower(lower), ha="center", va="center", fontsize=6.5, color=INK)
            used.setdefault(words, (short, colour))
        axis.set_xlim(-0.5, len(one.relevant) - 0.5)
        axis.set_ylim(-0.5, len(one.effects) - 0.5)
        _ticks(axis, one, left=m % columns == 0, below=m >= len(maps) - columns)
        axis.set_title(one.title.replace("\n", ", "), fontsize=8.5)
    order = [arm.words for arm in found.arms if arm.words in used]
    handles = [Patch(facecolor=used[name][1], edgecolor=GREY) for name in dict.fromkeys(order)]
    labels = [f"{used[name][0]}: {name}" for name in dict.fromkeys(order)]
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=8.5)
    figure.supxlabel("number of relevant features", fontsize=9)
    figure.supylabel("size of effect, standard deviations", fontsize=9)
    return figure


def _lower(value: float) -> str:
    return f"by {value:.3f}"


def _square(x: float, y: float, colour: str):
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor=GREY, linewidth=0.6)
