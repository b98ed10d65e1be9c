"""Measures of predictions (section "A Simulation Experiment", naive Bayes), and scores of methods.

Where nothing else is said, y (N,) is the response, and p the predictive probabilities: (N,) of
class 1 where there are two classes, or (N, K) of all classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy  # scipy.signal takes seconds to load: at its first use

from thesiskit.models.density import SCORED

LEAST = float(np.finfo(float).eps)  # of probabilities, as in scikit-learn's log_loss
NEWTON, SETTLED = 30, 1e-11  # most steps: without a best slope they go on; the last one's size
ROUNDING = 1e-13  # of a log likelihood, relative to 1 less it
MANY = 4096  # from so many terms on, probabilities are convolved by Fourier transforms
MOST_LINES = 12  # of scores on the terminal
COMMON = 0.8  # of the samples in one class: with more, another class is rare
BORDER = 0.01  # p-values below it speak against calibration
# factors of standard errors where test samples train models that predict other test samples: of
# error rates and recalibration; once more of losses and AUC, and once more in leave-one-out
WIDER, ONCE_MORE = 1.4, 1.15
SHRUNK, MOST_RATIO = 10, 9.0  # of variances of AUC: see `binormal`
AREAS = np.linspace(0, 1, 10_001)  # of AUC, each of which an interval contains or not
CAREFUL, SURE, WELL = "under-confident", "over-confident", "calibrated"


def error_rate(p: np.ndarray, y: np.ndarray) -> float:
    """Fraction misclassified: of two classes p is cut at 1/2, of more the most probable is said."""
    wrong = p.argmax(axis=1) != y if p.ndim > 1 else (p >= 0.5) != (y == 1)
    return float(np.mean(wrong))


def most_probable(p: np.ndarray) -> np.ndarray:
    """Return the class that probabilities (N, K) say; of two equal ones it is class 1."""
    return (p[:, 1] >= 0.5).astype(int) if p.shape[1] == 2 else p.argmax(axis=1)


def expected_error(p: np.ndarray) -> float:
    """The error rate that the predictions expect: of two classes, the mean of min(p, 1 - p)."""
    return float(np.mean(1 - p.max(axis=1) if p.ndim > 1 else np.minimum(p, 1 - p)))


def log_loss(p: np.ndarray, y: np.ndarray) -> float:
    """Average minus log probability of the actual class."""
    return float(np.mean(losses(p, y)))


def losses(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Minus log probability of the actual class, (N,).

    Probabilities are kept 2.2e-16 away from 0 and 1, as scikit-learn's log_loss does.
    """
    if p.ndim > 1:
        return -np.log(np.maximum(p[np.arange(len(y)), y], LEAST))
    p = np.clip(p, LEAST, 1 - LEAST)
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
        "log loss": log_loss(p, y),
        "squared error": squared_error(p, y),
    }


def categories(p: np.ndarray) -> np.ndarray:
    """First decimal of p (N,); 1.0 belongs to category 9."""
    return np.minimum((p * 10).astype(int), 9)


def calibration(p: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Samples, mean prediction and fraction of class 1 by category; NaN where there is no sample.

    p (N,) may also be the probability of anything else, and y (N,) whether it is so.  These are
    the two terms of eqn-cal, for ten intervals.
    """
    category = categories(p)
    samples = np.bincount(category, minlength=10)
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(
            {
                "category": np.arange(10),
                "samples": samples,
                "predicted": np.bincount(category, p, 10) / samples,
                "actual": np.bincount(category, y, 10) / samples,
            }
        )


def exact_band(p: np.ndarray, level: float) -> tuple[float, float]:
    """The central interval, of at least that probability, of the fraction of class 1.

    If each sample is class 1 with its own probability p, independently, their number has the
    Poisson-binomial distribution, which is computed exactly by convolution.
    """
    mass = _count_distribution(np.asarray(p, dtype=float))
    below = np.cumsum(mass)
    tail = (1 - level) / 2
    low = int(np.searchsorted(below, tail, side="right"))
    high = int(np.searchsorted(below, 1 - tail, side="left"))
    return low / len(p), min(high, len(p)) / len(p)


def _count_distribution(p: np.ndarray) -> np.ndarray:
    """Probabilities of 0..N ones, by convolving halves."""
    if len(p) < 2:
        return np.array([1 - p[0], p[0]]) if len(p) else np.ones(1)
    half = len(p) // 2
    first, second = _count_distribution(p[:half]), _count_distribution(p[half:])
    if half < MANY:
        return np.convolve(first, second)
    return np.maximum(0, scipy.signal.fftconvolve(first, second))  # to 1e-16, much quicker


def errors_p_value(risk: np.ndarray, errors: int) -> float:
    """Two-sided p-value of a number of errors, of samples that are wrong with probabilities (N,).

    If the predictions are calibrated and the samples independent, the number of errors has the
    Poisson-binomial distribution.  The smaller of the two tails counts twice.
    """
    mass = _count_distribution(np.asarray(risk, dtype=float))
    tails = mass[: errors + 1].sum(), mass[errors:].sum()
    return float(min(1.0, 2 * min(tails)))


def mcnemar(
    a: np.ndarray, b: np.ndarray, group: np.ndarray | None = None, wider: float = 1.0
) -> float:
    """McNemar's exact two-sided p-value: are the errors a (N,) as many as the errors b (N,)?

    Of groups (N,), numbers from 0, it is the exact test of signs: there are as many groups with
    more errors a as with more errors b, if each difference is as likely as its opposite.  Both
    numbers are divided by wider^2, of samples that are not independent.
    """
    less = a.astype(int) - b
    sums = less if group is None else np.bincount(group, less)
    fewer, more = np.sort([(sums > 0).sum(), (sums < 0).sum()]) / wider**2
    # P(at least `more` of fewer + more), which are also fractions
    return min(1.0, 2 * float(scipy.special.betainc(more, fewer + 1, 0.5))) if more else 1.0


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Wilson's interval of 95% of a fraction of n samples."""
    z = 1.96
    middle, half = rate + z**2 / (2 * n), z * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    ends = np.array([middle - half, middle + half]) / (1 + z**2 / n)
    low, high = np.clip(ends, 0, 1)
    return float(low), float(high)


def clopper_pearson(hits: np.ndarray, n: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Exact (Clopper-Pearson) intervals (2, ...) of fractions: hits of n independent samples."""
    tail = (1 - level) / 2
    low = scipy.special.betaincinv(np.where(hits > 0, hits, 1), n - hits + 1, tail)
    high = scipy.special.betaincinv(hits + 1, np.where(hits < n, n - hits, 1), 1 - tail)
    return np.array([np.where(hits > 0, low, 0), np.where(hits < n, high, 1)])


def newcombe(
    area: float, n_class: np.ndarray, n_rest: np.ndarray, wider: float = 1.0
) -> tuple[float, float]:
    """Return Newcombe's (2006, method 5) interval of 95% of an AUC.

    It contains each t with |t - area| <= 1.96 wider s(t), to 1e-4.  s(t) is the standard error of
    Hanley and McNeil (1982) of an AUC t of own (G,) samples of a class against others (G,), the
    mean over classes.  It needs no estimated error, which is 0 at an AUC of 0 or 1.
    """
    t = AREAS[:, None]
    curvature = ((n_class + n_rest) / 2 - 1) * ((1 - t) / (2 - t) + t / (1 + t))
    error = np.sqrt(t * (1 - t) / (n_class * n_rest) * (1 + curvature)).mean(axis=1)
    return _areas_near(area, wider * error)


def binormal(area: float, error: float, n_class: int, n_rest: int) -> tuple[float, float]:
    """Return an interval of 95% of an AUC of two classes with these numbers of samples.

    It contains each t with |t - area| <= 1.96 f s(t), to 1e-4.  s(t) is the exact standard error of
    an AUC t of normal scores with equal variances, in place of Hanley and McNeil's in Newcombe's
    method 5; f^2 is the ratio of DeLong's variance, whose root is `error`, to s(area)^2, drawn to 1
    as if SHRUNK more samples of the smaller class had it: for scores that are not normal.
    """
    t = AREAS
    plain = t * (1 - t)
    # P(both of two other samples are below one of the class) - t^2
    covariance = plain - 2 * scipy.special.owens_t(scipy.special.ndtri(t), 1 / np.sqrt(3))
    variance = (plain + (n_class + n_rest - 2) * covariance) / (n_class * n_rest)
    at_area, smaller, ratio = np.interp(area, t, variance), min(n_class, n_rest), 1.0
    if error > 0 and 0 < round(area, 9) < 1:  # not NaN, as of a class with one sample
        ratio = (smaller * min(error**2 / at_area, MOST_RATIO) + SHRUNK) / (smaller + SHRUNK)
    return _areas_near(area, np.sqrt(ratio * np.maximum(variance, 0)))


def _areas_near(area: float, error: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest of AREAS within 1.96 of its standard error of an AUC."""
    inside = AREAS[np.abs(AREAS - area) <= 1.96 * error]
    return float(inside.min(initial=area)), float(inside.max(initial=area))


def fraction(hit: np.ndarray, group: np.ndarray, wider: float = 1.0) -> tuple[float, float, float]:
    """Return the mean of hits (N,), from 0 to 1, and its interval of 95%, over groups (N,).

    It is Clopper and Pearson's of as many independent samples as have the variance that is seen
    between groups (Korn and Graubard 1998), but of no more than there are; without any hit, or
    any miss, a group is one sample.  Their number is divided by wider^2.
    """
    if not len(hit):
        return float("nan"), float("nan"), float("nan")
    rate, N, n_groups = float(hit.mean()), len(hit), len(np.unique(group))
    binomial = rate * (1 - rate) * N / max(1, N - 1)  # the variances of the sum, over N
    clustered = (np.bincount(group, hit - rate) ** 2).sum() / N * n_groups / max(1, n_groups - 1)
    n = N * min(1.0, binomial / clustered) if clustered > 0 else n_groups
    n /= wider**2
    low, high = clopper_pearson(np.array(rate * n), np.array(n))
    return rate, float(low), float(high)


def auc(
    p: np.ndarray, y: np.ndarray, unit: np.ndarray, group: np.ndarray | None = None
) -> tuple[float, float]:
    """AUC of probabilities (N, K), and its standard error.

    AUC is how often a sample of class 1 has a larger probability of it than another sample; ties
    count half.  Of more classes it is the mean over classes, each against all others together.  A
    sample unit (N,) that is predicted several times counts once.  The error is over samples, as
    that of a bootstrap, but needs no random numbers (DeLong et al. 1988), or over groups (N,) of
    samples, numbers from 0 (Obuchowski 1997).  NaN where one class is tested.
    """
    weight, present = 1 / times(unit), np.unique(y)
    if len(present) < 2:
        return float("nan"), float("nan")
    classes = present if p.shape[1] > 2 else [1]
    area, share = 0.0, np.zeros(len(y))  # what each prediction adds to the area of its side
    for g in classes:
        in_class = y == g
        for side, sign in ((in_class, 1), (~in_class, -1)):
            below = _below(sign * p[side, g], sign * p[~side, g], weight[~side])
            areas = below * weight[side] / weight[side].sum() / len(classes)
            share[side] += areas
        area += areas.sum()  # of either side
    _, first, sample = np.unique(unit, return_index=True, return_inverse=True)
    of_sample, place = np.bincount(sample, share), np.searchsorted(present, y[first])
    group = np.arange(len(first)) if group is None else group[first]
    samples, sums = np.zeros((2, group.max() + 1, len(present)))
    np.add.at(samples, (group, place), 1)
    means = np.bincount(place, of_sample) / samples.sum(axis=0)
    np.add.at(sums, (group, place), of_sample - means[place])
    # groups with both classes
    n_groups = np.full((len(present), len(present)), float(len(samples)))
    np.fill_diagonal(n_groups, (samples > 0).sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (sums.T @ sums * (n_groups / (n_groups - 1))).sum()
    return float(area), float(np.sqrt(np.maximum(0, variance)))


def _below(values: np.ndarray, references: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the share of the weight of others that is below each value; ties count half."""
    order = np.argsort(references)
    total = np.append(0, np.cumsum(weight[order]))
    sides = [np.searchsorted(references[order], values, side) for side in ("left", "right")]
    return (total[sides[0]] + total[sides[1]]) / 2 / total[-1]


def stability(selections: Sequence[np.ndarray], width: int) -> tuple[float, float, float]:
    """Return the stability of selected features, and its 95% interval.

    It is 1 where all selections are equal and 0 on average where they are at random (Nogueira,
    Sechidis and Brown 2018).

    selections : numbers of the selected features, of at least two training sets; width : of how
        many features.
    """
    M, sizes = len(selections), np.array([len(features) for features in selections])
    _, place, count = np.unique(np.concatenate(selections), return_inverse=True, return_counts=True)
    share, mean = count / M, sizes.mean() / width
    by_chance = mean * (1 - mean)
    if M < 2:
        return np.nan, np.nan, np.nan
    if by_chance == 0:  # all features, or none
        return 1.0, 1.0, 1.0
    value = 1 - (share * (1 - share)).sum() * M / (M - 1) / width / by_chance
    own = np.bincount(np.repeat(np.arange(M), sizes), share[place], M) / width
    more = value / 2 * (2 * mean * sizes / width - sizes / width - mean + 1)
    parts = (own - sizes / width * mean + more) / by_chance
    half = 1.96 * 2 / M * np.sqrt(((parts - parts.mean()) ** 2).sum())
    return float(value), float(value - half), float(min(1, value + half))


def times(unit: np.ndarray) -> np.ndarray:
    """Return how often the sample of each prediction is predicted, (N,)."""
    _, sample, times = np.unique(unit, return_inverse=True, return_counts=True)
    return times[sample]


def recalibrated(
    p: np.ndarray, y: np.ndarray, unit: np.ndarray, group: np.ndarray | None = None, first: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Slope b and intercepts a_1.. of recalibration, (K,), and their standard errors.

    log P(y = g) = a_g + b log p_g + a constant, with a_0 = 0, is the most likely such model of the
    classes: of two, the logistic regression of the response on the log odds of p.  A sample unit
    (N,) that is predicted several times counts once.  The errors are those of the information, or
    of groups (N,) of samples, numbers from 0, the robust ones (Liang and Zeger 1986).  NaN where
    there is no such model, because the log odds tell the samples of the classes apart without an
    error, or say the same of all.

    first : 1 for the intercepts alone, (K - 1,): the slope is 1.
    """
    K, weight, rows = p.shape[1], 1 / times(unit), np.arange(len(y))
    log = np.log(np.clip(p, LEAST, 1))
    x = np.zeros((*p.shape, K))  # of samples and classes, by coefficients
    x[:, :, 0] = log - log[:, :1]
    x[:, range(1, K), range(1, K)] = 1
    offset, x = first * x[:, :, 0], x[:, :, first:]

    def likelihood(at: np.ndarray) -> float:
        return weight @ scipy.special.log_softmax(offset + x @ at, axis=1)[rows, y]

    coefficients = np.zeros(K - first)
    for _ in range(NEWTON):
        q = scipy.special.softmax(offset + x @ coefficients, axis=1)
        off = x - np.einsum("ng,ngj->nj", q, x)[:, None]
        information = np.einsum("ng,ngj,ngl->jl", weight[:, None] * q, off, off, optimize=True)
        try:
            inverse = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            break
        gradient = weight[:, None] * off[rows, y]
        step = inverse @ gradient.sum(axis=0)
        settled = (np.abs(step) < SETTLED * (1 + np.abs(coefficients))).all()
        if settled and (np.diag(inverse) > 0).all():
            if group is not None:
                sums = np.stack([np.bincount(group, column) for column in gradient.T])
                n_groups = len(sums.T)
                inverse = inverse @ sums @ sums.T @ inverse * n_groups / max(1, n_groups - 1)
            return coefficients, np.sqrt(np.diag(inverse))
        best = likelihood(coefficients)
        while likelihood(coefficients + step) < best - ROUNDING * (1 - best):
            step /= 2
        coefficients += step
    return np.full(K - first, np.nan), np.full(K - first, np.nan)


def standard_error(values: np.ndarray, n: int | None = None) -> float:
    """Standard error of the mean of values, as of n independent ones; NaN of one value."""
    if len(values) < 2:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(len(values) if n is None else n))


def student(values: np.ndarray, error: float | None = None) -> tuple[float, float, float]:
    """The mean of values, and the ends of Student's interval of 95%, by its standard error."""
    mean, error = float(values.mean()), standard_error(values) if error is None else error
    half = error * scipy.special.stdtrit(max(1, len(values) - 1), 0.975)
    return mean, mean - half, mean + half


def paired_t(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p-value of the paired t test."""
    if np.allclose(a, b):
        return 1.0
    if len(a) < 2:
        return float("nan")
    with np.errstate(divide="ignore"):  # equal differences
        t = (a - b).mean() / standard_error(a - b)
    return 2 * float(scipy.special.stdtr(len(a) - 1, -abs(t)))


def confidence(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of the predicted class, and whether it is right, (N,) each."""
    return p.max(axis=1), (p.argmax(axis=1) == y).astype(np.int64)


def gammas(select: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return gamma of each selection, from the arrays of the stage `select`.

    Of binary features fractions "a/b" of its square are stored.  Of real ones it is the F statistic
    that bounds those of the features left out, as a correlation ratio; with two classes this is
    the absolute correlation.
    """
    if "gamma_squared" in select:
        return np.sqrt([float(Fraction(str(square))) for square in select["gamma_squared"]])
    counts = select["class_counts"]
    parameters = max(2, counts.shape[1])  # of a mean: a class each, or a line
    between = select["threshold"] * (parameters - 1)
    with np.errstate(invalid="ignore"):
        return np.sqrt(between / (between + counts.sum(axis=1) - parameters))


# ---- what methods predicted for test samples, and how good that is ----


@dataclass(frozen=True)
class Tested:
    """The test samples, in the order of the predictions.

    Attributes
    ----------
    response : (N,) codes of classes, or real responses.
    ids : (N,) what the samples are called.
    unit : (N,) the number of the sample: a sample that is tested twice has one number.
    division : for each column that tells how samples were divided, (N,) numbers from 1.
    classes : what the classes are called; none of real responses.
    base : (N, K) frequencies of the classes in the training samples; of real responses (N, 1, 4)
        the Student t distribution without features, as `density.guess` returns it.
    group : (N,) numbers of groups of samples that belong together, None where each is alone.
    """

    response: np.ndarray
    ids: np.ndarray
    unit: np.ndarray
    division: dict[str, np.ndarray]
    classes: list[str]
    base: np.ndarray
    group: np.ndarray | None = None

    @cached_property
    def repetition(self) -> np.ndarray:
        """How often a sample was tested before, (N,)."""
        return pd.Series(self.unit).groupby(self.unit).cumcount().to_numpy()

    def by_sample(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values (N,) for each distinct sample."""
        _, place, counts = np.unique(self.unit, return_inverse=True, return_counts=True)
        return np.bincount(place, values) / counts

    def independent(self, values: np.ndarray) -> np.ndarray:
        """Return what is independent, with the mean of values (N,): of each sample, or group.

        Of groups these are sums in units of the mean number of samples of a group.
        """
        mean = self.by_sample(values)
        return np.bincount(self.group_id, mean) * self.n_independent / len(mean)

    @cached_property
    def wider(self) -> float:
        """By what factor standard errors are larger than those of independent samples.

        It was measured on simulated tables of 16 to 60 samples, noise and signal, such that
        intervals of 95% cover the scores on new samples of the model that all samples train.
        Test samples train models that predict other test samples in folds, and where not all of
        several divisions have the same test samples.
        """
        if "fold" in self.division:
            leaves_one_out = len(np.unique(self.division["fold"])) == self.n_independent
            return WIDER * (ONCE_MORE if leaves_one_out else 1)
        return WIDER if np.ptp(times(self.unit)) else 1.0

    @property
    def wider_of_skew(self) -> float:
        """The same of losses and AUC, whose distributions are more skew than those of errors."""
        if self.wider == 1:
            return 1.0
        return self.wider * ONCE_MORE

    @cached_property
    def group_id(self) -> np.ndarray:
        """The number, from 0, of each distinct sample's group; of the sample, without groups."""
        group = self.unit if self.group is None else self.group
        first = np.unique(self.unit, return_index=True)[1]
        return np.unique(group[first], return_inverse=True)[1]

    @property
    def n_independent(self) -> int:
        """How many samples, or groups, there are that are independent."""
        return int(self.group_id.max()) + 1

    @property
    def unit_name(self) -> str:
        """What intervals are over."""
        return "samples" if self.group is None else "groups"

    @cached_property
    def prediction_group(self) -> np.ndarray | None:
        """The numbers of the groups of predictions, (N,); None where each sample is alone."""
        sample = np.unique(self.unit, return_inverse=True)[1]
        return self.group_id[sample] if self.n_independent < len(self.group_id) else None


class Losses:
    """The losses of a method on test samples, and which of its predictions are wrong.

    keys, name : what the method is, for the columns of tables, and in a few words.
    values : (N, .) what it predicted; columns : that by the names of tables, as far as it is known.
    loss : minus log probability, or density, of each response; log_loss : the mean.
    wrong, risk : (N,) whether a prediction is wrong, and the predicted probability of that.
    """

    measure = "log loss"
    printed = (("error", "error"), ("predicted", "expected"), ("log loss", "log_loss"))
    digits = ".3f"
    least_loss = 0.0

    def __init__(self, tested: Tested, name: str, keys: dict | None, *arrays: np.ndarray):
        self.tested, self.name, self.keys = tested, name, keys or {}
        self.values, self.loss, self.wrong, self.risk = arrays
        self.log_loss = float(self.loss.mean())

    def interval_of(self, values: np.ndarray) -> tuple[float, float, float]:
        """Return the mean of values (N,), such as losses, and the ends of its 95% interval.

        The interval is normal, over distinct samples or groups.
        """
        mean, half = float(values.mean()), 1.96 * self.error_of(values)
        return mean, mean - half, mean + half

    def error_of(self, values: np.ndarray) -> float:
        """Return the standard error of the mean of values (N,), over distinct samples or groups."""
        return self.tested.wider_of_skew * standard_error(self.tested.independent(values))

    @cached_property
    def log_loss_interval(self) -> tuple[float, float]:
        """The interval of 95% of log loss."""
        _, low, high = self.interval_of(self.loss)
        return max(self.least_loss, low), high

    def less(self, other: Losses) -> tuple[float, float]:
        """Return the difference of log loss from another method, and its standard error."""
        excess = self.loss - other.loss
        return float(self.tested.independent(excess).mean()), self.error_of(excess)

    @cached_property
    def p_value(self) -> float:
        """The p-value of as many errors as were made, if the predictions are calibrated.

        If samples are tested several times, it is twice the median of the p-values of the
        repetitions, which holds however they depend on each other.
        """
        repetition = self.tested.repetition
        parts = [repetition == r for r in range(repetition.max() + 1)]
        p_values = [errors_p_value(self.risk[part], int(self.wrong[part].sum())) for part in parts]
        return p_values[0] if len(p_values) == 1 else min(1.0, 2 * float(np.median(p_values)))

    @property
    def verdict(self) -> str:
        """Whether the predictions are well calibrated."""
        if self.p_value >= BORDER:
            return WELL
        return SURE if self.wrong.sum() > self.risk.sum() else CAREFUL


class Score(Losses):
    """What a method predicted of classes, and how good that is.

    probability : (N, K).
    predicted : (N,) the class that is predicted.
    error, expected : observed and predicted error rate.
    """

    def __init__(self, tested: Tested, name: str, p: np.ndarray, keys: dict | None = None):
        self.probability, self.predicted = p, most_probable(p)
        wrong, risk = self.predicted != tested.response, 1 - p.max(axis=1)
        super().__init__(tested, name, keys, p, losses(p, tested.response), wrong, risk)
        self.error, self.expected = float(wrong.mean()), float(risk.mean())
        self.columns = dict(zip((f"probability: {of}" for of in tested.classes), p.T, strict=True))

    @cached_property
    def error_interval(self) -> tuple[float, float]:
        """Wilson's interval of 95% of the error rate, over distinct samples, or groups.

        Where folds share training samples, it is that of fewer independent samples, whose standard
        error is `Tested.wider` times as large.
        """
        return wilson(self.error, self.tested.n_independent / self.tested.wider**2)

    @cached_property
    def auc_interval(self) -> tuple[float, float, float]:
        """Return AUC, and the ends of its interval of 95%.

        It is that of `binormal` for two classes.  For more, and of groups, it is DeLong's on the
        scale of log odds, and at 0 and 1 Newcombe's.  Where folds share training samples, it is
        Newcombe's of the log odds less those of the class frequencies in the training samples: a
        fold that tests more samples of a class trains on fewer of them, which lowers AUC, on noise
        to 0 in leave-one-out.
        """
        tested = self.tested
        groups = tested.prediction_group
        area, error = auc(self.probability, tested.response, tested.unit, groups)
        middle = round(area, 9)  # 0 and 1 are off by rounding
        if tested.wider > 1:
            log_odds = scipy.special.logit(np.clip(self.probability, 1e-300, 1 - LEAST))
            log_odds -= scipy.special.logit(tested.base)
            middle, _ = auc(log_odds, tested.response, tested.unit, groups)
        elif groups is None and self.probability.shape[1] == 2 and area == area:
            n = np.bincount(tested.by_sample(tested.response).astype(int), minlength=2)
            area = min(area, 1.0)
            return area, *binormal(area, error, int(n[1]), int(n[0]))
        elif 0 < middle < 1:
            half = 1.96 * error / (area * (1 - area))
            low, high = scipy.special.expit(scipy.special.logit(area) + half * np.array([-1, 1]))
            return area, float(low), float(high)
        if np.isnan(area):
            return area, area, area
        y = tested.by_sample(tested.response)
        classes = np.unique(y)
        n_class = np.array([len(np.unique(tested.group_id[y == g])) for g in classes])
        n_rest = np.array([len(np.unique(tested.group_id[y != g])) for g in classes])
        low, high = newcombe(middle, n_class, n_rest, tested.wider_of_skew)
        return area, min(area, low), max(area, high)

    @cached_property
    def recalibration(self) -> np.ndarray:
        """Slope and intercepts of `recalibrated`, with the ends of intervals of 95%, (K, 3)."""
        tested = self.tested
        groups = tested.prediction_group
        estimate, error = recalibrated(self.probability, tested.response, tested.unit, groups)
        half = 1.96 * tested.wider * error
        return np.stack([estimate, estimate - half, estimate + half], axis=1)

    @cached_property
    def confusion(self) -> np.ndarray:
        """The confusion matrix: true class by row, predicted class by column, (K, K)."""
        K = self.probability.shape[1]
        return np.bincount(K * self.tested.response + self.predicted, minlength=K * K).reshape(K, K)

    def right_of(self, g: int) -> tuple[float, float, float]:
        """The fraction of the samples of a class that are predicted to be it, and its interval."""
        in_class = self.tested.by_sample(self.tested.response) == g
        right, wider = self.tested.by_sample(~self.wrong), self.tested.wider
        return fraction(right[in_class], self.tested.group_id[in_class], wider)

    @cached_property
    def wrong_samples(self) -> np.ndarray:
        """Whether the mean of the predictions of a sample is wrong, for each distinct sample."""
        mean = np.column_stack([self.tested.by_sample(p) for p in self.probability.T])
        return most_probable(mean) != self.tested.by_sample(self.tested.response)


class RealScore(Losses):
    """What a method predicted of real responses, and how good that is, in their units.

    values : (N, S), the columns named as in `density.SCORED`; NaN where results lack some.
    prediction, residual : (N,) the predictive mean, or median where there is no mean, and the
        response less the prediction.
    wrong : whether a response is outside its predictive interval of 90%.
    error, sd : root mean squared errors of the method, and of the means of training responses.
    r2, expected : the share of the squared error of these means that the method explains, and
        that it predicts to explain.
    """

    measure = "negative log density"
    printed = (("RMSE", "error"), ("R2", "r2"), ("negative log density", "log_loss"))
    digits = ".3g"
    least_loss = float("-inf")

    def __init__(self, tested: Tested, name: str, values: np.ndarray, keys: dict | None = None):
        y, of = tested.response, dict(zip(SCORED, values.T, strict=True))
        self.low, self.high, self.pit, self.crps = of["low"], of["high"], of["pit"], of["crps"]
        outside = (y < self.low) | (y > self.high), np.full(len(y), 0.1)
        super().__init__(tested, name, keys, values, -of["log_density"], *outside)
        columns = {"mean": of["mean"], "median": of["median"], "5%": self.low, "95%": self.high}
        self.columns = {name: x for name, x in columns.items() if not np.isnan(x).all()}
        self.prediction = np.where(np.isnan(of["mean"]), of["median"], of["mean"])
        self.residual, away = y - self.prediction, (y - tested.base[:, 0, 1]) ** 2
        square, variance = self.residual**2, float(away.mean())
        mean, *ends = self.interval_of(square)
        self.error, self.sd = float(np.sqrt(mean)), float(np.sqrt(variance))
        self.error_interval = tuple(np.sqrt(np.maximum(0, ends)).tolist())
        self.r2, self.expected = 1 - mean / variance, 1 - float(np.mean(of["sd"] ** 2)) / variance
        _, *ends = self.interval_of((square - (1 - self.r2) * away) / variance)
        self.r2_interval = self.r2 - ends[1], min(1.0, self.r2 - ends[0])

    def coverage(self, level: float) -> dict[str, float]:
        """Return how many responses are inside the central predictive intervals of a level.

        The share has an interval of 95%, over samples or groups, and the exact band in which the
        share is with a probability of 95% if predictions are calibrated.
        """
        inside = np.abs(self.pit - 0.5) <= level / 2
        of_samples = self.tested.by_sample(inside)
        _, low, high = fraction(of_samples, self.tested.group_id, self.tested.wider)
        band = exact_band(np.full(len(of_samples), level), 0.95)
        row = {"level": level, "inside": float(inside.mean()), "95% interval: low": low}
        return row | {"95% interval: high": high, "band low": band[0], "band high": band[1]}


AnyScore = Any  # Score, or RealScore where responses are real


def headline(scores: Sequence[Losses], *first: Losses) -> list[str]:
    """Return lines with the scores of methods; of many methods, those with the lowest log loss.

    first : what comes before the methods.
    """
    scores = [score for score in scores if not np.isnan(score.log_loss)]  # some predict nothing
    best = sorted(scores, key=lambda score: score.log_loss)[:MOST_LINES]
    more = (
        [f"(the best {len(best)} of {len(scores)} by log loss)"] if len(best) < len(scores) else []
    )
    best = [*first, *(score for score in scores if score in best)]
    printed = best[0].printed if best else ()
    rows = [(s.name, *(format(getattr(s, x), s.digits) for _, x in printed)) for s in best]
    return aligned(["", *(name for name, _ in printed)], rows) + more


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for the terminal; the first column is of words."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (header, *rows)
    ]
