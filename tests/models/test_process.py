"""Compressed models with Gaussian priors against a Gaussian process and quadrature."""

import itertools

import numpy as np
import pytest
from cases import only
from process import agreement, covariance
from scipy import special, stats
from statistical import ALARM

from thesiskit._kernels import splitting as splitting_kernel
from thesiskit.models import logistic
from thesiskit.models.patterns import compress_features, compress_sequences


def settings(**changes):
    return logistic.Logistic(prior="gaussian", **changes)


def generators(seed, count=2):
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(count)]


# --- covariance ---------------------------------------------------------------------------------


def expressed(X, patterns):
    """Which patterns (fixed states at the end, after zeros) each history expresses."""
    return np.array(
        [[all(a in (-1, b) for a, b in zip(p, x, strict=True)) for p in patterns] for x in X],
        dtype=float,
    )


def all_patterns(n_states, length, order):
    return [
        (-1,) * (length - o) + end
        for o in range(order + 1)
        for end in itertools.product(range(n_states), repeat=o)
    ]


@pytest.mark.parametrize(("n_states", "length", "order"), [(2, 4, 4), (3, 4, 2), (2, 3, 0)])
def test_covariance_is_the_sum_over_all_patterns(rng, n_states, length, order):
    X, Y = (rng.integers(n_states, size=(n, length)) for n in (12, 9))
    patterns = all_patterns(n_states, length, order)
    sigma = rng.gamma(1, size=order + 1)
    variance = np.array([sigma[sum(a >= 0 for a in p)] ** 2 for p in patterns])
    expected = (expressed(X, patterns) * variance) @ expressed(Y, patterns).T
    np.testing.assert_allclose(covariance(agreement(X, Y), sigma), expected, rtol=1e-13)
    for x, row in zip(X, agreement(X, Y), strict=True):
        for y, length_shared in zip(Y, row, strict=True):
            past = [o for o in range(length + 1) if (x[length - o :] == y[length - o :]).all()]
            assert length_shared == max(past)
    np.testing.assert_array_equal(agreement(X), agreement(X, X))


def table(rng, n, p, n_values, missing=0.0):
    """Features some rows share, with codes missing at random."""
    X = rng.integers(n_values, size=(n, p))
    X[: n // 3, : p // 2] = X[0, : p // 2]
    X[rng.random(X.shape) < missing] = -1
    return X


def patterns_of(X, order, name=""):
    """All patterns up to an order that each sample expresses, as sets of (feature, value)."""
    return [
        {
            pattern
            for o in range(order + 1)
            for pattern in itertools.combinations(
                [(j, f"{name}{i}" if a == -2 else a) for j, a in enumerate(x) if a != -1], o
            )
        }
        for i, x in enumerate(np.asarray(X).tolist())
    ]


def by_patterns(X, Y, sigma, name="other"):
    """Sum of sigma^2 over all patterns that both samples express, (n, m); unseen values differ."""
    order = len(sigma) - 1
    return np.array(
        [
            [sum(sigma[len(a)] ** 2 for a in mine & theirs) for theirs in patterns_of(Y, order)]
            for mine in patterns_of(X, order, name)
        ]
    )


@pytest.mark.parametrize(("p", "n_values", "order"), [(5, 2, 5), (4, 3, 2), (3, 4, 0), (0, 2, 0)])
def test_covariance_of_features_is_the_sum_over_all_patterns(rng, p, n_values, order):
    X, Y = table(rng, 14, p, n_values, 0.2), table(rng, 9, p, n_values, 0.2)
    Y[rng.random(Y.shape) < 0.3] = -2
    sigma = rng.gamma(1, size=order + 1)
    for one, other in ((X, Y), (Y, X), (X, X), (Y, Y)):
        shared = agreement(one, other, "features")
        expected = by_patterns(one, other, sigma)
        np.testing.assert_allclose(covariance(shared, sigma, "features"), expected, rtol=1e-13)
    shared = agreement(Y, patterns="features")
    expected = by_patterns(Y, Y, sigma, "")  # each unseen value is its own
    np.testing.assert_allclose(covariance(shared, sigma, "features"), expected, rtol=1e-13)


# --- the compressed model -----------------------------------------------------------------------


def root(C):
    """A matrix whose square, with its transpose, is C."""
    size, vectors = np.linalg.eigh(C)
    return vectors * np.sqrt(np.maximum(size, 0))


def by_importance(X, y, K, told, order, tests, batches, draws, rng, patterns="features"):
    """Predictions (batches, T, K): draws from the prior, weighted by the likelihood."""
    rows, sets = np.concatenate([X, tests]), 1 if K == 2 else K
    shared = agreement(rows, patterns=patterns)
    roots = [root(covariance(shared, one, patterns)) for one in np.eye(order + 1)]
    parts = []
    for _ in range(batches):
        sigma = np.tile(told.sigma or (told.sigma_0,) * (order + 1), (draws, 1))
        if told.sigma is None:
            rate = (told.sigma_shape + 1) * told.sigma_mode / np.arange(1, order + 1)
            sigma[:, 1:] = rate / rng.gamma(told.sigma_shape, size=(draws, order))
        f = sum(
            s[:, None, None] * (rng.normal(size=(draws, sets, len(rows))) @ part.T)
            for s, part in zip(sigma.T, roots, strict=True)
        )
        eta = np.concatenate([np.zeros_like(f), f], axis=1) if K == 2 else f
        p = special.softmax(eta, axis=1)
        weight = np.prod(p[:, y, np.arange(len(y))], axis=1)
        parts.append((weight[:, None, None] * p[:, :, len(X) :]).sum(axis=0).T / weight.sum())
    return np.array(parts)


def batch_error(values):
    """Mean and its standard error, from batches (B, ...)."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def compressed_batches(
    X, y, K, order, told, tests, batches, rngs, *, compress=True, splits=1, patterns="sequences"
):
    """The same of the compressed model, or the original one."""
    compressed = compress_sequences if patterns == "sequences" else compress_features
    groups = compressed(X, order, compress=compress)
    draws = logistic.sample(logistic.LogisticTarget(groups, y, K, told), rngs)
    shared = groups.shared(tests)
    samples = len(shared.whole_begin) - 1
    parts = []
    for coefficient, log_sigma in zip(draws.coefficient, draws.log_sigma, strict=True):
        for c, s in zip(np.split(coefficient, batches), np.split(log_sigma, batches), strict=True):
            variance = np.exp(2 * s)
            widths = (
                np.ascontiguousarray(variance @ counts.T.astype(float))
                for counts in (shared.shared_counts, shared.other_counts, shared.new_counts)
            )
            out = np.zeros((samples, K))
            splitting_kernel.Shares(shared, *widths, False).add_probabilities(
                np.ascontiguousarray(c), splits, out, rngs[0].bit_generator.capsule
            )
            parts.append(out[shared.sample_of] / len(c) / splits)
    return np.array(parts)


def scores(one, other=None):
    """z of each prediction of the first class but one, batches against batches or the exact."""
    mean, error = batch_error(one[:, :, 1:])
    exact = np.ndim(other) == 2
    mean_2, error_2 = (other[:, 1:], 0) if exact else batch_error(other[:, :, 1:])
    return (mean - mean_2) / np.hypot(error, error_2), max(error.max(), np.max(error_2))


def agree(one, other=None):
    z, error = scores(one, other)
    count = z.size
    df = len(one) - 1
    print(f"largest z {np.abs(z).max():.2f} of {count}, largest standard error {error:.5f}")
    assert np.abs(z).max() < 5
    assert 2 * stats.t.sf(np.abs(z).max(), df) * count > ALARM


def exact_two_rows(counts, sigma_0, sigma_1):
    """P(class 2) for states 0, 1 and an unseen one; order 1, K = 2.

    counts (2, 2): samples of each state and class, all positive.  sigma_1 a number, or (shape,
    mode).
    """
    beta = np.arange(-8 * sigma_0, 8 * sigma_0 + 0.01, 0.5)
    prior = np.exp(-0.5 * (beta / sigma_0) ** 2)
    if np.ndim(sigma_1):
        log_sigma = np.arange(-7, 14, 0.2)
        rate = (sigma_1[0] + 1) * sigma_1[1]
        weight = np.exp(-sigma_1[0] * log_sigma - rate * np.exp(-log_sigma))
    else:
        log_sigma, weight = np.log([sigma_1]), np.ones(1)
    f, z = np.arange(-50, 50, 0.2), np.arange(-9, 9, 0.2)
    total, answer = 0.0, np.zeros(3)
    for s, w in zip(np.exp(log_sigma), weight, strict=True):
        if s > 0.5:  # over f, where the likelihood vanishes at both ends
            place, kernel = f[None], np.exp(-0.5 * ((f - beta[:, None]) / s) ** 2) / s * 0.2
            cdf = special.ndtr((beta[:, None] - f) / s)
            unseen = (special.expit(f) * special.expit(-f) * cdf).sum(axis=1) * 0.2
        else:
            place, kernel = beta[:, None] + s * z, np.exp(-0.5 * z**2)[None] * 0.2
            unseen = (special.expit(place) * kernel).sum(axis=1) / kernel.sum()
        one, zero = special.expit(place), special.expit(-place)
        parts = [one ** c[1] * zero ** c[0] * kernel for c in counts]
        seen = [part.sum(axis=1) for part in parts]
        joint = w * prior * seen[0] * seen[1]
        total += joint.sum()
        answer[2] += (joint * unseen).sum()
        for r in (0, 1):
            answer[r] += (w * prior * (parts[r] * one).sum(axis=1) * seen[1 - r]).sum()
    return np.stack([1 - answer / total, answer / total], axis=1)


@pytest.mark.parametrize(
    ("K", "fixed", "patterns"),
    only(
        itertools.product((2, 3), (True, False), ("features", "sequences")),
        (2, False, "features"), (3, True, "sequences"),
    ),
)  # fmt: skip
def test_the_compressed_model_is_a_gaussian_process(K, fixed, patterns):
    X = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 1, 1]])
    y = np.array([1, 1, 0, 0, 1, 0, K - 1])
    tests = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 1], [1, 0, 1]])
    if patterns == "features":
        X[X[:, 1] == 1, 1] = -1
        tests = np.concatenate([tests, [[0, -1, 1], [0, -2, 1], [-1, -1, -1]]])
    changes = {"sigma": (1.0, 0.8, 1.2, 0.9)} if fixed else {
        "sigma_0": 1.5, "sigma_shape": 2.0, "sigma_mode": 0.8,
    }  # fmt: skip
    model = settings(iterations=10_500, burn_in=500, thin=4, **changes)
    exact = by_importance(X, y, K, model, 3, tests, 25, 8000, np.random.default_rng(63), patterns)
    for seed, compress in ((64, True), (65, False)):
        predictions = compressed_batches(
            X, y, K, 3, model, tests, 25, generators(seed), compress=compress,
            splits=4, patterns=patterns,
        )  # fmt: skip
        agree(predictions, exact)


@pytest.mark.parametrize("sigma_1", [0.8, (0.25, 0.1)])
@pytest.mark.parametrize("iterations", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_two_rows_by_quadrature(sigma_1, iterations):
    counts = np.array([[4, 1], [1, 2]])
    state, response = (np.repeat(part, counts.ravel()) for part in ([0, 0, 1, 1], [0, 1, 0, 1]))
    exact = exact_two_rows(counts, 3.0, sigma_1)
    fixed = {"sigma": (3.0, sigma_1)} if np.ndim(sigma_1) == 0 else {"sigma_0": 3.0}
    model = settings(iterations=iterations + 1000, burn_in=1000, thin=2, **fixed)
    tests, rngs = np.array([[0], [1], [-1]]), generators(22)
    predictions = compressed_batches(
        state[:, None], response, 2, 1, model, tests, 25, rngs, splits=4
    )
    agree(predictions, exact)
