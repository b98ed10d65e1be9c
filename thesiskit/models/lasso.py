"""The path of the lasso: regressions with an L1 penalty of the best features."""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

SCREENED = 500  # features of lasso: those with the largest F statistics in its training samples
PENALTIES = np.logspace(0.15, 2.3, 8)  # C of lasso, times the smallest with which a feature is used
# of a real response, times the largest with which a feature is used
REAL_PENALTIES = np.logspace(-0.15, -3, 20)
REAL_STEPS = {"tol": 1e-3, "max_iter": 2000}


@contextmanager
def quietly() -> Iterator[None]:
    """Fit on one thread, and without scikit-learn's warnings and checks.

    Its checks cost half of the time of a lasso.  More threads add numbers in another order, and
    OpenMP's waiting threads cost tenfold on data this small.  A column that is constant has F =
    0 / 0 and is ranked last; a penalty for which the iterations were too few (a UserWarning too) is
    judged by where they led.
    """
    import sklearn
    from threadpoolctl import threadpool_limits

    with (
        sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
        threadpool_limits(1),
        np.errstate(divide="ignore", invalid="ignore"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)
        yield


def best_columns(columns: np.ndarray, codes: np.ndarray, many: int) -> np.ndarray:
    """Return the columns with the largest F statistics, in the order of the table.

    codes : (n,) classes, or a real response.
    """
    from sklearn.feature_selection import f_classif, f_regression

    f = (f_regression if codes.dtype.kind == "f" else f_classif)(columns, codes)[0]
    f[np.isnan(f)] = -1
    return np.sort(np.argsort(-f, kind="stable")[:many])


def lasso_path(
    columns: np.ndarray, codes: np.ndarray, penalties: np.ndarray, seed: int
) -> Iterator[dict[str, np.ndarray]]:
    """Yield a fit of the best columns, standardised, with each penalty."""
    from sklearn.linear_model import LogisticRegression

    best = best_columns(columns, codes, SCREENED)
    mean, deviation = columns[:, best].mean(axis=0), columns[:, best].std(axis=0)
    deviation[deviation == 0] = np.inf  # constant in a fold
    standard = {"best": best, "mean": mean, "deviation": deviation}
    # it is quick, and penalises a large intercept a little
    options = {"solver": "liblinear", "intercept_scaling": 10, "tol": 1e-3, "random_state": seed}
    known = (columns[:, best] - mean) / deviation
    members = [codes == g for g in (range(1, 2) if codes.max() == 1 else range(codes.max() + 1))]
    steepest = [np.abs(known.T @ (member - member.mean())).max() for member in members]
    for penalty in penalties:
        coefficient, intercept = np.zeros((len(members), len(best))), np.zeros(len(members))
        for g, member in enumerate(members):
            if steepest[g] == 0:
                intercept[g] = np.log(member.mean() / (1 - member.mean()))
                continue
            model = LogisticRegression(C=penalty / steepest[g], **options, **_l1())
            coefficient[g] = model.fit(known, member).coef_[0]
            intercept[g] = model.intercept_[0]
        yield standard | {"coef_": coefficient, "intercept_": intercept}


@cache
def _l1() -> dict[str, Any]:
    """Return how scikit-learn is asked for an L1 penalty, which has another name since 1.8."""
    from sklearn.linear_model import LogisticRegression

    known = inspect.signature(LogisticRegression).parameters.get("penalty")
    old = known is not None and known.default == "l2"
    return {"penalty": "l1"} if old else {"l1_ratio": 1.0}


def real_lasso_path(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the coefficients with each penalty, intercepts last, (L, p + 1); 0 of most columns."""
    from sklearn.linear_model import lasso_path

    best = best_columns(columns, y, SCREENED)
    centre, mean = columns[:, best].mean(axis=0), y.mean()
    samples, away = columns[:, best] - centre, y - mean
    penalties = REAL_PENALTIES * np.abs(samples.T @ away).max() / len(y)
    path = np.zeros((len(penalties), columns.shape[1] + 1))
    if penalties.any():
        path[:, best] = lasso_path(samples, away, alphas=penalties, **REAL_STEPS)[1].T
    path[:, -1] = mean - path[:, best] @ centre
    return path


def one_against_others(scores: np.ndarray) -> np.ndarray:
    """Return P(class), (T, G), from log odds of each class against all others, (T, G).

    The probabilities of the classes are divided by their sum, on the log scale: for a sample far
    from the training samples all of them can underflow.
    """
    from scipy import special

    return special.softmax(special.log_expit(scores), axis=1)
