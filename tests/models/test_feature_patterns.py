"""Groups of patterns of features against dictionaries of all patterns, as Python integers."""

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import fim
import numpy as np
import pytest
import reference_logistic as twin
from cases import few
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thesiskit.datasets.features import tic_tac_toe
from thesiskit.errors import DataError, UserError
from thesiskit.models import patterns
from thesiskit.models.patterns import (
    MISSING,
    UNSEEN,
    FeatureGroups,
    compress_features,
)


@st.composite
def tables(draw, most_features=8):
    """Training samples, with equal rows, and columns of one value or none."""
    n, p, values = draw(st.integers(1, 12)), draw(st.integers(0, most_features)), draw(
        st.integers(1, 4)
    )  # fmt: skip
    low = draw(st.sampled_from([0, 0, MISSING]))
    row = st.lists(st.integers(low, values - 1), min_size=p, max_size=p)
    X = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=int).reshape(n, p)
    for _ in range(draw(st.integers(0, 3))):
        X[draw(st.integers(0, n - 1))] = X[draw(st.integers(0, n - 1))]
    if p and draw(st.integers(0, 2)) == 0:
        X[:, draw(st.integers(0, p - 1))] = draw(st.sampled_from([0, values - 1, MISSING]))
    return X


@st.composite
def problems(draw):
    """Training samples, an order, the fewest samples of a pattern, and test samples."""
    X = draw(tables())
    n, p = X.shape
    new = st.lists(st.integers(UNSEEN, 5), min_size=p, max_size=p)
    tests = draw(st.lists(st.one_of(new, st.sampled_from(X.tolist())), min_size=1, max_size=6))
    for _ in range(draw(st.integers(0, 2)) if p else 0):
        x = X[draw(st.integers(0, n - 1))].tolist()
        x[draw(st.integers(0, p - 1))] = draw(st.integers(UNSEEN, 4))
        tests.append(x)
    order = draw(st.integers(0, p))
    least = draw(st.sampled_from([1, 1, min(2, n), min(3, n), n]))
    return X, order, least, np.array(tests, dtype=int).reshape(len(tests), p)


WAYS = (
    {"algorithm": "closed"}, {"algorithm": "thesis"}, {"compress": False},
)  # fmt: skip


def expressions(groups) -> list[int]:
    """The training samples of every group, as bits."""
    has = np.zeros((groups.n_groups, groups.n_samples), dtype=bool)
    has[np.repeat(np.arange(groups.n_groups), np.diff(groups.indptr)), groups.indices] = True
    return [int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") for row in has]


def rows_of(groups, g) -> np.ndarray:
    return groups.members[groups.begin[g] : groups.end[g]]


def check_groups(groups, X, order, least=1):
    """All that a table's groups promise; returns each group's expression and patterns."""
    everything = twin.feature_expressions(X, order, least)
    wanted = twin.feature_groups(everything)
    masks = expressions(groups)
    assert groups.n_samples == len(X)
    assert groups.n_features == X.shape[1]
    assert groups.n_patterns == len(everything)
    assert groups.n_rows == (len(np.unique(X, axis=0)) if order and X.shape[1] else 1)
    assert (np.bincount(groups.row_of, minlength=groups.n_rows) > 0).all()
    if groups.compressed:
        assert sorted(masks) == sorted(wanted)
        patterns = [wanted[samples] for samples in masks]
    else:
        patterns = [[groups.shortest(g)] for g in range(groups.n_groups)]
        assert sorted(one for (one,) in patterns) == sorted(everything)
        assert all(
            everything[one] == samples for (one,), samples in zip(patterns, masks, strict=True)
        )
    assert groups.patterns_per_order.tolist() == [list(twin.by_order(p, order)) for p in patterns]
    assert groups.patterns_per_order.dtype == np.int64
    assert (groups.kinds[groups.kind] == groups.patterns_per_order).all()
    assert len(np.unique(groups.kinds, axis=0)) == len(groups.kinds)
    assert groups.indptr[0] == groups.begin[0] == 0
    assert groups.indptr[-1] == len(groups.indices)
    assert groups.end[-1] == len(groups.members)
    for g in range(groups.n_groups):
        samples = groups.indices[groups.indptr[g] : groups.indptr[g + 1]].tolist()
        assert samples == sorted(set(samples))
        assert samples == np.flatnonzero(np.isin(groups.row_of, rows_of(groups, g))).tolist()
        assert (np.diff(rows_of(groups, g)) > 0).all()
    check_readable(groups, X, order, masks, patterns)
    return masks, patterns


def check_readable(groups, X, order, masks, patterns):
    """Shortest patterns, and intervals that hold each pattern once."""
    number = 0
    for g, mine in enumerate(patterns):
        samples = [i for i in range(len(X)) if masks[g] >> i & 1]
        same = (X[samples] == X[samples[0]]).all(axis=0) & (X[samples[0]] != MISSING) & (order > 0)
        assert groups.closure(g) == tuple((t, X[samples[0], t]) for t in np.flatnonzero(same))
        assert groups.shortest(g) in mine
        assert len(groups.shortest(g)) == min(map(len, mine))
        found = []
        for fixed, free in groups.intervals(g):
            number += 1
            found += twin.interval_patterns(fixed, free, order)
        assert sorted(found) == sorted(mine)
    if groups.algorithm == "closed":
        assert groups.n_intervals == number
    else:
        assert groups.n_groups <= groups.n_intervals <= groups.n_patterns


def check_shared(groups, masks, patterns, tests):
    order, T = groups.order, len(tests)
    group_of = {pattern: g for g, mine in enumerate(patterns) for pattern in mine}
    shared = groups.shared(tests)
    assert shared.sample_of.shape == (T,)
    distinct = len(shared.new_kind)
    assert distinct == (len(np.unique(tests, axis=0)) if tests.shape[1] else 1)
    assert set(shared.sample_of) == set(range(distinct))
    assert len(shared.whole_begin) == len(shared.partial_begin) == distinct + 1
    assert len(shared.whole) == shared.whole_begin[-1]
    assert len(shared.partial) == len(shared.partial_kind) == shared.partial_begin[-1]
    for t, x in enumerate(tests):
        wanted = np.zeros((groups.n_groups, order + 1), dtype=int)
        new = np.zeros(order + 1, dtype=int)
        for pattern in twin.feature_patterns_of(x, order):
            if pattern in group_of:
                wanted[group_of[pattern], len(pattern)] += 1
            elif groups.min_samples == 1:
                new[len(pattern)] += 1
        counts, found_new = groups.shared_patterns(x)
        assert (counts == wanted).all()
        assert (found_new == new).all()
        assert (shared.new_counts[shared.new_kind[shared.sample_of[t]]] == new).all()
        d = shared.sample_of[t]
        whole = shared.whole[shared.whole_begin[d] : shared.whole_begin[d + 1]]
        partial = shared.partial[shared.partial_begin[d] : shared.partial_begin[d + 1]]
        kinds = shared.partial_kind[shared.partial_begin[d] : shared.partial_begin[d + 1]]
        assert len(set(whole) | set(partial)) == len(whole) + len(partial)
        together = np.zeros_like(counts)
        together[whole] = groups.patterns_per_order[whole]
        together[partial] = shared.shared_counts[kinds]
        assert (together == wanted).all()
        parts = shared.shared_counts[kinds] + shared.other_counts[kinds]
        assert (parts == groups.patterns_per_order[partial]).all()
        assert (shared.shared_counts[kinds].sum(axis=1) > 0).all()
        assert (shared.other_counts[kinds].sum(axis=1) > 0).all()
        if not groups.compressed:
            assert len(partial) == 0


# ---- against all patterns ----


@settings(max_examples=50, deadline=None, derandomize=True)
@given(problems())
@example((np.zeros((1, 0), dtype=int), 0, 1, np.zeros((2, 0), dtype=int)))
@example((np.zeros((5, 3), dtype=int), 0, 5, np.ones((2, 3), dtype=int)))
@example((np.zeros((12, 8), dtype=int), 8, 2, np.full((2, 8), UNSEEN)))
@example((np.full((4, 3), MISSING), 3, 1, np.full((2, 3), MISSING)))
@example((np.eye(8, dtype=int), 8, 1, np.eye(8, dtype=int)))
@example((np.arange(12)[:, None] % np.array([1, 2, 3, 4]), 3, 2, np.zeros((1, 4), dtype=int)))
def test_groups_and_shared_patterns_against_all_patterns(problem):
    """Equation eqn-sg."""
    X, order, least, tests = problem
    for way in WAYS:
        groups = compress_features(X, order, min_samples=least, **way)
        check_shared(groups, *check_groups(groups, X, order, least), tests)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(tables(6), st.integers(0, 6), st.integers(1, 3))
def test_superpatterns_of_the_thesis(X, order, least):
    order, least = min(order, X.shape[1]), min(least, len(X))
    groups = compress_features(X, order, min_samples=least, algorithm="thesis")
    assert groups.n_intervals == twin.thesis_superpatterns(X, order, least)


class Tight(patterns.Listing):
    """A listing that never has room for more than the next group, so that it stops at each."""

    def __init__(self, rows, *arguments, **options):
        self.grown, self.rows = 0, rows.shape[1]
        super().__init__(rows, *arguments, **options)

    def grow(self, groups, members):
        self.grown += 1
        super().grow(*((1, self.rows) if self.grown == 1 else (groups, members)))

    def make_room(self, need):
        room, used = len(self.members), int(self.begin[self.n_groups])
        self.grow(max(len(self.key), self.n_groups + 1), max(room, used + need))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(tables(6), st.integers(0, 6), st.integers(1, 2))
@example(np.array([[0, 0, 1], [0, 1, 1]]), 3, 1)
def test_a_listing_may_stop_anywhere(X, order, least):
    order, least = min(order, X.shape[1]), min(least, len(X))
    for way in WAYS:
        wanted = compress_features(X, order, min_samples=least, **way)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(patterns, "Listing", Tight)
            groups = compress_features(X, order, min_samples=least, **way)
            check_groups(groups, X, order, least)
            assert groups.n_intervals == wanted.n_intervals
        assert groups.listing.grown >= groups.n_groups
        for name in ("begin", "end", "members", "kind", "kinds", "row_of", "indptr", "indices"):
            assert np.array_equal(getattr(groups, name), getattr(wanted, name)), name


@pytest.mark.parametrize(("n", "p", "values", "order", "share"), [
    pytest.param(*case, share, marks=[] if share == kept else [pytest.mark.slow])
    for *case, kept in [(60, 8, 4, 5, None), (80, 7, 3, 7, 0.1), (300, 6, 2, 6, 0),
                        (40, 30, 5, 2, None)]
    for share in (0, 0.1)
])  # fmt: skip
def test_groups_of_many_samples(rng, n, p, values, order, share):
    # arrays grow several times, rows are more than 64, equal and missing values are common
    X = rng.integers(0, values, (n, p))
    X[n // 2 : n // 2 + n // 8] = X[: n // 8]
    X[rng.random(X.shape) < share] = MISSING
    tests = np.where(rng.random((15, p)) < 0.2, rng.integers(UNSEEN, values + 1, (15, p)), X[:15])
    for way in WAYS:
        groups = compress_features(X, order, **way)
        check_shared(groups, *check_groups(groups, X, order), tests)


def test_expressions_with_equal_keys_are_told_apart(rng, monkeypatch):
    # every row's random number is 1, so that a key is the number of rows
    one = SimpleNamespace(integers=lambda low, high, shape, dtype: np.ones(shape, dtype))
    X = rng.integers(MISSING, 3, (40, 5))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: one)
    for way in WAYS:
        groups = compress_features(X, 4, **way)
        check_shared(groups, *check_groups(groups, X, 4), X[:5])


@pytest.mark.parametrize(
    ("block", "large", "steps"), [(1, 8, 1 << 25), (1 << 20, 1, 1 << 25), (1, 1, 150), (1, 1, 0)]
)
def test_shared_patterns_do_not_depend_on_room(rng, monkeypatch, block, large, steps):
    # few test samples held at once; what groups become kept for all, some or none of them
    X = rng.integers(0, 3, (60, 5))
    X[rng.random(X.shape) < 0.1] = MISSING
    X[:, 0] = 0
    tests = np.append(rng.integers(UNSEEN, 4, (40, 5)), X, axis=0)
    tests[60:, 0] = UNSEEN  # shares nothing but parts
    for name, value in (("BLOCK", block), ("LARGE", large), ("STEPS", steps)):
        monkeypatch.setattr(patterns, name, value)
    for way in WAYS:
        groups = compress_features(X, 4, **way)
        check_shared(groups, *check_groups(groups, X, 4), tests)


@pytest.mark.parametrize(
    ("p", "order", "n_groups", "n_patterns"),
    [(10, 10, 9_597, 159_236), (10, 4, 9_574, 37_329),
     pytest.param(20, 4, 77_942, 744_244, marks=pytest.mark.slow)],
)  # fmt: skip
def test_known_numbers(p, order, n_groups, n_patterns):
    X = np.random.default_rng(0).integers(0, 4, (200, p))
    groups = compress_features(X, order)
    assert (groups.n_groups, groups.n_patterns) == (n_groups, n_patterns)
    everything = twin.feature_expressions(X, order)
    assert len(everything) == n_patterns
    wanted: dict[int, list] = {}
    for pattern, samples in everything.items():
        wanted.setdefault(samples, [0] * (order + 1))[len(pattern)] += 1
    masks = expressions(groups)
    assert dict(zip(masks, groups.patterns_per_order.tolist(), strict=True)) == wanted


def test_values_of_the_most_diverse_feature_are_runs_of_rows(rng):
    X = np.column_stack([rng.integers(0, 2, (90, 4)), rng.integers(0, 4, 90)])
    groups = compress_features(X, 2)
    shortest = [groups.shortest(g) for g in range(groups.n_groups)]
    for v in range(4):
        rows = rows_of(groups, shortest.index(((4, v),)))
        assert len(rows) > 2
        assert (np.diff(rows) == 1).all()


def test_both_algorithms_on_one_table():
    X = np.random.default_rng(0).integers(0, 4, (200, 10))
    one, other = (compress_features(X, 4, algorithm=name) for name in ("closed", "thesis"))
    counts = [
        dict(zip(expressions(groups), map(tuple, groups.patterns_per_order), strict=True))
        for groups in (one, other)
    ]
    assert counts[0] == counts[1]
    assert one.n_groups <= one.n_intervals <= one.n_patterns
    assert one.n_groups <= other.n_intervals <= one.n_patterns


# ---- against a miner ----


def closed_itemsets(X) -> int:
    """Closed sets of (feature, value) that some row has.

    relim and sam count the closure of the empty set, which pyfim's other miners leave out.
    """
    rows = [[256 * t + int(v) for t, v in enumerate(row) if v != MISSING] for row in X]
    if not any(rows):
        return 1  # the empty one, which pyfim does not look for where there are no items
    return len(fim.relim(rows, target="c", supp=-1, zmin=0))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(tables())
@example(np.array([[0], [0]]))
@example(np.array([[0], [1]]))
@example(np.array([[0], [MISSING]]))
def test_groups_of_all_orders_are_closed_itemsets(X):
    if X.shape[1]:
        assert compress_features(X, "all").n_groups == closed_itemsets(X)


@pytest.mark.parametrize(
    ("n", "p", "values", "share"),
    [(200, 10, 4, 0), (300, 12, 3, 0.1), (60, 20, 2, 0), (9, 40, 2, 0)],
)
def test_closed_itemsets_of_many_samples(rng, n, p, values, share):
    X = rng.integers(0, values, (n, p))
    X[rng.random(X.shape) < share] = MISSING
    assert compress_features(X, "all").n_groups == closed_itemsets(X)


# ---- counts that are large ----


def test_more_patterns_than_64_bits_count():
    # each row is an expression of 2^56 - 1 patterns
    X = np.tile(np.arange(255)[:, None], 56)
    groups = compress_features(X, "all")
    assert groups.n_groups == 256
    assert groups.n_patterns == 1 + 255 * (2**56 - 1)
    assert groups.kinds.dtype == np.int64
    wide = compress_features(np.repeat(X, 2, axis=1), "all")
    assert wide.n_groups == 256
    assert wide.kinds.dtype == float
    assert wide.n_patterns == pytest.approx(255 * 2.0**112, rel=1e-12)
    counts, new = wide.shared_patterns(np.arange(112) // 56)
    assert new.sum() == pytest.approx(2.0**112, rel=1e-12)
    assert counts.sum() == pytest.approx(2.0**57 - 1, rel=1e-12)


def test_the_largest_code():
    X = np.array([[254, 0], [254, 1], [0, 254]])
    for way in WAYS:
        groups = compress_features(X, 2, **way)
        check_groups(groups, X, 2)
        assert groups.shared_patterns([254, 254])[1].tolist() == [0, 0, 1]


# ---- for people ----


def test_patterns_of_tic_tac_toe_read():
    table = tic_tac_toe()
    groups = compress_features(table.X, 3)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    by_samples = {samples: g for g, samples in enumerate(expressions(groups))}
    for line in lines:
        has = (table.X[:, line] == 0).all(axis=1)
        g = by_samples[sum(1 << int(i) for i in np.flatnonzero(has))]
        wanted = ", ".join(f"{table.features[t]}=x" for t in line)
        assert groups.pattern(g, table.features, table.values) == wanted
        assert groups.describe(g, table.features, table.values) == wanted
        assert (table.response[has] == 1).all()
    root = by_samples[(1 << 958) - 1]
    assert groups.pattern(root, table.features, table.values) == ""
    assert groups.describe(root, table.features, table.values) == "(any)"


def test_what_is_free_is_in_brackets():
    X = np.array([[0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 0, 1], [0, 2, 0, 0]])
    names, values = ["size", "form", "hue", "skin"], [["small"], ["round", "long", "flat"],
                                                      ["red", "blue"], ["dry", "wet"]]  # fmt: skip
    groups = compress_features(X, 4)
    read = {
        samples: groups.describe(g, names, values) for g, samples in enumerate(expressions(groups))
    }
    assert read == {
        0b1111: "[size=small]",
        0b0001: "form=round [size=small, hue=red, skin=wet]",
        0b0010: "hue=blue [size=small, skin=wet] or form=long, hue=blue [size=small, skin=wet]",
        0b0110: "form=long [size=small, skin=wet]",
        0b0100: "form=long, hue=red [size=small, skin=wet]",
        0b1000: "form=flat [size=small, hue=red, skin=dry] or skin=dry [size=small] "
        "or hue=red, skin=dry [size=small]",
        0b0111: "skin=wet [size=small]",
        0b1101: "hue=red [size=small]",
        0b0101: "hue=red, skin=wet [size=small]",
    }
    group = {samples: g for g, samples in enumerate(expressions(groups))}[0b1000]
    assert groups.describe(group, names, values, most=1).endswith("skin=dry] or 2 more")
    assert len(groups.pattern(group, names, values).split(", ")) == 1


# ---- what cannot be ----


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, float, object, bool])
@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
def test_any_numbers_in_any_layout(rng, dtype, layout):
    X = rng.integers(0, 2, (8, 4))
    given_as = np.asarray(X.astype(dtype), order="F" if layout == "F" else "C")
    if layout == "reversed":
        given_as = given_as[::-1].copy()[::-1]
    check_groups(compress_features(given_as, 4), X, 4)
    check_groups(compress_features(X.tolist(), 4), X, 4)


@pytest.mark.parametrize("missing", [np.nan, None, MISSING])
def test_what_stands_for_missing(missing):
    X = np.array([[0, MISSING], [1, 1], [MISSING, 0]])
    given_as = np.where(X == MISSING, np.array(missing, dtype=object), X)
    groups = compress_features(given_as, 2)
    check_groups(groups, X, 2)
    assert (
        groups.shared_patterns([missing, 1])[0] == groups.shared_patterns([MISSING, 1])[0]
    ).all()


def test_what_cannot_be_an_order():
    X = np.zeros((2, 7), dtype=int)
    assert compress_features(X, "all").order == 7
    assert compress_features(X, np.int64(3)).order == 3
    for order, message in [
        (8, "order 8 is above the number of features, 7. Fix: use at most 7, or more features"),
        (-1, "order must not be negative, got -1"),
        (2.0, "order must be a whole number or 'all', got 2.0"),
        (True, "order must be a whole number or 'all', got True"),
        ("any", "order must be a whole number or 'all', got 'any'"),
        (None, "order must be a whole number or 'all', got None"),
    ]:
        with pytest.raises(UserError) as caught:
            compress_features(X, order)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0, 1], [1]], "training samples are rows of unequal length"),
        ([0, 1], r"must be a table \(samples, features\), got shape \(2,\)"),
        (np.zeros((2, 2, 2)), "must be a table"),
        (np.zeros((0, 3)), "there are no training samples"),
        ([[0, 1], [1, -2]], "row 1, column 1 contains -2; codes are from 0 to 254"),
        ([[0, 255]], "row 0, column 1 contains 255; .* at most 255 values, -1 is missing"),
        (np.array([[0, 2**63]], dtype=np.uint64), "row 0, column 1 contains 9.22337e.18"),
        ([[0.0, 1.5], [0.25, 1.0]], "column 1 contains 1.5; .*KBinsDiscretizer"),
        ([[np.inf, 0.0]], "row 0, column 0 contains inf"),
        ([[0.0, -np.inf]], "row 0, column 1 contains -inf"),
        ([["a", "b"]], "must be whole numbers from 0; encode .*OrdinalEncoder.*InteractionClass"),
        (np.array([["1", 2]], dtype=object), "must be whole numbers from 0"),
        (np.array([[1, "x"]], dtype=object), "must be whole numbers from 0"),
        (np.array([[1j]]), "must be whole numbers from 0"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "must be whole numbers from 0"),
    ],
)
def test_what_cannot_be_training_samples(X, message):
    with pytest.raises(DataError, match=message) as caught:
        compress_features(X, 1)
    assert str(caught.value).count("training samples") == 1


def test_what_cannot_be_test_samples():
    groups = compress_features(np.zeros((3, 2), dtype=int), 2)
    with pytest.raises(
        UserError, match=r"have 2 features, test samples 3. Fix: make them the same"
    ):
        groups.shared(np.zeros((1, 3), dtype=int))
    with pytest.raises(UserError, match=r"takes one sample, got an array of shape \(1, 2\)"):
        groups.shared_patterns(np.zeros((1, 2), dtype=int))
    with pytest.raises(DataError, match="there are no test samples"):
        groups.shared(np.zeros((0, 2), dtype=int))
    with pytest.raises(DataError, match="test samples: row 0, column 1 contains -3"):
        groups.shared([[0, UNSEEN - 1]])
    assert isinstance(groups, FeatureGroups)
    counts, new = groups.shared_patterns([UNSEEN, 0])
    assert (counts.sum(), new.tolist()) == (2, [0, 1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_samples": 0}, "min_samples must be a whole number from 1, got 0"),
        ({"min_samples": True}, "min_samples must be a whole number from 1, got True"),
        ({"min_samples": 1.0}, "min_samples must be a whole number from 1, got 1.0"),
        ({"min_samples": 4}, "min_samples is 4, but there are 3 training samples"),
        ({"algorithm": "lcm"}, "unknown algorithm 'lcm'. Fix: choose closed or thesis"),
        (
            {"algorithm": "thesis", "compress": False},
            "algorithm: thesis groups patterns. Fix: remove compress: false",
        ),
    ],
)
def test_what_cannot_be_asked_for(options, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        compress_features(np.zeros((3, 2), dtype=int), 1, **options)
    assert compress_features(np.zeros((3, 2), dtype=int), 1, min_samples=3).n_groups == 1


# ---- what is too large ----


def listed_bytes(groups) -> float:
    return groups.listing.bytes_for(groups.n_groups, len(groups.members))


def estimate(X, order, memory, monkeypatch, **options) -> tuple[float, str]:
    monkeypatch.setattr(patterns, "available_memory", lambda: memory)
    with pytest.raises(UserError) as caught:
        compress_features(X, order, **options)
    return float(re.search("gives ([0-9.e+-]+) groups", str(caught.value))[1]), str(caught.value)


def test_what_memory_would_not_hold_is_refused(rng, monkeypatch):
    X = rng.integers(0, 4, (100, 12))
    needed = listed_bytes(compress_features(X, 4))
    monkeypatch.setattr(patterns, "PROBED", 500)
    for way in WAYS:
        _, message = estimate(X, 4, needed / 4, monkeypatch, **way)
        assert re.fullmatch(
            r"order 4 of 12 features gives [0-9.e+]+ groups or more \([a-z \d]+\), which need "
            r"[0-9.e-]+ GB of 0.0 free. Fix: lower the order, use fewer features, or raise "
            r"min_samples",
            message,
        )


def wide_tables():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (200, 30))
    yield X, 4
    yield np.hstack([X[:, :25], np.zeros((200, 150), dtype=int)]), 4
    yield (rng.random((300, 60)) < rng.uniform(0.005, 0.5, 60)).astype(int), 3
    yield np.column_stack([rng.integers(0, k, 300) for k in [2, 3, 5, 9] * 8]), 3


@pytest.mark.parametrize("which", few(range(4)))
def test_the_number_of_groups_is_projected(monkeypatch, which):
    # uniform features; many of one value; of little information; of different numbers of values
    X, order = list(wide_tables())[which]
    groups = compress_features(X, order)
    assert groups.n_groups > 1.5 * patterns.PROBED
    needed = listed_bytes(groups)
    about, message = estimate(X, order, needed / 2, monkeypatch)
    assert re.search(r"\(as those of the first \d+ grow\)", message)
    assert groups.n_groups / 1.5 < about < 1.5 * groups.n_groups
    monkeypatch.setattr(patterns, "available_memory", lambda: 2 * needed)
    assert compress_features(X, order).n_groups == groups.n_groups


# ---- as objects ----


def test_pickled_groups_are_the_same(rng):
    X = rng.integers(0, 3, (20, 5))
    for way in WAYS:
        groups = compress_features(X, 3, min_samples=2, **way)
        other = pickle.loads(pickle.dumps(groups))
        assert other.n_intervals == groups.n_intervals
        assert [other.shortest(g) for g in range(9)] == [groups.shortest(g) for g in range(9)]
        for x in X[:5]:
            assert np.array_equal(other.shared_patterns(x)[0], groups.shared_patterns(x)[0])


def test_test_samples_may_be_matched_in_threads(rng):
    groups = compress_features(rng.integers(0, 4, (200, 10)), 10)
    tests = [rng.integers(0, 4, (200, 10)) for _ in range(8)]
    wanted = [groups.shared(one) for one in tests]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(pool.map(groups.shared, tests), wanted, strict=True):
            assert np.array_equal(one.whole, other.whole)
            assert np.array_equal(one.partial, other.partial)
            assert np.array_equal(one.shared_counts, other.shared_counts)


@pytest.mark.parametrize("p", [52, 60, 100, 200])
def test_counts_beyond_what_doubles_resolve(rng, p):
    # of a training sample nothing is new, however many its patterns
    X = rng.integers(0, 2, (12, p))
    groups = compress_features(X, "all")
    for x in X[:4]:
        counts, new = groups.shared_patterns(x)
        assert not new.any()
        whole = counts.sum(axis=1) > 0
        assert np.allclose(counts[whole], groups.patterns_per_order[whole], rtol=1e-9)
    other = X[0].copy()
    other[0] = 1 - other[0]
    _, new = groups.shared_patterns(other)
    assert new[-1] == 1
    with pytest.raises(UserError, match="the number of patterns overflows"):
        compress_features(rng.integers(0, 2, (3, 1100)), "all")
