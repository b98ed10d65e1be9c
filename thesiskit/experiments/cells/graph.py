"""The cells of an experiment: which there are, what each needs, whether it is done, how it is made.

A block of a stage is made of cells, one for each arm and chain, and joined when they are done.
What the stages and arms are, and how a cell is made, is for the experiment's work to say.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thesiskit.config import Config
from thesiskit.errors import ResultsError, ThesiskitError, UserError
from thesiskit.experiments.cells.cell import Cell, CellFiles, Meter
from thesiskit.experiments.cells.seeds import digest
from thesiskit.experiments.cells.unfinished import Unfinished
from thesiskit.experiments.work import Work
from thesiskit.store.draws import remove_draws, sealed
from thesiskit.store.provenance import code_digest
from thesiskit.store.results import Results, without_times


class Blocks(Sequence[range]):
    """The replicates, or divisions, of each result file; made when asked for: there can be many."""

    def __init__(self, divisions: int, block: int):
        self.divisions, self.block = divisions, block

    def __len__(self) -> int:
        return -(-self.divisions // self.block)

    def __getitem__(self, number):
        if not 0 <= number < len(self):
            raise IndexError(number)
        start = number * self.block
        return range(start, min(start + self.block, self.divisions))


def blocks(config: Config) -> Blocks:
    """Return the replicates, or divisions, of each result file."""
    alone = config.data is None and config.reduction is None
    return Blocks(1, 1) if alone else Blocks(config.divisions, config.block)


def work_of(experiment: "Making") -> Work:
    """Return the work of an experiment; only the modules of its own kind are imported."""
    if experiment.config.reduction is not None:
        from thesiskit.experiments.reduction import ReductionWork

        return ReductionWork(experiment)
    if experiment.config.data is None:
        from thesiskit.experiments.lattice import LatticeWork

        return LatticeWork(experiment)
    if experiment.config.model.kind == "logistic":
        from thesiskit.experiments.logistic.work import LogisticWork

        return LogisticWork(experiment)
    from thesiskit.experiments.selection.work import SelectionWork

    return SelectionWork(experiment)


class Making:
    """A config with its results, cell by cell.

    folder : of the config file; data paths start there.
    """

    def __init__(self, config: Config, results: Results, folder: Path):
        self.config, self.results, self.folder = config, results, folder
        self.files = CellFiles(results.folder)
        self.blocks = blocks(config)
        self.work = work_of(self)
        self.stages = self.work.stages
        self._chains: dict[tuple[str, str], str] = {}
        self._kept: dict[tuple[str, int], dict[str, np.ndarray]] = {}

    def command(self, stage: str) -> str:
        """The command of a stage."""
        return self.work.command(stage)

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

    def cells_of(self, number: int) -> list[Cell]:
        """Return the cells of all stages of a block."""
        return [cell for stage in self.stages for cell in self.cells(stage, number)]

    def knows(self, cell: Cell) -> bool:
        """Whether a cell is of these settings, data and code."""
        return self.cell(cell.stage, cell.block, cell.arm, cell.chain) == cell

    def needs(self, cell: Cell) -> list[Cell]:
        """Return the cells that must be done before: of each stage before, and chains."""
        found = []
        for stage in self.stages[: self.stages.index(cell.stage)]:
            arms = self.work.arms(stage)
            if not arms:
                found.append(self.cell(stage, cell.block))
            elif cell.arm in arms:
                found.append(self.cell(stage, cell.block, cell.arm))
        return found + self.chains(cell)

    def chains(self, cell: Cell) -> list[Cell]:
        """Return the chains that a cell compares."""
        many = self.work.arms(cell.stage).get(cell.arm, 0) if cell.chain is None else 0
        return [self.cell(cell.stage, cell.block, cell.arm, chain) for chain in range(many)]

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
        return draws is None or sealed(draws, cell.key)

    def make(self, cell: Cell) -> None:
        """Make a cell from those that it needs, and write its file."""
        if not self.knows(cell):
            raise UserError("code or data have changed since this was begun; begin again")
        self.files.begin(cell)
        unfinished = Unfinished(self._unfinished(cell), cell.key)
        try:
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
            if cell.arm:
                self.files.save(cell, kept)
            else:
                self.results.save(cell.stage, cell.block, cell.key, arrays)
        except ThesiskitError:
            if not self.done(cell):  # else another job has made it just now, and tidied up
                raise
        finally:
            self.files.end(cell)
        unfinished.remove()
        self.files.forgive(cell)
        for one in self.chains(cell):  # their draws are in the file of draws now
            self.files.remove(one)

    def ensure(self, cell: Cell) -> None:
        """Make a cell, and before it all that it needs, where that is not done."""
        for one in self.needs(cell):
            if self.done(cell):
                return
            self.ensure(one)
        if not self.done(cell):
            self.make(cell)

    def read(self, stage: str, number: int, arm: str, chain: int | None = None):
        """Return the arrays of an arm, or of a chain."""
        cell = self.cell(stage, number, arm, chain)
        if not self.files.stands(cell):
            raise UserError(
                f"{self.files.path(cell)} ({cell}) is not there; run "
                f"`thesiskit {self.command(stage)} CONFIG --force` first"
            )
        try:
            return self.files.load(cell)
        except ResultsError:
            if self.files.damaged(cell):  # then it is to do, whoever asks
                self.files.remove(cell)
            raise

    def _unfinished(self, cell: Cell) -> Path:
        return self.results.folder / "unfinished" / f"{cell.id}.npz"

    def forget(self, stage: str, number: int) -> None:
        """Remove all that there is of a block."""
        self.results.remove(stage, number)
        for cell in self.cells(stage, number):
            self.files.remove(cell)
            Unfinished(self._unfinished(cell), cell.key).remove()
            draws = self.work.draws(stage, number, cell.arm)
            if draws is not None:
                remove_draws(draws)

    # ---- blocks ----

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

    def whole(self, stage: str, number: int) -> bool:
        """Whether a block stands, with all that is beside it."""
        return self.results.key(stage, number) == self.key(stage, number) and all(
            self._drawn(self.cell(stage, number, arm)) for arm in self.work.arms(stage)
        )

    def mend(self, stage: str, number: int) -> list[Path]:
        """Remove what is damaged of a block, so that it counts as not done; return its paths.

        All is read: the block, its files of draws, and, as long as the block or one after it is
        not whole, its cells.
        """
        found = []
        path = self.results.path(stage, number)
        if path.exists() and self.results.key(stage, number, thorough=True) is None:
            found.append(path)
            self.results.remove(stage, number)
        for arm in self.work.arms(stage):
            draws = self.work.draws(stage, number, arm)
            # without a seal it counts as not done, or somebody is writing it just now
            if draws is not None and sealed(draws) and not sealed(draws, thorough=True):
                found.append(draws)
                remove_draws(draws)
        if self.reads_cells(stage, number):
            for cell in self.cells(stage, number):
                if cell.arm and self.files.damaged(cell):
                    found.append(self.files.path(cell))
                    self.files.remove(cell)
        return found

    def reads_cells(self, stage: str, number: int) -> bool:
        """Whether the cells of a block will be read: it, or one after it, is not whole."""
        return not all(self.whole(one, number) for one in self.stages[self.stages.index(stage) :])

    def to_do(self, stage: str, number: int) -> bool:
        """Whether a block is not whole, or one after it needs cells that are not there."""
        return self.reads_cells(stage, number) and not (
            self.whole(stage, number) and all(map(self.done, self.cells(stage, number)))
        )

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
