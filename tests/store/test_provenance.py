"""A digest covers the code that a kind of experiment runs, and no other."""

import os
import shutil
import subprocess
import sys

import pytest
from commands import ROOT
from small import LOGISTIC, NAIVE

from thesiskit.store.provenance import imported

NAIVE_WORK = "thesiskit.experiments.selection.naive"
LOGISTIC_WORK = "thesiskit.experiments.logistic.work"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A copy of the package with an experiment of each chapter that it has finished."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "thesiskit", root / "thesiskit")
    for name, text in (("naive", NAIVE), ("logistic", LOGISTIC)):
        (root / f"{name}.yaml").write_text(text.replace("experiment: small", f"experiment: {name}"))
    assert "already done" not in run(root, "naive") + run(root, "logistic")
    return root


def run(root, name):
    """Run an experiment by the copy, and return what it says of its stages."""
    environment = os.environ | {"PYTHONPATH": str(root), "THESISKIT_JOBS": "0"}
    command = [sys.executable, "-m", "thesiskit.cli", "run", f"{name}.yaml"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return "".join(line for line in done.stdout.splitlines() if not line.startswith("report"))


def kernel(root, name):
    (path,) = (root / "thesiskit/_kernels").glob(f"{name}.*.so")
    return path.relative_to(root)


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("thesiskit/experiments/cluster/slurm.py", ()),
        ("thesiskit/estimators/selecting.py", ()),
        ("thesiskit/report/selection/tables.py", ()),
        ("thesiskit/cli/common.py", ()),
        ("splitting", ("logistic",)),
        ("thesiskit/models/logistic/splitting.py", ("logistic",)),
        ("thesiskit/models/naive_bayes.py", ("naive",)),
        ("naive_bayes", ("naive",)),
        ("thesiskit/models/running.py", ("naive", "logistic")),
    ],
)
def test_a_change_makes_those_cells_again_that_run_the_code(finished, changed, again):
    path = finished / (changed if changed.endswith(".py") else kernel(finished, changed))
    before = path.read_bytes()
    with open(path, "ab") as file:  # a comment; at the end of a kernel it is not loaded
        file.write(b"# changed\n")
    try:
        stages = {name: run(finished, name) for name in ("naive", "logistic")}
    finally:
        path.write_bytes(before)
    made = {name for name, said in stages.items() if said.count("already done") < 4}
    assert made == set(again)
    for name in made:  # as it was, for the next one
        run(finished, name)


def test_modules_are_found_from_imports_wherever_they_stand(tmp_path):
    found = imported([NAIVE_WORK])
    assert {"thesiskit.models.naive_bayes", "thesiskit._kernels.naive_bayes"} <= found.keys()
    alien = ("logistic", "splitting", "mixture", "cluster", "report", "estimators", "cli")
    assert not [name for name in found if set(name.split(".")) & set(alien)]
    assert "thesiskit._kernels.splitting" in imported([LOGISTIC_WORK])
