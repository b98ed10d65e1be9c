"""Running several Markov chains in threads, in blocks of iterations.

Between blocks the whole state of a chain, with that of its generator, is a dict of arrays.  So a
run that was stopped continues with the draws that it would have had without the stop.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Protocol

import numpy as np

from thesiskit.errors import UserError

FIRST_BLOCK = 1  # iterations; later blocks take about BLOCK_SECONDS
BLOCK_SECONDS = 1.0
# between saves of an unfinished run; more suits a slow file system
SAVE_SECONDS = float(os.environ.get("THESISKIT_SAVE_SECONDS", "5"))
SAVE_SHARE = 20  # and at least so often the time that a save takes
MOST_PARTS = 50  # blocks of a chain that a rule looks at, each by itself
Arrays = dict[str, np.ndarray]
stopping = threading.Event()  # set: runs that can be saved are, and raise Stopped


class Stopped(Exception):
    """Raised when a run was asked to stop; its chains have been saved."""


class Chain(Protocol):
    """A Markov chain, which holds its own state and generator."""

    @property
    def done(self) -> int:
        """How many iterations it has done."""

    def advance(self, iterations: int) -> Arrays:
        """Run some iterations, and return the draws of each."""

    def state(self) -> Arrays:
        """Return everything that the next iteration depends on."""

    def restore(self, state: Arrays) -> None:
        """Set the chain to a state."""


class Rule(Protocol):
    """How long chains run, and what is kept of them: `until.Rule`."""

    def watched(self, chain: Chain) -> Chain:
        """Return a chain that keeps no more than it has to."""

    def next_checkpoint(self, done: int) -> int:
        """Return the iteration at which chains are judged next."""

    def trimmed(self, part: Arrays, done: int) -> Arrays:
        """Return draws of consecutive iterations without those that do not count any more."""

    def enough(self, drawn: Sequence[Sequence[Arrays]], done: int) -> bool:
        """Whether chains stop after so many iterations; drawn has the parts of each chain."""


def check_saved(saved: Arrays, chains: int, iterations: int) -> None:
    """Raise UserError if `saved` has another number of chains, or more iterations."""
    stored = sum(name.startswith("state-") and name.endswith("-generator") for name in saved)
    if stored != chains:
        raise UserError(f"there are {stored} stored chains, not {chains}")
    if int(saved["done"]) > iterations:
        raise UserError(
            f"the stored chains have done {int(saved['done'])} iterations, more than "
            f"{iterations}; ask for at least as many"
        )


def run(
    chains: Sequence[Chain],
    iterations: int,
    *,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    sums: tuple[str, ...] = (),
    jobs: int | None = None,
    rule: Rule | None = None,
) -> list[Arrays]:
    """Run the chains and return the draws of each: blocks are concatenated, those of `sums` added.

    With a rule, the chains stop when it says so, and `iterations` is the limit.

    `save` is called from time to time.  Its argument can be given as `saved` to a later call, which
    continues from there.  The draws do not depend on when, or whether, that happens, nor on `jobs`,
    how many chains run at the same time (None: one for each core).
    """
    chains = [rule.watched(chain) for chain in chains] if rule else chains
    parts: list[list[Arrays]] = [[] for _ in chains]
    done = 0
    if saved:
        done = int(saved["done"])
        for c, chain in enumerate(chains):
            chain.restore(_within(saved, f"state-{c}-"))
            parts[c] = [_within(saved, f"draws-{c}-")]
    last_saved, pause = time.monotonic(), SAVE_SECONDS
    block = FIRST_BLOCK
    while done < iterations and not (rule and rule.enough(parts, done)):
        block = min(block, (min(iterations, rule.next_checkpoint(done)) if rule else iterations)
                    - done)  # fmt: skip
        started = time.monotonic()
        made = threads(jobs).map(lambda chain, block=block: chain.advance(block), chains)
        for part, one in zip(parts, made, strict=True):
            part.append(one)
        done += block
        if rule:
            parts = [_trimmed(part, done, rule, sums) for part in parts]
        now = time.monotonic()
        block = max(1, int(block * np.clip(BLOCK_SECONDS / max(now - started, 1e-3), 0.2, 20)))
        stop = stopping.is_set()
        if save and (stop or now - last_saved > pause) and done < iterations:
            state = {"done": np.array(done)}
            for c, (chain, part) in enumerate(zip(chains, parts, strict=True)):
                state |= {f"state-{c}-{name}": value for name, value in chain.state().items()}
                drawn = joined(part, sums)
                state |= {f"draws-{c}-{name}": value for name, value in drawn.items()}
            save(state)
            if stop:
                raise Stopped
            last_saved = time.monotonic()
            pause = max(SAVE_SECONDS, SAVE_SHARE * (last_saved - now))  # large states take long
    return [joined(part, sums) for part in parts]


def _within(arrays: Arrays, mark: str) -> Arrays:
    return {n.removeprefix(mark): v for n, v in arrays.items() if n.startswith(mark)}


def _trimmed(part: list[Arrays], done: int, rule: Rule, sums: tuple[str, ...]) -> list[Arrays]:
    """Return the blocks of a chain without draws that do not count any more."""
    if len(part) > MOST_PARTS:  # else there would be more to look at with every block
        part = [joined(part, sums)]
    return [rule.trimmed(one, done) for one in part]


def joined(parts: list[Arrays], sums: tuple[str, ...]) -> Arrays:
    """Return the draws of consecutive blocks as one."""
    return {
        name: np.sum([part[name] for part in parts], axis=0)
        if name in sums
        else np.concatenate([part[name] for part in parts])
        for name in parts[0]
    }


@lru_cache(maxsize=2)
def threads(jobs: int | None = None) -> ThreadPoolExecutor:
    """Return the threads of all chains, which are kept, with their tables, from fit to fit."""
    return ThreadPoolExecutor(jobs or cores())


def cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def after_fork(forget: Callable[[], object]) -> None:
    """Call `forget` in every forked process, which does not have the threads of its parent."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


after_fork(threads.cache_clear)
