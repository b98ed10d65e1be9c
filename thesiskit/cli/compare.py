"""The command that puts two experiments side by side."""

from dataclasses import replace
from pathlib import Path

import click

from thesiskit.cli.common import opens_experiment
from thesiskit.errors import UserError


@click.command()
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@opens_experiment(bare=True, force=False, jobs=False, yes=False)
def compare(first, second, asked) -> None:
    """Put two finished experiments side by side.

    A and B are configs, or folders of results. The command prints the settings that differ and the
    scores of arms of the same name. If both experiments were tested with the same cases, it
    compares case by case. It writes a page, compare/A-B/compare.html in the results folder, with
    the same tables as CSV.

    Example:  thesiskit compare configs/chapter2/colon.yaml configs/chapter2/colon-mixture.yaml
    """
    from thesiskit.report.compare import compare as side_by_side

    page, lines = side_by_side(_record(first, asked), _record(second, asked), asked.results)
    for line in lines:
        click.echo(line.rstrip())
    click.echo(str(page))


def _record(given: Path, asked):
    """Return the record of a results folder, or of the experiment of a config."""
    from thesiskit.report.compare import read

    if given.is_dir():
        return read(given)
    experiment = replace(asked, yes=None).open(given)
    _, lack = experiment.complete()
    if lack is not None:
        raise UserError(f"{str(lack).partition(';')[0]}; run `thesiskit run {given}` first")
    return experiment.record()
