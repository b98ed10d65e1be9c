"""Columns of words, and numbers as other countries write them, in users' tables."""

import numpy as np
import pandas as pd
import pytest

from thesiskit.datasets import SOURCES
from thesiskit.datasets.tables import read_table
from thesiskit.errors import DataError

SEX, STAGE = list("MFMMFFMFMF"), ["I", "II", "III", "", "I", "II", "III", "I", "II", "III"]
FILE = {"source": "file", "path": "t.csv", "response": "y"}


def written(folder, name="t.csv", **columns):
    n = len(next(iter(columns.values())))
    frame = pd.DataFrame({"g": np.arange(n) / 2, **columns})
    frame.to_parquet(folder / name) if name.endswith("parquet") else frame.to_csv(
        folder / name, index=False
    )
    return folder / name


def source(**keys):
    return SOURCES["file"].model_validate(FILE | keys)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_words_become_columns_of_0_and_1(tmp_path, name):
    written(tmp_path, name, sex=SEX, stage=STAGE, y=[0, 1] * 5)
    (table,) = source(path=name).read(tmp_path)
    assert table.names == ["g", "sex", "stage=I", "stage=II", "stage=III"]
    assert table.encoder.coding == {"sex": ["F", "M"], "stage": ["I", "II", "III"]}
    assert table.encoder.names == ["g", "sex", "stage"]
    np.testing.assert_array_equal(table.features[:, 1], [one == "M" for one in SEX])
    for j, word in enumerate(("I", "II", "III"), start=2):
        expected = [np.nan if one == "" else one == word for one in STAGE]
        np.testing.assert_array_equal(table.features[:, j], expected)
    assert f"{name}: Recoded: sex (F = 0, M = 1)" in table.notes
    assert f"{name}: Dummy-coded: stage (I, II, III)" in table.notes
    assert sum("stage" in note for note in table.notes) == 1
    assert table.aside["stage"] == STAGE  # the check of the table sees the words


def test_new_samples_have_the_codes_of_the_training_table(tmp_path):
    written(tmp_path, sex=SEX, stage=STAGE, y=[0, 1] * 5)
    (table,) = source().read(tmp_path)
    path = written(tmp_path, "new.csv", stage=["III", "IV", "I"], sex=["M", "", "1"])
    new = source().read_new(path, table)
    gap = np.nan
    np.testing.assert_array_equal(
        new.features,
        [[0, 1, 0, 0, 1], [0.5, gap, gap, gap, gap], [1, gap, 1, 0, 0]],
    )
    note = (
        "new.csv: values that no training sample has, in 2 samples: 'sex' is 1 (in training F, M); "
        "'stage' is IV (in training I, II, III); they count as missing"
    )
    assert note in new.notes
    path = written(tmp_path, "new.csv", sex=["M"] * 3, stage=["II"] * 3)
    path.write_text(path.read_text().replace("0.5", "x").replace("1.0", "x"))
    with pytest.raises(DataError, match=r"categorical: g .*as in the training table"):
        source().read_new(path, table)
    # all samples have one word: it has the code of the training table
    path = written(tmp_path, "new.csv", sex=["M"] * 3, stage=["II"] * 3)
    assert source().read_new(path, table).features[:, 1:].tolist() == [[1, 0, 1, 0]] * 3
    # and so have test samples
    written(tmp_path, "test.csv", sex=["M", "M"], stage=["II", "I"], y=[0, 1])
    _, test = source(test_path="test.csv").read(tmp_path)
    assert (test.names, test.features[:, 1].tolist()) == (table.names, [1, 1])


def test_what_is_no_category_is_refused_with_its_name(tmp_path):
    for words, said in (
        ([f"w{i % 5}" for i in range(10)], "categorical: x .*at most 20 categories"),
        (["1,5", "2,5"] * 5, "categorical: x .*data.decimal"),
        (["5 mg", "6 mg", "7 mg"] * 3 + ["5 mg"], "write numbers without"),
        (["2024-01-01", "2024-01-02"] * 5, "add the dates to data.ignore"),
        (["a", "b"] * 4 + ["1", "2"], "categorical: x"),
    ):
        written(tmp_path, x=words, y=[0, 1] * 5)
        with pytest.raises(DataError, match=said):
            source().read(tmp_path)
    written(tmp_path, stage=STAGE, y=[0, 1] * 5, **{"stage=I": range(10)})
    with pytest.raises(DataError, match="two columns are named 'stage=I'"):
        source().read(tmp_path)


def test_messages_name_eight_columns(tmp_path):
    words = {f"x{j}": [f"w{i % 5}" for i in range(10)] for j in range(20)}
    written(tmp_path, **words, y=[0, 1] * 5)
    with pytest.raises(DataError, match="x0, x1, x2, x3, x4, x5, x6, x7 and 12 more"):
        source().read(tmp_path)


# ---- numbers ----


@pytest.mark.parametrize(
    ("decimal", "thousands", "cells", "expected"),
    [
        (",", None, ["1,5", "-,25", "2", "3,0e2"], [1.5, -0.25, 2, 300]),
        (",", ".", ["1.234,5", "12.000", "1234", "0,5"], [1234.5, 12000, 1234, 0.5]),
        (".", "'", ["1'234.5", "12'345'678", "7", "NA"], [1234.5, 12345678, 7, np.nan]),
        (".", ",", ["1,234.5", "12,000", "3.25", "."], [1234.5, 12000, 3.25, np.nan]),
    ],
)
def test_numbers_as_a_table_writes_them(tmp_path, decimal, thousands, cells, expected):
    text = "g;y\n" + "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(cells))
    (tmp_path / "t.csv").write_text(text)
    data = source(decimal=decimal, thousands=thousands, missing=["."])
    (table,) = data.read(tmp_path)
    np.testing.assert_array_equal(table.features[:, 0], expected)
    new = data.read_new(tmp_path / "t.csv", table)
    np.testing.assert_array_equal(new.features, table.features)


@pytest.mark.parametrize(
    ("keys", "cell"),
    [({"decimal": ","}, "1.5"), ({"decimal": ",", "thousands": "."}, "1.5"),
     ({"thousands": ","}, "1,5"), ({"thousands": ","}, "12,34,567")],
)  # fmt: skip
def test_a_number_written_otherwise_is_not_believed(tmp_path, keys, cell):
    rows = "".join(f"{i};{i % 2}\n" for i in range(6))
    (tmp_path / "t.csv").write_text(f"g;y\n{rows}{cell};1\n")
    with pytest.raises(DataError, match=f"g .*'{cell}'|'{cell}'\"? in column 'g'"):
        source(**keys).read(tmp_path)


def test_marks_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match=r"both '\.'; perhaps decimal is ','"):
        source(thousands=".")
    with pytest.raises(DataError, match=r"data\.decimal is for text and Parquet"):
        read_table(tmp_path / "t.h5ad", "y", decimal=",")


def test_real_responses_have_a_decimal_comma_too(tmp_path):
    rows = "".join(f"{'ab'[i % 2]};{i},5\n" for i in range(6))
    (tmp_path / "t.csv").write_text(f"form;y\n{rows}")
    keys = {"source": "table", "path": "t.csv", "response": "y", "decimal": ","}
    (table,) = SOURCES["table"].model_validate(keys).read(tmp_path, continuous=True)
    assert table.response.tolist() == [i + 0.5 for i in range(6)]
