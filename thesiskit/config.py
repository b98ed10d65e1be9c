"""Experiment configs: one YAML file, validated and typed; every default is in this file.

An error names the file, the line and the key, what is wrong and what to do.  Unknown keys are
refused, so a misspelt option stops the run instead of being ignored.
"""

import copy
import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    field_validator,
    model_validator,
)

from thesiskit.errors import ConfigError
from thesiskit.yamlfile import Places, explain, override, parse_value, read_yaml

Count = Annotated[int, Field(strict=True, ge=0)]
Positive = Annotated[int, Field(strict=True, ge=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
PositiveNumber = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Points = Annotated[int, Field(strict=True, ge=1, le=10_000)]
Probability = Annotated[float, Field(strict=True, ge=0, le=1)]
Pair = tuple[PositiveNumber, PositiveNumber]
Counts = tuple[Count, Count]
Text = Annotated[str, Field(strict=True, min_length=1)]

OWN_METHODS = ("corrected", "uncorrected")
NAIVE_METHODS = {"naive-corrected": "corrected", "naive-uncorrected": "uncorrected"}
PEER_METHODS = ("bernoulli-nb", "bernoulli-nb-calibrated", *NAIVE_METHODS)


def _distinct(values: list) -> list:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{value} is given twice")
    return values


class Block(BaseModel):
    """A mapping of a config; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SimulatedData(Block):
    """Data drawn from the naive Bayes model."""

    source: Literal["naive-bayes"]
    features: Positive
    alpha: Annotated[float, Field(strict=True, gt=0)] | Literal["prior"]
    train: Counts  # cases in class 0, in class 1
    test: Counts | Positive  # the same, or a number whose classes are drawn given the training ones

    @field_validator("train", "test")
    @classmethod
    def _some_cases(cls, value, info):
        if info.field_name == "train" and min(value) == 0:
            raise ValueError("both classes need at least one case")
        if isinstance(value, tuple) and sum(value) == 0:
            raise ValueError("at least one case is needed")
        return value

    @field_validator("alpha")
    @classmethod
    def _a_number(cls, value):
        if isinstance(value, float) and math.isnan(value):
            raise ValueError("must be a positive number, .inf or prior")
        return value


class MixtureData(Block):
    """Data drawn from the mixture model."""

    source: Literal["mixture"]
    features: Positive
    alpha: Annotated[float, Field(strict=True, gt=0)] | Literal["prior"]
    # P(y = 1) in each component, or drawn with alpha_0 from its prior
    response: tuple[Probability, Probability] | Literal["prior"]
    train: Counts | Positive  # cases in each component, or a number whose labels are drawn
    test: Counts | Positive

    @field_validator("train", "test")
    @classmethod
    def _some_cases(cls, value, info):
        least = 2 if info.field_name == "train" else 1
        if (sum(value) if isinstance(value, tuple) else value) < least:
            raise ValueError(f"at least {least} case{'s are' if least > 1 else ' is'} needed")
        return value

    @field_validator("alpha")
    @classmethod
    def _a_number(cls, value):
        return SimulatedData._a_number(value)


class ColonData(Block):
    """Colon-cancer gene expression, Alon et al. (1999)."""

    source: Literal["colon"]
    intensities: Literal["log-standardised", "raw"] = "log-standardised"
    binarise: Literal["all-medians", "training-medians"] = "all-medians"


class BreastCancerData(Block):
    """The breast-cancer table that scikit-learn ships."""

    source: Literal["breast-cancer"]
    binarise: Literal["all-medians", "training-medians"] = "training-medians"


class FileData(Block):
    """The user's own table."""

    source: Literal["file"]
    path: Text  # from the config's folder
    response: Text | None = None  # a column, an NPZ key, or an NPY file
    positive: StrictBool | StrictStr | StrictInt | StrictFloat | None = None  # class 1
    ignore: list[Text] = []
    test_path: Text | None = None
    binarise: Literal["all-medians", "training-medians"] = "training-medians"


DRAWN = (SimulatedData, MixtureData)
Data = SimulatedData | MixtureData | ColonData | BreastCancerData | FileData


class Evaluation(Block):
    """How cases and features are divided."""

    scheme: Literal["test-set", "leave-one-out", "k-fold", "holdout"] | None = None
    folds: Annotated[int, Field(strict=True, ge=2)] = 10
    test_fraction: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.3
    groups: Positive = 1  # random groups of features, each analysed by itself


class SelectionBlock(Block):
    """How many features to keep."""

    features: list[Positive | Literal["all"]] | None = None
    thresholds: list[Annotated[float, Field(strict=True, ge=0, lt=1)]] | None = None

    @field_validator("features", "thresholds")
    @classmethod
    def _each_once(cls, value):
        return value if value is None else _distinct(value)

    @model_validator(mode="after")
    def _one_of_two(self):
        if bool(self.features) == bool(self.thresholds):
            raise ValueError("give either `features: [10, 100]` or `thresholds: [0.2]`")
        return self


class ModelBlock(Block):
    """What both models have: priors, and methods to compare."""

    class_prior: Pair = (1.0, 1.0)  # f_0, f_1
    alpha_prior: Pair = (0.5, 5.0)  # shape, rate

    @field_validator("methods", "quadrature", "samplers", check_fields=False)
    @classmethod
    def _each_once(cls, value):
        return _distinct(value) if isinstance(value, list) else value

    @field_validator("methods", check_fields=False)
    @classmethod
    def _one_of_ours(cls, value):
        if not set(value) & set(OWN_METHODS):
            raise ValueError("add corrected or uncorrected; peers stand beside them")
        return value


class NaiveModel(ModelBlock):
    """Priors and rules of the naive Bayes model, and what to compare it with."""

    kind: Literal["naive-bayes"] = "naive-bayes"
    methods: Annotated[
        list[Literal["corrected", "uncorrected", "bernoulli-nb", "bernoulli-nb-calibrated"]],
        Field(min_length=1),
    ] = ["corrected", "uncorrected"]
    alpha_points: Positive = 30
    alpha_quadrature: Literal["midpoint", "adaptive"] = "midpoint"
    quadrature: Annotated[list[Literal["exact", "simpson-21"]], Field(min_length=1)] = ["exact"]

    @field_validator("quadrature", mode="before")
    @classmethod
    def _list(cls, value):
        return [value] if isinstance(value, str) else value

    @property
    def variants(self) -> list[str]:
        """What every method is done by: rules for theta."""
        return list(self.quadrature)


class CollapsedBlock(Block):
    """How the collapsed sampler runs."""

    chains: Positive = 4
    iterations: Positive = 400
    burn_in: Count = 100
    replicas: Positive | None = None  # 4, or 1 beyond 250 training cases
    alpha_points: Points = 200


class ThesisBlock(Block):
    """How the thesis's sampler runs."""

    chains: Positive = 1
    iterations: Positive = 50
    burn_in: Count = 10
    alpha_points: Points = 10
    quadrature: Literal["exact", "simpson-11"] = "simpson-11"


class MixtureModel(ModelBlock):
    """Priors of the mixture model, its samplers, and what to compare it with."""

    kind: Literal["mixture"]
    methods: Annotated[
        list[
            Literal[
                "corrected",
                "uncorrected",
                "naive-corrected",
                "naive-uncorrected",
                "bernoulli-nb",
                "bernoulli-nb-calibrated",
            ]
        ],
        Field(min_length=1),
    ] = ["corrected", "uncorrected"]
    response_alpha_prior: Pair = (0.5, 5.0)
    samplers: Annotated[
        list[Literal["collapsed", "thesis", "as-printed", "enumeration"]], Field(min_length=1)
    ] = ["collapsed"]
    collapsed: CollapsedBlock = CollapsedBlock()
    thesis: ThesisBlock = ThesisBlock()

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


Model = NaiveModel | MixtureModel


class Lattice(Block):
    """The display of Cor(I0, I1)."""

    class_counts: Counts
    gamma: Annotated[float, Field(strict=True, ge=0, lt=1)]


class ReportBlock(Block):
    """Tables and figures of the report, in order, and the thesis's numbers beside them."""

    parts: Annotated[list[Text], Field(min_length=1)]
    thesis: Text | None = None  # a key of thesiskit/report/thesis/numbers.yaml


class Config(Block):
    """One experiment."""

    experiment: Annotated[str, Field(strict=True, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    title: Text
    about: Text
    seed: Count = 1
    replicates: Positive = 1
    block: Positive = 1  # replicates in one result file
    data: Annotated[Data, Field(discriminator="source")] | None = None
    evaluation: Evaluation = Evaluation()
    selection: SelectionBlock | None = None
    model: Annotated[Model, Field(discriminator="kind")] = NaiveModel()
    lattice: Lattice | None = None
    report: ReportBlock
    smoke: dict[str, Any] = {}
    _places: Places = PrivateAttr(default_factory=lambda: Places(Path("config"), {}, {}))

    def wrong(self, key: str, text: str) -> ConfigError:
        """Return the error that says what is wrong with a key, and where it was given."""
        return ConfigError(f"{self._places.of(key)}: {key}: {text}")

    @field_validator("model", mode="before")
    @classmethod
    def _naive_by_default(cls, value):
        return {"kind": "naive-bayes"} | value if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _together(self):
        if (self.data is None) != (self.selection is None):
            raise ValueError("`data` and `selection` go together")
        if isinstance(self.model, MixtureModel):
            _check_mixture(self)
        elif isinstance(self.data, MixtureData) and "prior" in (self.data.response,):
            raise ValueError("data.response: prior needs model.kind: mixture")
        if self.data is None and self.lattice is None:
            raise ValueError("give `data` and `selection`, or `lattice`")
        if isinstance(self.data, DRAWN):
            _check_simulated(self)
        elif self.evaluation.scheme == "test-set" and getattr(self.data, "test_path", None) is None:
            raise ValueError("evaluation.scheme: a test-set needs data.test_path")
        return self

    @property
    def scheme(self) -> str:
        """How cases are divided; the data decide where the config does not."""
        if self.evaluation.scheme is not None:
            return self.evaluation.scheme
        if isinstance(self.data, DRAWN) or getattr(self.data, "test_path", None):
            return "test-set"
        return "k-fold"


def check_sizes(config: Config, p: int, error: type[Exception] | None = None) -> None:
    """Raise an error if more features, or more groups, are asked for than there are."""
    groups = config.evaluation.groups
    problem = None
    if groups > p:
        problem = ("evaluation.groups", f"cannot make {groups} groups of {p} features")
    for k in (config.selection and config.selection.features) or []:
        if problem is None and k != "all" and k > p // groups:
            each = " in a group" if groups > 1 else ""
            problem = ("selection.features", f"cannot keep {k} of {p // groups} features{each}")
    if problem is not None:
        raise error(": ".join(problem)) if error else config.wrong(*problem)


def _check_mixture(config: Config) -> None:
    assert isinstance(config.model, MixtureModel)
    train = getattr(config.data, "train", None)
    cases = sum(train) if isinstance(train, tuple) else train or 0
    if cases > 600:
        raise ValueError(
            f"data.train: the mixture model takes at most 600 training cases, got {cases}; "
            "use fewer, or model.kind: naive-bayes"
        )
    if "enumeration" in config.model.samplers and (
        config.selection is None or config.selection.features != [1]
    ):
        raise ValueError("model.samplers: enumeration needs `selection.features: [1]`")


def _check_simulated(config: Config) -> None:
    data, selection = config.data, config.selection
    assert isinstance(data, DRAWN)
    assert selection is not None
    if config.evaluation.scheme not in (None, "test-set"):
        raise ValueError("simulated data come with a test set; leave out evaluation.scheme")
    check_sizes(config, data.features, ValueError)


def load_config(
    path: Path, *, settings: tuple[str, ...] = (), seed: int | None = None, smoke: bool = False
) -> Config:
    """Read, override and validate a config.

    Parameters
    ----------
    path : the YAML file.
    settings : "dotted.key=value" overrides; values are YAML.
    seed : replaces the config's.
    smoke : apply the config's own `smoke:` overrides first, for a quick run.

    Raises
    ------
    ConfigError: one line per problem, "file:line: key: what is wrong; what to do".
    """
    path = Path(path)
    tree, lines = read_yaml(path)
    small = _smoke_form(tree, path, lines)
    checked = _validate(*small)  # a misspelt key of the small form is found before it is needed
    if smoke:
        tree, places = small
    else:
        places = Places(path, lines, {})
    for text in settings:
        key, equals, value = (part.strip() for part in text.partition("="))
        places.given[key] = f"--set {text}"
        if not equals:
            raise ConfigError(f"--set {text}: write it as key=value, for example --set seed=3")
        _apply(tree, key, value, places, parse=True)
    if seed is not None:
        tree["seed"] = seed
        places.given["seed"] = f"--seed {seed}"
    return checked if smoke and not settings and seed is None else _validate(tree, places)


def _smoke_form(tree: dict, path: Path, lines: dict[tuple, int]) -> tuple[dict, Places]:
    """Return the config with its own `smoke:` overrides, and the places of its keys."""
    tree, places = copy.deepcopy(tree), Places(path, lines, {})
    overrides = tree.get("smoke")
    for key, value in overrides.items() if isinstance(overrides, dict) else ():
        places.given[str(key)] = places.of(f"smoke.{key}", ("smoke", key))
        _apply(tree, str(key), value, places)
    tree["experiment"] = f"{tree.get('experiment', path.stem)}-smoke"
    return tree, places


def _apply(tree: dict, key: str, value: Any, places: Places, *, parse: bool = False) -> None:
    try:
        override(tree, key, parse_value(value) if parse else value)
    except ConfigError as error:
        raise ConfigError(f"{places.given[key]}: {error}") from None


def _validate(tree: dict, places: Places) -> Config:
    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        raise ConfigError("\n".join(explain(error, Config, places))) from None
    config._places = places
    return config
