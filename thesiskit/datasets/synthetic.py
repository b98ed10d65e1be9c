"""Data drawn from the models of the thesis, and from models of real features."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from thesiskit.blocks import (
    Count,
    Counts,
    Pair,
    Positive,
    PositiveNumber,
    Probability,
)
from thesiskit.datasets.source import Drawn, SelectionPriors, Sizes, Source, Table
from thesiskit.defaults import normal_grids
from thesiskit.errors import DataError

Alpha = Annotated[float, Field(strict=True, gt=0)] | Literal["prior"]
ClassCounts = Annotated[list[Count], Field(min_length=2, max_length=20)]
ONE_CLASS = "the training cases came out with one class 10,000 times; draw more cases"


class _DrawnTable(Source):
    """Features of cases in classes, or in components; `train` and `test` say how many in each."""

    family: ClassVar = "table"
    drawn: ClassVar = True

    features: Positive
    """Number of features."""

    @property
    def sizes(self) -> Sizes:
        train, test = (getattr(self, key) for key in ("train", "test"))
        classes = max(2, np.size(train))
        return Sizes(int(np.sum(train)), int(np.sum(test)), self.features, classes=classes)


class _BinaryTable(_DrawnTable):
    """Binary features, more or less alike in two classes or components."""

    alpha: Alpha
    """A number, `.inf` (useless features) or `prior` (drawn for each data set)."""

    @field_validator("alpha")
    @classmethod
    def _a_number(cls, value):
        if value != value:
            raise ValueError("must be a positive number, .inf or prior")
        return value

    def _alpha(self, rng: np.random.Generator, priors: SelectionPriors) -> float:
        if self.alpha == "prior":
            shape, rate = priors.alpha_prior
            return rate / rng.gamma(shape)
        return float(self.alpha)


def _some_of_each(value: Any, info: Any) -> Any:
    """Say that a class has no training case, or that there is no test case."""
    if info.field_name == "train" and min(value) == 0:
        raise ValueError("both classes need at least one case")
    if int(np.sum(value)) == 0:
        raise ValueError("at least one case is needed")
    return value


class NaiveBayesData(_BinaryTable):
    """Data drawn from the naive Bayes model."""

    source: Literal["naive-bayes"]
    train: Counts
    """Numbers of training cases in class 0 and class 1."""
    test: Counts | Positive
    """The same for test cases. A single number: the classes of so many test cases are drawn given
    those of the training cases."""
    _some_cases = field_validator("train", "test")(_some_of_each)

    def draw(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        return draw_naive_bayes(
            rng,
            features=self.features,
            alpha=self._alpha(rng, priors),
            train=self.train,
            test=self.test,
            class_prior=priors.class_prior,
        )


class MixtureData(_BinaryTable):
    """Data drawn from the mixture model."""

    source: Literal["mixture"]
    response: tuple[Probability, Probability] | Literal["prior"]
    """P(class 1) in component 0 and in component 1, or `prior` (drawn, with alpha_0)."""
    train: Counts | Positive
    """Numbers of training cases in component 0 and component 1; a single number draws the
    components."""
    test: Counts | Positive
    """The same for test cases."""

    @field_validator("train", "test")
    @classmethod
    def _some_cases(cls, value, info):
        least = 2 if info.field_name == "train" else 1
        if int(np.sum(value)) < least:
            raise ValueError(f"at least {least} case{'s are' if least > 1 else ' is'} needed")
        return value

    def misfit(self, kind: str, *, continuous: bool) -> str | None:
        """Say that responses need priors of the mixture model."""
        if self.response == "prior" and kind != "mixture":
            return "data.response: prior needs model.kind: mixture"
        return None

    def draw(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        shape, rate = priors.response_alpha_prior or (1.0, 1.0)
        return draw_mixture(
            rng,
            features=self.features,
            alpha=self._alpha(rng, priors),
            response=self.response if self.response != "prior" else lambda: rate / rng.gamma(shape),
            train=self.train,
            test=self.test,
            label_prior=priors.class_prior,
        )


class NormalData(_DrawnTable):
    """Normal features of any number of classes, drawn from the model of such features."""

    source: Literal["normal"]
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
    Inverse-Gamma(c/2, c/2), where this is c. With `none` all are the same; with `prior` c is 3 or
    10, or all are the same, each with probability 1/3 for each data set."""
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
        if np.ndim(self.test) and np.size(self.test) != len(self.train):
            raise ValueError(
                f"test has {np.size(self.test)} numbers and train {len(self.train)}; give one for "
                "each class, or a single number"
            )
        if int(np.sum(self.test)) == 0:
            raise ValueError("test: at least one case is needed")
        return self

    @property
    def real_features(self) -> bool:
        return True

    def misfit(self, kind: str, *, continuous: bool) -> str | None:
        """Say that the priors, and more than two classes, are those of the normal model."""
        if kind == "normal":
            return None
        if len(self.train) > 2 and kind in ("naive-bayes", "mixture"):
            return f"data.train: {len(self.train)} classes need model.kind: normal"
        drawn = {"relevant": "some", "ratio": "prior", "shape": "prior"}
        for key, value in drawn.items():
            if getattr(self, key) == value:
                return f"data.{key}: {value} needs model.kind: normal, which has the prior"
        return None

    def draw(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        pis, ratios = normal_grids(self.features)
        ratio = rng.choice(priors.ratio or ratios) if self.ratio == "prior" else self.ratio
        pi = rng.choice(priors.pi or pis) if self.relevant == "some" else self.relevant
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


def _classes(counts: Any) -> np.ndarray:
    """Return the classes of cases, so many of each, in order."""
    return np.repeat(np.arange(len(counts), dtype=np.uint8), counts)


def draw_inverse_gammas(
    rng: np.random.Generator, shape: float, rate: float, count: int
) -> np.ndarray:
    """Draw values (count,) from the Inverse-Gamma distribution."""
    return rate / np.maximum(rng.gamma(shape, size=count), 1e-300)


def draw_naive_bayes(
    rng: np.random.Generator,
    *,
    features: int,
    alpha: float,
    train: tuple[int, int],
    test: tuple[int, int] | int,
    class_prior: tuple[float, float] = (1.0, 1.0),
    pi: float | None = None,
) -> Drawn:
    """Draw binary data from equations sample-x-b, prior-theta-b and prior-phi-b.

    Parameters
    ----------
    features : p.
    alpha : how alike the classes are; inf makes phi_0 = phi_1, so that no feature has anything to
        do with the response.
    train, test : cases in class 0 and in class 1.  A single number for `test` draws the classes
        too, from their posterior given the training ones under the prior `class_prior`
        (f_0, f_1): the order in which prior, training and test data come does not matter.
    pi : each feature differs between the classes with this probability, otherwise phi_0 = phi_1 =
        theta; None draws nothing for it, and all do.
    """
    theta, phi = _component_probabilities(rng, alpha, features)
    truth = {"theta": theta}
    if pi is not None:
        truth |= {"pi": np.array(pi), "relevant": rng.random(features) < pi}
        phi = np.where(truth["relevant"], phi, theta)
    if np.ndim(test):
        test_response = _classes(test)
    else:
        psi = rng.beta(class_prior[1] + train[1], class_prior[0] + train[0])
        test_response = np.sort(rng.random(test) < psi).astype(np.uint8)
    tables = [Table(_bernoulli(rng, phi, y), y) for y in (_classes(train), test_response)]
    return Drawn(tables[0], tables[1], alpha, truth)


def draw_mixture(
    rng: np.random.Generator,
    *,
    features: int,
    alpha: float,
    response: tuple[float, float] | Callable[[], float],
    train: tuple[int, int] | int,
    test: tuple[int, int] | int,
    label_prior: tuple[float, float] = (1.0, 1.0),
) -> Drawn:
    """Draw binary data from the mixture model, equations prior-p to prob-x.

    Parameters
    ----------
    features : p.
    alpha : how alike the components are in the features; inf as in draw_naive_bayes.
    response : P(y = 1) in component 0 and in component 1; or a function that draws alpha_0, from
        which they are drawn.
    train, test : cases in component 0 and in component 1.  A single number draws the labels too,
        under the prior `label_prior` (f_0, f_1) of P(z = 1).

    Everything that the training responses depend on is drawn again until both classes are among
    them: to condition on that leaves the posterior given the training data as it is.
    """
    for _ in range(10_000):
        psi = rng.beta(label_prior[1], label_prior[0])
        labels = [
            _classes(cases) if np.ndim(cases) else (rng.random(cases) < psi).astype(np.uint8)
            for cases in (train, test)
        ]
        truth = {"labels": labels[0]}
        if callable(response):
            truth["alpha_0"] = np.array(response())
            probability = _component_probabilities(rng, float(truth["alpha_0"]), 1)[1][:, 0]
        else:
            probability = np.array(response, dtype=float)
        classes = [(rng.random(len(z)) < probability[z]).astype(np.uint8) for z in labels]
        if 0 < classes[0].sum() < len(classes[0]):
            break
    else:
        raise DataError(ONE_CLASS)
    theta, phi = _component_probabilities(rng, alpha, features)
    trained, tested = (
        Table(_bernoulli(rng, phi, z), y) for z, y in zip(labels, classes, strict=True)
    )
    return Drawn(trained, tested, alpha, truth | {"theta": theta})


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
    counts: Any = test
    if np.ndim(test) == 0:
        counts = rng.multinomial(test, rng.dirichlet(np.array(train) + np.array(class_prior)))
    tables = []
    for y in (_classes(train), _classes(counts)):
        # the noise is drawn as float32, to save memory
        X = rng.standard_normal((len(y), features), dtype=np.float32)
        X *= np.sqrt(within).astype(np.float32)
        for row, k in zip(X, y, strict=True):
            row += mean[k].astype(np.float32)
        tables.append(Table(X, y, classes=tuple(map(str, range(len(train))))))
    c = np.inf if shape is None else shape
    truth = {"ratio": np.array(ratio), "pi": np.array(pi), "shape": np.array(c), "effect": effect}
    return Drawn(tables[0], tables[1], np.nan, truth)


def draw_responses(
    rng: np.random.Generator,
    patterns: list[list[np.ndarray]],
    sigma: np.ndarray,
    *,
    classes: int,
    train: int,
    cauchy: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw from the logistic models of chapter 3, equations eqn-softmax to eqn-cc-prior.

    Parameters
    ----------
    patterns : for each order, vectors (cases,) with codes, from 0 without gaps, of the patterns
        that the cases express; each code has a coefficient for each class, or for class 1 alone
        where there are two.
    sigma : (order + 1,) the width of each order.

    Returns
    -------
    Responses (cases,) int32, and probability (cases, classes).  Coefficients and responses are
    drawn again until the first `train` are of two classes at least.
    """
    cases = len(patterns[0][0])
    sets = 1 if classes == 2 else classes
    for _ in range(10_000):
        eta = _draw_linear(rng, patterns, sigma, sets, cauchy)
        if sets == 1:
            eta = np.concatenate([np.zeros((cases, 1)), eta], axis=1)
        probability = np.exp(eta - eta.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        response = draw_rows(rng, probability, np.arange(cases)).astype(np.int32)
        if len(np.unique(response[:train])) > 1:
            break
    else:
        raise DataError(ONE_CLASS)
    return response, probability


def draw_real_responses(
    rng: np.random.Generator,
    patterns: list[list[np.ndarray]],
    sigma: np.ndarray,
    *,
    noise: float,
    cauchy: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw responses that are a linear function of patterns plus normal noise.

    As `draw_responses`, with one coefficient for each code, and noise of a standard deviation.

    Returns
    -------
    Responses (cases,), and the linear function (cases,).
    """
    linear = _draw_linear(rng, patterns, sigma, 1, cauchy)[:, 0]
    return linear + noise * rng.standard_normal(len(linear)), linear


def _draw_linear(
    rng: np.random.Generator,
    patterns: list[list[np.ndarray]],
    widths: np.ndarray,
    sets: int,
    cauchy: bool,
) -> np.ndarray:
    """Draw coefficients, and return their linear functions, (cases, sets)."""
    eta = np.zeros((len(patterns[0][0]), sets))
    for width, codes in zip(widths, patterns, strict=True):
        for code in codes:
            shape = (code.max() + 1, sets)
            beta = rng.standard_cauchy(shape) if cauchy else rng.standard_normal(shape)
            eta += (width * beta)[code]
    return eta


def draw_rows(rng: np.random.Generator, probability: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Draw one index from each of the rows named."""
    bounds = probability.cumsum(axis=1)
    bounds /= bounds[:, -1:]  # what comes after the last possible index is exactly 1
    return (rng.random(len(row))[:, None] >= bounds[row, :-1]).sum(axis=1)


def _component_probabilities(rng, alpha: float, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw theta (p,) and phi (2, p) from equations prior-theta-b and prior-phi-b."""
    theta = rng.random(features)
    if np.isinf(alpha):
        return theta, np.stack([theta, theta])
    # Beta(a, b) with a or b below 1e-300 is 0 or 1, never 0 / 0
    return theta, rng.beta(
        np.maximum(alpha * theta, 1e-300),
        np.maximum(alpha * (1 - theta), 1e-300),
        size=(2, features),
    )


def _bernoulli(rng, phi: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Draw one row of features for each response, row by row to keep memory small."""
    features = np.empty((len(response), phi.shape[1]), dtype=np.uint8)
    for row, y in zip(features, response, strict=True):
        np.less(rng.random(phi.shape[1]), phi[y], out=row.view(bool))
    return features
