"""Batches: the cells of an experiment as jobs of a cluster, what became of them, and the end.

Nobody has to stay alive between `submit` and `collect`; both read the folder of results.  Jobs do
not communicate.  A job makes those of its cells that are not done, and the cells that they need.
When all chains of an arm are done, the job that made the last one also compares the chains,
predicts, and joins the block.  If two jobs do so at the same time, they write the same bytes.
"""

import math
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import yaml

from thesiskit.config import ClusterBlock
from thesiskit.errors import ThesiskitError, UserError, brief, counted, cut, memory_text, quoted
from thesiskit.study.cells import HOST, Cell, Graph
from thesiskit.study.experiment import Experiment
from thesiskit.study.slurm import GONE, Entry, Slurm, clock_warning, probe, read_cells, submissions
from thesiskit.study.workers import Workers

STATES = ("done", "running", "failed", "interrupted", "damaged", "to do")
MANY = 60  # cells
FEW, LOG_LINES = 3, 5  # changes that are named, failures whose logs are shown, and lines of each
UNKNOWN = 8  # cells in a job, as long as no cell has been timed
LEAST_SECONDS = 60.0  # of a job, where there are cells enough
ENOUGH = 3  # blocks whose seconds are looked at


class Batch:
    """An experiment on a cluster."""

    def __init__(self, experiment: Experiment, block: ClusterBlock):
        self.experiment, self.block = experiment, block
        self.graph, self.name = experiment.graph, experiment.config.experiment
        self.slurm = Slurm(experiment.results.folder, block)

    # ---- submitting ----

    def submit(
        self, cells: Sequence[Cell] | None = None, *, check: bool = True, force: bool = False
    ) -> str:
        """Submit the cells that are not done, or some cells; say what was submitted.

        check : first submit a job that looks at the folder of results.
        force : all cells are forgotten, once it is sure that jobs can be submitted.
        """
        experiment = self.experiment
        self.slurm.check()
        experiment.check()
        at_work = self.alive()
        if at_work:
            raise UserError(
                f"{len(at_work)} jobs of {self.name} are still waiting or "
                "running; see `thesiskit batch status CONFIG`, or end them with `thesiskit batch "
                "cancel CONFIG`"
            )
        todo = first_cells(self.graph) if cells is None else list(cells)
        if not todo and not force:
            return "nothing to submit: all cells are done; `thesiskit batch collect CONFIG`"
        if check:
            experiment.notes += clock_warning(*probe(experiment.results.folder, self.block))
        if force:
            with experiment.results.alone():
                for number in self.graph.blocks:
                    for stage in experiment.stages:
                        self.graph.block(number).forget(stage)
            todo = first_cells(self.graph)
        jobs = self._jobs(todo)
        with experiment.results.alone():
            config, command = self._kept()
            try:
                note: Entry = {"config": self._described(), "code": self.graph.code}
                ids = self.slurm.submit(config.stem, jobs, command, self.name, **note)
            except ThesiskitError:
                if not any(config.parent.glob(f"{config.stem}-*.sh")):
                    config.unlink(missing_ok=True)
                raise
        arrays = list(dict.fromkeys(job.partition("_")[0] for job in ids))
        return (
            f"{counted(len(ids), 'job')} of {len(jobs[0]):,} arms or chains each, {len(todo):,} in "
            f"all, with what they need (job array {', '.join(arrays)}); thesiskit batch status "
            "CONFIG"
        )

    def script(self) -> Path:
        """Write what `submit` would for all cells, done or not, and return the script's path."""
        self.experiment.results.prepare()
        jobs = self._jobs(first_cells(self.graph, done=True))
        config, command = self._kept()
        return self.slurm.write(f"{config.stem}-1", jobs, command, self.name)

    def _jobs(self, cells: Sequence[Cell]) -> list[list[str]]:
        """Return the ids of the cells of each job.

        As many jobs as may run at once, unless they were shorter than a minute, or longer than half
        their time limit, by the seconds of cells that are done.
        """
        block, size = self.block, self.block.cells
        if size is None:
            even, seconds = math.ceil(len(cells) / block.array), _mean_seconds(self.graph)
            if seconds is None:
                size = max(even, min(UNKNOWN, len(cells)))
            else:
                least = math.ceil(LEAST_SECONDS * block.cpus / seconds)
                most = max(1, math.floor(30 * block.minutes * block.cpus / seconds))
                size = min(max(even, least), most, len(cells))
        ids = [cell.id for cell in cells]
        return [ids[start : start + size] for start in range(0, len(ids), size)]

    def _kept(self) -> tuple[Path, list[str]]:
        """Write the config, with all options in it, and return it with the command for its cells.

        Jobs read it, whatever becomes of the user's.
        """
        tree = self.experiment.config.model_dump(mode="json", exclude={"smoke"}, exclude_unset=True)
        config = self.slurm.keep(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
        command = [sys.executable, "-m", "thesiskit", "batch", "cell", str(config)]
        command += ["--relative-to", str(self.graph.work.folder.absolute())]
        command += ["--results", str(self.experiment.results.root.absolute())]
        return config, [*command, "--yes", "--jobs", str(self.block.cpus)]

    # ---- what became of it ----

    def _submitted(self) -> tuple[list[Entry], list[str]]:
        """Return the entries of what was submitted, and all its jobs."""
        entries = submissions(self.experiment.results.folder, self.experiment.notes.append)
        return entries, [job for entry in entries for job in entry["ids"]]

    def alive(self) -> dict[str, str]:
        """Return the states of jobs that have not ended."""
        states = self.slurm.states(self._submitted()[1])
        return {job: state for job, state in states.items() if state != GONE}

    def cancel(self) -> list[str]:
        """Cancel the jobs that have not ended, and return them."""
        return self.slurm.cancel(self._submitted()[1])

    def status(self, *, every: bool = False) -> tuple[bool, list[str]]:
        """Return whether all cells are done, and lines that say what has become of each."""
        states, silence = self._seen()
        rows = board(self.experiment, states)
        lines = table(rows, every=every)
        waiting = Counter(state for state in states.values() if state != GONE)
        if waiting:
            lines += ["", "jobs: " + ", ".join(f"{n:,} {state}" for state, n in waiting.items())]
        if silence:
            lines += ["", f"jobs: not known ({silence})"]
        # jobs that have ended, and were the last to have cells that are not done
        left = {row.cell.id for row in rows if row.state in ("to do", "interrupted")}
        cells, lost = self.slurm.cells(self._submitted()[0]), []
        for job, state in reversed(states.items()):
            mine = left & set(cells.get(job, ()))
            lost += [job] if mine and state == GONE else []
            left -= mine
        for job in reversed(lost[:FEW]):
            lines += ["", f"job {job} has ended before its cells were done"]
            lines += [f"    {line}" for line in self.slurm.tail(job)]
        return all(row.state == "done" for row in rows), lines

    def _seen(self) -> tuple[dict[str, str], str]:
        """Return the states of all jobs, or why they are not known; cells can be seen without."""
        try:
            return self.slurm.states(self._submitted()[1]), ""
        except ThesiskitError as error:
            return {}, str(error).splitlines()[0]

    def to_retry(self) -> list[Cell]:
        """Return the cells that failed, were interrupted or are damaged."""
        rows = board(self.experiment, self._seen()[0])
        return [row.cell for row in rows if row.state in ("failed", "interrupted", "damaged")]

    # ---- some cells ----

    def find(self, ids: Sequence[str]) -> list[Cell]:
        """Return the cells of ids, or of their first digits."""
        if not ids:
            raise UserError(
                "which cells? give ids (`thesiskit batch status CONFIG --all`) or --share I/N"
            )
        cells = list(self.graph.all_cells())
        chosen = []
        for start in ids:
            named = [cell for cell in cells if cell.id.startswith(start)]
            if len(named) != 1:
                what = f"{len(named)} cells" if named else "no cell"
                raise UserError(
                    f"{what} of {self.name} has an id that begins with "
                    f"{quoted(start)}; `thesiskit batch status CONFIG --all` lists them"
                )
            chosen += named
        return chosen

    def share(self, text: str, listed: Path | None = None) -> Sequence[Cell]:
        """Return the cells of a text such as 3/100: a part of all, or of a list of N lines one.

        Raises UserError for a damaged list, or cells that this experiment does not have.
        """
        given = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        i, n = map(int, given.groups()) if given else (0, 0)
        if not 1 <= i <= n:
            raise UserError(f"--share {cut(text)}: write it as 3/100, the third of a hundred")
        if listed is None:
            return part(first_cells(self.graph, done=True), i, n)
        lines = read_cells(listed)
        if len(lines) != n:
            raise UserError(f"{listed}: has {len(lines):,} lines, not {n:,}; submit again")
        wanted, cells = set(lines[i - 1]), {}
        for cell in self.graph.all_cells():
            if cell.id in wanted:
                cells[cell.id] = cell
            if len(cells) == len(wanted):
                return [cells[name] for name in lines[i - 1]]
        raise UserError("code or data have changed since these cells were submitted; submit again")

    # ---- the end ----

    def collect(self) -> int:
        """Join all blocks whose cells are done; return how many cells are not.

        Raises UserError where cells are missing, and the config is not what was submitted.
        """
        experiment = self.experiment
        experiment.check()
        with experiment.results.alone():
            joined = [self.graph.block(number).join_what_can_be() for number in self.graph.blocks]
            if all(joined):
                for stage in experiment.stages:
                    experiment.write_rows(stage, again=True)
                experiment.record_run()
                return 0
        left = sum(row.state != "done" for row in board(experiment))
        changed = self._changes()
        if changed:
            more = f" and {len(changed) - FEW} more" if len(changed) > FEW else ""
            raise UserError(
                f"{left:,} cells are not done, and since the last submission "
                f"{'; '.join(changed[:FEW])}{more}\nWhat was submitted is not what this config "
                "asks for: undo the change, or submit again"
            )
        return left

    def _changes(self) -> list[str]:
        """Say how config and code differ from those of the last submission."""
        entries, _ = self._submitted()
        if not entries or "config" not in entries[-1]:
            return []
        last = entries[-1]
        changes = [
            f"{key} was {cut(before)} and is {cut(after)}"
            for key, before, after in _differences("", last["config"], self._described())
        ]
        return changes + ["thesiskit itself has changed"] * (last["code"] != self.graph.code)

    def _described(self) -> dict[str, Any]:
        return self.experiment.config.model_dump(mode="json", exclude={"cluster", "report"})


def _differences(key: str, a: Any, b: Any) -> list[tuple[str, Any, Any]]:
    """Return the dotted keys at which two configs differ, with both values."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return [] if a == b else [(key, a, b)]
    return [
        difference
        for name in dict.fromkeys([*a, *b])
        for difference in _differences(f"{key}.{name}" if key else name, a.get(name), b.get(name))
    ]


# ---- which cells a job makes, and what it does after the last of them ----


def first_cells(graph: Graph, *, done: bool = False) -> list[Cell]:
    """Return the cells that jobs begin with, of which all others follow.

    They are the chains of arms that have chains, and else the last cell of an arm, or of a block;
    chains of a block lie side by side.  With `done`, those that are done too.
    """
    first = []
    for number in graph.blocks:
        arms: dict[str, list[Cell]] = {}
        for cell in graph.block(number).cells():
            arms.setdefault(cell.arm, []).append(cell)
        if len(arms) > 1:
            del arms[""]  # what all arms need is made on the way
        for mine in arms.values():
            left = [cell for cell in mine if done or not graph.done(cell)]
            # of an arm without chains the last cell, or the first that is not done where that is
            alone = [mine[-1] if done else left[0]] if left else []
            first += [cell for cell in left if cell.chain is not None] or alone
    return first


def part(cells: Sequence[Cell], i: int, n: int) -> Sequence[Cell]:
    """Return the i-th of n equal parts of cells, from 1."""
    chosen = cells[len(cells) * (i - 1) // n : len(cells) * i // n]
    if not chosen:
        raise UserError(f"{len(cells)} cells have no share {i} of {n}; use fewer shares")
    return chosen


def _mean_seconds(graph: Graph) -> float | None:
    """Return seconds by cell to begin with, all that follows included: of some whole blocks."""
    means: list[float] = []
    begun = Counter(cell.block for cell in first_cells(graph, done=True))
    for number in graph.blocks:
        cells = graph.block(number).cells()
        if all(map(graph.done, cells)):
            records = [graph.files.record(cell, "json") or {} for cell in cells]
            seconds = sum(record.get("seconds", 0.0) for record in records)
            means.append(max(seconds, 1e-3) / begun[number])
        if len(means) == ENOUGH:
            break
    return fmean(means) if means else None


def make(
    experiment: Experiment, cells: Sequence[Cell], stop: list[int]
) -> list[tuple[Cell, str]] | None:
    """Make what is not done of cells, and return what failed and why; None when stopped early."""
    experiment.results.prepare()
    graph = experiment.graph
    failures: list[tuple[Cell, str]] = []
    workers = Workers(graph, max(1, experiment.jobs))
    try:
        for again in (False, True):
            todo = _after(graph, cells) if again else [c for c in cells if not graph.done(c)]
            made = workers.make(todo, stop)
            failures += [(cell, reason) for cell, reason in made if reason]
            if stop:
                return None
        for number in sorted({cell.block for cell in cells}):
            graph.block(number).join_what_can_be()
    finally:
        workers.close()
    return failures


def _after(graph: Graph, cells: Sequence[Cell]) -> list[Cell]:
    """Return what is left of those arms of which all chains are done, and some of these cells."""
    left = []
    for number, arm in dict.fromkeys((c.block, c.arm) for c in cells if c.arm and graph.done(c)):
        mine = [cell for cell in graph.block(number).cells() if cell.arm == arm]
        todo = [cell for cell in mine if not graph.done(cell)]
        left += todo if all(cell.chain is None for cell in todo) else []
    return left


# ---- what has become of the cells, read from their files ----


class Row(NamedTuple):
    """One cell: its state, and what is known of how it was made."""

    cell: Cell
    state: str  # of STATES
    about: dict[str, Any]  # seconds, memory, host; reason, log and attempts of one that failed


def board(experiment: Experiment, jobs: Mapping[str, str] | None = None) -> list[Row]:
    """Return a row for each cell, in order.

    jobs : states of cluster jobs that are known, GONE of those that have ended; what another
    machine does without one cannot be seen from here, and counts as running.
    """
    graph, files = experiment.graph, experiment.graph.files
    present = files.present()
    results = present["npz"]
    rows: list[Row] = []
    for number in graph.blocks:
        block = graph.block(number)
        for stage in experiment.stages:
            joined = block.whole(stage)  # then it needs its cells no more
            for cell in block.cells(stage):
                arm = cell if cell.chain is None else block.cell(stage, cell.arm)
                there = not cell.arm or {cell.id, arm.id} & results
                if joined or (there and graph.done(cell)):
                    rows.append(Row(cell, "done", files.record(cell, "json") or {}))
                elif cell.id in present["running"]:
                    rows.append(_begun(graph, cell, jobs or {}))
                elif cell.id in present["failed"]:
                    rows.append(Row(cell, "failed", files.record(cell, "failed") or {}))
                else:
                    cut_off = cell.id in results and not files.complete(cell)
                    rows.append(Row(cell, "damaged" if cut_off else "to do", {}))
    return rows


def _begun(graph: Graph, cell: Cell, jobs: Mapping[str, str]) -> Row:
    """Return the row of a cell that was begun and has not ended."""
    who = graph.files.record(cell, "running") or {}
    job, process, alive = who.get("job", ""), who.get("process", 0), True
    if job:
        alive = jobs.get(job) != GONE
    elif who.get("host", HOST) == HOST:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            alive = False
        except PermissionError:
            pass
        alive = alive and process > 0
    if alive:
        return Row(cell, "running", who)
    failed = None if job else graph.files.record(cell, "failed")
    return Row(cell, "failed", failed) if failed else Row(cell, "interrupted", who)


def table(rows: list[Row], *, every: bool = False) -> list[str]:
    """Return lines for a terminal: sums by stage, and cells.

    Of many cells, those are listed that need a look, unless every one is wanted.
    """
    every = every or len(rows) <= MANY
    done = [row for row in rows if row.state == "done"]
    hosts = sorted({row.about["host"] for row in done if "host" in row.about})
    spent = sum(row.about.get("seconds", 0.0) for row in done)
    lines = [
        f"{len(done):,} of {len(rows):,} cells done; {spent:,.1f} s of work"
        + (f" on {', '.join(hosts[:3])}" if hosts else "")
        + (f" and {len(hosts) - 3} other hosts" if len(hosts) > 3 else ""),
        "",
    ]
    sums = [["stage", *STATES, "seconds", "most memory"]]
    for stage in dict.fromkeys(row.cell.stage for row in rows):
        states = Counter(row.state for row in rows if row.cell.stage == stage)
        about = [row.about for row in done if row.cell.stage == stage]
        memory = max((record.get("memory", 0) for record in about), default=0)
        seconds = sum(record.get("seconds", 0.0) for record in about)
        counts = [f"{states[state]:,}" for state in STATES]
        sums.append([stage, *counts, f"{seconds:,.1f}", memory_text(memory) if memory else "–"])
    lines += _aligned(sums)
    shown = rows if every else [row for row in rows if row.state not in ("done", "to do")]
    if shown:
        head = ["cell", "stage", "block", "arm", "chain", "state", "seconds", "memory", "host"]
        listed = shown[: None if every else MANY]
        lines += ["", *_aligned([head, *map(_fields, listed)])]
        if len(shown) > len(listed):
            lines.append(f"... and {len(shown) - MANY:,} others (--all lists every cell)")
    for row in [row for row in shown if row.state == "failed"][:FEW]:
        attempt, reason = row.about.get("attempts", 1), row.about.get("reason", "")
        lines += ["", f"{row.cell.id} ({row.cell}), attempt {attempt}: {reason}"]
        lines += [f"    {line}" for line in row.about.get("log", "").splitlines()[-LOG_LINES:]]
    return lines


def overview(batches: Sequence[Batch], *, yes: bool) -> tuple[bool, list[str], int]:
    """Return whether no cell is left, a table with a line for each batch, and the worst exit code.

    A batch that cannot be read has its error in the table, and no cell.
    """
    lines, left, code = [["experiment", *STATES, "jobs"]], 0, 0
    for batch in batches:
        try:
            batch.experiment.check_needs(yes=yes)
            states, jobs = batch._seen()
            counts = Counter(row.state for row in board(batch.experiment, states))
        except ThesiskitError as error:
            lines.append([batch.name, *"–" * len(STATES), f"Error: {brief(str(error))}"])
            code = max(code, error.exit_code)
            continue
        left += counts.total() - counts["done"]
        alive = Counter(state for state in states.values() if state != GONE)
        jobs = jobs or ", ".join(f"{n:,} {state}" for state, n in alive.items()) or "–"
        lines.append([batch.name, *(f"{counts[state]:,}" for state in STATES), jobs])
    return not left, _aligned(lines), code


def _fields(row: Row) -> list[str]:
    """Return the fields of a row of the table."""
    cell, about = row.cell, row.about
    chain = "–" if cell.chain is None else str(cell.chain + 1)
    seconds = f"{about['seconds']:.3f}" if "seconds" in about else "–"
    memory = memory_text(about["memory"]) if "memory" in about else "–"
    where = [cell.stage, str(cell.block), cell.arm or "–", chain]
    return [cell.id, *where, row.state, seconds, memory, about.get("host", "–")]


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(field.ljust(width) for field, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
