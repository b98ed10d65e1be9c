"""Tables as cells: text between delimiters read strictly, and which columns are features."""

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from thesiskit.datasets.reading.text_files import shown, utf8
from thesiskit.errors import DataError, cut, few, quoted

WHOLE = re.compile(r"([+-]?[0-9]{1,18})(\.0*)?")
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
LONGEST = 1000  # characters of a name or of a value
LOOKED_AT = 20_000  # names, for one that was perhaps meant
# what pandas calls a column without a name, and an index; by other names, tools write row numbers
NAMELESS = re.compile(r"Unnamed: [0-9]+|__index_level_[0-9]+__")
COUNTERS = ("index", "level_0", "row.names", "rownames", "X", "...1")
WITHOUT_NUMBERS = "write it without row numbers (pandas: index=False; R: row.names = FALSE)"


# ---- text between delimiters ----


def read_cells(path: Path, delimiter: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns, and an iterator over the cases: line, and cells.

    Every case has as many cells as there are names.  Blank lines are skipped.

    Raises
    ------
    DataError: what is wrong, in which line, and what to do; of a case when it is reached.
    """
    where = shown(path)
    lines = io.TextIOWrapper(io.BytesIO(utf8(path).encode()), encoding="utf-8", newline="")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == ",", strict=True)
    rows = _rows(reader, where)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{where}: empty; give a line of names, then one case per line")
    line, names = first
    if len(names) == 1:
        _check_delimiter(names[0], delimiter, f"{where}: line {line}")
    return name_columns(names, where), _cases(rows, len(names), delimiter, where)


def _rows(reader, where: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that are not blank, each with its number."""
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


def _check_delimiter(line: str, delimiter: str, where: str) -> None:
    """Say so where a line has no delimiter, but another."""
    other = max(DELIMITERS, key=line.count)
    if not line.count(other):
        return
    as_it_is = " or call it .tsv," if other == "\t" else ""
    raise DataError(
        f"{where} has no {DELIMITERS[delimiter]} and {line.count(other):,} "
        f"{DELIMITERS[other]}{'s' * (line.count(other) > 1)};{as_it_is} save the table with "
        f"{DELIMITERS[delimiter]}s between cells (pandas: read_csv(..., sep={other!r}), then "
        "to_csv(..., index=False))"
    )


def _cases(
    rows: Iterator[tuple[int, list[str]]], width: int, delimiter: str, where: str
) -> Iterator[tuple[int, list[str]]]:
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
                f"{where}: line {line} has {len(cells):,} cells, the line of names {width:,}{hint}"
            )
        first = False
        yield line, cells
    if first:
        raise DataError(f"{where}: a line of names but no cases")


# ---- columns ----


def name_columns(names: Sequence[str], where: str) -> list[str]:
    """Return names of columns without spaces around them, "Unnamed: 0" where there is none.

    Raises
    ------
    DataError: two columns of one name, or of names that look the same; a name that cannot be.
    """
    found = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(names)]
    places: dict[str, int] = {}
    for number, name in enumerate(found, start=1):
        check_text(name, f"{where}: the name of column {number}", "rename it")
        looks = name if name.isascii() else _looks(name)
        if looks in places:
            raise DataError(
                f"{where}: two columns are called {quoted(name)}; rename one of columns "
                f"{places[looks]} and {number}"
            )
        places[looks] = number
    return found


def check_text(text: str, what: str, remedy: str) -> None:
    """Raise DataError for a name or value that no page could show."""
    if len(text) > LONGEST:
        raise DataError(f"{what} has {len(text):,} characters; {remedy}, with {LONGEST:,} at most")
    if not text.isprintable():
        for character in text:
            if unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs"):
                raise DataError(
                    f"{what} holds the control character {character!r} ({quoted(text)}); {remedy}"
                )


def _looks(name: str) -> str:
    """Return what a name looks like: letters composed, and nothing invisible."""
    composed = unicodedata.normalize("NFC", name)
    return "".join(c for c in composed if unicodedata.category(c) != "Cf")


def choose_features(
    names: list[str],
    response: str | None,
    ignore: Collection[str],
    where: str,
    index: Collection[str] = (),
) -> list[int]:
    """Return the places of the columns that are features.

    index : columns that number or name the cases, as a file itself says.

    Raises
    ------
    DataError: a response or a column to ignore that is not there, or is named twice; no features;
        one without a name.
    """
    for number, name in enumerate(ignore):
        if name == response:
            raise DataError(
                f"{where}: data.ignore leaves out {quoted(name)}, which is data.response; take it "
                "out of one of them"
            )
        if name in list(ignore)[:number]:
            raise DataError(f"{where}: data.ignore names {quoted(name)} twice; once is enough")
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
    return places


def check_column(name: str, columns: list[str], where: str) -> None:
    """Say that there is no such column, and which was perhaps meant."""
    if name not in columns:
        near = difflib.get_close_matches(cut(name, LONGEST), columns[:LOOKED_AT], 1)
        hint = f"did you mean {quoted(near[0])}?" if near else f"columns: {few(columns)}"
        raise DataError(f"{where}: there is no column {quoted(name)}; {hint}")


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
