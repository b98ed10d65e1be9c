"""Samples without a response, read as those of a table, and the names of samples and classes."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import UNSEEN
from thesiskit.errors import DataError, UserError


def source(name, **keys):
    return SOURCES[name].model_validate({"source": name, **keys})


def write(tmp_path, content, name="t.csv"):
    (tmp_path / name).write_text(content)
    return tmp_path / name


TRAIN = "id,g1,g2,status\nann,1.5,0,sick\nbob,2.5,1,well\ncy,0.5,1,sick\n"
FILE = {"path": "t.csv", "response": "status", "positive": "sick", "id": "id"}


def test_names_of_samples_and_classes(tmp_path):
    write(tmp_path, TRAIN)
    (table,) = source("file", **FILE).read(tmp_path)
    assert table.ids == ["ann", "bob", "cy"]
    assert table.classes == ("well", "sick")
    assert table.names == ["g1", "g2"]
    (plain,) = source("file", path="t.csv", response="g2", ignore=["id", "status"]).read(tmp_path)
    assert (plain.classes, plain.ids) == (("0", "1"), [])
    (whole,) = source("file", **FILE | {"response": "g2", "positive": 1}, ignore=["status"]).read(
        tmp_path
    )
    assert whole.classes == ("0", "1")
    frame = pd.read_csv(tmp_path / "t.csv")
    frame.assign(g2=frame["g2"] == 1).to_parquet(tmp_path / "t.parquet")
    keys = {"path": "t.parquet", "response": "g2", "id": "id", "ignore": ["status"]}
    (table,) = source("file", **keys).read(tmp_path)
    assert (table.classes, table.ids) == (("False", "True"), ["ann", "bob", "cy"])


def test_a_test_table_has_names_of_its_own(tmp_path):
    write(tmp_path, TRAIN)
    write(tmp_path, "status,g2,id,g1\nsick,1,dan,3\n", "test.csv")
    _, test = source("file", **FILE, test_path="test.csv").read(tmp_path)
    assert (test.ids, test.classes) == (["dan"], ("well", "sick"))
    assert test.features.tolist() == [[3, 1]]


@pytest.mark.parametrize(
    ("content", "keys", "words"),
    [
        (TRAIN.replace("cy", "ann"), {}, "samples 1 and 3 are both named 'ann' in 'id'"),
        (TRAIN.replace("bob", " "), {}, r"sample 2 has no name in 'id' \(data.id\)"),
        (TRAIN, {"id": "status"}, "data.id and data.response are both 'status'"),
        (TRAIN, {"ignore": ["id"]}, "data.id and data.ignore are both 'id'"),
        (TRAIN, {"id": "idd"}, "no column 'idd'; did you mean 'id'"),
    ],
)
@pytest.mark.parametrize("kind", ["file", "table"])
def test_names_of_samples_that_cannot_be(tmp_path, kind, content, keys, words):
    write(tmp_path, content.replace(".5", ""))
    base = {name: value for name, value in FILE.items() if kind == "file" or name != "positive"}
    with pytest.raises(DataError, match=words):
        source(kind, **base | keys).read(tmp_path)


def test_new_samples_are_matched_by_name(tmp_path):
    write(tmp_path, TRAIN)
    data = source("file", **FILE)
    (table,) = data.read(tmp_path)
    text = "g2;note;g1;status;id\n1;x;9;well;eve\n0;y;7;?;fay\n"
    for name in ("new.csv", "new.txt", "new.csv.gz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        new = data.read_new(path, table)
        assert new.features.tolist() == [[9, 1], [7, 0]]
        assert (new.names, new.classes) == (table.names, table.classes)
        assert (new.ids, new.response.tolist()) == (["eve", "fay"], [0, 0])
        assert len(new.notes) == 2
        assert "the response 'status' of new samples is not used" in new.notes[0]
        assert "1 column dropped, not in the training table: note" in new.notes[1]
    plain = data.read_new(write(tmp_path, "g1,g2\n1,2\n", "plain.csv"), table)
    assert (plain.ids, plain.notes) == ([], [])
    frame = pd.DataFrame({"g2": [1.0], "more": ["x"], "g1": [4.0]})
    frame.to_parquet(tmp_path / "new.parquet")
    assert data.read_new(tmp_path / "new.parquet", table).features.tolist() == [[4, 1]]
    gap = data.read_new(write(tmp_path, "g1,g22\n1,2\n"), table)
    assert gap.lacking == {"g2": "; is its column 'g22' one of these?"}
    np.testing.assert_array_equal(gap.features, [[1, np.nan]])
    with pytest.raises(DataError, match=r"lacks 2 of the 2 features .*: g1, g2; .*'g11'"):
        data.read_new(write(tmp_path, "g11,g22\n1,2\n"), table)


def test_new_samples_of_discrete_features_have_the_codes_of_training(tmp_path):
    write(tmp_path, "id,size,form,y\na,small,1,no\nb,large,2,yes\nc,small,2,no\n")
    data = source("table", path="t.csv", response="y", id="id")
    (table,) = data.read(tmp_path)
    assert (table.features, table.ids) == (["size", "form"], ["a", "b", "c"])
    new = data.read_new(
        write(tmp_path, "form\tother\tsize\tid\n2.0\tx\tsmall\td\n7\tx\tNA\te\n", "n.tsv"), table
    )
    assert new.X.tolist() == [[1, 1], [-1, UNSEEN]]
    assert (new.ids, new.classes, new.values) == (["d", "e"], ["no", "yes"], table.values)
    assert new.response.tolist() == [0, 0]
    assert "1 column dropped" in new.notes[0]
    assert "values that no training sample has, in 1 sample: 'form' is 7" in new.notes[1]
    with pytest.raises(DataError, match="lacks 1 of the 2 features of the training table: form"):
        data.read_new(write(tmp_path, "size\nsmall\n", "n.csv"), table)


def test_discrete_features_in_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "size": ["small", None, "large"],
            "n": pd.array([1, 2, None], dtype="Int64"),
            "whole": [1.0, 2.0, np.nan],
            "truth": [True, False, True],
            "y": ["no", "yes", "no"],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    (table,) = source("table", path="t.parquet", response="y").read(tmp_path)
    assert table.values == [["large", "small"], ["1", "2"], ["1", "2"], ["False", "True"]]
    assert table.X.tolist() == [[1, 0, 0, 1], [-1, 1, 1, 0], [0, -1, -1, 1]]
    (tmp_path / "t.csv").write_text(frame.to_csv(index=False))
    (text,) = source("table", path="t.csv", response="y").read(tmp_path)
    assert text.digest == table.digest
    frame.assign(n=[0.5, 1.5, 2.5]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"column 'n' has real values \(0.5\)"):
        source("table", path="t.parquet", response="y").read(tmp_path)
    frame.assign(y=["no", None, "yes"]).to_parquet(tmp_path / "t.parquet")
    (fewer,) = source("table", path="t.parquet", response="y").read(tmp_path)
    assert fewer.X.tolist() == [[1, 0, 0, 0], [0, -1, -1, 0]]
    assert fewer.notes[0].endswith("t.parquet: 1 sample without a response dropped: row 2")


def test_new_histories(tmp_path):
    write(tmp_path, "ACGT\nCCGA\nGATT\n", "t.txt")
    data = source("sequences", path="t.txt", train=2)
    (samples,) = data.read(tmp_path)
    new = data.read_new(write(tmp_path, "ACG\nTTT\n", "new.txt"), samples)
    assert new.histories.tolist() == [[0, 1, 2], [3, 3, 3]]
    assert (new.response.tolist(), new.classes, new.notes) == ([0, 0], ["A", "T"], [])
    whole = data.read_new(tmp_path / "t.txt", samples)
    assert (whole.histories == samples.histories).all()
    assert "every line has one more state, the response" in whole.notes[0]
    odd = data.read_new(write(tmp_path, "ANG\nTTT\n", "new.txt"), samples)
    assert odd.histories.tolist() == [[0, 4, 2], [3, 3, 3]]
    assert odd.states == [*"ACGT", "N"]
    assert "states that no training sample has, in 1 sample: N" in odd.notes[0]
    with pytest.raises(DataError, match="line 2 has 2 states before the response"):
        data.read_new(write(tmp_path, "ACG\nTT\n", "new.txt"), samples)


def test_new_histories_of_other_lengths(tmp_path):
    write(tmp_path, "10,2,10\n2,3,2\n10,10,3\n", "t.txt")
    data = source("sequences", path="t.txt", train=2, history=1)
    (samples,) = data.read(tmp_path)
    new = data.read_new(write(tmp_path, "10\n3\n", "new.txt"), samples)
    assert [new.states[one] for one in new.histories[:, 0]] == ["10", "3"]
    long = data.read_new(write(tmp_path, "2,10\n3,3\n", "new.txt"), samples)
    assert [long.states[one] for one in long.histories[:, 0]] == ["10", "3"]


def test_histories_of_a_new_text(tmp_path):
    data = source("text", history=3, train=100)
    (samples,) = data.read(tmp_path)
    new = data.read_new(write(tmp_path, "to be or", "new.txt"), samples)
    symbols = ["".join(new.states[code] for code in row) for row in new.histories]
    assert symbols == ["CV_", "V_C", "_CV", "CV_", "V_V", "_VC"]
    assert new.classes == samples.classes


def test_sources_without_files_say_which_have_some(tmp_path):
    with pytest.raises(UserError, match="breast-cancer does not read new samples; file, table"):
        source("breast-cancer").read_new(Path("new.csv"), None)


# ---- delimiters ----


PLAIN = "a,b,y\n1,2.5,0\n-3e2,4,1\n"


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " ", "  "])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz"])
def test_delimiters_are_found(tmp_path, delimiter, suffix):
    content = PLAIN.replace(",", delimiter)
    if delimiter == "  ":  # columns that are aligned
        content = content.replace("\n", " \r\n ")
    path = tmp_path / f"t{suffix}"
    path.write_bytes(gzip.compress(content.encode()) if "gz" in suffix else content.encode())
    (table,) = source("file", path=path.name, response="y").read(tmp_path)
    assert table.features.tolist() == [[1, 2.5], [-300, 4]]
    assert (table.names, table.response.tolist()) == (["a", "b"], [0, 1])


def test_the_usual_delimiter_comes_first(tmp_path):
    write(tmp_path, "a;1,b;2,y\n1,2,0\n3,4,1\n")
    (table,) = source("file", path="t.csv", response="y").read(tmp_path)
    assert table.names == ["a;1", "b;2"]
    write(tmp_path, "a,1\tb,2\ty\nu,v\tw\tno\nu\tw\tyes\n", "t.tsv")
    (table,) = source("table", path="t.tsv", response="y").read(tmp_path)
    assert table.features == ["a,1", "b,2"]
    write(tmp_path, "my name,y\nfirst one,no\nsecond one,yes\n")
    (table,) = source("table", path="t.csv", response="y").read(tmp_path)
    assert table.values == [["first one", "second one"]]
    write(tmp_path, "x;y\n1,5;a\n2,5;b\n")
    with pytest.raises(DataError, match="decimal point"):
        source("table", path="t.csv", response="y").read(tmp_path)


# ---- cells that are no numbers ----


def test_a_category_among_numbers_is_named_with_its_place(tmp_path):
    rows = "".join(f"{j},{j / 2},{j % 2}\n" for j in range(5))
    write(tmp_path, "a,b,y\n" + rows + "7,n/d,0\n8,n/d,1\n")
    with pytest.raises(DataError) as caught:
        source("file", path="t.csv", response="y").read(tmp_path)
    message = str(caught.value)
    assert "line 7: 'n/d' in column 'b' is not a number (1 more such cell there)" in message
    assert "data.ignore the column" in message
    keys = {"path": "t.csv", "response": "y", "missing": ["n/d", "7"]}
    (table,) = source("file", **keys).read(tmp_path)
    assert np.argwhere(np.isnan(table.features)).tolist() == [[5, 0], [5, 1], [6, 1]]
    frame = pd.DataFrame({"b": ["1.5", "2", "n/d", "4", "5"], "y": [0, 1, 0, 1, 0]})
    frame.assign(c=7, d=range(5)).to_parquet(tmp_path / "t.parquet")
    (table,) = source("file", **keys | {"path": "t.parquet"}).read(tmp_path)
    assert table.features[:, 0].tolist()[:2] == [1.5, 2]
    assert np.isnan(table.features).sum(axis=0).tolist() == [1, 5, 0]
    with pytest.raises(DataError, match=r"data.missing is for text and Parquet"):
        source("file", **keys | {"path": "t.h5ad"}).read(tmp_path)
    with pytest.raises(DataError, match="row 3: 'n/d' in column 'b' is not a number"):
        source("file", path="t.parquet", response="y").read(tmp_path)
    write(tmp_path, "a,b,y\n1,2024-03-01,0\n2,2024-05-02,1\n3,2024-05-03,1\n")
    with pytest.raises(DataError, match=r"categorical: b .*'2024-03-01' in line 2.*convert them"):
        source("file", path="t.csv", response="y").read(tmp_path)
