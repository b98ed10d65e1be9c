"""Data drawn from the model of normal features: any number of classes, some features relevant."""

from numbers import Integral
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from thesiskit.blocks import Count, Pair, Positive, PositiveNumber, Probability
from thesiskit.datasets.source import Drawn, SelectionPriors, Sizes, Source, Table

ClassCounts = Annotated[list[Count], Field(min_length=2, max_length=20)]


class NormalData(Source):
    """Normal features of any number of classes, drawn from the model of such features."""

    family: ClassVar = "table"
    drawn: ClassVar = True

    source: Literal["normal"]
    features: Positive
    """Number of features."""
    train: ClassCounts
    """Numbers of training cases in each class: two numbers or more."""
    test: ClassCounts | Positive
    """The same for test cases. A single number: the classes of so many test cases are drawn given
    those of the training cases."""
    relevant: Literal["all", "some"] | Probability = "some"
    """Which features differ between the classes: `all`; each with this probability, if it is a
    number; or `some`, each with a probability that is drawn from `model.pi` for each data set."""
    ratio: Literal["prior"] | PositiveNumber = "prior"
    """The size of the effects, rho: the variance of a relevant feature's class means, divided by
    its variance within a class. With `prior` it is drawn for each data set."""
    shape: Literal["prior", "none"] | PositiveNumber = "prior"
    """How unlike the effects are: rho of each relevant feature is multiplied by a draw from
    Inverse-Gamma(c/2, c/2), where this is c. With `none` all are the same; with `prior` c is drawn
    from `model.effect_shapes` for each data set."""
    variance: Pair = (10.0, 1.0)
    """a and b of the prior of variances within a class, Inverse-Gamma(a/2, ab/2): b is about their
    size, and the larger a is, the more alike they are."""

    @field_validator("train")
    @classmethod
    def _each_class(cls, value):
        if min(value) == 0:
            raise ValueError("each class needs at least one case")
        return value

    @model_validator(mode="after")
    def _some_cases(self):
        counts = self.test if isinstance(self.test, list) else [self.test]
        if isinstance(self.test, list) and len(counts) != len(self.train):
            raise ValueError(
                f"test has {len(counts)} numbers and train {len(self.train)}; give one for each "
                "class, or a single number"
            )
        if sum(counts) == 0:
            raise ValueError("test: at least one case is needed")
        return self

    @property
    def sizes(self) -> Sizes:
        """How large drawn data are."""
        test = sum(self.test) if isinstance(self.test, list) else self.test
        return Sizes(sum(self.train), test, self.features, classes=len(self.train))

    @property
    def real_features(self) -> bool:
        """Whether features that are drawn are real numbers."""
        return True

    @property
    def prior_of(self) -> str:
        """The kind of model from whose priors all parameters are drawn."""
        fixed = isinstance(self.relevant, float)
        return "normal" if self.ratio == self.shape == "prior" and not fixed else ""

    def misfit(self, kind: str, *, continuous: bool) -> str | None:  # noqa: ARG002
        """Say that the priors, and more than two classes, are those of the normal model."""
        if kind == "normal":
            return None
        if len(self.train) > 2:
            return f"data.train: {len(self.train)} classes need model.kind: normal"
        drawn = {"relevant": "some", "ratio": "prior", "shape": "prior"}
        for key, value in drawn.items():
            if getattr(self, key) == value:
                return f"data.{key}: {value} needs model.kind: normal, which has the prior"
        return None

    def draw(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        """Return what is drawn."""
        ratio = rng.choice(priors.ratio) if self.ratio == "prior" else self.ratio
        pi = rng.choice(priors.pi) if self.relevant == "some" else self.relevant
        shape = None if self.shape == "none" else self.shape
        if shape == "prior":
            shape = priors.effect_shapes[rng.integers(len(priors.effect_shapes))]
        return draw_normal(
            rng,
            features=self.features,
            ratio=float(ratio),
            pi=1.0 if pi == "all" else float(pi),
            shape=shape,
            variance=self.variance,
            train=self.train,
            test=self.test,
            class_prior=priors.dirichlet,
        )


def draw_normal(
    rng: np.random.Generator,
    *,
    features: int,
    ratio: float,
    pi: float,
    shape: float | None,
    variance: tuple[float, float],
    train: list[int],
    test: list[int] | int,
    class_prior: float | tuple[float, ...] = 1.0,
) -> Drawn:
    """Draw features that are normal in each class.

    The means of a feature within the classes are drawn around 0.  The model takes their centre as
    anything at all, and what it says does not depend on the centre.

    Parameters
    ----------
    features : p.
    ratio : rho; each feature is relevant with probability `pi`, and then the variance of its class
        means is rho T times the variance within a class, else 0.
    shape : c of T, which is Inverse-Gamma(c/2, c/2); None: T is 1.
    variance : (a, b) of the variances within a class, which are Inverse-Gamma(a/2, ab/2).
    train, test : cases of each class.  A single number for `test` draws the classes too, given the
        training ones under the Dirichlet prior `class_prior`, a number or one for each class.

    Returns
    -------
    The truth has ratio, pi, shape (infinite where T is 1), and effect (p,): rho T of a relevant
    feature, and 0 of others.
    """
    relevant = rng.random(features) < pi
    spread = 1.0 if shape is None else draw_inverse_gammas(rng, shape / 2, shape / 2, features)
    effect = np.where(relevant, ratio * spread, 0.0)
    a, b = variance
    within = draw_inverse_gammas(rng, a / 2, a * b / 2, features)
    mean = np.sqrt(effect * within) * rng.standard_normal((len(train), features))
    response = np.repeat(np.arange(len(train), dtype=np.uint8), train)
    classes = tuple(str(g) for g in range(len(train)))
    tables = [
        Table(_cases(rng, mean, np.sqrt(within), y), y, classes=classes)
        for y in (response, _test_response(rng, train, test, class_prior))
    ]
    c = np.inf if shape is None else shape
    truth = {"ratio": np.array(ratio), "pi": np.array(pi), "shape": np.array(c), "effect": effect}
    return Drawn(tables[0], tables[1], np.nan, truth)


def draw_inverse_gammas(
    rng: np.random.Generator, shape: float, rate: float, count: int
) -> np.ndarray:
    """Draw values (count,) from the Inverse-Gamma distribution."""
    return rate / np.maximum(rng.gamma(shape, size=count), 1e-300)


def _test_response(
    rng: np.random.Generator,
    train: list[int],
    test: list[int] | int,
    class_prior: float | tuple[float, ...],
) -> np.ndarray:
    """Return the classes of the test cases, in order."""
    counts = test
    if isinstance(test, Integral):
        counts = rng.multinomial(test, rng.dirichlet(np.array(train) + np.array(class_prior)))
    return np.repeat(np.arange(len(train), dtype=np.uint8), counts)


def _cases(
    rng: np.random.Generator, mean: np.ndarray, deviation: np.ndarray, response: np.ndarray
) -> np.ndarray:
    """Draw a row of features for each response; the noise is drawn as float32, to save memory."""
    features = rng.standard_normal((len(response), mean.shape[1]), dtype=np.float32)
    features *= deviation.astype(np.float32)
    for row, y in zip(features, response, strict=True):
        row += mean[y].astype(np.float32)
    return features
