"""Printed numbers of chapter 2 that differ from data set to data set: gammas, tables, t tests."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.selection.divisions import divisions
from thesiskit.report.selection.record import Record
from thesiskit.report.selection.ways import Arm
from thesiskit.report.verification.rows import Row, aside, replicated, spread

OWN_WAY = {"naive_simulation": "simpson-21", "mixture_simulation": "as-printed"}
UNSELECTED = "not among the selections here"
COLUMNS = {"cases": 0, "mean_predicted": 3, "fraction_actual": 3}  # decimals printed
WORDS = {"cases": "cases", "mean_predicted": "mean prediction", "fraction_actual": "in class 1"}
COLON = {  # of numbers.yaml: the column of our divisions, decimals printed, words
    "gamma_about": ("mean gamma", 1, "correlation of the last gene kept"),
    "amlp_better": ("AMLP better", 0, "groups where correction improves AMLP"),
    "squared_error_better": (
        "squared error better",
        0,
        "groups where correction improves squared error",
    ),
    "amlp_p_value": ("AMLP p-value", 5, "paired t test of AMLP, p-value"),
    "squared_error_p_value": ("squared error p-value", 3, "the same of squared error"),
    "optimistic": ("optimistic", 0, "groups where the uncorrected error is above expectation"),
}


def simulation_rows(record: Record, of: str, numbers: dict[str, Any]) -> list[Row]:
    """Return the rows of gammas, of the calibration table, and of seconds."""
    return [
        *_gammas(record, of, numbers),
        *calibration_rows(record, of),
        *_seconds(record, of, numbers),
    ]


def _gammas(record: Record, of: str, numbers: dict[str, Any]) -> Iterator[Row]:
    gammas = dict(record.by_size("gamma"))
    for size, printed in numbers["gamma"].items():
        key, what = f"{of}.gamma.{size}", f"gamma, {size} feature{'s' if size > 1 else ''} kept"
        if str(size) in gammas:
            yield replicated(key, what, printed, gammas[str(size)], 2)
        else:
            yield aside(key, what, "replicated", printed, UNSELECTED)


def calibration_rows(record: Record, of: str) -> Iterator[Row]:
    """Yield a row for each cell of the thesis's table, by its own rule or sampler and another."""
    table = record.thesis_calibration
    assert table is not None
    own = OWN_WAY[of] if OWN_WAY[of] in record.variants else record.variants[0]
    sound = next((variant for variant in record.variants if variant != own), "")
    for (label, method), cells in table.groupby(["features_selected", "method"], sort=False):
        arms = [record.find(label, _ours(method), way) for way in (own, sound) if way]
        found = [calibration(record, arm) for arm in arms if arm]
        for cell, name in product(cells.itertuples(), COLUMNS):
            printed = getattr(cell, name)
            if pd.isna(printed):
                continue
            key = f"{of}.calibration.{label}.{method}.{cell.category}.{name}"
            what = f"{label}, {method}, C = {cell.category}: {WORDS[name]}"
            if not found:
                yield aside(key, what, "calibration", printed, UNSELECTED)
                continue
            row = replicated(key, what, printed, found[0][name][:, cell.category], COLUMNS[name])
            row = replace(row, kind="calibration", way=own)
            if sound:
                beside = spread(printed, found[1][name][:, cell.category], COLUMNS[name])
                row = replace(row, sound=beside, sound_way=sound)
            yield row


def _ours(method: str) -> str:
    """Return our word for a method; complete data need no correction."""
    return "corrected" if method == "complete" else method


def calibration(record: Record, arm: Arm) -> dict[str, np.ndarray]:
    """Calibration by first decimal in every replicate, (R, 10); NaN where there is no case."""
    p, replicate = record.probability(arm), record.predictions["replicate"]
    n = int(replicate.max()) + 1
    cell = 10 * replicate + metrics.categories(p)
    cases = np.bincount(cell, minlength=10 * n).reshape(n, 10)
    sums = {"mean_predicted": p, "fraction_actual": record.response}
    with np.errstate(invalid="ignore"):
        return {"cases": cases} | {
            name: np.bincount(cell, weights, 10 * n).reshape(n, 10) / cases
            for name, weights in sums.items()
        }


def _seconds(record: Record, of: str, numbers: dict[str, Any]) -> Iterator[Row]:
    """Yield the thesis's seconds beside ours, means over replicates."""
    n = int(record.predictions["replicate"].max()) + 1
    trained_only = of == "mixture_simulation"
    ours = {
        (row["features"], row["method"]): row["fit" if trained_only else "fit and predict"] / n
        for row in reversed(record.timings())  # of several ways, the first counts
    }
    what = "seconds to train" if trained_only else "seconds to fit and predict"
    for method, column in numbers["seconds"].items():
        for size, printed in column.items():
            found = ours.get((str(size), method if size != "all" else "complete"), "")
            what_of = f"{what}, {size}, {method}"
            yield aside(f"{of}.seconds.{method}.{size}", what_of, "seconds", printed, found)


def colon_rows(record: Record, of: str, numbers: dict[str, Any]) -> list[Row]:
    """Return the rows of counts and t tests over groups of genes, in every division."""
    frame = divisions(record)
    return [
        replicated(f"{of}.{key}", words, numbers[key], frame[column].to_numpy(), decimals)
        for key, (column, decimals, words) in COLON.items()
    ]
