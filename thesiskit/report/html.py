"""The templates of pages."""

import re
from functools import lru_cache
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from thesiskit.report.glossary import explain

FOLDER = Path(__file__).parent / "templates"


@lru_cache
def template(name: str) -> jinja2.Template:
    """Return a template of this folder; it is compiled once."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["explain"] = explain
    environment.filters["commands"] = _commands
    return environment.get_template(name)


def _commands(text: str) -> Markup:
    """Return text as HTML, with `commands` in the letters of code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
