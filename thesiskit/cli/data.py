"""Commands about published data."""

import click
from click.shell_completion import CompletionItem

from thesiskit.cli.common import VERBOSE
from thesiskit.errors import UserError


@click.group()
def data() -> None:
    """List the published data that experiments use, or print one as a table.

    Example:  thesiskit data list
    """


@data.command("list")
@VERBOSE
def list_data() -> None:
    """List the published data sets. All of them come with thesiskit; nothing is fetched.

    Example:  thesiskit data list
    """
    for name, source in _published().items():
        click.echo(f"{name:14} {source.published}")


def _published() -> dict:
    from thesiskit.datasets import SOURCES

    return {name: source for name, source in SOURCES.items() if source.published}


class DataType(click.ParamType):
    """The name of a published data set."""

    name = "name"

    def shell_complete(
        self, _: click.Context, __: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that a shell offers."""
        return [CompletionItem(name) for name in _published() if name.startswith(incomplete)]


@data.command()
@click.argument("name", type=DataType())
@VERBOSE
def show(name) -> None:
    """Print a published data set as a CSV table, the class first.

    Example:  thesiskit data show colon > colon.csv
    """
    from thesiskit.datasets.published import csv_lines

    if name not in _published():
        raise UserError(f"there is no data set {name!r}; choose from {', '.join(_published())}")
    for line in csv_lines(name):
        click.echo(line)
