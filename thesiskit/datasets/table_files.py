"""The user's own table: CSV, Parquet, NPZ, NPY (memory-mapped) and PLINK .bed."""

import hashlib
import os
from numbers import Real
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import StrictBool, StrictFloat, StrictInt, StrictStr

from thesiskit.blocks import Text
from thesiskit.datasets.reading.cells import (
    REAL,
    check_counter,
    check_text,
    choose_features,
    name_columns,
    read_cells,
)
from thesiskit.datasets.reading.numbers import Numbers, check_words, typed
from thesiskit.datasets.reading.text_files import opened, shown, unreadable
from thesiskit.datasets.source import Source, Table
from thesiskit.errors import DataError, cut, few, quoted
from thesiskit.safe_io import BOMB_BYTES, BOMB_TIMES, DAMAGES, read_npy, read_npz, sha256

KINDS = (".csv", ".parquet", ".npz", ".npy", ".bed")


class FileData(Source):
    """The user's own table."""

    family: ClassVar = "table"

    source: Literal["file"]
    path: Text  # from the config's folder
    response: Text | None = None  # a column, an NPZ key, or an NPY file
    positive: StrictBool | StrictStr | StrictInt | StrictFloat | None = None  # class 1
    ignore: list[Text] = []
    test_path: Text | None = None
    binarise: Literal["all-medians", "training-medians"] = "training-medians"

    @property
    def own(self) -> bool:
        """Whether cases are read from a file of the user's."""
        return True

    @property
    def has_test_set(self) -> bool:
        """Whether it comes with test cases."""
        return self.test_path is not None

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:  # noqa: ARG002
        """Return the table, or training cases and test cases."""
        found = [
            read_table(
                folder / name, self.response, positive=self.positive, ignore=tuple(self.ignore)
            )
            for name in (self.path, self.test_path)
            if name is not None
        ]
        return [found[0], *(self._like(found[0], test) for test in found[1:])]

    def _like(self, table: Table, test: Table) -> Table:
        """Return the test table with its columns in the order of the training table."""
        known, found = set(table.names), set(test.names)
        if known != found:
            name = min(known - found, default=None) or min(found - known)
            what = "lacks" if name in known else "has, and the training table has not,"
            raise DataError(
                f"{cut(self.test_path)} {what} the column {quoted(name)}; make the columns of both "
                "tables the same, or data.ignore what differs"
            )
        if self.positive is not None and not set(test.negative) <= set(table.negative):
            raise DataError(
                f"{cut(self.test_path)} has the response {cut(test.negative[0])}, which no "
                f"training case has ({few(table.negative)}); leave such cases out"
            )
        if table.features.shape[1] != test.features.shape[1]:
            raise DataError(
                f"the training table has {table.features.shape[1]} features, {self.test_path} "
                f"{test.features.shape[1]}; make them the same"
            )
        if table.names == test.names:
            return test
        order = [test.names.index(name) for name in table.names]
        return Table(test.features[:, order], test.response, table.names, test.digest, test.source)


def read_table(
    path: Path,
    response: str | None,
    *,
    positive: str | float | bool | None = None,
    ignore: tuple[str, ...] = (),
) -> Table:
    """Read a table of cases.

    Parameters
    ----------
    path : features, one case per row.  `.csv` and `.parquet` hold the response in a column;
        `.npz` in an array (features in `X`); `.npy` features are memory-mapped and the response is
        another `.npy`, beside it; `.bed` takes the phenotype of its `.fam`.
    response : the column, NPZ key (default `y`) or NPY file.
    positive : the response that is class 1; without it the response must be 0 and 1.
    ignore : columns to leave out.

    Raises
    ------
    DataError: what is wrong, where, and what to do.
    """
    path = Path(path)
    where = shown(path)
    readers = {
        ".csv": _read_csv,
        ".parquet": _read_parquet,
        ".npz": _read_npz,
        ".npy": _read_npy,
        ".bed": _read_bed,
    }
    reader = readers.get(path.suffix.lower())
    opened(path).close()
    if reader is None:
        raise DataError(
            f"{where}: cannot read {cut(path.suffix) or 'this'}; use {', '.join(KINDS)}"
        )
    features, y, names = reader(path, response, ignore)
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(f"{where}: no cases or no features; the table has shape {features.shape}")
    y = np.asarray(y)
    if y.ndim != 1:
        raise DataError(f"{where}: the response must be a vector, got shape {y.shape}")
    if len(y) != len(features):
        raise DataError(f"{where}: {len(features)} rows of features but {len(y)} responses")
    _check_values(features, names, where)
    classes, labels = as_classes(y, positive, where)
    # the response and the names can come from other files than the features
    digest = hashlib.sha256(sha256(path).encode() + classes.tobytes() + repr(names).encode())
    return Table(features, classes, names, digest.hexdigest(), path.name, labels)


def _check_values(features: np.ndarray, names: list[str], where: str) -> None:
    """Say where a value is missing; a memory-mapped table is looked at when it is read."""
    for j, name in enumerate(names):
        check_counter(name, features[:, j], where)
    if isinstance(features, np.memmap) or features.dtype.kind != "f":
        return
    bad = np.argwhere(~np.isfinite(features))
    if len(bad):
        case, column = bad[0]
        name = cut(names[column]) if names else f"number {column + 1}"
        more = f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""
        raise DataError(
            f"{where}: a value is missing or infinite in case {case + 1}, feature {name}{more}; "
            "fill it in, or leave the case or the feature out"
        )


def as_classes(
    y: np.ndarray, positive: str | float | bool | None, where: str
) -> tuple[np.ndarray, list[str]]:
    """Return the response as 0 and 1, and the values that are class 0."""
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    values = y.tolist()
    missing = np.flatnonzero(pd.isna(y))
    if len(missing):
        raise DataError(
            f"{where}: the response is missing in case {missing[0] + 1}; leave such cases out"
        )
    held = {_told(value): value for value in values}
    found = sorted(held)
    if positive is not None:
        if not any(_same(value, positive) for value in held.values()):
            raise DataError(
                f"{where}: no response is {quoted(positive)} (data.positive); found {few(found)}"
            )
        if len(held) > 2:
            raise DataError(
                f"{where}: the response has {len(held):,} values ({few(found)}); the model has "
                "two classes, so leave other cases out"
            )
        for text in held:
            check_text(text, f"{where}: a response", "write it in other words")
        others = [text for text, value in held.items() if not _same(value, positive)]
        return np.array([_same(value, positive) for value in values], dtype=np.uint8), others
    if not all(isinstance(value, Real) and value in (0, 1) for value in held.values()):
        raise DataError(
            f"{where}: the response must be 0 and 1, found {few(found)}; "
            "say which value is class 1 with data.positive"
        )
    return np.array(values, dtype=float).astype(np.uint8), ["0"]


def _told(value: object) -> str:
    """Return a response as messages tell it: a text that looks like a number as text."""
    if isinstance(value, str):
        return f"the text {value!r}" if REAL.fullmatch(value) else value
    return str(value) if isinstance(value, Real) else f"{type(value).__name__} {value}"


def _same(value: object, positive: object) -> bool:
    """Whether a response is the one the config names: 1.0 is 1, and True is true."""
    if isinstance(value, Real) and isinstance(positive, Real):
        return value == positive
    return str(value).lower() == str(positive).lower()


def _read_csv(path: Path, response: str | None, ignore: tuple[str, ...]):
    where = shown(path)
    names, rows = read_cells(path, ",")
    response = _named(response, where)
    keep = choose_features(names, response, ignore, where)
    numbers = Numbers([names[j] for j in keep])
    place, labels = names.index(response), []
    left_out = sorted(set(range(len(names))) - set(keep), reverse=True)
    for _, cells in rows:
        labels.append(cells[place].strip())
        for j in left_out:
            del cells[j]
        numbers.add(cells)
    features = numbers.table(where)
    return features, typed(labels), numbers.names


def _named(response: str | None, where: str) -> str:
    if response is None:
        raise DataError(f"{where}: say which column is the response with data.response")
    return response


def _read_parquet(path: Path, response: str | None, ignore: tuple[str, ...]):
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
            index = [one for one in (schema.pandas_metadata or {}).get("index_columns", ())
                     if isinstance(one, str)]  # fmt: skip
            response = _named(response, where)
            keep = choose_features(names, response, ignore, where, index)
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
    y = frame[response].to_numpy(dtype=object)
    features = frame.iloc[:, keep]
    words = {
        name: next(iter(features[name].dropna()), None)
        for name in features.columns
        if not _numeric(features[name])
    }
    check_words(words, where)
    return features.to_numpy(dtype=float, na_value=np.nan), y, list(features.columns)


def _numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _read_npz(path: Path, response: str | None, ignore: tuple[str, ...]):
    key = response or "y"
    try:
        loaded, held = read_npz(path, ("X", key))
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGES as error:
        raise DataError(f"{shown(path)}: damaged, or not an NPZ file: {cut(error, 160)}") from None
    for name in ("X", key):
        if name not in loaded:
            raise DataError(f"{shown(path)}: no array {quoted(name)}; it holds {few(held)}")
    if key == "X":
        raise DataError(f"{shown(path)}: data.response is 'X', which is the array of the features")
    return _columns(loaded["X"], ignore, path), loaded[key], []


def _read_npy(path: Path, response: str | None, ignore: tuple[str, ...]):
    if response is None:
        raise DataError(f"{shown(path)}: name the .npy file of the responses with data.response")
    return _columns(_load_npy(path), ignore, path), _load_npy(path.parent / response), []


def _load_npy(path: Path) -> np.ndarray:
    try:
        return read_npy(path, mapped=True)
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGES as error:
        raise DataError(f"{shown(path)}: damaged, or not an NPY file: {cut(error, 160)}") from None


def _columns(array: np.ndarray, ignore: tuple[str, ...], path: Path) -> np.ndarray:
    if ignore:
        raise DataError(f"{shown(path)}: arrays have no column names; leave out data.ignore")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{shown(path)}: features must be numbers, got {cut(array.dtype)}")
    return array


def _read_bed(path: Path, response: str | None, ignore: tuple[str, ...]):
    where = shown(path)
    try:
        from bed_reader import open_bed
    except ImportError:
        raise DataError(f"{where}: PLINK files need: pip install 'thesiskit[plink]'") from None
    if response is not None:
        raise DataError(f"{where}: the response is the phenotype in the .fam; drop data.response")
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
    except Exception as error:  # bed-reader raises errors of many kinds
        reason = [*str(error).splitlines(), type(error).__name__][0]
        raise DataError(f"{where}: cannot be read: {cut(reason, 160)}") from None
    names = name_columns(names, f"{where}: variants")
    keep = choose_features(names, None, ignore, where)
    missing = np.argwhere(genotypes[:, keep] < 0)
    if len(missing):
        case, feature = missing[0]
        raise DataError(
            f"{where}: {len(missing):,} genotypes are missing, first in case {case + 1}, "
            f"{cut(names[keep[feature]])}; impute them, or drop those variants (plink --geno 0)"
        )
    unknown = np.flatnonzero(np.isin(phenotype, ("0", "-9", "NA", "nan", "")))
    if len(unknown) and set(phenotype.tolist()) - {"0", "1"}:  # in a 0/1 coding, 0 is a class
        raise DataError(
            f"{where}: the phenotype is missing in case {unknown[0] + 1}; leave such cases out "
            "(plink --prune)"
        )
    if set(phenotype.tolist()) <= {"1", "2"}:  # PLINK's control and case
        phenotype = (phenotype == "2").astype(np.uint8)
    elif set(phenotype.tolist()) <= {"0", "1"}:
        phenotype = phenotype.astype(np.uint8)
    else:
        phenotype = typed(phenotype.tolist())
    return genotypes[:, keep], phenotype, [names[j] for j in keep]
