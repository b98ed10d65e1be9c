"""Cells, the smallest pieces of an experiment: how they depend on each other, and are made.

A cell is one stage of one block of replicates, or one method of it, or one chain of a method.  A
stage is put together from its methods, and a method from its chains.  The key of a cell is a digest
of everything that leads to it: settings, data and code.  A cell is done when its file of results is
complete.  There is no other list of what is done, so cells can be made in any order, and by several
processes or machines.

What the stages and methods are, and what a cell computes, is for the `Work` of each kind of
experiment to say.  It knows its config and the folder of the config file.  When it makes something
it is given a `Block`, by which it reads what the stages before wrote.
"""

import hashlib
import json
import os
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.errors import ResultsError, ThesiskitError, UserError, memory_text
from thesiskit.files import (
    Results,
    code_digest,
    now,
    read_arrays,
    read_record,
    read_result,
    remove,
    remove_draws,
    remove_result,
    result_key,
    sealed,
    write_arrays,
    write_record,
    write_result,
)
from thesiskit.models import chains
from thesiskit.models.chains import Arrays
from thesiskit.registry import fit_command

HOST = socket.gethostname()
TAIL = 20  # lines of a failed cell's log that are kept
TELL_SECONDS = 30  # between lines that say how far a screening is
PROGRESS_SECONDS = 0.5  # between two folds that a child process reports
# what needs more is only begun with --yes: far above what is shipped
MOST_CELLS = 5_000_000
MOST_FITS = 50_000_000
MOST_ITERATIONS = 500_000_000  # hours, where each takes no more than 20 microseconds
MOST_HOURS = 0.25  # of a processor, to screen patterns
MOST_DISK = 200e9  # bytes
CELLS_IN_MEMORY = 100_000_000  # whose names fit; more are refused with --yes, too


# ---- generators of random numbers: each purpose has its own, so that none depends on another ----


def digest(value: object) -> str:
    """Return a stable digest of anything JSON can hold."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def generator(seed: int, *purpose: object) -> np.random.Generator:
    """Return the generator of one purpose."""
    code = bytes.fromhex(digest(purpose))
    spawn_key = np.frombuffer(code[:16], dtype=np.uint32).tolist()
    return np.random.Generator(
        np.random.PCG64DXSM(np.random.SeedSequence(seed, spawn_key=spawn_key))
    )


# ---- a cell and its files ----


@dataclass(frozen=True)
class Cell:
    """One unit of an experiment.

    method : its name; empty of a whole block.
    chain : of a fit, or part of a choice, from 0; None of what is made of all, or without any.
    """

    key: str
    stage: str
    block: int
    method: str = ""
    chain: int | None = None

    @property
    def id(self) -> str:
        """The first 16 hexadecimal digits of its key."""
        return self.key[:16]

    @property
    def is_chain(self) -> bool:
        """Whether it is a chain of a fit, and no part of a choice."""
        return self.stage == "fit" and self.chain is not None

    def __str__(self) -> str:
        parts = [self.stage, f"block {self.block}", self.method]
        if self.chain is not None:
            parts.append(f"{'chain' if self.is_chain else 'part'} {self.chain + 1}")
        return ", ".join(part for part in parts if part)


class CellFiles:
    """The files of the cells of one results folder.

    The result of a stage of a block is STAGE/0000.npz, that of a method or of a chain is
    cells/ab/ID.npz; a file .json beside it has seconds, memory and host.  Also of each cell:

    cells/ab/ID.running   who is at work on it
    cells/ab/ID.failed    what went wrong, and how often
    unfinished/ID.npz     what is kept of a cell that is not done
    """

    def __init__(self, results: Results):
        self.results, self.folder = results, results.folder / "cells"

    def path(self, cell: Cell, kind: str = "npz") -> Path:
        """Return a file of a cell."""
        if not cell.method and kind in ("npz", "json"):
            return self.results.path(cell.stage, cell.block).with_suffix(f".{kind}")
        return self.folder / cell.id[:2] / f"{cell.id}.{kind}"

    def unfinished(self, cell: Cell) -> Path:
        """Return the file of what is kept of a cell that is not done."""
        return self.results.folder / "unfinished" / f"{cell.id}.npz"

    def complete(self, cell: Cell) -> bool:
        """Whether the result of a cell is there."""
        return result_key(self.path(cell)) == cell.key

    def damaged(self, cell: Cell) -> bool:
        """Whether there is a result of which something is damaged: all of it is read."""
        path = self.path(cell)
        return path.exists() and result_key(path, thorough=True) is None

    def record(self, cell: Cell, kind: str) -> dict[str, Any] | None:
        """Return what is recorded of a cell, None if that is nothing, or damaged."""
        return read_record(self.path(cell, kind), of=cell.key)

    def write(self, cell: Cell, kind: str, **record: Any) -> None:
        """Record something of a cell."""
        write_record(self.path(cell, kind), record | _whereabouts(), of=cell.key)

    def save(self, cell: Cell, arrays: Arrays, **about: Any) -> None:
        """Write the result of a cell, and a record about it."""
        write_result(self.path(cell), cell.key, arrays, **about, **_whereabouts())

    def fail(self, cell: Cell, reason: str, log: str = "") -> None:
        """Record what went wrong."""
        attempts = (self.record(cell, "failed") or {}).get("attempts", 0) + 1
        end = "\n".join(log.strip().splitlines()[-TAIL:])
        self.write(cell, "failed", attempts=attempts, reason=reason, log=end, when=now())

    def present(self) -> dict[str, set[str]]:
        """Return the ids that have a file of each kind: one listing, where there are many."""
        ids: dict[str, set[str]] = defaultdict(set)
        for _, _, names in os.walk(self.folder):
            for name in names:
                cell, _, kind = name.partition(".")
                ids[kind].add(cell)
        return ids


def _whereabouts() -> dict[str, str]:
    """Return host and Slurm job of this process; the job is empty where there is none."""
    array, task = (os.environ.get(f"SLURM_ARRAY_{name}_ID") for name in ("JOB", "TASK"))
    job = f"{array}_{task}" if array and task else os.environ.get("SLURM_JOB_ID", "")
    return {"host": HOST, "job": job}


def peak_memory() -> int:
    """Return the peak of resident memory, bytes, since it was set back, or this process began."""
    try:
        with open("/proc/self/status") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# ---- what is kept of a cell that is not done, from which a killed run goes on ----


class Unfinished:
    """Finished fits of a cell, and the state of the one that runs, in a file that is replaced.

    fits : the finished ones, by their places.
    running : the state of a fit that was saved, with its place and its seconds; or nothing.
    saved : the state from which the fit that runs goes on, None if it begins.
    """

    def __init__(self, path: Path, key: str):
        self.path, self.key = path, f"unfinished {key}"
        arrays: Arrays = {}
        with suppress(ResultsError):  # damaged, or another version's: begin anew
            stored, stored_key = read_arrays(path)
            arrays = stored if stored_key == self.key else {}
        self.started = self.written = self.told = time.monotonic()
        self.started -= float(arrays.pop("spent", 0.0))
        parts: dict[str, Arrays] = {}
        for name, values in arrays.items():
            part, _, name = name.partition("/")
            parts.setdefault(part, {})[name] = values
        self.running = parts.pop("running", {})
        self.fits = {int(place): fit for place, fit in parts.items()}

    def begin(self, place: int, saved: Arrays | None = None, seconds: float = 0.0) -> "Unfinished":
        """Begin a fit, from what was kept of it, or else from `saved`, which took some seconds."""
        if self.running and int(self.running["place"]) == place:
            saved = dict(self.running)
            del saved["place"]
            seconds = float(saved.pop("seconds"))
        self.place, self.saved, self.begun = place, saved, time.process_time() - seconds
        return self

    @property
    def seconds(self) -> np.ndarray:
        """Processor seconds of the fit so far, in all runs."""
        return np.array(time.process_time() - self.begun)

    @property
    def spent(self) -> float:
        """Seconds since the cell was first begun, without those between runs."""
        return time.monotonic() - self.started

    def save(self, state: Arrays) -> None:
        """Write the state of the chains, from which they go on."""
        self.running = state | {"place": np.array(self.place), "seconds": self.seconds}
        self.write()

    def watch(self, done: int, total: int, state: Callable[[], Arrays]) -> None:
        """Save the state of a screening, and say how far it is, once a while; stop if asked to."""
        if time.monotonic() - self.told > TELL_SECONDS:
            self.told = time.monotonic()
            print(f"{done / total:.0%} of all patterns are scored", file=sys.stderr, flush=True)
        self._save_sometimes(lambda: self.save(state()))

    def finish(self, fit: Arrays) -> None:
        """Keep the fit, which is finished; write once a while."""
        self.fits[self.place] = fit
        self.running = {}
        self._save_sometimes(self.write)

    def _save_sometimes(self, save: Callable[[], None]) -> None:
        """Save if the last time is long ago, or if this process is asked to stop; then stop."""
        stopped = bool(chains.stopping)
        if stopped or time.monotonic() - self.written > chains.SAVE_SECONDS:
            save()
        if stopped:
            raise chains.Stopped

    def write(self) -> None:
        """Write the file."""
        parts: dict[Any, Arrays] = {**self.fits, "running": self.running}
        arrays = {
            f"{part}/{name}": values
            for part, found in parts.items()
            for name, values in found.items()
        }
        write_arrays(self.path, self.key, arrays | {"spent": np.array(self.spent)})
        self.written = time.monotonic()


# ---- a kind of experiment ----


@dataclass
class Needs:
    """What an experiment needs, known before it starts; how long it takes is not known.

    cells : of each stage its methods and their chains, times the blocks.
    fits : methods times training sets.
    iterations : of all chains, those of hot replicas and further updates of sigma included; where
        chains run until they agree, as many as the limit allows.
    disk : bytes of samples, predictions, quantiles of posteriors, and draws before compression.
    memory : bytes of one process.
    screening : seconds of one processor to screen patterns, measured on a part.

    Groups of patterns are not known before they are counted, so neither they nor draws of their
    coefficients are in it: `models/patterns` refuses what is too much, as soon as it is seen.
    """

    cells: int = 0
    fits: int = 0
    iterations: int = 0
    disk: float = 0.0
    memory: float = 0.0
    screening: float = 0.0

    def of_all(self, cells: int, divisions: int, size: int) -> "Needs":
        """Return the needs of an experiment of `cells` and `divisions` from those of a block."""
        whole = {name: getattr(self, name) * divisions // size for name in ("fits", "iterations")}
        real = {name: getattr(self, name) * divisions / size for name in ("disk", "screening")}
        return replace(self, cells=cells, **whole, **real)

    def check(self, name: str, *, yes: bool) -> None:
        """Raise UserError where an experiment needs much and the user did not say --yes."""
        if self.cells > CELLS_IN_MEMORY:
            raise UserError(
                f"{name} needs {self.cells:,} tasks, more than {CELLS_IN_MEMORY:,}. Fix: lower "
                f"replicates"
            )
        if self.problem and not yes:
            raise UserError(f"{name} needs {self.problem}. Fix: use --yes to proceed anyway")

    @property
    def problem(self) -> str | None:
        """Say what is much about it, None if nothing is."""
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        hours = self.screening / 3600
        much = {
            f"{self.cells:,} tasks": self.cells > MOST_CELLS,
            f"{self.fits:,} fits": self.fits > MOST_FITS,
            f"{self.iterations:,} iterations": self.iterations > MOST_ITERATIONS,
            f"about {memory_text(self.memory)} of memory": self.memory > machine,
            f"about {hours:.2g} hours of a processor to score patterns": hours > MOST_HOURS,
            f"about {memory_text(self.disk)} on disk": self.disk > MOST_DISK,
        }
        return " and ".join(text for text, is_much in much.items() if is_much) or None


class Work(ABC):
    """One kind of experiment: its stages, and how each is made.

    It holds nothing that leads back to the experiment that runs it.

    stages : in order; each may read what those before it wrote.
    """

    stages: tuple[str, ...]

    def __init__(self, config: Config, folder: Path):
        self.config, self.folder = config, folder

    def command(self, stage: str) -> str:
        """Return the command of a stage."""
        return fit_command(self.config.model.kind) if stage == "fit" else stage

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules from whose imports all code is found that a result depends on."""
        data = self.config.data
        found = [type(self).__module__, *([] if data is None else [type(data).__module__])]
        checked = data is not None and data.own  # what the check of a table says is kept
        return (*found, *(["thesiskit.datasets.checking"] if checked else []))

    @property
    def data_digest(self) -> str:
        """A digest of data that are read; empty where they are drawn."""
        return ""

    @property
    def notes(self) -> list[str]:
        """What the user should know, except notes that are stored about the data, a line each."""
        return []

    @property
    def notes_of_reading(self) -> list[str]:
        """The notes that `init` and `check` print, about how the user's tables were read."""
        data = self.config.data
        tables = self.design.stored if data is not None and data.own else []  # type: ignore[attr-defined]
        return [note for table in tables for note in table.notes]

    @property
    def described(self) -> dict[str, Any]:
        """The config as reports and records keep it, with what it leaves to the data."""
        dumped, data = self.config.model_dump(mode="json", exclude={"cluster"}), self.config.data
        dumped |= {"quick": True} if self.config.quick else {}
        if data is None:
            return dumped | {"scheme": None}
        return dumped | {"scheme": self.config.scheme, "drawn": data.drawn, "own": data.own}

    @abstractmethod
    def settings_of(self, stage: str, method: str = "") -> object:
        """Return the part of the config that matters to a stage, or to a method of it."""

    def check(self) -> None:  # noqa: B027
        """Raise ConfigError or DataError for what only the data show to be wrong."""

    @abstractmethod
    def needs(self, replicates: int) -> Needs:
        """Return what a block of so many replicates needs, but for the number of cells."""

    def methods(self, stage: str) -> dict[str, int]:
        """Return a stage's methods and their numbers of chains or parts; else it is one cell."""
        return {}

    def draws_name(self, stage: str, method: str) -> str | None:
        """Return the name of the file of draws that a method writes, None if it writes none."""
        return None

    @abstractmethod
    def make(self, cell: Cell, block: "CellBlock", unfinished: Unfinished) -> Arrays:
        """Return the arrays of a stage without methods, of a method, or of one of its chains.

        A method that has chains is made from them, after all of them, with `chain` None.
        """

    def join(self, stage: str, made: list[Arrays], block: "CellBlock") -> Arrays:
        """Return the arrays of a stage from those of its methods."""
        raise NotImplementedError(stage)


# ---- blocks, and all cells of an experiment ----


class CellBlock:
    """Some replicates that share one result file a stage, and what was written for them so far.

    number : counted from 0.
    code : a digest of the code of this kind of experiment.
    """

    def __init__(self, graph: "Graph", number: int, replicates: range):
        self.graph, self.number, self.replicates = graph, number, replicates
        self.code, self.work, self.results = graph.code, graph.work, graph.results
        self._loaded: dict[str, Arrays] = {}

    def key(self, stage: str, method: str = "", chain: int | None = None) -> str:
        """Return the key that a file must have: a digest of all that leads to it."""
        start, stop = self.replicates.start, self.replicates.stop
        return digest([self.graph.inputs_digest(stage, method), start, stop, chain])

    def cell(self, stage: str, method: str = "", chain: int | None = None) -> Cell:
        """Return a cell; without a method, that of a stage which is one cell."""
        return Cell(self.key(stage, method, chain), stage, self.number, method, chain)

    def cells(self, *stages: str) -> list[Cell]:
        """Return cells of some or all stages: chains, then their method, at last the stage."""
        cells = []
        for stage in stages or self.work.stages:
            for method, n_chains in self.work.methods(stage).items():
                cells += [self.cell(stage, method, chain) for chain in (*range(n_chains), None)]
            cells.append(self.cell(stage))
        return cells

    def draws(self, stage: str, method: str) -> Path:
        """Return the file of a method's draws."""
        name = self.work.draws_name(stage, method)
        assert name is not None, f"{method} has no draws"
        return self.results.draws(stage, self.number, name)

    # what was written

    def load(self, stage: str, names: Sequence[str] | None = None) -> Arrays:
        """Return the arrays of a stage, or some of them, checked to be what this config leads to.

        All arrays are kept: cells of a block mostly come one after another.
        """
        if stage not in self._loaded:
            arrays = self._read(self.cell(stage), names)
            if names is not None:
                return arrays
            self._loaded[stage] = arrays
        arrays = self._loaded[stage]
        return arrays if names is None else {name: arrays[name] for name in names}

    def read(self, stage: str, method: str, chain: int | None = None) -> Arrays:
        """Return the arrays of a method, or of one of its chains."""
        return self._read(self.cell(stage, method, chain))

    def _read(self, cell: Cell, names: Sequence[str] | None = None) -> Arrays:
        self.require(cell)
        files = self.graph.files
        try:
            return read_result(files.path(cell), names)
        except ResultsError:
            if files.damaged(cell):  # so that it is made again
                remove_result(files.path(cell))
            raise

    def require(self, cell: Cell) -> str:
        """Return the key of a cell if its file has it, or say what to run."""
        path = self.graph.files.path(cell)
        stored = result_key(path)
        if stored == cell.key:
            return cell.key
        state = "was computed with other settings, data or code"
        if stored is None:
            state = "is damaged" if path.exists() else "is missing"
        raise UserError(
            f"{path} {state}. Fix: run `thesiskit {self.work.command(cell.stage)} CONFIG` first, "
            "or all stages with `thesiskit run CONFIG`"
        )

    # files of a whole stage

    def draws_are_current(self, stage: str, methods: Iterable[str]) -> bool:
        """Whether each of the methods has no draws, or a file of draws with its key."""
        return all(
            sealed(self.draws(stage, method), self.key(stage, method))
            for method in methods
            if self.work.draws_name(stage, method)
        )

    def remove_damaged(self, stage: str) -> list[Path]:
        """Remove the damaged files of a stage, so that they are made again; return their paths.

        The file of the stage and its files of draws are read; other cells are read as long as
        this stage, or one after it, is not complete.
        """
        graph, files = self.graph, self.graph.files
        # a file without a seal counts as not done, or is just being written
        removed = [
            draws
            for draws in self._files_of_draws(stage)
            if sealed(draws) and not sealed(draws, thorough=True)
        ]
        for draws in removed:
            remove_draws(draws)
        *others, whole = self.cells(stage)
        later = self.work.stages[self.work.stages.index(stage) :]
        for cells in ([whole], others):
            paths = [files.path(cell) for cell in cells if files.damaged(cell)]
            for path in paths:
                remove_result(path)
            removed += paths
            if all(graph.done(self.cell(name)) for name in later):
                break
        return removed

    def delete_outputs(self, stage: str) -> None:
        """Remove all files of a stage."""
        files = self.graph.files
        for cell in self.cells(stage):
            remove_result(files.path(cell))
            remove(files.unfinished(cell))
        for draws in self._files_of_draws(stage):
            remove_draws(draws)

    def _files_of_draws(self, stage: str) -> list[Path]:
        methods = self.work.methods(stage)
        return [
            self.draws(stage, method) for method in methods if self.work.draws_name(stage, method)
        ]


class Graph:
    """The cells of an experiment: what each needs, whether it is done, and how it is made.

    divisions : of the data, in all blocks; of a logistic model each fold counts.
    blocks : the numbers of all blocks.
    size : replicates of a block; the last one may have fewer.
    at_work : the cells that are computed now, with the fold that each has reached, in words.
    send : passes these words on, in a child process.
    """

    def __init__(self, work: Work, results: Results):
        self.at_work: dict[Cell, str] = {}
        self.send: Callable[[str], object] = str
        self._sent = 0.0
        self.work, self.results, config = work, results, work.config
        self.files = CellFiles(results)
        alone = config.data is None and config.reduction is None
        self.divisions = 1 if alone else config.divisions
        self.size = min(config.block, self.divisions)
        self.blocks = range(-(-self.divisions // self.size))
        self.block = lru_cache(maxsize=1)(self._block)
        self.inputs_digest = cache(self._inputs_digest)

    def _block(self, number: int) -> CellBlock:
        """Return a block."""
        start = number * self.size
        return CellBlock(self, number, range(start, min(start + self.size, self.divisions)))

    @cached_property
    def code(self) -> str:
        """A digest of the code that this kind of experiment imports."""
        return code_digest(self.work.modules)

    def _inputs_digest(self, stage: str, method: str) -> str:
        """Return a digest of the settings and the code that lead to a method of a stage."""
        before = self.work.stages[: self.work.stages.index(stage) + 1]
        settings = [self.work.settings_of(name, method) for name in before]
        return digest([stage, method, self.code, settings])

    def all_cells(self) -> Iterator[Cell]:
        """Yield every cell of the experiment, block by block."""
        for number in self.blocks:
            yield from self.block(number).cells()

    def parts(self, cell: Cell) -> list[Cell]:
        """Return the cells that a cell is made of: chains of a method, methods of a stage."""
        methods, block = self.work.methods(cell.stage), self.block(cell.block)
        if not cell.method:
            return [block.cell(cell.stage, method) for method in methods]
        chains = range(methods[cell.method] if cell.chain is None else 0)
        return [block.cell(cell.stage, cell.method, chain) for chain in chains]

    def needs(self, cell: Cell) -> list[Cell]:
        """Return the cells that must be done before: one of each stage before, and its parts."""
        cells, block, stages = [], self.block(cell.block), self.work.stages
        for stage in stages[: stages.index(cell.stage)]:
            methods = self.work.methods(stage)
            if not methods or cell.method in methods:
                cells.append(block.cell(stage, cell.method if methods else ""))
        return cells + self.parts(cell)

    def progress(self, number: int, total: int, unit: str = "fold") -> None:
        """Report which of how many folds the cell is in that this process computes."""
        text = f"{unit} {number + 1:,} of {total:,}" if total > 1 else ""
        self.at_work.update(dict.fromkeys(self.at_work, text))
        if text and time.monotonic() - self._sent > PROGRESS_SECONDS:
            self._sent = time.monotonic()
            self.send(text)

    def done(self, cell: Cell) -> bool:
        """Whether the file of a cell is complete, or the file of what was made from it."""
        block, complete = self.block(cell.block), self.files.complete(cell)
        if cell.chain is None:
            methods = [cell.method] if cell.method else self.work.methods(cell.stage)
            return complete and block.draws_are_current(cell.stage, methods)
        # or that of the cell that is made from a chain and others
        return complete or self.done(block.cell(cell.stage, cell.method))

    def missing(self, targets: Iterable[Cell]) -> list[Cell]:
        """Return what has to be made for cells to be done, each after the cells that it needs."""
        missing: dict[Cell, bool] = {}

        def visit(cell: Cell) -> None:
            if cell not in missing:
                missing[cell] = False
                if not self.done(cell):
                    for need in self.needs(cell):
                        visit(need)
                    del missing[cell]  # it comes after them
                    missing[cell] = True

        for target in targets:
            visit(target)
        return [cell for cell, is_missing in missing.items() if is_missing]

    def make(self, cell: Cell) -> None:
        """Make a cell from those that it needs, and write its file, unless that is done."""
        block, files = self.block(cell.block), self.files
        if block.cell(cell.stage, cell.method, cell.chain) != cell:
            raise UserError("code or data changed during the run. Fix: run the command again")
        if self.done(cell):  # by another job
            return
        files.write(cell, "running", process=os.getpid(), started=now())
        unfinished = Unfinished(files.unfinished(cell), cell.key)
        self.at_work = {cell: ""}
        try:
            with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # the peak of memory starts from here
            parts = self.parts(cell)
            if parts and not cell.method:
                methods = [block.read(part.stage, part.method) for part in parts]
                arrays = self.work.join(cell.stage, methods, block)
            else:
                arrays = self.work.make(cell, block, unfinished)
            seconds, memory = round(unfinished.spent, 4), peak_memory()
            files.save(cell, arrays, seconds=seconds, memory=memory, finished=now())
        except ThesiskitError:
            if not self.done(cell):  # else another job has made it just now, and tidied up
                raise
        finally:
            remove(files.path(cell, "running"))
        remove(unfinished.path)
        remove(files.path(cell, "failed"))
        for chain in parts if cell.method else ():  # their draws are in the file of draws now
            remove(files.path(chain))
