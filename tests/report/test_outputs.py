"""What a report may touch: files that it made, in folders that thesiskit made, through no link."""

import os
import re
import shutil
import stat
import subprocess
import sys
from io import StringIO

import pandas as pd
import pytest
from commands import ROOT, run
from PIL import Image

from thesiskit.errors import ResultsError
from thesiskit.files import Results, read_record, replacing, write_record
from thesiskit.report.layout import Figure, Outputs, PageTable, canvas, csv_text, display
from thesiskit.report.page import write_index

NULL = ROOT / "configs/chapter2/null.yaml"
SMALL = ("--smoke", "--jobs", "0", "--set", "experiment=paper")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("made")
    run("run", NULL, *SMALL, "--results", root)
    return root


@pytest.fixture
def paper(made, tmp_path):
    """A finished experiment of one's own to spoil."""
    shutil.copytree(made, tmp_path / "r", symlinks=True)
    return tmp_path / "r" / "paper-smoke"


def again(folder, *more, code=0):
    return run("run", NULL, *SMALL, "--results", folder.parent, *more, code=code)


def test_the_folder_of_a_paper_is_not_a_results_folder(tmp_path):
    for name in ("figures/figure1.pdf", "tables/table1.tex", "paper.tex"):
        (tmp_path / "paper-smoke" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "paper-smoke" / name).write_text("mine")
    text = run("run", NULL, *SMALL, "--results", tmp_path, code=1)
    assert "has files that thesiskit did not create (figures, paper.tex, tables)" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["paper-smoke"]
    assert (tmp_path / "paper-smoke/figures/figure1.pdf").read_text() == "mine"


@pytest.mark.parametrize("command", ["simulate", "report", "batch cell --share 1/1"])
def test_no_command_begins_there(tmp_path, command):
    (tmp_path / "paper-smoke").mkdir()
    (tmp_path / "paper-smoke" / "notes.txt").write_text("mine")
    name, *more = command.split()
    arguments = [name, *more[:1], NULL, *more[1:]] if name == "batch" else [name, NULL]
    text = run(*arguments, *SMALL, "--results", tmp_path, code=1)
    assert "thesiskit did not create (notes.txt)" in text
    assert [path.name for path in (tmp_path / "paper-smoke").iterdir()] == ["notes.txt"]


def test_an_index_of_the_users_is_left_alone(tmp_path):
    (tmp_path / "index.html").write_text("<title>My site</title>")
    text = run("run", NULL, *SMALL, "--results", tmp_path, code=1)
    assert "index.html: was not created by thesiskit" in text
    with pytest.raises(ResultsError, match="was not created by thesiskit"):
        write_index(tmp_path)
    assert (tmp_path / "index.html").read_text() == "<title>My site</title>"


def test_an_earlier_report_s_files_go_and_others_stay(paper):
    (paper / "tables" / "mine.csv").write_text("mine")
    (paper / "figures" / "drafts").mkdir()
    before = sorted(path.name for path in (paper / "tables").iterdir())
    again(paper, "--set", "report.parts=[methods]")
    after = {path.name for path in (paper / "tables").iterdir()}
    assert {"mine.csv", "methods.csv"} <= after
    assert not list((paper / "figures").glob("*.p*"))
    assert (paper / "figures" / "drafts").is_dir()
    again(paper)
    assert {path.name for path in (paper / "tables").iterdir()} == {*before}


def test_a_report_that_was_interrupted_knows_its_files(paper, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("thesiskit.report.page.render", lambda *_: 1 / 0)
        run("report", NULL, *SMALL, "--results", paper.parent, "--force",
            "--set", "report.parts=[timing-table]", code=1)  # fmt: skip
    assert (paper / "tables" / "timings.csv").exists()
    again(paper)
    assert not (paper / "tables" / "timings.csv").exists()


@pytest.mark.parametrize("name", ["tables", "fit", "cells", "unfinished"])
def test_links_to_other_folders_are_refused(paper, tmp_path, name):
    other = tmp_path / "other"
    if (paper / name).exists():
        (paper / name).rename(other)
    other.mkdir(exist_ok=True)
    (other / "mine.csv").write_text("mine")
    (paper / name).symlink_to(other)
    before = sorted(other.iterdir())
    text = again(paper, "--force", code=1)
    assert f"{paper / name}: is a link to another folder" in text
    assert sorted(other.iterdir()) == before


@pytest.mark.parametrize("link", ["../../index", "tables/../../x", "absolute", "..", "cells/a"])
def test_a_record_that_was_tampered_with_removes_nothing_else(paper, tmp_path, link):
    if link == "absolute":
        link = str(tmp_path / "mine")
    victim = (paper / link).resolve()
    if link != "..":
        victim.parent.mkdir(exist_ok=True, parents=True)
        victim.write_text("mine")
    record = read_record(paper / "provenance.json")
    record["report"]["files"][link] = ""
    write_record(paper / "provenance.json", record)
    again(paper, "--set", "report.parts=[methods]")
    assert victim.exists()


def test_the_lock_follows_no_link(paper, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (paper / ".runner").unlink()
    (paper / ".runner").symlink_to(mine)
    text = again(paper, "--force", code=1)
    assert ".runner: cannot be locked: it is a link. Fix: remove it" in text
    assert mine.read_text() == "mine"


def test_a_temporary_file_follows_no_link(paper, tmp_path, monkeypatch):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    monkeypatch.setattr("secrets.token_hex", lambda n: "0" * n)
    (paper / ".report.html.0000.part").symlink_to(mine)
    text = run("report", NULL, *SMALL, "--results", paper.parent, "--force", code=1)
    assert "cannot be written: File exists" in text
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("name", [".runner", "provenance.json", "report.html", "fit/0000.npz",
                                  "fit/0000.json", "tables/methods.csv"])  # fmt: skip
def test_a_pipe_in_a_file_s_place_is_refused(paper, name):
    (paper / name).unlink(missing_ok=True)
    os.mkfifo(paper / name)
    force = ["--force"] if name == ".runner" else []
    text = again(paper, "--set", "report.parts=[methods]", *force, code=1)
    assert str(paper / name) in text
    assert stat.S_ISFIFO((paper / name).stat().st_mode)


def test_a_table_that_was_changed_is_written_again(paper):
    path = next((paper / "tables").glob("*.csv"), None) or next((paper / "figures").glob("*.png"))
    before = path.read_bytes()
    path.write_bytes(before[:-3])
    assert f"{path} was damaged or changed and is written again" in again(paper)
    assert path.read_bytes() == before


def test_a_spreadsheet_runs_no_cell():
    risky = ["=1+1", "+cmd", "-x", "@sum", "\tx", "-1", "+30", "-2e-3", "plain", "", None]
    frame = pd.DataFrame({"=HYPERLINK(1)": risky, "n": range(len(risky))})
    text = csv_text(frame)
    found = pd.read_csv(StringIO(text), dtype=str, keep_default_na=False)
    assert list(found) == ["'=HYPERLINK(1)", "n"]
    assert list(found.iloc[:, 0]) == ["'=1+1", "'+cmd", "'-x", "'@sum", "'\tx", "-1", "+30",
                                      "-2e-3", "plain", "", ""]  # fmt: skip


def test_tables_of_whole_numbers_and_gaps_stay_as_they_were():
    frame = pd.DataFrame({"a": pd.Series([3, None, 10**18], dtype=object), "b": [0.1, 2.0, 1e-9]})
    assert csv_text(frame) == frame.to_csv(index=False)


def test_integers_next_to_missing_values_stay_integers():
    mixed = [1346.0, None, 2.0]
    frame = pd.DataFrame({"n": mixed, "real": [0.5, None, 2.0], "huge": [1e300, None, 1.0],
                          "none": [None] * 3, "whole": [1.0, 2.0, 3.0]}, dtype=float)  # fmt: skip
    assert csv_text(frame).splitlines() == [
        "n,real,huge,none,whole", "1346,0.5,1e+300,,1.0", ",,,,2.0", "2,2.0,1.0,,3.0"
    ]  # fmt: skip
    cells = display(pd.DataFrame({"n": [2_500_000.0, None, 7.0]}))
    assert [row[0] for row in cells] == ["2,500,000", "–", "7"]
    assert frame["n"].tolist()[0] == 1346.0  # the frame itself is left as it was


WIDTHS = {"small": (4.63, 550), "footnotesize": (4.25, 550), "scriptsize": (3.98, 550),
          "tiny": (3.65, 550)}  # fmt: skip


@pytest.mark.parametrize(
    ("frame", "turned"),
    [
        (pd.DataFrame({"n": range(5), "rate": 0.123}), False),
        (pd.DataFrame({f"column {i}": [0.123] * 5 for i in range(14)}), True),
        (pd.DataFrame({f"group {i // 3}: measure {i}": [0.123] * 5 for i in range(16)}), True),
        (pd.DataFrame({"the thesis": ["a statement of words " * 8], "here": "so ^ and so"}), True),
    ],
)
def test_tables_in_latex_fit_a_page(tmp_path, frame, turned):
    results = Results(tmp_path, "x")
    results.prepare()
    PageTable("wide", "Wide", frame, "A caption with x^2.").write(Outputs(results, []))
    text = (tmp_path / "x/tables/wide.tex").read_text()
    assert (r"\begin{landscape}" in text, "pdflscape" in text) == (turned, turned)
    assert r"x\textasciicircum{}2" in text
    size = re.search(r"\\begin{landscape}\\(\w+)", text)
    letter, width = WIDTHS[size[1]] if size else (5.0, 345)
    space = float(re.search(r"tabcolsep}{([\d.]+)pt}", text)[1]) if size else 6
    form = re.search(r"\\begin{(?:longtable|tabular)}{((?:l|p{\d+pt})+)}", text)[1]
    columns = re.findall(r"l|p{\d+pt}", form)
    assert len(columns) == frame.shape[1]
    rows = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines()
            if line.count(" & ") == len(columns) - 1 and "multicolumn" not in line]  # fmt: skip
    need = 0.0
    for place, column in enumerate(columns):
        fixed = re.search(r"\d+", column)
        longest = max(len(row[place].replace(r"\textasciicircum ", "^")) for row in rows)
        need += (float(fixed[0]) if fixed else letter * longest) + 2 * space
    assert 0 < need <= width
    assert rows[0][-1] == frame.columns[-1].rpartition(": ")[2]


def test_a_probe_of_the_folder_leaves_nothing(tmp_path):
    Results(tmp_path, "x").prepare()
    assert [path.name for path in (tmp_path / "x").iterdir()] == [".thesiskit"]


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize("height", [3, 60])
def test_a_small_figure_of_a_long_one_is_its_upper_part(tmp_path, height):
    figure, axes = canvas(1, 1, width=6, height=height)
    axes[0, 0].set_title("A title")
    long = Figure("long", "Long", figure, "A figure.")
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    long.thumbnail(tmp_path / "small.webp")
    with Image.open(tmp_path / "small.webp") as picture:
        width, tall = picture.size
    assert tall <= 200
    assert width == (300 if height == 3 else 120)


KILLED = """
import os, signal, sys
from pathlib import Path
from thesiskit.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_was_writing_goes_at_the_next_run(paper):
    """But not what another process is writing."""
    names = ["figures/gone.png", "tables/gone.csv", "simulate/0007.npz", "cells/ab/abc.npz",
             "../index.html"]  # fmt: skip
    for name in names:
        subprocess.run([sys.executable, "-c", KILLED, paper / name], check=False)
    left = {path for path in paper.parent.rglob(".*.part") if path.read_text() == "half"}
    assert len(left) == len(names)
    with replacing(paper / "figures/mine.png") as mine:
        again(paper)
        assert set(paper.parent.rglob(".*.part")) == {mine}


def test_what_a_killed_report_was_writing_goes_at_the_next_report(paper):
    subprocess.run([sys.executable, "-c", KILLED, paper / "tables/gone.csv"], check=False)
    assert list(paper.rglob(".*.part"))
    run("report", NULL, *SMALL, "--force", "--results", paper.parent)
    assert not list(paper.rglob(".*.part"))
