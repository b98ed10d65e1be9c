"""How Sphinx makes the site; docs/site/make_site.py puts the pages together and calls it."""

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
linkcheck_anchors = False
linkcheck_timeout = 20


def visit_math(self, node):
    """Write a formula as MathML, which browsers show without scripts and without a network."""
    display = "block" if node.tagname == "math_block" else "inline"
    formula = convert(node.astext(), display=display)
    if display == "block":
        formula = f'<div class="formula">{formula}</div>'
    self.body.append(formula.replace("&#x0007E;", "&#x0223C;"))  # of a distribution
    raise nodes.SkipNode


# what the theme leaves out for readers who use a keyboard or a screen reader
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
    """Change finished pages, which the templates of the theme have no blocks for."""
    for page in Path(app.outdir).rglob("*.html") if not error else ():
        if page.parent.name != "reports":
            text = page.read_text(encoding="utf-8")
            for old, new in ACCESSIBLE.items():
                text = text.replace(old, new)
            page.write_text(text, encoding="utf-8")


def docstring(app, what, name, obj, options, lines):  # noqa: ARG001
    """Make reStructuredText of a docstring."""
    lines[:] = as_rst(name, obj, lines)


LONG = re.compile(r"\(([\d.e-]+), [^()]{40,}, ([\d.e-]+)\)")


def signature(app, what, name, obj, options, args, back):  # noqa: ARG001
    """Shorten long defaults, grids of numbers."""
    if args and (short := LONG.sub(r"(\1, ..., \2)", args)) != args:
        return short, back
    return None


def setup(app):
    """Add what Sphinx does not know."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("build-finished", make_accessible)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)


html_math_renderer = "mathml"
