"""Fits to all samples, beside the same fits by other ways: a test table, and the estimators."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from new_samples import CONFIGS, NEW, PATTERNS, SELECTING, SHORT, write_tables

from thesiskit.config import load_config
from thesiskit.errors import DataError, UnreliableWarning
from thesiskit.estimators import (
    InteractionClassifier,
    InteractionRegressor,
    MedianBinarizer,
    MixtureClassifier,
    NaiveBayesClassifier,
    NormalClassifier,
    SequenceClassifier,
)
from thesiskit.files import Results
from thesiskit.models.temperature import Temperature, temper
from thesiskit.study.all_samples import AllSamples
from thesiskit.study.experiment import Experiment


def watch(items, total, label, details=()):
    return items


def opened(folder, text, kind=AllSamples, name="mine"):
    path = folder / "mine.yaml"
    path.write_text(text)
    config = load_config(path)
    return kind(config, Results(folder / f"results-{name}", "mine"), folder)


def fitted(folder, text, name="mine"):
    experiment = opened(folder, text, name=name)
    experiment.fit(watch=watch)
    return experiment.model()


@pytest.fixture
def folder(tmp_path):
    write_tables(tmp_path)
    return tmp_path


def with_test_table(folder, text, name="probability"):
    """Return the predictions of an experiment's test table, (methods, T) or (methods, T, K)."""
    experiment = opened(folder, text, Experiment, "tested")
    for stage in experiment.stages:
        experiment.run(stage, watch=watch)
    methods = list(experiment.graph.work.all_methods)
    return dict(zip(methods, experiment.results.load("predict", 0)[name], strict=True))


@pytest.mark.parametrize(
    "kind",
    ["naive", "missing", "enumeration", "normal", "three-classes", "tempered"],
)
def test_a_test_table_is_predicted_as_new_samples_are(kind, folder):
    """The experiment with a test table makes the same fit by another way."""
    path = folder / NEW[kind]
    new = pd.read_csv(path).drop(columns="batch", errors="ignore")
    labels = ["I", "II", "III"] if kind == "three-classes" else ["tumour", "normal", "tumour"]
    new.assign(status=labels * 3).to_csv(folder / "test.csv", index=False)
    other = CONFIGS[kind].replace(".csv,", ".csv, test_path: test.csv,")
    expected = with_test_table(folder, other)
    model = fitted(folder, CONFIGS[kind])
    for method in model.methods:
        found = model.predict_proba(path, method)
        wanted = expected[method]
        np.testing.assert_array_equal(found if wanted.ndim == 2 else found[:, 1], wanted)


@pytest.mark.parametrize("kind", ["tempered", "three-classes"])
def test_log_odds_are_divided_by_a_temperature(kind, folder):
    model = fitted(folder, CONFIGS[kind])
    assert sum(name.endswith("tempered") for name in model.methods) == len(model.methods) / 2
    for name, method in model.methods.items():
        plain = np.log(model.predict_proba(folder / NEW[kind], name))
        temperature = method.fitted.temperature
        tau, offset = (1.0, 0.0) if temperature is None else temperature[:2]
        temperature = Temperature(3.0 * tau, np.zeros(plain.shape[1]))
        method.fitted = replace(method.fitted, temperature=temperature)
        found = model.predict_proba(folder / NEW[kind], name)
        np.testing.assert_allclose(found, np.exp(temper(plain - offset, 3.0)), rtol=1e-9)


def test_test_sequences_are_predicted_as_new_ones_are(folder):
    """Chains have the same seeds, and no test sequence has a group in part, which is split."""
    samples = (folder / "bits.txt").read_text().splitlines(keepends=True)
    (folder / "test.txt").write_text("".join(samples[30:]))
    (folder / "bits.txt").write_text("".join(samples[:30]))
    text = CONFIGS["two-states"].replace("compress: [true, false]", "compress: [true]")
    new = (line.rsplit(maxsplit=1)[0] for line in samples[30:])
    (folder / "new.txt").write_text("\n".join(new))
    source = "path: bits.txt, train: 30"
    # what is fitted to all samples has no test samples: here these are the first 30
    expected = with_test_table(folder, text.replace(source, "path: bits.txt, test_path: test.txt"))
    model = fitted(folder, text.replace(source, "path: bits.txt, train: 29"))
    assert model.samples == 30
    for method in model.methods:
        found = model.predict_proba(folder / "new.txt", method)
        np.testing.assert_allclose(found, expected[method], rtol=1e-12)


@pytest.mark.parametrize("kind", ["features", "real", "sequences"])
def test_methods_of_others_predict_new_samples_as_test_samples(kind, folder):
    text, name = CONFIGS[kind], "probability"
    if kind == "real":
        text, name = text.replace("[orders]", "[methods]"), "median"
    if kind == "sequences":
        samples = (folder / "reads.txt").read_text().splitlines(keepends=True)
        (folder / "reads.txt").write_text("".join(samples[:30]))
        (folder / "test.txt").write_text("".join(samples[30:]))
        new = folder / "new.txt"
        new.write_text("".join(line.rsplit(maxsplit=1)[0] + "\n" for line in samples[30:]))
        source = "path: reads.txt, train: 30"
        other = text.replace(source, "path: reads.txt, test_path: test.txt")
        text = text.replace(source, "path: reads.txt, train: 29")
    else:
        new = folder / "test.csv"
        pd.read_csv(folder / "shapes.csv")[:9].to_csv(new, index=False)
        other = text.replace("path: shapes.csv", "path: shapes.csv, test_path: test.csv")
    expected = with_test_table(folder, other, name)
    model = fitted(folder, text)
    methods = [method for method, one in model.methods.items() if one.kind == "peer"]
    assert len(methods) == {"features": 1, "real": 1, "sequences": 4}[kind]
    for method in methods:
        predict = model.predict if kind == "real" else model.predict_proba
        np.testing.assert_allclose(predict(new, method), expected[method], rtol=1e-12)


def test_a_mixture_takes_no_missing_value(folder):
    model = fitted(folder, CONFIGS["enumeration"])
    kept = model.inputs.names[model.methods["1 corrected enumeration"].selected[0]]
    new = pd.read_csv(folder / "new-tissues.csv")
    new.loc[3, kept] = np.nan
    with pytest.raises(DataError, match=f"missing in sample 4, feature '{kept}'"):
        model.predict_proba(new, "1 corrected enumeration")


def test_samples_of_the_test_table_train_too(folder):
    tissues = pd.read_csv(folder / "tissues.csv")
    whole = fitted(folder, CONFIGS["naive"], "whole")
    tissues[:25].to_csv(folder / "tissues.csv", index=False)
    tissues[25:].to_csv(folder / "test.csv", index=False)
    other = CONFIGS["naive"].replace("tissues.csv,", "tissues.csv, test_path: test.csv,")
    parts = fitted(folder, other, "parts")
    assert parts.samples == whole.samples == 40
    for method in whole.methods:
        found = parts.predict_proba(folder / "new-tissues.csv", method)
        expected = whole.predict_proba(folder / "new-tissues.csv", method)
        np.testing.assert_array_equal(found, expected)


def test_values_that_only_the_test_table_has(folder):
    shapes = pd.read_csv(folder / "shapes.csv")
    shapes[30:].replace({"colour": {"red": "pink"}}).to_csv(folder / "test.csv", index=False)
    shapes[:30].to_csv(folder / "shapes.csv", index=False)
    text = CONFIGS["features"].replace(
        "path: shapes.csv,", "path: shapes.csv, test_path: test.csv,"
    )
    experiment = opened(folder, text.replace("[slice, gp]", "slice"))
    experiment.fit(watch=watch)
    model = experiment.model()
    assert model.samples == 40
    missing = int((shapes[30:].colour == "red").sum())
    column = model.inputs.names.index("colour")
    assert (model.codes[:, column] == -1).sum() == missing
    notes = experiment.graph.block(0).load("simulate", ["notes"])["notes"]
    assert any(note.startswith(f"{missing} values that only the test table has") for note in notes)


# ---- the estimators ----


def test_naive_bayes_agrees_with_its_estimator(folder):
    model = fitted(folder, SELECTING + "selection: { features: [2] }\n")
    tissues, new = pd.read_csv(folder / "tissues.csv"), pd.read_csv(folder / "new-tissues.csv")
    y = (tissues.pop("status") == "tumour").to_numpy()
    median = MedianBinarizer().fit(tissues)
    X, X_new = median.transform(tissues), median.transform(new[tissues.columns])
    for method in ("corrected", "uncorrected"):
        estimator = NaiveBayesClassifier(2, correct=method == "corrected", relevant="all")
        estimator.fit(X, y)
        method = f"2 {method} exact"
        assert list(model.methods[method].selected) == list(estimator.selected_)
        found = model.predict_proba(new, method)
        np.testing.assert_allclose(found, estimator.predict_proba(X_new), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["normal", "three-classes"])
def test_the_normal_model_agrees_with_its_estimator(kind, folder):
    text = CONFIGS[kind].replace("[3]", "[2]").replace("[2, all]", "[2]")
    model = fitted(folder, text)
    table = "gaps" if kind == "normal" else "grades"
    tissues, new = pd.read_csv(folder / f"{table}.csv"), pd.read_csv(folder / NEW[kind])
    y, X_new = tissues.pop("status"), new[tissues.columns]
    prior = 1.0 if kind == "normal" else (1, 2, 1)
    for method in ("corrected", "uncorrected"):
        estimator = NormalClassifier(
            2, correct=method == "corrected", class_prior=prior, temperature=None
        )
        estimator.fit(tissues, y)
        method = f"2 {method} exact some"
        assert list(model.methods[method].selected) == list(estimator.selected_)
        order = [model.classes.index(name) for name in estimator.classes_]
        found = model.predict_proba(new, method)[:, order]
        np.testing.assert_allclose(found, estimator.predict_proba(X_new), rtol=0, atol=1e-12)
        assert model.methods[f"{method} residual-tempered"].fitted.temperature.tau >= 1
    assert np.ptp(found[:, 1]) > 0.05


def test_a_mixture_agrees_with_its_estimator(folder):
    run = "collapsed: { chains: 4, iterations: 800, burn_in: 100, alpha_points: 20 }"
    text = SELECTING + f"selection: {{ features: [2] }}\nmodel: {{ kind: mixture, {run} }}\n"
    model = fitted(folder, text)
    tissues, new = pd.read_csv(folder / "tissues.csv"), pd.read_csv(folder / "new-tissues.csv")
    y = (tissues.pop("status") == "tumour").to_numpy()
    median = MedianBinarizer().fit(tissues)
    X, X_new = median.transform(tissues), median.transform(new[tissues.columns])
    for method in ("corrected", "uncorrected"):
        estimator = MixtureClassifier(
            2, correct=method == "corrected", iterations=800, burn_in=100, alpha_points=20,
            random_state=1,
        )  # fmt: skip
        expected = estimator.fit(X, y).predict_proba(X_new)
        found = model.predict_proba(new, f"2 {method} collapsed")
        np.testing.assert_allclose(found, expected, atol=0.015)
    assert np.ptp(expected[:, 1]) > 0.1


LONGER = SHORT.replace("iterations: 40, burn_in: 10", "iterations: 1500, burn_in: 300")
RUN = {"chains": 2, "iterations": 1500, "burn_in": 300, "random_state": 1, "prior": "gaussian"}


def test_logistic_models_agree_with_their_estimators(folder):
    shapes, new = pd.read_csv(folder / "shapes.csv"), pd.read_csv(folder / "new-shapes.csv")
    features = ["form", "colour", "level"]
    X, X_new = (frame[features].replace("?", None) for frame in (shapes, new))
    priors = "priors: [gaussian], orders: [1]"
    source = "source: table, path: shapes.csv, ignore: [name, {}], response: {}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        text = PATTERNS + f"data: {{ {source.format('size', 'status')} }}\n"
        model = fitted(folder, text + f"model: {{ {LONGER}, {priors} }}\n", "classes")
        estimator = InteractionClassifier(1, **RUN).fit(X, shapes.status)
        found = model.predict_proba(folder / "new-shapes.csv")
        np.testing.assert_allclose(found, estimator.predict_proba(X_new), atol=0.05)
        assert np.ptp(found[:, 1]) > 0.3

        text = PATTERNS + f"data: {{ {source.format('status', 'size')} }}\n"
        model = fitted(
            folder, text + f"model: {{ {LONGER}, {priors}, response: gaussian }}\n", "real"
        )
        estimator = InteractionRegressor(1, **RUN).fit(X, shapes["size"])
        found = model.predict_quantiles(folder / "new-shapes.csv")
        expected = estimator.predict_quantiles(X_new, [0.05, 0.5, 0.95])
        np.testing.assert_allclose(found, expected, atol=0.3)
        assert np.ptp(found[:, 1]) > 0.8

        text = (
            CONFIGS["two-states"].replace(SHORT, LONGER).replace("[cauchy, gaussian]", "gaussian")
        )
        model = fitted(folder, text, "bits")
        bits = np.array([line.split() for line in (folder / "bits.txt").read_text().splitlines()])
        code = (bits == "b").astype(int)
        estimator = SequenceClassifier(3, **RUN).fit(code[:, :-1], code[:, -1])
        histories = code[:8, :-1]
        for method in model.methods:
            found = model.predict_proba(bits[:8, :-1], method)
            np.testing.assert_allclose(found, estimator.predict_proba(histories), atol=0.05)
