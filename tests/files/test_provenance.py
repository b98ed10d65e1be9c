"""A digest covers the code that a kind of experiment runs, and no other."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from commands import ROOT
from small import LOGISTIC, NAIVE

from thesiskit.files import imported

NAIVE_WORK = "thesiskit.study.selecting"
LOGISTIC_WORK = "thesiskit.study.patterns"
KINDS = {
    "naive": NAIVE.replace("[methods]", "[timing-table]").replace("replicates: 4", "replicates: 2"),
    "logistic": LOGISTIC.replace("[orders, chain-table]", "[timing-table]"),
}  # without figures


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A copy of the package with an experiment of each chapter that it has finished."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "thesiskit", root / "thesiskit")
    for name, text in KINDS.items():
        (root / f"{name}.yaml").write_text(text.replace("experiment: small", f"experiment: {name}"))
    assert made(root) == set(KINDS)
    shutil.copytree(root / "results", root / "kept")
    return root


def made(root):
    """Run the experiments by the copy, and return of which it has made any stage."""
    environment = os.environ | {"PYTHONPATH": str(root), "THESISKIT_JOBS": "0"}
    configs = [f"{name}.yaml" for name in KINDS]
    command = [sys.executable, "-m", "thesiskit", "run", *configs]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stages = re.findall(r"^(?!report).*/(\w+)/\w+ \((.*)\)$", done.stdout, re.MULTILINE)
    assert len(stages) == 8
    return {name for name, state in stages if state != "already done"}


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        (
            [
                "study/slurm.py",
                "estimators/selecting.py",
                "report/scores.py",
                "cli/console.py",
            ],
            set(),
        ),
        (["_kernels/splitting.*.so"], {"logistic"}),
        (["models/naive_bayes.py"], {"naive"}),
        pytest.param(["models/splitting.py"], {"logistic"}, marks=pytest.mark.slow),
        pytest.param(["_kernels/naive_bayes.*.so"], {"naive"}, marks=pytest.mark.slow),
        pytest.param(["models/chains.py"], {"naive", "logistic"}, marks=pytest.mark.slow),
    ],
)
def test_a_change_makes_those_cells_again_that_run_the_code(finished, changed, again):
    before = {}
    for pattern in changed:
        (path,) = (finished / "thesiskit").glob(pattern)
        before[path] = path.read_bytes()
        with open(path, "ab") as file:  # a comment; at the end of a kernel it is not loaded
            file.write(b"# changed\n")
    try:
        assert made(finished) == again
    finally:
        for path, content in before.items():
            path.write_bytes(content)
        shutil.rmtree(finished / "results")
        shutil.copytree(finished / "kept", finished / "results")


def test_modules_are_found_from_imports_wherever_they_stand(tmp_path):
    found = imported([NAIVE_WORK, "thesiskit.models.naive_bayes"])  # the model of the config
    assert {"thesiskit.models.naive_bayes", "thesiskit._kernels.naive_bayes"} <= found.keys()
    alien = ("logistic", "splitting", "mixture", "cluster", "report", "estimators", "cli")
    assert not [name for name in found if set(name.split(".")) & set(alien)]
    assert "thesiskit._kernels.splitting" in imported([LOGISTIC_WORK, "thesiskit.models.logistic"])


def test_code_of_another_package_is_its_module_alone(tmp_path, monkeypatch):
    """Its name may begin as ours does, and it may lie in a folder without an __init__."""
    (tmp_path / "thesiskit_more").mkdir()
    path = tmp_path / "thesiskit_more/tables.py"
    path.write_text("from thesiskit.datasets.source import Source\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = imported(["thesiskit_more.tables"])
    assert found["thesiskit_more.tables"] == path
    assert "thesiskit.datasets.source" in found
    assert "thesiskit_more" not in found
