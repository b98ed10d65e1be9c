"""A finished experiment, read back from its results folder for tables and figures."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from thesiskit.errors import ConfigError
from thesiskit.report.store import Results

THESIS = Path(__file__).parent / "thesis"


@dataclass(frozen=True)
class Arm:
    """One analysis: how many features, which method, which quadrature; its row of the arrays."""

    row: int
    label: str
    method: str
    quadrature: str

    @property
    def words(self) -> str:
        """How a table calls the method."""
        return method_words(self.method)


def method_words(method: str) -> str:
    """How tables and legends call a method."""
    return {
        "bernoulli-nb": "SelectKBest + BernoulliNB",
        "bernoulli-nb-calibrated": "the same in CalibratedClassifierCV",
    }.get(method, method)


class Record:
    """Arrays of all blocks of an experiment, loaded when asked for."""

    def __init__(self, results: Results, n_blocks: int, config: dict[str, Any]):
        self.results = results
        self.n_blocks = n_blocks
        self.config = config

    def _join(self, stage: str, axes: dict[str, int]) -> dict[str, np.ndarray]:
        blocks = [self.results.load(stage, number) for number in range(self.n_blocks)]
        joined = dict(blocks[0])
        for name, axis in axes.items():
            joined[name] = np.concatenate([block[name] for block in blocks], axis=axis)
        return joined

    @cached_property
    def predictions(self) -> dict[str, np.ndarray]:
        """Predictions (arms, N) and what they are for, (N,)."""
        names = ("replicate", "group", "fold", "case", "response", "seconds")
        return self._join("predict", {"probability": 1} | dict.fromkeys(names, 0))

    @cached_property
    def selection(self) -> dict[str, np.ndarray]:
        """One entry per split and size."""
        names = (
            "gamma_squared",
            "n_features",
            "kept",
            "tied",
            "tied_kept",
            "seconds",
        )
        return self._join("select", dict.fromkeys(names, 0))

    @cached_property
    def fits(self) -> dict[str, np.ndarray]:
        """The first block's posteriors; seconds of all."""
        return self._join("fit", {"seconds": 0})

    @cached_property
    def arms(self) -> list[Arm]:
        """All arms, in the order of the arrays."""
        found = self.predictions
        return [
            Arm(i, str(label), str(method), str(quadrature))
            for i, (label, method, quadrature) in enumerate(
                zip(found["label"], found["method"], found["quadrature"], strict=True)
            )
        ]

    @property
    def labels(self) -> list[str]:
        """The selections, in the order of the config."""
        return list(dict.fromkeys(arm.label for arm in self.arms))

    @property
    def quadratures(self) -> list[str]:
        """The theta rules used."""
        return [q for q in dict.fromkeys(arm.quadrature for arm in self.arms) if q != "none"]

    @property
    def main_arms(self) -> list[Arm]:
        """The arms with the first quadrature, and those that have none."""
        return [arm for arm in self.arms if arm.quadrature in (self.quadratures[0], "none")]

    def methods(self, order: Iterable[str]) -> list[str]:
        """The methods used, in the order given; where all features are kept, one serves for all."""
        used = {arm.method for arm in self.arms}
        return [method for method in order if method in used] or ["corrected"]

    def find(self, label: str, method: str, quadrature: str | None = None) -> Arm | None:
        """Return an arm; keeping all features serves as any of our own methods."""
        wanted = quadrature or self.quadratures[0]
        for arm in self.arms:
            if arm.label == label and arm.quadrature in (wanted, "none"):
                own = method in ("corrected", "uncorrected")
                if arm.method == method or (arm.method == "complete" and own):
                    return arm
        return None

    def probability(self, arm: Arm) -> np.ndarray:
        """Predictive probabilities of class 1, (N,)."""
        return self.predictions["probability"][arm.row]

    @property
    def response(self) -> np.ndarray:
        """The response of every test case, (N,)."""
        return self.predictions["response"]

    def kept(self, label: str) -> float:
        """How many features a label stands for, the mean where it varies."""
        return float(np.mean(dict(self.by_size("kept"))[label]))

    def by_size(self, name: str) -> Iterator[tuple[str, np.ndarray]]:
        """Yield each label with the entries of the selection array `name` for it."""
        for i, label in enumerate(self.labels):
            yield label, self.selection[name][i :: len(self.labels)]

    @cached_property
    def thesis(self) -> dict[str, Any]:
        """The numbers the thesis prints for this experiment, empty where there are none."""
        key = self.config["report"].get("thesis")
        return thesis_numbers()[key] if key else {}

    @cached_property
    def thesis_calibration(self) -> pd.DataFrame | None:
        """The thesis's calibration table, None where there is none."""
        name = self.thesis.get("calibration_table")
        return pd.read_csv(THESIS / name) if name else None


def thesis_numbers() -> dict[str, Any]:
    """Return the numbers that the thesis prints, by experiment."""
    return yaml.safe_load((THESIS / "numbers.yaml").read_text(encoding="utf-8"))


def check_thesis(config: dict[str, Any]) -> None:
    """Raise ConfigError if the config compares with an experiment the thesis does not have."""
    key = config["report"].get("thesis")
    known = thesis_numbers()
    if key and key not in known:
        raise ConfigError(f"the thesis has no {key!r}; use one of {', '.join(known)}")


def gammas(squares: np.ndarray) -> np.ndarray:
    """Return gamma from stored fractions "a/b" of its square."""
    return np.sqrt([float(Fraction(str(square))) for square in squares])
