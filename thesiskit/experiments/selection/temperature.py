"""Temperatures: one number for each training set, by which log odds are divided.

A temperature is fitted within the training set, where selection and fit are repeated in folds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thesiskit.errors import quoted
from thesiskit.experiments.selection.arms import CV, selecting_model
from thesiskit.models.normal import as_probability
from thesiskit.models.temperature import temper

if TYPE_CHECKING:
    from thesiskit.experiments.selection.design import Design

KEY = "model.temperature"
FOLDS = 5  # of a training set


def tempered(log_probability: np.ndarray, tau: float) -> np.ndarray:
    """Return probabilities with log odds divided by tau, as predictions are stored."""
    return as_stored(as_probability(temper(log_probability, tau)))


def as_stored(probability: np.ndarray) -> np.ndarray:
    """Return P(class 1), (T,), where there are two classes, and (T, G) where there are more."""
    return probability[:, 1] if probability.shape[1] == 2 else probability


def of_probability(probability: np.ndarray) -> np.ndarray:
    """Return log probabilities (T, 2) where P(class 1) is given, (T,), strictly between 0 and 1."""
    return np.stack([np.log1p(-probability), np.log(probability)], axis=1)


def check_temperature(design: Design) -> None:
    """Raise ConfigError where a class is too small for folds within a training set."""
    if CV not in selecting_model(design.config).temperature:
        return
    fewest, rarest = design.fewest()
    if fewest < 2:
        name = rarest if design.config.drawn else quoted(design.class_names[rarest])
        raise design.config.wrong(
            KEY,
            f"cv needs two training cases of each class, and class {name} has one in a training "
            "set; leave out cv, or add cases of this class",
        )


def temperature_notes(design: Design) -> list[str]:
    """Return what the user should know about folds within training sets, a line each."""
    if CV not in selecting_model(design.config).temperature or not design.tables:
        return []
    fewest, rarest = design.fewest()
    if fewest >= FOLDS:
        return []
    return [
        f"{KEY}: {fewest} folds are made within a training set, not {FOLDS}, because it has "
        f"{fewest} cases of class {quoted(design.class_names[rarest])}"
    ]
