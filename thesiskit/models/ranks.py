"""Simulation-based calibration: the rank of the true value among draws from the posterior.

Of data drawn with parameters from the prior, the rank of a true value among independent draws
from the posterior is uniform, for any function of parameters and training data (Talts and others,
2018).  A test case may serve only if nothing in it depends on the parameters: uniform features
do, features of a case that the model drew do not.

Each kind of experiment says what is compared, as a `Ranks`.  In chapter 2 the case that log odds
are of is like the first training case, its response left out: a test case drawn from the model
would itself say something of the parameters, which draws given the training cases do not know.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

MOST = 99  # draws: the truth has 100 places among them, which 5, 10 and 20 bins divide


class Ranks(NamedTuple):
    """How many of the draws are below the truth, by quantity."""

    counts: dict[str, int]
    draws: int


def compare_last(values: Mapping[str, np.ndarray], rng: np.random.Generator) -> Ranks:
    """Count the others below the last value of each quantity; ties are broken at random."""
    counts = {}
    for name, each in values.items():
        draws, truth = each[:-1], each[-1]
        equal = int((draws == truth).sum())
        counts[name] = int((draws < truth).sum() + rng.integers(0, equal + 1))
    return Ranks(counts, len(draws))


def spaced(count: int) -> np.ndarray:
    """Return which of `count` draws in a row to compare with: MOST of them, evenly spaced."""
    return np.arange(count) if count <= MOST else np.linspace(0, count - 1, MOST).astype(int)


def of_arm(splits: list[Ranks | None]) -> dict[str, np.ndarray]:
    """Return ranks (splits, Q), their names (Q,) and the number of draws; nothing of no ranks."""
    found = [one for one in splits if one is not None]
    if not found:
        return {}
    return {
        "ranks": np.array([list(one.counts.values()) for one in found], dtype=np.int32),
        "rank_draws": np.array(found[0].draws),
        "rank_names": np.array(list(found[0].counts)),
    }


def of_arms(arms: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return what `of_arm` said of each, in one: ranks (arms, splits, Q), rank_draws (arms,).

    An arm without ranks, such as a peer, has 0 draws; nothing if there is no other.
    """
    first = next((one for one in arms if "ranks" in one), None)
    if first is None:
        return {}
    none = {"ranks": np.full_like(first["ranks"], -1), "rank_draws": np.array(0)}
    return {
        "rank_names": first["rank_names"],
        **{name: np.array([(none | one)[name] for one in arms]) for name in none},
    }
