"""The Gaussian process against sums over patterns, quadrature, and the compressed model."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from scipy import linalg, special, stats
from statistical import ALARM

from thesiskit._kernels import splitting as splitting_kernel
from thesiskit.errors import DataError, UserError
from thesiskit.files import read_draws, write_draws
from thesiskit.models import logistic, splitting
from thesiskit.models import process as gp
from thesiskit.models import process as process_inputs
from thesiskit.models import process as sampler
from thesiskit.models.patterns import check_order, compress_features, compress_sequences
from thesiskit.models.process import Features

SIGMA = (2.0, 1.0, 0.9, 0.7, 1.2, 0.6)


def settings(**changes):
    return logistic.Logistic(prior="gaussian", **changes)


def generators(seed, count=2):
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(count)]


def normal_posterior(
    X, y, X_test, order: int, sigma, noise: float, patterns: str = "features"
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (T,) and covariance (T, T) of l at X_test given y (N,) = l(X) + noise * N(0, 1).

    sigma (O + 1,).  Unseen features of two test cases count as different.  Digits are lost where
    noise is below 1e-7 of the standard deviation of l.
    """
    words = gp.KINDS[patterns].words
    X, X_test = gp.as_codes(X, *words), gp.as_codes(X_test, f"test {words[0]}", words[1])
    check_order(order, X.shape[1], patterns)
    logistic.check_sigma(sigma, order)
    prior = gp.covariance(gp.agreement(X, patterns=patterns), sigma, patterns)
    cross = gp.covariance(gp.agreement(X_test, X, patterns), sigma, patterns)
    factor = linalg.cho_factor(prior + noise**2 * np.eye(len(X)))
    mean = cross @ linalg.cho_solve(factor, np.asarray(y, dtype=float))
    own = gp.covariance(gp.agreement(X_test, patterns=patterns), sigma, patterns)
    return mean, own - cross @ linalg.cho_solve(factor, cross.T)


def predict(draws, tests, rng, split_draws=1):
    return gp.Posterior(draws.process, *draws.flat).predict(tests, rng, split_draws)


def sampled(X, response, n_classes, order, settings, generators, patterns="sequences", **options):
    process = gp.Process(X, response, n_classes, order, settings, patterns)
    return gp.sample(process, generators, **options)


def cases(seed, n_states=2, n_classes=2, n=25, length=5):
    """Repeated and similar histories, and tests: seen, seen in part, with a state never seen."""
    rng = np.random.default_rng(seed)
    X = rng.integers(n_states, size=(n, length))
    X[: n // 5] = X[-1]
    X[n // 5 : n // 2, 2:] = X[0, 2:]
    y = (X[:, -1] + (rng.random(n) < 0.35) * rng.integers(1, n_classes, size=n)) % n_classes
    known = {tuple(x) for x in X}
    new = [x for x in itertools.product(range(n_states), repeat=length) if x not in known]
    tests = np.concatenate([X[[0, -1, n // 2]], np.array(new)[:: max(1, len(new) // 5)][:5]])
    tests = np.concatenate([tests, tests[:4]])
    tests[-4:, [4, 2, 1, 0]] = np.where(np.eye(4, dtype=bool), -1, tests[-4:, [4, 2, 1, 0]])
    return X, y, tests


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
    np.testing.assert_allclose(gp.covariance(gp.agreement(X, Y), sigma), expected, rtol=1e-13)
    for x, row in zip(X, gp.agreement(X, Y), strict=True):
        for y, length_shared in zip(Y, row, strict=True):
            past = [o for o in range(length + 1) if (x[length - o :] == y[length - o :]).all()]
            assert length_shared == max(past)
    np.testing.assert_array_equal(gp.agreement(X), gp.agreement(X, X))


@pytest.mark.parametrize(("n_states", "order"), [(2, 6), (3, 5), (5, 2), (4, 1), (2, 0)])
def test_steps_have_the_covariance_of_differences(rng, n_states, order):
    X = rng.integers(n_states, size=(40, 6))
    process = gp.Process(X, np.arange(40) % 2, 2, order, settings())
    log_sigma = rng.normal(size=order + 1)
    C = gp.covariance(gp.agreement(process.rows), np.exp(log_sigma))
    difference = np.eye(len(C)) - np.eye(len(C), k=-1)
    expected = difference @ C @ difference.T
    got = process.inputs.step_covariance(log_sigma)
    np.testing.assert_allclose(got, expected, atol=1e-13 * C.max(), rtol=0)
    assert process.cases.sum() == 40
    assert len(process.rows) == len(np.unique(X[:, 6 - order :], axis=0)) if order else 1


def test_no_jitter_is_needed_at_any_sigma(rng):
    X = rng.integers(2, size=(300, 12))
    process = gp.Process(X, X[:, 0], 2, 12, settings())
    for _ in range(100):
        log_sigma = rng.uniform(-30, 30, size=13)
        factor = process.factor(log_sigma)
        D = process.inputs.step_covariance(log_sigma)
        size = np.sqrt(np.diag(D))
        np.testing.assert_allclose(
            factor @ factor.T / np.outer(size, size), D / np.outer(size, size), atol=1e-12
        )
        assert np.linalg.cond(D / np.outer(size, size)) < 1e6


def conditional(process, latent, log_sigma, X):
    """Mean and variance of l(x) given latent, from the textbook."""
    sigma = np.exp(log_sigma)
    C = gp.covariance(gp.agreement(process.rows), sigma)
    k = gp.covariance(gp.agreement(X[:, X.shape[1] - process.order :], process.rows), sigma)
    weights = np.linalg.solve(C, k.T)
    return latent @ weights, (sigma**2).sum() - (k.T * weights).sum(axis=0)


@pytest.mark.parametrize("order", [5, 3, 0])
def test_predictions_are_the_textbooks(rng, order):
    X, y, tests = cases(3, n_states=3)
    process = gp.Process(X, y, 2, order, settings())
    shape = (2, 3, 1, len(process.rows))
    draws = gp.Draws(rng.normal(size=shape), rng.normal(size=(2, 3, order + 1)), None, process, {})
    expected = 0
    z = np.arange(-9, 9, 0.02)
    weight = np.exp(-0.5 * z**2)
    for latent, log_sigma in zip(*draws.flat, strict=True):
        mean, variance = conditional(process, latent[0], log_sigma, tests)
        sd = np.sqrt(np.maximum(variance, 0))
        expected += special.expit(mean[:, None] + sd[:, None] * z) @ weight / weight.sum() / 6
    got = predict(draws, tests, rng)
    np.testing.assert_allclose(got, np.stack([1 - expected, expected], axis=1), atol=1e-9)


# --- features -----------------------------------------------------------------------------------


def test_splits_in_parts_are_the_whole(monkeypatch, rng):
    """However the loop over splits is cut, each is drawn once, in the same order."""
    X, y, tests = cases(3, 3, 3)
    process = gp.Process(X, y, 3, 3, settings())
    latent = rng.normal(size=(2, process.sets, len(process.rows)))
    posterior = gp.Posterior(process, latent, rng.normal(size=(2, 4)))
    whole = posterior.predict(tests, np.random.default_rng(1), 11)
    for work in (100, 3):  # a split alone is more work than 3
        monkeypatch.setattr(splitting, "WORK", work)
        found = posterior.predict(tests, np.random.default_rng(1), 11)
        np.testing.assert_allclose(found, whole, rtol=1e-12)


def table(rng, n, p, n_values, missing=0.0):
    """Features some rows share, with codes missing at random."""
    X = rng.integers(n_values, size=(n, p))
    X[: n // 3, : p // 2] = X[0, : p // 2]
    X[rng.random(X.shape) < missing] = -1
    return X


def patterns_of(X, order, name=""):
    """All patterns up to an order that each case expresses, as sets of (feature, value)."""
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
    """Sum of sigma^2 over all patterns that both cases express, (n, m); unseen values differ."""
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
        shared = gp.agreement(one, other, "features")
        expected = by_patterns(one, other, sigma)
        np.testing.assert_allclose(gp.covariance(shared, sigma, "features"), expected, rtol=1e-13)
    shared = gp.agreement(Y, patterns="features")
    expected = by_patterns(Y, Y, sigma, "")  # each unseen value is its own
    np.testing.assert_allclose(gp.covariance(shared, sigma, "features"), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("n", "p", "n_values", "order", "missing"),
    [(40, 4, 2, 4, 0), (40, 5, 3, 2, 0), (60, 5, 2, 1, 0.2), (30, 4, 3, 4, 0.2), (9, 3, 2, 0, 0.2)],
)
def test_steps_of_features_have_their_covariance(rng, n, p, n_values, order, missing):
    X = table(rng, n, p, n_values, missing)
    inputs = Features(X, order)
    np.testing.assert_array_equal(inputs.rows[inputs.row_of], X)
    log_sigma = rng.normal(size=order + 1)
    C = by_patterns(inputs.rows, inputs.rows, np.exp(log_sigma))
    B = inputs.basis
    assert B.shape[1] == np.linalg.matrix_rank(C)
    np.testing.assert_allclose(B.T @ B, np.eye(B.shape[1]), atol=1e-12)
    D = inputs.step_covariance(log_sigma)
    np.testing.assert_allclose(D, B.T @ C @ B, atol=1e-12 * C.max(), rtol=0)
    np.testing.assert_allclose(B @ D @ B.T, C, atol=1e-12 * C.max(), rtol=0)
    steps = rng.normal(size=(2, B.shape[1]))
    np.testing.assert_allclose(inputs.steps(inputs.latent(steps)), steps, atol=1e-12)


@pytest.mark.parametrize(("p", "n_values", "order"), [(7, 3, 7), (6, 2, 2), (9, 2, 5), (20, 4, 9)])
def test_features_need_no_jitter_at_any_sigma(rng, p, n_values, order):
    X = table(rng, 150, p, n_values)
    X[:, 0], X[:, 1] = 1, X[:, 2]
    inputs = Features(X, order)
    for width in np.linspace(0, 30, 60):
        D = inputs.step_covariance(rng.uniform(-width, width, size=order + 1))
        size = np.sqrt(np.diag(D))
        assert np.linalg.cond(D / np.outer(size, size)) < 100


def test_digits_that_missing_features_cost_are_noticed(rng):
    X = table(rng, 60, 6, 3, 0.5)
    process = gp.Process(X, np.arange(60) % 2, 2, 6, settings(), "features")
    for slope in (-10, -2, 0, 0.5):
        assert process.factor(slope * np.arange(7.0)) is not None
    assert process.factor(10 * np.arange(7.0)) is None
    told = settings(sigma=np.exp(10 * np.arange(4.0)))
    process = gp.Process(X, np.arange(60) % 2, 2, 3, told, "features")
    with pytest.raises(UserError, match="fewer than six digits"):
        gp.Chain(process, rng)


def solve_exactly(A, B):
    """The solution of A X = B in fractions, by elimination; A (n, n) is positive definite."""
    A = np.concatenate([A, B], axis=1)
    for i in range(len(A)):
        A[i] = A[i] / A[i, i]
        for j in range(len(A)):
            if j != i:
                A[j] = A[j] - A[j, i] * A[i]
    return A[:, len(A) :]


@pytest.mark.parametrize(
    ("sigma", "missing"),
    [
        ((10, 1e7, 1e-2, 3), False), ((10, 1e-2, 1e7, 1e-3), False),
        ((10, 1e6, 1e3, 1e-3), False), ((10, 1e-3, 1e-2, 1e2), True), ((10, 1, 0.5, 2), True),
    ],
)  # fmt: skip
def test_predictions_of_features_keep_their_digits(rng, sigma, missing):
    X = np.array(list(itertools.product([0, 1], [0, 1, 2], [0, 1])))
    more = [[1, -1, 0], [-1, -1, -1]] if missing else []
    tests = np.array([*X[:2], [0, 1, -2], [-2, -2, -2], *X[9:], *more])
    X = X[[0, 1, 2, 5, 7, 8, 10]]  # order p: the values themselves are independent
    inputs = Features(X, 3)
    process = gp.Process(X, np.arange(7) % 2, 2, 3, settings(), "features")
    exactly = [Fraction(s) for s in sigma]
    C, k = by_patterns(X, X, exactly), by_patterns(X, tests, exactly)
    log_sigma = np.log(sigma)
    steps = process.factor(log_sigma) @ rng.normal(size=7)
    latent = np.array([[Fraction(v) for v in inputs.latent(steps[None])[0]]]).T
    solved = solve_exactly(C, np.concatenate([k, latent], axis=1))
    mean = (k.T @ solved[:, -1]).astype(float)
    own = by_patterns(tests, tests, exactly, "").diagonal()
    variance = (own - (k * solved[:, :-1]).sum(axis=0)).astype(float)
    index, part, rest = inputs.towards(tests)
    cross, variance_left = rest(log_sigma)
    D = inputs.step_covariance(log_sigma)
    got = part @ steps + cross @ np.linalg.solve(D, steps)
    left = variance_left - (cross.T * np.linalg.solve(D, cross.T)).sum(axis=0)
    largest = np.abs(latent.astype(float)).max()
    np.testing.assert_allclose(got[index], mean, rtol=1e-7, atol=1e-12 * largest)
    np.testing.assert_allclose(left[index], variance, rtol=1e-7)
    assert (variance[:2] == 0).all()


@pytest.mark.parametrize(("order", "missing"), [(4, 0.15), (2, 0.15), (1, 0), (0, 0)])
def test_predictions_of_features_are_the_textbooks(rng, order, missing):
    X = table(rng, 30, 4, 3, missing)
    tests = np.concatenate([X[:4], table(rng, 9, 4, 3, 0.1)])
    tests[-4:][rng.random((4, 4)) < 0.4] = -2
    process = gp.Process(X, np.arange(30) % 2, 2, order, settings(), "features")
    log_sigma, z = rng.normal(size=(2, order + 1)), np.arange(-9, 9, 0.02)
    latents, expected = [], 0
    for one in log_sigma:
        C = by_patterns(process.rows, process.rows, np.exp(one))
        k = by_patterns(process.rows, tests, np.exp(one))
        latents.append(root(C) @ rng.normal(size=len(C)))
        inverse = np.linalg.pinv(C, rcond=1e-11, hermitian=True)
        own = by_patterns(tests, tests, np.exp(one), "").diagonal()
        sd = np.sqrt(np.maximum(own - (k * (inverse @ k)).sum(axis=0), 0))
        at = (latents[-1] @ inverse @ k)[:, None] + sd[:, None] * z
        weight = np.exp(-0.5 * z**2)
        expected += special.expit(at) @ weight / weight.sum() / 2
    got = gp.Posterior(process, np.array(latents)[:, None, :], log_sigma).predict(tests, rng)
    # the textbook's variance of a case seen in training is 0 only to rounding
    np.testing.assert_allclose(got, np.stack([1 - expected, expected], axis=1), atol=1e-7)


def by_importance(X, y, K, told, order, tests, batches, draws, rng):
    """Predictions (batches, T, K): draws from the prior, weighted by the likelihood."""
    rows, sets = np.concatenate([X, tests]), 1 if K == 2 else K
    roots = [root(by_patterns(rows, rows, one, "")) for one in np.eye(order + 1)]
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


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_features_by_importance(K, fixed):
    X = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 0], [0, -1, 1], [1, 0, 0], [0, -1, 1]])
    y = np.array([1, 1, 0, 0, 1, 0, K - 1])
    tests = np.array([[0, 0, 1], [1, 0, 0], [0, -1, 1], [1, 0, 1], [0, -2, 1], [-1, -1, -1]])
    changes = {"sigma": (1.0, 0.8, 1.2, 0.9)} if fixed else {
        "sigma_0": 1.5, "sigma_shape": 2.0, "sigma_mode": 0.8,
    }  # fmt: skip
    told = settings(iterations=2050 if fixed else 1050, burn_in=50, thin=1, **changes)
    draws = sampled(X, y, K, 3, told, generators(61), patterns="features")
    mine = by_batches(draws, tests, 25, np.random.default_rng(62), 4)
    theirs = by_importance(X, y, K, told, 3, tests, 25, 8000, np.random.default_rng(63))
    agree(mine, theirs)


@pytest.mark.parametrize(("order", "noise"), [(3, 0.5), (1, 2.0), (0, 0.1)])
def test_normal_posterior_is_that_of_the_coefficients(rng, order, noise):
    X, tests = table(rng, 20, 3, 3, 0.1), table(rng, 8, 3, 3, 0.1)
    tests[-2:, 1] = -2
    y, sigma = rng.normal(size=20), rng.gamma(2, size=order + 1)
    mean, cov = normal_posterior(X, y, tests, order, sigma, noise)
    sets = patterns_of(X, order), patterns_of(tests, order, "unseen")
    patterns = sorted(set.union(*sets[0], *sets[1]), key=str)
    train, test = (np.array([[a in one for a in patterns] for one in part]) * 1.0 for part in sets)
    variance = np.array([sigma[len(a)] ** 2 for a in patterns])
    of_coefficients = np.linalg.inv(train.T @ train / noise**2 + np.diag(1 / variance))
    expected = test @ of_coefficients @ train.T @ y / noise**2
    np.testing.assert_allclose(mean, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(cov, test @ of_coefficients @ test.T, rtol=1e-8, atol=1e-10)
    with pytest.raises(UserError, match=f"sigma needs {order + 1} values"):
        normal_posterior(X, y, tests, order, (*sigma, 1), noise)
    with pytest.raises(UserError, match="order 4 is above the number of features, 3"):
        normal_posterior(X, y, tests, 4, sigma, noise)


# --- the sampler leaves the posterior as it is --------------------------------------------------


def root(C):
    """A matrix whose square, with its transpose, is C."""
    size, vectors = np.linalg.eigh(C)
    return vectors * np.sqrt(np.maximum(size, 0))


HISTORIES = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1]])
FEATURES = np.array(  # two columns alike, a feature missing
    [[0, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2], [1, 1, 2, -1], [1, 1, 2, 2]]
)


def joint_scores(rng, K, replicates, changes, sabotage=None, patterns="sequences"):
    """Draw (sigma, latent, responses), update, and compare bounded functions before and after."""
    X = HISTORIES if patterns == "sequences" else FEATURES
    process = gp.Process(X, np.arange(6) % K, K, 3, settings(**changes), patterns)
    told = process.settings
    chain = gp.Chain(process, rng)
    if sabotage:
        sabotage(process)
    differences = []

    def functions():
        f, s = process.inputs.latent(chain.steps), np.tanh((chain.log_sigma[1:] + 1.5) / 2)
        match = (
            np.tanh(f) * (process.cases - process.cases.mean(axis=1, keepdims=True)).T[-len(f) :]
        )
        match = np.append(match.sum(axis=0), match.sum())
        near, far = np.tanh(np.diff(f[0])), np.tanh(f[-1] / 5)
        return np.concatenate(
            [s, s**2, match, near, near**2, far**2, near[1] * s, near[3] ** 2 * s]
        )

    for _ in range(replicates):
        log_sigma = np.log(SIGMA[:4])
        if told.sigma is None:
            rate = (told.sigma_shape + 1) * told.sigma_mode / np.arange(1, 4)
            log_sigma[1:] = np.log(rate / rng.gamma(told.sigma_shape, size=3))
        if patterns == "sequences":
            C = gp.covariance(gp.agreement(process.rows), np.exp(log_sigma))
        else:
            C = by_patterns(process.rows, process.rows, np.exp(log_sigma))
        f = rng.normal(size=(process.sets, len(C))) @ root(C).T
        eta = np.concatenate([np.zeros_like(f), f]) if K == 2 else f
        for r, p in enumerate(special.softmax(eta, axis=0).T):
            process.cases[r] = rng.multinomial(1 + r % 2, p)
        chain.set(process.inputs.steps(f), log_sigma)
        before = functions()
        for _ in range(3):
            chain.update_latent()
        if told.sigma is None:
            for order in (1, 2, 3):
                chain.update_sigma(order, whitened=False)
                chain.update_sigma(order, whitened=True)
        differences.append(functions() - before)
    differences = np.array(differences)
    spread = differences.std(axis=0)
    moved = spread > 0
    return differences[:, moved].mean(axis=0) / spread[moved] * np.sqrt(replicates)


def p_value(z):
    """Smallest of two-sided p-values, times how many."""
    return 2 * stats.norm.sf(np.abs(z).max()) * len(z)


JOINT = [(2, {"sigma_shape": 2.0, "sigma_mode": 0.5}), (3, {"sigma_shape": 1.0, "sigma_mode": 0.3})]


@pytest.mark.parametrize("patterns", ["sequences", "features"])
@pytest.mark.parametrize(("K", "changes"), JOINT)
def test_updates_leave_the_joint_distribution(K, changes, patterns):
    rng = np.random.default_rng(11)
    assert p_value(joint_scores(rng, K, 800, changes, patterns=patterns)) > ALARM
    fixed = joint_scores(rng, K, 1500, {"sigma": SIGMA[:4]}, patterns=patterns)
    assert p_value(fixed) > ALARM


@pytest.mark.slow
@pytest.mark.parametrize("patterns", ["sequences", "features"])
@pytest.mark.parametrize(("K", "changes"), JOINT)
def test_updates_leave_the_joint_distribution_longer(K, changes, patterns):
    rng = np.random.default_rng(12)
    assert p_value(joint_scores(rng, K, 20_000, changes, patterns=patterns)) > ALARM


def wrong_rate(process):
    right = process.log_prior
    process.log_prior = lambda order, x: right(order, x) - 0.3 * np.exp(-x) / order


def wrong_likelihood(process):
    right = process.log_likelihood
    process.log_likelihood = lambda steps: 0.5 * right(steps)


def wrong_covariance(process):
    process.inputs.counts[1:] *= 4


@pytest.mark.parametrize(
    ("sabotage", "patterns"),
    [
        (wrong_rate, "sequences"), (wrong_likelihood, "sequences"), (wrong_rate, "features"),
        (wrong_likelihood, "features"), (wrong_covariance, "features"),
    ],
)  # fmt: skip
def test_the_joint_test_notices_mistakes(sabotage, patterns):
    z = joint_scores(np.random.default_rng(13), 2, 800, JOINT[0][1], sabotage, patterns)
    assert p_value(z) < ALARM


# --- quadrature ---------------------------------------------------------------------------------


def batch_error(values):
    """Mean and its standard error, from batches (B, ...)."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def by_batches(draws, tests, batches, rng, split_draws=1):
    """Predictions (batches, T, K) from consecutive draws."""
    parts = []
    for latent, log_sigma in zip(draws.latent, draws.log_sigma, strict=True):
        for f, s in zip(np.split(latent, batches), np.split(log_sigma, batches), strict=True):
            parts.append(gp.Posterior(draws.process, f, s).predict(tests, rng, split_draws))
    return np.array(parts)


def compressed_batches(
    X, y, K, order, told, tests, batches, rngs, *, compress=True, splits=1, patterns="sequences"
):
    """The same of the compressed model, or the original one."""
    compressed = compress_sequences if patterns == "sequences" else compress_features
    groups = compressed(X, order, compress=compress)
    draws = logistic.sample(logistic.Model(groups, y, K, told), rngs)
    shared = groups.shared(tests)
    cases = len(shared.whole_begin) - 1
    parts = []
    for coefficient, log_sigma in zip(draws.coefficient, draws.log_sigma, strict=True):
        for c, s in zip(np.split(coefficient, batches), np.split(log_sigma, batches), strict=True):
            variance = np.exp(2 * s)
            widths = (
                np.ascontiguousarray(variance @ counts.T.astype(float))
                for counts in (shared.shared_counts, shared.other_counts, shared.new_counts)
            )
            out = np.zeros((cases, K))
            splitting_kernel.Shares(shared, *widths, False).add_probabilities(
                np.ascontiguousarray(c), splits, out, rngs[0].bit_generator.capsule
            )
            parts.append(out[shared.case_of] / len(c) / splits)
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

    counts (2, 2): cases of each state and class, all positive.  sigma_1 a number, or (shape, mode).
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


def check_two_rows(sigma_1, mine, theirs):
    counts = np.array([[4, 1], [1, 2]])
    state, response = (np.repeat(part, counts.ravel()) for part in ([0, 0, 1, 1], [0, 1, 0, 1]))
    X, tests = state[:, None], np.array([[0], [1], [-1]])
    exact = exact_two_rows(counts, 3.0, sigma_1)
    fixed = {"sigma": (3.0, sigma_1)} if np.ndim(sigma_1) == 0 else {"sigma_0": 3.0}
    told = settings(iterations=mine + 100, burn_in=100, thin=1, **fixed)
    draws = sampled(X, response, 2, 1, told, generators(21))
    agree(by_batches(draws, tests, 25, None), exact)
    told = settings(iterations=theirs + 1000, burn_in=1000, thin=2, **fixed)
    rngs = generators(22)
    agree(compressed_batches(X, response, 2, 1, told, tests, 25, rngs, splits=4), exact)


@pytest.mark.parametrize("sigma_1", [0.8, (0.25, 0.1)])
def test_two_rows_by_quadrature(sigma_1):
    check_two_rows(sigma_1, 500, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("sigma_1", [0.8, (0.25, 0.1)])
def test_two_rows_by_quadrature_longer(sigma_1):
    check_two_rows(sigma_1, 10_000, 1_000_000)


def test_one_row_by_quadrature():
    told = settings(iterations=1100, burn_in=100, thin=1, sigma=(1.5, 2.0))
    draws = sampled(np.zeros((4, 1), dtype=int), [0, 1, 1, 1], 2, 1, told, generators(23, 1))
    assert draws.latent.shape == (1, 1000, 1, 1)
    f = np.arange(-30, 30, 0.01)
    density = np.exp(-0.5 * f**2 / (1.5**2 + 4)) * special.expit(-f) * special.expit(f) ** 3
    one = (density * special.expit(f)).sum() / density.sum()
    agree(by_batches(draws, [[0]], 50, None), np.array([[1 - one, one]]))


# --- the compressed model -----------------------------------------------------------------------


@pytest.mark.parametrize(("n_states", "K"), [(2, 2), pytest.param(3, 3, marks=pytest.mark.slow)])
def test_the_compressed_model_is_this_process(n_states, K):
    X, y, tests = cases(10 * n_states + K, n_states, K)
    told = settings(iterations=1050, burn_in=50, thin=2, sigma=SIGMA)
    rng = np.random.default_rng(31)
    draws = sampled(X, y, K, 5, told, generators(32))
    mine = by_batches(draws, tests, 25, rng, 4)
    told = settings(iterations=10_500, burn_in=500, thin=4, sigma=SIGMA)
    for seed, compress in ((33, True), (34, False)):
        theirs = compressed_batches(
            X, y, K, 5, told, tests, 25, generators(seed), compress=compress, splits=4
        )
        agree(mine, theirs)


def feature_cases(seed, n_values, K):
    """Rows seen, seen in part, with values missing, and never seen; some training ones miss."""
    X, y, tests = cases(seed, n_values, K)
    X[1::9, 3] = -1
    tests[-1, 0] = -2
    return X, y, tests


FEATURE_SIGMA = (1.5, 0.6, 0.4, 0.5, 0.3, 0.8)


@pytest.mark.parametrize(
    ("n_values", "K", "order"), [(2, 2, 5), pytest.param(3, 3, 3, marks=pytest.mark.slow)]
)
def test_the_compressed_model_of_features_is_this_process(n_values, K, order):
    X, y, tests = feature_cases(50 + n_values, n_values, K)
    sigma = FEATURE_SIGMA[: order + 1]
    told = settings(iterations=1050, burn_in=50, thin=2, sigma=sigma)
    rng = np.random.default_rng(51)
    draws = sampled(X, y, K, order, told, generators(52), patterns="features")
    mine = by_batches(draws, tests, 25, rng, 4)
    told = settings(iterations=10_500, burn_in=500, thin=4, sigma=sigma)
    for seed, compress in ((53, True), (54, False)):
        theirs = compressed_batches(
            X, y, K, order, told, tests, 25, generators(seed), compress=compress, splits=4,
            patterns="features",
        )  # fmt: skip
        agree(mine, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize(("n_values", "K", "order"), [(2, 2, 5), (3, 3, 5), (3, 2, 2)])
def test_the_compressed_model_of_features_is_this_process_longer(n_values, K, order, fixed):
    X, y, tests = feature_cases(50 + n_values, n_values, K)
    options = {"sigma": FEATURE_SIGMA[: order + 1] if fixed else None}
    if not fixed:  # the process cannot take the thesis's prior where features are missing
        options |= {"sigma_shape": 2.5, "sigma_mode": 0.5}
    told = settings(
        iterations=10_500 if fixed else 4200, burn_in=500 if fixed else 200, thin=4, **options
    )
    rng = np.random.default_rng(61)
    draws = sampled(X, y, K, order, told, generators(62), patterns="features")
    mine = by_batches(draws, tests, 25, rng, 4)
    told = settings(iterations=201_000, burn_in=1000, thin=20, **options)
    for seed, compress in ((63, True), (64, False)):
        theirs = compressed_batches(
            X, y, K, order, told, tests, 25, generators(seed), compress=compress, splits=4,
            patterns="features",
        )  # fmt: skip
        agree(mine, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize(("n_states", "K", "order"), [(2, 2, 5), (3, 3, 5), (3, 2, 3), (2, 3, 4)])
def test_the_compressed_model_is_this_process_longer(n_states, K, order, fixed):
    X, y, tests = cases(10 * n_states + K, n_states, K)
    sigma = SIGMA[: order + 1] if fixed else None
    told = settings(
        iterations=10_500 if fixed else 4200, burn_in=500 if fixed else 200, thin=4, sigma=sigma
    )
    mine = by_batches(
        sampled(X, y, K, order, told, generators(42)), tests, 25, np.random.default_rng(41), 4
    )
    told = settings(iterations=401_000, burn_in=1000, thin=20, sigma=sigma)
    for seed, compress in ((43, True), (44, False)):
        theirs = compressed_batches(
            X, y, K, order, told, tests, 25, generators(seed), compress=compress, splits=4
        )
        agree(mine, theirs)


# --- running, and mistakes ----------------------------------------------------------------------


@pytest.mark.parametrize("patterns", ["sequences", "features"])
@pytest.mark.parametrize("K", [2, 3])
def test_chains_go_on_where_they_stopped(K, patterns, tmp_path):
    X, y, tests = cases(5, 3, K)

    def run(iterations, seed, **more):
        told = settings(iterations=iterations, thin=3, burn_in=more.pop("burn_in", 7))
        return sampled(X, y, K, 4, told, generators(seed), patterns=patterns, **more)

    long, short = run(60, 51), run(30, 51)
    write_draws(tmp_path / "draws.nc", short.as_arviz({}, {}))
    stored = gp.saved_from(read_draws(tmp_path / "draws.nc"))
    for saved in (short.state, stored):
        again = run(60, 52, saved=saved)
        for name in sampler.KEPT:
            np.testing.assert_array_equal(getattr(again, name), getattr(long, name))
    assert long.latent.shape == (2, 17, 1 if K == 2 else 3, len(long.process.rows))
    assert long.log_sigma.shape == (2, 17, 5)
    assert long.log_likelihood.shape == (2, 17)
    assert (long.log_sigma[:, :, 0] == np.log(10)).all()
    assert [part.shape[0] for part in long.flat] == [34, 34]
    p = predict(long, tests, np.random.default_rng(1), 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(predict(long, tests, np.random.default_rng(1), 3), p)
    with pytest.raises(UserError, match="other data or settings"):
        run(60, 51, saved=stored, burn_in=8)
    with pytest.raises(UserError, match="there are 2 stored chains, not 1"):
        sampled(X, y, K, 4, settings(), generators(51, 1), saved=stored, patterns=patterns)
    with pytest.raises(UserError, match="have done 60 iterations, more than 30"):
        run(30, 51, saved=long.state)
    assert json.loads(str(short.state["state-0-model"]))["rows"] == len(long.process.rows)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"settings": logistic.Logistic()}, "has Gaussian priors; use prior: gaussian"),
        ({"order": 4}, "order 4 is above the length of the histories, 3"),
        ({"order": -1}, "order must not be negative"),
        ({"response": [0, 1]}, "3 histories but 2 responses"),
        ({"response": [0, 1, 2]}, "whole numbers from 0 to 1"),
        ({"response": [0.0, 1.0, 1.0]}, "whole numbers from 0 to 1"),
        ({"n_classes": 1}, "all of one class"),
        ({"X": [0, 1, 1]}, r"must be a table .* shape \(3,\)"),
        ({"X": [[0.5] * 3] * 3}, "histories must be whole numbers"),
        ({"X": [[0.5] * 3] * 3, "patterns": "features"}, "cases must be whole numbers"),
        ({"X": [[0, 1, -2]] * 3, "patterns": "features"}, "codes from 0, or -1: missing"),
        ({"patterns": "trees"}, "unknown patterns 'trees'; choose sequences or features"),
        ({"settings": settings(sigma=(1, 1))}, "sigma needs 3 values, of orders 0 to 2, got 2"),
    ],
)
def test_mistakes(changes, words):
    arguments = {
        "X": np.eye(3, dtype=int), "response": [0, 1, 1], "n_classes": 2, "order": 2,
        "settings": settings(iterations=3, burn_in=1, thin=1), "generators": generators(1, 1),
    }  # fmt: skip
    with pytest.raises((UserError, DataError), match=words):
        sampled(**arguments | changes)
    draws = sampled(**arguments)
    with pytest.raises(UserError, match="have 3 states, these 2"):
        predict(draws, np.zeros((2, 2), dtype=int), generators(1)[0])
    with pytest.raises(UserError, match="split_draws must be a whole number from 1"):
        predict(draws, np.zeros((2, 3), dtype=int), generators(1)[0], 0)


def test_too_many_histories(monkeypatch):
    monkeypatch.setattr(process_inputs, "MOST_ROWS", 2)
    with pytest.raises(UserError, match=r"3 distinct histories are more than 2.*lower order"):
        gp.Process(np.eye(3, dtype=int), [0, 1, 1], 2, 3, settings())
    with pytest.raises(UserError, match=r"3 distinct cases are more than 1.*lower order"):
        gp.Process(np.eye(3, dtype=int), [0, 1, 1], 2, 3, settings(), "features")
