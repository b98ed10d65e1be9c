"""The Gaussian process against sums over patterns, quadrature, and the compressed model."""

import itertools
import json

import numpy as np
import pytest
from scipy import special, stats
from statistical import ALARM

from thesiskit._kernels import splitting as splitting_kernel
from thesiskit.errors import DataError, UserError
from thesiskit.models import gaussian_process as gp
from thesiskit.models import logistic
from thesiskit.models.logistic import Settings
from thesiskit.models.patterns import compress_sequences

SIGMA = (2.0, 1.0, 0.9, 0.7, 1.2, 0.6)


def settings(**changes):
    return Settings(prior="gaussian", **changes)


def generators(seed, count=2):
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(count)]


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
    got = process.step_covariance(log_sigma)
    np.testing.assert_allclose(got, expected, atol=1e-13 * C.max(), rtol=0)
    assert process.cases.sum() == 40
    assert len(process.rows) == len(np.unique(X[:, 6 - order :], axis=0)) if order else 1


def test_no_jitter_is_needed_at_any_sigma(rng):
    X = rng.integers(2, size=(300, 12))
    process = gp.Process(X, X[:, 0], 2, 12, settings())
    for _ in range(100):
        log_sigma = rng.uniform(-30, 30, size=13)
        factor = process.factor(log_sigma)
        D = process.step_covariance(log_sigma)
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
    got = gp.predict(draws, tests, rng)
    np.testing.assert_allclose(got, np.stack([1 - expected, expected], axis=1), atol=1e-9)


# --- the sampler leaves the posterior as it is --------------------------------------------------


def joint_scores(rng, K, replicates, changes, sabotage=None):
    """Draw (sigma, latent, responses), update, and compare bounded functions before and after."""
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1]])
    process = gp.Process(X, np.arange(6) % K, K, 3, settings(**changes))
    told = process.settings
    chain = gp.Chain(process, rng)
    if sabotage:
        sabotage(process)
    differences = []

    def functions():
        f, s = np.cumsum(chain.steps, axis=1), np.tanh((chain.log_sigma[1:] + 1.5) / 2)
        match = (
            np.tanh(f) * (process.cases - process.cases.mean(axis=1, keepdims=True)).T[-len(f) :]
        )
        match = np.append(match.sum(axis=0), match.sum())
        near, far = np.tanh(chain.steps[0, 1:]), np.tanh(f[-1] / 5)
        return np.concatenate(
            [s, s**2, match, near, near**2, far**2, near[1] * s, near[3] ** 2 * s]
        )

    for _ in range(replicates):
        log_sigma = np.log(SIGMA[:4])
        if told.sigma is None:
            rate = (told.sigma_shape + 1) * told.sigma_mode / np.arange(1, 4)
            log_sigma[1:] = np.log(rate / rng.gamma(told.sigma_shape, size=3))
        C = gp.covariance(gp.agreement(process.rows), np.exp(log_sigma))
        f = np.linalg.cholesky(C) @ rng.normal(size=(process.sets, len(C), 1))
        f = f[:, :, 0]
        eta = np.concatenate([np.zeros_like(f), f]) if K == 2 else f
        for r, p in enumerate(special.softmax(eta, axis=0).T):
            process.cases[r] = rng.multinomial(1 + r % 2, p)
        chain.set(np.diff(f, axis=1, prepend=0), log_sigma)
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


@pytest.mark.parametrize(("K", "changes"), JOINT)
def test_updates_leave_the_joint_distribution(K, changes):
    rng = np.random.default_rng(11)
    assert p_value(joint_scores(rng, K, 800, changes)) > ALARM
    fixed = joint_scores(rng, K, 1500, {"sigma": SIGMA[:4]})
    assert p_value(fixed) > ALARM


@pytest.mark.slow
@pytest.mark.parametrize(("K", "changes"), JOINT)
def test_updates_leave_the_joint_distribution_longer(K, changes):
    assert p_value(joint_scores(np.random.default_rng(12), K, 20_000, changes)) > ALARM


def wrong_rate(process):
    right = process.log_prior
    process.log_prior = lambda order, x: right(order, x) - 0.3 * np.exp(-x) / order


def wrong_likelihood(process):
    right = process.log_likelihood
    process.log_likelihood = lambda steps: 0.5 * right(steps)


@pytest.mark.parametrize("sabotage", [wrong_rate, wrong_likelihood])
def test_the_joint_test_notices_mistakes(sabotage):
    z = joint_scores(np.random.default_rng(13), 2, 800, JOINT[0][1], sabotage)
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
            part = gp.Draws(f[None], s[None], None, draws.process, {})
            parts.append(gp.predict(part, tests, rng, split_draws))
    return np.array(parts)


def compressed_batches(X, y, K, order, told, tests, batches, rngs, *, compress=True, splits=1):
    """The same of the compressed model, or the original one."""
    groups = compress_sequences(X, order, compress=compress)
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
            mine, other, new = widths
            out = np.zeros((cases, K))
            splitting_kernel.add_probabilities(
                np.ascontiguousarray(c), shared.whole_begin, shared.whole, shared.partial_begin,
                shared.partial, shared.partial_kind, mine, other, shared.new_kind, new, False,
                splits, K, out, np.empty(2 * K), rngs[0].bit_generator.capsule,
            )  # fmt: skip
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
    draws = gp.sample(X, response, 2, 1, told, generators(21))
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
    draws = gp.sample(np.zeros((4, 1), dtype=int), [0, 1, 1, 1], 2, 1, told, generators(23, 1))
    assert draws.latent.shape == (1, 1000, 1, 1)
    f = np.arange(-30, 30, 0.01)
    density = np.exp(-0.5 * f**2 / (1.5**2 + 4)) * special.expit(-f) * special.expit(f) ** 3
    one = (density * special.expit(f)).sum() / density.sum()
    agree(by_batches(draws, [[0]], 50, None), np.array([[1 - one, one]]))


# --- the compressed model -----------------------------------------------------------------------


@pytest.mark.parametrize(("n_states", "K"), [(2, 2), (3, 3)])
def test_the_compressed_model_is_this_process(n_states, K):
    X, y, tests = cases(10 * n_states + K, n_states, K)
    told = settings(iterations=1050, burn_in=50, thin=2, sigma=SIGMA)
    rng = np.random.default_rng(31)
    draws = gp.sample(X, y, K, 5, told, generators(32))
    mine = by_batches(draws, tests, 25, rng, 4)
    told = settings(iterations=10_500, burn_in=500, thin=4, sigma=SIGMA)
    for seed, compress in ((33, True), (34, False)):
        theirs = compressed_batches(
            X, y, K, 5, told, tests, 25, generators(seed), compress=compress, splits=4
        )
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
        gp.sample(X, y, K, order, told, generators(42)), tests, 25, np.random.default_rng(41), 4
    )
    told = settings(iterations=401_000, burn_in=1000, thin=20, sigma=sigma)
    for seed, compress in ((43, True), (44, False)):
        theirs = compressed_batches(
            X, y, K, order, told, tests, 25, generators(seed), compress=compress, splits=4
        )
        agree(mine, theirs)


# --- running, and mistakes ----------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
def test_chains_go_on_where_they_stopped(K):
    X, y, tests = cases(5, 3, K)
    long = gp.sample(X, y, K, 4, settings(iterations=30, burn_in=7, thin=3), generators(51))
    short = gp.sample(X, y, K, 4, settings(iterations=17, burn_in=7, thin=3), generators(51))
    again = gp.sample(
        X, y, K, 4, settings(iterations=30, burn_in=7, thin=3), generators(52), saved=short.state
    )
    for name in gp.KEPT:
        np.testing.assert_array_equal(getattr(again, name), getattr(long, name))
    assert long.latent.shape == (2, 7, 1 if K == 2 else 3, len(long.process.rows))
    assert long.log_sigma.shape == (2, 7, 5)
    assert long.log_likelihood.shape == (2, 7)
    assert (long.log_sigma[:, :, 0] == np.log(10)).all()
    assert [part.shape[0] for part in long.flat] == [14, 14]
    p = gp.predict(long, tests, np.random.default_rng(1), 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(gp.predict(long, tests, np.random.default_rng(1), 3), p)
    with pytest.raises(UserError, match="other data or settings"):
        more = settings(iterations=30, burn_in=8, thin=3)
        gp.sample(X, y, K, 4, more, generators(51), saved=short.state)
    with pytest.raises(UserError, match="there are 2 stored chains, not 1"):
        gp.sample(X, y, K, 4, settings(), generators(51, 1), saved=short.state)
    with pytest.raises(UserError, match="have done 30 iterations, more than 17"):
        less = settings(iterations=17, burn_in=7, thin=3)
        gp.sample(X, y, K, 4, less, generators(51), saved=long.state)
    assert json.loads(str(short.state["state-0-model"]))["rows"] == len(long.process.rows)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"settings": Settings()}, "has Gaussian priors; use prior: gaussian"),
        ({"order": 4}, "order must be from 0 to 3, got 4"),
        ({"order": -1}, "order must be from 0 to 3"),
        ({"response": [0, 1]}, "3 histories but 2 responses"),
        ({"response": [0, 1, 2]}, "whole numbers from 0 to 1"),
        ({"response": [0.0, 1.0, 1.0]}, "whole numbers from 0 to 1"),
        ({"n_classes": 1}, "all of one class"),
        ({"histories": [0, 1, 1]}, r"must be a table .* shape \(3,\)"),
        ({"histories": [[0.5] * 3] * 3}, "histories must be whole numbers"),
        ({"settings": settings(sigma=(1, 1))}, "sigma needs 3 values, of orders 0 to 2, got 2"),
    ],
)
def test_mistakes(changes, words):
    arguments = {
        "histories": np.eye(3, dtype=int), "response": [0, 1, 1], "n_classes": 2, "order": 2,
        "settings": settings(iterations=3, burn_in=1, thin=1), "generators": generators(1, 1),
    }  # fmt: skip
    with pytest.raises((UserError, DataError), match=words):
        gp.sample(**arguments | changes)
    draws = gp.sample(**arguments)
    with pytest.raises(UserError, match="have 3 states, these 2"):
        gp.predict(draws, np.zeros((2, 2), dtype=int), generators(1)[0])
    with pytest.raises(UserError, match="split_draws must be a whole number from 1"):
        gp.predict(draws, np.zeros((2, 3), dtype=int), generators(1)[0], 0)


def test_too_many_histories(monkeypatch):
    monkeypatch.setattr(gp, "MOST_ROWS", 2)
    with pytest.raises(UserError, match=r"3 distinct histories are more than 2.*lower order"):
        gp.Process(np.eye(3, dtype=int), [0, 1, 1], 2, 3, settings())
