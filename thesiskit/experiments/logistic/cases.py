"""Cases of chapter 3: drawn or read by the source of a config, and divided."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.config.logistic import LogisticModel
from thesiskit.datasets.source import LogisticPriors, Sizes
from thesiskit.defaults import SIGMA_0
from thesiskit.errors import DataError, UserError
from thesiskit.experiments.cells.seeds import generator
from thesiskit.models.patterns import MISSING, UNSEEN, check_order


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


class Divisions:
    """The training and test cases of each division of a config's data.

    A division is a drawing of the data, or a fold of them; of data with a test set that are read
    all are the same.
    """

    def __init__(self, config: Config, folder: Path):
        assert isinstance(config.model, LogisticModel)
        assert config.data is not None
        self.config, self.folder, self.model, self.data = config, folder, config.model, config.data
        self._made: tuple[int, Cases] | None = None
        self._last: tuple[int, Any, dict[str, np.ndarray]] | None = None

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
        notes = [note for one in self.stored for note in one.notes]
        if self.config.all_train and self.stored:
            unseen = int((self.stored[-1].inputs == UNSEEN).sum())
            if unseen:
                notes.append(f"{unseen:,} values that only the test table has count as missing "
                             "where all cases train")  # fmt: skip
        return notes

    @property
    def digest(self) -> str:
        """What identifies cases that are not drawn."""
        return "".join(one.digest for one in self.stored)

    @property
    def drawn_with(self) -> dict[str, object]:
        """What cases depend on besides the settings of `data`."""
        found: dict[str, object] = {}
        if self.data.family == "features":
            evaluation = self.config.evaluation
            found = {
                "scheme": self.config.scheme,
                "folds": evaluation.folds,
                "response": self.model.response,
            }
        return found | self.model.drawn_with if self.data.prior_of else found

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
        self.check_sizes()
        if self.stored and not self.config.all_train:
            self._check_train()
        if self.data.family == "features":
            cases = len(self.cases(0).train)
            if self.model.min_cases > cases:
                raise self.config.wrong(
                    "model.min_cases", f"there are {cases} training cases; use at most as many"
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
        if self._made is None or self._made[0] != division:
            self._made = (division, _checked(self._make(division)))
        return self._made[1]

    def all_cases(self, replicate: int) -> Any:
        """Return the Sequences or FeatureTable of a replicate; with a test set by itself, that."""
        return self.stored[-1] if self.stored else self._drawn(replicate)[0]

    @property
    def any_cases(self) -> Any:
        """Sequences or a FeatureTable, for the names and symbols that all replicates share."""
        return self.all_cases(self._last[0] if self._last else 0)

    def _make(self, division: int) -> Cases:
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
        found, truth = (self.stored[0], {}) if self.stored else self._drawn(division)
        assert self.data.divided_at is not None
        if self.stored:
            self._check_train()
        train, test = self.data.divided_at
        end = None if test is None else train + test
        X, y = found.inputs, found.response
        parts = X[:train], y[:train], X[train:end], y[train:end]
        ids = _ids(found)[:end] if self.stored else []
        return Cases(*parts, found.classes, truth, ids, found.notes)

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
        found, number = self.all_cases(replicate), self.config.evaluation.folds
        X, y = found.inputs, found.response
        rng = generator(self.config.seed, "folds", number, replicate)
        try:
            test = folds(X, y, number, rng) == fold
        except DataError as error:
            raise self.config.wrong("evaluation.folds", str(error)) from None
        ids: list[str] = []
        if self.stored:
            named = np.array(_ids(found))
            ids = [*named[~test].tolist(), *named[test].tolist()]
        parts = X[~test], y[~test], X[test], y[test]
        return Cases(*parts, found.classes, ids=ids, notes=found.notes)

    def _drawn(self, replicate: int) -> tuple[Any, dict[str, np.ndarray]]:
        """Draw a replicate; the last one is kept, for its folds."""
        if self._last is None or self._last[0] != replicate:
            rng = generator(self.config.seed, "data", self.data.settings_of_draws, replicate)
            with self.config.wrong_data():
                self._last = (replicate, *self.data.draw(rng, self._priors))
        return self._last[1:]

    @property
    def _priors(self) -> LogisticPriors:
        """The first order and prior of the model."""
        model = self.model
        order = model.orders[0]
        return LogisticPriors(
            order=self.sizes.width if order == "all" else int(order),
            cauchy=model.priors[0] == "cauchy",
            sigma_0=model.sigma_0 or SIGMA_0[model.priors[0]],
            sigma_shape=model.sigma_shape,
            sigma_mode=model.sigma_mode,
            continuous=model.continuous,
            noise=model.noise,
            noise_shape=model.noise_shape,
            noise_mode=model.noise_mode,
        )


def _ids(found: Any) -> list[str]:
    """Return what the cases of Sequences or a FeatureTable are called."""
    return found.ids or [str(row + 1) for row in range(len(found.response))]


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
