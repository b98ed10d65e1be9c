"""The experiments of chapter 2: simulate, select, fit, predict."""

import re
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import DRAWN, NAIVE_METHODS, OWN_METHODS, MixtureModel, check_sizes
from thesiskit.errors import UserError
from thesiskit.experiments import ranks
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.cells.unfinished import Unfinished
from thesiskit.experiments.selection import summary
from thesiskit.experiments.selection.design import Arm, Design, Split, arms, sizes
from thesiskit.experiments.selection.naive import NaiveFits
from thesiskit.experiments.selection.naive import settings as naive_settings
from thesiskit.experiments.selection.select import select, unpack_selections
from thesiskit.experiments.work import Work
from thesiskit.models import naive_bayes, peers
from thesiskit.models.priors import InverseGamma, check_alpha_prior, check_class_prior
from thesiskit.models.running import Arrays
from thesiskit.models.selection import Selection
from thesiskit.report.selection.record import EXACT, Record

FIT_COMMANDS = {"naive-bayes": "fit-naive", "mixture": "fit-mixture"}


class SelectionWork(Work):
    """Features are selected in every split, then each arm is fitted and predicts."""

    stages = ("simulate", "select", "fit", "predict")

    def __init__(self, experiment):
        super().__init__(experiment)
        self.design = Design(self.config, experiment.folder)
        self._unpacked: tuple[int, list[Selection]] = (-1, [])

    def command(self, stage: str) -> str:
        """The command of a stage."""
        return FIT_COMMANDS[self.config.model.kind] if stage == "fit" else stage

    @property
    def data_digest(self) -> str:
        """What identifies the tables."""
        return self.design.data_digest

    @property
    def described(self) -> dict[str, Any]:
        """The config for people and files, with what it leaves to the data."""
        return super().described | {"scheme": self.config.scheme}

    @property
    def arm_names(self) -> list[str]:
        """Short names of the arms."""
        several = len(self.config.model.variants) > 1
        return [
            f"{arm.label} {arm.method}" + (f" {arm.variant}" if several else "")
            for arm in arms(self.config)
        ]

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

    def chains_of(self, arm: Arm) -> int:
        """Return how many chains an arm has."""
        model = self.config.model
        if not isinstance(model, MixtureModel) or arm.variant == EXACT:
            return 0
        return self._runs(arm).chains

    def check(self) -> None:
        """Raise ConfigError if more features or folds are asked for than the table has."""
        for table in self.design.tables[:1]:
            check_sizes(self.config, table.features.shape[1])
        assert self.design.folds
        self._check_priors()

    def _check_priors(self) -> None:
        """Raise ConfigError for priors that the models cannot carry."""
        model = self.config.model
        grids = {"alpha_prior": 0}  # points of each
        if isinstance(model, MixtureModel):
            points = max(self._runs(arm).alpha_points for _, arm in self.own_arms.values())
            grids = {"alpha_prior": points, "response_alpha_prior": points}
        elif model.alpha_quadrature == "midpoint":
            grids["alpha_prior"] = model.alpha_points
        name = "class_prior"
        try:
            check_class_prior(model.class_prior)
            for name, points in grids.items():
                check_alpha_prior(name, getattr(model, name))
                if points:
                    InverseGamma(*getattr(model, name)).midpoints(points)
        except UserError as error:
            raise self.config.wrong(f"model.{name}", str(error)) from None

    def _runs(self, arm: Arm) -> Any:
        """Return how an arm of mixtures runs."""
        model = self.config.model
        return model.collapsed if arm.variant in ("collapsed", EXACT) else model.thesis

    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage, or to an arm of it."""
        config = self.config
        if stage == "simulate":
            evaluation = config.evaluation.model_dump(exclude={"scheme", "ranks"})
            for name, scheme in (("folds", "k-fold"), ("test_fraction", "holdout")):
                if config.scheme != scheme:
                    del evaluation[name]
            priors = None
            if isinstance(config.data, DRAWN):
                wanted = {"class_prior", "alpha_prior", "response_alpha_prior"}
                priors = config.model.model_dump(include=wanted)
            data = [config.data.model_dump(), self.data_digest]
            return [config.seed, data, config.scheme, evaluation, priors]
        if stage == "select":  # an arm says itself which selection it is of
            return None if arm else config.selection.model_dump()
        if stage == "predict":
            return config.evaluation.ranks
        if not arm:
            return config.model.model_dump()
        if arm not in self.own_arms:  # of a mixture's config, naive Bayes takes the priors
            naive = self.all_arms[arm][1].method in NAIVE_METHODS
            return config.model.model_dump(include={"class_prior", "alpha_prior"} if naive else {})
        others = {"methods", "quadrature", "samplers"}
        if isinstance(config.model, MixtureModel):
            thesis = self.all_arms[arm][1].variant in ("thesis", "as-printed")
            others.add("collapsed" if thesis else "thesis")
        return config.model.model_dump(exclude=others)

    def make(self, stage: str, number: int) -> Arrays:
        """Return the arrays of a block."""
        if stage == "simulate":
            return self.design.draw(self.experiment.blocks[number])
        return select(self.config, self.splits(number), first=number == 0)

    def make_arm(
        self, stage: str, number: int, arm: str, chain: int | None, unfinished: Unfinished
    ) -> Arrays:
        """Return the arrays of an arm, or of one of its chains."""
        if stage == "fit":
            return self.fits(number).fit(self.own_arms[arm][1], chain, unfinished)
        return self._predict(number, self.all_arms[arm][1])

    def join(self, stage: str, number: int, found: list[Arrays]) -> Arrays:
        """Return the arrays of a block from those of its arms."""
        if stage == "fit":
            return self.fits(number).join([i for i, _ in self.own_arms.values()], found)
        names = ("response", "fold")
        drawn = self.experiment.results.load("simulate", number, names)
        listed = [arm for _, arm in self.all_arms.values()]
        return self.design.tested(self.experiment.blocks[number], drawn) | {
            "label": np.array([arm.label for arm in listed]),
            "method": np.array([arm.method for arm in listed]),
            "variant": np.array([arm.variant for arm in listed]),
            "probability": np.array([one["probability"] for one in found]),
            "seconds": np.array([one["seconds"] for one in found]).T,
            **ranks.of_arms(found),
        }

    def draws(self, stage: str, number: int, arm: str) -> Path | None:
        """Return the file of draws that an arm writes beside its arrays."""
        if stage != "fit" or not self.arms(stage).get(arm):
            return None
        one = self.own_arms[arm][1]
        name = re.sub(r"[^0-9a-z.]+", "-", f"{one.label}-{one.method}-{one.variant}".lower())
        return self.experiment.results.folder / "fit" / f"{number:04d}-{name.strip('-')}.nc"

    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show."""
        return summary.summary(self, stage)

    def record(self) -> Record:
        """Return the finished experiment, for the report."""
        return Record(self.experiment.results, len(self.experiment.blocks), self.described)

    def splits(self, number: int) -> Iterator[Split]:
        """Return the splits of a block."""
        drawn = self.experiment.load("simulate", number)
        return self.design.splits(self.experiment.blocks[number], drawn)

    def selections(self, number: int, arm: Arm) -> list[Selection]:
        """Return the selections of an arm, in the order of the splits."""
        if self._unpacked[0] != number:
            found = unpack_selections(self.experiment.load("select", number))
            self._unpacked = number, found
        return self._unpacked[1][arm.size :: len(sizes(self.config))]

    def load(self) -> type:
        """Import what fits: the mixture model needs much."""
        if not isinstance(self.config.model, MixtureModel):
            return NaiveFits
        from thesiskit.experiments.selection.mixture import MixtureFits

        return MixtureFits

    def _predict(self, number: int, arm: Arm) -> Arrays:
        fitted = None
        if arm.name in self.own_arms:
            fitted = self.experiment.read("fit", number, arm.name)
        fits = self.fits(number)
        probability, seconds, ranked = [], [], []
        pairs = zip(self.splits(number), self.selections(number, arm), strict=True)
        for s, (split, selection) in enumerate(pairs):
            table = split.features.unpack(selection.selected, split.test)
            started = time.perf_counter()
            if arm.method in NAIVE_METHODS:
                answer = self._predict_naive(selection, arm, table)
            elif fitted is None:
                answer = self._predict_peer(split, selection, arm)
            else:
                answer = fits.predict(fitted, s, arm, split, selection, table)
            seconds.append(time.perf_counter() - started)
            probability.append(answer)
            if self.config.evaluation.ranks and fitted is not None:
                ranked.append(fits.ranks(fitted, s, arm, split, selection))
        return {
            "probability": np.concatenate(probability),
            "seconds": np.array(seconds),
            **ranks.of_arm(ranked),
        }

    def _predict_naive(self, selection: Selection, arm: Arm, table: np.ndarray) -> np.ndarray:
        """Return what the naive Bayes model predicts, beside a mixture."""
        posterior = naive_bayes.fit(
            selection,
            naive_settings(self.config.model, "exact"),
            correct=NAIVE_METHODS[arm.method] == "corrected",
        )
        return naive_bayes.predict(posterior, table)

    def _predict_peer(self, split: Split, selection: Selection, arm: Arm) -> np.ndarray:
        """Return a peer's predictions; it selects, fits and predicts."""
        peers.selection.load()
        table = split.features.unpack(np.arange(len(split.features)))
        rng = generator(self.config.seed, arm.method, split.replicate, split.group, split.fold)
        return peers.selection.fit_predict(
            arm.method,
            len(selection.selected),
            table[split.train],
            split.response[split.train],
            table[split.test],
            int(rng.integers(2**31)),
        )
