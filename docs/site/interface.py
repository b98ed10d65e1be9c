"""Writes the pages of the Python interface: what each package names in its `__all__`."""

import inspect
from importlib import import_module
from pathlib import Path

PACKAGES = {
    "thesiskit.estimators": "Estimators, with the interface of scikit-learn.",
    "thesiskit.fitted": "Models that were exported, and predict new cases.",
    "thesiskit.models.selection": "Selection of features by their correlation with the response.",
    "thesiskit.models.naive_bayes": "Binary naive Bayes, with the correction for the selection.",
    "thesiskit.models.mixture": "Binary mixture models, with the correction for the selection.",
    "thesiskit.models.normal": "Real features and any number of classes.",
    "thesiskit.models.patterns": "Groups of patterns of sequences and of discrete features.",
    "thesiskit.models.logistic": "Logistic models with a coefficient for each group of patterns.",
    "thesiskit.models.process": "The same models with Gaussian priors, as Gaussian processes.",
    "thesiskit.datasets.synthetic": "Data drawn from the models.",
    "thesiskit.errors": "What is raised.",
}
INTRODUCTION = """Python interface
================

The estimators are what most programs need. The packages below them are the statistics that the
estimators and the commands use: they take arrays and settings, and a random generator where they
draw.

.. toctree::

"""


def public(package: str) -> tuple[list[str], list[str]]:
    """Return the names of the public classes and functions of a package or module."""
    module = import_module(package)
    names = getattr(module, "__all__", None) or [
        name for name, one in vars(module).items()
        if getattr(one, "__module__", "") == package and not name.startswith("_")
    ]  # fmt: skip
    kinds = {name: getattr(module, name) for name in names}
    classes = [name for name, one in kinds.items() if inspect.isclass(one)]
    return classes, [name for name, one in kinds.items() if inspect.isfunction(one)]


def write_interface(folder: Path) -> None:
    """Write a page for each package, with a table of what is in it, and a page that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.rst").write_text(
        INTRODUCTION + "".join(f"   {package}\n" for package in PACKAGES)
    )
    for package, about in PACKAGES.items():
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
