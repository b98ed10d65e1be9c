"""Finished experiments against what the thesis prints of them."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import yaml

from thesiskit.errors import UserError
from thesiskit.report.exhibits import exhibits
from thesiskit.report.finished import THESIS, Finished, thesis_numbers
from thesiskit.report.logistic.record import LogisticRecord
from thesiskit.report.verification import rows as verdicts
from thesiskit.report.verification.interactions import logistic_rows, reduction_rows
from thesiskit.report.verification.rows import Row, aside
from thesiskit.report.verification.selections import colon_rows, simulation_rows
from thesiskit.report.verification.settings import exact_rows, setting_rows

SECTIONS = {
    "naive_simulation": "A Simulation Experiment (naive Bayes)",
    "colon": "A Test Using Gene Expression Data",
    "mixture_simulation": "A Simulation Experiment (mixture models)",
    "logistic_sampling": "Specifications of the Priors and Computation Methods",
    "hmm": "Experiments with a Hidden Markov Model",
    "text": "Experiments with English Text",
    "parameter_reduction": "Experiments Demonstrating Parameter Reduction",
    "cauchy_classification": "Experiments with Data from Cauchy Models",
}
LATTICE = "lattice"  # a display of the naive Bayes section, with a config of its own
CHANCE: dict[str, Callable[[Any, str, dict[str, Any]], list[Row]]] = {
    "naive_simulation": simulation_rows,
    "mixture_simulation": simulation_rows,
    "colon": colon_rows,
    "hmm": logistic_rows,
    "text": logistic_rows,
    "cauchy_classification": logistic_rows,
    "parameter_reduction": reduction_rows,
}
NOT_NUMBERS = ("calibration_table", "calibration_label", "seconds_note")  # for pages alone


def compare(sources: list[Finished]) -> list[Row]:
    """Return a row for every printed number of the experiments given.

    Raises UserError for an experiment that is not the thesis's, or is given twice.
    """
    numbers = thesis_numbers()
    found: list[Row] = []
    for of, source in _by_section(sources).items():
        printed = numbers["naive_simulation" if of == LATTICE else of]
        found += setting_rows(source, of, printed) + exact_rows(source, of, printed)
        if of in CHANCE:
            found += CHANCE[of](source, of, printed)
        found += _lost(of)
    order = list(SECTIONS)
    found.sort(key=lambda row: order.index(row.experiment))
    return [explain(row, _changed(found, row)) for row in found]


def _changed(found: list[Row], row: Row) -> str:
    """Name settings of a row's experiment that are not the thesis's, but for orders left out."""
    names = [
        one.what
        for one in found
        if one.experiment == row.experiment and one.kind == "setting"
        and one.verdict == verdicts.DIFFERS and not one.key.endswith(".orders")
    ]  # fmt: skip
    return ", ".join(names)


def _by_section(sources: list[Finished]) -> dict[str, Finished]:
    """Return sources by the part of numbers.yaml that they remake."""
    found: dict[str, Finished] = {}
    for source in sources:
        of = LATTICE if source.config["lattice"] else source.config["report"].get("thesis")
        name = source.config["experiment"]
        if of not in (LATTICE, *CHANCE):
            raise UserError(f"{name} is not compared with the thesis (report.thesis); leave it out")
        if of in found:
            other = found[of].config["experiment"]
            raise UserError(f"{other} and {name} are the same experiment of the thesis; give one")
        found[of] = source
    logistic = [source for source in sources if isinstance(source, LogisticRecord)]
    return found | ({"logistic_sampling": logistic[0]} if logistic else {})


def _lost(of: str) -> Iterator[Row]:
    """Yield the figures of a section whose values nothing prints."""
    for one in exhibits():
        if one.section == SECTIONS.get(of) and one.part and not one.numbers:
            yield aside(f"{of}.{one.label}", f"{one.label}: {one.shows}", "lost", "not printed")


def explain(row: Row, changed: str = "") -> Row:
    """Give a row its reason, where its number is not found and a reason is known.

    changed : settings that are not the thesis's.
    """
    if row.verdict not in (verdicts.OUTSIDE, verdicts.BEYOND, verdicts.DIFFERS):
        return row
    if changed and not row.key.endswith(".orders"):
        own = row.kind == "setting"
        why = "the config given says so" if own else f"other settings: {changed}"
        return replace(row, reason=why)
    return replace(row, reason=reason(row.key, row.way) or verdicts.UNKNOWN)


def reason(key: str, way: str) -> str:
    """Return why a number may not be found here, "" where nothing is known."""
    for entry in _reasons():
        if fnmatchcase(key, entry["numbers"]) and entry.get("way", way) == way:
            return f"{entry['name']}: {' '.join(entry['reason'].split())}"
    return ""


@lru_cache(maxsize=1)
def _reasons() -> list[dict[str, str]]:
    return yaml.safe_load((THESIS / "reasons.yaml").read_text(encoding="utf-8"))


def leaves(tree: Any, prefix: str = "") -> Iterator[str]:
    """Yield the keys of all numbers of numbers.yaml; a list is one."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{name}.")
        elif name not in NOT_NUMBERS:
            yield f"{prefix}{name}"


def uncovered(found: list[Row]) -> list[str]:
    """Return the keys of numbers that have no row: those of experiments not given."""
    known = {row.key for row in found}
    return [
        leaf
        for leaf in leaves(thesis_numbers())
        if not any(
            key == leaf or key.startswith(f"{leaf}.") or leaf.startswith(f"{key}.") for key in known
        )
    ]


def summary(found: list[Row]) -> str:
    """Return a line that says how many numbers have which verdict."""
    count = Counter(row.verdict for row in found)
    outside = [row for row in found if row.verdict == verdicts.OUTSIDE]
    reasons = sum(row.reason != verdicts.UNKNOWN for row in outside)
    parts = [
        f"{count[verdicts.PRINTED]} as printed",
        f"{count[verdicts.INSIDE]} inside 99 %",
        f"{len(outside)} outside ({reasons} with a reason)",
        f"{count[verdicts.BEYOND]} beyond all replicates, which are too few for 99 %",
        f"{count[verdicts.DIFFERS]} different",
        f"{count[verdicts.NOT_COMPARABLE]} not comparable",
    ]
    optional = (verdicts.BEYOND, verdicts.DIFFERS)
    shown = [part for part, word in zip(parts, _ORDER, strict=True)
             if word not in optional or count[word]]  # fmt: skip
    return f"{len(found)} numbers: " + ", ".join(shown)


_ORDER = (verdicts.PRINTED, verdicts.INSIDE, verdicts.OUTSIDE, verdicts.BEYOND, verdicts.DIFFERS,
          verdicts.NOT_COMPARABLE)  # fmt: skip


def frame(found: list[Row]) -> pd.DataFrame:
    """Return all there is to say of the rows, for verify.csv."""
    return pd.DataFrame([_flat(row) for row in found])


def _flat(row: Row) -> dict[str, Any]:
    """Return a row as cells."""

    def of(spread: verdicts.Spread | None, name: str) -> Any:
        return getattr(spread, name) if spread else np.nan

    names = ("mean", "sd", "low", "high", "percentile")
    return {
        "key": row.key,
        "number": row.what,
        "section": SECTIONS[row.experiment],
        "kind": row.kind,
        "thesis": row.thesis,
        "here": row.here,
        **{name: of(row.spread, name) for name in names},
        "replicates": row.spread.replicates if row.spread else 0,
        "by": row.way,
        "verdict": row.verdict,
        "reason": row.reason,
        "other way": row.sound_way,
        **{f"other {name}": of(row.sound, name) for name in ("mean", "percentile", "verdict")},
    }
