"""The scikit-learn face of the logistic sequence model, and its predictions."""

import warnings

import arviz_stats
import numpy as np
import pandas as pd
import pytest
from reference_splitting import exact_probabilities
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from thesiskit.errors import UnreliableWarning, UserError
from thesiskit.estimators import SequenceClassifier
from thesiskit.models import mixing
from thesiskit.models.logistic import Logistic

QUICK = {"iterations": 60, "burn_in": 20, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")


@parametrize_with_checks(
    [SequenceClassifier("all", **QUICK), SequenceClassifier("all", engine="mixing")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(n=60, length=5, states=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, states, (n, length))
    y = np.where(rng.random(n) < 0.85, X[:, -1], rng.integers(0, states, n))
    return X, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("states", [2, 3])
def test_fit_and_predict(states):
    X, y = data(states=states)
    model = SequenceClassifier(4, prior="gaussian", **QUICK).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.predict(X) == y).mean() > 0.7
    assert np.array_equal(p, model.predict_proba(X))
    assert np.array_equal(p, clone(model).fit(X, y).predict_proba(X))
    kept = 8
    assert model.draws_["posterior"]["log_sigma"].shape == (1, kept, 5)
    sets = 1 if states == 2 else 3
    shape = (1, kept, sets, model.compression_.n_groups)
    assert model.draws_["posterior"]["coefficient"].shape == shape


def test_draws_are_arviz_data():
    X, y = data()
    model = SequenceClassifier(2, iterations=400, burn_in=100, chains=2, random_state=1).fit(X, y)
    rhat = arviz_stats.rhat(model.draws_, var_names=["coefficient"])
    assert rhat["coefficient"].shape == (3, model.compression_.n_groups)
    stats = model.draws_["sample_stats"]
    assert {"log_likelihood", "log_prior", "coefficient_evaluations"} <= set(stats.data_vars)
    assert (stats["coefficient_evaluations"] > 0).all()


def test_unseen_states_are_new_patterns_not_errors():
    X, y = data(states=2)
    model = SequenceClassifier(3, **QUICK).fit(X, y)
    p = model.predict_proba(np.full((2, 5), 7))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.array_equal(p[0], p[1])


def test_a_sliding_window_is_as_its_copy():
    text = np.random.default_rng(3).integers(0, 3, 80)
    X = np.lib.stride_tricks.sliding_window_view(text, 6)
    X, y = X[:-1], text[6:]
    a, b = (SequenceClassifier(4, **QUICK).fit(one, y) for one in (X, X.copy()))
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X.copy()))


def test_original_coefficients_sum_to_the_compressed():
    X, y = data()
    model = SequenceClassifier("all", **QUICK).fit(X, y)
    groups = model.compression_
    beta = model.original_coefficients(random_state=1)
    assert beta.shape[2] == groups.n_patterns
    sizes = groups.kinds.sum(axis=1)[groups.kind]
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    s = model.draws_["posterior"]["coefficient"].to_numpy()[0]
    np.testing.assert_allclose(np.add.reduceat(beta, start, axis=2), s, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
def test_splitting_without_noise_is_what_many_splits_tend_to(prior):
    X, y = data(states=2, length=6)
    model = SequenceClassifier("all", prior=prior, **QUICK).fit(X, y)
    new = np.random.default_rng(9).integers(0, 3, (40, 6))  # some states unseen
    overlap = model.compression_.shared(model._codes(new))
    exact = exact_probabilities(*model._draws.flat, overlap, cauchy=prior == "cauchy")
    many = model.predict_proba(new, split_draws=20_000)
    # 8 draws of 20,000 splits: a standard error of at most 0.5 / 400
    assert np.abs(exact - many).max() < 6 * 0.5 / np.sqrt(8 * 20_000)


def test_chains_that_have_not_mixed_are_warned_of():
    X, y = data()
    with pytest.warns(UnreliableWarning, match="increase iterations"):
        model = SequenceClassifier(3, iterations=12, burn_in=2, thin=1, random_state=0).fit(X, y)
    assert not model.diagnostics_["reliable"]


def test_chains_that_have_mixed_are_not():
    X, y = data(states=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SequenceClassifier(1, random_state=0).fit(X, y)
    assert model.diagnostics_["reliable"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"order": 9}, "order 9 is above the length of the histories, 5"),
        ({"order": -1}, "must not be negative"),
        ({"order": 1.5}, "whole number or 'all'"),
        ({"prior": "laplace"}, "unknown prior 'laplace'"),
        ({"sigma_scale": "linear"}, "unknown sigma_scale"),
        ({"sigma": (1.0, 2.0)}, "sigma needs 4 values"),
        ({"iterations": 10, "burn_in": 20}, "none remains"),
        ({"compress": "yes"}, "compress must be True or False"),
    ],
)
def test_bad_arguments(options, words):
    X, y = data()
    with pytest.raises(UserError, match=words):
        SequenceClassifier(**{"order": 3, **QUICK, **options}).fit(X, y)


def test_bad_data():
    X, y = data()
    model = SequenceClassifier(3, **QUICK)
    with pytest.raises(ValueError, match="needs two classes, got one class: 'a'"):
        model.fit(X, np.full(len(X), "a"))
    for wrong, words in ((-1, "Negative values"), (np.nan, "NaN"), (0.5, "not a whole number")):
        bad = X.astype(float)
        bad[3, 2] = wrong
        with pytest.raises(ValueError, match=words):
            model.fit(bad, y)
    with pytest.raises(ValueError, match=r"inhomogeneous|unequal"):
        model.fit([[0, 1], [1]], ["a", "b"])
    model.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, 1:])
    with pytest.raises(UserError, match="split_draws"):
        model.predict_proba(X, split_draws=0)


def test_settings_of_the_thesis():
    settings = Logistic()
    assert (settings.iterations, settings.burn_in, settings.thin, settings.kept) == (
        2000, 750, 5, 250,
    )  # fmt: skip
    assert (settings.step, settings.sigma_0, settings.most_steps) == (20, 5, 50)
    assert (Logistic(prior="gaussian").step, Logistic(prior="gaussian").sigma_0) == (10, 10)
    assert settings.sigma_updates == 10


def test_strings_are_states():
    X, y = data()
    letters = np.array(["G", "A", "CC"])  # coded in the order of the alphabet
    codes = np.array([2, 0, 1])
    plain = SequenceClassifier(3, prior="gaussian", **QUICK).fit(codes[X], y)
    new = np.random.default_rng(5).integers(0, 3, (20, 5))
    expected = plain.predict_proba(codes[new])
    for form in (np.asarray, np.ndarray.tolist, lambda one: one.astype(object), pd.DataFrame):
        model = SequenceClassifier(3, prior="gaussian", **QUICK).fit(form(letters[X]), y)
        assert model.states_.tolist() == ["A", "CC", "G"]
        assert np.array_equal(model.predict_proba(form(letters[new])), expected)
    assert plain.states_ is None
    unseen = letters[new].astype(object)
    unseen[0, -1] = "CCT"  # begins like a state
    numbers = codes[new]
    numbers[0, -1] = 9
    assert np.array_equal(model.predict_proba(unseen), plain.predict_proba(numbers))
    with pytest.raises(UserError, match="strings in fit"):
        model.predict_proba(codes[new])
    with pytest.raises(UserError, match="whole numbers in fit"):
        plain.predict_proba(letters[new])
    mixed = letters[X].astype(object)
    mixed[0, 0] = 1
    with pytest.raises(UserError, match="make them all strings"):
        SequenceClassifier(3, **QUICK).fit(mixed, y)


def test_coordinates_of_draws_are_patterns_and_classes():
    X, y = data()
    model = SequenceClassifier(2, **QUICK).fit(np.array(list("abc"))[X], y)
    posterior = model.draws_["posterior"]
    names = model.get_feature_names_out()
    assert posterior["group"].to_numpy().tolist() == names.tolist()
    assert posterior["set"].to_numpy().tolist() == ["a", "b", "c"]
    assert len(set(names)) == model.compression_.n_groups
    assert names[0] == "(all)"
    found = posterior["coefficient"].sel(set="b", group="b")
    g = model.compression_.find("b", ["a", "b", "c"])
    assert np.array_equal(found, posterior["coefficient"].to_numpy()[:, :, 1, g])
    numbers = SequenceClassifier(2, **QUICK).fit(X, y)
    assert [
        one.translate(str.maketrans("012", "abc")) for one in numbers.get_feature_names_out()
    ] == names.tolist()


def test_logs_of_probabilities_are_finite():
    X, y = data(states=2)
    y = np.where(X[:, -1] == 0, "a", "b")  # certain
    model = SequenceClassifier(3, sigma=(1.0, 1e12, 1e12, 1e12), **QUICK).fit(X, y)
    p, log = model.predict_proba(X), model.predict_log_proba(X)
    assert (p == 0).any(), "the predictions are too weak for this test"
    assert np.isfinite(log).all()
    np.testing.assert_allclose(np.exp(log), p, atol=2e-16)


def test_draws_do_not_depend_on_the_number_of_jobs():
    X, y = data(states=2)
    found = []
    for jobs in (None, 1, 2):
        model = SequenceClassifier(2, prior="gaussian", chains=3, n_jobs=jobs, **QUICK).fit(X, y)
        found.append(model.draws_["posterior"]["log_sigma"].to_numpy())
    assert all(np.array_equal(one, found[0]) for one in found)
    with pytest.raises(UserError, match="n_jobs"):
        SequenceClassifier(2, n_jobs=0, **QUICK).fit(X, y)


# ---- mixing ----


def test_mixing_predicts_what_its_model_does():
    X, y = data()
    model = SequenceClassifier(4, engine="mixing").fit(X, y)
    codes, response = model._as_codes(X), np.searchsorted(model.classes_, y)
    n_states = int(codes.max()) + 1
    expected = mixing.fit(codes, response, 4, n_states, len(model.classes_))
    assert np.array_equal(model.predict_proba(X), expected.predict(codes))
    assert model.training_loss_ == expected.loss.mean()
    assert np.array_equal(model.predict(X), model.classes_[expected.predict(codes).argmax(1)])
    again = SequenceClassifier(4, engine="mixing", n_jobs=2, random_state=5).fit(X, y)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_mixing_takes_windows_strings_and_unknown_states():
    text = np.array(list("the cat sat on the mat and the rat sat on the hat " * 8))
    windows = np.lib.stride_tricks.sliding_window_view(text, 6)
    X, y = windows[:-1], text[6:]
    model = SequenceClassifier(6, engine="mixing").fit(X, y)
    assert (model.predict(X[-100:]) == y[-100:]).mean() > 0.8
    p = model.predict_proba([list("xxx th"), list("yzx th")])
    assert np.array_equal(p[0], p[1])
    assert model.classes_[p[0].argmax()] == "e"


def test_mixing_of_many_short_sequences_with_a_class_each():
    """The class depends on the last two states; 20% of labels are wrong."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 4, (3_000, 8))
    y = (X[:, -1] ^ X[:, -2]) % 2
    wrong = rng.random(3_000) < 0.2
    model = SequenceClassifier(8, engine="mixing").fit(X[:2_000], (y ^ wrong)[:2_000])
    assert (model.predict(X[2_000:]) == y[2_000:]).mean() > 0.95


def test_mixing_after_chains_and_chains_after_mixing():
    X, y = data(states=2)
    model = SequenceClassifier(3, **QUICK).fit(X, y)
    by_chains = model.predict_proba(X)
    plain = SequenceClassifier(3, engine="mixing").fit(X, y)
    by_mixing = plain.predict_proba(X)
    assert not np.array_equal(by_mixing, by_chains)
    plain.set_params(engine="chains", **QUICK).fit(X, y)
    assert np.array_equal(plain.predict_proba(X), by_chains)
    assert not hasattr(plain, "training_loss_")
    usual = SequenceClassifier(3).get_params()
    model.set_params(**usual | {"engine": "mixing"}).fit(X, y)
    assert np.array_equal(model.predict_proba(X), by_mixing)
    for name in ("draws_", "compression_", "diagnostics_"):
        assert not hasattr(model, name)


@pytest.mark.parametrize("options", [QUICK, {"engine": "mixing"}])
def test_another_prevalence_changes_the_odds(options):
    X, y = data(states=2)
    model = SequenceClassifier(3, **options).fit(X, y)
    p, moved = model.predict_proba(X), model.predict_proba(X, prevalence={"b": 0.8})
    share = (y == "b").mean()
    factor = 0.8 / 0.2 * (1 - share) / share
    np.testing.assert_allclose(moved[:, 1] / moved[:, 0], factor * p[:, 1] / p[:, 0], rtol=1e-9)
    assert np.array_equal(model.predict(X, prevalence={"b": 0.8}), model.classes_[moved.argmax(1)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "gibbs"}, "unknown engine 'gibbs'.*Fix: choose chains or mixing"),
        ({"prior": "gaussian"}, "prior does not apply to engine='mixing'. Fix: remove it"),
        ({"iterations": 10}, "iterations does not apply"),
        ({"until": None}, "until does not apply"),
        ({"sigma": (1.0, 2.0)}, "sigma does not apply"),
        ({"sigma": np.ones(4)}, "sigma does not apply"),
        ({"order": 9}, "order 9 is above the length of the histories, 5"),
    ],
)
def test_bad_arguments_of_mixing(options, words):
    X, y = data()
    with pytest.raises(UserError, match=words):
        SequenceClassifier(**{"order": 3, "engine": "mixing", **options}).fit(X, y)


def test_bad_data_of_mixing():
    X, y = data()
    model = SequenceClassifier("all", engine="mixing")
    with pytest.raises(ValueError, match="needs two classes, got one class"):
        model.fit(X, np.full(len(X), "a"))
    with pytest.raises(UserError, match=r"order 70 is above 64.*Fix: lower it"):
        model.fit(np.tile(X, (1, 14)), y)
    with pytest.raises(UserError, match=r"301 states; mixing takes at most 256. Fix: merge"):
        model.fit(np.where(X.max() == X, 300, X), y)


def test_mixing_has_no_draws():
    X, y = data()
    model = SequenceClassifier(3, engine="mixing").fit(X, y)
    for name in ("draws_", "compression_", "diagnostics_"):
        with pytest.raises(AttributeError, match=r"mixing.*Fix: use engine='chains'"):
            getattr(model, name)
    for method in (model.get_feature_names_out, model.original_coefficients):
        with pytest.raises(AttributeError, match="Fix: use engine='chains'"):
            method()
