"""Which features the selections of an experiment kept, one training set after the other."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from thesiskit.report.record import Record
from thesiskit.report.stages import counted


class Kept(NamedTuple):
    """What one selection kept in one training set.

    block, split : the place of the training set in the result files.
    replicate : the data set, or the division of the cases.
    features : (k,) numbers of the features in the table.
    correlation : (k,) their correlations with class 1, with signs; of more than two classes their
        correlation ratios, which have none.
    means : (k, K) of real features, the means of each class.
    """

    block: int
    split: int
    replicate: int
    label: str
    features: np.ndarray
    correlation: np.ndarray
    means: np.ndarray | None = None


def each_kept(record: Record) -> Iterator[Kept]:
    """Yield what every selection kept, in every training set."""
    groups, labels = record.config["evaluation"]["groups"], record.labels
    first = 0  # replicate of the block
    for number in range(record.n_blocks):
        select = record.results.load("select", number)
        group = record.results.load("simulate", number, ("group",))["group"]
        members = [[np.flatnonzero(row == g) for g in range(groups)] for row in group]
        mine = len(select["kept"]) // len(labels)  # splits: by data set, fold and group
        signed = _signed(select)
        for entry, ends in enumerate(zip(select["offset"], select["offset"][1:], strict=False)):
            split, size = divmod(entry, len(labels))
            replicate, part = split * len(group) // mine, slice(*ends)
            columns = members[replicate][split % groups]
            if "columns" in select:  # others were left out before
                columns = columns[select["columns"][split]]
            features = columns[select["selected"][part]]
            means = select["means"][part] if "means" in select else None
            yield Kept(
                number, split, first + replicate, labels[size], features, signed[part], means
            )
        first += len(group)


def base_label(label: str) -> str:
    """Return how many features a selection kept, without of how many there were before."""
    return label.partition(" of ")[0]


def features_words(record: Record, label: str) -> str:
    """Return what a selection kept, as sentences have it, such as "all 50 features"."""
    size = base_label(label)
    if size == "all":
        return f"all {record.kept(label):,.0f} features"
    return f"features of {size}" if size[0] == "|" else counted(int(size), "feature")


def feature_names(record: Record, features: np.ndarray) -> list[str]:
    """Return the names of features; their numbers where they have none."""
    names = record.simulated.get("names", ())
    return [str(names[j]) if len(names) else f"number {j + 1}" for j in features]


def _signed(select: dict[str, np.ndarray]) -> np.ndarray:
    """Return the correlation of every kept feature with class 1, with its sign."""
    if "means" in select:
        means = select["means"]
        sign = np.sign(means[:, 1] - means[:, 0]) if means.shape[1] == 2 else 1.0
        return sign * select["correlation"]
    kept = np.diff(select["offset"])
    counts = np.repeat(select["class_counts"], kept, axis=0).astype(float)
    counts = select.get("present", counts)  # where values are missing, they differ by feature
    ones = select["ones"]
    direction = ones[:, 1] * counts[:, 0] - ones[:, 0] * counts[:, 1]
    return np.sign(direction) * select["correlation"]
