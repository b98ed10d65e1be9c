"""Columns and frames in memory."""

import numpy as np
import pandas as pd
import pytest

from thesiskit.frame import MISSING_TEXTS, Column, Frame, encode, sorted_symbols


def test_other_names_leave_columns_in_their_places():
    frame = Frame.of(pd.DataFrame({"a": [1.5, 2], "b": [True, False], "c": [3.0, 4]}))
    renamed = frame.renamed(["x", "y", "z"])
    assert [column.values.tolist() for column in renamed.columns] == [[1.5, 2], [1, 0], [3, 4]]
    assert set(renamed.in_matrix) <= {"x", "y", "z"}
    if renamed.matrix is not None:
        for name, values in zip(renamed.in_matrix, renamed.matrix.T, strict=False):
            assert values.tolist() == renamed[name].values.tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.array([None, None], dtype="Int64"), [None, None]),
        (pd.array([2**60, None, 2**60 + 1], dtype="Int64"), [f"{2**60}", None, f"{2**60 + 1}"]),
        (pd.Categorical([3, None, 1]), ["3", None, "1"]),
        (pd.array([True, None], dtype="boolean"), ["True", None]),
        (pd.array([0.5, None], dtype="Float64"), ["0.5", None]),
        ([10**400, 1], [f"{10**400}", "1"]),
    ],
)
def test_columns_of_every_type_of_pandas(values, expected):
    column = Column.of_values("x", pd.Series(values))
    assert [text or None for text in column.strings()] == expected
    frame = Frame.of(pd.DataFrame({"x": pd.Series(values)}))
    assert [text or None for text in frame["x"].strings()] == expected


def test_each_symbol_has_one_code():
    for cells, symbols in ((["1", "1.0", "01", "2"], ["1", "2"]), (["TRUE", "true"], ["True"])):
        column = Column.of_texts("x", cells)
        codes, found = column.factorise()
        assert found == symbols == sorted_symbols(column)
        assert codes.max() == len(symbols) - 1
    assert encode(Column.of_texts("x", ["01", "A1", "1.0"]), ["01", "A1"]).tolist() == [0, 1, 0]


def test_some_rows_know_their_lines_and_what_is_no_value():
    lines = [4, 5, 7, 9]
    values = np.array([1, 2, [3], 4], dtype=object)
    frame = Frame([Column.of_values("x", values)], "t.csv", "line", lambda: lines)
    part = frame.take(np.array([0, 2, 3]))
    assert [part.place(row) for row in range(3)] == ["line 4", "line 7", "line 9"]
    assert part["x"].alien == (1, [3])
    assert frame.take(np.array([0, 1])).columns[0].alien is None


def test_missing_texts_are_missing_with_spaces_too():
    cells = [f" {text} " for text in MISSING_TEXTS]
    column = Column.of_texts("x", [*cells, "a"], missing=["none yet "])
    assert column.missing.tolist() == [True] * len(cells) + [False]
    assert Column.of_texts("x", ["none yet"], missing=["none yet "]).missing.all()
