"""Splitting the sum of a compressed group into the part that a test case needs and the rest.

| thesis | name | shape |
|---|---|---|
| s_g | `s` | any; all arguments are broadcast |
| s_g^t | what is sampled; `x` where its CDF is asked for | the broadcast shape |
| sigma_1, sigma_2 of Cauchy priors, sums over k of sigma_gk | `width`, `other_width` | any |
| the same of Gaussian priors, whose squares add up | `width`, `other_width` | any |
| sigma_1^2, sigma_2^2 | `variance`, `other_variance` | any |
| the width of the sum of all s_z^* | `extra_width` | any |
| C | `_density_scale` is 1 / C | the broadcast shape |

Section "Sampling from the Splitting Distribution", equations eqn-split2 to eqn-C-cauchy and, for
predictions, eqn-int-pred with a logistic function for a.

The density of a Cauchy split has two poles above the real line, p = i a and q = s + i b, for widths
a and b.  If a function is the real part there of some g that is analytic above, then by residues
    E g(S) = g(p) + a / (a + b) (s - i (a + b)) g[p, q],   g[p, q] = (g(q) - g(p)) / (q - p),
and the same with p and q exchanged.  The CDF is g = log(z - x) / (pi i); the logistic function is
g = 1/2 - digamma(1/2 - i z / (2 pi)) / (pi i) up to a constant; to add a Cauchy(0, v) moves both
poles up by v.  eqn-cdf-split-cc1 is this written out, and loses its digits where p and q are close
or a / b is extreme.  Starting from the pole nearer the real line, with divided differences g[p, q]
that do not cancel, does not.
"""

import numpy as np
from scipy import special

from thesiskit.errors import UserError
from thesiskit.models.integrals import gauss_legendre

SIGNED = ("s", "mean", "location")  # arguments that may be negative
LARGEST = 1e280  # argument other than x
POINT = 1e-200  # a width below this part of the other one, or of s, is none
TAIL = 4.0  # the CDF is a Gauss-Legendre sum where -x is from 4 to 8 times the scale, and beyond,
TAIL_NODES = 12  # with an error below 1e-20 of it
SHIFT = 10  # steps of the recurrence of digamma before its asymptotic series,
SERIES = special.bernoulli(14)[2::2] / np.arange(2, 16, 2)  # whose error is then below 1e-16
WIDE = 2.0  # the Gaussian's standard deviation from which the logistic density is summed over


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


def expected_logistic_gaussian(mean, sd):
    """Return E 1 / (1 + exp(-(mean + sd Z))), Z standard Gaussian, of the broadcast shape.

    The trapezoidal rule over Z, or, by parts, over a logistic variable T: E Phi((mean + T) / sd).
    Either converges exponentially; the error is below 1e-14.  Raises UserError for negative sd.
    """
    mean, sd = _numbers(mean=mean, sd=sd)
    wide = sd >= WIDE
    probability = np.zeros(mean.shape)
    m, scale = mean[~wide], sd[~wide]
    for z in np.arange(-36, 37) / 4:
        probability[~wide] += np.exp(-z * z / 2) * special.expit(m + scale * z)
    probability[~wide] /= 4 * np.sqrt(2 * np.pi)
    m, scale = mean[wide], sd[wide]
    for t in np.arange(-72, 73) / 2:
        probability[wide] += special.expit(t) * special.expit(-t) * special.ndtr((m + t) / scale)
    probability[wide] /= 2
    return np.clip(probability, 0, 1)[()]


def expected_logistic_cauchy(location, s, width, other_width, extra_width):
    """Return E logistic(location + S_t + V), V ~ Cauchy(0, extra_width), of the broadcast shape.

    The integral over s_t and s* of eqn-int-pred, given the rest.  Raises UserError as
    `cauchy_split_cdf` does.
    """
    location, s, a, b, v = _numbers(
        location=location, s=s, width=width, other_width=other_width, extra_width=extra_width
    )
    centre, other_centre, shift, narrow, wide = _narrow_first(s, a, b)
    turn = 2 * np.pi
    near = 0.5 + (narrow + v) / turn - 1j * ((location + centre) / turn)
    far = 0.5 + (wide + v) / turn - 1j * ((location + other_centre) / turn)
    step = (wide - narrow) / turn - 1j * (shift / turn)
    factor = _share(narrow, wide) * ((narrow + wide) / turn + 1j * (shift / turn))
    phase = special.digamma(near).imag - (factor * _divided_digamma(near, far, step)).imag
    return np.clip(0.5 - phase / np.pi, 0, 1)[()]


def _numbers(**named) -> list[np.ndarray]:
    """Return the arguments as float arrays of one shape, or say what is wrong with them."""
    arrays = []
    for name, value in named.items():
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise UserError(f"{name} must be numbers, got {value!r}") from error
        if name == "x":
            good, what = ~np.isnan(array), "numbers"
        elif name in SIGNED:
            good, what = np.abs(array) <= LARGEST, f"numbers up to {LARGEST:g} in size"
        else:
            good, what = (array >= 0) & (array <= LARGEST), f"numbers from 0 to {LARGEST:g}"
        if not good.all():
            raise UserError(f"{name} must be {what}, got {array[~good].flat[0]}")
        arrays.append(array)
    try:
        arrays = list(np.broadcast_arrays(*arrays))
    except ValueError as error:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(named, arrays, strict=True))
        raise UserError(f"shapes that cannot be broadcast: {shapes}") from error
    if "s" in named:
        s, first, second = (arrays[list(named).index("s") + i] for i in range(3))
        if ((first == 0) & (second == 0) & (s != 0)).any():
            raise UserError("a sum of two parts of width 0 is 0, got another s")
    return arrays


def _exponent(*arrays) -> np.ndarray:
    """Return e such that the largest of the arrays is 2^e times something from 1/2 to 1."""
    return np.asarray(np.frexp(np.max(np.abs(arrays), axis=0))[1])


def _share(part, rest) -> np.ndarray:
    """Return part / (part + rest), or 0 where both are 0."""
    return np.divide(part, part + rest, out=np.zeros(part.shape), where=part > 0)


def _narrow_first(s, a, b):
    """Return the centre nearer its pole, the other, their difference, and the widths in order."""
    swap = b < a
    centre, other = np.where(swap, s, 0), np.where(swap, 0, s)
    return centre, other, np.where(swap, -s, s), np.minimum(a, b), np.maximum(a, b)


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


def _divided_log(z, other, step) -> np.ndarray:
    """Return (log(other) - log(z)) / step, step = other - z, both above or right of 0."""
    ratio = step / z
    close, same = np.abs(ratio) < 0.5, np.abs(ratio) < 1e-20
    log = np.where(
        close,
        special.log1p(np.where(close, ratio, 0)),
        np.log(np.where(close, 1, other / z)),
    )
    return np.where(same, 1 / z, log / np.where(same, 1, step))


def _divided_digamma(z, other, step) -> np.ndarray:
    """Return (digamma(other) - digamma(z)) / step, step = other - z, both from 1/2 to the right."""
    total = np.zeros(z.shape, dtype=complex)
    for n in range(SHIFT):  # digamma(z) = digamma(z + 1) - 1 / z
        total += (1 / (z + n)) * (1 / (other + n))
    z, other = z + SHIFT, other + SHIFT
    # digamma(z) ~ log z - u / 2 - sum over k of SERIES[k - 1] u^2k, u = 1 / z
    u, v = 1 / z, 1 / other
    value, slope = np.zeros_like(total), np.zeros_like(total)
    for coefficient in [*SERIES[::-1], 0.0]:  # Horner's rule, and its divided difference
        slope = slope * (v * v) + value
        value = value * (u * u) + coefficient
    return total + _divided_log(z, other, step) + u * v * (0.5 + slope * (u + v))
