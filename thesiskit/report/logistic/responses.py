"""Predictions of real responses, beside the responses."""

import numpy as np
import pandas as pd
import scipy  # scipy.stats takes seconds: it is loaded at its first use

from thesiskit.report.layout import GREY, INK, Figure, Table, canvas, save_space
from thesiskit.report.metrics import root_mean_square
from thesiskit.report.record import Record
from thesiskit.report.stages import divided_words

MOST_SHOWN = 300  # cases in a panel


def response_table(record: Record) -> list[Table]:
    """Our models and others, sorted by squared error."""
    found = record.predictions
    rows = [
        {"model": record.title(arm)}
        | _scores(record, record.response, *(found[name][arm.row] for name in record.predicted))
        | {"seconds": record.total_seconds(arm)}
        for arm in record.arms
    ]
    mean, sd = record.base_rate
    base = scipy.stats.norm(mean, sd)
    y = record.response
    scores = _scores(record, y, mean, base.ppf(0.05), base.ppf(0.95), base.logpdf(y))
    rows.append({"model": "base rate"} | scores | {"seconds": np.nan})
    frame = pd.DataFrame(rows).sort_values("root mean squared error", ignore_index=True)
    return [
        Table(
            "responses",
            "Beside other models",
            frame,
            f"Means over {record.n_cases:,} test cases{divided_words(record)}. "
            "Errors are those of the "
            "predictive median, in the units of the response. Minus log density is that of the "
            "actual response, in the same units. 'Within 90 %' is the fraction of responses inside "
            "the predictive interval of 90 %. The base rate is a normal distribution with the mean "
            "and the standard deviation of the training responses.",
        )
    ]


def _scores(record: Record, y: np.ndarray, median, low, high, log_density) -> dict[str, float]:
    square = (y - median) ** 2
    root = root_mean_square(median, y)
    error = record.standard_error(square) / (2 * root) if root and len(y) > 1 else np.nan
    within = np.nan if np.isnan(low).all() else np.mean((low <= y) & (y <= high))
    return {
        "root mean squared error": root,
        "its standard error": error,
        "mean absolute error": np.abs(y - median).mean(),
        "minus log density": -log_density.mean(),
        "within 90 %": within,
    }


def response_figure(record: Record) -> list[Figure]:
    """Responses against their predictive medians, with 90 % intervals."""
    order = record.drawn_order
    arms = [arm for prior in ("cauchy", "gaussian") if (arm := record.of_order(order, prior))]
    cases = len(record.response)
    shown = np.unique(np.linspace(0, cases - 1, min(cases, MOST_SHOWN)).astype(int))
    y = record.response[shown]
    columns = {
        arm: [record.predictions[name][arm.row][shown] for name in record.predicted[:3]]
        for arm in arms
    }
    every = np.concatenate([y, *(median for median, _, _ in columns.values())])
    room = 0.05 * np.ptp(every)
    ends = every.min() - room, every.max() + room
    figure, axes = canvas(1, len(arms), height=3.9, width=3.8 * len(arms), sharex=True, sharey=True)
    for axis, (arm, (median, low, high)) in zip(axes.flat, columns.items(), strict=True):
        axis.hlines(y, low, high, color=GREY, linewidth=0.5, zorder=1, rasterized=True)
        axis.axline((y[0], y[0]), slope=1, color=INK, linewidth=0.8, zorder=2)
        axis.plot(median, y, ".", color=INK, markersize=3.5, zorder=3, rasterized=True)
        axis.set_title(arm.words, fontsize=10)
        axis.set_xlabel("predictive median")
        axis.set_xlim(ends)
        axis.set_ylim(ends)
    axes[0, 0].set_ylabel("response")
    save_space(axes)
    of = f"{len(shown)} of {cases:,} test cases" if len(shown) < cases else f"{cases} test cases"
    return [
        Figure(
            "responses",
            f"Responses and their predictions, order {order}",
            figure,
            f"There is one dot for each of {of}. Its line is the predictive interval of 90 %, "
            "which should cross the diagonal for nine cases in ten.",
        )
    ]
