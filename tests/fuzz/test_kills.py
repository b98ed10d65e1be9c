"""Killed at any moment: the same command goes on, and the results have the same bytes."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from commands import patched
from finished import KINDS, SEED, begin, finish_again
from harness import Tally, command, fingerprint
from small import opened

from thesiskit.study.batch import board

QUICK_TO_SAVE = """\
from thesiskit.models import chains
chains.SAVE_SECONDS, chains.BLOCK_SECONDS = 0.02, 0.01
"""
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


def begin_and_kill(folder: Path, seconds: float, how: int) -> bool:
    """Begin a run with two child processes, and end it by a signal; whether it was still there."""
    gone, held = os.pipe()  # held by the child and by the run: closed when both have ended
    child = os.fork()
    os.setpgid(child, 0)  # here and there, whoever comes first
    if child == 0:

        def main(arguments: list[str]) -> None:
            from thesiskit.cli import main as command_line

            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.environ.update(patched(folder.parent / "quick", QUICK_TO_SAVE))
            command_line(arguments, prog_name="thesiskit")

        done = command("run", "small.yaml", "--jobs", "2", folder=folder, main=main)
        os._exit(0 if done.code == 0 else 1)
    os.close(held)
    time.sleep(seconds)
    ended, status = os.waitpid(child, os.WNOHANG)
    alive = ended == 0
    assert status == 0, "it ended by itself, without its results"
    if alive:
        os.killpg(child, how)
        if how != signal.SIGKILL:
            time.sleep(0.1)
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.read(gone, 1)  # the run may end later than its parent, and has the folder until then
    os.close(gone)
    return alive


def fuzz(finished: Path, folder: Path, numbers: range) -> Tally:
    tally = Tally("kills")
    for number in numbers:
        rng = random.Random(f"{SEED} kills {number}")
        kind = list(KINDS)[number % len(KINDS)]
        target = folder / str(number)
        begin(finished, kind, target)
        before = fingerprint(target)
        said, kills = [], 0
        for _ in range(rng.choice([1, 1, 2, 3])):
            seconds = rng.uniform(0.02, 1.5)
            how = rng.choice(SIGNALS)
            killed = begin_and_kill(target, seconds, how)
            kills += killed
            said.append(f"{how.name} after {seconds:.3f} s" + ("" if killed else " (done)"))
        outcome, wrong = finish_again(target, finished / kind)
        for log in target.glob(".*"):  # of the command that was killed
            log.unlink()
        rows = board(opened(target / "small.yaml", target / "results"))
        left = {row.state for row in rows} - {"done"}
        changed = fingerprint(target, target / "results") != before
        tally.add(
            f"{number} ({kind}: {'; '.join(said)})", outcome, wrong,
            f"cells that are {', '.join(left)}" if left else "",
            "changed its surroundings" * changed,
        )  # fmt: skip
        tally.counts["kills"] += kills
        shutil.rmtree(target)
    kills = tally.counts.pop("kills")
    print(f"kills: {kills} processes ended by a signal")
    assert kills  # else nothing was cut short
    return tally


def test_a_few(finished, tmp_path, record_property):
    fuzz(finished, tmp_path, range(2, 5)).check(record_property)


@pytest.mark.slow
def test_fifty(finished, tmp_path, record_property):
    fuzz(finished, tmp_path, range(100, 160)).check(record_property)
