"""Select features, fit a model to those selected, and temper its probabilities.

Experiments, estimators and model files all do it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from thesiskit.models.base import Model, Training
from thesiskit.models.interactions import Run, select_patterns
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.planes import Planes
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
    order, disjoint, ld : of patterns of discrete features, see `interactions.select_patterns`.
    at_most : select all features that vary where they are fewer than n_features.
    """

    n_features: int | None
    threshold: Fraction | float | str | None = None
    prefiltered: Screened | None = None
    ties: str = "exact"
    order: int = 2
    disjoint: bool = False
    ld: float | None = None
    at_most: bool = False

    def select(
        self, table: Any, y: np.ndarray, rng: np.random.Generator, *,
        rows: np.ndarray | None = None, run: Run | None = None,
    ) -> Selection | FSelection:  # fmt: skip
        """Select features of a table by its rows, or some of them.

        table : packed binary features; real features (n, p); or the planes of discrete features
            of the training rows, of which patterns are selected.
        y (n,) : classes from 0.
        rng : decides between features that tie.
        run : how patterns are counted.

        Raises
        ------
        UserError, DataError: see the functions that select.
        """
        if isinstance(table, Planes):
            return select_patterns(
                table, self.n_features, rng, order=self.order, threshold=self.threshold,
                disjoint=self.disjoint, ld=self.ld, at_most=self.at_most,
                run=run or Run(),
            )  # fmt: skip
        if isinstance(table, PackedFeatures):
            return select_features(
                table, y, self.n_features, rng, threshold=self.threshold, cases=rows,
                ties=self.ties, screened=self.prefiltered,
            )  # fmt: skip
        squared = None if self.threshold is None else check_threshold(self.threshold) ** 2
        return select_by_f(
            table, y, self.n_features, rng, threshold=squared, cases=rows,
            screened=self.prefiltered, at_most=self.at_most,
        )  # fmt: skip


@dataclass(frozen=True)
class Fitted:
    """A model fitted to selected features, with the temperature of its log odds, if it has one."""

    model: Model
    posterior: Any
    temperature: Temperature | None = None

    @classmethod
    def of(cls, model: Model, training: Training, *, tempered: bool) -> Fitted:
        """Fit a model, and its temperature."""
        posterior = model.fit(training)
        temperature = model.residual_temperature(posterior, training) if tempered else None
        return cls(model, posterior, temperature)

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Return P(class), (T, G), of samples with these values (T, k) of selected features."""
        return self.model.predict(self.posterior, values, self.temperature)

    def predict_log(self, values: np.ndarray) -> np.ndarray:
        """Return log P(class), (T, G), of samples with these values (T, k)."""
        return self.model.predict_log(self.posterior, values, self.temperature)
