"""Integrals over theta of one binary feature: of its counts, and of its being dropped.

| thesis | name | shape |
|---|---|---|
| I_0, I_1 | rows of `pairs` | (D, 2) |
| alpha at the quadrature points | `alpha` | (K,) |
| P(x_j^train given y^train, alpha), over orderings | `log_marginal` | (D, K) |
| E(theta_j given x_j^train, y^train, alpha) | `theta_mean` | (D, K) |
| E(1 - theta_j given the same) | `complement_mean` | (D, K) |
| log P(abs COR <= gamma given alpha, y^train) | of `log_discard_probability` | (K,) |

Sections "Integrating Away psi and phi" (pxj-b), "Predictions for Test Cases using Numerical
Quadrature" (eq-jfact) and "Computation of the Adjustment Factor for Naive Bayes Models"
(adj-fact-H2 to eq-sum-H).  Up to TABLE_CASES cases, P(I given alpha, theta) is tabulated at the
nodes of a rule that is exact for the degree.  Beyond, that many nodes would be wasted on narrow
peaks.  Up to SHARED_CASES, many pairs share a rule that is fine enough for any peak; where there
are few, or their probability is very small, or there are more cases, each integral locates its
peak and refines its own rule to TOLERANCE.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from operator import index
from typing import NamedTuple

import numpy as np
from scipy import special

from thesiskit._kernels import naive_bayes as kernel  # type: ignore[attr-defined]
from thesiskit.defaults import TABLE_CASES
from thesiskit.errors import ThesiskitError, UserError
from thesiskit.models.correlation import as_gamma_squared, reach, tied_pairs
from thesiskit.models.quadrature import ThetaRule, gauss_legendre, theta_rule

IRRELEVANT = 1e100  # alpha of a feature with phi_0 = phi_1, to the last digit
TOLERANCE = 1e-11  # relative
TINY = float(np.finfo(float).tiny)
SMALL = 1e-200  # probabilities below are integrated on a log scale
SHARED_CASES = 3_000  # up to here rounding of the nodes near 0 and 1 costs less than 1e-10
WORTH = 2_500  # counts at nodes tabulated in the time of one located integral


class PairIntegrals(NamedTuple):
    """Integrals for each pair of counts and each alpha, (D, K) each."""

    log_marginal: np.ndarray
    theta_mean: np.ndarray
    complement_mean: np.ndarray


def pair_integrals(
    pairs: np.ndarray,
    class_counts: tuple[int, int],
    alpha: np.ndarray,
    quadrature: str = "exact",
) -> PairIntegrals:
    """Return log P(I0, I1 given alpha), E(theta given I0, I1, alpha) and E(1 - theta given ...).

    The first is the integral over theta of pxj-b, times the number of orderings of the cases; the
    means of theta are all that eq-jfact needs.
    pairs is (D, 2) with 0 <= I_y <= n_y, class_counts (n_0, n_1), alpha (K,).
    """
    n0, n1 = (index(n) for n in class_counts)
    alpha = alpha_points(alpha)
    pairs = np.asarray(pairs)
    if len(pairs) and not ((pairs >= 0) & (pairs <= (n0, n1))).all():
        raise UserError(f"counts of ones must be from 0 to the class counts {(n0, n1)}")
    shape = (len(pairs), len(alpha))
    result = PairIntegrals(np.empty(shape), np.empty(shape), np.empty(shape))
    if 0 in shape:
        return result
    if n0 + n1 <= TABLE_CASES:
        rule, weighted, plain = _count_tables(n0, n1, quadrature, alpha.tobytes())
        kernel.integrate_pairs(
            weighted,
            plain,
            np.ascontiguousarray(pairs[:, 0], dtype=np.intp),
            np.ascontiguousarray(pairs[:, 1], dtype=np.intp),
            rule.theta,
            rule.complement,
            np.empty((2, *weighted.shape[1:])),
            *result,
        )
        np.log(result.log_marginal, out=result.log_marginal)
        return result
    if quadrature == "exact":
        n = n0 + n1
        alone = np.arange(len(pairs))
        if n <= SHARED_CASES and n * peak_nodes(n) < WORTH * len(pairs):
            alone = _integrate_together(pairs, n0, n1, alpha, result)
        if len(alone):
            own = PairIntegrals(*(np.empty((len(alone), len(alpha))) for _ in result))
            _integrate_alone(pairs[alone], n0, n1, alpha, own)
            for values, mine in zip(result, own, strict=True):
                values[alone] = mine
        return result
    ones0, ones1 = (np.ascontiguousarray(pairs[:, y], dtype=float) for y in (0, 1))
    rule = theta_rule(quadrature, n0 + n1)
    log_probability = np.empty((len(pairs), len(rule.theta)))
    for k, a in enumerate(alpha):
        kernel.log_pairs_at(ones0, ones1, n0, n1, a, rule.theta, rule.complement, log_probability)
        total = special.logsumexp(log_probability, axis=1, b=rule.weight)
        share = np.exp(log_probability - total[:, None]) * rule.weight
        result.log_marginal[:, k] = total
        # a rule with nodes at 0 and 1 can have all weight there; keep the logarithms finite
        result.theta_mean[:, k] = np.maximum(share @ rule.theta, TINY)
        result.complement_mean[:, k] = np.maximum(share @ rule.complement, TINY)
    return result


def peak_nodes(n: int) -> int:
    """Return how many Gauss-Legendre nodes integrate any pair's integrand, beyond TABLE_CASES.

    On the scale of arcsin sqrt(theta) a product of n linear factors is no narrower than a normal
    curve of deviation 1 / (2 sqrt n), so its Chebyshev coefficients fall as exp(-m^2 / (2 n)).
    With G nodes the rule is exact to m = 2 G - 1: G = 4.5 sqrt n leaves exp(-40).
    """
    return int(4.5 * n**0.5) + 30


def _integrate_together(pairs, n0, n1, alpha, result: PairIntegrals) -> np.ndarray:
    """Integrate all pairs by one rule; return those whose probabilities are too small for it."""
    rule = gauss_legendre(peak_nodes(n0 + n1))
    ones0, ones1 = (np.ascontiguousarray(pairs[:, y], dtype=np.intp) for y in (0, 1))
    tables = [np.empty((1, n + 1, len(rule.theta))) for n in (n0, n1)]
    work = np.empty((2, n0 + 1, len(rule.theta)))
    small = np.zeros(len(pairs), dtype=bool)
    for k, a in enumerate(alpha):
        for table in tables:
            scratch = np.empty(table.shape[1])
            kernel.fill_windows(a, rule.theta, rule.complement, scratch, table[0])
        tables[0] *= rule.weight
        column = PairIntegrals(*(np.empty((len(pairs), 1)) for _ in result))
        kernel.integrate_pairs(
            tables[0], tables[1], ones0, ones1, rule.theta, rule.complement, work, *column
        )
        small |= column.log_marginal[:, 0] < SMALL
        np.log(np.maximum(column.log_marginal, SMALL), out=column.log_marginal)
        for values, mine in zip(result, column, strict=True):
            values[:, k] = mine[:, 0]
    return np.flatnonzero(small)


def _integrate_alone(pairs, n0, n1, alpha, result: PairIntegrals) -> None:
    """Locate and refine each integral by itself."""
    ones0, ones1 = (np.ascontiguousarray(pairs[:, y], dtype=float) for y in (0, 1))
    failures = kernel.integrate_pairs_locally(ones0, ones1, n0, n1, alpha, TOLERANCE, *result)
    if failures:
        raise ThesiskitError(f"{failures} integrals over theta did not reach {TOLERANCE:g}")


def alpha_points(alpha: np.ndarray) -> np.ndarray:
    """Return alpha as a contiguous vector; raise if it is not a vector of positive numbers."""
    alpha = np.ascontiguousarray(np.atleast_1d(alpha), dtype=float)
    if alpha.ndim != 1 or not (np.isfinite(alpha) & (alpha > 0)).all():
        raise UserError("alpha must be positive: a number or a vector of numbers")
    return alpha


def log_discard_probability(
    n0: int,
    n1: int,
    gamma_squared: Fraction,
    alpha: np.ndarray,
    *,
    quadrature: str = "exact",
    below: bool = False,
) -> np.ndarray:
    """Return log P(|COR| <= gamma given alpha) of one feature, (K,).

    Equations adj-fact-H2 to eq-sum-H.  n0 and n1 are class counts; gamma_squared a Fraction (or a
    pair of integers), compared with exactly.  With `below`, log P(|COR| < gamma), gamma > 0.
    Never -inf: a constant feature has correlation 0.
    """
    alpha = alpha_points(alpha)
    n0, n1 = index(n0), index(n1)
    if n0 < 0 or n1 < 0 or n0 + n1 == 0:
        raise UserError(f"class counts must not be negative, nor both 0; got {n0} and {n1}")
    limit = reach(n0, n1, as_gamma_squared(gamma_squared), attained=below)
    if limit[-1] < 0:  # nothing can be retained
        return np.zeros(len(alpha))
    retained = np.empty(len(alpha))
    if n0 + n1 <= TABLE_CASES:
        rule, weighted, plain = _count_tables(n0, n1, quadrature, alpha.tobytes())
        kernel.sum_retained(weighted, plain, limit, np.empty(len(rule.theta)), retained)
    else:
        for k, a in enumerate(alpha):
            retained[k] = _retained_adaptively(n0, n1, limit, a, quadrature)
    # a constant feature alone is worth 2 / (n + 1) or more, so this loses no digits that matter
    return np.log1p(-np.minimum(retained, 1.0))


def log_tied_probability(
    n0: int, n1: int, gamma_squared: Fraction, alpha: np.ndarray, *, quadrature: str = "exact"
) -> np.ndarray:
    """Return log P(|COR| = gamma given alpha) of one feature, (K,); -inf where no counts have it.

    It is summed over the pairs of counts with COR^2 = gamma^2, so that no digits cancel.
    """
    alpha = alpha_points(alpha)
    gamma_squared = as_gamma_squared(gamma_squared)
    if gamma_squared == 0:
        return log_discard_probability(n0, n1, gamma_squared, alpha, quadrature=quadrature)
    pairs = tied_pairs(n0, n1, gamma_squared)
    log_marginal = pair_integrals(pairs, (n0, n1), alpha, quadrature).log_marginal
    return np.logaddexp.reduce(log_marginal, axis=0)


def _retained_adaptively(n0, n1, limit, alpha, quadrature) -> float:
    """P(|COR| > gamma given alpha) for any n, by panels in arcsin sqrt theta."""
    scratch = np.empty(n0 + 1), np.empty(n1 + 1)

    def values(theta, complement):
        out = np.empty(len(theta))
        kernel.retained_probabilities(alpha, theta, complement, limit, *scratch, out)
        return out

    if quadrature != "exact":
        rule = theta_rule(quadrature, n0 + n1)
        inner = slice(1, -1)  # at theta = 0 and 1 the feature is constant: never retained
        return float(values(rule.theta[inner], rule.complement[inner]) @ rule.weight[inner])

    def integrand(angle):
        # retained(theta) is symmetric: twice the integral over (0, 1/2), theta = sin^2
        sine, cosine = np.sin(angle), np.cos(angle)
        return 4 * values(sine**2, cosine**2) * sine * cosine

    # panels that shrink towards theta = 0, where the integrand varies on the scale 1 / sqrt(n)
    levels = range(int(np.log2(n0 + n1) / 2) + 1, -1, -1)
    return _integrate_panels(integrand, [0.0, *(np.pi / 4 * 2.0**-level for level in levels)])


def _integrate_panels(integrand, edges: list[float]) -> float:
    """Integrate a positive function: halve panels until the halves agree with the whole."""
    rule = gauss_legendre(16)

    def panel(low: float, high: float) -> float:
        return (high - low) * float(integrand(low + (high - low) * rule.theta) @ rule.weight)

    work = [(low, high, panel(low, high)) for low, high in pairwise(edges)]
    done = 0.0
    for _ in range(40):
        total = done + sum(value for _, _, value in work)
        finer: list[tuple[float, float, float]] = []
        for low, high, value in work:
            middle = (low + high) / 2
            halves = (low, middle, panel(low, middle)), (middle, high, panel(middle, high))
            better = halves[0][2] + halves[1][2]
            # what is below 1e-12 in all has no say in log(1 - total)
            if abs(better - value) <= TOLERANCE / 10 * max(total, 1e-12):
                done += better
            else:
                finer.extend(halves)
        if not finer:
            return done
        work = finer
    raise ThesiskitError("the integral of the adjustment factor over theta did not settle")


@lru_cache(maxsize=4)  # two class counts of leave-one-out, two rules
def _count_tables(
    n0: int, n1: int, quadrature: str, alpha: bytes
) -> tuple[ThetaRule, np.ndarray, np.ndarray]:
    """P(I given n_y, alpha, theta) for all I, (K, n_y + 1, G); the first carries the weights."""
    points = np.frombuffer(alpha)
    rule = theta_rule(quadrature, n0 + n1)
    tables = []
    for n in dict.fromkeys((n0, n1)):
        table = np.empty((len(points), n + 1, len(rule.theta)))
        kernel.fill_count_probabilities(points, rule.theta, rule.complement, n, table)
        tables.append(table)
    result = rule, tables[0] * rule.weight, tables[-1]
    for table in result[1:]:
        table.flags.writeable = False
    return result
