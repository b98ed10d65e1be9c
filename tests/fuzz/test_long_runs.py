"""A megabyte of one character, or of two, in every file that is read: the time grows as its size.

What takes time that is the square of the size does not end within the harness's minute.
"""

import itertools
import os
import string
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest
from harness import Job, Tally, commands

from thesiskit.datasets import SOURCES
from thesiskit.datasets.features import read_features
from thesiskit.datasets.reading import Wanted, look_up
from thesiskit.datasets.sequences import read_sequences
from thesiskit.datasets.tables import read_table
from thesiskit.errors import ThesiskitError
from thesiskit.start import Hints, draft_config
from thesiskit.yamlfile import read_yaml

SIZE, SMALLER = 1_000_000, 300_000  # of the quick test
SCREENED = 65_536  # of the pairs of characters
FEW = (" ", "\t", "0", ",", " \t", "0.", "a ")
MARKS = " \t\n\r,;.:'\"#-+[{(0aEné=>|&*!%@`_\\/\xa0\x0b~?"
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


KINDS = tuple(files(""))


def job(kind: str, pattern: str, size: int, folder: Path) -> Job:
    """Return the job that writes a file of some kind in a folder's results, and reads it."""
    folder = folder / "results"

    def main(arguments: list[str]) -> None:
        name, content, read = files(pattern * (size // len(pattern)))[kind]
        os.chdir(folder)
        Path(name).write_text(content, encoding="utf-8", newline="")
        started = time.process_time()
        try:
            read(Path(name))
        except ThesiskitError as error:
            print(f"Error: {error}", file=sys.stderr)
            raise SystemExit(1) from None
        finally:
            print(time.process_time() - started)

    return Job((), folder.parent, main)


def fuzz(folder: Path, patterns: Iterable[str], size: int = SIZE, kinds=KINDS) -> Tally:
    """Read files of some kinds which a pattern fills; the tally has the seconds of each."""
    tally = Tally(f"files of {size:,} bytes of a character or two")
    (folder / "results").mkdir(exist_ok=True)
    for pattern in patterns:
        for kind, done in zip(kinds, commands([job(kind, pattern, size, folder) for kind in kinds],
                                              folder), strict=True):  # fmt: skip
            tally.add(f"{kind} {pattern!r}", done)
            tally.spent[kind, pattern] = float(done.output or "inf")
    return tally


def test_a_megabyte_of_a_character(tmp_path, record_property):
    fuzz(tmp_path, FEW, SMALLER).check(record_property)


@pytest.mark.slow
def test_each_character(tmp_path, record_property):
    fuzz(tmp_path, string.printable).check(record_property)


@pytest.mark.slow
@pytest.mark.parametrize("first", MARKS)
def test_pairs_of_characters(tmp_path, first, record_property):
    """All pairs in smaller files, and of each kind of file the slowest ones in full size."""
    pairs = list(map("".join, itertools.product(first, MARKS)))
    small = fuzz(tmp_path, pairs, SCREENED)
    small.check(record_property)
    for kind in KINDS:
        slowest = sorted(pairs, key=lambda pair: small.spent[kind, pair])[-3:]
        fuzz(tmp_path, slowest, kinds=(kind,)).check(record_property)
