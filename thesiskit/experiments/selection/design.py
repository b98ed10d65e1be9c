"""The data of an experiment of chapter 2, and their division into splits.

A *split* is one training set with its test cases: one per replicate for simulated data, one per
fold and group of features for a table.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np

from thesiskit.config import WHOLE, Config
from thesiskit.datasets.source import Drawn, SelectionPriors, Source, Table
from thesiskit.errors import DataError
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.selection.arms import selecting_model
from thesiskit.experiments.selection.screened import keep_best, screening_notes
from thesiskit.models.packed import (
    PackedFeatures,
    chunks,
    count_columns,
    median_thresholds,
    read_columns,
)
from thesiskit.models.selection import is_binary

NOBODY = -2  # a fold of no cases


# what peers take a missing value for
FILLED = {
    "bernoulli-nb": "more frequent value",
    "bernoulli-nb-calibrated": "more frequent value",
    WHOLE: "mean",
}


@dataclass(frozen=True)
class Split:
    """One training set with its test cases.

    `features` and `response` hold all cases; `train` and `test` are row numbers.  Where most
    columns were left out before anything else, `columns` are those that are features, of `width`.
    """

    replicate: int
    group: int
    fold: int
    features: PackedFeatures
    response: np.ndarray
    train: np.ndarray
    test: np.ndarray
    width: int
    columns: np.ndarray | None = None

    def of_table(self, features: np.ndarray) -> np.ndarray:
        """Return which columns of the table, or of the group, some features are."""
        return features if self.columns is None else self.columns[features]


class Design:
    """The data of a config and their division into splits."""

    def __init__(self, config: Config, folder: Path, data: Source | None = None):
        self.config = config
        self.data = config.data if data is None else data
        self.folder = folder  # of the config file: data paths start there

    @cached_property
    def each(self) -> list["Design"]:
        """A design for each table of a study of several tables; else this one alone."""
        data = self.data
        if data is None or data.drawn or data.n_settings == 1:
            return [self]
        several = [data.setting(number) for number in range(data.n_settings)]
        return [Design(self.config, self.folder, one) for one in several]

    def of(self, replicate: int) -> "Design":
        """Return the design whose tables a replicate divides."""
        return self.each[replicate // self.config.replicates % len(self.each)]

    @cached_property
    def tables(self) -> list[Table]:
        """The table of the config, then its test table; none for simulated data."""
        if self.data is None or self.data.drawn:
            return []
        with self.config.wrong_data():
            return self.data.read(self.folder)

    @property
    def notes(self) -> list[str]:
        """What the user should know about the tables, a line each."""
        if len(self.each) > 1:
            return list(dict.fromkeys(note for one in self.each for note in one.notes))
        notes = [note for table in self.tables for note in table.notes]
        wanted = self.config.evaluation.folds
        if self.tables and self.config.scheme == "k-fold" and self.folds < wanted:
            notes.append(
                f"evaluation.folds: {self.folds:,} folds are made, not {wanted:,}, because no "
                "class has more cases"
            )
        notes += screening_notes(self)
        if any(table.missing for table in self.tables):
            methods = selecting_model(self.config).methods
            notes += [
                f"for {peer}, a missing value counts as the {value} of its feature in the training "
                "set"
                for peer, value in FILLED.items()
                if peer in methods
            ]
        return notes

    @cached_property
    def data_digest(self) -> str:
        """What identifies the tables; simulated data are their settings."""
        return "".join(table.digest for one in self.each for table in one.tables)

    @cached_property
    def folds(self) -> int:
        """How many parts of the cases are tested, one after the other.

        They are at most as many as the larger class has cases, because each class is divided by
        itself, and others would be empty.

        Raises
        ------
        ConfigError: there are not even two.
        """
        if len(self.each) > 1:
            return max(one.folds for one in self.each)
        if not self.tables or self.config.scheme in ("test-set", "holdout", "none"):
            return 1
        response = np.concatenate([table.response for table in self.tables])
        if self.config.scheme == "leave-one-out":
            return len(response)
        most = int(np.bincount(response).max())
        if most < 2:
            raise self.config.wrong(
                "evaluation.folds", f"cannot divide {len(response)} cases; more are needed"
            )
        return min(self.config.evaluation.folds, most)

    def draw(self, replicates: range) -> dict[str, np.ndarray]:
        """Return the arrays of the simulate stage: data, and how cases and features are divided.

        response (B, n) and fold (B, n): a case is tested in its fold and trains all others; fold
        -1 only trains, and where no case is tested there is one split all the same.  group (B, p):
        the group of each feature.  For simulated data also words (B, p, W) and alpha (B,).
        """
        if self.config.drawn:
            return self._simulate(replicates)
        if len(self.each) > 1:
            return self.of(replicates.start).draw(replicates)
        response = np.concatenate([table.response for table in self.tables]).astype(np.uint8)
        n_test = sum(len(table.response) for table in self.tables[1:])
        rows = []
        for replicate in replicates:
            rng = generator(self.config.seed, "folds", self.config.scheme, replicate)
            fold = _divide_cases(self.config, response, n_test, self.folds, rng)
            rows.append((fold, self._groups(self.tables[0].features.shape[1], replicate)))
        # once for all blocks of a table
        told = self._told() if replicates.start % self.config.replicates == 0 else {}
        return told | {
            "response": np.tile(response, (len(replicates), 1)),
            "fold": np.array([fold for fold, _ in rows]),
            "group": np.array([group for _, group in rows]),
        }

    def _told(self) -> dict[str, np.ndarray]:
        """Return what reports say about tables that are read.

        names (p,), or none where features have none; ids (n,) of all cases; class_names (2,);
        notes; columns (5,), as `count_columns` returns them of all cases together.
        """
        first, ids = self.tables[0], []
        for table in self.tables:
            ids += table.ids or [str(row + 1) for row in range(len(table.response))]
        texts = {"names": first.names, "ids": ids, "class_names": first.classes,
                 "notes": self.notes}  # fmt: skip
        told = {name: np.array(values, dtype=str) for name, values in texts.items()}
        return told | {"columns": count_columns(*(table.features for table in self.tables))}

    def _simulate(self, replicates: range) -> dict[str, np.ndarray]:
        rows = []
        for replicate in replicates:
            one = self.drawn(replicate)
            train = np.arange(len(one.train.response))
            packed = PackedFeatures.pack(one.train.features, one.test.features, cases=train)
            response = np.append(one.train.response, one.test.response)
            fold = np.where(np.arange(len(response)) < len(train), -1, 0).astype(np.int32)
            group = self._groups(len(packed), replicate)
            rows.append((packed.words, response, fold, group, one.alpha))
        names = ("words", "response", "fold", "group", "alpha")
        return {name: np.array([row[i] for row in rows]) for i, name in enumerate(names)}

    def drawn(self, replicate: int) -> Drawn:
        """Draw a replicate's data, or draw them again for what they were drawn with."""
        model, data = selecting_model(self.config), self._source(replicate)
        place = replicate % self.config.replicates
        rng = generator(self.config.seed, "data", data.settings_of_draws, place)
        priors = SelectionPriors(
            model.class_prior,
            model.alpha_prior,
            getattr(model, "response_alpha_prior", None),
            tuple(getattr(model, "pi", (1.0,))),
        )
        with self.config.wrong_data():
            return data.draw(rng, priors)

    def _source(self, replicate: int) -> Source:
        """Return what a replicate's data are drawn with, of a study of several settings."""
        assert self.data is not None
        return self.data.setting(replicate // self.config.replicates)

    def _groups(self, p: int, replicate: int) -> np.ndarray:
        """Divide the features at random into groups as equal as can be."""
        groups = self.config.evaluation.groups
        if groups == 1:
            return np.zeros(p, dtype=np.int32)
        rng = generator(self.config.seed, "groups", groups, replicate)
        return rng.permutation(np.arange(p) % groups).astype(np.int32)

    def splits(self, replicates: range, drawn: dict[str, np.ndarray]) -> Iterator[Split]:
        """Yield the splits of a block, in the order of replicate, fold and group."""
        if len(self.each) > 1:
            yield from self.of(replicates.start).splits(replicates, drawn)
            return
        tables = [table.features for table in self.tables]
        per_fold = getattr(self.data, "binarise", "") == "training-medians" and not all(
            is_binary(table) for table in tables
        )
        features = None
        for b, replicate in enumerate(replicates):
            response, fold = drawn["response"][b], drawn["fold"][b]
            if "words" in drawn:
                features = PackedFeatures(drawn["words"][b], len(response))
            group = drawn["group"][b]
            columns = [np.flatnonzero(group == g) for g in range(self.config.evaluation.groups)]
            for f in _folds(fold):
                train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
                if features is None or per_fold:
                    features = PackedFeatures.pack(*tables, cases=train if per_fold else None)
                for g, members in enumerate(columns):
                    mine = features if len(columns) == 1 else features.take(members)
                    split = Split(replicate, g, int(f), mine, response, train, test, len(mine))
                    yield keep_best(self.config, split)

    def thresholds(self, columns: np.ndarray) -> np.ndarray:
        """Return above what some features of the tables become 1, if all cases train."""
        block = np.concatenate([read_columns(one.features, columns) for one in self.tables])
        return median_thresholds(block.view(np.uint8) if block.dtype == bool else block)

    def column_blocks(self, split: Split, group: np.ndarray) -> Iterator[np.ndarray]:
        """Yield blocks of columns of all cases (n, .) as they were read or drawn, in parts.

        group (p,) : the group of each feature, in this replicate.
        """
        tables = self.of(split.replicate).tables
        if not tables and not self._source(split.replicate).real_features:
            for columns in split.features.chunks():
                yield split.features.unpack(np.arange(len(split.features))[columns])
            return
        if not tables:
            drawn = self.drawn(split.replicate)
            tables = [drawn.train, drawn.test]
        for columns in chunks(tables[0].features):
            mine = np.arange(columns.start, columns.stop)[group[columns] == split.group]
            if split.columns is not None:
                mine = np.intersect1d(mine, split.columns)
            yield np.concatenate([read_columns(one.features, mine) for one in tables])

    def tested(self, replicates: range, drawn: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return what the test cases of all splits are, in their order: (N,) each."""
        rows: list[tuple[np.ndarray, ...]] = []
        for replicate, response, fold in zip(
            replicates, drawn["response"], drawn["fold"], strict=True
        ):
            for f, g in product(_folds(fold), range(self.config.evaluation.groups)):
                test = np.flatnonzero(fold == f)
                about = (np.full(len(test), one) for one in (replicate, g, f))
                rows.append((*about, test, response[test]))
        names = ("replicate", "group", "fold", "case", "response")
        return {name: np.concatenate([row[i] for row in rows]) for i, name in enumerate(names)}


def _folds(fold: np.ndarray) -> np.ndarray:
    """Return the folds that are tested; where all cases only train, one that no case is in."""
    found = np.unique(fold[fold >= 0])
    return found if len(found) else np.array([NOBODY], dtype=fold.dtype)


def _divide_cases(
    config: Config, response: np.ndarray, n_test: int, folds: int, rng: np.random.Generator
) -> np.ndarray:
    n = len(response)
    fold = np.full(n, -1, dtype=np.int32)
    if config.scheme == "test-set":
        fold[n - n_test :] = 0
    elif config.scheme == "leave-one-out":
        fold[:] = np.arange(n)
    elif not config.all_train:
        # within each class, so that every training set has both
        for y in (0, 1):
            cases = rng.permutation(np.flatnonzero(response == y))
            if config.scheme == "k-fold":
                fold[cases] = np.arange(len(cases)) % folds
            else:
                fold[cases[: max(1, round(config.evaluation.test_fraction * len(cases)))]] = 0
    for number in _folds(fold):
        classes = np.unique(response[fold != number])
        if len(classes) < 2:
            left = f"class {classes[0]} only" if len(classes) else "no cases"
            raise DataError(
                f"with evaluation.scheme: {config.scheme} a training set has {left}; "
                "more cases of each class, or a smaller test set, are needed"
            )
    return fold
