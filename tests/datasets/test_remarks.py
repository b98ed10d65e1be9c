"""What is said about tables that can be read and are odd."""

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


def test_values_of_test_tables_that_no_training_sample_has(tmp_path):
    (tmp_path / "test.csv").write_text("size,y\nhuge,yes\n")
    source = SOURCES["table"].model_validate(
        {"source": "table", "path": "t.csv", "test_path": "test.csv", "response": "y"}
    )
    (tmp_path / "t.csv").write_text("size,y\nsmall,yes\nlarge,no\n")
    train, test = source.read(tmp_path)
    assert train.notes == []
    note = (
        "values that no training sample has, in 1 sample: 'size' is huge (in training large, small)"
    )
    assert test.notes == [f"test.csv: {note}"]


@pytest.mark.parametrize("kind", ["file", "table"])
def test_samples_that_are_in_both_tables(tmp_path, kind):
    (tmp_path / "t.csv").write_text("id,a,y\np1,1,0\np2,2,1\np3,2,0\n")
    (tmp_path / "test.csv").write_text("id,a,y\np2,2,1\np9,1,0\n")
    source = SOURCES[kind].model_validate({
        "source": kind, "path": "t.csv", "test_path": "test.csv", "response": "y", "id": "id"
    })  # fmt: skip
    _, test = source.read(tmp_path)
    (note,) = test.notes
    assert note.startswith("test.csv: 1 test sample has the name of a training sample: p2; if they")


def test_characters_that_belong_to_no_state(tmp_path):
    keys = {"history": 2, "train": 3, "states": {"V": "aeiou", "C": "bcdlnst"}}
    (note,) = notes(tmp_path, "text", "no, it is!! indeed", **keys)
    assert note.startswith("3 characters belong to none of data.states and are dropped")
    assert "most often '!', ','" in note
    assert notes(tmp_path, "text", "no it is", **keys) == []
    assert notes(tmp_path, "text", "no, it is!", history=2, train=3) == []


def test_states_that_no_training_sample_has(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a\nb,b,a\na,a,b\n")
    (tmp_path / "test.csv").write_text("a,c,a\n")
    source = SOURCES["sequences"].model_validate(
        {"source": "sequences", "path": "t.csv", "test_path": "test.csv"}
    )
    train, test = source.read(tmp_path)
    assert train.notes == []
    assert test.notes == ["test.csv: states that no training sample has, in 1 sample: c"]
