"""Types that the blocks of configs are made of: those of experiments, and those of data sets."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

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


class Block(BaseModel):
    """A mapping of a config; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
