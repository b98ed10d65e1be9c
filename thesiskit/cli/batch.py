"""The commands that make cells on a cluster, or some cells by hand."""

import sys
import time
from pathlib import Path

import click

from thesiskit.cli.common import (
    EXECUTOR,
    experiment_options,
    open_experiment,
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

    Example:  thesiskit batch status configs/studies/naive-replicates.yaml
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


def _open_batch(config, results, settings, seed, smoke, yes, jobs, executor="slurm", **cluster):
    from thesiskit.experiments.cluster.batch import Batch

    for name, value in cluster.items():
        if value is not None and executor == "local":
            raise click.UsageError(f"--{name} is for jobs: add --executor slurm")
    given = [f"cluster.{name}={value}" for name, value in cluster.items() if value is not None]
    experiment = open_experiment(config, results, (*settings, *given), seed, smoke, jobs, yes=yes)
    return Batch(experiment, experiment.config.cluster)


PROBE = click.option(
    "--probe/--no-probe",
    default=True,
    help="First submit a short job that checks whether jobs can use the results folder.",
)


def run_on_cluster(experiment, *, force: bool) -> None:
    """Submit the cells of an experiment, and wait until no job is left."""
    from thesiskit.experiments.cluster.batch import Batch

    opened = Batch(experiment, experiment.config.cluster)
    click.echo(opened.submit(force=force))
    try:
        while opened.alive():
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        click.echo("The jobs continue; `thesiskit batch cancel CONFIG` ends them.", err=True)
        raise
    left = opened.collect()
    if left:
        raise ResultsError(
            f"{left:,} cells are not done, and no job is left; `thesiskit batch status CONFIG` "
            "says why, and the same command submits them again"
        )


@batch.command()
@experiment_options()
@_cluster_options
@EXECUTOR
@PROBE
def submit(
    config, results, settings, seed, smoke, force, yes, jobs, executor, probe, **cluster
) -> None:
    """Make the cells that are not done.

    With --executor slurm the command submits job arrays and returns at once; otherwise it
    computes the cells on this machine.

    Example:  thesiskit batch submit configs/studies/naive-replicates.yaml --executor slurm
    """
    opened = _open_batch(config, results, settings, seed, smoke, yes, jobs, executor, **cluster)
    if executor == "local":
        for stage in opened.experiment.stages:
            run_stage(opened.experiment, stage, force)
    else:
        click.echo(opened.submit(probe=probe, force=force))


@batch.command()
@experiment_options(force=False, jobs=False)
@click.option("--watch", is_flag=True, help="Repeat until all cells are done.")
@click.option("--all", "every", is_flag=True, help="List every cell.")
def status(config, results, settings, seed, smoke, yes, watch, every) -> None:
    """Show the state of the cells, and the time, memory and host of those that ran.

    Example:  thesiskit batch status configs/studies/naive-replicates.yaml --watch
    """
    opened = _open_batch(config, results, settings, seed, smoke, yes, 0)
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
@experiment_options(jobs=False)
def collect(config, results, settings, seed, smoke, force, yes) -> None:
    """Join the cells of each complete block; when all cells are done, write the report.

    Example:  thesiskit batch collect configs/studies/naive-replicates.yaml
    """
    opened = _open_batch(config, results, settings, seed, smoke, yes, 0)
    left = opened.collect()
    if left:
        click.echo(
            f"{left:,} cells are not done; `thesiskit batch status CONFIG` shows them", err=True
        )
        raise click.exceptions.Exit(1)
    write_report(opened.experiment, force)


@batch.command()
@experiment_options(force=False)
@_cluster_options
@EXECUTOR
@PROBE
def retry(config, results, settings, seed, smoke, yes, jobs, executor, probe, **cluster) -> None:
    """Make only those cells again that failed, were interrupted or are damaged.

    Example:  thesiskit batch retry configs/studies/naive-replicates.yaml --executor slurm
    """
    opened = _open_batch(config, results, settings, seed, smoke, yes, jobs, executor, **cluster)
    cells = opened.to_retry()
    if executor == "slurm":
        click.echo(opened.submit(cells, probe=probe))
    else:
        _make_share(opened, opened.share(cells))


@batch.command()
@experiment_options(force=False)
@click.option("--share", metavar="I/N", help="Make the I-th of N equal parts of all cells.")
@click.argument("ids", metavar="[ID]...", nargs=-1)
def cell(config, results, settings, seed, smoke, yes, jobs, share, ids) -> None:
    """Make some cells, and the cells that they depend on; `batch status --all` lists the ids.

    Example:  thesiskit batch cell configs/studies/naive-replicates.yaml --share 3/100
    """
    opened = _open_batch(config, results, settings, seed, smoke, yes, jobs)
    _make_share(opened, opened.part(share) if share else opened.share(opened.find(ids)))


def _make_share(opened, share) -> None:
    """Make the cells of a share until a signal stops it; exit with 1 if some are not done."""
    import signal
    import threading

    stop = threading.Event()
    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), lambda *_: stop.set())
    failures = share.failures(stop)
    if failures is None:
        raise KeyboardInterrupt
    for failure in failures[:MOST_LINES]:
        click.echo(
            f"Error: {brief(f'{failure.cell.id} ({failure.cell}): {failure.reason}')}", err=True
        )
    # A process that was stopped reports neither a failure nor an end, so the files are counted.
    done = sum(map(opened.experiment.done, share.cells))
    click.echo(f"{done:,} of {len(share.cells):,} cells done")
    if failures or done < len(share.cells):
        raise click.exceptions.Exit(1)


@batch.command()
@experiment_options(force=False, jobs=False, yes=False)
def cancel(config, results, settings, seed, smoke) -> None:
    """Cancel the jobs that wait or run; the cells that are done are kept.

    Example:  thesiskit batch cancel configs/studies/naive-replicates.yaml
    """
    cancelled = _open_batch(config, results, settings, seed, smoke, None, 0).cancel()
    click.echo(f"{len(cancelled):,} jobs cancelled")


@batch.command()
@experiment_options(force=False, jobs=False)
@_cluster_options
def script(config, results, settings, seed, smoke, yes, **cluster) -> None:
    """Print an sbatch script that makes all cells, for sites where Python cannot submit jobs.

    Example:  thesiskit batch script configs/studies/naive-replicates.yaml > study.sbatch
    """
    opened = _open_batch(config, results, settings, seed, smoke, yes, 0, **cluster)
    given = [part for one in settings for part in ("--set", one)]
    given += ["--smoke"] if smoke else []
    given += ["--seed", str(seed)] if seed is not None else []
    given += ["--yes"] if yes else []
    click.echo(opened.script(Path(config), given), nl=False)
