"""`thesiskit check`, and where else its lines stand: in `init`, in `run`, and on the page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import arrays

from thesiskit.cli import main


def command(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with a constant feature, and a site that goes with the response."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(60, 3)).round(3), columns=list("abc"))
    frame["status"] = rng.permutation(np.repeat(["sick", "well"], 30))
    frame["site"] = np.where(frame["status"] == "sick", "north", rng.choice(["north", "south"], 60))
    frame["code"] = rng.permutation([f"w{j}" for j in range(60)])
    frame.to_csv("t.csv", index=False)
    return frame


def test_findings_are_advice(table):
    done = command("check", "t.csv")
    assert done.exit_code == 0
    (line,) = done.stdout.splitlines()
    assert line.startswith("D03 Batch: the response is associated with 'site' (p < 0.001); ")
    assert done.stderr.splitlines()[-1].startswith("t.csv: 1 warning; passed: D01, D02, D04, D05, ")
    table.drop(columns="site").to_csv("t.csv", index=False)
    done = command("check", "t.csv")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1].startswith("t.csv: 0 warnings; passed: D01, D02, D03, D04")


def test_a_warning_is_accepted_by_its_code(table):
    command("init", "t.csv", "--output", "mine.yaml")
    text = Path("mine.yaml").read_text()
    Path("mine.yaml").write_text(text.replace("data:", "data:\n  accept: [D03]"))
    done = command("check", "mine.yaml")
    assert done.stdout == "D03 Batch: accepted (data.accept)\n"
    assert "0 warnings; passed: D01, D02, D04" in done.stderr
    assert "accepted: D03" in done.stderr
    done = command("run", "mine.yaml", "--dry-run", "--set", "data.accept=[D3]")
    assert done.exit_code == 2
    assert "no check has the code 'D3'. Fix: choose D01 (Duplicate samples), D02" in done.stderr


def test_no_note_is_printed_twice_in_init_run_and_predict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(62, 6)).round(3), columns=list("abcdef"))
    frame["twin"], frame["flat"] = frame["a"], 7
    frame["sex"] = rng.choice(["F", "M"], 62)
    frame["stage"] = rng.choice(["I", "II", "III"], 62)
    frame["day"] = [f"2024-03-{1 + j % 28:02d}" for j in range(62)]
    frame["status"] = np.repeat(["sick", "well"], 31)
    frame["leak"] = np.where(frame["status"] == "sick", 3, 5)
    frame.loc[[7, 40], "status"] = ""
    frame.to_csv("t.csv", index=False)
    fewer = ("--set", "model.methods=[corrected,l2-logistic]", "--set", "selection.features=[2]")
    fewer += ("--set", "evaluation.choose=false", "--set", "evaluation.folds=2", "--jobs", "0")
    printed = [command("init", "t.csv", "--output", "mine.yaml")]
    printed.append(command("run", "mine.yaml", *fewer))
    for names in ((), ("--all-methods",)):
        printed.append(command("predict", "mine.yaml", "--new", "t.csv", *names, *fewer))
    assert [done.exit_code for done in printed] == [0] * 4, printed[-1].output
    first, second, third, _ = (
        [line for line in done.stderr.splitlines() if line.startswith("Note: ")] for done in printed
    )
    assert {line[6:9] for line in first} >= {"D02", "D04", "D09"}
    assert any("without a response" in line for line in first)
    assert len(second) == 1
    named = "D02 Leak, D04 Sample order, D09 Equal features"
    assert f"checks with warnings: {named}; notes on the table: " in second[0]
    lines = [*first, *second, *third]
    assert len(lines) == len(set(lines)), lines


def test_a_warning_is_printed_by_check_and_init_and_counted_by_run(table):
    (line,) = command("check", "t.csv").stdout.splitlines()
    looked = command("init", "t.csv", "--output", "mine.yaml")
    assert looked.stderr.splitlines()[0] == f"Note: {line}"
    assert looked.stderr.count("is associated with") == 1
    assert command("check", "mine.yaml").stdout.splitlines() == [line]
    fewer = ("--set", "model.methods=[uncorrected]", "--set", "selection.features=[2]")
    fewer += ("--set", "evaluation.folds=2")
    done = command("run", "mine.yaml", "--jobs", "0", "--set", "model.temperature=none", *fewer)
    assert done.exit_code == 0, done.output
    note = "Note: checks with warnings: D03 Batch; notes on the table: 1. Details: the report, or "
    assert done.output.splitlines()[0] == f"{note}`thesiskit check CONFIG`"
    (stored,) = Path("results/my-t/simulate").glob("*.npz")
    assert ["D03", "warning", line.partition(": ")[2]] in arrays(stored)["checks"].tolist()


def test_shipped_tables_are_checked(monkeypatch):
    done = command("check", "votes")
    assert done.exit_code == 0
    assert "values are missing more often in some classes, by their number" in done.stdout
    done = command("check", "colon")
    assert done.stdout.count("\n") == 1
    assert "D09 Equal features: 9 features equal another one" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.csv"], "nothing.csv: no such file"),
        (["there/nothing.csv"], "there/nothing.csv: no such file"),
        (["none.yaml"], "none.yaml"),
        (["null"], "no table to check"),
        (["text"], "no table to check"),
        (["t.csv", "--response", "z"], "'z'"),
        (["bad.csv"], "bad.csv"),
        (["sheet.xlsx"], "save it as .csv"),
        (["colon", "--response", "y"], "--response is for tables, not for a config"),
    ],
)
def test_what_cannot_be_checked(table, arguments, words):
    Path("bad.csv").write_text("a,b\n1,2\n3\n")
    Path("sheet.xlsx").write_bytes(b"PK\x03\x04")
    done = command("check", *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.output


def test_sequences_sorted_by_class_are_divided_into_folds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    kinds = np.repeat(["exon", "intron"], 30)
    lines = [f">s{i} {kind}\n{''.join(rng.choice(list('ACGT'), 9))}{'CG'[kind == 'exon']}\n"
             for i, kind in enumerate(kinds)]  # fmt: skip
    Path("sorted.fa").write_text("".join(lines))
    looked = command("init", "sorted.fa", "--output", "sorted.yaml")
    assert looked.stderr.startswith(
        "Note: D04 Sample order: the samples are sorted by the response"
    )
    fewer = ("--set", "model.orders=[2]", "--set", "model.chains=2", "--set", "model.peers=[]")
    done = command("run", "sorted.yaml", "--jobs", "0", "--smoke", *fewer)
    assert done.exit_code == 0, done.output
    scores = pd.read_csv("results/my-sorted-smoke/tables/predictions.csv")
    assert len(scores) == 60  # each sample is predicted once
    page = Path("results/my-sorted-smoke/report.html").read_text()
    assert "2-fold cross-validation" in page
