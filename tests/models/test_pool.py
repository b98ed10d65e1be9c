"""The pool of ridge, lasso and discriminants, held to what its formulas say directly."""

from itertools import product

import numpy as np
import pytest
from cases import only
from scipy import optimize, special, stats
from sklearn.cross_decomposition import PLSRegression
from sklearn.feature_selection import f_regression
from sklearn.linear_model import Lasso, Ridge

from thesiskit.models import lasso, pool
from thesiskit.models.base import Training, shaped
from thesiskit.models.density import Density, guess
from thesiskit.models.folds import stratified
from thesiskit.models.lasso import REAL_PENALTIES, quietly


def drawn(n=60, p=150, G=2, seed=0, relevant=10, size=1.5):
    """Real features, of which some differ between classes, and classes."""
    rng, relevant = np.random.default_rng(seed), min(relevant, p)
    y = np.arange(n) % G
    X = rng.standard_normal((n, p)) * np.exp(rng.standard_normal(p)) + rng.standard_normal(p)
    X[:, :relevant] += size * X[:, :relevant].std(axis=0) * rng.standard_normal((G, relevant))[y]
    return X, y


def log_loss(log, y):
    return -log[np.arange(len(y)), y].mean()


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("G", [2, 3])
def test_a_ridge_is_the_mode_of_its_posterior_over_features(G):
    X, y = drawn(24, 8, G)
    z = standardised(X)
    span = pool.Span.of(z, slice(None), np.ones(8))
    found = pool.ridges(span.rows, y)
    for place, variance in enumerate(pool.VARIANCES[:6]):

        def loss(x, variance=variance):  # each feature has the prior variance v / p
            b = x.reshape(-1, 9)
            scores = z @ b[:, :-1].T + b[:, -1]
            if G == 2:
                scores = np.column_stack([np.zeros(len(z)), scores])
            log = special.log_softmax(scores, axis=1)
            penalty = (b[:, :-1] ** 2).sum() * 8 / variance + (b[:, -1] ** 2).sum() / pool.INTERCEPT
            return -log[np.arange(len(y)), y].sum() + penalty / 2

        start = np.zeros(9 * (1 if G == 2 else G))
        best = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
        b = found[place][-(1 if G == 2 else G) :]
        mine = np.column_stack([span.in_features(b[:, :-1]), b[:, -1]])
        assert loss(mine.ravel()) <= best.fun + 1e-3


@pytest.mark.parametrize(("n", "p", "G"), [(24, 8, 2), (24, 8, 3), (30, 90, 2), (30, 90, 3)])
def test_a_ridge_is_the_same_wherever_it_begins(n, p, G):
    """Also by conjugate gradients, which have more coefficients than NewtonStep takes."""
    X, y = drawn(n, p, G)
    span = pool.Span.of(standardised(X), slice(None), np.ones(p))
    assert span.rows.shape[1] == min(p, n - 1)
    squares = span.rows.T @ span.rows
    np.testing.assert_allclose(squares, np.diag(np.diag(squares)), atol=1e-10)
    scores = np.random.default_rng(1).standard_normal((len(pool.VARIANCES), G, n))
    near = pool.ridges(span.rows, y, scores=scores, tolerance=1e-14)
    expected = pool.ridges(span.rows, y, tolerance=1e-14)
    np.testing.assert_allclose(near[:6], expected[:6], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("p", [5, 60])
def test_coordinates_have_the_inner_products_of_weighted_features(p):
    """Whether features or samples are fewer, and where some features have no weight."""
    rng = np.random.default_rng(2)
    z, new, weight = rng.standard_normal((20, p)), rng.standard_normal((7, p)), rng.random(p)
    weight[1] = 0
    span = pool.Span.of(z, slice(None), weight)
    share = weight / weight.sum()
    np.testing.assert_allclose(span.rows @ span.rows.T, z * share @ z.T, atol=1e-12)
    np.testing.assert_allclose(span.coordinates(z), span.rows, atol=1e-12)
    np.testing.assert_allclose(span.coordinates(new) @ span.rows.T, new * share @ z.T, atol=1e-12)
    slope = rng.standard_normal((2, span.rows.shape[1]))
    expected = span.coordinates(new) @ slope.T
    np.testing.assert_allclose(new @ span.in_features(slope).T, expected, atol=1e-12)


def test_discriminants_are_those_of_the_covariance_of_features():
    X, y = drawn(30, 6, 3)
    z = standardised(X)
    span = pool.Span.of(z, slice(None), np.ones(6))
    means = np.array([z[y == g].mean(axis=0) for g in range(3)])
    scatter = (z - means[y]).T @ (z - means[y])
    for ridge, line in zip(pool.RIDGES, pool._discriminants(span, y), strict=True):
        covariance = (scatter + ridge * np.trace(scatter) / 30 * np.eye(6)) / 27
        slope = np.linalg.solve(covariance, means.T).T
        intercept = np.log(1 / 3) - (slope * means).sum(axis=1) / 2
        np.testing.assert_allclose(
            span.coordinates(z) @ line.slope.T + line.intercept, z @ slope.T + intercept, atol=1e-9
        )
        np.testing.assert_allclose(line.coefficient(6), slope, atol=1e-9)


def test_left_out_predictions_are_those_of_fits_without_the_fold():
    X, y = drawn(40, 120, 3)
    fold = stratified(y, np.random.default_rng(1), 5)
    with quietly():
        settings = len(pool._learn(X, y)[2])
        found = pool._left_out(X, y, fold, settings)
    np.testing.assert_allclose(found.sum(axis=2), 1)
    changed = X.copy()
    changed[fold == 2] += 100.0  # what is left out is not looked at
    others = fold != 2
    with quietly():
        mean, scale, lines = pool._learn(changed[others], y[others])
    z = (X[fold == 2] - mean) * scale
    for s, line in enumerate(lines):
        scores = z @ line.coefficient(120).T + line.intercept
        np.testing.assert_allclose(
            pool._probability(line.family, scores), found[s][fold == 2], atol=1e-8
        )


def test_softening_and_powers_are_least():
    rng = np.random.default_rng(3)
    n, G = 50, 3
    y = np.arange(n) % G
    share = np.bincount(y) / n
    p = special.softmax(6 * rng.standard_normal((n, G)) + 4 * np.eye(G)[y], axis=1)

    def loss(sharpness, mixing):
        q = pool._raised(pool._mixed(p, sharpness, mixing, share), n)
        return -np.log(q[np.arange(n), y]).sum()

    best = loss(*pool._softened(p, y, share))
    grid = [loss(s, m) for s in np.exp(np.linspace(-4, 2, 40)) for m in np.linspace(0, 0.99, 40)]
    assert best <= min(grid) + 1e-6

    log = np.log(pool._raised(special.softmax(rng.standard_normal((3, n, G)), axis=2), n))
    log[0] += 2 * np.eye(G)[y]

    def total(u):
        pooled = special.log_softmax(np.tensordot(u, log, 1), axis=1)
        return -pooled[np.arange(n), y].sum() + 3 * ((np.array(u) - 1 / 3) ** 2).sum()

    found = pool._powers(log, y)
    assert ((found >= 0) & (found <= pool.MOST_POWER)).all()
    best = optimize.minimize(total, found, method="Nelder-Mead", bounds=[(0, 3)] * 3,
                             options={"xatol": 1e-8, "fatol": 1e-10}).fun  # fmt: skip
    assert total(found) <= best + 1e-5


@pytest.mark.parametrize("G", [2, 4])
def test_it_learns_and_is_calibrated_about(G):
    X, y = drawn(160, 300, G)
    learnt = pool.fit(X[:80], y[:80], np.random.default_rng(0))
    log = pool.log_probability(learnt, X[80:])
    np.testing.assert_allclose(np.exp(log).sum(axis=1), 1)
    assert log_loss(log, y[80:]) < 0.5 * np.log(G)
    wrong = (log.argmax(axis=1) != y[80:]).mean()
    assert abs(wrong - (1 - np.exp(log.max(axis=1))).mean()) < 0.15
    effects = pool.effects(learnt)
    np.testing.assert_allclose(effects.sum(axis=0), 0, atol=1e-12)
    size = np.abs(effects).sum(axis=0)
    assert size[:10].mean() > 3 * size[10:].mean()
    share = pool.lasso_share(learnt)
    assert ((share >= 0) & (share <= 1 + 1e-12)).all()
    assert share[:10].mean() > share[10:].mean()


@pytest.mark.parametrize(
    ("n", "p", "G"), [(14, 100, 2), pytest.param(30, 50, 3, marks=pytest.mark.slow)]
)
def test_noise_is_predicted_by_the_class_shares(n, p, G):
    """Means over data sets, of the pool and of that without the shrinkage."""
    losses, errors = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        learnt = pool.fit(rng.standard_normal((n, p)), np.arange(n) % G, rng)
        new = rng.standard_normal((200, p))
        log = [pool.log_probability(learnt | {"shrinkage": np.array(h)}, new)
               for h in (learnt["shrinkage"], 0.0)]  # fmt: skip
        losses.append([-each.mean() - np.log(G) for each in log])
        errors.append([1 - np.exp(each.max(axis=1)).mean() - (1 - 1 / G) for each in log])
    (loss, unshrunken_loss), (error, unshrunken_error) = np.mean([losses, errors], axis=1)
    assert loss < min(0.02, unshrunken_loss / 2)
    assert error > max(-0.025, unshrunken_error / 2)


def test_signal_is_not_shrunken():
    X, y = drawn(60, 150)
    assert pool.fit(X, y, np.random.default_rng(0))["shrinkage"] < 1e-6


def test_shrinkage_is_a_posterior_probability():
    rng = np.random.default_rng(0)
    y = np.array([0] * 14 + [1] * 7)
    share = np.bincount(y) / 21
    p = special.softmax(rng.standard_normal((21, 2)) + 1.5 * np.eye(2)[y], axis=1)
    shrinkage, slope = pool._shrunken(np.log(p) + rng.standard_normal((21, 1)), y, share)
    odds = pool.PRIOR_ODDS * np.prod(share[y] / p[np.arange(21), y])
    assert 0.01 < shrinkage < 0.99
    assert shrinkage / (1 - shrinkage) == pytest.approx(odds)
    mixed = (1 - shrinkage) * p[:, 1] + shrinkage * share[1]
    expected, _ = np.polyfit(special.logit(p[:, 1]), special.logit(mixed), 1)
    assert slope == pytest.approx(expected)


def test_predictions_are_mixed_with_the_class_shares():
    X, y = drawn(40, 30, 3)
    learnt = pool.fit(X, y, np.random.default_rng(0))
    alone = np.exp(pool.log_probability(learnt | {"shrinkage": np.array(0.0)}, X))
    mixed = np.exp(pool.log_probability(learnt | {"shrinkage": np.array(0.3)}, X))
    np.testing.assert_allclose(mixed, 0.7 * alone + 0.3 * learnt["share"])


def test_units_and_order_of_columns_change_nothing():
    X, y = drawn(40, 130)
    first = pool.log_probability(pool.fit(X, y, np.random.default_rng(5)), X)
    order = np.random.default_rng(1).permutation(130)
    other = X[:, order] * 1e3 + 7
    again = pool.log_probability(pool.fit(other, y, np.random.default_rng(5)), other)
    # the lasso stops at a tolerance of its own
    np.testing.assert_allclose(np.exp(first), np.exp(again), atol=2e-3)


def test_missing_values_are_means_and_constant_columns_say_nothing():
    X, y = drawn(40, 30)
    X[3, 5] = X[7, 5] = np.nan
    X[:, 9] = 4.0
    X[:, 11] = np.nan
    learnt = pool.fit(X, y, np.random.default_rng(0))
    new = X[:4].copy()
    log = pool.log_probability(learnt, new)
    assert np.isfinite(log).all()
    new[3, 5] = np.nanmean(X[:, 5])
    new[:, 9] += 1e6
    new[:, 11] = 3.0
    np.testing.assert_allclose(pool.log_probability(learnt, new), log, atol=1e-10)


@pytest.mark.parametrize(
    ("n", "p", "classes"),
    [
        (2, 5, [0, 1]),
        (4, 3, [0, 0, 1, 1]),
        (4, 1, [0, 0, 0, 1]),
        (7, 4, [0, 1, 2, 3, 4, 5, 0]),
        (9, 40, [0] * 8 + [1]),
        (6, 2, [0, 1, 2, 0, 1, 2]),
    ],
)
def test_few_samples_and_few_features(n, p, classes):
    X = np.random.default_rng(0).standard_normal((n, p))
    learnt = pool.fit(X, np.array(classes), np.random.default_rng(0))
    log = pool.log_probability(learnt, np.vstack([X, 1e9 * X, np.full((1, p), np.nan)]))
    assert np.isfinite(log).all()


@pytest.mark.parametrize("table", ["identical", "constant", "separated"])
def test_singular_tables(table):
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = {
        "identical": np.tile(rng.standard_normal((20, 1)) + y[:, None], (1, 150)),
        "constant": np.ones((20, 15)),
        "separated": np.tile(y[:, None], (1, 15)).astype(float),
    }[table]
    log = pool.log_probability(pool.fit(X, y, rng), X)
    assert np.isfinite(log).all()
    if table == "constant":
        np.testing.assert_allclose(log, np.log(0.5), atol=1e-6)
    if table == "separated":
        assert (log.argmax(axis=1) == y).all()


def test_missing_values_are_filled_without_the_samples_left_out():
    X, y = drawn(40, 30)
    fold = stratified(y, np.random.default_rng(1), 5)
    mine, others = np.flatnonzero(fold == 0)[:1], np.flatnonzero(fold == 0)[1:]
    X[mine, 4] = np.nan
    X[fold != 1, 6] = np.nan  # without fold 1 nothing is known of it
    with quietly():
        settings = len(pool._learn(X, y)[2])
        found = pool._left_out(X, y, fold, settings)
    assert np.isfinite(found).all()
    changed = X.copy()
    changed[others, 4] += 100.0
    with quietly():
        again = pool._left_out(changed, y, fold, settings)
    np.testing.assert_array_equal(again[:, mine], found[:, mine])
    filled = X.copy()
    filled[mine, 4] = X[fold != 0, 4].mean()
    with quietly():
        again = pool._left_out(filled, y, fold, settings)
    np.testing.assert_allclose(again[:, mine], found[:, mine], atol=1e-12)


def test_a_class_without_a_sample_in_the_other_folds_has_probability_0():
    X = np.random.default_rng(0).standard_normal((12, 5))
    y = np.array([0] * 6 + [1] * 5 + [2])
    fold = stratified(y, np.random.default_rng(1), 5)
    with quietly():
        found = pool._left_out(X, y, fold, len(pool._learn(X, y)[2]))
    np.testing.assert_allclose(found.sum(axis=2), 1)
    alone = fold == fold[11]
    assert (found[:, alone, 2] == 0).all()
    assert (found[:, ~alone, 2] > 0).all()


def test_effects_are_slopes_of_log_odds():
    """By finite differences, of a pool that has one ridge and many samples."""
    X, y = drawn(50, 12)
    learnt = pool.fit(X, y, np.random.default_rng(0))
    one = np.flatnonzero(learnt["family"] == pool.RIDGE)[0]
    alone = {"weight": np.where(learnt["family"] == pool.RIDGE, 0, learnt["weight"]),
             "power": np.array([1.7, 0, 0]), "cases": np.array(10**12),
             "shrinkage": np.array(0.0)}  # fmt: skip
    alone["weight"][one] = 1
    alone["damping"] = np.ones(len(learnt["family"]))  # nothing is added to so many samples
    learnt |= alone
    effect = pool.effects(learnt)
    slope = effect[1] - effect[0]

    def log_odds(table):
        log = pool.log_probability(learnt, table)
        return log[:, 1] - log[:, 0]

    sample = X.mean(axis=0) + 0.1 * X.std(axis=0)
    for j in range(12):
        step = np.zeros(12)
        step[j] = X[:, j].std() / 2
        [low], [high] = log_odds((sample - step)[None]), log_odds((sample + step)[None])
        assert slope[j] == pytest.approx(high - low, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(pool.deviations(learnt), X.std(axis=0))


@pytest.mark.parametrize("G", [2, 4])
def test_effects_tell_what_is_predicted(G):
    """The log odds of new samples are near a linear function, with effects for its slopes."""
    X, y = drawn(240, 300, G, seed=G)
    learnt = pool.fit(X[:80], y[:80], np.random.default_rng(0))
    log = pool.log_probability(learnt, X[80:])
    centred = log - log.mean(axis=1, keepdims=True)
    linear = (X[80:] - learnt["mean"]) * learnt["scale"] @ pool.effects(learnt).T
    one, other = (each - each.mean(axis=0) for each in (linear, centred))
    assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.9
    assert 0.6 < (one * other).sum() / (one * one).sum() < 1.3


def test_damping_is_a_slope_of_log_odds():
    """Of one setting of two classes, which has no temperature."""
    X, y = drawn(40, 60)
    rng, fold = np.random.default_rng(1), stratified(y, np.random.default_rng(1), 5)
    learnt = pool.fit(X, y, rng)
    with quietly():
        lines = pool._learn(X, y)[2]
        p = pool._left_out(X, y, fold, len(lines))[:, :, 1]
    first = learnt["intercept"][0]
    s = next(s for s, line in enumerate(lines) if (line.intercept == first).all())
    assert lines[s].family == pool.RIDGE
    x, moved = (special.logit(one) for one in (p[s], (40 * p[s] + 0.5) / 41))
    slope, _ = np.polyfit(x, moved, 1)
    assert learnt["damping"][0] == pytest.approx(slope)
    assert 0.1 < learnt["damping"][0] < 1


def test_what_files_hold():
    X, y = drawn(30, 20, 3)
    model = pool.Pool()
    training = Training(None, y, lambda: X, rngs=[np.random.default_rng(1)])
    posterior = model.fit(training)
    assert list(posterior) == list(model.stored)
    shaped(posterior, model.stored, k=20, G=3)
    about, arrays = model.saved(posterior)
    other, again = pool.Pool.restored(about, arrays, np.arange(20), 3)
    np.testing.assert_array_equal(other.predict(again, X), model.predict(posterior, X))
    packed = model.join([model.pack([posterior, posterior])])
    np.testing.assert_array_equal(packed["effect"][20:], pool.effects(posterior).T)
    np.testing.assert_array_equal(packed["lasso_share"][:20], pool.lasso_share(posterior))
    damaged = arrays | {"shrinkage": np.array(1.5)}
    with pytest.raises(ValueError, match="do not belong together"):
        pool.Pool.restored(about, damaged, np.arange(20), 3)
    older = {name: array for name, array in arrays.items() if name != "shrinkage"}
    _, again = pool.Pool.restored(about, older, np.arange(20), 3)
    assert again["shrinkage"] == 0
    np.testing.assert_array_equal(pool.log_probability(older, X), pool.log_probability(again, X))


# ---- a real response ----


def drawn_reals(n=60, p=150, seed=0, relevant=5, noise=0.5):
    """Real features of any unit, and a response that some of them explain."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, p))
    y = 7 + 4 * (z[:, :relevant].sum(axis=1) + noise * rng.standard_normal(n))
    return z * np.exp(rng.standard_normal(p)) + rng.standard_normal(p), y


def fit_reals(X, y, seed=0, groups=None):
    return pool.fit(X, y, np.random.default_rng(seed), groups)


def test_lines_of_a_real_response_are_scikit_learns():
    X, y = drawn_reals(30, 120)
    z = standardised(X)
    with quietly():
        lines = [*pool._real_lines(z, y)]
    f = f_regression(z, y)[0]
    np.testing.assert_allclose(lasso.f_statistics(z, y), f, rtol=1e-8)
    order = np.argsort(-f)
    weight = np.minimum(f / np.median(f), pool.MOST_WEIGHT)
    tables = {
        "10": z[:, order[:10]] / np.sqrt(10),
        "100": z[:, order[:100]] / np.sqrt(100),
        "all": z / np.sqrt(120),
        "weighted": z * np.sqrt(weight / weight.sum()),
    }
    expected = [np.tile(y.mean(), (1, 30))]
    most = np.abs(z.T @ (y - y.mean())).max() / 30
    for c, line in zip(REAL_PENALTIES, [line for line in lines if line.family == 1], strict=True):
        with quietly():
            model = Lasso(most * c, tol=1e-6, max_iter=10**5).fit(z, y)
        losses = [
            np.mean((y - z @ b - y.mean()) ** 2) / 2 + most * c * np.abs(b).sum()
            for b in (model.coef_, line.coefficient(120)[0])
        ]
        assert losses[1] <= losses[0] + 2e-3 * y.var()
    for name in ("10", "100", "all", "weighted"):
        ridges = [Ridge(30 * g, solver="svd").fit(tables[name], y) for g in pool.REAL_RIDGES]
        expected.append(np.array([ridge.predict(tables[name]) for ridge in ridges]))
    for name in ("100", "all", "weighted"):
        parts = [PLSRegression(k, scale=False).fit(tables[name], y) for k in (1, 2, 5)]
        expected.append(np.array([part.predict(tables[name]).ravel() for part in parts]))
    for family, predictions in zip((0, *range(2, 9)), expected, strict=True):
        own = [line for line in lines if line.family == family]
        own = [own[k - 1] for k in (1, 2, 5)] if family > 5 else own
        found = np.array([z @ line.coefficient(120)[0] + line.intercept[0] for line in own])
        np.testing.assert_allclose(found, predictions, atol=1e-6 * y.std())
    assert len(lines) == 1 + len(REAL_PENALTIES) + 4 * len(pool.REAL_RIDGES) + 3 * pool.PARTS


def test_left_out_predictions_of_a_real_response_are_those_of_fits_without_the_fold():
    X, y = drawn_reals(40, 120)
    fold = np.random.default_rng(1).permutation(40) % 5
    others = fold != 2
    changed, moved = X.copy(), y.copy()
    changed[~others] += 100.0
    moved[~others] -= 50.0
    with quietly():
        settings = len(pool._learn(X, y)[2])
        found = pool._left_out(X, y, fold, settings)[..., 0]
        mean, scale, lines = pool._learn(changed[others], moved[others])
    z = pool.standardise(X[~others], mean, scale)
    for s, line in enumerate(lines):
        expected = z @ line.coefficient(120)[0] + line.intercept[0]
        np.testing.assert_allclose(found[s, ~others], expected, atol=1e-8)


def test_weights_of_a_real_response_are_least():
    rng = np.random.default_rng(3)
    method = np.array([0, 1, 1, 1, 2, 2, 3])
    common = rng.standard_normal(40)
    errors = 0.5 * common + rng.standard_normal((7, 40)) * [[1], [0.5], [0.6], [2], [0.4], [1], [1]]
    weight, shrinkage = pool._weights(errors, method)
    assert weight.sum() == pytest.approx(1)
    assert (weight >= 0).all()
    square = np.square(errors).mean(axis=1)
    inner = special.softmax(-20 * np.log(square[1:4]))
    inner[inner < pool.NO_WEIGHT] = 0
    np.testing.assert_allclose(weight[1:4] / weight[1:4].sum(), inner / inner.sum())
    averages = np.array([weight[method == m] @ errors[method == m] / weight[method == m].sum()
                         for m in (1, 2, 3)])  # fmt: skip

    def loss(w):
        pull = pool.PULL * 3 * np.sum((np.array(w) - 1 / 3) ** 2)
        return 20 * np.log(np.mean((w @ averages) ** 2)) + pull

    stacked = np.array([weight[method == m].sum() for m in (1, 2, 3)]) / (1 - shrinkage)
    grid = [(a, b, 1 - a - b) for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1 - a, 101)]
    assert loss(stacked) <= min(loss(w) for w in grid) + 1e-4
    pooled = np.mean((stacked @ averages) ** 2)
    odds = pool.PRIOR_ODDS * (pooled / square[0]) ** 20
    assert shrinkage == weight[0] == pytest.approx(odds / (1 + odds))


def test_a_real_response_has_calibrated_intervals():
    """20 data sets: shares in 50% and 90% intervals within five standard errors and 2%."""
    shares, gains = [], []
    for seed in range(20):
        X, y = drawn_reals(360, 100, seed, relevant=(0, 5, 40)[seed % 3], noise=1.0)
        density = Density.of_students(pool.components(fit_reals(X[:60], y[:60]), X[60:]))
        inside = []
        for level in (0.5, 0.9):
            low, high = (density.quantile((1 + sign * level) / 2) for sign in (-1, 1))
            inside.append(((low < y[60:]) & (y[60:] < high)).mean())
        shares.append(inside)
        base = Density.of_students(np.repeat(guess(y[:60]), 300, axis=0))
        gains.append((density.log_density(y[60:]) - base.log_density(y[60:])).mean())
    error = np.std(shares, axis=0) / np.sqrt(20)
    assert (np.abs(np.mean(shares, axis=0) - [0.5, 0.9]) < 0.02 + 5 * error).all()
    assert np.mean(gains[::3]) > -0.02  # nothing to learn
    assert np.mean(gains[1::3]) > 0.5


def test_effects_of_a_real_response_are_its_slopes():
    X, y = drawn_reals()
    learnt = fit_reals(X, y)
    step = X.std(axis=0) * np.eye(150)
    predicted = pool.components(learnt, X[:1] + np.vstack([np.zeros(150), step]))[:, 0, 1]
    np.testing.assert_allclose(pool.effects(learnt)[0], predicted[1:] - predicted[0], atol=1e-9)
    size, share = np.abs(pool.effects(learnt)[0]), pool.lasso_share(learnt)
    assert size[:5].min() > size[5:].max()
    assert ((share >= 0) & (share <= 1 + 1e-12)).all()
    assert share[:5].min() > 0.99
    assert learnt["shrinkage"] < 1e-6


def test_units_of_a_real_response_and_of_features_change_nothing():
    X, y = drawn_reals(40, 60)
    found = pool.components(fit_reals(X, y), X)[:, 0]
    unit = 2.0 ** np.random.default_rng(2).integers(-20, 20, 60)
    moved = pool.components(fit_reals(X * unit + 3 * unit, y), X * unit + 3 * unit)[:, 0]
    np.testing.assert_allclose(moved, found, rtol=1e-5)
    scaled = pool.components(fit_reals(X, -64.0 * y + 32.0), X)[:, 0]
    np.testing.assert_allclose(scaled[:, 1], -64.0 * found[:, 1] + 32.0, rtol=1e-5)
    np.testing.assert_allclose(scaled[:, 2:], found[:, 2:] * [64.0, 1.0], rtol=1e-3)
    order = np.random.default_rng(3).permutation(60)
    other = pool.components(fit_reals(X[:, order], y), X[:, order])[:, 0]
    np.testing.assert_allclose(other, found, rtol=0.02)  # the lasso stops before it is exact


@pytest.mark.parametrize(
    ("n", "p"),
    only(product((1, 2, 3, 4, 5, 9), (1, 3, 12)), (1, 3), (2, 12), (3, 1), (4, 3), (5, 12), (9, 1)),
)
def test_few_samples_of_a_real_response(n, p):
    X, y = drawn_reals(n, p, relevant=1)
    for response in (y, np.full(n, 3.0), np.zeros(n), np.eye(1, n)[0], np.round(y)):
        for table in (X, np.ones((n, p)), np.full((n, p), np.nan), np.repeat(X[:, :1], p, axis=1)):
            learnt = fit_reals(table, response)
            density = Density.of_students(pool.components(learnt, X))
            scores = density.scores(response)
            assert all(np.isfinite(values).all() for values in scores.values())
            if np.ptp(response) == 0 or n < pool.FEWEST or (table is not X and p == 1):
                scale = guess(response)[0, 0, 2] if np.ptp(response) == 0 or n < 4 else None
                assert scale is None or density.scale[0] == pytest.approx(scale)


def test_a_missing_value_of_a_new_sample_is_the_mean():
    X, y = drawn_reals(40, 30)
    X[::7, 2] = np.nan
    learnt = fit_reals(X, y)
    new = np.full((1, 30), np.nan)
    means = np.nanmean(X, axis=0)[None]
    np.testing.assert_allclose(pool.components(learnt, new), pool.components(learnt, means))
    assert pool.components(learnt, new)[0, 0, 1] == pytest.approx(y.mean())


def test_groups_of_samples_with_a_real_response_stay_together():
    """Copies of a sample have the same noise: only folds of whole groups show how large it is."""
    X, y = drawn_reals(20, 40, noise=2.0)
    X, y, groups = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(20), 3)
    X = X + 1e-3 * np.random.default_rng(1).standard_normal(X.shape)
    assert fit_reals(X, y, groups=groups)["errors"][0] > 3 * fit_reals(X, y)["errors"][0]


def test_files_hold_a_real_response():
    X, y = drawn_reals(30, 20)
    model = pool.Pool()
    training = Training(None, y, lambda: X, rngs=[np.random.default_rng(1)])
    posterior = model.fit(training)
    assert set(posterior) == set(model.stored_reals)
    about, arrays = model.saved(posterior)
    other, again = pool.Pool.restored(about, arrays, np.arange(20), 0)
    expected = model.density(posterior, X)
    np.testing.assert_array_equal(other.density(again, X).logs, expected.logs)
    packed = model.join([model.pack([posterior, posterior])])
    np.testing.assert_array_equal(packed["effect"][20:], pool.effects(posterior).T)
    np.testing.assert_array_equal(packed["lasso_share"][:20], posterior["lasso_share"])
    split = model.unpack(model.pack([posterior] * 2), 1, training)
    np.testing.assert_array_equal(model.density(split, X).logs, expected.logs)
    for name, values in {
        "errors": np.array([0.0, 3.0]),
        "scale": -arrays["scale"],
        "coefficient": arrays["coefficient"][1:],
        "intercept": np.array(np.nan),
    }.items():
        with pytest.raises(ValueError, match="do not belong together"):
            pool.Pool.restored(about, arrays | {name: values}, np.arange(20), 0)


def test_the_density_of_a_real_response_is_a_student_t():
    X, y = drawn_reals(50, 20)
    model, learnt = pool.Pool(), fit_reals(X, y)
    _, location, scale, freedom = pool.components(learnt, X[:3])[:, 0].T
    new = y[:3] + 1.0
    t = stats.t.logpdf(new, freedom, location, scale)
    np.testing.assert_allclose(model.density(learnt, X[:3]).log_density(new), t, atol=1e-5)
