"""The experiments of chapter 2: simulate, select, fit, predict."""

import re
import time
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import (
    OWN_METHODS,
    Config,
    check_sizes,
    two_classes,
)
from thesiskit.config.selection import NAIVE_METHODS, OTHER_METHODS, ModelBlock, SelectingModel
from thesiskit.errors import UserError
from thesiskit.experiments import ranks
from thesiskit.experiments.ranks import Ranks
from thesiskit.experiments.selection.again import Whole, fit_temperature, predict_other
from thesiskit.experiments.selection.arms import Arm, arms, selecting_model, selections
from thesiskit.experiments.selection.design import Design
from thesiskit.experiments.selection.rivals import predict_rival
from thesiskit.experiments.selection.screened import check_screening
from thesiskit.experiments.selection.select import (
    select,
    unpack_f_selections,
    unpack_selections,
)
from thesiskit.experiments.selection.split import Split
from thesiskit.experiments.selection.temperature import check_temperature
from thesiskit.experiments.work import Block, Unfinished, Work, origin
from thesiskit.models.chains import Arrays
from thesiskit.models.priors import InverseGamma, check_alpha_prior, check_class_prior

Pair = tuple[Split, Any]  # with its Selection, of real features FSelection


class SelectionWork(Work):
    """Features are selected in every split, then each arm is fitted and predicts.

    What depends on the model is in `naive.py`, `normal.py` and `mixture.py`.

    most_classes : that the model takes, None for any number.
    """

    stages: tuple[str, ...] = ("simulate", "select", "fit", "predict")
    model: SelectingModel
    most_classes: int | None = 2

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        assert isinstance(config.model, SelectingModel)
        self.model = config.model
        self.design = Design(config, folder)
        if config.all_train:
            self.stages = self.stages[:-1]  # nobody is tested
        self._unpacked: tuple[int, list[Any]] = (-1, [])

    @property
    def data_digest(self) -> str:
        """A digest of the tables."""
        return self.design.data_digest

    @property
    def data_notes(self) -> list[str]:
        """What the user should know about the tables, a line each."""
        notes, count = self.design.notes, max(one.n_classes for one in self.design.each)
        lost = [one for one in selecting_model(self.config).methods if one in NAIVE_METHODS]
        if count > 2 and lost:
            notes.append(
                f"model.methods: {', '.join(lost)}: no predictions where there are more than two "
                "classes"
            )
        return notes

    @property
    def described(self) -> dict[str, Any]:
        """The config as reports and records keep it, with what it leaves to the data."""
        return super().described | {"scheme": self.config.scheme, **origin(self.config)}

    # ---- what depends on the model ----

    @abstractmethod
    def fit(self, arm: Arm, chain: int | None, block: Block, unfinished: Unfinished) -> Arrays:
        """Return the arrays of an arm, or of one of its chains, (splits, ...) each."""

    @abstractmethod
    def join_fits(self, found: list[Arrays]) -> Arrays:
        """Return the arrays of the fit stage from those of its arms, (splits, arms, ...) each."""

    @abstractmethod
    def predict(
        self, fitted: Arrays, s: int, arm: Arm, pair: Pair, table: np.ndarray, block: Block
    ) -> np.ndarray:
        """Return P(class 1) of the test cases (T,) of split s; table (T, k) has their features.

        Of more than two classes P(class), (T, G).
        """

    @abstractmethod
    def rank(self, fitted: Arrays, s: int, arm: Arm, pair: Pair, block: Block) -> Ranks | None:
        """Rank the truth in split s; None where an arm has no draws."""

    @abstractmethod
    def settings_of_arm(self, arm: Arm) -> Any:
        """Return the part of the model's config that matters to a fitted arm."""

    @abstractmethod
    def whole(self, arm: Arm) -> Whole:
        """Return the model of an arm, to be fitted again in other cases."""

    def prior_points(self) -> dict[str, int]:
        """Return how many points the grid of each prior of an alpha has; 0 without a grid."""
        return {}

    def table(self, pair: Pair) -> np.ndarray:
        """Return the features that were selected of the test cases, (T, k)."""
        split, selection = pair
        return split.features.unpack(selection.selected, split.test)

    def chains_of(self, arm: Arm) -> int:
        """Return how many chains an arm has, each a cell."""
        return 0

    def has_draws(self, arm: Arm) -> bool:
        """Whether an arm is sampled, so that it has a file of draws."""
        return False

    # ---- arms ----

    @cached_property
    def all_arms(self) -> dict[str, tuple[int, Arm]]:
        """All arms by name, with their places."""
        return {arm.name: (i, arm) for i, arm in enumerate(arms(self.config))}

    @cached_property
    def own_arms(self) -> dict[str, tuple[int, Arm]]:
        """The arms that are fitted."""
        own = (*OWN_METHODS, "complete")
        return {name: one for name, one in self.all_arms.items() if one[1].method in own}

    def arms(self, stage: str) -> dict[str, int]:
        """Return the arms of a stage, and how many chains each has."""
        if stage == "predict":
            return dict.fromkeys(self.all_arms, 0)
        if stage != "fit":
            return {}
        return {name: self.chains_of(arm) for name, (_, arm) in self.own_arms.items()}

    def draws_name(self, stage: str, arm: str) -> str | None:
        """Return the name of the file of draws of an arm that is sampled."""
        if stage != "fit" or arm not in self.own_arms or not self.has_draws(self.own_arms[arm][1]):
            return None
        one = self.own_arms[arm][1]
        name = f"{one.label}-{one.method}-{one.variant}".lower() + "-tempered" * one.tempered
        return re.sub(r"[^0-9a-z.]+", "-", name).strip("-")

    # ---- settings ----

    def check(self) -> None:
        """Raise ConfigError for sizes that the table does not have, and priors beyond limits."""
        for design in self.design.each:
            for table in design.tables[:1]:
                check_sizes(self.config, table.features.shape[1])
            problem = two_classes(self.config.model.kind, design.n_classes)
            if self.most_classes == 2 and problem:
                raise self.config.wrong("model.kind", problem)
            assert design.folds
            check_temperature(design)
            check_screening(design)
        self.check_priors()

    def check_priors(self) -> None:
        """Raise ConfigError for priors beyond limits."""
        assert isinstance(self.model, ModelBlock)
        name = "class_prior"
        try:
            check_class_prior(self.model.class_prior)
            for name, points in self.prior_points().items():
                check_alpha_prior(name, getattr(self.model, name))
                if points:
                    InverseGamma(*getattr(self.model, name)).midpoints(points)
        except UserError as error:
            raise self.config.wrong(f"model.{name}", str(error)) from None

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
            priors = None
            if config.drawn:
                wanted = {"class_prior", "alpha_prior", "response_alpha_prior"}
                if self.design.takes_reals or getattr(config.data, "relevant", "") == "some":
                    wanted |= {"pi", "effect_shapes"}
                priors = config.model.model_dump(include=wanted)
            data = [config.data.model_dump(), self.data_digest]
            return [config.seed, data, config.scheme, evaluation, priors]
        if stage == "select":  # an arm says itself which selection it is of
            return config.selection.model_dump(include={"ties", "screened"} if arm else None)
        if stage == "predict":
            return config.evaluation.ranks
        if not arm:
            return config.model.model_dump()
        if arm in self.own_arms:
            return self.settings_of_arm(self.own_arms[arm][1])
        # of the config, other models of ours take the priors
        ours = self.all_arms[arm][1].method in OTHER_METHODS
        taken = {"class_prior", "alpha_prior"}
        return config.model.model_dump(include=taken if ours else set())

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
        if stage == "fit":
            return self.fit(self.own_arms[arm][1], chain, block, unfinished)
        return self._predict(self.all_arms[arm][1], block)

    def join(self, stage: str, found: list[Arrays], block: Block) -> Arrays:
        """Return the arrays of `fit` or `predict` from those of their arms."""
        if stage == "fit":
            own = [arm for _, arm in self.own_arms.values()]
            places = np.array([i for i, _ in self.own_arms.values()])
            return self.join_fits(found) | {"arm": places} | _described(own)
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

    def temperature(self, arm: Arm, split: Split) -> float:
        """Return by what an arm's log odds are divided in a split: 1 without a temperature."""
        return fit_temperature(self.config, arm, split, self.whole(arm)) if arm.tempered else 1.0

    def _predict(self, arm: Arm, block: Block) -> Arrays:
        fitted = block.read("fit", arm.name) if arm.name in self.own_arms else None
        probability, seconds, ranked, promised, tau = [], [], [], [], []
        groups = block.load("simulate", ("group",))["group"]
        for s, (split, selection) in enumerate(self.pairs(arm, block)):
            pair, temperature = (split, selection), 1.0
            table = self.table(pair)
            started = time.perf_counter()
            if fitted is not None:
                answer = self.predict(fitted, s, arm, pair, table, block)
                temperature = fitted["tau"][s]
            elif arm.method in OTHER_METHODS:
                answer, temperature = predict_other(self.config, arm, split)
            else:
                mine = groups[split.replicate - block.replicates.start]
                k = len(selection.selected)
                answer, promise = predict_rival(self.design, arm.method, split, k, mine)
                promised.append(promise)
            seconds.append(time.perf_counter() - started)
            probability.append(answer)
            tau.append(temperature)
            if self.config.evaluation.ranks and fitted is not None:
                ranked.append(self.rank(fitted, s, arm, pair, block))
        return {
            "probability": np.concatenate(probability),
            "tau": np.array(tau),
            "seconds": np.array(seconds),
            **self._promises(promised or [np.nan] * len(seconds)),
            **(ranks.of_arm(ranked) if ranked else {}),
        }

    @property
    def promises(self) -> bool:
        """Whether the fit stage says what errors are to be expected, because none are seen."""
        return self._screened and self.config.scheme == "none"

    def _promises(self, promised: list) -> Arrays:
        """Return what peers promise by cross-validation of a table that was screened before."""
        return {"cross_validated": np.array(promised)} if self._screened else {}

    @property
    def _screened(self) -> bool:
        return self.config.selection is not None and self.config.selection.screened is not None


def _described(listed: list[Arm]) -> Arrays:
    """Return what arms are, (arms,) each."""
    names = ("label", "method", "variant", "relevant", "temperature")
    return {name: np.array([getattr(arm, name) for arm in listed]) for name in names}
