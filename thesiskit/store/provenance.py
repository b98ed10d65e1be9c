"""What a result depends on besides its config: code, packages, machine.

The code that a result depends on is found from import statements: the modules that are given, all
of this package that they import, and all that these import, wherever in a module that is.  Modules
of `config` are left out, for the values of a config are part of a result's key.
"""

import hashlib
import platform
import re
import socket
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import thesiskit

ROOT = Path(thesiskit.__file__).parent
IMPORT = re.compile(
    r"^[ \t]*(?:from (thesiskit[\w.]*) import (\([^)]*\)|[^\n#]+)|import (thesiskit[\w.]+))",
    re.MULTILINE,
)


@lru_cache(maxsize=8)
def code_digest(modules: tuple[str, ...], folders: tuple[str, ...] = ()) -> str:
    """Return a digest of modules, and of all modules and kernels that they import.

    folders : of the package, whose files matter too.
    """
    content = hashlib.sha256(thesiskit.__version__.encode())
    files = imported(modules)
    for folder in folders:
        files |= {f"{folder}/{path.name}": path for path in (ROOT / folder).iterdir()}
    for name, path in sorted(files.items()):
        content.update(name.encode())
        content.update(path.read_bytes())
    return content.hexdigest()[:16]


def imported(modules: Iterable[str]) -> dict[str, Path]:
    """Return the files of modules, and of all of this package that they lead to, by name."""
    found: dict[str, Path] = {}
    todo = list(modules)
    while todo:
        name = todo.pop()
        if name in found or name.startswith("thesiskit.config"):
            continue
        path = _file(name)
        if path is not None:
            found[name] = path
            todo += _imports(name, path)
    return found


def _file(name: str) -> Path | None:
    """Return the file of a module, or kernel; None for the name of something else."""
    if name.partition(".")[0] != ROOT.name:  # a data set of another package
        file = import_module(name).__file__
        return None if file is None else Path(file)
    path = ROOT.joinpath(*name.split(".")[1:])
    if path.is_dir():
        return path / "__init__.py"
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    return next(iter(sorted(path.parent.glob(f"{path.name}.*.so"))), None)


def _imports(name: str, path: Path) -> Iterator[str]:
    """Yield what a module imports of this package, and the folder above it."""
    yield name.rpartition(".")[0] or name
    if path.suffix != ".py":
        return
    for module, names, alone in IMPORT.findall(path.read_text(encoding="utf-8")):
        yield module or alone
        for one in names.strip("()").split(","):  # each may be a module
            if one.strip():
                yield f"{module}.{one.split()[0]}"


@lru_cache(maxsize=1)
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


def now() -> str:
    """The time, for people; nothing is ever decided by comparing the clocks of two machines."""
    return datetime.now(UTC).isoformat(timespec="seconds")
