"""Tables with genes in rows, and responses that a table of their own has."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from thesiskit.datasets.reading.cells import read_cells
from thesiskit.datasets.reading.columns import (
    Wanted,
    check_column,
    check_ids,
    find_columns,
    name_columns,
    need_response,
)
from thesiskit.datasets.reading.content import Content
from thesiskit.datasets.reading.delimiters import text_suffix
from thesiskit.datasets.reading.numbers import Numbers, typed
from thesiskit.datasets.reading.text_files import shown
from thesiskit.errors import DataError, cut, few, quoted

TITLES = 5  # lines that may come before the names
TALL = 3  # times as many rows as columns, and a table is perhaps transposed


def read_matrix(path: Path, wanted: Wanted) -> Content:
    """Read a text table with a feature in each row: its name, then its value in each case.

    The first line names the cases.  The response is a row, unless a table of labels has it.
    """
    where = shown(path)
    if not text_suffix(path):
        raise DataError(
            f"{where}: data.orientation: genes-in-rows is for text, such as .csv and .tsv; write "
            "this with cases in rows"
        )
    if not wanted.header:
        raise DataError(f"{where}: the first line must name the cases; leave out data.header")
    need_response(wanted, where)
    header, rows = read_cells(path, corner=True)
    ids = check_ids([name.strip() for name in header[1:]], "the first line", where)
    others = {wanted.own_response, *wanted.ignore}
    features = None if wanted.features is None else set(wanted.features)
    numbers, labels = Numbers(ids, wanted.missing), None
    names: list[str] = []
    kept: list[int] = []  # places of the rows that are numbers
    for line, cells in rows:
        name = cells[0].strip()
        if name not in others if features is None else name in features:
            kept.append(len(names))
            numbers.add(cells[1:], line)
        elif name == wanted.own_response:
            labels = [cell.strip() for cell in cells[1:]]
        names.append(name)
    names = name_columns(names, where, "row")
    if not wanted.new and wanted.own_response is not None and labels is None:
        raise DataError(
            f"{where}: no row is called {quoted(wanted.response)}; if another table has the "
            "responses, name it with data.labels"
        )
    try:
        columns = find_columns(names, replace(wanted, id=None), where)
    except DataError as error:
        turned = wanted.new and set(wanted.features or ()) & set(ids)
        hint = "; the training table has genes in rows, and this has cases: transpose it"
        raise DataError(f"{error}{hint if turned else ''}") from None
    values, row = numbers.table(where), np.empty(len(names), dtype=np.intp)
    row[kept] = np.arange(len(kept))
    return Content(
        np.ascontiguousarray(values[row[columns.features]].T),
        None if labels is None or wanted.new else typed(labels),
        [names[j] for j in columns.features],
        ids,
        notes=columns.notes,
    )


def look_up(content: Content, wanted: Wanted, where: str) -> np.ndarray:
    """Return the responses of cases, which a table of labels has by their names.

    Raises
    ------
    DataError: cases without names, or that the labels do not have; columns that are not there.
    """
    assert wanted.labels is not None
    labels = shown(wanted.labels)
    if not content.ids:
        raise DataError(
            f"{where}: data.labels are found by the names of the cases; say with data.id which "
            "column has them"
        )
    if wanted.response is None:
        raise DataError(f"{labels}: say which column is the response with data.response")
    names, rows = read_cells(wanted.labels)
    check_column(wanted.response, names, labels)
    name = wanted.id if wanted.id in names else names[0]
    if name == wanted.response:
        raise DataError(
            f"{labels}: column {quoted(name)} would be the names of the cases and the response; "
            "say with data.id which column has the names"
        )
    place, response = names.index(name), names.index(wanted.response)
    cells = [(row[place].strip(), row[response].strip()) for _, row in rows]
    check_ids([one for one, _ in cells], name, labels)
    known = dict(cells)
    lacking = [one for one in content.ids if one not in known]
    if lacking:
        raise DataError(
            f"{labels}: column {quoted(name)} lacks {len(lacking):,} of the {len(content.ids):,} "
            f"cases of {cut(where)}: {few(lacking)}; add them, or leave these cases out"
        )
    return typed([known[one] for one in content.ids])


def transposed_hint(names: list[str], rows: Iterator[tuple[int, list[str]]], wanted: Wanted) -> str:
    """Say so where a table without the columns that are wanted seems to have genes in rows.

    Or where the line of names seems to come later.
    """
    first: list[str] = []
    try:
        for line, cells in rows:
            if len(first) < TITLES and wanted.response in [cell.strip() for cell in cells[1:]]:
                return f"; line {line} has it: take the lines before it out, if it has the names"
            first.append(cells[0].strip())
    except DataError as error:
        fault = str(error).partition(": ")[2]
        return f"; besides, {fault}" if "write.table" in fault else ""
    if wanted.new:
        turned = set(wanted.features or ()) & set(first)
        return (
            "; the training table has cases in rows, and this has not: transpose it"
            if turned
            else ""
        )
    remedy = "data.orientation: genes-in-rows reads a table with a gene in each row"
    if wanted.response not in names and wanted.response in first:
        return f"; a row is called so: {remedy}"
    if len(first) < TALL * len(names) or not _words(first):
        return ""
    return (
        f"; it has {len(first):,} named rows and {len(names):,} columns: {remedy}, "
        "data.labels names a table of responses"
    )


def _words(cells: list[str]) -> bool:
    """Whether cells are names: all different, and no numbers."""
    return len(set(cells)) == len(cells) and all(isinstance(one, str) for one in typed(cells))
