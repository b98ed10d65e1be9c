"""Models with Gaussian priors as Gaussian processes: no patterns, only cases and what they share.

| symbol | name | shape |
|---|---|---|
| l(x, beta) of R distinct cases | `latent` | (S, R), S = 1 for two classes, else K |
| sigma_o | `exp(log_sigma)` | (O + 1,) |
| h, what two cases share | `agreement` | (n, m) |
| how many patterns of order o express two cases that share h | `shared_patterns` | (h, o) |
| Cov(l(x), l(x')), the sum over o of sigma_o^2 times that | `covariance` | (n, m) |

The models are those of sections "Bayesian Logistic Sequence Prediction Models" and "Application to
Logistic Classification Models" with Gaussian priors: the linear function is a sum of independent
Gaussians, one for each pattern.  Histories share the patterns up to the length of their common
recent past, one of each order; cases that agree in h features share C(h, o) of order o.  That the
sum over all patterns is this process is our own remark, not the thesis's.  It takes neither
compressing nor splitting.

The sampler works with steps, independent combinations of the values of `latent`, each of which
does not feel the sigmas below its level.  Steps, unlike values, are never nearly collinear: one
sigma of 1e7 beside another of 1e-2, which the priors expect, costs no digits, and no jitter is
needed.  The exception is a case with missing features, which high orders leave out: where a sigma
is 1e5 or more times that of a lower order, its latent value can have fewer than six digits.  In
training, such sigmas count as impossible (LEAST_PIVOT); in predictions they are let pass.

Memory is of the order R^2, for features R^2 (O + 3).  A change of latent costs R^2, an evaluation
of a sigma R^3 / 3 (about seven for each of two updates of each sigma in an iteration), a draw in
predictions R^3 / 3.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, special
from threadpoolctl import threadpool_limits

from thesiskit.errors import DataError, UserError
from thesiskit.models import chains, logistic
from thesiskit.models.base import PatternTraining, check, shaped, whole
from thesiskit.models.chains import Arrays, MarkovChain, Named
from thesiskit.models.logistic import Logistic
from thesiskit.models.patterns import MISSING, check_order
from thesiskit.models.ranks import Ranks
from thesiskit.models.splitting import expected_logistic_gaussian, in_parts

# ---- what cases share, and independent steps between their values ----

MOST_ROWS = 10_000  # of histories: 2.4 GB; fewer of features, for as much
ROUNDING = 1e-11  # of counts of shared patterns, relative to the largest
Relation = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def agreement(X, Y=None, patterns: str = "sequences") -> np.ndarray:
    """Return what cases X (n, p) and Y (m, p) share, (n, m); Y is X where it is not given.

    Of histories, columns in time order, the length of their common recent past.  Of features, in
    how many they agree: those of negative code (missing, unseen) agree with no other case's, and a
    case agrees with itself in all that are not missing.
    """
    X = np.asarray(X)
    other = X if Y is None else np.asarray(Y)
    shared = np.zeros((len(X), len(other)), dtype=np.int32)
    if patterns == "features":
        for mine, theirs in zip(X.T, other.T, strict=True):
            shared += (mine[:, None] == theirs) & (mine[:, None] >= 0)
        if Y is None:
            np.fill_diagonal(shared, (X != MISSING).sum(axis=1))
        return shared
    same = np.ones(shared.shape, dtype=bool)
    for t in reversed(range(X.shape[1])):
        same &= X[:, t, None] == other[None, :, t]
        if not same.any():
            break
        shared += same
    return shared


def shared_patterns(most: int, order: int, patterns: str = "sequences") -> np.ndarray:
    """Return how many patterns of order o express two cases that share h, (most + 1, O + 1)."""
    h, o = np.arange(most + 1)[:, None], np.arange(order + 1)
    return special.comb(h, o) if patterns == "features" else (o <= h).astype(float)


def covariance(shared, sigma, patterns: str = "sequences") -> np.ndarray:
    """Return Cov(l(x), l(x')), of the shape of `shared`, the agreement of x and x'.

    sigma (O + 1,).
    """
    sigma = np.asarray(sigma, dtype=float)
    return (shared_patterns(np.max(shared), len(sigma) - 1, patterns) @ sigma**2)[shared]


class Sequences:
    """Distinct histories, sorted by their most recent states, and steps between them.

    rows (R, O) in time order; row_of (N,).  A step is the difference of a value of latent and the
    one before it, the first one's from 0: it does not feel the sigmas of what its two rows share.
    Sums of sigma_o^2 over orders i..O are called the tail at i, (O + 2,).
    """

    words = ("histories", "states")

    def __init__(self, X: np.ndarray, order: int):
        recent = X[:, ::-1][:, :order]  # the first column most recent: it sorts first
        rows, self.row_of = _distinct(recent, MOST_ROWS, "histories")
        self.rows = rows[:, ::-1]
        # Cov(step i, step j), i < j, is minus the sum of sigma_o^2 over the orders that rows i and
        # j - 1 share, but neither i - 1 and i, nor j - 1 and j.  Orders are those from 1 + length.
        shared = agreement(self.rows) + 1
        self.begin = np.append(0, np.diagonal(shared, 1))
        common = np.zeros_like(shared)
        common[:, 1:] = np.triu(shared[:, :-1])
        low = np.maximum.outer(self.begin, self.begin)
        self.place = low * np.intp(order + 2) + np.maximum(np.maximum(common, common.T), low)

    def latent(self, steps: np.ndarray) -> np.ndarray:
        """Return values (S, R) from steps."""
        return np.cumsum(steps, axis=1)

    def steps(self, latent: np.ndarray) -> np.ndarray:
        """Return steps (S, R) from values."""
        return np.diff(latent, axis=1, prepend=0)

    def tail(self, log_sigma: np.ndarray) -> np.ndarray:
        """Return sums of sigma_o^2 over o = i..O for i = 0..O + 1, (O + 2,)."""
        return np.append(np.cumsum(np.exp(2 * log_sigma[::-1]))[::-1], 0)

    def step_covariance(self, log_sigma: np.ndarray) -> np.ndarray:
        """Return the covariance of the steps, (R, R)."""
        tail = self.tail(log_sigma)
        matrix = np.subtract.outer(-tail, -tail).take(self.place)  # tail[high] - tail[low]
        np.fill_diagonal(matrix, np.append(tail[0], 2 * tail[self.begin[1:]]))
        return matrix

    def towards(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, Relation]:
        """Return how l of histories X (T, L) depends on the steps: see `Features.towards`."""
        recent, case_of = np.unique(
            X[:, X.shape[1] - self.rows.shape[1] :], axis=0, return_inverse=True
        )
        length = agreement(recent, self.rows)
        # what matters of a history: a row that is nearest to it, and the length they share
        pairs = np.stack([length.argmax(axis=1), length.max(axis=1)], axis=1)
        pairs, pair_of = np.unique(pairs, axis=0, return_inverse=True)
        nearest, begin = pairs[:, 0], pairs[:, 1] + 1
        reach = np.maximum(agreement(self.rows[nearest], self.rows) + 1, begin[:, None])

        def rest(log_sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            # e = l(x) - l(nearest) has Cov(e, l(row)) = - sum of sigma_o^2 over begin..reach - 1
            tail = self.tail(log_sigma)
            cross = np.diff(tail[reach] - tail[begin][:, None], axis=1, prepend=0)
            return cross, 2 * tail[begin]

        part = np.tri(len(self.rows))[nearest]
        return pair_of.reshape(-1)[case_of.reshape(-1)], part, rest


class Features:
    """Distinct rows of features, and steps, by what orders they feel.

    rows (R, p), row_of (N,).  Level by level, for o = 0..O, `basis` (R, r) has orthonormal
    combinations of rows that order o moves and no order below it does; what no order moves is
    always 0, and left out.  counts (O + 1, r, r): shared patterns of order o of two steps, 0 where
    one is of a higher level.
    """

    words = ("cases", "features")

    def __init__(self, X: np.ndarray, order: int):
        most = int(MOST_ROWS * np.sqrt(3 / (order + 3)))  # matrices of R^2 numbers
        self.rows, self.row_of = _distinct(X, most, "cases")
        if X.min(initial=0) < MISSING:
            raise DataError(f"features of training cases have codes from 0, or {MISSING}: missing")
        self.table = shared_patterns(X.shape[1], order, "features")
        shared = agreement(self.rows, patterns="features")
        free = np.eye(len(self.rows))
        levels = []
        for o in range(order + 1):
            if not free.size:
                break
            counts = self.table[:, o][shared]
            size, vectors = linalg.eigh(free.T @ counts @ free)
            moved = size > ROUNDING * np.trace(counts)  # the others are 0: counts are whole numbers
            levels.append(free @ vectors[:, moved])
            free = free @ vectors[:, ~moved]
        self.basis = np.hstack(levels)
        self.level = np.repeat(np.arange(len(levels)), [part.shape[1] for part in levels])
        felt = np.maximum.outer(self.level, self.level)
        self.counts = np.array(
            [
                np.where(felt <= o, self.basis.T @ self.table[:, o][shared] @ self.basis, 0)
                for o in range(order + 1)
            ]
        )

    def latent(self, steps: np.ndarray) -> np.ndarray:
        """Return values (S, R) from steps (S, r)."""
        return steps @ self.basis.T

    def steps(self, latent: np.ndarray) -> np.ndarray:
        """Return steps (S, r) from values (S, R)."""
        return latent @ self.basis

    def step_covariance(self, log_sigma: np.ndarray) -> np.ndarray:
        """Return the covariance of the steps, (r, r)."""
        return np.tensordot(np.exp(2 * log_sigma), self.counts, 1)

    def towards(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, Relation]:
        """Return how l of cases X (n, p) depends on the steps: index, part, rest.

        Case i is the T-distinct one index[i]; l of these is part (T, r) times the steps, plus
        what rest(log_sigma) gives the covariance with the steps (T, r), and the variance (T,) of.
        """
        X, case_of = np.unique(X, axis=0, return_inverse=True)
        shared, present = agreement(X, self.rows, "features"), (X != MISSING).sum(axis=1)
        part = np.zeros((len(X), len(self.level)))
        cross = np.empty((len(self.counts), *part.shape))
        own = self.table[present].T.copy()
        # Level by level take away what steps say of l(x), as if each sigma were far above the
        # next: what then feels no order is 0, for rows seen in training, at any sigma.
        known = np.ones(len(X), dtype=bool)
        for o, counts in enumerate(self.counts):
            at = self.level == o
            before = self.table[:, o][shared] @ self.basis
            left = before - part @ counts
            part[:, at] = np.linalg.solve(counts[np.ix_(at, at)], left[:, at].T).T
            cross[o] = before - part @ counts
            own[o] -= (part * (before + cross[o])).sum(axis=1)
            known &= own[o] <= ROUNDING * self.table[-1, o]
            cross[o, known] = own[o, known] = 0

        def rest(log_sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            variance = np.exp(2 * log_sigma)
            return np.tensordot(variance, cross, 1), variance @ own

        return case_of.reshape(-1), part, rest


KINDS: dict[str, type[Sequences | Features]] = {"sequences": Sequences, "features": Features}


def as_codes(X, name: str, columns: str) -> np.ndarray:
    """Return cases (n, p) as an array of whole numbers, or say what is wrong with them."""
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"{name} must be a table (cases, {columns}), got shape {X.shape}")
    if X.dtype.kind not in "iub":
        raise DataError(f"{name} must be whole numbers from 0; encode other {columns}")
    return X


def _distinct(X: np.ndarray, most: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted distinct rows, and which of them each row is."""
    rows, row_of = np.unique(X, axis=0, return_inverse=True)
    if len(rows) > most:
        raise UserError(
            f"{len(rows)} distinct {name} are more than {most}, the most of a Gaussian process; "
            "use a lower order or the compressed model"
        )
    return rows, row_of.reshape(-1)


# ---- Gibbs sampling: the latent of each class, then each sigma ----

# of draws (I, ...), what is judged of them, (I, Q), and the names of that, (Q,)
Judged = tuple[Callable[[Arrays], np.ndarray], list[str]]
LATENT_UPDATES = 10  # in an iteration, for each class
KEPT = ("latent", "log_sigma", "log_likelihood")
FARTHEST = 300.0  # abs log sigma: beyond, squares overflow
LEAST_PIVOT = 1e-10  # share of a step's variance that the steps before it leave


class Process:
    """PatternTraining cases, as Sequences or Features, and responses.

    cases (R, K), how many of each distinct row have each response; settings.
    """

    def __init__(
        self,
        X,
        response,
        n_classes: int,
        order: int,
        settings: Logistic,
        patterns: str = "sequences",
    ):
        if settings.cauchy:
            raise UserError(
                "a Gaussian process has Gaussian priors; use prior: gaussian, or the compressed "
                "model for Cauchy priors"
            )
        if patterns not in KINDS:
            raise UserError(f"unknown patterns {patterns!r}; choose sequences or features")
        self.patterns, self.words = patterns, KINDS[patterns].words
        X, response = as_codes(X, *self.words), np.asarray(response)
        self.width = X.shape[1]
        order = check_order(order, self.width, patterns)
        if len(response) != len(X) or not len(X):
            raise UserError(f"{len(X)} {self.words[0]} but {len(response)} responses")
        if n_classes < 2:
            raise UserError("the responses are all of one class; there is nothing to predict")
        if response.dtype.kind not in "iu" or response.min() < 0 or response.max() >= n_classes:
            raise DataError(f"responses must be whole numbers from 0 to {n_classes - 1}")
        logistic.check_sigma(settings.sigma, order)
        self.order, self.settings, self.n_classes = order, settings, n_classes
        self.inputs: Sequences | Features = KINDS[patterns](X, order)
        self.rows = self.inputs.rows
        self.cases = np.zeros((len(self.rows), n_classes))
        np.add.at(self.cases, (self.inputs.row_of, response), 1)
        self.sets = 1 if n_classes == 2 else n_classes

    def factor(self, log_sigma: np.ndarray) -> np.ndarray | None:
        """Return the lower Cholesky factor of the steps' covariance, or None where digits fail."""
        if np.abs(log_sigma).max() > FARTHEST:
            return None
        matrix = self.inputs.step_covariance(log_sigma)
        variance = np.diagonal(matrix).copy()
        try:
            factor = linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        return None if (np.diagonal(factor) ** 2 < LEAST_PIVOT * variance).any() else factor

    def log_likelihood(self, steps: np.ndarray) -> float:
        """Return log P(responses given latent), by its steps."""
        latent = self.inputs.latent(steps)
        if self.sets == 1:
            latent = np.concatenate([np.zeros_like(latent), latent])
        log_total = np.logaddexp.reduce(latent, axis=0)
        return float((self.cases.T * (latent - log_total)).sum())

    def log_prior(self, order: int, log_sigma: float) -> float:
        """Return the log density of log sigma_o, from eqn-cc-prior, up to a constant."""
        shape = self.settings.sigma_shape  # not by the settings' rates: this is their oracle
        rate = (shape + 1) * self.settings.sigma_mode / order
        with np.errstate(over="ignore"):
            return float(-shape * log_sigma - rate * np.exp(-log_sigma))

    def towards(self, X) -> tuple[np.ndarray, np.ndarray, Relation]:
        """Return how l of test cases X (n, p) depends on the steps: see `Features.towards`."""
        X = as_codes(X, f"test {self.words[0]}", self.words[1])
        if X.shape[1] != self.width:
            raise UserError(
                f"training {self.words[0]} have {self.width} {self.words[1]}, these {X.shape[1]}"
            )
        return self.inputs.towards(X)

    @property
    def identity(self) -> dict[str, Any]:
        """What chains must have in common to be continued."""
        data = hashlib.sha256(np.ascontiguousarray(self.rows, dtype=np.int64).tobytes())
        data.update(self.cases.tobytes())
        sizes = {"order": self.order, "classes": self.n_classes, "rows": len(self.rows)}
        return self.settings.lasting | sizes | {"patterns": self.patterns, "data": data.hexdigest()}


class Chain(MarkovChain):
    """One chain: steps (S, r) and log_sigma (O + 1,), with the factor that belongs to them."""

    def __init__(self, process: Process, rng: np.random.Generator):
        super().__init__(rng, process.identity)
        self.process = process
        latent = np.zeros((process.sets, len(process.rows)))
        self.set(process.inputs.steps(latent), process.settings.start(process.order, rng))

    def set(self, steps: np.ndarray, log_sigma: np.ndarray) -> None:
        """Go to a place."""
        factor = self.process.factor(log_sigma)
        if factor is None:
            sigma = ", ".join(f"{one:.3g}" for one in np.exp(log_sigma))
            raise UserError(
                f"with sigma {sigma} and features missing, "
                "fewer than six digits are left; bring the sigmas nearer to each other"
            )
        self.steps, self.log_sigma, self.factor = steps.copy(), log_sigma.copy(), factor

    def update_latent(self) -> None:
        """Elliptical slice sampling of each class's latent (Murray, Adams and MacKay 2010)."""
        rng, log_likelihood = self.rng, self.process.log_likelihood
        for k in range(len(self.steps)):
            here, other = self.steps[k].copy(), self.factor @ rng.normal(size=len(self.factor))
            level = log_likelihood(self.steps) - rng.exponential()
            angle = rng.uniform(0, 2 * np.pi)
            low, high = angle - 2 * np.pi, angle
            while True:
                self.steps[k] = here * np.cos(angle) + other * np.sin(angle)
                if log_likelihood(self.steps) > level:
                    break
                low, high = (angle, high) if angle < 0 else (low, angle)
                angle = rng.uniform(low, high)

    def update_sigma(self, order: int, *, whitened: bool) -> None:
        """Slice sampling of log sigma_o given the latent, or given the whitened latent.

        The latent is the factor times whitened numbers, which are independent standard normal.
        """
        rng, process, settings = self.rng, self.process, self.process.settings
        here, step = self.log_sigma[order], settings.sigma_step
        white = _solved(self.factor, self.steps.T)

        def move(x: float) -> tuple[float, np.ndarray, np.ndarray]:
            log_sigma = self.log_sigma.copy()
            log_sigma[order] = x
            factor = self.factor if x == here else process.factor(log_sigma)
            if factor is None:
                return -np.inf, self.steps, self.factor
            if whitened:
                steps = white.T @ factor.T
                return process.log_prior(order, x) + process.log_likelihood(steps), steps, factor
            z = _solved(factor, self.steps.T)
            density = -0.5 * (z**2).sum() - len(self.steps) * np.log(np.diagonal(factor)).sum()
            return process.log_prior(order, x) + density, self.steps, factor

        level = move(here)[0] - rng.exponential()
        low = here - step * rng.random()
        high = low + step
        left = int(rng.integers(settings.most_steps))
        right = settings.most_steps - 1 - left
        while left > 0 and move(low)[0] > level:
            low, left = low - step, left - 1
        while right > 0 and move(high)[0] > level:
            high, right = high + step, right - 1
        while True:
            x = rng.uniform(low, high)
            density, steps, factor = move(x)
            if density > level:
                break
            low, high = (x, high) if x < here else (low, x)
        self.log_sigma[order], self.steps, self.factor = x, steps, factor

    def advance(self, iterations: int) -> Arrays:
        """Go on, and return the draws kept."""
        settings, kept = self.process.settings, []
        for _ in range(iterations):
            for _ in range(LATENT_UPDATES):
                self.update_latent()
            if settings.sigma is None:
                for order in range(1, self.process.order + 1):
                    self.update_sigma(order, whitened=False)
                    self.update_sigma(order, whitened=True)
            self.done += 1
            after = self.done - settings.burn_in
            if after > 0 and after % settings.thin == 0:
                log_likelihood = self.process.log_likelihood(self.steps)
                latent = self.process.inputs.latent(self.steps)
                kept.append((latent, self.log_sigma.copy(), log_likelihood))
        shapes = ((self.process.sets, len(self.process.rows)), self.log_sigma.shape, ())
        return {
            name: np.array([draw[i] for draw in kept]).reshape(len(kept), *shapes[i])
            for i, name in enumerate(KEPT)
        }

    @property
    def place(self) -> Arrays:  # type: ignore[override]
        """Where the chain is."""
        return {"steps": self.steps, "log_sigma": self.log_sigma}

    def restore(self, state: Arrays) -> None:
        """Go back to a state."""
        if str(state["model"]) != json.dumps(self.identity):
            raise UserError("the stored chains are of other data or settings; start anew")
        super().restore(state)
        self.set(self.steps, self.log_sigma)


def _solved(factor: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return z (R, S) with factor z = values, for a lower triangular factor."""
    return linalg.solve_triangular(factor, values, lower=True, check_finite=False)


@dataclass(frozen=True)
class Draws:
    """What C chains left, D draws each.

    latent (C, D, S, R), log_sigma (C, D, O + 1), log_likelihood (C, D); `state`, from which the
    chains go on; of chains that ran until they agree, `judgement` says what they reached.
    """

    latent: np.ndarray
    log_sigma: np.ndarray
    log_likelihood: np.ndarray
    process: Process
    state: Arrays = field(repr=False)
    judgement: chains.Judgement | None = None

    def posterior(self, model: GaussianProcess, training: PatternTraining) -> Posterior:
        """Return the draws as predictions need them."""
        return Posterior(self.process, *self.flat)

    @property
    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Latent (C D, S, R) and log sigma (C D, O + 1) of all draws in a row."""
        return logistic.flat(self.latent, self.log_sigma)

    evaluations = np.full(2, np.nan)  # of what is not sampled here

    @property
    def saved(self) -> Arrays:
        """What `sample` takes as `saved`, to go on."""
        return self.state

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return R-hat and effective sample size of the log likelihood and of log sigmas."""
        parts = [self.log_likelihood[:, :, None], self.log_sigma[:, :, 1:]]
        return chains.compare_chains(np.concatenate(parts, axis=2))

    def as_arviz(self, diagnostics: Named, attributes: dict[str, Any]):
        """Return ArviZ data: draws, and the state of the chains."""
        groups: dict[str, Named] = {
            "posterior": {
                "latent": (("set", "row"), self.latent),
                "log_sigma": (("order",), self.log_sigma),
            },
            "sample_stats": {"log_likelihood": ((), self.log_likelihood)},
        }
        dimensions = {"steps": ("set", "step"), "log_sigma": ("order",)}
        state = chains.named_state(self.state, dimensions, groups, self.judgement)
        return chains.as_tree(groups, state | diagnostics, attributes)


def sample(
    process: Process,
    generators: list[np.random.Generator],
    *,
    judged: Judged | None = None,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    jobs: int | None = None,
) -> Draws:
    """Run one chain for each generator, in threads, of which there are `jobs`.

    Of the settings of the process, those that concern coefficients (step, sigma_scale,
    sigma_updates, joint_updates) do not matter.  With `until`, `judged` says what is judged:
    `judged_at` some cases.  `save` and `saved` are as in `logistic.sample`; at the end they are
    `Draws.state`.  Raises UserError for `saved` of other data or settings.
    """
    settings = process.settings
    started = [Chain(process, rng) for rng in generators]
    if saved is not None:
        chains.check_saved(saved, len(started), settings.iterations)
    rule = None
    if settings.until is not None:
        if judged is None:
            raise UserError("until needs cases whose predictions the chains have to agree in")
        rule = chains.Rule(
            chains.Until(*settings.until), *judged, dict.fromkeys(KEPT, float), len(started),
            numbers=process.sets * len(process.rows),
        )  # fmt: skip
    with threadpool_limits(1):  # small matrices: threads of their own only get in the way
        parts = chains.run(
            started, settings.iterations, saved=saved, save=save, jobs=jobs, rule=rule
        )
    state = chains.states(started, started[0].done) | chains.numbered(parts)
    drawn = {name: np.stack([part[name] for part in parts]) for name in KEPT}
    judgement = None if rule is None else rule.judge(parts)
    return Draws(process=process, state=state, judgement=judgement, **drawn)


def saved_from(arrays: Arrays) -> Arrays:
    """Return what `sample` takes as `saved`, from the arrays of `Draws.as_arviz`."""
    drawn = [{name: arrays[name][c] for name in KEPT} for c in range(len(arrays["latent"]))]
    return chains.from_named(arrays, drawn)


# ---- predictions ----

ALONE = 10  # values at least of each draw for more than two classes, for a case alone


@dataclass(frozen=True)
class Posterior:
    """Draws, as predictions need them: latent (D, S, R) and log_sigma (D, O + 1)."""

    process: Process
    latent: np.ndarray
    log_sigma: np.ndarray

    def given(self, part: np.ndarray, rest: Relation) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield means (S, n) and standard deviations (n,) of l(x) given each draw.

        part, rest : as `Process.towards` returns them.
        """
        process, last = self.process, None
        for latent, log_sigma in zip(self.latent, self.log_sigma, strict=True):
            if last is None or (log_sigma != last).any():
                last, factor = log_sigma, process.factor(log_sigma)
                if factor is None:  # of no chain: chains stay where there are digits
                    raise UserError("the draws of sigma leave too few digits to predict with")
                cross, variance = rest(log_sigma)
                weights = linalg.solve_triangular(factor, cross.T, lower=True)
                sd = np.sqrt(np.maximum(variance - (weights**2).sum(axis=0), 0))
            steps = process.inputs.steps(latent)
            solved = linalg.solve_triangular(factor, steps.T, lower=True)
            yield steps @ part.T + solved.T @ weights, sd

    def predict(
        self, X, rng: np.random.Generator, split_draws: int | str = 1, shared=None, *, alone=False
    ) -> np.ndarray:
        """Return P(class) for test cases X (n, p), (n, K), averaged over the draws.

        Given a draw, l(x) is Gaussian: its logistic function is integrated exactly, and for more
        than two classes the softmax is averaged over `split_draws` values.  States or features may
        be unseen (any negative code of a history, a code below MISSING of a feature).

        alone : all cases have the same random numbers, so that none depends on which others there
            are.
        """
        split_draws = 1 if split_draws == "exact" else whole("split_draws", split_draws)
        index, part, rest = self.process.towards(X)
        total = np.zeros((len(part), self.process.n_classes))
        for mean, sd in self.given(part, rest):
            if self.process.sets == 1:
                one = expected_logistic_gaussian(mean[0], sd)
                total += np.stack([1 - one, one], axis=1)
                continue
            shape = (len(mean), 1) if alone else mean.shape
            for (some,) in in_parts(split_draws, inner=mean.size):
                values = mean + sd * rng.normal(size=(some.stop - some.start, *shape))
                total += special.softmax(values, axis=1).sum(axis=0).T / split_draws
        return (total / total.sum(axis=1, keepdims=True))[index]

    def probabilities(self, X, rng: np.random.Generator) -> np.ndarray:
        """Return draws of P(class) for test cases X (n, p), one for each of the draws, (D, n, K).

        `predict` has their mean.  Given a draw, cases are drawn independently of one another: each
        has the right distribution, several together do not.
        """
        index, part, rest = self.process.towards(X)
        found = []
        for mean, sd in self.given(part, rest):
            values = mean + sd * rng.normal(size=mean.shape)
            if self.process.sets == 1:
                values = np.concatenate([np.zeros_like(values), values])
            found.append(special.softmax(values, axis=0).T)
        return np.array(found)[:, index]

    def tested(self, codes, response, rng: np.random.Generator, shared=None) -> Arrays:
        """Return what is predicted of test cases (T, p): probability (T, K)."""
        return {"probability": self.predict(codes, rng, self.process.settings.split_draws)}

    def predict_alone(self, codes: np.ndarray, seed: int) -> Arrays:
        """Return the probability (T, K) of each case (T, p), whatever other cases there are."""
        splits = self.process.settings.split_draws
        many = ALONE if splits == "exact" else max(ALONE, int(splits))
        rng = np.random.default_rng(seed)
        return {"probability": self.predict(codes, rng, many, alone=True)}

    def saved(self) -> tuple[dict[str, Any], Arrays]:
        """Return what of it a model file has, besides the training cases: for `restored`."""
        model = self.process.settings
        settings = {n: value for n, value in asdict(model).items() if n not in logistic.OF_ARMS}
        about = {"order": model.order, "split_draws": model.split_draws, "settings": settings}
        return about, {"latent": self.latent, "log_sigma": self.log_sigma}

    def ranks(self, truth: Arrays, case: np.ndarray, rng: np.random.Generator) -> Ranks:
        """Compare the truth with draws: log sigma_1 and P(last class) of a case."""
        p = self.probabilities(case[None], rng)[:, 0, -1]
        named = {"log sigma_1": self.log_sigma[:, 1], "predictive probability": p}
        return logistic.ranked(named, truth, rng)


def judged_at(process: Process, X, *, test: bool) -> Judged:
    """Return what chains have to agree in: log likelihood, and predictions for some of X (n, p).

    These are rounded probabilities of a class given each draw, as of `logistic`.
    test : whether X has test cases, or training cases.
    """
    X = np.asarray(X)
    place, names = chains.judged_cases(X, "test" if test else "training")
    index, part, rest = process.towards(X[place])

    def quantities(drawn: Arrays) -> np.ndarray:
        posterior = Posterior(process, drawn["latent"], drawn["log_sigma"])
        means = [mean[:, index] for mean, _ in posterior.given(part, rest)]
        linear = np.array(means).reshape(len(means), process.sets, len(index))
        return np.column_stack([drawn["log_likelihood"], logistic.judged_probabilities(linear)])

    return quantities, ["log likelihood", *names]


# ---- the model, as experiments, estimators and model files know it ----


@dataclass(frozen=True)
class GaussianProcess(Logistic):
    """A logistic model with Gaussian priors, as a Gaussian process: it has no groups."""

    engine, grouped = "gp", False
    only = {
        "prior": ["gaussian"], "compress": [False], "sigma_scale": ["log"], "joint_updates": [1],
    }  # fmt: skip
    saved_from = staticmethod(saved_from)

    @property
    def name(self) -> str:
        """What files and tables call it."""
        return f"{self.order}-{self.prior}-process"

    def process(self, training: PatternTraining) -> Process:
        """Return the training cases and responses."""
        return Process(
            training.codes, training.response, training.classes, int(self.order), self,
            training.patterns.kind,
        )  # fmt: skip

    def sample(self, training, generators, **options) -> Draws:
        """Return the draws of a chain for each generator."""
        process, judged, tests = self.process(training), None, training.tests
        if self.until is not None:
            some = training.codes if tests is None else tests
            judged = judged_at(process, some, test=tests is not None)
        return sample(process, generators, judged=judged, **options)

    def separated(self, training: PatternTraining, draws: Draws) -> bool:
        """Whether draws prove that patterns separate the classes of all cases completely."""
        return logistic.separates(draws.flat[0], draws.process.cases)

    def needs(self, cases: int, classes: int, tests: int) -> tuple[int, int, int]:
        """Return the bytes of draws on disk and in memory, and the iterations of all chains."""
        kept, sets = self.most_kept, classes - (classes == 2)
        if self.until is not None:
            kept = min(kept, chains.most_kept(self.chains, sets * cases))
        latent = self.chains * kept * sets * 4 * cases
        return latent, latent + 8 * cases**2, super().needs(cases, classes, tests)[2]

    def posterior(self, training: PatternTraining, drawn: Arrays) -> Posterior:
        """Return the draws of chains, of a file, as predictions need them."""
        latent, log_sigma = logistic.flat(drawn["latent"], drawn["log_sigma"])
        return Posterior(self.process(training), latent, log_sigma)

    @classmethod
    def restored(
        cls, about: dict[str, Any], arrays: Arrays, training: PatternTraining
    ) -> Posterior:
        """Return the posterior that `Posterior.saved` described; ValueError if damaged."""
        splits = logistic.checked_splits(about["split_draws"])
        model = cls(**about["settings"] | {"order": about["order"], "split_draws": splits})
        process = model.process(training)
        stored = {"latent": (float, "D S R"), "log_sigma": (float, "D O")}
        sizes = {"S": process.sets, "R": len(process.rows), "O": about["order"] + 1}
        drawn = shaped(arrays, stored, **sizes)
        check(len(drawn["log_sigma"]))
        check((np.abs(drawn["latent"]) < logistic.LARGEST).all())
        check(logistic.bounded(drawn["log_sigma"]))
        return Posterior(process, **drawn)
