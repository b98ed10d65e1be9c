"""Contexts of all lengths with counts of what followed, and the weights that mix them.

A context is the last d states of a history; it is a node below that of its last d - 1 states.  A
node is a row of `nodes`: its first child, its next sibling, the state that it adds, its first
entry, and its visits.  An entry is a row of `entries`: a class, how often it followed, and the next
entry.  Row 0 of `nodes` is the empty context, row 0 of `entries` is unused, and 0 ends a list.  A
child comes after its parent and before its older siblings in the list, an entry before older ones.

Weights have a row for each depth and kind of a node: once by the longest context with `enough`
visits, once by the last state (its number of states where it is unknown or there is none).  A
weight is the sum of both.  Columns are members, which learn with different steps and are averaged.
"""

import numpy as np

from libc.math cimport exp, log, log1p
from libc.stdint cimport int32_t

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

NODE, ENTRY_WIDTH = VISITS + 1, NEXT + 1  # columns of `nodes` and `entries`


def n_weights(Py_ssize_t order, Py_ssize_t n_states):
    """Return the weights of a member by lengths of contexts, and how many it has in all."""
    cdef Py_ssize_t of_each = (order + 1) * KINDS
    return (order + 1) * of_each, (order + 1 + n_states + 1) * of_each


cdef class Mixer:
    """A tree of contexts with its weights.

    nodes, entries : (N, 5), (E, 3) with n_nodes, n_entries rows in use; more rows may be put in
        their place before they are full.
    weights : (W, M), as many as n_weights returns.
    n_logs : of counts below it log(1 + n_classes count) is kept, which saves time.
    """

    cdef public Py_ssize_t n_nodes, n_entries
    cdef int32_t[:, ::1] nodes, entries
    cdef double[:, ::1] weights
    cdef double[::1] logs, value, probability
    cdef Py_ssize_t[::1] path, begin, first, second
    cdef int32_t[::1] label
    cdef Py_ssize_t order, n_states, n_classes, enough, length

    def __init__(self, Py_ssize_t order, Py_ssize_t n_states, Py_ssize_t n_classes,
                 Py_ssize_t enough, double[:, ::1] weights, Py_ssize_t n_logs):
        self.order, self.n_states, self.n_classes = order, n_states, n_classes
        self.enough, self.weights = enough, weights
        self.logs = np.log1p(<double> n_classes * np.arange(n_logs))
        self.path, self.begin = (np.empty(order + 2, dtype=np.intp) for _ in range(2))
        self.first, self.second = (np.empty(order + 1, dtype=np.intp) for _ in range(2))
        self.value = np.empty((order + 1) * n_classes)
        self.label = np.empty((order + 1) * n_classes, dtype=np.int32)
        self.probability = np.empty(n_classes)
        self.n_nodes = self.n_entries = 1

    def hold(self, int32_t[:, ::1] nodes, int32_t[:, ::1] entries):
        """Use these arrays, which begin with the rows that are in use."""
        self.nodes, self.entries = nodes, entries

    cdef void find(self, const int32_t[:, :] history, Py_ssize_t t) noexcept nogil:
        # the path of a history, and for each of its nodes the inputs and the rows of weights
        cdef Py_ssize_t last = history.shape[1] - 1, depth, node = 0, entry, size, used = 0
        cdef Py_ssize_t longest = 0, by_state, row, k, visits
        cdef int32_t state = self.n_states, count
        self.length = 0
        for depth in range(self.order + 1):
            if depth:
                state = history[t, last + 1 - depth]
                node = self.nodes[node, CHILD]
                while node and self.nodes[node, STATE] != state:
                    node = self.nodes[node, SIBLING]
                if node == 0:
                    break
            self.path[depth] = node
            if self.nodes[node, VISITS] >= self.enough:
                longest = depth
            self.length += 1
        by_state = self.n_states
        if self.order and 0 <= history[t, last] < self.n_states:
            by_state = history[t, last]
        for depth in range(self.length):
            node = self.path[depth]
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
            self.first[depth] = longest * (self.order + 1) * KINDS + row
            self.second[depth] = (self.order + 1 + by_state) * (self.order + 1) * KINDS + row
        self.begin[self.length] = used

    cdef void predict(self, Py_ssize_t m) noexcept nogil:
        # the probabilities of one member
        cdef Py_ssize_t depth, j, k
        cdef double weight, most, total = 0
        self.probability[:] = 0
        for depth in range(self.length):
            weight = self.weights[self.first[depth], m] + self.weights[self.second[depth], m]
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
            self.weights[self.first[depth], m] += step * gradient
            self.weights[self.second[depth], m] += step * gradient

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

    cdef void visit(self, const int32_t[:, :] history, Py_ssize_t t, int32_t y) noexcept nogil:
        # count y in the contexts of a history, and in one more, which is one state longer
        cdef Py_ssize_t depth, node, parent
        for depth in range(self.length):
            self.count(self.path[depth], y)
        if self.length <= self.order:
            parent, node = self.path[self.length - 1], self.n_nodes
            self.n_nodes += 1
            self.nodes[node, CHILD], self.nodes[node, ENTRY], self.nodes[node, VISITS] = 0, 0, 0
            self.nodes[node, STATE] = history[t, history.shape[1] - self.length]
            self.nodes[node, SIBLING] = self.nodes[parent, CHILD]
            self.nodes[parent, CHILD] = node
            self.count(node, y)

    def learn(self, const int32_t[:, :] history, const int32_t[::1] response, double[::1] steps,
              double pace, double[::1] loss, Py_ssize_t t):
        """Learn from samples t, t + 1, ...; return the first one that there is no room for.

        history, response : (n, L >= order), (n,).  Member m has step steps[m] / (1 + t / pace).
        loss : (n,) minus the log of the mean probability of each response before it is learnt.
        """
        cdef Py_ssize_t n = response.shape[0], members = steps.shape[0], m
        cdef double mean
        with nogil:
            while (t < n and self.n_nodes < self.nodes.shape[0]
                   and self.n_entries + self.order + 2 <= self.entries.shape[0]):
                self.find(history, t)
                mean = 0
                for m in range(members):
                    self.predict(m)
                    mean += self.probability[response[t]] / members
                    self.ascend(m, response[t], steps[m] / (1 + t / pace))
                loss[t] = -log(mean)
                self.visit(history, t, response[t])
                t += 1
        return t

    def mean_probability(self, const int32_t[:, :] history, double[:, ::1] answer):
        """Fill `answer` (T, K) by the mean probabilities of all members; nothing is learnt."""
        cdef Py_ssize_t members = self.weights.shape[1], t, m, k
        with nogil:
            for t in range(history.shape[0]):
                self.find(history, t)
                answer[t, :] = 0
                for m in range(members):
                    self.predict(m)
                    for k in range(self.n_classes):
                        answer[t, k] += self.probability[k] / members
