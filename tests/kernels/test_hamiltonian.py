"""Trajectories of features and several classes: their slopes, what is learned, and overflow.

Whole chains are compared number by number, and their joint distribution tested, where those of all
other sweeps are: test_logistic.py and test_normal.py.
"""

import numpy as np
import pytest
import reference_hamiltonian as twin
from logistic_samples import FEW, design_of, groups_named, short
from reference_logistic import NormalPosterior, Posterior

from thesiskit.models import logistic

KINDS = [("features", 2), ("features", 3), ("compressed", 3), ("features", 0)]
PRIORS = ("cauchy", "gaussian")
SIGMA = (1.0, 0.5, 0.7, 0.6)  # of orders 0 to 3


def samples_of(name, n_classes, prior, **options):
    """A chain of so many classes (0: of real responses), and its twin."""
    rng = np.random.default_rng([len(name), n_classes])
    groups = groups_named(name, rng)
    settings = logistic.Logistic(prior=prior, thin=1, sigma_shape=2.0, **options)
    common = (design_of(groups), groups.patterns_per_order)
    prior_of = (settings.cauchy, settings.sigma_shape, settings.sigma_mode)
    if n_classes:
        response = rng.integers(0, n_classes, groups.n_samples)
        model = logistic.LogisticTarget(groups, response, n_classes, settings)
        slow = Posterior(*common, response, n_classes, *prior_of)
    else:
        response = rng.normal(size=groups.n_samples)
        model = logistic.GaussianTarget(groups, response, settings)
        noise = (settings.noise_shape, settings.noise_mode, 0.0)
        slow = NormalPosterior(*common, response, 1, *prior_of, *noise)
    return model, slow


def place_of(model, rng):
    """A state of a chain: coefficients, log sigmas, and a noise of one."""
    coefficient, log_sigma, *noise = model.start(rng)
    coefficient[:] = rng.normal(size=coefficient.shape)
    return coefficient, log_sigma, *(0 * one for one in noise)


@pytest.mark.parametrize(("name", "n_classes"), KINDS)
@pytest.mark.parametrize("prior", PRIORS)
def test_slopes_are_those_of_the_energy(name, n_classes, prior):
    model, slow = samples_of(name, n_classes, prior)
    rng = np.random.default_rng(1)
    log_sigma = rng.normal(size=slow.order + 1)
    z = rng.normal(size=(model.sets, len(slow.counts)))
    mixing = np.exp(rng.normal(size=z.shape))
    slopes, of_sigma = twin.Place(slow, mixing, z, log_sigma, True).slopes()

    def difference(dz, dx):
        up, down = (
            twin.Place(slow, mixing, z + sign * dz, log_sigma + sign * dx, True).energy()
            for sign in (1, -1)
        )
        return (up - down) / 2e-5

    for place in np.ndindex(z.shape):
        step = np.zeros_like(z)
        step[place] = 1e-5
        assert difference(step, 0) == pytest.approx(slopes[place], rel=1e-5, abs=1e-7)
    for o in range(1, slow.order + 1):
        step = np.zeros_like(log_sigma)
        step[o] = 1e-5
        assert difference(0, step) == pytest.approx(of_sigma[o - 1], rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("name", "n_classes"), KINDS)
@pytest.mark.parametrize("prior", PRIORS)
def test_trajectories_learn_number_by_number(name, n_classes, prior):
    model, slow = samples_of(name, n_classes, prior, burn_in=20, iterations=40)
    place = place_of(model, np.random.default_rng(2))
    other, again = place[0].copy(), place[1].copy()
    chain = short(model.sampler(*place, **model.untuned()))
    tuned = twin.Tuned(model.settings.learning)
    one, two = np.random.default_rng(3), np.random.default_rng(3)
    steps = set()
    for _ in range(30):
        chain.sweep_together(one.bit_generator.capsule)
        twin.move_hamiltonian(slow, other, again, True, tuned, FEW, two)
        np.testing.assert_allclose(place[0], other, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(place[1], again, rtol=1e-7, atol=1e-9)
        steps.add(tuned.step)
    assert len(steps) == 20  # no longer than the settings allow
    assert one.random() == two.random()


@pytest.mark.parametrize(("name", "n_classes"), KINDS)
def test_chains_go_on_from_their_state(name, n_classes):
    model, _ = samples_of(name, n_classes, "cauchy", burn_in=30, iterations=60)
    whole = logistic.Chain(model, np.random.default_rng(4))
    expected, found = whole.advance(60), []
    chain = logistic.Chain(model, np.random.default_rng(4))
    for block in (1, 9, 25, 25):  # within what is learned, and beyond
        found.append(chain.advance(block)["log_sigma"])
        state, chain = chain.state(), logistic.Chain(model, np.random.default_rng(5))
        chain.restore(state)
    np.testing.assert_array_equal(np.concatenate(found), expected["log_sigma"])
    np.testing.assert_array_equal(whole.place["tuning"], chain.place["tuning"])


@pytest.mark.parametrize(("name", "n_classes"), KINDS)
@pytest.mark.parametrize("prior", PRIORS)
def test_most_trajectories_are_accepted(name, n_classes, prior):
    # with given sigmas, because else all is stretched before a trajectory
    options = {"burn_in": 100, "iterations": 200, "sigma": SIGMA}
    model, _ = samples_of(name, n_classes, prior, **options)
    chain = logistic.Chain(model, np.random.default_rng(6))
    chain.advance(120)
    moved = 0
    for _ in range(200):
        before = chain.place["coefficient"].copy()
        chain.kernel.sweep_together(chain.rng.bit_generator.capsule)
        moved += (chain.place["coefficient"] != before).any()
    assert 0.4 * 200 < moved <= 200


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trajectories_that_overflow_are_forgotten(n_classes):
    options = {"burn_in": 0, "iterations": 10, "sigma": SIGMA}
    model, _ = samples_of("features", n_classes, "gaussian", **options)
    place = place_of(model, np.random.default_rng(7))
    before = place[0].copy()
    tuning = model.untuned()["tuning"]
    chain, rng = model.sampler(*place, tuning=tuning), np.random.default_rng(8)
    chain.sweep_together(rng.bit_generator.capsule)
    place[0][:] = before
    tuning[1] = 30.0  # the log of the step
    chain.sweep_together(rng.bit_generator.capsule)
    np.testing.assert_array_equal(place[0], before)
    tuning[1] = -6.0
    moved = 0
    for _ in range(20):
        chain.sweep_together(rng.bit_generator.capsule)
        moved += (place[0] != before).any()
        before = place[0].copy()
    assert moved >= 18
