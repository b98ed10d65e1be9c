"""The data of an experiment of chapter 2, and their division into splits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy import special

from thesiskit.config import Config
from thesiskit.datasets.source import Drawn, SelectionPriors, Source, Table
from thesiskit.errors import quoted
from thesiskit.models.base import OWN
from thesiskit.models.packed import (
    PackedFeatures,
    chunks,
    count_columns,
    median_thresholds,
    read_columns,
)
from thesiskit.models.peers import PEERS
from thesiskit.models.selection import correlation_of_f, is_binary, weakest_features
from thesiskit.study.cells import generator
from thesiskit.study.selections import by_f, class_counts, f_threshold, keep_best
from thesiskit.study.splits import (
    RealFeatures,
    Split,
    as_numbers,
    check_classes,
    divide_cases,
    folds_of,
    only_group,
    pack_drawn,
)

KEY = "selection.screened"
MANY_MORE = 2  # times the features of the table that luck alone would give it
FOLDS = 5  # of a training set, to fit a temperature


class Design:
    """The data of a config and their division into splits."""

    def __init__(self, config: Config, folder: Path, data: Source | None = None):
        self.config = config
        self.data = config.data if data is None else data
        self.folder = folder  # of the config file: data paths start there
        self.takes_reals = config.takes_reals

    @cached_property
    def each(self) -> list[Design]:
        """A design for each table of a study of several tables; else this one alone."""
        data = self.data
        if data is None or data.drawn or data.n_settings == 1:
            return [self]
        several = [data.setting(number) for number in range(data.n_settings)]
        return [Design(self.config, self.folder, one) for one in several]

    def of(self, replicate: int) -> Design:
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
        notes += screening_notes(self) + temperature_notes(self)
        if any(table.missing for table in self.tables):
            methods = self.config.model.methods
            notes += [
                f"for {peer.name}, a missing value counts as the {peer.filled} of its feature in "
                "the training set"
                for peer in PEERS.values()
                if peer.name in methods
            ]
        return notes

    @cached_property
    def data_digest(self) -> str:
        """What identifies the tables; simulated data are their settings."""
        return "".join(table.digest for one in self.each for table in one.tables)

    @cached_property
    def folds(self) -> int:
        """How many parts of the cases are tested, one after the other.

        They are at most as many as the largest class has cases, because each class is divided by
        itself, and others would be empty.

        Raises
        ------
        ConfigError: there are not even two.
        """
        if len(self.each) > 1:
            return max(one.folds for one in self.each)
        if not self.tables or self.config.scheme in ("test-set", "holdout", "none"):
            return 1
        response = self._response
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
        the group of each feature.  For simulated data also alpha (B,), and words (B, p, W) where
        the model takes bits.
        """
        if self.config.drawn:
            return self._simulate(replicates)
        if len(self.each) > 1:
            return self.of(replicates.start).draw(replicates)
        # once for all blocks of a table
        told = self._told() if replicates.start % self.config.replicates == 0 else {}
        return told | self._divisions(replicates)

    def _divisions(self, replicates: range) -> dict[str, np.ndarray]:
        """Return response, fold and group of replicates of the tables."""
        p = self.tables[0].features.shape[1]
        return {
            "response": np.tile(self._response, (len(replicates), 1)),
            "fold": np.array([self._divide(one) for one in replicates]),
            "group": np.array([self._groups(p, one) for one in replicates]),
        }

    @property
    def first_split(self) -> Split:
        """The first split of the tables."""
        return next(self.splits(range(1), self._divisions(range(1))))

    @cached_property
    def _response(self) -> np.ndarray:
        """The classes of all cases of the tables."""
        return np.concatenate([table.response for table in self.tables]).astype(np.uint8)

    def _divide(self, replicate: int) -> np.ndarray:
        """Return the fold of each case of the tables."""
        rng = generator(self.config.seed, "folds", self.config.scheme, replicate)
        n_test = sum(len(table.response) for table in self.tables[1:])
        fold = divide_cases(self.config, self._response, n_test, self.folds, rng)
        check_classes(self.config, self.tables[0].classes, self._response, fold)
        return fold

    @property
    def class_names(self) -> tuple[str, ...]:
        """What the classes of tables are called."""
        return self.tables[0].classes

    def fewest(self) -> tuple[int, int]:
        """Return how few training cases a class has in any training set, and which class.

        Of drawn data the first data set of each setting is looked at.
        """
        if not self.config.drawn:
            fold = self._divide(0)  # they are as many in each replicate
            found = [self._response[fold != number] for number in folds_of(fold)]
        else:
            assert self.data is not None
            places = (n * self.config.replicates for n in range(self.data.n_settings))
            found = [self.drawn(place).train.response for place in places]
        counts = np.array([np.bincount(one, minlength=self.n_classes) for one in found])
        _, rarest = np.unravel_index(counts.argmin(), counts.shape)
        return int(counts.min()), int(rarest)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        if self.config.drawn:
            assert self.data is not None
            assert self.data.sizes is not None
            return self.data.sizes.classes
        return len(self.class_names)

    def _told(self) -> dict[str, np.ndarray]:
        """Return what reports say about tables that are read.

        names (p,), or none where features have none; ids (n,) of all cases; class_names (classes,);
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
            n = len(one.train.response)
            response = np.append(one.train.response, one.test.response)
            fold = np.where(np.arange(len(response)) < n, -1, 0).astype(np.int32)
            group = self._groups(one.train.features.shape[1], replicate)
            row = {"response": response, "fold": fold, "group": group, "alpha": one.alpha}
            # real features are drawn again where they are needed: they would fill the disk
            rows.append(row if self.takes_reals else {"words": pack_drawn(one).words} | row)
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def drawn(self, replicate: int) -> Drawn:
        """Draw a replicate's data, or draw them again for what they were drawn with."""
        data, place = self._source(replicate), replicate % self.config.replicates
        rng = generator(self.config.seed, "data", data.settings_of_draws, place)
        priors = SelectionPriors(**self.config.first_model.priors_of_draws)
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
        groups = self.config.evaluation.groups
        for b, replicate in enumerate(replicates):
            response, fold, group = (drawn[name][b] for name in ("response", "fold", "group"))
            n, words = len(response), drawn.get("words")
            bits = partial(self._bits, replicate, n, None if words is None else words[b])
            reals = cache(partial(self._reals, replicate, bits))
            members = [np.flatnonzero(group == g) for g in range(groups)]
            for f in folds_of(fold):
                train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
                cut = cache(partial(bits, train))
                whole = Split(replicate, 0, int(f), response, train, test, len(group), cut, reals)
                for g, mine in enumerate(members):
                    split = whole if groups == 1 else only_group(whole, g, mine)
                    yield keep_best(self.config, split)

    def _bits(
        self, replicate: int, n: int, words: np.ndarray | None, train: np.ndarray
    ) -> PackedFeatures:
        """Return the features of all n cases as bits; those that train say where to cut them."""
        if words is not None:
            return PackedFeatures(words, n)
        if self.config.drawn:
            return pack_drawn(self.drawn(replicate))
        if self._cut_in_training:
            return PackedFeatures.pack(*self._features, cases=train)
        return self._packed

    def _reals(self, replicate: int, bits: Callable[[np.ndarray], PackedFeatures]) -> RealFeatures:
        """Return the features of all cases as they were read or drawn."""
        if not self.config.drawn:
            return RealFeatures(tuple(as_numbers(table) for table in self._features))
        if self._source(replicate).real_features:
            one = self.drawn(replicate)
            return RealFeatures((one.train.features, one.test.features))
        packed = bits(np.arange(0))  # they are drawn as bits
        return RealFeatures((packed.unpack(np.arange(len(packed))),))

    @property
    def _features(self) -> list[np.ndarray]:
        return [table.features for table in self.tables]

    @cached_property
    def _cut_in_training(self) -> bool:
        """Whether medians are those of the training cases."""
        within = getattr(self.data, "binarise", "") == "training-medians"
        return within and not all(is_binary(table) for table in self._features)

    @cached_property
    def _packed(self) -> PackedFeatures:
        return PackedFeatures.pack(*self._features)

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
            for f, g in product(folds_of(fold), range(self.config.evaluation.groups)):
                test = np.flatnonzero(fold == f)
                about = (np.full(len(test), one) for one in (replicate, g, f))
                rows.append((*about, test, response[test]))
        names = ("replicate", "group", "fold", "case", "response")
        return {name: np.concatenate([row[i] for row in rows]) for i, name in enumerate(names)}


def _weakest(design: Design, split: Split) -> tuple[Fraction | float, np.ndarray]:
    """Return the smallest COR^2 in a table, of real features F, and the features that have it."""
    if not design.takes_reals:
        return weakest_features(split.features, split.response, split.train)
    found = by_f(split, split.width, np.random.default_rng(0), at_most=True)
    return float(found.f[-1]), found.selected[-1:]


def check_screening(design: Design) -> None:
    """Raise ConfigError where a threshold is above the smallest correlation in a table."""
    screened = design.config.screened
    if screened is None or not design.tables:
        return
    key = "f" if screened.f is not None else "threshold"
    given = getattr(screened, key)
    if given is None:
        return
    split = design.first_split
    weakest, columns = _weakest(design, split)
    cut = f_threshold(screened, split) if design.takes_reals else Fraction(str(given)) ** 2
    assert cut is not None
    if cut <= weakest:
        return
    what, smallest = "an absolute correlation", float(weakest) ** 0.5
    if design.takes_reals:
        what, smallest = "an F", float(weakest)
        if key == "threshold":
            what, smallest = "a correlation ratio", correlation_of(smallest, split)
    names = design.tables[0].names
    name = quoted(names[columns[0]]) if names else f"number {columns[0] + 1}"
    raise design.config.wrong(
        f"{KEY}.{key}",
        f"is {given:g}, but the feature {name} has {what} of {smallest:.4f} in the training "
        f"cases, {given - smallest:.4f} less; both cannot be true. Give a smaller threshold, or "
        "none if the best features were kept",
    )


def correlation_of(f: float, split: Split) -> float:
    """Return the correlation ratio of an F."""
    return float(correlation_of_f(np.array([f]), class_counts(split)[None])[0])


def screening_notes(design: Design) -> list[str]:
    """Return what the user should know about a table that was screened before, a line each."""
    config, tables = design.config, design.tables
    screened = config.screened
    if screened is None or screened.keep is not None or not tables:
        return []
    notes = []
    if config.scheme == "none":
        notes.append(
            f"{KEY}: all {len(tables[0].response):,} cases took part in the screening, so none "
            "can be tested; data.test_path may name cases that it did not see"
        )
        peers = [one for one in config.model.methods if one not in OWN]
        if peers and not config.for_new_cases:
            notes.append(f"model.methods: {', '.join(peers)}: left out, because no case is tested")
    notes += _unlikely(design)
    if not design.takes_reals and not all(is_binary(table.features) for table in tables):
        notes.append(
            f"{KEY}: the features are real numbers, cut at their medians here; the correction is "
            "exact if the screening looked at the same binary features"
        )
    if any(table.missing for table in tables):
        notes.append(f"{KEY}: features that are not in the table count as never missing")
    return notes


def _unlikely(design: Design) -> list[str]:
    """Return a note where a table has far fewer features than useless ones alone would give it.

    Then it has not the best of so many, by these correlations, and the correction is for another
    table.
    """
    screened = design.config.screened
    assert screened is not None
    split = design.first_split
    columns = split.width
    if design.takes_reals:
        f = f_threshold(screened, split)
        f = float(_weakest(design, split)[0]) if f is None else f
        gamma, counts = correlation_of(f, split), class_counts(split)
        # of a useless feature
        chance = float(special.fdtrc(len(counts) - 1, counts.sum() - len(counts), f))
    else:
        found = screened.threshold
        gamma = float(_weakest(design, split)[0]) ** 0.5 if found is None else found
        chance = math.erfc(gamma * math.sqrt(len(split.train) / 2))
    for of in screened.of or ():
        if of * chance > MANY_MORE * columns:
            return [
                f"{KEY}: by luck alone about {float(f'{of * chance:.2g}'):,.0f} of {of:,} useless "
                f"features would have an absolute correlation of {gamma:.2f} or more, but the "
                f"table has {columns:,}; so it was screened in another way, or from fewer, and "
                "what the corrected models say may be wrong"
            ]
    return []


def check_temperature(design: Design) -> None:
    """Raise ConfigError where a class is too small for folds within a training set."""
    if "cv" not in design.config.model.temperature:
        return
    fewest, rarest = design.fewest()
    if fewest < 2:
        name = rarest if design.config.drawn else quoted(design.class_names[rarest])
        raise design.config.wrong(
            "model.temperature",
            f"cv needs two training cases of each class, and class {name} has one in a training "
            "set; leave out cv, or add cases of this class",
        )


def temperature_notes(design: Design) -> list[str]:
    """Return what the user should know about folds within training sets, a line each."""
    if "cv" not in design.config.model.temperature or not design.tables:
        return []
    fewest, rarest = design.fewest()
    if fewest >= FOLDS:
        return []
    return [
        f"model.temperature: {fewest} folds are made within a training set, not {FOLDS}, because "
        f"it has {fewest} cases of class {quoted(design.class_names[rarest])}"
    ]
