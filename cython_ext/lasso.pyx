"""The path of the lasso for two classes, by Newton's method and coordinate descent."""

from libc.math cimport copysign, exp, fabs, log1p

import numpy as np

from _maths cimport dot

cdef enum:
    MOST_STEPS = 100  # of Newton's method for a strength
    MOST_SWEEPS = 1000  # of coordinate descent for a step
    MOST_HALVINGS = 30  # of a step

cdef double INNER = 0.1  # of the miss at the start of a step, at which its sweeps end
cdef double DESCENT = 0.01  # of what a step promises, that it must keep
cdef double LEAST_CURVATURE = 1e-12  # beside penalties of 1


cdef class Path:
    """The coefficients b (p,) that minimise, for a strength C of the data,

        F(b) = sum_j |b_j| + C sum_i [log(1 + exp(e_i)) - y_i e_i],  e_i = sum_j b_j x_ji.

    Step d of Newton's method minimises g' d + d' H d / 2 + sum_j |b_j + d_j|, g and H being the
    derivatives of the sum over i, one coefficient after the other.

    columns, response : x (p, n), and y (n,), 0 or 1.
    members (active,) : the coefficients that a step changes: not 0, or their slopes miss [-1, 1].
    """

    cdef const double[:, ::1] x
    cdef const double[::1] y
    cdef double[::1] b, d, e, slope, curvature, weight, tilt, along
    cdef Py_ssize_t[::1] members
    cdef Py_ssize_t active
    cdef double C

    def __init__(self, columns, response):
        p, n = columns.shape
        self.x, self.y = columns, response
        self.b, self.d, self.slope, self.curvature = np.zeros((4, p))
        self.e, self.weight, self.tilt, self.along = np.zeros((4, n))
        self.members = np.zeros(p, dtype=np.intp)

    def minimise(self, double strength, double tolerance):
        """Return the minimum b for a larger strength than before.

        tolerance : by how much a slope g_j may miss -sign(b_j), or [-1, 1] where b_j is 0.
        """
        cdef Py_ssize_t _step
        cdef double miss
        self.C = strength
        with nogil:
            for _step in range(MOST_STEPS):
                miss = self.differentiate()
                if miss <= tolerance:
                    break
                self.descend(max(INNER * miss, tolerance / 2))
                if not self.move():
                    break
        return np.array(self.b)

    cdef double differentiate(self) noexcept nogil:
        # slopes and curvatures; return how much the slope of any coefficient misses
        cdef Py_ssize_t n = self.y.shape[0], i, j
        cdef double p, miss, worst = 0
        for i in range(n):
            p = 1 / (1 + exp(-self.e[i]))
            self.weight[i] = self.C * p * (1 - p)
            self.tilt[i] = self.C * (p - self.y[i])
        self.active = 0
        for j in range(self.b.shape[0]):
            self.d[j] = 0
            self.slope[j] = dot(&self.x[j, 0], &self.tilt[0], n)
            miss = (fabs(self.slope[j] + copysign(1, self.b[j])) if self.b[j]
                    else fabs(self.slope[j]) - 1)
            worst = max(worst, miss)
            if self.b[j] != 0 or miss > 0:
                self.members[self.active] = j
                self.active += 1
                self.curvature[j] = LEAST_CURVATURE
                for i in range(n):
                    self.curvature[j] += self.weight[i] * self.x[j, i] * self.x[j, i]
        return worst

    cdef void descend(self, double tolerance) noexcept nogil:
        # the step d; tilt is W x' d
        cdef Py_ssize_t n = self.y.shape[0], _sweep, a, i, j
        cdef double slope, moved, target, worst
        cdef double *tilt = &self.tilt[0]
        cdef const double *weight = &self.weight[0]
        cdef const double *x
        self.tilt[:] = 0
        for _sweep in range(MOST_SWEEPS):
            worst = 0
            for a in range(self.active):
                j = self.members[a]
                x = &self.x[j, 0]
                slope = self.slope[j] + dot(x, tilt, n) + LEAST_CURVATURE * self.d[j]
                target = self.curvature[j] * (self.b[j] + self.d[j]) - slope
                target = copysign(max(fabs(target) - 1, 0), target) / self.curvature[j]
                moved = target - self.b[j] - self.d[j]
                if moved == 0:
                    continue
                worst = max(worst, fabs(moved) * self.curvature[j])
                self.d[j] += moved
                for i in range(n):
                    tilt[i] += moved * (weight[i] * x[i])
            if worst <= tolerance:
                return

    cdef bint move(self) noexcept nogil:
        # b by as much of the step as lowers F; return whether any did
        cdef Py_ssize_t n = self.y.shape[0], a, i, j, _halving
        cdef double length = 1, promised = 0, before = self.loss(0)
        self.along[:] = 0
        for a in range(self.active):
            j = self.members[a]
            promised += self.slope[j] * self.d[j] + fabs(self.b[j] + self.d[j]) - fabs(self.b[j])
            for i in range(n):
                self.along[i] += self.d[j] * self.x[j, i]
        for _halving in range(MOST_HALVINGS):
            if self.loss(length) <= before + DESCENT * length * promised:
                for a in range(self.active):
                    self.b[self.members[a]] += length * self.d[self.members[a]]
                for i in range(n):
                    self.e[i] += length * self.along[i]
                return True
            length /= 2
        return False

    cdef double loss(self, double length) noexcept nogil:
        # F after that length of the step
        cdef Py_ssize_t a, i, j
        cdef double e, total = 0
        for i in range(self.y.shape[0]):
            e = self.e[i] + length * self.along[i]
            total += max(e, 0) + log1p(exp(-fabs(e))) - self.y[i] * e
        total *= self.C
        for a in range(self.active):
            j = self.members[a]
            total += fabs(self.b[j] + length * self.d[j])
        return total
