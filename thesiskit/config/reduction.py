"""Config of the experiments on the number of parameters: no responses, no model."""

from itertools import product
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from thesiskit.blocks import Block, Positive, distinct
from thesiskit.defaults import MOST_VALUES

Values = Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)]
Several = Field(min_length=2)


class Sweep(Block):
    """Settings of which one, the list, is varied."""

    features: Positive | Annotated[list[Positive], Several]
    """Number of uniform features. One of `features`, `values` and `order` is a list."""
    values: Values | Annotated[list[Values], Several]
    """Number of values of each feature."""
    order: Positive | Annotated[list[Positive], Several]
    """The largest order."""

    @field_validator("*")
    @classmethod
    def _each_once(cls, value):
        return distinct(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one_varied(self):
        lists = [name for name, value in self if isinstance(value, list)]
        if len(lists) != 1:
            raise ValueError(
                "one of features, values and order must be a list, the others numbers; "
                f"{' and '.join(lists) or 'none'} {'are lists' if lists else 'is'}"
            )
        for p, _, order in self.settings:
            if order > p:
                raise ValueError(f"order {order} is above the number of features, {p}; lower it")
        return self

    @property
    def settings(self) -> list[tuple[int, int, int]]:
        """Features, values and order of each setting, what is varied ascending."""
        return sorted(product(*([v] if isinstance(v, int) else v for _, v in self)))


class Reduction(Block):
    """Numbers of original and compressed parameters of uniform features."""

    cases: Positive
    """Number of training cases in which patterns and groups are counted."""
    sweeps: Annotated[list[Sweep], Field(min_length=1)]
    """The settings of which one is varied. `replicates` is the number of data sets."""
