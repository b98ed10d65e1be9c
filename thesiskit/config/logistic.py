"""Configs of chapter 3: logistic models with interactions."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from thesiskit.blocks import Block, Count, Positive, PositiveNumber, Text, distinct

Order = Count | Literal["all"]
Width = Annotated[float, Field(strict=True, ge=1e-20, le=1e20)]
SEQUENCE_PEERS = (
    "vlmc", "ppm", "context-tree", "n-gram", "logistic-regression", "gradient-boosting",
)  # fmt: skip
FEATURE_PEERS = (
    "logistic-regression", "pairwise-logistic-regression", "random-forest", "gradient-boosting",
    "naive-bayes",
)  # fmt: skip
RESPONSE_PEERS = ("ridge", "pairwise-ridge", "random-forest", "gradient-boosting")


class LogisticModel(Block):
    """Priors, sampler and variants of a logistic model; each list is combined with the others."""

    kind: Literal["logistic"]
    response: Literal["classes", "gaussian"] = "classes"
    orders: Annotated[list[Order], Field(min_length=1)]
    priors: Annotated[list[Literal["cauchy", "gaussian"]], Field(min_length=1)] = ["cauchy"]
    compress: Annotated[list[StrictBool], Field(min_length=1)] = [True]
    engine: Annotated[list[Literal["slice", "gp"]], Field(min_length=1)] = ["slice"]
    sigma_scale: Annotated[list[Literal["log", "natural"]], Field(min_length=1)] = ["log"]
    peers: list[Text] = []
    min_cases: Positive = 1  # patterns that fewer training cases express are left out
    chains: Positive = 1
    iterations: Positive = 2000
    burn_in: Count = 750
    thin: Positive = 5
    sigma_updates: Positive = 10
    joint_updates: Count = 1
    sigma_0: Width | None = None
    sigma_shape: Annotated[float, Field(strict=True, ge=0.2, le=1e6)] = 0.25
    sigma_mode: Width = 0.1
    standardise: StrictBool = True  # real responses, by the training cases
    noise: Width | None = None  # of real responses, in their units; sampled unless given
    noise_shape: Annotated[float, Field(strict=True, ge=0.2, le=1e6)] = 0.25
    noise_mode: Width = 0.5
    step: PositiveNumber | None = None
    sigma_step: PositiveNumber = 1.0
    most_steps: Positive = 50
    split_draws: Positive | Literal["exact"] = 1
    original: StrictBool = False  # keep draws of every original coefficient

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

    @field_validator("orders", "priors", "compress", "engine", "sigma_scale", mode="before")
    @classmethod
    def _list(cls, value: Any):
        return value if isinstance(value, list) else [value]

    @field_validator("orders", "priors", "compress", "engine", "sigma_scale", "peers")
    @classmethod
    def _each_once(cls, value):
        return distinct(value)

    @model_validator(mode="after")
    def _together(self):
        if self.burn_in + self.thin > self.iterations:
            raise ValueError(
                f"of {self.iterations} iterations none is kept after burn_in {self.burn_in} "
                f"with thin {self.thin}; use more iterations"
            )
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
    known, of = (
        (SEQUENCE_PEERS, "sequences")
        if sequences
        else (RESPONSE_PEERS, "real responses")
        if model.continuous
        else (FEATURE_PEERS, "features")
    )
    for peer in model.peers:
        if peer not in known:
            return f"there is no peer {peer!r} for {of}; choose from {', '.join(known)}"
    return None
