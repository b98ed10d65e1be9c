"""Whether two checkouts make the same numbers, to the last bit.

    python benchmarks/same_numbers.py BEFORE AFTER --results DIR [--smoke] [--] CONFIG ...

BEFORE and AFTER are checkouts whose kernels are built.  Each runs the configs, which are the same
paths in both, from `simulate` to `predict`; a result that is there is not made again.  Then every
array of every result file of BEFORE is compared with that of AFTER: .npz files of stages, and
files of draws.  Left out are what says how a file was made (keys and digests of code), and times.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

ABOUT = {"key", "draws", "identity", "format"}  # of the making, not of the result


def run(checkout: Path, results: Path, configs: list[str], smoke: bool, jobs: int) -> None:
    """Make all cells of configs in a checkout, and join them; a report is not needed."""
    environment = os.environ | {"PYTHONPATH": str(checkout.absolute())}
    for config in configs:
        # commits before `python -m thesiskit` have this too
        command = [sys.executable, "-c", "from thesiskit.cli import main; main()", "batch", "cell",
                   config, "--share", "1/1", "--jobs", str(jobs), "--yes", "--results",
                   str(results.absolute()),
                   *["--smoke"] * smoke]  # fmt: skip
        subprocess.run(command, cwd=checkout, env=environment, check=True)


def arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file."""
    if path.suffix == ".npz":
        with np.load(path) as found:
            return dict(found)
    read: dict[str, np.ndarray] = {}

    def add(name: str, node) -> None:
        if isinstance(node, h5py.Dataset):
            read[name] = node[()]

    with h5py.File(path) as file:
        file.visititems(add)
    return read


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal to the last bit; any two NaNs are."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        return bool(np.array_equal(a, b, equal_nan=True))
    return bool((a == b).all())


def compare(before: Path, after: Path) -> int:
    """Print what differs between two folders of results; return how many arrays do."""
    files = sorted(
        path.relative_to(before)
        for kind in ("*.npz", "*.nc")
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
        for key in sorted(old.keys() - ABOUT):
            if key.rpartition("/")[2] in ABOUT:
                continue
            if key in now and same(old[key], now[key]):
                equal += 1
            else:
                different += 1
                print(f"{name}: {key} {'differs' if key in now else 'is missing'}")
        new |= {f"{name.parts[-2]}: {key.rpartition('/')[2]}" for key in now.keys() - old.keys()}
    print(f"{len(files)} files, {equal} arrays equal, {different} different")
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
    folders = {"before": asked.before, "after": asked.after}
    for name, checkout in folders.items():
        run(checkout, asked.results / name, asked.configs, asked.smoke, asked.jobs)
    sys.exit(1 if compare(*(asked.results / name for name in folders)) else 0)


if __name__ == "__main__":
    main()
