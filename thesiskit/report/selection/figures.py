"""Figures of chapter 2: each function makes one from a finished experiment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thesiskit.report import metrics
from thesiskit.report.layout import (
    GREY,
    INK,
    Figure,
    canvas,
    drawn_words,
    kept_words,
    save_space,
    size_words,
)
from thesiskit.report.record import Arm, Record, Way
from thesiskit.report.selection.kept import base_label
from thesiskit.report.selection.styles import STYLES, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


class Row(NamedTuple):
    """A row of panels: a method, and how many features it is told that there were before."""

    way: Way
    of: str

    @property
    def words(self) -> str:
        """What it is called."""
        return self.way.words + (f", of {self.of}" if self.of else "")


def rows_and_columns(record: Record, methods: Iterable[str]) -> tuple[list[Row], list[str]]:
    """Return the rows of panels, the methods used, and the columns, the features kept."""
    before = dict.fromkeys(label.partition(" of ")[2] for label in record.labels)
    columns = list(dict.fromkeys(map(base_label, record.labels)))
    rows = [Row(way, of) for way in record.ways(methods) for of in before]
    return [row for row in rows if any(_find(record, row, column) for column in columns)], columns


def _find(record: Record, row: Row, column: str, variant: str | None = None) -> Arm | None:
    label = f"{column} of {row.of}" if row.of else column
    return record.find(label, row.way.method, variant, row.way.manner)


def panels(
    record: Record, rows: list[Row], columns: list[str], axes, variant: str | None = None
) -> Iterator[tuple[int, int, Arm, Any]]:
    """Yield row, column, arm and axis of each panel; hide axes that have no arm."""
    arms = [[_find(record, row, column, variant) for column in columns] for row in rows]
    for axis, arm in zip(axes.flat, [arm for mine in arms for arm in mine], strict=True):
        axis.set_visible(arm is not None)
    for i, mine in enumerate(arms):
        for j, arm in enumerate(mine):
            if arm is not None:
                yield i, j, arm, axes[i, j]


def first_shown(axes) -> int:
    """Return the place of the first of some axes that is not hidden."""
    return next(i for i, axis in enumerate(axes) if axis.get_visible())


def _selections_axis(record: Record, axis) -> np.ndarray:
    """Lay the selections out on the x axis; return their places.

    On a logarithmic scale where they are numbers of features, side by side where they are not.
    """
    labels = record.labels
    places = np.array([record.kept(label) for label in labels])
    if all(label.isdigit() or label == "all" for label in labels):
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{x:,.0f}" for x in places])
        axis.minorticks_off()
        axis.set_xlabel("features kept")
        return places
    words = [size_words(label).replace(" of ", "\nof ") for label in labels]
    axis.set_xticks(range(len(labels)), words)
    if any("\n" in one for one in words):  # long ones, of tables that were screened before
        axis.tick_params(axis="x", labelsize=7)
    axis.set_xlabel("selection")
    return np.arange(len(labels))


def correlation_scatter(record: Record) -> list[Figure]:
    """Absolute correlations in training and test cases (fig-trn-tst-cor)."""
    if "train_correlation" not in record.selection:
        return []  # too many features to draw, or one class in the test set
    train = record.selection["train_correlation"]
    test = record.selection["test_correlation"]
    figure, axes = canvas(height=4.6, width=6.2)
    axis = axes[0, 0]
    axis.plot(train, test, ".", color=INK, markersize=2, alpha=0.35, rasterized=True)
    order = np.sort(train)[::-1]
    for label in record.labels:
        if label.isdigit():
            x = order[int(label) - 1]
            axis.axvline(x, color=INK, linewidth=0.9, linestyle="--")
            axis.annotate(
                size_words(label),
                (x, 1.005),
                xycoords=("data", "axes fraction"),
                ha="center",
                fontsize=8,
            )
    axis.set_xlabel("absolute correlation with the response, training cases")
    axis.set_ylabel("absolute correlation, test cases")
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    save_space(axes)
    return [
        Figure(
            "correlation-scatter",
            "Correlations in the training and the test cases",
            figure,
            f"There is one dot for each of {len(train):,} features. Dashed lines mark the weakest "
            "feature of each selection. The correlation in the test cases is closer to the true "
            "one, so a feature far below the diagonal has its training correlation by chance.",
        )
    ]


def error_rates(record: Record) -> list[Figure]:
    """Actual and expected error rates by number of features (fig-sim-perf1, fig-mix-er)."""
    return [
        Figure(
            f"error-rates{suffix}",
            f"Actual and expected error rates{title}",
            _draw_error_rates(record, variant),
            "The expected error rate is the one that the predictions promise. If it is below the "
            "actual one, the predictions are too confident." + _where_all_are_kept(record, variant),
        )
        for variant, suffix, title in variants_shown(record)
    ]


def variants_shown(record: Record) -> list[tuple[str, str, str]]:
    """Return the rules or samplers that get a figure: the first rule, or every sampler."""
    if not record.mixture:
        return [(record.variants[0], "", "")]
    several = len(record.variants) > 1
    return [
        (variant, "" if i == 0 else f"-{variant}", f", {variant} sampler" if several else "")
        for i, variant in enumerate(record.variants)
    ]


def _draw_error_rates(record: Record, variant: str) -> Canvas:
    ways = [Way(method, *manner) for manner in record.manners
            for method in ("uncorrected", "corrected")]  # fmt: skip
    rows = len(record.manners)
    figure, axes = canvas(rows, 2, height=2.9 * rows + 0.5, sharey=True)
    for way, axis in zip(ways, axes.flat, strict=True):
        arms = [record.find(label, way.method, variant, way.manner) for label in record.labels]
        places = _selections_axis(record, axis)[[arm is not None for arm in arms]]
        p = [record.probability(arm) for arm in arms if arm]
        actual = [metrics.error_rate(one, record.response) for one in p]
        expected = [metrics.expected_error(one) for one in p]
        axis.plot(places, actual, "-o", color=INK, label="actual")
        axis.plot(places, expected, ":s", color=INK, markerfacecolor="white", label="expected")
        axis.set_title(way.words)
        axis.margins(y=0.08)
    axes[0, 0].set_ylim(bottom=0)
    for axis in axes[:, 0]:
        axis.set_ylabel("error rate")
    axes[0, 1].legend(frameon=False)
    save_space(axes)
    return figure


def _where_all_are_kept(record: Record, variant: str) -> str:
    if not any(arm.method == "complete" and arm.variant == variant for arm in record.arms):
        return ""
    return " If all features are kept, there is nothing to correct, and the methods are the same."


def performance(record: Record) -> list[Figure]:
    """AMLP and squared error by number of features (fig-sim-perf2, fig-mix-perf)."""
    return [
        Figure(
            f"performance{suffix}",
            f"Performance by number of features{title}",
            _draw_performance(record, variant),
            "Lower is better." + _where_all_are_kept(record, variant),
        )
        for variant, suffix, title in variants_shown(record)
    ]


def _draw_performance(record: Record, variant: str) -> Canvas:
    figure, axes = canvas(1, 2, height=3.4 + 0.5 * (len(record.manners) > 1))
    measures = (
        ("average minus log probability", metrics.amlp),
        ("average squared error", metrics.squared_error),
    )
    ways = record.ways(STYLES)
    for (words, measure), axis in zip(measures, axes.flat, strict=True):
        places = _selections_axis(record, axis)
        for way in ways:
            points = []
            for x, label in zip(places, record.labels, strict=True):
                arm = record.find(label, way.method, variant, way.manner)
                if arm is not None:
                    points.append((x, measure(record.probability(arm), record.response)))
            axis.plot(
                *zip(*points, strict=True),
                color=INK,
                label=way.words,
                **({"markerfacecolor": "white"} | style(way)),
            )
        axis.set_ylabel(words)
        axis.margins(y=0.08)
        axis.set_ylim(bottom=0)
    if len(record.manners) > 1:
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=2, frameon=False)
    else:
        axes[0, 0].legend(frameon=False)
    save_space(axes)
    return figure


def null_figure(record: Record) -> list[Figure]:
    """Histograms of predictions where nothing can be predicted."""
    rows, columns = rows_and_columns(
        record, ("uncorrected", "bernoulli-nb", "bernoulli-nb-calibrated", "corrected")
    )
    figure, axes = canvas(
        len(rows), len(columns), height=1.55 * len(rows) + 0.7, sharex=True, sharey="row"
    )
    names = {
        "bernoulli-nb": "SelectKBest +\nBernoulliNB",
        "bernoulli-nb-calibrated": "the same in\nCalibratedClassifierCV",
    }
    bins = np.linspace(0, 1, 26)
    for i, j, arm, axis in panels(record, rows, columns, axes):
        p = record.probability(arm)
        weights = np.full(len(p), 1 / len(p))
        axis.hist(
            record.of_one(arm)[0], bins, weights=weights, color=GREY, edgecolor=INK, linewidth=0.6
        )
        promise = (
            f"expects {metrics.expected_error(p):.0%} errors, "
            f"makes {metrics.error_rate(p, record.response):.0%}"
        )
        axis.set_title(promise, fontsize=8, loc="left")
        axis.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        if i == first_shown(axes[:, j]):
            of = kept_words(columns[j])
            if not any(row.of for row in rows):
                of += f" of {record.selection['n_features'][0]:,}"
            axis.set_title(f"{of}\n", fontsize=10)
        if j == first_shown(axes[i]):
            words = rows[i].words.replace(", ", ",\n")
            axis.set_ylabel(names.get(rows[i].way.method, f"naive Bayes,\n{words}"), fontsize=9)
    one = drawn_words(record.one_words)
    figure.supxlabel(f"predictive probability of {one}", fontsize=10)
    figure.supylabel("fraction of test cases", fontsize=10)
    save_space(axes)
    return [
        Figure(
            "null",
            "Predictions by method",
            figure,
            "Histograms of the predictions for the test cases. Above each is the error rate that "
            "the predictions promise, and the actual one. Each row has its own scale.",
        )
    ]


def correlation_lattice(record: Record) -> list[Figure]:
    """Correlation by two counts, and the sets of counts kept and dropped (fig-sets)."""
    arrays = record.results.load("select", 0)
    value, kind = arrays["correlation"], arrays["kind"]
    n0, n1 = value.shape[0] - 1, value.shape[1] - 1
    gamma = record.config["lattice"]["gamma"]
    figure, axes = canvas(height=0.42 * (n0 + 1) + 1.3, width=0.5 * (n1 + 1) + 1.0)
    axis = axes[0, 0]
    shade = np.array(["#9a9a9a", "#cfcfcf", "#f4f4f4"])
    for i0 in range(n0 + 1):
        for i1 in range(n1 + 1):
            axis.add_patch(_square(i1, i0, shade[kind[i0, i1]]))
            axis.text(
                i1,
                i0,
                f"{value[i0, i1]:.2f}".replace("-0.00", "0.00"),
                ha="center",
                va="center",
                fontsize=7.5,
            )
    axis.set_xlim(-0.5, n1 + 0.5)
    axis.set_ylim(-0.5, n0 + 0.5)
    axis.set_xticks(range(n1 + 1))
    axis.set_yticks(range(n0 + 1))
    axis.set_xlabel("$I_1$: ones in class 1")
    axis.set_ylabel("$I_0$: ones in class 0")
    handles = [_square(0, 0, one) for one in shade]
    figure.legend(
        handles,
        [r"Cor $= 0$", rf"$0 <$ |Cor| $\leq$ {gamma:g}", rf"|Cor| $>$ {gamma:g}: kept"],
        loc="outside upper center",
        ncols=3,
        frameon=False,
    )
    return [
        Figure(
            "correlation-lattice",
            "Sample correlation as a function of two counts",
            figure,
            f"There are {n0 + n1} cases, {n1} of them in class 1. A feature is dropped if its "
            f"counts are on a dark or middle square (gamma = {gamma:g}). The correlation falls "
            "with I0 and grows with I1, so the features that are kept have counts in two corners.",
        )
    ]


def _square(x: float, y: float, colour: str):
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white")
