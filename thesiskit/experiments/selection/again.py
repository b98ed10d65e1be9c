"""Our two naive Bayes models, each as a whole: select, fit and predict in one go.

Where a temperature is fitted this is repeated in folds of the training cases.  In an experiment of
another kind of model it is also how these models are made to stand beside it.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from thesiskit.config import Config, NormalModel
from thesiskit.config.selection import NAIVE_METHODS, NORMAL_METHODS
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.selection.arms import Arm, selecting_model, selections
from thesiskit.experiments.selection.screened import keep_best
from thesiskit.experiments.selection.select import select_bits, select_reals
from thesiskit.experiments.selection.split import Split
from thesiskit.experiments.selection.temperature import FOLDS, as_stored, tempered
from thesiskit.models import naive_bayes, normal
from thesiskit.models.temperature import as_log_probability, cross_validated


class Whole(Protocol):
    """A model of which selection and fit can be repeated."""

    def log_probability(self, arm: Arm, split: Split) -> np.ndarray:
        """Return log P(class) for the test cases of a split, (T, G)."""


@dataclass(frozen=True)
class WholeNaive:
    """The naive Bayes model of binary features."""

    config: Config
    settings: naive_bayes.Settings

    def probability(self, arm: Arm, split: Split) -> np.ndarray:
        """Return P(class 1) for the test cases of a split, (T,)."""
        return naive_bayes.as_probability(self._log_odds(arm, split))

    def log_probability(self, arm: Arm, split: Split) -> np.ndarray:
        """Return the log probability of each class for the test cases of a split, (T, 2)."""
        return as_log_probability(self._log_odds(arm, split))

    def _log_odds(self, arm: Arm, split: Split) -> np.ndarray:
        selection = select_bits(self.config, split, selections(self.config)[arm.size])
        posterior = naive_bayes.fit(selection, self.settings, correct=arm.correct)
        table = split.features.unpack(selection.selected, split.test)
        return naive_bayes.predict_log_odds(posterior, table)


@dataclass(frozen=True)
class WholeNormal:
    """The naive Bayes model of real features."""

    config: Config
    settings: normal.Settings

    def probability(self, arm: Arm, split: Split) -> np.ndarray:
        """Return P(class 1) for the test cases of a split, (T,); P(class), (T, G), of more."""
        return as_stored(normal.as_probability(self.log_probability(arm, split)))

    def log_probability(self, arm: Arm, split: Split) -> np.ndarray:
        """Return log P(class) for the test cases of a split, (T, G)."""
        chosen = selections(self.config)[arm.size]
        selection = select_reals(self.config, split, chosen, at_most=True)
        posterior = normal.fit(selection, self.settings, correct=arm.correct)
        return normal.predict_log(posterior, split.real.values(selection.selected, split.test))


def fit_temperature(config: Config, arm: Arm, split: Split, model: Whole) -> float:
    """Return the temperature of an arm in a split.

    The division of its training cases into folds is the same for all arms.
    """

    def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        part = keep_best(config, split.within(train, test), at_most=True)
        return model.log_probability(arm, part)

    rng = generator(config.seed, "temperature", *split.place)
    return float(cross_validated(predict, split.response[split.train], rng, folds=FOLDS))


def predict_other(config: Config, arm: Arm, split: Split) -> tuple[np.ndarray, float]:
    """Return what a model of ours of another kind predicts, and its temperature.

    It has the priors of the config that it knows.
    """
    if arm.method in NAIVE_METHODS and split.classes > 2:
        return np.full((len(split.test), split.classes), np.nan), np.nan
    model = _other(config, arm)
    if arm.tempered:
        tau = fit_temperature(config, arm, split, model)
        return tempered(model.log_probability(arm, split), tau), tau
    return model.probability(arm, split), 1.0


def _other(config: Config, arm: Arm) -> WholeNaive | WholeNormal:
    model = selecting_model(config)
    prior = model.class_pair if isinstance(model, NormalModel) else model.class_prior
    if arm.method in NORMAL_METHODS:
        return WholeNormal(config, normal.Settings(class_prior=prior))
    if isinstance(model, NormalModel):
        return WholeNaive(config, naive_bayes.Settings(class_prior=prior, relevant="some"))
    settings = naive_bayes.Settings(class_prior=prior, alpha_prior=model.alpha_prior)
    return WholeNaive(config, settings)
