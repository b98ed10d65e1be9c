"""The pool of ridge, lasso and discriminants, held to what its formulas say directly."""

import numpy as np
import pytest
from scipy import optimize, special

from thesiskit.models import pool
from thesiskit.models.base import Training, shaped
from thesiskit.models.folds import stratified
from thesiskit.models.lasso import quietly


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
    found = pool._ridges(span.rows, y)
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


@pytest.mark.parametrize(("n", "p", "G"), [(14, 100, 2), (30, 50, 3)])
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
