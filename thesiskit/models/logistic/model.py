"""Bayesian logistic models with one coefficient for each group of patterns.

| thesis | name | shape |
|---|---|---|
| beta, s_g | `coefficient` | (S, G), S = 1 for two classes, K for more |
| sigma_o | `exp(log_sigma)` | (O + 1,) |
| alpha_o, w_o | `sigma_shape`, `sigma_mode / o` of the Inverse-Gamma prior of sigma_o | scalars |
| K | number of classes | scalar |
| N | cases; R distinct rows of them | scalar |
| w, m | `step`, `sigma_step`, `most_steps` of slice sampling | scalars |
| standard deviation of the noise (ours) | `exp(log_noise)` | (1,) |

Equations eqn-softmax to eqn-cc-prior, eqn-dist-sg and eqn-post-sum; section "Specifications of
the Priors and Computation Methods".  The model knows groups, their patterns by order, and the
responses of each row; not where the groups came from.  Responses are classes, or numbers: the
linear function plus normal noise, which the conclusion of the thesis's chapter 3 foresees.
"""

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from thesiskit._kernels import hamiltonian, linear, tree  # type: ignore[attr-defined]
from thesiskit._kernels import logistic as kernel  # type: ignore[attr-defined]
from thesiskit.errors import DataError, UserError
from thesiskit.models.logistic.agreement import Probe, Quantities
from thesiskit.models.logistic.draws import INFO, Draws
from thesiskit.models.logistic.layout import Layout, lay_out
from thesiskit.models.logistic.settings import Settings
from thesiskit.models.patterns import Groups
from thesiskit.models.running import Arrays, check_saved, run
from thesiskit.models.until import Rule, Until, judged_state

LARGEST = 1e20  # of real responses


class Linear:
    """Groups and settings; a subclass has the responses.

    Equations eqn-cc-prior, eqn-dist-sg and eqn-post-sum.

    groups : as `patterns` makes them.
    """

    parameters: ClassVar[tuple[str, ...]] = ("coefficient", "log_sigma")  # as `start` gives them

    def __init__(self, groups: Groups, settings: Settings, sets: int):
        settings.check_order(groups.order)
        self.groups, self.settings, self.sets = groups, settings, sets
        self.weight = np.bincount(groups.row_of, minlength=groups.n_rows).astype(float)

    def responses(self) -> Arrays:
        """Return the responses of the rows, as the kernel reads them."""
        raise NotImplementedError

    def sampler(self, *parameters: Any, **tuning: Any) -> linear.Linear:
        """Return the kernel's chain, which changes the parameters, as of `start`, in place.

        tuning : as `untuned` returns it, changed in place too; without, the sampler does not learn.
        """
        raise NotImplementedError

    def untuned(self) -> Arrays:
        """Return what the sampler learns in the first iterations, as it begins."""
        if self.moves == "tree":
            return {"tuning": tree.untuned(self.groups.order)}
        if self.moves == "hamiltonian":
            return {
                "tuning": hamiltonian.untuned(self.sets, self.groups.n_groups, self.groups.order)
            }
        return {}

    @property
    def moves(self) -> str:
        """The joint update: "tree" or "hamiltonian", after the kernels, or "none"."""
        if self.settings.joint_updates == 0:
            return "none"
        return "tree" if len(self.groups.above) and self.sets == 1 else "hamiltonian"

    @cached_property
    def layout(self) -> Layout:
        """Groups as the kernel reads them."""
        return lay_out(self.groups, self.weight)

    def start(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return coefficients of 0 and dispersed log sigmas to start from."""
        coefficient = np.zeros((self.sets, self.groups.n_groups))
        return coefficient, self.settings.start(self.groups.order, rng)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What chains must have in common to be continued."""
        groups, content = self.groups, hashlib.sha256()
        content.update(self.weight.tobytes())
        for one in (groups.begin, groups.end, groups.members, groups.kind):
            content.update(np.ascontiguousarray(one).tobytes())
        for name, values in self.responses().items():
            content.update(name.encode() + np.asarray(values).tobytes())
        return self.settings.lasting | {
            "moves": self.moves,
            "order": groups.order,
            "groups": groups.n_groups,
            "cases": groups.n_cases,
            "sets": self.sets,
            "data": content.hexdigest()[:16],
        }


class Model(Linear):
    """Responses that are classes: eqn-softmax, or eqn-softmax-class, given sums (eqn-like-train).

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
        super().__init__(groups, settings, sets=1 if n_classes == 2 else n_classes)
        self.n_classes = n_classes
        self.cases = np.zeros((groups.n_rows, n_classes))
        np.add.at(self.cases, (groups.row_of, response), 1)

    def responses(self) -> Arrays:
        """Return cases of each class, (K, R)."""
        return {"response": np.ascontiguousarray(self.cases.T)}

    def sampler(self, coefficient, log_sigma, *, tuning=None) -> kernel.Logistic:
        """Return the kernel's chain, which changes the parameters in place."""
        return kernel.Logistic(
            self.layout, self.settings, coefficient, log_sigma, **self.responses(),
            moves=self.moves, tuning=tuning,
        )  # fmt: skip


class Normal(Linear):
    """Responses that are the linear function plus normal noise.

    response : (N,) real numbers; priors and steps suit those of standard deviation 1.
    """

    parameters = ("coefficient", "log_sigma", "log_noise")

    def __init__(self, groups: Groups, response, settings: Settings):
        try:
            response = np.asarray(response, dtype=float)
        except (TypeError, ValueError):
            raise DataError("responses must be numbers") from None
        if response.shape != (groups.n_cases,):
            raise UserError(f"{groups.n_cases} cases but responses of shape {response.shape}")
        wrong = np.flatnonzero(~(np.abs(response) <= LARGEST))
        if len(wrong):
            raise DataError(
                f"responses must be numbers within {LARGEST:g}, got {response[wrong[0]]:g} "
                f"for case {wrong[0] + 1}; leave such cases out"
            )
        if response.min() == response.max():
            raise UserError(f"the responses are all {response[0]:g}; there is nothing to predict")
        super().__init__(groups, settings, sets=1)
        self.mean = np.bincount(groups.row_of, response, groups.n_rows) / self.weight
        self.within = float(np.square(response - self.mean[groups.row_of]).sum())
        self.spread = max(float(response.std()), 1 / LARGEST)

    def responses(self) -> Arrays:
        """Return means of the rows, (R,), and the sum of squares about these."""
        return {"mean": self.mean, "within": np.array(self.within)}

    def start(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return also log noise (1,), from about the responses' standard deviation."""
        noise = self.settings.noise
        start = np.log(self.spread) + rng.normal() if noise is None else np.log(noise)
        return *super().start(rng), np.array([start])

    def sampler(self, coefficient, log_sigma, log_noise, *, tuning=None) -> kernel.Normal:
        """Return the kernel's chain, which changes the parameters in place."""
        return kernel.Normal(
            self.layout, self.settings, coefficient, log_sigma, log_noise, **self.responses(),
            moves=self.moves, tuning=tuning,
        )  # fmt: skip


def sample(
    model: Linear,
    generators: list[np.random.Generator],
    *,
    probe: Probe | None = None,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    jobs: int | None = None,
) -> Draws:
    """Run one chain for each generator, in threads, of which there are `jobs`.

    probe : with settings.until, the cases whose predictions the chains have to agree in.

    `save` is called now and then with all that a later call needs as `saved`; at the end that is
    `Draws.saved`.  Chains that go on from there, with more iterations, have the draws of an
    uninterrupted run.  Raises UserError where `saved` is of another model or other settings.
    """
    settings = model.settings
    chains = [Chain(model, rng) for rng in generators]
    if saved is not None:
        _check_saved(model, saved, len(chains))
    rule = None if settings.until is None else _rule(model, probe, len(chains))
    parts = run(chains, settings.iterations, saved=saved, save=save, jobs=jobs, rule=rule)
    state = {"done": np.array(chains[0].done)}
    for c, chain in enumerate(chains):
        state |= {f"state-{c}-{name}": value for name, value in chain.state().items()}
    drawn = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
    return Draws(
        coefficient=drawn["coefficient"],
        trace=drawn["log_sigma"],
        noise_trace=drawn.get("log_noise"),
        info=drawn["info"],
        settings=settings,
        state=state if rule is None else state | judged_state(parts),
        judgement=None if rule is None else rule.judge(parts),
    )


def _rule(model: Linear, probe: Probe | None, chains: int) -> Rule:
    """Return how long the chains of a model run."""
    if probe is None:
        raise UserError("until needs a probe: cases whose predictions the chains have to agree in")
    assert model.settings.until is not None
    quantities = Quantities(probe, model.settings.cauchy, "log_noise" in model.parameters)
    return Rule(
        Until(*model.settings.until),
        quantities,
        quantities.names,
        kept={"coefficient": np.float32},
        chains=chains,
        numbers=model.sets * model.groups.n_groups,
    )


def _check_saved(model: Linear, saved: Arrays, chains: int) -> None:
    """Say so where stored chains are of another model."""
    found = json.loads(str(saved["state-0-model"]))
    wanted = json.loads(json.dumps(model.identity))
    # older chains do not say how they moved: alone as today, or together as nothing does now
    found.setdefault("moves", "none" if found.get("joint_updates") == 0 else None)
    for name in found | wanted:
        if found.get(name) != wanted.get(name):
            if name == "moves":
                raise UserError(
                    "the stored chains were made by another sampler and cannot go on; "
                    "fit anew (on the command line with --force)"
                )
            raise UserError(
                f"the stored chains have {name} {found.get(name)!r}, these settings "
                f"{wanted.get(name)!r}; only iterations may grow"
            )
    check_saved(saved, chains, model.settings.iterations)


class Chain:
    """One chain: its state, and the kernel that moves it on."""

    def __init__(self, model: Linear, rng: np.random.Generator):
        self.model, self.rng, self.done = model, rng, 0
        self.place = dict(zip(model.parameters, model.start(rng), strict=True)) | model.untuned()
        self.kernel: linear.Linear | None = None

    def state(self) -> Arrays:
        """Return all that the next iteration depends on."""
        return {name: values.copy() for name, values in self.place.items()} | {
            "done": np.array(self.done),
            "generator": np.array(json.dumps(self.rng.bit_generator.state)),
            "model": np.array(json.dumps(self.model.identity)),
        }

    def restore(self, state: Arrays) -> None:
        """Go back to a state."""
        for name, values in self.place.items():
            values[:] = state[name]
        self.done = int(state["done"])
        self.rng.bit_generator.state = json.loads(str(state["generator"]))
        self.kernel = None

    def advance(self, iterations: int) -> Arrays:
        """Go on, and return the draws kept and the trace of every iteration."""
        settings, groups = self.model.settings, self.model.groups
        if self.kernel is None:
            self.kernel = self.model.sampler(**self.place)
        first = self.done - settings.burn_in
        kept = max(0, first + iterations) // settings.thin - max(0, first) // settings.thin
        draws = {
            "coefficient": np.empty((kept, self.model.sets, groups.n_groups)),
            "log_sigma": np.empty((iterations, groups.order + 1)),
            "info": np.empty((iterations, len(INFO))),
        }
        if "log_noise" in self.place:
            draws["log_noise"] = np.empty(iterations)
        with self.rng.bit_generator.lock:
            made = self.kernel.run(
                self.done, iterations, settings.burn_in, settings.thin, settings.sigma_updates,
                settings.joint_updates, draws["coefficient"], draws["log_sigma"],
                draws.get("log_noise"), draws["info"], self.rng.bit_generator.capsule,
            )  # fmt: skip
        assert made == kept
        self.done += iterations
        return draws
