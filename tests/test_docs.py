"""What the documentation says is what the program does."""

import re
from typing import get_args

import click
import pytest
import yaml
from commands import ROOT
from pydantic import BaseModel

from thesiskit import config as config_module
from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.datasets import SOURCES
from thesiskit.report.parts import PARTS

README = (ROOT / "README.md").read_text()
KEYS = (ROOT / "docs" / "config.md").read_text()


def commands(group, prefix="thesiskit"):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


@pytest.mark.parametrize(("name", "command"), list(commands(main)))
def test_every_command_has_an_example_and_is_in_the_readme(name, command):
    text = " ".join((command.help or "").split())
    example = re.search(r"Example: +(.*)", text)
    assert example
    assert name in example.group(1)
    words = name.split()
    assert name in README or (" ".join(words[:2]) in README and f"`{words[-1]}`" in README)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help


def test_configs_named_in_texts_exist():
    texts = [README, *(command.help for _, command in commands(main))]
    named = [path for text in texts for path in re.findall(r"configs/[\w/-]+\.yaml", text)]
    assert len(named) > 10
    for path in named:
        assert (ROOT / path).exists(), path


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"`?make ([a-z0-9-]+)", README)
    assert "test" in targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_links_in_the_readme_exist():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    for path in links:
        assert (ROOT / path).exists(), path


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


def test_the_readme_config_is_valid(tmp_path):
    text = re.search(r"```yaml\n(.*?)```", README, re.DOTALL).group(1)
    assert yaml.safe_load(text)
    (tmp_path / "c.yaml").write_text(text)
    load_config(tmp_path / "c.yaml")


def test_the_readme_python_runs():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    scope = {}
    exec(code, scope)
    assert scope["p"].shape == (569, 2)


def test_version_is_the_same_everywhere():
    from thesiskit import __version__

    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
