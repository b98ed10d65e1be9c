"""Cases of chapter 3, wherever they come from: what sequences and tables have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.config.logistic import LogisticModel
from thesiskit.errors import DataError, UserError
from thesiskit.models.patterns import Groups, check_order


@dataclass(frozen=True)
class Cases:
    """Training and test cases of one division."""

    train: np.ndarray  # (n, L) states, or (n, p) features
    train_response: np.ndarray
    test: np.ndarray
    test_response: np.ndarray
    classes: list[str]  # none where responses are real
    truth: dict[str, np.ndarray] = field(default_factory=dict)  # of data drawn from the model


class Source(ABC):
    """Where the cases of a config come from, what their patterns are, and who else predicts them.

    patterns : "sequences" or "features".
    stored : data that are not drawn, the training cases first.
    most : the largest order that there can be.
    """

    patterns: str
    stored: Sequence[Any]  # with a digest each
    most: int

    def __init__(self, config: Config, folder: Path):
        assert isinstance(config.model, LogisticModel)
        self.config, self.folder, self.model = config, folder, config.model
        self._made: tuple[int, Cases] | None = None

    @property
    def drawn(self) -> bool:
        """Whether cases are drawn, and the simulate stage keeps them."""
        return self.config.drawn

    @property
    def digest(self) -> str:
        """What identifies cases that are not drawn."""
        return "".join(one.digest for one in self.stored)

    def check_orders(self) -> None:
        """Raise ConfigError for an order that there cannot be."""
        most = self.most  # reads the table, whose faults are not the orders'
        for order in self.model.orders:
            try:
                check_order(order, most, self.patterns)
            except UserError as error:
                raise self.config.wrong("model.orders", str(error)) from None

    def check_sizes(self) -> None:
        """Raise ConfigError for sizes that there cannot be; nothing is drawn for it."""
        self.check_orders()

    def cases(self, division: int) -> Cases:
        """Return the cases of a division; the last ones are kept."""
        if self._made is None or self._made[0] != division:
            self._made = (division, self._checked(self.make(division)))
        return self._made[1]

    def _checked(self, cases: Cases) -> Cases:
        """Return the cases, or say why nothing can be learnt from them."""
        y = cases.train_response
        if y.min() == y.max() or not np.std(y) > 0:
            what = (
                f"are of class {cases.classes[y[0]]!r}"
                if cases.classes
                else f"have the response {y[0]:g}"
            )
            raise DataError(
                f"all {len(y):,} training cases {what}; there is nothing to predict, choose other "
                "cases"
            )
        return cases

    @abstractmethod
    def make(self, division: int) -> Cases:
        """Draw or divide the cases."""

    @abstractmethod
    def check(self) -> None:
        """Raise ConfigError or DataError for what only the data show to be wrong."""

    @property
    def drawn_with(self) -> dict[str, object]:
        """What drawn cases depend on besides the settings of `data`."""
        return {}

    @abstractmethod
    def kept(self, cases: Cases) -> dict[str, np.ndarray]:
        """Return arrays for the simulate stage: what codes mean, and cases that are drawn."""

    @abstractmethod
    def told(self) -> str:
        """Say what a case is."""

    @abstractmethod
    def groups(self, train: np.ndarray, order: int, *, compress: bool = True) -> Groups:
        """Return the groups of patterns of training cases."""

    @abstractmethod
    def name(self, groups: Groups, g: int) -> str:
        """Write a pattern of a group."""

    @abstractmethod
    def describe(self, groups: Groups, g: int) -> str:
        """Write a group, and its orders."""

    @abstractmethod
    def find(self, groups: Groups, pattern: str) -> int:
        """Return the group of a pattern; UserError if it is not expressed."""

    @abstractmethod
    def named(self, groups: Groups) -> dict[str, tuple]:
        """Return what files of draws say of groups besides their patterns: dimensions, values."""

    @abstractmethod
    def absent(self, peers: list[str]) -> list[str]:
        """Return peers whose packages are not here."""

    @abstractmethod
    def load(self, peers: list[str]) -> None:
        """Import what peers need."""

    @abstractmethod
    def predict(self, peer: str, order: int, cases: Cases, seed: int) -> np.ndarray:
        """Return a peer's predictive probabilities, (T, K), or real responses, (T,)."""
