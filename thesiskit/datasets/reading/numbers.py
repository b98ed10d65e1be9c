"""Cells as numbers, and the errors for cells that are not numbers."""

import itertools
import math
import re
from array import array
from collections.abc import Mapping

import numpy as np

from thesiskit.datasets.reading.cells import REAL
from thesiskit.errors import DataError, few, quoted

CELLS = 1 << 16  # converted together
TRUE, FALSE = ("True", "TRUE", "true"), ("False", "FALSE", "false")
INFINITE = ("inf", "infinity")
# what pandas, R and spreadsheets write for a missing value, or for one that is no number
MISSING = {
    "", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "None", "NaN", "nan",
    "-NaN", "-nan", "+nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#DIV/0!", "#NUM!",
    "#REF!", "#VALUE!",
}  # fmt: skip
GROUPED = re.compile(r"[+-]?[0-9]+([., ][0-9]+)+")  # 1,000.5 or 1,5


class Numbers:
    """Cells as numbers, row by row; what is none is told at the end."""

    def __init__(self, names: list[str]):
        self.names = names
        self._cells: list[str] = []
        self._values = array("d")
        self._words: dict[str, str] = {}  # of each column with words the first
        self._booleans = np.zeros(len(names), dtype=int)

    def add(self, cells: list[str]) -> None:
        """Take a row."""
        self._cells += cells
        if len(self._cells) >= CELLS:
            self._convert()

    def _convert(self) -> None:
        whole = "".join(self._cells)
        try:
            if not whole.isascii() or "_" in whole:  # numbers in Python, and nowhere else
                raise ValueError
            values = [float(cell) for cell in self._cells]
        except ValueError:
            columns = itertools.cycle(range(len(self.names)))
            values = [self._odd(*one) for one in zip(columns, self._cells, strict=False)]
        self._values.extend(values)
        self._cells = []

    def _odd(self, column: int, cell: str) -> float:
        """Return the number that a cell holds, one by one."""
        cell = cell.strip()
        if REAL.fullmatch(cell) or cell.lower().lstrip("+-") in INFINITE:
            return float(cell)
        if cell in TRUE or cell in FALSE:
            self._booleans[column] += 1
            return float(cell in TRUE)
        if cell not in MISSING:
            self._words.setdefault(self.names[column], cell)
        return math.nan

    def table(self, where: str) -> np.ndarray:
        """Return the numbers, or say which columns have others."""
        self._convert()
        values = np.frombuffer(self._values).reshape(-1, len(self.names))
        mixed = np.flatnonzero((self._booleans > 0) & (self._booleans < len(values)))
        for j in mixed:
            self._words.setdefault(self.names[j], "true and false beside other values")
        check_words(self._words, where)
        return values


def check_words(words: Mapping[str, object], where: str) -> None:
    """Say which columns are no numbers; `words` has an example of each."""
    if not words:
        return
    example = next(iter(words.values()))
    remedy = "make each category a 0/1 column (pandas.get_dummies), or data.ignore it"
    if isinstance(example, str) and GROUPED.fullmatch(example):
        remedy = "write numbers with a decimal point, and nothing between thousands"
    raise DataError(
        f"{where}: {len(words)} column(s) are categorical: {few(list(words))} (for example "
        f"{quoted(example)}); {remedy}"
    )


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
