"""Patterns of sequences: their groups and names, and other models that predict sequences."""

import numpy as np

from thesiskit.experiments.logistic.cases import Cases
from thesiskit.models.patterns import SequenceGroups, compress_sequences
from thesiskit.models.peers import sequences as sequence_peers


class SequencePatterns:
    """Patterns of histories.

    states : the symbol of each code of a history.
    """

    kind = "sequences"
    stored = ("states",)  # arrays of the simulate stage that it is made from

    def __init__(self, states: list[str]):
        self.states = states

    @classmethod
    def of(cls, sequences) -> "SequencePatterns":
        """Return the patterns of `Sequences`."""
        return cls(sequences.states)

    @classmethod
    def restore(cls, arrays) -> "SequencePatterns":
        """Return the patterns that `kept` has put into arrays."""
        return cls([str(one) for one in arrays["states"]])

    def kept(self, cases: Cases, *, drawn: bool) -> dict[str, np.ndarray]:
        """Return arrays for the simulate stage: what codes mean, and cases that are drawn."""
        arrays = {"states": np.array(self.states)}
        if drawn:
            arrays["histories"] = np.concatenate([cases.train, cases.test]).astype(np.uint8)
        return arrays

    def told(self, width: int) -> str:
        """Say what a case is; width is the length of its history."""
        few = ", ".join(self.states[:9]) + (", ..." if len(self.states) > 9 else "")
        return f"histories of {width} states ({few})"

    # ---- groups ----

    def groups(
        self, train: np.ndarray, order: int, *, compress: bool = True, min_cases: int = 1
    ) -> SequenceGroups:
        """Return the groups of patterns of training histories.

        min_cases : 1; sequences are compressed with all their patterns.
        """
        assert min_cases == 1
        return compress_sequences(train, order, compress=compress)

    def name(self, groups: SequenceGroups, g: int) -> str:
        """Write the longest pattern of a group."""
        return groups.pattern(g, self.states)

    def describe(self, groups: SequenceGroups, g: int) -> str:
        """Write a group, and its orders."""
        first, last = groups.first[g], groups.last[g]
        orders = f"order {first}" if first == last else f"orders {first} to {last}"
        return f"{groups.describe(g, self.states) or '(any)'}: {orders}"

    def find(self, groups: SequenceGroups, pattern: str) -> int:
        """Return the group of a pattern; UserError if it is not expressed."""
        return groups.find(pattern, self.states)

    def named(self, groups: SequenceGroups) -> dict[str, tuple]:
        """Return what files of draws say of groups besides their patterns: dimensions, values."""
        return {
            "first": (("group",), groups.first),
            "last": (("group",), groups.last),
            "states": (("state",), np.array(self.states)),
        }

    # ---- peers ----

    @staticmethod
    def absent(peers: list[str]) -> list[str]:
        """Return peers whose packages are not here."""
        return sequence_peers.missing(peers)

    @staticmethod
    def load(peers: list[str]) -> None:
        """Import what peers need."""
        sequence_peers.load(peers)

    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:
        """Return a peer's predictive probabilities, (T, K)."""
        return sequence_peers.fit_predict(
            peer, order, np.asarray(cases.train), cases.train_response, np.asarray(cases.test),
            len(self.states), len(cases.classes), seed,
        )  # fmt: skip
