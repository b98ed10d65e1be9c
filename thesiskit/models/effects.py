"""Effects of selected features: raw estimates, and the posterior, which allows for the selection.

A feature is selected because its estimate is far from zero, so raw estimates are too far from zero
(the winner's curse).  Given the hyperparameters, the posterior of an effect is right however the
feature was selected (Dawid 1994, "Selection paradoxes of Bayesian inference").  The hyperparameters
say how large effects are, and how many; the correction is in the weights of their points.

| model | effect |
|---|---|
| normal, two classes | (mu_j1 - mu_j0) / sqrt(w_j) |
| normal, more classes | mu_jg less the unweighted mean of the other mu_j, / sqrt(w_j) |
| normal, real response | beta_j / sqrt(w_j), of the response in standard deviations |
| naive Bayes | log odds ratio, logit phi_j1 - logit phi_j0 |

The effect is 0 with probability h.  Else, given rho_j and w_j, that of the normal model is normal
with a mean proportional to 1 / sqrt(w_j), and 1 / w_j has a gamma distribution: a mixture of normal
distributions over rho_j and w_j.  Given alpha and theta, phi_j0 and phi_j1 of naive Bayes have
independent beta distributions; their logits are discretised about their modes, and convolved by
fast Fourier transforms.  Quantiles are roots of distribution functions.

Raw estimates are the least-squares estimate in residual standard deviations, with the t interval of
its numerator, or the log odds ratio with 1/2 more in each cell (Haldane) and Woolf's interval.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy  # scipy.optimize takes half a second to load: at its first use
from scipy import special
from threadpoolctl import threadpool_limits

from thesiskit.errors import UserError
from thesiskit.models.base import gauss_legendre
from thesiskit.models.selection import n_parameters

if TYPE_CHECKING:
    from thesiskit.models.naive_bayes import NaiveBayesPosterior
    from thesiskit.models.normal import NormalPosterior

COLUMNS = ("raw", "raw_low", "raw_high", "effect", "low", "high")
LEVELS = 0.025, 0.975
NEGLIGIBLE = 1e-7  # probabilities, and errors of quantiles
STEPS = 1.0, 2.0  # of log w_j: in its standard deviations, and in those that move the effect by two
MOST_STEPS = 4000
FAR = 9.0  # standard deviations beyond which a normal distribution has nothing
LEFT_OUT = 5e-4  # probability of points of alpha and theta that are left out together
WIDTH = 0.25  # of log alpha, within which points are joined
LEAST, MOST_ALPHA = 1e-300, 1e8  # beyond, odds ratios are 1 to three digits
LATTICE = 64  # points for a logit
FINE, COARSE = 0.45, 8.0  # their step, in the smaller, and as a part of the larger deviation


def effects(kind: str, posterior: Any, most: int | None = None) -> np.ndarray:
    """Return raw and corrected effects of the selected features, (k, C, 6).

    kind : of the model, "normal" or "naive-bayes"; posterior : as its `fit` returns it.
    most : how many features, the strongest first, have effects; NaN for all others.

    C is 1, or with more than two classes their number.  COLUMNS names the rest: raw estimate and
    interval, posterior mean, and its quantiles at LEVELS.  Odds ratios are logs.

    Raises UserError for other models.
    """
    by_kind: dict[str, Callable] = {"normal": normal_effects, "naive-bayes": binary_effects}
    if kind not in by_kind:
        raise UserError(
            f"the {kind} model has no effects of single features. Fix: use the normal model for "
            "real features, or naive Bayes for features of 0 and 1"
        )
    with threadpool_limits(limits=1), np.errstate(divide="ignore", invalid="ignore"):
        return by_kind[kind](posterior, most)


def effect_table(
    kind: str, posterior: Any, names: Sequence[Hashable], classes: Sequence[Hashable] = ()
) -> pd.DataFrame:
    """Return `effects` and relevance as a table: a row for each feature, named by names (k,).

    With more than two classes there is one for each feature and class.  Odds ratios are no logs.
    """
    values = effects(kind, posterior)
    values = np.exp(values) if kind == "naive-bayes" else values
    index = pd.Index(names, name="feature")
    if values.shape[1] > 1:
        index = pd.MultiIndex.from_product([names, classes], names=["feature", "class"])
    table = pd.DataFrame(values.reshape(-1, len(COLUMNS)), index, columns=[*COLUMNS])
    return table.assign(relevance=np.repeat(posterior.relevance, values.shape[1]))


def normal_effects(posterior: NormalPosterior, most: int | None = None) -> np.ndarray:
    """Return `effects` of the normal model."""
    selection, (a, b) = posterior.selection, posterior.variance
    k, G = selection.means.shape
    contrast = np.array([[-1.0, 1.0]]) if G == 2 else (G * np.eye(G) - 1) / max(1, G - 1)
    result = np.full((k, len(contrast), len(COLUMNS)), np.nan)
    samples = selection.counts.sum(axis=1)
    freedom = samples - n_parameters(selection.counts)
    deviation = np.sqrt(selection.within / freedom)
    quantile = special.stdtrit(freedom, LEVELS[1])
    for j in range(k)[:most]:
        share = posterior.shares[j].copy()
        mass, share[0] = share[0], 0.0
        node = share > NEGLIGIBLE
        n, ratio = selection.counts[j], posterior.nodes.ratio[node][:, None]
        if selection.lines is not None:
            slope, _, squares = selection.lines[j]
            estimate, error = np.array([selection.unit * slope]), np.array([squares**-0.5])
            shrinkage = ratio * n / (2 + ratio * n)
            location, variance = shrinkage * estimate, shrinkage / squares
        else:
            estimate = contrast @ np.where(n > 0, selection.scaled[j], np.nan)
            error = np.sqrt(contrast**2 @ (1 / n))
            rest = 1 / (1 + ratio * n)
            away = selection.scaled[j] - posterior.between.mean[j, node][:, None]
            location = ((1 - rest) * away) @ contrast.T
            variance = (ratio * rest) @ (contrast**2).T
            variance += (rest @ contrast.T) ** 2 / (n * rest).sum(axis=1, keepdims=True)
        raw, half = estimate / deviation[j], quantile[j] * error
        result[j, :, :3] = np.stack([raw, raw - half, raw + half], axis=1)
        spread = a * b + selection.within[j] + posterior.between.squares[j, node]
        location /= np.sqrt(spread)[:, None]
        for c, (mean, sd) in enumerate(zip(location.T, np.sqrt(variance).T, strict=True)):
            result[j, c, 3:] = _normal_mixture(a + samples[j] - 1, mass, share[node], mean, sd)
    return result


def _normal_mixture(
    freedom: float, mass: float, share: np.ndarray, mean: np.ndarray, sd: np.ndarray
) -> list[float]:
    """Return mean and quantiles of an effect, which is 0 with the probability `mass`.

    Else it is normal with the mean u `mean` and `sd`, (M,) each, u^2 chi-squared, given a value of
    rho_j, whose probabilities are `share`.
    """
    half = freedom / 2
    low, high = np.log(2 * special.gammaincinv(half, [NEGLIGIBLE, 1 - NEGLIGIBLE]))
    steepness = np.sqrt(freedom) * np.abs(mean / sd).max(initial=NEGLIGIBLE)
    step = min(STEPS[0] * np.sqrt(special.polygamma(1, half)), STEPS[1] / steepness)
    log_square = np.linspace(low, high, min(MOST_STEPS, 2 + int((high - low) / step)))
    weight = np.multiply.outer(share, special.softmax(half * log_square - np.exp(log_square) / 2))
    means, sds = np.multiply.outer(mean, np.exp(log_square / 2)), sd[:, None]
    ends = np.array([(means - FAR * sds).min(initial=-1), (means + FAR * sds).max(initial=1)])

    def below(x: float) -> float:
        return (weight * special.ndtr((x - means) / sds)).sum()

    expected = np.sqrt(2) * special.poch(half, 0.5) * (share @ mean)
    return [expected, *(_quantile(below, mass, level, ends) for level in LEVELS)]


def _quantile(below: Callable, mass: float, level: float, ends: np.ndarray) -> float:
    """Return a quantile of a distribution with a mass at 0, and else the function `below`."""
    at_zero = below(0.0)
    if at_zero < level <= at_zero + mass:
        return 0.0
    target = level - mass * (level > at_zero)
    return scipy.optimize.brentq(lambda x: below(x) - target, *ends, xtol=NEGLIGIBLE)


def binary_effects(posterior: NaiveBayesPosterior, most: int | None = None) -> np.ndarray:
    """Return `effects` of naive Bayes."""
    counts, group = posterior.counts, posterior.counts.group[:most]
    result = np.full((len(counts.group), 1, len(COLUMNS)), np.nan)
    cells = np.stack([counts.pairs, counts.present - counts.pairs], axis=2).astype(float)
    raw = (np.array([[-1, 1], [1, -1]]) * np.log(cells + 0.5)).sum(axis=(1, 2))
    half = special.ndtri(LEVELS[1]) * np.sqrt((1 / (cells + 0.5)).sum(axis=(1, 2)))
    of_pair = np.full((len(cells), 6), np.nan)
    of_pair[:, :3] = np.stack([raw, raw - half, raw + half], axis=1)
    for d in np.unique(group):
        of_pair[d, 3:] = _odds_ratio(posterior, cells[d], posterior.relevant_by_alpha[d])
    result[: len(group), 0] = of_pair[group]
    return result


def _odds_ratio(
    posterior: NaiveBayesPosterior, cells: np.ndarray, weight: np.ndarray
) -> list[float]:
    """Return mean and quantiles of the log odds ratio of a feature.

    cells (2, 2) : ones and zeros by class; weight (K,) : P(alpha, relevant given the data).
    """
    rule = gauss_legendre(30 + int(4.5 * cells.sum() ** 0.5))  # as integrals.peak_nodes
    log_alpha = np.log(np.minimum(posterior.alpha, MOST_ALPHA))
    _, part = np.unique(np.floor(log_alpha / WIDTH), return_inverse=True)
    total_weight = np.bincount(part, weight + LEAST)
    alpha = np.exp(np.bincount(part, (weight + LEAST) * log_alpha) / total_weight)[:, None]
    prior = np.stack([alpha * rule.theta, alpha * rule.complement])
    after = prior + cells[:, :, None, None]
    log = special.betaln(*after[0]) + special.betaln(*after[1]) - 2 * special.betaln(*prior)
    probability = special.softmax(log + np.log(rule.weight), axis=1) * total_weight[:, None]
    order = np.argsort(-probability, axis=None)
    total = np.cumsum(probability.ravel()[order])
    order = order[: 1 + np.searchsorted(total, (1 - LEFT_OUT) * total[-1])]
    share, mass = probability.ravel()[order] / total[len(order) - 1] * total[-1], 1 - total[-1]
    a, b = after.reshape(2, 2, -1)[:, :, order].swapaxes(0, 1)  # (2, M) each
    mode, sd = np.log(a / b), np.sqrt(special.polygamma(1, a) + special.polygamma(1, b))
    step = np.maximum(FINE * sd.min(axis=0), sd.max(axis=0) / COARSE)
    step = np.minimum(step, FINE)[:, None]
    logit = mode[:, :, None] + step * (np.arange(LATTICE) - LATTICE // 2)
    log_density = a[:, :, None] * logit - (a + b)[:, :, None] * np.log1p(np.exp(logit))
    p = step * np.exp(log_density - special.betaln(a, b)[:, :, None])
    beyond = np.maximum(1 - p.sum(axis=2), 0)  # only where a class has no ones, or ones alone
    p[:, :, 0] += np.where(a < b, beyond, 0)
    p[:, :, -1] += np.where(a < b, 0, beyond)
    p /= p.sum(axis=2, keepdims=True)
    spectrum = np.fft.rfft(p, 2 * LATTICE)
    p = np.roll(np.fft.irfft(spectrum[0].conj() * spectrum[1]), LATTICE, axis=1)
    # each probability is spread evenly about its point of the lattice
    cumulative = np.cumsum(share[:, None] * np.pad(p, ((0, 0), (1, 0))), axis=1)
    width, rows = step[:, 0], range(len(step))
    first = mode[1] - mode[0] - (LATTICE + 0.5) * width

    def below(x: float) -> float:
        place = np.clip((x - first) / width, 0, 2 * LATTICE - NEGLIGIBLE)
        cell = place.astype(int)
        left, right = cumulative[rows, cell], cumulative[rows, cell + 1]
        return (left + (place - cell) * (right - left)).sum()

    expected = share @ (np.diff(special.digamma(a) - special.digamma(b), axis=0)[0])
    ends = np.array([first.min(), (first + 2 * LATTICE * width).max()])
    return [expected, *(_quantile(below, mass, level, ends) for level in LEVELS)]
