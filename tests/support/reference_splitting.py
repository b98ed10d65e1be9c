"""Splits of a sum, drawn and by their CDF, in numpy: what the kernel's draws are compared with.

C of eqn-C-cauchy is 1 / `_density_scale`; sigma_1^2 and sigma_2^2 of Gaussian priors are `variance`
and `other_variance`.  The algebra is told in thesiskit/models/splitting.py.
"""

import numpy as np

from thesiskit.models.base import gauss_legendre
from thesiskit.models.splitting import _divided_log, _narrow_first, _numbers, _share

POINT = 1e-200  # a width below this part of the other one, or of s, is none
TAIL = 4.0  # the CDF is a Gauss-Legendre sum where -x is from 4 to 8 times the scale, and beyond,
TAIL_NODES = 12  # with an error below 1e-20 of it


def cauchy_split_cdf(x, s, width, other_width):
    """Return P(S_t <= x), S_t the first of two independent Cauchy variables whose sum is s.

    Equation eqn-cdf-split-cc1; x may be infinite.  A width of 0 is a point: S_t is 0, or all of s.
    Raises UserError for NaN, negative widths, and s != 0 with two widths of 0.
    """
    x, s, a, b = _numbers(x=x, s=s, width=width, other_width=other_width)
    exponent = _exponent(s, a, b)
    with np.errstate(over="ignore"):
        x, s, a, b = (np.ldexp(value, -exponent) for value in (x, s, a, b))
    x = np.clip(x, -1e120, 1e120)
    centre, other_centre, shift, narrow, wide = _narrow_first(s, a, b)
    point = narrow < POINT
    narrow, wide = np.maximum(narrow, POINT), np.maximum(wide, POINT)
    share = narrow / (narrow + wide)
    near, far = centre - x + 1j * narrow, other_centre - x + 1j * wide
    log = _divided_log(near, far, shift + 1j * (wide - narrow))
    cdf = np.angle(near) + share * ((shift - 1j * (narrow + wide)) * log).imag
    cdf = np.array(np.clip(np.where(point, x >= centre, cdf / np.pi), 0, 1))
    tail = ~point & (x < -TAIL)
    cdf[tail] = _lower_tail(x[tail], s[tail], a[tail], b[tail])
    return cdf[()]


def sample_cauchy_split(s, width, other_width, rng: np.random.Generator):
    """Draw S_t from eqn-cond-cauchy, one for each element of the broadcast arguments; exact.

    Raises UserError as `cauchy_split_cdf` does.
    """
    s, a, b = _numbers(s=s, width=width, other_width=other_width)
    exponent = _exponent(s, a, b)
    s, a, b = (np.ldexp(value, -exponent).ravel() for value in (s, a, b))
    draws = np.empty(len(s))
    todo = np.arange(len(s))
    while len(todo):
        draw, probability = propose(s[todo], a[todo], b[todo], rng)
        accepted = rng.random(len(todo)) < probability
        draws[todo[accepted]] = draw[accepted]
        todo = todo[~accepted]
    return np.ldexp(draws.reshape(exponent.shape), exponent)[()]


def gaussian_split(s, variance, other_variance):
    """Return the mean and the variance of S_t given S = s: eqn-cond-gs.

    Both have the broadcast shape.  Raises UserError as `cauchy_split_cdf` does.
    """
    s, v, w = _numbers(s=s, variance=variance, other_variance=other_variance)
    exponent = _exponent(v, w)
    share, other_share = (
        _share(np.ldexp(first, -exponent), np.ldexp(second, -exponent))
        for first, second in ((v, w), (w, v))
    )
    return (s * share)[()], (np.minimum(v, w) * np.maximum(share, other_share))[()]


def sample_gaussian_split(s, width, other_width, rng: np.random.Generator):
    """Draw S_t from eqn-cond-gs, one for each element of the broadcast arguments.

    Raises UserError as `cauchy_split_cdf` does.
    """
    s, a, b = _numbers(s=s, width=width, other_width=other_width)
    exponent = _exponent(a, b)
    first, second = np.ldexp(a, -exponent), np.ldexp(b, -exponent)
    length = np.hypot(first, second)
    length = np.where(length == 0, 1, length)
    sine, cosine = first / length, second / length
    return (s * sine * sine + a * cosine * rng.standard_normal(s.shape))[()]


def propose(s, a, b, rng):
    """Return proposals and the probabilities to accept them with.

    With A = a^2 + x^2 and B = b^2 + (x - s)^2, 1 / (A B) = (1 / A + 1 / B) / (A + B): a mixture of
    two Cauchys, of weights b and a, times 1 / (A + B) <= 1 / (a^2 + b^2 + s^2 / 2).  At least half
    are accepted on average.
    """
    first = rng.random(len(s)) * (a + b) < b
    step = np.where(first, a, b) * rng.standard_cauchy(len(s))
    x = np.where(first, step, s + step)
    with np.errstate(over="ignore"):
        total = a * a + x * x + b * b + np.where(first, x - s, step) ** 2
        least = a * a + b * b + s * s / 2
    return x, np.divide(least, total, out=np.ones(len(s)), where=total > 0)


def _exponent(*arrays) -> np.ndarray:
    """Return e such that the largest of the arrays is 2^e times something from 1/2 to 1."""
    return np.asarray(np.frexp(np.max(np.abs(arrays), axis=0))[1])


def _density_scale(s, a, b) -> np.ndarray:
    """Return 1 / C of eqn-C-cauchy."""
    narrow, wide = np.minimum(a, b), np.maximum(a, b)
    return narrow * (wide / (narrow + wide)) * (s * s + (a + b) ** 2) / np.pi


def _lower_tail(x, s, a, b) -> np.ndarray:
    """Return the CDF far below both centres: an integral over u = x / t from 0 to 1."""
    rule = gauss_legendre(TAIL_NODES)
    total = np.zeros(len(x))
    for u, weight in zip(rule.theta, rule.weight, strict=True):
        r = u / x
        total += weight * u * u / ((1 + (a * r) ** 2) * ((1 - s * r) ** 2 + (b * r) ** 2))
    return _density_scale(s, a, b) * total * (1 / np.abs(x)) ** 3
