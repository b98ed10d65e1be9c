"""Logistic and normal models by Gibbs sampling: one coefficient, one width at a time.

Rows r of training cases that no group tells apart hold n_r cases.  Responses depend on the
coefficients s_gk only through eta_rk, the sum of s_gk over the groups g that row r expresses.

Logistic: y_rk cases of row r are of class k, P(y = k) = exp(eta_rk) / sum over j.  Two classes have
one set of coefficients, that of the second; more have one for each class.

Adding d to s_gk changes the logarithm of the likelihood by

    d (cases of class k in g) - sum over rows r of g: n_r log(q_rk + p_rk exp(d)),   q = 1 - p,

one exponential and, where n_r = 1, the logarithm of a product.  For d > 0 the sum is taken of
log(p + q exp(-d)), and d times the cases of g added, so that every factor is below 1.

Normal: responses are eta_r + N(0, tau^2), with the mean y_r in row r.  Adding d to s_g changes the
logarithm of the likelihood by

    (d sum over rows r of g: n_r (y_r - eta_r) - d^2 / 2 sum over rows r of g: n_r) / tau^2.

The priors, and all that does not depend on the likelihood, are in linear.pyx.
"""

cimport cython
from libc.math cimport M_PI, exp, fabs, log, log1p, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

import numpy as np

from _draws cimport generator, standard_normal
from _polya_gamma cimport polya_gamma
from _products cimport (
    log_binary, log_mixtures, log_weighted, squared_residuals, sum_residuals,
)
from _scales cimport SCALE_STEP, WIDEST, log_inverse_gamma
from _slice cimport slice_update
from _trajectory cimport fill_class_residuals, fill_residuals
from thesiskit._kernels.hamiltonian cimport Hamiltonian

cdef enum:
    CERTAIN = 16  # cases of a group up to which the likelihood's bound is computed

cdef double FAR = 600  # beyond, exp(-d) and what it multiplies could underflow
cdef double TINY = 1e-280
cdef double ROUNDING = 1e-9  # more than that of a bound, for each case and unit


cdef inline double softplus(double x) noexcept nogil:
    # log(1 + exp(x))
    return x + log1p(exp(-x)) if x > 0 else log1p(exp(x))


cdef struct Coefficient:
    # what the conditional density of one coefficient depends on
    double old, square, cases, total, log_up, log_down, up, down, expected, variance
    const double *p
    const double *q
    const double *weight  # of rows; NULL if all are 1
    void *sampler
    Py_ssize_t size, group, k
    bint cauchy
    int64_t evaluations


cdef bint inside_coefficient(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Coefficient *c = <Coefficient *> context
    cdef double d = x - c.old, ratio = 1, change, most, t
    cdef const double *p
    cdef const double *q
    c.evaluations += 1
    # the likelihood cannot grow by more than 1 / up or 1 / down: the prior alone may rule x out
    if c.cauchy:
        ratio = (c.square + c.old * c.old) / (c.square + x * x)
        if ratio < u * (c.up if d > 0 else c.down):
            return 0
        change = ratio - 1  # not less than its logarithm
    else:
        change = (c.old - x) * (c.old + x) / (2 * c.square)
        if change < log_u + (c.log_up if d > 0 else c.log_down):
            return 0
    # less the second derivative of the log likelihood is at least exp(-|d|) times what it was
    most = (change + (c.cases - c.expected) * d - c.variance * (fabs(d) - 1) - log_u
            + ROUNDING * (1 + c.total) * (1 + fabs(d)))
    if most < 0:
        return 0
    t = exp(-fabs(d))
    if most < c.variance * t:
        return 0
    if c.cauchy:
        change = log(ratio)
    if fabs(d) > FAR:
        change += c.cases * d - (<Logistic> c.sampler).far_change(c.group, c.k, d)
    else:
        p, q = (c.q, c.p) if d > 0 else (c.p, c.q)
        change += (c.cases - c.total if d > 0 else c.cases) * d
        if c.weight == NULL:
            change -= log_mixtures(p, q, t, fabs(d), c.size)
        else:
            change -= log_weighted(p, q, c.weight, t, c.size)
    return change >= log_u


cdef struct Slope:
    # what the conditional density of one coefficient depends on, where responses are normal
    double old, square, gradient, curvature
    int64_t evaluations


cdef bint inside_slope(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Slope *c = <Slope *> context
    cdef double d = x - c.old
    c.evaluations += 1
    return (d * (c.gradient - d * c.curvature / 2)
            + log((c.square + c.old * c.old) / (c.square + x * x))) >= log_u


cdef struct Noise:
    # what the conditional density of log tau depends on
    double cases, squares, rate, log_density
    int64_t evaluations


cdef double log_noise_density(Noise *c, double x) noexcept nogil:
    if fabs(x) > WIDEST:
        return -1e308
    return -c.cases * x - c.squares * exp(-2 * x) / 2 - c.rate * exp(-x)


cdef bint inside_noise(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Noise *c = <Noise *> context
    c.evaluations += 1
    return log_noise_density(c, x) - c.log_density >= log_u


@cython.final
cdef class Logistic(Hamiltonian):
    """Classes: response (K, R) are the cases of a row by class.

    coefficient has S = 1 set for two classes, that of the second, and K for more.  p (S, R), the
    probability of each class, and q, of the others, are kept beside eta.
    """

    cdef const double[:, ::1] response
    cdef double[:, ::1] p, q, cases, exponentials

    def __init__(self, layout, settings, double[:, ::1] coefficient, double[::1] log_sigma,
                 const double[:, ::1] response, str moves, tuning=None):
        super().__init__(layout, settings, coefficient, log_sigma, moves, tuning)
        self.response = response
        self.p, self.q = np.empty((2, coefficient.shape[0], response.shape[1]))
        self.cases = np.empty((coefficient.shape[0], coefficient.shape[1]))
        self.exponentials = np.empty((response.shape[0], 8))
        with nogil:
            self.count_classes()
            self.refresh_rows()

    cdef void count_classes(self) noexcept nogil:
        # cases of each group by class
        cdef Py_ssize_t g, i, k, S = self.coefficient.shape[0], K = self.response.shape[0]
        for g in range(self.begin.shape[0]):
            for k in range(S):
                self.cases[k, g] = 0
                for i in range(self.end[g] - self.begin[g]):
                    self.cases[k, g] += self.response[K - 1 if S == 1 else k, self.row(g, i)]

    cdef void refresh_likelihood(self) noexcept nogil:
        # p, q and the log likelihood
        cdef Py_ssize_t r
        self.log_likelihood = 0
        for r in range(self.eta.shape[1]):
            self.log_likelihood += self.set_row(r)

    cdef void fill_force(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        if self.sets == 1:
            fill_residuals(&self.eta[0, begin], &self.response[1, begin], &self.weight[begin],
                           &self.force[begin, 0], end - begin)
        else:
            fill_class_residuals(&self.eta[0, begin], self.eta.shape[1], &self.response[0, begin],
                                 &self.weight[begin], &self.force[begin, 0], end - begin,
                                 self.eta.shape[0], self.sets, &self.exponentials[0, 0])

    cdef void fill_stiffness(self) noexcept nogil:
        # n p (1 - p), from the slopes: n p is cases less slope
        cdef Py_ssize_t S = self.eta.shape[0], k, r
        cdef double x
        for r in range(self.level.shape[0]):
            for k in range(S):
                x = self.response[1 if S == 1 else k, r] - self.force[r, k]
                self.stiffness[r, k] = x * (1 - x / self.weight[r])

    cdef void observe(self, double *precision, double *linear, Py_ssize_t r,
                      bitgen_t *bitgen) noexcept nogil:
        precision[0] += polya_gamma(self.weight[r], self.eta[0, r], bitgen)
        linear[0] += self.response[1, r] - self.weight[r] / 2

    cdef double log_trial(self) noexcept nogil:
        return log_binary(&self.trial[0], &self.response[1, 0], &self.weight[0],
                          self.trial.shape[0])

    cdef double set_row(self, Py_ssize_t r) noexcept nogil:
        # p and q of a row from its eta; its log likelihood
        cdef Py_ssize_t S = self.eta.shape[0], k
        cdef double top, total, x, log_total, result = 0
        if S == 1:
            x = self.eta[0, r]
            top = exp(-fabs(x))
            self.p[0, r] = (1 if x > 0 else top) / (1 + top)
            self.q[0, r] = (top if x > 0 else 1) / (1 + top)
            return -(self.response[0, r] * softplus(x) + self.response[1, r] * softplus(-x))
        top = self.eta[0, r]
        for k in range(1, S):
            top = max(top, self.eta[k, r])
        total = 0
        for k in range(S):
            self.p[k, r] = exp(self.eta[k, r] - top)
            total += self.p[k, r]
        log_total = log(total)
        for k in range(S):
            self.p[k, r] /= total
            if self.response[k, r] > 0:
                result += self.response[k, r] * (self.eta[k, r] - top - log_total)
        self.sum_others(r)
        return result

    cdef inline void sum_others(self, Py_ssize_t r) noexcept nogil:
        # q_k, the sum of all p but p_k: of those before and those after, without cancellation
        cdef Py_ssize_t S = self.eta.shape[0], k
        cdef double before = 0, after = 0
        for k in range(S):
            self.q[k, r] = before
            before += self.p[k, r]
        for k in range(S - 1, -1, -1):
            self.q[k, r] += after
            after += self.p[k, r]

    cdef double margin(self, Py_ssize_t k, Py_ssize_t r) noexcept nogil:
        # eta_k less the logarithm of the sum of the other classes' exponentials
        cdef Py_ssize_t S = self.eta.shape[0], j
        cdef double top, total = 0
        if S == 1:
            return self.eta[0, r]
        top = self.eta[1 if k == 0 else 0, r]
        for j in range(S):
            if j != k:
                top = max(top, self.eta[j, r])
        for j in range(S):
            if j != k:
                total += exp(self.eta[j, r] - top)
        return self.eta[k, r] - top - log(total)

    cdef void update_coefficient(self, Py_ssize_t g, Py_ssize_t k, bitgen_t *bitgen) noexcept nogil:
        cdef Coefficient c
        cdef Py_ssize_t a = self.begin[g], size = self.end[g] - a, i, r
        cdef Py_ssize_t R = self.buffer.shape[0] // 4
        cdef double x
        cdef double *n
        c.old, c.cases, c.total = self.coefficient[k, g], self.cases[k, g], self.total[g]
        c.size, c.cauchy, c.evaluations = size, self.cauchy, 0
        c.sampler, c.group, c.k = <void *> self, g, k
        x = self.size_of_kind[self.kind[g]]  # width, or variance
        c.square = x * x if self.cauchy else x
        if self.runs[g]:
            c.p, c.q, n = &self.p[k, a], &self.q[k, a], <double *> &self.weight[a]
        else:
            for i in range(size):
                r = self.members[a + i]
                self.buffer[i], self.buffer[R + i] = self.p[k, r], self.q[k, r]
                self.buffer[2 * R + i] = self.weight[r]
            c.p, c.q, n = &self.buffer[0], &self.buffer[R], &self.buffer[2 * R]
        c.weight = NULL if self.unit[g] else n
        c.expected = c.variance = 0
        for i in range(size):
            c.expected += n[i] * c.p[i]
            c.variance += n[i] * c.p[i] * c.q[i]
        self.bound(&c, g, k)
        x = slice_update(inside_coefficient, &c, c.old, self.coefficient_width, self.most_steps,
                         bitgen)
        self.coefficient_evaluations += c.evaluations
        self.coefficient[k, g] = x
        self.move_rows(g, k, x - c.old)

    cdef double far_change(self, Py_ssize_t g, Py_ssize_t k, double d) noexcept nogil:
        # sum over rows of n_r log(q + p exp(d)) for any d, from eta
        cdef Py_ssize_t i, r
        cdef double x, result = 0
        for i in range(self.end[g] - self.begin[g]):
            r = self.row(g, i)
            x = self.margin(k, r)
            result += self.weight[r] * (softplus(x + d) - softplus(x))
        return result

    cdef void bound(self, Coefficient *c, Py_ssize_t g, Py_ssize_t k) noexcept nogil:
        # a larger s_gk can at most make the cases of class k certain, a smaller one the others
        cdef Py_ssize_t i, r, y = k
        cdef int64_t _j
        if self.eta.shape[0] == 1:
            y = 1
        c.up = c.down = 0
        if c.total <= CERTAIN:
            c.up = c.down = 1
            for i in range(c.size):
                r = self.row(g, i)
                for _j in range(<int64_t> self.response[y, r]):
                    c.up *= c.p[i]
                for _j in range(<int64_t> (self.weight[r] - self.response[y, r])):
                    c.down *= c.q[i]
        if not self.cauchy:
            c.log_up, c.log_down = log(c.up), log(c.down)

    cdef void move_rows(self, Py_ssize_t g, Py_ssize_t k, double d) noexcept nogil:
        # p_k' = p_k exp(d) / (q_k + p_k exp(d)), the others' p' = p / (q_k + p_k exp(d))
        cdef Py_ssize_t S = self.eta.shape[0], i, j, r
        cdef double t, up, other, f, p, q, low
        if fabs(d) > FAR:
            for i in range(self.end[g] - self.begin[g]):
                r = self.row(g, i)
                self.eta[k, r] += d
                self.set_row(r)
            return
        t = exp(-fabs(d))
        up = 1 if d > 0 else t
        other = t if d > 0 else 1
        for i in range(self.end[g] - self.begin[g]):
            r = self.row(g, i)
            self.eta[k, r] += d
            p, q = self.p[k, r], self.q[k, r]
            low = min(p, q)
            f = 1 / (q * other + p * up)
            p, q = p * up * f, q * other * f
            low = min(low, min(p, q))
            for j in range(S):
                low = min(low, self.p[j, r])
            if low < TINY:  # digits are lost, or were: begin anew from eta
                self.set_row(r)
                continue
            if S > 1:
                for j in range(S):
                    self.p[j, r] *= other * f
                self.p[k, r] = p
                self.sum_others(r)
            else:
                self.p[0, r] = p
                self.q[0, r] = q


@cython.final
cdef class Normal(Hamiltonian):
    """Real responses: mean (R,) of those of a row, and `within`, their squares about these means.

    log_noise is log tau; noise_shape and noise_rate are of the Inverse-Gamma prior of tau.
    """

    cdef const double[::1] mean
    cdef double within, noise_shape, noise_rate, all_cases, squares
    cdef bint noise_free

    def __init__(self, layout, settings, double[:, ::1] coefficient, double[::1] log_sigma,
                 double[::1] log_noise, const double[::1] mean, double within, str moves,
                 tuning=None):
        cdef Py_ssize_t r
        super().__init__(layout, settings, coefficient, log_sigma, moves, tuning)
        self.log_noise, self.mean, self.within = log_noise, mean, within
        self.noise_free = settings.noise is None
        self.noise_shape, self.noise_rate = settings.noise_shape, settings.noise_rate
        self.all_cases = 0
        for r in range(mean.shape[0]):
            self.all_cases += self.weight[r]
        with nogil:
            self.refresh_rows()

    cdef void refresh_likelihood(self) noexcept nogil:
        self.squares = self.within + squared_residuals(
            &self.weight[0], &self.mean[0], &self.eta[0, 0], self.mean.shape[0])
        self.set_log_likelihood()

    cdef void set_log_likelihood(self) noexcept nogil:
        cdef double x = self.log_noise[0]
        self.log_likelihood = -(self.all_cases * (log(2 * M_PI) / 2 + x)
                                + self.squares * exp(-2 * x) / 2)

    cdef void fill_force(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t r
        cdef double precision = exp(-2 * self.log_noise[0])
        for r in range(begin, end):
            self.force[r, 0] = self.weight[r] * (self.mean[r] - self.eta[0, r]) * precision

    cdef void fill_stiffness(self) noexcept nogil:
        cdef Py_ssize_t r
        cdef double precision = exp(-2 * self.log_noise[0])
        for r in range(self.mean.shape[0]):
            self.stiffness[r, 0] = self.weight[r] * precision

    cdef void observe(self, double *precision, double *linear, Py_ssize_t r,
                      bitgen_t *bitgen) noexcept nogil:
        cdef double p = self.weight[r] * exp(-2 * self.log_noise[0])
        precision[0] += p
        linear[0] += p * self.mean[r]

    cdef double log_trial(self) noexcept nogil:
        return -squared_residuals(&self.weight[0], &self.mean[0], &self.trial[0],
                                  self.mean.shape[0]) * exp(-2 * self.log_noise[0]) / 2

    cdef void update_coefficient(self, Py_ssize_t g, Py_ssize_t k, bitgen_t *bitgen) noexcept nogil:
        cdef Slope c
        cdef Py_ssize_t a = self.begin[g], b = self.end[g], i, r
        cdef double precision = exp(-2 * self.log_noise[0]), residual = 0, x, d
        if self.runs[g]:
            residual = sum_residuals(&self.weight[a], &self.mean[a], &self.eta[0, a], b - a)
        else:
            for i in range(a, b):
                r = self.members[i]
                residual += self.weight[r] * (self.mean[r] - self.eta[0, r])
        c.old = self.coefficient[0, g]
        c.gradient, c.curvature = residual * precision, self.total[g] * precision
        x = self.size_of_kind[self.kind[g]]  # width, or variance
        if self.cauchy:
            c.square, c.evaluations = x * x, 0
            x = slice_update(inside_slope, &c, c.old, self.coefficient_width, self.most_steps,
                             bitgen)
            self.coefficient_evaluations += c.evaluations
        else:
            precision = c.curvature + 1 / x
            x = ((c.gradient + c.curvature * c.old) / precision
                 + standard_normal(bitgen) / sqrt(precision))
        self.coefficient[0, g] = x
        d = x - c.old
        if self.runs[g]:
            for r in range(a, b):
                self.eta[0, r] += d
        else:
            for i in range(a, b):
                self.eta[0, self.members[i]] += d

    cdef void update_noise(self, bitgen_t *bitgen) noexcept nogil:
        # log tau given all else, by the sum of squares of the last refresh
        cdef Noise c
        if not self.noise_free:
            return
        c.cases, c.squares = self.all_cases + self.noise_shape, self.squares
        c.rate, c.evaluations = self.noise_rate, 1
        c.log_density = log_noise_density(&c, self.log_noise[0])
        self.log_noise[0] = slice_update(inside_noise, &c, self.log_noise[0], SCALE_STEP,
                                         self.most_steps, bitgen)
        self.width_evaluations += c.evaluations
        self.set_log_likelihood()

    cdef double log_prior(self) noexcept nogil:
        cdef double result = Hamiltonian.log_prior(self)
        if self.noise_free:
            result += log_inverse_gamma(self.noise_shape, self.noise_rate, self.log_noise[0])
        return result

    def sweep_noise(self, capsule):
        """Update the noise once, if it is free."""
        cdef bitgen_t *bitgen = generator(capsule)
        with nogil:
            self.update_noise(bitgen)
