"""Shares of an experiment: cells that one job makes, and what it does after the last of them.

Jobs know nothing of each other.  Each makes the cells of its share that are not done, with all
that they need; whoever finds that it made the last of the chains of an arm compares them,
predicts, and joins the block.  Two that find so at once write the same bytes.
"""

import math
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thesiskit.config import Config
from thesiskit.errors import UserError
from thesiskit.experiments.cells.cell import Cell
from thesiskit.experiments.cells.workers import Failure
from thesiskit.experiments.experiment import Experiment
from thesiskit.store.results import Results

UNKNOWN = 8  # cells in a job as long as nobody knows how long one takes
LEAST_SECONDS = 60.0  # of a job, where there are cells enough


def units(experiment: Experiment, *, done: bool = False) -> list[Cell]:
    """Return the cells that jobs begin with, of which all others follow.

    They are the chains of arms that have chains, and else the last cell of an arm, or of a block;
    chains of a block lie side by side.  With `done`, those that are done too.
    """
    found = []
    last = experiment.stages[-1]
    for number in range(len(experiment.graph.blocks)):
        for arm in experiment.graph.work.arms(last) or {"": 0}:
            end = experiment.graph.cell(last, number, arm)
            leading = [*experiment.graph.needs(end), end]
            if not done and all(map(experiment.graph.done, leading)):
                continue
            chains = [chain for one in leading for chain in experiment.graph.chains(one)]
            left = chains if done else [one for one in chains if not experiment.graph.done(one)]
            found += left or [end if done else _first(experiment, leading)]
    return found


def _first(experiment: Experiment, cells: Sequence[Cell]) -> Cell:
    """Return the last cell, of an arm, or the first that is not done where that one is."""
    return next((one for one in cells if one.arm and not experiment.graph.done(one)), cells[-1])


def divided(experiment: Experiment, cells: Sequence[Cell], size: int, jobs: int) -> list["Share"]:
    """Return cells in shares of a size, each to be made by some child processes."""
    results = Results(experiment.results.root.absolute(), experiment.config.experiment)
    opening = (experiment.config, results, experiment.graph.folder.absolute())
    return [
        Share(*opening, tuple(cells[start : start + size]), jobs)
        for start in range(0, len(cells), size)
    ]


def share_of(experiment: Experiment, i: int, n: int, jobs: int) -> "Share":
    """Return the i-th of n shares, from 1, of all cells: the same whatever is done."""
    cells = units(experiment, done=True)
    mine = cells[len(cells) * (i - 1) // n : len(cells) * i // n]
    if not mine:
        raise UserError(f"{len(cells)} cells have no share {i} of {n}; use fewer shares")
    (share,) = divided(experiment, mine, len(mine), jobs)
    return share


def usual_size(experiment: Experiment, cells: int, width: int, minutes: float, jobs: int) -> int:
    """Return how many cells a job should have, by the seconds of those that are done.

    As many jobs as may run at once, unless they were shorter than a minute, or longer than half
    their time limit.
    """
    even = math.ceil(cells / width)
    seconds = _mean_seconds(experiment)
    if seconds is None:
        return max(even, min(UNKNOWN, cells))
    least = math.ceil(LEAST_SECONDS * jobs / seconds)
    most = max(1, math.floor(30 * minutes * jobs / seconds))
    return min(max(even, least), most, cells)


def _mean_seconds(experiment: Experiment, enough: int = 3) -> float | None:
    """Return seconds by cell to begin with, all that follows included: of some whole blocks."""
    found = []
    begun = Counter(cell.block for cell in units(experiment, done=True))
    for number in range(len(experiment.graph.blocks)):
        cells = experiment.graph.cells_of(number)
        if not all(map(experiment.graph.done, cells)):
            continue
        seconds = sum(experiment.graph.files.about(cell).get("seconds", 0.0) for cell in cells)
        found.append(max(seconds, 1e-3) / begun[number])
        if len(found) == enough:
            break
    return sum(found) / len(found) if found else None


@dataclass(frozen=True)
class Share:
    """Cells that one job makes, in order; with all that is needed to make them elsewhere."""

    config: Config
    results: Results
    folder: Path
    cells: tuple[Cell, ...]
    jobs: int

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the cells."""
        return tuple(cell.id for cell in self.cells)

    def make(self, stop: threading.Event) -> bool:
        """Make what is not done; True when all is done or failed, False when stopped early."""
        return self.failures(stop) is not None

    def failures(self, stop: threading.Event) -> list[Failure] | None:
        """Make what is not done, and return what failed; None when stopped early."""
        self.results.prepare()
        experiment = Experiment(self.config, self.results, self.folder, self.jobs)
        for cell in self.cells[:1]:
            if not experiment.graph.knows(cell):
                raise UserError(
                    "code or data have changed since these cells were submitted; submit again"
                )
        failures: dict[str, Failure] = {}
        tried: set[str] = set()  # a process that is told to stop leaves neither result nor failure
        try:
            todo = [cell for cell in self.cells if not experiment.graph.done(cell)]
            while todo:
                tried |= {cell.id for cell in todo}
                for _, failure in experiment.workers().make(
                    todo, all_of_it=True, stop=stop, patient=True
                ):
                    if failure is not None:
                        failures[failure.cell.id] = failure
                if stop.is_set():
                    return None
                todo = [one for one in _after(experiment, self.cells) if one.id not in tried]
            for number in sorted({cell.block for cell in self.cells}):
                experiment.graph.join_what_can_be(number)
        finally:
            experiment.close()
        return list(failures.values())


def _after(experiment: Experiment, cells: Sequence[Cell]) -> list[Cell]:
    """Return what can be made of the arms of cells now: all that it needs is done, and it is not.

    What could be made on the way, by any cell of them, is left to that.
    """
    found = []
    for number, arm in dict.fromkeys((cell.block, cell.arm) for cell in cells):
        for stage in experiment.stages:
            if arm not in experiment.graph.work.arms(stage):
                continue
            cell = experiment.graph.cell(stage, number, arm)
            if not experiment.graph.done(cell) and all(
                map(experiment.graph.done, experiment.graph.needs(cell))
            ):
                found.append(cell)
                break
    return found
