"""Sequence models with Gaussian priors as Gaussian processes: no patterns, only histories.

| symbol | name | shape |
|---|---|---|
| l(x, beta) of R distinct histories | `latent` | (S, R), S = 1 for two classes, else K |
| sigma_o | `exp(log_sigma)` | (O + 1,) |
| length of the common recent past, up to O | `agreement` | (n, m) |
| Cov(l(x), l(x')), the sum of sigma_o^2 up to that length | `covariance` | (n, m) |
| sum of sigma_o^2 from o = i | `tail` | (O + 2,) |

The model is that of section "Bayesian Logistic Sequence Prediction Models" with Gaussian priors:
the linear function eqn-seq-linear is a sum of independent Gaussians, and two histories share those
of the orders up to the length of their common recent past.  That the sum over all patterns is this
process is our own remark, not the thesis's.  It takes neither compressing nor splitting.

Rows are sorted by their most recent states, and the sampler works with the steps from each value
of `latent` to the next (the first is from 0).  A step does not feel the sigmas of what its two
rows share, so that steps, unlike values, are never nearly collinear: one sigma of 1e7 beside
another of 1e-2, which the priors expect, costs no digits, and no jitter is needed.

Memory is of the order R^2.  A change of latent costs R^2, an evaluation of a sigma R^3 / 3 (about
seven for each of two updates of each sigma in an iteration), a draw in predictions R^3 / 3.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, special
from threadpoolctl import threadpool_limits

from thesiskit.errors import DataError, ThesiskitError, UserError
from thesiskit.models.agreement import compare_chains
from thesiskit.models.draws import Named, as_tree
from thesiskit.models.logistic import Settings
from thesiskit.models.priors import whole
from thesiskit.models.running import Arrays, run
from thesiskit.models.splitting import expected_logistic_gaussian

LATENT_UPDATES = 10  # in an iteration, for each class
START_SIGMA = 0.1
MOST_ROWS = 10_000  # 2.4 GB
KEPT = ("latent", "log_sigma", "log_likelihood")
FARTHEST = 300.0  # abs log sigma: beyond, squares overflow


def agreement(X, Y=None) -> np.ndarray:
    """Return the length of the common recent past of histories X (n, L) and Y (m, L), (n, m).

    Columns are in time order, the last one most recent; Y is X where it is not given.
    """
    X = np.asarray(X)
    Y = X if Y is None else np.asarray(Y)
    length = np.zeros((len(X), len(Y)), dtype=np.int32)
    same = np.ones(length.shape, dtype=bool)
    for t in reversed(range(X.shape[1])):
        same &= X[:, t, None] == Y[None, :, t]
        if not same.any():
            break
        length += same
    return length


def covariance(length, sigma) -> np.ndarray:
    """Return Cov(l(x), l(x')), of the shape of `length`, the common recent past of x and x'.

    sigma (O + 1,); lengths above O count as O.
    """
    sigma = np.asarray(sigma, dtype=float)
    return np.cumsum(sigma**2)[np.minimum(length, len(sigma) - 1)]


class Process:
    """The distinct training histories, what their steps' covariance is made of, and responses.

    rows (R, O), sorted; cases (R, K), how many have each response; settings.
    """

    def __init__(self, histories, response, n_classes: int, order: int, settings: Settings):
        if settings.cauchy:
            raise UserError(
                "a Gaussian process has Gaussian priors; use prior: gaussian, or the compressed "
                "model for Cauchy priors"
            )
        histories, response = _as_histories(histories, "histories"), np.asarray(response)
        if not 0 <= order <= histories.shape[1]:
            raise UserError(f"order must be from 0 to {histories.shape[1]}, got {order}")
        if len(response) != len(histories) or not len(histories):
            raise UserError(f"{len(histories)} histories but {len(response)} responses")
        if n_classes < 2:
            raise UserError("the responses are all of one class; there is nothing to predict")
        if response.dtype.kind not in "iu" or response.min() < 0 or response.max() >= n_classes:
            raise DataError(f"responses must be whole numbers from 0 to {n_classes - 1}")
        if settings.sigma is not None and len(settings.sigma) != order + 1:
            raise UserError(
                f"sigma needs {order + 1} values, of orders 0 to {order}, got {len(settings.sigma)}"
            )
        self.order, self.settings, self.n_classes = order, settings, n_classes
        self.length = histories.shape[1]
        recent = histories[:, ::-1][:, :order]  # the first column most recent: it sorts first
        rows, row_of = np.unique(recent, axis=0, return_inverse=True)
        if len(rows) > MOST_ROWS:
            raise UserError(
                f"{len(rows)} distinct histories are more than {MOST_ROWS}, the most of a Gaussian "
                "process; use a lower order or the compressed model"
            )
        self.rows = rows[:, ::-1]
        self.cases = np.zeros((len(rows), n_classes))
        np.add.at(self.cases, (row_of.reshape(-1), response), 1)
        self.sets = 1 if n_classes == 2 else n_classes
        # Cov(step i, step j), i < j, is minus the sum of sigma_o^2 over the orders that rows i and
        # j - 1 share, but neither i - 1 and i, nor j - 1 and j.  Orders are those from 1 + length.
        shared = agreement(self.rows) + 1
        self.begin = np.append(0, np.diagonal(shared, 1))
        common = np.zeros_like(shared)
        common[:, 1:] = np.triu(shared[:, :-1])
        low = np.maximum.outer(self.begin, self.begin)
        self.place = low * np.intp(order + 2) + np.maximum(np.maximum(common, common.T), low)

    def tail(self, log_sigma: np.ndarray) -> np.ndarray:
        """Return sums of sigma_o^2 over o = i..O for i = 0..O + 1, (O + 2,)."""
        return np.append(np.cumsum(np.exp(2 * log_sigma[::-1]))[::-1], 0)

    def step_covariance(self, log_sigma: np.ndarray) -> np.ndarray:
        """Return the covariance of the steps between consecutive rows, (R, R)."""
        tail = self.tail(log_sigma)
        matrix = np.subtract.outer(-tail, -tail).take(self.place)  # tail[high] - tail[low]
        np.fill_diagonal(matrix, np.append(tail[0], 2 * tail[self.begin[1:]]))
        return matrix

    def factor(self, log_sigma: np.ndarray) -> np.ndarray | None:
        """Return the lower Cholesky factor of `step_covariance`, or None where there is none."""
        if np.abs(log_sigma).max() > FARTHEST:
            return None
        try:
            return linalg.cholesky(
                self.step_covariance(log_sigma), lower=True, overwrite_a=True, check_finite=False
            )
        except linalg.LinAlgError:
            return None

    def log_likelihood(self, steps: np.ndarray) -> float:
        """Return log P(responses given latent), latent being the sums of steps (S, R)."""
        latent = np.cumsum(steps, axis=1)
        if self.sets == 1:
            latent = np.concatenate([np.zeros_like(latent), latent])
        log_total = np.logaddexp.reduce(latent, axis=0)
        return float((self.cases.T * (latent - log_total)).sum())

    def log_prior(self, order: int, log_sigma: float) -> float:
        """Return the log density of log sigma_o, from eqn-cc-prior, up to a constant."""
        shape = self.settings.sigma_shape
        rate = (shape + 1) * self.settings.sigma_mode / order
        with np.errstate(over="ignore"):
            return float(-shape * log_sigma - rate * np.exp(-log_sigma))

    @property
    def identity(self) -> str:
        """What chains must have in common to be continued, as JSON."""
        data = hashlib.sha256(np.ascontiguousarray(self.rows, dtype=np.int64).tobytes())
        data.update(self.cases.tobytes())
        skip = ("iterations", "chains")
        settings = {name: v for name, v in vars(self.settings).items() if name not in skip}
        sizes = {"order": self.order, "classes": self.n_classes, "rows": len(self.rows)}
        return json.dumps(settings | sizes | {"data": data.hexdigest()})


class Chain:
    """One chain: steps (S, R) and log_sigma (O + 1,), with the factor that belongs to them."""

    def __init__(self, process: Process, rng: np.random.Generator):
        self.process, self.rng, self.done = process, rng, 0
        settings = process.settings
        if settings.sigma is not None:
            log_sigma = np.log(settings.sigma)
        else:
            assert settings.sigma_0 is not None  # the settings fill it in
            log_sigma = np.log(START_SIGMA) + rng.normal(size=process.order + 1)
            log_sigma[0] = np.log(settings.sigma_0)
        self.set(np.zeros((process.sets, len(process.rows))), log_sigma)

    def set(self, steps: np.ndarray, log_sigma: np.ndarray) -> None:
        """Go to a place."""
        factor = self.process.factor(log_sigma)
        if factor is None:
            raise ThesiskitError(f"the covariance cannot be factored at log sigma {log_sigma}")
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
        white = linalg.solve_triangular(self.factor, self.steps.T, lower=True).T

        def move(x: float) -> tuple[float, np.ndarray, np.ndarray]:
            log_sigma = self.log_sigma.copy()
            log_sigma[order] = x
            factor = process.factor(log_sigma)
            if factor is None:
                return -np.inf, self.steps, self.factor
            if whitened:
                steps = white @ factor.T
                return process.log_prior(order, x) + process.log_likelihood(steps), steps, factor
            z = linalg.solve_triangular(factor, self.steps.T, lower=True)
            density = -0.5 * (z**2).sum() - len(self.steps) * np.log(np.diagonal(factor)).sum()
            return process.log_prior(order, x) + density, self.steps, factor

        here, step = self.log_sigma[order], settings.sigma_step
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
                kept.append((np.cumsum(self.steps, axis=1), self.log_sigma.copy(), log_likelihood))
        shapes = (self.steps.shape, self.log_sigma.shape, ())
        return {
            name: np.array([draw[i] for draw in kept]).reshape(len(kept), *shapes[i])
            for i, name in enumerate(KEPT)
        }

    def state(self) -> Arrays:
        """Return all that the next iteration depends on."""
        return {
            "steps": self.steps.copy(),
            "log_sigma": self.log_sigma.copy(),
            "done": np.array(self.done),
            "generator": np.array(json.dumps(self.rng.bit_generator.state)),
            "model": np.array(self.process.identity),
        }

    def restore(self, state: Arrays) -> None:
        """Go back to a state."""
        if str(state["model"]) != self.process.identity:
            raise UserError("the stored chains are of other data or settings; start anew")
        self.set(state["steps"], state["log_sigma"])
        self.done = int(state["done"])
        self.rng.bit_generator.state = json.loads(str(state["generator"]))


@dataclass(frozen=True)
class Draws:
    """What C chains left, D draws each.

    latent (C, D, S, R), log_sigma (C, D, O + 1), log_likelihood (C, D); `state`, from which the
    chains go on.
    """

    latent: np.ndarray
    log_sigma: np.ndarray
    log_likelihood: np.ndarray
    process: Process
    state: Arrays = field(repr=False)

    @property
    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Latent (C D, S, R) and log sigma (C D, O + 1) of all draws in a row."""
        latent, log_sigma = self.latent, self.log_sigma
        return latent.reshape(-1, *latent.shape[2:]), log_sigma.reshape(-1, log_sigma.shape[2])

    evaluations = np.full(2, np.nan)  # of what is not sampled here

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return R-hat and effective sample size of the log likelihood and of log sigmas."""
        parts = [self.log_likelihood[:, :, None], self.log_sigma[:, :, 1:]]
        return compare_chains(np.concatenate(parts, axis=2))

    def as_arviz(self, diagnostics: Named, attributes: dict[str, Any]):
        """Return ArviZ data."""
        return as_tree(
            {
                "posterior": {
                    "latent": (("set", "row"), self.latent),
                    "log_sigma": (("order",), self.log_sigma),
                },
                "sample_stats": {"log_likelihood": ((), self.log_likelihood)},
            },
            diagnostics,
            attributes,
        )


def sample(
    histories,
    response,
    n_classes: int,
    order: int,
    settings: Settings,
    generators: list[np.random.Generator],
    *,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
) -> Draws:
    """Run one chain for each generator, in threads.

    histories (N, L) in time order; response (N,) classes from 0.  Of `settings`, those that speak
    of coefficients (step, sigma_scale, sigma_updates, joint_updates) do not matter.  `save` and
    `saved` are as in `logistic.sample`.  Raises UserError for Cauchy priors, an impossible order,
    too many distinct histories, or `saved` of other data or settings.
    """
    process = Process(histories, response, n_classes, order, settings)
    chains = [Chain(process, rng) for rng in generators]
    if saved is not None:
        stored = sum(name.startswith("state-") and name.endswith("-model") for name in saved)
        if stored != len(chains):
            raise UserError(f"there are {stored} stored chains, not {len(chains)}")
        if int(saved["done"]) > settings.iterations:
            raise UserError(
                f"the stored chains have done {int(saved['done'])} iterations, more than "
                f"{settings.iterations}; ask for at least as many"
            )
    with threadpool_limits(1):  # small matrices: threads of their own only get in the way
        parts = run(chains, settings.iterations, saved=saved, save=save)
    state = {"done": np.array(settings.iterations)}
    for c, (chain, part) in enumerate(zip(chains, parts, strict=True)):
        state |= {f"state-{c}-{name}": value for name, value in chain.state().items()}
        state |= {f"draws-{c}-{name}": value for name, value in part.items()}
    drawn = {name: np.stack([part[name] for part in parts]) for name in KEPT}
    return Draws(process=process, state=state, **drawn)


def predict(draws: Draws, X, rng: np.random.Generator, split_draws: int = 1) -> np.ndarray:
    """Return P(class) for test histories X (T, L), (T, K), averaged over the draws.

    Given a draw, l(x) is Gaussian: its logistic function is integrated exactly, and for more than
    two classes the softmax is averaged over `split_draws` values.  States may be unseen.
    """
    process = draws.process
    X = _as_histories(X, "test histories")
    if X.shape[1] != process.length:
        raise UserError(f"training histories have {process.length} states, these {X.shape[1]}")
    split_draws = whole("split_draws", split_draws)
    recent, case_of = np.unique(X[:, X.shape[1] - process.order :], axis=0, return_inverse=True)
    length = agreement(recent, process.rows)
    # what matters of a test history: a row that is nearest to it, and the length they share
    pairs = np.stack([length.argmax(axis=1), length.max(axis=1)], axis=1)
    pairs, pair_of = np.unique(pairs, axis=0, return_inverse=True)
    nearest, begin = pairs[:, 0], pairs[:, 1] + 1
    reach = np.maximum(agreement(process.rows[nearest], process.rows) + 1, begin[:, None])
    total = np.zeros((len(pairs), process.n_classes))
    last = None
    for latent, log_sigma in zip(*draws.flat, strict=True):
        if last is None or (log_sigma != last).any():
            last, factor = log_sigma, process.factor(log_sigma)
            tail = process.tail(log_sigma)
            # e = l(x) - l(nearest) has Cov(e, l(row)) = - sum of sigma_o^2 over begin..reach - 1
            towards = np.diff(tail[reach] - tail[begin][:, None], axis=1, prepend=0)
            weights = linalg.solve_triangular(factor, towards.T, lower=True)
            sd = np.sqrt(np.maximum(2 * tail[begin] - (weights**2).sum(axis=0), 0))
        steps = np.diff(latent, axis=1, prepend=0)
        mean = latent[:, nearest] + linalg.solve_triangular(factor, steps.T, lower=True).T @ weights
        if process.sets == 1:
            one = expected_logistic_gaussian(mean[0], sd)
            total += np.stack([1 - one, one], axis=1)
            continue
        values = mean + sd * rng.normal(size=(split_draws, *mean.shape))
        total += special.softmax(values, axis=1).mean(axis=0).T
    return (total / total.sum(axis=1, keepdims=True))[pair_of.reshape(-1)][case_of.reshape(-1)]


def _as_histories(X, name: str) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"{name} must be a table (cases, states), got an array of shape {X.shape}")
    if X.dtype.kind not in "iub":
        raise DataError(f"{name} must be whole numbers from 0; encode other states")
    return X
