"""The commands that make cells on a cluster, or some cells by hand."""

import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from thesiskit.cli.console import (
    ONE_CONFIG,
    Asked,
    executor_option,
    opens_experiment,
    run_stage,
    tell_notes,
    write_report,
)
from thesiskit.errors import MOST_LINES, ResultsError, brief

WATCH_SECONDS = 2.0  # between two looks at a batch


@click.group()
def batch() -> None:
    """Make the cells of an experiment on a cluster, or some of them by hand, and show their state.

    A cell is the smallest piece of work: a stage, for one arm (and chain) and one block of
    replicates. A cell is complete when its result file is written; there is no other record. So
    a job or a machine that fails loses only the cells that it was computing.

    Example:  thesiskit batch status naive-replicates
    """


def _cluster_options(command):
    """Options that override keys of the config's `cluster` block."""
    for name, text in (
        ("partition", "Partition that jobs are submitted to."),
        ("time", "Time limit of each job: HH:MM:SS, D-HH:MM:SS or minutes."),
        ("memory", "Memory of each job, such as 4G."),
        ("cpus", "Cores of each job."),
        ("array", "Largest number of jobs that run at the same time."),
        ("cells", "Number of cells that each job makes."),
    ):
        command = click.option(f"--{name}", help=text)(command)
    return command


def _open_batch(config: Path, asked: Asked, **cluster):
    """Return the batch of a config; cluster : keys of its `cluster` block, None where not given."""
    from thesiskit.study.batch import Batch

    given = [f"cluster.{name}={value}" for name, value in cluster.items() if value is not None]
    experiment = asked.open(config, *given)
    return Batch(experiment, experiment.config.cluster)


def _check_local(cluster) -> None:
    """Refuse options of jobs where there are none."""
    for name, value in cluster.items():
        if value is not None:
            raise click.UsageError(f"--{name} is for jobs of a cluster, not for --executor local")


PROBE = click.option(
    "--probe/--no-probe",
    default=True,
    help="First submit a short job that checks whether jobs can use the results folder.",
)


def run_on_cluster(experiment, *, force: bool) -> None:
    """Submit the cells of an experiment, and wait until no job is left."""
    from thesiskit.study.batch import Batch

    opened = Batch(experiment, experiment.config.cluster)
    click.echo(opened.submit(force=force))
    try:
        while opened.alive():
            time.sleep(WATCH_SECONDS)
    except (KeyboardInterrupt, SystemExit):
        click.echo("The jobs continue; `thesiskit batch cancel CONFIG` ends them.", err=True)
        raise
    left = opened.collect()
    if left:
        raise ResultsError(
            f"{left:,} cells are not done, and no job is left; `thesiskit batch status CONFIG` "
            "says why, and the same command submits them again"
        )


@batch.command()
@ONE_CONFIG
@opens_experiment()
@_cluster_options
@executor_option("slurm")
@PROBE
def submit(config, asked, force, executor, probe, **cluster) -> None:
    """Submit the cells that are not done as job arrays of Slurm, and return at once.

    With --executor local the cells are computed on this machine.

    Example:  thesiskit batch submit naive-replicates
    """
    if executor == "local":
        _check_local(cluster)
        experiment = asked.open(config)
        for stage in experiment.stages:
            run_stage(experiment, stage, force)
    else:
        opened = _open_batch(config, replace(asked, jobs=0), **cluster)
        click.echo(opened.submit(check=probe, force=force))
        tell_notes(opened.experiment)


@batch.command()
@ONE_CONFIG
@opens_experiment(force=False, jobs=False)
@click.option("--watch", is_flag=True, help="Repeat until all cells are done.")
@click.option("--all", "every", is_flag=True, help="List every cell.")
def status(config, asked, watch, every) -> None:
    """Show the state of the cells, and the time, memory and host of those that ran.

    Example:  thesiskit batch status naive-replicates --watch
    """
    opened = _open_batch(config, asked)
    while True:
        finished, lines = opened.status(every=every)
        if watch and sys.stdout.isatty():
            click.clear()
        tell_notes(opened.experiment)
        click.echo("\n".join(lines))
        if finished or not watch:
            break
        time.sleep(WATCH_SECONDS)


@batch.command()
@ONE_CONFIG
@opens_experiment(jobs=False)
def collect(config, asked, force) -> None:
    """Join the cells of each complete block; when all cells are done, write the report.

    Example:  thesiskit run naive-replicates && thesiskit batch collect naive-replicates
    """
    opened = _open_batch(config, asked)
    left = opened.collect()
    if left:
        click.echo(
            f"{left:,} cells are not done; `thesiskit batch status CONFIG` shows them", err=True
        )
        raise click.exceptions.Exit(1)
    write_report(opened.experiment, force)


@batch.command()
@ONE_CONFIG
@opens_experiment(force=False)
@_cluster_options
@executor_option("slurm")
@PROBE
def retry(config, asked, executor, probe, **cluster) -> None:
    """Make only those cells again that failed, were interrupted or are damaged.

    Example:  thesiskit batch retry naive-replicates
    """
    if executor == "local":
        _check_local(cluster)
        opened = _open_batch(config, asked)
        _make(opened.experiment, opened.to_retry())
    else:
        opened = _open_batch(config, replace(asked, jobs=0), **cluster)
        click.echo(opened.submit(opened.to_retry(), check=probe))
        tell_notes(opened.experiment)


@batch.command()
@ONE_CONFIG
@opens_experiment(force=False)
@click.option("--share", metavar="I/N", help="Make the I-th of N equal parts of all cells.")
@click.option(
    "--cells",
    "listed",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --share: make the cells in line I of this file, which `batch submit` writes.",
)
@click.option(
    "--relative-to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder where relative paths in CONFIG start. Default: the folder of CONFIG.",
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
def cell(config, asked, share, listed, ids) -> None:
    """Make some cells, and the cells that they depend on; `batch status --all` lists the ids.

    Example:  thesiskit batch cell naive-replicates --share 3/100
    """
    if listed is not None and not share:
        raise click.UsageError("--cells needs --share I/N, which says the line")
    opened = _open_batch(config, asked)
    _make(opened.experiment, opened.share(share, listed) if share else opened.find(ids))


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
    # what its files say: a process that was told to stop has neither failed nor finished
    done = sum(map(experiment.graph.done, cells))
    click.echo(f"{done:,} of {len(cells):,} cells done")
    if failures or done < len(cells):
        raise click.exceptions.Exit(1)


@batch.command()
@ONE_CONFIG
@opens_experiment(force=False, jobs=False, yes=False)
def cancel(config, asked) -> None:
    """Cancel the jobs that wait or run; the cells that are done are kept.

    Example:  thesiskit batch cancel naive-replicates
    """
    cancelled = _open_batch(config, asked).cancel()
    click.echo(f"{len(cancelled):,} jobs cancelled")


@batch.command()
@ONE_CONFIG
@opens_experiment(force=False, jobs=False)
@_cluster_options
def script(config, asked, **cluster) -> None:
    """Print an sbatch script that makes all cells, for sites where Python cannot submit jobs.

    Example:  thesiskit batch script naive-replicates > study.sbatch
    """
    opened = _open_batch(config, asked, **cluster)
    click.echo(opened.script(), nl=False)
