# What logistic.pyx needs of linear.pyx.  Cython looks for this file under the name by which the
# compiled module is imported; declared anywhere else, the class would be looked for in a module
# `linear` that does not exist.

cimport cython
from libc.stdint cimport int32_t, int64_t
from numpy.random cimport bitgen_t

cdef struct Width:
    # what the conditional density of one width depends on
    void *sampler
    double shape, rate, log_density
    Py_ssize_t order, size
    bint log_scale
    int64_t evaluations

cdef class Linear:
    cdef const Py_ssize_t[::1] begin, end, kind_begin, order_begin
    cdef const int32_t[::1] members, kind, by_kind, order_kind
    cdef const double[:, ::1] kinds
    cdef const double[::1] weight, sigma_rate
    cdef const unsigned char[::1] runs, unit
    cdef bint cauchy, log_scale, sigma_free
    cdef double sigma_shape, coefficient_width, sigma_width
    cdef Py_ssize_t most_steps
    cdef double[:, ::1] coefficient, eta, square, window, node_basis
    cdef double[::1] log_sigma, log_noise, power, total, size_of_kind, sum_of_kind, buffer
    cdef double[:, :, ::1] interpolant
    cdef readonly int64_t coefficient_evaluations, width_evaluations
    cdef readonly double log_likelihood

    @cython.final
    cdef inline Py_ssize_t row(self, Py_ssize_t g, Py_ssize_t i) noexcept nogil:
        return self.begin[g] + i if self.runs[g] else self.members[self.begin[g] + i]

    cdef Py_ssize_t most_at_once(self)
    cdef void refresh_likelihood(self) noexcept nogil
    cdef void update_coefficient(self, Py_ssize_t g, Py_ssize_t k, bitgen_t *bitgen) noexcept nogil
    cdef void update_noise(self, bitgen_t *bitgen) noexcept nogil
    cdef void move_together(self, bitgen_t *bitgen) noexcept nogil
    cdef void count_cases(self) noexcept nogil
    cdef void refresh_rows(self) noexcept nogil
    cdef void sweep_all_coefficients(self, bitgen_t *bitgen) noexcept nogil
    cdef double rest(self, Py_ssize_t c, Py_ssize_t order) noexcept nogil
    cdef void set_power(self, Py_ssize_t o) noexcept nogil
    cdef void refresh_widths(self) noexcept nogil
    cdef void refresh_squares(self) noexcept nogil
    cdef void sweep_all_widths(self, bitgen_t *bitgen) noexcept nogil
    cdef void update_width(self, Py_ssize_t o, bitgen_t *bitgen) noexcept nogil
    cdef bint large(self, Py_ssize_t kind) noexcept nogil
    cdef Py_ssize_t lay_out(self, Py_ssize_t kind, Py_ssize_t o, Py_ssize_t e) noexcept nogil
    cdef double log_width_density(self, Width *c, double x) noexcept nogil
    cdef double log_prior(self) noexcept nogil
