"""Which experiment a command means, and how it is run: arguments and options that are shared."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from thesiskit.cli.console import VERBOSE
from thesiskit.errors import UserError
from thesiskit.shipped import find, folders, name_of, shipped

MOST_JOBS = 1024  # child processes
MOST_SEED = 2**63 - 1


# ---- what can stand for a config, a key or a data set, and what a shell offers ----


class _Named(click.ParamType):
    """Something with a name that a shell can complete."""

    def known(self) -> Iterable[str]:
        """Return all names; packages that are slow to import are only imported for this."""
        raise NotImplementedError

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin so."""
        del ctx, param
        names = dict.fromkeys(self.known())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class ConfigType(_Named):
    """A config: a path, or the name of one that comes with thesiskit.

    many : the name of a folder stands for the configs in it; a value becomes a list of paths.
    """

    name = "config"

    def __init__(self, *, many: bool = False):
        self.many = many

    def convert(self, value: Any, param: Any, ctx: Any) -> Path | list[Path]:
        """Return the path, or the paths; raise ConfigError where there is none of that name."""
        del param, ctx
        paths = find(value) if isinstance(value, str) else [value]
        if self.many:
            return paths
        if len(paths) > 1:
            raise UserError(f"{value} stands for {len(paths)} configs; name one of them")
        return paths[0]

    def known(self) -> Iterable[str]:
        """Return the names of configs, and where many may be given, of their folders."""
        return [*shipped(), *(folders() if self.many else ())]

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin so, and let the shell offer files."""
        offered = super().shell_complete(ctx, param, incomplete)
        return [*offered, CompletionItem(incomplete, type="file")]


class KeyType(_Named):
    """A dotted key of a config."""

    name = "key"

    def known(self) -> Iterable[str]:
        """Return all keys."""
        from thesiskit.config import keys

        return (key.name for key in keys())


class SettingType(KeyType):
    """KEY=VALUE, which overrides a key of the config."""

    name = "setting"

    def known(self) -> Iterable[str]:
        """Return all keys, ready for a value."""
        return (f"{name}=" for name in super().known())


class DataType(_Named):
    """A published data set."""

    name = "name"

    def known(self) -> Iterable[str]:
        """Return the names of the published data sets."""
        from thesiskit.datasets.published import published

        return published()


# ---- the options ----


def executor_option(default: str):
    """The option that says where cells are made."""
    return click.option(
        "--executor",
        type=click.Choice(["local", "slurm"]),
        default=default,
        show_default=True,
        help="Make cells in child processes here, or in jobs of a Slurm cluster.",
    )


ONE_CONFIG = click.argument("config", type=ConfigType())
OPTIONAL_CONFIG = click.argument("config", type=ConfigType(), required=False)
MANY_CONFIGS = click.argument(
    "configs",
    metavar="CONFIG...",
    type=ConfigType(many=True),
    nargs=-1,
    required=True,
    callback=lambda _, __, values: [path for paths in values for path in paths],
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
FORCE = click.option("--force", is_flag=True, help="Make again what is already made.")
YES = click.option(
    "--yes",
    is_flag=True,
    help="Accept a config that needs very much time, memory or disk.",
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

    @property
    def options(self) -> list[str]:
        """The options that open the same experiment again, for another command line."""
        given = [part for setting in self.settings for part in ("--set", setting)]
        given += ["--seed", str(self.seed)] if self.seed is not None else []
        given += ["--name", self.name] if self.name is not None else []
        given += ["--smoke"] if self.smoke else []
        return given


def opens_experiment(
    argument=ONE_CONFIG, *, late: bool = False, force: bool = True, jobs: bool = True,
    yes: bool = True,
):  # fmt: skip
    """Hand a command the experiment that its config and options ask for, opened.

    argument : for the config; None of a command that has others in its place.
    late : the command is given an `Asked` and opens its config by itself, as it must where there
        is not just one.
    force, jobs, yes : whether the command has these options.
    """
    late = late or argument is not ONE_CONFIG
    given = [(argument, argument is not None), *((option, True) for option in COMMON)]
    given += [(FORCE, force), (YES, yes), (JOBS, jobs), (VERBOSE, True)]

    def decorate(command):
        @wraps(command)
        def opened(*, results, settings, seed, name, smoke, yes=None, jobs=0, **more):
            asked = Asked(results, settings, seed, name, smoke, yes, jobs)
            if late:
                return command(asked=asked, **more)
            return command(asked.open(more.pop("config")), **more)

        for option, wanted in reversed(given):
            opened = option(opened) if wanted else opened
        return opened

    return decorate
