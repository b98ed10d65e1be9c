"""effects_ of estimators: tables by feature, with names, classes and odds ratios."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from thesiskit.estimators import (
    MixtureClassifier,
    NaiveBayesClassifier,
    NormalClassifier,
    NormalRegressor,
    PoolClassifier,
)
from thesiskit.models.effects import COLUMNS, effects

Y = np.repeat(["a", "b"], 25)
X = np.random.default_rng(2).normal(size=(50, 60))
X[:, :3] += 1.3 * (Y == "b")[:, None]
NAMED = pd.DataFrame(X, columns=[f"gene {j}" for j in range(60)])


@pytest.mark.parametrize("table", [X, NAMED], ids=["numbers", "names"])
def test_two_classes_have_a_row_for_each_feature(table):
    model = NormalClassifier(6, random_state=0).fit(table, Y)
    found = model.effects_
    names = NAMED.columns[model.selected_] if table is NAMED else model.selected_
    assert list(found.index) == list(names)
    assert list(found) == [*COLUMNS, "relevance"]
    np.testing.assert_array_equal(found["relevance"], model.relevance_)
    np.testing.assert_array_equal(found[[*COLUMNS]], effects("normal", model._posterior)[:, 0])
    strongest = found.iloc[0]
    assert 0 < strongest.low < strongest.effect < strongest.raw
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(model)).effects_, found)
    with pytest.raises(NotFittedError):
        _ = clone(model).effects_


def test_several_classes_have_a_row_for_each_of_them():
    y = np.repeat(["a", "b", "c"], [17, 17, 16])
    found = NormalClassifier(4, random_state=0).fit(NAMED, y).effects_
    assert found.index.names == ["feature", "class"]
    assert found.loc[found.index[0][0]].index.tolist() == ["a", "b", "c"]
    # of each feature, the class less the average of the others
    np.testing.assert_allclose(found.groupby(level=0)[["raw", "effect"]].sum(), 0, atol=1e-8)


def test_a_regressor_has_slopes_in_standard_deviations():
    """2 z + noise with deviation 1/2 has the slope 4, by a standard deviation of z."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=400)
    table = np.column_stack([2 * z + rng.normal(size=400) / 2, rng.normal(size=(400, 5))])
    row = NormalRegressor(1, random_state=0).fit(table, 7 * z).effects_.iloc[0]
    assert row.raw == pytest.approx(4, abs=0.4)
    assert row.low < 4 < row.high


def test_patterns_and_bits_have_odds_ratios():
    bits = (X > 0).astype(int)
    model = NaiveBayesClassifier(5, random_state=0).fit(bits, Y)
    found = model.effects_
    ones = [bits[label == Y][:, model.selected_].sum(axis=0) + 0.5 for label in ("a", "b")]
    odds = [count / (26 - count) for count in ones]
    np.testing.assert_allclose(found["raw"], odds[1] / odds[0])
    assert (np.abs(np.log(found["effect"])) < np.abs(np.log(found["raw"]))).all()
    patterns = NaiveBayesClassifier(5, order=2, random_state=0).fit(bits[:, :8], Y)
    assert patterns.effects_.index.tolist() == patterns.patterns_
    np.testing.assert_array_equal(
        patterns.pattern_table()["corrected"], patterns.effects_["effect"]
    )


@pytest.mark.parametrize(
    "model",
    [
        PoolClassifier(random_state=0),
        MixtureClassifier(2, iterations=40, burn_in=10, chains=2, random_state=0, until=None),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_other_models_have_none(model):
    model.fit((X > 0).astype(int), Y)
    assert not hasattr(model, "effects_")
    with pytest.raises(AttributeError, match=r"has no effects of single features. Fix: use"):
        _ = model.effects_
