"""Measures of probabilistic predictions (section "A Simulation Experiment", naive Bayes).

Where nothing else is said, y (N,) is the response, and p the predictive probabilities: (N,) of
class 1 where there are two classes, or (N, K) of all classes.
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pandas as pd
import scipy  # scipy.stats takes seconds: it is loaded at its first use

MANY = 4096  # from so many terms on, probabilities are convolved by Fourier transforms


def error_rate(p: np.ndarray, y: np.ndarray) -> float:
    """Fraction misclassified: of two classes p is cut at 1/2, of more the most probable is said."""
    if p.ndim > 1:
        return class_error(p, y)
    return float(np.mean((p >= 0.5) != (y == 1)))


def expected_error(p: np.ndarray) -> float:
    """The error rate that the predictions promise: of two classes, the mean of min(p, 1 - p)."""
    if p.ndim > 1:
        return float(np.mean(1 - p.max(axis=1)))
    return float(np.mean(np.minimum(p, 1 - p)))


def amlp(p: np.ndarray, y: np.ndarray) -> float:
    """Average minus log probability of the actual class."""
    return float(np.mean(log_losses(p, y) if p.ndim > 1 else losses(p, y)))


def losses(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Minus log probability of the actual class, (N,), of p (N,).

    Probabilities are kept 2.2e-16 away from 0 and 1, as scikit-learn's log_loss does.
    """
    p = np.clip(p, np.finfo(float).eps, 1 - np.finfo(float).eps)
    return -np.log(np.where(y == 1, p, 1 - p))


def squared_error(p: np.ndarray, y: np.ndarray) -> float:
    """Average squared difference between response and p; of K classes, half of the sum over them.

    Of two classes the two are the same.
    """
    if p.ndim > 1:
        actual = np.arange(p.shape[1]) == y[:, None]
        return float(np.mean(((p - actual) ** 2).sum(axis=1)) / 2)
    return float(np.mean((y - p) ** 2))


def scores(p: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return all four measures by name."""
    return {
        "error": error_rate(p, y),
        "expected error": expected_error(p),
        "AMLP": amlp(p, y),
        "squared error": squared_error(p, y),
    }


def categories(p: np.ndarray) -> np.ndarray:
    """First decimal of p (N,); 1.0 belongs to category 9."""
    return np.minimum((p * 10).astype(int), 9)


def calibration(p: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Cases, mean prediction and fraction of class 1 by category; NaN where there is no case.

    p (N,) may also be the probability of anything else, and y (N,) whether it came true.  These are
    the two terms of eqn-cal, for ten intervals.
    """
    category = categories(p)
    cases = np.bincount(category, minlength=10)
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(
            {
                "category": np.arange(10),
                "cases": cases,
                "predicted": np.bincount(category, p, 10) / cases,
                "actual": np.bincount(category, y, 10) / cases,
            }
        )


def exact_band(p: np.ndarray, level: float) -> tuple[float, float]:
    """The central interval, of at least that probability, of the fraction of class 1.

    If each case is class 1 with its own probability p, independently, their number has the
    Poisson-binomial distribution, which is computed exactly by convolution.
    """
    mass = _number_of_ones(np.asarray(p, dtype=float))
    below = np.cumsum(mass)
    tail = (1 - level) / 2
    low = int(np.searchsorted(below, tail, side="right"))
    high = int(np.searchsorted(below, 1 - tail, side="left"))
    return low / len(p), min(high, len(p)) / len(p)


def _number_of_ones(p: np.ndarray) -> np.ndarray:
    """Probabilities of 0..N ones, by convolving halves."""
    if len(p) < 2:
        return np.array([1 - p[0], p[0]]) if len(p) else np.ones(1)
    half = len(p) // 2
    left, right = _number_of_ones(p[:half]), _number_of_ones(p[half:])
    if half < MANY:
        return np.convolve(left, right)
    return np.maximum(0, scipy.signal.fftconvolve(left, right))  # to 1e-16, much quicker


def errors_p_value(risk: np.ndarray, errors: int) -> float:
    """Two-sided p-value of a number of errors, of cases that are wrong with probabilities (N,).

    If the predictions are calibrated and the cases independent, the number of errors has the
    Poisson-binomial distribution.  The smaller of the two tails counts twice.
    """
    mass = _number_of_ones(np.asarray(risk, dtype=float))
    tails = mass[: errors + 1].sum(), mass[errors:].sum()
    return float(min(1.0, 2 * min(tails)))


def mcnemar(a: np.ndarray, b: np.ndarray) -> float:
    """McNemar's exact two-sided p-value: are the errors a (N,) as many as the errors b (N,)?"""
    only = int((a & ~b).sum()), int((b & ~a).sum())
    return errors_p_value(np.full(sum(only), 0.5), only[0])


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Wilson's interval of 95 % of a fraction of n cases."""
    z = 1.96
    middle, half = rate + z**2 / (2 * n), z * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    ends = np.array([middle - half, middle + half]) / (1 + z**2 / n)
    low, high = np.clip(ends, 0, 1)
    return float(low), float(high)


def standard_error(values: np.ndarray, n: int | None = None) -> float:
    """Standard error of the mean of values, as of n independent ones; NaN of one value."""
    if len(values) < 2:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(len(values) if n is None else n))


def root_mean_square(predicted: np.ndarray, y: np.ndarray) -> float:
    """Root mean squared error of predictions (N,) of real responses (N,)."""
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def paired_t(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p-value of the paired t test."""
    if np.allclose(a, b):
        return 1.0
    if len(a) < 2:
        return float("nan")
    return float(scipy.stats.ttest_rel(a, b).pvalue)


def class_error(p: np.ndarray, y: np.ndarray) -> float:
    """Fraction of cases whose most probable class, of p (N, K), is not y (N,)."""
    return float(np.mean(p.argmax(axis=1) != y))


def log_losses(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Minus log probability of the actual class, (N,), of p (N, K) kept 2.2e-16 from 0."""
    return -np.log(np.maximum(p[np.arange(len(y)), y], np.finfo(float).eps))


def confidence(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of the predicted class, and whether it is right, (N,) each."""
    return p.max(axis=1), (p.argmax(axis=1) == y).astype(np.int64)


def class_amlp(p: np.ndarray, y: np.ndarray) -> float:
    """Average minus log probability of the actual class, of p (N, K)."""
    return float(np.mean(log_losses(p, y)))


def gammas(select: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return gamma of each selection, from the arrays of the stage `select`.

    Of binary features fractions "a/b" of its square are stored.  Of real ones it is the F statistic
    that bounds those of the features left out, as a correlation ratio; with two classes this is
    the absolute correlation.
    """
    if "gamma_squared" in select:
        return np.sqrt([float(Fraction(str(square))) for square in select["gamma_squared"]])
    counts = select["class_counts"]
    between = select["threshold"] * (counts.shape[1] - 1)
    with np.errstate(invalid="ignore"):
        return np.sqrt(between / (between + counts.sum(axis=1) - counts.shape[1]))
