"""The predictions of every arm for every test case, and the names that tables give classes."""

import numpy as np
import pandas as pd

from thesiskit.report.layout import Table
from thesiskit.report.record import Record

MOST_SHOWN = 30  # rows on the page


def prediction_table(record: Record) -> list[Table]:
    """A row for each test case and arm."""
    tested = record.tested
    about = {"id": tested.ids, **tested.division, "response": _responses(record)}
    order = np.argsort(tested.unit, kind="stable")  # as the cases stand in the table
    frames = [
        pd.DataFrame(about | {name: [value] * len(tested.ids) for name, value in keys.items()})
        .assign(**columns).iloc[order]
        for keys, columns in record.predicted_columns()
    ]  # fmt: skip
    frame = pd.concat(frames, ignore_index=True).dropna(axis="columns", how="all")
    what = (
        "the predictive median and the ends of the predictive interval of 90 %"
        if not tested.classes
        else "the probability of each class"
    )
    return [
        Table(
            "predictions",
            "Predictions",
            frame,
            f"Each row is what one arm predicts for one test case, by its id: {what}. The case was "
            "not among those that the arm was fitted to.",
            shown=tuple(range(min(MOST_SHOWN, len(frame)))),
        )
    ]


def _responses(record: Record) -> np.ndarray:
    """Return the responses of the test cases, classes by their names."""
    tested = record.tested
    return np.array(tested.classes)[tested.response] if tested.classes else tested.response
