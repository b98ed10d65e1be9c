"""The display of Cor(I0, I1): an experiment without data, and with one stage."""

from typing import Any

import numpy as np

from thesiskit.experiments.work import Work
from thesiskit.models.selection import correlation_lattice


class LatticeWork(Work):
    """Correlations of all counts, and which of them are kept."""

    stages = ("select",)

    def settings_of(self, stage: str, arm: str = "") -> Any:  # noqa: ARG002
        """Return the part of the config that matters to a stage."""
        return self.config.lattice.model_dump()

    def make(self, stage: str, number: int) -> dict[str, np.ndarray]:  # noqa: ARG002
        """Return the arrays of a block."""
        n0, n1 = self.config.lattice.class_counts
        correlation, kind = correlation_lattice(n0, n1, str(self.config.lattice.gamma))
        return {"correlation": correlation, "kind": kind}

    def summary(self, stage: str) -> str:  # noqa: ARG002
        """Say in a line what the files of a stage show."""
        return "the lattice of counts"
