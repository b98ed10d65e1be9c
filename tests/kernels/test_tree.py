"""The joint move of sequences: Polya-Gamma variables, passes over trees, and what is learned.

Whole chains are compared number by number, and their joint distribution tested, where those of all
other sweeps are: test_logistic.py and test_normal.py.
"""

import numpy as np
import pytest
import reference_tree as twin
from logistic_samples import design_of, groups_named, sequences
from scipy import stats
from statistical import ALARM

from thesiskit._kernels import shims, tree
from thesiskit.models import logistic

PLACES = (0.0, 1e-3, 0.7, 3.124, 3.126, 10.0, 59.9, 60.1, 500.0, 1e5)


def draws(samples, c, size, seed=1):
    out = np.empty(size)
    rng = np.random.default_rng(seed)
    shims.shim_polya_gamma(samples, c, out, rng.bit_generator.capsule)
    return out


# ---- Polya-Gamma variables ----


@pytest.mark.parametrize("c", PLACES)
@pytest.mark.parametrize("samples", [1, 2, 30])
def test_polya_gamma_variables_have_their_transform(c, samples):
    # E exp(-t omega) = (cosh(c / 2) / cosh(sqrt((c^2 / 2 + t) / 2)))^n, and the mean and variance
    size = 200_000 // samples
    omega = draws(samples, -c, size, seed=int(c) + samples)
    mean = samples * (np.tanh(c / 2) / (2 * c) if c > 0 else 0.25)
    log_cosh = lambda x: x + np.log1p(np.exp(-2 * x))  # noqa: E731  but for log 2
    tests = [(omega, mean)]
    for t in np.array([0.1, 1, 10]) / mean:
        log = samples * (log_cosh(c / 2) - log_cosh(np.sqrt((c * c / 2 + t) / 2)))
        tests.append((np.exp(-t * omega), np.exp(log)))
    c = max(c, 1e-2)
    variance = samples * (np.sinh(c) - c) / (4 * c**3 * np.cosh(c / 2) ** 2) if c < 300 else None
    if variance:
        tests.append(((omega - mean) ** 2, variance))
    for values, exact in tests:
        z = (values.mean() - exact) / values.std() * np.sqrt(size)
        assert abs(z) < stats.norm.isf(ALARM / len(tests) / 2)


@pytest.mark.parametrize("c", [0.0, 2.0, 8.0])
def test_polya_gamma_variables_have_their_distribution(c):
    # PG(1, c) is the sum over k of exponential variables over 2 pi^2 (k - 1/2)^2 + c^2 / 2
    rng, size, terms = np.random.default_rng(3), 30_000, 400
    k = np.arange(1, terms + 1)
    rate = 2 * np.pi**2 * (k - 0.5) ** 2 + c * c / 2
    slow = np.array([rng.exponential(size=(1000, terms)) @ (1 / rate) for _ in range(size // 1000)])
    slow = slow.ravel() + 1 / (2 * np.pi**2 * terms)  # the mean of the terms left out
    assert stats.ks_2samp(draws(1, c, size), slow, method="asymp").pvalue > ALARM


@pytest.mark.parametrize("c", PLACES)
def test_polya_gamma_variables_number_by_number(c):
    rng = np.random.default_rng(1)
    slow = [twin.polya_gamma(3, c, rng) for _ in range(300)]
    np.testing.assert_allclose(draws(3, c, 300), slow, rtol=1e-10)


# ---- passes ----


@pytest.mark.parametrize("name", ["compressed", "original", "plain rows", "many samples"])
def test_passes_are_linear_regression(name):
    rng = np.random.default_rng(5)
    groups = groups_named(name, rng)
    layout = logistic.LogisticTarget(
        groups, np.arange(groups.n_samples) % 2, 2, logistic.Logistic()
    ).layout
    first = [int(np.flatnonzero(groups.row_of == r)[0]) for r in range(groups.n_rows)]
    A, G = design_of(groups)[first], groups.n_groups
    for spread in (1.0, 3.0):
        precision = np.exp(rng.normal(size=groups.n_rows) * spread)
        linear = rng.normal(size=groups.n_rows) * 3
        variance, factor = np.exp(rng.normal(size=(2, G)) * spread)
        nodes = np.full((G, 8), np.nan)
        nodes[:, :2] = 0
        nodes[:, 2] = variance
        nodes[layout.owner, 0], nodes[layout.owner, 1] = precision, linear
        slope, kind = np.ones(G), rng.permutation(G).astype(np.int32)
        s = np.empty((40_000, G))
        found = shims.shim_forest(
            layout.parent, nodes, factor, kind, slope, s, rng.bit_generator.capsule
        )
        exact, slopes = twin.log_density(A, precision, linear, variance)
        assert found == pytest.approx(exact, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(slope[kind] - 1, factor * slopes, rtol=1e-9, atol=1e-10)
        # the draws have the mean and the covariance of the posterior
        root = np.linalg.cholesky((A.T * precision) @ A + np.diag(1 / variance))
        mean = np.linalg.solve(root.T, np.linalg.solve(root, A.T @ linear))
        white = (s - mean) @ root
        assert stats.kstest(white.ravel(), "norm", method="asymp").pvalue > ALARM
        covariance = white.T @ white / len(s)
        limit = stats.norm.isf(ALARM / G**2) * np.sqrt((1 + np.eye(G)) / len(s))
        assert (np.abs(covariance - np.eye(G)) < limit * 1.05).all()


def test_slopes_are_those_of_the_density():
    rng = np.random.default_rng(6)
    A = design_of(sequences(rng))
    precision, linear = np.exp(rng.normal(size=len(A))), rng.normal(size=len(A))
    variance = np.exp(rng.normal(size=A.shape[1]))
    _, slopes = twin.log_density(A, precision, linear, variance)
    for g, exact in enumerate(slopes):
        step = np.zeros(len(variance))
        step[g] = 1e-5 * variance[g]
        up, down = (
            twin.log_density(A, precision, linear, variance + sign * step)[0] for sign in (1, -1)
        )
        assert (up - down) / (2 * step[g]) == pytest.approx(exact, rel=1e-5, abs=1e-8)


# ---- the move ----


def test_which_groups_are_a_tree(rng):
    for name, is_tree in (("compressed", True), ("original", True), ("features", False),
                          ("arbitrary", False)):  # fmt: skip
        groups = groups_named(name, rng)
        for classes in (2, 3):
            model = logistic.LogisticTarget(
                groups, np.arange(groups.n_samples) % classes, classes, logistic.Logistic()
            )
            assert (model.moves == "tree") == (is_tree and classes == 2)
            assert len(model.layout.parent) == is_tree * groups.n_groups


def chain_of(prior, real, burn_in=60, iterations=120):
    rng = np.random.default_rng(7)
    groups = sequences(rng, samples=40, length=6, order=6)
    settings = logistic.Logistic(prior=prior, burn_in=burn_in, iterations=iterations, thin=1)
    if real:
        model = logistic.GaussianTarget(groups, rng.normal(size=40), settings)
    else:
        model = logistic.LogisticTarget(groups, rng.integers(0, 2, 40), 2, settings)
    return logistic.Chain(model, np.random.default_rng(8))


@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
@pytest.mark.parametrize("real", [False, True])
def test_chains_learn_first_and_go_on_from_their_state(prior, real):
    whole, parts = chain_of(prior, real), chain_of(prior, real)
    expected = whole.advance(120)["log_sigma"]
    found = []
    for block in (1, 24, 20, 30, 45):  # within the thirds, and beyond
        found.append(parts.advance(block)["log_sigma"])
        state, parts = parts.state(), chain_of(prior, real)
        parts.restore(state)
    np.testing.assert_array_equal(np.concatenate(found), expected)
    learned = whole.place["tuning"].copy()
    assert learned[0] == 60 * tree.ROUNDS
    assert (learned[2:8] > 1).all()
    whole.advance(5)
    np.testing.assert_array_equal(whole.place["tuning"], learned)


@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
def test_most_trajectories_are_accepted(prior):
    chain = chain_of(prior, False, burn_in=750, iterations=2000)
    chain.advance(300)
    moved = 0
    for _ in range(300):
        before = chain.place["log_sigma"].copy()
        chain.kernel.sweep_tree(chain.rng.bit_generator.capsule)
        moved += np.ptp((chain.place["log_sigma"] - before)[1:]) > 1e-9  # not shifted alone
    assert 0.6 * 300 < moved < 0.97 * 300
