"""Temperatures: tau of log odds that are too large, by cross-entropy with Platt's targets."""

import numpy as np
import pytest
from scipy import optimize, special

from thesiskit.models import temperature


def drawn(scale, G=3, n=400, seed=1):
    """Log probabilities that are `scale` times too extreme, and classes."""
    rng = np.random.default_rng(seed)
    log = special.log_softmax(rng.standard_normal((n, G)) * 1.5, axis=1)
    y = np.array([rng.choice(G, p=np.exp(one)) for one in log])
    return special.log_softmax(scale * log, axis=1), y


def cross_entropy(x, log, y, strength):
    """The loss as it is defined, with log tau and an offset for each class but the first."""
    G = log.shape[1]
    offset = np.append(-np.sum(x[1:]), x[1:])
    counts = np.bincount(y, minlength=G)[y]
    target = (strength * counts + 1) / (strength * counts + 2)
    p = np.exp(temperature.temper(log, np.exp(x[0]), offset))
    own = p[np.arange(len(y)), y]
    rest = np.where(np.arange(G) == y[:, None], 0, p).sum(axis=1)
    loss = -(target * np.log(own) + (1 - target) * np.log(rest)).sum()
    return loss + 2 * (offset**2).sum()


@pytest.mark.parametrize("G", [2, 3])
@pytest.mark.parametrize("strength", [4, 16])
@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0])
def test_tau_and_offsets_minimise_the_cross_entropy(scale, strength, G):
    log, y = drawn(scale, G)
    log += np.arange(G) / 2  # so that offsets are needed
    bounds = [(0, np.log(1e6)), *[(-5, 5)] * (G - 1)]
    best = min(
        (optimize.minimize(cross_entropy, [start] + [0.0] * (G - 1), args=(log, y, strength),
                           bounds=bounds) for start in (0.0, 1.0, 3.0)),
        key=lambda found: found.fun,
    )  # fmt: skip
    found = temperature.fit_temperature(log, y, strength=strength)
    assert found.tau == pytest.approx(np.exp(best.x[0]), rel=1e-3)
    assert found.offset[1:] == pytest.approx(best.x[1:], abs=1e-3)
    assert abs(found.offset.sum()) < 1e-12
    assert found.tau == 1 if scale == 0.5 else found.tau > 1
    copied = temperature.fit_temperature(
        np.tile(log, (3, 1)), np.tile(y, 3), strength=strength, copies=3
    )
    assert copied.tau == pytest.approx(found.tau, rel=1e-5)
    assert copied.errors == pytest.approx(found.errors)


def test_no_error_does_not_sharpen_and_no_signal_ends():
    y = np.repeat([0, 1], 10)
    sure = np.where(y[:, None] == [0, 1], -1e-9, -40.0)
    found = temperature.fit_temperature(sure, y, strength=4)
    # the targets of 10 samples: 41/42, so log odds of 40 become log 41
    assert 40 / found.tau == pytest.approx(np.log(41), rel=1e-5)
    assert (found.errors, found.offset) == (0, pytest.approx(np.zeros(2), abs=1e-8))
    wrong = temperature.fit_temperature(sure[::-1], y, strength=4)
    assert (wrong.tau, wrong.errors) == (pytest.approx(1e6), 20)
    assert temperature.fit_temperature(np.log(np.full((4, 2), 0.5)), y[8:12], strength=4).tau == 1.0
    infinite = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    assert np.isfinite(temperature.fit_temperature(infinite, np.array([0, 1]), strength=4).tau)


def test_a_class_that_is_far_away_does_not_soften_the_others():
    """A third class that is out of the question: tau is that of the other two alone."""
    log, y = drawn(10.0, 2)
    far = np.column_stack([log, np.full(len(y), -4000.0)])
    tau = temperature.fit_temperature(log, y, strength=4).tau
    assert temperature.fit_temperature(far, y, strength=4).tau == pytest.approx(tau, rel=1e-4)


def test_offsets_keep_the_shares_of_classes_where_features_say_nothing():
    """Dividing all log odds would take predictions to a half; the offsets take them back."""
    y = np.repeat([0, 1], [180, 20])
    noise = np.random.default_rng(4).normal(size=200) * 8
    log = special.log_expit(np.stack([-noise, noise], axis=1) + np.log([0.9, 0.1]) / 2)
    found = temperature.fit_temperature(log, y, strength=16)
    p = np.exp(temperature.temper(log, found.tau, found.offset))[:, 1]
    assert found.tau > 20
    assert 0.09 < p.mean() < 0.2


def test_imitated_reals_have_the_means_errors_and_residuals_that_are_asked_for(monkeypatch):
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], [30, 20, 10])
    values = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + y[:, None]
    means, spread = rng.normal(size=(4, 3)), rng.random((4, 3)) / 10
    variance = np.array([1.0, 2.0, 0.5, 3.0])
    monkeypatch.setattr(temperature, "DRAWS", 4000)
    monkeypatch.setattr(temperature, "correlation_factor", lambda *_: 1.0)
    samples, _ = temperature.imitated_reals(values, y, means, spread, variance, rng)
    assert samples.shape == (240_000, 4)
    samples = samples.reshape(4000, 60, 4)
    mine = values - np.array([values[y == g].mean(axis=0) for g in range(3)])[y]
    for g in range(3):
        middle = samples[:, y == g].mean(axis=1)  # of each draw
        assert middle.mean(axis=0) == pytest.approx(means[:, g], abs=0.02)
        assert middle.var(axis=0) == pytest.approx(spread[:, g] * variance, rel=0.15)
        # errors of means go together as residuals do
        assert np.corrcoef(middle.T) == pytest.approx(np.corrcoef(mine.T), abs=0.06)
    away = (samples - samples[:, y == 0].mean(axis=1)[:, None])[0, y == 0]
    assert np.corrcoef(away.T) == pytest.approx(np.corrcoef(mine[y == 0].T), abs=1e-9)
    grown = samples[0, y == 2] - samples[0, y == 2].mean(axis=0)
    scale = grown / mine[y == 2]
    assert scale == pytest.approx(np.tile(scale[0], (10, 1)))  # whole vectors, one factor a feature
    whole = np.sqrt(variance * 57 / (mine**2).sum(axis=0) * 10 / 9)
    assert scale[0] == pytest.approx(whole)


def test_correlations_of_few_samples_are_multiplied_by_a_factor(monkeypatch):
    """Independent features have none left, and the mean square of strong ones is unbiased."""
    rng, y = np.random.default_rng(10), np.repeat([0, 1], [6, 8])
    noise, factors = rng.normal(size=(200, 14, 30)), {}
    for share in (0.0, 0.3, 0.8):
        mixed = np.sqrt(1 - share) * noise + np.sqrt(share) * rng.normal(size=(200, 14, 1))
        squares = []
        for values in mixed:
            residual = values - np.array([values[y == g].mean(axis=0) for g in (0, 1)])[y]
            factor = temperature.correlation_factor(residual, 12)
            observed = np.corrcoef(residual.T)[np.triu_indices(30, 1)]
            squares.append([factor, factor**2 * np.mean(observed**2)])
        factors[share], square = np.mean(squares, axis=0)
        assert square == pytest.approx(share**2, abs=0.06)
    assert factors[0.0] < 0.25 < 0.5 < factors[0.3] < 0.9 < factors[0.8] < 1
    assert temperature.correlation_factor(residual[:, :1], 12) == 1

    monkeypatch.setattr(temperature, "DRAWS", 4000)
    monkeypatch.setattr(temperature, "correlation_factor", lambda *_: 0.5)
    values, zero = values[:, :3], np.zeros((3, 2))
    samples, _ = temperature.imitated_reals(values, y, zero, zero, np.ones(3), rng)
    before, after = (np.corrcoef(one.T)[0, 1] for one in (residual, samples))
    assert after == pytest.approx(0.5 * before, abs=0.05)
    # equal samples of a group stay equal: their errors do not average out
    pairs = np.repeat([0, 1, 2, 3, 4, 5, 6], 2)
    samples, _ = temperature.imitated_reals(
        values[::2][pairs], y, zero, zero + 1, np.ones(3), rng, pairs
    )
    np.testing.assert_array_equal(samples[::2], samples[1::2])


def test_imitated_samples_miss_what_training_samples_miss_and_constant_features_stay_constant():
    rng, y = np.random.default_rng(6), np.repeat([0, 1], 5)
    values = rng.normal(size=(10, 3))
    values[2, 1], values[:, 2] = np.nan, 7.0
    means = np.array([[0.0, 1.0], [0.0, 1.0], [7.0, 7.0]])
    samples, _ = temperature.imitated_reals(values, y, means, np.zeros((3, 2)), np.ones(3), rng)
    assert (np.isnan(samples) == np.tile(np.isnan(values), (8, 1))).all()
    assert (samples[:, 2] == 7).all()
    bits = (values > 0).astype(float)
    bits[2, 1] = np.nan
    samples, _ = temperature.imitated_bits(bits, y, np.full((2, 3), 0.5), rng)
    assert (np.isnan(samples) == np.tile(np.isnan(bits), (8, 1))).all()


@pytest.mark.parametrize("there", [1.0, 0.5, 0.3])
def test_missing_values_change_no_variance(there, monkeypatch):
    """Each feature has its own samples: residuals are scaled by what is there."""
    monkeypatch.setattr(temperature, "correlation_factor", lambda *_: 1.0)
    rng, y = np.random.default_rng(8), np.repeat([0, 1], 50)
    values = rng.normal(size=(100, 300))
    values[rng.random(values.shape) > there] = np.nan
    zero = np.zeros((300, 2))
    samples, classes = temperature.imitated_reals(values, y, zero, zero, np.full(300, 4.0), rng)
    mine = samples[:100]
    mine = mine - np.array([np.nanmean(mine[y == g], axis=0) for g in (0, 1)])[classes[:100]]
    known = (~np.isnan(mine)).sum(axis=0)
    found = np.nansum(mine**2, axis=0) / (known - 2)
    # a residual is a part of a new sample's: n_g / (n_g - 1) of its square
    assert 4.0 < found.mean() < 4.0 * (1 + 1.5 / (50 * there))


def test_rounding_is_no_residual():
    y = np.repeat([0, 1], 3)
    values = np.where(y == 0, 0.1, 0.3)[:, None] * np.ones((6, 2))
    values[:3, 0] = np.array([0.1, 0.2, 0.3]) / [1, 2, 3]  # 0.1 but for rounding
    means = np.tile([0.1, 0.3], (2, 1))
    rng = np.random.default_rng(9)
    samples, _ = temperature.imitated_reals(values, y, means, np.ones((2, 2)), np.ones(2), rng)
    np.testing.assert_allclose(samples, np.tile(means.T[y], (8, 1)), atol=1e-12)


def test_imitated_bits_have_the_rates_that_are_asked_for_and_keep_their_pairs(monkeypatch):
    rng, y = np.random.default_rng(7), np.repeat([0, 1], [60, 40])
    first = rng.random(100) < 0.3 + 0.4 * y
    values = np.column_stack([first, np.where(rng.random(100) < 0.9, first, ~first)]).astype(float)
    rates = np.array([values[y == g].mean(axis=0) for g in (0, 1)])
    shrunken = rates + np.array([[0.05], [-0.05]])
    monkeypatch.setattr(temperature, "DRAWS", 4000)
    samples, classes = temperature.imitated_bits(values, y, shrunken, rng)
    for g in (0, 1):
        mine = samples[classes == g]
        assert mine.mean(axis=0) == pytest.approx(shrunken[g], abs=0.01)
        per_draw = mine.reshape(4000, -1, 2).mean(axis=1)
        # the error of a rate is that of a bootstrap sample, and what is flipped by lot
        n = (y == g).sum()
        assert (per_draw.var(axis=0) > rates[g] * (1 - rates[g]) / n * 0.9).all()
        assert np.corrcoef(per_draw.T)[0, 1] > 0.4
        assert np.corrcoef(mine.T)[0, 1] > 0.5


@pytest.mark.parametrize(
    ("counts", "words"),
    [((2, 2), "4 training samples of 2 classes"), ((2, 3), "it needs 6"), ((3, 3), ""),
     ((2, 4), ""), ((2, 2, 2), "it needs 8"), ((1, 9), "has one training sample"),
     ((1, 2, 6), "")],
)  # fmt: skip
def test_too_few_samples_have_no_temperature(counts, words):
    told = temperature.too_few(np.array(counts))
    assert words in told if words else not told
