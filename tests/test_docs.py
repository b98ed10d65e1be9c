"""What the documentation says is what the program does."""

import json
import re
import tomllib
from itertools import pairwise

import click
import notebook
import pandas as pd
import pytest
import tables
import yaml
from code_blocks import PAGES, blocks, prepare, prints_scores, run_block, run_line
from command_reference import (
    RARE_OPTIONS,
    all_commands,
    all_keys,
    commands,
    config_page,
    example,
    own_keys,
    reference,
)
from commands import ROOT

from thesiskit.config import keys
from thesiskit.registry import shipped

TEXTS = {page: (ROOT / page).read_text() for page in [*PAGES, "data/README.md", "SECURITY.md"]}
NOT_YET = {"configs/studies/weak-features.yaml", "cython_ext/NAME.pyx"}  # what recipes add


@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/tutorial.md"])
def test_every_code_block_runs(page, tmp_path, monkeypatch):
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        run_block(block, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if prints_scores(page)])
def test_scores_on_a_page_are_those_of_the_whole_commands(page, tmp_path, monkeypatch):
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        run_block(block, tmp_path, short=False)


def test_the_notebook_of_the_tutorial_is_the_page_and_runs(tmp_path, monkeypatch):
    made = json.loads(notebook.as_text((ROOT / "docs/tutorial.md").read_text()))
    cells = ["".join(one["source"]) for one in made["cells"] if one["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    shared = {}
    for cell, block in zip(cells, blocks("docs/tutorial.md"), strict=True):
        if block.language == "python":
            exec(cell, shared)
        else:
            commands = re.findall(r"^!(.*)$", cell, re.MULTILINE)
            assert len(commands) == len(cell.splitlines())
            assert all(one in block.text for one in commands)
            run_block(block, tmp_path)
    assert {one["cell_type"] for one in made["cells"]} == {"code", "markdown"}


def test_the_reference_is_of_the_commands():
    assert (ROOT / "docs" / "reference.md").read_text() == reference(), "run `make docs`"
    listed = all_commands()
    for name, command in commands():
        assert f"## {name}\n" in listed
        for option in command.params:
            assert not isinstance(option, click.Option) or option.opts[-1] in listed
    assert all(f"`{option}" in listed or f", {option}`" in listed for option in RARE_OPTIONS)


def test_the_tables_of_the_evidence_are_of_its_files():
    page = (ROOT / "docs/evidence.md").read_text()
    assert tables.filled(page) == page, "run `make docs`"
    listed = set(tables.read("provenance")["file"])
    files = {path.name for path in (ROOT / "docs/evidence").glob("*.csv")}
    assert listed == files - {"provenance.csv"}
    for claim in tables.read("claims")["claim"]:
        assert claim in tables.claims_page()


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda one: str(one))
def test_every_command_has_an_example_that_runs_in_an_empty_folder(
    name, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    line = example(command)
    assert name in line
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help
    line = line.replace("iterations=4000", "iterations=80")  # 4000 take a minute
    words = line.split()
    small = [
        f"{one} --smoke" if one in shipped() and before not in ("show", "init") else one
        for before, one in pairwise(["", *words])
    ]
    table, joined, more = " ".join(small).partition(" && ")
    run_line(table, short=True)
    if name in ("thesiskit predict", "thesiskit validate"):  # which choose among all methods
        genes = pd.read_csv("colon.csv")
        genes.iloc[:32, :30].to_csv("colon.csv", index=False)
    if joined:
        run_line(more, short=True)


@pytest.mark.parametrize("page", TEXTS)
def test_what_a_text_names_exists(page):
    text = TEXTS[page]
    makefile = (ROOT / "Makefile").read_text()
    folder = (ROOT / page).parent
    for path in re.findall(r"`((?:configs|tests|thesiskit|docs|data|cython_ext)/[\w/.-]+)`", text):
        assert (ROOT / path).exists() or path in NOT_YET, path
    for target in re.findall(r"`make ([a-z0-9-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for link, _, anchor in re.findall(r"\]\(([^):#]*)(#?)([^):]*)\)", text):
        target = folder / link if link else ROOT / page
        assert target.exists(), link
        titles = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE) if anchor else []
        assert not anchor or anchor in {
            re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles
        }


def test_the_pages_of_keys_are_of_the_classes():
    assert (ROOT / "docs" / "config.md").read_text() == config_page(), "run `make docs`"
    assert 40 <= len(own_keys()) <= 70
    listed = all_keys()
    assert all(f"`{key.name}`" in listed for key in keys() if key.default != "PydanticUndefined")


def test_version_is_the_same_everywhere():
    from thesiskit import __version__

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "thesiskit.__version__"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == __version__
    changes = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## (\S+) \((.*)\)$", changes, re.MULTILINE)
    assert newest.groups() == (__version__, str(cited["date-released"]))


def test_addresses_are_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    known = project["tool"]["thesiskit"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited.get("repository-code", "") == known["repository"]
    assert project["project"].get("urls", {}).get("Repository", "") == known["repository"]
    assert known["email"] in (ROOT / "SECURITY.md").read_text()
    assert "`tool.thesiskit`" in (ROOT / "CONTRIBUTING.md").read_text()
