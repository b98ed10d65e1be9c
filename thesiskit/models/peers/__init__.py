"""Methods that one would take instead, from other packages."""

from thesiskit.models.peers import features, selection, sequences

__all__ = ["features", "selection", "sequences"]
