# One update of a number by slice sampling with stepping out and shrinkage (Neal 2003, "Slice
# sampling", figures 3 and 5): section "The Markov Chain Sampling Method" of the thesis.
#
# The density is asked only whether f(x) >= u f(x0), so that who answers may do so by a bound.

from libc.math cimport floor, log
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from _draws cimport uniform

ctypedef bint (*inside_t)(void *context, double x, double u, double log_u) noexcept nogil

cdef inline double slice_update(inside_t inside, void *context, double x0, double width,
                                Py_ssize_t most_steps, bitgen_t *bitgen) noexcept nogil:
    cdef double u = uniform(bitgen), log_u = log(u), left, right, x
    cdef int64_t steps_left, steps_right
    left = x0 - width * bitgen.next_double(bitgen.state)
    right = left + width
    steps_left = <int64_t> floor(most_steps * bitgen.next_double(bitgen.state))
    steps_right = most_steps - 1 - steps_left
    while steps_left > 0 and inside(context, left, u, log_u):
        left -= width
        steps_left -= 1
    while steps_right > 0 and inside(context, right, u, log_u):
        right += width
        steps_right -= 1
    while True:
        x = left + bitgen.next_double(bitgen.state) * (right - left)
        if x == x0 or inside(context, x, u, log_u):
            return x
        if x < x0:
            left = x
        else:
            right = x
