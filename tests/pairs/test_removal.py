"""The package without patterns that are selected: the folder, and the line that names it."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from commands import ROOT

LINE = '    "features": "thesiskit.pairs:PATTERNS",\n'
IMPORT_ALL = """
import pkgutil, sys
from importlib import import_module
import thesiskit
for module in pkgutil.walk_packages(thesiskit.__path__, "thesiskit."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
assert not any("pairs" in name for name in sys.modules if name.startswith("thesiskit"))
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """Run Python with the copy of the package, in a folder with a table."""
    folder = tmp_path_factory.mktemp("without")
    unused = shutil.ignore_patterns("pairs", "__pycache__")
    shutil.copytree(ROOT / "thesiskit", folder / "thesiskit", ignore=unused)
    shutil.copytree(ROOT / "configs", folder / "configs")
    registry = folder / "thesiskit/registry.py"
    assert registry.read_text().count(LINE) == 1
    registry.write_text(registry.read_text().replace(LINE, ""))
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 12))).add_prefix("x")
    frame["y"] = np.where(frame["x0"] ^ (rng.random(60) < 0.2), "yes", "no")
    frame.to_csv(folder / "t.csv", index=False)
    frame.drop(columns="y").to_csv(folder / "new.csv", index=False)

    def run(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(folder)},
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_every_module_is_imported(without):
    without("-c", IMPORT_ALL)


@pytest.mark.parametrize("config", ["null", "tic-tac-toe"])
def test_experiments_run(without, config):
    assert "report.html" in without("-m", "thesiskit", "run", config, "--smoke", "--jobs", "0")


def test_an_own_table_is_predicted_and_exported(without):
    def thesiskit(*arguments):
        return without("-m", "thesiskit", *arguments)

    thesiskit("init", "t.csv", "--output", "own.yaml")
    thesiskit("check", "own.yaml")
    thesiskit("run", "own.yaml", "--jobs", "0")
    thesiskit("predict", "own.yaml", "--new", "new.csv", "--output", "p.csv", "--all-methods")
    thesiskit("export", "own.yaml", "own.model", "--all-methods")
    thesiskit("predict", "--model", "own.model", "--new", "new.csv", "--output", "again.csv")


def test_what_needs_patterns_is_refused(without):
    def refused(*settings):
        options = [word for setting in settings for word in ("--set", setting)]
        return without("-m", "thesiskit", "simulate", "votes", *options, code=2)

    assert "unknown source 'plink'" in refused("data.source=plink")
    model = "model={kind: naive-bayes}"
    assert "features need a logistic model. Fix: set model.kind: logistic" in refused(
        model, "selection={features: [3]}"
    )
    refusal = refused(model, "selection={features: [3], order: 2}")
    assert "selection.order: unknown key" in refusal
