"""Real responses: the sweeps against their twin and the joint distribution, and exact posteriors.

As in test_logistic_kernels.py; what both have in common is in logistic_samples.py.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import reference_logistic as twin
from cases import only
from logistic_samples import (
    LIGHT,
    MORE_REPLICATES,
    NAMES,
    REPLICATES,
    ArbitraryGroups,
    arbitrary,
    assert_unchanged,
    batch_test,
    coefficients_twice,
    design_of,
    groups_named,
    largest_z,
    midpoints,
    quantile,
    ranks,
    sequences,
    short,
    slow_moves,
    tiny,
    together_once,
    tree_once,
    widths_twice,
)
from process import agreement, covariance
from scipy import special, stats
from statistical import ALARM

from thesiskit._kernels import shims, splitting
from thesiskit.errors import DataError, UserError
from thesiskit.models import logistic
from thesiskit.models.patterns import compress_sequences

PRIORS = ("cauchy", "gaussian")


def both(groups, response, log_noise=0.0, **options):
    """The model, and its twin."""
    model = logistic.GaussianTarget(groups, response, logistic.Logistic(**options))
    settings = model.settings
    return model, twin.NormalPosterior(
        design_of(groups), groups.patterns_per_order, np.asarray(response), 1, settings.cauchy,
        settings.sigma_shape, settings.sigma_mode, settings.noise_shape, settings.noise_mode,
        log_noise,
    )  # fmt: skip


def test_sums_of_residuals(rng):
    for size in (0, 1, 7, 8, 9, 16, 100, 1003):
        n, y, eta = rng.integers(1, 9, size) * 1.0, rng.normal(size=size), rng.normal(size=size)
        ours = shims.shim_residuals(n, y, eta)
        exact = (n * (y - eta)).sum(), (n * (y - eta) ** 2).sum()
        assert ours == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", [*NAMES, "large"])
@pytest.mark.parametrize("noise", [None, 0.3])
@pytest.mark.parametrize("sampled", [True, False])
def test_log_likelihood_and_prior(rng, prior, name, noise, sampled):
    groups = groups_named(name, rng)
    response = rng.normal(size=groups.n_samples) + 2
    sigma = None if sampled else tuple(rng.uniform(0.1, 3, groups.order + 1))
    model, slow = both(groups, response, prior=prior, noise=noise, sigma=sigma)
    for spread in (0.01, 1, 1000):
        coefficient, log_sigma, log_noise = model.start(rng)
        coefficient[:] = rng.standard_cauchy(coefficient.shape) * spread
        chain = model.sampler(coefficient, log_sigma, log_noise)
        exact = replace(slow, log_noise=log_noise[0]).log_likelihood(coefficient)
        assert chain.log_likelihood == pytest.approx(exact, rel=1e-10)
    kept, trace = np.empty((1, 1, groups.n_groups)), np.empty((1, groups.order + 1))
    noises, info = np.empty(1), np.empty((1, 4))
    chain.run(0, 1, 0, 1, 1, 1, kept, trace, noises, info, rng.bit_generator.capsule)
    assert (noises[0] == np.log(0.3)) == (noise is not None)
    slow = replace(slow, log_noise=noises[0])
    assert info[0, 0] == pytest.approx(slow.log_likelihood(kept[0]), rel=1e-10)
    exact = slow.log_prior(kept[0], trace[0], sampled)
    exact += slow.log_noise_prior() if noise is None else 0
    assert info[0, 1] == pytest.approx(exact, rel=1e-10)


# ---- sweeps, number by number ----


def sweep_coefficients(slow, coefficient, log_sigma, settings, rng) -> int:
    if slow.cauchy:
        return twin.sweep_coefficients(
            slow, coefficient, log_sigma, settings.step, settings.most_steps, rng
        )
    return twin.draw_coefficients(slow, coefficient, log_sigma, rng)


def slow_iteration(slow, coefficient, log_sigma, settings, moves, rng):
    """One iteration of the twin; returns it with its noise, and the two numbers of evaluations."""
    most = settings.most_steps
    looked = sweep_coefficients(slow, coefficient, log_sigma, settings, rng)
    more = sum(move(slow, coefficient, log_sigma, rng) for move in moves)
    if settings.noise is None:
        slow, found = twin.sweep_noise(slow, coefficient, most, rng)
        more += found
    for _ in range(settings.sigma_updates if settings.sigma is None else 0):
        more += twin.sweep_widths(
            slow, coefficient, log_sigma, settings.sigma_scale, settings.sigma_step, most, rng
        )
    return slow, (looked, more)


def compare_chains(groups, response, seed, **options):
    """Run the kernel's chain and the twin's with the same random numbers."""
    model, slow = both(groups, response, burn_in=0, thin=1, **options)
    settings, rng = model.settings, np.random.default_rng(seed)
    chain = logistic.Chain(model, np.random.default_rng(seed))
    coefficient, log_sigma, log_noise = model.start(rng)
    slow = replace(slow, log_noise=log_noise[0])
    moves = slow_moves(model)
    chain.kernel = short(model.sampler(**chain.place))
    ours = chain.advance(settings.iterations)
    close = {"rtol": 1e-8, "atol": 1e-8}
    for i in range(settings.iterations):
        slow, looked = slow_iteration(slow, coefficient, log_sigma, settings, moves, rng)
        np.testing.assert_allclose(ours["coefficient"][i], coefficient, **close)
        np.testing.assert_allclose(ours["log_sigma"][i], log_sigma, **close)
        np.testing.assert_allclose(ours["log_noise"][i], slow.log_noise, **close)
        found = ours["info"][i]
        assert found[0] == pytest.approx(slow.log_likelihood(coefficient), rel=1e-8, abs=1e-8)
        assert tuple(found[2:]) == looked
    assert chain.rng.random() == rng.random()


@pytest.mark.parametrize("scale", logistic.SCALES)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", NAMES)
def test_chains_number_by_number(name, prior, scale):
    rng = np.random.default_rng(NAMES.index(name))
    groups = groups_named(name, rng)
    response = rng.normal(size=groups.n_samples) * 3 + 1
    compare_chains(
        groups, response, 11, prior=prior, sigma_scale=scale, sigma_updates=2, joint_updates=2,
        iterations=2 if name == "many samples" else 6,
    )  # fmt: skip


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("most_steps", [1, 3])
def test_chains_of_other_settings(prior, most_steps):
    rng = np.random.default_rng(2)
    groups = arbitrary(rng)
    response = rng.normal(size=groups.n_samples)
    options = {
        "prior": prior, "most_steps": most_steps, "sigma_0": 2.0, "sigma_shape": 3.0,
        "sigma_mode": 0.7, "noise_shape": 1.5, "noise_mode": 0.1, "iterations": 5,
    }  # fmt: skip
    compare_chains(groups, response, 12, step=0.7, sigma_step=0.4, **options)
    sigma = tuple(rng.uniform(0.2, 2, groups.order + 1))
    compare_chains(groups, response, 13, sigma=sigma, **options)
    compare_chains(groups, response, 14, noise=0.4, **options)
    for far in (1e-6, 1e6):  # responses that the priors do not expect
        compare_chains(groups, response * far, 15, **options)


@pytest.mark.parametrize("prior", PRIORS)
def test_each_sweep_alone_number_by_number(prior):
    rng = np.random.default_rng(8)
    groups = sequences(rng)
    model, slow = both(groups, rng.normal(size=groups.n_samples), prior=prior)
    settings = model.settings
    coefficient, log_sigma, log_noise = model.start(rng)
    other, again, slow = coefficient.copy(), log_sigma.copy(), replace(slow, log_noise=log_noise[0])
    chain = model.sampler(coefficient, log_sigma, log_noise)
    move = slow_moves(model, learn=False)[0]
    one, two = np.random.default_rng(9), np.random.default_rng(9)
    most = settings.most_steps
    for _ in range(6):
        for step in rng.permutation(4):
            capsule = one.bit_generator.capsule
            if step == 0:
                chain.sweep_coefficients(capsule)
                sweep_coefficients(slow, other, again, settings, two)
            elif step == 1:
                chain.sweep_widths(capsule)
                twin.sweep_widths(slow, other, again, "log", settings.sigma_step, most, two)
            elif step == 2:
                chain.sweep_tree(capsule)
                move(slow, other, again, two)
            else:
                chain.sweep_noise(capsule)
                slow, _ = twin.sweep_noise(slow, other, most, two)
            np.testing.assert_allclose(coefficient, other, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(log_sigma, again, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(log_noise[0], slow.log_noise, rtol=1e-9, atol=1e-9)
            exact = slow.log_likelihood(other)
            assert chain.log_likelihood == pytest.approx(exact, rel=1e-9, abs=1e-9)


# ---- the joint distribution of parameters and data ----


def replicates(model, slow, size, rng, stages, *, data=None, harm="none"):
    """Draw from the joint distribution, and apply each stage to what the one before left.

    Returns the drawn responses, and after 0, 1, ... stages (log sigma, coefficients, log noise,
    log likelihood).  data: the twin that is drawn from, if not `slow`.
    """
    data, groups = data or slow, model.groups
    log_sigma, coefficient = twin.prior_draws(data, model.settings.sigma_0, size, rng)
    log_noise = np.log(data.noise_rate / stats.gamma.isf(rng.random(size), data.noise_shape))
    eta = (coefficient @ data.design.T)[:, 0]
    response = eta + np.exp(log_noise)[:, None] * rng.normal(size=eta.shape)
    states = [
        [np.repeat(one[None], len(stages) + 1, axis=0) for one in (log_sigma, coefficient)],
        np.repeat(log_noise[None], len(stages) + 1, axis=0),
        np.empty((len(stages) + 1, size)),
    ]
    (sigmas, coefficients), noises, log_likelihood = states
    samples_of = groups.row_of == np.arange(groups.n_rows)[:, None]
    mean = response @ (samples_of / samples_of.sum(axis=1, keepdims=True)).T
    within = np.square(response - mean[:, groups.row_of]).sum(axis=1)
    if harm == "within":
        within /= 2
    if harm == "mean":
        mean[:, 0] *= 1.2
    capsule = rng.bit_generator.capsule
    for m in range(size):
        model.mean, model.within = mean[m].copy(), within[m]
        here = coefficients[0, m].copy(), sigmas[0, m].copy(), noises[0, m : m + 1].copy()
        chain = short(model.sampler(*here))
        log_likelihood[0, m] = chain.log_likelihood
        for i, stage in enumerate(stages, 1):
            stage(chain, capsule)
            coefficients[i, m], sigmas[i, m], noises[i, m] = *here[:2], here[2][0]
            log_likelihood[i, m] = chain.log_likelihood
    return response, list(zip(sigmas, coefficients, noises, log_likelihood, strict=True))


def bounded_functions(slow, response, log_sigma, coefficient, log_noise, log_likelihood):
    """Bounded functions of parameters and data, (., size)."""
    u, v = ranks(slow, log_sigma, coefficient)
    v = v[:, 0]
    t = 1 - 2 * special.gammainc(slow.noise_shape, slow.noise_rate * np.exp(-log_noise))[:, None]
    residual = response - (coefficient @ slow.design.T)[:, 0]
    z = 2 * special.ndtr(residual / np.exp(log_noise)[:, None]) - 1
    y = np.arctan(response @ slow.design / slow.design.sum(axis=0))  # mean responses of groups
    size = len(response)
    parts = [
        u, u * u, np.cos(np.pi * u), np.clip(log_sigma[:, 1:], -6, 6),
        v, v * v, np.cos(np.pi * v), np.arctan(coefficient), v * y, v * v * y * y,
        np.arctan(coefficient[:, 0]) * y, v[:, :-1] * v[:, 1:], (v * v)[:, :-1] * (v * v)[:, 1:],
        t, t * t, np.cos(np.pi * t), np.clip(log_noise[:, None], -6, 6),
        z, z * z, z[:, :-1] * z[:, 1:], t * z * z, t * np.abs(np.arctan(response)),
        u[:, :, None] * (v * v)[:, None, :], u * t, t * v * v, t * v * y,
        np.exp(np.clip(log_likelihood, -30, 0) / 5)[:, None],
    ]  # fmt: skip
    return np.concatenate([part.reshape(size, -1) for part in parts], axis=1).T


def noise_twice(chain, capsule):
    chain.sweep_noise(capsule)
    chain.sweep_noise(capsule)


def iterations_of(model):
    """A stage of two whole iterations."""
    kept = np.empty((2, 1, model.groups.n_groups))
    trace, noises, info = np.empty((2, model.groups.order + 1)), np.empty(2), np.empty((2, 4))

    def stage(chain, capsule):
        assert chain.run(0, 2, 0, 1, 2, 1, kept, trace, noises, info, capsule) == 2

    return stage


NOISE = {"noise_shape": 2.5, "noise_mode": 0.7}
HEAVY = {"sigma_shape": 0.25, "sigma_mode": 0.1, "noise_shape": 0.25, "noise_mode": 0.5}
QUICK = [
    ("compressed", "cauchy", "natural", True),
    ("compressed", "gaussian", "log", False),
    ("arbitrary plain", "cauchy", "log", True),
    ("features", "gaussian", "log", True),
]
ALL = product(NAMES[:3] + NAMES[4:], PRIORS, logistic.SCALES, (True, False))
CASES = [(*one, REPLICATES) for one in QUICK]
CASES += [pytest.param(*one, MORE_REPLICATES, marks=pytest.mark.slow) for one in ALL]


@pytest.mark.parametrize(("name", "prior", "scale", "light", "size"), CASES)
def test_sweeps_leave_the_joint_distribution_as_it_is(name, prior, scale, light, size):
    rng = np.random.default_rng([len(name), len(prior), len(scale), light])
    groups = tiny(name, rng)
    assert (groups.n_rows < groups.n_samples) == (
        name in ("compressed", "original", "arbitrary", "features")
    )
    model, slow = both(
        groups, np.arange(groups.n_samples), prior=prior, sigma_scale=scale, sigma_0=1.5, step=5.0,
        **(LIGHT | NOISE if light else HEAVY),
    )  # fmt: skip
    together = tree_once if model.moves == "tree" else together_once
    stages = [together, coefficients_twice, widths_twice, noise_twice, iterations_of(model)]
    response, states = replicates(model, slow, size, rng, stages)
    assert_unchanged([bounded_functions(slow, response, *state) for state in states])


@pytest.mark.parametrize(
    ("prior", "harm"),
    only(
        product(PRIORS, ("none", "within", "mean", "noise rate", "rate", "width")),
        ("gaussian", "within"), ("cauchy", "mean"), ("gaussian", "noise rate"), ("cauchy", "rate"),
    ),
)  # fmt: skip
def test_the_joint_distribution_finds_what_is_wrong(prior, harm):
    # the kernel is told other sums, other rates of priors, or another width than were drawn
    rng = np.random.default_rng(4)
    groups = tiny("arbitrary", rng)
    model, slow = both(
        groups, np.arange(groups.n_samples), prior=prior, sigma_0=1.5, **LIGHT, **NOISE
    )
    data = slow
    if harm == "rate":
        data = replace(slow, mode=slow.mode * 2)
    if harm == "noise rate":
        data = replace(slow, noise_mode=slow.noise_mode * 2)
    if harm == "width":
        model.layout.kinds[1, -1] += 2
    response, states = replicates(
        model, slow, 6000, rng, [iterations_of(model)], data=data, harm=harm
    )
    z, tests = largest_z(*(bounded_functions(slow, response, *state) for state in states))
    if harm == "none":
        assert z < stats.norm.isf(ALARM / tests / 2)
    else:
        assert z > 8


# ---- exact posteriors ----


def test_posterior_of_gaussian_coefficients():
    # priors, widths and noise known: linear regression
    rng = np.random.default_rng(5)
    for groups in (arbitrary(rng), sequences(rng), sequences(rng, compressed=False)):
        sigma = tuple(rng.uniform(0.3, 2, groups.order + 1))
        response = rng.normal(size=groups.n_samples) + 1
        model, slow = both(
            groups, response, prior="gaussian", sigma=sigma, noise=0.6, burn_in=0, thin=1,
            iterations=20_000,
        )  # fmt: skip
        draws = logistic.sample(model, [np.random.default_rng(1)]).flat[0][:, 0]
        precision = slow.design.T @ slow.design / 0.36
        precision += np.diag(slow.scale(np.log(sigma)) ** -2)
        expected = np.linalg.inv(precision)
        mean = expected @ slow.design.T @ response / 0.36
        pairs = list(zip(*np.triu_indices(len(mean)), strict=True))
        alarm = ALARM / (len(mean) + len(pairs))
        for g in range(len(mean)):
            batch_test(draws[:, g], mean[g], alarm)
        for g, h in pairs:
            batch_test((draws[:, g] - mean[g]) * (draws[:, h] - mean[h]), expected[g, h], alarm)


@pytest.mark.parametrize(
    ("noise", "joint_updates", "scale"),
    only(product((None, 0.5), (0, 1), logistic.SCALES), (None, 1, "log"), (0.5, 0, "natural")),
)
def test_posterior_of_widths_and_noise_by_quadrature(noise, joint_updates, scale):
    # Gaussian coefficients are integrated out, for each sigma_1 and tau of a grid
    rng = np.random.default_rng(6)
    groups = ArbitraryGroups(
        [0, 0, 1, 1, 2, 3], [[0, 1, 2, 3], [0, 1], [0, 2], [3]], [[1, 0], [0, 1], [0, 2]],
        [0, 1, 2, 1],
    )  # fmt: skip
    response = rng.normal(size=6) + np.array([2, 2, 0, 0, 1, -1])
    model, slow = both(
        groups, response, prior="gaussian", noise=noise, sigma_0=1.0, sigma_shape=1.5,
        sigma_mode=0.8, noise_shape=1.2, joint_updates=joint_updates, sigma_scale=scale, burn_in=0,
        thin=1, iterations=40_000, sigma_updates=2,
    )  # fmt: skip
    drawn = logistic.sample(model, [np.random.default_rng(1)])
    ours = np.stack([drawn.log_sigma[0, :, 1], drawn.log_noise[0], drawn.coefficient[0, :, 0, 1]])
    found = []
    for x, t in product(
        np.linspace(-5, 9, 141), np.linspace(-4, 5, 91) if noise is None else [np.log(noise)]
    ):
        slow = replace(slow, log_noise=t)
        variance = slow.scale(np.array([0, x])) ** 2
        total = (slow.design * variance) @ slow.design.T + np.exp(2 * t) * np.eye(6)
        solved = np.linalg.solve(total, response)
        log_weight = -(np.linalg.slogdet(total)[1] + response @ solved) / 2
        log_weight += slow.log_sigma_prior(1, x) + x + (slow.log_noise_prior() + t)
        found.append([log_weight, x, t, variance[1] * slow.design[:, 1] @ solved])
    log_weight, x, t, s = np.array(found).T
    weight = special.softmax(log_weight)
    for values, exact in [
        (np.clip(ours[0], -3, 3), np.clip(x, -3, 3)), (np.tanh(ours[0]), np.tanh(x)), (ours[2], s),
        (ours[2] * np.tanh(ours[0]), s * np.tanh(x)),
    ]:  # fmt: skip
        batch_test(values, exact @ weight)
    if noise is None:
        for values, exact in [
            (ours[1], t), (np.exp(ours[1]), np.exp(t)), (ours[2] * ours[1], s * t),
            (np.tanh(ours[0]) * ours[1], np.tanh(x) * t),
        ]:  # fmt: skip
            batch_test(values, exact @ weight)


def test_posterior_of_cauchy_coefficients_by_quadrature():
    groups = ArbitraryGroups([0, 1, 1, 2, 2], [[0, 2], [1, 2]], [[1, 0], [0, 2]], [0, 1])
    response = np.array([1.0, 3.0, 4.0, 4.0, 6.5])
    model, slow = both(
        groups, response, sigma=(2.0, 0.7), noise_shape=1.5, noise_mode=0.6, iterations=30_000,
        burn_in=0, thin=1,
    )  # fmt: skip
    drawn = logistic.sample(model, [np.random.default_rng(1)])
    (a, b), t = drawn.coefficient[0, :, 0].T, drawn.log_noise[0]
    x, y = (w * quantile(True, midpoints(500)) for w in (2.0, 1.4))
    tau = np.exp(np.linspace(-3, 4, 71))
    x, y, tau = np.meshgrid(x, y, tau, indexing="ij", sparse=True)
    squares = (1 - x) ** 2 + (3 - y) ** 2 + (4 - y) ** 2 + (4 - x - y) ** 2 + (6.5 - x - y) ** 2
    prior = -1.5 * np.log(tau) - slow.noise_rate / tau
    weight = np.exp(-5 * np.log(tau) - squares / (2 * tau**2) + prior)
    weight /= weight.sum()
    for values, exact in [
        (np.arctan(a), np.arctan(x)), (np.arctan(b), np.arctan(y)), (t, np.log(tau)),
        (np.arctan(a * b), np.arctan(x * y)), (np.tanh(a + b) * t, np.tanh(x + y) * np.log(tau)),
    ]:  # fmt: skip
        batch_test(values, (exact * weight).sum())


# ---- predictions ----


@pytest.mark.parametrize("compressed", [True, False])
def test_predictions_of_gaussian_priors(compressed):
    # histories in part and new ones, against a Gaussian process
    rng = np.random.default_rng(9)
    histories, tests = rng.integers(0, 2, (10, 4)), rng.integers(0, 3, (12, 4))
    tests[0] = histories[0]
    response, sigma = rng.normal(size=10), (1.0, 0.8, 0.5, 0.6, 0.9)
    groups = compress_sequences(histories, 4, compress=compressed)
    settings = {"sigma": sigma, "noise": 0.4, "iterations": 20_000, "burn_in": 0, "thin": 1}
    model, _ = both(groups, response, prior="gaussian", **settings)
    drawn = logistic.sample(model, [np.random.default_rng(1)])
    found = logistic.predict_response(
        *drawn.flat, drawn.log_noise.ravel(), groups.shared(tests), cauchy=False, rng=rng,
        split_draws=2,
    )  # fmt: skip
    assert found.linear.shape == (40_000, 12)
    assert (found.noise == np.exp(np.log(0.4))).all()
    across = covariance(agreement(tests, histories), sigma)
    total = covariance(agreement(histories), sigma) + 0.16 * np.eye(10)
    mean = across @ np.linalg.solve(total, response)
    variance = sum(s**2 for s in sigma) - np.einsum(
        "ti,ij,tj->t", across, np.linalg.inv(total), across
    )
    for i in range(12):
        batch_test(found.linear[:, i], mean[i], ALARM / 24)
        batch_test((found.linear[:, i] - mean[i]) ** 2, variance[i], ALARM / 24)
    sd = np.sqrt(variance + 0.16)
    levels = np.array([0.02, 0.5, 0.9])
    exact = mean + sd * special.ndtri(levels)[:, None]
    assert np.abs((found.quantile(levels) - exact) / sd).max() < 0.06
    assert (found.median == found.quantile([0.5])[0]).all()


@pytest.mark.parametrize("cauchy", [True, False])
def test_linear_functions_are_those_of_classes(rng, cauchy):
    histories = rng.integers(0, 2, (9, 4))
    tests = np.array([*product((0, 1), repeat=4), (1, 0, 2, 1), (2, 2, 2, 2), (2, 2, 2, 2)])
    for compressed in (True, False):
        groups = compress_sequences(histories, 4, compress=compressed)
        shared = groups.shared(tests)
        coefficient = rng.standard_cauchy((50, 1, groups.n_groups))
        log_sigma, log_noise = rng.normal(size=(50, 5)), rng.normal(size=50)
        power = np.exp((1 if cauchy else 2) * log_sigma)
        first, second, new = (
            np.ascontiguousarray(power @ counts.T.astype(float))
            for counts in (shared.shared_counts, shared.other_counts, shared.new_counts)
        )
        out, again = np.zeros((len(shared.new_kind), 2)), np.random.default_rng(1)
        splitting.Shares(shared, first, second, new, cauchy).add_probabilities(
            coefficient, 3, out, again.bit_generator.capsule
        )
        found = logistic.predict_response(
            coefficient, log_sigma, log_noise, shared, cauchy=cauchy, split_draws=3,
            rng=np.random.default_rng(1),
        )  # fmt: skip
        p = special.expit(found.linear).sum(axis=0)
        np.testing.assert_allclose(p, out[shared.sample_of, 1], rtol=1e-9)
        assert (found.linear[:, -1] == found.linear[:, -2]).all()
        assert (found.noise == np.repeat(np.exp(log_noise), 3)).all()


def test_quantiles_of_mixtures(rng):
    linear = rng.standard_cauchy((300, 40)) * np.exp(rng.uniform(-20, 30, 40))
    noise = np.exp(rng.normal(size=300))
    found = logistic.Response(linear, noise, np.arange(40))
    levels = np.array([1e-4, 0.025, 0.5, 0.8, 0.999])
    quantiles = found.quantile(levels)
    assert (np.diff(quantiles, axis=0) > 0).all()
    for level, points in zip(levels, quantiles, strict=True):
        # neither a little less nor a little more would do
        slack = 1e-4 * noise.min() + 1e-12 * np.abs(points)
        for sign in (-1, 1):
            cdf = special.ndtr((points + sign * slack - linear) / noise[:, None]).mean(axis=0)
            assert (sign * (cdf - level) > -1e-15).all()
    again = logistic.Response(linear, noise, np.array([3, 0, 3])).quantile(levels)
    assert (again == quantiles[:, [3, 0, 3]]).all()
    one = logistic.Response(np.ones((1, 1)), np.full(1, 2.0), np.zeros(1, int))
    assert one.quantile([0.975]) == pytest.approx(1 + 2 * 1.959964, abs=1e-4)
    for bad in ([0.0], [1.0], [0.5, np.nan], 0.5):
        with pytest.raises(UserError, match="levels of quantiles must be between 0 and 1, got"):
            found.quantile(bad)
    with pytest.raises(UserError, match="split_draws must be a whole number from 1, got 0"):
        logistic.predict_response(None, None, None, None, cauchy=True, rng=rng, split_draws=0)


# ---- whole chains ----


def some_model(seed=3, **options):
    rng = np.random.default_rng(seed)
    groups = sequences(rng, samples=20, length=4, order=4)
    settings = {"iterations": 100, "burn_in": 20, "thin": 3, **options}
    return logistic.GaussianTarget(groups, rng.normal(size=20), logistic.Logistic(**settings))


def generators(n):
    return [np.random.default_rng([5, c]) for c in range(n)]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("chains", [1, 3])
def test_chains_go_on(prior, chains):
    model = some_model(prior=prior)
    whole = logistic.sample(model, generators(chains))
    assert whole.coefficient.shape == (chains, 26, 1, model.groups.n_groups)
    assert whole.noise_trace.shape == (chains, 100)
    assert (whole.log_noise == whole.noise_trace[:, 22::3]).all()
    assert np.ptp(whole.log_noise, axis=1).min() > 0
    tree = whole.as_arviz({}, {}).to_xarray()
    assert (tree["posterior/log_noise"].to_numpy() == whole.log_noise).all()
    stored = {
        name: values.to_numpy() for node in tree.subtree for name, values in node.data_vars.items()
    }
    for stop in (24, 37, 100):
        part = logistic.sample(some_model(prior=prior, iterations=stop), generators(chains))
        resumed = logistic.sample(model, generators(chains), saved=part.saved)
        for name in ("coefficient", "trace", "noise_trace", "info"):
            assert (getattr(whole, name) == getattr(resumed, name)).all()
    longer = some_model(prior=prior, iterations=130)
    one = logistic.sample(longer, generators(chains))
    other = logistic.sample(longer, generators(chains), saved=logistic.saved_from(stored))
    for name in ("trace", "noise_trace", "info"):
        assert (getattr(one, name) == getattr(other, name)).all()
    assert (one.coefficient[:, 26:] == other.coefficient[:, 26:]).all()
    for other, message in [
        (some_model(noise_mode=0.6, prior=prior), "the stored chains have noise_mode 0.5"),
        (some_model(noise=0.6, prior=prior), "the stored chains have noise None"),
        (some_model(4, prior=prior), "the stored chains have (groups|data) "),
    ]:
        with pytest.raises(UserError, match=message):
            logistic.sample(other, generators(chains), saved=whole.saved)


def test_the_noise_is_among_what_is_compared():
    model = some_model()
    draws = logistic.sample(model, generators(2))
    rhat, ess = draws.compared()
    assert rhat.shape == ess.shape == (7,)
    apart = replace(draws, noise_trace=draws.noise_trace + np.array([[0], [50]]))
    assert apart.compared()[0][-1] > 1.5 > rhat[-1]
    assert (apart.compared()[0][:-1] == rhat[:-1]).all()
    known = logistic.sample(some_model(noise=0.5), generators(2))
    assert known.compared()[0][-1] == 1
    assert (known.log_noise == np.log(0.5)).all()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("scale", [1e-18, 1e-6, 1e6, 1e19])
def test_responses_of_any_scale(prior, scale):
    # the model is not invariant, but must not break
    rng = np.random.default_rng(1)
    groups = sequences(rng, samples=20, length=4, order=4)
    settings = logistic.Logistic(prior=prior, iterations=50, burn_in=0, thin=1)
    model = logistic.GaussianTarget(groups, (rng.normal(size=20) + 100) * scale / 100, settings)
    draws = logistic.sample(model, generators(2))
    for one in (draws.coefficient, draws.trace, draws.noise_trace, draws.info):
        assert np.isfinite(one).all()
    assert np.isfinite(draws.as_arviz({}, {}).to_xarray()["posterior/coefficient"]).all()


def test_bad_responses():
    groups = compress_sequences([[0, 1], [1, 1], [0, 0]], 2)
    for response, kind, message in [
        ([1.0, np.nan, 2.0], DataError, r"within 1e\+20, got nan for sample 2. Fix: remove"),
        ([1.0, 2.0, np.inf], DataError, r"numbers within 1e\+20, got inf for sample 3"),
        ([-1e30, 2.0, 3.0], DataError, r"got -1e\+30 for sample 1"),
        (["a", "b", "c"], DataError, "^responses must be numbers$"),
        ([None, 1.0, 2.0], DataError, "got nan for sample 1"),
        ([2.5, 2.5, 2.5], UserError, "the responses are all 2.5. Fix: choose another response"),
        ([1.0, 2.0], UserError, r"3 samples but responses of shape \(2,\)"),
        ([[1.0, 2.0, 3.0]], UserError, r"3 samples but responses of shape \(1, 3\)"),
    ]:
        with pytest.raises(kind, match=message) as raised:
            logistic.GaussianTarget(groups, response, logistic.Logistic())
        assert "\n" not in str(raised.value)
    for options, message in [
        ({"noise": 0}, "noise must be a positive number, got 0"),
        ({"noise": 1e30}, r"noise must be between 1e-20 and 1e20, got 1e\+30"),
        ({"noise_mode": -1}, "noise_mode must be a positive number, got -1"),
        ({"noise_shape": 0.1}, "noise_shape must be at least 0.2, got 0.1: with less, noise often"),
    ]:
        with pytest.raises(UserError, match=message):
            logistic.Logistic(**options)
    with pytest.raises(UserError, match="sigma needs 3 values, of orders 0 to 2, got 2"):
        logistic.GaussianTarget(groups, [1, 2, 3], logistic.Logistic(sigma=(1, 2)))
