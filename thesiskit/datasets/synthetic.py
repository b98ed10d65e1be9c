"""Data drawn from the models of the thesis."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from thesiskit.blocks import Counts, Positive, Probability
from thesiskit.datasets.source import Drawn, SelectionPriors, Sizes, Source, Table
from thesiskit.errors import DataError

Alpha = Annotated[float, Field(strict=True, gt=0)] | Literal["prior"]
ONE_CLASS = "10,000 draws of training samples had one class only. Fix: draw more samples"


class _DrawnTable(Source):
    """Features of samples in classes, or in components; `train` and `test` say how many in each."""

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


def _some_of_each(value: Any, info: ValidationInfo) -> Any:
    """Say that a class has no training sample, or that there is no test sample."""
    if info.field_name == "train" and min(value) == 0:
        raise ValueError("both classes need at least one sample")
    if int(np.sum(value)) == 0:
        raise ValueError("at least one sample is needed")
    return value


class NaiveBayesData(_BinaryTable):
    """Data drawn from the naive Bayes model."""

    source: Literal["naive-bayes"]
    train: Counts
    """Numbers of training samples in class 0 and class 1."""
    test: Counts | Positive
    """The same for test samples. A single number: the classes of so many test samples are drawn
    given those of the training samples."""
    _some_samples = field_validator("train", "test")(_some_of_each)

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
    """Numbers of training samples in component 0 and component 1; a single number draws the
    components."""
    test: Counts | Positive
    """The same for test samples."""

    @field_validator("train", "test")
    @classmethod
    def _some_samples(cls, value, info):
        least = 2 if info.field_name == "train" else 1
        if int(np.sum(value)) < least:
            raise ValueError(f"at least {least} sample{'s are' if least > 1 else ' is'} needed")
        return value

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield priors that the model does not have."""
        if self.response == "prior" and config.model.kind != "mixture":
            yield "data.response: prior needs model.kind: mixture"
        yield from super().incompatibilities(config)

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


def _classes(counts: Any) -> np.ndarray:
    """Return the classes of samples, so many of each, in order."""
    return np.repeat(np.arange(len(counts), dtype=np.uint8), counts)


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
    train, test : samples in class 0 and in class 1.  A single number for `test` draws the classes
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
    train, test : samples in component 0 and in component 1.  A single number draws the labels too,
        under the prior `label_prior` (f_0, f_1) of P(z = 1).

    Everything that the training responses depend on is drawn again until both classes are among
    them: to condition on that leaves the posterior given the training data as it is.
    """
    for _ in range(10_000):
        psi = rng.beta(label_prior[1], label_prior[0])
        labels = [
            _classes(samples) if np.ndim(samples) else (rng.random(samples) < psi).astype(np.uint8)
            for samples in (train, test)
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
    tables = [Table(_bernoulli(rng, phi, z), y) for z, y in zip(labels, classes, strict=True)]
    return Drawn(tables[0], tables[1], alpha, truth | {"theta": theta})


def draw_responses(
    rng: np.random.Generator, patterns: list[list[np.ndarray]], sigma: np.ndarray, *, train: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two classes from the Cauchy models of chapter 3, equations eqn-softmax to eqn-cc-prior.

    Parameters
    ----------
    patterns : for each order, vectors (samples,) with codes, from 0 without gaps, of the patterns
        that the samples express; each code has a coefficient.
    sigma : (order + 1,) the width of each order.

    Returns
    -------
    Responses (samples,) int32, and probability (samples, 2).  Coefficients and responses are drawn
    again until both classes are among the first `train`.
    """
    samples = len(patterns[0][0])
    for _ in range(10_000):
        eta = np.column_stack([np.zeros(samples), draw_linear(rng, patterns, sigma)])
        probability = np.exp(eta - eta.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        response = draw_rows(rng, probability, np.arange(samples)).astype(np.int32)
        if len(np.unique(response[:train])) > 1:
            break
    else:
        raise DataError(ONE_CLASS)
    return response, probability


def draw_linear(
    rng: np.random.Generator, patterns: list[list[np.ndarray]], widths: np.ndarray
) -> np.ndarray:
    """Draw Cauchy coefficients, and return their linear function, (samples,)."""
    eta = np.zeros(len(patterns[0][0]))
    for width, codes in zip(widths, patterns, strict=True):
        for code in codes:
            eta += (width * rng.standard_cauchy(code.max() + 1))[code]
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
