"""Making stages and reports: what is printed meanwhile, and at the end."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator

import click

PATIENCE = 2.0  # seconds before a progress bar appears
LINE_SECONDS = 60.0  # between two lines of progress where there is no terminal


def run_stage(experiment, stage: str, force: bool) -> None:
    """Make a stage, and print a summary."""
    started = time.perf_counter()
    made = experiment.run(stage, watch=watch, force=force)
    tell_notes(experiment)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(f"{stage}: {experiment.summary(stage)} ({state})")


def run_up_to(experiment, stage: str, force: bool) -> None:
    """Make those of the stages before that are missing, and a stage."""
    for before in experiment.stages[: experiment.stages.index(stage)]:
        run_stage(experiment, before, False)
    run_stage(experiment, stage, force)


def tell_notes(experiment) -> None:
    """Print the notes that the experiment has collected for the user."""
    while experiment.notes:
        click.echo(f"Note: {experiment.notes.pop(0)}", err=True)


def watch(items: Iterable, total: int, label: str) -> Iterator:
    """Yield the items; on a terminal, show a progress bar after PATIENCE seconds."""
    if not sys.stderr.isatty():
        yield from _watch_in_lines(items, total, label)
        return
    started = time.perf_counter()
    bar = task = None
    try:
        for done, item in enumerate(items):
            if bar is None and time.perf_counter() - started > PATIENCE:
                from rich.console import Console
                from rich.progress import Progress

                bar = Progress(console=Console(stderr=True), transient=True)
                task = bar.add_task(label, total=total)
                bar.start()
            if bar is not None and task is not None:
                bar.update(task, completed=done)
            yield item
    finally:
        if bar is not None:
            bar.stop()


def _watch_in_lines(items: Iterable, total: int, label: str) -> Iterator:
    """Yield the items; every LINE_SECONDS, write a line on how many are done."""
    started, ended, done = time.monotonic(), threading.Event(), 0

    def tell() -> None:
        while not ended.wait(LINE_SECONDS):
            minutes = (time.monotonic() - started) / 60
            click.echo(f"{label}: {done} of {total} after {minutes:.0f} min", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        for item in items:
            yield item
            done += 1
    finally:
        ended.set()
        teller.join()


def write_report(experiment, force: bool) -> None:
    """Write the report, and print where it is."""
    from thesiskit.report.stages import headline  # pandas and others: only where one reports

    started = time.perf_counter()
    page, made = experiment.report(watch=watch, force=force)
    tell_notes(experiment)
    for line in headline(experiment.record()):
        click.echo(line)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(f"report: {page} ({state})")
