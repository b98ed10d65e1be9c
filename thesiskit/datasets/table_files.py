"""The user's own tables: of numbers (`file`), and of discrete features (`table`).

Text is read here, other files in binary_files.py.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, field_validator

from thesiskit.blocks import Text, distinct
from thesiskit.datasets.binary_files import (
    NO_RESPONSE,
    RawTable,
    read_bed,
    read_frame,
    read_h5ad,
    read_npy_table,
    read_npz_table,
    read_parquet,
)
from thesiskit.datasets.reading import (
    DATE,
    REAL,
    USUAL,
    WHOLE,
    Numbers,
    Rows,
    Wanted,
    check_column,
    check_counter,
    check_ids,
    check_text,
    find_columns,
    name_columns,
    need_response,
    opened,
    read_cells,
    shown,
    text_suffix,
    typed,
)
from thesiskit.datasets.source import MISSING, UNSEEN, FeatureTable, Source, Table
from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError, cut, few, quoted
from thesiskit.files import sha256

READERS: dict[str, Callable[[Path, Wanted], Table]] = {
    ".parquet": read_parquet,
    ".npz": read_npz_table,
    ".npy": read_npy_table,
    ".bed": read_bed,
    ".h5ad": read_h5ad,
}
KINDS = (*USUAL, *READERS)
MISSING_TEXTS = ("", "NA", "?", "nan", "NaN")
NULL = "\0"  # of Parquet; no text has it
MOST_CLASSES = 20
MOST_REAL = 1e20  # of real responses
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
TITLES = 5  # lines that may come before the names
TALL = 3  # times as many rows as columns, and a table is perhaps transposed

LEAST = 10  # cases, from which on distinct values are remarkable
LOOKED_AT = 1 << 26  # bytes of a table whose rows are compared
NAMING = re.compile(r"(.*[ _.-])?(id|ids|nr|no|number|idx|index|uuid|barcode)", re.IGNORECASE)
MANY = 1000  # a count that is reached where the range of counts is large
RANGE = 10  # times the smallest count of a feature, in half of the features at least
DAYS = (19000101, 21001231)  # dates as numbers, such as 20240131
DROP = "data.ignore leaves it out, data.id makes it the names of the cases"

Positive = str | float | bool | None  # the response that is class 1


# ---- tables of numbers ----


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

    def _keys(self) -> dict[str, Any]:
        """Return what is to be read of a table besides the response, but for labels."""
        keys = {"ignore": tuple(self.ignore), "missing": tuple(self.missing), "id": self.id}
        turned = self.orientation == "genes-in-rows"
        return keys | {"genes_in_rows": turned, "header": self.header}

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:
        keys = self._keys() | {"positive": self.positive}
        if self.labels is not None:
            keys["labels"] = folder / self.labels
        train = read_table(folder / self.path, self.response, **keys)
        if self.test_path is None:
            return [train]
        keys["known"] = train.classes
        return [
            train,
            self._like(train, read_table(folder / self.test_path, self.response, **keys)),
        ]

    def _like(self, table: Table, test: Table) -> Table:
        """Return the test table with its columns in the order of the training table."""
        known, held = set(table.names), set(test.names)
        if known != held:
            name = min(known - held, default=None) or min(held - known)
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
        remarks = cases_of_both(table.ids, test.ids)
        test = replace(
            test, notes=[*test.notes, *(f"{cut(test.source)}: {remark}" for remark in remarks)]
        )
        if table.names == test.names:
            return test
        place = {name: j for j, name in enumerate(test.names)}
        order = [place[name] for name in table.names]
        return replace(test, features=test.features[:, order], names=table.names)

    def read_new(self, path: Path, like: Table) -> Table:
        """Return new cases with the features of the training table."""
        where = shown(path)
        keys = self._keys() | {"new": True, "features": list(like.names) or None}
        if not like.names:
            keys["ignore"] = ()
        table = _read(path, Wanted(self.response, **keys))
        width, named = table.features.shape[1], table.names
        if width != like.features.shape[1]:
            raise DataError(
                f"{where}: it has {width:,} features, the training table "
                f"{like.features.shape[1]:,}; make them the same"
            )
        table = _looked_at(replace(table, names=list(like.names)), path, train=False)
        notes = table.notes
        if like.names and not named:
            notes = [*notes, f"{where}: it names no features; taken in the training table's order"]
        none = np.zeros(len(table.features), dtype=np.uint8)
        return replace(table, response=none, digest=sha256(path), classes=like.classes, notes=notes)


def read_table(
    path: Path,
    response: str | None,
    *,
    positive: Positive = None,
    known: tuple[str, ...] | None = None,
    **keys: Any,
) -> Table:
    """Read a table of cases, with the response as classes.

    Parameters
    ----------
    path : features, one case per row.  Text (`.csv`, `.tsv`, `.tab`, `.txt`, also packed as `.gz`)
        and `.parquet` hold the response in a column; `.npz` in an array (features in `X`); `.npy`
        features are memory-mapped and the response is another `.npy`, beside it; `.bed` takes the
        phenotype of its `.fam`, `.h5ad` (AnnData) a column of `obs`.
    response : the column, NPZ key (default `y`) or NPY file.
    positive : the response that is class 1, of two values; without it two must be 0 and 1, and of
        three or more each is a class.
    known : the classes of the training table; only where the table is one of test cases.
    keys : others of `Wanted`.

    Raises
    ------
    DataError: what is wrong, where, and what to do.
    """
    wanted = Wanted(response, **keys)
    where = shown(path)
    table = _read(path, wanted)
    y = np.asarray(table.response if wanted.labels is None else _look_up(table, wanted, where))
    if y.ndim != 1:
        raise DataError(f"{where}: the response must be a vector, got shape {y.shape}")
    if len(y) != len(table.features):
        raise DataError(f"{where}: {len(table.features)} rows of features but {len(y)} responses")
    table = _looked_at(table, path, train=known is None)
    if table.classes and len(known or ()) > 2:
        y = np.array(table.classes)[y]  # so that none is taken for the class of its code
    codes, classes = as_classes(y, positive, where, known)
    if table.classes and positive is None and known is None:
        classes = table.classes
    # the response and the names can come from other files than the features
    content = sha256(path).encode() + codes.tobytes() + repr(table.names).encode()
    digest = hashlib.sha256(content).hexdigest()
    return replace(table, response=codes, digest=digest, classes=classes)


def _read(path: Path, wanted: Wanted) -> Table:
    """Return what a file of any kind holds."""
    where = shown(path)
    reader = _read_text if text_suffix(path) else READERS.get(path.suffix.lower())
    if wanted.genes_in_rows:
        reader = _read_matrix
    if wanted.missing and reader not in (_read_text, _read_matrix, read_parquet):
        raise DataError(f"{where}: data.missing is for text and Parquet; leave it out")
    if not wanted.header and reader is not _read_text:
        what = "orientation: genes-in-rows" if wanted.genes_in_rows else "a file that is no text"
        raise DataError(f"{where}: data.header is not for {what}; leave it out")
    opened(path).close()
    if reader is None:
        hint = (
            "; save the sheet as .csv" if path.suffix.lower() in (".xlsx", ".xls", ".ods") else ""
        )
        raise DataError(
            f"{where}: cannot read {cut(path.suffix) or 'this'}; use {', '.join(KINDS)}, or "
            f"text packed as .gz{hint}"
        )
    table = reader(path, wanted)
    if table.features.ndim != 2 or 0 in table.features.shape:
        shape = table.features.shape
        raise DataError(f"{where}: no cases or no features; the table has shape {shape}")
    return table


def _looked_at(table: Table, path: Path, *, train: bool) -> Table:
    """Return a table with what there is to say about its values, and how many are missing.

    Raises DataError for an infinite value, and for a column that numbers the cases.  A
    memory-mapped table is looked at when it is used.

    train : whether it is a training table; of others only what is missing is said.
    """
    where, X, names = shown(path), table.features, table.names
    for j, column in enumerate(names if train else ()):
        check_counter(column, X[:, j], where)
    if isinstance(X, np.memmap):
        return replace(table, source=path.name)
    count, told = 0, []
    if X.dtype.kind == "f":
        odd = np.argwhere(np.isinf(X))
        if len(odd):
            case, place = odd[0]
            feature = cut(names[place]) if names else f"number {place + 1}"
            more = f" (and {len(odd) - 1:,} more)" if len(odd) > 1 else ""
            raise DataError(
                f"{where}: a value is infinite in case {case + 1}, feature {feature}{more}; "
                "mend it, or leave the case or the feature out"
            )
        missing = np.isnan(X)
        count, told = int(missing.sum()), missing_values(missing)
    if train:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        told += constant_columns(np.flatnonzero(~(low < high)), names)
        told += [*equal_rows(X), *naming_numbers(X, names), *counts(X, low, high)]
    # notes are kept: they do not depend on folders
    notes = [*table.notes, *(f"{cut(path.name)}: {remark}" for remark in told)]
    return replace(table, source=path.name, notes=notes, missing=count)


def _read_text(path: Path, wanted: Wanted) -> Table:
    """Read numbers between delimiters."""
    where = shown(path)
    names, rows = read_cells(path, header=wanted.header)
    need_response(wanted, where)
    try:
        columns = find_columns(names, wanted, where)
    except DataError as error:
        raise DataError(f"{error}{_transposed_hint(names, rows, wanted)}") from None
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
        check_ids(ids, wanted.id or "", where)
    response = NO_RESPONSE if columns.response is None else typed(labels)
    return RawTable(features, response, numbers.names, ids=ids, notes=columns.notes)


def _transposed_hint(names: list[str], rows: Rows, wanted: Wanted) -> str:
    """Say so where a table without the columns that are wanted seems to have genes in rows.

    Or where the line of names seems to come later.
    """
    first: list[str] = []
    try:
        for line, cells in rows:
            if len(first) < TITLES and wanted.response in [cell.strip() for cell in cells[1:]]:
                return f"; line {line} has it: take the lines before it out, if it has the names"
            first.append(cells[0].strip())
    except DataError as error:
        fault = str(error).partition(": ")[2]
        return f"; besides, {fault}" if "write.table" in fault else ""
    if wanted.new:
        hint = "; the training table has cases in rows, and this has not: transpose it"
        return hint if set(wanted.features or ()) & set(first) else ""
    remedy = "data.orientation: genes-in-rows reads a table with a gene in each row"
    if wanted.response not in names and wanted.response in first:
        return f"; a row is called so: {remedy}"
    differ = len(set(first)) == len(first) >= TALL * len(names)
    if not (differ and all(isinstance(name, str) for name in typed(first))):
        return ""
    return (
        f"; it has {len(first):,} named rows and {len(names):,} columns: {remedy}, "
        "data.labels names a table of responses"
    )


def _read_matrix(path: Path, wanted: Wanted) -> Table:
    """Read a text table with a feature in each row: its name, then its value in each case.

    The first line names the cases.  The response is a row, unless a table of labels has it.
    """
    where = shown(path)
    if not text_suffix(path):
        raise DataError(
            f"{where}: data.orientation: genes-in-rows is for text, such as .csv and .tsv; write "
            "this with cases in rows"
        )
    need_response(wanted, where)
    header, rows = read_cells(path, corner=True)
    ids = check_ids([name.strip() for name in header[1:]], "the first line", where)
    others = {wanted.own_response, *wanted.ignore}
    features = None if wanted.features is None else set(wanted.features)
    numbers, labels = Numbers(ids, wanted.missing), None
    names: list[str] = []
    kept: list[int] = []  # places of the rows that are numbers
    for line, cells in rows:
        name = cells[0].strip()
        if name not in others if features is None else name in features:
            kept.append(len(names))
            numbers.add(cells[1:], line)
        elif name == wanted.own_response:
            labels = [cell.strip() for cell in cells[1:]]
        names.append(name)
    names = name_columns(names, where, "row")
    if not wanted.new and wanted.own_response is not None and labels is None:
        raise DataError(
            f"{where}: no row is called {quoted(wanted.response)}; if another table has the "
            "responses, name it with data.labels"
        )
    try:
        columns = find_columns(names, replace(wanted, id=None), where)
    except DataError as error:
        turned = wanted.new and set(wanted.features or ()) & set(ids)
        hint = "; the training table has genes in rows, and this has cases: transpose it"
        raise DataError(f"{error}{hint if turned else ''}") from None
    row = np.empty(len(names), dtype=np.intp)
    row[kept] = np.arange(len(kept))
    values = np.ascontiguousarray(numbers.table(where)[row[columns.features]].T)
    response = NO_RESPONSE if labels is None or wanted.new else typed(labels)
    names = [names[j] for j in columns.features]
    return RawTable(values, response, names, ids=ids, notes=columns.notes)


def _look_up(table: Table, wanted: Wanted, where: str) -> np.ndarray:
    """Return the responses of cases, which a table of labels has by their names.

    Raises
    ------
    DataError: cases without names, or that the labels do not have; columns that are not there.
    """
    assert wanted.labels is not None
    labels = shown(wanted.labels)
    if not table.ids:
        raise DataError(
            f"{where}: data.labels are found by the names of the cases; say with data.id which "
            "column has them"
        )
    if wanted.response is None:
        raise DataError(f"{labels}: say which column is the response with data.response")
    names, rows = read_cells(wanted.labels)
    check_column(wanted.response, names, labels)
    name = wanted.id if wanted.id in names else names[0]
    if name == wanted.response:
        raise DataError(
            f"{labels}: column {quoted(name)} would be the names of the cases and the response; "
            "say with data.id which column has the names"
        )
    place, response = names.index(name), names.index(wanted.response)
    cells = [(row[place].strip(), row[response].strip()) for _, row in rows]
    check_ids([case for case, _ in cells], name, labels)
    known = dict(cells)
    lacking = [case for case in table.ids if case not in known]
    if lacking:
        raise DataError(
            f"{labels}: column {quoted(name)} lacks {len(lacking):,} of the {len(table.ids):,} "
            f"cases of {cut(where)}: {few(lacking)}; add them, or leave these cases out"
        )
    return typed([known[case] for case in table.ids])


# ---- the response of a table of numbers as classes ----


def as_classes(
    y: np.ndarray, positive: Positive, where: str, known: tuple[str, ...] | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the response as codes from 0, and the names of the classes.

    0 and 1 are two classes, and so is `positive` beside another value.  Of three values or more
    each is a class, numbers in their order, then words in theirs.

    known : the classes of the training table, to code test cases as its cases are coded.
    """
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    missing = np.flatnonzero(pd.isna(y))
    if len(missing):
        raise DataError(
            f"{where}: the response is missing in case {missing[0] + 1}; leave such cases out"
        )
    told = []  # the values as messages say them: a text that looks like a number as text
    for value in y.tolist():
        if isinstance(value, Real):
            told.append(str(value))
        elif isinstance(value, str):
            told.append(f"the text {value!r}" if REAL.fullmatch(value) else value)
        else:
            told.append(f"{type(value).__name__} {value}")
    held = dict(zip(told, y.tolist(), strict=True))
    numbers: dict[str, Any] = {
        text: value for text, value in held.items() if isinstance(value, Real)
    }
    two = known is None or len(known) == 2
    if positive is None and two and len(numbers) == len(held) and {*numbers.values()} <= {0, 1}:
        truth = all(value is True or value is False for value in numbers.values())
        bits = ("False", "True") if truth else ("0", "1")
        return y.astype(float).astype(np.uint8), known or bits
    # 1.0 is 1
    whole = [text for text in numbers if text not in ("True", "False") and numbers[text] % 1 == 0]
    label = {text: str(value) for text, value in held.items()}
    label |= {text: str(int(numbers[text])) for text in whole}
    names: tuple[str, ...] = known or ()
    if positive is not None:
        own = [text for text, value in held.items() if value == positive or
               str(value).lower() == str(positive).lower()]  # fmt: skip
        if not own:
            raise DataError(
                f"{where}: no response is {quoted(positive)} (data.positive); found "
                f"{few(sorted(held))}"
            )
        if len(held) > 2:
            raise DataError(
                f"{where}: the response has {len(held):,} values ({few(sorted(held))}), and "
                "data.positive is for two; leave other cases out, or leave out data.positive: each "
                "value is then a class, for model.kind: normal"
            )
        other = next((label[text] for text in held if text not in own), f"not {label[own[0]]}")
        ours = (other, known[1] if known else label[own[0]])
        names = known or ours
        label = {text: ours[text in own] for text in held}
    elif known is None:
        places = {text: (np.inf, str(value)) for text, value in held.items()}
        places |= {text: (float(value), "") for text, value in numbers.items()}
        names = _each_a_class(places, label, len(y), where)
    for text in held if positive is not None or known is None else ():
        check_text(text, f"{where}: a response", "write it in other words")
    alien = [text for text in held if label[text] not in names]
    if alien:
        raise DataError(
            f"{where} has the response {few(alien[:1])}, which no training case has "
            f"({few(names)}); leave such cases out"
        )
    code = {text: names.index(label[text]) for text in held}
    return np.array([code[text] for text in told], dtype=np.uint8), names


def _each_a_class(
    places: dict[str, tuple[float, str]], label: dict[str, str], cases: int, where: str
) -> tuple[str, ...]:
    """Return the names of the classes where each response is one, in the order of their places."""
    found, count = few(sorted(places)), len(places)
    if count <= 2:
        raise DataError(
            f"{where}: the response must be 0 and 1, found {found}; "
            "say which value is class 1 with data.positive"
        )
    if count > min(MOST_CLASSES, cases // 2):
        limit = f"too many classes for {cases:,} cases"
        if count > MOST_CLASSES:
            limit = f"at most {MOST_CLASSES} can be classes"
        raise DataError(
            f"{where}: the response has {count:,} values ({found}), {limit}; if it is "
            "a number to predict, use data.source: table with model.kind: logistic and "
            "model.response: gaussian"
        )
    names = tuple(label[text] for text in sorted(places, key=places.__getitem__))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"{where}: the response {quoted(twice)} is a number in some cases and a text in "
            "others; write it in one way"
        )
    return names


# ---- tables of discrete features ----


class TableData(Source):
    """The user's own table of discrete features."""

    family: ClassVar = "features"
    real: ClassVar = True

    source: Literal["table"]
    path: Text
    """The table, one case a row under a line of names; relative to the folder of the config. A
    feature may have up to 255 values; real numbers are refused."""
    header: StrictBool = True
    """Whether the first line of a text table names the columns. Without such a line they are called
    `x1`, `x2` and so on."""
    test_path: Text | None = None
    """A table of test cases with the same columns."""
    response: Text
    """The column to predict."""
    id: Text | None = None
    """The column that names the cases. It is no feature, and its values must differ."""
    ignore: list[Text] = []
    """Columns to leave out."""
    missing: list[Annotated[str, Field(strict=True)]] = list(MISSING_TEXTS)
    """The texts that stand for a missing value. A pattern that fixes a missing value is not present
    in the case."""

    @field_validator("ignore", "missing")
    @classmethod
    def _each_once(cls, value):
        return distinct(value)

    def _keys(self) -> dict[str, Any]:
        keys = {"ignore": tuple(self.ignore), "missing": tuple(self.missing)}
        return keys | {"id": self.id, "header": self.header}

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        keys: dict[str, Any] = self._keys() | {"continuous": continuous}
        train = read_features(folder / self.path, self.response, **keys)
        if self.test_path is None:
            return [train]
        return [train, read_features(folder / self.test_path, self.response, like=train, **keys)]

    def read_new(self, path: Path, like: FeatureTable) -> FeatureTable:
        """Return new cases with the features and values of the training table."""
        where = shown(path)
        wanted = Wanted(self.response, new=True, features=like.features, **self._keys())
        cells = _read_cells(path, wanted)
        X = _coded_columns(cells, like.features, wanted.missing, like, where)[1]
        notes = [*cells.notes, *(f"{where}: {remark}" for remark in _unseen(cells, X, like))]
        none = np.zeros(len(X), dtype=like.response.dtype)
        return replace(like, X=X, response=none, source=path.name, ids=cells.ids, notes=notes)


def read_features(
    path: Path,
    response: str,
    *,
    missing: tuple[str, ...] = MISSING_TEXTS,
    like: FeatureTable | None = None,
    continuous: bool = False,
    **keys: Any,
) -> FeatureTable:
    """Read a table of discrete features, one case per line under a line of names.

    Parameters
    ----------
    path : text (`.csv`, `.tsv`, `.tab`, `.txt`, also packed as `.gz`; UTF-8), or `.parquet`.
    response : the column of the classes.
    missing : what stands for a missing value; a column may have nothing else.
    like : the training table, whose features (in any order), values and classes count; other
        values are UNSEEN.
    continuous : the responses are real numbers, not classes.
    keys : others of `Wanted`.

    Returns
    -------
    FeatureTable, codes in the order of the numbers where all values of a column are whole numbers
    (1.0 is 1), otherwise of the alphabet.

    Raises
    ------
    DataError: what is wrong, in which line or column, and what to do.
    """
    path = Path(path)
    where = shown(path)
    cells = _read_cells(path, Wanted(response, **keys))
    features = cells.features
    if like:
        for name in like.features:
            check_column(name, features, where)
        extra = [name for name in features if name not in like.features]
        if extra:
            raise DataError(
                f"{where}: the training table has no feature {few(extra)}; data.ignore it"
            )
        features = like.features
    values, X = _coded_columns(cells, features, missing, like, where)
    classes, y = _responses(cells, response, missing, where, continuous, like)
    told = missing_values(X == MISSING)
    if like is None:
        told += constant_columns([j for j, held in enumerate(values) if len(held) < 2], features)
        told += equal_rows(X)
        told += naming_texts((name, cells.columns[name]) for name in features)
    else:
        told += _unseen(cells, X, like)
        told += cases_of_both(like.ids, cells.ids)
    notes = [*cells.notes, *(f"{cut(path.name)}: {remark}" for remark in told)]
    return FeatureTable(X, y, list(features), values, classes, path.name, cells.ids, notes)


def _responses(
    cells: "Cells",
    response: str,
    missing: tuple[str, ...],
    where: str,
    continuous: bool,
    like: FeatureTable | None,
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of the classes and the class of each case; or none, and real numbers."""
    where = f"{where}: the response {quoted(response)}"
    labels = cells.columns[response]
    cases = list(zip(labels, cells.places, strict=True))
    for label, place in cases:
        if label in missing or label == NULL:
            said = "" if label == NULL else f" ({quoted(label)})"
            raise DataError(f"{where} is missing in {place}{said}; leave such cases out")
    if continuous:
        for label, place in cases:
            if not (REAL.fullmatch(label) and abs(float(label)) <= MOST_REAL):
                raise DataError(
                    f"{where} is {quoted(label)} in {place}, which is no number within "
                    f"{MOST_REAL:g}; mend it, or leave such cases out"
                )
        y = np.array(labels, dtype=float)
        if like is None and y.min() == y.max():
            raise DataError(
                f"{where} is {cut(labels[0])} in all cases; there is nothing to predict"
            )
        return [], y
    hint = "; if it is a number to predict, model.response: gaussian takes it as it is"
    classes, codes = encode(labels, (), like.classes if like else None, where, hint)
    for code, (label, place) in zip(codes, cases, strict=True):
        if code == UNSEEN:
            raise DataError(
                f"{where} is {quoted(label)} in {place}, which no training case has "
                f"({few(classes)}); leave such cases out, or train with some"
            )
    if len(classes) < 2:
        raise DataError(f"{where} is {quoted(classes[0])} in all cases; two classes are needed")
    return classes, codes.astype(np.int32)


def _unseen(cells: "Cells", X: np.ndarray, like: FeatureTable) -> list[str]:
    """Say which values no training case has."""
    odd = np.flatnonzero((X == UNSEEN).any(axis=0))
    if not len(odd):
        return []
    told = []
    for j in odd[:3]:
        column = np.array(cells.columns[like.features[j]], dtype=object)
        values = list(dict.fromkeys(column[X[:, j] == UNSEEN]))
        told.append(f"{quoted(like.features[j], 30)} is {few(values, 3)}")
    more = f", and so in {len(odd) - 3:,} other features" if len(odd) > 3 else ""
    cases = int((X == UNSEEN).any(axis=1).sum())
    return [
        f"values that no training case has, in {cases:,} "
        f"case{'s' * (cases != 1)}: {'; '.join(told)}{more}"
    ]


class Cells(NamedTuple):
    """The cells of a table as text.

    features : names of the features.
    columns : the cells of the features and of the response, by name.
    places : where each case is, such as "line 3".
    """

    features: list[str]
    columns: dict[str, tuple[str, ...]]
    places: list[str]
    ids: list[str]
    notes: list[str]


def _coded_columns(
    cells: Cells,
    features: list[str],
    missing: tuple[str, ...],
    like: FeatureTable | None,
    where: str,
) -> tuple[list[list[str]], np.ndarray]:
    """Return the values of each feature, those of `like` if given, and codes (n, p)."""
    coded = []
    for j, name in enumerate(features):
        if like is None:
            check_counter(name, cells.columns[name], where)
        values, what = like.values[j] if like else None, f"{where}: column {quoted(name)}"
        coded.append(encode(cells.columns[name], (*missing, NULL), values, what))
    return [values for values, _ in coded], np.column_stack([codes for _, codes in coded])


def _read_cells(path: Path, wanted: Wanted) -> Cells:
    where = shown(path)
    parquet = path.suffix.lower() == ".parquet"
    if not (parquet or text_suffix(path)):
        raise DataError(
            f"{where}: cannot read {cut(path.suffix) or 'this'}; use {', '.join(USUAL)} (also as "
            ".gz) or .parquet"
        )
    if parquet:
        frame, columns = read_frame(path, wanted)
        names = list(frame.columns)
        places = [f"row {row:,}" for row in range(1, len(frame) + 1)]
    else:
        names, rows = read_cells(path, header=wanted.header)
        need_response(wanted, where)
        columns = find_columns(names, wanted, where)
        lines, cases = zip(*rows, strict=True)
        places = [f"line {line}" for line in lines]
    held: dict[int, tuple[str, ...]] = {}
    for j in (*columns.features, columns.response, columns.id):
        if j is not None:
            column = frame.iloc[:, j].tolist() if parquet else [row[j] for row in cases]
            held[j] = tuple(NULL if cell is None or cell != cell else str(cell).strip()
                            for cell in column)  # fmt: skip
    ids = [] if columns.id is None else check_ids(held[columns.id], names[columns.id], where)
    by_name = {names[j]: column for j, column in held.items()}
    return Cells([names[j] for j in columns.features], by_name, places, ids, columns.notes)


def encode(
    labels: tuple[str, ...],
    missing: tuple[str, ...],
    known: list[str] | None,
    where: str,
    hint: str = "",
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of a column, the known ones if given, and its int16 codes."""
    held = set(labels) - set(missing)
    whole = all(WHOLE.fullmatch(label) for label in (held if known is None else known))
    symbol = {
        label: str(int(match[1])) if whole and (match := WHOLE.fullmatch(label)) else label
        for label in held
    }
    if known is None:
        if not whole and all(REAL.fullmatch(label) for label in held):
            odd = (label for label in labels if label in held and not WHOLE.fullmatch(label))
            example = next(odd)
            if example.lstrip("+-").isdigit():
                raise DataError(
                    f"{where} has a whole number of {len(example)} digits ({cut(example)}), more "
                    "than 18; if it names something, put a letter before it"
                )
            raise DataError(
                f"{where} has real values ({cut(example)}); cut it into intervals, for example "
                f"with scikit-learn's KBinsDiscretizer{hint}"
            )
        if held and all(DECIMAL_COMMA.fullmatch(label) for label in held):
            example = next(label for label in labels if label in held)
            raise DataError(
                f"{where} has numbers with a decimal comma ({example}); write them with a "
                f"decimal point{hint}"
            )
        for label in held:
            check_text(label, f"{where}: a value", "write it in other words")
        known = sorted(set(symbol.values()), key=int if whole else str)
        if len(known) > MOST_VALUES:
            raise DataError(
                f"{where} has {len(known)} values, at most {MOST_VALUES} are possible; join some, "
                f"or leave it out{hint}"
            )
    number = {value: code for code, value in enumerate(known)}
    code = {label: number.get(symbol[label], UNSEEN) for label in held}
    return list(known), np.array([code.get(label, MISSING) for label in labels], dtype=np.int16)


# ---- what a user should know about a table: remarks, a line each, which change nothing ----


def missing_values(missing: np.ndarray) -> list[str]:
    """Say how many values are missing, of cases with features (n, p)."""
    (n, p), count = missing.shape, missing.sum()
    if not count:
        return []
    features, cases = missing.any(axis=0).sum(), missing.any(axis=1).sum()
    return [
        f"{count:,} value{'s are' if count > 1 else ' is'} missing ({missing.mean():.1%}), in "
        f"{features:,} of {p:,} features and {cases:,} of {n:,} cases"
    ]


def constant_columns(which: Iterable[int], names: Sequence[str]) -> list[str]:
    """Say which columns have one value, or none; they say nothing, and do no harm."""
    flat = [names[j] if len(names) else f"number {j + 1}" for j in which]
    columns = "1 column does" if len(flat) == 1 else f"{len(flat):,} columns do"
    return [f"{columns} not vary, and so can predict nothing: {few(flat)}"] if flat else []


def equal_rows(table: np.ndarray) -> list[str]:
    """Say how many cases have the features of a case before them."""
    if table.nbytes > LOOKED_AT:
        return []
    seen: dict[bytes, int] = {}
    again: list[tuple[int, int]] = []
    for number, row in enumerate(np.ascontiguousarray(table), start=1):
        first = seen.setdefault(row.tobytes(), number)
        if first != number:
            again.append((first, number))
    if not again:
        return []
    cases = "1 case has" if len(again) == 1 else f"{len(again):,} cases have"
    return [
        f"{cases} the features of another case, such as cases {again[0][0]:,} and "
        f"{again[0][1]:,}; if they are copies, predictions of one know the other"
    ]


def cases_of_both(train: Sequence[str], test: Sequence[str]) -> list[str]:
    """Say which test cases have the name of a training case."""
    known = set(train)
    both = [name for name in test if name in known]
    if not both:
        return []
    cases = "1 test case has" if len(both) == 1 else f"{len(both):,} test cases have"
    return [
        f"{cases} the name of a training case: {few(both)}; if they are the same, predictions of "
        "them say little"
    ]


def naming_numbers(table: np.ndarray, names: Sequence[str]) -> list[str]:
    """Say which columns of numbers seem to name the cases, or to be dates."""
    if len(table) < LEAST or table.nbytes > LOOKED_AT:
        return []
    notes = []
    whole = np.ones(table.shape[1], dtype=bool)
    if table.dtype.kind == "f":
        whole = (table == np.floor(table)).all(axis=0)  # not where a value is missing
    for j in np.flatnonzero(whole).tolist():
        column, name = table[:, j].astype(float), names[j] if len(names) else f"number {j + 1}"
        month, day = column // 100 % 100, column % 100
        dates = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        if column.min() >= DAYS[0] and column.max() <= DAYS[1] and dates.all():
            notes.append(f"column {quoted(name)} looks like dates ({column[0]:.0f}); {DROP}")
        elif len(np.unique(column)) == len(column) and (
            NAMING.fullmatch(name) or (np.diff(column) == 1).all()
        ):
            notes.append(f"column {quoted(name)} looks like numbers of the cases; {DROP}")
    return _some(notes)


def counts(table: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[str]:
    """Say that numbers seem to be counts of a large range, which few large ones would rule.

    low, high : (p,) the smallest and the largest number of each feature.
    """
    if table.nbytes > LOOKED_AT or (low < 0).any() or not (high >= MANY).any():
        return []
    wide = RANGE * low.astype(float) <= high
    if 2 * wide.sum() < len(wide) or ((table != np.floor(table)) & (table == table)).any():
        return []
    return [
        f"whole numbers up to {np.nanmax(high):,.0f} and none below 0, as counts are; the normal "
        "model fits their logarithms, log2(x + 1), better"
    ]


def naming_texts(columns: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Say which columns of text seem to name the cases, or to be dates: name, and cells."""
    notes = []
    for name, cells in columns:
        values = set(cells)
        if len(cells) < LEAST or len(values) < 3:
            continue
        if all(DATE.fullmatch(value) for value in values):
            notes.append(f"column {quoted(name)} looks like dates ({min(values)}); {DROP}")
        elif len(values) == len(cells):
            notes.append(f"column {quoted(name)} differs in all cases, as names do; {DROP}")
    return _some(notes)


def _some(notes: list[str], most: int = 3) -> list[str]:
    more = len(notes) - most
    return notes if more <= 0 else [*notes[:most], f"{more:,} more columns look like these"]
