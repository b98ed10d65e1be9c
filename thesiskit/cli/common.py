"""What the commands share: options, opening an experiment, running stages, printing errors."""

import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from thesiskit.errors import ThesiskitError, UserError, brief, cut
from thesiskit.shipped import find, folders, name_of, shipped

PATIENCE = 2.0  # seconds before a progress bar appears
LINE_SECONDS = 60.0  # between two lines of progress where there is no terminal
MOST_JOBS = 1024  # child processes
MOST_SEED = 2**63 - 1


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
        except ThesiskitError as error:
            show_trace(ctx)
            show_error(error)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo(
                "Interrupted. Finished cells are kept; the same command continues from there.",
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
            show_error(ThesiskitError("this machine has not enough memory"))
            ctx.exit(1)
        except Exception as error:
            if not show_trace(ctx):
                show_error(unforeseen(error))
            ctx.exit(1)


def _cut(error: click.ClickException) -> click.ClickException:
    """Return click's error, shortened where it quotes long input."""
    error.message = cut(error.message, 300)  # type: ignore[misc]
    return error


def unforeseen(error: Exception) -> ThesiskitError:
    """Return a ThesiskitError for an error that the program did not expect."""
    return ThesiskitError(f"{type(error).__name__}: {error} (run with -v to see where)")


def show_error(error: ThesiskitError) -> None:
    """Print an error: its first lines, or with -v all of it."""
    context = click.get_current_context(silent=True)
    text = str(error) if context is not None and _verbose(context) else brief(str(error))
    for line in text.splitlines():
        click.echo(f"Error: {line}", err=True)


def show_trace(ctx: click.Context) -> bool:
    """With -v, print the traceback of an error; return whether -v was given."""
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
    help="Show where in the code an error came from.",
)


class ConfigType(click.ParamType):
    """A config: a path, or the name of one that comes with thesiskit.

    many : the name of a folder stands for the configs in it; a value becomes a list of paths.
    """

    name = "config"

    def __init__(self, *, many: bool = False):
        self.many = many

    def convert(self, value: Any, _: Any, __: Any) -> Any:
        """Return the path, or the paths; raise ConfigError where there is none of that name."""
        found = find(value) if isinstance(value, str) else [value]
        if self.many:
            return found
        if len(found) > 1:
            raise UserError(f"{value} stands for {len(found)} configs; name one of them")
        return found[0]

    def shell_complete(
        self, _: click.Context, __: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that a shell offers, and let it offer files."""
        names = [*shipped(), *(folders() if self.many else ())]
        offered = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*offered, CompletionItem(incomplete, type="file")]


class SettingType(click.ParamType):
    """KEY=VALUE, which overrides a key of the config."""

    name = "setting"

    def shell_complete(
        self, _: click.Context, __: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the keys that a shell offers."""
        from thesiskit.config.keys import keys

        names = dict.fromkeys(f"{key.name}=" for key in keys())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _joined(_: click.Context, __: click.Parameter, values: tuple[list[Path], ...]) -> list[Path]:
    return [path for paths in values for path in paths]


def executor_option(default: str):
    """The option that says where cells are made."""
    return click.option(
        "--executor",
        type=click.Choice(["local", "slurm"]),
        default=default,
        show_default=True,
        help="Make cells in child processes here, or in jobs of a Slurm cluster.",
    )


def shared_options(
    *,
    many: bool = False,
    optional: bool = False,
    force: bool = True,
    jobs: bool = True,
    yes: bool = True,
    bare: bool = False,
):
    """Add the argument and options that say which experiment is meant, and how it is run.

    optional : the command may be called without a config.
    bare : the command has arguments of its own in place of a config.
    """
    argument = (
        click.argument(
            "configs",
            metavar="CONFIG...",
            type=ConfigType(many=True),
            nargs=-1,
            required=True,
            callback=_joined,
        )
        if many
        else click.argument("config", type=ConfigType(), required=not optional)
    )
    options = [
        *([] if bare else [argument]),
        click.option(
            "--results",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("results"),
            show_default=True,
            help="Folder for results. Each experiment has a folder of its own in it.",
        ),
        click.option(
            "--set",
            "settings",
            type=SettingType(),
            multiple=True,
            metavar="KEY=VALUE",
            help="Override a key of the config, as in --set data.alpha=100. May be repeated.",
        ),
        click.option(
            "--name",
            metavar="NAME",
            help="Call the experiment so, and its folder of results: variants made with --set then "
            "stand beside each other.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0, MOST_SEED),
            metavar="N",
            help="Use this seed in place of the config's.",
        ),
        click.option(
            "--smoke", is_flag=True, help="Run the small form of the experiment, for a quick try."
        ),
    ]
    if force:
        options.append(
            click.option("--force", is_flag=True, help="Make again what is already made.")
        )
    if yes:
        options.append(
            click.option(
                "--yes",
                is_flag=True,
                help="Accept a config that needs very much time, memory or disk.",
            )
        )
    if jobs:
        options.append(
            click.option(
                "--jobs",
                type=click.IntRange(0, MOST_JOBS),
                envvar="THESISKIT_JOBS",
                metavar="N",
                help="Number of child processes. Default: one for each core. 0 computes in the "
                "main process, for debugging.",
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
    name: str | None
    smoke: bool
    yes: bool | None = None  # None: a command that makes nothing does not ask
    jobs: int | None = 0  # None: as many as there are cores
    folder: Path | None = None  # where relative paths of the config start; None: its own folder

    def open(self, config: Path, *more: str, all_cases: bool = False):
        """Return the experiment of a config; more : further settings, such as "replicates=3".

        all_cases : as it is fitted to predict new cases.
        """
        from thesiskit.config import load_config
        from thesiskit.experiments import estimate
        from thesiskit.experiments.experiment import Experiment

        if all_cases:
            from thesiskit.experiments.all_cases import AllCases as Experiment  # type: ignore
        from thesiskit.models.running import cores
        from thesiskit.store.results import Results

        loaded = load_config(
            config,
            settings=(*self.settings, *more),
            seed=self.seed,
            name=self.name,
            smoke=self.smoke,
        )
        experiment = Experiment(
            loaded,
            Results(self.results, loaded.experiment),
            Path(config).parent if self.folder is None else self.folder,
            cores() if self.jobs is None else self.jobs,
        )
        if self.smoke and not loaded.smoke:
            experiment.notes.append(
                f"{name_of(config)} has no `smoke:` form; --smoke runs the whole experiment"
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
        given += ["--name", self.name] if self.name is not None else []
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
        def opened(*, results, settings, seed, name, smoke, yes=None, jobs=0, **more):
            asked = Asked(results, settings, seed, name, smoke, yes, jobs)
            if late or options.get("many") or options.get("bare"):
                return command(asked=asked, **more)
            return command(asked.open(more.pop("config")), **more)

        return shared_options(**options)(opened)

    return decorate


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
    started = time.perf_counter()
    page, made = experiment.report(watch=watch, force=force)
    tell_notes(experiment)
    for line in experiment.record().headline():
        click.echo(line)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(f"report: {page} ({state})")
