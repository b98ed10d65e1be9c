"""Methods that one would take instead, from other packages: PEERS tells each of them once.

`fit` returns what a method has learnt as named arrays, which a file can hold without a pickle, and
`predict` takes these arrays and other cases.  `Task` says what cases are:

    task = Task(REALS, classes=3, keep=10)
    learnt = fit("gaussian-nb", task, X, y, seed)        # dict of named arrays
    predict("gaussian-nb", task, learnt, X_new)          # P(class), (T, 3)
    names(REALS)                                         # what configs may ask for
    PEERS["gaussian-nb"].words                           # what tables call it

`fit_predict` does both; it also does the methods that are not `exported`, whose fits are no
arrays, and `l2_logistic` takes a table in parts, which is never held whole.

| method                       | what it is                                                        |
|------------------------------|-------------------------------------------------------------------|
| bernoulli-nb                 | scikit-learn's SelectKBest (F statistic) and BernoulliNB          |
| bernoulli-nb-calibrated      | the same, selection included, in CalibratedClassifierCV           |
| gaussian-nb                  | the `keep` features with the largest F statistics, and GaussianNB |
| l2-logistic                  | logistic regression of all features as they are                   |
| lasso                        | the same with an L1 penalty, of the best SCREENED features; of    |
|                              | more than two classes each against the others                     |
| logistic-regression, ridge   | of one-hot features                                               |
| gradient-boosting            | of categorical features, as is naive-bayes                        |

Tuning is by the log loss of five stratified folds of the training cases, in which everything is
done again, the choice of the best features too; ridges are tuned by left-out cases.  Nearest
shrunken centroids are those of Tibshirani, Hastie, Narasimhan and Chu (2002, PNAS 99, 6567-6572);
scikit-learn's NearestCentroid has the same centroids, but its log odds are more than twice those of
the paper.

To the n training cases one more is added, shared by the classes equally, so that no probability is
0; but not with the naive Bayes methods of chapter 2, which are scikit-learn's as they are.

Missing values.  Of BITS it is the more frequent value of its feature in the training cases, of
REALS their mean.  FEATURES have codes from 0; a code below 0 is a missing value or one that no
training case has, which the methods do not tell apart: no column of the feature is set.  To
naive-bayes it is one more category, also where no training case has it; to gradient-boosting too,
but where no training case has it, it goes to the side with most cases.
"""

import importlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from thesiskit.errors import DataError, UserError
from thesiskit.models.temperature import column_means, independent_cases, together

Arrays = dict[str, np.ndarray]
# what methods take: features of 0 and 1, or as they are; discrete ones, with classes or with real
# responses; the states before a response
BITS, REALS, SEQUENCES = "bits", "reals", "sequences"
FEATURES, RESPONSES = "features", "real responses"
# of data that have such cases
FAMILIES = {BITS: "table", REALS: "table", SEQUENCES: SEQUENCES, FEATURES: FEATURES,
            RESPONSES: FEATURES}  # fmt: skip

CS = np.logspace(-4, 4, 10)  # of logistic regression
RIDGE_CS = np.logspace(-5, 3, 9)
WHOLE_CS = np.logspace(-3, 5, 9)  # of l2-logistic, for rows whose mean squared length is 1
SCREENED = 500  # features of lasso: those with the largest F statistics in its training cases
PENALTIES = np.logspace(0.15, 2.3, 8)  # C of lasso, times the smallest with which a feature is used
THRESHOLDS = 30  # of nearest-centroids, from 0 to that which shrinks all to one centroid
FOLDS = 5
LARGEST = 1e100  # of a number in a model file
TREES = 500
_GAUSSIAN = ("theta_", "var_", "class_prior_")  # scikit-learn's names of what is learnt
_BERNOULLI = ("class_log_prior_", "feature_log_prob_")
# what load imports
_SKLEARN = (
    "calibration", "ensemble", "feature_selection", "linear_model", "model_selection",
    "naive_bayes", "preprocessing",
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What is predicted from what.

    kind : BITS, REALS, FEATURES, RESPONSES or SEQUENCES.
    classes : how many there are; it does not matter to RESPONSES.
    keep : BITS, REALS: how many features are kept, by a method that selects.
    values : FEATURES, RESPONSES: how many values each feature has; SEQUENCES: how many states.
    order : SEQUENCES: how many of the last states are used.
    groups : (n,) numbers from 0 of groups of training cases, which folds keep together.
    """

    kind: str
    classes: int = 2
    keep: int = 0
    values: Any = ()
    order: int = 0
    groups: Any = None


@dataclass(frozen=True)
class Peer:
    """A method of others.

    name, words : what configs and what tables call it.
    takes : the kinds of tasks.
    fit : from task, columns, responses (classes 0..G-1, each with a case), seed to arrays; None
        where a fit is no arrays.
    answer : from arrays and columns to P(class), (T, G), or real responses, (T,).
    columns : how FEATURES become columns: "one-hot", "dense", "codes".
    selects : whether it keeps some features; the others of BITS and REALS take all.
    filled : what a missing value of BITS and REALS counts as.
    adds : whether one more case is added, shared by the classes.
    """

    name: str
    words: str
    takes: tuple[str, ...]
    fit: Callable[[Task, Any, np.ndarray, int], Arrays] | None = None
    answer: Callable[[Arrays, Any], np.ndarray] | None = None
    columns: str = "dense"
    selects: bool = False
    filled: str = "mean"
    adds: bool = True

    @property
    def exported(self) -> bool:
        """Whether `fit` returns all that it has learnt, as arrays."""
        return self.fit is not None


def names(*kinds: str) -> tuple[str, ...]:
    """Return the names of the methods that take one of some kinds of tasks."""
    return tuple(
        dict.fromkeys(name for kind in kinds for name, peer in PEERS.items() if kind in peer.takes)
    )


def load(methods: Iterable[str]) -> None:
    """Import what the methods need, so that it is not counted in the time of the first fit."""
    if unknown := [method for method in methods if method not in PEERS]:
        raise UserError(f"unknown method {unknown[0]}: choose from {', '.join(PEERS)}")
    for part in _SKLEARN:
        importlib.import_module(f"sklearn.{part}")


def _check(name: str, task: Task, cases: int, length: int) -> None:
    """Raise UserError for what cannot be asked, DataError for no training case."""
    if name not in names(task.kind):
        raise UserError(f"unknown method {name}: choose from {', '.join(names(task.kind))}")
    if task.kind == SEQUENCES:
        load([name])
        if not 0 <= task.order <= length:
            raise UserError(f"order is {task.order}, but the histories hold {length} states")
    if cases == 0:
        raise DataError(f"{name} needs at least one training case")


# ---- fits, and predictions from them ----


def fit(name: str, task: Task, table: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
    """Return what a method learns from training cases, as arrays that `predict` takes.

    table : (n, p) features, or states in order of time.
    response : (n,) classes 0..classes-1; real numbers with RESPONSES.
    seed : of folds and trees.

    Raises
    ------
    UserError: the method does not take such cases, or is not `exported`, or lacks its package.
    DataError: there is no training case.
    """
    _check(name, task, len(table), table.shape[1])
    peer = PEERS[name]
    if peer.fit is None:
        raise UserError(f"{name} cannot be exported: what it has learnt is not a few arrays")
    if name == "n-gram":
        return _fit_n_gram(task, _histories(task, table), np.asarray(response), seed)
    base, codes = _base(task, response)
    if _says_nothing(peer, task, base):
        return base
    if name == "l2-logistic":
        return base | peer.fit(task, table, codes, seed)
    if task.kind in (FEATURES, RESPONSES) and not (table >= 0).any():  # no value is known
        return base
    learnt = _learn(peer, task, table)
    columns = _columns(peer, task, learnt, table)
    if columns.shape[1] == 0:
        return base
    with quietly():
        return base | learnt | peer.fit(task, columns, codes, seed)


def predict(name: str, task: Task, learnt: Arrays, table: np.ndarray) -> np.ndarray:
    """Return P(class) of other cases, (T, classes), or their real responses, (T,).

    learnt : what `fit` returned for the task.
    """
    peer = PEERS[name]
    if name == "n-gram":
        history = learnt["history"]
        test = _histories(replace(task, order=history.shape[1]), table)
        states = np.where(test < 0, task.values, test)  # what no training case has is one more
        training = history, learnt["class"], states, task.values + 1, task.classes
        *_, p = n_grams(*training, learnt["cases"])
        return p
    answer = None
    if len(learnt) > 1:  # more than the base rate
        columns = _columns(peer, task, learnt, table)
        assert peer.answer is not None
        with quietly():
            answer = peer.answer(learnt, columns)
    return _completed(peer, task, learnt, answer, len(table))


def check_learnt(name: str, task: Task, learnt: Arrays, width: int) -> None:
    """Raise ValueError, or what arrays that do not fit raise, unless `predict` can take these.

    width : columns of the tables that are predicted from.
    """
    peer = PEERS[name]
    if not peer.exported or task.kind not in peer.takes:
        raise ValueError(f"{name} has no such fits")
    for array in learnt.values():
        if array.dtype.kind not in "biuf" or not (np.abs(array.astype(float)) < LARGEST).all():
            raise ValueError("its numbers are no numbers of a fit")
    if "root" in learnt:  # each way through a tree ends, because it leads to later nodes only
        node = np.flatnonzero(learnt["feature"] >= 0)
        after = [learnt[side][node] for side in ("left", "right")]
        nodes = len(learnt["feature"])
        inside = all(((one > node) & (one < nodes)).all() for one in after)
        if not inside or not ((learnt["root"] >= 0) & (learnt["root"] < nodes)).all():
            raise ValueError("its trees are damaged")
    for indices in ("best", "feature"):
        if indices in learnt and (learnt[indices] < (0 if indices == "best" else -2)).any():
            raise ValueError("its columns are damaged")
    if "pairs" in learnt:
        values = np.broadcast_to(task.values, width)[learnt["pairs"]] + 1
        if (learnt["pairs"] < 0).any() or not np.array_equal(learnt["values"], values):
            raise ValueError("its pairs are damaged")
    if "class" in learnt and not ((learnt["class"] >= 0) & (learnt["cases"] > 0)).all():
        raise ValueError("its counts are damaged")
    codes = task.kind not in (BITS, REALS)
    p = predict(name, task, learnt, np.zeros((2, width), dtype=int if codes else float))
    if task.kind == RESPONSES:
        if p.shape != (2,) or not np.isfinite(p).all():
            raise ValueError("it predicts no numbers")
    elif p.shape != (2, task.classes) or not np.isfinite(p).all() or (p < 0).any():
        raise ValueError("it predicts no probabilities")


def fit_predict(
    name: str, task: Task, train: np.ndarray, response: np.ndarray, test: np.ndarray, seed: int
) -> np.ndarray:
    """Return P(class) of test cases (T, p), (T, classes), or their real responses, (T,).

    It is what `predict` says of what `fit` learnt; methods that are not exported have it too.
    """
    _check(name, task, len(train), min(train.shape[1], test.shape[1]))
    peer = PEERS[name]
    if peer.fit is not None:
        return predict(name, task, fit(name, task, train, response, seed), test)
    return _boosted(peer, task, train, response, test, seed)


def _base(task: Task, response: np.ndarray) -> tuple[Arrays, np.ndarray]:
    """Return what is known without features, and the responses as a method is given them."""
    if task.kind == RESPONSES:
        response = np.asarray(response, dtype=float)
        return {"mean response": np.array([response.mean(), len(response)])}, response
    response = np.asarray(response, dtype=np.int64)
    counts = np.bincount(response, minlength=task.classes)
    return {"counts": counts}, np.searchsorted(np.flatnonzero(counts), response)


def _says_nothing(peer: Peer, task: Task, base: Arrays) -> bool:
    """Return whether the base rate is the fit, whatever the features."""
    if task.kind == RESPONSES:
        return base["mean response"][1] == 1
    if peer.selects and task.keep == 0:  # no feature passes a threshold
        return True
    if peer.name == "bernoulli-nb-calibrated" and base["counts"].min() < 2:
        raise DataError(f"{peer.name} needs two training cases of each class")
    return np.count_nonzero(base["counts"]) == 1


def _completed(
    peer: Peer, task: Task, base: Arrays, answer: np.ndarray | None, cases: int
) -> np.ndarray:
    """Return predictions from those of a method for the classes seen; None: the base rate."""
    if task.kind == RESPONSES:
        return np.full(cases, base["mean response"][0]) if answer is None else answer
    counts = base["counts"]
    n = counts.sum()
    p = np.tile(counts / n, (cases, 1))
    if answer is not None:
        p[:, counts > 0] = answer
    if peer.adds:
        p = (n * p + 1 / task.classes) / (n + 1)
    if peer.name == "l2-logistic" or task.kind in (FEATURES, SEQUENCES):
        p = p / p.sum(axis=1, keepdims=True)
    return p


@contextmanager
def quietly() -> Iterator[None]:
    """Fit on one thread, and without scikit-learn's warnings.

    More threads add numbers in another order, and OpenMP's waiting threads cost tenfold on data
    this small.  A column that is constant has F = 0 / 0 and is ranked last; a penalty for which the
    iterations were too few (a UserWarning too) is judged by where they led.
    """
    from threadpoolctl import threadpool_limits

    with (
        threadpool_limits(1),
        np.errstate(divide="ignore", invalid="ignore"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)
        yield


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


def _learn(peer: Peer, task: Task, table: np.ndarray) -> Arrays:
    """Return what is learnt of columns: what fills gaps, and which of them are used."""
    if task.kind == BITS:
        return {"filling": majority(table)}
    if task.kind == REALS:
        means = column_means(table)
        return {"filling": means, "varying": np.ptp(filled(table, means), axis=0) > 0}
    if task.kind == SEQUENCES or peer.columns == "codes":
        return {}
    return {"expressed": np.unique(one_hot(table, task.values).indices)}


def _columns(peer: Peer, task: Task, learnt: Arrays, table: np.ndarray) -> Any:
    """Return a table, of training cases or others, as the columns that the method takes."""
    if peer.name == "l2-logistic":
        away = np.asarray(table, dtype=float) - learnt["mean"]
        return np.where(np.isnan(away), 0, away)
    if task.kind == BITS:
        return filled(table, learnt["filling"])
    if task.kind == REALS:
        columns = filled(np.asarray(table, dtype=float), learnt["filling"])
        return columns if learnt["varying"].all() else columns[:, learnt["varying"]]
    if task.kind == SEQUENCES:
        return one_hot(_histories(task, table), task.values).toarray()
    if peer.columns == "codes":
        return np.where(table < 0, task.values, table)
    # a column that is 0 in all training cases is left out: its coefficient would be 0
    columns = one_hot(table, task.values)[:, learnt["expressed"]]
    # five times as fast for a forest as from a sparse table
    return columns.toarray() if peer.columns == "dense" else columns


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


def _fit_linear(
    task: Task, columns: Any, response: np.ndarray, seed: int, grid: np.ndarray = CS
) -> Arrays:
    """Logistic regression; or a ridge, whose penalty is tuned by leave-one-out squared error."""
    from sklearn.linear_model import RidgeCV

    if task.kind == RESPONSES:
        model: Any = RidgeCV(1 / RIDGE_CS)
    else:
        model = logistic_regression(response, seed, grid, task.groups)
    return _coefficients(model.fit(columns, response))


def _coefficients(model: Any) -> Arrays:
    """Return what a fitted linear model has learnt, which may have been tuned."""
    best = getattr(model, "best_estimator_", model)
    return {"coef_": best.coef_, "intercept_": np.asarray(best.intercept_)}


def _answer_linear(learnt: Arrays, columns: Any) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression, Ridge

    if "counts" in learnt:
        return _restored(LogisticRegression(), learnt, "coef_", "intercept_").predict_proba(columns)
    return _restored(Ridge(), learnt, "coef_", "intercept_").predict(columns)


def _fit_bernoulli(
    task: Task, columns: np.ndarray, codes: np.ndarray, seed: int, *, calibrated: bool = False
) -> Arrays:
    """One model, or one of each fold with the two numbers that calibrate it."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_selection import SelectKBest, f_classif
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(SelectKBest(f_classif, k=task.keep), BernoulliNB())
    if not calibrated:
        models, lines = [model.fit(columns, codes)], np.empty((0, 2))
    else:
        several = CalibratedClassifierCV(model, cv=_folds(codes, seed, task.groups))
        several = several.fit(columns, codes)
        models = [member.estimator for member in several.calibrated_classifiers_]
        by = [member.calibrators[0] for member in several.calibrated_classifiers_]
        lines = np.array([[line.a_, line.b_] for line in by])
    best = np.array([model[0].get_support(indices=True) for model in models])
    return {"best": best, "lines": lines} | {
        name: np.array([getattr(model[1], name) for model in models]) for name in _BERNOULLI
    }


def _answer_bernoulli(learnt: Arrays, columns: np.ndarray) -> np.ndarray:
    from scipy.special import expit
    from sklearn.naive_bayes import BernoulliNB

    total = np.zeros((len(columns), 2))
    for i, best in enumerate(learnt["best"]):
        mine = learnt | {name: learnt[name][i] for name in _BERNOULLI}
        p = _restored(BernoulliNB(), mine, *_BERNOULLI).predict_proba(columns[:, best])
        if len(learnt["lines"]):
            slope, intercept = learnt["lines"][i]
            p[:, 1] = expit(-(slope * p[:, 1] + intercept))
            p[:, 0] = 1 - p[:, 1]
        total += p
    return total / len(learnt["best"])


def _fit_gaussian(task: Task, columns: np.ndarray, codes: np.ndarray, _seed: int) -> Arrays:
    from sklearn.naive_bayes import GaussianNB

    best = _best(columns, codes, task.keep)
    model = GaussianNB().fit(columns[:, best], codes)
    return {"best": best} | {name: getattr(model, name) for name in _GAUSSIAN}


def _answer_gaussian(learnt: Arrays, columns: np.ndarray) -> np.ndarray:
    from sklearn.naive_bayes import GaussianNB

    return _restored(GaussianNB(), learnt, *_GAUSSIAN).predict_proba(columns[:, learnt["best"]])


def _best(columns: np.ndarray, codes: np.ndarray, many: int) -> np.ndarray:
    """Return the columns with the largest F statistics, in the order of the table."""
    from sklearn.feature_selection import f_classif

    f = f_classif(columns, codes)[0]
    f[np.isnan(f)] = -1
    return np.sort(np.argsort(-f, kind="stable")[:many])


def _fit_categorical(task: Task, columns: np.ndarray, codes: np.ndarray, _seed: int) -> Arrays:
    """One case is added to each value in each class, missing as a value too."""
    from sklearn.naive_bayes import CategoricalNB

    values = np.asarray(task.values) + 1
    model = CategoricalNB(min_categories=values).fit(columns, codes)
    return {
        "values": values,
        "class_log_prior_": model.class_log_prior_,
        "feature_log_prob_": np.concatenate(model.feature_log_prob_, axis=1),
    }


def _answer_categorical(learnt: Arrays, columns: np.ndarray) -> np.ndarray:
    from scipy.special import logsumexp

    start = np.cumsum(learnt["values"]) - learnt["values"]
    log_p = np.zeros((len(columns), len(learnt["class_log_prior_"])))
    for first, codes in zip(start, columns.T.astype(int), strict=True):
        log_p += learnt["feature_log_prob_"][:, first + codes].T
    log_p += learnt["class_log_prior_"]
    return np.exp(log_p - logsumexp(log_p, axis=1)[:, None])


def _fit_forest(task: Task, columns: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
    """Nodes of all trees, one after the other; those of tree i begin at root[i].

    feature, threshold : (nodes,) a case with at most the threshold goes to the left; -2 in leaves.
    left, right : (nodes,) numbers of nodes.
    value : (nodes, G) shares of classes; (nodes, 1) mean responses.
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest = RandomForestRegressor if task.kind == RESPONSES else RandomForestClassifier
    fitted = forest(TREES, random_state=seed).fit(columns, response)
    trees = [tree.tree_ for tree in fitted.estimators_]
    root = np.cumsum([0] + [tree.node_count for tree in trees[:-1]])
    nodes = {
        "feature": [tree.feature for tree in trees],
        "threshold": [tree.threshold for tree in trees],
        "left": [i + tree.children_left for i, tree in zip(root, trees, strict=True)],
        "right": [i + tree.children_right for i, tree in zip(root, trees, strict=True)],
        "value": [tree.value[:, 0] for tree in trees],
    }
    return {"root": root} | {name: np.concatenate(parts) for name, parts in nodes.items()}


def _answer_forest(learnt: Arrays, columns: np.ndarray) -> np.ndarray:
    """Return the means of the trees, added in their order as scikit-learn does.

    Raises ValueError where a node is not behind the one above it, as in a file that was altered:
    its trees may have no end.
    """
    feature, value = learnt["feature"], learnt["value"]
    inner = np.flatnonzero(feature >= 0)
    if (np.minimum(learnt["left"], learnt["right"])[inner] <= inner).any():
        raise ValueError("its trees have no end")
    columns = columns.astype(np.float32)  # as scikit-learn compares them
    answer = np.zeros((len(columns), value.shape[1]))
    trees, width = len(learnt["root"]), columns.shape[1]
    step = max(1, 2**17 // trees)
    for start in range(0, len(columns), step):
        given = columns[start : start + step].ravel()
        first = np.tile(np.arange(0, len(given), width), trees)  # of each case's columns
        node = np.repeat(learnt["root"], len(given) // width)
        active = np.flatnonzero(feature[node] >= 0)  # what has not come to a leaf
        while len(active):
            here = node[active]
            left = given[first[active] + feature[here]] <= learnt["threshold"][here]
            node[active] = here = np.where(left, learnt["left"][here], learnt["right"][here])
            active = active[feature[here] >= 0]
        for leaves in node.reshape(trees, -1):
            answer[start : start + step] += value[leaves]
    answer /= trees
    return answer if "counts" in learnt else answer[:, 0]


def _boosted(
    peer: Peer, task: Task, train: np.ndarray, response: np.ndarray, test: np.ndarray, seed: int
) -> np.ndarray:
    """Histogram gradient boosting on categorical features, NaN a category of its own.

    A tenth of the cases says when to stop, by the defaults, where it can hold every class, or is
    two cases.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    base, codes = _base(task, response)
    if task.kind == SEQUENCES:
        train, test = _histories(task, train), _histories(task, test)
    if train.shape[1] == 0 or not (train >= 0).any() or _says_nothing(peer, task, base):
        return _completed(peer, task, base, None, len(test))
    if task.kind == RESPONSES:
        boosting, how, stop = HistGradientBoostingRegressor, "predict", len(train) > 10
    else:
        counts = np.bincount(codes)
        stop = bool(counts.min() > 1 and np.ceil(0.1 * len(codes)) >= len(counts))
        boosting, how = HistGradientBoostingClassifier, "predict_proba"
    model = boosting(
        categorical_features=list(range(train.shape[1])), early_stopping=stop, random_state=seed
    )
    if task.kind != SEQUENCES:
        train, test = (np.where(codes < 0, np.nan, codes) for codes in (train, test))
    with quietly():
        answer = getattr(model.fit(train, codes), how)(test)
    return _completed(peer, task, base, answer, len(test))


# ---- methods that are tuned: fits for several choices, each as arrays ----

# of columns, classes, values to choose from and a seed
Path = Callable[[np.ndarray, np.ndarray, np.ndarray, int], Iterator[Arrays]]


def _tuned(
    path: Path,
    answer: Callable[[Arrays, np.ndarray], np.ndarray],
    choices: np.ndarray,
    given: tuple[np.ndarray, np.ndarray, int],
    groups: np.ndarray | None,
) -> Arrays:
    """Return the fit of columns, classes and seed with the choice of the lowest log loss in folds.

    Where a class has one case nothing is tuned: the choice is that in the middle.
    """
    columns, codes, seed = given
    folds = _folds(codes, seed, groups)
    if folds is None:
        return next(path(columns, codes, choices[len(choices) // 2 :][:1], seed))
    loss = np.zeros(len(choices))
    for rows, others in folds:
        for i, learnt in enumerate(path(columns[rows], codes[rows], choices, seed)):
            p = answer(learnt, columns[others])[np.arange(len(others)), codes[others]]
            loss[i] -= np.log(np.maximum(p, np.finfo(float).eps)).sum()
    return next(path(columns, codes, choices[loss.argmin()][None], seed))


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


def answer_centroids(learnt: Arrays, columns: np.ndarray) -> np.ndarray:
    """Return P(class) of cases (T, G) by the nearest of the shrunken centroids."""
    centroid = learnt["centroid"]
    cases = (columns[:, learnt["used"]] - learnt["mean"]) / learnt["scale"]
    score = cases @ centroid.T - (centroid**2).sum(axis=1) / 2 + learnt["log_prior"]
    score -= score.max(axis=1, keepdims=True)
    return np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)


def _fit_centroids(task: Task, columns: np.ndarray, codes: np.ndarray, seed: int) -> Arrays:
    def path(
        columns: np.ndarray, codes: np.ndarray, thresholds: np.ndarray, _seed: int
    ) -> Iterator[Arrays]:
        fitted = centroids(columns, codes)
        return (shrunken(fitted, threshold) for threshold in thresholds)

    most = np.abs(centroids(columns, codes)["distance"]).max()
    thresholds = np.linspace(0, most, THRESHOLDS)
    return _tuned(path, answer_centroids, thresholds, (columns, codes, seed), task.groups)


def lasso_path(
    columns: np.ndarray, codes: np.ndarray, penalties: np.ndarray, seed: int
) -> Iterator[Arrays]:
    """Yield a fit of the best columns, standardised, with each penalty."""
    best = _best(columns, codes, SCREENED)
    mean, deviation = columns[:, best].mean(axis=0), columns[:, best].std(axis=0)
    deviation[deviation == 0] = np.inf  # constant in a fold
    known = (columns[:, best] - mean) / deviation
    members = [codes == g for g in (range(1, 2) if codes.max() == 1 else range(codes.max() + 1))]
    steepest = [np.abs(known.T @ (member - member.mean())).max() for member in members]
    for penalty in penalties:
        coefficient, intercept = np.zeros((len(members), len(best))), np.zeros(len(members))
        for g, member in enumerate(members):
            if steepest[g] == 0:
                intercept[g] = np.log(member.mean() / (1 - member.mean()))
                continue
            model = _l1_logistic(penalty / steepest[g], seed).fit(known, member)
            coefficient[g], intercept[g] = model.coef_[0], model.intercept_[0]
        yield {
            "best": best,
            "mean": mean,
            "deviation": deviation,
            "coef_": coefficient,
            "intercept_": intercept,
        }


def _l1_logistic(C: float, seed: int) -> Any:
    """Return the model; liblinear is quick, and penalises a large intercept a little."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(
        C=C, solver="liblinear", intercept_scaling=10, tol=1e-3, random_state=seed, **_l1()
    )


@cache
def _l1() -> dict[str, Any]:
    """Return how scikit-learn is asked for an L1 penalty, which has another name since 1.8."""
    from sklearn.linear_model import LogisticRegression

    known = inspect.signature(LogisticRegression).parameters.get("penalty")
    old = known is not None and known.default == "l2"
    return {"penalty": "l1"} if old else {"l1_ratio": 1.0}


def _answer_lasso(learnt: Arrays, columns: np.ndarray) -> np.ndarray:
    cases = (columns[:, learnt["best"]] - learnt["mean"]) / learnt["deviation"]
    lines = zip(learnt["coef_"], learnt["intercept_"], strict=True)
    scores = np.hstack([cases @ slope[:, None] + level for slope, level in lines])
    return one_against_others(np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores)


def one_against_others(scores: np.ndarray) -> np.ndarray:
    """Return P(class), (T, G), from log odds of each class against all others, (T, G).

    The probabilities of the classes are divided by their sum, on the log scale: for a sample far
    from the training samples all of them can underflow.
    """
    from scipy import special

    return special.softmax(special.log_expit(scores), axis=1)


def _fit_pool(task: Task, columns: np.ndarray, codes: np.ndarray, seed: int) -> Arrays:
    from thesiskit.models import pool  # which takes the path of the lasso from here

    return pool.fit(columns, codes, np.random.default_rng(seed), task.groups)


def _answer_pool(learnt: Arrays, columns: np.ndarray) -> np.ndarray:
    from thesiskit.models import pool

    return np.exp(pool.log_probability(learnt, columns))


# ---- logistic regression of all features, however many there are ----


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
    p = _completed(PEERS["l2-logistic"], task, base, answer, len(test))
    return p[:, 1] if n_classes == 2 else p


def _fit_l2(task: Task, table: np.ndarray, codes: np.ndarray, seed: int) -> Arrays:
    """Return the same as coefficients of the columns less their means."""
    from thesiskit.models.packed import chunks, read_columns

    rows = np.arange(len(table))
    blocks = [(table, columns) for columns in chunks(table)]
    with quietly():
        known, _, turn = _as_short_rows((read_columns(*block) for block in blocks), rows, rows[:0])
        if known.shape[1] == 0:
            return {}
        model = logistic_regression(codes, seed, WHOLE_CS, task.groups).fit(known, codes)
    learnt = _coefficients(model)
    means, coefficients, done = [], [], 0
    for block in blocks:
        values, _, mean, deviation = _standardised(read_columns(*block), np.empty((0, 1)))
        if turn.ndim == 2:
            mine = learnt["coef_"] @ (turn.T @ values)
        else:
            mine = learnt["coef_"][:, done : done + len(mean)] * turn
        means.append(mean)
        coefficients.append(mine / deviation)
        done += len(mean)
    coefficient = np.concatenate(coefficients, axis=1)
    return {"mean": np.concatenate(means), "coef_": coefficient, "intercept_": learnt["intercept_"]}


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


def _fit_n_gram(task: Task, train: np.ndarray, response: np.ndarray, seed: int) -> Arrays:
    """Interpolated n-gram of the order that predicts best in five folds of the training cases.

    A context seen once takes half the weight at every level, so that long ones are overconfident.
    """
    fold = np.random.default_rng(seed).permutation(len(train)) % 5
    losses = np.zeros(train.shape[1] + 1)
    for f in range(min(5, len(train)) if len(train) > 1 else 0):
        out = fold == f
        models = n_grams(train[~out], response[~out], train[out], task.values, task.classes)
        for order, p in enumerate(models):
            losses[order] -= np.log(p[np.arange(out.sum()), response[out]]).sum()
    order = int(losses.argmin())
    last = np.column_stack([train[:, train.shape[1] - order :], response])
    different, cases = np.unique(last, axis=0, return_counts=True)
    return {"history": different[:, :-1], "class": different[:, -1], "cases": cases}


# ---- the methods ----

_NAIVE: dict[str, Any] = {"selects": True, "adds": False}
_BITS = _NAIVE | {"answer": _answer_bernoulli, "filled": "more frequent value"}
_LINEAR, _FOREST = (_fit_linear, _answer_linear), (_fit_forest, _answer_forest)
_CALIBRATED = partial(_fit_bernoulli, calibrated=True)
_TABLES, _ONE_HOT = (REALS, FEATURES, RESPONSES), (FEATURES, SEQUENCES)
_PEERS = (
    Peer("bernoulli-nb", "SelectKBest + BernoulliNB", (BITS,), _fit_bernoulli, **_BITS),
    Peer("bernoulli-nb-calibrated", "SelectKBest + BernoulliNB, calibrated", (BITS,), _CALIBRATED,
         **_BITS),
    Peer("l2-logistic", "logistic regression, L2", (BITS, REALS), _fit_l2, _answer_linear),
    Peer("gaussian-nb", "SelectKBest + GaussianNB", (REALS,), _fit_gaussian, _answer_gaussian,
         **_NAIVE),
    Peer("nearest-centroids", "nearest shrunken centroids", (REALS,), _fit_centroids,
         answer_centroids),
    Peer("lasso", "logistic regression, L1", (BITS, REALS),
         lambda task, *given: _tuned(lasso_path, _answer_lasso, PENALTIES, given, task.groups),
         _answer_lasso),
    Peer("pool", "pool of ridge, lasso, discriminants", (REALS,), _fit_pool, _answer_pool),
    Peer("n-gram", "interpolated n-gram, order chosen", (SEQUENCES,), _fit_n_gram),
    Peer("logistic-regression", "logistic regression, one-hot", _ONE_HOT, *_LINEAR, "one-hot"),
    Peer("ridge", "ridge regression, one-hot", (RESPONSES,), *_LINEAR, "one-hot"),
    Peer("random-forest", "random forest", _TABLES, *_FOREST),
    Peer("gradient-boosting", "gradient boosting", (FEATURES, RESPONSES, SEQUENCES)),
    Peer("naive-bayes", "naive Bayes", (FEATURES,), _fit_categorical, _answer_categorical, "codes"),
)  # fmt: skip
PEERS = {peer.name: peer for peer in _PEERS}
