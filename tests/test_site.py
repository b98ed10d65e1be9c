"""The site of the documentation: made without a warning, and read without a network."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from itertools import chain
from urllib.parse import unquote, urlsplit

import equations
import make_site
import pytest
from browser import violations
from commands import ROOT
from interface import PACKAGES, examples, own_methods, parameters, public
from interface import run as run_example

from thesiskit.registry import folders, shipped

SMALL = ("correlation-lattice",)  # experiments whose figures are made here
LOOKS_LIKE_A_LABEL = re.compile(r"\beqn?-[a-zA-Z][\w-]*")


class Page(HTMLParser):
    """What a page has: ids, links to read on, and files that a browser loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.add(given.get("id"))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or given.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(given.get("src") or given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/make_site.py", "--folder", folder, "--results", folder,
         "--small", *SMALL],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def read(site):
    """Every page of the site; the reports of experiments have tests of their own."""
    found = site.rglob("*.html")
    return {path: Page(path.read_text()) for path in found if "reports" not in path.parts}


def test_every_page_of_the_repository_is_in_the_site(read, site):
    for name in [*make_site.pages().values(), *(f"{name}.md" for name in make_site.GENERATED)]:
        assert site / name.replace(".md", ".html") in read


def test_links_lead_to_a_page_and_a_place_in_it(read):
    for path, page in read.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme == "https", link
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path}: {link}"
            if parts.fragment and target in read:
                assert unquote(parts.fragment) in read[target].ids, f"{path}: {link}"


def test_nothing_is_loaded_from_a_network(read):
    for path, page in read.items():
        for source in page.loaded:
            parts = urlsplit(source)
            assert (parts.scheme, parts.netloc) == ("", ""), f"{path}: {source}"
            assert (path.parent / unquote(parts.path)).is_file(), f"{path}: {source}"


def test_the_search_knows_pages_and_functions(site):
    index = (site / "searchindex.js").read_text()  # a script: browsers load it from a folder too
    assert index.startswith("Search.setIndex(")
    for word in ("how-to/screened", "reticul", "NormalClassifier", "compress_sequences"):
        assert word in index


def test_the_gallery_has_every_experiment_and_the_figures_that_were_made(read, site):
    for page, paths in folders().items():
        shown = read[site / "gallery" / f"{page}.html"]
        assert {path.stem for path in paths} <= shown.ids
    for name in SMALL:
        figures = list((site / "reports" / name).glob("*.png"))
        assert figures
        here = shipped()[name].parent.name
        for figure in figures:
            source = f"../reports/{name}/{figure.name}"
            assert source in read[site / "gallery" / f"{here}.html"].loaded


def test_every_public_class_and_function_is_explained(read, site):
    for package in PACKAGES:
        classes, functions = public(package)
        assert classes + functions
        wanted = {f"{package}.{name}" for name in classes + functions}
        wanted |= {f"{package}.{n}.{m}" for n in classes for m in own_methods(package, n)}
        assert wanted <= read[site / "interface" / f"{package}.html"].ids


def test_each_parameter_is_shown_with_its_type_and_default(site):
    for package in PACKAGES:
        text = (site / "interface" / f"{package}.html").read_text()
        assert "**" not in re.sub("<[^>]*>", "", text.partition("<article")[2]).replace("2 ** ", "")
        for name in chain(*public(package)):
            one = getattr(import_module(package), name)
            whole = {name: one}
            if isinstance(one, type):
                whole |= {f"{name}.{key}": getattr(one, key) for key in own_methods(package, name)}
            for place, object_ in whole.items():
                section = text.partition(f'id="{package}.{place}"')[2].partition('id="thesiskit')[0]
                for each, says in parameters(object_).items() if callable(object_) else ():
                    assert re.match("``[^`]", says), (place, each)
                    assert f"<strong>{each}</strong>" in section, (package, place, each)


@pytest.mark.parametrize("code", sorted(set(examples().values())))
def test_examples_of_the_interface_run(code):
    assert run_example(code)


def test_every_public_estimator_and_function_has_an_example(site):
    for package in PACKAGES:
        classes, functions = public(package)
        for name in functions + classes * package.endswith("estimators"):
            assert f"{package}.{name}" in examples()
    assert (site / "interface/thesiskit.estimators.html").read_text().count(">Example<") == 11


# a page of each form: with tables, figures, code, formulae, cards, functions, and the search
FORMS = ("index", "reading", "evidence", "how-to/tables", "equations", "gallery/chapter2",
         "interface/thesiskit.estimators", "search")  # fmt: skip


def test_axe_finds_nothing_on_a_page_of_each_form(browser, site):
    found = {}
    with browser.page(site / "index.html") as page:
        for name in FORMS:
            page.goto((site / f"{name}.html").as_uri())
            found[name] = violations(page, without=("color-contrast",))
        page.goto((site / "reading.html").as_uri())
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found[scheme] = violations(page, "color-contrast")
    assert {name: one for name, one in found.items() if one} == {}


@pytest.mark.slow
def test_axe_finds_nothing(browser, read, site):
    found = {}
    with browser.page(site / "index.html") as page:
        for path in read:  # colours, which are slow to judge, are the same on all pages
            page.goto(path.as_uri())
            found[path.relative_to(site).as_posix()] = violations(page, without=("color-contrast",))
        for name in ("index", "reading", "interface/thesiskit.errors", "gallery/index"):
            page.goto((site / f"{name}.html").as_uri())
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                found[f"{name}, {scheme}"] = violations(page, "color-contrast")
    assert {name: one for name, one in found.items() if one} == {}


def test_every_equation_has_a_function_and_a_test():
    functions, tests = equations.found("thesiskit"), equations.found("tests", tests=True)
    for label in equations.LABELS:
        assert functions[label], f"no docstring of a function cites {label}"
        assert tests[label], f"no docstring of a test cites {label}"


def test_docstrings_cite_equations_that_are_listed():
    for folder in ("thesiskit", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for label in LOOKS_LIKE_A_LABEL.findall(path.read_text()):
                assert label in equations.LABELS, f"{path}: {label} is not in equations.yaml"


def test_a_range_of_labels_is_all_between():
    first, second, third = equations.LABELS[:3]
    assert equations.cited(f"Equations {first} to\n{third}.") == {first, second, third}
    assert equations.cited(f"x{first} {second}-x {third}") == {third}


def test_formulae_are_shown_without_scripts(read, site):
    text = (site / "equations.html").read_text()
    assert text.count("<math") == len(equations.LABELS)
    assert not any("mathjax" in one.lower() for one in read[site / "equations.html"].loaded)
