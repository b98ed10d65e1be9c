"""The features that were selected, by name, over all training sets."""

import numpy as np
import pandas as pd

from thesiskit.report.layout import Table
from thesiskit.report.selection.record import Record

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
    names = [str(one) for one in record.simulated.get("names", ())]
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
            "feature": [names[j] if names else f"number {j + 1}" for j in found],
            "kept in": tally.kept[found] / sets,
            "correlation: mean": mean,
            "correlation: lowest": tally.low[found],
            "correlation: highest": tally.high[found],
        }))  # fmt: skip
        shown += range(rows, rows + min(MOST_SHOWN, len(found)))
        rows += len(found)
    one = record.class_words(1)
    return [
        Table(
            "selected-features",
            "Selected features",
            pd.concat(frames, ignore_index=True),
            f"'Kept in' is the fraction of the {sets:,} training set{'s' * (sets > 1)} in which "
            "a selection kept the feature. Correlations are those of the binary feature with the "
            f"response, over the training sets that kept it; with a positive one, {one} is more "
            "frequent where the feature is 1. They are too large: these features were chosen "
            "because their correlations are large in these cases.",
            shown=tuple(shown),
        )
    ]


def _count(record: Record) -> tuple[dict[str, Tally], int]:
    """Return what was kept by selection, and the number of training sets."""
    groups, sizes = record.config["evaluation"]["groups"], record.labels
    tallies: dict[str, Tally] = {}
    splits = 0
    for number in range(record.n_blocks):
        select = record.results.load("select", number)
        group = record.results.load("simulate", number, ("group",))["group"]
        members = [[np.flatnonzero(row == g) for g in range(groups)] for row in group]
        mine = len(select["kept"]) // len(sizes)  # splits: by data set, fold and group
        splits += mine
        signed = _signed(select)
        for entry, kept in enumerate(zip(select["offset"], select["offset"][1:], strict=False)):
            split, size = divmod(entry, len(sizes))
            label, part = sizes[size], slice(*kept)
            if label == "all":  # nothing is selected
                continue
            columns = members[split * len(group) // mine][split % groups]
            if "columns" in select:  # others were left out before
                columns = columns[select["columns"][split]]
            tally = tallies.setdefault(label, Tally(group.shape[1]))
            tally.add(columns[select["selected"][part]], signed[part])
    return tallies, splits // groups


def _signed(select: dict[str, np.ndarray]) -> np.ndarray:
    """Return the correlation of every kept feature with class 1, with its sign."""
    kept = np.diff(select["offset"])
    counts = np.repeat(select["class_counts"], kept, axis=0).astype(float)
    counts = select.get("present", counts)  # where values are missing, they differ by feature
    ones = select["ones"]
    direction = ones[:, 1] * counts[:, 0] - ones[:, 0] * counts[:, 1]
    return np.sign(direction) * select["correlation"]
