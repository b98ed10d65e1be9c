"""The binary naive Bayes model of selected features, with the correction for the selection.

| thesis | name | shape |
|---|---|---|
| f_0, f_1 | `class_prior` | pair |
| a, b | `alpha_prior` | pair |
| N_0, N_1 | `class_counts`; of features with missing values `present` | pair; (D, 2) |
| I_{0,j}, I_{1,j} | distinct ones are `pairs`; `group` has the row of each feature | (D, 2); (k,) |
| alpha at the quadrature points | `alpha` | (K,) |
| E(theta_j given x_j^train, y^train, alpha) | `theta_mean` | (D, K) |
| E(1 - theta_j given the same) | `complement_mean` | (D, K) |
| log P(S given alpha, y^train) / (p - k) | `log_discard` | (K,) |

Sections "Application to Bayesian Naive Bayes Models" (py-b to eq-corfact) and "Computation of the
Adjustment Factor for Naive Bayes Models".  Two facts keep the computation small.  The posterior
depends on a feature only through its pair of counts (I0, I1), so integrals are computed once for
each distinct pair.  The predictive integral eq-jfact is an average of phi-hat, which is linear in
theta, so a prediction needs only the posterior mean of theta:
P(x* = 1) = (alpha E(theta) + I_y) / (alpha + N_y).

A missing value has no term in the likelihood, which is exact under the model where values are
missing whatever they would be.  So N_0 and N_1 differ by feature; a test case has terms of the
features that it has; and the probability that a feature is left out depends on its own N_0 and N_1.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from thesiskit._kernels import naive_bayes as kernel  # type: ignore[attr-defined]
from thesiskit.defaults import ALPHA_PRIOR, CLASS_PRIOR, MOST_POINTS, NAIVE_ALPHA_POINTS
from thesiskit.errors import DataError, ThesiskitError, UserError
from thesiskit.models.gaps import log_discard_of, pair_integrals_of
from thesiskit.models.integrals import PairIntegrals, log_discard_probability, pair_integrals
from thesiskit.models.packed import as_bits, find_missing
from thesiskit.models.priors import InverseGamma, check_alpha_prior, check_class_prior, whole
from thesiskit.models.quadrature import check_rule
from thesiskit.models.selection import Selection

ALPHA_TOLERANCE = 1e-6  # largest move of a prediction in the adaptive rule for alpha
ALPHA_POINTS = 129  # of that rule before it is refined
ALPHA_DROP = 30.0  # its grid ends where the posterior of log alpha is exp(-30) of its peak,
ALPHA_END = 25.0  # and is widened while an end is above exp(-25)
ALPHA_LIMIT = 150.0  # of abs log alpha
CASES = 4096  # test cases predicted together
CLOSEST = 2.0**-53  # to 0 and to 1 that a prediction comes


@dataclass(frozen=True)
class Settings:
    """Priors and rules of a fit.

    class_prior is (f_0, f_1); alpha_quadrature is `midpoint` (the thesis's rule, alpha_points
    prior quantiles) or `adaptive` (refined until predictions move by less than 1e-6).
    """

    class_prior: tuple[float, float] = CLASS_PRIOR
    alpha_prior: tuple[float, float] = ALPHA_PRIOR
    alpha_points: int = NAIVE_ALPHA_POINTS
    alpha_quadrature: str = "midpoint"
    quadrature: str = "exact"

    def __post_init__(self):
        check_class_prior(self.class_prior)
        check_alpha_prior("alpha_prior", self.alpha_prior)
        whole("alpha_points", self.alpha_points, most=MOST_POINTS)
        check_rule(self.quadrature)
        if self.alpha_quadrature not in ("midpoint", "adaptive"):
            raise UserError(
                f"unknown alpha_quadrature {self.alpha_quadrature!r}; choose midpoint or adaptive"
            )

    @property
    def prior(self) -> InverseGamma:
        """The prior of alpha."""
        return InverseGamma(*self.alpha_prior)


@dataclass(frozen=True)
class KeptCounts:
    """Counts of the kept features, by distinct pair, and the number of dropped features.

    pairs (D, 2) are the distinct (I0, I1), group (k,) the row of each kept feature, copies (D,)
    how many features share a row; n_dropped is 0 where selection is not conditioned on.  Where
    values are missing, present (D, 2) are the cases that have the feature, and dropped (., 3) such
    numbers of the features left out, with how many features have them; else they are None.
    """

    class_counts: tuple[int, int]
    pairs: np.ndarray
    group: np.ndarray
    copies: np.ndarray
    n_dropped: int
    gamma_squared: Fraction
    present: np.ndarray | None = None
    dropped: np.ndarray | None = None

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
            selection.n_dropped if correct else 0,
            selection.gamma_squared,
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
            selection.n_dropped if correct else 0,
            selection.gamma_squared,
            rows[:, 2:],
            selection.dropped,
        )

    def cases(self, y: int) -> int | np.ndarray:
        """Return how many cases of class y have the features of a row: (D, 1), or one number."""
        return self.class_counts[y] if self.present is None else self.present[:, y, None]

    def integrals(self, alpha: np.ndarray, quadrature: str) -> PairIntegrals:
        """Return what `pair_integrals` does of each row, (D, K) each."""
        if self.present is None:
            return pair_integrals(self.pairs, self.class_counts, alpha, quadrature)
        return pair_integrals_of(self.pairs, self.present, alpha, quadrature)

    def log_discard(self, alpha: np.ndarray, quadrature: str) -> np.ndarray:
        """Return log P(|COR| <= gamma given alpha) of a dropped feature, the mean of all, (K,)."""
        if self.dropped is None:
            return log_discard_probability(
                *self.class_counts, self.gamma_squared, alpha, quadrature=quadrature
            )
        found = log_discard_of(self.dropped[:, :2], self.gamma_squared, alpha, quadrature)
        return self.dropped[:, 2] @ found / self.n_dropped


@dataclass(frozen=True)
class Posterior:
    """The posterior: a probability for each alpha, and the mean of theta given each alpha.

    Attributes
    ----------
    alpha : (K,) quadrature points.
    log_weight : (K,) log of the rule's weight times the prior at each, up to a constant.
    log_discard : (K,) log P(|COR| <= gamma) of one feature; zeros where nothing was dropped.  With
        missing values, the mean over the dropped features.
    log_posterior : (K,) log probability of each alpha; their logsumexp is 0.
    theta_mean, complement_mean : (D, K) posterior means of theta and 1 - theta for each distinct
        pair of counts.
    """

    settings: Settings
    kept: KeptCounts
    alpha: np.ndarray
    log_weight: np.ndarray
    log_discard: np.ndarray
    log_posterior: np.ndarray
    theta_mean: np.ndarray
    complement_mean: np.ndarray


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
    log_posterior: np.ndarray,
) -> Posterior:
    """Return the posterior that `fit` gave, from the arrays that were stored."""
    kept = KeptCounts.of(selection, correct)
    _, *means = kept.integrals(alpha, settings.quadrature)
    return Posterior(settings, kept, alpha, log_weight, log_discard, log_posterior, *means)


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


def predict(posterior: Posterior, features: np.ndarray) -> np.ndarray:
    """Return P(y* = 1) for each row of the kept features, (T, k) of 0, 1 or NaN (missing) -> (T,).

    Equation eq-unc-pp with eq-jfact.  Probabilities stay 2^-53 away from 0 and 1, so that both
    they and their complements are strictly between.

    Raises DataError for another number of columns, or values that are not 0 or 1.
    """
    return as_probability(predict_log_odds(posterior, features))


def predict_log_odds(posterior: Posterior, features: np.ndarray) -> np.ndarray:
    """Return log P(y* = 1) - log P(y* = 0) for each row of the kept features, (T, k) -> (T,).

    With the adaptive rule for alpha, grids are refined until no probability moves by 1e-6.
    """
    k = len(posterior.kept.group)
    features = np.asarray(features)
    if features.ndim != 2 or features.shape[1] != k:
        raise DataError(f"{k} features were kept; got a table of shape {features.shape}")
    missing = find_missing(features)
    bits = as_bits(features if missing is None else np.where(missing, 0, features))
    if bits is None:
        raise DataError("features must be 0 or 1")
    found = _predict_all(posterior, bits, missing)
    if posterior.settings.alpha_quadrature == "midpoint":
        return found
    for _ in range(12):
        posterior, last = refine(posterior), as_probability(found)
        found = _predict_all(posterior, bits, missing)
        if np.abs(as_probability(found) - last).max(initial=0) < ALPHA_TOLERANCE:
            return found
    raise ThesiskitError("the integral over alpha did not settle in 12 refinements")


def _predict_all(
    posterior: Posterior, bits: np.ndarray, missing: np.ndarray | None = None
) -> np.ndarray:
    """Return log odds at the posterior's points of alpha, some cases at a time."""
    kept = posterior.kept
    slopes, bases, single = _log_odds(posterior)
    result = np.empty(len(bits))
    for start in range(0, len(bits), CASES):
        rows = bits[start : start + CASES]
        counts = np.zeros((len(rows), len(kept.pairs)))
        kernel.accumulate_counts(rows, kept.group, counts)
        # log P(x* given y*, alpha) + log posterior of alpha, for each row, y* and alpha
        joint = (counts @ slopes + bases).reshape(len(rows), 2, -1) + posterior.log_posterior
        if missing is not None:
            absent = np.zeros((len(rows), len(kept.pairs)))
            gaps = np.ascontiguousarray(missing[start : start + CASES]).view(np.uint8)
            kernel.accumulate_counts(gaps, kept.group, absent)
            joint -= np.stack([absent @ one for one in single], axis=1)
        result[start : start + CASES] = np.subtract(*np.logaddexp.reduce(joint, axis=2).T[::-1])
    f0, f1 = posterior.settings.class_prior
    n0, n1 = kept.class_counts
    return result + np.log((f1 + n1) / (f0 + n0))


def as_probability(log_odds: np.ndarray) -> np.ndarray:
    """Return probabilities that stay CLOSEST away from 0 and 1."""
    return np.clip(special.expit(log_odds), CLOSEST, 1 - CLOSEST)


def _log_odds(posterior: Posterior) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return how log P(x* given y*, alpha) depends on test counts per pair: slopes and bases.

    slopes (D, 2 K) holds log P(x* = 1) - log P(x* = 0), bases (2 K,) the sum of log P(x* = 0) over
    features; the columns are y* = 0 for all alpha, then y* = 1.  The third result has log P(x* = 0)
    of one feature of each pair, (D, K) for each y*.
    """
    kept, alpha = posterior.kept, posterior.alpha
    K = len(alpha)
    slopes, bases = np.empty((len(kept.pairs), 2 * K)), np.empty(2 * K)
    single = []
    for y in (0, 1):
        columns = slice(y * K, (y + 1) * K)
        ones, cases = kept.pairs[:, y, None], kept.cases(y)
        zeros = cases - ones
        # numerators of P(x* = 1) and P(x* = 0); both have the denominator alpha + N_y
        log_one = np.log(alpha * posterior.theta_mean + ones)
        log_zero = np.log(alpha * posterior.complement_mean + zeros)
        slopes[:, columns] = log_one - log_zero
        single.append(log_zero - np.log(alpha + cases))
        bases[columns] = kept.copies @ single[y]
    return slopes, bases, single


def _evaluate(
    settings: Settings, kept: KeptCounts, alpha: np.ndarray, log_weight: np.ndarray
) -> Posterior:
    """Return the posterior on the points alpha, each with the log of its weight times prior."""
    log_marginal, *means = kept.integrals(alpha, settings.quadrature)
    log_discard = np.zeros(len(alpha))
    if kept.n_dropped:
        log_discard = kept.log_discard(alpha, settings.quadrature)
    log_joint = log_weight + kept.copies @ log_marginal + kept.n_dropped * log_discard
    if not np.isfinite(log_joint).any():
        remedy = "another alpha_prior" if settings.quadrature == "exact" else "quadrature: exact"
        raise ThesiskitError(f"every alpha has posterior weight 0; use {remedy}")
    log_posterior = log_joint - np.logaddexp.reduce(log_joint)
    return Posterior(settings, kept, alpha, log_weight, log_discard, log_posterior, *means)


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
