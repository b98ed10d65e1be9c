"""A megabyte of one character, or of two, in every file that is read: the time grows as its size.

What takes time that is the square of the size does not end within the harness's minute.
"""

import itertools
import string
import sys
from functools import partial
from pathlib import Path

import pytest
from harness import Tally, command

from thesiskit.datasets import SOURCES
from thesiskit.datasets.features import read_features
from thesiskit.datasets.reading import Wanted, look_up
from thesiskit.datasets.sequences import read_sequences
from thesiskit.datasets.tables import read_table
from thesiskit.errors import ThesiskitError
from thesiskit.start import Hints, draft_config
from thesiskit.yamlfile import read_yaml

SIZE, SMALLER = 1_000_000, 300_000  # of the quick test
FEW = (" ", "\t", "0", ",", " \t", "0.", "a ")
MARKS = " \t\n\r,;.:'\"#-+[{(0aEé=>|&*!%@`_\\/\xa0\x0b"
LINES = [f"{i % 7},{i % 5},{'uv'[i % 2]}" for i in range(40)]
LETTERS = "A,C,G,A\n" * 29


def files(text: str) -> dict[str, tuple[str, str, object]]:
    """Return files with the text: name, content, and what reads the file."""
    cells = ["a,b,y", *LINES[:20], f"1,{text},u", *LINES[20:]]
    short = ["a,b,y", *LINES[:20], f"1,{text[:100_000]}x,u", *LINES[20:]]
    classes = partial(read_table, response="y")
    comma = partial(read_table, response="y", decimal=",", thousands=".")
    labels = Wanted("y", labels=Path("labels.csv"))

    def draft(path):
        return draft_config(path, Hints(), path.parent)

    def plink(path):
        Path("t.bim").write_text(f"1 {text} 0 1 A C\n")
        Path("t.bed").write_bytes(b"\x6c\x1b\x01\x00")
        return SOURCES["plink"].model_validate({"source": "plink", "path": "t.bed"}).read(Path())

    return {
        "cell": ("t.csv", "\n".join(cells), classes),
        "shorter cell": ("t.csv", "\n".join(short), classes),
        "cell between spaces": ("t.txt", "\n".join(cells).replace(",", " "), classes),
        "cell between tabs": ("t.tsv", "\n".join(cells).replace(",", "\t"), classes),
        "decimal comma": ("t.csv", "\n".join(short).replace(",", ";"), comma),
        "category": ("t.csv", "\n".join(short), partial(read_features, response="y")),
        "name": ("t.csv", "\n".join([f"a,{text},y", *LINES]), classes),
        "table": ("t.csv", text, draft),
        "sequences between blanks": ("t.txt", f"{LETTERS.replace(',', ' ')}A{text}C\n",
                                     read_sequences),
        "sequences between commas": ("t.csv", f"{LETTERS}A,{text},C\n", read_sequences),
        "FASTA": ("t.fa", f">a x\nACG\n>{text} y\nAC{text}G\n",
                  partial(read_sequences, predict="label")),
        "config": ("t.yaml", text[:-10], read_yaml),
        "value of a config": ("t.yaml", f"a: {text[:-10]}", read_yaml),
        "labels": ("labels.csv", f"id,y\na,1\nb,{text}\n",
                   lambda _: look_up(["a", "b"], labels, "t.csv")),
        "PLINK": ("t.fam", f"f s 0 0 1 {text}\n", plink),
    }  # fmt: skip


def fuzz(folder: Path, patterns, size: int = SIZE) -> Tally:
    tally = Tally("megabytes of a character")
    for pattern in patterns:
        for kind, (name, content, read) in files(pattern * (size // len(pattern))).items():
            (folder / name).write_text(content, encoding="utf-8", newline="")

            def main(arguments, read=read, name=name):
                try:
                    read(Path(name))
                except ThesiskitError as error:
                    print(f"Error: {error}", file=sys.stderr)
                    raise SystemExit(1) from None

            done = command(folder=folder, results=folder, main=main)
            tally.add(f"{kind} {pattern!r}", done)
    return tally


def test_a_megabyte_of_a_character(tmp_path, record_property):
    fuzz(tmp_path, FEW, SMALLER).check(record_property)


@pytest.mark.slow
def test_each_character(tmp_path, record_property):
    fuzz(tmp_path, string.printable).check(record_property)


@pytest.mark.slow
@pytest.mark.parametrize("first", MARKS)
def test_pairs_of_characters(tmp_path, first, record_property):
    pairs = map("".join, itertools.product(first, MARKS))
    fuzz(tmp_path, pairs).check(record_property)
