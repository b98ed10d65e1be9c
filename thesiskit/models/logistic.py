"""Bayesian logistic models with one coefficient for each group of patterns.

| thesis | name | shape |
|---|---|---|
| beta, s_g | `coefficient` | (S, G), S = 1 for two classes, K for more |
| sigma_o | `exp(log_sigma)` | (O + 1,) |
| alpha_o, w_o | `sigma_shape`, `sigma_mode / o` of the Inverse-Gamma prior of sigma_o | scalars |
| K | number of classes | scalar |
| N | cases; R distinct rows of them | scalar |
| w, m | `step`, `sigma_step`, `most_steps` of slice sampling | scalars |

Equations eqn-softmax to eqn-cc-prior, eqn-dist-sg and eqn-post-sum; section "Specifications of
the Priors and Computation Methods".  The model knows groups, their patterns by order, and how
many cases of each class a row has; not where the groups came from.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from thesiskit._kernels import logistic as kernel  # type: ignore[attr-defined]
from thesiskit.errors import UserError
from thesiskit.models.agreement import compare_chains
from thesiskit.models.draws import Named, as_tree
from thesiskit.models.patterns import Groups
from thesiskit.models.priors import positive, whole
from thesiskit.models.running import run

PRIORS = ("cauchy", "gaussian")
SCALES = ("log", "natural")
SIGMA_0 = {"cauchy": 5.0, "gaussian": 10.0}
STEP = {"cauchy": 20.0, "gaussian": 10.0}
WINDOWS, NODES = 4, 28  # of the kernel's interpolation
START_SIGMA = 0.1
LEAST_SHAPE = 0.2  # the kernel looks at sigmas up to e^80: 1e-7 of that prior is beyond
RELIABLE_RHAT, RELIABLE_ESS = 1.1, 40.0  # of the log likelihood


@dataclass(frozen=True)
class Settings:
    """Priors and sampler; the defaults are the thesis's but for sigma_scale and joint_updates.

    sigma_0 is the width of the coefficient of order 0, and `step` the first interval of the slice
    sampler; None for the thesis's (5 and 20 for Cauchy priors, 10 and 10 for Gaussian ones).
    sigma : None to sample sigma_1..sigma_O, or their values: a number for each order 0..O.
    sigma_scale : "log" updates log sigma, whose conditional density is about one wide wherever it
        lies, so that steps of one suit it; "natural" sigma itself, as the thesis.
    joint_updates : sweeps in an iteration that move coefficients along directions that the
        likelihood does not see, and each sigma with the coefficients it is the width of; the
        thesis has none.
    iterations counts all, burn_in the first ones; every thin-th of the others is kept.
    """

    prior: str = "cauchy"
    sigma_0: float | None = None
    sigma_shape: float = 0.25
    sigma_mode: float = 0.1
    sigma: tuple[float, ...] | None = None
    sigma_scale: str = "log"
    sigma_updates: int = 10
    joint_updates: int = 1
    step: float | None = None
    sigma_step: float = 1.0
    most_steps: int = 50
    iterations: int = 2000
    burn_in: int = 750
    thin: int = 5
    chains: int = 1

    def __post_init__(self):
        if self.prior not in PRIORS:
            raise UserError(f"unknown prior {self.prior!r}; choose cauchy or gaussian")
        if self.sigma_scale not in SCALES:
            raise UserError(f"unknown sigma_scale {self.sigma_scale!r}; choose log or natural")
        for name, default in (("sigma_0", SIGMA_0), ("step", STEP)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default[self.prior])
        for name in ("sigma_0", "sigma_shape", "sigma_mode", "step", "sigma_step"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("sigma_0", "sigma_mode"):
            _check_width(name, getattr(self, name))
        if self.sigma_shape < LEAST_SHAPE:
            raise UserError(
                f"sigma_shape must be at least {LEAST_SHAPE}, got {self.sigma_shape:g}: with less, "
                "sigma is often beyond what numbers hold"
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
        if self.sigma is not None:
            values = tuple(np.atleast_1d(self.sigma).tolist())
            for i, value in enumerate(values):
                _check_width(f"sigma[{i}]", positive(f"sigma[{i}]", value))
            object.__setattr__(self, "sigma", values)

    @property
    def cauchy(self) -> bool:
        """Whether the prior is Cauchy."""
        return self.prior == "cauchy"

    @property
    def kept(self) -> int:
        """Draws that each chain keeps."""
        return (self.iterations - self.burn_in) // self.thin


def _check_width(name: str, value: float) -> None:
    if not 1e-20 <= value <= 1e20:
        raise UserError(f"{name} must be between 1e-20 and 1e20, got {value:g}")


class Model:
    """Groups, cases by row and class, and settings.

    groups : as `patterns` makes them.
    response : (N,) classes 0..n_classes - 1 of the training cases.
    """

    def __init__(self, groups: Groups, response, n_classes: int, settings: Settings):
        response = np.asarray(response)
        if len(response) != groups.n_cases:
            raise UserError(f"{groups.n_cases} histories but {len(response)} responses")
        if response.min() < 0 or response.max() >= n_classes:
            raise UserError(f"responses must be classes from 0 to {n_classes - 1}")
        if n_classes < 2:
            raise UserError("the responses are all of one class; there is nothing to predict")
        self.groups, self.settings, self.n_classes = groups, settings, n_classes
        if settings.sigma is not None and len(settings.sigma) != groups.order + 1:
            raise UserError(
                f"sigma needs {groups.order + 1} values, of orders 0 to {groups.order}, "
                f"got {len(settings.sigma)}"
            )
        self.cases = np.zeros((groups.n_rows, n_classes))
        np.add.at(self.cases, (groups.row_of, response), 1)
        self.sets = 1 if n_classes == 2 else n_classes

    @property
    def rate(self) -> np.ndarray:
        """Rates of the Inverse-Gamma priors of sigma_o, (O + 1,); that of order 0 is not used."""
        orders = np.maximum(np.arange(self.groups.order + 1), 1)
        return (self.settings.sigma_shape + 1) * self.settings.sigma_mode / orders

    @cached_property
    def layout(self) -> dict[str, np.ndarray]:
        """Groups as the kernel reads them."""
        groups = self.groups
        kinds = groups.kinds.astype(float)
        by_kind = np.argsort(groups.kind, kind="stable").astype(np.int32)
        sizes = np.bincount(groups.kind, minlength=len(kinds))
        order_of, kind_of = np.nonzero(kinds.T)
        weight = self.cases.sum(axis=1)
        lengths = groups.end - groups.begin
        repeated = np.concatenate([[0], np.cumsum(weight[groups.members] != 1)])
        members = groups.members
        straight = np.concatenate([[0], np.cumsum(np.diff(members, prepend=members[:1]) != 1)])
        # a run: every member after the first is the one before plus one, and in its own place
        runs = (straight[groups.end] - straight[np.minimum(groups.begin + 1, groups.end)]) == 0
        runs &= members[groups.begin] == groups.begin
        small = sizes * self.sets <= kernel.LARGE_KIND
        entries = max(
            (int((sizes * self.sets)[(kinds[:, o] > 0) & small].sum())
             for o in range(1, groups.order + 1)),
            default=0,
        )  # fmt: skip
        most_parts = int(np.diff(groups.part_begin).max(initial=0))
        return {
            "whole": np.ascontiguousarray(groups.whole, dtype=np.int32),
            "part_begin": groups.part_begin.astype(np.intp),
            "part": np.ascontiguousarray(groups.part, dtype=np.int32),
            "begin": groups.begin.astype(np.intp),
            "end": groups.end.astype(np.intp),
            "members": np.ascontiguousarray(members, dtype=np.int32),
            "kind": np.ascontiguousarray(groups.kind, dtype=np.int32),
            "kinds": kinds,
            "by_kind": by_kind,
            "kind_begin": np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
            "order_begin": np.searchsorted(order_of, np.arange(groups.order + 2)).astype(np.intp),
            "order_kind": kind_of.astype(np.int32),
            "runs": runs.astype(np.uint8),
            "unit": (repeated[groups.end] == repeated[groups.begin]).astype(np.uint8),
            "weight": weight,
            "response": np.ascontiguousarray(self.cases.T),
            "quarter": np.array(
                max(groups.n_rows, int(lengths.max()), entries, len(kinds), most_parts, self.sets)
                + 1
            ),
        }

    def start(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients of 0 and dispersed log sigmas to start from."""
        order = self.groups.order
        if self.settings.sigma is not None:
            log_sigma = np.log(self.settings.sigma)
        else:
            log_sigma = np.log(START_SIGMA) + rng.normal(size=order + 1)
            assert self.settings.sigma_0 is not None
            log_sigma[0] = np.log(self.settings.sigma_0)
        return np.zeros((self.sets, self.groups.n_groups)), log_sigma

    @cached_property
    def digest(self) -> str:
        """What identifies groups and responses."""
        content = hashlib.sha256()
        groups = self.groups
        for one in (groups.begin, groups.end, groups.members, groups.kind, self.cases):
            content.update(np.ascontiguousarray(one).tobytes())
        return content.hexdigest()[:16]

    def log_prior_constant(self) -> float:
        """What the kernel's log prior leaves out: - log Gamma(shape) of every sampled sigma."""
        sampled = 0 if self.settings.sigma is not None else self.groups.order
        return -sampled * float(special.gammaln(self.settings.sigma_shape))


def sampler(model: Model, coefficient: np.ndarray, log_sigma: np.ndarray) -> kernel.Logistic:
    """Return the kernel's chain, which changes coefficient and log_sigma in place."""
    settings, groups, layout = model.settings, model.groups, model.layout
    order, n_groups, rows = groups.order, groups.n_groups, groups.n_rows
    kinds, quarter = len(groups.kinds), int(layout["quarter"])
    assert coefficient.shape == (model.sets, n_groups)
    assert log_sigma.shape == (order + 1,)
    free = np.full(order + 1, settings.sigma is None, dtype=np.uint8)
    free[0] = 0
    i, j = np.arange(NODES)[:, None], np.arange(NODES)
    basis = 2 / NODES * np.cos(j * np.pi * (i + 0.5) / NODES)
    basis[:, 0] /= 2
    return kernel.Logistic(
        *(layout[name] for name in LAYOUT),
        coefficient,
        log_sigma,
        np.empty(order + 1),
        *np.empty((4, model.sets, rows)),
        np.empty((model.sets, n_groups)),
        np.empty(n_groups),
        np.empty((model.sets, n_groups)),
        *np.empty((2, kinds)),
        np.empty(4 * quarter),
        np.full((kinds, WINDOWS), -1e300),
        np.empty((kinds, WINDOWS, NODES)),
        basis,
        free,
        np.full(order + 1, settings.sigma_shape),
        model.rate,
        settings.cauchy,
        settings.sigma_scale == "log",
        settings.step,
        settings.sigma_step,
        settings.most_steps,
    )


LAYOUT = (
    "begin", "end", "members", "kind", "kinds", "by_kind", "kind_begin", "order_begin",
    "order_kind", "whole", "part_begin", "part", "runs", "unit", "weight", "response",
)  # fmt: skip
STATE = ("coefficient", "log_sigma", "done", "generator", "model")
INFO = ("log_likelihood", "log_prior", "coefficient_evaluations", "width_evaluations")


@dataclass(frozen=True)
class Draws:
    """What the chains left.

    coefficient (C, D, S, G) and log_sigma (C, D, O + 1) of the draws kept; trace (C, I, O + 1),
    log sigma of every iteration, and info (C, I, 4), by INFO; `state`, where the chains stand.
    """

    coefficient: np.ndarray
    trace: np.ndarray
    info: np.ndarray
    settings: Settings
    state: dict[str, np.ndarray] = field(repr=False)

    @property
    def log_sigma(self) -> np.ndarray:
        """Log sigma of the draws kept, (C, D, O + 1)."""
        return self.thinned(self.trace)

    def thinned(self, trace: np.ndarray) -> np.ndarray:
        """Return of a trace (C, I, ...) the iterations that are kept."""
        settings = self.settings
        return trace[:, settings.burn_in + settings.thin - 1 :: settings.thin]

    @property
    def log_likelihood(self) -> np.ndarray:
        """Log likelihood of the draws kept, (C, D)."""
        return self.thinned(self.info[:, :, 0])

    @property
    def saved(self) -> dict[str, np.ndarray]:
        """What `sample` takes as `saved`, to go on."""
        arrays = dict(self.state)
        for c in range(len(self.coefficient)):
            info = self.info[c].copy()
            info[:, 1] -= self.state["constant"]
            arrays |= {
                f"draws-{c}-coefficient": self.coefficient[c],
                f"draws-{c}-log_sigma": self.trace[c],
                f"draws-{c}-info": info,
            }
        return arrays

    @property
    def evaluations(self) -> np.ndarray:
        """Slice evaluations of an iteration, for coefficients and for widths: means, (2,)."""
        return self.info[:, :, 2:].mean(axis=(0, 1))

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return R-hat and effective sample size of log likelihood, log prior and log sigmas.

        (O + 2,) each, over all iterations after burn-in.
        """
        after = slice(self.settings.burn_in, None)
        return compare_chains(
            np.concatenate([self.info[:, after, :2], self.trace[:, after, 1:]], axis=2)
        )

    def as_arviz(self, diagnostics: Named, attributes: dict[str, Any]):
        """Return ArviZ data: draws, traces of all iterations, and the state of the chains."""
        trace: Named = {f"{name}_trace": ((), self.info[:, :, i]) for i, name in enumerate(INFO)}
        trace["log_sigma_trace"] = (("order",), self.trace)
        state: Named = {
            "done": ((), self.state["done"]),
            "constant": ((), self.state["constant"]),
        }
        dims = {"coefficient": ("set", "group"), "log_sigma": ("order",)}
        for name in STATE:
            values = [self.state[f"state-{c}-{name}"] for c in range(len(self.coefficient))]
            state[f"state_{name}"] = (("chain", *dims.get(name, ())), np.array(values))
        return as_tree(
            {
                "posterior": {
                    "coefficient": (("set", "group"), self.coefficient.astype(np.float32)),
                    "log_sigma": (("order",), self.log_sigma),
                },
                "sample_stats": {
                    name: ((), self.thinned(self.info[:, :, i])) for i, name in enumerate(INFO)
                },
                "trace": trace,
            },
            state | diagnostics,
            {**attributes, "burn_in": self.settings.burn_in, "thin": self.settings.thin},
        )

    @property
    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (C D, S, G) and log sigma (C D, O + 1) of all draws in a row."""
        return (
            self.coefficient.reshape(-1, *self.coefficient.shape[2:]),
            self.log_sigma.reshape(-1, self.trace.shape[2]),
        )


def sample(
    model: Model,
    generators: list[np.random.Generator],
    *,
    saved: dict[str, np.ndarray] | None = None,
    save: Callable[[dict[str, np.ndarray]], None] | None = None,
) -> Draws:
    """Run one chain for each generator, in threads.

    `save` is called now and then with all that a later call needs as `saved`; at the end that is
    `Draws.saved`.  Chains that go on from there, with more iterations, have the draws of an
    uninterrupted run.  Raises UserError where `saved` is of another model or other settings.
    """
    settings = model.settings
    chains = [Chain(model, rng) for rng in generators]
    if saved is not None:
        _check_saved(model, saved, len(chains))
    parts = run(chains, settings.iterations, saved=saved, save=save)
    constant = model.log_prior_constant()
    state = {"done": np.array(settings.iterations), "constant": np.array(constant)}
    for c, chain in enumerate(chains):
        state |= {f"state-{c}-{name}": value for name, value in chain.state().items()}
    info = np.stack([part["info"] for part in parts])
    info[:, :, 1] += constant
    return Draws(
        np.stack([part["coefficient"] for part in parts]),
        np.stack([part["log_sigma"] for part in parts]),
        info,
        settings,
        state,
    )


def reliable(rhat: np.ndarray, ess: np.ndarray) -> bool:
    """Whether chains support predictions: R-hat and effective draws of the log likelihood.

    Sigmas of orders that matter little may wander without harm to what is predicted.
    """
    return bool(rhat[0] <= RELIABLE_RHAT and ess[0] >= RELIABLE_ESS)


def saved_from(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return what `sample` takes as `saved`, from the arrays of `Draws.as_arviz`."""
    saved = {"done": arrays["done"]}
    for c in range(len(arrays["coefficient"])):
        saved |= {f"state-{c}-{name}": arrays[f"state_{name}"][c] for name in STATE}
        info = np.stack([arrays[f"{name}_trace"][c] for name in INFO], axis=1)
        info[:, 1] -= arrays["constant"]
        saved |= {
            f"draws-{c}-coefficient": arrays["coefficient"][c].astype(float),
            f"draws-{c}-log_sigma": arrays["log_sigma_trace"][c],
            f"draws-{c}-info": info,
        }
    return saved


def _check_saved(model: Model, saved: dict[str, np.ndarray], chains: int) -> None:
    """Say so where stored chains are of another model."""
    found = json.loads(str(saved["state-0-model"]))
    wanted = json.loads(Chain.identity(model))
    for name in found | wanted:
        if found.get(name) != wanted.get(name):
            raise UserError(
                f"the stored chains have {name} {found.get(name)!r}, these settings "
                f"{wanted.get(name)!r}; only iterations may grow"
            )
    stored = sum(name.startswith("state-") and name.endswith("-generator") for name in saved)
    if stored != chains:
        raise UserError(f"there are {stored} stored chains, not {chains}")
    if int(saved["done"]) > model.settings.iterations:
        raise UserError(
            f"the stored chains have done {int(saved['done'])} iterations, more than "
            f"{model.settings.iterations}; ask for at least as many"
        )


class Chain:
    """One chain: its state, and the kernel that moves it on."""

    def __init__(self, model: Model, rng: np.random.Generator):
        self.model, self.rng, self.done = model, rng, 0
        self.coefficient, self.log_sigma = model.start(rng)
        self.kernel: kernel.Logistic | None = None

    @staticmethod
    def identity(model: Model) -> str:
        """What chains must have in common to be continued, as JSON."""
        settings = {
            name: value for name, value in vars(model.settings).items()
            if name not in ("iterations", "chains")
        }  # fmt: skip
        groups = model.groups
        return json.dumps(
            settings
            | {
                "order": groups.order,
                "groups": groups.n_groups,
                "cases": groups.n_cases,
                "classes": model.n_classes,
                "data": model.digest,
            }
        )

    def state(self) -> dict[str, np.ndarray]:
        """Return all that the next iteration depends on."""
        return {
            "coefficient": self.coefficient.copy(),
            "log_sigma": self.log_sigma.copy(),
            "done": np.array(self.done),
            "generator": np.array(json.dumps(self.rng.bit_generator.state)),
            "model": np.array(self.identity(self.model)),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go back to a state."""
        self.coefficient[:], self.log_sigma[:] = state["coefficient"], state["log_sigma"]
        self.done = int(state["done"])
        self.rng.bit_generator.state = json.loads(str(state["generator"]))
        self.kernel = None

    def advance(self, iterations: int) -> dict[str, np.ndarray]:
        """Go on, and return the draws kept and the trace of every iteration."""
        settings, groups = self.model.settings, self.model.groups
        if self.kernel is None:
            self.kernel = sampler(self.model, self.coefficient, self.log_sigma)
        first = self.done - settings.burn_in
        kept = max(0, first + iterations) // settings.thin - max(0, first) // settings.thin
        draws = {
            "coefficient": np.empty((kept, self.model.sets, groups.n_groups)),
            "log_sigma": np.empty((iterations, groups.order + 1)),
            "info": np.empty((iterations, len(INFO))),
        }
        with self.rng.bit_generator.lock:
            made = self.kernel.run(
                self.done, iterations, settings.burn_in, settings.thin, settings.sigma_updates,
                settings.joint_updates, draws["coefficient"], draws["log_sigma"], draws["info"],
                self.rng.bit_generator.capsule,
            )  # fmt: skip
        assert made == kept
        self.done += iterations
        return draws
