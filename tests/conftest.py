import os
import re
import subprocess
from contextlib import nullcontext
from pathlib import Path

# before NumPy is loaded: workers of pytest-xdist that each take all cores stand in each other's way
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

os.environ["THESISKIT_JOBS"] = "0"  # cells in the tests' own process, unless a test says otherwise
# whose reports have pictures; in other tests they would take longer than all else
DRAWN = ("browser/test_pages.py", "pairs/test_report.py", "report/test_figures.py",
         "report/test_learning.py", "report/test_real.py", "report/test_report.py",
         "report/test_validation.py", "test_smoke.py")  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def pictures(request):
    """Draw the figures of reports in the tests that look at them, and sketch them in others."""
    from sketched import sketched

    with nullcontext() if request.path.as_posix().endswith(DRAWN) else sketched():
        yield


@pytest.fixture
def drawn():
    """Draw figures in one test of a file whose reports have sketches."""
    from sketched import drawn

    with drawn():
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20070101)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Finished experiments of every kind for tests/fuzz, each in a folder of its name."""
    from finished import finish
    from sketched import sketched

    root = tmp_path_factory.mktemp("finished")
    with sketched():
        finish(root)
    return root


@pytest.fixture(scope="session")
def browser():
    """A browser that opens pages (tests/support/browser.py), or a skip where there is none."""
    from browser import browser

    with browser() as started:
        yield started


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
