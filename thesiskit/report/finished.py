"""A finished experiment, whatever its kind, read back from its results folder."""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import yaml

from thesiskit.errors import ConfigError
from thesiskit.files import Results
from thesiskit.report.explorer.content import Content
from thesiskit.report.forecasts import Forecast, Score, Tested, headline, score

THESIS = Path(__file__).parent / "thesis"


class Finished:
    """The results of an experiment, its config, and what the page asks of it.

    about : the module that says in words what a kind with data asks, and what its data are.
    explore : returns the groups of patterns of a model, with all that a page of them shows; None
    where nobody can say.
    """

    about: ModuleType
    explore: Callable[[], Content] | None = None

    def __init__(self, results: Results, n_blocks: int, config: dict[str, Any]):
        self.results = results
        self.n_blocks = n_blocks
        self.config = config

    def _join(self, stage: str, axes: dict[str, int]) -> dict[str, np.ndarray]:
        """Return a stage's arrays: those of `axes` of all blocks, joined, others of the first."""
        blocks = [self.results.load(stage, number) for number in range(self.n_blocks)]
        joined = dict(blocks[0])
        for name, axis in axes.items():
            joined[name] = np.concatenate([block[name] for block in blocks], axis=axis)
        return joined

    def summary(self, stage: str) -> str:  # noqa: ARG002
        """Say in a line what the files of a stage show."""
        return "the lattice of counts"

    @property
    def forecasts(self) -> list[Forecast]:
        """What every arm predicted for test cases that have classes."""
        return []

    @property
    def tested(self) -> Tested:
        """The test cases."""
        raise NotImplementedError

    def scores(self) -> list[tuple[Forecast, Score]]:
        """Return every arm's predictions, and how good they are."""
        return [(one, score(self.tested, one.name, one.probability)) for one in self.forecasts]

    def predicted_columns(self) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """Yield what an arm is, and the columns of its predictions, (N,) each."""
        for one in self.forecasts:
            columns = zip(self.tested.classes, one.probability.T, strict=True)
            yield one.keys, {f"probability: {name}": p for name, p in columns}

    def card(self) -> list[tuple[str, str]]:
        """Return what there is to say about the data: what, and the words."""
        return self.about.card(self)

    @property
    def question(self) -> str:
        """What was asked of the data, in sentences."""
        return self.about.question(self)

    @property
    def notes(self) -> list[str]:
        """What the user should know about the data."""
        return []

    def headline(self) -> list[str]:
        """Return lines with the scores of the arms, the best ones where there are many."""
        return headline(self.scores())

    @property
    def warnings(self) -> list[str]:
        """Sentences about results that are not reliable, shown at the top of the page."""
        return []

    def timings(self) -> list[dict[str, Any]] | None:
        """Rows of timings.csv, None where there is nothing to time."""
        return None

    @cached_property
    def thesis(self) -> dict[str, Any]:
        """The numbers the thesis prints for this experiment, empty where there are none."""
        key = self.config["report"].get("thesis")
        return thesis_numbers()[key] if key else {}


@lru_cache(maxsize=1)
def thesis_numbers() -> dict[str, Any]:
    """Return the numbers that the thesis prints, by experiment."""
    return yaml.safe_load((THESIS / "numbers.yaml").read_text(encoding="utf-8"))


def check_thesis(config: dict[str, Any]) -> None:
    """Raise ConfigError if the config compares with an experiment the thesis does not have."""
    key = config["report"].get("thesis")
    if key and key not in thesis_numbers():
        raise ConfigError(f"the thesis has no {key!r}; use one of {', '.join(thesis_numbers())}")
