"""The configuration of Sphinx; docs/site/make_site.py collects the pages and calls Sphinx."""

import re
from pathlib import Path

from docutils import nodes
from interface import as_rst
from latex2mathml.converter import convert

from thesiskit import __version__

project = "thesiskit"
author = "The thesiskit developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True  # a reference to an unknown name is a warning, and so an error
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
autodoc_typehints = "none"  # docstrings describe arguments
autodoc_member_order = "bysource"
linkcheck_anchors = False
linkcheck_timeout = 20


def visit_math(self, node):
    """Write a formula as MathML, which browsers show without scripts or a network."""
    display = "block" if node.tagname == "math_block" else "inline"
    formula = convert(node.astext(), display=display)
    if display == "block":
        formula = f'<div class="formula">{formula}</div>'
    self.body.append(formula.replace("&#x0007E;", "&#x0223C;"))  # of a distribution
    raise nodes.SkipNode


# attributes for keyboards and screen readers that the theme lacks
ACCESSIBLE = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',  # a wide one scrolls
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<div class="formula">': '<div tabindex="0" class="formula">',
    '<div id="search-results">': '<h1>Search</h1><div id="search-results">',
}


def make_accessible(app, error):
    """Change finished pages in places for which the theme has no template blocks."""
    for page in Path(app.outdir).rglob("*.html") if not error else ():
        if page.parent.name != "reports":
            text = page.read_text(encoding="utf-8")
            for old, new in ACCESSIBLE.items():
                text = text.replace(old, new)
            page.write_text(text, encoding="utf-8")


def docstring(app, what, name, obj, options, lines):  # noqa: ARG001
    """Convert a docstring to reStructuredText."""
    lines[:] = as_rst(name, obj, lines)


LONG = re.compile(r"\(([\d.e-]+), [^()]{40,}, ([\d.e-]+)\)")


def signature(app, what, name, obj, options, args, back):  # noqa: ARG001
    """Shorten long defaults, grids of numbers."""
    if args and (short := LONG.sub(r"(\1, ..., \2)", args)) != args:
        return short, back
    return None


def setup(app):
    """Register the functions of this file with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("build-finished", make_accessible)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)


html_math_renderer = "mathml"
