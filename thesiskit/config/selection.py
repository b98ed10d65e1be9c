"""Configs of chapter 2: selections, naive Bayes and mixtures."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from thesiskit.blocks import (
    AtLeastTwo,
    Block,
    Count,
    Counts,
    Number,
    Pair,
    Points,
    Positive,
    distinct,
)
from thesiskit.defaults import ALPHA_PRIOR, CLASS_PRIOR, COLLAPSED, NAIVE_ALPHA_POINTS, PI, THESIS
from thesiskit.errors import cut

OWN_METHODS = ("corrected", "uncorrected")
NAIVE_METHODS = {"naive-corrected": "corrected", "naive-uncorrected": "uncorrected"}
WHOLE = "l2-logistic"  # a peer that selects nothing: one arm, whatever the sizes
PEER_METHODS = ("bernoulli-nb", "bernoulli-nb-calibrated", WHOLE, *NAIVE_METHODS)


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
    given. More is known, and the answer is a little better, if it is given."""
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
        if self.keep is not None and self.threshold is not None:
            raise ValueError("`keep` keeps the best ones; leave out `threshold`")
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
    """
    ties: Literal["exact", "as-printed"] = "exact"
    """How the correction counts features that tie at the cut when a number of features is kept.
    `exact` counts those left out as tied; `as-printed` is the thesis's formula, which does not.
    With thresholds both are the same."""
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


class ModelBlock(Block):
    """What both models have: priors, and methods to compare."""

    class_prior: Pair = CLASS_PRIOR
    """f_0 and f_1 of the Beta prior for the probability of a class (or component)."""
    alpha_prior: Pair = ALPHA_PRIOR
    """Shape and rate of the Inverse-Gamma prior of alpha."""

    @field_validator("methods", "quadrature", "samplers", "relevant", check_fields=False)
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
    """`naive-bayes` for binary features with two classes (the default); or `mixture`; or `logistic`
    for sequences and discrete features."""
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
    """`corrected` and `uncorrected` for the selection; also `bernoulli-nb` (scikit-learn's
    SelectKBest and BernoulliNB), `bernoulli-nb-calibrated` (the same in CalibratedClassifierCV),
    and `l2-logistic` (logistic regression of all features as they are, tuned in each training set).
    """
    alpha_points: Points = NAIVE_ALPHA_POINTS
    """Number of points of the midpoint rule for alpha."""
    alpha_quadrature: Literal["midpoint", "adaptive"] = "midpoint"
    """The rule for alpha. `adaptive` refines it until predictions change by less than 1e-6."""
    quadrature: Annotated[list[Literal["exact", "simpson-21"]], Field(min_length=1)] = ["exact"]
    """The rules for theta; `simpson-21` is the rule of the thesis."""
    relevant: Annotated[list[Literal["all", "some"]], Field(min_length=1)] = ["all"]
    """`all` gives every feature the same alpha, as in the thesis. With `some`, a feature is
    relevant with an unknown probability pi, and else the same in both classes: better where few
    features matter. `[all, some]` compares both."""
    pi: list[Number] = list(PI)
    """The values of pi that `some` averages over, each as probable as the others before the data
    are seen."""

    @field_validator("pi")
    @classmethod
    def _probabilities(cls, value):
        beyond = [pi for pi in value if not 0 < pi <= 1]
        if beyond or not value:
            got = f"; {cut(beyond[0])} is not" if beyond else ", not an empty list"
            raise ValueError(
                f"needs probabilities above 0 and at most 1, such as [0.001, 0.01, 0.1, 1]{got}"
            )
        return distinct(value)

    @field_validator("quadrature", "relevant", mode="before")
    @classmethod
    def _list(cls, value):
        return [value] if isinstance(value, str) else value

    @property
    def variants(self) -> list[str]:
        """What every method is done by: rules for theta."""
        return list(self.quadrature)

    @property
    def relevances(self) -> list[str]:
        """Which features may be relevant, all or some: what our own methods are done with."""
        return list(self.relevant)


class CollapsedBlock(Block):
    """How the collapsed sampler runs."""

    chains: Positive = COLLAPSED["chains"]
    """Number of chains."""
    iterations: Positive = COLLAPSED["iterations"]
    """Number of all iterations. An iteration consists of five sweeps of the chain, one sweep of
    each replica at a lower power of the likelihood, and exchanges between them."""
    burn_in: Count = COLLAPSED["burn_in"]
    """Number of first iterations that are not kept."""
    replicas: Positive | None = None
    """Number of copies of a chain, at powers of the likelihood from 1 to 0.02; they help the chain
    to move between modes. Unless given, 4 up to 250 training cases, else 1."""
    alpha_points: Points = COLLAPSED["alpha_points"]
    """Number of points of the grids of alpha and alpha_0, which are quantiles of the prior."""


class ThesisBlock(Block):
    """How the thesis's sampler runs."""

    chains: Positive = THESIS["chains"]
    """Number of chains."""
    iterations: Positive = THESIS["iterations"]
    """Number of all iterations. In an iteration the labels are updated once and each theta 20
    times, and this five times; then alpha and alpha_0 are updated."""
    burn_in: Count = THESIS["burn_in"]
    """Number of first iterations that are not kept."""
    alpha_points: Points = THESIS["alpha_points"]
    """Number of points of the grids of alpha and alpha_0."""
    quadrature: Literal["exact", "simpson-11"] = "simpson-11"
    """The rule for theta in the adjustment factor: `simpson-11` as in the thesis, or `exact`."""


class MixtureModel(ModelBlock):
    """Priors of the mixture model, its samplers, and what to compare it with."""

    kind: Literal["mixture"]
    """`mixture`, for binary features with two classes and at most 600 training cases."""
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
    """`corrected` and `uncorrected` for the selection; naive Bayes beside them as
    `naive-corrected`, `naive-uncorrected`; and scikit-learn's `bernoulli-nb`,
    `bernoulli-nb-calibrated` and `l2-logistic` (of all features, tuned in each training set)."""
    response_alpha_prior: Pair = ALPHA_PRIOR
    """Shape and rate of the prior of alpha_0, which belongs to the response."""
    samplers: Annotated[
        list[Literal["collapsed", "thesis", "as-printed", "enumeration"]], Field(min_length=1)
    ] = ["collapsed"]
    """`collapsed`; `thesis`, the thesis's sampler; `as-printed`, the same without the adjustment
    factor in its label update, which gives the numbers the thesis prints but samples no posterior;
    `enumeration`, the exact posterior, for one feature and few cases."""
    collapsed: CollapsedBlock = CollapsedBlock()
    """How the collapsed sampler runs."""
    thesis: ThesisBlock = ThesisBlock()
    """How the samplers `thesis` and `as-printed` run."""

    @model_validator(mode="before")
    @classmethod
    def _all_relevant(cls, value):
        for name in ("relevant", "pi"):
            if isinstance(value, dict) and name in value:
                raise ValueError(
                    f"{name}: in a mixture every feature may be relevant; leave it out, or use "
                    "model.kind: naive-bayes"
                )
        return value

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

    @property
    def relevances(self) -> list[str]:
        """Which features may be relevant: all."""
        return ["all"]


class Lattice(Block):
    """The display of Cor(I0, I1)."""

    class_counts: Counts
    """Numbers of cases in class 0 and class 1."""
    gamma: Annotated[float, Field(strict=True, ge=0, lt=1)]
    """The bound that is drawn."""
