"""The path of the lasso, held to the conditions of an optimum and to scikit-learn's liblinear."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from thesiskit._kernels.lasso import Path

from thesiskit.models.lasso import PENALTIES, TOLERANCE

SHAPES = {  # samples, features, features that go together, classes that a feature separates
    "few features": (142, 13, False, False),
    "more features than samples": (50, 300, True, False),
    "separated classes": (50, 300, True, True),
    "as many features as samples": (120, 120, True, False),
}


def drawn(n, p, together, separated, seed=1):
    """Standardised features and an intercept's column (p + 1, n), responses, strengths."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if together:
        X = X @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)))
    signal = X[:, 0] / X[:, 0].std()
    y = (signal + (0 if separated else 1) * rng.standard_normal(n) > 0).astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    steepest = np.abs(X.T @ (y - y.mean())).max()
    rows = np.vstack([X.T, np.full(n, 10.0)])
    return np.ascontiguousarray(rows), y, PENALTIES / steepest


def objective(b, rows, y, strength):
    e = b @ rows
    return np.abs(b).sum() + strength * (np.logaddexp(0, e) - y * e).sum()


def miss(b, rows, y, strength):
    """By how much each slope misses what the optimum asks."""
    slope = strength * rows @ (1 / (1 + np.exp(-b @ rows)) - y)
    return np.where(b == 0, np.maximum(np.abs(slope) - 1, 0), np.abs(slope + np.sign(b)))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_slopes_are_those_of_an_optimum(shape):
    rows, y, strengths = drawn(*shape)
    path = Path(rows, y)
    for strength in strengths:
        assert miss(path.minimise(strength, 1e-6), rows, y, strength).max() < 1.1e-6


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_against_liblinear(shape):
    rows, y, strengths = drawn(*shape)
    path = Path(rows, y)
    for strength in strengths:
        found = path.minimise(strength, TOLERANCE)
        model = LogisticRegression(
            l1_ratio=1, C=strength, solver="liblinear", intercept_scaling=10, tol=1e-9,
            max_iter=10_000, random_state=3,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in versions that call the penalty by another name
            model.fit(rows[:-1].T, y)
        twin = np.append(model.coef_[0], model.intercept_[0] / 10)
        assert objective(found, rows, y, strength) <= objective(twin, rows, y, strength) + 1e-6
        np.testing.assert_allclose(found, twin, atol=2e-3)


def test_a_path_ends_where_each_strength_alone_does():
    rows, y, strengths = drawn(*SHAPES["as many features as samples"])
    path = Path(rows, y)
    for strength in strengths:
        alone = Path(rows, y).minimise(strength, 1e-8)
        np.testing.assert_allclose(path.minimise(strength, 1e-8), alone, atol=1e-6)


def test_no_feature_is_used_below_the_least_strength():
    rows, y, strengths = drawn(*SHAPES["few features"])
    balance = np.log(y.mean() / (1 - y.mean()))
    found = Path(rows, y).minimise(0.9 * strengths[0] / PENALTIES[0], 1e-9)
    assert (found[:-1] == 0).all()
    assert abs(10 * found[-1]) <= abs(balance)


def test_columns_of_zeros_and_equal_columns():
    rows, y, strengths = drawn(*SHAPES["few features"])
    rows[3], rows[5] = 0, rows[4]
    found = Path(rows, y).minimise(strengths[-1], 1e-6)
    assert found[3] == 0
    assert found[4] * found[5] >= 0
    assert miss(found, rows, y, strengths[-1]).max() < 1.1e-6


def test_a_path_begins_at_zero_and_changes_nothing_of_its_data():
    rows, y, strengths = drawn(*SHAPES["few features"])
    before = rows.copy(), y.copy()
    first = Path(rows, y).minimise(strengths[3], TOLERANCE)
    np.testing.assert_array_equal(Path(rows, y).minimise(strengths[3], TOLERANCE), first)
    np.testing.assert_array_equal(rows, before[0])
    np.testing.assert_array_equal(y, before[1])
