"""The nodes at which rho_j is integrated out, and what the kept features say of each.

T_j is integrated out on one ladder of values of rho_j, which all rho share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from thesiskit.models.normal.discards import effect_density, s_range
from thesiskit.models.normal.screening import FSelection
from thesiskit.models.normal.settings import Settings

STEP = 0.36  # of log rho_j; smaller where c is large
DROP = 24.0  # nodes end where the density of T_j is below exp(-24)
FAR_DROP = 40.0  # on the other side it falls much faster
FAR = 3.0  # so far above log rho, nodes begin to be rarer


@dataclass(frozen=True)
class Nodes:
    """Values of rho_j, and the weights by which each of some rows (c, rho) averages over them.

    ratio : (M,), 0 first; then a lattice, then the values of rho where T_j is 1.
    weight : (rows, M - 1), for the nodes above 0.
    lattice : how many nodes the lattice has.
    """

    ratio: np.ndarray
    weight: np.ndarray
    lattice: int

    @classmethod
    def of(cls, settings: Settings, classes: int, rows: np.ndarray | None = None) -> Nodes:
        """Return the nodes for features of some number of classes.

        rows : numbers in the table of all (c, rho), c by c; by default all of them.
        """
        everything = np.arange(len(settings.effect_shapes) * len(settings.ratio))
        shape, place = np.divmod(everything if rows is None else rows, len(settings.ratio))
        log_ratio = np.log(settings.ratio)[place]
        c = settings.shapes[shape]
        alone = np.isinf(c)
        nodes, weight = _lattice(log_ratio[~alone], c[~alone], classes)
        single, which = np.unique(log_ratio[alone], return_inverse=True)
        both = np.zeros((len(c), len(nodes) + len(single)))
        both[~alone, : len(nodes)] = weight
        both[alone, len(nodes) + which] = 1
        return cls(np.append(0.0, np.exp(np.append(nodes, single))), both, len(nodes))


def _lattice(log_ratio: np.ndarray, c: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values of log rho_j (M,) and weights (rows, M) of the trapezoid rule.

    It is a rule in v, log rho_j = v + exp(v - far): about even up to `far`, and with ever longer
    steps beyond, where only the long tail of T_j is left.
    """
    if not len(c):
        return np.empty(0), np.empty((0, 0))
    narrowest = np.sqrt(special.polygamma(1, (c.max() + classes - 1) / 2))
    step = min(STEP, 0.85 * float(narrowest))
    ends = np.array([s_range(one, drop)[end] for one in (c.min(), c.max())
                     for drop, end in ((FAR_DROP, 0), (DROP, 1))])  # fmt: skip
    low, high = log_ratio.min() + ends.min(), min(log_ratio.max() + ends.max(), 600.0)
    far = log_ratio.max() + FAR
    last = far + np.log(max(1.0, high - far))
    v = step * np.arange(np.floor(low / step), np.ceil(last / step) + 1)
    stretch = np.exp(v - far)
    density = effect_density(v + stretch - log_ratio[:, None], c[:, None])
    return v + stretch, step * (1 + stretch) * density


@dataclass(frozen=True)
class Between:
    """What a feature's class means say of each rho_j, (k, M) each.

    mean : m, their mean with the weights r_g.
    squares : Q, their weighted sum of squares about m.
    log_factor : 1/2 sum log(r_g / n_g) - 1/2 log R.
    """

    mean: np.ndarray
    squares: np.ndarray
    log_factor: np.ndarray

    @classmethod
    def of(cls, selection: FSelection, ratio: np.ndarray) -> Between:
        """Return them for the kept features, at the nodes ratio (M,)."""
        counts, means = selection.counts, selection.means
        if len(counts) and (counts == counts[0]).all():
            counts = counts[:1]  # without missing values all features share them
        shape = (len(counts), len(ratio))
        total, log_factor = np.zeros(shape), np.zeros(shape)
        mean = np.zeros((len(means), len(ratio)))
        r = [n[:, None] / (1 + ratio * n[:, None]) for n in counts.T.astype(float)]
        for g, one in enumerate(r):
            total += one
            log_factor -= 0.5 * np.log1p(ratio * counts[:, g, None])
            mean += one * means[:, g, None]
        mean /= total
        squares = np.zeros_like(mean)
        for g, one in enumerate(r):
            squares += one * (means[:, g, None] - mean) ** 2
        return cls(mean, squares, log_factor - 0.5 * np.log(total))


def predictive(
    counts: np.ndarray, means: np.ndarray, ratio: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the location and v of a new value in each class, (M, G) each, and Q, (M,).

    counts, means (M, G), or (G,) where they are the same for all; ratio (M,) are values of rho_j.
    The density of a value x is proportional to v^(-1/2) (A + W + Q + (x - location)^2 / v)^-power.
    """
    ratio = ratio[:, None]
    r = counts / (1 + ratio * counts)
    total = r.sum(axis=1, keepdims=True)
    middle = (r * means).sum(axis=1, keepdims=True) / total
    share = ratio * r
    v = 1 + ratio / (1 + ratio * counts) + (1 - share) ** 2 / total
    squares = (r * (means - middle) ** 2).sum(axis=1)
    return share * means + (1 - share) * middle, v, squares


@dataclass(frozen=True)
class Evidence:
    """Marginal likelihoods of the kept features at some (a, b), relative to the largest of each.

    by_node : (k, M), at every node.
    averaged : (k, rows), averaged over T_j.
    """

    by_node: np.ndarray
    averaged: np.ndarray

    @classmethod
    def of(
        cls, selection: FSelection, nodes: Nodes, between: Between, variance: np.ndarray
    ) -> Evidence:
        """Return the marginal likelihoods at (a, b)."""
        a, b = variance
        power = (a + selection.counts.sum(axis=1) - 1) / 2
        spread = a * b + selection.within[:, None] + between.squares
        log = between.log_factor - power[:, None] * np.log(spread)
        by_node = np.exp(log - log.max(axis=1, keepdims=True))
        return cls(by_node, by_node[:, 1:] @ nodes.weight.T)
