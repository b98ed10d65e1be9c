"""Configs by name, and what the command line says about them."""

import json
import shutil
import time

import jsonschema
import pytest
import yaml
from commands import ROOT, invoke, must_fail, run

from thesiskit import registry
from thesiskit.cli import console
from thesiskit.config import keys, load_config
from thesiskit.files import Results

CONFIGS = sorted((ROOT / "configs").glob("*/*.yaml"))
MINE = """
experiment: mine
title: Mine
about: Of mine.
data: { source: naive-bayes, features: 20, alpha: 3, train: [10, 10], test: [5, 5] }
selection: { features: [2] }
report: { parts: [methods] }
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path / "mine.yaml"


# ---- names ----


def test_every_config_has_a_name_of_its_own():
    assert sorted(registry.shipped().values()) == CONFIGS
    assert not set(registry.shipped()) & set(registry.folders())
    for name, path in registry.shipped().items():
        assert load_config(path).experiment == name
        assert registry.find(name) == [path]
        assert registry.name_of(path) == name


def test_chapters_have_what_is_in_the_thesis_and_need_no_network():
    for folder, paths in registry.folders().items():
        for path in paths:
            text = path.read_text()
            if folder.startswith("chapter"):
                assert text.startswith(f"# Thesis, chapter {folder[-1]}"), path


def test_what_stands_for_a_config(mine):
    assert [path.stem for path in registry.find("chapter2")] == [
        path.stem for path in CONFIGS if path.parent.name == "chapter2"
    ]
    assert registry.find("mine.yaml")[0].samefile(mine)
    assert registry.name_of(mine) == str(mine)
    shutil.copy(mine, "null")  # a file is what it is
    assert registry.find("null")[0].samefile("null")
    must_fail(invoke("run", "nul2"), "'nul2' not found", "did you mean null?")
    must_fail(invoke("run", "zzz"), "`thesiskit list` shows all names")
    must_fail(invoke("show", "chapter2"), "chapter2 is a group of 7 configs. Fix: choose one")
    must_fail(invoke("run", "none.yaml"), "none.yaml: not found")


@pytest.mark.parametrize("name", ["Figure 2.7", "figure-2.7", "TABLE 2.1", "table_2.1"])
def test_a_figure_of_the_thesis_stands_for_its_config(mine, name):
    shown = invoke("show", name)
    assert shown.stdout == (ROOT / "configs/chapter2/naive-simulation.yaml").read_text()
    assert shown.stderr.strip().lower() == f"{name.lower()[:-4]} {name[-3:]}: naive-simulation"


def test_figures_that_no_config_remakes_are_refused(mine):
    must_fail(invoke("run", "Table 2.9"), "no config reproduces Table 2.9. Fix: choose Table 2.1")
    must_fail(invoke("run", "Figure 2.1"), "no config reproduces Figure 2.1. Fix: choose Figure 2.")
    must_fail(invoke("batch", "submit", "figure 0"), "no config reproduces figure 0. Fix: choose")
    for name in ("Tabel 2.9", "naive", "x" * 500):
        must_fail(invoke("run", "--exhibit", name), "no config reproduces", "Fix: choose ")
    must_fail(invoke("run"), "Missing argument 'CONFIG...'")
    must_fail(invoke("run", "Figure"), "'Figure' not found")
    shutil.copy(mine, "table-2.1")  # a file is what it is
    assert invoke("show", "table-2.1").stdout == mine.read_text()


def test_a_name_runs(mine, tmp_path):
    printed = run("run", "correlation-lattice", "--results", tmp_path / "r")
    assert str(tmp_path / "r" / "correlation-lattice" / "report.html") in printed
    by_exhibit = run("run", "--exhibit", "figure 2.3", "--results", tmp_path / "r")
    assert "Figure 2.3: correlation-lattice" in by_exhibit
    assert "already done" in by_exhibit
    must_fail(invoke("verify", "naive-simulation"), "run `thesiskit run naive-simulation`")


def test_list_and_show(mine):
    printed = run("list")
    for path in CONFIGS:
        (line,) = [one for one in printed.splitlines() if one.split()[:1] == [path.stem]]
        assert yaml.safe_load(path.read_text())["title"] in line
        assert " min " in line
    assert printed.count("[Figure 2.3]") == 1
    assert run("show", "null") == (ROOT / "configs/chapter2/null.yaml").read_text()
    must_fail(invoke("show", "none.yaml"), "not found")


# ---- keys ----


def test_every_key_has_a_description():
    lacking = [(key.name, key.block) for key in keys() if not key.text.endswith(".")]
    assert not lacking


def test_docs_of_a_key():
    assert "required" in run("docs", "model.orders")
    assert run("docs", "evaluation.folds").startswith("evaluation.folds  default 10\n")
    both = run("docs", "data.train")
    assert "(source: text)" in both
    assert "(source: mixture)" in both
    listed = run("docs", "evaluation").splitlines()
    assert [line.partition(":")[0] for line in listed[2:]] == [
        f"evaluation.{name}"
        for name in ("scheme", "folds", "leave_out", "feature_groups", "choose")
    ]
    assert len(run("docs").splitlines()) == len(keys())
    assert "methods: " in run("docs", "parts")
    must_fail(invoke("docs", "modle.orders"), "did you mean model.orders?")
    must_fail(invoke("docs", "folds"), "did you mean evaluation.folds?")
    must_fail(invoke("docs", "zzzz"), "`thesiskit docs` lists all keys")
    must_fail(invoke("docs", "title", "--schema"), "Fix: remove the key")


def test_the_schema_takes_what_thesiskit_takes():
    schema = json.loads(run("docs", "--schema"))
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    for path in CONFIGS:
        assert not list(check.iter_errors(yaml.safe_load(path.read_text()))), path
    own = yaml.safe_load(MINE)
    assert not list(check.iter_errors(own))
    for wrong in ({"titel": "x"}, {"seed": "one"}, {"data": {"source": "fiel"}},
                  {"selection": {"features": [0]}}, {"model": {"kind": "logistic"}}):  # fmt: skip
        assert list(check.iter_errors(own | wrong)), wrong
    loose = {"kind": "logistic", "orders": "all", "priors": "gaussian"}  # one stands for a list
    assert not list(check.iter_errors(own | {"model": loose}))
    assert schema["$defs"]["Evaluation"]["properties"]["folds"]["description"]


# ---- overrides come before validation ----


def test_an_override_may_complete_a_config(mine):
    mine.write_text(MINE.replace("{ features: [2] }", ""))
    must_fail(invoke("run", mine), "`data` and `selection` belong together. Fix: give both")
    assert not mine.with_name("results").exists()
    run("run", mine, "--set", "selection.features=[3]", "--results", "r")
    assert load_config(mine, settings=("selection.features=[3]",)).selection.features == [3]


def test_the_small_form_is_checked_when_it_is_used(mine):
    mine.write_text(MINE + "smoke: { data.featuers: 10 }\n")
    run("run", mine, "--results", "r")
    must_fail(invoke("run", mine, "--smoke"), "mine.yaml:8: data.featuers: unknown key")


def test_a_config_without_a_small_form_says_so(mine):
    result = invoke("run", mine, "--smoke", "--results", "r")
    assert result.exit_code == 0
    assert "mine.yaml has no `smoke:` block; --smoke runs the whole experiment" in result.output


def test_variants_have_names(mine):
    run("run", mine, "--results", "r")
    run("run", mine, "--results", "r", "--set", "data.alpha=9", "--name", "weak")
    for name, alpha in (("mine", 3), ("weak", 9)):
        config = Results("r", name).provenance()["config"]
        assert (config["experiment"], config["data"]["alpha"]) == (name, alpha)
    must_fail(invoke("run", mine, "--name", "A b"), "--name A b: experiment: use lower-case")
    must_fail(invoke("run", mine, "null", "--name", "x"), "--name is for one experiment, not for 2")


# ---- before and while ----


def test_a_dry_run_makes_nothing(mine):
    printed = run("run", mine, "--dry-run", "--results", "r")
    assert "simulate: 1 of 1 tasks to compute" in printed
    assert "fit: 3 of 3 tasks to compute" in printed
    assert "of memory in each, and" in printed
    assert not mine.with_name("r").exists()
    run("select", mine, "--results", "r")
    printed = run("run", mine, "--dry-run", "--results", "r")
    assert "select: done" in printed
    assert "fit: 3 of 3 tasks to compute" in printed
    assert "select: 1 of 1" in run("run", mine, "--dry-run", "--force", "--results", "r")


def test_a_dry_run_that_fails_makes_nothing_either(mine):
    drawn = "{ source: naive-bayes, features: 20, alpha: 3, train: [10, 10], test: [5, 5] }"
    lost = MINE.replace(drawn, "{ source: file, path: lost.csv, response: y }")
    mine.with_name("lost.yaml").write_text(lost.replace("experiment: mine", "experiment: lost"))
    result = invoke("run", mine, "lost.yaml", "--dry-run", "--results", "r")
    must_fail(result, "lost.csv: no such file")
    assert "simulate: 1 of 1 tasks to compute" in result.output
    assert not mine.with_name("r").exists()


def test_without_a_terminal_there_is_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(console, "LINE_SECONDS", 0.05)

    def slow():
        for i in range(3):
            time.sleep(0.12)
            yield i

    assert list(console.watch(slow(), 3, "fit")) == [0, 1, 2]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "fit: 0 of 3 tasks done (0 min)"
    assert any(line.startswith("fit: 2 of 3") for line in lines)


# ---- published data ----


def test_published_data():
    printed = run("data", "list")
    for name in ("colon", "splice", "votes", "breast-cancer", "tic-tac-toe", "text"):
        assert f"\n{name} " in f"\n{printed}"
    lines = run("data", "show", "votes").splitlines()
    assert lines[1] == "republican,n,y,n,y,y,y,n,n,n,y,,y,y,y,n,y"
    assert len(lines) == 436
    must_fail(invoke("data", "show", "colin"), "no data set 'colin'. Fix: choose from colon")
    must_fail(invoke("data", "show", "text"), "text is a text, not a table")


def test_a_published_table_is_read_again_as_it_is(tmp_path):
    from thesiskit.datasets.published import colon
    from thesiskit.datasets.tables import read_table

    (tmp_path / "colon.csv").write_text(run("data", "show", "colon"))
    read = read_table(tmp_path / "colon.csv", "class", positive="tumour")
    assert (read.features == colon().features).all()
    assert (read.response == colon().response).all()
