"""Prior distributions shared by the models.

| thesis | name | shape |
|---|---|---|
| a, b | `shape`, `rate` of the Inverse-Gamma prior of alpha | scalars |
| F | `InverseGamma.quantile` is its inverse | |

Section "Definition of the Binary Naive Bayes Models", equations prior-psi-b and prior-alpha-b.
"""

from dataclasses import dataclass
from functools import lru_cache
from numbers import Real

import numpy as np
from scipy import special

from thesiskit.errors import UserError


def positive(name: str, value: float) -> float:
    """Return value as a float, or say that it is not a positive number."""
    if not (isinstance(value, Real) and np.isfinite(value) and value > 0):
        raise UserError(f"{name} must be a positive number, got {value!r}")
    return float(value)


def positive_pair(name: str, pair) -> None:
    """Say so if a value is not a pair of positive numbers."""
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise UserError(f"{name} must be a pair of positive numbers, got {pair!r}")
    for i in (0, 1):
        positive(f"{name}[{i}]", pair[i])


def whole(name: str, value, least: int = 1, most: int | None = None) -> int:
    """Return value as a whole number from `least`, or say that it is not one."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and least <= value < 1e9 and value == int(value)):
        raise UserError(f"{name} must be a whole number from {least}, got {value!r}")
    if most is not None and value > most:
        raise UserError(f"{name} must be at most {most:,}, got {value!r}")
    return int(value)


@dataclass(frozen=True)
class InverseGamma:
    """Inverse-Gamma(shape, rate): density proportional to x^(-1-shape) exp(-rate / x)."""

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
    if not (np.isfinite(points) & (points > 0)).all():
        raise UserError(
            f"alpha_prior ({prior.shape:g}, {prior.rate:g}): its quantiles overflow; "
            "use a larger shape or fewer alpha_points"
        )
    points.flags.writeable = False
    return points
