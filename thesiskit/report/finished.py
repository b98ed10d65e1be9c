"""A finished experiment, whatever its kind, read back from its results folder."""

from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from thesiskit.errors import ConfigError
from thesiskit.store.results import Results

THESIS = Path(__file__).parent / "thesis"


class Finished:
    """The results of an experiment, its config, and what the page asks of it."""

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
    def warnings(self) -> list[str]:
        """Sentences about results that are not reliable, shown at the top of the page."""
        return []

    @cached_property
    def data_notes(self) -> list[str]:
        """What there is to know about the data, as it was said when they were read."""
        if not self.results.path("simulate", 0).is_file():
            return []
        found = self.results.load("simulate", 0, ("notes",))
        return [str(note) for note in found.get("notes", ())]

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
