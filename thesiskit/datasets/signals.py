"""Real features, of which a few have another mean in each class; many settings in one study."""

from itertools import product
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from thesiskit.blocks import Block, Count, Counts, Number, Positive, PositiveNumber
from thesiskit.datasets.source import Drawn, SelectionPriors, Sizes, Source, Table
from thesiskit.datasets.synthetic import draw_naive_bayes

VARIED = ("relevant", "of", "effect", "alpha", "train")  # keys of a setting that may be lists


def _or_a_list(schema: dict[str, Any]) -> None:
    """Say in the schema for editors that a list may stand for the value."""
    one = {key: schema.pop(key) for key in list(schema) if key not in ("title", "default")}
    schema["anyOf"] = [one, {"type": "array", "items": one, "minItems": 1}]


Varied = Field(json_schema_extra=_or_a_list)


class Setting(Block):
    """What data sets are drawn with."""

    relevant: Annotated[Count | None, Varied] = None
    """How many features differ between the classes; the others are noise."""
    of: Annotated[Positive, Varied]
    """How many features there are in all."""
    effect: Annotated[Number | None, Varied] = None
    """By how many standard deviations the class means of a relevant feature differ. Features are
    normal, and the same in both classes but for that."""
    alpha: Annotated[PositiveNumber | None, Varied] = None
    """In place of `relevant` and `effect`: binary features of the thesis's naive Bayes model."""
    train: Annotated[Counts, Varied]
    """Numbers of training cases in class 0 and class 1."""
    test: Counts
    """Numbers of test cases in class 0 and class 1."""

    @field_validator("train", "test")
    @classmethod
    def _some_cases(cls, value, info):
        if info.field_name == "train" and min(value) == 0:
            raise ValueError("both classes need at least one case")
        if sum(value) == 0:
            raise ValueError("at least one case is needed")
        return value

    @model_validator(mode="after")
    def _one_model(self):
        signals = self.relevant is not None and self.effect is not None
        if (self.relevant is None) != (self.effect is None) or signals == (self.alpha is not None):
            raise ValueError("give either `relevant` and `effect`, or `alpha`")
        if self.relevant is not None and self.relevant > self.of:
            raise ValueError(f"relevant ({self.relevant:,}) must be at most of ({self.of:,})")
        return self


def _all_combinations(grid: Any) -> list[Any]:
    """Return the settings that a setting stands for: its values may be lists."""
    if not isinstance(grid, dict):
        return [grid]  # which is not valid, and will be said so
    lists = {
        name: value
        for name, value in grid.items()
        if name in VARIED and isinstance(value, list) and not (name == "train" and _plain(value))
    }
    for name, value in lists.items():
        if not value:
            raise ValueError(f"{name} is an empty list; give at least one value")
    return [grid | dict(zip(lists, one, strict=True)) for one in product(*lists.values())]


def _plain(value: list[Any]) -> bool:
    """Whether numbers of cases are those of one setting."""
    return not any(isinstance(one, list) for one in value)


class SignalsData(Source):
    """Normal features, some of them relevant; `replicates` data sets of each of several settings.

    Naive Bayes takes each feature cut at its median over the training cases, as it takes a table
    of the user's; `l2-logistic` takes the values themselves.
    """

    family: ClassVar = "table"
    drawn: ClassVar = True

    source: Literal["signals"]
    settings: Annotated[list[Setting], Field(min_length=1)]
    """What the data sets are drawn with, such as `{relevant: 5, of: 2000, effect: 1.5, train: [30,
    30], test: [1000, 1000]}`; `replicates` data sets of each. A value may also be a list: the
    settings are then all combinations (only `test` is the same for all)."""

    @field_validator("settings", mode="before")
    @classmethod
    def _one_by_one(cls, value):
        if not isinstance(value, list):
            return value
        return [one for grid in value for one in _all_combinations(grid)]

    @field_validator("settings")
    @classmethod
    def _each_once(cls, value):
        for i, setting in enumerate(value):
            if setting in value[:i]:
                raise ValueError(f"setting {i + 1} is the same as an earlier one; leave it out")
        return value

    @property
    def n_settings(self) -> int:
        """How many settings data sets are drawn with."""
        return len(self.settings)

    def setting(self, number: int) -> "SignalsData":
        """Return the source of one setting."""
        return SignalsData(source=self.source, settings=[self.settings[number]])

    @property
    def real_features(self) -> bool:
        """Whether the features of the first setting are real numbers."""
        return self.settings[0].alpha is None

    @property
    def sizes(self) -> Sizes:
        """How large the largest data sets are."""
        return Sizes(
            max(sum(one.train) for one in self.settings),
            max(sum(one.test) for one in self.settings),
            max(one.of for one in self.settings),
        )

    def draw(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        """Return a data set of the only setting; its features are real, unless alpha is given."""
        (one,) = self.settings
        if one.alpha is not None:
            return draw_naive_bayes(
                rng,
                features=one.of,
                alpha=one.alpha,
                train=one.train,
                test=one.test,
                class_prior=priors.class_prior,
            )
        return Drawn(_cases(rng, one, one.train), _cases(rng, one, one.test), np.nan, {})


def _cases(rng: np.random.Generator, setting: Setting, counts: tuple[int, int]) -> Table:
    """Draw cases with real features, of which the first ones are relevant."""
    assert setting.effect is not None
    response = np.repeat(np.array([0, 1], dtype=np.uint8), counts)
    features = rng.standard_normal((len(response), setting.of), dtype=np.float32)
    features[:, : setting.relevant] += np.float32(setting.effect) * response[:, None]
    return Table(features, response)
