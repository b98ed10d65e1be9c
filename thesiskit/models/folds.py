"""Divisions of samples into folds, and what their left-out samples say."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


def stratified(
    y: np.ndarray, rng: np.random.Generator, folds: int, groups: np.ndarray | None = None
) -> np.ndarray:
    """Divide samples into folds of about equal size, each class by itself, (n,) from 0.

    There are at most as many folds as the most frequent class has samples, or groups, of which each
    stays together.
    """
    if groups is not None:
        return together(groups, y, min(folds, int(independent_samples(y, groups).max())), rng)
    folds = min(folds, int(independent_samples(y).max()))
    fold = np.empty(len(y), dtype=np.int32)
    start = 0  # classes go on where the one before ended, so that folds are equally large
    for g in np.unique(y).tolist():
        samples = rng.permutation(np.flatnonzero(y == g))
        fold[samples] = (start + np.arange(len(samples))) % folds
        start += len(samples)
    return fold


def independent_samples(
    y: np.ndarray, groups: np.ndarray | None = None, classes: int = 0
) -> np.ndarray:
    """Return how many samples each class has, (G,), or in how many groups of samples it is."""
    if groups is not None:
        y = np.unique(np.stack([groups, y]), axis=1)[1]
    return np.bincount(y, minlength=classes)


def numbered(names: Sequence[str]) -> np.ndarray:
    """Return the numbers from 0 of groups by name, (n,); a sample without a name is alone."""
    keys = [name or (place,) for place, name in enumerate(names)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[name] for name in keys])


def together(groups: np.ndarray, y: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Divide groups (n,) of samples, numbers from 0, into folds, (n,) from 0.

    Each class y (n,) is spread as evenly as this allows: evenly to one sample if all groups are of
    one, and so are the sizes.
    """
    n_groups = int(groups.max()) + 1
    counts = np.zeros((n_groups, int(y.max()) + 1))
    np.add.at(counts, (groups, y), 1)
    per_class = np.maximum(counts.sum(axis=0), 1)
    # large groups first, then class by class; what follows fills up what these left uneven
    order = np.lexsort((rng.random(n_groups), counts.argmax(axis=1), -counts.sum(axis=1)))
    fold_counts = np.zeros((folds, counts.shape[1]))
    fold = np.empty(n_groups, dtype=np.int64)
    for group in order:
        crowding = fold_counts @ (counts[group] / per_class)
        fold[group] = np.lexsort((fold_counts.sum(axis=1), crowding))[0]
        fold_counts[fold[group]] += counts[group]
    return fold[groups]


def column_means(table: np.ndarray) -> np.ndarray:
    """Return the mean of each column without NaN, (k,); of a column without any value it is 0."""
    present = ~np.isnan(table)
    return np.where(present, table, 0).sum(axis=0) / np.maximum(1, present.sum(axis=0))


class LossSummary(NamedTuple):
    """The mean of independent excess log losses, its standard error, and the sum of signed ranks.

    The sum is divided by its standard deviation where losses are as often above 0 as below.  Each
    is a number, or an array (splits, A) with a number for each split and method.
    """

    mean: np.ndarray
    error: np.ndarray
    signed_rank: np.ndarray


def summarise_losses(loss: np.ndarray) -> LossSummary:
    """Summarise independent excess log losses; NaN where there are none."""
    loss = loss if len(loss) else np.full(2, np.nan)
    # mean ranks of equal losses, without scipy.stats, which takes half a second to load
    _, place, ties = np.unique(np.abs(loss), return_inverse=True, return_counts=True)
    rank = np.sign(loss) * (ties.cumsum() - (ties - 1) / 2)[place]
    error = loss.std() / np.sqrt(max(1, len(loss) - 1))
    return LossSummary(loss.mean(), error, rank.sum() / max(1, np.sqrt((rank**2).sum())))
