"""Predictive densities of normal features, mixed over their effects."""

import numpy as np

from libc.math cimport fabs, floor

cdef extern from *:
    """
    #include "vector.h"

    #define TK_LEAST -600.0  /* logs of densities relative to the largest end here */
    #define TK_NOTHING 1e-290  /* less is that: numbers that are not normal are slow */

    /* The log of the average density of x over nodes at each of 8 m points, less that of the first
       node.  The log density of a node, and of what the kept feature says of it, is log_factor -
       power log(spread + (x - mean)^2 inverse).  There are 8 n nodes; all but the first are
       averaged by the rows node[t] of a table of 8 r columns.  density and average are scratch. */
    TK_WIDE_CLONES
    static void tk_log_averages(ptrdiff_t eights, ptrdiff_t row_eights, ptrdiff_t point_eights,
                                double x, double power, const double *restrict log_factor,
                                const double *restrict mean, const double *restrict inverse,
                                const double *restrict spread, const ptrdiff_t *restrict node,
                                const double *restrict prior, const ptrdiff_t *restrict row,
                                const double *restrict pi, const double *restrict log_norm,
                                double *restrict density, double *restrict average,
                                double *restrict out)
    {
        const ptrdiff_t size = 8 * eights, rows = 8 * row_eights, points = 8 * point_eights;
        double first, top;
        for (ptrdiff_t t = 0; t < size; ++t) {
            double away = x - mean[t];
            density[t] = log_factor[t] - power * tk_log(spread[t] + away * away * inverse[t]);
        }
        first = top = density[0];
        for (ptrdiff_t t = 1; t < size; ++t)
            top = density[t] > top ? density[t] : top;
        for (ptrdiff_t t = 0; t < size; ++t) {
            double below = density[t] - top;
            density[t] = tk_exp(below < TK_LEAST ? TK_LEAST : below);
        }
        for (ptrdiff_t r = 0; r < rows; ++r)
            average[r] = 0;
        for (ptrdiff_t t = 1; t < size; ++t) {
            const double *mine = prior + rows * node[t];
            for (ptrdiff_t r = 0; r < rows; ++r)
                average[r] += density[t] * mine[r];
        }
        for (ptrdiff_t p = 0; p < points; ++p)
            out[p] = average[row[p]];
        for (ptrdiff_t p = 0; p < points; ++p) {
            double mixed = (1 - pi[p]) * density[0] + pi[p] * out[p];
            mixed = mixed < TK_NOTHING ? TK_NOTHING : mixed;
            out[p] = tk_log(mixed) + (top - first) - log_norm[p];
        }
    }

    /* out += six rows of a table, weighted */
    TK_WIDE_CLONES
    static void tk_add_interpolated(ptrdiff_t point_eights, const double *restrict table,
                                    const double *restrict weight, double *restrict out)
    {
        const ptrdiff_t points = 8 * point_eights;
        for (ptrdiff_t p = 0; p < points; ++p)
            out[p] += ((weight[0] * table[p] + weight[1] * table[points + p])
                       + (weight[2] * table[2 * points + p] + weight[3] * table[3 * points + p]))
                      + (weight[4] * table[4 * points + p] + weight[5] * table[5 * points + p]);
    }
    """
    void log_averages "tk_log_averages"(
        Py_ssize_t eights, Py_ssize_t row_eights, Py_ssize_t point_eights, double x, double power,
        const double *log_factor, const double *mean, const double *inverse, const double *spread,
        const Py_ssize_t *node, const double *prior, const Py_ssize_t *row, const double *pi,
        const double *log_norm, double *density, double *average, double *out) noexcept nogil
    void add_interpolated "tk_add_interpolated"(Py_ssize_t point_eights, const double *table,
                                                const double *weight, double *out) noexcept nogil

cdef extern from *:
    """
    #define TK_REACH 40
    """
    int REACH "TK_REACH"  # steps of the table on each side of its middle

TABLE = 2 * REACH + 1  # values of x in a table


cdef inline void lagrange(double u, double *weight) noexcept nogil:
    # the weights of values at -2, ..., 3 in the polynomial through them at u
    cdef double a = u + 2, b = u + 1, c = u, d = u - 1, e = u - 2, f = u - 3
    weight[0] = -b * c * d * e * f / 120
    weight[1] = a * c * d * e * f / 24
    weight[2] = -a * b * d * e * f / 12
    weight[3] = a * b * c * e * f / 12
    weight[4] = -a * b * c * d * f / 24
    weight[5] = a * b * c * d * e / 120


cdef inline bint all_known(const unsigned char *known) noexcept nogil:
    # of the values around a place
    return known[0] & known[1] & known[2] & known[3] & known[4] & known[5]


cdef class Densities:
    """Predictive densities of k features in G classes, at P points: `add`.

    Feature j has the nodes offset[j] to offset[j + 1] of log_factor, mean, inverse (G, M) and
    spread (M,), the first without effect, of probability 1 - pi (P,); the others are averaged for
    the row of each point, row (P,), by prior[node[t], row], node (M,), prior (., R).  log_norm
    (k, P) is the log of the average of what a kept feature says; power, middle and step are (k,).
    R, P and the offsets are multiples of 8.

    The log of an average is a smooth function of x.  It is interpolated by polynomials of degree 5
    from its values at middle + i step, |i| <= REACH, which are computed when one is needed first,
    for `features` at a time: table (features, G, TABLE, P).  Beyond, it is computed.
    """

    cdef const Py_ssize_t[::1] offset, node, row
    cdef const double[::1] power, spread, pi, middle, step
    cdef const double[:, ::1] log_factor, mean, inverse, prior, log_norm
    cdef double[:, :, :, ::1] table
    cdef unsigned char[:, :, ::1] known
    cdef double[::1] density, average, log_average  # scratch

    def __init__(self, predictive, Py_ssize_t features):
        self.offset, self.node, self.row = predictive.offset, predictive.node, predictive.row
        self.power, self.spread, self.pi = predictive.power, predictive.spread, predictive.pi
        self.middle, self.step = predictive.middle, predictive.step
        self.log_factor, self.mean = predictive.log_factor, predictive.mean
        self.inverse, self.prior = predictive.inverse, predictive.prior
        self.log_norm = predictive.log_norm
        shape = features, self.mean.shape[0], TABLE, self.row.shape[0]
        self.table, self.known = np.empty(shape), np.zeros(shape[:3], dtype=np.uint8)
        self.density = np.empty(max(np.diff(predictive.offset), default=0))
        self.average, self.log_average = np.empty(self.prior.shape[1]), np.empty(shape[3])

    def add(self, const double[:, ::1] cases, Py_ssize_t together, double[:, :, ::1] out):
        """Add to out[i, g] the log density of each feature of case i in class g, (T, G, P).

        It is relative to that without effect, which all classes have in common.  cases (T, k) has
        NaN where a value is missing: it has no term.  So many cases go `together` through the
        features of a table.
        """
        cdef Py_ssize_t T = cases.shape[0], k = cases.shape[1], first = 0, start, slot
        with nogil:
            while first < k:
                self.known[:, :, :] = 0
                start = 0
                while start < T:
                    for slot in range(min(self.table.shape[0], k - first)):
                        self.add_feature(first + slot, slot, cases, start,
                                         min(start + together, T), out)
                    start += together
                first += self.table.shape[0]

    cdef void add_feature(self, Py_ssize_t j, Py_ssize_t slot, const double[:, ::1] cases,
                          Py_ssize_t start, Py_ssize_t stop,
                          double[:, :, ::1] out) noexcept nogil:
        # feature j, whose tables have this slot, of cases start to stop - 1
        cdef Py_ssize_t points = self.row.shape[0], i, g, at, near
        cdef double x, place, u = 0, middle = self.middle[j], step = self.step[j]
        cdef double[6] around
        for i in range(start, stop):
            x = cases[i, j]
            if x != x:
                continue
            place = (x - middle) / step
            near = -1
            if fabs(place) < REACH - 3:
                u = floor(place)
                near = <Py_ssize_t>u + REACH - 2
                lagrange(place - u, around)
            for g in range(self.mean.shape[0]):
                if near < 0:
                    self.log_averages_at(x, j, g, &self.log_average[0])
                    for at in range(points):
                        out[i, g, at] += self.log_average[at]
                    continue
                if not all_known(&self.known[slot, g, near]):
                    for at in range(near, near + 6):
                        if not self.known[slot, g, at]:
                            self.log_averages_at(middle + (at - REACH) * step, j, g,
                                                 &self.table[slot, g, at, 0])
                        self.known[slot, g, at] = 1
                add_interpolated(points // 8, &self.table[slot, g, near, 0], around, &out[i, g, 0])

    cdef void log_averages_at(self, double x, Py_ssize_t j, Py_ssize_t g,
                              double *out) noexcept nogil:
        # of feature j in class g
        cdef Py_ssize_t first = self.offset[j]
        log_averages((self.offset[j + 1] - first) // 8, self.average.shape[0] // 8,
                     self.row.shape[0] // 8, x, self.power[j], &self.log_factor[g, first],
                     &self.mean[g, first], &self.inverse[g, first], &self.spread[first],
                     &self.node[first], &self.prior[0, 0], &self.row[0], &self.pi[0],
                     &self.log_norm[j, 0], &self.density[0], &self.average[0], out)
