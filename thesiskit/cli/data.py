"""Commands about published data."""

import click

from thesiskit.cli.console import DATA_SET, VERBOSE


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
    from thesiskit.datasets.published import published

    for name, source in published().items():
        click.echo(f"{name:14} {source.published}")


@data.command()
@click.argument("name", type=DATA_SET)
@VERBOSE
def show(name) -> None:
    """Print a published data set as a CSV table, the class first.

    Example:  thesiskit data show colon > colon.csv
    """
    from thesiskit.datasets.published import csv_lines

    for line in csv_lines(name):
        click.echo(line)
