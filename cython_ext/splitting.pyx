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


cdef class Shares:
    """What distinct test cases have in common with groups, as `patterns.Shared` says.

    shared, other (D, kinds) are widths, or variances, of what is and is not shared of a group, by
    draw; new (D, kinds) of new patterns.
    """

    cdef const Py_ssize_t[::1] whole_begin, partial_begin
    cdef const int32_t[::1] whole, partial, partial_kind, new_kind
    cdef const double[:, ::1] shared, other, new
    cdef bint cauchy

    def __init__(self, cases, const double[:, ::1] shared, const double[:, ::1] other,
                 const double[:, ::1] new, bint cauchy):
        self.whole_begin, self.whole = cases.whole_begin, cases.whole
        self.partial_begin, self.partial = cases.partial_begin, cases.partial
        self.partial_kind, self.new_kind = cases.partial_kind, cases.new_kind
        self.shared, self.other, self.new, self.cauchy = shared, other, new, cauchy

    cdef inline double entire(self, const double *s, Py_ssize_t t) noexcept nogil:
        # the sum of the coefficients of groups that case t expresses entirely
        cdef Py_ssize_t j
        cdef double x = 0
        for j in range(self.whole_begin[t], self.whole_begin[t + 1]):
            x += s[self.whole[j]]
        return x

    cdef inline double complete(self, double x, const double *s, Py_ssize_t d, Py_ssize_t t,
                                bitgen_t *bitgen) noexcept nogil:
        # x, with draws of the shares of groups in part, and of the sum of new coefficients
        cdef Py_ssize_t j, kind
        cdef double w = self.new[d, self.new_kind[t]]
        for j in range(self.partial_begin[t], self.partial_begin[t + 1]):
            kind = self.partial_kind[j]
            if self.cauchy:
                x += split_cauchy(s[self.partial[j]], self.shared[d, kind], self.other[d, kind],
                                  bitgen)
            else:
                x += split_gaussian(s[self.partial[j]], self.shared[d, kind], self.other[d, kind],
                                    bitgen)
        if w > 0:
            x += w * standard_cauchy(bitgen) if self.cauchy else sqrt(w) * standard_normal(bitgen)
        return x

    def add_probabilities(self, const double[:, :, ::1] coefficients, Py_ssize_t split_draws,
                          double[:, ::1] out, capsule):
        """Add to out (T, K) the probabilities of the classes, summed over draws and splits.

        coefficients (D, S, G).
        """
        cdef bitgen_t *bitgen = generator(capsule)
        cdef Py_ssize_t d, t, k, _e, S = coefficients.shape[1], K = out.shape[1]
        cdef double x, w, top, total
        cdef double[::1] eta = np.empty(2 * K)
        with nogil:
            for d in range(coefficients.shape[0]):
                for t in range(out.shape[0]):
                    for k in range(S):
                        eta[K + k] = self.entire(&coefficients[d, k, 0], t)
                    for _e in range(split_draws):
                        for k in range(S):
                            eta[k] = self.complete(eta[K + k], &coefficients[d, k, 0], d, t, bitgen)
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

    def fill_linear(self, const double[:, :, ::1] coefficients, Py_ssize_t split_draws,
                    double[:, ::1] out, capsule):
        """Fill out (D split_draws, T) with linear functions; coefficients (D, 1, G)."""
        cdef bitgen_t *bitgen = generator(capsule)
        cdef Py_ssize_t d, t, e
        cdef double x
        cdef const double *s
        with nogil:
            for d in range(coefficients.shape[0]):
                s = &coefficients[d, 0, 0]
                for t in range(out.shape[1]):
                    x = self.entire(s, t)
                    for e in range(split_draws):
                        out[d * split_draws + e, t] = self.complete(x, s, d, t, bitgen)


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
