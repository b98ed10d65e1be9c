"""Child processes that make cells, each supervised by itself: one that dies costs one cell.

They are forked by the server of `server`, which ends with the command.  The parent hands a child
one cell at a time; a child notices that its parent is gone when the pipe between them is closed,
saves what it has, and ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from graphlib import TopologicalSorter
from multiprocessing import connection
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING, Any

from thesiskit.errors import ThesiskitError
from thesiskit.files import remove
from thesiskit.models import chains
from thesiskit.study.server import FORKSERVER, ONE_THREAD, SIGNALS, start_server

if TYPE_CHECKING:
    from thesiskit.study.cells import Cell, Graph

PATIENCE = 15.0  # seconds that a child has to save what it has
STOP_SECONDS = 2.0  # within which all processes of a job hear that it ends


# Not concurrent.futures: a killed worker breaks a ProcessPoolExecutor, which does not tell its cell
# and signal; the pool neither asks its workers to save nor ends them when the parent is killed.
class Workers:
    """Makes cells in child processes.

    graph : whose cells they are; each child opens it for itself.
    children : the processes, by our ends of the pipes to them.
    """

    def __init__(self, graph: Graph, jobs: int):
        self.graph, self.jobs = graph, jobs
        self.opening = (type(graph.work), graph.work.config, graph.work.folder, graph.results)
        start_server()
        self.children: dict[Any, Any] = {}

    def make(self, cells: list[Cell], stop: list[int] | None = None) -> Iterator[tuple[Cell, str]]:
        """Make cells and yield each that is done, or why it failed.

        A cell waits for those of `cells` that it needs, and is left out if one of them fails.  An
        error of ours, which other cells would meet too, is raised, unless there is a `stop`.

        stop : of a job: once it has a signal, cells that run are saved, and no others begun.
        """
        known = set(cells)
        order = TopologicalSorter({cell: known.intersection(self.graph.needs(cell))
                                   for cell in cells})  # fmt: skip
        order.prepare()
        ready = deque(order.get_ready())
        busy: dict[Any, Cell] = {}
        at_work = self.graph.at_work
        at_work.clear()
        try:
            while ready or busy:
                stopped = bool(stop)
                while ready and not stopped and len(busy) < self.jobs:
                    pipe = self._idle(busy)
                    busy[pipe] = ready.popleft()
                    at_work[busy[pipe]] = ""
                    with suppress(OSError):  # it is dead: its end of the pipe says so
                        pipe.send(busy[pipe])
                if not busy:
                    return
                answered = connection.wait(busy, None if stop is None else 0.5)
                if stopped:
                    self._ask_to_stop()
                for pipe in answered:
                    cell = busy[pipe]
                    state, reason, error = self._result(pipe, cell, stop)
                    if state == "working":
                        at_work[cell] = reason
                        continue
                    del busy[pipe], at_work[cell]
                    if error is not None and stop is None:
                        raise error
                    if state == "stopped":
                        continue
                    yield cell, reason
                    if not reason:
                        order.done(cell)
                        ready.extendleft(order.get_ready())
        except BaseException:
            self.close()
            raise

    def _idle(self, busy: dict[Any, Cell]) -> Any:
        """Return the pipe to a child that has nothing to do, a new one if need be."""
        for pipe, process in self.children.items():
            if pipe not in busy and process.is_alive():
                return pipe
        pipe, its = FORKSERVER.Pipe()
        arguments = (its, self.opening, dict(os.environ))
        process = FORKSERVER.Process(target=_work, args=arguments, daemon=True)
        # A child would import the script that this process runs, of which it needs nothing: that
        # takes time, and a script without `if __name__ == "__main__"` would run again.
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            process.start()
        finally:
            sys.modules["__main__"] = main
        its.close()
        self.children[pipe] = process
        return pipe

    def _result(
        self, pipe: Any, cell: Cell, stop: list[int] | None
    ) -> tuple[str, str, ThesiskitError | None]:
        """Return the state of a cell (working, done, stopped or failed), its reason, its error.

        The reason of a cell that is at work is the fold that it has reached.
        """
        process = self.children[pipe]
        try:
            state, error, log, last = pipe.recv()
        except (EOFError, OSError):
            process.join()
            state, error, log, last = "dead", _death(process.exitcode or 0), "", True
        if last:
            del self.children[pipe]
        if state in ("done", "working"):
            return state, log, None
        # a cancelled job's children hear of it when the job does, or just before
        told = state == "stopped" or process.exitcode == -signal.SIGTERM
        if told and stop is not None:
            end = time.monotonic() + STOP_SECONDS
            while not stop and time.monotonic() < end:
                time.sleep(0.01)
            remove(self.graph.files.path(cell, "running"))
            return "stopped", "", None
        reason = "its process was stopped" if state == "stopped" else str(error)
        with suppress(ThesiskitError):  # on a full disk nothing can be written
            remove(self.graph.files.path(cell, "running"))
            self.graph.files.fail(cell, reason, log)
        return "failed", reason, error if isinstance(error, ThesiskitError) else None

    def _ask_to_stop(self) -> None:
        for pipe in self.children:
            with suppress(OSError):
                pipe.send(None)

    def close(self) -> None:
        """End the children; those at work save what they have."""
        self._ask_to_stop()
        end = time.monotonic() + PATIENCE
        for pipe, process in self.children.items():
            process.join(max(0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
            pipe.close()
        self.children.clear()


def _death(code: int) -> str:
    """Say how a child died, by its exit code."""
    if code >= 0:
        return f"its process stopped with exit code {code}"
    more = ": out of memory?" if -code == signal.SIGKILL else ""
    return f"its process was killed by {signal.Signals(-code).name}{more}"


def _work(pipe, opening: tuple, environment: dict[str, str]) -> None:
    """Make cells as handed over, until the pipe says to stop or closes, or a job is cancelled."""
    from thesiskit.study.cells import Graph

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, who asks to stop
    signal.signal(signal.SIGTERM, lambda number, _: chains.stopping.append(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    # chains of a fit have a thread for each core, for the last fits have no others beside them
    os.environ.clear()
    os.environ.update(environment, **ONE_THREAD)  # libraries may still be loaded

    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # more threads add numbers in another order
    kind, config, folder, results = opening
    graph = problem = None
    try:
        graph = Graph(kind(config, folder), results)
        graph.send = lambda text: pipe.send(("working", None, text, False))
    except Exception as error:
        problem = _failed(error)
    orders: SimpleQueue = SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, orders), daemon=True).start()
    while True:
        try:
            order = orders.get(timeout=0.5)
        except Empty:  # a signal is heard in between
            if chains.stopping:
                return
            continue
        if order is None:
            return
        answer = problem or _make(graph, order)
        last = bool(chains.stopping) or problem is not None
        with suppress(OSError):  # the parent is gone: the end of the orders says so
            pipe.send((*answer, last))
        if last:
            return


def _listen(pipe, orders: SimpleQueue) -> None:
    """Take orders; at the end of them, ask what runs to save itself."""
    order: Any = True
    while order is not None:
        try:
            order = pipe.recv()
        except (EOFError, OSError):
            order = None
        if order is None:
            chains.stopping.append(0)
        orders.put(order)
    time.sleep(PATIENCE)  # a kernel that has not ended by now keeps no process
    os._exit(1)


def _make(graph, cell: Cell) -> tuple[str, Any, str]:
    """Return what came of a cell, its error, and the log of that."""
    try:
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
