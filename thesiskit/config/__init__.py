"""Experiment configs: one YAML file, validated and typed; every default is in this folder.

An error names the file, the line and the key, what is wrong and what to do.  Unknown keys are
refused, so a misspelt option stops the run instead of being ignored.
"""

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    ValidationError,
    field_validator,
    model_validator,
)

from thesiskit.blocks import Block, Count, Positive, PositiveNumber, Text
from thesiskit.config.cluster import ClusterBlock
from thesiskit.config.kinds import KINDS, ModelOf, by_tag
from thesiskit.config.logistic import LogisticModel
from thesiskit.config.problems import explain
from thesiskit.config.reduction import Reduction
from thesiskit.config.selection import (
    WHOLE,
    Evaluation,
    Lattice,
    ScreenedBlock,
    SelectionBlock,
)
from thesiskit.config.together import (
    check_logistic,
    check_mixture,
    check_normal,
    check_reduction,
    check_screened,
    check_sizes,
    check_table,
    check_temperature,
    rank_problem,
    two_classes,
)
from thesiskit.config.yamlfile import Places, override, parse_value, read_yaml
from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import Source, WrongKeyError
from thesiskit.errors import MOST_CHARACTERS, MOST_LINES, ConfigError, cut, quoted
from thesiskit.models.base import OWN
from thesiskit.models.peers import PEERS

__all__ = [
    "WHOLE",
    "Config",
    "LogisticModel",
    "check_sizes",
    "load_config",
    "two_classes",
]
MOST_NAME = 100  # characters
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # of Windows, whatever the ending


def _own_folder(name: str) -> str:
    """Return the name of an experiment, or say what else has that name in a folder of results."""
    if len(name) > MOST_NAME:
        raise ValueError(f"use at most {MOST_NAME} characters, not {len(name):,}")
    if name in ("verify", "compare") or name.endswith((".html", ".")) or DEVICES.fullmatch(name):
        raise ValueError(f"{quoted(name)} is the name of something else; choose another")
    return name


Name = Annotated[
    str, Field(strict=True, pattern=r"^[a-z0-9][a-z0-9._-]*$"), AfterValidator(_own_folder)
]


Data = Annotated[SerializeAsAny[Source], by_tag("source", SOURCES)]
Model = Annotated[Any, ModelOf, by_tag("kind", KINDS)]


class ReportBlock(Block):
    """Tables and figures of the report, in order, and the thesis's numbers beside them."""

    parts: Annotated[list[Text], Field(min_length=1)]
    """The tables and figures of the page, in order; `thesiskit docs parts` lists them."""
    thesis: Text | None = None
    """The experiment of the thesis whose numbers are shown beside ours."""
    order: Count | None = None
    """Which of `model.orders` the tables and figures of coefficients show; the largest unless
    given."""
    traced: list[Text] = []
    """Coefficients whose traces are shown, such as `CC:V` or `size=small, form=round:yes` (pattern,
    then class); for real responses the pattern alone."""


class Config(Block):
    """One experiment."""

    experiment: Name
    """Name of the folder with the results: at most 100 lower-case letters, digits, `-`, `_`, `.`;
    not what has a meaning there, such as `verify` or `index.html`."""
    title: Text
    """The title of the page."""
    about: Text
    """The introduction of the page."""
    minutes: PositiveNumber | None = None
    """About how many minutes the experiment takes on two cores, for `thesiskit list`."""
    seed: Count = 1
    """The seed of all random choices; each choice has its own stream."""
    replicates: Positive = 1
    """Number of data sets (of each setting, if `data` has several), or of random divisions of a
    table; for a logistic model, how often the folds are drawn."""
    block: Positive = 1
    """Number of replicates that share a result file."""
    data: Data | None = None
    """The cases. Its key `source` says where they come from."""
    evaluation: Evaluation = Evaluation()
    """How cases and features are divided."""
    selection: SelectionBlock | None = None
    """How many features to keep."""
    model: Model = Field(default_factory=lambda: KINDS["naive-bayes"]())
    """The model. Its key `kind` says which."""
    lattice: Lattice | None = None
    """In place of `data` and `selection`: the display of Cor(I0, I1)."""
    reduction: Reduction | None = None
    """In place of `data` and `model`: numbers of parameters of uniform features."""
    report: ReportBlock
    """What the page shows."""
    cluster: ClusterBlock = ClusterBlock()
    """What a job on a cluster asks for. Nothing in this block changes a result."""
    smoke: dict[str, Any] = {}
    """Values of dotted keys for the small form of the experiment, which `--smoke` runs."""
    _places: Places = PrivateAttr(default_factory=lambda: Places(Path("config"), {}, {}))
    _all_train: bool = PrivateAttr(default=False)

    def wrong(self, key: str, text: str) -> ConfigError:
        """Return the error that says what is wrong with a key, and where it was given."""
        return ConfigError(f"{self._places.of(key)}: {key}: {text}")

    @contextmanager
    def wrong_data(self) -> Iterator[None]:
        """Say where a key of `data` was given that reading or drawing shows to be wrong."""
        try:
            yield
        except WrongKeyError as error:
            raise self.wrong(f"data.{error.key}", str(error)) from None

    @field_validator("model", mode="before")
    @classmethod
    def _naive_by_default(cls, value):
        return {"kind": "naive-bayes"} | value if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _together(self):
        if self.reduction is not None:
            check_reduction(self)
            return self
        problem = rank_problem(self.data, self.model, self.evaluation)
        if problem:
            raise ValueError(f"evaluation.ranks: {problem}")
        data = self.data
        if isinstance(self.model, LogisticModel) or (data and data.family != "table"):
            check_logistic(self)
            return self
        if (data is None) != (self.selection is None):
            raise ValueError("`data` and `selection` go together")
        if self.model.kind == "mixture":
            check_mixture(self)
        check_normal(self)
        problem = data.misfit(self.model.kind, continuous=False) if data else None
        if problem:
            raise ValueError(problem)
        if data is None and self.lattice is None:
            raise ValueError("give `data` and `selection`, or `lattice`, or `reduction`")
        check_table(self)
        check_screened(self)
        check_temperature(self)
        return self

    def training_with_all(self) -> "Config":
        """Return this config as it is fitted for new cases: all cases train.

        Of a table that was screened before these are the cases that took part in the screening.
        Of methods of others those are left that can be exported.  How cases are divided and the
        report do not matter then, and have their defaults.
        """
        model: Any = self.model
        if isinstance(model, LogisticModel):
            model = model.model_copy(update={"peers": []})
        else:
            fitted = {*OWN, *(peer.name for peer in PEERS.values() if peer.exported)}
            own = [method for method in model.methods if method in fitted]
            model = model.model_copy(update={"methods": own})
        changes: dict[str, Any] = {"model": model, "evaluation": Evaluation()}
        screened = self.screened
        files = self.data if hasattr(self.data, "test_path") else None
        if files and screened and not screened.keep:
            # cases that the screening did not see would need another correction
            changes["data"] = files.model_copy(update={"test_path": None})
        found = self.model_copy(update={"replicates": 1, "block": 1, **changes})
        found._all_train = True
        return found

    @property
    def screened(self) -> ScreenedBlock | None:
        """How the table was screened before, None if it was not."""
        return self.selection.screened if self.selection else None

    @property
    def takes_reals(self) -> bool:
        """Whether the model takes features as real numbers."""
        return getattr(self.model, "takes", "") == "reals"

    @property
    def for_new_cases(self) -> bool:
        """Whether it is fitted to predict new cases: see `training_with_all`."""
        return self._all_train

    @property
    def all_train(self) -> bool:
        """Whether no case is tested: see `training_with_all`, and `usual_scheme`."""
        return self.scheme == "none"

    @property
    def scheme(self) -> str:
        """How cases are divided; the data decide where the config does not."""
        if self._all_train:
            return "none"
        return self.evaluation.scheme or self.usual_scheme

    @property
    def usual_scheme(self) -> str:
        """A test set where the data come with one, else folds.

        In folds of a table that was screened with all its cases there is nothing to learn: none.
        """
        if self.data and self.data.has_test_set:
            return "test-set"
        screened = self.screened
        return "none" if screened is not None and screened.keep is None else "k-fold"

    @property
    def drawn(self) -> bool:
        """Whether data are drawn, not read."""
        return self.data is not None and self.data.drawn

    @property
    def divisions(self) -> int:
        """How often cases are drawn or divided: replicates of each setting of the data.

        Of a logistic model each fold counts.
        """
        folded = isinstance(self.model, LogisticModel) and self.scheme == "k-fold"
        return self.replicates * self.n_settings * (self.evaluation.folds if folded else 1)

    @property
    def n_settings(self) -> int:
        """How many settings data sets are drawn with; those of one come one after the other."""
        return 1 if self.data is None else self.data.n_settings


def load_config(
    path: Path,
    *,
    settings: tuple[str, ...] = (),
    seed: int | None = None,
    name: str | None = None,
    smoke: bool = False,
) -> Config:
    """Read, override and validate a config.

    Parameters
    ----------
    path : the YAML file.
    settings : "dotted.key=value" overrides; values are YAML.
    seed, name : replace `seed` and `experiment` of the config.
    smoke : apply the config's own `smoke:` overrides first, for a quick run.

    Raises
    ------
    ConfigError: one line per problem, "file:line: key: what is wrong; what to do".
    """
    path = Path(path)
    tree, lines = read_yaml(path)
    places = Places(path, lines, {})
    if smoke:
        _make_small(tree, places)
    for text in settings:
        key, equals, value = (part.strip() for part in text.partition("="))
        places.given[key] = f"--set {cut(text)}"
        if not (key and equals):
            raise ConfigError(f"--set {cut(text)}: write it as key=value, such as --set seed=3")
        _apply(tree, key, value, places, parse=True)
    if seed is not None:
        tree["seed"] = seed
        places.given["seed"] = f"--seed {cut(seed)}"
    if name is not None:
        tree["experiment"] = name
        places.given["experiment"] = f"--name {cut(name)}"
    config = _validate(tree, places)
    # its results are beside those of the whole experiment
    return config.model_copy(update={"experiment": f"{config.experiment}-smoke"} if smoke else {})


def _make_small(tree: dict, places: Places) -> None:
    """Apply the `smoke:` overrides of a config to it."""
    overrides = tree.get("smoke")
    for key, value in overrides.items() if isinstance(overrides, dict) else ():
        places.given[str(key)] = places.of(f"smoke.{key}", ("smoke", key))
        _apply(tree, str(key), copy.deepcopy(value), places)


def _apply(tree: dict, key: str, value: Any, places: Places, *, parse: bool = False) -> None:
    try:
        override(tree, key, parse_value(value) if parse else value)
    except ConfigError as error:
        raise ConfigError(f"{places.given[key]}: {error}") from None


def _validate(tree: dict, places: Places) -> Config:
    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(_first(explain(error, Config, places))) from None
    config._places = places
    return config


def _first(problems: list[str]) -> str:
    """Return a message of the first problems, as many as a user reads, and how many more there are.

    A line for each; lines that would be cut are left out.
    """
    for most in range(min(len(problems), MOST_LINES), 0, -1):
        left = len(problems) - most
        lines = problems[:most] + ([f"and {left} more problem" + "s" * (left > 1)] if left else [])
        if len(lines) <= MOST_LINES and sum(map(len, lines)) <= MOST_CHARACTERS:
            break
    return "\n".join(lines)
