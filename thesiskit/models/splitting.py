"""Splitting the sum of a compressed group into the part that a test sample needs and the rest.

| thesis | name | shape |
|---|---|---|
| s_g | `s` | any; all arguments are broadcast |
| s_g^t | what is drawn | the broadcast shape |
| sigma_1, sigma_2 of Cauchy priors, sums over k of sigma_gk | `width`, `other_width` | any |
| the same of Gaussian priors, whose squares add up | `width`, `other_width` | any |
| s^* | sum of a test sample's new coefficients | drawn for each draw and sample |
| the width of the sum of all s_z^* | `extra_width` | any |

Sections "Splitting Compressed Parameters", "Sampling from the Splitting Distribution" and "Making
Prediction for a Test Sample"; equations eqn-split2 to eqn-C-cauchy and, for predictions,
eqn-int-pred with a logistic function for a.

Draws are made by `_kernels.splitting`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from thesiskit._kernels import splitting as kernel  # type: ignore[attr-defined]
from thesiskit.errors import UserError
from thesiskit.models import chains
from thesiskit.models.base import whole
from thesiskit.models.density import LEVELS
from thesiskit.models.patterns import Groups, Shared

# ---- predictions ----

BLOCK = 16_000_000  # numbers held at once
WORK = 1 << 22  # splits, a few tenths of a second, between two looks at whether to stop
PAIRS = 20  # of draws, with each draw
TOLERANCE, MOST_HALVINGS = 1e-4, 200  # of quantiles, in units of the noise


def predict(
    coefficient: np.ndarray,
    log_sigma: np.ndarray,
    overlap: Shared,
    n_classes: int,
    *,
    cauchy: bool,
    rng: np.random.Generator,
    split_draws: int = 1,
) -> np.ndarray:
    """Return the predictive probabilities of the classes, (T, K), averaged over draws.

    Equation eqn-int-pred, with eqn-split2 of each sum that a test sample has in part: a draw of
    eqn-cond-gs, or of eqn-cond-cauchy with the constant eqn-C-cauchy, by eqn-cdf-split-cc1.

    coefficient (D, S, G) and log_sigma (D, O + 1) are draws; overlap is what the test samples have
    in common with the groups.  Every draw is split split_draws times.
    """
    coefficient = np.ascontiguousarray(coefficient, dtype=float)
    samples = len(overlap.new_kind)
    split_draws = whole("split_draws", split_draws)
    total, widths = np.zeros((samples, n_classes)), _widths(log_sigma, overlap, cauchy)
    with rng.bit_generator.lock:
        for d, t, e in in_parts(len(coefficient), samples, split_draws):
            ends = slice(t.start, t.stop + 1)
            begin = {
                name: getattr(overlap, name)[ends] for name in ("whole_begin", "partial_begin")
            }
            samples_of_part = replace(overlap, new_kind=overlap.new_kind[t], **begin)
            kernel.Shares(
                samples_of_part, *(width[d] for width in widths), cauchy
            ).add_probabilities(
                coefficient[d], e.stop - e.start, total[t], rng.bit_generator.capsule
            )
    return (total / total.sum(axis=1, keepdims=True))[overlap.sample_of]


def in_parts(first: int, *others: int, inner: int = 1) -> Iterator[tuple[slice, ...]]:
    """Yield parts of a loop over some indices, in its order, each of about WORK steps at most.

    inner : steps for each index of the loop, which stay together.  Between parts Ctrl-C is heard;
    Stopped is raised in a child process that was asked to stop.
    """
    step = max(1, WORK // max(1, inner * math.prod(others)))
    for start in range(0, first, step):
        for rest in in_parts(*others, inner=inner) if others else [()]:
            if chains.stopping:
                raise chains.Stopped
            yield slice(start, min(start + step, first)), *rest


@dataclass(frozen=True)
class Response:
    """Predictive distributions of T real responses: mixtures of normal ones over draws.

    distinct (D, .) are draws of the linear functions of distinct samples, noise (D,) standard
    deviations; sample_of (T,) says which distinct sample each sample is.
    """

    distinct: np.ndarray
    noise: np.ndarray
    sample_of: np.ndarray

    @property
    def linear(self) -> np.ndarray:
        """Draws of the linear functions of all samples, (D, T)."""
        return self.distinct[:, self.sample_of]

    @property
    def median(self) -> np.ndarray:
        """Medians, (T,): with Cauchy priors, shares and new patterns leave no mean."""
        return self.quantile([0.5])[0]

    def quantile(self, levels) -> np.ndarray:
        """Return quantiles, (len(levels), T), to 1e-4 of the least noise."""
        levels = np.asarray(levels, dtype=float)
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise UserError(f"levels of quantiles must be between 0 and 1, got {levels.tolist()}")
        result = np.empty((len(levels), self.distinct.shape[1]))
        step = max(1, BLOCK // len(self.distinct) // 20)
        for start in range(0, result.shape[1], step):
            part = slice(start, start + step)
            for i, level in enumerate(levels):
                result[i, part] = _mixture_quantile(self.distinct[:, part], self.noise, level)
        return result[:, self.sample_of]

    def log_density(self, response: np.ndarray) -> np.ndarray:
        """Return the log predictive densities of the responses (T,), (T,)."""
        response = np.asarray(response, dtype=float)
        result = np.empty(len(response))
        step = max(1, BLOCK // len(self.distinct))
        for start in range(0, len(result), step):
            part = slice(start, start + step)
            z = (response[part] - self.distinct[:, self.sample_of[part]]) / self.noise[:, None]
            result[part] = special.logsumexp(-(z**2) / 2 - np.log(self.noise)[:, None], axis=0)
        return result - np.log(len(self.distinct) * np.sqrt(2 * np.pi))

    def scores(self, response: np.ndarray) -> dict[str, np.ndarray]:
        """Return what is stored of test samples with these responses, (T,) each.

        The arrays are named as in `density.SCORED`.  For CRPS each draw is compared with PAIRS
        others.
        """
        quantiles = ("median", "low", "high")
        scores = dict(zip(quantiles, self.quantile([LEVELS[x] for x in quantiles]), strict=True))
        names, noise = ("mean", "sd", "crps", "pit"), self.noise[:, None]
        scores |= {name: np.empty(len(response)) for name in names}
        n_draws = len(noise)
        shifts = range(1, max(2, n_draws), -(-n_draws // PAIRS))
        step = max(1, BLOCK // n_draws // 8)
        for start in range(0, len(response), step):
            part = slice(start, start + step)
            linear, y = self.distinct[:, self.sample_of[part]], response[part]
            between = np.zeros(linear.shape[1])
            for shift in shifts:
                widths = np.hypot(noise, np.roll(noise, shift))
                between += _mean_absolute(linear - np.roll(linear, shift, axis=0), widths)
            scores["mean"][part] = linear.mean(axis=0)
            scores["sd"][part] = np.sqrt(linear.var(axis=0) + np.mean(noise**2))
            scores["crps"][part] = _mean_absolute(y - linear, noise) - between / len(shifts) / 2
            scores["pit"][part] = special.ndtr((y - linear) / noise).mean(axis=0)
        return scores | {"log_density": self.log_density(response)}


def _mean_absolute(mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Return the mean over rows of the expected absolute values of normal variables, (T,)."""
    z = mean / sd
    normal = sd * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2)
    return (normal + mean * special.erf(z / np.sqrt(2))).mean(axis=0)


def _mixture_quantile(mean: np.ndarray, sd: np.ndarray, level: float) -> np.ndarray:
    # of equally likely N(mean[d, t], sd[d]^2), by bisection
    sd = sd[:, None]

    def above(mean, level):
        # a share level / p of the draws is below this with probability p or more each
        p = (1 + level) / 2
        return np.quantile(mean + sd * special.ndtri(p), level / p, axis=0, method="inverted_cdf")

    low, high = -above(-mean, 1 - level), above(mean, level)
    for _ in range(MOST_HALVINGS):
        # each sample by itself, whichever others there are
        wide = high - low > TOLERANCE * sd.min()
        if not wide.any():
            break
        middle = low + (high - low) / 2
        reached = special.ndtr((middle - mean) / sd).mean(axis=0) >= level
        low = np.where(wide & ~reached, middle, low)
        high = np.where(wide & reached, middle, high)
    return low + (high - low) / 2


def predict_response(
    coefficient: np.ndarray,
    log_sigma: np.ndarray,
    log_noise: np.ndarray,
    overlap: Shared,
    *,
    cauchy: bool,
    rng: np.random.Generator,
    split_draws: int = 1,
) -> Response:
    """Return the predictive distributions of real responses.

    coefficient (D, 1, G), log_sigma (D, O + 1) and log_noise (D,) are draws; overlap as in
    `predict`.  Every draw is split split_draws times: D split_draws draws of linear functions.
    """
    split_draws = whole("split_draws", split_draws)
    coefficient = np.ascontiguousarray(coefficient, dtype=float)
    linear = np.empty((len(coefficient) * split_draws, len(overlap.new_kind)))
    widths = _widths(log_sigma, overlap, cauchy)
    with rng.bit_generator.lock:
        for (d,) in in_parts(len(coefficient), inner=linear.shape[1] * split_draws):
            rows = slice(d.start * split_draws, d.stop * split_draws)
            kernel.Shares(overlap, *(width[d] for width in widths), cauchy).fill_linear(
                coefficient[d], split_draws, linear[rows], rng.bit_generator.capsule
            )
    return Response(linear, np.repeat(np.exp(log_noise), split_draws), overlap.sample_of)


def _widths(log_sigma: np.ndarray, overlap: Shared, cauchy: bool):
    """Return widths (variances, of Gaussian priors) of what is shared, not shared, and new.

    Each is (D, kinds).
    """
    power = np.exp((1 if cauchy else 2) * log_sigma)
    return tuple(
        np.ascontiguousarray(power @ counts.T.astype(float))
        for counts in (overlap.shared_counts, overlap.other_counts, overlap.new_counts)
    )


def original_coefficients(
    coefficient: np.ndarray,
    log_sigma: np.ndarray,
    groups: Groups,
    *,
    cauchy: bool,
    rng: np.random.Generator,
) -> np.ndarray:
    """Split every coefficient into those of its patterns, (D, S, n_patterns).

    Patterns stand group by group, and by order within a group, as in the groups of the same
    histories that are not compressed.
    """
    orders = np.arange(groups.order + 1)
    lists = [np.repeat(orders, counts) for counts in groups.kinds]  # of each kind
    sizes = np.array([len(orders_of_kind) for orders_of_kind in lists])[groups.kind]
    start = np.cumsum(sizes) - sizes
    power = np.exp((1 if cauchy else 2) * np.asarray(log_sigma))
    remaining = np.array(coefficient, dtype=float)
    draws, sets, _ = remaining.shape
    result = np.empty((draws, sets, int(sizes.sum())))
    for position in range(int(sizes.max())):
        last = sizes == position + 1
        result[:, :, start[last] + position] = remaining[:, :, last]
        more = np.flatnonzero(sizes > position + 1)
        if not len(more):
            break
        kinds = groups.kind[more]
        order = np.array(
            [orders_of_kind[min(position, len(orders_of_kind) - 1)] for orders_of_kind in lists]
        )[kinds]
        later = np.array(
            [
                np.bincount(orders_of_kind[position + 1 :], minlength=len(orders))
                for orders_of_kind in lists
            ],
            dtype=float,
        )
        width, rest = power[:, order], (power @ later.T)[:, kinds]
        shape = draws, sets, len(more)
        width, rest = (
            np.ascontiguousarray(np.broadcast_to(widths[:, None], shape)).reshape(-1)
            for widths in (width, rest)
        )
        share, sums = np.empty(draws * sets * len(more)), remaining[:, :, more].reshape(-1)
        with rng.bit_generator.lock:
            kernel.split_off(sums, width, rest, cauchy, share, rng.bit_generator.capsule)
        share = share.reshape(shape)
        result[:, :, start[more] + position] = share
        remaining[:, :, more] -= share
    return result
