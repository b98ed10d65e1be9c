"""The files that a report writes: tables as CSV, Markdown and LaTeX, figures as PNG and PDF.

They are recorded before they are written, so that a later report removes only files of an earlier
one.  The record is `report` in provenance.json.  It holds a key, the digest of what the report was
made from, and the sha256 of each file.  A file whose sha256 differs is written again.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.files import Results, remove, replacing, sha256
from thesiskit.report.layout import Figure, Page, Table

TABLE_FILES, FIGURE_FILES = ("csv", "md", "tex"), ("png", "pdf")
FOLDERS = ("", "tables", "figures")  # in which a report writes
RUNS = tuple("=+-@\t\r")  # a spreadsheet takes a cell that begins so for a formula


class Outputs:
    """Writes the files of a report.

    names : of all that will be written, relative to the results folder.
    """

    def __init__(self, results: Results, names: Sequence[str]):
        self.results = results
        self.before = recorded(results)
        self.written: dict[str, str] = {}
        # if this is interrupted, the next report still knows which files are ours
        announced = dict.fromkeys(names, "") | self.before
        results.update_provenance(report={"key": "", "files": announced})

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give a temporary file that becomes the file of this name."""
        with replacing(self.results.folder / name) as temporary:
            yield temporary
            self.written[name] = sha256(temporary) or ""

    def write(self, name: str, text: str) -> None:
        """Write a text file."""
        with self.writing(name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def finish(self, key: str) -> None:
        """Remove what an earlier report wrote and this one did not, and keep the record."""
        for name in self.before.keys() - self.written.keys():
            remove(self.results.folder / name)
        self.results.update_provenance(report={"key": key, "files": self.written})


def recorded(results: Results) -> dict[str, str]:
    """Return the files of the last report with their digests; drop names that it cannot have."""
    files = results.provenance().get("report", {}).get("files", {})
    if not isinstance(files, dict):  # an older version recorded a list without digests
        files = dict.fromkeys(files, "")
    return {name: digest for name, digest in files.items() if _can_be_ours(name)}


def _can_be_ours(name: str) -> bool:
    """Whether a name is that of a file directly in a folder in which a report writes."""
    path = PurePosixPath(name)
    folder = "" if len(path.parts) == 1 else str(path.parent)
    return str(path) == name and folder in FOLDERS and path.name not in ("", "..")


def changed(results: Results, key: str) -> list[str] | None:
    """Return the files that changed since the last report; None if that had another key."""
    if results.provenance().get("report", {}).get("key") != key:
        return None
    files = recorded(results)
    return [name for name, digest in files.items() if sha256(results.folder / name) != digest]


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV; text that looks like a formula gets a leading apostrophe."""
    inert = frame.copy()
    for place, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            cells = [_inert(value) for value in frame.iloc[:, place]]
            inert.isetitem(place, pd.Series(cells, index=frame.index, dtype=object))
    inert.columns = [_inert(name) for name in frame.columns]
    return inert.to_csv(index=False)


def _inert(value: object) -> object:
    if not (isinstance(value, str) and value.startswith(RUNS)):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


# ---- tables and figures ----


def files_of(part: Table | Figure | Page) -> list[str]:
    """Return the files of a part; of a figure, the picture comes first."""
    if isinstance(part, Page):
        return [part.file]
    folder, kinds = ("tables", TABLE_FILES) if isinstance(part, Table) else (
        "figures", FIGURE_FILES
    )  # fmt: skip
    return [f"{folder}/{part.name}.{kind}" for kind in kinds]


def write_part(outputs: Outputs, part: Table | Figure | Page) -> None:
    """Write the files of a table, a figure or a page."""
    if isinstance(part, Page):
        outputs.write(part.file, part.text)
    elif isinstance(part, Table):
        _write_table(outputs, part)
    else:
        _write_figure(outputs, part)


def _write_table(outputs: Outputs, table: Table) -> None:
    csv, md, tex = files_of(table)
    outputs.write(csv, csv_text(table.frame))
    cells = display(table.visible)
    names = [str(name) for name in table.frame.columns]
    lines = [f"# {table.title}", ""]
    for paragraph in table.lead:
        lines += [paragraph, ""]
    lines += [*markdown(names, cells), "", table.whole_caption, ""]
    outputs.write(md, "\n".join(lines))
    shown = pd.DataFrame(cells, columns=names)
    latex = shown.to_latex(
        index=False,
        escape=True,
        caption=_latex(table.whole_caption),
        label=f"tab:{table.name}",
        longtable=len(cells) > 40,
    )
    outputs.write(tex, latex.replace("–", "--"))


def markdown(names: list[str], cells: list[list[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [_row(names), _row(["---"] * len(names)), *(_row(row) for row in cells)]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex(text: str) -> str:
    for mark in "#%&_$":
        text = text.replace(mark, "\\" + mark)
    return text


def _write_figure(outputs: Outputs, figure: Figure) -> None:
    with warnings.catch_warnings():
        # names of the user's can have letters that the font does not have; a box stands for them
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        # the layout takes longest: it is made once, and no engine asks for another drawing of it
        engine = figure.canvas.get_layout_engine()
        assert engine is not None, "figures are made by layout.canvas"
        engine.execute(figure.canvas)
        figure.canvas.set_layout_engine(None)
        for name, kind in zip(files_of(figure), FIGURE_FILES, strict=True):
            metadata = {"CreationDate": None} if kind == "pdf" else None
            with outputs.writing(name) as temporary:
                figure.canvas.savefig(temporary, format=kind, dpi=200, metadata=metadata)


def display(frame: pd.DataFrame) -> list[list[str]]:
    """Return the cells of a table as people read them."""
    columns = [_cells(frame[name]) for name in frame.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _cells(column: pd.Series) -> list[str]:
    """Format a column: fixed decimals where all numbers allow it, else each by itself."""
    values = column.tolist()
    floats = [v for v in values if isinstance(v, float) and np.isfinite(v)]
    whole = all(v == int(v) for v in floats)
    least = 5e-4 if max(map(abs, floats), default=0) <= 1 else 0.01
    plain = all(v == 0 or least <= abs(v) < 1e4 for v in floats)
    if column.dtype.kind == "f" and plain and not whole:
        return ["–" if v != v else f"{v:.3f}" for v in values]
    return [_cell(value) for value in values]


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float):
        size = abs(value)
        if size < 1e6 and value == int(value):
            return f"{int(value):,}"
        return f"{value:.3f}" if 0.01 <= size < 1e4 else f"{value:.2g}"
    return str(value)
