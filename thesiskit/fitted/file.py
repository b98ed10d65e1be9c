"""Fitted models as files: arrays and a header, in an .npz file.  Nothing is pickled.

| member | content |
|---|---|
| `header` | JSON, UTF-8 as bytes: what the file is, its format, and what is not an array |
| `sha256` | of the header and of all other arrays, with their names, types and shapes |
| others | arrays, as `FittedModel` names them |

The format is a number that grows with every change that older versions could not read.
"""

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit import __version__
from thesiskit.errors import DataError, UserError, quoted, shorten
from thesiskit.files import BOMB_BYTES, BOMB_TIMES, DAMAGES, open_regular, read_npz, replacing
from thesiskit.models.chains import Arrays

WHAT = "thesiskit fitted model"
# 1 had no temperatures and no normal models, 2 no methods of others, 3 no offsets, 4 no words as
# codes, and no likeness, 5 had fewer measures of it, no patterns that are selected, no covariates,
# 6 had no transforms, and pools without shrinkage, 7 no real responses of real features, 8 no
# counts of classes
FORMAT = 9
MOST = 1e100  # a number beyond it is none of a fit; of `within`, sums of squares, its square
# what else a number of these arrays may be
OPEN = {"log_joint": -np.inf, "spread": np.inf, "state": np.inf}
EXPORT = "export it again with `thesiskit export CONFIG FILE`"


def write_model(path: Path, header: dict[str, Any], arrays: Arrays) -> None:
    """Write a model; an interrupted call leaves no file.

    header : what JSON can hold.

    Raises
    ------
    UserError: a link is in its place.  ResultsError: the file cannot be written.
    """
    if path.is_symlink():
        raise UserError(f"{path}: is a link. Fix: give the name of a file")
    about = {"what": WHAT, "format": FORMAT, "thesiskit": __version__} | header
    # keys keep their order: that of the states of a text says what their codes are
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    record: dict[str, Any] = {"header": text, "sha256": np.array(_digest(text, arrays)), **arrays}
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, **record)


def read_model(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file.

    Raises
    ------
    DataError: it is no such file, was altered, or is of a later format.
    """
    try:
        _check_size(path)
        first, _ = read_npz(path, ("header", "sha256"))
        header = _header(first["header"], path)
        arrays, _ = read_npz(path)
        digest = _digest(arrays.pop("header"), {k: v for k, v in arrays.items() if k != "sha256"})
        if str(arrays.pop("sha256")) != digest:
            raise DataError(f"{path}: altered or damaged. Fix: {EXPORT}")
        _check_numbers(arrays)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (DataError, MemoryError):
        raise
    except (*DAMAGES, TypeError, RecursionError) as error:
        raise DataError(
            f"{path}: damaged, or not a model of thesiskit ({shorten(error, 100)}). Fix: {EXPORT}"
        ) from None
    return header, arrays


def is_model(path: Path) -> bool:
    """Whether a file is a model that some version of thesiskit wrote."""
    try:
        _check_size(path)
        _header(read_npz(path, ("header",))[0]["header"], path)
    except DataError:  # of a later version
        return True
    except (OSError, MemoryError, RecursionError, *DAMAGES):
        return False
    return True


def _check_size(path: Path) -> None:
    """Raise ValueError for a small file that would fill the memory."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        unpacked = sum(info.file_size for info in archive.infolist())
        if unpacked > max(BOMB_BYTES, BOMB_TIMES * os.fstat(file.fileno()).st_size):
            raise ValueError(f"it unpacks to {unpacked:,} bytes")


def _header(text: np.ndarray, path: Path) -> dict[str, Any]:
    """Return a header that this version can read."""
    plain = text.astype(np.uint8).tobytes()
    header = json.loads(plain, parse_float=_number, parse_constant=_number)
    if not isinstance(header, dict) or header.get("what") != WHAT:
        raise ValueError("its header is different")
    found = header.get("format")
    if type(found) is not int or found < 1:  # true is no number
        raise ValueError(f"its format is {quoted(found)}")
    if found > FORMAT:
        by = shorten(header.get("thesiskit"), 20)
        raise DataError(
            f"{path}: written by a later version, thesiskit {by} (format {found}; this one, "
            f"{__version__}, reads up to {FORMAT}). Fix: update thesiskit"
        )
    return header


def check_writable(header: dict[str, Any], arrays: Arrays) -> None:
    """Raise UserError for numbers that `read_model` refuses: those of tables near 1e200."""
    try:
        json.loads(json.dumps(header), parse_float=_number)
        _check_numbers(arrays)
    except ValueError as error:
        raise UserError(
            f"this model cannot be stored ({error}). Fix: give the features in other units"
        ) from None


def _number(text: str) -> float:
    """Return a number of a header; ValueError for one that no fit has."""
    if not abs(value := float(text)) <= MOST:
        raise ValueError(f"its header has {shorten(text, 20)}, which no fit contains")
    return value


def _check_numbers(arrays: Arrays) -> None:
    """Raise ValueError where an array has a number that no fit has, or is of another type."""
    for name, values in arrays.items():
        if values.dtype.kind not in "iufbU" or values.dtype == np.longdouble:
            raise ValueError(f"{shorten(name)} has the type {values.dtype}")
        if values.dtype.kind == "f":
            numbers, last = values.astype(float), name.rpartition("/")[2]
            most = MOST**2 if last == "within" else MOST
            usual = (np.abs(numbers) <= most) | (numbers == OPEN.get(last))
            if not usual.all():
                odd = numbers[~usual][0]
                raise ValueError(f"{shorten(name)} has {odd:g}, which no fit contains")


def _digest(text: np.ndarray, arrays: Arrays) -> str:
    """Return the sha256 of all that a file holds."""
    whole = hashlib.sha256(text.tobytes())
    for name, values in sorted(arrays.items()):
        values = np.ascontiguousarray(values)
        whole.update(json.dumps([name, values.dtype.str, values.shape]).encode())
        whole.update(values.tobytes())
    return whole.hexdigest()
