"""The files that a report writes, and which of them are its own.

They are recorded before they are written, so that a later report removes only files of an earlier
one.  The record is `report` in provenance.json.  It holds a key, the digest of what the report was
made from, the sha256 of each file, and the sentence that the index shows.  A file whose sha256
differs is written again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from thesiskit.files import Results, remove, replacing, sha256, sweep

FOLDERS = ("", "tables", "figures")  # in which a report writes


class Outputs:
    """Writes the files of a report.

    names : of all that will be written, relative to the results folder.
    """

    def __init__(self, results: Results, names: Sequence[str]):
        self.results = results
        for folder in FOLDERS:
            sweep(results.folder / folder, ".*")
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

    def finish(self, key: str, headline: str = "") -> None:
        """Remove what an earlier report wrote and this one did not, and keep the record."""
        for name in self.before.keys() - self.written.keys():
            remove(self.results.folder / name)
        found = {"key": key, "files": self.written, "headline": headline}
        self.results.update_provenance(report=found)


def recorded(results: Results) -> dict[str, str]:
    """Return the files of the last report with their digests; drop names that it cannot have."""
    files = results.provenance().get("report", {}).get("files", {})
    if not isinstance(files, dict):  # an older version recorded a list without digests
        files = dict.fromkeys(files, "")
    ours = {}
    for name, digest in files.items():
        path = PurePosixPath(name)
        folder = "" if len(path.parts) == 1 else str(path.parent)
        if str(path) == name and folder in FOLDERS and path.name not in ("", ".."):
            ours[name] = digest
    return ours


def changed(results: Results, key: str) -> list[str] | None:
    """Return the files that changed since the last report; None if that had another key."""
    if results.provenance().get("report", {}).get("key") != key:
        return None
    files = recorded(results)
    return [name for name, digest in files.items() if sha256(results.folder / name) != digest]
