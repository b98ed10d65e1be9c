"""What the command line prints: errors in one or two lines, progress, and what stages have made."""

import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

import click

from thesiskit.errors import ThesiskitError, brief, cut

PATIENCE = 2.0  # seconds before a progress bar appears
LINE_SECONDS = 60.0  # between two lines of progress where there is no terminal


# ---- errors ----


class Commands(click.Group):
    """A group of commands that prints an error as one line and exits with its code."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments before the name of a command; shorten usage errors to one line."""
        try:
            return super().make_context(*args, **kwargs)
        except click.ClickException as error:
            raise _cut(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exit with 2 for a mistake of the user, 1 for a failure, 130 for Ctrl-C."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise _cut(error) from None
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo(
                "Interrupted. Finished cells are kept; the same command continues from there.",
                err=True,
            )
            ctx.exit(130)
        except BrokenPipeError:
            ctx.exit(0)
        except Exception as error:
            ctx.exit(show_error(error))


def _cut(error: click.ClickException) -> click.ClickException:
    """Return click's error, shortened where it quotes long input."""
    error.message = cut(error.message, 300)  # type: ignore[misc]
    return error


def show_error(error: Exception) -> int:
    """Print an error, its first lines, or with -v all of it and its traceback; return its code."""
    verbose = click.get_current_context().find_root().meta.get("thesiskit.verbose")
    if verbose:
        traceback.print_exc()
    code = 1
    match error:
        case ThesiskitError():
            text, code = str(error), error.exit_code
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            text = f"{where}{error.strerror or error}"
        case MemoryError():
            text = "this machine has not enough memory"
        case _:
            text = f"{type(error).__name__}: {error} (run with -v to see where)"
            if verbose:  # the traceback has it
                return code
    for line in (text if verbose else brief(text)).splitlines():
        click.echo(f"Error: {line}", err=True)
    return code


def _set_verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta["thesiskit.verbose"] = True


VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_set_verbose,
    help="Show where in the code an error came from.",
)


# ---- stages and reports ----


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
