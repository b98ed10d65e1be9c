"""Predictions at another prevalence: odds by hand, estimators, fitted models, and bad input."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn.naive_bayes import GaussianNB

from thesiskit.errors import UserError
from thesiskit.estimators import (
    InteractionClassifier,
    MixtureClassifier,
    NaiveBayesClassifier,
    NormalClassifier,
    PoolClassifier,
    SequenceClassifier,
)
from thesiskit.models.prevalence import at_prevalence, full_shares

CLASSES, COUNTS = ["normal", "tumour", "benign"], np.array([30, 50, 20])
SHORT = {"iterations": 40, "burn_in": 10, "chains": 1, "random_state": 0}


def by_odds(p, shares, counts):
    """Return probabilities in exact fractions."""
    found = []
    for row in p:
        parts = [Fraction(float(x)) * Fraction(float(q)) / int(n)
                 for x, q, n in zip(row, shares, counts, strict=True)]  # fmt: skip
        found.append([float(part / sum(parts)) for part in parts])
    return np.array(found)


def test_classes_that_are_not_named_share_the_rest():
    found = full_shares({"tumour": 0.1}, CLASSES, COUNTS)
    np.testing.assert_allclose(found, [0.9 * 30 / 50, 0.1, 0.9 * 20 / 50], rtol=1e-14)
    found = full_shares({"tumour": 0.1, "benign": "0.2"}, CLASSES, COUNTS)
    np.testing.assert_allclose(found, [0.7, 0.1, 0.2], rtol=1e-14)
    thirds = full_shares([f"{name}=.3333333" for name in CLASSES[::-1]], CLASSES, COUNTS)
    np.testing.assert_allclose(thirds, 1 / 3, rtol=1e-12)
    assert full_shares(["a=b=0.25"], ["a=b", "c"], np.array([1, 1])).tolist() == [0.25, 0.75]
    assert full_shares({1: 0.25}, np.array([0, 1]), np.array([1, 1])).tolist() == [0.75, 0.25]


@pytest.mark.parametrize("share", [1e-12, 0.02, 0.5, 1 - 1e-5])
def test_odds_are_multiplied(rng, share):
    p = rng.dirichlet([0.1] * 3, 50) + 1e-300
    shares = full_shares({"tumour": share}, CLASSES, COUNTS)
    wanted = by_odds(p, shares, COUNTS)
    found = at_prevalence(p, {"tumour": share}, CLASSES, COUNTS)
    np.testing.assert_allclose(found, wanted, rtol=1e-11)
    logs = at_prevalence(np.log(p), {"tumour": share}, CLASSES, COUNTS, log=True)
    np.testing.assert_allclose(logs, np.log(wanted), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)


def test_zeros_ones_and_extreme_odds_stay_finite():
    p = np.array([[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5], [1, 1e-300, 0]])
    with np.errstate(all="raise", under="ignore"):
        found = at_prevalence(p, {"tumour": 1e-200}, CLASSES, COUNTS)
    assert found[:2].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found[2].tolist() == [0, pytest.approx(2e-200 * 0.4, rel=1), 1]
    assert np.isfinite(found).all()
    logs = at_prevalence(np.array([[0, -1e5]]), {"b": 0.9}, ["a", "b"], np.ones(2), log=True)
    assert logs[0] == pytest.approx([0, -1e5 + np.log(9)])
    assert at_prevalence(p, None, CLASSES, COUNTS) is p


@pytest.mark.parametrize(
    ("prevalence", "words"),
    [
        ({"tumour": 0}, ["'tumour' is 0,", "between 0 and 1"]),
        ({"tumour": 1}, ["'tumour' is 1,", "between 0 and 1"]),
        ({"tumour": -0.1}, ["-0.1", "between 0 and 1"]),
        ({"tumour": np.nan}, ["nan", "not a number"]),
        ({"tumour": np.inf}, ["inf", "between 0 and 1"]),
        ({"tumour": None}, ["None", "not a number"]),
        (["tumour=2%"], ["'2%'", "not a number"]),
        (["tumour"], ["'tumour'", "--prevalence tumour=0.02"]),
        ("tumour=0.02", ["'t'", "--prevalence"]),
        (0.02, ["0.02 names no class", "--prevalence"]),
        ({}, ["names no class"]),
        ({"tumor": 0.1}, ["no class 'tumor'", "did you mean tumour?"]),
        ({"xyz": 0.1}, ["no class 'xyz'", "use one of normal, tumour, benign"]),
        (["tumour=0.1", "tumour=0.2"], ["'tumour' is there twice", "remove one"]),
        ({"tumour": 0.1, "normal": 0.2, "benign": 0.6}, ["add up to 0.9", "all but one"]),
        ({"tumour": 0.7, "normal": 0.3}, ["add up to 1,", "leave nothing"]),
        ({"tumour": 0.7, "normal": 0.4}, ["add up to 1.1", "reduce them"]),
    ],
)
def test_bad_input(prevalence, words):
    with pytest.raises(UserError) as caught:
        full_shares(prevalence, CLASSES, COUNTS)
    for word in (*words, "Fix: "):
        assert word in str(caught.value)


def test_what_has_no_classes_or_no_samples_of_one():
    with pytest.raises(UserError, match=r"real numbers, not classes\. Fix: "):
        full_shares({"tumour": 0.1}, [], np.empty(0))
    with pytest.raises(UserError, match=r"'benign' has no training sample.*Fix: "):
        full_shares({"tumour": 0.1}, CLASSES, np.array([3, 4, 0]))


def fitted(rng):
    """Yield classifiers of every kind, and what they predict."""
    y = np.repeat(["a", "b"], [30, 12])
    bits = (rng.random((42, 6)) < np.where(y == "b", 0.7, 0.3)[:, None]).astype(int)
    reals = bits + rng.normal(size=bits.shape)
    for model in (NaiveBayesClassifier(3), MixtureClassifier(3, n_jobs=1, **SHORT)):
        yield model.fit(bits, y), bits[:8]
    for model in (NormalClassifier(3), PoolClassifier(random_state=0)):
        yield model.fit(reals, y), reals[:8]
    three = np.array([0, 1, 2])[np.arange(42) % 3]
    yield NormalClassifier(3).fit(reals, three), reals[:8]
    yield InteractionClassifier(1, **SHORT).fit(bits, y), bits[:8]
    yield SequenceClassifier(1, **SHORT).fit(bits, y), bits[:8]


@pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")
def test_every_classifier_predicts_at_another_prevalence(rng):
    for model, X in fitted(rng):
        label = model.classes_[-1]
        shares = np.append(model.class_count_[:-1] / model.class_count_[:-1].sum() * 0.1, 0.9)
        wanted = by_odds(model.predict_proba(X), shares, model.class_count_)
        found = model.predict_proba(X, prevalence={label: 0.9})
        np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=str(model))
        logs = model.predict_log_proba(X, prevalence={label: 0.9})
        np.testing.assert_allclose(logs, np.log(wanted), rtol=1e-8, atol=1e-9)
        labels = model.predict(X, prevalence={label: 0.9})
        assert (labels == model.classes_[wanted.argmax(axis=1)]).all()
        own = dict(zip(model.classes_, model.class_count_ / len(model.classes_), strict=True))
        with pytest.raises(UserError, match="Fix: "):
            model.predict_proba(X, prevalence=own | {label: 0.99})
        with pytest.raises(UserError, match=r"no class 'c'\. Fix: "):
            model.predict(X, prevalence={"c": 0.1})


def test_a_model_moved_to_a_prevalence_is_the_model_of_a_table_with_it(rng):
    """With the same features within classes, as many copies of a class as its share asks for."""
    X = rng.normal(size=(90, 3))
    y = np.repeat([0, 1], [60, 30])
    X[:, 0] += y
    whole, part = GaussianNB(), GaussianNB(priors=[0.8, 0.2])
    wanted = part.fit(X, y).predict_proba(X)
    p = whole.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(
        at_prevalence(p, {1: 0.2}, whole.classes_, whole.class_count_), wanted, rtol=1e-9
    )


def test_moved_probabilities_are_calibrated_at_the_new_prevalence():
    """Log loss of a true model is least at the true prevalence, with the true error."""
    rng = np.random.default_rng(3)
    n, share = 40_000, 0.05
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(1.5 * y)
    odds = np.exp(stats.norm.logpdf(x, 1.5) - stats.norm.logpdf(x))  # of equal shares
    p = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
    moved = at_prevalence(p, {1: share}, [0, 1], np.array([50, 50]))[:, 1]
    error = np.sqrt(np.sum(moved * (1 - moved)))
    assert abs(y.sum() - moved.sum()) < 4 * error
    assert p[:, 1].sum() > y.sum() + 100 * error
