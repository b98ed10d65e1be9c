"""Scripts for sbatch from values that would rather be shell."""

import random
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from thesiskit.config import ClusterBlock, load_config
from thesiskit.errors import UserError
from thesiskit.study.slurm import array_script

PIECES = ["$(touch x)", "`touch x`", "; touch x", "&& touch x", "| touch x", "> x", "'", '"', "\\",
          " ", "  ", "#", "$HOME", "${IFS}", "*", "~", "!", "{a,b}", "--", "-p", "=", "%", "é",
          "名", "\u00a0", "a", "b c", "0"]  # fmt: skip
BREAKS = ["\n", "\r", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\t", "\v"]
STUB = """#!/bin/bash
printf '%s\\0' "$@" > made
"""


def nasty(rng: random.Random) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 6)))


@pytest.mark.parametrize("seed", range(40))
def test_values_come_back_and_nothing_else_runs(seed, tmp_path):
    rng = random.Random(seed)
    stub = tmp_path / f"stub {nasty(rng).replace('/', '')}"
    stub.write_text(STUB)
    stub.chmod(0o755)
    results = tmp_path / f"re {nasty(rng).replace('%', '')}"
    arguments = [nasty(rng) for _ in range(rng.randint(1, 5))]
    options = [f"--comment={nasty(rng)}", f"--licenses={nasty(rng)}", "--exclusive"]
    block = ClusterBlock(partition=f"a{nasty(rng)}".replace(" ", "").replace("\u00a0", ""),
                         options=options, setup=["true # a line of shell"])  # fmt: skip
    text = array_script(block, [str(stub), *arguments], 3, name="n", folder=results)
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    asked = [line.removeprefix("#SBATCH ") for line in text.splitlines() if "#SBATCH " in line]
    given = dict(one.removeprefix("--").partition("=")[::2] for one in options)
    for name, value in (given | {"partition": block.partition}).items():
        line = next(one for one in asked if one.startswith(f"--{name}"))
        assert shlex.split(line, comments=False) == [f"--{name}={value}" if value else f"--{name}"]
    folder = tmp_path / "run"
    folder.mkdir()
    environment = ["env", "-i", "PATH=/usr/bin:/bin", "SLURM_ARRAY_TASK_ID=2"]
    subprocess.run([*environment, "bash"], input=text, text=True, check=True, cwd=folder)
    assert [path.name for path in folder.iterdir()] == ["made"]
    assert (folder / "made").read_bytes().decode().split("\0")[:-1] == [
        *arguments,
        "--share",
        "2/3",
    ]


@pytest.mark.parametrize("character", BREAKS, ids=ascii)
def test_what_leaves_its_line_is_refused_twice(character, tmp_path):
    value = f"a{character}touch x"
    keys = dict.fromkeys(("partition", "memory", "time"), value)
    lists = {"options": [f"--comment={value}"], "setup": [value]}
    for key, given in (keys | lists).items():
        with pytest.raises(ValidationError, match=key):
            ClusterBlock(**{key: given})
        block = ClusterBlock.model_construct(**{key: given})
        with pytest.raises(UserError, match="remove it"):
            array_script(block, ["thesiskit"], 1, name="n", folder=tmp_path / "r")
    block = ClusterBlock()
    for command, name, folder in ((["thesiskit", value], "n", "r"), (["t"], value, "r"),
                                  (["t"], "n", value)):  # fmt: skip
        with pytest.raises(UserError, match="remove it"):
            array_script(block, command, 1, name=name, folder=Path(tmp_path) / folder)
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_passes_everything_on(tmp_path):
    """What is printed is the command that was asked for, quoted."""
    from commands import run

    folder = tmp_path / "a $(touch x) 'b'"
    folder.mkdir()
    config = folder / "c; touch x.yaml"
    config.write_text(
        "experiment: e\ntitle: T\nabout: A\nlattice: {class_counts: [9, 9], gamma: 0.3}\n"
        "report: {parts: [correlation-lattice]}\n"
    )
    title = "title=a `touch x` \"'$(touch x)"
    text = run("batch", "script", config, "--set", title, "--results", folder / "r", "--smoke")
    line = next(one for one in text.splitlines() if " batch cell " in one)
    jobs = folder / "r/e-smoke/batch/jobs"
    (kept,) = jobs.glob("*.yaml")
    assert shlex.split(line)[:-2] == [
        sys.executable, "-m", "thesiskit", "batch", "cell", str(kept),
        "--relative-to", str(folder), "--results", str(folder / "r"), "--yes", "--jobs", "1",
        "--share",
    ]  # fmt: skip
    assert load_config(kept).title == title.removeprefix("title=")
    refused = run("batch", "script", config, "--results", f"{folder}/r\ntouch x", code=2)
    assert refused.startswith("Error: ")
    assert len(refused.splitlines()) == 1


# long options of sbatch 23.11 that decide what a job writes, runs or inherits, or whether it waits
HARMFUL = """array batch chdir clusters container container-id dependency error export export-file
    get-user-env help input job-name kill-on-invalid-dep no-kill no-requeue ntasks open-mode output
    parsable partition propagate quiet requeue signal test-only time time-min uid gid usage verbose
    version wait wait-all-nodes wrap cpus-per-task mem"""


@pytest.mark.parametrize("name", HARMFUL.split())
def test_no_beginning_of_a_harmful_option_is_accepted(name):
    """sbatch reads options by getopt_long, which takes each unique beginning of a name."""
    for end in range(1, len(name) + 1):
        for option in (f"--{name[:end]}=x", f"--{name[:end]}"):
            with pytest.raises(ValidationError, match=r"use `cluster|not one of the options"):
                ClusterBlock(options=[option])
    with pytest.raises(ValidationError):
        ClusterBlock(options=[f"--{name.upper()}=x"])
