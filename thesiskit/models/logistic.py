"""Bayesian logistic models with one coefficient for each group of patterns (thesis, chapter 3).

| thesis | name | shape |
|---|---|---|
| beta, s_g | `coefficient` | (S, G), S = 1 for two classes, K for more |
| sigma_o | `exp(log_sigma)` | (O + 1,) |
| alpha_o, w_o | `sigma_shape`, `sigma_mode / o` of the Inverse-Gamma prior of sigma_o | scalars |
| K | number of classes | scalar |
| N | cases; R distinct rows of them | scalar |
| w, m | `step`, `sigma_step`, `most_steps` of slice sampling | scalars |
| standard deviation of the noise (ours) | `exp(log_noise)` | (1,) |
| l(x*) given a draw, shares and new coefficients in expectation | `expected` | (D, S, T) |
| sigma_1 / (sigma_1 + sigma_2), of Gaussian priors with squares | share of a group's sum | (D, .) |
| s_g, of groups whose patterns a test case expresses all | `whole` groups | (.) |
| E s_g^t, of groups that it expresses in part | share times s_g | (D, S, .) |

Equations eqn-softmax to eqn-cc-prior, eqn-dist-sg and eqn-post-sum; section "Specifications of
the Priors and Computation Methods".  The model knows groups, their patterns by order, and the
responses of each row; not where the groups came from.  Responses are classes, or numbers: the
linear function plus normal noise, which the conclusion of the thesis's chapter 3 foresees.

What chains have to agree in are the log likelihood, the log noise of real responses, and the
predictions for up to MOST_CASES cases: real responses, or the probability of a class, with more
than two each class in its turn.  Sections "Splitting Compressed Parameters" and "Making Prediction
for a Test Case".  Sigmas are not among them: those of orders that matter little may mix slowly.
Probabilities are rounded to PLACES decimals: whether a prediction is made with certainty 1 - 1e-6
or 1 - 1e-9 changes no result, and where patterns separate the classes, chains need long to agree in
it.  A split of a sum has a mean with Cauchy priors too: its density falls with the fourth power.
So no random number is needed here, and a chain's generator is left alone.

Shares are expectations given each draw; the patterns that no training case expresses add 0 in
expectation.  So the contributions of all groups add up to `expected`, draw by draw.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit

from thesiskit import defaults
from thesiskit._kernels import (  # type: ignore[attr-defined]
    hamiltonian,  # type: ignore[attr-defined]
    linear,
    tree,
)
from thesiskit._kernels import logistic as kernel  # type: ignore[attr-defined]
from thesiskit.defaults import RELIABLE_ESS, RELIABLE_RHAT
from thesiskit.errors import DataError, UserError
from thesiskit.models.chains import (
    Arrays,
    Judgement,
    Named,
    Rule,
    Until,
    as_named,
    as_tree,
    as_until,
    check_run,
    check_saved,
    compare_chains,
    from_named,
    judged_state,
    named_state,
    names_of_cases,
    numbered,
    run,
    spread,
    states,
)
from thesiskit.models.patterns import Groups, Shared
from thesiskit.models.priors import positive, whole
from thesiskit.models.splitting import (
    Response,
    cauchy_split_cdf,
    expected_logistic_gaussian,
    original_coefficients,
    predict,
    predict_response,
)

__all__ = [
    "SCALES", "Chain", "Draws", "Linear", "Model", "Normal", "Probe", "Response", "Settings",
    "cauchy_split_cdf", "check_sigma", "expected_logistic_gaussian", "flat",
    "original_coefficients", "predict", "predict_response", "reliable", "sample", "saved_from",
    "separated", "separates",
]  # fmt: skip


# ---- groups as the kernel reads them ----


class Layout:
    """Groups, and cases of rows, in arrays of the kernel's types.

    begin, end (G,) and members (.) give the rows of each group; kind (G,) and kinds (C, O + 1)
    its patterns by order; weight (R,) the cases of a row.  runs (G,) says whether a group's members
    are consecutive rows, each in its own place of `members`; unit (G,) whether all its rows have
    one case.
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


# ---- priors and sampler ----

PRIORS = ("cauchy", "gaussian")
SCALES = ("log", "natural")
START_SIGMA = 0.1


@dataclass(frozen=True)
class Settings:
    """Priors and sampler; the defaults are the thesis's but for sigma_scale and joint_updates.

    sigma_0 is the width of the coefficient of order 0, and `step` the first interval of the slice
    sampler; None for the thesis's (5 and 20 for Cauchy priors, 10 and 10 for Gaussian ones).
    sigma : None to sample sigma_1..sigma_O, or their values: a number for each order 0..O.
    noise : of continuous responses alone: None to sample the noise's standard deviation, or its
        value.  Its Inverse-Gamma prior is as vague as those of the sigmas; the mode is for
        responses of standard deviation 1: as much noise as leaves three quarters explained.
    sigma_scale : "log" updates log sigma, whose conditional density is about one wide wherever it
        lies, so that steps of one suit it; "natural" sigma itself, as the thesis.
    joint_updates : how often an iteration also moves all coefficients and sigmas together; the
        thesis has no such updates.  For sequences with two classes or real responses all
        coefficients are drawn at once, and sigmas move with them integrated out (`_kernels.tree`);
        for features, and for three or more classes, all of them move along Hamiltonian
        trajectories (`_kernels.hamiltonian`).
    iterations : the number of all iterations of a chain; the first burn_in are not kept, and of
        the others every thin-th is kept.
    until : the R-hat and the effective draws with which chains stop before `iterations`, and
        perhaps the rest of `chains.Until`; what is kept is then not for burn_in (0) and thin
        (1) to say, but for models/chains.py.
    """

    prior: str = defaults.PRIOR
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
    until: tuple[Any, ...] | None = None

    def __post_init__(self):
        if self.prior not in PRIORS:
            raise UserError(f"unknown prior {self.prior!r}; choose cauchy or gaussian")
        if self.sigma_scale not in SCALES:
            raise UserError(f"unknown sigma_scale {self.sigma_scale!r}; choose log or natural")
        for name, default in (("sigma_0", defaults.SIGMA_0), ("step", defaults.STEP)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default[self.prior])
        for name in ("sigma_shape", "noise_shape", "step", "sigma_step"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("sigma_0", "sigma_mode", "noise_mode", "noise"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _width(name, getattr(self, name)))
        for name in ("sigma", "noise"):
            shape = getattr(self, f"{name}_shape")
            if shape < defaults.LEAST_SHAPE:
                raise UserError(
                    f"{name}_shape must be at least {defaults.LEAST_SHAPE}, got {shape:g}: with "
                    f"less, {name} is often beyond what numbers hold"
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
        until = as_until(self.until)
        object.__setattr__(self, "until", until)
        check_run(until, self.chains, self.iterations, self.burn_in, self.thin)
        if self.sigma is not None:
            values = enumerate(np.atleast_1d(self.sigma).tolist())
            sigma = tuple(_width(f"sigma[{i}]", value) for i, value in values)
            object.__setattr__(self, "sigma", sigma)

    @classmethod
    def of(cls, block: Any, prior: str, sigma_scale: str) -> "Settings":
        """Return the settings of an arm of a config, whose block has the other keys."""
        keys = cls.keys_of(block)
        return cls(prior=prior, sigma_scale=sigma_scale, until=block.targets, **keys)

    @classmethod
    def keys_of(cls, block: Any) -> dict[str, Any]:
        """Return the keys of a config's block that all its arms share, and chains depend on."""
        others = ("prior", "sigma", "sigma_scale", "until")
        names = [one.name for one in fields(cls) if one.name not in others]
        noisy = block.continuous
        return {n: getattr(block, n) for n in names if noisy or not n.startswith("noise")}

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

    def check_order(self, order: int) -> None:
        """Raise UserError where there are not as many sigmas as orders 0 to `order`."""
        if self.sigma is not None:
            check_sigma(self.sigma, order)

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
        others = {"iterations", "chains"} | ({"until"} if self.until is None else set())
        return {name: value for name, value in vars(self).items() if name not in others}


def check_sigma(sigma, order: int) -> None:
    """Raise UserError where there are not as many sigmas as orders 0 to `order`."""
    if len(sigma) != order + 1:
        raise UserError(f"sigma needs {order + 1} values, of orders 0 to {order}, got {len(sigma)}")


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
    """A few cases whose predictions chains have to agree in.

    shared : what they share with the groups; case (T,) : which distinct ones, by row of it;
    names (T,) : what messages call them.
    """

    shared: Shared
    case: np.ndarray
    names: list[str]

    @classmethod
    def of_tests(cls, shared: Shared) -> "Probe":
        """Return distinct ones of the cases, evenly spread, called test cases from 1."""
        first = np.unique(shared.case_of, return_index=True)[1]
        place = np.sort(first)[spread(len(first))]
        return cls(shared, shared.case_of[place], names_of_cases("test", place))

    @classmethod
    def of_training(cls, groups: Groups, X: np.ndarray) -> "Probe":
        """Return some of the training cases X (N, .), one of a row, evenly spread."""
        first = np.sort(np.unique(groups.row_of, return_index=True)[1])
        place = first[spread(len(first))]
        shared = groups.shared(X[place])
        return cls(shared, shared.case_of, names_of_cases("training", place))


def expected(
    coefficient: np.ndarray, log_sigma: np.ndarray, probe: Probe, *, cauchy: bool
) -> np.ndarray:
    """Return E l(x) given each draw, (D, S, T), for coefficient (D, S, G), log_sigma (D, O + 1)."""
    shared = probe.shared
    kinds, kind_of = np.unique(shared.partial_kind, return_inverse=True)
    share = shares(shared, kinds, log_sigma, cauchy=cauchy)
    linear = np.empty((*coefficient.shape[:2], len(probe.case)))
    for t, d in enumerate(probe.case):
        entire = shared.whole[shared.whole_begin[d] : shared.whole_begin[d + 1]]
        part = slice(shared.partial_begin[d], shared.partial_begin[d + 1])
        # l = sum of s_g + sum of s_g * share; coefficients of new patterns have mean or median 0
        split = coefficient[:, :, shared.partial[part]] * share[:, None, kind_of[part]]
        linear[:, :, t] = _total(coefficient[:, :, entire]) + _total(split)
    return linear


def shares(shared: Shared, kinds: np.ndarray, log_sigma: np.ndarray, *, cauchy: bool) -> np.ndarray:
    """Return what a case has of a sum in expectation, (D, kinds), of kinds of partial groups."""
    power = np.exp((1 if cauchy else 2) * log_sigma)[:, None]
    first, second = (
        _total(power * counts[kinds]) for counts in (shared.shared_counts, shared.other_counts)
    )
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
    case = np.arange(linear.shape[2])
    chance = odds[:, case % linear.shape[1], case] / _total(np.moveaxis(odds, 1, 2))
    return chance.round(PLACES)


@dataclass(frozen=True)
class Quantities:
    """Computes what is judged from draws, (D, Q)."""

    probe: Probe
    cauchy: bool
    noise: bool

    @property
    def names(self) -> list[str]:
        """What the quantities are called, (Q,)."""
        return ["log likelihood", *["log noise"] * self.noise, *self.probe.names]

    def __call__(self, drawn: Arrays) -> np.ndarray:
        """Return the quantities of draws: coefficient, log_sigma, info, perhaps log_noise."""
        linear = expected(drawn["coefficient"], drawn["log_sigma"], self.probe, cauchy=self.cauchy)
        columns = [drawn["info"][:, 0], *([drawn["log_noise"]] if self.noise else [])]
        return np.column_stack(
            [*columns, linear[:, 0] if self.noise else judged_probabilities(linear)]
        )


def separates(linear: np.ndarray, cases: np.ndarray) -> bool:
    """Whether one of these linear functions (D, S, R) tells the classes of all cases apart.

    cases (R, K) of each row and class.  If one does, the classes can be separated, and the
    likelihood alone puts no bound on coefficients.
    """
    if linear.shape[1] == 1:
        linear = np.concatenate([np.zeros_like(linear), linear], axis=1)
    largest = linear.max(axis=1)
    # the class of a case must be above all others, without a tie
    right = (linear == largest[:, None]) & ((linear == largest[:, None]).sum(axis=1) == 1)[:, None]
    return bool((right | (cases.T == 0)).all(axis=(1, 2)).any())


def separated(
    coefficient: np.ndarray, log_likelihood: np.ndarray, groups: Groups, cases: np.ndarray
) -> bool:
    """Whether a draw of coefficient (D, S, G) is a proof that the training cases are separable.

    cases (R, K) of each row and class.  The draws with the highest log likelihood (D,) are tried.
    No other proof is looked for: where none of them separates the cases, the prior keeps the
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
    chosen = coefficient[best].astype(float)
    linear = np.stack([(member @ one.T).T for one in chosen])  # l(x) = sum of s_g, g in x
    return separates(linear, cases)


# ---- what groups add to a prediction ----

AT_ONCE = 4_000_000  # numbers held at once


class Contributions:
    """The groups that one test case shares, and what they add to its linear functions.

    coefficient (D, S, G) and log_sigma (D, O + 1) are draws; case : the row of `shared`.
    groups (M,) : those of which the case expresses a pattern.
    """

    def __init__(
        self,
        coefficient: np.ndarray,
        log_sigma: np.ndarray,
        shared: Shared,
        case: int,
        *,
        cauchy: bool,
    ):
        self.coefficient = coefficient
        whole = shared.whole[shared.whole_begin[case] : shared.whole_begin[case + 1]]
        part = slice(shared.partial_begin[case], shared.partial_begin[case + 1])
        self.groups = np.concatenate([whole, shared.partial[part]]).astype(np.intp)
        kinds, kind = np.unique(shared.partial_kind[part], return_inverse=True)
        ones = np.ones((len(log_sigma), 1))
        partly = shares(shared, kinds, log_sigma, cauchy=cauchy)
        self._ratio = np.hstack([ones, partly])  # (D, 1 + kinds)
        self._column = np.concatenate([np.zeros(len(whole), dtype=np.intp), 1 + kind.reshape(-1)])

    def values(self, places) -> np.ndarray:
        """Return draws of what groups[places] add, (D, S, len(places))."""
        ratio = self._ratio[:, None, self._column[places]]
        return self.coefficient[:, :, self.groups[places]].astype(float) * ratio

    @property
    def share(self) -> np.ndarray:
        """Means of the shares of the groups' sums that the case expresses, (M,)."""
        return self._ratio.mean(axis=0)[self._column]

    @cached_property
    def _summed(self) -> tuple[np.ndarray, np.ndarray]:
        draws, sets, _ = self.coefficient.shape
        mean, total = np.empty((sets, len(self.groups))), np.zeros((draws, sets))
        step = max(1, AT_ONCE // (draws * sets))
        for start in range(0, len(self.groups), step):
            places = np.arange(start, min(start + step, len(self.groups)))
            values = self.values(places)
            mean[:, places] = values.mean(axis=0)
            total += values.sum(axis=2)
        return mean, total

    @property
    def mean(self) -> np.ndarray:
        """Means over the draws of what each group adds, (S, M)."""
        return self._summed[0]

    @property
    def total(self) -> np.ndarray:
        """The linear functions, (D, S): the sums over all groups."""
        return self._summed[1]


# ---- draws ----

INFO = ("log_likelihood", "log_prior", "coefficient_evaluations", "width_evaluations")
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
    settings: Settings
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

    def as_arviz(self, diagnostics: Named, attributes: dict[str, Any]):
        """Return ArviZ data: draws, traces of all iterations, and the state of the chains."""
        posterior: Named = {
            "coefficient": (("set", "group"), self.coefficient.astype(np.float32)),
            "log_sigma": (("order",), self.log_sigma),
        }
        trace: Named = {f"{name}_trace": ((), self.info[:, :, i]) for i, name in enumerate(INFO)}
        trace["log_sigma_trace"] = (("order",), self.trace)
        if self.noise_trace is not None:
            posterior["log_noise"] = ((), self.log_noise)
            trace["log_noise_trace"] = ((), self.noise_trace)
        state = named_state(self.state, DIMENSIONS)
        groups: dict[str, Named] = {
            "posterior": posterior,
            "sample_stats": {
                name: ((), self.thinned(self.info[:, :, i])) for i, name in enumerate(INFO)
            },
            "trace": trace,
        }
        thin = self.settings.thin
        if self.judgement is not None:
            groups["judged"], reached = as_named(self.state, self.judgement)
            state |= reached
            at = self.state["draws-0-kept_at"]
            thin = int(at[1] - at[0]) if len(at) > 1 else 1
        attributes = {**attributes, "burn_in": self.first, "thin": thin}
        return as_tree(groups, state | diagnostics, attributes)

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


def reliable(rhat: np.ndarray, ess: np.ndarray) -> bool:
    """Whether chains support predictions: R-hat and effective draws of the log likelihood.

    Sigmas are not included: those of orders that matter little may mix slowly without changing
    the predictions.
    """
    return bool(rhat[0] <= RELIABLE_RHAT and ess[0] >= RELIABLE_ESS)


def saved_from(arrays: Arrays) -> Arrays:
    """Return what `sample` takes as `saved`, from the arrays of `Draws.as_arviz`."""
    traces = [name for name in ("log_sigma", "log_noise") if f"{name}_trace" in arrays]
    drawn = [
        {
            "coefficient": coefficient.astype(float),
            "info": np.stack([arrays[f"{name}_trace"][c] for name in INFO], axis=1),
            **{name: arrays[f"{name}_trace"][c] for name in traces},
        }
        for c, coefficient in enumerate(arrays["coefficient"])
    ]
    return numbered(drawn) | from_named(arrays)


# ---- models and their chains ----

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
    rule = None
    if settings.until is not None:
        if probe is None:
            raise UserError(
                "until needs a probe: cases whose predictions the chains have to agree in"
            )
        quantities = Quantities(probe, settings.cauchy, "log_noise" in model.parameters)
        rule = Rule(
            Until(*settings.until), quantities, quantities.names, {"coefficient": np.float32},
            len(chains), numbers=model.sets * model.groups.n_groups,
        )  # fmt: skip
    parts = run(chains, settings.iterations, saved=saved, save=save, jobs=jobs, rule=rule)
    state = states(chains, chains[0].done)
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
