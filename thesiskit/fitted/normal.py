"""Fitted models of real features and any number of classes."""

from dataclasses import asdict
from typing import Any

import numpy as np
from scipy import special

from thesiskit.fitted.arms import LARGEST, SelectingArm, check
from thesiskit.fitted.inputs import Inputs, TableInputs
from thesiskit.models import normal
from thesiskit.models.chains import Arrays
from thesiskit.models.packed import read_columns
from thesiskit.models.selection import FSelection
from thesiskit.models.temperature import temper

POSTERIOR = ("log_joint", "variance")
KEPT = ("counts", "means", "within")  # of each feature
MOST_RATIO = 1e50
MOST_VARIANCE = 1e4, LARGEST**2  # of a and b
NEARLY = 1e-6  # of the log of a sum of probabilities


class NormalArm(SelectingArm):
    """A posterior of the normal model."""

    kind = "normal"

    def __init__(self, name: str, selected: np.ndarray, posterior: normal.Posterior):
        super().__init__(name)
        self.selected, self.posterior = selected, posterior

    def predict(self, inputs: Inputs, cases: np.ndarray) -> Arrays:  # noqa: ARG002
        """Return `probability` (T, G) of cases (T, p); a missing value has no term."""
        log_probability = normal.predict_log(self.posterior, read_columns(cases, self.selected))
        if self.tau != 1:
            log_probability = temper(log_probability, self.tau)
        return {"probability": normal.as_probability(log_probability)}

    def _stored(self) -> tuple[dict[str, Any], Arrays]:
        # what was left out has done its work on the posterior
        selection = self.posterior.selection
        arrays = {name: getattr(selection, name) for name in (*KEPT, "class_counts")}
        arrays |= {name: getattr(self.posterior, name) for name in POSTERIOR}
        return {"settings": asdict(self.posterior.settings)}, arrays

    @classmethod
    def _restored(
        cls, about: dict[str, Any], arrays: Arrays, selected: np.ndarray, inputs: TableInputs
    ) -> "NormalArm":
        given: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one
            for name, one in about["settings"].items()
        }
        settings = normal.Settings(**given)
        check(all(1 / MOST_RATIO < ratio < MOST_RATIO for ratio in settings.ratio))
        class_counts = arrays["class_counts"].astype(np.intp)
        check(class_counts.shape == (len(inputs.classes),) and bool((class_counts > 0).all()))
        settings.class_weights(len(class_counts))
        check(bool(((selected >= 0) & (selected < inputs.width)).all()))
        counts, means, within = (arrays[name].astype(float) for name in KEPT)
        shape = (len(selected), len(class_counts))
        check(counts.shape == means.shape == shape and within.shape == shape[:1])
        counts = counts.astype(np.int64)
        check(bool(((counts >= 0) & (counts <= class_counts)).all()))
        check(bool((counts.sum(axis=1) > (counts > 0).sum(axis=1)).all()))
        check(bool((np.abs(means) < LARGEST).all()))
        check(bool(((within >= 0) & (within < LARGEST**2)).all()))
        log_joint, variance = (arrays[name].astype(float) for name in POSTERIOR)
        check(variance.shape == (2,) and bool(((variance > 0) & (variance < MOST_VARIANCE)).all()))
        points = len(settings.effect_shapes), len(settings.ratio), len(settings.pi_points)
        check(log_joint.shape == points and abs(special.logsumexp(log_joint)) < NEARLY)
        selection = FSelection(
            selected=selected, threshold=0.0, f=np.zeros(len(selected)), counts=counts,
            means=means, within=within, class_counts=class_counts, n_features=len(selected),
            n_constant=0, tied=0, tied_kept=0,
            left_out=np.empty((0, len(class_counts) + 1), dtype=np.int64),
        )  # fmt: skip
        posterior = normal.restore(
            selection,
            settings,
            log_discard=np.zeros(points[:2]),
            log_joint=log_joint,
            variance=variance,
        )
        return cls(about["name"], selected, posterior)
