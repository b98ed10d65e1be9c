"""Tables in memory: named columns of numbers or of texts.

Files, DataFrames and arrays all become a `Frame`.  So a missing value, a number, a truth value and
a category are the same wherever a table comes from, in training data and in new data.
`NumberEncoder` and `CategoryEncoder` learn from a training table what its columns hold, and code
new tables alike.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.defaults import MISSING, MOST_VALUES, UNSEEN
from thesiskit.errors import DataError, list_some, memory_text, pluralise, quoted, shorten

# what pandas, R and spreadsheets write for a missing value, or for one that is no number
MISSING_TEXTS = frozenset({
    "", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "None", "NaN", "nan",
    "-NaN", "-nan", "+nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#DIV/0!", "#NUM!",
    "#REF!", "#VALUE!", "NaT", "?",
})  # fmt: skip
TRUE, FALSE = frozenset({"True", "TRUE", "true"}), frozenset({"False", "FALSE", "false"})
INFINITY = re.compile(r"(?i:[+-]?inf(inity)?)")
WHOLE = re.compile(r"([+-]?[0-9]{1,18})(\.0*)?")
REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
GROUPED = re.compile(r"[+-]?[0-9]+([., ][0-9]+)+")  # 1,000.5 or 1,5
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
WITH_UNIT = re.compile(r"[<>=~$€£]*\s*[+-]?[0-9]+(\.[0-9]+)?\s*[^0-9.,:/-]{0,12}")
DATE = re.compile(r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}")

MOST_WORDS, EACH = 20, 3  # words of a category among numbers, and samples of each on average
MOST_NAMED = 8  # columns that a message names
LONGEST = 1000  # characters of a name or of a value
EXACT = 2**53  # from which not all whole numbers are floats
LARGEST = 8e9  # bytes of a sparse matrix with its zeros

Coding = dict[str, list[str]]  # the words of a column, in the order of their codes


def number(text: str) -> float | None:
    """Return the number that a text writes, also an infinite one; None if it writes none."""
    if REAL.fullmatch(text) or INFINITY.fullmatch(text):
        return float(text)
    return None


def missing_codes(missing: Collection[str]) -> tuple[frozenset[str], set[float]]:
    """Return all texts that stand for a missing value, and the numbers among those of the user.

    missing : texts of the user, besides MISSING_TEXTS.
    """
    texts = [text.strip() for text in missing]
    numbers = {value for text in texts if (value := number(text)) is not None}
    return MISSING_TEXTS.union(texts), numbers


def check_text(text: str, what: str, remedy: str) -> None:
    """Raise DataError for a name or value that no page could show."""
    if len(text) > LONGEST:
        raise DataError(
            f"{what} has {len(text):,} characters. Fix: {remedy}, with {LONGEST:,} at most"
        )
    for character in () if text.isprintable() else text:
        if unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs"):
            raise DataError(
                f"{what} contains the control character {character!r} ({quoted(text)}). Fix: "
                f"{remedy}"
            )


# ---- columns ----


@dataclass(eq=False)
class Column:
    """One column of a table: numbers, or texts.

    numbers : (n,) float64, NaN where a value is missing; None of texts.
    texts : (n,) without spaces around them, None where a value is missing; None of numbers.
    truth : whether numbers are truth values.
    alien : the row of the first value that is neither a number nor a text, and the value.
    gaps : the texts that stand for a missing value, and in how many rows.
    """

    name: str
    numbers: np.ndarray | None = None
    texts: Sequence[str | None] | None = None
    truth: bool = field(default=False, kw_only=True)
    alien: tuple[int, object] | None = field(default=None, kw_only=True)
    gaps: dict[str, int] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of_texts(cls, name: str, cells: Sequence[str], missing: Collection[str] = ()) -> Column:
        """Return a column of a text file.

        missing : texts that stand for a missing value, besides MISSING_TEXTS; a number does however
            it is written.
        """
        missing_texts, codes = missing_codes(missing)
        text_of: dict[str, str | None] = {}
        counts, gaps = Counter[str](), Counter[str]()
        for cell, n in Counter(cells).items():
            text = cell.strip()
            is_missing = text in missing_texts or bool(codes and number(text) in codes)
            text_of[cell] = None if is_missing else text
            (gaps if is_missing else counts)[text] += n
        del gaps[""]
        column = cls(name, texts=[text_of[cell] for cell in cells], gaps=gaps)
        column.counts = counts
        return column

    @classmethod
    def of_values(cls, name: str, values: object, missing: Collection[str] = ()) -> Column:
        """Return a column of values of any type, such as a column of a DataFrame."""
        if isinstance(values, np.ndarray) and values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8", "replace")
        series = pd.Series(values)
        categorical = isinstance(series.dtype, pd.CategoricalDtype)
        if categorical or (series.dtype.kind in "iu" and bool((series.abs() >= EXACT).any())):
            series = series.astype(object)  # floats are not exact, and integers have no NaN
        truth = pd.api.types.is_bool_dtype(series.dtype)
        if pd.api.types.is_numeric_dtype(series.dtype) and series.dtype.kind != "c":
            numbers = series.to_numpy(dtype=float, na_value=np.nan)
            _, numbers_missing = missing_codes(missing)
            if numbers_missing and not truth:
                numbers = np.where(np.isin(numbers, [*numbers_missing]), np.nan, numbers)
            return cls(name, numbers, truth=truth)
        try:
            codes, distinct = pd.factorize(series.to_numpy(object))
        except TypeError:  # a list, or another value that cannot be compared
            objects = series.tolist()
            row = next(row for row, value in enumerate(objects) if not _is_plain(value))
            return cls(name, texts=["" for _ in objects], alien=(row, objects[row]))
        texts = np.array([*map(symbol_of, distinct), ""], dtype=object)[codes]
        column = cls.of_texts(name, texts.tolist(), missing)
        odd = [k for k, value in enumerate(distinct) if not _is_plain(value)]
        if odd:
            column.alien = int(np.isin(codes, odd).argmax()), distinct[odd[0]]
        return column

    def __len__(self) -> int:
        return len(self.numbers if self.texts is None else self.texts)  # type: ignore[arg-type]

    def take(self, rows: np.ndarray) -> Column:
        """Return some rows."""
        places = [] if self.alien is None else np.flatnonzero(rows == self.alien[0]).tolist()
        alien = (places[0], self.alien[1]) if self.alien is not None and places else None
        numbers = None if self.numbers is None else self.numbers[rows]
        texts = None if self.texts is None else [self.texts[row] for row in rows.tolist()]
        return Column(self.name, numbers, texts, truth=self.truth, alien=alien)

    def text(self, row: int) -> str:
        """Return a value as a text; empty where it is missing."""
        if self.texts is not None:
            return self.texts[row] or ""
        value = self.values[row]
        if value != value:
            return ""
        return symbol_of(bool(value) if self.truth else float(value))

    def strings(self) -> list[str]:
        """Return all values as texts, empty where one is missing."""
        return [self.text(row) for row in range(len(self))]

    @cached_property
    def counts(self) -> Counter[str]:
        """In how many rows each text is, without missing ones; none of numbers."""
        return Counter(text for text in self.texts or () if text is not None)

    @cached_property
    def missing(self) -> np.ndarray:
        """Which values are missing, (n,)."""
        if self.texts is None:
            return np.isnan(self.numbers)  # type: ignore[arg-type]
        return np.array([text is None for text in self.texts], dtype=bool)

    @cached_property
    def is_truth(self) -> bool:
        """Whether all known values are truth values."""
        if self.texts is None:
            return self.truth
        return bool(self.counts) and self.counts.keys() <= TRUE | FALSE

    @cached_property
    def _number_of(self) -> dict[str, float]:
        """The numbers of the texts that are numbers, or of truth values where all are."""
        if self.is_truth:
            return {text: float(text in TRUE) for text in self.counts}
        values = {text: number(text) for text in self.counts}
        return {text: value for text, value in values.items() if value is not None}

    @cached_property
    def values(self) -> np.ndarray:
        """Numbers, (n,), NaN where a value is missing or no number."""
        if self.texts is None:
            return self.numbers  # type: ignore[return-value]
        value = self._number_of
        return np.array([value.get(text, np.nan) for text in self.texts])  # type: ignore[arg-type]

    @cached_property
    def is_number(self) -> bool:
        """Whether all known values are numbers, or all are truth values."""
        return self.texts is None or len(self._number_of) == len(self.counts)

    @cached_property
    def words(self) -> dict[int, str]:
        """The texts that are no numbers, by row."""
        numbers = self._number_of
        return {
            row: text
            for row, text in enumerate(self.texts or ())
            if text is not None and text not in numbers
        }

    @property
    def odd(self) -> tuple[int, object] | None:
        """The row of the first value that is no number, and the value; None where all are."""
        return self.alien or next(iter(self.words.items()), None)

    def distinct(self) -> tuple[np.ndarray, list[str]]:
        """Return a code of each value, (n,), -1 where one is missing, and the values as texts."""
        if self.texts is not None:
            codes, texts = pd.factorize(np.array(self.texts, dtype=object))
            return codes, [str(text) for text in texts]
        assert self.numbers is not None
        codes, numbers = pd.factorize(self.numbers)
        values = numbers.astype(bool) if self.truth else numbers
        return codes, [symbol_of(value) for value in values.tolist()]

    def factorise(self) -> tuple[np.ndarray, list[str]]:
        """Return a code of each value, (n,), -1 where one is missing, and their symbols.

        Where all are numbers or truth values these are as a person writes them: 1 for 1.0, True
        for TRUE.
        """
        codes, texts = self.distinct()
        if not self.is_number:
            return codes, texts
        merged, symbols = pd.factorize(np.array([*map(plain_symbol, texts)], dtype=object))
        return np.append(merged, -1)[codes], symbols.tolist()

    def typed(self) -> np.ndarray:
        """Return numbers, truth values or texts, (n,) objects; None where one is missing."""
        if not self.is_number:
            return np.array(self.texts, dtype=object)
        result = np.empty(len(self), dtype=object)
        for row, value in enumerate(self.values.tolist()):
            if value == value:
                whole = value.is_integer() and abs(value) < EXACT
                result[row] = bool(value) if self.is_truth else int(value) if whole else value
        return result


def _is_plain(value: object) -> bool:
    """Whether a value is missing, a number, a text or a date."""
    return isinstance(value, str | Real | Decimal | date | np.datetime64) or (
        np.ndim(value) == 0 and bool(pd.isna(value))  # type: ignore[arg-type,call-overload]
    )


def symbol_of(value: object) -> str:
    """Return a value as tables write it: 1 for 1.0, True for a truth value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Real | Decimal):
        if abs(value) >= EXACT:  # type: ignore[operator]
            return f"{value}"
        return str(int(float(value))) if float(value).is_integer() else f"{value}"
    try:
        return str(value).strip()
    except NotImplementedError:  # pandas, of years after 9999 in a time zone
        return str(value.asm8)  # type: ignore[attr-defined]


def plain_symbol(text: str) -> str:
    """Return a text as `symbol_of` writes its value; whole numbers of many digits as they are."""
    if text in TRUE | FALSE:
        return str(text in TRUE)
    if whole := WHOLE.fullmatch(text):
        return str(int(whole[1]))
    value = None if text.lstrip("+-").isdigit() else number(text)
    return text if value is None else symbol_of(value)


# ---- tables ----


@dataclass(frozen=True)
class Frame:
    """A table.

    where : what messages call it.
    unit, lines : what a row is called and numbered, such as line 7; without lines from 1.  They are
        looked up when a message needs one.
    matrix : (n, .) numbers of the columns `in_matrix`, where they lie together.
    named : whether columns have names; else they are x1, x2, ...
    """

    columns: list[Column]
    where: str = "the table"
    unit: str = "sample"
    lines: Callable[[], Sequence[int | str]] | None = None
    matrix: np.ndarray | None = None
    in_matrix: tuple[str, ...] = ()
    named: bool = True

    @cached_property
    def names(self) -> list[str]:
        """What the columns are called."""
        return [column.name for column in self.columns]

    @cached_property
    def _column(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, name: str) -> Column:
        return self._column[name]

    def __contains__(self, name: object) -> bool:
        return name in self._column

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def place(self, row: int) -> str:
        """Return where a row is, for messages."""
        line = row + 1 if self.lines is None else self.lines()[row]
        return f"{self.unit} {line if isinstance(line, str) else f'{line:,}'}"

    def take(self, rows: np.ndarray) -> Frame:
        """Return some rows."""
        lines = self.lines or (lambda: range(1, len(self) + 1))
        matrix = None if self.matrix is None else self.matrix[rows]
        place = {name: k for k, name in enumerate(self.in_matrix)}
        columns = [
            column.take(rows)
            if matrix is None or column.name not in place
            else Column(column.name, matrix[:, place[column.name]], truth=column.truth)
            for column in self.columns
        ]
        return replace(
            self,
            columns=columns,
            lines=lambda: [lines()[row] for row in rows.tolist()],
            matrix=matrix,
        )

    def renamed(self, names: list[str]) -> Frame:
        """Return the table with other names of its columns."""
        columns = [copy(column) for column in self.columns]
        for column, name in zip(columns, names, strict=True):
            column.name = name
        in_matrix = tuple(names) if len(self.in_matrix) == len(names) else ()
        return replace(self, columns=columns, in_matrix=in_matrix)

    @classmethod
    def of(cls, X: Any, where: str = "the table") -> Frame:
        """Return a DataFrame, of pandas or others, AnnData or an array (n, p) as a table."""
        X = as_pandas(X)
        named = isinstance(X, pd.DataFrame)
        if not named:
            X = np.asarray(X)
            if X.ndim != 2:
                raise DataError(f"{where} must have rows and columns; it has shape {X.shape}")
            X = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
        return replace(cls.of_pandas(X, where), named=named)

    @classmethod
    def of_pandas(
        cls, frame: pd.DataFrame, where: str, unit: str = "sample", missing: Collection[str] = ()
    ) -> Frame:
        """Return a DataFrame of pandas as a table."""
        names = [str(name) for name in frame.columns]
        kinds = np.array([t.kind in "iuf" for t in frame.dtypes], dtype=bool)
        whole = [j for j, t in enumerate(frame.dtypes) if t.kind in "iu"]
        kinds[whole] = (frame.iloc[:, whole].abs().max().fillna(0) < EXACT).to_numpy(bool)
        if missing_codes(missing)[1]:
            kinds[:] = False
        matrix = frame.loc[:, kinds].to_numpy(dtype=float, na_value=np.nan)
        numbers = iter(matrix.T)
        columns = [
            Column(name, next(numbers))
            if kinds[j]
            else Column.of_values(name, frame.iloc[:, j], missing)
            for j, name in enumerate(names)
        ]
        in_matrix = tuple(name for name, kind in zip(names, kinds, strict=True) if kind)
        return cls(columns, where, unit, matrix=matrix, in_matrix=in_matrix)


def as_pandas(X: Any) -> Any:
    """Return a table of another package as a DataFrame; arrays and DataFrames as they are.

    AnnData is known by `var_names`, a table of Arrow by `column_names`, one of polars by
    `get_columns`.  Raises DataError for any other object whose columns have names.
    """
    if isinstance(X, pd.DataFrame | np.ndarray | list | tuple):
        return X
    if hasattr(X, "var_names") and hasattr(X, "X"):
        return _of_anndata(X)
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    if hasattr(X, "get_columns") and hasattr(X, "schema"):
        return pd.DataFrame({column.name: column.to_numpy() for column in X.get_columns()})
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        raise DataError(
            f"a table of type {type(X).__module__}.{type(X).__name__} cannot be read. Fix: make it "
            "a DataFrame of pandas"
        )
    return X


def _of_anndata(X: Any) -> pd.DataFrame:
    """Return the features of AnnData, a column for each variable, with the zeros of a sparse X."""
    values, names = X.X, pd.Index(X.var_names).astype(str)
    if values is None:
        raise DataError("the AnnData has no X\nFix: put the features there, such as from a layer")
    if not names.is_unique:
        twice = list(dict.fromkeys(names[names.duplicated()]))
        raise DataError(
            f"var_names has {list_some(twice)} more than once. Fix: call "
            f"var_names_make_unique() first"
        )
    if hasattr(values, "toarray"):
        check_dense(values.shape, 8)
        values = values.toarray()
    return pd.DataFrame(np.asarray(values[:]), columns=names)


def check_dense(shape: tuple[int, int], itemsize: int, where: str = "the AnnData") -> None:
    """Raise DataError for a sparse matrix whose zeros would fill the memory."""
    n_bytes = shape[0] * shape[1] * itemsize
    if n_bytes > LARGEST:
        raise DataError(
            f"{where}: X is sparse, and with its zeros its {shape[0]:,} x {shape[1]:,} values take "
            f"{memory_text(n_bytes)}\nFix: choose variables first, such as "
            "adata[:, adata.var.highly_variable]"
        )


# ---- columns as numbers ----


@dataclass(frozen=True)
class NumberEncoder:
    """Columns as numbers, learnt from a training table.

    A column of two words has their codes, one of more words a feature of 0 and 1 for each.

    names : the columns of the table that are features.
    coding : the words of those that have no numbers, in the order of their codes.
    """

    names: list[str] = field(default_factory=list)
    coding: Coding = field(default_factory=dict)

    @classmethod
    def of_features(cls, features: list[str], coding: Coding) -> NumberEncoder:
        """Return the encoder that makes features of these names, as a model file stores them."""
        encoder = cls(coding=coding)
        column_of = {name: column for column in coding for name in encoder.features_of(column)}
        return cls(list(dict.fromkeys(column_of.get(name, name) for name in features)), coding)

    @classmethod
    def fit(cls, frame: Frame, names: list[str]) -> NumberEncoder:
        """Learn which columns have words.  Raises DataError for what is no number."""
        coding = {}
        for column in (frame[name] for name in names):
            of_words = not column.is_number and len(column.words) == column.counts.total()
            if of_words and (words := categories(column.counts)):
                coding[column.name] = words
        encoder = cls(names, coding)
        encoder._check(frame, new=False)
        return encoder

    def features_of(self, column: str) -> list[str]:
        """Return the features that are made of a column."""
        words = self.coding.get(column, ())
        return [f"{column}={word}" for word in words] if len(words) > 2 else [column]

    @property
    def features(self) -> list[str]:
        """What the features are called."""
        return [name for column in self.names for name in self.features_of(column)]

    def transform(self, frame: Frame) -> tuple[np.ndarray, list[str]]:
        """Return features (n, p) of a table, and a note on words that no training sample has.

        Such a word is NaN, and so is a column that the table lacks.  Raises DataError for what is
        no number.
        """
        self._check(frame, new=True)
        place = {name: j for j, name in enumerate(frame.in_matrix)}
        if frame.matrix is not None and not self.coding and place.keys() >= {*self.names}:
            places = [place[name] for name in self.names]
            return frame.matrix if places == [*place.values()] else frame.matrix[:, places], []
        columns: list[np.ndarray] = []
        unseen_rows = {}
        for name in self.names:
            if name not in frame:
                columns += [np.full(len(frame), np.nan)] * len(self.features_of(name))
            elif name not in self.coding:
                columns.append(frame[name].values)
            else:
                codes = encode(frame[name], self.coding[name])
                unseen_rows[name] = np.flatnonzero(codes == UNSEEN)
                n_words = len(self.coding[name])
                levels = [codes] if n_words == 2 else [codes == k for k in range(n_words)]
                columns += [np.where(codes < 0, np.nan, level) for level in levels]
        notes = describe_unseen(frame, unseen_rows, self.coding)
        return np.column_stack(columns), [f"{note}; they count as missing" for note in notes]

    def _check(self, frame: Frame, *, new: bool) -> None:
        """Raise DataError for columns that hold other things than numbers."""
        columns = [frame[name] for name in self.names if name in frame]
        for column in columns:
            check_plain(column, frame)
        odd = [
            column for column in columns if not column.is_number and column.name not in self.coding
        ]
        for column in odd:
            row, text = next(iter(column.words.items()))
            more = len(column.words) - 1
            if 2 * (more + 1) < len(frame) and not GROUPED.fullmatch(text.strip("'")):
                there = pluralise(more, "more such cell", "more such cells")
                there = f" ({there} there)" if more else ""
                others = list_some([other.name for other in odd if other is not column], MOST_NAMED)
                others = f", as in {others}" if others else ""
                raise DataError(
                    f"{frame.where}: {frame.place(row)}: {quoted(text)} in column "
                    f"{quoted(column.name)} is not a number{there}{others}. Fix: correct it, "
                    "declare it missing (data.missing, init --missing), or data.ignore the column"
                )
        if odd:
            words = list(odd[0].words.values())
            raise DataError(
                f"{frame.where}: {pluralise(len(odd), 'column is', 'columns are')} categorical: "
                f"{list_some([column.name for column in odd], MOST_NAMED)} (for example "
                f"{quoted(words[0])} in {frame.place(next(iter(odd[0].words)))}). "
                f"Fix: {_remedy(odd[0].name, words, len(frame), new=new)}"
            )


def check_plain(column: Column, frame: Frame) -> None:
    """Raise DataError for a column with a value that is neither a number nor a text."""
    if column.alien is not None:
        row, value = column.alien
        raise DataError(
            f"{frame.where}: column {quoted(column.name)} contains {quoted(value)} in "
            f"{frame.place(row)}, which is neither numeric nor text. Fix: convert it, or drop "
            "the column (data.ignore)"
        )


def categories(counts: Counter[str]) -> list[str]:
    """Return the words of a column that are categories, in order; none where it has other texts.

    Two to MOST_WORDS words are, if they have EACH samples each on average; two, if they have 2.

    counts : of the texts of a column that has no numbers.
    """
    several, total = len(counts) > 2, sum(counts.values())
    if not 2 <= len(counts) <= MOST_WORDS or total < (EACH if several else 2) * len(counts):
        return []
    if any(GROUPED.fullmatch(word) or DATE.match(word) for word in counts) or (
        several and all(WITH_UNIT.fullmatch(word) for word in counts)
    ):
        return []
    return sorted(counts)


def _remedy(name: str, words: list[str], n_samples: int, *, new: bool) -> str:
    """Say what to do about a column of words."""
    first, unquoted = words[0], words[0].strip("'")
    remedies = (
        (GROUPED.fullmatch(unquoted), "write numbers with a decimal point and no thousands "
         "separator, or set data.decimal and data.thousands (init --decimal)"),
        (DATE.match(first), "add the dates to data.ignore, or convert them to numbers, such as "
                            "days"),
        (WITH_UNIT.fullmatch(first), "write numbers without units or signs"),
        (new, "write numbers, as in the training table"),
        (len(set(words)) == n_samples > 2, f"use it as sample ID (data.id: {shorten(name)}), or "
                                           f"add it to "
         "data.ignore"),
        (True, f"reduce it to at most {MOST_WORDS} categories of {EACH} samples each, or add it to "
         "data.ignore"),
    )  # fmt: skip
    return next(remedy for applies, remedy in remedies if applies)


# ---- columns as categories ----


@dataclass(frozen=True)
class CategoryEncoder:
    """Columns of discrete values as codes, learnt from a training table.

    names : the columns that are features.
    values : the symbol of each code of each feature.
    """

    names: list[str]
    values: list[list[str]]

    @classmethod
    def fit(
        cls, frame: Frame, names: list[str], most: int = MOST_VALUES, hint: str = ""
    ) -> CategoryEncoder:
        """Learn the values of columns.

        most : the largest number of values of a feature.
        hint : what else messages advise where values are real numbers.

        Raises DataError for real numbers, and for more values.
        """
        values = []
        for name in names:
            check_plain(frame[name], frame)
            what = f"{frame.where}: column {quoted(name)}"
            values.append(find_symbols(frame[name], what, most, hint))
        return cls(names, values)

    def features_of(self, column: str) -> list[str]:
        """Return the features that are made of a column."""
        return [column]

    def transform(self, frame: Frame) -> tuple[np.ndarray, list[str]]:
        """Return codes (n, p) of a table, MISSING or UNSEEN, and a note on unseen values."""
        columns, unseen_rows = [], {}
        for name, symbols in zip(self.names, self.values, strict=True):
            check_plain(frame[name], frame)
            columns.append(encode(frame[name], symbols))
            unseen_rows[name] = np.flatnonzero(columns[-1] == UNSEEN)
        known = dict(zip(self.names, self.values, strict=True))
        return np.column_stack(columns), describe_unseen(frame, unseen_rows, known)


def warn_of_unknown(codes: np.ndarray, notes: list[str]) -> None:
    """Warn of unseen values where no value of a column of codes (n, p) is known.

    notes : of `CategoryEncoder.transform`.
    """
    unknown = (codes == UNSEEN).any(axis=0) & (codes < 0).all(axis=0)
    for note in notes if unknown.any() else ():
        warnings.warn(note, stacklevel=4)


def describe_unseen(
    frame: Frame, rows: dict[str, np.ndarray], known: dict[str, list[str]]
) -> list[str]:
    """Return a note on values that no training sample has, or none where there is no such value.

    rows : of each column, the samples that have such a value.
    known : the values of the training samples.
    """
    names = [name for name in rows if len(rows[name])]
    if not names:
        return []
    examples = []
    for name in names[:3]:
        values = list(dict.fromkeys(map(frame[name].text, rows[name].tolist())))
        training = list_some(known[name], 3)
        examples.append(f"{quoted(name, 30)} is {list_some(values, 3)} (in training {training})")
    more = f", and likewise in {len(names) - 3:,} other features" if len(names) > 3 else ""
    n_samples = len(set().union(*(rows[name].tolist() for name in names)))
    return [
        f"values that no training sample has, in {pluralise(n_samples, 'sample')}: "
        f"{'; '.join(examples)}{more}"
    ]


# ---- values in their order ----


def find_symbols(column: Column, what: str, most: int = MOST_VALUES, hint: str = "") -> list[str]:
    """Return the values of a column that are categories, in order.

    most : the largest number of values.
    what, hint : what messages call the column, and advise besides.
    """
    symbols = sorted_symbols(column)
    check_discrete(symbols, what, hint)
    for symbol in symbols:
        check_text(symbol, f"{what}: a value", "rename it")
    if len(symbols) > most:
        raise DataError(
            f"{what} has {len(symbols)} values, at most {most} are possible. Fix: merge values, or "
            f"drop the feature{hint}"
        )
    return symbols


def check_discrete(symbols: list[str], what: str, hint: str = "") -> None:
    """Raise DataError for values that are real numbers, or infinite."""
    for symbol in symbols:
        if INFINITY.fullmatch(symbol):
            raise DataError(f"{what} contains {symbol}. Fix: replace infinity by a finite value")
    odd = [symbol for symbol in symbols if not WHOLE.fullmatch(symbol)]
    if odd and all(number(symbol) is not None for symbol in symbols):
        if odd[0].lstrip("+-").isdigit():
            raise DataError(
                f"{what} has a whole number of {len(odd[0])} digits ({shorten(odd[0])}), more "
                "than 18. Fix: if it is an ID, put a letter before it"
            )
        raise DataError(
            f"{what} has real values ({shorten(odd[0])}). Fix: cut it into intervals, for example "
            f"with scikit-learn's KBinsDiscretizer{hint}"
        )
    if symbols and all(DECIMAL_COMMA.fullmatch(symbol) for symbol in symbols):
        raise DataError(
            f"{what} has numbers with a decimal comma ({symbols[0]}). Fix: write them with a "
            f"decimal point{hint}"
        )


def sorted_symbols(column: Column) -> list[str]:
    """Return the values of a column in order: of numbers where all are, else of the alphabet."""
    symbols = sorted(column.factorise()[1])
    values = {symbol: value for symbol in symbols if (value := number(symbol)) is not None}
    return sorted(symbols, key=values.__getitem__) if len(values) == len(symbols) else symbols


def encode(column: Column, symbols: Sequence[str]) -> np.ndarray:
    """Return the codes of values, (n,) int16: places among the symbols, MISSING or UNSEEN."""
    place, present = column.distinct()
    code = {symbol: k for k, symbol in enumerate(symbols)}
    for symbol, k in [*code.items()]:  # 01 is also 1, and TRUE is true
        code.setdefault(plain_symbol(symbol), k)
    if code.keys() <= {"0", "1", "True", "False"}:  # also written in the other way
        for pair in ("0", "False"), ("1", "True"):
            for symbol, other in (pair, pair[::-1]):
                if symbol in code:
                    code.setdefault(other, code[symbol])
    codes = [code.get(text, code.get(plain_symbol(text), UNSEEN)) for text in present]
    return np.array([*codes, MISSING], dtype=np.int16)[place]  # the last is for -1


def encode_classes(column: Column, classes: Sequence[str], frame: Frame) -> np.ndarray:
    """Return the class of each sample, (n,); DataError for one that no training sample has."""
    codes = encode(column, classes)
    if (codes == UNSEEN).any():
        row = int((codes == UNSEEN).argmax())
        raise DataError(
            f"{frame.where}: the response {quoted(column.name)} is {quoted(column.text(row))} in "
            f"{frame.place(row)}, which no training sample has ({list_some(classes)})\nFix: drop "
            "these samples, or include such samples in training"
        )
    return codes
