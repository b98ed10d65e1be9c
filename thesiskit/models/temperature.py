"""A temperature: by how much predictions that trust their features too much are to be softened.

Features go together, which a naive Bayes model, or a mixture of two components, does not know: it
counts evidence again and again that features share.  So the evidence is divided by tau >= 1: what
the log odds are beyond those of the class frequencies, which no feature has told.  tau is fitted to
predictions of cases that were left out, where the selection and the fit are repeated without them.
The targets are those of Platt (1999): not 0 and 1 but what the frequency of a class would be with
one more case of it and one of another, so that few cases without an error do not make tau 1.  Of
more than two classes each stands against all others together.  To share the rest equally among the
others would ask as much of the least probable class as of the second one, though naive Bayes tells
these apart by hundreds, and tau would be many times too large.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, special

from thesiskit.errors import UserError

FOLDS = 5
TAUS = np.logspace(0, 6, 61)  # between which the least cross-entropy is looked for

# of training rows and other rows, by their numbers, to log probabilities (T, G) of the latter
Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]


def temper(log_probability: np.ndarray, tau: float, base: np.ndarray | float = 0.0) -> np.ndarray:
    """Return log probabilities (T, G) of which the evidence is divided by tau.

    base (G,) are the log probabilities without features (`log_base`); 0 where all are equal.
    """
    return special.log_softmax(base + (log_probability - base) / tau, axis=1)


def as_log_probability(log_odds: np.ndarray) -> np.ndarray:
    """Return log probabilities (T, 2) from log P(y* = 1) - log P(y* = 0), (T,)."""
    return special.log_expit(np.stack([-log_odds, log_odds], axis=1))


def log_base(class_counts: np.ndarray, class_prior: Any = 1.0) -> np.ndarray:
    """Return the log probabilities of the classes before any feature is seen, (G,).

    class_counts (G,) of the training cases; class_prior is the parameter of the Dirichlet prior,
    one number or one for each class.
    """
    weight = np.asarray(class_counts) + np.asarray(class_prior)
    return np.log(weight / weight.sum())


def fit_temperature(
    log_probability: np.ndarray, y: np.ndarray, base: np.ndarray | float = 0.0
) -> float:
    """Return the tau >= 1 with the least cross-entropy to the targets of the classes y (n,).

    log_probability (n, G); base (G,) or (n, G) as of `temper`.  The target of the actual class y is
    (n_y + 1) / (n_y + 2), and the rest is that of all other classes together: with p tempered and t
    the target,

        - sum over cases of [t log p_y + (1 - t) log(1 - p_y)]

    is the least on a grid of tau, and its slope by 1 / tau is 0.
    """
    y = np.asarray(y, dtype=np.intp)
    log = np.maximum(log_probability, -1e6) - base
    base = np.broadcast_to(base, log.shape)
    counts = np.bincount(y, minlength=log.shape[1])[y]
    target = (counts + 1) / (counts + 2)
    rows = np.arange(len(y))
    log -= log.max(axis=1, keepdims=True)  # equal probabilities are equal to the last bit
    own, others = log[rows, y], base.copy()
    others[rows, y] = -np.inf

    def loss(inverse: float) -> float:
        every, rest = (special.logsumexp(one + inverse * log, axis=1) for one in (base, others))
        mine = base[rows, y] + inverse * own
        return float((every - target * mine - (1 - target) * rest).sum())

    def slope(inverse: float) -> float:
        every, rest = (special.softmax(one + inverse * log, axis=1) for one in (base, others))
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
    found = np.empty(len(y), dtype=np.int32)
    start = 0  # classes go on where the one before ended, so that folds are equally large
    for g in present.tolist():
        cases = rng.permutation(np.flatnonzero(y == g))
        found[cases] = (start + np.arange(len(cases))) % folds
        start += len(cases)
    return found


def cross_validated(
    predict: Predict,
    y: np.ndarray,
    rng: np.random.Generator,
    folds: int = FOLDS,
    class_prior: Any = 1.0,
) -> float:
    """Return the tau of predictions of cases that were left out.

    predict : repeats selection and fit with the first rows, and returns the log probabilities of
        the classes of the others, (T, G).
    y : (n,) classes of all cases.
    class_prior : as of `log_base`.
    """
    y = np.asarray(y, dtype=np.intp)
    fold = inner_folds(y, rng, folds)
    tests = [np.flatnonzero(fold == f) for f in range(int(fold.max()) + 1)]
    found, bases = [], []
    for f, test in enumerate(tests):
        train = np.flatnonzero(fold != f)
        found.append(predict(train, test))
        counts = np.bincount(y[train], minlength=found[-1].shape[1])
        bases.append(np.tile(log_base(counts, class_prior), (len(test), 1)))
    return fit_temperature(np.concatenate(found), y[np.concatenate(tests)], np.concatenate(bases))
