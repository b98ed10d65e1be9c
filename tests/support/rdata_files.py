"""Small files in R's format, as `save(table, file = ...)` writes them."""

import gzip
import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thesiskit.datasets.published import SHA256

NIL = struct.pack(">i", 254)
ATTRIBUTES, TAG, OBJECT = 0x200, 0x400, 0x100
SYMBOL, PAIRS, CHARACTERS, INTEGERS, REALS, STRINGS, LIST = 1, 2, 9, 13, 14, 16, 19


def _head(kind: int, flags: int = 0) -> bytes:
    return struct.pack(">i", kind | flags)


def _characters(text: str | None) -> bytes:
    if text is None:  # NA
        return _head(CHARACTERS) + struct.pack(">i", -1)
    content = text.encode()
    return _head(CHARACTERS, 0x40000) + struct.pack(">i", len(content)) + content


def _strings(texts: Sequence[str | None]) -> bytes:
    return _head(STRINGS) + struct.pack(">i", len(texts)) + b"".join(map(_characters, texts))


def _pairs(**values: bytes) -> bytes:
    cells = [
        _head(PAIRS, TAG) + _head(SYMBOL) + _characters(name) + value
        for name, value in values.items()
    ]
    return b"".join(cells) + NIL


def _integers(values: Sequence[int], flags: int = 0) -> bytes:
    return _head(INTEGERS, flags) + struct.pack(f">i{len(values)}i", len(values), *values)


def table_file(
    name: str, x: np.ndarray, y: Sequence[int], levels: list[str], names: list[str | None] | None
) -> bytes:
    """Return a file with one list: x, a matrix with names of columns, and y, a factor from 0."""
    numbers = np.asarray(x, dtype=">f8").tobytes("F")
    about = {"dim": _integers(x.shape)}
    if names is not None:
        about["dimnames"] = _head(LIST) + struct.pack(">i", 2) + NIL + _strings(names)
    matrix = _head(REALS, ATTRIBUTES) + struct.pack(">i", x.size) + numbers + _pairs(**about)
    factor = _integers([one + 1 for one in y], ATTRIBUTES | OBJECT)
    factor += _pairs(levels=_strings(levels), **{"class": _strings(["factor"])})
    both = _head(LIST, ATTRIBUTES) + struct.pack(">i", 2) + matrix + factor
    both += _pairs(names=_strings(["x", "y"]))
    version = struct.pack(">iii", 2, 0x30500, 0x20300)
    # without the time, so that the same table makes the same file
    return gzip.compress(b"RDX2\nX\n" + version + _pairs(**{name: both}), mtime=0)


class Shelf:
    """A folder to which files of small tables are published, by the names of the real ones."""

    def __init__(self, folder: Path, patch):
        self.folder, self.patch = folder / "microarray", patch
        self.folder.mkdir(parents=True)
        patch.setenv("THESISKIT_DATA_DIR", str(folder))

    def __call__(self, name, x, y, levels, names=None) -> Path:
        """Publish a table, and return its file."""
        content = table_file(name, x, y, levels, names)
        path = self.folder / f"{name}.RData"
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        self.patch.setitem(SHA256, name, digest)
        return path
