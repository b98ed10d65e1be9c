"""Sequences in FASTA files."""

import re

import numpy as np
import pytest

from thesiskit.datasets.sequences import read_sequences
from thesiskit.errors import DataError

RECORDS = ">r1 chr2 class=exon\nACG\nt\n\n>r2|intron\nGGCA*\n>r3 exon\nTTTT\n"


def fasta(tmp_path, text=RECORDS, name="t.fa"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_the_last_letter_of_a_record_is_its_response(tmp_path):
    found = read_sequences(fasta(tmp_path))
    assert found.states == ["A", "C", "G", "T"]
    assert [found.states[code] for code in found.histories[0]] == ["A", "C", "G"]
    assert [found.classes[code] for code in found.response] == ["T", "A", "T"]
    assert found.ids == ["r1", "r2", "r3"]


def test_the_label_of_a_record_is_its_response(tmp_path):
    found = read_sequences(fasta(tmp_path), predict="label")
    assert found.histories.shape == (3, 4)
    assert found.states == ["A", "C", "G", "T"]
    assert [found.classes[code] for code in found.response] == ["exon", "intron", "exon"]
    short = read_sequences(fasta(tmp_path), predict="label", length=2)
    assert np.array_equal(short.histories, found.histories[:, -2:])


def test_new_records_need_no_label(tmp_path):
    like = read_sequences(fasta(tmp_path), predict="label")
    text = ">a\nACGN\n>b intron\nacgt\n"
    new = read_sequences(fasta(tmp_path, text, "new.fasta"), like=like, predict="label", new=True)
    assert [new.states[code] for code in new.histories.ravel()] == list("ACGNACGT")
    assert new.ids == ["a", "b"]
    assert any("states that no training sample has" in note for note in new.notes)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("ACGT\n", {}, "line 1 is 'ACGT'; FASTA begins with a line of >"),
        ("", {}, "contains no sequences"),
        (">a\n>b\nAC\n", {}, "line 1 begins a sequence without letters"),
        (">a x\nAC\n>b\nAC\n", {"predict": "label"}, "line 3 has no label"),
        (">a x\nAC\n>b y\nACG\n", {"predict": "label"}, "history: N"),
        (RECORDS, {"header": True}, "FASTA has no line of names"),
    ],
)
def test_fasta_that_is_refused(tmp_path, text, options, words):
    with pytest.raises(DataError, match=re.escape(words)):
        read_sequences(fasta(tmp_path, text), **options)


def test_labels_are_for_fasta(tmp_path):
    (tmp_path / "t.txt").write_text("A C\nC A\n")
    with pytest.raises(DataError, match=r"data\.predict: label is for FASTA"):
        read_sequences(tmp_path / "t.txt", predict="label")
