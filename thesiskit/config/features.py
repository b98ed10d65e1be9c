"""Data with discrete features, in configs of chapter 3."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from thesiskit.config.blocks import (
    AtLeastTwo,
    Block,
    Count,
    Positive,
    PositiveNumber,
    Probability,
    Text,
    distinct,
)
from thesiskit.defaults import MOST_VALUES

Values = Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)]
Widths = Annotated[list[Annotated[float, Field(strict=True, ge=0, le=1e20)]], Field(min_length=1)]
Frequency = Annotated[float, Field(strict=True, gt=0, lt=1)]


class InteractionData(Block):
    """Uniform features, and responses from all their patterns up to an order."""

    source: Literal["interactions"]
    features: Positive
    values: Values  # of each feature
    # of the coefficients of orders 0, 1, ..., 0 leaves an order out; or drawn from the prior of
    # the model, as is all else that the responses depend on: the first of its orders and priors
    sigma: Widths | Literal["prior"]
    prior: Literal["cauchy", "gaussian"] = "cauchy"
    classes: AtLeastTwo = 2
    noise: PositiveNumber = 0.5  # standard deviation, of real responses
    train: Positive
    test: Positive

    @model_validator(mode="after")
    def _orders(self):
        if self.sigma == "prior":
            for name in ("prior", "noise"):
                if name in self.model_fields_set:
                    raise ValueError(f"{name} comes from the model with sigma: prior; leave it out")
        elif len(self.sigma) > self.features + 1:
            raise ValueError(
                f"sigma has widths up to order {len(self.sigma) - 1}, but there are "
                f"{self.features} features"
            )
        return self


class TicTacToeData(Block):
    """All boards at the end of a game of noughts and crosses; has x won?"""

    source: Literal["tic-tac-toe"]


class SpliceData(Block):
    """Primate splice junctions, fetched from OpenML."""

    source: Literal["splice"]
    window: Annotated[int, Field(strict=True, ge=1, le=30)] = 30  # positions on either side


class VotesData(Block):
    """Votes in the U.S. House of Representatives, 1984, fetched from OpenML."""

    source: Literal["votes"]


class EpistasisData(Block):
    """Genotypes, of which two loci matter together and neither alone."""

    source: Literal["epistasis"]
    cases: Positive
    noise_features: Count
    frequency: tuple[Frequency, Frequency] = (0.4, 0.4)
    heritability: Probability = 0.1
    prevalence: Frequency = 0.5


class TableData(Block):
    """The user's own table of discrete features."""

    source: Literal["table"]
    path: Text  # from the config's folder
    test_path: Text | None = None
    response: Text  # its column
    ignore: list[Text] = []  # columns
    missing: list[Annotated[str, Field(strict=True)]] = ["", "NA", "?", "nan", "NaN"]

    @field_validator("ignore", "missing")
    @classmethod
    def _each_once(cls, value):
        return distinct(value)


FEATURES = (InteractionData, TicTacToeData, SpliceData, VotesData, EpistasisData, TableData)
CONTINUOUS = (InteractionData, TableData)  # responses can be real


def check_response(data: Any, continuous: bool) -> str | None:
    """Say what these data have nothing to do with, by such responses; None if all is well."""
    if continuous and not isinstance(data, CONTINUOUS):
        return (
            f"model.response: gaussian needs data.source: table or interactions; {data.source} "
            "has classes"
        )
    if isinstance(data, InteractionData):
        alien, kind = ("classes", "classes") if continuous else ("noise", "gaussian")
        if alien in data.model_fields_set:
            return f"data.{alien}: is for model.response: {kind}; leave it out"
    return None
