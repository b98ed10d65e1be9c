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
        for (ptrdiff_t t = 0; t < size; t += 8) {
            const double *mine[8];
            double by[8];
            for (ptrdiff_t i = 0; i < 8; ++i) {
                mine[i] = prior + rows * node[t + i];
                by[i] = t + i ? density[t + i] : 0;
            }
            for (ptrdiff_t r = 0; r < rows; ++r)
                average[r] += ((by[0] * mine[0][r] + by[1] * mine[1][r])
                               + (by[2] * mine[2][r] + by[3] * mine[3][r]))
                              + ((by[4] * mine[4][r] + by[5] * mine[5][r])
                                 + (by[6] * mine[6][r] + by[7] * mine[7][r]));
        }
        for (ptrdiff_t p = 0; p < points; ++p)
            out[p] = average[row[p]];
        for (ptrdiff_t p = 0; p < points; ++p) {
            double mixed = (1 - pi[p]) * density[0] + pi[p] * out[p];
            mixed = mixed < TK_NOTHING ? TK_NOTHING : mixed;
            out[p] = tk_log(mixed) + (top - first) - log_norm[p];
        }
    }

    /* out = six rows of a table, weighted, in place of out, or added to it */
    TK_WIDE_CLONES
    static void tk_interpolate(ptrdiff_t point_eights, const double *restrict table,
                               const double *restrict weight, int adds, double *restrict out)
    {
        const ptrdiff_t points = 8 * point_eights;
        for (ptrdiff_t p = 0; p < points; ++p) {
            double sum = ((weight[0] * table[p] + weight[1] * table[points + p])
                          + (weight[2] * table[2 * points + p] + weight[3] * table[3 * points + p]))
                         + (weight[4] * table[4 * points + p] + weight[5] * table[5 * points + p]);
            out[p] = adds ? out[p] + sum : sum;
        }
    }

    TK_WIDE_CLONES
    static void tk_add(ptrdiff_t eights, const double *restrict x, double *restrict out)
    {
        for (ptrdiff_t p = 0; p < 8 * eights; ++p)
            out[p] += x[p];
    }

    /* out[i] = the log of the sum over points of exp(factor logs[i] + log_weight), for rows of
       so many columns, the first of which are the points.  scratch has 8 eights numbers, of which
       those after the points are -infinity. */
    TK_WIDE_CLONES
    static void tk_log_sums(ptrdiff_t rows, ptrdiff_t points, ptrdiff_t eights, ptrdiff_t columns,
                            const double *restrict logs, double factor,
                            const double *restrict log_weight, double *restrict scratch,
                            double *restrict out)
    {
        for (ptrdiff_t r = 0; r < rows; ++r, logs += columns) {
            double most[8], sum[8] = {0}, top;
            for (ptrdiff_t p = 0; p < points; ++p)
                scratch[p] = factor * logs[p] + log_weight[p];
            memcpy(most, scratch, sizeof most);
            for (ptrdiff_t p = 8; p < 8 * eights; p += 8)
                for (ptrdiff_t i = 0; i < 8; ++i)
                    most[i] = scratch[p + i] > most[i] ? scratch[p + i] : most[i];
            top = most[0];
            for (ptrdiff_t i = 1; i < 8; ++i)
                top = most[i] > top ? most[i] : top;
            for (ptrdiff_t p = 0; p < 8 * eights; p += 8)
                for (ptrdiff_t i = 0; i < 8; ++i)
                    sum[i] += tk_exp(scratch[p + i] - top);
            out[r] = top + tk_log(((sum[0] + sum[1]) + (sum[2] + sum[3]))
                                  + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
        }
    }

    /* product *= irrelevant + relevant exp(log_ratio), relative to the largest such factor that is
       possible, whose log is added to *log_scale, for runs of 8 n points, each given by its first
       point, the one after its last, and its first row.  *fallen has how much the logs of products
       can have fallen.  Unless out is NULL, they are added to it before products can be below
       exp(TK_LEAST), which begin again: where *fallen is 0, they are 1, whatever they hold. */
    TK_WIDE_CLONES
    static void tk_multiply(ptrdiff_t runs, const ptrdiff_t *restrict run, ptrdiff_t row_eights,
                            const double *restrict irrelevant, const double *restrict relevant,
                            double *restrict log_ratio, double *restrict product,
                            double *out, double *fallen, double *log_scale)
    {
        const ptrdiff_t rows = 8 * row_eights, points = run[3 * runs - 2];
        double least[8] = {0}, most[8] = {0}, low = 0, high = 0, without;
        int begins;
        for (ptrdiff_t r = 0; r < rows; r += 8)
            for (ptrdiff_t i = 0; i < 8; ++i) {
                least[i] = log_ratio[r + i] < least[i] ? log_ratio[r + i] : least[i];
                most[i] = log_ratio[r + i] > most[i] ? log_ratio[r + i] : most[i];
            }
        for (ptrdiff_t i = 0; i < 8; ++i) {
            low = least[i] < low ? least[i] : low;
            high = most[i] > high ? most[i] : high;
        }
        if (out && *fallen > 0 && *fallen + high - low > -TK_LEAST) {
            for (ptrdiff_t at = 0; at < points; ++at)
                out[at] += tk_log(product[at]);
            *fallen = 0;
        }
        begins = *fallen == 0;
        *fallen += high - low;
        *log_scale += high;
        for (ptrdiff_t r = 0; r < rows; ++r) {
            double below = log_ratio[r] - high;
            log_ratio[r] = tk_exp(below < TK_LEAST ? TK_LEAST : below);
        }
        without = tk_exp(-high < TK_LEAST ? TK_LEAST : -high);
        for (ptrdiff_t r = 0; r < runs; ++r) {
            const ptrdiff_t first = run[3 * r], stop = run[3 * r + 1];
            const double *mine = log_ratio + run[3 * r + 2] - first;
            if (begins)
                for (ptrdiff_t at = first; at < stop; ++at)
                    product[at] = irrelevant[at] * without + relevant[at] * mine[at];
            else
                for (ptrdiff_t at = first; at < stop; ++at)
                    product[at] *= irrelevant[at] * without + relevant[at] * mine[at];
        }
    }
    """
    void log_averages "tk_log_averages"(
        Py_ssize_t eights, Py_ssize_t row_eights, Py_ssize_t point_eights, double x, double power,
        const double *log_factor, const double *mean, const double *inverse, const double *spread,
        const Py_ssize_t *node, const double *prior, const Py_ssize_t *row, const double *pi,
        const double *log_norm, double *density, double *average, double *out) noexcept nogil
    void interpolate "tk_interpolate"(Py_ssize_t point_eights, const double *table,
                                      const double *weight, int adds,
                                      double *out) noexcept nogil
    void add "tk_add"(Py_ssize_t eights, const double *x, double *out) noexcept nogil
    void sum_logs "tk_log_sums"(Py_ssize_t rows, Py_ssize_t points, Py_ssize_t eights,
                                Py_ssize_t columns, const double *logs, double factor,
                                const double *log_weight, double *scratch,
                                double *out) noexcept nogil
    void multiply "tk_multiply"(Py_ssize_t runs, const Py_ssize_t *run, Py_ssize_t row_eights,
                                const double *irrelevant, const double *relevant,
                                double *log_ratio, double *product, double *out, double *fallen,
                                double *log_scale) noexcept nogil

cdef extern from *:
    """
    #define TK_REACH 40
    """
    int REACH "TK_REACH"  # steps of the table on each side of its middle
    double TK_LEAST

TABLE = 2 * REACH + 1  # values of x in a table
LEAST = TK_LEAST  # of the log of what products may fall by


def aligned(*shape):
    """Return an array of numbers, to be filled, whose eights do not cross lines of the cache."""
    size = int(np.prod(shape))
    found = np.empty(size + 8)
    start = -found.ctypes.data // 8 % 8
    return found[start:start + size].reshape(shape)


def log_sums(const double[:, ::1] logs, const double[::1] log_weight, double factor=1.0):
    """Return the logs of the sums over points of exp(factor logs + log_weight), (N,).

    logs (N, .) has P points first, then columns that are ignored; log_weight (P,), P >= 1.
    """
    cdef Py_ssize_t P = log_weight.shape[0], eights = (P + 7) // 8
    cdef double[::1] scratch = np.full(8 * eights, -np.inf), out = np.empty(logs.shape[0])
    if out.shape[0]:
        with nogil:
            sum_logs(out.shape[0], P, eights, logs.shape[1], &logs[0, 0], factor,
                     &log_weight[0], &scratch[0], &out[0])
    return np.asarray(out)


def along(const double[::1] x, const double[:, :, ::1] coefficients, const double[:, ::1] places):
    """Return each of T cubic splines at its own places (T, F), (T, F).

    x (G,), coefficients (4, G - 1, T) are those of scipy's CubicSpline.  Outside of x splines
    continue as lines, which never rise.  Places of a spline in order are found fastest.
    """
    cdef Py_ssize_t T = places.shape[0], F = places.shape[1], last = x.shape[0] - 1, i, f, at
    cdef double[:, ::1] out = np.empty((T, F))
    cdef double inside, away, a, b, c, rise
    with nogil:
        for i in range(T):
            at = 0
            for f in range(F):
                inside = min(max(places[i, f], x[0]), x[last])
                while at > 0 and x[at] > inside:
                    at -= 1
                while at < last - 1 and x[at + 1] <= inside:
                    at += 1
                a, b = coefficients[0, at, i], coefficients[1, at, i]
                c, away = coefficients[2, at, i], inside - x[at]
                rise = ((3 * a * away + 2 * b) * away + c) * (places[i, f] - inside)
                out[i, f] = (((a * away + b) * away + c) * away + coefficients[3, at, i]
                             + min(rise, 0.0))
    return np.asarray(out)


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
    """Predictive densities of k features in G classes, at R points: `add` and `multiply`.

    Feature j has the nodes offset[j] to offset[j + 1] of log_factor, mean, inverse (G, M) and
    spread (M,), the first without effect, of probability 1 - pi (R,); the others are averaged for
    the row of each point, row (R,), by prior[node[t], row], node (M,), prior (., .).  log_norm
    (k, R) is the log of the average of what a kept feature says; power, middle and step are (k,).
    R, the columns of prior and the offsets are multiples of 8.

    The log of an average is a smooth function of x.  It is interpolated by polynomials of degree 5
    from its values at middle + i step, |i| <= REACH, which are computed when one is needed first,
    for `features` at a time: table (features, G, TABLE, R).  Beyond, it is computed.
    """

    cdef const Py_ssize_t[::1] offset, node, row
    cdef const double[::1] power, spread, pi, middle, step
    cdef const double[:, ::1] log_factor, mean, inverse, prior, log_norm
    cdef double[:, :, :, ::1] table
    cdef unsigned char[:, :, ::1] known
    cdef double[::1] density, average, log_average  # scratch
    cdef const Py_ssize_t[:, ::1] runs  # of `multiply`, as the next ones
    cdef const double[:, ::1] irrelevant, relevant
    cdef double[:, :, ::1] product
    cdef double[:, ::1] fallen, log_scale

    def __init__(self, predictive, Py_ssize_t features):
        self.offset, self.node, self.row = predictive.offset, predictive.node, predictive.row
        self.power, self.spread, self.pi = predictive.power, predictive.spread, predictive.pi
        self.middle, self.step = predictive.middle, predictive.step
        self.log_factor, self.mean = predictive.log_factor, predictive.mean
        self.inverse, self.prior = predictive.inverse, predictive.prior
        self.log_norm = predictive.log_norm
        shape = features, self.mean.shape[0], TABLE, self.row.shape[0]
        self.table, self.known = aligned(*shape), np.zeros(shape[:3], dtype=np.uint8)
        self.density = aligned(max(np.diff(predictive.offset), default=0))
        self.average, self.log_average = aligned(self.prior.shape[1]), aligned(shape[3])
        self.runs = np.empty((0, 3), dtype=np.intp)

    def add(self, const double[:, ::1] cases, Py_ssize_t together, double[:, :, ::1] out):
        """Add to out[i, g] the log density of each feature of case i in class g, (T, G, R).

        It is relative to that without effect, which all classes have in common.  cases (T, k) has
        NaN where a value is missing: it has no term.  So many cases go `together` through the
        features of a table.
        """
        cdef Py_ssize_t T = cases.shape[0], k = cases.shape[1], first = 0, start, slot
        with nogil:
            while first < k:
                if self.table.shape[0] < k:
                    self.known[:, :, :] = 0
                start = 0
                while start < T:
                    for slot in range(min(self.table.shape[0], k - first)):
                        self.add_feature(first + slot, slot, cases, start,
                                         min(start + together, T), out)
                    start += together
                first += self.table.shape[0]

    def multiply(self, const double[:, ::1] cases, Py_ssize_t together, products,
                 double[:, :, ::1] product, double[:, ::1] fallen, double[:, ::1] log_scale,
                 double[:, :, ::1] out):
        """Multiply product[i, g] by densities at P points (T, G, P), whose rows are points here.

        Of these pi is 1: points of one row differ in their probability that feature j is
        `irrelevant` or `relevant`, (k, P).  `runs` (., 3) are those of points with one pi whose
        rows follow each other: the first point, the one after the last, the first row; their
        lengths are multiples of 8. The log density is out + log(product) + log_scale, as in `add`.
        out, log_scale and fallen (T, G) begin with 0; where fallen is 0 in the end, product is 1,
        but holds anything. Where out is empty, products that have fallen by more than exp(LEAST)
        may be 0.
        """
        self.runs = products.runs
        self.irrelevant, self.relevant = products.irrelevant, products.relevant
        self.product, self.fallen, self.log_scale = product, fallen, log_scale
        self.add(cases, together, out)

    cdef void add_feature(self, Py_ssize_t j, Py_ssize_t slot, const double[:, ::1] cases,
                          Py_ssize_t start, Py_ssize_t stop,
                          double[:, :, ::1] out) noexcept nogil:
        # feature j, whose tables have this slot, of cases start to stop - 1
        cdef Py_ssize_t eights = self.row.shape[0] // 8, runs = self.runs.shape[0], i, g, at, near
        cdef double x, place, u = 0, middle = self.middle[j], step = self.step[j]
        cdef double[6] around
        cdef double *mine = &self.log_average[0]
        cdef double *logs
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
                    self.log_averages_at(x, j, g, mine)
                else:
                    if not all_known(&self.known[slot, g, near]):
                        for at in range(near, near + 6):
                            if not self.known[slot, g, at]:
                                self.log_averages_at(middle + (at - REACH) * step, j, g,
                                                     &self.table[slot, g, at, 0])
                            self.known[slot, g, at] = 1
                    interpolate(eights, &self.table[slot, g, near, 0], around, not runs,
                                mine if runs else &out[i, g, 0])
                if not runs and near < 0:
                    add(eights, mine, &out[i, g, 0])
                elif runs:
                    logs = &out[i, g, 0] if out.shape[0] else NULL
                    multiply(runs, &self.runs[0, 0], eights, &self.irrelevant[j, 0],
                             &self.relevant[j, 0], mine, &self.product[i, g, 0], logs,
                             &self.fallen[i, g], &self.log_scale[i, g])

    cdef void log_averages_at(self, double x, Py_ssize_t j, Py_ssize_t g,
                              double *out) noexcept nogil:
        # of feature j in class g
        cdef Py_ssize_t first = self.offset[j]
        log_averages((self.offset[j + 1] - first) // 8, self.average.shape[0] // 8,
                     self.row.shape[0] // 8, x, self.power[j], &self.log_factor[g, first],
                     &self.mean[g, first], &self.inverse[g, first], &self.spread[first],
                     &self.node[first], &self.prior[0, 0], &self.row[0], &self.pi[0],
                     &self.log_norm[j, 0], &self.density[0], &self.average[0], out)
