"""Sequences: all coefficients at once, and the widths with the coefficients integrated out.

Groups of sequences are the nodes of a tree: a row's linear function is the sum of the coefficients
on its path from the root.  Given normal observations of the rows and normal priors, the passes of
_forest.pxd integrate out all coefficients, and draw them, in time proportional to their number.

Normal responses are such observations.  For classes they are given Polya-Gamma variables
(_polya_gamma.pxd): row r of n_r cases, y_r of them of the second class, with omega_r ~ PG(n_r,
eta_r), multiplies the density by exp((y_r - n_r / 2) eta_r - omega_r eta_r^2 / 2).  Gaussian priors
are normal with variance v_g; Cauchy priors, of width w_g, are given lambda_g:

    s_g | lambda_g ~ N(0, w_g^2 lambda_g),  lambda_g ~ Inverse-Gamma(1/2, 1/2),
    lambda_g | s_g ~ Inverse-Gamma(1, (1 + s_g^2 / w_g^2) / 2).

A round draws omega and lambda, then moves all log sigmas by one trajectory of Hamiltonian dynamics
(Neal 2011, "MCMC using Hamiltonian dynamics", section 5.3) with the coefficients integrated out,
and then draws all coefficients.  At last all log sigmas move by one number d, with s_g / w_g fixed,
by slice sampling given the responses themselves: where the data are nearly separable, scales are
hardly bounded, and given omega, which follows eta, they would move little.

The step is learned in the first rounds of a chain, for most trajectories to be accepted; and the
masses, from the slopes of the log density, whose mean squares are in equilibrium its mean
curvatures.  A sigma that the data know well may be near 0 as well, over a wide range, so that
masses are less than its curvature where it is known.  What is learned is part of a chain's state.
"""

from libc.math cimport exp, fabs, floor, log, sqrt
from numpy.random cimport bitgen_t

import numpy as np

from _draws cimport generator, standard_normal, uniform
from _forest cimport Node, pass_draw, pass_slopes, pass_up
from _scales cimport SCALE_STEP, WIDEST
from _slice cimport slice_update
from thesiskit._kernels.linear cimport Linear, Width

cdef enum:
    ROUND = 3  # rounds of a move: each costs about half as much as an update of all coefficients
    STEPS = 12  # most steps of a trajectory
    MASSES = 2  # where they begin in `tuning`

ROUNDS = ROUND

cdef double FIRST_STEP = 0.3
cdef double ACCEPTED = 0.8  # the part of trajectories that the step is learned for
cdef double LEAST = 1e-17  # of exponential variables: the logarithm of 1 is 0
cdef double SHARE = 0.3  # of the squared mean slopes that is added to masses of 1


def untuned(Py_ssize_t order):
    """Return what the sampler learns, (2 order + 2,), as it begins.

    These are the rounds from which it has learned; the log of the step; masses of log sigma_1,
    sigma_2, ...; and the mean sizes of slopes in their directions.
    """
    tuning = np.ones(2 * order + MASSES)
    tuning[:MASSES] = 0, np.log(FIRST_STEP)
    return tuning


cdef bint inside_shift(void *context, double x, double u, double log_u) noexcept nogil:
    cdef Width *c = <Width *> context
    c.evaluations += 1
    return (<Tree> c.sampler).log_shift_density(x) - c.log_density >= log_u


cdef class Tree(Linear):
    """One chain; where `moves` is "tree", with one set of coefficients and groups that are a tree,
    its coefficients and widths also move together.

    tuning : as `untuned` gives it, changed in place; None for a sampler that does not learn.
    """

    def __init__(self, layout, settings, double[:, ::1] coefficient, double[::1] log_sigma,
                 str moves, tuning=None):
        cdef Py_ssize_t order = log_sigma.shape[0] - 1, G = coefficient.shape[1]
        super().__init__(layout, settings, coefficient, log_sigma)
        self.parent, self.owner = layout.parent, layout.owner
        self.by_passes = moves == "tree"
        if self.by_passes:
            self.learning = 0 if tuning is None else ROUND * settings.learning
            self.tuning = untuned(order) if tuning is None else tuning
            self.node = np.empty((G, sizeof(Node) // sizeof(double)))
            self.mixing = np.empty(G if self.cauchy else 0)
            self.slope = np.empty(self.kinds.shape[0])
            self.trial = np.empty(self.weight.shape[0])
            self.path = np.empty((4, order + 1))

    # ---- what the likelihood does ----

    cdef void observe(self, double *precision, double *linear, Py_ssize_t r,
                      bitgen_t *bitgen) noexcept nogil:
        # add to p and l what row r says: exp(-p eta^2 / 2 + l eta)
        pass

    cdef double log_trial(self) noexcept nogil:
        # log likelihood at `trial` instead of eta, up to a constant
        return 0

    # ---- the move ----

    cdef void move_together(self, bitgen_t *bitgen) noexcept nogil:
        cdef int _i
        for _i in range(ROUND):
            self.move_tree(bitgen)

    cdef void move_tree(self, bitgen_t *bitgen) noexcept nogil:
        self.observe_rows(bitgen)
        if self.cauchy:
            self.draw_mixing(bitgen)
        if self.sigma_free and self.log_sigma.shape[0] > 1:
            self.move_widths(bitgen)
        self.set_variances()
        self.draw_coefficients(bitgen)
        if self.sigma_free and self.log_sigma.shape[0] > 1:
            self.shift_widths(bitgen)

    cdef void observe_rows(self, bitgen_t *bitgen) noexcept nogil:
        cdef Node *node = <Node *> &self.node[0, 0]
        cdef Py_ssize_t g, r
        for g in range(self.parent.shape[0]):
            node[g].own_precision = node[g].own_linear = 0
        for r in range(self.owner.shape[0]):
            g = self.owner[r]
            self.observe(&node[g].own_precision, &node[g].own_linear, r, bitgen)

    cdef void draw_mixing(self, bitgen_t *bitgen) noexcept nogil:
        # lambda, as (1 + s^2 / w^2) / 2 over an exponential variable
        cdef Py_ssize_t g
        cdef double s
        for g in range(self.parent.shape[0]):
            s = self.coefficient[0, g] / self.size_of_kind[self.kind[g]]
            self.mixing[g] = (1 + s * s) / 2 / max(-log(uniform(bitgen)), LEAST)

    cdef void set_variances(self) noexcept nogil:
        # of all coefficients, from the widths, or variances, of kinds
        cdef Node *node = <Node *> &self.node[0, 0]
        cdef Py_ssize_t g
        cdef double w
        for g in range(self.parent.shape[0]):
            w = self.size_of_kind[self.kind[g]]
            node[g].variance = w * w * self.mixing[g] if self.cauchy else w

    cdef void draw_coefficients(self, bitgen_t *bitgen) noexcept nogil:
        cdef Node *node = <Node *> &self.node[0, 0]
        cdef Py_ssize_t r, size = self.parent.shape[0]
        pass_up(node, &self.parent[0], size, False)
        pass_draw(node, &self.parent[0], size, &self.coefficient[0, 0], bitgen)
        for r in range(self.owner.shape[0]):
            self.eta[0, r] = node[self.owner[r]].mean

    # ---- all widths together with all coefficients ----

    cdef void shift_widths(self, bitgen_t *bitgen) noexcept nogil:
        # all log sigmas move by d with s_g / w_g fixed, given the responses themselves
        cdef Width c
        cdef Py_ssize_t o, g
        cdef double d
        c.sampler, c.evaluations = <void *> self, 1
        c.log_density = self.log_shift_density(0)
        d = slice_update(inside_shift, &c, 0, SCALE_STEP, self.most_steps, bitgen)
        self.width_evaluations += c.evaluations
        self.log_shift_density(d)
        self.eta[0, :] = self.trial
        for g in range(self.parent.shape[0]):
            self.coefficient[0, g] *= self.slope[self.kind[g]]
        for o in range(1, self.log_sigma.shape[0]):
            self.log_sigma[o] += d
        self.refresh_widths()

    cdef double log_shift_density(self, double d) noexcept nogil:
        # log of the density of d, up to a constant; fills trial, and slope with ratios w' / w
        cdef Node *node = <Node *> &self.node[0, 0]
        cdef Py_ssize_t o, g, r, kind
        cdef double x, result = 0, power = exp((1 if self.cauchy else 2) * d), t
        for o in range(1, self.log_sigma.shape[0]):
            x = self.log_sigma[o] + d
            if fabs(x) > WIDEST:
                return -1e308
            result -= self.sigma_shape * x + self.sigma_rate[o] * exp(-x)
        # w' = c_0 sigma_0 + (w - c_0 sigma_0) exp(d)
        for kind in range(self.slope.shape[0]):
            x = self.kinds[kind, 0] * self.power[0]
            t = (x + (self.size_of_kind[kind] - x) * power) / self.size_of_kind[kind]
            self.slope[kind] = t if self.cauchy else sqrt(t)
        for g in range(self.parent.shape[0]):
            t = node[self.parent[g]].mean if self.parent[g] >= 0 else 0
            node[g].mean = t + self.coefficient[0, g] * self.slope[self.kind[g]]
        for r in range(self.owner.shape[0]):
            self.trial[r] = node[self.owner[r]].mean
        return result + self.log_trial()

    # ---- widths, with the coefficients integrated out ----

    cdef double log_marginal(self, double *gradient, bint density) noexcept nogil:
        # log density of the log sigmas in path[0], up to a constant, if it is asked for, and its
        # gradient: kind c has dv / dlog sigma_o = 2 c_o sigma_o^2, or 2 lambda w c_o sigma_o
        cdef Node *node = <Node *> &self.node[0, 0]
        cdef Py_ssize_t o, j, kind, size = self.parent.shape[0]
        cdef double result, x, sum_of_slopes
        self.size_of_kind[:] = 0
        for o in range(self.power.shape[0]):
            self.power[o] = exp((1 if self.cauchy else 2) * self.path[0, o])
            for j in range(self.order_begin[o], self.order_begin[o + 1]):
                kind = self.order_kind[j]
                self.size_of_kind[kind] += self.kinds[kind, o] * self.power[o]
        self.set_variances()
        result = pass_up(node, &self.parent[0], size, density)
        self.slope[:] = 0
        pass_slopes(node, &self.parent[0], size, &self.mixing[0] if self.cauchy else NULL,
                    &self.kind[0], &self.slope[0])
        if self.cauchy:
            for kind in range(self.slope.shape[0]):
                self.slope[kind] *= self.size_of_kind[kind]
        for o in range(1, self.power.shape[0]):
            x = self.path[0, o]
            sum_of_slopes = 0
            for j in range(self.order_begin[o], self.order_begin[o + 1]):
                kind = self.order_kind[j]
                sum_of_slopes += self.kinds[kind, o] * self.slope[kind]
            gradient[o] = (2 * self.power[o] * sum_of_slopes
                           - self.sigma_shape + self.sigma_rate[o] * exp(-x))
            result -= self.sigma_shape * x + self.sigma_rate[o] * exp(-x)
        return result

    cdef void move_widths(self, bitgen_t *bitgen) noexcept nogil:
        # path: where the trajectory is, its momentum and its gradient; the gradient to learn from
        cdef Py_ssize_t o, order = self.log_sigma.shape[0] - 1, steps
        cdef double here, energy = 0, accepted = 0, step, u
        self.path[0, :] = self.log_sigma
        here = self.log_marginal(&self.path[2, 0], True)
        self.path[3, :] = self.path[2]
        steps = 1 + <Py_ssize_t> (STEPS * bitgen.next_double(bitgen.state))
        step = exp(self.tuning[1]) * (0.75 + 0.5 * bitgen.next_double(bitgen.state))
        for o in range(1, order + 1):
            u = standard_normal(bitgen)
            self.path[1, o] = u * sqrt(self.tuning[MASSES + o - 1])
            energy += u * u / 2
        u = uniform(bitgen)
        if self.trajectory(steps, step):
            energy += self.log_marginal(&self.path[2, 0], True) - here
            for o in range(1, order + 1):
                self.path[1, o] += step / 2 * self.path[2, o]
                energy -= self.path[1, o] * self.path[1, o] / self.tuning[MASSES + o - 1] / 2
            if energy >= log(u):
                self.log_sigma[:] = self.path[0]
                self.path[3, :] = self.path[2]
            if energy == energy:  # else it went where numbers do not suffice, and is not accepted
                accepted = exp(min(energy, 0))
        self.width_evaluations += 1
        if self.tuning[0] < self.learning:
            self.learn(accepted)
        self.refresh_widths()

    cdef bint trajectory(self, Py_ssize_t steps, double step) noexcept nogil:
        # leapfrog steps up to the last place, of which the gradient and half a kick are left; false
        # if one is beyond the bounds, where the density is 0
        cdef Py_ssize_t i, o, order = self.log_sigma.shape[0] - 1
        for i in range(steps):
            if i > 0:
                self.log_marginal(&self.path[2, 0], False)
            self.width_evaluations += 1
            for o in range(1, order + 1):
                self.path[1, o] += (step if i > 0 else step / 2) * self.path[2, o]
                self.path[0, o] += step * self.path[1, o] / self.tuning[MASSES + o - 1]
            for o in range(1, order + 1):
                if not fabs(self.path[0, o]) <= WIDEST:
                    return False
        return True

    cdef void learn(self, double accepted) noexcept nogil:
        # the step, all the time; slopes, in the middle third, at whose end they make the masses
        cdef Py_ssize_t i, order = self.log_sigma.shape[0] - 1
        cdef double t = self.tuning[0] + 1, third = floor(self.learning / 3), since = t
        cdef double *mass = &self.tuning[MASSES]
        cdef double *slope = mass + order
        for i in range(order if third < t <= 2 * third else 0):
            slope[i] += (fabs(self.path[3, i + 1]) - slope[i]) / (t - third)
            if t == 2 * third:
                mass[i] = 1 + SHARE * slope[i] * slope[i]
        if t > 2 * third:
            since = t - 2 * third
        self.tuning[1] += (accepted - ACCEPTED) / sqrt(since)
        self.tuning[0] = t

    def sweep_tree(self, capsule):
        """Move all widths that are free, and all coefficients: one round."""
        assert self.by_passes
        cdef bitgen_t *bitgen = generator(capsule)
        with nogil:
            self.move_tree(bitgen)
            self.refresh_rows()
