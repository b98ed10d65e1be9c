"""The binary mixture model of selected features: tables, log posterior and predictions.

| thesis | name | shape |
|---|---|---|
| f_0, f_1 | `class_prior`, the Beta prior of psi = P(z = 1) | pair |
| a, b of alpha; of alpha_0 | `alpha_prior`, `response_alpha_prior` | pairs |
| z^train | `labels` | (n,) |
| x_0^train | `response` | (n,) |
| I_{1,j} + I_{0,j} | `totals` | (k,) |
| n_y^[z] | `counts[z][y]` | (2, 2) |
| P(S given labels, alpha) = q^(p - k) | log q is `log_discard_probability` | (K,) |

Section "Application to Bayesian Mixture Models" and appendix 2 of chapter 2.  After integration
over phi and theta, the posterior depends on a feature only through its number of ones in all cases
and in component 1.  The adjustment factor (adjust-factor-mix) depends on the labels through four
counts, two of which are free.  Both are kept in tables by component size and alpha; an entry is
computed when it is first needed (kernel `mixture`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import index

import numpy as np
from scipy import special

from thesiskit._kernels import mixture as kernel  # type: ignore[attr-defined]
from thesiskit.errors import DataError, UserError
from thesiskit.models.integrals import alpha_points
from thesiskit.models.naive_bayes import as_probability
from thesiskit.models.packed import as_bits
from thesiskit.models.priors import (
    MOST_POINTS,
    InverseGamma,
    check_alpha_prior,
    check_class_prior,
    whole,
)
from thesiskit.models.quadrature import check_rule, theta_rule
from thesiskit.models.selection import as_gamma_squared, reach

MOST_CASES = 600  # beyond, the tables' recurrences underflow
BLOCK_BYTES = 3 << 26  # of marginals at nodes for alpha kept, by each thread
POOL_BYTES = 1 << 27  # of marginals at points of the grid
KEPT = 4  # sets of marginals, and of adjustment factors, of different data
LEAST_POWER = 0.02  # of the likelihood, in the hottest replica
REPLICAS, MOST_TEMPERED = 4, 250  # so many up to that many training cases, then 1
DEFAULTS = {
    "collapsed": {"chains": 4, "iterations": 400, "burn_in": 100, "alpha_points": 200},
    # section "A Simulation Experiment", mixture; how many are dropped it does not say
    "thesis": {"chains": 1, "iterations": 50, "burn_in": 10, "alpha_points": 10},
    "as-printed": {"chains": 1, "iterations": 50, "burn_in": 10, "alpha_points": 10},
}
DRAWS = 64  # predicted from together


@dataclass(frozen=True)
class Settings:
    """Priors of the model and length of the chains.

    iterations is the number of all iterations of a chain, of which the first burn_in are not kept.
    replicas is the number of copies of a chain that are sampled at powers of the likelihood from 1
    down to LEAST_POWER.  Only the collapsed sampler has them: by default 4, and 1 beyond
    MOST_TEMPERED training cases, where their tables would cost too much.  None takes the default of
    the sampler, see DEFAULTS.  quadrature is the rule for theta in the adjustment factor.

    `as-printed` is the sampler of the thesis without the adjustment factor in its update of the
    labels.  It does not sample a posterior, but it gives the numbers that the thesis prints, so the
    thesis was probably computed with it.
    """

    class_prior: tuple[float, float] = (1.0, 1.0)
    alpha_prior: tuple[float, float] = (0.5, 5.0)
    response_alpha_prior: tuple[float, float] = (0.5, 5.0)
    sampler: str = "collapsed"
    chains: int = None  # type: ignore[assignment]
    iterations: int = None  # type: ignore[assignment]
    burn_in: int = None  # type: ignore[assignment]
    replicas: int | None = None
    alpha_points: int = None  # type: ignore[assignment]
    quadrature: str = "exact"

    def __post_init__(self):
        check_class_prior(self.class_prior)
        for name in ("alpha_prior", "response_alpha_prior"):
            check_alpha_prior(name, getattr(self, name))
        if not (isinstance(self.sampler, str) and self.sampler in DEFAULTS):
            raise UserError(
                f"unknown sampler {self.sampler!r}; choose one of {', '.join(DEFAULTS)}"
            )
        for name, default in DEFAULTS[self.sampler].items():
            value = getattr(self, name)
            if value is None:
                value = default
                if name == "burn_in" and self.iterations != DEFAULTS[self.sampler]["iterations"]:
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
        check_rule(self.quadrature)

    @property
    def samples_theta(self) -> bool:
        """Whether theta is part of the state of the chain."""
        return self.sampler != "collapsed"

    @property
    def kept(self) -> int:
        """Draws kept of each chain."""
        return self.iterations - self.burn_in

    @cached_property
    def alpha(self) -> np.ndarray:
        """The grid of alpha, (K,)."""
        return InverseGamma(*self.alpha_prior).midpoints(self.alpha_points)

    @cached_property
    def response_alpha(self) -> np.ndarray:
        """The grid of alpha_0, (K,)."""
        return InverseGamma(*self.response_alpha_prior).midpoints(self.alpha_points)


def check_cases(n: int) -> None:
    """Raise UserError if there are more training cases than the tables can have."""
    if n > MOST_CASES:
        raise UserError(
            f"the mixture model takes at most {MOST_CASES} training cases, got {n}; "
            "use fewer cases, or the naive Bayes model"
        )


def log_discard_probability(counts, gamma_squared, alpha, *, quadrature="exact") -> np.ndarray:
    """Return log P(|COR| <= gamma given labels, alpha) of one feature, (K,).

    Equations adjust-factor-mix, prob-n01-n11-z and prob-mix-n01-n11, theta integrated exactly.

    Parameters
    ----------
    counts : counts[z][y], the cases of class y in component z, whole numbers from 0.
    gamma_squared : Fraction, or pair of integers; compared with exactly.
    alpha : a positive number or (K,) of them.
    quadrature : "exact", or "simpson-11" to replicate the thesis.
    """
    alpha = alpha_points(alpha)
    try:
        table = [[index(value) for value in row] for row in counts]
    except TypeError:
        table = []
    if [len(row) for row in table] != [2, 2] or min(map(min, table)) < 0:
        raise UserError(f"counts must be counts[z][y], four whole numbers from 0, got {counts!r}")
    (c00, c01), (c10, c11) = table
    if c00 + c01 + c10 + c11 == 0:
        raise UserError("counts must not all be 0")
    tables = Tables(c00 + c01 + c10 + c11, alpha)
    found = tables.discards((c00 + c10, c01 + c11), gamma_squared, quadrature)
    result = np.empty(len(alpha))
    found.log_discards(c10, c11, result)
    return result


class Tables:
    """Tables of marginals and adjustment factors for n cases and a grid of alpha.

    They do not depend on the features, so all fits with the same number of cases can share them.
    Only one thread at a time may use them.
    """

    def __init__(self, n: int, alpha: np.ndarray, *, block_bytes: int = BLOCK_BYTES):
        check_cases(n)
        self.n, self.alpha, self.block_bytes = n, alpha, block_bytes
        self.node, self.interpolation = interpolation(alpha, n)
        self.log_factorial = special.gammaln(np.arange(n + 1) + 1.0)
        self._marginals: dict[bytes, tuple[kernel.Marginals, np.ndarray]] = {}
        self._counted: dict[str, tuple[kernel.Marginals, np.ndarray]] = {}
        self._discards: dict[tuple, kernel.Discards] = {}

    def marginals(self, totals: np.ndarray) -> tuple[kernel.Marginals, np.ndarray]:
        """Return log m of features with these sorted totals, and where the cells of each start."""
        return recent(
            self._marginals,
            totals.tobytes(),
            lambda: self._make_marginals(totals.astype(np.intp), "exact", False),
        )

    def _make_marginals(self, totals, quadrature: str, counted: bool):
        rule = theta_rule(quadrature, self.n)
        spare = -len(rule.theta) % 8
        start = np.concatenate([[0], np.cumsum(totals + 1)]).astype(np.intp)
        cells, sizes, J = max(int(start[-1]), 1), self.n // 2 + 1, self.interpolation.shape[1]
        points = 1 if counted else _fitting(POOL_BYTES, 8 * cells, sizes * len(self.alpha))
        made = kernel.Marginals(
            self.n,
            counted,
            self.node,
            self.interpolation,
            np.append(rule.theta, np.full(spare, 0.5)),
            np.append(rule.complement, np.full(spare, 0.5)),
            np.append(rule.weight, np.zeros(spare)),
            self.log_factorial,
            totals,
            start,
            np.zeros((_fitting(self.block_bytes, 8 * cells * J, sizes), cells, J)),
            np.full(sizes, -1, dtype=np.int32),
            np.empty((points, cells)),
            np.full((sizes, len(self.alpha)), -1, dtype=np.int32),
            np.empty((self.n + 1, len(rule.theta) + spare)),
            np.empty((self.n + 1, len(rule.theta) + spare)),
        )
        return made, start

    def discards(
        self, class_counts: tuple[int, int], gamma_squared, quadrature: str = "exact"
    ) -> kernel.Discards:
        """Return the adjustment factors for these class counts and this gamma."""
        gamma_squared = as_gamma_squared(gamma_squared)
        return recent(
            self._discards,
            (class_counts, gamma_squared, quadrature),
            lambda: self._make_discards(class_counts, gamma_squared, quadrature),
        )

    def _make_discards(self, class_counts, gamma_squared, quadrature) -> kernel.Discards:
        n0, n1 = class_counts
        sizes, J = self.n // 2 + 1, self.interpolation.shape[1]
        if quadrature not in self._counted:
            all_totals = np.arange(sizes)
            self._counted[quadrature] = self._make_marginals(all_totals, quadrature, True)
        marginals, start = self._counted[quadrature]
        return kernel.Discards(
            n0,
            n1,
            marginals,
            *_retained_from(n0, n1, gamma_squared),
            np.empty((n0 + 1, n1 + 1, len(self.alpha))),
            np.zeros((n0 + 1, n1 + 1), dtype=np.uint8),
            np.empty(int(start[-1])),
            np.empty(J),
            np.empty((self.n + 1, n1 + 1)),
            np.empty((self.n + 1, 2 * n1 + 1)),
            np.empty((self.n + 1, 2 * n1 + 1)),
        )


def recent(known: dict, key, make):
    """Return known[key], made if it is missing; remove entries that were not used lately."""
    value = known.pop(key) if key in known else make()
    known[key] = value
    if len(known) > KEPT:
        del known[next(iter(known))]
    return value


def _fitting(room: int, each: int, wanted: int) -> int:
    """Return how many fit into memory, from 1 to the number wanted."""
    return int(np.clip(room // each, 1, wanted))


def interpolation(alpha: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes for alpha, and the matrix (K, J) that takes values there to all alpha.

    Probabilities of counts are rational in alpha with poles, and zeros, among 0, ..., -(n - 1) or
    near them.  With u = log(alpha / (alpha + n)) these lie at a distance pi from the real line,
    and interpolation in Chebyshev nodes of u gains a digit with every two or three nodes.  J is
    the number of nodes, raised to a multiple of 8 by columns of zeros.
    """
    u = -np.log1p(n / alpha)
    low, high = u.min(), u.max()
    # the ellipse of Bernstein that stays clear of the poles promises a rate of the whole asinh
    count = int(40 / np.arcsinh(2 * np.pi / (high - low))) + 1 if high > low else 1
    if len(alpha) <= count:
        node, matrix = alpha, np.eye(len(alpha))
    else:
        angle = np.pi * (np.arange(count) + 0.5) / count
        v = (low + high) / 2 + (high - low) / 2 * np.cos(angle)
        difference = u[:, None] - v
        with np.errstate(divide="ignore", invalid="ignore"):
            matrix = (-1.0) ** np.arange(count) * np.sin(angle) / difference
            matrix /= matrix.sum(axis=1, keepdims=True)
        met = difference == 0
        matrix[met.any(axis=1)] = met[met.any(axis=1)]
        node = n / np.expm1(-v)
    return node, np.pad(matrix, ((0, 0), (0, -len(node) % 8)))


def _retained_from(n0: int, n1: int, gamma_squared: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each total s up to n / 2, the least I1 with Cor > gamma, the most with < -gamma.

    n1 + 1 and -1 where there is none.
    """
    limit = reach(n0, n1, gamma_squared)
    half = (n0 + n1) // 2 + 1
    high = np.full(half, n1 + 1, dtype=np.intp)
    low = np.full(half, -1, dtype=np.intp)
    for s in range(half):
        for i1 in range(max(0, s - n0), min(s, n1) + 1):
            if s - i1 <= limit[i1]:
                high[s] = min(high[s], i1)
            # H- is H+ with zeros and ones exchanged
            if n0 - (s - i1) <= limit[n1 - i1]:
                low[s] = i1
    return high, low


class Target:
    """The posterior of labels, alpha and alpha_0 given the kept features and their selection.

    Parameters
    ----------
    features : (n, k) of 0 and 1, the kept features of the training cases.
    response : (n,) of 0 and 1, both present.
    settings : priors.
    n_dropped, gamma_squared : how many features were left out, with COR^2 <= gamma_squared; 0 and
        None where there is nothing to correct for.
    """

    def __init__(self, features, response, settings: Settings, n_dropped=0, gamma_squared=None):
        bits = as_bits(np.asarray(features))
        if bits is None or bits.ndim != 2:
            raise DataError("features must be a (cases, features) table of 0 and 1")
        self.settings = settings
        self.features = bits
        self.response = np.ascontiguousarray(response, dtype=np.uint8)
        self.n, self.k = bits.shape
        check_cases(self.n)
        # exchanging 0 and 1 changes nothing in the model, so that at most half are ones
        self.exchanged = 2 * bits.sum(axis=0, dtype=np.intp) > self.n
        self.bits = np.ascontiguousarray(bits ^ self.exchanged)
        self.totals = self.bits.sum(axis=0, dtype=np.intp)
        n1 = int(self.response.sum())
        self.class_counts = (self.n - n1, n1)
        self.n_dropped = n_dropped
        self.gamma_squared = gamma_squared
        self.corrected = n_dropped > 0 and gamma_squared is not None

    @property
    def powers(self) -> np.ndarray:
        """Powers of the likelihood that replicas are sampled at, from 1 down, (replicas,)."""
        if self.settings.samples_theta:
            return np.ones(1)
        replicas = self.settings.replicas or (REPLICAS if self.n <= MOST_TEMPERED else 1)
        return np.geomspace(1, LEAST_POWER, replicas) if replicas > 1 else np.ones(1)

    @cached_property
    def log_prior(self) -> np.ndarray:
        """log P(labels) by size of component 1 (equation dir), (n + 1,)."""
        f0, f1 = self.settings.class_prior
        m = np.arange(self.n + 1)
        return special.betaln(f1 + m, f0 + self.n - m) - special.betaln(f1, f0)

    def oriented(self, features: np.ndarray) -> np.ndarray:
        """Return test features, (T, k) of 0 and 1, with 0 and 1 exchanged as in `bits`."""
        bits = as_bits(np.asarray(features))
        if bits is None or bits.ndim != 2 or bits.shape[1] != self.k:
            shape = np.shape(features)
            raise DataError(f"{self.k} features of 0 and 1 were kept; got a table of shape {shape}")
        return bits ^ self.exchanged

    def log_joint(self, draws, features) -> Iterator[np.ndarray]:
        """Yield log P(x*, y* given each draw), (T, 2, B), for test features (T, k), by blocks.

        draws is (labels (D, n), point (D, 2)), or has theta (D, k + 1) too.  Without theta, the
        probability is averaged over theta in closed form, which is possible because it is linear
        in theta.
        """
        bits = self.oriented(features).astype(float)
        rule = theta_rule("exact", self.n)
        half, nodes = self.n // 2, len(rule.theta)
        f0, f1 = self.settings.class_prior
        scratch = np.empty((3, self.n + 1, nodes))
        memo = np.empty(((half + 1) * (half + 2) // 2, 4))
        for start in range(0, len(draws[0]), DRAWS):
            labels, point, *theta = (one[start : start + DRAWS] for one in draws)
            B = len(labels)
            slope, base = np.empty((B, 2, self.k)), np.empty((B, 2))
            response = np.empty((B, 2, 2))
            kernel.fill_log_odds(
                self.bits,
                self.response,
                np.ascontiguousarray(labels),
                self.settings.alpha[point[:, 0]],
                self.settings.response_alpha[point[:, 1]],
                np.ascontiguousarray(theta[0]) if theta else np.empty((0, 0)),
                self.totals,
                rule.theta,
                rule.complement,
                rule.weight,
                scratch,
                memo,
                np.full(len(memo), -1, dtype=np.intp),
                np.empty(self.k, dtype=np.intp),
                slope,
                base,
                response,
            )
            size = labels.sum(axis=1, dtype=np.intp)
            base += np.log(np.stack([f0 + self.n - size, f1 + size], axis=1) / (f0 + f1 + self.n))
            given = (bits @ slope.reshape(2 * B, self.k).T).reshape(len(bits), B, 2) + base
            # over components: log sum of P(z*) P(y* given z*) P(x* given z*)
            yield np.stack(
                [np.logaddexp(*np.moveaxis(given + response[:, :, y], 2, 0)) for y in (0, 1)],
                axis=1,
            )

    def predict(self, draws, features) -> np.ndarray:
        """Return P(y* = 1) for each row of the kept features, (T, k) -> (T,).

        Joint probabilities of response and features are averaged over draws (as in log_joint),
        then divided (prob-pred-mix).
        """
        total = np.full((len(features), 2), -np.inf)
        for block in self.log_joint(draws, features):
            total = np.logaddexp(total, np.logaddexp.reduce(block, axis=2))
        return as_probability(total[:, 1] - total[:, 0])
