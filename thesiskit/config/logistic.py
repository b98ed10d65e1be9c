"""Configs of chapter 3: logistic models with interactions."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, model_validator

from thesiskit import defaults
from thesiskit.blocks import Block, Count, Positive, PositiveNumber, Text, distinct
from thesiskit.models.peers import FEATURES, RESPONSES, SEQUENCES, names
from thesiskit.models.until_keys import LogisticUntilBlock, check_length, with_until

T = TypeVar("T")
Once = Annotated[list[T], AfterValidator(distinct)]
Some = Annotated[list[T], Field(min_length=1), AfterValidator(distinct)]
Each = Annotated[Some[T], BeforeValidator(lambda v: v if isinstance(v, list) else [v])]
Order = Count | Literal["all"]
Shape = Annotated[float, Field(strict=True, ge=defaults.LEAST_SHAPE, le=1e6)]
Width = Annotated[float, Field(strict=True, ge=defaults.LEAST_WIDTH, le=defaults.MOST_WIDTH)]


class LogisticModel(Block):
    """Priors, sampler and variants of a logistic model; each list is combined with the others."""

    kind: Literal["logistic"]
    """`logistic`, for sequences and for tables of discrete features."""
    response: Literal["classes", "gaussian"] = "classes"
    """`gaussian` predicts real responses of `table` or `interactions` by a linear function of the
    patterns plus normal noise. The responses are standardised by the training cases. Coefficients
    in files of draws are on this scale; all other results are in the units of the response."""
    orders: Each[Order]
    """A list: the largest number of states, or of features, that a pattern fixes; or `all`."""
    priors: Each[Literal["cauchy", "gaussian"]] = [defaults.PRIOR]
    """The priors of the coefficients, `cauchy` and `gaussian`."""
    compress: Each[StrictBool] = [True]
    """`true`: one coefficient for all patterns that are present in the same training cases;
    `false`: one for each pattern."""
    original_orders: Some[Order] | None = None
    """The orders of models with `compress: false`, of those in `orders`; all of them unless given.
    Such models have the posterior of compressed ones, and their chains take several times as
    long."""
    engine: Each[Literal["slice", "gp"]] = ["slice"]
    """The sampler: `slice`, or `gp`, a Gaussian process, for Gaussian priors; its memory grows with
    the square of the number of distinct cases."""
    sigma_scale: Each[Literal["log", "natural"]] = [defaults.SIGMA_SCALE]
    """The scale on which sigma is updated: `log`, or `natural` as in the thesis."""
    peers: Once[Text] = []
    """Other classifiers for the same cases. For sequences: `vlmc`, `ppm`, `context-tree` (these
    three need `pip install "thesiskit[peers]"`), `n-gram`, `logistic-regression`,
    `gradient-boosting`. For features: `logistic-regression`, `pairwise-logistic-regression`,
    `random-forest`, `gradient-boosting`, `naive-bayes`. For real responses: `ridge`,
    `pairwise-ridge`, `random-forest`, `gradient-boosting`."""
    min_cases: Positive = defaults.MIN_CASES
    """Features: patterns that are present in fewer training cases are left out of the model. From 2
    on, patterns that occur only in test cases are left out too."""
    chains: Positive = defaults.CHAINS
    """Number of chains."""
    iterations: Positive = defaults.ITERATIONS
    """Number of all iterations; with `until` the limit, 10000 unless given. If only this number
    grows, stored chains are continued."""
    until: LogisticUntilBlock | None = None
    """Chains stop when they agree in the log likelihood, in the noise of real responses, and in the
    predictions for up to 20 test cases. They are compared after 200, 300, 450, ... iterations, of
    which the second half counts; `burn_in` and `thin` are left out. At most 1,000 draws are kept.
    It needs two chains or more."""
    burn_in: Count = defaults.BURN_IN
    """Number of first iterations that are not kept."""
    thin: Positive = defaults.THIN
    """Of the iterations after `burn_in`, every so many-th is kept."""
    sigma_updates: Positive = defaults.SIGMA_UPDATES
    """How often an iteration updates each sigma, with the coefficients held fixed."""
    joint_updates: Count = defaults.JOINT_UPDATES
    """How often an iteration also moves all coefficients and sigmas together; 0 gives the sampler
    of the thesis. For sequences with two classes, all coefficients are drawn at once, and the
    sigmas move with the coefficients integrated out. For features, and for sequences with three or
    more classes, all of them move along Hamiltonian trajectories."""
    sigma_0: Width | None = None
    """Width of the prior of the coefficient of order 0; unless given, 5 for Cauchy and 10 for
    Gaussian priors."""
    sigma_shape: Shape = defaults.SIGMA_SHAPE
    """The prior of sigma_o is Inverse-Gamma with this shape."""
    sigma_mode: Width = defaults.SIGMA_MODE
    """The prior of sigma_o has its mode at `sigma_mode` / o."""
    standardise: StrictBool = True
    """`gaussian`: `false` leaves responses in their own units, so that the prior does not depend on
    the data, as `evaluation.ranks` requires."""
    noise: Width | None = None
    """`gaussian`: standard deviation of the noise, in the response's units; sampled unless given.
    """
    noise_shape: Shape = defaults.NOISE_SHAPE
    """`gaussian`: shape of the Inverse-Gamma prior of the noise where it is sampled."""
    noise_mode: Width = defaults.NOISE_MODE
    """`gaussian`: mode of this prior, for responses of standard deviation 1."""
    step: PositiveNumber | None = None
    """Slice sampling: the first interval for a coefficient; unless given, 20 for Cauchy and 10 for
    Gaussian priors."""
    sigma_step: PositiveNumber = defaults.SIGMA_STEP
    """Slice sampling: the first interval for a sigma."""
    most_steps: Positive = defaults.MOST_STEPS
    """Slice sampling: the largest number of steps by which an interval grows."""
    split_draws: Positive | Literal["exact"] = 1
    """Predictions: how many random splits of each draw are averaged, or `exact`, which is possible
    for two classes (for features only with Gaussian priors; not with `gaussian` responses)."""
    original: StrictBool = False
    """Also keep draws of every original coefficient of a compressed model."""

    @property
    def targets(self) -> tuple[Any, ...] | None:
        """What chains reach before they stop; None of chains of a fixed length."""
        return None if self.until is None else self.until.targets

    @property
    def continuous(self) -> bool:
        """Whether responses are real numbers."""
        return self.response == "gaussian"

    @property
    def drawn_with(self) -> dict[str, object]:
        """What data drawn from this model depend on."""
        real = ("noise", "noise_shape", "noise_mode") if self.continuous else ()
        names = ("sigma_0", "sigma_shape", "sigma_mode", *real)
        priors = {name: getattr(self, name) for name in names}
        return {"order": self.orders[0], "prior": self.priors[0], **priors}

    @model_validator(mode="before")
    @classmethod
    def _length_with_until(cls, value):
        if isinstance(value, dict) and value.get("until") is not None:
            return with_until(value, burn_in=0, thin=1)
        return value

    @model_validator(mode="after")
    def _together(self):
        if self.until is not None:
            check_length(self.until, self.chains, "model", self.iterations, self.burn_in, self.thin)
        if self.burn_in + self.thin > self.iterations:
            raise ValueError(
                f"of {self.iterations} iterations none is kept after burn_in {self.burn_in} "
                f"with thin {self.thin}; use more iterations"
            )
        originals = self.orders if self.original_orders is None else self.original_orders
        if False in self.compress and not set(originals) & set(self.orders):
            raise ValueError("original_orders has none of orders, and compress has false")
        for name in ("standardise", "noise", "noise_shape", "noise_mode"):
            if name in self.model_fields_set and not self.continuous:
                raise ValueError(f"{name} is for real responses; add `response: gaussian`")
        if self.continuous and "gp" in self.engine:
            raise ValueError("engine: gp is for classes; leave it out with response: gaussian")
        if self.continuous and self.split_draws == "exact":
            raise ValueError("split_draws: exact is for classes; give a number of splits")
        alone = self.engine == ["gp"] and self.priors != ["gaussian"]
        if alone or ("gp" in self.engine and "gaussian" not in self.priors):
            raise ValueError(
                "engine: gp needs Gaussian priors; give `priors: [gaussian]`, or engine: slice"
            )
        if "gp" in self.engine and self.min_cases > 1:
            raise ValueError("engine: gp has all patterns; leave out min_cases, or use slice")
        return self


def check_peers(model: LogisticModel, *, sequences: bool) -> str | None:
    """Say which peer there is not for such data, None if there are all."""
    kind = RESPONSES if model.continuous else FEATURES
    kind = SEQUENCES if sequences else kind
    known = names(kind)
    for peer in model.peers:
        if peer not in known:
            return f"there is no peer {peer!r} for {kind}; choose from {', '.join(known)}"
    return None
