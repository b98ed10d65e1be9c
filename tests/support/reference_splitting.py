"""Expectations over a split sum, and its distribution function, for draws to be compared with.

In the notation of thesiskit/models/splitting.py.  The density of a Cauchy split has two poles above
the real line, p = i a and q = s + i b, for widths a and b.  If a function is the real part there of
some g that is analytic above, then by residues
    E g(S) = g(p) + a / (a + b) (s - i (a + b)) g[p, q],   g[p, q] = (g(q) - g(p)) / (q - p),
and the same with p and q exchanged.  The logistic function is
g = 1/2 - digamma(1/2 - i z / (2 pi)) / (pi i) up to a constant; to add a Cauchy(0, v) moves both
poles up by v.  No digits are lost if one starts from the pole nearer the real line, with divided
differences g[p, q] that do not cancel.

Of the distribution function, g = log(z - x) / (pi i).  eqn-cdf-split-cc1 is this written out, and
loses its digits where the poles are close or the widths differ a lot.
"""

import numpy as np
from scipy import special

from thesiskit.models.base import gauss_legendre
from thesiskit.models.splitting import BLOCK, _widths

SHIFT = 10  # steps of the recurrence of digamma before its asymptotic series,
SERIES = special.bernoulli(14)[2::2] / np.arange(2, 16, 2)  # whose error is then below 1e-16
WIDE = 2.0  # the Gaussian's standard deviation from which the logistic density is summed over
POINT = 1e-200  # a width below this part of the other one, or of s, is none
TAIL = 4.0  # the CDF is a Gauss-Legendre sum where -x is from 4 to 8 times the scale, and beyond,
TAIL_NODES = 12  # with an error below 1e-20 of it


def cauchy_split_cdf(x, s, width, other_width):
    """Return P(S_t <= x), S_t the first of two independent Cauchy variables whose sum is s.

    Equation eqn-cdf-split-cc1; x may be infinite.  A width of 0 is a point: S_t is 0, or all of s.
    """
    x, s, a, b = np.broadcast_arrays(*map(np.float64, (x, s, width, other_width)))
    exponent = np.frexp(np.max(np.abs([s, a, b]), axis=0))[1]
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


def expected_logistic_gaussian(mean, sd):
    """Return E 1 / (1 + exp(-(mean + sd Z))), Z standard Gaussian, of the broadcast shape.

    The trapezoidal rule over Z, or, by parts, over a logistic variable T: E Phi((mean + T) / sd).
    Either converges exponentially; the error is below 1e-14.
    """
    mean, sd = np.broadcast_arrays(mean, sd)
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

    The integral over s_t and s* of eqn-int-pred, given the rest, by the residues of the density of
    equations eqn-cond-cauchy to eqn-C-cauchy.  A width of 0 is a point.
    """
    location, s, a, b, v = np.broadcast_arrays(location, s, width, other_width, extra_width)
    centre, other_centre, shift, narrow, wide = _narrow_first(s, a, b)
    turn = 2 * np.pi
    near = 0.5 + (narrow + v) / turn - 1j * ((location + centre) / turn)
    far = 0.5 + (wide + v) / turn - 1j * ((location + other_centre) / turn)
    step = (wide - narrow) / turn - 1j * (shift / turn)
    factor = _share(narrow, wide) * ((narrow + wide) / turn + 1j * (shift / turn))
    phase = special.digamma(near).imag - (factor * _divided_digamma(near, far, step)).imag
    return np.clip(0.5 - phase / np.pi, 0, 1)[()]


def _share(part, rest) -> np.ndarray:
    """Return part / (part + rest), or 0 where both are 0."""
    return np.divide(part, part + rest, out=np.zeros(part.shape), where=part > 0)


def _narrow_first(s, a, b):
    """Return the centre nearer its pole, the other, their difference, and the widths in order."""
    swap = b < a
    centre, far_centre = np.where(swap, s, 0), np.where(swap, 0, s)
    return centre, far_centre, np.where(swap, -s, s), np.minimum(a, b), np.maximum(a, b)


def _divided_log(z, far, step) -> np.ndarray:
    """Return (log(other) - log(z)) / step, step = other - z, both above or right of 0."""
    ratio = step / z
    close, equal = np.abs(ratio) < 0.5, np.abs(ratio) < 1e-20
    log = np.where(
        close, special.log1p(np.where(close, ratio, 0)), np.log(np.where(close, 1, far / z))
    )
    return np.where(equal, 1 / z, log / np.where(equal, 1, step))


def _divided_digamma(z, far, step) -> np.ndarray:
    """Return (digamma(other) - digamma(z)) / step, step = other - z, both from 1/2 to the right."""
    total = np.zeros(z.shape, dtype=complex)
    for n in range(SHIFT):  # digamma(z) = digamma(z + 1) - 1 / z
        total += (1 / (z + n)) * (1 / (far + n))
    z, far = z + SHIFT, far + SHIFT
    # digamma(z) ~ log z - u / 2 - sum over k of SERIES[k - 1] u^2k, u = 1 / z
    u, v = 1 / z, 1 / far
    value, slope = np.zeros_like(total), np.zeros_like(total)
    for coefficient in [*SERIES[::-1], 0.0]:  # Horner's rule, and its divided difference
        slope = slope * (v * v) + value
        value = value * (u * u) + coefficient
    return total + _divided_log(z, far, step) + u * v * (0.5 + slope * (u + v))


def exact_probabilities(coefficient, log_sigma, overlap, *, cauchy):
    """Return P(class), (T, 2), with the splits integrated out: eqn-cond-gs, eqn-cond-cauchy.

    With Cauchy priors each sample has to share at most one group in part.
    """
    parts = np.diff(overlap.partial_begin)
    assert not cauchy or parts.max(initial=0) <= 1
    first, second, new = _widths(log_sigma, overlap, cauchy)
    samples = len(overlap.new_kind)
    result = np.empty(samples)
    step = max(1, BLOCK // len(coefficient) // 20)
    for start in range(0, samples, step):
        part = slice(start, min(start + step, samples))
        s = coefficient[:, 0]
        entire = _sums(s, overlap.whole, overlap.whole_begin, part)
        extra = new[:, overlap.new_kind[part]]
        if cauchy:
            has = parts[part] > 0
            entry = np.minimum(overlap.partial_begin[part], max(0, len(overlap.partial) - 1))
            split = [np.zeros((len(s), len(entry))) for _ in range(3)]
            if has.any():
                entry = entry[has]
                kind = overlap.partial_kind[entry]
                values = s[:, overlap.partial[entry]], first[:, kind], second[:, kind]
                for out, value in zip(split, values, strict=True):
                    out[:, has] = value
            p = expected_logistic_cauchy(entire, split[0], split[1], split[2], extra)
        else:
            a, b = first[:, overlap.partial_kind], second[:, overlap.partial_kind]
            share = a / (a + b)
            begin = overlap.partial_begin
            mean = entire + _sums(s[:, overlap.partial] * share, None, begin, part)
            variance = extra + _sums(b * share, None, begin, part)
            p = expected_logistic_gaussian(mean, np.sqrt(variance))
        result[part] = p.mean(axis=0)
    return np.stack([1 - result, result], axis=1)[overlap.sample_of]


def _sums(values, columns_of, begin, part: slice) -> np.ndarray:
    """Return for the samples of `part` sums over their entries of values (D, .), (D, samples)."""
    bounds = begin[part.start : part.stop + 1]
    entries = slice(bounds[0], bounds[-1])
    columns = values[:, entries] if columns_of is None else values[:, columns_of[entries]]
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(columns, axis=1)], axis=1)
    return sums[:, bounds[1:] - bounds[0]] - sums[:, bounds[:-1] - bounds[0]]
