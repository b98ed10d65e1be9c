"""Net benefit of acting on predictions, by threshold, and its difference from that of others.

| symbol | name | shape |
|---|---|---|
| p_t | `thresholds`: treat a sample whose probability of class 1 is at least that | (T,) |
| pi | `share`, the prevalence of class 1 | number |
| w | `odds` = p_t / (1 - p_t) | (T,) |

Net benefit is sensitivity pi - (1 - specificity) (1 - pi) w (Vickers and Elkin 2006).
"""

import numpy as np
import pandas as pd
from scipy import special

from thesiskit.errors import UserError
from thesiskit.models.prevalence import full_shares
from thesiskit.report import metrics
from thesiskit.report.layout import (
    ACCENT,
    GREY,
    INK,
    PALE,
    Figure,
    PageTable,
    drawn_words,
    panel_canvas,
    prose,
)
from thesiskit.report.metrics import Score
from thesiskit.report.record import Record
from thesiskit.report.summary import Row, best_score, ends_of, merit, shown_scores

THRESHOLDS = np.arange(1, 91) / 100
SHOWN = (0.05, 0.1, 0.2, 0.3, 0.5)  # of the thresholds
SIZE = 3.4, 3.1  # inches: three panels are side by side on a page
Z = 1.96


def net_benefit(
    score: Score, thresholds: np.ndarray, share: float | None = None, minus: Score | None = None
) -> np.ndarray:
    """Return the net benefit at each threshold, and the ends of its 95% interval, (T, 3).

    share : pi, if it is not that of the test samples; log odds are moved to it from those of the
        training samples.
    minus : a method whose net benefit for the same samples is subtracted.
    """
    tested, values = score.tested, _sample_values(score, thresholds, share)
    if minus is not None:
        values = values - _sample_values(minus, thresholds, share)
    samples = [tested.independent(column) for column in values.T]
    middle = np.array([column.mean() for column in samples])
    half = Z * tested.wider * np.array([metrics.standard_error(column) for column in samples])
    return np.column_stack([middle, middle - half, middle + half])


def _sample_values(score: Score, thresholds: np.ndarray, share: float | None) -> np.ndarray:
    """Return values of the predictions, (N, T), whose means over samples are the net benefit.

    With a share they are linear in the errors of sensitivity and specificity, as it is known.
    """
    tested, odds = score.tested, thresholds / (1 - thresholds)
    probability = score.probability[:, 1:2]
    if share is not None:
        moved = special.logit(share) - special.logit(tested.base[:, 1:2])
        probability = special.expit(special.logit(probability) + moved)
    worth = np.where(tested.response[:, None] == 1, 1, -odds)
    values = worth * (probability >= thresholds)
    if share is None:
        return values
    weight, total = 1 / metrics.times(tested.unit), np.zeros(len(thresholds))
    for g, new in enumerate((1 - share, share)):
        rows = tested.response == g
        mean = np.average(values[rows], axis=0, weights=weight[rows])
        values[rows] = (values[rows] - mean) * new * weight.sum() / weight[rows].sum()
        total += new * mean
    return values + total


def asked_share(record: Record) -> float | None:
    """Return the prevalence of class 1 that `report.prevalence` asks for; None without it."""
    prevalence = record.config["report"].get("prevalence")
    if prevalence is None:
        return None
    if record.n_classes != 2:
        raise UserError("report.prevalence is for two classes. Fix: remove it from the config")
    counts = record.tested.base.mean(axis=0)
    return float(full_shares(prevalence, record.tested.classes, counts)[1])


def decision_curve(record: Record, share: float | None) -> list[Figure | PageTable]:
    """Return a figure of net benefit, and a table with its differences from other methods.

    The recommended method is compared with the class frequencies, by which every sample is treated
    up to a threshold and none above it, and with the next best method.  share : of `asked_share`.
    """
    score = merit(record)
    others = [one for one in shown_scores(record) if one is not best_score(record)]
    compared = {"class frequencies": record.base} | ({"next method": others[0]} if others else {})
    of, following = record.class_words(1), others[0].name if others else ""
    prevalence = float(score.tested.by_sample(score.tested.response).mean())
    prevalence = prevalence if share is None else share
    everybody = prevalence - (1 - prevalence) * THRESHOLDS / (1 - THRESHOLDS)
    middle, low, high = net_benefit(score, THRESHOLDS, share).T
    columns: Row = {"threshold": THRESHOLDS, "net benefit": middle, "treat all": everybody}
    for name, other in compared.items():
        columns |= ends_of(f"minus {name}", [*net_benefit(score, THRESHOLDS, share, other).T])
    columns |= ends_of("net benefit interval", (low, high))
    words = {"of": of, "following": following, "share": share}
    shown = tuple(np.flatnonzero(np.isin(THRESHOLDS, SHOWN)).tolist())
    title, caption = "Net benefit by threshold", prose("net_benefits", **words)
    table = PageTable("net-benefits", title, pd.DataFrame(columns), caption, shown=shown)
    label = f"threshold probability of {drawn_words(of, 16)}"
    figure, axis = panel_canvas(*SIZE, label, "net benefit")
    axis.fill_between(THRESHOLDS, low, high, color=PALE)
    axis.plot(THRESHOLDS, everybody, color=GREY, linewidth=1.2, linestyle="--")
    axis.axhline(0, color=INK, linewidth=0.8)
    if others:
        second = net_benefit(others[0], THRESHOLDS, share)[:, 0]
        axis.plot(THRESHOLDS, second, color=INK, linewidth=1.0, linestyle=":")
    axis.plot(THRESHOLDS, middle, color=ACCENT, linewidth=1.8)
    least = min(-0.05, float(low.min()))
    axis.set(xlim=(0, 0.9), ylim=(max(-0.25, least), 1.2 * max(prevalence, float(middle.max()))))
    return [
        Figure("net-benefit", "Net benefit", figure, prose("net_benefit", **words), True),
        table,
    ]
