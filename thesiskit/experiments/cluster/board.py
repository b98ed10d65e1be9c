"""What has become of the cells of an experiment, read from their files."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from thesiskit.errors import memory_text
from thesiskit.experiments.cells.cell import HOST, Cell
from thesiskit.experiments.cluster.slurm import GONE
from thesiskit.experiments.experiment import Experiment

STATES = ("done", "running", "failed", "interrupted", "damaged", "to do")
MANY = 60  # cells
FEW, LOG_LINES = 3, 5  # failures whose logs are shown, and lines of each


@dataclass(frozen=True)
class Row:
    """One cell: its state, and what is known of how it was made."""

    cell: Cell
    state: str  # of STATES
    about: dict[str, Any]  # seconds, memory, host; reason, log and attempts of one that failed


def board(experiment: Experiment, jobs: Mapping[str, str] | None = None) -> list[Row]:
    """Return a row for each cell, in order.

    jobs : states of cluster jobs that are known, GONE of those that have ended; what another
    machine does without one cannot be seen from here, and counts as running.
    """
    files = experiment.graph.files
    present = files.present()
    rows: list[Row] = []
    for number in range(len(experiment.graph.blocks)):
        for stage in experiment.stages:
            cells = experiment.graph.cells(stage, number)
            joined = experiment.graph.whole(stage, number)  # then it needs its cells no more
            done = {cell.id: joined or _done(experiment, cell, present) for cell in cells}
            for cell in cells:
                compared = cell.chain is not None and done.get(
                    experiment.graph.cell(stage, number, cell.arm).id
                )
                if done[cell.id] or compared:
                    rows.append(Row(cell, "done", files.about(cell)))
                elif cell.id in present.get("running", ()):
                    rows.append(_begun(experiment, cell, jobs or {}))
                elif cell.id in present.get("failed", ()):
                    rows.append(Row(cell, "failed", files.failed(cell) or {}))
                elif cell.id in present.get("npz", ()) and not files.complete(cell):
                    rows.append(Row(cell, "damaged", {}))
                else:
                    rows.append(Row(cell, "to do", {}))
    return rows


def _done(experiment: Experiment, cell: Cell, present: Mapping[str, set[str]]) -> bool:
    return (not cell.arm or cell.id in present.get("npz", ())) and experiment.graph.done(cell)


def _begun(experiment: Experiment, cell: Cell, jobs: Mapping[str, str]) -> Row:
    """Return the row of a cell that was begun and has not ended."""
    who = experiment.graph.files.running(cell) or {}
    job, host = who.get("job", ""), who.get("host", HOST)
    if job:
        alive = jobs.get(job) != GONE
    elif host == HOST:
        alive = _lives(who.get("process", 0))
    else:
        alive = True
    if alive:
        return Row(cell, "running", who)
    failed = None if job else experiment.graph.files.failed(cell)
    if failed:
        return Row(cell, "failed", failed)
    return Row(cell, "interrupted", who)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return process > 0


def counts(rows: Iterable[Row]) -> dict[str, Counter]:
    """Return how many cells of each stage are in each state."""
    found: dict[str, Counter] = {}
    for row in rows:
        found.setdefault(row.cell.stage, Counter())[row.state] += 1
    return found


def table(rows: list[Row], *, every: bool = False) -> list[str]:
    """Return lines for a terminal: sums by stage, and cells.

    Of many cells, those are listed that need a look, unless every one is wanted.
    """
    every = every or len(rows) <= MANY
    done = [row for row in rows if row.state == "done"]
    hosts = {row.about["host"] for row in done if "host" in row.about}
    spent = sum(row.about.get("seconds", 0.0) for row in done)
    lines = [
        f"{len(done):,} of {len(rows):,} cells done; {spent:,.1f} s of work"
        + (f" on {', '.join(sorted(hosts)[:3])}" if hosts else "")
        + (f" and {len(hosts) - 3} other hosts" if len(hosts) > 3 else ""),
        "",
    ]
    lines += _aligned([["stage", *STATES, "seconds", "most memory"], *_sums(rows)])
    shown = rows if every else [row for row in rows if row.state not in ("done", "to do")]
    if shown:
        head = ["cell", "stage", "block", "arm", "chain", "state", "seconds", "memory", "host"]
        lines += ["", *_aligned([head, *(_told(row) for row in shown[: None if every else MANY])])]
        if len(shown) > MANY and not every:
            lines.append(f"... and {len(shown) - MANY:,} others (--all lists every cell)")
    for row in [row for row in shown if row.state == "failed"][:FEW]:
        lines += ["", f"{row.cell.id} ({row.cell}), attempt {row.about.get('attempts', 1)}: "
                  f"{row.about.get('reason', '')}"]  # fmt: skip
        lines += [f"    {line}" for line in row.about.get("log", "").splitlines()[-LOG_LINES:]]
    return lines


def _sums(rows: list[Row]) -> list[list[str]]:
    found = []
    for stage, states in counts(rows).items():
        mine = [row.about for row in rows if row.cell.stage == stage and row.state == "done"]
        memory = max((one.get("memory", 0) for one in mine), default=0)
        seconds = sum(one.get("seconds", 0.0) for one in mine)
        found.append([stage, *(f"{states[state]:,}" for state in STATES), f"{seconds:,.1f}",
                      memory_text(memory) if memory else "–"])  # fmt: skip
    return found


def _told(row: Row) -> list[str]:
    cell, about = row.cell, row.about
    return [
        cell.id, cell.stage, str(cell.block), cell.arm or "–",
        "–" if cell.chain is None else str(cell.chain + 1), row.state,
        f"{about['seconds']:.3f}" if "seconds" in about else "–",
        memory_text(about["memory"]) if "memory" in about else "–", about.get("host", "–"),
    ]  # fmt: skip


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(one.ljust(width) for one, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
