"""Draws from the posterior of the normal model, each independent of the others.

Predictions need none of them, for they are integrals; simulation-based calibration does.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from thesiskit.models.normal.nodes import predictive
from thesiskit.models.normal.posterior import Posterior


@dataclass(frozen=True)
class Draws:
    """Draws of rho, pi and c (L,), c infinite where T_j is 1; of each kept feature rho_j (L, k).

    effect : rho_j, 0 where a feature is not relevant.
    """

    ratio: np.ndarray
    pi: np.ndarray
    shape: np.ndarray
    effect: np.ndarray

    @property
    def relevant(self) -> np.ndarray:
        """Which features are relevant, (L, k)."""
        return self.effect > 0


def sample(posterior: Posterior, count: int, rng: np.random.Generator) -> Draws:
    """Return draws from the posterior.

    rho, pi and c are points of their grids.  rho_j is a node of the lattice, moved evenly on the
    log scale to anywhere nearer to it than to its neighbours; where T_j is 1 it is rho itself.
    """
    settings, nodes, evidence = posterior.settings, posterior.nodes, posterior.evidence
    chance = np.exp(posterior.log_joint.reshape(-1))
    drawn = rng.choice(len(chance), size=count, p=chance / chance.sum())
    row, j = np.divmod(drawn, len(posterior.pi))
    c, ratio = np.divmod(row, len(settings.ratio))
    effect = np.zeros((count, len(posterior.selection.selected)))
    # the ends of what each node stands for; one alone stands for itself
    low, high = np.tile(np.log(nodes.ratio[1:]), (2, 1))
    if nodes.lattice:
        middle = (low[1 : nodes.lattice] + low[: nodes.lattice - 1]) / 2
        low[1 : nodes.lattice] = high[: nodes.lattice - 1] = middle
    for place, (one, pi) in enumerate(zip(row.tolist(), j, strict=True)):
        relevant = rng.random(effect.shape[1]) >= posterior.irrelevance(np.array([one]), pi)[:, 0]
        below = np.cumsum(evidence.by_node[:, 1:] * nodes.weight[one], axis=1)
        node = (below < rng.random(len(below))[:, None] * below[:, -1:]).sum(axis=1)
        moved = low[node] + rng.random(len(node)) * (high[node] - low[node])
        effect[place] = np.where(relevant, np.exp(moved), 0)
    return Draws(posterior.ratio[ratio], posterior.pi[j], posterior.shapes[c], effect)


def log_probability(posterior: Posterior, draws: Draws, case: np.ndarray) -> np.ndarray:
    """Return the log probability of each class given each draw, (L, G), for a case (k,).

    Means and variances are integrated out.  A feature that is not relevant, or missing, says
    nothing.
    """
    selection, (a, b) = posterior.selection, posterior.variance
    G = len(selection.class_counts)
    prior = posterior.settings.class_weights(G) + selection.class_counts
    found = np.tile(np.log(prior / prior.sum()), (len(draws.ratio), 1))
    for feature, x in enumerate(np.asarray(case, dtype=float).tolist()):
        at = np.flatnonzero(draws.effect[:, feature])
        if np.isnan(x) or not len(at):
            continue
        counts = selection.counts[feature]
        location, v, squares = predictive(
            counts, selection.means[feature], draws.effect[at, feature]
        )
        spread = (a * b + selection.within[feature] + squares)[:, None]
        power = (a + counts.sum()) / 2
        found[at] -= 0.5 * np.log(v) + power * np.log(1 + (x - location) ** 2 / v / spread)
    return special.log_softmax(found, axis=1)
