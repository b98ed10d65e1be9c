"""Predictions of Gaussian processes."""

from collections.abc import Iterator

import numpy as np
from scipy import linalg, special

from thesiskit.errors import UserError
from thesiskit.models.logistic import check_sigma, expected_logistic_gaussian
from thesiskit.models.logistic.agreement import judged_probabilities
from thesiskit.models.priors import whole
from thesiskit.models.process.inputs import (
    KINDS,
    Relation,
    agreement,
    as_codes,
    check_order,
    covariance,
)
from thesiskit.models.process.sampler import Draws, Judged, Process
from thesiskit.models.running import Arrays
from thesiskit.models.until import names_of_cases, spread


def predict(
    draws: Draws, X, rng: np.random.Generator, split_draws: int = 1, *, alone: bool = False
) -> np.ndarray:
    """Return P(class) for test cases X (n, p), (n, K), averaged over the draws.

    Given a draw, l(x) is Gaussian: its logistic function is integrated exactly, and for more than
    two classes the softmax is averaged over `split_draws` values.  States or features may be
    unseen (any negative code of a history, a code below MISSING of a feature).

    alone : all cases have the same random numbers, so that none depends on which others there are.
    """
    process = draws.process
    split_draws = whole("split_draws", split_draws)
    distinct, index = _test_cases(process, X)
    total = np.zeros((len(distinct[0]), process.n_classes))
    for mean, sd in _given_draws(draws, *distinct):
        if process.sets == 1:
            one = expected_logistic_gaussian(mean[0], sd)
            total += np.stack([1 - one, one], axis=1)
            continue
        shape = (len(mean), 1) if alone else mean.shape
        values = mean + sd * rng.normal(size=(split_draws, *shape))
        total += special.softmax(values, axis=1).mean(axis=0).T
    return (total / total.sum(axis=1, keepdims=True))[index]


def probabilities(draws: Draws, X, rng: np.random.Generator) -> np.ndarray:
    """Return draws of P(class) for test cases X (n, p), one for each of the draws, (D, n, K).

    `predict` has their mean.  Given a draw, cases are drawn independently of one another: each
    has the right distribution, several together do not.
    """
    distinct, index = _test_cases(draws.process, X)
    found = []
    for mean, sd in _given_draws(draws, *distinct):
        values = mean + sd * rng.normal(size=mean.shape)
        if draws.process.sets == 1:
            values = np.concatenate([np.zeros_like(values), values])
        found.append(special.softmax(values, axis=0).T)
    return np.array(found)[:, index]


def judged_at(X, *, test: bool) -> Judged:
    """Return what chains have to agree in: log likelihood, and predictions for some of X (n, p).

    These are rounded probabilities of a class given each draw, as in logistic/agreement.py.
    test : whether X has test cases, or training cases.
    """
    X = np.asarray(X)
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    place = first[spread(len(first))]
    names = names_of_cases("test" if test else "training", place)

    def of(process: Process):
        distinct, index = _test_cases(process, X[place])

        def quantities(drawn: Arrays) -> np.ndarray:
            latent, log_sigma = drawn["latent"][None], drawn["log_sigma"][None]
            draws = Draws(latent, log_sigma, drawn["log_likelihood"][None], process, {})
            means = [mean[:, index] for mean, _ in _given_draws(draws, *distinct)]
            shape = (len(means), process.sets, len(index))
            linear = np.array(means).reshape(shape)
            return np.column_stack([drawn["log_likelihood"], judged_probabilities(linear)])

        return quantities, ["log likelihood", *names]

    return of


def _test_cases(process: Process, X) -> tuple[tuple[np.ndarray, Relation], np.ndarray]:
    """Return how distinct test cases relate to the training ones, and which each case is."""
    X = as_codes(X, f"test {process.words[0]}", process.words[1])
    if X.shape[1] != process.width:
        raise UserError(
            f"training {process.words[0]} have {process.width} {process.words[1]}, "
            f"these {X.shape[1]}"
        )
    index, part, rest = process.inputs.towards(X)
    return (part, rest), index


def _given_draws(
    draws: Draws, part: np.ndarray, rest: Relation
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield means (S, n) and standard deviations (n,) of l(x) given each draw."""
    process, last = draws.process, None
    for latent, log_sigma in zip(*draws.flat, strict=True):
        if last is None or (log_sigma != last).any():
            last, factor = log_sigma, process.factor(log_sigma)
            if factor is None:  # of no chain: chains stay where there are digits
                raise UserError("the draws of sigma leave too few digits to predict with")
            cross, variance = rest(log_sigma)
            weights = linalg.solve_triangular(factor, cross.T, lower=True)
            sd = np.sqrt(np.maximum(variance - (weights**2).sum(axis=0), 0))
        steps = process.inputs.steps(latent)
        mean = steps @ part.T + linalg.solve_triangular(factor, steps.T, lower=True).T @ weights
        yield mean, sd


def normal_posterior(
    X, y, X_test, order: int, sigma, noise: float, patterns: str = "features"
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (T,) and covariance (T, T) of l at X_test given y (N,) = l(X) + noise * N(0, 1).

    sigma (O + 1,).  Unseen features of two test cases count as different.  Digits are lost where
    noise is below 1e-7 of the standard deviation of l.
    """
    words = KINDS[patterns].words
    X, X_test = as_codes(X, *words), as_codes(X_test, f"test {words[0]}", words[1])
    check_order(order, X)
    check_sigma(sigma, order)
    prior = covariance(agreement(X, patterns=patterns), sigma, patterns)
    cross = covariance(agreement(X_test, X, patterns), sigma, patterns)
    factor = linalg.cho_factor(prior + noise**2 * np.eye(len(X)))
    mean = cross @ linalg.cho_solve(factor, np.asarray(y, dtype=float))
    own = covariance(agreement(X_test, patterns=patterns), sigma, patterns)
    return mean, own - cross @ linalg.cho_solve(factor, cross.T)
