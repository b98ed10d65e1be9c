"""Patterns of discrete features: their groups and names, and other models that predict by them."""

import numpy as np

from thesiskit.experiments.logistic.cases import Cases
from thesiskit.models import peers
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import FeatureGroups, compress_features
from thesiskit.models.peers import FEATURES, RESPONSES, Task


class FeaturePatterns:
    """Patterns of discrete features.

    features : their names.
    values : the symbol of each code of each feature.
    """

    kind = "features"
    stored = FeatureGroups.stored  # the arrays that groups are restored from

    def __init__(self, features: list[str], values: list[list[str]]):
        self.features, self.values = features, values

    @classmethod
    def of(cls, table) -> "FeaturePatterns":
        """Return the patterns of a `FeatureTable`."""
        return cls(table.features, table.values)

    @classmethod
    def restore(cls, arrays: Arrays) -> "FeaturePatterns":
        """Return the patterns that `arrays` described."""
        pairs = zip(arrays["values"], arrays["n_values"], strict=True)
        values = [str(one).split("\t") if n else [] for one, n in pairs]
        return cls([str(one) for one in arrays["features"]], values)

    def arrays(self) -> Arrays:
        """Return what codes mean, for the simulate stage."""
        return {
            "features": np.array(self.features),
            "values": np.array(["\t".join(one) for one in self.values]),
            "n_values": np.array(self.n_values),
        }

    # ---- groups ----

    def groups(
        self,
        train: np.ndarray,
        order: int,
        *,
        compress: bool = True,
        min_cases: int = 1,
        arrays: Arrays | None = None,
    ) -> FeatureGroups:
        """Return the groups of patterns of training cases, restored where arrays are given.

        min_cases : patterns that fewer training cases express are left out.
        """
        return compress_features(
            train, order, compress=compress, min_cases=min_cases, arrays=arrays
        )

    def name(self, groups: FeatureGroups, g: int) -> str:
        """Write a shortest pattern of a group."""
        return groups.pattern(g, self.features, self.values)

    def describe(self, groups: FeatureGroups, g: int) -> str:
        """Write a group, and how many patterns it has."""
        count = int(groups.patterns_per_order[g].sum())
        said = groups.describe(g, self.features, self.values)
        return f"{said}: {count:,} pattern" + "s" * (count > 1)

    def find(self, groups: FeatureGroups, pattern: str) -> int:
        """Return the group of a pattern; UserError if it is not expressed."""
        return groups.find(pattern, self.features, self.values)

    def named(self, groups: FeatureGroups) -> dict[str, tuple]:
        """Return what files of draws say of groups besides their patterns: dimensions, values."""
        counts = groups.patterns_per_order
        return {
            "least_order": (("group",), (counts > 0).argmax(axis=1)),
            "patterns": (("group",), counts.sum(axis=1)),
        }

    # ---- peers ----

    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:
        """Return a peer's predictive probabilities, (T, K), or real responses, (T,)."""
        kind = FEATURES if cases.classes else RESPONSES
        task = Task(kind, len(cases.classes), values=self.n_values)
        return peers.fit_predict(peer, task, cases.train, cases.train_response, cases.test, seed)

    @property
    def n_values(self) -> list[int]:
        """How many values each feature has."""
        return [len(one) for one in self.values]
