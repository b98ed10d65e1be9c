"""Files: reading what somebody else may have made, writing what is whole or not there, results.

results/EXPERIMENT/STAGE/0000.npz holds arrays and a `key`, which is a digest of everything that
determines them.  0000.json beside it holds the seconds that they took.  A file is written under a
temporary name and then renamed, so a file that exists is complete.  Later damage is found by the
checksums of .npz files, by those that `write_record` adds to .json files, and by the seals of files
of draws.  Pipes and devices are refused, because reading them could wait for ever.  Nothing is
unpickled.

thesiskit marks a folder when it makes it.  A folder with files and without a mark belongs to the
user, and nothing is written there.  Links inside a results folder are never followed.

At the end is what a result depends on besides its config: code, packages, machine.
"""

import errno
import fcntl
import hashlib
import io
import json
import math
import os
import platform
import re
import secrets
import signal
import socket
import stat
import threading
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib import import_module, metadata
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

import thesiskit
from thesiskit.errors import ResultsError, UserError, list_some

# what reading a damaged .npz may raise; OSError is for the caller to tell apart
DAMAGES = (KeyError, ValueError, EOFError, RuntimeError, TypeError, zipfile.BadZipFile,
           zlib.error)  # fmt: skip
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
BOMB_BYTES, BOMB_TIMES = 2**28, 200  # what unpacks to so much, and so many times its size
FORMAT = 2  # of the files; another version's are refused, not misread
NEVER_THE_SAME = ("seconds", "table")  # of arrays: times, and what a thread found in its tables
CHECK = "crc32"  # the key of a record's checksum
MARK = ".thesiskit"
MARKED = "thesiskit created this folder: it writes, rewrites and removes its own files in it.\n"
INDEX_TITLE = "<title>Reports · thesiskit</title>"  # our index.html is recognised by this
ELSEWHERE = "choose another folder with --results"
NUMERIC = ("numpy", "scipy", "scikit-learn", "pandas")  # packages that numbers may depend on
ROOT = Path(thesiskit.__file__).parent
IMPORT = re.compile(
    r"^[ \t]*(?:from (thesiskit[\w.]*) import (\([^)]*\)|[^\n#]+)|import (thesiskit[\w.]+))",
    re.MULTILINE,
)
Variables = Mapping[str, tuple[tuple[str, ...], np.ndarray]]  # dimensions and values by name


# ---- reading files of others ----


def open_regular(path: Path) -> IO[bytes]:
    """Open a file to read its bytes.

    Raises
    ------
    OSError: as `open` does; also where a folder, pipe, socket or device stands in its place, which
        is not waited for.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, opened by `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, opened by `open_regular`."""
    return read_bytes(path).decode("utf-8")


def sha256(path: Path) -> str:
    """Return the hexadecimal sha256 of a file; empty if it cannot be read."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(cast(io.BufferedReader, file), "sha256").hexdigest()
    except OSError:
        return ""


def read_npz(
    path: Path, names: Collection[str] | None = None
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return arrays of an .npz file (those of `names` that it has, or all), and the names it holds.

    Each array must fill its member of the archive exactly, and no member may unpack to hundreds of
    times its size; so a small file cannot fill the memory.  Nothing is unpickled.

    Raises
    ------
    OSError: it cannot be opened; one of DAMAGES: it is not such a file.
    """
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        members = {info.filename.removesuffix(".npy"): info for info in infos}
        # what is read as a comment may be the next array
        if len(members) < len(infos) or any(info.comment for info in infos):
            raise ValueError("its list of arrays is damaged. Fix: save it with numpy.savez")
        wanted = [name for name in members if names is None or name in names]
        return {name: _read_member(archive, members[name]) for name in wanted}, sorted(members)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    name = info.filename
    if info.file_size > max(BOMB_BYTES, BOMB_TIMES * info.compress_size):
        raise ValueError(
            f"{name} unpacks to {info.file_size / max(1, info.compress_size):.0f} times its size. "
            "Fix: save it with numpy.savez"
        )
    with archive.open(info) as member:
        shape, fortran, dtype = _read_header(member, name)
        count = math.prod(shape)
        if member.tell() + count * dtype.itemsize != info.file_size:
            raise ValueError(f"{name} declares shape {shape}, which its content does not have")
        array = np.empty(count, dtype=dtype)
        content = array.view(np.uint8).data if array.nbytes else bytearray()
        if cast(io.BufferedIOBase, member).readinto(content) < array.nbytes:
            raise EOFError(f"{name} ends early")
        member.read(1)  # at its end the checksum is compared
    return array.reshape(shape, order="F" if fortran else "C")


def _read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, whether the order is Fortran's, and type, as the head of an .npy file says."""
    version = np.lib.format.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"{name} has version {version} of the format")
    try:
        shape, fortran, dtype = HEADERS[version](file)
    # Python's parser, of what is no literal, or is nested too deeply
    except (tokenize.TokenError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"{name} has a damaged header") from error
    if dtype.hasobject:
        raise ValueError(f"{name} has Python objects, which are never read")
    return shape, fortran, dtype


# ---- writing what is whole or not there ----


def create(path: Path) -> IO[bytes]:
    """Create and open a file that must not exist yet; a link in its place is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "wb")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give an empty file beside `path`; rename it to `path` when the block ends well.

    Ctrl-C and SIGTERM wait for the end of the block.

    Raises
    ------
    ResultsError: it cannot be written, or a pipe or a device stands in its place.
    """
    # processes of two hosts may have the same number
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with suppress(FileNotFoundError):
            kind = os.lstat(path).st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind) or stat.S_ISDIR(kind)):
                raise ResultsError(f"{path}: is a pipe or a device, not a file. Fix: remove it")
        with _uninterrupted():
            path.parent.mkdir(parents=True, exist_ok=True)
            with create(temporary) as held:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield temporary
                os.replace(temporary, path)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ResultsError(f"{path}: cannot be written: {why}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def sweep(folder: Path, which: str = "**/.*") -> None:
    """Remove what killed processes left of files that they wrote; those at work have locked them.

    which : a pattern of the names that `replacing` gives, without their ends.
    """
    for path in folder.glob(f"{which}.????????.part"):
        with suppress(OSError), open_regular(path) as left:
            fcntl.flock(left, fcntl.LOCK_SH | fcntl.LOCK_NB)
            path.unlink()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let signals wait: a library that they break off may raise something else, as zipfile does."""
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if threading.current_thread() is not threading.main_thread() or None in usual.values():
        yield
        return
    asked: list[int] = []
    for number in usual:
        signal.signal(number, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        if asked:
            signal.raise_signal(asked[0])


def write_text(path: Path, text: str) -> None:
    """Write a text file; an interrupted call leaves the old file."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_output(
    path: Path, inputs: Iterable[Path], is_ours: Callable[[Path], bool], *, force: bool
) -> None:
    """Raise UserError where writing over a file would destroy what thesiskit did not write.

    inputs : files that the command reads, which are never overwritten, also by other names of them.
    is_ours : whether thesiskit wrote a file.
    force : overwrite other files.
    """
    if any(source.exists() and path.samefile(source) for source in inputs):
        raise UserError(f"{path}: this command reads the file. Fix: give it another name")
    if not force and not is_ours(path):
        fault = f"{path}: exists, and thesiskit did not write it"
        raise UserError(f"{fault}. Fix: give another name, or add --force to overwrite it")


def begins_with(path: Path, *beginnings: bytes) -> bool:
    """Whether a file is empty, or begins with some bytes."""
    try:
        with open_regular(path) as file:
            start = file.read(max(map(len, beginnings)))
    except OSError:
        return False
    return not start or start.startswith(beginnings)


def remove(path: Path) -> None:
    """Remove a file of ours, if it exists; pipes, devices and folders are never ours."""
    with suppress(OSError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            path.unlink()


# ---- arrays with a key ----


def write_arrays(path: Path, key: str, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays and their key to an .npz file; an interrupted call leaves no file."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        record: dict[str, Any] = {"key": np.array(key), "format": np.array(FORMAT), **arrays}
        np.savez(file, **record)


def read_arrays(
    path: Path, names: Collection[str] | None = None
) -> tuple[dict[str, np.ndarray], str]:
    """Return the arrays of a file, or those of `names`, of which none may be missing, and its key.

    Raises ResultsError for a file that is missing, damaged, or of another version.
    """
    try:
        arrays = _checked_arrays(path, None if names is None else {*names, "key"})
        key = str(arrays.pop("key"))
        del arrays["format"]
        return {name: arrays[name] for name in names or arrays}, key
    except (OSError, *DAMAGES):
        raise ResultsError(damaged(path)) from None


def read_key(path: Path, *, thorough: bool = False) -> str | None:
    """Return the key of a file, None if the file is missing or damaged.

    thorough : all arrays are read, so that damage anywhere is found.
    """
    try:
        return str(_checked_arrays(path, None if thorough else ("key",))["key"])
    except (OSError, *DAMAGES):
        return None


def _checked_arrays(path: Path, names: Collection[str] | None) -> dict[str, np.ndarray]:
    """Return the arrays of a file of this version."""
    arrays, _ = read_npz(path, None if names is None else {*names, "format"})
    if int(arrays["format"]) != FORMAT:
        raise ResultsError(
            f"{path}: written by another version of thesiskit. Fix: {ELSEWHERE}, or delete this one"
        )
    return arrays


def damaged(path: Path) -> str:
    """Return the message that a file cannot be used, with what to do."""
    return f"{path}: missing or damaged. Fix: run `thesiskit run CONFIG`"


# ---- records ----


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
        record = json.loads(read_text(path))
        return record if record.pop(CHECK) == _checksum(record, of) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _checksum(record: dict[str, Any], of: str) -> str:
    return f"{zlib.crc32((of + json.dumps(record, sort_keys=True)).encode()):08x}"


# ---- results: arrays, and a record beside them with their times ----


def write_result(path: Path, key: str, arrays: dict[str, np.ndarray], **about: Any) -> None:
    """Write arrays with a key, and a record; what differs between runs is in the record.

    about : what else the record has.
    """
    times = {name for name in arrays if name.rpartition("/")[2].endswith(NEVER_THE_SAME)}
    lists = {name: np.asarray(arrays[name]).tolist() for name in times}
    write_record(path.with_suffix(".json"), about | {"times": lists}, of=key)
    write_arrays(path, key, {name: arrays[name] for name in arrays if name not in times})


def result_key(path: Path, *, thorough: bool = False) -> str | None:
    """Return the key of a result, None if its file or its record is missing or damaged.

    thorough : look for damage in all of both, not only where the key is.
    """
    record = path.with_suffix(".json")
    key = read_key(path, thorough=thorough) if record.exists() else None
    if thorough and key is not None and "times" not in (read_record(record, of=key) or ()):
        return None
    return key


def read_result(path: Path, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a result, or some of those that are the same in every run."""
    arrays, key = read_arrays(path, names)
    if names is not None:
        return arrays
    record = path.with_suffix(".json")
    times = (read_record(record, of=key) or {}).get("times")
    if times is None:
        raise ResultsError(damaged(record))
    return arrays | {name: np.array(values, dtype=float) for name, values in times.items()}


def remove_result(path: Path) -> None:
    """Remove a result with its record."""
    remove(path)
    remove(path.with_suffix(".json"))


# ---- draws: ArviZ data in netCDF, which xarray.open_datatree opens ----
#
# netCDF does not notice all damage.  Therefore each file of draws has a second file beside it, its
# seal, which holds the key of its cell and its sha256.


def write_draws(
    path: Path, groups: Mapping[str, Variables], attributes: Mapping[str, object]
) -> None:
    """Write draws and their seal; an interrupted call leaves no file of draws.

    groups : of variables, with their dimensions and values.
    attributes : of the file; `key` is that of the cell.
    """
    import h5py

    seal, key = _seal(path), str(attributes["key"])
    if not sealed(path, key):
        remove(seal)  # of another file of this name
    # The file is made in memory first, because HDF5 crashes if it closes a file on a full disk.
    memory = io.BytesIO()
    with h5py.File(memory, "w", track_order=True) as file:
        file.attrs.update(attributes)
        for name, variables in groups.items():
            _write_variables(file.create_group(name, track_order=True), variables)
    content = memory.getvalue()
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    write_record(seal, {"key": key, "sha256": hashlib.sha256(content).hexdigest()})


def _write_variables(group: Any, variables: Variables) -> None:
    """Write variables to an HDF5 group as netCDF has them: each dimension is a scale of theirs."""
    import h5py

    sizes = {
        dimension: size
        for dimensions, values in variables.values()
        for dimension, size in zip(dimensions, values.shape, strict=True)
    }
    for dimension, size in sizes.items():
        if dimension in variables:  # which has its coordinates
            continue
        scale = group.create_dataset(dimension, (size,), dtype=">f4")
        scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{size:10}")
    for name, (_, values) in variables.items():
        match values.dtype.kind:
            case "U" | "O":
                group.create_dataset(name, data=values.astype(object), dtype=h5py.string_dtype())
            case "b":  # netCDF has none
                group.create_dataset(name, data=values.astype(np.int8)).attrs["dtype"] = "bool"
            case _:
                packing = {"compression": "gzip", "compression_opts": 1} if values.size > 1 else {}
                group.create_dataset(name, data=values, **packing)
        if name in sizes:
            group[name].make_scale(name)
    for name, (dimensions, _) in variables.items():
        for i, dimension in enumerate(dimensions if name not in sizes else ()):
            group[name].dims[i].attach_scale(group[dimension])


def sealed(path: Path, key: str | None = None, *, thorough: bool = False) -> bool:
    """Whether a file of draws exists with its seal, and has this key if one is given.

    thorough : also compare its sha256 with that in the seal.
    """
    record = read_record(_seal(path))
    if record is None or key not in (None, record.get("key")):
        return False
    return sha256(path) == record.get("sha256") if thorough else path.is_file()


def remove_draws(path: Path) -> None:
    """Remove a file of draws; its seal is removed first."""
    remove(_seal(path))
    remove(path)


def _seal(path: Path) -> Path:
    """Return the path of the seal of a file of draws."""
    return path.with_name(f"{path.stem}.key")


def read_draws(path: Path, key: str | None = None) -> dict[str, np.ndarray]:
    """Return all arrays of a file by name; raise if the file has another key than the one given."""
    import h5py

    if not sealed(path, key, thorough=True):
        raise ResultsError(damaged(path))
    found: dict[str, np.ndarray] = {}
    with h5py.File(path) as file:
        for name, node in chain.from_iterable(group.items() for group in file.values()):
            if "CLASS" not in node.attrs:  # else it is a dimension
                text = h5py.check_string_dtype(node.dtype)
                kind = str if text else node.attrs.get("dtype")  # of booleans: netCDF has none
                found[name] = np.asarray(node.asstr()[()] if text else node[()], dtype=kind)
    return found


# ---- the results of an experiment ----


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
                create(probe).close()
                probe.unlink()
            if not (self.folder / MARK).is_file():
                write_text(self.folder / MARK, MARKED)
        except OSError as error:
            raise ResultsError(
                f"{self.folder}: cannot write results there ({error.strerror}). Fix: {ELSEWHERE}"
            ) from None

    def _check_ours(self) -> None:
        """Raise ResultsError where something is in the way that thesiskit did not make."""
        held = {entry.name: entry for entry in os.scandir(self.folder)}
        others = sorted(name for name in held if not name.startswith("."))
        ours = MARK in held
        if others and not ours:
            raise ResultsError(
                f"{self.folder}: has files that thesiskit did not create ({list_some(others, 3)}); "
                f"{ELSEWHERE}"
            )
        deep = [entry for name in ("cells", "batch") if name in held and held[name].is_dir()
                for entry in os.scandir(held[name].path)]  # fmt: skip
        for entry in [*held.values(), *deep]:
            if entry.is_symlink() and entry.is_dir():
                raise ResultsError(
                    f"{entry.path}: is a link to another folder, and thesiskit does not write "
                    f"there. Fix: remove the link, or {ELSEWHERE}"
                )
        if not is_our_index(self.root / "index.html"):
            raise ResultsError(
                f"{self.root / 'index.html'}: was not created by thesiskit and will not be "
                f"overwritten. Fix: remove it, or {ELSEWHERE}"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder against other processes; the lock of a process that dies is released.

        The file that is locked must be one of ours: no link, no pipe.
        """
        path, flags = self.folder / ".runner", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            raise ResultsError(f"{path}: cannot be locked: {why}. Fix: remove it") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ResultsError(f"{path}: cannot be locked: it is not a file. Fix: remove it")
        with open(descriptor, "r+", encoding="utf-8", errors="replace") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                who = file.read().strip() or "another process"
                raise ResultsError(
                    f"{self.folder}: {who} is running there. Fix: wait until it is done, or "
                    f"{ELSEWHERE}"
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

    def path(self, stage: str, block: int) -> Path:
        """The file of a block."""
        return self.folder / stage / f"{block:04d}.npz"

    def draws(self, stage: str, block: int, name: str) -> Path:
        """The file of draws of a block that has this name."""
        return self.folder / stage / f"{block:04d}-{name}.nc"

    def load(
        self, stage: str, block: int, names: tuple[str, ...] | None = None
    ) -> dict[str, np.ndarray]:
        """Read a block's arrays, or some of them."""
        return read_result(self.path(stage, block), names)

    def update_provenance(self, **entries) -> None:
        """Merge entries into provenance.json."""
        record = self.provenance()
        for name, value in entries.items():
            held = record.get(name)
            both = isinstance(value, dict) and isinstance(held, dict)
            record[name] = held | value if both else value
        write_record(self.folder / "provenance.json", record)

    def provenance(self) -> dict[str, Any]:
        """Return provenance.json; empty if it is missing or cannot be read."""
        return read_record(self.folder / "provenance.json") or {}


def is_our_index(path: Path) -> bool:
    """Whether a file is our index, or is missing or empty."""
    try:
        with open_regular(path) as file:
            start = file.read(4096)
        return not start or INDEX_TITLE.encode() in start
    except FileNotFoundError:
        return True
    except OSError:
        return False


# ---- what a result depends on besides its config: code, packages, machine ----


@cache
def code_digest(modules: tuple[str, ...], folders: tuple[str, ...] = ()) -> str:
    """Return a digest of modules, and of all modules and kernels that they import.

    They are found from import statements, wherever in a module these stand.  Modules of `config`
    are left out, for the values of a config are part of a result's key.

    folders : of the package, whose files matter too.
    """
    content = hashlib.sha256(thesiskit.__version__.encode())
    files = imported(modules)
    for folder in folders:
        files |= {f"{folder}/{path.name}": path for path in (ROOT / folder).iterdir()}
    for name, path in sorted(files.items()):
        content.update(name.encode() + path.read_bytes())
    return content.hexdigest()[:16]


def imported(modules: Iterable[str]) -> dict[str, Path]:
    """Return the files of modules, and of all of this package that they lead to, by name."""
    found: dict[str, Path] = {}
    todo = list(modules)
    while todo:
        name = todo.pop()
        if name in found or name.startswith("thesiskit.config"):
            continue
        if (path := _file(name)) is None:
            continue
        found[name] = path
        todo.append(name.rpartition(".")[0] or name)  # the folder above it
        text = path.read_text(encoding="utf-8") if path.suffix == ".py" else ""
        for module, names, alone in IMPORT.findall(text):
            parts = [part.split()[0] for part in names.strip("()").split(",") if part.strip()]
            todo += [module or alone, *(f"{module}.{part}" for part in parts)]  # may be modules
    return found


def _file(name: str) -> Path | None:
    """Return the file of a module, or kernel; None for the name of something else."""
    if name.partition(".")[0] != ROOT.name:  # a data set of another package
        file = import_module(name).__file__
        return None if file is None else Path(file)
    path = ROOT.joinpath(*name.split(".")[1:])
    if path.is_dir():
        return path / "__init__.py"
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    return min(path.parent.glob(f"{path.name}.*.so"), default=None)


def surroundings(code: str) -> dict[str, Any]:
    """Return what provenance.json says about code and machine; code : its digest."""
    return {
        "code": {"version": thesiskit.__version__, "digest": code},
        "packages": {name: metadata.version(name) for name in NUMERIC},
        "python": platform.python_version(),
        "machine": {"host": socket.gethostname(), "system": platform.platform()},
    }


def now() -> str:
    """The time, for people; nothing is ever decided by comparing the clocks of two machines."""
    return datetime.now(UTC).isoformat(timespec="seconds")
