"""What Slurm is asked by its commands, and the text of the scripts that it is given."""

import os
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from thesiskit.config.cluster import ClusterBlock, control_character
from thesiskit.errors import ThesiskitError, UserError, quoted

JOBS = Path("batch") / "jobs"  # in an experiment's folder: scripts, what they read, and logs
LOG = "%A_%a.log"  # of a task, as Slurm writes its array and its number
PATIENCE = 120  # seconds for an answer
NOTICE = 120  # seconds before the time limit at which a job is told to stop
# variables that outdo the lines of a script, whose jobs could then not stop and go on
OUTDO = ["ARRAY_INX", "EXPORT", "GET_USER_ENV", "NO_REQUEUE", "OPEN_MODE"]
OUTDO += ["REQUEUE", "SIGNAL", "TIMELIMIT", "WAIT"]


def call(
    *command: str, stdin: str = "", attempts: int = 1, env: Mapping[str, str] | None = None
) -> str:
    """Return what a command of Slurm prints.

    It is asked again, after a while, where it fails: the controller may be restarting.

    Raises
    ------
    UserError: there is no such command here.
    ThesiskitError: the command's own words on why it failed.
    """
    problem = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(2**attempt)
        try:
            done = subprocess.run(
                command, input=stdin, env=env, capture_output=True, text=True, timeout=PATIENCE
            )
        except (FileNotFoundError, PermissionError):
            raise UserError(
                f"{command[0]} is not on the path, so this is no login node of a Slurm cluster; "
                "`thesiskit run CONFIG` (or --executor local) computes here, `thesiskit batch "
                "script CONFIG` prints a script to submit elsewhere"
            ) from None
        except subprocess.TimeoutExpired:
            problem = f"no answer in {PATIENCE} s"
            continue
        if done.returncode == 0:
            return done.stdout
        problem = "; ".join(done.stderr.strip().splitlines()) or f"exit {done.returncode}"
    raise ThesiskitError(f"{command[0]}: {problem}")


def environment(block: ClusterBlock) -> dict[str, str]:
    """Return the environment to submit in, which jobs inherit.

    Variables of a job that this runs in are left out, and those that would outdo what is asked
    for; paths are absolute, since a job starts in another folder.
    """
    outdo = {f"SBATCH_{name.upper().replace('-', '_')}" for name in [*OUTDO, *block.requests]}
    found = {
        name: value
        for name, value in os.environ.items()
        if name == "SLURM_CONF" or not name.startswith("SLURM_")
    }
    found = {name: value for name, value in found.items() if name not in outdo}
    for name in ("PYTHONPATH", "THESISKIT_DATA_DIR"):
        if found.get(name):
            parts = found[name].split(os.pathsep)
            found[name] = os.pathsep.join(os.path.abspath(part) for part in parts)
    return found


def notice(block: ClusterBlock) -> int:
    """Return how many seconds before the time limit a job is told to stop."""
    return min(NOTICE, block.minutes * 30)


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


def on_a_line(what: str, text: str) -> str:
    """Return a text that stays on its line of a script, or say that it does not.

    Configs are checked for this already; paths and options of commands come here.
    """
    found = control_character(text)
    if found is not None:
        raise UserError(f"{what}: {quoted(text)} has the character {quoted(found)}; remove it")
    return text


def check(block: ClusterBlock) -> None:
    """Ask Slurm whether it would take such a job.

    Raises
    ------
    UserError: there is no Slurm here, or what it says against the job.
    """
    call("sbatch", "--version")
    try:
        text = heading(block.requests) + "true\n"
        call("sbatch", "--test-only", stdin=text, env=environment(block))
    except UserError:
        raise
    except ThesiskitError as error:
        raise refused(str(error)) from None


def refused(words: str) -> ThesiskitError:
    """Return the error that passes on what Slurm says against a job."""
    if "Unable to contact slurm controller" in words:
        return ThesiskitError(f"{words}\nSlurm does not answer; nothing was submitted, try later")
    there = ""
    if "partition" in words.lower():
        names = sorted(set(call("sinfo", "--noheader", "--format=%R").split()))
        there = f" (partitions here: {', '.join(names)})"
    return UserError(
        f"Slurm refuses the job: {words}{there}\n"
        "change `cluster:` in the config, or give --partition, --time, --memory"
    )


def setup_lines(block: ClusterBlock) -> str:
    """Return the lines of shell that a job begins with."""
    return "".join(f"{on_a_line('cluster.setup', line)}\n" for line in block.setup)


SCRIPT = """\
# written by `thesiskit batch`; each task of the array makes the cells of its line of the list
{setup}
# At the time limit: stop, with a checkpoint, and go on in the queue.  (Cancelling sends TERM.)
at_limit() {{
    kill -TERM "$made"
    wait "$made"
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
trap 'kill -TERM "$made"; wait "$made"; exit 143' TERM

{command} --share "$SLURM_ARRAY_TASK_ID/{tasks}" &
made=$!
wait "$made"
"""


def script(
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
