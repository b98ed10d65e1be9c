"""What methods promise on a table that was screened before, and what they make of new cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report.layout import Figure, Table
from thesiskit.report.metrics import standard_error
from thesiskit.report.record import OURS, Record
from thesiskit.report.signals.dumbbells import NEAR, Promise, draw
from thesiskit.report.signals.tables import scored, setting_words
from thesiskit.report.stages import counted


def promises(record: Record) -> list[Promise]:
    """Return what every method promises and makes, on each kind of data."""
    found = scored(record)
    blocks = [record.results.load("predict", number, ("cross_validated",))["cross_validated"]
              for number in range(record.n_blocks)]  # fmt: skip
    # a number for each replicate: the mean over its folds
    replicates = found.values.shape[1] * found.values.shape[2]
    folded = np.concatenate(blocks, axis=1).reshape(len(record.arms), replicates, -1).mean(axis=2)
    result = []
    for s, setting in enumerate(found.settings):
        for i, arm in enumerate(found.arms):
            values = found.values[i, s]
            told = values[:, 1]
            if arm.method not in OURS:
                told = folded[arm.row].reshape(len(found.settings), -1)[s]
            columns = (values[:, 0], told, values[:, 2])
            numbers = [(float(one.mean()), standard_error(one)) for one in columns]
            result.append(Promise(setting_words(setting) if setting else "", arm, *numbers))
    return result


def screened_table(record: Record) -> list[Table]:
    """What each method promises on a table that was screened before, and what it makes."""
    rows: list[dict[str, Any]] = [
        {
            "data": one.data,
            "kept": one.arm.label,
            "method": one.arm.words,
            "promised by": "its predictions" if one.ours else "cross-validation",
            "promised error: mean": one.told[0],
            "promised error: ±": one.told[1],
            "actual error: mean": one.actual[0],
            "actual error: ±": one.actual[1],
            "AMLP: mean": one.amlp[0],
            "AMLP: ±": one.amlp[1],
        }
        for one in promises(record)
    ]
    frame = pd.DataFrame(rows)
    return [
        Table(
            "screened",
            "What each method promises, and what it makes",
            frame if frame["data"].any() else frame.drop(columns="data"),
            "Models of scikit-learn are cross-validated (ten folds) on the table that they were "
            "given, as anybody would who does not know how it was screened. Ours say how often "
            "they will be wrong by their predictions. The actual error rate is that of test cases "
            f"that took no part in the screening. Means over {_repetitions(record)}, ± standard "
            "errors"
            + (
                "."
                if record.config["drawn"]
                else ", as if divisions were independent; they share cases."
            ),
            lead=tuple(_sentences(promises(record))),
        )
    ]


def _repetitions(record: Record) -> str:
    each = record.config["replicates"]
    if record.config["drawn"]:
        return f"{counted(each, 'data set')} of each kind"
    return counted(each, "random division")


def _sentences(found: list[Promise]) -> list[str]:
    """Say of each kind of data who keeps the promise best and worst, and who is wrong least."""
    told = []
    for data in dict.fromkeys(one.data for one in found):
        mine = [one for one in found if one.data == data]
        best = min(mine, key=lambda one: abs(one.told[0] - one.actual[0]))
        worst = max(mine, key=lambda one: abs(one.told[0] - one.actual[0]))
        least = min(mine, key=lambda one: one.amlp[0])
        text = (
            (f"{data}: " if data else "")
            + f"nearest to its promise is {_said(best)}; farthest from it is {_said(worst)}. "
            f"The lowest AMLP is {least.amlp[0]:.3f}, of {least.arm.words}."
        )
        told.append(f"{text[0].upper()}{text[1:]}")
    return told


def _said(one: Promise) -> str:
    return f"{one.arm.words} (promised {one.told[0]:.1%}, makes {one.actual[0]:.1%})"


def screened_figure(record: Record) -> list[Figure]:
    """Promised and actual error rates of each method on a table that was screened before."""
    return [
        Figure(
            "screened",
            "Promised and actual error rates on a table that was screened before",
            draw(promises(record)),
            "Models of scikit-learn promise by cross-validation of the table that they were "
            "given, ours by their predictions. The line between is what a promise is off by; it "
            f"is green up to {100 * NEAR:.0f} points. Means over {_repetitions(record)}.",
        )
    ]
