"""Types that the blocks of configs are made of: those of experiments, of data and of models."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, Union

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from thesiskit.defaults import LOG, MOST_POINTS, NO_TRANSFORM, SCORES
from thesiskit.errors import shorten

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

# keys of the user's own tables, of both kinds
SampleGroups = Annotated[
    Text | None,
    Field(
        description="A column of groups of samples, such as patients. It is not a feature, and "
        "samples of one group are in the same fold. A sample without a value is a group by itself."
    ),
]
Decimal = Annotated[
    Literal[".", ","], Field(description="Decimal separator in text: `,` reads `1,5` as 1.5.")
]
Thousands = Annotated[
    Literal[".", ",", "'", "’", " ", "_"] | None,
    Field(description="Thousands separator in text: with `'`, `1'000` is 1000."),
]


def distinct(values: list) -> list:
    """Return the values, or say which is given twice."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{shorten(value)} is given twice")
    return values


def probabilities(values: list[float]) -> list[float]:
    """Return the values, or say that they are no probabilities above 0."""
    beyond = [pi for pi in values if not 0 < pi <= 1]
    if beyond or not values:
        got = f"; {shorten(beyond[0])} is not" if beyond else ", not an empty list"
        raise ValueError(
            f"needs probabilities above 0 and at most 1, such as [0.001, 0.01, 0.1, 1]{got}"
        )
    return distinct(values)


class OneOrMore:
    """One value of a type stands for a list of it, in configs and in their JSON schema."""

    def __init__(self, single: type = object):
        self.single = single

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        def listed(value: Any) -> Any:
            alone = isinstance(value, self.single) and not isinstance(value, list)
            return [value] if alone else value

        return core_schema.no_info_before_validator_function(listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        several = handler(schema)
        return {"anyOf": [several, several["items"]]}


Covariates = Annotated[
    list[Text],
    AfterValidator(distinct),
    Field(
        description="Numeric columns that are not features, such as age or principal components "
        "(of `plink`, in a `.cov` next to the `.bed`, with lines of FID, IID and these): the log "
        "odds of a logistic regression on them are added to those of the features."
    ),
]
T = TypeVar("T")
Once = Annotated[list[T], AfterValidator(distinct)]
Some = Annotated[list[T], Field(min_length=1), AfterValidator(distinct)]
Each = Annotated[list[T], Field(min_length=1), OneOrMore(), AfterValidator(distinct)]
Several = Annotated[list[T], Field(min_length=1), OneOrMore(str), AfterValidator(distinct)]
Probabilities = Annotated[list[Number], AfterValidator(probabilities)]
Transforms = Annotated[
    Several[Literal[NO_TRANSFORM, LOG, SCORES]],  # type: ignore[valid-type]
    Field(
        description="For `model.kind: normal` and `pool`: the first transformation of continuous "
        "features, fitted in each training set. `log`: log2, or for counts log2 of counts per "
        "million. (Counts are whole numbers whose logs vary less after division by the library "
        "size.) `normal-scores`: normal quantiles of ranks. A list, such as `[none, log]`, "
        "compares them."
    ),
]


class Block(BaseModel):
    """A mapping of a config; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def block_of_class(named: Any) -> type[Block]:
    """Return the block of a class that a config names: that which it tells, or itself."""
    return named.block() if hasattr(named, "block") else named


class ByTag:
    """A block of the class that one of its keys, the tag, names; only that class is imported."""

    def __init__(self, tag: str, classes: Mapping[str, Any]):
        self.tag, self.classes = tag, classes

    def validated(self, value: Any) -> Block:
        """Return the block; ValidationError names the tags that there are."""

        def schema_of(name: str) -> CoreSchema:
            return core_schema.no_info_plain_validator_function(
                lambda block: block_of_class(self.classes[name]).model_validate(block)
            )

        given = value.get(self.tag) if isinstance(value, dict) else None
        known = [given] if isinstance(given, str) and given in self.classes else self.classes
        choices = {name: schema_of(name) for name in known}
        schema = core_schema.tagged_union_schema(choices, discriminator=self.tag)
        return SchemaValidator(schema).validate_python(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validated)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        whole: Any = Union[tuple(map(block_of_class, self.classes.values()))]  # noqa: UP007
        tagged: Any = Annotated[whole, Field(discriminator=self.tag)]
        return handler(TypeAdapter(tagged).core_schema)
