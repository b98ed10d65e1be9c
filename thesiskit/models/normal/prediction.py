"""Predictions of the normal model for test cases, and for cases that it expects itself.

Given rho_j, a new value of class g has a Student t density with a + N - 1 degrees of freedom,
s = rho_j r_g, mean s m_g + (1 - s) m and squared scale (a b + W + Q) v / (a + N - 1), where
v = 1 + rho_j / (1 + rho_j n_g) + (1 - s)^2 / R.  At a point (c, rho, pi) it is averaged over rho_j
by the posterior probabilities of the nodes; the products over features are averaged over points.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from thesiskit._kernels import normal as kernel  # type: ignore[attr-defined]
from thesiskit.errors import DataError
from thesiskit.models.naive_bayes import CLOSEST
from thesiskit.models.normal.nodes import Between, Evidence, Nodes, predictive
from thesiskit.models.normal.posterior import Posterior

PRODUCTS = 1 << 15  # of test cases that are predicted together: they stay in a cache
SUPER = 4096  # and of which products are held
TABLES = 1 << 22  # numbers in the tables of features that are multiplied together
STEP = 0.25  # of tables, in standard deviations within classes: logs are exact to 2e-9
EIGHT = 8  # numbers that the kernel computes at once
NO_WEIGHT = 1e-10  # nodes of less probability, at every point, are left out


@dataclass(frozen=True)
class Predictive:
    """Predictive densities of the kept features, as `multiply_densities` takes them.

    Attributes
    ----------
    row : (P,) the row of each point, of those (c, rho) of which some point has weight; points with
        one pi are in runs of a multiple of EIGHT rows that follow each other.
    log_weight : (P,) log probabilities of the points; those that fill up have none.
    offset : (k + 1,) multiples of 8: where the nodes of each feature begin, the first without
        effect.  Nodes that fill the last eight have no weight.
    power : (k,).
    log_factor, mean, inverse : (G, M).
    spread : (M,).
    node, by_node : (M,) the row of each node in `prior`, and what the kept feature says of it.
    prior : (., R) the probabilities of nodes before the data.
    averaged : (k, R) what the kept features say, averaged over nodes.
    irrelevant : (k, P).
    middle, step : (k,).
    """

    row: np.ndarray
    log_weight: np.ndarray
    offset: np.ndarray
    power: np.ndarray
    log_factor: np.ndarray
    mean: np.ndarray
    inverse: np.ndarray
    spread: np.ndarray
    node: np.ndarray
    by_node: np.ndarray
    prior: np.ndarray
    averaged: np.ndarray
    irrelevant: np.ndarray
    middle: np.ndarray
    step: np.ndarray

    @classmethod
    def of(cls, posterior: Posterior) -> "Predictive":
        """Return the densities at the posterior's points."""
        row, j, log_probability = posterior.points
        rows, at_row = np.unique(row, return_inverse=True)
        pis, at_pi = np.unique(j, return_inverse=True)
        width = -(-len(rows) // EIGHT) * EIGHT
        log_weight = np.full((len(pis), width), -np.inf)
        log_weight[at_pi, at_row] = log_probability
        blocks = log_weight.reshape(len(pis), -1, EIGHT)
        pi, block = np.nonzero(np.isfinite(blocks).any(axis=2))
        irrelevant = np.zeros((len(posterior.selection.selected), len(pis), width))
        for place, one in enumerate(pis):
            irrelevant[:, place, : len(rows)] = posterior.irrelevance(rows, one)
        irrelevant = irrelevant.reshape(len(irrelevant), len(pis), -1, EIGHT)[:, pi, block]
        a, b = posterior.variance
        selection = posterior.selection
        nodes = Nodes.of(posterior.settings, len(selection.class_counts), rows)
        between = Between.of(selection, nodes.ratio)
        evidence = Evidence.of(selection, nodes, between, posterior.variance)
        feature, node, offset = _used_nodes(nodes, evidence)
        n = selection.counts.sum(axis=1)
        spread = a * b + selection.within[feature] + between.squares[feature, node]
        means, counts = selection.means[feature], selection.counts[feature]
        location, v, _ = predictive(counts, means, nodes.ratio[node])
        log_factor = -0.5 * np.log(v) + (((a + n[feature] - 1) / 2) * np.log(spread))[:, None]
        return cls(
            (EIGHT * block[:, None] + np.arange(EIGHT)).reshape(-1),
            blocks[pi, block].reshape(-1), offset, (a + n) / 2,
            np.ascontiguousarray(log_factor.T), np.ascontiguousarray(location.T),
            np.ascontiguousarray(1 / v.T), spread, np.maximum(node - 1, 0),
            np.where(node > 0, evidence.by_node[feature, node], 0.0),
            _filled_up(nodes.weight.T, width, 0.0), _filled_up(evidence.averaged, width, 1.0),
            irrelevant.reshape(len(irrelevant), -1),
            between.mean[:, 0].copy(), STEP * np.sqrt((a * b + selection.within) / (a + n)),
        )  # fmt: skip

    @property
    def runs(self) -> np.ndarray:
        """Runs of points whose rows follow each other: first, after the last, first row, (., 3)."""
        breaks = np.flatnonzero(np.diff(self.row) != 1) + 1
        start = np.append(0, breaks)
        return np.column_stack([start, np.append(breaks, len(self.row)), self.row[start]])

    def weight(self, j: int) -> np.ndarray:
        """Return the probabilities of the nodes of a kept feature that is relevant, (., R)."""
        mine = slice(self.offset[j], self.offset[j + 1])
        return self.prior[self.node[mine]] * self.by_node[mine, None] / self.averaged[j]

    def log_densities(self, features: np.ndarray) -> np.ndarray:
        """Return the log density of cases (T, k) in each class, (T, G), less one constant."""
        T, G, k, R = len(features), len(self.mean), len(self.power), self.prior.shape[1]
        log_scale, fallen = np.zeros((T, G)), np.zeros((T, G))
        most = max(np.diff(self.offset), default=0)
        scratch = np.empty((most, R)), np.empty(most), np.empty(R)
        few = max(1, TABLES // (G * kernel.TABLE * R))
        cases = max(1, PRODUCTS // (G * len(self.log_weight)))
        point_weight, runs = np.exp(self.log_weight), self.runs
        for start in range(0, T, SUPER):
            rows = slice(start, start + SUPER)
            product = np.ones((len(log_scale[rows]), G, len(point_weight)))
            for first in range(0, k, few):
                some = slice(first, min(first + few, k))
                table = np.empty((some.stop - first, G, kernel.TABLE, R))
                known = np.zeros(table.shape[:3], dtype=np.uint8)
                for block in range(0, len(product), cases):
                    mine = slice(block, block + cases)
                    kernel.multiply_densities(
                        np.ascontiguousarray(features[rows][mine, some]),
                        self.offset[first : some.stop + 1],
                        self.power[some],
                        self.log_factor,
                        self.mean,
                        self.inverse,
                        self.spread,
                        self.node,
                        self.by_node,
                        self.prior,
                        self.averaged[some],
                        runs,
                        self.irrelevant[some],
                        self.middle[some],
                        self.step[some],
                        table,
                        known,
                        *scratch,
                        product[mine],
                        log_scale[rows][mine],
                        fallen[rows][mine],
                    )
            log_scale[rows] += np.log(product @ point_weight)
        return log_scale


def _filled_up(table: np.ndarray, width: int, value: float) -> np.ndarray:
    """Return a table with columns of some value more, so that there are `width`."""
    found = np.full((len(table), width), value)
    found[:, : table.shape[1]] = table
    return found


def _used_nodes(nodes: Nodes, evidence: Evidence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return feature and node (M,) of the nodes that have weight, and their offsets.

    Each feature begins with the node without effect, 0, and has a multiple of EIGHT: those that
    fill up are 0 too.
    """
    weights, averaged, by_node = nodes.weight, evidence.averaged, evidence.by_node[:, 1:]
    most = np.empty_like(by_node)
    for column in range(weights.shape[1]):
        most[:, column] = (weights[:, column] / averaged).max(axis=1)
    used = most * by_node > NO_WEIGHT
    size = -(-(1 + used.sum(axis=1)) // EIGHT) * EIGHT
    offset = np.append(0, np.cumsum(size)).astype(np.intp)
    feature = np.repeat(np.arange(len(size)), size)
    node = np.zeros(offset[-1], dtype=np.intp)
    mine, place = np.nonzero(used)
    node[offset[mine] + 1 + (np.cumsum(used, axis=1) - 1)[mine, place]] = place + 1
    return feature, node, offset


def predict_log(posterior: Posterior, features: np.ndarray) -> np.ndarray:
    """Return the log probability of each class, (T, G), for rows of the kept features, (T, k).

    The features are in the order of `selected`; NaN is a missing value, which has no term.

    Raises DataError for another number of columns, and infinite values.
    """
    features = np.ascontiguousarray(features, dtype=float)
    k, G = len(posterior.selection.selected), len(posterior.selection.class_counts)
    if features.ndim != 2 or features.shape[1] != k:
        raise DataError(f"{k} features were kept; got a table of shape {features.shape}")
    if np.isinf(features).any():
        case, feature = np.argwhere(np.isinf(features))[0]
        raise DataError(f"case {case + 1} has an infinite value in kept feature {feature + 1}")
    prior = posterior.settings.class_weights(G) + posterior.selection.class_counts
    found = Predictive.of(posterior).log_densities(features)
    found += np.log(prior)
    return found - special.logsumexp(found, axis=1, keepdims=True)


def predict(posterior: Posterior, features: np.ndarray) -> np.ndarray:
    """Return the probability of each class, (T, G), for rows of the kept features, (T, k)."""
    return as_probability(predict_log(posterior, features))


def as_probability(log_probability: np.ndarray) -> np.ndarray:
    """Return probabilities that stay CLOSEST away from 0, and so below 1."""
    return np.clip(np.exp(log_probability), CLOSEST, 1 - CLOSEST)


def promise(posterior: Posterior, rng: np.random.Generator, cases: int = 2000) -> np.ndarray:
    """Return class probabilities for new cases drawn as the posterior expects them, (cases, G).

    The mean of 1 less the largest is the error that the model promises where no case is tested.
    """
    selection = posterior.selection
    G = len(selection.class_counts)
    chance = posterior.settings.class_weights(G) + selection.class_counts
    y = rng.choice(G, size=cases, p=chance / chance.sum())
    densities = Predictive.of(posterior)
    weight = np.exp(special.log_softmax(densities.log_weight))
    point = rng.choice(len(weight), size=cases, p=weight)
    row = densities.row[point]
    features = np.empty((cases, len(selection.selected)))
    for j, start in enumerate(densities.offset[:-1]):
        below = np.cumsum(densities.weight(j), axis=0)[:, row]
        relevant = rng.random(cases) >= densities.irrelevant[j, point]
        node = start + relevant * (below < rng.random(cases) * below[-1]).sum(axis=0)
        degrees = 2 * densities.power[j] - 1
        scale = np.sqrt(densities.spread[node] / densities.inverse[y, node] / degrees)
        features[:, j] = densities.mean[y, node] + scale * rng.standard_t(degrees, cases)
    return predict(posterior, features)
