"""Tables of the mixture model: marginals of features, and chances of correlations, by counts.

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

from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport INFINITY, NAN, exp, log
from libc.stdint cimport int32_t

from _counts cimport fill_counts
from _maths cimport dot
from _mixture cimport LANES, ChancesDoor, MarginalsDoor


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
    cdef readonly object door  # what samplers ask, a capsule
    cdef MarginalsDoor answers
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
        self.answers.owner = <void *> self
        self.answers.at_nodes, self.answers.table = marginals_at_nodes, marginals_table
        self.answers.cell_at, self.answers.first_cell = marginals_cell_at, marginals_first_cell
        self.answers.points = self.interpolation.shape[0]
        self.answers.nodes = self.interpolation.shape[1]
        self.door = PyCapsule_New(&self.answers, "thesiskit.marginals", NULL)

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


cdef const double *marginals_at_nodes(void *owner, Py_ssize_t m) noexcept nogil:
    return (<Marginals> owner).at_nodes(m)


cdef double *marginals_table(void *owner, Py_ssize_t m, Py_ssize_t a) noexcept nogil:
    return (<Marginals> owner).table(m, a)


cdef double marginals_cell_at(void *owner, const double *nodes, Py_ssize_t cell,
                              Py_ssize_t a) noexcept nogil:
    return (<Marginals> owner).cell_at(nodes, cell, a)


cdef Py_ssize_t marginals_first_cell(void *owner, Py_ssize_t s) noexcept nogil:
    return (<Marginals> owner).first_cell[s]


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

    cdef readonly object door  # what tables of adjustment factors ask, a capsule
    cdef ChancesDoor answers
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
        self.value = np.empty((N0 + 1, N1 + 1, marginals.answers.nodes))
        self.known = np.zeros((N0 + 1, N1 + 1), dtype=np.uint8)
        self.weight = np.empty(marginals.start[marginals.totals.shape[0]])
        self.pmf = np.empty((n + 1, N1 + 1))
        self.upper, self.lower = np.empty((n + 1, 2 * N1 + 1)), np.empty((n + 1, 2 * N1 + 1))
        self.answers.owner, self.answers.log_chance = <void *> self, chances_at_nodes
        self.answers.chance_at = chances_at_point
        self.door = PyCapsule_New(&self.answers, "thesiskit.chances", NULL)

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


cdef const double *chances_at_nodes(void *owner, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
    return (<Chances> owner).at_nodes(c0, c1)


cdef double chances_at_point(void *owner, const double *nodes, Py_ssize_t a) noexcept nogil:
    return (<Chances> owner).marginals.cell_at(nodes, 0, a)
