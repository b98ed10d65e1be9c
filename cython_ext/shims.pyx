"""Python doors to the shared C headers, for tests only."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, exp, log, log1p
from libc.stdint cimport int32_t, int64_t
from numpy.random cimport bitgen_t

from _forest cimport Node, pass_draw, pass_slopes, pass_up
from _maths cimport deviance, dot, stirling_error
from _polya_gamma cimport polya_gamma
from _products cimport (
    log_binary, log_mixtures, log_shifted, log_variances, log_weighted, log_widths,
    squared_residuals, sum_residuals,
)
from _slice cimport slice_update

cdef extern from *:
    int THESISKIT_CHECKED

cdef extern from *:  # beside the sums, in _products.pxd
    double tk_log(double x) noexcept nogil
    double tk_exp(double x) noexcept nogil

BOUNDS_CHECKED = bool(THESISKIT_CHECKED)


def shim_stirling_error(double x):
    """lgamma(x + 1) minus Stirling's formula."""
    return stirling_error(x)


def shim_deviance(double x, double d):
    """x log(x / m) + m - x for m = x - d."""
    return deviance(x, d)


def shim_dot(const double[::1] x, const double[::1] y):
    """Sum of products."""
    return dot(&x[0], &y[0], x.shape[0])


# ---- slice sampling ----

DENSITIES = ("log-gamma", "uniform", "beta", "cauchy", "bimodal", "python")


cdef struct Density:
    int code
    double log_here  # log density where the update starts
    void *log_density  # of "python": a callable
    int64_t evaluations


cdef double log_density_at(Density *c, double x) noexcept nogil:
    if c.code == 0:  # the logarithm of a Gamma(2) variable
        return 2 * x - exp(x)
    if c.code == 1:
        return 0 if 0 < x < 1 else -INFINITY
    if c.code == 2:  # Beta(2, 1/2), whose density is infinite at 1
        return log(x) - log1p(-x) / 2 if 0 < x < 1 else -INFINITY
    if c.code == 3:
        return -log1p(x * x)
    if c.code == 4:  # 0.3 N(-4, 1) + 0.7 N(3, 1/4)
        return log(0.3 * exp(-(x + 4) * (x + 4) / 2) + 1.4 * exp(-(x - 3) * (x - 3) * 2))
    with gil:
        return (<object> c.log_density)(x)


cdef bint inside_density(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Density *c = <Density *> context
    c.evaluations += 1
    return log_density_at(c, x) - c.log_here >= log_u


def shim_slice_update(str density, log_density, double[::1] x, double width,
                      Py_ssize_t most_steps, Py_ssize_t updates, capsule):
    """Update each number in x so many times; return how often the density was asked for.

    density : one of DENSITIES; log_density is called if it is "python", and must not raise.
    """
    cdef bitgen_t *bitgen = <bitgen_t *> PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Density c
    cdef Py_ssize_t i, _
    c.code, c.log_density, c.evaluations = DENSITIES.index(density), <void *> log_density, 0
    with nogil:
        for i in range(x.shape[0]):
            for _ in range(updates):
                c.log_here = log_density_at(&c, x[i])
                x[i] = slice_update(inside_density, &c, x[i], width, most_steps, bitgen)
    return c.evaluations


# ---- sums of logarithms ----

cdef inline const double *start(const double[::1] x) noexcept:
    return &x[0] if x.shape[0] else NULL


def shim_log(const double[::1] x, double[::1] out):
    """Fill out with log x."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = tk_log(x[i])


def shim_exp(const double[::1] x, double[::1] out):
    """Fill out with exp(x), x <= 0."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = tk_exp(x[i])


def shim_log_mixtures(const double[::1] p, const double[::1] q, double t, double magnitude):
    """Sum of log(q + p t), t = exp(-magnitude)."""
    return log_mixtures(start(p), start(q), t, magnitude, p.shape[0])


def shim_log_weighted(const double[::1] p, const double[::1] q, const double[::1] n, double t):
    """Sum of n log(q + p t)."""
    return log_weighted(start(p), start(q), start(n), t, p.shape[0])


def shim_log_widths(const double[::1] rest, const double[::1] count, const double[::1] s2,
                    double sigma):
    """Sum of log(w) - log(w^2 + s2), w = rest + count sigma."""
    return log_widths(start(rest), start(count), start(s2), sigma, rest.shape[0])


def shim_log_shifted(const double[::1] s2, double w2):
    """Sum of log(w2 + s2)."""
    return log_shifted(start(s2), w2, s2.shape[0])


def shim_log_variances(const double[::1] rest, const double[::1] count, const double[::1] n,
                       const double[::1] s, double x):
    """Sum of n log(v) + s / v, v = rest + count x."""
    return log_variances(start(rest), start(count), start(n), start(s), x, rest.shape[0])


def shim_log_binary(const double[::1] eta, const double[::1] cases, const double[::1] n):
    """Sum of cases eta - n log(1 + exp(eta))."""
    return log_binary(start(eta), start(cases), start(n), eta.shape[0])


def shim_residuals(const double[::1] n, const double[::1] y, const double[::1] eta):
    """Sums of n (y - eta) and of n (y - eta)^2."""
    return (sum_residuals(start(n), start(y), start(eta), n.shape[0]),
            squared_residuals(start(n), start(y), start(eta), n.shape[0]))


# ---- trees ----

def shim_polya_gamma(double cases, double c, double[::1] out, capsule):
    """Fill out with draws from PG(cases, c)."""
    cdef bitgen_t *bitgen = <bitgen_t *> PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = polya_gamma(cases, c, bitgen)


def shim_forest(const int32_t[::1] parent, double[:, ::1] nodes, const double[::1] factor,
                const int32_t[::1] kind, double[::1] slope, double[:, ::1] s, capsule):
    """Return the log marginal density; add slopes by kind, and fill s (draws, G).

    nodes (G, 8): own precision, own linear, variance, and room for five more.
    """
    cdef bitgen_t *bitgen = <bitgen_t *> PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Py_ssize_t i, size = parent.shape[0]
    cdef Node *node = <Node *> &nodes[0, 0]
    cdef double result = pass_up(node, &parent[0], size, True)
    pass_slopes(node, &parent[0], size, &factor[0], &kind[0], &slope[0])
    for i in range(s.shape[0]):
        pass_draw(node, &parent[0], size, &s[i, 0], bitgen)
    return result
