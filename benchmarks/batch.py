"""Cells and child processes: overhead, efficiency, and a study; run by bench.py."""

import os
import tempfile
import time
from pathlib import Path

import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator
from threadpoolctl import threadpool_limits

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.report.layout import INK, canvas
from thesiskit.study.experiment import Experiment

STUDY = Path(__file__).parent.parent / "configs/studies/naive-replicates.yaml"
FOUR = "selection.features=[1, 10, 100, 1000]"
ONE_RULE = "model.quadrature=[simpson-21]"
TINY = ("replicates=400", "data.features=30", "data.train=[5, 5]", "data.test=[2, 2]",
        "selection.features=[1]", ONE_RULE)  # fmt: skip


def all_cores():
    """Let this process, and its children, use every core: bench.py keeps to one."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))


def timed(jobs, *settings):
    """Return seconds of all stages, seconds of work in cells, and how many cells there are."""
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        config = load_config(STUDY, settings=settings)
        experiment = Experiment(config, Results(Path(folder), config.experiment), STUDY.parent,
                                jobs)  # fmt: skip
        started = time.perf_counter()
        for stage in experiment.stages:
            experiment.run(stage, watch=lambda items, *_: items)
        seconds = time.perf_counter() - started
        graph = experiment.graph
        cells = list(graph.all_cells())
        work = sum(graph.files.record(cell, "json")["seconds"] for cell in cells)
        experiment.close()
    return seconds, work, len(cells)


def rows():
    """Yield what was done, what was measured, and the target."""
    before = os.sched_getaffinity(0)
    all_cores()
    seconds, work, cells = timed(1, *TINY)
    yield f"overhead of a cell, {cells:,} tiny ones, one child (s)", (seconds - work) / cells, 0.005
    timed(2, "replicates=4", FOUR, ONE_RULE)  # the disk's cache is warm
    one, work, cells = timed(1, "replicates=60", FOUR, ONE_RULE)
    two, _, _ = timed(2, "replicates=60", FOUR, ONE_RULE)
    yield f"60 naive replicates, p = 10,000, {cells:,} cells: one child (s)", one, None
    yield "the same, two children (s)", two, None
    yield "two children for one: inverse of the efficiency's 1.8 (two / one)", two / one, 1 / 1.8
    seconds, _, cells = timed(2, "replicates=1000", FOUR, ONE_RULE)
    yield f"1,000 naive replicates, {cells:,} cells, two children (s)", seconds, 600.0
    os.sched_setaffinity(0, before)


def growth():
    """Return seconds by number of replicates and children."""
    before = os.sched_getaffinity(0)
    all_cores()
    found = [
        {"replicates": n, "children": jobs, "seconds": timed(jobs, f"replicates={n}", FOUR,
                                                             ONE_RULE)[0]}
        for n in (5, 20, 80) for jobs in (1, 2)
    ]  # fmt: skip
    os.sched_setaffinity(0, before)
    return pd.DataFrame(found)


def draw_growth(frame):
    """Draw them."""
    figure, axes = canvas(1, 1, width=4.5, height=3.2)
    for jobs, part in frame.groupby("children"):
        style = "-o" if jobs == 1 else "--s"
        axes[0, 0].loglog(part.replicates, part.seconds, style, color=INK, markersize=4,
                          label=f"{jobs} child process" + "es" * (jobs > 1))  # fmt: skip
    for axis, ticks in ((axes[0, 0].xaxis, (5, 20, 80)), (axes[0, 0].yaxis, (1, 2, 5, 10, 20))):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter("{x:g}")
    axes[0, 0].set_xlabel("replicates")
    axes[0, 0].set_ylabel("seconds")
    axes[0, 0].legend(frameon=False)
    return figure
