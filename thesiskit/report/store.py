"""Result folders: one file per stage and block, whole or absent, each with its key.

results/EXPERIMENT/STAGE/0000.npz holds arrays and a `key`, a digest of everything that led to
it; 0000.json beside it the seconds that they took.  A file is written under a temporary name and
renamed, so what stands is complete.
"""

import fcntl
import json
import os
import secrets
import socket
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from thesiskit.errors import ResultsError

FORMAT = 2  # of the files; another version's are refused, not misread
NEVER_THE_SAME = ("seconds", "table")  # of arrays: times, and what a thread found in its tables
LOCKS: list[IO] = []  # held by this process; a forked one closes its copies


class Results:
    """The results of one experiment."""

    def __init__(self, root: Path, experiment: str):
        self.root, self.folder = Path(root), Path(root) / experiment

    def prepare(self) -> None:
        """Make the folder, or say why it cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for folder in (self.folder, self.folder.parent):  # the index goes above
                probe = folder / f".probe-{secrets.token_hex(4)}"
                probe.write_bytes(b"")
                probe.unlink()
        except OSError as error:
            raise ResultsError(
                f"{self.folder}: cannot write results there ({error.strerror}); "
                "choose another folder with --results"
            ) from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runners out of the folder; the lock of one that dies is gone with it."""
        path = self.folder / ".runner"
        with open(path, "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                who = file.read().strip() or "another process"
                raise ResultsError(
                    f"{self.folder}: {who} is at work there; wait until it is done, or choose "
                    "another folder with --results"
                ) from None
            except OSError:
                pass  # a file system without locks: files are whole or absent all the same
            file.truncate(0)
            file.write(f"thesiskit (process {os.getpid()} on {socket.gethostname()})")
            file.flush()
            LOCKS.append(file)
            try:
                yield
            finally:
                LOCKS.remove(file)
                file.truncate(0)

    def path(self, stage: str, block: int) -> Path:
        """The file of a block."""
        return self.folder / stage / f"{block:04d}.npz"

    def save(self, stage: str, block: int, key: str, arrays: dict[str, np.ndarray]) -> None:
        """Write a block's arrays; what no two runs have the same goes beside them."""
        path = self.path(stage, block)
        kept, times = without_times(arrays)
        write_text(path.with_suffix(".json"), json.dumps(times) + "\n")
        write_arrays(path, key, kept)

    def key(self, stage: str, block: int) -> str | None:
        """The key of a block that stands, None where there is none (or a damaged one)."""
        path = self.path(stage, block)
        return read_key(path) if path.with_suffix(".json").exists() else None

    def load(
        self, stage: str, block: int, names: tuple[str, ...] | None = None
    ) -> dict[str, np.ndarray]:
        """Read a block's arrays, or some of them."""
        path = self.path(stage, block)
        arrays = read_arrays(path, names)
        if names is not None:
            return arrays
        try:
            times = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise ResultsError(_damaged(path.with_suffix(".json"))) from None
        return arrays | {name: np.array(values, dtype=float) for name, values in times.items()}

    def remove(self, stage: str, block: int) -> None:
        """Remove a block, and its stage's folder once that is empty."""
        path = self.path(stage, block)
        with suppress(OSError):
            path.unlink()
        with suppress(OSError):
            path.with_suffix(".json").unlink()
        with suppress(OSError):
            path.parent.rmdir()

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


def without_times(arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, list]]:
    """Return the arrays that are the same in every run, and the others, as lists."""
    times = {name for name in arrays if name.rpartition("/")[2].endswith(NEVER_THE_SAME)}
    return (
        {name: values for name, values in arrays.items() if name not in times},
        {name: np.asarray(arrays[name]).tolist() for name in sorted(times)},
    )


DAMAGES = (KeyError, OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error)


def write_arrays(path: Path, key: str, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays and their key to an .npz file, whole or not at all."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        record: dict[str, Any] = {"key": np.array(key), "format": np.array(FORMAT), **arrays}
        np.savez(file, **record)


def read_arrays(path: Path, names: tuple[str, ...] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a file, or some of them."""
    try:
        with open(path, "rb") as file, np.load(file) as arrays:
            _check_format(path, arrays)
            wanted = names or [name for name in arrays.files if name not in ("key", "format")]
            return {name: arrays[name] for name in wanted}
    except DAMAGES:
        raise ResultsError(_damaged(path)) from None


def read_key(path: Path) -> str | None:
    """Return the key of a file, None where there is none or it is damaged."""
    try:
        with open(path, "rb") as file, np.load(file) as arrays:
            _check_format(path, arrays)
            return str(arrays["key"])
    except DAMAGES:
        return None


def _check_format(path: Path, arrays) -> None:
    if int(arrays["format"]) != FORMAT:
        raise ResultsError(
            f"{path}: written by another version of thesiskit; "
            "choose another folder with --results, or delete this one"
        )


def _damaged(path: Path) -> str:
    return f"{path}: damaged or incomplete; delete it and run the stage again"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it to `path` when the block ends well."""
    # processes of two hosts may have the same number
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ResultsError(f"{path}: cannot be written: {why}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
