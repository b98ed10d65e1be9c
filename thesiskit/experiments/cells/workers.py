"""Child processes that make cells, each supervised by itself: one that dies costs one cell.

They are forked by a fork server, a process that has imported what cells need, and that ends with
this one.  The parent hands a child one cell at a time; a child notices that its parent is gone when
the pipe between them is closed, saves what it has, and ends.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection, forkserver
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from thesiskit.errors import ThesiskitError
from thesiskit.experiments.cells.cell import Cell
from thesiskit.models import chains

if TYPE_CHECKING:
    from thesiskit.experiments.cells.graph import Graph

PATIENCE = 15.0  # seconds that a child has to save what it has
STOP_SECONDS = 2.0  # within which all processes of a job hear that it ends
FORKSERVER = multiprocessing.get_context("forkserver")
LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _start_server(module: str) -> None:
    """Start the fork server, unless it runs; it imports a module, so that workers start quickly."""
    signals = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # until the server ignores them
    FORKSERVER.set_forkserver_preload(["thesiskit.experiments.cells.preload", module])
    # It would look in the current folder first, which may hold the sources and no kernels.
    path = os.pathsep.join(os.path.abspath(one) for one in sys.path)
    try:
        with _environment(PYTHONSAFEPATH="1", PYTHONPATH=path):
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(**changes: str) -> Iterator[None]:
    """Give processes that are started in the block other variables."""
    usual = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(usual)


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep a child from importing the script that this process runs: it needs nothing of it.

    It would take time, and a script without `if __name__ == "__main__"` would run again.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class Failure(NamedTuple):
    """A cell that failed, and why."""

    cell: Cell
    reason: str
    log: str = ""


class Worker:
    """One child process, and the cell that it is at work on."""

    def __init__(self, opening: tuple):
        self.pipe, its = FORKSERVER.Pipe()
        arguments = (its, opening, dict(os.environ))
        self.process = FORKSERVER.Process(target=_work, args=arguments, daemon=True)
        with _no_main_module():
            self.process.start()
        its.close()
        self.cell: Cell | None = None

    def give(self, cell: Cell, *, all_of_it: bool) -> None:
        """Hand over a cell, perhaps with all that it needs."""
        self.cell = cell
        with suppress(OSError):  # it is dead: its end of the pipe says so
            self.pipe.send((cell, all_of_it))

    def answer(self) -> tuple[str, Any, str, bool]:
        """Return what came of the cell: done, stopped or failed, the error, its log; the end?"""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return "dead", None, "", True

    @property
    def death(self) -> str:
        """How it died, in words."""
        code = self.process.exitcode or 0
        if code >= 0:
            return f"its process ended with exit code {code}"
        name = signal.Signals(-code).name
        more = ": perhaps the machine ran out of memory" if -code == signal.SIGKILL else ""
        return f"its process was killed by {name}{more}"


class Workers:
    """Makes cells in child processes.

    graph : whose cells they are; each child opens it for itself.
    """

    def __init__(self, graph: "Graph", jobs: int):
        self.graph = graph
        self.jobs = jobs
        self.opening = (graph.config, graph.results, graph.folder)
        _start_server(type(graph.work).__module__)
        self.workers: list[Worker] = []

    def make(
        self,
        cells: list[Cell],
        *,
        all_of_it: bool = False,
        stop: threading.Event | None = None,
        patient: bool = False,
    ) -> Iterator[tuple[Cell, Failure | None]]:
        """Make cells and yield each that is done, or its failure.

        An error of ours, which other cells would meet too, is raised, unless `patient`.

        A cell waits for those of `cells` that it needs, and is left out if one of them fails.
        all_of_it : children make what else a cell needs, too.
        stop : when it is set, cells that run are saved, and no others begun.
        """
        ready, waiting, then = _graph(cells, self.graph.needs)
        busy: list[Worker] = []
        try:
            while ready or busy:
                stopped = stop is not None and stop.is_set()
                while ready and not stopped and len(busy) < self.jobs:
                    busy.append(self._free(busy))
                    busy[-1].give(ready.popleft(), all_of_it=all_of_it)
                if not busy:
                    return
                pipes = [one.pipe for one in busy]
                answered = connection.wait(pipes, 0.5 if stop else None)
                if stopped:
                    self._ask_to_stop()
                for worker in [one for one in busy if one.pipe in answered]:
                    busy.remove(worker)
                    cell, failure, error = self._result(worker, stop)
                    if error is not None and not patient:
                        raise error
                    if cell is None:
                        continue
                    yield cell, failure
                    for one in then.get(cell.id, ()) if failure is None else ():
                        waiting[one.id] -= 1
                        if waiting[one.id] == 0:
                            ready.appendleft(one)
        except BaseException:
            self.close()
            raise

    def _free(self, busy: list[Worker]) -> Worker:
        for one in self.workers:
            if one not in busy and one.process.is_alive():
                return one
        self.workers.append(Worker(self.opening))
        return self.workers[-1]

    def _result(
        self, worker: Worker, stop: threading.Event | None
    ) -> tuple[Cell | None, Failure | None, ThesiskitError | None]:
        """Return a worker's cell, None if it was stopped; how it failed; and an error of ours."""
        cell = worker.cell
        assert cell is not None
        state, error, log, last = worker.answer()
        if last:
            self.workers.remove(worker)
        if state == "done":
            return cell, None, None
        # a cancelled job's children hear of it when the job does, or just before
        told = state == "stopped" or worker.process.exitcode == -signal.SIGTERM
        if told and stop is not None:
            stop.wait(STOP_SECONDS)
            self.graph.files.end(cell)
            return None, None, None
        reasons = {"stopped": "its process was told to stop", "dead": worker.death}
        failure = Failure(cell, reasons.get(state) or str(error), log)
        with suppress(ThesiskitError):  # on a full disk nothing can be written
            self.graph.files.end(cell)
            self.graph.files.fail(cell, failure.reason, failure.log)
        return cell, failure, error if isinstance(error, ThesiskitError) else None

    def _ask_to_stop(self) -> None:
        for one in self.workers:
            with suppress(OSError):
                one.pipe.send(None)

    def close(self) -> None:
        """End the children; those at work save what they have."""
        self._ask_to_stop()
        for one in self.workers:
            one.process.join(PATIENCE)
            if one.process.is_alive():
                one.process.kill()
                one.process.join()
            one.pipe.close()
        self.workers.clear()


def _graph(cells: list[Cell], needs: Callable[[Cell], list[Cell]]):
    """Return cells that wait for none of the others, how many each waits for, and who for it."""
    known = {cell.id for cell in cells}
    ready: deque[Cell] = deque()
    waiting: dict[str, int] = {}
    then: dict[str, list[Cell]] = {}
    for cell in cells:
        mine = [one.id for one in needs(cell) if one.id in known]
        if not mine:
            ready.append(cell)
            continue
        waiting[cell.id] = len(mine)
        for one in mine:
            then.setdefault(one, []).append(cell)
    return ready, waiting, then


def _work(pipe, opening: tuple, environment: dict[str, str]) -> None:
    """Make cells as they are handed over, until the pipe says to stop, or is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, who asks to stop
    signal.signal(signal.SIGTERM, lambda *_: chains.stopping.set())  # as a cancelled job does
    one_thread = dict.fromkeys(LIBRARIES, "1")  # of libraries still to be loaded
    # chains of a fit have a thread for each core, for the last fits have no others beside them
    os.environ.clear()
    os.environ.update(environment, **one_thread)

    from threadpoolctl import threadpool_limits

    from thesiskit.experiments.cells.graph import Graph

    threadpool_limits(1)  # more threads add numbers in another order
    try:
        graph, problem = Graph(*opening), None
    except Exception as error:
        graph, problem = None, _failed(error)
    orders: deque = deque()
    told = threading.Condition()
    threading.Thread(target=_listen, args=(pipe, orders, told), daemon=True).start()
    while True:
        with told:
            while not orders:
                told.wait(0.5)  # a signal is heard in between
                if chains.stopping.is_set():
                    return
            order = orders.popleft()
        if order is None:
            return
        cell, all_of_it = order
        answer = problem or _make(graph, cell, all_of_it=all_of_it)
        last = chains.stopping.is_set() or problem is not None
        with suppress(OSError):  # the parent is gone: the end of the orders says so
            pipe.send((*answer, last))
        if last:
            return


def _listen(pipe, orders: deque, told: threading.Condition) -> None:
    """Take orders; at the end of them, ask what runs to save itself."""
    order: Any = True
    while order is not None:
        try:
            order = pipe.recv()
        except (EOFError, OSError):
            order = None
        if order is None:
            chains.stopping.set()
        with told:
            orders.append(order)
            told.notify()


def _make(graph, cell: Cell, *, all_of_it: bool) -> tuple[str, Any, str]:
    try:
        if all_of_it:
            graph.ensure(cell)
        else:
            graph.make(cell)
    except chains.Stopped:
        return "stopped", None, ""
    except Exception as error:
        return _failed(error)
    return "done", None, ""


def _failed(error: Exception) -> tuple[str, Any, str]:
    ours = isinstance(error, ThesiskitError)  # others perhaps cannot be sent
    told = error if ours else f"{type(error).__name__}: {error}"
    return "failed", told, traceback.format_exc()
