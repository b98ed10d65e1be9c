"""Predictive distributions of a real response, against SciPy's."""

import numpy as np
import pytest
from scipy import integrate, stats

from thesiskit.models.density import SCORED, Density, guess

RNG = np.random.default_rng(3)
SHAPES = [(0.0, 1.0, 5.0), (-3.0, 0.02, 40.0), (1e4, 250.0, np.inf), (2.0, 3.0, 2.5)]


def exact(location, scale, freedom):
    if np.isinf(freedom):
        return stats.norm(location, scale)
    return stats.t(freedom, location, scale)


def single(location, scale, freedom):
    return np.array([[[1.0, location, scale, freedom]]])


@pytest.mark.parametrize("shape", SHAPES)
def test_one_student(shape):
    density, law = Density.of_students(single(*shape)), exact(*shape)
    for level in (0.001, 0.05, 0.25, 0.5, 0.9, 0.999):
        y = law.ppf(level)
        np.testing.assert_allclose(density.quantile(level), y, rtol=0, atol=1e-3 * shape[1])
        np.testing.assert_allclose(density.below(np.array([y])), level, atol=2e-6)
        np.testing.assert_allclose(density.log_density(np.array([y])), law.logpdf(y), atol=1e-5)
    np.testing.assert_allclose(density.mean, shape[0], atol=1e-3 * shape[1])
    if shape[2] > 4:
        np.testing.assert_allclose(density.sd, law.std(), rtol=1e-5)


def test_far_away_the_tail_goes_on_as_a_power():
    density, law = Density.of_students(single(0, 1, 3)), stats.t(3)
    np.testing.assert_allclose(density.log_density(np.array([1e5])), law.logpdf(1e5), atol=0.01)
    assert density.below(np.array([-1e9])) == 0
    assert density.below(np.array([1e9])) == 1


def test_a_mixture():
    components = np.array([[[0.3, -2.0, 0.5, 8.0], [0.7, 1.0, 2.0, 30.0]]])
    laws = [exact(*part[1:]) for part in components[0]]
    density = Density.of_students(components)
    for y in (-2.1, -1.9, 0.0, 4.0):
        parts = zip((0.3, 0.7), laws, strict=True)
        wanted = sum(w * law.cdf(y) for w, law in parts)
        np.testing.assert_allclose(density.below(np.array([y])), wanted, atol=1e-4)
    np.testing.assert_allclose(density.mean, 0.3 * -2 + 0.7 * 1, atol=1e-6)


def test_crps_is_the_integral_of_the_squared_distance():
    law = stats.t(6, 1, 2)
    density = Density.of_students(single(1, 2, 6))
    for y in (-4.0, 1.0, 9.0):
        left = integrate.quad(lambda x: law.cdf(x) ** 2, -np.inf, y)[0]
        right = integrate.quad(lambda x: law.sf(x) ** 2, y, np.inf)[0]
        np.testing.assert_allclose(density.crps(np.array([y])), left + right, rtol=1e-3)


def test_scores_of_many_samples_are_those_of_each():
    components = np.stack(
        [np.ones(7), RNG.normal(size=7), RNG.uniform(0.5, 2, 7), np.full(7, 9.0)], axis=1
    )[:, None]
    y = RNG.normal(size=7)
    together = Density.of_students(components).scores(y)
    assert set(together) == set(SCORED)
    for i in range(7):
        alone = Density.of_students(components[i : i + 1]).scores(y[i : i + 1])
        for name in SCORED:
            np.testing.assert_array_equal(alone[name], together[name][i : i + 1])


def test_a_guess_covers_new_responses():
    y = RNG.normal(5, 2, (4000, 7))
    known = np.concatenate([guess(row[:6]) for row in y])
    pit = Density.of_students(known).below(y[:, 6])
    assert stats.kstest(pit, "uniform").pvalue > 1e-4
