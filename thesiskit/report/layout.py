"""Tables and figures with their captions, and what all figures look like.

Methods differ by line style and marker, not by colour, so that figures survive a grey printer.
"""

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure as Canvas

INK, GREY, PALE = "#1f1f1f", "#b4b4b4", "#e6e6e6"


@dataclass(frozen=True)
class Table:
    """A table with its caption; `long` ones are folded away on the page."""

    name: str
    title: str
    frame: pd.DataFrame
    caption: str
    long: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure with its caption."""

    name: str
    title: str
    canvas: Canvas
    caption: str


def canvas(rows: int = 1, columns: int = 1, *, width: float = 7.6, height: float = 3.4, **options):
    """Return a figure and its (rows, columns) axes."""
    figure = Canvas(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def size_words(label: str) -> str:
    """How a selection is written: 10,000 with its comma."""
    return f"{int(label):,}" if label.isdigit() else label


def kept_words(label: str) -> str:
    """How a panel says what is kept."""
    return f"{size_words(label)} kept" if label.isdigit() or label == "all" else label


def hide_from(axes, used: int) -> None:
    """Hide the axes after the first `used`."""
    for axis in axes.flat[used:]:
        axis.set_visible(False)


def save_space(axes) -> None:
    """Take away the frame lines that carry nothing."""
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
