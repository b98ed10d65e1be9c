"""The thesis's sampler of the mixture model: theta is part of the state."""

import numpy as np

from libc.math cimport exp, lgamma, log
from numpy.random cimport bitgen_t

from _mixture cimport (
    LANES, DiscardsDoor, categorical, discards_door, generator, log_discards, uniform,
)


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
    cdef object factors  # kept alive: what the door is of
    cdef DiscardsDoor *discards
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
                 const double[::1] alpha, const double[::1] response_alpha, discards,
                 bint in_labels, double step, const double[::1] log_prior,
                 unsigned char[::1] labels, double[::1] theta, Py_ssize_t[::1] point):
        cdef Py_ssize_t columns = x.shape[1]
        self.x, self.y, self.n, self.k = x, y, x.shape[0], columns - 1
        self.alpha, self.response_alpha = alpha, response_alpha
        self.factors, self.corrected = discards, discards is not None
        if self.corrected:
            self.discards = discards_door(discards)
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
        return log_discards(self.discards, self.c[0], self.c[1])[a]

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
