# What logistic.pyx needs of tree.pyx; see linear.pxd for the place of this file.

from libc.stdint cimport int32_t
from numpy.random cimport bitgen_t

from thesiskit._kernels.linear cimport Linear

cdef class Tree(Linear):
    cdef bint by_passes
    cdef const int32_t[::1] parent, owner
    cdef double[:, ::1] node, path
    cdef double[::1] mixing, slope, trial, tuning
    cdef double learning

    cdef void observe(self, double *precision, double *linear, Py_ssize_t r,
                      bitgen_t *bitgen) noexcept nogil
    cdef double log_trial(self) noexcept nogil
    cdef void observe_rows(self, bitgen_t *bitgen) noexcept nogil
    cdef void draw_mixing(self, bitgen_t *bitgen) noexcept nogil
    cdef void set_variances(self) noexcept nogil
    cdef void shift_widths(self, bitgen_t *bitgen) noexcept nogil
    cdef double log_shift_density(self, double d) noexcept nogil
    cdef double log_marginal(self, double *gradient, bint density) noexcept nogil
    cdef void move_widths(self, bitgen_t *bitgen) noexcept nogil
    cdef bint trajectory(self, Py_ssize_t steps, double step) noexcept nogil
    cdef void learn(self, double accepted) noexcept nogil
    cdef void draw_coefficients(self, bitgen_t *bitgen) noexcept nogil
    cdef void move_tree(self, bitgen_t *bitgen) noexcept nogil
