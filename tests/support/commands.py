"""Commands in the tests' own process, and what they leave."""

import time
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from thesiskit.cli import main

ROOT = Path(__file__).parents[2]


def invoke(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def must_fail(result, *words, code=2):
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.output, result.output
    lines = result.output.strip().splitlines()
    assert len([line for line in lines if line.startswith("Error")]) <= 2


def arrays(path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file, and close it."""
    with np.load(path) as found:
        return dict(found)


def run(*arguments, code=0) -> str:
    """Run a command in this process, and return what it prints."""
    from click.testing import CliRunner

    from thesiskit.cli import main

    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code == code, done.output
    return done.output


def wait_for(condition, seconds=60, pause=0.01):
    """Wait until a condition holds, and return what it says."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "not in time"
        time.sleep(pause)
    return found
