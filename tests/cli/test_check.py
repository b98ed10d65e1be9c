"""`thesiskit check`, and where else its lines stand: in `init`, in `run`, and on the page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from thesiskit.cli import main
from thesiskit.config import load_config


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
    assert line.startswith("the response goes with 'site' (p = ")
    assert done.stderr.splitlines()[-1] == "t.csv: 1 finding"
    table.drop(columns="site").to_csv("t.csv", index=False)
    done = command("check", "t.csv")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1] == "t.csv: no findings"


def test_the_same_lines_come_first_in_init_in_run_and_on_the_page(table):
    (line,) = command("check", "t.csv").stdout.splitlines()
    looked = command("init", "t.csv", "--output", "mine.yaml")
    assert looked.stderr.splitlines()[0] == f"Note: {line}"
    assert looked.stderr.count("goes with") == 1
    assert command("check", "mine.yaml").stdout.splitlines() == [line]
    fewer = ("--set", "model.methods=[uncorrected]", "--set", "selection.features=[2]")
    done = command("run", "mine.yaml", "--jobs", "0", "--set", "model.temperature=none", *fewer)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == f"Note: {line}"
    page = Path("results/my-t/report.html").read_text()
    told = line.replace("'", "&#39;")
    assert page.count(f"<li>{told}</li>") == 1
    assert page.index(told) < page.index("<nav>")
    assert "goes with" not in Path("results/my-t/tables/data-card.csv").read_text()


def test_shipped_tables_are_checked(monkeypatch):
    done = command("check", "votes")
    assert done.exit_code == 0
    assert "values are missing more often in some classes, by their number" in done.stdout
    done = command("check", "colon")
    assert done.stdout.count("\n") == 1
    assert "9 features have the values of another one" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.csv"], "nothing.csv: there is no such file"),
        (["there/nothing.csv"], "there/nothing.csv: there is no such file"),
        (["none.yaml"], "none.yaml"),
        (["null"], "no table to check"),
        (["text"], "no table to check"),
        (["t.csv", "--response", "z"], "'z'"),
        (["bad.csv"], "bad.csv"),
        (["sheet.xlsx"], "save its sheet as .csv"),
        (["colon", "--response", "y"], "a config says what its table holds"),
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
    Path("mixed.fa").write_text("".join(rng.permutation(lines)))
    looked = command("init", "sorted.fa", "--output", "sorted.yaml")
    assert looked.stderr.startswith("Note: the cases are sorted by the response; folds are drawn")
    assert command("init", "mixed.fa", "--output", "mixed.yaml").exit_code == 0
    divided = {name: load_config(Path(f"{name}.yaml")) for name in ("sorted", "mixed")}
    assert [one.scheme for one in divided.values()] == ["k-fold", "test-set"]
    assert (divided["sorted"].data.train, divided["mixed"].data.train) == (None, 42)
    fewer = ("--set", "model.orders=[2]", "--set", "model.chains=2", "--set", "model.peers=[]")
    done = command("run", "sorted.yaml", "--jobs", "0", "--smoke", *fewer)
    assert done.exit_code == 0, done.output
    scores = pd.read_csv("results/my-sorted-smoke/tables/predictions.csv")
    assert len(scores) == 60  # each case is predicted once
    page = Path("results/my-sorted-smoke/report.html").read_text()
    assert "2 folds" in page
