"""Writes the pages of the Python interface: classes, functions and parameters.

Descriptions come from docstrings, types and defaults from signatures, examples from examples.py.
"""

import contextlib
import inspect
import io
import re
import warnings
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path

from sklearn.base import BaseEstimator
from tables import TEXTS

from thesiskit.errors import UnreliableWarning
from thesiskit.models.logistic import Logistic

EXAMPLES = Path(__file__).with_name("examples.py")
# what each page is about, and its names; those of the package's __all__ unless given
PACKAGES = {
    "thesiskit.estimators": ("Estimators, with the interface of scikit-learn.", ""),
    "thesiskit.fitted": ("Exported models, which predict new samples.", ""),
    "thesiskit.models.selection": (
        "Selection of features by their correlation with the response.",
        "Screened Selection FSelection select_features select_by_f squared_correlation "
        "correlation_lattice correlation_of_f f_limits",
    ),
    "thesiskit.models.naive_bayes": (
        "Binary naive Bayes, with the correction for the selection.",
        "NaiveBayes NaiveBayesPosterior fit predict predict_log_odds log_alpha_density "
        "predictive_probabilities_of_new_samples",
    ),
    "thesiskit.models.mixture": (
        "Binary mixture models, with the correction for the selection.",
        "Mixture MixtureTarget MixtureDraws sample diagnose as_arviz enumerate_posterior",
    ),
    "thesiskit.models.normal": (
        "Continuous features and any number of classes.",
        "Normal NormalPosterior fit predictive_probabilities_of_new_samples",
    ),
    "thesiskit.models.patterns": (
        "Groups of patterns of sequences and of categorical features.",
        "FeatureGroups SequenceGroups compress_features compress_sequences",
    ),
    "thesiskit.models.logistic": (
        "Logistic models with a coefficient for each group of patterns.",
        "Logistic",
    ),
    "thesiskit.datasets.synthetic": (
        "Data drawn from the models.",
        "draw_naive_bayes draw_mixture",
    ),
    "thesiskit.errors": (
        "Exceptions and warnings.",
        "ThesiskitError UserError ConfigError DataError ResultsError UnreliableWarning",
    ),
}
# of parameters that have no annotation, because scikit-learn's interface has none
TYPES = {
    **dict.fromkeys(("X", "Y", "x", "y", "q", "levels", "shared", "sigma"), "array-like"),
    **dict.fromkeys(("features", "response", "kept"), "ndarray"),
    **dict.fromkeys(("s", "width", "other_width", "mean", "sd"), "float | array-like"),
    **dict.fromkeys(("chains", "iterations", "burn_in", "thin", "n_jobs"), "int | None"),
    **dict.fromkeys(("n_features", "order"), "int | None"),
    **dict.fromkeys(("correct", "disjoint", "indices", "log", "return_std"), "bool"),
    **dict.fromkeys(("groups", "input_features"), "array-like | None"),
    **dict.fromkeys(("posterior", "draws"), "as `fit` or `sample` returns it"),
    "screened": "dict | None",
    "engine": "str",
    "temperature": "str | None",
    "ld": "float | None",
    "level": "float",
    "until": "tuple[float, float] | str | None",
    "random_state": "int | RandomState | None",
    "split_draws": "int",
    "k": "int",
    "samples": "slice | ndarray",
    "sample": "int",
    "training": "Training",
    "truth": "dict[str, ndarray]",
    "arrays": "dict[str, ndarray]",
    "about": "dict",
    "selected": "ndarray",
    "classes": "int",
    "rng": "Generator",
}
LONG = 60  # letters of a default
ENTRY = re.compile(r"(\w+(?:, \w+)*(?: \([\w, +]*\))?) : (.*)")


def public(package: str) -> tuple[list[str], list[str]]:
    """Return the names of the public classes and functions of a package or module."""
    module = import_module(package)
    names = PACKAGES[package][1].split() or module.__all__
    kinds = {name: getattr(module, name) for name in names}
    classes = [name for name, one in kinds.items() if inspect.isclass(one)]
    return classes, [name for name, one in kinds.items() if inspect.isfunction(one)]


def write_interface(folder: Path) -> None:
    """Write a page for each package, with a table of what is in it, and a page that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.rst").write_text(
        TEXTS["interface"] + "\n" + "".join(f"   {package}\n" for package in PACKAGES)
    )
    for package, (about, _) in PACKAGES.items():
        classes, functions = public(package)
        page = f"{package}\n{'=' * len(package)}\n\n{about}\n\n.. currentmodule:: {package}\n\n"
        listed = "".join(f"   {name}\n" for name in classes + functions)
        page += f".. autosummary::\n   :nosignatures:\n\n{listed}\n"
        for name in classes:
            methods = ", ".join(own_methods(package, name))
            page += f".. autoclass:: {name}\n" + (f"   :members: {methods}\n" if methods else "")
            page += "\n"
        page += "".join(f".. autofunction:: {name}\n\n" for name in functions)
        (folder / f"{package}.rst").write_text(page)


def own_methods(package: str, name: str) -> list[str]:
    """Return the public methods and properties that thesiskit, not a library, defines."""
    cls = getattr(import_module(package), name)
    found = {}
    for one in reversed(cls.__mro__):
        if one.__module__.startswith("thesiskit"):
            found |= {key: value for key, value in vars(one).items() if not key.startswith("_")}
    kinds = (property, classmethod, staticmethod)
    return [
        key for key, value in found.items()
        if (inspect.isfunction(value) or isinstance(value, kinds)) and inspect.getdoc(value)
    ]  # fmt: skip


# ---- docstrings ----


def parameters(one) -> dict[str, str]:
    """Return the type and the default of each parameter of a class or function, as text."""
    try:
        given = inspect.signature(one).parameters.values()
    except (TypeError, ValueError):
        return {}
    known = {}
    if inspect.isclass(one) and issubclass(one, BaseEstimator):
        known = {each.name: each.type for each in fields(getattr(one, "model_class", Logistic))}
    found = {}
    for each in given:
        if each.name == "self" or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        kind = known.get(each.name) or TYPES.get(each.name, "")
        if each.annotation is not each.empty:
            kind = each.annotation
        if not isinstance(kind, str):
            kind = inspect.formatannotation(kind)
        kind = re.sub(r"[\w.]+\.(?=\w)", "", kind)
        if each.default is each.empty:
            found[each.name] = f"``{kind}``"
            continue
        for value, word in ((None, "None"), ("auto", "str")):  # of estimators, not of their models
            kind += f" | {word}" if each.default == value and word not in kind else ""
        default = repr(each.default)
        if len(default) > LONG:
            default = f"({each.default[0]!r}, ..., {each.default[-1]!r})"
        found[each.name] = f"``{kind}``, default ``{default}``"
    return found


def escaped(line: str) -> str:
    """Return a line in which nothing is a reference or a stress, but `code` is code."""
    parts = re.split(r"(`+[^`]*`+)", line)
    parts[::2] = [re.sub(r"(\*|\||_\b)", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def as_rst(name: str, one, lines: list[str]) -> list[str]:
    """Return a docstring as reStructuredText: each parameter with type and default, an example."""
    mine = parameters(one) if callable(one) else {}
    left, text, section = dict(mine), [], ""

    def entry(names: str, words: list[str]) -> None:
        given = [each for each in names.split(", ") if each in left]
        of_types = "; ".join(f"**{each}** : {left.pop(each)}" for each in given)
        text.extend(["", of_types or f"**{names}**", *(f"    {each}" for each in words)])

    i = 0
    while i < len(lines):
        line = lines[i]
        if i + 1 < len(lines) and lines[i + 1] and not lines[i + 1].strip("-"):
            section = line
            text += ["", f".. rubric:: {line}", ""]
            i += 2
            continue
        while section and line.endswith(",") and " : " not in line and not line.startswith(" "):
            i += 1
            line += f" {lines[i].strip()}"
        found = ENTRY.fullmatch(line) or (section == "Raises" and re.match(r"(\w+): (.*)", line))
        i += 1
        if not found or line.startswith(" "):
            text.append(escaped(line))
            continue
        words = [found[2]]
        while i < len(lines) and lines[i].startswith(" "):
            words.append(lines[i].strip())
            i += 1
        entry(found[1], [escaped(each) for each in words])
        text += [""] * (i < len(lines) and not ENTRY.fullmatch(lines[i]))
    if left:
        text += ["", ".. rubric:: Parameters" if len(left) == len(mine) else "", ""]
        for each in list(left):
            entry(each, ["As above."])
    if name in examples():
        code, printed = examples()[name], run(examples()[name])
        for kind, block in (("python", code), ("text", printed)):
            text += ["", ".. rubric:: Example" if kind == "python" else "It prints:", ""]
            text += [f".. code-block:: {kind}", "", *(f"    {each}" for each in block.splitlines())]
    return [*text, ""]


@cache
def examples() -> dict[str, str]:
    """Return the code of the example of each class and function, by its whole name."""
    found = {}
    _, *cells = re.split(r"^# %% (.*)\n", EXAMPLES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for names, code in zip(cells[::2], cells[1::2], strict=True):
        package, *each = names.split()
        found |= {f"{package}.{one}": code.strip() for one in each}
    return found


@cache
def run(code: str) -> str:
    """Return what an example prints."""
    printed = io.StringIO()
    quiet = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)  # the chains are short
        exec(compile(code, "an example", "exec"), {})
    return printed.getvalue()
