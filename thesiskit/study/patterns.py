"""The experiments of chapter 3: simulate, compress, fit, predict.

An *arm* is a model with its settings (which models there are is not known here: `MODELS` has them
by name), or a method of others with its order.  A *division* is a drawing of the data, or a fold of
them; of data with a test set that are read all are the same.

Patterns are grouped for each order once.  One file for each arm holds draws, traces and the state
of its chains.  Chains of a file that was made with the same settings but fewer iterations go on
from there.
"""

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.datasets.source import LogisticPriors, Sizes
from thesiskit.defaults import SIGMA_0
from thesiskit.errors import DataError, ResultsError, UserError
from thesiskit.files import read_draws, write_draws
from thesiskit.models import MODELS, peers, ranks
from thesiskit.models.base import PatternTraining
from thesiskit.models.chains import REACHED, Arrays, marked
from thesiskit.models.patterns import (
    MISSING,
    PATTERNS,
    UNSEEN,
    Groups,
    Patterns,
    Shared,
    check_order,
)
from thesiskit.registry import fit_command
from thesiskit.study.cells import Block, Cell, Needs, Unfinished, Work, generator

ALL = -1  # in place of an order
TRUE = "true_"  # before the names of what drawn cases were drawn with
OF_FITS = (  # of each arm a number or a name
    "seconds", "reliable", "evaluations", "log_likelihood", "separated", *REACHED,
)  # fmt: skip
OF_ARMS = ("order", "prior", "compress", "engine", "scale", "name")  # of each arm, in predictions


@dataclass(frozen=True)
class Cases:
    """PatternTraining and test cases of one division."""

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
    """What is fitted, or compared with.

    order : what a method of others sees of a history; of one that sees all features, ALL.
    prior : "none" of a method of others; engine : its name.
    model : None of a method of others.
    """

    name: str
    order: int
    prior: str
    compress: bool
    engine: str
    scale: str
    model: Any = None

    def task(self, patterns: Patterns, classes: int) -> peers.Task:
        """Return what a method of others predicts: classes, or with 0 real responses."""
        (*_, codes) = patterns.names
        if patterns.kind == "sequences":
            return peers.Task(peers.SEQUENCES, classes, values=len(codes), order=self.order)
        kind = peers.FEATURES if classes else peers.RESPONSES
        return peers.Task(kind, classes, values=[len(symbols) for symbols in codes])


# ---- the cases and the arms of a config ----


class PatternDesign:
    """The training and test cases of each division of a config's data, and what is fitted."""

    def __init__(self, config: Config, folder: Path):
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
        if self.config.scheme == "none" and self.stored:
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
        """Everything that is fitted, and the methods of others whose packages are here."""
        models = MODELS[self.model.kind].arms(self.model, self.orders, self.original_orders)
        own = [
            Arm(one.name, one.order, one.prior, one.compress, one.engine, one.sigma_scale, one)
            for one in models
        ]
        seen = self.orders if self._patterns.kind == "sequences" else [ALL]
        return own + [
            Arm(peer if order == ALL else f"{order}-{peer}", order, "none", False, peer, "none")
            for peer in self.peers
            for order in seen
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
        if self.stored and self.config.scheme != "none":
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
        """What the codes of these data mean."""
        return self._patterns.like(self.any_cases)

    def _divided(self, division: int) -> Cases:
        """Draw or divide the cases."""
        if self.config.scheme == "none":
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


# ---- what stages keep of a division ----


class PatternFits:
    """What was kept of one division; fits and predicts its arms."""

    def __init__(self, design: PatternDesign, block: Block):
        self.config, self.keys, self.orders = design.config, design.model, design.orders
        self.block = block
        (self.replicate,) = block.replicates
        # of what was asked for last: several arms have the same groups
        self._groups: tuple[Any, Any] = None, None
        self._draws: tuple[Arm | None, Arrays] = None, {}

    # ---- cases and groups ----

    @cached_property
    def _simulated(self) -> Arrays:
        return self.block.load("simulate")

    @cached_property
    def patterns(self) -> Patterns:
        """What the patterns of the cases are."""
        kind = "sequences" if PATTERNS["sequences"].coded in self._simulated else "features"
        return PATTERNS[kind].restore(self._simulated)

    @cached_property
    def cases(self) -> Cases:
        """The training and the test cases."""
        arrays, n = self._simulated, int(self._simulated["train_cases"])
        codes, response = arrays[self.patterns.coded], arrays["response"]
        if self.patterns.kind == "sequences":
            codes = codes.astype(np.int32)
        classes = [str(label) for label in arrays["classes"]]
        truth = marked(arrays, TRUE)
        return Cases(codes[:n], response[:n], codes[n:], response[n:], classes, truth)

    def find_groups(
        self, order: int, *, compress: bool = True, arrays: Arrays | None = None
    ) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of patterns of the training cases; arrays : those that are stored."""
        return self.patterns.groups(
            self.cases.train, order, compress=compress, min_cases=self.keys.min_cases,
            arrays=arrays,
        )  # fmt: skip

    def group_arrays(self, groups: Groups, order: int, *, compress: bool) -> Arrays:
        """Return what the compress stage keeps: groups, and what test cases share with them."""
        test = self.cases.test
        shared = asdict(groups.shared(test)) if len(test) else {}
        arrays = groups.arrays() | {f"shared/{name}": values for name, values in shared.items()}
        return {f"{_folder(order, compress)}/{name}": values for name, values in arrays.items()}

    def groups(self, arm: Arm) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of an arm; the last ones are kept."""
        folder = _folder(arm.order, arm.compress)
        if self._groups[0] != folder:
            arrays = self._compressed(folder, self.patterns.stored)
            groups = self.find_groups(arm.order, compress=arm.compress, arrays=arrays)
            self._groups = folder, groups
        return self._groups[1]

    def shared(self, arm: Arm) -> Shared:
        """Return what the test cases share with the groups of an arm."""
        folder = f"{_folder(arm.order, arm.compress)}/shared"
        return Shared(**self._compressed(folder, Shared.names()))

    def _compressed(self, folder: str, names: tuple[str, ...]) -> Arrays:
        return marked(self.block.load("compress", [f"{folder}/{n}" for n in names]), f"{folder}/")

    # ---- fit ----

    def training(self, arm: Arm) -> PatternTraining:
        """Return what the model of an arm is fitted to."""
        cases, tested = self.cases, len(self.cases.test) > 0
        return PatternTraining(
            self.patterns, cases.train, cases.train_response, len(cases.classes),
            find=lambda: self.groups(arm),
            tests=cases.test if tested else None,
            shared=(lambda: self.shared(arm)) if tested else None,
        )  # fmt: skip

    def generator(self, purpose: str, arm: Arm, chain: int = 0) -> np.random.Generator:
        """Return the generator of a chain, or of an arm's predictions."""
        return generator(self.config.seed, purpose, self.replicate, arm.name, chain)

    def identity(self, arm: Arm) -> dict[str, Any]:
        """Return what chains must share to go on from one another."""
        config = self.config
        assert config.data is not None
        keys = asdict(arm.model)
        data = config.data.model_dump(mode="json")
        found = {
            **{n: value for n, value in keys.items() if n not in ("iterations", "split_draws")},
            **{f"data.{name}": value for name, value in data.items()},
            "arm": arm.name,
            "code": self.block.code,
            "seed": config.seed,
            "replicate": self.replicate,
            "simulated cases": self.block.key("simulate"),
        }
        return json.loads(json.dumps(found))

    def sample(self, arm: Arm, chain: int, unfinished: Unfinished) -> Arrays:
        """Run a chain of an arm, or go on with the one that is stored."""
        stored, spent = self._stored(arm)
        alone = None if stored is None else _only(stored, chain, 0)
        running = unfinished.begin(0, alone, spent / self.keys.chains)
        rngs = [self.generator("chain", arm, chain)]
        draws = arm.model.sample(self.training(arm), rngs, saved=running.saved, save=running.save)
        return {
            name: values.astype(np.float32) if name == "draws-0-coefficient" else values
            for name, values in draws.saved.items()
        } | {"seconds": running.seconds}

    def finish(self, arm: Arm, unfinished: Unfinished) -> Arrays:
        """Write the draws of all chains of an arm, and return what tables need of them.

        Chains that have to agree are run here; stored ones go on where they stand.
        """
        save, seconds = None, 0.0
        if arm.model.until is not None:
            running = unfinished.begin(0, *self._stored(arm))
            saved, save = running.saved, running.save
        else:  # nothing is left to sample
            saved = {}
            for chain in range(self.keys.chains):
                sampled = self.block.read("fit", arm.name, chain)
                seconds += float(sampled.pop("seconds"))
                saved |= _only(sampled, 0, chain)
        rngs = [self.generator("chain", arm, chain) for chain in range(self.keys.chains)]
        training = self.training(arm)
        draws = arm.model.sample(training, rngs, saved=saved, save=save)
        if save is not None:
            seconds = float(running.seconds)
        rhat, ess = draws.compared()
        judged = draws.judgement
        well = arm.model.reliable(rhat, ess) if judged is None else judged.reliable
        summary = {
            "rhat": rhat,
            "ess": ess,
            "reliable": np.array(well),
            "evaluations": draws.evaluations,
            "log_likelihood": np.array(draws.log_likelihood.mean()),
            "separated": np.array(arm.model.separated(training, draws)),
        }
        if judged is not None:
            summary |= judged.arrays(int(draws.state["done"]))
        self._write(arm, training, draws, summary)
        return summary | {"seconds": np.array(seconds)}

    def _write(self, arm: Arm, training: Any, draws: Any, summary: Arrays) -> None:
        more: dict[str, Any] = {
            name: ((f"{name}_part",) if values.ndim else (), values)
            for name, values in summary.items()
            if name != "log_likelihood"  # of every draw, it is there
        }
        more["identity"] = ((), np.array(json.dumps(self.identity(arm), sort_keys=True)))
        if arm.model.grouped:
            more |= arm.model.described(training, draws)
        if self.keys.original and arm.compress:
            more |= arm.model.original(training, draws, self.generator("original", arm))
        attributes = {
            "arm": arm.name,
            "classes": ", ".join(self.cases.classes),
            "key": self.block.key("fit", arm.name),
        }
        write_draws(self.path(arm), draws.as_arviz(more, attributes))

    def fit_peer(self, arm: Arm) -> Arrays:
        """Return what a method of others learns of the training cases, as `peers.fit` does."""
        cases, seed = self.cases, int(self.generator("peer", arm).integers(2**31))
        task = arm.task(self.patterns, len(cases.classes))
        peers.load([arm.engine])
        return peers.fit(arm.engine, task, cases.train, cases.train_response, seed)

    # ---- chains that go on ----

    def _stored(self, arm: Arm) -> tuple[Arrays | None, float]:
        """Return the stored chains of an arm, if they can go on, and the seconds that they took.

        Raises UserError where they have done more iterations.
        """
        iterations, path = self.keys.iterations, self.path(arm)
        try:
            stored = read_draws(path)
            if json.loads(str(stored["identity"])) != self.identity(arm):
                return None, 0.0
            if int(stored["done"]) <= iterations:
                return arm.model.saved_from(stored), self._spent(arm)
        except (ResultsError, KeyError):
            return None, 0.0
        raise UserError(
            f"{path}: its chains have done {int(stored['done']):,} iterations; "
            f"ask for as many with model.iterations, or make shorter ones with --force"
        )

    def _spent(self, arm: Arm) -> float:
        """Return the seconds that the stored chains took, 0 if they are not known."""
        with suppress(ResultsError, KeyError, ValueError):
            fit = self.block.results.load("fit", self.block.number)
            return float(fit["seconds"][list(fit["name"]).index(arm.name)])
        return 0.0

    def check_extension(self, arm: Arm) -> None:
        """Raise UserError where the stored chains of an arm cannot go on."""
        path, wanted, iterations = self.path(arm), self.identity(arm), self.keys.iterations
        if not path.exists():
            raise UserError(f"{path} is not there; leave out --extend to make it")
        stored = read_draws(path, command=fit_command(self.keys.kind))
        made = json.loads(str(stored["identity"]))
        differ = [name for name in sorted(made | wanted) if made.get(name) != wanted.get(name)]
        settings = [name for name in differ if name != "code"]
        if settings:
            name = settings[0]
            raise UserError(
                f"{path}: its chains were made with {name} {made.get(name)!r}, the config "
                f"says {wanted.get(name)!r}; only model.iterations may grow (without --extend "
                "these chains are made again)"
            )
        if differ:
            raise UserError(
                f"{path}: its chains were made by another version of the sampler, and cannot go "
                "on; --force in place of --extend makes them again"
            )
        if int(stored["done"]) > iterations:
            raise UserError(
                f"{path}: its chains have done {int(stored['done']):,} iterations; "
                f"model.iterations asks for {iterations:,}"
            )

    # ---- predict ----

    def path(self, arm: Arm) -> Path:
        """Return the file of an arm's draws."""
        return self.block.draws("fit", arm.name)

    def read(self, arm: Arm) -> Arrays:
        """Return the draws of an arm; the last ones are kept."""
        if self._draws[0] != arm:
            key = self.block.key("fit", arm.name)
            self._draws = arm, read_draws(self.path(arm), key, command=fit_command(self.keys.kind))
        return self._draws[1]

    def posterior(self, arm: Arm) -> Any:
        """Return the draws of an arm as predictions need them."""
        return arm.model.posterior(self.training(arm), self.read(arm))

    def predict(self, arm: Arm) -> Arrays:
        """Return what is predicted of the test cases, (T, .) each.

        probability (T, K); or of real responses median, low, high and log_density.
        """
        cases = self.cases
        if arm.model is not None:
            shared = self.shared(arm) if arm.model.grouped else None
            rng = self.generator("predict", arm)
            return self.posterior(arm).tested(cases.test, cases.test_response, rng, shared)
        seed = int(self.generator("peer", arm).integers(2**31))
        task = arm.task(self.patterns, len(cases.classes))
        answer = peers.fit_predict(
            arm.engine, task, cases.train, cases.train_response, cases.test, seed
        )
        if cases.classes:
            return {"probability": answer}
        unknown = np.full(len(answer), np.nan)  # such a method says no more
        return {"median": answer, "low": unknown, "high": unknown, "log_density": unknown}

    def ranks(self, arm: Arm) -> ranks.Ranks | None:
        """Compare the truth with draws, of the model that the data were drawn from."""
        if (arm.order, arm.prior) != (self.orders[0], self.keys.priors[0]):
            return None
        n, truth = len(self.cases.train), self.cases.truth  # of the first test case
        mine = {name: truth[name][n] for name in ("probability", "linear") if name in truth}
        rng = self.generator("ranks", arm)
        return self.posterior(arm).ranks(truth | mine, self.cases.test[0], rng)


def _folder(order: int, compress: bool) -> str:
    """Return where the compress stage keeps the groups of an order."""
    return f"order {order}, {'compressed' if compress else 'original'}"


def _only(saved: Arrays, chain: int, number: int) -> Arrays:
    """Return one of the chains in `saved`, with another number, as if there were no others."""
    kinds = ("state", "draws")
    common = {name: values for name, values in saved.items() if not name.startswith(kinds)}
    return common | {
        f"{kind}-{number}-{name}": values
        for kind in kinds
        for name, values in marked(saved, f"{kind}-{chain}-").items()
    }


def case_arrays(cases: Cases, patterns: Patterns) -> Arrays:
    """Return what the simulate stage keeps: codes (n, .) of all cases, the training cases first.

    States and values have at most 255 codes; features may have negative ones, of missing values.
    """
    codes = np.concatenate([cases.train, cases.test])
    return {
        "response": np.concatenate([cases.train_response, cases.test_response]),
        "train_cases": np.array(len(cases.train_response)),
        "classes": np.array(cases.classes),
        "ids": np.array(cases.ids, dtype=str),  # none of cases that are drawn
        "notes": np.array(cases.notes, dtype=str),
        **patterns.arrays(),
        patterns.coded: codes.astype(np.uint8) if patterns.kind == "sequences" else codes,
        **{f"{TRUE}{name}": values for name, values in cases.truth.items()},
    }


# ---- the stages ----


class PatternWork(Work):
    """Patterns are grouped, coefficients of groups sampled, and test cases predicted."""

    stages: tuple[str, ...] = ("simulate", "compress", "fit", "predict")

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self.design = PatternDesign(config, folder)
        self.fit_command = fit_command(self.design.model.kind)
        if config.scheme == "none":
            self.stages = self.stages[:-1]  # nobody is tested

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules from whose imports all code is found that a result depends on."""
        block = self.config.model
        return (*super().modules, *MODELS[block.kind].modules(block))

    @property
    def data_digest(self) -> str:
        """A digest of cases that are read."""
        return self.design.digest

    @property
    def data_notes(self) -> list[str]:
        """What the user should know about cases that are read, a line each."""
        return self.design.notes

    def check(self) -> None:
        """Raise UserError for what only the data, or missing packages, show to be wrong."""
        self.design.check()
        if self.config.scheme != "none":
            self._check_traced()

    def _check_traced(self) -> None:
        """Raise ConfigError for coefficients that there cannot be."""
        wanted = self.config.report.traced
        if not wanted:
            return
        cases, patterns = self.design.cases(0), self.design.patterns
        groups = patterns.groups(
            cases.train, self.config.report.order or max(self.design.orders),
            min_cases=self.design.model.min_cases,
        )  # fmt: skip
        for name in wanted:
            pattern, colon, response = name.rpartition(":")
            try:
                if self.design.model.continuous:
                    pattern = name
                elif not colon:
                    raise UserError("write a pattern, a colon and a response, such as CC:V")
                elif response not in cases.classes:
                    raise UserError(f"there is no class {response!r}")
                group = groups.pattern(groups.find(pattern, *patterns.names), *patterns.names)
                # a report knows groups of features by name
                items = [sorted(map(str.strip, one.split(","))) for one in (group, pattern)]
                if patterns.kind == "features" and items[0] != items[1]:
                    raise UserError(f"its group goes by the name {group}")
            except UserError as error:
                raise self.config.wrong("report.traced", f"{name}: {error}") from None

    @cached_property
    def all_arms(self) -> dict[str, tuple[int, Arm]]:
        """All arms by name, with their places."""
        return {arm.name: (i, arm) for i, arm in enumerate(self.design.arms)}

    @cached_property
    def own_arms(self) -> dict[str, tuple[int, Arm]]:
        """The arms of our models."""
        return {name: one for name, one in self.all_arms.items() if one[1].model is not None}

    @property
    def fitted_arms(self) -> dict[str, tuple[int, Arm]]:
        """The arms of the stage `fit`: ours, and to predict new cases those of others, too."""
        return self.all_arms if self.config.for_new_cases else self.own_arms

    def arms(self, stage: str) -> dict[str, int]:
        """Return the arms of a stage, and how many chains each has."""
        if stage == "predict":
            return dict.fromkeys(self.all_arms, 0)
        # chains that have to agree run together, in one cell
        chains = self.design.model.chains if self.design.model.until is None else 0
        if stage != "fit":
            return {}
        return {name: chains if name in self.own_arms else 0 for name in self.fitted_arms}

    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage, or to an arm of it."""
        model = self.design.model
        if stage == "simulate":
            design = self.design
            return [self.config.seed, design.data.model_dump(), design.digest, design.drawn_with]
        if stage == "compress":
            return model.model_dump(
                include={"min_cases"} if arm else {"orders", "compress", "min_cases", "engine"}
            )
        if arm and arm not in self.own_arms:
            return None
        # an arm says itself what it is
        arms = {"orders", "priors", "compress", "engine", "sigma_scale"} if arm else set()
        if stage == "fit":
            others = set() if self.config.for_new_cases and not arm else {"peers"}
            return model.model_dump(exclude={*others, "split_draws", *arms})
        return [model.split_draws, None if arm else self.design.peers, self.config.evaluation.ranks]

    def needs(self, replicates: int) -> Needs:
        """Return what a division needs."""
        self.design.check_sizes()
        sizes = self.design.sizes
        classes = 0 if self.design.model.continuous else sizes.classes
        predicted = 8 * sizes.test * (classes or 3)
        codes = (sizes.train + sizes.test) * sizes.width
        needed = Needs(fits=len(self.own_arms), disk=codes + len(self.all_arms) * predicted)
        most = 0
        for _, arm in self.own_arms.values():
            disk, memory, iterations = arm.model.needs(sizes.train, classes)
            needed.disk += disk
            needed.iterations += iterations
            most = max(most, memory)
        needed.memory = codes + predicted + 8 * sizes.values * sizes.classes + most
        return needed

    # ---- making it ----

    def make(self, cell: Cell, block: Block, unfinished: Unfinished) -> Arrays:
        """Return the arrays of a stage without arms, of an arm, or of one of its chains."""
        fits = self.fits(block)
        if cell.stage == "compress":
            return self._compress(fits)
        if not cell.arm:
            (division,) = block.replicates
            return case_arrays(self.design.cases(division), self.design.patterns)
        arm = self.all_arms[cell.arm][1]
        if cell.stage == "predict":
            return self._predict(fits, arm)
        if arm.model is None:
            return fits.fit_peer(arm)
        if cell.chain is None:
            return fits.finish(arm, unfinished)
        return fits.sample(arm, cell.chain, unfinished)

    def join(self, stage: str, made: list[Arrays], block: Block) -> Arrays:
        """Return the arrays of `fit` or `predict` from those of their arms."""
        join = self._join_fits if stage == "fit" else self._join_predictions
        return join(made, block)

    def fits(self, block: Block) -> PatternFits:
        """Return what fits and predicts the arms of a block."""
        return PatternFits(self.design, block)

    # ---- compress ----

    def _compress(self, fits: PatternFits) -> Arrays:
        """Return the numbers of groups by order, and the groups of every arm that has some."""
        model = self.design.model
        wanted = model.compress if "slice" in model.engine else []
        kept: Arrays = {}
        rows, growth = [], np.zeros(1, dtype=np.int64)
        for order in self.design.orders:
            started = time.perf_counter()
            groups = fits.find_groups(order)
            rows.append([groups.n_groups, groups.n_patterns, groups.n_rows,
                         time.perf_counter() - started])  # fmt: skip
            if order == max(self.design.orders):
                growth = groups.growth()
            if True in wanted:
                kept |= fits.group_arrays(groups, order, compress=True)
            if False in wanted and order in self.design.original_orders:
                groups = fits.find_groups(order, compress=False)
                kept |= fits.group_arrays(groups, order, compress=False)
        grown = np.flatnonzero(np.diff(growth, prepend=0))
        counts = np.array(rows)
        return kept | {
            "order": np.array(self.design.orders),
            "groups": counts[:, 0].astype(np.int64),
            "patterns": counts[:, 1].astype(np.int64),
            "rows": counts[:, 2].astype(np.int64),
            "seconds": counts[:, 3],
            "growth": growth,
            "stopped": np.array(grown[-1] if len(grown) else 0),
        }

    def explored(self, block: Block, order: int | None = None, *, fit: bool) -> Any:
        """Return the content of the page of the groups of patterns, or of a fit."""
        from thesiskit.study.exploring import Explored  # a page: few commands need it

        return Explored(self, block, order, fit=fit).content()

    def list_groups(
        self, block: Block, order: int | None, most: int, pattern: str | None
    ) -> list[str]:
        """Return lines about the groups that most cases express, and about that of a pattern."""
        fits = self.fits(block)
        patterns = fits.patterns
        groups = fits.find_groups(max(self.design.orders) if order is None else order)
        sizes = groups.expressed
        chosen = list(np.argsort(-sizes, kind="stable")[:most])
        if pattern is not None:
            chosen.append(groups.find(pattern, *patterns.names))
        plural = {True: "case", False: "cases"}
        return [
            f"{patterns.describe(groups, int(g))}, {sizes[g]:,} training {plural[sizes[g] == 1]}"
            for g in chosen
        ]

    # ---- fit ----

    def _join_fits(self, found: list[Arrays], block: Block) -> Arrays:
        found = [one for name, one in zip(self.fitted_arms, found, strict=True)
                 if name in self.own_arms]  # fmt: skip
        width = max(len(one["rhat"]) for one in found)
        arrays = {name: np.array([one[name] for one in found]) for name in OF_FITS
                  if name in found[0]}  # fmt: skip
        for name in ("rhat", "ess"):
            arrays[name] = np.array(
                [np.pad(one[name], (0, width - len(one[name])), constant_values=np.nan)
                 for one in found]
            )  # fmt: skip
        keys = [block.key("fit", arm) for arm in self.own_arms]
        places = [place for place, _ in self.own_arms.values()]
        named = {"arm": places, "name": list(self.own_arms), "draws": keys}
        return arrays | {name: np.array(values) for name, values in named.items()}

    def check_extension(self, block: Block) -> None:
        """Raise UserError where stored chains cannot go on."""
        fits = self.fits(block)
        for _, arm in self.own_arms.values():
            fits.check_extension(arm)

    def draws_name(self, stage: str, arm: str) -> str | None:
        """Return the name of the file of draws of an arm."""
        return arm if stage == "fit" and arm in self.own_arms else None

    # ---- predict ----

    def _predict(self, fits, arm: Arm) -> Arrays:
        if arm.model is None:
            peers.load([arm.engine])
        started = time.perf_counter()
        found = fits.predict(arm)
        found["seconds"] = np.array(time.perf_counter() - started)
        if self.config.evaluation.ranks and arm.model is not None:
            found |= ranks.of_arm([fits.ranks(arm)])
        return found

    def _join_predictions(self, found: list[Arrays], block: Block) -> Arrays:
        cases, arms = self.fits(block).cases, self.design.arms
        names = [name for name in found[0] if not name.startswith("rank")]
        ranked = ranks.of_arms(found) if self.config.evaluation.ranks else {}
        return ranked | {
            **{name: np.array([one[name] for one in found]) for name in names},
            "response": cases.test_response,
            "train_response": cases.train_response,
            **{name: np.array([getattr(arm, name) for arm in arms]) for name in OF_ARMS},
            "classes": np.array(cases.classes),
        }
