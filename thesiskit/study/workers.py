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
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import connection, forkserver
from types import ModuleType
from typing import Any, NamedTuple

from thesiskit.errors import ThesiskitError
from thesiskit.files import remove
from thesiskit.models import chains
from thesiskit.study.cells import Cell, Graph

PATIENCE = 15.0  # seconds that a child has to save what it has
STOP_SECONDS = 2.0  # within which all processes of a job hear that it ends
FORKSERVER = multiprocessing.get_context("forkserver")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def _start_server(modules: tuple[str, ...]) -> None:
    """Start the fork server, unless it runs; it imports modules, so that workers start quickly."""
    signals = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # until the server ignores them
    FORKSERVER.set_forkserver_preload(["thesiskit.study.preload", *modules])
    usual = dict(os.environ)
    # It would look in the current folder first, which may hold the sources and no kernels.
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    try:
        os.environ.update(PYTHONSAFEPATH="1", PYTHONPATH=path)
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(usual)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
        # A child would import the script that this process runs, of which it needs nothing: that
        # takes time, and a script without `if __name__ == "__main__"` would run again.
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            self.process.start()
        finally:
            sys.modules["__main__"] = main
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

    def __init__(self, graph: Graph, jobs: int):
        self.graph, self.jobs = graph, jobs
        work = graph.work
        self.opening = (type(work), work.config, work.folder, graph.results)
        _start_server(work.modules)
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
        known = {cell.id for cell in cells}
        waiting = {
            cell.id: {needed.id for needed in self.graph.needs(cell)} & known for cell in cells
        }
        ready = deque(cell for cell in cells if not waiting[cell.id])
        then: dict[str, list[Cell]] = {}  # the cells that wait for one
        for cell in cells:
            for needed in waiting[cell.id]:
                then.setdefault(needed, []).append(cell)
        busy: list[Worker] = []
        try:
            while ready or busy:
                stopped = stop is not None and stop.is_set()
                while ready and not stopped and len(busy) < self.jobs:
                    busy.append(self._free(busy))
                    busy[-1].give(ready.popleft(), all_of_it=all_of_it)
                if not busy:
                    return
                pipes = [worker.pipe for worker in busy]
                answered = connection.wait(pipes, 0.5 if stop else None)
                if stopped:
                    self._ask_to_stop()
                for worker in [worker for worker in busy if worker.pipe in answered]:
                    busy.remove(worker)
                    made, failure, error = self._result(worker, stop)
                    if error is not None and not patient:
                        raise error
                    if made is None:
                        continue
                    yield made, failure
                    for after in then.get(made.id, ()) if failure is None else ():
                        waiting[after.id].remove(made.id)
                        if not waiting[after.id]:
                            ready.appendleft(after)
        except BaseException:
            self.close()
            raise

    def _free(self, busy: list[Worker]) -> Worker:
        for worker in self.workers:
            if worker not in busy and worker.process.is_alive():
                return worker
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
            remove(self.graph.files.path(cell, "running"))
            return None, None, None
        reasons = {"stopped": "its process was told to stop", "dead": worker.death}
        failure = Failure(cell, reasons.get(state) or str(error), log)
        with suppress(ThesiskitError):  # on a full disk nothing can be written
            remove(self.graph.files.path(cell, "running"))
            self.graph.files.fail(cell, failure.reason, failure.log)
        return cell, failure, error if isinstance(error, ThesiskitError) else None

    def _ask_to_stop(self) -> None:
        for worker in self.workers:
            with suppress(OSError):
                worker.pipe.send(None)

    def close(self) -> None:
        """End the children; those at work save what they have."""
        self._ask_to_stop()
        for worker in self.workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()
        self.workers.clear()


def _work(pipe, opening: tuple, environment: dict[str, str]) -> None:
    """Make cells as they are handed over, until the pipe says to stop, or is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, who asks to stop
    signal.signal(signal.SIGTERM, lambda *_: chains.stopping.set())  # as a cancelled job does
    # chains of a fit have a thread for each core, for the last fits have no others beside them
    os.environ.clear()
    os.environ.update(environment, **ONE_THREAD)  # libraries may still be loaded

    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # more threads add numbers in another order
    kind, config, folder, results = opening
    try:
        graph, problem = Graph(kind(config, folder), results), None
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
