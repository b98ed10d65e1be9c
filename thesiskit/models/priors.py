"""Prior distributions, and the rule of quadrature, that models share.

| thesis | name | shape |
|---|---|---|
| a, b | `shape`, `rate` of the Inverse-Gamma prior of alpha | scalars |
| F | `InverseGamma.quantile` is its inverse | |

Section "Definition of the Binary Naive Bayes Models", equations prior-psi-b and prior-alpha-b.
"""

import sys
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from scipy import special

from thesiskit.errors import UserError, quoted

# beyond these, squares of alpha, or differences of logs of f_0 and f_1, are not what they should be
LEAST_ALPHA, MOST_ALPHA = 1e-100, 1e200
MOST_SHAPE = 1e8
LEAST_COUNT, MOST_COUNT = 1e-8, 1e8


def is_number(value: Any) -> TypeGuard[float]:
    """Whether this is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def positive(name: str, value: float) -> float:
    """Return value as a float; raise if it is not a positive number."""
    if not (is_number(value) and 0 < value <= sys.float_info.max):
        raise UserError(f"{name} must be a positive number, got {quoted(value)}")
    return float(value)


def positive_pair(name: str, pair) -> None:
    """Raise if a value is not a pair of positive numbers."""
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise UserError(f"{name} must be a pair of positive numbers, got {quoted(pair)}")
    for i in (0, 1):
        positive(f"{name}[{i}]", pair[i])


def whole(name: str, value, least: int = 1, most: int | None = None) -> int:
    """Return value as an int; raise if it is not a whole number from `least` to `most`."""
    if not (is_number(value) and least <= value < 2**63 and value == int(value)):
        raise UserError(f"{name} must be a whole number from {least}, got {quoted(value)}")
    if most is not None and value > most:
        raise UserError(f"{name} must be at most {most:,}, got {quoted(value)}")
    return int(value)


def check_class_prior(name: str, pair) -> None:
    """Raise UserError unless this is a pair (f_0, f_1) within the limits of the models."""
    positive_pair(name, pair)
    for i in (0, 1):
        if not LEAST_COUNT <= pair[i] <= MOST_COUNT:
            raise UserError(
                f"{name}[{i}] must be between {LEAST_COUNT:g} and {MOST_COUNT:g}, got {pair[i]:g}"
            )


def check_alpha_prior(name: str, pair) -> None:
    """Raise UserError unless this is a pair (shape, rate) within the limits of the models."""
    positive_pair(name, pair)
    shape, rate = pair
    if shape > MOST_SHAPE:
        raise UserError(f"{name}[0], the shape, must be at most {MOST_SHAPE:g}, got {shape:g}")
    with np.errstate(divide="ignore", over="ignore"):
        median = InverseGamma(shape, rate).quantile(np.array(0.5))
    if not LEAST_ALPHA <= median <= MOST_ALPHA:
        raise UserError(
            f"{name} ({shape:g}, {rate:g}) has the median {median:g}; it must be between "
            f"{LEAST_ALPHA:g} and {MOST_ALPHA:g}: use another shape or rate"
        )


def check_pi(pi) -> None:
    """Raise UserError unless these are some probabilities, none twice."""
    if not isinstance(pi, tuple | list | np.ndarray) or len(pi) == 0:
        raise UserError("pi must be a list of probabilities above 0, and at least one")
    for i, one in enumerate(pi):
        if positive(f"pi[{i}]", one) > 1:
            raise UserError(f"pi[{i}] must be at most 1, got {quoted(one)}")
    if len(set(pi)) < len(pi):
        raise UserError("pi: give each probability once")


@dataclass(frozen=True)
class InverseGamma:
    """Inverse-Gamma(shape, rate): density proportional to x^(-1-shape) exp(-rate / x).

    Equations prior-alpha-b and prior-alpha0.
    """

    shape: float
    rate: float

    def __post_init__(self):
        positive("the shape of an Inverse-Gamma prior", self.shape)
        positive("the rate of an Inverse-Gamma prior", self.rate)

    def cdf(self, x: np.ndarray | float) -> np.ndarray:
        """Return F(x)."""
        return special.gammaincc(self.shape, self.rate / np.asarray(x))

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """Return F^{-1}(u)."""
        return self.rate / special.gammainccinv(self.shape, u)

    def midpoints(self, count: int) -> np.ndarray:
        """Return the 0.5/K, 1.5/K, ... quantiles: the thesis's midpoint rule, (K,).

        Section "Predictions for Test Cases using Numerical Quadrature", last paragraph.
        """
        return _midpoints(self, count)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return log p(x)."""
        constant = self.shape * np.log(self.rate) - special.gammaln(self.shape)
        return constant - (1 + self.shape) * np.log(x) - self.rate / x

    def sample(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return self.rate / rng.gamma(self.shape)


@lru_cache(maxsize=32)
def _midpoints(prior: InverseGamma, count: int) -> np.ndarray:
    with np.errstate(divide="ignore", over="ignore"):
        points = prior.quantile((np.arange(count) + 0.5) / count)
    if not (points.min() >= LEAST_ALPHA and points.max() <= MOST_ALPHA):
        raise UserError(
            f"alpha_prior ({prior.shape:g}, {prior.rate:g}): of {count} quantiles, some are not "
            f"between {LEAST_ALPHA:g} and {MOST_ALPHA:g}; use a larger shape or fewer alpha_points"
        )
    points.flags.writeable = False
    return points


@dataclass(frozen=True)
class ThetaRule:
    """Nodes, 1 - nodes and weights on (0, 1), symmetric about 1/2, each (G,)."""

    theta: np.ndarray
    complement: np.ndarray
    weight: np.ndarray


@lru_cache(maxsize=64)
def gauss_legendre(nodes: int) -> ThetaRule:
    """Return the Gauss-Legendre rule with that many nodes, exact to degree 2 nodes - 1."""
    x, weight = special.roots_legendre(nodes)
    x, weight = (x - x[::-1]) / 2, (weight + weight[::-1]) / 2
    # (1 + x) / 2 loses digits where x is near -1; 1 - theta is as exact as theta
    return ThetaRule((1 + x) / 2, (1 - x) / 2, weight / weight.sum())
