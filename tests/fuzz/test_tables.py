"""The user's tables with faults: what must be refused is, and what is accepted is read rightly.

A small clean table is written with up to three faults, and an experiment is begun on it.  What must
come of it is decided from the bytes by Python's csv module, and of binary kinds from how they were
made; what is accepted is compared cell by cell with what thesiskit reads.
"""

import csv
import gzip
import importlib
import io
import os
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from harness import Tally, command

from thesiskit.datasets.feature_files import read_features
from thesiskit.datasets.files import read_table
from thesiskit.errors import DataError

SEED = 12
CASES = 24
BOMB = gzip.compress(b"1,1,1,1,0\n" * (1 << 18))  # 100 of them fill the memory, 1 MB each
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# what the command would import each time
COMMAND = (
    "matplotlib.pyplot",
    "thesiskit.experiments.feature_source",
    "thesiskit.experiments.logistic_work",
    "thesiskit.experiments.making",
    "thesiskit.experiments.selection_work",
    "thesiskit.experiments.stages",
    "thesiskit.models.patterns",
    "thesiskit.report.page",
)
TABLE_MISSING = {"", "NA", "?", "nan", "NaN"}
COUNTING = {"index", "level_0", "row.names", "rownames", "X", "...1"}


@dataclass
class Made:
    """A table that is being made: its cells, how they are written, and what the config says."""

    source: str
    names: list[str]
    rows: list[list[str]]
    suffix: str = ".csv"
    delimiter: str = ","
    end: str = "\n"
    encoding: str = "utf-8"
    config: dict = field(default_factory=lambda: {"response": "y"})
    late: list = field(default_factory=list)  # done to the bytes
    instead: str = ""  # of a file
    test: str = ""  # what the test table has

    def lines(self) -> list[list[str]]:
        return [self.names, *self.rows]

    def place(self, rng) -> tuple[int, int]:
        """Return the row and the column of a cell of a feature."""
        row = int(rng.integers(len(self.rows)))
        return row, int(rng.integers(max(1, min(4, len(self.rows[row]) - 1))))

    def content(self) -> bytes:
        """Return the bytes of the file."""
        lines = [self.delimiter.join(cells) for cells in self.lines()]
        content = (self.end.join(lines) + self.end).encode(self.encoding)
        for change in self.late:
            content = change(content)
        return content


def clean(rng, source: str) -> Made:
    """Return a table of which the first feature says all about the response."""
    y = rng.permutation(np.arange(CASES) % 2)
    rows = []
    for one in y:
        if source == "file":
            cells = [f"{one * 3 + rng.random():.3f}", *(f"{v:.3f}" for v in rng.normal(size=3))]
        else:
            cells = [["low", "high"][one], *(str(v) for v in rng.integers(0, 9, 3))]
        rows.append([*cells, str(one)])
    return Made(source, ["g0", "g1", "g2", "g3", "y"], rows)


# ---- faults: each changes a table that is being made ----

FAULTS = []


def fault(change):
    FAULTS.append(change)
    return change


def cells(*values: str):
    """Make faults that put a value into a cell of a feature."""
    for value in values:

        def change(made, rng, value=value):
            row, column = made.place(rng)
            made.rows[row][column] = value

        change.__name__ = f"cell {value[:12]!r}"
        FAULTS.append(change)


def headers(*values: str):
    """Make faults that rename a column."""
    for value in values:

        def change(made, rng, value=value):
            made.names[int(rng.integers(4))] = value

        change.__name__ = f"name {value[:12]!r}"
        FAULTS.append(change)


cells("", "NA", "?", " ", "inf", "-Infinity", "nan", "1e309", "1" + "0" * 400, "abc", "2024-01-01")
cells("0x1F", "1_000", '"1,000"', "\u0661", "1.5.2", "a\0b", '"a\nb"', '"a\tb"', "a\x1bb", "\xa01")
cells("z" * 2000, "z" * 200_000, '"unclosed', '"a"b', "1 000", "1;2", "'1'", "True", "-0", "+1.0")
headers("g1", " g1 ", "y", "y ", "", " ", "Unnamed: 0", "__index_level_0__", "a\0b", "a\x1bb")
headers('"a\nb"', '"a\tb"', "g" * 2000, "g" * 1_000_000, "g\u200b1", "caf\u00e9", "index", "X")
headers("=cmd", "a" * 900, '"g,1"', "#g", "\ufeffg", "\u0430", "1", "nan")


@fault
def first_cell_more(made, rng):
    for number, row in enumerate(made.rows):
        row.insert(0, f"r{number}" if made.source == "table" else str(number))


@fault
def last_cell_more(made, rng):
    for row in made.rows:
        row.append(str(rng.integers(2)))


@fault
def names_of_rows_without_a_name(made, rng):
    start = int(rng.integers(2))
    made.names.insert(0, str(rng.choice(["", '""', "Unnamed: 0", "index", "X", "rownames", "id"])))
    for number, row in enumerate(made.rows):
        row.insert(0, str(number + start))


@fault
def comma_at_the_end_of_cases(made, rng):
    for row in made.rows:
        row.append("")


@fault
def comma_at_the_end_of_all(made, rng):
    for row in made.lines():
        row.append("")


@fault
def one_cell_more(made, rng):
    made.rows[int(rng.integers(len(made.rows)))].append("1")


@fault
def one_cell_less(made, rng):
    made.rows[int(rng.integers(len(made.rows)))].pop()


@fault
def response_twice(made, rng):
    made.names.append("y")
    for row in made.rows:
        row.append(row[-1])


@fault
def accents_that_look_alike(made, rng):
    made.names[0], made.names[1] = "caf\u00e9", "cafe\u0301"


@fault
def other_delimiter(made, rng):
    made.delimiter = str(rng.choice([";", "\t", "|", " "]))


@fault
def spaces_around(made, rng):
    made.names = [f" {name} " for name in made.names]
    made.rows = [[f" {cell} " for cell in row] for row in made.rows]


@fault
def quotes_around(made, rng):
    made.rows = [[cell if '"' in cell else f'"{cell}"' for cell in row] for row in made.rows]


@fault
def tabs_between(made, rng):
    if made.source == "table":
        made.delimiter, made.suffix = "\t", str(rng.choice([".tsv", ".tab"]))


@fault
def packed(made, rng):
    if made.source == "table":
        made.suffix += ".gz"
        made.late.append(gzip.compress)


@fault
def packed_and_damaged(made, rng):
    if made.source == "table":
        made.suffix += ".gz"
        made.late.append(lambda content: gzip.compress(content)[:-9])


@fault
def packed_bomb(made, rng):
    if made.source == "table" and rng.random() < 0.3:
        made.suffix += ".gz"
        made.late.append(lambda content: gzip.compress(content) + 150 * BOMB)


@fault
def byte_order_mark(made, rng):
    made.encoding = str(rng.choice(["utf-8-sig", "utf-16", "utf-16-le", "utf-32"]))


@fault
def latin_1(made, rng):
    made.late.append(lambda content: content.replace(b"g2", b"g\xe9"))


@fault
def line_ends(made, rng):
    made.end = str(rng.choice(["\r", "\r\n", "\n\n", "\n \n"]))


@fault
def comment(made, rng):
    text = "# made by a machine" + "," * int(rng.choice([0, 4]))
    made.late.append(lambda content: text.encode() + b"\n" + content)


@fault
def flipped_bytes(made, rng):
    places = rng.random(3)

    def flip(content):
        content = bytearray(content)
        for place in places if content else ():
            content[int(place * len(content))] ^= 1 << int(place * 1e6) % 8
        return bytes(content)

    made.late.append(flip)


@fault
def cut_short(made, rng):
    share = rng.random()
    made.late.append(lambda content: content[: int(share * len(content))])


@fault
def empty(made, rng):
    made.late.append(lambda _: b"")


@fault
def no_cases(made, rng):
    made.late.append(lambda content: content.split(b"\n")[0] + b"\n")


@fault
def one_column(made, rng):
    made.names, made.rows = made.names[-1:], [row[-1:] for row in made.rows]


@fault
def constant_feature(made, rng):
    for row in made.rows:
        row[1] = "7"


@fault
def truth_values(made, rng):
    for row in made.rows:
        row[1] = str(rng.choice(["True", "False"]))


@fault
def columns_shuffled(made, rng):
    order = rng.permutation(len(made.names))
    made.names = [made.names[j] for j in order]
    made.rows = [[row[j] for j in order if j < len(row)] for row in made.rows]


@fault
def response_of(made, rng):
    kind = str(rng.choice(["words", "positive", "third", "missing", "one", "numbers", "real"]))
    for number, row in enumerate(made.rows):
        if kind in ("words", "positive"):
            row[-1] = {"0": "well", "1": "sick"}.get(row[-1], row[-1])
        elif kind == "one":
            row[-1] = "1"
        elif kind == "numbers":
            row[-1] += ".0"
        elif number == 3:
            row[-1] = {"third": "2", "missing": "NA", "real": "0.5"}[kind]
    if kind == "positive" and made.source == "file":
        made.config["positive"] = "sick"


@fault
def ignored(made, rng):
    choices = [["g1"], ["y"], ["g1", "g1"], ["none"], ["Unnamed: 0"], ["g1", "y"], ["g0", "g1"]]
    made.config["ignore"] = choices[int(rng.integers(len(choices)))]


@fault
def another_response(made, rng):
    made.config["response"] = str(rng.choice(["Y", "g0", "none"]))


@fault
def no_file(made, rng):
    made.instead = str(rng.choice(["pipe", "device", "folder", "nothing", "link", "lost link"]))


@fault
def another_table_for_tests(made, rng):
    made.test = str(rng.choice(["same", "reordered", "less", "more", "class", "value", "shifted"]))


# ---- the oracle: what Python's csv module sees ----


class Refused(Exception):
    """The table must be refused."""


class Either(Exception):
    """It may be refused, or taken: too few cases for the folds, for example."""


@dataclass
class Seen:
    """What a reader must see."""

    names: list[str]
    columns: dict[str, list]  # numbers, or texts with None for missing
    response: list


def see(made: Made, content: bytes) -> Seen:
    """Return what a table says; Refused or Either where it says nothing certain."""
    names, rows = rows_of(content, made.suffix)
    response, ignore = made.config["response"], made.config.get("ignore", [])
    if response in ignore or len(set(ignore)) < len(ignore):
        raise Refused("ignore")
    if not {response, *ignore} <= set(names):
        raise Refused("no such column")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    features = [name for name in names if name not in (response, *ignore)]
    if not features:
        raise Refused("no features")
    for name in features:
        if re.fullmatch(r"Unnamed: \d+|__index_level_\d+__", name):
            raise Refused("a column without a name")
        values = [number(cell) for cell in columns[name]]
        if name in COUNTING and values in ([*range(len(rows))], [*range(1, len(rows) + 1)]):
            raise Refused("row numbers")
    if made.source == "file":
        return Seen(
            features, {n: reals(columns[n]) for n in features}, two(columns[response], made)
        )
    y = symbols(columns[response])
    if None in y or len(set(y)) < 2:
        raise Refused("the response")
    seen = Seen(features, {n: symbols(columns[n]) for n in features}, y)
    distinct = {(*row, y[i]) for i, row in enumerate(zip(*seen.columns.values(), strict=True))}
    if min(sum(row[-1] == one for row in distinct) for one in set(y)) < 6:
        raise Either("folds")
    return seen


def rows_of(content: bytes, suffix: str) -> tuple[list[str], list[list[str]]]:
    """Return names and cells, stripped; or refuse."""
    if suffix.endswith(".gz"):
        try:
            if len(content) > 20_000:
                raise Refused("a bomb")
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise Refused("gzip") from error
    if b"\0" in content:
        raise Refused("NUL")
    delimiter = "\t" if suffix.startswith(".t") else ","
    try:
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        rows = list(
            csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter == ",", strict=True)
        )
    except (UnicodeDecodeError, csv.Error) as error:
        raise Refused("no CSV") from error
    rows = [[cell.strip() for cell in row] for row in rows]
    rows = [row for row in rows if row not in ([], [""])]
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise Refused("rows that are not as long as the line of names")
    names = [name or f"Unnamed: {j}" for j, name in enumerate(rows[0])]
    visible = ["".join(c for c in name if unicodedata.category(c) != "Cf") for name in names]
    if len({unicodedata.normalize("NFC", name) for name in visible}) < len(names):
        raise Refused("two columns of one name")
    if any(len(name) > 1000 or control(name) for name in names):
        raise Refused("a name that cannot be shown")
    return names, rows[1:]


def control(text: str) -> bool:
    return any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text)


def number(cell: str) -> float | None:
    return float(cell) if NUMBER.fullmatch(cell) else None


def reals(column: tuple[str, ...]) -> list[float]:
    if all(cell.lower() in ("true", "false") for cell in column):
        return [float(cell.lower() == "true") for cell in column]
    found = [number(cell) for cell in column]
    if None in found or not np.isfinite(np.array(found, dtype=float)).all():
        raise Refused("cells that are no numbers")
    return found


def two(column: tuple[str, ...], made: Made) -> list[int]:
    """Return the classes of `source: file`."""
    positive = made.config.get("positive")
    if positive is None:
        y = [number(cell) for cell in column]
        if set(column) <= {"True", "False"}:
            y = [float(cell == "True") for cell in column]
        if not set(y) <= {0, 1}:
            raise Refused("a response that is not 0 or 1")
    else:
        if "" in column or "NA" in column or len(set(column)) > 2 or positive not in column:
            raise Refused("a response that is missing, or one of three")
        if any(control(cell) for cell in column):
            raise Refused("a response that cannot be shown")
        y = [cell == positive for cell in column]
    counts = [sum(one == value for one in y) for value in (0, 1)]
    if min(counts) == 0:
        raise Refused("one class")
    if min(counts) < 4:
        raise Either("folds")
    return [int(one) for one in y]


def symbols(column: tuple[str, ...]) -> list[str | None]:
    held = {cell for cell in column if cell not in TABLE_MISSING}
    if any(len(cell) > 1000 or control(cell) for cell in held):
        raise Refused("a value that cannot be shown")
    numbers = {cell: number(cell) for cell in held}
    whole = all(re.fullmatch(r"[+-]?[0-9]{1,18}(\.0*)?", cell) for cell in held)
    if not whole and None not in numbers.values():
        raise Refused("real values")
    return [
        None if cell not in held else str(int(numbers[cell])) if whole else cell for cell in column
    ]


# ---- one input ----


def write(folder: Path, made: Made, content: bytes) -> Path:
    """Write a table, or what stands in its place."""
    path = folder / f"table{made.suffix}"
    real = folder / "real"
    if made.instead == "pipe":
        os.mkfifo(path)
    elif made.instead == "device":
        path.symlink_to("/dev/zero")
    elif made.instead == "folder":
        path.mkdir()
    elif made.instead in ("link", "lost link"):
        path.symlink_to(real)
        if made.instead == "link":
            real.write_bytes(content)
    elif made.instead != "nothing":
        path.write_bytes(content)
    return path


def write_test(folder: Path, made: Made) -> None:
    """Write the test table."""
    names, rows = list(made.names), [list(row) for row in made.rows]
    if made.test == "reordered":
        names, rows = names[::-1], [row[::-1] for row in rows]
    elif made.test == "less":
        names, rows = names[1:], [row[1:] for row in rows]
    elif made.test == "more":
        names, rows = [*names, "more"], [[*row, "1"] for row in rows]
    elif made.test == "class":
        rows[0][-1] = "other"
    elif made.test == "value" and made.source == "table":
        rows[0][1] = "new"
    elif made.test == "shifted":
        rows = [["0", *row] for row in rows]
    text = "".join(made.delimiter.join(row) + "\n" for row in [names, *rows])
    (folder / "test.csv").write_text(text)


def verdict(made: Made, content: bytes) -> tuple[str, Seen | None]:
    """Return "refused", "accepted" or "either", and what must be seen."""
    if made.instead not in ("", "link"):
        return "refused", None
    try:
        seen = see(made, content)
        if made.test in ("less", "more", "class", "shifted"):
            return "refused", None
        return "accepted", seen
    except Refused:
        return "refused", None
    except Either:
        return "either", None


def configured(made: Made, path: Path) -> str:
    """Return a config."""
    data = {"source": made.source, "path": path.name, **made.config}
    if made.test:
        data["test_path"] = "test.csv"
    lines = [f"  {name}: {value!r}" for name, value in data.items()]
    rest = (
        "selection: {features: [1]}\nreport: {parts: [score-table]}\n"
        if made.source == "file"
        else "model: {kind: logistic, orders: [1], iterations: 20, burn_in: 10}\n"
        "report: {parts: [model-table]}\n"
    )
    folds = "" if made.test else "evaluation: {scheme: k-fold, folds: 3}\n"
    return (
        f"experiment: fuzz\ntitle: Fuzz\nabout: Fuzz.\n{folds}data:\n"
        + "\n".join(lines)
        + (f"\n{rest}")
    )


def compared(made: Made, path: Path, seen: Seen) -> str:
    """Say what thesiskit reads otherwise than it must."""
    options = {"ignore": tuple(made.config.get("ignore", ()))}
    response = made.config["response"]
    try:
        if made.source == "file":
            table = read_table(path, response, positive=made.config.get("positive"), **options)
            names, y = table.names, table.response.tolist()
            columns = {name: table.features[:, j].tolist() for j, name in enumerate(names)}
        else:
            table = read_features(path, response, **options)
            names, y = table.features, [table.classes[code] for code in table.response]
            values = [[*one, None] for one in table.values]  # MISSING is the last
            columns = {
                name: [values[j][code] for code in table.X[:, j]] for j, name in enumerate(names)
            }
    except DataError as error:
        return f"read by the command, and refused when it is read again: {error}"
    for what, found, right in (
        ("names", names, seen.names),
        ("cells", columns, seen.columns),
        ("response", y, seen.response),
    ):
        if found != right:
            return f"other {what} are read: {str(found)[:80]} for {str(right)[:80]}"
    return ""


def try_text(folder: Path, number: int, tally: Tally) -> None:
    """Make one text table, and try it."""
    rng = np.random.default_rng([SEED, number])
    made = clean(rng, ["file", "table"][number % 2])
    chosen = [FAULTS[j] for j in rng.choice(len(FAULTS), int(rng.integers(4)), replace=False)]
    for change in chosen:
        try:
            change(made, rng)
        except IndexError:
            continue  # a fault before left nothing to change
    label = f"table {SEED}, {number} ({made.source}; {', '.join(c.__name__ for c in chosen)})"
    try:
        content = made.content()
    except UnicodeEncodeError:
        return
    path = write(folder, made, content)
    if made.test:
        write_test(folder, made)
    (folder / "config.yaml").write_text(configured(made, path))
    expected, seen = verdict(made, content)
    judge(folder, label, made.source, expected, tally, lambda: compared(made, path, seen))


def judge(folder, label, source, expected, tally, compare) -> None:
    """Run the command, and count what it does."""
    second = "select" if source == "file" else "compress"
    done = command("simulate", second, folder=folder, main=stages)
    wrong = ""
    if expected == "accepted" and done.code:
        wrong = f"refused: {done.errors.strip()[-300:]}"
    elif expected == "refused" and done.code == 0:
        wrong = "believed"
    elif expected == "accepted":
        wrong = compare()
    tally.add(label, done, wrong)


def stages(names: list[str]) -> None:
    """Run some stages of an experiment, until one fails."""
    from thesiskit.cli import main

    for name in names:
        try:
            main([name, "config.yaml", "--results", "results"], prog_name="thesiskit")
        except SystemExit as end:
            if end.code:
                raise


# ---- arrays, whose verdict comes from how they are made ----


def try_array(folder: Path, number: int, tally: Tally) -> None:
    """Make one table of arrays or Parquet, with a fault or without, and try it."""
    rng = np.random.default_rng([SEED, 1, number])
    y = rng.permutation(np.arange(CASES) % 2)
    X = np.round(rng.normal(size=(CASES, 4)), 3) + 3 * y[:, None]
    kind = ["npz", "npy", "parquet"][number % 3]
    faults = PARQUET if kind == "parquet" else ARRAYS
    name = list(faults)[number // 3 % len(faults)]
    expected = MAKERS[kind](folder, X, y, faults[name], rng)
    response = {"npz": "", "npy": ", response: y.npy", "parquet": ", response: y"}[kind]
    (folder / "config.yaml").write_text(
        "experiment: fuzz\ntitle: Fuzz\nabout: Fuzz.\nevaluation: {folds: 3}\n"
        f"data: {{source: file, path: table.{kind}{response}}}\n"
        "selection: {features: [1]}\nreport: {parts: [score-table]}\n"
    )

    def compare() -> str:
        read = read_table(folder / f"table.{kind}", {"npy": "y.npy", "parquet": "y"}.get(kind))
        same = np.array_equal(read.features, X) and np.array_equal(read.response, y)
        return "" if same else "other numbers are read"

    judge(folder, f"array {SEED}, {number} ({kind}; {name})", "file", expected, tally, compare)


def flip(content: bytes, rng) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(0, len(content), 3):
        changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


def truncated(content: bytes, rng) -> bytes:
    return content[: int(rng.random() * len(content))]


def text_instead(content: bytes, rng) -> bytes:
    return b"a,b\n1,2\n"


# a name, and what must become of it: changed arrays, or bytes
ARRAYS = {
    "clean": ("accepted", lambda X, y: (X, y), None),
    "truncated": (
        "refused",
        None,
        lambda content, rng: content[: int(rng.random() * len(content))],
    ),
    "flipped": ("either", None, flip),
    "longer": ("either", None, lambda content, rng: content + b"more"),
    "text": ("refused", None, text_instead),
    "NaN": ("refused", lambda X, y: (np.where(X[3, 2] == X, np.nan, X), y), None),
    "infinite": ("refused", lambda X, y: (np.where(X[3, 2] == X, np.inf, X), y), None),
    "words": ("refused", lambda X, y: (X.astype(str), y), None),
    "objects": ("refused", lambda X, y: (X.astype(object), y), None),
    "complex": ("refused", lambda X, y: (X.astype(complex), y), None),
    "short": ("refused", lambda X, y: (X, y[:-1]), None),
    "column": ("refused", lambda X, y: (X, y[:, None]), None),
    "vector": ("refused", lambda X, y: (X[:, 0], y), None),
    "no cases": ("refused", lambda X, y: (X[:0], y[:0]), None),
    "texts": ("refused", lambda X, y: (X, y.astype(str)), None),
    "three": ("refused", lambda X, y: (X, np.where(np.arange(CASES) == 0, 2, y)), None),
    "dates": ("refused", lambda X, y: (X, y.astype("datetime64[D]")), None),
    "one class": ("refused", lambda X, y: (X, np.zeros_like(y)), None),
    "big-endian": ("accepted", lambda X, y: (X.astype(">f8"), y.astype(">i4")), None),
    "columns first": ("accepted", lambda X, y: (np.asfortranarray(X), y), None),
    "booleans": ("accepted", lambda X, y: (X, y.astype(bool)), None),
    "pipe": ("refused", None, "pipe"),
}


def make_npz(folder: Path, X, y, how, rng) -> str:
    expected, change, damage = how
    X, y = change(X, y) if change else (X, y)
    np.savez(folder / "table.npz", X=X, y=y)
    harm(folder / "table.npz", damage, rng)
    return expected


def make_npy(folder: Path, X, y, how, rng) -> str:
    expected, change, damage = how
    X, y = change(X, y) if change else (X, y)
    np.save(folder / "table.npy", X)
    np.save(folder / "y.npy", y)
    harm(folder / ("table.npy" if rng.random() < 0.5 else "y.npy"), damage, rng)
    return expected


def harm(path: Path, damage, rng) -> None:
    if damage == "pipe":
        path.unlink()
        os.mkfifo(path)
    elif damage:
        path.write_bytes(damage(path.read_bytes(), rng))


PARQUET = {
    "clean": ("accepted", {}),
    "two names": ("refused", {"names": ["g0", "g0", "g2", "g3", "y"]}),
    "two responses": ("refused", {"names": ["y", "g1", "g2", "g3", "y"]}),
    "alike but for spaces": ("refused", {"names": ["g1 ", "g1", "g2", "g3", "y"]}),
    "no name": ("refused", {"names": ["", "g1", "g2", "g3", "y"]}),
    "an index": ("refused", {"names": ["__index_level_0__", "g1", "g2", "g3", "y"]}),
    "control": ("refused", {"names": ["g\n0", "g1", "g2", "g3", "y"]}),
    "words": ("refused", {"change": lambda values: [str(v) for v in values]}),
    "null": ("refused", {"change": lambda values: [None, *values[1:]]}),
    "lists": ("refused", {"change": lambda values: [[v] for v in values]}),
    "text response": ("refused", {"response": lambda y: [str(v) for v in y]}),
    "no response": ("refused", {"response": lambda y: [None, *y[1:]]}),
    "lists of responses": ("refused", {"response": lambda y: [[v] for v in y]}),
    "truncated": ("refused", {"damage": truncated}),
    "flipped": ("either", {"damage": flip}),
    "text": ("refused", {"damage": text_instead}),
    "pipe": ("refused", {"damage": "pipe"}),
}


def make_parquet(folder: Path, X, y, how, rng) -> str:
    import pyarrow
    from pyarrow import parquet

    expected, what = how
    columns = [what.get("change", list)(X[:, 0].tolist()), *X[:, 1:].T.tolist()]
    columns.append(what.get("response", list)(y.tolist()))
    names = what.get("names", ["g0", "g1", "g2", "g3", "y"])
    path = folder / "table.parquet"
    table = pyarrow.Table.from_arrays([pyarrow.array(one) for one in columns], names=names)
    parquet.write_table(table, path)
    harm(path, what.get("damage"), rng)
    return expected


MAKERS = {"npz": make_npz, "npy": make_npy, "parquet": make_parquet}


def fuzz(tmp_path: Path, texts: range, arrays: range) -> None:
    """Try tables of these numbers."""
    pytest.importorskip("pyarrow")
    for name in COMMAND:
        importlib.import_module(name)
    tally = Tally("tables")
    for kind, numbers in ((try_text, texts), (try_array, arrays)):
        for number in numbers:
            folder = tmp_path / f"{kind.__name__}-{number}"
            folder.mkdir()
            kind(folder, number, tally)
    tally.check()


def test_tables(tmp_path):
    fuzz(tmp_path, range(32), range(16))


@pytest.mark.slow
def test_a_thousand_tables(tmp_path):
    fuzz(tmp_path, range(40, 900), range(140))
