"""The command that writes a config for a file of the user's."""

import os
import tempfile
from pathlib import Path

import click

from thesiskit.cli.errors import VERBOSE
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
    from thesiskit.config import load_config
    from thesiskit.config.starting import starting_config
    from thesiskit.datasets.looking import look

    if output is not None and os.path.lexists(output):
        raise UserError(f"{output}: it exists already; choose another name, or remove it")
    if output is not None and not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}; make it first")
    found = look(table, response)
    folder = Path() if output is None else output.parent
    text = starting_config(table, found, folder)
    with tempfile.TemporaryDirectory() as own:
        draft = Path(own) / "config.yaml"
        draft.write_text(text, encoding="utf-8")
        config = load_config(draft)
    assert config.data is not None
    # what the reader of the table refuses or remarks is said now, not when the config is run
    cases = config.data.read(folder, continuous=found.continuous)
    for note in [*found.notes, *(note for one in cases for note in one.notes)]:
        click.echo(f"Note: {note}", err=True)
    if output is None:
        click.echo(text, nl=False)
    else:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
        click.echo(f"{output}; now: thesiskit run {output}", err=True)
