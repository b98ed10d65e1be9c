"""What experiments compare: `Method`; and third-party methods.

`PEERS` has an object for each of these, by the name in configs.

    task = Task(REALS, classes=3, keep=10)
    learnt = fit("gaussian-nb", task, X, y, seed)        # dict of named arrays
    predict("gaussian-nb", task, learnt, X_new)          # P(class), (T, 3)
    predict("ridge", Task(NUMBERS), learnt, X_new)       # components of a `Density`, (T, M, 4)
    fit_predict("random-forest", task, X, y, X_new, seed)
    names(REALS)                                         # what configs may ask for

To add a method: a class with two functions, and a line in `PEERS`.  What an `exported` method
learns is named arrays, which a file can hold without a pickle; others keep an object of
scikit-learn.

Tuning is by the log loss, or the squared error, of five stratified folds of the training samples,
in which everything is done again, the choice of the best features too; ridges are tuned by leaving
samples out.  To the n training samples one is added, shared by the classes equally, so that no
probability is 0; but not with the naive Bayes methods of chapter 2, which are scikit-learn's.

A real response has a Student t distribution around the prediction, with the scale and the degrees
of freedom of the errors that five folds of the training samples make, the tuning being repeated
without each; of a forest, of out-of-bag errors.

FEATURES have codes from 0; a code below 0 is a missing value or one that no training sample has,
which the methods do not tell apart: no column of the feature is set.  To naive-bayes it is one more
category; to gradient-boosting too, but where no training sample has it, it goes to the side with
most samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy import special

from thesiskit.defaults import NO_TRANSFORM, RESIDUAL, TEMPERED
from thesiskit.errors import DataError, UserError
from thesiskit.models import lasso, mixing, pool
from thesiskit.models.base import LARGEST, MOST_SAMPLES, OWN, Arrays, check, shaped
from thesiskit.models.density import fit_student, guess, students
from thesiskit.models.folds import column_means, independent_samples, stratified
from thesiskit.models.lasso import PENALTIES, best_columns, one_against_others, quietly
from thesiskit.models.packed import chunks

# kinds of tasks: features of 0 and 1, or as they are, with classes or with real responses
# (NUMBERS); discrete ones, with classes or with real responses; the states before a response
BITS, REALS, SEQUENCES, NUMBERS = "bits", "reals", "sequences", "numbers"
FEATURES, RESPONSES = "features", "real responses"
REAL_RESPONSES = (NUMBERS, RESPONSES)
# of data that have such samples
FAMILIES = {BITS: "table", REALS: "table", SEQUENCES: SEQUENCES, FEATURES: FEATURES,
            NUMBERS: "table", RESPONSES: FEATURES}  # fmt: skip

CS = np.logspace(-4, 4, 10)  # of logistic regression
RIDGE_CS = np.logspace(-5, 3, 9)
WHOLE_CS = np.logspace(-3, 5, 9)  # of l2-logistic, for rows whose mean squared length is 1
RIDGES = np.logspace(-8, 3, 34)  # of ridge with NUMBERS, for such rows
LEAST_LOG = np.log(np.finfo(float).eps)  # of a probability that is judged
MOST_PARTS = 20  # of pls
FOLDS = 5
TREES = 500
NORMAL = 1e9  # degrees of freedom of a normal distribution

Fit = dict[str, Any]  # arrays by name; of a method that is not exported, an object of scikit-learn


@dataclass(frozen=True)
class Task:
    """What is predicted from what.

    kind : BITS, REALS, NUMBERS, FEATURES, RESPONSES or SEQUENCES.
    classes : how many there are; it does not matter to real responses.
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
    groups: np.ndarray | None = None


class Peer:
    """A third-party method: `learn` and `answer` are what a subclass has to define.

    words : what tables call it.
    takes : the kinds of tasks.
    selects : whether it keeps some features, and adds no sample; the others of BITS and REALS take
        all features.
    filled : what replaces a missing value of BITS and REALS, in words.
    exported : whether all that it learns is arrays.
    library : whether scikit-learn fits classes.
    """

    words: str
    takes: tuple[str, ...]
    selects, filled, exported, library = False, "mean", True, True

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Fit:
        """Fit to columns (n, .) and classes 0..G-1, each with a sample; or real responses."""
        raise NotImplementedError

    def answer(self, learnt: Fit, columns: Any) -> np.ndarray:
        """Return P(class), (T, G), by what was learnt.

        Of a real response return predictions, (T,), or components of a `Density`, (T, M, 4).
        Unless a subclass has another rule, they are linear, or softmax of linear scores.
        """
        scores = columns @ learnt["coef_"].T + learnt["intercept_"]
        if "counts" not in learnt:
            return scores
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        return special.softmax(scores, axis=1)

    def prepare(self, task: Task, table: np.ndarray) -> Arrays:
        """Return what is learnt of columns: what fills gaps, and which of them are used."""
        if task.kind == BITS:
            return {"filling": 2 * np.nansum(table, axis=0) > (~np.isnan(table)).sum(axis=0)}
        if task.kind == REALS:
            means = column_means(table)
            return {"filling": means, "varying": np.ptp(filled(table, means), axis=0) > 0}
        if task.kind == NUMBERS:
            mean, scale = pool.standardisation(table)
            return {"mean": mean, "scale": scale}
        if task.kind in (FEATURES, RESPONSES):
            # without columns that are 0 in all training samples: their coefficients would be 0
            return {"expressed": np.unique(one_hot(table, task.values).indices)}
        return {}

    def columns(self, task: Task, learnt: Fit, table: np.ndarray) -> Any:
        """Return a table, of training samples or others, as the columns that `learn` takes."""
        if task.kind == BITS:
            return filled(table, learnt["filling"])
        if task.kind == REALS:
            columns = filled(np.asarray(table, dtype=float), learnt["filling"])
            return columns if learnt["varying"].all() else columns[:, learnt["varying"]]
        if task.kind == NUMBERS:
            return pool.standardise(table, learnt["mean"], learnt["scale"])
        columns = one_hot(table, task.values)
        return columns.toarray() if task.kind == SEQUENCES else columns[:, learnt["expressed"]]

    def fit(self, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Fit:
        """Return the base rate, and what is learnt unless the base rate suffices."""
        if task.kind in REAL_RESPONSES:
            return self._fit_real(task, table, np.asarray(response, dtype=float), seed)
        counts = np.bincount(response, minlength=task.classes)
        base = {"counts": counts}
        # no feature passes a threshold, or all samples are of one class
        if (self.selects and task.keep == 0) or np.count_nonzero(counts) == 1:
            return base
        codes = np.searchsorted(np.flatnonzero(counts), response)
        return base | self._learn_columns(task, table, codes, seed)

    def _fit_real(self, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Fit:
        """Return the distribution without features, what is learnt, and the scale of its errors."""
        base = {"guess": guess(response)[0]}
        if len(response) < pool.FEWEST or np.ptp(response) == 0:
            return base
        fit = base | self._learn_columns(task, table, response, seed)
        if len(fit) == 1 or "errors" in fit:
            return fit
        errors = np.empty(len(response))
        for train, test in _parts(response, seed, task.groups):
            groups = None if task.groups is None else task.groups[train]
            inner, y = replace(task, groups=groups), response[train]
            part = {"guess": guess(y)[0], "errors": np.ones(2)}
            if np.ptp(y) > 0:
                part |= self._learn_columns(inner, table[train], y, seed)
            errors[test] = response[test] - self.predict(inner, part, table[test])[:, 0, 1]
        return fit | {"errors": fit_student(errors, base["guess"][0, 2])}

    def _learn_columns(self, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Fit:
        """Return what is learnt of the columns; nothing where none varies or has a value."""
        if task.kind in (FEATURES, RESPONSES) and not (table >= 0).any():
            return {}
        prepared = self.prepare(task, table)
        columns = self.columns(task, prepared, table)
        if columns.shape[1] == 0 or not prepared.get("scale", np.ones(1)).any():
            return {}
        with quietly():
            return prepared | self.learn(task, columns, response, seed)

    def predict(self, task: Task, learnt: Fit, table: np.ndarray) -> np.ndarray:
        """Return predictions for samples by what `fit` returned."""
        answer = None  # the base rate
        if not {*learnt} <= {"counts", "guess", "errors"}:
            columns = self.columns(task, learnt, table)
            with quietly():
                answer = self.answer(learnt, columns)
        if task.kind in REAL_RESPONSES:
            if answer is None:
                return np.tile(learnt["guess"], (len(table), 1, 1))
            return answer if answer.ndim == 3 else students(answer, *learnt["errors"])
        counts = learnt["counts"]
        n = counts.sum()
        p = np.tile(counts / n, (len(table), 1))
        if answer is not None:
            p[:, counts > 0] = answer
        if not self.selects:
            p = (n * p + 1 / task.classes) / (n + 1)
        if task.kind in (FEATURES, SEQUENCES):
            p = p / p.sum(axis=1, keepdims=True)
        return p


def names(*kinds: str) -> tuple[str, ...]:
    """Return the names of the methods that take one of some kinds of tasks."""
    return tuple(name for name, peer in PEERS.items() if {*kinds} & {*peer.takes})


def load(name: str, kind: str) -> None:
    """Import what a method needs for a task, so that the time of its first fit is that of fits."""
    if kind in REAL_RESPONSES or PEERS[name].library:
        modules = "calibration", "ensemble", "feature_selection", "linear_model", "naive_bayes"
        for module in modules:
            import_module(f"sklearn.{module}")


# ---- fits, and predictions from them ----


def fit(name: str, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Fit:
    """Return what a method learns from training samples, as `predict` takes it.

    table : (n, p) features, or states in order of time.
    response : (n,) classes 0..classes-1; or real numbers.
    seed : of folds and trees.

    Raises
    ------
    UserError: the method does not take such samples.
    DataError: there is no training sample.
    """
    if name not in names(task.kind):
        raise UserError(f"unknown method {name}: choose from {', '.join(names(task.kind))}")
    if task.kind == SEQUENCES and not 0 <= task.order <= table.shape[1]:
        raise UserError(f"order is {task.order}, but the histories have {table.shape[1]} states")
    if len(table) == 0:
        raise DataError(f"{name} needs at least one training sample")
    return PEERS[name].fit(task, _last_states(task, table), response, seed)


def predict(name: str, task: Task, learnt: Fit, table: np.ndarray) -> np.ndarray:
    """Return P(class) of samples, (T, classes), or components of their `Density`, (T, M, 4).

    learnt : what `fit` returned for the task.
    """
    return PEERS[name].predict(task, learnt, _last_states(task, table))


def fit_predict(
    name: str, task: Task, train: np.ndarray, response: np.ndarray, test: np.ndarray, seed: int
) -> np.ndarray:
    """Return the predictions for test samples (T, p) of a method fitted to training samples."""
    return predict(name, task, fit(name, task, train, response, seed), test)


def check_learnt(name: str, task: Task, learnt: Arrays, width: int) -> None:
    """Raise ValueError, or what arrays that do not fit raise, unless `predict` can take these.

    width : columns of the tables that are predicted from.
    """
    peer = PEERS.get(name)
    if peer is None:
        raise ValueError(f"the method {name} was removed")
    check(peer.exported and task.kind in peer.takes)
    for array in learnt.values():
        check(array.dtype.kind in "biuf" and (np.abs(array.astype(float)) < LARGEST).all())
    check("best" not in learnt or (learnt["best"] >= 0).all())
    check((learnt.get("counts", np.ones(1)) < MOST_SAMPLES).all())
    if "history" in learnt:
        check((learnt["history"] < task.values).all() and (learnt["history"] >= 0).all())
        check(((learnt["class"] >= 0) & (learnt["class"] < task.classes)).all())
        check(((learnt["cases"] > 0) & (learnt["cases"] < MOST_SAMPLES)).all())
    if "power" in learnt:
        sizes = {"k": int(learnt["varying"].sum()), "G": int((learnt["counts"] > 0).sum())}
        pool.check_fit(shaped(learnt, pool.Pool.stored, **sizes))
    codes = task.kind not in (REALS, NUMBERS)
    p = predict(name, task, learnt, np.zeros((2, width), dtype=int if codes else float))
    if task.kind in REAL_RESPONSES:
        check(learnt["guess"].shape == (1, 4) and (learnt.get("errors", np.ones(2)) > 0).all())
        check(p.ndim == 3 and p.shape[::2] == (2, 4) and np.isfinite(p[:, :, :3]).all())
        check((p[:, :, 0] >= 0).all() and (p[:, :, 2:] > 0).all())
        return
    check(p.shape == (2, task.classes) and np.isfinite(p).all() and (p >= 0).all())


Rows = tuple[np.ndarray, np.ndarray]  # that train, and that are left out


def _folds(codes: np.ndarray, seed: int, groups: np.ndarray | None = None) -> list[Rows] | None:
    """Return shuffled folds that each hold every class; None where a class has one sample.

    Groups (n,) of samples, if given, stay together.
    """
    counts = independent_samples(codes, groups)
    for number in range(min(FOLDS, int(counts.min())), 1, -1):
        rows = _parts(codes, seed, groups, number)
        # groups of several classes may leave a class out of what is learnt from
        if all(len(np.unique(codes[train])) == len(counts) for train, _ in rows):
            return rows
    return None


def _parts(
    y: np.ndarray, seed: int, groups: np.ndarray | None = None, number: int = FOLDS
) -> list[Rows]:
    """Return shuffled folds over which classes are spread; groups (n,) of samples stay together."""
    strata = np.zeros(len(y), dtype=int) if y.dtype.kind == "f" else y
    fold = stratified(strata, np.random.default_rng(seed), number, groups)
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in np.unique(fold)]


# ---- tables as columns of numbers ----


def filled(table: np.ndarray, filling: np.ndarray) -> np.ndarray:
    """Return a table where NaN is the filling (p,) of its column; of whole numbers, as it is."""
    return np.where(np.isnan(table), filling, table) if table.dtype.kind == "f" else table


def one_hot(X: np.ndarray, n_values: Any) -> Any:
    """Return a column for each value of each feature, sparse, (n, sum of n_values).

    X (n, p) holds codes 0..n_values-1, n_values being (p,) or a number; a code below 0 (missing or
    unseen) leaves the columns of its feature 0.
    """
    from scipy import sparse

    n_values = np.broadcast_to(np.asarray(n_values, dtype=np.int64), X.shape[1])
    start = np.cumsum(n_values) - n_values
    sample, feature = np.nonzero(X >= 0)
    entries = np.ones(len(sample)), (sample, start[feature] + X[sample, feature])
    return sparse.csr_array(entries, shape=(len(X), n_values.sum()))


def _last_states(task: Task, table: np.ndarray) -> np.ndarray:
    """Return the states that a task of SEQUENCES uses, (T, order); an unknown state becomes -1."""
    if task.kind != SEQUENCES:
        return table
    last = np.asarray(table[:, table.shape[1] - task.order :], dtype=np.int64)
    return np.where(last < task.values, last, -1)


# ---- linear methods: their arrays are called as scikit-learn's attributes are ----


def logistic_regression(
    columns: Any, codes: np.ndarray, seed: int, grid: np.ndarray, groups: np.ndarray | None = None
) -> Any:
    """Fit multinomial, L2; C is the best of the grid by log loss on five shuffled folds.

    Each fold must hold each class: fewer folds where a class has fewer samples, and C = 1 where a
    class has one.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    model, folds = LogisticRegression(max_iter=1000), _folds(codes, seed, groups)
    if folds is None:
        return model.fit(columns, codes)
    search = GridSearchCV(model, {"C": grid}, scoring=_mean_log_probability, cv=folds)
    return search.fit(columns, codes).best_estimator_


def _mean_log_probability(model: Any, rows: Any, response: np.ndarray) -> float:
    """The score "neg_log_loss", whose checks of what it is given take as long as the fits."""
    p = model.predict_proba(rows)[np.arange(len(response)), model.classes_.searchsorted(response)]
    return float(np.log(np.maximum(p, np.finfo(p.dtype).eps)).mean())


def _best_of_path(
    path: Callable, task: Task, columns: np.ndarray, response: np.ndarray, seed: int
) -> Arrays:
    """Return those coefficients of a path, intercepts last, which predict best in five folds."""
    errors = []
    for train, test in _parts(response, seed, task.groups):
        fits = path(columns[train], response[train])
        predicted = columns[test] @ fits[:, :-1].T + fits[:, -1]
        errors.append(np.square(predicted - response[test, None]).sum(axis=0))
    best = path(columns, response)[np.sum(errors, axis=0).argmin()]
    return {"coef_": best[:-1], "intercept_": best[-1]}


def _best_ridge(rows: np.ndarray, codes: np.ndarray, folds: list[Rows] | None) -> np.ndarray:
    """Return what `logistic_regression` fits with WHOLE_CS, intercepts last, (1 or G, r + 1)."""
    fitted, score = partial(pool.ridges, intercept=1e9, tolerance=1e-12), np.zeros(len(WHOLE_CS))
    for train, test in folds or ():
        fits = fitted(rows[train], codes[train], WHOLE_CS)
        scores = rows[test] @ fits[..., :-1].swapaxes(1, 2) + fits[:, None, :, -1]
        logs = special.log_softmax(scores, axis=2)[:, np.arange(len(test)), codes[test]]
        score += np.maximum(logs, LEAST_LOG).mean(axis=1)
    best = fitted(rows, codes, WHOLE_CS[[score.argmax()]] if folds else np.ones(1))[0]
    return best[1:] if len(best) == 2 else best


class LogisticRegression(Peer):
    """Logistic regression; or a ridge, whose penalty is tuned by leave-one-out squared error."""

    words = "logistic regression, one-hot"
    takes: tuple[str, ...] = (FEATURES, SEQUENCES)

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Arrays:
        from sklearn.linear_model import RidgeCV

        if task.kind in REAL_RESPONSES:
            grid = 1 / RIDGE_CS if task.kind == RESPONSES else RIDGES * columns.shape[1]
            parts = None if task.groups is None else _parts(response, seed, task.groups)
            model = RidgeCV(grid, cv=parts).fit(columns, response)
        else:
            model = logistic_regression(columns, response, seed, CS, task.groups)
        return {"coef_": model.coef_, "intercept_": np.asarray(model.intercept_)}


class Ridge(LogisticRegression):
    """Ridge regression of one-hot features, or of standardised ones."""

    words, takes = "ridge regression", (RESPONSES, NUMBERS)


class PartialLeastSquares(LogisticRegression):
    """Partial least squares with the number of components that predicts best in five folds."""

    words, takes = "partial least squares", (NUMBERS,)

    def learn(self, task: Task, columns: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
        path = partial(pool.partial_least_squares, most=MOST_PARTS)
        return _best_of_path(path, task, columns, response, seed)


class BayesianRidge(LogisticRegression):
    """scikit-learn's BayesianRidge of standardised features, and its predictive distribution.

    It is fitted in the space of the training samples, where it is the same.  The variance of a
    prediction is that of errors, plus `prior` times the mean square of the features, less the
    squared length of the features times `root`, (p, r): what the training samples teach.
    """

    words, takes = "Bayesian ridge regression", (NUMBERS,)

    def learn(self, task: Task, columns: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
        from sklearn.linear_model import BayesianRidge

        span = pool.Span.of(columns, slice(None), np.ones(columns.shape[1]))
        mean, scale = response.mean(), response.std()
        model = BayesianRidge().fit(span.rows, (response - mean) / scale)
        # coordinates are orthogonal
        gain = np.maximum(1 / model.lambda_ - np.diag(model.sigma_), 0)
        root = span.in_features(np.diag(np.sqrt(gain))).T
        return {
            "coef_": span.in_features(model.coef_[None])[0] * scale,
            "intercept_": np.array(mean + scale * model.intercept_),
            "errors": np.array([scale / np.sqrt(model.alpha_), NORMAL]),
            "prior": np.array(scale**2 / model.lambda_),
            "root": root * scale,
        }

    def answer(self, learnt: Arrays, columns: np.ndarray) -> np.ndarray:
        away = learnt["prior"] * np.square(columns).mean(axis=1)
        away -= np.square(columns @ learnt["root"]).sum(axis=1)
        sd = np.sqrt(learnt["errors"][0] ** 2 + np.maximum(away, 0))
        return students(super().answer(learnt, columns), sd, NORMAL)


class WholeLogistic(LogisticRegression):
    """Logistic regression of all features, standardised, as coefficients of features less means.

    A missing value is the mean.  The penalty does not change if the space of the coefficients is
    rotated, and coefficients are zero outside the space of the training samples: of a wide table
    n coordinates say as much as p features.  Features are standardised in parts, never all at once.
    """

    words, takes, library = "logistic regression, L2", (REALS,), False

    def prepare(self, task: Task, table: np.ndarray) -> Arrays:
        return {}

    def columns(self, task: Task, learnt: Arrays, table: np.ndarray) -> np.ndarray:
        if "mean" not in learnt:  # of training samples, which `learn` standardises
            return table
        return pool.standardise(table, learnt["mean"], np.ones(1))

    def learn(self, task: Task, columns: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
        n, p = columns.shape
        parts = [*chunks(columns)] if p > n else [slice(p)]
        moments = [pool.standardisation(columns[:, part]) for part in parts]
        mean, scale = map(np.concatenate, zip(*moments, strict=True))
        if not scale.any():
            return {}
        scale /= np.sqrt(np.count_nonzero(scale))  # the mean square of a row is 1

        def standard(part: slice) -> np.ndarray:
            return pool.standardise(columns[:, part], mean[part], scale[part])

        folds = _folds(response, seed, task.groups)
        if p <= n:  # columns that are orthogonal need fewer steps
            z = standard(slice(p))
            vectors = np.linalg.eigh(z.T @ z)[1]
            fit = _best_ridge(z @ vectors, response, folds)
            slopes = [fit[:, :-1] @ vectors.T]
        else:
            inner = sum((part @ part.T for part in map(standard, parts)), start=np.zeros((n, n)))
            squares, vectors = np.linalg.eigh(inner)
            positive = squares > 1e-10 * squares[-1]
            lengths, vectors = np.sqrt(squares[positive]), vectors[:, positive]
            fit = _best_ridge(vectors * lengths, response, folds)
            back = fit[:, :-1] @ (vectors / lengths).T
            slopes = [back @ part for part in map(standard, parts)]
        coefficient = np.concatenate(slopes, axis=1) * scale
        return {"mean": mean, "coef_": coefficient, "intercept_": fit[:, -1]}


# ---- methods whose fit is an object of scikit-learn, which no file can hold ----


class FittedObject(Peer):
    """A method that learns "model", and the columns "best" that it takes, where it selects."""

    exported = False

    def answer(self, learnt: Fit, columns: Any) -> np.ndarray:
        columns = columns[:, learnt["best"]] if "best" in learnt else columns
        model = learnt["model"]
        return model.predict_proba(columns) if "counts" in learnt else model.predict(columns)


class BernoulliNaiveBayes(FittedObject):
    """scikit-learn's SelectKBest (F statistic) and BernoulliNB.

    calibrated : whether both are in CalibratedClassifierCV.
    """

    words, takes, selects = "SelectKBest + BernoulliNB", (BITS,), True
    filled, calibrated = "more frequent value", False

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Fit:
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

    def fit(self, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Fit:
        if task.keep > 0 and np.bincount(response, minlength=task.classes).min() < 2:
            raise DataError("bernoulli-nb-calibrated needs two training samples of each class")
        return super().fit(task, table, response, seed)


class GaussianNaiveBayes(FittedObject):
    """The `keep` features with the largest F statistics, and scikit-learn's GaussianNB."""

    words, takes, selects = "SelectKBest + GaussianNB", (REALS,), True

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Fit:
        from sklearn.naive_bayes import GaussianNB

        z = pool.standardise(columns, *pool.standardisation(columns))
        best = best_columns(z, response, task.keep)
        return {"best": best, "model": GaussianNB().fit(columns[:, best], response)}


class CategoricalNaiveBayes(FittedObject):
    """One sample is added to each value in each class, missing as a value too."""

    words, takes = "naive Bayes", (FEATURES,)

    def columns(self, task: Task, learnt: Fit, table: np.ndarray) -> np.ndarray:
        return np.where(table < 0, task.values, table)

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Fit:
        from sklearn.naive_bayes import CategoricalNB

        model = CategoricalNB(min_categories=np.asarray(task.values) + 1)
        return {"model": model.fit(columns, response)}


class RandomForest(FittedObject):
    """scikit-learn's forest of TREES trees."""

    words, takes = "random forest", (REALS, NUMBERS, FEATURES, RESPONSES)

    def columns(self, task: Task, learnt: Fit, table: np.ndarray) -> np.ndarray:
        columns = super().columns(task, learnt, table)
        # a forest takes a fifth of the time of a sparse table
        return columns if task.kind in (REALS, NUMBERS) else columns.toarray()

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Fit:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        if task.kind not in REAL_RESPONSES:
            model = RandomForestClassifier(TREES, random_state=seed)
            return {"model": model.fit(columns, response)}
        model = RandomForestRegressor(TREES, oob_score=True, random_state=seed)
        fit = {"model": model.fit(columns, response)}
        if task.groups is None:
            errors = response - model.oob_prediction_
            fit["errors"] = fit_student(errors, guess(response)[0, 0, 2])
        return fit


class GradientBoosting(FittedObject):
    """Histogram gradient boosting on categorical features, NaN a category of its own.

    A tenth of the samples decides when to stop, by the defaults, where it can hold every class, or
    is two samples.
    """

    words, takes = "gradient boosting", (FEATURES, RESPONSES, SEQUENCES)

    def columns(self, task: Task, learnt: Fit, table: np.ndarray) -> np.ndarray:
        return table if task.kind == SEQUENCES else np.where(table < 0, np.nan, table)

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Fit:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        if task.kind in REAL_RESPONSES:
            kind, stop = HistGradientBoostingRegressor, len(response) > 10
        else:
            counts = np.bincount(response)
            kind = HistGradientBoostingClassifier
            stop = bool(counts.min() > 1 and np.ceil(0.1 * len(response)) >= len(counts))
        categorical = list(range(columns.shape[1]))
        model = kind(categorical_features=categorical, early_stopping=stop, random_state=seed)
        return {"model": model.fit(columns, response)}


class Lasso(Peer):
    """Logistic regression with an L1 penalty of the best SCREENED features; or of real responses.

    Of more than two classes each is fitted against the others.  The penalty has the lowest log loss
    in folds; it is that in the middle where a class has one sample.
    """

    words, takes, library = "lasso", (REALS, NUMBERS), False

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Fit:
        if task.kind == NUMBERS:
            return _best_of_path(lasso.real_lasso_path, task, columns, response, seed)
        best = len(PENALTIES) // 2
        if (folds := _folds(response, seed, task.groups)) is not None:
            loss = np.zeros(len(PENALTIES))
            for train, test in folds:
                fits = lasso.lasso_path(columns[train], response[train], PENALTIES)
                for i, fitted in enumerate(fits):
                    p = self.answer(fitted, columns[test])[np.arange(len(test)), response[test]]
                    loss[i] -= np.log(np.maximum(p, np.finfo(float).eps)).sum()
            best = int(loss.argmin())
        return next(lasso.lasso_path(columns, response, PENALTIES[best : best + 1]))

    def answer(self, learnt: Fit, columns: Any) -> np.ndarray:
        if "best" not in learnt:
            return super().answer(learnt, columns)
        samples = (columns[:, learnt["best"]] - learnt["mean"]) / learnt["deviation"]
        scores = samples @ learnt["coef_"].T + learnt["intercept_"]
        return one_against_others(np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores)


class PoolMethod(Peer):
    """The model of that kind, as a method to compare with."""

    words, takes, library = "pool of linear methods", (REALS, NUMBERS), False

    def learn(self, task: Task, columns: Any, response: np.ndarray, seed: int) -> Arrays:
        fit = pool.fit(columns, response, np.random.default_rng(seed), task.groups)
        if task.kind == REALS:
            return fit
        # of standardised columns, which the pool takes as they are
        return {
            "coef_": fit["coefficient"],
            "intercept_": fit["intercept"],
            "errors": fit["errors"],
        }

    def answer(self, learnt: Arrays, columns: Any) -> np.ndarray:
        if "counts" not in learnt:
            return super().answer(learnt, columns)
        return np.exp(pool.log_probability(learnt, columns))


# ---- sequences: every method sees the same samples, a history and the response after it ----
# No state inside a history counts as an outcome, so independent sequences and the windows of one
# text are handled alike, and no context runs from one sequence into another.


def n_grams(
    train: np.ndarray,
    response: np.ndarray,
    test: np.ndarray,
    n_states: int,
    n_classes: int,
    samples: np.ndarray | None = None,
) -> Iterator[np.ndarray]:
    """Yield interpolated n-grams (Witten and Bell 1991, method C) of orders 0, 1, ..., (T, K) each.

    P_m(c | h) = (count(h, c) + T(h) P_{m-1}(c | h')) / (count(h) + T(h)), where h' is h without
    its oldest state and T(h) the number of classes seen after h; unseen h leaves P_{m-1}, and
    P_{-1} is uniform.

    samples : (n,) how often each training history came with its response; once unless given.
    """
    histories = np.concatenate([train, test])
    context = np.zeros(len(histories), dtype=np.int64)  # a number for each different context
    p = np.full((len(test), n_classes), 1 / n_classes)
    for m in range(train.shape[1] + 1):
        if m > 0:
            longer = context * n_states + histories[:, -m]
            context = np.unique(longer, return_inverse=True)[1].reshape(-1)
        counts = np.zeros((context.max() + 1, n_classes))
        np.add.at(counts, (context[: len(train)], response), 1 if samples is None else samples)
        seen = counts[context[len(train) :]]
        types = np.count_nonzero(seen, axis=1)[:, None]
        total = seen.sum(axis=1, keepdims=True) + types
        p = np.where(total > 0, (seen + types * p) / np.maximum(total, 1), p)
        yield p


class NGram(Peer):
    """Interpolated n-gram of the order that predicts best in five folds of the training samples.

    A context seen once takes half the weight at every level, so that long ones are overconfident.
    """

    words, takes, library = "interpolated n-gram, selected order", (SEQUENCES,), False

    def fit(self, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
        fold = np.random.default_rng(seed).permutation(len(table)) % FOLDS
        losses = np.zeros(table.shape[1] + 1)
        for f in range(min(FOLDS, len(table)) if len(table) > 1 else 0):
            out = fold == f
            models = n_grams(table[~out], response[~out], table[out], task.values, task.classes)
            for order, p in enumerate(models):
                losses[order] -= np.log(p[np.arange(out.sum()), response[out]]).sum()
        order = int(losses.argmin())
        last = np.column_stack([table[:, table.shape[1] - order :], response])
        different, counts = np.unique(last, axis=0, return_counts=True)
        return {"history": different[:, :-1], "class": different[:, -1], "cases": counts}

    def predict(self, task: Task, learnt: Arrays, table: np.ndarray) -> np.ndarray:
        history = learnt["history"]
        test = table[:, table.shape[1] - history.shape[1] :]
        states = np.where(test < 0, task.values, test)  # an unseen state is another state
        training = history, learnt["class"], states, task.values + 1, task.classes
        *_, p = n_grams(*training, learnt["cases"])
        return p


class Mixing(Peer):
    """Mixing of all orders; our own, but without draws, as third-party methods are."""

    words, takes, library = "mixing of all orders", (SEQUENCES,), False

    def fit(self, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
        return mixing.fit(table, response, task.order, task.values, task.classes).arrays

    def predict(self, task: Task, learnt: Arrays, table: np.ndarray) -> np.ndarray:
        return mixing.Mixed.restore(learnt, task.order, task.values, task.classes).predict(table)


PEERS: dict[str, Peer] = {
    "bernoulli-nb": BernoulliNaiveBayes(),
    "bernoulli-nb-calibrated": CalibratedBernoulliNaiveBayes(),
    "l2-logistic": WholeLogistic(),
    "gaussian-nb": GaussianNaiveBayes(),
    "lasso": Lasso(),
    "pls": PartialLeastSquares(),
    "bayesian-ridge": BayesianRidge(),
    "pool": PoolMethod(),
    "n-gram": NGram(),
    "mixing": Mixing(),
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
FIELDS = {"method": "estimator"}  # of Method, by the columns whose names differ
DESCRIBED = ("label", "method", "variant", "relevant", "temperature")
OF_PATTERNS = ("order", "prior", "compress", "engine", "scale", "joint", "name")
WORDS = {  # what tables and legends call a method whose name does not say it
    "naive-corrected": "naive Bayes, corrected",
    "naive-uncorrected": "naive Bayes, uncorrected",
    "normal-corrected": "normal features, corrected",
    "normal-uncorrected": "normal features, uncorrected",
    **{name: peer.words for name, peer in PEERS.items()},
}


SHORT = {  # names of methods on pages, where they differ from those of tables
    "complete": "",
    "l2-logistic": "ridge",
    "lasso": "lasso",
    "logistic-regression": "logistic regression",
    "mixing": "mixing",
    "pool": "pool",
    "ridge": "ridge",
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
    estimator : "corrected", "uncorrected", "complete" where all features are kept, or the name of
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
    estimator: str = ""
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
        return replace(self.options, estimator=self.estimator)

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
        return self.prior != NONE if self.engine else self.estimator in OURS

    @property
    def words(self) -> str:
        """The model, as tables and legends name it."""
        if self.engine == "slice":
            form = "compressed" if self.compress else "original"
            text = f"{self.prior.capitalize()}, {form}"
            return text + (f", {self.sampler}" if self.sampler else "")
        note = ", some relevant" if self.relevant == "some" else ""
        note += f", {TEMPERED}" if self.tempered else ""
        return method_words(self.estimator or self.engine) + note

    @property
    def selection_name(self) -> str:
        """What files call a method of selected features."""
        tempered = TEMPERED if self.tempered else NONE
        parts = (self.estimator, self.variant, self.relevant, tempered)
        return " ".join([self.label, *(part for part in parts if part not in (NONE, "all"))])


def as_columns(methods: Iterable[Method], names: Sequence[str] = DESCRIBED) -> Arrays:
    """Return the columns of result files that describe methods, by default of selected features."""
    rows = [*methods]
    return {
        name: np.array([getattr(method, FIELDS.get(name, name)) for method in rows])
        for name in names
    }


def from_columns(arrays: dict[str, np.ndarray], rows: Iterable[int]) -> list[Method]:
    """Return the methods that columns of result files describe.

    rows : of each method, in the arrays of predictions.
    """
    names = [name for name in (*DESCRIBED, *OF_PATTERNS) if name in arrays]
    columns = [arrays[name].tolist() for name in names]
    fields = [FIELDS.get(name, name) for name in names]
    return [
        Method(row, **dict(zip(fields, values, strict=True)))
        for row, *values in zip(rows, *columns, strict=True)
    ]
