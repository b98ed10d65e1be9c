"""What a kind of experiment has to say; the runner in stages.py knows no more of it."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from thesiskit.report.finished import Finished


class Work(ABC):
    """The stages of one kind of experiment, and how each block of them is made.

    stages: in order; each may read what those before it wrote, by `experiment.load`.
    """

    stages: tuple[str, ...]

    def __init__(self, experiment):
        self.experiment = experiment
        self.config = experiment.config

    def command(self, stage: str) -> str:
        """The command of a stage."""
        return stage

    @property
    def data_digest(self) -> str:
        """What identifies data that are not drawn."""
        return ""

    @property
    def described(self) -> dict[str, Any]:
        """The config for people and files, with what it leaves to the data."""
        return self.config.model_dump(mode="json") | {"scheme": None}

    def check(self) -> None:  # noqa: B027
        """Raise what can be known of the data to be wrong before any work is done."""

    @abstractmethod
    def settings_of(self, stage: str) -> Any:
        """Return the part of the config that matters to a stage."""

    @abstractmethod
    def make(self, stage: str, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of a block."""

    def whole(self, stage: str, number: int) -> bool:  # noqa: ARG002
        """Whether all that a stage writes beside its block is there; must be quick."""
        return True

    def forget(self, stage: str, number: int, *, forced: bool = False) -> None:  # noqa: B027
        """Remove what is kept of a block while it is not done; if forced, all that is kept."""

    @abstractmethod
    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show."""

    def record(self) -> Finished:
        """Return the finished experiment, for the report."""
        return Finished(self.experiment.results, len(self.experiment.blocks), self.described)
