"""The naive Bayes model with normal features, corrected for selection: classes, or a real response.

| symbol | name | shape |
|---|---|---|
| y_i = g, x_ij | responses 0 to G - 1, real features | (n,), (n, p) |
| n_g, m_g, W of a feature | `FSelection.counts`, `means`, `within` | (k, G), (k, G), (k,) |
| rho | `ratio` | (R,) |
| pi | `pi` | (J,) |
| c | `shapes`, `effect_shapes` | (C,) |
| rho_j | `Nodes.ratio`, 0 first | (M,) |
| a, b | `variance` | (2,) |
| h, 1 - h | `irrelevance`, `relevance` | (k, .) |
| A(rho) | `log_discard` | (C, R) |
| rho_j in `tails`; T_j = rho_j / rho | `ratio`; integrated out | any |
| c, the shape of T_j; d_i | `shape`, None where T_j is 1; `_spreads` | scalar; (G - 1,) |

    x_ij ~ N(mu_jg, w_j),  mu_jg ~ N(nu_j, rho_j w_j),  nu_j flat,  w_j ~ Inverse-Gamma(a/2, ab/2),
    rho_j = 0 with probability 1 - pi, else rho T_j,  T_j ~ Inverse-Gamma(c/2, c/2) or 1,
    probabilities of the classes ~ Dirichlet.

The idea, to condition on the fact that the features left out were weak, is that of the thesis
(section "Our Method for Avoiding Selection Bias"); its normal form is that of Li (2012), "Bias-
corrected hierarchical Bayesian classification with a selected subset of high-dimensional features",
Journal of the American Statistical Association 107, 120-134.  Here all integrals are by
quadrature.  With r_g = n_g / (1 + rho_j n_g), R = sum r_g, m = sum r_g m_g / R and
Q = sum r_g (m_g - m)^2, the marginal likelihood of a feature is proportional to

    prod sqrt(r_g / n_g) R^(-1/2) (ab + W + Q)^(-(a + N - 1) / 2),

which is averaged over T_j by the trapezoid rule in log rho_j, and mixed with that of rho_j = 0.
Features left out have the factor [(1 - pi) A(0) + pi A(rho)]^(p - k), where A is the probability
that F is at most the threshold.  A missing value has no term in the likelihood.

The variances' (a, b) are those that make the kept features most probable; W alone would be too
small, because features with a small W are selected.  They are found by the EM algorithm: its latent
quantities are (c, rho, pi) and rho_j of each feature, averaged over by the same quadrature.  Few
features with few samples would take effects for noise that they have in common.  So a is at most
d^2 / OTHERS, where d are the degrees of freedom of a feature's fellows; from d = 142 on that is no
bound but MOST_A.  For one feature a is next to 0: its variance is integrated over with the prior
1 / w.

Given rho_j, the sum of squares between classes is w_j times a sum of c_i chi-squared variables with
one degree of freedom, c_i = 1 + rho_j d_i, where d_i are the nonzero eigenvalues of
diag(n) - n n' / N; that within classes is w_j times one with N - G.  So F does not depend on w_j.
With two classes F / (1 + rho_j d) has the F distribution.  With more, Ruben's series (1962, Annals
of Mathematical Statistics 33, 542-570) has positive terms only: with beta = min c_i,

    P(F <= f) = sum_k alpha_k I_{q / (1 + q)}((G - 1) / 2 + k, (N - G) / 2),
    q = f (G - 1) / ((N - G) beta),   alpha_0 = prod sqrt(beta / c_i),
    alpha_k = 1 / (2 k) sum_{r < k} g_{k - r} alpha_r,   g_m = sum_i (1 - beta / c_i)^m.

T_j is integrated out by the trapezoid rule in log rho_j, on one lattice for every rho.  The factor
is raised to the power p - k, so the smaller of P(F <= f) and P(F > f) is always kept, too.

Given rho_j, a new value of class g has a Student t density with a + N - 1 degrees of freedom,
s = rho_j r_g, mean s m_g + (1 - s) m and squared scale (a b + W + Q) v / (a + N - 1), where
v = 1 + rho_j / (1 + rho_j n_g) + (1 - s)^2 / R.  At a point (c, rho, pi) it is averaged over rho_j
by the posterior probabilities of the nodes; the products over features are averaged over points.
Logs of products are interpolated between a few points (`Interpolation`).  Whatever values a sample
has, this and the points and nodes that are skipped move its probabilities by less than 1e-4 (those
of usual samples by less than 1e-6): the densities of nodes have tails of the same degree, so that
what matters far away can be told without x, and a sample that skipped points may matter to is
found.

A real response has another design, and all else is the same:

| symbol | name | shape |
|---|---|---|
| z, the response less its mean, in standard deviations | `response_points`, of new ones | (G,) |
| n_j, mean of x_j, W_j | `FSelection.counts`, `means`, `within` | (k, 1), (k, 1), (k,) |
| b_j, mean of z, S_j, over the samples that have feature j | `FSelection.lines` | (k, 3) |
| s_j = r_j / (1 + r_j), r_j = rho_j n_j / 2 | `share`, `shrinkage` | any |

    x_ij ~ N(mu_j + beta_j t_i, w_j),  t_i = z_i - mean of z,  beta_j ~ N(0, r_j w_j / S_j).

With r_j, two classes of equal size are the response 0 and 1 with the same priors.  Above,
Q = b_j^2 S_j / (1 + r_j), the factor before it is (1 + r_j)^(-1/2), F = (n_j - 2) b_j^2 S_j / W_j,
and F / (1 + r_j) has the F distribution with 1 and n_j - 2 degrees of freedom.  A new value given a
response has the mean m_j + s_j b_j t and v = 1 + 1 / n_j + s_j t^2 / S_j.  The response given its
features has the density p(z) exp(L(z)), where p is the Student t distribution of a new response
given the others, and L the log of the average of products: computed at `response_points`, and
interpolated by cubic splines in asinh(z / CENTRE), which moves it by about 1e-4; where a sample is
so far away that a response beyond 10 standard deviations is predicted, this moves its mean by up to
half of its standard deviation.  Points (c, rho, pi) are thinned to where a sum is as exact
(`coarse`).  With a temperature it is exp(L(z) / tau).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import scipy  # scipy.optimize takes half a second to load: at its first use
from pydantic import Field
from scipy import special
from threadpoolctl import threadpool_limits

from thesiskit._kernels import normal as kernel  # type: ignore[attr-defined]
from thesiskit.blocks import PositiveNumber, Probabilities
from thesiskit.defaults import EFFECT_SHAPES, RESIDUAL, normal_grids
from thesiskit.errors import DataError, UserError, quoted
from thesiskit.models.base import (
    LARGEST,
    Arrays,
    SelectingModel,
    SomeRelevant,
    Training,
    check,
    check_count,
    config_field,
    join_relevance,
    positive,
    shaped,
)
from thesiskit.models.density import Density, U, student_log_density
from thesiskit.models.selection import FSelection, n_parameters
from thesiskit.models.temperature import DRAWS, SEED, Temperature, imitated_reals, too_few

LEAST_SHAPE, MOST_SHAPE = 0.5, 1000.0
STORED = ("log_joint", "variance", "log_discard")  # of a posterior
SAVED = {"log_joint": (float, "C R J"), "variance": (float, "ab")}
KEPT = {"counts": (float, "k G"), "means": (float, "k G"), "within": (float, "k")}
MOST_RATIO = 1e50
MOST_VARIANCE = 1e4, LARGEST**2  # of a and b
NEARLY = 1e-6  # of the log of a sum of probabilities


@dataclass(frozen=True)
class Normal(SomeRelevant):
    """Priors of the naive Bayes model of real features, and third-party methods.

    ratio : the values of rho, each as probable as the others; None as of `pi`, see `normal_grids`.
    variance : (a, b) of the Inverse-Gamma(a / 2, a b / 2) prior of the variances; None to take
        those that make the kept features most probable.
    """

    kind, takes, imitates, usual_temperature = "normal", "reals", True, RESIDUAL
    responses, of_classes = ("classes", "gaussian"), ("class_prior",)
    words = "naive Bayes with normal features"
    rivals = (
        "naive-corrected",
        "naive-uncorrected",
        "gaussian-nb",
        "l2-logistic",
        "lasso",
        "random-forest",
        "pool",
    )
    about_kind = "`normal`, for real features with any number of classes."
    about_methods = (
        "`corrected` and `uncorrected` for the selection; naive Bayes of the features cut at their "
        "medians over the training samples as `naive-corrected`, `naive-uncorrected` (for two "
        "classes); `gaussian-nb` (scikit-learn's SelectKBest and GaussianNB); and for all features "
        "`l2-logistic` and `lasso` (logistic regression with squared and with absolute "
        "coefficients penalised), which are tuned in each training set, `random-forest`, and "
        "`pool`, which is the model of that kind."
    )

    class_prior: float | tuple[float, ...] = config_field(
        1.0,
        PositiveNumber | Annotated[list[PositiveNumber], Field(min_length=2)],
        "The parameters of the Dirichlet prior for the probabilities of the classes: one number "
        "for all, or a list of one for each class.",
    )
    relevant: str = config_field(
        "some",
        Literal["all", "some"],
        "With `some`, a feature is relevant with an unknown probability pi; otherwise it has the "
        "same mean in all classes. With `all` every feature is relevant. `[all, some]` compares "
        "both.",
        several=True,
    )
    pi: tuple[float, ...] = config_field(
        None,
        Probabilities | None,
        "The values of pi that `some` averages over, with equal prior probabilities. With `null`, "
        "the default, they depend on the number p of features before any selection or filtering: "
        "the number of relevant features, pi times p, is uniform on the log scale from 0.7 "
        "p^-0.211 to p.",
    )
    effect_shapes: tuple[float | None, ...] = EFFECT_SHAPES
    ratio: tuple[float, ...] = None  # type: ignore[assignment]
    variance: tuple[float, float] | None = None

    def __post_init__(self):
        values = np.ravel(np.array(self.class_prior, dtype=object)).tolist()
        if not values:
            raise UserError("class_prior must be a positive number, or one for each class")
        for value in values:
            check_count("class_prior", value)
        shapes = [positive("effect_shapes", c) for c in self.effect_shapes if c is not None]
        differ = 0 < len(self.effect_shapes) == len(set(self.effect_shapes))
        if not differ or not all(LEAST_SHAPE <= c <= MOST_SHAPE for c in shapes):
            raise UserError(
                f"effect_shapes must be different numbers from {LEAST_SHAPE:g} to {MOST_SHAPE:g}, "
                f"or None, got {quoted(self.effect_shapes)}"
            )
        if self.pi is None or self.ratio is None:
            self.for_features(1)  # checks the rest
            return
        self.check_relevance()
        if not len(self.ratio):
            raise UserError("ratio must have at least one value")
        for value in self.ratio:
            positive("ratio", value)
        if self.variance is not None:
            for name, value in zip("ab", self.variance, strict=True):
                positive(name, value)

    @classmethod
    def with_priors_of(cls, other: SelectingModel) -> SelectingModel:
        """Return this model with the priors that it shares with a model of another kind."""
        return cls(class_prior=other.priors_of_draws.get("class_prior", 1.0))

    def check(self, classes: int) -> None:
        """Raise UserError where `class_prior` has numbers for another number of classes."""
        self.class_weights(classes)

    def for_features(self, p: int) -> Normal:
        """Return this model with the grids of pi and rho of tables of p features, where None."""
        pi, ratio = normal_grids(p)
        return replace(
            self,
            pi=pi if self.pi is None else self.pi,
            ratio=ratio if self.ratio is None else self.ratio,
        )

    @property
    def priors_of_draws(self) -> dict[str, object]:
        """What data that are drawn from the model depend on."""
        return {"class_prior": tuple((2 * np.ravel(self.class_prior).tolist())[:2])}

    @property
    def shapes(self) -> np.ndarray:
        """The values of c, (C,), infinite where T_j is 1."""
        return np.array([np.inf if c is None else c for c in self.effect_shapes])

    def class_weights(self, classes: int) -> np.ndarray:
        """Return the parameters of the Dirichlet prior, (G,)."""
        prior = np.atleast_1d(np.array(self.class_prior, dtype=float))
        if len(prior) not in (1, classes):
            raise UserError(
                f"class_prior: has {len(prior)} numbers, but there are {classes} classes. Fix: "
                "give one for each, or one number for all"
            )
        return np.broadcast_to(prior, (classes,))

    def needs(self, samples: int, n_features: int) -> tuple[int, int]:
        """Return the bytes of a posterior, a value for each c, rho and pi; nothing iterates."""
        model = self.for_features(n_features)
        return 8 * len(model.ratio) * len(model.effect_shapes) * len(model.pi), 0

    def fit(self, training: Training) -> NormalPosterior:
        """Return the posterior."""
        return fit(training.selection, self, correct=training.correct)

    def density(self, posterior, table: np.ndarray, softened: Temperature | None = None) -> Density:
        """Return predictive distributions of a real response for kept features, (T, k)."""
        ratios = log_ratios(posterior, table)
        if softened is not None:
            ratios = ratios / softened.tau
        return as_density(posterior, ratios)

    def log_probability(self, posterior: NormalPosterior, table: np.ndarray) -> np.ndarray:
        """Return log P(class), (T, G), for the kept features of new samples, (T, k)."""
        ratios = log_ratios(posterior, table)
        log_joint = ratios + posterior.log_prior
        total = special.logsumexp(log_joint, axis=1, keepdims=True)
        return log_joint - total

    def imitate(self, posterior, training, rng) -> tuple[np.ndarray, np.ndarray]:
        """Return imitated samples of the kept features, and their classes."""
        selection, y = posterior.selection, training.response
        z = y if selection.lines is None else (y - selection.center) / selection.spread
        table = selection.unit * training.table()
        means, spread, variance = means_of(posterior)
        samples, _ = imitated_reals(table, z, means, spread, variance, rng, training.groups)
        return samples / selection.unit, np.tile(y, DRAWS)

    def residual_temperature(self, posterior, training: Training) -> Temperature:
        """Return the temperature of imitated samples.

        That of a real response has no offsets, and the least mean of -log p(y); the expected error
        is the root mean squared one, in units of the response.
        """
        selection = training.selection
        if selection.lines is None:
            return super().residual_temperature(posterior.at_likely_points(), training)
        if not len(selection.selected) or too_few(selection.class_counts):
            return Temperature.none(0)
        samples, y = self.imitate(posterior, training, np.random.default_rng(SEED))
        ratios, (fine, log_prior) = log_ratios(posterior, samples), posterior.finer_points
        curve = scipy.interpolate.CubicSpline(posterior.response_points, ratios, axis=1)
        on_fine, z = np.ascontiguousarray(curve(fine)), (y - selection.center) / selection.spread
        places = np.arcsinh(z[:, None] / CENTRE)
        at_response = kernel.along(curve.x, curve.c, places)[:, 0]

        def loss(log_tau: float) -> float:
            inverse = np.exp(-log_tau)
            total = kernel.log_sums(on_fine, log_prior, inverse)
            log_density = inverse * at_response - total
            return -float(log_density.mean())

        best = scipy.optimize.minimize_scalar(loss, bounds=(0, np.log(MOST_TAU)), method="bounded")
        tau = float(np.exp(best.x))
        scale = as_density(posterior, ratios / tau).scale
        return Temperature(tau, np.zeros(0), expected=float(np.sqrt((scale**2).mean())))

    def predicted_error(self, posterior: NormalPosterior, rng: np.random.Generator) -> float:
        """Return the error rate that the posterior predicts of new samples.

        Of a real response it is the root mean squared error, in its units.
        """
        if posterior.selection.lines is not None:
            ratios = log_ratios(posterior, new_samples(posterior, rng, DRAWN))
            return float(np.sqrt((as_density(posterior, ratios).scale ** 2).mean()))
        p = predictive_probabilities_of_new_samples(posterior, rng)
        return 1 - p.max(axis=1).mean()

    def pack(self, posteriors: list[NormalPosterior]) -> Arrays:
        """Return the arrays of result files.

        variance (splits, 2), log_joint (splits, C, R, J) and log_discard (splits, C, R), with the
        grids shape (C,), ratio (R,) and pi (J,).
        """
        arrays = {
            name: np.array([getattr(posterior, name) for posterior in posteriors])
            for name in STORED
        }
        return arrays | {
            "shape": self.shapes,
            "ratio": posteriors[0].ratio,
            "pi": posteriors[0].pi,
        }

    def unpack(self, arrays: Arrays, s: int, training: Training) -> NormalPosterior:
        """Return the posterior of split s."""
        return restore(training.selection, self, **{name: arrays[name][s] for name in STORED})

    @classmethod
    def join(cls, fits: list[Arrays]) -> Arrays:
        """Return the arrays of the fit stage, (splits, methods, ...) each.

        log_joint (splits, methods, C, R, J) is -inf beyond the points of pi that a method has.
        """
        arrays = super().join(fits)
        columns = {name: [fit[name] for fit in fits] for name in STORED}
        most = max(log_joint.shape[-1] for log_joint in columns["log_joint"])
        for i, log_joint in enumerate(columns["log_joint"]):
            fill = [(0, 0)] * 3 + [(0, most - log_joint.shape[-1])]
            columns["log_joint"][i] = np.pad(log_joint, fill, constant_values=-np.inf)
        arrays |= {name: np.stack(columns[name], axis=1) for name in STORED}
        for name in ("log_joint", "log_discard"):  # which have many points; for reports
            arrays[name] = arrays[name].astype(np.float32)
        arrays |= {name: fits[0][name] for name in ("shape", "ratio")}
        # of tables filtered from more features, pi differs between numbers of these
        pi = {"pi": np.array([fit["pi"] for fit in fits if "relevance" in fit])}
        return arrays | join_relevance(fits) | (pi if len(pi["pi"]) else {})

    def saved(self, posterior: NormalPosterior) -> tuple[dict[str, object], Arrays]:
        """Return what of a posterior a model file has; what was left out has changed it already."""
        selection = posterior.selection
        arrays = {name: getattr(selection, name) for name in (*KEPT, "class_counts")}
        arrays |= {name: getattr(posterior, name) for name in SAVED}
        about = {"settings": posterior.settings.settings, "unit": selection.unit}
        if selection.lines is not None:
            about |= {"center": selection.center, "spread": selection.spread}
            arrays["lines"] = selection.lines
        return about, arrays

    @classmethod
    def restored(cls, about, arrays, selected, classes) -> tuple[SelectingModel, NormalPosterior]:
        """Return the model and the posterior that `saved` described."""
        model = cls.made(about["settings"])
        check(model.pi is not None and model.ratio is not None)
        check(all(1 / MOST_RATIO < ratio < MOST_RATIO for ratio in model.ratio))
        real = not classes
        classes = classes or 1
        class_counts = shaped(arrays, {"class_counts": (np.intp, "G")}, G=classes)["class_counts"]
        check((class_counts > 0).all())
        model.class_weights(classes)
        moments = shaped(arrays, KEPT, k=len(selected), G=classes)
        counts = moments["counts"].astype(np.int64)
        check(((counts >= 0) & (counts <= class_counts)).all())
        check((counts.sum(axis=1) > n_parameters(counts)).all())
        unit = about.get("unit", 1.0)  # older files have none
        check(type(unit) is float and 0 < unit < np.inf)
        check((np.abs(moments["means"] * unit) < LARGEST).all())
        check(((moments["within"] >= 0) & (moments["within"] < LARGEST**2)).all())
        sizes = {"C": len(model.effect_shapes), "R": len(model.ratio), "J": len(model.pi_points)}
        posterior = shaped(arrays, SAVED, **sizes, ab=2)
        variance = posterior["variance"]
        check(((variance > 0) & (variance < MOST_VARIANCE)).all())
        check(abs(special.logsumexp(posterior["log_joint"])) < NEARLY)
        selection = FSelection(
            selected=selected,
            threshold=0.0,
            f=np.zeros(len(selected)),
            counts=counts,
            means=moments["means"],
            within=moments["within"],
            class_counts=class_counts,
            n_features=len(selected),
            n_constant=0,
            tied=0,
            tied_kept=0,
            left_out=np.empty((0, classes + 1), dtype=np.int64),
            limits=np.empty(0),
            unit=unit,
        )
        if real:
            center, spread = about["center"], about["spread"]
            check(type(center) is float and np.isfinite(center))
            check(type(spread) is float and 0 < spread < np.inf)
            lines = shaped(arrays, {"lines": (float, "k three")}, k=len(selected), three=3)["lines"]
            check((np.abs(lines * [unit, 1, 1]) < LARGEST).all() and (lines[:, 2] > 0).all())
            selection = replace(selection, lines=lines, center=center, spread=spread)
        log_discard = np.zeros((sizes["C"], sizes["R"]))
        return model, restore(selection, model, log_discard=log_discard, **posterior)


TAIL_STEP = 0.25  # of log rho_j, where T_j is wide
SMALL = 1e-18  # relative to 1: what is left out of sums
LEAST_F = 1e-12  # where the threshold is 0, in its place: factors have a limit
MOST_TERMS = 20_000


def log_lower(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the log of a probability from itself and its complement."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(upper < 0.5, np.log1p(-upper), np.log(lower))


def averaged_tails(
    counts: np.ndarray, threshold: float, ratio: np.ndarray, shape: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return P(F <= threshold) and P(F > threshold), the mean over T_j, (R,) each."""
    if shape is None or not len(ratio):
        return tails(counts, threshold, ratio)
    log_ratio = np.log(ratio)
    log_nodes, weight = lattice(log_ratio, shape)
    lower, upper = tails(counts, threshold, np.exp(np.minimum(log_nodes, 600)))
    return weight @ lower, weight @ upper


def lattice(log_ratio: np.ndarray, shape: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes of log rho_j, (M,), and the weights of the average for each rho, (R, M).

    The sum of the trapezoid rule is as exact on any lattice, so all rho can share one.  With
    s = log(rho_j / rho), T_j = e^s has density proportional to exp(-(c / 2) (s + e^-s)) in s.
    """
    step = min(TAIL_STEP, 0.7 * float(np.sqrt(special.polygamma(1, shape / 2))))
    low, high = s_range(shape, 50)
    first, last = np.floor((log_ratio.min() + low) / step), np.ceil((log_ratio.max() + high) / step)
    nodes = step * np.arange(first, last + 1)
    return nodes, step * effect_density(nodes - log_ratio[:, None], shape)


def s_range(shape: float, drop: float) -> tuple[float, float]:
    """Return where the density of s = log T_j is below exp(-drop), about."""
    return -float(np.log1p(2 * (drop + 1) / shape)), 2 * drop / shape


def effect_density(s: np.ndarray, shape: float | np.ndarray) -> np.ndarray:
    """Return the density of s = log T_j, T_j ~ Inverse-Gamma(c / 2, c / 2)."""
    half = shape / 2
    log_norm = half * np.log(half) - special.gammaln(half)
    return np.exp(log_norm - half * (s + np.exp(np.minimum(-s, 600))))


def tails(counts: np.ndarray, threshold: float, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P(F <= threshold) and P(F > threshold) for features with each rho_j, (M,) each."""
    counts = np.asarray(counts)[np.asarray(counts) > 0]
    classes = int(n_parameters(counts))
    rest = int(counts.sum()) - classes
    f = max(float(threshold), LEAST_F)
    c = 1 + np.multiply.outer(np.asarray(ratio, dtype=float), _spreads(counts))
    if classes == 2 or np.ptp(c, axis=1).max(initial=0) == 0:
        scaled = f / c[:, 0]
        return special.fdtr(classes - 1, rest, scaled), special.fdtrc(classes - 1, rest, scaled)
    return _ruben(f, c, classes, rest)


def _spreads(counts: np.ndarray) -> np.ndarray:
    """Return the nonzero eigenvalues of diag(n) - n n' / N, (G - 1,), rising; n / 2 of a line."""
    n = counts.astype(float)
    if len(n) == 1:
        return n / 2
    if len(n) == 2:
        return np.array([2 * n[0] * n[1] / n.sum()])
    return np.linalg.eigvalsh(np.diag(n) - np.outer(n, n) / n.sum())[1:]


def _ruben(f: float, c: np.ndarray, classes: int, rest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both tails by Ruben's series, for c (M, G - 1).

    Terms end where those left out are below SMALL, because alpha_k or I is.  In the latter sample
    what is left of the sum of alpha belongs to the upper tail.
    """
    beta = c.min(axis=1)
    theta = 1 - beta[:, None] / c
    q = f * (classes - 1) / (rest * beta)
    half = (classes - 1) / 2
    alpha = np.prod(np.sqrt(beta[:, None] / c), axis=1)
    # sums[i] = sum over r < k of theta_i^(k - r) alpha_r
    sums = np.zeros_like(theta)
    slowest = theta.max(axis=1)
    mean = (theta / (1 - theta)).sum(axis=1) / 2  # of k, under the distribution alpha
    active = np.arange(len(c))
    lower, upper, total = (np.zeros(len(c)) for _ in range(3))
    for k in range(MOST_TERMS):
        if k:
            alpha = sums.sum(axis=1) / (2 * k)
        below = special.betainc(half + k, rest / 2, q[active] / (1 + q[active]))
        above = special.betaincc(half + k, rest / 2, q[active] / (1 + q[active]))
        lower[active] += alpha * below
        upper[active] += alpha * above
        total[active] += alpha
        sums = theta[active] * (sums + alpha[:, None])
        # beyond their mean, alpha fall about as the geometric series of the slowest
        negligible = (alpha < SMALL * (1 - slowest[active])) & (k > mean[active])
        ended = negligible | (below < SMALL)
        if ended.any():
            active, alpha, sums = active[~ended], alpha[~ended], sums[~ended]
            if not len(active):
                break
    missing = 1 - total
    return lower, upper + np.where(missing > 1e-12, missing, 0)


NODE_STEP = 0.36  # of log rho_j; smaller where c is large
DROP = 24.0  # nodes end where the density of T_j is below exp(-24)
FAR_DROP = 40.0  # on the other side it falls much faster
FAR = 3.0  # so far above log rho, nodes begin to be rarer


@dataclass(frozen=True)
class Nodes:
    """Values of rho_j, and the weights by which each of some rows (c, rho) averages over them.

    ratio : (M,), 0 first; then a lattice, then the values of rho where T_j is 1.
    weight : (rows, M - 1), for the nodes above 0.
    """

    ratio: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, settings: Normal, classes: int) -> Nodes:
        """Return the nodes for features of some number of classes; rows are c by c."""
        c = np.repeat(settings.shapes, len(settings.ratio))
        log_ratio = np.tile(np.log(settings.ratio), len(settings.shapes))
        point_mass = np.isinf(c)
        nodes, weight = _node_lattice(log_ratio[~point_mass], c[~point_mass], classes)
        single, column = np.unique(log_ratio[point_mass], return_inverse=True)
        weights = np.zeros((len(c), len(nodes) + len(single)))
        weights[~point_mass, : len(nodes)] = weight
        weights[point_mass, len(nodes) + column] = 1
        return cls(np.append(0.0, np.exp(np.append(nodes, single))), weights)


def _node_lattice(
    log_ratio: np.ndarray, c: np.ndarray, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return values of log rho_j (M,) and weights (rows, M) of the trapezoid rule.

    It is a rule in v, log rho_j = v + exp(v - far): about even up to `far`, and with ever longer
    steps beyond, where only the long tail of T_j is left.
    """
    if not len(c):
        return np.empty(0), np.empty((0, 0))
    narrowest = np.sqrt(special.polygamma(1, (c.max() + classes - 1) / 2))
    step = min(NODE_STEP, 0.85 * float(narrowest))
    first = min(s_range(shape, FAR_DROP)[0] for shape in (c.min(), c.max()))
    last = max(s_range(shape, DROP)[1] for shape in (c.min(), c.max()))
    low, high = log_ratio.min() + first, min(log_ratio.max() + last, 600.0)
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
        counts, means = selection.counts, selection.scaled
        if selection.lines is not None:
            slope, _, squares = selection.lines.T
            rho = 1 + ratio * counts / 2
            explained = ((selection.unit * slope) ** 2 * squares)[:, None] / rho
            return cls(np.broadcast_to(means, rho.shape), explained, -0.5 * np.log(rho))
        if len(counts) and (counts == counts[0]).all():
            counts = counts[:1]  # without missing values all features share them
        shape = (len(counts), len(ratio))
        total, log_factor = np.zeros(shape), np.zeros(shape)
        mean = np.zeros((len(means), len(ratio)))
        r = [n[:, None] / (1 + ratio * n[:, None]) for n in counts.T.astype(float)]
        for g, precision in enumerate(r):
            total += precision
            log_factor -= 0.5 * np.log1p(ratio * counts[:, g, None])
            mean += precision * means[:, g, None]
        mean /= total
        squares = np.zeros_like(mean)
        for g, precision in enumerate(r):
            squares += precision * (means[:, g, None] - mean) ** 2
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

    def mixed(
        self, pi: np.ndarray, row: np.ndarray, features: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Return the marginal likelihoods of some features at points (row, pi), (k, .)."""
        return (1 - pi) * self.by_node[features, :1] + pi * self.averaged[features][:, row]


LEAST_A, MOST_A = 0.02, 200.0
OTHERS = 100.0  # by which the squared degrees of freedom of other features are divided
WIDE = 12.0  # log(a b) is so near to the logs of sums of squares at least
ROUNDS = 50
SETTLED = 1e-4  # change of log a and log b
NO_SHARE = 1e-9  # a node of less probability says nothing of (a, b)
LIGHT = 1e-9  # points of less probability are not looked at while (a, b) moves
SKIPPED = 1e-15  # predictions skip points that together have this probability, if they can
UNLIKELY_PART = 1e-5  # of the probability: temperatures, which average over samples, do without it
MOST_FACTORS = 100_000  # features times points, up to which densities are multiplied
MOST_FACTORS_OF_MANY = 10_000  # the same for the many samples that temperatures are fitted to


@dataclass(frozen=True)
class NormalPosterior:
    """The posterior: a probability for each point (c, rho, pi).

    Attributes
    ----------
    log_discard : (C, R) log P(F <= threshold) of one relevant feature, or the mean over those left
        out if they differ; zeros where nothing was left out, or it is not corrected for.
    log_joint : (C, R, J) log probability of each point; their logsumexp is 0.
    variance : (2,) a and b.
    most_factors : features times points, above which predictive densities are interpolated.
    """

    settings: Normal
    selection: FSelection
    nodes: Nodes
    between: Between
    log_discard: np.ndarray
    log_joint: np.ndarray
    variance: np.ndarray
    most_factors: int = MOST_FACTORS

    @property
    def ratio(self) -> np.ndarray:
        """The values of rho, (R,)."""
        return np.array(self.settings.ratio)

    @property
    def pi(self) -> np.ndarray:
        """The values of pi, (J,); 1 alone where all features are relevant."""
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
    def interpolation(self) -> Interpolation:
        """What predictions need."""
        return Interpolation.of(self)

    @cached_property
    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of `Nodes.weight`, places of pi, and log probabilities of the points to predict at.

        In the order of pi, then of the rows.  Of a real response every so many are enough.
        """
        if self.selection.lines is not None:
            coarse = self.coarse(MOST_STRIDE)
            shape, ratio, pi = np.nonzero(coarse > np.log(UNLIKELY))
            return shape * len(self.ratio) + ratio, pi, coarse[shape, ratio, pi]
        log_joint = self.log_joint.reshape(-1, len(self.pi))
        j, row = np.nonzero(self._likely(SKIPPED).reshape(log_joint.shape).T)
        return row, j, log_joint[row, j]

    def _likely(self, skipped: float) -> np.ndarray:
        """Return the fewest points with all but `skipped` of the probability, a mask (C, R, J)."""
        probability = np.exp(self.log_joint.reshape(-1))
        order = np.argsort(probability, kind="stable")
        likely = np.zeros(len(order), dtype=bool)
        likely[order[np.cumsum(probability[order]) > skipped]] = True
        return likely.reshape(self.log_joint.shape)

    def at_likely_points(self) -> NormalPosterior:
        """Return the posterior at its likely points, for the densities of many samples.

        With at most FEW_FEATURES features, every other point of the lattice is enough; with more,
        temperatures of some tables would change by a tenth.
        """
        narrow = len(self.selection.selected) <= FEW_FEATURES
        likely = replace(self, log_joint=self.coarse(FEW_STRIDE)) if narrow else self
        log_joint = np.where(likely._likely(UNLIKELY_PART), likely.log_joint, -np.inf)
        log_joint -= special.logsumexp(log_joint)
        return replace(self, log_joint=log_joint, most_factors=MOST_FACTORS_OF_MANY)

    def coarse(self, most_stride: int) -> np.ndarray:
        """Return log probabilities of a coarser lattice, -inf at the other points, (C, R, J).

        A sum over it is as exact if its steps, of rho given pi and of pi given rho, are at most
        standard deviations.
        """
        p = np.exp(self.log_joint).sum(axis=0)
        places = np.indices(p.shape).reshape(2, -1)
        (first, cross), (_, second) = np.cov(places, aweights=p.reshape(-1), ddof=0)
        squares = np.array([first, second])
        conditional = squares - cross**2 / np.maximum(squares[::-1], LEAST)
        strides = STRIDE * np.sqrt(np.maximum(conditional, 0))
        strides = np.clip(strides, 1, most_stride).astype(int).tolist()
        (i, i_weight), (j, j_weight) = map(_coarser, p.shape, strides)
        coarse, at = np.full_like(self.log_joint, -np.inf), np.s_[:, i[:, None], j]
        coarse[at] = self.log_joint[at] + np.log(np.multiply.outer(i_weight, j_weight))
        return coarse - special.logsumexp(coarse)

    @cached_property
    def skipped(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The points that `points` skips, by the cells of a lattice.

        Rows and places of pi of the corners of cells, (C, ., .) each, and the log probabilities of
        the points skipped in each cell, (C, . - 1, . - 1).
        """
        row, j, _ = self.points
        C, R, J = self.log_joint.shape
        skipped = self.log_joint.copy()
        skipped.reshape(C * R, J)[row, j] = -np.inf
        if not np.isfinite(skipped).any():
            corners = np.empty((0, 1, 1), dtype=np.intp)
            return corners, corners, np.empty((0, 0, 0))
        ratio_line, ratio_cell = _lines(np.log(self.ratio))
        pi_line, pi_cell = _lines(np.log(self.pi / (1.1 - self.pi)))
        log_skipped = np.full((C, len(ratio_line) - 1, len(pi_line) - 1), -LARGEST)
        np.logaddexp.at(log_skipped, np.ix_(np.arange(C), ratio_cell, pi_cell), skipped)
        shape, first, last = np.ix_(R * np.arange(C), ratio_line, pi_line)
        corner_row, corner_j = np.broadcast_arrays(shape + first, last)
        return corner_row, corner_j, log_skipped

    @cached_property
    def products(self) -> Products:
        """What predictions from few features need."""
        row, j, _ = self.skipped
        return Products.of(self, self.points[:2], (row.ravel(), j.ravel()))

    def log_prior_density(self, z: np.ndarray) -> np.ndarray:
        """Return the log density that `density.guess` has at z, in standard deviations."""
        n = self.selection.class_counts[0]
        scale = np.sqrt((n + 1) / (n - 1))
        log_density = student_log_density(z / scale, n - 1)
        return log_density - np.log(scale)

    @cached_property
    def log_prior(self) -> np.ndarray:
        """Logs of the prior of classes, or of steps of a real response, up to a constant, (G,)."""
        counts = self.selection.class_counts
        if self.selection.lines is None:
            return np.log(self.settings.class_weights(len(counts)) + counts)
        return self.log_prior_at(self.response_points)

    def log_prior_at(self, u: np.ndarray) -> np.ndarray:
        """Return the log density of asinh(z / CENTRE) at u, before features, up to a constant."""
        return self.log_prior_density(CENTRE * np.sinh(u)) + np.log(np.cosh(u))

    @cached_property
    def finer_points(self) -> tuple[np.ndarray, np.ndarray]:
        """More places than `response_points`, and `log_prior_at` them."""
        u = self.response_points
        fine = np.linspace(u[0], u[-1], FINER * (len(u) - 1) + 1)
        return fine, self.log_prior_at(fine)

    @cached_property
    def response_points(self) -> np.ndarray:
        """Where a real response is looked at, (G,): even places in asinh(z / CENTRE).

        z is the response less its mean, in standard deviations.  The steps suit the feature whose
        line is steepest beside the variation about it.
        """
        (a, b), selection = self.variance, self.selection
        assert selection.lines is not None
        variation = (a * b + selection.within) / (a + selection.counts[:, 0])
        steepest = (selection.unit * selection.lines[:, 0]) ** 2 / variation
        width = np.clip(np.maximum(steepest.max(initial=0), LEAST) ** -0.5, *WIDTHS)
        last = np.arcsinh(FARTHEST / CENTRE)
        return np.linspace(-last, last, 2 * int(np.ceil(last * CENTRE / (STEP * width))) + 1)

    def new_values(
        self, features: np.ndarray | slice, feature: np.ndarray, ratio: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the location and v of new values, (M, G) each; see `predictive`.

        feature (M,) : places among some features; ratio (M,) : rho_j.  G are the classes, or
        `response_points`.
        """
        selection = self.selection
        counts, means = selection.counts[features][feature], selection.scaled[features][feature]
        if selection.lines is None:
            return predictive(counts, means, ratio)[:2]
        slope, middle, squares = selection.lines[features][feature].T[:, :, None]
        t = CENTRE * np.sinh(self.response_points) - middle
        share = ratio[:, None] * counts / (2 + ratio[:, None] * counts)
        return means + selection.unit * share * slope * t, 1 + 1 / counts + share * t**2 / squares

    def irrelevance(self, row: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return h, the probability that a kept feature is not relevant, (k, .), at some points."""
        pi, evidence = self.pi[j], self.evidence
        return (1 - pi) * evidence.by_node[:, :1] / evidence.mixed(pi, row)

    @cached_property
    def shares(self) -> np.ndarray:
        """The posterior probability of each node of rho_j, (k, M)."""
        probability = np.exp(self.log_joint.reshape(-1, len(self.pi)))
        rows = np.flatnonzero(probability.max(axis=1) > LIGHT)
        return _shares(self.evidence, self.nodes, self.pi, rows, probability[rows])

    @cached_property
    @threadpool_limits.wrap(limits=1)
    def relevance(self) -> np.ndarray:
        """The posterior probability that each kept feature is relevant, (k,)."""
        row, j, log_probability = self.points
        probability = np.exp(log_probability)
        irrelevant = self.irrelevance(row, j) @ (probability / probability.sum())
        return np.clip(1 - irrelevant, 0.0, 1.0)


def fit(selection: FSelection, settings: Normal, *, correct: bool = True) -> NormalPosterior:
    """Fit to the kept features; with `correct`, condition on the F of the others being small.

    If no feature was left out, both give the same posterior.
    """
    settings.class_weights(len(selection.class_counts))  # refuses other numbers of classes
    settings = settings.for_features(selection.n_features)
    nodes = Nodes.of(settings, max(2, len(selection.class_counts)))
    between = Between.of(selection, nodes.ratio)
    log_factor, log_discard = _left_out(selection, settings, correct)
    if settings.variance is not None:
        variance = np.array(settings.variance, dtype=float)
    else:
        variance = _estimate_variance(selection, settings, nodes, between, log_factor)
    evidence = Evidence.of(selection, nodes, between, variance)
    log_joint = log_factor + _log_likelihood(evidence, settings.pi_points)
    log_joint -= special.logsumexp(log_joint)
    shape = (len(settings.effect_shapes), len(settings.ratio), -1)
    return NormalPosterior(
        settings, selection, nodes, between, log_discard, log_joint.reshape(shape), variance
    )


def restore(selection: FSelection, settings: Normal, **stored: np.ndarray) -> NormalPosterior:
    """Return the posterior that `fit` gave, from the arrays that were stored, those of STORED."""
    settings = settings.for_features(selection.n_features)
    nodes = Nodes.of(settings, max(2, len(selection.class_counts)))
    values = stored["log_discard"], stored["log_joint"], stored["variance"]
    return NormalPosterior(settings, selection, nodes, Between.of(selection, nodes.ratio), *values)


def _left_out(
    selection: FSelection, settings: Normal, correct: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return log P(all left out are weak), (C R, J), and log A of one relevant feature, (C, R)."""
    pi, ratio = settings.pi_points, np.array(settings.ratio)
    shape = (len(settings.effect_shapes), len(ratio))
    log_factor = np.zeros((shape[0] * shape[1], len(pi)))
    relevant = np.zeros(shape)
    rows = selection.left_out if correct else selection.left_out[:0]
    for row, limit in zip(rows, selection.limits, strict=False):
        counts, copies = row[:-1], int(row[-1])
        irrelevant = averaged_tails(counts, limit, np.zeros(1), None)
        tails_by_shape = [averaged_tails(counts, limit, ratio, c) for c in settings.effect_shapes]
        sides = np.array(tails_by_shape).swapaxes(0, 1)  # (2, C, R)
        relevant += copies / selection.n_dropped * log_lower(*sides)
        mixed = (1 - pi) * np.reshape(irrelevant, (2, 1, 1)) + pi * sides.reshape(2, -1, 1)
        log_factor += copies * log_lower(*mixed)
    return log_factor, relevant


def _log_likelihood(evidence: Evidence, pi: np.ndarray, rows=slice(None)) -> np.ndarray:
    """Return the log likelihood of points, up to a constant, (C R, J)."""
    irrelevant, averaged = evidence.by_node[:, :1], evidence.averaged[:, rows]
    log_likelihood = np.empty((averaged.shape[1], len(pi)))
    with np.errstate(divide="ignore"):
        for j, probability in enumerate(pi.tolist()):
            log_likelihood[:, j] = np.log(
                (1 - probability) * irrelevant + probability * averaged
            ).sum(axis=0)
    return log_likelihood


def _estimate_variance(
    selection: FSelection, settings: Normal, nodes: Nodes, between: Between, log_factor: np.ndarray
) -> np.ndarray:
    """Return (a, b) that maximise the probability of the kept features, (2,)."""
    if not len(selection.selected):
        return np.ones(2)
    pi = settings.pi_points
    samples = selection.counts.sum(axis=1)
    sizes = (selection.within + between.squares[:, 0]) / np.maximum(1, samples - 1)
    log_variance = np.log([5.0, max(5.0 * np.median(sizes), LEAST)])  # log a and log ab
    # every second value of rho and pi is enough here
    rows, columns = np.arange(0, len(log_factor), 2), np.arange(len(pi) - 1, -1, -2)
    for _ in range(ROUNDS):
        a, ab = np.exp(log_variance)
        evidence = Evidence.of(selection, nodes, between, np.array([a, ab / a]))
        log = log_factor[np.ix_(rows, columns)] + _log_likelihood(evidence, pi[columns], rows)
        probability = np.exp(log - special.logsumexp(log))
        heavy = probability > LIGHT
        rows, columns = rows[heavy.any(axis=1)], columns[heavy.any(axis=0)]
        probability = probability[np.ix_(heavy.any(axis=1), heavy.any(axis=0))]
        shares = _shares(evidence, nodes, pi[columns], rows, probability)
        last, log_variance = log_variance, _best_variance(selection, between, shares, log_variance)
        if np.abs(log_variance - last).max() < SETTLED:
            break
    a, ab = np.exp(log_variance)
    return np.array([a, ab / a])


def _shares(evidence: Evidence, nodes: Nodes, pi, rows, probability) -> np.ndarray:
    """Return the posterior probability of each node of rho_j, (k, M)."""
    irrelevant_evidence, averaged = evidence.by_node[:, 0], evidence.averaged[:, rows]
    irrelevant = np.zeros(len(irrelevant_evidence))
    per_row = np.zeros(averaged.shape)
    for j, relevant_share in enumerate(pi.tolist()):
        chance = probability[:, j] / (
            (1 - relevant_share) * irrelevant_evidence[:, None] + relevant_share * averaged
        )
        irrelevant += (1 - relevant_share) * irrelevant_evidence * chance.sum(axis=1)
        per_row += relevant_share * chance
    shares = evidence.by_node * np.column_stack(
        [np.zeros(len(irrelevant_evidence)), per_row @ nodes.weight[rows]]
    )
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
    most = np.clip((n.sum() - n.mean()) ** 2 / OTHERS, LEAST_A, MOST_A)
    low, high = np.log(np.maximum([spread.min(), spread.max()], LEAST))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        half, big = np.exp(x[0]) / 2, np.exp(x[1])
        power = share * (half + n[feature] / 2)
        log_total = np.log(big + spread)
        log_norm = copies @ (special.gammaln(half + numbers / 2) - special.gammaln(half))
        rise = copies @ (special.digamma(half + numbers / 2) - special.digamma(half))
        value = log_norm + len(n) * half * x[1] - power @ log_total
        by_log_a = half * (rise + len(n) * x[1] - share @ log_total)
        by_log_ab = len(n) * half - power @ (big / (big + spread))
        return -value, -np.array([by_log_a, by_log_ab])

    bounds = np.array([[np.log(LEAST_A), np.log(most)], [low - WIDE, high + WIDE]])
    start = np.clip(start, *bounds.T)
    return scipy.optimize.minimize(loss, start, jac=True, method="SLSQP", bounds=bounds).x


TOGETHER = 1 << 15  # log densities of samples that are predicted together: they stay in a cache
TABLES = 1 << 22  # numbers in the tables of features that are added together
# of tables, in standard deviations within classes, or about lines: logs are exact to 3e-7, or 2e-5
TABLE_STEP = 0.2, 0.4
EIGHT = 8  # numbers that the kernel computes at once
NO_WEIGHT = 1e-9  # nodes of less probability, near and far away at every point, are left out
NO_PRIOR = 1e-40  # less is 0: products of small numbers stay normal
LEAST = 1e-300


@dataclass(frozen=True)
class Predictive:
    """Predictive densities of kept features at points, as `Densities` of the kernel takes them.

    Attributes
    ----------
    row, pi : (P,) the column of each point in `prior`, and its pi.  The last point is repeated
        until P is a multiple of EIGHT.
    offset : (k + 1,) multiples of EIGHT: where the nodes of each feature begin, the first without
        effect.  Nodes that fill the last eight have no weight.
    power : (k,).
    log_factor, mean, inverse : (G, M), the first with what the kept feature says of the node.
    spread : (M,).
    node : (M,) the row of each node in `prior`.
    prior : (., R) the probabilities of nodes before the data.
    log_norm : (k, P) the log of what the kept features say, averaged over nodes.
    middle, step : (k,).
    """

    row: np.ndarray
    pi: np.ndarray
    offset: np.ndarray
    power: np.ndarray
    log_factor: np.ndarray
    mean: np.ndarray
    inverse: np.ndarray
    spread: np.ndarray
    node: np.ndarray
    prior: np.ndarray
    log_norm: np.ndarray
    middle: np.ndarray
    step: np.ndarray

    @classmethod
    def of(
        cls,
        posterior: NormalPosterior,
        row: np.ndarray,
        pi: np.ndarray,
        features: np.ndarray | slice = slice(None),
    ) -> Predictive:
        """Return the densities of all or some kept features at points (row, pi)."""
        (a, b), nodes, selection = posterior.variance, posterior.nodes, posterior.selection
        counts, by_node = selection.counts[features], posterior.evidence.by_node[features]
        log_between = np.broadcast_to(posterior.between.log_factor, posterior.between.squares.shape)
        log_between, squares = log_between[features], posterior.between.squares[features]
        n, within = counts.sum(axis=1), a * b + selection.within[features]
        fill = (0, -len(row) % EIGHT)
        rows, at = np.unique(np.pad(row, fill, mode="edge"), return_inverse=True)
        pi = np.pad(pi, fill, mode="edge")
        weight = nodes.weight[rows]
        far = _far_evidence(posterior, features, log_between)
        feature, node, offset = _used_nodes(weight, by_node, far)
        location, v = posterior.new_values(features, feature, nodes.ratio[node])
        # of the training values, for the node without effect and for the most probable one
        ends = np.arange(len(n)), np.stack([np.zeros(len(n), dtype=int), by_node.argmax(axis=1)])
        log_none, log_most = log_between[ends] - (a + n - 1) / 2 * np.log(within + squares[ends])
        log_norm = np.log(np.maximum(posterior.evidence.mixed(pi, rows[at], features), LEAST))
        log_factor = (log_between[feature, node] - log_none[feature])[:, None] - 0.5 * np.log(v)
        filling = node == 0
        filling[offset[:-1]] = False
        log_factor[filling] = -np.inf
        more = (0, -len(rows) % EIGHT)  # columns that fill up the last eight
        prior = np.where(weight > NO_PRIOR, weight, 0.0)
        return cls(
            row=at,
            pi=pi,
            offset=offset,
            power=(a + n) / 2,
            log_factor=np.ascontiguousarray(log_factor.T),
            mean=np.ascontiguousarray(location.T),
            inverse=np.ascontiguousarray(1 / v.T),
            spread=within[feature] + squares[feature, node],
            node=np.maximum(node - 1, 0),
            prior=np.ascontiguousarray(np.pad(prior.T, ((0, 0), more))),
            log_norm=log_norm + (log_most - log_none)[:, None],
            middle=posterior.between.mean[features, 0].copy(),
            step=TABLE_STEP[selection.lines is not None] * np.sqrt(within / (a + n)),
        )

    def weight(self, j: int) -> np.ndarray:
        """Return the probabilities of the nodes of a relevant feature, but for a factor, (., R)."""
        nodes = slice(self.offset[j], self.offset[j + 1])
        log_said = self.log_factor[0, nodes] - 0.5 * np.log(self.inverse[0, nodes])
        log_said -= (self.power[j] - 0.5) * np.log(self.spread[nodes])
        log_said[0] = -np.inf
        return self.prior[self.node[nodes]] * np.exp(log_said - log_said.max())[:, None]

    def without_tables(self) -> Predictive:
        """Return these densities so that none is interpolated."""
        return replace(self, step=np.full_like(self.step, LEAST))

    def log_densities(
        self, features: np.ndarray, classes: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Return the log density of samples (T, k) at each point in some classes, (T, G, P).

        Of each sample it is less a constant, which classes and points have in common.
        """
        names = "mean", "inverse", "log_factor"
        rows = {name: np.ascontiguousarray(getattr(self, name)[classes]) for name in names}
        log_density = np.zeros((len(features), len(rows["mean"]), len(self.row)))
        size = log_density[0].size
        batch = min(len(self.power), max(1, TABLES // (size * kernel.TABLE)))
        kernel.Densities(replace(self, **rows), batch).add(
            features, max(1, TOGETHER // size), log_density
        )
        return log_density


def _far_evidence(
    posterior: NormalPosterior, features: np.ndarray | slice, log_between: np.ndarray
) -> np.ndarray:
    """Return what a feature and a value far away say of each node, (k, M), or (1, M) for all.

    Sums of squares are nothing beside that value's.
    """
    counts, ratio = posterior.selection.counts[features], posterior.nodes.ratio
    if len(counts) and (counts == counts[0]).all():
        counts, log_between = counts[:1], log_between[:1]
    feature = np.repeat(np.arange(len(counts)), len(ratio))
    _, v = posterior.new_values(features, feature, np.tile(ratio, len(counts)))
    widest = np.log(v.max(axis=1)).reshape(log_between.shape)
    a = posterior.variance[0]
    log = log_between + (a + counts.sum(axis=1, keepdims=True) - 1) / 2 * widest
    return np.exp(log - log.max(axis=1, keepdims=True))


def _used_nodes(
    weights: np.ndarray, near: np.ndarray, far: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return feature and node (M,) of the nodes that have weight, and their offsets.

    The probability of a node given a new value, too, is between that given the kept feature alone
    and that given a value far away, about.  Each feature begins with the node without effect, 0,
    and has a multiple of EIGHT: those that fill up are 0 too.
    """
    has_weight = np.zeros((len(near), weights.shape[1]), dtype=bool)
    for by_node in (near[:, 1:], far[:, 1:]):
        averaged = np.maximum(weights @ by_node.T, LEAST)
        most = np.array([(weights / column[:, None]).max(axis=0) for column in averaged.T])
        has_weight |= most * by_node > NO_WEIGHT
    size = -(-(1 + has_weight.sum(axis=1)) // EIGHT) * EIGHT
    offset = np.append(0, np.cumsum(size)).astype(np.intp)
    feature = np.repeat(np.arange(len(size)), size)
    node = np.zeros(offset[-1], dtype=np.intp)
    row, place = np.nonzero(has_weight)
    node[offset[row] + 1 + (np.cumsum(has_weight, axis=1) - 1)[row, place]] = place + 1
    return feature, node, offset


CENTRE = 4.0  # standard deviations of a real response, within which its points are about even
FARTHEST = 30.0  # standard deviations from the mean
WIDTHS = 0.05, 2.0  # of standard deviations in which a feature's density changes
STEP = 0.3  # of points, in these widths
MOST_TAU = 1000.0  # of a real response
FINER = 8  # points between two, where location and scale of a density are looked for
UNLIKELY = 1e-9  # points of less probability are not looked at
STRIDE, MOST_STRIDE = 1.25, 4  # values of a grid in a standard deviation are enough; at most
FEW_STRIDE = 2  # at most, for temperatures
DRAWN = 2000  # new samples, by which errors are predicted
MANY = 1 << 18  # products that are made together
PART = 1 << 20  # features times points of which products are made together


@dataclass(frozen=True)
class Products:
    """Densities as products over features, at many points (c, rho, pi).

    Attributes
    ----------
    densities : at the rows of the points, where all features are relevant.
    runs, irrelevant, relevant : of P points, as the kernel takes them, which fills up eights.
    place : of each point, among these.
    """

    densities: Predictive
    runs: np.ndarray
    irrelevant: np.ndarray
    relevant: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, posterior: NormalPosterior, *parts: tuple[np.ndarray, np.ndarray]) -> Products:
        """Return them at points (row, place of pi); the rows of each part are by themselves."""
        layout, size = [], np.zeros(2, dtype=np.intp)
        for row, j in parts:
            rows, at_row = np.unique(row, return_inverse=True)
            rows = np.pad(rows, (0, -len(rows) % EIGHT), mode="edge")
            has_points = np.zeros((len(posterior.pi), len(rows) // EIGHT), dtype=bool)
            has_points[j, at_row // EIGHT] = True
            block = np.cumsum(has_points).reshape(has_points.shape) - 1
            pi, first = np.nonzero(has_points)
            column = (EIGHT * first[:, None] + np.arange(EIGHT)).reshape(-1)
            place = EIGHT * block[j, at_row // EIGHT] + at_row % EIGHT
            layout.append((rows, np.repeat(pi, EIGHT), size[0] + column, size[1] + place))
            size += len(rows), len(column)
        rows, j, column, place = map(np.concatenate, zip(*layout, strict=True))
        start = np.append(0, np.flatnonzero(np.diff(column) != 1) + 1)
        pi, evidence = posterior.pi[j], posterior.evidence
        densities = Predictive.of(posterior, rows, np.ones(len(rows)))
        irrelevant = (1 - pi) * evidence.by_node[:, :1]
        relevant = pi * np.maximum(evidence.averaged[:, rows[column]], LEAST)
        mixed, shares = irrelevant + relevant, kernel.aligned(2, *irrelevant.shape)
        shares[0], shares[1] = irrelevant / mixed, relevant / mixed
        runs = np.column_stack([start, np.append(start[1:], len(column)), column[start]])
        densities = replace(densities, step=2 * densities.step)
        return cls(densities, runs, shares[0], shares[1], place)

    def multiplied(
        self, features: np.ndarray, logs: bool
    ) -> Iterator[tuple[slice, tuple[np.ndarray, ...]]]:
        """Yield some samples, and product, fallen, log_scale and out of `kernel.multiply` for them.

        There are as many of them each time, so that rounding is the same.
        """
        G, P = len(self.densities.mean), self.irrelevant.shape[1]
        count = 4 * max(1, MANY // (4 * G * P))
        densities = kernel.Densities(self.densities, 1 if logs else len(self.irrelevant))
        product, fallen, log_scale = kernel.aligned(count, G, P), *np.empty((2, count, G))
        out = np.empty_like(product) if logs else np.empty((0, 0, 0))
        for start in range(0, len(features), count):
            part = slice(start, start + count)
            fallen[:], log_scale[:], out[:] = 0, 0, 0
            densities.multiply(
                features[part], max(1, TOGETHER // (G * P)), self, product, fallen, log_scale, out
            )
            product[fallen == 0] = 1
            yield part, (product, fallen, log_scale, out)


def _from_products(
    posterior: NormalPosterior, features: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log densities of samples (T, k), and whether they are exact, (T, G) each."""
    products, (_, _, log_weight) = posterior.products, posterior.points
    log_skipped = posterior.skipped[2]
    C, first, last = log_skipped.shape
    corner = np.zeros((C, first + 1, last + 1))
    for i, j in np.ndindex(2, 2):  # each point may be as at any corner of its cell
        corner[:, i : first + i, j : last + j] += np.exp(log_skipped)
    size = len(log_weight)
    weight = np.zeros((products.irrelevant.shape[1], 2))
    weight[products.place[:size], 0] = np.exp(log_weight)
    np.add.at(weight[:, 1], products.place[size:], corner.reshape(-1))
    T, G = len(features), len(products.densities.mean)
    log_density, reliable = np.empty((T, G)), np.empty((T, G), dtype=bool)
    for part, (product, fallen, log_scale, _) in products.multiplied(features, False):
        count = len(log_density[part])
        total, more = np.moveaxis(product @ weight, -1, 0)[:, :count]
        fallen = fallen[:count]  # far more than the range of logs
        doubt = np.exp(DOUBT[0] + DOUBT[1] * np.minimum(fallen, -kernel.LEAST))
        reliable[part] = (fallen < -kernel.LEAST) & (more * doubt < NO_MORE * total)
        log_density[part] = np.log(np.maximum(total, LEAST)) + log_scale[:count]
    return log_density, reliable


FEW_FEATURES = 30  # with more, densities at many points are interpolated
FEW, FEWER = 40, 24  # points at which all samples are looked at; fewer of real responses
RESPONSES = np.array([-12.0, -4.0, -2.0, -1.0, 0.3, 0.7, 1.5, 3.0, 6.0])  # some real ones
IMITATED = 128, 512  # values for each class, by which these are chosen; at most
GOLDEN = 0.6180339887498949  # its multiples are spread evenly
REMOTE = 1e-5  # how exact densities are where points are skipped, relative to the best points
FULL_RANK = 1e-12  # of sums of squares: below, what is left is found anew
NOTHING = 1e-24  # and below that, nothing is left
LINES = 1.2  # between lines of a lattice, in log rho and log(pi / (1.1 - pi))
LAST = 8  # terms; those that are missing are smaller
ENOUGH = 1e-4  # if they change the log of a density by less, it is interpolated
NO_MORE = 2e-4  # and if points that are skipped do, where their logs may be more by
DOUBT = 1.0, 0.02  # this number, and this part of the range of logs
SAMPLES = 32  # of which sums are made together: always as many


@dataclass(frozen=True)
class Interpolation:
    """Densities averaged over points, from the densities at a few of them.

    As a function of the point, the log density of a feature is smooth, and few functions span all
    such logs, whatever the feature, its value and the class are.  They are found by the empirical
    interpolation method (Barrault et al. 2004, Comptes Rendus Mathematique 339, 667-672), from
    values of some features: the next point is always that at which most is left of these logs.

    The points that `NormalPosterior.points` skips are in cells of a lattice.  Far from all training
    samples they can have most of the density; it is interpolated at the corners of cells, too.  A
    sample is left to `_from_all_points` where the cells, or the last terms, may change the density.

    Attributes
    ----------
    densities : at the chosen points.
    to_terms : (P, r) makes the factors of terms from the log densities at the chosen points.
    terms : (r, K + corners), at the points of `NormalPosterior.points`, and at the corners.
    log_weight : (K,) log probabilities of the former.
    log_skipped : (C, ., .) log probabilities of the cells.
    """

    densities: Predictive
    to_terms: np.ndarray
    terms: np.ndarray
    log_weight: np.ndarray
    log_skipped: np.ndarray

    @classmethod
    def of(cls, posterior: NormalPosterior) -> Interpolation:
        """Return what the predictions of a posterior need."""
        row, j, log_weight = posterior.points
        log_skipped = np.full((1, 0, 0), -np.inf)
        if posterior.selection.lines is None:
            *corners, log_skipped = posterior.skipped
            row, j = np.append(row, corners[0]), np.append(j, corners[1])
        size = len(log_weight)
        scale = np.full(len(row), REMOTE)
        scale[:size] = np.sqrt(np.maximum(np.exp(log_weight - log_weight.max()), REMOTE))
        logs = _some_logs(posterior, row, j)
        columns = _chosen(logs * scale, FEW if posterior.selection.lines is None else FEWER)
        densities = Predictive.of(posterior, row[columns], posterior.pi[j[columns]])
        basis, triangle = np.linalg.qr(logs[:, columns])
        to_terms = np.zeros((len(densities.row), len(columns)))
        to_terms[: len(columns)] = np.linalg.inv(triangle)
        return cls(densities, to_terms, basis.T @ logs, log_weight, log_skipped)

    def log_densities(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log densities of samples (T, k), and whether they are exact, (T, G) each."""
        G = len(self.densities.mean)
        blocks = [self._of_classes(features, slice(g, g + EIGHT)) for g in range(0, G, EIGHT)]
        log_density, reliable = zip(*blocks, strict=True)
        return np.concatenate(log_density, axis=1), np.concatenate(reliable, axis=1)

    def _of_classes(self, features: np.ndarray, classes: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return `log_densities` in some classes, whose tables stay in a cache."""
        at_chosen = self.densities.log_densities(features, classes)
        T, G, _ = at_chosen.shape
        log_density, reliable = np.empty((T, G)), np.empty((T, G), dtype=bool)
        size, (C, first, last) = len(self.log_weight), self.log_skipped.shape
        effect = np.abs(self.terms[-LAST:, :size]) @ np.exp(self.log_weight)
        block = np.zeros((SAMPLES, *at_chosen.shape[1:]))
        for start in range(0, T, SAMPLES):
            part = slice(start, start + SAMPLES)
            count = len(at_chosen[part])
            block[:count] = at_chosen[part]
            factors = block.reshape(SAMPLES * G, -1) @ self.to_terms
            logs = (factors @ self.terms)[: count * G]
            log_density[part] = kernel.log_sums(logs, self.log_weight).reshape(-1, G)
            if not first:  # far away, where terms are missing, bounds are enough
                ends = at_chosen[part].min(axis=2), at_chosen[part].max(axis=2)
                log_density[part] = np.clip(log_density[part], *ends)
                reliable[part] = True
                continue
            corners = logs[:, size:].reshape(-1, C, first + 1, last + 1)
            doubt = DOUBT[0] + DOUBT[1] * np.ptp(logs[:, size:], axis=1).reshape(-1, G)
            most = np.maximum(corners[:, :, 1:], corners[:, :, :-1])
            most = np.maximum(most[..., 1:], most[..., :-1]).reshape(len(most), -1)
            more = kernel.log_sums(most, self.log_skipped.ravel()).reshape(-1, G) + doubt
            missing = (np.abs(factors[: count * G, -LAST:]) @ effect).reshape(-1, G)
            reliable[part] = (more - log_density[part] < np.log(NO_MORE)) & (missing < ENOUGH)
        return log_density, reliable


def _lines(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return places in x of lines not far from each other, in order, and the cell of each x.

    A cell is between a line and the next; there are two lines at least.
    """
    order = np.argsort(x)
    lines, last = [0], len(x) - 1
    for i in range(1, len(x)):
        if i == last or x[order[i + 1]] - x[order[lines[-1]]] > LINES:
            lines.append(i)
    lines = lines if last else [0, 0]
    cell = np.empty(len(x), dtype=np.intp)
    cell[order] = np.minimum(np.searchsorted(lines, np.arange(len(x)), "right"), len(lines) - 1) - 1
    return order[lines], cell


def _coarser(size: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Return every so many places and the last, (m,), and how many places each stands for, (m,)."""
    places = np.unique(np.append(np.arange(0, size, stride), size - 1))
    steps = np.diff(places)
    weight = (np.append(steps, 1) + np.append(1, steps)) / 2
    return places, weight


def _some_logs(posterior: NormalPosterior, row: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return log densities of values of some features at points, (., P), which vary as all do."""
    k = len(posterior.selection.selected)
    classes = np.arange(len(posterior.log_prior))
    if posterior.selection.lines is not None:
        classes = np.searchsorted(posterior.response_points, np.arcsinh(RESPONSES / CENTRE))
    G = len(classes)
    number = np.arange(min(IMITATED[0] * G, IMITATED[1]))
    # half of them of the most relevant features
    place = np.append(*(spaced(1, k, len(number) // 2) for spaced in (np.geomspace, np.linspace)))
    features, column = np.unique(place.astype(int) - 1, return_inverse=True)
    densities = Predictive.of(posterior, row, posterior.pi[j], features)
    # quantiles of a Cauchy distribution, in standard deviations: many are near, some far away
    away = np.tan(np.pi * ((GOLDEN * (number + 1)) % 1 - 0.5)) / TABLE_STEP[0]
    samples = np.full((len(number), len(features)), np.nan)
    samples[number, column] = densities.middle[column] + away * densities.step[column]
    logs = densities.without_tables().log_densities(samples, classes)
    return logs[number, number % G, : len(row)]


def _chosen(logs: np.ndarray, most: int) -> np.ndarray:
    """Return columns that span the others, the most important first, by pivoted Cholesky."""
    columns: list[int] = []
    while len(columns) < most:
        # what is left is found anew before it is lost in rounding
        basis, _ = np.linalg.qr(logs[:, columns])
        rest = logs - basis @ (basis.T @ logs) if columns else logs
        remainder = (rest**2).sum(axis=0)
        remainder[columns] = 0
        enough = FULL_RANK * remainder.max()
        terms: list[np.ndarray] = []
        if not enough > NOTHING:
            break
        while len(columns) < most and remainder.max() > enough:
            place = int(remainder.argmax())
            term = rest[:, place] @ rest
            if terms:
                previous = np.array(terms)
                term -= previous[:, place] @ previous
            terms.append(term / np.sqrt(remainder[place]))
            remainder -= terms[-1] ** 2
            columns.append(place)
            remainder[columns] = 0
    return np.array(columns, dtype=np.intp)


def _from_all_points(posterior: NormalPosterior, features: np.ndarray) -> np.ndarray:
    """Return the log densities of samples (T, k), (T, G)."""
    log_joint = posterior.log_joint.reshape(-1, len(posterior.pi))
    log_density = np.full((len(features), len(posterior.log_prior)), -np.inf)
    together = EIGHT * max(1, PART // (EIGHT * features.shape[1] * len(posterior.pi)))
    for start in range(0, len(log_joint), together):
        part_joint = log_joint[start : start + together]
        row, j = np.nonzero(np.isfinite(part_joint))
        if not len(row):
            continue
        products = Products.of(posterior, (start + row, j))
        densities = replace(products, densities=products.densities.without_tables())
        weight = np.full(products.irrelevant.shape[1], -np.inf)
        weight[products.place] = part_joint[row, j]
        for part, (product, _, log_scale, out) in densities.multiplied(features, True):
            out += np.log(product)
            sums = kernel.log_sums(out.reshape(-1, len(weight)), weight).reshape(log_scale.shape)
            logs = (sums + log_scale)[: len(log_density[part])]
            log_density[part] = np.logaddexp(log_density[part], logs)
    return log_density


def log_densities(posterior: NormalPosterior, features: np.ndarray) -> np.ndarray:
    """Return the log density of samples (T, k) in each class, (T, G).

    Of each sample it is less a constant, which classes have in common.
    """
    if not features.size:
        return np.zeros((len(features), len(posterior.log_prior)))
    k, direct = features.shape[1], posterior.selection.lines is None
    if direct and k > FEW_FEATURES:  # for any number of samples: predictions do not depend on it
        n_points = len(posterior.points[0]) + posterior.skipped[0].size
        direct = k * n_points < posterior.most_factors
    if direct:
        log_density, reliable = _from_products(posterior, features)
    else:
        log_density, reliable = posterior.interpolation.log_densities(features)
    doubtful = ~reliable.all(axis=1)
    if doubtful.any():
        log_density[doubtful] = _from_all_points(posterior, features[doubtful])
    return log_density


@threadpool_limits.wrap(limits=1)  # more threads add numbers in another order
def log_ratios(posterior: NormalPosterior, features: np.ndarray) -> np.ndarray:
    """Return `log_densities` for rows of the kept features, (T, k), in their own units.

    The features are in the order of `selected`; NaN is a missing value, which has no term.

    Raises DataError for another number of columns, and infinite values.
    """
    features = np.ascontiguousarray(features, dtype=float)
    k = len(posterior.selection.selected)
    if features.ndim != 2 or features.shape[1] != k:
        raise DataError(f"{k} features were selected, but got a table of shape {features.shape}")
    if np.isinf(features).any():
        sample, feature = np.argwhere(np.isinf(features))[0]
        raise DataError(
            f"sample {sample + 1} has an infinite value in selected feature {feature + 1}"
        )
    return log_densities(posterior, features * posterior.selection.unit)


def as_density(posterior: NormalPosterior, ratios: np.ndarray) -> Density:
    """Return distributions p(y) exp(ratios), ratios (T, G) at `response_points`, in units of y.

    Between the responses they are interpolated by cubic splines, outside by lines.
    """
    selection, u = posterior.selection, posterior.response_points
    curve = scipy.interpolate.CubicSpline(u, ratios, axis=1)
    fine, log_prior = posterior.finer_points
    z = CENTRE * np.sinh(fine)
    p = special.softmax(curve(fine) + log_prior, axis=1)
    location = p @ z
    scale = np.sqrt((p * (z - location[:, None]) ** 2).sum(axis=1))
    points = location[:, None] + scale[:, None] * np.sinh(U)
    logs = kernel.along(u, curve.c, np.arcsinh(points / CENTRE))
    logs += posterior.log_prior_density(points)
    return Density.of_logs(
        selection.center + selection.spread * location, selection.spread * scale, logs
    )


def predictive_probabilities_of_new_samples(
    posterior: NormalPosterior, rng: np.random.Generator, samples: int = DRAWN
) -> np.ndarray:
    """Return class probabilities for new samples from the posterior predictive, (samples, G).

    The mean of 1 less the largest is the error that the model predicts where no sample is tested.
    """
    return posterior.settings.predict(posterior, new_samples(posterior, rng, samples))


def new_samples(posterior: NormalPosterior, rng: np.random.Generator, samples: int) -> np.ndarray:
    """Draw the selected features of new samples from the posterior predictive, (samples, k)."""
    selection = posterior.selection
    prior = special.softmax(posterior.log_prior)
    y = rng.choice(len(prior), size=samples, p=prior)
    row, j, log_weight = posterior.points
    densities = Predictive.of(posterior, row, posterior.pi[j])
    point = rng.choice(len(row), size=samples, p=np.exp(special.log_softmax(log_weight)))
    column, irrelevant = densities.row[point], posterior.irrelevance(row[point], j[point])
    features = np.empty((samples, len(selection.selected)))
    for feature, start in enumerate(densities.offset[:-1]):
        below = np.cumsum(densities.weight(feature), axis=0)[:, column]
        relevant = rng.random(samples) >= irrelevant[feature]
        node = start + relevant * (below < rng.random(samples) * below[-1]).sum(axis=0)
        degrees = 2 * densities.power[feature] - 1
        scale = np.sqrt(densities.spread[node] / densities.inverse[y, node] / degrees)
        features[:, feature] = densities.mean[y, node] + scale * rng.standard_t(degrees, samples)
    return features / selection.unit


def means_of(posterior: NormalPosterior) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what the posterior expects of each kept feature: class means, and variances.

    means, spread (k, G) : the mean of each class, and its variance in units of w_j; of a real
        response (k, 2) the mean where t is 0, and the slope.
    variance (k,) : w_j.
    """
    selection, nodes, (a, b) = posterior.selection, posterior.nodes, posterior.variance
    shares = posterior.shares
    samples = selection.counts.sum(axis=1)
    squares = (shares * posterior.between.squares).sum(axis=1)
    variance = (a * b + selection.within + squares) / np.maximum(a + samples - 3, 1)
    if selection.lines is not None:
        slope, _, squares_of_t = selection.lines.T
        slope = selection.unit * slope
        shrinkage = nodes.ratio * selection.counts / (2 + nodes.ratio * selection.counts)
        mean = (shares * shrinkage).sum(axis=1)
        varying = (shares * (shrinkage - mean[:, None]) ** 2).sum(axis=1) * slope**2 / variance
        means = np.column_stack([selection.scaled, mean * slope])
        return means, np.column_stack([1 / samples, mean / squares_of_t + varying]), variance
    means, spread = np.empty_like(selection.means), np.empty_like(selection.means)
    for j, share in enumerate(shares):
        has_weight = share > NO_SHARE
        weight = share[has_weight] / share[has_weight].sum()
        ratio = nodes.ratio[has_weight]
        location, v, _ = predictive(selection.counts[j], selection.scaled[j], ratio)
        means[j] = weight @ location
        spread[j] = weight @ (v - 1 + (location - means[j]) ** 2 / variance[j])
    return means, spread, variance
