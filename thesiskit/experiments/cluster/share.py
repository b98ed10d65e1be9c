"""Which cells a job makes, how many each job has, and what a job does after the last of them.

Jobs do not communicate.  A job makes those of its cells that are not done, and the cells that they
need.  When all chains of an arm are done, the job that made the last one also compares the chains,
predicts, and joins the block.  If two jobs do so at the same time, they write the same bytes.
"""

import math
import threading
from collections import Counter
from collections.abc import Sequence

from thesiskit.errors import UserError
from thesiskit.experiments.cells.cell import Cell
from thesiskit.experiments.cells.graph import Graph
from thesiskit.experiments.cells.workers import Failure, Workers
from thesiskit.experiments.experiment import Experiment

UNKNOWN = 8  # cells in a job, as long as no cell has been timed
LEAST_SECONDS = 60.0  # of a job, where there are cells enough


def first_cells(graph: Graph, *, done: bool = False) -> list[Cell]:
    """Return the cells that jobs begin with, of which all others follow.

    They are the chains of arms that have chains, and else the last cell of an arm, or of a block;
    chains of a block lie side by side.  With `done`, those that are done too.
    """
    found = []
    for number in range(len(graph.blocks)):
        cells = graph.cells_of(number)
        needed = {cell.id: graph.needs(cell) for cell in cells}
        before = {one.id for needs in needed.values() for one in needs}
        for end in (cell for cell in cells if cell.id not in before):
            leading = [*needed[end.id], end]
            if not done and all(map(graph.done, leading)):
                continue
            chains = [chain for one in leading for chain in graph.chains(one)]
            left = chains if done else [one for one in chains if not graph.done(one)]
            found += left or [end if done else _first(graph, leading)]
    return found


def _first(graph: Graph, cells: Sequence[Cell]) -> Cell:
    """Return the last cell, of an arm, or the first that is not done where that one is."""
    return next((one for one in cells if one.arm and not graph.done(one)), cells[-1])


def part(cells: Sequence[Cell], i: int, n: int) -> Sequence[Cell]:
    """Return the i-th of n equal parts of cells, from 1."""
    mine = cells[len(cells) * (i - 1) // n : len(cells) * i // n]
    if not mine:
        raise UserError(f"{len(cells)} cells have no share {i} of {n}; use fewer shares")
    return mine


def cells_per_job(graph: Graph, cells: int, width: int, minutes: float, cpus: int) -> int:
    """Return how many cells a job should have, by the seconds of those that are done.

    As many jobs as may run at once, unless they were shorter than a minute, or longer than half
    their time limit.
    """
    even = math.ceil(cells / width)
    seconds = _mean_seconds(graph)
    if seconds is None:
        return max(even, min(UNKNOWN, cells))
    least = math.ceil(LEAST_SECONDS * cpus / seconds)
    most = max(1, math.floor(30 * minutes * cpus / seconds))
    return min(max(even, least), most, cells)


def _mean_seconds(graph: Graph, enough: int = 3) -> float | None:
    """Return seconds by cell to begin with, all that follows included: of some whole blocks."""
    found = []
    begun = Counter(cell.block for cell in first_cells(graph, done=True))
    for number in range(len(graph.blocks)):
        cells = graph.cells_of(number)
        if not all(map(graph.done, cells)):
            continue
        seconds = sum(graph.files.about(cell).get("seconds", 0.0) for cell in cells)
        found.append(max(seconds, 1e-3) / begun[number])
        if len(found) == enough:
            break
    return sum(found) / len(found) if found else None


def make(
    experiment: Experiment, cells: Sequence[Cell], stop: threading.Event
) -> list[Failure] | None:
    """Make what is not done of cells, and return what failed; None when stopped early."""
    experiment.results.prepare()
    graph = experiment.graph
    failures: list[Failure] = []
    tried: set[str] = set()  # a process that is told to stop leaves neither result nor failure
    workers = Workers(graph, max(1, experiment.jobs))
    try:
        todo = [cell for cell in cells if not graph.done(cell)]
        while todo:
            tried |= {cell.id for cell in todo}
            made = workers.make(todo, all_of_it=True, stop=stop, patient=True)
            failures += [failure for _, failure in made if failure is not None]
            if stop.is_set():
                return None
            todo = [one for one in _after(graph, cells) if one.id not in tried]
        for number in sorted({cell.block for cell in cells}):
            graph.join_what_can_be(number)
    finally:
        workers.close()
    return failures


def _after(graph: Graph, cells: Sequence[Cell]) -> list[Cell]:
    """Return what can be made of the arms of cells now: all that it needs is done, and it is not.

    What could be made on the way, by any cell of them, is left to that.
    """
    found = []
    for number, arm in dict.fromkeys((cell.block, cell.arm) for cell in cells if cell.arm):
        mine = (one for one in graph.cells_of(number) if one.arm == arm and one.chain is None)
        for cell in mine:
            if not graph.done(cell) and all(map(graph.done, graph.needs(cell))):
                found.append(cell)
                break
    return found
