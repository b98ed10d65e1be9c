"""What commands share: options, opening an experiment, running its stages, telling errors."""

import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from thesiskit.errors import ThesiskitError, brief, cut

PATIENCE = 2.0  # seconds before a progress bar appears
MOST_JOBS = 1024  # child processes
MOST_SEED = 2**63 - 1


class Commands(click.Group):
    """A group that turns our errors into one line each and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments before the name of a command; usage errors are cut to a line."""
        try:
            return super().make_context(*args, **kwargs)
        except click.ClickException as error:
            raise _cut(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; 2 for the user's mistakes, 1 for failures, 130 for Ctrl-C."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise _cut(error) from None
        except (click.exceptions.Exit, click.Abort):
            raise
        except ThesiskitError as error:
            show_trace(ctx)
            show_error(error)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo(
                "Interrupted. What was finished is kept; the same command goes on from there.",
                err=True,
            )
            ctx.exit(130)
        except BrokenPipeError:
            ctx.exit(0)
        except OSError as error:
            show_trace(ctx)
            where = f"{error.filename}: " if error.filename else ""
            show_error(ThesiskitError(f"{where}{error.strerror or error}"))
            ctx.exit(1)
        except MemoryError:
            show_trace(ctx)
            show_error(ThesiskitError("the memory of this machine does not suffice"))
            ctx.exit(1)
        except Exception as error:
            if not show_trace(ctx):
                show_error(unforeseen(error))
            ctx.exit(1)


def _cut(error: click.ClickException) -> click.ClickException:
    """Return an error of click's that quotes no more than a line of what was given."""
    error.message = cut(error.message, 300)  # type: ignore[misc]
    return error


def unforeseen(error: Exception) -> ThesiskitError:
    """Return an error of ours for one that nobody foresaw."""
    return ThesiskitError(f"{type(error).__name__}: {error} (run with -v to see where)")


def show_error(error: ThesiskitError) -> None:
    """Print an error, a line each: what a user reads, or with -v all of it."""
    context = click.get_current_context(silent=True)
    text = str(error) if context is not None and _verbose(context) else brief(str(error))
    for line in text.splitlines():
        click.echo(f"Error: {line}", err=True)


def show_trace(ctx: click.Context) -> bool:
    """With -v, print where an error came from; return whether that was asked for."""
    if _verbose(ctx):
        traceback.print_exc()
    return _verbose(ctx)


def _verbose(ctx: click.Context) -> bool:
    return bool(ctx.find_root().meta.get("thesiskit.verbose"))


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


def executor_option(default: str):
    """The option that says where cells are made."""
    return click.option(
        "--executor",
        type=click.Choice(["local", "slurm"]),
        default=default,
        show_default=True,
        help="Make cells in child processes here, or in jobs of a Slurm cluster.",
    )


def shared_options(*, many: bool = False, force: bool = True, jobs: bool = True, yes: bool = True):
    """Add the argument and options that say which experiment is meant, and how it is run."""
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
        click.option(
            "--seed", type=click.IntRange(0, MOST_SEED), help="Replace the config's seed."
        ),
        click.option("--smoke", is_flag=True, help="Use the config's own small form, to try it."),
    ]
    if force:
        options.append(
            click.option("--force", is_flag=True, help="Make again what is already there.")
        )
    if yes:
        options.append(
            click.option("--yes", is_flag=True, help="Go on where the config needs very much.")
        )
    if jobs:
        options.append(
            click.option(
                "--jobs",
                type=click.IntRange(0, MOST_JOBS),
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


@dataclass(frozen=True)
class Asked:
    """What was asked for on the command line, besides the config: how experiments are opened."""

    results: Path
    settings: tuple[str, ...]
    seed: int | None
    smoke: bool
    yes: bool | None = None  # None: a command that makes nothing does not ask
    jobs: int | None = 0  # None: as many as there are cores
    folder: Path | None = None  # where relative paths of the config start; None: its own folder

    def open(self, config: Path, *more: str):
        """Return the experiment of a config; more : further settings, such as "replicates=3"."""
        from thesiskit.config import load_config

        loaded = load_config(
            config, settings=(*self.settings, *more), seed=self.seed, smoke=self.smoke
        )
        if self.jobs != 0:
            from thesiskit.experiments.cells.workers import start_server

            start_server(loaded.model.kind)  # it imports while this process does
        from thesiskit.experiments import estimate
        from thesiskit.experiments.experiment import Experiment
        from thesiskit.models.running import cores
        from thesiskit.store.results import Results

        experiment = Experiment(
            loaded,
            Results(self.results, loaded.experiment),
            Path(config).parent if self.folder is None else self.folder,
            cores() if self.jobs is None else self.jobs,
        )
        click.get_current_context().call_on_close(experiment.close)
        if self.yes is not None:
            estimate.check(experiment, yes=self.yes)
        return experiment

    @property
    def options(self) -> list[str]:
        """The options that open the same experiment again, for another command line."""
        given = [part for one in self.settings for part in ("--set", one)]
        given += ["--seed", str(self.seed)] if self.seed is not None else []
        given += ["--smoke"] if self.smoke else []
        return given


def opens_experiment(*, late: bool = False, **options: bool):
    """Hand a command the experiment that its config and options ask for, opened.

    late : the command is given an `Asked` and opens its config by itself, as it must where there
        are several configs.
    options : as `shared_options` takes them.
    """

    def decorate(command):
        @wraps(command)
        def opened(*, results, settings, seed, smoke, yes=None, jobs=0, **more):
            asked = Asked(results, settings, seed, smoke, yes, jobs)
            if late or options.get("many"):
                return command(asked=asked, **more)
            return command(asked.open(more.pop("config")), **more)

        return shared_options(**options)(opened)

    return decorate


def run_stage(experiment, stage: str, force: bool) -> None:
    """Run a stage, and say what it did."""
    started = time.perf_counter()
    made = experiment.run(stage, watch=watch, force=force)
    tell_notes(experiment)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(f"{stage}: {experiment.summary(stage)} ({state})")


def tell_notes(experiment) -> None:
    """Print what the user should hear of."""
    while experiment.notes:
        click.echo(f"Note: {experiment.notes.pop(0)}", err=True)


def watch(items: Iterable, total: int, label: str) -> Iterator:
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


def write_report(experiment, force: bool) -> None:
    """Write the report, and say where it is."""
    started = time.perf_counter()
    page, made = experiment.report(watch=watch, force=force)
    tell_notes(experiment)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(f"report: {page} ({state})")
