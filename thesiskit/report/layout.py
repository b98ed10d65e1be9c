"""Tables and figures with their captions, and the common style of all figures.

Methods differ by line style and marker, not by colour, so that figures can be printed in grey.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

INK, GREY, PALE = "#1f1f1f", "#b4b4b4", "#e6e6e6"


@dataclass(frozen=True)
class Table:
    """A table with its caption; the page shows a `long` one only after a click.

    lead : paragraphs above it.
    shown : the rows that are shown, all unless given; the CSV file has all.
    quiet : of the rows that are shown, those that say little, in grey.
    """

    name: str
    title: str
    frame: pd.DataFrame
    caption: str
    long: bool = False
    lead: tuple[str, ...] = ()
    shown: tuple[int, ...] | None = None
    quiet: tuple[int, ...] = ()

    @property
    def visible(self) -> pd.DataFrame:
        """The rows that are shown."""
        return self.frame if self.shown is None else self.frame.iloc[list(self.shown)]

    @property
    def whole_caption(self) -> str:
        """The caption, and how many rows are left out."""
        visible, every = len(self.visible), len(self.frame)
        if visible == every:
            return self.caption
        return f"{self.caption} Shown are {visible:,} of {every:,} rows; the CSV file has all."


@dataclass(frozen=True)
class Figure:
    """A figure with its caption."""

    name: str
    title: str
    canvas: Canvas
    caption: str


@dataclass(frozen=True)
class Page:
    """A page of its own: the HTML text of a file beside the report, which links it."""

    name: str
    title: str
    file: str
    text: str
    caption: str


def canvas(rows: int = 1, columns: int = 1, *, width: float = 7.6, height: float = 3.4, **options):
    """Return a figure and its (rows, columns) axes."""
    from matplotlib.figure import Figure as Canvas  # half a second: only where one draws

    figure = Canvas(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def drawn_words(text: str, most: int = 40) -> str:
    """Return a text of the user's as figures show it: not too long, and no formula."""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return short.replace("$", r"\$")


def size_words(label: str) -> str:
    """Return the label of a selection as figures show it, such as 10,000, or 10 of 50,000."""
    size, of, rest = label.partition(" of ")
    return (f"{int(size):,}" if size.isdigit() else size) + of + rest


def kept_words(label: str) -> str:
    """Return the title of a panel, such as "100 kept"."""
    size, of, rest = size_words(label).partition(" of ")
    return f"{size} kept{of}{rest}" if not label.startswith("|") else label


def hide_from(axes, used: int) -> None:
    """Hide the axes after the first `used`; those above them show the labels of their ticks."""
    for axis in axes.flat[used:]:
        axis.set_visible(False)
    for axis in axes.flat[max(0, used - axes.shape[1]) : used]:
        axis.tick_params(labelbottom=True)


def save_space(axes) -> None:
    """Remove the upper and right line of each frame."""
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
