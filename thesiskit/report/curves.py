"""Calibration, ROC and net benefit of the recommended method, a panel each."""

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.benefit import SIZE, Z, asked_share, decision_curve
from thesiskit.report.layout import (
    ACCENT,
    GREY,
    INK,
    LETTERS,
    PALE,
    Figure,
    PageTable,
    drawn_words,
    panel_canvas,
    percent,
    prose,
)
from thesiskit.report.metrics import RealScore, Score
from thesiskit.report.record import Record
from thesiskit.report.summary import LEVELS, merit

SMOOTHED = 100  # samples, from which on calibration is a smooth curve; below it is a few bins
SAMPLES_OF_BIN, BINS, PIT_BINS = 15, (3, 5), (5, 20)


def reliability(record: Record) -> list:
    """Calibration, ROC and net benefit of the recommended method."""
    score, share = merit(record), asked_share(record)
    if record.continuous:
        return of_responses(score)
    of = record.class_words(min(1, record.n_classes - 1))
    figures: list = [calibration(score, of)]
    if record.n_classes == 2 and len(np.unique(score.tested.response)) == 2:
        figures += [roc(score, of), *decision_curve(record, share)]
    return figures


# ---- calibration ----


def calibration(score: Score, of: str) -> Figure:
    """Return predicted and observed probabilities of class 1, called `of`, or of errors."""
    tested, of = score.tested, drawn_words(of, 16)
    smooth, two = tested.n_independent >= SMOOTHED, len(tested.classes) == 2
    if smooth and two:
        p, y = map(tested.by_sample, (score.probability[:, 1], tested.response))
        figure, axis = panel_canvas(*SIZE, f"predicted probability of {of}", f"fraction {of}")
    else:
        p, y = tested.by_sample(score.risk), tested.by_sample(score.wrong)
        figure, axis = panel_canvas(*SIZE, "predicted error", "observed error")
    end = min(1.0, 1.1 * max(0.3, p.max()))
    axis.plot([0, end], [0, end], color=GREY, linewidth=1, linestyle="--")
    if smooth:
        x, middle, error = smoothed(p, y)
        half = Z * tested.wider * error
        axis.fill_between(x, *np.clip([middle - half, middle + half], 0, 1), color=PALE)
        axis.plot(x, np.clip(middle, 0, 1), color=ACCENT, linewidth=1.8)
        for value, height in ((0, -0.03), (1, end + 0.03)):
            rug = p[np.rint(y) == value]
            axis.plot(rug, np.full(len(rug), height), "|", color=INK, markersize=5, alpha=0.4)
    else:
        n_bins = min(len(p), np.clip(len(p) // SAMPLES_OF_BIN, *BINS))
        for part in np.array_split(np.argsort(p), n_bins):
            n = np.array(len(part) / tested.wider**2)
            low, high = metrics.clopper_pearson(y[part].mean() * n, n)
            axis.plot([p[part].mean()] * 2, [low, high], color=ACCENT, linewidth=1.2)
            axis.plot(p[part].mean(), y[part].mean(), "o", color=ACCENT, markersize=6)
            end = max(end, float(high))
    axis.set(xlim=(-0.03, min(1.03, 1.1 * max(0.3, p.max()))), ylim=(-0.06, end + 0.06))
    caption = prose("calibration_curve", smooth=smooth)
    return Figure("calibration-curve", "Calibration", figure, caption, True)


def smoothed(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a grid within the range of p (N,), the local linear mean of y there, and its error.

    Weights are Gaussian, with Silverman's bandwidth, which is at least 0.03 so that ties have one.
    """
    low, high = np.quantile(p, [0.01, 0.99])
    x = np.linspace(low, high, 60)
    width = max(0.03, 1.06 * p.std() * len(p) ** -0.2)
    away = p - x[:, None]  # (60, N)
    weight = np.exp(-0.5 * (away / width) ** 2)
    sums = [(weight * away**power).sum(axis=1) for power in range(3)]
    determinant = sums[0] * sums[2] - sums[1] ** 2
    linear = weight * (sums[2][:, None] - away * sums[1][:, None]) / determinant[:, None]
    middle = linear @ y
    share = np.clip(middle, 0.01, 0.99)
    return x, middle, np.sqrt((linear**2).sum(axis=1) * share * (1 - share))


# ---- discrimination and use ----


def roc(score: Score, of: str) -> Figure:
    """Return the ROC curve of two classes; `of` is what class 1 is called."""
    p, y = map(score.tested.by_sample, (score.probability[:, 1], score.tested.response))
    order = np.argsort(-p, kind="stable")
    last = np.append(np.diff(p[order]) != 0, True)  # of equal probabilities
    hits = [np.append(0, np.cumsum(y[order] == g)[last] / (y == g).sum()) for g in (0, 1)]
    words = f"sensitivity for {drawn_words(of, 16)}"
    figure, axis = panel_canvas(*SIZE, "1 - specificity", words)
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    axis.plot(*hits, color=ACCENT, linewidth=1.8)
    area, low, high = score.auc_interval
    words = f"AUC {area:.2f}\n({low:.2f} to {high:.2f})" if low == low else f"AUC {area:.2f}"
    axis.text(0.97, 0.06, words, ha="right", fontsize=LETTERS)
    axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    return Figure("roc", "ROC curve", figure, prose("roc"), True)


# ---- real responses ----


def of_responses(score: RealScore) -> list:
    """Return the PIT histogram, the residuals and the coverage of predictive intervals."""
    if np.isnan(score.pit).any():  # earlier results
        return [_residuals(score)]
    frame = pd.DataFrame([score.coverage(level) for level in LEVELS])
    frame["level"] = [percent(level) for level in LEVELS]
    coverage = PageTable("coverage", "Coverage of intervals", frame, prose("coverage"))
    return [_pit(score), _residuals(score), coverage]


def _pit(score: RealScore) -> Figure:
    weight = 1 / metrics.times(score.tested.unit)
    n = round(weight.sum())
    bins = int(np.clip(n // SAMPLES_OF_BIN, *PIT_BINS))
    figure, axis = panel_canvas(*SIZE, "predicted probability below the response", "samples")
    low, high = n * np.array(metrics.exact_band(np.full(n, 1 / bins), 1 - 0.05 / bins))
    axis.axhspan(low, high, color=PALE, zorder=0)
    axis.axhline(n / bins, color=INK, linewidth=0.8, linestyle="--")
    look = {"color": ACCENT, "rwidth": 0.7}
    axis.hist(score.pit, np.linspace(0, 1, bins + 1), weights=weight, **look)
    axis.set(xlim=(0, 1), ylim=(0, None))
    return Figure("pit", "Calibration", figure, prose("pit"), True)


def _residuals(score: RealScore) -> Figure:
    x, y, missed = map(score.tested.by_sample, (score.prediction, score.residual, score.wrong))
    figure, axis = panel_canvas(*SIZE, "prediction", "response minus prediction")
    axis.axhline(0, color=GREY, linewidth=1, linestyle="--")
    for part, colour in ((missed < 0.5, INK), (missed >= 0.5, ACCENT)):
        axis.plot(x[part], y[part], "o", color=colour, markersize=3, rasterized=len(y) > 500)
    return Figure("residuals", "Residuals", figure, prose("residuals"), True)
