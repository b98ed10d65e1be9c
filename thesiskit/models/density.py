"""Predictive distributions of a real response.

A `Density` has the log density of each of T samples at

    y = location + scale sinh(u),    u on one even grid U,

so that a few hundred points reach from the centre far into heavy tails.  In u the density is
smooth and falls on both sides, where the trapezoid rule converges faster than any power of the
step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # scipy.optimize takes half a second to load: at its first use
from scipy import special

U = np.linspace(-8, 8, 321)
STEP = float(U[1] - U[0])
# of the quantiles that are stored and printed: the ends of 50% and 90% intervals, by name
LEVELS = {"low": 0.05, "lower": 0.25, "median": 0.5, "upper": 0.75, "high": 0.95}
SCORED = ("median", "low", "high", "mean", "sd", "log_density", "crps", "pit")
TOGETHER = 1 << 20  # numbers that are computed together
LEAST = 1e-300
LEAST_FREEDOM = 3.0  # of errors
LEAST_SCALE = 1e-6  # of errors, in standard deviations of the response


@dataclass(frozen=True)
class Density:
    """Predictive distributions of real responses, one for each of T samples.

    location, scale : (T,).
    logs : (T, F) normalised log densities at `points`.
    """

    location: np.ndarray
    scale: np.ndarray
    logs: np.ndarray

    @classmethod
    def of_logs(cls, location: np.ndarray, scale: np.ndarray, logs: np.ndarray) -> Density:
        """Return distributions from log densities (T, F) at `points`, up to a constant of each."""
        log_steps = np.log(STEP * scale)[:, None] + np.log(np.cosh(U))
        total = special.logsumexp(logs + log_steps, axis=1, keepdims=True)
        return cls(location, scale, logs - total)

    @classmethod
    def of_students(cls, components: np.ndarray) -> Density:
        """Return mixtures of Student t distributions.

        components : (T, M, 4), the weight, location, scale and degrees of freedom of each; with
            infinite degrees of freedom it is a normal distribution.
        """
        weight, centre, spread, freedom = np.moveaxis(np.asarray(components, dtype=float), -1, 0)
        location = (weight * centre).sum(axis=1)
        away = (centre - location[:, None]) ** 2
        scale = np.sqrt((weight * (spread**2 + away)).sum(axis=1))
        logs = np.empty((len(centre), len(U)))
        together = max(1, TOGETHER // (len(U) * centre.shape[1]))
        for start in range(0, len(centre), together):
            part = slice(start, start + together)
            y = location[part, None] + scale[part, None] * np.sinh(U)
            z = (y[:, None] - centre[part, :, None]) / spread[part, :, None]
            log = student_log_density(z, freedom[part, :, None]) - np.log(spread[part, :, None])
            logs[part] = special.logsumexp(log, axis=1, b=weight[part, :, None])
        return cls.of_logs(location, scale, logs)

    @cached_property
    def points(self) -> np.ndarray:
        """The responses at which the densities are known, (T, F)."""
        return self.location[:, None] + self.scale[:, None] * np.sinh(U)

    @cached_property
    def _per_step(self) -> np.ndarray:
        """The probability of a step of the grid, (T, F)."""
        return np.exp(self.logs + np.log(STEP * self.scale)[:, None] + np.log(np.cosh(U)))

    @cached_property
    def _below(self) -> np.ndarray:
        """The probability below each point, (T, F), from polynomials of degree 3."""
        p = np.pad(self._per_step, ((0, 0), (1, 1)), mode="edge")
        steps = (13 * (p[:, 1:-2] + p[:, 2:-1]) - p[:, :-3] - p[:, 3:]) / 24
        below = np.pad(np.cumsum(np.maximum(steps, 0), axis=1), ((0, 0), (1, 0)))
        return below / below[:, -1:]

    def _place(self, y: np.ndarray) -> np.ndarray:
        """Return where responses (T,) are on the grid of u."""
        return np.arcsinh((np.asarray(y, dtype=float) - self.location) / self.scale)

    def _interpolated(self, table: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return a table (T, F) at u, (T,), by polynomials of degree 3; outside, by lines."""
        inside = np.clip(u, U[0], U[-1])
        near = np.clip(((inside - U[0]) / STEP).astype(int), 1, len(U) - 3)
        t = (inside - U[near]) / STEP
        rows = np.arange(len(u))
        a, b, c, d = (table[rows, near + i] for i in (-1, 0, 1, 2))
        value = -t * (t - 1) * (t - 2) / 6 * a + (t + 1) * (t - 1) * (t - 2) / 2 * b
        value += -(t + 1) * t * (t - 2) / 2 * c + (t + 1) * t * (t - 1) / 6 * d
        slope = np.where(u < 0, table[:, 1] - table[:, 0], table[:, -1] - table[:, -2]) / STEP
        return value + np.where(u == inside, 0, slope * (u - inside))

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Return the log density of each sample's response, (T,)."""
        return self._interpolated(self.logs, self._place(y))

    def below(self, y: np.ndarray) -> np.ndarray:
        """Return the probability that each sample's response is below y, (T,)."""
        return np.clip(self._interpolated(self._below, self._place(y)), 0.0, 1.0)

    def quantile(self, level: float) -> np.ndarray:
        """Return a quantile of each distribution, (T,)."""
        u = np.array([np.interp(level, below, U) for below in self._below])
        slope = self._interpolated(self._per_step, u) / STEP
        correction = (level - self._interpolated(self._below, u)) / np.maximum(slope, LEAST)
        u += np.clip(correction, -STEP, STEP)
        return self.location + self.scale * np.sinh(u)

    @cached_property
    def mean(self) -> np.ndarray:
        """The expectation of each, (T,)."""
        return (self._per_step * self.points).sum(axis=1)

    @property
    def sd(self) -> np.ndarray:
        """The standard deviation of each, (T,)."""
        away = (self.points - self.mean[:, None]) ** 2
        return np.sqrt((self._per_step * away).sum(axis=1))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the continuous ranked probability score, E|Y - y| - E|Y - Y'| / 2, (T,).

        Gneiting and Raftery (2007), Journal of the American Statistical Association 102, 359-378.
        """
        distance = np.abs(self.points - np.asarray(y, dtype=float)[:, None])
        steps = STEP * self.scale[:, None] * np.cosh(U)
        between = (self._below * (1 - self._below) * steps).sum(axis=1)
        return (self._per_step * distance).sum(axis=1) - between

    def scores(self, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return what is kept of test samples with responses y: arrays (T,) named as in SCORED.

        low and high are the ends of a 90% interval; pit is the probability below y.
        """
        return {name: self.quantile(LEVELS[name]) for name in ("median", "low", "high")} | {
            "mean": self.mean,
            "sd": self.sd,
            "log_density": self.log_density(y),
            "crps": self.crps(y),
            "pit": self.below(y),
        }


def student_log_density(z: np.ndarray, freedom: np.ndarray | float) -> np.ndarray:
    """Return log densities of the standard Student t distribution; normal for infinite freedom."""
    finite = np.minimum(freedom, 1e12)
    half = finite / 2
    log_norm = special.gammaln(half + 0.5) - special.gammaln(half) - 0.5 * np.log(np.pi * finite)
    student = log_norm - (half + 0.5) * np.log1p(z**2 / finite)
    normal = -0.5 * (z**2 + np.log(2 * np.pi))
    return np.where(np.asarray(freedom) > 1e8, normal, student)


def students(
    location: np.ndarray, scale: np.ndarray | float, freedom: np.ndarray | float
) -> np.ndarray:
    """Return components (T, 1, 4) of `Density.of_students`: one Student t for each sample."""
    columns = np.broadcast_arrays(1.0, location, scale, freedom)
    return np.stack(columns, axis=-1)[:, None, :]


def fit_student(errors: np.ndarray, spread: float) -> np.ndarray:
    """Return scale and degrees of freedom of the Student t distribution of a new error, (2,).

    They have the highest likelihood for independent errors (n,) with mean 0, with LEAST_FREEDOM to
    n - 1 degrees of freedom and a scale of at least LEAST_SCALE of the response's `spread`; the
    squared scale is multiplied by n / (n - 2), because it is itself an estimate.
    """
    n = len(errors)
    size = max(np.sqrt(np.mean(errors**2)), LEAST_SCALE * spread)
    z = np.abs(errors) / size
    bounds = [(-10.0, 3.0), tuple(np.log([LEAST_FREEDOM, max(LEAST_FREEDOM, n - 1.0)]))]

    def loss(x: np.ndarray) -> float:
        return n * x[0] - student_log_density(z / np.exp(x[0]), np.exp(x[1])).sum()

    best = scipy.optimize.minimize(loss, [0.0, sum(bounds[1]) / 2], bounds=bounds).x
    return np.array([size * np.exp(best[0]) * np.sqrt(n / max(1, n - 2)), np.exp(best[1])])


def guess(response: np.ndarray) -> np.ndarray:
    """Return the Student t distribution of a new response given others, (1, 1, 4): no features.

    It is that of normal responses with unknown mean and variance; see `Density.of_students`.  Equal
    responses have no scale: their size stands for it, or 1.
    """
    n, mean = len(response), response.mean()
    if np.ptp(response) == 0:
        return students(np.array([mean]), np.abs(mean) or 1.0, 1.0)
    spread = response.std(ddof=1) * np.sqrt(1 + 1 / n)
    return students(np.array([mean]), spread, n - 1.0)
