"""Configs of chapter 2: selections, and naive Bayes of binary and of real features."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from thesiskit.blocks import (
    AtLeastTwo,
    Block,
    Counts,
    Number,
    Pair,
    Points,
    Positive,
    PositiveNumber,
    distinct,
)
from thesiskit.defaults import (
    ALPHA_PRIOR,
    CLASS_PRIOR,
    EFFECT_SHAPES,
    NAIVE_ALPHA_POINTS,
    NORMAL_PI,
    PI,
)
from thesiskit.errors import cut
from thesiskit.models.peers import BITS, PEERS, REALS, names

OWN_METHODS = ("corrected", "uncorrected")
NAIVE_METHODS = {"naive-corrected": "corrected", "naive-uncorrected": "uncorrected"}
NORMAL_METHODS = {"normal-corrected": "corrected", "normal-uncorrected": "uncorrected"}
OTHER_METHODS = NAIVE_METHODS | NORMAL_METHODS  # of ours, but of another kind of model
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


class SelectingModel(Block):
    """What all models that follow a selection have: methods to compare, and temperatures."""

    temperature: Annotated[list[Literal["none", "cv"]], Field(min_length=1)] = ["none"]
    """With `cv` log odds are divided by a temperature, tau, of at least 1: by how many times the
    same evidence was counted, as it is where features go together. tau is found in each training
    set, by a cross-validation that repeats selection and fit; the part `temperature-table` shows
    it. `[none, cv]` compares both."""

    @field_validator("quadrature", "relevant", "temperature", mode="before", check_fields=False)
    @classmethod
    def _list(cls, value):
        return [value] if isinstance(value, str) else value

    @field_validator(
        "methods", "quadrature", "samplers", "relevant", "temperature", check_fields=False
    )
    @classmethod
    def _each_once(cls, value):
        return distinct(value) if isinstance(value, list) else value

    @field_validator("methods", check_fields=False)
    @classmethod
    def _one_of_ours(cls, value):
        if not set(value) & set(OWN_METHODS):
            raise ValueError("add corrected or uncorrected; peers stand beside them")
        return value

    @field_validator("pi", check_fields=False)
    @classmethod
    def _probabilities(cls, value):
        beyond = [pi for pi in value if not 0 < pi <= 1]
        if beyond or not value:
            got = f"; {cut(beyond[0])} is not" if beyond else ", not an empty list"
            raise ValueError(
                f"needs probabilities above 0 and at most 1, such as [0.001, 0.01, 0.1, 1]{got}"
            )
        return distinct(value)

    @property
    def relevances(self) -> list[str]:
        """Which features may be relevant, all or some: what our own methods are done with."""
        return list(getattr(self, "relevant", ["all"]))


class ModelBlock(SelectingModel):
    """What both models of binary features have: priors."""

    class_prior: Pair = CLASS_PRIOR
    """f_0 and f_1 of the Beta prior for the probability of a class (or component)."""
    alpha_prior: Pair = ALPHA_PRIOR
    """Shape and rate of the Inverse-Gamma prior of alpha."""


class NaiveModel(ModelBlock):
    """Priors and rules of the naive Bayes model, and what to compare it with."""

    kind: Literal["naive-bayes"] = "naive-bayes"
    """`naive-bayes` for binary features with two classes (the default); or `mixture`; or `normal`
    for real features; or `logistic` for sequences and discrete features."""
    methods: Annotated[
        list[
            Literal[
                "corrected",
                "uncorrected",
                "normal-corrected",
                "normal-uncorrected",
                "bernoulli-nb",
                "bernoulli-nb-calibrated",
                "l2-logistic",
            ]
        ],
        Field(min_length=1),
    ] = ["corrected", "uncorrected"]
    """`corrected` and `uncorrected` for the selection; the model of `kind: normal`, of the features
    as they are, as `normal-corrected`, `normal-uncorrected`; also `bernoulli-nb` (scikit-learn's
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

    @property
    def variants(self) -> list[str]:
        """What every method is done by: rules for theta."""
        return list(self.quadrature)


class NormalModel(SelectingModel):
    """Priors of the naive Bayes model of real features, and what to compare it with."""

    kind: Literal["normal"]
    """`normal`, for real features with any number of classes."""
    methods: Annotated[
        list[
            Literal[
                "corrected",
                "uncorrected",
                "naive-corrected",
                "naive-uncorrected",
                "gaussian-nb",
                "nearest-centroids",
                "l2-logistic",
                "lasso",
                "random-forest",
            ]
        ],
        Field(min_length=1),
    ] = ["corrected", "uncorrected"]
    """`corrected` and `uncorrected` for the selection; naive Bayes of the features cut at their
    medians over the training cases as `naive-corrected`, `naive-uncorrected` (for two classes);
    `gaussian-nb` (scikit-learn's SelectKBest and GaussianNB); and of all features
    `nearest-centroids` (shrunken centroids), `l2-logistic` and `lasso` (logistic regression with
    squared and with absolute coefficients penalised), which are tuned in each training set, and
    `random-forest`."""
    class_prior: PositiveNumber | Annotated[list[PositiveNumber], Field(min_length=2)] = 1.0
    """The parameters of the Dirichlet prior for the probabilities of the classes: one number for
    all, or a list of one for each class."""
    relevant: Annotated[list[Literal["all", "some"]], Field(min_length=1)] = ["some"]
    """With `some`, a feature is relevant with an unknown probability pi, and else has the same mean
    in all classes. With `all` every feature is relevant. `[all, some]` compares both."""
    pi: list[Number] = list(NORMAL_PI)
    """The values of pi that `some` averages over, each as probable as the others before the data
    are seen."""
    effect_shapes: Annotated[list[PositiveNumber | None], Field(min_length=1)] = list(EFFECT_SHAPES)
    """How unequal the effects of relevant features may be: the shapes c of an Inverse-Gamma(c/2,
    c/2) distribution, whose values scale the effect of each feature. `null` gives all the same
    scale. The shapes are averaged over."""

    @field_validator("effect_shapes")
    @classmethod
    def _distinct_shapes(cls, value):
        return distinct(value)

    @property
    def variants(self) -> list[str]:
        """What every method is done by: integrals are exact."""
        return ["exact"]

    def check_classes(self, count: int) -> None:
        """Raise ValueError where `class_prior` has numbers for another number of classes."""
        if isinstance(self.class_prior, list) and len(self.class_prior) != count:
            raise ValueError(
                f"has {len(self.class_prior)} numbers, but there are {count} classes; give one for "
                "each, or one number for all"
            )

    @property
    def dirichlet(self) -> float | tuple[float, ...]:
        """The prior of the classes, a number for all or one for each."""
        return tuple(self.class_prior) if isinstance(self.class_prior, list) else self.class_prior

    @property
    def class_pair(self) -> tuple[float, float]:
        """The prior of the classes, where there are two."""
        if isinstance(self.class_prior, list):
            return self.class_prior[0], self.class_prior[1]
        return self.class_prior, self.class_prior


class Lattice(Block):
    """The display of Cor(I0, I1)."""

    class_counts: Counts
    """Numbers of cases in class 0 and class 1."""
    gamma: Annotated[float, Field(strict=True, ge=0, lt=1)]
    """The bound that is drawn."""
