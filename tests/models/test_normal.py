"""The normal model against integrals by other rules, loops over points, and simulation."""

import json
import warnings
from fractions import Fraction

import numpy as np
import pytest
import reference_normal as slow
from cases import only
from commands import run
from scipy import stats
from small import KINDS
from statistical import z_score
from threadpoolctl import threadpool_info, threadpool_limits

from thesiskit.defaults import normal_grids
from thesiskit.errors import DataError, UserError
from thesiskit.estimators import NormalClassifier
from thesiskit.models import normal
from thesiskit.models.selection import (
    LARGEST,
    Screened,
    correlation_of_f,
    f_limits,
    select_by_f,
)

RATIOS = [1e-5, 1e-3, 0.05, 1.0, 100.0]
GRID = {"ratio": (0.02, 0.3, 2.0), "pi": (0.01, 0.2, 1.0), "variance": (6.0, 1.1)}


def drawn(seed, n=24, p=40, G=2, strong=3, effect=1.5):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % G
    X = rng.standard_normal((n, p))
    X[:, :strong] += effect * rng.standard_normal((strong, G))[:, y].T
    return X, y, rng


# ---- the factor of the features left out ----


def log_discard(counts, f, ratio, shape):
    return normal.log_lower(*normal.averaged_tails(np.array(counts), f, ratio, shape))


CLASSES = {(30, 32): 12.0, (5, 50): 2.0, (20, 20, 20): 9.0, (3, 40, 9): 4.0, (8, 23, 12, 20): 14.0,
           (4, 6, 50, 60, 7): 6.0}  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "f", "shape"),
    only(
        [(counts, f, shape) for counts, f in CLASSES.items() for shape in (3.0, 10.0, None)],
        ((30, 32), 12.0, 3.0), ((5, 50), 2.0, None), ((20, 20, 20), 9.0, 10.0),
        ((3, 40, 9), 4.0, 3.0), ((8, 23, 12, 20), 14.0, None), ((4, 6, 50, 60, 7), 6.0, None),
    ),
)  # fmt: skip
def test_discards_against_quadrature_of_another_kind(counts, f, shape):
    found = log_discard(counts, f, np.array(RATIOS), shape)
    expected = [slow.log_discard(counts, f, ratio, shape) for ratio in RATIOS]
    # with two classes both tails are exact; Imhof's integral is exact to 1e-12 of 1
    np.testing.assert_allclose(found, expected, rtol=1e-10 if len(counts) == 2 else 0, atol=1e-10)


def test_a_million_features_left_out_keep_their_digits():
    ratio = np.array([1e-5, 1e-3])
    found = 1e6 * log_discard([50, 50], 40.0, ratio, 3)
    effects, weight = slow.effect_rule(3)
    above = [weight @ stats.f.sf(40 / (1 + r * effects * 50), 1, 98) for r in ratio]
    np.testing.assert_allclose(found, 1e6 * np.log1p(-np.array(above)), rtol=1e-10)


def test_discards_against_simulation():
    rng = np.random.default_rng(5)
    counts, f, sets = np.array([4, 9, 7]), 2.5, 200_000
    effect = 0.4 / stats.gamma.rvs(1.5, scale=1 / 1.5, size=sets, random_state=rng)  # c = 3
    means = rng.standard_normal((sets, 3)) * np.sqrt(effect[:, None] + 1 / counts)
    within = rng.chisquare(counts.sum() - 3, sets)
    grand = means @ counts / counts.sum()
    between = ((means - grand[:, None]) ** 2) @ counts
    small = between / 2 / (within / (counts.sum() - 3)) <= f
    p = float(np.exp(log_discard(counts, f, np.array([0.4]), 3)[0]))
    assert abs(small.mean() - p) < 4.5 * np.sqrt(p * (1 - p) / sets)


# ---- one feature ----


def test_marginals_against_brute_force_integration():
    values = [np.array([0.3, -0.8, 1.1]), np.array([1.9, 0.6])]
    a, b = 4.0, 0.9
    data = ([3, 2], [np.mean(v) for v in values], sum(((v - v.mean()) ** 2).sum() for v in values))
    brute = [np.log(slow.brute_density(values, effect, a, b)) for effect in (0.05, 1.0, 4.0)]
    formula = [slow.log_marginal(*data, effect, a, b) for effect in (0.05, 1.0, 4.0)]
    np.testing.assert_allclose(np.diff(brute), np.diff(formula), atol=1e-8)
    # a new sample of class g has the density of all samples divided by that of the others
    ratios = []
    for g in (0, 1):
        more = [np.append(v, 2.2) if i == g else v for i, v in enumerate(values)]
        after = slow.log_marginal(*slow.with_sample(*data, g, 2.2), 1.0, a, b)
        ratios.append(np.log(slow.brute_density(more, 1.0, a, b)) - after)
    assert ratios[0] == pytest.approx(ratios[1], abs=1e-8)


# ---- the whole model ----


def compare(X, y, k, settings, *, correct=True, tolerance=2e-5, **sabotage):
    rng = np.random.default_rng(3)
    selection = select_by_f(X, y, k, rng)
    found = normal.fit(selection, settings, correct=correct)
    samples = rng.standard_normal((3, k)) * 1.5
    samples[1, 0] = np.nan
    samples[2] *= 4
    features = list(zip(selection.counts.tolist(), selection.means.tolist(),
                        selection.within.tolist(), strict=True))  # fmt: skip
    left = [(row[:-1], row[-1]) for row in selection.left_out.tolist()] if correct else []
    G = len(selection.class_counts)
    p, log_posterior = slow.predictions(
        features, left, selection.threshold, samples,
        settings.class_weights(G) + selection.class_counts, settings.ratio, settings.pi_points,
        settings.effect_shapes, *settings.variance, **sabotage,
    )  # fmt: skip
    np.testing.assert_allclose(
        np.exp(found.log_joint).reshape(-1), np.exp(log_posterior), atol=tolerance
    )
    np.testing.assert_allclose(normal.Normal().predict(found, samples), p, atol=tolerance)


@pytest.mark.parametrize(
    ("G", "shapes"),
    only(
        [(2, (3.0, 10.0, None)), (3, (3.0, None)), (2, (None,)), (3, (None,))],
        (2, (3.0, 10.0, None)), (3, (None,)),
    ),
)  # fmt: skip
def test_predictions_against_loops(G, shapes):
    X, y, _ = drawn(1, n=15, G=G)
    compare(X, y, 3, normal.Normal(effect_shapes=shapes, class_prior=0.5, **GRID))


def test_predictions_without_the_correction_and_with_all_features_relevant():
    X, y, _ = drawn(2, n=14)
    compare(X, y, 3, normal.Normal(relevant="all", effect_shapes=(10.0,), **GRID), correct=False)


def test_predictions_with_missing_values():
    X, y, rng = drawn(4, n=16, p=8, G=3)
    X[rng.random(X.shape) < 0.1] = np.nan
    compare(X, y, 3, normal.Normal(effect_shapes=(10.0, None), **GRID))


@pytest.mark.parametrize("sabotage", [{"factor_ratio": 1.1}, {"factor_pi": False}])
def test_the_comparison_notices_sabotage(sabotage):
    X, y, _ = drawn(1, n=15, G=3)
    settings = normal.Normal(effect_shapes=(None,), class_prior=0.5, **GRID)  # as above
    with pytest.raises(AssertionError):
        compare(X, y, 3, settings, **sabotage)


@pytest.mark.parametrize(
    ("seed", "n", "p", "kept", "equal"),
    [(7, 20, 60, 30, False), (7, 60, 200, 10, False), (8, 60, 200, 10, True),
     (1, 60, 200, 10, True), (3, 60, 200, 10, True)],
)  # fmt: skip
def test_variances_are_the_most_probable(seed, n, p, kept, equal):
    X, y, rng = drawn(seed, n=n, p=p, G=2, strong=5)
    if not equal:
        X *= np.sqrt(1 / rng.gamma(2.0, 1 / 2.0, p))  # a = 4
    selection = select_by_f(X, y, kept, rng)
    a, b = normal.fit(selection, normal.Normal()).variance
    assert (30 if equal else 1) < a <= (normal.MOST_A if equal else 30)

    def evidence(a, b):
        fitted = normal.Normal(variance=(a, b)).for_features(p)
        nodes = normal.Nodes.of(fitted, 2)
        between = normal.Between.of(selection, nodes.ratio)
        factor, _ = normal._left_out(selection, fitted, True)
        n = selection.counts.sum(axis=1)
        log = between.log_factor - (a + n[:, None] - 1) / 2 * np.log(
            a * b + selection.within[:, None] + between.squares
        )
        from scipy import special

        log += (special.gammaln((a + n - 1) / 2) - special.gammaln(a / 2)
                + a / 2 * np.log(a * b))[:, None]  # fmt: skip
        density = np.exp(log)
        averaged = density[:, 1:] @ nodes.weight.T
        points = [np.log((1 - pi) * density[:, :1] + pi * averaged).sum(axis=0) for pi in fitted.pi]
        return special.logsumexp(factor + np.array(points).T)

    best = evidence(a, b)
    for move in ((1.1, 1), (1 / 1.1, 1), (1, 1.05), (1, 1 / 1.05), (1.1, 1.05)):
        if a * move[0] <= normal.MOST_A:
            assert evidence(a * move[0], b * move[1]) < best


@pytest.mark.parametrize("bound", [normal.LEAST_A, normal.MOST_A])
def test_variances_leave_the_bounds_where_the_likelihood_rises_inside(bound):
    X, y, rng = drawn(7, n=20, p=60, G=2, strong=5)
    X *= np.sqrt(1 / rng.gamma(2.0, 1 / 2.0, 60))
    selection = select_by_f(X, y, 30, rng)
    nodes = normal.Nodes.of(normal.Normal().for_features(60), 2)
    between = normal.Between.of(selection, nodes.ratio)
    shares = np.zeros(between.squares.shape)
    shares[:, 0] = 1
    found = normal._best_variance(selection, between, shares, np.log([bound, bound]))
    inside = normal._best_variance(selection, between, shares, np.log([6.0, 6.0]))
    assert 1 < np.exp(inside[0]) < 30
    np.testing.assert_allclose(found, inside, rtol=1e-4)


def test_what_is_stored_makes_the_same_predictions():
    X, y, rng = drawn(8, G=3)
    selection = select_by_f(X, y, 10, rng)
    found = normal.fit(selection, normal.Normal())
    again = normal.restore(
        selection,
        found.settings,
        log_discard=found.log_discard,
        log_joint=found.log_joint,
        variance=found.variance,
    )
    samples = X[:, selection.selected]
    np.testing.assert_array_equal(
        normal.Normal().log_probability(found, samples),
        normal.Normal().log_probability(again, samples),
    )
    np.testing.assert_array_equal(found.relevance, again.relevance)
    np.testing.assert_array_equal(found.log_discard, again.log_discard)


# ---- screening ----


def test_screening_is_that_of_the_analysis_of_variance():
    X, y, rng = drawn(9, G=3)
    X[:, 5] = 2.5
    selection = select_by_f(X, y, 39, rng)
    each = np.array([stats.f_oneway(*(X[y == g, j] for g in range(3))).statistic
                     for j in range(40) if j != 5])  # fmt: skip
    np.testing.assert_allclose(selection.f, np.sort(each)[::-1], rtol=1e-10)
    assert (selection.n_features, selection.n_constant, selection.n_dropped) == (39, 1, 0)
    assert 5 not in selection.selected
    two, z, _ = drawn(9, G=2)
    first = select_by_f(two, z, 1, rng)
    cor = abs(np.corrcoef(two[:, first.selected[0]], z)[0, 1])
    assert first.correlation[0] == pytest.approx(cor)
    assert f_limits(Fraction(cor**2), np.array([[12, 12]])) == pytest.approx(first.f[0])


def test_ties_are_broken_by_lot():
    X, y, _ = drawn(10)
    X = np.repeat(X[:, :1], 6, axis=1) * np.array([1, -2, 3, 1, 7, 0.1])
    kept = [select_by_f(X, y, 2, np.random.default_rng(i)) for i in range(60)]
    assert {(one.tied, one.tied_kept, one.n_dropped) for one in kept} == {(6, 2, 4)}
    assert len({int(f) for one in kept for f in one.selected}) == 6


def test_missing_values_leave_their_counts():
    X, y, rng = drawn(11, G=2)
    X[3, :7] = np.nan
    X[:, 9] = np.where(y == 0, np.nan, X[:, 9])  # seen in one class only: no feature
    selection = select_by_f(X, y, 10, rng)
    assert selection.n_features == 39
    groups = {tuple(row[:-1]): row[-1] for row in selection.left_out.tolist()}
    few = sum(one < 7 for one in selection.selected.tolist())
    assert groups == {(12, 12): 32 - (10 - few), (12, 11): 7 - few}
    present = [f for f in range(40) if f != 9]
    each = [stats.f_oneway(*(X[(y == g) & ~np.isnan(X[:, j]), j] for g in (0, 1))).statistic
            for j in present]  # fmt: skip
    np.testing.assert_allclose(selection.f, np.sort(each)[::-1][:10])


def test_a_table_read_in_parts(tmp_path):
    X, y, rng = drawn(12, n=30, p=5000, G=3)
    table = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, X.shape)
    table[:] = X
    samples = np.arange(3, 30)
    whole = select_by_f(table[:].astype(float), y, 50, rng, samples=samples)
    parts = select_by_f(np.load(tmp_path / "X.npy", mmap_mode="r"), y, 50, rng, samples=samples)
    np.testing.assert_array_equal(whole.selected, parts.selected)
    np.testing.assert_array_equal(whole.within, parts.within)


def test_screened_tables_are_as_the_whole_table():
    X, y, rng = drawn(13, p=200)
    whole = select_by_f(X, y, 10, rng)
    kept = select_by_f(X, y, 50, rng)
    table = X[:, np.sort(kept.selected)]
    again = select_by_f(table, y, 10, rng, prefiltered=Screened(200))
    assert again.threshold == whole.threshold
    np.testing.assert_array_equal(again.left_out, whole.left_out)
    both = [normal.fit(one, normal.Normal()).log_joint for one in (whole, again)]
    np.testing.assert_array_equal(*both)
    all_kept = select_by_f(table, y, None, rng, prefiltered=Screened(200, kept.threshold))
    np.testing.assert_array_equal(all_kept.left_out, kept.left_out)
    with pytest.raises(UserError, match="smaller threshold"):
        select_by_f(table, y, None, rng, prefiltered=Screened(200, 2 * kept.threshold))
    with pytest.raises(UserError, match="cannot have been selected from 20"):
        select_by_f(table, y, None, rng, prefiltered=Screened(20))


def test_a_threshold_of_correlations_is_of_the_samples_of_each_feature():
    """Equation eq-cor-def."""
    rng = np.random.default_rng(21)
    y = np.arange(30) % 2
    X = rng.standard_normal((30, 300))
    X[rng.random(X.shape) < 0.3] = np.nan
    there = ~np.isnan(X)
    cor = np.array([abs(np.corrcoef(x[h], y[h])[0, 1]) for x, h in zip(X.T, there.T, strict=True)])
    kept = np.flatnonzero(cor > 0.3)
    square = Fraction("0.09")
    above = select_by_f(X, y, None, rng, threshold=square)
    assert np.sort(above.selected).tolist() == kept.tolist()
    # what was kept can have been kept, and of each feature left out F is at most its own limit
    screened = select_by_f(X[:, kept], y, None, rng, prefiltered=Screened(300, square))
    for found in (above, screened):
        n = found.left_out[:, :2].sum(axis=1)
        np.testing.assert_allclose(found.limits, 0.09 / 0.91 * (n - 2))
        assert found.n_dropped == 300 - len(kept)
    # features that nobody sees are missing as those that are there
    seen = set(map(tuple, there[:, kept].astype(int).T @ np.eye(2, dtype=int)[y]))
    assert {tuple(row[:2]) for row in screened.left_out.tolist()} <= seen
    settings = normal.Normal(effect_shapes=(10.0,), relevant="all", variance=(5.0, 1.0))
    plain, corrected = (normal.fit(screened, settings, correct=one) for one in (False, True))
    expected = [
        sum(row[2] * slow.log_discard(row[:2], limit, ratio, 10.0)
            for row, limit in zip(screened.left_out.tolist(), screened.limits, strict=True))
        for ratio in plain.ratio[::16]
    ]  # fmt: skip
    found = (corrected.log_joint - plain.log_joint)[0, ::16, 0]
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], atol=1e-8)
    weak = r"feature \d+ has \|COR\| 0.3.* less than the threshold 0.5"
    with pytest.raises(UserError, match=weak):
        select_by_f(X[:, kept], y, None, rng, prefiltered=Screened(300, Fraction("0.25")))


def test_one_feature_is_averaged_over_the_size_of_its_variance():
    X, y, rng = drawn(0, n=6, p=1, strong=1, effect=2.0)
    selection = select_by_f(X, y, 1, rng)
    data = [one[0].tolist() for one in (selection.counts, selection.means, selection.within)]
    samples = X + rng.standard_normal((6, 1))

    def density(g, x, a):  # b is unknown, and as probable everywhere on the log scale
        b = np.exp(np.arange(-12, 12, 0.1))
        more = slow.with_sample(*data, g, x)
        return sum(one ** (a / 2) * np.exp(slow.log_marginal(*more, 1.0, a, one)) for one in b)

    settings = normal.Normal(ratio=(1.0,), effect_shapes=(None,), relevant="all")
    found = normal.Normal().predict(normal.fit(selection, settings), samples)
    for a in (2.0, 6.0):  # which then does not matter
        each = np.array([[density(g, x, a) for g in (0, 1)] for x in samples[:, 0]])
        np.testing.assert_allclose(found, each / each.sum(axis=1, keepdims=True), atol=5e-3)


def test_few_features_bind_the_prior_of_their_variances():
    X, y, rng = drawn(2, n=60, p=100)
    few, many = (normal.fit(select_by_f(X, y, k, rng), normal.Normal()) for k in (2, 10))
    assert few.variance[0] <= 59**2 / normal.OTHERS < many.variance[0]


@pytest.mark.parametrize("power", [-1000, -531, 700, 1000])
def test_values_of_any_size(power):
    X, y, rng = drawn(3, p=20)
    size = 2.0**power
    first, other = (select_by_f(table, y, 5, rng) for table in (X, X * size))
    np.testing.assert_array_equal(first.selected, other.selected)
    np.testing.assert_array_equal(first.f, other.f)
    np.testing.assert_array_equal(first.means * size, other.means)
    model = normal.Normal()
    one, two = (normal.fit(selection, model) for selection in (first, other))
    samples = rng.standard_normal((9, 5))
    expected = normal.Normal().log_probability(one, samples)
    np.testing.assert_allclose(
        normal.Normal().log_probability(two, samples * size), expected, atol=1e-6
    )
    about, arrays = model.saved(two)
    _, again = normal.Normal.restored(json.loads(json.dumps(about)), arrays, other.selected, 2)
    np.testing.assert_array_equal(
        normal.Normal().log_probability(again, samples * size),
        normal.Normal().log_probability(two, samples * size),
    )
    means = np.random.default_rng(0), np.random.default_rng(0)
    p, q = (
        normal.predictive_probabilities_of_new_samples(one, rng)
        for one, rng in zip((one, two), means, strict=True)
    )
    np.testing.assert_allclose(p.mean(axis=0), q.mean(axis=0), atol=1e-6)


def test_ordinary_numbers_keep_their_last_bit():
    X, y, rng = drawn(3, p=20)
    found = select_by_f(X, y, 5, rng)
    assert found.unit == 1
    for j, means, within in zip(found.selected, found.means, found.within, strict=True):
        mine = [X[y == g, j][:, None] * np.ones(2) for g in (0, 1)]  # added in their order
        assert [one.sum(axis=0)[0] / len(one) for one in mine] == means.tolist()
        away = [((x - m) ** 2).sum(axis=0)[0] for x, m in zip(mine, means, strict=True)]
        assert away[0] + away[1] == within


def test_columns_that_hardly_vary():
    X, y, rng = drawn(4, p=8)
    first = select_by_f(X, y, 5, rng)
    fine = select_by_f(1e8 + 3e-5 * X, y, 5, rng)
    np.testing.assert_array_equal(first.selected, fine.selected)
    np.testing.assert_allclose(fine.f, first.f, rtol=0.02)
    flat = np.column_stack([X, np.full(24, 0.1), np.full(24, 1e8), 0.1 + 1e-17 * X[:, :1]])
    assert select_by_f(flat, y, None, rng, threshold=0.0).n_constant == 3


def test_the_search_for_the_variances_does_not_overflow():
    rng = np.random.default_rng(6)
    y = np.arange(20) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for far in (3, 30, 90):
            X = rng.standard_normal((20, 12)) * 10 ** rng.uniform(-far, far, 12)
            fitted = normal.fit(select_by_f(X, y, 6, rng), normal.Normal())
            assert np.isfinite(fitted.variance).all()


@pytest.fixture
def threads(monkeypatch):
    """The numbers of threads of linear algebra while the model is computed."""
    counts = set()

    def watched(function):
        def called(*given):
            counts.update(pool["num_threads"] for pool in threadpool_info())
            return function(*given)

        return called

    for name in ("_log_likelihood", "log_densities", "_shares", "means_of"):
        monkeypatch.setattr(normal, name, watched(getattr(normal, name)))
    with threadpool_limits(2):
        yield counts
        assert max(pool["num_threads"] for pool in threadpool_info()) == 2


def test_sums_do_not_depend_on_the_number_of_threads(threads):
    X, y, _ = drawn(5)
    fitted = NormalClassifier(n_features=5, temperature="residual", random_state=0).fit(X, y)
    fitted.predict_proba(X)
    assert fitted.relevance_.shape == (5,)
    assert threads == {1}


def test_sums_of_an_experiment_do_not_depend_on_the_number_of_threads(threads, tmp_path):
    (tmp_path / "c.yaml").write_text(KINDS["normal"])
    run("run", tmp_path / "c.yaml", "--results", tmp_path / "results", "--jobs", 0)
    assert threads == {1}


def test_bad_tables_are_refused():
    X, y, rng = drawn(14)
    with pytest.raises(DataError, match="feature 3"):
        select_by_f(np.where(np.arange(40) == 2, np.inf, X), y, 5, rng)
    with pytest.raises(DataError, match="no column varies"):
        select_by_f(np.ones((24, 4)), y, 2, rng)
    with pytest.raises(UserError, match=r"from 1 to 39, got 40 \(1 do not vary\)"):
        select_by_f(np.where(np.arange(40) == 2, 1.0, X), y, 40, rng)
    most = select_by_f(np.where(np.arange(40) == 2, 1.0, X), y, 40, rng, at_most=True)
    assert (len(most.selected), most.n_features, most.n_dropped) == (39, 39, 0)
    with pytest.raises(DataError, match="class 1 has no training sample"):
        select_by_f(X, y, 5, rng, samples=np.flatnonzero(y == 0))
    with pytest.raises(DataError, match="more samples than classes"):
        select_by_f(X[:2], y[:2], 5, rng)
    with pytest.raises(UserError, match="3 numbers, but there are 2 classes"):
        selection = select_by_f(X, y, 5, rng)
        normal.fit(selection, normal.Normal(class_prior=(1.0, 1.0, 1.0)))


def test_separated_columns_have_a_large_f():
    y = np.repeat([0, 1], 6)
    X = np.column_stack([y, y + 5.0, np.random.default_rng(0).standard_normal(12)])
    selection = select_by_f(X, y, 2, np.random.default_rng(0))
    assert (selection.f == LARGEST).all()
    assert correlation_of_f(selection.f, selection.counts) == pytest.approx([1, 1])
    p = normal.Normal().predict(normal.fit(selection, normal.Normal()), X[:, selection.selected])
    assert (p[np.arange(12), y] > 0.9).all()


# ---- simulation ----


def from_the_prior(rng, settings, n, p, G):
    """Draw a data set, and a test sample, from the model's prior; return the truth as well."""
    shape = settings.effect_shapes[rng.integers(len(settings.effect_shapes))]
    ratio, pi = rng.choice(settings.ratio), rng.choice(settings.pi_points)
    a, b = settings.variance
    t = np.ones(p) if shape is None else 1 / rng.gamma(shape / 2, 2 / shape, p)
    effect = np.where(rng.random(p) < pi, ratio * t, 0)
    w = a * b / 2 / rng.gamma(a / 2, 1, p)
    mu = rng.standard_normal((G, p)) * np.sqrt(effect * w)
    y = np.append(np.arange(n) % G, rng.integers(G))
    X = mu[y] + rng.standard_normal((n + 1, p)) * np.sqrt(w)
    return X, y, ratio, pi, effect


@pytest.mark.parametrize("G", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_predictions_come_true_as_often_as_promised(G):
    settings = normal.Normal(
        ratio=tuple(np.exp(np.arange(-4.0, 2.0, 0.5))), pi=tuple(np.logspace(-2, 0, 9)),
        variance=(8.0, 1.0), class_prior=1e6,
    )  # fmt: skip
    rng = np.random.default_rng(20 + G)
    scores = {}
    promised, right = {True: [], False: []}, {True: [], False: []}
    for _ in range(200):
        X, y, *_ = from_the_prior(rng, settings, 6 * G, 100, G)
        selection = select_by_f(X[:-1], y[:-1], 8, rng)
        sample = X[-1:, selection.selected]
        for correct in (True, False):
            found = normal.fit(selection, settings, correct=correct)
            p = normal.Normal().predict(found, sample)[0]
            promised[correct].append(p.max())
            right[correct].append(p.argmax() == y[-1])
    for correct in (True, False):
        scores[correct] = z_score(np.array(promised[correct]), np.array(right[correct]))
    assert abs(scores[True]) < 4.3
    assert scores[False] < -4  # without the correction they promise too much


# ---- priors of few and of many features ----

# the grids of 10,000 features, which tables of every size had
WIDE = {"pi": tuple(10 ** np.linspace(-5, 0, 41)), "ratio": tuple(np.exp(np.arange(-46, 19) / 4))}


def test_priors_follow_the_number_of_features():
    for name, grid in zip(("pi", "ratio"), normal_grids(10_000), strict=True):
        np.testing.assert_allclose(grid, WIDE[name], rtol=1e-5)
    for p in (1, 2, 3, 30, 1000, 10**6):
        pi, ratio = map(np.array, normal_grids(p))
        assert 0.15 < ((1 - pi) ** p).mean() < 0.22  # that no feature is relevant
        assert (len(pi), len(ratio), pi[-1]) == (41, 65, 1)
        np.testing.assert_allclose(ratio[0], max(0.1 / p, np.exp(-11.5)))
    X, y, rng = drawn(3, p=40)
    for screened, p in ((None, 40), (Screened(10_000), 10_000)):
        k = None if screened else 5
        found = normal.fit(select_by_f(X, y, k, rng, prefiltered=screened), normal.Normal())
        assert tuple(found.pi) == normal_grids(p)[0]
        assert tuple(found.ratio) == normal_grids(p)[1]
    given = normal.Normal(pi=(0.1, 0.5))
    assert normal.fit(select_by_f(X, y, 5, rng), given).pi.tolist() == [0.1, 0.5]


def test_a_model_file_keeps_the_priors_of_its_table():
    X, y, rng = drawn(4, p=3)
    selection = select_by_f(X, y, 2, rng)
    model = normal.Normal()
    found = normal.fit(selection, model)
    about, arrays = model.saved(found)
    again, posterior = normal.Normal.restored(about, arrays, selection.selected, 2)
    assert again.pi == normal_grids(3)[0]
    samples = X[:, selection.selected]
    np.testing.assert_array_equal(
        normal.Normal().predict(posterior, samples), normal.Normal().predict(found, samples)
    )
    for name in ("pi", "ratio"):
        damaged = about | {"settings": about["settings"] | {name: None}}
        with pytest.raises(ValueError, match="belong together"):
            normal.Normal.restored(damaged, arrays, selection.selected, 2)


@pytest.mark.parametrize("p", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_predicted_errors_of_few_features_are_near_observed_errors(p):
    settings = normal.Normal(variance=(8.0, 1.0), ratio=normal_grids(p)[1], pi=(1.0,))
    gaps: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(40):
        rng = np.random.default_rng([seed, p])
        X, y, *_ = from_the_prior(rng, settings, 209, p, 2)
        selection = select_by_f(X[:10], y[:10], p, rng)
        for wide in gaps:
            prior = normal.Normal(**WIDE) if wide else normal.Normal()
            found = normal.fit(selection, prior)
            P = normal.Normal().predict(found, X[10:, selection.selected])
            gaps[wide].append(1 - P.max(axis=1).mean() - (P.argmax(axis=1) != y[10:]).mean())
    assert abs(np.mean(gaps[False])) < 0.05
    assert np.mean(gaps[True]) > np.mean(gaps[False]) + 0.05


def test_a_promise_is_kept_by_the_samples_that_it_is_of():
    X, y, rng = drawn(31, n=40, p=300, G=2)
    selection = select_by_f(X, y, 10, rng)
    found = normal.fit(selection, normal.Normal())
    p = normal.predictive_probabilities_of_new_samples(found, rng, 3000)
    tested = normal.Normal().predict(found, X[:, selection.selected])
    assert (1 - p.max(axis=1)).mean() == pytest.approx((1 - tested.max(axis=1)).mean(), abs=0.1)
    assert p.sum(axis=1) == pytest.approx(1)
