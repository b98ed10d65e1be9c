"""The user's own table: text, Parquet, NPZ, NPY (memory-mapped), PLINK .bed and AnnData."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from thesiskit.blocks import Text
from thesiskit.datasets.reading import binary_files, remarks
from thesiskit.datasets.reading.anndata_files import read_h5ad
from thesiskit.datasets.reading.cells import read_cells
from thesiskit.datasets.reading.classes import Positive, as_classes
from thesiskit.datasets.reading.columns import (
    Wanted,
    check_counter,
    check_ids,
    find_columns,
    need_response,
)
from thesiskit.datasets.reading.content import Content
from thesiskit.datasets.reading.delimiters import text_suffix
from thesiskit.datasets.reading.matrices import look_up, read_matrix, transposed_hint
from thesiskit.datasets.reading.numbers import Numbers, typed
from thesiskit.datasets.reading.text_files import opened, shown
from thesiskit.datasets.source import Source, Table
from thesiskit.errors import DataError, cut, quoted
from thesiskit.files import sha256

KINDS = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".npz", ".npy", ".bed", ".h5ad")


class FileData(Source):
    """The user's own table."""

    family: ClassVar = "table"

    source: Literal["file"]
    path: Text
    """The table, one case a row; relative to the folder of the config."""
    header: StrictBool = True
    """Whether the first line of a text table names the columns. Without such a line they are called
    `x1`, `x2` and so on."""
    response: Text | None = None
    """The column of the response; an array of an `.npz`; for an `.npy` table, a second `.npy` file;
    a column of `obs` of an `.h5ad`."""
    positive: StrictBool | StrictStr | StrictInt | StrictFloat | None = None
    """The value of the response that is class 1; not needed if the values are 0 and 1. A response
    with more values has a class for each (`model.kind: normal`)."""
    id: Text | None = None
    """The column that names the cases (of `.npz`, the array). It is no feature, and its values must
    differ. PLINK and AnnData files name the cases themselves."""
    ignore: list[Text] = []
    """Columns to leave out. A column without a name (`Unnamed: 0`), an index that pandas wrote, and
    a column that numbers the cases are refused, unless they are named here."""
    missing: list[Annotated[str, Field(strict=True)]] = []
    """Texts that stand for a missing value in a text table or in Parquet, besides empty cells,
    `NA`, `?` and the like. Naive Bayes leaves missing values out; the mixture model takes none."""
    orientation: Literal["cases-in-rows", "genes-in-rows"] = "cases-in-rows"
    """`genes-in-rows` is for a text table that has a feature in each row: first its name, then its
    value in each case. The first line names the cases. The response is the row that `data.response`
    names, or a column of `data.labels`."""
    labels: Text | None = None
    """A text table with the responses, where the table itself has none: `data.response` is one of
    its columns. Its cases are found by name, in the column that `data.id` names or in the first."""
    test_path: Text | None = None
    """A table of test cases with the same columns."""
    binarise: Literal["all-medians", "training-medians"] = "training-medians"
    """`training-medians`: a real feature becomes 1 where it exceeds its median over the training
    cases; `all-medians`: over all cases. A column with two values is split between them."""

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
        wanted = self._wanted
        if self.labels is not None:
            wanted = replace(wanted, labels=folder / self.labels)
        train = _table(folder / self.path, wanted, self.positive)
        if self.test_path is None:
            return [train]
        test = _table(folder / self.test_path, wanted, self.positive, known=train.classes)
        return [train, self._like(train, test)]

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
        if table.features.shape[1] != test.features.shape[1]:
            raise DataError(
                f"the training table has {table.features.shape[1]} features, {self.test_path} "
                f"{test.features.shape[1]}; make them the same"
            )
        told = [f"{cut(test.source)}: {one}" for one in remarks.cases_of_both(table.ids, test.ids)]
        test = replace(test, notes=[*test.notes, *told])
        if table.names == test.names:
            return test
        place = {name: j for j, name in enumerate(test.names)}
        order = [place[name] for name in table.names]
        return replace(test, features=test.features[:, order], names=table.names)

    def read_new(self, path: Path, like: Table) -> Table:
        """Return new cases with the features of the training table."""
        return read_new_table(path, like, self._wanted)

    @property
    def _wanted(self) -> Wanted:
        """What is to be read of a table, but for labels."""
        return Wanted(
            self.response,
            tuple(self.ignore),
            self.id,
            genes_in_rows=self.orientation == "genes-in-rows",
            header=self.header,
            missing=tuple(self.missing),
        )


def read_table(
    path: Path,
    response: str | None,
    *,
    positive: Positive = None,
    ignore: tuple[str, ...] = (),
    id: str | None = None,
) -> Table:
    """Read a table of cases.

    Parameters
    ----------
    path : features, one case per row.  Text (`.csv`, `.tsv`, `.tab`, `.txt`, also packed as `.gz`)
        and `.parquet` hold the response in a column; `.npz` in an array (features in `X`); `.npy`
        features are memory-mapped and the response is another `.npy`, beside it; `.bed` takes the
        phenotype of its `.fam`, `.h5ad` (AnnData) a column of `obs`.
    response : the column, NPZ key (default `y`) or NPY file.
    positive : the response that is class 1, of two values; without it two must be 0 and 1, and of
        three or more each is a class.
    ignore : columns to leave out.
    id : the column that names the cases.

    Raises
    ------
    DataError: what is wrong, where, and what to do.
    """
    return _table(Path(path), Wanted(response, ignore, id), positive)


def read_new_table(path: Path, like: Table, wanted: Wanted) -> Table:
    """Read cases without a response; the features are those of the table `like`, by name.

    Columns that `like` has not are left out, and so is a response; the notes say so.  The response
    of the table that is returned means nothing: it is 0 in all cases.

    Raises
    ------
    DataError: features that are not there; and as `read_table` does.
    """
    path = Path(path)
    ignore = wanted.ignore if like.names else ()
    features = list(like.names) or None
    found = _read(path, replace(wanted, ignore=ignore, labels=None, new=True, features=features))
    values = found.features
    _check_shape(values, shown(path))
    if values.shape[1] != like.features.shape[1]:
        raise DataError(
            f"{shown(path)}: it has {values.shape[1]:,} features, the training table "
            f"{like.features.shape[1]:,}; make them the same"
        )
    missing, told = _look_at(values, like.names, path, train=False)
    notes = [*found.notes, *told]
    if like.names and not found.names:
        notes.append(f"{shown(path)}: it names no features; taken in the training table's order")
    return Table(
        values,
        np.zeros(len(values), dtype=np.uint8),
        list(like.names),
        sha256(path),
        path.name,
        like.classes,
        found.ids,
        notes,
        missing,
    )


def _read(path: Path, wanted: Wanted) -> Content:
    """Return what a file of any kind holds."""
    readers: dict[str, Callable[[Path, Wanted], Content]] = {
        ".parquet": binary_files.read_parquet,
        ".npz": binary_files.read_npz_table,
        ".npy": binary_files.read_npy_table,
        ".bed": binary_files.read_bed,
        ".h5ad": read_h5ad,
    }
    reader = _read_text if text_suffix(path) else readers.get(path.suffix.lower())
    if wanted.genes_in_rows:
        reader = read_matrix
    if wanted.missing and reader not in (_read_text, read_matrix, binary_files.read_parquet):
        raise DataError(f"{shown(path)}: data.missing is for text and Parquet; leave it out")
    if not wanted.header and reader is not _read_text:
        what = "orientation: genes-in-rows" if wanted.genes_in_rows else "a file that is no text"
        raise DataError(f"{shown(path)}: data.header is not for {what}; leave it out")
    opened(path).close()
    if reader is None:
        hint = (
            "; save the sheet as .csv" if path.suffix.lower() in (".xlsx", ".xls", ".ods") else ""
        )
        raise DataError(
            f"{shown(path)}: cannot read {cut(path.suffix) or 'this'}; use {', '.join(KINDS)}, or "
            f"text packed as .gz{hint}"
        )
    return reader(path, wanted)


def _table(
    path: Path, wanted: Wanted, positive: Positive, *, known: tuple[str, ...] | None = None
) -> Table:
    """Return a table with its response as classes.

    known : the classes of the training table; only where the table is one of test cases.
    """
    where = shown(path)
    found = _read(path, wanted)
    features, names = found.features, found.names
    _check_shape(features, where)
    y = np.asarray(found.response if wanted.labels is None else look_up(found, wanted, where))
    if y.ndim != 1:
        raise DataError(f"{where}: the response must be a vector, got shape {y.shape}")
    if len(y) != len(features):
        raise DataError(f"{where}: {len(features)} rows of features but {len(y)} responses")
    missing, told = _look_at(features, names, path, train=known is None)
    if found.classes and len(known or ()) > 2:
        y = np.array(found.classes)[y]  # so that none is taken for the class of its code
    response, classes = as_classes(y, positive, where, known)
    if found.classes and positive is None and known is None:
        classes = found.classes
    # the response and the names can come from other files than the features
    digest = hashlib.sha256(sha256(path).encode() + response.tobytes() + repr(names).encode())
    return Table(
        features,
        response,
        names,
        digest.hexdigest(),
        path.name,
        classes,
        found.ids,
        [*found.notes, *told],
        missing,
    )


def _check_shape(features: np.ndarray, where: str) -> None:
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(f"{where}: no cases or no features; the table has shape {features.shape}")


def _look_at(
    features: np.ndarray, names: list[str], path: Path, *, train: bool
) -> tuple[int, list[str]]:
    """Return how many values are missing, and what there is to say about the values.

    Raises DataError for an infinite value, and for a column that numbers the cases.  A
    memory-mapped table is looked at when it is used.

    train : whether it is a training table; of others only what is missing is said.
    """
    where, name = shown(path), cut(path.name)  # notes are kept: they do not depend on folders
    for j, column in enumerate(names if train else ()):
        check_counter(column, features[:, j], where)
    if isinstance(features, np.memmap):
        return 0, []
    if features.dtype.kind != "f":
        return 0, [f"{name}: {one}" for one in _remarks(features, names, train)]
    odd = np.argwhere(np.isinf(features))
    if len(odd):
        case, column = odd[0]
        feature = cut(names[column]) if names else f"number {column + 1}"
        more = f" (and {len(odd) - 1:,} more)" if len(odd) > 1 else ""
        raise DataError(
            f"{where}: a value is infinite in case {case + 1}, feature {feature}{more}; "
            "mend it, or leave the case or the feature out"
        )
    missing = np.isnan(features)
    notes = remarks.missing_values(missing)
    return int(missing.sum()), [
        f"{name}: {one}" for one in notes + _remarks(features, names, train)
    ]


def _remarks(features: np.ndarray, names: list[str], train: bool) -> list[str]:
    """Return what there is to say about the numbers of a training table."""
    if not train:
        return []
    low, high = np.fmin.reduce(features, axis=0), np.fmax.reduce(features, axis=0)
    return [
        *remarks.constant_columns(np.flatnonzero(~(low < high)), names),
        *remarks.equal_rows(features),
        *remarks.naming_numbers(features, names),
        *remarks.counts(features),
    ]


def _read_text(path: Path, wanted: Wanted) -> Content:
    """Read numbers between delimiters."""
    where = shown(path)
    names, rows = read_cells(path, header=wanted.header)
    need_response(wanted, where)
    try:
        columns = find_columns(names, wanted, where)
    except DataError as error:
        raise DataError(f"{error}{transposed_hint(names, rows, wanted)}") from None
    numbers = Numbers([names[j] for j in columns.features], wanted.missing)
    labels, ids = [], []
    left_out = sorted(set(range(len(names))) - set(columns.features), reverse=True)
    few_out = len(left_out) < 9 and columns.features == sorted(columns.features)
    for line, cells in rows:
        if columns.response is not None:
            labels.append(cells[columns.response].strip())
        if columns.id is not None:
            ids.append(cells[columns.id].strip())
        if few_out:  # for a wide table this is quicker than taking all others
            for j in left_out:
                del cells[j]
        else:
            cells = [cells[j] for j in columns.features]
        numbers.add(cells, line)
    features = numbers.table(where)
    if columns.id is not None:
        ids = check_ids(ids, wanted.id or "", where)
    response = None if columns.response is None else typed(labels)
    return Content(features, response, numbers.names, ids, notes=columns.notes)
