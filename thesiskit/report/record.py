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
    """One analysis: how many features, which method, which rule or sampler; its row of arrays."""

    row: int
    label: str
    method: str
    variant: str

    @property
    def words(self) -> str:
        """How a table calls the method."""
        return method_words(self.method)


def method_words(method: str) -> str:
    """How tables and legends call a method."""
    return {
        "bernoulli-nb": "SelectKBest + BernoulliNB",
        "bernoulli-nb-calibrated": "the same in CalibratedClassifierCV",
        "naive-corrected": "naive Bayes, corrected",
        "naive-uncorrected": "naive Bayes, uncorrected",
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
        """The first block's posteriors, or traces; of other arrays all blocks."""
        names = ["seconds"]
        if self.mixture:
            names += ["rhat", "ess", "at_end", "table", "means", "errors", "reliable", "exchanged"]
        return self._join("fit", dict.fromkeys(names, 0))

    @cached_property
    def arms(self) -> list[Arm]:
        """All arms, in the order of the arrays."""
        found = self.predictions
        return [
            Arm(i, str(label), str(method), str(variant))
            for i, (label, method, variant) in enumerate(
                zip(found["label"], found["method"], found["variant"], strict=True)
            )
        ]

    @property
    def labels(self) -> list[str]:
        """The selections, in the order of the config."""
        return list(dict.fromkeys(arm.label for arm in self.arms))

    @property
    def variants(self) -> list[str]:
        """The rules for theta, or the samplers, used."""
        return [q for q in dict.fromkeys(arm.variant for arm in self.arms) if q != "none"]

    @property
    def variant_name(self) -> str:
        """What a variant is."""
        return "sampler" if self.mixture else "quadrature"

    @property
    def mixture(self) -> bool:
        """Whether the model is the mixture model."""
        return self.config["model"]["kind"] == "mixture"

    @property
    def main_arms(self) -> list[Arm]:
        """The arms with the first rule or sampler, and those that have none."""
        return [arm for arm in self.arms if arm.variant in (self.variants[0], "none")]

    def methods(self, order: Iterable[str]) -> list[str]:
        """The methods used, in the order given; where all features are kept, one serves for all."""
        used = {arm.method for arm in self.arms}
        return [method for method in order if method in used] or ["corrected"]

    def find(self, label: str, method: str, variant: str | None = None) -> Arm | None:
        """Return an arm; keeping all features serves as any of our own methods."""
        wanted = variant or self.variants[0]
        for arm in self.arms:
            if arm.label == label and arm.variant in (wanted, "none"):
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
        return pd.read_csv(THESIS / name, dtype={"features_selected": str}) if name else None


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
