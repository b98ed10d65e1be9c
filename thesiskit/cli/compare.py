"""The command that puts two experiments side by side."""

from pathlib import Path
from typing import Any

import click

from thesiskit.cli.console import ConfigType, opens_experiment, run_up_to


class RunType(ConfigType):
    """A config, or a folder of results."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the path."""
        path = Path(value)
        return path if path.is_dir() else super().convert(value, parameter, context)


@click.command()
@click.argument("first", metavar="A", type=RunType())
@click.argument("second", metavar="B", type=RunType())
@opens_experiment(None, force=False)
def compare(first, second, asked) -> None:
    """Put two experiments side by side.

    A and B are configs, or folders of results. What is missing of a config's experiment is made.
    The command prints the settings that differ, and the scores of arms of the same name. If both
    experiments were tested with the same cases, it compares them case by case. It writes a page,
    compare/A-B/compare.html in the results folder, and the same tables as CSV.

    Example:  thesiskit compare colon colon-mixture
    """
    from thesiskit.report import compare as pages

    records = []
    for given in (first, second):
        if given.is_dir():
            records.append(pages.read(given))
            continue
        experiment = asked.open(given)
        if experiment.complete()[1] is not None:
            run_up_to(experiment, experiment.stages[-1], False)
            experiment.close()
        records.append(experiment.record())
    page, lines = pages.compare(records[0], records[1], asked.results)
    for line in lines:
        click.echo(line.rstrip())
    click.echo(str(page))
