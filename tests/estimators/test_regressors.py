"""Regressors of real features: predictive distributions of a real response."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from thesiskit.errors import UserError
from thesiskit.estimators import InteractionRegressor, NormalRegressor, PoolRegressor

MODELS = [NormalRegressor(5, random_state=3), PoolRegressor(random_state=3)]
TABLES = Path(os.environ.get("THESISKIT_DATA_DIR", "nowhere")) / "regression"
both = pytest.mark.parametrize("model", MODELS, ids=["normal", "pool"])


@parametrize_with_checks([NormalRegressor(1, correct=False, relevant="all"), PoolRegressor()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([NormalRegressor()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_of_the_usual_settings(estimator, check):
    check(estimator)


def drawn(n, p, relevant=5, seed=0, slope=1.0):
    """Return features of which the first ones are linear in the response, and the response."""
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(n)
    X = rng.standard_normal((n, p))
    X[:, :relevant] += slope * y[:, None]
    return X, y


@both
def test_a_distribution_is_one(model):
    """Its density integrates to 1, to the mean and sd, and to the level inside an interval."""
    X, y = drawn(60, 40)
    model = clone(model).fit(X[:40], y[:40])
    new = X[40:42]
    mean, sd = model.predict(new, return_std=True)
    np.testing.assert_array_equal(model.predict(new), mean)
    grid = np.linspace(-60, 60, 3_001)
    step = grid[1] - grid[0]
    for row, low, high, m, s in zip(
        new, *model.predict_interval(new, 0.8).T, mean, sd, strict=True
    ):
        density = model.predict_density(np.tile(row, (len(grid), 1)), grid)
        assert abs(step * density.sum() - 1) < 1e-4
        assert abs(step * (density * grid).sum() - m) < 2e-3
        assert abs(np.sqrt(step * (density * (grid - m) ** 2).sum()) - s) < 0.02 * s
        below = np.interp([low, high], grid + step / 2, step * density.cumsum())
        assert abs(np.diff(below) - 0.8) < 5e-3
    log = model.predict_density(X[40:], y[40:], log=True)
    np.testing.assert_allclose(np.exp(log), model.predict_density(X[40:], y[40:]))
    narrow, wide = model.predict_interval(new, 0.5), model.predict_interval(new)
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (narrow[:, 1] < wide[:, 1]).all()


@both
def test_units_of_the_response_and_of_features(model):
    X, y = drawn(50, 30)
    first = clone(model).fit(X[:40], y[:40])
    moved = clone(model).fit(8 * X[:40] + 2, 1000 * y[:40] - 4)
    for name in ("predict", "predict_interval"):
        expected = 1000 * getattr(first, name)(X[40:]) - 4
        np.testing.assert_allclose(
            getattr(moved, name)(8 * X[40:] + 2), expected, rtol=1e-3, atol=2
        )
    density = moved.predict_density(8 * X[40:] + 2, 1000 * y[40:] - 4)
    np.testing.assert_allclose(1000 * density, first.predict_density(X[40:], y[40:]), rtol=0.01)


@both
def test_names_types_copies_and_missing_values(model):
    X, y = drawn(50, 30)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    table = pd.DataFrame(X).add_prefix("g")
    model = clone(model).fit(table[:40], pd.Series(y[:40]))
    expected = model.predict_interval(table[40:])
    assert np.isfinite(expected).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(table[40:]), expected)
    plain = clone(model).fit(X[:40], y[:40].astype(object))
    np.testing.assert_array_equal(plain.predict_interval(X[40:]), expected)
    assert set(model.get_feature_names_out()) <= set(table.columns)
    assert len(model.selected_) == model.get_support().sum()
    assert set(range(3)) & set(model.selected_.tolist())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[40:].iloc[:, ::-1])


@pytest.mark.parametrize("model", [NormalRegressor(), NormalRegressor(None), PoolRegressor()])
@pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")
def test_one_feature_and_few_samples(model):
    X, y = drawn(60, 1, relevant=1, slope=3.0)
    assert clone(model).fit(X, y).score(X, y) > 0.7
    few = clone(model).fit(X[:4], y[:4])
    assert np.isfinite(few.predict_interval(X)).all()


@both
def test_whole_numbers_are_numbers(model):
    X, y = drawn(60, 30)
    whole = np.round(10 * y).astype(int)
    as_whole, as_real = (clone(model).fit(X, one).predict(X) for one in (whole, whole * 1.0))
    np.testing.assert_array_equal(as_whole, as_real)


@both
def test_bad_input(model):
    X, y = drawn(40, 12)
    for response, words in (
        (np.full(40, 2.5), "the responses are all 2.5"),
        (np.where(np.arange(40) == 3, np.nan, y), "y is missing in sample 4"),
        (["high"] * 40, "y must be numbers, and is 'high' in sample 1"),
        (1e200 * y, "the responses run from"),
    ):
        with pytest.raises(ValueError, match=words):
            clone(model).fit(X, response)
    with pytest.raises(ValueError, match="no column varies"):
        clone(model).fit(np.ones((40, 3)), y)
    model = clone(model).fit(X, y)
    for level in (0, 1, "0.9", True, np.nan, None):
        with pytest.raises(UserError, match="level must be a number between 0 and 1"):
            model.predict_interval(X, level)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.predict_density(X, y[:5])
    with pytest.raises(ValueError, match="y is missing in sample 2"):
        model.predict_density(X[:2], [1.0, None])


def test_all_features_are_none():
    X, y = drawn(40, 12)
    assert len(NormalRegressor(None).fit(X, y).selected_) == 12
    with pytest.raises(UserError, match="n_features must be a whole number or None, got 'all'"):
        NormalRegressor("all").fit(X, y)


def test_the_correction_makes_intervals_right_where_nothing_is_to_be_found():
    inside = {True: [], False: []}
    for seed in range(8):
        X, y = drawn(260, 1500, relevant=0, seed=seed)
        for correct, rows in inside.items():
            model = NormalRegressor(10, correct=correct, temperature=None, random_state=0)
            low, high = model.fit(X[:60], y[:60]).predict_interval(X[60:]).T
            rows.append(np.mean((low < y[60:]) & (y[60:] < high)))
    corrected, uncorrected = np.mean(inside[True]), np.mean(inside[False])
    assert 0.86 < corrected < 0.94
    assert uncorrected < 0.83


def test_a_prefiltered_table_is_the_whole_one():
    X, y = drawn(48, 600, slope=0.5)
    whole = NormalRegressor(8, temperature=None).fit(X, y)
    kept = np.sort(NormalRegressor(20, temperature=None).fit(X, y).selected_)
    part = NormalRegressor(8, screened={"of": 600}, temperature=None).fit(X[:, kept], y)
    assert (kept[part.selected_] == whole.selected_).all()
    np.testing.assert_allclose(
        part.predict_interval(X[:, kept]), whole.predict_interval(X), rtol=1e-8, atol=1e-8
    )


@both
@pytest.mark.skipif(not TABLES.is_dir(), reason="the tables are not in THESISKIT_DATA_DIR")
def test_a_real_table(model):
    frame = pd.read_csv(TABLES / "nutrimouse.csv.gz")
    X, y = frame.iloc[:, 1:], frame.iloc[:, 0]
    p = cross_val_predict(clone(model), X, y, cv=5)
    assert 1 - np.mean((p - y) ** 2) / np.var(y) > 0.3


def test_intervals_of_interactions_are_quantiles():
    X = np.random.default_rng(0).integers(0, 2, (40, 3))
    y = X[:, 0] + np.random.default_rng(1).standard_normal(40)
    model = InteractionRegressor(1, chains=1, iterations=200, burn_in=50, random_state=0).fit(X, y)
    low, high = model.predict_interval(X[:5], 0.8).T
    np.testing.assert_array_equal(np.column_stack([low, high]),
                                  model.predict_quantiles(X[:5], [0.1, 0.9]))  # fmt: skip
    with pytest.raises(UserError, match="level must be"):
        model.predict_interval(X, 1)


def test_responses_far_away_are_improbable():
    """The interpolation between points of the priors holds to the ends of the grid of responses."""
    for seed in (1, 4):
        rng = np.random.default_rng([2, seed])
        y, X = rng.standard_normal(90), rng.standard_normal((90, 3000))
        X[:, :40] += y[:, None]
        model = NormalRegressor(10, temperature=None, random_state=1).fit(X[:60], y[:60])
        assert np.mean((model.predict(X[60:]) - y[60:]) ** 2) < 0.3
        assert model.predict_density(X[60:], np.full(30, 40.0), log=True).max() < -50


def test_coefficients_of_the_pool_are_its_predictions():
    X, y = drawn(60, 40)
    X[:, 7] = 1.0  # constant: it has no effect
    model = PoolRegressor(random_state=0).fit(X[:40], y[:40])
    assert model.coef_.shape == model.effect_.shape == (40,)
    moved = model.predict(X[40:]) - model.predict(X[40:41])
    np.testing.assert_allclose(moved, (X[40:] - X[40]) @ model.coef_, atol=1e-6)
    assert model.coef_[7] == 0
    assert np.abs(model.effect_).argmax() < 5
    assert model.lasso_share_.shape == (40,)
    assert 0 <= model.shrinkage_ < 0.01


def test_the_temperature_predicts_the_error_of_correlated_features():
    """As the error of a filtered table, where no sample is tested; without it it is far too low."""
    rng = np.random.default_rng(5)
    y = 3 * rng.standard_normal(260)
    shared = rng.standard_normal((260, 5)) + y[:, None] / 6
    X = np.repeat(shared, 20, axis=1) + 0.3 * rng.standard_normal((260, 100))
    model = NormalRegressor(None, random_state=0).fit(X[:60], y[:60])
    observed = np.sqrt(np.mean((model.predict(X[60:]) - y[60:]) ** 2))
    tempered = model._fitted.temperature.expected
    untempered = model._model.predicted_error(model._posterior, rng)
    assert 0.75 < tempered / observed < 1.25
    assert untempered < 0.5 * observed
