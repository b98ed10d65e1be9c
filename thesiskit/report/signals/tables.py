"""Tables and maps of a study of several settings of the data: when does which method help?

Everything is a mean over the data sets of a setting, with its standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import Figure, Table, kept_words
from thesiskit.report.record import WHOLE, Arm, Record
from thesiskit.report.signals.dumbbells import NEAR, Promise, draw

MEASURES = ("error", "promised", "AMLP")
BEST, AS_GOOD = "lowest", "as low"
SURE = 2.0  # standard errors between two methods that differ


@dataclass(frozen=True)
class Scores:
    """The scores of every arm in every data set.

    settings : what the data are drawn with, as the config has it.
    values : (arms, settings, data sets, measures), in the order of MEASURES.
    """

    arms: list[Arm]
    settings: list[dict[str, Any]]
    values: np.ndarray

    @cached_property
    def mean(self) -> np.ndarray:
        """Means over data sets, (arms, settings, measures)."""
        return self.values.mean(axis=2)

    @cached_property
    def standard_error(self) -> np.ndarray:
        """Their standard errors."""
        return np.apply_along_axis(metrics.standard_error, 2, self.values)

    def rivals(self, label: str) -> list[int]:
        """Return the rows of the arms with this selection, and of one that selects nothing."""
        return [i for i, arm in enumerate(self.arms) if arm.label == label or arm.method == WHOLE]

    def best(self, rows: list[int], setting: int) -> tuple[int, int, float, float]:
        """Return the arm with the lowest AMLP, the next, and by how much it is lower, +- what."""
        amlp = self.mean[rows, setting, 2]
        first, second = (rows[i] for i in np.argsort(amlp, kind="stable")[:2])
        difference, error = self.differ(first, second, setting)
        return first, second, difference, error

    def differ(self, one: int, other: int, setting: int) -> tuple[float, float]:
        """Return by how much the AMLP of an arm is lower than another's, and the standard error."""
        lower = self.values[other, setting, :, 2] - self.values[one, setting, :, 2]
        return float(lower.mean()), metrics.standard_error(lower)


def compared(record: Record) -> list[Arm]:
    """Return the arms that are compared, with the first rule for theta.

    Without the correction nothing tells how many features are null, and the model in which some are
    relevant says what the other one says: it is left out beside that.
    """
    arms = record.main_arms
    both = {arm.relevant for arm in arms if arm.method == "uncorrected"} == {"all", "some"}
    return [arm for arm in arms if not (both and arm.method == "uncorrected"
                                        and arm.relevant == "some")]  # fmt: skip


@lru_cache(maxsize=1)
def scored(record: Record) -> Scores:
    """Return the scores of the arms that are compared."""
    found, arms = record.predictions, compared(record)
    settings = record.config["data"].get("settings", [{}])
    each = record.config["replicates"]
    place, cases = found["replicate"], np.bincount(found["replicate"])
    values = np.empty((len(arms), len(cases), len(MEASURES)))
    y = record.response
    for i, arm in enumerate(arms):
        p = record.probability(arm)
        kinds = ((p >= 0.5) != (y == 1), np.minimum(p, 1 - p), metrics.losses(p, y))
        for j, of_cases in enumerate(kinds):
            values[i, :, j] = np.bincount(place, of_cases) / cases
    return Scores(arms, settings, values.reshape(len(arms), len(settings), each, -1))


def setting_words(setting: dict[str, Any]) -> str:
    """Return what data sets are drawn with, in a few words."""
    n, of = sum(setting["train"]), setting["of"]
    if setting["alpha"] is not None:
        return f"the thesis's model, alpha {setting['alpha']:g}, {of:,} features, n = {n:,}"
    if not (setting["relevant"] and setting["effect"]):
        return f"0 of {of:,} relevant, n = {n:,}"
    return f"{setting['relevant']:,} of {of:,} relevant, effect {setting['effect']:g}, n = {n:,}"


# ---- the figure ----


def signals_figure(record: Record) -> list[Figure]:
    """Errors that each method promises and makes in every setting of the data, and its AMLP."""
    found = scored(record)
    promises = [
        Promise(setting_words(setting), arm, *(
            (float(found.mean[i, s, j]), float(found.standard_error[i, s, j])) for j in range(3)
        ))
        for s, setting in enumerate(found.settings)
        for i, arm in enumerate(found.arms)
    ]  # fmt: skip
    return [
        Figure(
            "signals",
            "What each method promises and makes",
            draw(promises, amlp=True),
            "The error rate that the predictions promise, and the actual one; the line between is "
            f"green up to {100 * NEAR:.0f} points. The lowest AMLP is bold. Means over "
            f"{record.config['replicates']:,} data sets of each kind.",
        )
    ]


# ---- the table ----


def signals_table(record: Record) -> list[Table]:
    """Errors made and promised, and AMLP, of every method in every setting of the data."""
    found, rows = scored(record), []
    for s, setting in enumerate(found.settings):
        for label in record.labels:
            rivals = found.rivals(label)
            first = found.best(rivals, s)[0]
            for i in rivals:
                if found.arms[i].method == WHOLE and label != record.labels[0]:
                    continue  # it is the same for all selections
                rows.append(_row(found, i, s, first) | {"data": setting_words(setting)})
    columns = ["data", *(name for name in rows[0] if name != "data")]
    each = record.config["replicates"]
    few = len(found.settings) * len(record.labels) <= MOST_SENTENCES
    table = Table(
        "signals",
        "Which method is best where",
        pd.DataFrame(rows)[columns],
        f"Means over {each:,} data sets of each kind, ± their standard errors. Promised is the "
        "error rate that the predictions themselves promise; below the actual one they are too "
        "sure, above it too careful. To guess with probability one half has an AMLP of 0.693. "
        "The last column marks the method with the lowest AMLP of those that keep as many "
        f'features ("{BEST}"), and those that differ from it by at most two standard errors '
        f'("{AS_GOOD}").',
        lead=_sentences(found, record.labels) if few else (),
        long=not few,
    )
    return [table] if few else [_counted(found, record.labels), table]


def _row(found: Scores, i: int, s: int, first: int) -> dict[str, Any]:
    error, promised, amlp = found.mean[i, s]
    spread = found.standard_error[i, s]
    mark = BEST if i == first else ""
    if i != first:
        difference, own = found.differ(first, i, s)
        mark = "" if difference > SURE * own else AS_GOOD
    return {
        "kept": found.arms[i].label,
        "method": found.arms[i].words,
        "errors: mean": error,
        "errors: ±": spread[0],
        "promised errors: mean": promised,
        "promised errors: ±": spread[1],
        "AMLP: mean": amlp,
        "AMLP: ±": spread[2],
        "AMLP: best": mark,
    }


MOST_SENTENCES = 8  # settings that are told one by one


def _sentences(found: Scores, labels: list[str]) -> tuple[str, ...]:
    """Say of each setting which method is best."""
    return tuple(
        _sentence(found, s, label, several=len(labels) > 1)
        for s in range(len(found.settings))
        for label in labels
    )


def _sentence(found: Scores, s: int, label: str, *, several: bool) -> str:
    rivals = found.rivals(label)
    first, second, difference, error = found.best(rivals, s)
    words = setting_words(found.settings[s])
    where = f"{words}, {kept_words(label)}" if several else words
    made, promised, amlp = found.mean[first, s]
    text = (
        f"{where[0].upper()}{where[1:]}: {found.arms[first].words} has the lowest AMLP "
        f"({amlp:.3f}); it promises {promised:.1%} errors and makes {made:.1%}. Next is "
        f"{found.arms[second].words} ({found.mean[second, s, 2]:.3f}), "
    )
    if difference > SURE * error:
        return f"{text}which is worse by {difference:.3f} ± {error:.3f}."
    return f"{text}which these data sets cannot tell from it."


def _counted(found: Scores, labels: list[str]) -> Table:
    """Count in how many settings each method is best, and say where; show what it loses elsewhere.

    A setting is that of the data with a number of features kept.
    """
    told: dict[str, list[_Place]] = {}
    for s, setting in enumerate(found.settings):
        for label in labels:
            rivals = found.rivals(label)
            first = found.best(rivals, s)[0]
            for i in rivals:
                lower, error = found.differ(first, i, s) if i != first else (0.0, 0.0)
                off = float(found.mean[i, s, 1] - found.mean[i, s, 0])
                one = _Place(setting, i == first, lower <= SURE * error, lower, off)
                told.setdefault(found.arms[i].words, []).append(one)
    order = sorted(told, key=lambda name: -sum(one.best for one in told[name]))
    rows = []
    for name in order:
        loss = np.array([one.loss for one in told[name]])
        promise = np.array([one.off for one in told[name]])
        rows.append(
            {
                "method": name,
                "lowest AMLP": sum(one.best for one in told[name]),
                "as low": sum(one.good for one in told[name]),
                "above the lowest: mean": loss.mean(),
                "above the lowest: most": loss.max(),
                "promised minus actual error: mean size": np.abs(promise).mean(),
                "promised minus actual error: least": promise.min(),
                "promised minus actual error: most": promise.max(),
            }
        )
    many = len(found.settings) * len(labels)
    return Table(
        "signals-counts",
        "In how many settings each method is best",
        pd.DataFrame(rows),
        f"Of {many:,} settings of the data and of the number of features kept: in how many a "
        "method has the lowest AMLP, and in how many it is not clearly worse (at most two standard "
        "errors); then by how much its AMLP is above the lowest, and how far its promised error "
        "rate is from the actual one, over all settings.",
        lead=(
            f"Of {many:,} settings, {'; '.join(_where(name, told[name]) for name in order)}. In "
            "brackets: with how many relevant features.",
        ),
    )


class _Place(NamedTuple):
    """How a method does in a setting."""

    setting: dict[str, Any]
    best: bool
    good: bool
    loss: float
    off: float


def _where(name: str, places: list[_Place]) -> str:
    """Say where a method is best: with how many relevant features, and which effects."""
    mine = [one.setting for one in places if one.best and one.setting["alpha"] is None]
    if not mine:
        return f"{name} is best in none"
    share = ", ".join(
        f"{sum(one['relevant'] == number for one in mine)} with {number:,}"
        for number in sorted({one["relevant"] for one in mine})
    )
    return f"{name} is best in {sum(one.best for one in places):,} ({share})"
