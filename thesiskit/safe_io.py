"""Reading files that somebody else may have made, and writing files that are whole or not there.

Pipes and devices are refused, because reading them could wait for ever.  Nothing is unpickled.
"""

import errno
import hashlib
import io
import math
import os
import secrets
import signal
import stat
import threading
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

import numpy as np

# what reading a damaged .npz or .npy may raise; OSError is for the caller to tell apart
DAMAGES = (KeyError, ValueError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
BOMB_BYTES, BOMB_TIMES = 2**28, 200  # what unpacks to so much, and so many times its size


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give an empty file beside `path`; rename it to `path` when the block ends well.

    Ctrl-C waits for the end of the block.

    Raises
    ------
    OSError: it cannot be written.
    """
    # processes of two hosts may have the same number
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with _uninterrupted():
            path.parent.mkdir(parents=True, exist_ok=True)
            create(temporary).close()
            yield temporary
            os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def create(path: Path) -> IO[bytes]:
    """Create and open a file that must not exist yet; a link in its place is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "wb")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait: a library that it breaks off may raise something else, as zipfile does."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is None:
        yield
        return
    asked = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if asked.is_set():
            signal.raise_signal(signal.SIGINT)


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
    """Return the hexadecimal sha256 of a file, opened by `open_regular`."""
    with open_regular(path) as file:
        return hashlib.file_digest(cast(io.BufferedReader, file), "sha256").hexdigest()


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
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        wanted = [name for name in members if names is None or name in names]
        return {name: _read_member(archive, members[name]) for name in wanted}, sorted(members)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    name = info.filename
    if info.file_size > max(BOMB_BYTES, BOMB_TIMES * info.compress_size):
        raise ValueError(
            f"{name} unpacks to {info.file_size / max(1, info.compress_size):.0f} times its size; "
            "save it with numpy.savez"
        )
    with archive.open(info) as member:
        shape, fortran, dtype = read_header(member, name)
        count = math.prod(shape)
        if member.tell() + count * dtype.itemsize != info.file_size:
            raise ValueError(f"{name} says that it has shape {shape}, which is not what it holds")
        array = np.empty(count, dtype=dtype)
        if array.nbytes:
            buffer, filled = array.view(np.uint8).data, 0
            while filled < array.nbytes:
                got = cast(io.BufferedIOBase, member).readinto(buffer[filled:])
                if not got:
                    raise EOFError(f"{name} ends early")
                filled += got
        member.read(1)  # at its end the checksum is compared
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, whether the order is Fortran's, and type, as the head of an .npy file says.

    Raises
    ------
    ValueError: it is no such head, or one of objects, which would have to be unpickled.
    """
    version = np.lib.format.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"{name} is of version {version} of the format")
    shape, fortran, dtype = HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError(f"{name} holds Python objects, which are never read")
    return shape, fortran, dtype


def read_npy(path: Path, *, mapped: bool = False) -> np.ndarray:
    """Return the array of an .npy file; with `mapped`, a memory map of it, read when it is used.

    Raises
    ------
    OSError: it cannot be opened; one of DAMAGES: it is not such a file.
    """
    with open_regular(path) as file:
        shape, _, dtype = read_header(file, Path(path).name)
        size = file.tell() + math.prod(shape) * dtype.itemsize
        if os.fstat(file.fileno()).st_size != size:
            raise ValueError(f"it says that it has shape {shape}, which is not what it holds")
        file.seek(0, io.SEEK_SET)
        if not mapped:
            return np.load(file, allow_pickle=False)
    return np.load(path, mmap_mode="r", allow_pickle=False)
