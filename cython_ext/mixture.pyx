"""The mixture model: tables of marginals and adjustment factors, both samplers, and predictions.

Component 1 holds m of n cases.  A feature with s ones in all has I1 of them in component 1, and
theta and phi integrated out leave

    log m(s, I1 | m, alpha) = log of the integral of U(I0, m0 - I0) U(I1, m - I1) over theta,

I0 = s - I1, m0 = n - m.  Exchanging components gives m(s, s - I1 | n - m, alpha), so tables are
kept for m <= n / 2; exchanging 0 and 1 in a feature changes nothing, so features come with
s <= n / 2.  A *cell* is a pair (s, I1), I1 = 0..s.

As functions of alpha these are computed at some nodes, and taken from there to the K points of the
grid by a matrix, `interpolation` (K, nodes).  These nodes, and those of the rule for theta, are
filled up to multiples of LANES, which the loops run over: J and G.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, lgamma, log, log1p
from libc.stdint cimport int32_t, int64_t
from numpy.random cimport bitgen_t

from _counts cimport fill_counts
from _draws cimport generator
from _maths cimport dot

cdef enum:
    WITHIN, BELOW, AT, LOT  # what is known of features left out: see models/selection.py
    LANES = 8  # numbers that loops take together, as dot does


def filled_up(array, double value):
    """Return the array with `value` at the end of its last axis, up to a multiple of LANES."""
    cdef Py_ssize_t spare = LANES * ((len(array.T) + LANES - 1) // LANES) - len(array.T)
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, spare)], constant_values=value)


cdef class Marginals:
    """log m by component size, cell and alpha, computed when first met.

    With `counted` it is P(I0, I1 | m, alpha) = C(m0, I0) C(m, I1) exp(log m), at the nodes only.
    node are the nodes for alpha; rule has theta, complement and weight of the quadrature rule;
    log_factorial is (n + 1,); totals (D,) are the values of s that cells are wanted for, rising.
    About block_bytes of log m are kept at the nodes, for whole component sizes, and pool_bytes at
    single points of the grid, cell by cell, but one table of each at least.  When one of the two
    is full, all of it is forgotten.
    """

    cdef readonly Py_ssize_t n, filled  # filled: how many sizes were computed
    cdef Py_ssize_t points, nodes
    cdef Py_ssize_t blocks_used, pool_used
    cdef bint counted
    cdef const double[::1] node, theta, complement, weight, log_factorial
    cdef const double[:, ::1] interpolation
    cdef const Py_ssize_t[::1] totals, start  # start (D + 1,): where the cells of each total begin
    cdef const Py_ssize_t[::1] first_cell  # the same by total, (n // 2 + 1,)
    cdef double[:, :, ::1] block  # (., cells, J)
    cdef int32_t[::1] block_of  # where in it a size is, or -1, (n // 2 + 1,)
    cdef double[:, ::1] pool  # (., cells)
    cdef int32_t[:, ::1] pool_of  # (n // 2 + 1, K)
    cdef double[:, ::1] first, second  # scratch, (n + 1, G)

    def __init__(self, Py_ssize_t n, bint counted, const double[::1] node, interpolation, rule,
                 const double[::1] log_factorial, totals, Py_ssize_t block_bytes,
                 Py_ssize_t pool_bytes):
        cdef Py_ssize_t sizes = n // 2 + 1, cells, fitting
        self.n, self.counted, self.node, self.log_factorial = n, counted, node, log_factorial
        self.interpolation = filled_up(interpolation, 0)
        self.theta, self.complement = filled_up(rule.theta, 0.5), filled_up(rule.complement, 0.5)
        self.weight = filled_up(rule.weight, 0)
        begin = np.concatenate([[0], np.cumsum(totals + 1)]).astype(np.intp)
        by_total = np.zeros(sizes, dtype=np.intp)
        by_total[totals] = begin[:len(totals)]
        self.totals, self.start, self.first_cell = totals, begin, by_total
        cells = max(self.start[self.totals.shape[0]], 1)
        fitting = block_bytes // (8 * cells * self.interpolation.shape[1])
        self.block = np.zeros((min(max(fitting, 1), sizes), cells, self.interpolation.shape[1]))
        self.block_of = np.full(sizes, -1, dtype=np.int32)
        fitting = pool_bytes // (8 * cells)
        self.pool = np.empty((min(max(fitting, 1), sizes * self.interpolation.shape[0]), cells))
        self.pool_of = np.full((sizes, self.interpolation.shape[0]), -1, dtype=np.int32)
        self.first = np.empty((n + 1, self.theta.shape[0]))
        self.second = np.empty((n + 1, self.theta.shape[0]))
        self.blocks_used = self.pool_used = self.filled = 0
        self.points, self.nodes = self.interpolation.shape[0], self.interpolation.shape[1]

    cdef const double *at_nodes(self, Py_ssize_t m) noexcept nogil:
        # for component 1 of size m <= n / 2, (cells, J)
        cdef Py_ssize_t i
        if self.block_of[m] < 0:
            if self.blocks_used == self.block.shape[0]:
                for i in range(self.block_of.shape[0]):
                    self.block_of[i] = -1
                self.blocks_used = 0
            self.block_of[m] = <int32_t> self.blocks_used
            self.blocks_used += 1
            self.fill(m, self.block[self.block_of[m]])
        return &self.block[self.block_of[m], 0, 0]

    cdef void fill(self, Py_ssize_t m, double[:, ::1] out) noexcept nogil:
        # P(I0, I1) = sum over g of weight_g P(I0 | theta_g) P(I1 | theta_g), orderings counted
        cdef Py_ssize_t m0 = self.n - m, G = self.theta.shape[0], t, s, i1, g, v
        cdef double p
        self.filled += 1
        for v in range(self.node.shape[0]):
            fill_counts(self.node[v], &self.theta[0], &self.complement[0], G, m0,
                        &self.first[0, 0])
            fill_counts(self.node[v], &self.theta[0], &self.complement[0], G, m,
                        &self.second[0, 0])
            for i1 in range(m + 1):
                for g in range(G):
                    self.second[i1, g] *= self.weight[g]
            for t in range(self.totals.shape[0]):
                s = self.totals[t]
                for i1 in range(min(s, m) + 1):  # s <= n / 2 <= m0
                    p = dot(&self.first[s - i1, 0], &self.second[i1, 0], G)
                    if not self.counted:
                        p = log(p) - self.log_choose(m0, s - i1) - self.log_choose(m, i1)
                    out[self.start[t] + i1, v] = p

    cdef inline double log_choose(self, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
        return self.log_factorial[n] - self.log_factorial[k] - self.log_factorial[n - k]

    cdef double *table(self, Py_ssize_t m, Py_ssize_t a) noexcept nogil:
        # log m at point a of the grid, (cells,); what is not known yet is NaN
        cdef Py_ssize_t i, j
        cdef double *out
        if self.pool_of[m, a] < 0:
            if self.pool_used == self.pool.shape[0]:
                for i in range(self.pool_of.shape[0]):
                    for j in range(self.pool_of.shape[1]):
                        self.pool_of[i, j] = -1
                self.pool_used = 0
            self.pool_of[m, a] = <int32_t> self.pool_used
            out = &self.pool[self.pool_used, 0]
            self.pool_used += 1
            for i in range(self.pool.shape[1]):
                out[i] = NAN
        return &self.pool[self.pool_of[m, a], 0]

    cdef double cell_at(self, const double *nodes, Py_ssize_t cell, Py_ssize_t a) noexcept nogil:
        cdef Py_ssize_t J = self.interpolation.shape[1]
        return dot(nodes + cell * J, &self.interpolation[a, 0], J)

    def log_marginal(self, Py_ssize_t m, Py_ssize_t a, Py_ssize_t s, Py_ssize_t i1):
        """Return log m of a feature with s ones, I1 of them in component 1 of any size m."""
        if 2 * m > self.n:
            m, i1 = self.n - m, s - i1
        return self.cell_at(self.at_nodes(m), self.first_cell[s] + i1, a)


cdef class Chances:
    """log P(COR in some set | labels, alpha) of a feature, at the nodes for alpha, when first met.

    The labels matter through c_y, the cases of class y in component 1.  Of the ones of a feature,
    A among s0 in component 0 and B among s1 in component 1 belong to class 1: hypergeometric.

        P(|COR| > gamma) = sum over s0, s1 of P(s0, s1 | m, alpha) W(s0, s1),
        W = P(A + B >= high[s]) + P(A + B <= low[s]),   s = s0 + s1,

    where W has nothing to do with alpha.  Exchanging zeros and ones maps s to n - s and leaves
    both factors alone, so the sum runs over s <= n / 2, doubled but for s = n / 2.  With `equal` it
    is P(|COR| = gamma), and W = P(A + B = high[s]) + P(A + B = low[s]).

    marginals must be `counted` and have the cells of all totals 0..n // 2 that count; by total,
    high and low (n // 2 + 1,) are the least I1 with Cor > gamma and the most with Cor < -gamma, or
    those with Cor = gamma and Cor = -gamma, N1 + 1 and -1 where there is none.
    """

    cdef Py_ssize_t N0, N1
    cdef bint equal
    cdef Marginals marginals
    cdef const Py_ssize_t[::1] high, low
    cdef double[:, :, ::1] value  # (N0 + 1, N1 + 1, J); -inf where nothing is in the set
    cdef unsigned char[:, ::1] known  # which of them are computed, (N0 + 1, N1 + 1)
    # scratch: (cells,), (n + 1, N1 + 1), (n + 1, 2 N1 + 1) twice
    cdef double[::1] weight
    cdef double[:, ::1] pmf, upper, lower

    def __init__(self, Py_ssize_t N0, Py_ssize_t N1, Marginals marginals,
                 const Py_ssize_t[::1] high, const Py_ssize_t[::1] low, bint equal):
        cdef Py_ssize_t n = N0 + N1
        self.N0, self.N1, self.marginals, self.high, self.low = N0, N1, marginals, high, low
        self.equal = equal
        self.value = np.empty((N0 + 1, N1 + 1, marginals.nodes))
        self.known = np.zeros((N0 + 1, N1 + 1), dtype=np.uint8)
        self.weight = np.empty(marginals.start[marginals.totals.shape[0]])
        self.pmf = np.empty((n + 1, N1 + 1))
        self.upper, self.lower = np.empty((n + 1, 2 * N1 + 1)), np.empty((n + 1, 2 * N1 + 1))

    cdef const double *at_nodes(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        # the logarithms, (J,), for component 1 of size c0 + c1 <= n / 2
        if not self.known[c0, c1]:
            self.fill(c0, c1)
            self.known[c0, c1] = 1
        return &self.value[c0, c1, 0]

    cdef void fill(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        cdef Py_ssize_t m = c0 + c1, v, t, cell, J = self.value.shape[2], start
        cdef const double *p = self.marginals.at_nodes(m)
        cdef double *out = &self.value[c0, c1, 0]
        cdef double largest = 0, w
        self.fill_weights(c0, c1)
        for v in range(J):
            out[v] = 0
        for t in range(self.marginals.totals.shape[0]):
            start = self.marginals.start[t]
            for cell in range(start, start + min(self.marginals.totals[t], m) + 1):
                w = self.weight[cell]
                if w > 0:
                    for v in range(J):
                        out[v] += w * p[cell * J + v]
        for v in range(J):
            largest = max(largest, out[v])
        for v in range(J):
            # beyond the last node there are zeros, which interpolation ignores
            out[v] = log(max(out[v], 1e-300)) if largest > 0 else -INFINITY

    cdef void fill_weights(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        # weight of a cell = W, doubled unless s = n / 2; 0 where there is no such count.
        # P(A + B >= t) = sum over a of P(A = a) P(B >= t - a); upper[s1, j] = P(B >= N1 - j) makes
        # it a dot product along j = a - t + N1, and lower[s1, j] = P(B <= N1 - j) likewise
        cdef Py_ssize_t n = self.N0 + self.N1, m1 = c0 + c1, m0 = n - m1
        cdef Py_ssize_t k0 = self.N1 - c1, k1 = c1, s, s0, s1, t, start, j
        cdef Py_ssize_t least0, most0, least1, most1, least, most
        cdef double total
        for s0 in range(min(m0, n // 2) + 1):
            self.hypergeometric(m0, k0, s0, &self.pmf[s0, 0])
        for s1 in range(min(m1, n // 2) + 1):
            self.tails(m1, k1, s1)
        for j in range(self.marginals.totals.shape[0]):
            s, start = self.marginals.totals[j], self.marginals.start[j]
            for s1 in range(m1 + 1, s + 1):
                self.weight[start + s1] = 0
            for s1 in range(min(s, m1) + 1):  # s <= n / 2 <= m0
                s0 = s - s1
                least0, most0 = max(0, s0 - (m0 - k0)), min(s0, k0)
                least1, most1 = max(0, s1 - (m1 - k1)), min(s1, k1)
                total = 0
                t = self.high[s]
                if most0 + most1 >= t:
                    least = max(least0, t - most1)
                    total = dot(&self.pmf[s0, least], &self.upper[s1, least - t + self.N1],
                                most0 - least + 1)
                t = self.low[s]
                if least0 + least1 <= t:
                    most = min(most0, t - least1)
                    total += dot(&self.pmf[s0, least0], &self.lower[s1, least0 - t + self.N1],
                                 most - least0 + 1)
                self.weight[start + s1] = total if 2 * s == n else 2 * total

    cdef void hypergeometric(self, Py_ssize_t m, Py_ssize_t k, Py_ssize_t s,
                             double *pmf) noexcept nogil:
        # pmf[a] = C(k, a) C(m - k, s - a) / C(m, s), upwards from the least a
        cdef Py_ssize_t least = max(0, s - (m - k)), a
        pmf[least] = exp(self.marginals.log_choose(k, least)
                         + self.marginals.log_choose(m - k, s - least)
                         - self.marginals.log_choose(m, s))
        for a in range(least, min(s, k)):
            pmf[a + 1] = (pmf[a] * ((k - a) * <double> (s - a))
                          / ((a + 1) * <double> (m - k - s + a + 1)))

    cdef void tails(self, Py_ssize_t m, Py_ssize_t k, Py_ssize_t s) noexcept nogil:
        # upper and lower for B, where fill_weights reads them; with `equal` both are P(B = N1 - j)
        cdef Py_ssize_t least = max(0, s - (m - k)), most = min(s, k), b, j
        cdef double *pmf = &self.pmf[self.pmf.shape[0] - 1, 0]  # a row that no s0 uses
        cdef double total = 0
        self.hypergeometric(m, k, s, pmf)
        for b in range(most, least - 1, -1):
            total = pmf[b] if self.equal else total + pmf[b]
            self.upper[s, self.N1 - b] = total
        for j in range(self.N1 - least + 1, self.upper.shape[1]):
            self.upper[s, j] = 0 if self.equal else 1
        total = 0
        for b in range(least, most + 1):
            total = pmf[b] if self.equal else total + pmf[b]
            self.lower[s, self.N1 - b] = total
        for j in range(self.N1 - most):
            self.lower[s, j] = 0 if self.equal else 1


# ---- adjustment factors ----

# Features left out that may tie with those kept, of which a lot was drawn.
#
# A feature has |COR| = gamma with probability e, |COR| < gamma with probability s.  Of d features
# left out it is not known how many tie with the m kept ones that do.  If t of them do, the lot
# chose among m + t features, and
#
#     P(selection) = sum over t of C(d, t) e^t s^(d - t) / C(m + t, m).
#
# With x = e / s the terms have the ratios (d - t) x / (m + t + 1), which fall.  Continued to t = -m
# the sum would be (e + s)^(d + m) / (C(d + m, m) e^m), so that either side of t = 0 gives it: the
# cheaper one is that on which the terms fall from the start, some sqrt(m) terms.

cdef inline double log_lot(double log_e, double log_s, double d, double m,
                           double log_choose) noexcept nogil:
    # log of the sum, for d > 0; log_choose = log C(d + m, m)
    cdef double x, term = 1, total = 0, t = 0
    if log_e == -INFINITY:
        return d * log_s
    if log_s == -INFINITY:
        return d * log_e - log_choose
    x = exp(log_e - log_s)
    if d * x <= m + 1:
        while term > 1e-17 * total:
            total += term
            term *= (d - t) * x / (m + t + 1)
            t += 1
        return d * log_s + log(total)
    while t < m:
        term *= (m - t) / ((d + t + 1) * x)
        total += term
        if term < 1e-17 * total:
            break
        t += 1
    # the whole sum over s^d
    term = (d + m) * log1p(x) - m * log(x) - log_choose
    return d * log_s + term + log1p(-total * exp(-term))


cdef inline double log_at(Chances chances, const double *nodes, Py_ssize_t a) noexcept nogil:
    # the log of a chance at point a of the grid
    return -INFINITY if nodes[0] == -INFINITY else chances.marginals.cell_at(nodes, 0, a)


cdef inline double log_rest(Chances chances, const double *nodes, Py_ssize_t a) noexcept nogil:
    # log(1 - chance); a constant feature alone, whose correlation is 0, is worth 2 / (n + 1) or
    # more: no digits are lost
    if nodes == NULL:
        return -INFINITY
    if nodes[0] == -INFINITY:
        return 0
    return log1p(-min(exp(chances.marginals.cell_at(nodes, 0, a)), 1.0))


cdef class Discards:
    """The log factor for all alpha, when first met.

    above, reaching and equal are the chances that |COR| > gamma, >= gamma and = gamma, at K points
    for alpha, or None where they are not needed; reaching also where each feature reaches gamma.
    count (4,) is how many features were left out, by event.  Where lots were drawn, tied_kept of
    the kept features tie with gamma, and log_choose = log C(count + tied_kept, tied_kept).
    """

    cdef readonly Py_ssize_t hits, misses
    cdef Py_ssize_t N0, N1
    cdef Chances above, reaching, equal
    cdef bint has_above, has_reaching, has_equal
    cdef double[4] count
    cdef double tied_kept, log_choose
    cdef readonly double[:, :, ::1] value  # (N0 + 1, N1 + 1, K)
    cdef unsigned char[:, ::1] known  # which of them are computed, (N0 + 1, N1 + 1)

    def __init__(self, Py_ssize_t N0, Py_ssize_t N1, Py_ssize_t K, Chances above, Chances reaching,
                 Chances equal, const double[::1] count, double tied_kept, double log_choose):
        cdef Py_ssize_t event
        self.N0, self.N1 = N0, N1
        self.above, self.reaching, self.equal = above, reaching, equal
        self.has_above, self.has_reaching = above is not None, reaching is not None
        self.has_equal = equal is not None
        for event in range(4):
            self.count[event] = count[event]
        self.tied_kept, self.log_choose = tied_kept, log_choose
        self.value = np.empty((N0 + 1, N1 + 1, K))
        self.known = np.zeros((N0 + 1, N1 + 1), dtype=np.uint8)
        self.hits = self.misses = 0

    cdef const double *entry(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        cdef Py_ssize_t n = self.N0 + self.N1, twice = 2 * (c0 + c1)
        if twice > n or (twice == n and 2 * c1 > self.N1):  # the same with components exchanged
            c0, c1 = self.N0 - c0, self.N1 - c1
        if self.known[c0, c1]:
            self.hits += 1
        else:
            self.misses += 1
            self.fill(c0, c1)
            self.known[c0, c1] = 1
        return &self.value[c0, c1, 0]

    cdef void fill(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        cdef const double *above = self.above.at_nodes(c0, c1) if self.has_above else NULL
        cdef const double *reaching = self.reaching.at_nodes(c0, c1) if self.has_reaching else NULL
        cdef const double *equal = self.equal.at_nodes(c0, c1) if self.has_equal else NULL
        cdef Py_ssize_t a
        cdef double total, log_s = 0, log_e = 0
        for a in range(self.value.shape[2]):
            total = 0
            if self.count[WITHIN] > 0:
                total = self.count[WITHIN] * log_rest(self.above, above, a)
            if self.count[BELOW] + self.count[LOT] > 0:
                log_s = log_rest(self.reaching, reaching, a)
            if self.count[AT] + self.count[LOT] > 0:
                log_e = log_at(self.equal, equal, a)
            if self.count[BELOW] > 0:
                total += self.count[BELOW] * log_s
            if self.count[AT] > 0:
                total += self.count[AT] * log_e
            if self.count[LOT] > 0:
                total += log_lot(log_e, log_s, self.count[LOT], self.tied_kept, self.log_choose)
            self.value[c0, c1, a] = total

    def log_discards(self, Py_ssize_t c0, Py_ssize_t c1, double[::1] out):
        """Write the log factor for every alpha, (K,)."""
        cdef const double *entry
        cdef Py_ssize_t a
        with nogil:
            entry = self.entry(c0, c1)
            for a in range(out.shape[0]):
                out[a] = entry[a]

    def fill_all(self):
        """Compute the whole table: every count, every alpha."""
        cdef Py_ssize_t n = self.N0 + self.N1, c1, m
        with nogil:
            for m in range(n // 2 + 1):
                for c1 in range(max(0, m - self.N0), min(self.N1, m) + 1):
                    self.entry(m - c1, c1)


# ---- samplers ----

cdef inline double uniform(bitgen_t *rng) noexcept nogil:
    # in [0, 1)
    return rng.next_double(rng.state)


cdef inline Py_ssize_t categorical(double *log_weight, Py_ssize_t points, double power,
                                   bitgen_t *rng) noexcept nogil:
    # draw a position with probability proportional to exp(power log_weight), which is lost
    cdef Py_ssize_t a
    cdef double top = log_weight[0], total = 0, u
    for a in range(points):
        top = max(top, log_weight[a])
    for a in range(points):
        log_weight[a] = exp(power * (log_weight[a] - top))
        total += log_weight[a]
    u = uniform(rng) * total
    for a in range(points - 1):
        u -= log_weight[a]
        if u < 0:
            return a
    return points - 1


cdef inline double sum_cells(const double *table, const int32_t *index, const int32_t *mirror,
                             const unsigned char *row, Py_ssize_t k, bint mirrored,
                             int step) noexcept nogil:
    # sum over features of the cell of I1 + step x, in LANES partial sums; in the mirrored table
    # (components exchanged) the cell of I1 is mirror - index
    cdef double[LANES] partial
    cdef Py_ssize_t i = 0, j
    cdef int32_t cell
    cdef double total = 0
    for j in range(LANES):
        partial[j] = 0
    while i + LANES <= k:
        for j in range(LANES):
            cell = index[i + j] + step * <int32_t> row[i + j]
            partial[j] += table[mirror[i + j] - cell if mirrored else cell]
        i += LANES
    for i in range(i, k):
        cell = index[i] + step * <int32_t> row[i]
        total += table[mirror[i] - cell if mirrored else cell]
    for j in range(LANES):
        total += partial[j]
    return total


cdef class Collapsed:
    """Gibbs sampling of labels, alpha and alpha_0, theta and phi integrated out, tempered.

    R replicas of the state have the targets, by t = 0..R - 1,

        P(labels) P(response | labels, alpha_0)
            (P(features | labels, alpha) P(selection | labels, alpha))^power[t],

    power[0] = 1 first, and exchange their powers now and then: replica holder[t] has power[t].

    x (n, k) has features with at most n / 2 ones, y (n,) the classes.  marginals has the cells of
    the features' totals, response those of the number of cases in the smaller class, each at the
    points of its alpha.  discards is None where there is nothing to correct for; log_prior (n + 1,)
    is log P(labels) by size of component 1.  State, changed in place: labels (R, n), point (R, 2),
    the positions of alpha and alpha_0 on their grids, holder (R,).
    """

    cdef const unsigned char[:, ::1] x
    cdef const unsigned char[::1] y
    cdef unsigned char[::1] x_response  # y, or 1 - y if most are 1
    cdef Marginals marginals, response
    cdef Discards discards
    cdef bint corrected
    cdef const double[::1] log_prior, power
    cdef unsigned char[:, ::1] labels
    cdef Py_ssize_t[:, ::1] point, c  # c (R, 2): cases of each class in component 1
    cdef Py_ssize_t[::1] holder
    # by feature, and last the response: the first cell of its total, that of I1, that of I1 = 0
    # with components exchanged
    cdef int32_t[::1] row, mirror
    cdef int32_t[:, ::1] index
    cdef double[:, ::1] energy  # log marginal of features with the factor; of the response
    cdef double[::1] at_nodes, log_weight  # scratch, (J,) and (points,)
    cdef Py_ssize_t n, k

    def __init__(self, const unsigned char[:, ::1] x, const unsigned char[::1] y,
                 Marginals marginals, Marginals response, Discards discards,
                 const double[::1] log_prior, const double[::1] power,
                 unsigned char[:, ::1] labels, Py_ssize_t[:, ::1] point, Py_ssize_t[::1] holder):
        cdef Py_ssize_t replicas = labels.shape[0]
        self.x, self.y, self.n, self.k = x, y, x.shape[0], x.shape[1]
        self.marginals, self.response = marginals, response
        self.discards, self.corrected = discards, discards is not None
        self.log_prior, self.power = log_prior, power
        self.labels, self.point, self.holder = labels, point, holder
        self.x_response = np.empty(self.n, dtype=np.uint8)
        self.row = np.empty(self.k + 1, dtype=np.int32)
        self.mirror = np.zeros(self.k + 1, dtype=np.int32)
        self.index = np.empty((replicas, self.k + 1), dtype=np.int32)
        self.c, self.energy = np.empty((replicas, 2), dtype=np.intp), np.empty((replicas, 2))
        self.at_nodes = np.empty(self.marginals.nodes)
        self.log_weight = np.empty(max(self.marginals.points, self.response.points))
        with nogil:
            self.find_cells()
        self.refresh()

    cdef void find_cells(self) noexcept nogil:
        cdef Py_ssize_t i, j, ones = 0
        cdef bint most
        for i in range(self.n):
            ones += self.y[i]
            for j in range(self.k):
                self.mirror[j] += self.x[i, j]
        most = 2 * ones > self.n
        self.mirror[self.k] = <int32_t> (self.n - ones if most else ones)
        for i in range(self.n):
            self.x_response[i] = self.y[i] ^ most
        # so far mirror has the totals
        for j in range(self.k):
            self.row[j] = <int32_t> self.marginals.first_cell[self.mirror[j]]
        self.row[self.k] = <int32_t> self.response.first_cell[self.mirror[self.k]]
        for j in range(self.k + 1):
            self.mirror[j] += 2 * self.row[j]

    def refresh(self):
        """Count anew, after the state was set from outside."""
        cdef Py_ssize_t r
        with nogil:
            for r in range(self.labels.shape[0]):
                self.count(r)

    cdef void count(self, Py_ssize_t r) noexcept nogil:
        cdef Py_ssize_t i, j, k = self.k
        self.c[r, 0] = self.c[r, 1] = 0
        for j in range(k + 1):
            self.index[r, j] = self.row[j]
        for i in range(self.n):
            if self.labels[r, i]:
                self.c[r, self.y[i]] += 1
                for j in range(k):
                    self.index[r, j] += self.x[i, j]
                self.index[r, k] += self.x_response[i]
        self.energy[r, 0] = self.energy_at(r, self.point[r, 0])
        self.energy[r, 1] = self.response_at(r, self.point[r, 1])

    def log_posterior(self, Py_ssize_t r):
        """Log posterior of replica r at power 1, up to a constant."""
        return self.log_target(r)

    cdef double log_target(self, Py_ssize_t r) noexcept nogil:
        return (self.energy[r, 0] + self.energy[r, 1]
                + self.log_prior[self.c[r, 0] + self.c[r, 1]])

    cdef double features_at(self, Py_ssize_t r, Py_ssize_t m, Py_ssize_t a, Py_ssize_t i,
                            int step) noexcept nogil:
        # log marginal of all features with component 1 of size m, and case i moved by step
        cdef bint mirrored = 2 * m > self.n
        cdef Py_ssize_t size = self.n - m if mirrored else m, j
        cdef const double *nodes
        cdef double *table
        cdef int32_t cell
        cdef double total
        if self.k == 0:
            return 0
        table = self.marginals.table(size, a)
        total = self.sum_features(table, r, i, mirrored, step)
        if total != total:  # some cells are met for the first time
            nodes = self.marginals.at_nodes(size)
            for j in range(self.k):
                cell = self.index[r, j] + step * <int32_t> self.x[i, j]
                if mirrored:
                    cell = self.mirror[j] - cell
                if table[cell] != table[cell]:
                    table[cell] = self.marginals.cell_at(nodes, cell, a)
            total = self.sum_features(table, r, i, mirrored, step)
        return total

    cdef double sum_features(self, const double *table, Py_ssize_t r, Py_ssize_t i, bint mirrored,
                             int step) noexcept nogil:
        cdef const int32_t *index = &self.index[r, 0]
        cdef const int32_t *mirror = &self.mirror[0]
        cdef const unsigned char *row = &self.x[i, 0]
        cdef Py_ssize_t k = self.k
        # one loop for each case, so that nothing is decided inside it
        if mirrored:
            if step == 1:
                return sum_cells(table, index, mirror, row, k, True, 1)
            if step == -1:
                return sum_cells(table, index, mirror, row, k, True, -1)
            return sum_cells(table, index, mirror, row, k, True, 0)
        if step == 1:
            return sum_cells(table, index, mirror, row, k, False, 1)
        if step == -1:
            return sum_cells(table, index, mirror, row, k, False, -1)
        return sum_cells(table, index, mirror, row, k, False, 0)

    cdef double energy_at(self, Py_ssize_t r, Py_ssize_t a) noexcept nogil:
        cdef double result = self.features_at(r, self.c[r, 0] + self.c[r, 1], a, 0, 0)
        if self.corrected:
            result += self.discards.entry(self.c[r, 0], self.c[r, 1])[a]
        return result

    cdef double response_cell(self, Py_ssize_t m, Py_ssize_t a, Py_ssize_t cell) noexcept nogil:
        # log marginal of the response
        cdef bint mirrored = 2 * m > self.n
        cdef Py_ssize_t size = self.n - m if mirrored else m
        cdef double *table = self.response.table(size, a)
        if mirrored:
            cell = self.mirror[self.k] - cell
        if table[cell] != table[cell]:
            table[cell] = self.response.cell_at(self.response.at_nodes(size), cell, a)
        return table[cell]

    cdef double response_at(self, Py_ssize_t r, Py_ssize_t a) noexcept nogil:
        return self.response_cell(self.c[r, 0] + self.c[r, 1], a, self.index[r, self.k])

    cdef double power_of(self, Py_ssize_t r) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(self.holder.shape[0]):
            if self.holder[t] == r:
                return self.power[t]
        return 1

    def sweep_labels(self, Py_ssize_t r, rng):
        """Update every label of replica r given the others; return how many changed.

        A label goes to the other component with probability 1 / (1 + exp(now - then)), of the
        log targets.
        """
        cdef bitgen_t *bits = generator(rng)
        cdef Py_ssize_t moved
        with nogil:
            moved = self.update_labels(r, self.power_of(r), bits)
        return moved

    cdef Py_ssize_t update_labels(self, Py_ssize_t r, double power,
                                  bitgen_t *rng) noexcept nogil:
        cdef Py_ssize_t i, j, m, y, a = self.point[r, 0], moved = 0
        cdef int step
        cdef double energy, response, change
        for i in range(self.n):
            step = -1 if self.labels[r, i] else 1
            y = self.y[i]
            m = self.c[r, 0] + self.c[r, 1]
            energy = self.features_at(r, m + step, a, i, step)
            if self.corrected:
                self.c[r, y] += step
                energy += self.discards.entry(self.c[r, 0], self.c[r, 1])[a]
                self.c[r, y] -= step
            response = self.response_cell(m + step, self.point[r, 1],
                                          self.index[r, self.k] + step * self.x_response[i])
            change = (power * (energy - self.energy[r, 0]) + response - self.energy[r, 1]
                      + self.log_prior[m + step] - self.log_prior[m])
            if uniform(rng) * (1 + exp(-change)) < 1:
                moved += 1
                self.labels[r, i] = not self.labels[r, i]
                self.c[r, y] += step
                self.energy[r, 0], self.energy[r, 1] = energy, response
                for j in range(self.k):
                    self.index[r, j] += step * self.x[i, j]
                self.index[r, self.k] += step * self.x_response[i]
        return moved

    def sweep_alpha(self, Py_ssize_t r, rng):
        """Draw alpha of replica r from its distribution on the grid given all else."""
        cdef bitgen_t *bits = generator(rng)
        with nogil:
            self.draw_alpha(r, self.power_of(r), bits)

    def sweep_response_alpha(self, Py_ssize_t r, rng):
        """The same for alpha_0."""
        cdef bitgen_t *bits = generator(rng)
        with nogil:
            self.draw_response_alpha(r, bits)

    cdef void draw_alpha(self, Py_ssize_t r, double power, bitgen_t *rng) noexcept nogil:
        # log marginal of all features at the nodes, then at every point of the grid
        cdef Py_ssize_t m = self.c[r, 0] + self.c[r, 1], a, j, v, cell
        cdef Py_ssize_t J = self.marginals.nodes
        cdef bint mirrored = 2 * m > self.n
        cdef const double *nodes = self.marginals.at_nodes(self.n - m if mirrored else m)
        cdef const double *factor = NULL
        for v in range(J):
            self.at_nodes[v] = 0
        for j in range(self.k):
            cell = self.mirror[j] - self.index[r, j] if mirrored else self.index[r, j]
            for v in range(J):
                self.at_nodes[v] += nodes[cell * J + v]
        if self.corrected:
            factor = self.discards.entry(self.c[r, 0], self.c[r, 1])
        for a in range(self.marginals.points):
            self.log_weight[a] = self.marginals.cell_at(&self.at_nodes[0], 0, a)
            if self.corrected:
                self.log_weight[a] += factor[a]
        a = categorical(&self.log_weight[0], self.marginals.points, power, rng)
        self.point[r, 0], self.energy[r, 0] = a, self.energy_at(r, a)

    cdef void draw_response_alpha(self, Py_ssize_t r, bitgen_t *rng) noexcept nogil:
        cdef Py_ssize_t m = self.c[r, 0] + self.c[r, 1], a, k = self.k
        cdef bint mirrored = 2 * m > self.n
        cdef const double *nodes = self.response.at_nodes(self.n - m if mirrored else m)
        cdef Py_ssize_t cell = self.mirror[k] - self.index[r, k] if mirrored else self.index[r, k]
        for a in range(self.response.points):
            self.log_weight[a] = self.response.cell_at(nodes, cell, a)
        a = categorical(&self.log_weight[0], self.response.points, 1, rng)
        self.point[r, 1], self.energy[r, 1] = a, self.response_at(r, a)

    def exchange(self, Py_ssize_t first, int64_t[::1] accepted, rng):
        """Offer exchanges of powers t and t + 1, t = first, first + 2, ...; count in accepted."""
        cdef bitgen_t *bits = generator(rng)
        with nogil:
            self.offer(first, accepted, bits)

    cdef void offer(self, Py_ssize_t first, int64_t[::1] accepted, bitgen_t *rng) noexcept nogil:
        # accepted with probability exp((power[t] - power[t + 1]) (energy then - energy now))
        cdef Py_ssize_t t, r, q
        cdef double change
        for t in range(first, self.holder.shape[0] - 1):
            if (t - first) % 2:
                continue
            r, q = self.holder[t], self.holder[t + 1]
            change = (self.power[t] - self.power[t + 1]) * (self.energy[q, 0] - self.energy[r, 0])
            if uniform(rng) < exp(change):
                self.holder[t], self.holder[t + 1] = q, r
                accepted[t] += 1

    def run(self, Py_ssize_t first, Py_ssize_t rounds, unsigned char[:, ::1] labels,
            Py_ssize_t[:, ::1] point, double[::1] log_posterior, int64_t[::1] accepted, rng):
        """Record the state at power 1 after each of labels.shape[0] iterations.

        An iteration is `rounds` sweeps of that state, one of each hotter one, and exchanges:
        between powers 0 and 1, 2 and 3, ... where its number, from `first` on, is even, the
        others where it is odd.  accepted (R - 1,) is added to.
        """
        cdef bitgen_t *bits = generator(rng)
        cdef Py_ssize_t s, t, r, _u, i
        with nogil:
            for s in range(labels.shape[0]):
                for t in range(self.holder.shape[0]):
                    r = self.holder[t]
                    for _u in range(rounds if t == 0 else 1):
                        self.update_labels(r, self.power[t], bits)
                        self.draw_alpha(r, self.power[t], bits)
                        self.draw_response_alpha(r, bits)
                self.offer((first + s) % 2, accepted, bits)
                r = self.holder[0]
                for i in range(self.n):
                    labels[s, i] = self.labels[r, i]
                point[s, 0], point[s, 1] = self.point[r, 0], self.point[r, 1]
                log_posterior[s] = self.log_target(r)


cdef class WithTheta:
    """The thesis's sampler: labels, theta by Metropolis steps, alpha and alpha_0 on their grids.

    x (n, k + 1) has the features and, last, the response; y (n,) again the response; alpha and
    response_alpha the grids.  `step` is the half-width of the Metropolis proposal.  discards is
    None where there is nothing to correct for; without `in_labels` the label update leaves the
    factor out, and what is sampled is no posterior.  log_prior (n + 1,) is log P(labels) by size of
    component 1.  State, changed in place: labels (n,), theta (k + 1,), and point (2,), the
    positions of alpha and alpha_0 on their grids.
    """

    cdef const unsigned char[:, ::1] x
    cdef const unsigned char[::1] y
    cdef const double[::1] alpha, response_alpha
    cdef Discards discards
    cdef bint corrected, in_labels
    cdef double step
    cdef const double[::1] log_prior
    cdef unsigned char[::1] labels
    cdef double[::1] theta
    cdef Py_ssize_t[::1] point
    cdef Py_ssize_t[:, ::1] ones  # counts by component, (2, k + 1)
    cdef Py_ssize_t n, k
    cdef Py_ssize_t[2] c, size
    cdef double[:, ::1] odds, zero  # scratch, (2, k + 1)
    cdef double[::1] log_weight  # scratch, as long as the longer grid

    def __init__(self, const unsigned char[:, ::1] x, const unsigned char[::1] y,
                 const double[::1] alpha, const double[::1] response_alpha,
                 Discards discards, bint in_labels, double step, const double[::1] log_prior,
                 unsigned char[::1] labels, double[::1] theta, Py_ssize_t[::1] point):
        cdef Py_ssize_t columns = x.shape[1]
        self.x, self.y, self.n, self.k = x, y, x.shape[0], columns - 1
        self.alpha, self.response_alpha = alpha, response_alpha
        self.discards, self.corrected = discards, discards is not None
        self.in_labels, self.step = in_labels, step
        self.log_prior, self.labels, self.theta, self.point = log_prior, labels, theta, point
        self.ones = np.empty((2, columns), dtype=np.intp)
        self.odds, self.zero = np.empty((2, columns)), np.empty((2, columns))
        self.log_weight = np.empty(max(alpha.shape[0], response_alpha.shape[0]))
        self.refresh()

    def refresh(self):
        """Count anew, after the state was set from outside."""
        cdef Py_ssize_t i, j, z
        with nogil:
            self.c[0] = self.c[1] = self.size[0] = self.size[1] = 0
            for z in range(2):
                for j in range(self.k + 1):
                    self.ones[z, j] = 0
            for i in range(self.n):
                z = self.labels[i]
                self.size[z] += 1
                if z:
                    self.c[self.y[i]] += 1
                for j in range(self.k + 1):
                    self.ones[z, j] += self.x[i, j]

    cdef double log_factor(self, Py_ssize_t a) noexcept nogil:
        # log of the adjustment factor at point a of the grid
        return self.discards.entry(self.c[0], self.c[1])[a]

    cdef double concentration(self, Py_ssize_t j) noexcept nogil:
        return (self.alpha[self.point[0]] if j < self.k else self.response_alpha[self.point[1]])

    cdef double log_likelihood(self, Py_ssize_t j, double alpha, double theta) noexcept nogil:
        # log of the product over components of U(alpha theta, alpha (1 - theta), I, O)
        cdef double a = alpha * theta, b = alpha * (1 - theta)
        cdef Py_ssize_t one0 = self.ones[0, j], one1 = self.ones[1, j]
        return (lgamma(a + one0) + lgamma(a + one1) - 2 * lgamma(a)
                + lgamma(b + (self.size[0] - one0)) + lgamma(b + (self.size[1] - one1))
                - 2 * lgamma(b)
                - lgamma(alpha + self.size[0]) - lgamma(alpha + self.size[1]) + 2 * lgamma(alpha))

    def log_posterior(self):
        """Log posterior of labels, theta, alpha and alpha_0, up to a constant."""
        cdef double total
        with nogil:
            total = self.log_target()
        return total

    cdef double log_target(self) noexcept nogil:
        cdef double total = self.log_prior[self.c[0] + self.c[1]]
        cdef Py_ssize_t j
        for j in range(self.k + 1):
            total += self.log_likelihood(j, self.concentration(j), self.theta[j])
        if self.corrected:
            total += self.log_factor(self.point[0])
        return total

    cdef inline void set_odds(self, Py_ssize_t j, bint ones, bint zeros) noexcept nogil:
        # zero[c, j] = log P(x = 0 | z = 1) - log P(x = 0 | z = 0) for a case now in component c,
        # which does not count itself; odds[c, j] = the same for x = 1, less zero[c, j].  The
        # denominators alpha + n are left to the caller.
        cdef double alpha = self.concentration(j), a = alpha * self.theta[j], b = alpha - a
        cdef double i0 = self.ones[0, j], i1 = self.ones[1, j]
        cdef double o0 = self.size[0] - i0, o1 = self.size[1] - i1
        cdef double old
        if zeros:
            old = self.zero[0, j]
            self.zero[0, j] = log((b + o1) / (b + max(o0 - 1, 0)))
            self.odds[0, j] += old - self.zero[0, j]
            old = self.zero[1, j]
            self.zero[1, j] = log((b + max(o1 - 1, 0)) / (b + o0))
            self.odds[1, j] += old - self.zero[1, j]
        if ones:
            self.odds[0, j] = log((a + i1) / (a + max(i0 - 1, 0))) - self.zero[0, j]
            self.odds[1, j] = log((a + max(i1 - 1, 0)) / (a + i0)) - self.zero[1, j]

    cdef double log_odds(self, Py_ssize_t i, Py_ssize_t z) noexcept nogil:
        # log P(x_i | z_i = 1) - log P(x_i | z_i = 0), the factor phi-hat of post-zi, with the
        # denominator alpha + n^[z] of the other cases
        cdef double total = 0, n1 = self.size[1] - z, n0 = self.size[0] - (1 - z)
        cdef double alpha = self.alpha[self.point[0]], alpha0 = self.response_alpha[self.point[1]]
        cdef Py_ssize_t j
        cdef double[LANES] partial
        cdef Py_ssize_t v, k = self.k + 1
        for v in range(LANES):
            partial[v] = 0
        j = 0
        while j + LANES <= k:
            for v in range(LANES):
                partial[v] += self.zero[z, j + v] + self.x[i, j + v] * self.odds[z, j + v]
            j += LANES
        for j in range(j, k):
            total += self.zero[z, j] + self.x[i, j] * self.odds[z, j]
        for v in range(LANES):
            total += partial[v]
        return (total - self.k * log((alpha + n1) / (alpha + n0))
                - log((alpha0 + n1) / (alpha0 + n0)))

    def sweep_labels(self, rng):
        """Update every label given the others, theta, alpha and alpha_0; return how many moved."""
        cdef bitgen_t *bits = generator(rng)
        cdef Py_ssize_t moved
        with nogil:
            moved = self.update_labels(bits)
        return moved

    cdef Py_ssize_t update_labels(self, bitgen_t *rng) noexcept nogil:
        cdef Py_ssize_t i, j, z, y, m, c1, moved = 0
        cdef double change
        for j in range(self.k + 1):
            self.zero[0, j] = self.zero[1, j] = self.odds[0, j] = self.odds[1, j] = 0
            self.set_odds(j, True, True)
        for i in range(self.n):
            z, y = self.labels[i], self.y[i]
            m = self.c[0] + self.c[1] - z  # size of component 1 without case i
            # log P(z_i = 1) - log P(z_i = 0)
            change = (self.log_odds(i, z) + self.log_prior[m + 1] - self.log_prior[m])
            if self.corrected and self.in_labels:
                c1 = self.c[y]
                self.c[y] = c1 - z + 1
                change += self.log_factor(self.point[0])
                self.c[y] = c1 - z
                change -= self.log_factor(self.point[0])
                self.c[y] = c1
            if (uniform(rng) * (1 + exp(-change)) < 1) == (z == 1):
                continue
            moved += 1
            self.labels[i] = 1 - z
            self.c[y] += 1 - 2 * z
            self.size[z] -= 1
            self.size[1 - z] += 1
            for j in range(self.k + 1):
                if self.x[i, j]:
                    self.ones[z, j] -= 1
                    self.ones[1 - z, j] += 1
                    self.set_odds(j, True, False)
                else:
                    self.set_odds(j, False, True)
        return moved

    def sweep_theta(self, Py_ssize_t updates, rng):
        """Update each theta `updates` times by Metropolis steps; return how many were accepted."""
        cdef bitgen_t *bits = generator(rng)
        cdef Py_ssize_t accepted
        with nogil:
            accepted = self.update_theta(updates, bits)
        return accepted

    cdef Py_ssize_t update_theta(self, Py_ssize_t updates, bitgen_t *rng) noexcept nogil:
        cdef Py_ssize_t j, _u, accepted = 0
        cdef double alpha, now, then, proposed
        for j in range(self.k + 1):
            alpha = self.concentration(j)
            now = self.log_likelihood(j, alpha, self.theta[j])
            for _u in range(updates):
                proposed = self.theta[j] + self.step * (2 * uniform(rng) - 1)
                if proposed <= 0 or proposed >= 1:
                    continue
                then = self.log_likelihood(j, alpha, proposed)
                if then >= now or uniform(rng) < exp(then - now):
                    self.theta[j], now = proposed, then
                    accepted += 1
        return accepted

    def sweep_alpha(self, rng):
        """Draw alpha from its distribution on the grid given all else."""
        cdef bitgen_t *bits = generator(rng)
        with nogil:
            self.draw_alpha(bits)

    def sweep_response_alpha(self, rng):
        """The same for alpha_0."""
        cdef bitgen_t *bits = generator(rng)
        with nogil:
            self.draw_response_alpha(bits)

    cdef void draw_alpha(self, bitgen_t *rng) noexcept nogil:
        cdef Py_ssize_t a, j
        for a in range(self.alpha.shape[0]):
            self.log_weight[a] = 0
            for j in range(self.k):
                self.log_weight[a] += self.log_likelihood(j, self.alpha[a], self.theta[j])
            if self.corrected:
                self.log_weight[a] += self.log_factor(a)
        self.point[0] = categorical(&self.log_weight[0], self.alpha.shape[0], 1, rng)

    cdef void draw_response_alpha(self, bitgen_t *rng) noexcept nogil:
        cdef Py_ssize_t a
        for a in range(self.response_alpha.shape[0]):
            self.log_weight[a] = self.log_likelihood(self.k, self.response_alpha[a],
                                                     self.theta[self.k])
        self.point[1] = categorical(&self.log_weight[0], self.response_alpha.shape[0], 1, rng)

    def run(self, Py_ssize_t rounds, Py_ssize_t updates, unsigned char[:, ::1] labels,
            Py_ssize_t[:, ::1] point, double[:, ::1] theta, double[::1] log_posterior, rng):
        """Record the state after each of labels.shape[0] iterations.

        An iteration is `rounds` of labels once and each theta `updates` times, then alpha and
        alpha_0 once (section "A Simulation Experiment", mixture).
        """
        cdef bitgen_t *bits = generator(rng)
        cdef Py_ssize_t t, _u, i, j
        with nogil:
            for t in range(labels.shape[0]):
                for _u in range(rounds):
                    self.update_labels(bits)
                    self.update_theta(updates, bits)
                self.draw_alpha(bits)
                self.draw_response_alpha(bits)
                for i in range(self.n):
                    labels[t, i] = self.labels[i]
                for j in range(self.k + 1):
                    theta[t, j] = self.theta[j]
                point[t, 0], point[t, 1] = self.point[0], self.point[1]
                log_posterior[t] = self.log_target()


# ---- predictions ----

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
