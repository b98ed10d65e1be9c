"""Tables as cells: text between delimiters, read strictly."""

import csv
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from thesiskit.datasets.reading.columns import name_columns
from thesiskit.datasets.reading.delimiters import DELIMITERS, USUAL, sniff, text_suffix
from thesiskit.datasets.reading.text_files import shown, utf8
from thesiskit.errors import DataError


def read_cells(
    path: Path, delimiter: str | None = None, *, header: bool = True, corner: bool = False
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns, and an iterator over the cases: line, and cells.

    Every case has as many cells as there are names.  Blank lines are skipped.  Without a delimiter,
    the first lines tell it.  Without a header, the first line is a case, and the columns are called
    x1, x2, ...

    corner : the first column has names, and its own can be left out, as R does.  Names of columns
        are not checked.

    Raises
    ------
    DataError: what is wrong, in which line, and what to do; of a case when it is reached.
    """
    where = shown(path)
    text = utf8(path)
    if delimiter is None:
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
    _check_kind(names[0].strip(), where)
    if corner:
        second = next(rows, None)
        names = ["", *names] if second is not None and len(second[1]) == len(names) + 1 else names
        rows = itertools.chain(() if second is None else (second,), rows)
        return names, _cases(rows, len(names), delimiter, where, True)
    if len(names) == 1:
        _check_delimiter(names[0], delimiter, f"{where}: line {line}")
    cases = _cases(rows, len(names), delimiter, where, header)
    if not header:
        return [f"x{j + 1}" for j in range(len(names))], itertools.chain([first], cases)
    return name_columns(names, where), cases


def _check_kind(first: str, where: str) -> None:
    """Raise DataError for text that is no table, as its first cell shows."""
    if first[:9].lower() in ("<!doctype", "<html>") or first.lower().startswith(("<html", "<?xml")):
        raise DataError(f"{where}: it is a web page, not a table; download the table itself")
    if first.startswith(("{", "[{")):
        raise DataError(f"{where}: it is JSON, not a table; save it as CSV")


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
    if line.startswith("#"):
        raise DataError(f"{where} begins with '#' like a comment; take such lines out of the table")
    other = max(DELIMITERS, key=line.count)
    if not line.count(other):
        return
    raise DataError(
        f"{where} has no {DELIMITERS[delimiter]} and {line.count(other):,} "
        f"{DELIMITERS[other]}{'s' * (line.count(other) > 1)}; save the table with "
        f"{DELIMITERS[delimiter]}s between cells (pandas: read_csv(..., sep={other!r}), then "
        "to_csv(..., index=False))"
    )


def _cases(
    rows: Iterator[tuple[int, list[str]]], width: int, delimiter: str, where: str, header: bool
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
                f"{where}: line {line} has {len(cells):,} cells, the "
                f"{'line of names' if header else 'first line'} {width:,}{hint}"
            )
        first = False
        yield line, cells
    if first and header:
        raise DataError(f"{where}: a line of names but no cases")
