"""What each kind of model needs to predict new cases, from fits and from the arrays of a file.

An arm is made by its class, or by `restore` from what `stored` returned: a mapping that JSON can
hold, and arrays.  `restore` raises one of `DAMAGES` for what no such arm has, so that kernels are
only called with arrays that fit together.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from thesiskit.fitted.inputs import Inputs, TableInputs
from thesiskit.models.chains import Arrays

LARGEST = 1e100  # of alpha, of logs and of temperatures


class FittedArm(ABC):
    """One fitted model.

    name : of the arm.
    warning : why its predictions should not be relied on; empty if they can be.
    """

    kind: ClassVar[str]

    def __init__(self, name: str, warning: str = ""):
        self.name, self.warning = name, warning

    @abstractmethod
    def predict(self, inputs: Inputs, cases: np.ndarray) -> Arrays:
        """Return `probability` (T, K), or of real responses median, low and high, (T,) each."""

    @abstractmethod
    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""

    @classmethod
    @abstractmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "FittedArm":
        """Return the arm that `stored` described."""


def check(holds: bool) -> None:
    """Raise ValueError where the parts of a model do not belong together."""
    if not holds:
        raise ValueError("its parts do not belong together")


class SelectingArm(FittedArm):
    """A model of selected features.

    selected : (k,) the features kept.
    tau : the temperature, by which log odds are divided.
    """

    selected: np.ndarray
    tau: float = 1.0

    def tempered(self, tau: float) -> Self:
        """Return the arm with a temperature."""
        self.tau = float(tau)
        return self

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""
        about, arrays = self._stored()
        return about | {"tau": self.tau}, arrays | {"selected": self.selected}

    @abstractmethod
    def _stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return the same, without features and temperature."""

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "SelectingArm":
        """Return the arm that `stored` described."""
        selected, tau = arrays["selected"].astype(np.intp), about.get("tau", 1.0)
        if not isinstance(inputs, TableInputs):
            raise ValueError("its cases have no features to select")
        check(selected.ndim == 1 and isinstance(tau, float) and 1 <= tau < LARGEST)
        return cls._restored(about, arrays, selected, inputs).tempered(tau)

    @classmethod
    @abstractmethod
    def _restored(
        cls, about: dict[str, Any], arrays: Arrays, selected: np.ndarray, inputs: TableInputs
    ) -> "SelectingArm":
        """Return the same without its temperature; the features kept are still to be checked."""
