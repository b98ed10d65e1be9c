"""External validation: scores of fitted methods on new samples with a response, and their page.

A measure is `external` on new samples, and `internal` on test samples of the training study.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from thesiskit.errors import DataError
from thesiskit.files import Results
from thesiskit.models.density import SCORED, guess
from thesiskit.models.folds import numbered
from thesiskit.report import curves, metrics
from thesiskit.report.layout import (
    Figure,
    Outputs,
    PageTable,
    csv_text,
    prose,
    prose_rows,
    template,
)
from thesiskit.report.metrics import AnyScore, RealScore, Score, Tested
from thesiskit.report.record import Record
from thesiskit.report.summary import LEVELS, merit

FOLDS = 100  # of new samples or groups at most, in which an update of the intercepts is tested
LARGE, SLOPE = "calibration in the large", "calibration slope"
PRINTED = ("log loss", "error", "AUC", "RMSE", "R2", "negative log density", SLOPE)
FILES = ("validation.html", "validation.csv", "validation.json")


def measure(score: AnyScore) -> dict[str, Sequence[float]]:
    """Return all measures of predictions, with the ends of 95% intervals; NaN if undefined.

    The calibration in the large is the intercept of a logistic regression with the log odds as an
    offset; of several classes there is one for each but the first.
    """
    tested = score.tested
    measures: dict[str, Any] = {score.measure: (score.log_loss, *score.log_loss_interval)}
    measures["error" if tested.classes else "RMSE"] = (score.error, *score.error_interval)
    if not tested.classes:
        intercept, slope = _line(score)
        measures |= {"R2": (score.r2, *score.r2_interval), "predicted R2": [score.expected]}
        for level in LEVELS:
            _, *measures[f"coverage of {level:.0%}"] = [*score.coverage(level).values()][:4]
        more = {"mean residual": score.interval_of(score.residual), SLOPE: slope}
        return measures | more | {"calibration intercept": intercept}
    p, K = score.probability, len(tested.classes)
    brier, low, high = score.interval_of(((p - np.eye(K)[tested.response]) ** 2).sum(axis=1) / 2)
    about = tested.response, tested.unit, tested.prediction_group
    shift, error = metrics.recalibrated(p, *about, first=1)
    half = 1.96 * tested.wider * error
    names = [LARGE] if K == 2 else [f"{LARGE}, {name}" for name in tested.classes[1:]]
    measures |= {"predicted error": [score.expected], "AUC": score.auc_interval}
    measures["Brier"] = (brier, max(0.0, low), high)
    measures |= dict(zip(names, np.column_stack([shift, shift - half, shift + half]), strict=True))
    return measures | {SLOPE: score.recalibration[0]}


def _line(score: RealScore) -> np.ndarray:
    """Return intercept and slope of responses on predictions, by least squares, (2, 3).

    Intervals are Student's, with standard errors that are robust where samples are in groups.
    """
    tested = score.tested
    x, y = map(tested.by_sample, (score.prediction, tested.response))
    n, X = tested.n_independent, np.column_stack([np.ones(len(x)), x])
    if n < 3 or np.ptp(x) == 0:
        return np.full((2, 3), np.nan)
    inverse = np.linalg.inv(X.T @ X)
    estimate = inverse @ X.T @ y
    residual, freedom = y - X @ estimate, len(x) - 2
    variance = inverse * (residual @ residual) / freedom
    if n < len(x):
        sums = np.stack([np.bincount(tested.group_id, column * residual) for column in X.T])
        variance, freedom = inverse @ sums @ sums.T @ inverse * n / (n - 1), n - 1
    half = special.stdtrit(freedom, 0.975) * tested.wider * np.sqrt(np.diag(variance))
    return np.column_stack([estimate, estimate - half, estimate + half])


def update(score: AnyScore) -> dict[str, float]:
    """Return measures after an update of the intercepts alone, estimated on other new samples.

    Samples, or groups of them, are left out alone, or in FOLDS parts; nothing where the samples
    that are left lack a class.
    """
    tested, fold = score.tested, score.tested.group_id % FOLDS
    parts = [fold == f for f in np.unique(fold)]
    if len(parts) < 2:
        return {}
    if not tested.classes:
        residual = score.residual.copy()
        for part in parts:
            residual[part] -= score.residual[~part].mean()
        return {"RMSE": float(np.sqrt(np.mean(residual**2)))}
    log = np.log(np.clip(score.probability, metrics.LEAST, 1))
    for part in parts:
        outside = score.probability[~part], tested.response[~part], tested.unit[~part]
        log[part, 1:] += metrics.recalibrated(*outside, first=1)[0]
    if np.isnan(log).any():
        return {}
    after = measure(Score(tested, score.name, special.softmax(log, axis=1)))
    return {name: after[name][0] for name in (score.measure, "error", "Brier")}


def internal_scores(scores: Mapping[str, AnyScore]) -> dict[str, dict[str, list[float]]]:
    """Return the measures of methods, by name, on the test samples of an experiment."""
    internal: dict[str, dict[str, list[float]]] = {}
    for name, score in scores.items():
        values = measure(score) if np.isfinite(score.log_loss) else {}
        finite = {label: x for label, x in values.items() if np.isfinite(x).all()}
        internal[name] = {label: [*map(float, x)] for label, x in finite.items()}
    return internal


@dataclass(frozen=True)
class Validation:
    """Predictions of new samples, and their responses.

    predictions : as `FittedModel.frame` returns them of samples that are tested.
    table : the new samples, as a source has read them: a Table or a FeatureTable.
    classes : what they are called; none of real responses.
    names : what pages call each method, by its name.
    internal : as `internal_scores` returns it; methods may be absent.
    """

    predictions: pd.DataFrame
    table: Any
    classes: list[str]
    names: dict[str, str]
    internal: dict[str, dict[str, list[float]]]

    @cached_property
    def tested(self) -> Tested:
        """The new samples; `base` is the best prediction without features that knows them.

        Raises DataError for one sample, or real responses that are all equal.
        """
        y, groups, n = self.table.response, self.table.groups, len(self.table.response)
        if n < 2 or (not self.classes and np.ptp(y) == 0):
            fault = f"{self.table.source}: {n} samples with a response, {y[0]:g} in all of them"
            raise DataError(f"{fault}. Fix: add samples")
        base = guess(y).repeat(n, axis=0)
        if self.classes:
            y = y.astype(np.intp)
            base = np.tile(np.bincount(y, minlength=len(self.classes)) / n, (n, 1))
        group = numbered(groups) if any(groups) else None
        ids = self.predictions["id"].to_numpy()[:n]
        return Tested(y, ids, np.arange(n), {}, self.classes, base, group)

    @cached_property
    def scores(self) -> dict[str, AnyScore]:
        """The score of each method by its name, the lowest internal log loss first."""
        scores: dict[str, AnyScore] = {}
        columns = [f"probability: {name}" for name in self.classes] or [*SCORED]
        kind = Score if self.classes else RealScore
        for name, rows in self.predictions.groupby("method", sort=False):
            about = self.tested, self.names.get(str(name), str(name))
            scores[str(name)] = kind(*about, rows[columns].to_numpy(float))
        loss = {
            name: self.internal.get(name, {}).get(score.measure, [np.inf])[0]
            for name, score in scores.items()
        }
        return {name: scores[name] for name in sorted(scores, key=loss.__getitem__)}

    @cached_property
    def measures(self) -> pd.DataFrame:
        """A row for each method and measure: external, internal, and after the update."""
        rows, ends = [], ("value", "low", "high")
        for name, score in self.scores.items():
            internal, updated = self.internal.get(name, {}), update(score)
            for label, external in measure(score).items():
                row: dict[str, object] = {"method": score.name, "measure": label}
                for kind, x in (("external", external), ("internal", internal.get(label, []))):
                    padded = [*x, *[np.nan] * (3 - len(x))]
                    row |= {f"{kind}: {end}": x for end, x in zip(ends, padded, strict=True)}
                rows.append(row | {"intercept updated": updated.get(label, np.nan)})
        return pd.DataFrame(rows)

    @property
    def headline(self) -> list[str]:
        """Lines for the terminal: external and internal scores of each method."""
        table, kinds = self.measures, ["external: value", "internal: value"]
        labels = [label for label in PRINTED if label in {*table["measure"]}]
        rows = []
        for name, part in table.groupby("method", sort=False):
            numbers = part.set_index("measure").loc[labels, kinds].to_numpy().ravel()
            rows.append((str(name), *("-" if np.isnan(x) else f"{x:.3g}" for x in numbers)))
        header = [x for label in labels for x in (label.removeprefix("calibration "), "internal")]
        return metrics.aligned(["", *header], rows)

    def write(self, results: Results, experiment: str, notes: list[str]) -> None:
        """Write page, tables, figures and numbers into a folder.

        notes : what the user should know of the new samples, a line each.

        Raises
        ------
        DataError: the responses are too few or equal.  ResultsError: the folder has files of
            others, or cannot be written.
        """
        score, y, table = next(iter(self.scores.values())), self.tested.response, self.measures
        counts = {name: int((y == g).sum()) for g, name in enumerate(self.classes)}
        reasons = self.predictions.get("unlike in", pd.Series(dtype=str))[: len(y)]
        facts: dict[str, object] = {
            "experiment": experiment,
            "table": self.table.source,
            "samples": len(y),
            "classes": counts,
            "sd": float(y.std()),
            "class frequencies": Score(self.tested, "", self.tested.base).log_loss if counts else 0,
            "unlike": int((reasons != "").sum()),
            "absent features": [*getattr(self.table, "lacking", {})],
            "notes": notes,
        }
        of_first = table[table["method"] == score.name].set_index("measure").to_dict("index")
        x = facts | {"method": score.name, "measures": of_first, "several": len(self.scores) > 1}
        x |= {"unit": self.tested.unit_name, "absent": [c for c in counts if not counts[c]]}
        of = self.classes[-1] if {*self.classes} - {"0", "1"} else "class 1"
        parts: list[PageTable | Figure] = [curves.calibration(score, of)] if counts else []
        parts = parts or curves.of_responses(score)
        parts += [curves.roc(score, of)] if len(counts) == 2 and not x["absent"] else []
        about = prose("validation_measures", x=x)
        parts.append(PageTable("measures", "Measures", table, about))
        results.prepare()
        outputs = Outputs(results, [*FILES, *(name for part in parts for name in part.files)])
        for part in parts:
            part.write(outputs)
        rows = json.loads(table.to_json(orient="records", double_precision=15))
        text = json.dumps(facts | {"measures": rows}, indent=2, ensure_ascii=False)
        answer, cards = prose("validation", x=x), prose_rows("validation_cards", x=x)
        words = {"x": x, "answer": answer, "cards": cards, "linked": True}
        items = [part.item() for part in parts]
        page = template("validation.html.j2").render(words | {"items": items})
        for name, content in zip(FILES, (page, csv_text(table), text + "\n"), strict=True):
            outputs.write(name, content)
        outputs.finish("validation")


def sites(record: Record) -> list[PageTable]:
    """Scores of each site, whose samples are tested by a model of the other sites."""
    score, rows = merit(record), []
    for fold, name in enumerate(record.simulated["sites"].tolist()):
        inside = (record.predictions["fold"] == fold).to_numpy()
        arrays = {key: getattr(record.tested, key)[inside] for key in ("response", "unit", "base")}
        tested = replace(record.tested, division={}, group=None, **arrays)
        values = measure(type(score)(tested, score.name, score.values[inside]))
        row = {"site": name, "fold": fold + 1, "samples": len(np.unique(tested.unit))}
        rows.append(row | {label: values[label][0] for label in PRINTED if label in values})
    title = f"Sites: {record.config['evaluation']['leave_out']}"
    return [PageTable("sites", title, pd.DataFrame(rows), prose("sites", method=score.name))]
