from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from statistical import assert_proportions

from thesiskit.errors import UserError
from thesiskit.models import packed
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.selection import select_features, squared_correlation


def data(rng, n=40, p=60):
    y = rng.permutation(np.repeat([0, 1], [n // 2 - 3, n - n // 2 + 3]))
    return rng.integers(0, 2, size=(n, p), dtype=np.uint8), y


def test_squared_correlation_from_counts(rng):
    """Equation cor-express."""
    X, y = data(rng, 11, 30)
    X[:, 0], X[:, 1] = 0, 1
    for column, exact in zip(X.T, reference.screen(X, y), strict=True):
        ones = [int(column[y == c].sum()) for c in (0, 1)]
        assert squared_correlation(*ones, int((y == 0).sum()), int((y == 1).sum())) == exact


@given(st.integers(0, 10**6), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_keeps_the_strongest_and_cuts_exactly(seed, k):
    rng = np.random.default_rng(seed)
    X, y = data(rng, int(rng.integers(4, 16)) * 2, 30)
    squares = reference.screen(X, y)
    found = select_features(X, y, k, rng)
    ranked = sorted(squares, reverse=True)
    assert found.gamma_squared == ranked[k - 1]
    assert sorted((squares[j] for j in found.selected), reverse=True) == ranked[:k]
    assert found.tied == squares.count(ranked[k - 1])
    assert found.tied_kept == ranked[:k].count(ranked[k - 1])
    assert len(set(found.selected)) == k
    assert found.n_dropped == 30 - k
    for j, (ones0, ones1) in zip(found.selected, found.ones, strict=True):
        assert ones0 == X[y == 0, j].sum()
        assert ones1 == X[y == 1, j].sum()


def test_ties_at_the_cut_are_broken_evenly():
    y = np.repeat([0, 1], 4)
    strong, weak = y, np.array([0, 0, 0, 1, 1, 1, 1, 0])
    X = np.stack([weak, strong, weak, 1 - weak, weak], axis=1)  # four tie, one of them negative
    kept = np.zeros(5)
    for seed in range(2000):
        found = select_features(X, y, 2, np.random.default_rng(seed))
        assert found.tied == 4
        assert found.tied_kept == 1
        kept[found.selected] += 1
    assert kept[1] == 2000
    assert_proportions(kept[[0, 2, 3, 4]], np.full(4, 0.25))


def test_threshold_keeps_strictly_above(rng):
    X, y = data(rng)
    squares = reference.screen(X, y)
    found = select_features(X, y, None, rng, threshold="0.2")
    assert set(found.selected) == {j for j, s in enumerate(squares) if s > Fraction(1, 25)}
    assert found.gamma_squared == Fraction(1, 25)
    # a threshold that is attained drops what attains it
    y = np.repeat([0, 1], 4)
    X = np.stack([y, np.array([0, 0, 1, 1, 1, 1, 1, 0])], axis=1)
    edge = squared_correlation(2, 3, 4, 4)
    assert edge == Fraction(1, 15)
    half = select_features(
        np.stack([y, [0, 0, 0, 1, 0, 1, 1, 1]], axis=1), y, None, rng, threshold=Fraction(1, 2)
    )
    assert list(half.selected) == [0]
    nothing = select_features(X, y, None, rng, threshold=1)
    assert len(nothing.selected) == 0


def test_chunks_change_nothing(rng, monkeypatch):
    X, y = data(rng, 100, 5000)
    whole = select_features(X, y, 7, np.random.default_rng(0))
    monkeypatch.setattr(packed, "CHUNK_BYTES", 1)
    monkeypatch.setattr(packed, "CHUNK_WORDS", 1)
    monkeypatch.setattr(PackedFeatures, "chunks", lambda self: packed.chunks(self.words.T, 1))
    parts = select_features(X, y, 7, np.random.default_rng(0))
    assert (whole.selected == parts.selected).all()
    assert whole.gamma_squared == parts.gamma_squared


@pytest.mark.parametrize("kind", ["uint8", "bool", "int64", "float64", "fortran", "packed", "mmap"])
def test_any_kind_of_table(rng, kind, tmp_path):
    X, y = data(rng)
    expected = select_features(X, y, 9, np.random.default_rng(1))
    if kind == "fortran":
        X = np.asfortranarray(X)
    elif kind == "packed":
        X = PackedFeatures.pack(X)
    elif kind == "mmap":
        np.save(tmp_path / "x.npy", X)
        X = np.load(tmp_path / "x.npy", mmap_mode="r")
    else:
        X = X.astype(kind)
    found = select_features(X, y, 9, np.random.default_rng(1))
    assert (found.selected == expected.selected).all()


def test_some_samples_only(rng):
    X, y = data(rng)
    samples = np.sort(rng.permutation(len(y))[:25])
    ours = select_features(X, y, 5, np.random.default_rng(3), samples=samples)
    theirs = select_features(X[samples], y[samples], 5, np.random.default_rng(3))
    assert (ours.selected == theirs.selected).all()
    assert ours.class_counts == theirs.class_counts


def test_column_order_does_not_matter(rng):
    X, y = data(rng, 60, 200)
    order = rng.permutation(200)
    a = select_features(X, y, 5, np.random.default_rng(0))
    b = select_features(X[:, order], y, 5, np.random.default_rng(0))
    assert a.gamma_squared == b.gamma_squared
    assert sorted(a.correlation) == sorted(b.correlation)


def test_constant_features_are_never_an_error(rng):
    _, y = data(rng)
    found = select_features(np.zeros((40, 5), dtype=np.uint8), y, 2, rng)
    assert found.gamma_squared == 0
    assert found.tied == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (X, np.zeros(40), 2), "one class"),
        (lambda X, y: (X, np.where(np.arange(40) == 7, np.nan, y), 2), "missing in sample 8"),
        (lambda X, y: (X, y[:-1], 2), "40 samples in the features but 39"),
        (lambda X, y: (X, y, 0), "from 1 to 60, got 0"),
        (lambda X, y: (X, y, 61), "from 1 to 60, got 61"),
        (lambda X, y: (X, y, 2.5), "from 1 to 60, got 2.5"),
        (lambda X, y: (X[:, :0], y, 1), "table"),
        (lambda X, y: (X, y, "3"), "from 1 to 60, got '3'"),
        (lambda X, y: (X, y, np.nan), "from 1 to 60, got nan"),
        (lambda X, y: (X.astype(str), y, 1), "must be numbers"),
        (lambda X, y: (X, np.where(y == 1, "a", "b"), 1), "code the classes as 0 and 1"),
        (lambda X, y: (X + np.inf, y, 1), "infinite value in sample 1, feature 1"),
        (lambda X, y: (X.astype(float), y + np.nan, 1), "missing in sample 1"),
        (lambda X, y: (np.where(np.arange(60) == 4, np.nan, X * 0.5), y, 2), "binary features"),
        (lambda X, y: (X, y * 0.5, 2), "a response of 0 and 1"),
    ],
)
def test_bad_input(rng, change, words):
    X, y, k = change(*data(rng))
    with pytest.raises(UserError, match=words):
        select_features(X, y, k, rng)


def test_packing_real_features_at_training_medians(rng):
    X = rng.normal(size=(9, 4))
    X[:, 1] = rng.integers(0, 2, 9)  # 0/1 already: stays
    train = np.array([0, 2, 3, 5, 8])
    bits = PackedFeatures.pack(X, samples=train).unpack(np.arange(4))
    expected = (np.median(X[train], axis=0) < X).astype(int)
    expected[:, 1] = X[:, 1]
    assert (bits == expected).all()
    two = PackedFeatures.pack(X[:5], X[5:], samples=train).unpack(np.arange(4))
    assert (two == expected).all()


@pytest.mark.parametrize("threshold", [-0.5, 1.5, float("nan"), "abc", None])
def test_bad_thresholds(rng, threshold):
    X, y = data(rng)
    with pytest.raises(UserError, match="threshold"):
        select_features(X, y, None, rng, threshold=threshold)


@pytest.mark.parametrize("samples", [np.array([], dtype=int), np.array([0, 0, 1, 30])])
def test_bad_samples(rng, samples):
    X, y = data(rng)
    with pytest.raises(UserError, match="samples must be row numbers"):
        select_features(X, y, 3, rng, samples=samples)


def test_changes_in_a_private_map_survive(tmp_path, rng):
    X, y = data(rng)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    mapped[:, 7] = y
    assert select_features(mapped, y, 1, rng).selected[0] == 7
    assert (mapped[:, 7] == y).all()


def test_tables_with_other_columns_cannot_be_packed(rng):
    with pytest.raises(UserError, match="same columns, got 3 and 5"):
        PackedFeatures.pack(np.zeros((4, 3), dtype=np.uint8), np.ones((4, 5), dtype=np.uint8))
