"""Compact suffix tries of histories: sorting, common lengths, nodes, and matches of test cases.

A history is a row of states in time order; read backwards, from its last column, it is a string.
Histories are sorted as such strings, equal ones merged into *rows*.  Patterns that fix the last o
states are prefixes of length o; those with the same expression are the nodes of the compact trie,
and the expression of a node is a run of consecutive rows.
"""

import numpy as np

from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc


cdef inline int32_t state(const int32_t[:, :] x, Py_ssize_t i, Py_ssize_t depth) noexcept nogil:
    # the depth-th most recent state of history i
    return x[i, x.shape[1] - 1 - depth]


cdef inline Py_ssize_t common(const int32_t[:, :] x, Py_ssize_t i, const int32_t[:, :] y,
                              Py_ssize_t j, Py_ssize_t depth, Py_ssize_t order) noexcept nogil:
    # how many of the last `order` states of two histories agree, the first `depth` known to
    while depth < order and state(x, i, depth) == state(y, j, depth):
        depth += 1
    return depth


cdef struct Piece:
    Py_ssize_t begin, end, depth


cdef void insertion_sort(const int32_t[:, :] x, Py_ssize_t order, int32_t[::1] place,
                         Py_ssize_t begin, Py_ssize_t end, Py_ssize_t known) noexcept nogil:
    cdef Py_ssize_t i, j, depth
    cdef int32_t held
    for i in range(begin + 1, end):
        held = place[i]
        j = i
        while j > begin:
            depth = common(x, held, x, place[j - 1], known, order)
            if depth == order or state(x, held, depth) > state(x, place[j - 1], depth):
                break
            place[j] = place[j - 1]
            j -= 1
        place[j] = held


def sort_histories(const int32_t[:, :] x, Py_ssize_t order, int32_t[::1] place):
    """Permute `place` (n,), row numbers of x (n, L), into the order of reversed histories.

    Three-way radix quicksort: states that are known to agree are not looked at again.
    """
    cdef Py_ssize_t room = 256, used = 1, begin, end, depth, low, high, i
    cdef int32_t pivot, here, a, b, c, held
    cdef Piece *stack = <Piece *> malloc(room * sizeof(Piece))
    cdef Piece *more
    if stack == NULL:
        raise MemoryError
    stack[0].begin, stack[0].end, stack[0].depth = 0, place.shape[0], 0
    with nogil:
        while used > 0:
            used -= 1
            begin, end, depth = stack[used].begin, stack[used].end, stack[used].depth
            if end - begin <= 12 or depth == order:
                if depth < order:
                    insertion_sort(x, order, place, begin, end, depth)
                continue
            a = state(x, place[begin], depth)
            b = state(x, place[begin + (end - begin) // 2], depth)
            c = state(x, place[end - 1], depth)
            pivot = max(min(a, b), min(max(a, b), c))
            low, high, i = begin, end, begin
            while i < high:
                here = state(x, place[i], depth)
                if here == pivot:
                    i += 1
                    continue
                held = place[i]
                if here < pivot:
                    place[i] = place[low]
                    place[low] = held
                    low += 1
                    i += 1
                else:
                    high -= 1
                    place[i] = place[high]
                    place[high] = held
            if used + 3 > room:
                room *= 2
                more = <Piece *> realloc(stack, room * sizeof(Piece))
                if more == NULL:
                    break
                stack = more
            for i in range(3):
                stack[used].begin = begin if i == 0 else low if i == 1 else high
                stack[used].end = low if i == 0 else high if i == 1 else end
                stack[used].depth = depth + (i == 1)
                if stack[used].end - stack[used].begin > 1:
                    used += 1
    free(stack)
    if used > 0:
        raise MemoryError


def count_common(const int32_t[:, :] x, Py_ssize_t order, const int32_t[::1] place,
                 int32_t[::1] shared):
    """Fill shared (n,): how many of the last states the history at place[i] has as place[i - 1].

    shared[0] becomes -1: nothing stands before the first.
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(place.shape[0]):
            shared[i] = -1 if i == 0 else <int32_t> common(x, place[i], x, place[i - 1], 0, order)


def fill_nodes(const int32_t[::1] shared, Py_ssize_t order, int32_t[::1] begin, int32_t[::1] end,
               int32_t[::1] first, int32_t[::1] last, int32_t[::1] parent, int32_t[::1] leaf):
    """List the nodes of the trie of R distinct rows, parents before children; return how many.

    shared (R + 1,) as of count_common, with -1 at both ends.  A node is a run of rows begin..end
    - 1 that agree in `last` states, and stands for the patterns of order first..last; its parent's
    last is first - 1.  leaf (R,) is the node of each single row.  Nodes have room for 2 R - 1.
    """
    cdef Py_ssize_t rows = leaf.shape[0], used = 0, made = 0, r, node, i
    cdef int32_t[::1] scratch = np.empty(4 * rows, dtype=np.int32)
    cdef int32_t depth, start
    # runs that are open, as pairs (depth, begin); every node is counted where it begins
    with nogil:
        for i in range(rows):
            leaf[i] = 1  # of row i alone
        for r in range(1, rows + 1):
            start = <int32_t> (r - 1)
            while used > 0 and scratch[2 * used - 2] > shared[r]:
                start = scratch[2 * used - 1]
                leaf[start] += 1
                used -= 1
            if r < rows and (used == 0 or scratch[2 * used - 2] < shared[r]):
                scratch[2 * used], scratch[2 * used + 1] = shared[r], start
                used += 1
        # where the nodes that begin at a row end in the list: the longest run comes first
        for i in range(rows):
            made += leaf[i]
            leaf[i] = <int32_t> made
        used = 0
        for r in range(1, rows + 1):
            leaf[r - 1] -= 1
            node = leaf[r - 1]
            begin[node], end[node], last[node] = <int32_t> (r - 1), <int32_t> r, <int32_t> order
            start = <int32_t> (r - 1)
            while used > 0 and scratch[2 * used - 2] > shared[r]:
                depth, start = scratch[2 * used - 2], scratch[2 * used - 1]
                used -= 1
                leaf[start] -= 1
                node = leaf[start]
                begin[node], end[node], last[node] = start, <int32_t> r, depth
            if r < rows and (used == 0 or scratch[2 * used - 2] < shared[r]):
                scratch[2 * used], scratch[2 * used + 1] = shared[r], start
                used += 1
        used = 0
        for node in range(made):
            while used > 0 and end[scratch[used - 1]] <= begin[node]:
                used -= 1
            parent[node] = scratch[used - 1] if used > 0 else -1
            first[node] = last[parent[node]] + 1 if used > 0 else 0
            scratch[used] = <int32_t> node
            used += 1
            if end[node] - begin[node] == 1:
                leaf[begin[node]] = <int32_t> node
    return made


def fill_members(const int32_t[::1] leaf, const int32_t[::1] parent, const int32_t[::1] row_of,
                 Py_ssize_t[::1] filled, int32_t[::1] indices):
    """Write each case into the lists of all nodes above it, in the order of the cases.

    filled (G,) says where the list of each node begins in `indices`, and is moved to its end.
    """
    cdef Py_ssize_t i
    cdef int32_t node
    with nogil:
        for i in range(row_of.shape[0]):
            node = leaf[row_of[i]]
            while node >= 0:
                indices[filled[node]] = <int32_t> i
                filled[node] += 1
                node = parent[node]


def match_histories(const int32_t[:, :] x, Py_ssize_t order, const int32_t[::1] rows,
                    const int32_t[::1] leaf, const int32_t[::1] parent,
                    const int32_t[::1] first, const int32_t[:, :] tests, int32_t[::1] node,
                    int32_t[::1] depth):
    """Find for each test history the longest common past with a training history.

    rows (R,) are case numbers in x of the sorted distinct rows.  depth (T,) is the length of that
    past, node (T,) the node that holds the pattern of that order.
    """
    cdef Py_ssize_t t, low, high, middle, d, before, after
    cdef int32_t here
    with nogil:
        for t in range(tests.shape[0]):
            low, high = 0, rows.shape[0]
            before = after = 0  # agreement with the rows just outside low..high
            while low < high:
                middle = low + (high - low) // 2
                d = common(x, rows[middle], tests, t, min(before, after), order)
                if d == order or state(x, rows[middle], d) > state(tests, t, d):
                    high = middle
                    after = d
                else:
                    low = middle + 1
                    before = d
            if low == rows.shape[0] or (low > 0 and before > after):
                here, d = leaf[low - 1], before
            else:
                here, d = leaf[low], after
            while first[here] > d:
                here = parent[here]
            node[t], depth[t] = here, <int32_t> d
