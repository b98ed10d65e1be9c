"""Bayesian logistic models with one coefficient for each group of patterns (thesis, chapter 3).

| thesis | name | shape |
|---|---|---|
| beta, s_g | `coefficient` | (S, G), S = 1 for two classes, K for more |
| sigma_o | `exp(log_sigma)` | (O + 1,) |
| alpha_o, w_o | `sigma_shape`, `sigma_mode / o` of the Inverse-Gamma prior of sigma_o | scalars |
| K | number of classes | scalar |
| N | samples; R distinct rows of them | scalar |
| w, m | `step`, `sigma_step`, `most_steps` of slice sampling | scalars |
| standard deviation of the noise (ours) | `exp(log_noise)` | (1,) |
| l(x*) given a draw, shares and new coefficients in expectation | `expected` | (D, S, T) |
| sigma_1 / (sigma_1 + sigma_2), of Gaussian priors with squares | share of a group's sum | (D, .) |
| s_g, of groups whose patterns a test sample expresses all | `whole` groups | (.) |
| E s_g^t, of groups that it expresses in part | share times s_g | (D, S, .) |

Equations eqn-softmax to eqn-cc-prior, eqn-dist-sg and eqn-post-sum; section "Specifications of
the Priors and Computation Methods".  The model knows groups, their patterns by order, and the
responses of each row; not where the groups came from.  Responses are classes, or numbers: the
linear function plus normal noise, which the conclusion of the thesis's chapter 3 foresees.

Chains have to agree in the log likelihood, the log noise of real responses, and the predictions
for up to MOST_SAMPLES samples, in expectation given each draw (sections "Splitting Compressed
Parameters" and "Making Prediction for a Test Sample"): real responses, or the probability of a
class, with more than two each class in its turn.  Sigmas are not among them: those of orders that
matter little may mix slowly.  Probabilities are rounded to PLACES decimals: where patterns separate
the classes, chains need long to agree whether a prediction is 1 - 1e-6 or 1 - 1e-9.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import product
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool, model_validator
from scipy import sparse
from scipy.special import expit

from thesiskit import defaults
from thesiskit._kernels import (  # type: ignore[attr-defined]
    hamiltonian,  # type: ignore[attr-defined]
    linear,
    tree,
)
from thesiskit._kernels import logistic as likelihoods  # type: ignore[attr-defined]
from thesiskit.blocks import Block, Count, Each, Once, Positive, Text
from thesiskit.defaults import RELIABLE_ESS, RELIABLE_RHAT
from thesiskit.errors import DataError, UserError
from thesiskit.models.base import Model, PatternTraining, check, positive, shaped, whole
from thesiskit.models.chains import (
    OURS,
    Arrays,
    DrawGroups,
    Judgement,
    MarkovChain,
    Named,
    Rule,
    Until,
    UntilBlock,
    as_until,
    check_run,
    check_saved,
    compare_chains,
    from_named,
    judged_samples,
    named_state,
    numbered,
    run,
    states,
)
from thesiskit.models.density import LEVELS
from thesiskit.models.patterns import Groups, Shared, check_order, one_by_one
from thesiskit.models.splitting import Response, predict, predict_response

# ---- groups as the kernel reads them ----


class Layout:
    """Groups, and samples of rows, in arrays of the kernel's types.

    begin, end (G,) and members (.) give the rows of each group; kind (G,) and kinds (C, O + 1)
    its patterns by order; weight (R,) the samples of a row.  runs (G,) says whether a group's
    members are consecutive rows, each in its own place of `members`; unit (G,) whether all its rows
    have one sample.
    Groups sorted by kind are by_kind (G,), those of kind c from kind_begin[c]; the
    kinds that have patterns of order o are order_kind[order_begin[o] : order_begin[o + 1]].
    Where groups are a tree, parent (G,) is the group above each, -1 for none, and owner (R,) the
    smallest group of each row; else both are empty.
    """

    def __init__(self, groups: Groups, weight: np.ndarray):
        members, begin, end = groups.members, groups.begin, groups.end
        self.begin, self.end = begin.astype(np.intp), end.astype(np.intp)
        self.members = np.ascontiguousarray(members, dtype=np.int32)
        self.kind = np.ascontiguousarray(groups.kind, dtype=np.int32)
        self.kinds, self.weight = groups.kinds.astype(float), weight
        jumps = np.concatenate([[0], np.cumsum(np.diff(members, prepend=members[:1]) != 1)])
        runs = jumps[end] == jumps[np.minimum(begin + 1, end)]
        self.runs = (runs & (members[begin] == begin)).astype(np.uint8)
        repeated = np.concatenate([[0], np.cumsum(weight[members] != 1)])
        self.unit = (repeated[end] == repeated[begin]).astype(np.uint8)
        self.by_kind = np.argsort(groups.kind, kind="stable").astype(np.int32)
        of_kind = np.bincount(groups.kind, minlength=len(self.kinds))
        self.kind_begin = np.concatenate([[0], np.cumsum(of_kind)]).astype(np.intp)
        order_of, kind_of = np.nonzero(self.kinds.T)
        orders = np.arange(groups.order + 2)
        self.order_begin = np.searchsorted(order_of, orders).astype(np.intp)
        self.order_kind = kind_of.astype(np.int32)
        self.parent = np.ascontiguousarray(groups.above, dtype=np.int32)
        self.owner = np.empty(groups.n_rows if len(groups.above) else 0, dtype=np.int32)
        if len(self.owner):  # groups that none is above are single rows
            leaves = np.setdiff1d(np.arange(groups.n_groups), groups.above)
            assert (end[leaves] == begin[leaves] + 1).all()
            assert len(leaves) == groups.n_rows
            self.owner[members[begin[leaves]]] = leaves

    @cached_property
    def lists(self) -> tuple[hamiltonian.Lists, hamiltonian.Lists]:
        """The rows of each group, and the groups of each row, as trajectories add them up."""
        return hamiltonian.lists(self.begin, self.end, self.members, len(self.weight))


# ---- what configs say ----

Order = Count | Literal["all"]
Shape = Annotated[float, Field(strict=True, ge=defaults.LEAST_SHAPE, le=1e6)]
Width = Annotated[float, Field(strict=True, ge=defaults.LEAST_WIDTH, le=defaults.MOST_WIDTH)]


class LogisticBlock(Block):
    """Priors, sampler and variants of a logistic model; each list is combined with the others."""

    takes: ClassVar[str] = "patterns"
    kind: Literal["logistic"]
    """`logistic`, for sequences and for tables of discrete features."""
    response: Literal["classes", "gaussian"] = "classes"
    """`gaussian` predicts real responses of `table` or `interactions` by a linear function of the
    patterns plus normal noise. The responses are standardised by the training samples. Coefficients
    in the files of draws are on this scale; all other results are in the units of the response."""
    engine: Each[Literal["chains", "mixing"]] = ["chains"]
    """How sequences are predicted: `chains`, the model of the thesis, sampled by Markov chains; or
    `mixing`, which has counts of each pattern in place of a coefficient of its own, takes seconds
    for a million states, and has no draws. Its patterns have all orders up to the length of the
    histories, at most 64. A list compares both."""
    orders: Each[Order]
    """A list: the largest number of states, or of features, that a pattern fixes; or `all`. Without
    chains these are the orders of third-party methods."""
    priors: Each[Literal["cauchy", "gaussian"]] = [defaults.PRIOR]
    """The priors of the coefficients, `cauchy` and `gaussian`."""
    compress: Each[StrictBool] = [True]
    """`true`: one coefficient for all patterns that are present in the same training samples;
    `false`: one for each pattern, which has the same posterior and takes several times as long."""
    sigma_scale: Each[Literal["log", "natural"]] = [defaults.SIGMA_SCALE]
    """The scale on which sigma is updated: `log`, or `natural`, as the thesis implies: its text has
    a slice width of 1 for sigma_o. The author's later program, BPHO, updates log sigma."""
    peers: Once[Text] = []
    """Other classifiers for the same samples. For sequences: `n-gram`, `logistic-regression`,
    `gradient-boosting`. For features: `logistic-regression`, `random-forest`, `gradient-boosting`,
    `naive-bayes`. For real responses: `ridge`, `random-forest`, `gradient-boosting`."""
    min_samples: Positive = defaults.MIN_SAMPLES
    """Features: patterns that are present in fewer training samples are dropped. From 2 on,
    patterns that occur only in test samples are dropped, too."""
    chains: Positive = defaults.CHAINS
    """Number of chains."""
    iterations: Positive = defaults.ITERATIONS
    """Total number of iterations; with `until`, the limit (default 10000). If you increase only
    this number, stored chains are continued."""
    until: UntilBlock | None = None
    """Chains stop when they have converged. R-hat and effective draws are computed for the log
    likelihood, the noise of continuous responses and predictions for up to 20 test samples. They
    are compared after 200, 300, 450, ... iterations, of which the second half is used; omit
    `burn_in` and `thin`. At most 1,000 draws are kept. At least two chains are needed."""
    burn_in: Count = defaults.BURN_IN
    """Number of burn-in iterations, which are discarded."""
    thin: Positive = defaults.THIN
    """Thinning interval of the iterations after `burn_in`."""
    joint_updates: Each[Count] = [defaults.JOINT_UPDATES]
    """Number of joint updates of all coefficients and sigmas in an iteration; 0 is the sampler of
    the thesis. A list compares numbers. For sequences with two classes, all coefficients are drawn
    at once, and the sigmas move with the coefficients integrated out. For features, and for
    sequences with three or more classes, all of them move along Hamiltonian trajectories."""
    sigma_shape: Shape = defaults.SIGMA_SHAPE
    """The prior of sigma_o is Inverse-Gamma with this shape."""
    sigma_mode: Width = defaults.SIGMA_MODE
    """The prior of sigma_o has its mode at `sigma_mode` / o."""

    def order_beyond(self, most: int, patterns: str) -> str:
        """Return the key of an order that is not possible and what is wrong, "" without such.

        most, patterns : as of `check_order`.
        """
        for order in self.orders:
            try:
                check_order(order, most, patterns)
            except UserError as error:
                return f"model.orders: {error}"
        return ""

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield orders that are too large, and keys for models that follow a selection."""
        data = config.data
        sequences = data.family == "sequences"
        width = data.sizes.width if data.sizes else getattr(data, "history", None)
        if width:
            yield self.order_beyond(width, data.family)
        if getattr(data, "covariates", ()):
            yield (
                "data.covariates: is for model.kind: naive-bayes, with a selection. Fix: remove it"
            )
        if config.block != 1:
            yield "block: each division has its own file here. Fix: remove it"
        if config.scheme != config.usual_scheme:
            subject = "sequences" if sequences else "these data"
            tests = config.usual_scheme == "test-set"
            has = "come with a test set" if tests else "are divided by k-fold"
            yield f"evaluation.scheme: {subject} {has}. Fix: remove it"
        if config.evaluation.feature_groups != 1:
            yield "evaluation.feature_groups: a logistic model uses all features. Fix: remove it"
        if sequences and self.min_samples > 1:
            yield "model.min_samples: is for discrete features. Fix: remove it"

    @model_validator(mode="before")
    @classmethod
    def _usual_length(cls, value):
        if not isinstance(value, dict):
            return value
        if value.get("engine") in ("mixing", ["mixing"]):
            value = {"orders": ["all"]} | value
        if value.get("until") is not None:
            return {"iterations": defaults.UNTIL_ITERATIONS, "burn_in": 0, "thin": 1} | value
        return value

    @model_validator(mode="after")
    def _together(self):
        if "mixing" in self.peers:
            raise ValueError("mixing is not among `peers`. Fix: set model.engine: [chains, mixing]")
        if "chains" not in self.engine:
            keys = {"kind", "response", "engine", "min_samples", "peers"}
            if self.peers or self.orders == ["all"]:
                keys.add("orders")
            for key in sorted(self.model_fields_set - keys):
                raise ValueError(f"{key} is for engine: chains. Fix: remove it")
        check_run(self.until, self.chains, self.iterations, self.burn_in, self.thin, "model.")
        return self


# ---- chains that are stored ----

INFO = ("log_likelihood", "log_prior", "coefficient_evaluations", "width_evaluations")


def saved_from(arrays: Arrays) -> Arrays:
    """Return what `sample` takes as `saved`, from the arrays of `Draws.as_arviz`."""
    traces = [name for name in ("log_sigma", "log_noise") if f"{name}_trace" in arrays]
    draws = [
        {
            "coefficient": coefficient.astype(float),
            "info": np.stack([arrays[f"{name}_trace"][c] for name in INFO], axis=1),
            **{name: arrays[f"{name}_trace"][c] for name in traces},
        }
        for c, coefficient in enumerate(arrays["coefficient"])
    ]
    return from_named(arrays, draws)


# ---- the model: priors and sampler ----

PRIORS = ("cauchy", "gaussian")
SCALES = ("log", "natural")
START_SIGMA = 0.1
OF_METHODS = ("order", "compress", "min_samples")  # not of chains
SAVED = ("order", "prior", "compress", "min_samples")  # in model files


@dataclass(frozen=True)
class Logistic(Model):
    """A model of patterns with its priors and its sampler.

    Responses are classes, or numbers: then it is the linear function plus normal noise.  What the
    fields mean is described in `LogisticBlock`, but for these: sigma is None to sample
    sigma_1..sigma_O, or a number for each order 0..O; noise is None to sample the standard
    deviation of the noise, or its value.  An iteration updates each sigma sigma_updates times with
    the coefficients held fixed.  Slice sampling begins with an interval of step for a coefficient
    and of sigma_step for a sigma, which grows by at most most_steps.

    The defaults are the thesis's but for sigma_scale ("log": the conditional density of log sigma
    is about one wide wherever it lies, so that steps of one suit it) and joint_updates, which the
    thesis has not (`_kernels.tree`, `_kernels.hamiltonian`).  None of sigma_0 and step is the
    thesis's value: 5 and 20 for Cauchy priors, 10 and 10 for Gaussian ones.  The prior of the noise
    is as vague as those of the sigmas; its mode is for responses of standard deviation 1: as much
    noise as leaves three quarters explained.
    """

    kind: ClassVar[str] = "logistic"
    engine: ClassVar[str] = "slice"
    saved_from = staticmethod(saved_from)

    order: int | str = "all"
    prior: str = defaults.PRIOR
    compress: bool = True
    min_samples: int = defaults.MIN_SAMPLES
    sigma_0: float | None = None
    sigma_shape: float = defaults.SIGMA_SHAPE
    sigma_mode: float = defaults.SIGMA_MODE
    sigma: tuple[float, ...] | None = None
    noise_shape: float = defaults.NOISE_SHAPE
    noise_mode: float = defaults.NOISE_MODE
    noise: float | None = None
    sigma_scale: str = defaults.SIGMA_SCALE
    sigma_updates: int = defaults.SIGMA_UPDATES
    joint_updates: int = defaults.JOINT_UPDATES
    step: float | None = None
    sigma_step: float = defaults.SIGMA_STEP
    most_steps: int = defaults.MOST_STEPS
    iterations: int = defaults.ITERATIONS
    burn_in: int = defaults.BURN_IN
    thin: int = defaults.THIN
    chains: int = defaults.CHAINS
    until: tuple[float, float] | None = None

    def __post_init__(self):
        if self.prior not in PRIORS:
            raise UserError(f"unknown prior {self.prior!r}. Fix: choose cauchy or gaussian")
        if self.sigma_scale not in SCALES:
            raise UserError(f"unknown sigma_scale {self.sigma_scale!r}. Fix: choose log or natural")
        for name, default in (("sigma_0", defaults.SIGMA_0), ("step", defaults.STEP)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default[self.prior])
        checks: dict[str, Callable[..., Any]] = {
            **dict.fromkeys(("sigma_shape", "noise_shape", "step", "sigma_step"), positive),
            **dict.fromkeys(("sigma_0", "sigma_mode", "noise_mode", "noise"), _width),
            **dict.fromkeys(("sigma_updates", "most_steps", "iterations", "thin", "chains"), whole),
            **dict.fromkeys(("joint_updates", "burn_in"), partial(whole, least=0)),
        }
        for name, check_of in checks.items():
            if name != "noise" or self.noise is not None:
                object.__setattr__(self, name, check_of(name, getattr(self, name)))
        for name in ("sigma", "noise"):
            shape = getattr(self, f"{name}_shape")
            if shape < defaults.LEAST_SHAPE:
                raise UserError(
                    f"{name}_shape must be at least {defaults.LEAST_SHAPE}, got {shape:g}: with "
                    f"less, {name} often overflows"
                )
        until = as_until(self.until)
        object.__setattr__(self, "until", until)
        check_run(until, self.chains, self.iterations, self.burn_in, self.thin)
        if self.sigma is not None:
            values = enumerate(np.atleast_1d(self.sigma).tolist())
            sigma = tuple(_width(f"sigma[{i}]", value) for i, value in values)
            object.__setattr__(self, "sigma", sigma)

    # ---- the methods of a config ----

    @classmethod
    def block(cls) -> type[LogisticBlock]:
        """Return the block of a config."""
        return LogisticBlock

    @classmethod
    def methods(cls, block: Any, orders: list[int]) -> list["Logistic"]:
        """Return the models that a block lists; the orders are numbers."""
        names = {setting.name for setting in fields(cls)} & type(block).model_fields.keys()
        keys = {name: getattr(block, name) for name in names}
        keys["until"] = None if block.until is None else block.until.targets
        lists = {
            "prior": block.priors,
            "compress": block.compress,
            "sigma_scale": block.sigma_scale,
            "joint_updates": block.joint_updates,
            "order": orders,
        }
        combinations = product(*lists.values())
        return [cls(**keys | dict(zip(lists, values, strict=True))) for values in combinations]

    @property
    def name(self) -> str:
        """What files and tables call it."""
        coefficients = "compressed" if self.compress else "original"
        name = f"{self.order}-{self.prior}-{coefficients}"
        name += "-natural" * (self.sigma_scale == "natural")
        if self.joint_updates == defaults.JOINT_UPDATES:
            return name
        return f"{name}-joint-{self.joint_updates}" if self.joint_updates else f"{name}-single"

    @property
    def cauchy(self) -> bool:
        """Whether the prior is Cauchy."""
        return self.prior == "cauchy"

    @property
    def kept(self) -> int:
        """Draws that each chain keeps."""
        return (self.iterations - self.burn_in) // self.thin

    @property
    def learning(self) -> int:
        """First iterations in which a chain may tune its sampler: some of those not kept."""
        return defaults.LEARNING if self.until else min(defaults.LEARNING, self.burn_in)

    def rates(self, order: int) -> np.ndarray:
        """Return rates of the Inverse-Gamma priors of sigma_o, (order + 1,); order 0 has none."""
        return (self.sigma_shape + 1) * self.sigma_mode / np.maximum(np.arange(order + 1), 1)

    @property
    def noise_rate(self) -> float:
        """Rate of the Inverse-Gamma prior of the noise's standard deviation."""
        return (self.noise_shape + 1) * self.noise_mode

    def start(self, order: int, rng: np.random.Generator) -> np.ndarray:
        """Return log sigmas (order + 1,) to start from: those given, or dispersed ones."""
        if self.sigma is not None:
            return np.log(self.sigma)
        assert self.sigma_0 is not None  # filled in above
        log_sigma = np.log(START_SIGMA) + rng.normal(size=order + 1)
        log_sigma[0] = np.log(self.sigma_0)
        return log_sigma

    @property
    def lasting(self) -> dict[str, Any]:
        """The settings that must be equal for a chain to be continued."""
        excluded = {"iterations", "chains", *OF_METHODS}
        if self.until is None:
            excluded.add("until")
        return {name: value for name, value in vars(self).items() if name not in excluded}

    # ---- fitting: the groups of patterns, chains, and what they come to ----

    def target(self, training: PatternTraining) -> "LinearTarget":
        """Return the model of the training samples with these settings, which chains sample."""
        if training.classes:
            return LogisticTarget(training.groups, training.response, training.classes, self)
        mean, unit = self.scale(training.response)
        noise = None if self.noise is None else self.noise / unit
        response = (training.response - mean) / unit
        return GaussianTarget(training.groups, response, replace(self, noise=noise))

    def scale(self, response: np.ndarray) -> tuple[float, float]:
        """Return the mean and the standard deviation of real responses, which standardise them."""
        return float(response.mean()), float(response.std())

    def sample(
        self,
        training: PatternTraining,
        generators: list[np.random.Generator],
        *,
        saved: Arrays | None = None,
        save: Callable[[Arrays], None] | None = None,
        jobs: int | None = None,
    ) -> "Draws":
        """Return the draws of a chain for each generator: see `sample`."""
        probe = None
        if self.until is not None and training.shared is not None:
            probe = Probe.of_tests(training.shared())
        elif self.until is not None:
            probe = Probe.of_training(training.groups, training.codes)
        target = self.target(training)
        return sample(target, generators, probe=probe, saved=saved, save=save, jobs=jobs)

    @staticmethod
    def reliable(rhat: np.ndarray, ess: np.ndarray) -> bool:
        """Whether chains support predictions: R-hat and effective draws of the log likelihood.

        Sigmas are not included: those of orders that matter little may mix slowly without changing
        the predictions.
        """
        return bool(rhat[0] <= RELIABLE_RHAT and ess[0] >= RELIABLE_ESS)

    def separated(self, training: PatternTraining, draws: "Draws") -> bool:
        """Whether draws prove that patterns separate the classes of all samples completely."""
        if not training.classes:
            return False
        groups, samples = training.groups, self.target(training).responses()["response"].T
        return separated(draws.flat[0], draws.log_likelihood.reshape(-1), groups, samples)

    def described(self, training: PatternTraining, draws: "Draws") -> Named:
        """Return what files of draws say of groups, and of the scale of real responses."""
        groups, patterns = training.groups, training.patterns
        coefficient = draws.coefficient.astype(np.float32)  # as files have it
        size = np.abs(np.median(coefficient, axis=(0, 1))).max(axis=0)
        names = np.full(groups.n_groups, "", dtype=object)
        for g in np.argsort(-size, kind="stable")[:NAMED]:
            names[g] = groups.pattern(int(g), *patterns.names)
        mean, unit = self.scale(training.response)
        scale = {"response_mean": ((), np.array(mean)), "response_unit": ((), np.array(unit))}
        return {
            **({} if training.classes else scale),
            "cases": (("group",), groups.expressed),
            **patterns.named(groups),
            "pattern": (("group",), names.astype(str)),
        }

    def needs(self, classes: int, tests: int) -> tuple[int, int]:
        """Return the bytes of draws in memory, and the iterations of all chains.

        tests : samples of the test set; classes : 0 of real responses.
        Groups of patterns are not known before they are counted: the bytes of their coefficients
        are not in it.
        """
        updates = max(1, self.sigma_updates // 10, self.joint_updates)
        linear = 0 if classes else 8 * self.chains * self.most_kept * tests
        return linear, self.chains * self.iterations * updates

    @property
    def most_kept(self) -> int:
        """Draws that each chain keeps, if none stops before the limit."""
        return max(1, self.kept) if self.until is None else max(1, self.kept) // 2 + 1

    # ---- predictions, files ----

    def posterior(self, training: PatternTraining, draws: Arrays) -> "Posterior":
        """Return the draws of a file, of chains or in a row, as predictions need them."""
        mean, unit = (0.0, 1.0) if training.classes else self.scale(training.response)
        coefficient, log_sigma = flat(draws["coefficient"], draws["log_sigma"])
        coefficient = np.ascontiguousarray(coefficient, dtype=float)
        noise = None if training.classes else draws["log_noise"].reshape(-1)
        return Posterior(self, training, coefficient, log_sigma, noise, mean, unit)

    @classmethod
    def restored(
        cls, about: dict[str, Any], arrays: Arrays, training: PatternTraining
    ) -> "Posterior":
        """Return the posterior that `Posterior.saved` described; ValueError if damaged."""
        check(about["prior"] in PRIORS and isinstance(about["min_samples"], int))
        model = cls(**{name: about[name] for name in SAVED})
        K = training.classes
        stored = {"coefficient": (float, "D S G"), "log_sigma": (float, "D O")}
        stored |= {} if K else {"log_noise": (float, "D")}
        draws = shaped(
            arrays, stored, S=K if K > 2 else 1, G=training.groups.n_groups, O=about["order"] + 1
        )
        check(len(draws["log_sigma"]))
        # what is drawn between infinite widths would be drawn for ever
        check((np.abs(draws["coefficient"]) < LARGEST).all() and bounded(draws["log_sigma"]))
        mean, unit = (0.0, 1.0) if K else (about["mean"], about["unit"])
        check(abs(mean) < LARGEST and 0 < unit < LARGEST)
        check(bool(K) or bounded(draws["log_noise"]))
        check(digest_of(training.groups) == about["groups"])
        noise = draws.get("log_noise")
        return Posterior(
            model, training, draws["coefficient"], draws["log_sigma"], noise, mean, unit
        )


def _width(name: str, value: float) -> float:
    value = positive(name, value)
    low, high = defaults.LEAST_WIDTH, defaults.MOST_WIDTH
    if not low <= value <= high:
        limits = f"{low:g} and {high:g}".replace("e+", "e")
        raise UserError(f"{name} must be between {limits}, got {value:g}")
    return value


# ---- what chains have to agree in ----

SEPARATING = 20  # draws that are tried, those with the highest likelihood
MOST_ENTRIES = 5_000_000  # of rows in groups, up to which they are tried
PLACES = 2  # decimals of probabilities that are judged


@dataclass(frozen=True)
class Probe:
    """A few samples whose predictions chains have to agree in.

    shared : what they share with the groups; sample (T,) : which distinct ones, by row of it;
    names (T,) : what messages call them.
    """

    shared: Shared
    sample: np.ndarray
    names: list[str]

    @classmethod
    def of_tests(cls, overlap: Shared) -> "Probe":
        """Return distinct ones of the samples, evenly spread, called test samples from 1."""
        place, names = judged_samples(overlap.sample_of, "test")
        return cls(overlap, overlap.sample_of[place], names)

    @classmethod
    def of_training(cls, groups: Groups, X: np.ndarray) -> "Probe":
        """Return some of the training samples X (N, .), one of a row, evenly spread."""
        place, names = judged_samples(groups.row_of, "training")
        overlap = groups.shared(X[place])
        return cls(overlap, overlap.sample_of, names)


def expected(
    coefficient: np.ndarray, log_sigma: np.ndarray, probe: Probe, *, cauchy: bool
) -> np.ndarray:
    """Return E l(x) given each draw, (D, S, T), for coefficient (D, S, G), log_sigma (D, O + 1)."""
    overlap = probe.shared
    kinds, kind_of = np.unique(overlap.partial_kind, return_inverse=True)
    share = shares(overlap, kinds, log_sigma, cauchy=cauchy)
    linear = np.empty((*coefficient.shape[:2], len(probe.sample)))
    for t, d in enumerate(probe.sample):
        entire = overlap.whole[overlap.whole_begin[d] : overlap.whole_begin[d + 1]]
        part = slice(overlap.partial_begin[d], overlap.partial_begin[d + 1])
        # l = sum of s_g + sum of s_g * share; coefficients of new patterns have mean or median 0
        split = coefficient[:, :, overlap.partial[part]] * share[:, None, kind_of[part]]
        linear[:, :, t] = _total(coefficient[:, :, entire]) + _total(split)
    return linear


def shares(
    overlap: Shared, kinds: np.ndarray, log_sigma: np.ndarray, *, cauchy: bool
) -> np.ndarray:
    """Return what a sample has of a sum in expectation, (D, kinds), of kinds of partial groups."""
    power = np.exp((1 if cauchy else 2) * log_sigma)[:, None]
    first = _total(power * overlap.shared_counts[kinds])
    second = _total(power * overlap.other_counts[kinds])
    return first / (first + second)


def _total(values: np.ndarray) -> np.ndarray:
    """Return sums over the last axis, added one after another.

    Other sums add in an order that depends on how many draws there are: what is judged would depend
    on the blocks in which chains run.
    """
    if not values.shape[-1]:
        return np.zeros(values.shape[:-1])
    return np.add.accumulate(values, axis=-1, dtype=float)[..., -1]


def judged_probabilities(linear: np.ndarray) -> np.ndarray:
    """Return of linear functions (D, S, T) the probabilities that are compared, (D, T)."""
    if linear.shape[1] == 1:
        return expit(linear[:, 0]).round(PLACES)
    odds = np.exp(linear - linear.max(axis=1, keepdims=True))
    sample = np.arange(linear.shape[2])
    chance = odds[:, sample % linear.shape[1], sample] / _total(np.moveaxis(odds, 1, 2))
    return chance.round(PLACES)


def separates(linear: np.ndarray, samples: np.ndarray) -> bool:
    """Whether one of these linear functions (D, S, R) separates the classes of all samples.

    samples (R, K) of each row and class.  If one does, the classes can be separated, and the
    likelihood alone puts no bound on coefficients.
    """
    if linear.shape[1] == 1:
        linear = np.concatenate([np.zeros_like(linear), linear], axis=1)
    largest = linear.max(axis=1)
    # the class of a sample must be above all others, without a tie
    right = (linear == largest[:, None]) & ((linear == largest[:, None]).sum(axis=1) == 1)[:, None]
    return bool((right | (samples.T == 0)).all(axis=(1, 2)).any())


def separated(
    coefficient: np.ndarray, log_likelihood: np.ndarray, groups: Groups, samples: np.ndarray
) -> bool:
    """Whether a draw of coefficient (D, S, G) is a proof that the training samples are separable.

    samples (R, K) of each row and class.  The draws with the highest log likelihood (D,) are tried.
    No other proof is looked for: where none of them separates the samples, the prior keeps the
    chains away from where only the prior bounds the coefficients.
    """
    begin, size = groups.begin, groups.end - groups.begin
    if size.sum() > MOST_ENTRIES:
        return False
    best = np.argsort(-log_likelihood, kind="stable")[:SEPARATING]
    # members of all groups in a row: those of group g are members[begin[g] : end[g]]
    entry = np.arange(size.sum()) + np.repeat(begin - np.cumsum(size) + size, size)
    place = np.repeat(np.arange(groups.n_groups), size)
    shape = (groups.n_rows, groups.n_groups)
    member = sparse.csr_matrix((np.ones(len(entry)), (groups.members[entry], place)), shape=shape)
    likeliest = coefficient[best].astype(float)
    linear = np.stack([(member @ draw.T).T for draw in likeliest])  # l(x) = sum of s_g, g in x
    return separates(linear, samples)


# ---- draws ----

DIMENSIONS = {
    "coefficient": ("set", "group"),
    "log_sigma": ("order",),
    "log_noise": ("noise",),
    "tuning": ("tuned",),
}


@dataclass(frozen=True)
class Draws:
    """The draws of chains, and the state at their ends.

    coefficient (C, D, S, G) and log_sigma (C, D, O + 1) of the draws kept; trace (C, I, O + 1),
    log sigma of every iteration, and info (C, I, 4), by INFO; `state`, where the chains stand.
    Where responses have noise, log_noise (C, D) and noise_trace (C, I) are its standard deviation.
    Of chains that ran until they agree, `judgement` says what they reached, and `state` has their
    judged quantities.
    """

    coefficient: np.ndarray
    trace: np.ndarray
    noise_trace: np.ndarray | None
    info: np.ndarray
    settings: Logistic
    state: Arrays = field(repr=False)
    judgement: Judgement | None = None

    @property
    def first(self) -> int:
        """How many iterations come before those that count."""
        return self.settings.burn_in if self.judgement is None else int(self.state["done"]) // 2

    @property
    def log_sigma(self) -> np.ndarray:
        """Log sigma of the draws kept, (C, D, O + 1)."""
        return self.thinned(self.trace)

    @property
    def log_noise(self) -> np.ndarray:
        """Log of the noise's standard deviation in the draws kept, (C, D)."""
        assert self.noise_trace is not None, "classes have no noise"
        return self.thinned(self.noise_trace)

    def thinned(self, trace: np.ndarray) -> np.ndarray:
        """Return of a trace (C, I, ...) the iterations that are kept."""
        if self.judgement is not None:
            return trace[:, self.state["draws-0-kept_at"] - 1]
        settings = self.settings
        return trace[:, settings.burn_in + settings.thin - 1 :: settings.thin]

    @property
    def log_likelihood(self) -> np.ndarray:
        """Log likelihood of the draws kept, (C, D)."""
        return self.thinned(self.info[:, :, 0])

    @property
    def saved(self) -> Arrays:
        """What `sample` takes as `saved`, to go on."""
        traces = {"coefficient": self.coefficient, "log_sigma": self.trace, "info": self.info}
        if self.noise_trace is not None:
            traces["log_noise"] = self.noise_trace
        chains = range(len(self.coefficient))
        return self.state | numbered([{n: trace[c] for n, trace in traces.items()} for c in chains])

    @property
    def evaluations(self) -> np.ndarray:
        """Evaluations of densities in an iteration, for coefficients and for widths: means, (2,).

        Steps of the trajectories of joint updates count as evaluations for widths.
        """
        return self.info[:, :, 2:].mean(axis=(0, 1))

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return R-hat and effective sample size of log likelihood, log prior and log sigmas.

        (O + 2,) each, over all iterations that count; the log noise is last where there is any.
        """
        parts = [self.info[:, :, :2], self.trace[:, :, 1:]]
        if self.noise_trace is not None:
            parts.append(self.noise_trace[:, :, None])
        return compare_chains(np.concatenate(parts, axis=2)[:, self.first :])

    def as_arviz(self, diagnostics: Named, attributes: dict[str, Any]) -> DrawGroups:
        """Return ArviZ's groups: draws, traces of all iterations, and the state of the chains."""
        posterior: Named = {
            "coefficient": (("set", "group"), self.coefficient.astype(np.float32)),
            "log_sigma": (("order",), self.log_sigma),
        }
        trace: Named = {f"{name}_trace": ((), self.info[:, :, i]) for i, name in enumerate(INFO)}
        trace["log_sigma_trace"] = (("order",), self.trace)
        if self.noise_trace is not None:
            posterior["log_noise"] = ((), self.log_noise)
            trace["log_noise_trace"] = ((), self.noise_trace)
        groups: dict[str, Named] = {
            "posterior": posterior,
            "sample_stats": {
                name: ((), self.thinned(self.info[:, :, i])) for i, name in enumerate(INFO)
            },
            "trace": trace,
        }
        state = named_state(self.state, DIMENSIONS, groups, self.judgement)
        thin = self.settings.thin
        if self.judgement is not None:
            at = self.state["draws-0-kept_at"]
            thin = int(at[1] - at[0]) if len(at) > 1 else 1
        attributes = {**attributes, "burn_in": self.first, "thin": thin}
        return DrawGroups.of_draws(groups, state | diagnostics, attributes)

    def posterior(self, model: Logistic, training: PatternTraining) -> "Posterior":
        """Return the draws as predictions need them."""
        noise = {} if self.noise_trace is None else {"log_noise": self.log_noise}
        draws = {"coefficient": self.coefficient, "log_sigma": self.log_sigma} | noise
        return model.posterior(training, draws)

    @property
    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (C D, S, G) and log sigma (C D, O + 1) of all draws in a row."""
        return flat(self.coefficient, self.log_sigma)


def flat(coefficient: np.ndarray, log_sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (C, D, ...) values of chains as (C D, ...), one draw after another."""
    return (
        coefficient.reshape(-1, *coefficient.shape[2:]),
        log_sigma.reshape(-1, log_sigma.shape[-1]),
    )


# ---- what models are fitted to, and what they come to ----

NAMED = 20_000  # groups that get their names in a file: those with the largest coefficients
SPLIT_DRAWS = 10  # random splits of each draw, in the prediction of a sample by itself
FARTHEST = 100.0  # abs log of a width in a model file; chains stay within 80
TOGETHER = 256  # samples whose linear functions are held at once


@dataclass(frozen=True)
class Posterior:
    """Draws of coefficients, in a row, as predictions need them.

    coefficient (D, S, G), log_sigma (D, O + 1); of real responses (classes: 0) log_noise (D,), on
    the scale of the responses less `mean`, in units of `unit`.
    """

    model: Logistic
    training: PatternTraining
    coefficient: np.ndarray
    log_sigma: np.ndarray
    log_noise: np.ndarray | None = None
    mean: float = 0.0
    unit: float = 1.0

    @property
    def classes(self) -> int:
        """How many classes there are, 0 of real responses."""
        return self.training.classes

    def predict(
        self,
        codes: np.ndarray,
        rng: np.random.Generator,
        split_draws: int = 1,
        overlap: Shared | None = None,
    ) -> np.ndarray:
        """Return P(class) of samples (T, p), (T, K); overlap : with groups, if it is known."""
        if overlap is None:
            overlap = self.training.groups.shared(codes)
        draws, cauchy = (self.coefficient, self.log_sigma, overlap), self.model.cauchy
        return predict(*draws, self.classes, cauchy=cauchy, rng=rng, split_draws=split_draws)

    def respond(self, overlap: Shared, rng: np.random.Generator, split_draws: int = 1) -> Response:
        """Return the predictive distributions of real responses, on the scale of the draws."""
        assert self.log_noise is not None
        draws = self.coefficient, self.log_sigma, self.log_noise
        cauchy = self.model.cauchy
        return predict_response(*draws, overlap, cauchy=cauchy, rng=rng, split_draws=split_draws)

    def tested(
        self,
        codes: np.ndarray,
        response: np.ndarray,
        rng: np.random.Generator,
        overlap: Shared | None = None,
    ) -> Arrays:
        """Return what is predicted of test samples (T, p) with these responses, (T, .) each.

        probability (T, K); or of real responses the arrays that `density.SCORED` names.  With
        Cauchy priors, shares and new patterns leave no mean and sd, which are NaN.
        """
        if self.classes:
            return {"probability": self.predict(codes, rng, overlap=overlap)}
        predicted = self.respond(overlap or self.training.groups.shared(codes), rng)
        scores = predicted.scores((response - self.mean) / self.unit)
        if self.model.cauchy:
            scores |= dict.fromkeys(("mean", "sd"), np.full(len(response), np.nan))
        scores |= {name: self.unit * scores[name] for name in ("sd", "crps")}
        places = ("median", "low", "high", "mean")
        scores |= {name: self.mean + self.unit * scores[name] for name in places}
        return scores | {"log_density": scores["log_density"] - np.log(self.unit)}

    def predict_alone(
        self, codes: np.ndarray, seed: int, split_draws: int = SPLIT_DRAWS
    ) -> np.ndarray:
        """Return P(class) of samples (T, p), (T, K); each depends on its sample only."""
        overlap = self.training.groups.shared(codes)
        probability = [
            self.predict(codes, np.random.default_rng(seed), split_draws, single)[0]
            for single in one_by_one(overlap)
        ]
        return np.array(probability)[overlap.sample_of]

    def quantiles_alone(
        self, codes: np.ndarray, levels: Sequence[float], seed: int, split_draws: int = 1
    ) -> np.ndarray:
        """Return quantiles (levels, T) of real responses; those of a sample depend on no other."""
        overlap, quantiles = self.training.groups.shared(codes), []
        singles = list(one_by_one(overlap))
        for start in range(0, len(singles), TOGETHER):
            responses = [
                self.respond(single, np.random.default_rng(seed), split_draws)
                for single in singles[start : start + TOGETHER]
            ]
            distinct = np.hstack([single.distinct for single in responses])
            together = Response(distinct, responses[0].noise, np.arange(len(responses)))
            quantiles.append(together.quantile(levels))
        return self.mean + self.unit * np.hstack(quantiles)[:, overlap.sample_of]

    def predict_new(self, codes: np.ndarray, seed: int) -> Arrays:
        """Return probability (T, K), or of real responses quantiles, (T,) each.

        With Cauchy priors there is no mean.
        """
        if self.classes:
            return {"probability": self.predict_alone(codes, seed)}
        quantiles = self.quantiles_alone(codes, [*LEVELS.values()], seed)
        return dict(zip(LEVELS, quantiles, strict=True))

    def saved(self) -> tuple[dict[str, Any], Arrays]:
        """Return what of it a model file has, besides the training samples: for `restored`."""
        model = self.model
        about: dict[str, Any] = {name: getattr(model, name) for name in SAVED}
        coefficient = self.coefficient.astype(np.float32)  # as it was in the file of draws
        arrays = {"coefficient": coefficient, "log_sigma": self.log_sigma}
        if self.log_noise is not None:
            arrays["log_noise"] = self.log_noise
            about |= {"mean": self.mean, "unit": self.unit}
        return about | {"groups": digest_of(self.training.groups)}, arrays


def digest_of(groups: Groups) -> str:
    """Return what coefficients belong to: a digest of the groups, in their order."""
    whole = hashlib.sha256()
    for values in (groups.begin, groups.end, groups.members):
        whole.update(values.astype("<i8").tobytes())
    return whole.hexdigest()


def bounded(log: np.ndarray) -> bool:
    """Whether logs of widths are such as chains have."""
    return bool((np.abs(log) <= FARTHEST).all())


# ---- models and their chains ----

LARGEST = 1e20  # of real responses


class LinearTarget:
    """Groups and settings; a subclass has the responses.

    Equations eqn-cc-prior, eqn-dist-sg and eqn-post-sum.

    groups : as `patterns` makes them.
    """

    parameters: ClassVar[tuple[str, ...]] = ("coefficient", "log_sigma")  # as `start` gives them
    kernel: ClassVar[type[linear.Linear]]

    def __init__(self, groups: Groups, settings: Logistic, sets: int):
        sigma, order = settings.sigma, groups.order
        if sigma is not None and len(sigma) != order + 1:
            n = len(sigma)
            raise UserError(f"sigma needs {order + 1} values, of orders 0 to {order}, got {n}")
        self.groups, self.settings, self.sets = groups, settings, sets
        self.weight = np.bincount(groups.row_of, minlength=groups.n_rows).astype(float)

    def responses(self) -> Arrays:
        """Return the responses of the rows, as the kernel reads them."""
        raise NotImplementedError

    def sampler(self, *parameters: Any, **named: Any) -> linear.Linear:
        """Return the kernel's chain, which changes the parameters, as of `start`, in place.

        named : parameters, and tuning as `untuned` returns it, changed in place too; without it
            the sampler does not learn.
        """
        keys = {**named, **self.responses(), "moves": self.moves}
        return self.kernel(self.layout, self.settings, *parameters, **keys)

    def untuned(self) -> Arrays:
        """Return what the sampler learns in the first iterations, as it begins."""
        groups = self.groups
        if self.moves == "tree":
            return {"tuning": tree.untuned(groups.order)}
        if self.moves == "hamiltonian":
            return {"tuning": hamiltonian.untuned(self.sets, groups.n_groups, groups.order)}
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
        return Layout(self.groups, self.weight)

    def start(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return coefficients of 0 and dispersed log sigmas to start from."""
        coefficient = np.zeros((self.sets, self.groups.n_groups))
        return coefficient, self.settings.start(self.groups.order, rng)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What chains must have in common to be continued."""
        groups, content = self.groups, hashlib.sha256()
        content.update(self.weight.tobytes())
        for members in (groups.begin, groups.end, groups.members, groups.kind):
            content.update(np.ascontiguousarray(members).tobytes())
        for name, values in self.responses().items():
            content.update(name.encode() + np.asarray(values).tobytes())
        return self.settings.lasting | {
            "moves": self.moves,
            "order": groups.order,
            "groups": groups.n_groups,
            "cases": groups.n_samples,
            "sets": self.sets,
            "data": content.hexdigest()[:16],
        }


class LogisticTarget(LinearTarget):
    """Responses that are classes: eqn-softmax, or eqn-softmax-class, given sums (eqn-like-train).

    response : (N,) classes 0..n_classes - 1 of the training samples.
    """

    kernel = likelihoods.Logistic

    def __init__(self, groups: Groups, response, n_classes: int, settings: Logistic):
        response = np.asarray(response)
        if len(response) != groups.n_samples:
            raise UserError(f"{groups.n_samples} histories but {len(response)} responses")
        if response.min() < 0 or response.max() >= n_classes:
            raise UserError(f"responses must be classes from 0 to {n_classes - 1}")
        if n_classes < 2:
            raise UserError("the responses are all of one class. Fix: choose another response")
        super().__init__(groups, settings, sets=1 if n_classes == 2 else n_classes)
        self.n_classes = n_classes
        self.samples = np.zeros((groups.n_rows, n_classes))
        np.add.at(self.samples, (groups.row_of, response), 1)

    def responses(self) -> Arrays:
        """Return samples of each class, (K, R)."""
        return {"response": np.ascontiguousarray(self.samples.T)}


class GaussianTarget(LinearTarget):
    """Responses that are the linear function plus normal noise.

    response : (N,) real numbers; priors and steps suit those of standard deviation 1.
    """

    parameters = ("coefficient", "log_sigma", "log_noise")
    kernel = likelihoods.Normal

    def __init__(self, groups: Groups, response, settings: Logistic):
        try:
            response = np.asarray(response, dtype=float)
        except (TypeError, ValueError):
            raise DataError("responses must be numbers") from None
        if response.shape != (groups.n_samples,):
            raise UserError(f"{groups.n_samples} samples but responses of shape {response.shape}")
        wrong = np.flatnonzero(~(np.abs(response) <= LARGEST))
        if len(wrong):
            raise DataError(
                f"responses must be numbers within {LARGEST:g}, got {response[wrong[0]]:g} "
                f"for sample {wrong[0] + 1}. Fix: remove these samples"
            )
        if response.min() == response.max():
            raise UserError(f"the responses are all {response[0]:g}. Fix: choose another response")
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


def sample(
    model: LinearTarget,
    generators: list[np.random.Generator],
    *,
    probe: Probe | None = None,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    jobs: int | None = None,
) -> Draws:
    """Run one chain for each generator, in threads, of which there are `jobs`.

    probe : with settings.until, the samples whose predictions the chains have to agree in.

    `save` is called now and then with all that a later call needs as `saved`; at the end that is
    `Draws.saved`.  Chains that go on from there, with more iterations, have the draws of an
    uninterrupted run.  Raises UserError where `saved` is of another model or other settings.
    """
    settings = model.settings
    chains = [Chain(model, rng) for rng in generators]
    if saved is not None:
        _check_saved(model, saved, len(chains))
    rule = None
    if settings.until is not None:
        if probe is None:
            raise UserError(
                "until needs a probe: samples whose predictions the chains have to agree in"
            )
        noise = ["log_noise"] if "log_noise" in model.parameters else []

        def quantities(arrays: Arrays) -> np.ndarray:
            draws = arrays["coefficient"], arrays["log_sigma"]
            linear = expected(*draws, probe, cauchy=settings.cauchy)
            predictions = linear[:, 0] if noise else judged_probabilities(linear)
            return np.column_stack(
                [arrays["info"][:, 0], *(arrays[name] for name in noise), predictions]
            )

        names = ["log likelihood", *["log noise" for _ in noise], *probe.names]
        thinned, numbers = {"coefficient": np.float32}, model.sets * model.groups.n_groups
        targets = Until(*settings.until)
        rule = Rule(targets, quantities, names, thinned, len(chains), numbers)
    parts = run(chains, settings.iterations, saved=saved, save=save, jobs=jobs, rule=rule)
    quantities_of_chains = (
        [] if rule is None else [{name: part[name] for name in OURS} for part in parts]
    )
    drawn = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
    return Draws(
        coefficient=drawn["coefficient"],
        trace=drawn["log_sigma"],
        noise_trace=drawn.get("log_noise"),
        info=drawn["info"],
        settings=settings,
        state=states(chains, chains[0].done) | numbered(quantities_of_chains),
        judgement=None if rule is None else rule.judge(parts),
    )


def _check_saved(model: LinearTarget, saved: Arrays, chains: int) -> None:
    """Say so where stored chains are of another model."""
    stored = json.loads(str(saved["state-0-model"]))
    current = json.loads(json.dumps(model.identity))
    # older chains do not say how they moved: alone as today, or together as nothing does now
    stored.setdefault("moves", "none" if stored.get("joint_updates") == 0 else None)
    for name in stored | current:
        if stored.get(name) != current.get(name):
            if name == "moves":
                raise UserError(
                    "the stored chains come from another sampler and cannot be continued. Fix: "
                    "fit again (on the command line with --force)"
                )
            raise UserError(
                f"the stored chains have {name} {stored.get(name)!r}, these settings "
                f"{current.get(name)!r}. Fix: change only iterations, or recompute with --force"
            )
    check_saved(saved, chains, model.settings.iterations)


class Chain(MarkovChain):
    """One chain: its state, and the kernel that moves it on."""

    def __init__(self, model: LinearTarget, rng: np.random.Generator):
        super().__init__(rng, model.identity)
        self.model = model
        self.place = dict(zip(model.parameters, model.start(rng), strict=True)) | model.untuned()
        self.kernel: linear.Linear | None = None

    def restore(self, state: Arrays) -> None:
        """Go back to a state."""
        super().restore(state)
        self.kernel = None

    def advance(self, iterations: int) -> Arrays:
        """Go on, and return the draws kept and the trace of every iteration."""
        settings, groups = self.model.settings, self.model.groups
        if self.kernel is None:
            self.kernel = self.model.sampler(**self.place)
        first = self.done - settings.burn_in
        n_kept = max(0, first + iterations) // settings.thin - max(0, first) // settings.thin
        draws = {
            "coefficient": np.empty((n_kept, self.model.sets, groups.n_groups)),
            "log_sigma": np.empty((iterations, groups.order + 1)),
            "info": np.empty((iterations, len(INFO))),
        }
        if "log_noise" in self.place:
            draws["log_noise"] = np.empty(iterations)
        with self.rng.bit_generator.lock:
            n_written = self.kernel.run(
                self.done,
                iterations,
                settings.burn_in,
                settings.thin,
                settings.sigma_updates,
                settings.joint_updates,
                draws["coefficient"],
                draws["log_sigma"],
                draws.get("log_noise"),
                draws["info"],
                self.rng.bit_generator.capsule,
            )
        assert n_written == n_kept
        self.done += iterations
        return draws
