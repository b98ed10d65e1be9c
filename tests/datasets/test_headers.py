"""Tables without a line of names."""

import pytest

from thesiskit.datasets.features import TableData
from thesiskit.datasets.tables import FileData
from thesiskit.errors import DataError


def test_tables_without_a_line_of_names(tmp_path):
    (tmp_path / "t.csv").write_text("1.5,a,0\n2.5,b,1\n3.5,a,1\n")
    (tmp_path / "new.csv").write_text("9.5,b\n")
    data = {"source": "file", "path": "t.csv", "header": False, "response": "x3", "ignore": ["x2"]}
    source = FileData.model_validate(data)
    (table,) = source.read(tmp_path)
    assert table.names == ["x1"]
    assert table.features.ravel().tolist() == [1.5, 2.5, 3.5]
    assert table.response.tolist() == [0, 1, 1]
    new = source.read_new(tmp_path / "new.csv", table)
    assert new.features.ravel().tolist() == [9.5]
    (tmp_path / "ragged.csv").write_text("1,u,0\n1,u,0,1\n")
    with pytest.raises(DataError, match="line 2 has 4 cells, the first line 3"):
        source.model_copy(update={"path": "ragged.csv"}).read(tmp_path)
    with pytest.raises(DataError, match=r"data\.header is not for"):
        source.model_copy(update={"path": "t.h5ad"}).read(tmp_path)


def test_discrete_tables_without_a_line_of_names(tmp_path):
    (tmp_path / "t.csv").write_text("u,a,0\nv,b,1\nu,a,1\n")
    (tmp_path / "new.csv").write_text("v,b\n")
    data = {"source": "table", "path": "t.csv", "header": False, "response": "x3"}
    source = TableData.model_validate(data)
    (table,) = source.read(tmp_path)
    assert table.features == ["x1", "x2"]
    assert len(table.X) == 3
    new = source.read_new(tmp_path / "new.csv", table)
    assert new.X.tolist() == [[1, 1]]
