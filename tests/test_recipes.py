"""The recipes of CONTRIBUTING.md are carried out as they are written."""

import sys
from types import ModuleType

import numpy as np
import pytest
from code_blocks import RECIPE, blocks
from commands import ROOT, arrays, run

from thesiskit import datasets
from thesiskit.cli import main
from thesiskit.report import parts
from thesiskit.report.selection import tables

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
        "thesiskit/models/single.py",
        "tests/models/test_single.py",
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
    scope = dict(vars(tables))
    carry_out("thesiskit/report/selection/tables.py", scope)
    monkeypatch.setattr(tables, "confidence_table", scope["confidence_table"], raising=False)
    carry_out("thesiskit/report/parts.py", vars(parts))
    text = experiment.read_text().replace("[score-table,", "[confidence-table, score-table,")
    experiment.write_text(text)
    run("run", experiment, "--results", tmp_path / "results")
    rows = (tmp_path / "results/weak-features/tables/confidence.csv").read_text().splitlines()
    assert len(rows) == 6  # a header, two methods for 1 and for 10 features, one for all
    assert all(0.5 <= float(row.rpartition(",")[2]) <= 1 for row in rows[1:])


def test_a_data_set(tmp_path, monkeypatch):
    module = ModuleType("thesiskit.datasets.parity")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    carry_out("thesiskit/datasets/parity.py", module.__dict__)
    monkeypatch.setattr(datasets, "_OURS", dict(datasets._OURS))
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
report: { parts: [model-table] }
"""


def test_a_command(experiment, monkeypatch):
    from thesiskit import cli

    monkeypatch.setattr(main, "commands", dict(main.commands))
    carry_out("thesiskit/cli/__init__.py", dict(vars(cli)))
    assert run("stages", experiment) == "simulate\nselect\nfit\npredict\n"
    assert "Print the stages of an experiment" in run("stages", "--help")


def test_a_model(monkeypatch):
    model = ModuleType("thesiskit.models.single")
    monkeypatch.setitem(sys.modules, model.__name__, model)
    carry_out("thesiskit/models/single.py", vars(model))
    scope = {"np": np, "predict": model.predict}
    carry_out("tests/models/test_single.py", scope)
    scope["test_single_is_the_integral"]()
