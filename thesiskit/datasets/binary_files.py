"""Tables in files that are not text: Parquet, NPZ, NPY (memory-mapped), PLINK .bed and AnnData.

Each reader returns a `Table` whose response is as the file has it: values of any kind, none of new
cases, and mostly no names of classes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.datasets.reading import (
    REAL,
    Columns,
    Numbers,
    Result,
    Wanted,
    check_column,
    check_ids,
    find_columns,
    most_bytes,
    name_columns,
    need_response,
    opened,
    shown,
    tried,
    typed,
    unreadable,
)
from thesiskit.datasets.source import Table
from thesiskit.errors import DataError, cut, few, memory_text, quoted
from thesiskit.files import BOMB_TIMES, DAMAGES, read_npy, read_npz

NO_RESPONSE = np.empty(0)
RawTable = partial(Table, classes=())
PHENOTYPES = {"1": "control", "2": "case"}  # PLINK's
LARGEST = 8e9  # bytes of a sparse matrix whose zeros are written out
SPARSE = ("csr_matrix", "csc_matrix")
REMEDY = "write it again with anndata 0.8 or later"


def _damaged(where: str, kind: str, error: Exception) -> DataError:
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return DataError(f"{where}: damaged, or not {kind}: {cut(reason[0], 120)}")


# ---- Parquet ----


def read_frame(path: Path, wanted: Wanted) -> tuple[pd.DataFrame, Columns]:
    """Return a Parquet table, and which of its columns are wanted."""
    where = shown(path)
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise DataError(f"{where}: Parquet needs: pip install 'thesiskit[parquet]'") from None
    with opened(path) as file:
        most = most_bytes(file)
        try:
            held = parquet.ParquetFile(file)
            schema, rows = held.schema_arrow, held.metadata.num_rows
            names = name_columns(schema.names, where)
            need_response(wanted, where)
            index = [name for name in (schema.pandas_metadata or {}).get("index_columns", ())
                     if isinstance(name, str)]  # fmt: skip
            columns = find_columns(names, wanted, where, index)
            if 8 * rows * len(names) > most:
                raise DataError(f"{where}: unpacks to more than {BOMB_TIMES} times its size")
            # metadata of pandas would make columns an index, and leave them out without a word
            frame = held.read().to_pandas(ignore_metadata=True)
        except DataError:
            raise
        except (pyarrow.ArrowException, ArithmeticError, LookupError, OSError, TypeError,
                ValueError) as error:  # fmt: skip
            raise _damaged(where, "Parquet", error) from None
    frame.columns = names
    if len(frame) == 0:
        raise DataError(f"{where}: a line of names but no cases")
    return frame, columns


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """Read a table of numbers from a Parquet file."""
    where = shown(path)
    frame, columns = read_frame(path, wanted)
    features = _as_numbers(frame.iloc[:, columns.features], wanted.missing, where)
    response, ids = NO_RESPONSE, []
    if columns.response is not None:
        response = frame.iloc[:, columns.response].to_numpy(object)
    if columns.id is not None:
        held = frame.iloc[:, columns.id].tolist()
        ids = ["" if pd.isna(case) else str(case) for case in held]
        check_ids(ids, wanted.id or "", where)
    names = [frame.columns[j] for j in columns.features]
    return RawTable(features, response, names, ids=ids, notes=columns.notes)


def _as_numbers(frame: pd.DataFrame, missing: tuple[str, ...], where: str) -> np.ndarray:
    """Return a table as numbers; columns of text are read as those of a text table."""
    numeric = frame.dtypes.map(pd.api.types.is_numeric_dtype)
    texts = list(frame.columns[~numeric])
    codes = [float(text) for text in missing if REAL.fullmatch(text)]
    if not texts and not codes:
        return frame.to_numpy(dtype=float, na_value=np.nan)
    result = np.empty(frame.shape)
    for j, name in enumerate(frame.columns):
        if name not in texts:
            column = frame[name].to_numpy(dtype=float, na_value=np.nan)
            result[:, j] = np.where(np.isin(column, codes), np.nan, column)
    if texts:
        numbers = Numbers(texts, missing, "row")
        columns = [frame[name].tolist() for name in texts]
        for row, cells in enumerate(zip(*columns, strict=True), start=1):
            numbers.add(["" if cell is None or cell != cell else str(cell) for cell in cells], row)
        result[:, frame.columns.get_indexer(texts)] = numbers.table(where)
    return result


# ---- arrays ----


def load_arrays(path: Path, read: Callable[..., Result], **options: Any) -> Result:
    """Return what `read_npz` or `read_npy` returns of a file of the user's."""
    try:
        return read(path, **options)
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGES as error:
        kind = "NPZ" if read is read_npz else "NPY"
        raise DataError(
            f"{shown(path)}: damaged, or not an {kind} file: {cut(error, 160)}"
        ) from None


def read_npz_table(path: Path, wanted: Wanted) -> Table:
    """Read an NPZ file: features in `X`, the response in another array (`y` unless named)."""
    where, key = shown(path), wanted.response or "y"
    wishes = [name for name in ("X", key, wanted.id) if name is not None]
    loaded, held = load_arrays(path, read_npz, names=wishes)
    if key == "X":
        raise DataError(f"{where}: data.response is 'X', which is the array of the features")
    needed = ("X",) if wanted.new else ("X", None if wanted.labels else key, wanted.id)
    for name in needed:
        if name is not None and name not in loaded:
            raise DataError(f"{where}: no array {quoted(name)}; it holds {few(held)}")
    notes = []
    if wanted.new and key in loaded:
        notes.append(f"{where}: the response {quoted(key)} of new cases is not used")
    ids: list[str] = []
    if wanted.id in loaded:
        column = loaded[wanted.id]
        if column.shape != loaded["X"].shape[:1]:
            raise DataError(
                f"{where}: {quoted(wanted.id)} (data.id) has shape {column.shape}; it must "
                "have one name for each case"
            )
        ids = [case.decode("utf-8", "replace") if isinstance(case, bytes) else str(case)
               for case in column.tolist()]  # fmt: skip
        check_ids(ids, wanted.id, where)
    response = NO_RESPONSE if wanted.new or wanted.labels else loaded[key]
    return RawTable(_checked(loaded["X"], wanted, where), response, ids=ids, notes=notes)


def read_npy_table(path: Path, wanted: Wanted) -> Table:
    """Read an NPY file of features, memory-mapped, and another of responses, beside it."""
    where = shown(path)
    if wanted.id is not None:
        raise DataError(
            f"{where}: an .npy file holds one array, and no names of cases; leave out "
            "data.id, or use .npz"
        )
    if wanted.labels is not None:
        raise DataError(f"{where}: an .npy file names no cases; leave out data.labels")
    if wanted.response is None and not wanted.new:
        raise DataError(f"{where}: name the .npy file of the responses with data.response")
    features = _checked(load_arrays(path, read_npy, mapped=True), wanted, where)
    beside = path.parent / str(wanted.response)
    return RawTable(
        features, NO_RESPONSE if wanted.new else load_arrays(beside, read_npy, mapped=True)
    )


def _checked(array: np.ndarray, wanted: Wanted, where: str) -> np.ndarray:
    if wanted.ignore:
        raise DataError(f"{where}: arrays have no column names; leave out data.ignore")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{where}: features must be numbers, got {cut(array.dtype)}")
    return array


# ---- PLINK ----


def read_bed(path: Path, wanted: Wanted) -> Table:
    """Read PLINK genotypes; the response is the phenotype, and names are those of the files."""
    where = shown(path)
    try:
        from bed_reader import open_bed
    except ImportError:
        raise DataError(f"{where}: PLINK files need: pip install 'thesiskit[plink]'") from None
    for key, value in (("response", wanted.own_response), ("id", wanted.id)):
        if value is not None and not wanted.new and not (key == "id" and wanted.labels):
            has = "response is the phenotype" if key == "response" else "cases are called as"
            raise DataError(f"{where}: the {has} in the .fam; drop data.{key}")
    for beside in (path.with_suffix(".fam"), path.with_suffix(".bim")):
        opened(beside).close()
    try:
        with open_bed(path) as bed:
            size = 3 + -(-bed.iid_count // 4) * bed.sid_count  # four genotypes in a byte
            if bed.major == "SNP" and path.stat().st_size != size:
                raise ValueError("its size is not that of the cases in .fam and variants in .bim")
            genotypes = bed.read(dtype="int8")
            phenotype = np.asarray(bed.pheno)
            names = [str(name) for name in bed.sid]
            ids = [str(case) for case in bed.iid]
    except Exception as error:  # bed-reader raises errors of many kinds
        reason = [*str(error).splitlines(), type(error).__name__][0]
        raise DataError(f"{where}: cannot be read: {cut(reason, 160)}") from None
    names = name_columns(names, f"{where}: variants")
    columns = find_columns(names, replace(wanted, response=None, id=None, labels=None), where)
    genotypes = genotypes[:, columns.features]
    if (genotypes < 0).any():
        genotypes = np.where(genotypes < 0, np.float32(np.nan), genotypes)
    if len(set(ids)) < len(ids):  # families can use the same names
        ids = []
    known = wanted.new or wanted.labels
    y, classes = (NO_RESPONSE, ()) if known else _phenotypes(phenotype, where)
    names = [names[j] for j in columns.features]
    return RawTable(genotypes, y, names, classes=classes, ids=ids, notes=columns.notes)


def _phenotypes(phenotype: np.ndarray, where: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return phenotypes as numbers, and what classes are called if that is known."""
    unknown = np.flatnonzero(np.isin(phenotype, ("0", "-9", "NA", "nan", "")))
    held = set(phenotype.tolist())
    if len(unknown) and held - {"0", "1"}:  # in a 0/1 coding, 0 is a class
        raise DataError(
            f"{where}: the phenotype is missing in case {unknown[0] + 1}; leave such cases out "
            "(plink --prune)"
        )
    if held <= set(PHENOTYPES):
        return (phenotype == "2").astype(np.uint8), tuple(PHENOTYPES.values())
    if held <= {"0", "1"}:
        return phenotype.astype(np.uint8), ()
    return typed(phenotype.tolist()), ()


# ---- AnnData: only what lies in the file itself is read, and a child process tries first ----


def read_h5ad(path: Path, wanted: Wanted) -> Table:
    """Read an AnnData file: the cases are observations, the features are variables.

    The response is a column of `obs`, unless a table of labels has it; the names of the cases are
    the index of `obs`, or another of its columns.
    """
    where = shown(path)
    need_response(wanted, where)

    def read() -> Table:
        with _open_h5ad(path) as (file, most):
            return _observations(file, wanted, where, most)

    return tried(path, read)


def read_obs(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of `obs` that could hold responses, None where a value is missing."""
    where = shown(path)

    def read() -> dict[str, np.ndarray]:
        with _open_h5ad(path) as (file, _):
            obs = _child(file, "obs", where)
            names = map(str, obs.attrs.get("column-order", ()))
            return {name: _column(obs, name, where) for name in names}

    return tried(path, read)


@contextmanager
def _open_h5ad(path: Path) -> Iterator[tuple[Any, float]]:
    """Open a file, and say so where it is damaged; also how many bytes a part of it may have."""
    import h5py

    try:
        with opened(path) as file, h5py.File(file, "r") as held:
            yield held, most_bytes(file)
    except DataError:
        raise
    except (OSError, KeyError, ValueError, RuntimeError, TypeError, AttributeError) as error:
        raise _damaged(shown(path), "AnnData", error) from None


def _observations(file: Any, wanted: Wanted, where: str, most: float) -> Table:
    obs, var = _child(file, "obs", where), _child(file, "var", where)
    names = name_columns(_index(var, where), f"{where}: var", "variable")
    columns = find_columns(names, replace(wanted, response=None, id=None, labels=None), where)
    ids, notes = _index(obs, where), columns.notes
    held = [str(name) for name in obs.attrs.get("column-order", ())]
    n, column = len(ids), wanted.id if wanted.labels is None else None
    if column is not None and (not wanted.new or column in held):
        check_column(column, held, f"{where}: obs")
        ids = check_ids([str(case) for case in _column(obs, column, where)], column, where)
    elif len(set(ids)) < n:
        ids = []
        notes = [*notes, f"{where}: names in the index of obs are there twice; cases are numbered"]
    response, y = wanted.own_response, NO_RESPONSE
    if response is not None and wanted.new and response in held:
        notes = [*notes, f"{where}: the response {quoted(response)} of new cases is not used"]
    elif response is not None and not wanted.new:
        check_column(response, held, f"{where}: obs")
        y = _column(obs, response, where)
    X = _matrix(_child(file, "X", where), where, most)
    if X.shape != (n, len(names)):
        raise DataError(f"{where}: X has shape {X.shape}, and obs and var have other lengths")
    if columns.features != list(range(len(names))):
        X = X[:, columns.features]
    return RawTable(X, y, [names[j] for j in columns.features], ids=ids, notes=notes)


def _child(group: Any, name: str, where: str) -> Any:
    """Return what a group holds by a name; DataError if it is elsewhere, or not there."""
    import h5py

    link = group.get(name, getlink=True)
    if link is None:
        raise DataError(f"{where}: it has no {cut(name)}; {REMEDY}")
    child = group[name] if isinstance(link, h5py.HardLink) else None
    if child is None or (isinstance(child, h5py.Dataset) and (child.is_virtual or child.external)):
        raise DataError(f"{where}: {cut(name)} is a link to something else; {REMEDY}")
    return child


def _index(frame: Any, where: str) -> list[str]:
    if not hasattr(frame, "keys"):  # tables of an old anndata
        raise DataError(f"{where}: obs and var are of an old form; {REMEDY}")
    return _texts(_child(frame, str(frame.attrs.get("_index", "_index")), where), where)


def _texts(values: Any, where: str) -> list[str]:
    import h5py

    if hasattr(values, "keys"):  # a nullable column
        values = _child(values, "values", where)
    if h5py.check_string_dtype(values.dtype) is not None:
        return [str(text) for text in values.asstr(errors="replace")[()]]
    if values.dtype.kind not in "biufS":
        raise DataError(f"{where}: names must be text; {REMEDY}")
    return [str(value) for value in np.asarray(values).tolist()]


def _column(obs: Any, name: str, where: str) -> np.ndarray:
    """Return a column of obs; None where a value is missing."""
    import h5py

    def values(data: Any) -> list[Any]:
        """Return numbers, or texts as numbers where all are numbers."""
        plain = data.dtype.kind in "biuf"
        return (np.asarray(data) if plain else typed(_texts(data, where))).tolist()

    column = _child(obs, name, where)
    if hasattr(column, "keys"):
        if {"categories", "codes"} <= set(column.keys()):
            held = [*values(_child(column, "categories", where)), None]
            codes = np.asarray(_child(column, "codes", where))
            if codes.min(initial=0) < -1 or codes.max(initial=-1) >= len(held) - 1:
                raise DataError(f"{where}: the codes of {quoted(name)} are damaged")
            return np.array([held[code] for code in codes], dtype=object)
        held = values(_child(column, "values", where))
        missing = np.asarray(_child(column, "mask", where), dtype=bool)
        pairs = zip(held, missing, strict=True)
        return np.array([None if gone else value for value, gone in pairs], dtype=object)
    if isinstance(column, h5py.Dataset) and column.ndim == 1:
        return np.array(values(column), dtype=object)
    raise DataError(f"{where}: the column {quoted(name)} of obs has a form that is not known")


def _matrix(X: Any, where: str, most: float) -> np.ndarray:
    """Return X with its zeros."""
    from scipy import sparse

    kind = X.attrs.get("encoding-type", "")
    if not hasattr(X, "keys"):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise DataError(f"{where}: X must be a matrix of numbers, got {cut(X.dtype)} {X.shape}")
        parts = [X]
    elif kind not in SPARSE:
        raise DataError(f"{where}: X has the form {cut(kind)!r}, which is not known; {REMEDY}")
    else:
        n, p = (int(size) for size in X.attrs["shape"])
        parts = [_child(X, name, where) for name in ("data", "indices", "indptr")]
    if sum(part.nbytes for part in parts) > most:
        raise DataError(f"{where}: unpacks to more than {BOMB_TIMES} times its size")
    if parts == [X]:
        return np.asarray(X)
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
