"""The display of Cor(I0, I1): an experiment without data, and with one stage."""

from typing import Any

from thesiskit.experiments.work import Block, Work
from thesiskit.models.chains import Arrays
from thesiskit.models.selection import correlation_lattice


class LatticeWork(Work):
    """Correlations of all counts, and which of them are kept."""

    stages = ("select",)

    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage."""
        assert self.config.lattice is not None
        return self.config.lattice.model_dump()

    def make(self, stage: str, block: Block) -> Arrays:
        """Return the correlations (n0 + 1, n1 + 1), and whether each is kept."""
        lattice = self.config.lattice
        assert lattice is not None
        correlation, kind = correlation_lattice(*lattice.class_counts, str(lattice.gamma))
        return {"correlation": correlation, "kind": kind}
