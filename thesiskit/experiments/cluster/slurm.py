"""Cells as tasks of job arrays of a Slurm cluster.

An array is a plain script for sbatch and a list of cells, a line for each task, in batch/jobs
below the results.  What is done is said by result files alone, what is alive by squeue.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from thesiskit import files
from thesiskit.config.cluster import ClusterBlock
from thesiskit.errors import ResultsError, ThesiskitError, UserError
from thesiskit.experiments.cluster import sbatch
from thesiskit.experiments.cluster.script import JOBS, LOG, array_script, on_a_line
from thesiskit.experiments.cluster.submissions import Entry, append
from thesiskit.files import now

GONE = "GONE"  # the state of a job that is neither waiting nor running
ATTEMPTS = 5  # to ask squeue, over half a minute
LOG_END = 16_384  # bytes of a log that are looked at


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
        sbatch.check(self.block)

    def keep(self, config: str) -> Path:
        """Write the config that jobs are to read, to a file of their own; return its path.

        Its number is that of the submission, which no other has.
        """
        number = 1
        while True:
            path = self.jobs / f"{number:04d}.yaml"
            try:
                self._create(path, config)
                return path
            except FileExistsError:
                number += 1

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
        text = array_script(self.block, command, len(jobs), name=name, folder=self.jobs,
                             width=width, after=after)  # fmt: skip
        self._create(cells, "".join(f"{' '.join(ids)}\n" for ids in jobs))
        self._create(script, text)
        return script

    def _create(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.create(path) as file:
                file.write(text.encode())
        except FileExistsError:
            raise
        except OSError as error:
            raise ResultsError(f"{path}: cannot be written: {error.strerror}") from None

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

        Raises
        ------
        UserError: with Slurm's words, where it refuses the jobs.
        """
        arrays = split(len(jobs), _array_limit())
        lanes = min(len(arrays), self.block.array)  # of arrays that wait for each other
        ends: list[Sequence[str]] = [self._alive(after)] * lanes
        submitted: list[str] = []
        for number, array in enumerate(arrays):
            lane = number % lanes
            width = self.block.array // lanes + (lane < self.block.array % lanes)
            mine = [jobs[i] for i in array]
            script = self.write(f"{stem}-{number + 1}", mine, command, name, width, ends[lane])
            job = self._submit(script)
            ends[lane] = [job]
            ids = [f"{job}_{task}" for task in range(1, len(mine) + 1)]
            entry = {
                "ids": ids,
                "name": name,
                "cells": sum(map(len, mine)),
                "script": script.stem,
                "when": now(),
                "partition": self.block.partition,
            }
            append(self.folder, entry | note)
            submitted += ids
        return submitted

    def _submit(self, script: Path) -> str:
        """Submit a script, and return its job; one that is refused is not kept."""
        try:
            out = sbatch.call("sbatch", "--parsable", str(script),
                              env=sbatch.environment(self.block))  # fmt: skip
        except ThesiskitError as error:
            for path in (script, script.with_suffix(".cells")):
                path.unlink(missing_ok=True)
            raise error if isinstance(error, UserError) else sbatch.refused(str(error)) from None
        return out.strip().partition(";")[0]

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

    def cells(self, entries: Sequence[Entry]) -> Mapping[str, Sequence[str]]:
        """Return the ids of the cells of each job of submissions, none where they are not known."""
        found: dict[str, Sequence[str]] = {}
        for entry in entries:
            try:
                lines = read_cells(self.jobs / f"{entry.get('script')}.cells")
            except ThesiskitError:
                continue
            found |= dict(zip(entry["ids"], lines, strict=False))
        return found

    def tail(self, job: str, lines: int = 5) -> list[str]:
        """Return the last lines that a job wrote."""
        array, _, task = job.partition("_")
        path = self.jobs / LOG.replace("%A", array).replace("%a", task)
        try:
            with files.open_regular(path) as file:
                file.seek(max(0, path.stat().st_size - LOG_END))
                found = file.read().decode(errors="replace").split("\n")
        except OSError:
            return []
        return [line.rstrip() for line in found if line.strip()][-lines:]


def read_cells(path: Path) -> list[list[str]]:
    """Return the ids of the cells of each job of a list.

    Raises
    ------
    UserError: it cannot be read.
    """
    try:
        return [line.split() for line in files.read_text(path).splitlines()]
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; submit again") from None
    except ValueError:
        raise UserError(f"{path}: is damaged; submit again") from None


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
    """Return how many tasks an array may have: Slurm counts them from 0, we from 1."""
    found = re.search(r"MaxArraySize\s*=\s*(\d+)", sbatch.call("scontrol", "show", "config"))
    return max(1, int(found[1]) - 1) if found else 1
