"""Learning curves: the power law, its extrapolation, the words and the files."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from thesiskit.files import Results
from thesiskit.report.learning import (
    conclusion,
    curve_table,
    errors_of_means,
    extrapolate,
    write_curve,
)

SIZES = np.array([40.0, 60.0, 80.0])


def draw_losses(means, noise, common, seed=1, repeats=4, n=60):
    """Return losses (repeats, S, n) with these means exactly, and what the sizes share."""
    rng = np.random.default_rng(seed)
    losses = noise * rng.standard_normal((repeats, len(means), n))
    losses += common * rng.standard_normal(n)
    return losses - losses.mean(axis=(0, 2), keepdims=True) + np.reshape(means, (1, -1, 1))


def weighted_quantiles(values, weights):
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    return [values[order][np.searchsorted(below, level)] for level in (0.5, 0.025, 0.975)]


@pytest.mark.parametrize("means", [(0.6, 0.5, 0.46), (0.3, 0.31, 0.29), (0.2, 0.1, 0.05)])
@pytest.mark.parametrize("positive", [True, False])
def test_the_posterior_is_that_of_draws_from_the_prior(means, positive):
    losses = draw_losses(means, noise=0.3, common=0.4)
    common, apart = errors_of_means(losses)
    rng = np.random.default_rng(2)
    m = 500_000
    c = rng.choice(np.linspace(0.5, 1.5, 11), m)
    limit = max(0, means[0] - means[-1]) + 4 * np.sqrt(2 * apart)
    excess = rng.uniform(0, limit / (0.5**-0.5 - 1), m)
    a = rng.uniform(0 if positive else -1.5, 1.5, m)
    b = excess * 80**c
    curves = a[:, None] + b[:, None] * SIZES ** -c[:, None]
    covariance = common + apart * np.eye(3)
    weights = stats.multivariate_normal(np.zeros(3), covariance).pdf(curves - means)
    found = extrapolate(SIZES, losses, np.array([80.0, 160.0]), positive=positive)
    loss, decrease = a + b * 160**-c, b * (80**-c - 160**-c)
    assert found[0, 1] == pytest.approx(weighted_quantiles(loss, weights), abs=0.01)
    assert found[1, 1] == pytest.approx(weighted_quantiles(decrease, weights), abs=0.01)
    assert found[1, 0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("c", [0.6, 1.0, 1.4])
def test_a_curve_without_noise_is_recovered_as_by_least_squares(c):
    def curve(n, a, b):
        return a + b * n**-c

    means = curve(SIZES, 0.2, 0.3 * 40**c)
    (a, b), _ = optimize.curve_fit(curve, SIZES, means, p0=(0.1, 1.0))
    losses = draw_losses(means, noise=1e-4, common=1e-4)
    found = extrapolate(SIZES, losses, np.array([80.0, 120.0, 320.0]), positive=True)
    for k, n in enumerate((80, 120, 320)):
        assert found[0, k, 0] == pytest.approx(curve(n, a, b), abs=0.003)
        assert found[1, k, 0] == pytest.approx(curve(80, a, b) - curve(n, a, b), abs=0.003)


def test_the_variance_of_means_is_divided_into_what_sizes_share_and_the_rest():
    rng = np.random.default_rng(3)
    pairs = []
    for _ in range(300):
        losses = 0.5 * rng.standard_normal((4, 3, 50)) + 0.8 * rng.standard_normal(50)
        pairs.append(errors_of_means(losses))
    common, apart = np.mean(pairs, axis=0)
    assert common == pytest.approx(0.8**2 / 50, rel=0.1)
    # once from the samples, and once more from the repeats
    assert apart == pytest.approx(2 * 0.5**2 / (4 * 50), rel=0.1)


def test_intervals_cover_curves_of_the_prior():
    rng = np.random.default_rng(4)
    inside = []
    for seed in range(100):
        c, a, excess = (
            rng.choice(np.linspace(0.5, 1.5, 11)),
            rng.uniform(0, 0.5),
            0.2 * rng.random(),
        )
        means = a + excess * (SIZES / 80) ** -c
        rng_of_set = np.random.default_rng([5, seed])
        losses = means[:, None] + 0.3 * rng_of_set.standard_normal((4, 3, 60))
        losses += 0.4 * rng_of_set.standard_normal(60)
        _, low, high = extrapolate(SIZES, losses, np.array([80.0, 160.0]), positive=True)[0, 1]
        inside.append(low <= a + excess * 2**-c <= high)
    assert np.mean(inside) > 0.85


@pytest.mark.parametrize(
    ("means", "noise", "words"),
    [
        ((0.6, 0.5, 0.44), 0.1, "Falling: with 200 training samples, the log loss would be lower"),
        ((0.5, 0.5, 0.5), 0.05, "Flat within its error: with 200 training samples"),
        ((0.5, 0.55, 0.5), 3.0, "Too noisy to say: with 200 training samples"),
    ],
)
def test_the_conclusion_is_honest(means, noise, words):
    losses = draw_losses(means, noise, common=0.3)
    table = curve_table(SIZES, np.stack([losses, losses]), 100, positive=True)
    assert conclusion(table, losses).startswith(words)


def test_the_table_and_the_figure_are_written(tmp_path):
    losses = np.stack([draw_losses((0.6, 0.5, 0.44), 0.1, 0.3), np.full((4, 3, 60), 0.69)])
    results = Results(tmp_path, "learning-curve")
    lines = write_curve(results, "Pool", 100, SIZES, losses, positive=True)
    table = pd.read_csv(results.folder / "learning-curve.csv")
    assert table["training samples"].tolist() == [40, 60, 80, 100, 150, 200, 400]
    assert table["log loss"][:3].tolist() == pytest.approx([0.6, 0.5, 0.44])
    assert table["log loss"].is_monotonic_decreasing
    assert (table["log loss: low"] < table["log loss"]).all()
    assert table["decrease"].isna().sum() == 3
    assert table["without features"].tolist() == pytest.approx([0.69] * 7)
    assert (results.folder / "figures/learning-curve.png").stat().st_size > 5000
    assert lines[0] == "Pool: log loss (95% interval); without features 0.690"
    assert lines[1].startswith("  40 training samples: 0.600 (")
    assert lines[4].endswith("predicted")
    assert str(results.folder / "learning-curve.csv") in lines[-1]
