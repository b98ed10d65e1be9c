# Coefficients that move together, by d times their signs, along a direction that the likelihood
# does not see: their prior alone decides.

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from _draws cimport standard_normal
from _slice cimport slice_update

cdef struct Translation:
    double *terms  # of each: width squared or variance, coefficient, sign
    Py_ssize_t size
    int64_t evaluations

cdef inline bint inside_translation(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Translation *c = <Translation *> context
    cdef double ratio = 1, s
    cdef Py_ssize_t i
    c.evaluations += 1
    for i in range(c.size):
        s = c.terms[3 * i + 1] + c.terms[3 * i + 2] * x
        ratio *= ((c.terms[3 * i] + c.terms[3 * i + 1] * c.terms[3 * i + 1])
                  / (c.terms[3 * i] + s * s))
    return ratio >= u

cdef inline int64_t translation(double *terms, Py_ssize_t size, bint cauchy,
                                Py_ssize_t most_steps, bitgen_t *bitgen) noexcept nogil:
    # move the coefficients, drawn from their prior given all differences; returns evaluations
    cdef Translation c
    cdef Py_ssize_t i
    cdef double precision = 0, towards = 0, narrowest = terms[0], d
    c.terms, c.size, c.evaluations = terms, size, 0
    if cauchy:
        for i in range(1, size):
            narrowest = min(narrowest, terms[3 * i])
        d = slice_update(inside_translation, &c, 0, 4 * sqrt(narrowest), most_steps, bitgen)
    else:
        for i in range(size):
            precision += 1 / terms[3 * i]
            towards -= terms[3 * i + 1] * terms[3 * i + 2] / terms[3 * i]
        d = (towards / sqrt(precision) + standard_normal(bitgen)) / sqrt(precision)
    for i in range(size):
        terms[3 * i + 1] += d * terms[3 * i + 2]
    return c.evaluations
