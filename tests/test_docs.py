"""What the documentation says is what the program does."""

import re
from typing import get_args

import click
import pytest
from code_blocks import PAGES, blocks, prepare, run_block, run_line
from command_reference import commands, example, reference
from commands import ROOT
from pydantic import BaseModel

from thesiskit import config as config_module
from thesiskit.datasets import SOURCES
from thesiskit.report.parts import PARTS

KEYS = (ROOT / "docs" / "config.md").read_text()
TEXTS = {page: (ROOT / page).read_text() for page in [*PAGES, "data/README.md", "SECURITY.md"]}
NOT_YET = {"configs/studies/weak-features.yaml", "cython_ext/NAME.pyx"}  # what recipes add


@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/reference.md"])
def test_every_code_block_runs(page, tmp_path, monkeypatch):
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        run_block(block, tmp_path)


def test_the_reference_is_what_the_commands_say():
    assert (ROOT / "docs" / "reference.md").read_text() == reference(), "run `make docs`"


# what has to be made before the example of a command can run
BEFORE = {
    "thesiskit fit-mixture": ["simulate", "select"],
    "thesiskit fit-logistic": ["simulate", "compress"],
    "thesiskit batch collect": ["run"],
    "thesiskit compare": ["run"],
}


def test_every_command_has_an_example_that_runs(tmp_path, monkeypatch):
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, command in commands():
        line = example(command)
        assert name in line
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help
        configs = re.findall(r"configs/[^\s*]+\.yaml", line)
        for config in configs:
            for stage in BEFORE.get(name, []):
                run_line(f"thesiskit {stage} {config} --smoke")
        if configs:
            line = line.replace(configs[-1], f"{configs[-1]} --smoke")
        run_line(line.replace("iterations=4000", "iterations=80"))  # 4000 take a minute


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
        assert not anchor or anchor in {title.lower().replace(" ", "-") for title in titles}


def flatten(annotation):
    yield annotation
    for part in get_args(annotation):
        yield from flatten(part)


def fields(model, prefix=""):
    for name, field in model.model_fields.items():
        blocks = [
            kind
            for kind in flatten(field.annotation)
            if isinstance(kind, type) and issubclass(kind, BaseModel)
        ]
        for block in blocks:
            yield from fields(block, f"{prefix}{name}.")
        if not blocks:
            yield prefix + name


def test_every_key_is_documented():
    documented = set(re.findall(r"`([a-z0-9_.]+)`", KEYS.split("Parts of a report")[0]))
    assert set(fields(config_module.Config)) <= documented
    for source in SOURCES.values():
        assert set(fields(source, "data.")) <= documented


def test_every_part_is_documented():
    assert set(re.findall(r"`([a-z-]+)`", KEYS.split("Parts of a report")[1])) == set(PARTS)


def test_version_is_the_same_everywhere():
    from thesiskit import __version__

    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
