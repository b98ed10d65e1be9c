"""Oddities of tables through every format and every entrance: the right answer, or a refusal.

A small plain table is written with one oddity in every format that is read.  What must come of it
is known from how it was made, and does not depend on the format or the entrance.
"""

import gzip
import re
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from anndata_files import write_anndata, write_anndata_07
from cases import few
from plain_table import EVERY, GAPS, NUMBERS, PLAIN, N

from thesiskit import start
from thesiskit.config import load_config
from thesiskit.datasets import SOURCES
from thesiskit.errors import DataError
from thesiskit.frame import MISSING_TEXTS

ROLES = ("dose", "stage", "smoker", "grade", "status", "patient")  # a column of each


# ---- formats ----


def delimited(delimiter, pack=bytes, decimal="."):
    def write(path, columns):
        rows = [columns, *zip(*columns.values(), strict=True)]
        lines = [delimiter.join(row) for row in rows]
        if decimal != ".":
            lines = [re.sub(r"(?<=\d)\.(?=\d)", decimal, line) for line in lines]
        path.write_bytes(pack("".join(line + "\n" for line in lines).encode()))

    return write


def write_turned(path, columns):
    names, *rows = [[name, *cells] for name, cells in columns.items()]
    path.write_text("".join("\t".join(row) + "\n" for row in [names, *rows]))


def typed(cells):
    """Return numbers or truth values where all cells are, as a program stores them; else texts."""
    if set(cells) <= {"True", "False"}:
        return [cell == "True" for cell in cells]
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        return cells
    return values if np.isfinite(values).all() else cells


def write_parquet(path, columns):
    pytest.importorskip("pyarrow")
    pd.DataFrame({name: typed(cells) for name, cells in columns.items()}).to_parquet(path)


def annotated(write):
    def write_parts(path, columns):
        frame = pd.DataFrame(columns, index=pd.Index(columns["sample"], name="cell"))
        X = frame[[*NUMBERS]].astype(float)
        write(path, X.to_numpy(), frame[["status", "patient"]], pd.DataFrame(index=[*NUMBERS]))

    return write_parts


@dataclass(frozen=True)
class Format:
    """How a table is written, and what of it the format can hold."""

    suffix: str
    write: object
    data: dict = field(default_factory=dict)  # keys of the config
    features: tuple = EVERY
    has_id: bool = True
    groups: bool = True
    codes: bool = True  # whether data.missing is for it


FORMATS = {
    "csv": Format(".csv", delimited(",")),
    "tsv": Format(".tsv", delimited("\t")),
    "gzip": Format(".csv.gz", delimited(",", gzip.compress)),
    "decimal comma": Format(".csv", delimited(";", decimal=","), {"decimal": ","}),
    "parquet": Format(".parquet", write_parquet),
    "genes in rows": Format(
        ".tsv", write_turned, {"orientation": "genes-in-rows"}, has_id=False, groups=False
    ),
    "h5ad": Format(".h5ad", annotated(write_anndata), {}, NUMBERS, False, codes=False),
    "anndata 0.7": Format(".h5ad", annotated(write_anndata_07), {}, NUMBERS, False, codes=False),
}


# ---- oddities: what is written, keys of the config, and which cells are missing ----


@dataclass(frozen=True)
class Odd:
    """A table with one oddity."""

    columns: dict
    column: str = ""  # that has it
    gaps: tuple = ()
    missing: tuple = ()  # texts that the config names


def with_text(column, text, missing=()):
    cells = [text if i in GAPS else cell for i, cell in enumerate(PLAIN[column])]
    return Odd(PLAIN | {column: cells}, column, GAPS, missing)


def spelt(column, change):
    return Odd(PLAIN | {column: [change(i, cell) for i, cell in enumerate(PLAIN[column])]}, column)


KINDS = {"plain": [Odd(PLAIN)]}
for role in ROLES:
    KINDS[f"missing texts in {role}"] = [with_text(role, text) for text in sorted(MISSING_TEXTS)]
    KINDS[f"codes in {role}"] = [with_text(role, text, (text,)) for text in
                                 ("999", "-9", "unknown", "not done")]  # fmt: skip
    KINDS[f"spaces in {role}"] = [spelt(role, lambda i, cell: cell + "  " * (i % 2)),
                                  spelt(role, lambda i, cell: " " * (i % 3) + cell)]  # fmt: skip
KINDS["spellings of truth"] = [
    spelt("smoker", lambda _, cell: cell.upper()),
    spelt("smoker", lambda _, cell: cell.lower()),
    spelt("smoker", lambda i, cell: (cell, cell.upper(), cell.lower())[i % 3]),
]
KINDS["whole numbers"] = [spelt("grade", lambda i, cell: (cell, f"{cell}.0", f"+{cell}")[i % 3])]


def possible(form, odd):
    """Whether a format can hold an oddity."""
    if (odd.column == "patient" and not form.groups) or (odd.missing and not form.codes):
        return False
    # X holds numbers alone
    return form.features is EVERY or odd.column in ("", "status", "patient")


def written(folder, form, odd, name="table"):
    """Write a table; return the keys of `data` that read it."""
    path = folder / f"{name}{form.suffix}"
    columns = odd.columns
    if not form.groups:
        columns = {name: cells for name, cells in columns.items() if name != "patient"}
    form.write(path, columns)
    keys = {"path": path.name, "response": "status", **form.data}
    keys |= {"id": "sample"} if form.has_id else {}
    keys |= {"sample_groups": "patient"} if form.groups else {}
    return keys | ({"missing": list(odd.missing)} if odd.missing else {})


# ---- what must come of a file ----


def cells_of(odd, name, rows):
    """Return the plain cells of some rows, None where one is missing."""
    return [None if name == odd.column and i in odd.gaps else PLAIN[name][i] for i in rows]


def features_of(form, odd, rows):
    """Return names and values of features as `source: file` reads them."""
    features = {}
    for name in form.features:
        cells = cells_of(odd, name, rows)
        if name in NUMBERS:
            features[name] = [np.nan if cell is None else float(cell) for cell in cells]
        elif name == "smoker":
            features[name] = [np.nan if cell is None else cell == "True" for cell in cells]
        else:
            for word in ("high", "low", "mid"):
                features[f"{name}={word}"] = [
                    np.nan if cell is None else float(cell == word) for cell in cells
                ]
    return features


def check_features(table, form, odd, rows):
    expected = features_of(form, odd, rows)
    assert {*table.names} == {*expected}
    for j, name in enumerate(table.names):
        np.testing.assert_array_equal(table.features[:, j], expected[name], err_msg=name)


def check_samples(table, odd, form):
    """Which samples are there, their classes and their groups, and what a note says."""
    rows = [i for i in range(N) if odd.column != "status" or i not in odd.gaps]
    assert table.ids == [PLAIN["sample"][i] for i in rows]
    assert [table.classes[k] for k in table.response] == [PLAIN["status"][i] for i in rows]
    notes = "\n".join(table.notes)
    assert ("dropped: S03, S08, S16" in notes) == (len(rows) < N), notes
    if form.groups:
        assert table.groups == [cell or "" for cell in cells_of(odd, "patient", rows)]
    if odd.column == "patient" and odd.gaps:
        assert "3 samples without 'patient': each is a group by itself" in notes
    return rows


def some_of(odds, form, kind):
    """Return of the missing texts a share for each role, together all."""
    if not kind.startswith("missing texts"):
        return odds
    roles = [role for role in ROLES if possible(form, KINDS[f"missing texts in {role}"][0])]
    shares = max(len(roles), SHARES.get(form.suffix, 0))
    return odds[roles.index(kind.removeprefix("missing texts in ")) :: shares]


SHARES = {".h5ad": 6}  # a process of its own reads each of these files
# of each format but CSV, of which are all; each says something that depends on the format
QUICK = {
    "tsv": ("plain", "missing texts in stage", "codes in dose"),
    "gzip": ("plain", "missing texts in smoker"),
    "decimal comma": ("plain", "missing texts in dose", "codes in dose", "whole numbers"),
    "parquet": ("plain", "missing texts in grade", "codes in smoker", "spaces in stage",
                "spellings of truth", "whole numbers"),
    "genes in rows": ("plain", "missing texts in status", "codes in status", "spaces in stage"),
    "h5ad": ("plain", "missing texts in status", "spaces in patient"),
    "anndata 0.7": ("plain", "missing texts in patient"),
}  # fmt: skip


def files():
    """Return the formats and kinds of oddities that go together."""
    return [
        pytest.param(
            form, kind, id=f"{name}-{kind}",
            marks=[] if kind in QUICK.get(name, KINDS) else [pytest.mark.slow],
        )
        for name, form in FORMATS.items()
        for kind, odds in KINDS.items()
        if any(possible(form, odd) for odd in odds)
    ]  # fmt: skip


@pytest.mark.parametrize(("form", "kind"), files())
def test_files(form, kind, tmp_path):
    odds = [odd for odd in KINDS[kind] if possible(form, odd)]
    check_files(form, some_of(odds, form, kind), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", ["csv", "h5ad", "anndata 0.7"])
def test_all_missing_texts(name, role, tmp_path):
    form = FORMATS[name]
    odds = [odd for odd in KINDS[f"missing texts in {role}"] if possible(form, odd)]
    check_files(form, odds, tmp_path)


def check_files(form, odds, folder):
    for number, odd in enumerate(odds):
        keys = written(folder, form, odd)
        data = SOURCES["file"].model_validate({"source": "file", "positive": "case", **keys})
        (table,) = data.read(folder)
        rows = check_samples(table, odd, form)
        assert table.classes == ("control", "case")
        check_features(table, form, odd, rows)
        new = data.read_new(folder / keys["path"], table)
        check_features(new, form, odd, range(N))
        assert not [note for note in new.notes if "no training sample has" in note], new.notes
        if form.features is EVERY and form.has_id:
            check_discrete(folder, keys, odd, form)
        if not number:  # the others are alike
            check_commands(folder, form, odd)


def check_discrete(folder, keys, odd, form):
    """`source: table` reads the same."""
    keys = keys | {"source": "table", "ignore": ["dose", "gene"]}
    data = SOURCES["table"].model_validate(keys)
    (table,) = data.read(folder)
    rows = check_samples(table, odd, form)
    assert table.classes == ["case", "control"]
    for read, of_rows in ((table, rows), (data.read_new(folder / keys["path"], table), range(N))):
        for j, name in enumerate(read.features):
            symbols = [None if k < 0 else read.values[j][k] for k in read.X[:, j]]
            assert symbols == cells_of(odd, name, of_rows), name


def check_commands(folder, form, odd):
    """`init` finds the same classes, and `check` reads what it wrote."""
    if "orientation" in form.data:  # which is found where one row alone has words
        odd = replace(odd, columns={k: cells for k, cells in odd.columns.items() if k != "stage"})
    keys = written(folder, form, odd)
    hints = start.Hints("status", odd.missing, keys.get("decimal"))
    text, _, notes = start.draft_config(folder / keys["path"], hints, folder)
    (folder / "drafted.yaml").write_text(text)
    start.check(folder / "drafted.yaml")
    (table,) = load_config(folder / "drafted.yaml").data.read(folder)
    rows = [i for i in range(N) if odd.column != "status" or i not in odd.gaps]
    classes = [table.classes[k] for k in table.response]
    assert classes == [PLAIN["status"][i] for i in rows], notes
    counts = " ".join(notes)
    for word in ("control", "case"):
        assert f"{word} ({classes.count(word)})" in counts


@pytest.mark.parametrize("form", few(FORMATS.values()), ids=FORMATS)
def test_names_that_go_with_nothing(form, tmp_path):
    """`check` is silent on names of samples of any form, where labels are random."""
    make = np.random.default_rng(3)
    names = {
        "barcodes": ["".join(make.choice(list("ACGT"), 16)) + "-1" for _ in range(N)],
        "hexadecimal": [make.bytes(16).hex() for _ in range(N)],
        "universal": [f"{make.bytes(4).hex()}-{make.bytes(2).hex()}-4abc" for _ in range(N)],
        "remarks": [f"{'seen' * (i % 3)} by {make.bytes(3).hex()}" for i in range(N)],
    }
    for ids in names.values():
        keys = written(tmp_path, form, Odd(PLAIN | {"sample": ids}))
        (tmp_path / "own.yaml").write_text(
            "experiment: own\ntitle: Own\nabout: A test.\nselection: { features: [2] }\n"
            f"data: { ({'source': 'file', 'positive': 'case'} | keys) }\n"
            "report: { parts: [methods] }\nmodel: { kind: normal }\n"
        )
        assert not [line for line in start.check(tmp_path / "own.yaml") if "goes with" in line]


def test_a_class_that_is_missing_everywhere(tmp_path):
    for form in FORMATS.values():
        keys = written(tmp_path, form, Odd(PLAIN | {"status": [""] * N}))
        data = SOURCES["file"].model_validate({"source": "file", "positive": "case", **keys})
        with pytest.raises(DataError, match="'status' is missing in all samples"):
            data.read(tmp_path)
