"""The binary mixture model: marginals and adjustment factors by counts, and two Gibbs samplers.

Component 1 holds m of n cases.  A feature with s ones in all has I1 of them in component 1, and
theta and phi integrated out leave

    log m(s, I1 | m, alpha) = log of the integral of U(I0, m0 - I0) U(I1, m - I1) over theta,

I0 = s - I1, m0 = n - m.  Exchanging components gives m(s, s - I1 | n - m, alpha), so tables are
kept for m <= n / 2; exchanging 0 and 1 in a feature changes nothing, so features come with
s <= n / 2.  A *cell* is a pair (s, I1), I1 = 0..s.

As functions of alpha these are computed at J nodes, and taken from there to the K points of the
grid by a matrix, `interpolation` (K, J); J is a multiple of 8, the last columns may be zeros.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport NAN, exp, lgamma, log, log1p
from libc.stdint cimport int32_t, int64_t
from numpy.random cimport bitgen_t

from _counts cimport fill_counts
from _maths cimport dot


cdef enum:
    LANES = 8


cdef class Marginals:
    """log m by component size, cell and alpha, computed when first met.

    With `counted` it is P(I0, I1 | m, alpha) = C(m0, I0) C(m, I1) exp(log m), at the nodes only.
    totals (D,) are the values of s that cells are wanted for, start (D + 1,) where those of each
    begin; theta, complement, weight (G,) the quadrature rule, with weights of 0 up to a multiple
    of 8; node (<= J,) the nodes for alpha; log_factorial (n + 1,).  `block` (., cells, J) keeps
    log m at the nodes for as many sizes as fit, block_of (n // 2 + 1,), filled with -1, says
    where; `pool` (., cells) and pool_of (n // 2 + 1, K) do the same for single points of the
    grid, cell by cell.  What is full is forgotten.  first, second (n + 1, G) are scratch.
    """

    cdef readonly Py_ssize_t n, filled
    cdef Py_ssize_t blocks_used, pool_used
    cdef bint counted
    cdef const double[::1] node, theta, complement, weight, log_factorial
    cdef const double[:, ::1] interpolation
    cdef const Py_ssize_t[::1] totals, start
    cdef double[:, :, ::1] block
    cdef double[:, ::1] pool, first, second
    cdef int32_t[::1] block_of
    cdef int32_t[:, ::1] pool_of

    def __init__(self, Py_ssize_t n, bint counted, const double[::1] node,
                 const double[:, ::1] interpolation, const double[::1] theta,
                 const double[::1] complement, const double[::1] weight,
                 const double[::1] log_factorial, const Py_ssize_t[::1] totals,
                 const Py_ssize_t[::1] start, double[:, :, ::1] block, int32_t[::1] block_of,
                 double[:, ::1] pool, int32_t[:, ::1] pool_of, double[:, ::1] first,
                 double[:, ::1] second):
        self.n, self.counted, self.node, self.interpolation = n, counted, node, interpolation
        self.theta, self.complement, self.weight = theta, complement, weight
        self.log_factorial, self.totals, self.start = log_factorial, totals, start
        self.block, self.block_of, self.pool, self.pool_of = block, block_of, pool, pool_of
        self.first, self.second = first, second
        self.blocks_used = self.pool_used = self.filled = 0

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

    def log_marginal(self, Py_ssize_t m, Py_ssize_t a, Py_ssize_t t, Py_ssize_t i1):
        """Return log m of total number t, with I1 ones in component 1 of any size m."""
        if 2 * m > self.n:
            m, i1 = self.n - m, self.totals[t] - i1
        return self.cell_at(self.at_nodes(m), self.start[t] + i1, a)


cdef class Discards:
    """log P(|COR| <= gamma | labels, alpha_k) of a feature, for all alpha when first met.

    The labels matter through c_y, the cases of class y in component 1.  Of the ones of a feature,
    A among s0 in component 0 and B among s1 in component 1 belong to class 1: hypergeometric.

        P(retained) = sum over s0, s1 of P(s0, s1 | m, alpha) W(s0, s1),
        W = P(A + B >= high[s]) + P(A + B <= low[s]),   s = s0 + s1,

    where W has nothing to do with alpha.  Exchanging zeros and ones maps s to n - s and leaves
    both factors alone, so the sum runs over s <= n / 2, doubled but for s = n / 2.  It is taken
    at the nodes for alpha, and its logarithm interpolated.

    marginals must be `counted` and have the cells of all totals 0..n // 2; high and low
    (n // 2 + 1,) are N1 + 1 and -1 where there is no such count; value (N0 + 1, N1 + 1, K), and
    known (N0 + 1, N1 + 1), zeros.  Scratch: weight (cells,), retained (J,), pmf (n + 1, N1 + 1),
    upper and lower (n + 1, 2 N1 + 1).
    """

    cdef readonly Py_ssize_t hits, misses
    cdef Py_ssize_t N0, N1
    cdef Marginals marginals
    cdef const Py_ssize_t[::1] high, low
    cdef double[:, :, ::1] value
    cdef unsigned char[:, ::1] known
    cdef double[::1] weight, retained
    cdef double[:, ::1] pmf, upper, lower

    def __init__(self, Py_ssize_t N0, Py_ssize_t N1, Marginals marginals,
                 const Py_ssize_t[::1] high, const Py_ssize_t[::1] low,
                 double[:, :, ::1] value, unsigned char[:, ::1] known, double[::1] weight,
                 double[::1] retained, double[:, ::1] pmf, double[:, ::1] upper,
                 double[:, ::1] lower):
        self.N0, self.N1, self.marginals, self.high, self.low = N0, N1, marginals, high, low
        self.value, self.known, self.weight, self.retained = value, known, weight, retained
        self.pmf, self.upper, self.lower = pmf, upper, lower
        self.hits = self.misses = 0

    cdef const double *entry(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        # log P(discarded) for every alpha
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
        cdef Py_ssize_t m = c0 + c1, a, v, s, cell, J = self.retained.shape[0]
        cdef const double *p = self.marginals.at_nodes(m)
        cdef double largest = 0, w, retained
        self.fill_weights(c0, c1)
        for v in range(J):
            self.retained[v] = 0
        for s in range(self.high.shape[0]):
            for cell in range(self.marginals.start[s], self.marginals.start[s] + min(s, m) + 1):
                w = self.weight[cell]
                if w > 0:
                    for v in range(J):
                        self.retained[v] += w * p[cell * J + v]
        for v in range(J):
            largest = max(largest, self.retained[v])
            self.retained[v] = log(max(self.retained[v], 1e-300))
        for a in range(self.value.shape[2]):
            # a constant feature alone is worth 2 / (n + 1) or more: 1 - retained loses no digits
            retained = exp(dot(&self.marginals.interpolation[a, 0], &self.retained[0], J))
            self.value[c0, c1, a] = log1p(-min(retained, 1.0)) if largest > 0 else 0

    cdef void fill_weights(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        # weight of a cell = W, doubled unless s = n / 2; 0 where there is no such count.
        # P(A + B >= t) = sum over a of P(A = a) P(B >= t - a); upper[s1, j] = P(B >= N1 - j) makes
        # it a dot product along j = a - t + N1, and lower[s1, j] = P(B <= N1 - j) likewise
        cdef Py_ssize_t n = self.N0 + self.N1, m1 = c0 + c1, m0 = n - m1
        cdef Py_ssize_t k0 = self.N1 - c1, k1 = c1, s, s0, s1, t
        cdef Py_ssize_t least0, most0, least1, most1, least, most
        cdef double total
        for s0 in range(min(m0, n // 2) + 1):
            self.hypergeometric(m0, k0, s0, &self.pmf[s0, 0])
        for s1 in range(min(m1, n // 2) + 1):
            self.tails(m1, k1, s1)
        for s in range(n // 2 + 1):
            for s1 in range(m1 + 1, s + 1):
                self.weight[self.marginals.start[s] + s1] = 0
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
                self.weight[self.marginals.start[s] + s1] = total if 2 * s == n else 2 * total

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
        # upper and lower for B, where fill_weights reads them
        cdef Py_ssize_t least = max(0, s - (m - k)), most = min(s, k), b, j
        cdef double *pmf = &self.pmf[self.pmf.shape[0] - 1, 0]  # a row that no s0 uses
        cdef double total = 0
        self.hypergeometric(m, k, s, pmf)
        for b in range(most, least - 1, -1):
            total += pmf[b]
            self.upper[s, self.N1 - b] = total
        for j in range(self.N1 - least + 1, self.upper.shape[1]):
            self.upper[s, j] = 1
        total = 0
        for b in range(least, most + 1):
            total += pmf[b]
            self.lower[s, self.N1 - b] = total
        for j in range(self.N1 - most):
            self.lower[s, j] = 1

    def log_discards(self, Py_ssize_t c0, Py_ssize_t c1, double[::1] out):
        """Write log P(discarded) for every alpha, (K,)."""
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


# ---- sampling ----

cdef bitgen_t *generator(object capsule) except NULL:
    return <bitgen_t *> PyCapsule_GetPointer(capsule, "BitGenerator")


cdef inline double uniform(bitgen_t *rng) noexcept nogil:
    return rng.next_double(rng.state)


cdef Py_ssize_t categorical(double *log_weight, Py_ssize_t points, double power,
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
            (P(features | labels, alpha) P(discarded | labels, alpha)^dropped)^power[t],

    power[0] = 1 first, and exchange their powers now and then: replica holder[t] has power[t].

    x (n, k) has features with at most n / 2 ones, y (n,) the classes, x_response (n,) is y, or
    1 - y if most are 1.  row (k + 1,) is the first cell of each feature's total in `marginals`,
    the last one that of the response in `response`, total (k + 1,) these totals.  discards is
    None where there is nothing to correct for; log_prior (n + 1,) is log P(labels) by size of
    component 1.  State: labels (R, n), point (R, 2), the positions of alpha and alpha_0 on their
    grids, holder (R,).  Scratch: index (R, k + 1), mirror (k + 1,), c (R, 2), energy (R, 2),
    at_nodes (J,), log_weight (K,).
    """

    cdef const unsigned char[:, ::1] x
    cdef const unsigned char[::1] y, x_response
    cdef Marginals marginals, response
    cdef Discards discards
    cdef bint corrected
    cdef double dropped
    cdef const double[::1] log_prior, power
    cdef unsigned char[:, ::1] labels
    cdef Py_ssize_t[:, ::1] point, c  # c: cases of each class in component 1
    cdef Py_ssize_t[::1] holder
    cdef const int32_t[::1] row, total
    cdef int32_t[:, ::1] index
    cdef int32_t[::1] mirror
    cdef double[:, ::1] energy  # log marginal of features with the factor; of the response
    cdef double[::1] at_nodes, log_weight
    cdef Py_ssize_t n, k, points, response_points

    def __init__(self, const unsigned char[:, ::1] x, const unsigned char[::1] y,
                 const unsigned char[::1] x_response, Marginals marginals, Marginals response,
                 Discards discards, double dropped, const double[::1] log_prior,
                 const double[::1] power, unsigned char[:, ::1] labels, Py_ssize_t[:, ::1] point,
                 Py_ssize_t[::1] holder, const int32_t[::1] row, const int32_t[::1] total,
                 int32_t[:, ::1] index, int32_t[::1] mirror, Py_ssize_t[:, ::1] c,
                 double[:, ::1] energy, double[::1] at_nodes, double[::1] log_weight):
        self.x, self.y, self.x_response = x, y, x_response
        self.marginals, self.response, self.discards = marginals, response, discards
        self.corrected = discards is not None and dropped > 0
        self.dropped, self.log_prior, self.power = dropped, log_prior, power
        self.labels, self.point, self.holder = labels, point, holder
        self.row, self.total, self.index, self.mirror = row, total, index, mirror
        self.c, self.energy, self.at_nodes, self.log_weight = c, energy, at_nodes, log_weight
        self.n, self.k = x.shape[0], x.shape[1]
        self.points = marginals.interpolation.shape[0]
        self.response_points = response.interpolation.shape[0]
        self.refresh()

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
            self.mirror[j] = 2 * self.row[j] + self.total[j]
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
            result += self.dropped * self.discards.entry(self.c[r, 0], self.c[r, 1])[a]
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
                energy += self.dropped * self.discards.entry(self.c[r, 0], self.c[r, 1])[a]
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
        cdef Py_ssize_t J = self.marginals.interpolation.shape[1]
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
        for a in range(self.points):
            self.log_weight[a] = dot(&self.marginals.interpolation[a, 0], &self.at_nodes[0], J)
            if self.corrected:
                self.log_weight[a] += self.dropped * factor[a]
        a = categorical(&self.log_weight[0], self.points, power, rng)
        self.point[r, 0], self.energy[r, 0] = a, self.energy_at(r, a)

    cdef void draw_response_alpha(self, Py_ssize_t r, bitgen_t *rng) noexcept nogil:
        cdef Py_ssize_t m = self.c[r, 0] + self.c[r, 1], a, k = self.k
        cdef bint mirrored = 2 * m > self.n
        cdef const double *nodes = self.response.at_nodes(self.n - m if mirrored else m)
        cdef Py_ssize_t cell = self.mirror[k] - self.index[r, k] if mirrored else self.index[r, k]
        for a in range(self.response_points):
            self.log_weight[a] = self.response.cell_at(nodes, cell, a)
        a = categorical(&self.log_weight[0], self.response_points, 1, rng)
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

    x (n, k + 1) has the features and, last, the response; y (n,) again the response.  State:
    labels (n,), theta (k + 1,), point (2,).  ones (2, k + 1) counts by component; odds (2, k + 1)
    and zero (2, k + 1) are scratch, log_weight (K,) too.  `step` is the half-width of the
    Metropolis proposal.  discards, dropped, log_prior as in Collapsed; without `in_labels` the
    label update leaves the factor out, and what is sampled is no posterior.
    """

    cdef const unsigned char[:, ::1] x
    cdef const unsigned char[::1] y
    cdef const double[::1] alpha, response_alpha
    cdef Discards discards
    cdef bint corrected, in_labels
    cdef double dropped, step
    cdef const double[::1] log_prior
    cdef unsigned char[::1] labels
    cdef double[::1] theta, log_weight
    cdef Py_ssize_t[::1] point
    cdef Py_ssize_t[:, ::1] ones
    cdef double[:, ::1] odds, zero
    cdef Py_ssize_t n, k
    cdef Py_ssize_t[2] c, size

    def __init__(self, const unsigned char[:, ::1] x, const unsigned char[::1] y,
                 const double[::1] alpha, const double[::1] response_alpha, Discards discards,
                 double dropped, bint in_labels, double step, const double[::1] log_prior,
                 unsigned char[::1] labels, double[::1] theta, Py_ssize_t[::1] point,
                 Py_ssize_t[:, ::1] ones, double[:, ::1] odds, double[:, ::1] zero,
                 double[::1] log_weight):
        self.x, self.y, self.alpha, self.response_alpha = x, y, alpha, response_alpha
        self.discards, self.corrected = discards, discards is not None and dropped > 0
        self.in_labels = in_labels
        self.dropped, self.step, self.log_prior = dropped, step, log_prior
        self.labels, self.theta, self.point = labels, theta, point
        self.ones, self.odds, self.zero, self.log_weight = ones, odds, zero, log_weight
        self.n, self.k = x.shape[0], x.shape[1] - 1
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
            total += self.dropped * self.discards.entry(self.c[0], self.c[1])[self.point[0]]
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
                change += self.dropped * self.discards.entry(self.c[0], self.c[1])[self.point[0]]
                self.c[y] = c1 - z
                change -= self.dropped * self.discards.entry(self.c[0], self.c[1])[self.point[0]]
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
                self.log_weight[a] += self.dropped * self.discards.entry(self.c[0], self.c[1])[a]
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


# ---- prediction ----

def fill_log_odds(const unsigned char[:, ::1] x, const unsigned char[::1] y,
                  const unsigned char[:, ::1] labels, const double[::1] alpha,
                  const double[::1] response_alpha, const double[:, ::1] theta,
                  const Py_ssize_t[::1] total, const double[::1] node,
                  const double[::1] complement, const double[::1] weight,
                  double[:, :, ::1] scratch, double[:, ::1] memo, Py_ssize_t[::1] met,
                  Py_ssize_t[::1] ones, double[:, :, ::1] slope, double[:, ::1] base,
                  double[:, :, ::1] response):
    """Write what each of B draws says of a new case.

    slope (B, 2, k) is log P(x* = 1) - log P(x* = 0) by component and feature, base (B, 2) the sum
    over features of log P(x* = 0), response (B, 2, 2) log P(y*) by component and y*.  Each P is
    (alpha E(theta) + I) / (alpha + m) with the mean of theta given the labels; or theta itself
    where it is given, (B, k + 1) (else it is (0, 0)).  total (k,) are the ones of each feature,
    at most n / 2; node, complement, weight (G,) the rule for theta.  Scratch: scratch
    (3, n + 1, G), memo (cells, 4), met (cells,) filled with -1, ones (k,).
    """
    cdef Py_ssize_t n = x.shape[0], k = x.shape[1], b, i, j, z, m, s, cell, y_ones, y_total = 0
    cdef double[2] size
    cdef double mean
    cdef double *known
    cdef double[4] own  # where nothing is remembered
    cdef bint given = theta.shape[0] > 0
    with nogil:
        for i in range(n):
            y_total += y[i]
        for b in range(labels.shape[0]):
            m = y_ones = 0
            for j in range(k):
                ones[j] = 0
            for i in range(n):
                if labels[b, i]:
                    m += 1
                    y_ones += y[i]
                    for j in range(k):
                        ones[j] += x[i, j]
            size[0], size[1] = n - m, m
            base[b, 0] = base[b, 1] = 0
            if not given:
                fill_weighted(alpha[b], m, node, complement, weight, scratch, n)
            for j in range(k):
                s = total[j]
                cell = s * (s + 1) // 2 + ones[j]
                known = &memo[0, 0] if given else &memo[cell, 0]
                if given or met[cell] != b:
                    mean = theta[b, j] if given else theta_mean(scratch, s - ones[j], ones[j])
                    set_odds_of(alpha[b], mean, s - ones[j], ones[j], size, known)
                    if not given:
                        met[cell] = b
                for z in range(2):
                    slope[b, z, j] = known[z]
                    base[b, z] += known[2 + z]
            if given:
                mean = theta[b, k]
            else:
                fill_weighted(response_alpha[b], m, node, complement, weight, scratch, n)
                mean = theta_mean(scratch, y_total - y_ones, y_ones)
            set_odds_of(response_alpha[b], mean, y_total - y_ones, y_ones, size, own)
            for z in range(2):
                response[b, z, 0] = own[2 + z]
                response[b, z, 1] = own[2 + z] + own[z]


cdef void set_odds_of(double alpha, double mean, double i0, double i1, const double *size,
                      double *out) noexcept nogil:
    # out[z] = log P(1) - log P(0), out[2 + z] = log P(0) for a new case of component z
    cdef double[2] ones
    cdef int z
    ones[0], ones[1] = i0, i1
    for z in range(2):
        out[2 + z] = log(alpha * (1 - mean) + (size[z] - ones[z]))
        out[z] = log(alpha * mean + ones[z]) - out[2 + z]
        out[2 + z] -= log(alpha + size[z])


cdef void fill_weighted(double alpha, Py_ssize_t m, const double[::1] node,
                        const double[::1] complement, const double[::1] weight,
                        double[:, :, ::1] scratch, Py_ssize_t n) noexcept nogil:
    # P(I0 | theta), weight P(I1 | theta) and theta weight P(I1 | theta) at the nodes
    cdef Py_ssize_t G = node.shape[0], i, g
    fill_counts(alpha, &node[0], &complement[0], G, n - m, &scratch[0, 0, 0])
    fill_counts(alpha, &node[0], &complement[0], G, m, &scratch[1, 0, 0])
    for i in range(m + 1):
        for g in range(G):
            scratch[1, i, g] *= weight[g]
            scratch[2, i, g] = scratch[1, i, g] * node[g]


cdef double theta_mean(double[:, :, ::1] scratch, Py_ssize_t i0, Py_ssize_t i1) noexcept nogil:
    cdef Py_ssize_t G = scratch.shape[2]
    return (dot(&scratch[0, i0, 0], &scratch[2, i1, 0], G)
            / dot(&scratch[0, i0, 0], &scratch[1, i1, 0], G))
