"""What a result depends on besides its config: code, packages, machine."""

import hashlib
import platform
import socket
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import thesiskit


@lru_cache(maxsize=2)
def code_digest(part: str = "") -> str:
    """Return a digest of the code that computes results, or of the folder `part`."""
    root = Path(thesiskit.__file__).parent
    content = hashlib.sha256(thesiskit.__version__.encode())
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_dir() or "__pycache__" in name:
            continue
        wanted = name.startswith(part) if part else not name.startswith(("report/", "cli/"))
        if wanted:
            content.update(name.encode())
            content.update(path.read_bytes())
    return content.hexdigest()[:16]


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that numbers may depend on."""
    return {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas")}


def surroundings() -> dict[str, Any]:
    """Return the entries of provenance.json about the code and the machine."""
    return {
        "code": {"version": thesiskit.__version__, "digest": code_digest()},
        "packages": package_versions(),
        "python": platform.python_version(),
        "machine": {"host": socket.gethostname(), "system": platform.platform()},
    }
