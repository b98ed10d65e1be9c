"""PoolClassifier: scikit-learn's checks, and features that go together."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from thesiskit.estimators import NormalClassifier, PoolClassifier
from thesiskit.models import pool


@parametrize_with_checks([PoolClassifier()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def together(n, rng, groups=10, size=20):
    """Groups of features with correlation .6 within classes; half of the groups differ."""
    y = rng.permutation(np.arange(n) % 2)
    common = rng.standard_normal((n, groups))
    common[:, : groups // 2] += 1.0 * y[:, None]
    X = np.sqrt(0.6) * np.repeat(common, size, axis=1)
    return X + np.sqrt(0.4) * rng.standard_normal(X.shape), y


def test_it_predicts_better_than_naive_bayes_where_features_go_together():
    rng = np.random.default_rng(1)
    X, y = together(400, rng)
    model = PoolClassifier(random_state=0).fit(X[:100], y[:100])
    naive = NormalClassifier(50, temperature=None, random_state=0).fit(X[:100], y[:100])
    losses = [-one.predict_log_proba(X[100:])[np.arange(300), y[100:]].mean()
              for one in (model, naive)]  # fmt: skip
    assert losses[0] < 0.8 * losses[1]
    expected = 1 - model.predict_proba(X[100:]).max(axis=1).mean()
    assert abs((model.predict(X[100:]) != y[100:]).mean() - expected) < 0.08


def test_attributes_are_in_the_order_of_the_columns():
    rng = np.random.default_rng(2)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 30))
    X[:, 7] += 3.0 * y
    X[:, 4] = 1.0  # constant: it has no effect
    model = PoolClassifier(random_state=0).fit(X, y)
    assert model.coef_.shape == (3, 30)
    assert np.abs(model.coef_).sum(axis=0).argmax() == 7
    assert model.lasso_share_[7] > 0.99
    assert model.coef_[0, 7] < 0 < model.coef_[2, 7]
    assert (model.coef_[:, 4] == 0).all()
    assert model.selected_[0] == 7
    varies = X.std(axis=0) > 0
    np.testing.assert_allclose(model.coef_[:, varies] * X[:, varies].std(axis=0),
                               model.effect_[:, varies])  # fmt: skip
    assert model.power_.shape == (len(pool.FAMILIES),)
    assert model.shrinkage_ < 1e-6


def test_labels_and_missing_values():
    rng = np.random.default_rng(3)
    y = np.array(["well", "sick"])[np.arange(40) % 2]
    X = rng.standard_normal((40, 12)) + (y == "sick")[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    model = PoolClassifier(random_state=0).fit(X, y)
    assert set(model.predict(X)) == {"well", "sick"}
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match="infinit"):
        model.predict(np.full((1, 12), np.inf))


@pytest.mark.parametrize("model", [PoolClassifier, NormalClassifier])
@pytest.mark.parametrize("value", [1e300, -1e155])
@pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")
def test_a_number_that_has_no_square_is_taken(model, value):
    X = np.random.default_rng(0).standard_normal((20, 6))
    X[12, 4] = value
    p = model(random_state=0).fit(X, np.arange(20) % 2).predict_log_proba(X)
    assert np.isfinite(p).all()


@pytest.mark.parametrize("value", [3.0, np.nan])
def test_a_table_of_which_no_column_varies_is_refused(value):
    with pytest.raises(ValueError, match="no column varies"):
        PoolClassifier().fit(np.full((20, 6), value), np.arange(20) % 2)


@pytest.mark.parametrize("classes", [[0] * 19 + [1], [*range(10)] * 2, [0, 1, 2, *[0] * 17]])
def test_classes_with_few_samples(classes):
    """One sample of a class, and more classes than samples in a fold."""
    X, y = np.random.default_rng(0).standard_normal((20, 6)), np.array(classes)
    X[:, 1] = np.nan  # no value at all, and one of one sample
    X[3:, 2] = np.nan
    model = PoolClassifier(random_state=0).fit(X, y)
    p = model.predict_proba(np.vstack([X, 1e200 * X]))
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.coef_[:, 1:3] == 0).all()
