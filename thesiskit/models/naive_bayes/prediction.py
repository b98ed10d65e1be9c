"""Predictions of the naive Bayes model for test cases, and for cases that it expects itself."""

import numpy as np
from scipy import special

from thesiskit._kernels import naive_bayes as kernel  # type: ignore[attr-defined]
from thesiskit.errors import DataError, ThesiskitError
from thesiskit.models.naive_bayes.posterior import Posterior, refine, relevant_given
from thesiskit.models.packed import as_bits, find_missing

ALPHA_TOLERANCE = 1e-6  # largest move of a prediction in the adaptive rule for alpha
CASES = 4096  # test cases predicted together
CLOSEST = 2.0**-53  # to 0 and to 1 that a prediction comes


def predict(posterior: Posterior, features: np.ndarray) -> np.ndarray:
    """Return P(y* = 1) for each row of the kept features, (T, k) of 0, 1 or NaN (missing) -> (T,).

    Equation eq-unc-pp with predp-y and eq-jfact.  Probabilities stay 2^-53 away from 0 and 1, so
    that both they and their complements are strictly between.

    Raises DataError for another number of columns, or values that are not 0 or 1.
    """
    return as_probability(predict_log_odds(posterior, features))


def predict_log_odds(posterior: Posterior, features: np.ndarray) -> np.ndarray:
    """Return log P(y* = 1) - log P(y* = 0) for each row of the kept features, (T, k) -> (T,).

    With the adaptive rule for alpha, grids are refined until no probability moves by 1e-6.
    """
    k = len(posterior.kept.group)
    features = np.asarray(features)
    if features.ndim != 2 or features.shape[1] != k:
        raise DataError(f"{k} features were kept; got a table of shape {features.shape}")
    missing = find_missing(features)
    bits = as_bits(features if missing is None else np.where(missing, 0, features))
    if bits is None:
        raise DataError("features must be 0 or 1")
    found = _predict_all(posterior, bits, missing)
    if posterior.settings.alpha_quadrature == "midpoint":
        return found
    for _ in range(12):
        posterior, last = refine(posterior), as_probability(found)
        found = _predict_all(posterior, bits, missing)
        if np.abs(as_probability(found) - last).max(initial=0) < ALPHA_TOLERANCE:
            return found
    raise ThesiskitError("the integral over alpha did not settle in 12 refinements")


def _predict_all(
    posterior: Posterior, bits: np.ndarray, missing: np.ndarray | None = None
) -> np.ndarray:
    """Return log odds at the posterior's points of alpha and pi, some cases at a time."""
    kept = posterior.kept
    slopes, bases, single, log_weight = _log_odds(posterior)
    result = np.empty(len(bits))
    for start in range(0, len(bits), CASES):
        rows = bits[start : start + CASES]
        counts = np.zeros((len(rows), len(kept.pairs)))
        kernel.accumulate_counts(rows, kept.group, counts)
        # log P(x* given y*, point) + log posterior of the point, for each row, y* and point
        joint = (counts @ slopes + bases).reshape(len(rows), 2, -1) + log_weight
        if missing is not None:
            absent = np.zeros((len(rows), len(kept.pairs)))
            gaps = np.ascontiguousarray(missing[start : start + CASES]).view(np.uint8)
            kernel.accumulate_counts(gaps, kept.group, absent)
            joint -= np.stack([absent @ one for one in single], axis=1)
        total = np.logaddexp.reduce if posterior.irrelevant is None else _log_sums
        result[start : start + CASES] = np.subtract(*total(joint, axis=2).T[::-1])
    f0, f1 = posterior.settings.class_prior
    n0, n1 = kept.class_counts
    return result + np.log((f1 + n1) / (f0 + n0))


def _log_sums(joint: np.ndarray, axis: int) -> np.ndarray:
    """Return logs of sums of exponentials; of many points several times as fast as by pairs."""
    top = joint.max(axis=axis, keepdims=True)
    return np.log(np.exp(joint - top).sum(axis=axis)) + top.squeeze(axis)


def promise(posterior: Posterior, rng: np.random.Generator, cases: int = 2000) -> np.ndarray:
    """Return P(y* = 1) for new cases drawn as the posterior expects them, (cases,).

    The mean of min(p, 1 - p) is the error that the model promises where no case is tested.  Given
    alpha, pi and y*, the features of a new case are independent.
    """
    f0, f1 = posterior.settings.class_prior
    n0, n1 = posterior.kept.class_counts
    y = (rng.random(cases) * (f0 + n0 + f1 + n1) < f1 + n1).astype(np.intp)
    slopes, _, single, log_weight = _log_odds(posterior)
    weight = np.exp(log_weight - log_weight.max())
    point = rng.choice(len(weight), size=cases, p=weight / weight.sum())
    rows = np.empty((cases, len(posterior.kept.group)), dtype=np.uint8)
    for row, label, g in zip(rows, y.tolist(), point.tolist(), strict=True):
        one = np.exp(slopes[:, label * len(weight) + g] + single[label][:, g])
        row[:] = rng.random(len(row)) < one[posterior.kept.group]
    return predict(posterior, rows)


def as_probability(log_odds: np.ndarray) -> np.ndarray:
    """Return probabilities that stay CLOSEST away from 0 and 1."""
    return np.clip(special.expit(log_odds), CLOSEST, 1 - CLOSEST)


def _log_odds(
    posterior: Posterior,
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], np.ndarray]:
    """Return how log P(x* given y*, point) depends on test counts per pair: slopes and bases.

    A point is one of alpha and of pi.  slopes (D, 2 G) holds log P(x* = 1) - log P(x* = 0), bases
    (2 G,) the sum of log P(x* = 0) over features; the columns are y* = 0 for all points, then
    y* = 1.  The third result has log P(x* = 0) of one feature of each pair, (D, G) for each y*; the
    fourth the log probability of each point, (G,).
    """
    kept, points = posterior.kept, posterior.points
    G = sum(len(at) for at, _ in points)
    slopes, bases = np.empty((len(kept.pairs), 2 * G)), np.empty(2 * G)
    single = []
    for y in (0, 1):
        columns = slice(y * G, (y + 1) * G)
        parts = [_log_predictive(posterior, y, at, j) for at, j in points]
        slopes[:, columns] = np.hstack([slope for slope, _ in parts])
        single.append(np.hstack([log_zero for _, log_zero in parts]))
        bases[columns] = kept.copies @ single[y]
    log_weight = np.concatenate([posterior.log_joint[at, j] for at, j in points])
    return slopes, bases, single, log_weight


def _log_predictive(
    posterior: Posterior, y: int, at: np.ndarray, j: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return log P(x* = 1) - log P(x* = 0), and log P(x* = 0), of one feature of each pair.

    (D, len(at)) each, for y* = y, some points of alpha and one of pi.
    """
    kept, alpha = posterior.kept, posterior.alpha[at]
    ones, cases = kept.pairs[:, y, None], kept.cases(y)
    # in the order of memory that a matrix product adds up in
    _, theta, complement = (np.ascontiguousarray(one[:, at]) for one in posterior.integrals)
    # numerators of P(x* = 1) and P(x* = 0); both have the denominator alpha + N_y
    one, zero = alpha * theta + ones, alpha * complement + (cases - ones)
    if posterior.irrelevant is None:
        log_zero = np.log(zero)
        return np.log(one) - log_zero, log_zero - np.log(alpha + cases)
    r, (_, same_one, same_zero) = relevant_given(posterior, at, j), posterior.irrelevant
    zero = r * zero / (alpha + cases) + (1 - r) * same_zero
    one = r * one / (alpha + cases) + (1 - r) * same_one
    log_zero = np.log(zero)
    return np.log(one) - log_zero, log_zero
