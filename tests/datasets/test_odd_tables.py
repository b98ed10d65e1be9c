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
BOTH = "names of many alphabets and classes with signs"
NAMED = ("names of many alphabets", "names with signs of YAML", "classes with signs", BOTH)
DRAWN = (*NAMED, "long names", "one feature", "three classes, discrete features", "all words",
         "FASTA of unequal length")  # fmt: skip
# discrete tables whose methods of others are fitted: they take most of the time, and differ for
# numbers of classes and kinds of tables
WITH_PEERS = ("three classes, discrete features", "missing values of discrete features", "FASTA",
              "a real response, discrete features")  # fmt: skip
# that `make test` runs: of each kind of response and feature, and what is odd until the report
RUN = (BOTH, "long names", "one feature", "no line of names", "missing values of numbers",
       "semicolons and decimal commas", "genes in rows", "three classes, real features",
       "a real response, real features", "a real response, discrete features",
       "FASTA of unequal length")  # fmt: skip
LINES, CHARACTERS = 3, 400  # of a refusal


def command(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_there_are_fifty_tables():
    assert len(TABLES) >= 50
    assert len({one.about for one in TABLES}) == len(TABLES)
    assert {*DRAWN, *WITH_PEERS, *RUN} < {one.about for one in TABLES}


def look(odd, folder, monkeypatch):
    """Run `init` on a table."""
    monkeypatch.chdir(folder)
    (folder / odd.file).write_bytes(odd.content)
    looked = command("init", odd.file)
    assert "Traceback" not in looked.output
    assert "(run with -v" not in looked.output
    for words in odd.said:
        assert words in looked.stderr, looked.output
    if odd.answered:
        assert looked.exit_code == 0, looked.output
        assert looked.stderr.startswith("Note: ")
        (folder / "mine.yaml").write_text(looked.stdout, encoding="utf-8")
    return looked


@pytest.mark.parametrize("odd", TABLES, ids=lambda one: one.about)
def test_an_odd_table_has_a_config_or_a_refusal(odd, tmp_path, monkeypatch):
    looked = look(odd, tmp_path, monkeypatch)
    if not odd.answered:
        check_refusal(looked)
        return
    checked = command("check", "mine.yaml")
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize("odd", [
    pytest.param(odd, id=odd.about, marks=[] if odd.about in RUN else [pytest.mark.slow])
    for odd in TABLES if odd.answered
])  # fmt: skip
def test_an_odd_table_is_answered(odd, tmp_path, monkeypatch):
    config = look(odd, tmp_path, monkeypatch).stdout
    kind = "selection" if "selection:" in config else "logistic"
    small = ["--set", f"report.parts=[{PART[kind]}]"]
    small += ["--set", "evaluation.folds=2"] if "evaluation:" in config else []
    small += ["--set", "model.temperature=none"] if "temperature:" in config else []
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
