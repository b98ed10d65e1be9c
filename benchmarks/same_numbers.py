"""Whether two checkouts make the same numbers, to the last bit.

    python benchmarks/same_numbers.py BEFORE AFTER --results DIR [--smoke] [--] CONFIG ...

BEFORE and AFTER are checkouts whose kernels are built; BEFORE may also be a folder of results that
an earlier call made (DIR/before).  Each checkout runs the configs, which are the same paths in
both, with their reports; a result that is there is not made again.  Then everything of BEFORE is
compared with AFTER: every array of every .npz file of a stage and of every file of draws, and
every column of every CSV file of a report (tables, predictions, verdicts).  Left out are what says
how a file was made (keys and digests of code), and times.  RENAMED maps names of arrays before to
names after.  A table of BEFORE may have columns in another order in AFTER, but none may be missing.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

ABOUT = {"key", "draws", "identity", "format"}  # of the making, not of the result
RENAMED = {"predict/judged": "inner_losses"}  # "stage/name" of an array before: its name after
# in names of columns and arrays
TIMES = ("second", "minute", "time", " ms", "ms an", "per draw", "a draw")
TABLES = "factor table"  # what a process kept depends on which cells it made


def run(checkout: Path, results: Path, configs: list[str], smoke: bool, jobs: int) -> None:
    """Run configs in a checkout, with their reports."""
    environment = os.environ | {"PYTHONPATH": str(checkout.absolute())}
    for config in configs:
        command = [sys.executable, "-c", "from thesiskit.cli import main; main()", "run", config,
                   "--jobs", str(jobs), "--results", str(results.absolute()),
                   *["--smoke"] * smoke]  # fmt: skip
        subprocess.run(command, cwd=checkout, env=environment, check=True)


def arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file."""
    if path.suffix == ".npz":
        with np.load(path) as found:
            return dict(found)
    if path.suffix == ".csv":
        return {name: column.to_numpy() for name, column in pd.read_csv(path, dtype=str).items()}
    read: dict[str, np.ndarray] = {}

    def add(name: str, node) -> None:
        if isinstance(node, h5py.Dataset):
            read[name] = np.asarray(node[()])

    with h5py.File(path) as file:
        file.visititems(add)
    return read


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal to the last bit; any two NaNs are."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        return bool(np.array_equal(a, b, equal_nan=True))
    if a.dtype.kind == "O":
        return all(x == y or (x != x and y != y) for x, y in zip(a.flat, b.flat, strict=True))
    return bool((a == b).all())


def left_out(path: Path, name: str) -> bool:
    """Whether an array says how or how fast a file was made."""
    last = name.rpartition("/")[2]
    timed = any(word in last.lower() for word in (*TIMES, TABLES))
    return last in ABOUT or timed or path.name.startswith(("timing", "time"))


def compare(before: Path, after: Path) -> int:
    """Print what differs between two folders of results; return how many arrays do."""
    files = sorted(
        path.relative_to(before)
        for kind in ("*.npz", "*.nc", "*.csv")
        for path in before.rglob(kind)
        if not {"cells", "unfinished"} & set(path.parts)
    )
    equal = different = 0
    new: set[str] = set()
    for name in files:
        if not (after / name).exists():
            print(f"{name}: is missing")
            different += 1
            continue
        old, now = arrays(before / name), arrays(after / name)
        for key in sorted(old):
            if left_out(name, key):
                continue
            there = RENAMED.get(f"{name.parent.name}/{key}", key)
            if there in now and same(old[key], now[there]):
                equal += 1
            else:
                different += 1
                print(f"{name}: {key} {'differs' if there in now else 'is missing'}")
        new |= {f"{name.parent.name}: {key.rpartition('/')[2]}" for key in now.keys() - old.keys()}
    print(f"{len(files)} files, {equal} arrays and columns equal, {different} different")
    if new:
        print(f"only after: {', '.join(sorted(new))}")
    return different


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("configs", nargs="+")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    folders = {"before": asked.results / "before", "after": asked.results / "after"}
    if not (asked.before / "setup.py").exists():  # results, not a checkout
        folders["before"] = asked.before
    for name, folder in folders.items():
        if folder != asked.before:
            checkout = getattr(asked, name)
            run(checkout, folder, asked.configs, asked.smoke, asked.jobs)
    wanted = [Path(config).stem + "-smoke" * asked.smoke for config in asked.configs]
    different = sum(compare(*(folders[name] / one for name in folders)) for one in wanted)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
