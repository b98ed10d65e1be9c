"""The data of an experiment of chapter 2, and their division into splits.

A *split* is one training set with its test samples: one per replicate for simulated data, one per
fold and group of features for a table.  Features are packed, read or drawn when they are asked for:
a model of real features needs no bits, and one of binary features no real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from thesiskit.config import Config
from thesiskit.datasets.source import Drawn, SelectionPriors, Source, Table
from thesiskit.defaults import LEAVE_OUT, NO_TRANSFORM, RESIDUAL
from thesiskit.errors import DataError, pluralise, quoted, shorten
from thesiskit.frame import Column, encode, sorted_symbols
from thesiskit.models.base import OWN
from thesiskit.models.density import Density, guess
from thesiskit.models.folds import independent_samples, numbered, together
from thesiskit.models.packed import (
    PackedFeatures,
    Transform,
    check_transform,
    count_columns,
    median_thresholds,
    read_columns,
)
from thesiskit.models.peers import BITS, NUMBERS, PEERS, REALS, SHORT, Method, Task
from thesiskit.models.pipeline import Selector
from thesiskit.models.selection import (
    FSelection,
    Selection,
    correlation_of_f,
    f_limits,
    is_binary,
    n_parameters,
    weakest_features,
)
from thesiskit.models.temperature import too_few
from thesiskit.study.cells import generator

KEY = "selection.screened"
MANY_MORE = 2  # times the features of the table that luck alone would give it
NOBODY = -2  # a fold of no samples
LEAST_REALS = 3  # training samples with real responses
HOLDOUT = 0.3  # of the samples of each class
PARTS = 5  # of the folds, to choose methods; and pairs of them
PAIRS = PARTS * (PARTS - 1) // 2


@dataclass(frozen=True)
class Split:
    """One training set with its test samples.

    `response` (n,) holds the classes of all samples, from 0, or real numbers; `train` and `test`
    are row numbers; `width` counts the features.  `sample_groups` (n,) are numbers of groups of
    samples that folds keep together, None where each sample is alone.

    bits : returns the binary features of all samples; real ones are cut at their medians.
    reals : returns the features as they were read or drawn, tables (., p) one below the other, or
        memory-mapped.
    transform : what is done to them before a model sees them: `features`.
    """

    replicate: int
    group: int
    fold: int
    response: np.ndarray
    train: np.ndarray
    test: np.ndarray
    width: int
    bits: Callable[[], PackedFeatures]
    reals: Callable[[], tuple[np.ndarray, ...]]
    sample_groups: np.ndarray | None = None
    transform: str = NO_TRANSFORM
    _forms: dict[str, Split] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def place(self) -> tuple[int, int, int]:
        """Which split of the experiment it is."""
        return self.replicate, self.group, self.fold

    @property
    def classes(self) -> int:
        """How many there are, 0 of real responses."""
        return 0 if self.response.dtype.kind == "f" else int(self.response.max()) + 1

    @property
    def class_counts(self) -> np.ndarray:
        """How many training samples of each class there are, (G,); of real responses all, (1,)."""
        return np.bincount(strata(self.response)[self.train], minlength=self.classes)

    def groups_of(self, samples: np.ndarray) -> np.ndarray | None:
        """Return the groups of some samples, numbered from 0."""
        if self.sample_groups is None:
            return None
        return np.unique(self.sample_groups[samples], return_inverse=True)[1]

    def values(self, columns: np.ndarray, samples: np.ndarray, takes: str) -> np.ndarray:
        """Return some features of some samples, (samples, columns), as "bits" or "reals"."""
        if takes == "bits":
            return self.bits().unpack(columns, samples)
        return np.concatenate([read_columns(table, columns) for table in self.features])[samples]

    def transformed(self, kind: str) -> Split:
        """Return the split with another transform of its real features, the same at each call."""
        if kind == self.transform:
            return self
        if kind not in self._forms:
            self._forms[kind] = replace(self, transform=kind)
        return self._forms[kind]

    @cached_property
    def fitted_transform(self) -> Transform | None:
        """The transform, fitted to the training samples; None without one."""
        if self.transform == NO_TRANSFORM:
            return None
        tables = [read_columns(table, slice(None)) for table in self.reals()]
        return Transform.of(self.transform, np.concatenate(tables)[self.train])

    @cached_property
    def features(self) -> tuple[np.ndarray, ...]:
        """Real features as models take them, tables (., p) as `reals` returns them."""
        tables = self.reals()
        if self.fitted_transform is None:
            return tables
        return tuple(map(self.fitted_transform.apply, tables))

    def take_columns(self, numbers: np.ndarray, **changes) -> Split:
        """Return a split that has only some columns."""
        return replace(
            self,
            bits=cache(lambda: self.bits().take(numbers)),
            reals=cache(lambda: tuple(read_columns(table, numbers) for table in self.reals())),
            **changes,
        )

    def selector(self, config: Config, method: Method, **options: Any) -> Selector:
        """Return what selects the features of a method, with the options of any selector."""
        return Selector(**options)

    def select(
        self, selector: Selector, takes: str, rng: np.random.Generator
    ) -> Selection | FSelection:
        """Select "bits" or "reals" by the training samples; memory-mapped tables are not copied."""
        if takes == "bits":
            return selector.select_bits(self.bits(), self.response, rng, self.train)
        table = self.features[0]  # not copied, unless some training samples are in the next one
        if self.train.max(initial=0) >= len(table):
            table = np.concatenate(self.features)
        return selector.select_reals(table, self.response[: len(table)], rng, self.train)

    def task(self, method: str, k: int) -> Task:
        """Return what a third-party method is asked for; k : how many features it may keep."""
        kind = REALS if REALS in PEERS[method].takes else BITS
        return Task(kind if self.classes else NUMBERS, self.classes, k)

    def table(self, task: Task) -> np.ndarray:
        """Return the features of all samples that a task is about."""
        if task.kind == BITS:
            return self.bits().unpack(np.arange(len(self.bits())))
        tables = self.features
        return tables[0] if len(tables) == 1 else np.concatenate(tables)

    def excess(self, answer: np.ndarray | Density) -> np.ndarray:
        """Return log losses of the test samples less those of the class frequencies, (T,).

        Of real responses they are minus log densities, less those of a guess without features.
        """
        y = self.response[self.test]
        if not isinstance(answer, Density):
            return excess_log_loss(answer, y, self.class_counts)
        return excess_log_density(answer.log_density(y), y, self.response[self.train])

    def adjusted(self, p: np.ndarray) -> np.ndarray:
        """Return probabilities of the test samples, given what else is known of them."""
        return p


def folds_of(fold: np.ndarray) -> np.ndarray:
    """Return the folds that are tested; where all samples only train, one that no sample is in."""
    tested = np.unique(fold[fold >= 0])
    return tested if len(tested) else np.array([NOBODY], dtype=fold.dtype)


def strata(response: np.ndarray) -> np.ndarray:
    """Return codes of what is spread evenly over folds: classes, or all samples together."""
    return np.zeros(len(response), dtype=np.intp) if response.dtype.kind == "f" else response


Divided = Iterator[tuple[int, np.ndarray]]  # numbers of splits, and their test samples


def each_fold(fold: np.ndarray, _response: np.ndarray) -> Divided:
    """Yield each fold that is tested, with its samples."""
    for f in folds_of(fold).tolist():
        yield f, np.flatnonzero(fold == f)


def parts_of(fold: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Return the part of each sample, (n,), of PARTS that folds are joined to; -1 if none tests it.

    Folds of one sample are spread by their classes, or real responses.
    """
    tested, real = folds_of(fold), response.dtype.kind == "f"
    values = (response[fold == f] for f in tested)
    order = [value.mean() if real else np.bincount(value).argmax() for value in values]
    part = np.full(len(fold), -1)
    for place, f in enumerate(tested[np.argsort(order, kind="stable")]):
        part[fold == f] = place % PARTS
    return part


def each_pair(fold: np.ndarray, response: np.ndarray) -> Divided:
    """Yield the samples of each pair of parts, with a number that no fold has.

    A model of all other samples serves both parts: samples of one part judge it for the other.
    """
    part = parts_of(fold, response)
    for a, b in combinations(range(int(part.max()) + 1), 2):
        yield NOBODY - 1 - a - PARTS * b, np.flatnonzero((part == a) | (part == b))


def excess_log_loss(p: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return log losses of predictions less those of the class frequencies; negative is better.

    p (T,) of class 1 or (T, G), of samples with classes y; counts (G,) of the training samples.
    """
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    loss = -np.log(np.maximum(p[np.arange(len(y)), y], np.finfo(float).eps))
    return loss + np.log(counts[y] / counts.sum())


def excess_log_density(log_density: np.ndarray, y: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return excess losses of real responses y, (T,), over a guess by the training responses."""
    base = Density.of_students(guess(train).repeat(len(y), axis=0))
    return base.log_density(y) - log_density


def group_means(loss: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Return the mean loss of each group, whose samples are not independent; else the losses."""
    if groups is None:
        return loss
    group = np.unique(groups, return_inverse=True)[1]
    return np.bincount(group, loss) / np.bincount(group)


def screening_limit(config: Config) -> Fraction | float | None:
    """Return what COR^2 of the features of a table, or F, was above; None if it is not known."""
    screened = config.screened
    assert screened is not None
    if screened.threshold is None:
        return screened.f
    return Fraction(str(screened.threshold)) ** 2


class Design:
    """The data of a config, divided into splits."""

    def __init__(self, config: Config, folder: Path):
        assert config.data is not None
        self.config, self.folder = config, folder  # of the config file: data paths start there
        self.data: Source = config.data

    @cached_property
    def tables(self) -> list[Table]:
        """The table of the config, then its test table; none for simulated data."""
        return [] if self.data.drawn else self.stored

    @cached_property
    def stored(self) -> list[Any]:
        """The tables as their source reads them."""
        with self.config.wrong_data():
            return self.data.read(self.folder, continuous=self.config.continuous)

    @cached_property
    def folds(self) -> int:
        """How many parts of the samples are tested, one after the other; ConfigError for below two.

        They are at most as many as the largest class has samples, because each class is divided by
        itself, and others would be empty.
        """
        if not self.tables or self.config.scheme in ("test-set", "holdout", "none"):
            return 1
        response, groups = strata(self._response), self.sample_groups
        if self.config.scheme == LEAVE_OUT:
            return len(self.sites[1])
        if self.config.scheme == "leave-one-out":
            return len(response) if groups is None else int(groups.max()) + 1
        most = int(np.bincount(response).max())
        if groups is not None:
            most = min(most, int(groups.max()) + 1)
        if most < 2:
            fault = f"cannot divide {len(response)} samples"
            raise self.config.wrong("evaluation.folds", f"{fault}. Fix: add samples")
        return min(self.config.evaluation.folds, most)

    @cached_property
    def sample_groups(self) -> np.ndarray | None:
        """Numbers from 0 of groups of the samples of the tables, (n,), None where each is alone."""
        if not any(table.groups for table in self.tables):
            return None
        names = [table.groups or [""] * len(table.response) for table in self.tables]
        numbers = numbered([name for table_names in names for name in table_names])
        return numbers if len(numbers) > numbers.max(initial=-1) + 1 else None

    @cached_property
    def sites(self) -> tuple[np.ndarray, list[str]]:
        """The number of each sample's site, (n,) from 0, and the sites, each left out once.

        Raises ConfigError for a single site, or a sample without one.
        """
        name, aside = str(self.config.evaluation.leave_out), self.tables[0].aside
        column = Column.of_texts(name, aside.get(name, []))
        names = sorted_symbols(column)
        number, without = encode(column, names), int(column.missing.sum())
        fault = f"all samples have the {name} {quoted(names[0])}" if len(names) == 1 else ""
        fault = f"{pluralise(without, 'sample')} without {quoted(name)}" if without else fault
        fault = fault if len(column) else f"there is no column {quoted(name)}"
        if fault:
            fix = "Fix: name a column that divides all samples, or drop samples"
            raise self.config.wrong("evaluation.leave_out", f"{fault}. {fix}")
        return number, names

    @property
    def n_classes(self) -> int:
        """How many classes there are, 0 of real responses."""
        return self.data.sizes.classes if self.data.sizes else len(self.tables[0].classes)

    # ---- drawing and dividing ----

    def draw(self, replicates: range) -> dict[str, np.ndarray]:
        """Return the arrays of the simulate stage: data, and how samples and features are divided.

        response (B, n) and fold (B, n): a sample is tested in its fold and trains all others; fold
        -1 only trains, and where no sample is tested there is one split all the same.  group (B,
        p): the group of each feature.  For simulated data also alpha (B,), and words (B, p, W)
        where the model takes bits.

        Of tables that are read also what reports say about them: names (p,), or none where features
        have none; ids (n,) of all samples; class_names (classes,); notes; checks (k, 3), code,
        status and a line of each, or (0,) of tables that are not the user's; columns (5,), as
        `count_columns` returns them of all samples together.
        """
        if self.data.drawn:
            return self._simulate(replicates)
        arrays = self.divisions(replicates)
        if replicates.start % self.config.replicates:
            return arrays  # what is said is said once for all blocks of a table
        ids = []
        for table in self.tables:
            ids += table.ids or [str(row + 1) for row in range(len(table.response))]
        first = self.tables[0]
        lists: dict[str, Any] = {"names": first.names, "ids": ids, "class_names": first.classes}
        checks = self.config.check_tables(self.stored if self.data.own else [])
        lists |= {"notes": self.notes, "checks": checks}
        texts = {name: np.array(values, dtype=str) for name, values in lists.items()}
        if self.sample_groups is not None:
            texts["case_groups"] = self.sample_groups
        if self.config.scheme == LEAVE_OUT:
            texts["sites"] = np.array(self.sites[1])
        return texts | {"columns": self.count_columns()} | arrays

    def count_columns(self) -> np.ndarray:
        """Count the kinds of columns of the tables, and missing values, as `count_columns` does."""
        return count_columns(*self._features)

    def divisions(self, replicates: range) -> dict[str, np.ndarray]:
        """Return response, fold and group of replicates of the tables."""
        p = self.tables[0].features.shape[1]
        return {
            "response": np.tile(self._response, (len(replicates), 1)),
            "fold": np.array([self._divide(replicate) for replicate in replicates]),
            "group": np.array([self._groups(p, replicate) for replicate in replicates]),
        }

    @property
    def first_split(self) -> Split:
        """The first split of the tables, with the first transform."""
        split = next(self.splits(range(1), self.divisions(range(1))))
        return split.transformed(getattr(self.data, "transform", [NO_TRANSFORM])[0])

    @cached_property
    def _response(self) -> np.ndarray:
        """The classes of all samples of the tables, or their real responses."""
        response = np.concatenate([table.response for table in self.tables])
        return response if self.config.continuous else response.astype(np.uint8)

    def _divide(self, replicate: int) -> np.ndarray:
        """Return the fold of each sample of the tables, -1 where it only trains.

        Raises DataError where a training set lacks a class, or real responses that differ.
        """
        scheme, response = self.config.scheme, strata(self._response)
        names = self.tables[0].classes or ("",)
        rng = generator(self.config.seed, "folds", scheme, replicate)
        fold, groups = np.full(len(response), -1, dtype=np.int32), self.sample_groups
        key = f"scheme: {scheme}"
        if scheme == LEAVE_OUT:
            key, fold[:] = f"leave_out: {self.config.evaluation.leave_out}", self.sites[0]
        elif scheme == "test-set":
            fold[len(self.tables[0].response) :] = 0
        elif groups is not None and scheme in ("k-fold", "leave-one-out"):
            leave_one_out = scheme == "leave-one-out"
            numbers = groups if leave_one_out else together(groups, response, self.folds, rng)
            fold[:] = np.unique(numbers, return_inverse=True)[1]
        elif groups is not None and scheme == "holdout":
            missing = HOLDOUT * np.bincount(response)
            for group in rng.permutation(int(groups.max()) + 1):
                counts = np.bincount(response[groups == group], minlength=len(missing))
                if (missing * counts).sum() >= (counts**2).sum() / 2:  # it comes nearer
                    fold[groups == group], missing = 0, missing - counts
            if (fold < 0).all():  # all groups are too large
                fold[groups == np.bincount(groups).argmin()] = 0
        elif scheme == "leave-one-out":
            fold[:] = np.arange(len(response))
        elif scheme != "none":
            # within each class, so that every training set has all of them
            for y in range(int(response.max()) + 1):
                samples = rng.permutation(np.flatnonzero(response == y))
                if scheme == "k-fold":
                    fold[samples] = np.arange(len(samples)) % self.folds
                else:
                    tested = round(HOLDOUT * len(samples))
                    fold[samples[: max(1, tested)]] = 0
        for number in folds_of(fold):
            counts = np.bincount(response[fold != number], minlength=len(names))
            present = np.flatnonzero(counts)
            if self.config.continuous and len(present):
                self._check_reals(self._response[fold != number], key)
            if len(present) == len(names):
                continue
            lacking = int(counts.argmin())
            without = f"no sample of class {shorten(names[lacking])}"
            content = without if len(present) else "no samples"
            if len(present) == 1:
                content = f"class {shorten(names[present[0]])} only"
            hint = "add samples of each class, or test fewer"
            if scheme == LEAVE_OUT:
                content += f" (without {quoted(self.sites[1][number])})"
                hint = "join sites, or drop the class"
            elif groups is not None and len({*groups[response == lacking]}) == 1:
                hint = "add groups: its samples are one group of data.sample_groups"
            elif (response == lacking).sum() == 1:
                hint = "it has one sample in all. Fix: add samples of the class, or drop it"
            fault = f"with evaluation.{key} a training set has {content}"
            raise DataError(f"{fault}. Fix: {hint}")
        return fold

    def _check_reals(self, y: np.ndarray, key: str) -> None:
        """Raise DataError for real responses of a training set from which nothing is learned."""
        content = "" if np.ptp(y) > 0 else f"one value of the response, {y[0]:g}"
        if len(y) < LEAST_REALS:
            content = f"{len(y)} samples, of the {LEAST_REALS} that are needed"
        if content:
            fault = f"with evaluation.{key} a training set has {content}"
            raise DataError(f"{fault}. Fix: add samples with other responses, or test fewer")

    def _groups(self, p: int, replicate: int) -> np.ndarray:
        """Divide the features at random into groups as equal as can be."""
        groups = self.config.evaluation.feature_groups
        if groups == 1:
            return np.zeros(p, dtype=np.int32)
        rng = generator(self.config.seed, "groups", groups, replicate)
        return rng.permutation(np.arange(p) % groups).astype(np.int32)

    def _simulate(self, replicates: range) -> dict[str, np.ndarray]:
        rows = []
        for replicate in replicates:
            data = self.drawn(replicate)
            n = len(data.train.response)
            response = np.append(data.train.response, data.test.response)
            fold = np.where(np.arange(len(response)) < n, -1, 0).astype(np.int32)
            group = self._groups(data.train.features.shape[1], replicate)
            row = {"response": response, "fold": fold, "group": group, "alpha": data.alpha}
            if self.stores_bits:
                packed = PackedFeatures.pack(data.train.features, data.test.features)
                row = {"words": packed.words} | row
            rows.append(row)
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def drawn(self, replicate: int) -> Drawn:
        """Draw a replicate's data, or draw them again for what they were drawn with."""
        rng = generator(self.config.seed, "data", self.data.settings_of_draws, replicate)
        priors = SelectionPriors(**self.config.first_model.priors_of_draws)
        with self.config.wrong_data():
            return self.draw_from(rng, priors)

    def draw_from(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        """Draw data from the source."""
        return self.data.draw(rng, priors)

    @property
    def stores_bits(self) -> bool:
        """Whether drawn features are stored; real ones, drawn again, would fill the disk."""
        return not self.config.takes_reals

    # ---- splits ----

    def splits(
        self,
        replicates: range,
        arrays: dict[str, np.ndarray],
        divided: Callable[[np.ndarray, np.ndarray], Divided] = each_fold,
    ) -> Iterator[Split]:
        """Yield the splits of a block, in the order of replicate, fold and group."""
        groups = self.config.evaluation.feature_groups
        for b, replicate in enumerate(replicates):
            response, fold, group = (arrays[name][b] for name in ("response", "fold", "group"))
            words = arrays["words"][b] if "words" in arrays else None
            bits = partial(self._bits, replicate, len(response), words)
            reals = cache(partial(self._reals, replicate, bits))
            for f, test in divided(fold, response):
                train = np.delete(np.arange(len(fold)), test)
                cut_there = cache(partial(bits, train))
                split = Split(
                    replicate, 0, f, response, train, test, len(group), cut_there, reals,
                    sample_groups=self.sample_groups,
                )  # fmt: skip
                split = self.split(split)
                for g in range(groups):
                    columns = np.flatnonzero(group == g)
                    part = split
                    if groups > 1:
                        part = split.take_columns(columns, group=g, width=len(columns))
                    yield part

    def split(self, split: Split) -> Split:
        """Return a split as features are selected in it."""
        return split

    def _bits(
        self, replicate: int, n: int, words: np.ndarray | None, train: np.ndarray
    ) -> PackedFeatures:
        """Return the features of all n samples as bits; those that train say where to cut them."""
        if words is not None:
            return PackedFeatures(words, n)
        if self.data.drawn:
            data = self.drawn(replicate)
            return PackedFeatures.pack(data.train.features, data.test.features)
        if self._packed is None:
            return PackedFeatures.pack(*self._features, samples=train)
        return self._packed

    def _reals(
        self, replicate: int, bits: Callable[[np.ndarray], PackedFeatures]
    ) -> tuple[np.ndarray, ...]:
        """Return the features of all samples as they were read or drawn."""
        if not self.data.drawn:  # truth values become numbers without a copy
            tables = self._features
            return tuple(table.view(np.uint8) if table.dtype == bool else table for table in tables)
        if not self.stores_bits:
            drawn = self.drawn(replicate)
            return drawn.train.features, drawn.test.features
        packed = bits(np.arange(0))  # they are drawn as bits
        return (packed.unpack(np.arange(len(packed))),)

    @property
    def _features(self) -> list[np.ndarray]:
        return [table.features for table in self.tables]

    @cached_property
    def _packed(self) -> PackedFeatures | None:
        """The features cut at the medians of all samples; None where those that train say where."""
        within = getattr(self.data, "binarise", "") == "training-medians"
        cut_in_training = within and not all(map(is_binary, self._features))
        return None if cut_in_training else PackedFeatures.pack(*self._features)

    def thresholds(self, columns: np.ndarray) -> np.ndarray:
        """Return above what some features of the tables become 1, if all samples train."""
        block = np.concatenate([read_columns(table, columns) for table in self._features])
        return median_thresholds(block.view(np.uint8) if block.dtype == bool else block)

    def tested(self, replicates: range, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return what the test samples of all splits are, in their order: (N,) each."""
        rows = []
        divided = zip(replicates, arrays["response"], arrays["fold"], strict=True)
        for replicate, response, fold in divided:
            for f, g in product(folds_of(fold), range(self.config.evaluation.feature_groups)):
                test = np.flatnonzero(fold == f)
                about = (np.full(len(test), number) for number in (replicate, g, f))
                rows.append((*about, test, response[test]))
        names = ("replicate", "group", "fold", "case", "response")
        return dict(zip(names, map(np.concatenate, zip(*rows, strict=True)), strict=True))

    # ---- what the data show to be wrong, or what the user should know of them ----

    @cached_property
    def notes(self) -> list[str]:
        """What the user should know about the tables, a line each."""
        if not self.tables:
            return []
        n_folds = self.config.evaluation.folds
        notes = [note for table in self.tables for note in table.notes]
        if self.config.scheme == "k-fold" and self.folds < n_folds:
            unit = "samples" if self.sample_groups is None else "groups of samples"
            more = "there are no more" if self.config.continuous else "no class has more"
            number = f"{self.folds:,} folds, not {n_folds:,}"
            notes.append(f"evaluation.folds: {number}, because {more} {unit}")
        if len(self.tables) == 2 and self.sample_groups is not None:
            train, test = np.split(self.sample_groups, [len(self.tables[0].response)])
            if n_common := len(np.intersect1d(train, test)):
                groups = pluralise(n_common, "group has", "groups have")
                fault = f"{groups} training and test samples, so tests are not of new groups"
                notes.append(f"data.sample_groups: {fault}")
        notes += self._notes_of_screening()
        if RESIDUAL in self.config.model.temperatures and self.sample_groups is None:
            why = next(filter(None, map(too_few, self._training_counts())), "")
            if why:
                notes.append(f"model.temperature: not estimated, because {why}")
        return notes + (self.notes_of_missing() if any(t.missing for t in self.tables) else [])

    def notes_of_missing(self) -> list[str]:
        """Return what third-party methods do with missing values, a line each."""
        return [
            f"{SHORT.get(name, peer.words)}: a missing value counts as the {peer.filled} of its "
            "feature in the training set"
            for name, peer in PEERS.items()
            if name in self.config.model.methods
        ]

    def check(self) -> None:
        """Raise ConfigError for a transform of other values, or a threshold too large."""
        assert self.folds
        for kind, table in product(getattr(self.data, "transform", ()), self.tables):
            try:
                check_transform(kind, table.features, table.names)
            except DataError as error:
                raise self.config.wrong("data.transform", str(error)) from None
        screened = self.config.screened
        limit = None if screened is None else screening_limit(self.config)
        if screened is None or limit is None or not self.tables:
            return
        weakest, columns = self._weakest(self.first_split)
        if limit <= weakest:
            return
        key = "f" if screened.f is not None else "threshold"
        value = getattr(screened, key)
        statistic = "a correlation ratio" if self.config.takes_reals else "an absolute correlation"
        smallest = float(weakest) ** 0.5
        if key == "f":
            statistic, smallest = "an F", float(weakest)
        names = self.tables[0].names
        name = quoted(names[columns[0]]) if names else f"number {columns[0] + 1}"
        raise self.config.wrong(
            f"{KEY}.{key}",
            f"is {value:g}, but the feature {name} has {statistic} of {smallest:.4f} in the "
            f"training samples, {value - smallest:.4f} less, which is a contradiction. Fix: set a "
            "smaller threshold, or none if the best features were selected",
        )

    def _training_counts(self) -> np.ndarray:
        """Return how many samples of each class training sets have, (., G).

        Of drawn data the first data set is looked at.  Where there are groups, these are counted.
        """
        if self.data.drawn:
            response, training = self.drawn(0).train.response, [slice(None)]
        else:
            response, fold = self._response, self._divide(0)  # they are as many in each replicate
            training = [fold != number for number in folds_of(fold)]
        counts = []
        for rows in training:
            groups = None if self.sample_groups is None else self.sample_groups[rows]
            counts.append(independent_samples(strata(response[rows]), groups, self.n_classes))
        return np.array(counts)

    def _weakest(self, split: Split) -> tuple[Fraction | float, np.ndarray]:
        """Return the smallest COR^2 in a table, or F without a threshold, and features with it."""
        if not self.config.takes_reals:
            return weakest_features(split.bits(), split.response, split.train)
        selector = Selector(split.width, at_most=True)
        selection: Any = split.select(selector, "reals", np.random.default_rng(0))
        screened = self.config.screened
        known = screened is not None and screened.threshold is not None
        score = selection.correlation**2 if known else selection.f
        return float(score.min()), selection.selected[[score.argmin()]]

    def _notes_of_screening(self) -> list[str]:
        """Return what the user should know about a table that was screened before, a line each."""
        config, tables, screened = self.config, self.tables, self.config.screened
        if screened is None:
            return []
        notes = []
        if config.scheme == "none":
            notes.append(
                f"{KEY}: all {len(tables[0].response):,} samples were used in the filtering, so "
                "none can be tested. Fix: set data.test_path to other samples"
            )
            peers = ", ".join(method for method in config.model.methods if method not in OWN)
            if peers and not config.for_new_samples:
                notes.append(f"model.methods: {peers}: dropped, because no sample is tested")
        split = self.first_split
        columns = split.width
        # how probable it is that luck gives a useless feature such a correlation
        limit = screening_limit(config)
        bound = self._weakest(split)[0] if limit is None else limit
        if config.takes_reals:
            counts = split.class_counts
            bound = float(f_limits(bound, counts[None])[0])
            gamma = float(correlation_of_f(bound, counts))
            of_mean = int(n_parameters(counts))
            chance = float(special.fdtrc(of_mean - 1, counts.sum() - of_mean, bound))
        else:
            gamma = math.sqrt(bound)
            chance = math.erfc(gamma * math.sqrt(len(split.train) / 2))
        lucky = [of for of in screened.of if of * chance > MANY_MORE * columns][:1]
        # then it has not the best of so many, and the correction is for another table
        notes += [
            f"{KEY}: by chance alone about {float(f'{of * chance:.2g}'):,.0f} of {of:,} useless "
            f"features would have an absolute correlation of {gamma:.2f} or more, but the table "
            f"has {columns:,}; the filtering was different, and corrected predictions may be wrong"
            for of in lucky
        ]
        if not self.config.takes_reals and not all(map(is_binary, self._features)):
            notes.append(
                f"{KEY}: continuous features are cut at their medians; the correction is exact "
                "only if the filtering used the same binary features"
            )
        if any(table.missing for table in tables):
            assumed = "filtered features are assumed to be missing as often as those in the table"
            notes.append(f"{KEY}: {assumed}")
        return notes
