"""What a user's file holds: text, cells of tables, names of columns, numbers, and remarks on them.

Every fault is a DataError: where it is, what is wrong, and what to do.
"""

import csv
import difflib
import gzip
import hashlib
import io
import itertools
import math
import os
import re
import signal
import unicodedata
import warnings
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from thesiskit.errors import DataError, list_some, pluralise, quoted, shorten
from thesiskit.files import BOMB_BYTES, BOMB_TIMES, open_regular

CHUNK = 1 << 20
LONGEST_PATH = 160  # characters that a message shows
PATIENCE, SPEED = 60, 2e6  # seconds, and bytes a second, after which a trial is ended
Result = TypeVar("Result")

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
USUAL = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}  # by suffix: tried first
LINES = 20  # that are looked at to find the delimiter
HEAD = 1 << 22  # characters that these lie in

NO_TABLE = ("<!doctype", "<html", "<table", "<?xml", "{", "[")  # beginnings of web pages and JSON

# what text unpacks to: tables of rare variants to some thirty times their size
TEXT_BYTES, TEXT_TIMES = 2**26, 50
LONGEST = 1000  # characters of a name or of a value
LOOKED_AT = 20_000  # names, for one that was perhaps meant
# what pandas calls a column without a name, and an index; by other names, tools write row numbers
NAMELESS = re.compile(r"Unnamed: [0-9]+|__index_level_[0-9]+__")
COUNTERS = ("index", "level_0", "row.names", "rownames", "X", "...1")
WITHOUT_NUMBERS = "write it without row numbers (pandas: index=False; R: row.names = FALSE)"

LINE_END = re.compile(r"\r\n|\r|\n")  # whichever system ended them
WHOLE = re.compile(r"([+-]?[0-9]{1,18})(\.0*)?")
MOST_REAL = 1e20  # of real responses, and of covariates
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
CELLS = 1 << 16  # converted together
TRUE, FALSE = ("True", "TRUE", "true"), ("False", "FALSE", "false")
INFINITE = ("inf", "infinity")
# what pandas, R and spreadsheets write for a missing value, or for one that is no number
UNKNOWN = {
    "", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "None", "NaN", "nan",
    "-NaN", "-nan", "+nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#DIV/0!", "#NUM!",
    "#REF!", "#VALUE!", "?",
}  # fmt: skip
GROUPED = re.compile(r"[+-]?[0-9]+([., ][0-9]+)+")  # 1,000.5 or 1,5
WITH_UNIT = re.compile(r"[<>=~$€£]*\s*[+-]?[0-9]+(\.[0-9]+)?\s*[^0-9.,:/-]{0,12}")
DATE = re.compile(r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}")
MOST_ASIDE = 50  # columns that are no features, for the check of a table
MOST_NAMED = 8  # columns that a message names
MOST_WORDS, EACH = 20, 3  # words of a category, and cases for each of them on average


# ---- files ----


def shown(path: Path) -> str:
    """Return a path as messages show it: on one line, and only its end if it is long."""
    text = shorten(path, 10_000)
    return text if len(text) <= LONGEST_PATH else "..." + text[3 - LONGEST_PATH :]


def opened(path: Path) -> IO[bytes]:
    """Open a file of the user; raise DataError with the reason if that fails."""
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: Exception) -> DataError:
    """Return what to say of a file that cannot be opened."""
    reasons = (
        ((FileNotFoundError, ValueError), "there is no such file"),
        (PermissionError, "no permission to read it"),
        (IsADirectoryError, "it is a folder; name a file"),
        (Exception, f"cannot be read: {getattr(error, 'strerror', None) or error}"),
    )
    reason = next(text for kinds, text in reasons if isinstance(error, kinds))
    return DataError(f"{shown(path)}: {reason}")


def damaged(where: str, kind: str, error: Exception) -> DataError:
    """Return what to say of a file that a library cannot read."""
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return DataError(f"{where}: damaged, or not {kind}: {shorten(reason[0], 120)}")


def most_bytes(file: IO[bytes], least: int = BOMB_BYTES, times: int = BOMB_TIMES) -> int:
    """Return how many bytes a file may unpack to: so many times its size, or `least`."""
    return max(least, times * os.fstat(file.fileno()).st_size)


def utf8(path: Path) -> str:
    """Return the text of a file, unpacked if it is a `.gz`; raise DataError if that fails."""
    where = shown(path)
    try:
        with opened(path) as file:
            if path.suffix.lower() != ".gz":
                content = _content(file, where, None)
            else:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    content = _content(unpacked, where, most_bytes(file, TEXT_BYTES, TEXT_TIMES))
        return content.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{where}: damaged, or not a gzip file: {error}") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where}: not UTF-8 text (byte {error.start + 1} is "
            f"0x{error.object[error.start]:02x}); save it as UTF-8, for example with: "
            "iconv -f latin1 -t utf-8"
        ) from None


def _content(file: IO[bytes] | gzip.GzipFile, where: str, most: int | None) -> bytearray:
    """Return all bytes of a file, or stop at the first that no text has, or beyond `most`."""
    content = bytearray()
    while chunk := file.read(CHUNK):
        if not content and chunk.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError(
                f"{where}: UTF-16 text; save it as UTF-8, for example with: "
                "iconv -f utf-16 -t utf-8"
            )
        if not content and chunk.startswith(b"PK\x03\x04"):
            raise DataError(
                f"{where}: it is a zip archive or an Excel file; save the sheet as CSV (UTF-8)"
            )
        content += chunk
        if b"\0" in chunk:
            line = content.count(b"\n", 0, content.index(b"\0")) + 1
            raise DataError(
                f"{where}: line {line} holds a NUL character, which no text has; the file is "
                "damaged, or of another kind"
            )
        if most is not None and len(content) > most:
            raise DataError(
                f"{where}: unpacks to more than {TEXT_TIMES} times its size; unpack it yourself "
                "if that is right"
            )
    return content


def tried(path: Path, read: Callable[[], Result]) -> Result:
    """Return what `read` returns of a file, or raise what it raises, if it comes to an end.

    A child process tries first, for a limited time: a library can crash on a damaged file, or loop
    without end.
    """
    with opened(path) as file:
        seconds = PATIENCE + os.fstat(file.fileno()).st_size / SPEED
    with warnings.catch_warnings():  # of threads, which the child does not need
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(max(1, int(seconds)))
            read()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFEXITED(status):
        raise DataError(f"{shown(path)}: damaged: it cannot be read to its end; write it again")
    return read()


# ---- cells between delimiters ----


def text_suffix(path: Path) -> str:
    """Return the suffix of a text table, without `.gz`; empty for files of other kinds."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in USUAL else ""


def sniff(text: str, usual: str) -> str:
    """Return the delimiter of a text table, looking at its first lines.

    It is one that all lines have equally often, the usual one before others; spaces, also several
    in a row, only where the line of names has no other.  Where the lines are not alike, it is the
    one that the line of names has most often.
    """
    lines = [line for line in LINE_END.split(text[:HEAD]) if line.strip()]
    if len(text) > HEAD and len(lines) > 1:
        del lines[-1]  # it may be cut
    lines = lines[:LINES]

    def width(delimiter: str) -> int:
        """Return how many cells each line has, 0 where they differ."""
        held = [line.strip(" ") for line in lines] if delimiter == " " else lines
        loose = delimiter in ", "
        try:
            rows = csv.reader(held, delimiter=delimiter, skipinitialspace=loose, strict=True)
            widths = {len(row) for row in rows}
        except csv.Error:
            return 0
        return widths.pop() if len(widths) == 1 else 0

    if not lines or width(usual) > 1:
        return usual
    order = [usual, *(delimiter for delimiter in DELIMITERS if delimiter not in (usual, " "))]
    best = max(order, key=width)
    if width(best) > 1:
        return best
    most = max(order, key=lines[0].count)
    if most in lines[0]:
        return most
    return " " if width(" ") > 1 else usual


Rows = Iterator[tuple[int, list[str]]]  # the number of a line, and its cells


def read_cells(path: Path, *, header: bool = True, corner: bool = False) -> tuple[list[str], Rows]:
    """Return the names of the columns, and an iterator over the cases: line, and cells.

    Every case has as many cells as there are names.  Blank lines are skipped.  The first lines tell
    the delimiter.  Without a header, the first line is a case, and the columns are called x1, x2,
    ...

    corner : the first column has names, and its own can be left out, as R does.  Names of columns
        are not checked.
    """
    where = shown(path)
    text = utf8(path)
    delimiter = sniff(text, USUAL.get(text_suffix(path), ","))
    if delimiter == " ":
        text = re.sub(r"^ +| +(?=\r?$)", "", text, flags=re.MULTILINE)
    lines = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter in ", ", strict=True)
    rows = _rows(reader, where)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{where}: empty; give a line of names, then one case per line")
    line, names = first
    start = names[0].strip()
    if start.lower().startswith(NO_TABLE):
        raise DataError(f"{where}: it is not a table; save it as CSV")
    if corner:
        second = next(rows, None)
        names = ["", *names] if second is not None and len(second[1]) == len(names) + 1 else names
        rows = itertools.chain(() if second is None else (second,), rows)
        return names, _cases(rows, len(names), delimiter, where, True)
    if len(names) == 1 and names[0].startswith("#"):
        raise DataError(
            f"{where}: line {line} begins with '#' like a comment; take such lines out of the table"
        )
    other = max(DELIMITERS, key=names[0].count)
    if len(names) == 1 and (number := names[0].count(other)):
        this = DELIMITERS[delimiter]
        raise DataError(
            f"{where}: line {line} has no {this} and {number:,} {DELIMITERS[other]}"
            f"{'s' * (number > 1)}; save the table with {this}s between cells (pandas: "
            f"read_csv(..., sep={other!r}), then to_csv(..., index=False))"
        )
    cases = _cases(rows, len(names), delimiter, where, header)
    if not header:
        return [f"x{j + 1}" for j in range(len(names))], itertools.chain([first], cases)
    return name_columns(names, where), cases


def _rows(reader, where: str) -> Rows:
    start = 1
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield reader.line_num, row
            start = reader.line_num + 1
    except csv.Error as error:
        number = reader.line_num
        if number > start or "unexpected end" in str(error):
            fault = f"line {start}: a quoted cell begins there and does not end; mend the quotes"
        elif "field limit" in str(error):
            fault = (
                f"line {start} has a cell of more than {csv.field_size_limit():,} characters; "
                "a cell is a number or a word"
            )
        else:
            fault = f"line {number}: {error}; mend the quotes"
        raise DataError(f"{where}: {fault}") from None


def _cases(rows: Rows, width: int, delimiter: str, where: str, header: bool) -> Rows:
    """Yield cases with so many cells; DataError for one that has more or fewer."""
    first = True
    for line, cells in rows:
        if len(cells) != width:
            hint = ""
            if first and len(cells) == width + 1:
                hint = f"; take the {DELIMITERS[delimiter]} at its end out"
                if cells[-1].strip():
                    hint = (
                        "; R's write.table puts names of rows first: use write.csv(x, row.names "
                        "= FALSE)"
                    )
            raise DataError(
                f"{where}: line {line} has {len(cells):,} cells, the "
                f"{'line of names' if header else 'first line'} {width:,}{hint}"
            )
        first = False
        yield line, cells
    if first and header:
        raise DataError(f"{where}: a line of names but no cases")


# ---- columns ----


Coding = dict[str, list[str]]  # the words of a column, in the order of their codes


@dataclass(frozen=True)
class Wanted:
    """What is to be read of a table."""

    response: str | None  # its column
    ignore: tuple[str, ...] = ()  # columns to leave out
    id: str | None = None  # the column that names the cases
    labels: Path | None = None  # another table, with the responses by the names of the cases
    genes_in_rows: bool = False  # it is transposed: a feature in each row, a case in each column
    new: bool = False  # the cases need no response
    features: list[str] | None = None  # of new cases, those of the training table; None: all others
    header: bool = True  # whether the first line of a text table names the columns
    missing: tuple[str, ...] = ()  # texts that stand for a missing value, besides the usual ones
    decimal: str = "."  # what stands before decimals
    thousands: str | None = None  # what stands between thousands
    coding: Coding | None = None  # columns of words of the training table; None: they are found
    gaps: bool = False  # whether new cases may lack features of the training table
    covariates: tuple[str, ...] = ()  # columns of numbers that are no features

    @property
    def own_response(self) -> str | None:
        """The column of the response in the table itself."""
        return self.response if self.labels is None else None

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Columns that are left out, of cases with a response: a check of the table wants them."""
        return self.covariates if self.new else (*self.covariates, *self.ignore[:MOST_ASIDE])

    @property
    def columns_alone(self) -> "Wanted":
        """The same of a file that has the response and the names of the cases elsewhere."""
        return replace(self, response=None, id=None, labels=None)


class Columns(NamedTuple):
    """The places of columns, and what is to be said about them."""

    features: list[int]
    names: list[str]  # of the features
    response: int | None
    id: int | None
    notes: list[str]
    lacking: dict[str, str] = {}  # features that new cases lack, and a column that one perhaps is


def find_columns(
    names: list[str], wanted: Wanted, where: str, index: Collection[str] = ()
) -> Columns:
    """Return where the features, the response and the names of the cases are.

    index : columns that number or name the cases, as a file itself says.
    """
    if wanted.new:
        return _match(names, wanted, where)
    response, ignore = wanted.own_response, (*wanted.covariates, *wanted.ignore)
    if wanted.id is not None:
        if wanted.id == response or wanted.id in ignore:
            other = "data.response" if wanted.id == response else "data.ignore"
            raise DataError(
                f"{where}: data.id and {other} are both {quoted(wanted.id)}; take it out of one"
            )
        check_column(wanted.id, names, where)
        ignore = (*ignore, wanted.id)
    if response in ignore:
        key = "data.covariates names" if response in wanted.covariates else "data.ignore leaves out"
        raise DataError(
            f"{where}: {key} {quoted(response)}, which is data.response; take it out of one of them"
        )
    for name, times in Counter(ignore).items():
        if times > 1:
            key = (
                "data.covariates and data.ignore name" if wanted.covariates else "data.ignore names"
            )
            raise DataError(f"{where}: {key} {quoted(name)} twice; once is enough")
    for name in ignore if response is None else (response, *ignore):
        check_column(name, names, where)
    left_out = {*ignore, response}
    places = [j for j, name in enumerate(names) if name not in left_out]
    for j in places:
        if NAMELESS.fullmatch(names[j]) or names[j] in index:
            fault = f"({quoted(names[j])}) is the table's index"
            if names[j] == f"Unnamed: {j}":
                fault = "has no name"
            raise DataError(
                f"{where}: column {j + 1} {fault}; {WITHOUT_NUMBERS}, name it, or leave it out "
                f"with data.ignore: [{quoted(names[j])}]"
            )
    if not places:
        raise DataError(f"{where}: no features besides the response {quoted(response)}")
    place = {name: j for j, name in enumerate(names)}
    kept = [names[j] for j in places]
    return Columns(places, kept, place.get(response or ""), place.get(wanted.id or ""), [])


def _match(names: list[str], wanted: Wanted, where: str) -> Columns:
    others = (*wanted.ignore, wanted.id, wanted.response)
    for name in wanted.covariates:
        check_column(name, names, where)
    features = wanted.features
    if features is None:
        features = [name for name in names if name not in others]
    place = {name: j for j, name in enumerate(names)}
    known = {*features, *others}
    extra = [name for name in names if name not in known]
    lacking = dict.fromkeys([name for name in features if name not in place], "")
    if lacking:
        by_letters = {name.casefold(): name for name in extra[:LOOKED_AT]}
        near = difflib.get_close_matches(next(iter(lacking)).casefold(), by_letters, 1)
        hint = f"; is its column {quoted(by_letters[near[0]])} one of these?" if near else ""
        if not wanted.gaps or len(lacking) == len(features):
            raise DataError(
                f"{where}: it lacks {len(lacking):,} of the {len(features):,} features of the "
                f"training table: {list_some(list(lacking), MOST_NAMED)}{hint}"
            )
        lacking[next(iter(lacking))] = hint
        features = [name for name in features if name in place]
    notes = []
    if wanted.response in place and wanted.response not in features:
        notes.append(f"{where}: the response {quoted(wanted.response)} of new cases is not used")
    if extra:
        columns = pluralise(len(extra), "column", "columns")
        notes.append(f"{where}: {columns} left out, which the training table has not: "
                     f"{list_some(extra, MOST_NAMED)}")  # fmt: skip
    places = [place[name] for name in features]
    return Columns(places, list(features), None, place.get(wanted.id or ""), notes, lacking)


def need_response(wanted: Wanted, where: str) -> None:
    """Raise DataError where nothing says which column is the response."""
    if wanted.response is None and not wanted.new and wanted.labels is None:
        raise DataError(f"{where}: say which column is the response with data.response")


def check_ids(ids: Sequence[str], name: str, where: str) -> list[str]:
    """Return the names of the cases, or say which case has none, or that of another."""
    places: dict[str, int] = {}
    for number, case in enumerate(ids, start=1):
        if not case:
            raise DataError(
                f"{where}: case {number:,} has no name in {quoted(name)} (data.id); give it one"
            )
        if case in places:
            raise DataError(
                f"{where}: cases {places[case]:,} and {number:,} are both called {quoted(case)} in "
                f"{quoted(name)} (data.id); names of cases must differ"
            )
        check_text(case, f"{where}: the name of case {number}", "rename it")
        places[case] = number
    return list(ids)


def name_columns(names: Sequence[str], where: str, what: str = "column") -> list[str]:
    """Return names of columns without spaces around them, "Unnamed: 0" where there is none.

    what : what has the names.
    """
    bare = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(names)]
    places: dict[str, int] = {}
    for number, name in enumerate(bare, start=1):
        check_text(name, f"{where}: the name of {what} {number}", "rename it")
        looks = name
        if not name.isascii():  # letters composed, and nothing invisible
            composed = unicodedata.normalize("NFC", name)
            looks = "".join(c for c in composed if unicodedata.category(c) != "Cf")
        if looks in places:
            raise DataError(
                f"{where}: two {what}s are called {quoted(name)}; rename one of {what}s "
                f"{places[looks]} and {number}"
            )
        places[looks] = number
    return bare


def check_text(text: str, what: str, remedy: str) -> None:
    """Raise DataError for a name or value that no page could show."""
    if len(text) > LONGEST:
        raise DataError(f"{what} has {len(text):,} characters; {remedy}, with {LONGEST:,} at most")
    for character in () if text.isprintable() else text:
        if unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs"):
            raise DataError(
                f"{what} holds the control character {character!r} ({quoted(text)}); {remedy}"
            )


def check_column(name: str, columns: list[str], where: str) -> None:
    """Say that there is no such column, and which was perhaps meant."""
    if name not in columns:
        near = [column for column in columns if column.lower() == name.lower()][:1]
        near = near or difflib.get_close_matches(shorten(name, LONGEST), columns[:LOOKED_AT], 1)
        hint = f"did you mean {quoted(near[0])}?" if near else f"columns: {list_some(columns)}"
        raise DataError(f"{where}: there is no column {quoted(name)}; {hint}")


def left_out(ignore: Sequence[str], groups: str | None) -> list[str]:
    """Return the columns that are no features, first that of the groups of cases."""
    return [*([] if groups is None else [groups]), *(name for name in ignore if name != groups)]


def covariate(
    name: str, cells: Sequence[str], places: Sequence[str], missing: Collection[str], where: str
) -> np.ndarray:
    """Return a covariate of cases, NaN where it is missing.

    missing : the texts that say so.  places : where each case is, for messages.
    """
    for cell, place in zip(cells, places, strict=True):
        real = REAL.fullmatch(cell) and abs(float(cell)) <= MOST_REAL
        if cell not in missing and not real:
            raise DataError(
                f"{where}: the covariate {quoted(name)} is {quoted(cell)} in {place}, which is no "
                "number; make columns of 0 and 1 of words, or leave it out"
            )
    return np.array([float("nan") if cell in missing else float(cell) for cell in cells])


def check_keys(source: Any) -> Any:
    """Return a source of the user's table; ValueError where a mark or a column is two things."""
    decimal, groups = source.decimal, source.case_groups
    if source.thousands == decimal:
        other = "," if decimal == "." else "."
        raise ValueError(
            f"thousands and decimal are both {decimal!r}; perhaps decimal is {other!r}"
        )
    for key in ("response", "id"):
        if groups is not None and getattr(source, key) == groups:
            raise ValueError(
                f"case_groups and {key} are both {quoted(groups)}; the groups are another column, "
                "such as the patients"
            )
    return source


def grouped(table: Any, name: str | None, where: str) -> Any:
    """Return a table of cases with their groups, from a column that is set aside."""
    if name is None:
        return table
    if name not in table.aside:
        raise DataError(
            f"{where}: data.case_groups: there is no column {quoted(name)} beside the features; it "
            "is one of text, Parquet, data.labels or obs"
        )
    cells = [re.sub(r"(?<=[0-9])\.0$", "", cell.strip()) for cell in table.aside[name]]
    groups = ["" if cell in UNKNOWN else cell for cell in cells]
    notes, known = list(table.notes), list(filter(None, groups))
    if len(set(known)) == len(known):
        notes.append(
            f"data.case_groups: no two cases have the same {quoted(name)}, so there are no groups"
        )
    elif len(known) < len(groups):
        without = pluralise(len(groups) - len(known), "case", "cases")
        notes.append(f"data.case_groups: {without} without {quoted(name)}: each is alone")
    digest = hashlib.sha256(f"{table.digest}{groups}".encode()).hexdigest()
    return replace(table, groups=groups, digest=digest, notes=notes)


def check_counter(name: str, column: Sequence[str] | np.ndarray, where: str) -> None:
    """Raise DataError for a column that numbers the cases, by its name and its values."""
    if name not in COUNTERS or len(column) < 3:
        return
    try:
        values = np.asarray(column, dtype=float)
    except ValueError:
        return
    if values[0] in (0, 1) and (np.diff(values) == 1).all():
        raise DataError(
            f"{where}: column {name!r} numbers the cases; {WITHOUT_NUMBERS}, or leave it out with "
            f"data.ignore: [{name!r}]"
        )


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
            odd = _no_cells(dict(zip(names, schema.types, strict=True)))
            for j in (*columns.features, columns.response, columns.id):
                if j is not None and names[j] in odd:
                    raise DataError(
                        f"{where}: column {quoted(names[j])} holds {shorten(odd[names[j]])}, no "
                        "numbers or words; make such of it, or leave it out with data.ignore"
                    )
            # metadata of pandas would make columns an index, and leave them out without a word
            frame = held.read().to_pandas(ignore_metadata=True)
        except DataError:
            raise
        except (pyarrow.ArrowException, ArithmeticError, LookupError, OSError, TypeError,
                ValueError) as error:  # fmt: skip
            raise damaged(where, "Parquet", error) from None
    frame.columns = names
    for name in odd:  # that are left out, or set aside
        frame[name] = frame[name].map(repr)
    if len(frame) == 0:
        raise DataError(f"{where}: a line of names but no cases")
    return frame, columns


def _no_cells(types: dict[str, Any]) -> dict[str, Any]:
    """Return those of some types of Arrow whose values are bytes, or have parts, such as lists."""
    from pyarrow.types import is_dictionary, is_nested

    plain = {name: t.value_type if is_dictionary(t) else t for name, t in types.items()}
    return {name: t for name, t in plain.items() if is_nested(t) or "binary" in str(t)}


# ---- numbers ----


class Numbers:
    """Cells as numbers, row by row; what is none is told at the end.

    wanted : what stands for a missing value besides UNKNOWN, how numbers are written, and the words
        of columns that are coded.
    unit : what a row of the file is.
    coding : of the columns of words, in `table`: the code of a word is its place.
    texts : the words of these columns, of each case.
    notes : on words that have no code.
    """

    def __init__(self, names: list[str], wanted: Wanted, unit: str = "line"):
        self.names, self._missing, self._unit = names, set(wanted.missing), unit
        self._known, self._plain = wanted.coding, plain_numbers(wanted.decimal, wanted.thousands)
        self.coding: Coding = {}
        self.texts: dict[str, list[str]] = {}
        self.notes: list[str] = []
        self._cells: list[str] = []
        self._values, self._lines = array("d"), array("q")
        self._words: dict[str, dict[int, str]] = {}  # by column and row, texts that are no numbers
        self._places: dict[str, str] = {}  # where the first of them is, such as "line 7"
        self._booleans = np.zeros(len(names), dtype=int)

    def add(self, cells: list[str], line: int) -> None:
        """Take a row, and the line that it is from."""
        self._cells += cells
        self._lines.append(line)
        if len(self._cells) >= CELLS:
            self._convert()

    def _convert(self) -> None:
        whole = "".join(self._cells)
        try:
            # what is a number in Python, and nowhere else, or stands for a missing value
            if not whole.isascii() or "_" in whole or self._missing or self._known or self._plain:
                raise ValueError
            values = [float(cell) for cell in self._cells]
        except ValueError:
            values = [self._odd(i, cell) for i, cell in enumerate(self._cells, len(self._values))]
        self._values.extend(values)
        self._cells = []

    def _odd(self, place: int, cell: str) -> float:
        """Return the number that a cell holds, or take note of its words."""
        row, column = divmod(place, len(self.names))
        cell = cell.strip()
        if cell in self._missing:
            return math.nan
        if self.names[column] not in (self._known or ()):
            number = cell if self._plain is None else self._plain(cell)
            if (number and REAL.fullmatch(number)) or cell.lower().lstrip("+-") in INFINITE:
                return float(number or cell)
            if cell in TRUE or cell in FALSE:
                self._booleans[column] += 1
                return float(cell in TRUE)
        if cell not in UNKNOWN:
            self._words.setdefault(self.names[column], {})[row] = cell
            self._places.setdefault(self.names[column], f"{self._unit} {self._lines[row]:,}")
        return math.nan

    def table(self, where: str) -> np.ndarray:
        """Return numbers, and codes of words; say where others are: in cells, or throughout."""
        self._convert()
        values = np.frombuffer(self._values).reshape(-1, len(self.names))
        known = np.isfinite(values).sum(axis=0)
        for j in np.flatnonzero(known == 0) if self._known is None else ():
            if words := categories(Counter(self._words.get(self.names[j], {}).values())):
                self.coding[self.names[j]] = words
        for name, words in (self._known or self.coding).items():
            if name in self._words:
                self._code(values[:, self.names.index(name)], name, words, where)
        for j in np.flatnonzero((self._booleans > 0) & (self._booleans < known)):
            mixed = dict.fromkeys(range(len(values)), "true and false beside other values")
            self._words.setdefault(self.names[j], mixed)
        for name, cells in self._words.items():
            cell, more = next(iter(cells.values())), len(cells) - 1
            if 2 * (more + 1) < len(values) and not GROUPED.fullmatch(cell):
                there = pluralise(more, "more such cell", "more such cells")
                there = f" ({there} there)" if more else ""
                others = list_some([other for other in self._words if other != name], MOST_NAMED)
                others = f", as in {others}" if others else ""
                raise DataError(
                    f"{where}: {self._places[name]}: {quoted(cell)} in column {quoted(name)} is no "
                    f"number{there}{others}; mend it, name it in data.missing (init --missing) if "
                    "it stands for a missing value, or data.ignore the column"
                )
        if self._words:
            name, words = next((name, [*cells.values()]) for name, cells in self._words.items())
            place = f" in {self._places[name]}" if name in self._places else ""
            raise DataError(
                f"{where}: {pluralise(len(self._words), 'column is', 'columns are')} categorical: "
                f"{list_some(list(self._words), MOST_NAMED)} (for example "
                f"{quoted(words[0])}{place}); "
                f"{_remedy(name, words, len(values), coded=self._known is not None)}"
            )
        return values

    def _code(self, column: np.ndarray, name: str, words: list[str], where: str) -> None:
        """Put codes in the place of words; one that no training case has counts as missing."""
        cells, code = self._words.pop(name), {word: float(k) for k, word in enumerate(words)}
        self.texts[name] = [cells.get(row, "") for row in range(len(column))]
        column[list(cells)] = [code.get(cell, math.nan) for cell in cells.values()]
        unseen = [cell for cell in cells.values() if cell not in code]
        if unseen:
            have = pluralise(len(unseen), "case", "cases")
            self.notes.append(
                f"{where}: {quoted(name, 30)} is {list_some([*dict.fromkeys(unseen)], 3)} in "
                f"{have}, which no training case has ({list_some(words, 3)}); it counts as missing"
            )


def categories(counts: Counter) -> list[str]:
    """Return the words of a column that are categories, in order; none where it has other texts.

    Two words are always categories; several are, if they have some cases each on average.

    counts : of the texts of a column that has no numbers, without what stands for a missing value.
    """
    several, held = len(counts) > 2, sum(counts.values())
    if not 2 <= len(counts) <= MOST_WORDS or held < (EACH if several else 2) * len(counts):
        return []
    if any(GROUPED.fullmatch(word) or DATE.match(word) for word in counts) or (
        several and all(WITH_UNIT.fullmatch(word) for word in counts)
    ):
        return []
    return sorted(counts)


def plain_numbers(decimal: str, thousands: str | None) -> Callable[[str], str] | None:
    """Return what writes a number with a decimal point alone, None where tables do so.

    It returns nothing for a text that is no number as the table writes them, as 1.5 is not where
    the point stands between thousands.
    """
    if decimal == "." and thousands is None:
        return None
    whole, between = "[0-9]+", re.escape(thousands or "")
    if thousands is not None:
        whole = f"(?:[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|[0-9]+)"
    mark = re.escape(decimal)
    number = re.compile(rf"[+-]?(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?")

    def plain(cell: str) -> str:
        if not number.fullmatch(cell):
            return ""
        return (cell.replace(thousands, "") if thousands else cell).replace(decimal, ".")

    return plain


def _remedy(name: str, words: list[str], cases: int, *, coded: bool) -> str:
    """Say what to do about a column of words; coded : whether the training table has the codes."""
    first = words[0]
    remedies = (
        (GROUPED.fullmatch(first), "write numbers with a decimal point, and nothing between "
         "thousands, or say how they are written: data.decimal, data.thousands (init --decimal)"),
        (DATE.match(first), "a date is no feature: data.ignore it, or make it a number, such as "
         "days"),
        (WITH_UNIT.fullmatch(first), "write the numbers alone, without units or signs"),
        (coded, "the training table has numbers there: mend it"),
        (len(set(words)) == cases > 2, "it differs in all cases, as names do: write data.id: "
         f"{shorten(name)}, or data.ignore it"),
        (True, f"words are coded where a column has {MOST_WORDS} of them at most, {EACH} cases "
         "each, and no numbers; make them so, or data.ignore it"),
    )  # fmt: skip
    return next(remedy for is_so, remedy in remedies if is_so)


def typed(labels: list[str]) -> np.ndarray:
    """Return texts as numbers or booleans if all are, else as texts; None is missing."""
    held = {label for label in labels if label not in UNKNOWN}
    known: dict[str, object] = {label: label for label in held}
    if held and all(REAL.fullmatch(label) for label in held):
        for label in held:  # 1 for 1.0
            value = float(label)
            whole = value.is_integer() and abs(value) < 2**53
            known[label] = int(value) if whole else value
    elif all(label in TRUE or label in FALSE for label in held):
        known = {label: label in TRUE for label in held}
    return np.array([known.get(label) for label in labels], dtype=object)


# ---- remarks on any table; others are those of `checking` ----


def missing_values(missing: np.ndarray) -> list[str]:
    """Say how many values are missing, of cases with features (n, p)."""
    (n, p), count = missing.shape, missing.sum()
    if not count:
        return []
    features, cases = missing.any(axis=0).sum(), missing.any(axis=1).sum()
    return [
        f"{pluralise(count, 'value is', 'values are')} missing ({missing.mean():.1%}), in "
        f"{features:,} of {p:,} features and {cases:,} of {n:,} cases"
    ]


def cases_of_both(train: Sequence[str], test: Sequence[str]) -> list[str]:
    """Say which test cases have the name of a training case."""
    known = set(train)
    both = [name for name in test if name in known]
    if not both:
        return []
    cases = pluralise(len(both), "test case has", "test cases have")
    return [
        f"{cases} the name of a training case: {list_some(both)}; if they are the same, "
        "predictions of them say little"
    ]
