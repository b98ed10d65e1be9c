"""What people use today, beside the Bayesian logistic model of discrete features (Chapter 3).

All are scikit-learn's.  X (n, p) holds codes from 0; a code below 0 is a missing value or one that
no training case has, which the methods do not tell apart.

| method                       | features                   | missing or unseen                    |
|------------------------------|----------------------------|--------------------------------------|
| logistic-regression, ridge   | one-hot                    | no column of the feature is set      |
| pairwise-logistic-regression | and all products of values | no column of the feature is set      |
| and pairwise-ridge           | of two features            |                                      |
| random-forest                | one-hot                    | no column of the feature is set      |
| gradient-boosting            | categorical                | a category; where no training case   |
|                              |                            | has it, to the side with most cases  |
| naive-bayes                  | categorical                | a category, also where no training   |
|                              |                            | case has it                          |

scikit_peers says how each is tuned.  To the n training cases one more is added, shared by the
classes equally: no P(class) is 0.
"""

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from thesiskit.errors import DataError, UserError

METHODS: tuple[str, ...] = (
    "logistic-regression",
    "pairwise-logistic-regression",
    "random-forest",
    "gradient-boosting",
    "naive-bayes",
)
REGRESSION_METHODS: tuple[str, ...] = (
    "ridge",
    "pairwise-ridge",
    "random-forest",
    "gradient-boosting",
)


def load(methods: Iterable[str]) -> None:
    """Import what the methods, of either kind of response, need: no first fit is charged for it."""
    for method in methods:
        _check(method, tuple(dict.fromkeys(METHODS + REGRESSION_METHODS)))
        importlib.import_module("thesiskit.models.peers.scikit")


def fit_predict(
    method: str,
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    n_values,
    n_classes: int,
    seed: int,
) -> np.ndarray:
    """Return P(class) for the test cases, (T, n_classes): positive, each row summing to 1.

    `train` (n, p) and `test` (T, p) hold codes 0..n_values-1 of each feature, `n_values` (p,), or
    codes below 0; `response` (n,) holds classes 0..n_classes-1.  `seed` matters to all methods but
    naive-bayes: folds, trees, validation cases.  Raises UserError for an unknown method, DataError
    for no training case.
    """
    _check(method, METHODS)
    _need_cases(method, train)
    from thesiskit.models.peers import scikit as scikit_peers

    if n_classes == 1:
        return np.ones((len(test), 1))
    response = np.asarray(response, dtype=np.int64)
    if method == "logistic-regression":
        model = scikit_peers.logistic_regression(response, seed)
    elif method == "pairwise-logistic-regression":
        model = scikit_peers.logistic_regression(response, seed, scikit_peers.PAIRWISE_CS)
    elif method == "random-forest":
        model = scikit_peers.random_forest(True, seed)
    elif method == "gradient-boosting":
        model = scikit_peers.gradient_boosting(train.shape[1], response, seed)
    else:
        model = scikit_peers.naive_bayes(np.asarray(n_values) + 1)
    train, test = _tables(method, train, test, n_values)
    return scikit_peers.predict_classes(model, train, response, test, n_classes)


def fit_predict_response(
    method: str,
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    n_values,
    seed: int,
) -> np.ndarray:
    """Return predictions of a continuous response for the test cases, (T,), in its units.

    As `fit_predict`, with REGRESSION_METHODS and finite `response` (n,); the ridges ignore `seed`.
    """
    _check(method, REGRESSION_METHODS)
    _need_cases(method, train)
    from thesiskit.models.peers import scikit as scikit_peers

    response = np.asarray(response, dtype=float)
    if method == "random-forest":
        model = scikit_peers.random_forest(False, seed)
    elif method == "gradient-boosting":
        model = scikit_peers.gradient_boosting_response(train.shape[1], len(train), seed)
    else:
        model = scikit_peers.ridge()
    train, test = _tables(method, train, test, n_values)
    return scikit_peers.predict_response(model, train, response, test)


def _check(method: str, choices: tuple[str, ...]) -> None:
    if method not in choices:
        raise UserError(f"unknown method {method}: choose from {', '.join(choices)}")


def _need_cases(method: str, train: np.ndarray) -> None:
    if len(train) == 0:
        raise DataError(f"{method} needs at least one training case")


def _tables(method: str, train: np.ndarray, test: np.ndarray, n_values) -> tuple[Any, Any]:
    """Return train and test as the method takes them; without columns where no value is known."""
    from thesiskit.models.peers.scikit import one_hot, with_products

    if not (train >= 0).any():
        return train[:, :0], test[:, :0]
    if method == "gradient-boosting":
        return np.where(train < 0, np.nan, train), np.where(test < 0, np.nan, test)
    if method == "naive-bayes":
        return np.where(train < 0, n_values, train), np.where(test < 0, n_values, test)
    columns, wanted = _expressed(one_hot(train, n_values), one_hot(test, n_values))
    if method.startswith("pairwise"):
        return _expressed(with_products(columns), with_products(wanted))
    if method == "random-forest":  # five times as fast as from a sparse table
        return columns.toarray(), wanted.toarray()
    return columns, wanted


def _expressed(train: Any, test: Any) -> tuple[Any, Any]:
    """Leave out the columns that are 0 in all training cases: their coefficients would be 0."""
    kept = np.unique(train.indices)
    return train[:, kept], test[:, kept]
