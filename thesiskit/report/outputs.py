"""The files that a report writes.

They are recorded before they are written, so that a later report removes only files of an earlier
one.  The record is `report` in provenance.json.  It holds a key, the digest of what the report was
made from, and the sha256 of each file.  A file whose sha256 differs is written again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pandas as pd

from thesiskit.store.results import Results, remove, replacing, sha256

FOLDERS = ("", "tables", "figures")  # in which a report writes
RUNS = tuple("=+-@\t\r")  # a spreadsheet takes a cell that begins so for a formula


class Outputs:
    """Writes the files of a report.

    names : of all that will be written, relative to the results folder.
    """

    def __init__(self, results: Results, names: Sequence[str]):
        self.results = results
        self.before = recorded(results)
        self.written: dict[str, str] = {}
        # if this is interrupted, the next report still knows which files are ours
        announced = dict.fromkeys(names, "") | self.before
        results.update_provenance(report={"key": "", "files": announced})

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give a temporary file that becomes the file of this name."""
        with replacing(self.results.folder / name) as temporary:
            yield temporary
            self.written[name] = sha256(temporary) or ""

    def write(self, name: str, text: str) -> None:
        """Write a text file."""
        with self.writing(name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def finish(self, key: str) -> None:
        """Remove what an earlier report wrote and this one did not, and keep the record."""
        for name in self.before.keys() - self.written.keys():
            remove(self.results.folder / name)
        self.results.update_provenance(report={"key": key, "files": self.written})


def recorded(results: Results) -> dict[str, str]:
    """Return the files of the last report with their digests; drop names that it cannot have."""
    files = results.provenance().get("report", {}).get("files", {})
    if not isinstance(files, dict):  # an older version recorded a list without digests
        files = dict.fromkeys(files, "")
    return {name: digest for name, digest in files.items() if _can_be_ours(name)}


def _can_be_ours(name: str) -> bool:
    """Whether a name is that of a file directly in a folder in which a report writes."""
    path = PurePosixPath(name)
    folder = "" if len(path.parts) == 1 else str(path.parent)
    return str(path) == name and folder in FOLDERS and path.name not in ("", "..")


def changed(results: Results, key: str) -> list[str] | None:
    """Return the files that changed since the last report; None if that had another key."""
    if results.provenance().get("report", {}).get("key") != key:
        return None
    files = recorded(results)
    return [name for name, digest in files.items() if sha256(results.folder / name) != digest]


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV; text that looks like a formula gets a leading apostrophe."""
    inert = frame.copy()
    for place, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            cells = [_inert(value) for value in frame.iloc[:, place]]
            inert.isetitem(place, pd.Series(cells, index=frame.index, dtype=object))
    inert.columns = [_inert(name) for name in frame.columns]
    return inert.to_csv(index=False)


def _inert(value: object) -> object:
    if not (isinstance(value, str) and value.startswith(RUNS)):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
