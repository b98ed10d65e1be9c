"""The features that were selected, by name, over all training sets."""

import numpy as np
import pandas as pd

from thesiskit.report.layout import Table
from thesiskit.report.selection.kept import base_label, each_kept, feature_names
from thesiskit.report.selection.record import Record
from thesiskit.report.selection.relevance import relevances

MOST_SHOWN = 20  # features of a selection, on the page


class Tally:
    """In how many training sets each of p features was kept, and its correlations there."""

    def __init__(self, p: int):
        self.kept = np.zeros(p, dtype=np.int64)
        self.total = np.zeros(p)
        self.low, self.high = np.full(p, np.inf), np.full(p, -np.inf)

    def add(self, features: np.ndarray, correlation: np.ndarray) -> None:
        """Count the features of a training set, each at most once."""
        self.kept[features] += 1
        self.total[features] += correlation
        self.low[features] = np.minimum(self.low[features], correlation)
        self.high[features] = np.maximum(self.high[features], correlation)


def selected_table(record: Record) -> list[Table]:
    """A row for each selection and feature that it kept in some training set."""
    tallies, sets = _count(record)
    frames: list[pd.DataFrame] = []
    shown: list[int] = []
    rows = 0
    for label, tally in tallies.items():
        found = np.flatnonzero(tally.kept)
        mean = tally.total[found] / tally.kept[found]
        order = np.lexsort((found, -np.abs(mean), -tally.kept[found]))
        found, mean = found[order], mean[order]
        frames.append(pd.DataFrame({
            "selection": label,
            "feature": feature_names(record, found),
            "kept in": tally.kept[found] / sets,
            "correlation: mean": mean,
            "correlation: lowest": tally.low[found],
            "correlation: highest": tally.high[found],
            **_relevant(record, label, found),
        }))  # fmt: skip
        shown += range(rows, rows + min(MOST_SHOWN, len(found)))
        rows += len(found)
    one = record.class_words(1)
    frame = pd.concat(frames, ignore_index=True)
    return [
        Table(
            "selected-features",
            "Selected features",
            frame,
            f"'Kept in' is the fraction of the {sets:,} training set{'s' * (sets > 1)} in which "
            "a selection kept the feature. Correlations are those of the binary feature with the "
            f"response, over the training sets that kept it; with a positive one, {one} is more "
            "frequent where the feature is 1. They are too large: these features were chosen "
            "because their correlations are large in these cases." + _explained(frame),
            shown=tuple(shown),
        )
    ]


def _count(record: Record) -> tuple[dict[str, Tally], int]:
    """Return what was kept by selection, and the number of training sets."""
    first = {base_label(label): label for label in reversed(record.labels)}
    if not record.screened:  # with all features nothing is selected
        first.pop("all", None)
    tallies: dict[str, Tally] = {}
    splits = set()
    p = record.results.load("simulate", 0, ("group",))["group"].shape[1]
    for one in each_kept(record):
        splits.add((one.block, one.split))
        base = base_label(one.label)
        if first.get(base) == one.label:  # others differ in what is corrected for only
            tallies.setdefault(base, Tally(p)).add(one.features, one.correlation)
    return tallies, len(splits) // record.config["evaluation"]["groups"]


def _relevant(record: Record, base: str, features: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns with the probabilities of relevance, one for each number before."""
    found = [one for one in relevances(record) if base_label(one.arm.label) == base]
    columns = {}
    for one in found:
        of = one.arm.label.partition(" of ")[2]
        columns["probability relevant" + (f": of {of}" if of else "")] = one.probability[features]
    return columns


def _explained(frame: pd.DataFrame) -> str:
    """Say what the probability of relevance is, if it is there."""
    columns = [name for name in frame if str(name).startswith("probability relevant")]
    if not columns:
        return ""
    several = any(": of " in str(name) for name in columns)
    return (
        " The probability that a feature is relevant allows for this: it is the probability that "
        "the feature has to do with the response at all, given how many features there were to "
        "choose from" + (", which is in the header" if several else "") + "; it is a mean over "
        "the training sets that kept the feature."
    )
