"""Rules for the integrals over theta in (0, 1).

`exact` is Gauss-Legendre with enough nodes for the polynomial that is integrated: U is a product
of n factors linear in theta, and a predictive factor adds one degree, so ceil((n + 2) / 2) nodes
leave rounding error only.  `simpson-21` is the thesis's rule for naive Bayes and `simpson-11` for
the mixture model (sections "A Simulation Experiment").  Neither is exact: at alpha = 300 the first
gives a feature with counts (0, 3) of (100, 100) a seventh of its marginal likelihood.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from thesiskit.errors import UserError

SIMPSON = {"simpson-21": 21, "simpson-11": 11}  # nodes
RULES = ("exact", *SIMPSON)


@dataclass(frozen=True)
class ThetaRule:
    """Nodes, 1 - nodes and weights on (0, 1), symmetric about 1/2, each (G,)."""

    theta: np.ndarray
    complement: np.ndarray
    weight: np.ndarray


@lru_cache(maxsize=64)
def theta_rule(name: str, n: int) -> ThetaRule:
    """Return the rule of that name for integrands of degree n + 1."""
    check_rule(name)
    if name == "exact":
        return gauss_legendre(-(-(n + 2) // 2))
    nodes = SIMPSON[name]
    theta = np.linspace(0, 1, nodes)
    weight = np.ones(nodes)
    weight[1:-1:2], weight[2:-1:2] = 4, 2
    return ThetaRule(theta, theta[::-1].copy(), weight / (3 * (nodes - 1)))


def check_rule(name: str) -> None:
    """Raise UserError unless there is a rule of that name."""
    if name not in RULES:
        raise UserError(f"unknown quadrature {name!r}; choose one of {', '.join(RULES)}")


@lru_cache(maxsize=64)
def gauss_legendre(nodes: int) -> ThetaRule:
    """Return the Gauss-Legendre rule with that many nodes, exact to degree 2 nodes - 1."""
    x, weight = special.roots_legendre(nodes)
    x, weight = (x - x[::-1]) / 2, (weight + weight[::-1]) / 2
    # (1 + x) / 2 loses digits where x is near -1; 1 - theta is as exact as theta
    return ThetaRule((1 + x) / 2, (1 - x) / 2, weight / weight.sum())
