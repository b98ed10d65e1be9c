"""The features that were selected, by name, over all training sets."""

import numpy as np
import pandas as pd

from thesiskit.report.layout import Table
from thesiskit.report.record import Record
from thesiskit.report.selection.kept import Kept, base_label, each_kept, feature_names
from thesiskit.report.selection.relevance import relevances

MOST_SHOWN = 20  # features of a selection, on the page


class Tally:
    """In how many training sets each of p features was kept, its correlations, and its means."""

    def __init__(self, p: int, classes: int):
        self.kept = np.zeros(p, dtype=np.int64)
        self.total = np.zeros(p)
        self.low, self.high = np.full(p, np.inf), np.full(p, -np.inf)
        self.means = np.zeros((p, classes))

    def add(self, one: Kept) -> None:
        """Count the features of a training set, each at most once."""
        features, correlation = one.features, one.correlation
        self.kept[features] += 1
        self.total[features] += correlation
        self.low[features] = np.minimum(self.low[features], correlation)
        self.high[features] = np.maximum(self.high[features], correlation)
        if one.means is not None:
            self.means[features] += one.means


def selected_table(record: Record) -> list[Table]:
    """A row for each selection and feature that it kept in some training set."""
    tallies, sets = _count(record)
    frames: list[pd.DataFrame] = []
    shown: list[int] = []
    rows = 0
    score = "correlation" if record.n_classes == 2 else "correlation ratio"
    for label, tally in tallies.items():
        found = np.flatnonzero(tally.kept)
        mean = tally.total[found] / tally.kept[found]
        order = np.lexsort((found, -np.abs(mean), -tally.kept[found]))
        found, mean = found[order], mean[order]
        frames.append(pd.DataFrame({
            "selection": label,
            "feature": feature_names(record, found),
            "kept in": tally.kept[found] / sets,
            f"{score}: mean": mean,
            f"{score}: lowest": tally.low[found],
            f"{score}: highest": tally.high[found],
            **_class_means(record, tally, found),
            **_relevant(record, label, found),
        }))  # fmt: skip
        shown += range(rows, rows + min(MOST_SHOWN, len(found)))
        rows += len(found)
    frame = pd.concat(frames, ignore_index=True)
    return [
        Table(
            "selected-features",
            "Selected features",
            frame,
            f"'Kept in' is the fraction of the {sets:,} training set{'s' * (sets > 1)} in which "
            f"a selection kept the feature. {_about_scores(record)}" + _explained(frame),
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
            tallies.setdefault(base, Tally(p, record.n_classes)).add(one)
    return tallies, len(splits) // record.config["evaluation"]["groups"]


def _class_means(record: Record, tally: Tally, features: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns with the means of the classes; none of binary features."""
    if not record.normal:
        return {}
    means = tally.means[features] / tally.kept[features, None]
    return {f"mean: {record.class_words(y)}": means[:, y] for y in range(record.n_classes)}


def _about_scores(record: Record) -> str:
    """Say what the correlations are."""
    one = record.class_words(1)
    if not record.normal:
        return (
            "Correlations are those of the binary feature with the response, over the training "
            f"sets that kept it; with a positive one, {one} is more frequent where the feature is "
            "1. They are too large: these features were chosen because their correlations are "
            "large in these cases."
        )
    if record.n_classes == 2:
        return (
            "Correlations are those of the feature with the response, over the training sets that "
            f"kept it; with a positive one, the feature is larger in {one}. They are too large: "
            "these features were chosen because their correlations are large in these cases. Means "
            "are those of the cases of a class."
        )
    return (
        "The correlation ratio is the square root of the share of the feature's variance that is "
        "between the classes, over the training sets that kept it. It is too large: these features "
        "were chosen because it is large in these cases. Means are those of the cases of a class."
    )


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
