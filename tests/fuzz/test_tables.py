"""The user's tables with faults: what must be refused is, and what is accepted is read rightly.

A small clean table is written with up to three faults, and an experiment is begun on it.  What must
come of it is decided from the bytes by Python's csv module, and of binary kinds from how they were
made; what is accepted is compared cell by cell with what thesiskit reads.
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from commands import run
from harness import Job, Outcome, Tally, batched, commands
from table_faults import FAULTS, PARQUET, SAMPLES, Made, clean, make_parquet
from table_oracle import Either, Refused, Seen, see

from thesiskit.datasets.features import read_features
from thesiskit.datasets.tables import read_table
from thesiskit.errors import DataError

SEED = 12

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
        "selection: {features: [1]}\nreport: {parts: [methods]}\n"
        if made.source == "file"
        else "model: {kind: logistic, orders: [1], iterations: 20, burn_in: 10}\n"
        "report: {parts: [methods]}\n"
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
        if repr(found) != repr(right):  # also of NaN
            return f"other {what} are read: {str(found)[:80]} for {str(right)[:80]}"
    return ""


@dataclass(frozen=True)
class Tried:
    """A table with its config in a folder, what must come of it, and what is read otherwise."""

    label: str
    folder: Path
    source: str
    expected: str
    compare: Callable[[], str]

    @property
    def job(self) -> Job:
        """The command that reads it."""
        stage = "select" if self.source == "file" else "compress"  # which simulates first
        return Job((stage, "config.yaml", "--results", "results"), self.folder)

    def wrong(self, done: Outcome) -> str:
        """Say what is wrong with what became of it."""
        if self.expected == "accepted" and done.code:
            return f"refused: {done.errors.strip()[-300:]}"
        if self.expected == "refused" and done.code == 0:
            return "believed"
        return self.compare() if self.expected == "accepted" else ""


def make_text(folder: Path, number: int) -> Tried | None:
    """Make one text table; None where it cannot be encoded."""
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
        return None
    path = write(folder, made, content)
    if made.test:
        write_test(folder, made)
    (folder / "config.yaml").write_text(configured(made, path))
    expected, seen = verdict(made, content)
    return Tried(label, folder, made.source, expected, lambda: compared(made, path, seen))


# ---- Parquet, whose verdict comes from how they are made ----


def make_binary(folder: Path, number: int) -> Tried:
    """Make one Parquet table, with a fault or without."""
    rng = np.random.default_rng([SEED, 1, number])
    y = rng.permutation(np.arange(SAMPLES) % 2)
    X = np.round(rng.normal(size=(SAMPLES, 4)), 3) + 3 * y[:, None]
    name = list(PARQUET)[number % len(PARQUET)]
    expected = make_parquet(folder, X, y, PARQUET[name], rng)
    (folder / "config.yaml").write_text(
        "experiment: fuzz\ntitle: Fuzz\nabout: Fuzz.\nevaluation: {folds: 3}\n"
        "data: {source: file, path: table.parquet, response: y}\n"
        "selection: {features: [1]}\nreport: {parts: [methods]}\n"
    )

    def compare() -> str:
        read = read_table(folder / "table.parquet", "y")
        known = slice(int(name == "no response"), None)  # the first sample is left out
        same = np.array_equal(read.features, X[known], equal_nan=True)
        same &= np.array_equal(read.response, y[known])
        return "" if same else "other numbers are read"

    return Tried(f"Parquet {SEED}, {number} ({name})", folder, "file", expected, compare)


def load(tmp_path: Path) -> None:
    """Read clean tables in this process, so that those that are forked have all that it loads."""
    for kind, source in enumerate(("file", "table")):
        made = clean(np.random.default_rng([SEED, kind]), source)
        folder = tmp_path / f"clean-{source}"
        folder.mkdir()
        path = write(folder, made, made.content())
        (folder / "config.yaml").write_text(configured(made, path))
        with contextlib.chdir(folder):
            run(*Tried("", folder, source, "", str).job.arguments)


def fuzz(tmp_path: Path, texts: range, parquet: range) -> Tally:
    """Try tables of these numbers."""
    pytest.importorskip("pyarrow")
    load(tmp_path)
    tally = Tally("tables")
    for make, numbers in ((make_text, texts), (make_binary, parquet)):
        for batch in batched(numbers):
            tables = []
            for number in batch:
                folder = tmp_path / f"{make.__name__}-{number}"
                folder.mkdir()
                tables.append(make(folder, number))
            tried = [one for one in tables if one is not None]
            for one, done in zip(tried, commands([t.job for t in tried], tmp_path), strict=True):
                tally.add(one.label, done, one.wrong(done))
    return tally


def test_tables(tmp_path, record_property):
    fuzz(tmp_path, range(32), range(12)).check(record_property)


@pytest.mark.slow
def test_a_thousand_tables(tmp_path, record_property):
    fuzz(tmp_path, range(40, 900), range(63)).check(record_property)
