"""What a model is: one class, from the keys of a config to the predictions of new cases.

A model is a frozen dataclass in a module here, named in `MODELS` (models/__init__).  An *arm* is a
model with values of its fields.  All else that the package knows of a model follows from the class:

- fields made by `key` are keys of the block `model` of a config (`block`), with their descriptions,
  and parameters of the estimator; where a field is `several` a config may have a list of values,
  each of which makes an arm;
- `fit`, `predict` and `log_probability` serve experiments, inner folds, estimators and model files;
- `pack` and `unpack` say what of a posterior result files have, `saved` and `restored` what model
  files have;
- `ranks` compares draws from the posterior with the truth, for simulation-based calibration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, create_model, field_validator
from scipy import special

from thesiskit.blocks import Block, Several
from thesiskit.models.ranks import Ranks
from thesiskit.models.temperature import as_log_probability, temper

Arrays = dict[str, np.ndarray]
OWN = ("corrected", "uncorrected")  # the methods that are a model's own
CLOSEST = 2.0**-53  # to 0 and to 1 that a prediction comes
LARGEST = 1e100  # of alpha, of logs and of temperatures in a model file
SOME = "some"


def key(default: Any, kind: Any, text: str, *, several: bool = False) -> Any:
    """Return a field of a model that configs have as a key.

    kind : its type in a config, as pydantic takes it.
    text : what it means.
    several : whether a config may have a list of values, each of which makes an arm.
    """
    return field(default=default, metadata={"kind": kind, "text": text, "several": several})


@dataclass(frozen=True)
class Training:
    """What a model is fitted to.

    selection : the features kept, with what is known of those left out.
    response : (n,) classes of the training cases.
    table : returns the kept features of the training cases, (n, k).
    correct : whether to condition on the selection.
    rngs : as many generators as a model has chains; none of a model that is not sampled.
    jobs : how many of its chains run at the same time, None for one on each core.
    """

    selection: Any
    response: np.ndarray
    table: Callable[[], np.ndarray]
    correct: bool = True
    rngs: Sequence[np.random.Generator] = ()
    jobs: int | None = None


class SelectingBlock(Block):
    """What the blocks of all models that follow a selection have: methods, and temperatures."""

    variant: ClassVar[str] = ""  # the key that says by which rule or sampler a method is done

    temperature: Annotated[Several[Literal["none", "cv"]], Field()] = ["none"]
    """With `cv` log odds are divided by a temperature, tau, of at least 1: by how many times the
    same evidence was counted, as it is where features go together. tau is found in each training
    set, by a cross-validation that repeats selection and fit; the part `temperature-table` shows
    it. `[none, cv]` compares both."""

    @field_validator("methods", check_fields=False)
    @classmethod
    def _one_of_ours(cls, value):
        if not set(value) & set(OWN):
            raise ValueError("add corrected or uncorrected; peers stand beside them")
        return value

    @property
    def variants(self) -> list[str]:
        """What every method is done by: rules for integrals, or samplers."""
        return list(getattr(self, self.variant)) if self.variant else ["exact"]

    @property
    def relevances(self) -> list[str]:
        """Which features may be relevant, all or some: what our own methods are done with."""
        return list(getattr(self, "relevant", ["all"]))


class Model(ABC):
    """A model of features that were selected, with values of its fields.

    kind, command : its name in configs, and the command that fits it.
    takes : "bits" or "reals", what its features are.
    most_classes : how many classes it takes, None for any number.
    takes_missing : whether values may be missing.
    variant : the field that says by which rule or sampler it is done, if there are several.
    rivals : the methods that a config may set beside its own.
    about_kind, about_methods : what the keys `kind` and `methods` mean.
    """

    kind: ClassVar[str]
    command: ClassVar[str]
    takes: ClassVar[Literal["bits", "reals"]]
    most_classes: ClassVar[int | None] = None
    takes_missing: ClassVar[bool] = True
    variant: ClassVar[str] = ""
    rivals: ClassVar[tuple[str, ...]] = ()
    about_kind: ClassVar[str] = ""
    about_methods: ClassVar[str] = "`corrected` and `uncorrected` for the selection."
    chains: int = 0  # of a model that is sampled

    # ---- configs ----

    @classmethod
    def block(cls) -> type[SelectingBlock]:
        """Return the block of a config, which has the keys of this model."""
        return block_of(cls)

    @classmethod
    def of(cls, block: Any, variant: str, relevant: str) -> Model:
        """Return the model of an arm of a config."""
        given = {one.name: getattr(block, one.name) for one in fields(cls) if one.metadata}  # type: ignore[arg-type]
        given |= {cls.variant: variant} if cls.variant else {}
        given |= {"relevant": relevant} if "relevant" in given else {}
        return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in given.items()})

    def check(self, classes: int) -> None:
        """Raise UserError, which begins with the name of a field, where one is beyond limits."""

    @property
    def settings(self) -> dict[str, Any]:
        """All that a posterior depends on besides the data."""
        return asdict(self)  # type: ignore[call-overload]

    # ---- fitting and predicting ----

    @abstractmethod
    def fit(self, training: Training) -> Any:
        """Return the posterior."""

    @abstractmethod
    def log_probability(self, posterior: Any, table: np.ndarray) -> np.ndarray:
        """Return log P(class), (T, G), for the kept features of new cases, (T, k)."""

    def predict(self, posterior: Any, table: np.ndarray, tau: float = 1.0) -> np.ndarray:
        """Return P(class), (T, G), with log odds divided by tau."""
        log_probability = self.log_probability(posterior, table)
        return as_probability(log_probability if tau == 1 else temper(log_probability, tau))

    def expected_error(self, posterior: Any, rng: np.random.Generator) -> float:
        """Return the error rate that the posterior expects of new cases."""
        raise NotImplementedError

    def warning(self, posterior: Any) -> str:
        """Say why predictions should not be relied on; nothing if they can be."""
        return ""

    def ranks(
        self, posterior: Any, truth: Mapping[str, Any], kept: np.ndarray, case: np.ndarray,
        rng: np.random.Generator,
    ) -> Ranks | None:  # fmt: skip
        """Rank the truth among draws; None where there are none.

        kept (k,) are the features kept, case (k,) their values in the case that log odds are of.
        """
        raise NotImplementedError

    # ---- files ----

    @abstractmethod
    def pack(self, found: list[Any]) -> Arrays:
        """Return the arrays of result files from the posteriors of some splits, (splits, ...)."""

    @abstractmethod
    def unpack(self, arrays: Arrays, s: int, training: Training) -> Any:
        """Return the posterior of split s."""

    @classmethod
    @abstractmethod
    def join(cls, found: list[Arrays]) -> Arrays:
        """Return the arrays of a stage from those of its arms, (splits, arms, ...) each."""

    @abstractmethod
    def saved(self, posterior: Any) -> tuple[dict[str, Any], Arrays]:
        """Return what of a posterior a model file has: what JSON can hold, and arrays."""

    @classmethod
    @abstractmethod
    def restored(
        cls, about: dict[str, Any], arrays: Arrays, selected: np.ndarray, classes: int
    ) -> tuple[Model, Any]:
        """Return the model and the posterior that `saved` described; ValueError if damaged."""


class TwoClasses(Model):
    """A model of two classes and binary features, which predicts by log odds."""

    takes = "bits"
    most_classes = 2

    @abstractmethod
    def log_odds(self, posterior: Any, table: np.ndarray) -> np.ndarray:
        """Return log P(y* = 1) - log P(y* = 0), (T,), for the kept features of cases, (T, k)."""

    def log_probability(self, posterior: Any, table: np.ndarray) -> np.ndarray:
        """Return log P(class), (T, 2), for the kept features of new cases, (T, k)."""
        return as_log_probability(self.log_odds(posterior, table))

    def predict(self, posterior: Any, table: np.ndarray, tau: float = 1.0) -> np.ndarray:
        """Return P(class), (T, 2), with log odds divided by tau."""
        p = of_log_odds(self.log_odds(posterior, table) / tau)
        return np.stack([1 - p, p], axis=1)


@cache
def block_of(model: type[Model]) -> type[SelectingBlock]:
    """Return the block of a config that has the keys of a model."""
    methods = Annotated[list[Literal[(*OWN, *model.rivals)]], Field(min_length=1)]  # type: ignore[valid-type]
    mine: dict[str, Any] = {
        "kind": (Literal[model.kind], Field(description=model.about_kind)),
        "methods": (Distinct[methods], Field(list(OWN), description=model.about_methods)),
    }
    for one in fields(model):  # type: ignore[arg-type]
        if one.metadata:
            kind, default = one.metadata["kind"], one.default
            if one.metadata["several"]:
                kind, default = Several[kind], [default]
            default = list(default) if isinstance(default, tuple) else default
            mine[one.name] = (kind, Field(default, description=one.metadata["text"]))
    found = create_model(f"{model.__name__}Block", __base__=SelectingBlock, __doc__=model.__doc__,
                         __module__=model.__module__, **mine)  # fmt: skip
    found.variant = model.variant
    return found


# ---- probabilities ----


def of_log_odds(log_odds: np.ndarray) -> np.ndarray:
    """Return probabilities that stay CLOSEST away from 0 and 1, (T,)."""
    return np.clip(special.expit(log_odds), CLOSEST, 1 - CLOSEST)


def as_probability(log_probability: np.ndarray) -> np.ndarray:
    """Return probabilities that stay CLOSEST away from 0, and so below 1, (T, G)."""
    return np.clip(np.exp(log_probability), CLOSEST, 1 - CLOSEST)


# ---- files ----


def stacked(found: list[Arrays], names: Sequence[str], fill: float = np.nan) -> Arrays:
    """Return arrays (splits, arms, ...) of those of arms, (splits, ...), filled up where shorter."""
    joined = {}
    for name in names:
        arrays = [one[name] for one in found]
        shape = np.max([one.shape[1:] for one in arrays], axis=0) if arrays[0].ndim > 1 else ()
        ...
    return joined


def pack_relevance(found: Sequence[Any]) -> Arrays:
    """Return what the posteriors of an arm's splits say of pi and of relevance.

    pi (J,), log_pi (splits, J), the log probability of each, and relevance: the probability of
    every kept feature, in the order of `selected`; those of split s are from relevance_offset[s]
    on.
    """
    relevance = [one.relevance for one in found]
    return {
        "pi": found[0].pi,
        "log_pi": np.array([one.log_pi for one in found]),
        "relevance": np.concatenate(relevance),
        "relevance_offset": np.cumsum([0] + [len(one) for one in relevance]),
    }


def join_relevance(found: list[Arrays], more: Sequence[str] = ()) -> Arrays:
    """Return what `pack_relevance` returned for the arms that have it, in one.

    These are the S columns `some`; log_pi (splits, S, J), pi (J,), and `more` arrays (splits, S,
    ...).  Their relevance lies end to end: that of split s in the i-th of them begins at
    relevance_offset[i, s], and ends at relevance_offset[i, s + 1].
    """
    places = [i for i, one in enumerate(found) if "relevance" in one]
    if not places:
        return {}
    mine = [found[i] for i in places]
    starts = np.cumsum([0] + [len(one["relevance"]) for one in mine[:-1]])
    offset = np.array([one["relevance_offset"] for one in mine])
    return {
        "some": np.array(places),
        "pi": mine[0]["pi"],
        **{name: np.stack([one[name] for one in mine], axis=1) for name in (*more, "log_pi")},
        "relevance": np.concatenate([one["relevance"] for one in mine]),
        "relevance_offset": offset + starts[:, None],
    }


def check(holds: Any) -> None:
    """Raise ValueError where the parts of a model file do not belong together."""
    if not holds:
        raise ValueError("its parts do not belong together")


def shaped(arrays: Arrays, wanted: Mapping[str, tuple[np.dtype | type, str]], **sizes: int) -> Arrays:
    """Return arrays of a model file as their types; ValueError for another shape.

    wanted : by name the type, and the names of the dimensions, such as "K J"; those that `sizes`
        does not have are as they are found first.
    """
    found = {}
    for name, (kind, dimensions) in wanted.items():
        array = arrays[name].astype(kind)
        check(array.ndim == len(dimensions.split()))
        for letter, size in zip(dimensions.split(), array.shape, strict=True):
            check(sizes.setdefault(letter, size) == size)
        found[name] = array
    return found
