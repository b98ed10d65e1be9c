"""Selecting from all patterns of up to three features, against a twin that lists them all."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import reference_interactions as twin
from cases import only

from thesiskit.errors import UserError
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.selection import select_features
from thesiskit.pairs import interactions
from thesiskit.pairs import planes as planes_module
from thesiskit.pairs.interactions import Run, forecast, select_patterns
from thesiskit.pairs.planes import Planes, decode, encode, express


def drawn(seed, n, p, values=(2, 3, 4), missing=0.0, alike=0.0):
    """Codes and responses; later columns copy most of earlier ones with probability `alike`."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, rng.choice(values), n) for _ in range(p)])
    for j in range(1, p):
        if rng.random() < alike:
            codes[:, j] = np.where(rng.random(n) < 0.9, codes[:, rng.integers(j)], codes[:, j])
    codes[rng.random(codes.shape) < missing] = -1
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = 0, 1
    return codes.astype(np.int8), y


def fields(found):
    rows = found.left_out.rows.tolist()
    present = found.present
    counts = found.ones.tolist()
    if present is None:
        present = np.tile(found.class_counts, (len(counts), 1))
    counts = [tuple(one + other) for one, other in zip(counts, present.tolist(), strict=True)]
    return (found.selected.tolist(), counts, found.gamma_squared, found.tied, found.tied_kept,
            rows, found.n_features)  # fmt: skip


def selected(codes, y, k, seed=3, **options):
    return select_patterns(Planes.pack(codes, y), k, np.random.default_rng(seed), **options)


def expected(codes, y, k, order, threshold=None, disjoint=False, ld=None, seed=3):
    drawn_seed = int(np.random.default_rng(seed).integers(2**63))
    cut = None if threshold is None else Fraction(threshold) ** 2
    return twin.select(
        tuple(map(tuple, codes.tolist())),
        tuple(y.tolist()),
        k,
        drawn_seed,
        order,
        cut,
        disjoint,
        ld,
    )


SAMPLES = {
    "one": {"n": 40, "p": 30, "order": 1, "k": 5},
    "pairs": {"n": 90, "p": 60, "order": 2, "k": 20},
    "many pairs": {"n": 150, "p": 90, "order": 2, "k": 50, "values": (3,)},
    "ties": {"n": 14, "p": 25, "order": 2, "k": 30},
    "two values": {"n": 70, "p": 40, "order": 2, "k": 10, "values": (2,)},
    "many values": {"n": 200, "p": 12, "order": 2, "k": 10, "values": (2, 7, 16)},
    "missing": {"n": 60, "p": 40, "order": 2, "k": 20, "missing": 0.1},
    "mostly missing": {"n": 25, "p": 20, "order": 2, "k": 20, "missing": 0.7},
    "threes": {"n": 70, "p": 17, "order": 3, "k": 30},
    "threes with ties": {"n": 12, "p": 14, "order": 3, "k": 100},
    "threes, missing": {"n": 50, "p": 14, "order": 3, "k": 40, "missing": 0.15},
    "many lines": {"n": 100_000, "p": 5, "order": 2, "k": 3},
    "words": {"n": 64, "p": 20, "order": 2, "k": 9},
}


HOWS = ("best", "threshold", "disjoint", "ld", "both", "both above")
# every way of selecting with some tables, and with each table a way
LESS = [("pairs", how) for how in HOWS] + [
    (name, HOWS[i % len(HOWS)]) for i, name in enumerate(SAMPLES) if name != "pairs"
]


@pytest.mark.parametrize(("name", "how"), only(product(SAMPLES, HOWS), *LESS))
def test_against_all_patterns_listed(name, how, monkeypatch):
    sample = dict(SAMPLES[name])
    order, k = sample.pop("order"), sample.pop("k")
    codes, y = drawn(len(name), **sample, alike=0.3 if how in ("ld", "both") else 0)
    codes[:, 3] = 1  # constant
    options = {}
    if how in ("disjoint", "both", "both above"):
        options["disjoint"], k = True, min(k, 3)
    if how in ("ld", "both", "both above"):
        options["ld"] = 0.3
    if how in ("threshold", "both above"):
        options["threshold"], k = "0.2", None
    monkeypatch.setattr(interactions, "ROWS", 7)
    monkeypatch.setattr(interactions, "ROOM", 500)
    wanted = expected(codes, y, k, order, **options)
    assert wanted[0] or name in ("many values", "many lines")
    for listed in (1, 150, interactions.LISTED):
        monkeypatch.setattr(interactions, "LISTED", listed)
        assert fields(selected(codes, y, k, order=order, **options)) == wanted


def screening(monkeypatch, missing):
    """Codes and responses whose screening has some lists, of some blocks each, and ties."""
    for name, value in (("ROWS", 5), ("ROOM", 100), ("LISTED", 20)):
        monkeypatch.setattr(interactions, name, value)
    codes, y = drawn(8, 24, 22, missing=missing, alike=0.2)
    options = {"order": 2, "disjoint": True, "ld": 0.5}
    return codes, y, options, fields(selected(codes, y, 6, **options))


@pytest.mark.parametrize("missing", [0, 0.1])
def test_threads_and_forms_change_nothing(monkeypatch, missing):
    codes, y, options, wanted = screening(monkeypatch, missing)
    for threads, form in product((1, 2, 5), range(len(interactions.kernel.FORMS))):
        run = Run(threads=threads, form=form)
        assert fields(selected(codes, y, 6, **options, run=run)) == wanted
    codes, y = drawn(8, 24, 13, missing=missing)
    for order in (2, 3):
        run = [Run(threads=t, form=f) for t, f in ((1, 0), (3, -1))]
        one, other = (fields(selected(codes, y, 50, order=order, run=each)) for each in run)
        assert one == other


@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.parametrize("threshold", [None, "0.3"])
def test_going_on_from_any_block_changes_nothing(monkeypatch, missing, threshold):
    codes, y, options, wanted = screening(monkeypatch, missing)
    k = 6 if threshold is None else None
    wanted = fields(selected(codes, y, k, **options, threshold=threshold))
    states = []

    def watch(done, total, state):
        assert 0 < done <= total
        states.append({name: array.copy() for name, array in state().items()})

    found = selected(codes, y, k, **options, threshold=threshold, run=Run(threads=2, watch=watch))
    assert fields(found) == wanted
    lists = {int(state["where"][1]) for state in states}
    assert lists >= ({0, 1, -1} if k else {0})
    for state in states:
        run = Run(threads=2, state=state)
        # another generator: the lots are those of the state
        assert (
            fields(selected(codes, y, k, seed=9, **options, threshold=threshold, run=run)) == wanted
        )


def test_an_interruption_ends_the_screening_between_blocks(monkeypatch):
    codes, y, options, wanted = screening(monkeypatch, 0)
    saved = []

    def watch(done, total, state):
        saved.append(state())
        if len(saved) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        selected(codes, y, 6, **options, run=Run(threads=2, watch=watch))
    assert len(saved) == 4
    assert fields(selected(codes, y, 6, **options, run=Run(state=saved[-1]))) == wanted
    with pytest.raises(UserError, match="start again without"):
        selected(codes, y, 7, **options, run=Run(state=saved[-1]))
    codes[codes == 0] = 1
    with pytest.raises(UserError, match="start again without"):
        selected(codes, y, 6, **options, run=Run(state=saved[-1]))


def test_binary_features_alone_are_selected_as_before():
    codes, y = drawn(5, 60, 50, values=(2,), missing=0.1)
    table = np.where(codes < 0, np.nan, codes)
    ours = selected(codes, y, 7, order=1)
    theirs = select_features(PackedFeatures.pack(table), y, 7, np.random.default_rng(1))
    assert decode(ours.selected)[0][:, 2].tolist() == theirs.selected.tolist()
    assert ours.gamma_squared == theirs.gamma_squared
    assert ours.left_out.rows.tolist() == theirs.left_out.rows.tolist()
    np.testing.assert_array_equal(ours.ones, theirs.ones)
    np.testing.assert_array_equal(ours.present, theirs.present)


def test_which_tied_patterns_are_kept_is_a_fair_lot():
    # one feature of three values makes three patterns that say the same of samples 0 1 2
    codes = np.array([[0, 0], [1, 1], [2, 2]] * 20, dtype=np.int8)
    y = np.arange(60) // 30
    kept = [int(selected(codes, y, 1, seed=seed).selected[0]) for seed in range(300)]
    _, times = np.unique(kept, return_counts=True)
    assert len(times) == 9  # of 3 + 3 + 9, those of both that never occur are none
    assert times.min() >= 12  # of 33.3; less with probability 1e-4


class Reader:
    """A table that is read in pieces only."""

    def __init__(self, table):
        self.table, self.shape, self.largest = table, table.shape, 0

    def __getitem__(self, key):
        part = self.table[key]
        self.largest = max(self.largest, part.size)
        return part


@pytest.mark.parametrize("kind", ["int16", "float", "mapped", "reader", "cases"])
def test_tables_of_every_kind(tmp_path, monkeypatch, kind):
    codes, y = drawn(1, 50, 40, missing=0.1)
    wanted = fields(selected(codes, y, 10))
    monkeypatch.setattr(planes_module, "CHUNK", 500)
    table, samples = codes, None
    if kind == "int16":
        table = codes.astype(np.int16)
    if kind == "float":
        table = np.where(codes < 0, np.nan, codes).astype(np.float32)
    if kind == "mapped":
        np.save(tmp_path / "x.npy", codes)
        table = np.load(tmp_path / "x.npy", mmap_mode="r")
    if kind == "reader":
        table = Reader(codes)
    if kind == "cases":
        samples = np.random.default_rng(1).permutation(80)[:50]
        table, responses = np.full((80, 40), 7, dtype=np.int8), np.zeros(80)
        table[samples], responses[samples] = codes, y
        y = responses
    planes = Planes.pack(table, y, samples)
    assert fields(select_patterns(planes, 10, np.random.default_rng(3))) == wanted
    if kind == "reader":
        assert table.largest == 10 * 50


def test_numbers_of_patterns_and_their_table():
    features = np.array([[-1, -1, 5], [9, -1, 2], [7, 65534, 0], [4194303, -1, 4194302]])
    values = np.array([[-1, -1, 15], [0, -1, 3], [1, 2, 3], [15, -1, 2]])
    numbers = encode(features, values)
    assert numbers.min() > 0
    assert decode(numbers)[0].tolist() == [
        [-1, -1, 5],
        [-1, 2, 9],
        [0, 7, 65534],
        [-1, 4194302, 4194303],
    ]
    assert decode(numbers)[1].tolist() == [[-1, -1, 15], [-1, 3, 0], [3, 1, 2], [-1, 2, 15]]
    codes, y = drawn(2, 60, 12, missing=0.1)
    found = selected(codes, y, 40, order=3)
    table = express(found.selected, np.where(codes < 0, np.nan, codes))
    for column, ones, present in zip(table.T, found.ones, found.present, strict=True):
        known = ~np.isnan(column)
        assert [known[y == c].sum() for c in (0, 1)] == present.tolist()
        assert [np.nansum(column[y == c]) for c in (0, 1)] == ones.tolist()
    # a value that no training sample had is another value; a missing one hides all
    new = np.array([[0, 1, 2], [0, 1, 9], [0, -1, 9]])
    number = encode(np.array([[0, 1, 2]]), np.array([[0, 1, 2]]))
    np.testing.assert_array_equal(express(number, new)[:, 0], [1, 0, np.nan])


def bad_input():
    codes, y = drawn(1, 30, 8)
    pack, other = Planes.pack, np.arange(30)
    planes = pack(codes, y)
    with_codes = lambda value: np.where(np.arange(8) == 4, value, codes)  # noqa: E731
    select = lambda k=2, **options: select_patterns(planes, k, np.random.default_rng(1), **options)  # noqa: E731
    yield "varies", lambda: pack(codes * 0, y)
    yield "30 samples in the features but 29", lambda: pack(codes, y[1:])
    yield "one class only", lambda: pack(codes, y * 0)
    yield "response of 0 and 1", lambda: pack(codes, other)
    yield "16 in sample 1, feature 5", lambda: pack(with_codes(16), y)
    yield "-2 in sample 1, feature 5", lambda: pack(with_codes(-2), y)
    yield "0.5 in sample 1, feature 5", lambda: pack(with_codes(0.5), y)
    yield "inf in sample 1, feature 5", lambda: pack(with_codes(np.inf), y)
    yield "must be numbers", lambda: pack(codes.astype(str), y)
    yield "100,001 samples", lambda: pack(np.zeros((100_001, 1)), np.arange(100_001) % 2)
    wide = np.broadcast_to(np.int8(0), (2, 1 << 26))
    yield "67,108,864 features", lambda: pack(wide, np.arange(2))
    yield "give either", lambda: select(threshold=0.1)
    yield "give either", lambda: select(None)
    yield r"from 1 to 3 with \d+ feature\(s\), got 4", lambda: select(order=4)
    one = pack(codes[:, :1], y)
    yield r"from 1 to 1 with 1 feature\(s\)", lambda: select_patterns(one, 1, None, order=2)
    yield "ld, a squared", lambda: select(ld=2)
    yield "threshold must be", lambda: select(None, threshold=2)
    yield "must be from 1 to", lambda: select(0)
    yield "must be from 1 to", lambda: select(10_000)
    yield "must be from 1 to 8", lambda: select(9, disjoint=True)
    yield r"vary, got \d", lambda: select(planes.number_of_patterns(2))
    yield "only [4-7] patterns", lambda: select(8, disjoint=True)


@pytest.mark.parametrize("disjoint", [False, True])
def test_at_most_keeps_all_that_there_are(disjoint):
    codes, y = drawn(3, 30, 5)
    planes = Planes.pack(codes, y)
    every = select_patterns(planes, 1, np.random.default_rng(1)).n_features
    found = select_patterns(
        planes, 10_000, np.random.default_rng(1), disjoint=disjoint, at_most=True
    )
    assert len(found.selected) == (every if not disjoint else len(found.selected))
    names = decode(found.selected)[0]
    if disjoint:  # no pattern of the others is left
        used = names[names >= 0]
        assert len(used) == len(set(used.tolist())) == 5
    assert found.n_features == every


@pytest.mark.parametrize("number", range(22))
def test_bad_input_says_what_to_do(number):
    samples = list(bad_input())
    assert len(samples) == 22
    message, work = samples[number]
    with pytest.raises(UserError, match=message) as caught:
        work()
    assert len(str(caught.value).splitlines()) <= 2


def test_too_many_patterns_are_refused_before_the_work(monkeypatch):
    codes, y = drawn(1, 30, 20, values=(3,))
    assert Planes.pack(codes, y).number_of_patterns(3) == 60 + 9 * 190 + 27 * 1140
    monkeypatch.setattr(interactions, "MOST_PATTERNS", 5_000)
    with pytest.raises(UserError, match="select about 10 features"):
        selected(codes, y, 5, order=3)
    monkeypatch.setattr(interactions, "MOST_ABOVE", 100)
    monkeypatch.setattr(interactions, "ROOM", 10)
    with pytest.raises(UserError, match="more than 100 patterns"):
        selected(codes, y, None, threshold=0)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_forecast_counts_and_measures(order):
    codes, y = drawn(1, 30, 40)
    patterns, seconds = forecast(Planes.pack(codes, y), order)
    assert patterns >= len(
        twin.candidates(tuple(map(tuple, codes.tolist())), tuple(y.tolist()), order)
    )
    assert (seconds > 0) == (order > 1)
    assert seconds < 60


def test_a_threshold_may_keep_nothing():
    codes, y = drawn(1, 30, 8)
    found = selected(codes, y, None, threshold=1)
    assert len(found.selected) == 0
    assert found.left_out.total == found.n_features
