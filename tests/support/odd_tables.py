"""Tables as people have them: what is odd about each, and what must come of it.

Each has `CASES` samples unless its name says otherwise.  An "answer" is a config that runs; notes
are words that `thesiskit init` says beside it.  A "refusal" is one message that names these words.
"""

import gzip
import io
import json
import zipfile
from typing import NamedTuple

import numpy as np

SAMPLES = 24
RNG = np.random.default_rng(20)
Y = RNG.permutation(np.arange(SAMPLES) % 2)
REAL = [[f"{y * 2 + RNG.normal():.3f}", *(f"{v:.3f}" for v in RNG.normal(size=3))] for y in Y]
LOCI = [[str(v) for v in RNG.integers(0, 3, 4)] for _ in Y]
NAMES = ["g0", "g1", "g2", "g3", "y"]
WORDS = ["tumour" if y else "normal" for y in Y]
READS = ["".join(RNG.choice(list("ACGT"), 9)) for _ in range(2 * SAMPLES)]


class Odd(NamedTuple):
    """A table: the name of its file, its bytes, whether it is answered, and words that are said."""

    about: str
    file: str
    content: bytes
    answered: bool
    said: tuple[str, ...] = ()


def lines(names, rows, delimiter=",", end="\n") -> str:
    return "".join(delimiter.join(row) + end for row in ([names] if names else []) + rows)


def real(change=None, *, names=None, response=None, **options) -> str:
    """Return a table of real features; `change` of a row's cells and its number."""
    values = [str(y) for y in Y] if response is None else response
    rows = [[*row, value] for row, value in zip(REAL, values, strict=True)]
    rows = rows if change is None else [change(list(row), i) for i, row in enumerate(rows)]
    return lines(NAMES if names is None else names, rows, **options)


def loci(response=None, *, change=None, names=None) -> str:
    """Return a table of discrete features."""
    values = [str(y) for y in Y] if response is None else response
    rows = [[*row, value] for row, value in zip(LOCI, values, strict=True)]
    rows = rows if change is None else [change(list(row), i) for i, row in enumerate(rows)]
    return lines(NAMES if names is None else names, rows)


def first(name, value):
    """Return names and a change that put a column first."""
    return {"names": [name, *NAMES], "change": lambda row, i: [value(i), *row]}


def cell(column, value, sample=3):
    """Return a change of one cell."""
    return lambda row, i: [*row[:column], value, *row[column + 1 :]] if i == sample else row


def column(place, value):
    """Return a change of one column."""
    return lambda row, i: [*row[:place], value(row, i), *row[place + 1 :]]


def sheet() -> bytes:
    """Return what begins like an Excel file."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return held.getvalue()


def fasta(labels=None, cut=lambda read, i: read) -> str:
    return "".join(
        f">read{i}{' ' + labels[i % 2] if labels else ''}\n{cut(read, i)}\n"
        for i, read in enumerate(READS)
    )


def text(about, file, content, answered, *said) -> Odd:
    return Odd(about, file, content.encode(), answered, said)


X = np.array(REAL, dtype=float)
THREE = ["abc"[i % 3] for i in range(SAMPLES)]
MEASURED = [f"{v:.2f}" for v in RNG.normal(size=SAMPLES)]
TRANSPOSED = [["", *(f"s{i}" for i in range(SAMPLES))], ["status", *WORDS]] + [
    [f"g{j}", *(row[j] for row in REAL)] for j in range(4)
]

TABLES = [
    # ---- names of columns, and lines ----
    text("no line of names", "t.csv", real(names=[]), True, "first line is a sample"),
    text("no line of names, classes in words", "t.csv", real(names=[], response=WORDS), True,
         "first line is a sample", "tumour (by its name)"),
    text("names that are numbers", "t.csv", real(names=["400", "410", "420", "430", "y"]), True),
    text("a line with a cell more", "t.csv", real(lambda row, i: row + ["1"] * (i == 3)), False,
         "line 5 has 6 cells", "5"),
    text("a line with a cell less", "t.csv", real(lambda row, i: row[: 5 - (i == 3)]), False,
         "line 5 has 4 cells"),
    Odd("a byte order mark", "t.csv", b"\xef\xbb\xbf" + real().encode(), True),
    text("line ends of Windows", "t.csv", real(end="\r\n"), True),
    text("line ends of old Macs", "t.csv", real(end="\r"), True),
    text("blank lines", "t.csv", real(end="\n\n"), True),
    text("a comment above", "t.csv", "# made by a machine\n" + real(), False, "line 1", "#"),
    text("a title above", "t.csv", "My table of genes\n" + real(), False, "line 1"),
    text("commas at the ends of samples", "t.csv", real(lambda row, i: [*row, ""]), False,
         "Fix: take the comma at its end out"),
    text("commas at all ends", "t.csv",
         real(lambda row, i: [*row, ""], names=[*NAMES, ""]), True, "empty"),
    text("spaces around all cells", "t.csv", real(delimiter=" , "), True),
    text("two columns of one name", "t.csv", real(names=["g0", "g0", "g2", "g3", "y"]), False,
         "two columns are named 'g0'", "rename"),
    text("names of many alphabets", "t.csv", real(names=["α", "ген", "遺伝子", "ö 1", "y"]), True),
    text("names with signs of YAML", "t.csv",
         real(names=["a: b", "#c", "- d", "{e}", '"status: ""x"" #1"'], response=WORDS), True),
    text("long names", "t.csv", real(names=["g" * 500, "h" * 900, "g2", "g3", "y"]), True),
    text("a name of 5,000 characters", "t.csv", real(names=["g" * 5000, *NAMES[1:]]), False,
         "5,000 characters", "rename"),
    text("a line end in a name", "t.csv", real(names=['"g\n0"', *NAMES[1:]]), False,
         "control character", "rename"),
    text("a line end in a cell of notes", "t.csv",
         real(**first("notes", lambda i: f'"seen {i}\nagain {i % 7}"')), True),
    text("a quote that does not end", "t.csv", real(cell(0, '"1.5')), False, "does not end"),
    # ---- delimiters and files ----
    text("semicolons", "t.csv", real(delimiter=";"), True),
    text("semicolons and decimal commas", "t.csv", real(delimiter=";").replace(".", ","), True,
         "decimal comma"),
    text("decimal commas in quotes", "t.csv",
         real(column(0, lambda row, i: '"' + row[0].replace(".", ",") + '"')), False,
         "decimal point"),
    text("thousands with commas", "t.csv",
         real(column(0, lambda row, i: f'"{i + 1},{100 + i}.5"')), False, "decimal point"),
    text("bars", "t.csv", real(delimiter="|"), True),
    text("tabs", "t.tsv", real(delimiter="\t"), True),
    text("spaces", "t.txt", real(delimiter="  "), True),
    Odd("packed", "t.csv.gz", gzip.compress(real().encode()), True),
    text("called .gz and not packed", "t.csv.gz", real(), False, "not a gzip file"),
    Odd("packed and cut off", "t.csv.gz", gzip.compress(real().encode())[:-20], False,
        ("damaged",)),
    Odd("UTF-16", "t.csv", real().encode("utf-16"), False, ("UTF-16", "iconv")),
    Odd("Latin-1", "t.csv", real(names=["gén", *NAMES[1:]]).encode("latin-1"), False,
        ("not UTF-8", "iconv")),
    Odd("an Excel file", "t.xlsx", sheet(), False, ("Excel file", "CSV")),
    Odd("an Excel file called .csv", "t.csv", sheet(), False, ("Excel file", "CSV")),
    text("a web page called .csv", "t.csv", "<!DOCTYPE html><p>login</p>", False, "not a table"),
    text("JSON", "t.json", json.dumps([{"g": 1, "y": 0}]), False, "cannot read .json"),
    text("JSON called .csv", "t.csv", json.dumps([{"g": 1, "y": 0}] * 9), False, "not a table"),
    text("another suffix", "t.dat", real(), False, "cannot read .dat", ".csv"),
    Odd("nothing in it", "t.csv", b"", False, ("empty",)),
    text("names and no samples", "t.csv", ",".join(NAMES) + "\n", False, "no samples"),
    # ---- responses ----
    text("one class", "t.csv", real(response=["1"] * SAMPLES), False, "'1' in all samples",
         "--response"),
    text("three classes, real features", "t.csv", real(response=THREE), True, "3 classes", "a (8)"),
    text("a class with one sample, real features", "t.csv", real(response=["d", *THREE[1:]]), False,
         "'y' is d in only one sample", "each needs two"),
    text("three classes, discrete features", "t.csv", loci(THREE), True, "a (8)"),
    text("a real response, real features", "t.csv", real(response=MEASURED), True,
         "The response is a real number"),
    text("a real response, discrete features", "t.csv", loci(MEASURED), True),
    text("0 and 1 as text", "t.csv", real(response=[f'"{y}"' for y in Y]), True, "class: 1"),
    text("0.0 and 1.0", "t.csv", real(response=[f"{y}.0" for y in Y]), True, "Positive class: 1"),
    text("1 and 2", "t.csv", real(response=[str(y + 1) for y in Y]), True, "Positive class: 2"),
    text("true and false", "t.csv", real(response=[str(bool(y)) for y in Y]), True, "true"),
    text("classes with spaces", "t.csv", real(response=[["wild type", "gene lost"][y] for y in Y]),
         True, "Positive class:"),
    text("classes with signs", "t.csv", real(response=[["😀 : no", "# yes"][y] for y in Y]), True),
    text("a response that is missing once", "t.csv", real(cell(4, "NA"), response=WORDS), True,
         "1 sample without a response ('NA') dropped: line 5"),
    text("a class of one sample", "t.csv", real(response=["1"] + ["0"] * (SAMPLES - 1)), False,
         "'1' in only one sample"),
    text("names of many alphabets and classes with signs", "t.csv",
         real(names=["α: b", "#ген", "- 遺伝子", "{ö}", '"status: ""x"" #1"'],
              response=[["😀 : no", "# yes"][y] for y in Y]), True),
    text("words as the response", "t.csv", real(response=[f"word {i}" for i in range(SAMPLES)]),
         False, "a different text in most samples", "--response"),
    text("few loci in rows", "t.csv", lines(None, TRANSPOSED[:2] + [[f"rs{j}", *(row[j] for row in
         LOCI)] for j in range(4)]), True, "Features are in rows"),
    text("the response first", "t.csv",
         lines(["diagnosis", *NAMES[:4]],
               [[w, *row] for w, row in zip(WORDS, REAL, strict=True)]), True, "diagnosis (by its"),
    # ---- features ----
    text("one feature", "t.csv", lines(["g", "y"], [[r[0], str(y)] for r, y in zip(REAL, Y,
         strict=True)]), True),
    text("only a response", "t.csv", lines(["y"], [[str(y)] for y in Y]), False, "no features"),
    text("one sample", "t.csv", lines(NAMES, [[*REAL[0], "1"]]), False, "in all samples"),
    text("two samples", "t.csv", lines(NAMES, [[*REAL[0], "1"], [*REAL[1], "0"]]), False,
         "one sample"),
    text("names of samples", "t.csv", real(**first("sample", lambda i: f"s{i}")), True,
         "Sample IDs: column 'sample'"),
    text("row numbers without a name", "t.csv", real(**first("", str)), True, "Sample IDs: column"),
    text("a date", "t.csv", real(**first("seen", lambda i: f"2024-01-{1 + i % 9:02d}")), True,
         "Ignored: 'seen' (dates)"),
    text("dates as numbers", "t.csv", real(**first("day", lambda i: f"202401{1 + i:02d}")), True,
         "Ignored: 'day' (dates)"),
    text("a date and a time", "t.csv",
         real(**first("seen", lambda i: f"2024-01-02 10:{10 + i}")), True, "(dates)"),
    text("a constant column", "t.csv", real(column(2, lambda row, i: "7")), True,
         "Ignored: 'g2'"),
    text("a column without values", "t.csv", real(column(2, lambda row, i: "")), True,
         "Ignored: 'g2' (empty)"),
    text("an infinite value", "t.csv", real(cell(1, "inf")), False, "infinite", "g1"),
    text("hexadecimal numbers", "t.csv", real(cell(1, "0x1F")), False, "'0x1F'"),
    text("numbers like 1e-3", "t.csv", real(column(1, lambda row, i: f"{float(row[1]):.2e}")),
         True),
    text("words beside numbers", "t.csv",
         real(**first("sex", lambda i: "mf"[i % 2])), True, "f = 0, m = 1"),
    text("numbers beside words", "t.csv",
         lines(["age", *NAMES], [[str(30 + i / 7), *("abc"[int(v)] for v in row), w]
         for i, (row, w) in enumerate(zip(LOCI, WORDS, strict=True))]), True, "Dummy-coded: "),
    text("all words", "t.csv", loci(WORDS, change=lambda row, i: ["abc"[int(v)] for v in row[:4]]
         + row[4:]), True, "by its name"),
    text("missing values of discrete features", "t.csv",
         loci(change=lambda row, i: [["NA", "?", "", "N/A"][i], *row[1:]] if i < 4 else row), True),
    text("missing values of numbers", "t.csv",
         real(lambda row, i: [["NA", "", "NaN", "N/A"][i], *row[1:]] if i < 4 else row), True),
    text("a question mark among numbers", "t.csv", real(cell(2, "?")), True),
    text("the same sample twice", "t.csv", real() + ",".join([*REAL[0], str(Y[0])]) + "\n", True),
    text("genes in rows", "t.csv", lines(None, TRANSPOSED), True, "Features are in rows"),
    text("genes in rows, and no classes", "t.csv", lines(None, TRANSPOSED[:1] + TRANSPOSED[2:]),
         False, "data.orientation: genes-in-rows", "data.labels"),
    # ---- Parquet and sequences ----
    Odd("an .npz", "t.npz", b"PK", False, ("Fix: use .csv",)),
    Odd("an .npy", "t.npy", b"1 2", False, ("Fix: use .csv",)),
    Odd("a .parquet that is text", "t.parquet", real().encode(), False, ("not Parquet",)),
    text("lines of states", "t.txt", "\n".join(READS), True, "last state"),
    text("lines of states of unequal length", "t.txt",
         "\n".join(read[i % 3 :] for i, read in enumerate(READS)), True, "the last 6 states"),
    text("states between spaces, of unequal length", "t.txt",
         "\n".join(" ".join(read[i % 3 :]) for i, read in enumerate(READS)), True,
         "the last 6 states"),
    text("states between commas", "t.csv", "\n".join(",".join(read) for read in READS), True,
         "last state"),
    text("prose", "t.txt", "It was the best of times, it was the worst of times, it was the age of "
         "wisdom, it was the age of foolishness, it was the epoch of belief, it was an epoch.\n",
         False, "no samples"),
    text("FASTA", "t.fa", fasta(), True, "last letter"),
    text("FASTA with labels", "t.fasta", fasta(("exon", "intron")), True, "exon (24)"),
    text("FASTA of unequal length", "t.fa",
         fasta(("exon", "intron"), lambda read, i: read[i % 4 :]), True, "the last 6 states"),
    text("FASTA without a header line", "t.fa", "ACGT\nACGA\n", False, "begins with a line of >"),
]  # fmt: skip
