"""The naive Bayes model of real features in the experiments of chapter 2."""

import time
from typing import Any

import numpy as np

from thesiskit.config import NormalModel
from thesiskit.errors import UserError
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.ranks import Ranks
from thesiskit.experiments.selection.again import WholeNormal
from thesiskit.experiments.selection.arms import Arm
from thesiskit.experiments.selection.normal_ranks import normal_ranks
from thesiskit.experiments.selection.some import SOME, join_relevance, pack_relevance
from thesiskit.experiments.selection.temperature import as_stored, tempered
from thesiskit.experiments.selection.work import Pair, SelectionWork
from thesiskit.experiments.work import Block, Unfinished
from thesiskit.models import normal
from thesiskit.models.chains import Arrays
from thesiskit.models.selection import FSelection

STORED = ("log_joint", "variance", "log_discard")  # of a posterior
POINTS = ("log_joint", "log_discard")  # which are many


class NormalWork(SelectionWork):
    """Fits an arm in every split of a block, and predicts."""

    model: NormalModel
    most_classes = None

    def command(self, stage: str) -> str:
        """Return the command of a stage."""
        return "fit-normal" if stage == "fit" else stage

    def check_priors(self) -> None:
        """Raise ConfigError for priors beyond limits, or for another number of classes."""
        for _, arm in self.own_arms.values():
            try:
                self._settings(arm)
            except UserError as error:
                raise self.config.wrong("model", str(error)) from None
        try:
            for design in self.design.each:
                self.model.check_classes(design.n_classes)
        except ValueError as error:
            raise self.config.wrong("model.class_prior", str(error)) from None

    def settings_of_arm(self, arm: Arm) -> Any:
        """Return the part of the model's config that matters to a fitted arm."""
        exclude = {"methods", "relevant", "temperature"}
        return self.model.model_dump(exclude=exclude | ({"pi"} if arm.relevant == "all" else set()))

    def _settings(self, arm: Arm) -> normal.Settings:
        model = self.model
        return normal.Settings(
            class_prior=model.dirichlet,
            effect_shapes=tuple(model.effect_shapes),
            relevant=arm.relevant,
            pi=tuple(model.pi),
        )

    def whole(self, arm: Arm) -> WholeNormal:
        """Return the model of an arm, to be fitted again."""
        return WholeNormal(self.config, self._settings(arm))

    def fit(self, arm: Arm, chain: int | None, block: Block, unfinished: Unfinished) -> Arrays:
        """Return the posteriors of an arm, (splits, ...) each.

        variance (splits, 2), log_joint (splits, C, R, J), log_discard (splits, C, R) and tau
        (splits,), with the grids shape (C,), ratio (R,) and pi (J,).  Where some features are
        relevant, `pack_relevance` says what else; where no case is tested, promised (splits,) is
        the error that the model expects to make.
        """
        found: list[normal.Posterior] = []
        seconds, tau, promised = [], [], []
        for split, selection in self.pairs(arm, block):
            started = time.perf_counter()
            found.append(normal.fit(selection, self._settings(arm), correct=arm.correct))
            tau.append(self.temperature(arm, split))
            seconds.append(time.perf_counter() - started)
            if self.promises:
                rng = generator(self.config.seed, "promise", split.replicate)
                promised.append(1 - normal.promise(found[-1], rng).max(axis=1).mean())
        arrays = {name: np.array([getattr(one, name) for one in found]) for name in STORED}
        first = found[0]
        arrays |= {"shape": first.shapes, "ratio": first.ratio, "pi": first.pi}
        arrays |= pack_relevance(found) if arm.relevant == SOME else {}
        arrays |= {"promised": np.array(promised)} if promised else {}
        return arrays | {"tau": np.array(tau), "seconds": np.array(seconds)}

    def join_fits(self, found: list[Arrays]) -> Arrays:
        """Return the arrays of the fit stage, (splits, arms, ...) each.

        log_joint (splits, arms, C, R, J) is -inf beyond the points of pi that an arm has.  Where
        no case is tested, promised (splits, arms) is there as well.  `join_relevance` says what
        there is of arms of which some features are relevant.
        """
        most = max(one["log_joint"].shape[-1] for one in found)
        arrays = {
            name: np.stack([_widened(one[name], most) if name == "log_joint" else one[name]
                            for one in found], axis=1)
            for name in (*STORED, "tau", "seconds")
        }  # fmt: skip
        for name in POINTS:  # for reports
            arrays[name] = arrays[name].astype(np.float32)
        arrays |= {name: found[0][name] for name in ("shape", "ratio")}
        if self.promises:
            arrays["promised"] = np.array([one["promised"] for one in found]).T
        return arrays | join_relevance(found)

    def table(self, pair: Pair) -> np.ndarray:
        """Return the features that were selected of the test cases, (T, k)."""
        split, selection = pair
        return split.real.values(selection.selected, split.test)

    def predict(
        self, fitted: Arrays, s: int, arm: Arm, pair: Pair, table: np.ndarray, block: Block
    ) -> np.ndarray:
        """Return P(class 1) of the test cases of split s, (T,), or P(class), (T, G), of more."""
        posterior = self.posterior(fitted, s, arm, pair[1])
        if arm.tempered:
            return tempered(normal.predict_log(posterior, table), fitted["tau"][s])
        return as_stored(normal.predict(posterior, table))

    def rank(self, fitted: Arrays, s: int, arm: Arm, pair: Pair, block: Block) -> Ranks | None:
        """Rank the truth in split s."""
        split, selection = pair
        return normal_ranks(
            self.posterior(fitted, s, arm, selection),
            self.design.drawn(split.replicate),
            split.of_table(selection.selected),
            split.real.values(selection.selected, split.train[:1])[0],
            generator(self.config.seed, "ranks", split.replicate, arm.name),
        )

    def posterior(self, fitted: Arrays, s: int, arm: Arm, selection: FSelection) -> Any:
        """Return the posterior of an arm in split s from its stored arrays."""
        stored = {name: fitted[name][s] for name in STORED}
        return normal.restore(selection, self._settings(arm), **stored)


def _widened(log_joint: np.ndarray, width: int) -> np.ndarray:
    """Return log_joint (..., J) with `width` points of pi."""
    more = [(0, 0)] * (log_joint.ndim - 1) + [(0, width - log_joint.shape[-1])]
    return np.pad(log_joint, more, constant_values=-np.inf)
