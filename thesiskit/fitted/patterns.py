"""Fitted models of patterns: coefficients of groups, and Gaussian processes.

Both need the training cases, as codes: groups are found again, and split between the patterns that
a new case has and those that it does not have.
"""

from functools import partial
from typing import Any

import numpy as np

from thesiskit.fitted.arms import FittedArm, check
from thesiskit.fitted.inputs import Inputs
from thesiskit.models.base import PatternTraining
from thesiskit.models.chains import Arrays
from thesiskit.models.logistic import model_by
from thesiskit.models.patterns import PATTERNS

ENGINES = {"patterns": "slice", "process": "gp"}  # by the kind of an arm


class PatternArm(FittedArm):
    """A model of patterns.

    posterior : as the model has it of draws; seed : of what is drawn for a prediction.
    """

    def __init__(self, name: str, kind: str, posterior: Any, seed: int, warning: str = ""):
        super().__init__(name, kind, warning)
        self.posterior, self.seed = posterior, seed

    def predict(self, inputs: Inputs, cases: np.ndarray) -> Arrays:
        """Return `probability` (T, K), or of real responses median, low and high, (T,) each."""
        return self.posterior.predict_alone(cases, self.seed)

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes, but for the training cases."""
        about, arrays = self.posterior.saved()
        return about | {"seed": self.seed}, arrays

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "PatternArm":
        """Return the arm that `stored` described; arrays have the codes (n, p), too."""
        codes, order, seed = arrays["codes"], about["order"], about["seed"]
        if inputs.family == "table":
            raise ValueError("its cases have no patterns")
        patterns = PATTERNS[inputs.family].like(inputs.like)
        check(codes.dtype.kind in "iu" and codes.ndim == 2 and len(codes) > 0)
        check(codes.shape[1] == inputs.width and (codes < inputs.n_values).all())
        check(isinstance(order, int) and isinstance(seed, int) and seed >= 0)
        codes = codes.astype(patterns.dtype)
        compress, min_cases = about.get("compress", False), about.get("min_cases", 1)
        check(isinstance(compress, bool) and isinstance(min_cases, int))
        training = PatternTraining(
            patterns, codes, np.zeros(len(codes), dtype=np.int64),  # draws need no responses
            len(inputs.classes),
            find=partial(inputs.groups, codes, order, compress=compress, min_cases=min_cases),
        )  # fmt: skip
        posterior = model_by(ENGINES[about["kind"]]).restored(about, arrays, training)
        return cls(str(about["name"]), about["kind"], posterior, seed, about["warning"])
