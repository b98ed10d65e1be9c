"""Commands in the tests' own process, and what they leave."""

import os
import textwrap
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


def patched(folder: Path, text: str) -> dict[str, str]:
    """Return an environment in which every Python process begins with some lines.

    That reaches the child processes of a command, too, which inherit nothing else from it.
    """
    folder.mkdir(exist_ok=True)
    text = textwrap.indent(text, "    ")  # not for the process that cleans up after all others
    (folder / "sitecustomize.py").write_text(
        f"import sys\nif not any('resource_tracker' in one for one in sys.orig_argv):\n{text}"
    )
    paths = [str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def wait_for(condition, seconds=60, pause=0.01):
    """Wait until a condition holds, and return what it says."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "not in time"
        time.sleep(pause)
    return found
