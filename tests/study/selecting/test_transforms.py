"""Transforms of real features in experiments, model files and estimators."""

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail, run
from real_tables import OWN, made, write

from thesiskit.config import load_config
from thesiskit.errors import ConfigError, DataError
from thesiskit.estimators import NormalClassifier, PoolClassifier
from thesiskit.fitted import load_model
from thesiskit.fitted.file import read_model, write_model
from thesiskit.models.packed import Transform
from thesiskit.study.design import Design
from thesiskit.study.selecting import methods

DATA = OWN["data"] | {"positive": "liver"}
MODEL = {
    "kind": "normal",
    "temperature": "none",
    "methods": ["corrected", "naive-corrected", "gaussian-nb", "l2-logistic", "pool"],
}


@pytest.fixture(autouse=True)
def table(tmp_path):
    """Counts with library sizes, two classes: a DataFrame."""
    rng = np.random.default_rng(1)
    y = np.arange(36) % 2
    size = np.exp(
        rng.uniform(-1, 1, 36) + rng.normal(3, 1, (30, 1)) + 2 * np.outer(np.arange(30) < 3, y)
    )
    frame = pd.DataFrame(rng.poisson(size).T, columns=[f"g{j}" for j in range(30)])
    frame["tissue"] = np.array(["colon", "liver"])[y]
    frame.to_csv(tmp_path / "t.csv", index=False)
    return frame


def config(**changes):
    return {"data": DATA | changes, "model": MODEL}


def by_name(folder, found):
    names = methods(load_config(folder / "small.yaml"))
    return dict(
        zip([method.name for method in names], found["predict"]["probability"], strict=True)
    )


def test_methods_of_each_transform(tmp_path, table):
    plain = by_name(tmp_path, made(tmp_path, OWN, **config(), results="plain")[0])
    found = by_name(tmp_path, made(tmp_path, OWN, **config(transform=["none", "log"]))[0])
    suffixes = ("corrected exact some", "gaussian-nb", "naive-corrected")
    assert set(found) - set(plain) == {
        *(f"3 log {suffix}" for suffix in suffixes[:2]), "all log l2-logistic", "all log pool"
    }  # fmt: skip
    assert all(np.array_equal(found[name], p) for name, p in plain.items())
    # the same as of a table of logs, which are those of each training set
    design = Design(load_config(tmp_path / "small.yaml"), tmp_path)
    drawn = design.draw(range(1))
    p = []
    for split in design.splits(range(1), drawn):
        X = table.iloc[:, :30].to_numpy(dtype=float)
        logs = Transform.of("log", X[split.train]).apply(X)
        fitted = NormalClassifier(n_features=3, temperature=None)
        y = split.response[split.train]
        p.append(fitted.fit(logs[split.train], y).predict_proba(logs[split.test])[:, 1])
    assert np.allclose(np.concatenate(p), found["3 log corrected exact some"])


def test_a_transform_is_of_training_samples_alone(tmp_path, table):
    write(tmp_path, OWN, **config(transform="normal-scores"))
    design = Design(load_config(tmp_path / "small.yaml"), tmp_path)
    split = next(design.splits(range(1), design.draw(range(1)))).transformed("normal-scores")
    X = table.iloc[:, :30].to_numpy(dtype=float)
    assert np.array_equal(split.fitted_transform.state, np.sort(X[split.train], axis=0))
    assert split.transformed("normal-scores") is split
    inner = split.transformed("none").take_columns(np.array([4, 2])).transformed("normal-scores")
    assert np.array_equal(inner.features[0], split.features[0][:, [4, 2]])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": DATA | {"transform": ["log", "log"]}}, "log is given twice"),
        ({"data": DATA | {"transform": "logs"}}, "data.transform.0: cannot be 'logs'"),
        ({"model": {"kind": "naive-bayes"}}, "data.transform: is for real features. Fix: use"),
    ],
)  # fmt: skip
def test_transforms_that_cannot_be(tmp_path, changes, words):
    must_fail(invoke("run", write(tmp_path, OWN, **config(transform="log") | changes)), words)


def test_negative_values(tmp_path, table):
    table.loc[4, "g7"] = -2
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(
        ConfigError, match=r"data.transform: feature 'g7' is -2 in sample 5.* Fix: "
    ):
        made(tmp_path, OWN, **config(transform=["none", "log"]))
    made(tmp_path, OWN, **config(transform=["none", "normal-scores"]), upto="select")


@pytest.mark.parametrize("kind", ["log", "normal-scores"])
def test_model_files_have_transforms(tmp_path, table, kind):
    path = write(tmp_path, OWN, **config(transform=["none", kind]))
    file = tmp_path / "m.model"
    run("export", path, file, "--all-methods", "--results", tmp_path / "results")
    model = load_model(file)
    X, y = table.iloc[:, :30], table["tissue"]
    for name, classifier in (
        (f"3 {kind} corrected exact some", NormalClassifier(n_features=3, temperature=None)),
        ("3 corrected exact some", NormalClassifier(n_features=3, temperature=None)),
    ):
        form = kind if kind in name else None
        p = classifier.set_params(transformation=form).fit(X, y).predict_proba(X)
        assert np.allclose(model.predict_proba(X, name), p)
    header, stored = read_model(file)
    place = next(i for i, about in enumerate(header["arms"]) if "transform" in about)
    state = f"arm-{place}/transform/state"
    for name, value in (
        (state, stored[state][:, :2]),
        (state.replace("state", "mean"), np.ones(7)),
    ):
        write_model(tmp_path / "bad.model", header, stored | {name: value})
        with pytest.raises(DataError, match="not a valid fitted model"):
            load_model(tmp_path / "bad.model")
    every = [name for name in model.methods if kind in name]
    assert {name.rpartition(" ")[2] for name in every} == {"some", "l2-logistic", "pool"}
    new = X.iloc[:4].astype(float)
    new.iloc[0, 3] = np.nan
    assert all(np.isfinite(model.predict_proba(new, name)).all() for name in every)
    new.iloc[1, 2] = -1
    if kind == "log":
        with pytest.raises(DataError, match="feature 'g2' is -1 in sample 2"):
            model.predict_proba(new, every[0])
    else:
        assert np.isfinite(model.predict_proba(new, every[0])).all()


@pytest.mark.parametrize("classifier", [NormalClassifier, PoolClassifier])
def test_estimators_transform(table, classifier):
    X, y = table.iloc[:, :30], table["tissue"]
    logs = Transform.of("log", X.to_numpy(dtype=float))
    fitted = classifier(transformation="log", random_state=0).fit(X, y)
    by_hand = classifier(random_state=0).fit(logs.apply(X.to_numpy()), y)
    new = X[:5] * 3
    p = by_hand.predict_proba(logs.apply(new.to_numpy()))
    assert np.allclose(fitted.predict_proba(new), p)
    assert fitted.get_params()["transformation"] == "log"
    assert not hasattr(fitted, "transform")  # it is no transformer
    with pytest.raises(ValueError, match=r"transformation: 'root' is unknown. Fix: "):
        classifier(transformation="root").fit(X, y)
    with pytest.raises(ValueError, match="feature 'g5' is -1 in sample 1"):
        classifier(transformation="log").fit(X.assign(g5=-1), y)


@pytest.mark.parametrize("n", [4, 6])
def test_few_samples_and_one_feature(n):
    X = np.array([[1.0], [9], [2], [30], [3], [40]])[:n]
    for kind in ("log", "normal-scores"):
        p = NormalClassifier(transformation=kind, temperature=None).fit(X, np.arange(n) % 2)
        assert (p.predict(X) == np.arange(n) % 2).all()


COUNTS = """
experiment: counts
title: Counts
about: A test.
data: { source: file, path: counts.csv, response: class, positive: b, transform: [none, log] }
selection: { features: [all], screened: { of: 100 } }
model: { kind: normal, methods: [corrected] }
report: { parts: [summary] }
"""


def test_new_samples_of_a_filtered_table_of_counts(tmp_path, rng, monkeypatch):
    """They are compared on the scale of the table, and library sizes need all columns."""
    monkeypatch.chdir(tmp_path)
    rate = rng.gamma(4, 25, 60)[None, :] * rng.uniform(0.5, 2, (60, 1))
    X, y = rng.poisson(rate), np.arange(60) % 2
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(60)])
    frame.insert(0, "class", np.where(y, "b", "a"))
    frame[:40].to_csv("counts.csv", index=False)
    frame[40:].to_csv("new.csv", index=False)
    frame.loc[40:, ["class", "g0", "g1"]].to_csv("few.csv", index=False)
    (tmp_path / "counts.yaml").write_text(COUNTS)
    run("predict", "counts.yaml", "--new", "new.csv", "--output", "new-p.csv")
    assert (pd.read_csv("new-p.csv")["unlike"] > 0.01).all()
    names = ("--new", "few.csv", "--output", "few-p.csv", "--all-methods")
    text = " ".join(run("predict", "counts.yaml", *names).split())
    assert "library sizes are of the present columns" in text
