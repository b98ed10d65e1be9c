"""The stages of an experiment: each reads what those before it wrote, and writes its own.

A stage works block by block and skips blocks whose file stands with the right key: a digest of
the settings that matter to the stage, the data, the code, and the settings of the stages before.
A block is made of cells, one for each arm and chain, and joined when they are done.  What the
stages are, and how a cell is made, is for the experiment's work to say.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from thesiskit.config import Config
from thesiskit.errors import ConfigError, ResultsError, ThesiskitError, UserError
from thesiskit.experiments.cells import Cell, CellFiles, Meter, now
from thesiskit.experiments.local import Failure, Workers
from thesiskit.experiments.provenance import code_digest, surroundings
from thesiskit.experiments.seeds import digest
from thesiskit.experiments.unfinished import Unfinished
from thesiskit.experiments.work import Work
from thesiskit.report.finished import check_thesis
from thesiskit.report.page import write_report
from thesiskit.report.parts import check_parts
from thesiskit.report.store import Results, without_times, write_text

Watch = Callable[[Iterable, int, str], Iterable]


def blocks(config: Config) -> list[range]:
    """Return the replicates, or divisions, of each result file."""
    if config.data is None and config.reduction is None:
        return [range(1)]
    starts = range(0, config.divisions, config.block)
    return [range(start, min(start + config.block, config.divisions)) for start in starts]


def work_of(experiment: "Experiment") -> Work:
    """Return the work of an experiment; only the modules of its own kind are imported."""
    if experiment.config.reduction is not None:
        from thesiskit.experiments.reduction_work import ReductionWork

        return ReductionWork(experiment)
    if experiment.config.data is None:
        from thesiskit.experiments.lattice_work import LatticeWork

        return LatticeWork(experiment)
    if experiment.config.model.kind == "logistic":
        from thesiskit.experiments.logistic_work import LogisticWork

        return LogisticWork(experiment)
    from thesiskit.experiments.selection_work import SelectionWork

    return SelectionWork(experiment)


class Experiment:
    """A config with its results: runs stages and knows what is done.

    jobs : child processes that make cells; with 0 they are made in this process.
    """

    def __init__(self, config: Config, results: Results, folder: Path, jobs: int = 0):
        self.config = config
        self.results = results
        self.folder = folder  # of the config file: data paths start there
        self.jobs = jobs
        self.files = CellFiles(results.folder)
        self.blocks = blocks(config)
        self.work = work_of(self)
        self.stages = self.work.stages
        self._chains: dict[tuple[str, str], str] = {}
        self._kept: dict[tuple[str, int], dict[str, np.ndarray]] = {}
        self._workers: Workers | None = None
        self.notes: list[str] = []  # what the user should hear of

    def command(self, stage: str) -> str:
        """The command of a stage."""
        return self.work.command(stage)

    def check_command(self, stage: str, name: str) -> None:
        """Raise UserError where `name` is not the command for a stage of this model."""
        self._check_stage(stage)
        if name != self.command(stage):
            raise UserError(
                f"{self.config.experiment} has model.kind: {self.config.model.kind}; "
                f"use `thesiskit {self.command(stage)} CONFIG`"
            )

    def _check_stage(self, stage: str) -> None:
        if stage not in self.stages:
            kind = self.config.model.kind
            has = "no data" if self.config.data is None else f"model.kind: {kind}, and nothing"
            raise UserError(
                f"{self.config.experiment} has {has} to {stage}; use `thesiskit run CONFIG`"
            )

    def check(self) -> None:
        """Raise what can be known to be wrong before any work is done."""
        self._check_report()
        self.results.prepare()
        self.work.check()

    def _check_report(self) -> None:
        for key, check in (("report.parts", check_parts), ("report.thesis", check_thesis)):
            try:
                check(self.work.described)
            except ConfigError as error:
                raise self.config.wrong(key, str(error)) from None

    # ---- cells ----

    def cell(self, stage: str, number: int, arm: str = "", chain: int | None = None) -> Cell:
        """Return a cell; the arm of a whole block is empty."""
        key = self.key(stage, number, arm, chain)
        return Cell(key[:16], key, stage, number, arm, chain)

    def cells(self, stage: str, number: int) -> list[Cell]:
        """Return the cells of a block, chains before the comparison of them."""
        found = []
        for arm, chains in (self.work.arms(stage) or {"": 0}).items():
            found += [self.cell(stage, number, arm, chain) for chain in range(chains)]
            found.append(self.cell(stage, number, arm))
        return found

    def needs(self, cell: Cell) -> list[Cell]:
        """Return the cells that must be done before."""
        chains = self.work.arms(cell.stage).get(cell.arm, 0)
        if chains and cell.chain is None:
            return [self.cell(cell.stage, cell.block, cell.arm, chain) for chain in range(chains)]
        for stage in reversed(self.stages[: self.stages.index(cell.stage)]):
            arms = self.work.arms(stage)
            if not arms:
                return [self.cell(stage, cell.block)]
            if cell.arm in arms:
                return [self.cell(stage, cell.block, cell.arm)]
        return []

    def done(self, cell: Cell) -> bool:
        """Whether a cell's file stands, or what was made of it."""
        if not cell.arm:
            return self.results.key(cell.stage, cell.block) == cell.key
        if cell.chain is not None:
            return self.files.stands(cell) or self.done(self.cell(cell.stage, cell.block, cell.arm))
        return self.files.stands(cell) and self._drawn(cell)

    def _drawn(self, cell: Cell) -> bool:
        """Whether the file of draws of an arm is this cell's; others have the same name."""
        draws = self.work.draws(cell.stage, cell.block, cell.arm)
        if draws is None:
            return True
        try:
            return draws.exists() and _note(draws).read_text() == cell.key
        except OSError:
            return False

    def make(self, cell: Cell) -> None:
        """Make a cell from those that it needs, and write its file."""
        self.files.begin(cell)
        unfinished = Unfinished(self._unfinished(cell), cell.key)
        draws = self.work.draws(cell.stage, cell.block, cell.arm) if cell.chain is None else None
        try:
            if draws is not None:
                _note(draws).unlink(missing_ok=True)
            with Meter() as meter:
                if cell.arm:
                    arrays = self.work.make_arm(
                        cell.stage, cell.block, cell.arm, cell.chain, unfinished
                    )
                else:
                    arrays = self.work.make(cell.stage, cell.block)
            about = {"seconds": round(meter.seconds + unfinished.seconds, 4), "memory": meter.peak}
            kept, times = without_times(arrays)
            self.files.finish(cell, about | {"times": times})
            if draws is not None:
                write_text(_note(draws), cell.key)
            if cell.arm:
                self.files.save(cell, kept)
            else:
                self.results.save(cell.stage, cell.block, cell.key, arrays)
        finally:
            self.files.end(cell)
        unfinished.remove()
        self.files.forgive(cell)
        if cell.arm and cell.chain is None and self.work.arms(cell.stage)[cell.arm]:
            for one in self.needs(cell):  # their draws are in the file of draws now
                self.files.remove(one)

    def ensure(self, cell: Cell) -> None:
        """Make a cell, and before it all that it needs, where that is not done."""
        if not self.done(cell):
            try:
                for one in self.needs(cell):
                    self.ensure(one)
                self.make(cell)
            except ThesiskitError:
                if not self.done(cell):  # else another job has made it, and tidied up
                    raise

    def read(self, stage: str, number: int, arm: str, chain: int | None = None):
        """Return the arrays of an arm, or of a chain."""
        cell = self.cell(stage, number, arm, chain)
        if not self.files.stands(cell):
            raise UserError(
                f"{self.files.path(cell)} ({cell}) is not there; run "
                f"`thesiskit {self.command(stage)} CONFIG --force` first"
            )
        return self.files.load(cell)

    def _unfinished(self, cell: Cell) -> Path:
        return self.results.folder / "unfinished" / f"{cell.id}.npz"

    def forget(self, stage: str, number: int) -> None:
        """Remove all that there is of a block."""
        self.results.remove(stage, number)
        for cell in self.cells(stage, number):
            self.files.remove(cell)
            Unfinished(self._unfinished(cell), cell.key).remove()
            draws = self.work.draws(stage, number, cell.arm)
            for path in () if draws is None else (_note(draws), draws):
                path.unlink(missing_ok=True)

    # ---- stages ----

    def whole(self, stage: str, number: int) -> bool:
        """Whether a block stands, with all that is beside it."""
        return self.results.key(stage, number) == self.key(stage, number) and all(
            self._drawn(self.cell(stage, number, arm)) for arm in self.work.arms(stage)
        )

    def run(self, stage: str, *, watch: Watch, force: bool = False) -> int:
        """Run a stage and return how many blocks had to be made.

        Raises UserError where the stage before is missing or was made from something else.
        """
        self._check_stage(stage)
        self.check()
        numbers = range(len(self.blocks))
        todo = [number for number in numbers if force or not self.whole(stage, number)]
        if not todo:
            return 0
        started = time.perf_counter()
        with self.results.alone():
            for number in todo:
                for before in self.stages[: self.stages.index(stage)]:
                    self.require(before, number)
                if force:
                    self.forget(stage, number)
            self._make_blocks(stage, todo, watch)
        seconds = round(time.perf_counter() - started, 3)
        entry = {"finished": now(), "blocks_made": len(todo), "seconds": seconds}
        self.record_run(stages={stage: entry})
        return len(todo)

    def _make_blocks(self, stage: str, numbers: list[int], watch: Watch) -> None:
        """Make the cells of blocks, and join each block as soon as its cells are done."""
        cells, left, failures = [], {}, []
        for number in numbers:
            mine = [cell for cell in self.cells(stage, number) if not self.done(cell)]
            self.notes += [
                f"{self.files.path(cell)} was damaged; it is made again"
                for cell in mine
                if cell.arm and self.files.path(cell).exists() and not self.files.stands(cell)
            ]
            cells += mine
            left[number] = len(mine)
            if not mine:
                self.join(stage, number)
        for cell, failure in watch(self.make_all(cells), len(cells), stage):
            if failure is not None:
                failures.append(failure)
                continue
            left[cell.block] -= 1
            if left[cell.block] == 0:
                self.join(stage, cell.block)
        if failures:
            raise ResultsError(_told(failures, len(cells)))

    def make_all(self, cells: list[Cell]) -> Iterator[tuple[Cell, Failure | None]]:
        """Make cells, of which each comes after those that it needs; yield each that is done.

        Yields a cell that failed with its failure, and leaves out what depends on it.
        """
        if self.jobs:
            yield from self.workers().make(cells, self.needs)
            return
        with threadpool_limits(1):  # more threads add numbers in another order
            for cell in cells:
                self.make(cell)
                yield cell, None

    def workers(self) -> Workers:
        """Return the child processes, started at the first call."""
        if self._workers is None:
            self._workers = Workers(self, self.jobs)
        return self._workers

    def close(self) -> None:
        """End the child processes."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def join(self, stage: str, number: int) -> None:
        """Write the block of a stage from its cells."""
        arms = self.work.arms(stage)
        if arms:
            found = [self.read(stage, number, arm) for arm in arms]
            arrays = self.work.join(stage, number, found)
            self.results.save(stage, number, self.key(stage, number), arrays)

    def join_what_can_be(self, number: int) -> bool:
        """Join the stages of a block whose cells are done; whether that were all."""
        for stage in self.stages:
            if self.whole(stage, number):
                continue
            arms = self.work.arms(stage)
            if not arms or not all(self.done(self.cell(stage, number, arm)) for arm in arms):
                return False
            self.join(stage, number)
        return True

    def summary(self, stage: str) -> str:
        """Say in a line what a stage has done, and where that is."""
        return f"{self.work.summary(stage)} -> {self.results.folder / stage}"

    def report(self, *, watch: Watch, force: bool = False) -> tuple[Path, bool]:
        """Write the report from the finished stages; return its page and whether it was made."""
        self._check_report()
        described = self.work.described
        self.results.prepare()
        numbers = range(len(self.blocks))
        keys = [self.require(stage, number) for stage in self.stages for number in numbers]
        key = digest([keys, described, code_digest("report/")])
        page = self.results.folder / "report.html"
        last = self.results.provenance().get("report", {})
        if not force and last.get("key") == key:
            files = [page, *(self.results.folder / name for name in last["files"])]
            if all(path.exists() for path in files):
                return page, False
        self.record_run()
        files = write_report(self.work.record(), watch=watch)
        self.results.update_provenance(report={"key": key, "files": files})
        return page, True

    def key(self, stage: str, number: int, arm: str = "", chain: int | None = None) -> str:
        """Return the key that a file must have: a digest of all that leads to it."""
        replicates = self.blocks[number]
        return digest([self._leading_to(stage, arm), replicates.start, replicates.stop, chain])

    def _leading_to(self, stage: str, arm: str) -> str:
        if (stage, arm) not in self._chains:
            before = self.stages[: self.stages.index(stage) + 1]
            settings = [self.work.settings_of(name, arm) for name in before]
            self._chains[stage, arm] = digest([stage, arm, code_digest(), settings])
        return self._chains[stage, arm]

    def load(self, stage: str, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of a block, checked to be what this config leads to.

        The last ones are kept: cells of a block mostly come one after another.
        """
        if (stage, number) not in self._kept:
            self.require(stage, number)
            self._kept = {key: value for key, value in self._kept.items() if key[0] != stage}
            self._kept[stage, number] = self.results.load(stage, number)
        return self._kept[stage, number]

    def require(self, stage: str, number: int) -> str:
        """Return a block's key if it is the right one, or say what to run."""
        found, wanted = self.results.key(stage, number), self.key(stage, number)
        if found == wanted:
            return wanted
        path = self.results.path(stage, number)
        state = "was made with other settings, data or code"
        if found is None:
            state = "is damaged" if path.exists() else "is not there"
        raise UserError(
            f"{path} {state}; run `thesiskit {self.command(stage)} CONFIG` first, "
            "or all stages with `thesiskit run CONFIG`"
        )

    def record_run(self, **entries) -> None:
        """Keep config, data, code and machine beside the results."""
        self.results.update_provenance(
            experiment=self.config.experiment,
            config=self.work.described,
            data={"sha256": self.work.data_digest},
            seed=self.config.seed,
            **surroundings(),
            **entries,
        )


def _note(draws: Path) -> Path:
    """Return the file that says which cell a file of draws is of."""
    return draws.with_name(f"{draws.stem}.key")


def _told(failures: list[Failure], of: int) -> str:
    """Say which cells failed, and what is lost by it."""
    few = "; ".join(f"{one.cell} ({one.reason})" for one in failures[:3])
    more = f" and {len(failures) - 3} others" if len(failures) > 3 else ""
    return (
        f"{len(failures)} of {of} cells failed: {few}{more}\n"
        "All others are kept; the same command makes these again, "
        "`thesiskit batch status CONFIG` shows what they said"
    )
