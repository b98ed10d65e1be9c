"""What is said about tables that can be read and are odd."""

import numpy as np
import pandas as pd
import pytest

from thesiskit.datasets import SOURCES


def notes(folder, name, content=None, **keys):
    """Return the notes about a table of the source `name`, without the name of the file."""
    if content is not None:
        (folder / "t.csv").write_text(content)
    source = SOURCES[name].model_validate({"source": name, "path": "t.csv", **keys})
    found = [note for one in source.read(folder) for note in one.notes]
    assert all(note.startswith("t.csv: ") and "\n" not in note for note in found)
    return [note.removeprefix("t.csv: ") for note in found]


def frame(n=12):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc")).assign(y=np.arange(n) % 2)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"a": 7, "b": 0}, ["2 columns do not vary, and so can predict nothing: a, b"]),
        (
            {"a": np.nan, "b": [np.nan, *[1] * 11]},
            ["13 values are missing", "2 columns do not vary"],
        ),
        ({"a": np.arange(100, 112)}, ["column 'a' looks like numbers of the cases; data.ignore"]),
        ({"patient_id": np.arange(12)[::-1] * 7}, ["'patient_id' looks like numbers of the cases"]),
        ({"seen": 20240110 + np.arange(12)}, ["column 'seen' looks like dates (20240110)"]),
        ({"count": np.arange(12)[::-1] * 7}, []),
        ({"grade": np.arange(12) % 5}, []),
    ],
)
def test_odd_columns_of_numbers(tmp_path, change, expected):
    said = notes(tmp_path, "file", frame().assign(**change).to_csv(index=False), response="y")
    assert all(any(words in note for note in said) for words in expected), said
    assert bool(said) == bool(expected)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda X: X, True),
        (lambda X: np.where(X == 3, np.nan, X), True),
        (lambda X: X - 1, False),  # some are below 0
        (lambda X: X + 0.5, False),
        (lambda X: np.log2(X + 1), False),
        (lambda X: X + 100_000, False),  # a range that is not large
        (lambda X: X % 256, False),  # as of pixels
        (lambda X: 20 * np.arange(160).reshape(20, 8), True),
        (lambda X: np.tile([35, 1990, 400, 9000], (20, 2)) + np.arange(20)[:, None], False),
    ],
)
def test_counts_of_a_large_range(tmp_path, change, counts):
    rng = np.random.default_rng(3)
    X = change(rng.poisson(np.exp(rng.normal(2, 3, (20, 8)))).astype(float))
    table = pd.DataFrame(X, columns=list("abcdefgh")).assign(y=np.arange(20) % 2)
    said = notes(tmp_path, "file", table.to_csv(index=False), response="y")
    assert any("log2(x + 1)" in note for note in said) == counts


def test_equal_cases(tmp_path):
    table = frame()
    table = pd.concat([table, table[2:5].assign(y=1)])
    (note,) = notes(tmp_path, "file", table.to_csv(index=False), response="y")
    assert "3 cases have the features of another case, such as cases 3 and 13" in note


def test_odd_columns_of_texts(tmp_path):
    table = pd.DataFrame({
        "size": ["small", "large"] * 6, "code": [f"k{j}" for j in range(12)],
        "day": [f"2024-03-{1 + j % 4:02}" for j in range(12)], "same": "x",
        "gap": ["u", None, "w"] * 4, "y": ["no", "yes"] * 6,
    })  # fmt: skip
    said = notes(tmp_path, "table", table.to_csv(index=False), response="y")
    assert len(said) == 4
    for words, note in zip(
        ("4 values are missing", "1 column does not vary, and so can predict nothing",
         "'code' differs in all cases, as names do", "'day' looks like dates (2024-03-01)"),
        said, strict=True,
    ):  # fmt: skip
        assert words in note
    plain = table[["size", "gap", "y"]].to_csv(index=False)
    assert any("cases have the features of" in one for one in notes(
        tmp_path, "table", plain, response="y"))  # fmt: skip


def test_values_of_test_tables_that_no_training_case_has(tmp_path):
    (tmp_path / "test.csv").write_text("size,y\nhuge,yes\n")
    source = SOURCES["table"].model_validate(
        {"source": "table", "path": "t.csv", "test_path": "test.csv", "response": "y"}
    )
    (tmp_path / "t.csv").write_text("size,y\nsmall,yes\nlarge,no\n")
    train, test = source.read(tmp_path)
    assert train.notes == []
    assert test.notes == ["test.csv: values that no training case has, in 1 case: 'size' is huge"]


@pytest.mark.parametrize("kind", ["file", "table"])
def test_cases_that_are_in_both_tables(tmp_path, kind):
    (tmp_path / "t.csv").write_text("id,a,y\np1,1,0\np2,2,1\np3,2,0\n")
    (tmp_path / "test.csv").write_text("id,a,y\np2,2,1\np9,1,0\n")
    source = SOURCES[kind].model_validate({
        "source": kind, "path": "t.csv", "test_path": "test.csv", "response": "y", "id": "id"
    })  # fmt: skip
    _, test = source.read(tmp_path)
    (note,) = test.notes
    assert note.startswith("test.csv: 1 test case has the name of a training case: p2; if they")


def test_characters_that_belong_to_no_state(tmp_path):
    keys = {"history": 2, "train": 3, "states": {"V": "aeiou", "C": "bcdlnst"}}
    (note,) = notes(tmp_path, "text", "no, it is!! indeed", **keys)
    assert note.startswith("3 characters belong to none of data.states and are dropped")
    assert "most often '!', ','" in note
    assert notes(tmp_path, "text", "no it is", **keys) == []
    assert notes(tmp_path, "text", "no, it is!", history=2, train=3) == []


def test_states_that_no_training_case_has(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a\nb,b,a\na,a,b\n")
    (tmp_path / "test.csv").write_text("a,c,a\n")
    source = SOURCES["sequences"].model_validate(
        {"source": "sequences", "path": "t.csv", "test_path": "test.csv"}
    )
    train, test = source.read(tmp_path)
    assert train.notes == []
    assert test.notes == ["test.csv: states that no training case has, in 1 case: c"]
