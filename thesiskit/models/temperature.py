"""A temperature: by how much predictions that trust their features too much are to be softened.

Features go together, which a naive Bayes model, or a mixture of two components, does not know: it
counts evidence again and again that features share.  So log odds are divided by tau >= 1.  tau is
fitted to predictions of cases that were left out, where the selection and the fit are repeated
without them.  The targets are those of Platt (1999): not 0 and 1 but what the frequency of a class
would be with one more case of it and one of another, so that few cases without an error do not make
tau 1.  Of more than two classes each stands against all others together.  To share the rest equally
among the others would ask as much of the least probable class as of the second one, though naive
Bayes tells these apart by hundreds, and tau would be many times too large.
"""

from collections.abc import Callable

import numpy as np
from scipy import optimize, special

from thesiskit.errors import UserError

FOLDS = 5
TAUS = np.logspace(0, 6, 61)  # between which the least cross-entropy is looked for

# of training rows and other rows, by their numbers, to log probabilities (T, G) of the latter
Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]


def temper(log_probability: np.ndarray, tau: float) -> np.ndarray:
    """Return log probabilities (T, G) of which the log odds are divided by tau."""
    return special.log_softmax(log_probability / tau, axis=1)


def as_log_probability(log_odds: np.ndarray) -> np.ndarray:
    """Return log probabilities (T, 2) from log P(y* = 1) - log P(y* = 0), (T,)."""
    return special.log_expit(np.stack([-log_odds, log_odds], axis=1))


def fit_temperature(log_probability: np.ndarray, y: np.ndarray) -> float:
    """Return the tau >= 1 with the least cross-entropy to the targets of the classes y (n,).

    log_probability (n, G).  The target of the actual class y is (n_y + 1) / (n_y + 2), and the rest
    is that of all other classes together: with p = softmax(l / tau) and t the target,

        - sum over cases of [t log p_y + (1 - t) log(1 - p_y)]

    is the least on a grid of tau, and its slope by 1 / tau is 0.
    """
    log, y = np.maximum(log_probability, -1e6), np.asarray(y, dtype=np.intp)
    counts = np.bincount(y, minlength=log.shape[1])[y]
    target = (counts + 1) / (counts + 2)
    rows = np.arange(len(y))
    log -= log.max(axis=1, keepdims=True)  # equal probabilities are equal to the last bit
    own, others = log[rows, y], log.copy()
    others[rows, y] = -np.inf

    def loss(inverse: float) -> float:
        every, rest = (special.logsumexp(inverse * one, axis=1) for one in (log, others))
        return float((every - target * inverse * own - (1 - target) * rest).sum())

    def slope(inverse: float) -> float:
        every, rest = (special.softmax(inverse * one, axis=1) for one in (log, others))
        shares = every - (1 - target[:, None]) * rest
        return float(((shares * log).sum(axis=1) - target * own).sum())

    inverses = 1 / TAUS
    best = int(np.argmin([loss(inverse) for inverse in inverses]))
    warmer = inverses[max(0, best - 1)]
    colder = inverses[min(best + 1, len(inverses) - 1)]
    if slope(warmer) <= 0:
        return float(1 / warmer)
    if slope(colder) >= 0:
        return float(1 / colder)
    return 1 / float(optimize.brentq(slope, colder, warmer, xtol=1e-14, rtol=1e-12))


def inner_folds(y: np.ndarray, rng: np.random.Generator, folds: int = FOLDS) -> np.ndarray:
    """Divide cases into folds, each class by itself, (n,) from 0.

    There are at most as many folds as the rarest class has cases.

    Raises
    ------
    UserError: a class has one case, so that none would be left to learn from.
    """
    y = np.asarray(y, dtype=np.intp)
    counts = np.bincount(y)
    present = np.flatnonzero(counts)
    rarest = present[np.argmin(counts[present])]
    folds = min(folds, int(counts[rarest]))
    if folds < 2:
        raise UserError(
            f"a temperature needs two training cases of each class, but class {rarest} has one"
        )
    return stratified(y, rng, folds)


def stratified(y: np.ndarray, rng: np.random.Generator, folds: int) -> np.ndarray:
    """Divide cases into folds of about equal size, each class by itself, (n,) from 0.

    There are at most as many folds as the most frequent class has cases.
    """
    folds = min(folds, int(np.bincount(y).max()))
    found = np.empty(len(y), dtype=np.int32)
    start = 0  # classes go on where the one before ended, so that folds are equally large
    for g in np.unique(y).tolist():
        cases = rng.permutation(np.flatnonzero(y == g))
        found[cases] = (start + np.arange(len(cases))) % folds
        start += len(cases)
    return found


def cross_validated(
    predict: Predict, y: np.ndarray, rng: np.random.Generator, folds: int = FOLDS
) -> float:
    """Return the tau of predictions of cases that were left out.

    predict : repeats selection and fit with the first rows, and returns the log probabilities of
        the classes of the others, (T, G).
    y : (n,) classes of all cases.
    """
    fold = inner_folds(y, rng, folds)
    parts = [np.flatnonzero(fold == f) for f in range(int(fold.max()) + 1)]
    found = [predict(np.flatnonzero(fold != f), test) for f, test in enumerate(parts)]
    return fit_temperature(np.concatenate(found), np.asarray(y)[np.concatenate(parts)])
