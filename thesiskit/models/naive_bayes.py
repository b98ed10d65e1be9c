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
| pi, the probability that a feature is relevant; not in the thesis | `pi` | (J,) |

Sections "Application to Bayesian Naive Bayes Models" (py-b to eq-corfact) and "Computation of the
Adjustment Factor for Naive Bayes Models".  Two facts keep the computation small.  The posterior
depends on a feature only through its pair of counts (I0, I1), so integrals are computed once for
each distinct pair.  The predictive integral eq-jfact is an average of phi-hat, which is linear in
theta, so a prediction needs only the posterior mean of theta:
P(x* = 1) = (alpha E(theta) + I_y) / (alpha + N_y).

The thesis's model has one alpha for all features (`relevant="all"`).  With `relevant="some"`, each
feature is relevant with probability pi, and else phi_0 = phi_1 = theta: alpha is infinite for it.
Then the posterior is over (alpha, pi), and what a feature says of both, and of a test sample, is a
mixture, with the probability r that it is relevant given its counts, alpha and pi:

    M = P(counts given alpha),   M_0 = P(counts given alpha infinite),
    r = pi M / (pi M + (1 - pi) M_0),
    P(x* = 1 given y*) = r (alpha E(theta) + I_y) / (alpha + N_y) + (1 - r) (I + 1) / (N + 2),

with I = I_0 + I_1 ones of N = N_0 + N_1 samples.

A missing value has no term in the likelihood, which is exact under the model where values are
missing whatever they would be.  So N_0 and N_1 differ by feature; a test sample has terms of the
features that it has; and the probability that a feature is left out depends on its own N_0 and N_1.

The event that features were left out (eq-corfact, adj-fact-H2 to eq-sum-H) is that of
`models/selection`; its probability for a feature is the mixture of what it is for a relevant
feature, and for one whose phi_0 = phi_1 (alpha infinite).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import special

from thesiskit._kernels import naive_bayes as kernel  # type: ignore[attr-defined]
from thesiskit.blocks import Pair, Points
from thesiskit.defaults import ALPHA_PRIOR, CLASS_PRIOR, MOST_POINTS, NAIVE_ALPHA_POINTS, PI
from thesiskit.errors import DataError, ThesiskitError
from thesiskit.models.base import (
    LARGEST,
    Arrays,
    SelectingModel,
    SomeRelevant,
    Training,
    TwoClasses,
    check,
    check_counts,
    config_field,
    join_relevance,
    log_sum,
    of_log_odds,
    shaped,
    whole,
)
from thesiskit.models.integrals import (
    IRRELEVANT,
    InverseGamma,
    PairIntegrals,
    check_alpha_prior,
    check_rule,
    log_discard_probability,
    log_tied_probability,
    pair_integrals,
)
from thesiskit.models.packed import as_bits, find_missing
from thesiskit.models.selection import AT, LOT, WITHIN, LeftOut, Selection, distinct_counts
from thesiskit.models.temperature import imitated_bits

WEIGHTLESS = 40.0  # points whose log probability is so far below the largest predict nothing: a
# test sample moves it by about as much as one of the training samples did
STORED = ("alpha", "log_discard", "log_posterior")  # of a posterior
SAVED = {"alpha": (float, "K"), "log_discard": (float, "K"), "log_joint": (float, "K J")}


@dataclass(frozen=True)
class NaiveBayes(TwoClasses, SomeRelevant):
    """Priors and rules of the naive Bayes model, and third-party methods.

    Equations prior-psi-b to prior-phi-b.
    """

    kind, variant, imitates = "naive-bayes", "quadrature", True
    words = "naive Bayes"
    rivals = (
        "normal-corrected",
        "normal-uncorrected",
        "bernoulli-nb",
        "bernoulli-nb-calibrated",
        "l2-logistic",
        "lasso",
        "logistic-regression",
        "random-forest",
        "gradient-boosting",
    )
    about_kind = (
        "`naive-bayes` for binary features with two classes (the default); or `mixture`; or "
        "`normal` for real features; or `logistic` for sequences and discrete features."
    )
    about_methods = (
        "`corrected` and `uncorrected` for the selection; the model of `kind: normal` with "
        "untransformed features as `normal-corrected`, `normal-uncorrected`; also `bernoulli-nb` "
        "(scikit-learn's SelectKBest and BernoulliNB), `bernoulli-nb-calibrated` (the same in "
        "CalibratedClassifierCV), `l2-logistic` and `lasso` (logistic regression on all "
        "untransformed features, tuned in each training set). With patterns of discrete features: "
        "`logistic-regression` (one-hot), `random-forest` and `gradient-boosting`."
    )

    class_prior: tuple[float, float] = config_field(
        CLASS_PRIOR,
        Pair,
        "f_0 and f_1 of the Beta prior for the probability of a class (or component).",
    )
    alpha_prior: tuple[float, float] = config_field(
        ALPHA_PRIOR, Pair, "Shape and rate of the Inverse-Gamma prior of alpha."
    )
    alpha_points: int = config_field(
        NAIVE_ALPHA_POINTS, Points, "Number of points of the midpoint rule for alpha."
    )
    quadrature: str = config_field(
        "exact",
        Literal["exact", "simpson-21", "simpson-21-transformed"],
        "The rules for theta. `simpson-21` is Simpson's rule with 21 points, as the thesis prints "
        "it; `simpson-21-transformed` the same after a cubic transform of theta about each "
        "feature's mean, as in the author's later program predbayescor.",
        several=True,
    )
    relevant: str = config_field(
        "all",
        Literal["all", "some"],
        "`all` gives every feature the same alpha, as in the thesis. With `some`, a feature is "
        "relevant with an unknown probability pi; otherwise it has the same distribution in both "
        "classes: better if few features are informative. `[all, some]` compares both.",
        several=True,
    )
    pi: tuple[float, ...] = SomeRelevant.pi_key(PI)

    def __post_init__(self):
        check_counts("class_prior", self.class_prior)
        check_alpha_prior("alpha_prior", self.alpha_prior)
        whole("alpha_points", self.alpha_points, most=MOST_POINTS)
        check_rule(self.quadrature)
        self.check_relevance()

    @classmethod
    def with_priors_of(cls, other: SelectingModel) -> SelectingModel:
        """Return this model with the priors that it shares with a model of another kind."""
        priors = other.priors_of_draws
        names = {"class_prior", "alpha_prior"} & priors.keys()
        relevant = "some" if other.takes == "reals" else "all"
        return cls(**{name: priors[name] for name in names}, relevant=relevant)

    def check(self, classes: int) -> None:
        """Raise UserError for a prior of alpha whose points are beyond limits."""
        self.prior.midpoints(self.alpha_points)

    @property
    def priors_of_draws(self) -> dict[str, object]:
        """What data that are drawn from the model depend on."""
        return {"class_prior": self.class_prior, "alpha_prior": self.alpha_prior, "pi": self.pi}

    @property
    def prior(self) -> InverseGamma:
        """The prior of alpha."""
        return InverseGamma(*self.alpha_prior)

    def needs(self, samples: int, n_features: int) -> tuple[int, int]:
        """Return the bytes of a posterior, a value for each alpha and class; nothing iterates."""
        return 16 * self.alpha_points, 0

    def fit(self, training: Training) -> NaiveBayesPosterior:
        """Return the posterior."""
        return fit(training.selection, self, correct=training.correct)

    def log_odds(self, posterior: NaiveBayesPosterior, table: np.ndarray) -> np.ndarray:
        """Return log P(y* = 1) - log P(y* = 0), (T,), for the kept features of samples, (T, k)."""
        return predict_log_odds(posterior, table)

    def imitate(self, posterior, training, rng) -> tuple[np.ndarray, np.ndarray]:
        """Return imitated samples of the kept features, and their classes."""
        table, y = training.table(), training.response
        return imitated_bits(table, y, rates_of(posterior), rng, training.groups)

    def predicted_error(self, posterior: NaiveBayesPosterior, rng: np.random.Generator) -> float:
        """Return the error rate that the posterior predicts of new samples."""
        p = predictive_probabilities_of_new_samples(posterior, rng)
        return np.minimum(p, 1 - p).mean()

    def pack(self, posteriors: list[NaiveBayesPosterior]) -> Arrays:
        """Return the arrays of result files: alpha, log_discard and log_posterior (splits, K).

        Also log_density (K,) of the first split, and log_joint (splits, K, J) where some features
        are relevant.
        """
        arrays = {
            name: np.array([getattr(posterior, name) for posterior in posteriors])
            for name in STORED
        }
        if self.relevant == "some":
            arrays["log_joint"] = np.array([posterior.log_joint for posterior in posteriors])
        return arrays | {"log_density": log_alpha_density(posteriors[0])}

    def unpack(self, arrays: Arrays, s: int, training: Training) -> NaiveBayesPosterior:
        """Return the posterior of split s."""
        stored = {name: arrays[name][s] for name in STORED}
        log_joint = stored.pop("log_posterior")[:, None]
        stored["log_joint"] = arrays["log_joint"][s] if self.relevant == "some" else log_joint
        return restore(training.selection, self, correct=training.correct, **stored)

    @classmethod
    def join(cls, fits: list[Arrays]) -> Arrays:
        """Return the arrays of the fit stage, (splits, methods, ...) each."""
        arrays = super().join(fits)
        arrays["log_density"] = np.array([fit["log_density"] for fit in fits])
        arrays |= {name: np.stack([fit[name] for fit in fits], axis=1) for name in STORED}
        return arrays | join_relevance(fits, ["log_joint"])

    def saved(self, posterior: NaiveBayesPosterior) -> tuple[dict[str, object], Arrays]:
        """Return what of a posterior a model file has."""
        counts = posterior.counts
        about: dict[str, object] = {"settings": self.settings}
        about["class_counts"] = list(counts.class_counts)
        arrays = {name: getattr(posterior, name) for name in SAVED}
        if (counts.present != counts.class_counts).any():
            arrays["present"] = counts.of_each(counts.present)
        if counts.left_out is not None:
            arrays["left_out"] = counts.left_out.rows.astype(np.int64)
            about["gamma_squared"] = str(counts.left_out.gamma_squared)
            about["tied_kept"] = counts.left_out.tied_kept
            about["n_dropped"] = counts.left_out.total
        return about, arrays | {"ones": counts.of_each(counts.pairs)}

    @classmethod
    def restored(
        cls, about, arrays, selected, classes
    ) -> tuple[SelectingModel, NaiveBayesPosterior]:
        """Return the model and the posterior that `saved` described."""
        settings = dict(about["settings"])
        if settings.pop("alpha_quadrature", "midpoint") != "midpoint":  # up to format 7
            raise ValueError("alpha_quadrature: adaptive was removed")
        model, k = cls.made(settings), len(selected)
        n0, n1 = (int(count) for count in about["class_counts"])
        check(classes == 2 and n0 > 0 and n1 > 0)
        n_ones = shaped(arrays, {"ones": (np.intp, "k y")}, k=k, y=2)["ones"]
        present = None
        if "present" in arrays:
            present = shaped(arrays, {"present": (np.intp, "k y")}, k=k, y=2)["present"]
            check(((present >= 0) & (present <= (n0, n1))).all())
        check(((n_ones >= 0) & (n_ones <= ((n0, n1) if present is None else present))).all())
        posterior = shaped(arrays, SAVED, J=len(model.pi_points))
        alpha = posterior["alpha"]
        check(len(alpha) and ((alpha > 0) & (alpha < LARGEST)).all())
        # a log probability may be -inf
        check(all((values < LARGEST).all() for values in posterior.values()))
        check(np.isfinite(np.logaddexp.reduce(posterior["log_joint"].ravel())))
        left_out = _left_out(about, arrays, (n0, n1))
        selection = Selection(
            selected=selected,
            gamma_squared=left_out.gamma_squared,
            ones=n_ones,
            class_counts=(n0, n1),
            n_features=k + left_out.total,
            tied=0,
            tied_kept=0,
            correlation=np.zeros(k),
            left_out=left_out,
            present=present,
        )
        return model, restore(selection, model, correct=left_out.total > 0, **posterior)


def _left_out(about: dict[str, Any], arrays: Arrays, class_counts: tuple[int, int]) -> LeftOut:
    """Return what is known of the features left out; nothing of a method that is not corrected."""
    if "left_out" not in arrays:
        return LeftOut.of({}, class_counts, Fraction(0))
    rows = shaped(arrays, {"left_out": (np.int64, "D r")}, r=4)["left_out"]
    check(len(rows) and (rows >= 0).all())
    check((rows[:, :2] <= class_counts).all() and (rows[:, 3] > 0).all())
    check((rows[:, 2] <= LOT).all() and rows[:, 3].sum() == about["n_dropped"])
    gamma_squared, tied_kept = Fraction(about["gamma_squared"]), int(about["tied_kept"])
    check(0 <= gamma_squared <= 1 and tied_kept >= int((rows[:, 2] == LOT).any()))
    return LeftOut(rows, gamma_squared, tied_kept)


@dataclass(frozen=True)
class FeatureCounts:
    """Counts of the kept features, by distinct pair, and what is known of the others.

    pairs (D, 2) are the distinct (I0, I1), group (k,) the row of each kept feature, copies (D,)
    how many features share a row; present (D, 2), or (1, 2) where all have the same, are the
    samples that have the feature; left_out is None where selection is not conditioned on.
    """

    class_counts: tuple[int, int]
    pairs: np.ndarray
    present: np.ndarray
    group: np.ndarray
    copies: np.ndarray
    left_out: LeftOut | None

    @classmethod
    def of(cls, selection: Selection, correct: bool) -> FeatureCounts:
        """Group the kept features of a selection."""
        counts = np.asarray(selection.ones, dtype=np.intp)
        if selection.present is not None:
            counts = np.hstack([counts, selection.present])
        rows, group, copies = distinct_counts(counts)
        pairs, present = rows[:, :2], rows[:, 2:]
        if selection.present is None:
            present = np.array([selection.class_counts])
        left_out = selection.left_out if correct and selection.n_dropped else None
        return cls(selection.class_counts, pairs, present, group, copies, left_out)

    def of_each(self, counts: np.ndarray) -> np.ndarray:
        """Return counts of each kept feature, (k, 2), from those of distinct pairs."""
        return np.broadcast_to(counts, self.pairs.shape)[self.group]


@dataclass(frozen=True)
class NaiveBayesPosterior:
    """The posterior: a probability for each alpha and pi, and the mean of theta given each alpha.

    Attributes
    ----------
    alpha : (K,) quadrature points.
    log_discard : (K,) log P(|COR| <= gamma) of one relevant feature, or of what else is known of
        those left out, their mean; zeros where nothing was dropped.
    log_joint : (K, J) log probability of each alpha and pi; their logsumexp is 0.
    integrals : (D, K) each, of each distinct pair of counts, log P(counts), and the posterior means
        of theta and 1 - theta.
    irrelevant : the same for alpha infinite, (D, 1) each; None where all features are relevant.
    """

    settings: NaiveBayes
    counts: FeatureCounts
    alpha: np.ndarray
    log_discard: np.ndarray
    log_joint: np.ndarray
    integrals: PairIntegrals
    irrelevant: PairIntegrals | None

    @property
    def pi(self) -> np.ndarray:
        """The probabilities that a feature is relevant, (J,); 1 alone in the thesis's model."""
        return self.settings.pi_points

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
    def relevant_by_alpha(self) -> np.ndarray:
        """The posterior probability of each alpha, and of being relevant, by pair, (D, K)."""
        probability = np.zeros((len(self.counts.pairs), len(self.alpha)))
        for at, j in self.points:
            relevant = 1.0 if self.irrelevant is None else relevant_given(self, at, j)
            probability[:, at] += relevant * np.exp(self.log_joint[at, j])
        return probability

    @cached_property
    def relevance(self) -> np.ndarray:
        """The posterior probability that each kept feature is relevant, (k,)."""
        if self.irrelevant is None:
            return np.ones(len(self.counts.group))
        return np.minimum(self.relevant_by_alpha.sum(axis=1), 1.0)[self.counts.group]


def relevant_given(posterior: NaiveBayesPosterior, at: np.ndarray, j: int) -> np.ndarray:
    """Return r of each distinct pair, (D, len(at)), at some points of alpha and one of pi."""
    assert posterior.irrelevant is not None
    pi = posterior.pi[j]
    if pi == 1:
        return np.ones((len(posterior.counts.pairs), len(at)))
    odds = posterior.integrals.log_marginal[:, at] - posterior.irrelevant.log_marginal
    return special.expit(odds + np.log(pi) - np.log1p(-pi))


def fit(selection: Selection, settings: NaiveBayes, *, correct: bool = True) -> NaiveBayesPosterior:
    """Fit to the kept features; with `correct`, condition on the dropped features being weak.

    Equations eq-alpha-int2-mod and eq-corfact; with correct=False, eq-alpha-int2.  If no feature
    was dropped, both give the same posterior.
    """
    counts, pi = FeatureCounts.of(selection, correct), settings.pi_points
    alpha = settings.prior.midpoints(settings.alpha_points)  # equally probable in the prior
    integrals, irrelevant = _integrals(settings, counts, alpha)
    log_discard = np.zeros(len(alpha))
    log_joint = np.zeros((len(alpha), len(pi)))
    if irrelevant is None:
        log_joint += (counts.copies @ integrals.log_marginal)[:, None]
    else:
        log_joint += _log_mixed(counts, integrals.log_marginal, irrelevant.log_marginal, pi)
    if counts.left_out is not None:
        factor, log_discard = log_factor(counts.left_out, alpha, pi, settings.quadrature)
        log_joint += factor
    if not np.isfinite(log_joint).any():
        remedy = "another alpha_prior" if settings.quadrature == "exact" else "quadrature: exact"
        raise ThesiskitError(f"every alpha has posterior weight 0. Fix: use {remedy}")
    log_joint -= np.logaddexp.reduce(log_joint.ravel())
    return NaiveBayesPosterior(
        settings, counts, alpha, log_discard, log_joint, integrals, irrelevant
    )


def restore(
    selection: Selection, settings: NaiveBayes, *, correct: bool, **stored: np.ndarray
) -> NaiveBayesPosterior:
    """Return the posterior that `fit` gave, from the arrays that were stored, those of SAVED."""
    counts = FeatureCounts.of(selection, correct)
    integrals, irrelevant = _integrals(settings, counts, stored["alpha"])
    return NaiveBayesPosterior(
        settings, counts, integrals=integrals, irrelevant=irrelevant, **stored
    )


def log_alpha_density(posterior: NaiveBayesPosterior) -> np.ndarray:
    """Return the log posterior density of log alpha at the points, (K,).

    Each point stands for 1/K of prior probability, so the density is
    K times its probability times alpha p(alpha) (caption of Figure 2.7 of the thesis).
    """
    t = np.log(posterior.alpha)
    prior = posterior.settings.prior.log_density(posterior.alpha)
    return posterior.log_posterior + np.log(len(t)) + prior + t


def _integrals(
    settings: NaiveBayes, counts: FeatureCounts, alpha: np.ndarray
) -> tuple[PairIntegrals, PairIntegrals | None]:
    """Return integrals for relevant features, (D, K) each, and for others, (D, 1) each."""
    if settings.relevant == "all":
        return pair_integrals(counts.pairs, counts.present, alpha, settings.quadrature), None
    points = np.append(alpha, IRRELEVANT)
    integrals = pair_integrals(counts.pairs, counts.present, points, settings.quadrature)
    K = len(alpha)
    return (
        PairIntegrals(*(np.ascontiguousarray(values[:, :K]) for values in integrals)),
        PairIntegrals(*(values[:, K:] for values in integrals)),
    )


def _log_mixed(
    counts: FeatureCounts, log_relevant: np.ndarray, log_irrelevant: np.ndarray, pi: np.ndarray
) -> np.ndarray:
    """Return the sum over kept features of log(pi M + (1 - pi) M_0), (K, J)."""
    odds = log_relevant - log_irrelevant
    top = np.maximum(odds, 0)
    relevant, irrelevant = np.exp(odds - top), np.exp(-top)
    base = counts.copies @ (top + log_irrelevant)
    log_likelihoods = [
        counts.copies @ np.log(probability * relevant + (1 - probability) * irrelevant)
        for probability in pi
    ]
    return base[:, None] + np.stack(log_likelihoods, axis=1)


LEAST = 1e-280  # an incomplete beta function below has lost digits


def log_factor(
    left_out: LeftOut, alpha: np.ndarray, pi: np.ndarray, quadrature: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return log P(S given alpha, pi), (K, J), and the same for pi = 1 by feature, (K,).

    Equation eq-corfact.

    alpha (K,) and pi (J,).
    """
    log_factors = np.zeros((len(alpha), len(pi)))
    relevant = np.zeros(len(alpha))
    ends = alpha if pi.min() == 1 else np.append(alpha, IRRELEVANT)
    for event in np.unique(left_out.rows[:, 2]).tolist():
        rows = left_out.rows[left_out.rows[:, 2] == event]
        arguments = (*rows[:, :2].T, left_out.gamma_squared, ends)
        parts = []
        if event in (AT, LOT):
            parts.append(log_tied_probability(*arguments, quadrature=quadrature))
        if event != AT:
            below = event != WITHIN
            parts.append(log_discard_probability(*arguments, quadrature=quadrature, below=below))
        mixed = [mix(log[:, : len(alpha)], log[:, len(alpha) :], pi) for log in parts]
        for d, count in enumerate(rows[:, 3].tolist()):
            if event == LOT:
                log_factors += log_lot(mixed[0][d], mixed[1][d], count, left_out.tied_kept)
                log_e, log_s = (part[d, : len(alpha)] for part in parts)
                relevant += log_lot(log_e, log_s, count, left_out.tied_kept) / left_out.total
            else:
                log_factors += count * mixed[0][d]
                relevant += count / left_out.total * parts[0][d, : len(alpha)]
    return log_factors, relevant


def mix(relevant: np.ndarray, irrelevant: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """Return log(pi exp(relevant) + (1 - pi) exp(irrelevant)), (D, K, J), for each pi (J,).

    relevant (D, K); irrelevant (D, 1), which is not looked at where every pi is 1.
    """
    if pi.min() == 1:
        return np.repeat(relevant[:, :, None], len(pi), axis=2)
    with np.errstate(divide="ignore"):
        return np.logaddexp(
            relevant[:, :, None] + np.log(pi), irrelevant[:, :, None] + np.log1p(-pi)
        )


def log_lot(log_e: np.ndarray, log_s: np.ndarray, d: int, m: int) -> np.ndarray:
    """Return log of the sum over t of C(d, t) e^t s^(d - t) / C(m + t, m).

    With q = e + s and x = e / q it is q^d times the sum of (m + 1 + j)-terms below, or

        m B(m, d + 1) x^(-m) I_x(m, d + 1) q^d,     I_x the regularised incomplete beta function,

    because 1 / C(m + t, m) is m times the integral of v^t (1 - v)^(m - 1) over (0, 1).  Where I_x
    is too small for a number, its series converges fast.
    """
    log_q = np.logaddexp(log_e, log_s)
    x = np.exp(log_e - log_q)
    # where few samples have a feature, none of its counts may have |COR| = gamma: e and x are 0
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = special.betainc(m, d + 1, x)
        direct = np.log(m) + special.betaln(m, d + 1) - m * np.log(x) + np.log(whole)
    small = whole < LEAST
    if small.any():
        direct = np.where(small, _log_series(np.where(small, x, 0), d, m), direct)
    return d * log_q + direct


def _log_series(x: np.ndarray, d: int, m: int) -> np.ndarray:
    """Return log of (1 - x)^(d + 1) times the sum of (m + d + 1)_j / (m + 1)_j x^j."""
    total, term, j = np.ones_like(x), np.ones_like(x), 0
    while (term > 1e-17 * total).any():
        term = term * x * ((m + d + 1 + j) / (m + 1 + j))
        total, j = total + term, j + 1
    return (d + 1) * np.log1p(-x) + np.log(total)


SAMPLES = 4096  # test samples predicted together


def predict(posterior: NaiveBayesPosterior, features: np.ndarray) -> np.ndarray:
    """Return P(y* = 1) for each row of the kept features, (T, k) of 0, 1 or NaN (missing) -> (T,).

    Equation eq-unc-pp with predp-y and eq-jfact.  Probabilities stay 2^-53 away from 0 and 1, so
    that both they and their complements are strictly between.

    Raises DataError for another number of columns, or values that are not 0 or 1.
    """
    return of_log_odds(predict_log_odds(posterior, features))


def predict_log_odds(posterior: NaiveBayesPosterior, features: np.ndarray) -> np.ndarray:
    """Return log P(y* = 1) - log P(y* = 0) for each row of the kept features, (T, k) -> (T,)."""
    k = len(posterior.counts.group)
    features = np.asarray(features)
    if features.ndim != 2 or features.shape[1] != k:
        raise DataError(f"{k} features were selected, but got a table of shape {features.shape}")
    missing = find_missing(features)
    bits = as_bits(features if missing is None else np.where(missing, 0, features))
    if bits is None:
        raise DataError("features must be 0 or 1")
    groups = posterior.counts
    slopes, bases, single, log_weight = _log_odds(posterior)
    result = np.empty(len(bits))
    for start in range(0, len(bits), SAMPLES):
        rows = bits[start : start + SAMPLES]
        counts = np.zeros((len(rows), len(groups.pairs)))
        kernel.accumulate_counts(rows, groups.group, counts)
        # log P(x* given y*, point) + log posterior of the point, for each row, y* and point
        joint = (counts @ slopes + bases).reshape(len(rows), 2, -1) + log_weight
        if missing is not None:
            absent = np.zeros((len(rows), len(groups.pairs)))
            gaps = np.ascontiguousarray(missing[start : start + SAMPLES]).view(np.uint8)
            kernel.accumulate_counts(gaps, groups.group, absent)
            joint -= np.stack([absent @ log_zero for log_zero in single], axis=1)
        total = np.logaddexp.reduce if posterior.irrelevant is None else log_sum
        result[start : start + SAMPLES] = np.subtract(*total(joint, axis=2).T[::-1])
    f0, f1 = posterior.settings.class_prior
    n0, n1 = groups.class_counts
    return result + np.log((f1 + n1) / (f0 + n0))


def predictive_probabilities_of_new_samples(
    posterior: NaiveBayesPosterior, rng: np.random.Generator, samples: int = 2000
) -> np.ndarray:
    """Return P(y* = 1) for new samples drawn from the posterior predictive, (samples,).

    The mean of min(p, 1 - p) is the error that the model predicts where no sample is tested.  Given
    alpha, pi and y*, the features of a new sample are independent.
    """
    f0, f1 = posterior.settings.class_prior
    n0, n1 = posterior.counts.class_counts
    y = (rng.random(samples) * (f0 + n0 + f1 + n1) < f1 + n1).astype(np.intp)
    slopes, _, single, log_weight = _log_odds(posterior)
    weight = np.exp(log_weight - log_weight.max())
    point = rng.choice(len(weight), size=samples, p=weight / weight.sum())
    rows = np.empty((samples, len(posterior.counts.group)), dtype=np.uint8)
    for row, label, g in zip(rows, y.tolist(), point.tolist(), strict=True):
        rates = np.exp(slopes[:, label * len(weight) + g] + single[label][:, g])
        row[:] = rng.random(len(row)) < rates[posterior.counts.group]
    return predict(posterior, rows)


def rates_of(posterior: NaiveBayesPosterior) -> np.ndarray:
    """Return P(x_j* = 1) in each class, given the data, for each kept feature, (2, k)."""
    slopes, _, single, log_weight = _log_odds(posterior)
    weight, G = special.softmax(log_weight), len(log_weight)
    rates = [np.exp(slopes[:, y * G : (y + 1) * G] + single[y]) @ weight for y in (0, 1)]
    return np.array(rates)[:, posterior.counts.group]


def _log_odds(
    posterior: NaiveBayesPosterior,
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], np.ndarray]:
    """Return how log P(x* given y*, point) depends on test counts per pair: slopes and bases.

    A point is one of alpha and of pi.  slopes (D, 2 G) holds log P(x* = 1) - log P(x* = 0), bases
    (2 G,) the sum of log P(x* = 0) over features; the columns are y* = 0 for all points, then
    y* = 1.  The third result has log P(x* = 0) of one feature of each pair, (D, G) for each y*; the
    fourth the log probability of each point, (G,).
    """
    counts, points = posterior.counts, posterior.points
    G = sum(len(at) for at, _ in points)
    slopes, bases = np.empty((len(counts.pairs), 2 * G)), np.empty(2 * G)
    single = []
    for y in (0, 1):
        columns = slice(y * G, (y + 1) * G)
        parts = [_log_predictive(posterior, y, at, j) for at, j in points]
        slopes[:, columns] = np.hstack([slope for slope, _ in parts])
        single.append(np.hstack([log_zero for _, log_zero in parts]))
        bases[columns] = counts.copies @ single[y]
    log_weight = np.concatenate([posterior.log_joint[at, j] for at, j in points])
    return slopes, bases, single, log_weight


def _log_predictive(
    posterior: NaiveBayesPosterior, y: int, at: np.ndarray, j: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return log P(x* = 1) - log P(x* = 0), and log P(x* = 0), of one feature of each pair.

    (D, len(at)) each, for y* = y, some points of alpha and one of pi.
    """
    counts, alpha = posterior.counts, posterior.alpha[at]
    n_ones, samples = counts.pairs[:, y, None], counts.present[:, y, None]
    # in the order of memory that a matrix product adds up in
    theta = np.ascontiguousarray(posterior.integrals.theta_mean[:, at])
    complement = np.ascontiguousarray(posterior.integrals.complement_mean[:, at])
    # numerators of P(x* = 1) and P(x* = 0); both have the denominator alpha + N_y
    p1, p0 = alpha * theta + n_ones, alpha * complement + (samples - n_ones)
    if posterior.irrelevant is None:
        log_p0 = np.log(p0)
        return np.log(p1) - log_p0, log_p0 - np.log(alpha + samples)
    r, (_, theta, complement) = relevant_given(posterior, at, j), posterior.irrelevant
    p0 = r * p0 / (alpha + samples) + (1 - r) * complement
    p1 = r * p1 / (alpha + samples) + (1 - r) * theta
    log_p0 = np.log(p0)
    return np.log(p1) - log_p0, log_p0
