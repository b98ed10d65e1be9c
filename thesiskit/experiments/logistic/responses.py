"""Fits of an experiment whose responses are real numbers.

Responses are standardised by the mean and the standard deviation of the training cases, so that
the widths of priors suit them; the draws that are stored are too, predictions are in the
responses' own units.  That makes the prior depend on the data: where the truth is known to come
from the prior, the config has `standardise: false`.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from thesiskit.experiments.logistic.design import Arm
from thesiskit.experiments.logistic.fits import SETTINGS, LogisticFits
from thesiskit.models import logistic
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import Groups

LEVELS = (0.05, 0.5, 0.95)  # of low, median and high


class ResponseFits(LogisticFits):
    """Fits and predicts the arms of one replicate, whose responses are real."""

    sampled_by: ClassVar[tuple[str, ...]] = (*SETTINGS, "noise", "noise_shape", "noise_mode")

    @cached_property
    def mean(self) -> float:
        """What is subtracted from responses: their mean, or 0."""
        return float(self.cases.train_response.mean()) if self.model_config.standardise else 0.0

    @cached_property
    def unit(self) -> float:
        """What responses are divided by: their standard deviation, or 1."""
        return float(self.cases.train_response.std()) if self.model_config.standardise else 1.0

    def settings(self, arm: Arm) -> logistic.Settings:
        """Return the settings of an arm, for standardised responses."""
        settings = super().settings(arm)
        noise = settings.noise
        return settings if noise is None else replace(settings, noise=noise / self.unit)

    def model(self, groups: Groups, settings: logistic.Settings) -> logistic.Linear:
        """Return the model of the training cases."""
        return logistic.Normal(groups, self._standard(self.cases.train_response), settings)

    def identity(self, arm: Arm) -> dict[str, Any]:
        """Return what chains must share to go on from one another."""
        return super().identity(arm) | {"standardise": self.model_config.standardise}

    def described(self) -> dict[str, np.ndarray]:
        """Return what files of draws say of the responses."""
        return {"response_mean": np.array(self.mean), "response_unit": np.array(self.unit)}

    def separated(self, arm: Arm, draws) -> bool:
        """Return False: there are no classes to separate."""
        return False

    def by_peer(self, arm: Arm, seed: int) -> Arrays:
        """Return medians (T,); a peer says no more."""
        median = self.patterns.predict(arm.engine, arm.order, self.cases, seed)
        unknown = np.full(len(median), np.nan)
        return {"median": median, "low": unknown, "high": unknown, "log_density": unknown}

    def by_draws(self, arm: Arm, found: Arrays, rng: np.random.Generator) -> Arrays:
        """Return medians, 90 % intervals and log densities of the test responses, (T,) each."""
        split_draws = self.model_config.split_draws
        assert split_draws != "exact"
        predicted = logistic.predict_response(
            *logistic.flat(found["coefficient"], found["log_sigma"]),
            found["log_noise"].reshape(-1),
            self.stored.shared(arm.order, compress=arm.compress),
            cauchy=arm.prior == "cauchy", rng=rng,
            split_draws=split_draws,
        )  # fmt: skip
        low, median, high = self.mean + self.unit * predicted.quantile(LEVELS)
        density = predicted.log_density(self._standard(self.cases.test_response))
        return {
            "median": median,
            "low": low,
            "high": high,
            "log_density": density - np.log(self.unit),
        }

    def quantities(self, arm: Arm, rng: np.random.Generator) -> tuple[Arrays, dict[str, float]]:
        """Return draws of log sigma_1, log noise and the linear function of a case; the truth."""
        found, truth = self.read(arm), self.cases.truth
        coefficient, log_sigma = logistic.flat(found["coefficient"], found["log_sigma"])
        log_noise = found["log_noise"].reshape(-1)
        predicted = logistic.predict_response(
            coefficient, log_sigma, log_noise, self.groups(arm).shared(self.cases.test[:1]),
            cauchy=arm.prior == "cauchy", rng=rng,
        )  # fmt: skip
        return (
            {
                "log sigma_1": log_sigma[:, 1],
                "log noise": log_noise,
                "linear function": predicted.linear[:, 0],
            },
            {
                "log sigma_1": truth["log_sigma"][1],
                "log noise": truth["log_noise"],
                "linear function": truth["linear"][len(self.cases.train)],
            },
        )

    def _standard(self, response: np.ndarray) -> np.ndarray:
        return (response - self.mean) / self.unit
