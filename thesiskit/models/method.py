"""What experiments compare: methods, each a model with its settings, or a third-party method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from thesiskit.defaults import NO_TRANSFORM, RESIDUAL, TEMPERED
from thesiskit.models.base import OWN
from thesiskit.models.peers import PEERS

NONE = "none"
OURS = (*OWN, "complete")
# columns of result files: of methods of selected features, and of patterns
DESCRIBED = ("label", "method", "variant", "relevant", "temperature")
OF_PATTERNS = ("order", "prior", "compress", "engine", "scale", "joint", "name")
WORDS = {  # what tables and legends call a method whose name does not say it
    "naive-corrected": "naive Bayes, corrected",
    "naive-uncorrected": "naive Bayes, uncorrected",
    "normal-corrected": "normal features, corrected",
    "normal-uncorrected": "normal features, uncorrected",
    **{name: peer.words for name, peer in PEERS.items()},
}


def method_words(method: str) -> str:
    """Return a method of chapter 2, or a third-party method, as tables and legends name it."""
    return WORDS.get(method, method)


@dataclass(frozen=True)
class Method:
    """A model with its settings; fields are named as the columns of result files.

    row : its row in the arrays of predictions, -1 where there are none.

    Of selected features:

    label : the selection: "10", "all", or "|COR| > 0.2"; "10 log" with a transform; with several
        `of`, "10 of 5,000".
    method : "corrected", "uncorrected", "complete" where all features are kept, or the name of
        another model or of a third-party method.
    variant : the rule for theta, or the sampler; "none" for a third-party method.
    relevant : which features may be relevant, "all" or "some"; "none" for a third-party method.
    temperature : "none" or "residual".
    size : a number of features, "all", or a threshold.
    of : how many features there were before the table was filtered, 0 for as many as the table has;
        None where it was not, or where the methods of this selection do not ask.
    disjoint : whether each discrete feature is in one pattern.
    transform : of the real features, "none" of a method that takes bits.

    Of patterns:

    order, prior, compress, engine, scale, joint : a third-party method has no prior, and the order
        -1 if it uses all features.
    sampler : the sampler in words, empty where all models of the experiment share a sampler.

    name : what files call it, the same whatever else is compared.
    """

    row: int = -1
    label: str = ""
    method: str = ""
    variant: str = NONE
    relevant: str = NONE
    temperature: str = NONE
    order: int = 0
    prior: str = ""
    compress: bool = False
    engine: str = ""
    scale: str = ""
    joint: int = 1
    name: str = ""
    sampler: str = ""
    size: int | str | float = "all"
    of: int | None = None
    disjoint: bool = False
    transform: str = NO_TRANSFORM

    @property
    def family(self) -> Method:
        """The method without its selection and its variant, which methods are grouped by."""
        return Method(method=self.method, relevant=self.relevant, temperature=self.temperature)

    @property
    def options(self) -> Method:
        """What sets the method apart from others of its name: relevance and temperature."""
        return Method(relevant=self.relevant, temperature=self.temperature)

    @property
    def tempered(self) -> bool:
        """Whether its log odds are divided by a temperature."""
        return self.temperature == RESIDUAL

    @property
    def own(self) -> bool:
        """Whether it is ours, not a third-party method to compare with."""
        return self.prior != NONE if self.engine else self.method in OURS

    @property
    def words(self) -> str:
        """The model, as tables and legends name it."""
        if self.engine == "slice":
            form = "compressed" if self.compress else "original"
            text = f"{self.prior.capitalize()}, {form}"
            return text + (f", {self.sampler}" if self.sampler else "")
        note = ", some relevant" if self.relevant == "some" else ""
        note += f", {TEMPERED}" if self.tempered else ""
        return method_words(self.method or self.engine) + note

    @property
    def selection_name(self) -> str:
        """What files call a method of selected features."""
        tempered = TEMPERED if self.tempered else NONE
        parts = (self.method, self.variant, self.relevant, tempered)
        return " ".join([self.label, *(part for part in parts if part not in (NONE, "all"))])


def as_columns(methods: Iterable[Method]) -> dict[str, np.ndarray]:
    """Return the columns of result files that describe methods of selected features."""
    rows = [*methods]
    return {name: np.array([getattr(method, name) for method in rows]) for name in DESCRIBED}


def from_columns(arrays: dict[str, np.ndarray], rows: Iterable[int]) -> list[Method]:
    """Return the methods that columns of result files describe.

    rows : of each method, in the arrays of predictions.
    """
    names = [name for name in (*DESCRIBED, *OF_PATTERNS) if name in arrays]
    columns = [arrays[name].tolist() for name in names]
    return [
        Method(row, **dict(zip(names, values, strict=True)))
        for row, *values in zip(rows, *columns, strict=True)
    ]
