"""The recipes of CONTRIBUTING.md are carried out as they are written."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from code_blocks import RECIPE, blocks
from commands import ROOT, arrays, run
from scipy.integrate import quad
from sklearn.utils.estimator_checks import check_estimator

from thesiskit import datasets
from thesiskit.cli import main
from thesiskit.config import keys, schema
from thesiskit.estimators import selecting
from thesiskit.models import MODELS
from thesiskit.models.base import Training
from thesiskit.report import parts, scores

RECIPES = {
    block.text.partition("\n")[0].removeprefix(RECIPE): block.text
    for block in blocks("CONTRIBUTING.md")
    if block.text.startswith(RECIPE)
}


def carry_out(path, scope):
    exec(compile(RECIPES[path], f"CONTRIBUTING.md, {path}", "exec"), scope)


def test_recipes_name_files_that_exist_or_are_added():
    added = {
        "configs/studies/weak-features.yaml",
        "thesiskit/datasets/parity.py",
        "thesiskit/models/smoothed.py",
    }
    for path in RECIPES:
        assert (ROOT / path).exists() != (path in added), path
        assert (ROOT / path).parent.is_dir()


@pytest.fixture
def experiment(tmp_path):
    path = tmp_path / "weak-features.yaml"
    path.write_text(RECIPES["configs/studies/weak-features.yaml"])
    return path


def test_an_experiment(experiment, tmp_path):
    for form in ([], ["--smoke"]):
        printed = run("run", experiment, "--results", tmp_path / "results", *form)
        assert "report.html" in printed


def test_a_table(experiment, tmp_path, monkeypatch):
    monkeypatch.setitem(parts.PARTS, "confidence-table", None)  # removed again after the test
    scope = dict(vars(scores))
    carry_out("thesiskit/report/scores.py", scope)
    monkeypatch.setattr(scores, "confidence_table", scope["confidence_table"], raising=False)
    carry_out("thesiskit/report/parts.py", vars(parts))
    text = experiment.read_text().replace("[methods,", "[confidence-table, methods,")
    experiment.write_text(text)
    run("run", experiment, "--results", tmp_path / "results")
    rows = (tmp_path / "results/weak-features/tables/confidence.csv").read_text().splitlines()
    assert len(rows) == 6  # a header, two methods for 1 and for 10 features, one for all
    assert all(0.5 <= float(row.rpartition(",")[2]) <= 1 for row in rows[1:])


def test_a_data_set(tmp_path, monkeypatch):
    module = ModuleType("thesiskit.datasets.parity")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    carry_out("thesiskit/datasets/parity.py", module.__dict__)
    monkeypatch.setattr(datasets.SOURCES, "names", dict(datasets.SOURCES.names))
    carry_out("thesiskit/datasets/__init__.py", vars(datasets))
    path = tmp_path / "parity.yaml"
    path.write_text(PARITY)
    run("run", path, "--results", tmp_path / "results")
    found = arrays(tmp_path / "results/parity/predict/0000.npz")
    correct = found["probability"][0].argmax(axis=1) == found["response"]
    assert correct.mean() > 0.9


PARITY = """
experiment: parity
title: Parity
about: The response is a pattern of two bits.
data: { source: parity, bits: 7 }
evaluation: { folds: 2 }
model: { kind: logistic, orders: [2], iterations: 300, burn_in: 100 }
report: { parts: [methods] }
"""


def test_a_command(experiment, monkeypatch):
    from thesiskit import cli

    monkeypatch.setattr(main, "commands", dict(main.commands))
    carry_out("thesiskit/cli/__init__.py", dict(vars(cli)))
    assert run("stages", experiment) == "simulate\nselect\nfit\npredict\n"
    assert "Print the stages of an experiment" in run("stages", "--help")


@pytest.fixture
def smoothed(monkeypatch):
    """The recipe's model, with its line of the registry."""
    module = ModuleType("thesiskit.models.smoothed")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    carry_out("thesiskit/models/smoothed.py", vars(module))
    monkeypatch.setattr(MODELS, "names", dict(MODELS.names))
    carry_out("thesiskit/models/__init__.py", {"MODELS": MODELS})
    keys.cache_clear()
    yield module.Smoothed
    keys.cache_clear()


OWN_MODEL = """
experiment: own
title: A model of one's own
about: It is fitted, exported, and predicts new samples.
data: { source: file, path: t.csv, response: y, positive: "yes" }
selection: { features: [3, all] }
model: { kind: smoothed, strength: 2.0, methods: [uncorrected] }
evaluation: { folds: 4 }
report: { parts: [methods, performance, summary] }
"""


def test_a_model_of_ones_own_is_everywhere(smoothed, tmp_path):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 30)
    X = (rng.random((60, 8)) < np.where(y[:, None] & (np.arange(8) < 3), 0.8, 0.3)).astype(int)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(8)])
    frame.assign(y=np.array(["no", "yes"])[y]).to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "own.yaml"
    path.write_text(OWN_MODEL)
    results = ["--results", tmp_path / "results"]
    assert "report.html" in run("run", path, *results, "--jobs", "0")
    found = arrays(tmp_path / "results/own/predict/0000.npz")
    assert found["probability"].shape == (2, 60)
    assert ((found["probability"] > 0.5) == found["response"]).mean() > 0.7
    assert "Both parameters of the Beta prior" in run("docs", "model.strength")
    assert "strength" in schema()["$defs"]["SmoothedBlock"]["properties"]
    path.write_text(OWN_MODEL.replace("2.0", "-1.0"))
    assert "model.strength: must be greater than 0" in run("run", path, *results, code=2)
    path.write_text(OWN_MODEL)
    run("export", path, tmp_path / "own.model", *results)
    run("predict", "--model", tmp_path / "own.model", "--new", tmp_path / "t.csv", "--output",
        tmp_path / "a.csv")  # fmt: skip
    run("predict", path, "--new", tmp_path / "t.csv", "--output", tmp_path / "b.csv", *results)
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    # the integral: P(x = 1) given n samples, s of them ones, with the prior Beta(2, 2)
    model = smoothed(strength=2.0)
    table, y = np.array([[0], [1], [1], [1], [0]]), np.array([0, 0, 1, 1, 1])
    training = Training(None, y, lambda: table)
    odds = model.log_odds(model.fit(training), np.array([[1.0], [np.nan]]))
    ratio = []
    for zeros, ones in ((1, 1), (1, 2)):
        beta = [quad(lambda t, a=a: t ** (ones + 1 + a) * (1 - t) ** (zeros + 1), 0, 1)[0]  # noqa: B023
                for a in (0, 1)]  # fmt: skip
        ratio.append(beta[1] / beta[0])
    np.testing.assert_allclose(odds, np.log(4 / 3) + np.array([np.log(ratio[1] / ratio[0]), 0]))


def failed(estimator):
    """The checks of scikit-learn that an estimator fails."""
    checks = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(checks) > 40
    return {one["check_name"] for one in checks if one["status"] == "failed"}


@pytest.mark.filterwarnings("ignore")
def test_the_estimator_of_a_model_of_ones_own_passes_the_checks(smoothed):
    scope = dict(vars(selecting), Smoothed=smoothed)
    carry_out("thesiskit/estimators/selecting.py", scope)
    classifier = scope["SmoothedClassifier"]
    assert classifier(strength=3.0).get_params()["strength"] == 3.0
    # the tables of some checks are not binary
    assert failed(classifier(1)) <= failed(selecting.NaiveBayesClassifier(1))
