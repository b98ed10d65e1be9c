"""Temperatures in experiments of chapter 2, fitted within each training set."""

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail, run
from real_tables import DRAWN, OWN, TWO, made, write
from small import opened

from thesiskit.config import load_config
from thesiskit.errors import ConfigError
from thesiskit.estimators import MedianBinarizer, NaiveBayesClassifier, NormalClassifier
from thesiskit.models import naive_bayes, normal
from thesiskit.models.selection import select_by_f, select_features
from thesiskit.models.temperature import as_log_probability, cross_validated, temper
from thesiskit.report.posteriors import temperatures
from thesiskit.study.cells import generator
from thesiskit.study.design import Design
from thesiskit.study.selecting import arms

BITS = DRAWN | {
    "data": {"source": "naive-bayes", "features": 60, "alpha": 2.0, "train": [14, 13], "test": 30},
    "selection": {"features": [5]},
}
COPIED = 8  # times that each feature is there: naive Bayes counts it so often


def reals(X, y, k=3):
    """Return what selects, fits and predicts again, and the answer for other cases."""

    def predict(train, test, new=None):
        rng = np.random.default_rng(0)
        found = select_by_f(X, y, k, rng, cases=train)
        posterior = normal.fit(found, normal.Normal())
        table = X[test] if new is None else new
        return normal.predict_log(posterior, table[:, found.selected])

    return predict


def bits(X, y, k=5):
    def predict(train, test, new=None):
        lots = generator(1, "ties", 0, 0, 0, str(k))
        found = select_features(X, y, k, lots, cases=train)
        posterior = naive_bayes.fit(found, naive_bayes.NaiveBayes())
        table = X[test] if new is None else new
        return as_log_probability(naive_bayes.predict_log_odds(posterior, table[:, found.selected]))

    return predict


@pytest.mark.parametrize(("config", "kind", "again"), [(DRAWN, "normal", reals),
                                                       (BITS, "naive-bayes", bits)])  # fmt: skip
def test_selection_and_fit_are_repeated_in_folds_of_the_training_cases(
    tmp_path, config, kind, again
):
    model = {"kind": kind, "methods": ["corrected"], "temperature": ["none", "cv"]}
    found, _ = made(tmp_path, config, model=model)
    loaded = load_config(tmp_path / "small.yaml")
    plain, tempered = (arm.name for arm in arms(loaded))
    assert tempered == f"{plain} tempered"
    drawn = Design(loaded, tmp_path).drawn(0)
    X, y = drawn.train.features, drawn.train.response
    predict, everything = again(X, y), np.arange(len(y))
    tau, offset, errors, _ = cross_validated(predict, y)
    for stage in ("fit", "predict"):
        assert found[stage]["tau"][0] == pytest.approx([1, tau], rel=1e-5)
        assert found[stage]["tau_errors"][0, 1] == errors
    np.testing.assert_allclose(found["fit"]["offset"][0], [0 * offset, offset], atol=1e-5)
    assert found["predict"]["temperature"].tolist() == ["none", "cv"]
    log = predict(everything, everything, drawn.test.features)
    for row, one in enumerate(((1.0, 0.0), (tau, offset))):
        expected = np.exp(temper(log, *one))
        expected = expected[:, 1] if expected.shape[1] == 2 else expected
        np.testing.assert_allclose(found["predict"]["probability"][row], expected, atol=1e-6)


@pytest.fixture
def copies(tmp_path):
    """A table of a few weak features, each there several times."""
    rng = np.random.default_rng(2)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 6)) + 0.8 * y[:, None]
    X = np.repeat(X, COPIED, axis=1) + rng.normal(0, 0.05, (60, 6 * COPIED))
    frame = pd.DataFrame(X.round(4), columns=[f"g{j}" for j in range(X.shape[1])])
    frame["tissue"] = np.array(["well", "sick"])[y]
    frame.to_csv(tmp_path / "t.csv", index=False)


@pytest.mark.parametrize("kind", ["normal", "naive-bayes"])
def test_imitated_cases_have_the_temperature_of_the_estimator(tmp_path, copies, kind):
    """In an experiment, and of the fit to all cases that is exported."""
    model = {"kind": kind, "methods": ["corrected"], "temperature": ["none", "residual", "cv"]}
    data = OWN["data"] | {"positive": "sick"}
    found, _ = made(tmp_path, OWN, data=data, model=model, selection={"features": [48]})
    assert found["fit"]["temperature"].tolist() == ["none", "residual", "cv"]
    assert (found["fit"]["tau"][:, 1] > 2).all()
    p, y = found["predict"]["probability"], found["predict"]["response"]
    loss = -np.log(np.where(y == 1, p, 1 - p)).mean(axis=1)
    assert loss[1] < loss[0]
    run(
        "export",
        tmp_path / "small.yaml",
        tmp_path / "m",
        "--all-arms",
        "--results",
        tmp_path / "results",
    )
    table = pd.read_csv(tmp_path / "t.csv")
    table.to_csv(tmp_path / "new.csv", index=False)
    run("predict", "--model", tmp_path / "m", "--new", tmp_path / "new.csv",
        "--output", tmp_path / "p.csv")  # fmt: skip
    rows = pd.read_csv(tmp_path / "p.csv").groupby("arm", sort=False)
    (_, plain), (name, softened), (_, validated) = rows
    assert name.endswith("residual-tempered")
    X, y = table.drop(columns="tissue").to_numpy(), (table.tissue == "sick").to_numpy()
    estimator = NormalClassifier(48) if kind == "normal" else NaiveBayesClassifier(48)
    if kind == "naive-bayes":
        X = MedianBinarizer().fit_transform(X)
        estimator.set_params(relevant="all", temperature="residual")
    p = estimator.fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(softened["probability: sick"], p, atol=1e-6)
    assert not np.allclose(softened["probability: sick"], plain["probability: sick"], atol=0.01)
    if kind == "normal":  # folds are the same, too; of bits each has its own medians, and ties
        p = estimator.set_params(temperature="cv", random_state=5).fit(X, y).predict_proba(X)[:, 1]
        np.testing.assert_allclose(validated["probability: sick"], p, atol=1e-6)
        assert not np.allclose(p, softened["probability: sick"], atol=0.001)


METHODS = {
    "normal": ["corrected", "uncorrected", "naive-corrected", "naive-uncorrected"],
    "naive-bayes": ["corrected", "uncorrected", "normal-corrected", "normal-uncorrected"],
}


@pytest.mark.parametrize("kind", METHODS)
def test_evidence_that_is_counted_several_times_is_weakened(tmp_path, copies, kind):
    model = {"kind": kind, "methods": METHODS[kind], "temperature": ["none", "cv"]}
    data = OWN["data"] | {"positive": "sick"}
    found, _ = made(tmp_path, OWN, data=data, model=model, selection={"features": [24]})
    predicted = found["predict"]
    y, p = predicted["response"], predicted["probability"]
    loss = -np.log(np.where(y == 1, p, 1 - p)).mean(axis=1)
    tempered = predicted["temperature"] == "cv"
    assert tempered.tolist() == [False, True] * 4
    tau = predicted["tau"].mean(axis=0)
    assert (tau[~tempered] == 1).all()
    assert (tau[tempered] > 2).all()
    assert (loss[tempered] < loss[~tempered]).all()
    record = opened(tmp_path / "small.yaml", tmp_path / "results").record()
    assert [arm.method for arm in temperatures(record)] == METHODS[kind]
    means = [one.tau.mean() for one in temperatures(record).values()]
    np.testing.assert_allclose(means, tau[tempered])


MIXTURE = BITS | {
    "seed": 3,
    "data": BITS["data"] | {"alpha": 100.0, "train": [10, 10]},
    "replicates": 1,
    "model": {"kind": "mixture", "methods": ["uncorrected", "naive-uncorrected"],
              "temperature": ["none", "cv"],
              "collapsed": {"chains": 2, "iterations": 30, "burn_in": 10, "alpha_points": 10}},
}  # fmt: skip


@pytest.mark.parametrize("sampler", ["collapsed", "enumeration"])
def test_of_a_mixture(tmp_path, sampler):
    changes = {}
    if sampler == "enumeration":
        data = BITS["data"] | {"train": [4, 4]}
        model = MIXTURE["model"] | {"samplers": ["enumeration"]}
        changes = {"data": data, "model": model, "selection": {"features": [1]}}
    found, _ = made(tmp_path, MIXTURE, **changes)
    fit, predicted = found["fit"], found["predict"]
    (plain, tau), p = fit["tau"][0], predicted["probability"]
    assert plain == 1
    assert tau > (1.01 if sampler == "collapsed" else 0.999)
    assert predicted["tau"][0, :2].tolist() == [1, tau]
    # the chains are the same: only the log odds are divided
    odds, (low, high) = np.log(p) - np.log1p(-p), fit["offset"][0, 1]
    np.testing.assert_allclose((odds[1] - (high - low)) * tau, odds[0], atol=1e-9)
    if sampler == "collapsed":
        names = sorted(path.name for path in (tmp_path / "results/small/fit").glob("*.nc"))
        assert names == [
            "0000-5-uncorrected-collapsed-tempered.nc",
            "0000-5-uncorrected-collapsed.nc",
        ]
        made(tmp_path, MIXTURE, jobs=2, results="again")
        for path in (tmp_path / "results/small/predict").glob("*.npz"):
            other = tmp_path / "again/small/predict" / path.name
            assert other.read_bytes() == path.read_bytes()


def test_the_screening_is_repeated_too(tmp_path):
    model = {"kind": "normal", "methods": ["corrected"], "temperature": "cv"}
    whole, _ = made(tmp_path, DRAWN, data=TWO, model=model, results="whole")
    selection = DRAWN["selection"] | {"screened": {"keep": 12}}
    part, _ = made(tmp_path, DRAWN, data=TWO, model=model, selection=selection, results="part")
    np.testing.assert_allclose(part["fit"]["tau"], whole["fit"]["tau"], rtol=1e-6)


# ---- mistakes ----


def cases(folder, sick):
    """Write a table of 20 cases, of which some are sick."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 6)), columns=list("abcdef"))
    frame["tissue"] = np.where(np.arange(20) < sick, "sick", "well")
    frame.to_csv(folder / "t.csv", index=False)


def test_few_cases_make_fewer_folds(tmp_path):
    cases(tmp_path, 4)
    model = {"kind": "normal", "temperature": ["cv"]}
    data = OWN["data"] | {"positive": "sick"}
    found, notes = made(tmp_path, OWN, data=data, model=model, evaluation={"folds": 4})
    assert [one for one in notes if one.startswith("model.temperature")] == [
        "model.temperature: 3 folds are made within a training set, not 5, because it has 3 cases "
        "of class 'sick'"
    ]
    assert (found["fit"]["tau"] >= 1).all()


@pytest.mark.parametrize("kind", ["normal", "naive-bayes"])
def test_one_case_is_too_few_and_said_before_work_begins(tmp_path, kind):
    cases(tmp_path, 2)
    data = OWN["data"] | {"positive": "sick"}
    path = write(tmp_path, OWN, data=data, model={"kind": kind, "temperature": "cv"},
                 evaluation={"folds": 2})  # fmt: skip
    done = invoke("simulate", path, "--results", tmp_path / "results")
    must_fail(done, "model.temperature: cv needs two training cases of each class, and class "
              "'sick' has one in a training set")  # fmt: skip
    drawn = write(tmp_path, DRAWN, data=TWO | {"train": [1, 9]},
                  model={"kind": "normal", "temperature": "cv"})  # fmt: skip
    with pytest.raises(ConfigError, match="class 0 has one in a training set"):
        opened(drawn, tmp_path / "r").check()


def test_a_table_that_was_screened_with_all_its_cases_has_no_temperature(tmp_path):
    selection = {"features": ["all"], "screened": {"of": 100}}
    path = write(tmp_path, OWN, selection=selection, evaluation={},
                 model={"kind": "normal", "temperature": "cv"})  # fmt: skip
    with pytest.raises(ConfigError, match=r"model\.temperature: all cases took part in the scr"):
        load_config(path)


def test_a_table_that_was_screened_has_a_temperature_of_imitated_cases(tmp_path, copies):
    selection = {"features": ["all"], "screened": {"of": 1000}}
    data = OWN["data"] | {"positive": "sick"}
    model = {"kind": "normal", "methods": ["corrected"], "temperature": ["none", "residual"]}
    made(tmp_path, OWN, upto="fit", selection=selection, evaluation={}, data=data, model=model)
    fit = arrays(tmp_path / "results/small/fit/0000.npz")
    plain, softened = fit["promised"][0]
    assert fit["tau"][0, 1] > 2
    assert plain < softened - 0.02  # the copies of a feature are no evidence of their own


def test_a_class_with_one_case_has_no_temperature_and_the_page_says_so(tmp_path):
    cases(tmp_path, 1)
    selection = {"features": ["all"], "screened": {"of": 1000}}
    data = OWN["data"] | {"positive": "sick"}
    model = {"kind": "normal", "methods": ["corrected"], "temperature": "residual"}
    report = {"parts": ["summary", "temperature-table"]}
    path = write(tmp_path, OWN, selection=selection, evaluation={}, data=data, model=model,
                 report=report)  # fmt: skip
    done = run("run", path, "--results", tmp_path / "results")
    assert "none, because a class has one training case" in done
    assert "no temperature could be found" in (tmp_path / "results/small/report.html").read_text()
    promised = arrays(tmp_path / "results/small/fit/0000.npz")["promised"]
    assert 0 <= promised.item() < 0.5


def test_errors_behind_a_temperature_are_of_every_replicate(tmp_path):
    made(tmp_path, DRAWN, data=TWO, replicates=3,
         model={"kind": "normal", "methods": ["corrected"], "temperature": "residual"})  # fmt: skip
    record = opened(tmp_path / "small.yaml", tmp_path / "results").record()
    (found,) = temperatures(record).values()
    assert found.tau.shape == found.errors.shape == (3,)
    assert not np.isnan(found.errors).any()


def test_no_feature_above_a_threshold_predicts_the_shares_of_classes(tmp_path):
    model = {"kind": "normal", "methods": ["corrected"], "temperature": ["none", "residual"]}
    selection = {"thresholds": [0.99]}
    found, _ = made(tmp_path, DRAWN, data=TWO, model=model, selection=selection)
    assert (found["fit"]["tau"] == 1).all()
    p = found["predict"]["probability"]
    assert np.ptp(p) < 1e-9
    assert 0 < p.mean() < 1


def test_a_mixture_has_no_temperature_of_imitated_cases(tmp_path):
    path = write(tmp_path, MIXTURE, model=MIXTURE["model"] | {"temperature": "residual"})
    with pytest.raises(ConfigError, match=r"model\.temperature"):
        load_config(path)
