"""The experiments of chapter 2: simulate, select, fit, predict."""

import re
import time
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import DRAWN, NAIVE_METHODS, OWN_METHODS, MixtureModel, check_sizes
from thesiskit.experiments import summary
from thesiskit.experiments.design import Arm, Design, Split, arms, sizes
from thesiskit.experiments.naive_fits import NaiveFits
from thesiskit.experiments.naive_fits import settings as naive_settings
from thesiskit.experiments.seeds import generator
from thesiskit.experiments.selections import select, unpack_selections
from thesiskit.experiments.work import Work
from thesiskit.models import naive_bayes, peers
from thesiskit.models.selection import Selection
from thesiskit.report.record import EXACT, Record
from thesiskit.report.store import UNFINISHED

FIT_COMMANDS = {"naive-bayes": "fit-naive", "mixture": "fit-mixture"}


class SelectionWork(Work):
    """Features are selected in every split, then each arm is fitted and predicts."""

    stages = ("simulate", "select", "fit", "predict")

    def __init__(self, experiment):
        super().__init__(experiment)
        self.design = Design(self.config, experiment.folder)

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
    def own_arms(self) -> list[tuple[int, Arm]]:
        """The arms that are fitted, with their numbers among all."""
        own = (*OWN_METHODS, "complete")
        return [(i, arm) for i, arm in enumerate(arms(self.config)) if arm.method in own]

    def check(self) -> None:
        """Raise ConfigError if more features are asked for than the table has."""
        for table in self.design.tables[:1]:
            check_sizes(self.config, table.features.shape[1])

    def settings_of(self, stage: str) -> Any:
        """Return the part of the config that matters to a stage."""
        config = self.config
        if stage == "simulate":
            evaluation = config.evaluation.model_dump(exclude={"scheme"})
            for name, scheme in (("folds", "k-fold"), ("test_fraction", "holdout")):
                if config.scheme != scheme:
                    del evaluation[name]
            priors = None
            if isinstance(config.data, DRAWN):
                wanted = {"class_prior", "alpha_prior", "response_alpha_prior"}
                priors = config.model.model_dump(include=wanted)
            data = [config.data.model_dump(), self.data_digest]
            return [config.seed, data, config.scheme, evaluation, priors]
        if stage == "select":
            return config.selection.model_dump()
        return config.model.model_dump() if stage == "fit" else None

    def make(self, stage: str, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of a block."""
        if stage == "simulate":
            return self.design.draw(self.experiment.blocks[number])
        if stage == "select":
            return select(self.config, self._splits(number), first=number == 0)
        return self._fit(number) if stage == "fit" else self._predict(number)

    def whole(self, stage: str, number: int) -> bool:
        """Whether the draws that the fit stage writes beside its block are there."""
        if stage != "fit" or not isinstance(self.config.model, MixtureModel):
            return True
        sampled = [arm for _, arm in self.own_arms if arm.variant != EXACT]
        return all(self.draws_path(number, arm).exists() for arm in sampled)

    def forget(self, stage: str, number: int, *, forced: bool = False) -> None:  # noqa: ARG002
        """Remove the fits of a block that is not done."""
        if stage == "fit":
            self.experiment.results.remove(UNFINISHED, number)

    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show."""
        return summary.summary(self, stage)

    def record(self) -> Record:
        """Return the finished experiment, for the report."""
        return Record(self.experiment.results, len(self.experiment.blocks), self.described)

    def draws_path(self, number: int, arm: Arm) -> Path:
        """Return the file of an arm's draws."""
        name = re.sub(r"[^0-9a-z.]+", "-", f"{arm.label}-{arm.method}-{arm.variant}".lower())
        return self.experiment.results.folder / "fit" / f"{number:04d}-{name.strip('-')}.nc"

    def _splits(self, number: int) -> Iterable[Split]:
        """Return the splits of a block, watched."""
        drawn = self.experiment.load("simulate", number)
        splits = self.design.splits(self.experiment.blocks[number], drawn)
        folds = sum(len(np.unique(fold[fold >= 0])) for fold in drawn["fold"])
        total = folds * self.config.evaluation.groups
        return self.experiment.inner_watch(splits, total, "splits")

    def _selections(self, number: int) -> list[Selection]:
        return unpack_selections(self.experiment.load("select", number))

    def _fits(self, number: int) -> Any:
        if isinstance(self.config.model, MixtureModel):
            from thesiskit.experiments.mixture_fits import MixtureFits

            return MixtureFits(self, number)
        return NaiveFits(self, number)

    def _fit(self, number: int) -> dict[str, np.ndarray]:
        n_sizes = len(sizes(self.config))
        return self._fits(number).fit(self._selections(number), self.own_arms, n_sizes)

    def _predict(self, number: int) -> dict[str, np.ndarray]:
        splits = self._splits(number)
        selections = self._selections(number)
        fitted = self.experiment.load("fit", number)
        all_arms, n_sizes = arms(self.config), len(sizes(self.config))
        column = {i: j for j, (i, _) in enumerate(self.own_arms)}
        probability: list[list[np.ndarray]] = [[] for _ in all_arms]
        about: dict[str, list] = {
            name: [] for name in ("replicate", "group", "fold", "case", "response")
        }
        seconds = []
        fits = self._fits(number)
        for s, split in enumerate(splits):
            tables: dict[int, np.ndarray] = {}
            for i, arm in enumerate(all_arms):
                selection = selections[s * n_sizes + arm.size]
                if arm.size not in tables:
                    tables[arm.size] = split.features.unpack(selection.selected, split.test)
                if arm.method in NAIVE_METHODS:
                    answer, spent = self._predict_naive(selection, arm, tables[arm.size])
                elif i not in column:
                    answer, spent = self._predict_peer(split, selection, arm)
                else:
                    started = time.perf_counter()
                    answer = fits.predict(
                        fitted, s, column[i], arm, split, selection, tables[arm.size]
                    )
                    spent = time.perf_counter() - started
                seconds.append(spent)
                probability[i].append(answer)
            for name in ("replicate", "group", "fold"):
                about[name].append(np.full(len(split.test), getattr(split, name)))
            about["case"].append(split.test)
            about["response"].append(split.response[split.test])
        return {name: np.concatenate(values) for name, values in about.items()} | {
            "label": np.array([arm.label for arm in all_arms]),
            "method": np.array([arm.method for arm in all_arms]),
            "variant": np.array([arm.variant for arm in all_arms]),
            "probability": np.array([np.concatenate(values) for values in probability]),
            "seconds": np.array(seconds).reshape(-1, len(all_arms)),
        }

    def _predict_naive(
        self, selection: Selection, arm: Arm, table: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return what the naive Bayes model predicts, beside a mixture."""
        started = time.perf_counter()
        posterior = naive_bayes.fit(
            selection,
            naive_settings(self.config.model, "exact"),
            correct=NAIVE_METHODS[arm.method] == "corrected",
        )
        return naive_bayes.predict(posterior, table), time.perf_counter() - started

    def _predict_peer(
        self, split: Split, selection: Selection, arm: Arm
    ) -> tuple[np.ndarray, float]:
        """Return a peer's predictions, and the seconds it took to select, fit and predict."""
        peers.load()
        table = split.features.unpack(np.arange(len(split.features)))
        rng = generator(self.config.seed, arm.method, split.replicate, split.group, split.fold)
        started = time.perf_counter()
        answer = peers.fit_predict(
            arm.method,
            len(selection.selected),
            table[split.train],
            split.response[split.train],
            table[split.test],
            int(rng.integers(2**31)),
        )
        return answer, time.perf_counter() - started
