"""The experiments of chapter 3: simulate, compress, fit, predict.

An *arm* is a model with its settings (which models there are is not known here: `MODELS` has them
by name), or a method of others with its order.  A *division* is a drawing of the data, or a fold
of them; of data with a test set that are read all are the same.  A block has one division.

Patterns are grouped for each order once.  One file for each arm holds draws, traces and the state
of its chains.  Chains of a file that was made with the same settings but fewer iterations go on
from there.
"""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from thesiskit.config import Config
from thesiskit.datasets.source import Sizes
from thesiskit.errors import DataError, ResultsError, UserError, counted
from thesiskit.files import read_draws, write_draws
from thesiskit.models import MODELS, peers
from thesiskit.models.base import PatternTraining
from thesiskit.models.chains import REACHED, Arrays, marked
from thesiskit.models.patterns import MISSING, PATTERNS, UNSEEN, Patterns, Shared
from thesiskit.models.peers import Task
from thesiskit.models.pipeline import Selector
from thesiskit.models.planes import Planes, features_of
from thesiskit.models.temperature import numbered, summarise_losses, together
from thesiskit.study.cells import Block, Cell, Needs, Unfinished, Work, generator
from thesiskit.study.design import excess_log_loss

ALL = -1  # in place of an order
PARTS = 3  # of training cases, to choose arms
OF_FITS = (  # of each arm a number or a name
    "seconds", "reliable", "evaluations", "log_likelihood", "separated", *REACHED,
)  # fmt: skip
OF_ARMS = {  # of each arm, in predictions: names of arrays, and of attributes
    "order": "order", "prior": "prior", "compress": "compress", "engine": "engine",
    "scale": "sigma_scale", "joint": "joint_updates", "name": "name",
}  # fmt: skip


@dataclass(frozen=True)
class Cases:
    """Training and test cases of one division, with what their codes mean."""

    patterns: Patterns
    train: np.ndarray  # (n, L) states, or (n, p) features
    train_response: np.ndarray
    test: np.ndarray
    test_response: np.ndarray
    classes: list[str]  # none where responses are real
    ids: list[str] = field(default_factory=list)  # of training and test cases that are read
    notes: list[str] = field(default_factory=list)
    groups: np.ndarray | None = None  # numbers of groups of training and test cases

    def arrays(self) -> Arrays:
        """Return what the simulate stage keeps: codes (n, .) of all cases, training cases first."""
        patterns = self.patterns
        return {
            "response": np.concatenate([self.train_response, self.test_response]),
            "train_cases": np.array(len(self.train_response)),
            "classes": np.array(self.classes),
            "ids": np.array(self.ids, dtype=str),  # none of cases that are drawn
            "notes": np.array(self.notes, dtype=str),
            **patterns.arrays(),
            **({} if self.groups is None else {"case_groups": self.groups}),
            patterns.coded: np.concatenate([self.train, self.test]).astype(patterns.kept_as),
        }

    @classmethod
    def restore(cls, arrays: Arrays) -> "Cases":
        """Return the cases that `arrays` described, without their names and notes."""
        kind = next(one for one in PATTERNS.values() if one.coded in arrays)
        n, response = int(arrays["train_cases"]), arrays["response"]
        codes = arrays[kind.coded].astype(kind.dtype, copy=False)
        classes = [str(label) for label in arrays["classes"]]
        return cls(
            kind.restore(arrays), codes[:n], response[:n], codes[n:], response[n:], classes,
            groups=arrays.get("case_groups"),
        )  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """A method of others as an arm; what is said of models has no meaning here.

    order : what it sees of a history; of one that sees all features, ALL.
    """

    engine: str
    order: int
    prior: ClassVar[str] = "none"
    compress: ClassVar[bool] = False
    sigma_scale: ClassVar[str] = "none"
    joint_updates: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """What files and tables call it."""
        return self.engine if self.order == ALL else f"{self.order}-{self.engine}"

    def task(self, cases: Cases) -> Task:
        """Return what it predicts: classes, or with 0 real responses."""
        patterns, classes = cases.patterns, len(cases.classes)
        (*_, codes) = patterns.names
        if patterns.kind == "sequences":
            return Task(peers.SEQUENCES, classes, values=len(codes), order=self.order)
        kind = peers.FEATURES if classes else peers.RESPONSES
        groups = None
        if cases.groups is not None:
            groups = np.unique(cases.groups[: len(cases.train)], return_inverse=True)[1]
        return Task(kind, classes, values=[len(symbols) for symbols in codes], groups=groups)


# ---- the cases of a config ----


class PatternDesign:
    """The training and test cases of each division of a config's data.

    cases : returns those of a division; the last ones are kept.
    """

    def __init__(self, config: Config, folder: Path):
        assert config.data is not None
        self.config, self.folder, self.model, self.data = config, folder, config.model, config.data
        self.cases = lru_cache(maxsize=1)(self._cases)
        self._drawn = lru_cache(maxsize=1)(self._draw)  # kept for its folds

    @cached_property
    def stored(self) -> list[Any]:
        """Sequences or FeatureTables that are read: all cases, or training and test cases."""
        if self.data.drawn:
            return []
        with self.config.wrong_data():
            return self.data.read(self.folder, continuous=self.model.continuous)

    @cached_property
    def sizes(self) -> Sizes:
        """Numbers of cases, states and so on; data are read to know them, but not drawn.

        Where features are selected, at most so many are kept.
        """
        whole = self._sizes_of_data
        if self.config.selection is None:
            return whole
        keep, order = self.config.selection.features, self.config.selection.order
        return replace(whole, width=min(whole.width, int(keep[0]) * order if keep else whole.width))

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
        """What the user should know about cases that are read, a line each."""
        notes = self.config.check_tables(self.stored) if self.data.own else []
        notes = [*notes, *(note for table in self.stored for note in table.notes)]
        if self.config.scheme == "none" and self.stored:
            unseen = int((self.stored[-1].inputs[:, :] == UNSEEN).sum())
            if unseen:
                notes.append(f"{unseen:,} values that only the test table has count as missing "
                             "where all cases train")  # fmt: skip
        return notes

    @property
    def drawn_with(self) -> dict[str, object]:
        """What cases depend on besides the settings of `data`."""
        divided: dict[str, object] = {}
        if self.data.family == "features" or self.config.scheme == "k-fold":
            divided = {
                "scheme": self.config.scheme,
                "folds": self.config.evaluation.folds,
                "response": self.model.response,
            }
        return divided

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
            raise wrong(
                "evaluation.folds",
                f"cannot make {folds:,} folds of {sizes.train:,} cases; use at most as many",
            )

    def check(self) -> None:
        """Raise ConfigError or DataError for what only the data show to be wrong."""
        wrong, model, divided = self.config.wrong, self.model, self.data.divided_at
        self.check_sizes()
        if self.stored and divided is not None and self.config.scheme != "none":
            cases = len(self.stored[0].response)
            if divided[0] >= cases:
                raise wrong(
                    "data.train",
                    f"there are {cases} cases; at most {cases - 1} can be trained with",
                )
        if self.data.family == "features":
            cases = len(self.cases(0).train)
            if model.min_cases > cases:
                raise wrong(
                    "model.min_cases", f"there are {cases} training cases; use at most as many"
                )
        shown = self.config.report.order
        if shown is not None and shown not in self.numbers(model.orders):
            raise wrong("report.order", f"{shown} is not one of model.orders")
        if model.split_draws != "exact":
            return
        classes = len(self.cases(0).classes)
        if classes != 2:
            raise wrong("model.split_draws", f"exact needs two classes, these data have {classes}")
        if "cauchy" in model.priors and self.data.family == "features":
            raise wrong(
                "model.split_draws",
                "exact is for Gaussian priors here: a case shares several groups in part",
            )

    # ---- drawing and dividing ----

    def _cases(self, division: int) -> Cases:
        """Draw or divide the cases, or say why nothing can be learnt from them."""
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
            classes = first.classes
            what = f"are of class {classes[y[0]]!r}" if classes else f"have the response {y[0]:g}"
            raise DataError(
                f"all {len(y):,} training cases {what}; there is nothing to predict, choose other "
                "cases"
            )
        test_X, test_y, test_ids = _rows(last, test)
        patterns: Any = PATTERNS[data.family].like(last)
        kept: Any = slice(None)
        if config.selection is not None:
            kept = self._selected(X, y, division)
            patterns = patterns.take(kept)
        X, test_X = X[:, kept], test_X[:, kept]
        groups = None
        if first.groups:  # those of other tables do not matter
            every = numbered(first.groups)
            alone = every.max() + 1 + np.arange(len(y) + len(test_y))
            tested = every[test] if first is last else alone[len(y) :]
            groups = np.concatenate([every[train], alone])[: len(y)]
            groups = np.concatenate([groups, tested[: len(test_y)]])
        return Cases(
            patterns, X, y, test_X, test_y, first.classes,
            ids + test_ids if self.stored else [], self.notes if self.stored else first.notes,
            groups,
        )  # fmt: skip

    def _selected(self, X: np.ndarray, y: np.ndarray, division: int) -> np.ndarray:
        """Return the features of the patterns that are selected in training cases."""
        wanted = self.config.selection
        assert wanted is not None
        keep = None if wanted.thresholds else int(wanted.features[0])  # type: ignore[index]
        selector = Selector(
            keep, str(wanted.thresholds[0]) if wanted.thresholds else None, order=wanted.order,
            disjoint=wanted.disjoint[0], ld=wanted.ld,
        )  # fmt: skip
        rng = generator(self.config.seed, "ties", division)
        selection = selector.select_patterns(Planes.pack(X, y), rng)
        features, order = features_of(selection.selected), max(self.model.orders)
        if len(features) < order:
            raise self.config.wrong(
                "selection.features",
                f"the patterns that are kept have {counted(len(features), 'feature')}, fewer than "
                f"model.orders ({order}); keep more patterns",
            )
        return features

    def _folds(self, table: Any, replicate: int) -> np.ndarray:
        """Return the fold of each case of a replicate."""
        number = self.config.evaluation.folds
        rng = generator(self.config.seed, "folds", number, replicate)
        try:
            return folds(table.inputs, table.response, number, rng, table.groups)
        except DataError as error:
            raise self.config.wrong("evaluation.folds", str(error)) from None

    def _draw(self, replicate: int) -> Any:
        """Draw a replicate."""
        rng = generator(self.config.seed, "data", self.data.settings_of_draws, replicate)
        with self.config.wrong_data():
            return self.data.draw(rng, continuous=self.model.continuous)


def _rows(table: Any, rows: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return codes, responses and names of some cases of Sequences or a FeatureTable."""
    places = np.arange(len(table.response))[rows].tolist()
    ids = [table.ids[i] for i in places] if table.ids else [str(i + 1) for i in places]
    return table.inputs[rows], table.response[rows], ids


def folds(
    X: np.ndarray, response: np.ndarray, k: int, rng: np.random.Generator,
    groups: Sequence[str] = (),
) -> np.ndarray:  # fmt: skip
    """Return the fold of each case, (n,) from 0 to k - 1, for k-fold cross-validation.

    Equal rows of X are in one fold, or, where there are groups, the cases of a group.  Each class
    is spread as evenly as this allows: evenly to one case if no rows are equal, and so are the
    sizes.  Real responses are one class.

    Raises
    ------
    DataError: k below 2, or above the number of distinct rows.
    """
    row = (
        numbered(groups)
        if groups
        else np.unique(X[:, :], axis=0, return_inverse=True)[1].reshape(-1)
    )
    distinct, what = row.max() + 1, "groups of cases" if groups else "distinct rows"
    if distinct < 2:
        same = (
            "are of one group" if groups else "have the same features, and equal cases share a fold"
        )
        raise DataError(f"all {len(X):,} cases {same}; there is nothing to divide")
    if not 2 <= k <= distinct:
        raise DataError(f"cannot make {k} folds of {distinct} {what}; choose from 2 to {distinct}")
    if response.dtype.kind == "f":
        response = np.zeros(len(response), dtype=np.int64)
    return together(row, response, k, rng)


# ---- the stages ----


class PatternWork(Work):
    """Patterns are grouped, coefficients of groups sampled, and test cases predicted.

    cases, groups, read : of a block the cases, of a block, an order and compressed or not the
        groups of the compress stage, of an arm and a block its draws; the last ones are kept.
    """

    stages: tuple[str, ...] = ("simulate", "compress", "fit", "predict")

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self.design, self.model = PatternDesign(config, folder), config.model
        if config.scheme == "none":
            self.stages = self.stages[:-1]  # nobody is tested
        kept = lru_cache(maxsize=1)
        self.cases = kept(lambda block: Cases.restore(block.load("simulate")))
        self.groups, self.read = kept(self._stored_groups), kept(self._read)

    @property
    def modules(self) -> tuple[str, ...]:
        return (*super().modules, MODELS[self.model.kind].__module__)

    @property
    def data_digest(self) -> str:
        return "".join(table.digest for table in self.design.stored)

    def check(self) -> None:
        self.design.check()
        if self.config.scheme != "none":
            self._check_traced()

    def _check_traced(self) -> None:
        """Raise ConfigError for coefficients that there cannot be."""
        wanted = self.config.report.traced
        if not wanted:
            return
        cases = self.design.cases(0)
        patterns = cases.patterns
        groups = patterns.groups(
            cases.train, self.config.report.order or max(self.orders),
            min_cases=self.model.min_cases,
        )  # fmt: skip
        for name in wanted:
            pattern, colon, response = name.rpartition(":")
            try:
                if self.model.continuous:
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

    # ---- arms ----

    @cached_property
    def orders(self) -> list[int]:
        """The orders, "all" in numbers."""
        return self.design.numbers(self.model.orders)

    @cached_property
    def own_arms(self) -> dict[str, Any]:
        """Our models by name."""
        models = MODELS[self.model.kind].arms(self.model, self.orders)
        return {model.name: model for model in models}

    @cached_property
    def all_arms(self) -> dict[str, Any]:
        """All arms by name: our models first, then methods of others."""
        seen = self.orders if self.design.data.family == "sequences" else [ALL]
        others = [Peer(peer, order) for peer in self.model.peers for order in seen]
        return self.own_arms | {peer.name: peer for peer in others}

    @property
    def fitted_arms(self) -> dict[str, Any]:
        """The arms of the stage `fit`: ours, and to predict new cases those of others, too."""
        return self.all_arms if self.config.for_new_cases else self.own_arms

    def arms(self, stage: str) -> dict[str, int]:
        if stage == "predict":
            return dict.fromkeys(self.all_arms, 0)
        if stage != "fit":
            return {}
        # chains that have to agree run together, in one cell
        chains = self.model.chains if self.model.until is None else 0
        return {name: chains if name in self.own_arms else 0 for name in self.fitted_arms}

    def draws_name(self, stage: str, arm: str) -> str | None:
        return arm if stage == "fit" and arm in self.own_arms else None

    @property
    def chooses(self) -> bool:
        """Whether arms are chosen inside the training cases of each division."""
        return self.config.evaluation.choose and self.config.scheme != "none"

    def settings_of(self, stage: str, arm: str = "") -> Any:
        model, design = self.model, self.design
        if stage == "simulate":
            data, wanted = design.data.model_dump(), self.config.selection
            found = [self.config.seed, data, self.data_digest, design.drawn_with]
            return found if wanted is None else [*found, wanted.model_dump()]
        if stage == "compress":
            return model.model_dump(
                include={"min_cases"} if arm else {"orders", "compress", "min_cases"}
            )
        if arm and arm not in self.own_arms:
            return "choose" if stage == "predict" and self.chooses else None
        # an arm says itself what it is
        listed = {"orders", "priors", "compress", "sigma_scale", "joint_updates"}
        arms = listed if arm else set()
        if stage == "fit":
            others = set() if self.config.for_new_cases and not arm else {"peers"}
            return model.model_dump(exclude={*others, "split_draws", *arms})
        chosen = "choose" if self.chooses else False
        return [model.split_draws, None if arm else self.model.peers, chosen]

    def needs(self, replicates: int) -> Needs:
        self.design.check_sizes()
        sizes = self.design.sizes
        classes = 0 if self.model.continuous else sizes.classes
        predicted = 8 * sizes.test * (classes or 3)
        codes = (sizes.train + sizes.test) * sizes.width
        fits = 1 + PARTS * self.chooses
        needed = Needs(fits=fits * len(self.own_arms), disk=codes + len(self.all_arms) * predicted)
        most = 0
        for model in self.own_arms.values():
            disk, memory, iterations = model.needs(sizes.train, classes, sizes.test)
            needed.disk += disk
            needed.iterations += fits * iterations
            most = max(most, memory)
        response = 8 * (sizes.train + sizes.test)
        needed.memory = codes + response + predicted + 8 * sizes.values * sizes.classes + most
        return needed

    # ---- making it ----

    def make(self, cell: Cell, block: Block, unfinished: Unfinished) -> Arrays:
        if cell.stage == "compress":
            return self._compress(block)
        if not cell.arm:
            (division,) = block.replicates
            return self.design.cases(division).arrays()
        arm = self.all_arms[cell.arm]
        if cell.stage == "predict":
            return self._predict(arm, block)
        if cell.arm not in self.own_arms:
            task, seed = self._of_peer(arm, block, self.cases(block))
            return peers.fit(*task, seed)
        if cell.chain is None:
            return self._finish(arm, block, unfinished)
        return self._sample(arm, block, cell.chain, unfinished)

    def join(self, stage: str, made: list[Arrays], block: Block) -> Arrays:
        if stage == "predict":
            cases, arms = self.cases(block), self.all_arms.values()
            return {
                **{name: np.stack([one[name] for one in made], name == "inner_losses")
                   for name in made[0]},
                "response": cases.test_response,
                "train_response": cases.train_response,
                **{name: np.array([getattr(arm, said) for arm in arms])
                   for name, said in OF_ARMS.items()},
                "classes": np.array(cases.classes),
            }  # fmt: skip
        mine = [one for name, one in zip(self.fitted_arms, made, strict=True)
                if name in self.own_arms]  # fmt: skip
        width = max(len(one["rhat"]) for one in mine)
        for one in mine:
            for name in ("rhat", "ess"):
                rest = (0, width - len(one[name]))
                one[name] = np.pad(one[name], rest, constant_values=np.nan)
        names = [name for name in OF_FITS if name in mine[0]]
        return {name: np.array([one[name] for one in mine]) for name in (*names, "rhat", "ess")} | {
            "arm": np.arange(len(self.own_arms)),
            "name": np.array(list(self.own_arms)),
            "draws": np.array([block.key("fit", arm) for arm in self.own_arms]),
        }

    def generator(
        self, purpose: str, arm: Any, block: Block, chain: int = 0
    ) -> np.random.Generator:
        """Return the generator of a chain, or of an arm's predictions."""
        (replicate,) = block.replicates
        return generator(self.config.seed, purpose, replicate, arm.name, chain)

    def _of_peer(
        self, peer: Peer, block: Block, cases: Cases
    ) -> tuple[tuple[str, Task, np.ndarray, np.ndarray], int]:
        """Return a method of others with its task and what it learns from, and its seed."""
        rng = self.generator("peer", peer, block)
        peers.load([peer.engine])
        task = peer.engine, peer.task(cases), cases.train, cases.train_response
        return task, int(rng.integers(2**31))

    # ---- compress ----

    def find_groups(
        self, block: Block, order: int, *, compress: bool = True, arrays: Arrays | None = None
    ) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of patterns of the training cases; arrays : those that are stored."""
        cases = self.cases(block)
        return cases.patterns.groups(
            cases.train, order, compress=compress, min_cases=self.model.min_cases, arrays=arrays
        )

    def _compress(self, block: Block) -> Arrays:
        """Return the numbers of groups by order, and the groups of every arm that has some."""
        kept: Arrays = {}
        rows, growth, test = [], np.zeros(1, dtype=np.int64), self.cases(block).test
        for order in self.orders:
            started = time.process_time()
            groups = self.find_groups(block, order)
            rows.append([groups.n_groups, groups.n_patterns, groups.n_rows,
                         time.process_time() - started])  # fmt: skip
            if order == max(self.orders):
                growth = groups.growth()
            for compress in sorted(self.model.compress, reverse=True):
                if not compress:
                    groups = self.find_groups(block, order, compress=False)
                arrays, folder = groups.arrays(), _folder(order, compress)
                shared = asdict(groups.shared(test)) if len(test) else {}
                arrays |= {f"shared/{name}": values for name, values in shared.items()}
                kept |= {f"{folder}/{name}": values for name, values in arrays.items()}
        grown = np.flatnonzero(np.diff(growth, prepend=0))
        counts = np.array(rows)
        return kept | {
            "order": np.array(self.orders),
            "groups": counts[:, 0].astype(np.int64),
            "patterns": counts[:, 1].astype(np.int64),
            "rows": counts[:, 2].astype(np.int64),
            "seconds": counts[:, 3],
            "growth": growth,
            "stopped": np.array(grown[-1] if len(grown) else 0),
        }

    def _stored_groups(self, block: Block, order: int, compress: bool) -> Any:
        folder, stored = _folder(order, compress), self.cases(block).patterns.stored
        arrays = _compressed(block, folder, stored)
        return self.find_groups(block, order, compress=compress, arrays=arrays)

    def shared(self, arm: Any, block: Block) -> Shared:
        """Return what the test cases share with the groups of an arm."""
        folder = f"{_folder(arm.order, arm.compress)}/shared"
        return Shared(**_compressed(block, folder, [one.name for one in fields(Shared)]))

    def list_groups(
        self, block: Block, order: int | None, most: int, pattern: str | None
    ) -> list[str]:
        """Return lines about the groups that most cases express, and about that of a pattern."""
        patterns = self.cases(block).patterns
        groups = self.find_groups(block, max(self.orders) if order is None else order)
        sizes = groups.expressed
        chosen = list(np.argsort(-sizes, kind="stable")[:most])
        if pattern is not None:
            chosen.append(groups.find(pattern, *patterns.names))
        return [
            f"{patterns.describe(groups, int(g))}, {counted(sizes[g], 'training case')}"
            for g in chosen
        ]

    # ---- fit ----

    def training(self, arm: Any, block: Block) -> PatternTraining:
        """Return what the model of an arm is fitted to."""
        cases = self.cases(block)
        tested = len(cases.test) > 0
        return PatternTraining(
            cases.patterns, cases.train, cases.train_response, len(cases.classes),
            find=partial(self.groups, block, arm.order, arm.compress),
            tests=cases.test if tested else None,
            shared=partial(self.shared, arm, block) if tested else None,
        )  # fmt: skip

    def identity(self, arm: Any, block: Block) -> dict[str, Any]:
        """Return what chains must share to go on from one another."""
        keys, (replicate,) = asdict(arm), block.replicates
        data = self.design.data.model_dump(mode="json")
        found = {
            **{n: value for n, value in keys.items() if n not in ("iterations", "split_draws")},
            **{f"data.{name}": value for name, value in data.items()},
            "arm": arm.name,
            "code": block.code,
            "seed": self.config.seed,
            "replicate": replicate,
            "simulated cases": block.key("simulate"),
        }
        return json.loads(json.dumps(found))

    def _sample(self, arm: Any, block: Block, chain: int, unfinished: Unfinished) -> Arrays:
        """Run a chain of an arm, or go on with the one that is stored."""
        stored, spent = self._stored(arm, block)
        alone = None if stored is None else _only(stored, chain, 0)
        running = unfinished.begin(0, alone, spent / self.model.chains)
        rngs = [self.generator("chain", arm, block, chain)]
        draws = arm.sample(self.training(arm, block), rngs, saved=running.saved, save=running.save)
        return {
            name: values.astype(np.float32) if name == "draws-0-coefficient" else values
            for name, values in draws.saved.items()
        } | {"seconds": running.seconds}

    def _finish(self, arm: Any, block: Block, unfinished: Unfinished) -> Arrays:
        """Write the draws of all chains of an arm, and return what tables need of them.

        Chains that have to agree are run here; stored ones go on where they stand.
        """
        save, seconds, chains = None, 0.0, range(self.model.chains)
        if arm.until is not None:
            running = unfinished.begin(0, *self._stored(arm, block))
            saved, save = running.saved, running.save
        else:  # nothing is left to sample
            saved = {}
            for chain in chains:
                sampled = block.read("fit", arm.name, chain)
                seconds += float(sampled.pop("seconds"))
                saved |= _only(sampled, 0, chain)
        rngs = [self.generator("chain", arm, block, chain) for chain in chains]
        training = self.training(arm, block)
        draws = arm.sample(training, rngs, saved=saved, save=save)
        if save is not None:
            seconds = float(running.seconds)
        rhat, ess = draws.compared()
        judged = draws.judgement
        well = arm.reliable(rhat, ess) if judged is None else judged.reliable
        summary = {
            "rhat": rhat,
            "ess": ess,
            "reliable": np.array(well),
            "evaluations": draws.evaluations,
            "log_likelihood": np.array(draws.log_likelihood.mean()),
            "separated": np.array(arm.separated(training, draws)),
        }
        if judged is not None:
            summary |= judged.arrays(int(draws.state["done"]))
        more: dict[str, Any] = {
            name: ((f"{name}_part",) if values.ndim else (), values)
            for name, values in summary.items()
            if name != "log_likelihood"  # of every draw, it is there
        }
        identity = json.dumps(self.identity(arm, block), sort_keys=True)
        more["identity"] = ((), np.array(identity))
        more |= arm.described(training, draws)
        attributes = {
            "arm": arm.name,
            "classes": ", ".join(self.cases(block).classes),
            "key": block.key("fit", arm.name),
        }
        write_draws(block.draws("fit", arm.name), draws.as_arviz(more, attributes))
        return summary | {"seconds": np.array(seconds)}

    def _stored(self, arm: Any, block: Block) -> tuple[Arrays | None, float]:
        """Return the stored chains of an arm, if they can go on, and the seconds that they took.

        Raises UserError where they have done more iterations.
        """
        iterations, path = self.model.iterations, block.draws("fit", arm.name)
        try:
            stored = read_draws(path)
            if json.loads(str(stored["identity"])) != self.identity(arm, block):
                return None, 0.0
            if int(stored["done"]) <= iterations:
                spent = 0.0  # if it is not known
                with suppress(ResultsError, KeyError, ValueError):
                    fit = block.results.load("fit", block.number)
                    spent = float(fit["seconds"][list(fit["name"]).index(arm.name)])
                return arm.saved_from(stored), spent
        except (ResultsError, KeyError):
            return None, 0.0
        raise UserError(
            f"{path}: its chains have done {int(stored['done']):,} iterations; "
            f"ask for as many with model.iterations, or make shorter ones with --force"
        )

    def check_extension(self, block: Block) -> None:
        """Raise UserError where stored chains cannot go on."""
        for arm in self.own_arms.values():
            path, wanted = block.draws("fit", arm.name), self.identity(arm, block)
            if not path.exists():
                raise UserError(f"{path} is not there; leave out --extend to make it")
            stored = read_draws(path, command=self.command("fit"))
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
                    f"{path}: its chains were made by another version of the sampler, and cannot "
                    "go on; --force in place of --extend makes them again"
                )
            if int(stored["done"]) > self.model.iterations:
                raise UserError(
                    f"{path}: its chains have done {int(stored['done']):,} iterations; "
                    f"model.iterations asks for {self.model.iterations:,}"
                )

    # ---- predict ----

    def _read(self, arm: Any, block: Block) -> Arrays:
        path, key = block.draws("fit", arm.name), block.key("fit", arm.name)
        return read_draws(path, key, command=self.command("fit"))

    def posterior(self, arm: Any, block: Block) -> Any:
        """Return the draws of an arm as predictions need them."""
        return arm.posterior(self.training(arm, block), self.read(arm, block))

    def _predict(self, arm: Any, block: Block) -> Arrays:
        """Return what is predicted of the test cases, (T, .) each.

        probability (T, K); or of real responses median, low, high and log_density.
        """
        cases, own = self.cases(block), arm.name in self.own_arms
        if own:
            self.read(arm, block)  # files, and the packages that read them, before the clock starts
        else:
            peers.load([arm.engine])
        started = time.process_time()
        if own:
            shared = self.shared(arm, block)
            rng = self.generator("predict", arm, block)
            posterior = self.posterior(arm, block)
            found = posterior.tested(cases.test, cases.test_response, rng, shared)
        else:
            task, seed = self._of_peer(arm, block, cases)
            answer = peers.fit_predict(*task, cases.test, seed)
            found = {"probability": answer}
            if not cases.classes:  # such a method says no more
                unknown = np.full(len(answer), np.nan)
                found = {"median": answer, "low": unknown, "high": unknown, "log_density": unknown}
        found["seconds"] = np.array(time.process_time() - started)
        return found | ({"inner_losses": self._inner_losses(arm, block)} if self.chooses else {})

    def _inner_losses(self, arm: Any, block: Block) -> np.ndarray:
        """Summarise the excess log losses of a method on left-out training samples, (1, 3).

        They are left out in PARTS parts; NaN where the samples cannot be divided.
        """
        cases, n = self.cases(block), len(self.cases(block).train)
        X, y, losses = cases.train, cases.train_response, []
        groups = None if cases.groups is None else cases.groups[:n]
        rng = generator(self.config.seed, "parts", *block.replicates)
        try:
            part = folds(X, y, PARTS, rng, () if groups is None else [*map(str, groups)])
        except DataError:  # too few
            return np.array([summarise_losses([])])
        for number in range(PARTS):
            rest, out = part != number, part == number
            counts = np.bincount(y[rest], minlength=len(cases.classes))
            if counts.min() > 1:
                of_rest, of_out = (None if groups is None else groups[mine] for mine in (rest, out))
                inner = replace(cases, train=X[rest], train_response=y[rest], test=X[out],
                                groups=of_rest)  # fmt: skip
                p = self._fit_predict(arm, block, inner, number)
                losses.append(excess_log_loss(p, y[out], counts, of_out))
        return np.array([summarise_losses(losses)])

    def _fit_predict(self, arm: Any, block: Block, cases: Cases, number: int) -> np.ndarray:
        """Return what an arm predicts of the tests (T, K) after a fit to a part of the cases."""
        if arm.name not in self.own_arms:
            task, seed = self._of_peer(arm, block, cases)
            return peers.fit_predict(*task, cases.test, seed)
        find = partial(
            cases.patterns.groups, cases.train, arm.order, compress=arm.compress,
            min_cases=self.model.min_cases,
        )  # fmt: skip
        training = PatternTraining(
            cases.patterns, cases.train, cases.train_response, len(cases.classes), find
        )
        *rngs, last = self.generator("within", arm, block, number).spawn(self.model.chains + 1)
        posterior = arm.sample(training, rngs).posterior(arm, training)
        return posterior.tested(cases.test, cases.test_response, last)["probability"]


def _folder(order: int, compress: bool) -> str:
    """Return where the compress stage keeps the groups of an order."""
    return f"order {order}, {'compressed' if compress else 'original'}"


def _compressed(block: Block, folder: str, names: Sequence[str]) -> Arrays:
    return marked(block.load("compress", [f"{folder}/{name}" for name in names]), f"{folder}/")


def _only(saved: Arrays, chain: int, number: int) -> Arrays:
    """Return one of the chains in `saved`, with another number, as if there were no others."""
    kinds = ("state", "draws")
    common = {name: values for name, values in saved.items() if not name.startswith(kinds)}
    return common | {
        f"{kind}-{number}-{name}": values
        for kind in kinds
        for name, values in marked(saved, f"{kind}-{chain}-").items()
    }
