"""Jobs of a Slurm cluster: its commands, the script of a job array, what was submitted, a probe.

An array is a plain script for sbatch and a list of cells, a line for each task, in batch/jobs
below the results.  What is done is said by result files alone, what is alive by squeue.
"""

import errno
import os
import re
import secrets
import shlex
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from thesiskit.config import ClusterBlock, control_character
from thesiskit.errors import ResultsError, ThesiskitError, UserError, quoted
from thesiskit.files import create, now, open_regular, read_record, read_text, write_record

PATIENCE = 120  # seconds for an answer
ATTEMPTS = 5  # to ask squeue, over half a minute
# variables that outdo the lines of a script, whose jobs could then not stop and go on
OUTDO = ["ARRAY_INX", "EXPORT", "GET_USER_ENV", "NO_REQUEUE", "OPEN_MODE"]
OUTDO += ["REQUEUE", "SIGNAL", "TIMELIMIT", "WAIT"]
GONE = "GONE"  # the state of a job that is neither waiting nor running
JOBS = Path("batch") / "jobs"  # in an experiment's folder: scripts, what they read, and logs
LOG = "%A_%a.log"  # of a task, as Slurm writes its array and its number
LOG_END = 16_384  # bytes of a log that are looked at
NOTICE = 120  # seconds before the time limit at which a job is told to stop
TIMEOUT = 300.0  # seconds for the probe job to start and answer
LAG = 60.0  # seconds until a file that another host wrote must be seen
SKEW = 60.0  # seconds that clocks may differ without a word
UNSEEN, UNWRITABLE = 11, 12  # exit codes of the probe job

ARRAY_SCRIPT = """\
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

# The submitter's file may come late too, over a network file system.
PROBE_SCRIPT = """\
{setup}cd {folder} || exit {unseen}
for _ in $(seq {tries}); do
    [ "$(cat {ask} 2> /dev/null)" = {token} ] && seen=1 && break
    sleep 0.5
done
[ -n "$seen" ] || exit {unseen}
{{ hostname && date +%s; }} > {answer}.part || exit {unwritable}
{python} -c 'import thesiskit.study.slurm' 2>> {answer}.part
mv {answer}.part {answer} || exit {unwritable}
"""
Entry = dict[str, Any]  # of what was submitted


class Refused(ThesiskitError):
    """A command of Slurm failed; the message has its own words."""


# ---- the commands of Slurm ----


def call(
    *command: str, stdin: str = "", attempts: int = 1, env: Mapping[str, str] | None = None
) -> str:
    """Return what a command of Slurm prints; raise UserError where there is no such command.

    It is asked again, after a while, where it fails, and at last Refused is raised with its words:
    the controller may be restarting.
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
    raise Refused(f"{command[0]}: {problem}")


def environment(block: ClusterBlock) -> dict[str, str]:
    """Return the environment to submit in, which jobs inherit.

    Variables of a job that this runs in are left out, and those that would outdo what is asked
    for; paths are absolute, since a job starts in another folder.
    """
    outdo = {f"SBATCH_{name.upper().replace('-', '_')}" for name in [*OUTDO, *block.requests]}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in outdo and (name == "SLURM_CONF" or not name.startswith("SLURM_"))
    }
    if kept.get("PYTHONPATH"):
        parts = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts)
    return kept


def sbatch(block: ClusterBlock, *arguments: str, stdin: str = "") -> str:
    """Give a script to sbatch, and return the job.

    Raises UserError with what Slurm says against the job, ThesiskitError where it does not answer.
    """
    try:
        out = call("sbatch", *arguments, stdin=stdin, env=environment(block))
        return out.strip().partition(";")[0]
    except Refused as error:
        words = str(error)
    if "Unable to contact slurm controller" in words:
        raise ThesiskitError(f"{words}\nSlurm does not answer; nothing was submitted, try later")
    there = ""
    if "partition" in words.lower():
        names = sorted(set(call("sinfo", "--noheader", "--format=%R").split()))
        there = f" (partitions here: {', '.join(names)})"
    raise UserError(
        f"Slurm refuses the job: {words}{there}\n"
        "change `cluster:` in the config, or give --partition, --time, --memory"
    )


def _queue(ids: Sequence[str]) -> dict[str, str]:
    """Return the states of the jobs that have not ended, of all arrays that `ids` are of."""
    arrays = sorted({job.partition("_")[0] for job in ids})
    if not arrays:
        return {}
    command = ["squeue", "--noheader", "--array", "--format=%i|%T|%r", f"--jobs={','.join(arrays)}"]
    try:
        lines = call(*command, attempts=ATTEMPTS).splitlines()
    except Refused as error:
        if "Invalid job id" in str(error):  # a lone one, forgotten since
            return {}
        raise ThesiskitError(
            f"{error}\nSlurm does not answer; jobs are not touched, ask again later"
        ) from None
    states = {}
    for line in lines:
        job, state, reason = line.split("|", 2)
        states[job] = f"{state} ({reason})" if state == "PENDING" else state
    return states


# ---- the script of a job array: how it stops at its time limit and is requeued ----


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

    command : makes cells, and takes `--share I/N`; its paths should be absolute.
    tasks : N, the tasks of the array.
    name : of the job.
    folder : where the jobs run, and write their logs.
    width : most tasks at once, unless `cluster.array`.
    after : jobs that must have ended before.
    """
    more: dict[str, str | bool] = {
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
        more["dependency"] = ":".join(["afterany", *after])
    words = shlex.join(on_a_line("an argument", part) for part in command)
    values = {"requeues": block.requeues, "command": words, "tasks": tasks}
    return _script(block, ARRAY_SCRIPT, more, **values)


def _script(block: ClusterBlock, body: str, more: dict[str, str | bool], **values: Any) -> str:
    """Return a script that asks for what the block does, and for more."""
    lines = ["#!/bin/bash"]
    for name, value in (block.requests | more).items():
        given = "" if value is True else f"={shlex.quote(on_a_line(name, str(value)))}"
        lines.append(f"#SBATCH --{name}{given}")
    setup = "".join(f"{on_a_line('cluster.setup', line)}\n" for line in block.setup)
    return "\n".join(lines) + "\n" + body.format(setup=setup, **values)


def notice(block: ClusterBlock) -> int:
    """Return how many seconds before the time limit a job is told to stop."""
    return min(NOTICE, block.minutes * 30)


def on_a_line(what: str, text: str) -> str:
    """Return a text that stays on its line of a script, or say that it does not.

    Configs are checked for this already; paths and options of commands come here.
    """
    character = control_character(text)
    if character is not None:
        raise UserError(f"{what}: {quoted(text)} has the character {quoted(character)}; remove it")
    return text


# ---- what was submitted: batch/submissions.json, one entry an array ----
#
# It says which jobs to ask Slurm about.  It never says what is done: result files do.


def submissions(folder: Path, say: Callable[[str], object] = warnings.warn) -> list[Entry]:
    """Return the entries of an experiment's folder, oldest first.

    A damaged file is set aside, and `say` told so: jobs of it may run, but do no harm.
    """
    path = Path(folder) / "batch" / "submissions.json"
    record = read_record(path)
    if record is not None:
        return record["arrays"]
    if not os.path.lexists(path):
        return []
    aside = next(p for n in range(10**6) if not (p := path.with_suffix(f".damaged-{n}")).exists())
    os.replace(path, aside)
    say(
        f"{path} was damaged and is now {aside.name}; what was submitted before is not known "
        "(squeue shows jobs that still run), what is done is"
    )
    return []


def append(folder: Path, entry: Entry) -> None:
    """Add an entry; it needs `ids`, a list of jobs."""
    entries = [*submissions(folder), entry]
    write_record(Path(folder) / "batch" / "submissions.json", {"arrays": entries})


# ---- the jobs of an experiment ----


def _create(path: Path, text: str, folder: Path | None = None) -> None:
    """Write a file that is not there yet, which else is a FileExistsError.

    folder : of which an error says that it cannot be written, unless it is the path.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with create(path) as file:
            file.write(text.encode())
    except OSError as error:
        if error.errno == errno.EEXIST and os.path.lexists(path):
            raise
        raise ResultsError(f"{folder or path}: cannot be written: {error.strerror}") from None


class Slurm:
    """The jobs of one experiment, whose results are in `folder`."""

    def __init__(self, folder: Path, block: ClusterBlock):
        self.folder = Path(folder).absolute()
        self.block = block
        self.jobs = self.folder / JOBS
        on_a_line("--results", str(self.folder))
        if "%" in str(self.folder):
            raise UserError(f"{self.folder}: Slurm takes no path with a % in it; use --results")

    def check(self) -> None:
        """Raise UserError where Slurm is not here, or refuses such jobs."""
        call("sbatch", "--version")
        sbatch(self.block, "--test-only", stdin=_script(self.block, "true\n", {}))

    def keep(self, config: str) -> Path:
        """Write the config that jobs are to read, to a file of their own; return its path.

        Its number is that of the submission, which no other has.
        """
        for number in count(1):
            path = self.jobs / f"{number:04d}.yaml"
            with suppress(FileExistsError):
                _create(path, config)
                break
        return path

    def write(
        self,
        stem: str,
        jobs: Sequence[Sequence[str]],
        command: Sequence[str],
        name: str,
        width: int | None = None,
        after: Sequence[str] = (),
    ) -> Path:
        """Write a script and its list of cells, which are not there yet; return the script's path.

        jobs : the ids of the cells of each.
        command : makes cells, and takes `--cells LIST --share I/N`.
        """
        script, cells = self.jobs / f"{stem}.sh", self.jobs / f"{stem}.cells"
        command = [*command, "--cells", str(cells)]
        text = array_script(
            self.block, command, len(jobs), name=name, folder=self.jobs, width=width, after=after
        )
        _create(cells, "".join(f"{' '.join(ids)}\n" for ids in jobs))
        _create(script, text)
        return script

    def submit(
        self,
        stem: str,
        jobs: Sequence[Sequence[str]],
        command: Sequence[str],
        name: str,
        after: Sequence[str] = (),
        **note: object,
    ) -> list[str]:
        """Submit job arrays, and return the id of each job, in order.

        An array is no longer than the cluster allows, and all of them together run no more than
        `cluster.array` jobs at once.  No job starts before those of `after` have ended.  Each
        array is recorded, with the `note`, as soon as Slurm has it: see `submissions`.

        stem, jobs, command : as of `write`.
        """
        limit = re.search(r"MaxArraySize\s*=\s*(\d+)", call("scontrol", "show", "config"))
        # Slurm counts the tasks of an array from 0, we from 1
        arrays = split(len(jobs), max(1, int(limit[1]) - 1) if limit else 1)
        lanes = min(len(arrays), self.block.array)  # of arrays that wait for each other
        ends: list[Sequence[str]] = [self._alive(after)] * lanes
        submitted: list[str] = []
        for number, array in enumerate(arrays):
            lane = number % lanes
            width = self.block.array // lanes + (lane < self.block.array % lanes)
            cells = [jobs[i] for i in array]
            script = self.write(f"{stem}-{number + 1}", cells, command, name, width, ends[lane])
            try:
                job = sbatch(self.block, "--parsable", str(script))
            except ThesiskitError:  # what is refused is not kept
                for path in (script, script.with_suffix(".cells")):
                    path.unlink(missing_ok=True)
                raise
            ends[lane] = [job]
            ids = [f"{job}_{task}" for task in range(1, len(cells) + 1)]
            entry = {
                "ids": ids,
                "name": name,
                "cells": sum(map(len, cells)),
                "script": script.stem,
                "when": now(),
                "partition": self.block.partition,
            }
            append(self.folder, entry | note)
            submitted += ids
        return submitted

    def states(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the state of jobs in Slurm's words, GONE of those that have ended.

        A job that waits has the reason in brackets: PENDING (Priority).
        """
        known = _queue(ids)
        return {job: known.get(job, GONE) for job in ids}

    def _alive(self, ids: Sequence[str]) -> list[str]:
        """Return those of some jobs, or arrays, that have not ended."""
        known = _queue(ids)
        return [job for job in ids if job in known or any(k.startswith(f"{job}_") for k in known)]

    def cancel(self, ids: Sequence[str]) -> list[str]:
        """Cancel jobs, or arrays of them; return those that had not ended."""
        alive = self._alive(ids)
        for start in range(0, len(alive), 1000):
            call("scancel", *alive[start : start + 1000], attempts=ATTEMPTS)
        return alive

    def cells(self, entries: Sequence[Entry]) -> Mapping[str, Sequence[str]]:
        """Return the ids of the cells of each job of submissions, none where they are not known."""
        cells: dict[str, Sequence[str]] = {}
        for entry in entries:
            try:
                lines = read_cells(self.jobs / f"{entry.get('script')}.cells")
            except ThesiskitError:
                continue
            cells |= dict(zip(entry["ids"], lines, strict=False))
        return cells

    def tail(self, job: str, lines: int = 5) -> list[str]:
        """Return the last lines that a job wrote."""
        array, _, task = job.partition("_")
        path = self.jobs / LOG.replace("%A", array).replace("%a", task)
        try:
            with open_regular(path) as file:
                file.seek(max(0, path.stat().st_size - LOG_END))
                written = file.read().decode(errors="replace").split("\n")
        except OSError:
            return []
        return [line.rstrip() for line in written if line.strip()][-lines:]


def read_cells(path: Path) -> list[list[str]]:
    """Return the ids of the cells of each job of a list; UserError if it cannot be read."""
    try:
        return [line.split() for line in read_text(path).splitlines()]
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; submit again") from None
    except ValueError:
        raise UserError(f"{path}: is damaged; submit again") from None


def split(jobs: int, most: int) -> list[range]:
    """Return as few ranges as can be, about equal, that are no longer than `most`."""
    n = -(-jobs // most)
    return [range(jobs * i // n, jobs * (i + 1) // n) for i in range(n)]


# ---- a job of seconds that says whether compute nodes see the folder and have our Python ----


def probe(
    folder: Path, block: ClusterBlock, *, timeout: float = TIMEOUT, lag: float = LAG
) -> tuple[str, int]:
    """Write a file into an experiment's folder, and let a job read it and write another.

    Returns the host that it ran on, and by how many seconds its clock differs.  Raises UserError
    with what is wrong, on which host: the folder is not there, cannot be written, or is not the
    same; Python cannot import thesiskit; or no job started in time.
    """
    folder = Path(folder).absolute() / "batch"
    token = secrets.token_hex(8)
    ask, answer = folder / f".probe-{token}.ask", folder / f".probe-{token}.answer"
    _create(ask, token, folder)
    more: dict[str, str | bool] = {
        "job-name": "thesiskit-probe",
        "time": str(min(block.minutes, 5)),
        "chdir": "/",
        "output": "/dev/null",  # Slurm drops a job whose output it cannot open
    }
    script = _script(
        block, PROBE_SCRIPT, more,
        folder=shlex.quote(on_a_line("--results", str(folder))), ask=ask.name, answer=answer.name,
        token=token, tries=round(2 * lag), python=shlex.quote(sys.executable),
        unseen=UNSEEN, unwritable=UNWRITABLE,
    )  # fmt: skip
    before = time.time()
    job = sbatch(block, "--parsable", stdin=script)
    try:
        host, date, *problems = _answer(job, answer, timeout, lag)
    finally:
        call("scancel", "--quiet", job)
        for path in (ask, answer, answer.with_name(answer.name + ".part")):
            path.unlink(missing_ok=True)
    if problems:
        raise UserError(
            f"on {host}, {sys.executable} cannot import thesiskit: {problems[-1]}\n"
            "install it where all hosts see it, or say in cluster.setup what makes it found"
        )
    # the job's clock was read between two readings of ours
    early, late = int(date) + 1 - before, int(date) - time.time()
    return host, round(min(early, 0) or max(late, 0))


def clock_warning(host: str, skew: int) -> list[str]:
    """Return a sentence about a clock that differs by many seconds, none if it does not."""
    if abs(skew) <= SKEW:
        return []
    ahead = "ahead of" if skew > 0 else "behind"
    return [
        f"the clock of {host} is {abs(skew)} s {ahead} this one: results are not "
        "affected, but times of files mislead make, and you"
    ]


def _answer(job: str, answer: Path, timeout: float, lag: float) -> Sequence[str]:
    """Return the lines that a job writes, or say why there are none."""
    folder, shared = answer.parent, "; choose with --results a folder that all hosts share"
    started, host = time.monotonic(), ""  # where it has ended
    while answer.name not in os.listdir(folder):  # so that network file systems look again
        waited = time.monotonic() - started
        if host:
            if waited > lag:
                raise UserError(f"what {host} writes in {folder} is not seen here" + shared)
            time.sleep(0.5)
            continue
        shown: dict[str, str] = {}  # what Slurm knows of a job that runs or ended lately
        with suppress(Refused):
            shown = dict(re.findall(r"(\w+)=(\S*)", call("scontrol", "show", "job", job)))
        state = shown.get("JobState", "")
        if state in ("PENDING", "CONFIGURING", "RUNNING"):
            if waited > timeout:
                reason = f", {shown['Reason']}" if state == "PENDING" else ""
                raise UserError(
                    f"the probe job has not answered in {timeout:.0f} s ({state.lower()}{reason}): "
                    "the queue is busy; --no-probe submits without it"
                )
            time.sleep(1.0 if waited > 5 else 0.2)
            continue
        started, host = time.monotonic(), shown.get("BatchHost", "the compute node")
        code = shown.get("ExitCode", "0:0")
        if code == f"{UNSEEN}:0":
            raise UserError(f"{host} does not see {folder}, or not the files written here{shared}")
        if code == f"{UNWRITABLE}:0":
            raise UserError(f"{host} cannot write in {folder}{shared}")
        if code != "0:0":
            raise UserError(
                f"the probe job failed on {host} (exit code {code}) before it could look at "
                f"{folder}; check cluster.setup and cluster.options"
            )
    return answer.read_text().splitlines()
