"""AnnData in .h5ad files, read with h5py: X, a column of obs, and the names of both sides.

Only what lies in the file itself is read: links to other files are refused.  A child process tries
first, because the HDF5 library can crash or loop on a damaged file.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.datasets.reading.columns import (
    Wanted,
    check_column,
    check_ids,
    find_columns,
    name_columns,
    need_response,
)
from thesiskit.datasets.reading.content import Content
from thesiskit.datasets.reading.numbers import typed
from thesiskit.datasets.reading.text_files import opened, shown
from thesiskit.datasets.reading.trial import tried
from thesiskit.errors import DataError, cut, memory_text, quoted
from thesiskit.files import BOMB_BYTES, BOMB_TIMES

LARGEST = 8e9  # bytes of a sparse matrix whose zeros are written out
SPARSE = ("csr_matrix", "csc_matrix")
REMEDY = "write it again with anndata 0.8 or later"


def read_h5ad(path: Path, wanted: Wanted) -> Content:
    """Read an AnnData file: the cases are observations, the features are variables.

    The response is a column of `obs`, unless a table of labels has it; the names of the cases are
    the index of `obs`, or another of its columns.
    """
    where = shown(path)
    need_response(wanted, where)

    def read() -> Content:
        with _held(path) as (held, most):
            return _content(held, wanted, where, most)

    return tried(path, read)


def read_obs(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of `obs` that could hold responses, None where a value is missing."""
    where = shown(path)

    def read() -> dict[str, np.ndarray]:
        with _held(path) as (held, _):
            obs = _child(held, "obs", where)
            return {name: _response(obs, name, where) for name in _columns(obs)}

    return tried(path, read)


@contextmanager
def _held(path: Path) -> Iterator[tuple[Any, float]]:
    """Open a file, and say so where it is damaged; also how many bytes a part of it may have."""
    import h5py

    where = shown(path)
    try:
        with opened(path) as file, h5py.File(file, "r") as held:
            yield held, max(BOMB_BYTES, BOMB_TIMES * os.fstat(file.fileno()).st_size)
    except DataError:
        raise
    except (OSError, KeyError, ValueError, RuntimeError, TypeError, AttributeError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(f"{where}: damaged, or not AnnData: {cut(reason[0], 120)}") from None


def _content(held: Any, wanted: Wanted, where: str, most: float) -> Content:
    obs, var = _child(held, "obs", where), _child(held, "var", where)
    names = name_columns(_texts(_index(var, where), where), f"{where}: var", "variable")
    columns = find_columns(names, replace(wanted, response=None, id=None, labels=None), where)
    index = _texts(_index(obs, where), where)
    ids, notes = _ids(index, obs, wanted, where)
    response, held_columns = wanted.own_response, _columns(obs)
    y = None
    if response is not None and wanted.new and response in held_columns:
        notes.append(f"{where}: the response {quoted(response)} of new cases is not used")
    elif response is not None and not wanted.new:
        check_column(response, held_columns, f"{where}: obs")
        y = _response(obs, response, where)
    X = _matrix(_child(held, "X", where), where, most)
    if X.shape != (len(index), len(names)):
        raise DataError(f"{where}: X has shape {X.shape}, and obs and var have other lengths")
    if columns.features != list(range(len(names))):
        X = X[:, columns.features]
    return Content(X, y, [names[j] for j in columns.features], ids, notes=[*columns.notes, *notes])


def _child(group: Any, name: str, where: str) -> Any:
    """Return what a group holds by a name; DataError if it is elsewhere, or not there."""
    import h5py

    link = group.get(name, getlink=True)
    if link is None:
        raise DataError(f"{where}: it has no {cut(name)}; {REMEDY}")
    found = group[name] if isinstance(link, h5py.HardLink) else None
    if found is None or (isinstance(found, h5py.Dataset) and (found.is_virtual or found.external)):
        raise DataError(f"{where}: {cut(name)} is a link to something else; {REMEDY}")
    return found


def _index(frame: Any, where: str) -> Any:
    if not hasattr(frame, "keys"):  # tables of an old anndata
        raise DataError(f"{where}: obs and var are of an old form; {REMEDY}")
    return _child(frame, str(frame.attrs.get("_index", "_index")), where)


def _columns(obs: Any) -> list[str]:
    return [str(name) for name in obs.attrs.get("column-order", ())]


def _ids(index: list[str], obs: Any, wanted: Wanted, where: str) -> tuple[list[str], list[str]]:
    """Return the names of the cases; none where the index of obs has one twice, which is noted."""
    column = wanted.id if wanted.labels is None else None
    if column is not None and (not wanted.new or column in _columns(obs)):
        check_column(column, _columns(obs), f"{where}: obs")
        held = [str(one) for one in _response(obs, column, where)]
        return check_ids(held, column, where), []
    if len(set(index)) < len(index):
        return [], [f"{where}: names in the index of obs are there twice; cases are numbered"]
    return index, []


def _texts(values: Any, where: str) -> list[str]:
    """Return a column of text."""
    import h5py

    if hasattr(values, "keys"):  # a nullable column
        values = _child(values, "values", where)
    if h5py.check_string_dtype(values.dtype) is not None:
        return [str(one) for one in values.asstr(errors="replace")[()]]
    if values.dtype.kind not in "biufS":
        raise DataError(f"{where}: names must be text; {REMEDY}")
    return [str(one) for one in np.asarray(values).tolist()]


def _response(obs: Any, name: str, where: str) -> np.ndarray:
    """Return a column of obs; None where a value is missing."""
    import h5py

    column = _child(obs, name, where)
    if hasattr(column, "keys"):
        keys = set(column.keys())
        if {"categories", "codes"} <= keys:
            held = [*_values(_child(column, "categories", where), where), None]
            codes = np.asarray(_child(column, "codes", where))
            if codes.min(initial=0) < -1 or codes.max(initial=-1) >= len(held) - 1:
                raise DataError(f"{where}: the codes of {quoted(name)} are damaged")
            return np.array([held[code] for code in codes], dtype=object)
        values = _values(_child(column, "values", where), where)
        missing = np.asarray(_child(column, "mask", where), dtype=bool)
        pairs = zip(values, missing, strict=True)
        return np.array([None if gone else one for one, gone in pairs], dtype=object)
    if isinstance(column, h5py.Dataset) and column.ndim == 1:
        return np.array(_values(column, where), dtype=object)
    raise DataError(f"{where}: the column {quoted(name)} of obs has a form that is not known")


def _values(values: Any, where: str) -> list[Any]:
    """Return numbers, or texts as numbers where all are numbers."""
    if values.dtype.kind in "biuf":
        return np.asarray(values).tolist()
    return typed(_texts(values, where)).tolist()


def _matrix(X: Any, where: str, most: float) -> np.ndarray:
    """Return X with its zeros."""
    from scipy import sparse

    kind = X.attrs.get("encoding-type", "")
    if not hasattr(X, "keys"):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise DataError(f"{where}: X must be a matrix of numbers, got {cut(X.dtype)} {X.shape}")
        if X.nbytes > most:
            raise DataError(f"{where}: unpacks to more than {BOMB_TIMES} times its size")
        return np.asarray(X)
    if kind not in SPARSE:
        raise DataError(f"{where}: X has the form {cut(kind)!r}, which is not known; {REMEDY}")
    n, p = (int(one) for one in X.attrs["shape"])
    parts = [_child(X, name, where) for name in ("data", "indices", "indptr")]
    if sum(part.nbytes for part in parts) > most:
        raise DataError(f"{where}: unpacks to more than {BOMB_TIMES} times its size")
    if not 0 <= n * p * parts[0].dtype.itemsize <= LARGEST:
        raise DataError(
            f"{where}: X of {n:,} cases and {p:,} variables needs "
            f"{memory_text(n * p * parts[0].dtype.itemsize)}; keep fewer variables, for example "
            "with scanpy.pp.highly_variable_genes"
        )
    form = sparse.csr_matrix if kind == SPARSE[0] else sparse.csc_matrix
    matrix = form(tuple(np.asarray(part) for part in parts), shape=(n, p))
    matrix.check_format(full_check=True)
    return matrix.toarray()
