"""The distribution function of a part of a Cauchy sum, which the kernel's draws are compared with.

In the notation of thesiskit/models/splitting.py, g = log(z - x) / (pi i).  eqn-cdf-split-cc1 is
this written out, and loses its digits where the poles are close or the widths differ a lot.
"""

import numpy as np

from thesiskit.models.base import gauss_legendre
from thesiskit.models.splitting import _divided_log, _narrow_first

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
