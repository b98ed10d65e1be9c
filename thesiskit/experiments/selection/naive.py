"""The fit stage of the naive Bayes model, and its predictions."""

import time
from typing import Any

import numpy as np

from thesiskit.config import NaiveModel
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.cells.unfinished import Unfinished
from thesiskit.experiments.ranks import Ranks
from thesiskit.experiments.selection.design import Arm, Split
from thesiskit.experiments.selection.ranks import naive_ranks
from thesiskit.models import naive_bayes
from thesiskit.models.running import Arrays
from thesiskit.models.selection import Selection

STORED = ("alpha", "log_weight", "log_discard", "log_posterior")  # of a posterior


def settings(model: Any, quadrature: str) -> naive_bayes.Settings:
    """Return the settings of a fit; a mixture config has the priors only."""
    own: dict[str, Any] = {}
    if isinstance(model, NaiveModel):
        own = {
            "alpha_points": model.alpha_points,
            "alpha_quadrature": model.alpha_quadrature,
            "quadrature": quadrature,
        }
    return naive_bayes.Settings(class_prior=model.class_prior, alpha_prior=model.alpha_prior, **own)


class NaiveFits:
    """Fits an arm in every split of a block, and predicts."""

    def __init__(self, work, number: int):
        self.work, self.number = work, number

    def fit(self, arm: Arm, chain: int | None, unfinished: Unfinished) -> Arrays:  # noqa: ARG002
        """Return the posteriors of an arm, (splits, ...) each."""
        model = self.work.config.model
        found: list[naive_bayes.Posterior] = []
        seconds = []
        for selection in self.work.selections(self.number, arm):
            started = time.perf_counter()
            posterior = naive_bayes.fit(
                selection, settings(model, arm.variant), correct=arm.method != "uncorrected"
            )
            seconds.append(time.perf_counter() - started)
            if not found:
                density = naive_bayes.log_alpha_density(posterior)
            found.append(posterior)
        arrays = {name: np.array([getattr(one, name) for one in found]) for name in STORED}
        for name in ("alpha", "log_weight"):  # the same for all under the midpoint rule
            if (arrays[name] == arrays[name][:1]).all():
                arrays[name] = arrays[name][:1]
        return arrays | {"log_density": density, "seconds": np.array(seconds)}

    def join(self, places: list[int], found: list[Arrays]) -> Arrays:
        """Return the arrays of the fit stage, (splits, arms, ...) each."""
        seconds = np.array([one["seconds"] for one in found]).T
        arrays = {"arm": np.array(places), "seconds": seconds}
        arrays["log_density"] = np.array([one["log_density"] for one in found])
        for name in STORED:
            columns = [np.broadcast_to(one[name], (len(seconds), *one[name].shape[1:]))
                       for one in found]  # fmt: skip
            arrays[name] = np.stack(columns, axis=1)
        for name in ("alpha", "log_weight"):
            if (arrays[name] == arrays[name][:1, :1]).all():
                arrays[name] = arrays[name][:1, :1]
        return arrays

    def predict(
        self,
        fitted: Arrays,
        s: int,
        arm: Arm,
        split: Split,  # noqa: ARG002
        selection: Selection,
        table: np.ndarray,
    ) -> np.ndarray:
        """Predict the test cases of split s."""
        return naive_bayes.predict(self._posterior(fitted, s, arm, selection), table)

    def ranks(self, fitted: Arrays, s: int, arm: Arm, split: Split, selection: Selection) -> Ranks:
        """Rank the truth in split s."""
        place = (split.replicate, arm.label, arm.method, arm.variant)
        return naive_ranks(
            self._posterior(fitted, s, arm, selection),
            self.work.design.drawn(split.replicate),
            selection.selected,
            split.features.unpack(selection.selected, split.train[:1]),
            generator(self.work.config.seed, "ranks", *place),
        )

    def _posterior(
        self, fitted: Arrays, s: int, arm: Arm, selection: Selection
    ) -> naive_bayes.Posterior:
        stored = {name: fitted[name][s % len(fitted[name])] for name in STORED}
        return naive_bayes.restore(
            selection,
            settings(self.work.config.model, arm.variant),
            correct=arm.method != "uncorrected",
            **stored,
        )
