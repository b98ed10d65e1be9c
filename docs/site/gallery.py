"""Writes the gallery: every experiment that comes with thesiskit, with its figures.

The figures are those of the full experiment if it is among the results, and otherwise of a quick
demo, which `make_small` runs.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import yaml
from tables import TEXTS

from thesiskit.registry import folders

PAGES = {
    "chapter2": "Chapter 2: selected features",
    "chapter3": "Chapter 3: interactions of any order",
    "examples": "Examples of other data",
    "studies": "Studies: replicates, and experiments that are not in the thesis",
}


class Made:
    """Finished experiments: full runs in `results`, quick demos in `small`."""

    def __init__(self, results: Path, small: Path):
        self.results, self.small = results, small

    def of(self, name: str) -> Path | None:
        """Return the results folder of an experiment, of the full run if it exists."""
        both = (self.results / name, self.small / f"{name}-smoke")
        return next((one for one in both if (one / "report.html").is_file()), None)

    def is_small(self, name: str) -> bool:
        """Return whether only the quick demo exists."""
        return self.of(name) == self.small / f"{name}-smoke"

    def make_small(self, names: Iterable[str]) -> None:
        """Run quick demos of experiments that have no results, in two processes.

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
            sys.exit("A quick demo failed; its messages are above.")


def write_gallery(folder: Path, made: Made, reports: Path) -> None:
    """Write a page for each folder of configs, and one that shows a figure of each experiment.

    Reports are copied to the folder `reports`, which the site has as `reports`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    reports.mkdir(parents=True, exist_ok=True)
    start = TEXTS["gallery"]
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
    """Return the section of an experiment."""
    name, config = path.stem, yaml.safe_load(path.read_text(encoding="utf-8"))
    minutes = config.get("minutes")
    takes = f", which takes about {minutes:g} minutes on two cores" if minutes else ""
    text = f"\n({name})=\n\n## {config['title']}\n\n{' '.join(config['about'].split())}\n\n"
    text += f"`thesiskit run {name}`{takes}."
    if made.of(name) is not None:
        form = " These are figures of a quick demo." if made.is_small(name) else ""
        text += f"{form} <a href='../reports/{name}.html'>The report</a>"
        text += " has all tables and figures.\n\n"
    else:
        text += " It was not run for this website.\n\n"
    for figure in figures:
        source = f"../reports/{name}/{figure.name}"
        words = f"{config['title']}: {figure.stem.replace('-', ' ')}"
        text += f'<a href="{source}"><img class="figure" loading="lazy" src="{source}"'
        text += f' alt="{words}"></a>\n'
    return text


def _card(name: str, page: str, figures: list[Path]) -> str:
    """Return a linked picture of an experiment, or its linked name."""
    picture = ""
    if figures:
        source = f"../reports/{name}/{figures[0].name}"
        picture = f'<img loading="lazy" src="{source}" alt="">'
    return f'<a class="card" href="{page}.html#{name}">{picture}<span>{name}</span></a>\n'
