"""Makes the site of the documentation: `make docs`, or `python docs/site/make_site.py`.

The pages are the Markdown files of the repository, which stay readable where they are.  They are
copied to build/site/source, where links among them are changed to their places in the site.  Pages
of the Python interface and a gallery of experiments are added; Sphinx makes build/site/html.
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

from gallery import Made, write_gallery  # noqa: E402
from interface import write_interface  # noqa: E402
from notebook import as_text  # noqa: E402

# what is not in docs/, and what it is called in the site
ELSEWHERE = {
    "README.md": "examples.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changes.md",
    "data/README.md": "data.md",
}
NAVIGATION = {
    "Start": ["which-model", "tutorial", "reading", "examples", "gallery/index"],
    "How to": [
        f"how-to/{page}"
        for page in (
            "tables", "screened", "interactions", "snps", "sequences", "new-cases",
            "chains", "experiments", "studies",
        )
    ] + ["cluster"] + [f"how-to/{page}" for page in ("scikit-learn", "anndata", "r")],
    "Explanation": ["how-it-works", "evidence", "limits", "faq", "thesis", "equations"],
    "Reference": ["reference", "config", "interface/index", "results", "data", "security"],
    "Project": ["benchmarks", "architecture", "contributing", "changes"],
}  # fmt: skip
NOTEBOOK = "{download}`This page as a notebook <tutorial.ipynb>`"
LINK = re.compile(r"(\]\()([^):#\s]+)(#[^)\s]*)?(\))")


def pages() -> dict[Path, str]:
    """Return the Markdown files that are pages, each with its name in the site."""
    found = {ROOT / path: name for path, name in ELSEWHERE.items()}
    docs = ROOT / "docs"
    return found | {path: path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


def assemble(source: Path) -> None:
    """Copy the pages to a folder, with their links changed, and what they link to."""
    named = pages()
    for path, name in named.items():
        text = LINK.sub(lambda link, at=path: _moved(link, at, named, source), path.read_text())
        if name == "index.md":
            text += _navigation()
        elif name == "examples.md":
            text = text.replace("# thesiskit\n", "# thesiskit by examples\n", 1)
        elif name == "tutorial.md":
            (source / "tutorial.ipynb").write_text(as_text(text), encoding="utf-8")
            text = text.replace("\n\n", f"\n\n{NOTEBOOK}\n\n", 1)
        page = source / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")


def _moved(link: re.Match, page: Path, named: dict[Path, str], source: Path) -> str:
    """Return a link of a page as it is in the site; a file that is no page is copied there."""
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
    """Return the tables of contents that stand in the margin of every page."""
    return "".join(
        f"\n```{{toctree}}\n:caption: {title}\n:hidden:\n\n" + "\n".join(listed) + "\n```\n"
        for title, listed in NAVIGATION.items()
    )


def build(folder: Path, results: Path, names: list[str], builder: str = "html") -> int:
    """Make the site in a folder, from pages and results; return Sphinx's exit code.

    The small forms of the experiments `names` are made where results lack them.  Pages that did not
    change are not made again.  Warnings are errors.
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
