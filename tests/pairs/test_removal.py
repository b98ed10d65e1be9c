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

# lines of thesiskit, in one process: a start takes longer than most of them
COMMANDS = f"""
import shlex, sys
from click.testing import CliRunner
sys.path.append({str(ROOT / "tests/support")!r})
from sketched import sketched
from thesiskit.cli import main
with sketched():
    for line in sys.argv[2:]:
        done = CliRunner().invoke(main, shlex.split(line))
        assert done.exit_code == int(sys.argv[1]), done.output
        print(done.output)
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
    frame = pd.DataFrame(rng.integers(0, 2, (60, 6))).add_prefix("x")
    frame["y"] = np.where(frame["x0"] ^ (rng.random(60) < 0.2), "yes", "no")
    frame.to_csv(folder / "t.csv", index=False)
    frame.drop(columns="y").to_csv(folder / "new.csv", index=False)

    def run(*lines, code=0, script=COMMANDS):
        done = subprocess.run(
            [sys.executable, "-c", script, str(code), *lines], cwd=folder, capture_output=True,
            text=True, check=False, env=os.environ | {"PYTHONPATH": str(folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_every_module_is_imported(without):
    without(script=IMPORT_ALL)


def test_experiments_run_and_an_own_table_is_predicted_and_exported(without):
    printed = without(
        "run null --smoke --jobs 0",
        "run tic-tac-toe --smoke --jobs 0 --set model.peers=[]",
        "init t.csv --output own.yaml",
        "check own.yaml",
        "run own.yaml --smoke --jobs 0 --set evaluation.folds=2 --set evaluation.choose=false",
        "predict own.yaml --new new.csv --output p.csv --all-methods",
        "export own.yaml own.model --all-methods",
        "predict --model own.model --new new.csv --output again.csv",
    )
    assert printed.count("report.html") == 3


def test_what_needs_patterns_is_refused(without):
    model = "--set 'model={kind: naive-bayes}' --set 'selection={features: [3]"
    refused = without(
        "simulate votes --set data.source=plink",
        f"simulate votes {model}}}'",
        f"simulate votes {model}, order: 2}}'",
        code=2,
    )
    assert "unknown source 'plink'" in refused
    assert "features need a logistic model. Fix: set model.kind: logistic" in refused
    assert "selection.order: unknown key" in refused
