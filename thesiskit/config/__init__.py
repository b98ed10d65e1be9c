"""Experiment configs: one YAML file, validated and typed; every default is in this folder.

An error names the file, the line and the key, what is wrong and what to do.  Unknown keys are
refused, so a misspelt option stops the run instead of being ignored.
"""

import copy
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from thesiskit.config.blocks import Block, Count, Positive, Text
from thesiskit.config.cluster import ClusterBlock
from thesiskit.config.features import (
    FEATURES,
    EpistasisData,
    InteractionData,
    SpliceData,
    TableData,
    TicTacToeData,
    VotesData,
    check_response,
)
from thesiskit.config.logistic import (
    SEQUENCES,
    HiddenMarkovData,
    LogisticModel,
    PriorData,
    SequenceFileData,
    TextData,
    check_peers,
)
from thesiskit.config.ranks import rank_problem
from thesiskit.config.reduction import Reduction
from thesiskit.config.selection import (
    DRAWN,
    NAIVE_METHODS,
    OWN_METHODS,
    PEER_METHODS,
    BreastCancerData,
    ColonData,
    Evaluation,
    FileData,
    Lattice,
    MixtureData,
    MixtureModel,
    NaiveModel,
    SelectionBlock,
    SimulatedData,
)
from thesiskit.errors import ConfigError
from thesiskit.yamlfile import Places, explain, override, parse_value, read_yaml

__all__ = [
    "DRAWN",
    "FEATURES",
    "NAIVE_METHODS",
    "OWN_METHODS",
    "PEER_METHODS",
    "SEQUENCES",
    "BreastCancerData",
    "ColonData",
    "Config",
    "FileData",
    "LogisticModel",
    "MixtureData",
    "MixtureModel",
    "NaiveModel",
    "SimulatedData",
    "check_sizes",
    "load_config",
]
Data = (
    SimulatedData
    | MixtureData
    | ColonData
    | BreastCancerData
    | FileData
    | HiddenMarkovData
    | PriorData
    | TextData
    | SequenceFileData
    | InteractionData
    | TicTacToeData
    | SpliceData
    | VotesData
    | EpistasisData
    | TableData
)
Model = NaiveModel | MixtureModel | LogisticModel


class ReportBlock(Block):
    """Tables and figures of the report, in order, and the thesis's numbers beside them."""

    parts: Annotated[list[Text], Field(min_length=1)]
    thesis: Text | None = None  # a key of thesiskit/report/thesis/numbers.yaml
    order: Count | None = None  # whose coefficients are shown; the largest unless given
    traced: list[Text] = []  # coefficients, such as CC:V


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
    reduction: Reduction | None = None
    report: ReportBlock
    cluster: ClusterBlock = ClusterBlock()
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
        if self.reduction is not None:
            _check_reduction(self)
            return self
        problem = rank_problem(self.data, self.model, self.evaluation)
        if problem:
            raise ValueError(f"evaluation.ranks: {problem}")
        if isinstance(self.model, LogisticModel) or isinstance(self.data, (*SEQUENCES, *FEATURES)):
            _check_logistic(self)
            return self
        if (self.data is None) != (self.selection is None):
            raise ValueError("`data` and `selection` go together")
        if isinstance(self.model, MixtureModel):
            _check_mixture(self)
        elif isinstance(self.data, MixtureData) and "prior" in (self.data.response,):
            raise ValueError("data.response: prior needs model.kind: mixture")
        if self.data is None and self.lattice is None:
            raise ValueError("give `data` and `selection`, or `lattice`, or `reduction`")
        if isinstance(self.data, DRAWN):
            _check_simulated(self)
        elif self.evaluation.scheme == "test-set" and getattr(self.data, "test_path", None) is None:
            raise ValueError("evaluation.scheme: a test-set needs data.test_path")
        return self

    @property
    def scheme(self) -> str:
        """How cases are divided; the data decide where the config does not."""
        return self.evaluation.scheme or self.usual_scheme

    @property
    def usual_scheme(self) -> str:
        """A test set where the data come with one, else folds."""
        come_with_one = (*DRAWN, *SEQUENCES, InteractionData)
        if isinstance(self.data, come_with_one) or getattr(self.data, "test_path", None):
            return "test-set"
        return "k-fold"

    @property
    def drawn(self) -> bool:
        """Whether data are drawn, not read."""
        return isinstance(
            self.data, (*DRAWN, HiddenMarkovData, PriorData, InteractionData, EpistasisData)
        )

    @property
    def divisions(self) -> int:
        """How often cases are drawn or divided: replicates, and of a logistic model also folds."""
        folded = isinstance(self.model, LogisticModel) and self.scheme == "k-fold"
        return self.replicates * (self.evaluation.folds if folded else 1)


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


def _check_reduction(config: Config) -> None:
    others = {"data", "evaluation", "selection", "model", "lattice"} & config.model_fields_set
    if others:
        raise ValueError(f"{min(others)}: an experiment with `reduction` has none; leave it out")


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


def _check_logistic(config: Config) -> None:
    if not isinstance(config.model, LogisticModel):
        raise ValueError("data.source: sequences and discrete features need model.kind: logistic")
    sequences = isinstance(config.data, SEQUENCES)
    if not sequences and not isinstance(config.data, FEATURES):
        raise ValueError(
            "model.kind: logistic needs sequences or discrete features: data.source hidden-markov, "
            "text, sequences, logistic, interactions, tic-tac-toe, splice, votes, epistasis or "
            "table"
        )
    problem = check_response(config.data, config.model.continuous)
    if problem:
        raise ValueError(problem)
    if config.selection is not None:
        raise ValueError("selection: a logistic model selects no features; leave it out")
    if config.block != 1:
        raise ValueError("block: each division has a file of its own here; leave it out")
    if config.scheme != config.usual_scheme:
        what = "sequences" if sequences else "these data"
        tests = config.usual_scheme == "test-set"
        has = "come with a test set" if tests else "are divided by k-fold"
        raise ValueError(f"evaluation.scheme: {what} {has}; leave it out")
    if config.evaluation.groups != 1:
        raise ValueError("evaluation.groups: a logistic model takes all features; leave it out")
    if sequences and config.model.min_cases > 1:
        raise ValueError("model.min_cases: is for discrete features; leave it out")
    problem = check_peers(config.model, sequences=sequences)
    if problem:
        raise ValueError(f"model.peers: {problem}")


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
