"""What a page is made of: tables and figures with captions, templates, and the style of figures."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2
import numpy as np
import pandas as pd
import yaml
from markupsafe import Markup, escape

from thesiskit.files import Results, remove, replacing, sha256, sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

FOLDER = Path(__file__).parent / "templates"
OURS = ("first division", "fit and predict")  # beside a column that is called "thesis"
# before the name of a class, which is no term
CLASSES = (
    "probability: ",
    "predicted: ",
    "present: ",
    "known: ",
    "raw effect: ",
    "corrected effect: ",
)
NUMBER = re.compile(r"(< )?-?[0-9,]+(\.[0-9]+)?(e-?[0-9]+)?")  # text that reads as a number
MOST_WHOLE = 1e15  # up to which a float that is whole is shown as an integer
LEAST_SIZE = 0.01  # a column of smaller numbers has more than three decimals
SMALL, LEAST_DPI = np.array([300, 200]), 20  # of thumbnails: pixels at most; letters need some
LOSSY = {"quality": 55, "method": 6}
PAGE_DPI = 150
DRAWING = "matplotlib.backends.backend_pdf"  # with all that draws: a second to load
MOST_SVG = 300_000  # bytes of a drawing in a page; clouds of more points are pixels there
RUNS = tuple("=+-@\t\r")  # a spreadsheet takes a cell that begins so for a formula
UPRIGHT, TURNED = 345, 550  # points: the text width of LaTeX's class article, upright or turned


class PageStyle(NamedTuple):
    """The size of letters; in points the widths of a digit, a gap between columns, and the text."""

    size: str
    digit: float
    gap: float
    width: float


PAGES = (
    PageStyle("normalsize", 5.0, 12, UPRIGHT),
    PageStyle("small", 4.63, 12, TURNED),
    PageStyle("footnotesize", 4.25, 8, TURNED),
    PageStyle("scriptsize", 3.98, 6, TURNED),
    PageStyle("tiny", 3.65, 4, TURNED),
)
BROKEN = (60, 40, 30, 20, 12, 6)  # characters of a line in a column whose texts are broken
MOST_LINES = 40  # of a table on one page
STYLE = Path(__file__).parent / "thesiskit.mplstyle"
INK, GREY, PALE = "#1f1f1f", "#b4b4b4", "#e6e6e6"
ACCENT, WARNING, QUIET = "#0072B2", "#D55E00", "#7a7a7a"  # what matters, what is wrong, the rest
DASHES = ("-", "--", ":", "-.")  # of samplers of one model
WIDEST = 9.9  # inches: the width of a page's column
LETTERS = 9.5  # points of the letters of panels, which are 10 pixels on a phone
Look = dict[str, Any]  # keywords of matplotlib's plot
COMPRESSED: Look = {"marker": "h", "color": ACCENT}
ORIGINAL: Look = {"marker": "x", "color": INK, "zorder": 3}  # above what it may cover
MOST_NAMED, LONGEST_NAME = 5, 24  # series named at the ends of their lines, and characters
LETTER, LINE = 5.2, 13  # points: the mean width of a letter in figures, and the height of a line


@dataclass(frozen=True)
class PageTable:
    """A table with its caption; the page shows a `long` one only after a click.

    lead : paragraphs above it.
    shown : the rows that are shown, all unless given; the CSV file has all.
    quiet : of the rows that are shown, those that say little, in grey.
    more : columns that the page shows after a click on "all columns".
    folded : explanations below the table, which open from its first column: a cell of that column,
        a title and a sentence each.
    """

    name: str
    title: str
    frame: pd.DataFrame
    caption: str
    long: bool = False
    lead: tuple[str, ...] = ()
    shown: tuple[int, ...] | None = None
    quiet: tuple[int, ...] = ()
    more: tuple[str, ...] = ()
    folded: tuple[tuple[str, str, str], ...] = ()

    @property
    def visible(self) -> pd.DataFrame:
        """The rows that are shown."""
        return self.frame if self.shown is None else self.frame.iloc[list(self.shown)]

    @property
    def hidden(self) -> list[list[str]]:
        """The cells of the rows that are not shown, as people read them."""
        if self.shown is None:
            return []
        rows = np.setdiff1d(np.arange(len(self.frame)), self.shown)
        return display(self.frame.iloc[rows])

    @property
    def whole_caption(self) -> str:
        """The caption, and how many rows are left out."""
        visible, count = len(self.visible), len(self.frame)
        if visible == count:
            return self.caption
        return f"{self.caption} {visible:,} of {count:,} rows are shown; the CSV file has all."

    @property
    def files(self) -> list[str]:
        """The names of its files."""
        return [f"tables/{self.name}.{kind}" for kind in ("csv", "md", "tex")]

    def write(self, outputs: Outputs) -> None:
        """Write it as CSV, Markdown and LaTeX."""
        csv, md, tex = self.files
        outputs.write(csv, csv_text(self.frame))
        cells, names = display(self.visible), [str(name) for name in self.frame.columns]
        lines = "\n".join(markdown(names, cells))
        paragraphs = f"# {self.title}", *self.lead, lines, f"{self.whole_caption}\n"
        outputs.write(md, "\n\n".join(paragraphs))
        outputs.write(tex, self._latex(names, cells))

    def _latex(self, names: list[str], cells: list[list[str]]) -> str:
        """Return the table in LaTeX, on an upright page or a turned one, in letters that fit."""
        groups, short = header(names)
        above = [(group, width) for group, width in groups for _ in range(width)]
        texts = [  # the share of a column in the header of its group is text that does not break
            [name, "x" * -(-len(group) // width), *column]
            for name, (group, width), *column in zip(short, above, *cells, strict=True)
        ]
        page, widths = page_of(texts)
        columns = [
            "l" if max(map(len, text)) <= width else f"p{{{page.digit * width:.0f}pt}}"
            for text, width in zip(texts, widths, strict=True)
        ]
        lines = sum(
            max(-(-len(cell) // width) for cell, width in zip(row, widths, strict=True))
            for row in cells
        )
        heads = pd.MultiIndex.from_arrays([[group for group, _ in above], short])
        landscape = page.width > UPRIGHT
        caption = re.sub("[#%&_$]", r"\\\g<0>", self.whole_caption)
        latex = pd.DataFrame(cells, columns=heads if any(heads.get_level_values(0)) else names)
        text = latex.to_latex(
            index=False,
            escape=True,
            caption=caption.replace("^", r"\textasciicircum{}"),
            label=f"tab:{self.name}",
            column_format="".join(columns),
            multicolumn_format="l",
            longtable=landscape or lines > MOST_LINES,
        )
        if landscape:
            spaces = f"\\{page.size}\\setlength{{\\tabcolsep}}{{{page.gap / 2:g}pt}}"
            text = f"\\begin{{landscape}}{spaces}\n{text}\\end{{landscape}}\n"
        packages = "booktabs, longtable" + (", pdflscape" if landscape else "")
        return f"% packages: {packages}\n" + text.replace("–", "--")

    def item(self) -> dict:
        """Return what the templates need to show it."""
        names = [str(name) for name in self.frame.columns]
        groups, short = header(names)
        rows = display(self.visible)
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.whole_caption,
            "lead": self.lead,
            "quiet": self.quiet,
            "folded": self.folded,
            "rows": rows,
            "every": len(self.frame),
            "blocks": 12 < len(rows) >= 2 * len({row[0] for row in rows}),  # of equal first cells
            "columns": names,
            "groups": groups,
            "short": short,
            "long": self.long,
            "meanings": ["" if name.startswith(CLASSES) else explain(name) for name in names],
            "more": [name in self.more for name in names],
            "more_groups": [name.partition(": ")[0] for name in self.more],
            "file": self.files[0],
            "words": [
                not pd.api.types.is_numeric_dtype(column)
                and not all(NUMBER.fullmatch(str(cell)) for cell in column)
                for _, column in self.frame.items()
            ],
            "beside": column_pairs(names),
        }


@dataclass(frozen=True)
class Figure:
    """A figure with its caption."""

    name: str
    title: str
    canvas: Canvas
    caption: str
    panel: bool = False  # beside the panels before and after it, where the page is wide

    @property
    def files(self) -> list[str]:
        """The names of its files; the picture comes first."""
        return [f"figures/{self.name}.{kind}" for kind in ("png", "pdf")]

    def write(self, outputs: Outputs) -> None:
        """Write it as PNG and PDF; from then on it is laid out."""
        with styled():
            # the layout takes longest: it is made once, and no engine asks for another drawing
            engine = self.canvas.get_layout_engine()
            assert engine is not None, "figures are made by layout.canvas"
            engine.execute(self.canvas)
            self.canvas.set_layout_engine("none")  # None would be the engine of the style
            for name in self.files:
                metadata = {"CreationDate": None} if name.endswith("pdf") else None
                with outputs.writing(name) as temporary:
                    kind = name[-3:]
                    self.canvas.savefig(temporary, format=kind, metadata=metadata)

    def thumbnail(self, path: Path) -> None:
        """Draw it small, once it is written, in a few kilobytes; of a long one the upper part."""
        whole = self.canvas.bbox_inches
        dpi = max(LEAST_DPI, min(SMALL / whole.size))
        part = whole.shrunk(*np.minimum(1, SMALL / (dpi * whole.size))).anchored("NW", whole)
        with styled():
            self.canvas.savefig(path, format="webp", dpi=dpi, pil_kwargs=LOSSY, bbox_inches=part)

    def item(self) -> dict:
        """Return what the templates need to show it, once it is written."""
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.caption,
            "panel": self.panel,
            "file": self.files[-1],
            "image": self.image(),
        }

    def image(self) -> str:
        """Return the drawing as the address of an image: SVG, or PNG where that is too large."""
        kind, picture = "svg+xml", io.BytesIO()
        metadata: dict[str, str | None] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        with styled():
            self.canvas.savefig(picture, format="svg", metadata=metadata)
            if picture.tell() > MOST_SVG:
                kind, picture = "png", io.BytesIO()
                self.canvas.savefig(picture, format="png", dpi=PAGE_DPI)
        return f"data:image/{kind};base64,{base64.b64encode(picture.getvalue()).decode()}"


# ---- tables as text ----


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV; text that looks like a formula gets a leading apostrophe.

    Whole numbers beside missing ones, which pandas keeps as floats, are written as integers.
    """
    inert = frame.copy()
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "f":
            column = frame.iloc[:, place]
            filled = column.dropna()
            whole = ((filled % 1 == 0) & (abs(filled) < MOST_WHOLE)).all()
            if whole and len(filled) < len(column):
                inert.isetitem(place, column.astype("Int64"))
        elif not pd.api.types.is_numeric_dtype(dtype):
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


def page_of(columns: list[list[str]]) -> tuple[PageStyle, list[int]]:
    """Return the first of PAGES that a table fits, and widths of its columns in characters.

    columns : the header and the cells of each; a text that is longer than the width of its column
        goes on in the next line, at a space.
    On an upright page no line is broken; a turned one breaks those of the widest columns first, and
    then has smaller letters.
    """
    natural = [max(map(len, texts)) for texts in columns]
    word = [max(len(part) for text in texts for part in text.split(" ")) for texts in columns]
    for page in PAGES:
        room = (page.width - page.gap * len(columns)) / page.digit
        for most in (max(natural), *BROKEN) if page.width > UPRIGHT else (max(natural),):
            widths = [min(n, max(w, most)) for n, w in zip(natural, word, strict=True)]
            if sum(widths) <= room:
                return page, widths
    return page, widths


def markdown(names: list[str], cells: list[list[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    rows = [names, ["---"] * len(names), *cells]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def display(frame: pd.DataFrame) -> list[list[str]]:
    """Return the cells of a table as people read them: the numbers of a column have one format."""
    columns = [_column(frame[name].tolist()) for name in frame.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _column(values: list) -> list[str]:
    """Return the cells of a column; its largest number has three significant digits or more."""
    sizes = [abs(v) for v in values if isinstance(v, float) and np.isfinite(v)]
    most, decimals = max(sizes, default=0), 0
    if any(size % 1 for size in sizes if size < MOST_WHOLE):
        digits = int(np.floor(np.log10(most)))
        decimals = min(3, max(0, 3 - digits)) if most >= LEAST_SIZE else min(6, 2 - digits)
    signed = any(isinstance(v, float) and v < 0 for v in values)
    return [_cell(value, decimals, signed) for value in values]


def _cell(value: object, decimals: int, signed: bool) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, float) and np.isfinite(value):
        text = f"{value:,.{decimals}f}"
        is_zero = float(text.replace(",", "")) == 0
        if is_zero and value > 0 and not signed:
            return f"< {10.0**-decimals:.{decimals}f}"
        return text.removeprefix("-") if is_zero else text
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value)


@cache
def read_yaml(path: Path) -> Any:
    """Return what a file of this package holds."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def caption(name: str, **values: Any) -> str:
    """Return a caption of captions.yaml, with the values that its template names."""
    text = _environment(page=False).from_string(read_yaml(FOLDER / "captions.yaml")[name])
    return " ".join(text.render(values).split())


def explain(name: str) -> str:
    """Return what the header of a column means; "" if it needs no explanation."""
    terms = read_yaml(FOLDER / "terms.yaml")
    return terms.get(name.rpartition(": ")[2].partition(",")[0], "")


def column_pairs(names: list[str]) -> list[int | None]:
    """Return, for each column with the thesis's numbers, the place of the column with ours."""
    places: list[int | None] = []
    for name in names:
        candidates = [name.replace(", thesis", "")] if ", thesis" in name else []
        if re.fullmatch("(the )?thesis", name.rpartition(": ")[2]):
            candidates = [name.replace("the thesis", "here").replace("thesis", "here"), *OURS]
        present = [column for column in candidates if column in names]
        places.append(names.index(present[0]) if present else None)
    return places


def header(names: list[str]) -> tuple[list[tuple[str, int]], list[str]]:
    """Split "group: name" columns into a row of groups with their widths, and a row of names."""
    groups: list[tuple[str, int]] = []
    for group, alike in groupby(name.partition(": ")[0] if ": " in name else "" for name in names):
        width = len([*alike])
        groups += [(group, width)] if group else [("", 1)] * width
    return groups, [name.partition(": ")[2] or name for name in names]


@cache
def _environment(*, page: bool) -> jinja2.Environment:
    """Return what compiles the templates of this folder: pages, with escaped values, or text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=page,
        trim_blocks=page,
        lstrip_blocks=True,
    )
    environment.globals["explain"] = explain
    environment.filters |= {
        "plain": lambda text: str(text).replace("`", ""),
        "commands": lambda text: Markup(  # `commands` in the letters of code
            re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
        ),
        "percent": percent,
        "number": lambda value: _column([float(value)])[0],
        "p_value": lambda p: "p < 0.001" if p < 0.001 else f"p = {p:.{3 if p < 0.01 else 2}f}",
        "listed": listed,
    }
    return environment


def template(name: str) -> jinja2.Template:
    """Return a template of this folder; it is compiled once."""
    return _environment(page=name.endswith(".html.j2")).get_template(name)


def prose(name: str, **values: object) -> str:
    """Return the text of a macro of the sentences of this folder, without line breaks."""
    text = str(getattr(template("prose.txt.j2").module, name)(**values))
    return " ".join(text.split())


def prose_rows(name: str, **values: object) -> list[list[str]]:
    """Return the rows of a macro of three columns, which ¦¦ separates; ¶¶ is between rows."""
    rows = [row.split("¦¦", 2) for row in prose(name, **values).split("¶¶")]
    return [[cell.strip() for cell in row] for row in rows]


def percent(value: float, _: object = None) -> str:
    """Return a rate as sentences and axes write it, such as "12%"."""
    return f"{100 * value:.0f}%"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Return words as a sentence lists them."""
    return f" {last} ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


# ---- figures ----


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style of figures, without warnings of letters that the font lacks."""
    from matplotlib import rc_context  # half a second: only where figures are drawn

    with rc_context(fname=STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        yield


def canvas(rows=1, columns=1, *, width: float = 7.6, height: float = 3.4, framed=False, **options):
    """Return a figure and its (rows, columns) axes, without upper and right lines unless framed."""
    with styled():
        from matplotlib.figure import Figure as Canvas

        figure = Canvas(figsize=(min(width, WIDEST), height))
        axes = figure.subplots(rows, columns, squeeze=False, **options)
        for axis in axes.flat if framed else ():
            axis.spines[["top", "right"]].set_visible(True)
    return figure, axes


def panel_canvas(width: float, height: float, x_label: str = "", y_label: str = ""):
    """Return a figure of one panel and its axis, whose letters have 10 pixels on a phone."""
    figure, axes = canvas(width=width, height=height)
    axis = axes[0, 0]
    axis.set(xlabel=x_label, ylabel=y_label)
    axis.tick_params(labelsize=LETTERS)
    return figure, axis


def name_series(figure: Canvas, *panels) -> None:
    """Name few series at the ends of their lines, others in a legend above the panels.

    Of panels with the same series the last has the names.
    """
    by_names = {tuple(_ends(panel)): panel for panel in panels}
    series = dict.fromkeys(chain.from_iterable(by_names))
    if len(series) > MOST_NAMED or any(len(name) > LONGEST_NAME for name, _ in series):
        legend(figure, *panels)
        return
    for panel in by_names.values():
        height = 72 * figure.get_figheight() * panel.get_position().height
        ends = sorted(_ends(panel).items(), key=lambda end: end[1])
        steps = LINE / height * np.arange(len(ends))  # names are not nearer to each other
        levels = np.minimum([level for _, level in ends], 1 - steps[::-1]) - steps
        for ((name, colour), _), y in zip(ends, np.maximum.accumulate(levels) + steps, strict=True):
            panel.annotate(
                name, (1, y), (5, 0), "axes fraction", "offset points", va="center", color=colour
            )


def _ends(panel) -> dict[tuple[str, str], float]:
    """Return how high each series ends in a panel, as a fraction, by its name and colour."""
    ends = {}
    for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
        line = getattr(handle, "lines", [handle])[0]  # of error bars, the line that joins them
        y = (line.get_transform() - panel.transAxes).transform(line.get_xydata())[:, 1]
        ends[name, line.get_color()] = y[np.isfinite(y)][-1]
    return ends


def legend(figure: Canvas, *panels) -> None:
    """Place a legend of all series above the panels, in as many columns as fit."""
    series: Look = {}
    for panel in panels:
        series |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    most = int(72 * figure.get_figwidth() / (LETTER * max(map(len, series)) + 50))
    columns = max(1, min(most, len(series)))
    figure.legend(series.values(), series, loc="outside upper center", ncols=columns)


def drawn_words(text: str, most: int = 40) -> str:
    """Return a text of the user's as figures show it: not too long, and no formula."""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return short.replace("$", r"\$")


def size_words(label: str) -> str:
    """Return the label of a selection as figures show it, such as 10,000, or 10 of 50,000."""
    size, apart, more = label.partition(" ")
    return (f"{int(size):,}" if size.isdigit() else size) + apart + more


def kept_words(label: str) -> str:
    """Return the title of a panel, such as "100 kept"."""
    size, of, rest = size_words(label).partition(" of ")
    return f"{size} selected{of}{rest}" if not label.startswith("|") else label


def grid(panels: int, most: int, *, width=lambda _: 7.6, height, **options):
    """Return a figure and its axes, at most `most` in a row; those after `panels` are hidden.

    width, height : by the number of columns, and of rows.
    """
    columns = min(most, panels)
    rows = -(-panels // columns)
    figure, axes = canvas(rows, columns, width=width(columns), height=height(rows), **options)
    for axis in axes.flat[panels:]:
        axis.set_visible(False)
    for axis in axes.flat[panels - columns : panels]:  # also above those that are hidden
        axis.tick_params(labelbottom=True)
    return figure, axes


# ---- the files of a report ----

# They are recorded before they are written, so that a later report removes only files of an
# earlier one.  The record is `report` in provenance.json.  It holds a key, the digest of what the
# report was made from, the sha256 of each file, and the sentence that the index shows.  A file
# whose sha256 differs is written again.

FOLDERS = ("", "tables", "figures")  # in which a report writes


class Outputs:
    """Writes the files of a report.

    names : of all that will be written, relative to the results folder.
    """

    def __init__(self, results: Results, names: Sequence[str]):
        self.results = results
        for folder in FOLDERS:
            sweep(results.folder / folder, ".*")
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

    def finish(self, key: str, headline: str = "") -> None:
        """Remove what an earlier report wrote and this one did not, and keep the record."""
        for name in self.before.keys() - self.written.keys():
            remove(self.results.folder / name)
        found = {"key": key, "files": self.written, "headline": headline}
        self.results.update_provenance(report=found)


def recorded(results: Results) -> dict[str, str]:
    """Return the files of the last report with their digests; drop names that it cannot have."""
    files = results.provenance().get("report", {}).get("files", {})
    if not isinstance(files, dict):  # an older version recorded a list without digests
        files = dict.fromkeys(files, "")
    ours = {}
    for name, digest in files.items():
        path = PurePosixPath(name)
        folder = "" if len(path.parts) == 1 else str(path.parent)
        if str(path) == name and folder in FOLDERS and path.name not in ("", ".."):
            ours[name] = digest
    return ours


def changed(results: Results, key: str) -> list[str] | None:
    """Return the files that changed since the last report; None if that had another key."""
    if results.provenance().get("report", {}).get("key") != key:
        return None
    files = recorded(results)
    return [name for name, digest in files.items() if sha256(results.folder / name) != digest]
