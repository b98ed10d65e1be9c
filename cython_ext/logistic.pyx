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

The group's prior has the width w_g = sum over orders o of c_go sigma_o (Cauchy), or the variance
v_g = sum of c_go sigma_o^2 (Gaussian); c depends on the *kind* of a group alone.
"""

cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport M_PI, cos, exp, fabs, floor, lgamma, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t
from numpy.random cimport bitgen_t

from _draws cimport standard_normal
from _products cimport (
    log_binary, log_classes, log_mixtures, log_shifted, log_variances, log_weighted, log_widths,
    squared_residuals, sum_residuals,
)
from _slice cimport slice_update

cdef enum:
    NODES = 28  # of an interpolating polynomial: 1e-14 on windows two wide
    LARGE = 512  # coefficients of a kind beyond which its sum over them is interpolated
    WINDOWS = 4  # kept for each kind
    CERTAIN = 16  # cases of a group up to which the likelihood's bound is computed

LARGE_KIND = LARGE

cdef double FAR = 600  # beyond, exp(-d) and what it multiplies could underflow
cdef double SCALE_STEP = 1  # of log sigma when coefficients move with it, and of log tau
cdef double TINY = 1e-280
cdef double WIDEST = 80  # |log sigma| that is looked at: 2e-9 of the thesis's prior is beyond
cdef double LARGEST = 1e150  # of the squares of coefficients


cdef inline double softplus(double x) noexcept nogil:
    # log(1 + exp(x))
    return x + log1p(exp(-x)) if x > 0 else log1p(exp(x))


cdef struct Coefficient:
    # what the conditional density of one coefficient depends on
    double old, square, cases, total, log_up, log_down, up, down
    const double *p
    const double *q
    const double *weight  # of rows; NULL if all are 1
    void *sampler
    Py_ssize_t size, group, k
    bint cauchy
    int64_t evaluations


cdef bint inside_coefficient(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Coefficient *c = <Coefficient *> context
    cdef double d = x - c.old, ratio, change
    cdef const double *p
    cdef const double *q
    c.evaluations += 1
    # the likelihood cannot grow by more than 1 / up or 1 / down: the prior alone may rule x out
    if c.cauchy:
        ratio = (c.square + c.old * c.old) / (c.square + x * x)
        if ratio < u * (c.up if d > 0 else c.down):
            return 0
        change = log(ratio)
    else:
        change = (c.old - x) * (c.old + x) / (2 * c.square)
        if change < log_u + (c.log_up if d > 0 else c.log_down):
            return 0
    if fabs(d) > FAR:
        change += c.cases * d - (<Logistic> c.sampler).far_change(c.group, c.k, d)
    else:
        p, q = (c.q, c.p) if d > 0 else (c.p, c.q)
        change += (c.cases - c.total if d > 0 else c.cases) * d
        if c.weight == NULL:
            change -= log_mixtures(p, q, exp(-fabs(d)), fabs(d), c.size)
        else:
            change -= log_weighted(p, q, c.weight, exp(-fabs(d)), c.size)
    return change >= log_u


cdef struct Width:
    # what the conditional density of one width depends on
    void *sampler
    double shape, rate, log_density
    Py_ssize_t order, size
    bint log_scale
    int64_t evaluations


cdef bint inside_width(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Width *c = <Width *> context
    c.evaluations += 1
    return (<Linear> c.sampler).log_width_density(c, x) - c.log_density >= log_u


cdef struct Translation:
    # coefficients that move by d, with their signs: the prior alone decides
    double *terms  # width squared, coefficient, sign
    Py_ssize_t size
    int64_t evaluations


cdef bint inside_translation(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Translation *c = <Translation *> context
    cdef double ratio = 1, s
    cdef Py_ssize_t i
    c.evaluations += 1
    for i in range(c.size):
        s = c.terms[3 * i + 1] + c.terms[3 * i + 2] * x
        ratio *= ((c.terms[3 * i] + c.terms[3 * i + 1] * c.terms[3 * i + 1])
                  / (c.terms[3 * i] + s * s))
    return ratio >= u


cdef bint inside_scale(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Width *c = <Width *> context
    c.evaluations += 1
    return (<Linear> c.sampler).log_scale_density(c, x) - c.log_density >= log_u


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


cdef inline double log_inverse_gamma(double shape, double rate, double x) noexcept nogil:
    # log density of exp(x)
    return shape * log(rate) - lgamma(shape) - (1 + shape) * x - rate * exp(-x)


cdef class Linear:
    """One chain: its state, and the sweeps that change it, whatever the responses.

    begin, end (G,) and members (.) give the rows of each group; kind (G,) and kinds (C, O + 1)
    its patterns by order; weight (R,) the cases of a row.
    The rows of group whole[i] are those of the groups part[part_begin[i] : part_begin[i + 1]],
    each in one of them.  Groups sorted by kind are by_kind (G,), those of kind c from
    kind_begin[c]; the kinds that have patterns of order o are
    order_kind[order_begin[o] : order_begin[o + 1]].  free (O + 1,)
    says which widths are updated; shape, rate (O + 1,) are of their Inverse-Gamma priors.
    coefficient (S, G), log_sigma (O + 1,) and, where responses have noise, log_noise (1,), else
    (0,), are the state; eta (S, R) follows from it; the rest is scratch.
    """

    cdef const Py_ssize_t[::1] begin, end, kind_begin, order_begin, part_begin
    cdef const int32_t[::1] members, kind, by_kind, order_kind, whole, part
    cdef const double[:, ::1] kinds
    cdef const double[::1] weight, shape, rate
    cdef const unsigned char[::1] free, runs, unit
    cdef bint cauchy, log_scale
    cdef double coefficient_width, sigma_width
    cdef Py_ssize_t most_steps
    cdef double[:, ::1] coefficient, eta, trial, square, window
    cdef double[::1] log_sigma, log_noise, power, total, size_of_kind, sum_of_kind, buffer
    cdef double[:, :, ::1] interpolant
    cdef double[:, ::1] node_basis
    cdef readonly int64_t coefficient_evaluations, width_evaluations
    cdef readonly double log_likelihood

    def __init__(self, *, const Py_ssize_t[::1] begin, const Py_ssize_t[::1] end,
                 const int32_t[::1] members, const int32_t[::1] kind, const double[:, ::1] kinds,
                 const int32_t[::1] by_kind, const Py_ssize_t[::1] kind_begin,
                 const Py_ssize_t[::1] order_begin, const int32_t[::1] order_kind,
                 const int32_t[::1] whole, const Py_ssize_t[::1] part_begin,
                 const int32_t[::1] part, const unsigned char[::1] runs,
                 const unsigned char[::1] unit, const double[::1] weight,
                 double[:, ::1] coefficient, double[::1] log_sigma, double[::1] log_noise,
                 double[::1] power, double[:, ::1] eta, double[:, ::1] trial, double[::1] total,
                 double[:, ::1] square, double[::1] size_of_kind, double[::1] sum_of_kind,
                 double[::1] buffer, double[:, ::1] window, double[:, :, ::1] interpolant,
                 double[:, ::1] node_basis, const unsigned char[::1] free,
                 const double[::1] shape, const double[::1] rate, bint cauchy, bint log_scale,
                 double coefficient_width, double sigma_width, Py_ssize_t most_steps):
        self.begin, self.end, self.members = begin, end, members
        self.kind, self.kinds, self.by_kind, self.kind_begin = kind, kinds, by_kind, kind_begin
        self.order_begin, self.order_kind = order_begin, order_kind
        self.whole, self.part_begin, self.part = whole, part_begin, part
        self.runs, self.unit, self.weight = runs, unit, weight
        self.coefficient, self.log_sigma, self.log_noise = coefficient, log_sigma, log_noise
        self.power, self.eta, self.trial, self.total = power, eta, trial, total
        self.square, self.size_of_kind, self.sum_of_kind = square, size_of_kind, sum_of_kind
        self.buffer, self.window, self.interpolant = buffer, window, interpolant
        self.node_basis = node_basis
        self.free, self.shape, self.rate, self.cauchy = free, shape, rate, cauchy
        self.log_scale, self.coefficient_width = log_scale, coefficient_width
        self.sigma_width, self.most_steps = sigma_width, most_steps
        self.coefficient_evaluations = self.width_evaluations = 0
        with nogil:
            self.count_cases()
            self.refresh_widths()

    # ---- what the likelihood does ----

    cdef void refresh_likelihood(self) noexcept nogil:
        # the log likelihood, and what is kept beside eta
        pass

    cdef void update_coefficient(self, Py_ssize_t g, Py_ssize_t k, bitgen_t *bitgen) noexcept nogil:
        # the coefficient, and with it eta
        pass

    cdef double log_trial(self) noexcept nogil:
        # log likelihood at `trial` instead of eta, up to a constant
        return 0

    cdef void update_noise(self, bitgen_t *bitgen) noexcept nogil:
        pass

    # ---- rows ----

    @cython.final
    cdef inline Py_ssize_t row(self, Py_ssize_t g, Py_ssize_t i) noexcept nogil:
        return self.begin[g] + i if self.runs[g] else self.members[self.begin[g] + i]

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

    # ---- translations: what the likelihood does not see ----

    cdef void sweep_all_translations(self, bitgen_t *bitgen) noexcept nogil:
        # from a group to the groups that its rows are divided among, and for more than two
        # classes, all coefficients of a group
        cdef Py_ssize_t i, j, k, g, S = self.eta.shape[0]
        for i in range(self.whole.shape[0]):
            for k in range(S):
                self.term(0, self.whole[i], k, 1)
                for j in range(self.part_begin[i], self.part_begin[i + 1]):
                    self.term(1 + j - self.part_begin[i], self.part[j], k, -1)
                self.translate(1 + self.part_begin[i + 1] - self.part_begin[i], bitgen)
                self.coefficient[k, self.whole[i]] = self.buffer[1]
                for j in range(self.part_begin[i], self.part_begin[i + 1]):
                    self.coefficient[k, self.part[j]] = self.buffer[
                        3 * (1 + j - self.part_begin[i]) + 1]
        for g in range(self.begin.shape[0] if S > 1 else 0):
            for k in range(S):
                self.term(k, g, k, 1)
            self.translate(S, bitgen)
            for k in range(S):
                self.coefficient[k, g] = self.buffer[3 * k + 1]

    cdef inline void term(self, Py_ssize_t i, Py_ssize_t g, Py_ssize_t k,
                          double sign) noexcept nogil:
        cdef double size = self.size_of_kind[self.kind[g]]
        self.buffer[3 * i] = size * size if self.cauchy else size
        self.buffer[3 * i + 1] = self.coefficient[k, g]
        self.buffer[3 * i + 2] = sign

    cdef void translate(self, Py_ssize_t size, bitgen_t *bitgen) noexcept nogil:
        # move the terms in the buffer: their prior given all differences
        cdef Translation c
        cdef Py_ssize_t i
        cdef double precision = 0, towards = 0, narrowest = self.buffer[0], d
        if self.cauchy:
            for i in range(1, size):
                narrowest = min(narrowest, self.buffer[3 * i])
            c.terms, c.size, c.evaluations = &self.buffer[0], size, 0
            d = slice_update(inside_translation, &c, 0, 4 * sqrt(narrowest), self.most_steps,
                             bitgen)
            self.coefficient_evaluations += c.evaluations
        else:
            for i in range(size):
                precision += 1 / self.buffer[3 * i]
                towards -= self.buffer[3 * i + 1] * self.buffer[3 * i + 2] / self.buffer[3 * i]
            d = (towards / sqrt(precision) + standard_normal(bitgen)) / sqrt(precision)
        for i in range(size):
            self.buffer[3 * i + 1] += d * self.buffer[3 * i + 2]

    # ---- widths ----

    cdef double rest(self, Py_ssize_t c, Py_ssize_t order) noexcept nogil:
        # width, or variance, of a kind without its patterns of this order (-1: with all)
        cdef Py_ssize_t o
        cdef double total = 0
        for o in range(self.power.shape[0]):
            if o != order:
                total += self.kinds[c, o] * self.power[o]
        return total

    cdef inline void set_power(self, Py_ssize_t o) noexcept nogil:
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
        for o in range(self.log_sigma.shape[0]):
            if self.free[o]:
                self.update_width(o, bitgen)

    cdef void update_width(self, Py_ssize_t o, bitgen_t *bitgen) noexcept nogil:
        cdef Width c
        cdef Py_ssize_t j, kind, e = 0, size, R = self.buffer.shape[0] // 4
        cdef double rest, whole, x
        c.sampler, c.order, c.log_scale, c.evaluations = <void *> self, o, self.log_scale, 1
        c.shape, c.rate = self.shape[o], self.rate[o]
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

    cdef inline bint large(self, Py_ssize_t kind) noexcept nogil:
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
                result += self.log_kind(
                    kind, self.size_of_kind[kind] + self.kinds[kind, c.order] * sigma)
        return result

    cdef double log_kind(self, Py_ssize_t kind, double w) noexcept nogil:
        # sum over the coefficients s of a large kind of log(w / (w^2 + s^2)).  As a function of
        # log w it is analytic within pi / 2 of the real axis, so that a polynomial through NODES
        # Chebyshev points gives it to 1e-14 of its size on a window of width 2
        cdef double x = log(w), centre = 2 * floor(x / 2) + 1, z = x - centre, b0 = 0, b1 = 0, b2
        cdef Py_ssize_t slot = 0, i, j, k, S = self.eta.shape[0], a = self.kind_begin[kind]
        cdef Py_ssize_t size = self.kind_begin[kind + 1] - a
        cdef double node, value
        cdef double *c
        while slot < WINDOWS and self.window[kind, slot] != centre:
            if self.window[kind, slot] == -1e300:
                break
            slot += 1
        if slot == WINDOWS:
            slot = (<int64_t> fabs(centre)) // 2 % WINDOWS
        c = &self.interpolant[kind, slot, 0]
        if self.window[kind, slot] != centre:
            self.window[kind, slot] = centre
            for j in range(NODES):
                c[j] = 0
            for i in range(NODES):
                node = centre + cos(M_PI * (i + 0.5) / NODES)
                value = S * size * node
                for k in range(S):
                    value -= log_shifted(&self.square[k, a], exp(2 * node), size)
                for j in range(NODES):
                    c[j] += value * self.node_basis[i, j]
        # Clenshaw: sum of c_j T_j(z)
        for j in range(NODES - 1, 0, -1):
            b2 = 2 * z * b0 - b1 + c[j]
            b1 = b0
            b0 = b2
        return z * b0 - b1 + c[0]

    # ---- widths together with the coefficients that they are the widths of ----

    cdef void sweep_all_scales(self, bitgen_t *bitgen) noexcept nogil:
        # sigma_o moves with s_g / w_g fixed for every group with patterns of order o: where the
        # data say little about these, sigma given them could hardly move
        cdef Py_ssize_t o
        for o in range(self.log_sigma.shape[0]):
            if self.free[o]:
                self.update_scale(o, bitgen)

    cdef void update_scale(self, Py_ssize_t o, bitgen_t *bitgen) noexcept nogil:
        cdef Width c
        cdef Py_ssize_t j, i, k, kind
        cdef double x, factor
        c.sampler, c.order, c.evaluations = <void *> self, o, 1
        c.shape, c.rate = self.shape[o], self.rate[o]
        c.log_density = self.log_scale_density(&c, self.log_sigma[o])
        x = slice_update(inside_scale, &c, self.log_sigma[o], SCALE_STEP, self.most_steps, bitgen)
        self.width_evaluations += c.evaluations
        self.log_scale_density(&c, x)
        self.eta[:, :] = self.trial
        for j in range(self.order_begin[o], self.order_begin[o + 1]):
            kind = self.order_kind[j]
            factor = self.ratio(kind, o, exp((1 if self.cauchy else 2) * x))
            for i in range(self.kind_begin[kind], self.kind_begin[kind + 1]):
                for k in range(self.eta.shape[0]):
                    self.coefficient[k, self.by_kind[i]] *= factor
        self.log_sigma[o] = x
        self.set_power(o)
        for j in range(self.order_begin[o], self.order_begin[o + 1]):
            kind = self.order_kind[j]
            self.size_of_kind[kind] = self.rest(kind, -1)

    cdef double log_scale_density(self, Width *c, double x) noexcept nogil:
        # log of the density of log sigma at x given s_g / w_g, up to a constant; fills trial
        cdef Py_ssize_t j, i, k, r, g, kind, S = self.eta.shape[0]
        cdef double factor, s
        if fabs(x) > WIDEST:
            return -1e308
        self.trial[:, :] = self.eta
        for j in range(self.order_begin[c.order], self.order_begin[c.order + 1]):
            kind = self.order_kind[j]
            factor = self.ratio(kind, c.order, exp((1 if self.cauchy else 2) * x)) - 1
            for i in range(self.kind_begin[kind], self.kind_begin[kind + 1]):
                g = self.by_kind[i]
                for k in range(S):
                    s = factor * self.coefficient[k, g]
                    if self.runs[g]:
                        for r in range(self.begin[g], self.end[g]):
                            self.trial[k, r] += s
                    else:
                        for r in range(self.begin[g], self.end[g]):
                            self.trial[k, self.members[r]] += s
        return self.log_trial() - c.shape * x - c.rate * exp(-x)

    cdef inline double ratio(self, Py_ssize_t kind, Py_ssize_t o, double power) noexcept nogil:
        # w' / w of a kind if sigma_o (squared, for Gaussian priors) becomes `power`
        cdef double w = self.size_of_kind[kind]
        cdef double factor = 1 + self.kinds[kind, o] * (power - self.power[o]) / w
        if factor < 1e-2:
            factor = (self.rest(kind, o) + self.kinds[kind, o] * power) / w
        return factor if self.cauchy else sqrt(factor)

    # ---- chains ----

    cdef double log_prior(self) noexcept nogil:
        # log density of the coefficients and of the sigmas that are free
        cdef Py_ssize_t o, c, j, k, g
        cdef double result = 0, s, w
        for o in range(self.log_sigma.shape[0]):
            if self.free[o]:
                result += log_inverse_gamma(self.shape[o], self.rate[o], self.log_sigma[o])
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

    def sweep_translations(self, capsule):
        """Move coefficients together along all directions that the likelihood does not see."""
        cdef bitgen_t *bitgen = generator(capsule)
        with nogil:
            self.sweep_all_translations(bitgen)
            self.refresh_rows()

    def sweep_scales(self, capsule):
        """Update every width that is free once, and the coefficients in proportion."""
        cdef bitgen_t *bitgen = generator(capsule)
        with nogil:
            self.sweep_all_scales(bitgen)
            self.refresh_rows()
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
                    self.sweep_all_translations(bitgen)
                    self.sweep_all_scales(bitgen)
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


@cython.final
cdef class Logistic(Linear):
    """Classes: response (K, R) are the cases of a row by class.

    coefficient has S = 1 set for two classes, that of the second, and K for more.  p (S, R), the
    probability of each class, and q, of the others, are kept beside eta.
    """

    cdef const double[:, ::1] response
    cdef double[:, ::1] p, q, cases

    def __init__(self, *, const double[:, ::1] response, double[:, ::1] p, double[:, ::1] q,
                 double[:, ::1] cases, **common):
        super().__init__(**common)
        self.response, self.p, self.q, self.cases = response, p, q, cases
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

    cdef double log_trial(self) noexcept nogil:
        cdef Py_ssize_t S = self.eta.shape[0], R = self.eta.shape[1]
        if S == 1:
            return log_binary(&self.trial[0, 0], &self.response[1, 0], &self.weight[0], R)
        return log_classes(&self.trial[0, 0], &self.response[0, 0], &self.weight[0], S, R, R,
                           &self.buffer[0])

    cdef double set_row(self, Py_ssize_t r) noexcept nogil:
        # p and q of a row from its eta; its log likelihood
        cdef Py_ssize_t S = self.eta.shape[0], k
        cdef double top, total, x, result = 0
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
        for k in range(S):
            self.p[k, r] /= total
            if self.response[k, r] > 0:
                result += self.response[k, r] * (self.eta[k, r] - top - log(total))
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
        c.old, c.cases, c.total = self.coefficient[k, g], self.cases[k, g], self.total[g]
        c.size, c.cauchy, c.evaluations = size, self.cauchy, 0
        c.sampler, c.group, c.k = <void *> self, g, k
        x = self.size_of_kind[self.kind[g]]  # width, or variance
        c.square = x * x if self.cauchy else x
        c.weight = NULL
        if self.runs[g]:
            c.p, c.q = &self.p[k, a], &self.q[k, a]
            if not self.unit[g]:
                c.weight = &self.weight[a]
        else:
            for i in range(size):
                r = self.members[a + i]
                self.buffer[i], self.buffer[R + i] = self.p[k, r], self.q[k, r]
                self.buffer[2 * R + i] = self.weight[r]
            c.p, c.q = &self.buffer[0], &self.buffer[R]
            if not self.unit[g]:
                c.weight = &self.buffer[2 * R]
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
cdef class Normal(Linear):
    """Real responses: mean (R,) of those of a row, and `within`, their squares about these means.

    log_noise is log tau; noise_shape and noise_rate are of the Inverse-Gamma prior of tau.
    """

    cdef const double[::1] mean
    cdef double within, noise_shape, noise_rate, all_cases, squares
    cdef bint noise_free

    def __init__(self, *, const double[::1] mean, double within, bint noise_free,
                 double noise_shape, double noise_rate, **common):
        cdef Py_ssize_t r
        super().__init__(**common)
        self.mean, self.within, self.noise_free = mean, within, noise_free
        self.noise_shape, self.noise_rate = noise_shape, noise_rate
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

    cdef double log_trial(self) noexcept nogil:
        return -squared_residuals(&self.weight[0], &self.mean[0], &self.trial[0, 0],
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
        cdef double result = Linear.log_prior(self)
        if self.noise_free:
            result += log_inverse_gamma(self.noise_shape, self.noise_rate, self.log_noise[0])
        return result

    def sweep_noise(self, capsule):
        """Update the noise once, if it is free."""
        cdef bitgen_t *bitgen = generator(capsule)
        with nogil:
            self.update_noise(bitgen)


cdef bitgen_t *generator(capsule) except NULL:
    return <bitgen_t *> PyCapsule_GetPointer(capsule, "BitGenerator")
