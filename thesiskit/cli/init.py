"""The command that writes a config for a file of the user's."""

import os
from pathlib import Path

import click

from thesiskit.cli.console import VERBOSE
from thesiskit.errors import UserError


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--response",
    metavar="COLUMN",
    help="The column to predict; of .npz an array, of .npy another file. Default: a guess.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the config to this file, which must not exist. Default: print it.",
)
@VERBOSE
def init(table: Path, response: str | None, output: Path | None) -> None:
    """Look at a table and print a config for it, which runs as it stands.

    TABLE is text (.csv, .tsv, .txt, also packed as .gz), Parquet, .npz, .npy, PLINK .bed, AnnData
    .h5ad, FASTA, or lines of states. Nothing is asked; what was guessed is said, and stands in the
    comments of the config. Paths in the config start in the folder of --output, or in the current
    folder.

    Example:  thesiskit data show colon > colon.csv && thesiskit init colon.csv > mine.yaml
    """
    from thesiskit.start import begin

    if output is not None and os.path.lexists(output):
        raise UserError(f"{output}: it exists already; choose another name, or remove it")
    if output is not None and not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}; make it first")
    text, notes = begin(table, response, Path() if output is None else output.parent)
    for note in notes:
        click.echo(f"Note: {note}", err=True)
    if output is None:
        click.echo(text, nl=False)
    else:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
        click.echo(f"{output}; now: thesiskit run {output}", err=True)
