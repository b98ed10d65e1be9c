"""How Sphinx makes the site; docs/site/make_site.py puts the pages together and calls it."""

import re

from docutils import nodes
from latex2mathml.converter import convert

from thesiskit import __version__

project = "thesiskit"
author = "The thesiskit developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True  # a name in a reference that leads nowhere is a warning, and so an error
default_role = "code"

html_theme = "furo"
html_title = "thesiskit"
html_static_path = ["static"]
html_css_files = ["thesiskit.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

autosummary_generate = False
autodoc_typehints = "none"  # docstrings say what arguments are
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
linkcheck_anchors = False
linkcheck_timeout = 20


NAMED = re.compile(r"(\w+(?:, \w+)*(?: \([\w, +]*\))?) : (.*)")


def plain(app, what, name, obj, options, lines):  # noqa: ARG001
    """Make reStructuredText of a docstring, after numpydoc has made some of its sections.

    `name : text` becomes a field, and what would be a reference or a stress is escaped.
    """
    found: list[str] = []
    inside = False  # a field
    for line in lines:
        parts = re.split(r"(`+[^`]*`+)", line)
        parts[::2] = [re.sub(r"(\*|\||_\b)", r"\\\1", part) for part in parts[::2]]
        field = NAMED.fullmatch("".join(parts))
        starts = bool(field) != inside and not line.startswith(" ") and line
        found += [""] * bool(starts) + [f":{field[1]}: {field[2]}" if field else "".join(parts)]
        inside = bool(field) or (inside and line.startswith(" "))
    lines[:] = found


def visit_math(self, node):
    """Write a formula as MathML, which browsers show without scripts and without a network."""
    display = "block" if node.tagname == "math_block" else "inline"
    formula = convert(node.astext(), display=display)
    if display == "block":
        formula = f'<div class="formula">{formula}</div>'
    self.body.append(formula.replace("&#x0007E;", "&#x0223C;"))  # of a distribution
    raise nodes.SkipNode


def setup(app):
    """Add what Sphinx does not know."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("autodoc-process-docstring", plain, priority=900)  # after numpydoc


html_math_renderer = "mathml"
