"""The commands that compute experiments on a cluster."""

import sys
import time
from pathlib import Path

import click

from thesiskit.cli.console import (
    MANY_CONFIGS,
    ONE_CONFIG,
    opens_experiment,
    print_notes,
    write_report,
)
from thesiskit.errors import MOST_LINES, brief

WATCH_SECONDS = 5.0  # between two looks at a batch


@click.group()
def batch() -> None:
    """Compute experiments on a Slurm cluster, and show their state.

    `submit`, `status` and `collect` take several configs, and groups such as chapter2.

    A task (a cell) is the smallest piece of work: a stage, for one method (and chain) and one block
    of replicates. A task is complete when its results file is written. If a job or a machine
    fails, only unfinished tasks are lost.

    Example:  thesiskit batch status naive-replicates
    """


def _batch(experiment):
    """Return the batch of an experiment."""
    from thesiskit.study.batch import Batch  # slow to import

    return Batch(experiment)


@batch.command()
@MANY_CONFIGS
@opens_experiment(jobs=False)
def submit(configs, asked, force) -> None:
    """Submit unfinished tasks as a job array of Slurm, and return at once.

    Failed and interrupted tasks are submitted again. The `cluster` block of the config sets the
    resources of jobs, as in --set cluster.time=2:00:00.

    Example:  thesiskit batch submit chapter2
    """

    def submit_cells(experiment) -> None:
        click.echo(_batch(experiment).submit(force=force))
        print_notes(experiment.notes)

    sys.exit(asked.for_each(configs, submit_cells))


@batch.command()
@MANY_CONFIGS
@opens_experiment(force=False, jobs=False)
@click.option("--watch", is_flag=True, help="Repeat until all tasks are done or no job is left.")
def status(configs, asked, watch) -> None:
    """Show the state of the tasks, with time, memory and host.

    Each of several experiments has one line.

    Example:  thesiskit batch status naive-replicates --watch
    """
    while True:
        ended: list[bool] = []
        output: list[str] = []

        def look(experiment, ended=ended, output=output) -> None:
            experiment_batch = _batch(experiment)
            end, lines = experiment_batch.status()
            ended.append(end)
            output += lines if len(configs) == 1 else [f"{experiment_batch.name}: {lines[0]}"]
            print_notes(experiment.notes)

        code = asked.for_each(configs, look, headings=False)
        if watch and sys.stdout.isatty():
            click.clear()
        click.echo("\n".join(output))
        if all(ended) or not watch:
            sys.exit(code)
        time.sleep(WATCH_SECONDS)


@batch.command()
@MANY_CONFIGS
@opens_experiment(jobs=False)
def collect(configs, asked, force) -> None:
    """Join the results of complete blocks; when all tasks are done, write the report.

    Example:  thesiskit run naive-replicates && thesiskit batch collect naive-replicates
    """

    def join_cells(experiment) -> None:
        missing = _batch(experiment).collect()
        if missing:
            lack = f"{missing:,} tasks are not done. Fix: see `thesiskit batch status CONFIG`"
            click.echo(lack, err=True)
            raise click.exceptions.Exit(1)
        write_report(experiment, force)

    sys.exit(asked.for_each(configs, join_cells))


@batch.command()
@ONE_CONFIG
@opens_experiment(force=False)
@click.option(
    "--share", metavar="I/N", required=True, help="Compute the I-th of N equal shares of all tasks."
)
@click.option(
    "--relative-to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder where relative paths in CONFIG start. Default: the folder of CONFIG.",
)
def cell(config, asked, share) -> None:
    """Compute a share of the tasks, and those they depend on, until a signal stops it.

    Example:  thesiskit batch cell naive-replicates --share 3/100
    """
    experiment_batch = _batch(asked.open(config))
    _make(experiment_batch.experiment, experiment_batch.share(share))


def _make(experiment, cells) -> None:
    """Make the cells of a share until a signal stops it; exit with 1 if some are not done."""
    import signal

    from thesiskit.study.batch import make

    stop: list[int] = []
    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), lambda number, _: stop.append(number))
    failures = make(experiment, cells, stop)
    if failures is None:
        raise KeyboardInterrupt
    for failed, reason in failures[:MOST_LINES]:
        click.echo(f"Error: {brief(f'{failed.id} ({failed}): {reason}')}", err=True)
    finished = sum(map(experiment.graph.done, cells))
    click.echo(f"{finished:,} of {len(cells):,} tasks done")
    if failures or finished < len(cells):
        raise click.exceptions.Exit(1)


@batch.command()
@ONE_CONFIG
@opens_experiment(force=False, jobs=False)
def script(config, asked) -> None:
    """Print an sbatch script for all tasks, for sites where Python cannot submit jobs.

    Example:  thesiskit batch script naive-replicates > study.sbatch
    """
    click.echo(_batch(asked.open(config)).script().read_text(encoding="utf-8"), nl=False)
