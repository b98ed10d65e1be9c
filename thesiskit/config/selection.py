"""Configs of chapter 2: how cases are divided, and how features are selected."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from thesiskit.blocks import (
    AtLeastTwo,
    Block,
    Counts,
    Positive,
    distinct,
)
from thesiskit.models.peers import BITS, PEERS, REALS, names

WHOLE = "l2-logistic"
# peers that take all features as they are: one arm, whatever the sizes
WHOLE_METHODS = tuple(name for name in names(BITS, REALS) if not PEERS[name].selects)


class Evaluation(Block):
    """How cases and features are divided."""

    scheme: Literal["test-set", "leave-one-out", "k-fold", "holdout"] | None = None
    """How cases are divided: `test-set` where the data have one, else `k-fold`; or `leave-one-out`,
    `holdout`."""
    folds: AtLeastTwo = 10
    """Number of folds of `k-fold`. Each class is divided separately, so that at most as many folds
    can be made as the larger class has cases; for discrete features, as there are distinct cases.
    """
    test_fraction: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.3
    """The fraction of test cases with `holdout`."""
    groups: Positive = 1
    """Number of random groups of features; each group is analysed separately."""
    ranks: StrictBool = False
    """Simulation-based calibration, for data drawn from the model's own prior: the true values are
    ranked among 99 draws from the posterior (fewer if the chains keep fewer)."""


class ScreenedBlock(Block):
    """How the table was screened before anything else saw it."""

    of: Annotated[list[Positive], Field(min_length=1)] | None = None
    """How many features there were before, of which the table has the best ones. A list, such as
    `[5000, 10000]`, gives an arm for each: how much the answer depends on it. With `keep`, as many
    as the table has unless given."""
    threshold: Annotated[float, Field(strict=True, ge=0, lt=1)] | None = None
    """The absolute correlation above which features were kept; the smallest one in the table unless
    given. More is known, and the answer is a little better, if it is given. With more than two
    classes it is the correlation ratio."""
    f: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] | None = None
    """With `model.kind: normal`, in place of `threshold`: the F statistic of the analysis of
    variance above which features were kept."""
    keep: Positive | None = None
    """For studies, in place of `threshold`: in every training set the features with so many largest
    absolute correlations are kept before anything else sees the table."""

    @field_validator("of", mode="before")
    @classmethod
    def _list(cls, value):
        return value if value is None or isinstance(value, list) else [value]

    @field_validator("of")
    @classmethod
    def _each_once(cls, value):
        return value if value is None else distinct(value)

    @model_validator(mode="after")
    def _known(self):
        if self.keep is None and self.of is None:
            raise ValueError(
                "give `of`, the number of features before the screening, or `keep`, how many are "
                "to be kept before anything else"
            )
        if self.f is not None and self.threshold is not None:
            raise ValueError("`f` and `threshold` are two ways to say the same; leave out one")
        for name in ("threshold", "f"):
            if self.keep is not None and getattr(self, name) is not None:
                raise ValueError(f"`keep` keeps the best ones; leave out `{name}`")
        if self.keep is not None and self.of is not None:
            check_before(self.of, self.keep)
        return self


def check_before(of: list[int], columns: int) -> None:
    """Raise ValueError where fewer features are claimed before a screening than it left."""
    if min(of) < columns:
        raise ValueError(
            f"`of` is {min(of):,}, but {columns:,} features are left; it is the number before the "
            f"screening, so at least {columns:,}"
        )


class SelectionBlock(Block):
    """How many features to keep."""

    features: list[Positive | Literal["all"]] | None = None
    """Numbers of features to keep, or `all`."""
    thresholds: list[Annotated[float, Field(strict=True, ge=0, lt=1)]] | None = None
    """In place of `features`: keep the features with an absolute correlation above the threshold.
    With more than two classes it is the correlation ratio, which is the root of the share of the
    variance that lies between the classes."""
    ties: Literal["exact", "as-printed"] = "exact"
    """How the correction counts features that tie at the cut when a number of features is kept.
    `exact` counts those left out as tied; `as-printed` is the thesis's formula, which does not.
    With thresholds both are the same, and real features hardly tie: `model.kind: normal` has no
    such choice."""
    screened: ScreenedBlock | None = None
    """For a table that has only the best features of a larger one, chosen by their correlations
    with the response in the same cases. The correction then counts the features that are not there.
    """

    @field_validator("features", "thresholds")
    @classmethod
    def _each_once(cls, value):
        return value if value is None else distinct(value)

    @model_validator(mode="after")
    def _one_of_two(self):
        if bool(self.features) == bool(self.thresholds):
            raise ValueError("give either `features: [10, 100]` or `thresholds: [0.2]`")
        return self


class Lattice(Block):
    """The display of Cor(I0, I1)."""

    class_counts: Counts
    """Numbers of cases in class 0 and class 1."""
    gamma: Annotated[float, Field(strict=True, ge=0, lt=1)]
    """The bound that is drawn."""
