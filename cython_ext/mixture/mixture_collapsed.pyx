"""Gibbs sampling of the mixture model with theta and phi integrated out."""

import numpy as np

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t
from numpy.random cimport bitgen_t

from _mixture cimport (
    LANES, DiscardsDoor, MarginalsDoor, at_nodes, categorical, cell_at, discards_door, first_cell,
    generator, log_discards, marginals_door, table_at, uniform,
)

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
    cdef object tables  # kept alive: what the doors are of
    cdef MarginalsDoor *marginals
    cdef MarginalsDoor *response
    cdef DiscardsDoor *discards
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

    def __init__(self, const unsigned char[:, ::1] x, const unsigned char[::1] y, marginals,
                 response, discards, const double[::1] log_prior, const double[::1] power,
                 unsigned char[:, ::1] labels, Py_ssize_t[:, ::1] point, Py_ssize_t[::1] holder):
        cdef Py_ssize_t replicas = labels.shape[0]
        self.x, self.y, self.n, self.k = x, y, x.shape[0], x.shape[1]
        self.tables = marginals, response, discards
        self.marginals, self.response = marginals_door(marginals), marginals_door(response)
        self.corrected = discards is not None
        if self.corrected:
            self.discards = discards_door(discards)
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
            self.row[j] = <int32_t> first_cell(self.marginals, self.mirror[j])
        self.row[self.k] = <int32_t> first_cell(self.response, self.mirror[self.k])
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
        table = table_at(self.marginals, size, a)
        total = self.sum_features(table, r, i, mirrored, step)
        if total != total:  # some cells are met for the first time
            nodes = at_nodes(self.marginals, size)
            for j in range(self.k):
                cell = self.index[r, j] + step * <int32_t> self.x[i, j]
                if mirrored:
                    cell = self.mirror[j] - cell
                if table[cell] != table[cell]:
                    table[cell] = cell_at(self.marginals, nodes, cell, a)
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
            result += log_discards(self.discards, self.c[r, 0], self.c[r, 1])[a]
        return result

    cdef double response_cell(self, Py_ssize_t m, Py_ssize_t a, Py_ssize_t cell) noexcept nogil:
        # log marginal of the response
        cdef bint mirrored = 2 * m > self.n
        cdef Py_ssize_t size = self.n - m if mirrored else m
        cdef double *table = table_at(self.response, size, a)
        if mirrored:
            cell = self.mirror[self.k] - cell
        if table[cell] != table[cell]:
            table[cell] = cell_at(self.response, at_nodes(self.response, size), cell, a)
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
                energy += log_discards(self.discards, self.c[r, 0], self.c[r, 1])[a]
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
        cdef const double *nodes = at_nodes(self.marginals, self.n - m if mirrored else m)
        cdef const double *factor = NULL
        for v in range(J):
            self.at_nodes[v] = 0
        for j in range(self.k):
            cell = self.mirror[j] - self.index[r, j] if mirrored else self.index[r, j]
            for v in range(J):
                self.at_nodes[v] += nodes[cell * J + v]
        if self.corrected:
            factor = log_discards(self.discards, self.c[r, 0], self.c[r, 1])
        for a in range(self.marginals.points):
            self.log_weight[a] = cell_at(self.marginals, &self.at_nodes[0], 0, a)
            if self.corrected:
                self.log_weight[a] += factor[a]
        a = categorical(&self.log_weight[0], self.marginals.points, power, rng)
        self.point[r, 0], self.energy[r, 0] = a, self.energy_at(r, a)

    cdef void draw_response_alpha(self, Py_ssize_t r, bitgen_t *rng) noexcept nogil:
        cdef Py_ssize_t m = self.c[r, 0] + self.c[r, 1], a, k = self.k
        cdef bint mirrored = 2 * m > self.n
        cdef const double *nodes = at_nodes(self.response, self.n - m if mirrored else m)
        cdef Py_ssize_t cell = self.mirror[k] - self.index[r, k] if mirrored else self.index[r, k]
        for a in range(self.response.points):
            self.log_weight[a] = cell_at(self.response, nodes, cell, a)
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
