"""Gibbs sampling of a Gaussian process: the latent of each class, then each sigma."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

from thesiskit.errors import DataError, UserError
from thesiskit.models.draws import Named, as_tree, compare_chains
from thesiskit.models.logistic import Settings, flat
from thesiskit.models.process.inputs import KINDS, Features, Sequences, as_codes, check_order
from thesiskit.models.running import Arrays, check_saved, run
from thesiskit.models.until import Judgement, Rule, Until, as_named, from_named

Quantities = Callable[[Arrays], np.ndarray]  # of draws (I, ...), what is judged of them, (I, Q)
Judged = Callable[["Process"], tuple[Quantities, list[str]]]  # with names, (Q,)
LATENT_UPDATES = 10  # in an iteration, for each class
KEPT = ("latent", "log_sigma", "log_likelihood")
STATE = ("steps", "log_sigma", "done", "generator", "model")
FARTHEST = 300.0  # abs log sigma: beyond, squares overflow
LEAST_PIVOT = 1e-10  # share of a step's variance that the steps before it leave


class Process:
    """Training cases, as Sequences or Features, and responses.

    cases (R, K), how many of each distinct row have each response; settings.
    """

    def __init__(
        self,
        X,
        response,
        n_classes: int,
        order: int,
        settings: Settings,
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
        check_order(order, X)
        if len(response) != len(X) or not len(X):
            raise UserError(f"{len(X)} {self.words[0]} but {len(response)} responses")
        if n_classes < 2:
            raise UserError("the responses are all of one class; there is nothing to predict")
        if response.dtype.kind not in "iu" or response.min() < 0 or response.max() >= n_classes:
            raise DataError(f"responses must be whole numbers from 0 to {n_classes - 1}")
        settings.check_order(order)
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

    @property
    def identity(self) -> str:
        """What chains must have in common to be continued, as JSON."""
        data = hashlib.sha256(np.ascontiguousarray(self.rows, dtype=np.int64).tobytes())
        data.update(self.cases.tobytes())
        sizes = {"order": self.order, "classes": self.n_classes, "rows": len(self.rows)}
        return json.dumps(
            self.settings.lasting | sizes | {"patterns": self.patterns, "data": data.hexdigest()}
        )


class Chain:
    """One chain: steps (S, r) and log_sigma (O + 1,), with the factor that belongs to them."""

    def __init__(self, process: Process, rng: np.random.Generator):
        self.process, self.rng, self.done = process, rng, 0
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
    judgement: Judgement | None = None

    @property
    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Latent (C D, S, R) and log sigma (C D, O + 1) of all draws in a row."""
        return flat(self.latent, self.log_sigma)

    evaluations = np.full(2, np.nan)  # of what is not sampled here

    @property
    def saved(self) -> Arrays:
        """What `sample` takes as `saved`, to go on."""
        return self.state

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return R-hat and effective sample size of the log likelihood and of log sigmas."""
        parts = [self.log_likelihood[:, :, None], self.log_sigma[:, :, 1:]]
        return compare_chains(np.concatenate(parts, axis=2))

    def as_arviz(self, diagnostics: Named, attributes: dict[str, Any]):
        """Return ArviZ data: draws, and the state of the chains."""
        dims = {"steps": ("set", "step"), "log_sigma": ("order",)}
        state: Named = {"done": ((), self.state["done"])}
        for name in STATE:
            values = [self.state[f"state-{c}-{name}"] for c in range(len(self.latent))]
            state[f"state_{name}"] = (("chain", *dims.get(name, ())), np.array(values))
        groups: dict[str, Named] = {
            "posterior": {
                "latent": (("set", "row"), self.latent),
                "log_sigma": (("order",), self.log_sigma),
            },
            "sample_stats": {"log_likelihood": ((), self.log_likelihood)},
        }
        if self.judgement is not None:
            groups["judged"], reached = as_named(self.state, self.judgement)
            state |= reached
        return as_tree(groups, state | diagnostics, attributes)


def sample(
    X,
    response,
    n_classes: int,
    order: int,
    settings: Settings,
    generators: list[np.random.Generator],
    *,
    patterns: str = "sequences",
    judged: Judged | None = None,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    jobs: int | None = None,
) -> Draws:
    """Run one chain for each generator, in threads, of which there are `jobs`.

    X (N, L) histories in time order or, for patterns "features", (N, p) codes from 0, MISSING
    where not known; response (N,) classes from 0.  Of `settings`, those that concern coefficients
    (step, sigma_scale, sigma_updates, joint_updates) do not matter.  With settings.until, `judged`
    says what is judged of a process: `process.judged_at` of some cases.  `save` and `saved` are as
    in `logistic.sample`; at the end they are `Draws.state`.  Raises UserError for Cauchy priors, an
    impossible order, too many distinct rows, or `saved` of other data or settings.
    """
    process = Process(X, response, n_classes, order, settings, patterns)
    chains = [Chain(process, rng) for rng in generators]
    if saved is not None:
        check_saved(saved, len(chains), settings.iterations)
    rule = None
    if settings.until is not None:
        if judged is None:
            raise UserError("until needs cases whose predictions the chains have to agree in")
        quantities, names = judged(process)
        rule = Rule(
            Until(*settings.until), quantities, names, dict.fromkeys(KEPT, float), len(chains),
            numbers=process.sets * len(process.rows),
        )  # fmt: skip
    with threadpool_limits(1):  # small matrices: threads of their own only get in the way
        parts = run(chains, settings.iterations, saved=saved, save=save, jobs=jobs, rule=rule)
    state = {"done": np.array(chains[0].done)}
    for c, (chain, part) in enumerate(zip(chains, parts, strict=True)):
        state |= {f"state-{c}-{name}": value for name, value in chain.state().items()}
        state |= {f"draws-{c}-{name}": value for name, value in part.items()}
    drawn = {name: np.stack([part[name] for part in parts]) for name in KEPT}
    judgement = None if rule is None else rule.judge(parts)
    return Draws(process=process, state=state, judgement=judgement, **drawn)


def saved_from(arrays: Arrays) -> Arrays:
    """Return what `sample` takes as `saved`, from the arrays of `Draws.as_arviz`."""
    saved = {"done": arrays["done"]}
    for c in range(len(arrays["latent"])):
        saved |= {f"state-{c}-{name}": arrays[f"state_{name}"][c] for name in STATE}
        saved |= {f"draws-{c}-{name}": arrays[name][c] for name in KEPT}
    return saved | from_named(arrays)
