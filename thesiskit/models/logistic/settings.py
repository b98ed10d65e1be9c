"""Priors of logistic models and how they are sampled, whatever samples them.

Equations eqn-cc-prior and eqn-softmax; section "Specifications of the Priors and Computation
Methods".
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thesiskit import defaults
from thesiskit.errors import UserError
from thesiskit.models.priors import positive, whole
from thesiskit.models.until import as_until, check_run

PRIORS = ("cauchy", "gaussian")
SCALES = ("log", "natural")
START_SIGMA = 0.1


@dataclass(frozen=True)
class Settings:
    """Priors and sampler; the defaults are the thesis's but for sigma_scale and joint_updates.

    sigma_0 is the width of the coefficient of order 0, and `step` the first interval of the slice
    sampler; None for the thesis's (5 and 20 for Cauchy priors, 10 and 10 for Gaussian ones).
    sigma : None to sample sigma_1..sigma_O, or their values: a number for each order 0..O.
    noise : of continuous responses alone: None to sample the noise's standard deviation, or its
        value.  Its Inverse-Gamma prior is as vague as those of the sigmas; the mode is for
        responses of standard deviation 1: as much noise as leaves three quarters explained.
    sigma_scale : "log" updates log sigma, whose conditional density is about one wide wherever it
        lies, so that steps of one suit it; "natural" sigma itself, as the thesis.
    joint_updates : how often an iteration also moves all coefficients and sigmas together; the
        thesis has no such updates.  For sequences with two classes or real responses all
        coefficients are drawn at once, and sigmas move with them integrated out (`_kernels.tree`);
        for features, and for three or more classes, all of them move along Hamiltonian
        trajectories (`_kernels.hamiltonian`).
    iterations : the number of all iterations of a chain; the first burn_in are not kept, and of
        the others every thin-th is kept.
    until : the R-hat and the effective draws with which chains stop before `iterations`, and
        perhaps the rest of `models.until.Until`; what is kept is then not for burn_in (0) and thin
        (1) to say, but for models/until.py.
    """

    prior: str = defaults.PRIOR
    sigma_0: float | None = None
    sigma_shape: float = defaults.SIGMA_SHAPE
    sigma_mode: float = defaults.SIGMA_MODE
    sigma: tuple[float, ...] | None = None
    noise_shape: float = defaults.NOISE_SHAPE
    noise_mode: float = defaults.NOISE_MODE
    noise: float | None = None
    sigma_scale: str = defaults.SIGMA_SCALE
    sigma_updates: int = defaults.SIGMA_UPDATES
    joint_updates: int = defaults.JOINT_UPDATES
    step: float | None = None
    sigma_step: float = defaults.SIGMA_STEP
    most_steps: int = defaults.MOST_STEPS
    iterations: int = defaults.ITERATIONS
    burn_in: int = defaults.BURN_IN
    thin: int = defaults.THIN
    chains: int = defaults.CHAINS
    until: tuple[Any, ...] | None = None

    def __post_init__(self):
        if self.prior not in PRIORS:
            raise UserError(f"unknown prior {self.prior!r}; choose cauchy or gaussian")
        if self.sigma_scale not in SCALES:
            raise UserError(f"unknown sigma_scale {self.sigma_scale!r}; choose log or natural")
        for name, default in (("sigma_0", defaults.SIGMA_0), ("step", defaults.STEP)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default[self.prior])
        for name in ("sigma_shape", "noise_shape", "step", "sigma_step"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("sigma_0", "sigma_mode", "noise_mode", "noise"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _width(name, getattr(self, name)))
        for name in ("sigma", "noise"):
            shape = getattr(self, f"{name}_shape")
            if shape < defaults.LEAST_SHAPE:
                raise UserError(
                    f"{name}_shape must be at least {defaults.LEAST_SHAPE}, got {shape:g}: with "
                    f"less, {name} is often beyond what numbers hold"
                )
        for name, least in (
            ("sigma_updates", 1), ("joint_updates", 0), ("most_steps", 1), ("iterations", 1),
            ("burn_in", 0), ("thin", 1), ("chains", 1),
        ):  # fmt: skip
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        if self.burn_in + self.thin > self.iterations:
            raise UserError(
                f"of {self.iterations} iterations, none is kept after burn_in {self.burn_in} "
                f"with thin {self.thin}; use more iterations"
            )
        until = as_until(self.until)
        object.__setattr__(self, "until", until)
        check_run(until, self.chains, self.iterations, self.burn_in, self.thin)
        if self.sigma is not None:
            values = enumerate(np.atleast_1d(self.sigma).tolist())
            sigma = tuple(_width(f"sigma[{i}]", value) for i, value in values)
            object.__setattr__(self, "sigma", sigma)

    @property
    def cauchy(self) -> bool:
        """Whether the prior is Cauchy."""
        return self.prior == "cauchy"

    @property
    def kept(self) -> int:
        """Draws that each chain keeps."""
        return (self.iterations - self.burn_in) // self.thin

    @property
    def learning(self) -> int:
        """First iterations in which a chain may tune its sampler: some of those not kept."""
        return defaults.LEARNING if self.until else min(defaults.LEARNING, self.burn_in)

    def check_order(self, order: int) -> None:
        """Raise UserError where there are not as many sigmas as orders 0 to `order`."""
        if self.sigma is not None:
            check_sigma(self.sigma, order)

    def rates(self, order: int) -> np.ndarray:
        """Return rates of the Inverse-Gamma priors of sigma_o, (order + 1,); order 0 has none."""
        return (self.sigma_shape + 1) * self.sigma_mode / np.maximum(np.arange(order + 1), 1)

    @property
    def noise_rate(self) -> float:
        """Rate of the Inverse-Gamma prior of the noise's standard deviation."""
        return (self.noise_shape + 1) * self.noise_mode

    def start(self, order: int, rng: np.random.Generator) -> np.ndarray:
        """Return log sigmas (order + 1,) to start from: those given, or dispersed ones."""
        if self.sigma is not None:
            return np.log(self.sigma)
        assert self.sigma_0 is not None  # filled in above
        log_sigma = np.log(START_SIGMA) + rng.normal(size=order + 1)
        log_sigma[0] = np.log(self.sigma_0)
        return log_sigma

    @property
    def lasting(self) -> dict[str, Any]:
        """The settings that must be equal for a chain to be continued."""
        others = {"iterations", "chains"} | ({"until"} if self.until is None else set())
        return {name: value for name, value in vars(self).items() if name not in others}


def check_sigma(sigma, order: int) -> None:
    """Raise UserError where there are not as many sigmas as orders 0 to `order`."""
    if len(sigma) != order + 1:
        raise UserError(f"sigma needs {order + 1} values, of orders 0 to {order}, got {len(sigma)}")


def _width(name: str, value: float) -> float:
    value = positive(name, value)
    low, high = defaults.LEAST_WIDTH, defaults.MOST_WIDTH
    if not low <= value <= high:
        limits = f"{low:g} and {high:g}".replace("e+", "e")
        raise UserError(f"{name} must be between {limits}, got {value:g}")
    return value
