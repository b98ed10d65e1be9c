"""What a model is: one class, from the keys of a config to the predictions of new samples.

A model is a frozen dataclass in a module here, named in `MODELS` (models/__init__).  An *method* is
a model with values of its fields.  All else that the package knows of a model follows from the
class:

- fields made by `config_field` are keys of the block `model` of a config, with their descriptions,
  and parameters of the estimator; where a field is `several` a config may have a list of values,
  each of which makes a method;
- `fit`, `predict` and `log_probability` serve experiments, inner folds, estimators and model files;
- `pack` and `unpack` say what of a posterior result files have, `saved` and `restored` what model
  files have.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property, lru_cache
from numbers import Real
from typing import Any, ClassVar, Literal, TypeGuard, get_origin

import numpy as np
from pydantic import Field, create_model, field_validator
from scipy import special

from thesiskit.blocks import Block, Probabilities, Several, Some
from thesiskit.defaults import NO_TEMPERATURE, RESIDUAL
from thesiskit.errors import UserError, list_some, quoted
from thesiskit.models.density import Density
from thesiskit.models.temperature import (
    SEED,
    Temperature,
    as_log_probability,
    of_imitated,
    temper,
    too_few,
)

Arrays = dict[str, np.ndarray]
CLASSES, GAUSSIAN = "classes", "gaussian"  # responses
OWN = ("corrected", "uncorrected")  # the methods that are a model's own
# our own models beside one of another kind: kind and method, by the name that configs write
OTHERS = {
    f"{word}-{own}": (kind, own)
    for word, kind in (("naive", "naive-bayes"), ("normal", "normal"))
    for own in OWN
}
# third-party methods that take real responses
WITH_REALS = ("ridge", "lasso", "pls", "bayesian-ridge", "random-forest", "pool")
CLOSEST = 2.0**-53  # to 0 and to 1 that a prediction comes
MOST_SAMPLES = 2**40  # of a class in a model file, beyond which sums overflow
LARGEST = 1e100  # of alpha, of logs and of temperatures in a model file
SUM = 1e-9  # how far from 1 the sum of the probabilities of a sample may be
NO_PREDICTION = "no prediction: the values are too far from those of the training samples"
SOFTENED = ("tau", "offset", "tau_errors")  # of a temperature, in result files
ABOUT_TEMPERATURE = (
    "With `residual`, log odds are divided by a temperature tau of at least 1, because correlated "
    "features count the same evidence several times; each class gets an offset. Both are estimated "
    "in each training set from samples simulated with its residuals, also for a pre-filtered "
    "table; the part `temperature-table` shows tau. `[none, residual]` compares both."
)
ABOUT_RESPONSE = (
    "`classes`, or `gaussian` for a real response: its predictive distribution is computed. "
    f"Third-party methods for a real response: `{'`, `'.join(WITH_REALS)}` (with `kind: normal`)."
)


def config_field(default: Any, kind: Any, text: str, *, several: bool = False) -> Any:
    """Return a field of a model that configs have as a key.

    kind : its type in a config, as pydantic takes it.
    text : what it means.
    several : whether a config may have a list of values, each of which makes a method.
    """
    return field(default=default, metadata={"kind": kind, "text": text, "several": several})


@dataclass(frozen=True)
class Training:
    """What a model is fitted to.

    selection : the features kept, with what is known of those left out.
    response : (n,) classes of the training samples, or as floats a real response.
    table : returns the kept features of the training samples, (n, k).
    correct : whether to condition on the selection.
    rngs : as many generators as a model has chains; none of a model that is not sampled.
    jobs : how many of its chains run at the same time, None for one on each core.
    groups : (n,) numbers from 0 of groups of samples that belong together, None where each is
        alone.
    """

    selection: Any
    response: np.ndarray
    table: Callable[[], np.ndarray]
    correct: bool = True
    rngs: Sequence[np.random.Generator] = ()
    jobs: int | None = None
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class PatternTraining:
    """What a model of patterns is fitted to.

    patterns : what the codes mean, as of models/patterns.py.
    codes (n, p), response (n,) : the training samples; classes : how many, 0 of real responses.
    find : returns the groups of the training samples, of a model that has coefficients of groups.
    tests (T, p) : samples in whose predictions chains have to agree; without, training samples.
    shared : returns what the tests share with these groups.
    """

    patterns: Any
    codes: np.ndarray
    response: np.ndarray
    classes: int
    find: Callable[[], Any] | None = None
    tests: np.ndarray | None = None
    shared: Callable[[], Any] | None = None

    @cached_property
    def groups(self) -> Any:  # SequenceGroups or FeatureGroups
        """The groups of the training samples."""
        assert self.find is not None
        return self.find()


class SelectingBlock(Block):
    """What the blocks of all models that follow a selection have."""

    takes: ClassVar[str]  # of the model
    variant: ClassVar[str] = ""  # the key that says by which rule or sampler a method is done

    @field_validator("methods", check_fields=False)
    @classmethod
    def _one_of_ours(cls, value):
        if not set(value) & set(OWN):
            raise ValueError("none of them is ours. Fix: add corrected or uncorrected")
        return value

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield keys of the model that do not fit the data or the selection."""
        yield from ()

    @property
    def variants(self) -> list[str]:
        """What every method is done by: rules for integrals, or samplers."""
        return list(getattr(self, self.variant)) if self.variant else ["exact"]

    @property
    def relevances(self) -> list[str]:
        """Which features may be relevant, all or some: what our own methods are done with."""
        return list(getattr(self, "relevant", ["all"]))

    @property
    def temperatures(self) -> list[str]:
        """Return whether log odds are tempered, and how, of a model that has a temperature."""
        return list(getattr(self, "temperature", [NO_TEMPERATURE]))


class Model(ABC):
    """A model, with values of its fields.

    kind, words : its name in configs, and in sentences.
    about_kind : what the key `kind` means.
    """

    kind: ClassVar[str]
    words: ClassVar[str] = "the model"
    about_kind: ClassVar[str] = ""
    chains: int = 0

    @classmethod
    @abstractmethod
    def block(cls) -> type[Block]:
        """Return the block of a config, which has the keys of this model."""

    @classmethod
    def made(cls, values: Mapping[str, Any]) -> Any:
        """Return the model with some values of its fields, which may have lists for tuples."""
        return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})

    @property
    def settings(self) -> dict[str, Any]:
        """All that a posterior depends on besides the data."""
        return asdict(self)  # type: ignore[call-overload]


class SelectingModel(Model):
    """A model of features that were selected.

    takes : "bits" or "reals", what its features are.
    responses : CLASSES, and GAUSSIAN if it takes real responses; of_classes : keys for classes.
    most_classes : how many classes it takes, None for any number.
    takes_missing : whether values may be missing.
    variant : the field that says by which rule or sampler it is done, if there are several.
    rivals : the methods that a config may set beside its own.
    stored : of a posterior that is a dict of arrays their types and shapes, such as (float, "G k"),
        with k features kept and G classes.
    about_methods : what the key `methods` means.
    """

    takes: ClassVar[Literal["bits", "reals"]]
    responses: ClassVar[tuple[str, ...]] = (CLASSES,)
    of_classes: ClassVar[tuple[str, ...]] = ()
    most_classes: ClassVar[int | None] = None
    takes_missing: ClassVar[bool] = True
    variant: ClassVar[str] = ""
    rivals: ClassVar[tuple[str, ...]] = ()
    stored: ClassVar[Mapping[str, tuple[type, str]]] = {}
    about_methods: ClassVar[str] = "`corrected` and `uncorrected` for the selection."
    selects: ClassVar[bool] = True  # whether it takes a part of the features, or always all
    imitates: ClassVar[bool] = False  # whether it has a temperature, and `imitate`
    usual_temperature: ClassVar[str] = NO_TEMPERATURE  # of a config that does not say
    has_chains: ClassVar[bool] = False  # whether it has the methods of a sampled model: see Mixture
    chains_apart: int = 0  # chains of a method that are a cell each
    sampled: bool = False  # whether the method has draws

    # ---- configs ----

    @classmethod
    def block(cls) -> type[SelectingBlock]:
        """Return the block of a config, made from the fields of this model."""
        return block_of(cls)

    @classmethod
    def of(cls, block: Any, variant: str, relevant: str) -> SelectingModel:
        """Return the model of a method of a config."""
        given = {one.name: getattr(block, one.name) for one in fields(cls) if one.metadata}  # type: ignore[arg-type]
        given |= {cls.variant: variant} if cls.variant else {}
        given |= {"relevant": relevant} if "relevant" in given else {}
        return cls.made(given)

    @classmethod
    def with_priors_of(cls, other: SelectingModel) -> SelectingModel:
        """Return this model with the priors that it shares with a model of another kind."""
        raise NotImplementedError

    def check(self, classes: int) -> None:
        """Raise UserError, which begins with the name of a field, where one is beyond limits."""

    @property
    def priors_of_draws(self) -> dict[str, Any]:
        """The fields of `SelectionPriors` that the model has, for data that are drawn."""
        return {}

    def needs(self, samples: int, kept: int) -> tuple[int, int]:
        """Return how many bytes a posterior holds, about, and how many iterations lead to it.

        samples, kept : of the training set, and features.
        """
        return 16, 0

    # ---- fitting and predicting ----

    @abstractmethod
    def fit(self, training: Training) -> Any:
        """Return the posterior."""

    @abstractmethod
    def log_probability(self, posterior: Any, table: np.ndarray) -> np.ndarray:
        """Return log P(class), (T, G), for the kept features of new samples, (T, k)."""

    def predict(
        self, posterior: Any, table: np.ndarray, softened: Temperature | None = None
    ) -> np.ndarray:
        """Return P(class), (T, G), perhaps with a temperature."""
        p = np.exp(self.predict_log(posterior, table, softened))
        return np.clip(p, CLOSEST, 1 - CLOSEST)  # and so it stays below 1

    def predict_log(
        self, posterior: Any, table: np.ndarray, softened: Temperature | None = None
    ) -> np.ndarray:
        """Return log P(class), (T, G), perhaps with a temperature."""
        log_probability = self.log_probability(posterior, table)
        if softened is None:
            return log_probability
        return temper(log_probability, softened.tau, softened.offset)

    def density(self, posterior, table: np.ndarray, softened: Temperature | None = None) -> Density:
        """Return predictive distributions of a real response for new samples, (T, k)."""
        raise UserError(
            f"kind: {self.kind} does not predict a real response. "
            "Fix: use kind: normal or kind: pool, or divide the response into classes"
        )

    def imitate(
        self, posterior: Any, training: Training, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return imitated samples (., k) and their classes: see models/temperature.py."""
        raise NotImplementedError

    def residual_temperature(self, posterior: Any, training: Training) -> Temperature:
        """Return the temperature of imitated samples.

        There is none where no feature was kept, or with too few samples.  The draws are always the
        same: the same training samples have the same temperature in an experiment, in a model file
        and in an estimator.
        """
        class_counts = np.array(training.selection.class_counts)
        if not len(training.selection.selected) or too_few(class_counts):
            return Temperature.none(len(class_counts))
        samples, y = self.imitate(posterior, training, np.random.default_rng(SEED))
        return of_imitated(self.log_probability(posterior, samples), y)

    def predicted_error(self, posterior: Any, rng: np.random.Generator) -> float:
        """Return the error rate that the posterior predicts of new samples; NaN if unknown."""
        return np.nan

    def warning(self, posterior: Any) -> str:
        """Say why predictions should not be relied on; nothing if they can be."""
        return ""

    # ---- files; of a model whose posterior is named arrays, `stored` says all ----

    def pack(self, found: list[Any]) -> Arrays:
        """Return the arrays of result files from the posteriors of some splits."""
        return {f"{s}/{name}": one[name] for s, one in enumerate(found) for name in self.stored}

    def unpack(self, arrays: Arrays, s: int, training: Training) -> Any:
        """Return the posterior of split s."""
        return {name: arrays[f"{s}/{name}"] for name in self.stored}

    @classmethod
    def join(cls, found: list[Arrays]) -> Arrays:
        """Return the arrays of a stage from those of its methods, (splits, methods, ...) each."""
        names = [name for name in (*SOFTENED, "seconds", "promised") if name in found[0]]
        return {name: np.stack([one[name] for one in found], axis=1) for name in names}

    def saved(self, posterior: Any) -> tuple[dict[str, Any], Arrays]:
        """Return what of a posterior a model file has: what JSON can hold, and arrays."""
        return {"settings": self.settings}, posterior

    @classmethod
    def restored(
        cls, about: dict[str, Any], arrays: Arrays, selected: np.ndarray, classes: int
    ) -> tuple[SelectingModel, Any]:
        """Return the model and the posterior that `saved` described; ValueError if damaged."""
        return cls.made(about["settings"]), shaped(arrays, cls.stored, k=len(selected), G=classes)


class TwoClasses(SelectingModel):
    """A model of two classes and binary features, which predicts by log odds."""

    takes = "bits"
    most_classes = 2

    @abstractmethod
    def log_odds(self, posterior: Any, table: np.ndarray) -> np.ndarray:
        """Return log P(y* = 1) - log P(y* = 0), (T,), for the kept features of samples, (T, k)."""

    def log_probability(self, posterior: Any, table: np.ndarray) -> np.ndarray:
        """Return log P(class), (T, 2), for the kept features of new samples, (T, k)."""
        return as_log_probability(self.log_odds(posterior, table))

    def predict(
        self, posterior: Any, table: np.ndarray, softened: Temperature | None = None
    ) -> np.ndarray:
        """Return P(class), (T, 2), perhaps with a temperature."""
        p = of_log_odds(self._softened(posterior, table, softened))
        return np.stack([1 - p, p], axis=1)

    def predict_log(
        self, posterior: Any, table: np.ndarray, softened: Temperature | None = None
    ) -> np.ndarray:
        """Return log P(class), (T, 2), perhaps with a temperature."""
        return as_log_probability(self._softened(posterior, table, softened))

    def _softened(self, posterior, table, softened: Temperature | None) -> np.ndarray:
        log_odds = self.log_odds(posterior, table)
        if softened is None:
            return log_odds
        return log_odds / softened.tau + (softened.offset[1] - softened.offset[0])


class SomeRelevant(SelectingModel):
    """A model with the fields `relevant` and `pi`: each feature is relevant with probability pi."""

    relevant: str
    pi: tuple[float, ...]

    @staticmethod
    def pi_key(default: tuple[float, ...]) -> Any:
        """Return the field `pi`."""
        text = (
            "The values of pi that `some` averages over, with equal prior probabilities; the "
            "default goes down to 1e-9 where patterns of discrete features are selected."
        )
        return config_field(default, Probabilities, text)

    def check_relevance(self) -> None:
        """Raise UserError unless pi is some probabilities, none twice, and `relevant` a choice."""
        pi = self.pi
        if not isinstance(pi, tuple | list | np.ndarray) or len(pi) == 0:
            raise UserError("pi must be a list of probabilities above 0, and at least one")
        for i, one in enumerate(pi):
            if positive(f"pi[{i}]", one) > 1:
                raise UserError(f"pi[{i}] must be at most 1, got {quoted(one)}")
        if len(set(pi)) < len(pi):
            raise UserError("pi: give each probability once")
        if self.relevant not in ("all", "some"):
            raise UserError(f"relevant must be all or some, got {quoted(self.relevant)}")

    @property
    def pi_points(self) -> np.ndarray:
        """The grid of pi, (J,)."""
        return np.ones(1) if self.relevant == "all" else np.array(self.pi, dtype=float)


class DerivedBlock(SelectingBlock):
    """A block that is derived from a model, which is how processes find its class."""

    model: ClassVar[type[SelectingModel]]

    def __reduce__(self):
        return _rebuilt, (self.model, self.model_dump(), self.model_fields_set)


def _rebuilt(
    model: type[SelectingModel], values: dict[str, Any], given: set[str]
) -> SelectingBlock:
    return block_of(model).model_construct(given, **values)


@cache
def block_of(model: type[SelectingModel]) -> type[SelectingBlock]:
    """Return the block of a config that has the keys of a model."""
    tag: Any = Literal[(model.kind,)]
    list_of: Any = Several
    mine: dict[str, Any] = {"kind": (tag, Field(model.kind, description=model.about_kind))}
    rivals = dict.fromkeys(model.rivals)
    if GAUSSIAN in model.responses:
        rivals |= dict.fromkeys(name for name in WITH_REALS if name != model.kind)
        response = Field(CLASSES, description=ABOUT_RESPONSE)
        mine["response"] = Literal[model.responses], response  # type: ignore[valid-type]
    words: Any = Literal[(*OWN, *rivals)]  # type: ignore[valid-type]
    mine["methods"] = Some[words], Field(list(OWN), description=model.about_methods)
    if model.imitates:
        temperatures: Any = list_of[Literal[NO_TEMPERATURE, RESIDUAL]]
        usual = Field([model.usual_temperature], description=ABOUT_TEMPERATURE)
        mine["temperature"] = temperatures, usual
    for one in fields(model):  # type: ignore[arg-type]
        if one.metadata:
            kind, default = one.metadata["kind"], one.default
            if one.metadata["several"]:
                kind, default = list_of[kind], [default]
            if isinstance(default, tuple) and get_origin(kind) is not tuple:
                default = list(default)
            mine[one.name] = (kind, Field(default, description=one.metadata["text"]))
    found = create_model(f"{model.__name__}Block", __base__=DerivedBlock, __doc__=model.__doc__,
                         __module__=model.__module__, **mine)  # fmt: skip
    found.model, found.variant, found.takes = model, model.variant, model.takes
    return found


# ---- probabilities, and random numbers ----


def of_log_odds(log_odds: np.ndarray) -> np.ndarray:
    """Return probabilities that stay CLOSEST away from 0 and 1, (T,)."""
    return np.clip(special.expit(log_odds), CLOSEST, 1 - CLOSEST)


def splitmix64(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Hash whole numbers (m,) to as many different uint64: SplitMix64, with a seed."""
    x = numbers.astype(np.uint64) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


# ---- files ----


def pack_relevance(found: Sequence[Any]) -> Arrays:
    """Return what the posteriors of a method's splits say of pi and of relevance.

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
    """Return what `pack_relevance` returned for the methods that have it, in one.

    These are the S columns `some`; log_pi (splits, S, J), pi (J,), and `more` arrays (splits, S,
    ...).  Their relevance lies end to end: that of split s in the i-th of them begins at
    relevance_offset[i, s], and ends at relevance_offset[i, s + 1]; so do effects (., C, 6).
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
        **{
            name: np.concatenate([one[name] for one in mine])
            for name in ("relevance", "effect")
            if name in mine[0]
        },
        "relevance_offset": offset + starts[:, None],
    }


def check(holds: Any) -> None:
    """Raise ValueError where the parts of a model file do not belong together."""
    if not holds:
        raise ValueError("its parts do not belong together")


def lacks_prediction(arrays: Arrays) -> np.ndarray:
    """Return which samples have no prediction, (T,): some number of it is not what it must be.

    Probabilities (T, K), or (T,) of class 1, are finite, within [0, 1], and sum to 1 within SUM;
    other arrays (T, ...) are finite, but for means and standard deviations, which some
    distributions do not have.
    """
    if "probability" in arrays:
        p = np.asarray(arrays["probability"])
        if p.ndim == 1:
            return ~((p >= 0) & (p <= 1))
        inside = ((p >= 0) & (p <= 1 + SUM)).all(axis=1)
        return ~(inside & (np.abs(p.sum(axis=1) - 1) <= SUM))
    rows = [values for name, values in arrays.items() if name not in ("mean", "sd")]
    return ~np.all([np.isfinite(values).reshape(len(values), -1).all(axis=1) for values in rows],
                   axis=0)  # fmt: skip


def check_predictions(arrays: Arrays) -> Arrays:
    """Return predictions, as `lacks_prediction` takes them; UserError where a sample has none."""
    lacking = np.flatnonzero(lacks_prediction(arrays))
    if len(lacking):
        samples = list_some([f"{row + 1:,}" for row in lacking.tolist()])
        raise UserError(f"sample {samples}: {NO_PREDICTION}. Fix: scale as the training samples")
    return arrays


def shaped(arrays: Arrays, wanted: Mapping[str, tuple[type, str]], **sizes: int) -> Arrays:
    """Return arrays of a model file as their types; ValueError for another shape.

    wanted : by name the type, and the names of the dimensions, such as "K J"; those that `sizes`
        does not have are as they are found first.
    """
    found = {}
    for name, (kind, dimensions) in wanted.items():
        array: np.ndarray = arrays[name].astype(kind)
        check(array.ndim == len(dimensions.split()))
        for letter, size in zip(dimensions.split(), array.shape, strict=True):
            check(sizes.setdefault(letter, size) == size)
        found[name] = array
    return found


# ---- checks of priors, and a rule of quadrature, that models share ----

# beyond these, differences of logs of f_0 and f_1 are not what they should be
LEAST_COUNT, MOST_COUNT = 1e-8, 1e8


def is_number(value: Any) -> TypeGuard[float]:
    """Whether this is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def positive(name: str, value: float) -> float:
    """Return value as a float; raise if it is not a positive number."""
    if not (is_number(value) and 0 < value <= sys.float_info.max):
        raise UserError(f"{name} must be a positive number, got {quoted(value)}")
    return float(value)


def positive_pair(name: str, pair) -> None:
    """Raise if a value is not a pair of positive numbers."""
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise UserError(f"{name} must be a pair of positive numbers, got {quoted(pair)}")
    for i in (0, 1):
        positive(f"{name}[{i}]", pair[i])


def whole(name: str, value, least: int = 1, most: int | None = None) -> int:
    """Return value as an int; raise if it is not a whole number from `least` to `most`."""
    if not (is_number(value) and least <= value < 2**63 and value == int(value)):
        raise UserError(f"{name} must be a whole number from {least}, got {quoted(value)}")
    if most is not None and value > most:
        raise UserError(f"{name} must be at most {most:,}, got {quoted(value)}")
    return int(value)


def check_count(name: str, value: float) -> None:
    """Raise UserError unless this number of a Dirichlet prior is within limits."""
    if not LEAST_COUNT <= positive(name, value) <= MOST_COUNT:
        raise UserError(f"{name} must be between {LEAST_COUNT:g} and {MOST_COUNT:g}, got {value:g}")


def check_counts(name: str, pair) -> None:
    """Raise UserError unless this is a pair of numbers of a Beta prior."""
    positive_pair(name, pair)
    for i in (0, 1):
        check_count(f"{name}[{i}]", pair[i])


@dataclass(frozen=True)
class ThetaRule:
    """Nodes, 1 - nodes and weights on (0, 1), symmetric about 1/2, each (G,)."""

    theta: np.ndarray
    complement: np.ndarray
    weight: np.ndarray


@lru_cache(maxsize=64)
def gauss_legendre(nodes: int) -> ThetaRule:
    """Return the Gauss-Legendre rule with that many nodes, exact to degree 2 nodes - 1."""
    x, weight = special.roots_legendre(nodes)
    x, weight = (x - x[::-1]) / 2, (weight + weight[::-1]) / 2
    # (1 + x) / 2 loses digits where x is near -1; 1 - theta is as exact as theta
    return ThetaRule((1 + x) / 2, (1 - x) / 2, weight / weight.sum())
