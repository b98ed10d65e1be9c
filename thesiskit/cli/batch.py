"""The commands that make cells on a cluster, or some cells by hand."""

import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from thesiskit.cli.console import (
    MANY_CONFIGS,
    ONE_CONFIG,
    Asked,
    executor_option,
    opens_experiment,
    run_stage,
    tell_notes,
    write_report,
)
from thesiskit.errors import MOST_LINES, ResultsError, UserError, brief

WATCH_SECONDS = 2.0  # between two looks at a batch


@click.group()
def batch() -> None:
    """Make the cells of experiments on a cluster, or some of them by hand, and show their state.

    All these commands but `cell` take several configs, and folders such as chapter2.

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


def _batch(experiment):
    """Return the batch of an experiment, with the `cluster` block of its config."""
    from thesiskit.study.batch import Batch  # slow to import

    return Batch(experiment, experiment.config.cluster)


def _with_jobs(asked: Asked, cluster, executor: str = "") -> Asked:
    """Return what was asked for with the options of jobs, which --executor local does not have."""
    from thesiskit.study.slurm import call

    given = {name: value for name, value in cluster.items() if value is not None}
    if executor == "local":
        for name in given:
            raise click.UsageError(f"--{name} is for jobs of a cluster, not for --executor local")
        return asked
    if executor == "slurm":
        call("sbatch", "--version")  # where it is missing, no experiment need be opened
    settings = (f"cluster.{name}={value}" for name, value in given.items())
    return replace(asked, jobs=0, settings=(*asked.settings, *settings))


PROBE = click.option(
    "--probe/--no-probe",
    default=True,
    help="First submit a short job that checks whether jobs can use the results folder.",
)


def run_on_cluster(experiment, *, force: bool) -> None:
    """Submit the cells of an experiment, and wait until no job is left."""
    opened = _batch(experiment)
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
@MANY_CONFIGS
@opens_experiment()
@_cluster_options
@executor_option("slurm")
@PROBE
def submit(configs, asked, force, executor, probe, **cluster) -> None:
    """Submit the cells that are not done as job arrays of Slurm, and return at once.

    With --executor local the cells are computed on this machine.

    Example:  thesiskit batch submit chapter2
    """
    probed: list[object] = []  # a probe job says the same of all that ask for the same

    def submit_cells(experiment) -> None:
        if executor == "local":
            for stage in experiment.stages:
                run_stage(experiment, stage, force)
            return
        opened = _batch(experiment)
        click.echo(opened.submit(check=probe and opened.block not in probed, force=force))
        probed.append(opened.block)
        tell_notes(experiment)

    sys.exit(_with_jobs(asked, cluster, executor).for_each(configs, submit_cells))


@batch.command()
@MANY_CONFIGS
@opens_experiment(force=False, jobs=False)
@click.option("--watch", is_flag=True, help="Repeat until all cells are done.")
@click.option("--all", "every", is_flag=True, help="List every cell.")
def status(configs, asked, watch, every) -> None:
    """Show the state of the cells, and the time, memory and host of those that ran.

    Each of several experiments has one line.

    Example:  thesiskit batch status naive-replicates --watch
    """
    from thesiskit.study.batch import overview

    batches, code = [_batch(experiment) for experiment in asked.open_all(configs)], 0
    if every and len(batches) > 1:
        raise click.UsageError(
            f"--all lists the cells of one experiment, not of {len(batches)}. Fix: give one config"
        )
    while True:
        if len(batches) == 1:
            batches[0].experiment.check_needs(yes=asked.yes)
            finished, lines = batches[0].status(every=every)
        else:
            finished, lines, code = overview(batches, yes=asked.yes)
        if watch and sys.stdout.isatty():
            click.clear()
        for opened in batches:
            tell_notes(opened.experiment)
        click.echo("\n".join(lines))
        if finished or not watch:
            break
        time.sleep(WATCH_SECONDS * len(batches))  # each asks Slurm
    sys.exit(code)


@batch.command()
@MANY_CONFIGS
@opens_experiment(jobs=False)
def collect(configs, asked, force) -> None:
    """Join the cells of each complete block; when all cells are done, write the report.

    Example:  thesiskit run naive-replicates && thesiskit batch collect naive-replicates
    """

    def join_cells(experiment) -> None:
        left = _batch(experiment).collect()
        if left:
            click.echo(
                f"{left:,} cells are not done; `thesiskit batch status CONFIG` shows them", err=True
            )
            raise click.exceptions.Exit(1)
        write_report(experiment, force)

    sys.exit(asked.for_each(configs, join_cells))


@batch.command()
@MANY_CONFIGS
@opens_experiment(force=False)
@_cluster_options
@executor_option("slurm")
@PROBE
def retry(configs, asked, executor, probe, **cluster) -> None:
    """Make only those cells again that failed, were interrupted or are damaged.

    Example:  thesiskit batch retry naive-replicates
    """

    def retry_cells(experiment) -> None:
        opened = _batch(experiment)
        cells = opened.to_retry()
        if not cells:
            nothing = (
                "no cell has failed; `thesiskit batch submit CONFIG` makes those that are to do"
            )
            if len(configs) == 1:
                raise UserError(nothing)
            click.echo(nothing)
        elif executor == "local":
            _make(experiment, cells)
        else:
            click.echo(opened.submit(cells, check=probe))
            tell_notes(experiment)

    sys.exit(_with_jobs(asked, cluster, executor).for_each(configs, retry_cells))


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
    opened = _batch(asked.open(config))
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
@MANY_CONFIGS
@opens_experiment(force=False, jobs=False, yes=False)
def cancel(configs, asked) -> None:
    """Cancel the jobs that wait or run; the cells that are done are kept.

    Example:  thesiskit batch cancel naive-replicates
    """
    sys.exit(
        asked.for_each(configs, lambda e: click.echo(f"{len(_batch(e).cancel()):,} jobs cancelled"))
    )


@batch.command()
@MANY_CONFIGS
@opens_experiment(force=False, jobs=False)
@_cluster_options
def script(configs, asked, **cluster) -> None:
    """Print an sbatch script that makes all cells, for sites where Python cannot submit jobs.

    Of several experiments, a shell script is printed that submits the sbatch script of each.

    Example:  thesiskit batch script naive-replicates > study.sbatch
    """
    paths: list[Path] = []
    code = _with_jobs(asked, cluster).for_each(
        configs, lambda experiment: paths.append(_batch(experiment).script()), headings=False
    )
    if len(configs) == 1:
        click.echo(paths[0].read_text(encoding="utf-8"), nl=False)
    else:
        lines = [f"sbatch {shlex.quote(str(path))} || failed=1" for path in paths]
        click.echo("\n".join(["#!/bin/sh", "failed=0", *lines, "exit $failed"]))
    sys.exit(code)
