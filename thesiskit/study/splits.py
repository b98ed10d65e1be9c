"""One training set with its test cases, and its features: as bits, and as real numbers.

A *split* is one training set with its test cases: one per replicate for simulated data, one per
fold and group of features for a table.  Features are packed, read or drawn when they are asked for:
a model of real features needs no bits, and one of binary features no real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from thesiskit.config import Config
from thesiskit.datasets.source import Drawn
from thesiskit.errors import DataError, cut
from thesiskit.models.packed import PackedFeatures, read_columns

NOBODY = -2  # a fold of no cases


@dataclass(frozen=True)
class RealFeatures:
    """Features as they were read or drawn: tables (., p) one below the other, or memory-mapped."""

    tables: tuple[np.ndarray, ...]

    def take(self, columns: np.ndarray) -> RealFeatures:
        """Return some of the features."""
        return RealFeatures(tuple(read_columns(table, columns) for table in self.tables))

    def with_cases(self, cases: np.ndarray) -> np.ndarray:
        """Return a table whose first rows are all cases up to the last one of `cases`.

        That is the first table, which is not copied, unless some cases are in the next.
        """
        first = self.tables[0]
        return first if cases.max(initial=0) < len(first) else np.concatenate(self.tables)

    def values(self, columns: np.ndarray, cases: np.ndarray) -> np.ndarray:
        """Return some features of some cases, (cases, columns)."""
        return np.concatenate([read_columns(table, columns) for table in self.tables])[cases]


@dataclass(frozen=True)
class Split:
    """One training set with its test cases.

    `response` (n,) holds the classes of all cases, from 0; `train` and `test` are row numbers.
    Where most columns were left out before anything else, `columns` are those that are features, of
    `width`, and `whole` is the split as it was before.

    bits, reals : return the features of all cases.
    """

    replicate: int
    group: int
    fold: int
    response: np.ndarray
    train: np.ndarray
    test: np.ndarray
    width: int
    bits: Callable[[], PackedFeatures]
    reals: Callable[[], RealFeatures]
    columns: np.ndarray | None = None
    whole: Split | None = None

    @property
    def place(self) -> tuple[int, int, int]:
        """Which split of the experiment it is."""
        return self.replicate, self.group, self.fold

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.response.max()) + 1

    @cached_property
    def features(self) -> PackedFeatures:
        """Binary features; real ones are cut at their medians."""
        return self.bits()

    @cached_property
    def real(self) -> RealFeatures:
        """The features as they are."""
        return self.reals()

    def values(self, columns: np.ndarray, cases: np.ndarray, takes: str) -> np.ndarray:
        """Return some features of some cases, (cases, columns), as "bits" or "reals"."""
        if takes == "bits":
            return self.features.unpack(columns, cases)
        return self.real.values(columns, cases)

    def of_table(self, features: np.ndarray) -> np.ndarray:
        """Return which columns of the table, or of the group, some features are."""
        return features if self.columns is None else self.columns[features]

    def keeping(self, columns: np.ndarray, of: int) -> Split:
        """Return the split without all other columns; `of` features there were, these included."""
        return replace(
            self,
            width=of,
            columns=columns,
            whole=self,
            bits=cache(lambda: self.features.take(columns)),
            reals=cache(lambda: self.real.take(columns)),
        )

    def within(self, train: np.ndarray, test: np.ndarray) -> Split:
        """Return a split of the training cases, by their places among them; with all columns."""
        return replace(self.whole or self, train=self.train[train], test=self.train[test])


def only_group(whole: Split, group: int, columns: np.ndarray) -> Split:
    """Return the split of a group of features."""
    return replace(
        whole,
        group=group,
        width=len(columns),
        bits=cache(lambda: whole.features.take(columns)),
        reals=cache(lambda: whole.real.take(columns)),
    )


def pack_drawn(one: Drawn) -> PackedFeatures:
    """Return the features of drawn data as bits; real ones are cut at training medians."""
    train = np.arange(len(one.train.response))
    return PackedFeatures.pack(one.train.features, one.test.features, cases=train)


def as_numbers(table: np.ndarray) -> np.ndarray:
    """Return a table of truth values as one of numbers, without a copy."""
    return table.view(np.uint8) if table.dtype == bool else table


def folds_of(fold: np.ndarray) -> np.ndarray:
    """Return the folds that are tested; where all cases only train, one that no case is in."""
    found = np.unique(fold[fold >= 0])
    return found if len(found) else np.array([NOBODY], dtype=fold.dtype)


def divide_cases(
    config: Config, response: np.ndarray, n_test: int, folds: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the fold of each case; -1 where it only trains.

    n_test : of the last cases, which are tested where there is a test set.
    """
    n, classes = len(response), int(response.max()) + 1
    fold = np.full(n, -1, dtype=np.int32)
    if config.scheme == "test-set":
        fold[n - n_test :] = 0
    elif config.scheme == "leave-one-out":
        fold[:] = np.arange(n)
    elif not config.all_train:
        # within each class, so that every training set has all of them
        for y in range(classes):
            cases = rng.permutation(np.flatnonzero(response == y))
            if config.scheme == "k-fold":
                fold[cases] = np.arange(len(cases)) % folds
            else:
                fold[cases[: max(1, round(config.evaluation.test_fraction * len(cases)))]] = 0
    return fold


def check_classes(
    config: Config, names: Sequence[str], response: np.ndarray, fold: np.ndarray
) -> None:
    """Raise DataError for a training set that lacks a class."""
    for number in folds_of(fold):
        counts = np.bincount(response[fold != number], minlength=len(names))
        present = np.flatnonzero(counts)
        if len(present) == len(names):
            continue
        lacking = int(counts.argmin())
        some = f"no case of class {cut(names[lacking])}"
        if len(present) < 2:
            some = f"class {cut(names[present[0]])} only" if len(present) else "no cases"
        hint = "more cases of each class, or a smaller test set, are needed"
        if (response == lacking).sum() == 1:
            hint = "it has one case in all; add cases of it, or leave it out"
        raise DataError(
            f"with evaluation.scheme: {config.scheme} a training set has {some}; {hint}"
        )
