"""Slow, obvious twins of patterns and of the logistic model: dictionaries and dense matrices.

Nothing here imports a kernel or the code it checks.
"""

from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from scipy import special, stats

# ---- patterns ----


def suffix(history, order: int) -> tuple:
    """The last `order` states: the pattern of that order that a history expresses."""
    history = tuple(int(v) for v in history)
    return history[len(history) - order :]


def expressions(histories, order: int) -> dict[tuple, tuple]:
    """Every pattern that a training sample expresses, and the samples that do, ascending."""
    found: dict[tuple, list] = {}
    for sample, history in enumerate(histories):
        for o in range(order + 1):
            found.setdefault(suffix(history, o), []).append(sample)
    return {pattern: tuple(samples) for pattern, samples in found.items()}


def superpatterns(histories, order: int) -> dict[tuple, list]:
    """Every distinct expression, and the patterns that have it."""
    groups: dict[tuple, list] = {}
    for pattern, samples in expressions(histories, order).items():
        groups.setdefault(samples, []).append(pattern)
    return groups


def by_order(patterns, order: int) -> tuple:
    """How many of the patterns are of each order."""
    return tuple(sum(len(pattern) == o for pattern in patterns) for o in range(order + 1))


def patterns_of(history, order: int) -> list[tuple]:
    """All patterns that a history expresses."""
    return [suffix(history, o) for o in range(order + 1)]


# ---- patterns of features ----


def feature_expressions(X, order: int, min_samples: int = 1) -> dict[tuple, int]:
    """Every pattern of features that enough samples express, and these samples as bits.

    A pattern is ((feature, value), ...), features ascending.
    """
    X = np.asarray(X)
    values = [
        {int(v): sum(1 << int(i) for i in np.flatnonzero(column == v)) for v in set(column) - {-1}}
        for column in X.T
    ]
    found: dict[tuple, int] = {(): (1 << len(X)) - 1}
    level = dict(found)
    for _ in range(order):
        level = {
            (*pattern, (t, v)): samples & bits
            for pattern, samples in level.items()
            for t in range(pattern[-1][0] + 1 if pattern else 0, len(values))
            for v, bits in values[t].items()
            if (samples & bits).bit_count() >= min_samples
        }
        found |= level
    return found


def feature_groups(expressed: dict[tuple, int]) -> dict[int, list]:
    """Every distinct expression, and the patterns that have it."""
    groups: dict[int, list] = {}
    for pattern, samples in expressed.items():
        groups.setdefault(samples, []).append(pattern)
    return groups


def feature_patterns_of(x, order: int) -> list[tuple]:
    """All patterns that a sample expresses; a value that is missing (-1) is in none."""
    items = [(t, int(v)) for t, v in enumerate(x) if v != -1]
    return [pattern for o in range(order + 1) for pattern in combinations(items, o)]


def interval_patterns(fixed, free, order: int) -> list[tuple]:
    """Patterns that fix all of `fixed` and some of `free`."""
    return [
        tuple(sorted(fixed + some))
        for o in range(order - len(fixed) + 1)
        for some in combinations(free, o)
    ]


def thesis_superpatterns(X, order: int, min_samples: int = 1) -> int:
    """How many superpatterns the thesis's splitting leaves: by the first most diverse feature."""

    def diversity(column) -> float:
        share = np.unique(column, return_counts=True)[1] / len(column)
        return 0.0 if (column == -1).all() else float(-(share * np.log(share)).sum())

    def count(rows, features, fixed) -> int:
        best, greatest = None, 1e-9
        for t in features if fixed < order else ():
            if (found := diversity(rows[:, t])) > greatest * (1 + 1e-9):
                best, greatest = t, found
        if best is None:
            return 1
        rest = [t for t in features if t != best]
        parts = [rows[rows[:, best] == v] for v in set(rows[:, best]) - {-1}]
        return count(rows, rest, fixed) + sum(
            count(part, rest, fixed + 1) for part in parts if len(part) >= min_samples
        )

    X = np.asarray(X)
    return count(X, range(X.shape[1]), 0)


# ---- the model ----


def log_inverse_gamma(log_x: float, shape: float, rate: float) -> float:
    """Density of x."""
    return (
        shape * np.log(rate) - special.gammaln(shape)
        - (shape + 1) * log_x - rate * np.exp(-log_x)
    )  # fmt: skip


@dataclass(frozen=True)
class Posterior:
    """eqn-softmax, eqn-dist-sg and eqn-cc-prior with a dense design (N, G) of zeros and ones.

    counts (G, O + 1) are patterns by order, response (N,); coefficients (S, G), S = 1 for K = 2.
    """

    design: np.ndarray
    counts: np.ndarray
    response: np.ndarray
    n_classes: int
    cauchy: bool
    shape: float
    mode: float

    @property
    def order(self) -> int:
        return self.counts.shape[1] - 1

    def eta(self, coefficient) -> np.ndarray:
        """Linear functions of all K classes, (K, N): with two, the first one's are 0."""
        eta = coefficient @ self.design.T
        return np.vstack([np.zeros(len(self.design)), eta]) if self.n_classes == 2 else eta

    def log_likelihood(self, coefficient) -> float:
        log_p = special.log_softmax(self.eta(coefficient), axis=0)
        return float(log_p[self.response, np.arange(len(self.response))].sum())

    def scale(self, log_sigma) -> np.ndarray:
        """Width of each group's coefficients; for Gaussian priors its standard deviation."""
        power = np.exp(log_sigma) if self.cauchy else np.exp(log_sigma) ** 2
        total = self.counts @ power
        return total if self.cauchy else np.sqrt(total)

    def log_coefficients(self, coefficient, log_sigma) -> float:
        width = self.scale(log_sigma)
        if self.cauchy:
            log_density = -np.log(np.pi) - 2 * np.log(np.hypot(1, coefficient / width))
        else:
            log_density = -np.log(2 * np.pi) / 2 - (coefficient / width) ** 2 / 2
        return float((log_density - np.log(width)).sum())

    def rate(self, o: int) -> float:
        return (self.shape + 1) * self.mode / o

    def log_sigma_prior(self, o: int, log_sigma: float) -> float:
        """Density of sigma_o itself, not of its logarithm."""
        return log_inverse_gamma(log_sigma, self.shape, self.rate(o))

    def log_prior(self, coefficient, log_sigma, sampled=True) -> float:
        orders = range(1, self.order + 1) if sampled else ()
        return self.log_coefficients(coefficient, log_sigma) + sum(
            self.log_sigma_prior(o, log_sigma[o]) for o in orders
        )


def dense(histories, order: int, *, compressed: bool):
    """Design (N, G) and counts (G, O + 1), in no particular order of groups."""
    if compressed:
        items = [
            (samples, by_order(p, order)) for samples, p in superpatterns(histories, order).items()
        ]
    else:
        items = [(c, by_order([p], order)) for p, c in expressions(histories, order).items()]
    design = np.zeros((len(histories), len(items)))
    for g, (samples, _) in enumerate(items):
        design[list(samples), g] = 1
    return design, np.array([counts for _, counts in items])


# ---- a textbook's sampler, which spends random numbers as the kernel does ----


def slice_update(log_density, x0, width, most_steps, rng) -> tuple[float, int]:
    """Neal (2003), figures 3 and 5; returns the new point and how many others were looked at."""
    level = log_density(x0) + np.log(1 - rng.random())
    left = x0 - width * rng.random()
    right = left + width
    steps_left = int(np.floor(most_steps * rng.random()))
    steps_right = most_steps - 1 - steps_left
    looked = 0
    for sign in (-1, 1):
        for _ in range(steps_left if sign < 0 else steps_right):
            looked += 1
            if log_density(left if sign < 0 else right) < level:
                break
            if sign < 0:
                left -= width
            else:
                right += width
    while True:
        x = left + rng.random() * (right - left)
        looked += 1
        if log_density(x) >= level:
            return x, looked
        if x < x0:
            left = x
        else:
            right = x


def sweep_coefficients(model, coefficient, log_sigma, step, most_steps, rng) -> int:
    looked = 0
    for g, k in product(range(coefficient.shape[1]), range(len(coefficient))):

        def log_density(x, g=g, k=k):
            moved = coefficient.copy()
            moved[k, g] = x
            return model.log_likelihood(moved) + model.log_coefficients(moved, log_sigma)

        coefficient[k, g], more = slice_update(
            log_density, coefficient[k, g], step, most_steps, rng
        )
        looked += more
    return looked


def sweep_widths(model, coefficient, log_sigma, scale, step, most_steps, rng) -> int:
    looked = 0
    for o in range(1, model.order + 1):

        def log_density(x, o=o):
            if scale == "natural" and x <= 0:
                return -np.inf
            moved = log_sigma.copy()
            moved[o] = x if scale == "log" else np.log(x)
            if abs(moved[o]) > 80:
                return -np.inf
            jacobian = x if scale == "log" else 0
            return (
                model.log_coefficients(coefficient, moved)
                + model.log_sigma_prior(o, moved[o])
                + jacobian
            )

        start = log_sigma[o] if scale == "log" else np.exp(log_sigma[o])
        x, more = slice_update(log_density, start, step, most_steps, rng)
        log_sigma[o] = x if scale == "log" else np.log(x)
        looked += more + 1
    return looked


def standard_normal(rng) -> float:
    """The polar method, one number of each pair."""
    while True:
        x, y = 2 * rng.random() - 1, 2 * rng.random() - 1
        r = x * x + y * y
        if 0 < r <= 1:
            return x * np.sqrt(-2 * np.log(r) / r)


# ---- real responses ----


@dataclass(frozen=True)
class NormalPosterior(Posterior):
    """Real responses: the linear function (n_classes is 1) plus normal noise.

    noise_shape, noise_mode of the Inverse-Gamma prior of the noise's standard deviation.
    """

    noise_shape: float
    noise_mode: float
    log_noise: float

    def log_likelihood(self, coefficient) -> float:
        eta = self.eta(coefficient)[0]
        squares = ((self.response - eta) ** 2).sum() * np.exp(-2 * self.log_noise)
        return -squares / 2 - len(eta) * (self.log_noise + np.log(2 * np.pi) / 2)

    @property
    def noise_rate(self) -> float:
        return (self.noise_shape + 1) * self.noise_mode

    def log_noise_prior(self) -> float:
        """Density of the noise itself, not of its logarithm."""
        return log_inverse_gamma(self.log_noise, self.noise_shape, self.noise_rate)


def draw_coefficients(model: NormalPosterior, coefficient, log_sigma, rng) -> int:
    """Each coefficient from its normal conditional distribution, where priors are Gaussian."""
    variance, noise = model.scale(log_sigma) ** 2, np.exp(2 * model.log_noise)
    for g, column in enumerate(model.design.T):
        others = coefficient.copy()
        others[0, g] = 0
        precision = column.sum() / noise + 1 / variance[g]
        mean = column @ (model.response - model.eta(others)[0]) / noise / precision
        coefficient[0, g] = mean + standard_normal(rng) / np.sqrt(precision)
    return 0


def sweep_noise(model: NormalPosterior, coefficient, most_steps, rng):
    """The model with a new noise, and how often its density was asked for."""

    def log_density(x):
        if abs(x) > 80:
            return -np.inf
        moved = replace(model, log_noise=x)
        return moved.log_likelihood(coefficient) + moved.log_noise_prior() + x

    x, looked = slice_update(log_density, model.log_noise, 1.0, most_steps, rng)
    return replace(model, log_noise=x), looked + 1


# ---- exact draws from the joint distribution ----


def prior_draws(model: Posterior, sigma_0: float, size: int, rng, log_sigma=None):
    """Draw log sigma (size, O + 1), which may be given, and coefficients (size, S, G)."""
    if log_sigma is None:
        log_sigma = np.full((size, model.order + 1), np.log(sigma_0))
        for o in range(1, model.order + 1):
            gamma = stats.gamma.isf(rng.random(size), model.shape)
            log_sigma[:, o] = np.log(model.rate(o)) - np.log(gamma)
    else:
        log_sigma = np.tile(log_sigma, (size, 1))
    power = np.exp((1 if model.cauchy else 2) * log_sigma) @ model.counts.T
    width = power if model.cauchy else np.sqrt(power)
    sets = 1 if model.n_classes == 2 else model.n_classes
    draw = rng.standard_cauchy if model.cauchy else rng.standard_normal
    return log_sigma, draw((size, sets, len(model.counts))) * width[:, None, :]


def joint_draws(model: Posterior, sigma_0: float, size: int, rng, log_sigma=None):
    """Draw (log sigma, coefficients, responses) `size` times; log_sigma (O + 1,) may be given."""
    log_sigma, coefficient = prior_draws(model, sigma_0, size, rng, log_sigma)
    sets = coefficient.shape[1]
    eta = coefficient @ model.design.T
    if sets == 1:
        eta = np.concatenate([np.zeros_like(eta), eta], axis=1)
    response = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    return log_sigma, coefficient, response


def with_response(model: Posterior, response) -> Posterior:
    return replace(model, response=np.asarray(response))
