"""A pool of ridge, lasso and discriminants, for real features that go together.

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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from thesiskit.models.base import LARGEST, Arrays, SelectingModel, Training, check
from thesiskit.models.folds import stratified
from thesiskit.models.lasso import PENALTIES, SCREENED, lasso_path, one_against_others, quietly
from thesiskit.models.selection import RELATIVE, ROUNDING, moments_of

VARIANCES = np.array([0.1, 0.5, 2, 8, 30, 120, 600, 3000])  # of coefficients of ridges
RIDGES = (0.03, 0.3, 3.0)  # of discriminants
MOST_WEIGHT = 1000.0  # of a feature, relative to that with the median F
INTERCEPT = 1e6  # the prior variance of intercepts
FOLDS = 5
MOST_POWER = 3.0
PRIOR_ODDS = 200.0  # that no feature is of use, if there are two classes
NO_WEIGHT = 1e-4  # settings of less weight are left out
SAMPLES = 4096  # that are predicted at once
RIDGE, LASSO, DISCRIMINANTS = range(3)  # families
FAMILIES = ("ridge", "lasso", "discriminants")
OF_FEATURES = ("effect", "deviation", "lasso_share")  # in result files
KERNELS = ("10", "100", "1000", "all", "weighted")  # features that a kernel is of
OF_RIDGE, OF_DISCRIMINANTS = ("10", "100", "all", "weighted"), ("100", "1000", "all")


@dataclass(frozen=True)
class Pool(SelectingModel):
    """Ridge, lasso and regularised linear discriminants of all features, averaged."""

    kind, takes = "pool", "reals"
    words = "a pool of ridge, lasso and discriminants"
    rivals = ("gaussian-nb", "l2-logistic", "lasso", "random-forest")
    selects = False
    chains = 1  # one generator, which divides the samples
    stored = dict.fromkeys(("mean", "scale"), (float, "k"))
    stored |= {"share": (float, "G"), "cases": (int, "")}
    stored |= {"coefficient": (float, "S G k"), "intercept": (float, "S G"), "family": (int, "S")}
    stored |= dict.fromkeys(("weight", "sharpness", "mixing"), (float, "S"))
    stored |= {"power": (float, "M"), "damping": (float, "S"), "shrinkage": (float, "")}
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

    def pack(self, fitted: list[Arrays]) -> Arrays:
        """Return the arrays of result files, with OF_FEATURES of all splits end to end."""
        summaries = [(effects(fit).T, deviations(fit), lasso_share(fit)) for fit in fitted]
        of_features = map(np.concatenate, zip(*summaries, strict=True))
        return super().pack(fitted) | dict(zip(OF_FEATURES, of_features, strict=True))

    @classmethod
    def join(cls, posteriors: list[Arrays]) -> Arrays:
        """Return the arrays of the fit stage; a temperature changes nothing of the features."""
        return super().join(posteriors) | {name: posteriors[0][name] for name in OF_FEATURES}

    @classmethod
    def restored(cls, about, arrays, selected, classes) -> tuple[SelectingModel, Arrays]:
        """Return the model and what it had learnt; ValueError if damaged."""
        arrays = {"shrinkage": np.array(0.0)} | arrays  # older files have none
        model, posterior = super().restored(about, arrays, selected, classes)
        of_values = ("mean", "scale")  # of any size
        for name, values in posterior.items():
            check((np.abs(values) < (np.inf if name in of_values else LARGEST)).all())
        check(posterior["cases"] > 0 and posterior["power"].shape == (len(FAMILIES),))
        check(set(posterior["family"].tolist()) == set(range(len(FAMILIES))))
        for name in ("scale", "share", "weight", "sharpness", "mixing", "power", "shrinkage"):
            check((posterior[name] >= 0).all())
        check(posterior["shrinkage"] <= 1)
        check((posterior["mixing"] <= 1).all() and (posterior["weight"] < 1 + 1e-9).all())
        return model, posterior


def fit(
    table: np.ndarray, y: np.ndarray, rng: np.random.Generator, groups: np.ndarray | None = None
) -> Arrays:
    """Return the pool of training samples, named arrays with `Pool.stored`'s shapes.

    table : (n, p) real features, NaN where a value is missing.
    y : (n,) classes 0 to G - 1, each with a sample.
    rng : divides the samples into folds; groups (n,), numbers from 0, stay together.
    """
    n, G = len(y), int(y.max()) + 1
    share = np.bincount(y) / n
    with quietly():
        mean, scale, lines = _learn(table, y)
        left_out = _left_out(table, y, stratified(y, rng, FOLDS, groups), len(lines))
    family = np.array([line.family for line in lines])
    sharpness, mixing = np.ones(len(family)), np.zeros(len(family))
    weight, scores = np.zeros(len(family)), _log_odds(left_out)
    scores -= scores.mean(axis=1, keepdims=True)
    pooled = []
    for s in np.flatnonzero(family == DISCRIMINANTS).tolist():
        sharpness[s], mixing[s] = _softened(left_out[s], y, share)
        left_out[s] = _mixed(left_out[s], sharpness[s], mixing[s], share)
    left_out = _raised(left_out, n)
    moved, size = (scores * _log_odds(left_out)).sum(axis=(1, 2)), (scores**2).sum(axis=(1, 2))
    damping = moved / np.maximum(size, np.finfo(float).tiny)
    losses = -np.log(left_out[:, np.arange(n), y]).sum(axis=1)
    for m in range(len(FAMILIES)):
        in_family = family == m
        chance = special.softmax(-losses[in_family])
        chance[chance < NO_WEIGHT] = 0
        weight[in_family] = chance / chance.sum()
        pooled.append(np.tensordot(weight[in_family], left_out[in_family], 1))
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


def log_probability(posterior: Arrays, table: np.ndarray) -> np.ndarray:
    """Return log P(class), (T, G), for the features of new samples, (T, p)."""
    n, (S, G, p) = int(posterior["cases"]), posterior["coefficient"].shape
    flat, family = posterior["coefficient"].reshape(S * G, p), posterior["family"]
    shrinkage = float(posterior.get("shrinkage", 0.0))  # older files have none
    result = np.empty((len(table), G))
    for start in range(0, len(table), SAMPLES):
        z = (table[start : start + SAMPLES] - posterior["mean"]) * posterior["scale"]
        scores = (np.where(np.isnan(z), 0, z) @ flat.T).reshape(-1, S, G) + posterior["intercept"]
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

    It is for one standard deviation of the feature, the others being as they are: the coefficients
    of all settings, weighted as their predictions are, and damped: scores can be of any size, but
    probabilities of a setting stay away from 0 and 1.  The sum over classes is 0.
    """
    by = posterior["weight"] * posterior["power"][posterior["family"]] * posterior["damping"]
    linear = np.tensordot(by, posterior["coefficient"], 1)
    return linear - linear.mean(axis=0)


def deviations(posterior: Arrays) -> np.ndarray:
    """Return the standard deviations of the features in the training samples, (p,)."""
    scale = posterior["scale"]
    return np.divide(1, scale, out=np.zeros(len(scale)), where=scale > 0)


def lasso_share(posterior: Arrays) -> np.ndarray:
    """Return for each feature the weight of those settings of the lasso that use it, (p,)."""
    is_lasso = posterior["family"] == LASSO
    return posterior["weight"][is_lasso] @ (posterior["coefficient"][is_lasso] != 0).any(axis=1)


# ---- probabilities ----


def _probability(family: int, scores: np.ndarray) -> np.ndarray:
    """Return P(class), (T, G), from linear scores; the lasso has each class against the others."""
    return one_against_others(scores) if family == LASSO else special.softmax(scores, axis=1)


def _log_odds(p: np.ndarray) -> np.ndarray:
    """Return logs of probabilities (..., G), less their mean over classes."""
    log = np.log(np.maximum(p, np.finfo(float).tiny))
    return log - log.mean(axis=-1, keepdims=True)


def _raised(p: np.ndarray, n: int) -> np.ndarray:
    """Return probabilities (..., G) as if one of n + 1 samples were shared by the classes."""
    return (n * p + 1 / p.shape[-1]) / (n + 1)


def _mixed(p: np.ndarray, sharpness: float, mixing: float, share: np.ndarray) -> np.ndarray:
    """Return probabilities (T, G) with log odds times `sharpness`, mixed with the class shares."""
    log = np.log(np.maximum(p, np.finfo(float).tiny))
    return (1 - mixing) * special.softmax(sharpness * log, axis=1) + mixing * share


def _softened(p: np.ndarray, y: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """Return sharpness and mixing with the least log loss of left-out probabilities p (n, G)."""
    n, rows = len(y), np.arange(len(y))
    log = np.log(np.maximum(p, np.finfo(float).tiny))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        sharpness, mixing = np.exp(x[0]), special.expit(x[1])
        q = special.softmax(sharpness * log, axis=1)
        actual = q[rows, y]
        value = (n * ((1 - mixing) * actual + mixing * share[y]) + 1 / len(share)) / (n + 1)
        rise = n / (n + 1) / value
        by_log = (1 - mixing) * sharpness * actual * (log[rows, y] - (q * log).sum(axis=1))
        by_mixing = mixing * (1 - mixing) * (share[y] - actual)
        return -np.log(value).sum(), -np.array([rise @ by_log, rise @ by_mixing])

    optimum = optimize.minimize(
        loss, [0.0, -4.0], jac=True, method="L-BFGS-B", bounds=[(-5, 3), (-12, 6)]
    ).x
    return float(np.exp(optimum[0])), float(special.expit(optimum[1]))


def _powers(log: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return u (M,) from left-out log probabilities of the families, (M, n, G)."""
    M, rows = len(log), np.arange(len(y))

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        pooled = np.tensordot(u, log, 1)
        log_sum = special.logsumexp(pooled, axis=1)
        q = np.exp(pooled - log_sum[:, None])
        slope = (q * log).sum(axis=(1, 2)) - log[:, rows, y].sum(axis=1) + 2 * M * (u - 1 / M)
        return (log_sum - pooled[rows, y]).sum() + M * ((u - 1 / M) ** 2).sum(), slope

    start = np.full(M, 1 / M)
    bounds = [(0, MOST_POWER)] * M
    return optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x


def _shrunken(log: np.ndarray, y: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """Return the shrinkage to the class shares, and the slope of the log odds that it leaves.

    log (n, G): left-out log probabilities of the pool, but for a constant of each sample.
    """
    p = special.softmax(log, axis=1)
    gain = np.log(p[np.arange(len(y)), y] / share[y]).sum()
    shrinkage = float(special.expit(np.log(PRIOR_ODDS * (len(share) - 1) ** 2) - gain))
    plain, mixed = _log_odds(p), _log_odds(_mixed(p, 1.0, shrinkage, share))
    plain -= plain.mean(axis=0)  # the shares move all samples alike
    size = max((plain**2).sum(), np.finfo(float).tiny)
    return shrinkage, float((plain * mixed).sum() / size)


# ---- the linear classifiers ----


@dataclass(frozen=True)
class Span:
    """Coordinates of samples in the space that the training samples span, in some features.

    K = Z W Z' with weights W of mean 1 / p has eigenvectors U and eigenvalues S; the coordinates of
    the training samples are `rows` = U S^(1/2), those of other samples K_new U S^(-1/2).

    columns : which features; weight, samples : of these, (w,) and (n, w).
    """

    columns: slice | np.ndarray
    weight: np.ndarray
    samples: np.ndarray
    rows: np.ndarray
    back: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, columns: slice | np.ndarray, weight: np.ndarray) -> Span:
        """Return that of standardised training samples, (n, p)."""
        samples, weight = z[:, columns], weight / weight.sum()
        square, vectors = np.linalg.eigh((samples * weight) @ samples.T)
        positive = square > 1e-10 * max(square[-1], np.finfo(float).tiny)
        length, vectors = np.sqrt(square[positive]), vectors[:, positive]
        return cls(columns, weight, samples, vectors * length, vectors / length)

    def coordinates(self, z: np.ndarray) -> np.ndarray:
        """Return those of other samples, (T, r)."""
        return (z[:, self.columns] * self.weight) @ self.samples.T @ self.back

    def in_features(self, slope: np.ndarray) -> np.ndarray:
        """Return coefficients of features, (G, w), from those of coordinates, (G, r)."""
        return slope @ self.back.T @ self.samples * self.weight


@dataclass(frozen=True)
class PlainColumns:
    """Some columns as they are, as `Span` for the lasso."""

    columns: np.ndarray

    def coordinates(self, z: np.ndarray) -> np.ndarray:
        """Return the columns."""
        return z[:, self.columns]

    def in_features(self, slope: np.ndarray) -> np.ndarray:
        """Return coefficients of features, (G, w)."""
        return slope


@dataclass(frozen=True)
class Line:
    """A fit with one setting: scores of the classes are coordinates slope' + intercept."""

    family: int
    space: Span | PlainColumns
    slope: np.ndarray
    intercept: np.ndarray

    def coefficient(self, p: int) -> np.ndarray:
        """Return the coefficients of all features, (G, p)."""
        coefficients = np.zeros((len(self.slope), p))
        coefficients[:, self.space.columns] = self.space.in_features(self.slope)
        return coefficients


def _learn(table: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Line]]:
    """Fit all settings to samples (n, p) of classes y (n,), each with a sample.

    Return also by what features are standardised: their mean, and what they are multiplied by.
    """
    measured, unit, (_, mean, within, origin) = moments_of(table, [np.arange(len(table))])
    deviation = np.sqrt(within / len(table)) / unit
    mean = mean[:, 0] / unit + origin
    varies = deviation > np.where(origin, ROUNDING, RELATIVE) * np.abs(mean)
    scale = np.divide(1, deviation, out=np.zeros_like(mean), where=varies)
    z = (table - mean) * scale
    if measured:
        z[np.isnan(z)] = 0
    return mean, scale, [*_lines(z, y)] if y.max() else []


def _lines(z: np.ndarray, y: np.ndarray) -> Iterator[Line]:
    """Yield the fits with all settings, the same ones for every table of as many columns."""
    f = _f_statistics(z, y)
    p, order = z.shape[1], np.argsort(-f, kind="stable")
    sizes = {name: int(name) for name in KERNELS[:3] if int(name) < p}
    spans = {name: Span.of(z, order[:size], np.ones(size)) for name, size in sizes.items()}
    weight = np.minimum(f / max(np.median(f), np.finfo(float).tiny), MOST_WEIGHT)
    spans["all"] = Span.of(z, slice(None), np.ones(p))
    spans["weighted"] = Span.of(z, slice(None), weight) if weight.any() else spans["all"]
    for span in (spans[name] for name in OF_RIDGE if name in spans):
        for coefficients in _ridges(span.rows, y):
            yield Line(RIDGE, span, coefficients[:, :-1], coefficients[:, -1])
    yield from _lassos(z, y, np.sort(order[:SCREENED]))
    for span in (spans[name] for name in OF_DISCRIMINANTS if name in spans):
        yield from _discriminants(span, y)


def _f_statistics(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return F of standardised columns, 0 of constant ones, a large number where it is infinite."""
    n, counts = len(z), np.bincount(y)
    means = np.zeros((len(counts), n))
    means[y, np.arange(n)] = 1 / counts[y]
    between = (counts[:, None] * np.square(means @ z)).sum(axis=0)
    within = np.maximum(np.einsum("ij,ij->j", z, z) - between, 1e-12 * n)
    return between / (len(counts) - 1) / (within / max(1, n - len(counts)))


def _lassos(z: np.ndarray, y: np.ndarray, best: np.ndarray) -> Iterator[Line]:
    """Yield the path of the lasso of some columns."""
    import sklearn

    # what its checks of parameters and numbers cost would be half of the time
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        path = [*lasso_path(z[:, best], y, PENALTIES, 0)]
    for coefficients in path:
        slope = coefficients["coef_"] / coefficients["deviation"]
        intercept = coefficients["intercept_"] - slope @ coefficients["mean"]
        if len(slope) == 1:
            slope, intercept = np.vstack([-slope, slope]), np.append(-intercept, intercept)
        yield Line(LASSO, PlainColumns(best[coefficients["best"]]), slope, intercept)


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


def _ridges(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return coefficients, intercepts last, with each of VARIANCES, (V, G, r + 1)."""
    counts = np.bincount(y)
    columns = np.column_stack([rows, np.ones(len(rows))])
    precision = np.tile(1 / INTERCEPT, (len(VARIANCES), columns.shape[1]))
    precision[:, :-1] = 1 / VARIANCES[:, None]
    if len(counts) == 2:
        coefficients = _newton(columns, y, precision)
        return np.stack([np.zeros_like(coefficients), coefficients], axis=1)
    return _softmax_path(columns, y, precision)


def _newton(columns: np.ndarray, y: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the coefficients of two classes by Newton's method, for all variances at once, (V, r).

    They minimise  sum_i [log(1 + exp(e_i)) - y_i e_i] + sum_j precision_j b_j^2 / 2,  e = X b.
    """
    solution = np.zeros(precision.shape)
    solution[:, -1] = special.logit(y.mean())
    diagonal = np.arange(len(columns.T))

    def loss(b: np.ndarray, at: np.ndarray) -> np.ndarray:
        e = b @ columns.T
        return (np.logaddexp(0, e) - y * e).sum(axis=1) + (precision[at] * b * b).sum(axis=1) / 2

    active, value = np.arange(len(solution)), loss(solution, np.arange(len(solution)))
    for _ in range(100):
        b = solution[active]
        p = special.expit(b @ columns.T)
        slope = (p - y) @ columns + precision[active] * b
        curvature = (columns.T * (p * (1 - p))[:, None]) @ columns
        curvature[:, diagonal, diagonal] += precision[active]
        step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        going = (slope * step).sum(axis=1) > 1e-6
        active, b, step = active[going], b[going], step[going]
        if not len(active):
            break
        length = np.ones(len(active))
        new = loss(b - step, active)
        while (worse := (new > value[active] * (1 + 1e-12)) & (length > 1e-6)).any():
            length[worse] /= 2
            new = loss(b - length[:, None] * step, active)
        solution[active], value[active] = b - length[:, None] * step, new
    return solution


def _softmax_path(columns: np.ndarray, y: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the coefficients of several classes, (V, G, r), one variance after the other.

    Coefficients are scaled by the root of X'X / 2 + precision, which bounds the curvature (Boehning
    1992, Annals of the Institute of Statistical Mathematics 44, 197-200) and is diagonal, because
    the columns are orthogonal but for the intercept.
    """
    rows, counts = np.arange(len(y)), np.bincount(y)
    indicator = np.zeros((len(y), len(counts)))
    indicator[rows, y] = 1
    path = np.zeros((len(precision), len(counts), columns.shape[1]))
    shape = path.shape[1:]
    last = np.zeros(shape)
    last[:, -1] = np.log(counts / len(y))
    for place, l1 in enumerate(precision):
        scale = np.sqrt((columns**2).sum(axis=0) / 2 + l1)

        def loss(x: np.ndarray, l1=l1, scale=scale) -> tuple[float, np.ndarray]:
            b = x.reshape(shape) / scale
            e = columns @ b.T
            every = special.logsumexp(e, axis=1)
            p = np.exp(e - every[:, None])
            value = (every - e[rows, y]).sum() + (l1 * b * b).sum() / 2
            return value, (((p - indicator).T @ columns + l1 * b) / scale).ravel()

        options = {"maxiter": 200, "gtol": 1e-3, "ftol": 1e-8}
        x = optimize.minimize(
            loss, (last * scale).ravel(), jac=True, method="L-BFGS-B", options=options
        ).x
        last = path[place] = x.reshape(shape) / scale
    return path


def _left_out(table: np.ndarray, y: np.ndarray, fold: np.ndarray, settings: int) -> np.ndarray:
    """Return what each setting predicts of samples that were left out, (S, n, G).

    A class without a sample in the other folds has probability 0.
    """
    n, G = len(y), int(y.max()) + 1
    log_odds = np.zeros((settings, n, G))
    if fold.max() == 0:  # one sample of each class
        return np.full_like(log_odds, 1 / G)
    for f in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        present, codes = np.unique(y[train], return_inverse=True)
        mean, scale, lines = _learn(table[train], codes)
        z = (table[test] - mean) * scale
        z[np.isnan(z)] = 0
        if not lines:
            log_odds[:, test[:, None], present] = 1
        by_columns: dict[int, np.ndarray] = {}
        for s, line in enumerate(lines):
            key = id(line.space)
            if key not in by_columns:
                by_columns[key] = line.space.coordinates(z)
            p = _probability(line.family, by_columns[key] @ line.slope.T + line.intercept)
            log_odds[s, test[:, None], present] = p
    return log_odds
