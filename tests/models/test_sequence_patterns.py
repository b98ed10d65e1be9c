"""Groups of patterns against dictionaries of all patterns."""

import numpy as np
import pytest
import reference_logistic as twin
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thesiskit.errors import DataError, UserError
from thesiskit.models.patterns import UNSEEN, SequenceGroups, compress_sequences


@st.composite
def problems(draw):
    """Histories, an order, and test histories with states that may be unseen."""
    n, length = draw(st.integers(1, 12)), draw(st.integers(0, 6))
    states = draw(st.integers(1, 4))
    row = st.lists(st.integers(0, states - 1), min_size=length, max_size=length)
    histories = draw(st.lists(row, min_size=n, max_size=n))
    for _ in range(draw(st.integers(0, 3))):
        histories[draw(st.integers(0, n - 1))] = histories[draw(st.integers(0, n - 1))]
    new = st.lists(st.integers(UNSEEN, states), min_size=length, max_size=length)
    tests = draw(st.lists(st.one_of(new, st.sampled_from(histories)), min_size=1, max_size=8))
    order = draw(st.integers(0, length))
    return np.array(histories, dtype=int), order, np.array(tests, dtype=int)


def expression(groups, g) -> tuple:
    return tuple(groups.indices[groups.indptr[g] : groups.indptr[g + 1]].tolist())


def samples_of_rows(groups, g) -> tuple:
    rows = groups.members[groups.begin[g] : groups.end[g]]
    return tuple(np.flatnonzero(np.isin(groups.row_of, rows)).tolist())


def patterns_in(groups, g) -> list[tuple]:
    """Patterns of a group, from first, last and one of its rows."""
    history = groups.histories[groups.rows[groups.begin[g]]]
    return [twin.suffix(history, o) for o in range(groups.first[g], groups.last[g] + 1)]


def check_groups(groups, histories, order, compressed):
    wanted = twin.superpatterns(histories, order)
    everything = twin.expressions(histories, order)
    assert groups.n_samples == len(histories)
    assert groups.n_groups == (len(wanted) if compressed else len(everything))
    assert groups.n_patterns == len(everything)
    assert groups.n_rows == len({twin.suffix(h, order) for h in histories})
    assert (np.bincount(groups.row_of, minlength=groups.n_rows) > 0).all()
    if compressed:
        assert groups.n_groups <= 2 * groups.n_rows - 1
    assert groups.patterns_per_order.shape == (groups.n_groups, order + 1)
    assert (groups.kinds[groups.kind] == groups.patterns_per_order).all()
    assert len(np.unique(groups.kinds, axis=0)) == len(groups.kinds)
    assert groups.indptr[0] == 0
    assert groups.indptr[-1] == len(groups.indices)
    found = []
    for g in range(groups.n_groups):
        samples = expression(groups, g)
        assert list(samples) == sorted(set(samples))
        assert samples == samples_of_rows(groups, g)
        patterns = patterns_in(groups, g)
        assert tuple(groups.patterns_per_order[g]) == twin.by_order(patterns, order)
        assert sorted(wanted[samples]) == sorted(patterns) if compressed else len(patterns) == 1
        for pattern in patterns:
            assert everything[pattern] == samples
        found += patterns
    assert sorted(found) == sorted(everything)
    check_division(groups)


def check_division(groups):
    """The samples of a group are divided among the groups that it is above, or of one history."""
    assert groups.above[0] == -1
    assert (groups.above[1:] >= 0).all()
    assert (groups.above < np.arange(groups.n_groups)).all()
    for g in set(groups.above[1:].tolist()):
        parts = np.flatnonzero(groups.above == g)
        assert sorted(sum((expression(groups, one) for one in parts), ())) == list(
            expression(groups, g)
        )
        assert (groups.first[parts] == groups.last[g] + 1).all()
    ends = set(range(groups.n_groups)) - set(groups.above.tolist())
    assert all(groups.last[g] == groups.order for g in ends)


def check_shared(groups, tests):
    order, everything = groups.order, twin.expressions(groups.histories, groups.order)
    shared = groups.shared(tests)
    assert shared.sample_of.shape == (len(tests),)
    distinct = len(shared.new_kind)
    assert set(shared.sample_of) == set(range(distinct))
    assert len(shared.whole_begin) == len(shared.partial_begin) == distinct + 1
    assert len(shared.whole) == shared.whole_begin[-1]
    assert len(shared.partial) == len(shared.partial_kind) == shared.partial_begin[-1]
    for t, history in enumerate(tests):
        expressed = set(twin.patterns_of(history, order))
        counts, new = groups.shared_patterns(history)
        wanted = [
            twin.by_order(expressed & set(patterns_in(groups, g)), order)
            for g in range(groups.n_groups)
        ]
        assert counts.tolist() == [list(row) for row in wanted]
        assert tuple(new) == twin.by_order(expressed - set(everything), order)
        d = shared.sample_of[t]
        whole = shared.whole[shared.whole_begin[d] : shared.whole_begin[d + 1]]
        partial = shared.partial[shared.partial_begin[d] : shared.partial_begin[d + 1]]
        kinds = shared.partial_kind[shared.partial_begin[d] : shared.partial_begin[d + 1]]
        assert len(set(whole) | set(partial)) == len(whole) + len(partial)
        together = np.zeros_like(counts)
        together[whole] = groups.patterns_per_order[whole]
        together[partial] = shared.shared_counts[kinds]
        assert (together == counts).all()
        parts = shared.shared_counts[kinds] + shared.other_counts[kinds]
        assert (parts == groups.patterns_per_order[partial]).all()
        assert (shared.shared_counts[kinds].sum(axis=1) > 0).all()
        assert (shared.other_counts[kinds].sum(axis=1) > 0).all()
        assert (shared.new_counts[shared.new_kind[d]] == new).all()
        if not groups.compressed:
            assert len(partial) == 0


@settings(max_examples=80, deadline=None, derandomize=True)
@given(problems())
@example((np.zeros((1, 0), dtype=int), 0, np.zeros((2, 0), dtype=int)))
@example((np.zeros((5, 3), dtype=int), 0, np.ones((2, 3), dtype=int)))
@example((np.zeros((12, 6), dtype=int), 6, np.full((2, 6), UNSEEN)))
def test_groups_and_shared_patterns_against_all_patterns(problem):
    """Equations eqn-seq-linear and eqn-sg."""
    histories, order, tests = problem
    for compressed in (True, False):
        groups = compress_sequences(histories, order, compress=compressed)
        check_groups(groups, histories, order, compressed)
        check_shared(groups, tests)
        growth = [len(twin.superpatterns(histories, o)) for o in range(order + 1)]
        assert groups.growth().tolist() == growth
    assert growth[-1] == compress_sequences(histories, order).n_groups


@pytest.mark.parametrize(
    ("n", "length", "states", "order"),
    [(400, 9, 2, 9), (700, 5, 3, 4), (120, 30, 2, 30), (500, 8, 26, 8), (1500, 6, 2, 6)],
)
def test_groups_of_many_samples(rng, n, length, states, order):
    # more than the insertion sort takes, many ties, long common pasts
    histories = rng.integers(0, states, (n, length))
    histories[n // 2 :, length // 3 :] = histories[0, length // 3 :]
    histories = histories[rng.permutation(n)]
    for compressed in (True, False):
        groups = compress_sequences(histories, order, compress=compressed)
        check_groups(groups, histories, order, compressed)
    tests = np.where(rng.random((25, length)) < 0.1, UNSEEN, histories[:25])
    check_shared(compress_sequences(histories, order), np.append(tests, histories[-5:], axis=0))
    whole = compress_sequences(histories, order)
    for o in range(order + 1):
        assert whole.growth()[o] == compress_sequences(histories, o).n_groups


def test_one_long_run_of_one_state():
    # the stack of open runs, and of the sort, is as deep as the order
    n, length = 400, 500
    histories = np.zeros((n, length), dtype=int)
    for i in range(n):
        histories[i, : length - i] = 1
    groups = compress_sequences(histories, "all")
    assert groups.order == length
    assert groups.n_groups == 2 * n - 1
    assert groups.n_rows == n
    sizes = np.sort(np.diff(groups.indptr))
    assert sizes.tolist() == sorted([1] * n + list(range(2, n + 1)))


def test_the_figure_of_the_thesis():
    # five superpatterns of 1, 2, 1; 2, 1, 2 and 1, 1, 2; one of them [121] and [021]
    histories = np.array([[1, 2, 1], [2, 1, 2], [1, 1, 2]])
    groups = compress_sequences(histories, 3)
    assert groups.n_groups == 5
    assert groups.n_patterns == 8
    names = {groups.describe(g, "_12"): expression(groups, g) for g in range(5)}
    assert names == {"": (0, 1, 2), "12|1": (0,), "1|2": (1, 2), "212": (1,), "112": (2,)}
    assert compress_sequences(histories, 3, compress=False).n_groups == 8


def test_names_of_patterns():
    groups = compress_sequences(np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1]]), 3)
    names = sorted(groups.describe(g, ("C", "_")) for g in range(groups.n_groups))
    assert names == sorted(["", "_|C", "C_C", "__C", "CC|_"])
    spaced = [groups.describe(g, ("up", "down")) for g in range(groups.n_groups)]
    assert "down|up" in spaced
    assert "up up|down" in spaced
    longest = int(np.argmax(groups.last - groups.first))
    assert groups.pattern(longest, ("C", "_"), 1) == "_"


@pytest.mark.parametrize(("n", "length"), [(2, 2), (30, 7), (500, 3), (1, 4), (9, 1)])
def test_a_sliding_window_is_its_copy(rng, n, length):
    sequence = rng.integers(0, 3, n + length - 1)
    window = np.lib.stride_tricks.sliding_window_view(sequence, length)
    for compressed in (True, False):
        ours = compress_sequences(window, length, compress=compressed)
        copy = compress_sequences(window.copy(), length, compress=compressed)
        for name in ("begin", "end", "members", "kind", "kinds", "row_of", "indptr", "indices"):
            assert (getattr(ours, name) == getattr(copy, name)).all()
        for one, other in zip(
            vars(ours.shared(window)).values(), vars(copy.shared(window.copy())).values(),
            strict=True,
        ):  # fmt: skip
            assert (one == other).all()
    if n > 1 and length > 1:
        assert ours.histories.base is not None
        assert ours.histories.strides[0] == ours.histories.strides[1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, float, object, bool])
@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
def test_any_numbers_in_any_layout(rng, dtype, layout):
    histories = rng.integers(0, 2, (8, 4))
    given_as = np.asarray(histories.astype(dtype), order="F" if layout == "F" else "C")
    if layout == "reversed":
        given_as = given_as[::-1].copy()[::-1]
    check_groups(compress_sequences(given_as, 4), histories, 4, True)
    check_groups(compress_sequences(histories.tolist(), 4), histories, 4, True)


def test_what_cannot_be_an_order():
    histories = np.zeros((2, 7), dtype=int)
    assert compress_sequences(histories, "all").order == 7
    assert compress_sequences(histories, np.int64(3)).order == 3
    for order, message in [
        (
            8,
            "order 8 is above the length of the histories, 7. "
            "Fix: use at most 7, or longer histories",
        ),
        (-1, "order must not be negative, got -1"),
        (2.0, "order must be a whole number or 'all', got 2.0"),
        (True, "order must be a whole number or 'all', got True"),
        ("any", "order must be a whole number or 'all', got 'any'"),
        (None, "order must be a whole number or 'all', got None"),
    ]:
        with pytest.raises(UserError) as caught:
            compress_sequences(histories, order)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("histories", "message"),
    [
        ([[0, 1], [1]], "histories are of unequal length. Fix: cut them to the most recent states"),
        ([0, 1], r"histories must be a table \(samples, states\), got an array of shape \(2,\)"),
        (np.zeros((2, 2, 2)), "must be a table"),
        (np.zeros((0, 3)), "there are no histories"),
        ([[0, 1], [1, -1]], "histories: a state is negative in row 1, column 1: -1"),
        ([[0.0, 1.5]], "histories: a state is not a whole number in row 0, column 1: 1.5"),
        ([[0.0, np.nan]], "histories: a state is missing in row 0, column 1: nan"),
        ([[np.inf, 0.0]], "histories: a state is missing in row 0, column 0: inf"),
        ([[0, 2**31]], "histories: a state is too large a number in row 0, column 1: 2147483648"),
        ([["a", "b"]], "histories must be whole numbers from 0; encode other states"),
        ([[0, None]], "a state is missing"),
        (np.array([[1, "x"]], dtype=object), "histories must be whole numbers from 0"),
        (np.array([[1j]]), "histories must be whole numbers from 0"),
    ],
)
def test_what_cannot_be_histories(histories, message):
    with pytest.raises(DataError, match=message):
        compress_sequences(histories, 1)


def test_what_is_wrong_in_a_sliding_window_is_found():
    sequence = np.array([0, 1, 0, -3, 1])
    window = np.lib.stride_tricks.sliding_window_view(sequence, 2)
    with pytest.raises(DataError, match="a state is negative"):
        compress_sequences(window, 1)


def test_what_cannot_be_test_histories():
    groups = compress_sequences(np.zeros((3, 2), dtype=int), 2)
    with pytest.raises(
        UserError, match=r"have 2 states, test histories 3. Fix: make them the same"
    ):
        groups.shared(np.zeros((1, 3), dtype=int))
    with pytest.raises(UserError, match=r"takes one history, got an array of shape \(1, 2\)"):
        groups.shared_patterns(np.zeros((1, 2), dtype=int))
    with pytest.raises(DataError, match="there are no test histories"):
        groups.shared(np.zeros((0, 2), dtype=int))
    with pytest.raises(DataError, match="test histories: a state is negative in row 0, column 1"):
        groups.shared([[0, UNSEEN - 1]])
    assert isinstance(groups, SequenceGroups)
    counts, new = groups.shared_patterns([UNSEEN, 0])
    assert (counts.sum(), new.tolist()) == (2, [0, 0, 1])
