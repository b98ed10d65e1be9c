"""The page of a table: its opening, methods, wrong predictions, checks, and items for a paper."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from textwrap import fill

import numpy as np
import pandas as pd

from thesiskit.datasets.checking import CHECKS
from thesiskit.errors import list_some
from thesiskit.models.peers import PEERS
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
    percent,
    prose,
    prose_rows,
)
from thesiskit.report.metrics import AnyScore, RealScore, Score
from thesiskit.report.posteriors import stability
from thesiskit.report.record import Record
from thesiskit.report.scores import predicted_facts, predicted_table
from thesiskit.report.stages import card, prediction_table

MOST_DRAWN = 14  # methods of the forest plot
MOST_LABELS = 10  # samples that the strip plot names
PANEL = 4.6  # inches: two panels are side by side on a page
MOST_WRONG, MOST_PREDICTED = 30, 100  # samples on the page
LEVELS = (0.5, 0.8, 0.9)  # of predictive intervals
Row = dict[str, object]


# ---- which methods a page shows, and which it recommends ----


def best_score(record: Record) -> AnyScore:
    """Return the score of the method with the lowest log loss."""
    return min(record.predicting, key=lambda score: score.log_loss)


def merit(record: Record) -> AnyScore:
    """Return the score to expect of new samples: of nested cross-validation, where it ran."""
    return record.choice[0] if record.choice else best_score(record)


def shown_scores(record: Record) -> list[AnyScore]:
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
    if not record.tests:
        return {"kind": "untested"} | predicted_facts(record) | training_shares(record)
    score, base = merit(record), record.base
    recommended = record.recommended(range(len(record.scores)))
    method = record.methods[recommended]
    peer = PEERS.get(method.engine if record.logistic else method.estimator)
    facts = {
        "found": recommended >= 0 and score.log_loss < base.log_loss,
        "recommended": record.scores[recommended].name if recommended >= 0 else base.name,
        "exported": recommended < 0 or peer is None or peer.exported,
        "nested": record.choice is not None,
        "n_predictions": len(score.wrong),
        "measure": score.measure,
        "error": score.error,
        "error_interval": score.error_interval,
        "log_loss": score.log_loss,
        "log_loss_interval": score.log_loss_interval,
        "base": base.name,
        "base_log_loss": base.log_loss,
        "predicted_errors": float(score.risk.sum()),
        "errors": int(score.wrong.sum()),
        "p": score.p_value,
        "verdict": score.verdict,
    }
    if record.continuous:
        return facts | {
            "kind": "responses",
            "response": config["data"].get("response", "response"),
            "sd": score.sd,
            "r2": score.r2,
            "r2_interval": score.r2_interval,
            "predicted_r2": score.expected,
            "coverage": 1 - float(score.wrong.mean()),
        }
    counts = np.bincount(record.tested.response, minlength=record.n_classes)
    share = counts.max() / counts.sum()
    return (
        facts
        | training_shares(record)
        | {
            "kind": "classes",
            "commonest": record.class_words(int(counts.argmax())),
            "share": share,
            "rare": bool(share > metrics.COMMON),
            "classes": [record.class_words(g) for g in range(record.n_classes)],
            "predicted_error": score.expected,
            "auc": score.auc_interval,
        }
    )


def training_shares(record: Record) -> Row:
    """Return the shares of the classes at which models are fitted, in words; none of reals."""
    if record.continuous or (record.logistic and not record.tests):
        return {}
    counts = record.tested.base if record.logistic else record.class_counts
    shares = counts.sum(axis=0) / counts.sum()
    words = [f"{record.class_words(g)} {percent(share)}" for g, share in enumerate(shares)]
    return {"training_shares": list_some(words, length=60)}


# ---- two pictures ----


def summary(record: Record) -> list[Figure]:
    """A forest plot of the scores of methods, and predictions by true class or response."""
    if not record.tests:
        return []
    return [_forest(record), (_scatter if record.continuous else _strip)(record)]


def _forest(record: Record) -> Figure:
    """Return a forest plot of the losses of methods, the best of which comes first."""
    scores = shown_scores(record)
    extra = [record.choice[0]] if record.choice else []
    scores = sorted([*extra, *scores[:MOST_DRAWN], record.base], key=lambda s: s.log_loss)
    best, base = opening_facts(record)["recommended"], record.base
    words = f"{base.measure} (lower is better)"
    figure, axis = panel_canvas(PANEL, 0.34 * len(scores) + 0.9, words)
    edge = 3 * base.log_loss
    if record.continuous:
        edge = base.log_loss + max(0.5, base.log_loss - scores[0].log_loss)
    for place, score in enumerate(scores):
        value, (low, high) = score.log_loss, score.log_loss_interval
        colour = ACCENT if score.name == best else INK
        axis.plot([low, min(high, edge)], [place, place], color=colour, linewidth=1.4)
        marker = ">" if value > edge else "D" if score is base else "o"
        face = "white" if score is base else colour
        look = {"color": colour, "markerfacecolor": face, "markersize": 6}
        axis.plot(min(value, edge), place, marker, **look)
        if score is base:
            axis.axvline(value, color=GREY, linewidth=1, linestyle="--", zorder=0)
    names = [fill(drawn_words(score.name, 60), 24) for score in scores]
    axis.set_yticks(range(len(scores)), names)
    for label, score in zip(axis.get_yticklabels(), scores, strict=True):
        is_best = score.name == best
        label.set(color=ACCENT if is_best else INK, weight="bold" if is_best else None)
    axis.set(xlim=(None if record.continuous else 0, None), ylim=axis.get_ylim()[::-1])
    axis.locator_params("x", nbins=6)  # or the layout changes ticks, and cuts off the last one
    caption = prose("forest", base=base.name, left=len(record.predicting) - MOST_DRAWN)
    title = f"{base.measure.capitalize()} of each method"
    return Figure("forest", title, figure, caption, True)


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


def _scatter(record: Record) -> Figure:
    """Return predictions by response, with predictive intervals."""
    score, tested = merit(record), record.tested
    y, middle, low, high = map(
        tested.by_sample, (tested.response, score.prediction, score.low, score.high)
    )
    missed, words = (y < low) | (y > high), drawn_words(str(opening_facts(record)["response"]), 24)
    figure, axis = panel_canvas(PANEL, 3.6, f"observed {words}", f"predicted {words}")
    look = {"rasterized": len(y) > 500}
    for part, line, colour in ((~missed, GREY, INK), (missed, ACCENT, ACCENT)):
        axis.vlines(y[part], low[part], high[part], color=line, linewidth=0.7, **look)
        axis.plot(y[part], middle[part], "o", color=colour, markersize=3, **look)
    ends = [y.min(), y.max()]
    axis.plot(ends, ends, color=INK, linewidth=0.8, linestyle="--")
    return Figure("strip", "Predicted and observed responses", figure, prose("scatter"), True)


# ---- one table of methods ----

VISIBLE = ("method", "log loss", "error", "predicted error", "AUC", "calibration slope", "folds",
           "negative log density", "R2", "predicted R2", "RMSE", "coverage of 90%")  # fmt: skip
DIFFERENCE = "minus the lowest"


def methods(record: Record) -> list[PageTable]:
    """One row for each method: log loss, error, AUC, calibration, difference from the best."""
    if not record.tests:
        return predicted_table(record)
    own, best = record.config["own"], best_score(record)
    scores = record.predicting
    scores = sorted(scores, key=lambda score: score.log_loss) if own else scores
    if record.continuous:  # in earlier results some methods have no distribution
        scores += [score for score in record.scores if np.isnan(score.log_loss)]
    first = [record.choice[0]] if record.choice else []
    every = [*first, *scores, record.base]
    rows = [_method_row(record, score, best) for score in every]
    shown = {id(score) for score in (*first, *shown_scores(record), every[-1])}
    places = tuple(i for i, score in enumerate(every) if id(score) in shown or not own)
    name = "real_methods" if record.continuous else "methods"
    caption, frame = prose(name, tested=record.tested, best=best.name), pd.DataFrame(rows)
    more = tuple(x for x in frame if x not in VISIBLE and f" {DIFFERENCE}: " not in x)
    tables = [PageTable("methods", "Methods", frame, caption, shown=places, more=more)]
    if record.n_classes > 2:
        of_page = {merit(record).name} if own else {score.name for score in scores}
        tables.append(_confusion([*first, *scores], of_page))
    return tables


def _method_row(record: Record, score: AnyScore, best: AnyScore) -> Row:
    """Return the row of a method; the columns that the page shows come first."""
    tested = score.tested
    difference = metrics.student(tested.independent(score.loss - best.loss), score.less(best)[1])
    real = record.continuous
    measures, more = _real_measures(score) if real else _class_measures(record, score, best)
    row: Row = {"method": score.name, score.measure: score.log_loss}
    row |= {name: values[0] for name, values in measures.items()}
    row |= ends_of(f"{score.measure} {DIFFERENCE}", difference) | _of_folds(record, score)
    row |= {f"setting: {name}": value for name, value in score.keys.items()}
    row |= ends_of(f"{score.measure} interval", score.log_loss_interval)
    for name, (_, *ends) in measures.items():
        row |= ends_of(f"{name} interval", ends) if ends else {}
    return row | more


Measures = dict[str, Sequence[float]]  # numbers, each with the ends of its interval


def _class_measures(record: Record, score: Score, best: Score) -> tuple[Measures, Row]:
    """Return measures of a method, and columns that the page shows after a click."""
    tested, two = score.tested, len(score.tested.classes) == 2
    area: Sequence[float] = score.auc_interval
    slope, intercept = score.recalibration.tolist()[:2]
    if score is record.base:  # what folds leave out alone makes these differ from 0.5 and none
        area = slope = intercept = [np.nan] * 3
    measures: Measures = {
        "error": (score.error, *score.error_interval),
        "predicted error": [score.expected],
        "AUC": area,
        "calibration slope": slope,
    }
    wrong = score.wrong_samples, best.wrong_samples
    row: Row = ends_of("calibration intercept", intercept) if two else {}
    row["Brier"] = metrics.squared_error(score.probability, tested.response)
    for name, g in (("sensitivity", 1), ("specificity", 0)) if two else ():
        row |= ends_of(name, score.right_of(g))
    row["p of calibration"] = score.p_value
    row["wrong: only this method"] = (wrong[0] & ~wrong[1]).sum()
    row["wrong: only the best"] = (wrong[1] & ~wrong[0]).sum()
    row["wrong: p"] = metrics.mcnemar(*wrong, tested.group_id, tested.wider)
    return measures, row


def _real_measures(score: RealScore) -> tuple[Measures, Row]:
    inside = metrics.fraction(
        score.tested.by_sample(~score.wrong), score.tested.group_id, score.tested.wider
    )
    measures: Measures = {
        "R2": (score.r2, *score.r2_interval),
        "predicted R2": [score.expected],
        "RMSE": (score.error, *score.error_interval),
        "coverage of 90%": inside if np.isfinite(score.log_loss) else [np.nan] * 3,
    }
    row: Row = {"mean absolute error": float(np.abs(score.residual).mean())}
    row |= ends_of("CRPS", score.interval_of(score.crps))
    row |= {f"coverage of {level:.0%}": score.coverage(level)["inside"] for level in LEVELS[:2]}
    return measures, row | {"p of calibration": score.p_value}


def _of_folds(record: Record, score: Score) -> Row:
    """Return how often nested cross-validation selected a method, and its gains inside folds."""
    if record.choice is None:
        return {}
    name, gain = "folds", f"lower than {record.base.name.lower()}: "
    inner, row = np.nan, -1 if score is record.base else None
    if score in record.scores:
        row = record.scores.index(score)
        inner = -float(np.nanmean(record.prediction_arrays["inner_losses"][:, row, 0]))
    count = np.nan if row is None else int((record.choice[1] == row).sum())
    outer = record.base.log_loss - score.log_loss
    return {name: count, f"{gain}inner folds": inner, f"{gain}outer folds": outer}


def ends_of(name: str, ends: Sequence[object]) -> Row:
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
    score = merit(record)
    if record.continuous:
        about |= {"response": tested.response}
        title = "Responses outside their 90% interval"
    else:
        classes = np.array(tested.classes)
        about |= {
            "true class": classes[tested.response],
            "predicted class": classes[score.predicted],
        }
        title = "Wrongly predicted samples"
    missed, keys = score.wrong, best_score(record).keys
    order = np.argsort(-score.loss, kind="stable")
    frame = pd.DataFrame(about | score.columns).iloc[order[missed[order]]]
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
    if record.config["selection"] and not record.logistic:
        names = ("selection", "stability", "low", "high")
        facts["stability"] = [dict(zip(names, row, strict=True)) for row in stability(record)]
    text = json.dumps(facts, default=np.generic.item)  # a number of NumPy as one of Python
    without_nan = json.loads(text, parse_constant=lambda _: None)
    return json.dumps(without_nan, indent=2, ensure_ascii=False) + "\n"
