"""Builds the website of the documentation: `make docs`, or `python docs/site/make_site.py`.

The Markdown files of the repository are copied to build/site/source, with links changed to their
places on the website.  Generated pages, the Python interface and a gallery of experiments are
added; Sphinx builds build/site/html.
"""

import argparse
import re
import shutil
import sys
from os.path import relpath
from pathlib import Path

from sphinx.cmd.build import build_main

from thesiskit.registry import shipped

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from command_reference import all_commands, all_keys  # noqa: E402
from equations import equations_page  # noqa: E402
from gallery import Made, write_gallery  # noqa: E402
from interface import write_interface  # noqa: E402
from notebook import as_text  # noqa: E402
from tables import claims_page  # noqa: E402

# pages outside docs/, and their names on the website
ELSEWHERE = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changes.md",
    "data/README.md": "data.md",
}
NAVIGATION = {
    "Start": ["install", "tutorial", "which-model", "overview", "gallery/index"],
    "Your data": [
        f"how-to/{page}"
        for page in (
            "tables", "repeated-samples", "screened", "snps", "interactions", "sequences", "mixing",
            "real-responses", "new-samples", "python", "many-data-sets", "chains",
        )
    ],
    "Understand": ["how-it-works", "reading", "evidence", "thesis", "claims", "equations"],
    "Reference": [
        "results", "config", "keys", "reference", "commands", "interface/index", "data", "security",
    ],
    "For developers": ["developers", "contributing", "changes"],
}  # fmt: skip
GENERATED = {  # pages that only the website has
    "claims": claims_page,
    "commands": all_commands,
    "equations": equations_page,
    "keys": all_keys,
}
NOTEBOOK = "{download}`This page as a notebook <tutorial.ipynb>`"
LINK = re.compile(r"(\]\()([^):#\s]+)(#[^)\s]*)?(\))")


def pages() -> dict[Path, str]:
    """Return the Markdown files that are pages, each with its name on the website."""
    found = {ROOT / path: name for path, name in ELSEWHERE.items()}
    docs = ROOT / "docs"
    return found | {path: path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


def assemble(source: Path) -> None:
    """Copy pages, with changed links, and the files that they link to; write generated pages."""
    named = pages()
    for path, name in named.items():
        text = LINK.sub(lambda link, at=path: _moved(link, at, named, source), path.read_text())
        if name == "index.md":
            text += _navigation()
        elif name == "overview.md":
            text = text.replace("# thesiskit\n", "# Overview\n", 1)
        elif name == "tutorial.md":
            (source / "tutorial.ipynb").write_text(as_text(text), encoding="utf-8")
            text = text.replace("\n\n", f"\n\n{NOTEBOOK}\n\n", 1)
        page = source / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for name, content in GENERATED.items():
        (source / f"{name}.md").write_text(content(), encoding="utf-8")


def _moved(link: re.Match, page: Path, named: dict[Path, str], source: Path) -> str:
    """Return a link as it is on the website; copy its target if it is no page."""
    target = (page.parent / link[2]).resolve()
    if not target.is_file():
        return link[0]  # a word of code that looks like a link, or a mistake, which Sphinx reports
    name = named.get(target)
    if name is None:
        name = f"files/{target.relative_to(ROOT).as_posix()}"
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, source / name)
    return f"{link[1]}{relpath(name, Path(named[page]).parent)}{link[3] or ''}{link[4]}"


def _navigation() -> str:
    """Return the tables of contents in the margin of every page."""
    return "".join(
        f"\n```{{toctree}}\n:caption: {title}\n:hidden:\n\n" + "\n".join(listed) + "\n```\n"
        for title, listed in NAVIGATION.items()
    )


def build(folder: Path, results: Path, names: list[str], builder: str = "html") -> int:
    """Build the website in a folder, from pages and results; return Sphinx's exit code.

    Experiments in `names` without results run as quick demos.  Unchanged pages are not rebuilt.
    Warnings are errors.
    """
    source, extra = folder / "source", folder / "extra"
    for old in (source, extra):
        shutil.rmtree(old, ignore_errors=True)
    assemble(source)
    write_interface(source / "interface")
    made = Made(results, folder / "small")
    made.make_small(names)
    write_gallery(source / "gallery", made, extra / "reports")
    return build_main([
        "-b", builder, "-W", "--keep-going", "-q", "-c", str(HERE), "-d", str(folder / "doctrees"),
        "-D", f"html_extra_path={extra}", str(source), str(folder / builder),
    ])  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--builder", default="html", choices=["html", "linkcheck"])
    parser.add_argument("--small", nargs="*", default=list(shipped()), metavar="NAME")
    given = parser.parse_args()
    code = build(given.folder.absolute(), given.results, given.small, given.builder)
    if not code and given.builder == "html":
        print(given.folder / "html" / "index.html")
    sys.exit(code)
