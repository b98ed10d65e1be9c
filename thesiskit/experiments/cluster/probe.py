"""A job of seconds that says whether compute nodes see the results folder and have our Python."""

import os
import re
import secrets
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thesiskit.config.cluster import ClusterBlock
from thesiskit.errors import ResultsError, ThesiskitError, UserError
from thesiskit.experiments.cluster import sbatch
from thesiskit.experiments.cluster.script import heading, on_a_line, setup_lines
from thesiskit.files import create

TIMEOUT = 300.0  # seconds for the job to start and answer
LAG = 60.0  # seconds until a file that another host wrote must be seen
SKEW = 60.0  # seconds that clocks may differ without a word
UNSEEN, UNWRITABLE = 11, 12  # exit codes

# The submitter's file may come late too, over a network file system.
SCRIPT = """\
cd {folder} || exit {unseen}
for _ in $(seq {tries}); do
    [ "$(cat {ask} 2> /dev/null)" = {token} ] && seen=1 && break
    sleep 0.5
done
[ -n "$seen" ] || exit {unseen}
{{ hostname && date +%s; }} > {answer}.part || exit {unwritable}
{python} -c 'import thesiskit.experiments.cluster.slurm' 2>> {answer}.part
mv {answer}.part {answer} || exit {unwritable}
"""


@dataclass(frozen=True)
class Probe:
    """What a probe found: the host it ran on, and by how many seconds its clock differs."""

    host: str
    skew: int

    @property
    def warning(self) -> str | None:
        """A sentence about clocks that differ much."""
        if abs(self.skew) <= SKEW:
            return None
        ahead = "ahead of" if self.skew > 0 else "behind"
        return (
            f"the clock of {self.host} is {abs(self.skew)} s {ahead} this one: results are not "
            "affected, but times of files mislead make, and you"
        )


def probe(
    folder: Path, block: ClusterBlock, *, timeout: float = TIMEOUT, lag: float = LAG
) -> Probe:
    """Write a file into an experiment's folder, and let a job read it and write another.

    Raises
    ------
    UserError: what is wrong, on which host: the folder is not there, cannot be written, or is not
        the same; Python cannot import thesiskit; or no job started in time.
    ResultsError: the folder cannot be written here.
    """
    folder = Path(folder).absolute() / "batch"
    token = secrets.token_hex(8)
    ask, answer = folder / f".probe-{token}.ask", folder / f".probe-{token}.answer"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with create(ask) as file:
            file.write(token.encode())
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error.strerror}") from None
    before = time.time()
    job = _submit(block, folder, ask, answer, token, lag)
    try:
        _wait(job, answer, timeout)
        host, date, *problems = _answer(job, answer, folder, lag)
    finally:
        sbatch.call("scancel", "--quiet", job)
        for path in (ask, answer, answer.with_name(answer.name + ".part")):
            path.unlink(missing_ok=True)
    if problems:
        raise UserError(
            f"on {host}, {sys.executable} cannot import thesiskit: {problems[-1]}\n"
            "install it where all hosts see it, or say in cluster.setup what makes it found"
        )
    # the job's clock was read between two readings of ours
    early, late = int(date) + 1 - before, int(date) - time.time()
    return Probe(host, round(min(early, 0) or max(late, 0)))


def _submit(
    block: ClusterBlock, folder: Path, ask: Path, answer: Path, token: str, lag: float
) -> str:
    requests = block.requests | {
        "job-name": "thesiskit-probe",
        "time": str(min(block.minutes, 5)),
        "chdir": "/",
        "output": "/dev/null",  # Slurm drops a job whose output it cannot open
    }
    body = SCRIPT.format(
        folder=shlex.quote(on_a_line("--results", str(folder))),
        ask=ask.name,
        answer=answer.name,
        token=token,
        tries=round(2 * lag),
        python=shlex.quote(sys.executable),
        unseen=UNSEEN,
        unwritable=UNWRITABLE,
    )
    text = heading(requests) + setup_lines(block) + body
    try:
        out = sbatch.call("sbatch", "--parsable", stdin=text, env=sbatch.environment(block))
    except UserError:
        raise
    except ThesiskitError as error:
        raise sbatch.refused(str(error)) from None
    return out.strip().partition(";")[0]


def _shown(job: str) -> dict[str, str]:
    """Return what Slurm knows of a job that runs or ended lately."""
    try:
        text = sbatch.call("scontrol", "show", "job", job)
    except UserError:
        raise
    except ThesiskitError:
        return {}
    return dict(re.findall(r"(\w+)=(\S*)", text))


def _wait(job: str, answer: Path, timeout: float) -> None:
    """Wait until a job has answered or ended."""
    started = time.monotonic()
    while not _there(answer):
        shown = _shown(job)
        state = shown.get("JobState", "")
        if state not in ("PENDING", "CONFIGURING", "RUNNING"):
            return
        if time.monotonic() - started > timeout:
            reason = f", {shown['Reason']}" if state == "PENDING" else ""
            raise UserError(
                f"the probe job has not answered in {timeout:.0f} s ({state.lower()}{reason}): "
                "the queue is busy; --no-probe submits without it"
            )
        time.sleep(1.0 if time.monotonic() - started > 5 else 0.2)


def _there(path: Path) -> bool:
    # listing the folder makes network file systems look again
    return path.name in os.listdir(path.parent)


def _answer(job: str, answer: Path, folder: Path, lag: float) -> Sequence[str]:
    """Return the lines that a job wrote, or say why there are none."""
    shown = {} if _there(answer) else _shown(job)
    host = shown.get("BatchHost", "the compute node")
    code = shown.get("ExitCode", "0:0")
    problems = {
        f"{UNSEEN}:0": f"{host} does not see {folder}, or not the files written here",
        f"{UNWRITABLE}:0": f"{host} cannot write in {folder}",
    }
    shared = "; choose with --results a folder that all hosts share"
    if code in problems:
        raise UserError(problems[code] + shared)
    if code != "0:0":
        raise UserError(
            f"the probe job failed on {host} (exit code {code}) before it could look at {folder}; "
            "check cluster.setup and cluster.options"
        )
    started = time.monotonic()
    while not _there(answer):
        if time.monotonic() - started > lag:
            raise UserError(f"what {host} writes in {folder} is not seen here" + shared)
        time.sleep(0.5)
    return answer.read_text().splitlines()
