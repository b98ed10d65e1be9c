"""Pages, messages and help use the words of the field, numbers as journals print, and few words.

Checked are strings of the package with two words or more, help texts, templates, and pages of docs.
"""

import ast
import re

import pytest
from commands import ROOT

from thesiskit.config import keys

CEILINGS = {
    "README.md": 600,
    "docs/index.md": 250,
    "docs/install.md": 150,
    "docs/tutorial.md": 900,
    "docs/which-model.md": 900,
    "docs/how-to/tables.md": 1300,
    "docs/how-to/repeated-samples.md": 530,
    "docs/how-to/screened.md": 700,
    "docs/how-to/snps.md": 700,
    "docs/how-to/interactions.md": 500,
    "docs/how-to/sequences.md": 500,
    "docs/how-to/mixing.md": 250,
    "docs/how-to/real-responses.md": 1100,
    "docs/how-to/new-samples.md": 850,
    "docs/how-to/python.md": 900,
    "docs/how-to/many-data-sets.md": 900,
    "docs/how-to/chains.md": 400,
    "docs/how-it-works.md": 1000,
    "docs/reading.md": 900,
    "docs/evidence.md": 2650,
    "docs/thesis.md": 800,
    "docs/results.md": 600,
    "docs/config.md": 2000,
    "docs/reference.md": 350,
}
FOR_DEVELOPERS = {"docs/developers.md": 1500}


def n_words(page: str) -> int:
    """Return how many words a page has; the frames of its tables are no words."""
    return len(re.findall(r"\S*\w\S*", (ROOT / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", CEILINGS | FOR_DEVELOPERS)
def test_docs_are_short(page):
    assert n_words(page) <= (CEILINGS | FOR_DEVELOPERS)[page]


def test_every_page_has_a_ceiling_and_all_together_are_short():
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages | {"README.md"} == CEILINGS.keys() | FOR_DEVELOPERS.keys()
    assert sum(map(n_words, CEILINGS)) <= 18_500


WORDS = {
    "a thing does not speak": r"\b(says|tells|told|knows|believes|promises|promised)\b",
    "a plain word": r"\b(beside|mend|mended|spoils?|anew|by lot|for want of|at hand)\b",
    "method, log loss, sample": r"\b(arms?|AMLPs?|cases?)\b",
    "95%": r"\d %",
    "0.219": r"(?<![\w.\]])\.\d{2,}\b",
    "p < 0.001": r"\bp [=<>] [\d.]+e-\d",
}
# what stays: quotations of the thesis, values of keys, and words with another meaning
ALLOWED = (
    "AMLP in the thesis",
    "all-cases",
    "case and control",
    "case or control",
    "cases-in-rows",
    "2 (case)",
    "2 = case",
    "case $code in",
    "cases and controls",
    "(the thesis: AMLP)",
    "lower-case",
    "lower case",
    "upper case",
)
CLI = [ROOT / "thesiskit/cli", ROOT / "thesiskit/__main__.py"]  # docstrings are help texts


def sentences(path):
    """Yield the line and the text of strings of a module with two words or more."""
    tree = ast.parse(path.read_text())
    help_texts = path.parent in CLI or path in CLI
    for parent in ast.walk(tree):
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = " ".join(node.value.split())
                is_docstring = isinstance(parent, ast.Expr)
                if " " in text and (help_texts or not is_docstring):
                    yield node.lineno, text


def wrong_words(text):
    """Return what is wrong with a text, and where."""
    for words in ALLOWED:
        text = text.replace(words, "")
    return [f"{why}: {match[0]}" for why, pattern in WORDS.items()
            for match in re.finditer(pattern, text)]  # fmt: skip


MODULES = sorted((ROOT / "thesiskit").rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_messages(path):
    found = [(line, text[:80], wrong) for line, text in sentences(path)
             if (wrong := wrong_words(text))]  # fmt: skip
    assert not found


def words_of(path):
    """Return the text of a template without its commands and fields."""
    commands = r"{#.*?#}|{%.*?%}|{{.*?}}"
    return re.sub(commands, " ", path.read_text(), flags=re.DOTALL)


def test_templates():
    folder = ROOT / "thesiskit/report"
    shown = [f"thesis/{name}.yaml" for name in ("claims", "exhibits", "reasons")]
    paths = [*folder.glob("templates/*.yaml"), *folder.glob("templates/*.j2")]
    paths.remove(folder / "templates/style.html.j2")
    paths += [folder / name for name in shown]
    found = {path.name: wrong_words(words_of(path)) for path in paths}
    assert not {name: wrong for name, wrong in found.items() if wrong}


@pytest.mark.parametrize("name", CEILINGS | FOR_DEVELOPERS)
def test_pages_of_docs(name):
    text = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / name).read_text(), flags=re.DOTALL)
    assert not wrong_words(text)


@pytest.mark.parametrize(
    ("text", "n_wrong"),
    [
        ("the table says 95 % of the cases", 3),
        ("an AMLP of .219 (p < 1e-12)", 3),
        ("mend it, or leave it; it is at hand", 2),
        ("95% of 0.219 (p < 0.001); lower-case letters", 0),
        ("version 0.2.19 of t.csv", 0),
    ],
)
def test_wrong_words_are_found(text, n_wrong):
    assert len(wrong_words(text)) == n_wrong


def test_descriptions_of_keys():
    found = {key.name: wrong for key in keys() if (wrong := wrong_words(key.text))}
    assert not found
