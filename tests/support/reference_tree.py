"""A slow, dense version of the joint move of sequences, with the kernel's random numbers.

The kernel passes over a tree.  Here rows and coefficients have covariance matrices: the marginal
density of the rows' pseudo-responses, its gradient, and the posterior of the coefficients are those
of linear regression.  Draws are sequential in the order of the groups, as the kernel's are.
"""

import numpy as np
from reference_logistic import NormalPosterior, slice_update, standard_normal
from scipy import special
from scipy.linalg import solve_triangular

CUT = 0.64
ROUNDS, MOST_STEPS, FIRST_STEP, SHARE, ACCEPTED = 3, 12, 0.3, 0.3, 0.8


def uniform(rng) -> float:
    return 1 - rng.random()


# ---- Polya-Gamma variables ----


def exponential(rng) -> float:
    return -np.log(uniform(rng))


def left_of_cut(z, rng) -> float:
    if z * CUT < 1:
        while True:
            x, y = exponential(rng), exponential(rng)
            if x * x > 2 * y / CUT:
                continue
            x = CUT / (1 + CUT * x) ** 2
            if uniform(rng) <= np.exp(-z * z * x / 2):
                return x
    mean = 1 / z
    while True:
        y = mean * standard_normal(rng) ** 2
        x = mean * (1 + (y - np.sqrt(y * (4 + y))) / 2)
        if uniform(rng) > mean / (mean + x):
            x = mean * mean / x
        if 0 < x < CUT:
            return x


def accepted(x, rng) -> bool:
    """Whether u a_0(x) is below the alternating sum, of as many terms as digits can tell."""
    rate = 2 / x if x <= CUT else np.pi**2 * x / 2
    n = np.arange(60)
    terms = (-1.0) ** n * (2 * n + 1) * np.exp(-n * (n + 1) * rate)
    return uniform(rng) <= terms.sum()


def polya_gamma(samples, c, rng) -> float:
    z = abs(c) / 2
    rate = np.pi**2 / 8 + z * z / 2
    right = np.pi / (2 * rate) * np.exp(-rate * CUT)
    below, above = (CUT * z - 1) / CUT**0.5, -(CUT * z + 1) / CUT**0.5
    left = 2 * np.exp(-z + special.log_ndtr(below)) + 2 * np.exp(z + special.log_ndtr(above))
    right = 0 if z > 30 else right / (right + left)
    total = 0.0
    for _ in range(int(samples)):
        while True:
            if right > 0 and uniform(rng) <= right:
                x = CUT + exponential(rng) / rate
            else:
                x = left_of_cut(z, rng)
            if accepted(x, rng):
                break
        total += x
    return total / 4


# ---- regression ----


def log_density(A, precision, linear, variance) -> tuple[float, np.ndarray]:
    """The log marginal density of rows, but for what the variances do not change, and its slopes.

    exp(-precision eta^2 / 2 + linear eta) for eta = A s and s ~ N(0, variance).
    """
    y = linear / precision
    covariance = (A * variance) @ A.T + np.diag(1 / precision)
    inverse = np.linalg.inv(covariance)
    log = -(y @ inverse @ y + np.linalg.slogdet(covariance)[1]) / 2
    log += (linear @ y - np.log(precision).sum()) / 2
    return log, ((A.T @ inverse @ y) ** 2 - np.einsum("rg,rq,qg->g", A, inverse, A)) / 2


def draw(A, precision, linear, variance, rng) -> np.ndarray:
    """Each coefficient given those before it, by least squares with the prior as further rows.

    With rows Q R, R lower triangular, the posterior precision is R' R: R (s - mean) ~ N(0, I).
    """
    rows = np.vstack([np.sqrt(precision)[:, None] * A, np.diag(variance**-0.5)])
    values = np.append(linear / np.sqrt(precision), np.zeros(len(variance)))
    Q, R = (one[:, ::-1] for one in np.linalg.qr(rows[:, ::-1]))
    R = R[::-1]
    sign = np.sign(np.diag(R))
    z = np.array([standard_normal(rng) for _ in variance])
    return solve_triangular(R * sign[:, None], sign * (Q.T @ values) + z, lower=True)


# ---- the move ----


class Tuned:
    """What a sampler learns in so many rounds."""

    def __init__(self, order, rounds):
        self.step, self.mass = FIRST_STEP, np.ones(order)
        self.rounds, self.slopes, self.since = rounds, [], 0
        self.done = 0

    def learn(self, slope, probability):
        if self.done == self.rounds:
            return
        self.done += 1
        third = self.rounds // 3
        self.since += 1
        self.step *= np.exp((probability - ACCEPTED) / np.sqrt(self.since))
        if third < self.done <= 2 * third:
            self.slopes.append(np.abs(slope))
        if self.done == 2 * third:
            self.mass = 1 + SHARE * np.mean(self.slopes, axis=0) ** 2
            self.since = 0


def move_tree(model, groups, coefficient, log_sigma, settings, tuning, rng) -> int:
    """One round; returns how often the density of the log sigmas was asked for."""
    first = [int(np.flatnonzero(groups.row_of == r)[0]) for r in range(groups.n_rows)]
    samples, A = np.bincount(groups.row_of), model.design[first]
    response = np.bincount(groups.row_of, model.response)
    if isinstance(model, NormalPosterior):
        precision = samples * np.exp(-2 * model.log_noise)
        linear = response * np.exp(-2 * model.log_noise)
    else:
        eta = A @ coefficient[0]
        precision = np.array([polya_gamma(n, x, rng) for n, x in zip(samples, eta, strict=True)])
        linear = response - samples / 2
    mixing, looked = np.ones(len(A.T)), 0
    if model.cauchy:
        ratio = coefficient[0] / model.scale(log_sigma)
        mixing = np.array([(1 + x * x) / 2 / exponential(rng) for x in ratio])

    def at(x):
        """The log density of x, and its gradient."""
        variance = model.scale(x) ** 2 * mixing
        log, slopes = log_density(A, precision, linear, variance)
        gradient = np.zeros(len(x))
        for o in range(1, len(x)):
            log += model.log_sigma_prior(o, x[o]) + x[o]
            gradient[o] = model.rate(o) * np.exp(-x[o]) - model.shape
            size = model.scale(x) if model.cauchy else 1
            power = np.exp((1 if model.cauchy else 2) * x[o])
            gradient[o] += (slopes * mixing * 2 * size * model.counts[:, o] * power).sum()
        return log, gradient[1:]

    moves = settings.sigma is None and len(log_sigma) > 1
    if moves:
        x = log_sigma.copy()
        here, slope = at(x)
        start, gradient = slope, slope
        steps = 1 + int(MOST_STEPS * rng.random())
        step = tuning.step * (0.75 + 0.5 * rng.random())
        p = np.sqrt(tuning.mass) * [standard_normal(rng) for _ in tuning.mass]
        energy, u, probability = here - (p * p / tuning.mass).sum() / 2, uniform(rng), 0.0
        for _ in range(steps):
            looked += 1
            p = p + step / 2 * gradient
            x[1:] += step * p / tuning.mass
            if not np.abs(x[1:]).max() <= 80:
                break
            there, gradient = at(x)
            p = p + step / 2 * gradient
        else:
            change = there - (p * p / tuning.mass).sum() / 2 - energy
            probability = np.exp(min(change, 0))
            if change >= np.log(u):
                log_sigma[:], start = x, gradient
        tuning.learn(start, probability)
        looked += 1
    variance = model.scale(log_sigma) ** 2 * mixing
    coefficient[0] = draw(A, precision, linear, variance, rng)
    return looked + (shift(model, coefficient, log_sigma, settings, rng) if moves else 0)


def shift(model, coefficient, log_sigma, settings, rng) -> int:
    """All log sigmas given the ratios of coefficients to their widths."""

    def moved_to(d):
        moved = log_sigma.copy()
        moved[1:] += d
        return coefficient * (model.scale(moved) / model.scale(log_sigma)), moved

    def log_density(d):
        s, moved = moved_to(d)
        if np.abs(moved[1:]).max() > 80:
            return -np.inf
        prior = sum(model.log_sigma_prior(o, moved[o]) + moved[o] for o in range(1, len(moved)))
        return model.log_likelihood(s) + prior

    d, looked = slice_update(log_density, 0.0, 1.0, settings.most_steps, rng)
    coefficient[:], log_sigma[:] = moved_to(d)
    return looked + 1
