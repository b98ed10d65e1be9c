"""The experiments of chapter 3: simulate, compress, fit, predict.

An *method* is a model with its settings, or a third-party method with its order.  A *division* is a
drawing of the data, or a fold of them; of data with a test set that are read all are the same.  A
block has one division.

Patterns are grouped for each order once.  One file for each method holds draws, traces and the
state of its chains.  Chains of a file that was made with the same settings but fewer iterations go
on from there.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from thesiskit.config import Config
from thesiskit.datasets.source import Sizes
from thesiskit.errors import DataError, ResultsError, UserError, pluralise
from thesiskit.files import read_draws, write_draws
from thesiskit.models import MODELS, mixing, peers
from thesiskit.models.base import PatternTraining, check_predictions
from thesiskit.models.chains import REACHED, Arrays, marked
from thesiskit.models.density import Density
from thesiskit.models.folds import numbered, summarise_losses, together
from thesiskit.models.patterns import MISSING, PATTERNS, UNSEEN, Patterns, Shared
from thesiskit.models.peers import NONE, Method, Task
from thesiskit.study.cells import Cell, CellBlock, Needs, Unfinished, Work, generator
from thesiskit.study.design import excess_log_density, excess_log_loss, group_means

if TYPE_CHECKING:
    from thesiskit.models.logistic import Logistic, Posterior

ALL = -1  # in place of an order
PARTS = 3  # of training samples, to choose methods
# of each method a number or a name, in fits
OF_FITS = ("seconds", "reliable", "evaluations", "log_likelihood", "separated", *REACHED)


@dataclass(frozen=True)
class DividedSamples:
    """Training and test samples of one division, with what their codes mean."""

    patterns: Patterns
    train: np.ndarray  # (n, L) states, or (n, p) features
    train_response: np.ndarray
    test: np.ndarray
    test_response: np.ndarray
    classes: list[str]  # none where responses are real
    ids: list[str] = field(default_factory=list)  # of training and test samples that are read
    notes: list[str] = field(default_factory=list)
    groups: np.ndarray | None = None  # numbers of groups of training and test samples

    def arrays(self) -> Arrays:
        """Return what the simulate stage stores: codes (n, .), training samples first."""
        patterns = self.patterns
        return {
            "response": np.concatenate([self.train_response, self.test_response]),
            "train_cases": np.array(len(self.train_response)),
            "classes": np.array(self.classes),
            "ids": np.array(self.ids, dtype=str),  # none of samples that are drawn
            "notes": np.array(self.notes, dtype=str),
            **patterns.arrays(),
            **({} if self.groups is None else {"case_groups": self.groups}),
            patterns.coded: np.concatenate([self.train, self.test]).astype(patterns.kept_as),
        }

    def training(self, find: Callable[[], Any]) -> PatternTraining:
        """Return what a model is fitted to; find : returns the groups of patterns."""
        return PatternTraining(
            self.patterns, self.train, self.train_response, len(self.classes), find
        )

    def task(self, method: Method) -> Task:
        """Return what a third-party method predicts: classes, or real responses."""
        patterns, classes = self.patterns, len(self.classes)
        (*_, codes) = patterns.names
        if patterns.kind == "sequences":
            return Task(peers.SEQUENCES, classes, values=len(codes), order=method.order)
        kind = peers.FEATURES if classes else peers.RESPONSES
        groups = None
        if self.groups is not None:
            groups = np.unique(self.groups[: len(self.train)], return_inverse=True)[1]
        return Task(kind, classes, values=[len(symbols) for symbols in codes], groups=groups)

    @classmethod
    def restore(cls, arrays: Arrays) -> "DividedSamples":
        """Return the samples that `arrays` described, without their names and notes."""
        kind = next(patterns for patterns in PATTERNS.values() if patterns.coded in arrays)
        n, response = int(arrays["train_cases"]), arrays["response"]
        codes = arrays[kind.coded].astype(kind.dtype, copy=False)
        classes, groups = [str(label) for label in arrays["classes"]], arrays.get("case_groups")
        train, test = (codes[:n], response[:n]), (codes[n:], response[n:])
        return cls(kind.restore(arrays), *train, *test, classes, groups=groups)


def method_of(model: "Logistic") -> Method:
    """Return a model of patterns as result files describe it."""
    return Method(
        order=int(model.order), prior=model.prior, compress=model.compress, engine=model.engine,
        scale=model.sigma_scale, joint=model.joint_updates, name=model.name,
    )  # fmt: skip


# ---- the samples of a config ----


class PatternDesign:
    """The training and test samples of each division of a config's data.

    samples : returns those of a division; the last ones are kept.
    """

    def __init__(self, config: Config, folder: Path):
        assert config.data is not None
        self.config, self.folder, self.model, self.data = config, folder, config.model, config.data
        self.samples = lru_cache(maxsize=1)(self._samples)
        self._drawn = lru_cache(maxsize=1)(self._draw)  # kept for its folds

    @cached_property
    def stored(self) -> list[Any]:
        """Sequences or FeatureTables that are read: all samples, or training and test samples."""
        if self.data.drawn:
            return []
        with self.config.wrong_data():
            return self.data.read(self.folder, continuous=self.config.continuous)

    @cached_property
    def sizes(self) -> Sizes:
        """Numbers of samples, states and so on; data are read to know them, but not drawn.

        Where features are selected, at most so many are kept.
        """
        sizes, selection = self._sizes_of_data, cast(Any, self.config.selection)
        return replace(sizes, width=selection.most_columns(sizes.width)) if selection else sizes

    @property
    def _sizes_of_data(self) -> Sizes:
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

    @cached_property
    def notes(self) -> list[str]:
        """What the user should know about samples that are read, a line each."""
        notes = [note for table in self.stored for note in table.notes]
        if self.config.scheme == "none" and self.stored:
            unseen = int((self.stored[-1].inputs[:, :] == UNSEEN).sum())
            what = "values that only the test table has count as missing where all samples train"
            notes += [f"{unseen:,} {what}"] if unseen else []
        return notes

    @property
    def drawn_with(self) -> dict[str, object]:
        """What samples depend on besides the settings of `data`."""
        if self.data.family != "features" and self.config.scheme != "k-fold":
            return {}
        return {
            "scheme": self.config.scheme,
            "folds": self.config.evaluation.folds,
            "response": self.model.response,
        }

    def numbers(self, orders: Sequence[Any]) -> list[int]:
        """Return orders of which "all" is one as numbers, each once."""
        return list(dict.fromkeys(self.sizes.width if o == "all" else int(o) for o in orders))

    def check_sizes(self) -> None:
        """Raise ConfigError for sizes that there cannot be; nothing is drawn for it."""
        sizes, wrong = self.sizes, self.config.wrong  # reads the data: not the orders' faults
        key, _, problem = self.model.order_beyond(sizes.width, self.data.family).partition(": ")
        if problem:
            raise wrong(key, problem)
        folds = self.config.evaluation.folds
        if self.config.scheme == "k-fold" and folds > sizes.train:
            fault = f"cannot form {folds:,} folds of {sizes.train:,} samples"
            raise wrong("evaluation.folds", f"{fault}. Fix: use at most as many")

    def check(self) -> None:
        """Raise ConfigError or DataError for what only the data show to be wrong."""
        wrong, model, divided = self.config.wrong, self.model, self.data.divided_at
        self.check_sizes()
        if self.stored and divided is not None and self.config.scheme != "none":
            samples = len(self.stored[0].response)
            if divided[0] >= samples:
                fix = f"use at most {samples - 1}"
                raise wrong("data.train", f"there are {samples} samples. Fix: {fix}")
        if self.data.family == "features":
            samples = len(self.samples(0).train)
            if model.min_samples > samples:
                fault = f"there are {samples} training samples"
                raise wrong("model.min_samples", f"{fault}. Fix: use at most as many")
        order = self.config.report.order
        if order is not None and order not in self.numbers(model.orders):
            raise wrong("report.order", f"{order} is not one of model.orders. Fix: choose one")

    # ---- drawing and dividing ----

    def _samples(self, division: int) -> DividedSamples:
        """Draw or divide the samples, or say why nothing can be learnt from them."""
        config, data = self.config, self.data
        train: Any = slice(None)
        test: Any = slice(None)
        if config.scheme == "k-fold":
            replicate, fold = divmod(division, config.evaluation.folds)
            first = last = self.stored[0] if self.stored else self._drawn(replicate)
            test = self._folds(first, replicate) == fold
            train = ~test
        elif config.scheme == "none" or len(self.stored) == 2:
            first, last = self.stored[0], self.stored[-1]
            test = slice(0 if config.scheme == "none" else None)
        else:
            first = self.stored[0] if self.stored else self._drawn(division)
            assert data.divided_at is not None
            last, (at, more) = first, data.divided_at
            train, test = slice(at), slice(at, None if more is None else at + more)
        X, y, ids = _rows(first, train)
        if config.scheme == "none" and last is not first:
            new, response, more_ids = _rows(last, slice(None))
            X = np.concatenate([X, np.where(new == UNSEEN, MISSING, new)])
            y, ids = np.concatenate([y, response]), ids + more_ids
        if y.min() == y.max() or not np.std(y) > 0:
            problem = f"have the response {y[0]:g}"
            if first.classes:
                problem = f"are of class {first.classes[y[0]]!r}"
            raise DataError(
                f"all {len(y):,} training samples {problem}. Fix: choose another response, "
                "choose other samples"
            )
        test_X, test_y, test_ids = _rows(last, test)
        patterns: Any = PATTERNS[data.family].like(last)
        if config.selection is not None:
            features = self._selected(X, y, division)
            patterns, X, test_X = patterns.take(features), X[:, features], test_X[:, features]
        groups = None
        if first.groups:  # those of other tables do not matter
            numbers = numbered(first.groups)
            single = numbers.max() + 1 + np.arange(len(y) + len(test_y))  # samples without a group
            test_groups = numbers[test] if first is last else single[len(y) :]
            groups = np.concatenate([numbers[train], single])[: len(y)]
            groups = np.concatenate([groups, test_groups[: len(test_y)]])
        ids, notes = (ids + test_ids, self.notes) if self.stored else ([], first.notes)
        return DividedSamples(patterns, X, y, test_X, test_y, first.classes, ids, notes, groups)

    def _selected(self, X: np.ndarray, y: np.ndarray, division: int) -> np.ndarray:
        """Return the features of the patterns that are selected in training samples."""
        selection, rng = self.config.selection, generator(self.config.seed, "ties", division)
        features = cast(Any, selection).columns(X, y, rng)
        order = max(self.model.orders)
        if len(features) < order:
            raise self.config.wrong(
                "selection.features",
                f"the selected patterns have {pluralise(len(features), 'feature')}, fewer "
                f"than model.orders ({order}). Fix: select more patterns",
            )
        return features

    def _folds(self, table: Any, replicate: int) -> np.ndarray:
        """Return the fold of each sample of a replicate."""
        number = self.config.evaluation.folds
        rng = generator(self.config.seed, "folds", number, replicate)
        try:
            return folds(table.inputs, table.response, number, rng, table.groups)
        except DataError as error:
            raise self.config.wrong("evaluation.folds", str(error)) from None

    def _draw(self, replicate: int) -> Any:
        """Draw a replicate."""
        data = self.data.with_model(replicate // self.config.replicates)
        rng = generator(self.config.seed, "data", data.settings_of_draws, replicate)
        with self.config.wrong_data():
            return data.draw(rng, continuous=self.config.continuous)


def _rows(table: Any, rows: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return codes, responses and names of some samples of Sequences or a FeatureTable."""
    places = np.arange(len(table.response))[rows].tolist()
    ids = [table.ids[i] for i in places] if table.ids else [str(i + 1) for i in places]
    return table.inputs[rows], table.response[rows], ids


def folds(
    X: np.ndarray,
    response: np.ndarray,
    k: int,
    rng: np.random.Generator,
    groups: Sequence[str] = (),
) -> np.ndarray:
    """Return the fold of each sample, (n,) from 0 to k - 1, for k-fold cross-validation.

    Equal rows of X are in one fold, or, where there are groups, the samples of a group.  Each class
    is spread as evenly as this allows: evenly to one sample if no rows are equal, and so are the
    sizes.  Real responses are one class.

    Raises
    ------
    DataError: k below 2, or above the number of distinct rows.
    """
    if groups:
        row, what, problem = numbered(groups), "groups of samples", "are of one group"
    else:
        row = np.unique(X[:, :], axis=0, return_inverse=True)[1].reshape(-1)
        what, problem = "distinct rows", "have the same features, and equal samples share a fold"
    distinct = row.max() + 1
    if distinct < 2:
        raise DataError(f"all {len(X):,} samples {problem}; the samples cannot be divided")
    if not 2 <= k <= distinct:
        fault = f"cannot form {k} folds of {distinct} {what}"
        raise DataError(f"{fault}. Fix: choose from 2 to {distinct}")
    if response.dtype.kind == "f":
        response = np.zeros(len(response), dtype=np.int64)
    return together(row, response, k, rng)


# ---- the stages ----


class PatternWork(Work):
    """Patterns are grouped, coefficients of groups sampled, and test samples predicted.

    samples, groups, read : of a block the samples, of a block, an order and compressed or not the
        groups of the compress stage, of a method and a block its draws; the last ones are kept.
    """

    stages: tuple[str, ...] = ("simulate", "compress", "fit", "predict")

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self.design, self.model = PatternDesign(config, folder), config.model
        if config.scheme == "none":
            self.stages = self.stages[:-1]  # nobody is tested
        if "chains" not in self.model.engine:  # the other methods need no groups
            self.stages = self.stages[0], self.stages[-1]
        last = lru_cache(maxsize=1)
        self.samples = last(lambda block: DividedSamples.restore(block.load("simulate")))
        self.groups = last(self._stored_groups)
        self.read = last(
            lambda method, block: read_draws(
                block.draws("fit", method.name), block.key("fit", method.name)
            )
        )

    @property
    def modules(self) -> tuple[str, ...]:
        block = self.config.selection
        selecting = () if block is None else (type(block).__module__,)
        return (*super().modules, MODELS[self.model.kind].__module__, *selecting)

    @property
    def data_digest(self) -> str:
        return "".join(table.digest for table in self.design.stored)

    def check(self) -> None:
        self.design.check()
        if self.config.scheme != "none":
            self._check_traced()

    def _check_traced(self) -> None:
        """Raise ConfigError for coefficients that there cannot be."""
        names = self.config.report.traced
        if not names:
            return
        samples, order = self.design.samples(0), self.config.report.order or max(self.orders)
        patterns = samples.patterns
        groups = patterns.groups(samples.train, order, min_samples=self.model.min_samples)
        for name in names:
            pattern, colon, response = name.rpartition(":")
            try:
                if self.config.continuous:
                    pattern = name
                elif not colon:
                    raise UserError("write a pattern, a colon and a response, such as CC:V")
                elif response not in samples.classes:
                    raise UserError(f"there is no class {response!r}")
                group = groups.pattern(groups.find(pattern, *patterns.names), *patterns.names)
                # a report knows groups of features by name
                first, second = ({*map(str.strip, p.split(","))} for p in (group, pattern))
                if patterns.kind == "features" and first != second:
                    raise UserError(f"its group is named {group}")
            except UserError as error:
                raise self.config.wrong("report.traced", f"{name}: {error}") from None

    # ---- methods ----

    @cached_property
    def orders(self) -> list[int]:
        """The orders, "all" in numbers."""
        return self.design.numbers(self.model.orders)

    @cached_property
    def own_methods(self) -> "dict[str, Logistic]":
        """Our models by name."""
        if "chains" not in self.model.engine:
            return {}
        models = MODELS[self.model.kind].methods(self.model, self.orders)
        return {model.name: model for model in models}

    @cached_property
    def third_party_methods(self) -> dict[str, Method]:
        """Third-party methods by name; of sequences each with the last states of every order."""
        whole = {peer: (peer, ALL) for peer in self.model.peers}
        if self.design.data.family == "sequences":
            whole = {f"{o}-{peer}": (peer, o) for peer in whole for o in self.orders}
        if "mixing" in self.model.engine:
            longest = min(self.design.sizes.width, mixing.MOST_ORDER)
            whole = {f"{longest}-mixing": ("mixing", longest)} | whole
        return {
            name: Method(order=order, prior=NONE, engine=peer, scale=NONE, joint=0, name=name)
            for name, (peer, order) in whole.items()
        }

    @property
    def all_methods(self) -> dict[str, Any]:
        """All methods by name: our models first, then third-party methods."""
        return {**self.own_methods, **self.third_party_methods}

    @property
    def fitted_methods(self) -> dict[str, Any]:
        """The methods of the stage `fit`; third-party ones too, to predict new samples."""
        return self.all_methods if self.config.for_new_samples else {**self.own_methods}

    def methods(self, stage: str) -> dict[str, int]:
        if stage == "predict":
            return dict.fromkeys(self.all_methods, 0)
        if stage != "fit":
            return {}
        # chains that have to agree run together, in one cell
        chains = self.model.chains if self.model.until is None else 0
        return {name: chains if name in self.own_methods else 0 for name in self.fitted_methods}

    def draws_name(self, stage: str, method: str) -> str | None:
        return method if stage == "fit" and method in self.own_methods else None

    @property
    def chooses(self) -> bool:
        """Whether methods are chosen inside the training samples of each division."""
        return self.config.evaluation.choose and self.config.scheme != "none"

    def settings_of(self, stage: str, name: str = "") -> object:
        model, design = self.model, self.design
        if stage == "simulate":
            data, selection = design.data.model_dump(), self.config.selection
            settings = [self.config.seed, data, self.data_digest, design.drawn_with]
            return settings if selection is None else [*settings, selection.model_dump()]
        if stage == "compress":
            return model.model_dump(
                include={"min_samples"} if name else {"orders", "compress", "min_samples"}
            )
        if name and name not in self.own_methods:
            return "choose" if stage == "predict" and self.chooses else None
        # a method says itself what it is
        keys = {"engine", "orders", "priors", "compress", "sigma_scale", "joint_updates"}
        methods = keys if name else set()
        if stage == "fit":
            peers_too = self.config.for_new_samples and not name
            return model.model_dump(exclude=methods if peers_too else {"peers", *methods})
        return [None if name else [*self.third_party_methods], "choose" if self.chooses else False]

    def needs(self, replicates: int) -> Needs:
        self.design.check_sizes()
        sizes = self.design.sizes
        classes = 0 if self.config.continuous else sizes.classes
        predicted = 8 * sizes.test * (classes or 3)
        codes = (sizes.train + sizes.test) * sizes.width
        fits = 1 + PARTS * self.chooses
        needed = Needs(
            fits=fits * len(self.own_methods), disk=codes + len(self.all_methods) * predicted
        )
        most = 0
        for model in self.own_methods.values():
            memory, iterations = model.needs(classes, sizes.test)
            needed.iterations += fits * iterations
            most = max(most, memory)
        for method in self.third_party_methods.values():
            if method.engine == "mixing":
                numbers = method.order, sizes.values, sizes.classes
                most = max(most, mixing.memory(sizes.train, *numbers))
        response = 8 * (sizes.train + sizes.test)
        needed.memory = codes + response + predicted + 8 * sizes.values * sizes.classes + most
        return needed

    # ---- making it ----

    def make(self, cell: Cell, block: CellBlock, unfinished: Unfinished) -> Arrays:
        folds = self.config.evaluation.folds if self.config.scheme == "k-fold" else 1
        block.graph.progress(block.number % folds, folds)
        if cell.stage == "compress":
            return self._compress(block)
        if not cell.method:
            (division,) = block.replicates
            tables = self.design.stored if division == 0 and self.design.data.own else []
            checks = np.array(self.config.check_tables(tables), dtype=str)
            return self.design.samples(division).arrays() | {"checks": checks}
        if cell.stage == "predict":
            return self._predict(cell.method, block)
        third_party = self.third_party_methods.get(cell.method)
        if third_party is not None:
            return peers.fit(*self._third_party_inputs(third_party, block, self.samples(block)))
        method = self.own_methods[cell.method]
        if cell.chain is None:
            return self._finish(method, block, unfinished)
        return self._sample(method, block, cell.chain, unfinished)

    def join(self, stage: str, parts: list[Arrays], block: CellBlock) -> Arrays:
        if stage == "predict":
            samples = self.samples(block)
            methods = [method_of(model) for model in self.own_methods.values()]
            methods += self.third_party_methods.values()
            predictions = {
                name: np.stack([arrays[name] for arrays in parts], name == "inner_losses")
                for name in parts[0]
            }
            return (
                predictions
                | peers.as_columns(methods, peers.OF_PATTERNS)
                | {
                    "response": samples.test_response,
                    "train_response": samples.train_response,
                    "classes": np.array(samples.classes),
                }
            )
        fits = [
            arrays
            for name, arrays in zip(self.fitted_methods, parts, strict=True)
            if name in self.own_methods
        ]
        width = max((len(arrays["rhat"]) for arrays in fits), default=0)
        for arrays in fits:
            for name in ("rhat", "ess"):
                missing = (0, width - len(arrays[name]))
                arrays[name] = np.pad(arrays[name], missing, constant_values=np.nan)
        names = [name for name in (*OF_FITS, "rhat", "ess") if fits and name in fits[0]]
        return {name: np.array([arrays[name] for arrays in fits]) for name in names} | {
            "arm": np.arange(len(self.own_methods)),
            "name": np.array(list(self.own_methods)),
            "draws": np.array([block.key("fit", method) for method in self.own_methods]),
        }

    def generator(
        self, purpose: str, method: "Logistic | Method", block: CellBlock, chain: int = 0
    ) -> np.random.Generator:
        """Return the generator of a chain, or of a method's predictions."""
        (replicate,) = block.replicates
        return generator(self.config.seed, purpose, replicate, method.name, chain)

    def _third_party_inputs(
        self, method: Method, block: CellBlock, samples: DividedSamples, *test: np.ndarray
    ) -> tuple[Any, ...]:
        """Return the arguments of `peers.fit`, or with test samples of `peers.fit_predict`."""
        rng = self.generator("peer", method, block)
        task, seed = samples.task(method), int(rng.integers(2**31))
        return method.engine, task, samples.train, samples.train_response, *test, seed

    # ---- compress ----

    def find_groups(
        self, block: CellBlock, order: int, *, compress: bool = True, arrays: Arrays | None = None
    ) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of patterns of the training samples; arrays : those that are stored."""
        samples = self.samples(block)
        keys = {"compress": compress, "min_samples": self.model.min_samples}
        return samples.patterns.groups(samples.train, order, arrays=arrays, **keys)

    def _compress(self, block: CellBlock) -> Arrays:
        """Return the numbers of groups by order, and the groups of every method that has some."""
        stored: Arrays = {}
        rows, growth, test = [], np.zeros(1, dtype=np.int64), self.samples(block).test
        for order in self.orders:
            started = time.process_time()
            groups = self.find_groups(block, order)
            seconds = time.process_time() - started
            rows.append([groups.n_groups, groups.n_patterns, groups.n_rows, seconds])
            if order == max(self.orders):
                growth = groups.growth()
            for compress in sorted(self.model.compress, reverse=True):
                if not compress:
                    groups = self.find_groups(block, order, compress=False)
                arrays, folder = groups.arrays(), _folder(order, compress)
                shared = asdict(groups.shared(test)) if len(test) else {}
                arrays |= {f"shared/{name}": values for name, values in shared.items()}
                stored |= {f"{folder}/{name}": values for name, values in arrays.items()}
        grown = np.flatnonzero(np.diff(growth, prepend=0))
        counts = np.array(rows)
        return stored | {
            "order": np.array(self.orders),
            "groups": counts[:, 0].astype(np.int64),
            "patterns": counts[:, 1].astype(np.int64),
            "rows": counts[:, 2].astype(np.int64),
            "seconds": counts[:, 3],
            "growth": growth,
            "stopped": np.array(grown[-1] if len(grown) else 0),
        }

    def _stored_groups(self, block: CellBlock, order: int, compress: bool) -> Any:
        names = self.samples(block).patterns.stored
        arrays = _compressed(block, _folder(order, compress), names)
        return self.find_groups(block, order, compress=compress, arrays=arrays)

    def shared(self, method: "Logistic", block: CellBlock) -> Shared:
        """Return what the test samples share with the groups of a method."""
        folder = f"{_folder(method.order, method.compress)}/shared"
        return Shared(**_compressed(block, folder, [field.name for field in fields(Shared)]))

    def list_groups(
        self, block: CellBlock, order: int | None, most: int, pattern: str | None
    ) -> list[str]:
        """Return lines about the groups that most samples express, and about that of a pattern."""
        patterns = self.samples(block).patterns
        groups = self.find_groups(block, max(self.orders) if order is None else order)
        sizes = groups.expressed
        largest = list(np.argsort(-sizes, kind="stable")[:most])
        if pattern is not None:
            largest.append(groups.find(pattern, *patterns.names))
        return [
            f"{patterns.describe(groups, int(g))}, {pluralise(sizes[g], 'training sample')}"
            for g in largest
        ]

    # ---- fit ----

    def training(self, method: "Logistic", block: CellBlock) -> PatternTraining:
        """Return what the model of a method is fitted to."""
        samples = self.samples(block)
        find = partial(self.groups, block, method.order, method.compress)
        training = samples.training(find)
        if not len(samples.test):
            return training
        return replace(training, tests=samples.test, shared=partial(self.shared, method, block))

    def identity(self, method: "Logistic", block: CellBlock) -> dict[str, Any]:
        """Return what chains must share to go on from one another."""
        keys, (replicate,) = asdict(method), block.replicates
        data = self.design.data.model_dump(mode="json")
        settings = {
            **{name: value for name, value in keys.items() if name != "iterations"},
            **{f"data.{name}": value for name, value in data.items()},
            "arm": method.name,
            "code": block.code,
            "seed": self.config.seed,
            "replicate": replicate,
            "simulated samples": block.key("simulate"),
        }
        return json.loads(json.dumps(settings))

    def _sample(
        self, method: "Logistic", block: CellBlock, chain: int, unfinished: Unfinished
    ) -> Arrays:
        """Run a chain of a method, or go on with the one that is stored."""
        stored, seconds = self._stored(method, block)
        saved = None if stored is None else _extract_chain(stored, chain, 0)
        running = unfinished.begin(0, saved, seconds / self.model.chains)
        rngs = [self.generator("chain", method, block, chain)]
        draws = method.sample(
            self.training(method, block), rngs, saved=running.saved, save=running.save
        )
        return {
            name: values.astype(np.float32) if name == "draws-0-coefficient" else values
            for name, values in draws.saved.items()
        } | {"seconds": running.seconds}

    def _finish(self, method: "Logistic", block: CellBlock, unfinished: Unfinished) -> Arrays:
        """Write the draws of all chains of a method, and return what tables need of them.

        Chains that have to agree are run here; stored ones go on where they stand.
        """
        save, seconds, chains = None, 0.0, range(self.model.chains)
        if method.until is not None:
            running = unfinished.begin(0, *self._stored(method, block))
            saved, save = running.saved, running.save
        else:  # nothing is left to sample
            saved = {}
            for chain in chains:
                sampled = block.read("fit", method.name, chain)
                seconds += float(sampled.pop("seconds"))
                saved |= _extract_chain(sampled, 0, chain)
        rngs = [self.generator("chain", method, block, chain) for chain in chains]
        training = self.training(method, block)
        draws = method.sample(training, rngs, saved=saved, save=save)
        if save is not None:
            seconds = float(running.seconds)
        rhat, ess = draws.compared()
        judgement = draws.judgement
        reliable = method.reliable(rhat, ess) if judgement is None else judgement.reliable
        summary = {
            "rhat": rhat,
            "ess": ess,
            "reliable": np.array(reliable),
            "evaluations": draws.evaluations,
            "log_likelihood": np.array(draws.log_likelihood.mean()),
            "separated": np.array(method.separated(training, draws)),
        }
        if judgement is not None:
            summary |= judgement.arrays(int(draws.state["done"]))
        more: dict[str, Any] = {
            name: ((f"{name}_part",) if values.ndim else (), values)
            for name, values in summary.items()
            if name != "log_likelihood"  # of every draw, it is there
        }
        identity = json.dumps(self.identity(method, block), sort_keys=True)
        more["identity"] = ((), np.array(identity))
        more |= method.described(training, draws)
        attributes = {
            "arm": method.name,
            "classes": ", ".join(self.samples(block).classes),
            "key": block.key("fit", method.name),
        }
        write_draws(block.draws("fit", method.name), *draws.as_arviz(more, attributes))
        return summary | {"seconds": np.array(seconds)}

    def _stored(self, method: "Logistic", block: CellBlock) -> tuple[Arrays | None, float]:
        """Return the stored chains of a method, if they can go on, and the seconds that they took.

        Raises UserError where they have done more iterations.
        """
        iterations, path = self.model.iterations, block.draws("fit", method.name)
        try:
            stored = read_draws(path)
            if json.loads(str(stored["identity"])) != self.identity(method, block):
                return None, 0.0
            if int(stored["done"]) <= iterations:
                seconds = 0.0  # if it is not known
                with suppress(ResultsError, KeyError, ValueError):
                    fit = block.results.load("fit", block.number)
                    seconds = float(fit["seconds"][list(fit["name"]).index(method.name)])
                return method.saved_from(stored), seconds
        except (ResultsError, KeyError):
            return None, 0.0
        raise UserError(
            f"{path}: its chains have run {int(stored['done']):,} iterations. Fix: set at least as "
            "many in model.iterations, or add --force"
        )

    # ---- predict ----

    def posterior(self, method: "Logistic", block: CellBlock) -> "Posterior":
        """Return the draws of a method as predictions need them."""
        return method.posterior(self.training(method, block), self.read(method, block))

    def _predict(self, name: str, block: CellBlock) -> Arrays:
        """Return what is predicted of the test samples, (T, .) each.

        probability (T, K); or of real responses the arrays that `density.SCORED` names.
        """
        samples = self.samples(block)
        third_party = self.third_party_methods.get(name)
        if third_party is not None:
            # packages, and below files, before the clock starts
            peers.load(third_party.engine, samples.task(third_party).kind)
            started = time.process_time()
            inputs = self._third_party_inputs(third_party, block, samples, samples.test)
            predicted = _scored(peers.fit_predict(*inputs), samples)
        else:
            method = self.own_methods[name]
            self.read(method, block)
            started = time.process_time()
            shared, rng = self.shared(method, block), self.generator("predict", method, block)
            posterior = self.posterior(method, block)
            predicted = posterior.tested(samples.test, samples.test_response, rng, shared)
        check_predictions(predicted)
        predicted["seconds"] = np.array(time.process_time() - started)
        if self.chooses:
            predicted["inner_losses"] = self._inner_losses(name, block)
        return predicted

    def _inner_losses(self, name: str, block: CellBlock) -> np.ndarray:
        """Summarise the excess log losses of a method on left-out training samples, (1, 3).

        They are left out in PARTS parts; NaN where the samples cannot be divided.
        """
        samples, n = self.samples(block), len(self.samples(block).train)
        X, y, losses = samples.train, samples.train_response, [np.empty(0)]
        groups = None if samples.groups is None else samples.groups[:n]
        rng = generator(self.config.seed, "parts", *block.replicates)
        try:
            part = folds(X, y, PARTS, rng, () if groups is None else [*map(str, groups)])
        except DataError:  # too few
            return np.array([summarise_losses(np.empty(0))])
        for number in range(PARTS):
            train, test = part != number, part == number
            counts = np.array([train.sum()])
            if samples.classes:
                counts = np.bincount(y[train], minlength=len(samples.classes))
            if counts.min() > 1 and np.ptp(y[train]) > 0:
                inner = replace(samples, train=X[train], train_response=y[train], test=X[test])
                inner, test_groups = replace(inner, test_response=y[test]), None
                if groups is not None:
                    inner, test_groups = replace(inner, groups=groups[train]), groups[test]
                predicted = self._fit_predict(name, block, inner, number)
                if samples.classes:
                    loss = excess_log_loss(predicted["probability"], y[test], counts)
                else:
                    loss = excess_log_density(predicted["log_density"], y[test], y[train])
                losses.append(group_means(loss, test_groups))
        return np.array([summarise_losses(np.concatenate(losses))])

    def _fit_predict(
        self, name: str, block: CellBlock, samples: DividedSamples, number: int
    ) -> Arrays:
        """Return what a method predicts of tests after a fit to a part of the samples."""
        third_party = self.third_party_methods.get(name)
        if third_party is not None:
            inputs = self._third_party_inputs(third_party, block, samples, samples.test)
            return _scored(peers.fit_predict(*inputs), samples)
        method = self.own_methods[name]
        keys = {"compress": method.compress, "min_samples": method.min_samples}
        find = partial(samples.patterns.groups, samples.train, int(method.order), **keys)
        training = samples.training(find)
        *rngs, last = self.generator("within", method, block, number).spawn(self.model.chains + 1)
        posterior = method.sample(training, rngs).posterior(method, training)
        return posterior.tested(samples.test, samples.test_response, last)


def _scored(predicted: np.ndarray, samples: DividedSamples) -> Arrays:
    """Return what is stored of a third-party method: probabilities, or scores of densities."""
    if samples.classes:
        return {"probability": predicted}
    return Density.of_students(predicted).scores(samples.test_response)


def _folder(order: int | str, compress: bool) -> str:
    """Return where the compress stage keeps the groups of an order."""
    return f"order {order}, {'compressed' if compress else 'original'}"


def _compressed(block: CellBlock, folder: str, names: Sequence[str]) -> Arrays:
    return marked(block.load("compress", [f"{folder}/{name}" for name in names]), f"{folder}/")


def _extract_chain(saved: Arrays, chain: int, number: int) -> Arrays:
    """Extract a chain from `saved`, and store it under another number."""
    kinds = ("state", "draws")
    common = {name: values for name, values in saved.items() if not name.startswith(kinds)}
    return common | {
        f"{kind}-{number}-{name}": values
        for kind in kinds
        for name, values in marked(saved, f"{kind}-{chain}-").items()
    }
