"""Result folders, with one file for each stage and block.

results/EXPERIMENT/STAGE/0000.npz holds arrays and a `key`, which is a digest of everything that
determines them.  0000.json beside it holds the seconds that they took.  A file is written under a
temporary name and then renamed, so a file that exists is complete.  Later damage is found by the
checksums of .npz files and by those that `write_record` adds to .json files.

thesiskit marks a folder when it makes it.  A folder with files and without a mark belongs to the
user, and nothing is written there.  Links inside a results folder are never followed.
"""

import errno
import fcntl
import json
import os
import secrets
import socket
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from thesiskit import safe_io
from thesiskit.errors import ResultsError, few

FORMAT = 2  # of the files; another version's are refused, not misread
NEVER_THE_SAME = ("seconds", "table")  # of arrays: times, and what a thread found in its tables
MARK = ".thesiskit"
MARKED = "thesiskit made this folder: it writes, rewrites and removes its own files in it.\n"
INDEX_TITLE = "<title>Reports · thesiskit</title>"  # our index.html is recognised by this
END = b"PK\5\6" + bytes(18)  # the end of a zip file; an .npz file is one
CHECK = "crc32"  # the key of a record's checksum
ELSEWHERE = "choose another folder with --results"


class Results:
    """The results of one experiment."""

    def __init__(self, root: Path, experiment: str):
        self.root, self.folder = Path(root), Path(root) / experiment

    def prepare(self) -> None:
        """Make the folder and mark it as ours.

        Raises
        ------
        ResultsError: there is no permission; the folder, or the index above it, was not made by
            thesiskit; or a link in the folder leads elsewhere.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check_ours()
            for folder in (self.folder, self.root):  # the index goes there
                probe = folder / f".probe-{secrets.token_hex(4)}"
                safe_io.create(probe).close()
                probe.unlink()
            if not (self.folder / MARK).is_file():
                write_text(self.folder / MARK, MARKED)
        except OSError as error:
            raise ResultsError(
                f"{self.folder}: cannot write results there ({error.strerror}); {ELSEWHERE}"
            ) from None

    def _check_ours(self) -> None:
        """Raise ResultsError where something is in the way that thesiskit did not make."""
        held = {entry.name: entry for entry in os.scandir(self.folder)}
        others = sorted(name for name in held if not name.startswith("."))
        if others and MARK not in held and not self._made_before_marks():
            raise ResultsError(
                f"{self.folder}: has files that thesiskit did not make ({few(others, 3)}); "
                f"{ELSEWHERE}"
            )
        deep = [entry for name in ("cells", "batch") if name in held and held[name].is_dir()
                for entry in os.scandir(held[name].path)]  # fmt: skip
        for entry in [*held.values(), *deep]:
            if entry.is_symlink() and entry.is_dir():
                raise ResultsError(
                    f"{entry.path}: is a link to another folder, in which nothing is written; "
                    f"remove the link, or {ELSEWHERE}"
                )
        if not is_our_index(self.root / "index.html"):
            raise ResultsError(
                f"{self.root / 'index.html'}: thesiskit did not make it and would write over it; "
                f"remove it, or {ELSEWHERE}"
            )

    def _made_before_marks(self) -> bool:
        """Whether the folder holds results of a version that did not mark its folders."""
        try:
            record = json.loads(safe_io.read_text(self.folder / "provenance.json"))
            return {"experiment", "code", "config"} <= record.keys()
        except (OSError, ValueError, AttributeError, RecursionError):
            return False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder against other processes; the lock of a process that dies is released."""
        with self._lock() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                who = file.read().strip() or "another process"
                raise ResultsError(
                    f"{self.folder}: {who} is at work there; wait until it is done, or {ELSEWHERE}"
                ) from None
            except OSError:
                pass  # a file system without locks: files are whole or absent all the same
            file.truncate(0)
            with suppress(OSError):  # on a full disk: the lock holds, others are not told who
                file.write(f"thesiskit (process {os.getpid()} on {socket.gethostname()})")
                file.flush()
            try:
                yield
            finally:
                file.truncate(0)

    def _lock(self) -> IO[str]:
        """Open the file that is locked, which must be one of ours: no link, no pipe."""
        path = self.folder / ".runner"
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            raise ResultsError(f"{path}: cannot be locked: {why}; remove it") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ResultsError(f"{path}: cannot be locked: it is not a file; remove it")
        return open(descriptor, "r+", encoding="utf-8", errors="replace")

    def path(self, stage: str, block: int) -> Path:
        """The file of a block."""
        return self.folder / stage / f"{block:04d}.npz"

    def draws(self, stage: str, block: int, name: str) -> Path:
        """The file of draws of a block that has this name."""
        return self.folder / stage / f"{block:04d}-{name}.nc"

    def save(self, stage: str, block: int, key: str, arrays: dict[str, np.ndarray]) -> None:
        """Write a block's arrays; those that differ between runs go to a .json file beside them."""
        path = self.path(stage, block)
        kept, times = without_times(arrays)
        write_record(path.with_suffix(".json"), times, of=key)
        write_arrays(path, key, kept)

    def key(self, stage: str, block: int, *, thorough: bool = False) -> str | None:
        """The key of a block, None if its file is missing or damaged.

        thorough : look for damage in the whole file, not only where the key is.
        """
        path = self.path(stage, block)
        beside = path.with_suffix(".json")
        key = read_key(path, thorough=thorough) if beside.exists() else None
        if thorough and key is not None and read_record(beside, of=key) is None:
            return None
        return key

    def load(
        self, stage: str, block: int, names: tuple[str, ...] | None = None
    ) -> dict[str, np.ndarray]:
        """Read a block's arrays, or some of them."""
        path = self.path(stage, block)
        if names is not None:
            return read_arrays(path, names)
        arrays = _read(path)
        times = read_record(path.with_suffix(".json"), of=str(arrays.pop("key")))
        if times is None:
            raise ResultsError(damaged(path.with_suffix(".json")))
        return arrays | {name: np.array(values, dtype=float) for name, values in times.items()}

    def remove(self, stage: str, block: int) -> None:
        """Remove a block, and its stage's folder once that is empty."""
        path = self.path(stage, block)
        remove(path)
        remove(path.with_suffix(".json"))
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
        write_record(path, record)

    def provenance(self) -> dict[str, Any]:
        """Return provenance.json; empty if it is missing or cannot be read."""
        return read_record(self.folder / "provenance.json") or {}


def without_times(arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, list]]:
    """Return the arrays that are the same in every run, and the others, as lists."""
    times = {name for name in arrays if name.rpartition("/")[2].endswith(NEVER_THE_SAME)}
    return (
        {name: values for name, values in arrays.items() if name not in times},
        {name: np.asarray(arrays[name]).tolist() for name in sorted(times)},
    )


def write_arrays(path: Path, key: str, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays and their key to an .npz file; an interrupted call leaves no file."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        record: dict[str, Any] = {"key": np.array(key), "format": np.array(FORMAT), **arrays}
        np.savez(file, **record)


def read_arrays(path: Path, names: tuple[str, ...] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a file, or some of them."""
    arrays = _read(path, names)
    return {name: values for name, values in arrays.items() if name != "key"}


def _read(path: Path, names: tuple[str, ...] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a file and its key, or some of them."""
    try:
        arrays, _ = safe_io.read_npz(path, None if names is None else {*names, "format"})
        _check_format(path, arrays)
        return {name: arrays[name] for name in names or arrays if name != "format"}
    except (OSError, *safe_io.DAMAGES):
        raise ResultsError(damaged(path)) from None


def read_key(path: Path, *, thorough: bool = False) -> str | None:
    """Return the key of a file, None if the file is missing or damaged.

    thorough : all arrays are read, so that damage anywhere is found.
    """
    if thorough and not ends_well(path):
        return None
    try:
        arrays, _ = safe_io.read_npz(path, None if thorough else ("key", "format"))
        _check_format(path, arrays)
        return str(arrays["key"])
    except (OSError, *safe_io.DAMAGES):
        return None


def ends_well(path: Path) -> bool:
    """Whether a file exists and has the end of an .npz file, so that it was not cut."""
    try:
        with safe_io.open_regular(path) as file:
            file.seek(-len(END), os.SEEK_END)
            return file.read(4) == END[:4]
    except OSError:  # it does not exist, or is too short
        return False


def _check_format(path: Path, arrays: dict[str, np.ndarray]) -> None:
    if int(arrays["format"]) != FORMAT:
        raise ResultsError(
            f"{path}: written by another version of thesiskit; {ELSEWHERE}, or delete this one"
        )


def damaged(path: Path) -> str:
    """Return the message that a file cannot be used, with what to do."""
    return f"{path}: missing or damaged; `thesiskit run CONFIG` makes it again"


def write_record(path: Path, record: dict[str, Any], *, of: str = "") -> None:
    """Write a record as JSON, with a checksum among its keys.

    of : the key of what it describes; the checksum covers it, so a record of something else
        counts as damaged.
    """
    checked = record | {CHECK: _checksum(record, of)}
    write_text(path, json.dumps(checked, indent=2, sort_keys=True) + "\n")


def read_record(path: Path, *, of: str = "") -> dict[str, Any] | None:
    """Return a record, None if it is missing or damaged."""
    try:
        record = json.loads(safe_io.read_text(path))
        return record if record.pop(CHECK) == _checksum(record, of) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _checksum(record: dict[str, Any], of: str) -> str:
    return f"{zlib.crc32((of + json.dumps(record, sort_keys=True)).encode()):08x}"


def is_our_index(path: Path) -> bool:
    """Whether a file is our index, or is missing or empty."""
    try:
        with safe_io.open_regular(path) as file:
            start = file.read(4096)
        return not start or INDEX_TITLE.encode() in start
    except FileNotFoundError:
        return True
    except OSError:
        return False


def remove(path: Path) -> None:
    """Remove a file of ours, if it exists; pipes, devices and folders are never ours."""
    with suppress(OSError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            path.unlink()


def sha256(path: Path) -> str | None:
    """Return the digest of a file, None if it cannot be read."""
    try:
        return safe_io.sha256(path)
    except OSError:
        return None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give an empty file beside `path`; rename it to `path` when the block ends well."""
    try:
        _check_replaceable(path)
        with safe_io.replacing(path) as temporary:
            yield temporary
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ResultsError(f"{path}: cannot be written: {why}") from None


def _check_replaceable(path: Path) -> None:
    """Raise ResultsError where a pipe or a device stands in the place of a file."""
    with suppress(FileNotFoundError):
        kind = os.lstat(path).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind) or stat.S_ISDIR(kind)):
            raise ResultsError(f"{path}: is a pipe or a device where a file belongs; remove it")


def write_text(path: Path, text: str) -> None:
    """Write a text file; an interrupted call leaves the old file."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
