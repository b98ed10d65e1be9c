"""Models to compare with, of scikit-learn.

Selection followed by Bernoulli naive Bayes takes binary features; logistic regression takes all
features as they are.  More methods of features as they are stand in `real`.
"""

import warnings
from collections.abc import Callable, Iterable

import numpy as np
from threadpoolctl import threadpool_limits

from thesiskit.errors import DataError

# of training rows and other rows, by their numbers, to P(y = 1) of the latter, (T,); of more than
# two classes to P(class), (T, G)
Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]
WHOLE_CS = np.logspace(-3, 5, 9)  # for rows whose mean squared length is 1


def load() -> None:
    """Import scikit-learn, so that its import is not counted in the time of the first fit."""
    import sklearn.calibration
    import sklearn.feature_selection
    import sklearn.naive_bayes  # noqa: F401

    import thesiskit.models.peers.real
    import thesiskit.models.peers.scikit  # noqa: F401


def fit_predict(
    method: str, k: int, train: np.ndarray, response: np.ndarray, test: np.ndarray, seed: int
) -> np.ndarray:
    """Return P(y* = 1) for the test rows, (T,).

    `bernoulli-nb` is SelectKBest (the F statistic, which orders features as |COR| does) followed
    by BernoulliNB; `bernoulli-nb-calibrated` puts that pipeline, selection included, inside
    CalibratedClassifierCV with its defaults on five shuffled folds, as scikit-learn's manual
    advises.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_selection import SelectKBest, f_classif
    from sklearn.model_selection import StratifiedKFold
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.pipeline import make_pipeline

    if k == 0:  # no feature passes the threshold: predict the base rate
        return np.full(len(test), response.mean())
    model = make_pipeline(SelectKBest(f_classif, k=k), BernoulliNB())
    if method == "bernoulli-nb-calibrated":
        folds = min(5, int(np.bincount(response.astype(int)).min()))
        if folds < 2:
            raise DataError("bernoulli-nb-calibrated needs two training cases of each class")
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        model = CalibratedClassifierCV(model, cv=splitter)
    # constant columns have F = 0 / 0: scikit-learn warns, and ranks them last
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(train, response).predict_proba(test)[:, 1]


def cross_validated(predict: Predict, response: np.ndarray, seed: int) -> float:
    """Return the error rate that a peer promises by cross-validation of the table it was given.

    predict : takes numbers of training rows and of other rows, and returns P(y = 1) of these, or
        P(class).

    Ten shuffled folds, or as many as the smaller class has cases; NaN where it has one.
    """
    from sklearn.model_selection import StratifiedKFold

    folds = min(10, int(np.bincount(response.astype(int)).min()))
    if folds < 2:
        return float("nan")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    wrong = 0
    for train, test in splitter.split(response, response):
        p = predict(train, test)
        told = p >= 0.5 if p.ndim == 1 else p.argmax(axis=1)
        wrong += int((told != response[test]).sum())
    return wrong / len(response)


def fill(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return tables of 0 and 1 where a missing value (NaN) is the majority of its training column.

    Of 0 and 1 equally often it is 0.
    """
    if train.dtype.kind != "f" and test.dtype.kind != "f":
        return train, test
    missing = np.isnan(train)
    ones = np.where(missing, 0, train).sum(axis=0)
    majority = 2 * ones > (~missing).sum(axis=0)
    filled = (np.where(np.isnan(one), majority, one) for one in (train, test))
    first, second = (one.astype(np.uint8) for one in filled)
    return first, second


def l2_logistic(
    blocks: Iterable[np.ndarray],
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    seed: int,
    n_classes: int = 2,
) -> np.ndarray:
    """Return P(y* = 1) for the test rows, (T,), by logistic regression of all columns.

    Of more than two classes it is P(class), (T, G).

    blocks (cases, .) : all columns, in parts; they hold numbers of any kind.
    train (n,), test (T,) : numbers of rows; response (n,) is of the training rows.

    Columns are standardised by the training rows; a missing value is their mean.  The penalty of
    the squared coefficients is the one with the lowest log loss in five shuffled folds of the
    training rows, among WHOLE_CS.
    """
    from thesiskit.models.peers import scikit

    response = np.asarray(response, dtype=np.int64)
    with threadpool_limits(1):  # more threads add numbers in another order
        known, new = _as_short_rows(blocks, train, test)
    model = scikit.logistic_regression(response, seed, WHOLE_CS)
    found = scikit.predict_classes(model, known, response, new, n_classes)
    return found[:, 1] if n_classes == 2 else found


def _as_short_rows(
    blocks: Iterable[np.ndarray], train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Standardise the columns, and rotate them where there are more columns than training rows.

    The penalty does not change if the space of coefficients is rotated, and the coefficients are
    zero outside the space of the training rows.  So n coordinates (at most) say as much as p
    columns, and they follow from the inner products of the rows.  A wide table is never held whole.
    """
    n, width, varying = len(train), 0, 0
    pending: list[tuple[np.ndarray, np.ndarray]] = []
    inner, across = np.zeros((0, 0)), np.zeros((0, 0))
    for block in blocks:
        known, new, varies = _standardised(block[train], block[test])
        pending.append((known, new))
        width += block.shape[1]
        varying += varies
        if width <= n:
            continue
        if not inner.size:
            inner, across = np.zeros((n, n)), np.zeros((len(test), n))
        for one, other in pending:
            inner += one @ one.T
            across += other @ one.T
        pending = []
    length = max(1, varying)  # the mean square of a row, which becomes 1
    if width <= n:
        first, second = (np.hstack(parts) for parts in zip(*pending, strict=True))
        return first / np.sqrt(length), second / np.sqrt(length)
    squares, vectors = np.linalg.eigh(inner / length)
    kept = squares > 1e-10 * max(squares[-1], 1e-300)
    lengths = np.sqrt(squares[kept])
    vectors = vectors[:, kept]
    return vectors * lengths, across / length @ vectors / lengths


def _standardised(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the columns with mean 0 and variance 1 over the training rows, and how many vary."""
    train, test = train.astype(float), test.astype(float)
    missing = np.isnan(train)
    mean = np.where(missing, 0, train).sum(axis=0) / np.maximum(1, (~missing).sum(axis=0))
    train, test = train - mean, test - mean
    train[missing] = 0
    test[np.isnan(test)] = 0
    deviation = np.sqrt((train**2).mean(axis=0))
    varies = deviation > 1e-12 * np.abs(mean)
    deviation[~varies] = np.inf  # a constant column says nothing, also where test rows differ
    return train / deviation, test / deviation, int(varies.sum())
