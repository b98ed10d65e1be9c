"""The classifier of real features, and the temperatures of all selecting classifiers."""

import pickle
import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from thesiskit.errors import MOST_CHARACTERS, UnreliableWarning, UserError
from thesiskit.estimators import MixtureClassifier, NaiveBayesClassifier, NormalClassifier
from thesiskit.models import normal
from thesiskit.models.base import Training
from thesiskit.models.selection import select_by_f
from thesiskit.models.temperature import SEED, fit_temperature, imitated_reals, temper

SAMPLES, COLUMNS = 48, 60


@parametrize_with_checks([NormalClassifier()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([NormalClassifier(1, correct=False, relevant="all")])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract_without_the_correction(estimator, check):
    check(estimator)


def real_data(classes=3, seed=0, p=COLUMNS, shift=1.0):
    """Return features of which the first five differ between classes, labels, and new samples."""
    rng = np.random.default_rng(seed)
    y = np.arange(SAMPLES) % classes
    X = rng.normal(size=(SAMPLES, p))
    X[:, :5] += shift * y[:, None]
    new = rng.normal(size=(20, p)) + 0.5
    return X, y, new


@pytest.mark.parametrize("correct", [True, False])
@pytest.mark.parametrize("relevant", ["some", "all"])
def test_it_is_the_model(correct, relevant):
    X, y, new = real_data()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    options = {"correct": correct, "relevant": relevant, "class_prior": (1.0, 2.0, 3.0)}
    options["temperature"] = None
    model = NormalClassifier(8, **options).fit(X, y)
    selection = select_by_f(X, y, 8, np.random.default_rng(0))
    settings = normal.Normal((1.0, 2.0, 3.0), relevant)
    posterior = normal.fit(selection, settings, correct=correct)
    assert model.selected_.tolist() == selection.selected.tolist()
    assert model.threshold_ == selection.threshold
    np.testing.assert_array_equal(model.relevance_, posterior.relevance)
    np.testing.assert_array_equal(model.log_posterior_, posterior.log_joint)
    assert model.log_posterior_.shape == (3, len(model.ratio_), len(model.pi_))
    assert model.tau_ == 1.0
    expected = normal.Normal().log_probability(posterior, new[:, selection.selected])
    np.testing.assert_array_equal(model.predict_log_proba(new), expected)
    np.testing.assert_allclose(model.predict_proba(new), np.exp(expected), rtol=1e-9)


def test_labels_names_and_types():
    X, y, new = real_data()
    model = NormalClassifier(5, random_state=3).fit(X, y)
    p = model.predict_proba(new)
    words = np.array(["low", "mid", "top"])
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(COLUMNS)])
    named = clone(model).fit(frame, words[y])
    np.testing.assert_array_equal(named.predict_proba(frame), model.predict_proba(X))
    assert named.classes_.tolist() == words.tolist()
    assert named.get_feature_names_out().tolist() == [f"g{j}" for j in sorted(model.selected_)]
    assert (named.predict(frame) == words[model.predict(X)]).all()
    for kind in (np.float32, object):
        other = clone(model).fit(X.astype(np.float32).astype(kind), y)
        np.testing.assert_allclose(other.predict_proba(new), p, rtol=1e-3, atol=1e-4)
    whole = (10 * X).astype(int)
    same = clone(model).fit(whole, y).predict_proba((10 * new).astype(int))
    np.testing.assert_array_equal(
        same, clone(model).fit(whole.astype(float), y).predict_proba((10 * new).astype(int))
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(new), p)


def test_a_memory_mapped_table(tmp_path):
    X, y, new = real_data()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = NormalClassifier(5, random_state=3)
    found = clone(model).fit(mapped, y)
    np.testing.assert_array_equal(
        found.predict_log_proba(new), clone(model).fit(X, y).predict_log_proba(new)
    )


def test_logs_of_probabilities_go_on_where_probabilities_end():
    X, y, _ = real_data(shift=20.0)
    model = NormalClassifier(5, temperature=None).fit(X, y)
    p, log = model.predict_proba(X), model.predict_log_proba(X)
    assert p.min() == 2.0**-53
    assert (p < 1).all()
    assert log.min() < -60
    np.testing.assert_allclose(np.logaddexp.reduce(log, axis=1), 0, atol=1e-12)


def test_a_screened_table_is_as_the_whole_one():
    X, y, new = real_data(p=600, shift=0.3)
    whole = NormalClassifier(8).fit(X, y)
    twenty = select_by_f(X, y, 20, np.random.default_rng(0))
    kept = np.sort(twenty.selected)
    part = NormalClassifier(8, screened={"of": 600}).fit(X[:, kept], y)
    assert (kept[part.selected_] == whole.selected_).all()
    np.testing.assert_allclose(
        part.predict_log_proba(new[:, kept]), whole.predict_log_proba(new), rtol=1e-9
    )
    # all of the table, known to be above an F, or above its correlation ratio
    f = twenty.threshold * 0.99
    ratio = np.sqrt(2 * f / (2 * f + SAMPLES - 3))
    by_f = NormalClassifier(None, screened={"of": 600, "f": f}).fit(X[:, kept], y)
    by_ratio = NormalClassifier(None, screened={"of": 600, "threshold": ratio}).fit(X[:, kept], y)
    assert by_f.threshold_ == f
    assert by_ratio.threshold_ == pytest.approx(f, rel=1e-12)
    alone = NormalClassifier(None).fit(X[:, kept], y)
    assert alone.predict_proba(new[:, kept]).max() > by_f.predict_proba(new[:, kept]).max()


def test_columns_that_do_not_vary_are_no_features():
    X, y, new = real_data(p=8)
    flat = np.column_stack([np.full(SAMPLES, 3.0), X, np.full(SAMPLES, np.nan)])
    new_flat = np.column_stack([np.zeros(20), new, np.zeros(20)])
    expected = NormalClassifier(None).fit(X, y).predict_log_proba(new)
    for n_features in (None, 8, 10):  # the default keeps all of fewer
        model = NormalClassifier(n_features).fit(flat, y)
        np.testing.assert_allclose(model.predict_log_proba(new_flat), expected, rtol=1e-12)


def test_a_screened_table_with_missing_values_is_believed():
    X, y, new = real_data(classes=2, p=400)
    X[np.random.default_rng(5).random(X.shape) < 0.3] = np.nan
    there = ~np.isnan(X)
    cor = [abs(np.corrcoef(x[h], y[h])[0, 1]) for x, h in zip(X.T, there.T, strict=True)]
    kept = np.array(cor) > 0.25
    model = NormalClassifier(None, screened={"of": 400, "threshold": "0.25"}).fit(X[:, kept], y)
    assert len(model.selected_) == kept.sum()
    assert np.isfinite(model.predict_log_proba(new[:, kept])).all()


@pytest.mark.parametrize("temperature", [None, "residual"])
@pytest.mark.parametrize("size", [2.0**-532, 1e200])
def test_the_size_of_values_does_not_matter(size, temperature):
    X, y, new = real_data()
    model = NormalClassifier(5, temperature=temperature, random_state=0)
    found = [clone(model).fit(X * one, y).predict_log_proba(new * one) for one in (1.0, size)]
    np.testing.assert_allclose(*found, atol=1e-5)


def test_features_on_another_scale_are_named():
    X, y, _ = real_data()
    X[:, 2] *= 1000
    with pytest.warns(UnreliableWarning, match="^x2: the spread is 100 times larger") as told:
        NormalClassifier(5, temperature=None).fit(X, y)
    assert len(told) == 1
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(COLUMNS)])
    frame["g2"] = 1e13 + frame["g2"] / 1000
    with pytest.warns(UnreliableWarning, match="^g2: the values differ by less than a trillionth"):
        NormalClassifier(5, temperature=None).fit(frame, y)


# ---- temperatures ----


def bits_of(X):
    return (np.median(X, axis=0) < X).astype(int)


@pytest.mark.parametrize(("k", "interpolated", "near"), [(10, False, 1e-5), (60, True, 1e-3)])
def test_a_temperature_of_imitated_samples_is_that_of_the_model(k, interpolated, near):
    """A slow twin of the parts: the fit, its imitated samples, and the temperature of these.

    It averages over some of the likely points; all points have nearly the same temperature.
    """
    X, y, new = real_data(classes=3, p=300, shift=0.4)
    model = NormalClassifier(k, random_state=5).fit(X, y)
    assert model.temperature == "residual"
    plain = NormalClassifier(k, temperature=None, random_state=5).fit(X, y)
    np.testing.assert_array_equal(model.log_posterior_, plain.log_posterior_)
    likely = model._posterior.at_likely_points()
    assert np.isinf(likely.log_joint).sum() > np.isinf(model._posterior.log_joint).sum()
    for posterior, tolerance in ((likely, 1e-9), (model._posterior, near)):
        moments, rng = normal.means_of(posterior), np.random.default_rng(SEED)
        samples, classes = imitated_reals(X[:, model.selected_], y, *moments, rng)
        log = normal.Normal().log_probability(posterior, samples)
        expected = fit_temperature(log, classes, strength=16, copies=8)
        assert model.tau_ == pytest.approx(expected.tau, rel=tolerance)
        np.testing.assert_allclose(model.offset_, expected.offset, atol=tolerance)
    assert ("interpolation" in vars(likely)) == interpolated
    after = temper(plain.predict_log_proba(new), model.tau_, model.offset_)
    np.testing.assert_allclose(model.predict_log_proba(new), after, atol=1e-12)


@pytest.mark.parametrize("kind", ["normal", "naive Bayes"])
def test_features_that_go_together_are_counted_once(kind):
    """Two hundred features of ten hidden ones: a model without a temperature is over-confident."""
    rng = np.random.default_rng(3)

    def draw(n):
        y = np.arange(n) % 2
        hidden = rng.normal(size=(n, 10))
        hidden[:, :3] += y[:, None] - 0.5
        return 0.9 * np.repeat(hidden, 20, axis=1) + 0.4 * rng.normal(size=(n, 200)), y

    scores = []  # log loss, and errors beyond those that are predicted, without and with
    for _ in range(6):
        (X, y), (new, actual) = draw(80), draw(2000)
        model = NormalClassifier(30) if kind == "normal" else NaiveBayesClassifier(30)
        if kind != "normal":
            X, new = bits_of(X), bits_of(new)
        for temperature in (None, "residual"):
            p = model.set_params(temperature=temperature).fit(X, y).predict_proba(new)
            wrong = (p.argmax(axis=1) != actual).mean()
            loss = -np.log(p[np.arange(len(new)), actual]).mean()
            scores.append([loss, wrong - (1 - p.max(axis=1)).mean(), model.tau_])
    plain, softened = (np.mean(scores[i::2], axis=0) for i in (0, 1))
    assert softened[2] > 3
    assert plain[0] > softened[0] + 0.3
    assert plain[1] > 0.15  # more errors than are predicted
    assert abs(softened[1]) < 0.06


def test_features_that_are_independent_need_no_temperature():
    rng = np.random.default_rng(4)
    taus = []
    for _ in range(9):
        y = np.arange(100) % 2
        X = rng.normal(size=(100, 200))
        X[:, :20] += 0.8 * y[:, None]
        taus.append(NormalClassifier(20).fit(X, y).tau_)
    assert np.median(taus) < 1.3


def test_a_screened_table_has_a_temperature_of_imitated_samples():
    X, y, _ = real_data(classes=2, p=300, shift=0.4)
    best = np.sort(NormalClassifier(20).fit(X, y).selected_)
    model = NormalClassifier(None, screened={"of": 300}, random_state=0).fit(X[:, best], y)
    assert model.tau_ >= 1


@pytest.mark.parametrize("model", [NormalClassifier(1), NormalClassifier(5)])
def test_a_class_with_one_sample_has_no_residual(model):
    X, y, new = real_data(classes=2)
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1]]
    with pytest.warns(UnreliableWarning, match="has one training sample"):
        model.fit(X[few], y[few])
    assert (model.tau_, model.offset_.tolist()) == (1.0, [0.0, 0.0])
    assert np.isfinite(model.predict_log_proba(new)).all()


@pytest.mark.parametrize("model", [NormalClassifier, NaiveBayesClassifier])
def test_too_few_samples_have_no_temperature_and_it_says_why(model):
    X = np.random.default_rng(1).integers(0, 2, (5, 6))
    for y in ([0, 0, 1, 1], [0, 0, 1, 1, 1]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = model(3, temperature="residual", random_state=0).fit(X[: len(y)], y)
        assert (found.tau_, found.offset_.tolist()) == (1.0, [0.0, 0.0])
        told = [str(one.message) for one in caught if "temperature" in str(one.message)]
        assert told == [
            f'temperature="residual": {len(y)} training samples of 2 classes are too few, it needs '
            "6; tau is 1"
        ]


def test_a_sample_alone_among_three_classes_borrows_the_residuals_of_others():
    X, y, _ = real_data(classes=3, shift=2.0)
    few = np.r_[np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:1]]
    model = NormalClassifier(5).fit(X[few], y[few])
    assert model.offset_.all()  # fitted
    samples, g = model._model.imitate(
        model._posterior,
        Training(model._posterior.selection, y[few], lambda: X[few][:, model.selected_]),
        np.random.default_rng(1),
    )
    # whole vectors of residuals, and not errors of means alone, which are alike in all draws
    spread = np.std(samples[g == 2], axis=0) / np.std(samples[g == 1], axis=0)
    assert (spread > 0.5).all()


# ---- what is wrong ----


def refused(model, X, y, words, kind=ValueError):
    with pytest.raises(kind, match=words) as caught:
        model.fit(X, y)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) <= MOST_CHARACTERS


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_features": COLUMNS + 1}, "from 1 to 60, got 61"),
        ({"n_features": 0}, "from 1 to 60, got 0"),
        ({"n_features": 2.5}, "n_features must be a whole number or None"),
        ({"correct": "no"}, "correct must be True or False"),
        ({"relevant": "few"}, "relevant must be all or some"),
        ({"class_prior": 0}, "class_prior must be a positive number, got 0"),
        ({"class_prior": (1, 1)}, "class_prior: has 2 numbers, but there are 3 classes"),
        ({"temperature": 2.0}, 'temperature: 2.0 is unknown. Fix: use None or "residual"'),
        ({"temperature": "cv"}, "temperature: 'cv' is unknown. Fix: use None or \"residual\""),
        ({"screened": 100}, 'screened must be a dict such as {"of": 10000.*or "f", the F'),
        ({"screened": {"of": 100, "g": 1}}, "screened must be a dict such as"),
        ({"screened": {"of": 59}}, "cannot have been selected from 59"),
        ({"screened": {"of": 100, "f": 9.5}}, "less than the threshold 9.5"),
        ({"screened": {"of": 100, "threshold": 0.9}}, "of the filtering"),
        ({"screened": {"of": 100, "f": 1.0, "threshold": 0.1}}, "which exclude each other"),
        ({"screened": {"of": 100, "f": -1.0}}, r'screened\["f"\] must be a positive number'),
    ],
)
def test_bad_options(options, words):
    X, y, _ = real_data()
    refused(NormalClassifier(**options), X, y, words)


def test_bad_tables():
    X, y, new = real_data()
    refused(NormalClassifier(), np.full((SAMPLES, 4), 7.0), y, "no column varies")
    refused(NormalClassifier(), np.full((SAMPLES, 4), np.nan), y, "no column varies")
    flat = X.copy()
    flat[:, 7:] = 1.0
    refused(NormalClassifier(8), flat, y, r"from 1 to 7, got 8 \(53 do not vary\)")
    infinite = X.copy()
    infinite[5, 12] = np.inf
    refused(NormalClassifier(), infinite, y, "infinite value in sample 6, feature 13")
    model = NormalClassifier().fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict_proba(np.where(new > 1, np.inf, new))
    refused(NormalClassifier(), X, X[:, 0], "Unknown label type: continuous")
    refused(NormalClassifier(), X, np.zeros(SAMPLES), "needs two classes, got one class")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        refused(NormalClassifier(), X, np.arange(SAMPLES), "more samples than classes")


@pytest.mark.parametrize("model", [NormalClassifier(5, temperature=None), NaiveBayesClassifier(5)])
def test_a_class_with_one_sample(model):
    X, _, new = real_data()
    y = np.array(["usual"] * (SAMPLES - 1) + ["rare"], dtype=object)
    if isinstance(model, NaiveBayesClassifier):
        X, new = bits_of(X), bits_of(new)
    p = clone(model).fit(X, y).predict_proba(new)
    assert ((p > 0) & (p < 1)).all()


@pytest.mark.parametrize("model", [NaiveBayesClassifier(), MixtureClassifier()])
def test_three_classes_have_a_classifier(model):
    X, y, _ = real_data()
    refused(model, bits_of(X), y, "Only binary classification.*NormalClassifier accepts 3 classes")
    refused(model, X, y % 2, "features must be 0 or 1.*NormalClassifier")


@pytest.mark.parametrize("model", [NormalClassifier(), NaiveBayesClassifier()])
def test_many_columns_of_text(model):
    words = np.full((6, 100_000), "high")
    y = np.arange(6) % 2
    frame = pd.DataFrame(words.astype(object), dtype=object)
    started = time.process_time()
    for table in (words, words.astype(object)):
        refused(model, table, y, "column number 1 contains 'high' in sample 1", UserError)
    refused(model, frame, y, "column '0' contains 'high' in sample 1", UserError)
    assert time.process_time() - started < 5


def test_numbers_as_text_are_numbers():
    X, y, new = real_data(p=8)
    X = X.round(2)
    X[3, 4] = np.nan
    plain = NormalClassifier(5).fit(X, y).predict_log_proba(new)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(8)])
    text = frame.astype(str).replace("nan", None)
    half = text.copy()
    half["g1"] = frame["g1"]
    named = pd.DataFrame(new, columns=frame.columns)
    for table in (text, half, frame.astype(object)):
        model = NormalClassifier(5).fit(table, y)
        np.testing.assert_array_equal(model.predict_log_proba(named), plain)
        np.testing.assert_array_equal(model.predict_log_proba(named.astype(str)), plain)
    half.loc[7, "g6"] = "n. d."
    found = re.escape("column 'g6' contains 'n. d.' in sample 8")
    refused(NormalClassifier(5), half, y, found)
