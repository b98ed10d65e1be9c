"""Looking at a file of the user's: what it holds, and what a config has to say about it."""

from pathlib import Path

from thesiskit.datasets.looking.arrays import look_at_bed, look_at_h5ad, look_at_npy, look_at_npz
from thesiskit.datasets.looking.found import Found, Key
from thesiskit.datasets.looking.sequences import is_prose, is_sequences, look_at_sequences
from thesiskit.datasets.looking.tables import look_at_table
from thesiskit.datasets.reading.delimiters import text_suffix
from thesiskit.datasets.reading.sequence_lines import FASTA, is_fasta
from thesiskit.datasets.reading.text_files import opened, shown
from thesiskit.datasets.table_files import KINDS
from thesiskit.errors import DataError, cut

__all__ = ["Found", "Key", "look"]
SHEETS = (".xlsx", ".xls", ".ods")
MARKUP = (b"<!doctype", b"<html", b"<table", b"<?xml")


def look(path: Path, response: str | None = None) -> Found:
    """Return what a file holds.

    response : the column (of `.npz` the array, of `.npy` the file) to predict; None to guess.

    Raises
    ------
    DataError: what is wrong, where, and what to do; also where no model takes what the file holds.
    """
    suffix, where = path.suffix.lower(), shown(path)
    with opened(path) as file:
        start = file.read(512).lstrip()
    if suffix == ".npz":
        return look_at_npz(path, response)
    if suffix == ".npy":
        return look_at_npy(path, response) or look_at_sequences(path, response)
    if suffix == ".bed":
        return look_at_bed(path, response)
    if suffix == ".h5ad":
        return look_at_h5ad(path, response)
    if suffix == ".parquet":
        return look_at_table(path, response)
    _check_text(path, start)
    if suffix == ".txt" and is_prose(start):
        raise DataError(
            f"{where}: it reads like prose, not like a table; to predict its characters, begin "
            "with `thesiskit show text`, and put the name of this file at data.path"
        )
    if response is None and is_sequences(path):
        return look_at_sequences(path, response)
    return look_at_table(path, response)


def _check_text(path: Path, start: bytes) -> None:
    """Say what to do with a file of another kind."""
    where, suffix = shown(path), path.suffix.lower()
    if suffix in SHEETS or start.startswith(b"PK\x03\x04"):
        raise DataError(
            f"{where}: a spreadsheet, or another packed file; save its sheet as .csv (in Excel: "
            "Save As, CSV UTF-8)"
        )
    if start.lower().startswith(MARKUP):
        raise DataError(f"{where}: a web page, not a table; save the table itself as .csv")
    if start[:1] in (b"{", b"[") and (suffix in (".json", ".jsonl") or start[-1:] in b"}],"):
        raise DataError(
            f"{where}: JSON, not a table; make it one, for example with pandas: "
            "read_json(...).to_csv(..., index=False)"
        )
    if not (text_suffix(path) or is_fasta(path)):
        raise DataError(
            f"{where}: cannot read {cut(suffix) or 'a file without a suffix'}; use "
            f"{', '.join((*KINDS, *FASTA[:2]))}; text also packed as .gz"
        )
