"""The arms of an experiment of chapter 2: method, manner, and what they are called."""

from dataclasses import dataclass
from typing import NamedTuple

from thesiskit.models.peers import PEERS

EXACT = "enumeration"  # the variant without draws
WHOLE = "l2-logistic"  # the method that takes all features, whatever the selections
OURS = ("corrected", "uncorrected", "complete")
NONE, TEMPERED = "none", "cv"  # temperatures


@dataclass(frozen=True)
class Arm:
    """One analysis: the selection, the method, and the rule or sampler.

    row : its row in the arrays of predictions.
    """

    row: int
    label: str
    method: str
    variant: str
    relevant: str
    temperature: str = NONE

    @property
    def way(self) -> "Way":
        """How it predicts, whatever the selection and the rule."""
        return Way(self.method, self.relevant, self.temperature)

    @property
    def manner(self) -> "Manner":
        """What sets it apart from other arms of its method."""
        return Manner(self.relevant, self.temperature)

    @property
    def words(self) -> str:
        """The method, as tables name it."""
        return self.way.words


class Manner(NamedTuple):
    """Which features may be relevant: all or some, none for a peer; and the temperature."""

    relevant: str
    temperature: str = NONE

    @property
    def words(self) -> str:
        """What tables and legends add to the method; often nothing."""
        some = ", some relevant" if self.relevant == "some" else ""
        return some + (", tempered" if self.temperature == TEMPERED else "")


class Way(NamedTuple):
    """A method, and its manner."""

    method: str
    relevant: str
    temperature: str = NONE

    @property
    def manner(self) -> Manner:
        """What sets it apart from other ways of its method."""
        return Manner(self.relevant, self.temperature)

    @property
    def words(self) -> str:
        """What tables and legends call it."""
        return method_words(self.method) + self.manner.words


def method_words(method: str) -> str:
    """Return a method as tables and legends name it."""
    if method in PEERS:
        return PEERS[method].words
    return {
        "naive-corrected": "naive Bayes, corrected",
        "naive-uncorrected": "naive Bayes, uncorrected",
        "normal-corrected": "normal features, corrected",
        "normal-uncorrected": "normal features, uncorrected",
    }.get(method, method)
