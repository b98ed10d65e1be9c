"""Damaged results: whatever happens to a file, `run` recomputes it, or says what is in the way.

The oracle is a copy of the same results without damage: what stands after `run` must be its bytes.
"""

import os
import random
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from finished import KINDS, SEED, differences, files, run, same_table
from harness import Tally, command, fingerprint

CHUNK = 4096  # bytes that zipfile reads at once


def _flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _flip_header(path: Path, rng: random.Random) -> None:
    """Flip a bit of the header of an array, which numpy parses before checksums are compared."""
    content = bytearray(path.read_bytes())
    headers = [found.start() for found in re.finditer(rb"\{'descr'", content)]
    if headers:
        content[rng.choice(headers) + rng.randrange(60)] ^= 1 << rng.randrange(8)
    path.write_bytes(content if headers else content[:-1])


def _flip_long(path: Path, rng: random.Random) -> None:
    """Flip a bit of a long member of an archive, beyond what is read and checked first."""
    with zipfile.ZipFile(path) as archive:
        long = [one for one in archive.infolist() if one.compress_size > 2 * CHUNK]
    if not long:
        return _flip(path, rng)
    one = rng.choice(long)
    content = bytearray(path.read_bytes())
    start = one.header_offset + 30 + len(one.filename)
    content[start + rng.randrange(CHUNK, one.compress_size)] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _truncate(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])


def _empty(path: Path, rng: random.Random) -> None:
    path.write_bytes(b"")


def _scramble(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content))
    for i in range(start, min(len(content), start + 64)):
        content[i] = rng.randrange(256)
    path.write_bytes(content)


def _extend(path: Path, rng: random.Random) -> None:
    path.write_bytes(path.read_bytes() + rng.randbytes(50))


def _remove(path: Path, rng: random.Random) -> None:
    path.unlink()


def _swap(path: Path, rng: random.Random) -> None:
    """Put another file of the same kind in its place."""
    others = [
        one
        for one in path.parents[1].rglob(f"*{path.suffix}")
        if one.is_file() and one.name[0] != "."
    ]
    path.write_bytes(rng.choice(sorted(others)).read_bytes())


def _pipe(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()
    (path / "mine.txt").write_text("mine")


def _link(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.symlink_to(_root(path) / "outside" / "mine.txt")


def _endless(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _linked_folder(path: Path, rng: random.Random) -> None:
    parent = path.parent
    if parent.name in ("small", "results"):  # links that lead there are the user's
        return _link(path, rng)
    shutil.rmtree(parent)
    return parent.symlink_to(_root(path) / "outside")


def _root(path: Path) -> Path:
    return next(one for one in path.parents if (one / "outside").is_dir())


# what heals by itself, and what the user must take away
HEALS: list[Callable] = [
    _flip,
    _flip,
    _flip_header,
    _flip_header,
    _flip_long,
    _truncate,
    _empty,
    _scramble,
    _extend,
    _remove,
    _swap,
]
BLOCKS: list[Callable] = [_pipe, _folder, _link, _endless, _linked_folder]


def damage(finished: Path, target: Path, number: int) -> tuple[str, Path, bool]:
    """Copy a finished experiment and damage it; return what was done, to what, whether it heals."""
    rng = random.Random(f"{SEED} results {number}")
    kind = list(KINDS)[number % len(KINDS)]
    shutil.copytree(finished / kind, target, symlinks=True)
    several = rng.choice([1, 1, 1, 2, 5])
    wanted = rng.random() < 0.8
    names: list[str] = []
    if rng.random() < 0.5:  # then the cells are read once more
        blocks = [path for path in files(target) if path.parent.name in ("fit", "predict")]
        for path in blocks if rng.random() < 0.5 else blocks[-1:]:
            path.unlink()
            names.append(f"remove {path.relative_to(target)}")
    for _ in range(several):
        # every folder as often as another: there are far more cells than tables
        folder = rng.choice(sorted({path.parent for path in files(target)}))
        path = rng.choice(sorted(path for path in files(target) if path.parent == folder))
        how = rng.choice(HEALS if wanted else BLOCKS)
        how = _flip if how is _flip_long and not zipfile.is_zipfile(path) else how
        if path.stat().st_size == 0:
            how = _remove if wanted else _pipe
        how(path, rng)
        names.append(f"{how.__name__[1:]} {path.relative_to(target)}")
    return f"{number} ({kind}: {'; '.join(names)})", target, wanted


def fuzz(finished: Path, folder: Path, numbers: range) -> Tally:
    tally = Tally("damaged results")
    for number in numbers:
        label, target, heals = damage(finished, folder / str(number), number)
        whole = finished / list(KINDS)[number % len(KINDS)]
        alone = random.Random(number).random() < 0.3
        before = fingerprint(target, target / "results")
        if alone:  # a report from damaged results: refused, or right
            report = command("report", "small.yaml", "--jobs", "0", folder=target)
            wrong = "a wrong report" if report.code == 0 and _wrong_tables(target, whole) else ""
            tally.add(f"{label}, report", report, wrong)
        outcome = run(target)
        wrong = [differences(target, whole)] if outcome.code == 0 else []
        # whose an index is, its title says: one without it is left alone
        index = (
            "index.html" in label and "index.html: was not created by thesiskit" in outcome.errors
        )
        if heals and outcome.code != 0 and not index:
            wrong.append(f"is not mended: {outcome.errors[-300:]}")
        after = fingerprint(target, target / "results")
        changed = [name for name in before.keys() | after.keys()
                   if before.get(name) != after.get(name)]  # fmt: skip
        wrong += [f"changed {', '.join(changed)}"] if changed else []
        tally.add(label, outcome, *wrong)
        shutil.rmtree(target)
    return tally


def _wrong_tables(target: Path, whole: Path) -> list[str]:
    tables = (whole / "results/small/tables").glob("*.csv")
    pairs = [(target / path.relative_to(whole), path) for path in tables]
    return [other.name for one, other in pairs
            if "time" not in other.name and not same_table(one, other)]  # fmt: skip


def test_a_few(finished, tmp_path, record_property):
    fuzz(finished, tmp_path, range(7)).check(record_property)


@pytest.mark.slow
def test_two_hundred(finished, tmp_path, record_property):
    fuzz(finished, tmp_path, range(1000, 1240)).check(record_property)
