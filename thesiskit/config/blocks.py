"""Types that the blocks of all configs are made of."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from thesiskit.defaults import MOST_POINTS
from thesiskit.errors import cut, quoted

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


MOST_NAME = 100  # characters
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # of Windows, whatever the ending


def _own_folder(name: str) -> str:
    """Return the name of an experiment, or say what else has that name in a folder of results."""
    if len(name) > MOST_NAME:
        raise ValueError(f"use at most {MOST_NAME} characters, not {len(name):,}")
    if name == "verify" or name.endswith((".html", ".")) or DEVICES.fullmatch(name):
        raise ValueError(f"{quoted(name)} is the name of something else; choose another")
    return name


Name = Annotated[
    str, Field(strict=True, pattern=r"^[a-z0-9][a-z0-9._-]*$"), AfterValidator(_own_folder)
]


class Block(BaseModel):
    """A mapping of a config; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
