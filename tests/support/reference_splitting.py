"""Splits of a sum, drawn in numpy: what the kernel's draws are compared with.

sigma_1^2 and sigma_2^2 of Gaussian priors are `variance` and `other_variance`.  The algebra is told
in thesiskit/models/splitting.py, which has the CDF.
"""

import numpy as np

from thesiskit.models.splitting import _exponent, _numbers, _share


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
