"""Odd tables go through `thesiskit init` and `thesiskit run`: an answer, or one refusal."""

from contextlib import nullcontext

import pytest
from click.testing import CliRunner
from odd_tables import TABLES
from sketched import drawn

from thesiskit.cli import main

PART = {"selection": "methods", "logistic": "parameters"}  # quickly made
# names, and numbers of samples and classes, that the drawing of a figure could stumble over; names
# are written to files for print, too
NAMED = ("names of many alphabets", "names with signs of YAML", "classes with signs")
DRAWN = (*NAMED, "long names", "one feature", "three classes, discrete features", "all words",
         "FASTA of unequal length")  # fmt: skip
# discrete tables whose methods of others are fitted: they take most of the time, and differ for
# numbers of classes and kinds of tables
WITH_PEERS = ("three classes, discrete features", "missing values of discrete features", "FASTA",
              "a real response, discrete features")  # fmt: skip
LINES, CHARACTERS = 3, 400  # of a refusal


def command(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_there_are_fifty_tables():
    assert len(TABLES) >= 50
    assert len({one.about for one in TABLES}) == len(TABLES)
    assert {*DRAWN, *WITH_PEERS} < {one.about for one in TABLES}


@pytest.mark.parametrize("odd", TABLES, ids=lambda one: one.about)
def test_an_odd_table_is_answered_or_refused(odd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / odd.file).write_bytes(odd.content)
    looked = command("init", odd.file)
    assert "Traceback" not in looked.output
    assert "(run with -v" not in looked.output
    for words in odd.said:
        assert words in looked.stderr, looked.output
    if not odd.answered:
        check_refusal(looked)
        return
    assert looked.exit_code == 0, looked.output
    assert looked.stderr.startswith("Note: ")
    (tmp_path / "mine.yaml").write_text(looked.stdout, encoding="utf-8")
    kind = "selection" if "selection:" in looked.stdout else "logistic"
    small = ["--set", f"report.parts=[{PART[kind]}]"]
    small += ["--set", "evaluation.folds=2"] if "evaluation:" in looked.stdout else []
    small += ["--set", "model.temperature=none"] if "temperature:" in looked.stdout else []
    small += ["--smoke"] if kind == "logistic" else ["--set", "model.methods=[corrected]"]
    if kind == "logistic" and odd.about not in WITH_PEERS:
        small += ["--set", "model.peers=[]"]
    with drawn(printed=odd.about in NAMED) if odd.about in DRAWN else nullcontext():
        done = command("run", "mine.yaml", "--jobs", "0", *small)
    assert done.exit_code == 0, done.output
    assert "report.html" in done.output


def check_refusal(looked):
    """One message, short, after which a person knows what to do."""
    assert looked.exit_code == 2, looked.output
    assert looked.stdout == ""
    said = looked.stderr.strip().splitlines()
    assert all(line.startswith("Error: ") for line in said)
    assert 1 <= len(said) <= LINES
    assert sum(len(line) for line in said) <= CHARACTERS
