"""Integrals over theta of one binary feature: of its counts, and of its being dropped.

| thesis | name | shape |
|---|---|---|
| I_0, I_1 | rows of `pairs` | (D, 2) |
| alpha at the quadrature points | `alpha` | (K,) |
| P(x_j^train given y^train, alpha), over orderings | `log_marginal` | (D, K) |
| E(theta_j given x_j^train, y^train, alpha) | `theta_mean` | (D, K) |
| E(1 - theta_j given the same) | `complement_mean` | (D, K) |
| log P(abs COR <= gamma given alpha, y^train) | of `log_discard_probability` | (K,) |

Sections "Integrating Away psi and phi" (pxj-b), "Predictions for Test Samples using Numerical
Quadrature" (eq-jfact) and "Computation of the Adjustment Factor for Naive Bayes Models"
(adj-fact-H2 to eq-sum-H).  Up to TABLE_CASES samples, P(I given alpha, theta) is tabulated at the
nodes of a rule that is exact for the degree.  Beyond, that many nodes would be wasted on narrow
peaks.  Up to SHARED_CASES, many pairs share a rule that is fine enough for any peak; where there
are few, or their probability is very small, or there are more samples, each integral locates its
peak and refines its own rule to TOLERANCE.

Of the rules for theta, `exact` is Gauss-Legendre with enough nodes for the polynomial that is
integrated: U is a product of n factors linear in theta, and a predictive factor adds one degree, so
ceil((n + 2) / 2) nodes leave rounding error only.  `simpson-21` is the rule that the thesis prints
for naive Bayes and `simpson-11` for the mixture model (sections "A Simulation Experiment").
Neither is exact: at alpha = 300 the first gives a feature with counts (0, 3) of (100, 100) a
seventh of its marginal likelihood.

`simpson-21-transformed` is Simpson's rule with 21 points after the cubic transform

    theta = m + ((u - v) / s)^3,   s = 1 / (m^(1/3) + (1 - m)^(1/3)),   v = s m^(1/3),

of u in [0, 1], which maps 0 and 1 to themselves and crowds points about the feature's mean,
m = (I_0 + I_1) / (n_0 + n_1).  The thesis's author transforms theta about the feature's mean in his
later program predbayescor 1.1-4 (`tfm_unif` with dg_tfm = 1) for the features that are selected,
not for the adjustment factor; the form is derived here.  With counts (0, 3) as above it gives 1.006
of the marginal likelihood.  The rule `simpson-21` computes the adjustment factor.

Where values are missing, counts of samples differ by feature: up to TABLE_CASES samples, features
share tables of P(I given n, alpha, theta), one for each n, not for each pair of them, at the nodes
of the rule for the largest numbers, which is exact for the smaller ones too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from scipy import special

from thesiskit._kernels import naive_bayes as kernel  # type: ignore[attr-defined]
from thesiskit.defaults import TABLE_SAMPLES
from thesiskit.errors import ThesiskitError, UserError
from thesiskit.models.base import ThetaRule, gauss_legendre, positive, positive_pair
from thesiskit.models.selection import as_gamma_squared, reach, tied_pairs

TRANSFORMED = "simpson-21-transformed"  # about the mean of each feature
SIMPSON = {"simpson-21": 21, "simpson-11": 11, TRANSFORMED: 21}  # nodes
RULES = ("exact", *SIMPSON)
IRRELEVANT = 1e100  # alpha of a feature with phi_0 = phi_1, to the last digit
TOLERANCE = 1e-11  # relative
TINY = float(np.finfo(float).tiny)
SMALL = 1e-200  # probabilities below are integrated on a log scale
SHARED_SAMPLES = 3_000  # up to here rounding of the nodes near 0 and 1 costs less than 1e-10
WORTH = 2_500  # counts at nodes tabulated in the time of one located integral
TABLE_BYTES = 1 << 26  # of tables at a time
# of alpha; beyond these its squares are not what they should be
LEAST_ALPHA, MOST_ALPHA = 1e-100, 1e200
MOST_SHAPE = 1e8


def check_alpha_prior(name: str, pair) -> None:
    """Raise UserError unless this is a pair (shape, rate) within the limits of the models."""
    positive_pair(name, pair)
    shape, rate = pair
    if shape > MOST_SHAPE:
        raise UserError(f"{name}[0], the shape, must be at most {MOST_SHAPE:g}, got {shape:g}")
    with np.errstate(divide="ignore", over="ignore"):
        median = InverseGamma(shape, rate).quantile(np.array(0.5))
    if not LEAST_ALPHA <= median <= MOST_ALPHA:
        raise UserError(
            f"{name} ({shape:g}, {rate:g}) has the median {median:g}; it must be between "
            f"{LEAST_ALPHA:g} and {MOST_ALPHA:g}: use another shape or rate"
        )


@dataclass(frozen=True)
class InverseGamma:
    """Inverse-Gamma(shape, rate): density proportional to x^(-1-shape) exp(-rate / x).

    Equations prior-alpha-b and prior-alpha0.
    """

    shape: float
    rate: float

    def __post_init__(self):
        positive("the shape of an Inverse-Gamma prior", self.shape)
        positive("the rate of an Inverse-Gamma prior", self.rate)

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """Return F^{-1}(u)."""
        return self.rate / special.gammainccinv(self.shape, u)

    def midpoints(self, count: int) -> np.ndarray:
        """Return the 0.5/K, 1.5/K, ... quantiles: the thesis's midpoint rule, (K,).

        Section "Predictions for Test Samples using Numerical Quadrature", last paragraph.
        """
        return _midpoints(self, count)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return log p(x)."""
        constant = self.shape * np.log(self.rate) - special.gammaln(self.shape)
        return constant - (1 + self.shape) * np.log(x) - self.rate / x

    def sample(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return self.rate / rng.gamma(self.shape)


@lru_cache(maxsize=32)
def _midpoints(prior: InverseGamma, count: int) -> np.ndarray:
    with np.errstate(divide="ignore", over="ignore"):
        points = prior.quantile((np.arange(count) + 0.5) / count)
    if not (points.min() >= LEAST_ALPHA and points.max() <= MOST_ALPHA):
        raise UserError(
            f"alpha_prior ({prior.shape:g}, {prior.rate:g}): of {count} quantiles, some are not "
            f"between {LEAST_ALPHA:g} and {MOST_ALPHA:g}. Fix: use a larger shape or fewer "
            f"alpha_points"
        )
    points.flags.writeable = False
    return points


@lru_cache(maxsize=64)
def theta_rule(name: str, n: int) -> ThetaRule:
    """Return the rule of that name for integrands of degree n + 1, the same for all features."""
    check_rule(name)
    if name == "exact":
        return gauss_legendre(-(-(n + 2) // 2))
    nodes = SIMPSON[name]
    theta = np.linspace(0, 1, nodes)
    weight = np.ones(nodes)
    weight[1:-1:2], weight[2:-1:2] = 4, 2
    return ThetaRule(theta, theta[::-1].copy(), weight / (3 * (nodes - 1)))


def transformed_rule(mean: float) -> ThetaRule:
    """Return Simpson's rule with 21 points, theta transformed by a cubic about a mean in [0, 1]."""
    plain = theta_rule("simpson-21", 0)
    low, high = np.cbrt(mean), np.cbrt(1 - mean)
    root = (low + high) * plain.theta - low  # the cubic root of theta - mean
    theta, complement = mean + root**3, 1 - mean - root**3
    theta[0] = complement[-1] = 0.0  # without rounding
    return ThetaRule(theta, complement, plain.weight * 3 * (low + high) * root**2)


def check_rule(name: str) -> None:
    """Raise UserError unless there is a rule of that name."""
    if name not in RULES:
        raise UserError(f"unknown quadrature {name!r}. Fix: choose one of {', '.join(RULES)}")


class PairIntegrals(NamedTuple):
    """Integrals for each pair of counts and each alpha, (D, K) each."""

    log_marginal: np.ndarray
    theta_mean: np.ndarray
    complement_mean: np.ndarray


class CountTables(NamedTuple):
    """Functions that return P(I given n, alpha, theta) for all I, (K, n + 1, G).

    `weighted` has it times the weights of the rule.
    """

    rule: ThetaRule
    plain: Callable[[int], np.ndarray]
    weighted: Callable[[int], np.ndarray]


def pair_integrals(
    pairs: np.ndarray,
    present: tuple[int, int] | np.ndarray,
    alpha: np.ndarray,
    quadrature: str = "exact",
) -> PairIntegrals:
    """Return log P(I0, I1 given alpha), E(theta given I0, I1, alpha) and E(1 - theta given ...).

    The first is the integral over theta of pxj-b, times the number of orderings of the samples; the
    means of theta are all that eq-jfact needs.

    pairs (D, 2) : 0 <= I_y <= n_y.
    present : (n_0, n_1), the samples that have the feature; or those of each pair, (D, 2).
    alpha : (K,).
    """
    alpha, pairs = as_alphas(alpha), np.asarray(pairs)
    groups = np.reshape(present, (-1, 2))
    if not ((pairs >= 0) & (pairs <= groups)).all():
        most = tuple(groups.max(axis=0).tolist())
        raise UserError(f"counts of ones must be from 0 to the class counts {most}")
    if len(groups) == 1:
        n0, n1 = groups[0].tolist()
        return _integrate_alike(pairs, n0, n1, alpha, quadrature)
    shape = (len(pairs), len(alpha))
    # what a feature that no sample has says: nothing
    integrals = PairIntegrals(np.zeros(shape), np.full(shape, 0.5), np.full(shape, 0.5))
    groups, place = np.unique(groups, axis=0, return_inverse=True)
    members = [np.flatnonzero(place.reshape(-1) == d) for d in range(len(groups))]
    nonempty = [d for d, row in enumerate(groups.tolist()) if any(row)]
    parts: Iterator[tuple[slice, CountTables | None]] = iter([(slice(None), None)])
    if nonempty and groups.sum(axis=1).max() <= TABLE_SAMPLES:
        parts = _tables_of(groups[nonempty].tolist(), alpha, quadrature)
    for points, tables in parts:
        for d in nonempty:
            n0, n1 = groups[d].tolist()
            part = _integrate_alike(pairs[members[d]], n0, n1, alpha[points], quadrature, tables)
            for values, values_of_part in zip(integrals, part, strict=True):
                values[members[d], points] = values_of_part
    return integrals


def _integrate_alike(
    pairs: np.ndarray,
    n0: int,
    n1: int,
    alpha: np.ndarray,
    quadrature: str,
    tables: CountTables | None = None,
) -> PairIntegrals:
    """Integrate pairs of features that n0 and n1 samples have; tables, if others use them, too."""
    if quadrature == TRANSFORMED:
        return _integrate_transformed(pairs, n0, n1, alpha)
    if n0 + n1 > TABLE_SAMPLES and len(pairs) and len(alpha):
        return _integrate_many_samples(pairs, n0, n1, alpha, quadrature)
    if tables is None:
        tables = _tables(n0 + n1, quadrature, alpha.tobytes())
    integrals = _integrate(tables.rule, tables.weighted(n0), tables.plain(n1), pairs)
    np.log(integrals.log_marginal, out=integrals.log_marginal)
    return integrals


def _integrate_many_samples(
    pairs: np.ndarray, n0: int, n1: int, alpha: np.ndarray, quadrature: str
) -> PairIntegrals:
    """Integrate where there are more than TABLE_CASES samples."""
    shape = (len(pairs), len(alpha))
    result = PairIntegrals(np.empty(shape), np.empty(shape), np.empty(shape))
    n = n0 + n1
    if quadrature == "exact":
        remaining = np.arange(len(pairs))
        if n <= SHARED_SAMPLES and n * peak_nodes(n) < WORTH * len(pairs):
            remaining = _integrate_together(pairs, n0, n1, alpha, result)
        if len(remaining):
            single = PairIntegrals(*(np.empty((len(remaining), len(alpha))) for _ in result))
            _integrate_alone(pairs[remaining], n0, n1, alpha, single)
            for values, single_values in zip(result, single, strict=True):
                values[remaining] = single_values
        return result
    _integrate_by(theta_rule(quadrature, n), pairs, n0, n1, alpha, result)
    return result


def _integrate_transformed(pairs: np.ndarray, n0: int, n1: int, alpha: np.ndarray) -> PairIntegrals:
    """Integrate by the transformed rule, whose points depend on a pair's number of ones."""
    shape = (len(pairs), len(alpha))
    result = PairIntegrals(np.empty(shape), np.empty(shape), np.empty(shape))
    totals = pairs.sum(axis=1)
    for total in np.unique(totals).tolist():
        rows = np.flatnonzero(totals == total)
        part = PairIntegrals(*(np.empty((len(rows), len(alpha))) for _ in result))
        _integrate_by(transformed_rule(total / (n0 + n1)), pairs[rows], n0, n1, alpha, part)
        for values, column in zip(result, part, strict=True):
            values[rows] = column
    return result


def _integrate_by(rule: ThetaRule, pairs, n0, n1, alpha, result: PairIntegrals) -> None:
    """Integrate all pairs by the points of one rule, on a log scale."""
    ones0, ones1 = (np.ascontiguousarray(pairs[:, y], dtype=float) for y in (0, 1))
    log_probability = np.empty((len(pairs), len(rule.theta)))
    for k, a in enumerate(alpha):
        kernel.log_pairs_at(ones0, ones1, n0, n1, a, rule.theta, rule.complement, log_probability)
        peak = log_probability.max(axis=1, keepdims=True)
        share = np.exp(log_probability - peak) * rule.weight
        total = share.sum(axis=1, keepdims=True)
        share /= total
        result.log_marginal[:, k] = (peak + np.log(total))[:, 0]
        # a rule with nodes at 0 and 1 can have all weight there; keep the logarithms finite
        result.theta_mean[:, k] = np.maximum(share @ rule.theta, TINY)
        result.complement_mean[:, k] = np.maximum(share @ rule.complement, TINY)


def peak_nodes(n: int) -> int:
    """Return how many Gauss-Legendre nodes integrate any pair's integrand, beyond TABLE_CASES.

    On the scale of arcsin sqrt(theta) a product of n linear factors is no narrower than a normal
    curve of deviation 1 / (2 sqrt n), so its Chebyshev coefficients fall as exp(-m^2 / (2 n)).
    With G nodes the rule is exact to m = 2 G - 1: G = 4.5 sqrt n leaves exp(-40).
    """
    return int(4.5 * n**0.5) + 30


def _integrate(
    rule: ThetaRule, weighted: np.ndarray, plain: np.ndarray, pairs: np.ndarray
) -> PairIntegrals:
    """Integrate by tables of P(I given alpha, theta), (K, n + 1, G); log_marginal is no log yet."""
    shape = (len(pairs), len(plain))
    integrals = PairIntegrals(np.empty(shape), np.empty(shape), np.empty(shape))
    ones0, ones1 = (np.ascontiguousarray(pairs[:, y], dtype=np.intp) for y in (0, 1))
    kernel.integrate_pairs(weighted, plain, ones0, ones1, rule.theta, rule.complement, *integrals)
    return integrals


def _integrate_together(pairs, n0, n1, alpha, result: PairIntegrals) -> np.ndarray:
    """Integrate all pairs by one rule; return those whose probabilities are too small for it."""
    rule = gauss_legendre(peak_nodes(n0 + n1))
    tables = [np.empty((1, n + 1, len(rule.theta))) for n in (n0, n1)]
    small = np.zeros(len(pairs), dtype=bool)
    for k, a in enumerate(alpha):
        for table in tables:
            kernel.fill_windows(a, rule.theta, rule.complement, table[0])
        tables[0] *= rule.weight
        column = _integrate(rule, tables[0], tables[1], pairs)
        small |= column.log_marginal[:, 0] < SMALL
        np.log(np.maximum(column.log_marginal, SMALL), out=column.log_marginal)
        for values, column_values in zip(result, column, strict=True):
            values[:, k] = column_values[:, 0]
    return np.flatnonzero(small)


def _integrate_alone(pairs, n0, n1, alpha, result: PairIntegrals) -> None:
    """Locate and refine each integral by itself."""
    ones0, ones1 = (np.ascontiguousarray(pairs[:, y], dtype=float) for y in (0, 1))
    failures = kernel.integrate_pairs_locally(ones0, ones1, n0, n1, alpha, TOLERANCE, *result)
    if failures:
        raise ThesiskitError(f"{failures} integrals over theta did not reach {TOLERANCE:g}")


def as_alphas(alpha: np.ndarray) -> np.ndarray:
    """Return alpha as a contiguous vector; raise if it is not a vector of positive numbers."""
    alpha = np.ascontiguousarray(np.atleast_1d(alpha), dtype=float)
    if alpha.ndim != 1 or not (np.isfinite(alpha) & (alpha > 0)).all():
        raise UserError("alpha must be positive: a number or a vector of numbers")
    return alpha


def log_discard_probability(
    n0: int | np.ndarray,
    n1: int | np.ndarray,
    gamma_squared: Fraction,
    alpha: np.ndarray,
    *,
    quadrature: str = "exact",
    below: bool = False,
) -> np.ndarray:
    """Return log P(|COR| <= gamma given alpha) of one feature, (K,), or of some, (D, K).

    Equations adj-fact-H2 to eq-sum-H.  n0 and n1 are class counts, numbers or (D,); gamma_squared a
    Fraction (or a pair of integers), compared with exactly.  With `below`, log P(|COR| < gamma),
    gamma > 0.  Never -inf: a constant feature has correlation 0.
    """
    alpha, gamma_squared = as_alphas(alpha), as_gamma_squared(gamma_squared)
    by_missing = isinstance(n0, np.ndarray)
    counts = [tuple(row) for row in np.reshape([n0, n1], (2, -1)).T.tolist()]
    if min(map(min, counts)) < 0 or not (by_missing or any(counts[0])):
        raise UserError(f"class counts must not be negative, nor both 0; got {n0} and {n1}")
    limits = [reach(*row, gamma_squared, attained=below) for row in counts]
    probability = np.zeros((len(counts), len(alpha)))  # the probability of being retained
    nonempty = [d for d, limit in enumerate(limits) if limit[-1] >= 0]
    is_shared = max(map(sum, counts)) <= TABLE_SAMPLES
    for together in filter(None, [nonempty] if is_shared else [[d] for d in nonempty]):
        if sum(counts[together[0]]) > TABLE_SAMPLES:
            d, (low, high) = together[0], counts[together[0]]
            limit = limits[d]
            probability[d] = [_retained_adaptively(low, high, limit, a, quadrature) for a in alpha]
            continue
        for points, tables in _tables_of([counts[d] for d in together], alpha, quadrature):
            for d in together:
                low, high = counts[d]
                kernel.sum_retained(
                    tables.weighted(low), tables.plain(high), limits[d], probability[d, points]
                )
    # a constant feature alone is worth 2 / (n + 1) or more, so this loses no digits that matter
    probability = np.log1p(-np.minimum(probability, 1.0))
    return probability if by_missing else probability[0]


def log_tied_probability(
    n0: int | np.ndarray,
    n1: int | np.ndarray,
    gamma_squared: Fraction,
    alpha: np.ndarray,
    *,
    quadrature: str = "exact",
) -> np.ndarray:
    """Return log P(|COR| = gamma given alpha), (K,) or (D, K); -inf where no counts have it.

    It is summed over the pairs of counts with COR^2 = gamma^2, so that no digits cancel.
    """
    alpha, gamma_squared = as_alphas(alpha), as_gamma_squared(gamma_squared)
    if gamma_squared == 0:
        return log_discard_probability(n0, n1, gamma_squared, alpha, quadrature=quadrature)
    quadrature = "simpson-21" if quadrature == TRANSFORMED else quadrature
    counts = np.reshape([n0, n1], (2, -1)).T
    pairs = [tied_pairs(low, high, gamma_squared) for low, high in counts.tolist()]
    numbers = [len(members) for members in pairs]
    present = counts if len(counts) == 1 else np.repeat(counts, numbers, axis=0)
    integrals = pair_integrals(np.concatenate(pairs), present, alpha, quadrature)
    log_marginal, ends = integrals.log_marginal, accumulate(numbers, initial=0)
    sums = [np.logaddexp.reduce(log_marginal[i:j], axis=0) for i, j in pairwise(ends)]
    return np.reshape(sums, (*np.shape(n0), -1))


def _retained_adaptively(n0: int, n1: int, limit, alpha, quadrature: str) -> float:
    """P(|COR| > gamma given alpha) for any n, by panels in arcsin sqrt theta."""

    def values(theta, complement):
        out = np.empty(len(theta))
        kernel.retained_probabilities(alpha, theta, complement, n0, limit, out)
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
    integral = 0.0
    for _ in range(40):
        total = integral + sum(value for _, _, value in work)
        finer: list[tuple[float, float, float]] = []
        for low, high, value in work:
            middle = (low + high) / 2
            halves = (low, middle, panel(low, middle)), (middle, high, panel(middle, high))
            better = halves[0][2] + halves[1][2]
            # what is below 1e-12 in all has no say in log(1 - total)
            if abs(better - value) <= TOLERANCE / 10 * max(total, 1e-12):
                integral += better
            else:
                finer.extend(halves)
        if not finer:
            return integral
        work = finer
    raise ThesiskitError("the integral of the adjustment factor over theta did not converge")


def _tables_of(
    counts: Sequence[Sequence[int]], alpha: np.ndarray, quadrature: str
) -> Iterator[tuple[slice, CountTables]]:
    """Yield tables for some alphas at a time, as many as TABLE_BYTES allow; for all of one row."""
    most, step = max(map(sum, counts)), len(alpha)
    if len(counts) > 1:
        nodes = len(theta_rule(quadrature, most).theta)
        size = sum(8 * (n + 1) * nodes for column in zip(*counts, strict=True) for n in set(column))
        step = max(1, int(TABLE_BYTES // (2 * size)))
    for start in range(0, len(alpha), step):
        part = alpha[start : start + step]
        yield slice(start, start + len(part)), _tables(most, quadrature, part.tobytes())


@lru_cache(maxsize=4)  # two class counts of leave-one-out, two rules
def _tables(most: int, quadrature: str, alpha: bytes) -> CountTables:
    points, rule = np.frombuffer(alpha), theta_rule(quadrature, most)

    @cache
    def plain(n: int) -> np.ndarray:
        table = np.empty((len(points), n + 1, len(rule.theta)))
        kernel.fill_count_probabilities(points, rule.theta, rule.complement, n, table)
        return table

    return CountTables(rule, plain, cache(lambda n: plain(n) * rule.weight))
