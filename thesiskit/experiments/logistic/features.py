"""Tables of discrete features for the experiments of chapter 3."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from thesiskit import defaults
from thesiskit.config.features import (
    EpistasisData,
    InteractionData,
    SpliceData,
    TableData,
    TicTacToeData,
    VotesData,
)
from thesiskit.datasets import epistasis, feature_files, features, public_tables
from thesiskit.datasets.features import FeatureTable
from thesiskit.datasets.synthetic import draw_noise, draw_sigma
from thesiskit.errors import DataError
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.logistic.cases import Cases, Source
from thesiskit.models.patterns import FeatureGroups, compress_features
from thesiskit.models.peers import features as feature_peers


class FeatureSource(Source):
    """Cases with features, and their classes or real responses."""

    patterns = "features"

    @cached_property
    def stored(self) -> list[FeatureTable]:  # type: ignore[override]
        """Tables that are not drawn; a second one is of test cases."""
        data = self.config.data
        if isinstance(data, TicTacToeData):
            return [features.tic_tac_toe()]
        if isinstance(data, SpliceData):
            return [public_tables.splice(data.window)]
        if isinstance(data, VotesData):
            return [public_tables.votes()]
        if isinstance(data, TableData):
            options: dict[str, Any] = {
                "ignore": tuple(data.ignore),
                "missing": tuple(data.missing),
                "continuous": self.model.continuous,
            }
            first = feature_files.read_features(self.folder / data.path, data.response, **options)
            if data.test_path is None:
                return [first]
            path = self.folder / data.test_path
            return [first, feature_files.read_features(path, data.response, like=first, **options)]
        return []

    @cached_property
    def most(self) -> int:  # type: ignore[override]
        """Features of a case."""
        data = self.config.data
        if isinstance(data, InteractionData):
            return data.features
        if isinstance(data, EpistasisData):
            return 2 + data.noise_features
        return len(self.stored[0].features)

    def check_sizes(self) -> None:
        """Raise ConfigError for orders above the features, or folds above the cases."""
        super().check_sizes()
        if self.config.scheme != "k-fold":
            return
        data, folds = self.config.data, self.config.evaluation.folds
        cases = data.cases if isinstance(data, EpistasisData) else len(self.stored[0].X)
        if folds > cases:
            raise self.config.wrong(
                "evaluation.folds",
                f"cannot make {folds:,} folds of {cases:,} cases; use at most as many",
            )

    def check(self) -> None:
        """Raise ConfigError or DataError for what only the data show to be wrong."""
        self.check_sizes()
        cases = len(self.cases(0).train)
        if self.model.min_cases > cases:
            raise self.config.wrong(
                "model.min_cases", f"there are {cases} training cases; use at most as many"
            )

    def table(self, replicate: int) -> FeatureTable:
        """Return the table of a replicate."""
        return self._drawn(replicate)[0] if self.drawn else self.stored[0]

    def _drawn(self, replicate: int) -> tuple[FeatureTable, dict[str, np.ndarray]]:
        data = self.config.data
        settings = data.model_dump(exclude={"noise"})  # type: ignore[union-attr]
        rng = generator(self.config.seed, "data", settings, replicate)
        if isinstance(data, EpistasisData):
            return epistasis.draw_epistasis(
                rng, cases=data.cases, noise_features=data.noise_features,
                frequency=data.frequency, heritability=data.heritability,
                prevalence=data.prevalence,
            )  # fmt: skip
        assert isinstance(data, InteractionData)
        own = self._of_the_model(data, rng) if data.sigma == "prior" else {
            "order": len(data.sigma) - 1,
            "sigma": np.array(data.sigma),
            "cauchy": data.prior == "cauchy",
            "noise": data.noise if self.model.continuous else None,
        }  # fmt: skip
        return features.draw_interactions(
            rng, features=data.features, values=data.values, cases=data.train + data.test,
            train=data.train, classes=data.classes, **own,
        )  # fmt: skip

    def _of_the_model(self, data: InteractionData, rng: np.random.Generator) -> dict[str, Any]:
        """Return what responses are drawn with: all of it comes from the model's priors."""
        model, prior, order = self.model, self.model.priors[0], self.model.orders[0]
        order = data.features if order == "all" else int(order)
        widths = (model.sigma_0 or defaults.SIGMA_0[prior], model.sigma_shape, model.sigma_mode)
        noise = None
        if model.continuous:
            noise = model.noise or draw_noise(rng, model.noise_shape, model.noise_mode)
        return {
            "order": order,
            "sigma": lambda: draw_sigma(rng, order, *widths),
            "cauchy": prior == "cauchy",
            "noise": noise,
        }

    def make(self, division: int) -> Cases:
        """Draw or divide the cases."""
        if self.config.scheme == "test-set":
            if len(self.stored) == 2:
                first, test = self.stored
                return Cases(first.X, first.response, test.X, test.response, first.classes)
            data = self.config.data
            assert isinstance(data, InteractionData)
            table, truth = self._drawn(division)
            cases = _divided(table, np.arange(len(table.X)) < data.train)
            return replace(cases, truth=truth) if data.sigma == "prior" else cases
        replicate, fold = divmod(division, self.config.evaluation.folds)
        table = self.table(replicate)
        rng = generator(self.config.seed, "folds", self.config.evaluation.folds, replicate)
        try:
            of = features.folds(table.X, table.response, self.config.evaluation.folds, rng)
        except DataError as error:
            raise self.config.wrong("evaluation.folds", str(error)) from None
        return _divided(table, of != fold)

    @property
    def drawn_with(self) -> dict[str, object]:
        """What the division and the responses depend on besides the data."""
        found: dict[str, object] = {
            "scheme": self.config.scheme,
            "folds": self.config.evaluation.folds,
            "response": self.model.response,
        }
        if getattr(self.config.data, "sigma", None) == "prior":
            found |= self.model.drawn_with
        return found

    @cached_property
    def names(self) -> tuple[list[str], list[list[str]]]:
        """Names of the features, and of the values of each."""
        table = self.table(0)
        return table.features, table.values

    def kept(self, cases: Cases) -> dict[str, np.ndarray]:
        """Return arrays for the simulate stage."""
        names, values = self.names
        arrays = {
            "features": np.array(names),
            "values": np.array(["\t".join(one) for one in values]),
        }
        if self.drawn:
            arrays["cases"] = np.concatenate([cases.train, cases.test])
        return arrays

    def told(self) -> str:
        """Say what a case is."""
        counts = sorted(set(self.n_values))
        values = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return f"{self.most} features of {values} values"

    # ---- patterns ----

    def groups(self, train: np.ndarray, order: int, *, compress: bool = True) -> FeatureGroups:
        """Return the groups of patterns of training cases."""
        return compress_features(train, order, compress=compress, min_cases=self.model.min_cases)

    def name(self, groups, g: int) -> str:
        """Write a shortest pattern of a group."""
        return groups.pattern(g, *self.names)

    def describe(self, groups, g: int) -> str:
        """Write a group, and how many patterns it has."""
        counts = groups.patterns_per_order[g]
        patterns = int(counts.sum())
        return f"{groups.describe(g, *self.names)}: {patterns:,} pattern" + "s" * (patterns > 1)

    def find(self, groups, pattern: str) -> int:
        """Return the group of a pattern; UserError if it is not expressed."""
        return groups.find(pattern, *self.names)

    def named(self, groups) -> dict[str, tuple]:
        """Return what files of draws say of groups besides their patterns."""
        counts = groups.patterns_per_order
        return {
            "least_order": (("group",), (counts > 0).argmax(axis=1)),
            "patterns": (("group",), counts.sum(axis=1)),
        }

    # ---- peers ----

    def absent(self, peers: list[str]) -> list[str]:  # noqa: ARG002
        """Return peers whose packages are not here."""
        return []

    def load(self, peers: list[str]) -> None:
        """Import what peers need."""
        feature_peers.load(peers)

    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:  # noqa: ARG002
        """Return a peer's predictive probabilities, (T, K), or real responses, (T,)."""
        data = cases.train, cases.train_response, cases.test, self.n_values
        if self.model.continuous:
            return feature_peers.fit_predict_response(peer, *data, seed)
        return feature_peers.fit_predict(peer, *data, len(cases.classes), seed)

    @property
    def n_values(self) -> list[int]:
        """How many values each feature has."""
        return [len(one) for one in self.names[1]]


def _divided(table: FeatureTable, train: np.ndarray) -> Cases:
    return Cases(
        table.X[train], table.response[train], table.X[~train], table.response[~train],
        table.classes,
    )  # fmt: skip
