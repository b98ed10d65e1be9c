"""Predictions of logistic models, and their original coefficients.

| thesis | name | shape |
|---|---|---|
| s_g^t | share of a group's sum that a test case expresses | drawn for each draw and case |
| s^* | sum of a test case's new coefficients | drawn for each draw and case |

Sections "Splitting Compressed Parameters", "Sampling from the Splitting Distribution" and "Making
Prediction for a Test Case"; equation eqn-int-pred.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from thesiskit._kernels import splitting as kernel  # type: ignore[attr-defined]
from thesiskit.errors import UserError
from thesiskit.models.logistic.splitting import expected_logistic_cauchy, expected_logistic_gaussian
from thesiskit.models.patterns import Groups, Shared
from thesiskit.models.priors import whole

BLOCK = 16_000_000  # numbers held at once
TOLERANCE, MOST_HALVINGS = 1e-4, 200  # of quantiles, in units of the noise


def predict(
    coefficient: np.ndarray,
    log_sigma: np.ndarray,
    shared: Shared,
    n_classes: int,
    *,
    cauchy: bool,
    rng: np.random.Generator,
    split_draws: int | str = 1,
) -> np.ndarray:
    """Return the predictive probabilities of the classes, (T, K), averaged over draws.

    Equation eqn-int-pred, with eqn-split2 of each sum that a test case has in part.

    coefficient (D, S, G) and log_sigma (D, O + 1) are draws; shared says what the test cases have
    in common with the groups.  Every draw is split split_draws times; "exact" does without, where
    the expectation is known: two classes, and Gaussian priors or at most one group in part.
    """
    coefficient = np.ascontiguousarray(coefficient, dtype=float)
    cases = len(shared.new_kind)
    if split_draws == "exact":
        return _exact(coefficient, log_sigma, shared, n_classes, cauchy)[shared.case_of]
    if isinstance(split_draws, bool) or not isinstance(split_draws, int | np.integer):
        raise UserError(f"split_draws must be a whole number or 'exact', got {split_draws!r}")
    if split_draws < 1:
        raise UserError(f"split_draws must be at least 1, got {split_draws}")
    total = np.zeros((cases, n_classes))
    with rng.bit_generator.lock:
        kernel.add_probabilities(
            coefficient, shared.whole_begin, shared.whole, shared.partial_begin, shared.partial,
            shared.partial_kind, *_widths(log_sigma, shared, cauchy), cauchy, int(split_draws),
            total, rng.bit_generator.capsule,
        )  # fmt: skip
    return (total / total.sum(axis=1, keepdims=True))[shared.case_of]


@dataclass(frozen=True)
class Response:
    """Predictive distributions of T real responses: mixtures of normal ones over draws.

    distinct (D, .) are draws of the linear functions of distinct cases, noise (D,) standard
    deviations; case_of (T,) says which distinct case each case is.
    """

    distinct: np.ndarray
    noise: np.ndarray
    case_of: np.ndarray

    @property
    def linear(self) -> np.ndarray:
        """Draws of the linear functions of all cases, (D, T)."""
        return self.distinct[:, self.case_of]

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
        return result[:, self.case_of]

    def log_density(self, response: np.ndarray) -> np.ndarray:
        """Return the log predictive densities of the responses (T,), (T,)."""
        response = np.asarray(response, dtype=float)
        result = np.empty(len(response))
        step = max(1, BLOCK // len(self.distinct))
        for start in range(0, len(result), step):
            part = slice(start, start + step)
            z = (response[part] - self.distinct[:, self.case_of[part]]) / self.noise[:, None]
            result[part] = special.logsumexp(-(z**2) / 2 - np.log(self.noise)[:, None], axis=0)
        return result - np.log(len(self.distinct) * np.sqrt(2 * np.pi))


def _mixture_quantile(mean: np.ndarray, sd: np.ndarray, level: float) -> np.ndarray:
    # of equally likely N(mean[d, t], sd[d]^2), by bisection
    sd = sd[:, None]

    def above(mean, level):
        # a share level / p of the draws is below this with probability p or more each
        p = (1 + level) / 2
        return np.quantile(mean + sd * special.ndtri(p), level / p, axis=0, method="inverted_cdf")

    low, high = -above(-mean, 1 - level), above(mean, level)
    for _ in range(MOST_HALVINGS):
        wide = high - low > TOLERANCE * sd.min()  # each case by itself, whichever others there are
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
    shared: Shared,
    *,
    cauchy: bool,
    rng: np.random.Generator,
    split_draws: int = 1,
) -> Response:
    """Return the predictive distributions of real responses.

    coefficient (D, 1, G), log_sigma (D, O + 1) and log_noise (D,) are draws; shared as in
    `predict`.  Every draw is split split_draws times: D split_draws draws of linear functions.
    """
    split_draws = whole("split_draws", split_draws)
    coefficient = np.ascontiguousarray(coefficient, dtype=float)
    linear = np.empty((len(coefficient) * split_draws, len(shared.new_kind)))
    with rng.bit_generator.lock:
        kernel.fill_linear(
            coefficient, shared.whole_begin, shared.whole, shared.partial_begin, shared.partial,
            shared.partial_kind, *_widths(log_sigma, shared, cauchy), cauchy, split_draws, linear,
            rng.bit_generator.capsule,
        )  # fmt: skip
    return Response(linear, np.repeat(np.exp(log_noise), split_draws), shared.case_of)


def _widths(log_sigma: np.ndarray, shared: Shared, cauchy: bool):
    """Return widths (variances, of Gaussian priors) of what is shared, not shared, and new.

    Each is (D, kinds); new_kind goes before the last.
    """
    power = np.exp((1 if cauchy else 2) * log_sigma)
    first, second, new = (
        np.ascontiguousarray(power @ counts.T.astype(float))
        for counts in (shared.shared_counts, shared.other_counts, shared.new_counts)
    )
    return first, second, shared.new_kind, new


def _exact(coefficient, log_sigma, shared: Shared, n_classes: int, cauchy: bool) -> np.ndarray:
    parts = np.diff(shared.partial_begin)
    if n_classes != 2:
        raise UserError("split_draws: exact needs two classes; use a number of draws")
    if cauchy and parts.max(initial=0) > 1:
        raise UserError(
            "split_draws: exact is not known for Cauchy priors where a case shares several groups "
            "in part; use a number of draws"
        )
    first, second, new_kind, new = _widths(log_sigma, shared, cauchy)
    cases = len(new_kind)
    result = np.empty(cases)
    step = max(1, BLOCK // len(coefficient) // 20)
    for start in range(0, cases, step):
        part = slice(start, min(start + step, cases))
        s = coefficient[:, 0]
        entire = _sums(s, shared.whole, shared.whole_begin, part)
        extra = new[:, new_kind[part]]
        if cauchy:
            has = parts[part] > 0
            entry = np.minimum(shared.partial_begin[part], max(0, len(shared.partial) - 1))
            split = [np.zeros((len(s), len(entry))) for _ in range(3)]
            if has.any():
                entry = entry[has]
                kind = shared.partial_kind[entry]
                for out, value in zip(
                    split, (s[:, shared.partial[entry]], first[:, kind], second[:, kind]),
                    strict=True,
                ):  # fmt: skip
                    out[:, has] = value
            p = expected_logistic_cauchy(entire, split[0], split[1], split[2], extra)
        else:
            a, b = first[:, shared.partial_kind], second[:, shared.partial_kind]
            share = a / (a + b)
            begin = shared.partial_begin
            mean = entire + _sums(s[:, shared.partial] * share, None, begin, part)
            variance = extra + _sums(b * share, None, begin, part)
            p = expected_logistic_gaussian(mean, np.sqrt(variance))
        result[part] = p.mean(axis=0)
    return np.stack([1 - result, result], axis=1)


def _sums(values, which, begin, part: slice) -> np.ndarray:
    """Return for the cases of `part` sums over their entries of values (D, .), (D, cases)."""
    bounds = begin[part.start : part.stop + 1]
    entries = slice(bounds[0], bounds[-1])
    columns = values[:, entries] if which is None else values[:, which[entries]]
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(columns, axis=1)], axis=1)
    return sums[:, bounds[1:] - bounds[0]] - sums[:, bounds[:-1] - bounds[0]]


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
    sizes = np.array([len(one) for one in lists])[groups.kind]
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
        here = np.array([one[min(position, len(one) - 1)] for one in lists])[kinds]
        later = np.array(
            [np.bincount(one[position + 1 :], minlength=len(orders)) for one in lists], dtype=float
        )
        width, other = power[:, here], (power @ later.T)[:, kinds]
        share = np.empty(draws * sets * len(more))
        with rng.bit_generator.lock:
            kernel.split_off(
                remaining[:, :, more].reshape(-1),
                *(
                    np.ascontiguousarray(np.broadcast_to(one[:, None], (draws, sets, len(more))))
                    .reshape(-1)
                    for one in (width, other)
                ),
                cauchy, share, rng.bit_generator.capsule,
            )  # fmt: skip
        share = share.reshape(draws, sets, len(more))
        result[:, :, start[more] + position] = share
        remaining[:, :, more] -= share
    return result
