"""The page of a table: its opening, methods, wrong predictions, checks, and items for a paper."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from textwrap import fill
from typing import NamedTuple

import numpy as np
import pandas as pd

from thesiskit.datasets.checking import CHECKS
from thesiskit.models.peers import PEERS, Method
from thesiskit.report import metrics
from thesiskit.report.layout import (
    ACCENT,
    GREY,
    INK,
    LETTERS,
    Figure,
    PageTable,
    drawn_words,
    panel_canvas,
    prose,
    prose_rows,
)
from thesiskit.report.metrics import BORDER, CAREFUL, SURE, WELL, Score
from thesiskit.report.record import Record
from thesiskit.report.scores import predicted_facts, predicted_table
from thesiskit.report.stages import card, prediction_table

MOST_DRAWN = 14  # methods of the forest plot
MOST_LABELS = 10  # samples that the strip plot names
PANEL = 4.6  # inches: two panels are side by side on a page
MOST_WRONG, MOST_PREDICTED = 30, 100  # samples on the page
MISSED = 0.1  # of real responses, outside their predictive interval of 90%
BASE = "Class frequencies"
Row = dict[str, object]


# ---- which methods a page shows, and which it recommends ----


@lru_cache(maxsize=2)
def base_score(record: Record) -> Score:
    """Return the score of always predicting the class frequencies of the training samples."""
    return Score(record.tested, BASE, record.tested.base)


def best_score(record: Record) -> Score:
    """Return the score of the method with the lowest log loss."""
    return min(record.predicting, key=lambda score: score.log_loss)


def merit(record: Record) -> Score:
    """Return the score to expect of new samples: of nested cross-validation, where it ran."""
    return record.choice[0] if record.choice else best_score(record)


def shown_scores(record: Record) -> list[Score]:
    """Return the scores that a page shows, the best first: untempered ones are in the CSV file."""
    best = best_score(record)
    tempered = any(method.tempered for method in record.own)
    shown = {
        id(record.scores[method.row])
        for method in record.methods
        if method.tempered or not (tempered and method.own)
    }
    scores = [score for score in record.predicting if score is best or id(score) in shown]
    return sorted(scores, key=lambda score: score.log_loss)


# ---- the opening ----


@lru_cache(maxsize=2)
def opening_facts(record: Record) -> dict[str, object]:
    """Return what the first sentences and the figures of merit need, by the names of templates."""
    config = record.config
    if config["reduction"]:
        ratio = 100 * record.reduction["groups"] / record.reduction["patterns"]
        return {"kind": "reduction", "low": ratio.min(), "high": ratio.max()}
    if config["data"] is None:
        kind = record.results.load("select", 0, ("kind",))["kind"]
        selected, gamma = int((kind == 2).sum()), config["lattice"]["gamma"]
        return {"kind": "lattice", "pairs": kind.size, "selected": selected, "gamma": gamma}
    if record.continuous:
        return {"kind": "responses"} | _real_facts(record)
    if not record.tests:
        return {"kind": "untested"} | predicted_facts(record)
    return {"kind": "classes"} | _class_facts(record)


def _class_facts(record: Record) -> dict[str, object]:
    score, base = merit(record), base_score(record)
    counts = np.bincount(record.tested.response, minlength=record.n_classes)
    recommended = record.recommended(range(len(record.scores)))
    method = record.methods[recommended]
    peer = PEERS.get(method.engine if record.logistic else method.estimator)
    return {
        "found": recommended >= 0 and score.log_loss < base.log_loss,
        "recommended": record.scores[recommended].name if recommended >= 0 else BASE,
        "exported": recommended < 0 or peer is None or peer.exported,
        "nested": record.choice is not None,
        "n_predictions": len(score.wrong),
        "commonest": record.class_words(int(counts.argmax())),
        "share": counts.max() / counts.sum(),
        "rare": score.rare,
        "classes": [record.class_words(g) for g in range(record.n_classes)],
        "log_loss": score.log_loss,
        "log_loss_interval": score.log_loss_interval,
        "base_log_loss": base.log_loss,
        "error": score.error,
        "error_interval": score.error_interval,
        "predicted_error": score.expected,
        "predicted_errors": float(score.risk.sum()),
        "errors": int(score.wrong.sum()),
        "auc": score.auc_interval,
        "p": score.p_value,
        "verdict": score.verdict,
    }


class RealScore(NamedTuple):
    """How good predictions of real responses are: errors in their units, and missed intervals."""

    name: str
    error: float
    interval: tuple[float, float]
    missed: int  # -1 of a method without intervals
    p: float
    log_density: float  # of the responses, the mean
    method: Method | None  # None of the mean of the training responses


@lru_cache(maxsize=2)
def real_scores(record: Record) -> list[RealScore]:
    """Return the scores of all methods of real responses, and of the mean, in their order."""
    y, tested, predictions = record.tested.response, record.tested, record.prediction_arrays
    scores = []
    for method in (*record.methods, None):
        median = tested.base[:, 0] if method is None else predictions["median"][method.row]
        square = (y - median) ** 2
        error = metrics.standard_error(tested.independent(square))
        half = 1.96 * tested.wider_of_skew * error
        ends = np.sqrt(np.maximum(0, [square.mean() - half, square.mean() + half]))
        missed, p, log_density = -1, float("nan"), float("nan")
        if method is not None and np.isfinite(predictions["low"][method.row]).all():
            low, high = (predictions[end][method.row] for end in ("low", "high"))
            missed = int(((y < low) | (y > high)).sum())
            p = metrics.errors_p_value(np.full(len(y), MISSED), missed)
            log_density = float(predictions["log_density"][method.row].mean())
        root, interval = float(np.sqrt(square.mean())), (float(ends[0]), float(ends[1]))
        name = "Mean" if method is None else record.name(method)
        scores.append(RealScore(name, root, interval, missed, p, log_density, method))
    return scores


def best_real(record: Record) -> RealScore:
    """Return the score of our method with the smallest error."""
    scores = [score for score in real_scores(record) if score.missed >= 0]
    return min(scores, key=lambda score: score.error)


def best_intervals(record: Record) -> tuple[Method, np.ndarray, np.ndarray, np.ndarray]:
    """Return that method, its medians, and the ends of its 90% intervals, (N,) each."""
    method, arrays = best_real(record).method, record.prediction_arrays
    assert method is not None  # the mean has no intervals
    return method, *(arrays[end][method.row] for end in ("median", "low", "high"))


def _real_facts(record: Record) -> dict[str, object]:
    best, (*_, mean) = best_real(record), real_scores(record)
    n = len(record.response)
    verdict = WELL
    if best.p < BORDER:
        verdict = SURE if best.missed > MISSED * n else CAREFUL
    return {
        "recommended": best.name,
        "error": best.error,
        "error_interval": best.interval,
        "mean_error": mean.error,
        "missed": best.missed,
        "to_miss": MISSED * n,
        "coverage": 1 - best.missed / n,
        "n_predictions": n,
        "p": best.p,
        "verdict": verdict,
    }


# ---- two pictures ----


def summary(record: Record) -> list[Figure]:
    """A forest plot of the scores of methods, and predictions by true class or response."""
    if record.continuous:
        return [_real_forest(record), _real_scatter(record)]
    if not record.tests:
        return []
    return [_forest_of_losses(record), _strip(record)]


def _forest_of_losses(record: Record) -> Figure:
    scores = shown_scores(record)
    extra = [record.choice[0]] if record.choice else []
    scores = sorted([*extra, *scores[:MOST_DRAWN], base_score(record)], key=lambda s: s.log_loss)
    rows = [(score.name, score.log_loss, score.log_loss_interval) for score in scores]
    caption = prose("forest", left=len(record.predicting) - MOST_DRAWN)
    return _forest(rows, str(opening_facts(record)["recommended"]), BASE, "log loss", caption)


def _forest(rows: list, best: str, base: str, words: str, caption: str) -> Figure:
    """Return a forest plot of rows (name, value, interval), the best of which comes first."""
    figure, axis = panel_canvas(PANEL, 0.34 * len(rows) + 0.9, f"{words} (lower is better)")
    edge = 3 * next(value for name, value, _ in rows if name == base)
    for place, (name, value, (low, high)) in enumerate(rows):
        colour = ACCENT if name == best else INK
        axis.plot([low, min(high, edge)], [place, place], color=colour, linewidth=1.4)
        marker = ">" if value > edge else "D" if name == base else "o"
        face = "white" if name == base else colour
        look = {"color": colour, "markerfacecolor": face, "markersize": 6}
        axis.plot(min(value, edge), place, marker, **look)
        if name == base:
            axis.axvline(value, color=GREY, linewidth=1, linestyle="--", zorder=0)
    names = [fill(drawn_words(name, 60), 24) for name, *_ in rows]
    axis.set_yticks(range(len(rows)), names)
    for label, (name, *_) in zip(axis.get_yticklabels(), rows, strict=True):
        label.set(color=ACCENT if name == best else INK, weight="bold" if name == best else None)
    axis.set(xlim=(0, None), ylim=axis.get_ylim()[::-1])
    axis.locator_params("x", nbins=6)  # or the layout changes ticks, and cuts off the last one
    return Figure("forest", f"{words[:1].upper()}{words[1:]} of each method", figure, caption, True)


def _strip(record: Record) -> Figure:
    """Return out-of-fold probabilities by true class, with the wrong predictions named."""
    score, tested, two = merit(record), record.tested, record.n_classes == 2
    y = tested.by_sample(tested.response).astype(int)
    first = np.unique(tested.unit, return_index=True)[1]
    p = tested.by_sample(score.probability[:, 1])
    if not two:
        p = tested.by_sample(score.probability[np.arange(len(tested.response)), tested.response])
    of = drawn_words(record.class_words(1), 24) if two else "the true class"
    figure, axis = panel_canvas(PANEL, 3.6, y_label=f"probability of {of}")
    spread, place = 0.22, np.zeros(len(y))
    for g in range(record.n_classes):
        of_class = y == g
        x = g + spread * (2 * np.argsort(np.argsort(_mixed(p[of_class]))) / of_class.sum() - 1)
        for wrong, colour in ((False, GREY), (True, ACCENT)):
            part = score.wrong_samples[of_class] == wrong
            look = {"color": colour, "markersize": 4, "rasterized": len(y) > 500}
            axis.plot(x[part], p[of_class][part], "o" if wrong else ".", **look)
        place[of_class] = x
    missed = np.flatnonzero(score.wrong_samples)
    truth = p[missed] if not two else np.where(y[missed] == 1, p[missed], 1 - p[missed])
    worst = missed[np.argsort(truth)][:MOST_LABELS]
    for g in np.unique(y[worst]):
        named = worst[y[worst] == g]
        named = named[np.lexsort((-place[named], p[named]))]  # lines do not cross
        for i, height in zip(named, apart(p[named], 0.06), strict=True):
            words = drawn_words(str(tested.ids[first[i]]), 12)
            ends = [place[i], g + spread + 0.02], [p[i], height]
            axis.plot(*ends, color=ACCENT, linewidth=0.4)
            look = {"fontsize": LETTERS, "va": "center", "color": ACCENT}
            axis.text(g + spread + 0.04, height, words, **look)
    if two:
        axis.axhline(0.5, color=GREY, linewidth=1, linestyle="--", zorder=0)
    counts = np.bincount(y, minlength=record.n_classes)
    names = [
        f"{fill(drawn_words(record.class_words(g), 24), 12)}\n({n:,})" for g, n in enumerate(counts)
    ]
    axis.set_xticks(range(record.n_classes), names)
    axis.set(xlim=(-0.4, record.n_classes - 0.4), ylim=(-0.03, 1.03))
    divided = record.config["scheme"] not in ("test-set", "holdout")
    title = f"{'Out-of-fold p' if divided else 'P'}robabilities by true class"
    caption = prose("strip", named=MOST_LABELS)
    return Figure("strip", title, figure, caption, True)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return numbers whose ranks spread equal or neighbouring values, without chance."""
    ranks = np.argsort(np.argsort(values))
    return ranks * 0.618033988749895 % 1


def apart(heights: np.ndarray, gap: float) -> np.ndarray:
    """Return ascending heights that are at least a gap apart, and within 0 and 1."""
    moved = heights.copy()
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    for i in range(len(moved) - 1, -1, -1):
        moved[i] = min(moved[i], 1 - gap * (len(moved) - 1 - i))
    return moved


def _real_forest(record: Record) -> Figure:
    scores = sorted(real_scores(record), key=lambda score: score.error)
    rows = [(score.name, score.error, score.interval) for score in scores]
    caption = prose("real_forest")
    return _forest(rows, best_real(record).name, "Mean", "root mean squared error", caption)


def _real_scatter(record: Record) -> Figure:
    y, (_, median, low, high) = record.tested.response, best_intervals(record)
    missed = (y < low) | (y > high)
    figure, axis = panel_canvas(PANEL, 3.6, "observed response", "predicted response")
    for part, colour in ((~missed, GREY), (missed, ACCENT)):
        look = {"color": colour, "rasterized": len(y) > 500}
        axis.vlines(y[part], low[part], high[part], linewidth=0.7, **look)
        axis.plot(y[part], median[part], "o", markersize=3, **look)
    ends = [y.min(), y.max()]
    axis.plot(ends, ends, color=INK, linewidth=0.8, linestyle="--")
    return Figure("strip", "Predicted and observed responses", figure, prose("scatter"), True)


# ---- one table of methods ----

VISIBLE = ("method", "log loss", "error", "predicted error", "AUC", "calibration slope", "RMSE",
           "outside 90%: observed", "outside 90%: predicted", "folds")  # fmt: skip
DIFFERENCE = "log loss minus the lowest"


def methods(record: Record) -> list[PageTable]:
    """One row for each method: log loss, error, AUC, calibration, difference from the best."""
    if record.continuous:
        n = len(record.response)
        rows = [
            {"method": score.name, "RMSE": score.error}
            | _ends("RMSE interval", score.interval)
            | {"outside 90%: observed": score.missed if score.missed >= 0 else np.nan}
            | {"outside 90%: predicted": MISSED * n if score.missed >= 0 else np.nan}
            | {"minus log density": -score.log_density}
            for score in real_scores(record)
        ]
        return [_table_of_methods(rows, prose("real_methods", tested=record.tested))]
    if not record.tests:
        return predicted_table(record)
    own, best = record.config["own"], best_score(record)
    scores = record.predicting
    scores = sorted(scores, key=lambda score: score.log_loss) if own else scores
    first = [record.choice[0]] if record.choice else []
    every = [*first, *scores, base_score(record)]
    rows = [_method_row(record, score, best) for score in every]
    shown = {id(score) for score in (*first, *shown_scores(record), every[-1])}
    places = tuple(i for i, score in enumerate(every) if id(score) in shown or not own)
    caption = prose("methods", tested=record.tested, best=best.name)
    tables = [_table_of_methods(rows, caption, places)]
    if record.n_classes > 2:
        of_page = {merit(record).name} if own else {score.name for score in scores}
        tables.append(_confusion([*first, *scores], of_page))
    return tables


def _table_of_methods(rows: list[Row], caption: str, shown: tuple | None = None) -> PageTable:
    frame = pd.DataFrame(rows)
    more = [name for name in frame if name not in VISIBLE and not name.startswith(DIFFERENCE)]
    return PageTable("methods", "Methods", frame, caption, shown=shown, more=tuple(more))


def _method_row(record: Record, score: Score, best: Score) -> Row:
    """Return the row of a method; the columns that the page shows come first."""
    tested, two = score.tested, record.n_classes == 2
    difference = metrics.student(tested.independent(score.loss - best.loss), score.less(best)[1])
    wrong = score.wrong_samples, best.wrong_samples
    slope, *intercepts = score.recalibration.tolist()
    area = score.auc_interval
    if score.name == BASE:  # what folds leave out alone makes these differ from 0.5 and none
        slope, intercepts, area = [np.nan] * 3, [[np.nan] * 3], (np.nan,) * 3
    row: Row = {
        "method": score.name,
        "log loss": score.log_loss,
        "error": score.error,
        "predicted error": score.expected,
        "AUC": area[0],
        "calibration slope": slope[0],
    }
    row |= _ends(DIFFERENCE, difference) | _of_folds(record, score)
    row |= {f"setting: {name}": value for name, value in score.keys.items()}
    intervals = {"log loss": score.log_loss_interval, "error": score.error_interval}
    intervals |= {"AUC": area[1:], "calibration slope": slope[1:]}
    for name, ends in intervals.items():
        row |= _ends(f"{name} interval", ends)
    row |= _ends("calibration intercept", intercepts[0]) if two else {}
    row["Brier"] = metrics.squared_error(score.probability, tested.response)
    for name, g in (("sensitivity", 1), ("specificity", 0)) if two else ():
        row |= _ends(name, score.right_of(g))
    row["p of calibration"] = score.p_value
    row["wrong: only this method"] = (wrong[0] & ~wrong[1]).sum()
    row["wrong: only the best"] = (wrong[1] & ~wrong[0]).sum()
    return row | {"wrong: p": metrics.mcnemar(*wrong, tested.group_id, tested.wider)}


def _of_folds(record: Record, score: Score) -> Row:
    """Return how often nested cross-validation selected a method, and its gains inside folds."""
    if record.choice is None:
        return {}
    name, gain = "folds", "lower than class frequencies: "
    inner, row = np.nan, -1 if score.name == BASE else None
    if score in record.scores:
        row = record.scores.index(score)
        inner = -float(np.nanmean(record.prediction_arrays["inner_losses"][:, row, 0]))
    count = np.nan if row is None else int((record.choice[1] == row).sum())
    outer = base_score(record).log_loss - score.log_loss
    return {name: count, f"{gain}inner folds": inner, f"{gain}outer folds": outer}


def _ends(name: str, ends: Sequence[float]) -> Row:
    """Return the columns of an interval, before them that of the number where there are three."""
    parts = ("value", "low", "high")[-len(ends) :]
    return {f"{name}: {part}": end for part, end in zip(parts, ends, strict=True)}


def _confusion(scores: list[Score], of_page: set[str]) -> PageTable:
    """Return how many samples of each class every method predicts to be of each class."""
    rows = [
        {"method": score.name, "true class": name}
        | {f"predicted: {of}": n for of, n in zip(score.tested.classes, counts, strict=True)}
        for score in scores
        for name, counts in zip(score.tested.classes, score.confusion, strict=True)
    ]
    shown = tuple(i for i, row in enumerate(rows) if row["method"] in of_page)
    frame = pd.DataFrame(rows)
    return PageTable("confusion", "Confusion matrix", frame, prose("confusion"), shown=shown)


# ---- wrongly predicted samples, then all ----


def predictions(record: Record) -> list[PageTable]:
    """Wrongly predicted samples of the recommended method; a row for each sample and method."""
    whole, tested = prediction_table(record), record.tested
    about: dict[str, object] = {"id": tested.ids, **tested.division}
    if record.continuous:
        y, (best, median, low, high) = tested.response, best_intervals(record)
        about |= {"response": y, "median": median, "5%": low, "95%": high}
        missed, size = (y < low) | (y > high), np.maximum(low - y, y - high)
        title, keys = "Responses outside their 90% interval", record.keys(best)
    else:
        score, classes = merit(record), np.array(tested.classes)
        about |= {
            "true class": classes[tested.response],
            "predicted class": classes[score.predicted],
        }
        probabilities = zip(tested.classes, score.probability.T, strict=True)
        about |= {f"probability: {of}": p for of, p in probabilities}
        missed, size, keys = score.wrong, score.loss, best_score(record).keys
        title = "Wrongly predicted samples"
    order = np.argsort(-size, kind="stable")
    frame = pd.DataFrame(about).iloc[order[missed[order]]]
    shown = tuple(range(min(MOST_WRONG, len(frame))))
    caption = prose("wrong", n=len(frame), of=len(missed), real=record.continuous)
    first = PageTable("wrong-predictions", title, frame, caption, shown=shown)
    of_best = np.all([whole.frame[name] == value for name, value in keys.items()], axis=0)
    places = tuple(np.flatnonzero(of_best)[:MOST_PREDICTED].tolist())
    return [first, replace(whole, shown=places)]


# ---- checks of the table, and what goes into a paper ----


def checks(record: Record) -> list[PageTable]:
    """Checks of the table for problems that bias predictions, with their results."""
    frame = record.checks
    if frame.empty:  # results of before
        return []
    quiet = np.flatnonzero(frame["result"].isin(["passed", "not applicable"])).tolist()
    folded = tuple((code, *CHECKS[code]) for code in frame["check"])
    title, caption = "Checks of the table", prose("checks")
    return [PageTable("checks", title, frame, caption, quiet=tuple(quiet), folded=folded)]


@lru_cache(maxsize=2)
def paper_facts(record: Record) -> dict[str, object]:
    """Return what the methods paragraph and the reporting items need."""
    config, provenance = record.config, record.results.provenance()
    facts = {"date": f"{date.today():%Y-%m-%d}", "opening": opening_facts(record)}
    names = [score.name for score in shown_scores(record)] if record.scores else []
    return facts | {
        "title": config["title"],
        "card": dict(card(record)),
        "config": config,
        "methods": names or list(dict.fromkeys(map(record.name, record.methods))),
        "model": config.get("model_words", ""),
        "version": provenance["code"]["version"],
        "packages": provenance["packages"] | {"Python": provenance["python"]},
        "seed": provenance["seed"],
        "nested": record.choice is not None if record.scores else False,
        "grouped": record.tests and record.tested.group is not None,
    }


def checklist(record: Record) -> list[PageTable]:
    """A methods paragraph to paste, and the TRIPOD+AI items that the run can fill."""
    facts = paper_facts(record)
    rows = prose_rows("tripod", x=facts)
    quiet = tuple(i for i, row in enumerate(rows) if row[2] == "for the authors")
    lead, caption = (prose("methods_paragraph", x=facts),), prose("tripod_caption")
    title = "Methods paragraph and reporting checklist"
    frame = pd.DataFrame(rows, columns=["item", "topic", "report"])
    return [PageTable("checklist", title, frame, caption, long=True, lead=lead, quiet=quiet)]


def numbers(record: Record, table: pd.DataFrame) -> str:
    """Return the numbers of the page as JSON: the opening, the data, a row for each method.

    table : of the methods.
    """
    facts = paper_facts(record) | {"methods": json.loads(table.to_json(orient="records"))}
    del facts["config"]
    text = json.dumps(facts, default=np.generic.item)  # a number of NumPy as one of Python
    without_nan = json.loads(text, parse_constant=lambda _: None)
    return json.dumps(without_nan, indent=2, ensure_ascii=False) + "\n"
