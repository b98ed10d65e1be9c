"""What a page is made of: tables and figures with captions, templates, and the style of figures.

Methods differ by line style and marker, not by colour, so that figures can be printed in grey.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import pandas as pd
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

FOLDER = Path(__file__).parent / "templates"
INK, GREY, PALE = "#1f1f1f", "#b4b4b4", "#e6e6e6"
# what the terms in the headers of tables mean, for readers who have not read the thesis
TERMS = {
    "arm": "one way to predict: a model with its settings",
    "divisions": "in how many divisions of the cases the training cases have this pattern",
    "AMLP": "average minus log probability of the actual class; lower is better, "
    "guessing between two classes has 0.693, and a prediction that was sure and wrong costs most",
    "error": "fraction of test cases whose most probable class is wrong",
    "error rate": "fraction of test cases whose most probable class is wrong",
    "expected error": "the error rate that the predictions promise: the mean probability that "
    "they are wrong",
    "squared error": "mean squared difference between the response (0 or 1) and its probability; "
    "of several classes, half of the sum over them",
    "gamma": "no feature that was left out has a larger absolute correlation with the response; "
    "with more than two classes, a larger correlation ratio",
    "tied at gamma": "features whose absolute correlation is exactly gamma",
    "nothing to mend in": "fraction of training sets in which the temperature is hardly above 1",
    "kept from": "how many features there were before the table was screened",
    "promised error": "the error rate that a method expects to have on new cases",
    "probability relevant": "probability that the feature differs between the classes at all",
    "relevant of all": "how many features are expected to differ between the classes",
    "relevant of those kept": "the probabilities of relevance of the kept features, added up",
    "R-hat": "compares the chains: close to 1 if they agree, above 1.05 if they do not yet",
    "effective draws": "how many independent draws the chains are worth; 100 at least are wanted",
    "furthest from the targets": "what lacks most of the R-hat and the effective draws asked for",
    "quadrature": "the numerical rule for integrals over theta",
    "sampler": "the algorithm that draws from the posterior distribution",
    "C": "the first decimal of the predictive probability",
    "#": "number of test cases",
    "Pred": "mean prediction of these cases",
    "Actual": "fraction of these cases that are in the class predicted",
    "band low": "lower end of the exact band, in which a calibrated model is found",
    "band high": "upper end of the exact band, in which a calibrated model is found",
    "method": "corrected and uncorrected are with and without the correction for the selection of "
    "features; others are models to compare with",
    "corrected": "with the correction for the selection of features",
    "uncorrected": "without the correction for the selection of features",
    "order": "how many features, or recent states, a pattern may fix together",
    "groups": "patterns that are present in the same training cases; they share a coefficient",
    "patterns": "fixed values of some features, or of the most recent states of a sequence",
    "patterns in its group": "how many patterns are present in the same training cases",
    "mean log alpha": "posterior mean of log alpha; a small alpha means that features predict well",
    "log likelihood": "of the training cases, given the coefficients",
    "kept in": "fraction of training sets in which the feature was kept",
    "p": "probability that chance alone is off by so much or more",
    "its standard error": "how far chance moves the number, over test cases",
    "within 90 %": "fraction of responses inside the predictive interval of 90 %",
    "minus log density": "minus log of the predictive density at the actual response",
}


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


def explain(name: str) -> str:
    """Return what the header of a column means; "" if it needs no explanation."""
    return TERMS.get(name.rpartition(": ")[2].partition(",")[0], "")


@lru_cache
def template(name: str) -> jinja2.Template:
    """Return a template of this folder; it is compiled once."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["explain"] = explain
    environment.filters["commands"] = _commands
    return environment.get_template(name)


def _commands(text: str) -> Markup:
    """Return text as HTML, with `commands` in the letters of code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


# ---- figures ----


def canvas(
    rows: int = 1, columns: int = 1, *, width: float = 7.6, height: float = 3.4, framed=False,
    **options,
):  # fmt: skip
    """Return a figure and its (rows, columns) axes, without upper and right lines unless framed."""
    from matplotlib.figure import Figure as Canvas  # half a second: only where one draws

    figure = Canvas(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in () if framed else axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


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
