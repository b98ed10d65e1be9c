"""Markov chains: run in threads, saved and continued, judged, compared, and their draws as files.

Chains run in blocks of iterations.  Between blocks the whole state of a chain, with that of its
generator, is a dict of arrays.  So a run that was stopped continues with the draws that it would
have had without the stop.

Chains may run until they agree:

| word | name | meaning |
|---|---|---|
| checkpoint | `next_checkpoint` | 200, 300, 450, ... iterations, each half as many again |
| second half | `judged_at`, `kept_at` | of n iterations those above n / 2; only they count |
| R-hat, effective draws | `Until` | what all judged quantities must reach |

Checkpoints, and which iterations are kept, depend on the number of iterations alone.  So results
do not depend on speed, on interruptions, or on where chains run.  What is kept at n iterations
holds all that is kept of them later on, because the space between two iterations that are kept
only grows, by factors of 2.  So a file of draws is enough to go on from.  R-hat and
effective draws are those of Vehtari and others (2021), which `compare_chains` computes.
"""

import json
import os
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from thesiskit import defaults
from thesiskit.blocks import Block
from thesiskit.errors import UserError, quoted

FIRST_BLOCK = 1  # iterations; later blocks take about BLOCK_SECONDS
BLOCK_SECONDS = 1.0
# between saves of an unfinished run; more suits a slow file system
SAVE_SECONDS = float(os.environ.get("THESISKIT_SAVE_SECONDS", "5"))
SAVE_SHARE = 20  # and at least so often the time that a save takes
MOST_PARTS = 50  # blocks of a chain that a rule looks at, each by itself
MOST_SAMPLES = 20  # whose predictions are judged
MOST_JUDGED = 2000  # iterations of each chain at which quantities are judged
MOST_DRAWS = int(defaults.MOST_UNTIL_ESS)  # kept of all chains together,
MOST_NUMBERS = 50_000_000  # in so many numbers,
LEAST_MOST = 40  # but not fewer than half as many of each chain
AT_ONCE = 4_000_000  # numbers of a chain that are held before most are dropped
REACHED = ("judged_rhat", "judged_ess", "worst", "lack", "reached", "iterations")  # of `arrays`
OURS = ("judged", "judged_at", "kept_at")
Arrays = dict[str, np.ndarray]
Named = dict[str, tuple[tuple[str, ...], np.ndarray]]  # dimensions and values of variables
# Not empty: runs that can be saved are, and raise Stopped.  It has no lock, as an event has, for
# which the handler of a second signal would wait for ever while that of the first has it.
stopping: list[int] = []


class Stopped(Exception):
    """Raised when a run was asked to stop; its chains have been saved."""


class MarkovChain(ABC):
    """A Markov chain with its generator, which counts its iterations.

    place : the arrays that the next iteration depends on, which updates change in place.
    identity : what chains must have in common to be continued; None where nothing says so.
    """

    place: Arrays

    def __init__(self, rng: np.random.Generator, identity: dict[str, object] | None = None):
        self.rng, self.identity, self.done = rng, identity, 0

    @abstractmethod
    def advance(self, iterations: int) -> Arrays:
        """Run some iterations, and return the draws of each."""

    def state(self) -> Arrays:
        """Return everything that the next iteration depends on."""
        identity = {} if self.identity is None else {"model": np.array(json.dumps(self.identity))}
        return {name: values.copy() for name, values in self.place.items()} | {
            "done": np.array(self.done),
            "generator": np.array(json.dumps(self.rng.bit_generator.state)),
            **identity,
        }

    def restore(self, state: Arrays) -> None:
        """Set the chain to a state."""
        for name, values in self.place.items():
            values[:] = state[name]
        self.done = int(state["done"])
        self.rng.bit_generator.state = json.loads(str(state["generator"]))


# ---- how well chains have to agree ----


class Until(NamedTuple):
    """The largest R-hat, and the least effective sample size, with which chains are enough."""

    rhat: float = defaults.UNTIL_RHAT
    ess: float = defaults.UNTIL_ESS


def as_until(
    value: Any,
    *,
    most_rhat: float = defaults.RELIABLE_RHAT,
    least_ess: float = defaults.RELIABLE_ESS,
) -> Until | None:
    """Return (R-hat, effective draws) as Until; None stays None.

    most_rhat, least_ess : with which chains still support predictions.

    Raises
    ------
    UserError: not a pair of numbers, or targets that chains cannot have or that are not enough.
    """
    if value is None:
        return None
    try:
        rhat, ess = map(float, value)
    except (TypeError, ValueError):
        raise UserError(
            "until must be a pair of an R-hat and effective draws, such as "
            f"({defaults.UNTIL_RHAT:g}, {defaults.UNTIL_ESS:g}), got {quoted(value)}"
        ) from None
    if not 1 < rhat <= most_rhat:
        raise UserError(
            f"until: R-hat must be above 1 and at most {most_rhat:g}, got {rhat:g}: no chains "
            f"reach 1, and above {most_rhat:g} predictions are unreliable"
        )
    if not ess >= least_ess:
        raise UserError(
            f"until: effective draws must be at least {least_ess:g}, got {ess:g}: with fewer, "
            "predictions are unreliable"
        )
    if ess > MOST_DRAWS:
        raise UserError(
            f"until: effective draws must be at most {MOST_DRAWS:,}, got {ess:g}: more draws are "
            "not stored"
        )
    return Until(rhat, ess)


def check_run(
    until: "Until | UntilBlock | None",
    chains: int, iterations: int, burn_in: int, thin: int = 1, block: str = "",
) -> None:  # fmt: skip
    """Raise UserError for chains of which nothing is kept, and for what `until` cannot have.

    With `until`, iterations is a limit, and burn_in 0 and thin 1 stand for themselves.
    block : the block of a config that has these settings, with a point at its end.
    """
    if until is None:
        if burn_in + thin > iterations:
            raise UserError(
                f"of {iterations} iterations none remains after burn_in {burn_in}"
                f"{f' with thin {thin}' * (thin > 1)}. Fix: use more iterations"
            )
        return
    fixed = {f"{block}burn_in": burn_in != 0, f"{block}thin": thin != 1}
    if keys := " and ".join(key for key in fixed if fixed[key]):
        raise UserError(
            f"until: the second half of the iterations is kept, regardless of {keys}. Fix: remove "
            f"{keys}, or remove until"
        )
    if chains < 2:
        raise UserError(
            f"until: R-hat compares chains, and there is one. Fix: set {block}chains to 2 or "
            f"more, or "
            "remove until"
        )
    first = defaults.UNTIL_FIRST
    if iterations < first:
        raise UserError(
            f"until: chains are first compared after {first} iterations, and the limit is "
            f"{iterations}. Fix: set {block}iterations to {first} or more, or remove until"
        )


def next_checkpoint(iteration: int) -> int:
    """Return the first checkpoint after so many iterations."""
    checkpoint = defaults.UNTIL_FIRST
    while checkpoint <= iteration:
        checkpoint = checkpoint * 3 // 2
    return checkpoint


def counts(at: np.ndarray, iteration: int, most: int) -> np.ndarray:
    """Return which iterations `at` (counted from 1) are kept after `done` of them, bool.

    They are in the second half, and multiples of the least power of 2 that leaves at most `most`.
    """
    space = 1
    while iteration // space - iteration // 2 // space > most:
        space *= 2
    return (at > iteration // 2) & (at % space == 0)


def most_kept(chains: int, numbers: int) -> int:
    """Return the most draws that are kept of each chain, of so many numbers a draw."""
    return max(LEAST_MOST, min(MOST_DRAWS // chains, MOST_NUMBERS // (chains * numbers)))


def spread(count: int, most: int = MOST_SAMPLES) -> np.ndarray:
    """Return up to `most` of the numbers 0..count - 1, evenly spread and ascending."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def judged_samples(rows: np.ndarray, kind: str) -> tuple[np.ndarray, list[str]]:
    """Return places of some distinct rows, and what predictions for them are called, (T,) each.

    kind : what the rows are, such as test.
    """
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    place = first[spread(len(first))]
    return place, [f"prediction of {kind} sample {i + 1:,}" for i in place]


# ---- the block `until` of a config ----


class UntilBlock(Block):
    """How well chains have to agree before they stop."""

    rhat: Annotated[float, Field(strict=True, gt=1, le=defaults.RELIABLE_RHAT)] = (
        defaults.UNTIL_RHAT
    )
    """Largest R-hat at convergence. R-hat is 1 for chains that agree; above 1.1 (mixtures: 1.05)
    predictions are unreliable."""
    ess: Annotated[
        float, Field(strict=True, ge=defaults.RELIABLE_ESS, le=defaults.MOST_UNTIL_ESS)
    ] = defaults.UNTIL_ESS
    """Smallest number of effective draws at convergence, of all chains together: at least 40
    (mixtures: 100) and at most 1,000."""

    @property
    def targets(self) -> Until:
        """R-hat and effective draws, as models take them."""
        return Until(self.rhat, self.ess)


# ---- what chains have reached ----


class Judgement(NamedTuple):
    """What chains have reached: R-hat and effective draws (Q,) of quantities, and their names."""

    until: Until
    rhat: np.ndarray
    ess: np.ndarray
    names: list[str]

    @property
    def enough(self) -> bool:
        """Whether all that is compared reaches both targets."""
        return self._within(self.until.rhat, self.until.ess)

    @property
    def reliable(self) -> bool:
        """Whether all that is compared supports predictions, whatever the targets are."""
        return self._within(defaults.RELIABLE_RHAT, defaults.RELIABLE_ESS)

    def _within(self, rhat: float, ess: float) -> bool:
        return bool((self.rhat <= rhat).all() and (self.ess >= ess).all())

    @property
    def lack(self) -> np.ndarray:
        """How far the quantities are from the targets, (Q,): at most 1 where they reach them."""
        too_wide = (self.rhat - 1) / (self.until.rhat - 1)
        return np.maximum(too_wide, self.until.ess / np.maximum(self.ess, 1e-9))

    @property
    def worst(self) -> str:
        """The name of the quantity that is furthest from the targets."""
        return self.names[int(self.lack.argmax())]

    def arrays(self, iteration: int) -> Arrays:
        """Return what tables need: the worst R-hat, the least effective draws, and the rest."""
        best, lack = (self.rhat.max(), self.ess.min()), self.lack.max()
        values = *best, self.worst, lack, self.enough, iteration
        return {name: np.array(value) for name, value in zip(REACHED, values, strict=True)}


@dataclass(frozen=True)
class Rule:
    """How long chains run, and what is kept of them.

    until : the targets.
    quantities : of draws (I, ...) by name, what is judged, (I, Q); names : of the quantities.
    kept : the arrays of draws that are thinned, and the types in which they are kept.
    chains : how many; numbers : of those that are thinned, in an iteration of a chain.
    sums : the arrays that are counts.
    """

    until: Until
    quantities: Callable[[Arrays], np.ndarray]
    names: list[str]
    kept: Mapping[str, type]
    chains: int
    numbers: int
    sums: tuple[str, ...] = ()

    @property
    def most(self) -> int:
        """The most draws that are kept of a chain; more than half as many are."""
        return most_kept(self.chains, self.numbers)

    def advance(self, chain: MarkovChain, iterations: int) -> Arrays:
        """Run a chain; return judged quantities, draws that may be kept, and the rest."""
        parts = []
        while iterations > 0:
            n_iterations = min(iterations, max(1, AT_ONCE // self.numbers))
            iterations -= n_iterations
            draws, iteration = chain.advance(n_iterations), chain.done
            at = np.arange(iteration - n_iterations, iteration) + 1
            judged = counts(at, iteration, MOST_JUDGED)
            rows = counts(at, iteration, self.most)
            drawn = {name: draws[name][judged] for name in draws if name not in self.sums}
            judged_arrays = {"judged": self.quantities(drawn), "judged_at": at[judged]}
            parts.append(
                {
                    name: values[rows].astype(self.kept[name]) if name in self.kept else values
                    for name, values in draws.items()
                }
                | judged_arrays
                | {"kept_at": at[rows]}
            )
        return joined(parts, self.sums)

    def trimmed(self, parts: list[Arrays], iteration: int) -> list[Arrays]:
        """Return the blocks of a chain without draws that do not count any more."""
        if len(parts) > MOST_PARTS:  # else there would be more to look at with every block
            parts = [joined(parts, self.sums)]
        trimmed = []
        for part in parts:
            is_judged = counts(part["judged_at"], iteration, MOST_JUDGED)
            is_kept = counts(part["kept_at"], iteration, self.most)
            rows = {"judged": is_judged, "judged_at": is_judged, "kept_at": is_kept}
            rows |= dict.fromkeys(self.kept, is_kept)
            less = {name: part[name][mask] for name, mask in rows.items() if not mask.all()}
            trimmed.append(part | less)
        return trimmed

    def enough(self, draws: Sequence[Sequence[Arrays]], iteration: int) -> bool:
        """Whether chains stop after so many iterations; drawn has the parts of each chain."""
        if next_checkpoint(iteration - 1) != iteration:
            return False
        return self.judge(
            [{"judged": np.concatenate([part["judged"] for part in parts])} for parts in draws]
        ).enough

    def judge(self, draws: Sequence[Arrays]) -> Judgement:
        """Return what the chains have reached."""
        values = np.stack([arrays["judged"] for arrays in draws])
        return Judgement(self.until, *compare_chains(values), self.names)


# ---- running ----


def check_saved(saved: Arrays, chains: int, iterations: int) -> None:
    """Raise UserError if `saved` has another number of chains, or more iterations."""
    stored = sum(name.startswith("state-") and name.endswith("-generator") for name in saved)
    if stored != chains:
        raise UserError(f"there are {stored} stored chains, not {chains}")
    if int(saved["done"]) > iterations:
        raise UserError(
            f"the stored chains have done {int(saved['done'])} iterations, more than "
            f"{iterations}. Fix: set at least as many"
        )


def run(
    chains: Sequence[MarkovChain],
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
    parts: list[list[Arrays]] = [[] for _ in chains]
    iteration = 0
    if saved:
        iteration = int(saved["done"])
        for c, chain in enumerate(chains):
            chain.restore(marked(saved, f"state-{c}-"))
            parts[c] = [marked(saved, f"draws-{c}-")]
    last_saved, pause = time.monotonic(), SAVE_SECONDS
    block = FIRST_BLOCK
    while iteration < iterations and not (rule and rule.enough(parts, iteration)):
        most = min(iterations, next_checkpoint(iteration)) if rule else iterations
        block = min(block, most - iteration)
        started = time.monotonic()
        blocks = threads(jobs).map(
            lambda chain, n=block: rule.advance(chain, n) if rule else chain.advance(n), chains
        )
        for part, draws in zip(parts, blocks, strict=True):
            part.append(draws)
        iteration += block
        if rule:
            parts = [rule.trimmed(part, iteration) for part in parts]
        now = time.monotonic()
        block = max(1, int(block * np.clip(BLOCK_SECONDS / max(now - started, 1e-3), 0.2, 20)))
        stop = bool(stopping)
        if save and (stop or now - last_saved > pause) and iteration < iterations:
            save(states(chains, iteration) | numbered([joined(part, sums) for part in parts]))
            if stop:
                raise Stopped
            last_saved = time.monotonic()
            pause = max(SAVE_SECONDS, SAVE_SHARE * (last_saved - now))  # large states take long
    return [joined(part, sums) for part in parts]


def states(chains: Sequence[MarkovChain], iteration: int) -> Arrays:
    """Return where chains stand, in the form of `run`'s `saved`."""
    return {"done": np.array(iteration)} | numbered([chain.state() for chain in chains], "state")


def numbered(of_chains: Sequence[Arrays], kind: str = "draws") -> Arrays:
    """Return arrays of chains in the form of `run`'s `saved`: each named by kind and chain."""
    return {
        f"{kind}-{c}-{name}": values
        for c, arrays in enumerate(of_chains)
        for name, values in arrays.items()
    }


def marked(arrays: Arrays, mark: str) -> Arrays:
    """Return the arrays whose names begin with a mark, by the rest of their names."""
    return {n.removeprefix(mark): v for n, v in arrays.items() if n.startswith(mark)}


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


# ---- comparing chains ----


def compare_chains(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R-hat and effective sample size, (Q,) each, of (C, D, Q) draws.

    A single chain is cut into halves.  A quantity that no chain ever changes counts as known.
    """
    from arviz_stats.base import array_stats  # seconds: only where chains are compared

    still = np.ptp(values, axis=(0, 1)) <= 1e-12 * np.abs(values).max(axis=(0, 1))
    total = values.shape[0] * values.shape[1]
    if len(values) == 1:
        values = values[:, values.shape[1] % 2 :].reshape(2, -1, values.shape[2])
    rhat, ess = np.full(len(still), np.inf), np.zeros(len(still))
    if values.shape[1] >= 4:
        with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            rhat = np.asarray(array_stats.rhat(values, chain_axis=0, draw_axis=1))
            ess = np.asarray(array_stats.ess(values, chain_axis=0, draw_axis=1))
    apart = ~np.isfinite(rhat)  # each chain is constant, and they differ
    rhat, ess = np.where(apart, np.inf, rhat), np.where(apart, 0.0, ess)
    return np.where(still, 1.0, rhat), np.where(still, float(total), ess)


# ---- files of draws ----


class DrawGroups(NamedTuple):
    """Draws and what describes them, in groups of variables as ArviZ has them.

    groups : of variables by name; one that has the name of its dimension is a coordinate.
    """

    groups: dict[str, Named]
    attributes: dict[str, object]

    @classmethod
    def of_draws(
        cls, groups: dict[str, Named], diagnostics: Named, attributes: dict[str, object]
    ) -> "DrawGroups":
        """Return groups whose variables have the dimensions chain, draw, ..., and diagnostics."""
        named: dict[str, Named] = {}
        for name, group in groups.items():
            shape = next(iter(group.values()))[1].shape
            named[name] = {
                key: (("chain", "draw", *dims), values) for key, (dims, values) in group.items()
            }
            for dimension, size in zip(("chain", "draw"), shape, strict=False):
                named[name][dimension] = ((dimension,), np.arange(size))
        return cls(named | {"diagnostics": diagnostics}, attributes)

    def to_xarray(self) -> Any:
        """Return the groups as an xarray DataTree."""
        try:
            import xarray  # the import takes half a second
        except ImportError:
            raise ImportError(
                "draws are returned as an xarray DataTree, and xarray is not installed. "
                "Fix: pip install 'thesiskit[arviz]'"
            ) from None
        datasets = {name: xarray.Dataset(dict(group)) for name, group in self.groups.items()}
        tree = xarray.DataTree.from_dict(datasets)
        tree.attrs.update(self.attributes)
        return tree


def named_state(
    state: Arrays,
    dimensions: Mapping[str, tuple[str, ...]],
    groups: dict[str, Named],
    judgement: Judgement | None,
) -> Named:
    """Return where chains stand, each by chain, as variables with their dimensions.

    judgement : what chains reached, if they had to agree; `groups` get the quantities judged.
    """
    chains = sum(name.endswith("-generator") for name in state)
    by_chain = [marked(state, f"state-{c}-") for c in range(chains)]
    arrays: Named = {"done": ((), state["done"])} | {
        f"state_{name}": (
            ("chain", *dimensions.get(name, ())),
            np.array([values[name] for values in by_chain]),
        )
        for name in by_chain[0]
    }
    if judgement is None:
        return arrays
    stacked = np.stack([state[f"draws-{c}-judged"] for c in range(chains)])
    groups["judged"] = {"judged": (("quantity",), stacked)}
    return arrays | {
        "judged_at": (("judged_draw",), state["draws-0-judged_at"]),
        "kept_at": (("kept_draw",), state["draws-0-kept_at"]),
        "quantity_name": (("quantity",), np.array(judgement.names)),
        "quantity_rhat": (("quantity",), judgement.rhat),
        "quantity_ess": (("quantity",), judgement.ess),
    }


def from_named(arrays: Arrays, draws: Sequence[Arrays]) -> Arrays:
    """Return draws, states and what is judged in the form of `run`'s `saved`, from a file's arrays.

    drawn : the draws of each chain.
    """
    by_chain = marked(arrays, "state_")
    place = [{name: values[c] for name, values in by_chain.items()} for c in range(len(draws))]
    if "judged" in arrays:  # else chains of a fixed length
        at = {name: arrays[name] for name in ("judged_at", "kept_at")}
        of_chains = [at | {"judged": values} for values in arrays["judged"]]
        draws = [part | more for part, more in zip(draws, of_chains, strict=True)]
    return {"done": arrays["done"]} | numbered(place, "state") | numbered(draws)


def unmixed(reliable: bool | np.bool_ | np.ndarray, rhat: float, ess: float) -> str:
    """Say why the chains of a method do not support its predictions; nothing if they do."""
    if reliable:
        return ""
    return (
        f"its chains have not mixed (R-hat {rhat:.2f}, effective draws {ess:.0f}). Fix: use more "
        "iterations"
    )
