"""The command line.  It parses, calls and prints; heavy imports wait inside the commands."""

import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from thesiskit import __version__
from thesiskit.errors import ThesiskitError, UserError

PATIENCE = 2.0  # seconds before a progress bar appears
WATCH_SECONDS = 2.0  # between two looks at a batch


class Commands(click.Group):
    """A group that turns our errors into one line each and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; 2 for the user's mistakes, 1 for failures, 130 for Ctrl-C."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except ThesiskitError as error:
            _show_trace(ctx)
            _show_error(error)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo(
                "Interrupted. What was finished is kept; the same command goes on from there.",
                err=True,
            )
            ctx.exit(130)
        except BrokenPipeError:
            ctx.exit(0)
        except Exception as error:
            if not _show_trace(ctx):
                _show_error(_unforeseen(error))
            ctx.exit(1)


def _unforeseen(error: Exception) -> ThesiskitError:
    return ThesiskitError(f"{type(error).__name__}: {error} (run with -v to see where)")


def _show_error(error: ThesiskitError) -> None:
    for line in str(error).splitlines():
        click.echo(f"Error: {line}", err=True)


def _show_trace(ctx: click.Context) -> bool:
    verbose = bool(ctx.find_root().meta.get("thesiskit.verbose"))
    if verbose:
        traceback.print_exc()
    return verbose


def _set_verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta["thesiskit.verbose"] = True


VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_set_verbose,
    help="Say more; show where an error came from.",
)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with:  thesiskit run configs/chapter2/naive-simulation.yaml",
)
@click.version_option(__version__, "--version", prog_name="thesiskit")
@VERBOSE
def main() -> None:
    """Remake the experiments of Longhai Li's thesis (Toronto, 2007), and run your own.

    An experiment is a YAML config. Its stages are simulate, select, fit-naive or fit-mixture,
    predict and report; of sequences and discrete features, simulate, compress, fit-logistic,
    predict and report. Each reads what those before it wrote under results/EXPERIMENT/, and `run`
    does them all.
    """


def _experiment_options(*, many: bool = False, force: bool = True, jobs: bool = True):
    """The argument and options that all stages share; --force where something is made."""
    kind = click.Path(path_type=Path)
    options = [
        click.argument("configs", metavar="CONFIG...", type=kind, nargs=-1, required=True)
        if many
        else click.argument("config", type=kind),
        click.option(
            "--results",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("results"),
            show_default=True,
            help="Folder for results; each experiment has its own below it.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="Override a key of the config, for example --set data.alpha=100. Repeatable.",
        ),
        click.option("--seed", type=click.IntRange(min=0), help="Replace the config's seed."),
        click.option("--smoke", is_flag=True, help="Use the config's own small form, to try it."),
    ]
    if force:
        options.append(
            click.option("--force", is_flag=True, help="Make again what is already there.")
        )
    if jobs:
        options.append(
            click.option(
                "--jobs",
                type=click.IntRange(min=0),
                envvar="THESISKIT_JOBS",
                metavar="N",
                help="Child processes; as many as cores unless given. 0: none, for a debugger.",
            )
        )

    def decorate(command):
        for option in reversed([*options, VERBOSE]):
            command = option(command)
        return command

    return decorate


def _open(
    config: Path,
    results: Path,
    settings: tuple[str, ...],
    seed: int | None,
    smoke: bool,
    jobs: int | None = 0,
):
    from thesiskit.config import load_config
    from thesiskit.experiments.stages import Experiment
    from thesiskit.models.running import cores
    from thesiskit.report.store import Results

    loaded = load_config(config, settings=settings, seed=seed, smoke=smoke)
    experiment = Experiment(
        loaded,
        Results(results, loaded.experiment),
        Path(config).parent,
        cores() if jobs is None else jobs,
    )
    click.get_current_context().call_on_close(experiment.close)
    return experiment


def _run_stage(experiment, stage: str, force: bool) -> None:
    started = time.perf_counter()
    made = experiment.run(stage, watch=_watch, force=force)
    while experiment.notes:
        click.echo(f"Note: {experiment.notes.pop()}", err=True)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(f"{stage}: {experiment.summary(stage)} ({state})")


def _stage_command(name: str, stage: str, text: str) -> None:
    """Make the command of a stage."""

    @main.command(name, help=text)
    @_experiment_options()
    def command(config, results, settings, seed, smoke, force, jobs) -> None:
        experiment = _open(config, results, settings, seed, smoke, jobs)
        experiment.check_command(stage, name)
        _run_stage(experiment, stage, force)


_stage_command(
    "simulate",
    "simulate",
    """Draw the data of an experiment, or divide a table into training and test cases.

    Example:  thesiskit simulate configs/chapter2/naive-simulation.yaml
    """,
)
_stage_command(
    "select",
    "select",
    """Keep the features that correlate best with the response, in every training set.

    Example:  thesiskit select configs/chapter2/naive-simulation.yaml
    """,
)
_stage_command(
    "fit-naive",
    "fit",
    """Fit the binary naive Bayes model, with and without conditioning on the selection.

    Example:  thesiskit fit-naive configs/chapter2/naive-simulation.yaml
    """,
)
_stage_command(
    "fit-mixture",
    "fit",
    """Sample the binary mixture model, with and without conditioning on the selection.

    Example:  thesiskit fit-mixture configs/chapter2/mixture-simulation.yaml
    """,
)


@main.command()
@_experiment_options()
@click.option(
    "--list",
    "listed",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Write the N groups that most training cases express.",
)
@click.option("--pattern", help="Write the group of a pattern: CC, or size=small, form=round.")
@click.option("--order", type=click.IntRange(min=0), help="Of the groups written; the largest.")
def compress(config, results, settings, seed, smoke, force, jobs, listed, pattern, order) -> None:
    """Group the patterns that the same training cases express.

    A group of sequences is written as its longest pattern, with a bar before the shortest: V_|CC
    stands for CC, _CC and V_CC; of features as what its patterns fix, and in brackets what they
    may fix too.

    Example:  thesiskit compress configs/chapter3/text.yaml --list 10
    """
    experiment = _open(config, results, settings, seed, smoke, jobs)
    experiment.check_command("compress", "compress")
    if "simulate" in experiment.stages:
        _run_stage(experiment, "simulate", False)
    _run_stage(experiment, "compress", force)
    for line in experiment.work.listing(order, listed, pattern):
        click.echo(line)


@main.command("fit-logistic")
@_experiment_options()
@click.option(
    "--extend", is_flag=True, help="Go on with the stored chains, or say why they cannot go on."
)
def fit_logistic(config, results, settings, seed, smoke, force, jobs, extend) -> None:
    """Sample the coefficients of a logistic model, compressed or not.

    Chains stored for fewer iterations of the same settings go on from there.

    Example:  thesiskit fit-logistic configs/chapter3/hmm.yaml --set model.iterations=4000
    """
    experiment = _open(config, results, settings, seed, smoke, jobs)
    experiment.check_command("fit", "fit-logistic")
    if extend and force:
        raise click.UsageError("--extend goes on with stored chains, --force drops them; use one")
    if extend:
        experiment.work.check_extension()
    _run_stage(experiment, "fit", force)


_stage_command(
    "predict",
    "predict",
    """Predict the test cases.

    Example:  thesiskit predict configs/chapter2/naive-simulation.yaml
    """,
)


@main.command()
@_experiment_options()
def report(config, results, settings, seed, smoke, force, jobs) -> None:
    """Write tables, figures and one page from what the other stages left.

    Example:  thesiskit report configs/chapter2/naive-simulation.yaml
    """
    _report(_open(config, results, settings, seed, smoke, jobs), force)


def _report(experiment, force: bool) -> None:
    started = time.perf_counter()
    page, made = experiment.report(watch=_watch, force=force)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(f"report: {page} ({state})")


@main.command()
@_experiment_options(many=True)
def run(configs, results, settings, seed, smoke, force, jobs) -> None:
    """Do all stages of experiments; skip what is done for the same config, data and code.

    Example:  thesiskit run configs/chapter2/naive-simulation.yaml --set data.alpha=100
    """
    from thesiskit.report.page import write_index

    experiments = [_open(config, results, settings, seed, smoke, jobs) for config in configs]
    failed = None
    for experiment in experiments:
        if len(experiments) > 1:
            click.echo(f"== {experiment.config.title}")
        try:
            for stage in experiment.stages:
                _run_stage(experiment, stage, force)
            _report(experiment, force)
        except Exception as error:
            if len(experiments) == 1:
                raise
            # the other experiments still run
            failed = error if isinstance(error, ThesiskitError) else _unforeseen(error)
            _show_trace(click.get_current_context())
            _show_error(failed)
    index = write_index(results)
    if failed is not None:
        click.echo(f"All reports but those that failed: {index}")
        raise click.exceptions.Exit(failed.exit_code)
    click.echo(f"All reports: {index}")


@main.command()
@_experiment_options(many=True, force=False, jobs=False)
@click.option(
    "--partial",
    is_flag=True,
    help="Take the replicates that are finished, up to the first that is not.",
)
def verify(configs, results, settings, seed, smoke, partial) -> None:
    """Hold the numbers that the thesis prints against the replicates of finished experiments.

    Writes a page, verify/verify.html, and the same as CSV and Markdown.

    Example:  thesiskit verify configs/studies/*-replicates.yaml
    """
    from thesiskit.report.page import write_index
    from thesiskit.report.verification.page import verify as hold_against

    records = [_finished(config, results, settings, seed, smoke, partial) for config in configs]
    page, summary = hold_against(records, results)
    click.echo(f"{summary}\n{page}")
    write_index(results)


def _finished(config: Path, results: Path, settings: tuple[str, ...], seed, smoke, partial: bool):
    """Return the record of a finished experiment, or say what to run."""
    experiment = _open(config, results, settings, seed, smoke)
    for number, replicates in enumerate(experiment.blocks):
        try:
            for stage in experiment.stages:
                experiment.require(stage, number)
        except UserError as error:
            if partial and number:
                done = (*settings, f"replicates={replicates.start}")
                return _open(config, results, done, seed, smoke).work.record()
            given = "".join(f" --set {setting}" for setting in settings) + " --smoke" * smoke
            hint = f", or add --partial for the first {replicates.start}" if number else ""
            raise UserError(
                f"{str(error).partition(';')[0]}; run `thesiskit run {config}{given}`{hint}"
            ) from None
    return experiment.work.record()


@main.group()
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


def _open_batch(config, results, settings, seed, smoke, jobs, **cluster):
    from thesiskit.experiments.batch import Batch

    given = [f"cluster.{name}={value}" for name, value in cluster.items() if value is not None]
    experiment = _open(config, results, (*settings, *given), seed, smoke, jobs)
    return Batch(experiment, experiment.config.cluster)


EXECUTOR = click.option(
    "--executor",
    type=click.Choice(["local", "slurm"]),
    default="slurm",
    show_default=True,
    help="Jobs of a Slurm cluster, or child processes here.",
)
PROBE = click.option(
    "--probe/--no-probe", default=True, help="Try first whether jobs see the results folder."
)


@batch.command()
@_experiment_options()
@_cluster_options
@EXECUTOR
@PROBE
def submit(config, results, settings, seed, smoke, force, jobs, executor, probe, **cluster) -> None:
    """Submit the cells that are not done as job arrays, and return.

    Example:  thesiskit batch submit configs/studies/naive-replicates.yaml --partition short
    """
    opened = _open_batch(config, results, settings, seed, smoke, jobs, **cluster)
    if force:
        opened.forget()
    if executor == "local":
        for stage in opened.experiment.stages:
            _run_stage(opened.experiment, stage, False)
    else:
        click.echo(opened.submit(probe=probe))


@batch.command()
@_experiment_options(force=False, jobs=False)
@click.option("--watch", is_flag=True, help="Go on showing it, until all cells are done.")
@click.option("--all", "every", is_flag=True, help="List every cell.")
def status(config, results, settings, seed, smoke, watch, every) -> None:
    """Say what has become of the cells: state, seconds, memory, host.

    Example:  thesiskit batch status configs/studies/naive-replicates.yaml --watch
    """
    opened = _open_batch(config, results, settings, seed, smoke, 0)
    while True:
        finished, lines = opened.status(every=every)
        if watch and sys.stdout.isatty():
            click.clear()
        click.echo("\n".join(lines))
        if finished or not watch:
            break
        time.sleep(WATCH_SECONDS)


@batch.command()
@_experiment_options(jobs=False)
def collect(config, results, settings, seed, smoke, force) -> None:
    """Join the blocks whose cells are done; when all are, write the report.

    Example:  thesiskit batch collect configs/studies/naive-replicates.yaml
    """
    opened = _open_batch(config, results, settings, seed, smoke, 0)
    left = opened.collect()
    if left:
        click.echo(f"{left:,} cells are not done; thesiskit batch status CONFIG", err=True)
        raise click.exceptions.Exit(1)
    _report(opened.experiment, force)


@batch.command()
@_experiment_options(force=False)
@_cluster_options
@EXECUTOR
@PROBE
def retry(config, results, settings, seed, smoke, jobs, executor, probe, **cluster) -> None:
    """Make the cells again that failed or were interrupted, and no others.

    Example:  thesiskit batch retry configs/studies/naive-replicates.yaml --executor local
    """
    opened = _open_batch(config, results, settings, seed, smoke, jobs, **cluster)
    cells = opened.to_retry()
    if executor == "slurm":
        click.echo(opened.submit(cells, probe=probe))
    else:
        _make_share(opened.share(cells))


@batch.command()
@_experiment_options(force=False)
@click.option("--share", metavar="I/N", help="The I-th of N equal parts of all cells.")
@click.argument("ids", metavar="[ID]...", nargs=-1)
def cell(config, results, settings, seed, smoke, jobs, share, ids) -> None:
    """Make some cells by hand, with all that they need; `batch status --all` lists their ids.

    Example:  thesiskit batch cell configs/studies/naive-replicates.yaml --share 3/100
    """
    opened = _open_batch(config, results, settings, seed, smoke, jobs)
    _make_share(opened.part(share) if share else opened.share(opened.find(ids)))


def _make_share(share) -> None:
    """Make a share until it is done, or a signal says to stop."""
    import signal
    import threading

    stop = threading.Event()
    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), lambda *_: stop.set())
    failures = share.failures(stop)
    if failures is None:
        raise KeyboardInterrupt
    for failure in failures:
        click.echo(f"Error: {failure.cell.id} ({failure.cell}): {failure.reason}", err=True)
    click.echo(f"{len(share.cells) - len(failures):,} of {len(share.cells):,} cells done")
    if failures:
        raise click.exceptions.Exit(1)


@batch.command()
@_experiment_options(force=False, jobs=False)
def cancel(config, results, settings, seed, smoke) -> None:
    """Cancel the jobs that wait or run; what is done stays.

    Example:  thesiskit batch cancel configs/studies/naive-replicates.yaml
    """
    cancelled = _open_batch(config, results, settings, seed, smoke, 0).cancel()
    click.echo(f"{len(cancelled):,} jobs cancelled")


@batch.command()
@_experiment_options(force=False, jobs=False)
@_cluster_options
def script(config, results, settings, seed, smoke, **cluster) -> None:
    """Print an sbatch script that makes all cells, for sites where Python may not submit.

    Example:  thesiskit batch script configs/studies/naive-replicates.yaml > study.sbatch
    """
    opened = _open_batch(config, results, settings, seed, smoke, 0, **cluster)
    given = [part for one in settings for part in ("--set", one)]
    given += ["--smoke"] if smoke else []
    given += ["--seed", str(seed)] if seed is not None else []
    click.echo(opened.script(Path(config), given), nl=False)


@main.group()
def data() -> None:
    """List, fetch and find the published data that experiments use.

    Example:  thesiskit data list
    """


@data.command("list")
@VERBOSE
def list_data() -> None:
    """Say which data there are, and whether they are here.

    Example:  thesiskit data list
    """
    from thesiskit.datasets.gene_expression import SOURCES, local_file

    for source in SOURCES.values():
        path = local_file(source)
        click.echo(f"{source.name}: {source.about}; {source.licence}")
        click.echo(f"  {path}" if path else f"  not here; thesiskit data fetch {source.name}")
    click.echo("breast-cancer: tumour measurements of 569 patients; comes with scikit-learn")


def _source(name: str):
    from thesiskit.datasets.gene_expression import SOURCES

    if name not in SOURCES:
        raise click.UsageError(f"there is no data set {name!r}; choose from {', '.join(SOURCES)}")
    return SOURCES[name]


@data.command()
@click.argument("name", default="colon")
@VERBOSE
def fetch(name: str) -> None:
    """Fetch a data set, check it, and keep it.

    Example:  thesiskit data fetch colon
    """
    from thesiskit.datasets.gene_expression import fetch as fetch_file

    click.echo(fetch_file(_source(name)))


@data.command()
@click.argument("name", default="colon")
@VERBOSE
def path(name: str) -> None:
    """Print where a data set is.

    Example:  thesiskit data path colon
    """
    from thesiskit.datasets.gene_expression import local_file
    from thesiskit.errors import DataError

    found = local_file(_source(name))
    if found is None:
        raise DataError(f"{name} is not here; thesiskit data fetch {name}")
    click.echo(found)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands and options in your shell.

    Example:  eval "$(thesiskit completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "thesiskit", "_THESISKIT_COMPLETE").source())


def _watch(items: Iterable, total: int, label: str) -> Iterator:
    """Pass items on; on a terminal, show a bar once they have taken a while."""
    if not sys.stderr.isatty():
        yield from items
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


if __name__ == "__main__":
    main()
