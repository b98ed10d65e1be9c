"""The binary mixture model (thesis, chapter 2): its posterior, its chains, and what they show.

| thesis | name | shape |
|---|---|---|
| f_0, f_1 | `class_prior`, the Beta prior of psi = P(z = 1) | pair |
| a, b of alpha; of alpha_0 | `alpha_prior`, `response_alpha_prior` | pairs |
| z^train | `labels` | (n,) |
| x_0^train | `response` | (n,) |
| I_{1,j} + I_{0,j} | `totals` | (k,) |
| n_y^[z] | `counts[z][y]` | (2, 2) |
| P(S given labels, alpha) | of `left_out`; its log is in `Tables.discards` | (K,) |

Section "Application to Bayesian Mixture Models" and appendix 2 of chapter 2.

Two samplers have theta as part of their state, as in the section "A Simulation Experiment"
(mixture).  `gibbs` is the sampler that the text describes: post-zi and post-phi-mix, each times the
factor adjust-factor-mix.  `approximate` leaves the factor out of the update of the labels only, so
that its draws have no posterior as their distribution.  The manual of the author's later program
predmixcor (1.1-1, man/train_predict_mix.Rd, argument `approxim`, TRUE unless given) describes this,
to save computation: strong evidence, not proof, of the sampler behind Table 2.3.  The thesis does
not state the following; here

- the first 10 of the 50 iterations are dropped;
- the labels start as a random half of the samples, theta uniform, alpha and alpha_0 at random
  points of their grids (predmixcor: independent labels, theta in (.1, .9), alpha = alpha_0 = 10);
- a round updates first the labels, then each theta (predmixcor: theta, then labels);
- a Metropolis proposal for theta is uniform within .1 of its value (as predmixcor's width.theta),
  and rejected outside (0, 1) (predmixcor: (.01, .99)).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from threading import local
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, field_validator, model_validator
from scipy import special

from thesiskit._kernels.mixture import Collapsed, LogOdds, WithTheta
from thesiskit.blocks import Block, Count, Pair, Points, Positive, Some
from thesiskit.defaults import (
    ALPHA_PRIOR,
    CLASS_PRIOR,
    MIXTURE_ESS,
    MIXTURE_RHAT,
    MOST_POINTS,
    OLD_SAMPLERS,
    TABLE_SAMPLES,
    THESIS_GRID_POINTS,
    UNTIL_ITERATIONS,
)
from thesiskit.errors import DataError, UserError
from thesiskit.models.base import (
    OWN,
    SelectingBlock,
    SelectingModel,
    Training,
    TwoClasses,
    check,
    check_counts,
    of_log_odds,
    shaped,
    whole,
)
from thesiskit.models.chains import (
    REACHED,
    Arrays,
    DrawGroups,
    Judgement,
    MarkovChain,
    Named,
    Rule,
    Until,
    UntilBlock,
    after_fork,
    as_until,
    check_run,
    compare_chains,
    judged_samples,
    most_kept,
    run,
    unmixed,
)
from thesiskit.models.integrals import (
    InverseGamma,
    check_alpha_prior,
    check_rule,
    pair_integrals,
    theta_rule,
)
from thesiskit.models.mixture_tables import Tables, check_samples, recent
from thesiskit.models.packed import as_bits
from thesiskit.models.selection import LeftOut
from thesiskit.models.temperature import Temperature

COLLAPSED = {"chains": 4, "iterations": 400, "burn_in": 100, "alpha_points": 200}
THESIS = {"chains": 1, "iterations": 50, "burn_in": 10, "alpha_points": THESIS_GRID_POINTS}
SAMPLERS = {"collapsed": COLLAPSED, "gibbs": THESIS, "approximate": THESIS}  # defaults of each
LEAST_POWER = 0.02  # of the likelihood, in the hottest replica
REPLICAS, MOST_TEMPERED = 4, 250  # so many up to that many training samples, then 1
EXACT = "enumeration"  # the sampler that draws nothing
FLAT = ("labels", "point", "theta")  # draws; theta only where it is sampled
QUANTITIES = ("log_alpha", "log_posterior", "agreement", "predictive_probability")
SUMMARY = {  # what tables and figures need of a fit, and its shape where there is none
    **dict.fromkeys(("rhat", "ess"), (len(QUANTITIES),)),
    **dict.fromkeys(("at_end", "table", "means", "errors", "predictive", "offset"), (2,)),
    **dict.fromkeys(("reliable", "cases", "seconds", "tau", "tau_errors"), ()),
    "exchanged": (0,),
}
OF_SCIKIT_LEARN = ("bernoulli-nb", "bernoulli-nb-calibrated", "l2-logistic")
RIVALS = ("naive-corrected", "naive-uncorrected", *OF_SCIKIT_LEARN)
NUMBERS = tuple(name for name in REACHED if name != "worst")  # besides, with `until`


class CollapsedBlock(Block):
    """How the collapsed sampler runs."""

    chains: Positive = COLLAPSED["chains"]
    """Number of chains."""
    iterations: Positive = COLLAPSED["iterations"]
    """Total number of iterations. An iteration consists of five sweeps of the chain and, up to 250
    training samples, one sweep of each of three replicas at lower powers of the likelihood, and
    exchanges between them, which help the chain to move between modes."""
    burn_in: Count = COLLAPSED["burn_in"]
    """Number of burn-in iterations, which are discarded."""
    alpha_points: Points = COLLAPSED["alpha_points"]
    """Number of points of the grids of alpha and alpha_0, which are quantiles of the prior."""


class ThesisBlock(Block):
    """How the thesis's samplers run."""

    chains: Positive = THESIS["chains"]
    """Number of chains."""
    iterations: Positive = THESIS["iterations"]
    """Total number of iterations. In an iteration the labels are updated once and each theta 20
    times, and this five times; then alpha and alpha_0 are updated."""
    burn_in: Count = THESIS["burn_in"]
    """Number of burn-in iterations, which are discarded."""
    quadrature: Literal["exact", "simpson-11"] = "simpson-11"
    """The rule for theta in the adjustment factor: `simpson-11` as in the thesis, or `exact`."""


Sampler = Annotated[
    Literal["collapsed", "gibbs", "approximate", "enumeration"],
    BeforeValidator(lambda name: OLD_SAMPLERS.get(str(name), name)),
]


class MixtureBlock(SelectingBlock):
    """Priors of the mixture model, its samplers, and third-party methods."""

    variant, takes = "samplers", "bits"

    class_prior: Pair = CLASS_PRIOR
    """f_0 and f_1 of the Beta prior for the probability of a class (or component)."""
    alpha_prior: Pair = ALPHA_PRIOR
    """Shape and rate of the Inverse-Gamma prior of alpha."""
    kind: Literal["mixture"]
    """`mixture`, for binary features with two classes and at most 600 training samples."""
    methods: Some[Literal[(*OWN, *RIVALS)]] = list(OWN)  # type: ignore[valid-type]
    """`corrected` and `uncorrected` for the selection; naive Bayes next to them as
    `naive-corrected`, `naive-uncorrected`; and scikit-learn's `bernoulli-nb`,
    `bernoulli-nb-calibrated` and `l2-logistic` (of all features, tuned in each training set)."""
    response_alpha_prior: Pair = ALPHA_PRIOR
    """Shape and rate of the prior of alpha_0, which belongs to the response."""
    samplers: Some[Sampler] = ["collapsed"]
    """`collapsed` integrates theta out; `gibbs` is the sampler that the text of the thesis
    describes; `approximate` leaves the adjustment factor out of its label update: it gives the
    numbers that the thesis prints, but has no posterior distribution; `enumeration` is the exact
    posterior, for one feature and few samples. Up to version 0.2, `gibbs` was called `thesis`, and
    `approximate` was called `as-printed`; the old names are still read."""
    collapsed: CollapsedBlock = CollapsedBlock()
    """How the collapsed sampler runs."""
    until: UntilBlock | None = None
    """Chains of the collapsed sampler stop when they have converged. R-hat and effective draws are
    computed for log alpha, the log posterior, the agreement of labels with responses and
    predictions for up to 20 test samples. They are compared after 200, 300, 450, ... iterations, of
    which the second half is used. `collapsed.iterations` is the limit (default 10000); omit
    `collapsed.burn_in`. At most 1,000 draws are kept. At least two chains are needed."""
    thesis: ThesisBlock = ThesisBlock()
    """How the samplers `gibbs` and `approximate` run."""

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield more training samples than the model takes, and features beyond an enumeration."""
        data, selection = config.data, config.selection
        samples = data.sizes.train if data and data.sizes else 0
        if samples > TABLE_SAMPLES:
            yield (
                f"data.train: the mixture model takes at most {TABLE_SAMPLES} training samples, "
                f"got {samples}. Fix: use fewer, or model.kind: naive-bayes"
            )
        if "enumeration" in self.samplers and (selection is None or selection.features != [1]):
            yield "model.samplers: enumeration needs `selection.features: [1]`"

    @model_validator(mode="before")
    @classmethod
    def _all_relevant(cls, value):
        for name in ("relevant", "pi"):
            if isinstance(value, dict) and name in value:
                raise ValueError(
                    f"{name}: in a mixture every feature may be relevant. Fix: remove it, or use "
                    "model.kind: naive-bayes"
                )
        return value

    @model_validator(mode="before")
    @classmethod
    def _length_with_until(cls, value):
        if isinstance(value, dict) and value.get("until") is not None:
            length = value.get("collapsed", {})
            if isinstance(length, dict):
                length = {"iterations": UNTIL_ITERATIONS, "burn_in": 0} | length
            return value | {"collapsed": length}
        return value

    @model_validator(mode="after")
    def _agreement(self):
        if self.until is None:
            return self
        without_until = [name for name in self.samplers if name in OLD_SAMPLERS.values()]
        if without_until or "collapsed" not in self.samplers:
            remedy = f"remove {', '.join(without_until)}" if without_until else "add collapsed"
            raise ValueError(
                f"until: is for the sampler `collapsed`. Fix: {remedy} in model.samplers"
            )
        run = self.collapsed
        check_run(self.until, run.chains, run.iterations, run.burn_in, block="model.collapsed.")
        if self.until.rhat > MIXTURE_RHAT or self.until.ess < MIXTURE_ESS:
            raise ValueError(
                f"until: a mixture's chains support predictions with rhat at most "
                f"{MIXTURE_RHAT:g} and ess at least {MIXTURE_ESS:g}. Fix: ask for no less"
            )
        return self

    @field_validator("collapsed", "thesis")
    @classmethod
    def _something_kept(cls, value):
        check_run(None, value.chains, value.iterations, value.burn_in)
        return value


@dataclass(frozen=True)
class Mixture(TwoClasses):
    """Priors of the model and length of the chains.

    iterations counts all of a chain, burn_in the first ones that are not kept; replicas is how
    many copies of a chain are sampled at powers of the likelihood from 1 down to LEAST_POWER
    (collapsed only; by default REPLICAS, and 1 beyond MOST_TEMPERED training samples, where the
    tables that the others would need cost more than they bring).  None takes the sampler's
    default: see SAMPLERS.  quadrature is the rule for theta in the adjustment factor.

    With `until`, an R-hat and effective draws, chains stop when they have reached these, and
    iterations is the limit; burn_in is then 0, for the first half of a run does not count.

    exact: nothing is sampled; the posterior is enumerated (one feature and few samples).
    `gibbs` and `approximate` are the samplers of the thesis (above); their old names are read.
    """

    kind, variant = "mixture", "sampler"
    words = "the mixture model"
    takes_missing, has_chains = False, True

    class_prior: tuple[float, float] = CLASS_PRIOR
    alpha_prior: tuple[float, float] = ALPHA_PRIOR
    response_alpha_prior: tuple[float, float] = ALPHA_PRIOR
    sampler: str = "collapsed"
    chains: int = None  # type: ignore[assignment]
    iterations: int = None  # type: ignore[assignment]
    burn_in: int = None  # type: ignore[assignment]
    replicas: int | None = None
    alpha_points: int = None  # type: ignore[assignment]
    quadrature: str = "exact"
    until: tuple[float, float] | None = None
    exact: bool = False

    def __post_init__(self):
        until = as_until(self.until, most_rhat=MIXTURE_RHAT, least_ess=MIXTURE_ESS)
        object.__setattr__(self, "until", until)
        check_counts("class_prior", self.class_prior)
        for name in ("alpha_prior", "response_alpha_prior"):
            check_alpha_prior(name, getattr(self, name))
        object.__setattr__(self, "sampler", OLD_SAMPLERS.get(str(self.sampler), self.sampler))
        if not (isinstance(self.sampler, str) and self.sampler in SAMPLERS):
            raise UserError(
                f"unknown sampler {self.sampler!r}. Fix: choose one of {', '.join(SAMPLERS)}"
            )
        for name, default in SAMPLERS[self.sampler].items():
            value = getattr(self, name)
            if value is None:
                value = 0 if until is not None and name == "burn_in" else default
                usual = SAMPLERS[self.sampler]["iterations"]
                if until is None and name == "burn_in" and self.iterations != usual:
                    value = self.iterations // 4
            most = MOST_POINTS if name == "alpha_points" else None
            value = whole(name, value, 0 if name == "burn_in" else 1, most)
            object.__setattr__(self, name, value)
        if self.replicas is not None:
            object.__setattr__(self, "replicas", whole("replicas", self.replicas))
        if until is not None and self.samples_theta:
            raise UserError("until is for the collapsed sampler. Fix: remove it with this one")
        check_run(until, self.chains, self.iterations, self.burn_in)
        check_rule(self.quadrature)

    @property
    def samples_theta(self) -> bool:
        """Whether theta is part of the state, not integrated out."""
        return self.sampler != "collapsed"

    @property
    def n_draws(self) -> int:
        """Number of draws that are kept of each chain."""
        return self.iterations - self.burn_in

    def powers(self, n: int) -> np.ndarray:
        """Powers of the likelihood that replicas are sampled at, from 1 down, for n samples."""
        if self.samples_theta:
            return np.ones(1)
        replicas = self.replicas or (REPLICAS if n <= MOST_TEMPERED else 1)
        return np.geomspace(1, LEAST_POWER, replicas) if replicas > 1 else np.ones(1)

    @cached_property
    def alpha(self) -> np.ndarray:
        """The grid of alpha, (K,)."""
        return InverseGamma(*self.alpha_prior).midpoints(self.alpha_points)

    @cached_property
    def response_alpha(self) -> np.ndarray:
        """The grid of alpha_0, (K,)."""
        return InverseGamma(*self.response_alpha_prior).midpoints(self.alpha_points)

    # ---- the contract of models ----

    @classmethod
    def block(cls) -> type[SelectingBlock]:
        """Return the block of a config, which has the keys of this model."""
        return MixtureBlock

    @classmethod
    def of(cls, block: Any, variant: str, relevant: str) -> Mixture:  # noqa: ARG003
        """Return the model of a method of a config."""
        exact = variant == EXACT
        run = block.collapsed if exact or variant == "collapsed" else block.thesis
        return cls(
            class_prior=block.class_prior,
            alpha_prior=block.alpha_prior,
            response_alpha_prior=block.response_alpha_prior,
            sampler="collapsed" if exact else variant,
            until=block.until.targets if block.until else None,
            exact=exact,
            **run.model_dump(),
        )

    def check(self, classes: int) -> None:
        """Raise UserError for priors whose points are beyond limits."""
        _ = self.alpha, self.response_alpha

    @property
    def priors_of_draws(self) -> dict[str, object]:
        """What data that are drawn from the model depend on."""
        names = ("class_prior", "alpha_prior", "response_alpha_prior")
        return {name: getattr(self, name) for name in names}

    @property
    def sampled(self) -> bool:  # type: ignore[override]
        """Whether the method has draws."""
        return not self.exact

    def needs(self, samples: int, n_features: int) -> tuple[int, int]:
        """Return the bytes of all draws, and the iterations of all chains and replicas."""
        if self.exact:
            return 0, 0
        draws = self.n_draws
        if self.until is not None:
            draws = min(draws // 2 + 1, most_kept(self.chains, samples + 3))
        width = samples + 2 + 4 * 8 + (8 * n_features if self.samples_theta else 0)
        replicas = 1 if self.samples_theta else self.replicas or REPLICAS
        return self.chains * draws * width, self.chains * self.iterations * replicas

    @property
    def chains_apart(self) -> int:  # type: ignore[override]
        """Chains that are a cell each: chains that have to agree run together."""
        return 0 if self.exact or self.until else self.chains

    def target(self, training: Training) -> MixtureTarget:
        """Return the posterior to sample."""
        left_out = training.selection.left_out if training.correct else None
        return MixtureTarget(training.table(), training.response, self, left_out)

    def fit(self, training: Training) -> FittedMixture:
        """Return the posterior: draws of all chains, or the exact predictions."""
        target = self.target(training)
        if self.exact:
            return FittedMixture(predictive=enumerate_posterior(target).predictive)
        draws = sample(target, list(training.rngs), jobs=training.jobs)
        return FittedMixture(target, draws.flat, draws=draws)

    def log_odds(self, posterior: FittedMixture, table: np.ndarray) -> np.ndarray:
        """Return log P(y* = 1) - log P(y* = 0), (T,), for the kept features of samples, (T, k)."""
        if posterior.predictive is not None:
            return special.logit(posterior.predictive)[table[:, 0]]
        assert posterior.target is not None
        return posterior.target.predict_log_odds(posterior.flat, table)

    def predict(
        self, posterior: FittedMixture, table: np.ndarray, softened: Temperature | None = None
    ) -> np.ndarray:
        """Return P(class), (T, 2), perhaps with a temperature."""
        if posterior.predictive is None or softened is not None:
            return super().predict(posterior, table, softened)
        p = posterior.predictive[table[:, 0]]
        return np.stack([1 - p, p], axis=1)

    def warning(self, posterior: FittedMixture) -> str:
        """Say why predictions should not be relied on; nothing if they can be."""
        return posterior.warning

    # ---- chains as cells ----

    def run_chain(self, training: Training, number: int, running: Any) -> Arrays:
        """Run one of the chains, and return its draws.

        running : has what was saved of an interrupted run, `save`, and its seconds.
        """
        target, rngs, saved = self.target(training), [training.rngs[number]], running.saved
        (fit,) = run_chains(target, rngs, [number], saved=saved, save=running.save)
        fit["point"] = fit["point"].astype(np.int16)
        return fit | {"seconds": running.seconds}

    def summarise(
        self, training: Training, chains: list[Arrays], table: np.ndarray, running: Any
    ) -> Arrays:
        """Return what all chains come to, and their draws; chains that have to agree are run here.

        chains : what `run_chain` returned of each; table (T, k) of the test samples.
        """
        target = self.target(training)
        if self.exact:
            return _enumerated(target)
        if self.until is None:
            seconds = float(np.sum([chain["seconds"] for chain in chains]))
            draws = gather(target, chains)
            return _compared(target, draws, diagnose(target, draws), seconds)
        probe, rngs, saved = MixtureProbe.of(target, table), list(training.rngs), running.saved
        draws = sample(target, rngs, probe=probe, saved=saved, save=running.save)
        assert draws.judgement is not None
        fit = _compared(target, draws, diagnose(target, draws), float(running.seconds))
        return fit | draws.judgement.arrays(draws.iterations)

    def draw_groups(self, fits: list[Arrays], about: dict[str, Any]) -> DrawGroups:
        """Return the draws of all splits side by side; fits of fewer draws are filled up."""
        fills = {"labels": 255, "point": -1}

        def stack(name: str) -> np.ndarray:
            stacked = _stacked([fit[name] for fit in fits], fills.get(name, np.nan))
            return stacked if name in ("rhat", "ess") else np.moveaxis(stacked, 0, 2)

        first = fits[0]
        names = ("labels", "point", "log_posterior", "quantities", "rhat", "ess", "theta")
        arrays = {name: stack(name) for name in names if name in first}
        sampler = {"sampler": self.sampler, "starts": ", ".join(map(str, first["starts"]))}
        numbers = {
            "draws": [fit["labels"].shape[1] for fit in fits],
            "cases": [fit["labels"].shape[2] for fit in fits],
            "features": [fit["theta"].shape[2] if "theta" in fit else 0 for fit in fits],
        }
        points = {"alpha_point": 0, "alpha_0_point": 1}
        more: dict[str, Named] = {
            "sample_stats": {
                name: (("split",), arrays["point"][..., i]) for name, i in points.items()
            },
            "diagnostics": {name: (("split",), np.array(v)) for name, v in numbers.items()},
        }
        grids = (first["alpha"], first["response_alpha"])
        return _draw_groups(arrays, grids, about | sampler, split=("split",), more=more)

    # ---- files ----

    def pack(self, fits: list[Arrays]) -> Arrays:
        """Return what tables and figures need of each split, and draws of the first, for traces."""
        nothing = {name: np.full(shape, np.nan) for name, shape in SUMMARY.items()}
        until = self.until is not None and not self.exact
        names = (*SUMMARY, *(NUMBERS if until else ()))
        summary = _filled([{name: (nothing | fit)[name] for name in names} for fit in fits])
        if until:
            summary["worst"] = np.array([fit["worst"] for fit in fits])
        traces = fits[0].get("quantities", np.empty((0, 0, len(QUANTITIES))))
        return summary | {"traces": traces}

    def unpack(self, arrays: Arrays, s: int, training: Training) -> FittedMixture:
        """Return the posterior of split s, from the arrays of `pack` and of the file of draws."""
        if self.exact:
            return FittedMixture(predictive=arrays["predictive"][s])
        n_draws, samples = int(arrays["draws"][s]), int(arrays["cases"][s])
        labels = arrays["labels"][:, :n_draws, s, :samples].reshape(-1, samples)
        names = ("alpha_point", "alpha_0_point")
        point = np.stack([arrays[name][:, :n_draws, s].reshape(-1) for name in names], axis=1)
        labels = np.ascontiguousarray(labels, dtype=np.uint8)
        draws: tuple[np.ndarray, ...] = (labels, point.astype(np.intp))
        if "theta" in arrays:
            width = int(arrays["features"][s])
            draws = (*draws, arrays["theta"][:, :n_draws, s, :width].reshape(-1, width))
        rhat, ess = arrays["rhat"][s].max(), arrays["ess"][s].min()
        warning = unmixed(arrays["reliable"][s], rhat, ess)
        return FittedMixture(self.target(training), draws, warning=warning)

    @classmethod
    def join(cls, fits: list[Arrays]) -> Arrays:
        """Return what tables and figures need, (splits, methods, ...) filled up with NaN."""
        traces = _filled([{"traces": fit.pop("traces")} for fit in fits])
        worst = [fit.pop("worst", None) for fit in fits]
        judged = any(fit is not None for fit in worst)
        splits = len(fits[0]["rhat"])
        unknown = {name: np.full(splits, np.nan) for name in NUMBERS if judged}
        filled = _filled([unknown | fit for fit in fits])
        joined = {name: np.moveaxis(values, 0, 1) for name, values in filled.items()}
        if judged:
            names = [np.full(splits, "") if fit is None else fit for fit in worst]
            joined["worst"] = np.stack(names, axis=1)
        return joined | traces

    def saved(self, posterior: FittedMixture) -> tuple[dict[str, object], Arrays]:
        """Return what of a posterior a model file has; what was left out has changed it already."""
        target = posterior.target
        if target is None:
            return {"kind": EXACT}, {"predictive": posterior.predictive}  # type: ignore[dict-item]
        arrays = dict(zip(FLAT, posterior.flat, strict=False))
        arrays |= {"features": target.features, "response": target.response}
        settings = {name: value for name, value in self.settings.items() if name != "exact"}
        return {"settings": settings}, arrays

    @classmethod
    def restored(cls, about, arrays, selected, classes) -> tuple[SelectingModel, FittedMixture]:
        """Return the model and the posterior that `saved` described."""
        k = len(selected)
        check(classes == 2)
        if about["kind"] == EXACT:
            predictive = shaped(arrays, {"predictive": (float, "v")}, v=2)["predictive"]
            check(k == 1 and ((predictive >= 0) & (predictive <= 1)).all())
            return cls(exact=True), FittedMixture(predictive=predictive)
        model = cls(**about["settings"])
        target = MixtureTarget(arrays["features"], arrays["response"], model)
        check(target.k == k and target.response.shape == (target.n,))
        check(int(target.response.max()) == 1)
        shapes = {"labels": (np.uint8, "D n"), "point": (np.intp, "D p")}
        labels, point = shaped(arrays, shapes, n=target.n, p=2).values()
        labels = np.ascontiguousarray(labels)
        check(len(labels) and int(labels.max()) <= 1)
        check(((point >= 0) & (point < model.alpha_points)).all())
        draws: tuple[np.ndarray, ...] = (labels, point)
        check(model.samples_theta == ("theta" in arrays))
        if "theta" in arrays:
            theta = shaped(arrays, {"theta": (float, "D f")}, D=len(labels), f=k + 1)["theta"]
            check(((theta > 0) & (theta < 1)).all())
            draws = (*draws, theta)
        return model, FittedMixture(target, draws, warning=about["warning"])


@dataclass(frozen=True)
class FittedMixture:
    """The posterior of a method.

    target, flat : the posterior that was sampled, and its draws, as `predict_log_odds` takes them.
    draws : the draws by chain, right after they were made.
    predictive : (2,) in place of draws, P(class 1) where the feature is 0, and where it is 1.
    """

    target: MixtureTarget | None = None
    flat: tuple[np.ndarray, ...] = ()
    draws: MixtureDraws | None = None
    predictive: np.ndarray | None = None
    warning: str = ""


def _enumerated(target: MixtureTarget) -> Arrays:
    """Return the exact posterior's predictions and means."""
    started = time.process_time()
    exact = enumerate_posterior(target)
    log_alpha = exact.alpha @ np.log(target.settings.alpha)
    return {
        "predictive": exact.predictive,
        "means": np.array([log_alpha, exact.agreement @ np.arange(target.n + 1)]),
        "errors": np.zeros(2),
        "seconds": np.array(time.process_time() - started),
    }


def _compared(
    target: MixtureTarget, draws: MixtureDraws, compared: Diagnostics, seconds: float = np.nan
) -> Arrays:
    """Return what is written of the draws of a split, and what tables need of them."""
    q = compared.quantities
    arrays = {
        "labels": draws.labels,
        "point": draws.point,
        "log_posterior": draws.log_posterior,
        "quantities": q,
        "rhat": compared.rhat,
        "ess": compared.ess,
        "at_end": np.array(compared.at_end),
        "exchanged": draws.exchanged.mean(axis=0),
        "table": np.array(draws.table),
        "starts": np.array(draws.starts),
        "means": q[:, :, [0, 2]].mean(axis=(0, 1)),
        "errors": q[:, :, [0, 2]].std(axis=(0, 1)) / np.sqrt(np.maximum(compared.ess[[0, 2]], 1)),
        "reliable": np.array(compared.reliable),
        "cases": np.array(target.n),
        "seconds": np.array(seconds),
        "alpha": target.settings.alpha,
        "response_alpha": target.settings.response_alpha,
    }
    return arrays | ({} if draws.theta is None else {"theta": draws.theta})


def _filled(rows: list[Arrays]) -> Arrays:
    """Return arrays of several fits side by side, filled up with NaN where one has less."""
    return {name: _stacked([np.asarray(row[name], float) for row in rows]) for name in rows[0]}


def _stacked(values: list[np.ndarray], fill: float = np.nan) -> np.ndarray:
    """Return arrays of one dtype in one, (len(values), ...), filled up to the largest sizes."""
    sizes = [max(column) for column in zip(*(value.shape for value in values), strict=True)]
    stacked = np.full((len(values), *sizes), fill, dtype=values[0].dtype)
    for i, value in enumerate(values):
        place: tuple[int | slice, ...] = (i, *(slice(size) for size in value.shape))
        stacked[place] = value
    return stacked


DRAWS = 64  # predicted from together


class MixtureTarget:
    """The posterior of labels, alpha and alpha_0 given the kept features and their selection.

    Equations like-part-mix and dir; the priors are prior-p, prior-alpha0 and prior-theta.

    Parameters
    ----------
    features : (n, k) of 0 and 1, the kept features of the training samples.
    response : (n,) of 0 and 1, both present.
    settings : priors.
    left_out : the features left out, and what their correlations are known to be; None where there
        is nothing to correct for.
    """

    def __init__(self, features, response, settings: Mixture, left_out: LeftOut | None = None):
        bits = as_bits(np.asarray(features))
        if bits is None or bits.ndim != 2:
            raise DataError("features must be a (samples, features) table of 0 and 1")
        self.settings = settings
        self.features = bits
        self.response = np.ascontiguousarray(response, dtype=np.uint8)
        self.n, self.k = bits.shape
        check_samples(self.n)
        # exchanging 0 and 1 changes nothing in the model, so that at most half are ones
        self.exchanged = 2 * bits.sum(axis=0, dtype=np.intp) > self.n
        self.bits = np.ascontiguousarray(bits ^ self.exchanged)
        self.totals = self.bits.sum(axis=0, dtype=np.intp)
        n1 = int(self.response.sum())
        self.class_counts = (self.n - n1, n1)
        self.left_out = left_out if left_out is not None and left_out.total else None

    @property
    def powers(self) -> np.ndarray:
        """Powers of the likelihood that replicas are sampled at, from 1 down, (replicas,)."""
        return self.settings.powers(self.n)

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
            raise DataError(
                f"{self.k} features of 0 and 1 were selected, but got a table of shape {shape}"
            )
        return bits ^ self.exchanged

    def log_joint(self, draws, features, *, block: int = DRAWS) -> Iterator[np.ndarray]:
        """Yield log P(x*, y* given each draw), (T, 2, B), for test features (T, k), by blocks.

        block : draws in a block; the last digits depend on it.
        draws is (labels (D, n), point (D, 2)), or has theta (D, k + 1) too.  Without theta, the
        probability is averaged over theta in closed form, which is possible because it is linear
        in theta.
        """
        bits = self.oriented(features).astype(float)
        odds = LogOdds(self.bits, self.response, theta_rule("exact", self.n))
        f0, f1 = self.settings.class_prior
        for start in range(0, len(draws[0]), block):
            labels, point, *theta = (array[start : start + block] for array in draws)
            B = len(labels)
            slope, base = np.empty((B, 2, self.k)), np.empty((B, 2))
            response = np.empty((B, 2, 2))
            odds.fill(
                np.ascontiguousarray(labels),
                self.settings.alpha[point[:, 0]],
                self.settings.response_alpha[point[:, 1]],
                np.ascontiguousarray(theta[0]) if theta else None,
                slope,
                base,
                response,
            )
            size = labels.sum(axis=1, dtype=np.intp)
            base += np.log(np.stack([f0 + self.n - size, f1 + size], axis=1) / (f0 + f1 + self.n))
            log_given = (bits @ slope.reshape(2 * B, self.k).T).reshape(len(bits), B, 2) + base
            # over components: log sum of P(z*) P(y* given z*) P(x* given z*)
            yield np.stack(
                [np.logaddexp(*np.moveaxis(log_given + response[:, :, y], 2, 0)) for y in (0, 1)],
                axis=1,
            )

    def predict(self, draws, features) -> np.ndarray:
        """Return P(y* = 1) for each row of the kept features, (T, k) -> (T,)."""
        return of_log_odds(self.predict_log_odds(draws, features))

    def predict_log_odds(self, draws, features) -> np.ndarray:
        """Return log P(y* = 1) - log P(y* = 0) for each row of the kept features, (T, k) -> (T,).

        Joint probabilities of response and features are averaged over draws (as in log_joint),
        then divided (prob-pred-mix).
        """
        total = np.full((len(features), 2), -np.inf)
        for block in self.log_joint(draws, features):
            total = np.logaddexp(total, np.logaddexp.reduce(block, axis=2))
        return total[:, 1] - total[:, 0]


def quantities(
    target: MixtureTarget, draws_by_name: Arrays, features: np.ndarray, *, block: int = DRAWS
) -> np.ndarray:
    """Return of draws (D, ...) log alpha, log posterior, agreement and P(class 1), (D, 3 + T).

    drawn : labels (D, n), point (D, 2) and log_posterior (D,), theta (D, k + 1) if there is one;
    features (T, k) of the samples that are predicted;
    block : draws that are predicted from together.
    """
    n = draws_by_name["labels"].shape[1]
    n_agreeing = (draws_by_name["labels"] == target.response).sum(axis=1)
    arrays = [draws_by_name[name] for name in ("labels", "point", "theta") if name in draws_by_name]
    blocks = target.log_joint(arrays, features, block=block)
    probability = [special.expit(block[:, 1] - block[:, 0]).T for block in blocks]
    log_alpha = np.log(target.settings.alpha)[draws_by_name["point"][:, 0]]
    agreement = np.maximum(n_agreeing, n - n_agreeing)
    predictive = np.concatenate(probability or [np.empty((0, len(features)))])
    return np.column_stack([log_alpha, draws_by_name["log_posterior"], agreement, predictive])


@dataclass(frozen=True)
class MixtureProbe:
    """Quantities of which chains are judged: three of those of `diagnose`, and predictions.

    features (T, k) of the samples; names (3 + T,) of the quantities.
    """

    features: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, target: MixtureTarget, table: np.ndarray | None = None) -> MixtureProbe:
        """Return up to MOST_SAMPLES distinct rows of a table (T, k), or of the training samples."""
        words = "training" if table is None or not len(table) else "test"
        rows = target.features if words == "training" else np.asarray(table)
        place, names = judged_samples(rows, words)
        return cls(rows[place], [name.replace("_", " ") for name in QUANTITIES[:-1]] + names)

    def quantities(self, target: MixtureTarget, draws_by_name: Arrays) -> np.ndarray:
        """Return the quantities of draws, (D, 3 + T), each as if there were no other draw."""
        return quantities(target, draws_by_name, self.features, block=1)


ROUNDS, THETA_UPDATES = 5, 20  # of an iteration of the thesis's samplers
THETA_STEP = 0.1  # half-width of its Metropolis proposal
STARTS = ("random", "responses", "one component", "half the responses")
SUMS = ("table", "exchanged")  # counts: over blocks of iterations they add up
KEPT = {"labels": np.uint8, "point": np.intp, "log_posterior": float}  # with until: thinned


@dataclass(frozen=True)
class MixtureDraws:
    """The draws that are kept of chains, and statistics of the sampler.

    labels (C, D, n) and point (C, D, 2), positions of alpha and alpha_0 on their grids,
    log_posterior (C, D), theta (C, D, k + 1) or None where it is integrated out; starts (C,) in
    words; exchanged (C, replicas - 1), fractions of exchanges accepted; hits and misses of the
    table of adjustment factors; iterations that a chain has done; of chains that ran until they
    agree, judgement, what they reached.
    """

    labels: np.ndarray
    point: np.ndarray
    log_posterior: np.ndarray
    theta: np.ndarray | None
    starts: tuple[str, ...]
    exchanged: np.ndarray
    table: tuple[int, int]
    iterations: int
    judgement: Judgement | None = None

    @property
    def flat(self) -> tuple[np.ndarray, ...]:
        """All draws in a row, for `MixtureTarget.predict_log_odds`."""
        arrays = [self.labels, self.point] + ([] if self.theta is None else [self.theta])
        return tuple(array.reshape(-1, array.shape[2]) for array in arrays)


def sample(
    target: MixtureTarget,
    generators: list[np.random.Generator],
    *,
    probe: MixtureProbe | None = None,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    jobs: int | None = None,
) -> MixtureDraws:
    """Run one chain for each generator, from dispersed labels; the options are those of `run`.

    probe : with settings.until, the samples whose predictions chains have to agree in; unless
        given, training samples.
    """
    numbers = range(len(generators))
    rule = None
    if target.settings.until is not None:
        probe = probe or MixtureProbe.of(target)
        until, of_draws = Until(*target.settings.until), partial(probe.quantities, target)
        rule = Rule(until, of_draws, probe.names, KEPT, len(generators), target.n, SUMS)
    chain_draws = run_chains(
        target, generators, numbers, saved=saved, save=save, jobs=jobs, rule=rule
    )
    return gather(target, chain_draws, None if rule is None else rule.judge(chain_draws))


def run_chains(
    target: MixtureTarget,
    generators: list[np.random.Generator],
    numbers: Sequence[int],
    *,
    saved: Arrays | None = None,
    save: Callable[[Arrays], None] | None = None,
    jobs: int | None = None,
    rule: Rule | None = None,
) -> list[Arrays]:
    """Run some of the chains, given by their numbers; return the draws that are kept of each.

    rule : with settings.until, when to stop; all chains have to run together then.
    """
    settings = target.settings
    chains = [
        MixtureChain(target, rng, start_of(settings, number))
        for rng, number in zip(generators, numbers, strict=True)
    ]
    chain_draws = run(
        chains, settings.iterations, saved=saved, save=save, sums=SUMS, jobs=jobs, rule=rule
    )
    for chain, arrays in zip(chains, chain_draws, strict=True):
        if rule is None:
            for name in arrays.keys() - set(SUMS):
                arrays[name] = arrays[name][settings.burn_in :]
        arrays["iterations"] = np.array(chain.done)
    return chain_draws


def start_of(settings, number: int) -> str:
    """Return the name of the labels that a chain starts from; a single chain starts at random."""
    return STARTS[number % len(STARTS)] if settings.chains > 1 else STARTS[0]


def gather(
    target: MixtureTarget, chain_draws: list[Arrays], judgement: Judgement | None = None
) -> MixtureDraws:
    """Return the draws of all chains, joined in their order."""
    settings, iterations = target.settings, int(chain_draws[0]["iterations"])
    stacked = {
        name: np.stack([chain[name] for chain in chain_draws])
        for name in (*KEPT, "exchanged", "theta")
        if name in chain_draws[0]
    }
    # exchanges of powers 0 and 1, 2 and 3, ... are offered in even iterations, the others in odd
    pairs = np.arange(len(target.powers) - 1)
    offers = np.maximum((iterations + 1 - pairs % 2) // 2, 1)
    hits, misses = np.sum([chain["table"] for chain in chain_draws], axis=0)
    return MixtureDraws(
        stacked["labels"],
        stacked["point"],
        stacked["log_posterior"],
        stacked.get("theta"),
        tuple(start_of(settings, number) for number in range(len(chain_draws))),
        stacked["exchanged"] / offers,
        (int(hits), int(misses)),
        iterations,
        judgement,
    )


class ThreadTables(local):
    """Tables of each thread, kept from fit to fit."""

    def __init__(self):
        self.tables: dict[tuple, Tables] = {}

    def get(self, n: int, alpha: np.ndarray) -> Tables:
        """Return the tables for n samples and this grid."""
        return recent(self.tables, (n, alpha.tobytes()), lambda: Tables(n, alpha))


SHARED = ThreadTables()
after_fork(lambda: SHARED.tables.clear())


class MixtureChain(MarkovChain):
    """One chain: its state, and the kernel that moves it on."""

    def __init__(self, target: MixtureTarget, rng: np.random.Generator, start: str):
        super().__init__(rng)
        self.target, self.start = target, start
        settings = target.settings
        replicas = len(target.powers)
        starts = [start] + [STARTS[0]] * (replicas - 1)
        labels = [start_labels(name, target.response, rng) for name in starts]
        self.labels = np.array(labels)
        self.point = rng.integers(0, settings.alpha_points, (replicas, 2)).astype(np.intp)
        self.holder = np.arange(replicas)
        self.theta = rng.random(target.k + 1) if settings.samples_theta else np.empty(0)
        self.place = {name: getattr(self, name) for name in ("labels", "point", "holder", "theta")}

    def advance(self, iterations: int) -> dict[str, np.ndarray]:
        """Go on, and return the draws of every iteration and how tables were used."""
        target = self.target
        tables = SHARED.get(target.n, target.settings.alpha)
        discards = None
        if target.left_out is not None:
            discards = tables.discards(
                target.class_counts, target.left_out, target.settings.quadrature
            )
        counts_before = (discards.hits, discards.misses) if discards else (0, 0)
        draws: dict[str, np.ndarray] = {
            "labels": np.empty((iterations, target.n), dtype=np.uint8),
            "point": np.empty((iterations, 2), dtype=np.intp),
            "log_posterior": np.empty(iterations),
            "exchanged": np.zeros(len(self.holder) - 1, dtype=np.int64),
        }
        capsule = self.rng.bit_generator.capsule
        with self.rng.bit_generator.lock:
            if target.settings.samples_theta:
                draws["theta"] = np.empty((iterations, target.k + 1))
                sampler = with_theta(target, discards, self.labels[0], self.theta, self.point[0])
                names = ("labels", "point", "theta", "log_posterior")
                sampler.run(ROUNDS, THETA_UPDATES, *(draws[name] for name in names), capsule)
            else:
                sampler = collapsed(target, tables, discards, self.labels, self.point, self.holder)
                sampler.run(self.done, ROUNDS, *draws.values(), capsule)
        self.done += iterations
        counts_after = (discards.hits, discards.misses) if discards else (0, 0)
        draws["table"] = np.subtract(counts_after, counts_before)
        return draws


def collapsed(target: MixtureTarget, tables: Tables, discards, labels, point, holder) -> Collapsed:
    """Return the collapsed sampler; it changes labels, point and holder in place."""
    assert labels.shape == (len(target.powers), target.n)
    response_tables = SHARED.get(target.n, target.settings.response_alpha)
    return Collapsed(
        target.bits,
        target.response,
        tables.marginals(np.unique(target.totals)),
        response_tables.marginals(np.array([min(target.class_counts)])),
        discards,
        target.log_prior,
        target.powers,
        labels,
        point,
        holder,
    )


def with_theta(target: MixtureTarget, discards, labels, theta, point) -> WithTheta:
    """Return a sampler of the thesis; it changes labels, theta and point in place.

    Equations post-zi and post-phi-mix, each times the factor adjust-factor-mix; `approximate`
    has no factor in post-zi.
    """
    settings = target.settings
    return WithTheta(
        np.ascontiguousarray(np.column_stack([target.bits, target.response])),
        target.response,
        settings.alpha,
        settings.response_alpha,
        discards,
        settings.sampler == "gibbs",
        THETA_STEP,
        target.log_prior,
        labels,
        theta,
        point,
    )


def start_labels(start: str, response: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels (n,) to start from, by name."""
    n = len(response)
    if start == "responses":
        labels = response.copy()
    elif start == "one component":
        labels = np.zeros(n, dtype=np.uint8)
    elif start == "half the responses":
        labels = np.where(rng.random(n) < 0.5, response, rng.integers(0, 2, n))
    else:
        labels = rng.permutation(np.arange(n) % 2)
    return np.ascontiguousarray(labels, dtype=np.uint8)


@dataclass(frozen=True)
class Diagnostics:
    """R-hat and effective sample size of quantities that do not change if components are exchanged.

    quantities (C, D, Q) are log alpha, log posterior, agreement (the larger of the number of
    samples whose label is their response, and whose is not) and the predictive probability of
    class 1 for a sample like the first; rhat, ess (Q,), by QUANTITIES.
    """

    quantities: np.ndarray
    rhat: np.ndarray
    ess: np.ndarray
    at_end: tuple[float, float]  # fraction of draws with alpha at the ends of its grid

    @property
    def reliable(self) -> bool:
        """Whether chains agree well enough to believe the answer."""
        return bool((self.rhat <= MIXTURE_RHAT).all() and (self.ess >= MIXTURE_ESS).all())


def diagnose(target: MixtureTarget, draws: MixtureDraws) -> Diagnostics:
    """Compare the chains."""
    chains, n_draws, _ = draws.labels.shape
    draws_by_name = dict(zip(("labels", "point", "theta"), draws.flat, strict=False))
    draws_by_name["log_posterior"] = draws.log_posterior.reshape(-1)
    shape = (chains, n_draws, len(QUANTITIES))
    values = quantities(target, draws_by_name, target.features[:1]).reshape(shape)
    rhat, ess = compare_chains(values)
    place = draws.point[:, :, 0]
    last = target.settings.alpha_points - 1
    return Diagnostics(
        values, rhat, ess, (float((place == 0).mean()), float((place == last).mean()))
    )


def as_arviz(target: MixtureTarget, draws: MixtureDraws, diagnostics: Diagnostics) -> DrawGroups:
    """Return draws and diagnostics of one fit in ArviZ's groups."""
    settings = target.settings
    return _draw_groups(
        _compared(target, draws, diagnostics),
        (settings.alpha, settings.response_alpha),
        {"sampler": settings.sampler, "starts": ", ".join(draws.starts)},
    )


def _draw_groups(
    arrays: dict[str, np.ndarray],
    grids: tuple[np.ndarray, np.ndarray],
    attributes: dict[str, object],
    *,
    split: tuple[str, ...] = (),
    more: dict[str, Named] | None = None,
) -> DrawGroups:
    """Return ArviZ's groups of one fit, or of several side by side.

    arrays: labels, point, log_posterior, quantities and perhaps theta, by chain, draw and the
    dimensions `split` (points are -1 where a fit has fewer draws than others); rhat and ess by
    `split` and quantity.  grids: of alpha and alpha_0.
    more: variables to add to a group.
    """
    point, q = arrays["point"], arrays["quantities"]
    points = np.moveaxis(point, -1, 0)
    log_alpha = [
        np.where(i < 0, np.nan, np.log(grid)[i]) for i, grid in zip(points, grids, strict=True)
    ]
    groups: dict[str, Named] = {
        "posterior": {
            "log_alpha": (split, log_alpha[0]),
            "log_alpha_0": (split, log_alpha[1]),
            "labels": ((*split, "case"), arrays["labels"]),
        },
        "sample_stats": {
            "lp": (split, arrays["log_posterior"]),
            "agreement": (split, q[..., 2]),
            "predictive_probability": (split, q[..., 3]),
        },
        "diagnostics": {
            "rhat": ((*split, "quantity"), arrays["rhat"]),
            "ess": ((*split, "quantity"), arrays["ess"]),
            "quantity": (("quantity",), np.array(QUANTITIES)),
        },
    }
    if "theta" in arrays:
        groups["posterior"]["theta"] = ((*split, "feature"), arrays["theta"])
    for name, variables in (more or {}).items():
        groups[name] |= variables
    about = groups.pop("diagnostics")
    return DrawGroups.of_draws(groups, about, attributes)


MOST = 20_000_000  # sums over counts and points for alpha


@dataclass(frozen=True)
class Enumerated:
    """The exact posterior.

    alpha (K,) probabilities of the grid points, agreement (n + 1,) of the larger of the number of
    samples whose label is their response, and whose is not; predictive (2,), P(y* = 1) by the
    feature of a new sample.
    """

    alpha: np.ndarray
    agreement: np.ndarray
    predictive: np.ndarray


def enumerate_posterior(target: MixtureTarget) -> Enumerated:
    """Sum over all labels of one feature.

    Samples with the same feature and response are exchangeable, so the posterior depends on the
    labels only through four counts (n_y^[z] by value of the feature), and is summed over these.

    Raises UserError if more than one feature is kept, or if there are too many sums.
    """
    if target.k != 1:
        raise UserError(f"only one feature can be enumerated, not {target.k}")
    x, y, n = target.features[:, 0], target.response, target.n
    settings = target.settings
    group = [int(((x == i) & (y == j)).sum()) for i in (0, 1) for j in (0, 1)]
    sums = int(np.prod([size + 1 for size in group]))
    if sums * settings.alpha_points > MOST:
        raise UserError(
            f"{sums:,} sums over counts, for {settings.alpha_points} points of alpha, are too many "
            "to enumerate. Fix: use fewer samples or points"
        )
    # samples in component 1 by (x, y) = (0, 0), (0, 1), (1, 0), (1, 1)
    a = np.stack(np.meshgrid(*(np.arange(size + 1) for size in group), indexing="ij"), axis=-1)
    a = a.reshape(-1, 4)
    m, c0, c1 = a.sum(axis=1), a[:, 0] + a[:, 2], a[:, 1] + a[:, 3]
    n_ones = a[:, 2] + a[:, 3]
    log_weight = target.log_prior[m] + sum(
        _log_choose(size, a[:, g]) for g, size in enumerate(group)
    )
    feature = _Column(n_ones, int(x.sum()), m, n, settings.alpha)
    response = _Column(c1, target.class_counts[1], m, n, settings.response_alpha)
    log_feature = feature.log_marginal
    if target.left_out is not None:
        tables = Tables(n, settings.alpha)
        discards = tables.discards(target.class_counts, target.left_out, settings.quadrature)
        entry = np.empty(len(settings.alpha))
        for i, counts in enumerate(zip(c0.tolist(), c1.tolist(), strict=True)):
            discards.log_discards(*counts, entry)
            log_feature[i] += entry
    logs = (log_feature, response.log_marginal)
    log_totals = [special.logsumexp(log, axis=1) for log in logs]
    weight = special.softmax(log_weight + log_totals[0] + log_totals[1])
    points = [special.softmax(log, axis=1) for log in logs]
    n_agreeing = c1 + (target.class_counts[0] - c0)
    f0, f1 = settings.class_prior
    component = np.stack([f0 + n - m, f1 + m], axis=1) / (f0 + f1 + n)
    joint = np.zeros((2, 2))  # of x* and y*
    for z in (0, 1):
        p_x = (points[0] * feature.predictive(z)).sum(axis=1)
        p_y = (points[1] * response.predictive(z)).sum(axis=1)
        for i, j in np.ndindex(2, 2):
            chance = (p_x if i else 1 - p_x) * (p_y if j else 1 - p_y)
            joint[i, j] += weight @ (component[:, z] * chance)
    return Enumerated(
        weight @ points[0],
        np.bincount(np.maximum(n_agreeing, n - n_agreeing), weight, n + 1),
        joint[:, 1] / joint.sum(axis=1),
    )


def _log_choose(n, k) -> np.ndarray:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


class _Column:
    """log marginals (M, K) of a binary column given labels, and its predictive probabilities."""

    def __init__(self, n_ones, total, m, n, alpha):
        self.n_ones, self.total, self.m, self.n, self.alpha = n_ones, total, m, n, alpha
        self.log_marginal = np.empty((len(m), len(alpha)))
        self.mean = np.empty((len(m), len(alpha)))
        for size in np.unique(m):
            rows = np.flatnonzero(m == size)
            pairs = np.stack([total - n_ones[rows], n_ones[rows]], axis=1)
            integrals = pair_integrals(pairs, (n - size, size), alpha)
            orderings = _log_choose(n - size, pairs[:, 0]) + _log_choose(size, pairs[:, 1])
            self.log_marginal[rows] = integrals.log_marginal - orderings[:, None]
            self.mean[rows] = integrals.theta_mean

    def predictive(self, z: int) -> np.ndarray:
        """P(1) for a new sample of component z, (M, K)."""
        i, size = (self.n_ones, self.m) if z else (self.total - self.n_ones, self.n - self.m)
        return (self.alpha * self.mean + i[:, None]) / (self.alpha + size[:, None])
