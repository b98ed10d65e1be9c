"""Configs of chapter 2: selections, naive Bayes and mixtures."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from thesiskit.blocks import (
    AtLeastTwo,
    Block,
    Count,
    Counts,
    Pair,
    Points,
    Positive,
    distinct,
)
from thesiskit.defaults import ALPHA_PRIOR, CLASS_PRIOR, COLLAPSED, NAIVE_ALPHA_POINTS, THESIS

OWN_METHODS = ("corrected", "uncorrected")
NAIVE_METHODS = {"naive-corrected": "corrected", "naive-uncorrected": "uncorrected"}
WHOLE = "l2-logistic"  # a peer that selects nothing: one arm, whatever the sizes
PEER_METHODS = ("bernoulli-nb", "bernoulli-nb-calibrated", WHOLE, *NAIVE_METHODS)


class Evaluation(Block):
    """How cases and features are divided."""

    scheme: Literal["test-set", "leave-one-out", "k-fold", "holdout"] | None = None
    folds: AtLeastTwo = 10
    test_fraction: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.3
    groups: Positive = 1  # random groups of features, each analysed by itself
    ranks: StrictBool = False  # of the truth among draws from the posterior


class SelectionBlock(Block):
    """How many features to keep."""

    features: list[Positive | Literal["all"]] | None = None
    thresholds: list[Annotated[float, Field(strict=True, ge=0, lt=1)]] | None = None

    @field_validator("features", "thresholds")
    @classmethod
    def _each_once(cls, value):
        return value if value is None else distinct(value)

    @model_validator(mode="after")
    def _one_of_two(self):
        if bool(self.features) == bool(self.thresholds):
            raise ValueError("give either `features: [10, 100]` or `thresholds: [0.2]`")
        return self


class ModelBlock(Block):
    """What both models have: priors, and methods to compare."""

    class_prior: Pair = CLASS_PRIOR  # f_0, f_1
    alpha_prior: Pair = ALPHA_PRIOR  # shape, rate

    @field_validator("methods", "quadrature", "samplers", check_fields=False)
    @classmethod
    def _each_once(cls, value):
        return distinct(value) if isinstance(value, list) else value

    @field_validator("methods", check_fields=False)
    @classmethod
    def _one_of_ours(cls, value):
        if not set(value) & set(OWN_METHODS):
            raise ValueError("add corrected or uncorrected; peers stand beside them")
        return value


class NaiveModel(ModelBlock):
    """Priors and rules of the naive Bayes model, and what to compare it with."""

    kind: Literal["naive-bayes"] = "naive-bayes"
    methods: Annotated[
        list[
            Literal[
                "corrected",
                "uncorrected",
                "bernoulli-nb",
                "bernoulli-nb-calibrated",
                "l2-logistic",
            ]
        ],
        Field(min_length=1),
    ] = ["corrected", "uncorrected"]
    alpha_points: Points = NAIVE_ALPHA_POINTS
    alpha_quadrature: Literal["midpoint", "adaptive"] = "midpoint"
    quadrature: Annotated[list[Literal["exact", "simpson-21"]], Field(min_length=1)] = ["exact"]

    @field_validator("quadrature", mode="before")
    @classmethod
    def _list(cls, value):
        return [value] if isinstance(value, str) else value

    @property
    def variants(self) -> list[str]:
        """What every method is done by: rules for theta."""
        return list(self.quadrature)


class CollapsedBlock(Block):
    """How the collapsed sampler runs."""

    chains: Positive = COLLAPSED["chains"]
    iterations: Positive = COLLAPSED["iterations"]
    burn_in: Count = COLLAPSED["burn_in"]
    replicas: Positive | None = None  # as many as suit the number of training cases
    alpha_points: Points = COLLAPSED["alpha_points"]


class ThesisBlock(Block):
    """How the thesis's sampler runs."""

    chains: Positive = THESIS["chains"]
    iterations: Positive = THESIS["iterations"]
    burn_in: Count = THESIS["burn_in"]
    alpha_points: Points = THESIS["alpha_points"]
    quadrature: Literal["exact", "simpson-11"] = "simpson-11"


class MixtureModel(ModelBlock):
    """Priors of the mixture model, its samplers, and what to compare it with."""

    kind: Literal["mixture"]
    methods: Annotated[
        list[
            Literal[
                "corrected",
                "uncorrected",
                "naive-corrected",
                "naive-uncorrected",
                "bernoulli-nb",
                "bernoulli-nb-calibrated",
                "l2-logistic",
            ]
        ],
        Field(min_length=1),
    ] = ["corrected", "uncorrected"]
    response_alpha_prior: Pair = ALPHA_PRIOR
    samplers: Annotated[
        list[Literal["collapsed", "thesis", "as-printed", "enumeration"]], Field(min_length=1)
    ] = ["collapsed"]
    collapsed: CollapsedBlock = CollapsedBlock()
    thesis: ThesisBlock = ThesisBlock()

    @field_validator("collapsed", "thesis")
    @classmethod
    def _something_kept(cls, value):
        if value.burn_in >= value.iterations:
            raise ValueError(
                f"burn_in ({value.burn_in}) must be less than iterations ({value.iterations})"
            )
        return value

    @property
    def variants(self) -> list[str]:
        """What every method is done by: samplers."""
        return list(self.samplers)


class Lattice(Block):
    """The display of Cor(I0, I1)."""

    class_counts: Counts
    gamma: Annotated[float, Field(strict=True, ge=0, lt=1)]
