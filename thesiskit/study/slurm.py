"""Jobs of a Slurm cluster: its commands, the script of a job array, and the queue.

What is done is said by result files alone, what waits or runs by squeue.
"""

import os
import re
import shlex
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from thesiskit.config import ClusterBlock, control_character
from thesiskit.errors import ThesiskitError, UserError, quoted
from thesiskit.files import open_regular

PATIENCE = 120  # seconds for an answer
ATTEMPTS = 5  # to ask squeue, over half a minute
# variables that outdo the lines of a script, whose jobs could then not stop and go on
OUTDO = ["ARRAY_INX", "EXPORT", "GET_USER_ENV", "NO_REQUEUE", "OPEN_MODE"]
OUTDO += ["REQUEUE", "SIGNAL", "TIMELIMIT", "WAIT"]
LOG = "%A_%a.log"  # of a task, as Slurm writes its array and its number
REQUEUES = 10  # of a job, after its time limit
NOTICE = 120  # seconds before the time limit at which a job gets a signal, if that is long enough
PER_MINUTE = 30  # seconds of notice for each minute of the time limit, at most
DEFAULT_ARRAY = "MaxArraySize = 1001"  # of Slurm

ARRAY_SCRIPT = """\
# written by `thesiskit batch`; each task of the array computes its share of the tasks
{setup}
# At the time limit: stop, with the state written, and queue again.  (Cancelling sends TERM.)
# $! is the process that computes the tasks.
at_limit() {{
    kill -TERM "$!"
    wait "$!"
    code=$?
    case $code in 0|1|2) exit $code ;; esac  # it had stopped before the signal
    if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {requeues} ]; then
        scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" ||
            echo "Slurm did not requeue it. Fix: submit again, then it goes on"
    else
        echo "requeued {requeues} times; submit again to continue"
    fi
    exit 0
}}
trap at_limit USR1
trap 'kill -TERM "$!"; wait "$!"; exit 143' TERM

{command} --share "$SLURM_ARRAY_TASK_ID/{shares}" &
wait "$!"
"""


class Refused(ThesiskitError):
    """A command of Slurm failed; the message has its own words."""


# ---- the commands of Slurm ----


def call(*command: str, attempts: int = 1, env: Mapping[str, str] | None = None) -> str:
    """Return what a command of Slurm prints.

    A command that fails is called again after a while, because the controller may be restarting.

    Raises
    ------
    UserError: there is no such command; Refused: it failed, with its words.
    """
    problem = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(2**attempt)
        try:
            process = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=PATIENCE
            )
        except (FileNotFoundError, PermissionError):
            raise UserError(
                f"{command[0]} is not on the path: this is not a login node of a Slurm cluster. "
                "Fix: compute here with `thesiskit run CONFIG`, or print a script to submit "
                "elsewhere with `thesiskit batch script CONFIG`"
            ) from None
        except subprocess.TimeoutExpired:
            problem = f"no answer in {PATIENCE} s"
            continue
        if process.returncode == 0:
            return process.stdout
        problem = "; ".join(process.stderr.strip().splitlines()) or f"exit {process.returncode}"
    raise Refused(f"{command[0]}: {problem}")


def environment(block: ClusterBlock) -> dict[str, str]:
    """Return the environment to submit in, which jobs inherit.

    Variables of a job that this runs in are left out, and those that would outdo the lines of the
    script; paths are absolute, since a job starts in another folder.
    """
    outdo = {f"SBATCH_{name.upper().replace('-', '_')}" for name in [*OUTDO, *block.requests]}
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in outdo and (name == "SLURM_CONF" or not name.startswith("SLURM_"))
    }
    if variables.get("PYTHONPATH"):
        parts = variables["PYTHONPATH"].split(os.pathsep)
        variables["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts)
    return variables


def sbatch(block: ClusterBlock, script: Path, *options: str) -> str:
    """Submit a script and return the number of its job; with --test-only nothing is submitted.

    Raises
    ------
    UserError: Slurm refuses the job, for the reason given; ThesiskitError: it does not answer.
    """
    try:
        out = call("sbatch", "--parsable", *options, str(script), env=environment(block))
        return out.strip().partition(";")[0]
    except Refused as error:
        words = str(error)
    if "Unable to contact slurm controller" in words:
        raise ThesiskitError(
            f"{words}\nSlurm does not answer, and nothing was submitted. Fix: try again later"
        )
    partitions = ""
    if "partition" in words.lower():
        names = sorted(set(call("sinfo", "--noheader", "--format=%R").split()))
        partitions = f" (partitions here: {', '.join(names)})"
    raise UserError(
        f"Slurm refuses the job: {words}{partitions}\n"
        "Fix: change `cluster:` in the config, or add --set cluster.KEY=VALUE"
    )


def most_tasks() -> int:
    """Return the largest number of tasks that an array may have; Slurm's default if unknown."""
    try:
        settings = call("scontrol", "show", "config")
    except Refused:  # some sites do not show them to users
        settings = DEFAULT_ARRAY
    limit = re.search(r"MaxArraySize\s*=\s*(\d+)", settings)
    # Slurm counts the tasks of an array from 0, the script from 1
    return max(1, int(limit[1]) - 1) if limit else 1


class Job(NamedTuple):
    """A job of the user that waits or runs."""

    id: str  # of a task of an array: ARRAY_TASK
    state: str  # in Slurm's words; of a job that waits with the reason: PENDING (Priority)
    folder: str  # where it runs


def queue() -> list[Job]:
    """Return the jobs of this user that have not ended; ThesiskitError without an answer."""
    options = ("--noheader", "--array", f"--user={os.getuid()}", "--format=%i|%T|%r|%Z")
    try:
        out = call("squeue", *options, attempts=ATTEMPTS)
    except Refused as error:
        raise ThesiskitError(
            f"{error}\nSlurm does not answer; jobs continue. Fix: try again later"
        ) from None
    jobs = []
    for line in out.splitlines():
        number, state, reason, folder = line.split("|", 3)
        waits = f"{state} ({reason})" if state == "PENDING" else state
        jobs.append(Job(number, waits, folder))
    return jobs


# ---- the script of a job array: how it stops at its time limit and is requeued ----


def array_script(
    block: ClusterBlock,
    command: Sequence[str],
    shares: int,
    *,
    name: str,
    folder: Path,
    tasks: Sequence[int] | None = None,
) -> str:
    """Return the text of an sbatch script.

    command : makes cells, and takes `--share I/N`; its paths should be absolute.
    shares : N, the number of shares of the cells.
    name : of the job.
    folder : where the jobs run, and write their logs.
    tasks : the shares that the array makes, ascending, from 1. Default: all.
    """
    array = ranges(range(1, shares + 1) if tasks is None else tasks)
    options: dict[str, str | bool] = block.requests | {
        "job-name": name,
        "array": f"{array}%{block.array}",
        "chdir": str(folder),
        "output": str(folder / LOG),
        "open-mode": "append",
        "signal": f"B:USR1@{min(NOTICE, block.minutes * PER_MINUTE)}",
        "requeue": True,
        "export": "ALL",
    }
    lines = ["#!/bin/bash"]
    for option, value in options.items():
        argument = "" if value is True else f"={shlex.quote(on_a_line(option, str(value)))}"
        lines.append(f"#SBATCH --{option}{argument}")
    setup = "".join(f"{on_a_line('cluster.setup', line)}\n" for line in block.setup)
    words = shlex.join(on_a_line("an argument", part) for part in command)
    body = ARRAY_SCRIPT.format(setup=setup, command=words, shares=shares, requeues=REQUEUES)
    return "\n".join(lines) + "\n" + body


def ranges(numbers: Sequence[int]) -> str:
    """Write ascending numbers as Slurm does: 1-3,7."""
    parts = []
    for _, pairs in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in pairs]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(parts)


def on_a_line(what: str, text: str) -> str:
    """Return a text that stays on its line of a script; raise UserError for others."""
    character = control_character(text)
    if character is not None:
        raise UserError(f"{what}: {quoted(text)} has {quoted(character)}. Fix: remove it")
    return text


def log_end(path: Path, lines: int = 5) -> list[str]:
    """Return the last lines of a job's log; none if it cannot be read."""
    try:
        with open_regular(path) as file:
            last = deque((line for line in file if line.strip()), maxlen=lines)
    except OSError:
        return []
    return [line.decode(errors="replace").rstrip() for line in last]
