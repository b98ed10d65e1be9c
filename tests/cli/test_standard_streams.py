"""Tables from standard input, predictions to standard output, and `--strict`."""

import os
import pty
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import ROOT, invoke, must_fail, wait_for
from plink_files import write_plink

from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.datasets import reading

COMMAND = [sys.executable, "-m", "thesiskit"]
FEWER = """
experiment: mine
title: T
about: A test.
data: { source: file, path: t.csv, response: status, positive: sick }
selection: { features: [2] }
model: { kind: normal, methods: [uncorrected] }
report: { parts: [summary] }
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a table, which is in t.csv; what is stored for a while is in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stored").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "stored"))
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(40, 3)).round(3), columns=list("abc"))
    frame["status"] = rng.permutation(np.repeat(["sick", "well"], 20))
    frame.to_csv("t.csv", index=False)
    yield frame
    assert list((tmp_path / "stored").iterdir()) == []


def piped(content: str | bytes, *arguments):
    return CliRunner().invoke(main, [str(part) for part in arguments], input=content)


def test_a_config_from_standard_input_is_that_of_the_file(table):
    wanted = invoke("init", "t.csv").stdout
    for delimiter in (",", "\t", ";"):
        content = table.to_csv(index=False, sep=delimiter)
        done = piped(content, "init", "-")
        assert done.exit_code == 0, done.output
        printed = done.stdout.replace("table.csv", "t.csv").replace("my-table", "my-t")
        assert printed == wanted
        assert "Note: the config expects table.csv. Fix: save the table" in done.stderr
    assert sorted(os.listdir()) == ["stored", "t.csv"]


def test_a_config_in_a_file_has_its_table_beside_it(table):
    content = Path("t.csv").read_bytes()
    Path("deep").mkdir()
    done = piped(content, "init", "-", "--output", "deep/mine.yaml")
    assert done.exit_code == 0, done.output
    assert "save the table" not in done.output
    assert load_config(Path("deep/mine.yaml")).data.path == "mine.csv"
    assert Path("deep/mine.csv").read_bytes() == content
    assert invoke("check", "deep/mine.yaml").exit_code == 0
    Path("deep/mine.yaml").unlink()
    must_fail(piped(content, "init", "-", "--output", "deep/mine.yaml"), "mine.csv: exists already")
    Path("link.csv").symlink_to("elsewhere.csv")
    must_fail(piped(content, "init", "-", "--output", "link.yaml"), "link.csv: exists already")
    must_fail(
        piped(b"a,b\n1\n", "init", "-", "--output", "deep/bad.yaml"), "standard input: line 2"
    )
    assert sorted(os.listdir("deep")) == ["mine.csv"]


def test_findings_of_standard_input_are_those_of_the_file(table):
    table["site"] = np.where(table["status"] == "sick", "north", "south")
    table.to_csv("t.csv", index=False)
    wanted = invoke("check", "t.csv")
    done = piped(Path("t.csv").read_bytes(), "check", "-")
    assert (done.exit_code, done.stdout) == (0, wanted.stdout)
    assert done.stdout
    said = done.stderr.replace("standard input.csv", "standard input")
    assert said == wanted.stderr.replace("t.csv", "standard input")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n3\n", "line 3"),
        (b"a,b\n1,\x002\n", "line 2 contains a NUL character"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"a,b\n1,\xff\n", "not UTF-8"),
        (b"a,b\n" + b"1,2\n" * 600_000 + b"\0" * 3_000_000, "contains a NUL character"),
        (b"a,b\n" + b"1,2\n" * 1_500_000, "more than 4 GB"),
    ],
)
@pytest.mark.parametrize("command", [["check", "-"], ["init", "-"]])
def test_standard_input_that_is_no_table(table, command, content, words, monkeypatch):
    monkeypatch.setattr(reading, "MOST_PIPED", 5_000_000)
    must_fail(piped(content, *command), "standard input", words)


def test_predictions_go_to_standard_output(table):
    Path("c.yaml").write_text(FEWER)
    new = table.drop(columns="status").head(7).to_csv(index=False)
    Path("new.csv").write_text(new)
    wanted = invoke("predict", "c.yaml", "--new", "new.csv", "--method", "uncorrected")
    assert wanted.exit_code == 0, wanted.output
    assert len(wanted.stdout.splitlines()) == 8
    assert invoke("export", "c.yaml", "mine.model", "--method", "uncorrected").exit_code == 0
    for model in (["c.yaml", "--method", "uncorrected"], ["--model", "mine.model"]):
        for output in ([], ["--output", "-"]):
            done = piped(new, "predict", *model, "--new", "-", *output)
            assert done.exit_code == 0, done.output
            assert done.stdout == wanted.stdout
    assert not Path("-").exists()
    must_fail(
        piped("a,b\n1,2\n", "predict", *model, "--new", "-"),
        "standard input.csv: lacks 'c'",
        code=0,
    )
    for other in (["-"], ["--model", "-"]):
        must_fail(piped(new, "predict", *other, "--new", "-"), "-")


def test_a_terminal_is_no_table(table):
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, "check", "-"], stdin=theirs, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "Error: standard input is a terminal, or closed"
    assert "Fix: add a pipe" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_leaves_no_file(table, tmp_path, number, code):
    stored = tmp_path / "stored"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(stored)}
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    # a process of the background ignores it
    pipes["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen([*COMMAND, "check", "-"], env=environment, **pipes) as process:
        wait_for(lambda: any(stored.rglob("*.csv")))
        assert all(path.stat().st_mode & 0o077 == 0 for path in stored.iterdir())
        process.send_signal(number)
        process.communicate()
    assert process.returncode == code


def test_a_reader_that_ends_early_is_no_error(table):
    Path("c.yaml").write_text(FEWER)
    assert invoke("export", "c.yaml", "mine.model", "--method", "uncorrected").exit_code == 0
    new = pd.concat([table.drop(columns="status")] * 100).to_csv(index=False).encode()
    predicting = [*COMMAND, "predict", "--model", "mine.model", "--new", "-", "--output", "-"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(predicting, env=environment, **pipes) as process:
        process.stdout.close()
        process.stdin.write(new)
        process.stdin.close()
        errors = process.stderr.read().decode()
    assert process.returncode == 0
    assert "Error" not in errors
    assert "Exception" not in errors


# ---- samples without a response ----


def lacking(kind: str) -> tuple[str, str, list[str]]:
    """Write a table in which two samples have no response, and a config.

    Return the table, the config, and the names of the samples.
    """
    rng = np.random.default_rng(4)
    y = np.repeat(["sick", "well"], 20).astype(object)
    y[[2, 30]] = ["NA", ""]
    if kind == "plink":
        phenotypes = ["2"] * 2 + ["-9"] + ["1", "2"] * 18 + ["1"]
        path = write_plink(Path("a.bed"), rng.integers(0, 3, (40, 4)), phenotypes)
        Path("c.yaml").write_text(f"""
experiment: mine
title: T
about: A test.
data: {{ source: plink, path: {path.name} }}
selection: {{ order: 2, features: [2] }}
model: {{ methods: [uncorrected] }}
evaluation: {{ folds: 2 }}
report: {{ parts: [summary] }}
""")
        return path.name, "c.yaml", ["i2"]
    frame = pd.DataFrame({"g": rng.normal(size=40).round(2), "status": y, "name": range(100, 140)})
    frame["h"] = rng.integers(0, 2, 40)
    frame.to_csv("u.csv", index=False)
    names = ["line 4", "line 32"]
    text = FEWER.replace("t.csv", "u.csv").replace("sick", "sick, ignore: [name]")
    if kind == "id":
        text, names = text.replace("ignore: [name]", "id: name"), ["102", "130"]
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.replace("", None).to_parquet("u.parquet")
        text, names = text.replace("u.csv", "u.parquet"), ["row 3", "row 31"]
    if kind == "table":
        text = """
experiment: mine
title: T
about: A test.
data: { source: table, path: u.csv, response: status, ignore: [name, g] }
model: { kind: logistic, orders: [1], chains: 2, iterations: 10, burn_in: 2 }
evaluation: { folds: 2 }
report: { parts: [summary] }
"""
    Path("c.yaml").write_text(text)
    return "u.parquet" if kind == "parquet" else "u.csv", "c.yaml", names


@pytest.mark.parametrize("kind", ["file", "id", "parquet", "table", "plink"])
def test_strict_refuses_samples_without_a_response(kind, table):
    path, config, names = lacking(kind)
    for command in (["check", config], ["run", config, "--jobs", "0"]):
        done = invoke(*command, "--strict")
        must_fail(done, f"{path}: {len(names)} sample", "without a", ", ".join(names), "Fix: ")
        assert not Path("results").exists()
    if kind != "id":
        for command in (["check", path], ["init", path, "--output", "new.yaml"]):
            must_fail(invoke(*command, "--strict"), f"{path}: {len(names)} sample", "Fix: ")
        assert not Path("new.yaml").exists()
        done = invoke("init", path, "--output", "new.yaml")
        assert done.exit_code == 0, done.output
        assert "dropped" in done.stderr
    done = invoke("simulate", config)
    assert done.exit_code == 0, done.output
    assert "notes on the table: 1" in done.stderr
    assert f"dropped: {', '.join(names)}" in invoke("check", config).output
    must_fail(invoke("run", config, "--jobs", "0", "--strict"), "without a")  # also a later one


def test_strict_takes_whole_tables(table):
    assert invoke("init", "t.csv", "--output", "c.yaml", "--strict").exit_code == 0
    assert invoke("check", "c.yaml", "--strict").exit_code == 0
    assert invoke("run", "c.yaml", "--strict", "--dry-run").exit_code == 0
    content = Path("t.csv").read_text().replace("sick", "", 1)
    must_fail(piped(content, "check", "-", "--strict"), "standard input: 1 sample without")
    assert "dropped" in piped(content, "check", "-").stderr
