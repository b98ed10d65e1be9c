"""The fit stage of the naive Bayes model, and its predictions."""

import time
from typing import Any

import numpy as np

from thesiskit.config import NaiveModel
from thesiskit.experiments.design import Arm, Split
from thesiskit.models import naive_bayes
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
    """Fits every arm of every split of a block."""

    def __init__(self, work, number: int):
        self.experiment, self.number = work.experiment, number

    def fit(self, selections: list[Selection], arms: list[tuple[int, Arm]], n_sizes: int):
        """Return the arrays of the fit stage."""
        model = self.experiment.config.model
        fields: dict[str, list] = {name: [] for name in STORED}
        seconds = []
        density = []
        starts = range(0, len(selections), n_sizes)
        for start in self.experiment.inner_watch(starts, len(starts), "fits"):
            for _, arm in arms:
                started = time.perf_counter()
                posterior = naive_bayes.fit(
                    selections[start + arm.size],
                    settings(model, arm.variant),
                    correct=arm.method != "uncorrected",
                )
                seconds.append(time.perf_counter() - started)
                for name, values in fields.items():
                    values.append(getattr(posterior, name))
                if start == 0:
                    density.append(naive_bayes.log_alpha_density(posterior))
        shape = (len(selections) // n_sizes, len(arms))
        arrays = {name: np.array(values).reshape(*shape, -1) for name, values in fields.items()}
        for name in ("alpha", "log_weight"):  # the same for all under the midpoint rule
            if (arrays[name] == arrays[name][:1, :1]).all():
                arrays[name] = arrays[name][:1, :1]
        return arrays | {
            "arm": np.array([i for i, _ in arms]),
            "log_density": np.array(density),
            "seconds": np.array(seconds).reshape(shape),
        }

    def predict(
        self,
        fitted: dict[str, np.ndarray],
        s: int,
        j: int,
        arm: Arm,
        split: Split,  # noqa: ARG002
        selection: Selection,
        table: np.ndarray,
    ) -> np.ndarray:
        """Predict the test cases of split s by arm j of the fitted ones."""
        stored = {}
        for name in STORED:
            values = fitted[name]
            stored[name] = values[s % len(values), j % values.shape[1]]
        posterior = naive_bayes.restore(
            selection,
            settings(self.experiment.config.model, arm.variant),
            correct=arm.method != "uncorrected",
            **stored,
        )
        return naive_bayes.predict(posterior, table)
