# What logistic.pyx needs of hamiltonian.pyx; why it is found here: linear.pxd.

from libc.stdint cimport int32_t
from numpy.random cimport bitgen_t

from _trajectory cimport Moving
from thesiskit._kernels.tree cimport Tree

cdef class Lists:
    cdef int32_t[::1] of, members
    cdef Py_ssize_t[::1] begin

    cdef void add_up(self, double *values, double *to, Py_ssize_t sets) noexcept nogil

cdef class Hamiltonian(Tree):
    cdef bint by_trajectories, by_blocks
    cdef Py_ssize_t sets, orders
    cdef Py_ssize_t[::1] fixed  # groups with patterns of order 0
    cdef public Py_ssize_t steps, block
    cdef Lists rows_of_groups, groups_of_rows
    # by row: the linear function, what pulls it, how stiffly
    cdef double[:, ::1] level, force, stiffness
    # by group: position and momentum, and what a trajectory needs of them
    cdef double[:, ::1] position, momentum, spread, easy, value, slopes
    cdef double[::1] usual_square, usual_stiffness
    cdef Moving moving
    cdef int32_t[::1] depth
    cdef double[:, :, ::1] route  # sums on the way from the root, and back
    cdef double[::1] pulled, width, pull, scale_momentum, scale_slope, scale_mass, old_log_sigma

    cdef void fill_force(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void fill_stiffness(self) noexcept nogil
    cdef void sum_rows(self, double[:, ::1] of_rows) noexcept nogil
    cdef double log_stretched(self, double x) noexcept nogil
    cdef void stretch(self, bitgen_t *bitgen) noexcept nogil
    cdef void fill_widths(self) noexcept nogil
    cdef void begin_trajectory(self, bitgen_t *bitgen) noexcept nogil
    cdef void leap(self, double kick, double drift) noexcept nogil
    cdef void move_sigmas(self, double kick, double drift) noexcept nogil
    cdef double energy(self) noexcept nogil
    cdef void average_stiffness(self, double share) noexcept nogil
    cdef void begin_learning(self) noexcept nogil
