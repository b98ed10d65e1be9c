"""What an experiment of chapter 3 consists of: sequences, a test set, and arms.

An *arm* is one model: its order and prior, compressed or not, by which engine and scale of sigma;
or a peer with its order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.config.logistic import (
    HiddenMarkovData,
    LogisticModel,
    PriorData,
    SequenceFileData,
    TextData,
    check_orders,
)
from thesiskit.datasets import sequences
from thesiskit.datasets.sequences import Sequences
from thesiskit.errors import DataError
from thesiskit.experiments.seeds import generator
from thesiskit.models.logistic import SIGMA_0
from thesiskit.models.sequence_peers import missing


@dataclass(frozen=True)
class Arm:
    """One model."""

    order: int
    prior: str  # "none" of a peer
    compress: bool
    engine: str  # "slice", "gp", or a peer's name
    scale: str

    @property
    def name(self) -> str:
        """What files and tables call it."""
        parts = [str(self.order), self.engine if self.prior == "none" else self.prior]
        if self.engine == "slice":
            parts.append("compressed" if self.compress else "original")
        elif self.engine == "gp":
            parts.append("process")
        if self.scale == "natural":
            parts.append("natural")
        return "-".join(parts)


@dataclass(frozen=True)
class Cases:
    """Training and test cases of one replicate."""

    train: np.ndarray  # (n, L)
    train_response: np.ndarray
    test: np.ndarray
    test_response: np.ndarray
    states: list[str]
    classes: list[str]
    truth: dict[str, np.ndarray] = field(default_factory=dict)  # of data drawn from the model


class LogisticDesign:
    """The sequences of a config, and what is done with them."""

    def __init__(self, config: Config, folder: Path):
        assert isinstance(config.model, LogisticModel)
        self.config, self.folder, self.model = config, folder, config.model
        self._drawn: tuple[int, Cases] | None = None

    @cached_property
    def stored(self) -> list[Sequences]:
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
    def data_digest(self) -> str:
        """What identifies the sequences that are not drawn."""
        return "".join(one.digest for one in self.stored)

    def check(self) -> None:
        """Raise ConfigError or DataError for what only the data show to be wrong."""
        if self.model.split_draws == "exact" and len(self.cases(0).classes) != 2:
            raise self.config.wrong(
                "model.split_draws",
                f"exact needs two classes, these data have {len(self.cases(0).classes)}",
            )
        shown = self.config.report.order
        if shown is not None and shown not in self.orders:
            raise self.config.wrong("report.order", f"{shown} is not one of model.orders")
        for one in self.stored[:1]:
            problem = check_orders(self.model, one.histories.shape[1])
            if problem:
                raise self.config.wrong("model.orders", problem)
            if getattr(self.config.data, "train", None):
                self._train_cases(len(one.response))

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
        if not isinstance(self.config.data, PriorData):
            return {}
        model = self.model
        return {
            "order": model.orders[0],
            "prior": model.priors[0],
            "sigma": [model.sigma_0, model.sigma_shape, model.sigma_mode],
        }

    def draw(self, replicate: int) -> dict[str, np.ndarray]:
        """Return the arrays that a simulate stage keeps: drawn sequences, and responses."""
        cases = self._make(replicate)
        arrays = {
            "response": np.concatenate([cases.train_response, cases.test_response]),
            "train_cases": np.array(len(cases.train_response)),
            "states": np.array(cases.states),
            "classes": np.array(cases.classes),
        }
        if not self.stored:
            arrays["histories"] = np.concatenate([cases.train, cases.test]).astype(np.uint8)
        return arrays | {f"true_{name}": values for name, values in cases.truth.items()}

    def cases(self, replicate: int) -> Cases:
        """Return the cases of a replicate."""
        if self._drawn is None or self._drawn[0] != replicate:
            self._drawn = (replicate, self._make(replicate))
        return self._drawn[1]

    def _make(self, replicate: int) -> Cases:
        data = self.config.data
        if isinstance(data, HiddenMarkovData):
            rng = generator(self.config.seed, "data", data.model_dump(), replicate)
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
            return _checked(_split(drawn, data.train, None))
        if isinstance(data, PriorData):
            return self._from_the_model(data, replicate)
        first, *others = self.stored
        if others:
            (test,) = others
            return _checked(
                Cases(
                    first.histories, first.response, test.histories, test.response,
                    test.states, first.classes,
                )
            )  # fmt: skip
        train = self._train_cases(len(first.response))
        return _checked(_split(first, train, getattr(data, "test", None)))

    def _from_the_model(self, data: PriorData, replicate: int) -> Cases:
        rng = generator(self.config.seed, "data", data.model_dump(), replicate)
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
            sigma_0=model.sigma_0 or SIGMA_0[prior],
            sigma_shape=model.sigma_shape,
            sigma_mode=model.sigma_mode,
        )
        return replace(_split(drawn, data.train, None), truth=truth)

    @property
    def length(self) -> int:
        """States of a history."""
        if isinstance(self.config.data, HiddenMarkovData | PriorData):
            return self.config.data.history
        return self.stored[0].histories.shape[1]

    @cached_property
    def orders(self) -> list[int]:
        """The orders, "all" in numbers."""
        found = [self.length if order == "all" else int(order) for order in self.model.orders]
        return list(dict.fromkeys(found))

    @cached_property
    def peers(self) -> list[str]:
        """The peers whose packages are here."""
        absent = missing(self.model.peers)
        return [peer for peer in self.model.peers if peer not in absent]

    @cached_property
    def arms(self) -> list[Arm]:
        """Everything that is fitted."""
        model = self.model
        own = [
            Arm(order, prior, compress, engine, scale)
            for engine, prior, compress, scale, order in product(
                model.engine, model.priors, model.compress, model.sigma_scale, self.orders
            )
            if engine == "slice"
        ]
        if "gp" in model.engine:  # Gaussian priors, nothing to compress, one way with sigma
            own += [Arm(order, "gaussian", False, "gp", "log") for order in self.orders]
        return own + [
            Arm(order, "none", False, peer, "none") for peer in self.peers for order in self.orders
        ]


def _split(drawn: Sequences, train: int, test: int | None) -> Cases:
    end = None if test is None else train + test
    return Cases(
        drawn.histories[:train],
        drawn.response[:train],
        drawn.histories[train:end],
        drawn.response[train:end],
        drawn.states,
        drawn.classes,
    )


def _checked(cases: Cases) -> Cases:
    """Return the cases, or say why nothing can be learnt from them."""
    known = np.unique(cases.train_response)
    if len(known) < 2:
        raise DataError(
            f"all {len(cases.train_response):,} training cases are followed by "
            f"{cases.classes[known[0]]!r}; there is nothing to predict, choose other cases"
        )
    return cases
