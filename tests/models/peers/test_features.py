"""The peers of the logistic model of features: scikit-learn's answers, proper in every corner."""

import warnings

import numpy as np
import pytest
from cases import few
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from threadpoolctl import threadpool_info

from thesiskit.errors import DataError, UserError
from thesiskit.models import peers
from thesiskit.models.folds import stratified
from thesiskit.models.peers import FEATURES, RESPONSES, Task

METHODS, REGRESSION_METHODS = peers.names(FEATURES), peers.names(RESPONSES)
MISSING, UNSEEN = -1, -2
EVERY = [(m, True) for m in METHODS] + [(m, False) for m in REGRESSION_METHODS]
MAIN_EFFECTS = ("logistic-regression", "naive-bayes", "ridge")


@pytest.fixture
def small_forest(monkeypatch):
    monkeypatch.setattr(peers, "TREES", 20)


def fit_predict(method, train, response, test, n_values, n_classes, seed):
    task = Task(FEATURES, n_classes, values=n_values)
    return peers.fit_predict(method, task, train, response, test, seed)


def fit_predict_response(method, train, response, test, n_values, seed):
    """Return predictions, the locations of their distributions."""
    task = Task(RESPONSES, values=n_values)
    components = peers.fit_predict(method, task, train, response, test, seed)
    assert components.shape == (len(test), 1, 4)
    assert (components[:, 0, 0] == 1).all()
    assert (components[:, 0, 2:] > 0).all()
    return components[:, 0, 1]


@pytest.fixture(params=EVERY, ids=[f"{m}-{'classes' if c else 'response'}" for m, c in EVERY])
def peer(request, small_forest):
    """Each method by one face: its name, and its answers (T, n_classes) or (T, 1), checked."""
    method, classes = request.param

    def answers(train, response, test, n_values, n_classes=2, seed=1):
        train, test = np.asarray(train, dtype=np.int16), np.asarray(test, dtype=np.int16)
        if not classes:
            p = fit_predict_response(method, train, response, test, n_values, seed)
            assert p.shape == (len(test),)
            assert np.isfinite(p).all()
            return p[:, None]
        p = fit_predict(method, train, response, test, n_values, n_classes, seed)
        assert p.shape == (len(test), n_classes)
        assert (p > 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1)
        return p

    return method, answers


def table(rng, n, n_values, lowest=0):
    return rng.integers(lowest, n_values, (n, len(n_values))).astype(np.int16)


def smoothed(p, n):
    return (n * p + 1 / p.shape[1]) / (n + 1)


def dense_one_hot(X, n_values):
    return np.column_stack([X[:, j] == v for j, k in enumerate(n_values) for v in range(k)]) * 1.0


def test_one_hot_sets_the_column_of_each_known_value():
    X = np.array([[1, 0], [MISSING, 2], [0, UNSEEN]], dtype=np.int16)
    expected = [[0, 1, 1, 0, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    assert peers.one_hot(X, [2, 3]).toarray().tolist() == expected
    assert peers.one_hot(X[:, :0], []).shape == (3, 0)


def test_logistic_regressions_are_scikit_learns(rng):
    method, design, grid = "logistic-regression", dense_one_hot, np.logspace(-4, 4, 10)
    n_values = [2, 3, 4]
    train, test = table(rng, 90, n_values, MISSING), table(rng, 30, n_values, UNSEEN)
    noise = rng.integers(0, 3, 90)
    response = np.where(rng.random(90) < 0.6, (train[:, 0] + train[:, 1]) % 3, noise)
    p = fit_predict(method, train, response, test, n_values, 3, 6)
    folds = PredefinedSplit(stratified(response, np.random.default_rng(6), 5))
    model = LogisticRegression(max_iter=1000)
    model = GridSearchCV(model, {"C": grid}, scoring="neg_log_loss", cv=folds)
    model.fit(design(train, n_values), response)
    assert grid[0] < model.best_params_["C"] < grid[-1]
    twin = smoothed(model.predict_proba(design(test, n_values)), 90)
    np.testing.assert_allclose(p, twin, rtol=1e-6)


def test_ridges_have_the_penalty_that_predicts_left_out_samples_best(rng):
    method, design = "ridge", dense_one_hot
    n_values = [2, 3, 3]
    train, test = table(rng, 40, n_values, MISSING), table(rng, 20, n_values, UNSEEN)
    response = train[:, 0] + (train[:, 1] == train[:, 2]) * 2 + rng.normal(size=40)
    columns = design(train, n_values)
    errors = []
    for penalty in 10.0 ** np.arange(-3, 6):
        left_out = [np.arange(40) != i for i in range(40)]
        fits = [Ridge(penalty).fit(columns[rest], response[rest]) for rest in left_out]
        predicted = [f.predict(columns[~r])[0] for f, r in zip(fits, left_out, strict=True)]
        errors.append(np.square(predicted - response).mean())
    best = int(np.argmin(errors))
    assert 0 < best < 8
    twin = Ridge(10.0 ** (best - 3)).fit(columns, response).predict(design(test, n_values))
    p = fit_predict_response(method, train, response, test, n_values, 1)
    np.testing.assert_allclose(p, twin, rtol=1e-6)


def test_forests_are_scikit_learns(rng, monkeypatch):
    n_values = [2, 3, 3]
    train, test = table(rng, 60, n_values, MISSING), table(rng, 30, n_values, UNSEEN)
    response = rng.integers(0, 3, 60)
    columns = [dense_one_hot(X, n_values) for X in (train, test)]
    p = fit_predict("random-forest", train, response, test, n_values, 3, 5)
    forest = RandomForestClassifier(500, random_state=5).fit(columns[0], response)
    np.testing.assert_allclose(p, smoothed(forest.predict_proba(columns[1]), 60), rtol=1e-9)
    monkeypatch.setattr(peers, "TREES", 30)
    p = fit_predict_response("random-forest", train, response, test, n_values, 5)
    forest = RandomForestRegressor(30, random_state=5).fit(columns[0], response)
    np.testing.assert_allclose(p, forest.predict(columns[1]), rtol=1e-9)


def test_gradient_boosting_is_scikit_learns(rng):
    n_values = [3, 4]
    train, test = table(rng, 300, n_values, MISSING), table(rng, 30, n_values, UNSEEN)
    response = np.where(rng.random(300) < 0.5, train[:, 0] > 0, rng.integers(0, 3, 300))
    columns = [np.where(X < 0, np.nan, X) for X in (train, test)]
    options = {"categorical_features": [0, 1], "early_stopping": True, "random_state": 5}
    p = fit_predict("gradient-boosting", train, response, test, n_values, 3, 5)
    twin = HistGradientBoostingClassifier(**options).fit(columns[0], response)
    np.testing.assert_allclose(p, smoothed(twin.predict_proba(columns[1]), 300), rtol=1e-9)
    p = fit_predict_response("gradient-boosting", train, response, test, n_values, 5)
    twin = HistGradientBoostingRegressor(**options).fit(columns[0], response)
    np.testing.assert_allclose(p, twin.predict(columns[1]), rtol=1e-9)


def test_naive_bayes_by_its_definition(rng):
    n_values = [2, 4]
    train, test = table(rng, 50, n_values, MISSING), table(rng, 30, n_values, UNSEEN)
    response = rng.integers(0, 2, 50)
    p = fit_predict("naive-bayes", train, response, test, n_values, 2, 1)
    twin = np.ones((30, 2))
    for c in range(2):
        own = train[response == c]
        twin[:, c] = len(own) / 50
        for j, k in enumerate(n_values):
            for i, value in enumerate(np.maximum(test[:, j], MISSING)):
                twin[i, c] *= (np.sum(own[:, j] == value) + 1) / (len(own) + k + 1)
    np.testing.assert_allclose(p, smoothed(twin / twin.sum(axis=1, keepdims=True), 50), rtol=1e-9)


def loss(answer, actual):
    """Mean squared error (T, 1), or mean minus log probability."""
    if answer.shape[1] == 1:
        return np.square(answer[:, 0] - actual).mean()
    return -np.log(answer[np.arange(len(actual)), actual]).mean()


def test_an_effect_of_one_feature_is_learnt(peer, rng):
    _, answers = peer
    n_values = [3, 2, 4]
    train, test = table(rng, 300, n_values), table(rng, 300, n_values)
    answer = answers(train, train[:, 0], test, n_values, 3)
    base = loss(answers(train[:, :0], train[:, 0], test[:, :0], [], 3), test[:, 0])
    assert base > 0.5
    assert loss(answer, test[:, 0]) < 0.1 * base


def test_only_main_effects_miss_an_interaction(peer, rng):
    method, answers = peer
    n_values = [2] * 5
    train, test = table(rng, 400, n_values), table(rng, 400, n_values)
    response, actual = (X[:, 1] ^ X[:, 3] for X in (train, test))
    base = loss(answers(train[:, :0], response, test[:, :0], []), actual)
    ratio = loss(answers(train, response, test, n_values), actual) / base
    assert ratio > 0.9 if method in MAIN_EFFECTS else ratio < 0.2


def test_missing_values_are_learnt_from_and_unseen_ones_are_like_them(peer, rng):
    _, answers = peer
    train = table(rng, 300, [2, 2])
    response = rng.integers(0, 2, 300)
    train[response == 1, 0] = MISSING
    test = np.array([[MISSING, 0], [UNSEEN, 0], [1, 0], [UNSEEN, MISSING]])
    answer = answers(train, response, test, [2, 2])[:, -1]
    assert (answer[[0, 1, 3]] > 0.8).all()
    assert answer[2] < 0.2
    assert answer[0] == answer[1]


def test_a_value_without_a_training_sample_is_unseen(peer, rng):
    _, answers = peer
    train = table(rng, 100, [2, 3])
    response = np.where(rng.random(100) < 0.8, train[:, 0], 1 - train[:, 0])
    answer = answers(train, response, [[2, 0], [UNSEEN, 0], [MISSING, 0]], [3, 3])
    np.testing.assert_allclose(answer[1:], answer[[0, 0]], rtol=1e-12)


def test_an_answer_does_not_depend_on_the_other_test_samples(peer, rng):
    _, answers = peer
    n_values = [3, 3, 3]
    train, test = table(rng, 80, n_values), table(rng, 20, n_values, UNSEEN)
    response = train[:, 0] % 2
    whole = answers(train, response, test, n_values)
    alone = [answers(train, response, test[i : i + 1], n_values)[0] for i in range(3)]
    np.testing.assert_allclose(whole[:3], alone, rtol=1e-9)


def test_a_fixed_seed_gives_fixed_answers(peer, rng):
    method, answers = peer
    n_values = [3, 3, 3]
    train, response = table(rng, 80, n_values, MISSING), rng.integers(0, 2, 80)
    first, second, other = (answers(train, response, train, n_values, seed=s) for s in (7, 7, 8))
    assert (first == second).all()
    if method in ("random-forest", "gradient-boosting"):
        assert (first != other).any()
    if method in ("ridge", "naive-bayes"):
        assert (first == other).all()


@pytest.mark.parametrize("columns", ["none", "all missing"])
def test_without_known_values_the_base_rate_is_left(peer, columns, rng):
    _, answers = peer
    p = 0 if columns == "none" else 2
    response = rng.integers(0, 2, 30)
    answer = answers(np.full((30, p), MISSING), response, np.zeros((4, p)), [3] * p)
    expected = (response.sum() + 0.5) / 31 if answer.shape[1] == 2 else response.mean()
    np.testing.assert_allclose(answer[:, -1], expected)


def test_columns_that_are_constant_or_all_missing_say_nothing(peer):
    _, answers = peer
    train = np.zeros((60, 3), dtype=np.int16)
    train[:, 1] = MISSING
    train[:, 2] = 1
    test = np.array([[0, MISSING, 1], [UNSEEN, 1, 1], [1, 0, 0]])
    answer = answers(train, np.arange(60) % 2, test, [2, 2, 2])
    np.testing.assert_allclose(answer[:, -1], 0.5, atol=0.02)


def test_a_feature_may_have_all_the_codes(peer):
    _, answers = peer
    train = np.tile(np.arange(255), 12)[:, None]  # boosting ignores values of ten samples
    answer = answers(train, train[:, 0] % 2, [[254], [253], [UNSEEN]], [255])
    assert answer[0, -1] < answer[1, -1]


@pytest.mark.parametrize("n", few([1, 2, 3, 11]))
def test_few_samples_do_not_fail(peer, n, rng):
    _, answers = peer
    n_values = [2, 3]
    train, test = table(rng, n, n_values, MISSING), table(rng, 10, n_values, UNSEEN)
    for response in (np.zeros(n, int), np.arange(n) % 2, np.arange(n) % 3):
        answer = answers(train, response, test, n_values, 4)
        if np.ptp(response) == 0:  # one class, or one value of the response
            expected = (n + 0.25) / (n + 1) if answer.shape[1] == 4 else 0
            np.testing.assert_allclose(answer[:, 0], expected, atol=1e-12)


def test_a_class_with_one_sample_does_not_fail(peer, rng):
    _, answers = peer
    train = table(rng, 60, [3, 3])
    response = train[:, 0] % 2
    response[0] = 3
    answer = answers(train, response, train, [3, 3], 5)
    if answer.shape[1] == 5:  # of the one more sample alone
        np.testing.assert_allclose(answer[:, [2, 4]], 0.2 / 61)
        assert (answer[0, 3] > answer[train[:, 0] != train[0, 0], 3]).all()


@pytest.mark.parametrize("method", METHODS)
def test_one_class_needs_no_fit(method):
    X = np.zeros((2, 3), dtype=np.int16)
    p = fit_predict(method, X, np.zeros(2, int), X, [1, 1, 1], 1, 1)
    assert p.tolist() == [[1], [1]]


class Spy(RidgeCV):
    """A model that warns at fit as scikit-learn would, and counts threads."""

    threads = 0

    def fit(self, X, y):
        warnings.warn("not yet", ConvergenceWarning, stacklevel=1)
        Spy.threads = max(pool["num_threads"] for pool in threadpool_info())
        return super().fit(X, y)


def test_fits_use_one_thread_and_do_not_warn_of_convergence(monkeypatch):
    monkeypatch.setattr("sklearn.linear_model.RidgeCV", Spy)
    X = np.zeros((5, 1), dtype=np.int16)
    fit_predict_response("ridge", X, np.arange(5.0), X, [1], 1)
    assert Spy.threads == 1


def test_what_cannot_be_asked_is_refused():
    X = np.zeros((2, 3), dtype=np.int16)
    with pytest.raises(UserError, match=r"unknown method ridge: .*random-forest.*naive-bayes"):
        fit_predict("ridge", X, X[:, 0], X, [1, 1, 1], 2, 1)
    with pytest.raises(UserError, match=r"unknown method naive-bayes: choose from ridge"):
        fit_predict_response("naive-bayes", X, X[:, 0], X, [1, 1, 1], 1)
    with pytest.raises(DataError, match="ridge needs at least one training sample"):
        fit_predict_response("ridge", X[:0], X[:0, 0], X, [1, 1, 1], 1)
    with pytest.raises(DataError, match="naive-bayes needs at least one training sample"):
        fit_predict("naive-bayes", X[:0], X[:0, 0], X, [1, 1, 1], 2, 1)


def test_what_is_learnt_predicts_later_samples_from_a_file(peer, rng, tmp_path):
    method, _ = peer
    kind = FEATURES if method in METHODS else RESPONSES
    n_values = [2, 3, 3]
    train, test = table(rng, 80, n_values, MISSING), table(rng, 30, n_values, UNSEEN)
    task, response = Task(kind, 3, values=n_values), rng.integers(0, 3, 80)
    expected = peers.fit_predict(method, task, train, response, test, 5)
    if not peers.PEERS[method].exported:
        return
    np.savez(tmp_path / "fit.npz", **peers.fit(method, task, train, response, 5))
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as stored:
        learnt = dict(stored)
    found = [peers.predict(method, task, learnt, rows) for rows in (test, test[:7], test[7:])]
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_allclose(np.concatenate(found[1:]), expected, rtol=1e-12)
