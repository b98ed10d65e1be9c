"""Priors of the mixture model, and how its samplers run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thesiskit.defaults import (
    ALPHA_PRIOR,
    CLASS_PRIOR,
    COLLAPSED,
    MIXTURE_ESS,
    MIXTURE_RHAT,
    MOST_POINTS,
    THESIS,
)
from thesiskit.errors import UserError
from thesiskit.models.priors import InverseGamma, check_alpha_prior, check_class_prior, whole
from thesiskit.models.quadrature import check_rule
from thesiskit.models.until import as_until, check_run

SAMPLERS = {"collapsed": COLLAPSED, "thesis": THESIS, "as-printed": THESIS}  # defaults of each
LEAST_POWER = 0.02  # of the likelihood, in the hottest replica
REPLICAS, MOST_TEMPERED = 4, 250  # so many up to that many training cases, then 1


@dataclass(frozen=True)
class Settings:
    """Priors of the model and length of the chains.

    iterations counts all of a chain, burn_in the first ones that are not kept; replicas is how
    many copies of a chain are sampled at powers of the likelihood from 1 down to LEAST_POWER
    (collapsed only; by default REPLICAS, and 1 beyond MOST_TEMPERED training cases, where the
    tables that the others would need cost more than they bring).  None takes the sampler's
    default: see SAMPLERS.  quadrature is the rule for theta in the adjustment factor.

    With `until`, an R-hat and effective draws, chains stop when they have reached these, and
    iterations is the limit; burn_in is then 0, for the first half of a run does not count.

    `as-printed` is the thesis's sampler without the adjustment factor in the label update: what
    the thesis must have run, for it gives the numbers it prints, but it samples no posterior.
    """

    class_prior: tuple[float, float] = CLASS_PRIOR
    alpha_prior: tuple[float, float] = ALPHA_PRIOR
    response_alpha_prior: tuple[float, float] = ALPHA_PRIOR
    sampler: str = "collapsed"
    chains: int = None  # type: ignore[assignment]
    iterations: int = None  # type: ignore[assignment]
    burn_in: int = None  # type: ignore[assignment]
    replicas: int | None = None
    alpha_points: int = None  # type: ignore[assignment]
    quadrature: str = "exact"
    until: tuple[float, float] | None = None

    def __post_init__(self):
        until = as_until(self.until, most_rhat=MIXTURE_RHAT, least_ess=MIXTURE_ESS)
        object.__setattr__(self, "until", until)
        check_class_prior(self.class_prior)
        for name in ("alpha_prior", "response_alpha_prior"):
            check_alpha_prior(name, getattr(self, name))
        if not (isinstance(self.sampler, str) and self.sampler in SAMPLERS):
            raise UserError(
                f"unknown sampler {self.sampler!r}; choose one of {', '.join(SAMPLERS)}"
            )
        for name, default in SAMPLERS[self.sampler].items():
            value = getattr(self, name)
            if value is None:
                value = 0 if until is not None and name == "burn_in" else default
                usual = SAMPLERS[self.sampler]["iterations"]
                if until is None and name == "burn_in" and self.iterations != usual:
                    value = self.iterations // 4
            most = MOST_POINTS if name == "alpha_points" else None
            value = whole(name, value, 0 if name == "burn_in" else 1, most)
            object.__setattr__(self, name, value)
        if self.replicas is not None:
            object.__setattr__(self, "replicas", whole("replicas", self.replicas))
        if self.burn_in >= self.iterations:
            raise UserError(
                f"burn_in ({self.burn_in}) must be less than iterations ({self.iterations})"
            )
        if until is not None and self.samples_theta:
            raise UserError("until is for the collapsed sampler; leave it out with this one")
        check_run(until, self.chains, self.iterations, self.burn_in)
        check_rule(self.quadrature)

    @property
    def samples_theta(self) -> bool:
        """Whether theta is part of the state, not integrated out."""
        return self.sampler != "collapsed"

    @property
    def kept(self) -> int:
        """Draws kept of each chain."""
        return self.iterations - self.burn_in

    def powers(self, n: int) -> np.ndarray:
        """Powers of the likelihood that replicas are sampled at, from 1 down, for n cases."""
        if self.samples_theta:
            return np.ones(1)
        replicas = self.replicas or (REPLICAS if n <= MOST_TEMPERED else 1)
        return np.geomspace(1, LEAST_POWER, replicas) if replicas > 1 else np.ones(1)

    @cached_property
    def alpha(self) -> np.ndarray:
        """The grid of alpha, (K,)."""
        return InverseGamma(*self.alpha_prior).midpoints(self.alpha_points)

    @cached_property
    def response_alpha(self) -> np.ndarray:
        """The grid of alpha_0, (K,)."""
        return InverseGamma(*self.response_alpha_prior).midpoints(self.alpha_points)
