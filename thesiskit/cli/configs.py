"""Commands about configs: those that are shipped, and what their keys mean."""

import json

import click

from thesiskit.cli.errors import VERBOSE
from thesiskit.cli.names import ConfigType, KeyType
from thesiskit.shipped import folders


@click.command("list")
@VERBOSE
def list_configs() -> None:
    """List the experiments that come with thesiskit.

    Each line has a name, about how many minutes the experiment takes on two cores, and its title.

    Example:  thesiskit list
    """
    from thesiskit.config.keys import title_and_minutes

    for folder, paths in folders().items():
        click.echo(folder)
        for path in paths:
            title, minutes = title_and_minutes(path)
            click.echo(f"  {path.stem:32}{minutes:>8}  {title}")
    click.echo(
        "`thesiskit run NAME` makes one of them, `thesiskit run FOLDER` all of a folder, and "
        "`thesiskit show NAME` prints its config."
    )


@click.command()
@click.argument("config", type=ConfigType())
@VERBOSE
def show(config) -> None:
    """Print a config, to start your own from.

    Example:  thesiskit show breast-cancer > mine.yaml
    """
    from thesiskit.config.yamlfile import read_yaml

    read_yaml(config)  # what is no config is not printed
    click.echo(config.read_text(encoding="utf-8"), nl=False)


@click.command()
@click.argument("key", type=KeyType(), required=False)
@click.option("--schema", is_flag=True, help="Print a JSON schema of configs, for editors.")
@VERBOSE
def docs(key, schema) -> None:
    """Describe a key of configs, such as model.orders, or list all keys.

    The name of a block, such as model, describes all its keys; `parts` lists what a report can
    have.

    Example:  thesiskit docs model.orders
    """
    from thesiskit.config import keys

    if schema and key:
        raise click.UsageError("--schema is of all keys; leave the key out")
    if schema:
        click.echo(json.dumps(keys.schema(), indent=2))
    elif key == "parts":
        from thesiskit.report.parts import PARTS

        for name, part in PARTS.items():
            click.echo(f"{name}: {part.about}")
    else:
        for line in keys.described(key):
            click.echo(line)
