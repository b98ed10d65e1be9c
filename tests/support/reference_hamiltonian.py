"""A slow, dense version of the trajectories of features and several classes, case by case.

The slopes of the energy are written in terms of coefficients and their widths, and spend the
kernel's random numbers; the test of the energy's slopes by differences is in test_hamiltonian.py.
"""

from dataclasses import dataclass

import numpy as np
from reference_logistic import NormalPosterior, standard_normal
from scipy import special

FIRST_STEP, TARGET, LIGHT = 0.2, 0.8, 0.1


def pull(model, coefficient):
    """Slopes of the log likelihood in eta, (S, N), and less its second derivatives."""
    eta = model.eta(coefficient)
    if isinstance(model, NormalPosterior):
        precision = np.exp(-2 * model.log_noise)
        return (model.response - eta) * precision, np.full(eta.shape, precision)
    p = special.softmax(eta, axis=0)
    seen = np.arange(model.n_classes)[:, None] == model.response
    sets = slice(1 if model.n_classes == 2 else 0, None)
    return (seen - p)[sets], (p * (1 - p))[sets]


@dataclass
class Place:
    """z and log sigmas of a trajectory, where a is `mixing`."""

    model: object
    mixing: np.ndarray
    z: np.ndarray
    log_sigma: np.ndarray
    sampled: bool

    @property
    def coefficient(self):
        return self.model.scale(self.log_sigma) * self.mixing * self.z

    def energy(self) -> float:
        """U: less the log density of z and of log sigmas, up to a constant."""
        model, result = self.model, (self.z**2).sum() / 2
        for o in range(1, model.order + 1) if self.sampled else ():
            result -= model.log_sigma_prior(o, self.log_sigma[o]) + self.log_sigma[o]
        return result - model.log_likelihood(self.coefficient)

    def slopes(self):
        """Of U in z and in log sigma_1, log sigma_2, ..."""
        model, scale = self.model, self.model.scale(self.log_sigma)
        f = pull(model, self.coefficient)[0] @ model.design
        of_sigma = np.zeros(model.order)
        for o in range(1, model.order + 1) if self.sampled else ():
            power = np.exp((1 if model.cauchy else 2) * self.log_sigma[o])
            share = model.counts[:, o] * power / (scale if model.cauchy else scale**2)
            of_sigma[o - 1] = model.shape - model.rate(o) * np.exp(-self.log_sigma[o])
            of_sigma[o - 1] -= (f * self.coefficient * share).sum()
        return self.z - scale * self.mixing * f, of_sigma


class Tuned:
    """What a chain learns from so many trajectories."""

    def __init__(self, model, sets, learning):
        self.learning, self.done, self.step = learning, 1, FIRST_STEP
        orders = range(1, model.order + 1)
        mode = [model.rate(o) / (model.shape + 1) for o in orders]
        self.log_sigma = np.log(np.array(mode))
        self.square = np.full(model.order, float(len(model.design)))
        self.h = pull(model, np.zeros((sets, len(model.counts))))[1] @ model.design

    def learn(self, place, possible, accepted, probability):
        self.step *= np.exp((probability - TARGET) / (1 + self.done / 25))
        self.done += 1
        if not possible:
            return
        share = 2 / (self.done + 19)
        if accepted and place.sampled:
            self.log_sigma += share * (place.log_sigma[1:] - self.log_sigma)
            self.square += share * (place.slopes()[1] ** 2 - self.square)
        h = pull(place.model, place.coefficient)[1] @ place.model.design
        self.h += share * (h - self.h)


@np.errstate(all="ignore")
def move_hamiltonian(model, coefficient, log_sigma, sampled, tuned, steps, rng) -> int:
    """One trajectory; returns its steps.  One that overflows is not accepted."""
    averages = np.append(log_sigma[0], tuned.log_sigma if sampled else log_sigma[1:])
    wide, narrow = model.scale(averages), model.scale(log_sigma)
    mixing, noise = np.ones_like(coefficient), np.empty_like(coefficient)
    for g, k in np.ndindex(coefficient.T.shape):
        if model.cauchy:
            ratio = coefficient[k, g] / narrow[g]
            mixing[k, g] = np.sqrt((1 + ratio * ratio) / (-2 * np.log(1 - rng.random())))
        noise[k, g] = standard_normal(rng)
    mass = 1 + tuned.h * (wide * mixing) ** 2
    sigma_mass = np.maximum(model.shape, LIGHT * tuned.square)
    p = noise * np.sqrt(mass)
    q = np.array([standard_normal(rng) if sampled else 0.0 for _ in sigma_mass])
    q *= np.sqrt(sigma_mass)
    place = Place(model, mixing, coefficient / narrow / mixing, log_sigma.copy(), sampled)

    def total():
        return place.energy() + (p * p / mass).sum() / 2 + (q * q / sigma_mass).sum() / 2

    learns = tuned.done <= tuned.learning
    if learns:
        steps = min(steps, 10 + int(2 * steps * tuned.done / tuned.learning))
    step = tuned.step * np.exp(-(rng.random() ** 2))
    before = total()
    for _ in range(steps):
        for half in (True, False):
            slope, of_sigma = place.slopes()
            p = p - step / 2 * slope
            q = q - step / 2 * of_sigma * sampled
            if half:
                place.z = place.z + step * p / mass
                place.log_sigma[1:] += step * q / sigma_mass
    change = before - total()
    possible = np.abs(place.log_sigma[1:]).max(initial=0) <= 80 and not np.isnan(change)
    accepted = possible and np.log(1 - rng.random()) <= change
    if accepted:
        coefficient[:], log_sigma[:] = place.coefficient, place.log_sigma
    if learns:
        tuned.learn(place, possible, accepted, np.exp(min(change, 0)) if possible else 0)
    return steps
