"""The models of an experiment of chapter 3, and what tables call them."""

from dataclasses import dataclass

from thesiskit.models.peers import PEERS


@dataclass(frozen=True)
class Arm:
    """One model; its row of the arrays."""

    row: int
    order: int
    prior: str
    compress: bool
    engine: str
    scale: str
    name: str

    @property
    def peer(self) -> bool:
        """Whether it is one of the other classifiers, to compare with."""
        return self.prior == "none"

    @property
    def words(self) -> str:
        """The model, as tables name it."""
        if self.peer:
            return PEERS[self.engine].words
        if self.engine == "gp":
            return "Gaussian process"
        text = f"{self.prior.capitalize()}, {'compressed' if self.compress else 'original'}"
        return text + (", sigma's own scale" if self.scale == "natural" else "")

    @property
    def title(self) -> str:
        """The model, as tables of all models name it."""
        return self.words if self.peer else f"{self.words}, order {self.order}"

    @property
    def name_in_full(self) -> str:
        """The model with its order; a peer that uses all features has none."""
        return self.words if self.order < 0 else f"{self.words}, order {self.order}"
