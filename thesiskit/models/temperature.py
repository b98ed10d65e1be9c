"""A temperature: by how much predictions that trust their features too much are to be softened.

Features go together, which a naive Bayes model, or a mixture of two components, does not know: it
counts evidence again and again that features share.  So log odds are divided by tau >= 1, and each
class gets an offset, without which a division of all log odds would take predictions to equal
shares of the classes:

    log P(y) is proportional to o_y + l_y / tau,    sum_y o_y = 0.

Both are fitted to log probabilities l of imitated samples (`imitate` of a model).  A selection
makes differences of classes too large, which the correction undoes; what features have in common
within classes it leaves as it is.  So new samples are made of the corrected means, of errors of
means, and of whole vectors of residuals, whose features go together as those of the training
samples do, less the correlations that chance adds where samples are few (`correlation_factor`).  So
a table of which somebody else has left features out has a temperature.

The targets are those of Platt (1999): not 0 and 1 but (s n_y + 1) / (s n_y + 2), for n_y samples of
a class and s = min(16, n_y), so that few samples without an error do not make tau 1.  Of more than
two classes each stands against all others together.  To share the rest equally among the others
would ask as much of the least probable class as of the second one, though naive Bayes tells these
apart by hundreds, and tau would be many times too large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy  # scipy.optimize takes half a second to load: at its first use

from thesiskit.models.folds import column_means
from thesiskit.models.selection import least_squares, n_parameters

DRAWS = 8  # times that all training samples are imitated
MOST_IMITATED = 16  # s of the targets
MOST_TAU = 1e6
SEED = 2007  # of imitated samples: equal training samples have one temperature everywhere
STARTS = np.linspace(0, np.log(MOST_TAU), 19)  # values of log tau from which the search begins
PENALTY = 2.0  # of squared offsets
ROUNDING = 1e-12  # of a feature's values: smaller residuals are none


class Temperature(NamedTuple):
    """What log odds are divided by, and what is added to the logs of the classes, (G,).

    errors : how many of the samples that it was fitted to were predicted wrongly; without an error
        tau is only bounded by the number of samples.
    expected : the error rate that softened predictions of these samples expect.
    """

    tau: float
    offset: np.ndarray
    errors: float = np.nan
    expected: float = np.nan

    @classmethod
    def none(cls, n_classes: int) -> Temperature:
        """Return a temperature that changes nothing."""
        return cls(1.0, np.zeros(n_classes))


def log_sum(logs: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return logs of sums of exponentials; of many terms several times as fast as by pairs."""
    most = logs.max(axis=axis, keepdims=True)
    return np.log(np.exp(logs - most).sum(axis=axis)) + most.squeeze(axis)


def temper(log_probability: np.ndarray, tau: float, offset: np.ndarray | float = 0.0) -> np.ndarray:
    """Return log probabilities (T, G): log odds divided by tau, with an offset for each class."""
    return scipy.special.log_softmax(log_probability / tau + offset, axis=1)


def as_log_probability(log_odds: np.ndarray) -> np.ndarray:
    """Return log probabilities (T, 2) from log P(y* = 1) - log P(y* = 0), (T,)."""
    return scipy.special.log_expit(np.stack([-log_odds, log_odds], axis=1))


def fit_temperature(
    log_probability: np.ndarray, y: np.ndarray, *, strength: float | np.ndarray, copies: int = 1
) -> Temperature:
    """Return the temperature with the least cross-entropy to the targets of the classes y (n,).

    log_probability (n, G); strength is s of the targets, of all or of each sample; copies: how many
    times each sample is there, which then counts once.  With p of `temper` and t the target of the
    own class,

        - sum over samples of [t log p_y + (1 - t) log(1 - p_y)] / copies + PENALTY sum_y o_y^2

    is minimised over 1 <= tau <= MOST_TAU and offsets.
    """
    y = np.asarray(y, dtype=np.intp)
    n, G = log_probability.shape
    counts = np.bincount(y, minlength=G)[y] / copies
    target = (strength * counts + 1) / (strength * counts + 2)
    rows = np.arange(n)
    log = np.maximum(log_probability, -1e6).T.copy()  # sums over long rows are quicker
    log -= log.max(axis=0)  # equal probabilities are equal to the last bit

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        inverse, offset = np.exp(-x[0]), x[1:] - x[1:].mean()
        logits = inverse * log + offset[:, None]
        own_class, other_classes = logits[y, rows], logits.copy()
        other_classes[y, rows] = -np.inf
        total, rest = log_sum(logits, axis=0), log_sum(other_classes, axis=0)
        value = (total - target * own_class - (1 - target) * rest).sum() / copies
        slope = np.exp(logits - total) - (1 - target) * np.exp(other_classes - rest)
        slope[y, rows] -= target
        by_offset = slope.sum(axis=1) / copies
        by_offset += 2 * PENALTY * offset - by_offset.mean()
        by_log_tau = -inverse * (slope * log).sum() / copies
        return value + PENALTY * (offset @ offset), np.append(by_log_tau, by_offset)

    starts = np.column_stack([STARTS, np.zeros((len(STARTS), G))])
    start = min(starts, key=lambda x: loss(x)[0])
    bounds = [(0, np.log(MOST_TAU)), *[(None, None)] * G]
    options = {"ftol": 1e-14, "gtol": 1e-9}
    result = scipy.optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    tau, offset = float(np.exp(result.x[0])), result.x[1:] - result.x[1:].mean()
    errors = float((log.argmax(axis=0) != y).sum() / copies)
    expected = float(1 - np.exp(temper(log.T, tau, offset).max(axis=1)).mean())
    return Temperature(tau, offset, errors, expected)


def of_imitated(log_probability: np.ndarray, y: np.ndarray) -> Temperature:
    """Return the temperature of predictions of imitated samples, DRAWS times each sample."""
    samples = np.bincount(y)[y] / DRAWS
    return fit_temperature(
        log_probability, y, strength=np.minimum(samples, MOST_IMITATED), copies=DRAWS
    )


def too_few(class_counts: np.ndarray) -> str:
    """Return why training samples of G classes, counts (G,), have no temperature, or "".

    A half of them has to have more samples than classes, or nothing varies within classes.
    """
    n, least = int(np.sum(class_counts)), 2 * max(2, len(class_counts)) + 2
    if len(class_counts) == 1:  # of a real response
        return f"{n} training samples are too few, it needs {least}" if n < least else ""
    if n < least:
        return f"{n} training samples of {len(class_counts)} classes are too few, it needs {least}"
    lone_sample = "a class has one training sample, which shows no correlation of features"
    return lone_sample if np.sum(np.asarray(class_counts) > 1) < 2 else ""


def imitated_reals(
    values: np.ndarray,
    y: np.ndarray,
    means: np.ndarray,
    spread: np.ndarray,
    variance: np.ndarray,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return imitated samples of real features, (DRAWS n, k), and their classes.

    values (n, k), NaN where missing, y (n,) : the training samples.
    means, spread (k, G) : the expected mean of each class, and its variance in units of
    variance (k,), the expected variance within classes.

        u_ij = (x_ij - m_jg) sqrt(w_j / s_j^2),   s_j^2 = W_j / (N_j - G)
        mu_jg* = mean + sqrt(spread) z_g'u_j / sqrt(N_j - G),   z_g ~ N(0, I_N)
        x_ij* = mu_jg* + u_ij sqrt(n_jg / (n_jg - 1)),   g = y_i

    Of a real response the mean of a sample is a line, means (k, 2) its value where t = 0 and its
    slope, and t (n, k) is y less its mean over the samples that have the feature; u has n_j - 2
    degrees of freedom, and n_jg / (n_jg - 1) is n_j / (n_j - 2).

    Errors of means and residuals are correlated between features as those of training samples are,
    but for what chance adds: in each draw, u_ij changes its sign with probability
    (1 - sqrt(c)) / 2, which multiplies correlations by c = `correlation_factor`.  n_jg of N_j
    samples have feature j; a missing value has no residual.  A sample alone in its class has those
    of another sample.  Samples of a group share z and signs: their errors do not average out.
    """
    n, G = len(y), means.shape[1]
    present = ~np.isnan(values)
    filled = np.where(present, values, 0)
    real = y.dtype.kind == "f"
    g_of = np.zeros(n, dtype=np.intp) if real else y
    members = [g_of == g for g in range(1 if real else G)]
    counts = np.array([present[rows].sum(axis=0) for rows in members])  # (G, k)
    center = np.array([filled[rows].sum(axis=0) for rows in members]) / np.maximum(counts, 1)
    residual = np.where(present, filled - center[g_of], 0)
    degrees = np.maximum(counts.sum(axis=0) - n_parameters(counts.T), 1)
    if real:
        lines, _ = least_squares(residual, y, ~present)  # which leaves what is not on the lines
        t = y[:, None] - lines[:, 1]
    squares = (residual**2).sum(axis=0)
    noise = n * (ROUNDING * np.abs(filled).max(axis=0, initial=0)) ** 2  # of a constant feature
    residual *= np.sqrt(variance * degrees / np.where(squares > noise, squares, np.inf))
    independent = n if groups is None else int(groups.max()) + 1
    changes = (1 - np.sqrt(correlation_factor(residual, independent - G))) / 2
    unit = slice(None) if groups is None else groups
    growth = np.sqrt(counts / np.maximum(counts - (2 if real else 1), 1))[g_of]
    is_single = np.bincount(g_of)[g_of] < 2
    companions = np.flatnonzero(~is_single)
    samples = np.empty((DRAWS, *values.shape))
    for imitation in samples:
        normals = rng.standard_normal((G, n))[:, unit]
        signed = residual * np.where(rng.random(values.shape) < changes, -1, 1)[unit]
        error = normals @ signed / np.sqrt(degrees)
        of = np.arange(n)
        of[is_single] = rng.choice(companions, is_single.sum())
        middle = means.T + np.sqrt(spread.T) * error
        middle = middle[0] + t * middle[1] if real else middle[y]
        imitation[:] = middle + (signed * growth)[of]
        imitation[~present[of]] = np.nan
    return samples.reshape(-1, values.shape[1]), np.tile(y, DRAWS)


def correlation_factor(residual: np.ndarray, degrees: int) -> float:
    """Return what to multiply correlations within classes by, so that their squares are unbiased.

    residual (n, k) : of real features from their class means; degrees, d : of freedom.  Let s be
    the mean square of the correlations of pairs of features.  As with the adjusted R^2,
    s - (1 - s) / (d - 1) estimates that of the true ones, and the factor is the root of the ratio:
    0 where features are no more correlated than independent ones.  A single feature has 1.
    """
    squares = (residual**2).sum(axis=0)
    scaled = residual[:, squares > 0] / np.sqrt(squares[squares > 0])
    k = scaled.shape[1]
    if k < 2:
        return 1.0
    mean = (((scaled @ scaled.T) ** 2).sum() - k) / (k * (k - 1))
    adjusted = mean - (1 - mean) / max(1, degrees - 1)
    return float(np.sqrt(max(0.0, adjusted) / max(mean, ROUNDING)))


def imitated_bits(
    values: np.ndarray,
    y: np.ndarray,
    rates: np.ndarray,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return imitated samples of binary features, (DRAWS n, k), and their classes.

    values (n, k) of 0, 1 and NaN (missing), y (n,) : the training samples.
    rates (G, k) : P(x* = 1) in each class, given the data.

    The target of a rate r of the training samples of a class is t = rates + r_b - r, with r_b the
    rate of a bootstrap sample of these samples, or of groups of them, whose errors go together.
    Each sample keeps its values, but for as many ones that become zeros, or zeros that become ones,
    as takes r to t.
    """
    samples = np.tile(values, (DRAWS, 1, 1))
    for imitation in samples:
        for g in np.unique(y):
            members = np.flatnonzero(y == g)
            rows, again = imitation[members], values[_drawn_again(members, groups, rng)]
            rate, bootstrap_rate = (column_means(table) for table in (rows, again))
            target = np.clip(rates[g] + bootstrap_rate - rate, 0, 1)
            falls = np.maximum(rate - target, 0) / np.where(rate > 0, rate, 1)
            rises = np.maximum(target - rate, 0) / np.where(rate < 1, 1 - rate, 1)
            flipped = rng.random(rows.shape) < np.where(rows == 1, falls, rises)
            imitation[members] = np.where(flipped, 1 - rows, rows)
    return samples.reshape(-1, values.shape[1]), np.tile(y, DRAWS)


def _drawn_again(
    samples: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """Return a bootstrap sample of samples, or of the groups that they are of."""
    if groups is None:
        return rng.choice(samples, len(samples))
    numbers = np.unique(groups[samples])
    again = [samples[groups[samples] == group] for group in rng.choice(numbers, len(numbers))]
    return np.concatenate(again)
