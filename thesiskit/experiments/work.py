"""The contract of a kind of experiment: what it is given, and what it must answer.

There are four kinds: `selection/` (chapter 2), `logistic/` (chapter 3), and two without data,
`lattice` and `reduction`.  A kind knows its config and the folder of the config file.  When it
makes something it is given a `Block`, by which it reads what the stages before wrote.  It holds
nothing that leads back to the experiment that runs it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from thesiskit.config import Config
from thesiskit.errors import UserError
from thesiskit.models.chains import Arrays


def origin(config: Config) -> dict[str, bool]:
    """Return what reports are told of the data: whether they are drawn, and the user's own."""
    return {"drawn": config.drawn, "own": config.data is not None and config.data.own}


class Block(Protocol):
    """Some replicates that share one result file a stage, and what was written for them so far."""

    @property
    def number(self) -> int:
        """The number of the block, from 0."""

    @property
    def replicates(self) -> range:
        """The replicates of the block."""

    @property
    def code(self) -> str:
        """A digest of the code of this kind of experiment."""

    def key(self, stage: str, arm: str = "") -> str:
        """Return the key of a stage, or of an arm of it: a digest of all that leads to it."""

    def load(self, stage: str, names: Sequence[str] | None = None) -> Arrays:
        """Return the arrays of a stage before this one, or some of them."""

    def load_any(self, stage: str) -> Arrays:
        """Return the arrays of a stage, whatever they were made from; ResultsError if damaged."""

    def read(self, stage: str, arm: str, chain: int | None = None) -> Arrays:
        """Return the arrays of an arm, or of one of its chains."""

    def draws(self, stage: str, arm: str) -> Path:
        """Return the file of an arm's draws."""


class Unfinished(Protocol):
    """What is kept of a cell that is interrupted."""

    fits: dict[int, Arrays]

    def begin(self, place: int, saved: Arrays | None = None, seconds: float = 0.0) -> Any:
        """Return where a fit keeps its state."""

    def finish(self, place: int, fit: Arrays) -> None:
        """Keep a fit that is finished."""


class Work(ABC):
    """One kind of experiment: its stages, and how each is made.

    stages : in order; each may read what those before it wrote.
    """

    stages: tuple[str, ...]

    def __init__(self, config: Config, folder: Path):
        self.config, self.folder = config, folder

    def command(self, stage: str) -> str:
        """Return the command of a stage."""
        return stage

    # ---- data and settings ----

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules from whose imports all code is found that a result depends on."""
        data = self.config.data
        return (type(self).__module__, *([] if data is None else [type(data).__module__]))

    @property
    def data_digest(self) -> str:
        """A digest of data that are read; empty where they are drawn."""
        return ""

    @property
    def data_notes(self) -> list[str]:
        """What the user should know about data that are read, a line each."""
        return []

    @property
    def described(self) -> dict[str, Any]:
        """The config as reports and records keep it, with what it leaves to the data."""
        return self.config.model_dump(mode="json", exclude={"cluster"}) | {"scheme": None}

    @abstractmethod
    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage, or to an arm of it."""

    def check(self) -> None:  # noqa: B027
        """Raise ConfigError or DataError for what only the data show to be wrong."""

    # ---- what a stage consists of ----

    def arms(self, stage: str) -> dict[str, int]:
        """Return the arms of a stage and how many chains each has; no arms: it is one cell."""
        return {}

    def draws_name(self, stage: str, arm: str) -> str | None:
        """Return the name of the file of draws that an arm writes, None if it writes none."""
        return None

    # ---- making it ----

    def make(self, stage: str, block: Block) -> Arrays:
        """Return the arrays of a stage without arms."""
        raise NotImplementedError(stage)

    def make_arm(
        self, stage: str, arm: str, chain: int | None, block: Block, unfinished: Unfinished
    ) -> Arrays:
        """Return the arrays of an arm, or of one of its chains.

        An arm that has chains is made from them, after all of them, with `chain` None.
        """
        raise NotImplementedError(stage)

    def join(self, stage: str, found: list[Arrays], block: Block) -> Arrays:
        """Return the arrays of a stage from those of its arms."""
        raise NotImplementedError(stage)

    # ---- what some kinds can do besides ----

    def list_groups(
        self, block: Block, order: int | None, most: int, pattern: str | None
    ) -> list[str]:
        """Return lines about the largest groups of patterns, and about the group of a pattern."""
        raise UserError(
            f"{self.config.experiment} has no groups of patterns to list; "
            "leave out --list and --pattern"
        )

    def check_extension(self, block: Block) -> None:
        """Raise UserError where stored chains cannot go on."""
        raise UserError(f"{self.config.experiment} has no chains that can go on")
