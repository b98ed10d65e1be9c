"""The user's own tables of numbers: text, Parquet and AnnData.

Each reader returns a `Table` whose response is as the file has it: values of any kind, and none of
new cases.
"""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from thesiskit.blocks import CaseGroups, Decimal, Text, Thousands, Transforms
from thesiskit.datasets import reading
from thesiskit.datasets.reading import REAL, Columns, Numbers, Rows, Wanted, shown
from thesiskit.datasets.source import Source, Table
from thesiskit.defaults import NO_TRANSFORM
from thesiskit.errors import DataError, counted, cut, few, memory_text, quoted
from thesiskit.files import BOMB_TIMES, sha256

SPREADSHEETS = (".xlsx", ".xls", ".ods")
KINDS = (*reading.USUAL, ".parquet", ".h5ad")
ARRAYS = (".npz", ".npy")
REMOVED = (
    "tables and sequences in .npz and .npy were removed\nFix: save it as Parquet, for example by "
    "pandas.DataFrame(X).add_prefix('x').assign(y=y).to_parquet('table.parquet')"
)
MOST_CLASSES = 20
TITLES = 5  # lines that may come before the names
TALL = 3  # times as many rows as columns, and a table is perhaps transposed

NO_RESPONSE = np.empty(0)
RawTable = partial(Table, classes=())
LARGEST = 8e9  # bytes of a sparse matrix whose zeros are written out
REMEDY = "write it again with anndata"

Positive = str | float | bool | None  # the response that is class 1


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
    """The column of the response; of an `.h5ad`, a column of `obs`."""
    positive: StrictBool | StrictStr | StrictInt | StrictFloat | None = None
    """The value of the response that is class 1; not needed if the values are 0 and 1. A response
    with more values has a class for each (`model.kind: normal`)."""
    id: Text | None = None
    """The column that names the cases. It is no feature, and its values must differ. AnnData files
    name the cases themselves."""
    ignore: list[Text] = []
    """Columns to leave out. A column without a name (`Unnamed: 0`), an index that pandas wrote, and
    a column that numbers the cases are refused, unless they are named here."""
    case_groups: CaseGroups = None
    missing: list[Annotated[str, Field(strict=True)]] = []
    """Texts that stand for a missing value in a text table or in Parquet, besides empty cells,
    `NA`, `?` and the like. Naive Bayes leaves missing values out; the mixture model takes none."""
    decimal: Decimal = "."
    thousands: Thousands = None
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

    transform: Transforms = [NO_TRANSFORM]

    _differ = model_validator(mode="after")(reading.check_keys)

    @property
    def _keys(self) -> dict[str, Any]:
        """What is to be read of a table besides the response, but for labels."""
        # labels and obs are no features anyway
        inside = self.labels is None and not self.path.endswith(".h5ad")
        return {
            "ignore": tuple(reading.left_out(self.ignore, self.case_groups if inside else None)),
            "id": self.id,
            "genes_in_rows": self.orientation == "genes-in-rows",
            "header": self.header,
            "missing": tuple(self.missing),
            "decimal": self.decimal,
            "thousands": self.thousands,
        }

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:
        keys = self._keys | {"positive": self.positive}
        keys["labels"] = None if self.labels is None else folder / self.labels
        train = read_table(folder / self.path, self.response, **keys)
        if self.test_path is None:
            return [reading.grouped(train, self.case_groups, self.path)]
        keys |= {"known": train.classes, "coding": train.coding}
        test = read_table(folder / self.test_path, self.response, **keys)
        tables = (train, self.path), (self._like(train, test), self.test_path)
        return [reading.grouped(one, self.case_groups, where) for one, where in tables]

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
        both = reading.cases_of_both(table.ids, test.ids)
        test = replace(test, notes=[*test.notes, *(f"{cut(test.source)}: {one}" for one in both)])
        if table.names == test.names:
            return test
        place = {name: j for j, name in enumerate(test.names)}
        order = [place[name] for name in table.names]
        return replace(test, features=test.features[:, order], names=table.names)

    def read_new(self, path: Path, like: Table) -> Table:
        """Return new cases with the features of the training table."""
        keys = self._keys | {"new": True, "features": like.in_file or None, "coding": like.coding}
        table = _read(path, Wanted(self.response, gaps=True, **keys))
        table = _looked_at(table, path, train=False)
        notes = table.notes
        if table.lacking:
            place = {name: j for j, name in enumerate(table.names)}
            gap = np.full(len(table.features), np.nan)
            columns = [table.features[:, place[name]] if name in place else gap
                       for name in like.names]  # fmt: skip
            table = replace(table, features=np.column_stack(columns), names=list(like.names))
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
        and `.parquet` hold the response in a column, `.h5ad` (AnnData) in a column of `obs`.
    response : the column.
    positive : the response that is class 1, of two values; without it two must be 0 and 1, and of
        three or more each is a class.
    known : the classes of the training table; only where the table is one of test cases.
    keys : others of `Wanted`.
    """
    wanted = Wanted(response, **keys)
    where = shown(path)
    table = _read(path, wanted)
    if wanted.labels is not None:
        table = _look_up(table, wanted, where)
    y = np.asarray(table.response)
    table = _looked_at(table, path, train=known is None)
    codes, classes = as_classes(y, positive, where, known)
    # the response and the names can come from other files than the features
    content = sha256(path).encode() + codes.tobytes() + repr(table.names).encode()
    digest = hashlib.sha256(content).hexdigest()
    return replace(table, response=codes, digest=digest, classes=classes)


def _read(path: Path, wanted: Wanted) -> Table:
    """Return what a file of any kind holds."""
    where = shown(path)
    reader = _read_text if reading.text_suffix(path) else READERS.get(path.suffix.lower())
    if wanted.genes_in_rows:
        reader = _read_matrix
    for key, given in (("missing", wanted.missing), ("decimal", wanted.decimal != "."),
                       ("thousands", wanted.thousands)):  # fmt: skip
        if given and reader not in (_read_text, _read_matrix, read_parquet):
            raise DataError(f"{where}: data.{key} is for text and Parquet; leave it out")
    if not wanted.header and reader is not _read_text:
        what = "orientation: genes-in-rows" if wanted.genes_in_rows else "a file that is no text"
        raise DataError(f"{where}: data.header is not for {what}; leave it out")
    reading.opened(path).close()
    if path.suffix.lower() in ARRAYS:
        raise DataError(f"{where}: {REMOVED}")
    if path.suffix.lower() == ".bed":
        raise DataError(
            f"{where}: data.source: file no longer reads PLINK files\nFix: write data.source: plink"
        )
    if reader is None:
        hint = "; save the sheet as .csv" if path.suffix.lower() in SPREADSHEETS else ""
        raise DataError(
            f"{where}: cannot read {cut(path.suffix) or 'this'}; use {', '.join(KINDS)}, or "
            f"text packed as .gz{hint}"
        )
    table = _indicators(reader(path, wanted), where)
    if table.features.ndim != 2 or 0 in table.features.shape:
        shape = table.features.shape
        raise DataError(f"{where}: no cases or no features; the table has shape {shape}")
    return table


def _indicators(table: Table, where: str) -> Table:
    """Return a table in which each word of a column of several has a feature of 0 and 1."""
    if all(len(words) < 3 for words in table.coding.values()):
        return table
    columns, names = [], []
    for j, name in enumerate(table.names):
        own, x = table.features_of(name), table.features[:, j]
        columns += [x] if own == [name] else [np.where(x == x, x == k, x) for k in range(len(own))]
        names += own
    names = reading.name_columns(names, where)
    return replace(table, features=np.column_stack(columns), names=names)


def _coded(table: Table) -> list[str]:
    """Say how words of columns became numbers."""
    pairs = [f"{cut(name, 30)}: {cut(words[0], 20)} is 0, {cut(words[1], 20)} is 1"
             for name, words in table.coding.items() if len(words) == 2]  # fmt: skip
    more = [f"{cut(name, 30)} ({few(words, 3, 20)})"
            for name, words in table.coding.items() if len(words) > 2]  # fmt: skip
    shown, rest = pairs[: reading.MOST_NAMED], len(pairs) - reading.MOST_NAMED
    shown += [f"and {rest:,} more"] if rest > 0 else []
    said = [f"words as numbers: {'; '.join(shown)}"] if pairs else []
    if more:
        said.append(f"a feature of 0 and 1 for each word of {few(more, reading.MOST_NAMED, 110)}")
    return said


def _looked_at(table: Table, path: Path, *, train: bool) -> Table:
    """Return a table with how many values are missing, which a note says.

    Raises DataError for an infinite value, and for a column that numbers the cases.

    train : whether it is a training table.
    """
    where, X, names = shown(path), table.features, table.names
    for j, column in enumerate(names if train else ()):
        reading.check_counter(column, X[:, j], where)
    count, told = 0, []
    if X.dtype.kind == "f":
        odd = np.argwhere(np.isinf(X))
        if len(odd):
            case, place = odd[0]
            feature = cut(names[place])
            more = f" (and {len(odd) - 1:,} more)" if len(odd) > 1 else ""
            raise DataError(
                f"{where}: a value is infinite in case {case + 1}, feature {feature}{more}; "
                "mend it, or leave the case or the feature out"
            )
        missing = np.isnan(X)
        count, told = int(missing.sum()), reading.missing_values(missing)
    told += _coded(table) if train else []
    # notes are kept: they do not depend on folders
    notes = [*table.notes, *(f"{cut(path.name)}: {remark}" for remark in told)]
    return replace(table, source=path.name, notes=notes, missing=count)


def _look_up(table: Table, wanted: Wanted, where: str) -> Table:
    """Return a table with the responses that a table of labels has by the names of the cases."""
    assert wanted.labels is not None
    labels = shown(wanted.labels)
    if not table.ids:
        raise DataError(
            f"{where}: data.labels are found by the names of the cases; say with data.id which "
            "column has them"
        )
    if wanted.response is None:
        raise DataError(f"{labels}: say which column is the response with data.response")
    names, rows = reading.read_cells(wanted.labels)
    reading.check_column(wanted.response, names, labels)
    name = wanted.id if wanted.id in names else names[0]
    if name == wanted.response:
        raise DataError(
            f"{labels}: column {quoted(name)} would be the names of the cases and the response; "
            "say with data.id which column has the names"
        )
    place = names.index(name)
    cells = [[cell.strip() for cell in row] for _, row in rows]
    reading.check_ids([row[place] for row in cells], name, labels)
    known = {row[place]: row for row in cells}
    lacking = [case for case in table.ids if case not in known]
    if lacking:
        raise DataError(
            f"{labels}: column {quoted(name)} lacks {len(lacking):,} of the {len(table.ids):,} "
            f"cases of {cut(where)}: {few(lacking)}; add them, or leave these cases out"
        )
    columns = {
        other: [known[case][j] for case in table.ids]
        for j, other in enumerate(names[: reading.MOST_ASIDE])
        if j != place
    }
    response = [known[case][names.index(wanted.response)] for case in table.ids]
    columns.pop(wanted.response, None)
    return replace(table, response=reading.typed(response), aside=columns)


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
        kind = "" if isinstance(value, Real | str) else f"{type(value).__name__} "
        like_number = isinstance(value, str) and REAL.fullmatch(value)
        told.append(f"the text {value!r}" if like_number else f"{kind}{value}")
    held = dict(zip(told, y.tolist(), strict=True))
    numbers: dict[str, Any] = {text: held[text] for text in held if isinstance(held[text], Real)}
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
        reading.check_text(text, f"{where}: a response", "write it in other words")
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


# ---- text ----


def _read_text(path: Path, wanted: Wanted) -> Table:
    """Read numbers between delimiters."""
    where = shown(path)
    names, rows = reading.read_cells(path, header=wanted.header)
    reading.need_response(wanted, where)
    try:
        columns = reading.find_columns(names, wanted, where)
    except DataError as error:
        raise DataError(f"{error}{_transposed_hint(names, rows, wanted)}") from None
    numbers = Numbers(columns.names, wanted)
    labels, ids = [], []
    aside: dict[str, list[str]] = {name: [] for name in wanted.set_aside}
    places = [names.index(name) for name in aside]
    left_out = sorted(set(range(len(names))) - set(columns.features), reverse=True)
    few_out = len(left_out) < 9 and columns.features == sorted(columns.features)
    for line, cells in rows:
        if columns.response is not None:
            labels.append(cells[columns.response].strip())
        if columns.id is not None:
            ids.append(cells[columns.id].strip())
        for name, j in zip(aside, places, strict=True):
            aside[name].append(cells[j].strip())
        if few_out:  # for a wide table this is quicker than taking all others
            for j in left_out:
                del cells[j]
        else:
            cells = [cells[j] for j in columns.features]
        numbers.add(cells, line)
    features = numbers.table(where)
    if columns.id is not None:
        reading.check_ids(ids, wanted.id or "", where)
    response = NO_RESPONSE if columns.response is None else reading.typed(labels)
    return _raw(features, response, columns, numbers, wanted, ids=ids, aside=aside)


def _raw(
    features: np.ndarray, response: np.ndarray, columns: Columns, numbers: Numbers, wanted: Wanted,
    **more: Any,
) -> Table:  # fmt: skip
    coding = numbers.coding if wanted.coding is None else wanted.coding
    notes = [*columns.notes, *numbers.notes]
    more["aside"] = more["aside"] | (numbers.texts if wanted.coding is None else {})
    return RawTable(
        features, response, columns.names, notes=notes, coding=coding, lacking=columns.lacking,
        **more,
    )  # fmt: skip


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
    if not (differ and all(isinstance(name, str) for name in reading.typed(first))):
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
    if not reading.text_suffix(path):
        raise DataError(
            f"{where}: data.orientation: genes-in-rows is for text, such as .csv and .tsv; write "
            "this with cases in rows"
        )
    reading.need_response(wanted, where)
    header, rows = reading.read_cells(path, corner=True)
    ids = reading.check_ids([name.strip() for name in header[1:]], "the first line", where)
    others = {wanted.own_response, *wanted.ignore}
    features = None if wanted.features is None else set(wanted.features)
    wanted = replace(wanted, coding={})  # a column is a case
    numbers, labels = Numbers(ids, wanted), None
    names: list[str] = []
    aside: dict[str, list[str]] = {}
    kept: list[int] = []  # places of the rows that are numbers
    for line, cells in rows:
        name = cells[0].strip()
        if name not in others if features is None else name in features:
            kept.append(len(names))
            numbers.add(cells[1:], line)
        elif name == wanted.own_response:
            labels = [cell.strip() for cell in cells[1:]]
        elif name in wanted.set_aside:
            aside[name] = [cell.strip() for cell in cells[1:]]
        names.append(name)
    names = reading.name_columns(names, where, "row")
    if not wanted.new and wanted.own_response is not None and labels is None:
        raise DataError(
            f"{where}: no row is called {quoted(wanted.response)}; if another table has the "
            "responses, name it with data.labels"
        )
    try:
        columns = reading.find_columns(names, replace(wanted, id=None), where)
    except DataError as error:
        turned = wanted.new and set(wanted.features or ()) & set(ids)
        hint = "; the training table has genes in rows, and this has cases: transpose it"
        raise DataError(f"{error}{hint if turned else ''}") from None
    row = np.empty(len(names), dtype=np.intp)
    row[kept] = np.arange(len(kept))
    values = np.ascontiguousarray(numbers.table(where)[row[columns.features]].T)
    response = NO_RESPONSE if labels is None or wanted.new else reading.typed(labels)
    return _raw(values, response, columns, numbers, wanted, ids=ids, aside=aside)


# ---- Parquet ----


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """Read a table of numbers from a Parquet file."""
    where = shown(path)
    frame, columns = reading.read_frame(path, wanted)
    features, numbers = as_numbers(frame.iloc[:, columns.features], wanted, where)
    response, ids = NO_RESPONSE, []
    if columns.response is not None:
        response = frame.iloc[:, columns.response].to_numpy(object)
    if columns.id is not None:
        held = frame.iloc[:, columns.id].tolist()
        ids = ["" if pd.isna(case) else str(case) for case in held]
        reading.check_ids(ids, wanted.id or "", where)
    others = frame[list(wanted.set_aside)]
    aside = others.astype(str).mask(others.isna(), "").to_dict("list")
    return _raw(features, response, columns, numbers, wanted, ids=ids, aside=aside)


def as_numbers(frame: pd.DataFrame, wanted: Wanted, where: str) -> tuple[np.ndarray, Numbers]:
    """Return a table as numbers; columns of text are read as those of a text table."""
    numeric = frame.dtypes.map(pd.api.types.is_numeric_dtype)
    texts = list(frame.columns[~numeric | frame.columns.isin([*(wanted.coding or ())])])
    codes = [float(text) for text in wanted.missing if REAL.fullmatch(text)]
    numbers = Numbers(texts, wanted, "row")
    if not texts and not codes:
        return frame.to_numpy(dtype=float, na_value=np.nan), numbers
    result = np.empty(frame.shape)
    for j, name in enumerate(frame.columns):
        if name not in texts:
            column = frame[name].to_numpy(dtype=float, na_value=np.nan)
            result[:, j] = np.where(np.isin(column, codes), np.nan, column)
    if texts:
        columns = [frame[name].tolist() for name in texts]
        for row, cells in enumerate(zip(*columns, strict=True), start=1):
            numbers.add(["" if cell is None or cell != cell else str(cell) for cell in cells], row)
        result[:, frame.columns.get_indexer(texts)] = numbers.table(where)
    return result, numbers


def of_frame(frame: pd.DataFrame, like: Table) -> np.ndarray:
    """Return cases with the columns of the training table's file, as its features."""
    wanted = Wanted(None, new=True, coding=like.coding)
    features, numbers = as_numbers(frame, wanted, "the table")
    for note in numbers.notes:
        warnings.warn(note, stacklevel=4)
    table = Table(features, NO_RESPONSE, list(frame.columns), coding=like.coding)
    return _indicators(table, "the table").features


# ---- AnnData: a child process tries first ----


def read_h5ad(path: Path, wanted: Wanted) -> Table:
    """Read an AnnData file: the cases are observations, the features are variables.

    The response is a column of `obs`, unless a table of labels has it; the names of the cases are
    the index of `obs`, or another of its columns.
    """
    where = shown(path)
    reading.need_response(wanted, where)
    X, obs, var = _of_h5ad(path, "X", "obs", "var")
    names = reading.name_columns([*map(str, var.index)], f"{where}: var", "variable")
    columns = reading.find_columns(names, wanted.columns_alone, where)
    ids, notes = [*map(str, obs.index)], columns.notes
    held = [*map(str, obs.columns)]
    column = wanted.id if wanted.labels is None else None
    if column is not None and (not wanted.new or column in held):
        reading.check_column(column, held, f"{where}: obs")
        ids = reading.check_ids([*map(str, values_of(obs[column]))], column, where)
    elif len(set(ids)) < len(ids):
        ids = []
        notes = [*notes, f"{where}: names in the index of obs are there twice; cases are numbered"]
    response, y = wanted.own_response, NO_RESPONSE
    if response is not None and wanted.new and response in held:
        notes = [*notes, f"{where}: the response {quoted(response)} of new cases is not used"]
    elif response is not None and not wanted.new:
        reading.check_column(response, held, f"{where}: obs")
        y = values_of(obs[response])
    X = _dense(X, where)
    if X.shape != (len(obs), len(names)):
        raise DataError(f"{where}: X has shape {X.shape}, and obs and var have other lengths")
    if columns.features != list(range(len(names))):
        X = X[:, columns.features]
    others = [] if wanted.new else [name for name in held if name not in (response, column)]
    aside = {
        name: ["" if value is None else str(value) for value in values_of(obs[name])]
        for name in others[: reading.MOST_ASIDE]
    }
    return RawTable(X, y, columns.names, ids=ids, notes=notes, aside=aside)


def read_obs(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of `obs` of an AnnData file, None where a value is missing."""
    (obs,) = _of_h5ad(path, "obs")
    return {str(name): values_of(obs[name]) for name in obs}


def values_of(column: pd.Series) -> np.ndarray:
    """Return the values of a column, None where one is missing; texts that are numbers as these."""
    values = [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]
    if any(isinstance(value, str) for value in values):
        return reading.typed(["" if value is None else str(value) for value in values])
    return np.array(values, dtype=object)


def _of_h5ad(path: Path, *parts: str) -> list[Any]:
    """Return parts of an AnnData file."""
    where = shown(path)
    try:
        import h5py
        from anndata.io import read_elem
    except ImportError:
        raise DataError(
            f"{where}: AnnData files need another package\nFix: pip install 'thesiskit[anndata]'"
        ) from None

    def read() -> list[Any]:
        try:
            with reading.opened(path) as file, h5py.File(file, "r") as held:
                _check_parts(held, parts, where, reading.most_bytes(file))
                return [read_elem(held[part]) for part in parts]
        except DataError:
            raise
        except Exception as error:  # anndata raises errors of many kinds
            raise reading.damaged(where, "AnnData", error) from None

    return reading.tried(path, read)


def _check_parts(file: Any, parts: Sequence[str], where: str, most: float) -> None:
    """Raise DataError for parts that lie elsewhere, or unpack to more bytes than `most`."""
    import h5py

    for part in parts:
        links = [file.get(part, getlink=True)]
        if links[0] is None:
            raise DataError(f"{where}: it has no {part}; {REMEDY}")
        nodes = [file[part]] if isinstance(links[0], h5py.HardLink) else []
        for group in [node for node in nodes if hasattr(node, "keys")]:
            group.visititems(lambda _, node, nodes=nodes: nodes.append(node))
            group.visititems_links(lambda _, link, links=links: links.append(link))
        stored = [node for node in nodes if hasattr(node, "nbytes")]
        inside = all(isinstance(link, h5py.HardLink) for link in links)
        if not inside or any(node.is_virtual or node.external for node in stored):
            raise DataError(f"{where}: {part} is a link to something else; {REMEDY}")
        if sum(node.nbytes for node in stored) > most:
            raise DataError(f"{where}: unpacks to more than {BOMB_TIMES} times its size")


def _dense(X: Any, where: str) -> np.ndarray:
    """Return X with its zeros."""
    if getattr(X, "dtype", np.dtype(object)).kind not in "biuf" or X.ndim != 2:
        raise DataError(f"{where}: X must be a matrix of numbers")
    if isinstance(X, np.ndarray):
        return X
    n, p = X.shape
    if n * p * X.dtype.itemsize > LARGEST:
        raise DataError(
            f"{where}: X of {n:,} cases and {p:,} variables needs "
            f"{memory_text(n * p * X.dtype.itemsize)}; keep fewer variables, for example with "
            "scanpy.pp.highly_variable_genes"
        )
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise reading.damaged(where, "AnnData", error) from None
    stored = X.nnz
    X.sum_duplicates()
    if X.nnz < stored:
        raise DataError(
            f"{where}: X says {counted(stored - X.nnz, 'value')} twice (one place in its "
            "sparse indices); call sum_duplicates() on it if they add up, and write it again"
        )
    return X.toarray()


READERS: dict[str, Callable[[Path, Wanted], Table]] = {
    ".parquet": read_parquet,
    ".h5ad": read_h5ad,
}
