"""Patterns of sequences and of features, in words: groups, their names, and peers.

Built from what the simulate stage keeps, so that no later stage reads the data again.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from thesiskit.experiments.logistic.cases import Cases
from thesiskit.models.patterns import (
    FeatureGroups,
    Groups,
    SequenceGroups,
    compress_features,
    compress_sequences,
)
from thesiskit.models.peers import features as feature_peers
from thesiskit.models.peers import sequences as sequence_peers
from thesiskit.models.running import Arrays


class Patterns(ABC):
    """What patterns of cases are, how they are written, and which peers there are.

    kind : "sequences" or "features".
    stored : names of the arrays from which groups are restored.
    """

    kind: ClassVar[str]
    stored: ClassVar[tuple[str, ...]]

    @abstractmethod
    def groups(
        self, train: np.ndarray, order: int, *, compress: bool = True, arrays: Arrays | None = None
    ) -> Groups:
        """Return the groups of patterns of training cases, restored where arrays are given."""

    @abstractmethod
    def name(self, groups, g: int) -> str:
        """Write a pattern of a group."""

    @abstractmethod
    def describe(self, groups, g: int) -> str:
        """Write a group, and its orders or how many patterns it has."""

    @abstractmethod
    def find(self, groups, pattern: str) -> int:
        """Return the group of a pattern; UserError if it is not expressed."""

    @abstractmethod
    def named(self, groups) -> dict[str, tuple]:
        """Return what files of draws say of groups besides their patterns: dimensions, values."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return the arrays that these patterns are built from again by `patterns_from`."""

    @abstractmethod
    def load(self, peers: list[str]) -> None:
        """Import what peers need."""

    @abstractmethod
    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:
        """Return a peer's predictive probabilities, (T, K), or real responses, (T,)."""


class SequencePatterns(Patterns):
    """Patterns of histories; states are their symbols."""

    kind = "sequences"
    stored = SequenceGroups.stored

    def __init__(self, states: Sequence[str]):
        self.states = list(states)

    def groups(self, train, order, *, compress=True, arrays=None) -> SequenceGroups:
        return compress_sequences(train, order, compress=compress, arrays=arrays)

    def name(self, groups, g: int) -> str:
        """Write the longest pattern of a group."""
        return groups.pattern(g, self.states)

    def describe(self, groups, g: int) -> str:
        """Write a group, and its orders."""
        first, last = groups.first[g], groups.last[g]
        orders = f"order {first}" if first == last else f"orders {first} to {last}"
        return f"{groups.describe(g, self.states) or '(any)'}: {orders}"

    def find(self, groups, pattern: str) -> int:
        return groups.find(pattern, self.states)

    def named(self, groups) -> dict[str, tuple]:
        return {
            "first": (("group",), groups.first),
            "last": (("group",), groups.last),
            "states": (("state",), np.array(self.states)),
        }

    def arrays(self) -> Arrays:
        return {"states": np.array(self.states)}

    def load(self, peers: list[str]) -> None:
        sequence_peers.load(peers)

    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:
        """Return a peer's predictive probabilities, (T, K)."""
        return sequence_peers.fit_predict(
            peer, order, np.asarray(cases.train), cases.train_response, np.asarray(cases.test),
            len(self.states), len(cases.classes), seed,
        )  # fmt: skip


class FeaturePatterns(Patterns):
    """Patterns of tables; features are their names, values those of each.

    min_cases : patterns that fewer training cases express are left out.
    """

    kind = "features"
    stored = FeatureGroups.stored

    def __init__(self, features: Sequence[str], values: Sequence[Sequence[str]], min_cases: int):
        self.names = list(features), [list(one) for one in values]
        self.min_cases = min_cases

    def groups(self, train, order, *, compress=True, arrays=None) -> FeatureGroups:
        return compress_features(
            train, order, compress=compress, min_cases=self.min_cases, arrays=arrays
        )

    def name(self, groups, g: int) -> str:
        """Write a shortest pattern of a group."""
        return groups.pattern(g, *self.names)

    def describe(self, groups, g: int) -> str:
        """Write a group, and how many patterns it has."""
        counts = groups.patterns_per_order[g]
        patterns = int(counts.sum())
        return f"{groups.describe(g, *self.names)}: {patterns:,} pattern" + "s" * (patterns > 1)

    def find(self, groups, pattern: str) -> int:
        return groups.find(pattern, *self.names)

    def named(self, groups) -> dict[str, tuple]:
        counts = groups.patterns_per_order
        return {
            "least_order": (("group",), (counts > 0).argmax(axis=1)),
            "patterns": (("group",), counts.sum(axis=1)),
        }

    def arrays(self) -> Arrays:
        features, values = self.names
        return {
            "features": np.array(features),
            "values": np.array(["\t".join(one) for one in values]),
            "n_values": np.array([len(one) for one in values]),
        }

    def load(self, peers: list[str]) -> None:
        feature_peers.load(peers)

    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:
        """Return a peer's predictive probabilities, (T, K), or real responses, (T,)."""
        n_values = [len(one) for one in self.names[1]]
        data = cases.train, cases.train_response, cases.test, n_values
        if not cases.classes:
            return feature_peers.fit_predict_response(peer, *data, seed)
        return feature_peers.fit_predict(peer, *data, len(cases.classes), seed)


def patterns_from(arrays: Arrays, min_cases: int) -> Patterns:
    """Return the patterns of cases that a simulate stage kept."""
    if "states" in arrays:
        return SequencePatterns([str(one) for one in arrays["states"]])
    return FeaturePatterns(
        [str(one) for one in arrays["features"]],
        [
            str(one).split("\t") if n else []
            for one, n in zip(arrays["values"], arrays["n_values"], strict=True)
        ],
        min_cases,
    )
