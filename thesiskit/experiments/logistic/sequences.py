"""Sequences for the experiments of chapter 3: drawn, of a text, or of the user's files."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from thesiskit import defaults
from thesiskit.config.logistic import (
    HiddenMarkovData,
    PriorData,
    SequenceFileData,
    TextData,
)
from thesiskit.datasets import sequences
from thesiskit.datasets.sequences import Sequences
from thesiskit.errors import DataError
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.logistic.cases import Cases, Source
from thesiskit.models.patterns import SequenceGroups, compress_sequences
from thesiskit.models.peers import sequences as sequence_peers


class SequenceSource(Source):
    """Histories, and the states that follow them."""

    patterns = "sequences"

    @cached_property
    def stored(self) -> list[Sequences]:  # type: ignore[override]
        """Sequences that are not drawn: of a text, or of the user's files."""
        data = self.config.data
        if isinstance(data, TextData):
            return [self._windows(data)]
        if isinstance(data, SequenceFileData):
            options: dict[str, Any] = {"pad": data.pad, "header": data.header}
            first = sequences.read_sequences(
                self.folder / data.path, length=data.history, **options
            )
            if data.test_path is None:
                return [first]
            test = sequences.read_sequences(
                self.folder / data.test_path, length=data.history, like=first, **options
            )
            return [first, test]
        return []

    def _windows(self, data: TextData) -> Sequences:
        if data.path is None:
            if data.states is not None:
                raise self.config.wrong("data.states", "the shipped text is coded; give data.path")
            codes, symbols, _ = sequences.shipped_text()
        else:
            states: Mapping[str, str | None] = data.states or sequences.THESIS_STATES
            codes, symbols, _ = sequences.read_text(self.folder / data.path, states)
        return sequences.windows(codes, data.history, states=symbols, limit=data.limit)

    @property
    def most(self) -> int:  # type: ignore[override]
        """States of a history."""
        if isinstance(self.config.data, HiddenMarkovData | PriorData):
            return self.config.data.history
        return self.stored[0].histories.shape[1]

    @cached_property
    def states(self) -> list[str]:
        """Symbols of the states."""
        data = self.config.data
        if isinstance(data, HiddenMarkovData):
            return sequences.numbered(len(data.emission[0]))
        if isinstance(data, PriorData):
            return sequences.numbered(data.states)
        return self.stored[-1].states

    def check(self) -> None:
        """Raise ConfigError or DataError for what only the data show to be wrong."""
        self.check_orders()
        if self.stored and getattr(self.config.data, "train", None):
            self._train_cases(len(self.stored[0].response))

    def _train_cases(self, cases: int) -> int:
        assert isinstance(self.config.data, TextData | SequenceFileData)
        train = self.config.data.train
        assert train is not None
        if train >= cases:
            raise self.config.wrong(
                "data.train", f"there are {cases} cases; at most {cases - 1} can be trained with"
            )
        return train

    @property
    def drawn_with(self) -> dict[str, object]:
        """What data drawn from the model itself depend on besides their own settings."""
        return self.model.drawn_with if isinstance(self.config.data, PriorData) else {}

    def make(self, division: int) -> Cases:
        """Draw or divide the cases."""
        data = self.config.data
        if isinstance(data, HiddenMarkovData):
            rng = generator(self.config.seed, "data", data.model_dump(), division)
            try:
                drawn = sequences.draw_hidden_markov(
                    rng,
                    transition=data.transition,  # type: ignore[arg-type]
                    emission=data.emission,  # type: ignore[arg-type]
                    length=data.history,
                    cases=data.train + data.test,
                )
            except DataError as error:
                name = "emission" if str(error).startswith("emission") else "transition"
                raise self.config.wrong(f"data.{name}", str(error)) from None
            return _split(drawn, data.train, None)
        if isinstance(data, PriorData):
            return self._from_the_model(data, division)
        first, *others = self.stored
        if others:
            (test,) = others
            return Cases(
                first.histories, first.response, test.histories, test.response, first.classes
            )
        train = self._train_cases(len(first.response))
        return _split(first, train, getattr(data, "test", None))

    def _from_the_model(self, data: PriorData, division: int) -> Cases:
        rng = generator(self.config.seed, "data", data.model_dump(), division)
        model, prior = self.model, self.model.priors[0]
        order = model.orders[0]
        drawn, truth = sequences.draw_logistic(
            rng,
            states=data.states,
            classes=data.classes,
            length=data.history,
            order=data.history if order == "all" else int(order),
            cases=data.train + data.test,
            train=data.train,
            cauchy=prior == "cauchy",
            sigma_0=model.sigma_0 or defaults.SIGMA_0[prior],
            sigma_shape=model.sigma_shape,
            sigma_mode=model.sigma_mode,
        )
        return replace(_split(drawn, data.train, None), truth=truth)

    def kept(self, cases: Cases) -> dict[str, np.ndarray]:
        """Return arrays for the simulate stage."""
        arrays = {"states": np.array(self.states)}
        if self.drawn:
            arrays["histories"] = np.concatenate([cases.train, cases.test]).astype(np.uint8)
        return arrays

    def told(self) -> str:
        """Say what a case is."""
        few = ", ".join(self.states[:9]) + (", ..." if len(self.states) > 9 else "")
        return f"histories of {self.most} states ({few})"

    # ---- patterns ----

    def groups(self, train: np.ndarray, order: int, *, compress: bool = True) -> SequenceGroups:
        """Return the groups of patterns of training histories."""
        return compress_sequences(train, order, compress=compress)

    def name(self, groups, g: int) -> str:
        """Write the longest pattern of a group."""
        return groups.pattern(g, self.states)

    def describe(self, groups, g: int) -> str:
        """Write a group, and its orders."""
        first, last = groups.first[g], groups.last[g]
        orders = f"order {first}" if first == last else f"orders {first} to {last}"
        return f"{groups.describe(g, self.states) or '(any)'}: {orders}"

    def find(self, groups, pattern: str) -> int:
        """Return the group of a pattern; UserError if it is not expressed."""
        return groups.find(pattern, self.states)

    def named(self, groups) -> dict[str, tuple]:
        """Return what files of draws say of groups besides their patterns."""
        return {
            "first": (("group",), groups.first),
            "last": (("group",), groups.last),
            "states": (("state",), np.array(self.states)),
        }

    # ---- peers ----

    def absent(self, peers: list[str]) -> list[str]:
        """Return peers whose packages are not here."""
        return sequence_peers.missing(peers)

    def load(self, peers: list[str]) -> None:
        """Import what peers need."""
        sequence_peers.load(peers)

    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:
        """Return a peer's predictive probabilities, (T, K)."""
        return sequence_peers.fit_predict(
            peer, order, np.asarray(cases.train), cases.train_response, np.asarray(cases.test),
            len(self.states), len(cases.classes), seed,
        )  # fmt: skip


def _split(drawn: Sequences, train: int, test: int | None) -> Cases:
    end = None if test is None else train + test
    return Cases(
        drawn.histories[:train],
        drawn.response[:train],
        drawn.histories[train:end],
        drawn.response[train:end],
        drawn.classes,
    )
