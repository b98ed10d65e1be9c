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
from thesiskit.models.normal.posterior import Between, Evidence, Nodes, Posterior
from thesiskit.models.normal.screening import FSelection

CASES = 64  # test cases predicted together: their products stay in a cache
CLOSEST = 2.0**-53  # to 0 that a probability comes
EIGHT = 8  # numbers that the kernel computes at once
NO_WEIGHT = 1e-10  # nodes of less probability, at every point, are left out


@dataclass(frozen=True)
class Predictive:
    """Predictive densities of the kept features, as `multiply_densities` takes them.

    Attributes
    ----------
    rows : rows of `Nodes.weight`, (c, rho), of which some point has weight.
    log_weight : (J, R) log probabilities of the points, of each pi; R is a multiple of 8, and rows
        beyond those above have none.
    offset : (k + 1,) multiples of 8: where the nodes of each feature begin, the first without
        effect.  Nodes that fill the last eight have no weight.
    power : (k,).
    log_factor, mean, inverse : (G, M).
    spread : (M,).
    weight : (M, R) probabilities of the nodes of a relevant feature.
    irrelevant : (k, J, R).
    """

    rows: np.ndarray
    log_weight: np.ndarray
    offset: np.ndarray
    power: np.ndarray
    log_factor: np.ndarray
    mean: np.ndarray
    inverse: np.ndarray
    spread: np.ndarray
    weight: np.ndarray
    irrelevant: np.ndarray

    @classmethod
    def of(cls, posterior: Posterior) -> "Predictive":
        """Return the densities at the posterior's points."""
        row, j, log_probability = posterior.points
        rows, at_row = np.unique(row, return_inverse=True)
        pis, at_pi = np.unique(j, return_inverse=True)
        shape = len(pis), -(-len(rows) // EIGHT) * EIGHT
        log_weight = np.full(shape, -np.inf)
        log_weight[at_pi, at_row] = log_probability
        irrelevant = np.zeros((len(posterior.selection.selected), *shape))
        for place, pi in enumerate(pis):
            irrelevant[:, place, : len(rows)] = posterior.irrelevance(rows, pi)
        a, b = posterior.variance
        selection = posterior.selection
        nodes = Nodes.of(posterior.settings, len(selection.class_counts), rows)
        between = Between.of(selection, nodes.ratio)
        evidence = Evidence.of(selection, nodes, between, posterior.variance)
        feature, node, offset, weight = _used_nodes(nodes, evidence, shape[1])
        n = selection.counts.sum(axis=1)
        spread = a * b + selection.within[feature] + between.squares[feature, node]
        location, v = _locations(selection, between, nodes.ratio, feature, node)
        log_factor = -0.5 * np.log(v) + ((a + n[feature] - 1) / 2) * np.log(spread)
        return cls(
            rows, log_weight, offset, (a + n) / 2,
            np.ascontiguousarray(log_factor), np.ascontiguousarray(location),
            np.ascontiguousarray(1 / v), spread, weight, irrelevant,
        )  # fmt: skip


def _used_nodes(
    nodes: Nodes, evidence: Evidence, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return feature and node (M,) of the nodes that have weight, their offsets, and weights.

    Each feature has a multiple of EIGHT: those that fill up are nodes without effect or weight.
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
    weight = np.zeros((offset[-1], width))
    mine, place = np.nonzero(used)
    at = offset[mine] + 1 + (np.cumsum(used, axis=1) - 1)[mine, place]
    node[at] = place + 1
    weight[at, : len(weights)] = weights.T[place] * by_node[mine, place][:, None] / averaged[mine]
    return feature, node, offset, weight


def _locations(
    selection: FSelection, between: Between, ratio: np.ndarray, feature, node
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and v of the densities of some features at some nodes, (G, M) each."""
    ratio = ratio[node]
    counts = selection.counts[feature].T.astype(float)
    r = counts / (1 + ratio * counts)
    share = ratio * r
    middle = between.mean[feature, node]
    location = share * selection.means[feature].T + (1 - share) * middle
    v = 1 + ratio / (1 + ratio * counts) + (1 - share) ** 2 / r.sum(axis=0)
    return location, v


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
    densities = Predictive.of(posterior)
    scratch = (
        np.empty(max(np.diff(densities.offset), default=0)),
        np.empty(densities.log_weight.shape[1]),
    )
    point_weight = np.exp(densities.log_weight).reshape(-1)
    found = np.empty((len(features), G))
    for start in range(0, len(features), CASES):
        rows = features[start : start + CASES]
        product = np.ones((len(rows), G, *densities.log_weight.shape))
        log_scale = np.zeros((len(rows), G))
        kernel.multiply_densities(
            rows,
            densities.offset,
            densities.power,
            densities.log_factor,
            densities.mean,
            densities.inverse,
            densities.spread,
            densities.weight,
            densities.irrelevant,
            *scratch,
            product,
            log_scale,
        )
        total = product.reshape(len(rows), G, -1) @ point_weight
        found[start : start + CASES] = np.log(total) + log_scale
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
    weight = np.exp(special.log_softmax(densities.log_weight.reshape(-1)))
    pi, row = np.divmod(
        rng.choice(len(weight), size=cases, p=weight), densities.log_weight.shape[1]
    )
    features = np.empty((cases, len(selection.selected)))
    for j, start in enumerate(densities.offset[:-1]):
        below = np.cumsum(densities.weight[start : densities.offset[j + 1]], axis=0)[:, row]
        relevant = rng.random(cases) >= densities.irrelevant[j, pi, row]
        node = start + relevant * (below < rng.random(cases) * below[-1]).sum(axis=0)
        degrees = 2 * densities.power[j] - 1
        scale = np.sqrt(densities.spread[node] / densities.inverse[y, node] / degrees)
        features[:, j] = densities.mean[y, node] + scale * rng.standard_t(degrees, cases)
    return predict(posterior, features)
