"""The part of a report that says what the data are, and what was done with them before the fit."""

from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report.finished import Finished
from thesiskit.report.layout import Table


def data_card(record: Finished) -> list[Table]:
    """What is known about the data, a line each, and the notes about them."""
    rows = record.card() + [("note", note) for note in record.notes]
    return [
        Table(
            "data-card",
            "The data",
            pd.DataFrame(rows, columns=["what", "here"]),
            "Counts are of all cases, training and test cases."
            + (" A note says what is odd about the data." if record.notes else ""),
        )
    ]  # fmt: skip


def balance(response: np.ndarray, classes: list[str]) -> str:
    """Say how many cases each class has, the most frequent first."""
    counts = np.bincount(response, minlength=len(classes))
    order = np.argsort(-counts, kind="stable")
    few = [
        f"{classes[k]} {counts[k]:,} ({100 * counts[k] / counts.sum():.0f} %)" for k in order[:12]
    ]
    return ", ".join(few) + (f" and {len(classes) - 12:,} more" if len(classes) > 12 else "")


def source_words(config: dict[str, Any]) -> str:
    """Say where the data are from."""
    data = config["data"]
    if not config["own"]:
        return f"drawn at random ({data['source']})" if config["drawn"] else data["source"]
    test = data.get("test_path")
    return data["path"] + (f", and {test} with the test cases" if test else "")


def listed(words: list[str], last: str = "and") -> str:
    """Return words as a sentence lists them."""
    return f" {last} ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def parts(counted: list[tuple[int, str]]) -> str:
    """Say how many there are of each kind, leaving out kinds of which there are none."""
    return "; ".join(f"{count:,} {words}" for count, words in counted if count) or "none"
