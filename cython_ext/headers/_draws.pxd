# Standard distributions from the caller's generator, one value at a time: no state of their own.

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport log, sqrt
from numpy.random cimport bitgen_t

cdef inline double uniform(bitgen_t *bitgen) noexcept nogil:
    # in (0, 1]
    return 1 - bitgen.next_double(bitgen.state)

cdef inline double standard_cauchy(bitgen_t *bitgen) noexcept nogil:
    # the slope of a point in the unit disc
    cdef double x, y
    while True:
        x = 2 * bitgen.next_double(bitgen.state) - 1
        y = 2 * bitgen.next_double(bitgen.state) - 1
        if x != 0 and x * x + y * y <= 1:
            return y / x

cdef inline double standard_normal(bitgen_t *bitgen) noexcept nogil:
    # polar method; the second of the pair is thrown away
    cdef double x, y, r
    while True:
        x = 2 * bitgen.next_double(bitgen.state) - 1
        y = 2 * bitgen.next_double(bitgen.state) - 1
        r = x * x + y * y
        if 0 < r <= 1:
            return x * sqrt(-2 * log(r) / r)

cdef inline bitgen_t *generator(capsule) except NULL:
    # the C generator of a NumPy bit generator's capsule
    return <bitgen_t *> PyCapsule_GetPointer(capsule, "BitGenerator")
