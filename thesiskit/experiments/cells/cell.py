"""Cells, the smallest pieces of an experiment: each has a generator, a result file and a record.

A cell is one stage of one block of replicates, for one arm, or for one chain of an arm.  A stage
without arms is one cell.  The name of a cell's result file is a digest of everything that leads to
it: settings, data and code.  A cell is done when this file is complete.  There is no other list of
what is done, so cells can be made in any order, and by several processes or machines.
"""

import os
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.errors import ResultsError
from thesiskit.files import (
    damaged,
    ends_well,
    now,
    read_arrays,
    read_key,
    read_record,
    remove,
    write_arrays,
    write_record,
)

HOST = socket.gethostname()
TAIL = 20  # lines of a failed cell's log that are kept


@dataclass(frozen=True)
class Cell:
    """One unit of an experiment.

    id : 16 hexadecimal digits of its key.
    arm : its name; empty of a whole block.
    chain : counted from 0; None where there are none, or of the comparison of all.
    """

    id: str
    key: str
    stage: str
    block: int
    arm: str = ""
    chain: int | None = None

    def __str__(self) -> str:
        parts = [self.stage, f"block {self.block}", self.arm]
        if self.chain is not None:
            parts.append(f"chain {self.chain + 1}")
        return ", ".join(part for part in parts if part)


class CellFiles:
    """The files of the cells of one results folder: cells/ab/ID.npz, and beside it

    ID.json       seconds, memory and host of the cell that is done
    ID.running    who is at work on it
    ID.failed     what went wrong, and how often
    """

    def __init__(self, folder: Path):
        self.folder = folder / "cells"

    def path(self, cell: Cell, kind: str = "npz") -> Path:
        """Return a file of a cell."""
        return self.folder / cell.id[:2] / f"{cell.id}.{kind}"

    def complete(self, cell: Cell) -> bool:
        """Whether the result is there, with its record, and whole: its end says so."""
        return ends_well(self.path(cell)) and self.path(cell, "json").exists()

    def damaged(self, cell: Cell) -> bool:
        """Whether there is a result of which something is damaged: all of it is read."""
        if not self.path(cell).exists():
            return False
        whole = read_key(self.path(cell), thorough=True) == cell.key
        return not (whole and "times" in (self._read(cell, "json") or ()))

    def save(self, cell: Cell, arrays: dict[str, np.ndarray]) -> None:
        """Write the result."""
        write_arrays(self.path(cell), cell.key, arrays)

    def load(self, cell: Cell) -> dict[str, np.ndarray]:
        """Read the result, with its seconds."""
        about = self._read(cell, "json")
        if about is None:
            raise ResultsError(damaged(self.path(cell, "json")))
        times = {name: np.array(values) for name, values in about["times"].items()}
        return read_arrays(self.path(cell)) | times

    def remove(self, cell: Cell) -> None:
        """Remove the result."""
        remove(self.path(cell))

    # ---- records ----

    def about(self, cell: Cell) -> dict[str, Any]:
        """Return seconds, memory and host of a cell that is done."""
        return self._read(cell, "json") or {"times": {}}

    def begin(self, cell: Cell) -> None:
        """Say who is at work on a cell."""
        who = {"host": HOST, "process": os.getpid(), "job": job(), "started": now()}
        self._write(cell, "running", who)

    def finish(self, cell: Cell, about: dict[str, Any]) -> None:
        """Keep the record of a cell that is done."""
        self._write(cell, "json", about | {"host": HOST, "job": job(), "finished": now()})

    def end(self, cell: Cell) -> None:
        """Nobody is at work on a cell any more."""
        remove(self.path(cell, "running"))

    def clear_failure(self, cell: Cell) -> None:
        """Forget failures: the cell is done, or is begun anew."""
        remove(self.path(cell, "failed"))

    def running(self, cell: Cell) -> dict[str, Any] | None:
        """Return who is at work on a cell, or was when it was killed."""
        return self._read(cell, "running")

    def fail(self, cell: Cell, reason: str, log: str = "") -> None:
        """Keep what went wrong."""
        attempts = (self.failed(cell) or {}).get("attempts", 0) + 1
        said = "\n".join(log.strip().splitlines()[-TAIL:])
        entry = {"attempts": attempts, "reason": reason, "log": said, "when": now()}
        self._write(cell, "failed", entry | {"host": HOST, "job": job()})

    def failed(self, cell: Cell) -> dict[str, Any] | None:
        """Return what went wrong with a cell, None where nothing did."""
        return self._read(cell, "failed")

    def present(self) -> dict[str, set[str]]:
        """Return the ids that have a file of each kind: one listing, where there are many."""
        found: dict[str, set[str]] = {}
        with suppress(OSError):
            for folder in os.scandir(self.folder):
                for entry in os.scandir(folder.path):
                    name, _, kind = entry.name.partition(".")
                    found.setdefault(kind, set()).add(name)
        return found

    def _read(self, cell: Cell, kind: str) -> dict[str, Any] | None:
        return read_record(self.path(cell, kind), of=cell.key)

    def _write(self, cell: Cell, kind: str, record: dict[str, Any]) -> None:
        write_record(self.path(cell, kind), record, of=cell.key)


def job() -> str:
    """The Slurm job that this process belongs to, empty where there is none."""
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array and task else os.environ.get("SLURM_JOB_ID", "")


class Meter:
    """Seconds and peak memory of what is done in its block."""

    def __enter__(self) -> "Meter":
        self.started = time.perf_counter()
        with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts from here
        return self

    def __exit__(self, *_) -> None:
        self.seconds = time.perf_counter() - self.started

    @property
    def peak(self) -> int:
        """Peak of resident memory, bytes."""
        try:
            with open("/proc/self/status") as file:
                line = next(line for line in file if line.startswith("VmHWM"))
            return int(line.split()[1]) * 1024
        except (OSError, StopIteration, ValueError):
            import resource

            unit = 1 if sys.platform == "darwin" else 1024
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
