"""What a user's file holds: text, cells of tables, names of columns, numbers, and remarks on them.

Every fault is a DataError: where it is, what is wrong, and what to do.
"""

import codecs
import csv
import difflib
import gzip
import hashlib
import io
import os
import re
import signal
import sys
import tempfile
import unicodedata
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from thesiskit.errors import DataError, list_some, pluralise, quoted, shorten
from thesiskit.files import BOMB_BYTES, BOMB_TIMES, open_regular
from thesiskit.frame import (
    EXACT,
    LONGEST,
    MISSING_TEXTS,
    MOST_NAMED,
    Column,
    Frame,
    check_dense,
    check_text,
    missing_codes,
    number,
    symbol_of,
)

CHUNK = 1 << 20
LONGEST_PATH = 160  # characters that a message shows
PIPED = "thesiskit-input-"  # how the name of a folder begins that has standard input in a file
MOST_PIPED = 2**32  # bytes
PATIENCE, SPEED = 60, 2e6  # seconds, and bytes a second, after which a trial is ended
Result = TypeVar("Result")

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
# by suffix: tried first
USUAL = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t", ".raw": " "}
LINES = 20  # at the beginning, which show the delimiter
HEAD = 1 << 22  # characters of the beginning

NO_TABLE = ("<!doctype", "<html", "<table", "<?xml", "{", "[")  # beginnings of web pages and JSON

# what text unpacks to: tables of rare variants to some thirty times their size
TEXT_BYTES, TEXT_TIMES = 2**26, 50
LOOKED_AT = 20_000  # names, for one that was perhaps meant
# what pandas calls a column without a name, and an index; by other names, tools write row numbers
NAMELESS = re.compile(r"Unnamed: [0-9]+|__index_level_[0-9]+__")
COUNTERS = ("index", "level_0", "row.names", "rownames", "X", "...1")
WITHOUT_NUMBERS = "write it without row numbers (pandas: index=False; R: row.names = FALSE)"

LINE_END = re.compile(r"\r\n|\r|\n")  # whichever system ended them
MOST_REAL = 1e20  # of real responses, and of covariates
ROWS, CELLS = 1 << 16, 1 << 23  # that are parsed together; of texts, which take more memory, fewer
FORMULA = re.compile(r'^\s*="([^"]*)"\s*$')
MOST_ASIDE = 50  # columns that are no features, for the check of a table
REMEDY = "save it again with anndata"
TEXTS = ("string", "large_string", "binary", "large_binary")  # types of Parquet
TITLES = 5  # lines that may come before the names
TALL = 3  # times as many rows as columns, and a table is perhaps transposed
ROW_NAMES = "row.names"  # the column that R writes first, without a name
# what programs write that is no table as it stands: how it begins, and what makes a table of it
FORMATS = (
    (re.compile(r"!\w+\t|!series_matrix_table_begin", re.IGNORECASE), "a GEO series matrix",
     "grep -v '^!' FILE > table.txt extracts the table, one gene per row (data.orientation: "
     "genes-in-rows); the classes are in the lines of !Sample_characteristics"),
    (re.compile(r"# Program:featureCounts"), "a table of featureCounts",
     "tail -n +2 FILE | cut -f1,7- > counts.txt extracts the counts, one gene per row "
     "(data.orientation: genes-in-rows)"),
    (re.compile(r"#1\.[23]\s"), "a GCT file",
     "tail -n +3 FILE | cut -f1,3- > table.txt extracts the table, one gene per row "
     "(data.orientation: genes-in-rows)"),
    (re.compile(r"[^\t\n]+\t[0-9]+\r?\n(?s:.*)\n__no_feature\t"),
     "counts of one sample by HTSeq",
     "join the files of all samples into one table, one gene per row"),
    (re.compile(r"(?:%.*\n|\s)*@relation\b", re.IGNORECASE), "an ARFF file",
     "save it as .csv"),
)  # fmt: skip


# ---- files ----


def shown(path: Path) -> str:
    """Return a path as messages show it: on one line, and only its end if it is long."""
    text = "standard input" if path.parent.name.startswith(PIPED) else shorten(path, 10_000)
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
        ((FileNotFoundError, ValueError), "no such file"),
        (PermissionError, "no permission to read the file"),
        (IsADirectoryError, "it is a folder. Fix: name a file"),
        (Exception, f"cannot be read: {getattr(error, 'strerror', None) or error}"),
    )
    reason = next(text for kinds, text in reasons if isinstance(error, kinds))
    return DataError(f"{shown(path)}: {reason}")


def damaged(where: str, kind: str, error: Exception) -> DataError:
    """Return what to say of a file that a library cannot read."""
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return DataError(f"{where}: damaged, or not {kind}: {shorten(reason[0], 120)}")


@contextmanager
def standard_input(name: str) -> Iterator[Path]:
    """Give the path of a private file with standard input, which is removed at the end.

    What is no text is read to its first NUL character, which the reader of the file refuses.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError("standard input is a terminal, or closed\nFix: add a pipe or < table.csv")
    size = 0
    with tempfile.TemporaryDirectory(prefix=PIPED) as folder:
        path = Path(folder, name)
        with open(path, "xb") as file:
            while chunk := sys.stdin.buffer.read(CHUNK):
                size += file.write(chunk)
                if size > MOST_PIPED:
                    raise DataError("standard input has more than 4 GB\nFix: save it as a file")
                if b"\0" in chunk:
                    break
        yield path


def most_bytes(file: IO[bytes], least: int = BOMB_BYTES, times: int = BOMB_TIMES) -> int:
    """Return how many bytes a file may unpack to: so many times its size, or `least`."""
    return max(least, times * os.fstat(file.fileno()).st_size)


class _Bytes(io.RawIOBase):
    """The bytes of a text file, unpacked if it is a `.gz`, which are checked as they are read."""

    def __init__(self, path: Path, counts: dict[bytes, int]):
        super().__init__()
        self._path, self._where, self._file = path, shown(path), opened(path)
        self._source: IO[bytes] | gzip.GzipFile = self._file
        self._most = np.inf  # bytes
        if path.suffix.lower() == ".gz":
            self._source = gzip.GzipFile(fileobj=self._file)
            self._most = most_bytes(self._file, TEXT_BYTES, TEXT_TIMES)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._n_bytes = self._n_lines = 0
        self._counts = counts  # how often bytes have occurred

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        try:
            part = self._source.read(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{self._where}: damaged, or not a gzip file: {error}") from None
        except OSError as error:
            raise unreadable(self._path, error) from None
        self._check(part)
        self._n_bytes += len(part)
        self._n_lines += part.count(b"\n")
        for symbol in self._counts:
            self._counts[symbol] += part.count(symbol)
        buffer[: len(part)] = part
        return len(part)

    def _check(self, part: bytes) -> None:
        """Raise DataError for bytes that no text has, or too many."""
        fault, position = "", self._n_bytes - len(self._decoder.getstate()[0])
        if not position and part.startswith((b"\xff\xfe", b"\xfe\xff")):
            fault = "UTF-16 text. Fix: save it as UTF-8, for example with: iconv -f utf-16 -t utf-8"
        elif not position and part.startswith(b"PK\x03\x04"):
            fault = "it is a zip archive or an Excel file. Fix: save the sheet as CSV (UTF-8)"
        elif b"\0" in part:
            line = self._n_lines + part.count(b"\n", 0, part.index(b"\0")) + 1
            fault = f"line {line} contains a NUL character; the file is damaged, or not text"
        elif self._n_bytes + len(part) > self._most:
            fault = f"unpacks to more than {TEXT_TIMES} times its size. Fix: unpack it yourself"
        try:
            self._decoder.decode(part, final=not part)
        except UnicodeDecodeError as error:
            fault = fault or (
                f"not UTF-8 text (byte {position + error.start + 1} is "
                f"0x{error.object[error.start]:02x}). Fix: save it as UTF-8, for example with: "
                "iconv -f latin1 -t utf-8"
            )
        if fault:
            raise DataError(f"{self._where}: {fault}")


def open_text(path: Path, counts: dict[bytes, int] | None = None) -> io.TextIOWrapper:
    """Open a text file, packed as `.gz` or not; reading it raises DataError for other files.

    counts : bytes whose occurrences are added up as the file is read.
    """
    file = io.BufferedReader(_Bytes(path, {} if counts is None else counts), CHUNK)
    return io.TextIOWrapper(file, "utf-8-sig", newline="")


def utf8(path: Path) -> str:
    """Return the text of a file, unpacked if it is a `.gz`; raise DataError if that fails."""
    with open_text(path) as file:
        return file.read()


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
        raise DataError(f"{shown(path)}: damaged: the end is missing. Fix: save it again")
    return read()


# ---- cells between delimiters ----


def text_suffix(path: Path) -> str:
    """Return the suffix of a text table, without `.gz`; empty for files of other kinds."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in USUAL else ""


def sniff(text: str, usual: str) -> str:
    """Return the delimiter of a text table, looking at its first lines.

    It is one that all lines have equally often (the line of names perhaps once less), the usual one
    before others; spaces, also several in a row, only where the line of names has no other.  Where
    the lines are not alike, it is the one that the line of names has most often.
    """
    lines = [line for line in LINE_END.split(text) if line.strip()][:LINES]

    def width(delimiter: str, *, row_names: bool = False) -> int:
        """Return how many cells each line has, the first perhaps one less; 0 where they differ."""
        cells = [line.strip(" ") for line in lines] if delimiter == " " else lines
        loose = delimiter in ", "
        try:
            rows = csv.reader(cells, delimiter=delimiter, skipinitialspace=loose, strict=True)
            names, *widths = [len(row) for row in rows]
        except csv.Error:
            return 0
        names += row_names
        return names if names > 1 + row_names and {*widths} <= {names} else 0

    if not lines or width(usual) > 1:
        return usual
    order = [usual, *(delimiter for delimiter in DELIMITERS if delimiter not in (usual, " "))]
    best = max(order, key=width)
    if width(best) > 1:
        return best
    for delimiter in (*order, " "):
        if width(delimiter, row_names=True):
            return delimiter
    most = max(order, key=lines[0].count)
    if most in lines[0]:
        return most
    return " " if width(" ") > 1 else usual


Rows = Iterator[tuple[int, list[str]]]  # the number of a line, and its cells


@dataclass(frozen=True)
class TextTable:
    """A text table whose beginning is known, and whose cells can be gone through again.

    names : of the columns; row_names : whether the first column names the rows, without a name in
        the line of names.
    header : whether the first line has the names.
    first : the cells of the first line.
    skipped : how many lines come before the samples.
    text : the samples, where they are not as the file has them.
    """

    path: Path
    where: str
    delimiter: str
    names: list[str]
    header: bool
    row_names: bool
    first: list[str]
    skipped: int
    text: str | None = None

    @contextmanager
    def samples(self) -> Iterator[tuple[IO[str], dict[bytes, int]]]:
        """Open the file at the line of the first sample.

        Quotes and delimiters after that line are counted as the file is read.
        """
        if self.text is not None:
            yield io.StringIO(self.text, newline=""), {}
            return
        counts = dict.fromkeys([self.delimiter.encode(), b'"'], 0)
        with open_text(self.path, counts) as file:
            before = "".join([file.readline() for _ in range(self.skipped)]).encode()
            for symbol in counts:
                counts[symbol] -= before.count(symbol)
            yield file, counts

    @cached_property
    def lines(self) -> list[int]:
        """The numbers of the lines of samples."""
        return [line for line, _ in self.rows()]

    def rows(self) -> Rows:
        """Yield the samples: line, and cells, as many as there are names; not blank lines.

        Raises DataError for another number of cells, and for a table without samples.
        """
        first, width = True, len(self.names)
        with self.samples() as (file, _):
            for line, cells in _rows(file, self.delimiter, self.where, self.skipped):
                if len(cells) != width:
                    hint = ". Fix: correct the line"
                    if first and len(cells) == width + 1 and not cells[-1].strip():
                        hint = f". Fix: take the {DELIMITERS[self.delimiter]} at its end out"
                    raise DataError(
                        f"{self.where}: line {line} has {len(cells):,} cells, the "
                        f"{'line of names' if self.header else 'first line'} "
                        f"{width - self.row_names:,}{hint}"
                    )
                first = False
                yield line, cells
        if first and self.header:
            raise DataError(f"{self.where}: a line of names but no samples. Fix: add samples")

    def parse(self, file: IO[str], n_cells: int, **options: Any) -> Iterator[pd.DataFrame]:
        """Yield the samples as pandas parses them, so many cells at a time.

        Raises ParserError where a line has more cells than names, or the first has fewer.
        """
        separator = r"\s+" if self.delimiter == " " else self.delimiter
        options |= {"header": None, "keep_default_na": False, "low_memory": False}
        options |= {"sep": separator, "skipinitialspace": self.delimiter == ","}
        options["chunksize"] = max(1, min(ROWS, n_cells // len(self.names)))
        for part in pd.read_csv(file, **options):
            if part.shape[1] != len(self.names):
                raise pd.errors.ParserError
            yield part


def open_table(path: Path, *, header: bool = True, check_names: bool = True) -> TextTable:
    """Return what the first lines of a text table tell: delimiter and names.

    Without a header, the first line is a sample, and the columns are called x1, x2, ...  Where all
    lines but the first have one cell more, as R writes tables, the first column names the rows.

    check_names : refuse names of columns that are alike; not where rows are features.
    """
    where = shown(path)
    with open_text(path) as file:
        text = file.read(HEAD)
        if file.read(1):  # the last line may be cut
            text = text[: max(text.rfind("\n"), text.rfind("\r"))] or text
    for start, program, remedy in FORMATS:
        if start.match(text.lstrip()):
            raise DataError(f"{where}: this is {program}, not a plain table\nFix: {remedy}")
    if text.lstrip().lower().startswith(NO_TABLE):
        raise DataError(f"{where}: it is not a table. Fix: save it as CSV")
    separator = re.match(r'"?sep=(.)"?(?:\r\n|\r|\n)', text)  # as spreadsheets write it
    if separator is not None:
        if separator[1] not in DELIMITERS:
            raise DataError(f"{where}: line 1 has sep={separator[1]}. Fix: save it with commas")
        text, delimiter = text[separator.end() :], separator[1]
    else:
        delimiter = sniff(text, USUAL.get(text_suffix(path), ","))
    skipped = int(separator is not None)
    rows = _rows(io.StringIO(text, newline=""), delimiter, where, skipped)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{where}: empty. Fix: write a line of names, then one sample per line")
    line, names = first
    if len(names) == 1 and names[0].startswith("#"):
        fault = f"line {line} begins with '#' like a comment. Fix: remove such lines"
        raise DataError(f"{where}: {fault}")
    other = max(DELIMITERS, key=names[0].count)
    if len(names) == 1 and (count := names[0].count(other)):
        this = DELIMITERS[delimiter]
        raise DataError(
            f"{where}: line {line} has no {this} and {count:,} {DELIMITERS[other]}"
            f"{'s' * (count > 1)}. Fix: save the table with {this}s between cells (pandas: "
            f"read_csv(..., sep={other!r}), then to_csv(..., index=False))"
        )
    if not header:
        names = [f"x{j + 1}" for j in range(len(names))]
        return TextTable(path, where, delimiter, names, False, False, first[1], skipped)
    samples = [cells for _, cells in islice(rows, LINES)]
    longer = bool(samples) and {len(cells) for cells in samples} == {len(names) + 1}
    row_names = longer and delimiter in " \t," and _are_row_names(names, samples)
    names = [ROW_NAMES, *names] if row_names else names
    names = name_columns(names, where) if check_names else names
    return TextTable(path, where, delimiter, names, True, row_names, first[1], line)


def _are_row_names(names: list[str], samples: list[list[str]]) -> bool:
    """Whether the first cells name the rows: they differ and are no numbers, or count from 1."""
    first = [cells[0].strip() for cells in samples]
    counted = first == [str(row + 1) for row in range(len(first))]
    named = len({*first}) == len(first) and not any(number(cell) is not None for cell in first)
    filled = any(cells[-1].strip() for cells in samples)
    return filled and (counted or named) and not re.search(r"(?i)(id|name|sample)s?$", names[0])


def _rows(file: IO[str], delimiter: str, where: str, skipped: int) -> Rows:
    """Yield the lines of a table, the line of names among them, but no blank ones.

    Lines of nothing but delimiters are blank at the end, as spreadsheets leave them.

    skipped : how many lines come before.
    """
    loose = delimiter in ", "
    lines = (line.strip(" \r\n") + "\n" for line in file) if delimiter == " " else file
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=loose, strict=True)
    start, numbers, empty = 1, list[int](), list[list[str]]()
    try:
        for row in reader:
            if any(map(str.strip, row)):
                yield from zip(numbers, empty, strict=True)
                numbers, empty = [], []
                yield reader.line_num + skipped, row
            elif len(row) > 1:
                numbers.append(reader.line_num + skipped)
                # a million lists would be gone through again and again by the garbage collector
                empty.append(empty[-1] if empty and empty[-1] == row else row)
            start = reader.line_num + 1
    except csv.Error as error:
        line, start = reader.line_num + skipped, start + skipped
        if line > start or "unexpected end" in str(error):
            fault = f"line {start}: a quoted cell begins and does not end. Fix: correct the quotes"
        elif "field limit" in str(error):
            most = csv.field_size_limit()
            fault = f"line {start} has a cell of more than {most:,} characters, the limit"
        else:
            fault = f"line {line}: {error}. Fix: correct the quotes"
        raise DataError(f"{where}: {fault}") from None


def frame_of_text(table: TextTable, wanted: "Wanted", *, texts: bool = False) -> Frame:
    """Return columns of numbers, and of texts where a cell is none, of a table that is open."""
    names, width = table.names, len(table.names)
    as_texts = {j for j in range(width) if texts or wanted.thousands or names[j] in wanted.as_texts}
    try:
        matrix, cells, regular = _parse_all(table, as_texts, wanted)
        n_rows = max([len(matrix), *map(len, cells.values())])
    except (pd.errors.ParserError, pd.errors.EmptyDataError):
        regular, n_rows = False, -1
    if not regular and len(table.lines) != n_rows:  # lines that differ are an error
        text = io.StringIO(newline="")  # without lines that are blank to a person
        csv.writer(text).writerows(cells for _, cells in table.rows())
        table_of_samples = replace(table, delimiter=",", text=text.getvalue())
        matrix, cells, _ = _parse_all(table_of_samples, as_texts, wanted)
    numeric = [j for j in range(width) if j not in cells]
    place = {j: k for k, j in enumerate(numeric)}
    columns = [
        text_column(name, cells[j], wanted) if j in cells else Column(name, matrix[:, place[j]])
        for j, name in enumerate(names)
    ]
    in_matrix = tuple(names[j] for j in numeric)
    return Frame(columns, table.where, "line", lambda: table.lines, matrix, in_matrix)


Parsed = tuple[np.ndarray, dict[int, list[str]], bool]


def _parse_all(table: TextTable, as_texts: set[int], wanted: "Wanted") -> Parsed:
    """Return the numbers of columns (n, .), the cells of others, and whether lines are alike.

    Where a cell of a column turns out to be no number, all begins again with the column as texts.
    """
    parsed = _parse(table, as_texts, wanted)
    while isinstance(parsed, set):
        as_texts |= parsed
        parsed = _parse(table, as_texts, wanted)
    return parsed


def _parse(table: TextTable, as_texts: set[int], wanted: "Wanted") -> Parsed | set[int]:
    """Return what `_parse_all` does, or columns in which a cell is no number."""
    width = len(table.names)
    numeric = [j for j in range(width) if j not in as_texts]
    together = bool(numeric) and numeric[-1] - numeric[0] + 1 == len(numeric)
    columns = slice(numeric[0], numeric[-1] + 1) if together else numeric
    cells: dict[int, list[str]] = {j: [] for j in sorted(as_texts)}
    options: dict[str, Any] = {"dtype": object, "na_filter": False}
    if numeric:
        # with a space before it NA is no missing value to pandas; `of_texts` strips the space
        options = {"decimal": wanted.decimal, "converters": dict.fromkeys(cells, " ".__add__)}
        options["na_values"] = [*missing_codes(wanted.missing)[0]]
    n_rows, matrix = 0, np.empty((0, len(numeric)))
    with table.samples() as (file, counts):
        for part in table.parse(file, CELLS if numeric else CELLS >> 3, **options):
            words = {j for j, kind in enumerate(part.dtypes) if kind.kind not in "iuf"} - as_texts
            for j, column in {} if words else cells.items():
                column += map(sys.intern, part[j].tolist())  # equal ones are stored once
            part[[*cells, *words]] = np.nan
            block = part.to_numpy(float)[:, columns]
            least, most = (f.reduce(block, axis=0, initial=0) for f in (np.fmin, np.fmax))
            large = np.flatnonzero(np.maximum(most, -least) >= EXACT)  # not exact as floats
            if words or len(large):
                return words | {numeric[k] for k in large.tolist()}
            matrix.resize((n_rows + len(part), len(numeric)), refcheck=False)  # without a copy
            matrix[n_rows:] = block
            n_rows += len(part)
            del part, block  # before the next ones take memory
    blank = not np.isfinite(matrix[-1:]).any() and not any(
        column[-1].strip() for column in cells.values()
    )
    if table.delimiter == " " or blank or counts.get(b'"'):
        return matrix, cells, False
    return matrix, cells, counts.get(table.delimiter.encode()) == n_rows * (width - 1)


def text_column(name: str, cells: Sequence[str], wanted: "Wanted") -> Column:
    """Return a column of texts, in which numbers have a decimal point alone.

    Formulas of a text alone, ="7.7", are the text: so spreadsheets export numbers that are texts.
    """
    cells = [FORMULA.sub(r"\1", cell) if '="' in cell else cell for cell in cells]
    plain, missing = plain_numbers(wanted.decimal, wanted.thousands), wanted.missing
    if name == wanted.id:  # NA can be a name
        return Column(name, texts=[cell.strip() or None for cell in cells])
    if plain is None:
        return Column.of_texts(name, cells, missing)
    missing = (*missing, *filter(None, (plain(text.strip()) for text in missing)))
    numbers = [plain(cell.strip()) for cell in cells]
    # with quotes, what would be a number elsewhere is none
    others = [f"'{cell.strip()}'" if number(cell.strip()) is not None else cell for cell in cells]
    pairs = zip(numbers, others, strict=True)
    return Column.of_texts(name, [written or other for written, other in pairs], missing)


def _floats(cells: list[str]) -> np.ndarray | None:
    """Return cells as numbers; None where one is missing, or written as Python alone reads it."""
    whole = "".join(cells)
    if not whole.isascii() or "_" in whole:
        return None
    try:
        return np.array([*map(float, cells)])
    except ValueError:
        return None


def read_turned(path: Path, wanted: "Wanted") -> tuple[Frame, list[str]]:
    """Read a text table with a feature in each row: its name, then its value in each sample.

    The first line names the samples, which are returned beside the table.
    """
    where = shown(path)
    if not text_suffix(path):
        raise DataError(
            f"{where}: data.orientation: genes-in-rows is for text, such as .csv and .tsv. Fix: "
            "transpose the table, one sample per row"
        )
    table, columns = open_table(path, check_names=False), []
    ids = check_ids([name.strip() for name in table.names[1:]], "the first line", where)
    usual = not wanted.missing and plain_numbers(wanted.decimal, wanted.thousands) is None
    for _, (label, *cells) in table.rows():
        name = label.strip()
        if not name and not any(map(str.strip, cells)):
            continue
        numbers = _floats(cells) if usual and name not in wanted.as_texts else None
        column = text_column(name, cells, wanted) if numbers is None else Column(name, numbers)
        columns.append(column)
    names = name_columns([column.name for column in columns], where, "row")
    for column, name in zip(columns, names, strict=True):
        column.name = name
    return Frame(columns, where, "sample", lambda: ids), ids


def read_parquet(path: Path, wanted: "Wanted") -> tuple[Frame, list[str]]:
    """Read a Parquet table; also return the columns that it names as the index of pandas."""
    where = shown(path)
    try:
        import pyarrow
        from pyarrow import compute, parquet
    except ImportError:
        raise DataError(f"{where}: Parquet needs: pip install 'thesiskit[parquet]'") from None
    with opened(path) as file:
        most = most_bytes(file)
        try:
            metadata = parquet.read_metadata(file)
            schema, n_rows = metadata.schema.to_arrow_schema(), metadata.num_rows
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            names = name_columns(schema.names, where)
            index = [name for name in (schema.pandas_metadata or {}).get("index_columns", ())
                     if isinstance(name, str)]  # fmt: skip
            n_bytes = max(8 * n_rows * len(names), sum(group.total_byte_size for group in groups))
            if n_bytes <= most:
                # equal texts are stored once: they are counted before they are repeated
                texts = [field.name for field in schema if str(field.type) in TEXTS]
                packed = parquet.ParquetFile(file, read_dictionary=texts).read()
                for chunk in [chunk for name in texts for chunk in packed[name].chunks]:
                    lengths = compute.binary_length(chunk.dictionary).take(chunk.indices)
                    n_bytes += compute.sum(lengths).as_py() or 0
            if n_bytes > most:
                raise DataError(f"{where}: unpacks to more than {BOMB_TIMES} times its size")
            # metadata of pandas would make columns an index, and leave them out without a word
            options = {"ignore_metadata": True, "integer_object_nulls": True}
            frame = packed.cast(schema).to_pandas(**options)
        except DataError:
            raise
        except (pyarrow.ArrowException, ArithmeticError, LookupError, OSError, TypeError,
                ValueError) as error:  # fmt: skip
            raise damaged(where, "Parquet", error) from None
    if len(frame) == 0:
        raise DataError(f"{where}: a line of names but no samples. Fix: add samples")
    frame = frame.set_axis(names, axis=1)
    result = Frame.of_pandas(frame, where, "row", wanted.missing)
    if wanted.id is not None and wanted.id in frame:  # of which NA can be one
        ids = frame[wanted.id].astype(object).tolist()
        present = [not pd.api.types.is_scalar(value) or pd.notna(value) for value in ids]
        texts = [symbol_of(value) if is_known else None
                 for value, is_known in zip(ids, present, strict=True)]  # fmt: skip
        result[wanted.id].numbers, result[wanted.id].texts = None, texts
    if plain_numbers(wanted.decimal, wanted.thousands) is not None:
        for j, column in enumerate(columns := [*result.columns]):
            if column.texts is not None:
                columns[j] = text_column(column.name, column.strings(), wanted)
        result = replace(result, columns=columns)
    return result, index


# ---- AnnData: a child process tries first ----


def read_h5ad(path: Path) -> tuple[Frame, Frame, list[str]]:
    """Read an AnnData file: features, columns of `obs`, and names of samples."""
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
            with opened(path) as file, h5py.File(file, "r") as stored, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of old layouts, which are read
                _check_parts(stored, ("X", "obs", "var"), where, most_bytes(file))
                with h5py.File("obs", "w", driver="core", backing_store=False) as memory:
                    obs = read_elem(_with_versions(stored, memory))
                    return [read_elem(stored["X"]), obs, read_elem(stored["var"])]
        except DataError:
            raise
        except Exception as error:  # anndata raises errors of many kinds
            raise damaged(where, "AnnData", error) from None

    X, obs, var = tried(path, read)
    names = name_columns([*map(str, var.index)], f"{where}: var", "variable")
    X = _dense(X, where)
    if X.shape != (len(obs), len(names)):
        raise DataError(f"{where}: X has shape {X.shape}, and obs and var have other lengths")
    features = Frame.of_pandas(pd.DataFrame(X, columns=names), where)
    columns = obs.set_axis([*map(str, obs.columns)], axis=1)
    return features, Frame.of_pandas(columns, f"{where}: obs"), [*map(str, obs.index)]


def _with_versions(stored: Any, memory: Any) -> Any:
    """Return `obs`, in memory if its categories lack the version that anndata asks for."""
    version = "encoding-version"
    attributes = {name: node.attrs for name, node in stored["obs"].items()}
    coded = [name for name in attributes if attributes[name].get("encoding-type") == "categorical"]
    lacking = [name for name in coded if version not in attributes[name]]
    if not lacking:
        return stored["obs"]
    stored.copy("obs", memory)
    for name in lacking:
        memory["obs"][name].attrs[version] = "0.2.0"
    return memory["obs"]


def _check_parts(file: Any, parts: Sequence[str], where: str, most: float) -> None:
    """Raise DataError for parts that lie elsewhere, or unpack to more bytes than `most`."""
    import h5py

    for part in parts:
        links = [file.get(part, getlink=True)]
        if links[0] is None:
            remedy = "put a layer in X, and save it again" if part == "X" else REMEDY
            raise DataError(f"{where}: it has no {part}\nFix: {remedy}")
        nodes = [file[part]] if isinstance(links[0], h5py.HardLink) else []
        for group in [node for node in nodes if hasattr(node, "keys")]:
            group.visititems(lambda _, node, nodes=nodes: nodes.append(node))
            group.visititems_links(lambda _, link, links=links: links.append(link))
        if part == "obs" and not hasattr(nodes[0] if nodes else None, "keys"):
            raise DataError(f"{where}: obs is not a group\nFix: {REMEDY}")
        references = [node.attrs.get("categories") for node in nodes]  # of anndata 0.7
        nodes += [file[name] for name in references if isinstance(name, h5py.Reference)]
        stored = [node for node in nodes if hasattr(node, "nbytes")]
        inside = all(isinstance(link, h5py.HardLink) for link in links)
        if not inside or any(node.is_virtual or node.external for node in stored):
            raise DataError(f"{where}: {part} is a link to something else. Fix: {REMEDY}")
        # of texts a value is an address, and what was not written is the filling
        fillings = [node.size * len(node.fillvalue) for node in stored if node.dtype.kind == "O"]
        if sum([*fillings, *(node.nbytes for node in stored)]) > most:
            raise DataError(f"{where}: unpacks to more than {BOMB_TIMES} times its size")


def _dense(X: Any, where: str) -> np.ndarray:
    """Return X with its zeros."""
    if getattr(X, "dtype", np.dtype(object)).kind not in "biuf" or X.ndim != 2:
        raise DataError(f"{where}: X must be a matrix of numbers")
    if isinstance(X, np.ndarray):
        return X
    check_dense(X.shape, X.dtype.itemsize, where)
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise damaged(where, "AnnData", error) from None
    stored = X.nnz
    X.sum_duplicates()
    if X.nnz < stored:
        raise DataError(
            f"{where}: X has {pluralise(stored - X.nnz, 'value')} twice (one place in its "
            "sparse indices). Fix: call sum_duplicates() on it if they add up, and save it again"
        )
    return X.toarray()


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
    pattern = re.compile(rf"[+-]?(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?")

    def plain(cell: str) -> str:
        if not pattern.fullmatch(cell):
            return ""
        return (cell.replace(thousands, "") if thousands else cell).replace(decimal, ".")

    return plain


# ---- columns ----


@dataclass(frozen=True)
class Wanted:
    """What is to be read of a table."""

    response: str | None  # its column
    ignore: tuple[str, ...] = ()  # columns to leave out
    id: str | None = None  # the column that names the samples
    labels: Path | None = None  # another table, with the responses by the names of the samples
    genes_in_rows: bool = False  # it is transposed: a feature in each row, a sample in each column
    new: bool = False  # the samples need no response
    tested: bool = False  # new samples have a response
    features: list[str] | None = None  # of new samples, those of the training table; None: others
    header: bool = True  # whether the first line of a text table names the columns
    missing: tuple[str, ...] = ()  # texts that stand for a missing value, besides the usual ones
    decimal: str = "."  # what stands before decimals
    thousands: str | None = None  # what stands between thousands
    gaps: bool = False  # whether new samples may lack features of the training table
    covariates: tuple[str, ...] = ()  # columns of numbers that are no features

    @property
    def has_response(self) -> bool:
        """Whether responses are read: of training samples, and of new ones that are tested."""
        return self.tested or not self.new

    @property
    def own_response(self) -> str | None:
        """The column of the response in the table itself."""
        return self.response if self.labels is None else None

    @property
    def as_texts(self) -> set[str | None]:
        """Columns whose numbers stay texts."""
        return {self.own_response, self.id, *self.ignore, *self.covariates}


class Columns(NamedTuple):
    """The names of columns, and what is to be said about them."""

    features: list[str]
    response: str | None
    id: str | None
    notes: list[str]
    lacking: dict[str, str] = {}  # features that new samples lack, and a column that one perhaps is


def find_columns(
    names: list[str], wanted: Wanted, where: str, index: Collection[str] = ()
) -> Columns:
    """Return where the features, the response and the names of the samples are.

    index : columns that number or name the samples, as a file itself says.
    """
    if wanted.new:
        return _match(names, wanted, where)
    response, ignore = wanted.own_response, (*wanted.covariates, *wanted.ignore)
    if wanted.id is not None:
        if wanted.id == response or wanted.id in ignore:
            other = "data.response" if wanted.id == response else "data.ignore"
            raise DataError(
                f"{where}: data.id and {other} are both {quoted(wanted.id)}. Fix: remove it from "
                "one of them"
            )
        check_column(wanted.id, names, where)
        ignore = (*ignore, wanted.id)
    if response in ignore:
        key = "data.covariates names" if response in wanted.covariates else "data.ignore has"
        raise DataError(
            f"{where}: {key} {quoted(response)}, which is data.response. Fix: remove it from one "
            "of them"
        )
    twice = next((name for name, times in Counter(ignore).items() if times > 1), None)
    if twice is not None:
        keys = "data.covariates and data.ignore name" if wanted.covariates else "data.ignore names"
        raise DataError(f"{where}: {keys} {quoted(twice)} twice. Fix: name it once")
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
                f"{where}: column {j + 1} {fault}. Fix: {WITHOUT_NUMBERS}, name it, or ignore it "
                f"with data.ignore: [{quoted(names[j])}]"
            )
        if names[j] == ROW_NAMES:
            raise DataError(
                f"{where}: its first column has names of rows, as R writes them. Fix: write "
                f"data.id: {ROW_NAMES}, or data.ignore: [{ROW_NAMES}]"
            )
    if not places:
        raise DataError(f"{where}: no features besides the response {quoted(response)}")
    return Columns([names[j] for j in places], response, wanted.id, [])


def _match(names: list[str], wanted: Wanted, where: str) -> Columns:
    others = (*wanted.ignore, *wanted.covariates, wanted.id, wanted.response)
    for name in wanted.covariates:
        check_column(name, names, where)
    features, response = wanted.features, wanted.response if wanted.tested else None
    if response is not None and response not in names:
        fault = f"there is no column {quoted(response)}, the response of the training table"
        raise DataError(f"{where}: {fault}. Fix: add it, or use `thesiskit predict`")
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
                f"{where}: lacks {len(lacking):,} of the {len(features):,} features of the "
                f"training table: {list_some(list(lacking), MOST_NAMED)}{hint}"
            )
        lacking[next(iter(lacking))] = hint
        features = [name for name in features if name in place]
    notes = []
    if not wanted.tested and wanted.response in place and wanted.response not in features:
        notes.append(f"{where}: the response {quoted(wanted.response)} of new samples is not used")
    if extra:
        columns = pluralise(len(extra), "column", "columns")
        notes.append(f"{where}: {columns} dropped, not in the training table: "
                     f"{list_some(extra, MOST_NAMED)}")  # fmt: skip
    present_id = wanted.id if wanted.id in place else None
    return Columns(list(features), response, present_id, notes, lacking)


def check_ids(ids: Sequence[str], name: str, where: str) -> list[str]:
    """Return the names of the samples, or say which sample has none, or that of another."""
    places: dict[str, int] = {}
    for row, sample in enumerate(ids, start=1):
        if not sample:
            raise DataError(
                f"{where}: sample {row:,} has no name in {quoted(name)} (data.id). Fix: give it one"
            )
        if sample in places:
            raise DataError(
                f"{where}: samples {places[sample]:,} and {row:,} are both named {quoted(sample)} "
                f"in {quoted(name)} (data.id); names of samples must differ"
            )
        check_text(sample, f"{where}: the name of sample {row}", "rename it")
        places[sample] = row
    return list(ids)


def name_columns(names: Sequence[str], where: str, what: str = "column") -> list[str]:
    """Return names of columns without spaces around them, "Unnamed: 0" where there is none.

    what : what has the names.
    """
    bare = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(names)]
    places: dict[str, int] = {}
    for k, name in enumerate(bare, start=1):
        check_text(name, f"{where}: the name of {what} {k}", "rename it")
        looks = name
        if not name.isascii():  # letters composed, and nothing invisible
            composed = unicodedata.normalize("NFC", name)
            looks = "".join(c for c in composed if unicodedata.category(c) != "Cf")
        if looks in places:
            raise DataError(
                f"{where}: two {what}s are named {quoted(name)}. Fix: rename one of {what}s "
                f"{places[looks]} and {k}"
            )
        places[looks] = k
    return bare


def check_column(name: str, columns: list[str], where: str) -> None:
    """Say that there is no such column, and which was perhaps meant."""
    if name not in columns:
        near = [column for column in columns if column.lower() == name.lower()][:1]
        near = near or difflib.get_close_matches(shorten(name, LONGEST), columns[:LOOKED_AT], 1)
        hint = f"did you mean {quoted(near[0])}?" if near else f"columns: {list_some(columns)}"
        raise DataError(f"{where}: there is no column {quoted(name)}; {hint}")


def left_out(ignore: Sequence[str], groups: str | None) -> list[str]:
    """Return the columns that are no features, first that of the groups of samples."""
    return [*([] if groups is None else [groups]), *(name for name in ignore if name != groups)]


COVARIATE = "covariate", "dummy-code it, or drop it"


def real_numbers(column: Column, frame: Frame, role: str, fix: str) -> np.ndarray:
    """Return the numbers of a column, NaN where one is missing; DataError for other values.

    role : what the column is, in words; fix : what to do about another value.
    """
    odd = ~(np.abs(column.values) <= MOST_REAL) & ~column.missing
    if odd.any():
        row = int(odd.argmax())
        raise DataError(
            f"{frame.where}: the {role} {quoted(column.name)} is {quoted(column.text(row))} in "
            f"{frame.place(row)}, which is not a number within {MOST_REAL:g}\nFix: {fix}"
        )
    return column.values


def check_keys(source: Any) -> Any:
    """Return a source of the user's table; ValueError where a mark or a column is two things."""
    decimal, groups = source.decimal, source.sample_groups
    if source.thousands == decimal:
        hint = f"perhaps decimal is {',' if decimal == '.' else '.'!r}"
        raise ValueError(f"thousands and decimal are both {decimal!r}; {hint}")
    for key in ("response", "id"):
        if groups is not None and getattr(source, key) == groups:
            raise ValueError(
                f"sample_groups and {key} are both {quoted(groups)}; the groups are another "
                "column, such as the patients"
            )
    return source


def grouped(table: Any, name: str | None, where: str) -> Any:
    """Return a table of samples with their groups, from a column that is set aside."""
    if name is None:
        return table
    if name not in table.aside:
        raise DataError(
            f"{where}: data.sample_groups: there is no column {quoted(name)}. Fix: name a "
            "column of a text table, Parquet, data.labels or obs"
        )
    cells = [re.sub(r"(?<=[0-9])\.0$", "", cell.strip()) for cell in table.aside[name]]
    groups = ["" if cell in MISSING_TEXTS else cell for cell in cells]
    notes, known = list(table.notes), list(filter(None, groups))
    without, key = pluralise(len(groups) - len(known), "sample"), "data.sample_groups"
    if len(set(known)) == len(known):
        notes.append(f"{key}: no two samples have the same {quoted(name)}: there are no groups")
    elif len(known) < len(groups):
        notes.append(f"{key}: {without} without {quoted(name)}: each is a group by itself")
    digest = hashlib.sha256(f"{table.digest}{groups}".encode()).hexdigest()
    return replace(table, groups=groups, digest=digest, notes=notes)


def check_counter(column: Column, where: str) -> None:
    """Raise DataError for a column that numbers the samples, by its name and its values."""
    name = column.name
    if name not in COUNTERS or len(column) < 3:
        return
    if column.values[0] in (0, 1) and (np.diff(column.values) == 1).all():
        raise DataError(
            f"{where}: column {name!r} contains sample numbers. Fix: {WITHOUT_NUMBERS}, or ignore "
            f"it with data.ignore: [{name!r}]"
        )


# ---- samples: a table divided into features, responses and names ----


@dataclass(frozen=True)
class Samples:
    """A table whose columns have roles.

    frame : all columns of the file.
    features : the columns that responses are predicted from.
    response : None of new samples.
    ids : names of the samples, or empty.
    notes : what the user should know, a line each.
    lacking : features of the training table that new samples lack, and a hint.
    aside : columns that are no features, as texts, for a check of the table.
    """

    frame: Frame
    features: list[str]
    response: Column | None
    ids: list[str]
    notes: list[str]
    lacking: dict[str, str]
    aside: dict[str, list[str]]


def read_samples(path: Path, wanted: Wanted, *, texts: bool = False) -> Samples:
    """Read a table of any format, and give its columns their roles.

    Samples without a response are left out, and a note says which.

    texts : numbers of a text table stay texts, too.
    """
    where, others, ids, index = shown(path), None, list[str](), list[str]()
    if wanted.response is None and not wanted.new and wanted.labels is None:
        raise DataError(f"{where}: no response is given. Fix: set data.response")
    notes: list[str] = []
    if text_suffix(path) and not wanted.genes_in_rows:
        table = open_table(path, header=wanted.header)
        try:
            columns = find_columns(table.names, wanted, where)
        except DataError as error:
            raise DataError(f"{error}{_transposed_hint(table, wanted)}") from None
        frame = frame_of_text(table, wanted, texts=texts)
    elif wanted.genes_in_rows:
        frame, ids = read_turned(path, wanted)
        columns = _columns_of_turned(frame, ids, wanted, where)
    elif path.suffix.lower() == ".parquet":
        frame, index = read_parquet(path, wanted)
        columns = find_columns(frame.names, wanted, where, index)
    else:
        frame, others, ids = read_h5ad(path)
        in_obs = replace(wanted, response=None, id=None, labels=None)
        columns = find_columns(frame.names, in_obs, where)
        columns, ids, notes = _columns_of_obs(columns, others, ids, wanted, where)
    meta = frame if others is None else others
    notes = [*columns.notes, *notes]
    if columns.id is not None:
        ids = check_ids(meta[columns.id].strings(), columns.id, meta.where)
    response = None if columns.response is None else meta[columns.response]
    # for the checks of the table, which are of samples with a response
    ignored = wanted.ignore[:MOST_ASIDE] if others is None else meta.names
    covariates = wanted.covariates if others is None else ()
    set_aside = (*covariates, *ignored) if wanted.has_response else covariates
    not_aside = {columns.id, columns.response}
    names = [name for name in set_aside if name not in not_aside][:MOST_ASIDE]
    aside = {name: meta[name].strings() for name in names if name in meta}
    if wanted.labels is not None and not wanted.new:
        response, aside = look_up(ids, wanted, where)
    for name in [] if wanted.new else columns.features:
        check_counter(frame[name], where)
    samples = Samples(frame, columns.features, response, ids, notes, columns.lacking, aside)
    return samples if response is None else _with_response(samples, where, path.name)


# whether samples without a response are an error, instead of left out with a note
STRICT: ContextVar[bool] = ContextVar("strict", default=False)


def left_out_note(names: Sequence[str], lack: str, where: str) -> str:
    """Return the note on samples that are left out; where tables are strict, raise DataError.

    names : of the samples, or their lines.
    lack : what they do not have.
    """
    if STRICT.get():
        raise DataError(
            f"{where}: {pluralise(len(names), 'sample')} without {lack}: {list_some(names)}\n"
            "Fix: enter the responses, or remove these samples; without --strict they are dropped"
        )
    samples = pluralise(len(names), "sample")
    return f"{samples} without {lack} dropped: {list_some(names)}"


def _with_response(samples: Samples, where: str, file_name: str) -> Samples:
    """Return the samples that have a response, with a note on the others."""
    response, frame = samples.response, samples.frame
    assert response is not None
    rows = np.flatnonzero(~response.missing)
    if len(rows) == len(response):
        return samples
    texts = f" ({list_some([quoted(text) for text in response.gaps], 3)})" if response.gaps else ""
    if not len(rows):
        fault = f"the response {quoted(response.name)} is missing in all samples{texts}"
        raise DataError(f"{where}: {fault}. Fix: enter responses")
    gaps = np.flatnonzero(response.missing).tolist()
    names = [samples.ids[row] if samples.ids else frame.place(row) for row in gaps]
    note = f"{shorten(file_name)}: {left_out_note(names, f'a response{texts}', where)}"
    return replace(
        samples,
        frame=frame.take(rows),
        response=response.take(rows),
        ids=[samples.ids[row] for row in rows] if samples.ids else [],
        notes=[*samples.notes, note],
        aside={name: [cells[row] for row in rows] for name, cells in samples.aside.items()},
    )


def _columns_of_turned(frame: Frame, ids: list[str], wanted: Wanted, where: str) -> Columns:
    if not wanted.new and wanted.own_response is not None and wanted.own_response not in frame:
        raise DataError(
            f"{where}: no row is named {quoted(wanted.response)}; if another table has the "
            "responses, name it with data.labels"
        )
    try:
        return find_columns(frame.names, replace(wanted, id=None), where)
    except DataError as error:
        turned = wanted.new and set(wanted.features or ()) & set(ids)
        hint = "; the training table has genes in rows, and this has samples. Fix: transpose it"
        raise DataError(f"{error}{hint if turned else ''}") from None


def _columns_of_obs(
    columns: Columns, obs: Frame, ids: list[str], wanted: Wanted, where: str
) -> tuple[Columns, list[str], list[str]]:
    """Return the columns with those of `obs`, names of samples, and notes."""
    notes, name, response = [], wanted.id if wanted.labels is None else None, wanted.own_response
    if name is not None and (not wanted.new or name in obs):
        check_column(name, obs.names, obs.where)
        columns = columns._replace(id=name)
    elif len(set(ids)) < len(ids):
        ids = []
        notes.append(f"{where}: the index of obs has duplicate names; samples are numbered")
    if response is not None and not wanted.has_response and response in obs:
        notes.append(f"{where}: the response {quoted(response)} of new samples is not used")
    elif response is not None and wanted.has_response:
        check_column(response, obs.names, obs.where)
        columns = columns._replace(response=response)
    return columns, ids, notes


def look_up(ids: Sequence[str], wanted: Wanted, where: str) -> tuple[Column, dict[str, list[str]]]:
    """Return the responses that a table of labels has of named samples, and its other columns."""
    assert wanted.labels is not None
    labels = shown(wanted.labels)
    if not ids:
        fault = f"{where}: data.labels are matched by sample ID"
        raise DataError(f"{fault}. Fix: name the column of IDs in data.id")
    if wanted.response is None:
        raise DataError(f"{labels}: no response is given. Fix: set data.response")
    table = open_table(wanted.labels)
    check_column(wanted.response, table.names, labels)
    name = wanted.id if wanted.id in table.names else table.names[0]
    if name == wanted.response:
        raise DataError(
            f"{labels}: column {quoted(name)} would be both sample ID and response. "
            "Fix: name the column of IDs in data.id"
        )
    frame = frame_of_text(table, replace(wanted, id=name), texts=True)
    names = frame[name].strings()
    check_ids(names, name, labels)
    place = {sample: row for row, sample in enumerate(names)}
    lacking = [sample for sample in ids if sample not in place]
    if lacking:
        raise DataError(
            f"{labels}: column {quoted(name)} lacks {len(lacking):,} of the {len(ids):,} "
            f"samples of {shorten(where)}: {list_some(lacking)}. Fix: add or drop them"
        )
    frame = frame.take(np.array([place[sample] for sample in ids], dtype=np.intp))
    roles = (name, wanted.response)
    columns = [column for column in frame.columns[:MOST_ASIDE] if column.name not in roles]
    return frame[wanted.response], {column.name: column.strings() for column in columns}


def _transposed_hint(table: TextTable, wanted: Wanted) -> str:
    """Say so where a table without the columns that are wanted seems to have genes in rows.

    Or where the line of names seems to come later.
    """
    first, names = list[str](), table.names
    try:
        for line, cells in table.rows():
            if len(first) < TITLES and wanted.response in [cell.strip() for cell in cells[1:]]:
                return f"; line {line} has it: take the lines before it out, if it has the names"
            first.append(cells[0].strip())
    except DataError:
        return ""
    if wanted.new:
        hint = "; the training table has samples in rows, and this has not. Fix: transpose it"
        return hint if set(wanted.features or ()) & set(first) else ""
    remedy = "data.orientation: genes-in-rows reads a table with one gene per row"
    if wanted.response not in names and wanted.response in first:
        return f"; a row has this name: {remedy}"
    differ = len(set(first)) == len(first) >= TALL * len(names)
    if not differ or Column.of_texts("", first).is_number:
        return ""
    return (
        f"; it has {len(first):,} named rows and {len(names):,} columns: {remedy}, "
        "data.labels names a table of responses"
    )


# ---- remarks on any table; others are those of `checking` ----


def missing_values(missing: np.ndarray) -> list[str]:
    """Say how many values are missing, of samples with features (n, p)."""
    (n, p), count = missing.shape, missing.sum()
    if not count:
        return []
    features, samples = missing.any(axis=0).sum(), missing.any(axis=1).sum()
    return [
        f"{pluralise(count, 'value is', 'values are')} missing ({missing.mean():.1%}), in "
        f"{features:,} of {p:,} features and {samples:,} of {n:,} samples"
    ]


def samples_of_both(train: Sequence[str], test: Sequence[str]) -> list[str]:
    """Say which test samples have the name of a training sample."""
    known = set(train)
    both = [name for name in test if name in known]
    if not both:
        return []
    samples = pluralise(len(both), "test sample has", "test samples have")
    return [
        f"{samples} the name of a training sample: {list_some(both)}; if they are the same, "
        "their tests are too optimistic"
    ]
