"""What Slurm is asked by its commands, and scripts for sites where Python may not submit."""

import os
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from thesiskit.config.cluster import ClusterBlock, control_character
from thesiskit.errors import ThesiskitError, UserError, quoted

JOBS = Path("batch") / "jobs"  # in an experiment's folder: scripts, pickles and logs
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
                f"{command[0]} is not on the path: is this the login node of a Slurm cluster? "
                "`thesiskit batch script CONFIG` prints a script to submit elsewhere"
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
        if name == "SLURM_CONF" or not name.startswith(("SLURM_", "SUBMITIT_"))
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
    call("squeue", "--version")
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
{setup}
# At the time limit: stop, with a checkpoint, and go on in the queue.  (Cancelling sends TERM.)
at_limit() {{
    kill -TERM "$made"
    wait "$made"
    if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {requeues} ]; then
        scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
    fi
    exit 0
}}
trap at_limit USR1
trap 'kill -TERM "$made"; wait "$made"; exit 143' TERM

{command} --share "$SLURM_ARRAY_TASK_ID/{shares}" &
made=$!
wait "$made"
"""


def script(
    block: ClusterBlock, command: Sequence[str], shares: int, *, name: str, folder: Path
) -> str:
    """Return the text of a plain sbatch script, and make the folder of its logs.

    Parameters
    ----------
    command : makes cells, and takes `--share I/N`; its paths should be absolute.
    shares : N, the tasks of the array.
    name : of the job.
    folder : of the experiment's results.
    """
    logs = Path(folder).absolute() / JOBS
    requests = block.requests | {
        "job-name": name,
        "array": f"1-{shares}%{block.array}",
        "chdir": str(logs),
        "output": str(logs / "%A_%a.log"),
        "open-mode": "append",
        "signal": f"B:USR1@{notice(block)}",
        "requeue": True,
    }
    body = SCRIPT.format(
        setup=setup_lines(block),
        requeues=block.requeues,
        command=shlex.join(on_a_line("an argument", part) for part in command),
        shares=shares,
    )
    text = heading(requests) + body
    logs.mkdir(parents=True, exist_ok=True)
    return text
