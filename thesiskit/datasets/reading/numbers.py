"""Cells as numbers, and the errors for cells that are not numbers."""

import math
import re
from array import array
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from thesiskit.errors import DataError, cut, few, quoted

WHOLE = re.compile(r"([+-]?[0-9]{1,18})(\.0*)?")
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
CELLS = 1 << 16  # converted together
TRUE, FALSE = ("True", "TRUE", "true"), ("False", "FALSE", "false")
INFINITE = ("inf", "infinity")
# what pandas, R and spreadsheets write for a missing value, or for one that is no number
MISSING = {
    "", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "None", "NaN", "nan",
    "-NaN", "-nan", "+nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#DIV/0!", "#NUM!",
    "#REF!", "#VALUE!", "?",
}  # fmt: skip
GROUPED = re.compile(r"[+-]?[0-9]+([., ][0-9]+)+")  # 1,000.5 or 1,5
WITH_UNIT = re.compile(r"[<>=~$€£]*\s*[+-]?[0-9]+(\.[0-9]+)?\s*[^0-9.,:/-]{0,12}")
DATE = re.compile(r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}")


@dataclass
class Words:
    """Cells of a column that are no numbers: the first, its place, the others.

    place : such as "line 7"; empty where it is not known.
    """

    first: str
    place: str
    count: int = 0
    seen: set[str] = field(default_factory=set)

    def add(self, cell: str) -> None:
        """Take a cell."""
        self.count += 1
        self.seen.add(cell)


class Numbers:
    """Cells as numbers, row by row; what is none is told at the end.

    missing : texts that stand for a missing value, besides MISSING.
    unit : what a row of the file is.
    """

    def __init__(self, names: list[str], missing: Collection[str] = (), unit: str = "line"):
        self.names = names
        self._missing, self._unit = set(missing), unit
        self._cells: list[str] = []
        self._values = array("d")
        self._lines = array("q")
        self._words: dict[str, Words] = {}
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
            if not whole.isascii() or "_" in whole or self._missing:
                raise ValueError
            values = [float(cell) for cell in self._cells]
        except ValueError:
            width, done = len(self.names), len(self._values)
            values = [
                self._odd((done + i) // width, i % width, cell)
                for i, cell in enumerate(self._cells)
            ]
        self._values.extend(values)
        self._cells = []

    def _odd(self, row: int, column: int, cell: str) -> float:
        """Return the number that a cell holds, one by one."""
        cell = cell.strip()
        if cell in self._missing:
            return math.nan
        if REAL.fullmatch(cell) or cell.lower().lstrip("+-") in INFINITE:
            return float(cell)
        if cell in TRUE or cell in FALSE:
            self._booleans[column] += 1
            return float(cell in TRUE)
        if cell not in MISSING:
            place = f"{self._unit} {self._lines[row]:,}"
            self._words.setdefault(self.names[column], Words(cell, place)).add(cell)
        return math.nan

    def table(self, where: str) -> np.ndarray:
        """Return the numbers, or say which columns have others."""
        self._convert()
        values = np.frombuffer(self._values).reshape(-1, len(self.names))
        known = np.isfinite(values).sum(axis=0)
        mixed = np.flatnonzero((self._booleans > 0) & (self._booleans < known))
        for j in mixed:
            words = Words("true and false beside other values", "", len(values))
            self._words.setdefault(self.names[j], words)
        check_words(self._words, len(values), where)
        return values


def check_words(words: Mapping[str, Words], cases: int, where: str) -> None:
    """Say which columns hold what is no number: single cells, or words throughout."""
    if not words:
        return
    for name, one in words.items():
        if 2 * one.count < cases and not GROUPED.fullmatch(one.first):
            more = one.count - 1
            there = f" ({more:,} more such cell{'s' * (more > 1)} there)" if more else ""
            others = f", as in {few([n for n in words if n != name])}" if len(words) > 1 else ""
            raise DataError(
                f"{where}: {one.place}: {quoted(one.first)} in column {quoted(name)} is no number"
                f"{there}{others}; mend it, name it in data.missing if it stands for a missing "
                "value, or data.ignore the column"
            )
    name, example = next(iter(words.items()))
    place = f" in {example.place}" if example.place else ""
    columns = f"{len(words)} column{' is' if len(words) == 1 else 's are'} categorical"
    raise DataError(
        f"{where}: {columns}: {few(list(words))} (for example {quoted(example.first)}{place}); "
        f"{_remedy(name, example, cases)}"
    )


def _remedy(name: str, words: Words, cases: int) -> str:
    """Say what to do with a column of words."""
    if GROUPED.fullmatch(words.first):
        return "write numbers with a decimal point, and nothing between thousands"
    if DATE.match(words.first):
        return "a date is no feature: data.ignore it, or make it a number, such as days"
    if WITH_UNIT.fullmatch(words.first):
        return "write the numbers alone, without units or signs"
    if len(words.seen) == cases > 2:
        return (
            f"it differs in all cases, as names do: write data.id: {cut(name)}, or data.ignore it"
        )
    return "make each category a 0/1 column (pandas.get_dummies), or data.ignore it"


def typed(labels: list[str]) -> np.ndarray:
    """Return texts as numbers or booleans if all are, else as texts; None is missing."""
    held = [label for label in labels if label not in MISSING]
    known: dict[str, object]
    if held and all(REAL.fullmatch(label) for label in held):
        known = {one: _whole(float(one)) for one in held}
    elif all(label in TRUE or label in FALSE for label in held):
        known = {label: label in TRUE for label in held}
    else:
        known = {label: label for label in held}
    return np.array([known.get(label) for label in labels], dtype=object)


def _whole(value: float) -> float:
    """Return 1 for 1.0."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
