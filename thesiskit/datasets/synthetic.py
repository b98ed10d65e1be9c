"""Data drawn from the models of the thesis."""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from thesiskit.blocks import Counts, Positive, Probability
from thesiskit.datasets.source import Drawn, SelectionPriors, Sizes, Source, Table
from thesiskit.errors import DataError

Alpha = Annotated[float, Field(strict=True, gt=0)] | Literal["prior"]


class _DrawnTable(Source):
    """Binary features, more or less alike in two classes or components."""

    family: ClassVar = "table"
    drawn: ClassVar = True

    features: Positive
    """Number of features."""
    alpha: Alpha
    """A number, `.inf` (useless features) or `prior` (drawn for each data set)."""

    @field_validator("alpha")
    @classmethod
    def _a_number(cls, value):
        if isinstance(value, float) and math.isnan(value):
            raise ValueError("must be a positive number, .inf or prior")
        return value

    def _alpha(self, rng: np.random.Generator, priors: SelectionPriors) -> float:
        if self.alpha == "prior":
            return draw_inverse_gamma(rng, *priors.alpha_prior)
        return float(self.alpha)


class NaiveBayesData(_DrawnTable):
    """Data drawn from the naive Bayes model."""

    source: Literal["naive-bayes"]
    train: Counts
    """Numbers of training cases in class 0 and class 1."""
    test: Counts | Positive
    """The same for test cases. A single number: the classes of so many test cases are drawn given
    those of the training cases."""
    relevant: Literal["all", "some"] | Probability = "all"
    """Which features differ between the classes: `all`, as in the thesis; each with this
    probability, if it is a number; or `some`, each with a probability that is drawn from `model.pi`
    for each data set."""

    @field_validator("train", "test")
    @classmethod
    def _some_cases(cls, value, info):
        if info.field_name == "train" and min(value) == 0:
            raise ValueError("both classes need at least one case")
        if isinstance(value, tuple) and sum(value) == 0:
            raise ValueError("at least one case is needed")
        return value

    @property
    def sizes(self) -> Sizes:
        """How large drawn data are."""
        return Sizes(sum(self.train), _count(self.test), self.features)

    @property
    def prior_of(self) -> str:
        """The kind of model from whose priors all parameters are drawn."""
        fixed = isinstance(self.relevant, float)
        return "naive-bayes" if self.alpha == "prior" and not fixed else ""

    def misfit(self, kind: str, *, continuous: bool) -> str | None:  # noqa: ARG002
        """Say that probabilities of being relevant are those of naive Bayes."""
        if self.relevant == "some" and kind != "naive-bayes":
            return "data.relevant: some needs model.kind: naive-bayes, which has model.pi"
        return None

    @property
    def settings_of_draws(self) -> dict[str, Any]:
        """What the generator depends on; data sets of the thesis's model are what they were."""
        return self.model_dump(exclude={"relevant"} if self.relevant == "all" else None)

    def draw(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        """Return what is drawn."""
        alpha = self._alpha(rng, priors)
        pi = None if self.relevant == "all" else self.relevant
        return draw_naive_bayes(
            rng,
            features=self.features,
            alpha=alpha,
            train=self.train,
            test=self.test,
            class_prior=priors.class_prior,
            pi=rng.choice(priors.pi) if pi == "some" else pi,
        )


class MixtureData(_DrawnTable):
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
        if _count(value) < least:
            raise ValueError(f"at least {least} case{'s are' if least > 1 else ' is'} needed")
        return value

    @property
    def sizes(self) -> Sizes:
        """How large drawn data are."""
        return Sizes(_count(self.train), _count(self.test), self.features)

    @property
    def prior_of(self) -> str:
        """The kind of model from whose priors all parameters are drawn."""
        return "mixture" if self.alpha == self.response == "prior" else ""

    def misfit(self, kind: str, *, continuous: bool) -> str | None:  # noqa: ARG002
        """Say that responses need priors of the mixture model."""
        if self.response == "prior" and kind != "mixture":
            return "data.response: prior needs model.kind: mixture"
        return None

    def draw(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        """Return what is drawn."""
        alpha = self._alpha(rng, priors)
        response: tuple[float, float] | Callable[[], float]
        if self.response == "prior":
            assert priors.response_alpha_prior is not None
            shape, rate = priors.response_alpha_prior
            response = lambda: draw_inverse_gamma(rng, shape, rate)  # noqa: E731
        else:
            response = self.response
        return draw_mixture(
            rng,
            features=self.features,
            alpha=alpha,
            response=response,
            train=self.train,
            test=self.test,
            label_prior=priors.class_prior,
        )


def _count(cases: tuple[int, int] | int) -> int:
    return sum(cases) if isinstance(cases, tuple) else cases


def draw_inverse_gamma(rng: np.random.Generator, shape: float, rate: float) -> float:
    """Draw one value from the Inverse-Gamma distribution."""
    return rate / rng.gamma(shape)


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
    if isinstance(test, Integral):
        psi = rng.beta(class_prior[1] + train[1], class_prior[0] + train[0])
        test_response = np.sort(rng.random(test) < psi).astype(np.uint8)
    else:
        test_response = np.repeat(np.array([0, 1], dtype=np.uint8), test)
    response = np.repeat(np.array([0, 1], dtype=np.uint8), train)
    return Drawn(
        Table(_bernoulli(rng, phi, response), response),
        Table(_bernoulli(rng, phi, test_response), test_response),
        alpha,
        truth,
    )


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
            (rng.random(cases) < psi).astype(np.uint8)
            if isinstance(cases, Integral)
            else np.repeat(np.array([0, 1], dtype=np.uint8), cases)
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
        raise DataError("the training cases came out with one class 10,000 times; draw more cases")
    theta, phi = _component_probabilities(rng, alpha, features)
    train_table, test_table = (
        Table(_bernoulli(rng, phi, z), y) for z, y in zip(labels, classes, strict=True)
    )
    return Drawn(train_table, test_table, alpha, truth | {"theta": theta})


def draw_sigma(
    rng: np.random.Generator, order: int, sigma_0: float, shape: float, mode: float
) -> np.ndarray:
    """Draw widths (order + 1,): sigma_o is Inverse-Gamma with this shape and mode `mode` / o.

    That of order 0 is sigma_0.
    """
    scale = (shape + 1) * mode / np.maximum(np.arange(order + 1), 1)
    sigma = scale / rng.gamma(shape, size=order + 1)
    sigma[0] = sigma_0
    return sigma


def draw_noise(rng: np.random.Generator, shape: float, mode: float) -> float:
    """Draw a standard deviation from the Inverse-Gamma distribution of this shape and mode."""
    return (shape + 1) * mode / rng.gamma(shape)


def draw_responses(
    rng: np.random.Generator,
    patterns: list[list[np.ndarray]],
    sigma: Callable[[], np.ndarray],
    *,
    classes: int,
    train: int,
    cauchy: bool,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw from the logistic models of chapter 3, equations eqn-softmax to eqn-cc-prior.

    Parameters
    ----------
    patterns : for each order, vectors (cases,) with codes, from 0 without gaps, of the patterns
        that the cases express; each code has a coefficient for each class, or for class 1 alone
        where there are two.
    sigma : draws the width of each order.

    Returns
    -------
    Responses (cases,) int32, and what they were drawn with: log_sigma (order + 1,), -inf for a
    width of 0, and probability (cases, classes).  Drawn again, widths, coefficients and responses,
    until the first `train` are of two classes at least: to condition on that leaves the posterior
    given these as it is.
    """
    cases = len(patterns[0][0])
    sets = 1 if classes == 2 else classes
    for _ in range(10_000):
        widths = sigma()
        eta = _draw_linear(rng, patterns, widths, sets, cauchy)
        if sets == 1:
            eta = np.concatenate([np.zeros((cases, 1)), eta], axis=1)
        probability = np.exp(eta - eta.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        response = draw_rows(rng, probability, np.arange(cases)).astype(np.int32)
        if len(np.unique(response[:train])) > 1:
            break
    else:
        raise DataError("the training cases came out with one class 10,000 times; draw more cases")
    with np.errstate(divide="ignore"):
        return response, {"log_sigma": np.log(widths), "probability": probability}


def draw_real_responses(
    rng: np.random.Generator,
    patterns: list[list[np.ndarray]],
    sigma: Callable[[], np.ndarray],
    *,
    noise: float,
    cauchy: bool,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw responses that are a linear function of patterns plus normal noise.

    As `draw_responses`, with one coefficient for each code, and noise of a standard deviation.

    Returns
    -------
    Responses (cases,), and what they were drawn with: log_sigma (order + 1,), log_noise and
    linear (cases,).
    """
    widths = sigma()
    linear = _draw_linear(rng, patterns, widths, 1, cauchy)[:, 0]
    with np.errstate(divide="ignore"):
        log_sigma = np.log(widths)
    truth = {"log_sigma": log_sigma, "log_noise": np.log(noise), "linear": linear}
    return linear + noise * rng.standard_normal(len(linear)), truth


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
