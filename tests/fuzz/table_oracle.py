"""What a table says, as the csv module sees it: an oracle that shares nothing with thesiskit."""

import csv
import gzip
import io
import math
import re
import unicodedata
import zlib
from dataclasses import dataclass

import numpy as np
from table_faults import Made

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = {"", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "None", "NaN"}
MISSING |= {"nan", "-NaN", "-nan", "+nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#DIV/0!"}
MISSING |= {"#NUM!", "#REF!", "#VALUE!", "NaT", "?"}
TRUTH = {"True": 1, "TRUE": 1, "true": 1, "False": 0, "FALSE": 0, "false": 0}
COUNTING = {"index", "level_0", "row.names", "rownames", "X", "...1"}


class Refused(Exception):
    """The table must be refused."""


class Either(Exception):
    """It may be refused, or taken: too few samples for the folds, for example."""


@dataclass
class Seen:
    """What a reader must see."""

    names: list[str]
    columns: dict[str, list]  # numbers, or texts with None for missing
    response: list


def see(made: Made, content: bytes) -> Seen:
    """Return what a table says; Refused or Either where it says nothing certain."""
    names, rows = rows_of(content, made)
    response, ignore = made.config["response"], made.config.get("ignore", [])
    if response in ignore or len(set(ignore)) < len(ignore):
        raise Refused("ignore")
    if not {response, *ignore} <= set(names):
        raise Refused("no such column")
    place = names.index(response)
    known = [row for row in rows if row[place] not in MISSING]  # the others are left out
    if not known:
        raise Refused("no sample has a response")
    columns = dict(zip(names, zip(*known, strict=True), strict=True))
    features = [name for name in names if name not in (response, *ignore)]
    if not features:
        raise Refused("no features")
    for name in features:
        if re.fullmatch(r"Unnamed: \d+|__index_level_\d+__", name):
            raise Refused("a column without a name")
        values = [number(cell) for cell in columns[name]]
        if name in COUNTING and values in ([*range(len(known))], [*range(1, len(known) + 1)]):
            raise Refused("row numbers")
    if made.source == "file":
        return Seen(
            features, {n: reals(columns[n]) for n in features}, two(columns[response], made)
        )
    y = symbols(columns[response])
    if len(set(y)) < 2:
        raise Refused("the response")
    seen = Seen(features, {n: symbols(columns[n]) for n in features}, y)
    distinct = {(*row, y[i]) for i, row in enumerate(zip(*seen.columns.values(), strict=True))}
    if min(sum(row[-1] == one for row in distinct) for one in set(y)) < 6:
        raise Either("folds")
    return seen


def rows_of(content: bytes, made: Made) -> tuple[list[str], list[list[str]]]:
    """Return names and cells, stripped; or refuse."""
    usual, found = ("\t" if made.suffix.startswith(".t") else ","), made.delimiter
    if made.suffix.endswith(".gz"):
        content = unpacked(content)
    separator = re.match(rb"sep=(.)(\r\n|\r|\n)", content)  # as spreadsheets write it
    if separator is not None:
        return split(content[separator.end() :], separator[1].decode("latin-1"))
    if found == usual:
        return split(content, usual)
    try:  # what the suffix says comes first, where every line has it equally often
        width = len(split(content, usual)[0])
    except Refused:
        width = 1
    if width > 1:
        raise Either("delimiters")
    try:
        return split(content, found)
    except Refused:
        raise Either("delimiters") from None


def unpacked(content: bytes) -> bytes:
    """Return what a packed file holds; or refuse."""
    if len(content) > 20_000:
        raise Refused("a bomb")
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise Refused("gzip") from error


def split(content: bytes, delimiter: str) -> tuple[list[str], list[list[str]]]:
    """Return names and cells between delimiters, stripped; or refuse."""
    if b"\0" in content:
        raise Refused("NUL")
    try:
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        rows = list(
            csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter in ", ", strict=True)
        )
    except (UnicodeDecodeError, csv.Error) as error:
        raise Refused("no CSV") from error
    rows = [[cell.strip() for cell in row] for row in rows]
    rows = [row for row in rows if row not in ([], [""])]
    while len(rows) > 1 and not any(rows[-1]):  # as spreadsheets leave them at the end
        rows.pop()
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise Refused("rows that are not as long as the line of names")
    names = [name or f"Unnamed: {j}" for j, name in enumerate(rows[0])]
    visible = ["".join(c for c in name if unicodedata.category(c) != "Cf") for name in names]
    if len({unicodedata.normalize("NFC", name) for name in visible}) < len(names):
        raise Refused("two columns of one name")
    if any(len(name) > 1000 or control(name) for name in names):
        raise Refused("a name that cannot be shown")
    return names, rows[1:]


def control(text: str) -> bool:
    return any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text)


def number(cell: str) -> float | None:
    return float(cell) if NUMBER.fullmatch(cell) else None


def reals(column: tuple[str, ...]) -> list[float]:
    present = [cell for cell in column if cell not in MISSING]
    if {*present} <= {*TRUTH}:
        return [float(TRUTH.get(cell, math.nan)) for cell in column]
    found = [math.nan if cell in MISSING else number(cell) for cell in column]
    if None in found or np.isinf(np.array(found, dtype=float)).any():
        raise Refused("cells that are no numbers")
    return found


def two(column: tuple[str, ...], made: Made) -> list[int]:
    """Return the classes of `source: file`."""
    positive = made.config.get("positive")
    if positive is None:
        y = [number(cell) for cell in column]
        if set(column) <= {*TRUTH}:
            y = [float(TRUTH[cell]) for cell in column]
        if not set(y) <= {0, 1}:
            raise Refused("a response that is not 0 or 1")
    else:
        if len(set(column)) > 2 or positive not in column:
            raise Refused("a response of three values")
        if any(control(cell) for cell in column):
            raise Refused("a response that cannot be shown")
        y = [cell == positive for cell in column]
    counts = [sum(one == value for one in y) for value in (0, 1)]
    if min(counts) == 0:
        raise Refused("one class")
    if min(counts) < 4:
        raise Either("folds")
    return [int(one) for one in y]


def symbols(column: tuple[str, ...]) -> list[str | None]:
    held = {cell for cell in column if cell not in MISSING}
    if any(len(cell) > 1000 or control(cell) for cell in held):
        raise Refused("a value that cannot be shown")
    numbers = {cell: number(cell) for cell in held}
    whole = all(re.fullmatch(r"[+-]?([0-9]{1,18}(\.0*)?|\.0+)", cell) for cell in held)
    if any(cell.lower().lstrip("+-") in ("inf", "infinity") for cell in held):
        raise Refused("an infinite value, also among words")
    if not whole and all(numbers[cell] is not None for cell in held):
        raise Refused("real values")
    symbol = {cell: str(int(numbers[cell])) if whole else cell for cell in held}
    if held <= {*TRUTH}:
        symbol = {cell: str(bool(TRUTH[cell])) for cell in held}
    return [symbol.get(cell) for cell in column]
