"""What sequence_peers and feature_peers take from scikit-learn: its models, fitted in one way.

Importing this takes a second: those two do it when a method needs it.
"""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import PolynomialFeatures
from threadpoolctl import threadpool_limits

CS = np.logspace(-4, 4, 10)  # of logistic regression
PAIRWISE_CS = np.logspace(-5, 3, 9)  # more columns, more shrinkage
TREES = 500


def one_hot(X: np.ndarray, n_values) -> sparse.csr_array:
    """Return a column for each value of each feature, (n, sum of n_values).

    X (n, p) holds codes 0..n_values-1, n_values being (p,) or a number; a code below 0 (missing or
    unseen) leaves the columns of its feature 0.
    """
    n_values = np.broadcast_to(np.asarray(n_values, dtype=np.int64), X.shape[1])
    start = np.cumsum(n_values) - n_values
    case, feature = np.nonzero(X >= 0)
    entries = np.ones(len(case)), (case, start[feature] + X[case, feature])
    return sparse.csr_array(entries, shape=(len(X), n_values.sum()))


def with_products(columns: sparse.csr_array) -> sparse.csr_array:
    """Return the columns and all products of two; those of one feature's values are 0."""
    expand = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    return sparse.csr_array(expand.fit_transform(columns))


def logistic_regression(response: np.ndarray, seed: int, grid: np.ndarray = CS) -> Any:
    """Multinomial, L2; C is the best of the grid by log loss on five shuffled folds.

    Each fold must hold each class: fewer folds where a class has fewer cases, and C = 1 where a
    class has one.
    """
    model = LogisticRegression(max_iter=1000)
    folds = min(5, _rarest(response))
    if folds < 2:
        return model
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return GridSearchCV(model, {"C": grid}, scoring=_mean_log_probability, cv=splitter)


def _mean_log_probability(model: Any, rows: Any, response: np.ndarray) -> float:
    """The score "neg_log_loss", whose checks of what it is given take as long as the fits."""
    p = model.predict_proba(rows)[np.arange(len(response)), model.classes_.searchsorted(response)]
    return float(np.log(np.maximum(p, np.finfo(p.dtype).eps)).mean())


def ridge() -> Any:
    """Linear, L2; the penalty is the best of 1 / PAIRWISE_CS by leave-one-out squared error."""
    return RidgeCV(1 / PAIRWISE_CS)


def random_forest(classes: bool, seed: int) -> Any:
    """500 trees, of classes or of a continuous response; all else by default."""
    forest = RandomForestClassifier if classes else RandomForestRegressor
    return forest(TREES, random_state=seed)


def gradient_boosting(p: int, response: np.ndarray, seed: int) -> Any:
    """Histogram gradient boosting on p categorical features, NaN a category of its own.

    A tenth of the cases says when to stop, by the defaults, where it can hold every class.
    """
    n_seen = len(np.unique(response))
    stop = _rarest(response) > 1 and np.ceil(0.1 * len(response)) >= n_seen
    return HistGradientBoostingClassifier(
        categorical_features=list(range(p)), early_stopping=bool(stop), random_state=seed
    )


def gradient_boosting_response(p: int, n: int, seed: int) -> Any:
    """As `gradient_boosting`, of a continuous response; a tenth must be two cases."""
    return HistGradientBoostingRegressor(
        categorical_features=list(range(p)), early_stopping=n > 10, random_state=seed
    )


def naive_bayes(n_values: np.ndarray) -> Any:
    """Categorical naive Bayes, n_values (p,), adding one case to each value in each class."""
    return CategoricalNB(min_categories=n_values)


def predict_classes(
    model: Any, train: Any, response: np.ndarray, test: Any, n_classes: int
) -> np.ndarray:
    """Fit the classes seen; then add to the n cases one more, shared by all classes equally.

    Return (T, n_classes).  Without columns, or with one class seen, the frequencies of the classes
    are the fit.
    """
    counts = np.bincount(response, minlength=n_classes)
    seen = np.flatnonzero(counts)
    n = len(response)
    answer = np.tile(counts / n, (test.shape[0], 1))
    if train.shape[1] > 0 and len(seen) > 1:
        answer[:, seen] = _fit_predict(model, "predict_proba", train, response, test)
    answer = (n * answer + 1 / n_classes) / (n + 1)
    return answer / answer.sum(axis=1, keepdims=True)


def predict_response(model: Any, train: Any, response: np.ndarray, test: Any) -> np.ndarray:
    """Return (T,); without columns, or from one case, the mean of the response."""
    if train.shape[1] == 0 or len(response) == 1:
        return np.full(test.shape[0], response.mean())
    return _fit_predict(model, "predict", train, response, test)


def _fit_predict(model: Any, how: str, train: Any, response: np.ndarray, test: Any) -> np.ndarray:
    # one thread: on a busy machine OpenMP's waiting threads cost tenfold on data this small
    with threadpool_limits(1), warnings.catch_warnings():
        # a C for which 1000 iterations are too few is judged by where they led
        warnings.simplefilter("ignore", ConvergenceWarning)
        return getattr(model.fit(train, response), how)(test)


def _rarest(response: np.ndarray) -> int:
    return int(np.unique(response, return_counts=True)[1].min())
