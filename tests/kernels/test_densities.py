"""Predictive densities of normal features: the kernel against its twin."""

import numpy as np
import pytest
import reference_normal as slow
from scipy import interpolate, special

from thesiskit._kernels import normal as kernel
from thesiskit.models import normal
from thesiskit.models.normal import EIGHT, Predictive
from thesiskit.models.selection import select_by_f


def fitted(seed=1, n=30, p=60, k=9, G=3, effect=1.5, missing=0.0, **settings):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % G
    X = rng.standard_normal((n, p))
    X[:, :4] += effect * rng.standard_normal((G, 4))[y]
    X[rng.random(X.shape) < missing] = np.nan
    selection = select_by_f(X, y, k, rng)
    return normal.fit(selection, normal.Normal(**settings)), rng


def predictive(**options):
    small = {"ratio": (0.01, 0.1, 1.0, 8.0), "pi": (0.01, 0.1, 0.5, 1.0)}
    posterior, rng = fitted(**options, **small)
    row, j, _ = posterior.points
    return Predictive.of(posterior, row, posterior.pi[j]), posterior, rng


def twin(posterior, samples):
    """Log densities at all points, (T, G, C R, J), from all nodes, less that without effect."""
    selection, nodes, evidence = posterior.selection, posterior.nodes, posterior.evidence
    a, b = posterior.variance
    T, G, pi = len(samples), selection.means.shape[1], posterior.pi
    found = np.zeros((T, G, len(nodes.weight), len(pi)))
    for j, i in np.ndindex(samples.shape[::-1]):
        if np.isnan(samples[i, j]):
            continue
        counts, means = selection.counts[j], selection.means[j]
        n = counts.sum()
        location, v, squares = normal.predictive(counts, means, nodes.ratio)
        spread = (a * b + selection.within[j] + squares)[:, None]
        log = (a + n - 1) / 2 * np.log(spread) - np.log(v) / 2
        log -= (a + n) / 2 * np.log(spread + (samples[i, j] - location) ** 2 / v)
        log -= log[0]
        top = log.max(axis=0)
        said = evidence.by_node[j][:, None] * np.exp(log - top)  # (M, G)
        averaged = (nodes.weight @ said[1:]).T[:, :, None]
        mixed = (1 - pi) * said[0][:, None, None] + pi * averaged
        found[i] += np.log(np.maximum(mixed, 1e-300)) + top[:, None, None]
        found[i] -= np.log((1 - pi) * evidence.by_node[j, 0] + pi * evidence.averaged[j][:, None])
    return found


def from_twin(posterior, samples):
    """Class probabilities from all points and nodes, (T, G)."""
    log_joint = posterior.log_joint.reshape(-1, len(posterior.pi))
    log = special.logsumexp(twin(posterior, samples) + log_joint, axis=(2, 3))
    G = log.shape[1]
    log += np.log(posterior.settings.class_weights(G) + posterior.selection.class_counts)
    return special.softmax(log, axis=1)


def at_points(posterior, found):
    row, j, _ = posterior.points
    return found[:, :, row, j]


@pytest.mark.parametrize(("G", "missing"), [(2, 0.0), (3, 0.1)])
def test_densities_against_the_twin(G, missing):
    densities, posterior, rng = predictive(G=G, missing=missing)
    samples = rng.standard_normal((40, 9)) * 2
    samples[3, 2] = samples[5, 0] = np.nan
    slow = at_points(posterior, twin(posterior, samples))
    size = slow.shape[2]
    np.testing.assert_allclose(densities.log_densities(samples)[..., :size], slow, atol=5e-7)
    # beyond the table logs are computed, not interpolated
    direct = densities.without_tables().log_densities(samples)[..., :size]
    np.testing.assert_allclose(direct, slow, atol=2e-9)


def test_values_far_from_all_others_stay_finite():
    densities, posterior, rng = predictive(k=20)
    samples = rng.standard_normal((5, 20)) * np.array([1.0, 1e2, 1e4, 1e6, 1e8])[:, None]
    found = densities.log_densities(samples)
    assert np.isfinite(found).all()
    slow = at_points(posterior, twin(posterior, samples))
    np.testing.assert_allclose(found[..., : slow.shape[2]], slow, rtol=1e-9, atol=5e-7)


def places(posterior, rng):
    """Samples at and far from the training samples, in standard deviations from the middle."""
    selection, (a, b) = posterior.selection, posterior.variance
    k = len(selection.selected)
    sd = np.sqrt((a * b + selection.within) / (a + selection.counts.sum(axis=1)))
    near = rng.standard_normal((20, k))
    samples = [near]
    for far in (3, 10, 30, 100, 1e4):
        samples.append(far * rng.choice([-1.0, 1.0], (6, k)))  # all features
        samples.append(np.where(np.arange(k) == rng.integers(k, size=(6, 1)), far, near[:6]))
        some = np.where(rng.random((6, k)) < 0.2, far * rng.standard_normal((6, k)), near[:6])
        samples.append(np.where(rng.random((6, k)) < 0.2, np.nan, some))
    return selection.means.mean(axis=1) + sd * np.concatenate(samples)


@pytest.mark.parametrize(
    "options",
    [
        {"n": 100, "p": 2000, "k": 30, "G": 2},
        {"n": 40, "p": 400, "k": 8, "G": 2, "effect": 0.6},
        {"n": 80, "p": 400, "k": 3, "G": 2, "effect": 4.0, "seed": 843471115},
        {"n": 80, "p": 400, "k": 10, "G": 2, "effect": 4.0},
        {"n": 12, "p": 300, "k": 12, "G": 2, "effect": 3.0},
        {"n": 45, "p": 300, "k": 25, "G": 3, "missing": 0.1},
        {"n": 60, "p": 60, "k": 60, "G": 2, "effect": 0.4},
        {"n": 30, "p": 200, "k": 10, "G": 2, "relevant": "all", "effect_shapes": (None,)},
        {"n": 30, "p": 200, "k": 10, "G": 2, "ratio": (8.0, 0.02, 0.3), "pi": (1.0, 1e-4, 0.03)},
    ],
    ids=str,
)
def test_what_is_skipped_moves_no_prediction_of_any_value(options):
    posterior, rng = fitted(**options)
    samples = places(posterior, rng)
    slow, fast = from_twin(posterior, samples), normal.Normal().predict(posterior, samples)
    np.testing.assert_allclose(fast[:20], slow[:20], atol=1e-6)
    np.testing.assert_allclose(fast, slow, atol=1e-4)
    assert ((slow > 0.01) & (slow < 0.99)).any(axis=1).sum() > 10


@pytest.mark.parametrize("k", [12, 40])
def test_products_that_fall_below_all_numbers_begin_again(k):
    """Log odds, because far from all training samples probabilities are 0 and 1 in any case."""
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, k)) + 20 * y[:, None] * rng.choice([-1.0, 1.0], k)
    posterior = normal.fit(select_by_f(X, y, k, rng), normal.Normal())
    samples = np.array([[30.0], [1e2], [1e4]]) * rng.choice([-1.0, 1.0], (3, k))
    log_joint = posterior.log_joint.reshape(-1, len(posterior.pi))
    slow = special.logsumexp(twin(posterior, samples) + log_joint, axis=(2, 3))
    found = normal.log_densities(posterior, samples)
    assert np.abs(slow).max() > 600
    np.testing.assert_allclose(np.diff(found), np.diff(slow), rtol=1e-9, atol=1e-4)


def test_near_samples_are_interpolated_and_far_ones_are_not():
    posterior, rng = fitted(n=100, p=2000, k=30, G=2)
    _, known = posterior.interpolation.log_densities(places(posterior, rng))
    assert known[:20].all()
    assert not known.all()


def test_a_sample_is_predicted_the_same_in_any_company():
    posterior, rng = fitted(k=12)
    samples = rng.standard_normal((300, 12))
    samples[::7] *= 50
    together = normal.log_densities(posterior, samples)
    alone = np.concatenate([normal.log_densities(posterior, one[None]) for one in samples[:20]])
    np.testing.assert_array_equal(together[:20], alone)


@pytest.mark.parametrize("points", [1, 7, 8, 9, 24, 100])
@pytest.mark.parametrize("factor", [1.0, 0.03])
def test_logs_of_sums(points, factor):
    rng = np.random.default_rng(points)
    log_weight = np.log(rng.dirichlet(np.full(points, 0.1)) + 1e-30)
    for more, size in ((0, 1.0), (5, 300.0), (3, 1e5)):
        logs = size * rng.standard_normal((20, points + more))
        found = kernel.log_sums(logs, log_weight, factor)
        np.testing.assert_allclose(
            found, slow.log_sums(logs, log_weight, factor), rtol=1e-13, atol=1e-13
        )
    assert len(kernel.log_sums(logs[:0], log_weight)) == 0


@pytest.mark.parametrize("points", [3, 12])
@pytest.mark.parametrize("in_order", [True, False])
def test_values_along_splines(points, in_order):
    rng = np.random.default_rng(points)
    x = np.cumsum(rng.uniform(0.1, 1, points)) - 2
    values = 10 * rng.standard_normal((6, points))
    places = rng.uniform(-4, x[-1] + 2, (6, 40))
    places[:, :points] = x
    places = np.sort(places) if in_order else places
    curve = interpolate.CubicSpline(x, values, axis=1)
    found = kernel.along(x, curve.c, places)
    for row, mine, own in zip(values, found, places, strict=True):
        expected = slow.along(interpolate.CubicSpline(x, row), own)
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-9)


def test_layout_is_what_the_kernel_takes():
    densities, _, _ = predictive()
    assert (densities.offset % EIGHT == 0).all()
    assert len(densities.row) % EIGHT == 0
    assert densities.prior.shape[1] % EIGHT == 0
    assert kernel.TABLE % 2 == 1
