"""What draws of the mixture model say of new cases."""

import numpy as np

from libc.math cimport log

from _counts cimport fill_counts
from _maths cimport dot


cdef class LogOdds:
    """What draws of labels and alphas, and perhaps theta, say of a new case.

    x (n, k) has features with at most n / 2 ones, y (n,) the classes; rule has theta, complement
    and weight of the quadrature rule.
    """

    cdef const unsigned char[:, ::1] x
    cdef const unsigned char[::1] y
    cdef const double[::1] node, complement, weight
    cdef Py_ssize_t[::1] total  # ones of each feature, and of the response, (k + 1,)
    cdef Py_ssize_t[::1] ones  # those in component 1
    cdef double[:, ::1] memo  # what set_odds_of gives, by cell
    cdef Py_ssize_t[::1] met  # the draw that it is of
    cdef double[:, :, ::1] scratch  # (3, n + 1, G)

    def __init__(self, const unsigned char[:, ::1] x, const unsigned char[::1] y, rule):
        cdef Py_ssize_t half = x.shape[0] // 2, i, j
        self.x, self.y = x, y
        self.node, self.complement, self.weight = rule.theta, rule.complement, rule.weight
        self.total = np.zeros(x.shape[1] + 1, dtype=np.intp)
        self.ones = np.empty(x.shape[1] + 1, dtype=np.intp)
        self.memo = np.empty(((half + 1) * (half + 2) // 2, 4))
        self.met = np.empty(self.memo.shape[0], dtype=np.intp)
        self.scratch = np.empty((3, x.shape[0] + 1, self.node.shape[0]))
        with nogil:
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    self.total[j] += x[i, j]
                self.total[x.shape[1]] += y[i]

    def fill(self, const unsigned char[:, ::1] labels, const double[::1] alpha,
             const double[::1] response_alpha, const double[:, ::1] theta,
             double[:, :, ::1] slope, double[:, ::1] base, double[:, :, ::1] response):
        """Write what each of B draws says.

        slope (B, 2, k) is log P(x* = 1) - log P(x* = 0) by component and feature, base (B, 2) the
        sum over features of log P(x* = 0), response (B, 2, 2) log P(y*) by component and y*.  Each
        P is (alpha E(theta) + I) / (alpha + m) with the mean of theta given the labels; or with
        theta itself where it is not None but (B, k + 1).
        """
        # views of its own, which the compiler knows that no loop changes
        cdef const unsigned char[:, ::1] x = self.x
        cdef const unsigned char[::1] y = self.y
        cdef Py_ssize_t[::1] total = self.total, ones = self.ones, met = self.met
        cdef double[:, ::1] memo = self.memo
        cdef Py_ssize_t n = x.shape[0], k = x.shape[1], b, i, j, z, m, s, cell
        cdef double[2] size
        cdef double[4] own  # where nothing is remembered
        cdef double *known
        cdef bint given = theta is not None
        with nogil:
            for cell in range(met.shape[0]):
                met[cell] = -1
            for b in range(labels.shape[0]):
                m = 0
                for j in range(k + 1):
                    ones[j] = 0
                for i in range(n):
                    if labels[b, i]:
                        m += 1
                        ones[k] += y[i]
                        for j in range(k):
                            ones[j] += x[i, j]
                size[0], size[1] = n - m, m
                base[b, 0] = base[b, 1] = 0
                if not given:
                    self.weigh(alpha[b], m)
                for j in range(k):
                    s = total[j]
                    cell = s * (s + 1) // 2 + ones[j]
                    known = &own[0] if given else &memo[cell, 0]
                    if given:
                        self.set_odds(alpha[b], theta[b, j], j, size, known)
                    elif met[cell] != b:
                        self.set_odds(alpha[b], self.theta_mean(j), j, size, known)
                        met[cell] = b
                    for z in range(2):
                        slope[b, z, j] = known[z]
                        base[b, z] += known[2 + z]
                if given:
                    self.set_odds(response_alpha[b], theta[b, k], k, size, own)
                else:
                    self.weigh(response_alpha[b], m)
                    self.set_odds(response_alpha[b], self.theta_mean(k), k, size, own)
                for z in range(2):
                    response[b, z, 0] = own[2 + z]
                    response[b, z, 1] = own[2 + z] + own[z]

    cdef void set_odds(self, double alpha, double mean, Py_ssize_t j, const double *size,
                       double *out) noexcept nogil:
        # out[z] = log P(1) - log P(0), out[2 + z] = log P(0) of feature j in component z
        cdef double[2] ones
        cdef int z
        ones[0], ones[1] = self.total[j] - self.ones[j], self.ones[j]
        for z in range(2):
            out[2 + z] = log(alpha * (1 - mean) + (size[z] - ones[z]))
            out[z] = log(alpha * mean + ones[z]) - out[2 + z]
            out[2 + z] -= log(alpha + size[z])

    cdef void weigh(self, double alpha, Py_ssize_t m) noexcept nogil:
        # P(I0 | theta), weight P(I1 | theta) and theta weight P(I1 | theta) at the nodes
        cdef Py_ssize_t n = self.x.shape[0], G = self.node.shape[0], i, g
        fill_counts(alpha, &self.node[0], &self.complement[0], G, n - m, &self.scratch[0, 0, 0])
        fill_counts(alpha, &self.node[0], &self.complement[0], G, m, &self.scratch[1, 0, 0])
        for i in range(m + 1):
            for g in range(G):
                self.scratch[1, i, g] *= self.weight[g]
                self.scratch[2, i, g] = self.scratch[1, i, g] * self.node[g]

    cdef double theta_mean(self, Py_ssize_t j) noexcept nogil:
        # E(theta) of feature j, after `weigh`
        cdef Py_ssize_t G = self.node.shape[0], i1 = self.ones[j], i0 = self.total[j] - i1
        return (dot(&self.scratch[0, i0, 0], &self.scratch[2, i1, 0], G)
                / dot(&self.scratch[0, i0, 0], &self.scratch[1, i1, 0], G))
