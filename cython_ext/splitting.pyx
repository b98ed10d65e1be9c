"""Predictions: split coefficients between what a test case shares and what it does not.

For every draw of the parameters and every distinct test case, eta_k is the sum of the coefficients
of groups that it expresses entirely, of the shares of those that it expresses in part, and of its
new patterns, drawn from their prior.  Section "Sampling from the Splitting Distribution".
"""

from libc.math cimport exp, fabs, sqrt
from libc.stdint cimport int32_t
from numpy.random cimport bitgen_t

import numpy as np

from _draws cimport generator, standard_cauchy, standard_normal, uniform


cdef inline double split_cauchy(double s, double a, double b, bitgen_t *bitgen) noexcept nogil:
    # With A = a^2 + x^2 and B = b^2 + (x - s)^2, 1 / (A B) = (1 / A + 1 / B) / (A + B): draw from
    # the mixture of two Cauchy densities, accept with probability (a^2 + b^2 + s^2 / 2) / (A + B),
    # which is 1/2 or more on average whatever the widths
    cdef double scale = max(a, b, fabs(s)), x
    if a == 0:
        return 0
    if b == 0:
        return s
    a, b, s = a / scale, b / scale, s / scale
    while True:
        if uniform(bitgen) * (a + b) <= b:
            x = a * standard_cauchy(bitgen)
        else:
            x = s + b * standard_cauchy(bitgen)
        if (uniform(bitgen) * (a * a + b * b + x * x + (x - s) * (x - s))
                <= a * a + b * b + 0.5 * s * s):
            return x * scale


cdef inline double split_gaussian(double s, double a, double b, bitgen_t *bitgen) noexcept nogil:
    # given variances a and b
    cdef double share = a / (a + b) if a > 0 else 0
    return s * share + sqrt(b * share) * standard_normal(bitgen)


cdef inline double add_shares(double x, const double *s, const int32_t *partial,
                              const int32_t *kind, Py_ssize_t size, const double *shared,
                              const double *other, bint cauchy, bitgen_t *bitgen) noexcept nogil:
    # x and draws of the shares of groups in part
    cdef Py_ssize_t j
    for j in range(size):
        if cauchy:
            x += split_cauchy(s[partial[j]], shared[kind[j]], other[kind[j]], bitgen)
        else:
            x += split_gaussian(s[partial[j]], shared[kind[j]], other[kind[j]], bitgen)
    return x


cdef inline double add_new(double x, double w, bint cauchy, bitgen_t *bitgen) noexcept nogil:
    # x and a draw of the sum of new coefficients, of width, or variance, w
    if w > 0:
        x += w * standard_cauchy(bitgen) if cauchy else sqrt(w) * standard_normal(bitgen)
    return x


def add_probabilities(const double[:, :, ::1] coefficients, const Py_ssize_t[::1] whole_begin,
                      const int32_t[::1] whole, const Py_ssize_t[::1] partial_begin,
                      const int32_t[::1] partial, const int32_t[::1] partial_kind,
                      const double[:, ::1] shared, const double[:, ::1] other,
                      const int32_t[::1] new_kind, const double[:, ::1] new, bint cauchy,
                      Py_ssize_t split_draws, double[:, ::1] out, capsule):
    """Add to out (T, K) the probabilities of the classes, summed over draws and splits.

    coefficients (D, S, G); shared, other (D, kinds) widths, or variances, of what is and is not
    shared of a group, new (D, kinds) of new patterns; the rest as in `patterns.Shared`.
    """
    cdef bitgen_t *bitgen = generator(capsule)
    cdef Py_ssize_t d, t, k, j, a, size, _e, S = coefficients.shape[1], K = out.shape[1]
    cdef double x, w, top, total
    cdef double[::1] eta = np.empty(2 * K)
    cdef const double *s
    with nogil:
        for d in range(coefficients.shape[0]):
            for t in range(out.shape[0]):
                a, size = partial_begin[t], partial_begin[t + 1] - partial_begin[t]
                for k in range(S):
                    s = &coefficients[d, k, 0]
                    x = 0
                    for j in range(whole_begin[t], whole_begin[t + 1]):
                        x += s[whole[j]]
                    eta[K + k] = x
                for _e in range(split_draws):
                    for k in range(S):
                        s = &coefficients[d, k, 0]
                        x = eta[K + k]
                        if size > 0:
                            x = add_shares(x, s, &partial[a], &partial_kind[a], size, &shared[d, 0],
                                           &other[d, 0], cauchy, bitgen)
                        eta[k] = add_new(x, new[d, new_kind[t]], cauchy, bitgen)
                    if S == 1:
                        top = exp(-fabs(eta[0]))
                        x = 1 / (1 + top)
                        w = top / (1 + top)
                        out[t, 0] += w if eta[0] > 0 else x
                        out[t, 1] += x if eta[0] > 0 else w
                        continue
                    top = eta[0]
                    for k in range(1, S):
                        top = max(top, eta[k])
                    total = 0
                    for k in range(S):
                        eta[k] = exp(eta[k] - top)
                        total += eta[k]
                    for k in range(S):
                        out[t, k] += eta[k] / total


def fill_linear(const double[:, :, ::1] coefficients, const Py_ssize_t[::1] whole_begin,
                const int32_t[::1] whole, const Py_ssize_t[::1] partial_begin,
                const int32_t[::1] partial, const int32_t[::1] partial_kind,
                const double[:, ::1] shared, const double[:, ::1] other,
                const int32_t[::1] new_kind, const double[:, ::1] new, bint cauchy,
                Py_ssize_t split_draws, double[:, ::1] out, capsule):
    """Fill out (D split_draws, T) with linear functions; the rest as in `add_probabilities`."""
    cdef bitgen_t *bitgen = generator(capsule)
    cdef Py_ssize_t d, t, j, e, a, size
    cdef double x, y
    cdef const double *s
    with nogil:
        for d in range(coefficients.shape[0]):
            s = &coefficients[d, 0, 0]
            for t in range(out.shape[1]):
                a, size = partial_begin[t], partial_begin[t + 1] - partial_begin[t]
                x = 0
                for j in range(whole_begin[t], whole_begin[t + 1]):
                    x += s[whole[j]]
                for e in range(split_draws):
                    y = x
                    if size > 0:
                        y = add_shares(x, s, &partial[a], &partial_kind[a], size, &shared[d, 0],
                                       &other[d, 0], cauchy, bitgen)
                    y = add_new(y, new[d, new_kind[t]], cauchy, bitgen)
                    out[d * split_draws + e, t] = y


def split_off(const double[::1] s, const double[::1] width, const double[::1] other, bint cauchy,
              double[::1] out, capsule):
    """Fill out with shares of sums s; widths for Cauchy, variances for Gaussian summands."""
    cdef bitgen_t *bitgen = generator(capsule)
    cdef Py_ssize_t i
    with nogil:
        for i in range(s.shape[0]):
            if cauchy:
                out[i] = split_cauchy(s[i], width[i], other[i], bitgen)
            else:
                out[i] = split_gaussian(s[i], width[i], other[i], bitgen)
