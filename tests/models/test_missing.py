"""Missing values in the naive Bayes model, against enumeration and rational arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import reference
from cases import only
from statistical import assert_calibrated

from thesiskit.datasets.synthetic import draw_naive_bayes
from thesiskit.errors import DataError
from thesiskit.models import integrals
from thesiskit.models import naive_bayes as nb
from thesiskit.models.integrals import log_discard_probability, pair_integrals
from thesiskit.models.naive_bayes import FeatureCounts
from thesiskit.models.packed import PackedFeatures, median_thresholds
from thesiskit.models.peers import BITS, Task, fit_predict
from thesiskit.models.selection import LeftOut, Screened, _unseen, is_binary, select_features
from thesiskit.study.selecting import pack_selections, unpack_selections

GONE = np.nan


def gappy(seed, n=(4, 5), p=7, tests=3, rate=0.25):
    rng = np.random.default_rng(seed)
    drawn = draw_naive_bayes(rng, features=p, alpha=3.0, train=n, test=(tests, tests))
    X, new = (one.features.astype(float) for one in (drawn.train, drawn.test))
    X[rng.random(X.shape) < rate] = GONE
    new[rng.random(new.shape) < rate] = GONE
    return X, drawn.train.response, new, rng


@pytest.mark.parametrize(
    ("k", "correct"), only(product((1, 3, 7), (True, False)), (1, False), (3, True), (7, True))
)
def test_predictions_are_those_of_enumeration(correct, k):
    X, y, new, rng = gappy(1)
    X[:, 2] = GONE  # a feature that no sample has
    X[y == 1, 4] = GONE  # one that no sample of a class has
    found = select_features(X, y, k, rng, ties="as-printed")
    settings = nb.NaiveBayes(class_prior=(2.0, 0.5), alpha_points=3)
    posterior = nb.fit(found, settings, correct=correct)
    ours = nb.predict(posterior, new[:, found.selected])
    others = np.setdiff1d(np.arange(7), found.selected)
    for row, p in zip(new, ours, strict=True):
        exact = reference.predictive_with_missing(
            X[:, found.selected],
            y,
            row[found.selected],
            [Fraction(a) for a in posterior.alpha],
            (Fraction(2), Fraction(1, 2)),
            found.gamma_squared if correct else None,
            X[:, others],
        )
        assert p == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_features_are_kept_by_the_samples_that_have_them(seed):
    X, y, _, rng = gappy(seed, n=(9, 7), p=60)
    squares = reference.screen_with_missing(X, y)
    found = select_features(X, y, 6, rng)
    ordered = sorted(squares, reverse=True)
    assert found.gamma_squared == ordered[5]
    assert sorted((squares[j] for j in found.selected), reverse=True) == ordered[:6]
    np.testing.assert_allclose(found.correlation**2, [float(squares[j]) for j in found.selected])
    assert found.tied == ordered.count(ordered[5])
    here = ~np.isnan(X)
    for j, ones, present in zip(found.selected, found.ones, found.present, strict=True):
        assert [here[y == c, j].sum() for c in (0, 1)] == present.tolist()
        assert [(X[y == c, j] == 1).sum() for c in (0, 1)] == ones.tolist()
    assert found.left_out.total == found.n_dropped == 54
    again = select_features(X, y, None, rng, threshold=Fraction(1, 3))
    assert set(again.selected) == {j for j, one in enumerate(squares) if one > Fraction(1, 9)}
    samples = np.flatnonzero(np.arange(16) % 4)
    part = select_features(PackedFeatures.pack(X), y, 6, rng, samples=samples)
    assert part.gamma_squared == sorted(reference.screen_with_missing(X[samples], y[samples]))[-6]


@pytest.mark.parametrize("quadrature", ["exact", "simpson-21"])
def test_a_table_without_gaps_says_the_same_through_either_way(quadrature):
    X, y, new, rng = gappy(3, n=(20, 24), p=90, rate=0.0)
    settings = nb.NaiveBayes(quadrature=quadrature)
    found = select_features(X, y, 5, rng, ties="as-printed")
    assert found.present is None
    p = nb.predict(nb.fit(found, settings), new[:, found.selected])
    whole = PackedFeatures.pack(X)
    other = PackedFeatures(whole.words, whole.n, PackedFeatures.pack(np.ones_like(X)).words)
    again = select_features(other, y, 5, np.random.default_rng(0))
    assert again.gamma_squared == found.gamma_squared
    if found.tied == found.tied_kept:
        assert (again.selected == found.selected).all()
    mine = FeatureCounts.of(found, True)
    (row,) = found.left_out.rows.tolist()
    rows = np.array([[*row[:3], 1], [*row[:3], row[3] - 1]])
    same = type(found)(
        **vars(found) | {"present": np.tile(found.class_counts, (5, 1)),
                         "left_out": LeftOut(rows, found.gamma_squared)}
    )  # fmt: skip
    assert FeatureCounts.of(same, True).present.shape == mine.pairs.shape
    q = nb.predict(nb.fit(same, settings), new[:, found.selected])
    np.testing.assert_allclose(q, p, rtol=1e-8)


def test_leaving_out_a_sample_is_the_same_as_losing_its_values():
    X, y, new, _ = gappy(4, n=(12, 11), p=40, rate=0.2)
    lost = X.copy()
    lost[3] = GONE
    a, b = (
        select_features(table, y, 4, np.random.default_rng(0), samples=samples)
        for table, samples in ((lost, None), (X, np.delete(np.arange(23), 3)))
    )
    assert a.gamma_squared == b.gamma_squared
    assert (a.selected == b.selected).all()
    flat = nb.NaiveBayes(class_prior=(1e6, 1e6))  # the sample still counts for its class
    p, q = (nb.predict(nb.fit(one, flat), new[:, one.selected]) for one in (a, b))
    np.testing.assert_allclose(p, q, rtol=1e-4)


def test_predictions_with_gaps_are_calibrated():
    rng = np.random.default_rng(8)
    p, y = [], []
    for _ in range(60):
        drawn = draw_naive_bayes(rng, features=300, alpha=100.0, train=(20, 20), test=(25, 25))
        X, new = (one.features.astype(float) for one in (drawn.train, drawn.test))
        for table in (X, new):  # some features are missing more often than others
            table[rng.random(table.shape) < np.linspace(0, 0.6, 300)] = GONE
        found = select_features(X, drawn.train.response, 8, rng)
        p.append(nb.predict(nb.fit(found, nb.NaiveBayes()), new[:, found.selected]))
        y.append(drawn.test.response)
    assert_calibrated(np.concatenate(p), np.concatenate(y))


def test_selections_with_gaps_are_kept_whole():
    X, y, _, rng = gappy(5, p=20)
    found = [select_features(X, y, k, rng) for k in (1, 20, 3)]
    again = unpack_selections(pack_selections(found, np.zeros(3)))
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one.present, other.present)
        np.testing.assert_array_equal(one.left_out.rows, other.left_out.rows)
        assert one.gamma_squared == other.gamma_squared


@pytest.mark.parametrize("quadrature", ["exact", "simpson-21"])
def test_many_numbers_of_samples_share_tables(quadrature, monkeypatch):
    rng = np.random.default_rng(9)
    counts = np.array([[0, 0], [0, 7], [5, 0], [1, 1], *rng.integers(20, 30, (25, 2))])
    pairs = rng.integers(0, counts + 1)
    pairs, counts = np.tile(pairs, (2, 1)), np.tile(counts, (2, 1))
    alpha, gamma = np.array([0.3, 4.0, 700.0]), Fraction(1, 17)
    for room in (integrals.TABLE_BYTES, 1):  # all alphas together, or one after the other
        monkeypatch.setattr(integrals, "TABLE_BYTES", room)
        found = pair_integrals(pairs, counts, alpha, quadrature)
        left_out = log_discard_probability(*counts.T, gamma, alpha, quadrature=quadrature)
        for d, (n0, n1) in enumerate(counts.tolist()):
            if n0 + n1 == 0:
                assert (found.log_marginal[d] == 0).all()
                assert (left_out[d] == 0).all()
                continue
            one = pair_integrals(pairs[[d]], (n0, n1), alpha, quadrature)
            for mine, right in zip(found, one, strict=True):
                np.testing.assert_allclose(mine[d], right[0], rtol=1e-10)
            right = log_discard_probability(n0, n1, gamma, alpha, quadrature=quadrature)
            np.testing.assert_allclose(left_out[d], right, rtol=1e-10, atol=1e-14)


def test_many_samples_need_no_tables():
    rng = np.random.default_rng(10)
    counts = np.array([[310, 320], [305, 311], [310, 320], [0, 0]])
    pairs = rng.integers(0, counts + 1)
    found = pair_integrals(pairs, counts, np.array([3.0]), "exact")
    left_out = log_discard_probability(*counts.T, Fraction(1, 400), np.array([3.0]))
    for d in range(3):
        n0, n1 = counts[d].tolist()
        one = pair_integrals(pairs[[d]], (n0, n1), np.array([3.0]))
        np.testing.assert_allclose(found.log_marginal[d], one.log_marginal[0], rtol=1e-9)
        right = log_discard_probability(n0, n1, Fraction(1, 400), np.array([3.0]))
        np.testing.assert_allclose(left_out[d], right, rtol=1e-9)


# ---- features made binary ----


def test_medians_are_of_the_values_that_are_there():
    rng = np.random.default_rng(6)
    X = np.round(rng.normal(size=(15, 40)), 1)
    X[:, 3] = rng.integers(0, 2, 15)
    X[:, 4] = rng.choice([2.0, 5.0], 15)
    X[:, 5] = 7.0
    whole = median_thresholds(X)
    X[rng.random(X.shape) < 0.3] = GONE
    X[:, 6] = GONE
    X[:, 8] = np.arange(15)  # nothing is missing in it
    found = median_thresholds(X)
    for j in range(40):
        held = X[~np.isnan(X[:, j]), j]
        if len(held):
            assert found[j] == median_thresholds(held[:, None])[0]
    assert found[3] == whole[3] == 0.5
    assert found[8] == 7


def test_packed_features_know_their_gaps():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (70, 600)).astype(float)
    gaps = rng.random(X.shape) < 0.1
    gaps[:, :550] = False
    X[gaps] = GONE
    packed = PackedFeatures.pack(X)
    np.testing.assert_array_equal(packed.unpack(np.arange(600)), X)
    np.testing.assert_array_equal(
        packed.take(np.array([599, 0])).unpack(np.arange(2)), X[:, [599, 0]]
    )
    whole = packed.unpack(np.arange(10), np.arange(5))
    assert whole.dtype == np.uint8
    assert is_binary(X)
    real = rng.normal(size=(70, 4))
    real[5, 1] = GONE
    found = PackedFeatures.pack(real, samples=np.arange(40)).unpack(np.arange(4))
    assert np.isnan(found[5, 1])
    held = np.delete(np.arange(40), 5)
    assert (found[held, 1] == (real[held, 1] > np.median(real[held, 1]))).all()
    with pytest.raises(DataError, match="infinite value in sample 3, feature 2"):
        PackedFeatures.pack(np.where(np.arange(8).reshape(4, 2) == 5, np.inf, GONE))


def test_bernoulli_nb_is_given_the_more_frequent_value(rng):
    train = np.array([[1, 0, GONE], [1, GONE, GONE], [GONE, 1, GONE], [0, 1, GONE], [1, 0, GONE]])
    whole = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=np.uint8)
    y, task = np.array([0, 1, 0, 1, 1]), Task(BITS, keep=2)
    p, expected = (
        fit_predict("bernoulli-nb", task, X, y, new, 1)
        for X, new in (
            (train, np.array([[GONE] * 3, [0, 1, 1]])),
            (whole, np.array([[1, 0, 0], [0, 1, 1]])),
        )
    )
    np.testing.assert_allclose(p, expected, rtol=1e-12)


def test_features_that_a_weak_screening_took_away_are_missing_as_often_as_those_it_left():
    X, y, _, rng = gappy(6, n=(5, 6), p=9)
    here = ~np.isnan(X)
    counts = np.stack([here[y == c].sum(axis=0) for c in (0, 1)], axis=1)
    for k in (None, 4):  # all are kept, or we leave out some more
        found = select_features(X, y, k, rng, prefiltered=Screened(9 + 18))
        others = np.delete(counts, found.selected, axis=0)
        rows = found.left_out.rows
        again = np.repeat(rows[:, :2], rows[:, 3], axis=0)
        expected = np.concatenate([counts, counts, others])
        assert sorted(again.tolist()) == sorted(expected.tolist())
        assert found.left_out.total == found.n_dropped
    few = select_features(
        X, y, None, rng, prefiltered=Screened(10)
    ).left_out  # one, of nine patterns
    assert few.total == 1
    assert np.isfinite(nb.fit(found, nb.NaiveBayes(relevant="some")).log_joint).all()


def test_features_with_few_samples_pass_a_screening_by_chance_more_often():
    rng, bound = np.random.default_rng(3), Fraction("0.25")
    there = np.array([[20, 20], [6, 6], [5, 9]])
    y = [np.repeat([0, 1], one) for one in there]
    passed = []
    for g in y:  # of features that have nothing to do with the response
        x, g = rng.normal(size=(50_000, len(g))), (g - g.mean()) / g.std()
        x -= x.mean(axis=1, keepdims=True)
        passed.append(np.mean((x @ g) ** 2 / (len(g) * (x**2).sum(axis=1)) > bound))
    number, passed = np.array([50_000, 20_000, 5_000]), np.array(passed)
    for relevant in (0, 40):  # of each, which are all kept
        rows = np.column_stack([there, np.rint(number * passed) + relevant]).astype(int)
        found = _unseen(rows, int(sum(number * (1 - passed))), bound)
        assert found[:, :2].tolist() == there.tolist()
        np.testing.assert_allclose(found[:, 2], number * (1 - passed), rtol=0.15)
    # where all pass by chance, they are as often as those there
    assert (
        _unseen(rows, 900, Fraction(0))[:, 2].tolist()
        == np.diff(np.rint(900 * np.cumsum(rows[:, 2]) / rows[:, 2].sum()), prepend=0).tolist()
    )


@pytest.mark.parametrize("gaps", [pytest.param(0.0, marks=pytest.mark.slow), 0.3])
def test_screened_tables_with_gaps_have_no_relevant_features_too_many(gaps):
    settings = nb.NaiveBayes(
        relevant="some", pi=(0.02, 0.1, 0.3), alpha_points=6, alpha_prior=(1.0, 5.0)
    )
    rng, y = np.random.default_rng(11), np.repeat([0, 1], 20)
    away = []
    for _ in range(300):
        pi, alpha = rng.choice(settings.pi), rng.choice(settings.prior.midpoints(6))
        drawn = draw_naive_bayes(rng, features=1000, alpha=alpha, pi=pi, train=(20, 20), test=0)
        X = drawn.train.features.astype(float)
        X[rng.random(X.shape) < gaps] = GONE
        best = select_features(X, y, 10, rng).selected
        found = select_features(X[:, best], y, None, rng, prefiltered=Screened(1000))
        true = drawn.truth["relevant"][best[found.selected]].sum()
        away.append(nb.fit(found, settings).relevance.sum() - true)
    # features that are not there, taken to have all values: z is 7.0 with gaps
    assert abs(np.mean(away)) < 4 * np.std(away) / np.sqrt(len(away))
