"""Contexts of all lengths with counts of what followed, and the weights that mix them.

A context is the last d states of a history; it is a node below that of its last d - 1 states.  A
node is a row of `nodes`: its first child, its next sibling, the state that it adds, its first
entry, and its visits.  An entry is a row of `entries`: a class, how often it followed, and the next
entry.  Row 0 of `nodes` is the empty context, row 0 of `entries` is unused, and 0 ends a list.  A
child comes after its parent and before its older siblings in the list, an entry before older ones.

Weights have a row for each depth and kind of a node, in SETS of rows: by the longest context with
`enough` visits, by each of the last three states (the number of states where it or a later one is
unknown, or there is none), and by the length of the path.  A weight is the sum over the sets.
Columns are members, which learn with different steps and are averaged.
"""

import numpy as np

from libc.math cimport exp, log, log1p
from libc.stdint cimport int32_t

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void *) noexcept nogil

cdef enum:
    CHILD = 0
    SIBLING = 1
    STATE = 2
    ENTRY = 3
    VISITS = 4
    CLASS = 0
    COUNT = 1
    NEXT = 2
    SIZES = 12  # classes of visits, by powers of two
    KINDS = 36  # each with one, two or more classes that followed
    LAST = 3  # states that choose weights
    SETS = LAST + 2

NODE, ENTRY_WIDTH = VISITS + 1, NEXT + 1  # columns of `nodes` and `entries`


def n_weights(Py_ssize_t order, Py_ssize_t n_states):
    """Return the weights of a member by lengths of contexts, and how many it has in all."""
    cdef Py_ssize_t of_each = (order + 1) * KINDS
    return (order + 1) * of_each, (order + 1 + LAST * (n_states + 1) + order + 2) * of_each


cdef class Mixer:
    """A tree of contexts with its weights.

    nodes, entries : (N, 5), (E, 3) with n_nodes, n_entries rows in use; more rows may be put in
        their place before they are full.
    weights : (W, M), as many as n_weights returns.
    n_logs : of counts below it log(1 + n_classes count) is kept, which saves time.
    block : samples whose paths are followed together; they are counted after all were learnt.
    """

    cdef public Py_ssize_t n_nodes, n_entries
    cdef int32_t[:, ::1] nodes, entries, paths
    cdef double[:, ::1] weights
    cdef double[::1] logs, value, probability
    cdef Py_ssize_t[::1] begin
    cdef Py_ssize_t[:, ::1] rows
    cdef int32_t[::1] label, lengths
    cdef Py_ssize_t order, n_states, n_classes, enough, block, length

    def __init__(self, Py_ssize_t order, Py_ssize_t n_states, Py_ssize_t n_classes,
                 Py_ssize_t enough, double[:, ::1] weights, Py_ssize_t n_logs, Py_ssize_t block):
        self.order, self.n_states, self.n_classes = order, n_states, n_classes
        self.enough, self.weights, self.block = enough, weights, block
        self.logs = np.log1p(<double> n_classes * np.arange(n_logs))
        self.begin = np.empty(order + 2, dtype=np.intp)
        self.rows = np.empty((order + 1, SETS), dtype=np.intp)
        self.paths = np.empty((block, order + 1), dtype=np.int32)
        self.lengths = np.empty(block, dtype=np.int32)
        self.value = np.empty((order + 1) * n_classes)
        self.label = np.empty((order + 1) * n_classes, dtype=np.int32)
        self.probability = np.empty(n_classes)
        self.n_nodes = self.n_entries = 1

    def hold(self, int32_t[:, ::1] nodes, int32_t[:, ::1] entries):
        """Use these arrays, which begin with the rows that are in use."""
        self.nodes, self.entries = nodes, entries

    cdef int32_t child(self, int32_t node, int32_t state) noexcept nogil:
        # the context that has one state more; 0 if it is new
        node = self.nodes[node, CHILD]
        while node and self.nodes[node, STATE] != state:
            node = self.nodes[node, SIBLING]
        return node

    cdef void walk(self, const int32_t[:, :] history, Py_ssize_t t,
                   Py_ssize_t count) noexcept nogil:
        # the paths of a block, by depth: so many nodes come from memory at one time
        cdef Py_ssize_t width = history.shape[1], depth, i
        cdef int32_t node
        for i in range(count):
            self.paths[i, 0], self.lengths[i] = 0, 1
        for depth in range(1, self.order + 1):
            for i in range(count):
                node = (self.child(self.paths[i, depth - 1], history[t + i, width - depth])
                        if self.lengths[i] == depth else 0)
                if node:
                    self.paths[i, depth], self.lengths[i] = node, depth + 1
                    prefetch(&self.nodes[self.nodes[node, CHILD], 0])
                    prefetch(&self.entries[self.nodes[node, ENTRY], 0])

    cdef void find(self, const int32_t[:, :] history, Py_ssize_t t,
                   Py_ssize_t place) noexcept nogil:
        # the inputs of each node of a path, and its rows of weights
        cdef Py_ssize_t last = history.shape[1] - 1, depth, node, entry, size, used = 0
        cdef Py_ssize_t row, k, visits, j, of_each = (self.order + 1) * KINDS
        cdef Py_ssize_t chosen[SETS]
        cdef bint known = True
        cdef int32_t count
        self.length, chosen[0] = self.lengths[place], 0
        for depth in range(self.length):
            if self.nodes[self.paths[place, depth], VISITS] >= self.enough:
                chosen[0] = depth
        for j in range(LAST):
            known = known and j < self.order and 0 <= history[t, last - j] < self.n_states
            chosen[j + 1] = self.order + 1 + j * (self.n_states + 1)
            chosen[j + 1] += history[t, last - j] if known else self.n_states
        chosen[LAST + 1] = self.order + 1 + LAST * (self.n_states + 1) + self.length
        for depth in range(self.length):
            node = self.paths[place, depth]
            self.begin[depth] = used
            entry = self.nodes[node, ENTRY]
            while entry and used < self.begin[depth] + self.n_classes:
                count = self.entries[entry, COUNT]
                self.label[used] = self.entries[entry, CLASS]
                self.value[used] = (self.logs[count] if count < self.logs.shape[0]
                                    else log1p(<double> self.n_classes * count))
                used += 1
                entry = self.entries[entry, NEXT]
            size, visits = 0, self.nodes[node, VISITS] >> 1
            while visits and size < SIZES - 1:
                size, visits = size + 1, visits >> 1
            k = used - self.begin[depth]
            row = depth * KINDS + 3 * size + (2 if k > 2 else k - 1 if k else 0)
            for j in range(SETS):
                self.rows[depth, j] = chosen[j] * of_each + row
        self.begin[self.length] = used

    cdef void predict(self, Py_ssize_t m) noexcept nogil:
        # the probabilities of one member
        cdef Py_ssize_t depth, j, k
        cdef double weight, most, total = 0
        self.probability[:] = 0
        for depth in range(self.length):
            weight = 0
            for j in range(SETS):
                weight += self.weights[self.rows[depth, j], m]
            for j in range(self.begin[depth], self.begin[depth + 1]):
                self.probability[self.label[j]] += weight * self.value[j]
        most = self.probability[0]
        for k in range(1, self.n_classes):
            most = max(most, self.probability[k])
        for k in range(self.n_classes):
            self.probability[k] = exp(self.probability[k] - most)
            total += self.probability[k]
        for k in range(self.n_classes):
            self.probability[k] /= total

    cdef void ascend(self, Py_ssize_t m, int32_t y, double step) noexcept nogil:
        # a step along the gradient of the log probability of y in the weights of a member
        cdef Py_ssize_t depth, j
        cdef double gradient
        for depth in range(self.length):
            gradient = 0
            for j in range(self.begin[depth], self.begin[depth + 1]):
                gradient += ((self.label[j] == y) - self.probability[self.label[j]]) * self.value[j]
            for j in range(SETS):
                self.weights[self.rows[depth, j], m] += step * gradient

    cdef void count(self, Py_ssize_t node, int32_t y) noexcept nogil:
        cdef Py_ssize_t entry = self.nodes[node, ENTRY]
        self.nodes[node, VISITS] += 1
        while entry and self.entries[entry, CLASS] != y:
            entry = self.entries[entry, NEXT]
        if entry == 0:
            entry = self.n_entries
            self.n_entries += 1
            self.entries[entry, CLASS], self.entries[entry, COUNT] = y, 0
            self.entries[entry, NEXT] = self.nodes[node, ENTRY]
            self.nodes[node, ENTRY] = entry
        self.entries[entry, COUNT] += 1

    cdef void visit(self, const int32_t[:, :] history, Py_ssize_t t, Py_ssize_t place,
                    int32_t y) noexcept nogil:
        # count y in the contexts of a history, and in one more, which is one state longer
        cdef Py_ssize_t depth = 0, last = self.order
        cdef int32_t node = 0, parent, state
        while depth <= last:
            if depth < self.lengths[place]:
                node = self.paths[place, depth]
            else:  # another sample of the block may have added it
                parent, state = node, history[t, history.shape[1] - depth]
                node = self.child(parent, state)
                if node == 0:
                    node, last = <int32_t> self.n_nodes, depth
                    self.n_nodes += 1
                    self.nodes[node, STATE], self.nodes[node, VISITS] = state, 0
                    self.nodes[node, CHILD], self.nodes[node, ENTRY] = 0, 0
                    self.nodes[node, SIBLING] = self.nodes[parent, CHILD]
                    self.nodes[parent, CHILD] = node
            self.count(node, y)
            depth += 1

    def learn(self, const int32_t[:, :] history, const int32_t[::1] response, double[::1] steps,
              double pace, double[::1] loss, Py_ssize_t t):
        """Learn from samples t, t + 1, ...; return the first one that there is no room for.

        history, response : (n, L >= order), (n,).  Member m has step steps[m] / (1 + t / pace).
        loss : (n,) minus the log of the mean probability of each response before it is learnt.
        """
        cdef Py_ssize_t n = response.shape[0], members = steps.shape[0], m, i, count
        cdef double mean
        with nogil:
            while t < n:
                count = min(self.block, n - t)
                if (self.n_nodes + count > self.nodes.shape[0]
                        or self.n_entries + count * (self.order + 2) > self.entries.shape[0]):
                    break
                self.walk(history, t, count)
                for i in range(count):
                    self.find(history, t + i, i)
                    mean = 0
                    for m in range(members):
                        self.predict(m)
                        mean += self.probability[response[t + i]] / members
                        self.ascend(m, response[t + i], steps[m] / (1 + (t + i) / pace))
                    loss[t + i] = -log(mean)
                for i in range(count):
                    self.visit(history, t + i, i, response[t + i])
                t += count
        return t

    def mean_probability(self, const int32_t[:, :] history, double[:, ::1] answer):
        """Fill `answer` (T, K) by the mean probabilities of all members; nothing is learnt."""
        cdef Py_ssize_t members = self.weights.shape[1], t, m, k
        with nogil:
            for t in range(history.shape[0]):
                if t % self.block == 0:
                    self.walk(history, t, min(self.block, history.shape[0] - t))
                self.find(history, t, t % self.block)
                answer[t, :] = 0
                for m in range(members):
                    self.predict(m)
                    for k in range(self.n_classes):
                        answer[t, k] += self.probability[k] / members
