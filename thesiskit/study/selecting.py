"""The experiments of chapter 2: simulate, select, fit, predict.

Features are selected in every split; then each arm is fitted, and predicts.  Which models there are
is not known here: `MODELS` has them by name, and models/base.py says what each can do.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import WHOLE, Config, too_many, two_classes
from thesiskit.errors import ConfigError, UserError
from thesiskit.files import read_draws, write_draws
from thesiskit.models import MODELS, fit_command, peers, ranks
from thesiskit.models.base import (
    OTHERS,
    OWN,
    Arrays,
    Model,
    Training,
    as_probability,
    pack_relevance,
)
from thesiskit.models.peers import BITS, PEERS, REALS, Task
from thesiskit.models.ranks import Ranks
from thesiskit.models.selection import Selection
from thesiskit.models.temperature import cross_validated, temper
from thesiskit.study.cells import Block, Unfinished, Work, generator, origin
from thesiskit.study.design import FOLDS, Design, check_screening, check_temperature
from thesiskit.study.selections import (
    Arm,
    arms,
    keep_best,
    select,
    select_one,
    selections,
    unpack_f_selections,
    unpack_selections,
)
from thesiskit.study.splits import Split

Pair = tuple[Split, Any]  # with its Selection, of real features FSelection
DESCRIBED = ("label", "method", "variant", "relevant", "temperature")  # of an arm


class SelectionWork(Work):
    """Features are selected in every split, then each arm is fitted and predicts."""

    stages: tuple[str, ...] = ("simulate", "select", "fit", "predict")

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self.model, self.kind = config.model, MODELS[config.model.kind]
        self.design = Design(config, folder)
        if config.all_train:
            self.stages = self.stages[:-1]  # nobody is tested
        self._unpacked: tuple[int, list[Any]] = (-1, [])
        self._draws: tuple[Path | None, Arrays] = (None, {})  # read last

    def command(self, stage: str) -> str:
        """Return the command of a stage."""
        return fit_command(self.kind.kind) if stage == "fit" else stage

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules from whose imports all code is found that a result depends on."""
        others = {MODELS[OTHERS[one][0]] for one in self.model.methods if one in OTHERS}
        return (*super().modules, *sorted(one.__module__ for one in {self.kind, *others}))

    @property
    def data_digest(self) -> str:
        """A digest of the tables."""
        return self.design.data_digest

    @property
    def data_notes(self) -> list[str]:
        """What the user should know about the tables, a line each."""
        count = max(one.n_classes for one in self.design.each)
        others = {one: MODELS[OTHERS[one][0]] for one in self.model.methods if one in OTHERS}
        lost = [one for one, model in others.items() if count > (model.most_classes or count)]
        notes = [
            f"model.methods: {', '.join(lost)}: no predictions where there are more than two "
            "classes"
        ]
        return self.design.notes + (notes if lost else [])

    @property
    def described(self) -> dict[str, Any]:
        """The config as reports and records keep it, with what it leaves to the data."""
        words = {"scheme": self.config.scheme, "model_words": self.kind.words}
        return super().described | words | origin(self.config)

    # ---- arms ----

    @cached_property
    def all_arms(self) -> dict[str, tuple[int, Arm]]:
        """All arms by name, with their places."""
        return {arm.name: (i, arm) for i, arm in enumerate(arms(self.config))}

    @cached_property
    def own_arms(self) -> dict[str, tuple[int, Arm]]:
        """The arms that are fitted."""
        own = (*OWN, "complete")
        return {name: one for name, one in self.all_arms.items() if one[1].method in own}

    @cached_property
    def fitted_arms(self) -> dict[str, tuple[int, Arm]]:
        """The arms of the stage `fit`: ours, and to predict new cases those of others, too."""
        return self.all_arms if self.config.for_new_cases else self.own_arms

    def model_of(self, arm: Arm) -> Model:
        """Return the model of an arm of ours; a model of another kind has the priors it knows."""
        try:
            if arm.method in OTHERS:
                return MODELS[OTHERS[arm.method][0]].beside(self.config.first_model)
            return self.kind.of(self.model, arm.variant, arm.relevant)
        except UserError as error:
            raise self._wrong_field(error) from None

    def _wrong_field(self, error: UserError) -> ConfigError:
        """Return the error that says where the field was given with which a message begins."""
        name = re.split(r"\W", str(error))[0]
        known = name in type(self.model).model_fields
        text = str(error).removeprefix(f"{name}: ")
        return self.config.wrong(f"model.{name}" if known else "model", text)

    def arms(self, stage: str) -> dict[str, int]:
        """Return the arms of a stage, and how many chains each has."""
        if stage == "predict":
            return dict.fromkeys(self.all_arms, 0)
        if stage != "fit":
            return {}
        # chains that have to agree are one cell
        chains = {name: self.model_of(arm).chains_apart for name, (_, arm) in self.own_arms.items()}
        return {name: chains.get(name, 0) for name in self.fitted_arms}

    def draws_name(self, stage: str, arm: str) -> str | None:
        """Return the name of the file of draws of an arm that is sampled."""
        if stage != "fit" or arm not in self.own_arms:
            return None
        one = self.own_arms[arm][1]
        if not self.model_of(one).sampled:
            return None
        name = f"{one.label}-{one.method}-{one.variant}".lower() + "-tempered" * one.tempered
        return re.sub(r"[^0-9a-z.]+", "-", name).strip("-")

    # ---- settings ----

    def check(self) -> None:
        """Raise ConfigError for sizes that the table does not have, and priors beyond limits."""
        missing = sum(table.missing for one in self.design.each for table in one.tables)
        if missing and not self.kind.takes_missing:
            raise self.config.wrong(
                "model.kind",
                f"{missing:,} values are missing, and the {self.kind.kind} model takes none; use "
                "naive-bayes, which leaves their terms out, or fill them in",
            )
        for design in self.design.each:
            for table in design.tables[:1]:
                key, text = too_many(self.config, table.features.shape[1])
                if key:
                    raise self.config.wrong(key, text)
            problem = two_classes(self.kind.kind, design.n_classes)
            if self.kind.most_classes == 2 and problem:
                raise self.config.wrong("model.kind", problem)
            assert design.folds
            check_temperature(design)
            check_screening(design)
        for _, arm in self.own_arms.values():
            model = self.model_of(arm)
            for design in self.design.each:
                try:
                    model.check(design.n_classes)
                except UserError as error:
                    raise self._wrong_field(error) from None

    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage, or to an arm of it."""
        config = self.config
        assert config.data is not None
        assert config.selection is not None
        if stage == "simulate":
            evaluation = config.evaluation.model_dump(exclude={"scheme", "ranks"})
            for name, scheme in (("folds", "k-fold"), ("test_fraction", "holdout")):
                if config.scheme != scheme:
                    del evaluation[name]
            priors = config.first_model.priors_of_draws if config.drawn else None
            data = [config.data.model_dump(), self.data_digest]
            return [config.seed, data, config.scheme, evaluation, priors]
        if stage == "select":  # an arm says itself which selection it is of
            return config.selection.model_dump(include={"ties", "screened"} if arm else None)
        if stage == "predict":
            return config.evaluation.ranks
        if not arm:
            return config.model.model_dump()
        one = self.all_arms[arm][1]
        return self.model_of(one).settings if one.method in (*OWN, "complete", *OTHERS) else {}

    # ---- making it ----

    def make(self, stage: str, block: Block) -> Arrays:
        """Return the arrays of `simulate` or `select`."""
        if stage == "simulate":
            return self.design.draw(block.replicates)
        return select(self.config, self.splits(block), first=block.number == 0)

    def make_arm(
        self, stage: str, arm: str, chain: int | None, block: Block, unfinished: Unfinished
    ) -> Arrays:
        """Return the arrays of an arm, or of one of its chains."""
        if stage == "predict":
            return self._predict(self.all_arms[arm][1], block)
        one = self.fitted_arms[arm][1]
        if one.method in PEERS:
            return self._fit_peer(one, block)
        model = self.model_of(one)
        if self.kind.has_chains:
            return self._sample(model, one, chain, block, unfinished)
        return self._fit(model, one, block)

    def join(self, stage: str, found: list[Arrays], block: Block) -> Arrays:
        """Return the arrays of `fit` or `predict` from those of their arms."""
        if stage == "fit":
            own = [arm for _, arm in self.own_arms.values()]
            places = np.array([i for i, _ in self.own_arms.values()])
            mine = [one for name, one in zip(self.fitted_arms, found, strict=True)
                    if name in self.own_arms]  # fmt: skip
            return self.kind.join(mine) | {"arm": places} | _described(own)
        drawn = block.load("simulate", ("response", "fold"))
        return self.design.tested(block.replicates, drawn) | {
            **_described([arm for _, arm in self.all_arms.values()]),
            "probability": np.array([one["probability"] for one in found]),
            "tau": np.array([one["tau"] for one in found]).T,
            "seconds": np.array([one["seconds"] for one in found]).T,
            **self._promises([one.get("cross_validated") for one in found]),
            **(ranks.of_arms(found) if self.config.evaluation.ranks else {}),
        }

    def splits(self, block: Block) -> Iterator[Split]:
        """Return the splits of a block."""
        return self.design.splits(block.replicates, block.load("simulate"))

    def pairs(self, arm: Arm, block: Block) -> Iterator[Pair]:
        """Return each split of a block with the selection that an arm has there."""
        if self._unpacked[0] != block.number:
            unpack = unpack_f_selections if self.design.takes_reals else unpack_selections
            self._unpacked = block.number, unpack(block.load("select"))
        found = self._unpacked[1][arm.size :: len(selections(self.config))]
        return zip(self.splits(block), found, strict=True)

    def _place(self, split: Split, arm: Arm) -> tuple:
        return (*split.place, arm.label, arm.method, arm.variant)

    def _fit(self, model: Model, arm: Arm, block: Block) -> Arrays:
        """Return the posteriors of an arm, (splits, ...) each, as `Model.pack` has them.

        Also tau and seconds (splits,).  Where some features are relevant, `pack_relevance` says
        what else; where no case is tested, promised (splits,) is the error that the model expects.
        """
        found: list[Any] = []
        seconds, tau, promised = [], [], []
        for split, selection in self.pairs(arm, block):
            started = time.perf_counter()
            found.append(model.fit(training(arm, split, selection)))
            tau.append(self.temperature(arm, split))
            seconds.append(time.perf_counter() - started)
            if self._screened and self.config.scheme == "none":  # no errors are seen
                rng = generator(self.config.seed, "promise", split.replicate)
                promised.append(model.expected_error(found[-1], rng))
        arrays = model.pack(found)
        arrays |= pack_relevance(found) if arm.relevant == "some" else {}
        arrays |= {"promised": np.array(promised)} if promised else {}
        return arrays | {"tau": np.array(tau), "seconds": np.array(seconds)}

    def _sample(
        self, model: Model, arm: Arm, chain: int | None, block: Block, unfinished: Unfinished
    ) -> Arrays:
        """Return what a chain leaves in every split, or what all chains of an arm come to.

        The draws of an arm go to a file of their own.
        """
        apart = range(model.chains_apart) if chain is None else ()
        left = [block.read("fit", arm.name, number) for number in apart]
        for s, (split, selection) in enumerate(self.pairs(arm, block)):
            if s in unfinished.fits:
                continue
            running = unfinished.begin(s)
            rngs = [generator(self.config.seed, "chain", *self._place(split, arm), c)
                    for c in range(model.chains)]  # fmt: skip
            mine = training(arm, split, selection, rngs)
            if chain is not None:
                fit = model.run_chain(mine, chain, running)
            else:
                table = split.values(selection.selected, split.test, model.takes)
                fit = model.summarise(mine, [_part(one, s) for one in left], table, running)
            unfinished.finish(s, fit)
        fits = [fit for _, fit in sorted(unfinished.fits.items())]
        if chain is not None:
            return {f"{s}/{name}": one for s, fit in enumerate(fits) for name, one in fit.items()}
        for fit, (split, _) in zip(fits, self.pairs(arm, block), strict=True):
            fit["tau"] = np.array(self.temperature(arm, split))
        if model.sampled:
            about = {"key": block.key("fit", arm.name), "method": arm.method,
                     "features_kept": arm.label}  # fmt: skip
            write_draws(block.draws("fit", arm.name), model.tree(fits, about))
        return model.pack(fits)

    def read_draws(self, arm: Arm, block: Block) -> Arrays:
        """Return the draws of an arm; those of the last one are kept."""
        path = block.draws("fit", arm.name)
        if self._draws[0] != path:
            key = block.key("fit", arm.name)
            self._draws = path, read_draws(path, key, command=self.command("fit"))
        return self._draws[1]

    def _fit_peer(self, arm: Arm, block: Block) -> Arrays:
        """Return what a method of others learns of all cases, as `peers.fit` returns it."""
        ((split, selection),) = self.pairs(arm, block)
        task, table = task_of(arm.method, split, len(selection.selected))
        rng = generator(self.config.seed, arm.method, *split.place)
        peers.load([arm.method])
        train = split.train
        seed = int(rng.integers(2**31))
        learnt = peers.fit(arm.method, task, table[train], split.response[train], seed)
        return learnt | {"task": np.array([task.kind, str(task.classes), str(task.keep)])}

    def temperature(self, arm: Arm, split: Split) -> float:
        """Return by what an arm's log odds are divided in a split: 1 without a temperature.

        The division of its training cases into folds is the same for all arms.
        """
        if not arm.tempered:
            return 1.0
        model = self.model_of(arm)

        def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            part = keep_best(self.config, split.within(train, test), at_most=True)
            return model.log_probability(*self._again(model, arm, part))

        rng = generator(self.config.seed, "temperature", *split.place)
        return float(cross_validated(predict, split.response[split.train], rng, folds=FOLDS))

    def _again(self, model: Model, arm: Arm, split: Split) -> tuple[Any, np.ndarray]:
        """Return the posterior after a selection of its own, and the features of the test cases."""
        chosen = selections(self.config)[arm.size]
        selection = select_one(self.config, split, chosen, model.takes, at_most=True)
        rngs: Sequence[np.random.Generator] = ()
        if model.sampled:
            # the first test case says which part of a training set it is
            place = (*self._place(split, arm), int(split.test[0]))
            rngs = generator(self.config.seed, "chains within", *place).spawn(model.chains)
        posterior = model.fit(training(arm, split, selection, rngs))
        return posterior, split.values(selection.selected, split.test, model.takes)

    # ---- predictions ----

    def _predict(self, arm: Arm, block: Block) -> Arrays:
        own = arm.name in self.own_arms
        fitted = block.read("fit", arm.name) if own else None
        probability, seconds, ranked, promised, tau = [], [], [], [], []
        groups = block.load("simulate", ("group",))["group"]
        for s, (split, selection) in enumerate(self.pairs(arm, block)):
            temperature = 1.0 if fitted is None else fitted["tau"][s]
            table = split.values(selection.selected, split.test, self.kind.takes)
            started = time.perf_counter()
            if fitted is not None:
                model = self.model_of(arm)
                posterior = self.posterior(fitted, s, arm, (split, selection), block)
                answer = predicted(model, posterior, table, arm, temperature)
            elif arm.method in OTHERS:
                answer, temperature = self._predict_other(arm, split)
            else:
                mine = groups[split.replicate - block.replicates.start]
                k = len(selection.selected)
                answer, promise = predict_rival(self.design, arm.method, split, k, mine)
                promised.append(promise)
            seconds.append(time.perf_counter() - started)
            probability.append(answer)
            tau.append(temperature)
            if self.config.evaluation.ranks and fitted is not None:
                ranked.append(self._rank(fitted, s, arm, (split, selection), block))
        return {
            "probability": np.concatenate(probability),
            "tau": np.array(tau),
            "seconds": np.array(seconds),
            **self._promises(promised or [np.nan] * len(seconds)),
            **(ranks.of_arm(ranked) if ranked else {}),
        }

    def posterior(self, fitted: Arrays, s: int, arm: Arm, pair: Pair, block: Block) -> Any:
        """Return the posterior of an arm in split s from its stored arrays."""
        model = self.model_of(arm)
        draws = self.read_draws(arm, block) if model.sampled else {}
        return model.unpack(draws | fitted, s, training(arm, *pair))

    def _predict_other(self, arm: Arm, split: Split) -> tuple[np.ndarray, float]:
        """Return what a model of ours of another kind predicts, and its temperature."""
        model = self.model_of(arm)
        if split.classes > (model.most_classes or split.classes):
            return np.full((len(split.test), split.classes), np.nan), np.nan
        tau = self.temperature(arm, split)
        return predicted(model, *self._again(model, arm, split), arm, tau), tau

    def _rank(self, fitted: Arrays, s: int, arm: Arm, pair: Pair, block: Block) -> Ranks | None:
        """Rank the truth in split s; None where an arm has no draws."""
        split, selection = pair
        model, drawn = self.model_of(arm), self.design.drawn(split.replicate)
        place = [arm.label, arm.method, arm.variant] + ["some"] * (arm.relevant == "some")
        place = place if model.variant else [arm.name]
        return model.ranks(
            self.posterior(fitted, s, arm, pair, block),
            {"alpha": drawn.alpha, **drawn.truth},
            split.of_table(selection.selected),
            split.values(selection.selected, split.train[:1], model.takes)[0],
            generator(self.config.seed, "ranks", split.replicate, *place),
        )

    def _promises(self, promised: list) -> Arrays:
        """Return what peers promise by cross-validation of a table that was screened before."""
        return {"cross_validated": np.array(promised)} if self._screened else {}

    @property
    def _screened(self) -> bool:
        return self.config.screened is not None


def training(arm: Arm, split: Split, selection: Any, rngs: Sequence = ()) -> Training:
    """Return what the model of an arm is fitted to in a split."""

    def table() -> np.ndarray:
        takes = "bits" if isinstance(selection, Selection) else "reals"
        return split.values(selection.selected, split.train, takes)

    return Training(selection, split.response[split.train], table, arm.correct, rngs)


def predicted(model: Model, posterior: Any, table: np.ndarray, arm: Arm, tau: float) -> np.ndarray:
    """Return P(class 1) of test cases, (T,), or P(class), (T, G), of more than two classes."""
    if arm.tempered:
        p = as_probability(temper(model.log_probability(posterior, table), tau))
    else:
        p = model.predict(posterior, table)
    return p[:, 1] if p.shape[1] == 2 else p


def _described(listed: list[Arm]) -> Arrays:
    """Return what arms are, (arms,) each."""
    return {name: np.array([getattr(arm, name) for arm in listed]) for name in DESCRIBED}


def _part(arrays: Arrays, s: int) -> Arrays:
    """Return the arrays of a split."""
    return {n.partition("/")[2]: v for n, v in arrays.items() if n.partition("/")[0] == str(s)}


# ---- other classifiers, beside ours ----


def predict_rival(
    design: Design, method: str, split: Split, k: int, group: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the predictions for the test cases of a split, and a promise.

    The promise is the error rate by cross-validation, NaN where nobody screened the table.

    k : how many features are selected, by a method that selects.
    group : (p,) the group of each feature.
    """
    rng = generator(design.config.seed, method, *split.place)
    seed, other = (int(rng.integers(2**31)) for _ in range(2))
    selection = design.config.selection
    screened = selection is not None and selection.screened is not None
    predict = _predictor(design, method, split, k, group, seed, again=screened)
    peers.load([method])
    answer = predict(split.train, split.test)
    if not screened:
        return answer, float("nan")
    inner = lambda train, test: predict(split.train[train], split.train[test])  # noqa: E731
    return answer, peers.cross_validated(inner, split.response[split.train], other)


def task_of(method: str, split: Split, k: int) -> tuple[Task, np.ndarray]:
    """Return what a method of others is asked for, and the table of all cases that it takes."""
    task = Task(REALS if REALS in PEERS[method].takes else BITS, split.classes, k)
    if task.kind == BITS:
        return task, split.features.unpack(np.arange(len(split.features)))
    tables = split.real.tables
    return task, tables[0] if len(tables) == 1 else np.concatenate(tables)


def _predictor(
    design: Design, method: str, split: Split, k: int, group: np.ndarray, seed: int, *, again: bool
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return what predicts some cases from others; again : more than once."""
    y, classes = split.response, split.classes
    if method == WHOLE:
        blocks = design.column_blocks(split, group)
        columns = list(blocks) if again else blocks  # few columns, if several models are made
        return lambda train, test: peers.l2_logistic(columns, train, y[train], test, seed, classes)
    task, table = task_of(method, split, k)

    def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        p = peers.fit_predict(method, task, table[train], y[train], table[test], seed)
        return p[:, 1] if classes == 2 else p

    return predict
