"""Patterns of sequences: their groups and names, and other models that predict sequences."""

import numpy as np

from thesiskit.experiments.logistic.cases import Cases
from thesiskit.models import peers
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import SequenceGroups, compress_sequences
from thesiskit.models.peers import SEQUENCES, Task


class SequencePatterns:
    """Patterns of histories.

    states : the symbol of each code of a history.
    """

    kind = "sequences"
    stored = SequenceGroups.stored  # the arrays that groups are restored from

    def __init__(self, states: list[str]):
        self.states = states

    @classmethod
    def of(cls, sequences) -> "SequencePatterns":
        """Return the patterns of `Sequences`."""
        return cls(sequences.states)

    @classmethod
    def restore(cls, arrays: Arrays) -> "SequencePatterns":
        """Return the patterns that `arrays` described."""
        return cls([str(one) for one in arrays["states"]])

    def arrays(self) -> Arrays:
        """Return what codes mean, for the simulate stage."""
        return {"states": np.array(self.states)}

    # ---- groups ----

    def groups(
        self,
        train: np.ndarray,
        order: int,
        *,
        compress: bool = True,
        min_cases: int = 1,
        arrays: Arrays | None = None,
    ) -> SequenceGroups:
        """Return the groups of patterns of training histories, restored where arrays are given.

        min_cases : 1; sequences are compressed with all their patterns.
        """
        assert min_cases == 1
        return compress_sequences(train, order, compress=compress, arrays=arrays)

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

    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:
        """Return a peer's predictive probabilities, (T, K)."""
        task = Task(SEQUENCES, len(cases.classes), values=len(self.states), order=order)
        train, test = np.asarray(cases.train), np.asarray(cases.test)
        return peers.fit_predict(peer, task, train, cases.train_response, test, seed)
