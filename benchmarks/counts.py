"""Counts that say how far a reader has to walk.

    python benchmarks/counts.py configs/chapter2/naive-simulation.yaml

First the Python files of which `thesiskit run CONFIG --smoke` enters a function, from the command
to the page.  To import a file, or to make its classes, does not enter it.  Then the largest file,
the largest folder, the arguments of the largest constructor of a kernel class (without `self`), and
the words in the glossary.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "thesiskit"


def entered(config: str) -> list[str]:
    """Return the files that a small run of a config enters."""
    import thesiskit
    from thesiskit.cli import main

    package = str(Path(thesiskit.__file__).parent) + os.sep
    found: set[str] = set()

    def profile(frame, event, argument):
        code = frame.f_code
        function = code.co_flags & 0x2  # optimised locals: not a module, not the body of a class
        if event == "call" and function and code.co_filename.startswith(package):
            found.add(code.co_filename.removeprefix(package))

    with tempfile.TemporaryDirectory() as results:
        sys.setprofile(profile)
        try:
            main(["run", config, "--smoke", "--jobs", "0", "--results", results],
                 standalone_mode=False)  # fmt: skip
        finally:
            sys.setprofile(None)
    return sorted(name for name in found if name.endswith(".py"))


def constructor_arguments() -> tuple[int, str]:
    """Return the most arguments that a constructor of a kernel class takes, and its class."""
    largest = (0, "")
    for path in (ROOT / "cython_ext").rglob("*.pyx"):
        name = ""
        text = re.sub(r"#[^\n]*", "", path.read_text())
        for kind, named, rest in re.findall(
            r"^(cdef class (\w+)|[ \t]+def __(?:c?init)__\(([^)]*)\))", text, re.MULTILINE
        ):
            if named:
                name = named
            elif kind:
                arguments = [
                    one for one in re.sub(r"\[[^\]]*\]", "", rest).split(",") if one.strip()
                ]
                largest = max(largest, (len(arguments) - 1, f"{path.name}: {name}"))
    return largest


def main() -> None:
    for config in sys.argv[1:]:
        files = entered(config)
        print(f"{config}: {len(files)} files entered\n  " + "\n  ".join(files))
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "cython_ext").rglob("*.p*")]
    lines = {path: len(path.read_text().splitlines()) for path in files}
    largest = max(lines, key=lambda path: lines[path])
    print(f"largest file: {largest.relative_to(ROOT)}, {lines[largest]} lines")
    folders = {path.parent for path in files}
    counts = {folder: sum(path.parent == folder for path in files) for folder in folders}
    fullest = max(counts, key=lambda folder: counts[folder])
    print(f"largest folder: {fullest.relative_to(ROOT)}, {counts[fullest]} files")
    arguments, name = constructor_arguments()
    print(f"largest constructor of a kernel class: {name}, {arguments} arguments")
    glossary = (ROOT / "docs/developers.md").read_text().partition("## Glossary")[2]
    words = re.findall(r"^[|] \w+ [|]", glossary, re.MULTILINE)
    print(f"words in the glossary: {len(words) - 1}")  # without the heading


if __name__ == "__main__":
    main()
