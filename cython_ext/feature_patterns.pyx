"""Groups of interaction patterns of discrete features, each expression once.

A pattern fixes some features at a value; its expression is the set of rows with these values.
Features are taken one after the other.  After t of them there is one group for every expression of
a pattern that fixes some of these t, with the numbers of such patterns by order: a polynomial in z,
the power counting what is fixed.  With feature t + 1, a group whose rows all have one value there
has its polynomial multiplied by 1 + z; of any other, z times its polynomial is added to the group
of its rows with value v, for each v.  Expressions stay once they are there, so that what is held
grows to the answer and never beyond.

Expressions are ascending lists of row numbers, end to end: where patterns are many, expressions
are a few rows of many.  A hash table finds them by a sum of random numbers, one for each row.
"""

from libc.math cimport fabs, log
from libc.stdint cimport int16_t, int32_t, uint64_t
from libc.string cimport memcmp, memcpy

import numpy as np

cdef enum:
    UNKNOWN_STEP = -2
    VALUES = 256  # an item, a feature with a value, is feature * VALUES + value

UNKNOWN, ITEM_VALUES = UNKNOWN_STEP, VALUES

LEAST_PART = 1e-12  # of a case's patterns: counts beyond 2^53 do not tell less from 0

cdef double ROUNDING = LEAST_PART


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL
    return x ^ (x >> 31)


cdef class Listing:
    """Groups listed so far.

    codes (p, R) values of R distinct rows, negative where missing, in the order in which features
    are taken; weight (R,) cases; random (R,).  Of group g the rows are
    members[begin[g] : begin[g + 1]], counts[g] (O + 1,) its patterns by order, least[g] the
    smallest; table has at least twice as many places as there is room for groups.  Where
    `merged` is false every pattern is a group, found by that without its last feature.
    constant (room,) is overwritten.  Codes are below n_values.  A sweep returns 0 when it is done,
    and otherwise the number of rows that a new group needs: then make room, and call it again.
    """

    cdef const int16_t[:, ::1] codes
    cdef const int32_t[::1] weight
    cdef const uint64_t[::1] random
    cdef Py_ssize_t[::1] begin
    cdef int32_t[::1] members, least, table, parent, item
    cdef uint64_t[::1] key
    cdef double[:, ::1] counts
    cdef unsigned char[::1] constant
    cdef int32_t[::1] touched, sizes, first, weights, scratch
    cdef uint64_t[::1] sums
    cdef int32_t least_weight
    cdef bint merged, free
    cdef Py_ssize_t old, cursor, most  # the largest order
    cdef readonly Py_ssize_t n_groups, n_superpatterns

    def __init__(self, const int16_t[:, ::1] codes, const int32_t[::1] weight,
                 const uint64_t[::1] random, Py_ssize_t n_values, int32_t least_weight,
                 bint merged, bint free):
        self.codes, self.weight, self.random = codes, weight, random
        self.touched, self.sizes, self.first, self.weights = np.zeros(
            (4, max(1, n_values)), dtype=np.int32)
        self.sums = np.zeros(max(1, n_values), dtype=np.uint64)
        self.scratch = np.empty(codes.shape[1], dtype=np.int32)
        self.least_weight, self.merged, self.free = least_weight, merged, free
        self.n_groups = self.n_superpatterns = self.old = 0
        self.cursor = -1

    def make_room(self, Py_ssize_t[::1] begin, int32_t[::1] members, uint64_t[::1] key,
                  double[:, ::1] counts, int32_t[::1] least, unsigned char[::1] constant,
                  int32_t[::1] parent, int32_t[::1] item, int32_t[::1] table):
        """Take longer arrays, that begin with what the present ones hold; table is emptied."""
        cdef Py_ssize_t g
        self.begin, self.members, self.key, self.counts = begin, members, key, counts
        self.least, self.constant, self.table = least, constant, table
        self.parent, self.item, self.most = parent, item, counts.shape[1] - 1
        with nogil:
            self.table[:] = -1
            for g in range(self.n_groups):
                self.enter(g)

    cdef inline void enter(self, Py_ssize_t g) noexcept nogil:
        cdef uint64_t mask = self.table.shape[0] - 1, place = mixed(self.key[g]) & mask
        while self.table[place] >= 0:
            place = (place + 1) & mask
        self.table[place] = <int32_t> g

    cdef inline Py_ssize_t find(self, uint64_t key, const int32_t *rows,
                                Py_ssize_t size) noexcept nogil:
        # the group with these rows, -1 if there is none
        cdef uint64_t mask = self.table.shape[0] - 1, place = mixed(key) & mask
        cdef Py_ssize_t g
        while True:
            g = self.table[place]
            if g < 0:
                return -1
            if (self.key[g] == key and self.begin[g + 1] - self.begin[g] == size
                    and memcmp(&self.members[self.begin[g]], rows, size * sizeof(int32_t)) == 0):
                return g
            place = (place + 1) & mask

    cdef inline uint64_t step_key(self, Py_ssize_t g, Py_ssize_t item) noexcept nogil:
        return mixed((<uint64_t> g << 32) + <uint64_t> item + 1)

    cdef inline Py_ssize_t find_step(self, Py_ssize_t parent, Py_ssize_t item) noexcept nogil:
        # not merged: the pattern that fixes one more feature
        cdef uint64_t key = self.step_key(parent, item), mask = self.table.shape[0] - 1
        cdef uint64_t place = mixed(key) & mask
        cdef Py_ssize_t g
        while True:
            g = self.table[place]
            if g < 0 or (self.parent[g] == parent and self.item[g] == item):
                return g
            place = (place + 1) & mask

    cdef inline Py_ssize_t add(self, uint64_t key, const int32_t *rows, Py_ssize_t size,
                               Py_ssize_t parent, Py_ssize_t item) noexcept nogil:
        # a new group, without patterns yet; -1 if there is no room
        cdef Py_ssize_t g = self.n_groups, o, a = self.begin[g]
        if g + 1 >= self.begin.shape[0] or a + size > self.members.shape[0]:
            return -1
        memcpy(&self.members[a], rows, size * sizeof(int32_t))
        self.begin[g + 1] = a + size
        self.key[g] = key
        self.parent[g], self.item[g] = <int32_t> parent, <int32_t> item
        for o in range(self.counts.shape[1]):
            self.counts[g, o] = 0
        self.least[g] = <int32_t> self.counts.shape[1]
        self.n_groups += 1
        self.enter(g)
        return g

    cdef inline Py_ssize_t divide(self, Py_ssize_t g, Py_ssize_t t) noexcept nogil:
        return self.divide_rows(
            &self.members[self.begin[g]], self.begin[g + 1] - self.begin[g], t)

    cdef inline Py_ssize_t divide_rows(self, const int32_t *rows, Py_ssize_t size,
                                       Py_ssize_t t) noexcept nogil:
        # distribute rows by their value of feature t, in scratch: of value touched[i] from
        # first[.], sizes[.] rows, their key and weight; returns how many values
        cdef Py_ssize_t i, n = 0
        cdef int32_t v, r, place = 0
        for i in range(size):
            r = rows[i]
            v = self.codes[t, r]
            if v < 0:
                continue
            if self.sizes[v] == 0:
                self.touched[n] = v
                n += 1
                self.sums[v], self.weights[v] = 0, 0
            self.sizes[v] += 1
            self.sums[v] += self.random[r]
            self.weights[v] += self.weight[r]
        for i in range(n):
            v = self.touched[i]
            self.first[v] = place
            place += self.sizes[v]
            self.sizes[v] = 0
        for i in range(size):
            r = rows[i]
            v = self.codes[t, r]
            if v >= 0:
                self.scratch[self.first[v] + self.sizes[v]] = r
                self.sizes[v] += 1
        return n

    def begin_with(self, const int32_t[::1] rows, uint64_t key, Py_ssize_t patterns):
        """Add the first group, of all rows; there must be room.

        patterns : 1 for that of order 0, or 0 if it is to be found.
        """
        cdef Py_ssize_t g = self.add(key, &rows[0], rows.shape[0], -1, -1)
        self.counts[g, 0] = patterns
        self.least[g] = 0

    def add_feature(self, Py_ssize_t t):
        """Add to every group what patterns that fix feature t give it."""
        cdef Py_ssize_t g, need
        with nogil:
            if self.cursor < 0:  # not a sweep that stopped
                self.cursor = 0
                self.old = self.n_groups
                for g in range(self.old):
                    # a group whose shortest pattern is of the largest order already gains nothing
                    self.constant[g] = (
                        self.least[g] >= self.most or (self.merged and self.agree(g, t)))
                    if self.constant[g] and self.free:
                        self.multiply(&self.counts[g, 0], self.least[g])
            need = 0
            while self.cursor < self.old:
                if not self.constant[self.cursor]:
                    need = self.split(self.cursor, t)
                    if need:
                        break
                self.cursor += 1
            else:
                self.cursor = -1
        return need

    cdef inline bint agree(self, Py_ssize_t g, Py_ssize_t t) noexcept nogil:
        # whether all rows of a group have one value of feature t
        cdef Py_ssize_t i, a = self.begin[g]
        cdef int16_t v = self.codes[t, self.members[a]]
        if v < 0:
            return 0
        for i in range(a + 1, self.begin[g + 1]):
            if self.codes[t, self.members[i]] != v:
                return 0
        return 1

    cdef inline void multiply(self, double *counts, Py_ssize_t least) noexcept nogil:
        # by 1 + z
        cdef Py_ssize_t o
        for o in range(self.most, least, -1):
            counts[o] += counts[o - 1]

    cdef Py_ssize_t split(self, Py_ssize_t g, Py_ssize_t t) noexcept nogil:
        cdef Py_ssize_t n, i, o, child, need = 0
        cdef int32_t v
        n = self.divide(g, t)
        # all that are new, before any count is changed: so that this can be done again
        for i in range(n):
            v = self.touched[i]
            if self.weights[v] < self.least_weight:
                self.touched[i] = -1 - v
                continue
            if self.merged:
                child = self.find(self.sums[v], &self.scratch[self.first[v]], self.sizes[v])
            else:
                child = self.find_step(g, t * VALUES + v)
            if child < 0:
                child = self.add(
                    self.sums[v] if self.merged else self.step_key(g, t * VALUES + v),
                    &self.scratch[self.first[v]], self.sizes[v], g, t * VALUES + v)
                if child < 0:
                    need = max(need, <Py_ssize_t> self.begin[g + 1] - self.begin[g])
                    break
            self.first[v] = <int32_t> child
        for i in range(n):
            v = self.touched[i]
            if v < 0:
                self.sizes[-1 - v] = 0
                continue
            self.sizes[v] = 0
            if need:
                continue
            child = self.first[v]
            for o in range(self.least[g], self.most):
                self.counts[child, o + 1] += self.counts[g, o]
            if self.least[g] + 1 < self.least[child]:  # through g to a shortest pattern
                self.least[child] = self.least[g] + 1
                self.parent[child], self.item[child] = <int32_t> g, <int32_t> (t * VALUES + v)
        return need

    # ---- the thesis's own way ----

    def diverge(self, Py_ssize_t[::1] task_end, int32_t[::1] task_order,
                unsigned char[:, ::1] unconsidered, int32_t[::1] task_rows, Py_ssize_t tasks,
                const double[:, ::1] binomial):
        """Split expressions by the most diverse feature, recursively; merge what comes out.

        Task i has the rows task_rows[task_end[i - 1] : task_end[i]], task_order[i] features that
        are fixed at a value, and may fix others that are unconsidered[i] (p,).  Tasks are a
        stack; there is room for all.  Returns the tasks left, 0 if done, else make room.
        """
        cdef Py_ssize_t a, size, i, j, n, t, best, free, group
        cdef Py_ssize_t p = self.codes.shape[0]
        cdef int32_t v, order
        cdef uint64_t key
        cdef double diversity, greatest
        with nogil:
            while tasks > 0:
                i = tasks - 1
                a = task_end[i - 1] if i else 0
                size = task_end[i] - a
                order = task_order[i]
                best, greatest, free = -1, 1e-9, 0
                for t in range(p if order < self.most else 0):
                    if not unconsidered[i, t]:
                        continue
                    diversity = self.diversity(&task_rows[a], size, t)
                    free += diversity == 0
                    if diversity > greatest * (1 + 1e-12):
                        best, greatest = t, diversity
                if best < 0:
                    key = 0
                    for j in range(a, a + size):
                        key += self.random[task_rows[j]]
                    group = self.find(key, &task_rows[a], size)
                    if group < 0:
                        group = self.add(key, &task_rows[a], size, -1, -1)
                    if group < 0:
                        break
                    for j in range(min(free, self.most - order) + 1):
                        self.counts[group, order + j] += binomial[free, j]
                    self.least[group] = min(self.least[group], order)
                    self.n_superpatterns += 1
                    tasks -= 1
                    continue
                # the pattern value 0: the same rows; then one task for each value
                unconsidered[i, best] = 0
                n = self.divide_rows(&task_rows[a], size, best)
                for j in range(n):
                    v = self.touched[j]
                    if self.weights[v] >= self.least_weight:
                        memcpy(&task_rows[task_end[tasks - 1]], &self.scratch[self.first[v]],
                               self.sizes[v] * sizeof(int32_t))
                        task_end[tasks] = task_end[tasks - 1] + self.sizes[v]
                        task_order[tasks] = order + 1
                        unconsidered[tasks, :] = unconsidered[i]
                        tasks += 1
                    self.sizes[v] = 0
        return tasks

    cdef double diversity(self, const int32_t *rows, Py_ssize_t size, Py_ssize_t t) noexcept nogil:
        # cases times entropy of a feature's values; 0 if there is one, -1 if all are missing
        cdef Py_ssize_t i, n = 0
        cdef double total = 0, missing = 0, result = 0
        cdef int32_t v
        for i in range(size):
            v = self.codes[t, rows[i]]
            if v < 0:
                missing += self.weight[rows[i]]
                continue
            if self.sizes[v] == 0:
                self.touched[n] = v
                n += 1
                self.weights[v] = 0
            self.sizes[v] += 1
            self.weights[v] += self.weight[rows[i]]
        for i in range(n):
            v = self.touched[i]
            result -= self.weights[v] * log(self.weights[v])
            total += self.weights[v]
            self.sizes[v] = 0
        if n == 0:
            return -1
        if n == 1 and missing == 0:
            return 0
        if missing > 0:
            result -= missing * log(missing)
            total += missing
        return result + total * log(total)

    # ---- test cases ----

    def match(self, const int16_t[:, ::1] tests, Py_ssize_t begin, const int32_t[::1] kept,
              int32_t[:, :, ::1] step, int32_t[::1] whole, int32_t[::1] partial,
              double[:, ::1] shared, double[:, ::1] left, Py_ssize_t[::1] whole_end,
              Py_ssize_t[::1] partial_end):
        """Find what patterns of test rows (T, p) the groups hold, from row `begin` on.

        Of test i, groups whole[whole_end[i - 1] : whole_end[i]] are expressed entirely, of the
        groups partial[.] the patterns counted by shared[.]; left[i] counts by order those of
        its own that are in no group.  step[kept[g], t, v] (., p, V), where kept[g] >= 0, keeps
        what group g becomes with value v of feature t, UNKNOWN at first.
        Returns the first test for which there was no room.
        """
        cdef Py_ssize_t i, j, o, n, wholes = 0, partials = 0, g, G = self.n_groups
        cdef int32_t[::1] slot = np.full(G, -1, dtype=np.int32), found, next
        cdef double[:, ::1] polynomial = np.empty((G, self.most + 1))
        cdef double[::1] total = np.empty(self.most + 1)
        found, next = np.empty((2, G), dtype=np.int32)
        with nogil:
            for i in range(begin, tests.shape[0]):
                n = self.match_one(tests[i], kept, step, slot, found, next, polynomial)
                for j in range(n):
                    slot[found[j]] = -1
                if (wholes + n > whole.shape[0]) or (partials + n > partial.shape[0]):
                    break
                count_patterns(tests[i], left[i])
                count_patterns(tests[i], total)
                for j in range(n):
                    g = found[j]
                    for o in range(self.most + 1):
                        left[i, o] -= polynomial[j, o]
                    for o in range(self.most + 1):
                        if fabs(polynomial[j, o] - self.counts[g, o]) > ROUNDING * total[o]:
                            break
                    else:
                        whole[wholes] = <int32_t> g
                        wholes += 1
                        continue
                    shared[partials, :] = polynomial[j]
                    partial[partials] = <int32_t> g
                    partials += 1
                for o in range(self.most + 1):
                    if left[i, o] < ROUNDING * total[o]:
                        left[i, o] = 0
                whole_end[i], partial_end[i] = wholes, partials
            else:
                i = tests.shape[0]
        return i

    cdef Py_ssize_t match_one(self, const int16_t[::1] x, const int32_t[::1] kept,
                              int32_t[:, :, ::1] step, int32_t[::1] slot, int32_t[::1] found,
                              int32_t[::1] next, double[:, ::1] polynomial) noexcept nogil:
        # the listing once more, of the patterns of x alone: groups found, with polynomials
        cdef Py_ssize_t t, j, o, g, child, n = 1, old, least
        cdef int16_t v
        found[0], slot[0] = 0, 0
        polynomial[0, :] = 0
        polynomial[0, 0] = 1
        for t in range(x.shape[0]):
            v = x[t]
            if v < 0 or v >= step.shape[2]:  # fixes nothing, or what no row has
                continue
            old = n
            for j in range(old):
                g = found[j]
                next[j] = -1
                if self.least[g] < self.most:
                    next[j] = self.with_value(g, t, v, kept, step)
                    if next[j] == g:
                        self.multiply(&polynomial[j, 0], 0)
            for j in range(old):
                child = next[j]
                if child < 0 or child == found[j]:
                    continue
                least = 0
                while least < self.most and polynomial[j, least] == 0:
                    least += 1
                if least == self.most:
                    continue
                if slot[child] < 0:
                    slot[child] = <int32_t> n
                    found[n] = <int32_t> child
                    polynomial[n, :] = 0
                    n += 1
                for o in range(least, self.most):
                    polynomial[slot[child], o + 1] += polynomial[j, o]
        return n

    cdef inline int32_t with_value(self, Py_ssize_t g, Py_ssize_t t, int16_t v,
                                   const int32_t[::1] kept,
                                   int32_t[:, :, ::1] step) noexcept nogil:
        # the group of a group's rows with a value, -1 if there is none
        cdef Py_ssize_t i, n = 0, a = kept[g]
        cdef int32_t r
        cdef uint64_t key = 0
        if not self.merged:
            return <int32_t> self.find_step(g, t * VALUES + v)
        if a >= 0:
            if step[a, t, v] == UNKNOWN_STEP:
                step[a, t, :] = -1
                n = self.divide(g, t)
                for i in range(n):
                    r = self.touched[i]
                    step[a, t, r] = <int32_t> self.find(
                        self.sums[r], &self.scratch[self.first[r]], self.sizes[r])
                    self.sizes[r] = 0
            return step[a, t, v]
        for i in range(self.begin[g], self.begin[g + 1]):
            r = self.members[i]
            if self.codes[t, r] == v:
                self.scratch[n] = r
                key += self.random[r]
                n += 1
        return <int32_t> self.find(key, &self.scratch[0], n) if n else -1


cdef void count_patterns(const int16_t[::1] x, double[::1] counts) noexcept nogil:
    # patterns of x by order: a power of 1 + z, a factor for each feature that is not missing
    cdef Py_ssize_t t, o
    counts[:] = 0
    counts[0] = 1
    for t in range(x.shape[0]):
        if x[t] != -1:
            for o in range(counts.shape[0] - 1, 0, -1):
                counts[o] += counts[o - 1]
