import os
import re
import subprocess
from pathlib import Path

# before NumPy is loaded: workers of pytest-xdist that each take all cores stand in each other's way
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

os.environ["THESISKIT_JOBS"] = "0"  # cells in the tests' own process, unless a test says otherwise


@pytest.fixture
def rng():
    return np.random.default_rng(20070101)


@pytest.fixture(scope="session")
def colon_file():
    """The colon file, or a skip where it cannot be had."""
    from thesiskit.datasets import gene_expression
    from thesiskit.errors import DataError

    try:
        return gene_expression.fetch(gene_expression.COLON)
    except DataError:
        if os.environ.get("THESISKIT_DATA_DIR"):
            raise
        pytest.skip("the colon data are not here and cannot be fetched")


@pytest.fixture(scope="session")
def splice_file():
    """The splice junctions, or a skip where they cannot be had."""
    from thesiskit.datasets import public_tables
    from thesiskit.errors import DataError

    try:
        public_tables.splice()
    except DataError:
        if os.environ.get("THESISKIT_DATA_DIR"):
            raise
        pytest.skip("the splice junctions are not here and cannot be fetched")


@pytest.fixture
def votes_file(monkeypatch, tmp_path, rng):
    """A table in the form of the votes, which cannot be had everywhere."""
    import pandas as pd

    party = rng.choice(["democrat", "republican"], 120)
    agrees = rng.random((120, 16)) < 0.75
    vote = np.where((party == "democrat")[:, None] == agrees, "y", "n").astype(object)
    vote[rng.random((120, 16)) < 0.05] = "?"
    frame = pd.DataFrame(vote, columns=[f"vote-{j}" for j in range(16)])
    frame.insert(0, "y", party)
    frame.to_csv(tmp_path / "votes.csv.gz", index=False)
    monkeypatch.setenv("THESISKIT_DATA_DIR", str(tmp_path))


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """No data folder, an empty cache, and no network."""
    monkeypatch.delenv("THESISKIT_DATA_DIR", raising=False)
    monkeypatch.setattr("thesiskit.datasets.gene_expression.cache_folder", lambda: tmp_path / "c")

    def fail(*_):
        raise ConnectionError("no network")

    monkeypatch.setattr("thesiskit.datasets.gene_expression._download", fail)
    return tmp_path / "c"


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Finished experiments of every kind for tests/fuzz, each in a folder of its name."""
    from finished import finish

    root = tmp_path_factory.mktemp("finished")
    finish(root)
    return root


@pytest.fixture(scope="session")
def slurm():
    """The folder of the one-node Slurm of tests/slurm_node/run.sh, or a skip where it is not up."""
    try:
        config = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no Slurm: run `make cluster-test`")
    if not re.search(r"^ClusterName += thesiskit$", config.stdout, re.MULTILINE):
        pytest.skip("not the Slurm of the tests: run `make cluster-test`")
    return Path(re.search(r"^SlurmctldPidFile += (.*)$", config.stdout, re.MULTILINE)[1]).parent


def pytest_terminal_summary(terminalreporter):
    """Print what the fuzzers of tests/fuzz counted."""
    for kind in ("passed", "failed"):
        for report in terminalreporter.stats.get(kind, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == "counts":
                    terminalreporter.write_line(f"fuzzed {value}")
