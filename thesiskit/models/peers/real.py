"""Classifiers of real features and any number of classes, to compare with.

| method            | what it is                                              | features      |
|-------------------|---------------------------------------------------------|---------------|
| gaussian-nb       | scikit-learn's SelectKBest (F statistic) and GaussianNB | k best        |
| nearest-centroids | nearest shrunken centroids, the shrinkage tuned         | all           |
| lasso             | logistic regression with an L1 penalty, which is tuned; | best SCREENED |
|                   | of more than two classes each against the others        |               |
| random-forest     | scikit-learn's, 500 trees, all else by default          | all           |

Tuning is by the log loss of five stratified folds of the training cases, in which everything is
done again, the choice of the best features too.  Nearest shrunken centroids are those of
Tibshirani, Hastie, Narasimhan and Chu (2002, PNAS 99, 6567-6572); scikit-learn's NearestCentroid
has the same centroids, but its log odds are more than twice those of the paper.

To the n training cases one more is added, shared by the classes equally, so that no probability is
0; but not with gaussian-nb, which is scikit-learn's as it is.  A missing value is the mean of its
feature in the training cases.
"""

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from thesiskit.models.peers.filling import with_means

METHODS = ("gaussian-nb", "nearest-centroids", "lasso", "random-forest")
SCREENED = 500  # features of lasso: those with the largest F statistics in its training cases
PENALTIES = np.logspace(0.15, 2.3, 8)  # C of lasso, times the smallest with which a feature is used
THRESHOLDS = 30  # of nearest-centroids, from 0 to that which shrinks all to one centroid
FOLDS = 5

# of training cases, their classes (all of 0..G-1), other cases, and values to choose from, to
# P(class) (choices, T, G)
Path = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def fit_predict(
    method: str,
    k: int,
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    n_classes: int,
    seed: int,
) -> np.ndarray:
    """Return P(class 1) of the test cases, (T,); of more than two classes P(class), (T, G).

    train (n, p), test (T, p) : real features; response (n,) has codes 0..n_classes-1.
    k : how many features gaussian-nb selects.
    """
    response = np.asarray(response, dtype=np.int64)
    train, test = with_means(train, test)
    varies = np.ptp(train, axis=0) > 0
    if not varies.all():
        train, test = train[:, varies], test[:, varies]
    counts = np.bincount(response, minlength=n_classes)
    seen = np.flatnonzero(counts)
    n = len(response)
    answer = np.tile(counts / n, (len(test), 1))
    if len(seen) > 1 and train.shape[1] > 0 and (k > 0 or method != "gaussian-nb"):
        codes = np.searchsorted(seen, response)
        with threadpool_limits(1):  # more threads add numbers in another order
            answer[:, seen] = _answer(method, train, codes, test, k, seed)
    if method != "gaussian-nb":
        answer = (n * answer + 1 / n_classes) / (n + 1)
    return answer[:, 1] if n_classes == 2 else answer


# ---- the methods: of varying columns and classes 0..G-1, P(class) (T, G) ----


def _answer(
    method: str, train: np.ndarray, response: np.ndarray, test: np.ndarray, k: int, seed: int
) -> np.ndarray:
    if method == "gaussian-nb":
        return _gaussian_nb(train, response, test, k)
    if method == "nearest-centroids":
        most = np.abs(Centroids(train, response).distance).max()
        thresholds = np.linspace(0, most, THRESHOLDS)
        return _tuned(_centroid_path, thresholds, train, response, test, seed)
    if method == "lasso":
        path = partial(_lasso_path, seed=seed)
        return _tuned(path, PENALTIES, train, response, test, seed)
    from thesiskit.models.peers import scikit

    return scikit.random_forest(True, seed).fit(train, response).predict_proba(test)


def _gaussian_nb(train: np.ndarray, response: np.ndarray, test: np.ndarray, k: int) -> np.ndarray:
    from sklearn.naive_bayes import GaussianNB

    best = _best(train, response, k)
    return GaussianNB().fit(train[:, best], response).predict_proba(test[:, best])


def _best(train: np.ndarray, response: np.ndarray, k: int) -> np.ndarray:
    """Return the columns with the k largest F statistics, in the order of the table."""
    from sklearn.feature_selection import f_classif

    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a column is constant within its classes
        f = f_classif(train, response)[0]
    f[np.isnan(f)] = -1
    return np.sort(np.argsort(-f, kind="stable")[:k])


def _tuned(
    path: Path,
    choices: np.ndarray,
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Return what a method predicts with the choice that has the lowest log loss in folds.

    Where a class has one case nothing is tuned: the choice is that in the middle.
    """
    from sklearn.model_selection import StratifiedKFold

    folds = min(FOLDS, int(np.bincount(response).min()))
    if folds < 2:
        return path(train, response, test, choices[len(choices) // 2 :][:1])[0]
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    loss = np.zeros(len(choices))
    for rows, others in splitter.split(train, response):
        p = path(train[rows], response[rows], train[others], choices)
        actual = p[:, np.arange(len(others)), response[others]]
        loss -= np.log(np.maximum(actual, np.finfo(float).eps)).sum(axis=1)
    return path(train, response, test, choices[loss.argmin()][None])[0]


# ---- nearest shrunken centroids ----


class Centroids:
    """The centroids of the classes before they are shrunken, of all columns.

    Attributes
    ----------
    mean : (p,) of all cases.
    unit (G, p) : by what the distance of a class from the mean is divided: its standard error,
        with the standard deviation within classes plus the median of these.
    distance (G, p) : that distance in such units.
    deviation : (p,) by which cases are divided.
    log_prior : (G,) log frequencies of the classes.
    """

    def __init__(self, train: np.ndarray, response: np.ndarray):
        n, counts = len(train), np.bincount(response)
        means = np.array([train[response == g].mean(axis=0) for g in range(len(counts))])
        within = sum(((train[response == g] - means[g]) ** 2).sum(axis=0)
                     for g in range(len(counts)))  # fmt: skip
        deviation = np.sqrt(within / max(1, n - len(counts)))
        median = np.median(deviation)
        self.deviation = deviation + (median if median > 0 else deviation.mean() or 1.0)
        self.mean = train.mean(axis=0)
        self.unit = np.sqrt(1 / counts - 1 / n)[:, None] * self.deviation
        self.distance = (means - self.mean) / self.unit
        self.log_prior = np.log(counts / n)

    def predict(self, test: np.ndarray, threshold: float) -> np.ndarray:
        """Return P(class) of cases (T, G), with the distances shrunken by a threshold."""
        distance = np.sign(self.distance) * np.maximum(np.abs(self.distance) - threshold, 0)
        used = distance.any(axis=0)  # others add the same to all classes
        scale = self.deviation[used]
        cases = (test[:, used] - self.mean[used]) / scale
        centroids = distance[:, used] * self.unit[:, used] / scale
        score = cases @ centroids.T - (centroids**2).sum(axis=1) / 2 + self.log_prior
        score -= score.max(axis=1, keepdims=True)
        return np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)


def _centroid_path(
    train: np.ndarray, response: np.ndarray, test: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    fitted = Centroids(train, response)
    return np.array([fitted.predict(test, threshold) for threshold in thresholds])


# ---- logistic regression with an L1 penalty ----


def _lasso_path(
    train: np.ndarray, response: np.ndarray, test: np.ndarray, penalties: np.ndarray, seed: int
) -> np.ndarray:
    best = _best(train, response, SCREENED)
    mean, deviation = train[:, best].mean(axis=0), train[:, best].std(axis=0)
    deviation[deviation == 0] = np.inf  # constant in a fold
    known, new = (train[:, best] - mean) / deviation, (test[:, best] - mean) / deviation
    classes = range(1, 2) if response.max() == 1 else range(response.max() + 1)
    found = np.array([
        _lasso_of_class(known, response == g, new, penalties, seed) for g in classes
    ])  # fmt: skip
    p = np.concatenate([1 - found, found]) if len(found) == 1 else found
    return np.moveaxis(p / p.sum(axis=0), 0, -1)


def _lasso_of_class(
    train: np.ndarray, member: np.ndarray, test: np.ndarray, penalties: np.ndarray, seed: int
) -> np.ndarray:
    """Return the probability of belonging to a class, (penalties, T)."""
    from sklearn.exceptions import ConvergenceWarning

    steepest = np.abs(train.T @ (member - member.mean())).max()
    if steepest == 0:
        return np.full((len(penalties), len(test)), member.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # judged by where it led
        return np.array([
            _l1_logistic(C / steepest, seed).fit(train, member).predict_proba(test)[:, 1]
            for C in penalties
        ])  # fmt: skip


def _l1_logistic(C: float, seed: int) -> Any:
    """Return the model; liblinear is quick, and penalises a large intercept a little."""
    from sklearn.linear_model import LogisticRegression

    # scikit-learn 1.8 gave the penalty another name
    known = inspect.signature(LogisticRegression).parameters.get("penalty")
    old = known is not None and known.default == "l2"
    how: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    return LogisticRegression(
        C=C, solver="liblinear", intercept_scaling=10, tol=1e-3, random_state=seed, **how
    )
