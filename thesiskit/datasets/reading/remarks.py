"""What a user should know about a table: columns that say nothing, or name the cases, and so on.

Each remark is one line.  Nothing is changed by it.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from thesiskit.datasets.reading.numbers import DATE
from thesiskit.errors import few, quoted

LEAST = 10  # cases, from which on distinct values are remarkable
LOOKED_AT = 1 << 26  # bytes of a table whose rows are compared
NAMING = re.compile(r"(.*[ _.-])?(id|ids|nr|no|number|idx|index|uuid|barcode)", re.IGNORECASE)
MANY = 1000  # a count that is reached where the range of counts is large
RANGE = 10  # times the smallest count of a feature, in half of the features at least
DAYS = (19000101, 21001231)  # dates as numbers, such as 20240131
DROP = "data.ignore leaves it out, data.id makes it the names of the cases"


def missing_values(missing: np.ndarray) -> list[str]:
    """Say how many values are missing, of cases with features (n, p)."""
    (n, p), count = missing.shape, missing.sum()
    if not count:
        return []
    features, cases = missing.any(axis=0).sum(), missing.any(axis=1).sum()
    return [
        f"{count:,} value{'s are' if count > 1 else ' is'} missing ({missing.mean():.1%}), in "
        f"{features:,} of {p:,} features and {cases:,} of {n:,} cases"
    ]


def constant_columns(which: Iterable[int], names: Sequence[str]) -> list[str]:
    """Say which columns have one value, or none; they say nothing, and do no harm."""
    found = [_name(j, names) for j in which]
    if not found:
        return []
    columns = "1 column does" if len(found) == 1 else f"{len(found):,} columns do"
    return [f"{columns} not vary, and so can predict nothing: {few(found)}"]


def equal_rows(table: np.ndarray) -> list[str]:
    """Say how many cases have the features of a case before them."""
    if table.nbytes > LOOKED_AT:
        return []
    seen: dict[bytes, int] = {}
    again: list[tuple[int, int]] = []
    for number, row in enumerate(np.ascontiguousarray(table)):
        first = seen.setdefault(row.tobytes(), number)
        if first != number:
            again.append((first + 1, number + 1))
    if not again:
        return []
    cases = "1 case has" if len(again) == 1 else f"{len(again):,} cases have"
    return [
        f"{cases} the features of another case, such as cases {again[0][0]:,} and "
        f"{again[0][1]:,}; if they are copies, predictions of one know the other"
    ]


def cases_of_both(train: Sequence[str], test: Sequence[str]) -> list[str]:
    """Say which test cases have the name of a training case."""
    found = set(train) & set(test)
    both = [one for one in test if one in found]
    if not both:
        return []
    cases = "1 test case has" if len(both) == 1 else f"{len(both):,} test cases have"
    return [f"{cases} the name of a training case: {few(both)}; if they are the same, predictions "
            "of them say little"]  # fmt: skip


def naming_numbers(table: np.ndarray, names: Sequence[str]) -> list[str]:
    """Say which columns of numbers seem to name the cases, or to be dates."""
    if len(table) < LEAST or table.nbytes > LOOKED_AT:
        return []
    notes = []
    whole = np.ones(table.shape[1], dtype=bool)
    if table.dtype.kind == "f":
        whole = (table == np.floor(table)).all(axis=0)  # not where a value is missing
    for j in np.flatnonzero(whole):
        column, name = table[:, j].astype(float), _name(int(j), names)
        if column.min() >= DAYS[0] and column.max() <= DAYS[1] and _are_days(column):
            notes.append(f"column {quoted(name)} looks like dates ({column[0]:.0f}); {DROP}")
        elif len(np.unique(column)) == len(column) and (
            NAMING.fullmatch(name) or (np.diff(column) == 1).all()
        ):
            notes.append(f"column {quoted(name)} looks like numbers of the cases; {DROP}")
    return _some(notes)


def counts(table: np.ndarray) -> list[str]:
    """Say that numbers seem to be counts of a large range, which few large ones would rule."""
    if table.nbytes > LOOKED_AT:
        return []
    low, high = np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)
    if (low < 0).any() or not (high >= MANY).any():
        return []
    wide = RANGE * low.astype(float) <= high
    if 2 * wide.sum() < len(wide) or ((table != np.floor(table)) & (table == table)).any():
        return []
    return [
        f"whole numbers up to {np.nanmax(high):,.0f} and none below 0, as counts are; the normal "
        "model fits their logarithms, log2(x + 1), better"
    ]


def naming_texts(columns: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Say which columns of text seem to name the cases, or to be dates: name, and cells."""
    notes = []
    for name, cells in columns:
        values = set(cells)
        if len(cells) < LEAST or len(values) < 3:
            continue
        if all(DATE.fullmatch(one) for one in values):
            notes.append(f"column {quoted(name)} looks like dates ({min(values)}); {DROP}")
        elif len(values) == len(cells):
            notes.append(f"column {quoted(name)} differs in all cases, as names do; {DROP}")
    return _some(notes)


def _are_days(column: np.ndarray) -> bool:
    month, day = column // 100 % 100, column % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _name(j: int, names: Sequence[str]) -> str:
    return names[j] if len(names) else f"number {j + 1}"


def _some(notes: list[str], most: int = 3) -> list[str]:
    """Return a few notes, and how many there are besides."""
    more = len(notes) - most
    return notes if more <= 0 else [*notes[:most], f"{more:,} more columns look like these"]
