"""Commands of batches: cells on a cluster, or one by one."""

import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from thesiskit.cli.common import (
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
    """Make the cells of an experiment on a cluster, or one by one, and see what became of them.

    A cell is a stage of one arm (and chain) of one block of replicates. Its file is its state:
    whatever dies, what stands is kept, and nothing is made twice.

    Example:  thesiskit batch status configs/studies/naive-replicates.yaml
    """


def _cluster_options(command):
    """Options that override keys of the config's `cluster` block."""
    for name, text in (
        ("partition", "Partition to submit to."),
        ("time", "Time limit of a job: HH:MM:SS, D-HH:MM:SS or minutes."),
        ("memory", "Memory of a job, such as 4G."),
        ("cpus", "Cores of a job."),
        ("array", "Most jobs at once."),
        ("cells", "Cells in a job."),
    ):
        command = click.option(f"--{name}", help=text)(command)
    return command


def _open_batch(config: Path, asked: Asked, **cluster):
    """Return the batch of a config; cluster : keys of its `cluster` block, None where not given."""
    from thesiskit.experiments.cluster.batch import Batch

    given = [f"cluster.{name}={value}" for name, value in cluster.items() if value is not None]
    experiment = asked.open(config, *given)
    return Batch(experiment, experiment.config.cluster)


def _check_local(cluster) -> None:
    """Refuse options of jobs where there are none."""
    for name, value in cluster.items():
        if value is not None:
            raise click.UsageError(f"--{name} is for jobs of a cluster, not for --executor local")


PROBE = click.option(
    "--probe/--no-probe", default=True, help="Try first whether jobs see the results folder."
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
        click.echo("The jobs go on; `thesiskit batch cancel CONFIG` ends them.", err=True)
        raise
    left = opened.collect()
    if left:
        raise ResultsError(
            f"{left:,} cells are not done, and no job is left; `thesiskit batch status CONFIG` "
            "says why, the same command submits them again"
        )


@batch.command()
@opens_experiment(late=True)
@_cluster_options
@executor_option("slurm")
@PROBE
def submit(config, asked, force, executor, probe, **cluster) -> None:
    """Submit the cells that are not done as job arrays of Slurm, and return at once.

    With --executor local they are made here.

    Example:  thesiskit batch submit configs/studies/naive-replicates.yaml
    """
    if executor == "local":
        _check_local(cluster)
        experiment = asked.open(config)
        for stage in experiment.stages:
            run_stage(experiment, stage, force)
    else:
        opened = _open_batch(config, replace(asked, jobs=0), **cluster)
        click.echo(opened.submit(probe=probe, force=force))
        tell_notes(opened.experiment)


@batch.command()
@opens_experiment(late=True, force=False, jobs=False)
@click.option("--watch", is_flag=True, help="Go on showing it, until all cells are done.")
@click.option("--all", "every", is_flag=True, help="List every cell.")
def status(config, asked, watch, every) -> None:
    """Say what has become of the cells: state, seconds, memory, host.

    Example:  thesiskit batch status configs/studies/naive-replicates.yaml --watch
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
@opens_experiment(late=True, jobs=False)
def collect(config, asked, force) -> None:
    """Join the blocks whose cells are done; when all are, write the report.

    Example:  thesiskit batch collect configs/studies/naive-replicates.yaml
    """
    opened = _open_batch(config, asked)
    left = opened.collect()
    if left:
        click.echo(f"{left:,} cells are not done; thesiskit batch status CONFIG", err=True)
        raise click.exceptions.Exit(1)
    write_report(opened.experiment, force)


@batch.command()
@opens_experiment(late=True, force=False)
@_cluster_options
@executor_option("slurm")
@PROBE
def retry(config, asked, executor, probe, **cluster) -> None:
    """Make the cells again that failed, were interrupted or are damaged, and no others.

    Example:  thesiskit batch retry configs/studies/naive-replicates.yaml
    """
    if executor == "local":
        _check_local(cluster)
        opened = _open_batch(config, asked)
        _make(opened.experiment, opened.to_retry())
    else:
        opened = _open_batch(config, replace(asked, jobs=0), **cluster)
        click.echo(opened.submit(opened.to_retry(), probe=probe))
        tell_notes(opened.experiment)


@batch.command()
@opens_experiment(late=True, force=False)
@click.option("--share", metavar="I/N", help="The I-th of N equal parts of all cells.")
@click.option(
    "--cells",
    "listed",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --share: the cells of line I of a list of N lines, as `batch submit` writes it.",
)
@click.option(
    "--relative-to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where relative paths in CONFIG start; its own folder unless given.",
)
@click.argument("ids", metavar="[ID]...", nargs=-1)
def cell(config, asked, share, listed, folder, ids) -> None:
    """Make some cells by hand, with all that they need; `batch status --all` lists their ids.

    Example:  thesiskit batch cell configs/studies/naive-replicates.yaml --share 3/100
    """
    if listed is not None and not share:
        raise click.UsageError("--cells needs --share I/N, which says the line")
    opened = _open_batch(config, replace(asked, folder=folder))
    _make(opened.experiment, opened.share(share, listed) if share else opened.find(ids))


def _make(experiment, cells) -> None:
    """Make cells until they are done, or a signal says to stop; exit 1 if not all is done then."""
    import signal
    import threading

    from thesiskit.experiments.cluster.jobs import make

    stop = threading.Event()
    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), lambda *_: stop.set())
    failures = make(experiment, cells, stop)
    if failures is None:
        raise KeyboardInterrupt
    for failure in failures[:MOST_LINES]:
        click.echo(
            f"Error: {brief(f'{failure.cell.id} ({failure.cell}): {failure.reason}')}", err=True
        )
    # what its files say: a process that was told to stop has neither failed nor finished
    done = sum(map(experiment.graph.done, cells))
    click.echo(f"{done:,} of {len(cells):,} cells done")
    if failures or done < len(cells):
        raise click.exceptions.Exit(1)


@batch.command()
@opens_experiment(late=True, force=False, jobs=False, yes=False)
def cancel(config, asked) -> None:
    """Cancel the jobs that wait or run; what is done stays.

    Example:  thesiskit batch cancel configs/studies/naive-replicates.yaml
    """
    cancelled = _open_batch(config, asked).cancel()
    click.echo(f"{len(cancelled):,} jobs cancelled")


@batch.command()
@opens_experiment(late=True, force=False, jobs=False)
@_cluster_options
def script(config, asked, **cluster) -> None:
    """Print the sbatch script that makes all cells, for sites where Python may not submit.

    Example:  thesiskit batch script configs/studies/naive-replicates.yaml > study.sbatch
    """
    opened = _open_batch(config, asked, **cluster)
    click.echo(opened.script(), nl=False)
