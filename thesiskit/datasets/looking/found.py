"""What a file seems to hold, as far as a config has to know."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

PATTERNS, NAIVE, NORMAL = "patterns", "naive-bayes", "normal"  # models
ABOUT = {  # what features are, by model
    PATTERNS: "discrete features",
    NAIVE: "numbers; above or below the median counts",
    NORMAL: "numbers, as they are",
}


class Key(NamedTuple):
    """A key of the block `data`: its name, its value, and why it has this value."""

    name: str
    value: Any
    why: str = ""


@dataclass(frozen=True)
class Found:
    """What a file seems to hold.

    Attributes
    ----------
    data : the keys of the block `data`, `source` first; paths are as the user gave them.
    family : of the source.
    cases, width : the number of cases, and of features or of states of a history.
    values : how many values a discrete feature, or a state, has at most.
    smallest : cases of the rarest class, or all of real responses.
    continuous : whether responses are real numbers.
    real : whether features are, of the family `table`.
    response : what is predicted, in a few words.
    notes : what was guessed, a line each.
    """

    data: list[Key]
    family: Literal["table", "features", "sequences"]
    cases: int
    width: int
    values: int
    smallest: int
    response: str
    continuous: bool = False
    real: bool = False
    notes: list[str] = field(default_factory=list)
