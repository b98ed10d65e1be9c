"""The peers of the logistic sequence model: proper, confined to the order, and right."""

import numpy as np
import pytest

from thesiskit.errors import DataError, UserError
from thesiskit.models import peers
from thesiskit.models.peers import SEQUENCES, Task


@pytest.fixture(params=peers.names(SEQUENCES))
def method(request):
    return request.param


def fit_predict(method, order, train, response, test, n_states, n_classes, seed):
    task = Task(SEQUENCES, n_classes, values=n_states, order=order)
    return peers.fit_predict(method, task, train, response, test, seed)


def sequences(rng, n, length=6, n_states=3):
    return rng.integers(0, n_states, (n, length)), rng.integers(0, n_states, n)


def proper(p, rows, n_classes):
    return p.shape == (rows, n_classes) and (p > 0).all() and np.allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("order", [0, 1, 4])
@pytest.mark.parametrize("n_states", [2, 3])
def test_probabilities_are_proper(method, order, n_states, rng):
    train, response = sequences(rng, 60, n_states=n_states)
    test, _ = sequences(rng, 25, n_states=n_states)
    p = fit_predict(method, order, train, response, test, n_states, n_states, 1)
    assert proper(p, 25, n_states)
    if order == 0:
        assert np.ptp(p, axis=0).max() == 0
        base = np.bincount(response, minlength=n_states) / 60
        assert np.abs(p[0] - base).max() < 0.02


def test_a_fixed_seed_gives_fixed_answers(method, rng):
    train, response = sequences(rng, 80)
    first, second = (fit_predict(method, 3, train, response, train, 3, 3, 7) for _ in range(2))
    assert (first == second).all()


def test_columns_older_than_the_order_do_not_matter(method, rng):
    train, response = sequences(rng, 80)
    test, _ = sequences(rng, 20)
    changed, tested = train.copy(), test.copy()
    changed[:, :-2] = rng.integers(0, 3, (80, 4))
    tested[:, :-2] = rng.integers(0, 3, (20, 4))
    p, q, r = (
        fit_predict(method, 2, a, response, b, 3, 3, 1)
        for a, b in [(train, test), (changed, tested), (train[:, -2:], test[:, -3:])]
    )
    assert (p == q).all()
    assert (p == r).all()


def test_states_contexts_and_classes_never_seen_do_not_fail(method, rng):
    train, response = sequences(rng, 80, n_states=2)
    test = np.full((3, 6), 3)
    test[0] = train[0]
    p = fit_predict(method, 4, train, response, test, 4, 4, 1)
    assert proper(p, 3, 4)
    assert p[0, :2].sum() > 0.8


def test_one_training_sample_and_one_class_are_enough(method):
    history = np.array([[0, 1, 0]])
    p = fit_predict(method, 2, history, np.array([1]), history, 2, 2, 1)
    assert proper(p, 1, 2)
    assert p[0, 1] > 0.5
    if method == "mixing":
        with pytest.raises(DataError, match="one class"):
            fit_predict(method, 2, history, np.array([0]), history, 2, 1, 1)
        return
    p = fit_predict(method, 2, history, np.array([0]), history, 2, 1, 1)
    assert (p == 1).all()


def test_a_class_seen_once_does_not_fail(method, rng):
    train, response = sequences(rng, 40, n_states=2)
    response[0] = 2
    p = fit_predict(method, 2, train, response, train, 2, 3, 1)
    assert proper(p, 40, 3)


@pytest.mark.parametrize(("n_states", "n_classes"), [(3, 2), (2, 4)])
def test_classes_need_not_be_the_states(method, n_states, n_classes, rng):
    train, _ = sequences(rng, 300, n_states=n_states)
    response = (train[:, -1] > 0).astype(int) * (n_classes - 1)
    p = fit_predict(method, 2, train, response, train, n_states, n_classes, 1)
    assert proper(p, 300, n_classes)
    assert p[np.arange(300), response].min() > 0.85


def test_a_deterministic_sequence_is_learnt(method):
    text = np.arange(300) % 3
    windows = np.lib.stride_tricks.sliding_window_view(text, 7)
    train, response = windows[:200, :6], windows[:200, 6]
    test, actual = windows[200:, :6], windows[200:, 6]
    p = fit_predict(method, 3, train, response, test, 3, 3, 1)
    assert p[np.arange(len(test)), actual].min() > 0.9


def test_the_second_last_state_is_learnt_from_independent_rows(method, rng):
    train, _ = sequences(rng, 500, n_states=2)
    test, _ = sequences(rng, 100, n_states=2)
    p = fit_predict(method, 2, train, train[:, -2], test, 2, 2, 1)
    assert p[np.arange(100), test[:, -2]].min() > 0.9


def witten_bell(history, order, train, response, n_classes):
    """Return the interpolated n-gram by its definition, one history at a time."""
    p = [1 / n_classes] * n_classes
    for m in range(order + 1):
        tail = list(history[len(history) - m :])
        after = [c for h, c in zip(train, response, strict=True) if list(h[len(h) - m :]) == tail]
        kinds = len(set(after))
        if after:
            p = [(after.count(c) + kinds * p[c]) / (len(after) + kinds) for c in range(n_classes)]
    return p


@pytest.mark.parametrize("order", [0, 1, 3, 6])
def test_n_gram_against_its_definition(order, rng):
    train, response = sequences(rng, 70)
    test, _ = sequences(rng, 30)
    test = np.vstack([test, train[:10]])
    cut = (one[:, one.shape[1] - order :] for one in (train, test))
    *_, p = peers.n_grams(next(cut), response, next(cut), 3, 3)
    twin = [witten_bell(h, order, train.tolist(), response.tolist(), 3) for h in test.tolist()]
    np.testing.assert_allclose(p, twin, rtol=1e-12)


def test_n_gram_of_long_histories_does_not_overflow(rng):
    train, response = sequences(rng, 50, length=60, n_states=9)
    *_, p = peers.n_grams(train, response, train, 9, 9)
    assert p[np.arange(50), response].min() > 0.9


@pytest.mark.parametrize("method", ["n-gram", "logistic-regression"])
def test_a_state_that_no_training_sample_has_says_nothing(method, rng):
    train, response = rng.integers(0, 3, (200, 2)), rng.integers(0, 3, 200)
    task = peers.Task(peers.SEQUENCES, 3, values=3, order=2)
    learnt = peers.fit(method, task, train, response, 1)
    new = np.array([[3, 1], [7, 1], [-2, 1]])  # as files, and as arrays, code it
    p = peers.predict(method, task, learnt, new)
    np.testing.assert_array_equal(p, p[:1].repeat(3, axis=0))


def test_n_gram_chooses_its_order(rng):
    train, test = (rng.integers(0, 2, (300, 8)) for _ in range(2))
    response = np.where(rng.random(300) < 0.7, train[:, -2], 1 - train[:, -2])
    p = fit_predict("n-gram", 8, train, response, test, 2, 2, 1)
    *_, whole = peers.n_grams(train, response, test, 2, 2)
    loss = [-np.log(one[np.arange(300), test[:, -2]]).mean() for one in (p, whole)]
    assert loss[0] < loss[1] - 0.1


def test_what_cannot_be_asked_is_refused():
    zeros = np.zeros((2, 3), int)
    with pytest.raises(UserError, match="unknown method lstm"):
        fit_predict("lstm", 2, zeros, zeros[:, 0], zeros, 2, 2, 1)
    with pytest.raises(UserError, match="order is 4, but"):
        fit_predict("n-gram", 4, zeros, zeros[:, 0], zeros, 2, 2, 1)
    with pytest.raises(DataError, match="at least one training sample"):
        fit_predict("n-gram", 2, zeros[:0], zeros[:0, 0], zeros, 2, 2, 1)


@pytest.mark.parametrize("order", [0, 2, 5])
def test_what_is_learnt_predicts_later_samples_from_a_file(method, order, rng, tmp_path):
    train, response = sequences(rng, 80)
    test, _ = sequences(rng, 20)
    task = Task(SEQUENCES, 4, values=3, order=order)
    if not peers.PEERS[method].exported:
        return
    np.savez(tmp_path / "fit.npz", **peers.fit(method, task, train, response, 5))
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as stored:
        learnt = dict(stored)
    found = peers.predict(method, task, learnt, test)
    np.testing.assert_array_equal(found, peers.fit_predict(method, task, train, response, test, 5))
