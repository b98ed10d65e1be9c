"""Result folders: one file per stage and block, whole or absent, each with its key.

results/EXPERIMENT/STAGE/0000.npz holds arrays and a `key`, a digest of everything that led to
it.  A file is written under a temporary name and renamed, so what stands is complete.
"""

import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.errors import ResultsError

UNFINISHED = "unfinished"  # the stage of fits whose block is not done
FORMAT = 1  # of the files; another version's are refused, not misread


class Results:
    """The results of one experiment."""

    def __init__(self, root: Path, experiment: str):
        self.folder = Path(root) / experiment

    def prepare(self) -> None:
        """Make the folder, or say why it cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for folder in (self.folder, self.folder.parent):  # the index goes above
                probe = folder / f".probe-{os.getpid()}"
                probe.write_bytes(b"")
                probe.unlink()
        except OSError as error:
            raise ResultsError(
                f"{self.folder}: cannot write results there ({error.strerror}); "
                "choose another folder with --results"
            ) from None

    def path(self, stage: str, block: int) -> Path:
        """The file of a block."""
        return self.folder / stage / f"{block:04d}.npz"

    def save(self, stage: str, block: int, key: str, arrays: dict[str, np.ndarray]) -> None:
        """Write a block's arrays."""
        path = self.path(stage, block)
        with replacing(path) as temporary, open(temporary, "wb") as file:
            record: dict[str, Any] = {"key": np.array(key), "format": np.array(FORMAT), **arrays}
            np.savez(file, **record)

    def key(self, stage: str, block: int) -> str | None:
        """The key of a block that stands, None where there is none (or a damaged one)."""
        path = self.path(stage, block)
        if not path.exists():
            return None
        try:
            with open(path, "rb") as file, np.load(file) as arrays:
                if int(arrays["format"]) != FORMAT:
                    raise ResultsError(self._foreign(path))
                return str(arrays["key"])
        except (KeyError, OSError, ValueError, EOFError, zipfile.BadZipFile):
            return None

    def load(self, stage: str, block: int) -> dict[str, np.ndarray]:
        """Read a block's arrays."""
        path = self.path(stage, block)
        try:
            with open(path, "rb") as file, np.load(file) as arrays:
                if int(arrays["format"]) != FORMAT:
                    raise ResultsError(self._foreign(path))
                return {name: arrays[name] for name in arrays.files}
        except (KeyError, OSError, ValueError, EOFError, zipfile.BadZipFile):
            raise ResultsError(
                f"{path}: damaged or incomplete; delete it and run the stage again"
            ) from None

    def remove(self, stage: str, block: int) -> None:
        """Remove a block, and its stage's folder once that is empty."""
        with suppress(OSError):
            self.path(stage, block).unlink()
        with suppress(OSError):
            self.path(stage, block).parent.rmdir()

    def _foreign(self, path: Path) -> str:
        return (
            f"{path}: written by another version of thesiskit; "
            "choose another folder with --results, or delete this one"
        )

    def update_provenance(self, **entries) -> None:
        """Merge entries into provenance.json."""
        path = self.folder / "provenance.json"
        record = self.provenance()
        for name, value in entries.items():
            if isinstance(value, dict) and isinstance(record.get(name), dict):
                record[name] = {**record[name], **value}
            else:
                record[name] = value
        write_text(path, json.dumps(record, indent=2, sort_keys=True) + "\n")

    def provenance(self) -> dict:
        """Return provenance.json, empty where there is none or it cannot be read."""
        try:
            record = json.loads((self.folder / "provenance.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it to `path` when the block ends well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
