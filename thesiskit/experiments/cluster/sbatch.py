"""What Slurm is asked by its commands, and what it answers."""

import os
import subprocess
import time
from collections.abc import Mapping

from thesiskit.config.cluster import ClusterBlock
from thesiskit.errors import ThesiskitError, UserError
from thesiskit.experiments.cluster.script import heading

PATIENCE = 120  # seconds for an answer
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
    if found.get("PYTHONPATH"):
        parts = found["PYTHONPATH"].split(os.pathsep)
        found["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts)
    return found


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
