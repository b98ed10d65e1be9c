"""What goes out with a release: citation, paper, the list for reviewers, recipe and wheels."""

import re
import tomllib

import pytest
import yaml
from commands import ROOT

from thesiskit import __version__
from thesiskit.registry import shipped

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MANIFEST = yaml.safe_load((ROOT / "codecheck.yml").read_text())["manifest"]
PAPER = (ROOT / "paper.md").read_text(encoding="utf-8")


def test_the_list_for_reviewers_has_codechecks_form():
    text = (ROOT / "codecheck.yml").read_text()
    assert text.startswith("---\n")
    found = yaml.safe_load(text)
    assert found["version"] == "https://codecheck.org.uk/spec/config/1.0/"
    assert {"title", "authors", "reference"} <= found["paper"].keys()
    assert all(author["name"] for author in found["paper"]["authors"])
    files = [entry["file"] for entry in MANIFEST]
    assert len(files) == len(set(files))
    for entry in MANIFEST:  # that they are made: tests/test_smoke.py
        root, name, *folder, _ = entry["file"].split("/")
        assert root == "results"
        assert folder in (["tables"], ["figures"]) or (name, folder) == ("verify", [])
        assert name in {*shipped(), "verify"}
        assert set(entry) == {"file", "comment"}


def test_the_list_for_reviewers_has_all_tables_and_figures_that_are_remade():
    text = (ROOT / "thesiskit/report/thesis/exhibits.yaml").read_text()
    remade = {one["name"]: one["experiment"] for one in yaml.safe_load(text) if one.get("part")}
    named = {}
    for entry in MANIFEST:
        label = entry["comment"].partition(":")[0]
        if label in remade:
            named[label] = entry["file"].split("/")[1]
    assert named == remade


def bibliography():
    """Return type and fields of each reference, by its key."""
    text = (ROOT / "paper.bib").read_text(encoding="utf-8")
    found = {}
    for kind, key, body in re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}$", text, re.M | re.S):
        assert key not in found
        found[key] = kind, dict(re.findall(r"^  (\w+) = \{(.*)\},?$", body, re.M))
    return found


def test_the_paper_cites_what_the_bibliography_has():
    found = bibliography()
    assert set(re.findall(r"@(\w+)", PAPER)) == found.keys()
    needed = {"article": {"journal", "year"}, "phdthesis": {"school", "year"}, "manual": {"note"}}
    for kind, fields in found.values():
        assert {"author", "title"} | needed[kind] <= fields.keys()


def test_the_thesis_is_cited_alike_in_paper_and_citation_file():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    articles = {re.sub(r"[{}]", "", fields["title"]) for _, fields in bibliography().values()}
    assert [one["type"] for one in cited["references"]].count("thesis") == 1
    assert {one["title"] for one in cited["references"]} <= articles


def test_the_paper_is_as_long_as_it_may_be_and_has_its_sections():
    _, head, body = PAPER.split("---\n", 2)
    assert yaml.safe_load(head)["bibliography"] == "paper.bib"
    assert 700 <= len(body.split()) <= 1000
    sections = re.findall(r"^# (.*)$", body, re.M)
    assert {"Summary", "Statement of need", "Related software", "References"} <= set(sections)


def test_every_number_of_the_paper_stands_in_the_documentation():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    known = " ".join(page.read_text(encoding="utf-8") for page in pages)
    body = re.sub(r"@\w+", "", PAPER.split("---\n", 2)[2])
    numbers = re.findall(r"\d[\d,.]*\d%?|\d+%?", body)
    assert len(numbers) > 8
    for number in numbers:
        assert re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d])", known), number


@pytest.mark.parametrize("key", ["cff-version", "message", "title", "authors", "license"])
def test_the_citation_file_has_what_it_must_have(key):
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())[key]


RECIPE = yaml.safe_load((ROOT / "recipe/recipe.yaml").read_text())
CONDA_NAMES = {"matplotlib": "matplotlib-base"}  # what conda-forge calls otherwise


def packages(lines):
    """Return names with their lowest version."""
    return {
        match[1]: match[2]
        for line in lines
        for match in [re.fullmatch(r"([\w.\[\]-]+)\s*(?:>=([\d.]+))?", line)]
    }


def test_the_recipe_has_the_version_and_licence_of_the_project():
    assert RECIPE["context"]["version"] == __version__
    assert RECIPE["about"]["license"] == PROJECT["project"]["license"]
    assert RECIPE["about"]["license_file"] in PROJECT["project"]["license-files"]


def test_the_recipe_needs_what_the_project_needs():
    wanted = {"python": PROJECT["project"]["requires-python"].removeprefix(">=")}
    for name, version in packages(PROJECT["project"]["dependencies"]).items():
        wanted[CONDA_NAMES.get(name, name)] = version
    assert packages(RECIPE["requirements"]["run"]) == wanted
    host = packages(RECIPE["requirements"]["host"])
    assert {"python", "pip"} < host.keys()
    del host["python"], host["pip"]
    assert host == packages(PROJECT["build-system"]["requires"])


def test_the_recipe_calls_the_commands_of_the_project():
    commands = [line for test in RECIPE["tests"] for line in test.get("script", ())]
    assert {line.split()[0] for line in commands} == set(PROJECT["project"]["scripts"])


def test_the_recipe_is_one_for_rattler_build():
    rattler = pytest.importorskip("rattler_build", reason="the extra `release` is not installed")
    variants = rattler.VariantConfig.from_file(ROOT / "recipe/variants.yaml")
    (found,) = rattler.Stage0Recipe.from_file(ROOT / "recipe/recipe.yaml").render(variants)
    assert found.recipe.package.name == "thesiskit"


def test_wheels_are_for_every_python_that_the_project_names():
    settings = PROJECT["tool"]["cibuildwheel"]
    named = [re.search(r":: (3\.\d+)$", one) for one in PROJECT["project"]["classifiers"]]
    assert settings["build"].split() == [f"cp{m[1].replace('.', '')}-*" for m in named if m]
    script = re.search(r"\{project\}/(\S+)", settings["test-command"])[1]
    assert (ROOT / script).is_file()
