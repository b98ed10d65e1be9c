"""The script of a job array: what it asks for, how it stops at its time limit and is requeued."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from thesiskit.config.cluster import ClusterBlock, control_character
from thesiskit.errors import UserError, quoted

JOBS = Path("batch") / "jobs"  # in an experiment's folder: scripts, what they read, and logs
LOG = "%A_%a.log"  # of a task, as Slurm writes its array and its number
NOTICE = 120  # seconds before the time limit at which a job is told to stop

SCRIPT = """\
# written by `thesiskit batch`; each task of the array makes the cells of its line of the list
{setup}
# At the time limit: stop, with the state written, and go on in the queue.  (Cancelling sends TERM.)
# $! is the process that makes the cells; it is known as soon as that runs.
at_limit() {{
    kill -TERM "$!"
    wait "$!"
    code=$?
    case $code in 0|1|2) exit $code ;; esac  # it had ended before it was told
    if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {requeues} ]; then
        scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
    else
        echo "requeued {requeues} times, as cluster.requeues allows; submit again to go on"
    fi
    exit 0
}}
trap at_limit USR1
trap 'kill -TERM "$!"; wait "$!"; exit 143' TERM

{command} --share "$SLURM_ARRAY_TASK_ID/{tasks}" &
wait "$!"
"""


def array_script(
    block: ClusterBlock,
    command: Sequence[str],
    tasks: int,
    *,
    name: str,
    folder: Path,
    width: int | None = None,
    after: Sequence[str] = (),
) -> str:
    """Return the text of an sbatch script.

    Parameters
    ----------
    command : makes cells, and takes `--share I/N`; its paths should be absolute.
    tasks : N, the tasks of the array.
    name : of the job.
    folder : where the jobs run, and write their logs.
    width : most tasks at once, unless `cluster.array`.
    after : jobs that must have ended before.
    """
    requests = block.requests | {
        "job-name": name,
        "array": f"1-{tasks}%{width or block.array}",
        "chdir": str(folder),
        "output": str(folder / LOG),
        "open-mode": "append",
        "signal": f"B:USR1@{notice(block)}",
        "requeue": True,
        "export": "ALL",
    }
    if after:
        requests["dependency"] = ":".join(["afterany", *after])
    body = SCRIPT.format(
        setup=setup_lines(block),
        requeues=block.requeues,
        command=shlex.join(on_a_line("an argument", part) for part in command),
        tasks=tasks,
    )
    return heading(requests) + body


def heading(requests: Mapping[str, str | bool]) -> str:
    """Return the first lines of a script that asks for something.

    Raises
    ------
    UserError: a value would leave its line.
    """
    lines = ["#!/bin/bash"]
    for name, value in requests.items():
        quoted = "" if value is True else f"={shlex.quote(on_a_line(name, str(value)))}"
        lines.append(f"#SBATCH --{name}{quoted}")
    return "\n".join(lines) + "\n"


def notice(block: ClusterBlock) -> int:
    """Return how many seconds before the time limit a job is told to stop."""
    return min(NOTICE, block.minutes * 30)


def on_a_line(what: str, text: str) -> str:
    """Return a text that stays on its line of a script, or say that it does not.

    Configs are checked for this already; paths and options of commands come here.
    """
    found = control_character(text)
    if found is not None:
        raise UserError(f"{what}: {quoted(text)} has the character {quoted(found)}; remove it")
    return text


def setup_lines(block: ClusterBlock) -> str:
    """Return the lines of shell that a job begins with."""
    return "".join(f"{on_a_line('cluster.setup', line)}\n" for line in block.setup)
