"""What an experiment of chapter 3 consists of: cases, what patterns they have, and arms.

An *arm* is one model: its order and prior, compressed or not, by which engine and scale of sigma;
or a peer with its order.  A *division* is a drawing of the data, or a fold of them; of data with a
test set that are read all are the same.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from thesiskit.config import Config
from thesiskit.config.logistic import LogisticModel
from thesiskit.datasets.source import LogisticPriors, Sizes
from thesiskit.defaults import SIGMA_0
from thesiskit.errors import DataError, UserError
from thesiskit.models import peers
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import (
    MISSING,
    UNSEEN,
    FeatureGroups,
    SequenceGroups,
    check_order,
    compress_features,
    compress_sequences,
)
from thesiskit.study.cells import generator

ALL = -1  # in place of an order


@dataclass(frozen=True)
class Cases:
    """Training and test cases of one division."""

    train: np.ndarray  # (n, L) states, or (n, p) features
    train_response: np.ndarray
    test: np.ndarray
    test_response: np.ndarray
    classes: list[str]  # none where responses are real
    truth: dict[str, np.ndarray] = field(default_factory=dict)  # of data drawn from the model
    ids: list[str] = field(default_factory=list)  # of training and test cases that are read
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Arm:
    """One model."""

    order: int  # what a peer sees of a history; of a peer that sees all features, ALL
    prior: str  # "none" of a peer
    compress: bool
    engine: str  # "slice", "gp", or a peer's name
    scale: str

    @property
    def peer(self) -> bool:
        """Whether it is a method of another package."""
        return self.prior == "none"

    @property
    def name(self) -> str:
        """What files and tables call it."""
        parts = [self.engine if self.peer else self.prior]
        if self.order != ALL:
            parts.insert(0, str(self.order))
        if self.engine == "slice":
            parts.append("compressed" if self.compress else "original")
        elif self.engine == "gp":
            parts.append("process")
        if self.scale == "natural":
            parts.append("natural")
        return "-".join(parts)


# ---- what patterns there are, and what they are called ----


@dataclass(frozen=True)
class SequencePatterns:
    """Patterns of histories.

    states : the symbol of each code of a history.
    """

    states: list[str]
    kind: ClassVar[str] = "sequences"
    coded: ClassVar[str] = "histories"  # the array of the codes that the simulate stage keeps
    stored: ClassVar[tuple[str, ...]] = SequenceGroups.stored

    @classmethod
    def of(cls, sequences: Any) -> "SequencePatterns":
        """Return the patterns of `Sequences`."""
        return cls(sequences.states)

    @classmethod
    def restore(cls, arrays: Arrays) -> "SequencePatterns":
        """Return the patterns that `arrays` described."""
        return cls([str(state) for state in arrays["states"]])

    def arrays(self) -> Arrays:
        """Return what codes mean, for the simulate stage."""
        return {"states": np.array(self.states)}

    @property
    def names(self) -> tuple[Any, ...]:
        """What groups need to write a pattern, or to find a pattern that is written."""
        return (self.states,)

    def groups(self, train: np.ndarray, order: int, *, min_cases: int, **options) -> Any:
        """Return the groups of patterns of training histories; with all of them: min_cases is 1."""
        assert min_cases == 1
        return compress_sequences(train, order, **options)

    def describe(self, groups: SequenceGroups, g: int) -> str:
        """Write a group, and its orders."""
        first, last = groups.first[g], groups.last[g]
        orders = f"order {first}" if first == last else f"orders {first} to {last}"
        return f"{groups.describe(g, self.states) or '(any)'}: {orders}"

    def named(self, groups: SequenceGroups) -> dict[str, tuple]:
        """Return what files of draws say of groups besides their patterns: dimensions, values."""
        return {
            "first": (("group",), groups.first),
            "last": (("group",), groups.last),
            "states": (("state",), np.array(self.states)),
        }

    def task(self, cases: Cases, order: int) -> peers.Task:
        """Return what a peer that sees so many states of a history has to predict."""
        classes = len(cases.classes)
        return peers.Task(peers.SEQUENCES, classes, values=len(self.states), order=order)


@dataclass(frozen=True)
class FeaturePatterns:
    """Patterns of discrete features.

    features : their names.
    values : the symbol of each code of each feature.
    """

    features: list[str]
    values: list[list[str]]
    kind: ClassVar[str] = "features"
    coded: ClassVar[str] = "cases"
    stored: ClassVar[tuple[str, ...]] = FeatureGroups.stored

    @classmethod
    def of(cls, table: Any) -> "FeaturePatterns":
        """Return the patterns of a `FeatureTable`."""
        return cls(table.features, table.values)

    @classmethod
    def restore(cls, arrays: Arrays) -> "FeaturePatterns":
        """Return the patterns that `arrays` described."""
        pairs = zip(arrays["values"], arrays["n_values"], strict=True)
        values = [str(joined).split("\t") if n else [] for joined, n in pairs]
        return cls([str(name) for name in arrays["features"]], values)

    def arrays(self) -> Arrays:
        """Return what codes mean, for the simulate stage."""
        return {
            "features": np.array(self.features),
            "values": np.array(["\t".join(symbols) for symbols in self.values]),
            "n_values": np.array([len(symbols) for symbols in self.values]),
        }

    @property
    def names(self) -> tuple[Any, ...]:
        """What groups need to write a pattern, or to find a pattern that is written."""
        return self.features, self.values

    def groups(self, train: np.ndarray, order: int, *, min_cases: int, **options) -> Any:
        """Return the groups of patterns of training cases that min_cases of them express."""
        return compress_features(train, order, min_cases=min_cases, **options)

    def describe(self, groups: FeatureGroups, g: int) -> str:
        """Write a group, and how many patterns it has."""
        count = int(groups.patterns_per_order[g].sum())
        patterns = "1 pattern" if count == 1 else f"{count:,} patterns"
        return f"{groups.describe(g, *self.names)}: {patterns}"

    def named(self, groups: FeatureGroups) -> dict[str, tuple]:
        """Return what files of draws say of groups besides their patterns: dimensions, values."""
        counts = groups.patterns_per_order
        return {
            "least_order": (("group",), (counts > 0).argmax(axis=1)),
            "patterns": (("group",), counts.sum(axis=1)),
        }

    def task(self, cases: Cases, order: int) -> peers.Task:
        """Return what a peer has to predict."""
        kind = peers.FEATURES if cases.classes else peers.RESPONSES
        values = [len(symbols) for symbols in self.values]
        return peers.Task(kind, len(cases.classes), values=values)


Patterns = SequencePatterns | FeaturePatterns
PATTERNS: dict[str, type[SequencePatterns] | type[FeaturePatterns]] = {
    "sequences": SequencePatterns,
    "features": FeaturePatterns,
}


# ---- the cases and the arms of a config ----


class LogisticDesign:
    """The training and test cases of each division of a config's data, and what is fitted."""

    def __init__(self, config: Config, folder: Path):
        assert isinstance(config.model, LogisticModel)
        assert config.data is not None
        self.config, self.folder, self.model, self.data = config, folder, config.model, config.data
        self._patterns = PATTERNS[self.data.family]
        self._cases: tuple[int, Cases] | None = None  # of the division that was asked for last
        self._replicate: tuple[int, Any, dict[str, np.ndarray]] | None = None  # drawn last

    # ---- what is known before anything is drawn ----

    @cached_property
    def stored(self) -> list[Any]:
        """Sequences or FeatureTables that are read: all cases, or training and test cases."""
        if self.data.drawn:
            return []
        with self.config.wrong_data():
            return self.data.read(self.folder, continuous=self.model.continuous)

    @cached_property
    def sizes(self) -> Sizes:
        """Numbers of cases, states and so on; data are read to know them, but not drawn."""
        if self.data.sizes is not None:
            return self.data.sizes
        first, last = self.stored[0], self.stored[-1]
        train = test = len(first.response)
        if self.data.divided_at is not None:
            train = self.data.divided_at[0]
            test -= train
        elif last is not first:
            test = len(last.response)
        return Sizes(train, test, first.inputs.shape[1], last.n_values, max(1, len(first.classes)))

    @property
    def notes(self) -> list[str]:
        """What the user should know about cases that are read, a line each."""
        notes = [note for table in self.stored for note in table.notes]
        if self.config.all_train and self.stored:
            unseen = int((self.stored[-1].inputs == UNSEEN).sum())
            if unseen:
                notes.append(f"{unseen:,} values that only the test table has count as missing "
                             "where all cases train")  # fmt: skip
        return notes

    @property
    def digest(self) -> str:
        """What identifies cases that are not drawn."""
        return "".join(table.digest for table in self.stored)

    @property
    def drawn_with(self) -> dict[str, object]:
        """What cases depend on besides the settings of `data`."""
        divided: dict[str, object] = {}
        if self.data.family == "features":
            divided = {
                "scheme": self.config.scheme,
                "folds": self.config.evaluation.folds,
                "response": self.model.response,
            }
        return divided | self.model.drawn_with if self.data.prior_of else divided

    @cached_property
    def orders(self) -> list[int]:
        """The orders, "all" in numbers."""
        return self._numbers(self.model.orders)

    @cached_property
    def original_orders(self) -> list[int]:
        """The orders of the models that are not compressed."""
        return self._numbers(self.model.original_orders or self.model.orders)

    def _numbers(self, orders) -> list[int]:
        most = self.sizes.width
        return list(dict.fromkeys(most if o == "all" else int(o) for o in orders))

    @cached_property
    def peers(self) -> list[str]:
        """The peers whose packages are here."""
        absent = peers.missing(self.model.peers)
        return [peer for peer in self.model.peers if peer not in absent]

    @cached_property
    def arms(self) -> list[Arm]:
        """Everything that is fitted."""
        model = self.model
        own = [
            Arm(order, prior, compress, engine, scale)
            for engine, prior, compress, scale, order in product(
                model.engine, model.priors, model.compress, model.sigma_scale, self.orders
            )
            if engine == "slice" and (compress or order in self.original_orders)
        ]
        if "gp" in model.engine:  # Gaussian priors, nothing to compress, one way with sigma
            own += [Arm(order, "gaussian", False, "gp", "log") for order in self.orders]
        seen = self.orders if self._patterns.kind == "sequences" else [ALL]
        return own + [
            Arm(order, "none", False, peer, "none") for peer in self.peers for order in seen
        ]

    # ---- mistakes that only the data show ----

    def check_sizes(self) -> None:
        """Raise ConfigError for sizes that there cannot be; nothing is drawn for it."""
        sizes = self.sizes  # reads the data, whose faults are not the orders'
        for order in self.model.orders:
            try:
                check_order(order, sizes.width, self.data.family)
            except UserError as error:
                raise self.config.wrong("model.orders", str(error)) from None
        folds = self.config.evaluation.folds
        if self.config.scheme == "k-fold" and folds > sizes.train:
            raise self.config.wrong(
                "evaluation.folds",
                f"cannot make {folds:,} folds of {sizes.train:,} cases; use at most as many",
            )

    def check(self) -> None:
        """Raise ConfigError or DataError for what only the data show to be wrong."""
        wrong = self.config.wrong
        self.check_sizes()
        if self.stored and not self.config.all_train:
            self._check_train()
        if self.data.family == "features":
            cases = len(self.cases(0).train)
            if self.model.min_cases > cases:
                raise wrong(
                    "model.min_cases", f"there are {cases} training cases; use at most as many"
                )
        shown = self.config.report.order
        if shown is not None and shown not in self.orders:
            raise wrong("report.order", f"{shown} is not one of model.orders")
        if self.model.split_draws != "exact":
            return
        classes = len(self.cases(0).classes)
        if classes != 2:
            raise wrong("model.split_draws", f"exact needs two classes, these data have {classes}")
        if "cauchy" in self.model.priors and self._patterns.kind == "features":
            raise wrong(
                "model.split_draws",
                "exact is for Gaussian priors here: a case shares several groups in part",
            )

    def _check_train(self) -> None:
        """Raise ConfigError where all cases would train."""
        cases = len(self.stored[0].response)
        if self.data.divided_at is not None and self.data.divided_at[0] >= cases:
            raise self.config.wrong(
                "data.train", f"there are {cases} cases; at most {cases - 1} can be trained with"
            )

    # ---- cases ----

    def cases(self, division: int) -> Cases:
        """Return the cases of a division; the last ones are kept."""
        if self._cases is None or self._cases[0] != division:
            self._cases = (division, _checked(self._divided(division)))
        return self._cases[1]

    def all_cases(self, replicate: int) -> Any:
        """Return the Sequences or FeatureTable of a replicate; with a test set by itself, that."""
        return self.stored[-1] if self.stored else self._drawn(replicate)[0]

    @property
    def any_cases(self) -> Any:
        """Sequences or a FeatureTable, for the names and symbols that all replicates share."""
        return self.all_cases(self._replicate[0] if self._replicate else 0)

    @cached_property
    def patterns(self) -> Patterns:
        """What patterns of these data are, and who else predicts them."""
        return self._patterns.of(self.any_cases)

    def _divided(self, division: int) -> Cases:
        """Draw or divide the cases."""
        if self.config.all_train:
            return self._whole()
        if self.config.scheme == "k-fold":
            return self._fold(*divmod(division, self.config.evaluation.folds))
        if len(self.stored) == 2:
            first, test = self.stored
            return Cases(
                first.inputs, first.response, test.inputs, test.response, first.classes,
                ids=_ids(first) + _ids(test), notes=self.notes,
            )  # fmt: skip
        table, truth = (self.stored[0], {}) if self.stored else self._drawn(division)
        assert self.data.divided_at is not None
        if self.stored:
            self._check_train()
        train, test = self.data.divided_at
        end = None if test is None else train + test
        X, y = table.inputs, table.response
        ids = _ids(table)[:end] if self.stored else []
        return Cases(
            X[:train], y[:train], X[train:end], y[train:end], table.classes, truth, ids,
            table.notes,
        )  # fmt: skip

    def _whole(self) -> Cases:
        """Return all cases to train with, and none to test."""
        first, last = self.stored[0], self.stored[-1]
        X, y, ids = first.inputs, first.response, _ids(first)
        if last is not first:
            new = np.where(last.inputs == UNSEEN, MISSING, last.inputs)
            X, y = np.concatenate([X, new]), np.concatenate([y, last.response])
            ids = ids + _ids(last)
        return Cases(X, y, X[:0], y[:0], first.classes, ids=ids, notes=self.notes)

    def _fold(self, replicate: int, fold: int) -> Cases:
        """Divide the cases of a replicate: those of a fold are tested."""
        table, number = self.all_cases(replicate), self.config.evaluation.folds
        X, y = table.inputs, table.response
        rng = generator(self.config.seed, "folds", number, replicate)
        try:
            test = folds(X, y, number, rng) == fold
        except DataError as error:
            raise self.config.wrong("evaluation.folds", str(error)) from None
        ids: list[str] = []
        if self.stored:
            named = np.array(_ids(table))
            ids = [*named[~test].tolist(), *named[test].tolist()]
        parts = X[~test], y[~test], X[test], y[test]
        return Cases(*parts, table.classes, ids=ids, notes=table.notes)

    def _drawn(self, replicate: int) -> tuple[Any, dict[str, np.ndarray]]:
        """Draw a replicate; the last one is kept, for its folds."""
        if self._replicate is None or self._replicate[0] != replicate:
            rng = generator(self.config.seed, "data", self.data.settings_of_draws, replicate)
            with self.config.wrong_data():
                self._replicate = (replicate, *self.data.draw(rng, self._priors))
        return self._replicate[1:]

    @property
    def _priors(self) -> LogisticPriors:
        """The first order and prior of the model."""
        model = self.model
        order = model.orders[0]
        same = ("sigma_shape", "sigma_mode", "continuous", "noise", "noise_shape", "noise_mode")
        return LogisticPriors(
            order=self.sizes.width if order == "all" else int(order),
            cauchy=model.priors[0] == "cauchy",
            sigma_0=model.sigma_0 or SIGMA_0[model.priors[0]],
            **{name: getattr(model, name) for name in same},
        )


def _ids(table: Any) -> list[str]:
    """Return what the cases of Sequences or a FeatureTable are called."""
    return table.ids or [str(row + 1) for row in range(len(table.response))]


def _checked(cases: Cases) -> Cases:
    """Return the cases, or say why nothing can be learnt from them."""
    y = cases.train_response
    if y.min() == y.max() or not np.std(y) > 0:
        what = (
            f"are of class {cases.classes[y[0]]!r}"
            if cases.classes
            else f"have the response {y[0]:g}"
        )
        raise DataError(
            f"all {len(y):,} training cases {what}; there is nothing to predict, choose other cases"
        )
    return cases


def folds(X: np.ndarray, response: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each case, (n,) from 0 to k - 1, for k-fold cross-validation.

    Equal rows of X are in one fold.  Each class is spread as evenly as this allows: evenly to one
    case if no rows are equal, and so are the sizes.  Real responses are one class.

    Raises
    ------
    DataError: k below 2, or above the number of distinct rows.
    """
    row = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
    distinct = row.max() + 1
    if distinct < 2:
        raise DataError(
            f"all {len(X):,} cases have the same features, and equal cases share a fold; "
            "there is nothing to divide"
        )
    if not 2 <= k <= distinct:
        raise DataError(
            f"cannot make {k} folds of {distinct} distinct rows; choose from 2 to {distinct}"
        )
    if response.dtype.kind == "f":
        response = np.zeros(len(response), dtype=np.int64)
    counts = np.zeros((distinct, response.max() + 1))
    np.add.at(counts, (row, response), 1)
    per_class = np.maximum(counts.sum(axis=0), 1)
    # many equal rows first, then class by class; what follows fills up what these left uneven
    order = np.lexsort((rng.random(distinct), counts.argmax(axis=1), -counts.sum(axis=1)))
    held = np.zeros((k, counts.shape[1]))
    fold = np.empty(distinct, dtype=np.int64)
    for group in order:
        crowding = held @ (counts[group] / per_class)
        fold[group] = np.lexsort((held.sum(axis=1), crowding))[0]
        held[fold[group]] += counts[group]
    return fold[row]
