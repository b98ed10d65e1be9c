import multiprocessing
import warnings
from fractions import Fraction

import arviz_stats
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from thesiskit.datasets.synthetic import draw_naive_bayes
from thesiskit.errors import UnreliableWarning, UserError
from thesiskit.estimators import MedianBinarizer, MixtureClassifier, NaiveBayesClassifier
from thesiskit.estimators.selecting import SelectingClassifier
from thesiskit.models import naive_bayes as nb
from thesiskit.models.base import CLOSEST
from thesiskit.models.mixture import QUANTITIES
from thesiskit.models.naive_bayes import log_factor
from thesiskit.models.selection import select_features

CUT = 0.5  # of features: about the middle of those that the checks draw
PIPELINE = "scikit-learn's Pipeline itself fits the steps it was given"
OVERWRITTEN = {
    "check_estimators_overwrite_params": PIPELINE,
    "check_dont_overwrite_parameters": PIPELINE,
}
GAPS = {"check_estimators_nan_inf": "a Pipeline does not tell that its steps take missing values"}


def pipeline():
    return make_pipeline(MedianBinarizer(), NaiveBayesClassifier(1, random_state=0))


def mixture(**options):
    return MixtureClassifier(1, chains=1, iterations=8, random_state=0, **options)


@parametrize_with_checks([MedianBinarizer()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_checks([pipeline()], expected_failed_checks=lambda _: OVERWRITTEN | GAPS)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract_of_pipelines(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [make_pipeline(MedianBinarizer(), mixture())], expected_failed_checks=lambda _: OVERWRITTEN
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract_of_pipelines_of_the_mixture(estimator, check):
    check(estimator)


@parametrize_with_checks([NaiveBayesClassifier(n_features=1), mixture()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract_with_features_cut(estimator, check, monkeypatch):
    """The features of the checks are real, which is refused: they are cut as they come in."""
    validated = SelectingClassifier._validated

    def cut(self, X, **options):
        found = validated(self, X, **options)
        table, *y = found if "y" in options else (found,)
        bits = np.where(np.isfinite(table), table > CUT, table)
        return (bits, *y) if y else bits

    monkeypatch.setattr(SelectingClassifier, "_validated", cut)
    check(estimator)


def binary_data(seed=0, p=50):
    rng = np.random.default_rng(seed)
    drawn = draw_naive_bayes(rng, features=p, alpha=5.0, train=(20, 25), test=(30, 30))
    return drawn.train.features, drawn.train.response, drawn.test.features


def test_what_real_features_hide_holds_on_binary_ones():
    """The checks that cannot run on binary data, in short."""
    X, y, new = binary_data()
    model = NaiveBayesClassifier(5, random_state=3)
    before = model.get_params()
    assert model.fit(X, y) is model
    assert model.get_params() == before
    assert model.n_features_in_ == 50
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-15)
    assert (model.predict(new) == model.classes_[(p[:, 1] >= 0.5).astype(int)]).all()
    for kind in (bool, np.int64, np.float32, np.float64, object):
        other = clone(model).fit(X.astype(kind), y)
        assert (other.predict_proba(new.astype(kind)) == p).all()
    order = np.random.default_rng(0).permutation(len(new))
    np.testing.assert_allclose(model.predict_proba(new[order]), p[order], rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(new[:1]), p[:1], rtol=1e-12)
    named = clone(model).fit(X, np.where(y == 1, "yes", "no"))
    assert list(named.classes_) == ["no", "yes"]
    assert (named.predict_proba(new) == p).all()
    assert set(named.predict(new)) <= {"no", "yes"}


def test_attributes():
    X, y, new = binary_data()
    model = NaiveBayesClassifier(5, alpha_points=12, random_state=0).fit(X, y)
    assert model.selected_.shape == (5,)
    assert isinstance(model.gamma_squared_, Fraction)
    found = select_features(X, y, 5, np.random.default_rng(0))
    assert model.gamma_squared_ == found.gamma_squared
    assert model.alpha_.shape == model.log_discard_.shape == (12,)
    assert (model.log_discard_ < 0).all()
    _, each = log_factor(found.left_out, model.alpha_, model.pi_, "exact")
    np.testing.assert_allclose(model.log_discard_, each, rtol=1e-13)
    assert model.pi_.shape == model.log_posterior_pi_.shape == (21,)
    assert np.logaddexp.reduce(model.log_posterior_pi_) == pytest.approx(0, abs=1e-12)
    assert ((model.relevance_ > 0) & (model.relevance_ < 1)).all()
    thesis = NaiveBayesClassifier(5, relevant="all", random_state=0).fit(X, y)
    assert (thesis.relevance_ == 1).all()
    assert thesis.pi_.tolist() == [1]
    assert np.logaddexp.reduce(model.log_posterior_alpha_) == pytest.approx(0, abs=1e-12)
    everything = NaiveBayesClassifier(50, alpha_points=12).fit(X, y)
    assert (everything.log_discard_ == 0).all()
    plain = NaiveBayesClassifier(50, correct=False, alpha_points=12).fit(X, y)
    assert (everything.predict_proba(new) == plain.predict_proba(new)).all()


def test_options_reach_the_model():
    X, y, new = binary_data()
    options = {
        "class_prior": (3.0, 0.2),
        "alpha_prior": (2.0, 9.0),
        "alpha_points": 7,
        "quadrature": "simpson-21",
        "relevant": "some",
        "pi": (0.1, 0.9),
    }
    model = NaiveBayesClassifier(4, correct=False, random_state=1, **options).fit(X, y)
    found = select_features(X, y, 4, np.random.default_rng(0))
    assert set(found.selected) == set(model.selected_)
    posterior = nb.fit(found, nb.NaiveBayes(**options), correct=False)
    np.testing.assert_allclose(
        model.predict_proba(new)[:, 1], nb.predict(posterior, new[:, found.selected]), rtol=1e-12
    )


def test_screened_table_is_as_good_as_the_whole():
    X, y, new = binary_data()
    whole = NaiveBayesClassifier(6, random_state=0).fit(X, y)
    kept = np.sort(select_features(X, y, 12, np.random.default_rng(0)).selected)
    for screened in ({"of": 50}, {"of": 50, "threshold": "0.01"}):
        part = NaiveBayesClassifier(6, screened=screened, random_state=0).fit(X[:, kept], y)
        if set(kept[part.selected_]) == set(whole.selected_):  # ties are broken by lot
            np.testing.assert_allclose(
                part.predict_proba(new[:, kept]), whole.predict_proba(new), rtol=0, atol=1e-12
            )
    careless = NaiveBayesClassifier(None).fit(X[:, kept], y)
    careful = NaiveBayesClassifier(None, screened={"of": 5000}).fit(X[:, kept], y)
    assert careless.selected_.shape == careful.selected_.shape == (12,)

    def promised(model):
        return model.predict_proba(new[:, kept]).min(axis=1).mean()

    assert promised(careful) > promised(careless) + 0.02


def test_pipeline_on_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(MedianBinarizer(), NaiveBayesClassifier(10, random_state=0))
    predicted = cross_val_predict(model, X, y, cv=5)
    assert (predicted != y).mean() < 0.15  # the base rate errs in 0.37


def test_median_binarizer_leaves_binary_columns_alone(rng):
    X = rng.normal(size=(11, 3))
    X[:, 1] = 1
    X[0, 1] = 0
    bits = MedianBinarizer().fit_transform(X)
    assert bits.dtype == np.uint8
    assert (bits[:, 1] == X[:, 1]).all()
    assert (bits[:, 0] == (X[:, 0] > np.median(X[:, 0]))).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": lambda X: X * 2}, "features must be 0 or 1. Fix: put MedianBinarizer"),
        ({"X": lambda X: np.where(X == 0, np.inf, 1.0)}, "infinity"),
        ({"y": lambda y: np.zeros_like(y)}, "one class"),
        ({"y": lambda y: np.arange(len(y)) % 3}, "Only binary classification"),
        ({"n_features": 0}, "from 1 to 50, got 0"),
        ({"n_features": 51}, "from 1 to 50, got 51"),
        ({"n_features": 2.5}, "n_features must be a whole number or None, got 2.5"),
        ({"n_features": True}, "n_features must be a whole number or None, got True"),
        ({"alpha_prior": (True, 1)}, r"alpha_prior\[0\] must be a positive number, got True"),
        ({"alpha_prior": (10**400, 1)}, r"must be a positive number, got 1000*\.\.\."),
        ({"alpha_prior": (1e9, 1)}, r"the shape, must be at most 1e\+08, got 1e\+09"),
        ({"class_prior": (1, 1e300)}, r"class_prior\[1\] must be between 1e-08 and 1e\+08"),
        ({"class_prior": (1e-300, 1)}, r"class_prior\[0\] must be between 1e-08 and 1e\+08"),
        ({"alpha_points": 10_001}, "alpha_points must be at most 10,000"),
        ({"alpha_prior": (0, 1)}, "must be a positive number, got 0"),
        ({"class_prior": (1, -1)}, "must be a positive number, got -1"),
        ({"alpha_points": 0}, "alpha_points must be"),
        ({"relevant": "few"}, "relevant must be all or some, got 'few'"),
        ({"pi": ()}, "pi must be a list of probabilities above 0, and at least one"),
        ({"pi": (0.0, 0.5)}, r"pi\[0\] must be a positive number"),
        ({"pi": (0.5, 1.5)}, r"pi\[1\] must be at most 1, got 1.5"),
        ({"pi": (0.5, 0.5)}, "give each probability once"),
        ({"screened": 1000}, 'screened must be a dict such as {"of": 10000'),
        ({"screened": {"threshold": 0.2}}, "screened must be a dict such as"),
        ({"screened": {"of": 49}}, "50 features, so it cannot have been selected from 49"),
        ({"screened": {"of": 100, "threshold": "0.9"}}, "less than the threshold 0.9"),
        ({"screened": {"of": 100, "threshold": 2}}, "threshold must be a number from 0 to 1"),
        ({"screened": {"of": "many"}}, r'screened\["of"\] must be a whole number'),
    ],
)
def test_bad_input_is_a_value_error(change, words):
    X, y, _ = binary_data()
    X, y = change.pop("X", lambda X: X)(X), change.pop("y", lambda y: y)(y)
    with pytest.raises(ValueError, match=words):
        NaiveBayesClassifier(**{"n_features": 5, **change}).fit(X, y)


def test_missing_values():
    X, y, new = (one.astype(float) for one in binary_data())
    rng = np.random.default_rng(1)
    for table in (X, new):
        table[rng.random(table.shape) < 0.2] = np.nan
    model = NaiveBayesClassifier(5, random_state=0).fit(X, y)
    p = model.predict_proba(new)[:, 1]
    found = select_features(X, y.astype(int), 5, np.random.default_rng(0))
    assert model.gamma_squared_ == found.gamma_squared
    others = np.setdiff1d(np.arange(50), model.selected_)
    changed = new.copy()
    changed[:, others] = np.nan
    np.testing.assert_array_equal(model.predict_proba(changed)[:, 1], p)
    base = model.predict_proba(np.full((1, 50), np.nan))[0, 1]
    assert base == pytest.approx(26 / 47, rel=1e-12)
    objects = np.where(np.isnan(X), None, X)
    again = NaiveBayesClassifier(5, random_state=0).fit(objects, y).predict_proba(new)[:, 1]
    np.testing.assert_array_equal(again, p)
    with pytest.raises(ValueError, match="NaN"):
        mixture().fit(X, y)


def test_missing_values_stay_missing_when_they_are_made_binary(rng):
    X = rng.normal(size=(30, 4))
    y = (X[:, 0] > 0).astype(int)
    gaps = rng.random(X.shape) < 0.2
    X[gaps] = np.nan
    bits = MedianBinarizer().fit_transform(X)
    assert (np.isnan(bits) == gaps).all()
    held = X[~gaps[:, 1], 1]
    assert (bits[~gaps[:, 1], 1] == (held > np.median(held))).all()
    model = make_pipeline(MedianBinarizer(), NaiveBayesClassifier(2, random_state=0)).fit(X, y)
    assert model.score(X, y) >= 0.7


@pytest.mark.parametrize("rate", [1e-300, 1e-98, 1e-30, 1e30, 1e190, 1e300])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        (NaiveBayesClassifier, "alpha_prior"),
        (mixture, "alpha_prior"),
        (mixture, "response_alpha_prior"),
    ],
)
@pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")
def test_priors_far_away_are_carried_or_refused(model, name, rate):
    X, y, new = binary_data()
    fit = model(**{name: (0.5, rate)}).fit
    if 1e-99 < rate < 1e195:
        probability = fit(X, y).predict_proba(new)
        assert ((probability > 0) & (probability < 1)).all()
        return
    with pytest.raises(UserError, match=f"{name}.* has the median .* between 1e-100 and 1e.200"):
        fit(X, y)


def test_prediction_with_other_columns_is_an_error():
    X, y, _ = binary_data()
    model = NaiveBayesClassifier(5).fit(X, y)
    with pytest.raises(ValueError, match="49 features"):
        model.predict(X[:, :49])


def test_the_mixture_keeps_draws_and_says_whether_they_serve():
    X, y, new = binary_data()
    model = MixtureClassifier(5, iterations=300, random_state=0).fit(X, y)
    assert model.selected_.shape == (5,)
    assert model.draws_["posterior"]["labels"].shape == (4, 225, 45)
    assert set(model.draws_["sample_stats"].data_vars) >= {"lp", "agreement"}
    summary = arviz_stats.summary(model.draws_, var_names=["log_alpha", "log_alpha_0"])
    assert set(summary.index) == {"log_alpha", "log_alpha_0"}
    assert set(model.diagnostics_) == {"rhat", "ess", "reliable"}
    assert set(model.diagnostics_["rhat"]) == set(QUANTITIES)
    assert model.diagnostics_["reliable"]
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    again = MixtureClassifier(5, iterations=300, random_state=0).fit(X, y)
    assert (again.predict_proba(new) == p).all()
    plain = MixtureClassifier(5, iterations=300, correct=False, random_state=0).fit(X, y)
    assert np.abs(plain.predict_proba(new) - 0.5).mean() > np.abs(p - 0.5).mean()


def kept_by_somebody(rng, n=40, p=2000, k=20):
    """Noise of which somebody kept the best, with their places, and new samples."""
    X, y = rng.integers(0, 2, (n, p)), np.arange(n) % 2
    return X, y, np.sort(select_features(X, y, k, rng).selected), rng.integers(0, 2, (200, p))


def test_the_mixture_of_a_screened_table_is_that_of_the_whole(rng):
    X, y, kept, new = kept_by_somebody(rng)
    options = {"iterations": 200, "random_state": 0}
    whole = MixtureClassifier(8, **options).fit(X, y)
    part = MixtureClassifier(8, screened={"of": 2000}, **options).fit(X[:, kept], y)
    assert (kept[part.selected_] == whole.selected_).all()
    ours, theirs = part.predict_proba(new[:, kept]), whole.predict_proba(new)
    assert (ours == theirs).all()
    # all that have |COR| above a threshold were kept
    found = select_features(X, y, None, rng, threshold="0.38")
    screened = {"of": 2000, "threshold": "0.38"}
    columns = np.sort(found.selected)
    part = MixtureClassifier(None, screened=screened, **options).fit(X[:, columns], y)
    assert part._posterior.target.left_out.rows.tolist() == found.left_out.rows.tolist()
    assert part._posterior.target.left_out.gamma_squared == Fraction("0.38") ** 2


def test_the_mixture_promises_nothing_of_noise_that_was_screened(rng):
    X, y, kept, new = kept_by_somebody(rng)
    X, new = X[:, kept], new[:, kept]

    def promised(**options):
        p = MixtureClassifier(None, iterations=500, random_state=0, **options).fit(X, y)
        return np.minimum(*p.predict_proba(new).T).mean()

    assert promised(correct=False) < 0.25
    assert promised(screened={"of": 2000}) > 0.46


def test_the_mixture_warns_of_chains_that_are_too_short():
    X, y, new = binary_data()
    with pytest.warns(UnreliableWarning, match="increase iterations"):
        model = MixtureClassifier(5, iterations=8, random_state=0).fit(X, y)
    assert not model.diagnostics_["reliable"]
    assert np.isfinite(model.predict_proba(new)).all()


def test_the_mixture_takes_the_thesis_sampler_and_priors():
    X, y, new = binary_data()
    taken = MixtureClassifier(
        5,
        sampler="gibbs",
        chains=2,
        iterations=200,
        class_prior=(2.0, 3.0),
        alpha_prior=(1.0, 2.0),
        response_alpha_prior=(2.0, 1.0),
        alpha_points=6,
        random_state=0,
    )
    default = {"class_prior": (1.0, 1.0), "response_alpha_prior": (0.5, 5.0)}
    others = [clone(taken).set_params(**{name: prior}) for name, prior in default.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        model, *others = [one.fit(X, y) for one in (taken, *others)]
    assert model.draws_["posterior"]["theta"].shape == (2, 150, 6)
    assert len(model.alpha_) == 6
    p = model.predict_proba(new)
    assert p.shape == (60, 2)
    for other in others:  # each prior has its part in the posterior
        assert (other.predict_proba(new) != p).any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampler": "gibs"}, "unknown sampler"),
        ({"sampler": ["gibbs"]}, "unknown sampler"),
        ({"sampler": "approximate"}, "draws from no posterior. Fix: use collapsed or gibbs"),
        ({"class_prior": 1.0}, "class_prior must be a pair"),
        ({"correct": "no"}, "correct must be True or False"),
        ({"alpha_points": 10**6}, "alpha_points must be at most"),
        ({"chains": 0}, "chains must be a whole number from 1"),
        ({"iterations": 10, "burn_in": 10}, "burn_in"),
        ({"n_features": 51}, "from 1 to 50"),
        ({"response_alpha_prior": (1.0, -1.0)}, "response_alpha_prior"),
        ({"response_alpha_prior": (1.0, 1e300)}, r"response_alpha_prior \(1, 1e\+300\) has the"),
        ({"n_features": True}, "n_features must be a whole number or None, got True"),
        ({"class_prior": (1.7e308, 1.7e308)}, r"class_prior\[0\] must be between"),
    ],
)
def test_bad_options_of_the_mixture(options, words):
    X, y, _ = binary_data()
    with pytest.raises(ValueError, match=words):
        MixtureClassifier(**options).fit(X, y)


def test_the_mixture_says_how_many_samples_it_takes():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (601, 3))
    with pytest.raises(ValueError, match="at most 600 training samples, got 601"):
        MixtureClassifier(1).fit(X, np.arange(601) % 2)


def _fit_in_child(data):
    X, y, new = data
    return MixtureClassifier(2, iterations=8, chains=2, random_state=0).fit(X, y).predict_proba(new)


@pytest.mark.filterwarnings("ignore")
def test_the_mixture_can_be_fitted_in_a_forked_process():
    data = binary_data()
    here = _fit_in_child(data)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        there = pool.apply_async(_fit_in_child, (data,)).get(timeout=60)
    np.testing.assert_array_equal(here, there)


# ---- names, logs, jobs and other packages' tables ----


class Annotated:
    """What AnnData has, as far as estimators look at it."""

    def __init__(self, X, names):
        self.X, self.var_names = X, pd.Index(names)


def names_of(X):
    return [f"gene-{j}" for j in range(X.shape[1])]


@pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")
@pytest.mark.parametrize("model", [NaiveBayesClassifier(5, random_state=0), mixture()])
def test_the_names_of_the_features_kept(model):
    X, y, _ = binary_data()
    names = names_of(X)
    model = clone(model).fit(pd.DataFrame(X, columns=names), y)
    kept = sorted(model.selected_)
    assert model.get_support(indices=True).tolist() == kept
    assert np.flatnonzero(model.get_support()).tolist() == kept
    assert model.get_feature_names_out().tolist() == [f"gene-{j}" for j in kept]
    bare = clone(model).fit(X, y)
    assert bare.get_feature_names_out().tolist() == [f"x{j}" for j in kept]
    assert bare.get_feature_names_out(names).tolist() == [f"gene-{j}" for j in kept]
    pipe = make_pipeline(MedianBinarizer(), clone(model)).fit(pd.DataFrame(X, columns=names), y)
    assert pipe.get_feature_names_out().tolist() == [f"gene-{j}" for j in kept]


def test_logs_of_probabilities_go_on_where_probabilities_end():
    rng = np.random.default_rng(4)
    y = np.arange(60) % 2
    X = (rng.random((60, 50)) < np.where(y, 0.99, 0.01)[:, None]).astype(int)
    model = NaiveBayesClassifier(50, correct=False).fit(X, y)
    p, log = model.predict_proba(X), model.predict_log_proba(X)
    assert log.shape == (60, 2)
    np.testing.assert_allclose(np.logaddexp.reduce(log, axis=1), 0, atol=1e-12)
    sure = p.min(axis=1) <= CLOSEST
    assert sure.any(), "the data are too weak for this test"
    assert np.isfinite(log).all()
    assert log.min() < np.log(CLOSEST) - 1  # beyond what predict_proba can say
    np.testing.assert_allclose(np.log(p[~sure]), log[~sure], rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")
@pytest.mark.parametrize("model", [NaiveBayesClassifier(3), mixture(), mixture(sampler="gibbs")])
def test_logs_of_probabilities(model):
    X, y, new = binary_data()
    model = clone(model).fit(X, y)
    expected = np.log(model.predict_proba(new))
    np.testing.assert_allclose(model.predict_log_proba(new), expected, rtol=1e-9)


def test_draws_do_not_depend_on_the_number_of_jobs():
    X, y, _ = binary_data()
    model = MixtureClassifier(3, chains=3, iterations=40, random_state=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        found = [
            clone(model).set_params(n_jobs=n).fit(X, y).draws_["posterior"]["labels"].to_numpy()
            for n in (None, 1, 2, -1, -99)
        ]
    assert all(np.array_equal(one, found[0]) for one in found)
    for wrong in (0, 1.5, True, "two"):
        with pytest.raises(UserError, match="n_jobs must be a whole number"):
            clone(model).set_params(n_jobs=wrong).fit(X, y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_annotated_data_go_in(form):
    X, y, new = binary_data()
    names = names_of(X)
    model = make_pipeline(MedianBinarizer(), NaiveBayesClassifier(5, random_state=0))
    plain = clone(model).fit(pd.DataFrame(X, columns=names), y)
    found = clone(model).fit(Annotated(form(X.astype(float)), names), y)
    assert found.get_feature_names_out().tolist() == plain.get_feature_names_out().tolist()
    expected = plain.predict_proba(pd.DataFrame(new, columns=names))
    assert np.array_equal(found.predict_proba(Annotated(form(new.astype(float)), names)), expected)
    direct = NaiveBayesClassifier(5, random_state=0).fit(Annotated(form(X), names), y)
    assert np.array_equal(direct.predict_proba(Annotated(form(new), names)), expected)
    with pytest.raises(ValueError, match="feature names"):
        found.predict_proba(Annotated(form(new), names[::-1]))


def test_annotated_data_that_cannot_go_in(monkeypatch):
    X, y, _ = binary_data()
    names = names_of(X)
    model = NaiveBayesClassifier(5)
    with pytest.raises(UserError, match=r"gene-3 more than once. Fix: call var_names_make_unique"):
        model.fit(Annotated(X, ["gene-3", *names[1:]]), y)
    with pytest.raises(UserError, match="has no X"):
        model.fit(Annotated(None, names), y)
    monkeypatch.setattr("thesiskit.frame.LARGEST", 1000.0)
    with pytest.raises(UserError, match="choose variables first"):
        model.fit(Annotated(sparse.csr_matrix(X), names), y)
