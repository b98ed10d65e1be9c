"""The posterior of alpha, and of pi, given the kept features and what is known of the others."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from thesiskit.defaults import ALPHA_PRIOR, CLASS_PRIOR, MOST_POINTS, NAIVE_ALPHA_POINTS, PI
from thesiskit.errors import ThesiskitError, UserError, quoted
from thesiskit.models.gaps import pair_integrals_of
from thesiskit.models.integrals import IRRELEVANT, PairIntegrals, pair_integrals
from thesiskit.models.left_out import LeftOut
from thesiskit.models.naive_bayes.adjustment import log_factor
from thesiskit.models.priors import (
    InverseGamma,
    check_alpha_prior,
    check_class_prior,
    check_pi,
    whole,
)
from thesiskit.models.quadrature import check_rule
from thesiskit.models.selection import Selection

ALPHA_POINTS = 129  # of the adaptive rule for alpha before it is refined
ALPHA_DROP = 30.0  # its grid ends where the posterior of log alpha is exp(-30) of its peak,
ALPHA_END = 25.0  # and is widened while an end is above exp(-25)
ALPHA_LIMIT = 150.0  # of abs log alpha
WEIGHTLESS = 40.0  # points whose log probability is so far below the largest predict nothing: a
# test case moves it by about as much as one of the training cases did


@dataclass(frozen=True)
class Settings:
    """Priors and rules of a fit: equations prior-psi-b to prior-phi-b.

    class_prior is (f_0, f_1); alpha_quadrature is `midpoint` (the thesis's rule, alpha_points
    prior quantiles) or `adaptive` (refined until predictions move by less than 1e-6).  relevant is
    `all`, as in the thesis, or `some`: then each of the values in pi is as probable as the others.
    """

    class_prior: tuple[float, float] = CLASS_PRIOR
    alpha_prior: tuple[float, float] = ALPHA_PRIOR
    alpha_points: int = NAIVE_ALPHA_POINTS
    alpha_quadrature: str = "midpoint"
    quadrature: str = "exact"
    relevant: str = "all"
    pi: tuple[float, ...] = PI

    def __post_init__(self):
        check_class_prior(self.class_prior)
        check_alpha_prior("alpha_prior", self.alpha_prior)
        whole("alpha_points", self.alpha_points, most=MOST_POINTS)
        check_rule(self.quadrature)
        check_pi(self.pi)
        if self.relevant not in ("all", "some"):
            raise UserError(f"relevant must be all or some, got {quoted(self.relevant)}")
        if self.alpha_quadrature not in ("midpoint", "adaptive"):
            raise UserError(
                f"unknown alpha_quadrature {self.alpha_quadrature!r}; choose midpoint or adaptive"
            )

    @property
    def prior(self) -> InverseGamma:
        """The prior of alpha."""
        return InverseGamma(*self.alpha_prior)

    @property
    def pi_points(self) -> np.ndarray:
        """The grid of pi, (J,)."""
        return np.ones(1) if self.relevant == "all" else np.array(self.pi, dtype=float)


@dataclass(frozen=True)
class KeptCounts:
    """Counts of the kept features, by distinct pair, and what is known of the others.

    pairs (D, 2) are the distinct (I0, I1), group (k,) the row of each kept feature, copies (D,)
    how many features share a row; left_out is None where selection is not conditioned on.  Where
    values are missing, present (D, 2) are the cases that have the feature; else it is None.
    """

    class_counts: tuple[int, int]
    pairs: np.ndarray
    group: np.ndarray
    copies: np.ndarray
    left_out: LeftOut | None
    present: np.ndarray | None = None

    @classmethod
    def of(cls, selection: Selection, correct: bool) -> "KeptCounts":
        """Group the kept features of a selection."""
        if selection.ones is None or selection.class_counts is None:
            raise UserError("the naive Bayes model needs binary features and a response of 0 and 1")
        ones = np.asarray(selection.ones, dtype=np.intp)
        if selection.present is not None:
            return cls._of_present(selection, ones, correct)
        width = selection.class_counts[1] + 1
        code, group, copies = np.unique(
            ones[:, 0] * width + ones[:, 1], return_inverse=True, return_counts=True
        )
        return cls(
            selection.class_counts,
            np.stack([code // width, code % width], axis=1),
            group.astype(np.intp),
            copies,
            selection.left_out if correct and selection.n_dropped else None,
        )

    @classmethod
    def _of_present(cls, selection: Selection, ones: np.ndarray, correct: bool) -> "KeptCounts":
        """Group the kept features of a selection with missing values."""
        counts = np.hstack([ones, np.asarray(selection.present, dtype=np.intp)])
        rows, group, copies = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
        assert selection.class_counts is not None
        return cls(
            selection.class_counts,
            rows[:, :2],
            group.reshape(-1).astype(np.intp),
            copies,
            selection.left_out if correct and selection.n_dropped else None,
            rows[:, 2:],
        )

    def cases(self, y: int) -> int | np.ndarray:
        """Return how many cases of class y have the features of a row: (D, 1), or one number."""
        return self.class_counts[y] if self.present is None else self.present[:, y, None]

    def integrals(self, alpha: np.ndarray, quadrature: str) -> PairIntegrals:
        """Return what `pair_integrals` does of each row, (D, K) each."""
        if self.present is None:
            return pair_integrals(self.pairs, self.class_counts, alpha, quadrature)
        return pair_integrals_of(self.pairs, self.present, alpha, quadrature)


@dataclass(frozen=True)
class Posterior:
    """The posterior: a probability for each alpha and pi, and the mean of theta given each alpha.

    Attributes
    ----------
    alpha : (K,) quadrature points.
    pi : (J,) probabilities that a feature is relevant; 1 alone in the thesis's model.
    log_weight : (K,) log of the rule's weight times the prior at each alpha, up to a constant.
    log_discard : (K,) log P(|COR| <= gamma) of one relevant feature, or of what else is known of
        those left out, their mean; zeros where nothing was dropped.
    log_joint : (K, J) log probability of each alpha and pi; their logsumexp is 0.
    integrals : (D, K) each, of each distinct pair of counts, log P(counts), and the posterior means
        of theta and 1 - theta.
    irrelevant : the same for alpha infinite, (D, 1) each; None where all features are relevant.
    """

    settings: Settings
    kept: KeptCounts
    alpha: np.ndarray
    pi: np.ndarray
    log_weight: np.ndarray
    log_discard: np.ndarray
    log_joint: np.ndarray
    integrals: PairIntegrals
    irrelevant: PairIntegrals | None

    @property
    def log_posterior(self) -> np.ndarray:
        """Log probability of each alpha, (K,)."""
        return np.logaddexp.reduce(self.log_joint, axis=1)

    @property
    def log_pi(self) -> np.ndarray:
        """Log probability of each pi, (J,)."""
        return np.logaddexp.reduce(self.log_joint, axis=0)

    @property
    def points(self) -> list[tuple[np.ndarray, int]]:
        """The points that have weight: some of alpha, with each of pi that has any.

        All of them where all features are relevant.
        """
        if self.irrelevant is None:
            return [(np.arange(len(self.alpha)), 0)]
        heavy = self.log_joint > self.log_joint.max() - WEIGHTLESS
        return [(np.flatnonzero(heavy[:, j]), j) for j in range(len(self.pi)) if heavy[:, j].any()]

    @cached_property
    def relevance(self) -> np.ndarray:
        """The posterior probability that each kept feature is relevant, (k,)."""
        if self.irrelevant is None:
            return np.ones(len(self.kept.group))
        found = np.zeros(len(self.kept.pairs))
        for at, j in self.points:
            found += relevant_given(self, at, j) @ np.exp(self.log_joint[at, j])
        return np.minimum(found, 1.0)[self.kept.group]


def relevant_given(posterior: Posterior, at: np.ndarray, j: int) -> np.ndarray:
    """Return r of each distinct pair, (D, len(at)), at some points of alpha and one of pi."""
    assert posterior.irrelevant is not None
    pi = posterior.pi[j]
    if pi == 1:
        return np.ones((len(posterior.kept.pairs), len(at)))
    odds = posterior.integrals.log_marginal[:, at] - posterior.irrelevant.log_marginal
    return special.expit(odds + np.log(pi) - np.log1p(-pi))


def fit(selection: Selection, settings: Settings, *, correct: bool = True) -> Posterior:
    """Fit to the kept features; with `correct`, condition on the dropped features being weak.

    Equations eq-alpha-int2-mod and eq-corfact; with correct=False, eq-alpha-int2.  If no feature
    was dropped, both give the same posterior.
    """
    kept = KeptCounts.of(selection, correct)
    if settings.alpha_quadrature == "midpoint":
        alpha = settings.prior.midpoints(settings.alpha_points)
        return _evaluate(settings, kept, alpha, np.zeros(len(alpha)))
    return _locate_alpha(settings, kept)


def restore(
    selection: Selection,
    settings: Settings,
    *,
    correct: bool,
    alpha: np.ndarray,
    log_weight: np.ndarray,
    log_discard: np.ndarray,
    log_joint: np.ndarray,
) -> Posterior:
    """Return the posterior that `fit` gave, from the arrays that were stored."""
    kept = KeptCounts.of(selection, correct)
    found = _integrals(settings, kept, alpha)
    pi = settings.pi_points
    return Posterior(settings, kept, alpha, pi, log_weight, log_discard, log_joint, *found)


def log_alpha_density(posterior: Posterior) -> np.ndarray:
    """Return the log posterior density of log alpha at the points, (K,).

    Under the midpoint rule each point stands for 1/K of prior probability, so the density is
    K times its probability times alpha p(alpha) (caption of the thesis's figure fig-post-alpha).
    """
    t = np.log(posterior.alpha)
    if posterior.settings.alpha_quadrature == "adaptive":
        return posterior.log_posterior - np.log(t[1] - t[0])
    prior = posterior.settings.prior.log_density(posterior.alpha)
    return posterior.log_posterior + np.log(len(t)) + prior + t


def _integrals(
    settings: Settings, kept: KeptCounts, alpha: np.ndarray
) -> tuple[PairIntegrals, PairIntegrals | None]:
    """Return integrals for relevant features, (D, K) each, and for others, (D, 1) each."""
    if settings.relevant == "all":
        return kept.integrals(alpha, settings.quadrature), None
    found = kept.integrals(np.append(alpha, IRRELEVANT), settings.quadrature)
    K = len(alpha)
    return (
        PairIntegrals(*(np.ascontiguousarray(one[:, :K]) for one in found)),
        PairIntegrals(*(one[:, K:] for one in found)),
    )


def _evaluate(
    settings: Settings, kept: KeptCounts, alpha: np.ndarray, log_weight: np.ndarray
) -> Posterior:
    """Return the posterior on the points alpha, each with the log of its weight times prior."""
    pi = settings.pi_points
    integrals, irrelevant = _integrals(settings, kept, alpha)
    log_discard = np.zeros(len(alpha))
    log_joint = np.repeat(log_weight[:, None], len(pi), axis=1)
    if irrelevant is None:
        log_joint += (kept.copies @ integrals.log_marginal)[:, None]
    else:
        log_joint += _log_mixed(kept, integrals.log_marginal, irrelevant.log_marginal, pi)
    if kept.left_out is not None:
        factor, log_discard = log_factor(kept.left_out, alpha, pi, settings.quadrature)
        log_joint += factor
    if not np.isfinite(log_joint).any():
        remedy = "another alpha_prior" if settings.quadrature == "exact" else "quadrature: exact"
        raise ThesiskitError(f"every alpha has posterior weight 0; use {remedy}")
    log_joint -= np.logaddexp.reduce(log_joint.ravel())
    return Posterior(
        settings, kept, alpha, pi, log_weight, log_discard, log_joint, integrals, irrelevant
    )


def _log_mixed(
    kept: KeptCounts, log_relevant: np.ndarray, log_irrelevant: np.ndarray, pi: np.ndarray
) -> np.ndarray:
    """Return the sum over kept features of log(pi M + (1 - pi) M_0), (K, J)."""
    odds = log_relevant - log_irrelevant
    top = np.maximum(odds, 0)
    relevant, irrelevant = np.exp(odds - top), np.exp(-top)
    base = kept.copies @ (top + log_irrelevant)
    each = [kept.copies @ np.log(one * relevant + (1 - one) * irrelevant) for one in pi]
    return base[:, None] + np.stack(each, axis=1)


def _evaluate_log_scale(settings: Settings, kept: KeptCounts, t: np.ndarray) -> Posterior:
    """The same on an even grid of t = log alpha, where the prior has density alpha p(alpha)."""
    alpha = np.exp(t)
    return _evaluate(settings, kept, alpha, settings.prior.log_density(alpha) + t)


def _locate_alpha(settings: Settings, kept: KeptCounts) -> Posterior:
    """Find the interval of log alpha that holds the posterior, and put an even grid on it.

    The trapezoid rule on such a grid converges faster than any power of its step.
    """
    with np.errstate(divide="ignore"):
        ends = np.log(settings.prior.quantile(np.array([1e-12, 1 - 1e-12])))
    low, high = np.clip(ends, -ALPHA_LIMIT, ALPHA_LIMIT)
    for _ in range(60):
        t = np.linspace(low, high, 33)
        height = _evaluate_log_scale(settings, kept, t).log_posterior
        drop = height.max() - height
        wider = (
            drop[0] < ALPHA_END and low > -ALPHA_LIMIT,
            drop[-1] < ALPHA_END and high < ALPHA_LIMIT,
        )
        if any(wider):  # the prior did not expect what the data say
            width = high - low
            low = max(low - width, -ALPHA_LIMIT) if wider[0] else low
            high = min(high + width, ALPHA_LIMIT) if wider[1] else high
            continue
        inside = np.flatnonzero(drop < ALPHA_DROP)
        low, high = t[max(inside[0] - 1, 0)], t[min(inside[-1] + 1, len(t) - 1)]
        if inside[-1] - inside[0] >= 16:
            return _evaluate_log_scale(settings, kept, np.linspace(low, high, ALPHA_POINTS))
    raise ThesiskitError(
        "the posterior of alpha could not be located; use alpha_quadrature: midpoint"
    )


def refine(posterior: Posterior) -> Posterior:
    """Halve the step of the adaptive rule's grid of log alpha."""
    t = np.log(posterior.alpha)
    finer = np.linspace(t[0], t[-1], 2 * len(t) - 1)
    return _evaluate_log_scale(posterior.settings, posterior.kept, finer)
