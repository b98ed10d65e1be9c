"""Tables with faults: a clean one is made, and changed before it is written."""

import gzip
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

SAMPLES = 24
BOMB = gzip.compress(b"1,1,1,1,0\n" * (1 << 18))  # 150 of them would fill the memory


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
    y = rng.permutation(np.arange(SAMPLES) % 2)
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
cells(
    "N/A", "n/a", "<NA>", "#N/A", "NULL", "null", "None", "-nan", "#DIV/0!", "NaT", "-999", "None "
)
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
def comma_at_the_end_of_samples(made, rng):
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
def no_samples(made, rng):
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
    spellings = ["True", "False", "TRUE", "FALSE", "true", "false"]
    spellings = spellings[: int(rng.choice([2, 4, 6]))]
    for row in made.rows:
        row[1] = str(rng.choice(spellings))


@fault
def rows_without_a_cell(made, rng):
    for _ in range(int(rng.integers(1, 4))):
        made.rows.append([""] * len(made.names))


@fault
def a_row_without_a_cell_between(made, rng):
    made.rows.insert(int(rng.integers(len(made.rows))), [""] * len(made.names))


@fault
def separator_line(made, rng):
    line = f"sep={made.delimiter}{made.end}".encode()
    made.late.append(lambda content: line + content)


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
            gap = str(rng.choice(["NA", "N/A", "", "NULL", "None", "#N/A", "?", "NaT"]))
            row[-1] = {"third": "2", "missing": gap, "real": "0.5"}[kind]
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


# ---- arrays, whose verdict comes from how they are made ----


def flip(content: bytes, rng) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(0, len(content), 3):
        changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


def truncated(content: bytes, rng) -> bytes:
    return content[: int(rng.random() * len(content))]


def text_instead(content: bytes, rng) -> bytes:
    return b"a,b\n1,2\n"


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
    "words": ("accepted", {"change": lambda values: [str(v) for v in values]}),
    "null": ("either", {"change": lambda values: [None, *values[1:]]}),
    "lists": ("refused", {"change": lambda values: [[v] for v in values]}),
    "text response": ("accepted", {"response": lambda y: [str(v) for v in y]}),
    "no response": ("accepted", {"response": lambda y: [None, *y[1:]]}),
    "lists of responses": ("refused", {"response": lambda y: [[v] for v in y]}),
    "lists of features": ("refused", {"change": lambda x: [[v] for v in x]}),
    "two of a list": ("refused", {"change": lambda x: [[v, v] for v in x]}),
    "structs": ("refused", {"change": lambda x: [{"u": v} for v in x]}),
    "bytes": ("refused", {"change": lambda x: [b"ab"[v > 1 :][:1] for v in x]}),
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
