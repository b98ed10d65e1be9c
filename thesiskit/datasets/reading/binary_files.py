"""Tables in files that are not text: Parquet, NPZ, NPY (memory-mapped) and PLINK .bed."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from thesiskit.datasets.reading.columns import (
    Columns,
    Wanted,
    check_ids,
    find_columns,
    name_columns,
    need_response,
)
from thesiskit.datasets.reading.content import Content
from thesiskit.datasets.reading.numbers import REAL, Numbers, typed
from thesiskit.datasets.reading.text_files import opened, shown, unreadable
from thesiskit.errors import DataError, cut, few, quoted
from thesiskit.files import BOMB_BYTES, BOMB_TIMES, DAMAGES, read_npy, read_npz

PHENOTYPES = {"1": "control", "2": "case"}  # PLINK's


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
        size = os.fstat(file.fileno()).st_size
        try:
            found = parquet.ParquetFile(file)
            schema, rows = found.schema_arrow, found.metadata.num_rows
            names = name_columns(schema.names, where)
            need_response(wanted, where)
            index = [one for one in (schema.pandas_metadata or {}).get("index_columns", ())
                     if isinstance(one, str)]  # fmt: skip
            columns = find_columns(names, wanted, where, index)
            if 8 * rows * len(names) > max(BOMB_BYTES, BOMB_TIMES * size):
                raise DataError(f"{where}: unpacks to more than {BOMB_TIMES} times its size")
            # metadata of pandas would make columns an index, and leave them out without a word
            frame = found.read().to_pandas(ignore_metadata=True)
        except DataError:
            raise
        except (pyarrow.ArrowException, ArithmeticError, LookupError, OSError, TypeError,
                ValueError) as error:  # fmt: skip
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise DataError(f"{where}: damaged, or not Parquet: {cut(reason[0], 120)}") from None
    frame.columns = names
    if len(frame) == 0:
        raise DataError(f"{where}: a line of names but no cases")
    return frame, columns


def read_parquet(path: Path, wanted: Wanted) -> Content:
    """Read a table of numbers from a Parquet file."""
    where = shown(path)
    frame, columns = read_frame(path, wanted)
    features = frame.iloc[:, columns.features]
    return Content(
        _as_numbers(features, wanted.missing, where),
        None if columns.response is None else frame.iloc[:, columns.response].to_numpy(object),
        list(features.columns),
        ids_of(frame, columns, wanted, where),
        notes=columns.notes,
    )


def ids_of(frame: pd.DataFrame, columns: Columns, wanted: Wanted, where: str) -> list[str]:
    """Return the names of the cases, empty where no column has them."""
    if columns.id is None:
        return []
    held = frame.iloc[:, columns.id].tolist()
    return check_ids(["" if pd.isna(one) else str(one) for one in held], wanted.id or "", where)


def _numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _as_numbers(frame: pd.DataFrame, missing: tuple[str, ...], where: str) -> np.ndarray:
    """Return a table as numbers; columns of text are read as those of a text table."""
    texts = [name for name in frame.columns if not _numeric(frame[name])]
    codes = [float(one) for one in missing if REAL.fullmatch(one)]
    if not texts and not codes:
        return frame.to_numpy(dtype=float, na_value=np.nan)
    result, held = np.empty(frame.shape), {}
    if texts:
        numbers = Numbers(texts, missing, "row")
        columns = [frame[name].tolist() for name in texts]
        for row, cells in enumerate(zip(*columns, strict=True), start=1):
            numbers.add(["" if one is None or one != one else str(one) for one in cells], row)
        held = dict(zip(texts, numbers.table(where).T, strict=True))
    for j, name in enumerate(frame.columns):
        column = held.get(name)
        if column is None:
            column = frame[name].to_numpy(dtype=float, na_value=np.nan)
            column = np.where(np.isin(column, codes), np.nan, column)
        result[:, j] = column
    return result


# ---- arrays ----


def read_npz_table(path: Path, wanted: Wanted) -> Content:
    """Read an NPZ file: features in `X`, the response in another array (`y` unless named)."""
    key = wanted.response or "y"
    names = [name for name in ("X", key, wanted.id) if name is not None]
    needed = [name for name in names if name != key or wanted.labels is None]
    try:
        loaded, held = read_npz(path, names)
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGES as error:
        raise DataError(f"{shown(path)}: damaged, or not an NPZ file: {cut(error, 160)}") from None
    if key == "X":
        raise DataError(f"{shown(path)}: data.response is 'X', which is the array of the features")
    for name in ("X",) if wanted.new else needed:
        if name not in loaded:
            raise DataError(f"{shown(path)}: no array {quoted(name)}; it holds {few(held)}")
    notes = []
    if wanted.new and key in loaded:
        notes.append(f"{shown(path)}: the response {quoted(key)} of new cases is not used")
    ids: list[str] = []
    if wanted.id in loaded:
        column = loaded[wanted.id]
        if column.shape != loaded["X"].shape[:1]:
            raise DataError(
                f"{shown(path)}: {quoted(wanted.id)} (data.id) has shape {column.shape}; it must "
                "have one name for each case"
            )
        ids = check_ids([_text(one) for one in column.tolist()], wanted.id or "", shown(path))
    response = None if wanted.new or wanted.labels else loaded[key]
    return Content(_columns(loaded["X"], wanted, path), response, ids=ids, notes=notes)


def read_npy_table(path: Path, wanted: Wanted) -> Content:
    """Read an NPY file of features, memory-mapped, and another of responses, beside it."""
    if wanted.id is not None:
        raise DataError(
            f"{shown(path)}: an .npy file holds one array, and no names of cases; leave out "
            "data.id, or use .npz"
        )
    if wanted.labels is not None:
        raise DataError(f"{shown(path)}: an .npy file names no cases; leave out data.labels")
    if wanted.response is None and not wanted.new:
        raise DataError(f"{shown(path)}: name the .npy file of the responses with data.response")
    features = _columns(_load_npy(path), wanted, path)
    response = None if wanted.new else _load_npy(path.parent / str(wanted.response))
    return Content(features, response)


def _load_npy(path: Path) -> np.ndarray:
    try:
        return read_npy(path, mapped=True)
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGES as error:
        raise DataError(f"{shown(path)}: damaged, or not an NPY file: {cut(error, 160)}") from None


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _columns(array: np.ndarray, wanted: Wanted, path: Path) -> np.ndarray:
    if wanted.ignore:
        raise DataError(f"{shown(path)}: arrays have no column names; leave out data.ignore")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{shown(path)}: features must be numbers, got {cut(array.dtype)}")
    return array


# ---- PLINK ----


def read_bed(path: Path, wanted: Wanted) -> Content:
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
            ids = [str(one) for one in bed.iid]
    except Exception as error:  # bed-reader raises errors of many kinds
        reason = [*str(error).splitlines(), type(error).__name__][0]
        raise DataError(f"{where}: cannot be read: {cut(reason, 160)}") from None
    names = name_columns(names, f"{where}: variants")
    columns = find_columns(names, replace(wanted, response=None, id=None, labels=None), where)
    keep = columns.features
    genotypes = genotypes[:, keep]
    if (genotypes < 0).any():
        genotypes = np.where(genotypes < 0, np.float32(np.nan), genotypes)
    if len(set(ids)) < len(ids):  # families can use the same names
        ids = []
    y, classes = (None, None) if wanted.new or wanted.labels else _classes(phenotype, where)
    return Content(genotypes, y, [names[j] for j in keep], ids, classes, columns.notes)


def _classes(phenotype: np.ndarray, where: str) -> tuple[np.ndarray, tuple[str, str] | None]:
    """Return phenotypes as numbers, and what classes are called."""
    unknown = np.flatnonzero(np.isin(phenotype, ("0", "-9", "NA", "nan", "")))
    held = set(phenotype.tolist())
    if len(unknown) and held - {"0", "1"}:  # in a 0/1 coding, 0 is a class
        raise DataError(
            f"{where}: the phenotype is missing in case {unknown[0] + 1}; leave such cases out "
            "(plink --prune)"
        )
    if held <= set(PHENOTYPES):
        return (phenotype == "2").astype(np.uint8), (PHENOTYPES["1"], PHENOTYPES["2"])
    if held <= {"0", "1"}:
        return phenotype.astype(np.uint8), None
    return typed(phenotype.tolist()), None
