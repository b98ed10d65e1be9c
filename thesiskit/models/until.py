"""Chains that go on until they agree: when they are judged, by what, and what is kept of them.

| word | name | meaning |
|---|---|---|
| checkpoint | `next_checkpoint` | 200, 300, 450, ... iterations, each half as many again |
| second half | `judged_at`, `kept_at` | of n iterations those above n / 2; only they count |
| R-hat, effective draws | `Until` | what all judged quantities must reach |

Checkpoints, and which iterations are kept, depend on the number of iterations alone.  So results
do not depend on speed, on interruptions, or on where chains run.  What is kept at n iterations
holds all that is kept of them later on, because the space between two iterations that are kept
only grows, by factors of 2.  So a file of draws is enough to go on from.  R-hat and
effective draws are those of Vehtari and others (2021), which `draws.compare_chains` computes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thesiskit.defaults import (
    MOST_UNTIL_ESS,
    RELIABLE_ESS,
    RELIABLE_RHAT,
    UNTIL_ESS,
    UNTIL_FIRST,
    UNTIL_RHAT,
)
from thesiskit.errors import UserError, quoted
from thesiskit.models.draws import Named, compare_chains
from thesiskit.models.priors import whole
from thesiskit.models.running import Arrays, Chain, joined

MOST_CASES = 20  # whose predictions are judged
MOST_JUDGED = 2000  # iterations of each chain at which quantities are judged
FIRST_CHECKPOINT = UNTIL_FIRST
MOST_DRAWS = int(MOST_UNTIL_ESS)  # kept of all chains together,
MOST_NUMBERS = 50_000_000  # in so many numbers,
LEAST_MOST = 40  # but not fewer than half as many of each chain
AT_ONCE = 4_000_000  # numbers of a chain that are held before most are dropped
PREDICTION = "prediction of "  # how names of predictions begin
OF = ("all", "predictions")  # what has to reach the targets
REACHED = ("judged_rhat", "judged_ess", "worst", "lack", "reached", "iterations")  # of `arrays`
OURS = ("judged", "judged_at", "kept_at")


class Until(NamedTuple):
    """The largest R-hat, and the least effective sample size, with which chains are enough.

    least : iterations before which chains are not compared.
    of : what has to reach the targets: "all" that is judged, or "predictions" alone.
    """

    rhat: float = UNTIL_RHAT
    ess: float = UNTIL_ESS
    least: int = UNTIL_FIRST
    of: str = "all"


def as_until(
    value: Any, *, most_rhat: float = RELIABLE_RHAT, least_ess: float = RELIABLE_ESS
) -> Until | None:
    """Return (R-hat, effective draws), perhaps with the rest of Until, as Until; None stays None.

    most_rhat, least_ess : with which chains still support predictions.

    Raises
    ------
    UserError: not a pair of numbers, or targets that chains cannot have or that are not enough.
    """
    if value is None:
        return None
    try:
        first, second, *rest = value
        until = Until(float(first), float(second), *rest)
    except (TypeError, ValueError):
        raise UserError(
            f"until must be a pair of an R-hat and effective draws, such as ({UNTIL_RHAT:g}, "
            f"{UNTIL_ESS:g}), got {quoted(value)}"
        ) from None
    rhat, ess = until.rhat, until.ess
    if not 1 < rhat <= most_rhat:
        raise UserError(
            f"until: R-hat must be above 1 and at most {most_rhat:g}, got {rhat:g}: no chains "
            f"reach 1, and above {most_rhat:g} they do not support predictions"
        )
    if not ess >= least_ess:
        raise UserError(
            f"until: effective draws must be at least {least_ess:g}, got {ess:g}: fewer do not "
            "support predictions"
        )
    if ess > MOST_DRAWS:
        raise UserError(
            f"until: effective draws must be at most {MOST_DRAWS:,}, got {ess:g}: no more draws "
            "are kept"
        )
    if until.of not in OF:
        raise UserError(f"until: of must be {' or '.join(OF)}, got {quoted(until.of)}")
    return until._replace(least=whole("until: least", until.least, UNTIL_FIRST))


def check_run(
    until: Until | None, chains: int, iterations: int, burn_in: int, thin: int = 1
) -> None:
    """Raise UserError for a single chain, and for what chains that are judged do without."""
    if until is None:
        return
    if chains < 2:
        raise UserError("until: R-hat compares chains, and there is one; set chains to 2 or more")
    if iterations < until.least:
        raise UserError(
            f"until: chains are first compared after {until.least} iterations, and the limit "
            f"is {iterations}; set iterations to {until.least} or more"
        )
    if burn_in or thin != 1:
        raise UserError(
            "until: the first half of a run does not count, and what is kept of the other is "
            "spaced evenly; leave out burn_in and thin"
        )


def next_checkpoint(done: int) -> int:
    """Return the first checkpoint after so many iterations."""
    checkpoint = FIRST_CHECKPOINT
    while checkpoint <= done:
        checkpoint = checkpoint * 3 // 2
    return checkpoint


def is_checkpoint(done: int) -> bool:
    """Whether chains are judged after so many iterations."""
    return next_checkpoint(done - 1) == done


def spacing(done: int, most: int) -> int:
    """Return the least power of 2 of which at most `most` multiples are in the second half."""
    space = 1
    while done // space - done // 2 // space > most:
        space *= 2
    return space


def counts(at: np.ndarray, done: int, most: int) -> np.ndarray:
    """Return which iterations `at` (counted from 1) are kept after `done` of them, bool."""
    return (at > done // 2) & (at % spacing(done, most) == 0)


def most_kept(chains: int, numbers: int) -> int:
    """Return the most draws that are kept of each chain, of so many numbers a draw."""
    return max(LEAST_MOST, min(MOST_DRAWS // chains, MOST_NUMBERS // (chains * numbers)))


def spread(count: int, most: int = MOST_CASES) -> np.ndarray:
    """Return up to `most` of the numbers 0..count - 1, evenly spread and ascending."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def names_of_cases(kind: str, place: np.ndarray) -> list[str]:
    """Return what the predictions for cases of a kind, such as test cases, are called, (T,)."""
    return [f"{PREDICTION}{kind} case {i + 1:,}" for i in place]


class Judgement(NamedTuple):
    """What chains have reached: R-hat and effective draws (Q,) of quantities, and their names."""

    until: Until
    rhat: np.ndarray
    ess: np.ndarray
    names: list[str]

    @property
    def compared(self) -> "Judgement":
        """What is left of it if only the quantities remain that have to reach the targets."""
        if self.until.of == "all":
            return self
        kept = [i for i, name in enumerate(self.names) if name.startswith(PREDICTION)]
        return self._replace(
            rhat=self.rhat[kept], ess=self.ess[kept], names=[self.names[i] for i in kept]
        )

    @property
    def enough(self) -> bool:
        """Whether all that is compared reaches both targets."""
        return self._within(self.until.rhat, self.until.ess)

    @property
    def reliable(self) -> bool:
        """Whether all that is compared supports predictions, whatever the targets are."""
        return self._within(RELIABLE_RHAT, RELIABLE_ESS)

    def _within(self, rhat: float, ess: float) -> bool:
        found = self.compared
        return bool((found.rhat <= rhat).all() and (found.ess >= ess).all())

    @property
    def lack(self) -> np.ndarray:
        """How far what is compared is from the targets, (Q,): at most 1 where it reaches them."""
        found = self.compared
        return np.maximum(
            (found.rhat - 1) / (self.until.rhat - 1), self.until.ess / np.maximum(found.ess, 1e-9)
        )

    @property
    def worst(self) -> str:
        """The name of the quantity that is furthest from the targets."""
        return self.compared.names[int(self.lack.argmax())]

    def arrays(self, done: int) -> Arrays:
        """Return what tables need: the worst R-hat, the least effective draws, and the rest."""
        those = self.compared
        found = (
            those.rhat.max(), those.ess.min(), self.worst, self.lack.max(), self.enough, done,
        )  # fmt: skip
        return {name: np.array(value) for name, value in zip(REACHED, found, strict=True)}


@dataclass(frozen=True)
class Rule:
    """How long chains run: what `running.run` asks of it.

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

    def watched(self, chain: Chain) -> "Watched":
        """Return a chain that keeps no more than it has to."""
        return Watched(self, chain)

    def next_checkpoint(self, done: int) -> int:
        """Return the iteration at which chains are judged next."""
        return next_checkpoint(done)

    def trimmed(self, part: Arrays, done: int) -> Arrays:
        """Return draws of consecutive iterations without those that do not count any more."""
        judged = counts(part["judged_at"], done, MOST_JUDGED)
        kept = counts(part["kept_at"], done, self.most)
        chosen = {"judged": judged, "judged_at": judged, "kept_at": kept}
        chosen |= dict.fromkeys(self.kept, kept)
        return {
            name: values[chosen[name]] if name in chosen and not chosen[name].all() else values
            for name, values in part.items()
        }

    def enough(self, drawn: Sequence[Sequence[Arrays]], done: int) -> bool:
        """Whether chains stop after so many iterations; drawn has the parts of each chain."""
        if not is_checkpoint(done) or done < self.until.least:
            return False
        judged = [np.concatenate([one["judged"] for one in parts]) for parts in drawn]
        return self.judge([{"judged": one} for one in judged]).enough

    def judge(self, drawn: Sequence[Arrays]) -> Judgement:
        """Return what the chains have reached."""
        values = np.stack([one["judged"] for one in drawn])
        return Judgement(self.until, *compare_chains(values), self.names)


class Watched:
    """A chain of which few draws are kept, and of whose iterations quantities are."""

    def __init__(self, rule: Rule, chain: Chain):
        self.rule, self.chain = rule, chain

    @property
    def done(self) -> int:
        """How many iterations it has done."""
        return self.chain.done

    def state(self) -> Arrays:
        """Return everything that the next iteration depends on."""
        return self.chain.state()

    def restore(self, state: Arrays) -> None:
        """Set the chain to a state."""
        self.chain.restore(state)

    def advance(self, iterations: int) -> Arrays:
        """Run some iterations; return judged quantities, draws that may be kept, and the rest."""
        rule, parts = self.rule, []
        while iterations > 0:
            few = min(iterations, max(1, AT_ONCE // rule.numbers))
            iterations -= few
            drawn = self.chain.advance(few)
            done = self.chain.done
            at = np.arange(done - few, done) + 1
            judged, kept = counts(at, done, MOST_JUDGED), counts(at, done, rule.most)
            mine = {name: one[judged] for name, one in drawn.items() if name not in rule.sums}
            parts.append(
                {
                    name: values[kept].astype(rule.kept[name]) if name in rule.kept else values
                    for name, values in drawn.items()
                }
                | {"judged": rule.quantities(mine), "judged_at": at[judged], "kept_at": at[kept]}
            )
        return joined(parts, rule.sums)


# ---- what files of draws have of it ----


def judged_state(drawn: Sequence[Arrays]) -> Arrays:
    """Return what is stored of chains besides their draws, in the form of `running.run`."""
    return {f"draws-{c}-{name}": one[name] for c, one in enumerate(drawn) for name in OURS}


def as_named(state: Arrays, found: Judgement) -> tuple[Named, Named]:
    """Return judged quantities by chain, and what they reached, as variables of ArviZ data."""
    chains = sum(name.endswith("-judged") for name in state)
    judged = np.stack([state[f"draws-{c}-judged"] for c in range(chains)])
    return {"judged": (("quantity",), judged)}, {
        "judged_at": (("judged_draw",), state["draws-0-judged_at"]),
        "kept_at": (("kept_draw",), state["draws-0-kept_at"]),
        "quantity_name": (("quantity",), np.array(found.names)),
        "quantity_rhat": (("quantity",), found.rhat),
        "quantity_ess": (("quantity",), found.ess),
    }


def from_named(arrays: Arrays) -> Arrays:
    """Return `judged_state` from the arrays of a file; nothing of chains of a fixed length."""
    if "judged" not in arrays:
        return {}
    return judged_state([arrays | {"judged": one} for one in arrays["judged"]])
