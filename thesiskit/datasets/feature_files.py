"""The user's own tables of discrete features."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool, field_validator

from thesiskit.blocks import Text, distinct
from thesiskit.datasets.reading import remarks
from thesiskit.datasets.reading.binary_files import read_frame
from thesiskit.datasets.reading.cells import read_cells
from thesiskit.datasets.reading.columns import (
    Columns,
    Wanted,
    check_column,
    check_counter,
    check_ids,
    find_columns,
    need_response,
)
from thesiskit.datasets.reading.delimiters import USUAL, text_suffix
from thesiskit.datasets.reading.symbols import as_classes, as_numbers, encode
from thesiskit.datasets.reading.text_files import shown
from thesiskit.datasets.source import MISSING, UNSEEN, FeatureTable, Source
from thesiskit.errors import DataError, cut, few, quoted

MISSING_TEXTS = ("", "NA", "?", "nan", "NaN")
NULL = "\0"  # of Parquet; no text has it


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

    @property
    def own(self) -> bool:
        """Whether cases are read from a file of the user's."""
        return True

    @property
    def has_test_set(self) -> bool:
        """Whether it comes with test cases."""
        return self.test_path is not None

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        """Return the table, or training cases and test cases."""
        found: list[FeatureTable] = []
        for name in (self.path, self.test_path):
            if name is not None:
                found.append(read_features(
                    folder / name, self.response, ignore=tuple(self.ignore), id=self.id,
                    missing=tuple(self.missing), like=found[0] if found else None,
                    continuous=continuous, header=self.header,
                ))  # fmt: skip
        return found

    def read_new(self, path: Path, like: FeatureTable) -> FeatureTable:
        """Return new cases with the features and values of the training table."""
        return read_new_features(
            path, like, response=self.response, ignore=tuple(self.ignore), id=self.id,
            missing=tuple(self.missing), header=self.header,
        )  # fmt: skip


def read_features(
    path: Path,
    response: str | None,
    *,
    ignore: tuple[str, ...] = (),
    id: str | None = None,
    missing: tuple[str, ...] = MISSING_TEXTS,
    like: FeatureTable | None = None,
    continuous: bool = False,
    header: bool = True,
) -> FeatureTable:
    """Read a table of discrete features, one case per line under a line of names.

    Parameters
    ----------
    path : text (`.csv`, `.tsv`, `.tab`, `.txt`, also packed as `.gz`; UTF-8), or `.parquet`.
    response : the column of the classes.
    ignore : columns to leave out.
    id : the column that names the cases.
    missing : what stands for a missing value; a column may have nothing else.
    like : the training table, whose features (in any order), values and classes count; other
        values are UNSEEN.
    continuous : the responses are real numbers, not classes.
    header : whether the first line of a text table names the columns.

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
    cells = _read_cells(path, Wanted(response, ignore, id, header=header))
    assert response is not None
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
    coded = cells.code(features, (*missing, NULL), like, where)
    where = f"{where}: the response {quoted(response)}"
    labels, places = cells.columns[response], cells.places
    for label, place in zip(labels, places, strict=True):
        if label in missing or label == NULL:
            said = "" if label == NULL else f" ({quoted(label)})"
            raise DataError(f"{where} is missing in {place}{said}; leave such cases out")
    if continuous:
        classes: list[str] = []
        y = as_numbers(labels, places, where)
        if like is None and y.min() == y.max():
            raise DataError(
                f"{where} is {cut(labels[0])} in all cases; there is nothing to predict"
            )
    else:
        classes, y = as_classes(labels, places, like.classes if like else None, where)
    X = np.column_stack([codes for _, codes in coded])
    told = remarks.missing_values(X == MISSING)
    if like is None:
        told += remarks.constant_columns(
            [j for j, (values, _) in enumerate(coded) if len(values) < 2], features
        )
        told += remarks.equal_rows(X)
        told += remarks.naming_texts((name, cells.columns[name]) for name in features)
    else:
        told += _unseen(cells, X, like)
        told += remarks.cases_of_both(like.ids, cells.ids)
    return FeatureTable(
        X,
        y,
        list(features),
        [values for values, _ in coded],
        classes,
        path.name,
        cells.ids,
        [*cells.notes, *(f"{cut(path.name)}: {one}" for one in told)],
    )


def read_new_features(
    path: Path,
    like: FeatureTable,
    *,
    response: str | None = None,
    ignore: tuple[str, ...] = (),
    id: str | None = None,
    missing: tuple[str, ...] = MISSING_TEXTS,
    header: bool = True,
) -> FeatureTable:
    """Read cases without a response, coded as those of `like`, whose features they must have.

    Columns that `like` has not are left out, and so is a response; values that it has not are
    UNSEEN; the notes say so.  The response of the table that is returned means nothing: it is 0.

    Raises
    ------
    DataError: features that are not there; and as `read_features` does.
    """
    path = Path(path)
    where = shown(path)
    wanted = Wanted(response, ignore, id, new=True, features=like.features, header=header)
    cells = _read_cells(path, wanted)
    coded = cells.code(like.features, (*missing, NULL), like, where)
    X = np.column_stack([codes for _, codes in coded])
    return FeatureTable(
        X,
        np.zeros(len(X), dtype=like.response.dtype),
        like.features,
        like.values,
        like.classes,
        path.name,
        cells.ids,
        [*cells.notes, *(f"{where}: {one}" for one in _unseen(cells, X, like))],
    )


def _unseen(cells: "Cells", X: np.ndarray, like: FeatureTable) -> list[str]:
    """Say which values no training case has."""
    odd = np.flatnonzero((X == UNSEEN).any(axis=0))
    told = []
    for j in odd[:3]:
        column = np.array(cells.columns[like.features[j]], dtype=object)
        values = list(dict.fromkeys(column[X[:, j] == UNSEEN]))
        told.append(f"{quoted(like.features[j], 30)} is {few(values, 3)}")
    if not told:
        return []
    more = f", and so in {len(odd) - 3:,} other features" if len(odd) > 3 else ""
    cases = int((X == UNSEEN).any(axis=1).sum())
    return [
        f"values that no training case has, in {cases:,} "
        f"case{'s' * (cases != 1)}: {'; '.join(told)}{more}"
    ]


@dataclass(frozen=True)
class Cells:
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

    def code(
        self, features: list[str], missing: tuple[str, ...], like: FeatureTable | None, where: str
    ) -> list[tuple[list[str], np.ndarray]]:
        """Return the values of each feature, those of `like` if given, and its codes."""
        coded = []
        for j, name in enumerate(features):
            if like is None:
                check_counter(name, self.columns[name], where)
            values = like.values[j] if like else None
            what = f"{where}: column {quoted(name)}"
            coded.append(encode(self.columns[name], missing, values, what))
        return coded


def _read_cells(path: Path, wanted: Wanted) -> Cells:
    """Return the cells that are wanted of a file of any kind."""
    where = shown(path)
    names: list[str]
    if path.suffix.lower() == ".parquet":
        frame, columns = read_frame(path, wanted)
        names = list(frame.columns)
        places = [f"row {row:,}" for row in range(1, len(frame) + 1)]
        held = {j: tuple(map(_cell, frame.iloc[:, j].tolist())) for j in _used(columns)}
    elif text_suffix(path):
        names, rows = read_cells(path, header=wanted.header)
        need_response(wanted, where)
        columns = find_columns(names, wanted, where)
        lines, cases = zip(*rows, strict=True)
        places = [f"line {line}" for line in lines]
        held = {j: tuple(row[j].strip() for row in cases) for j in _used(columns)}
    else:
        raise DataError(
            f"{where}: cannot read {cut(path.suffix) or 'this'}; use {', '.join(USUAL)} (also as "
            ".gz) or .parquet"
        )
    ids = [] if columns.id is None else check_ids(held[columns.id], names[columns.id], where)
    cells = {names[j]: column for j, column in held.items()}
    return Cells([names[j] for j in columns.features], cells, places, ids, columns.notes)


def _used(columns: Columns) -> list[int]:
    return [
        *columns.features, *(j for j in (columns.response, columns.id) if j is not None)
    ]  # fmt: skip


def _cell(value: object) -> str:
    """Return a value of Parquet as text."""
    if value is None or value != value:
        return NULL
    return str(value).strip()
