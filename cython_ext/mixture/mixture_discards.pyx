"""Adjustment factors of the mixture model: log P(selection | labels, alpha), by counts."""

import numpy as np

from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport INFINITY, exp, log1p

from _lot cimport log_lot
from _mixture cimport ChancesDoor, DiscardsDoor, chance_at, chances_door, log_chance

cdef enum:
    WITHIN, BELOW, AT, LOT  # what is known of features left out: see models/left_out.py


cdef inline double log_at(ChancesDoor *door, const double *nodes, Py_ssize_t a) noexcept nogil:
    # the log of a chance at point a of the grid
    return -INFINITY if nodes[0] == -INFINITY else chance_at(door, nodes, a)


cdef inline double log_rest(ChancesDoor *door, const double *nodes, Py_ssize_t a) noexcept nogil:
    # log(1 - chance); a constant feature alone, whose correlation is 0, is worth 2 / (n + 1) or
    # more: no digits are lost
    if nodes == NULL:
        return -INFINITY
    if nodes[0] == -INFINITY:
        return 0
    return log1p(-min(exp(chance_at(door, nodes, a)), 1.0))


cdef class Discards:
    """The log factor for all alpha, when first met.

    above, reaching and equal are the chances that |COR| > gamma, >= gamma and = gamma, at K points
    for alpha, or None where they are not needed; reaching also where each feature reaches gamma.
    count (4,) is how many features were left out, by event.  Where lots were drawn, tied_kept of
    the kept features tie with gamma, and log_choose = log C(count + tied_kept, tied_kept).
    """

    cdef readonly Py_ssize_t hits, misses
    cdef readonly object door  # what samplers ask, a capsule
    cdef DiscardsDoor answers
    cdef Py_ssize_t N0, N1
    cdef object chances  # kept alive: what the doors are of
    cdef ChancesDoor *above
    cdef ChancesDoor *reaching
    cdef ChancesDoor *equal
    cdef double[4] count
    cdef double tied_kept, log_choose
    cdef readonly double[:, :, ::1] value  # (N0 + 1, N1 + 1, K)
    cdef unsigned char[:, ::1] known  # which of them are computed, (N0 + 1, N1 + 1)

    def __init__(self, Py_ssize_t N0, Py_ssize_t N1, Py_ssize_t K, above, reaching, equal,
                 const double[::1] count, double tied_kept, double log_choose):
        cdef Py_ssize_t event
        self.N0, self.N1 = N0, N1
        self.chances = above, reaching, equal
        self.above = NULL if above is None else chances_door(above)
        self.reaching = NULL if reaching is None else chances_door(reaching)
        self.equal = NULL if equal is None else chances_door(equal)
        for event in range(4):
            self.count[event] = count[event]
        self.tied_kept, self.log_choose = tied_kept, log_choose
        self.value = np.empty((N0 + 1, N1 + 1, K))
        self.known = np.zeros((N0 + 1, N1 + 1), dtype=np.uint8)
        self.hits = self.misses = 0
        self.answers.owner, self.answers.entry = <void *> self, discards_entry
        self.door = PyCapsule_New(&self.answers, "thesiskit.discards", NULL)

    cdef const double *entry(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        cdef Py_ssize_t n = self.N0 + self.N1, twice = 2 * (c0 + c1)
        if twice > n or (twice == n and 2 * c1 > self.N1):  # the same with components exchanged
            c0, c1 = self.N0 - c0, self.N1 - c1
        if self.known[c0, c1]:
            self.hits += 1
        else:
            self.misses += 1
            self.fill(c0, c1)
            self.known[c0, c1] = 1
        return &self.value[c0, c1, 0]

    cdef void fill(self, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
        cdef const double *above = log_chance(self.above, c0, c1)
        cdef const double *reaching = log_chance(self.reaching, c0, c1)
        cdef const double *equal = log_chance(self.equal, c0, c1)
        cdef Py_ssize_t a
        cdef double total, log_s = 0, log_e = 0
        for a in range(self.value.shape[2]):
            total = 0
            if self.count[WITHIN] > 0:
                total = self.count[WITHIN] * log_rest(self.above, above, a)
            if self.count[BELOW] + self.count[LOT] > 0:
                log_s = log_rest(self.reaching, reaching, a)
            if self.count[AT] + self.count[LOT] > 0:
                log_e = log_at(self.equal, equal, a)
            if self.count[BELOW] > 0:
                total += self.count[BELOW] * log_s
            if self.count[AT] > 0:
                total += self.count[AT] * log_e
            if self.count[LOT] > 0:
                total += log_lot(log_e, log_s, self.count[LOT], self.tied_kept, self.log_choose)
            self.value[c0, c1, a] = total

    def log_discards(self, Py_ssize_t c0, Py_ssize_t c1, double[::1] out):
        """Write the log factor for every alpha, (K,)."""
        cdef const double *entry
        cdef Py_ssize_t a
        with nogil:
            entry = self.entry(c0, c1)
            for a in range(out.shape[0]):
                out[a] = entry[a]

    def fill_all(self):
        """Compute the whole table: every count, every alpha."""
        cdef Py_ssize_t n = self.N0 + self.N1, c1, m
        with nogil:
            for m in range(n // 2 + 1):
                for c1 in range(max(0, m - self.N0), min(self.N1, m) + 1):
                    self.entry(m - c1, c1)


cdef const double *discards_entry(void *owner, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
    return (<Discards> owner).entry(c0, c1)
