"""Batches: the cells of an experiment as jobs of a cluster, what became of them, and the end.

Nobody has to stay alive between `submit` and `collect`; both read the folder of results.  Jobs do
not communicate.  A job makes those cells of its share that are not done, and the cells that they
need.  When all chains of a method are done, the job that made the last one also compares the
chains, predicts, and joins the block.  If two jobs do so at the same time, they write the same
bytes.
"""

import math
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from thesiskit.errors import ThesiskitError, UserError, memory_text, pluralise, shorten
from thesiskit.files import write_text
from thesiskit.report.metrics import aligned
from thesiskit.study.cells import HOST, Cell, Graph, digest
from thesiskit.study.experiment import Experiment
from thesiskit.study.slurm import Job, array_script, log_end, most_tasks, on_a_line, queue, sbatch
from thesiskit.study.workers import Workers

JOBS = Path("batch") / "jobs"  # in an experiment's folder: scripts, the configs they read, and logs
STATES = ("done", "running", "failed", "interrupted", "damaged", "to do")
MANY = 60  # cells
FEW, LOG_LINES = 3, 5  # failures and logs that are shown, and lines of each


class Batch:
    """An experiment on a cluster."""

    def __init__(self, experiment: Experiment):
        self.experiment, self.block = experiment, experiment.config.cluster
        self.graph, self.name = experiment.graph, experiment.config.experiment
        self.folder = experiment.results.folder.absolute() / JOBS
        on_a_line("--results", str(self.folder))
        if "%" in str(self.folder):
            raise UserError(
                f"{experiment.results.folder}: Slurm does not accept a path with %. Fix: choose "
                "another folder with --results"
            )

    # ---- submitting ----

    def submit(self, *, force: bool = False) -> str:
        """Submit the shares with cells that are not done; return a line about the job array.

        force : all cells are deleted and submitted, once Slurm has accepted such jobs.
        """
        experiment, limit = self.experiment, most_tasks()
        experiment.check()
        with experiment.results.alone():
            jobs = self.jobs(queue())
            if jobs:
                arrays = " ".join(sorted({job.id.partition("_")[0] for job in jobs}))
                raise UserError(
                    f"{len(jobs)} jobs of {self.name} are pending or running. Fix: see `thesiskit "
                    f"batch status CONFIG`, or cancel them with `scancel {arrays}`"
                )
            cells = first_cells(self.graph)
            shares = self._shares(len(cells), limit)
            parts = [part(cells, i, shares) for i in range(1, shares + 1)]
            tasks = [
                i for i, share in enumerate(parts, 1) if force or unfinished(self.graph, share)
            ]
            if not tasks:
                return "nothing to submit: all tasks are done. Next: thesiskit batch collect CONFIG"
            script = self._write(shares, tasks)
            if force:
                sbatch(self.block, script, "--test-only")
                for number in self.graph.blocks:
                    for stage in experiment.stages:
                        self.graph.block(number).delete_outputs(stage)
            array = sbatch(self.block, script)
        size = pluralise(math.ceil(len(cells) / shares), "chain or method", "chains or methods")
        return (
            f"{pluralise(len(tasks), 'job')} of at most {size} each (job array {array}); "
            "`thesiskit batch status CONFIG`"
        )

    def script(self) -> Path:
        """Write the script that makes all cells, and return its path."""
        self.experiment.results.prepare()
        return self._write(self._shares(len(first_cells(self.graph))))

    def _shares(self, cells: int, limit: int | None = None) -> int:
        """Return the number of shares: as many as jobs may run at once.

        limit : the largest number; with fewer shares each has more cells.
        """
        shares = math.ceil(cells / math.ceil(cells / self.block.array))
        return shares if limit is None else min(shares, limit)

    def _write(self, shares: int, tasks: Sequence[int] | None = None) -> Path:
        """Write the script of a job array, and the config that its jobs read; return its path.

        The config has all options in it, so changes of the user's do not reach the jobs.
        """
        tree = self.experiment.config.model_dump(mode="json", exclude={"smoke"}, exclude_unset=True)
        config = self.folder / f"{digest(tree)[:12]}.yaml"
        command = [sys.executable, "-m", "thesiskit", "batch", "cell", str(config)]
        command += ["--relative-to", str(self.graph.work.folder.absolute())]
        command += ["--results", str(self.experiment.results.root.absolute())]
        command += ["--yes", "--jobs", str(self.block.cpus)]
        text = array_script(
            self.block, command, shares, name=self.name, folder=self.folder, tasks=tasks
        )
        write_text(config, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
        write_text(config.with_suffix(".sh"), text)
        return config.with_suffix(".sh")

    # ---- what became of it ----

    def jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs of this experiment: they run in its folder."""
        folder = os.path.realpath(self.folder)
        return [job for job in jobs if os.path.realpath(job.folder) == folder]

    def status(self) -> tuple[bool, list[str]]:
        """Return whether nothing is left to wait for, and lines: a summary, then cells and jobs."""
        job_ids, jobs = None, []
        if self.folder.exists():
            try:
                waiting = queue()
                job_ids, jobs = {job.id for job in waiting}, self.jobs(waiting)
            except ThesiskitError as error:  # cells can be seen all the same
                self.experiment.notes.append(f"the state of jobs is unknown: {error}")
        rows = board(self.experiment, job_ids)
        lines = table(rows)
        if jobs:
            states = Counter(job.state for job in jobs)
            lines += ["", "jobs: " + ", ".join(f"{n:,} {state}" for state, n in states.items())]
        counts = Counter(row.state for row in rows)
        ended = job_ids is not None and not jobs and not counts["running"]
        lost = {row.about.get("job", "") for row in rows if row.state == "interrupted"} - {""}
        logs = [self.folder / f"{job}.log" for job in sorted(lost)]
        if ended and counts["to do"] and not logs:
            logs = sorted(self.folder.glob("*.log"), key=os.path.getmtime)[-1:]
        for path in logs[:FEW]:
            lines += ["", f"the job of {path} stopped before its tasks were done:"]
            lines += [f"    {line}" for line in log_end(path)]
        return ended or counts["done"] == len(rows), lines

    # ---- a share of the cells, and the end ----

    def share(self, text: str) -> Sequence[Cell]:
        """Return the cells of a text such as 3/100; raise UserError for a text that is none."""
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        i, n = map(int, match.groups()) if match else (0, 0)
        if not 1 <= i <= n:
            raise UserError(f"--share {shorten(text)}: not a share. Fix: write it as 3/100")
        return part(first_cells(self.graph), i, n)

    def collect(self) -> int:
        """Join all blocks whose cells are done; return how many cells are not."""
        experiment, graph = self.experiment, self.graph
        experiment.check()
        with experiment.results.alone():
            stages = [graph.block(n).cell(name) for n in graph.blocks for name in graph.work.stages]
            for cell in stages:
                if graph.parts(cell) and all(map(graph.done, graph.parts(cell))):
                    graph.make(cell)
            if all(map(graph.done, stages)):
                for stage in experiment.stages:
                    experiment.write_rows(stage, again=True)
                experiment.record_run()
                return 0
        return sum(row.state != "done" for row in board(experiment))


# ---- which cells a job makes, and what it does after the last of them ----


def first_cells(graph: Graph) -> list[Cell]:
    """Return the cells that are shared among jobs, of which all others follow.

    They are the chains of methods that have chains, and else the last cell of a method, or of a
    block; chains of a block lie side by side.
    """
    first = []
    for number in graph.blocks:
        methods: dict[str, list[Cell]] = {}
        for cell in graph.block(number).cells():
            methods.setdefault(cell.method, []).append(cell)
        if len(methods) > 1:
            del methods[""]  # what all methods need is made on the way
        for cells in methods.values():
            first += [cell for cell in cells if cell.is_chain] or cells[-1:]
    return first


def part(cells: Sequence[Cell], i: int, n: int) -> Sequence[Cell]:
    """Return the i-th of n equal parts of cells, from 1."""
    chosen = cells[len(cells) * (i - 1) // n : len(cells) * i // n]
    if not chosen:
        raise UserError(f"{len(cells)} tasks have no share {i} of {n}. Fix: use fewer shares")
    return chosen


def unfinished(graph: Graph, cells: Sequence[Cell]) -> list[Cell]:
    """Return what is not done of a share: its cells, what they need, and what follows from them.

    What needs undone cells of other shares, such as chains of a method, is left to them.
    """
    share, undone = set(cells), dict[Cell, None]()
    methods = {cell.block: {""} for cell in cells}
    for cell in cells:
        methods[cell.block].add(cell.method)
    for number, names in methods.items():
        for cell in graph.block(number).cells():
            if cell.method not in names or graph.done(cell):
                continue
            of_other_share = cell.is_chain and cell not in share
            if not of_other_share and all(
                need in undone or graph.done(need) for need in graph.needs(cell)
            ):
                undone[cell] = None
    return list(undone)


def make(
    experiment: Experiment, cells: Sequence[Cell], stop: list[int]
) -> list[tuple[Cell, str]] | None:
    """Make what is not done of cells, and return what failed and why; None when stopped early."""
    experiment.results.prepare()
    graph, failures = experiment.graph, list[tuple[Cell, str]]()
    workers = Workers(graph, max(1, experiment.jobs))
    try:
        # then what follows from cells of other jobs, until the last job leaves nothing
        while to_make := unfinished(graph, cells):
            results = workers.make(to_make, stop)
            failures += [(cell, reason) for cell, reason in results if reason]
            if stop:
                return None
            if not all(map(graph.done, to_make)):  # one failed, or its process was told to stop
                break
    finally:
        workers.close()
    return failures


# ---- what has become of the cells, read from their files ----


class Row(NamedTuple):
    """One cell: its state, and what is known of how it was made."""

    cell: Cell
    state: str  # of STATES
    about: dict[str, Any]  # seconds, memory, host; reason, log and attempts of one that failed


def board(experiment: Experiment, jobs: Collection[str] | None = None) -> list[Row]:
    """Return a row for each cell, in order.

    jobs : ids of the cluster jobs that wait or run, None where they are not known; what another
        machine does without a job cannot be seen from here, and counts as running.
    """
    graph, files = experiment.graph, experiment.graph.files
    present = files.present()
    results = present["npz"]
    rows: list[Row] = []
    for number in graph.blocks:
        block = graph.block(number)
        for stage in experiment.stages:
            stage_is_done = graph.done(block.cell(stage))  # then it needs its cells no more
            for cell in block.cells(stage):
                method = cell if cell.chain is None else block.cell(stage, cell.method)
                has_file = not cell.method or {cell.id, method.id} & results
                if stage_is_done or (has_file and graph.done(cell)):
                    rows.append(Row(cell, "done", files.record(cell, "json") or {}))
                elif cell.id in present["running"]:
                    rows.append(_begun(graph, cell, jobs))
                elif cell.id in present["failed"]:
                    rows.append(Row(cell, "failed", files.record(cell, "failed") or {}))
                else:
                    cut_off = cell.id in results and not files.complete(cell)
                    rows.append(Row(cell, "damaged" if cut_off else "to do", {}))
    return rows


def _begun(graph: Graph, cell: Cell, jobs: Collection[str] | None) -> Row:
    """Return the row of a cell that was begun and has not ended."""
    attempt = graph.files.record(cell, "running") or {}
    job, process, alive = attempt.get("job", ""), attempt.get("process", 0), True
    if job:
        alive = jobs is None or job in jobs
    elif attempt.get("host", HOST) == HOST:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            alive = False
        except PermissionError:
            pass
        alive = alive and process > 0
    if alive:
        return Row(cell, "running", attempt)
    failed = None if job else graph.files.record(cell, "failed")
    return Row(cell, "failed", failed) if failed else Row(cell, "interrupted", attempt)


def table(rows: list[Row]) -> list[str]:
    """Return lines for a terminal: sums by stage, and the cells that were begun and not done."""
    finished = [row for row in rows if row.state == "done"]
    spent = sum(row.about.get("seconds", 0.0) for row in finished)
    lines = [f"{len(finished):,} of {len(rows):,} tasks done; {spent:,.1f} s of work", ""]
    sums = []
    for stage in dict.fromkeys(row.cell.stage for row in rows):
        states = Counter(row.state for row in rows if row.cell.stage == stage)
        about = [row.about for row in finished if row.cell.stage == stage]
        memory = max((record.get("memory", 0) for record in about), default=0)
        seconds = sum(record.get("seconds", 0.0) for record in about)
        counts = [f"{states[state]:,}" for state in STATES]
        sums.append([stage, *counts, f"{seconds:,.1f}", memory_text(memory) if memory else "–"])
    lines += aligned(["stage", *STATES, "seconds", "most memory"], sums)
    begun = [row for row in rows if row.state not in ("done", "to do")]
    if begun:
        head = ["cell", "stage", "block", "method", "chain", "state", "host"]
        lines += ["", *aligned(head, [_fields(row) for row in begun[:MANY]])]
        if len(begun) > MANY:
            lines.append(f"... and {len(begun) - MANY:,} others")
    for row in [row for row in begun if row.state == "failed"][:FEW]:
        attempt, reason = row.about.get("attempts", 1), row.about.get("reason", "")
        lines += ["", f"{row.cell.id} ({row.cell}), attempt {attempt}: {reason}"]
        lines += [f"    {line}" for line in row.about.get("log", "").splitlines()[-LOG_LINES:]]
    return lines


def _fields(row: Row) -> list[str]:
    """Return the fields of a row of the table."""
    cell = row.cell
    chain = "–" if cell.chain is None else str(cell.chain + 1)
    host = row.about.get("host", "–")
    return [cell.id, cell.stage, str(cell.block), cell.method or "–", chain, row.state, host]
