"""Which cells an experiment has, what each needs, whether it is done, and how it is made.

A stage of a block is made of cells, one for each arm and one for each of its chains, and is joined
to one file when they are done.  What the stages and arms are, and what a cell computes, is for the
experiment's `Work` to say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from thesiskit.config import Config
from thesiskit.errors import ResultsError, ThesiskitError, UserError
from thesiskit.experiments.cells.cell import Cell, CellFiles, Meter
from thesiskit.experiments.cells.seeds import digest
from thesiskit.experiments.cells.unfinished import Unfinished
from thesiskit.experiments.work import Work
from thesiskit.files import Results, code_digest, remove_draws, sealed, without_times
from thesiskit.models.chains import Arrays


class Blocks(Sequence[range]):
    """The replicates of each result file; a range is made when it is asked for.

    Of a logistic model with folds, each fold counts as a replicate.  The replicates of a setting
    of the data come one after the other, and share no file with those of another.
    """

    def __init__(self, config: Config):
        alone = config.data is None and config.reduction is None
        self.settings = config.n_settings
        self.replicates = 1 if alone else config.divisions // self.settings  # of a setting
        self.block = 1 if alone else config.block

    @property
    def _of_setting(self) -> int:
        return -(-self.replicates // self.block)

    def __len__(self) -> int:
        return self.settings * self._of_setting

    def __getitem__(self, number):
        if not 0 <= number < len(self):
            raise IndexError(number)
        setting, place = divmod(number, self._of_setting)
        start, end = setting * self.replicates, (setting + 1) * self.replicates
        start += place * self.block
        return range(start, min(start + self.block, end))


@dataclass(frozen=True)
class GraphBlock:
    """A block as a kind of experiment sees it: the `Block` of experiments/work.py."""

    graph: "Graph"
    number: int

    @property
    def replicates(self) -> range:
        """The replicates of the block."""
        return self.graph.blocks[self.number]

    @property
    def code(self) -> str:
        """A digest of the code of this kind of experiment."""
        return self.graph.code

    def key(self, stage: str, arm: str = "") -> str:
        """Return the key of a stage, or of an arm of it."""
        return self.graph.key(stage, self.number, arm)

    def load(self, stage: str, names: Sequence[str] | None = None) -> Arrays:
        """Return the arrays of a stage before this one, or some of them."""
        return self.graph.load(stage, self.number, names)

    def load_any(self, stage: str) -> Arrays:
        """Return the arrays of a stage, whatever they were made from."""
        return self.graph.results.load(stage, self.number)

    def read(self, stage: str, arm: str, chain: int | None = None) -> Arrays:
        """Return the arrays of an arm, or of one of its chains."""
        return self.graph.read(stage, self.number, arm, chain)

    def draws(self, stage: str, arm: str) -> Path:
        """Return the file of an arm's draws."""
        path = self.graph.draws(stage, self.number, arm)
        assert path is not None, f"{arm} has no draws"
        return path


class Graph:
    """The cells of a config and its results.

    folder : of the config file; data paths start there.
    """

    def __init__(self, config: Config, results: Results, folder: Path):
        self.config, self.results, self.folder = config, results, folder
        self.work: Work = open_work(config, folder)
        self.files = CellFiles(results.folder)
        self.blocks = Blocks(config)
        self.stages = self.work.stages
        self._chains: dict[tuple[str, str], str] = {}
        self._kept: dict[tuple[str, int], Arrays] = {}

    def block(self, number: int) -> GraphBlock:
        """Return a block as a kind of experiment sees it."""
        return GraphBlock(self, number)

    # ---- cells ----

    def cell(self, stage: str, number: int, arm: str = "", chain: int | None = None) -> Cell:
        """Return a cell; without an arm, that of a stage which is one cell."""
        key = self.key(stage, number, arm, chain)
        return Cell(key[:16], key, stage, number, arm, chain)

    def cells(self, stage: str, number: int) -> list[Cell]:
        """Return the cells of a stage of a block; an arm comes after its chains."""
        found = []
        for arm, chains in (self.work.arms(stage) or {"": 0}).items():
            found += [self.cell(stage, number, arm, chain) for chain in range(chains)]
            found.append(self.cell(stage, number, arm))
        return found

    def cells_of(self, number: int) -> list[Cell]:
        """Return the cells of all stages of a block."""
        return [cell for stage in self.stages for cell in self.cells(stage, number)]

    def all_cells(self) -> Iterator[Cell]:
        """Yield every cell of the experiment, block by block."""
        for number in range(len(self.blocks)):
            yield from self.cells_of(number)

    def knows(self, cell: Cell) -> bool:
        """Whether a cell is of these settings, data and code."""
        return self.cell(cell.stage, cell.block, cell.arm, cell.chain) == cell

    def needs(self, cell: Cell) -> list[Cell]:
        """Return the cells that must be done before: one of each stage before, and its chains."""
        found = []
        for stage in self.stages[: self.stages.index(cell.stage)]:
            arms = self.work.arms(stage)
            if not arms:
                found.append(self.cell(stage, cell.block))
            elif cell.arm in arms:
                found.append(self.cell(stage, cell.block, cell.arm))
        return found + self.chains(cell)

    def chains(self, cell: Cell) -> list[Cell]:
        """Return the chains that a cell is made from."""
        many = self.work.arms(cell.stage).get(cell.arm, 0) if cell.chain is None else 0
        return [self.cell(cell.stage, cell.block, cell.arm, chain) for chain in range(many)]

    def done(self, cell: Cell) -> bool:
        """Whether the file of a cell is complete, or the file of what was made from it."""
        if not cell.arm:
            return self.results.key(cell.stage, cell.block) == cell.key
        if cell.chain is not None:
            arm = self.cell(cell.stage, cell.block, cell.arm)
            return self.files.complete(cell) or self.done(arm)
        return self.files.complete(cell) and self._drawn(cell)

    def draws(self, stage: str, number: int, arm: str) -> Path | None:
        """Return the file of draws of an arm, None if it has none."""
        name = self.work.draws_name(stage, arm)
        return None if name is None else self.results.draws(stage, number, name)

    def _drawn(self, cell: Cell) -> bool:
        """Whether the file of draws of an arm belongs to this cell; others have the same name."""
        draws = self.draws(cell.stage, cell.block, cell.arm)
        return draws is None or sealed(draws, cell.key)

    def make(self, cell: Cell) -> None:
        """Make a cell from those that it needs, and write its file."""
        if not self.knows(cell):
            raise UserError("code or data have changed since this was begun; begin again")
        self.files.begin(cell)
        unfinished = self._unfinished(cell)
        block = self.block(cell.block)
        try:
            with Meter() as meter:
                if cell.arm:
                    arrays = self.work.make_arm(cell.stage, cell.arm, cell.chain, block, unfinished)
                else:
                    arrays = self.work.make(cell.stage, block)
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
        self.files.clear_failure(cell)
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

    def read(self, stage: str, number: int, arm: str, chain: int | None = None) -> Arrays:
        """Return the arrays of an arm, or of one of its chains."""
        cell = self.cell(stage, number, arm, chain)
        if not self.files.complete(cell):
            raise UserError(
                f"{self.files.path(cell)} ({cell}) is not there; run "
                f"`thesiskit {self.work.command(stage)} CONFIG --force` first"
            )
        try:
            return self.files.load(cell)
        except ResultsError:
            if self.files.damaged(cell):  # so that it is made again
                self.files.remove(cell)
            raise

    def _unfinished(self, cell: Cell) -> Unfinished:
        return Unfinished(self.results.folder / "unfinished" / f"{cell.id}.npz", cell.key)

    def forget(self, stage: str, number: int) -> None:
        """Remove all files of a stage of a block."""
        self.results.remove(stage, number)
        for cell in self.cells(stage, number):
            self.files.remove(cell)
            self._unfinished(cell).remove()
            draws = self.draws(stage, number, cell.arm)
            if draws is not None:
                remove_draws(draws)

    # ---- keys ----

    @cached_property
    def code(self) -> str:
        """A digest of the code that this kind of experiment imports."""
        return code_digest(self.work.modules)

    def key(self, stage: str, number: int, arm: str = "", chain: int | None = None) -> str:
        """Return the key that a file must have: a digest of all that leads to it."""
        replicates = self.blocks[number]
        return digest([self._leading_to(stage, arm), replicates.start, replicates.stop, chain])

    def _leading_to(self, stage: str, arm: str) -> str:
        if (stage, arm) not in self._chains:
            before = self.stages[: self.stages.index(stage) + 1]
            settings = [self.work.settings_of(name, arm) for name in before]
            self._chains[stage, arm] = digest([stage, arm, self.code, settings])
        return self._chains[stage, arm]

    # ---- files of a whole stage ----

    def whole(self, stage: str, number: int) -> bool:
        """Whether the file of a stage of a block is complete, with its files of draws."""
        return self.results.key(stage, number) == self.key(stage, number) and all(
            self._drawn(self.cell(stage, number, arm)) for arm in self.work.arms(stage)
        )

    def mend(self, stage: str, number: int) -> list[Path]:
        """Remove the damaged files of a stage of a block, so that they are made again.

        The file of the stage and its files of draws are read; cells are read as long as this
        stage, or one after it, is not whole.  Returns the paths of what was removed.
        """
        found = []
        path = self.results.path(stage, number)
        if path.exists() and self.results.key(stage, number, thorough=True) is None:
            found.append(path)
            self.results.remove(stage, number)
        for arm in self.work.arms(stage):
            draws = self.draws(stage, number, arm)
            # without a seal it counts as not done, or is just being written
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
        """Whether the cells will be read: this stage, or one after it, is not whole."""
        return not all(self.whole(one, number) for one in self.stages[self.stages.index(stage) :])

    def to_do(self, stage: str, number: int) -> bool:
        """Whether a stage is not whole, or one after it needs cells that are not there."""
        return self.reads_cells(stage, number) and not (
            self.whole(stage, number) and all(map(self.done, self.cells(stage, number)))
        )

    def join(self, stage: str, number: int) -> None:
        """Write the file of a stage of a block from its cells."""
        arms = self.work.arms(stage)
        if arms:
            found = [self.read(stage, number, arm) for arm in arms]
            arrays = self.work.join(stage, found, self.block(number))
            self.results.save(stage, number, self.key(stage, number), arrays)

    def join_what_can_be(self, number: int) -> bool:
        """Join the stages of a block whose cells are done; return whether all are joined."""
        for stage in self.stages:
            if self.whole(stage, number):
                continue
            arms = self.work.arms(stage)
            if not arms or not all(self.done(self.cell(stage, number, arm)) for arm in arms):
                return False
            self.join(stage, number)
        return True

    def load(self, stage: str, number: int, names: Sequence[str] | None = None) -> Arrays:
        """Return the arrays of a stage, or some of them, checked to be what this config leads to.

        All arrays of the last block are kept: cells of a block mostly come one after another.
        """
        kept = self._kept.get((stage, number))
        if kept is None:
            self.require(stage, number)
            if names is not None:
                return self.results.load(stage, number, tuple(names))
            self._kept = {key: value for key, value in self._kept.items() if key[0] != stage}
            kept = self._kept[stage, number] = self.results.load(stage, number)
        return kept if names is None else {name: kept[name] for name in names}

    def require(self, stage: str, number: int) -> str:
        """Return the key of a stage if its file has it, or say what to run."""
        found, wanted = self.results.key(stage, number), self.key(stage, number)
        if found == wanted:
            return wanted
        path = self.results.path(stage, number)
        state = "was made with other settings, data or code"
        if found is None:
            state = "is damaged" if path.exists() else "is not there"
        raise UserError(
            f"{path} {state}; run `thesiskit {self.work.command(stage)} CONFIG` first, "
            "or all stages with `thesiskit run CONFIG`"
        )


def open_work(config: Config, folder: Path) -> Work:
    """Return the work of a config; only the modules of its own kind are imported."""
    kind: type[Work]
    if config.reduction is not None:
        from thesiskit.experiments.reduction import ReductionWork as kind
    elif config.data is None:
        from thesiskit.experiments.lattice import LatticeWork as kind
    elif config.model.kind == "logistic":
        from thesiskit.experiments.logistic.work import LogisticWork as kind
    else:
        from thesiskit.study.selecting import SelectionWork as kind
    return kind(config, folder)
