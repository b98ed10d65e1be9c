"""What a kind of experiment has to say; the runner in stages.py knows no more of it."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from thesiskit.experiments.cells.unfinished import Unfinished
from thesiskit.models.running import Arrays
from thesiskit.report.finished import Finished


class Work(ABC):
    """The stages of one kind of experiment, and how each block of them is made.

    stages: in order; each may read what those before it wrote, by `experiment.load` and
    `experiment.read`.
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
        return self.config.model_dump(mode="json", exclude={"cluster"}) | {"scheme": None}

    def check(self) -> None:  # noqa: B027
        """Raise what can be known of the data to be wrong before any work is done."""

    def load(self) -> type | None:
        """Import what makes fits, and return it; once, before processes are forked."""
        return None

    def fits(self, number: int) -> Any:
        """Return what makes the fits of a block."""
        kind = self.load()
        assert kind is not None, "nothing is fitted"
        return kind(self, number)

    # ---- what a stage consists of ----

    def arms(self, stage: str) -> dict[str, int]:  # noqa: ARG002
        """Return the arms of a stage, and how many chains each has; none: it is made as a whole."""
        return {}

    @abstractmethod
    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage, or to an arm of it."""

    # ---- making it ----

    @abstractmethod
    def make(self, stage: str, number: int) -> Arrays:
        """Return the arrays of a block."""

    def make_arm(
        self, stage: str, number: int, arm: str, chain: int | None, unfinished: Unfinished
    ) -> Arrays:
        """Return the arrays of an arm, or of a chain of it; of one with chains, compare these."""
        raise NotImplementedError

    def join(self, stage: str, number: int, found: list[Arrays]) -> Arrays:
        """Return the arrays of a block from those of its arms."""
        raise NotImplementedError

    def draws(self, stage: str, number: int, arm: str) -> Path | None:  # noqa: ARG002
        """Return the file of draws that an arm writes beside its arrays, None if it has none."""
        return None

    @abstractmethod
    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show."""

    def record(self) -> Finished:
        """Return the finished experiment, for the report."""
        return Finished(self.experiment.results, len(self.experiment.blocks), self.described)
