"""Mixing of all orders: the kernel against its slow twin, and what it refuses."""

import tracemalloc

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from reference_mixing import SlowMixing

from thesiskit.datasets.sequences import draw_hidden_markov, shipped_text
from thesiskit.errors import DataError, UserError
from thesiskit.models import mixing


def drawn(n, length, n_states, n_classes, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_states, (n, length)).astype(np.int32)
    return X, ((X[:, -1] + X[:, -2 % length] + (rng.random(n) < 0.2)) % n_classes).astype(np.int32)


def text(order, n):
    """Windows of the shipped text, which overlap in memory, and the state after each."""
    codes = np.ascontiguousarray(shipped_text()[0][: n + order], dtype=np.int32)
    return sliding_window_view(codes, order)[:n], codes[order:]


@pytest.mark.parametrize(
    ("n", "length", "order", "n_states", "n_classes"),
    [(300, 4, 4, 3, 3), (200, 5, 3, 2, 2), (150, 3, 3, 7, 2), (60, 2, 0, 2, 5), (80, 3, 2, 4, 40)],
)
def test_kernel_is_the_slow_twin(n, length, order, n_states, n_classes):
    X, y = drawn(n, length, n_states, n_classes)
    slow = SlowMixing(order, n_states, n_classes)
    losses = slow.learn(X, y)
    fast = mixing.fit(X, y, order, n_states, n_classes)
    np.testing.assert_allclose(fast.loss, losses, rtol=1e-9)
    assert len(fast.arrays["nodes"]) == len(slow.counts)
    new = np.random.default_rng(2).integers(-2, n_states + 1, (50, length))  # some are unknown
    expected = [slow.predict(history) for history in new]
    np.testing.assert_allclose(fast.predict(new), expected, rtol=1e-9)


def test_windows_of_a_text_are_the_same_as_rows():
    X, y = text(12, 2_000)
    slow = SlowMixing(12, 3, 3)
    losses = slow.learn(X, y)
    by_windows, by_rows = (mixing.fit(table, y, 12, 3, 3) for table in (X, X.copy()))
    np.testing.assert_allclose(by_windows.loss, losses, rtol=1e-9)
    assert np.array_equal(by_windows.loss, by_rows.loss)
    assert np.array_equal(by_windows.predict(X), by_rows.predict(X.copy()))


def test_entries_grow_where_many_classes_follow_a_context():
    """Every class is new after every context: more entries than there is room for at first."""
    n = 60
    X, y = np.zeros((n, 30), dtype=np.int32), np.arange(n)
    fast = mixing.fit(X, y, 30, 1, n)
    assert len(fast.arrays["entries"]) > n + 33
    slow = SlowMixing(30, 1, n)
    np.testing.assert_allclose(fast.loss, slow.learn(X, y), rtol=1e-9)


def test_a_short_text_is_predicted_as_well_as_by_chapter_3():
    """Chapter 3's model of order 5 has 0.76, frequencies 1.01 (docs/how-to/sequences.md)."""
    X, y = text(10, 1_500)
    p = mixing.fit(X[:1_000], y[:1_000], 10, 3, 3).predict(X[1_000:])
    assert -np.log(p[np.arange(500), y[1_000:]]).mean() < 0.775


def test_probabilities_are_calibrated_by_bins():
    """Of a hidden Markov model: 20,000 tests, each bin within 4.5 standard errors and 0.02."""
    stay = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    emission = [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]
    samples = draw_hidden_markov(
        np.random.default_rng(3), transition=stay, emission=emission, length=10, samples=40_000
    )
    X, y = samples.histories, samples.response
    p = mixing.fit(X[:20_000], y[:20_000], 10, 2, 2).predict(X[20_000:])[:, 1]
    y = y[20_000:]
    bins = np.minimum((p * 10).astype(int), 9)
    for number in range(10):
        inside = bins == number
        if inside.sum() >= 100:
            error = np.sqrt((p * (1 - p))[inside].sum()) / inside.sum()
            assert abs(p[inside].mean() - y[inside].mean()) < 4.5 * error + 0.02
    loss = -np.log(np.where(y == 1, p, 1 - p)).mean()
    assert loss < -np.log(np.maximum(y.mean(), 1 - y.mean())) - 0.02


def test_unknown_states_end_the_context():
    X, y = drawn(200, 3, 3, 3)
    model = mixing.fit(X, y, 3, 3, 3)
    known, other = model.predict(np.array([[0, 9, 1], [1, 8, 1]]))
    assert np.array_equal(known, other)
    base = model.predict(np.array([[0, 1, -2]]))[0]
    assert np.abs(base - np.bincount(y) / len(y)).max() < 0.1


def test_training_stops_at_what_it_was_given():
    """New samples change nothing."""
    X, y = drawn(100, 3, 3, 3)
    model = mixing.fit(X, y, 3, 3, 3)
    first = model.predict(X)
    assert np.array_equal(first, model.predict(X))
    assert np.array_equal(first[:10], model.predict(X[:10]))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"order": 65}, "order 65 is above 64"),
        ({"order": 4}, "the histories have 3 states"),
        ({"n_states": 257}, "257 states"),
        ({"n_classes": 300}, "300 classes"),
        ({"n_classes": 1}, "there is one class"),
        ({"n": 0}, "no training samples"),
    ],
)
def test_what_cannot_be_learnt_is_refused(change, problem):
    keys = {"n": 20, "order": 3, "n_states": 3, "n_classes": 3} | change
    X, y = drawn(20, 3, 3, 3)
    n = keys.pop("n")
    with pytest.raises((UserError, DataError), match=rf"{problem}.*Fix: "):
        mixing.fit(X[:n], y[:n], **keys)


def test_a_restored_model_predicts_the_same():
    X, y = drawn(300, 4, 3, 3)
    model = mixing.fit(X, y, 4, 3, 3)
    again = mixing.Mixed.restore(model.arrays, 4, 3, 3)
    assert np.array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("nodes", (0, 0), 10**6), ("nodes", (5, 0), 3), ("nodes", (5, 1), 9), ("nodes", (3, 2), 3),
        ("nodes", (2, 3), 10**6), ("nodes", (2, 4), -1), ("entries", (1, 0), 3),
        ("entries", (1, 2), 1), ("entries", (2, 2), 10**6), ("entries", (2, 1), -4),
    ],
)  # fmt: skip
def test_forged_arrays_are_refused(name, place, value):
    X, y = drawn(300, 4, 3, 3)
    arrays = dict(mixing.fit(X, y, 4, 3, 3).arrays)
    arrays[name] = arrays[name].copy()
    arrays[name][place] = value
    with pytest.raises(ValueError, match="do not belong together"):
        mixing.Mixed.restore(arrays, 4, 3, 3)


@pytest.mark.parametrize("sizes", [(5, 3, 3), (4, 4, 3), (4, 3, 2)])
def test_arrays_of_other_sizes_are_refused(sizes):
    X, y = drawn(300, 4, 3, 3)
    with pytest.raises(ValueError, match="do not belong together"):
        mixing.Mixed.restore(mixing.fit(X, y, 4, 3, 3).arrays, *sizes)


def test_long_lists_of_a_forged_file_stay_inside_their_arrays():
    """A list with more entries than classes ends after as many as there are classes."""
    X, y = drawn(300, 4, 3, 3)
    arrays = dict(mixing.fit(X, y, 4, 3, 3).arrays)
    arrays["entries"] = arrays["entries"].copy()
    arrays["entries"][1:, 2] = np.arange(len(arrays["entries"]) - 1)
    arrays["nodes"] = arrays["nodes"].copy()
    arrays["nodes"][:, 3] = len(arrays["entries"]) - 1
    p = mixing.Mixed.restore(arrays, 4, 3, 3).predict(X)
    assert np.isfinite(p).all()


def test_memory_is_known_before():
    n, order = 6_000, 12
    X, y = text(order, n)
    tracemalloc.start()
    try:
        mixing.fit(X, y, order, 3, 3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.9 * peak < mixing.memory(n, order, 3, 3) < 1.5 * peak
    assert mixing.memory(10**8, 12, 3, 3) > 8e9
