"""A disk that is full at any moment: said in a sentence, and once there is room the run goes on."""

import os
import random
import subprocess
from pathlib import Path

import pytest
from finished import KINDS, SEED, begin, finish_again, run
from harness import Tally

SAID = ("No space left on device", "cannot write results there")


def mounted(folder: Path, kilobytes: int) -> bool:
    """Mount a disk of a size, where that is allowed."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    return not os.geteuid() and not subprocess.run(["mount", *options], check=False).returncode


def fuzz(finished: Path, folder: Path, numbers: range) -> Tally:
    tally = Tally("full disks")
    for number in numbers:
        rng = random.Random(f"{SEED} disks {number}")
        kind = list(KINDS)[number % len(KINDS)]
        target = folder / str(number)
        begin(finished, kind, target)
        needed = sum(path.stat().st_size for path in (finished / kind).rglob("*") if path.is_file())
        kilobytes = rng.choice([4, 8, 16, rng.randint(4, max(5, needed // 1000))])
        if not mounted(target / "results", kilobytes):
            pytest.skip("only root can mount a small disk")
        try:
            first = run(target, *(["--force"] * rng.randint(0, 1)))
            silent = first.code != 0 and not any(said in first.errors for said in SAID)
            label = f"{number} ({kind}: {kilobytes} kB)"
            tally.add(label, first, f"says {first.errors[-200:]}" if silent else "")
            remount = ["mount", "-o", "remount,size=64m", str(target / "results")]
            subprocess.run(remount, check=True)
            tally.add(f"{label}, with room", *finish_again(target, finished / kind))
        finally:
            subprocess.run(["umount", "-l", str(target / "results")], check=True)
    return tally


def test_a_few(finished, tmp_path, record_property):
    fuzz(finished, tmp_path, range(2)).check(record_property)


@pytest.mark.slow
def test_forty(finished, tmp_path, record_property):
    fuzz(finished, tmp_path, range(100, 140)).check(record_property)
