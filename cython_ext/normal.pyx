"""Predictive densities of normal features, mixed over their effects."""

import numpy as np

from libc.math cimport fabs, floor

cdef extern from *:
    """
    #include "vector.h"

    #define TK_LEAST -300.0  /* logs of densities relative to the largest end here */
    #define TK_FALL 25.0  /* the posterior probability that a feature is relevant is not less */
    #define TK_MOST_FALLEN 200.0
    #define TK_NOTHING 1e-290  /* less is 0, since numbers that are not normal are slow */

    /* weight[t] = by_node[t] / averaged times the row node[t] of a table, for 8 m rows of points */
    TK_WIDE_CLONES
    static void tk_weights(ptrdiff_t eights, ptrdiff_t row_eights, const ptrdiff_t *restrict node,
                           const double *restrict by_node, const double *restrict prior,
                           const double *restrict averaged, double *restrict weight)
    {
        const ptrdiff_t size = 8 * eights, rows = 8 * row_eights;
        for (ptrdiff_t t = 0; t < size; ++t, weight += rows) {
            const double *mine = prior + rows * node[t];
            for (ptrdiff_t r = 0; r < rows; ++r)
                weight[r] = mine[r] * by_node[t] / averaged[r];
        }
    }

    /* log of the average density of x over nodes, by each row of weights, less that of the first
       node.  The log density of a node is log_factor - power log(spread + (x - mean)^2 inverse).
       There are 8 n nodes and 8 m rows; density is scratch. */
    TK_WIDE_CLONES
    static void tk_log_ratios(ptrdiff_t eights, ptrdiff_t row_eights, double x, double power,
                              const double *restrict log_factor, const double *restrict mean,
                              const double *restrict inverse, const double *restrict spread,
                              const double *restrict weight, double *restrict density,
                              double *restrict out)
    {
        const ptrdiff_t size = 8 * eights, rows = 8 * row_eights;
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
            out[r] = TK_NOTHING;  /* of rows that fill up, which have no weight */
        for (ptrdiff_t t = 0; t < size; ++t, weight += rows)
            for (ptrdiff_t r = 0; r < rows; ++r)
                out[r] += density[t] * weight[r];
        for (ptrdiff_t r = 0; r < rows; ++r)
            out[r] = tk_log(out[r]) + (top - first);
    }

    /* out = six rows of a table, weighted */
    TK_WIDE_CLONES
    static void tk_interpolate(ptrdiff_t row_eights, const double *restrict table,
                               const double *restrict weight, double *restrict out)
    {
        const ptrdiff_t rows = 8 * row_eights;
        for (ptrdiff_t r = 0; r < rows; ++r)
            out[r] = ((weight[0] * table[r] + weight[1] * table[rows + r])
                      + (weight[2] * table[2 * rows + r] + weight[3] * table[3 * rows + r]))
                     + (weight[4] * table[4 * rows + r] + weight[5] * table[5 * rows + r]);
    }

    /* The largest of 8 n numbers that are not negative: they are in the order of their bits, and
       whole numbers are compared several at once. */
    static inline __attribute__((always_inline)) double tk_largest(ptrdiff_t size, const double *x)
    {
        int64_t most = 0, bits;
        double found;
        for (ptrdiff_t i = 0; i < size; ++i) {
            memcpy(&bits, x + i, 8);
            most = bits > most ? bits : most;
        }
        memcpy(&found, &most, 8);
        return found;
    }

    /* product *= [h + (1 - h) exp(log_ratio)] / scale for runs of 8 n points, each given by its
       first point, the one after its last, and its first row.  The log of the scale is returned:
       where log ratios are above 0, that of the largest.  The largest product becomes 1 again,
       before it can be small: no factor of the largest log ratio is less than exp(-TK_FALL), or
       than that log ratio besides, and fallen has their sum. */
    TK_WIDE_CLONES
    static double tk_multiply(ptrdiff_t runs, const ptrdiff_t *restrict run,
                              ptrdiff_t row_eights, const double *restrict h,
                              double *restrict log_ratio, double *restrict product,
                              double *fallen)
    {
        const ptrdiff_t rows = 8 * row_eights, points = run[3 * runs - 2];
        double log_scale, without, most;
        for (ptrdiff_t r = 0; r < rows; ++r)
            log_ratio[r] = log_ratio[r] < TK_LEAST ? TK_LEAST : log_ratio[r];
        for (ptrdiff_t r = 0; r < rows; ++r)
            log_ratio[r] -= TK_LEAST;
        log_scale = tk_largest(rows, log_ratio) + TK_LEAST;
        *fallen += TK_FALL - (log_scale < 0 ? log_scale : 0);
        log_scale = log_scale > 0 ? log_scale : 0;
        for (ptrdiff_t r = 0; r < rows; ++r) {
            double below = log_ratio[r] + TK_LEAST - log_scale;
            log_ratio[r] = tk_exp(below < TK_LEAST ? TK_LEAST : below);
        }
        without = tk_exp(log_scale > -TK_LEAST ? TK_LEAST : -log_scale);
        for (ptrdiff_t r = 0; r < runs; ++r) {
            const ptrdiff_t first = run[3 * r], stop = run[3 * r + 1];
            const double *mine = log_ratio + run[3 * r + 2] - first;
            for (ptrdiff_t at = first; at < stop; ++at) {
                double next = product[at] * (mine[at] + h[at] * (without - mine[at]));
                product[at] = next < TK_NOTHING ? 0.0 : next;
            }
        }
        if (*fallen > TK_MOST_FALLEN) {
            most = tk_largest(points, product);
            for (ptrdiff_t at = 0; at < points; ++at)
                product[at] /= most;
            log_scale += log(most);
            *fallen = 0;
        }
        return log_scale;
    }
    """
    void weights "tk_weights"(Py_ssize_t eights, Py_ssize_t row_eights, const Py_ssize_t *node,
                              const double *by_node, const double *prior,
                              const double *averaged, double *weight) noexcept nogil
    void log_ratios "tk_log_ratios"(Py_ssize_t eights, Py_ssize_t row_eights, double x,
                                    double power, const double *log_factor, const double *mean,
                                    const double *inverse, const double *spread,
                                    const double *weight, double *density,
                                    double *out) noexcept nogil
    void interpolate "tk_interpolate"(Py_ssize_t row_eights, const double *table,
                                      const double *weight, double *out) noexcept nogil
    double multiply "tk_multiply"(Py_ssize_t runs, const Py_ssize_t *run,
                                  Py_ssize_t row_eights, const double *h,
                                  double *log_ratio, double *product,
                                  double *fallen) noexcept nogil

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
    """Predictive densities of k features in G classes, at P points: `multiply`.

    Feature j has the nodes offset[j] to offset[j + 1] of log_factor, mean, inverse (G, M) and
    spread (M,), the first without effect; the others are averaged for each row r with the weights
    prior[node[t], r] by_node[t] / averaged[j, r]: node and by_node (M,), where by_node of the first
    is 0, prior (., R) and averaged (k, R).  R and the offsets are multiples of 8.  runs (., 3) are
    those of points with one pi whose rows follow each other: the first point, the one after the
    last, the first row; their lengths are multiples of 8.  irrelevant (k, P) is the probability of
    no effect at each point; power, middle and step are (k,).

    The log of an average is a smooth function of x.  It is interpolated by polynomials of degree 5
    from its values at middle + i step, |i| <= REACH, which are computed when one is needed first,
    for `features` at a time: table (features, G, TABLE, R).  Beyond, it is computed.
    """

    cdef const Py_ssize_t[::1] offset, node
    cdef const Py_ssize_t[:, ::1] runs
    cdef const double[::1] power, spread, by_node, middle, step
    cdef const double[:, ::1] log_factor, mean, inverse, prior, averaged, irrelevant
    cdef double[:, :, :, ::1] table
    cdef unsigned char[:, :, ::1] known
    cdef double[:, ::1] weight  # scratch, as the next two
    cdef double[::1] density, log_ratio

    def __init__(self, predictive, Py_ssize_t features):
        self.offset, self.node, self.runs = predictive.offset, predictive.node, predictive.runs
        self.power, self.spread = predictive.power, predictive.spread
        self.by_node, self.prior = predictive.by_node, predictive.prior
        self.middle, self.step = predictive.middle, predictive.step
        self.log_factor, self.mean = predictive.log_factor, predictive.mean
        self.inverse, self.averaged = predictive.inverse, predictive.averaged
        self.irrelevant = predictive.irrelevant
        shape = features, self.mean.shape[0], TABLE, self.prior.shape[1]
        self.table, self.known = np.empty(shape), np.zeros(shape[:3], dtype=np.uint8)
        most = max(np.diff(predictive.offset), default=0)
        self.weight, self.density = np.empty((most, shape[3])), np.empty(most)
        self.log_ratio = np.empty(shape[3])

    def multiply(self, const double[:, ::1] cases, Py_ssize_t together,
                 double[:, :, ::1] product, double[:, ::1] log_scale, double[:, ::1] fallen):
        """Multiply product[i, g] by the predictive density of each feature of case i in class g.

        The density is product exp(log_scale), relative to that without effect, which all classes
        have in common.  cases (T, k) has NaN where a value is missing: it has no factor.  So many
        cases go `together` through the features of a table.  product is (T, G, P); fallen (T, G)
        begins with 0.
        """
        cdef Py_ssize_t T = cases.shape[0], k = cases.shape[1], first = 0, start, slot
        with nogil:
            while first < k:
                self.known[:, :, :] = 0
                start = 0
                while start < T:
                    for slot in range(min(self.table.shape[0], k - first)):
                        self.multiply_feature(first + slot, slot, cases, start,
                                              min(start + together, T), product, log_scale, fallen)
                    start += together
                first += self.table.shape[0]

    cdef void multiply_feature(self, Py_ssize_t j, Py_ssize_t slot, const double[:, ::1] cases,
                               Py_ssize_t start, Py_ssize_t stop, double[:, :, ::1] product,
                               double[:, ::1] log_scale, double[:, ::1] fallen) noexcept nogil:
        # feature j, whose tables have this slot, of cases start to stop - 1
        cdef Py_ssize_t first = self.offset[j], size = (self.offset[j + 1] - first) // 8
        cdef Py_ssize_t eights = self.log_ratio.shape[0] // 8, i, g, at, near
        cdef double x, place, u = 0, middle = self.middle[j], step = self.step[j]
        cdef double[6] around
        cdef bint weighted = False
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
                if not weighted and (near < 0 or not all_known(&self.known[slot, g, near])):
                    weights(size, eights, &self.node[first], &self.by_node[first],
                            &self.prior[0, 0], &self.averaged[j, 0], &self.weight[0, 0])
                    weighted = True
                if near < 0:
                    self.log_ratios_at(x, j, g, &self.log_ratio[0])
                else:
                    for at in range(near, near + 6):
                        if not self.known[slot, g, at]:
                            self.log_ratios_at(middle + (at - REACH) * step, j, g,
                                               &self.table[slot, g, at, 0])
                        self.known[slot, g, at] = 1
                    interpolate(eights, &self.table[slot, g, near, 0], around, &self.log_ratio[0])
                log_scale[i, g] += multiply(
                    self.runs.shape[0], &self.runs[0, 0], eights, &self.irrelevant[j, 0],
                    &self.log_ratio[0], &product[i, g, 0], &fallen[i, g])

    cdef void log_ratios_at(self, double x, Py_ssize_t j, Py_ssize_t g, double *out) noexcept nogil:
        # of feature j in class g, when its nodes are weighted
        cdef Py_ssize_t first = self.offset[j]
        log_ratios((self.offset[j + 1] - first) // 8, self.log_ratio.shape[0] // 8, x,
                   self.power[j], &self.log_factor[g, first], &self.mean[g, first],
                   &self.inverse[g, first], &self.spread[first], &self.weight[0, 0],
                   &self.density[0], out)
