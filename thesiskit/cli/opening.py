"""Which experiment a command means, and how it is run: the options that commands share."""

from dataclasses import dataclass
from functools import wraps
from pathlib import Path

import click

from thesiskit.cli.errors import VERBOSE
from thesiskit.cli.names import ConfigType, SettingType
from thesiskit.shipped import name_of

MOST_JOBS = 1024  # child processes
MOST_SEED = 2**63 - 1


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
        *COMMON,
        *([FORCE] if force else []),
        *([YES] if yes else []),
        *([JOBS] if jobs else []),
        VERBOSE,
    ]

    def decorate(command):
        for option in reversed(options):
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
        from thesiskit.files import Results
        from thesiskit.models.chains import cores

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
