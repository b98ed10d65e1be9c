"""Writes the gallery: every experiment that comes with thesiskit, with its figures.

The figures are those of the whole experiment, where it is among the results, or else of its small
form, which `make_small` makes.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import yaml

from thesiskit.registry import folders

PAGES = {
    "chapter2": "Chapter 2: many features, of which some are selected",
    "chapter3": "Chapter 3: interactions of any order",
    "examples": "Examples of other data",
    "studies": "Studies: what is not in the thesis, and many data sets of what is",
}
INTRODUCTION = """# Gallery

These are all experiments that come with thesiskit. `thesiskit run NAME` makes one. Figures of a
small form were made with `--smoke`, in seconds, from little data and short chains: they show what
comes out, not what was found. [What is remade](../thesis.md) has the findings.
"""


class Made:
    """What there is of experiments: whole ones in `results`, small forms in `small`."""

    def __init__(self, results: Path, small: Path):
        self.results, self.small = results, small

    def of(self, name: str) -> Path | None:
        """Return the folder of an experiment, of the whole one if that is there."""
        both = (self.results / name, self.small / f"{name}-smoke")
        return next((one for one in both if (one / "report.html").is_file()), None)

    def is_small(self, name: str) -> bool:
        """Whether there is the small form alone."""
        return self.of(name) == self.small / f"{name}-smoke"

    def make_small(self, names: Iterable[str]) -> None:
        """Make the small form of those of some experiments that are not there, in two processes.

        Cells are so small that a process for each would take longer than the cell.
        """
        missing = [name for name in names if self.of(name) is None]
        command = [sys.executable, "-m", "thesiskit", "run", "--smoke", "--jobs", "0", "--results"]
        alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # else each would take both cores
        started = [
            subprocess.Popen([*command, str(self.small), *missing[i::2]], env=alone)
            for i in range(min(2, len(missing)))
        ]
        codes = [one.wait() for one in started]
        if any(codes):
            sys.exit("not all small forms were made: see above")


def write_gallery(folder: Path, made: Made, reports: Path) -> None:
    """Write a page for each folder of configs, and one that shows a figure of each experiment.

    Reports are copied to the folder `reports`, which the site has as `reports`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    reports.mkdir(parents=True, exist_ok=True)
    start = INTRODUCTION
    for page, title in PAGES.items():
        text = f"# {title}\n"
        start += f"\n## [{title}]({page}.md)\n\n"
        cards = []
        for path in folders()[page]:
            figures = _copy(path.stem, made, reports)
            text += _section(path, figures, made)
            cards.append(_card(path.stem, page, figures))
        start += '<div class="gallery">\n' + "".join(cards) + "</div>\n"
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
    start += "\n```{toctree}\n:hidden:\n\n" + "\n".join(PAGES) + "\n```\n"
    (folder / "index.md").write_text(start, encoding="utf-8")


def _copy(name: str, made: Made, reports: Path) -> list[Path]:
    """Copy the figures and the page of an experiment; return the copies of the figures."""
    found = made.of(name)
    if found is None:
        return []
    shutil.copyfile(found / "report.html", reports / f"{name}.html")
    (reports / name).mkdir(exist_ok=True)
    return [
        Path(shutil.copyfile(figure, reports / name / figure.name))
        for figure in sorted((found / "figures").glob("*.png"))
    ]


def _section(path: Path, figures: list[Path], made: Made) -> str:
    """Return what a page of the gallery says of an experiment."""
    name, config = path.stem, yaml.safe_load(path.read_text(encoding="utf-8"))
    minutes = config.get("minutes")
    takes = f", which takes about {minutes:g} minutes on two cores" if minutes else ""
    text = f"\n({name})=\n\n## {config['title']}\n\n{' '.join(config['about'].split())}\n\n"
    text += f"`thesiskit run {name}`{takes}."
    if made.of(name) is not None:
        form = " What follows is of the small form." if made.is_small(name) else ""
        text += f"{form} <a href='../reports/{name}.html'>Its whole page</a>"
        text += " has all tables and figures.\n\n"
    else:
        text += " It was not run for this site.\n\n"
    for figure in figures:
        source = f"../reports/{name}/{figure.name}"
        words = f"{config['title']}: {figure.stem.replace('-', ' ')}"
        text += f'<a href="{source}"><img class="figure" loading="lazy" src="{source}"'
        text += f' alt="{words}"></a>\n'
    return text


def _card(name: str, page: str, figures: list[Path]) -> str:
    """Return the picture of an experiment that leads to its place, or its name alone."""
    picture = ""
    if figures:
        source = f"../reports/{name}/{figures[0].name}"
        picture = f'<img loading="lazy" src="{source}" alt="">'
    return f'<a class="card" href="{page}.html#{name}">{picture}<span>{name}</span></a>\n'
