"""The temperatures of tempered arms: how often the evidence of features was counted."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from thesiskit.report.layout import Table
from thesiskit.report.record import TEMPERED, Arm, Record
from thesiskit.report.selection.kept import features_words
from thesiskit.report.stages import counted

COOL = 1.05  # a temperature up to here mends nothing that one would see
USELESS = 1e4  # above it features predict nothing


class Temperature(NamedTuple):
    """The temperatures of an arm, (splits,)."""

    arm: Arm
    tau: np.ndarray

    @property
    def middle(self) -> float:
        """The median over training sets."""
        return float(np.median(self.tau))


@lru_cache(maxsize=2)
def temperatures(record: Record) -> list[Temperature]:
    """Return the temperatures of the arms that have one, of all training sets."""
    stage, listed = "fit", list(enumerate(record.own))
    if record.tests:  # models of another kind are there, too
        told = [arm for arm in record.arms if arm.row not in record.silent]
        stage, listed = "predict", [(arm.row, arm) for arm in told]
    mine = [(column, arm) for column, arm in listed if arm.temperature == TEMPERED]
    if not mine:
        return []
    blocks = [record.results.load(stage, number, ("tau",)) for number in range(record.n_blocks)]
    tau = np.concatenate([block["tau"] for block in blocks])
    return [Temperature(arm, tau[:, column]) for column, arm in mine]


def temperature_sentence(record: Record) -> str:
    """Say how often evidence was counted, by the corrected arm with most features."""
    found = temperatures(record)
    if not found:
        return ""
    corrected = [one for one in found if one.arm.method in ("corrected", "complete")] or found
    most = max(corrected, key=lambda one: (record.kept(one.arm.label), one.arm.relevant == "some"))
    by = f"With {features_words(record, most.arm.label)}, {most.arm.words}"
    if most.middle <= COOL:
        return (
            f"{by}, the temperature is {number(most.middle)}: nothing shows that the evidence of "
            "features was counted more than once, and there is nothing to mend."
        )
    if most.middle > USELESS:
        return (
            f"{by}, the temperature is {number(most.middle)}: in a cross-validation within the "
            "training cases the features predict nothing, so all classes become about "
            "equally probable."
        )
    return (
        f"{by}, evidence turned out to be counted {number(most.middle)} times, as it is where "
        "features go together, or where the selection is not corrected; so log odds are divided "
        "by that."
    )


def temperature_table(record: Record) -> list[Table]:
    """The temperatures of tempered arms: how often the evidence of features was counted."""
    found = temperatures(record)
    sets, within = len(found[0].tau), "component" if record.mixture else "class"
    rows = []
    for one in found:
        row = {"features": one.arm.label, "method": one.arm.words}
        row |= {record.variant_name: one.arm.variant} if len(record.variants) > 1 else {}
        row["temperature: median"] = number(one.middle)
        if sets > 1:
            row["temperature: lowest"] = number(one.tau.min())
            row["temperature: highest"] = number(one.tau.max())
            row["nothing to mend in"] = f"{np.mean(one.tau <= COOL):.0%}"
        rows.append(row)
    return [
        Table(
            "temperatures",
            "Temperatures",
            pd.DataFrame(rows),
            f"These models take features as independent within a {within}. Features that go "
            "together say the same thing several times, and each time counts: probabilities come "
            "too near to 0 and 1. The log odds of an arm are therefore divided by its "
            "temperature, a number of at least 1 that makes predictions in a cross-validation "
            "within the training cases, selection included, most probable. It is about how often "
            f"the same evidence was counted; at 1 there is nothing to mend.{_useless(found)}"
            f"{_about_sets(sets)}",
            lead=(temperature_sentence(record),),
        )
    ]


def number(tau: float) -> str:
    """Return a temperature as sentences have it: two digits; no number where it has no bound."""
    if tau > USELESS:
        return f"above {USELESS:,.0f}"
    return f"{tau:.2f}" if tau < 2 else f"{tau:.1f}" if tau < 10 else f"{tau:,.0f}"


def _useless(found: list[Temperature]) -> str:
    if max(one.tau.max() for one in found) <= USELESS:
        return ""
    return (
        f" Where it is {number(np.inf)}, the features predict nothing, and all classes become "
        "about equally probable."
    )


def _about_sets(sets: int) -> str:
    if sets == 1:
        return ""
    return (
        f" Each of the {counted(sets, 'training set')} has its own; the last column says in how "
        f"many it is at most {COOL:g}."
    )
