"""A pool of linear methods, for real features that go together: ridge, lasso and discriminants.

| symbol | name | shape |
|---|---|---|
| z_ij | standardised features, 0 where a value is missing | (n, p) |
| K | inner products of samples, features weighted: `Span` | (n, n) |
| beta_s, settings of a family | `coefficient`, `intercept` | (S, G, p), (S, G) |
| weights of settings within a family | `weight` | (S,) |
| u_m of the families | `power` | (3,) |
| d_s, see below | `damping` | (S,) |
| h, weight of the class shares | `shrinkage` | () |

No model of how features depend on each other is made: three families of linear classifiers of all
features are fitted with many penalties, and averaged by how well they predict samples that were
left out.

- *Ridge*: softmax regression with the prior beta ~ N(0, v I), v in VARIANCES, on the 10 or 100
  features with the largest F, on all, and on all weighted by min(F / median F, MOST_WEIGHT).
  Weights have the mean 1.
- *Lasso*: the path of models/lasso.
- *Discriminants*: linear, with the covariance (S + g tr(S) / n I) / (n - G) in the space of the
  training samples, S being the scatter within classes, g in RIDGES; on 100, 1,000 and all features.
  Each has a temperature, and is mixed with the shares of the classes.

All is done again in FOLDS stratified folds, which choose the features, too.  With p the left-out
probabilities of a setting, raised to (n p + 1/G) / (n + 1), a family is the mean of its settings
with weights proportional to prod_i p_i(y_i) (pseudo Bayesian model averaging).  The families are
pooled logarithmically:

    P(class) ~ prod_m p_m(class)^u_m,  0 <= u_m <= 3,
    u minimises  - sum_i log P(y_i) + M sum_m (u_m - 1/M)^2.

Perhaps no feature is of use.  The prediction is (1 - h) P + h share, where the shrinkage h is the
pseudo posterior probability of the class shares,

    h / (1 - h)  =  PRIOR_ODDS (G - 1)^2 prod_i share(y_i) / P(y_i),  P of samples left out.

These prior odds are large because weights, temperatures and powers are fitted to the same left-out
probabilities, which lowers the log loss of noise, too, by more with more classes.

A missing value is the mean of its feature in the training samples of each fold.

What a feature does (`effects`) is told by a linear function that is near the log odds,

    log P(class) - mean over classes  ~  z' sum_s u_m(s) w_s d_s beta_s + constant,

with d_s the slope of the regression of the log odds of p on those of the setting before its
temperature, its mixing and what is added, times that of the shrunken log odds on those of P, over
the samples that were left out.

A real response is predicted by a weighted mean of linear predictions, which is linear, too.

- *Ridge*: penalties n g of the sum of squares, g in REAL_RIDGES, on the 10 or 100 features with the
  largest F, on all, and on all weighted as above.
- *Lasso*: the path of models/lasso.
- *Partial least squares* with 1 to PARTS components, on 100, all and the weighted features.

Settings of a method on the same features are averaged with weights proportional to m_s^(-n/2), m_s
being the mean square of the left-out errors.  The M averages have weights w >= 0 with the sum 1,

    w minimises  n / 2 log mean_i e_i^2 + PULL M sum_m (w_m - 1/M)^2,

e being the left-out errors of the pool.  As above it is shrunken to the mean response, by odds of
PRIOR_ODDS times the ratio of (mean_i e_i^2)^(-n/2) of the two.  The predictive density is a Student
t, whose scale and degrees of freedom fit e; a scale that grows with the distance to the training
samples predicts worse, and its intervals are too short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import ClassVar

import numpy as np
import scipy  # scipy.optimize takes half a second to load: at its first use
from scipy import special

from thesiskit.models import lasso
from thesiskit.models.base import (
    CLASSES,
    GAUSSIAN,
    LARGEST,
    Arrays,
    SelectingModel,
    Training,
    check,
    shaped,
)
from thesiskit.models.chains import marked
from thesiskit.models.density import Density, fit_student, guess, students
from thesiskit.models.folds import stratified
from thesiskit.models.lasso import PENALTIES, f_statistics, one_against_others, quietly
from thesiskit.models.selection import RELATIVE, ROUNDING, moments_of
from thesiskit.models.temperature import Temperature, log_sum

VARIANCES = np.array([0.1, 0.5, 2, 8, 30, 120, 600, 3000])  # of coefficients of ridges
RIDGES = (0.03, 0.3, 3.0)  # of discriminants
MOST_WEIGHT = 1000.0  # of a feature, relative to that with the median F
MOST_NEWTON = 48  # coefficients, above which steps of Newton's method are by conjugate gradients
MOST_PRODUCTS = 1_000_000  # of two columns, of all samples, in memory
STEP = 0.1  # relative error of these
TINY = np.finfo(float).tiny
INTERCEPT = 1e6  # the prior variance of intercepts
FOLDS = 5
MOST_POWER = 3.0
PRIOR_ODDS = 200.0  # that no feature is of use, if there are two classes
NO_WEIGHT = 1e-4  # settings of less weight are left out
LEAST_ERROR = 1e-12  # mean square of errors, in variances of the response
FEWEST = 4  # samples with a real response, of which errors have a distribution
SAMPLES = 4096  # that are predicted at once
RIDGE, LASSO, DISCRIMINANTS = range(3)  # families
OF_LASSO = 1  # the number of the lasso among the methods for a real response
REAL_RIDGES = np.logspace(-7, 1.5, 18)  # of a real response, with features as of KERNELS
PARTS = 15  # of partial least squares
PULL = 10.0  # of weights of methods to equal ones
FAMILIES = ("ridge", "lasso", "discriminants")
OF_FEATURES = ("effect", "deviation", "lasso_share")  # in result files
KERNELS = ("10", "100", "1000", "all", "weighted")  # features that a kernel is of
OF_RIDGE, OF_DISCRIMINANTS = ("10", "100", "all", "weighted"), ("100", "1000", "all")
OF_PARTS = ("100", "all", "weighted")


@dataclass(frozen=True)
class Pool(SelectingModel):
    """Ridge, lasso and regularised linear discriminants of all features, averaged."""

    kind, takes, responses = "pool", "reals", (CLASSES, GAUSSIAN)
    words = "a pool of ridge, lasso and discriminants"
    rivals = ("gaussian-nb", "l2-logistic", "lasso", "random-forest")
    selects = False
    chains = 1  # one generator, which divides the samples
    stored = dict.fromkeys(("mean", "scale"), (float, "k"))
    stored |= {"share": (float, "G"), "cases": (int, "")}
    stored |= {"coefficient": (float, "S G k"), "intercept": (float, "S G"), "family": (int, "S")}
    stored |= dict.fromkeys(("weight", "sharpness", "mixing"), (float, "S"))
    stored |= {"power": (float, "M"), "damping": (float, "S"), "shrinkage": (float, "")}
    stored_reals: ClassVar[dict[str, tuple[type, str]]] = dict.fromkeys(
        ("mean", "scale", "coefficient", "lasso_share"), (float, "k")
    )
    stored_reals |= {"intercept": (float, ""), "cases": (int, ""), "errors": (float, "E")}
    stored_reals |= {"shrinkage": (float, "")}
    about_methods = (
        "`corrected` and `uncorrected` are the same here, one method; third-party methods: "
        "`gaussian-nb`, `l2-logistic`, `lasso` and `random-forest`."
    )
    about_kind = (
        "`pool`: an average of regressions and discriminants on all features, weighted by their "
        "predictions of held-out samples; for correlated features."
    )

    def fit(self, training: Training) -> Arrays:
        """Return what was learnt, as `stored` has it."""
        return fit(training.table(), training.response, training.rngs[0], training.groups)

    def log_probability(self, posterior: Arrays, table: np.ndarray) -> np.ndarray:
        """Return log P(class), (T, G), for new samples, (T, k)."""
        return log_probability(posterior, table)

    def density(
        self, posterior: Arrays, table: np.ndarray, softened: Temperature | None = None
    ) -> Density:
        """Return predictive distributions of a real response for new samples, (T, k)."""
        return Density.of_students(components(posterior, table))

    def pack(self, fitted: list[Arrays]) -> Arrays:
        """Return the arrays of result files, with OF_FEATURES of all splits end to end."""
        summaries = [(effects(fit).T, deviations(fit), lasso_share(fit)) for fit in fitted]
        of_features = map(np.concatenate, zip(*summaries, strict=True))
        arrays = {f"{s}/{name}": fit[name] for s, fit in enumerate(fitted) for name in fit}
        return arrays | dict(zip(OF_FEATURES, of_features, strict=True))

    def unpack(self, arrays: Arrays, s: int, training: Training) -> Arrays:
        """Return what was learnt of split s."""
        return marked(arrays, f"{s}/")

    @classmethod
    def join(cls, posteriors: list[Arrays]) -> Arrays:
        """Return the arrays of the fit stage; a temperature changes nothing of the features."""
        return super().join(posteriors) | {name: posteriors[0][name] for name in OF_FEATURES}

    @classmethod
    def restored(cls, about, arrays, selected, classes) -> tuple[SelectingModel, Arrays]:
        """Return the model and what it had learnt; ValueError if damaged."""
        if classes == 0:
            posterior = shaped(arrays, cls.stored_reals, k=len(selected), E=2)
            check(all(np.isfinite(values).all() for values in posterior.values()))
            check((posterior["scale"] >= 0).all() and (posterior["errors"] > 0).all())
            return cls.made(about["settings"]), posterior
        arrays = {"shrinkage": np.array(0.0)} | arrays  # older files have none
        model, posterior = super().restored(about, arrays, selected, classes)
        check_fit(posterior)
        return model, posterior


def check_fit(posterior: Arrays) -> None:
    """Raise ValueError for arrays, shaped as `Pool.stored` says, that no fit has."""
    of_values = ("mean", "scale")  # of any size
    for name, values in posterior.items():
        check((np.abs(values) < (np.inf if name in of_values else LARGEST)).all())
    check(posterior["cases"] > 0 and posterior["power"].shape == (len(FAMILIES),))
    check(set(posterior["family"].tolist()) == set(range(len(FAMILIES))))
    for name in ("scale", "share", "weight", "sharpness", "mixing", "power", "shrinkage"):
        check((posterior[name] >= 0).all())
    check(posterior["shrinkage"] <= 1 and (posterior["mixing"] <= 1).all())
    check(abs(posterior["share"].sum() - 1) < 1e-6)
    check(np.allclose(np.bincount(posterior["family"], posterior["weight"]), 1, atol=1e-6))


def fit(
    table: np.ndarray, y: np.ndarray, rng: np.random.Generator, groups: np.ndarray | None = None
) -> Arrays:
    """Return the pool of training samples, named arrays with the shapes that `Pool` has.

    table : (n, p) real features, NaN where a value is missing.
    y : (n,) classes 0 to G - 1, each with a sample; or as floats a real response.
    rng : divides the samples into folds; groups (n,), numbers from 0, stay together.
    """
    if y.dtype.kind == "f":
        return _fit_reals(table, y, rng, groups)
    n, G = len(y), int(y.max()) + 1
    share = np.bincount(y) / n
    with quietly():
        mean, scale, lines = _learn(table, y)
        left_out = _left_out(table, y, stratified(y, rng, FOLDS, groups), len(lines))
    family = np.array([line.family for line in lines])
    sharpness, mixing = np.ones(len(family)), np.zeros(len(family))
    scores = _log_odds(left_out)
    scores -= scores.mean(axis=1, keepdims=True)
    for s in np.flatnonzero(family == DISCRIMINANTS).tolist():
        sharpness[s], mixing[s] = _softened(left_out[s], y, share)
        left_out[s] = _mixed(left_out[s], sharpness[s], mixing[s], share)
    left_out = _raised(left_out, n)
    moved, size = (scores * _log_odds(left_out)).sum(axis=(1, 2)), (scores**2).sum(axis=(1, 2))
    damping = moved / np.maximum(size, TINY)
    losses = -np.log(left_out[:, np.arange(n), y]).sum(axis=1)
    within = _weights_within(losses, family)
    weight, pooled = within.sum(axis=0), np.tensordot(within, left_out, 1)
    power = _powers(np.log(pooled), y)
    shrinkage, slope = _shrunken(np.tensordot(power, np.log(pooled), 1), y, share)
    weighted = np.flatnonzero(weight)
    lines = [lines[s] for s in weighted]
    return {
        "mean": mean,
        "scale": scale,
        "share": share,
        "cases": np.array(n),
        "coefficient": np.array([line.coefficient(table.shape[1]) for line in lines]),
        "intercept": np.array([line.intercept for line in lines]).reshape(-1, G),
        "family": family[weighted],
        "weight": weight[weighted],
        "sharpness": sharpness[weighted],
        "mixing": mixing[weighted],
        "power": power,
        "damping": damping[weighted] * slope,
        "shrinkage": np.array(shrinkage),
    }


def _fit_reals(
    table: np.ndarray, y: np.ndarray, rng: np.random.Generator, groups: np.ndarray | None
) -> Arrays:
    """Return the pool of training samples with a real response."""
    n, p = table.shape
    _, location, spread, freedom = guess(y)[0, 0]
    target = (y - location) / spread
    fold = stratified(np.zeros(n, dtype=int), rng, FOLDS, groups)
    coefficient, use, shrinkage = np.zeros(p), np.zeros(p), 1.0
    errors = np.array([1.0, freedom])
    with quietly():
        mean, scale, lines = _learn(table, target)
        if fold.max() > 0 and n >= FEWEST and scale.any() and np.ptp(y) > 0:
            family = np.array([line.family for line in lines])
            left_out = _left_out(table, target, fold, len(lines))[..., 0]
            weight, shrinkage = _weights(left_out - target, family)
            errors = fit_student(target - weight @ left_out, 1.0)
            used = np.flatnonzero(weight)
            slopes = np.array([lines[s].coefficient(p)[0] for s in used])
            of_lasso = weight[used] * (family[used] == OF_LASSO)
            coefficient = weight[used] @ slopes
            use = of_lasso / max(of_lasso.sum(), TINY) @ (slopes != 0)
    return {
        "mean": mean,
        "scale": scale,
        "coefficient": coefficient * spread,
        "lasso_share": use,
        "intercept": np.array(location),
        "cases": np.array(n),
        "errors": errors * [spread, 1],
        "shrinkage": np.array(shrinkage),
    }


def components(posterior: Arrays, table: np.ndarray) -> np.ndarray:
    """Return the predictive distribution of the real response of new samples, (T, 1, 4)."""
    z = standardise(table, posterior["mean"], posterior["scale"])
    return students(z @ posterior["coefficient"] + posterior["intercept"], *posterior["errors"])


def log_probability(posterior: Arrays, table: np.ndarray) -> np.ndarray:
    """Return log P(class), (T, G), for the features of new samples, (T, p)."""
    n, (S, G, p) = int(posterior["cases"]), posterior["coefficient"].shape
    flat, family = posterior["coefficient"].reshape(S * G, p), posterior["family"]
    shrinkage = float(posterior.get("shrinkage", 0.0))  # older files have none
    result = np.empty((len(table), G))
    for start in range(0, len(table), SAMPLES):
        z = standardise(table[start : start + SAMPLES], posterior["mean"], posterior["scale"])
        scores = (z @ flat.T).reshape(-1, S, G) + posterior["intercept"]
        pooled = np.zeros((len(FAMILIES), len(z), G))
        for s, m in enumerate(family.tolist()):
            p_s = _probability(m, scores[:, s])
            if m == DISCRIMINANTS:
                sharpness, mixing = posterior["sharpness"][s], posterior["mixing"][s]
                p_s = _mixed(p_s, sharpness, mixing, posterior["share"])
            pooled[m] += posterior["weight"][s] * _raised(p_s, n)
        log = np.tensordot(posterior["power"], np.log(pooled), 1)
        p_all = special.softmax(log, axis=1)
        result[start : start + SAMPLES] = np.log(_mixed(p_all, 1.0, shrinkage, posterior["share"]))
    return result


def effects(posterior: Arrays) -> np.ndarray:
    """Return by how much each feature moves the log probability of each class, about, (G, p).

    It is for one standard deviation of the feature, the others being as they are; the sum over
    classes is 0.  Of a real response it is by how much each moves the prediction, (1, p).
    """
    if "errors" in posterior:
        return posterior["coefficient"][None]
    by = posterior["weight"] * posterior["power"][posterior["family"]] * posterior["damping"]
    linear = np.tensordot(by, posterior["coefficient"], 1)
    return linear - linear.mean(axis=0)


def deviations(posterior: Arrays) -> np.ndarray:
    """Return the standard deviations of the features in the training samples, (p,)."""
    scale = posterior["scale"]
    return np.divide(1, scale, out=np.zeros(len(scale)), where=scale > 0)


def lasso_share(posterior: Arrays) -> np.ndarray:
    """Return for each feature the weight of those settings of the lasso that use it, (p,)."""
    if "errors" in posterior:
        return posterior["lasso_share"]
    is_lasso = posterior["family"] == LASSO
    return posterior["weight"][is_lasso] @ (posterior["coefficient"][is_lasso] != 0).any(axis=1)


# ---- probabilities ----


def _probability(family: int, scores: np.ndarray) -> np.ndarray:
    """Return P(class), (T, G), from linear scores; the lasso has each class against the others."""
    return one_against_others(scores) if family == LASSO else special.softmax(scores, axis=1)


def _log_odds(p: np.ndarray) -> np.ndarray:
    """Return logs of probabilities (..., G), less their mean over classes."""
    log = np.log(np.maximum(p, TINY))
    return log - log.mean(axis=-1, keepdims=True)


def _raised(p: np.ndarray, n: int) -> np.ndarray:
    """Return probabilities (..., G) as if one of n + 1 samples were shared by the classes."""
    return (n * p + 1 / p.shape[-1]) / (n + 1)


def _mixed(p: np.ndarray, sharpness: float, mixing: float, share: np.ndarray) -> np.ndarray:
    """Return probabilities (T, G) with log odds times `sharpness`, mixed with the class shares."""
    log = np.log(np.maximum(p, TINY))
    return (1 - mixing) * special.softmax(sharpness * log, axis=1) + mixing * share


def _softened(p: np.ndarray, y: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """Return sharpness and mixing with the least log loss of left-out probabilities p (n, G)."""
    n, rows = len(y), np.arange(len(y))
    log = np.log(np.maximum(p, TINY))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        sharpness, mixing = np.exp(x[0]), special.expit(x[1])
        q = special.softmax(sharpness * log, axis=1)
        actual = q[rows, y]
        value = (n * ((1 - mixing) * actual + mixing * share[y]) + 1 / len(share)) / (n + 1)
        rise = n / (n + 1) / value
        by_log = (1 - mixing) * sharpness * actual * (log[rows, y] - (q * log).sum(axis=1))
        by_mixing = mixing * (1 - mixing) * (share[y] - actual)
        return -np.log(value).sum(), -np.array([rise @ by_log, rise @ by_mixing])

    optimum = scipy.optimize.minimize(
        loss, [0.0, -4.0], jac=True, method="L-BFGS-B", bounds=[(-5, 3), (-12, 6)]
    ).x
    return float(np.exp(optimum[0])), float(special.expit(optimum[1]))


def _powers(log: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return u (M,) from left-out log probabilities of the families, (M, n, G)."""
    M, rows = len(log), np.arange(len(y))

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        pooled = np.tensordot(u, log, 1)
        total = log_sum(pooled)
        q = np.exp(pooled - total[:, None])
        slope = (q * log).sum(axis=(1, 2)) - log[:, rows, y].sum(axis=1) + 2 * M * (u - 1 / M)
        return (total - pooled[rows, y]).sum() + M * ((u - 1 / M) ** 2).sum(), slope

    start = np.full(M, 1 / M)
    bounds = [(0, MOST_POWER)] * M
    return scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x


def _shrunken(log: np.ndarray, y: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """Return the shrinkage to the class shares, and the slope of the log odds that it leaves.

    log (n, G): left-out log probabilities of the pool, but for a constant of each sample.
    """
    p = special.softmax(log, axis=1)
    gain = np.log(p[np.arange(len(y)), y] / share[y]).sum()
    shrinkage = float(special.expit(np.log(PRIOR_ODDS * (len(share) - 1) ** 2) - gain))
    plain, mixed = _log_odds(p), _log_odds(_mixed(p, 1.0, shrinkage, share))
    plain -= plain.mean(axis=0)  # the shares move all samples alike
    size = max((plain**2).sum(), TINY)
    return shrinkage, float((plain * mixed).sum() / size)


def _weights_within(losses: np.ndarray, family: np.ndarray) -> np.ndarray:
    """Return the weight of each setting in each family, (M, S), from the losses (S,)."""
    members = family == np.unique(family)[:, None]
    weight = special.softmax(np.where(members, -losses, -np.inf), axis=1)
    weight[weight < NO_WEIGHT] = 0
    return weight / weight.sum(axis=1, keepdims=True)


def _weights(errors: np.ndarray, method: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weight of each setting from left-out errors, (S,), and the shrinkage.

    errors : (S, n), in standard deviations of the response; method : (S,), each with its features;
        the first setting is the mean of the training responses, whose weight is the shrinkage.
    """
    n = errors.shape[1]
    square = np.maximum(np.square(errors).mean(axis=1), LEAST_ERROR)
    within = _weights_within(n / 2 * np.log(square[1:]), method[1:])
    e, M = within @ errors[1:], len(within)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        w = special.softmax(x)
        pooled = w @ e
        mean_square = np.mean(pooled**2) + LEAST_ERROR
        slope = e @ pooled / mean_square + 2 * PULL * M * (w - 1 / M)
        value = n / 2 * np.log(mean_square) + PULL * M * np.sum((w - 1 / M) ** 2)
        return value, w * (slope - w @ slope)

    optimum = scipy.optimize.minimize(loss, np.zeros(M), jac=True, method="L-BFGS-B").x
    w = special.softmax(optimum)
    gain = n / 2 * np.log(square[0] / (np.mean((w @ e) ** 2) + LEAST_ERROR))
    shrinkage = float(special.expit(np.log(PRIOR_ODDS) - gain))
    return np.append(shrinkage, (1 - shrinkage) * w @ within), shrinkage


# ---- the linear methods ----


@dataclass(frozen=True)
class Span:
    """Coordinates of samples in the space that the training samples span, in some features.

    A = Z W^(1/2), with weights W of mean 1 / p, has the singular vectors U and V and values S; the
    coordinates of the training samples are `rows` = U S, which are orthogonal.  Those of samples z
    are z W^(1/2) V = z W Z' U S^(-1), from the smaller of A'A and AA'.

    columns : which features; factors : matrices whose product is W^(1/2) V, (w, r).
    """

    columns: slice | np.ndarray
    rows: np.ndarray
    factors: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, z: np.ndarray, columns: slice | np.ndarray, weight: np.ndarray) -> Span:
        """Return that of standardised training samples, (n, p)."""
        root = np.sqrt(weight / weight.sum())
        a = z[:, columns] * root
        narrow = a.shape[1] < a.shape[0]
        square, vectors = np.linalg.eigh(a.T @ a if narrow else a @ a.T)
        positive = square > 1e-10 * square.max(initial=TINY)
        length, vectors = np.sqrt(square[positive]), vectors[:, positive]
        if narrow:
            return cls(columns, a @ vectors, (root[:, None] * vectors,))
        return cls(columns, vectors * length, ((a * root).T, vectors / length))

    def coordinates(self, z: np.ndarray) -> np.ndarray:
        """Return those of other samples, (T, r)."""
        return reduce(np.matmul, self.factors, z[:, self.columns])

    def in_features(self, slope: np.ndarray) -> np.ndarray:
        """Return coefficients of features, (G, w), from those of coordinates, (G, r)."""
        return reduce(np.matmul, (factor.T for factor in reversed(self.factors)), slope)


@dataclass(frozen=True)
class Line:
    """A fit with one setting: scores of the classes are coordinates slope' + intercept.

    space : what the coordinates are in; None where they are the features.
    """

    family: int
    space: Span | None
    slope: np.ndarray
    intercept: np.ndarray

    def coefficient(self, p: int) -> np.ndarray:
        """Return the coefficients of all features, (G, p)."""
        if self.space is None:
            return self.slope
        coefficients = np.zeros((len(self.slope), p))
        coefficients[:, self.space.columns] = self.space.in_features(self.slope)
        return coefficients


def standardisation(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of columns (n, p), and what they are multiplied by; 0 of constant ones."""
    _, unit, (_, mean, within, origin) = moments_of(table, [np.arange(len(table))])
    deviation = np.sqrt(within / len(table)) / unit
    mean = mean[:, 0] / unit + origin
    varies = deviation > np.where(origin, ROUNDING, RELATIVE) * np.abs(mean)
    return mean, np.divide(1, deviation, out=np.zeros_like(mean), where=varies)


def standardise(table: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return standardised columns, 0 where a value is missing, (T, p)."""
    z = (table - mean) * scale
    z[np.isnan(z)] = 0
    return z


def _learn(table: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Line]]:
    """Fit all settings to samples (n, p) of classes y (n,), each with a sample, or real responses.

    Return also by what features are standardised: their mean, and what they are multiplied by.
    """
    mean, scale = standardisation(table)
    z = standardise(table, mean, scale)
    if y.dtype.kind == "f":
        return mean, scale, [*_real_lines(z, y)]
    return mean, scale, [*_lines(z, y)] if y.max() else []


def partial_least_squares(columns: np.ndarray, y: np.ndarray, most: int) -> np.ndarray:
    """Return the coefficients with 1, ..., most components, intercepts last, (most, p + 1).

    Where fewer explain the response, the last ones are repeated.
    """
    from sklearn.cross_decomposition import PLSRegression

    centre, mean = columns.mean(axis=0), y.mean()
    span = Span.of(columns - centre, slice(None), np.ones(columns.shape[1]))
    parts = min(most, span.rows.shape[1])
    if parts == 0:
        return np.tile(np.append(np.zeros(len(centre)), mean), (most, 1))
    model = PLSRegression(parts, scale=False).fit(span.rows, y - mean)
    slopes = span.in_features(np.cumsum(model.x_rotations_ * model.y_loadings_, axis=1).T)
    path = np.column_stack([slopes, mean - slopes @ centre])
    return path[np.minimum(np.arange(most), parts - 1)]


def _spans(z: np.ndarray, y: np.ndarray) -> dict[str, Span]:
    """Return the spans of KERNELS, those of all features and of fewer than these."""
    f, p = f_statistics(z, y), z.shape[1]
    order = np.argsort(-f, kind="stable")
    sizes = {name: int(name) for name in KERNELS[:3] if int(name) < p}
    spans = {name: Span.of(z, order[:size], np.ones(size)) for name, size in sizes.items()}
    weight = np.minimum(f / max(np.median(f), TINY), MOST_WEIGHT)
    spans["all"] = Span.of(z, slice(None), np.ones(p))
    spans["weighted"] = Span.of(z, slice(None), weight) if weight.any() else spans["all"]
    return spans


def _lines(z: np.ndarray, y: np.ndarray) -> Iterator[Line]:
    """Yield the fits with all settings, the same ones for every table of as many columns."""
    spans, scores = _spans(z, y), None
    for span in (spans[name] for name in OF_RIDGE if name in spans):
        fits = ridges(span.rows, y, scores=scores)
        scores = fits[..., :-1] @ span.rows.T + fits[..., -1:]
        yield from (Line(RIDGE, span, fit[:, :-1], fit[:, -1]) for fit in fits)
    yield from _lassos(z, y)
    for span in (spans[name] for name in OF_DISCRIMINANTS if name in spans):
        yield from _discriminants(span, y)


def _real_lines(z: np.ndarray, y: np.ndarray) -> Iterator[Line]:
    """Yield the fits of a real response with all settings; `family` numbers method and features."""
    spans, mean = _spans(z, y), y.mean()
    paths: list[tuple[Span | None, np.ndarray]] = [(None, np.zeros((1, z.shape[1])))]
    paths.append((None, lasso.real_lasso_path(z, y)[:, :-1]))
    for span in (spans[name] for name in OF_RIDGE if name in spans):
        inner = (span.rows**2).sum(axis=0) + len(y) * REAL_RIDGES[:, None]
        paths.append((span, span.rows.T @ (y - mean) / inner))
    for span in (spans[name] for name in OF_PARTS if name in spans):
        paths.append((span, partial_least_squares(span.rows, y, PARTS)[:, :-1]))
    for family, (space, slopes) in enumerate(paths):
        yield from (Line(family, space, slope[None], np.array([mean])) for slope in slopes)


def _lassos(z: np.ndarray, y: np.ndarray) -> Iterator[Line]:
    """Yield the path of the lasso."""
    for fit in lasso.lasso_path(z, y, PENALTIES):
        slope = np.zeros((len(fit["coef_"]), z.shape[1]))
        slope[:, fit["best"]] = fit["coef_"] / fit["deviation"]
        intercept = fit["intercept_"] - slope[:, fit["best"]] @ fit["mean"]
        if len(slope) == 1:
            slope, intercept = np.vstack([-slope, slope]), np.append(-intercept, intercept)
        yield Line(LASSO, None, slope, intercept)


def _discriminants(span: Span, y: np.ndarray) -> Iterator[Line]:
    """Yield discriminants with each ridge."""
    rows, counts = span.rows, np.bincount(y)
    means = np.array([rows[y == g].mean(axis=0) for g in range(len(counts))])
    away = rows - means[y]
    scatter = away.T @ away
    size = (np.trace(scatter) or np.trace(rows.T @ rows)) / len(y)
    for ridge in RIDGES:
        covariance = scatter + ridge * size * np.eye(len(scatter))
        slope = np.linalg.solve(covariance / max(1, len(y) - len(counts)), means.T).T
        intercept = np.log(counts / len(y)) - (slope * means).sum(axis=1) / 2
        yield Line(DISCRIMINANTS, span, slope, intercept)


def ridges(
    rows: np.ndarray,
    y: np.ndarray,
    variances: np.ndarray = VARIANCES,
    intercept: float = INTERCEPT,
    tolerance: float = 1e-6,
    scores: np.ndarray | None = None,
) -> np.ndarray:
    """Return coefficients, intercepts last, with each prior variance, (V, G, r + 1), by Newton.

    Those of class 0 of two are 0.  With C of the classes they minimise, for all variances at once,

        sum_i [log sum_g exp(e_ig) - e_i(y_i)] + sum_gj b_gj^2 / (2 v_j),  e = X b',

    until a step promises less than the tolerance.

    rows, y : coordinates (n, r) and classes (n,) of samples.
    intercept : the prior variance of intercepts.
    scores : (V, G, n) of fits to other features, near which these begin; the columns of `rows`
        must be orthogonal.
    """
    columns, counts = np.column_stack([rows, np.ones(len(rows))]), np.bincount(y)
    first, at = int(len(counts) == 2), np.arange(len(y))
    V, C, (n, r) = len(variances), len(counts) - first, columns.shape
    actual = (y == np.arange(first, len(counts))[:, None]).astype(float)
    precision = np.full((V, C, r), 1 / intercept)
    precision[..., :-1] = 1 / variances[:, None, None]
    solution = np.zeros((V, C, r))
    if scores is None:
        solution[..., -1] = np.log(counts[first:] / (counts[0] if first else len(y)))
    else:
        scores = scores[:, 1:] - scores[:, :1] if first else scores
        solution[..., :-1] = scores @ (rows / (rows**2).sum(axis=0))
        solution[..., -1] = scores.mean(axis=2)

    small = C * r <= MOST_NEWTON and n * r * r <= MOST_PRODUCTS
    newton_step = NewtonStep(columns, C) if small else partial(_conjugate_gradients, columns)

    def log_probability(b: np.ndarray) -> np.ndarray:
        scores = np.zeros((len(b), len(counts), n))
        scores[:, first:] = (b.reshape(-1, r) @ columns.T).reshape(len(b), C, n)
        return scores - log_sum(scores, axis=1)[:, None]

    def loss(b: np.ndarray, logs: np.ndarray, active: np.ndarray) -> np.ndarray:
        return (precision[active] * b * b).sum(axis=(1, 2)) / 2 - logs[:, y, at].sum(axis=1)

    active, logs = np.arange(V), log_probability(solution)
    value = loss(solution, logs, active)
    for _ in range(100):
        b, p = solution[active], np.exp(logs[active][:, first:])
        slope = (p - actual) @ columns + precision[active] * b
        step = newton_step(p, precision[active], slope)
        going = (slope * step).sum(axis=(1, 2)) > tolerance
        active, b, step = active[going], b[going], step[going]
        if not len(active):
            break
        length = np.ones((len(active), 1, 1))
        while True:
            after = log_probability(b - length * step)
            new = loss(b - length * step, after, active)
            worse = (new > value[active] * (1 + 1e-12)) & (length[:, 0, 0] > 1e-6)
            if not worse.any():
                break
            length[worse] /= 2
        solution[active], value[active], logs[active] = b - length * step, new, after
    return np.pad(solution, ((0, 0), (first, 0), (0, 0)))


class NewtonStep:
    """Steps of Newton's method for C classes of few samples, by forming the curvature."""

    def __init__(self, columns: np.ndarray, C: int):
        r = columns.shape[1]
        self.classes, pairs = np.triu_indices(C), np.triu_indices(r)
        self.products = columns[:, pairs[0]] * columns[:, pairs[1]]  # (n, r (r + 1) / 2)
        of_classes, of_columns = np.empty((C, C), dtype=int), np.empty((r, r), dtype=int)
        for places, (i, j) in ((of_classes, self.classes), (of_columns, pairs)):
            places[i, j] = places[j, i] = np.arange(len(i))  # the number of each pair
        self.places = of_classes[:, None, :, None], of_columns[:, None]

    def __call__(self, p: np.ndarray, precision: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Return the curvature's inverse times the slope, (V, C, r), for each of V fits.

        p (V, C, n) : the probabilities of the classes.
        """
        (V, C, r), (first, second) = slope.shape, self.classes
        weight = -p[:, first] * p[:, second]
        weight[:, first == second] += p
        curvature = (weight.reshape(-1, p.shape[2]) @ self.products).reshape(V, len(first), -1)
        curvature = curvature[:, *self.places].reshape(V, C * r, C * r)
        diagonal = np.arange(C * r)
        curvature[:, diagonal, diagonal] += precision.reshape(V, C * r)
        return np.linalg.solve(curvature, slope.reshape(V, C * r, 1)).reshape(slope.shape)


def _conjugate_gradients(
    columns: np.ndarray, p: np.ndarray, precision: np.ndarray, slope: np.ndarray
) -> np.ndarray:
    """Return what `NewtonStep` does, with the relative error STEP, without the curvature."""
    n, r = columns.shape
    scale = 1 / ((p - p * p) @ columns**2 + precision)
    step, residual, direction = np.zeros_like(slope), slope.copy(), scale * slope
    size = (residual * direction).sum(axis=(1, 2), keepdims=True)
    least = STEP**2 * size
    for _ in range(slope[0].size):
        e = p * (direction.reshape(-1, r) @ columns.T).reshape(p.shape)  # all vectors together
        e -= p * e.sum(axis=1, keepdims=True)
        curved = (e.reshape(-1, n) @ columns).reshape(slope.shape) + precision * direction
        length = size / np.maximum((direction * curved).sum(axis=(1, 2), keepdims=True), TINY)
        step += length * direction
        residual -= length * curved
        last, size = size, (scale * residual**2).sum(axis=(1, 2), keepdims=True)
        if (size <= least).all():
            break
        direction = scale * residual + size / np.maximum(last, TINY) * direction
    return step


def _left_out(table: np.ndarray, y: np.ndarray, fold: np.ndarray, settings: int) -> np.ndarray:
    """Return what each setting predicts of samples that were left out, (S, n, G).

    They are probabilities, 0 of a class without a sample in the other folds; or real responses, of
    which G is 1.
    """
    real = y.dtype.kind == "f"
    n, G = len(y), 1 if real else int(y.max()) + 1
    predicted = np.zeros((settings, n, G))
    if fold.max() == 0:  # one sample of each class
        return np.full_like(predicted, 1 / G)
    for f in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        present, codes = np.unique(y[train], return_inverse=True)
        if real:
            present, codes = np.zeros(1, dtype=int), y[train]
        mean, scale, lines = _learn(table[train], codes)
        z = standardise(table[test], mean, scale)
        if not lines:
            predicted[:, test[:, None], present] = 1
        coordinates: dict[int, np.ndarray] = {id(None): z}
        for s, line in enumerate(lines):
            key = id(line.space)
            if line.space is not None and key not in coordinates:
                coordinates[key] = line.space.coordinates(z)
            scores = coordinates[key] @ line.slope.T + line.intercept
            answer = scores if real else _probability(line.family, scores)
            predicted[s, test[:, None], present] = answer
    return predicted
