"""Naive Bayes of patterns of discrete features, with scikit-learn's interface."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from thesiskit.defaults import PATTERN_PI
from thesiskit.errors import UserError
from thesiskit.estimators import NaiveBayesClassifier
from thesiskit.models.naive_bayes import NaiveBayes, fit, predict
from thesiskit.pairs.interactions import select_patterns
from thesiskit.pairs.planes import Planes, decode, express

SUBTRACTS = {  # not from tables of whole numbers, but from those that may have missing values
    "check_positive_only_tag_during_fit": "the check subtracts a mean: values are then real"
}


@parametrize_with_checks(
    [NaiveBayesClassifier(2, order=1, random_state=0)], expected_failed_checks=lambda _: SUBTRACTS
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [NaiveBayesClassifier(1, order=2, disjoint=True, temperature="residual", random_state=0)],
    expected_failed_checks=lambda _: SUBTRACTS,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract_of_disjoint_pairs(estimator, check):
    check(estimator)


def data(n=300, p=12, seed=1):
    """One of two features, and not the other, has a value above 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, p))
    y = rng.random(n) < np.where((X[:, 0] > 0) != (X[:, 1] > 0), 0.85, 0.15)
    return X, np.where(y, "yes", "no")


def test_it_is_the_model_of_selected_patterns():
    X, y = data()
    new, _ = data(40, seed=2)
    model = NaiveBayesClassifier(8, order=2, disjoint=False, random_state=0).fit(X, y)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    drawn = np.random.default_rng(np.random.default_rng(seed).integers(2**63))
    found = select_patterns(Planes.pack(X, (y == "yes").astype(int)), 8, drawn)
    assert (model.selected_ == found.selected).all()
    assert model.gamma_squared_ == found.gamma_squared
    posterior = fit(found, NaiveBayes(relevant="some", pi=PATTERN_PI), correct=True)
    np.testing.assert_allclose(
        model.predict_proba(new)[:, 1],
        predict(posterior, express(found.selected, new)),
        rtol=1e-12,
    )
    assert model.patterns_[0] == ", ".join(
        f"x{f}={v}"
        for f, v in zip(*(one[0] for one in decode(found.selected)), strict=True)
        if f >= 0
    )
    assert (model.get_support(indices=True) == np.unique(decode(found.selected)[0])[1:]).all()
    assert "x0" in model.get_feature_names_out()


def test_the_table_has_what_was_counted_and_what_is_left_of_it():
    X, y = data()
    X = X.astype(float)
    X[::7, 0] = np.nan
    model = NaiveBayesClassifier(6, order=2, disjoint=True, random_state=0)
    table = model.fit(pd.DataFrame(X).add_prefix("rs"), y).pattern_table()
    assert list(table) == [
        "pattern", "no: with", "no: known", "yes: with", "yes: known", "odds ratio", "corrected",
        "relevant",
    ]  # fmt: skip
    assert table["pattern"].tolist() == model.patterns_
    for _, row in table.iterrows():
        parts = [part.split("=") for part in row["pattern"].split(", ")]
        columns = [int(name.removeprefix("rs")) for name, _ in parts]
        known = ~np.isnan(X[:, columns]).any(axis=1)
        there = (X[:, columns] == [float(value) for _, value in parts]).all(axis=1)
        odds = []
        for label in ("no", "yes"):
            mine = known & (y == label)
            assert (row[f"{label}: with"], row[f"{label}: known"]) == (
                there[mine].sum(),
                mine.sum(),
            )
            odds.append((there[mine].sum() + 0.5) / ((~there[mine]).sum() + 0.5))
        assert row["odds ratio"] == pytest.approx(odds[1] / odds[0])
        assert row["corrected"] == model.effects_.loc[row["pattern"], "effect"]
        assert abs(np.log(row["corrected"])) < abs(np.log(row["odds ratio"]))
    used = [part.split("=")[0] for words in table["pattern"] for part in words.split(", ")]
    assert len(used) == len(set(used)) == model.get_support().sum()


def test_values_of_any_type_are_the_same_patterns():
    X, y = data()
    new, _ = data(30, seed=3)
    first = NaiveBayesClassifier(5, order=2, random_state=0).fit(X, y)
    p = first.predict_proba(new)
    words = np.array(["aa", "ab", "bb"])
    for kind in (lambda X: X.astype(float), lambda X: words[X], lambda X: words[X].astype(object),
                 lambda X: pd.DataFrame(words[X]).add_prefix("x").astype("category")):  # fmt: skip
        model = clone(first).fit(kind(X), y)
        np.testing.assert_array_equal(model.predict_proba(kind(new)), p)
    assert model.patterns_[0].startswith("x0=")
    assert any("=ab" in one or "=bb" in one for one in model.patterns_)
    assert model.categories_[0].tolist() == words.tolist()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(kind(new)), p)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["order"] == 2


def test_a_new_value_is_none_of_a_pattern_and_a_missing_one_says_nothing():
    X, y = data()
    model = NaiveBayesClassifier(1, order=1, random_state=0).fit(X[:, :1], y)
    assert model.patterns_ == ["x0=0"]
    other, zero, unseen, missing = model.predict_proba([[1], [0], [7], [None]])[:, 1]
    assert unseen == other != zero
    assert missing == pytest.approx(((y == "yes").sum() + 1) / (len(y) + 2), abs=0.02)
    pair = NaiveBayesClassifier(1, order=2, random_state=0).fit(X[:, :2], y)
    assert ", " in pair.patterns_[0]
    both = pair.predict_proba([[7, None], [None, None], [7, 0], [0, 7]])[:, 1]
    assert both[0] == both[1] != both[2] == both[3]


def test_temperatures():
    """With patterns that say the same, evidence is counted once."""
    X, y = data(p=4)
    options = {"order": 2, "random_state": 0}
    groups = np.arange(len(X)) // 2
    plain = NaiveBayesClassifier(20, **options).fit(X, y)
    model = NaiveBayesClassifier(20, temperature="residual", **options)
    model.fit(X, y, groups=groups)
    assert model.tau_ > 1.2
    sure = [np.abs(method.predict_proba(X)[:, 1] - 0.5).mean() for method in (plain, model)]
    assert sure[1] < sure[0]
    assert (model.selected_ == plain.selected_).all()
    again = {"groups": groups, "cv": GroupKFold(3), "method": "predict_proba"}
    assert np.isfinite(cross_val_predict(model, X, y, **again)).all()


def test_few_patterns():
    """The usual number keeps all where there are fewer; features used once may be used up."""
    X, y = data(p=3)
    model = NaiveBayesClassifier(order=2, disjoint=True, random_state=0).fit(X, y)
    assert 1 <= len(model.patterns_) <= 3
    many = NaiveBayesClassifier(order=1, random_state=0).fit(X, y)
    assert len(many.patterns_) == 9
    with pytest.raises(UserError, match="patterns"):
        NaiveBayesClassifier(9, order=2, disjoint=True, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("options", "change", "words"),
    [
        ({"order": 4}, None, "order must be at most 3"),
        ({"order": 1.5}, None, "order must be a whole number"),
        ({"order": 3}, lambda X: X[:, :2], "order of patterns must be from 1 to 2"),
        ({"disjoint": True}, lambda X: X > 1, "give order=2"),
        ({"ld": 0.5}, lambda X: X > 1, "give order=2"),
        ({"order": 2, "disjoint": "yes"}, None, "disjoint must be True or False"),
        ({"order": 2, "ld": 2}, None, "ld, a squared correlation"),
        ({"order": 2, "n_features": None}, None, "give n_features"),
        ({"order": 2, "screened": {"of": 100}}, None, "screened is for columns"),
        ({"order": 2}, lambda X: X + 0.5, "'x0' has real values .*intervals.*NormalClassifier"),
        ({"order": 2}, lambda X: X + np.inf, "column 'x0' contains inf"),
        ({"order": 2}, lambda X: X + 20 * np.arange(len(X))[:, None] % 18,
         "column 'x0' has 1[789] values, at most 16 .*NormalClassifier"),
        ({"order": 2}, lambda X: 0 * X, "no feature varies"),
    ],
)  # fmt: skip
def test_what_is_refused(options, change, words):
    X, y = data()
    with pytest.raises(UserError, match=words):
        NaiveBayesClassifier(**options).fit(X if change is None else change(X), y)


def test_columns_have_no_pattern_table():
    X, y = data()
    model = NaiveBayesClassifier(3, random_state=0).fit((X > 0).astype(int), y)
    assert model.patterns_ is None
    with pytest.raises(UserError, match="give order=2"):
        model.pattern_table()
