"""A slow, dense version of the trajectories of features and several classes, sample by case.

The slopes of the energy are written in terms of coefficients and their widths, and spend the
kernel's random numbers; the test of the energy's slopes by differences is in test_hamiltonian.py.
"""

from dataclasses import dataclass

import numpy as np
from reference_logistic import NormalPosterior, slice_update, standard_normal
from scipy import special

from thesiskit.defaults import MOST_STEPS

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

    def __init__(self, learning):
        self.learning, self.done, self.step = learning, 0, FIRST_STEP

    def begin(self, model, sets, log_sigma, sampled):
        mode = np.log([model.rate(o) / (model.shape + 1) for o in range(1, model.order + 1)])
        self.done = 1
        self.square = np.full(model.order, float(len(model.design)))
        flat = np.zeros((sets, len(model.counts)))
        width = model.scale(np.append(log_sigma[0], mode if sampled else log_sigma[1:]))
        self.stiffness = pull(model, flat)[1] @ model.design * width**2

    def learn(self, place, possible, accepted, probability):
        self.step *= np.exp((probability - TARGET) / (1 + self.done / 25))
        self.done += 1
        if not possible:
            return
        share = 2 / (self.done + 19)
        if accepted and place.sampled:
            self.square += share * (place.slopes()[1] ** 2 - self.square)
        h = pull(place.model, place.coefficient)[1] @ place.model.design
        stiffness = h * place.model.scale(place.log_sigma) ** 2
        self.stiffness += share * (stiffness - self.stiffness)


def stretch(model, coefficient, log_sigma, most_steps, rng) -> int:
    """Multiply what is free; returns how often the density was asked for."""
    free = model.counts[:, 0] == 0

    def moved(x):
        sigmas = log_sigma + x * (np.arange(len(log_sigma)) > 0)
        return np.where(free, np.exp(x), 1) * coefficient, sigmas

    def log_density(x):
        new, widths = moved(x)
        if np.abs(widths[1:]).max() > 80:
            return -np.inf
        volume = free.sum() * len(coefficient) * x + widths[1:].sum()  # of sigmas, to log sigmas
        return model.log_likelihood(new) + model.log_prior(new, widths) + volume

    x, looked = slice_update(log_density, 0.0, 1.0, most_steps, rng)
    coefficient[:], log_sigma[:] = moved(x)
    return looked + 1


@np.errstate(all="ignore")
def move_hamiltonian(
    model, coefficient, log_sigma, sampled, tuned, steps, rng, most_steps=MOST_STEPS
) -> int:
    """One stretch and one trajectory; returns how often densities and slopes were asked for.

    A trajectory that overflows is not accepted.
    """
    if tuned.done == 0:
        tuned.begin(model, len(coefficient), log_sigma, sampled)
    looked = stretch(model, coefficient, log_sigma, most_steps, rng) if sampled else 0
    width = model.scale(log_sigma)
    mixing, noise = np.ones_like(coefficient), np.empty_like(coefficient)
    for g, k in np.ndindex(coefficient.T.shape):
        if model.cauchy:
            ratio = coefficient[k, g] / width[g]
            mixing[k, g] = np.sqrt((1 + ratio * ratio) / (-2 * np.log(1 - rng.random())))
        noise[k, g] = standard_normal(rng)
    mass = 1 + tuned.stiffness * mixing**2
    sigma_mass = np.maximum(model.shape, LIGHT * tuned.square)
    p = noise * np.sqrt(mass)
    q = np.array([standard_normal(rng) if sampled else 0.0 for _ in sigma_mass])
    q *= np.sqrt(sigma_mass)
    place = Place(model, mixing, coefficient / width / mixing, log_sigma.copy(), sampled)

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
    return looked + steps
