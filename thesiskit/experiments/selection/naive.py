"""The naive Bayes model in the experiments of chapter 2: its fit stage, and its predictions."""

import time
from typing import Any

import numpy as np

from thesiskit.config import NaiveModel
from thesiskit.datasets.source import Drawn
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.ranks import MOST, Ranks, compare_last
from thesiskit.experiments.selection.again import WholeNaive
from thesiskit.experiments.selection.arms import Arm
from thesiskit.experiments.selection.some import SOME, join_relevance, pack_relevance
from thesiskit.experiments.selection.temperature import tempered
from thesiskit.experiments.selection.work import Pair, SelectionWork
from thesiskit.experiments.work import Block, Unfinished
from thesiskit.models import naive_bayes
from thesiskit.models.chains import Arrays
from thesiskit.models.selection import Selection
from thesiskit.models.temperature import as_log_probability

STORED = ("alpha", "log_weight", "log_discard", "log_posterior")  # of a posterior


class NaiveWork(SelectionWork):
    """Fits an arm in every split of a block, and predicts."""

    model: NaiveModel

    def command(self, stage: str) -> str:
        """Return the command of a stage."""
        return "fit-naive" if stage == "fit" else stage

    def prior_points(self) -> dict[str, int]:
        """Return how many points the grid of alpha has."""
        model = self.model
        return {"alpha_prior": model.alpha_points * (model.alpha_quadrature == "midpoint")}

    def settings_of_arm(self, arm: Arm) -> Any:
        """Return the part of the model's config that matters to a fitted arm."""
        exclude = {"methods", "quadrature", "relevant", "temperature"}
        return self.model.model_dump(exclude=exclude | ({"pi"} if arm.relevant == "all" else set()))

    def _settings(self, arm: Arm) -> naive_bayes.Settings:
        model = self.model
        return naive_bayes.Settings(
            class_prior=model.class_prior,
            alpha_prior=model.alpha_prior,
            alpha_points=model.alpha_points,
            alpha_quadrature=model.alpha_quadrature,
            quadrature=arm.variant,
            relevant=arm.relevant,
            pi=tuple(model.pi),
        )

    def whole(self, arm: Arm) -> WholeNaive:
        """Return the model of an arm, to be fitted again."""
        return WholeNaive(self.config, self._settings(arm))

    def fit(self, arm: Arm, chain: int | None, block: Block, unfinished: Unfinished) -> Arrays:
        """Return the posteriors of an arm, (splits, ...) each.

        Where some features are relevant, log_joint (splits, K, J) and what `pack_relevance` says
        are there as well.  Where no case is tested, promised (splits,) is the error that the model
        expects to make.
        """
        found: list[naive_bayes.Posterior] = []
        seconds, tau, promised = [], [], []
        for split, selection in self.pairs(arm, block):
            started = time.perf_counter()
            posterior = naive_bayes.fit(selection, self._settings(arm), correct=arm.correct)
            tau.append(self.temperature(arm, split))
            seconds.append(time.perf_counter() - started)
            if not found:
                density = naive_bayes.log_alpha_density(posterior)
            found.append(posterior)
            if self.promises:
                rng = generator(self.config.seed, "promise", split.replicate)
                p = naive_bayes.promise(posterior, rng)
                promised.append(np.minimum(p, 1 - p).mean())
        arrays = {name: np.array([getattr(one, name) for one in found]) for name in STORED}
        for name in ("alpha", "log_weight"):  # the same for all under the midpoint rule
            if (arrays[name] == arrays[name][:1]).all():
                arrays[name] = arrays[name][:1]
        if arm.relevant == SOME:
            arrays |= {"log_joint": np.array([one.log_joint for one in found])}
            arrays |= pack_relevance(found)
        arrays |= {"promised": np.array(promised)} if promised else {}
        return arrays | {
            "log_density": density, "tau": np.array(tau), "seconds": np.array(seconds)
        }  # fmt: skip

    def join_fits(self, found: list[Arrays]) -> Arrays:
        """Return the arrays of the fit stage, (splits, arms, ...) each.

        Where no case is tested, promised (splits, arms) is there as well.

        `join_relevance` says what there is of arms of which some features are relevant; their
        log_joint (splits, S, K, J) is there as well.
        """
        seconds = np.array([one["seconds"] for one in found]).T
        arrays = {"seconds": seconds, "tau": np.array([one["tau"] for one in found]).T}
        arrays["log_density"] = np.array([one["log_density"] for one in found])
        for name in STORED:
            columns = [np.broadcast_to(one[name], (len(seconds), *one[name].shape[1:]))
                       for one in found]  # fmt: skip
            arrays[name] = np.stack(columns, axis=1)
        for name in ("alpha", "log_weight"):
            if (arrays[name] == arrays[name][:1, :1]).all():
                arrays[name] = arrays[name][:1, :1]
        if self.promises:
            arrays["promised"] = np.array([one["promised"] for one in found]).T
        return arrays | join_relevance(found, ["log_joint"])

    def predict(
        self, fitted: Arrays, s: int, arm: Arm, pair: Pair, table: np.ndarray, block: Block
    ) -> np.ndarray:
        """Return P(class 1) of the test cases of split s, (T,)."""
        posterior = self.posterior(fitted, s, arm, pair[1])
        if arm.tempered:
            log_odds = naive_bayes.predict_log_odds(posterior, table)
            return tempered(as_log_probability(log_odds), fitted["tau"][s])
        return naive_bayes.predict(posterior, table)

    def rank(self, fitted: Arrays, s: int, arm: Arm, pair: Pair, block: Block) -> Ranks:
        """Rank the truth in split s."""
        split, selection = pair
        place = [split.replicate, arm.label, arm.method, arm.variant]
        place += [SOME] if arm.relevant == SOME else []
        return naive_ranks(
            self.posterior(fitted, s, arm, selection),
            self.design.drawn(split.replicate),
            split.of_table(selection.selected),
            split.features.unpack(selection.selected, split.train[:1]),
            generator(self.config.seed, "ranks", *place),
        )

    def posterior(
        self, fitted: Arrays, s: int, arm: Arm, selection: Selection
    ) -> naive_bayes.Posterior:
        """Return the posterior of an arm in split s from its stored arrays."""
        stored = {name: fitted[name][s % len(fitted[name])] for name in STORED}
        log_posterior = stored.pop("log_posterior")
        stored["log_joint"] = (
            fitted["log_joint"][s] if arm.relevant == SOME else log_posterior[:, None]
        )
        return naive_bayes.restore(selection, self._settings(arm), correct=arm.correct, **stored)


def naive_ranks(
    posterior: naive_bayes.Posterior,
    drawn: Drawn,
    kept: np.ndarray,
    case: np.ndarray,
    rng: np.random.Generator,
) -> Ranks:
    """Rank log alpha, and the log odds of class 1 of a case given all parameters.

    Where some features are relevant also log pi, and how many of the kept ones are.
    kept (k,) are the features kept, case (1, k) their values.
    """
    draws = naive_bayes.sample(posterior, MOST, rng)
    everything = np.ones(len(drawn.truth["theta"]), dtype=bool)
    # the truth is the last of the draws
    draws = naive_bayes.Draws(
        np.append(draws.alpha, drawn.alpha),
        np.append(draws.pi, drawn.truth.get("pi", 1.0)),
        np.concatenate([draws.theta, drawn.truth["theta"][None, kept]]),
        np.concatenate([draws.relevant, drawn.truth.get("relevant", everything)[None, kept]]),
    )
    quantities = {"log alpha": np.log(draws.alpha)}
    if posterior.settings.relevant == SOME:
        quantities["log pi"] = np.log(draws.pi)
        quantities["relevant features"] = draws.relevant.sum(axis=1)
    quantities["log odds"] = naive_bayes.log_odds(posterior, draws, case[0])
    return compare_last(quantities, rng)
