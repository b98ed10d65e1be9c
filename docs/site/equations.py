"""The site's page of equations of the thesis: what computes and what tests each.

Functions and tests cite equations in their docstrings by the labels of the thesis.  equations.yaml
has the labels, in the order of the thesis.
"""

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import yaml
from tables import TEXTS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHAPTERS: dict[str, dict[str, dict[str, str]]] = yaml.safe_load(
    (HERE / "equations.yaml").read_text(encoding="utf-8")
)
LABELS = list(chain.from_iterable(CHAPTERS.values()))
ONE = "|".join(sorted(map(re.escape, LABELS), key=len, reverse=True))
CITED = re.compile(rf"(?<![\w-])({ONE})(?![\w-])(?:\s+to\s+({ONE})(?![\w-]))?")


def cited(text: str) -> set[str]:
    """Return the labels that a docstring cites; "A to B" stands for all from A to B."""
    found = set()
    for first, last in CITED.findall(text):
        start = LABELS.index(first)
        found |= set(LABELS[start : LABELS.index(last or first) + 1])
    return found


def citations(folder: str, tests: bool) -> Iterator[tuple[str, str, set[str]]]:
    """Yield file, name and labels of each function, class or method that cites any."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, node in _definitions(tree, ""):
            labels = cited(ast.get_docstring(node) or "")
            if labels and name.startswith("test_") == tests:
                yield where, name, labels


def _definitions(node: ast.AST, prefix: str):
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef):
            name = f"{prefix}{inner.name}"
            yield name, inner
            if isinstance(inner, ast.ClassDef):
                yield from _definitions(inner, f"{name}.")


def found(folder: str, *, tests: bool = False) -> dict[str, list[tuple[str, str]]]:
    """Return, for each label, the file and the name of everything that cites it."""
    everything: dict[str, list[tuple[str, str]]] = {label: [] for label in LABELS}
    for where, name, labels in citations(folder, tests):
        for label in labels:
            everything[label].append((where, name))
    return everything


def equations_page() -> str:
    """Return the page of equations as Markdown."""
    functions, tests = found("thesiskit"), found("tests", tests=True)
    text = TEXTS["equations"]
    for chapter, equations in CHAPTERS.items():
        text += f"\n## {chapter}\n"
        for label, equation in equations.items():
            meaning = equation["meaning"][0].upper() + equation["meaning"][1:]
            text += f"\n### {label}\n\n{meaning}.\n\n$$\n{equation['tex']}\n$$\n\n"
            for kind, several in (("computed", functions[label]), ("tested", tests[label])):
                text += "".join(f"- {kind} by `{name}` in `{path}`\n" for path, name in several)
    return text
