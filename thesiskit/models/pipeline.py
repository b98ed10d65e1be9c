"""Select features, fit a model and temper it, for experiments, estimators and model files."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from thesiskit.models.base import SelectingModel, Training
from thesiskit.models.density import Density
from thesiskit.models.packed import PackedFeatures, Transform
from thesiskit.models.selection import (
    FSelection,
    Screened,
    Selection,
    check_threshold,
    select_by_f,
    select_features,
)
from thesiskit.models.temperature import Temperature


@dataclass(frozen=True)
class Selector:
    """Which features are selected: the best by correlation with the response.

    n_features : how many; None with a threshold, and for all of a table.
    threshold : the |COR| that all selected features exceed.
    prefiltered : what is known of a table whose features somebody else selected.
    ties : see `selection.select_features`.
    at_most : select all features that vary where they are fewer than n_features.
    """

    n_features: int | None
    threshold: Fraction | float | str | None = None
    prefiltered: Screened | None = None
    ties: str = "exact"
    at_most: bool = False

    def select_bits(
        self,
        features: PackedFeatures,
        y: np.ndarray,
        rng: np.random.Generator,
        rows: np.ndarray | None = None,
    ) -> Selection:
        """Select binary features by some rows, or all of them; y (n,) are classes from 0.

        rng decides between features that tie.  Raises as `select_features` does.
        """
        return select_features(
            features,
            y,
            self.n_features,
            rng,
            threshold=self.threshold,
            samples=rows,
            ties=self.ties,
            prefiltered=self.prefiltered,
        )

    def select_reals(
        self,
        table: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator,
        rows: np.ndarray | None = None,
    ) -> FSelection:
        """Select real features (n, p) by some rows, or all of them.

        y (n,) are classes from 0, or real numbers.

        Raises as `select_by_f` does.
        """
        return select_by_f(
            table,
            y,
            self.n_features,
            rng,
            threshold=None if self.threshold is None else check_threshold(self.threshold) ** 2,
            samples=rows,
            prefiltered=self.prefiltered,
            at_most=self.at_most,
        )


@dataclass(frozen=True)
class Fitted:
    """A model fitted to selected features.

    selected : (k,) columns of the features.
    temperature : of the log odds, if they have one.
    transform : of the selected features, if they are real and have one.
    """

    model: SelectingModel
    posterior: Any
    selected: np.ndarray
    temperature: Temperature | None = None
    transform: Transform | None = None

    @classmethod
    def of(
        cls,
        model: SelectingModel,
        training: Training,
        transform: Transform | None = None,
        *,
        tempered: bool,
    ) -> Fitted:
        """Fit a model, and its temperature.

        transform : of all features, which those of `training` have been through.
        """
        posterior, selected = model.fit(training), training.selection.selected
        temperature = model.residual_temperature(posterior, training) if tempered else None
        transform = None if transform is None else transform.take(selected)
        return cls(model, posterior, selected, temperature, transform)

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Return P(class), (T, G), of samples with these values (T, k) of selected features."""
        return self.model.predict(self.posterior, values, self.temperature)

    def density(self, values: np.ndarray) -> Density:
        """Return the distributions of real responses of samples with these values (T, k)."""
        return self.model.density(self.posterior, values, self.temperature)

    def predict_log(self, values: np.ndarray) -> np.ndarray:
        """Return log P(class), (T, G), of samples with these values (T, k)."""
        return self.model.predict_log(self.posterior, values, self.temperature)
