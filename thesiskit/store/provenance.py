"""What a result depends on besides its config: code, packages, machine.

The code that a result depends on is found from import statements: the modules that are given, all
of this package that they import, and all that these import, wherever in a module that is.  Modules
that are loaded by their name in a string are not found: who loads them so names them.
"""

import ast
import hashlib
import platform
import socket
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import thesiskit

ROOT = Path(thesiskit.__file__).parent


@lru_cache(maxsize=8)
def code_digest(modules: tuple[str, ...]) -> str:
    """Return a digest of modules, and of all modules and kernels that they import."""
    content = hashlib.sha256(thesiskit.__version__.encode())
    for name, path in sorted(imported(modules).items()):
        content.update(name.encode())
        content.update(path.read_bytes())
    return content.hexdigest()[:16]


def imported(modules: Iterable[str]) -> dict[str, Path]:
    """Return the files of modules, and of all of this package that they lead to, by name."""
    found: dict[str, Path] = {}
    todo = list(modules)
    while todo:
        name = todo.pop()
        path = None if name in found else _file(name)
        if path is not None:
            found[name] = path
            todo += _imports(name, path)
    return found


def _file(name: str) -> Path | None:
    """Return the file of a module, or kernel; None for a name that is something else."""
    if not name.startswith("thesiskit."):
        # a data source of somebody else
        return None if name == "thesiskit" else Path(str(import_module(name).__file__))
    below = ROOT.joinpath(*name.split(".")[1:])
    if below.is_dir():
        return below / "__init__.py"
    if below.with_suffix(".py").is_file():
        return below.with_suffix(".py")
    return next(iter(sorted(below.parent.glob(f"{below.name}.*.so"))), None)


@lru_cache(maxsize=512)
def _imports(name: str, path: Path) -> tuple[str, ...]:
    """Return what of this package a module imports, with the folders above it."""
    if path.suffix != ".py":
        return ()
    above = name.rpartition(".")[0]
    return (*([above] if above else []), *_named(ast.parse(path.read_bytes())))


def _named(tree: ast.AST) -> Iterator[str]:
    """Yield names that are imported, some of which may be no modules."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{one.name}" for one in node.names)]
        else:
            names = []
            yield from _named(node)
        yield from (one for one in names if one.startswith("thesiskit."))


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that numbers may depend on."""
    return {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas")}


def surroundings(code: str) -> dict[str, Any]:
    """Return what provenance.json says about code and machine; code : its digest."""
    return {
        "code": {"version": thesiskit.__version__, "digest": code},
        "packages": package_versions(),
        "python": platform.python_version(),
        "machine": {"host": socket.gethostname(), "system": platform.platform()},
    }
