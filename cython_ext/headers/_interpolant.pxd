# The sum over many coefficients s of one width w of log(w / (w^2 + s^2)).  As a function of log w
# it is analytic within pi / 2 of the real axis, so that a polynomial through NODES Chebyshev points
# gives it to 1e-14 of its size on a window of width 2.

from libc.math cimport M_PI, cos, exp, fabs, floor, log
from libc.stdint cimport int64_t

from _products cimport log_shifted

cdef enum:
    NODES = 28  # of an interpolating polynomial: 1e-14 on windows two wide
    WINDOWS = 4  # polynomials that are kept

cdef inline double interpolated_sum(double w, const double *squares, Py_ssize_t sets,
                                    Py_ssize_t stride, Py_ssize_t size, double *window,
                                    double *interpolant, const double *basis) noexcept nogil:
    # squares (sets, stride) of the coefficients, `size` in each set; window (WINDOWS,) are the
    # centres of the polynomials in interpolant (WINDOWS, NODES), -1e300 where there is none yet;
    # basis (NODES, NODES) leads from values at the nodes to coefficients of a polynomial
    cdef double x = log(w), centre = 2 * floor(x / 2) + 1, z = x - centre, b0 = 0, b1 = 0, b2
    cdef double node, value
    cdef double *c
    cdef Py_ssize_t slot = 0, i, j, k
    while slot < WINDOWS and window[slot] != centre:
        if window[slot] == -1e300:
            break
        slot += 1
    if slot == WINDOWS:
        slot = (<int64_t> fabs(centre)) // 2 % WINDOWS
    c = &interpolant[slot * NODES]
    if window[slot] != centre:
        window[slot] = centre
        for j in range(NODES):
            c[j] = 0
        for i in range(NODES):
            node = centre + cos(M_PI * (i + 0.5) / NODES)
            value = sets * size * node
            for k in range(sets):
                value -= log_shifted(&squares[k * stride], exp(2 * node), size)
            for j in range(NODES):
                c[j] += value * basis[i * NODES + j]
    # Clenshaw: sum of c_j T_j(z)
    for j in range(NODES - 1, 0, -1):
        b2 = 2 * z * b0 - b1 + c[j]
        b1 = b0
        b0 = b2
    return z * b0 - b1 + c[0]
