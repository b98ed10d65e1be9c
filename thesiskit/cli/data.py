"""Commands about published data."""

import click

from thesiskit.cli.common import VERBOSE


@click.group()
def data() -> None:
    """List, fetch or locate the published data that experiments use.

    Example:  thesiskit data list
    """


@data.command("list")
@VERBOSE
def list_data() -> None:
    """List the data sets, and where each is stored if it has been fetched.

    Example:  thesiskit data list
    """
    from thesiskit.datasets.gene_expression import SOURCES, local_file

    for source in SOURCES.values():
        path = local_file(source)
        click.echo(f"{source.name}: {source.about}; {source.licence}")
        click.echo(f"  {path}" if path else f"  not here; thesiskit data fetch {source.name}")
    click.echo("breast-cancer: tumour measurements of 569 patients; comes with scikit-learn")


def _source(name: str):
    from thesiskit.datasets.gene_expression import SOURCES

    if name not in SOURCES:
        raise click.UsageError(f"there is no data set {name!r}; choose from {', '.join(SOURCES)}")
    return SOURCES[name]


@data.command()
@click.argument("name", default="colon")
@VERBOSE
def fetch(name: str) -> None:
    """Fetch a data set, check it against its sha256, and store it.

    Example:  thesiskit data fetch colon
    """
    from thesiskit.datasets.gene_expression import fetch as fetch_file

    click.echo(fetch_file(_source(name)))


@data.command()
@click.argument("name", default="colon")
@VERBOSE
def path(name: str) -> None:
    """Print the path of a data set that has been fetched.

    Example:  thesiskit data path colon
    """
    from thesiskit.datasets.gene_expression import local_file
    from thesiskit.errors import DataError

    found = local_file(_source(name))
    if found is None:
        raise DataError(f"{name} is not here; thesiskit data fetch {name}")
    click.echo(found)
