"""Third-party methods of real features and a real response: scikit-learn's, with distributions."""

import warnings

import numpy as np
import pytest
from cases import few
from scipy import integrate, optimize, stats
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import f_regression
from sklearn.linear_model import BayesianRidge, Ridge, RidgeCV, lasso_path

from thesiskit import models
from thesiskit.models import peers, pool
from thesiskit.models.density import Density, fit_student, guess
from thesiskit.models.folds import stratified
from thesiskit.models.peers import NUMBERS, Task

METHODS = peers.names(NUMBERS)
LINEAR = [method for method in METHODS if method != "random-forest"]
TASK = Task(NUMBERS)


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    monkeypatch.setattr(peers, "TREES", 40)


def samples(rng, n=40, p=60, tests=9, noise=0.5):
    """Features of any unit, of which four matter, and a response far from 0."""
    z = rng.normal(size=(n + tests, p))
    y = 20 + 3 * (z[:, :4].sum(axis=1) + noise * rng.normal(size=n + tests))
    X = z * rng.uniform(0.1, 10, p) + rng.normal(size=p)
    return X[:n], y[:n], X[n:], y[n:]


def predict(method, *given, seed=1, task=TASK):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        components = peers.fit_predict(method, task, *given, seed)
    assert components.ndim == 3
    assert components.shape[2] == 4
    np.testing.assert_allclose(components[:, :, 0].sum(axis=1), 1)
    assert (components[:, :, 2:] > 0).all()
    return components


def standardised(train, test):
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / deviation, (test - mean) / deviation


def inner(n, seed, groups=None):
    """The folds of the training samples."""
    return stratified(np.zeros(n, int), np.random.default_rng(seed), 5, groups)


def lasso(a, y, b):
    """Predictions for b with each penalty."""
    a, b = a - a.mean(axis=0), b - a.mean(axis=0)
    most = np.abs(a.T @ (y - y.mean())).max() / len(y)  # the smallest without a coefficient
    grid = most * np.logspace(-0.15, -3, 20)
    slopes = lasso_path(a, y - y.mean(), alphas=grid, tol=1e-3, max_iter=2000)[1]
    return y.mean() + (b @ slopes).T


def twin(method, train, y, test, seed):
    """scikit-learn's predictions."""
    a, b = standardised(train, test)
    fold = inner(len(y), seed)
    parts = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(5)]
    if method == "ridge":
        return RidgeCV(peers.RIDGES * a.shape[1]).fit(a, y).predict(b)
    if method == "lasso":
        errors = [np.square(lasso(a[i], y[i], a[o]) - y[o]).sum(axis=1) for i, o in parts]
        return lasso(a, y, b)[np.sum(errors, axis=0).argmin()]
    if method == "random-forest":
        return RandomForestRegressor(40, random_state=seed).fit(a, y).predict(b)
    errors = []
    for parts_used in range(1, min(peers.MOST_PARTS, a.shape[1]) + 1):
        error = 0
        for i, o in parts:
            fit = PLSRegression(min(parts_used, len(i) - 1), scale=False).fit(a[i], y[i])
            error += np.square(fit.predict(a[o]).ravel() - y[o]).sum()
        errors.append(error)
    return PLSRegression(int(np.argmin(errors)) + 1, scale=False).fit(a, y).predict(b).ravel()


@pytest.mark.parametrize("p", [1, 12, 60])
@pytest.mark.parametrize("method", ["ridge", "lasso", "pls", "random-forest"])
def test_predictions_are_scikit_learns(method, p, rng):
    train, y, test, _ = samples(rng, p=max(p, 4))
    train, test = train[:, :p], test[:, :p]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = twin(method, train, y, test, 3)
    found = predict(method, train, y, test, seed=3)[:, 0, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_lasso_chooses_its_features_in_each_fold(monkeypatch):
    monkeypatch.setattr(models.lasso, "SCREENED", 10)
    for seed in range(3):
        train, y, test, _ = samples(np.random.default_rng(seed), p=300, noise=4.0)
        a, b = standardised(train, test)

        def best(rows, a=a, y=y):
            return np.sort(np.argsort(-f_regression(a[rows], y[rows])[0])[:10])

        errors, fold = 0, inner(len(y), 3)
        for i, o in ((np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(5)):
            known = best(i)
            predicted = lasso(a[i][:, known], y[i], a[o][:, known])
            errors = errors + np.square(predicted - y[o]).sum(axis=1)
        known = best(np.arange(len(y)))
        expected = lasso(a[:, known], y, b[:, known])[errors.argmin()]
        found = predict("lasso", train, y, test, seed=3)[:, 0, 1]
        np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("p", [12, 60])
def test_bayesian_ridge_has_its_own_variances(p, rng):
    train, y, test, _ = samples(rng, p=p)
    a, b = standardised(train, test)
    mean, deviation = (
        BayesianRidge(tol=1e-10, max_iter=3000)
        .fit(a, (y - y.mean()) / y.std())
        .predict(b, return_std=True)
    )
    found = predict("bayesian-ridge", train, y, test)[:, 0]
    np.testing.assert_allclose(found[:, 1], y.mean() + y.std() * mean, rtol=2e-3)
    np.testing.assert_allclose(found[:, 2], y.std() * deviation, rtol=2e-2)
    assert (found[:, 3] == peers.NORMAL).all()


def test_errors_are_those_of_fits_without_the_fold(rng):
    """Of ridges, where the penalty is found again in each fold."""
    train, y, test, _ = samples(rng)
    errors, fold = np.empty(len(y)), inner(len(y), 4)
    for f in range(5):
        a, b = standardised(train[fold != f], train[fold == f])
        fit = RidgeCV(peers.RIDGES * a.shape[1]).fit(a, y[fold != f])
        errors[fold == f] = y[fold == f] - fit.predict(b)
    found = predict("ridge", train, y, test, seed=4)
    expected = fit_student(errors, y.std())
    np.testing.assert_allclose(found[:, 0, 2:], np.tile(expected, (len(test), 1)), rtol=1e-3)


def test_errors_have_the_most_likely_student_distribution(rng):
    for errors in (rng.standard_t(4, 50), rng.normal(size=30), 1e-9 * rng.standard_cauchy(25)):
        scale, freedom = fit_student(errors, np.abs(errors).max())
        n = len(errors)
        scale *= np.sqrt((n - 2) / n)

        def loss(x, errors=errors):
            return -stats.t.logpdf(errors, np.exp(x[1]), scale=np.exp(x[0])).sum()

        bounds = [(np.log(scale) - 3, np.log(scale) + 3), (np.log(3), np.log(n - 1))]
        best = optimize.differential_evolution(loss, bounds, seed=1, tol=1e-8, popsize=6)
        assert loss(np.log([scale, freedom])) <= best.fun + 1e-3
        assert 3 - 1e-9 <= freedom <= n - 1 + 1e-9
    assert fit_student(np.zeros(9), 2.0)[0] > 0


@pytest.mark.parametrize("sets", [8, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", METHODS)
def test_intervals_have_their_share_of_new_samples(method, sets):
    """The mean share in 90% intervals is right, within five standard errors or 7%."""
    shares, gains = [], []
    for seed in range(sets):
        train, y, test, actual = samples(np.random.default_rng(seed), 40, 20, tests=200)
        density = Density.of_students(predict(method, train, y, test))
        low, high = density.quantile(0.05), density.quantile(0.95)
        shares.append(((low < actual) & (actual < high)).mean())
        without = Density.of_students(np.tile(guess(y), (200, 1, 1)))
        gains.append((density.log_density(actual) - without.log_density(actual)).mean())
    error = np.std(shares) / np.sqrt(len(shares))
    assert abs(np.mean(shares) - 0.9) < max(0.07, 5 * error)
    assert np.mean(gains) > (0.1 if method == "random-forest" else 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_units_of_the_response_and_of_features_change_nothing(method, rng):
    train, y, test, _ = samples(rng)
    found = predict(method, train, y, test)
    unit, origin = 2.0 ** rng.integers(-20, 20, 60), 2.0 ** rng.integers(0, 5, 60)
    moved = predict(method, train * unit + origin, y, test * unit + origin)
    np.testing.assert_allclose(moved, found, rtol=1e-4)
    # trees follow the rounding of sums
    factor, shift = (1024.0, 0.0) if method == "random-forest" else (-1024.0, 512.0)
    scaled = predict(method, train, factor * y + shift, test)
    np.testing.assert_allclose(scaled[..., 1], factor * found[..., 1] + shift, rtol=1e-4)
    np.testing.assert_allclose(scaled[..., 2], 1024.0 * found[..., 2], rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_missing_values_and_constant_columns(method, rng):
    train, y, test, _ = samples(rng, p=10)
    train[3, 2] = train[:9, 5] = test[1, 2] = test[0] = np.nan
    full = [np.where(np.isnan(part), np.nanmean(train, axis=0), part) for part in (train, test)]
    found = predict(method, train, y, test)
    assert np.isfinite(found[..., :3]).all()
    if method in LINEAR:  # a sample without values has the mean of the response, about
        assert abs(found[0, :, 1] - y.mean()).max() < y.std()
    if method == "bayesian-ridge":  # has no inner folds, where means are others
        values = found, predict(method, full[0], y, full[1])
        np.testing.assert_allclose(*(each[..., 1] for each in values), rtol=0.1)
    flat = np.full((40, 2), 3.0), np.full((9, 2), [3.0, 7.0])
    wide = [np.hstack(pair) for pair in zip((train, test), flat, strict=True)]
    more = predict(method, wide[0], y, wide[1])
    if method not in ("random-forest", "ridge", "pool"):  # whose grids or trees count columns
        np.testing.assert_allclose(more, found, rtol=1e-6)
    np.testing.assert_allclose(predict(method, flat[0], y, flat[1])[0], guess(y)[0], rtol=1e-9)


@pytest.mark.parametrize("n", few([1, 2, 3, 4, 5, 7], keep=3))
@pytest.mark.parametrize("method", METHODS)
def test_few_samples_and_equal_responses(method, n, rng):
    X, test = rng.normal(size=(n, 3)), rng.normal(size=(2, 3))
    for y in (rng.normal(size=n), np.full(n, 7.0), np.zeros(n), np.eye(1, n)[0]):
        components = predict(method, X, y, test)
        scores = Density.of_students(components).scores(np.array([0.0, 1.0]))
        assert all(np.isfinite(values).all() for values in scores.values())
        if np.ptp(y) == 0:
            np.testing.assert_allclose(components[..., 1], y[0])
        assert (components[..., 3] <= max(3, n - 1) + 1e-9).all() or method == "bayesian-ridge"


@pytest.mark.parametrize("method", METHODS)
def test_a_group_is_left_out_together(method, rng):
    """Copies of a sample have the same noise: only folds of whole groups show how large it is."""
    train, y, test, _ = samples(rng, n=20, p=30, noise=2.0)
    copies, groups = np.repeat(train, 3, axis=0), np.repeat(np.arange(20), 3)
    copies = copies + 1e-3 * rng.normal(size=copies.shape)
    together = predict(method, copies, np.repeat(y, 3), test, task=Task(NUMBERS, groups=groups))
    apart = predict(method, copies, np.repeat(y, 3), test)
    scales = [Density.of_students(each).sd.mean() for each in (together, apart)]
    assert scales[0] > 1.5 * scales[1] or method == "bayesian-ridge"


@pytest.mark.parametrize("method", METHODS)
def test_what_is_learnt_predicts_later_samples_from_a_file(method, rng, tmp_path):
    train, y, test, _ = samples(rng)
    expected = predict(method, train, y, test)
    learnt = peers.fit(method, TASK, train, y, 1)
    if not peers.PEERS[method].exported:
        return
    np.savez(tmp_path / "fit.npz", **learnt)
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as stored:
        restored = dict(stored)
    peers.check_learnt(method, TASK, restored, 60)
    np.testing.assert_array_equal(peers.predict(method, TASK, restored, test), expected)
    damaged = [restored | {"mean": restored["mean"][1:]}, restored | {"guess": np.zeros((1, 3))}]
    damaged += [{n: v for n, v in restored.items() if n != name} for name in ("scale", "mean")]
    damaged += [restored | {name: -restored[name]} for name in ("errors",) if name in restored]
    for arrays in damaged:
        with pytest.raises((ValueError, KeyError, IndexError)):
            peers.check_learnt(method, TASK, arrays, 60)


def test_components_of_partial_least_squares(rng):
    a, y = rng.normal(size=(30, 8)), rng.normal(size=30)
    a -= a.mean(axis=0)
    path = pool.partial_least_squares(a, y, 12)
    for k in (1, 3, 8):
        model = PLSRegression(k, scale=False).fit(a, y)
        np.testing.assert_allclose(a @ path[k - 1, :-1] + path[k - 1, -1], model.predict(a).ravel())
    np.testing.assert_array_equal(path[8:], path[[7] * 4])
    np.testing.assert_allclose(path[7, :-1], Ridge(1e-12).fit(a, y).coef_, rtol=1e-6)


def test_without_features_a_response_has_the_predictive_distribution_of_normal_ones():
    y = np.array([1.0, 2.0, 4.0])
    _, location, scale, freedom = guess(y)[0, 0]
    assert (location, freedom) == (pytest.approx(7 / 3), 2)
    spread = np.sqrt(((y - 7 / 3) ** 2).sum() / 2 * 4 / 3)
    assert scale == pytest.approx(spread)

    def joint(log_sd, new):  # integrated over the mean, with the prior 1 / sd
        z, sd = np.append(y, new), np.exp(log_sd)
        return sd**-3.0 * np.exp(-((z - z.mean()) ** 2).sum() / 2 / sd**2)

    new = (0.0, 3.0)
    found = [integrate.quad(joint, -6, 15, args=(each,))[0] for each in new]
    t = stats.t.pdf(new, 2, location, scale)
    assert found[0] / found[1] == pytest.approx(t[0] / t[1], rel=1e-6)
