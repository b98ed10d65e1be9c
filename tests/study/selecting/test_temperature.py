"""Temperatures in experiments of chapter 2, fitted within each training set."""

import numpy as np
import pandas as pd
import pytest
from commands import arrays, run
from real_tables import OWN, TESTED, TWO, made, write
from small import opened

from thesiskit.config import load_config
from thesiskit.errors import ConfigError
from thesiskit.estimators import MedianBinarizer, NaiveBayesClassifier, NormalClassifier
from thesiskit.report.posteriors import temperatures

BITS = TESTED | {
    "data": {"source": "naive-bayes", "features": 60, "alpha": 2.0, "train": [14, 13], "test": 30},
    "selection": {"features": [5]},
}
COPIED = 8  # times that each feature is there: naive Bayes counts it so often


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
def test_imitated_samples_have_the_temperature_of_the_estimator(tmp_path, copies, kind):
    """In an experiment, and of the fit to all samples that is exported."""
    model = {"kind": kind, "methods": ["corrected"], "temperature": ["none", "residual"]}
    data = OWN["data"] | {"positive": "sick"}
    found, _ = made(tmp_path, OWN, data=data, model=model, selection={"features": [48]})
    assert found["fit"]["temperature"].tolist() == ["none", "residual"]
    assert (found["fit"]["tau"][:, 1] > 2).all()
    p, y = found["predict"]["probability"], found["predict"]["response"]
    loss = -np.log(np.where(y == 1, p, 1 - p)).mean(axis=1)
    assert loss[1] < loss[0]
    run(
        "export",
        tmp_path / "small.yaml",
        tmp_path / "m",
        "--all-methods",
        "--results",
        tmp_path / "results",
    )
    table = pd.read_csv(tmp_path / "t.csv")
    table.to_csv(tmp_path / "new.csv", index=False)
    run("predict", "--model", tmp_path / "m", "--new", tmp_path / "new.csv",
        "--output", tmp_path / "p.csv")  # fmt: skip
    rows = pd.read_csv(tmp_path / "p.csv").groupby("method", sort=False)
    (_, plain), (name, softened) = rows
    assert name.endswith("residual-tempered")
    X, y = table.drop(columns="tissue").to_numpy(), (table.tissue == "sick").to_numpy()
    estimator = NormalClassifier(48) if kind == "normal" else NaiveBayesClassifier(48)
    if kind == "naive-bayes":
        X = MedianBinarizer().fit_transform(X)
        estimator.set_params(relevant="all", temperature="residual")
    p = estimator.fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(softened["probability: sick"], p, atol=1e-6)
    assert not np.allclose(softened["probability: sick"], plain["probability: sick"], atol=0.01)


METHODS = {
    "normal": ["corrected", "uncorrected", "naive-corrected", "naive-uncorrected"],
    "naive-bayes": ["corrected", "uncorrected", "normal-corrected", "normal-uncorrected"],
}


@pytest.mark.parametrize("kind", METHODS)
def test_evidence_that_is_counted_several_times_is_weakened(tmp_path, copies, kind):
    model = {"kind": kind, "methods": METHODS[kind], "temperature": ["none", "residual"]}
    data = OWN["data"] | {"positive": "sick"}
    found, _ = made(tmp_path, OWN, data=data, model=model, selection={"features": [24]})
    predicted = found["predict"]
    y, p = predicted["response"], predicted["probability"]
    loss = -np.log(np.where(y == 1, p, 1 - p)).mean(axis=1)
    tempered = predicted["temperature"] == "residual"
    assert tempered.tolist() == [False, True] * 4
    tau = predicted["tau"].mean(axis=0)
    assert (tau[~tempered] == 1).all()
    assert (tau[tempered] > 2).all()
    assert (loss[tempered] < loss[~tempered]).all()
    record = opened(tmp_path / "small.yaml", tmp_path / "results").record()
    assert [method.estimator for method in temperatures(record)] == METHODS[kind]
    means = [one.tau.mean() for one in temperatures(record).values()]
    np.testing.assert_allclose(means, tau[tempered])


# ---- mistakes ----


def samples(folder, sick):
    """Write a table of 20 samples, of which some are sick."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 6)), columns=list("abcdef"))
    frame["tissue"] = np.where(np.arange(20) < sick, "sick", "well")
    frame.to_csv(folder / "t.csv", index=False)


def test_a_table_that_was_screened_has_a_temperature_of_imitated_samples(tmp_path, copies):
    selection = {"features": ["all"], "screened": {"of": 1000}}
    data = OWN["data"] | {"positive": "sick"}
    model = {"kind": "normal", "methods": ["corrected"], "temperature": ["none", "residual"]}
    made(tmp_path, OWN, upto="fit", selection=selection, evaluation={}, data=data, model=model)
    fit = arrays(tmp_path / "results/small/fit/0000.npz")
    plain, softened = fit["promised"][0]
    assert fit["tau"][0, 1] > 2
    assert plain < softened - 0.02  # the copies of a feature are no evidence of their own


def test_a_class_with_one_sample_has_no_temperature_and_the_page_says_so(tmp_path):
    samples(tmp_path, 1)
    selection = {"features": ["all"], "screened": {"of": 1000}}
    data = OWN["data"] | {"positive": "sick"}
    model = {"kind": "normal", "methods": ["corrected"], "temperature": "residual"}
    report = {"parts": ["summary", "temperature-table"]}
    path = write(tmp_path, OWN, selection=selection, evaluation={}, data=data, model=model,
                 report=report)  # fmt: skip
    done = run("run", path, "--results", tmp_path / "results")
    assert "not estimated, because a class has one training sample" in done
    assert (
        "It is 1 if there are too few training samples"
        in (tmp_path / "results/small/report.html").read_text()
    )
    promised = arrays(tmp_path / "results/small/fit/0000.npz")["promised"]
    assert 0 <= promised.item() < 0.5


def test_errors_behind_a_temperature_are_of_every_replicate(tmp_path):
    made(tmp_path, TESTED, data=TWO, replicates=3,
         model={"kind": "normal", "methods": ["corrected"], "temperature": "residual"})  # fmt: skip
    record = opened(tmp_path / "small.yaml", tmp_path / "results").record()
    (found,) = temperatures(record).values()
    assert found.tau.shape == found.errors.shape == (3,)
    assert not np.isnan(found.errors).any()


def test_no_feature_above_a_threshold_predicts_the_shares_of_classes(tmp_path):
    model = {"kind": "normal", "methods": ["corrected"], "temperature": ["none", "residual"]}
    selection = {"thresholds": [0.99]}
    found, _ = made(tmp_path, TESTED, data=TWO, model=model, selection=selection)
    assert (found["fit"]["tau"] == 1).all()
    p = found["predict"]["probability"]
    assert np.ptp(p) < 1e-9
    assert 0 < p.mean() < 1


@pytest.mark.parametrize("kind", ["mixture", "pool"])
def test_other_models_have_no_temperature(tmp_path, kind):
    path = write(tmp_path, TESTED, model={"kind": kind, "temperature": "residual"})
    with pytest.raises(ConfigError, match=r"model\.temperature was removed\. Fix: remove it"):
        load_config(path)


@pytest.mark.parametrize("value", ["cv", ["none", "cv"]])
def test_cross_validation_was_removed(tmp_path, value):
    path = write(tmp_path, TESTED, model={"kind": "normal", "temperature": value})
    with pytest.raises(ConfigError, match=r"temperature\.\d: cv was removed\. Fix: use residual"):
        load_config(path)
