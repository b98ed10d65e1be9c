"""The path of the lasso: regressions with an L1 penalty of the best features."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
from scipy import special
from threadpoolctl import threadpool_limits

from thesiskit._kernels.lasso import Path

SCREENED = 500  # features of lasso: those with the largest F statistics in its training samples
PENALTIES = np.logspace(0.15, 2.3, 8)  # C of lasso, times the smallest with which a feature is used
# of a real response, times the largest with which a feature is used
REAL_PENALTIES = np.logspace(-0.15, -3, 20)
REAL_STEPS = {"tol": 1e-3, "max_iter": 2000}
TOLERANCE = 1e-4  # of slopes, in penalties of a coefficient
INTERCEPT = 10.0  # the column of intercepts, whose coefficients are penalised: the larger, the less


@contextmanager
def quietly() -> Iterator[None]:
    """Fit on one thread, and without scikit-learn's warnings and checks.

    Its checks cost half of the time of a small fit.  More threads add numbers in another order, and
    OpenMP's waiting threads cost tenfold on data this small.  A column that is constant has F =
    0 / 0 and is ranked last; a penalty for which the iterations were too few (a UserWarning too) is
    judged by where they led.
    """
    library = sys.modules.get("sklearn")  # takes seconds to load, and not every method needs it
    unchecked = {"assume_finite": True, "skip_parameter_validation": True}
    with (
        library.config_context(**unchecked) if library else nullcontext(),
        threadpool_limits(1),
        np.errstate(divide="ignore", invalid="ignore"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)
        yield


def f_statistics(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return F of standardised columns, 0 of constant ones, a large number where it is infinite.

    y : (n,) classes, or a real response.
    """
    n, real = len(z), y.dtype.kind == "f"
    G = 2 if real else int(y.max()) + 1
    basis = (y - y.mean())[None] if real else (y == np.arange(G)[:, None]).astype(float)
    basis /= np.maximum(np.linalg.norm(basis, axis=1, keepdims=True), np.finfo(float).tiny)
    between = np.square(basis @ z).sum(axis=0)
    within = np.maximum(np.einsum("ij,ij->j", z, z) - between, 1e-12 * n)
    return between / (G - 1) / (within / max(1, n - G))


def best_columns(z: np.ndarray, y: np.ndarray, many: int) -> np.ndarray:
    """Return the standardised columns with the largest F statistics, in the order of the table."""
    if many >= z.shape[1]:
        return np.arange(z.shape[1])
    return np.sort(np.argsort(-f_statistics(z, y), kind="stable")[:many])


def lasso_path(
    columns: np.ndarray, codes: np.ndarray, penalties: np.ndarray
) -> Iterator[dict[str, np.ndarray]]:
    """Yield a fit of the best columns, standardised, with each of growing penalties C."""
    mean, deviation = columns.mean(axis=0), columns.std(axis=0)
    deviation[deviation == 0] = np.inf  # constant in a fold
    z = (columns - mean) / deviation
    best = best_columns(z, codes, SCREENED)
    standard = {"best": best, "mean": mean[best], "deviation": deviation[best]}
    rows = np.full((len(best) + 1, len(columns)), INTERCEPT)  # which all paths share
    rows[:-1] = z[:, best].T
    first = int(codes.max() == 1)  # of two classes the second one says all
    members = [(codes == g).astype(float) for g in range(first, codes.max() + 1)]
    steepest = [np.abs(rows[:-1] @ (member - member.mean())).max() for member in members]
    paths = [Path(rows, member) for member in members]
    for penalty in penalties:
        fits = np.zeros((len(members), len(rows)))
        for g, member in enumerate(members):
            if steepest[g]:
                fits[g] = paths[g].minimise(penalty / steepest[g], TOLERANCE)
            else:
                fits[g, -1] = special.logit(member.mean()) / INTERCEPT
        yield standard | {"coef_": fits[:, :-1], "intercept_": fits[:, -1] * INTERCEPT}


def real_lasso_path(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the coefficients with each penalty, intercepts last, (L, p + 1); 0 of most columns."""
    from sklearn.linear_model import lasso_path

    centre, mean = columns.mean(axis=0), y.mean()
    z, away = columns - centre, y - mean
    best = best_columns(z, y, SCREENED)
    samples = z[:, best]
    penalties = REAL_PENALTIES * np.abs(samples.T @ away).max() / len(y)
    path = np.zeros((len(penalties), columns.shape[1] + 1))
    if penalties.any():
        path[:, best] = lasso_path(samples, away, alphas=penalties, **REAL_STEPS)[1].T
    path[:, -1] = mean - path[:, :-1] @ centre
    return path


def one_against_others(scores: np.ndarray) -> np.ndarray:
    """Return P(class), (T, G), from log odds of each class against all others, (T, G).

    The probabilities of the classes are divided by their sum, on the log scale: for a sample far
    from the training samples all of them can underflow.
    """
    return special.softmax(special.log_expit(scores), axis=1)
