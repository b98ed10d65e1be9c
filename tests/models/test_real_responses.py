"""The normal model of a real response against integrals by other rules, and simulation."""

import json
from fractions import Fraction

import numpy as np
import pytest
import reference_normal as slow
from scipy import stats

from thesiskit.errors import DataError
from thesiskit.models import normal
from thesiskit.models.base import Training
from thesiskit.models.density import Density, guess
from thesiskit.models.selection import Screened, f_limits, select_by_f
from thesiskit.models.temperature import too_few

GRID = {"ratio": (0.02, 0.3, 2.0), "pi": (0.01, 0.2, 1.0), "variance": (6.0, 1.1)}


def drawn(seed, n=24, p=40, strong=3, effect=0.8, test=0):
    rng = np.random.default_rng(seed)
    y = 5 + 3 * rng.standard_normal(n + test)
    X = rng.standard_normal((n + test, p))
    X[:, :strong] += effect * rng.standard_normal(strong) * (y[:, None] - 5) / 3
    return X, y, rng


def fitted(X, y, k, rng, model=None, correct=True):
    """Return the model, its posterior and the training set."""
    model = model or normal.Normal()
    selection = select_by_f(X, y, k, rng)
    training = Training(selection, y, lambda: X[:, selection.selected], correct)
    return model, model.fit(training), training


# ---- formulas ----


def test_marginals_against_brute_force_integration():
    x, z = np.array([0.3, -0.8, 1.1, 1.9]), np.array([-1.0, -0.6, 0.2, 1.4])
    for variance in (0.02, 0.5, 4.0):
        formula = slow.line_log_marginal(x, z, variance, 4.0, 0.9)
        assert formula == pytest.approx(slow.brute_line(x, z, variance, 4.0, 0.9), abs=1e-8)


@pytest.mark.parametrize("shape", [3.0, 10.0, None])
@pytest.mark.parametrize(("n", "f"), [(62, 12.0), (9, 2.0), (300, 30.0)])
def test_discards_against_quadrature_of_another_kind(n, f, shape):
    ratios = np.array([1e-5, 1e-3, 0.05, 1.0, 100.0])
    lower, upper = normal.averaged_tails(np.array([n]), f, ratios, shape)
    expected = [slow.line_log_discard(n, f, ratio, shape) for ratio in ratios]
    np.testing.assert_allclose(normal.log_lower(lower, upper), expected, rtol=1e-10, atol=1e-12)


def test_discards_against_simulation():
    rng = np.random.default_rng(5)
    n, f, ratio, sets = 12, 3.0, 0.4, 20_000
    z = stats.zscore(rng.standard_normal(n))
    slope = rng.standard_normal(sets) * np.sqrt(ratio / 2 * 3.0)  # w = 3
    X = np.outer(z, slope) + np.sqrt(3.0) * rng.standard_normal((n, sets))
    found = select_by_f(X, z, None, rng, threshold=f)
    p = np.exp(slow.line_log_discard(n, f, ratio, None))
    assert abs(found.n_dropped / sets - p) < 4.5 * np.sqrt(p * (1 - p) / sets)


# ---- the whole model ----


def compare(X, y, k, settings, correct=True, **changes):
    model, found, _ = fitted(X, y, k, np.random.default_rng(3), settings, correct)
    selection, rng = found.selection, np.random.default_rng(4)
    samples = rng.standard_normal((3, k)) * np.array([[1.0], [1.5], [4.0]])
    samples[1, 0] = np.nan
    z = (y - y.mean()) / y.std()
    left_out = zip(selection.left_out.tolist(), selection.limits, strict=True)
    responses = np.array([-8.0, -3.0, -1.4, -0.6, 0.0, 0.2, 0.9, 1.7, 2.6, 5.0])
    expected, log_posterior = slow.line_densities(
        X[:, selection.selected], z, samples, responses,
        [(row[0], f, row[1]) for row, f in left_out] if correct else [],
        settings.ratio, settings.pi_points, settings.effect_shapes,
        *(changes.get("variance") or settings.variance),
    )  # fmt: skip
    np.testing.assert_allclose(
        np.exp(found.log_joint).reshape(-1), np.exp(log_posterior), atol=2e-5
    )
    density = model.density(found, samples)
    logs = np.array([density.log_density(np.full(3, y.mean() + r * y.std())) for r in responses]).T
    difference = logs - expected
    difference -= difference[:, 4:5]
    np.testing.assert_allclose(difference[:, 1:-1], 0, atol=3e-4)
    np.testing.assert_allclose(difference[:, [0, -1]], 0, atol=2e-2)


@pytest.mark.parametrize("shapes", [(3.0, 10.0, None), (None,)])
def test_densities_against_loops(shapes):
    X, y, _ = drawn(1, n=15)
    compare(X, y, 3, normal.Normal(effect_shapes=shapes, **GRID))


def test_densities_without_the_correction_and_with_all_features_relevant():
    X, y, _ = drawn(2, n=14)
    compare(X, y, 3, normal.Normal(relevant="all", **GRID), correct=False)


def test_densities_with_missing_values():
    X, y, rng = drawn(4, n=16, p=12)
    X[rng.random(X.shape) < 0.1] = np.nan
    compare(X, y, 3, normal.Normal(effect_shapes=(10.0, None), **GRID))


def test_the_comparison_notices_sabotage():
    X, y, _ = drawn(1, n=15)
    with pytest.raises(AssertionError):
        compare(X, y, 3, normal.Normal(effect_shapes=(None,), **GRID), variance=(6.0, 1.0))


def test_two_balanced_classes_are_the_responses_zero_and_one():
    rng = np.random.default_rng(6)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 200))
    X[:, :3] += 1.5 * y[:, None]
    classes, real = (select_by_f(X, response, 10, rng) for response in (y, y.astype(float)))
    np.testing.assert_array_equal(classes.selected, real.selected)
    np.testing.assert_allclose(classes.f, real.f)
    np.testing.assert_allclose(classes.correlation, real.correlation)
    first, second = (normal.fit(one, normal.Normal()) for one in (classes, real))
    np.testing.assert_allclose(first.log_joint, second.log_joint, atol=1e-6)
    np.testing.assert_allclose(first.log_discard, second.log_discard, atol=1e-10)
    np.testing.assert_allclose(first.relevance, second.relevance, atol=5e-4)
    # log odds of the classes are those of the responses -1 and 1 in standard deviations
    samples = rng.standard_normal((7, 10))
    log_odds = np.diff(normal.Normal().log_probability(first, samples))[:, 0]
    density = normal.Normal().density(second, samples)
    found = [density.log_density(np.full(7, response)) for response in (0.0, 1.0)]
    np.testing.assert_allclose(found[1] - found[0], log_odds, atol=2e-3)


@pytest.mark.parametrize(
    ("n", "k", "strong", "effect"),
    [(60, 10, 5, 0.8), pytest.param(40, 35, 20, 2.0, marks=pytest.mark.slow)],
)
def test_densities_are_those_of_all_points_and_nodes(n, k, strong, effect):
    """Few points (c, rho, pi), nodes, tables of x, and points of the response are enough."""
    X, y, rng = drawn(7, n=n, p=500, strong=strong, effect=effect, test=5)
    model, found, training = fitted(X[:n], y[:n], k, rng)
    samples = X[n:, training.selection.selected]
    density = model.density(found, samples)
    everywhere = normal._from_all_points(found, np.ascontiguousarray(samples))
    expected = normal.as_density(found, everywhere)
    at = y[n:], density.mean, density.mean + 2 * density.sd
    for response in at:
        np.testing.assert_allclose(
            density.log_density(response), expected.log_density(response), atol=2e-4
        )


# ---- ranks of responses that the model's own prior draws ----

PRIOR = {
    "ratio": tuple(np.exp(np.arange(-5.0, 2.0, 0.5))), "pi": tuple(np.logspace(-2, 0, 9)),
    "variance": (8.0, 1.0),
}  # fmt: skip


def ranks(seeds, correct, n=20, features=300, k=8):
    settings, pit = normal.Normal(**PRIOR), []
    for seed in seeds:
        rng = np.random.default_rng([2007, seed])
        shape = settings.effect_shapes[rng.integers(3)]
        X, y, _ = slow.draw_lines(
            rng, n=n, features=features, ratio=rng.choice(settings.ratio),
            pi=rng.choice(settings.pi), shape=shape, variance=settings.variance,
        )  # fmt: skip
        model, found, training = fitted(X[:-1], y[:-1], k, rng, settings, correct)
        density = model.density(found, X[-1:, training.selection.selected])
        pit.append(float(density.below(y[-1:])[0]))
    return np.array(pit)


def squared_rank_p(pit):
    """Return the p-value of uniform ranks, from how far they are from the middle."""
    away = (pit - 0.5) ** 2
    return 2 * stats.norm.sf(abs(away.mean() - 1 / 12) / np.sqrt(1 / 180 / len(pit)))


def test_ranks_are_uniform_with_the_correction_and_not_without():
    with_it, without = (ranks(range(80), correct) for correct in (True, False))
    assert min(stats.kstest(with_it, "uniform").pvalue, squared_rank_p(with_it)) > 1e-4
    assert squared_rank_p(without) < 1e-4


@pytest.mark.slow
def test_ranks_of_a_thousand_data_sets_are_uniform():
    with_it, without = (ranks(range(1000), correct) for correct in (True, False))
    assert min(stats.kstest(with_it, "uniform").pvalue, squared_rank_p(with_it)) > 1e-3
    assert squared_rank_p(without) < 1e-12


# ---- selection ----


def test_features_are_selected_by_their_correlation():
    X, y, rng = drawn(9, n=30, p=60)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 7] = 4.0
    there = ~np.isnan(X)
    pairs = zip(X.T, there.T, strict=True)
    cor = np.array([abs(stats.pearsonr(x[h], y[h])[0]) if np.nanstd(x) else 0 for x, h in pairs])
    selection = select_by_f(X, y, None, rng, threshold=Fraction("0.09"))
    assert set(selection.selected) == set(np.flatnonzero(cor > 0.3))
    np.testing.assert_allclose(selection.correlation, cor[selection.selected])
    n = there.sum(axis=0)[selection.selected]
    f = (n - 2) * cor[selection.selected] ** 2 / (1 - cor[selection.selected] ** 2)
    np.testing.assert_allclose(selection.f, f)
    assert (np.diff(selection.f) <= 0).all()
    assert (selection.n_features, selection.n_constant) == (59, 1)
    counts = selection.left_out[:, :1]
    np.testing.assert_allclose(selection.limits, f_limits(Fraction("0.09"), counts))
    np.testing.assert_allclose(selection.limits, 0.09 / 0.91 * (counts[:, 0] - 2))
    j, h = selection.selected[0], there[:, selection.selected[0]]
    line = np.polyfit((y[h] - y.mean()) / y.std() - selection.lines[0, 1], X[h, j], 1)
    np.testing.assert_allclose(line, [selection.lines[0, 0], selection.means[0, 0]])


def test_a_prefiltered_table_is_as_the_whole_table():
    X, y, rng = drawn(13, p=200)
    whole, best = (select_by_f(X, y, k, rng) for k in (10, 50))
    table = X[:, np.sort(best.selected)]
    again = select_by_f(table, y, 10, rng, prefiltered=Screened(200))
    np.testing.assert_array_equal(again.left_out, whole.left_out)
    joint = [normal.fit(one, normal.Normal()).log_joint for one in (whole, again)]
    np.testing.assert_array_equal(*joint)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.full(24, 2.5), "is 2.5 in all training samples"),
        (np.where(np.arange(24) == 4, np.nan, 1.0 * np.arange(24)), "missing in sample 5"),
        (np.arange(23.0), "24 samples in the features"),
    ],
)
def test_bad_responses_are_refused(y, words):
    X, _, rng = drawn(14)
    with pytest.raises(DataError, match=words):
        select_by_f(X, y, 5, rng)


def test_two_samples_are_too_few():
    X, y, rng = drawn(14)
    with pytest.raises(DataError, match="2 training samples are too few for a line"):
        select_by_f(X, y, 5, rng, samples=np.arange(2))
    assert too_few(np.array([5]))
    assert not too_few(np.array([6]))


@pytest.mark.parametrize("power", [-400, 400])
def test_values_and_responses_of_any_size(power):
    X, y, rng = drawn(3, p=20)
    size = 2.0**power
    model, found, training = fitted(X, y, 5, rng)
    _, other, _ = fitted(X * size, y / size, 5, rng)
    samples = X[:6, training.selection.selected]
    first, second = model.density(found, samples), model.density(other, samples * size)
    np.testing.assert_allclose(second.mean * size, first.mean, rtol=1e-6)
    np.testing.assert_allclose(second.sd * size, first.sd, rtol=1e-6)


def test_any_values_have_a_distribution():
    X, y, rng = drawn(4, n=30, p=30)
    X[:, 0] = y  # without an error
    for n in (4, 30):
        model, found, training = fitted(X[:n], y[:n], 5, rng)
        tempered = model.residual_temperature(found, training)
        odd = np.vstack([np.full(5, value) for value in (0, 30, -1e4, 1e6, np.nan)])
        for temperature in (None, tempered):
            density = model.density(found, odd, temperature)
            for name, values in density.scores(np.zeros(5)).items():
                assert np.isfinite(values).all(), name
    expected = Density.of_students(np.repeat(guess(y), 1, axis=0))
    missing = model.density(found, odd[-1:])
    assert missing.mean == pytest.approx(expected.mean)
    assert missing.sd == pytest.approx(expected.sd, rel=1e-4)


# ---- temperature, predicted error, files ----


@pytest.mark.parametrize(("shared", "least", "most"), [(0.0, 1.0, 1.5), (1.5, 4.0, 60.0)])
def test_the_temperature_is_that_of_new_samples(shared, least, most):
    """Residuals that features share make evidence count again and again."""
    X, y, rng = drawn(17, n=260, p=300, strong=0)
    X[:, :40] += 0.8 * (y[:, None] - 5) / 3
    X += shared * rng.standard_normal((260, 1))
    model, found, training = fitted(X[:60], y[:60], 20, rng)
    temperature = model.residual_temperature(found, training)
    assert temperature.offset.shape == (0,)
    assert least <= temperature.tau <= most
    samples = X[60:, training.selection.selected]
    density = model.density(found, samples, temperature)
    scores = density.scores(y[60:])
    inside = ((scores["low"] <= y[60:]) & (y[60:] <= scores["high"])).mean()
    assert 0.8 < inside < 0.98
    if shared:
        plain = model.density(found, samples)
        assert plain.log_density(y[60:]).mean() < scores["log_density"].mean() - 0.5


def test_imitated_samples_have_corrected_lines_and_the_residuals_of_training_samples():
    X, y, rng = drawn(17, n=50, p=400)
    X += 0.8 * rng.standard_normal((50, 1))
    model, found, training = fitted(X, y, 6, rng)
    means, spread, variance = normal.means_of(found)
    draws = [model.imitate(found, training, np.random.default_rng(i)) for i in range(60)]
    samples, responses = (np.concatenate(part) for part in zip(*draws, strict=True))
    np.testing.assert_allclose(responses[:50], y)
    z = (responses - y.mean()) / y.std()
    lines = [np.polyfit(z[part], samples[part], 1) for part in np.split(np.arange(24_000), 480)]
    slope, height = np.mean(lines, axis=0)
    error = np.sqrt(spread * variance[:, None] / 480)
    assert (np.abs(height - means[:, 0]) < 5 * error[:, 0] + 1e-9).all()
    assert (np.abs(slope - means[:, 1]) < 5 * error[:, 1] + 1e-9).all()
    # residuals whose signs change have slopes of their own
    drawn_variance, own_variance = np.var(lines, axis=0)[::-1].T, spread * variance[:, None]
    assert (drawn_variance > 0.7 * own_variance).all()
    assert (drawn_variance < 1.35 * (own_variance + variance[:, None] / 50)).all()
    selected = training.selection.lines[:, 0]
    assert (np.abs(means[:, 1]) < np.abs(selected)).all()  # the correction


def test_the_predicted_error_is_that_of_new_samples():
    X, y, rng = drawn(18, n=460, p=300, strong=10)
    model, found, training = fitted(X[:60], y[:60], 10, rng)
    samples = X[60:, training.selection.selected]
    expected = np.sqrt((model.density(found, samples).sd ** 2).mean())
    assert model.predicted_error(found, rng) == pytest.approx(expected, rel=0.1)


def test_files_keep_the_densities_and_damage_is_noticed():
    X, y, rng = drawn(19, n=40, p=60)
    X[3, :30] = np.nan
    model, found, training = fitted(X, y, 5, rng)
    selected, samples = training.selection.selected, X[:7, training.selection.selected]
    expected = model.density(found, samples)
    about, arrays = found.settings.saved(found)
    about = json.loads(json.dumps(about))
    again = normal.Normal.restored(about, arrays, selected, 0)
    np.testing.assert_array_equal(again[0].density(again[1], samples).logs, expected.logs)
    packed = model.pack([found, found])
    unpacked = model.unpack(packed, 1, training)
    np.testing.assert_array_equal(model.density(unpacked, samples).logs, expected.logs)
    lines = arrays["lines"].copy()
    lines[0, 2] = -1
    damaged = [
        (about, arrays | {"lines": lines}), (about, arrays | {"lines": lines[:4]}),
        (about, arrays | {"lines": lines * np.nan}), (about | {"spread": 0.0}, arrays),
        (about | {"center": None}, arrays), (about | {"spread": np.inf}, arrays),
        (about, arrays | {"counts": arrays["counts"] * 0 + 2}),
    ]  # fmt: skip
    for header, changed in damaged:
        with pytest.raises(ValueError, match="belong together"):
            normal.Normal.restored(header, changed, selected, 0)
