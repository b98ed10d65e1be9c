#!/usr/bin/env python3
"""How large the package is, and how far it is from a command to a figure: counted, not judged.

    python tools/house.py                      lines, files, functions, names of parameters
    python tools/house.py --trace CONFIG ...   also the files in which a function is entered by the
                                               small form of configs, in one process

`tests/test_house.py` holds each count where it is.  --trace needs an interpreter in which the
package is installed in place (pip install -e).
"""

import argparse
import ast
import inspect
import io
import re
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# keys of models: in how many files each is named
PARAMETERS = (
    "alpha_points", "alpha_prior", "class_prior", "effect_shapes", "screened", "sigma_shape",
    "temperature",
)  # fmt: skip
SIGNATURE = re.compile(r"^\s*(?:def|cpdef|cdef)\s[^=\n]*?(\w+)\(([^)]*)\)", re.MULTILINE)
SHORT = 3  # lines of a function
# pronouns, participles and adverbs, which say nothing of what a variable holds
WORDS = """
    added all alone any asked before beside both chosen done drawn each every few found given held
    here how it its joined judged kept known learnt left listed looked made many met mine named none
    one ones opened other others ours own said same seen several shared shown some such taken that
    there these this those told turned used wanted what where which who whose why written
"""
VAGUE = frozenset(WORDS.split())


def count(source: Path = ROOT) -> dict[str, Any]:
    """Return the counts of a checkout by what they count; the largest with where they are."""
    files = sorted(p for p in (source / "thesiskit").rglob("*.py") if "__pycache__" not in p.parts)
    found: Counter[str] = Counter(files=len(files))
    found.update(dict.fromkeys(("vague names", "Any", "fmt: skip"), 0))
    longest, most = (0, ""), (0, "")
    classes: Counter[str] = Counter()
    for path in files:
        text = path.read_text()
        found["lines"] += len(text.splitlines())
        found["fmt: skip"] += text.count("# fmt: skip")
        found["blank lines"] += sum(not line.strip() for line in text.splitlines())
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        found["comments"] += len({one.start[0] for one in tokens if one.type == tokenize.COMMENT})
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size, arguments = _sizes(node)
                where = f"{path.relative_to(source)}:{node.lineno} {node.name}"
                longest = max(longest, (size, where))
                if not (path.parent.name == "estimators" and node.name == "__init__"):
                    most = max(most, (arguments, where))  # estimators have all their options
                found["functions"] += 1
                found["functions of at most 3 lines"] += size <= SHORT
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                found["isinstance"] += 1
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            found["vague names"] += _binding(node) in VAGUE
            found["Any"] += isinstance(node, ast.Name) and node.id == "Any"
            found["lines of docstrings"] += _docstring(node)
    found["classes"] = classes.total()
    found["class names that stand for several"] = sum(n > 1 for n in classes.values())
    modules = [path.read_text() for path in files]
    named = {f"files that name {word}": sum(bool(re.search(rf"\b{word}\b", one)) for one in modules)
             for word in PARAMETERS}  # fmt: skip
    lines, kernel = _kernels(source)
    largest = {"lines of the longest function": longest, "most arguments": most,
               "most arguments of a kernel function": kernel}  # fmt: skip
    return dict(found) | named | {"lines of kernels": lines} | largest


def _binding(node: ast.AST) -> str:
    """Return the name that a node binds: a variable, an argument, an attribute, a function."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    return node.arg if isinstance(node, ast.arg) else ""


def _docstring(node: ast.AST) -> int:
    """Return how many lines the docstring of a module, a class or a function has."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
    if not isinstance(node, kinds) or not ast.get_docstring(node):
        return 0
    said = node.body[0]
    assert said.end_lineno is not None
    return said.end_lineno - said.lineno + 1


def _sizes(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """Return how many lines the body of a function has, and how many arguments it takes."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    taken = node.args
    arguments = len(taken.args) + len(taken.kwonlyargs) + len(taken.posonlyargs)
    if not body:
        return 0, arguments
    assert body[-1].end_lineno is not None
    return body[-1].end_lineno - body[0].lineno + 1, arguments


def _kernels(source: Path) -> tuple[int, tuple[int, str]]:
    """Return the lines of the kernels, and the most arguments of one of their functions."""
    lines, most = 0, (0, "")
    for path in sorted((source / "cython_ext").rglob("*")):
        if path.suffix not in {".pyx", ".pxd", ".h"}:
            continue
        text = path.read_text(errors="replace")
        lines += text.count("\n")
        for match in SIGNATURE.finditer(text) if path.suffix == ".pyx" else ():
            each = re.sub(r"\[[^\]]*\]", "", match[2]).split(",")
            taken = [one for one in each if one.strip() and one.strip() not in {"self", "*"}]
            most = max(most, (len(taken), f"{path.name} {match[1]}"))
    return lines, most


def trace(config: str) -> list[str]:
    """Run the small form of a config in this process; return the files that it enters."""
    import thesiskit
    from thesiskit.cli import main

    home, entered = str(Path(thesiskit.__file__).parent), set()

    def profile(frame, event, _argument):
        if event != "call":
            return
        code, caller = frame.f_code, frame.f_back.f_code if frame.f_back else frame.f_code
        # not the body of a module or a class, nor what one calls
        called = code.co_flags & caller.co_flags & inspect.CO_OPTIMIZED
        if called and code.co_filename.startswith(home) and code.co_filename.endswith(".py"):
            entered.add(code.co_filename)

    with tempfile.TemporaryDirectory() as folder:
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            main(["run", config, "--smoke", "--results", folder, "--jobs", "0"],
                 standalone_mode=False)  # fmt: skip
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return sorted(str(Path(one).relative_to(home)) for one in entered)


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trace", nargs="+", default=[], metavar="CONFIG")
    parser.add_argument("--names", action="store_true", help="list the files entered")
    given = parser.parse_args()
    for key, value in count().items():
        print(f"{key}: {value}")
    for config in given.trace:
        files = trace(config)
        print(f"files entered by {config}: {len(files)}")
        if given.names:
            print("  " + "\n  ".join(files))


if __name__ == "__main__":
    main()
