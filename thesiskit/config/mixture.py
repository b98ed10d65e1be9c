"""Configs of chapter 2: mixture models and their samplers."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from thesiskit.blocks import Block, Count, Pair, Points, Positive
from thesiskit.config.selection import ModelBlock
from thesiskit.config.until import UntilBlock, check_length, with_until
from thesiskit.defaults import ALPHA_PRIOR, COLLAPSED, MIXTURE_ESS, MIXTURE_RHAT, THESIS


class CollapsedBlock(Block):
    """How the collapsed sampler runs."""

    chains: Positive = COLLAPSED["chains"]
    """Number of chains."""
    iterations: Positive = COLLAPSED["iterations"]
    """Number of all iterations. An iteration consists of five sweeps of the chain, one sweep of
    each replica at a lower power of the likelihood, and exchanges between them."""
    burn_in: Count = COLLAPSED["burn_in"]
    """Number of first iterations that are not kept."""
    replicas: Positive | None = None
    """Number of copies of a chain, at powers of the likelihood from 1 to 0.02; they help the chain
    to move between modes. Unless given, 4 up to 250 training cases, else 1."""
    alpha_points: Points = COLLAPSED["alpha_points"]
    """Number of points of the grids of alpha and alpha_0, which are quantiles of the prior."""


class ThesisBlock(Block):
    """How the thesis's sampler runs."""

    chains: Positive = THESIS["chains"]
    """Number of chains."""
    iterations: Positive = THESIS["iterations"]
    """Number of all iterations. In an iteration the labels are updated once and each theta 20
    times, and this five times; then alpha and alpha_0 are updated."""
    burn_in: Count = THESIS["burn_in"]
    """Number of first iterations that are not kept."""
    alpha_points: Points = THESIS["alpha_points"]
    """Number of points of the grids of alpha and alpha_0."""
    quadrature: Literal["exact", "simpson-11"] = "simpson-11"
    """The rule for theta in the adjustment factor: `simpson-11` as in the thesis, or `exact`."""


class MixtureModel(ModelBlock):
    """Priors of the mixture model, its samplers, and what to compare it with."""

    kind: Literal["mixture"]
    """`mixture`, for binary features with two classes and at most 600 training cases."""
    methods: Annotated[
        list[
            Literal[
                "corrected",
                "uncorrected",
                "naive-corrected",
                "naive-uncorrected",
                "bernoulli-nb",
                "bernoulli-nb-calibrated",
                "l2-logistic",
            ]
        ],
        Field(min_length=1),
    ] = ["corrected", "uncorrected"]
    """`corrected` and `uncorrected` for the selection; naive Bayes beside them as
    `naive-corrected`, `naive-uncorrected`; and scikit-learn's `bernoulli-nb`,
    `bernoulli-nb-calibrated` and `l2-logistic` (of all features, tuned in each training set)."""
    response_alpha_prior: Pair = ALPHA_PRIOR
    """Shape and rate of the prior of alpha_0, which belongs to the response."""
    samplers: Annotated[
        list[Literal["collapsed", "thesis", "as-printed", "enumeration"]], Field(min_length=1)
    ] = ["collapsed"]
    """`collapsed`; `thesis`, the thesis's sampler; `as-printed`, the same without the adjustment
    factor in its label update, which gives the numbers the thesis prints but samples no posterior;
    `enumeration`, the exact posterior, for one feature and few cases."""
    collapsed: CollapsedBlock = CollapsedBlock()
    """How the collapsed sampler runs."""
    until: UntilBlock | None = None
    """Chains of the collapsed sampler stop when they agree in log alpha, the log posterior, the
    agreement of labels with responses, and the predictions for up to 20 test cases. They are
    compared after 200, 300, 450, ... iterations, of which the second half counts;
    `collapsed.iterations` is the limit, 10000 unless given, and `collapsed.burn_in` is left out. At
    most 1,000 draws are kept. It needs two chains or more."""
    thesis: ThesisBlock = ThesisBlock()
    """How the samplers `thesis` and `as-printed` run."""

    @model_validator(mode="before")
    @classmethod
    def _all_relevant(cls, value):
        for name in ("relevant", "pi"):
            if isinstance(value, dict) and name in value:
                raise ValueError(
                    f"{name}: in a mixture every feature may be relevant; leave it out, or use "
                    "model.kind: naive-bayes"
                )
        return value

    @model_validator(mode="before")
    @classmethod
    def _length_with_until(cls, value):
        if isinstance(value, dict) and value.get("until") is not None:
            return value | {"collapsed": with_until(value.get("collapsed", {}), burn_in=0)}
        return value

    @model_validator(mode="after")
    def _agreement(self):
        if self.until is None:
            return self
        others = [name for name in self.samplers if name in ("thesis", "as-printed")]
        if others or "collapsed" not in self.samplers:
            which = f"leave out {', '.join(others)}" if others else "add collapsed"
            raise ValueError(f"until: is for the sampler `collapsed`; {which} in model.samplers")
        run = self.collapsed
        check_length(self.until, run.chains, "model.collapsed", run.iterations, run.burn_in)
        if self.until.rhat > MIXTURE_RHAT or self.until.ess < MIXTURE_ESS:
            raise ValueError(
                f"until: a mixture's chains support predictions with rhat at most "
                f"{MIXTURE_RHAT:g} and ess at least {MIXTURE_ESS:g}; ask for no less"
            )
        return self

    @field_validator("collapsed", "thesis")
    @classmethod
    def _something_kept(cls, value):
        if value.burn_in >= value.iterations:
            raise ValueError(
                f"burn_in ({value.burn_in}) must be less than iterations ({value.iterations})"
            )
        return value

    @property
    def variants(self) -> list[str]:
        """What every method is done by: samplers."""
        return list(self.samplers)
