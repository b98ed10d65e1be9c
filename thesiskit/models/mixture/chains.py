"""Markov chains of the mixture model: starts, states and draws."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import local

import numpy as np

from thesiskit._kernels.mixture_collapsed import Collapsed
from thesiskit._kernels.mixture_theta import WithTheta
from thesiskit.models.mixture.agreement import Probe
from thesiskit.models.mixture.tables import Tables, recent
from thesiskit.models.mixture.target import Target
from thesiskit.models.running import Arrays, after_fork, run
from thesiskit.models.until import OURS, Judgement, Rule, Until

ROUNDS, THETA_UPDATES = 5, 20  # of an iteration of the thesis's sampler
THETA_STEP = 0.1  # half-width of its Metropolis proposal
STARTS = ("random", "responses", "one component", "half the responses")
SUMS = ("table", "exchanged")  # counts: over blocks of iterations they add up
KEPT = {"labels": np.uint8, "point": np.intp, "log_posterior": float}  # with until: thinned


@dataclass(frozen=True)
class Draws:
    """The draws that are kept of chains, and statistics of the sampler.

    labels (C, D, n) and point (C, D, 2), positions of alpha and alpha_0 on their grids,
    log_posterior (C, D), theta (C, D, k + 1) or None where it is integrated out; starts (C,) in
    words; exchanged (C, replicas - 1), fractions of exchanges accepted; hits and misses of the
    table of adjustment factors; iterations that a chain has done; of chains that ran until they
    agree, judgement, what they reached.
    """

    labels: np.ndarray
    point: np.ndarray
    log_posterior: np.ndarray
    theta: np.ndarray | None
    starts: tuple[str, ...]
    exchanged: np.ndarray
    table: tuple[int, int]
    iterations: int
    judgement: Judgement | None = None

    @property
    def flat(self) -> tuple[np.ndarray, ...]:
        """All draws in a row, for `Target.predict`."""
        arrays = [self.labels, self.point] + ([] if self.theta is None else [self.theta])
        return tuple(one.reshape(-1, one.shape[2]) for one in arrays)


def sample(
    target: Target,
    generators: list[np.random.Generator],
    *,
    probe: Probe | None = None,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    jobs: int | None = None,
) -> Draws:
    """Run one chain for each generator, from dispersed labels; the options are those of `run`.

    probe : with settings.until, the cases whose predictions chains have to agree in; unless given,
        training cases.
    """
    numbers = range(len(generators))
    rule = None
    if target.settings.until is not None:
        probe = probe or Probe.of(target)
        rule = Rule(
            Until(*target.settings.until), partial(probe.quantities, target), probe.all_names, KEPT,
            len(generators), target.n, SUMS,
        )  # fmt: skip
    found = run_chains(target, generators, numbers, saved=saved, save=save, jobs=jobs, rule=rule)
    return gather(target, found, None if rule is None else rule.judge(found))


def run_chains(
    target: Target,
    generators: list[np.random.Generator],
    numbers: Sequence[int],
    *,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    jobs: int | None = None,
    rule: Rule | None = None,
) -> list[Arrays]:
    """Run some of the chains, given by their numbers; return the draws that are kept of each.

    rule : with settings.until, when to stop; all chains have to run together then.
    """
    settings = target.settings
    chains = [
        Chain(target, rng, start_of(settings, number))
        for rng, number in zip(generators, numbers, strict=True)
    ]
    found = run(
        chains, settings.iterations, saved=saved, save=save, sums=SUMS, jobs=jobs, rule=rule
    )
    counted = [{"iterations": np.array(chain.done)} for chain in chains]
    return [
        {name: one if rule or name in SUMS else one[settings.burn_in :]
         for name, one in arrays.items()} | count
        for arrays, count in zip(found, counted, strict=True)
    ]  # fmt: skip


def start_of(settings, number: int) -> str:
    """Return the name of the labels that a chain starts from; a single chain starts at random."""
    return STARTS[number % len(STARTS)] if settings.chains > 1 else STARTS[0]


def gather(target: Target, found: list[Arrays], judgement: Judgement | None = None) -> Draws:
    """Return the draws of all chains, joined in their order."""
    settings, done = target.settings, int(found[0]["iterations"])
    others = (*SUMS, *OURS, "iterations")
    kept = {name: np.stack([one[name] for one in found]) for name in found[0] if name not in others}
    # exchanges of powers 0 and 1, 2 and 3, ... are offered in even iterations, the others in odd
    pairs = np.arange(len(target.powers) - 1)
    offers = np.maximum((done + 1 - pairs % 2) // 2, 1)
    hits, misses = np.sum([one["table"] for one in found], axis=0)
    return Draws(
        kept["labels"],
        kept["point"],
        kept["log_posterior"],
        kept.get("theta"),
        tuple(start_of(settings, number) for number in range(len(found))),
        np.stack([one["exchanged"] for one in found]) / offers,
        (int(hits), int(misses)),
        done,
        judgement,
    )


class Shared(local):
    """Tables of each thread, kept from fit to fit."""

    def __init__(self):
        self.tables: dict[tuple, Tables] = {}

    def get(self, n: int, alpha: np.ndarray) -> Tables:
        """Return the tables for n cases and this grid."""
        return recent(self.tables, (n, alpha.tobytes()), lambda: Tables(n, alpha))


SHARED = Shared()
after_fork(lambda: SHARED.tables.clear())


class Chain:
    """One chain: its state, and the kernel that moves it on."""

    def __init__(self, target: Target, rng: np.random.Generator, start: str):
        self.target, self.rng, self.start = target, rng, start
        settings = target.settings
        replicas = len(target.powers)
        starts = [start] + [STARTS[0]] * (replicas - 1)
        self.labels = np.array([start_labels(one, target.response, rng) for one in starts])
        self.point = rng.integers(0, settings.alpha_points, (replicas, 2)).astype(np.intp)
        self.holder = np.arange(replicas)
        self.done = 0
        self.theta = rng.random(target.k + 1) if settings.samples_theta else np.empty(0)

    def state(self) -> dict[str, np.ndarray]:
        """Return all that the next iteration depends on."""
        generator = json.dumps(self.rng.bit_generator.state)
        return {
            "labels": self.labels.copy(),
            "point": self.point.copy(),
            "holder": self.holder.copy(),
            "done": np.array(self.done),
            "theta": self.theta.copy(),
            "generator": np.array(generator),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go back to a state."""
        self.labels[:], self.point[:] = state["labels"], state["point"]
        self.theta[:], self.holder[:] = state["theta"], state["holder"]
        self.done = int(state["done"])
        self.rng.bit_generator.state = json.loads(str(state["generator"]))

    def advance(self, iterations: int) -> dict[str, np.ndarray]:
        """Go on, and return the draws of every iteration and how tables were used."""
        target = self.target
        tables = SHARED.get(target.n, target.settings.alpha)
        discards = None
        if target.left_out is not None:
            discards = tables.discards(
                target.class_counts, target.left_out, target.settings.quadrature
            )
        before = (discards.hits, discards.misses) if discards else (0, 0)
        draws: dict[str, np.ndarray] = {
            "labels": np.empty((iterations, target.n), dtype=np.uint8),
            "point": np.empty((iterations, 2), dtype=np.intp),
            "log_posterior": np.empty(iterations),
            "exchanged": np.zeros(len(self.holder) - 1, dtype=np.int64),
        }
        capsule = self.rng.bit_generator.capsule
        with self.rng.bit_generator.lock:
            if target.settings.samples_theta:
                draws["theta"] = np.empty((iterations, target.k + 1))
                sampler = with_theta(target, discards, self.labels[0], self.theta, self.point[0])
                sampler.run(
                    ROUNDS, THETA_UPDATES, draws["labels"], draws["point"], draws["theta"],
                    draws["log_posterior"], capsule,
                )  # fmt: skip
            else:
                sampler = collapsed(target, tables, discards, self.labels, self.point, self.holder)
                sampler.run(
                    self.done, ROUNDS, draws["labels"], draws["point"], draws["log_posterior"],
                    draws["exchanged"], capsule,
                )  # fmt: skip
        self.done += iterations
        after = (discards.hits, discards.misses) if discards else (0, 0)
        draws["table"] = np.subtract(after, before)
        return draws


def collapsed(target: Target, tables: Tables, discards, labels, point, holder) -> Collapsed:
    """Return the collapsed sampler; it changes labels, point and holder in place."""
    assert labels.shape == (len(target.powers), target.n)
    response_tables = SHARED.get(target.n, target.settings.response_alpha)
    return Collapsed(
        target.bits,
        target.response,
        tables.marginals(np.unique(target.totals)),
        response_tables.marginals(np.array([min(target.class_counts)])),
        discards,
        target.log_prior,
        target.powers,
        labels,
        point,
        holder,
    )


def with_theta(target: Target, discards, labels, theta, point) -> WithTheta:
    """Return the thesis's sampler; it changes labels, theta and point in place.

    Equations post-zi and post-phi-mix, each times the factor adjust-factor-mix.
    """
    settings = target.settings
    return WithTheta(
        np.ascontiguousarray(np.column_stack([target.bits, target.response])),
        target.response,
        settings.alpha,
        settings.response_alpha,
        discards,
        settings.sampler == "thesis",
        THETA_STEP,
        target.log_prior,
        labels,
        theta,
        point,
    )


def start_labels(start: str, response: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels (n,) to start from, by name."""
    n = len(response)
    if start == "responses":
        labels = response.copy()
    elif start == "one component":
        labels = np.zeros(n, dtype=np.uint8)
    elif start == "half the responses":
        labels = np.where(rng.random(n) < 0.5, response, rng.integers(0, 2, n))
    else:
        labels = rng.permutation(np.arange(n) % 2)
    return np.ascontiguousarray(labels, dtype=np.uint8)
