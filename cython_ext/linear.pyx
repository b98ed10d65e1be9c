"""Linear functions of groups: what Gibbs sampling of them needs, whatever the responses are.

The group's prior has the width w_g = sum over orders o of c_go sigma_o (Cauchy), or the variance
v_g = sum of c_go sigma_o^2 (Gaussian); c depends on the *kind* of a group alone.  logistic.pyx has
the likelihoods, and how one coefficient is updated given all else.
"""

from libc.math cimport M_PI, exp, fabs, log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

import numpy as np

from _draws cimport generator
from _interpolant cimport NODES, WINDOWS, interpolated_sum
from _products cimport log_variances, log_widths
from _scales cimport WIDEST, log_inverse_gamma
from _slice cimport slice_update

cdef enum:
    LARGE = 512  # coefficients of a kind beyond which its sum over them is interpolated

LARGE_KIND = LARGE

cdef double LARGEST = 1e150  # of the squares of coefficients


cdef bint inside_width(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Width *c = <Width *> context
    c.evaluations += 1
    return (<Linear> c.sampler).log_width_density(c, x) - c.log_density >= log_u


def chebyshev_basis():
    # what leads from values at the nodes of _interpolant.pxd to coefficients of a polynomial
    i, j = np.arange(NODES)[:, None], np.arange(NODES)
    basis = 2.0 / NODES * np.cos(j * np.pi * (i + 0.5) / NODES)
    basis[:, 0] /= 2
    return basis


NODE_BASIS = chebyshev_basis()


cdef class Linear:
    """One chain: its state, and the sweeps that change it, whatever the responses are.

    layout gives the groups, a `models.logistic.Layout`; settings the priors and the steps, a
    `models.logistic.Logistic`.  coefficient (S, G) and log_sigma (O + 1,) are the
    state, which the sweeps change in place; eta (S, R) follows from it; the rest is scratch.
    """

    def __init__(self, layout, settings, double[:, ::1] coefficient, double[::1] log_sigma):
        cdef Py_ssize_t order = log_sigma.shape[0] - 1
        self.begin, self.end, self.members = layout.begin, layout.end, layout.members
        self.kind, self.kinds = layout.kind, layout.kinds
        self.by_kind, self.kind_begin = layout.by_kind, layout.kind_begin
        self.order_begin, self.order_kind = layout.order_begin, layout.order_kind
        self.runs, self.unit, self.weight = layout.runs, layout.unit, layout.weight
        self.cauchy, self.log_scale = settings.cauchy, settings.sigma_scale == "log"
        self.sigma_free = settings.sigma is None
        self.sigma_shape, self.sigma_rate = settings.sigma_shape, settings.rates(order)
        self.coefficient_width, self.sigma_width = settings.step, settings.sigma_step
        self.most_steps = settings.most_steps
        self.coefficient, self.log_sigma = coefficient, log_sigma
        self.log_noise = np.empty(0)
        self.allocate()
        self.coefficient_evaluations = self.width_evaluations = 0
        with nogil:
            self.count_cases()
            self.refresh_widths()

    def allocate(self):
        cdef Py_ssize_t S = self.coefficient.shape[0], G = self.coefficient.shape[1]
        cdef Py_ssize_t R = self.weight.shape[0], C = self.kinds.shape[0]
        self.eta = np.empty((S, R))
        self.square, self.total = np.empty((S, G)), np.empty(G)
        self.power = np.empty(self.log_sigma.shape[0])
        self.size_of_kind, self.sum_of_kind = np.empty((2, C))
        self.window, self.interpolant = np.full((C, WINDOWS), -1e300), np.empty((C, WINDOWS, NODES))
        self.node_basis = NODE_BASIS
        self.buffer = np.empty(4 * self.most_at_once())

    cdef Py_ssize_t most_at_once(self):
        # entries of each of the buffer's four parts
        cdef Py_ssize_t S = self.coefficient.shape[0], g, j, o, kind, entries
        cdef Py_ssize_t most = max(self.weight.shape[0], self.kinds.shape[0], S)
        for g in range(self.begin.shape[0]):
            most = max(most, self.end[g] - self.begin[g])
        for o in range(1, self.log_sigma.shape[0]):
            entries = 0
            for j in range(self.order_begin[o], self.order_begin[o + 1]):
                kind = self.order_kind[j]
                if not self.large(kind):
                    entries += S * (self.kind_begin[kind + 1] - self.kind_begin[kind])
            most = max(most, entries)
        return most + 1

    # ---- what the likelihood does ----

    cdef void refresh_likelihood(self) noexcept nogil:
        # the log likelihood, and what is kept beside eta
        pass

    cdef void update_coefficient(self, Py_ssize_t g, Py_ssize_t k, bitgen_t *bitgen) noexcept nogil:
        # the coefficient, and with it eta
        pass

    cdef void update_noise(self, bitgen_t *bitgen) noexcept nogil:
        pass

    cdef void move_together(self, bitgen_t *bitgen) noexcept nogil:
        # many coefficients and sigmas at once
        pass

    # ---- rows ----

    cdef void count_cases(self) noexcept nogil:
        cdef Py_ssize_t g, i
        for g in range(self.begin.shape[0]):
            self.total[g] = 0
            for i in range(self.end[g] - self.begin[g]):
                self.total[g] += self.weight[self.row(g, i)]

    cdef void refresh_rows(self) noexcept nogil:
        # eta and what follows from it, from the coefficients
        cdef Py_ssize_t S = self.eta.shape[0], g, k, r, i, a, b
        cdef double s
        self.eta[:] = 0
        for g in range(self.begin.shape[0]):
            a, b = self.begin[g], self.end[g]
            for k in range(S):
                s = self.coefficient[k, g]
                if self.runs[g]:
                    for r in range(a, b):
                        self.eta[k, r] += s
                else:
                    for i in range(a, b):
                        self.eta[k, self.members[i]] += s
        self.refresh_likelihood()

    # ---- coefficients ----

    cdef void sweep_all_coefficients(self, bitgen_t *bitgen) noexcept nogil:
        cdef Py_ssize_t g, k
        for g in range(self.begin.shape[0]):
            for k in range(self.eta.shape[0]):
                self.update_coefficient(g, k, bitgen)

    # ---- widths ----

    cdef double rest(self, Py_ssize_t c, Py_ssize_t order) noexcept nogil:
        # width, or variance, of a kind without its patterns of this order (-1: with all)
        cdef Py_ssize_t o
        cdef double total = 0
        for o in range(self.power.shape[0]):
            if o != order:
                total += self.kinds[c, o] * self.power[o]
        return total

    cdef void set_power(self, Py_ssize_t o) noexcept nogil:
        self.power[o] = exp((1 if self.cauchy else 2) * self.log_sigma[o])

    cdef void refresh_widths(self) noexcept nogil:
        # widths, or variances, of kinds from the sigmas
        cdef Py_ssize_t c, o
        for o in range(self.power.shape[0]):
            self.set_power(o)
        for c in range(self.kinds.shape[0]):
            self.size_of_kind[c] = self.rest(c, -1)

    cdef void refresh_squares(self) noexcept nogil:
        # squares of the coefficients, by kind; for Gaussian priors their sums
        cdef Py_ssize_t S = self.eta.shape[0], c, j, k
        cdef double s
        for c in range(self.kinds.shape[0]):
            self.sum_of_kind[c] = 0
            for k in range(S):
                for j in range(self.kind_begin[c], self.kind_begin[c + 1]):
                    s = self.coefficient[k, self.by_kind[j]]
                    s = min(s * s, LARGEST)
                    if self.cauchy:
                        self.square[k, j] = s
                    else:
                        self.sum_of_kind[c] += s
            for j in range(WINDOWS):
                self.window[c, j] = -1e300

    cdef void sweep_all_widths(self, bitgen_t *bitgen) noexcept nogil:
        cdef Py_ssize_t o
        for o in range(1, self.log_sigma.shape[0] if self.sigma_free else 0):
            self.update_width(o, bitgen)

    cdef void update_width(self, Py_ssize_t o, bitgen_t *bitgen) noexcept nogil:
        cdef Width c
        cdef Py_ssize_t j, kind, e = 0, size, R = self.buffer.shape[0] // 4
        cdef double rest, whole, x
        c.sampler, c.order, c.log_scale, c.evaluations = <void *> self, o, self.log_scale, 1
        c.shape, c.rate = self.sigma_shape, self.sigma_rate[o]
        # what the density needs of each kind with patterns of this order: rest and count, in the
        # buffer's four parts (Gaussian: with number and sum of squares); small kinds of Cauchy
        # coefficients lie there coefficient by coefficient
        for j in range(self.order_begin[o], self.order_begin[o + 1]):
            kind = self.order_kind[j]
            whole = self.size_of_kind[kind]
            rest = whole - self.kinds[kind, o] * self.power[o]
            if rest < 1e-2 * whole:
                rest = self.rest(kind, o)
            self.size_of_kind[kind] = rest
            if self.cauchy:
                e = self.lay_out(kind, o, e)
            else:
                size = self.kind_begin[kind + 1] - self.kind_begin[kind]
                self.buffer[e] = rest
                self.buffer[R + e] = self.kinds[kind, o]
                self.buffer[2 * R + e] = size * self.eta.shape[0]
                self.buffer[3 * R + e] = self.sum_of_kind[kind]
                e += 1
        c.size = e
        x = self.log_sigma[o] if self.log_scale else exp(self.log_sigma[o])
        c.log_density = self.log_width_density(&c, x)
        x = slice_update(inside_width, &c, x, self.sigma_width, self.most_steps, bitgen)
        self.width_evaluations += c.evaluations
        self.log_sigma[o] = x if self.log_scale else log(x)
        self.set_power(o)
        for j in range(self.order_begin[o], self.order_begin[o + 1]):
            kind = self.order_kind[j]
            self.size_of_kind[kind] += self.kinds[kind, o] * self.power[o]

    cdef bint large(self, Py_ssize_t kind) noexcept nogil:
        return ((self.kind_begin[kind + 1] - self.kind_begin[kind]) * self.eta.shape[0]) > LARGE

    cdef Py_ssize_t lay_out(self, Py_ssize_t kind, Py_ssize_t o, Py_ssize_t e) noexcept nogil:
        cdef Py_ssize_t k, j, R = self.buffer.shape[0] // 4
        if self.large(kind):
            return e
        for k in range(self.eta.shape[0]):
            for j in range(self.kind_begin[kind], self.kind_begin[kind + 1]):
                self.buffer[e] = self.size_of_kind[kind]
                self.buffer[R + e] = self.kinds[kind, o]
                self.buffer[2 * R + e] = self.square[k, j]
                e += 1
        return e

    cdef double log_width_density(self, Width *c, double x) noexcept nogil:
        # log of the conditional density of sigma, or of log sigma, at x, up to a constant
        cdef double log_sigma, sigma, result
        cdef Py_ssize_t j, kind, R = self.buffer.shape[0] // 4
        if c.log_scale:
            log_sigma = x
        elif x > 0:
            log_sigma = log(x)
        else:
            return -1e308
        if fabs(log_sigma) > WIDEST:
            return -1e308
        sigma = exp(log_sigma)
        result = -(c.shape + (0 if c.log_scale else 1)) * log_sigma - c.rate / sigma
        if not self.cauchy:
            return result - log_variances(&self.buffer[0], &self.buffer[R], &self.buffer[2 * R],
                                          &self.buffer[3 * R], sigma * sigma, c.size) / 2
        result += log_widths(&self.buffer[0], &self.buffer[R], &self.buffer[2 * R], sigma, c.size)
        for j in range(self.order_begin[c.order], self.order_begin[c.order + 1]):
            kind = self.order_kind[j]
            if self.large(kind):
                result += interpolated_sum(
                    self.size_of_kind[kind] + self.kinds[kind, c.order] * sigma,
                    &self.square[0, self.kind_begin[kind]], self.eta.shape[0],
                    self.square.shape[1], self.kind_begin[kind + 1] - self.kind_begin[kind],
                    &self.window[kind, 0], &self.interpolant[kind, 0, 0], &self.node_basis[0, 0])
        return result

    # ---- chains ----

    cdef double log_prior(self) noexcept nogil:
        # log density of the coefficients and of the sigmas that are free
        cdef Py_ssize_t o, c, j, k, g
        cdef double result = 0, s, w
        for o in range(1, self.log_sigma.shape[0] if self.sigma_free else 0):
            result += log_inverse_gamma(self.sigma_shape, self.sigma_rate[o], self.log_sigma[o])
        for k in range(self.eta.shape[0]):
            for c in range(self.kinds.shape[0]):
                w = self.size_of_kind[c]
                for j in range(self.kind_begin[c], self.kind_begin[c + 1]):
                    g = self.by_kind[j]
                    s = self.coefficient[k, g]
                    if self.cauchy:
                        result += log(w / (M_PI * (w * w + s * s)))
                    else:
                        result -= (log(2 * M_PI * w) + s * s / w) / 2
        return result

    def sweep_coefficients(self, capsule):
        """Update every coefficient once."""
        cdef bitgen_t *bitgen = generator(capsule)
        with nogil:
            self.sweep_all_coefficients(bitgen)
            self.refresh_rows()

    def sweep_widths(self, capsule):
        """Update every width that is free once."""
        cdef bitgen_t *bitgen = generator(capsule)
        with nogil:
            self.refresh_squares()
            self.sweep_all_widths(bitgen)
            self.refresh_widths()

    def run(self, Py_ssize_t done, Py_ssize_t iterations, Py_ssize_t burn_in, Py_ssize_t thin,
            Py_ssize_t width_updates, Py_ssize_t joint_updates,
            double[:, :, ::1] coefficients, double[:, ::1] log_sigmas, double[::1] log_noises,
            double[:, ::1] info, capsule):
        """Go on from iteration `done`, and return how many draws were kept.

        coefficients (D, S, G) takes every thin-th iteration after burn_in; log_sigmas (I, O + 1),
        log_noises (I,) where there is noise, and info (I, 4) all: log likelihood, log prior,
        evaluations for coefficients, and for widths and noise.
        """
        cdef bitgen_t *bitgen = generator(capsule)
        cdef Py_ssize_t i, j, _j, kept = 0
        cdef int64_t before, before_widths
        with nogil:
            for i in range(iterations):
                before, before_widths = self.coefficient_evaluations, self.width_evaluations
                self.sweep_all_coefficients(bitgen)
                for _j in range(joint_updates):
                    self.move_together(bitgen)
                self.refresh_rows()
                if self.log_noise.shape[0] > 0:
                    self.update_noise(bitgen)
                    log_noises[i] = self.log_noise[0]
                self.refresh_squares()
                for _j in range(width_updates):
                    self.sweep_all_widths(bitgen)
                self.refresh_widths()
                log_sigmas[i, :] = self.log_sigma
                info[i, 0], info[i, 1] = self.log_likelihood, self.log_prior()
                info[i, 2] = self.coefficient_evaluations - before
                info[i, 3] = self.width_evaluations - before_widths
                j = done + i + 1 - burn_in
                if j > 0 and j % thin == 0:
                    coefficients[kept, :, :] = self.coefficient
                    kept += 1
        return kept
