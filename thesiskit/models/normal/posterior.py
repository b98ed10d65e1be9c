"""The posterior of rho, c and pi given the kept features and what is known of the others.

The variances' (a, b) are those that make the kept features most probable; W alone would be too
small, because features with a small W are selected.  They are found by the EM algorithm: its latent
quantities are (c, rho, pi) and rho_j of each feature, averaged over by the same quadrature.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize, special

from thesiskit.models.normal.discards import averaged_tails, log_lower
from thesiskit.models.normal.nodes import Between, Evidence, Nodes
from thesiskit.models.normal.screening import FSelection
from thesiskit.models.normal.settings import Settings

LEAST_A, MOST_A = 0.02, 200.0
ROUNDS = 50
SETTLED = 1e-4  # change of log a and log b
NO_SHARE = 1e-9  # a node of less probability says nothing of (a, b)
LIGHT = 1e-9  # points of less probability are not looked at while (a, b) moves
SKIPPED = 1e-5  # predictions skip points that together have this probability


@dataclass(frozen=True)
class Posterior:
    """The posterior: a probability for each point (c, rho, pi).

    Attributes
    ----------
    shapes : (C,) the values of c, infinite where T_j is 1.
    ratio : (R,) the values of rho.
    pi : (J,) the values of pi; 1 alone where all features are relevant.
    log_discard : (C, R) log P(F <= threshold) of one relevant feature, or the mean over those left
        out if they differ; zeros where nothing was left out, or it is not corrected for.
    log_joint : (C, R, J) log probability of each point; their logsumexp is 0.
    variance : (2,) a and b.
    """

    settings: Settings
    selection: FSelection
    nodes: Nodes
    between: Between
    log_discard: np.ndarray
    log_joint: np.ndarray
    variance: np.ndarray

    @property
    def shapes(self) -> np.ndarray:
        """The values of c, (C,)."""
        return self.settings.shapes

    @property
    def ratio(self) -> np.ndarray:
        """The values of rho, (R,)."""
        return np.array(self.settings.ratio)

    @property
    def pi(self) -> np.ndarray:
        """The values of pi, (J,)."""
        return self.settings.pi_points

    @property
    def log_pi(self) -> np.ndarray:
        """Log probability of each pi, (J,)."""
        return np.logaddexp.reduce(self.log_joint, axis=(0, 1))

    @cached_property
    def evidence(self) -> Evidence:
        """Marginal likelihoods of the kept features."""
        return Evidence.of(self.selection, self.nodes, self.between, self.variance)

    @cached_property
    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of `Nodes.weight`, places of pi, and log probabilities of the points to predict at.

        In the order of pi, then of the rows.
        """
        log_joint = self.log_joint.reshape(-1, len(self.pi))
        probability = np.exp(log_joint.reshape(-1))
        order = np.argsort(probability, kind="stable")
        heavy = np.zeros(len(order), dtype=bool)
        heavy[order[np.cumsum(probability[order]) > SKIPPED]] = True
        j, row = np.nonzero(heavy.reshape(log_joint.shape).T)
        return row, j, log_joint[row, j]

    def irrelevance(self, row: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return h, the probability that a kept feature is not relevant, (k, .), at some points."""
        pi, evidence = self.pi[j], self.evidence
        without = (1 - pi) * evidence.by_node[:, :1]
        return without / (without + pi * evidence.averaged[:, row])

    @cached_property
    def relevance(self) -> np.ndarray:
        """The posterior probability that each kept feature is relevant, (k,)."""
        row, j, log_probability = self.points
        probability = np.exp(log_probability)
        irrelevant = self.irrelevance(row, j) @ (probability / probability.sum())
        return np.clip(1 - irrelevant, 0.0, 1.0)


def fit(selection: FSelection, settings: Settings, *, correct: bool = True) -> Posterior:
    """Fit to the kept features; with `correct`, condition on the F of the others being small.

    If no feature was left out, both give the same posterior.
    """
    settings.class_weights(len(selection.class_counts))  # refuses other numbers of classes
    nodes = Nodes.of(settings, len(selection.class_counts))
    between = Between.of(selection, nodes.ratio)
    log_factor, log_discard = _left_out(selection, settings, correct)
    if settings.variance is not None:
        variance = np.array(settings.variance, dtype=float)
    else:
        variance = _estimate_variance(selection, settings, nodes, between, log_factor)
    evidence = Evidence.of(selection, nodes, between, variance)
    log_joint = _normalised(log_factor + _log_likelihood(evidence, settings.pi_points))
    return Posterior(
        settings, selection, nodes, between, log_discard, log_joint.reshape(
            len(settings.effect_shapes), len(settings.ratio), -1
        ), variance,
    )  # fmt: skip


def restore(
    selection: FSelection,
    settings: Settings,
    *,
    log_discard: np.ndarray,
    log_joint: np.ndarray,
    variance: np.ndarray,
) -> Posterior:
    """Return the posterior that `fit` gave, from the arrays that were stored."""
    nodes = Nodes.of(settings, len(selection.class_counts))
    between = Between.of(selection, nodes.ratio)
    return Posterior(
        settings, selection, nodes, between, log_discard, log_joint, np.asarray(variance, float)
    )


def _left_out(
    selection: FSelection, settings: Settings, correct: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return log P(all left out are weak), (C R, J), and log A of one relevant feature, (C, R)."""
    pi, ratio = settings.pi_points, np.array(settings.ratio)
    shape = (len(settings.effect_shapes), len(ratio))
    found = np.zeros((shape[0] * shape[1], len(pi)))
    relevant = np.zeros(shape)
    rows = selection.left_out if correct else selection.left_out[:0]
    for row in rows:
        counts, copies = row[:-1], int(row[-1])
        none = averaged_tails(counts, selection.threshold, np.zeros(1), None)
        each = [averaged_tails(counts, selection.threshold, ratio, c)
                for c in settings.effect_shapes]  # fmt: skip
        lower, upper = (np.array([one[side] for one in each]) for side in (0, 1))
        relevant += copies / selection.n_dropped * log_lower(lower, upper)
        lower, upper = ((1 - pi) * none[side] + pi * whole.reshape(-1, 1)
                        for side, whole in ((0, lower), (1, upper)))  # fmt: skip
        found += copies * log_lower(lower, upper)
    return found, relevant


def _log_likelihood(evidence: Evidence, pi: np.ndarray, rows=slice(None)) -> np.ndarray:
    """Return the log likelihood of points, up to a constant, (C R, J)."""
    none, averaged = evidence.by_node[:, :1], evidence.averaged[:, rows]
    found = np.empty((averaged.shape[1], len(pi)))
    with np.errstate(divide="ignore"):
        for j, one in enumerate(pi.tolist()):
            found[:, j] = np.log((1 - one) * none + one * averaged).sum(axis=0)
    return found


def _normalised(log: np.ndarray) -> np.ndarray:
    return log - special.logsumexp(log)


def _estimate_variance(
    selection: FSelection,
    settings: Settings,
    nodes: Nodes,
    between: Between,
    log_factor: np.ndarray,
) -> np.ndarray:
    """Return (a, b) that maximise the probability of the kept features, (2,)."""
    if not len(selection.selected):
        return np.ones(2)
    pi = settings.pi_points
    cases = selection.counts.sum(axis=1)
    sizes = (selection.within + between.squares[:, 0]) / np.maximum(1, cases - 1)
    found = np.log([5.0, 5.0 * np.median(sizes)])  # log a and log ab
    # every second value of rho and pi is enough here
    rows, columns = np.arange(0, len(log_factor), 2), np.arange(len(pi) - 1, -1, -2)
    for _ in range(ROUNDS):
        a, ab = np.exp(found)
        evidence = Evidence.of(selection, nodes, between, np.array([a, ab / a]))
        log = log_factor[np.ix_(rows, columns)] + _log_likelihood(evidence, pi[columns], rows)
        probability = np.exp(_normalised(log))
        heavy = probability > LIGHT
        rows, columns = rows[heavy.any(axis=1)], columns[heavy.any(axis=0)]
        probability = probability[np.ix_(heavy.any(axis=1), heavy.any(axis=0))]
        shares = _shares(evidence, nodes, pi[columns], rows, probability)
        last, found = found, _best_variance(selection, between, shares, found)
        if np.abs(found - last).max() < SETTLED:
            break
    a, ab = np.exp(found)
    return np.array([a, ab / a])


def _shares(evidence: Evidence, nodes: Nodes, pi, rows, probability) -> np.ndarray:
    """Return the posterior probability of each node of rho_j, (k, M)."""
    none, averaged = evidence.by_node[:, 0], evidence.averaged[:, rows]
    irrelevant = np.zeros(len(none))
    per_row = np.zeros(averaged.shape)
    for j, one in enumerate(pi.tolist()):
        chance = probability[:, j] / ((1 - one) * none[:, None] + one * averaged)
        irrelevant += (1 - one) * none * chance.sum(axis=1)
        per_row += one * chance
    shares = evidence.by_node * np.column_stack([np.zeros(len(none)), per_row @ nodes.weight[rows]])
    shares[:, 0] = irrelevant
    return shares / shares.sum(axis=1, keepdims=True)


def _best_variance(
    selection: FSelection, between: Between, shares: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Return log a and log ab that maximise the expected log likelihood.

    With A = a b, V = W + Q and n = N - 1, that of a feature is

        lgamma((a + n) / 2) - lgamma(a / 2) + a / 2 log A - (a + n) / 2 log(A + V).
    """
    n = selection.counts.sum(axis=1) - 1.0
    feature, node = np.nonzero(shares > NO_SHARE)
    share = shares[feature, node]
    spread = selection.within[feature] + between.squares[feature, node]
    numbers, copies = np.unique(n, return_counts=True)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        half, big = np.exp(x[0]) / 2, np.exp(x[1])
        power = share * (half + n[feature] / 2)
        log_total = np.log(big + spread)
        log_norm = copies @ (special.gammaln(half + numbers / 2) - special.gammaln(half))
        rise = copies @ (special.digamma(half + numbers / 2) - special.digamma(half))
        value = log_norm + len(n) * half * x[1] - power @ log_total
        slope = np.array([half * (rise + len(n) * x[1] - share @ log_total),
                          len(n) * half - power @ (big / (big + spread))])  # fmt: skip
        return -value, -slope

    bounds = [np.log([LEAST_A, MOST_A]), (None, None)]
    return optimize.minimize(loss, start, jac=True, method="SLSQP", bounds=bounds).x
