"""Tables with genes in rows, and responses in a table of their own."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thesiskit.datasets import SOURCES
from thesiskit.datasets.tables import read_table
from thesiskit.errors import DataError

MATRIX = "gene,s1,s2,s3\nTP53,1.5,2.5,\nMYC,7,8,9\n"
LABELS = "age,sample,status\n50,s3,sick\n60,s1,well\n70,s2,sick\n80,s9,well\n"
KEYS = {"path": "m.csv", "orientation": "genes-in-rows", "response": "status", "positive": "sick"}
WITH = KEYS | {"labels": "labels.csv", "id": "sample"}


def source(**keys):
    return SOURCES["file"].model_validate({"source": "file", **keys})


def write(folder, content, name="m.csv"):
    (folder / name).write_text(content)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, MATRIX)
    write(tmp_path, LABELS, "labels.csv")
    return tmp_path


def test_genes_in_rows_with_labels(folder):
    (table,) = source(**WITH).read(folder)
    np.testing.assert_array_equal(table.features, [[1.5, 7], [2.5, 8], [np.nan, 9]])
    assert (table.names, table.ids) == (["TP53", "MYC"], ["s1", "s2", "s3"])
    assert (table.response.tolist(), table.classes) == ([0, 1, 1], ("well", "sick"))
    assert table.missing == 1
    write(folder, LABELS.replace("age,sample", "sample,age").replace("50,s3", "s3,50")
          .replace("60,s1", "s1,60").replace("70,s2", "s2,70").replace("80,s9", "s9,80"),
          "labels.csv")  # fmt: skip
    (first,) = source(**{k: v for k, v in WITH.items() if k != "id"}).read(folder)
    assert first.response.tolist() == [0, 1, 1]


def test_genes_in_rows_as_r_writes_them(folder):
    text = MATRIX.removeprefix("gene,").replace(",", "\t")
    (folder / "m.txt.gz").write_bytes(gzip.compress(text.encode()))
    (plain,) = source(**WITH).read(folder)
    (table,) = source(**WITH | {"path": "m.txt.gz"}).read(folder)
    np.testing.assert_array_equal(table.features, plain.features)
    assert (table.names, table.ids) == (plain.names, plain.ids)


def test_the_response_is_a_row(folder):
    write(folder, MATRIX + "status,well,sick,sick\nbatch,a,b,a\n")
    (table,) = source(**KEYS, ignore=["batch"]).read(folder)
    assert (table.response.tolist(), table.names) == ([0, 1, 1], ["TP53", "MYC"])
    with pytest.raises(DataError, match=r"'status'; .*; a row has this name: data.orientation"):
        source(path="m.csv", response="status", positive="sick").read(folder)
    new = source(**KEYS, ignore=["batch"]).read_new(folder / "m.csv", table)
    np.testing.assert_array_equal(new.features, table.features)
    assert "'status' of new samples is not used" in new.notes[0]


def test_new_samples_with_genes_in_rows(folder):
    data = source(**WITH)
    (table,) = data.read(folder)
    write(folder, ";n1;n2\nMYC;1;2\nOTHER;x;y\nTP53;3;4\n", "new.csv")
    new = data.read_new(folder / "new.csv", table)
    assert new.features.tolist() == [[3, 1], [4, 2]]
    assert (new.ids, new.classes) == (["n1", "n2"], ("well", "sick"))
    assert "dropped, not in the training table: OTHER" in new.notes[0]


def test_new_samples_the_other_way_round(folder):
    data = source(**WITH)
    (table,) = data.read(folder)
    write(folder, "id,TP53,MYC\nn1,1,2\n", "new.csv")
    with pytest.raises(DataError, match=r"lacks 2 of the 2 features .*has genes in rows, and this"):
        data.read_new(folder / "new.csv", table)
    write(folder, "sample,TP53,MYC,status\ns2,1,2,sick\ns1,3,4,well\n", "rows.csv")
    keys = {"path": "rows.csv", "response": "status", "positive": "sick", "id": "sample"}
    data = source(**keys)
    with pytest.raises(
        DataError, match=r"has samples in rows, and this has not. Fix: transpose it"
    ):
        data.read_new(folder / "m.csv", data.read(folder)[0])


def test_labels_of_samples_in_rows(folder):
    write(folder, "sample,g1,g2\ns2,1,2\ns1,3,4\n")
    keys = {name: value for name, value in WITH.items() if name != "orientation"}
    (table,) = source(**keys).read(folder)
    assert (table.response.tolist(), table.ids) == ([1, 0], ["s2", "s1"])
    frame = pd.DataFrame({"sample": ["s2", "s1"], "g1": [1.0, 3.0]})
    frame.to_parquet(folder / "m.parquet")
    (table,) = source(**keys | {"path": "m.parquet"}).read(folder)
    assert table.response.tolist() == [1, 0]
    with pytest.raises(DataError, match=r"Fix: name the column of IDs in data.id"):
        source(**{k: v for k, v in keys.items() if k != "id"}, ignore=["sample"]).read(folder)


@pytest.mark.parametrize(
    ("matrix", "labels", "keys", "words"),
    [
        (
            MATRIX,
            LABELS.replace("s1", "s7"),
            {},
            "'sample' lacks 1 of the 3 samples of .*: s1. Fix: add",
        ),
        (MATRIX, LABELS.replace("s9", "s1"), {}, "samples 2 and 4 are both named 's1'"),
        (MATRIX, LABELS, {"response": "state"}, "no column 'state'; did you mean 'status'"),
        (MATRIX, LABELS, {"response": "sample"}, "both sample ID and response"),
        (MATRIX, LABELS, {"path": "labels.h5ad"}, "genes-in-rows is for text"),
        (MATRIX.replace("MYC", "TP53"), LABELS, {}, "two rows are named 'TP53'. Fix: rename one"),
        (MATRIX.replace("s3", "s1"), LABELS, {}, "samples 1 and 3 are both named 's1'"),
        (MATRIX.replace("7", "high"), LABELS, {}, "sample s1: 'high' in column 'MYC'"),
        (MATRIX.replace(",8,9", ",8"), LABELS, {}, "line 3 has 3 cells, the line of names 4"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_said(folder, matrix, labels, keys, words):
    write(folder, matrix)
    write(folder, labels, "labels.csv")
    (folder / "labels.h5ad").touch()
    with pytest.raises(DataError, match=words) as caught:
        source(**WITH | keys).read(folder)
    assert len(str(caught.value)) < 400


def test_a_table_that_looks_transposed(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 9)).round(2), index=[f"gene{j}" for j in range(60)])
    frame.to_csv(tmp_path / "m.csv", index_label="gene")
    with pytest.raises(DataError, match=r"60 named rows and 10 columns: data.orientation: genes"):
        source(path="m.csv", response="status").read(tmp_path)
    frame.T.to_csv(tmp_path / "m.csv", index_label="gene")
    with pytest.raises(DataError) as caught:
        source(path="m.csv", response="status").read(tmp_path)
    assert "orientation" not in str(caught.value)


def test_parquet_texts_are_bounded_before_they_are_repeated(tmp_path):
    table = pa.table({"x": np.arange(3000.0), "z": ["a" * 10**6] * 3000, "y": ["u", "v"] * 1500})
    pq.write_table(table, tmp_path / "t.parquet", compression="gzip")
    assert (tmp_path / "t.parquet").stat().st_size < 20_000
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        read_table(tmp_path / "t.parquet", "y", positive="u")


def test_parquet_of_compressed_numbers_is_bounded(tmp_path):
    column = pa.array([[0.0] * 40_000] * 1000)
    table = pa.table({"x": np.arange(1000.0), "z": column, "y": ["u", "v"] * 500})
    pq.write_table(table, tmp_path / "t.parquet", compression="gzip", use_dictionary=False)
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        read_table(tmp_path / "t.parquet", "y", positive="u")


@pytest.mark.parametrize("year", [2 * 10**4, -(10**4)])
def test_parquet_times_of_far_years(tmp_path, year):
    when = pa.array([int((year - 1970) * 3.2e13), 1, 2, 3], pa.timestamp("us", tz="UTC"))
    table = pa.table({"x": [1.0, 2, 3, 4], "z": when, "y": ["u", "v"] * 2})
    pq.write_table(table, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", "y", positive="u", ignore=("z",))
    assert found.features.shape == (4, 1)
    with pytest.raises(DataError, match="1 column is categorical: z"):
        read_table(tmp_path / "t.parquet", "y", positive="u")


def test_parquet_lists_are_no_names_of_samples(tmp_path):
    table = pa.table({"x": [1.0, 2], "z": pa.array([[1], []]), "y": ["u", "v"]})
    pq.write_table(table, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", "y", positive="u", id="z")
    assert found.ids == ["[1]", "[]"]
