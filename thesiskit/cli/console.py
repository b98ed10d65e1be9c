"""What commands share: what they print, their arguments and options, the experiment they mean."""

import difflib
import re
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from thesiskit.errors import INTERRUPTED, ConfigError, ThesiskitError, UserError, brief, shorten
from thesiskit.registry import exhibits, find, name_of, shipped

UPDATE_SECONDS = 2.0  # between two updates of the line of progress on a terminal
LINE_SECONDS = 60.0  # between two lines of progress where there is no terminal
NUMBERED = re.compile(r"(figure|table)[ _-]*[\d.]+", re.IGNORECASE)  # exhibits of the thesis
MOST_JOBS = 1024  # child processes
MOST_SEED = 2**63 - 1


# ---- errors ----


class Commands(click.Group):
    """A group of commands that prints an error as one line and exits with its code."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments before the name of a command."""
        with _shortened():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exit with 2 for a mistake of the user, 1 for a failure, 130 for Ctrl-C."""
        try:
            with _shortened():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo(INTERRUPTED, err=True)
            ctx.exit(130)
        except BrokenPipeError:
            ctx.exit(0)
        except Exception as error:
            ctx.exit(show_error(error))


@contextmanager
def _shortened() -> Iterator[None]:
    """Shorten an error of click where it quotes long input."""
    try:
        yield
    except click.ClickException as error:
        error.message = shorten(error.message, 300)  # type: ignore[misc]
        raise


def show_error(error: Exception, name: str = "") -> int:
    """Print an error, its first lines, or with -v all of it and its traceback; return its code.

    name : the experiment that failed, printed before the error where several run.
    """
    verbose = click.get_current_context().find_root().meta.get("thesiskit.verbose")
    if verbose:
        traceback.print_exc()
    code = 1
    match error:
        case click.exceptions.Exit():  # the command has printed what is wrong
            return error.exit_code
        case ThesiskitError():
            text, code = str(error), error.exit_code
            verbose = verbose or not error.shortened
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            text = f"{where}{error.strerror or error}"
        case MemoryError():
            text = "not enough memory"
        case _:
            text = f"{type(error).__name__}: {error} (run with -v to see where)"
            if verbose:  # the traceback has it
                return code
    for line in (text if verbose else brief(text)).splitlines():
        prefix = "" if line.startswith("  ") else f"Error: {name and f'{name}: '}"  # of a list
        click.echo(prefix + line, err=True)
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
    help="Show the traceback of an error.",
)


def _set_strict(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from thesiskit.datasets import reading  # pandas: only where a table is read

        token = reading.STRICT.set(True)
        ctx.find_root().call_on_close(lambda: reading.STRICT.reset(token))


STRICT = click.option(
    "--strict",
    is_flag=True,
    expose_value=False,
    callback=_set_strict,
    help="Refuse a table with samples without a response. Default: drop them, with a note.",
)


# ---- stages and reports ----


def run_stage(experiment, stage: str, force: bool, *, ahead: bool = False) -> None:
    """Compute a stage, and print a summary; ahead : with what else can be done."""
    started = time.perf_counter()
    made = experiment.run(stage, watch=watch, force=force, ahead=ahead)
    print_notes(experiment.notes)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    data = experiment.config.data
    label = "Read data" if stage == "simulate" and data is not None and data.own else stage
    click.echo(f"{label}: {experiment.summary(stage)} ({state})")


def make_stage(config, asked, force):
    """Make the stage of a command, with those before it, and return the experiment."""
    command = str(click.get_current_context().info_name)
    stage = command.partition("-")[0]
    experiment = asked.open(config)
    experiment.check_command(stage, command)
    for other in experiment.stages[: experiment.stages.index(stage) + 1]:
        run_stage(experiment, other, force and other == stage)
    return experiment


def print_notes(notes: list[str]) -> None:
    """Print notes for the user, each once, and empty the list."""
    for note in dict.fromkeys(notes):
        click.echo(f"Note: {note}", err=True)
    notes.clear()


def watch(items: Iterable, total: int, label: str, at_work: Callable[[], str] = str) -> Iterator:
    """Yield the items, and print how many are done, and what `at_work` returns.

    On a terminal a line is updated in its place every UPDATE_SECONDS; elsewhere a line is printed
    every LINE_SECONDS.
    """
    started, ended, done, terminal = time.monotonic(), threading.Event(), 0, sys.stderr.isatty()

    def print_progress() -> None:
        while not ended.wait(UPDATE_SECONDS if terminal else LINE_SECONDS):
            minutes = (time.monotonic() - started) / 60
            now = at_work()
            text = f"{label}: {done} of {total} tasks done ({minutes:.0f} min){now and f'; {now}'}"
            text = shorten(text, shutil.get_terminal_size().columns - 1) if terminal else text
            click.echo(f"\r{text}\033[K" if terminal else text, nl=not terminal, err=True)

    thread = threading.Thread(target=print_progress, daemon=True)
    thread.start()
    try:
        for item in items:
            yield item
            done += 1
    finally:
        ended.set()
        thread.join()
        if terminal:
            click.echo("\r\033[K", nl=False, err=True)  # erase the line


def write_report(experiment, force: bool) -> None:
    """Write the report, and print where it is."""
    from thesiskit.report.stages import headline  # pandas and others: only where one reports

    started = time.perf_counter()
    page, made = experiment.report(watch=watch, force=force)
    print_notes(experiment.notes)
    for line in headline(experiment.record()):
        click.echo(line)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(f"report: {page} ({state})")


# ---- what can stand for a config ----


class ConfigType(click.ParamType):
    """A config: a path, the name of one that comes with thesiskit, or of what it remakes.

    many : the name of a folder stands for the configs in it; a value becomes a list of paths.
    """

    name = "config"

    def __init__(self, *, many: bool = False):
        self.many = many

    def convert(self, value: Any, _param: Any, _ctx: Any) -> Path | list[Path]:
        """Return the path, or the paths; raise ConfigError where there is none of that name."""
        paths = [value] if isinstance(value, Path) else []
        if not paths and NUMBERED.fullmatch(value.strip()) and not Path(value).exists():
            paths = [_reproducing(value)]
        paths = paths or find(value)
        if self.many:
            return paths
        if len(paths) > 1:
            raise UserError(f"{value} is a group of {len(paths)} configs. Fix: choose one")
        return paths[0]


def _reproducing(name: str) -> Path:
    """Return the config that reproduces a table or figure of the thesis.

    Raises
    ------
    ConfigError: no config computes such a figure or table.
    """
    by_exhibit = {exhibit: config for config, names in exhibits().items() for exhibit in names}
    exhibit = re.sub(r"[ _-]+", " ", name.strip()).capitalize()
    if exhibit not in by_exhibit:
        near = sorted(difflib.get_close_matches(exhibit, by_exhibit, 4, 0.5) or by_exhibit)
        raise ConfigError(f"no config reproduces {shorten(name)}. Fix: choose {', '.join(near)}")
    click.echo(f"{exhibit}: {by_exhibit[exhibit]}", err=True)
    return shipped()[by_exhibit[exhibit]]


# ---- the options ----


ONE_CONFIG = click.argument("config", type=ConfigType())
EXHIBIT = click.option(
    "--exhibit",
    metavar="NAME",
    callback=lambda _, __, name: name and _reproducing(name),
    help='Run the config that reproduces a table or figure of the thesis, such as "Table 2.1".',
)
MANY_CONFIGS, ANY_CONFIGS = (
    click.argument(
        "configs",
        metavar="CONFIG...",
        type=ConfigType(many=True),
        nargs=-1,
        required=required,
        # a config that its folder and its name both stand for is there once
        callback=lambda _, __, values: list(
            {p.resolve(): p for paths in values for p in paths}.values()
        ),
    )
    for required in (True, False)
)
COMMON = [
    click.option(
        "--results",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("results"),
        show_default=True,
        help="Folder for results. Each experiment has its own subfolder.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override a key of the config, as in --set data.alpha=100. May be repeated.",
    ),
    click.option(
        "--name",
        metavar="NAME",
        help="Name for this run and its results folder, e.g. to keep variants made with --set.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, MOST_SEED),
        metavar="N",
        help="Seed for random numbers. Default: the seed of the config.",
    ),
    click.option(
        "--smoke",
        is_flag=True,
        help="Run a demo with reduced data; its numbers are not to be interpreted.",
    ),
]
FORCE = click.option(
    "--force", is_flag=True, help="Recompute existing results, and overwrite files."
)
YES = click.option(
    "--yes", is_flag=True, help="Proceed with a config that needs much time, memory or disk."
)
JOBS = click.option(
    "--jobs",
    type=click.IntRange(0, MOST_JOBS),
    envvar="THESISKIT_JOBS",
    metavar="N",
    help="Number of child processes. Default: one for each core. 0 computes in the main process, "
    "for debugging.",
)


@dataclass(frozen=True)
class Asked:
    """What was asked for on the command line, besides the config: how experiments are opened."""

    results: Path
    settings: tuple[str, ...]
    seed: int | None
    name: str | None
    smoke: bool
    quick: bool = False
    yes: bool | None = None  # None: a command that makes nothing does not ask
    jobs: int | None = 0  # None: as many as there are cores
    folder: Path | None = None  # where relative paths of the config start; None: its own folder

    def open(self, config: Path, *more: str, all_samples: bool = False):
        """Return the experiment of a config; more : further settings, such as "replicates=3".

        all_samples : as it is fitted to predict new samples.
        """
        if self.jobs != 0:  # the server imports what cells need while this process imports the rest
            from thesiskit.study.server import start_server

            start_server()
        from thesiskit.config import load_config
        from thesiskit.files import Results
        from thesiskit.models.chains import cores
        from thesiskit.study.experiment import Experiment

        if all_samples:
            from thesiskit.study.all_samples import AllSamples as Experiment  # type: ignore
        loaded = load_config(
            config,
            settings=(*self.settings, *more),
            seed=self.seed,
            name=self.name,
            smoke=self.smoke,
            quick=self.quick,
        )
        experiment = Experiment(
            loaded,
            Results(self.results, loaded.experiment),
            Path(config).parent if self.folder is None else self.folder,
            cores() if self.jobs is None else self.jobs,
        )
        experiment.notes.extend(loaded.notes)
        if self.smoke and not loaded.smoke:
            experiment.notes.append(
                f"{name_of(config)} has no `smoke:` block; --smoke runs the whole experiment"
            )
        click.get_current_context().call_on_close(experiment.close)
        if self.yes is not None:
            experiment.check_needs(yes=self.yes)
        return experiment

    def open_all(self, configs: list[Path]) -> list[Any]:
        """Return the experiments of configs; all are read before any work begins.

        Raises UserError where two of them would share a results folder.
        """
        if self.name is not None and len(configs) > 1:
            raise click.UsageError(
                f"--name is for one experiment, not for {len(configs)}. Fix: remove --name"
            )
        experiments = [replace(self, yes=None).open(config) for config in configs]
        names = [experiment.config.experiment for experiment in experiments]
        for name in names:
            if names.count(name) > 1:
                raise UserError(
                    f"{name}: {names.count(name)} configs have this name, so they would share a "
                    "results folder. Fix: change `experiment` in the configs"
                )
        return experiments

    def for_each(
        self, configs: list[Path], act: Callable[[Any], object], *, headings: bool = True
    ) -> int:
        """Call a function with the experiment of each config; return the worst exit code.

        Of several experiments, each has a heading, and a failure does not stop the others.  The
        failure of a single experiment is raised.
        """
        experiments, worst = self.open_all(configs), 0
        for experiment in experiments:
            name = experiment.config.experiment
            if headings and len(experiments) > 1:
                click.echo(f"== {name}: {experiment.config.title}")
            try:
                if self.yes is not None:
                    experiment.check_needs(yes=self.yes)
                act(experiment)
            except Exception as error:
                if len(experiments) == 1:
                    raise
                worst = max(worst, show_error(error, name))
            finally:
                experiment.close()
        return worst

    @property
    def options(self) -> list[str]:
        """The options that open the same experiment again, for another command line."""
        given = [part for setting in self.settings for part in ("--set", setting)]
        given += ["--seed", str(self.seed)] if self.seed is not None else []
        given += ["--name", self.name] if self.name is not None else []
        given += ["--smoke"] * self.smoke + ["--quick"] * self.quick
        return given


def opens_experiment(*, force: bool = True, jobs: bool = True, yes: bool = True):
    """Give a command the options that open an experiment, as `asked`, an `Asked`.

    force, jobs, yes : whether it has these options.
    """
    given = [(FORCE, force), (YES, yes), (JOBS, jobs), (VERBOSE, True)]
    options = [*COMMON, *(option for option, wanted in given if wanted)]

    def decorate(command):
        @wraps(command)
        def opened(**more):
            names = [one.name for one in fields(Asked) if one.name in more]
            return command(asked=Asked(**{name: more.pop(name) for name in names}), **more)

        for option in reversed(options):
            opened = option(opened)
        return opened

    return decorate
