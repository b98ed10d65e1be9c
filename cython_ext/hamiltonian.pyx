"""All coefficients and all sigmas together, along Hamiltonian trajectories.

Where the data are nearly separable, the posterior is a long ridge: larger sigmas go with larger
coefficients.  Single updates walk along it in small steps; a trajectory follows it.

A coefficient is s_gk = w_g a_gk z_gk.  Given a, z_gk is standard normal before the data:

    Cauchy    a_gk^2 is Inverse-Gamma(1/2, 1/2), and is drawn given s_gk before each trajectory;
              given s_gk it is (1 + s_gk^2 / w_g^2) / 2 divided by an exponential variable;
    Gaussian  a_gk = 1, and w_g is the square root of the variance.

The trajectory moves z and the free log sigmas, whose prior is that of linear.pyx:

    U(z, log sigma) = - log likelihood + sum z^2 / 2 + sum_o (alpha log sigma_o + rate_o / sigma_o)

with kinetic energy sum of p^2 / (2 m).  The slope of U in z_gk is z_gk - w_g a_gk f_gk, where f_gk
is the sum over the rows of group g of the slope of the log likelihood in eta_rk; that in log
sigma_o is alpha - rate_o / sigma_o less the sum of f_gk s_gk (d log w_g / d log sigma_o).
m is about the second derivative of U: for z_gk 1 + a_gk^2 h_gk w_g^2, where h_gk is less the sum of
the second derivatives of the log likelihood over the rows of g; for log sigma_o the squared slope,
which has the same expectation.  h w^2 and the squares are averages over the first trajectories
(Neal 2011, "MCMC using Hamiltonian dynamics").

Far out on the ridge, masses of ordinary places do not fit, and trajectories are not accepted.
Before each of them, therefore, all free sigmas are multiplied by one number c, and all coefficients
but that of the pattern of order 0, whose sigma is given.  c is drawn by slice sampling of log c.
The priors of these coefficients given sigmas, times the change of volume, stay what they are, so
that the density is that of the coefficient of order 0 times the exponential of

    log likelihood - sum_o (alpha log(c sigma_o) + rate_o / (c sigma_o))
"""

from libc.math cimport exp, fabs, log, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

import numpy as np

from _draws cimport generator, standard_normal, uniform
from _scales cimport SCALE_STEP, WIDEST
from _slice cimport slice_update
from _trajectory cimport fill_values, gather, go_down, go_up, move_all
from thesiskit._kernels.tree cimport Tree

cdef enum:
    STEPS = 150  # of a trajectory
    BLOCK = 1024  # rows of a tree whose groups move while they are in a processor's cache
    COUNT = 0  # places of `tuning`: trajectories so far, log step; then averages of squared
    STEP = 1  # slopes in log sigmas, by order; then of h w^2 (G, S)
    AVERAGES = 2

cdef double FIRST_STEP = 0.2
cdef double TARGET = 0.8  # share of trajectories that are accepted
# Sigmas may oscillate three times as fast as coefficients: there are few of them, so the error of
# a step is that of the coefficients, and along the ridge sigmas have far to go.
cdef double LIGHT = 0.1


def untuned(Py_ssize_t sets, Py_ssize_t groups, Py_ssize_t order):
    """Return what a chain has learned before it begins: nothing.

    These are the number of trajectories from which it has learned, and the log of the step;
    averages of the squared slopes in log sigmas, by order, and of h w^2, by group.
    """
    return np.zeros(AVERAGES + order + 1 + groups * sets)


cdef class Lists:
    """The rows of each group, or the groups of each row, in the order of how many they are.

    Where one list is about as long as the last, a processor guesses where it ends.

    begin, end (L,) and members (.) are the lists as they were.
    """

    def __init__(self, const Py_ssize_t[::1] begin, const Py_ssize_t[::1] end,
                 const int32_t[::1] members):
        cdef Py_ssize_t i, j, at = 0
        length = np.subtract(end, begin)
        self.of = np.argsort(length, kind="stable").astype(np.int32)
        self.begin = np.zeros(len(length) + 1, dtype=np.intp)
        self.members = np.empty(length.sum(), dtype=np.int32)
        for i in range(self.of.shape[0]):
            for j in range(begin[self.of[i]], end[self.of[i]]):
                self.members[at] = members[j]
                at += 1
            self.begin[i + 1] = at

    cdef void add_up(self, double *values, double *to, Py_ssize_t sets) noexcept nogil:
        # sums of values of the members, rows of `sets` numbers
        gather(values, to, &self.of[0], &self.begin[0], &self.members[0], self.of.shape[0], sets)


def lists(const Py_ssize_t[::1] begin, const Py_ssize_t[::1] end, const int32_t[::1] members,
          Py_ssize_t rows):
    """Return Lists of the rows of each group, and of the groups of each row."""
    cdef Py_ssize_t g, i, r
    cdef Py_ssize_t[::1] first = np.zeros(rows + 1, dtype=np.intp), last
    cdef int32_t[::1] groups
    for g in range(begin.shape[0]):
        for i in range(begin[g], end[g]):
            first[members[i] + 1] += 1
    for r in range(rows):
        first[r + 1] += first[r]
    last, groups = first[:rows].copy(), np.empty(first[rows], dtype=np.int32)
    for g in range(begin.shape[0]):
        for i in range(begin[g], end[g]):
            r = members[i]
            groups[last[r]] = g
            last[r] += 1
    return Lists(begin, end, members), Lists(first[:rows], last, groups)


cdef struct Stretch:
    # what the density of log c depends on
    void *sampler
    double log_density
    int64_t evaluations


cdef bint inside_stretch(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Stretch *c = <Stretch *> context
    c.evaluations += 1
    return (<Hamiltonian> c.sampler).log_stretched(x) - c.log_density >= log_u


cdef class Hamiltonian(Tree):
    """One chain; where `moves` is "hamiltonian", it moves along trajectories, and else as Tree.

    tuning : as `untuned` gives it, changed in place; None for a sampler that does not learn.
    """

    def __init__(self, layout, settings, double[:, ::1] coefficient, double[::1] log_sigma,
                 str moves, tuning=None):
        super().__init__(layout, settings, coefficient, log_sigma, moves, tuning)
        cdef Py_ssize_t S = coefficient.shape[0], G = coefficient.shape[1]
        cdef Py_ssize_t R = self.weight.shape[0], orders = log_sigma.shape[0]
        self.steps, self.block = STEPS, BLOCK
        self.sets = 4 * ((S + 3) // 4) if S > 1 else 1
        self.by_trajectories = moves == "hamiltonian"
        if not self.by_trajectories:
            return
        self.learning = 0 if tuning is None else settings.learning * settings.joint_updates
        self.tuning = untuned(S, G, orders - 1) if tuning is None else tuning
        self.usual_square = self.tuning[AVERAGES : AVERAGES + orders]
        self.usual_stiffness = self.tuning[AVERAGES + orders :]
        self.orders = orders if self.sigma_free else 0
        self.level, self.force, self.stiffness = np.zeros((3, R, self.sets))
        self.position, self.momentum, self.spread = np.zeros((3, G, self.sets))
        self.easy, self.slopes = np.zeros((2, G, self.sets))
        self.pulled = np.empty(G)
        self.width, self.pull = np.empty((2, self.kinds.shape[0]))
        self.scale_momentum, self.scale_slope, self.scale_mass, self.old_log_sigma = np.zeros(
            (4, orders))
        self.fixed = np.flatnonzero(np.asarray(self.kinds)[np.asarray(self.kind), 0])
        self.by_blocks = self.parent.shape[0] > 0 and self.sets > 1
        if not self.by_blocks:
            self.value = np.empty((G, self.sets))
            self.rows_of_groups, self.groups_of_rows = layout.lists
        self.prepare_steps()

    def prepare_steps(self):
        # what the loops of _trajectory.pxd work on
        cdef Moving *t = &self.moving
        t.z, t.p, t.easy = &self.position[0, 0], &self.momentum[0, 0], &self.easy[0, 0]
        t.a, t.width, t.kind = &self.spread[0, 0], &self.width[0], &self.kind[0]
        t.eta, t.force, t.pulled = &self.eta[0, 0], &self.force[0, 0], &self.pulled[0]
        t.rows, t.classes, t.sets = self.eta.shape[1], self.eta.shape[0], self.sets
        if self.by_blocks:  # a group's depth is the number of those before it that go on
            ended = np.searchsorted(np.sort(self.end), self.begin, "right")
            self.depth = np.subtract(np.arange(len(ended)), ended).astype(np.int32)
            above = np.asarray(self.depth)[np.maximum(self.parent, 0)]
            assert (above[1:] + 1 == self.depth[1:]).all() and (np.diff(self.owner) > 0).all()
            self.route = np.zeros((2, np.max(self.depth) + 2, self.sets))
            t.parent, t.owner, t.depth = &self.parent[0], &self.owner[0], &self.depth[0]
            t.path, t.slope = &self.route[0, 0, 0], &self.route[1, 0, 0]

    # ---- what the likelihood does ----

    cdef void fill_force(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        # slopes of the log likelihood in eta of these rows
        pass

    cdef void fill_stiffness(self) noexcept nogil:
        # and less its second derivatives
        pass

    # ---- sums over groups and over rows ----

    cdef void sum_rows(self, double[:, ::1] of_rows) noexcept nogil:
        # `slopes`, sums over the rows of groups
        cdef Py_ssize_t g, k, r, P = self.sets, a
        if not self.by_blocks:
            self.rows_of_groups.add_up(&of_rows[0, 0], &self.slopes[0, 0], P)
            return
        self.slopes[:, :] = 0
        for r in range(of_rows.shape[0]):
            a = self.owner[r]
            for k in range(P):
                self.slopes[a, k] += of_rows[r, k]
        for g in range(self.slopes.shape[0] - 1, 0, -1):
            a = self.parent[g]
            for k in range(P):
                self.slopes[a, k] += self.slopes[g, k]

    # ---- along the ridge ----

    cdef double log_stretched(self, double x) noexcept nogil:
        # log density of c = exp(x); eta becomes `force` + c `level`
        cdef Py_ssize_t i, o, k, r, g, j
        cdef double c = exp(x), y, s, w, result = 0
        for o in range(1, self.orders):
            y = self.log_sigma[o] + x
            if fabs(y) > WIDEST:
                return -1e308
            result -= self.sigma_shape * y + self.sigma_rate[o] * exp(-y)
        for i in range(self.fixed.shape[0]):
            g = self.fixed[i]
            j = self.kind[g]
            w = self.kinds[j, 0] * self.power[0]
            for o in range(1, self.orders):
                w += self.kinds[j, o] * self.power[o] * (c if self.cauchy else c * c)
            for k in range(self.eta.shape[0]):
                s = self.coefficient[k, g]
                result += log(w / (w * w + s * s)) if self.cauchy else -(log(w) + s * s / w) / 2
        for r in range(self.eta.shape[1]):
            for k in range(self.eta.shape[0]):
                self.eta[k, r] = self.force[r, k] + c * self.level[r, k]
        self.refresh_likelihood()
        result += self.log_likelihood
        return result if result == result else -1e308

    cdef void stretch(self, bitgen_t *bitgen) noexcept nogil:
        # `force` takes what stays of eta, and `level` the rest
        cdef Stretch context
        cdef Py_ssize_t g, i, j, k, o, r
        cdef double x, c
        self.refresh_rows()
        self.force[:, :] = 0
        for k in range(self.eta.shape[0]):
            for i in range(self.fixed.shape[0]):
                g = self.fixed[i]
                for j in range(self.end[g] - self.begin[g]):
                    self.force[self.row(g, j), k] += self.coefficient[k, g]
            for r in range(self.level.shape[0]):
                self.level[r, k] = self.eta[k, r] - self.force[r, k]
        context.sampler, context.evaluations = <void *> self, 1
        context.log_density = self.log_stretched(0)
        x = slice_update(inside_stretch, &context, 0, SCALE_STEP, self.most_steps, bitgen)
        self.width_evaluations += context.evaluations
        c = exp(x)
        for g in range(self.coefficient.shape[1]):
            if self.kinds[self.kind[g], 0] == 0:
                for k in range(self.eta.shape[0]):
                    self.coefficient[k, g] *= c
        for o in range(1, self.orders):
            self.log_sigma[o] += x
        self.refresh_widths()

    # ---- a trajectory ----

    cdef void fill_widths(self) noexcept nogil:
        # w of kinds from the sigmas
        cdef Py_ssize_t c
        self.refresh_widths()
        for c in range(self.kinds.shape[0]):
            self.width[c] = self.size_of_kind[c] if self.cauchy else sqrt(self.size_of_kind[c])

    cdef void begin_trajectory(self, bitgen_t *bitgen) noexcept nogil:
        # a, z, masses and momenta
        cdef Py_ssize_t g, k, o, S = self.eta.shape[0]
        cdef double s, w, a, z, m
        self.old_log_sigma[:] = self.log_sigma
        self.position[:, :] = 0  # of columns that are no set, too, after overflow
        self.momentum[:, :] = 0
        self.fill_widths()
        for g in range(self.position.shape[0]):
            w = self.width[self.kind[g]]
            for k in range(S):
                s = self.coefficient[k, g]
                z, a = s / w, 1
                if self.cauchy:
                    a = sqrt((1 + z * z) / (-2 * log(uniform(bitgen))))
                    z /= a
                self.spread[g, k], self.position[g, k] = a, z
                m = 1 + self.usual_stiffness[g * S + k] * a * a
                self.easy[g, k] = 1 / m
                self.momentum[g, k] = standard_normal(bitgen) * sqrt(m)
        for o in range(1, self.orders):
            self.scale_mass[o] = max(self.sigma_shape, LIGHT * self.usual_square[o])
            self.scale_momentum[o] = standard_normal(bitgen) * sqrt(self.scale_mass[o])
        self.fill_widths()

    cdef void leap(self, double kick, double drift) noexcept nogil:
        # eta and force; from them what pulls; momenta, and after them positions, move on
        cdef Py_ssize_t R = self.eta.shape[1], k, r
        if self.by_blocks:
            self.route[1, 0, :] = 0
            for k in range((R - 1) // self.block, -1, -1):
                r = min(self.block * (k + 1), R)
                go_down(&self.moving, self.block * k, r)
                self.fill_force(self.block * k, r)
                go_up(&self.moving, self.block * k, r, kick, drift)
        else:
            fill_values(&self.moving, self.value.shape[0], &self.value[0, 0])
            self.groups_of_rows.add_up(&self.value[0, 0], &self.level[0, 0], self.sets)
            for r in range(R):
                for k in range(self.eta.shape[0]):
                    self.eta[k, r] = self.level[r, k]
            self.fill_force(0, R)
            self.sum_rows(self.force)
            move_all(&self.moving, self.value.shape[0], &self.slopes[0, 0], kick, drift)
        self.move_sigmas(kick, drift)

    cdef void move_sigmas(self, double kick, double drift) noexcept nogil:
        # momenta of log sigmas, and after them log sigmas; widths
        cdef Py_ssize_t c, o, j
        cdef double t
        for c in range(self.kinds.shape[0]):
            t = 0
            for j in range(self.kind_begin[c], self.kind_begin[c + 1]):
                t += self.pulled[self.by_kind[j]]
            self.pull[c] = t
        for o in range(1, self.orders):
            t = 0
            for j in range(self.order_begin[o], self.order_begin[o + 1]):
                c = self.order_kind[j]
                t += self.pull[c] * self.kinds[c, o] / self.size_of_kind[c]
            self.scale_slope[o] = (self.sigma_shape - self.sigma_rate[o] * exp(-self.log_sigma[o])
                                   - t * self.power[o])
            self.scale_momentum[o] -= kick * self.scale_slope[o]
            self.log_sigma[o] += drift * self.scale_momentum[o] / self.scale_mass[o]
        self.fill_widths()

    cdef double energy(self) noexcept nogil:
        # U + kinetic energy; the log likelihood becomes that of eta
        cdef Py_ssize_t g, k, o
        cdef double result = 0, p
        self.refresh_likelihood()
        for g in range(self.position.shape[0]):
            for k in range(self.sets):
                p = self.momentum[g, k]
                result += self.position[g, k] * self.position[g, k] + p * p * self.easy[g, k]
        for o in range(1, self.orders):
            p = self.scale_momentum[o]
            result += p * p / self.scale_mass[o]
            result += 2 * (self.sigma_shape * self.log_sigma[o]
                           + self.sigma_rate[o] * exp(-self.log_sigma[o]))
        return result / 2 - self.log_likelihood

    cdef void average_stiffness(self, double share) noexcept nogil:
        # averages, in which the place where a trajectory ended has this share
        cdef Py_ssize_t g, k, S = self.eta.shape[0]
        cdef double w
        cdef double *x
        self.fill_stiffness()
        self.sum_rows(self.stiffness)
        for g in range(self.slopes.shape[0]):
            w = self.width[self.kind[g]]
            for k in range(S):
                x = &self.usual_stiffness[g * S + k]
                x[0] += share * (self.slopes[g, k] * w * w - x[0])

    cdef void begin_learning(self) noexcept nogil:
        # what is known of any data: rows are nowhere stiffer than where linear functions are 0;
        # sigmas are at the mode of their prior, for masses must not depend on where the chain is
        cdef Py_ssize_t o, r
        cdef double cases = 0
        self.old_log_sigma[:] = self.log_sigma
        for r in range(self.weight.shape[0]):
            cases += self.weight[r]
        for o in range(1, self.orders):
            self.log_sigma[o] = log(self.sigma_rate[o] / (self.sigma_shape + 1))
            self.usual_square[o] = cases
        self.fill_widths()
        self.eta[:, :] = 0
        self.fill_force(0, self.eta.shape[1])
        self.average_stiffness(1)
        self.log_sigma[:] = self.old_log_sigma
        self.refresh_widths()
        self.tuning[STEP] = log(FIRST_STEP)
        self.tuning[COUNT] = 1

    cdef void move_together(self, bitgen_t *bitgen) noexcept nogil:
        cdef Py_ssize_t _i, steps = self.steps, g, k, o
        cdef double before, change, step, share, u
        cdef bint possible = True, accepted, learns
        if self.by_passes:
            Tree.move_together(self, bitgen)
            return
        if self.tuning[COUNT] == 0:
            self.begin_learning()
        if self.orders:
            self.stretch(bitgen)
        learns = self.tuning[COUNT] <= self.learning
        if learns:  # short trajectories, until steps and masses are about right
            steps = min(steps, 10 + <Py_ssize_t> (2 * steps * self.tuning[COUNT] / self.learning))
        self.begin_trajectory(bitgen)
        u = bitgen.next_double(bitgen.state)
        step = exp(self.tuning[STEP] - u * u)  # some steps are shorter: not all places are alike
        self.leap(0, 0)
        before = self.energy()
        self.leap(step / 2, step)
        for _i in range(1, steps):
            self.leap(step, step)
        self.leap(step / 2, 0)
        change = before - self.energy()
        for o in range(1, self.log_sigma.shape[0]):
            possible = possible and fabs(self.log_sigma[o]) <= WIDEST
        possible = possible and change == change  # a number
        accepted = possible and log(uniform(bitgen)) <= change
        self.width_evaluations += steps
        if accepted:
            for g in range(self.position.shape[0]):
                for k in range(self.eta.shape[0]):
                    self.coefficient[k, g] = (self.width[self.kind[g]] * self.spread[g, k]
                                              * self.position[g, k])
        if learns:
            self.tuning[STEP] += (((1 if change > 0 else exp(change)) if possible else 0)
                                  - TARGET) / (1 + self.tuning[COUNT] / 25)
            share = 2 / (self.tuning[COUNT] + 20)
            if accepted:
                for o in range(1, self.orders):
                    self.usual_square[o] += share * (self.scale_slope[o] * self.scale_slope[o]
                                                     - self.usual_square[o])
            if possible:
                self.average_stiffness(share)
            self.tuning[COUNT] += 1
        if not accepted:
            self.log_sigma[:] = self.old_log_sigma
            self.refresh_widths()

    def sweep_together(self, capsule):
        """Stretch all that is free, and move it along a trajectory."""
        assert self.by_trajectories
        cdef bitgen_t *bitgen = generator(capsule)
        with nogil:
            self.move_together(bitgen)
            self.refresh_rows()
            self.refresh_widths()
