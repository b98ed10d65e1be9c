"""Finished experiments of every kind, and whether others are the same."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from harness import Outcome, command
from small import LOGISTIC as TWO_ORDERS
from small import MIXTURE as BOTH_SAMPLERS
from small import NAIVE

from thesiskit.files import read_key, read_record

SEED = 20070712
TIMED = re.compile(r"second|\bms\b|factor table")  # columns that no two runs have the same
LOGISTIC = TWO_ORDERS.replace("[1, 3]", "[3]").replace("[true, false]", "[true]")
MIXTURE = BOTH_SAMPLERS.replace("[collapsed, gibbs]", "[collapsed]")
TABLE = """
experiment: small
title: Small
about: A test.
data: { source: table, path: mine.csv, response: y }
evaluation: { folds: 2 }
model: { kind: logistic, orders: [2], iterations: 40, burn_in: 10, chains: 2 }
report: { parts: [methods, coefficients] }
"""
LATTICE = """
experiment: small
title: Small
about: A test.
lattice: { class_counts: [6, 8], gamma: 0.3 }
report: { parts: [correlation-lattice] }
"""
REDUCTION = """
experiment: small
title: Small
about: A test.
replicates: 2
reduction: { samples: 20, sweeps: [ { features: 6, values: 3, order: [1, 2, 3] } ] }
report: { parts: [reduction] }
"""
# members of its files are larger than what zipfile reads at once, 4,096 bytes
WIDE = NAIVE.replace("features: 80", "features: 3000").replace("test: 9", "test: [400, 400]")
WIDE = WIDE.replace("[1, 5]", "[2, all]").replace("replicates: 4", "replicates: 2")
KINDS = {"naive": NAIVE, "wide": WIDE, "mixture": MIXTURE, "logistic": LOGISTIC, "table": TABLE,
         "lattice": LATTICE, "reduction": REDUCTION}  # fmt: skip


def finish(root: Path) -> None:
    """Run an experiment of every kind in a folder of its name."""
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 3, (40, 3))
    frame = pd.DataFrame(columns, columns=list("abc")).assign(y=(columns[:, 0] > 0).astype(int))
    for name, text in KINDS.items():
        folder = root / name
        (folder / "outside").mkdir(parents=True)
        (folder / "outside" / "mine.txt").write_text("mine")
        (folder / "small.yaml").write_text(text)
        frame.to_csv(folder / "mine.csv", index=False)
        done = run(folder)
        assert done.code == 0, done.errors
        assert not done.faults, done.faults


def begin(finished: Path, kind: str, target: Path) -> None:
    """Make a folder in which nothing has been run yet."""
    target.mkdir()
    for name in ("small.yaml", "mine.csv"):
        shutil.copy(finished / kind / name, target / name)
    shutil.copytree(finished / kind / "outside", target / "outside")


def finish_again(target: Path, whole: Path) -> tuple[Outcome, str]:
    """Run what was cut short; return the outcome, and what is not as it should be."""
    outcome = run(target)
    mended = differences(target, whole) if outcome.code == 0 else f"not mended: {outcome.errors}"
    return outcome, mended


def run(folder: Path, *more: object) -> Outcome:
    return command("run", "small.yaml", "--jobs", "0", *more, folder=folder)


def files(folder: Path) -> list[Path]:
    """Return all that was written below a folder's results, without locks."""
    found = [path for path in (folder / "results").rglob("*") if path.is_file()]
    return sorted(path for path in found if path.name != ".runner")


def differences(folder: Path, whole: Path) -> str:
    """Say which results are not as in the undamaged copy; seconds and dates may differ."""
    wrong = []
    for path in files(whole):
        mine = folder / path.relative_to(whole)
        name = str(path.relative_to(whole / "results"))
        if name.startswith(("small/cells/", "small/unfinished/")):
            continue  # once its block is joined nobody reads a cell
        if not mine.is_file():
            wrong.append(f"{name} is gone")
        elif path.suffix == ".npz":  # a bit of a date in the archive changes no array
            wrong += [] if _same_arrays(mine, path) else [name]
        elif path.suffix in (".nc", ".png"):
            wrong += [name] if mine.read_bytes() != path.read_bytes() else []
        elif path.suffix == ".key" or path.name == "provenance.json":
            wrong += [name] if read_record(mine) is None else []
        elif path.name == "report.json":
            numbers = [json.loads(file.read_text()) | {"date": ""} for file in (mine, path)]
            wrong += [name] if numbers[0] != numbers[1] else []
        elif path.suffix == ".json":
            key = read_key(mine.with_suffix(".npz"))
            wrong += [name] if read_record(mine, of=key) is None else []
        elif path.parent.name == "tables" and "time" not in name:
            wrong += [] if same_table(mine, path) else [name]
    return f"not as without damage: {', '.join(wrong)}" if wrong else ""


def _same_arrays(one: Path, other: Path) -> bool:
    if one.read_bytes() == other.read_bytes():
        return True
    with np.load(one) as mine, np.load(other) as whole:
        return mine.files == whole.files and all(
            (mine[name].dtype, mine[name].shape, mine[name].tobytes())
            == (whole[name].dtype, whole[name].shape, whole[name].tobytes())
            for name in whole.files
        )


def same_table(one: Path, other: Path) -> bool:
    """Whether tables are equal, but for columns of seconds and what is derived from them."""
    if one.suffix != ".csv":
        return len(one.read_text().splitlines()) == len(other.read_text().splitlines())
    tables = [pd.read_csv(path) for path in (one, other)]
    kept = [[name for name in table if not TIMED.search(name)] for table in tables]
    return kept[0] == kept[1] and tables[0][kept[0]].equals(tables[1][kept[1]])
