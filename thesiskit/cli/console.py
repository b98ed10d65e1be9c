"""What commands share: what they print, their arguments and options, the experiment they mean."""

import re
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
from click.shell_completion import CompletionItem

from thesiskit.errors import INTERRUPTED, ConfigError, ThesiskitError, UserError, brief, shorten
from thesiskit.registry import find, folders, name_of, shipped

PATIENCE = 2.0  # seconds before a terminal shows progress
REDRAW_SECONDS = 0.2  # between two updates of the line of progress
LINE_SECONDS = 60.0  # between two lines of progress where there is no terminal
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
            text = "this machine has not enough memory"
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
    for other in experiment.stages[: experiment.stages.index(stage) + 1]:
        run_stage(experiment, other, force and other == stage)


def make_stage(config, asked, force):
    """Make the stage of a command, with those before it, and return the experiment."""
    command = str(click.get_current_context().info_name)
    stage = command.partition("-")[0]
    experiment = asked.open(config)
    experiment.check_command(stage, command)
    run_up_to(experiment, stage, force)
    return experiment


def tell_notes(experiment) -> None:
    """Print the notes that the experiment has collected for the user, each once."""
    for note in dict.fromkeys(experiment.notes):
        click.echo(f"Note: {note}", err=True)
    experiment.notes.clear()


def watch(items: Iterable, total: int, label: str) -> Iterator:
    """Yield the items, and print how many are done.

    On a terminal a line is updated in its place, from PATIENCE seconds on; elsewhere a line is
    printed every LINE_SECONDS.
    """
    started, ended, done = time.monotonic(), threading.Event(), 0

    def progress() -> str:
        minutes = (time.monotonic() - started) / 60
        return f"{label}: {done} of {total} after {minutes:.0f} min"

    def update_line() -> None:
        if ended.wait(PATIENCE):
            return
        while not ended.wait(REDRAW_SECONDS):
            click.echo(f"\r{progress()}", nl=False, err=True)
        click.echo("\r\033[K", nl=False, err=True)  # erase the line

    def write_lines() -> None:
        while not ended.wait(LINE_SECONDS):
            click.echo(progress(), err=True)

    printing = update_line if sys.stderr.isatty() else write_lines
    thread = threading.Thread(target=printing, daemon=True)
    thread.start()
    try:
        for item in items:
            yield item
            done += 1
    finally:
        ended.set()
        thread.join()


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


# ---- what can stand for a config, a key or a data set, and what a shell offers ----


class Named(click.ParamType):
    """Something with a name that a shell can complete.

    known : returns all names; packages that are slow to import are only imported for this.
    """

    def __init__(self, name: str, known: Callable[[], Iterable[str]]):
        self.name, self.known = name, known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin so."""
        del ctx, param
        names = dict.fromkeys(self.known())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class ConfigType(Named):
    """A config: a path, the name of one that comes with thesiskit, or of what it remakes.

    many : the name of a folder stands for the configs in it; a value becomes a list of paths.
    """

    def __init__(self, *, many: bool = False):
        super().__init__("config", lambda: [*shipped(), *(folders() if many else ())])
        self.many = many

    def convert(self, value: Any, param: Any, ctx: Any) -> Path | list[Path]:
        """Return the path, or the paths; raise ConfigError where there is none of that name."""
        del param, ctx
        paths = [value] if isinstance(value, Path) else _exhibit(value) or find(value)
        if self.many:
            return paths
        if len(paths) > 1:
            raise UserError(f"{value} stands for {len(paths)} configs; name one of them")
        return paths[0]

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin so, and let the shell offer files."""
        offered = super().shell_complete(ctx, param, incomplete)
        return [*offered, CompletionItem(incomplete, type="file")]


def _exhibit(name: str) -> list[Path]:
    """Return the config that remakes a figure or table of the thesis; nothing for other names.

    Raises
    ------
    ConfigError: the thesis has no such figure or table, or none that is computed.
    """
    slug = re.sub(r"[ _-]+", "-", name.strip().lower())
    if not re.fullmatch(r"(figure|table)-[\d.]+", slug) or Path(name).exists():
        return []
    from thesiskit.report.page import exhibits  # pandas: only where a figure or table is named

    known = {one.file.split("/")[1]: one for one in exhibits()}
    entry = known.get(slug)
    if entry is None or not entry.part:
        remade = [one.name.split() for one in known.values() if one.part]
        choice = " or ".join(
            f"{kind} {', '.join(number for other, number in remade if other == kind)}"
            for kind in ("Table", "Figure")
        )
        wrong = f"the thesis has no {shorten(name)}"
        if entry:
            wrong = f"{entry.name} of the thesis is not remade ({entry.why})"
        raise ConfigError(f"{wrong}. Fix: choose {choice}")
    click.echo(f"{entry.name}: {entry.experiment}", err=True)
    return [shipped()[entry.experiment]]


def _keys() -> list[str]:
    from thesiskit.config import keys

    return [key.name for key in keys()]


def _data_sets() -> Iterable[str]:
    from thesiskit.datasets.published import published

    return published()


KEY = Named("key", _keys)  # a dotted key of a config
SETTING = Named("setting", lambda: [f"{name}=" for name in _keys()])  # a key, ready for a value
DATA_SET = Named("name", _data_sets)  # a published one


# ---- the options ----


ONE_CONFIG = click.argument("config", type=ConfigType())
MANY_CONFIGS = click.argument(
    "configs",
    metavar="CONFIG...",
    type=ConfigType(many=True),
    nargs=-1,
    required=True,
    # a config that its folder and its name both stand for is there once
    callback=lambda _, __, values: list(
        {p.resolve(): p for paths in values for p in paths}.values()
    ),
)
COMMON = [
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
        type=SETTING,
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
FORCE = click.option("--force", is_flag=True, help="Make again what is already made.")
YES = click.option(
    "--yes", is_flag=True, help="Accept a config that needs very much time, memory or disk."
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
    yes: bool | None = None  # None: a command that makes nothing does not ask
    jobs: int | None = 0  # None: as many as there are cores
    folder: Path | None = None  # where relative paths of the config start; None: its own folder

    def open(self, config: Path, *more: str, all_cases: bool = False):
        """Return the experiment of a config; more : further settings, such as "replicates=3".

        all_cases : as it is fitted to predict new cases.
        """
        from thesiskit.config import load_config
        from thesiskit.files import Results
        from thesiskit.models.chains import cores
        from thesiskit.study.experiment import Experiment

        if all_cases:
            from thesiskit.study.all_cases import AllCases as Experiment  # type: ignore
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
                    f"{name}: {names.count(name)} configs have this name, and would share a "
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
        given += ["--smoke"] if self.smoke else []
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
