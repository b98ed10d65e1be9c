"""Classifiers of real features and any number of classes, to compare with."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit

from thesiskit.models import lasso, peers
from thesiskit.models.folds import stratified
from thesiskit.models.peers import REALS, Task

METHODS = peers.names(REALS)


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    monkeypatch.setattr(peers, "TREES", 40)


def samples(rng, n, p, classes=2, tests=9):
    y = rng.permutation(np.arange(n + tests) % classes)
    X = rng.normal(size=(n + tests, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p)
    X[:, :4] += 1.5 * X.std(axis=0)[:4] * rng.normal(size=(4, classes))[:, y].T
    return X[:n], y[:n], X[n:], y[n:]


def predict(method, *given, classes=2, k=3, seed=1):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = peers.fit_predict(method, Task(REALS, classes, k), *given, seed)
    return p[:, 1] if classes == 2 else p


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_each_method_learns_and_answers_probabilities(method, classes, rng):
    train, y, test, actual = samples(rng, 60, 40, classes, tests=80)
    found = predict(method, train, y, test, classes=classes, k=4)
    assert found.shape == ((80,) if classes == 2 else (80, classes))
    p = np.column_stack([1 - found, found]) if classes == 2 else found
    assert p.sum(axis=1) == pytest.approx(1)
    assert (p >= 0).all()
    assert (p > 0).all() or method == "gaussian-nb"
    assert np.mean(p.argmax(axis=1) != actual) < 0.7 * (1 - 1 / classes)
    assert (found == predict(method, train, y, test, classes=classes, k=4)).all()


@pytest.mark.parametrize("method", METHODS)
def test_what_says_nothing_is_left_out(method, rng):
    train, y, test, _ = samples(rng, 40, 12)
    found = predict(method, train, y, test)
    more = np.full((40, 2), 3.0), np.array([[3.0, 7.0]] * 9)
    wide = np.hstack([train, more[0]]), y, np.hstack([test, more[1]])
    assert predict(method, *wide) == pytest.approx(found, abs=1e-12)
    base = predict(method, more[0], y, more[1])
    share = y.mean() if method == "gaussian-nb" else (y.sum() + 0.5) / 41
    assert base == pytest.approx(share)


@pytest.mark.parametrize("method", METHODS)
def test_a_missing_value_is_the_mean_of_its_column(method, rng):
    train, y, test, _ = samples(rng, 40, 8)
    missing = rng.random(train.shape) < 0.1
    holes = np.where(missing, np.nan, train)
    mean = np.nanmean(holes, axis=0)
    filled = np.where(missing, mean, train)
    other = np.where(np.arange(8) == 2, np.nan, test)
    same = np.where(np.arange(8) == 2, mean, test)
    assert predict(method, holes, y, other) == pytest.approx(
        predict(method, filled, y, same), abs=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_class_with_one_sample_or_none_is_no_error(method, rng):
    train, y, test, _ = samples(rng, 30, 6, classes=3)
    rare = np.where(y == 2, 0, y)
    none = predict(method, train, rare, test, classes=3)
    assert none.shape == (9, 3)
    assert none[:, 2] == pytest.approx(0 if method == "gaussian-nb" else 1 / 3 / 31)
    rare[0] = 2
    one = predict(method, train, rare, test, classes=3)
    assert one.sum(axis=1) == pytest.approx(1)
    only = predict(method, train, np.zeros(30, dtype=int), test, classes=3)
    assert (only.argmax(axis=1) == 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_are_constant_within_classes_do_not_warn(method, rng):
    train, y, test, _ = samples(rng, 30, 6)
    train[:, 5] = y
    test[:, 5] = 0.5
    assert np.isfinite(predict(method, train, y, test)).all()


def best_columns(train, y, many):
    groups = [train[y == g] for g in range(y.max() + 1)]
    between = sum(len(one) * (one.mean(axis=0) - train.mean(axis=0)) ** 2 for one in groups)
    within = sum(((one - one.mean(axis=0)) ** 2).sum(axis=0) for one in groups)
    return np.argsort(-between / within)[:many]


@pytest.mark.parametrize("classes", [2, 3])
def test_lasso_is_tuned_where_the_features_are_chosen_again(classes, rng, monkeypatch):
    """A slow twin: scikit-learn's classes in a plain loop over penalties and folds."""
    monkeypatch.setattr(lasso, "SCREENED", 12)
    train, y, test, _ = samples(rng, 45, 60, classes)

    def twin(train, y, test, penalty):
        best = best_columns(train, y, 12)
        mean, deviation = train[:, best].mean(axis=0), train[:, best].std(axis=0)
        known, new = (train[:, best] - mean) / deviation, (test[:, best] - mean) / deviation
        answers = []
        for g in range(classes):
            steepest = np.abs(known.T @ ((y == g) - np.mean(y == g))).max()
            model = LogisticRegression(
                l1_ratio=1, C=penalty / steepest, solver="liblinear", intercept_scaling=10,
                tol=1e-6, max_iter=5000, random_state=3,
            )  # fmt: skip
            answers.append(model.fit(known, y == g).predict_proba(new)[:, 1])
        p = np.array(answers).T
        if classes == 2:
            return np.column_stack([1 - p[:, 1], p[:, 1]])
        return p / p.sum(axis=1, keepdims=True)

    def loss(penalty):
        folds = PredefinedSplit(stratified(y, np.random.default_rng(3), 5)).split()
        return sum(
            -np.log(twin(train[a], y[a], train[b], penalty)[np.arange(len(b)), y[b]]).sum()
            for a, b in folds
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = min(peers.PENALTIES, key=loss)
        expected = (45 * twin(train, y, test, chosen) + 1 / classes) / 46
    found = predict("lasso", train, y, test, classes=classes, seed=3)
    found = np.column_stack([1 - found, found]) if classes == 2 else found
    assert found == pytest.approx(expected, abs=0.01)


def test_gaussian_nb_takes_the_features_with_the_largest_f(rng):
    train, y, test, _ = samples(rng, 40, 30)
    best = best_columns(train, y, 3)
    alone = predict("gaussian-nb", train[:, best], y, test[:, best])
    assert predict("gaussian-nb", train, y, test) == pytest.approx(alone)


@pytest.mark.parametrize("method", [m for m in peers.names(REALS) if peers.PEERS[m].exported])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_learnt_predicts_later_samples_from_a_file(method, classes, rng, tmp_path):
    train, y, test, _ = samples(rng, 40, 60, classes)
    train[rng.random(train.shape) < 0.05] = np.nan
    test[0, :5], train[:, 7], y[y == 3] = np.nan, 3.0, 0
    task = Task(REALS, classes + 1, 4)  # of the last class there is no sample
    np.savez(tmp_path / "fit.npz", **peers.fit(method, task, train, y, 5))
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as stored:
        learnt = dict(stored)
    found = [peers.predict(method, task, learnt, rows) for rows in (test, test[:4], test[4:])]
    np.testing.assert_allclose(np.concatenate(found[1:]), found[0], rtol=1e-12)
    np.testing.assert_array_equal(found[0], peers.fit_predict(method, task, train, y, test, 5))


def test_forests_are_scikit_learns_to_the_last_bit(rng):
    train, y, test, _ = samples(rng, 60, 20, 3)
    forest = RandomForestClassifier(40, random_state=5).fit(train, y)
    expected = (60 * forest.predict_proba(test) + 1 / 3) / 61
    found = peers.fit_predict("random-forest", Task(REALS, 3), train, y, test, 5)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("value", [3e3, -3e3, 1e12, 0.0])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["lasso", "pool"])
def test_a_sample_on_another_scale_has_probabilities(method, classes, value):
    """All one-against-others probabilities of such a sample can underflow: 0 / 0 before."""
    rng = np.random.default_rng(5)
    y = np.arange(30) % classes
    X = 6 + rng.normal(size=(30, 8)) + 2 * (np.arange(8) == y[:, None])
    task = Task(REALS, classes, 8)
    p = peers.predict(method, task, peers.fit(method, task, X, y, 1), np.full((1, 8), value))
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_a_file_with_a_method_of_earlier_versions_says_so():
    with pytest.raises(ValueError, match="nearest-centroids was removed"):
        peers.check_learnt("nearest-centroids", Task(REALS), {"counts": np.array([3, 4])}, 5)
