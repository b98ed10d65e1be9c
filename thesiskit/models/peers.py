"""What experiments compare: `Method`; and third-party methods.

`PEERS` has an object for each of these, by the name in configs.

    task = Task(REALS, classes=3, keep=10)
    learnt = fit("gaussian-nb", task, X, y, seed)        # dict of named arrays
    predict("gaussian-nb", task, learnt, X_new)          # P(class), (T, 3)
    fit_predict("random-forest", task, X, y, X_new, seed)
    names(REALS)                                         # what configs may ask for
    PEERS["gaussian-nb"].words                           # what tables call it

To add a method: a class with two functions, and a line in `PEERS`.  What an `exported` method
learns is named arrays, which a file can hold without a pickle; others keep an object of
scikit-learn.  `l2_logistic` takes a table in parts, which is never held whole.

Tuning is by the log loss of five stratified folds of the training samples, in which everything is
done again, the choice of the best features too; ridges are tuned by leaving samples out.

To the n training samples one is added, shared by the classes equally, so that no probability is 0;
but not with the naive Bayes methods of chapter 2, which are scikit-learn's as they are.

FEATURES have codes from 0; a code below 0 is a missing value or one that no training sample has,
which the methods do not tell apart: no column of the feature is set.  To naive-bayes it is one more
category; to gradient-boosting too, but where no training sample has it, it goes to the side with
most samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thesiskit.defaults import NO_TRANSFORM, RESIDUAL, TEMPERED
from thesiskit.errors import DataError, UserError
from thesiskit.models import pool
from thesiskit.models.base import OWN
from thesiskit.models.lasso import PENALTIES, best_columns, lasso_path, one_against_others, quietly
from thesiskit.models.temperature import column_means, independent_cases, together

Arrays = dict[str, np.ndarray]
# kinds of tasks: features of 0 and 1, or as they are; discrete ones, with classes or with real
# responses; the states before a response
BITS, REALS, SEQUENCES = "bits", "reals", "sequences"
FEATURES, RESPONSES = "features", "real responses"
# of data that have such samples
FAMILIES = {BITS: "table", REALS: "table", SEQUENCES: SEQUENCES, FEATURES: FEATURES,
            RESPONSES: FEATURES}  # fmt: skip

CS = np.logspace(-4, 4, 10)  # of logistic regression
RIDGE_CS = np.logspace(-5, 3, 9)
WHOLE_CS = np.logspace(-3, 5, 9)  # of l2-logistic, for rows whose mean squared length is 1
THRESHOLDS = 30  # of nearest-centroids, from 0 to that which shrinks all to one centroid
FOLDS = 5
LARGEST = 1e100  # of a number in a model file
TREES = 500


@dataclass(frozen=True)
class Task:
    """What is predicted from what.

    kind : BITS, REALS, FEATURES, RESPONSES or SEQUENCES.
    classes : how many there are; it does not matter to RESPONSES.
    keep : BITS, REALS: how many features are kept, by a method that selects.
    values : FEATURES, RESPONSES: how many values each feature has; SEQUENCES: how many states.
    order : SEQUENCES: how many of the last states are used.
    groups : (n,) numbers from 0 of groups of training samples, which folds keep together.
    """

    kind: str
    classes: int = 2
    keep: int = 0
    values: Any = ()
    order: int = 0
    groups: Any = None


class Peer:
    """A third-party method: `learn` and `answer` are what a subclass has to define.

    words : what tables call it.
    takes : the kinds of tasks.
    selects : whether it keeps some features; the others of BITS and REALS take all.
    filled : what replaces a missing value of BITS and REALS, in words.
    adds : whether one more sample is added, shared by the classes.
    normalised : whether probabilities are divided by their sum in the end, too.
    exported : whether all that it learns is arrays.
    encoding : of FEATURES and SEQUENCES as columns: "one-hot"; "dense", the same but not sparse;
        "codes", in which a missing value is one more code; "NaN", in which it is NaN.  Of REALS
        "standardised": by the method itself.
    """

    words: str
    takes: tuple[str, ...]
    selects, filled, adds, normalised, exported = False, "mean", True, False, True
    encoding = "one-hot"

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> dict[str, Any]:
        """Fit to columns (n, .) and classes 0..G-1, each with a sample; or real responses."""
        raise NotImplementedError

    def answer(self, learnt: dict[str, Any], columns: Any) -> np.ndarray:
        """Return P(class), (T, G), or real responses, (T,), by what was learnt."""
        raise NotImplementedError

    def prepare(self, task: Task, table: np.ndarray) -> Arrays:
        """Return what is learnt of columns: what fills gaps, and which of them are used."""
        if task.kind == SEQUENCES or self.encoding in ("codes", "NaN", "standardised"):
            return {}
        if task.kind == BITS:
            return {"filling": majority(table)}
        if task.kind == REALS:
            means = column_means(table)
            return {"filling": means, "varying": np.ptp(filled(table, means), axis=0) > 0}
        return {"expressed": np.unique(one_hot(table, task.values).indices)}

    def columns(self, task: Task, learnt: dict[str, Any], table: np.ndarray) -> Any:
        """Return a table, of training samples or others, as the columns that `learn` takes."""
        if task.kind == BITS:
            return filled(table, learnt["filling"])
        if task.kind == REALS:
            columns = filled(np.asarray(table, dtype=float), learnt["filling"])
            return columns if learnt["varying"].all() else columns[:, learnt["varying"]]
        if task.kind == SEQUENCES:
            states = _histories(task, table)
            return states if self.encoding == "NaN" else one_hot(states, task.values).toarray()
        if self.encoding in ("codes", "NaN"):
            missing = task.values if self.encoding == "codes" else np.nan
            return np.where(table < 0, missing, table)
        # without columns that are 0 in all training samples: their coefficients would be 0
        columns = one_hot(table, task.values)[:, learnt["expressed"]]
        # five times as fast for a forest as from a sparse table
        return columns.toarray() if self.encoding == "dense" else columns

    def base_rate_suffices(self, task: Task, base: Arrays) -> bool:
        """Return whether the base rate is the fit, whatever the features."""
        if task.kind == RESPONSES:
            return base["mean response"][1] == 1
        if self.selects and task.keep == 0:  # no feature passes a threshold
            return True
        return np.count_nonzero(base["counts"]) == 1

    def fit(self, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> dict[str, Any]:
        """Return the base rate, and what is learnt unless the base rate suffices."""
        base, response = _base(task, response)
        discrete = task.kind in (FEATURES, RESPONSES)
        if self.base_rate_suffices(task, base) or (discrete and not (table >= 0).any()):
            return base
        prepared = self.prepare(task, table)
        columns = self.columns(task, prepared, table)
        if columns.shape[1] == 0:
            return base
        with quietly():
            return base | prepared | self.learn(task, columns, response, seed)

    def predict(self, task: Task, learnt: dict[str, Any], table: np.ndarray) -> np.ndarray:
        """Return predictions for samples by what `fit` returned."""
        answer = None
        if len(learnt) > 1:  # more than the base rate
            columns = self.columns(task, learnt, table)
            with quietly():
                answer = self.answer(learnt, columns)
        return self.complete(task, learnt, answer, len(table))

    def complete(
        self, task: Task, base: Arrays, answer: np.ndarray | None, samples: int
    ) -> np.ndarray:
        """Return predictions for all classes from those for the classes seen; None: base rate."""
        if task.kind == RESPONSES:
            return np.full(samples, base["mean response"][0]) if answer is None else answer
        counts = base["counts"]
        n = counts.sum()
        p = np.tile(counts / n, (samples, 1))
        if answer is not None:
            p[:, counts > 0] = answer
        if self.adds:
            p = (n * p + 1 / task.classes) / (n + 1)
        if self.normalised or task.kind in (FEATURES, SEQUENCES):
            p = p / p.sum(axis=1, keepdims=True)
        return p


def names(*kinds: str) -> tuple[str, ...]:
    """Return the names of the methods that take one of some kinds of tasks."""
    return tuple(
        dict.fromkeys(name for kind in kinds for name, peer in PEERS.items() if kind in peer.takes)
    )


def load(methods: Iterable[str]) -> None:
    """Import what the methods need, so that it is not counted in the time of the first fit."""
    if unknown := [method for method in methods if method not in PEERS]:
        raise UserError(f"unknown method {unknown[0]}: choose from {', '.join(PEERS)}")
    from sklearn import (  # noqa: F401
        calibration,
        ensemble,
        feature_selection,
        linear_model,
        model_selection,
        naive_bayes,
    )


# ---- fits, and predictions from them ----


def fit(
    name: str, task: Task, table: np.ndarray, response: np.ndarray, seed: int
) -> dict[str, Any]:
    """Return what a method learns from training samples, as `predict` takes it.

    table : (n, p) features, or states in order of time.
    response : (n,) classes 0..classes-1; real numbers with RESPONSES.
    seed : of folds and trees.

    Raises
    ------
    UserError: the method does not take such samples.
    DataError: there is no training sample.
    """
    if name not in names(task.kind):
        raise UserError(f"unknown method {name}: choose from {', '.join(names(task.kind))}")
    if task.kind == SEQUENCES and not 0 <= task.order <= table.shape[1]:
        raise UserError(f"order is {task.order}, but the histories hold {table.shape[1]} states")
    if len(table) == 0:
        raise DataError(f"{name} needs at least one training sample")
    return PEERS[name].fit(task, table, response, seed)


def predict(name: str, task: Task, learnt: dict[str, Any], table: np.ndarray) -> np.ndarray:
    """Return P(class) of samples, (T, classes), or their real responses, (T,).

    learnt : what `fit` returned for the task.
    """
    return PEERS[name].predict(task, learnt, table)


def fit_predict(
    name: str, task: Task, train: np.ndarray, response: np.ndarray, test: np.ndarray, seed: int
) -> np.ndarray:
    """Return the predictions for test samples (T, p) of a method fitted to training samples."""
    return predict(name, task, fit(name, task, train, response, seed), test)


def check_learnt(name: str, task: Task, learnt: Arrays, width: int) -> None:
    """Raise ValueError, or what arrays that do not fit raise, unless `predict` can take these.

    width : columns of the tables that are predicted from.
    """
    peer = PEERS[name]
    if not peer.exported or task.kind not in peer.takes:
        raise ValueError(f"{name} cannot be exported for such a task")
    for array in learnt.values():
        if array.dtype.kind not in "biuf" or not (np.abs(array.astype(float)) < LARGEST).all():
            raise ValueError("its numbers are no numbers of a fit")
    if "best" in learnt and (learnt["best"] < 0).any():
        raise ValueError("its columns are damaged")
    if "class" in learnt and not ((learnt["class"] >= 0) & (learnt["cases"] > 0)).all():
        raise ValueError("its counts are damaged")
    codes = task.kind != REALS
    p = predict(name, task, learnt, np.zeros((2, width), dtype=int if codes else float))
    if task.kind == RESPONSES:
        if p.shape != (2,) or not np.isfinite(p).all():
            raise ValueError("it predicts no numbers")
    elif p.shape != (2, task.classes) or not np.isfinite(p).all() or (p < 0).any():
        raise ValueError("it predicts no probabilities")


def _base(task: Task, response: np.ndarray) -> tuple[Arrays, np.ndarray]:
    """Return what is known without features, and the responses as a method is given them."""
    if task.kind == RESPONSES:
        response = np.asarray(response, dtype=float)
        return {"mean response": np.array([response.mean(), len(response)])}, response
    response = np.asarray(response, dtype=np.int64)
    counts = np.bincount(response, minlength=task.classes)
    return {"counts": counts}, np.searchsorted(np.flatnonzero(counts), response)


Rows = tuple[np.ndarray, np.ndarray]  # that train, and that are left out


def _folds(
    codes: np.ndarray, seed: int, groups: np.ndarray | None = None, most: int = FOLDS
) -> list[Rows] | None:
    """Return shuffled folds that each hold every class; None where a class has one case.

    Groups (n,) of cases, if given, stay together.
    """
    from sklearn.model_selection import StratifiedKFold

    if groups is not None:
        counts = independent_cases(codes, groups)
        present, rng = np.count_nonzero(counts), np.random.default_rng(seed)
        for n_folds in range(min(most, int(counts[counts > 0].min())), 1, -1):
            fold = together(groups, codes, n_folds, rng)
            numbers = range(int(fold.max()) + 1)
            rows = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in numbers]
            # groups of several classes may leave a class out of what is learnt from
            if all(len(np.unique(codes[train])) == present for train, _ in rows):
                return rows
        return None
    folds = min(most, int(np.bincount(codes).min()))
    if folds < 2:
        return None
    return [*StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, codes)]


def cross_validated(
    predict: Callable[[np.ndarray, np.ndarray], np.ndarray],
    response: np.ndarray,
    seed: int,
    groups: np.ndarray | None = None,
) -> float:
    """Return the error rate that a peer predicts by cross-validation of the table it was given.

    predict : takes numbers of training rows and of other rows, and returns P(y = 1) of these, or
        P(class).

    Ten shuffled folds, or as many as the smaller class has cases; NaN where it has one.
    """
    folds = _folds(response.astype(int), seed, groups, 10)
    if folds is None:
        return float("nan")
    wrong = 0
    for train, test in folds:
        p = predict(train, test)
        told = p >= 0.5 if p.ndim == 1 else p.argmax(axis=1)
        wrong += int((told != response[test]).sum())
    return wrong / len(response)


# ---- tables as columns of numbers ----


def majority(table: np.ndarray) -> np.ndarray:
    """Return the more frequent value of each column of 0, 1 and NaN; of equally frequent ones 0."""
    gone = np.isnan(table)
    return 2 * np.where(gone, 0, table).sum(axis=0) > (~gone).sum(axis=0)


def filled(table: np.ndarray, filling: np.ndarray) -> np.ndarray:
    """Return a table where NaN is the filling of its column, in numbers of the filling's kind.

    filling : (p,) truth values or real numbers.  A table of whole numbers is returned as it is.
    """
    if table.dtype.kind != "f":
        return table
    whole = np.where(np.isnan(table), filling, table)
    return whole.astype(np.uint8) if filling.dtype == bool else whole


def one_hot(X: np.ndarray, n_values: Any) -> Any:
    """Return a column for each value of each feature, sparse, (n, sum of n_values).

    X (n, p) holds codes 0..n_values-1, n_values being (p,) or a number; a code below 0 (missing or
    unseen) leaves the columns of its feature 0.
    """
    from scipy import sparse

    n_values = np.broadcast_to(np.asarray(n_values, dtype=np.int64), X.shape[1])
    start = np.cumsum(n_values) - n_values
    case, feature = np.nonzero(X >= 0)
    entries = np.ones(len(case)), (case, start[feature] + X[case, feature])
    return sparse.csr_array(entries, shape=(len(X), n_values.sum()))


def _histories(task: Task, table: np.ndarray) -> np.ndarray:
    """Return the last states, (T, order); a code that no training case has becomes -1."""
    last = np.asarray(table[:, table.shape[1] - task.order :], dtype=np.int64)
    return np.where(last < task.values, last, -1)


# ---- methods of scikit-learn: their arrays are called as its attributes are ----


def _restored(model: Any, arrays: Arrays, *attributes: str) -> Any:
    """Return a model of scikit-learn with what it learnt."""
    for name in attributes:
        setattr(model, name, arrays[name])
    if hasattr(model, "predict_proba"):
        model.classes_ = np.arange(int(arrays["counts"].astype(bool).sum()))
    return model


def logistic_regression(
    codes: np.ndarray, seed: int, grid: np.ndarray, groups: np.ndarray | None = None
) -> Any:
    """Multinomial, L2; C is the best of the grid by log loss on five shuffled folds.

    Each fold must hold each class: fewer folds where a class has fewer cases, and C = 1 where a
    class has one.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    model, folds = LogisticRegression(max_iter=1000), _folds(codes, seed, groups)
    if folds is None:
        return model
    return GridSearchCV(model, {"C": grid}, scoring=_mean_log_probability, cv=folds)


def _mean_log_probability(model: Any, rows: Any, response: np.ndarray) -> float:
    """The score "neg_log_loss", whose checks of what it is given take as long as the fits."""
    p = model.predict_proba(rows)[np.arange(len(response)), model.classes_.searchsorted(response)]
    return float(np.log(np.maximum(p, np.finfo(p.dtype).eps)).mean())


class LinearMethod(Peer):
    """Logistic regression; or a ridge, whose penalty is tuned by leave-one-out squared error."""

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Arrays:
        from sklearn.linear_model import RidgeCV

        model: Any = RidgeCV(1 / RIDGE_CS)
        if task.kind != RESPONSES:
            model = logistic_regression(response, seed, CS, task.groups)
        return _coefficients(model.fit(columns, response))

    def answer(self, learnt: Arrays, columns: Any) -> np.ndarray:
        from sklearn.linear_model import LogisticRegression, Ridge

        kind = LogisticRegression if "counts" in learnt else Ridge
        model = _restored(kind(), learnt, "coef_", "intercept_")
        return model.predict_proba(columns) if "counts" in learnt else model.predict(columns)


class LogisticRegression(LinearMethod):
    """Logistic regression of one-hot features or states."""

    words, takes = "logistic regression, one-hot", (FEATURES, SEQUENCES)


class Ridge(LinearMethod):
    """Ridge regression of one-hot features."""

    words, takes = "ridge regression, one-hot", (RESPONSES,)


def _coefficients(model: Any) -> Arrays:
    """Return what a fitted linear model has learnt, which may have been tuned."""
    best = getattr(model, "best_estimator_", model)
    return {"coef_": best.coef_, "intercept_": np.asarray(best.intercept_)}


class FittedObject(Peer):
    """A method whose fit is an object of scikit-learn, which no file can hold."""

    exported = False

    def answer(self, learnt: dict[str, Any], columns: Any) -> np.ndarray:
        columns = columns[:, learnt["best"]] if "best" in learnt else columns
        model = learnt["model"]
        return model.predict_proba(columns) if "counts" in learnt else model.predict(columns)


class BernoulliNaiveBayes(FittedObject):
    """scikit-learn's SelectKBest (F statistic) and BernoulliNB.

    calibrated : whether both are in CalibratedClassifierCV.
    """

    words, takes, selects, adds = "SelectKBest + BernoulliNB", (BITS,), True, False
    filled, calibrated = "more frequent value", False

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> dict[str, Any]:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.feature_selection import SelectKBest, f_classif
        from sklearn.naive_bayes import BernoulliNB
        from sklearn.pipeline import make_pipeline

        model = make_pipeline(SelectKBest(f_classif, k=task.keep), BernoulliNB())
        if self.calibrated:
            model = CalibratedClassifierCV(model, cv=_folds(response, seed, task.groups))
        return {"model": model.fit(columns, response)}


class CalibratedBernoulliNaiveBayes(BernoulliNaiveBayes):
    """The same, calibrated."""

    words, calibrated = "SelectKBest + BernoulliNB, calibrated", True

    def base_rate_suffices(self, task: Task, base: Arrays) -> bool:
        if task.keep > 0 and base["counts"].min() < 2:
            raise DataError("bernoulli-nb-calibrated needs two training samples of each class")
        return super().base_rate_suffices(task, base)


class GaussianNaiveBayes(FittedObject):
    """The `keep` features with the largest F statistics, and scikit-learn's GaussianNB."""

    words, takes, selects, adds = "SelectKBest + GaussianNB", (REALS,), True, False

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> dict[str, Any]:
        from sklearn.naive_bayes import GaussianNB

        best = best_columns(columns, response, task.keep)
        return {"best": best, "model": GaussianNB().fit(columns[:, best], response)}


class CategoricalNaiveBayes(FittedObject):
    """One sample is added to each value in each class, missing as a value too."""

    words, takes, encoding = "naive Bayes", (FEATURES,), "codes"

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> dict[str, Any]:
        from sklearn.naive_bayes import CategoricalNB

        model = CategoricalNB(min_categories=np.asarray(task.values) + 1)
        return {"model": model.fit(columns, response)}


class RandomForest(FittedObject):
    """scikit-learn's forest of TREES trees."""

    words, takes, encoding = "random forest", (REALS, FEATURES, RESPONSES), "dense"

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> dict[str, Any]:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestRegressor if task.kind == RESPONSES else RandomForestClassifier
        return {"model": kind(TREES, random_state=seed).fit(columns, response)}


class GradientBoosting(FittedObject):
    """Histogram gradient boosting on categorical features, NaN a category of its own.

    A tenth of the samples decides when to stop, by the defaults, where it can hold every class, or
    is two samples.
    """

    words, takes = "gradient boosting", (FEATURES, RESPONSES, SEQUENCES)
    encoding = "NaN"

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> dict[str, Any]:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        if task.kind == RESPONSES:
            kind, stop = HistGradientBoostingRegressor, len(response) > 10
        else:
            counts = np.bincount(response)
            kind = HistGradientBoostingClassifier
            stop = bool(counts.min() > 1 and np.ceil(0.1 * len(response)) >= len(counts))
        categorical = list(range(columns.shape[1]))
        model = kind(categorical_features=categorical, early_stopping=stop, random_state=seed)
        return {"model": model.fit(columns, response)}


# ---- methods that are tuned: fits with several penalties, each as arrays ----

# of columns, classes, penalties to choose from and a seed
Path = Callable[[np.ndarray, np.ndarray, np.ndarray, int], Iterator[Arrays]]


def tuned(
    peer: Peer,
    path: Path,
    choices: np.ndarray,
    data: tuple[np.ndarray, np.ndarray, int],
    groups: np.ndarray | None,
) -> Arrays:
    """Return the fit of a method with the penalty of the lowest log loss in folds.

    path : yields a fit with each penalty.
    data : columns, classes and seed.

    Where a class has one sample nothing is tuned: the penalty is that in the middle.
    """
    columns, codes, seed = data
    folds = _folds(codes, seed, groups)
    if folds is None:
        return next(path(columns, codes, choices[len(choices) // 2 :][:1], seed))
    loss = np.zeros(len(choices))
    for rows, others in folds:
        for i, learnt in enumerate(path(columns[rows], codes[rows], choices, seed)):
            p = peer.answer(learnt, columns[others])[np.arange(len(others)), codes[others]]
            loss[i] -= np.log(np.maximum(p, np.finfo(float).eps)).sum()
    return next(path(columns, codes, choices[loss.argmin()][None], seed))


class NearestCentroids(Peer):
    """Shrunken centroids of Tibshirani, Hastie, Narasimhan and Chu (2002, PNAS 99, 6567-6572).

    scikit-learn's NearestCentroid has the same centroids, but its log odds are more than twice
    those of the paper.
    """

    words, takes = "nearest shrunken centroids", (REALS,)

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Arrays:
        largest = np.abs(centroids(columns, response)["distance"]).max()
        thresholds = np.linspace(0, largest, THRESHOLDS)
        return tuned(self, centroid_path, thresholds, (columns, response, seed), task.groups)

    def answer(self, learnt: Arrays, columns: Any) -> np.ndarray:
        centroid = learnt["centroid"]
        samples = (columns[:, learnt["used"]] - learnt["mean"]) / learnt["scale"]
        score = samples @ centroid.T - (centroid**2).sum(axis=1) / 2 + learnt["log_prior"]
        score -= score.max(axis=1, keepdims=True)
        return np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)


def centroids(columns: np.ndarray, codes: np.ndarray) -> Arrays:
    """Return the centroids of the classes before they are shrunken, of all columns.

    mean : (p,) of all cases.
    unit (G, p) : by what the distance of a class from the mean is divided: its standard error,
        with the standard deviation within classes plus the median of these.
    distance (G, p) : that distance in such units.
    deviation : (p,) by which cases are divided.
    log_prior : (G,) log frequencies of the classes.
    """
    n, counts = len(columns), np.bincount(codes)
    classes = range(len(counts))
    means = np.array([columns[codes == g].mean(axis=0) for g in classes])
    within = sum(((columns[codes == g] - means[g]) ** 2).sum(axis=0) for g in classes)
    deviation = np.sqrt(within / max(1, n - len(counts)))
    median = np.median(deviation)
    deviation = deviation + (median if median > 0 else deviation.mean() or 1.0)
    mean = columns.mean(axis=0)
    unit = np.sqrt(1 / counts - 1 / n)[:, None] * deviation
    return {
        "mean": mean,
        "unit": unit,
        "distance": (means - mean) / unit,
        "deviation": deviation,
        "log_prior": np.log(counts / n),
    }


def shrunken(fitted: Arrays, threshold: float) -> Arrays:
    """Return the centroids with their distances shrunken by a threshold, of the columns used."""
    distance = fitted["distance"]
    distance = np.sign(distance) * np.maximum(np.abs(distance) - threshold, 0)
    used = (distance != 0).any(axis=0)  # others add the same to all classes
    scale = fitted["deviation"][used]
    return {
        "used": used,
        "mean": fitted["mean"][used],
        "scale": scale,
        "centroid": distance[:, used] * fitted["unit"][:, used] / scale,
        "log_prior": fitted["log_prior"],
    }


def centroid_path(
    columns: np.ndarray, codes: np.ndarray, thresholds: np.ndarray, _seed: int
) -> Iterator[Arrays]:
    """Yield the centroids shrunken by each threshold."""
    unshrunken = centroids(columns, codes)
    for threshold in thresholds:
        yield shrunken(unshrunken, threshold)


class Lasso(Peer):
    """Logistic regression with an L1 penalty of the best SCREENED features.

    Of more than two classes each is fitted against the others.
    """

    words, takes = "logistic regression, L1", (REALS,)

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Arrays:
        return tuned(self, lasso_path, PENALTIES, (columns, response, seed), task.groups)

    def answer(self, learnt: Arrays, columns: Any) -> np.ndarray:
        samples = (columns[:, learnt["best"]] - learnt["mean"]) / learnt["deviation"]
        lines = zip(learnt["coef_"], learnt["intercept_"], strict=True)
        scores = np.hstack([samples @ slope[:, None] + level for slope, level in lines])
        return one_against_others(np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores)


class PoolMethod(Peer):
    """The model of that kind, as a method to compare with."""

    words, takes = "pool of ridge, lasso, discriminants", (REALS,)

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Arrays:
        return pool.fit(columns, response, np.random.default_rng(seed), task.groups)

    def answer(self, learnt: Arrays, columns: Any) -> np.ndarray:
        return np.exp(pool.log_probability(learnt, columns))


# ---- logistic regression of all features, however many there are ----


class WholeLogistic(LinearMethod):
    """`l2_logistic` of a table that is held whole, as coefficients of the columns less means."""

    words, takes, normalised = "logistic regression, L2", (REALS,), True
    encoding = "standardised"

    def columns(self, task: Task, learnt: Arrays, table: np.ndarray) -> np.ndarray:
        if "mean" not in learnt:  # of training samples, which `learn` standardises
            return table
        difference = np.asarray(table, dtype=float) - learnt["mean"]
        return np.where(np.isnan(difference), 0, difference)

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Arrays:
        from thesiskit.models.packed import chunks, read_columns

        rows = np.arange(len(columns))
        blocks = [(columns, chunk) for chunk in chunks(columns)]
        known, _, turn = _as_short_rows((read_columns(*block) for block in blocks), rows, rows[:0])
        if known.shape[1] == 0:
            return {}
        model = logistic_regression(response, seed, WHOLE_CS, task.groups).fit(known, response)
        learnt = _coefficients(model)
        means, coefficients, done = [], [], 0
        for block in blocks:
            values, _, mean, deviation = _standardised(read_columns(*block), np.empty((0, 1)))
            if turn.ndim == 2:
                rotated = learnt["coef_"] @ (turn.T @ values)
            else:
                rotated = learnt["coef_"][:, done : done + len(mean)] * turn
            means.append(mean)
            coefficients.append(rotated / deviation)
            done += len(mean)
        return {
            "mean": np.concatenate(means),
            "coef_": np.concatenate(coefficients, axis=1),
            "intercept_": learnt["intercept_"],
        }


def l2_logistic(
    blocks: Iterable[np.ndarray],
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    seed: int,
    n_classes: int = 2,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Return P(y* = 1) for the test rows, (T,), by logistic regression of all columns.

    Of more than two classes it is P(class), (T, G).

    blocks (cases, .) : all columns, in parts; they hold numbers of any kind.
    train (n,), test (T,) : numbers of rows; response, groups (n,) are of the training rows.

    Columns are standardised by the training rows; a missing value is their mean.  The penalty of
    the squared coefficients is the one with the lowest log loss in five shuffled folds of the
    training rows, among WHOLE_CS.
    """
    task = Task(REALS, n_classes)
    base, codes = _base(task, response)
    with quietly():
        known, new, _ = _as_short_rows(blocks, train, test)
        answer = None
        if known.shape[1] > 0 and np.count_nonzero(base["counts"]) > 1:
            model = logistic_regression(codes, seed, WHOLE_CS, groups)
            answer = model.fit(known, codes).predict_proba(new)
    p = PEERS["l2-logistic"].complete(task, base, answer, len(test))
    return p[:, 1] if n_classes == 2 else p


def _as_short_rows(
    blocks: Iterable[np.ndarray], train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardise the columns, and rotate them where there are more columns than training rows.

    The penalty does not change if the space of coefficients is rotated, and the coefficients are
    zero outside the space of the training rows.  So n coordinates (at most) say as much as p
    columns, and they follow from the inner products of the rows.  A wide table is never held whole.

    Return both as rows of as many numbers, and by what the standardised columns were multiplied: a
    number; or, with it, (n, coordinates), which sums over training rows.
    """
    n, width, varying = len(train), 0, 0
    pending: list[tuple[np.ndarray, np.ndarray]] = []
    inner, across = np.zeros((0, 0)), np.zeros((0, 0))
    for block in blocks:
        known, new, _, deviation = _standardised(block[train], block[test])
        pending.append((known, new))
        width += block.shape[1]
        varying += int(np.isfinite(deviation).sum())
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
        return first / np.sqrt(length), second / np.sqrt(length), np.array(1 / np.sqrt(length))
    squares, vectors = np.linalg.eigh(inner / length)
    kept = squares > 1e-10 * max(squares[-1], 1e-300)
    lengths = np.sqrt(squares[kept])
    vectors = vectors[:, kept]
    return vectors * lengths, across / length @ vectors / lengths, vectors / lengths / length


def _standardised(
    train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return columns with mean 0 and variance 1 over the training rows; the means, deviations."""
    train, test = train.astype(float), test.astype(float)
    missing = np.isnan(train)
    mean = column_means(train)
    train, test = train - mean, test - mean
    train[missing] = 0
    test[np.isnan(test)] = 0
    deviation = np.sqrt((train**2).mean(axis=0))
    deviation[~(deviation > 1e-12 * np.abs(mean))] = np.inf  # constant: it says nothing
    return train / deviation, test / deviation, mean, deviation


# ---- sequences: every method sees the same cases, a history and the response after it ----
# No state inside a history counts as an outcome, so independent sequences and the windows of one
# text are handled alike, and no context runs from one sequence into another.


def n_grams(
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    n_states: int,
    n_classes: int,
    cases: np.ndarray | None = None,
) -> Iterator[np.ndarray]:
    """Yield interpolated n-grams (Witten and Bell 1991, method C) of orders 0, 1, ..., (T, K) each.

    P_m(c | h) = (count(h, c) + T(h) P_{m-1}(c | h')) / (count(h) + T(h)), where h' is h without
    its oldest state and T(h) the number of classes seen after h; unseen h leaves P_{m-1}, and
    P_{-1} is uniform.

    cases : (n,) how often each training history came with its response; once unless given.
    """
    histories = np.concatenate([train, test])
    context = np.zeros(len(histories), dtype=np.int64)  # a number for each different context
    p = np.full((len(test), n_classes), 1 / n_classes)
    for m in range(train.shape[1] + 1):
        if m > 0:
            longer = context * n_states + histories[:, -m]
            context = np.unique(longer, return_inverse=True)[1].reshape(-1)
        counts = np.zeros((context.max() + 1, n_classes))
        np.add.at(counts, (context[: len(train)], response), 1 if cases is None else cases)
        seen = counts[context[len(train) :]]
        types = np.count_nonzero(seen, axis=1)[:, None]
        total = seen.sum(axis=1, keepdims=True) + types
        p = np.where(total > 0, (seen + types * p) / np.maximum(total, 1), p)
        yield p


class NGram(Peer):
    """Interpolated n-gram of the order that predicts best in five folds of the training samples.

    A context seen once takes half the weight at every level, so that long ones are overconfident.
    """

    words, takes = "interpolated n-gram, order chosen", (SEQUENCES,)

    def fit(self, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
        train, response = _histories(task, table), np.asarray(response)
        fold = np.random.default_rng(seed).permutation(len(train)) % 5
        losses = np.zeros(train.shape[1] + 1)
        for f in range(min(5, len(train)) if len(train) > 1 else 0):
            out = fold == f
            models = n_grams(train[~out], response[~out], train[out], task.values, task.classes)
            for order, p in enumerate(models):
                losses[order] -= np.log(p[np.arange(out.sum()), response[out]]).sum()
        order = int(losses.argmin())
        last = np.column_stack([train[:, train.shape[1] - order :], response])
        different, counts = np.unique(last, axis=0, return_counts=True)
        return {"history": different[:, :-1], "class": different[:, -1], "cases": counts}

    def predict(self, task: Task, learnt: Arrays, table: np.ndarray) -> np.ndarray:
        history = learnt["history"]
        test = _histories(replace(task, order=history.shape[1]), table)
        states = np.where(test < 0, task.values, test)  # an unseen state is another state
        training = history, learnt["class"], states, task.values + 1, task.classes
        *_, p = n_grams(*training, learnt["cases"])
        return p


PEERS: dict[str, Peer] = {
    "bernoulli-nb": BernoulliNaiveBayes(),
    "bernoulli-nb-calibrated": CalibratedBernoulliNaiveBayes(),
    "l2-logistic": WholeLogistic(),
    "gaussian-nb": GaussianNaiveBayes(),
    "nearest-centroids": NearestCentroids(),
    "lasso": Lasso(),
    "pool": PoolMethod(),
    "n-gram": NGram(),
    "logistic-regression": LogisticRegression(),
    "ridge": Ridge(),
    "random-forest": RandomForest(),
    "gradient-boosting": GradientBoosting(),
    "naive-bayes": CategoricalNaiveBayes(),
}


# ---- what experiments compare ----

NONE = "none"
OURS = (*OWN, "complete")
# columns of result files: of methods of selected features, and of patterns
DESCRIBED = ("label", "method", "variant", "relevant", "temperature")
OF_PATTERNS = ("order", "prior", "compress", "engine", "scale", "joint", "name")
WORDS = {  # what tables and legends call a method whose name does not say it
    "naive-corrected": "naive Bayes, corrected",
    "naive-uncorrected": "naive Bayes, uncorrected",
    "normal-corrected": "normal features, corrected",
    "normal-uncorrected": "normal features, uncorrected",
    **{name: peer.words for name, peer in PEERS.items()},
}


def method_words(method: str) -> str:
    """Return a method of chapter 2, or a third-party method, as tables and legends name it."""
    return WORDS.get(method, method)


@dataclass(frozen=True)
class Method:
    """A model with its settings; fields are named as the columns of result files.

    row : its row in the arrays of predictions, -1 where there are none.

    Of selected features:

    label : the selection: "10", "all", or "|COR| > 0.2"; "10 log" with a transform; with several
        `of`, "10 of 5,000".
    method : "corrected", "uncorrected", "complete" where all features are kept, or the name of
        another model or of a third-party method.
    variant : the rule for theta, or the sampler; "none" for a third-party method.
    relevant : which features may be relevant, "all" or "some"; "none" for a third-party method.
    temperature : "none" or "residual".
    size : a number of features, "all", or a threshold.
    of : how many features there were before the table was filtered; None where it was not, or where
        the methods of this selection do not ask.
    form : of the selection, where its candidates can be selected in several.
    transform : of the real features, "none" of a method that takes bits.

    Of patterns:

    order, prior, compress, engine, scale, joint : a third-party method has no prior, and the order
        -1 if it uses all features.
    sampler : the sampler in words, empty where all models of the experiment share a sampler.

    name : what files call it, the same whatever else is compared.
    """

    row: int = -1
    label: str = ""
    method: str = ""
    variant: str = NONE
    relevant: str = NONE
    temperature: str = NONE
    order: int = 0
    prior: str = ""
    compress: bool = False
    engine: str = ""
    scale: str = ""
    joint: int = 1
    name: str = ""
    sampler: str = ""
    size: int | str | float = "all"
    of: int | None = None
    form: str = ""
    transform: str = NO_TRANSFORM

    @property
    def family(self) -> Method:
        """The method without its selection and its variant, which methods are grouped by."""
        return Method(method=self.method, relevant=self.relevant, temperature=self.temperature)

    @property
    def options(self) -> Method:
        """What sets the method apart from others of its name: relevance and temperature."""
        return Method(relevant=self.relevant, temperature=self.temperature)

    @property
    def tempered(self) -> bool:
        """Whether its log odds are divided by a temperature."""
        return self.temperature == RESIDUAL

    @property
    def own(self) -> bool:
        """Whether it is ours, not a third-party method to compare with."""
        return self.prior != NONE if self.engine else self.method in OURS

    @property
    def words(self) -> str:
        """The model, as tables and legends name it."""
        if self.engine == "slice":
            form = "compressed" if self.compress else "original"
            text = f"{self.prior.capitalize()}, {form}"
            return text + (f", {self.sampler}" if self.sampler else "")
        note = ", some relevant" if self.relevant == "some" else ""
        note += f", {TEMPERED}" if self.tempered else ""
        return method_words(self.method or self.engine) + note

    @property
    def selection_name(self) -> str:
        """What files call a method of selected features."""
        tempered = TEMPERED if self.tempered else NONE
        parts = (self.method, self.variant, self.relevant, tempered)
        return " ".join([self.label, *(part for part in parts if part not in (NONE, "all"))])


def as_columns(
    methods: Iterable[Method], names: Sequence[str] = DESCRIBED
) -> dict[str, np.ndarray]:
    """Return the columns of result files that describe methods, by default of selected features."""
    rows = [*methods]
    return {name: np.array([getattr(method, name) for method in rows]) for name in names}


def from_columns(arrays: dict[str, np.ndarray], rows: Iterable[int]) -> list[Method]:
    """Return the methods that columns of result files describe.

    rows : of each method, in the arrays of predictions.
    """
    names = [name for name in (*DESCRIBED, *OF_PATTERNS) if name in arrays]
    columns = [arrays[name].tolist() for name in names]
    return [
        Method(row, **dict(zip(names, values, strict=True)))
        for row, *values in zip(rows, *columns, strict=True)
    ]
