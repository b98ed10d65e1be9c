"""Shares of a batch as jobs of a Slurm cluster.

submitit writes arrays, passes on the signal of the time limit, and requeues.  Its own states and
results are not asked for: without accounting, which many clusters lack, they wait for ever for a
job that was killed.  What is done is said by result files alone, what is alive by squeue.
"""

import io
import os
import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from thesiskit.config.cluster import ClusterBlock
from thesiskit.errors import ResultsError, ThesiskitError, UserError
from thesiskit.experiments.cluster import sbatch
from thesiskit.experiments.cluster.submissions import append
from thesiskit.store.results import read_record, write_record

GONE = "GONE"  # the state of a job that is neither waiting nor running
ATTEMPTS = 5  # to ask squeue, over half a minute
LOG_END = 16_384  # bytes of a log that are looked at
SIGNALS = {signal.SIGUSR1, signal.SIGUSR2}


class Share(Protocol):
    """What a job makes; it is pickled."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The cells."""

    def make(self, stop: threading.Event) -> bool:
        """Make the cells that are not done, until told to stop."""


class Task:
    """What submitit runs in a job.

    The share is made in a thread, so that the main one can hear signals: at the time limit
    `checkpoint` lets it stop, and submitit requeues the job.  Preempted or cancelled jobs stop
    too.
    """

    thread: threading.Thread | None = None

    def __init__(self, share: Share):
        self.share = share

    def __call__(self) -> None:
        """Make the share; whether it is done is for its files to say."""
        self.stop = threading.Event()
        self.error: BaseException | None = None
        signal.signal(signal.SIGTERM, lambda *_: self.stop.set())
        self.thread = threading.Thread(target=self._make)
        self.thread.start()
        self.thread.join()  # a handler may wait for it meanwhile; for a future it could not
        if self.error is not None:
            raise self.error

    def _make(self) -> None:
        # Slurm signals the whole process group: child processes inherit that this is not for them
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self.share.make(self.stop)
        except BaseException as error:
            self.error = error

    def checkpoint(self) -> Any:
        """Stop, and say what is to run after the requeue."""
        from submitit.helpers import DelayedSubmission

        if self.thread is not None:
            self.stop.set()
            self.thread.join()
        return DelayedSubmission(Task(self.share))


class Slurm:
    """The jobs of one experiment, whose results are in `folder`."""

    def __init__(self, folder: Path, block: ClusterBlock):
        self.folder = Path(folder).absolute()
        self.block = block
        self.jobs = self.folder / sbatch.JOBS
        sbatch.on_a_line("--results", str(self.folder))
        if "%" in str(self.folder):
            raise UserError(f"{self.folder}: Slurm takes no path with a % in it; use --results")

    def check(self) -> None:
        """Raise UserError where Slurm or submitit is not here, or Slurm refuses such jobs."""
        sbatch.check(self.block)
        _submitit()

    def submit(
        self, shares: Sequence[Share], name: str, after: Sequence[str] = (), **note: Any
    ) -> list[str]:
        """Submit job arrays, and return the id of each share's job, in order.

        An array is no longer than the cluster allows, and all of them together run no more than
        `cluster.array` jobs at once.  No job starts before those of `after` have ended.  Each
        array is recorded, with the `note`, as soon as Slurm has it: see `submissions`.

        Raises
        ------
        UserError: with Slurm's words, where it refuses the jobs.
        """
        self.jobs.mkdir(parents=True, exist_ok=True)
        arrays = split(len(shares), _array_limit())
        lanes = min(len(arrays), self.block.array)  # of arrays that wait for each other
        ends: list[Sequence[str]] = [self._alive(after)] * lanes
        submitted = []
        for number, array in enumerate(arrays):
            lane = number % lanes
            width = self.block.array // lanes + (lane < self.block.array % lanes)
            part = [shares[i] for i in array]
            ids = self._submit(part, name, width, ends[lane])
            first = ids[0].partition("_")[0]
            ends[lane] = [first]
            cells = [list(share.ids) for share in part]
            write_record(self.jobs / f"{first}.json", {"cells": cells})
            entry = {
                "ids": ids,
                "name": name,
                "cells": sum(map(len, cells)),
                "when": datetime.now(UTC).isoformat(timespec="seconds"),
                "partition": self.block.partition,
            }
            append(self.folder, entry | note)
            submitted += ids
        return submitted

    def _submit(
        self, shares: Sequence[Share], name: str, width: int, after: Sequence[str]
    ) -> list[str]:
        executor = _submitit().SlurmExecutor(self.jobs, max_num_timeout=self.block.requeues)
        further = self.block.requests | {"chdir": str(self.jobs), "requeue": True, "export": "ALL"}
        if after:
            further["dependency"] = ":".join(["afterany", *after])
        executor.update_parameters(
            job_name=name,
            time=self.block.minutes,
            ntasks_per_node=1,
            signal_delay_s=sbatch.notice(self.block),
            array_parallelism=width,
            setup=self.block.setup or None,
            wckey=None,
            # srun no longer takes this from the job
            srun_args=[f"--cpus-per-task={self.block.cpus}"],
            additional_parameters=further,
        )
        try:
            with _environment(self.block), redirect_stderr(io.StringIO()):
                return [job.job_id for job in executor.submit_array([Task(one) for one in shares])]
        except OSError as error:
            raise ResultsError(f"{self.jobs}: cannot be written: {error.strerror}") from None
        except RuntimeError as error:  # of submitit, with what sbatch said
            for path in self.jobs.glob("?" * 32 + ".pkl"):  # not of a job
                path.unlink(missing_ok=True)
            raise sbatch.refused("; ".join(str(error).splitlines())) from None

    def states(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the state of jobs in Slurm's words, GONE of those that have ended.

        A job that waits has the reason in brackets: PENDING (Priority).
        """
        known = _queue(ids)
        return {one: known.get(one, GONE) for one in ids}

    def _alive(self, ids: Sequence[str]) -> list[str]:
        """Return those of some jobs, or arrays, that have not ended."""
        known = _queue(ids)
        return [one for one in ids if one in known or any(k.startswith(f"{one}_") for k in known)]

    def cancel(self, ids: Sequence[str]) -> list[str]:
        """Cancel jobs, or arrays of them; return those that had not ended."""
        alive = self._alive(ids)
        for start in range(0, len(alive), 1000):
            sbatch.call("scancel", *alive[start : start + 1000], attempts=ATTEMPTS)
        return alive

    def cells(self, job: str) -> tuple[str, ...]:
        """Return the ids of the cells of a job, none where they cannot be read."""
        array, _, task = job.partition("_")
        record = read_record(self.jobs / f"{array}.json")
        try:
            return tuple(record["cells"][int(task or 0)]) if record else ()
        except (ValueError, IndexError):
            return ()

    def tail(self, job: str, lines: int = 5) -> list[str]:
        """Return the last lines that a job wrote, of its errors where there are any."""
        for ending in ("err", "out"):
            path = self.jobs / f"{job}_0_log.{ending}"
            try:
                with open(path, "rb") as file:
                    file.seek(max(0, path.stat().st_size - LOG_END))
                    found = file.read().decode(errors="replace").split("\n")
            except OSError:
                continue
            found = [line.rstrip() for line in found if line.strip()]
            if found:
                return found[-lines:]
        return []


def split(jobs: int, most: int) -> list[range]:
    """Return as few ranges as can be, about equal, that are no longer than `most`."""
    n = -(-jobs // most)
    return [range(jobs * i // n, jobs * (i + 1) // n) for i in range(n)]


def _queue(ids: Sequence[str]) -> dict[str, str]:
    """Return the states of the jobs that have not ended, of all arrays that `ids` are of."""
    arrays = sorted({one.partition("_")[0] for one in ids})
    if not arrays:
        return {}
    command = ["squeue", "--noheader", "--array", "--format=%i|%T|%r", f"--jobs={','.join(arrays)}"]
    try:
        lines = sbatch.call(*command, attempts=ATTEMPTS).splitlines()
    except UserError:
        raise
    except ThesiskitError as error:
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


def _array_limit() -> int:
    """Return how many tasks an array may have."""
    found = re.search(r"MaxArraySize\s*=\s*(\d+)", sbatch.call("scontrol", "show", "config"))
    return max(1, int(found[1])) if found else 1


@contextmanager
def _environment(block: ClusterBlock) -> Iterator[None]:
    """Be in the environment to submit in."""
    before, wanted = dict(os.environ), sbatch.environment(block)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _submitit() -> Any:
    try:
        import submitit
    except ImportError:
        raise UserError('submitting needs submitit: pip install "thesiskit[cluster]"') from None
    return submitit
