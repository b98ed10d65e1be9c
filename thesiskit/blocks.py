"""Types that the blocks of configs are made of: those of experiments, of data and of models."""

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from thesiskit.defaults import MOST_POINTS
from thesiskit.errors import cut

MOST = 2**63 - 1  # what arrays and files can hold; sizes that are absurd are for estimates
Count = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Positive = Annotated[int, Field(strict=True, ge=1, le=MOST)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
PositiveNumber = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Points = Annotated[int, Field(strict=True, ge=1, le=MOST_POINTS)]
Probability = Annotated[float, Field(strict=True, ge=0, le=1)]
Pair = tuple[PositiveNumber, PositiveNumber]
Counts = tuple[Count, Count]
AtLeastTwo = Annotated[int, Field(strict=True, ge=2, le=MOST)]
Text = Annotated[str, Field(strict=True, min_length=1)]


def distinct(values: list) -> list:
    """Return the values, or say which is given twice."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{cut(value)} is given twice")
    return values


def listed(value: Any) -> Any:
    """Return a word as a list of it."""
    return [value] if isinstance(value, str) else value


def probabilities(values: list[float]) -> list[float]:
    """Return the values, or say that they are no probabilities above 0."""
    beyond = [pi for pi in values if not 0 < pi <= 1]
    if beyond or not values:
        got = f"; {cut(beyond[0])} is not" if beyond else ", not an empty list"
        raise ValueError(
            f"needs probabilities above 0 and at most 1, such as [0.001, 0.01, 0.1, 1]{got}"
        )
    return distinct(values)


T = TypeVar("T")
Once = Annotated[list[T], AfterValidator(distinct)]
Each = Annotated[
    list[T],
    Field(min_length=1),
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    AfterValidator(distinct),
]
Several = Annotated[list[T], Field(min_length=1), BeforeValidator(listed), AfterValidator(distinct)]
Probabilities = Annotated[list[Number], AfterValidator(probabilities)]


class Block(BaseModel):
    """A mapping of a config; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
