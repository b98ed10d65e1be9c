"""Python doors to the shared C headers, for tests only."""

from _maths cimport deviance, dot, stirling_error

cdef extern from *:
    int THESISKIT_CHECKED

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
