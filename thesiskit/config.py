"""Experiment configs: one YAML file, validated and typed; every default is here or in a model.

An error names the file, the line and the key, what is wrong and what to do.  Unknown keys are
refused, so a misspelt option stops the run instead of being ignored.  The one description of a key
is the text below it in its class, here, in datasets/ or in models/.
"""

import copy
import difflib
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    StrictBool,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from thesiskit.blocks import (
    AtLeastTwo,
    Block,
    ByTag,
    Count,
    Counts,
    Each,
    Once,
    Positive,
    PositiveNumber,
    Text,
    block_of_class,
    distinct,
)
from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import SampleData, Source, WrongKeyError
from thesiskit.defaults import LEAVE_OUT, MOST_VALUES, NO_TRANSFORM
from thesiskit.errors import (
    MOST_CHARACTERS,
    MOST_LINES,
    ConfigError,
    DataError,
    list_some,
    pluralise,
    quoted,
    shorten,
)
from thesiskit.models import MODELS, peers
from thesiskit.models import base as models
from thesiskit.models.peers import NUMBERS, PEERS
from thesiskit.registry import all_candidates, candidates_of
from thesiskit.yamlfile import Places, kind_of, read_yaml

MOST_NAME = 100  # characters
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # of Windows, whatever the ending
MOST_CORES = 1024  # of a job
TIME = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9}):([0-5][0-9]):([0-5][0-9])")
SBATCH_KEYS = {  # sbatch options with a key of their own
    "partition": "partition",
    "time": "time",
    "mem": "memory",
    "cpus-per-task": "cpus",
    "array": "array",
}
# what else a job may ask for: resources, and who pays.  Whole names alone: sbatch takes beginnings
# of names too, and others decide which files a job writes, and how it stops and goes on.
SBATCH_OPTIONS = """
    account begin burst-buffer comment constraint contiguous core-spec cores-per-socket deadline
    distribution exclude exclusive gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket
    gpus-per-task gres gres-flags hint hold licenses mail-type mail-user mem-bind mem-per-cpu
    mem-per-gpu network nice nodelist nodes ntasks-per-core ntasks-per-node overcommit
    oversubscribe power prefer priority qos reservation sockets-per-node spread-job switches
    thread-spec threads-per-core tmp use-min-nodes wckey
"""


# keys, and values of keys, of earlier versions, and what to do in their place
REMOVED_PARTS = (
    "board-losses board-predicted board-scores board-table ecdf-figure group-scores log-ratio "
    "pattern-explorer quadrature-table rank-figure rank-table relevance sampler-figure "
    "screened-figure screened-table signals-figure signals-maps signals-table"
)
MERGED_PARTS = {  # a table and its figure are one part
    "coefficients": ("coefficient-table", "coefficient-traces"),
    "diagnostics": ("diagnostics-table", "trace-figure"),
    "divisions": ("division-table", "division-figure"),
    "group-scatters": ("probability-scatter", "error-scatter", "performance-scatter"),
    "methods": (
        "classifier-table",
        "differences-table",
        "model-table",
        "peer-table",
        "score-table",
    ),
    "methods and summary": ("response-figure", "response-table", "responses"),
    "orders": ("order-table", "order-figure"),
    "parameters": ("parameter-table", "parameter-figure"),
    "performance": ("error-rates",),
    "reduction": ("reduction-table", "reduction-figure"),
    "reliability": ("reliability-table", "reliability-figure"),
}
RENAMED = {  # read for one version, with a note
    "data.case_groups": "sample_groups",
    "data.cases": "samples",
    "evaluation.groups": "feature_groups",
    "model.min_cases": "min_samples",
    "reduction.cases": "samples",
}
REMOVED_KEYS = (
    "cluster.cells cluster.requeues data.classes data.correlation data.frequency data.heritability "
    "data.penetrance data.prevalence data.prior evaluation.ranks evaluation.test_fraction "
    "model.alpha_quadrature model.collapsed.replicas "
    "model.effect_shapes model.most_steps model.noise model.noise_mode "
    "model.noise_shape model.original model.original_orders model.sigma_0 model.sigma_step "
    "model.sigma_updates model.split_draws model.standardise model.step model.thesis.alpha_points "
    "model.until.least model.until.of"
)
REMOVED = {
    **dict.fromkeys(REMOVED_KEYS.split(), "remove it"),
    "data.orientation: cases-in-rows": "use samples-in-rows",
    "cluster.account": "add --account=NAME to cluster.options",
    "cluster.qos": "add --qos=NAME to cluster.options",
    "data.pad": "fill short histories in the file with a separate symbol",
    "data.sets": "name one table, such as data.table: alon",
    "data.settings": "move the keys of one setting to data",
    "data.source: normal": "write the samples to a file, and use source: file",
    "data.source: signals": "use interactions, for discrete features",
    "model.temperature": "remove it; naive-bayes and normal have temperature: residual",
    "model.temperature: cv": "use residual",
    "selection.screened.keep": "use `of`, or filter the table in Python",
    **{f"report.parts: {name}": "remove it" for name in REMOVED_PARTS.split()},
    **{
        f"report.parts: {old}": f"use {new}" for new, names in MERGED_PARTS.items() for old in names
    },
    "model.methods: nearest-centroids": "use lasso or pool",
    "model.peers: pairwise-logistic-regression": "use logistic-regression",
    "model.peers: pairwise-ridge": "use ridge",
    **{f"model.peers: {name}": "use n-gram" for name in ("vlmc", "ppm", "context-tree")},
}
REQUIRED = "is required. Fix: add it"
# a quick run: folds, methods (the first ones of a config, these before others), and iterations
QUICK_FOLDS, QUICK_ITERATIONS = 5, 1000
QUICK_METHODS = ("corrected", "pool", "l2-logistic", "ridge")
QUICK_NUMBER = 3  # of methods


# ---- the blocks ----


Correlation = Annotated[float, Field(strict=True, ge=0, lt=1)]


class Evaluation(Block):
    """How samples and features are divided."""

    scheme: Literal["test-set", "leave-one-out", "k-fold", "holdout"] | None = None
    """How samples are divided: `k-fold`, `leave-one-out`, `test-set`, or `holdout` (30% of the
    samples, at random). Default: `test-set` if there are test samples, else `k-fold`."""
    folds: AtLeastTwo = 10
    """Number of folds of `k-fold`. Folds are stratified by class. The largest number is the size of
    the largest class, or for discrete features the number of distinct samples."""
    leave_out: Text | None = None
    """In place of `scheme`: a column such as a site, batch or study. Each of its values is a fold,
    tested by models of all others. It is not a feature. With `choose`, methods are selected by
    folds of whole sites, too (four are needed); temperatures and penalties use other folds."""
    feature_groups: Positive = 1
    """Number of random groups of features; each group is analysed separately. Groups of samples are
    `data.sample_groups`."""
    choose: StrictBool = False
    """Nested cross-validation: select the method in the training samples of each fold, by its log
    loss (of a real response, its negative log density) plus a quarter of the standard error. If no
    method is clearly better than the class frequencies, these are used. The report then begins with
    the log loss of the selected methods, which is not biased by the choice. Ten more fits are
    needed for all folds together; models of patterns need three more in each fold."""

    @model_serializer(mode="wrap")
    def _as_results_have_it(self, handler: Any) -> dict[str, Any]:
        """Results keep the old name, by which they are found and compared."""
        dumped = handler(self)
        return {"groups" if key == "feature_groups" else key: dumped[key] for key in dumped}

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield a choice without outcomes to compare, and schemes without their test samples."""
        data = config.data
        if self.choose and (data is None or data.drawn):
            yield "evaluation.choose: is for your own tables. Fix: set it to false"
        if self.leave_out is not None:
            reads = data is not None and data.source in ("file", "table") and config.selects
            fault = "" if reads else "is for data.source: file or table, but no logistic model"
            if self.scheme is not None or (reads and data.has_test_set):
                fault = "replaces evaluation.scheme and data.test_path"
            yield fault and f"evaluation.leave_out: {fault}. Fix: remove one of them"
        if not config.selects:
            return
        if data is not None and data.drawn:
            if self.scheme not in (None, "test-set"):
                yield "simulated data come with a test set. Fix: remove evaluation.scheme"
        elif self.scheme == "test-set" and not (data and data.has_test_set):
            yield "evaluation.scheme: a test-set needs test samples. Fix: set data.test_path"


class ScreenedBlock(Block):
    """How the table was screened before anything else saw it."""

    of: Each[Positive]
    """Number of features before the filtering, of which the table has the best. A list, such as
    `[5000, 10000]`, gives a method for each number and shows how much the predictions depend on
    it."""
    threshold: Correlation | None = None
    """The absolute correlation above which features were selected. Default: the smallest one in the
    table, which is slightly less accurate. With more than two classes, the correlation ratio."""
    f: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] | None = None
    """With `model.kind: normal`, in place of `threshold`: the F statistic (analysis of variance)
    above which features were selected."""

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield what cannot be done with a table that was screened before."""
        evaluation = config.evaluation
        if self.f is not None and self.threshold is not None:
            yield "selection.screened: `f` and `threshold` are both given. Fix: remove one"
        if self.f is not None and not config.takes_reals:
            yield "selection.screened.f: is for model.kind: normal. Fix: give `threshold`"
        if evaluation.feature_groups != 1:
            yield (
                "evaluation.feature_groups: the groups of filtered features are unknown"
                ". Fix: remove it"
            )
        if not config.drawn:
            divides = {"scheme", "folds", "leave_out"} & evaluation.model_fields_set
            if divides and evaluation.scheme != "test-set":
                key = "scheme" if "scheme" in divides else min(divides)
                yield (
                    f"evaluation.{key}: all samples were used in the filtering, so tests are "
                    "biased. Fix: set data.test_path to other samples, or remove `evaluation` for "
                    "a report without tests"
                )
            if config.scheme == "none" and config.replicates > 1:
                yield "replicates: there is no random division to repeat. Fix: remove it"


class SelectionBlock(Block):
    """How many features to select.

    Candidates other than the columns of a table have a block derived from this one (registry.py).
    forms : in how many ways they are selected, in words, "" where there is one.
    more_classes : the model for more than two classes.
    """

    forms: ClassVar[Sequence[str]] = ("",)
    more_classes: ClassVar = "normal"

    features: Once[Positive | Literal["all"]] | None = None
    """Numbers of features to select, or `all`."""
    thresholds: Once[Correlation] | None = None
    """In place of `features`: select the features with an absolute correlation above the threshold.
    With more than two classes the correlation ratio is used, the root of the share of variance
    between classes."""
    ties: Literal["exact", "as-printed"] = "exact"
    """How the correction treats features tied with the weakest selected feature. `exact` counts the
    dropped ones as tied; `as-printed`, the formula of the thesis, does not. With thresholds both
    are equal, and continuous features are rarely tied, so `model.kind: normal` has no such
    choice."""
    screened: ScreenedBlock | None = None
    """For a table that has only the best features of a larger one, chosen by their correlations
    with the response in the same samples. The correction then accounts for the removed features."""

    @model_validator(mode="after")
    def _one_of_two(self):
        if bool(self.features) == bool(self.thresholds):
            raise ValueError(
                "features or thresholds are missing. Fix: set features: [10, 100] or "
                "thresholds: [0.2]"
            )
        return self

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield keys that are for other candidates, or for other models."""
        if not config.selects:
            yield "selection: is for discrete features and classes. Fix: remove it"
            return
        third_party, response = peers.names(peers.BITS, peers.REALS), "real responses"
        allowed = {*models.OWN, *models.OTHERS, *third_party}
        if config.continuous:
            third_party, response = peers.names(NUMBERS), "classes"
            allowed = {*models.OWN, *third_party}
        for method in config.model.methods:
            if method not in allowed:
                fix = f"Fix: choose from {', '.join(third_party)}"
                yield f"model.methods: {method} is for {response}. {fix}"
        if config.takes_reals and "ties" in self.model_fields_set:
            yield "selection.ties: real features rarely tie. Fix: remove it"
        if self.screened is not None:
            yield from self.screened.incompatibilities(config)

    def too_large(self, p: int, groups: int) -> str:
        """Say which number of features is larger than that of a group; nothing if none is."""
        for k in self.features or []:
            if k != "all" and k > p // groups:
                place = " in a group" if groups > 1 else ""
                return f"selection.features: cannot select {k} of {p // groups} features{place}"
        return ""


class ByData:
    """The block `selection`, of the class that the family of the data has."""

    def blocks(self) -> dict[str, type[SelectionBlock]]:
        """Return the classes by what is selected, "" of columns of tables."""
        return {"": SelectionBlock} | {kind.unit: kind.load("block") for kind in all_candidates()}

    def validated(self, value: Any, info: ValidationInfo) -> Any:
        """Return the block of other candidates, or else the value."""
        kinds = all_candidates()
        if "data" in info.data:  # the data are valid
            data = info.data["data"]
            kinds = [kind for kind in kinds if data and candidates_of(data.family) == kind]
        if not kinds or not isinstance(value, dict):
            return value
        unit, block = kinds[0].unit, kinds[0].load("block")
        whole = core_schema.no_info_plain_validator_function(block.model_validate)
        schema = core_schema.tagged_union_schema({unit: whole}, discriminator=lambda _: unit)
        return SchemaValidator(schema).validate_python(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.with_info_before_validator_function(self.validated, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        whole: Any = Union[(*self.blocks().values(), None)]
        return handler(TypeAdapter(whole).core_schema)


def join_sources(fits: Callable[[type[Source]], bool]) -> str:
    """Return the names of the sources that fit, in words."""
    *names_before, last = (name for name, source in SOURCES.items() if fits(source))
    return f"{', '.join(names_before)} or {last}"


class Lattice(Block):
    """The display of Cor(I0, I1)."""

    class_counts: Counts
    """Numbers of samples in class 0 and class 1."""
    gamma: Correlation
    """The bound that is drawn."""


Values = Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)]
Varied = Field(min_length=2)


class Sweep(Block):
    """Settings of which one, the list, is varied."""

    features: Positive | Annotated[list[Positive], Varied]
    """Number of uniform features. One of `features`, `values` and `order` is a list."""
    values: Values | Annotated[list[Values], Varied]
    """Number of values of each feature."""
    order: Positive | Annotated[list[Positive], Varied]
    """The largest order."""

    @field_validator("*")
    @classmethod
    def _each_once(cls, value):
        return distinct(value) if type(value) is list else value

    @model_validator(mode="after")
    def _one_varied(self):
        lists = [name for name, value in self if type(value) is list]
        if len(lists) != 1:
            raise ValueError(
                "one of features, values and order must be a list, the others numbers; "
                f"{' and '.join(lists) or 'none'} {'are lists' if lists else 'is'}"
            )
        for p, _, order in self.settings:
            if order > p:
                raise ValueError(
                    f"order {order} is above the number of features, {p}. Fix: lower it"
                )
        return self

    @property
    def settings(self) -> list[tuple[int, int, int]]:
        """Features, values and order of each setting, what is varied ascending."""
        return sorted(product(*(v if type(v) is list else [v] for _, v in self)))


class Reduction(Block):
    """Numbers of original and compressed parameters of uniform features."""

    samples: Positive
    """Number of training samples in which patterns and groups are counted."""
    sweeps: Annotated[list[Sweep], Field(min_length=1)]
    """The settings of which one is varied. `replicates` is the number of data sets."""


class ReportBlock(Block):
    """Tables and figures of the report, in order, and the thesis's numbers beside them."""

    parts: Annotated[list[Text], Field(min_length=1)]
    """The tables and figures of the page, in order; `thesiskit docs parts` lists them."""

    @field_validator("parts")
    @classmethod
    def _known_parts(cls, value):
        for part in value:
            message = _removed("report.parts", part)
            if message:
                raise ValueError(message.removeprefix("report.parts: "))
        return value

    thesis: Text | None = None
    """The experiment of the thesis to compare with."""
    prevalence: dict[Text, Annotated[float, Field(gt=0, lt=1)]] | None = None
    """Share of each class among future samples, such as `{tumour: 0.02}`, for the net benefit of
    two classes. Default: the shares of the table."""
    order: Count | None = None
    """Order of the coefficients in tables and figures, from `model.orders`. Default: the
    largest."""
    traced: list[Text] = []
    """Coefficients whose traces are shown, such as `CC:V` or `size=small, form=round:yes` (pattern,
    then class); for real responses the pattern alone."""


def control_character(text: str) -> str | None:
    """Return a character that ends a line or that a terminal obeys, None if there is none."""
    return next((c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs")), None)


class ClusterBlock(Block):
    """What a job asks for; what is not given is for the cluster to decide."""

    partition: Text | None = None
    """Partition of jobs; default: that of the cluster."""
    time: Annotated[Text, BeforeValidator(lambda v: str(v) if type(v) is int else v)] = "1:00:00"
    """Time limit of each job: hours:minutes:seconds, days-hours:minutes:seconds, or minutes. A job
    stops two minutes before its limit (or after half of it, if that is later), stores its chains,
    and is queued again, up to ten times."""
    memory: Text | None = None
    """Memory of each job, such as `4G` or `500M`; default: that of the cluster."""
    cpus: Annotated[Positive, Field(le=MOST_CORES)] = 1
    """Number of cores of each job."""
    array: Positive = 100
    """Largest number of jobs; chains and methods are divided evenly between jobs."""
    options: list[Annotated[str, Field(strict=True)]] = []
    """Further options of sbatch, such as `--account=mine`; each may be given once."""
    setup: list[Text] = []
    """Shell commands that a job runs first, such as `module load python`."""

    @field_validator("*")
    @classmethod
    def _one_line(cls, value: Any) -> Any:
        for text in value if isinstance(value, list) else [value]:
            character = control_character(str(text))
            if character is not None:
                raise ValueError(
                    f"the character {quoted(character)} breaks the line. Fix: remove it"
                )
        return value

    @field_validator("partition", "memory")
    @classmethod
    def _written(cls, value: str | None, info: ValidationInfo) -> str | None:
        pattern, words = r"[^\s\-][^\s]*", "one word"
        if info.field_name == "memory":
            pattern, words = r"[1-9][0-9]{0,8}[KMGT]", "memory as 4G or 500M"
        if value is not None and not re.fullmatch(pattern, value):
            raise ValueError(f"write {words}, not {quoted(value)}")
        return value

    @field_validator("time")
    @classmethod
    def _limit(cls, value: str) -> str:
        if _minutes(value) < 1:
            raise ValueError(
                "write the limit as hours:minutes:seconds, days-hours:minutes:seconds, or whole "
                f"minutes, at least one, not {quoted(value)}"
            )
        return value

    @field_validator("options")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        option_of: dict[str, str] = {}
        for option in value:
            match = re.fullmatch(r"--([a-z][a-z-]*)(=.+)?", option)
            text = shorten(option)
            if match is None:
                raise ValueError(f"write it as --name or --name=value, not {quoted(option)}")
            if match[1] in SBATCH_KEYS:
                raise ValueError(f"{text}: use `cluster.{SBATCH_KEYS[match[1]]}`")
            if match[1] not in (names := SBATCH_OPTIONS.split()):
                near = difflib.get_close_matches(match[1], names, 1)
                hint = f"write --{near[0]}, if this is meant" if near else "remove it"
                raise ValueError(f"{text}: is not one of the options that jobs take. Fix: {hint}")
            if match[1] in option_of:
                raise ValueError(
                    f"{option_of[match[1]]} and {text} are the same option. Fix: keep one of them"
                )
            option_of[match[1]] = text
        return value

    @property
    def minutes(self) -> int:
        """The time limit in minutes, rounded up as Slurm does."""
        return _minutes(self.time)

    @property
    def requests(self) -> dict[str, str | bool]:
        """Options of sbatch for a job, without their dashes."""
        requested = {
            name: getattr(self, key) for name, key in SBATCH_KEYS.items() if name != "array"
        }
        texts = {name: str(value) for name, value in requested.items() if value is not None}
        further = (option[2:].partition("=") for option in self.options)
        return texts | {name: value if equals else True for name, equals, value in further}


def _minutes(text: str) -> int:
    """Return the minutes of a time limit, 0 where it is none."""
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    parts = TIME.fullmatch(text)
    if parts is None:
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    return (days * 24 + hours) * 60 + minutes + -(-seconds // 60)


# ---- the whole ----


def _own_folder(name: str) -> str:
    """Return the name of an experiment, or say what else has that name in a folder of results."""
    if len(name) > MOST_NAME:
        raise ValueError(f"use at most {MOST_NAME} characters, not {len(name):,}")
    if name == "verify" or name.endswith((".html", ".")) or DEVICES.fullmatch(name):
        raise ValueError(f"{quoted(name)} is a reserved name. Fix: choose another")
    return name


Name = Annotated[
    str, Field(strict=True, pattern=r"^[a-z0-9][a-z0-9._-]*$"), AfterValidator(_own_folder)
]
Data = Annotated[Source, ByTag("source", SOURCES)]
ModelBlock = Annotated[Any, ByTag("kind", MODELS)]


class Config(Block):
    """One experiment."""

    experiment: Name
    """Name of the folder with the results: at most 100 lower-case letters, digits, `-`, `_`, `.`;
    not a reserved name such as `verify` or `index.html`."""
    title: Text
    """The title of the page."""
    about: Text
    """The introduction of the page."""
    minutes: PositiveNumber | None = None
    """About how many minutes the experiment takes on two cores, for `thesiskit list`."""
    seed: Count = 1
    """The seed of all random choices; each choice has its own stream."""
    replicates: Positive = 1
    """Number of data sets (of each model, if `data` draws several), or of random divisions of a
    table; for a logistic model, how often the folds are drawn."""
    block: Positive = 1
    """Number of replicates that share a result file."""
    data: Data | None = None
    """The samples. Its key `source` names their origin."""
    evaluation: Evaluation = Evaluation()
    """How samples and features are divided."""
    selection: Annotated[SerializeAsAny[SelectionBlock] | None, ByData()] = None
    """How many features to select."""
    model: ModelBlock = Field(default_factory=lambda: MODELS["naive-bayes"].block()())
    """The model, named by its key `kind`."""
    lattice: Lattice | None = None
    """In place of `data` and `selection`: the display of Cor(I0, I1)."""
    reduction: Reduction | None = None
    """In place of `data` and `model`: numbers of parameters of uniform features."""
    report: ReportBlock
    """Content of the page."""
    cluster: ClusterBlock = ClusterBlock()
    """Resources of jobs on a cluster. This block does not change results."""
    smoke: dict[str, Any] = {}
    """Values of dotted keys for the reduced experiment of `--smoke`."""
    _places: Places = PrivateAttr(default_factory=lambda: Places(Path("config"), {}, {}))
    _notes: list[str] = PrivateAttr(default_factory=list)  # of keys that were renamed
    _all_train: bool = PrivateAttr(default=False)
    _quick: bool = PrivateAttr(default=False)

    @property
    def quick(self) -> bool:
        """Whether this is a first look: see `quick_settings`."""
        return self._quick

    @property
    def notes(self) -> list[str]:
        """A note for each key that was renamed."""
        return self._notes

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
        except DataError as error:
            site = self.evaluation.leave_out
            if site is None or f"no column {quoted(site)}" not in str(error):
                raise
            raise self.wrong("evaluation.leave_out", f"{error}\nFix: name a column") from None

    @model_validator(mode="before")
    @classmethod
    def _site_is_no_feature(cls, tree: Any) -> Any:
        """Ignore the column of `evaluation.leave_out` where it is in the table of features."""
        match tree:
            case {"evaluation": {"leave_out": str(site)}, "data": {"path": str(path)} as data}:
                ignore = data.get("ignore", [])
                inside = "labels" not in data and not path.endswith(".h5ad")
                if inside and type(ignore) is list and site not in ignore:
                    return tree | {"data": data | {"ignore": [site, *ignore]}}
        return tree

    @field_validator("model", mode="before")
    @classmethod
    def _naive_by_default(cls, value):
        return {"kind": "naive-bayes"} | value if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _check_combination(self):
        for problem in filter(None, self._problems()):
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        """Yield what does not fit, "" where it does."""
        data, selection = self.data, self.selection
        if self.reduction is not None:
            needless = {"data", "evaluation", "selection", "model", "lattice"}
            needless &= self.model_fields_set
            if needless:
                yield f"{min(needless)}: not allowed together with `reduction`. Fix: remove it"
            return
        yield from self._unfit_data()
        if self.selects:
            if (data is None) != (selection is None):
                yield "`data` and `selection` belong together. Fix: give both"
            if data is None and self.lattice is None:
                yield (
                    "`data` is missing. Fix: give `data` and `selection`, or `lattice`, or "
                    "`reduction`"
                )
        for block in (self.evaluation, self.model, selection, data):
            if block is not None:
                yield from block.incompatibilities(self)
        if self.selects and data is not None and (sizes := data.sizes):
            yield "" if self.takes_reals else two_classes(self, sizes.classes)
            yield too_many(self, sizes.width)

    def _unfit_data(self) -> Iterator[str]:
        """Yield data that the model does not take, and methods that do not take the data."""
        data, model = self.data, self.model
        sequences = data is not None and data.family == "sequences"
        if self.selects:
            candidates = candidates_of(None if data is None else data.family)
            if data is not None and data.family != "table" and candidates is None:
                needs = f"data.source: {data.family} need a logistic model"
                yield f"{needs}. Fix: set model.kind: logistic"
            if candidates is not None and self.selection is None:
                yield f"selection: {candidates.needed}"
            if self.continuous and (data is None or not data.real or data.family != "table"):
                needs = "model.response: gaussian needs data.source: file"
                yield f"{needs}. Fix: save the table as .csv"
            elif self.continuous:
                keys_of = {"data": {"positive", "binarise"}, "model": self.model.model.of_classes}
                for name, keys in keys_of.items():
                    for key in sorted(getattr(self, name).model_fields_set.intersection(keys)):
                        yield f"{name}.{key}: is for classes. Fix: remove it"
            return
        if data is None or data.family == "table":
            sources = join_sources(lambda source: source.family != "table")
            needs = "model.kind: logistic needs sequences or discrete features"
            yield f"{needs}: data.source {sources}"
            return
        if self.continuous and not data.real:
            sources = join_sources(lambda source: source.real and source.family != "table")
            needs = f"model.response: gaussian needs data.source: {sources}"
            yield f"{needs}; {data.source} has classes"
        kind = peers.RESPONSES if self.continuous else peers.FEATURES
        kind = peers.SEQUENCES if sequences else kind
        if model.engine != ["chains"] and not sequences:
            yield "model.engine: mixing is for sequences. Fix: remove it"
        for peer in (peer for peer in model.peers if peer not in peers.names(kind)):
            yield _removed("model.peers", peer)
            unknown = f"model.peers: unknown third-party method {peer!r} for {kind}"
            yield f"{unknown}. Fix: choose from {', '.join(peers.names(kind))}"

    def training_with_all(self) -> "Config":
        """Return this config as it is fitted for new samples: all samples train.

        Of a table that was screened before these are the samples that took part in the screening.
        Of methods of others those are left that can be exported.  How samples are divided and the
        report do not matter then, and have their defaults.
        """
        fitted = {*models.OWN, *(name for name, peer in PEERS.items() if peer.exported)}
        key = "methods" if self.selects else "peers"
        methods = [method for method in getattr(self.model, key) if method in fitted]
        model = self.model.model_copy(update={key: methods})
        changes: dict[str, Any] = {"model": model, "evaluation": Evaluation()}
        if self.data and self.screened and hasattr(self.data, "test_path"):
            # samples that the screening did not see would need another correction
            changes["data"] = self.data.model_copy(update={"test_path": None})
        whole = self.model_copy(update={"replicates": 1, "block": 1, **changes})
        whole._all_train = True
        return whole

    @property
    def first_model(self) -> models.SelectingModel:
        """The model of the first method, where features are selected."""
        block = self.model
        return MODELS[block.kind].of(block, block.variants[0], block.relevances[0])

    @property
    def screened(self) -> ScreenedBlock | None:
        """How the table was screened before, None if it was not."""
        return self.selection.screened if self.selection else None

    @property
    def selects(self) -> bool:
        """Whether the model follows a selection of features; a logistic model takes patterns."""
        return getattr(self.model, "takes", "") != "patterns"

    @property
    def takes_reals(self) -> bool:
        """Whether the model takes features as real numbers."""
        return getattr(self.model, "takes", "") == "reals"

    @property
    def continuous(self) -> bool:
        """Whether responses are real numbers."""
        return getattr(self.model, "response", None) == models.GAUSSIAN

    @property
    def for_new_samples(self) -> bool:
        """Whether it is fitted to predict new samples: see `training_with_all`."""
        return self._all_train

    @property
    def scheme(self) -> str:
        """How samples are divided, "none" where all train; data decide where a config does not."""
        if self._all_train:
            return "none"
        whole_sites = self.evaluation.leave_out is not None
        return LEAVE_OUT if whole_sites else self.evaluation.scheme or self.usual_scheme

    @property
    def usual_scheme(self) -> str:
        """A test set where the data come with one, else folds.

        In folds of a table that was screened with all its samples there is nothing to learn: none.
        """
        if self.data and self.data.has_test_set:
            return "test-set"
        return "k-fold" if self.screened is None else "none"

    def check_tables(self, tables: Sequence[SampleData]) -> list[tuple[str, str, str]]:
        """Return code, status and a line of each check of the tables of the data."""
        if not tables or self.data is None or not self.data.apart:
            return []
        from thesiskit.datasets import checking  # pandas: only where tables are read

        transformed = bool({*getattr(self.data, "transform", ())} - {NO_TRANSFORM})
        lines = checking.findings(
            tables,
            folds=self.evaluation.folds if self.scheme == "k-fold" else 0,
            first=self.data.divided_at is not None,
            grouped=getattr(self.data, "sample_groups", None),
            transformed=transformed,
        )
        accepted = getattr(self.data, "accept", ())
        family, real = tables[0].family, self.continuous
        return checking.summarise_checks(lines, family, accepted, transformed, real)

    @property
    def drawn(self) -> bool:
        """Whether data are drawn, not read."""
        return self.data is not None and self.data.drawn

    @property
    def divisions(self) -> int:
        """How often samples are drawn or divided: replicates of each simulation model.

        Of a logistic model each fold counts.
        """
        folded = not self.selects and self.scheme == "k-fold"
        n_models = 1 if self.data is None else self.data.n_models
        return self.replicates * n_models * (self.evaluation.folds if folded else 1)


# ---- what data and selections must be like together ----


def two_classes(config: Config, count: int) -> str:
    """Say that a kind of model takes two classes; nothing where there are no more."""
    if count <= 2:
        return ""
    kind, fix = config.model.kind, (config.selection or SelectionBlock).more_classes
    return f"model.kind: {kind} takes two classes, not {count}. Fix: use model.kind: {fix}"


def too_many(config: Config, p: int) -> str:
    """Say which key asks for more of p features or groups than there are; nothing if none does."""
    groups, screened = config.evaluation.feature_groups, config.screened
    if screened is not None and (of := min(screened.of)) < p:
        return (
            f"selection.screened.of: `of` is {of:,}, but {p:,} features are left; it is the number "
            f"before the filtering, so at least {p:,}"
        )
    if groups > p:
        return (
            f"evaluation.feature_groups: cannot form {groups} groups of {p} features. Fix: lower it"
        )
    return config.selection.too_large(p, groups) if config.selection else ""


# ---- reading one ----


def load_config(
    path: Path,
    *,
    settings: tuple[str, ...] = (),
    seed: int | None = None,
    name: str | None = None,
    smoke: bool = False,
    quick: bool = False,
) -> Config:
    """Read, override and validate a config.

    Parameters
    ----------
    path : the YAML file.
    settings : "dotted.key=value" overrides; values are YAML.
    seed, name : replace `seed` and `experiment` of the config.
    smoke : apply the config's own `smoke:` overrides first.
    quick : apply `quick_settings`, but for keys in `settings`.

    Raises
    ------
    ConfigError: one line per problem, "file:line: key: what is wrong; what to do".
    """
    path = Path(path)
    tree, lines = read_yaml(path)
    places = Places(path, lines, {})
    small = tree.get("smoke") if smoke else None
    for key, value in small.items() if isinstance(small, dict) else ():
        places.given[key] = places.of(f"smoke.{key}", ("smoke", key))
        places.override(tree, key, copy.deepcopy(value))
    for text in settings:
        key, equals, value = (part.strip() for part in text.partition("="))
        places.given[key] = f"--set {shorten(text)}"
        if not (key and equals):
            raise ConfigError(f"--set {shorten(text)}: write it as key=value, such as --set seed=3")
        places.override(tree, key, value, parse=True)
    for key, option, argument in (("seed", "--seed", seed), ("experiment", "--name", name)):
        if argument is not None:
            tree[key] = argument
            places.given[key] = f"{option} {shorten(argument)}"
    notes = _rename(tree, places)
    config = _validated(tree, places, notes)
    if quick:
        if config.data is None or not config.data.own:
            raise ConfigError(
                f"{shorten(path)}: --quick is for tables of your own. Fix: use --smoke"
            )
        changes = quick_settings(config)
        for key in changes.keys() - places.given.keys():
            places.given[key] = "--quick"
            places.override(tree, key, changes[key])
        config = _validated(tree, places, notes)
        config._quick = True
    endings = "-smoke" * smoke + "-quick" * quick  # results of the whole experiment stay
    return config.model_copy(update={"experiment": config.experiment + endings})


def _validated(tree: dict[str, Any], places: Places, notes: list[str]) -> Config:
    """Return the config of a tree; raise ConfigError with its first problems."""
    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(_first_problems(_explained(error, places))) from None
    config._places, config._notes = places, notes
    return config


def quick_settings(config: Config) -> dict[str, Any]:
    """Return the settings of a quick run by key: five folds, three methods, nothing nested.

    A user first wants to know whether the correction holds against the pool and ridge regression;
    of sizes the middle one is typical, and a temperature is what log odds of tables need.
    """
    model, selection, folds = config.model, config.selection, config.evaluation.folds
    settings: dict[str, Any] = {"replicates": 1, "evaluation.choose": False}
    if config.scheme in ("k-fold", "leave-one-out"):
        settings |= {"evaluation.scheme": "k-fold", "evaluation.folds": min(QUICK_FOLDS, folds)}
    if selection is not None and config.selects:
        key = "features" if selection.features else "thresholds"
        sizes = sorted(size for size in getattr(selection, key) if size != "all") or ["all"]
        ranks = [*QUICK_METHODS, *model.methods]
        settings[f"selection.{key}"] = [sizes[len(sizes) // 2]]
        settings["model.methods"] = sorted(model.methods, key=ranks.index)[:QUICK_NUMBER]
        if hasattr(selection, "disjoint"):
            settings["selection.disjoint"] = selection.disjoint[:1]
    if transforms := getattr(config.data, "transform", []):
        settings["data.transform"] = transforms[:1]
    first = ["priors", "compress", "sigma_scale", "joint_updates", "peers"]
    for key in (*first, getattr(model, "variant", "")):
        if getattr(model, key, None):
            settings[f"model.{key}"] = getattr(model, key)[:1]
    for key in ("temperature", "relevant"):
        if hasattr(model, key):
            settings[f"model.{key}"] = getattr(model, key)[-1:]
    if hasattr(model, "orders"):
        sequences = config.data is not None and config.data.family == "sequences"
        ends = model.orders[-1:] if sequences else [model.orders[0], model.orders[-1]]
        settings["model.orders"] = [*dict.fromkeys(ends)]
        if "chains" in model.engine:
            settings["model.iterations"] = min(model.iterations, QUICK_ITERATIONS)
            if model.until is None:
                settings["model.burn_in"] = min(model.burn_in, settings["model.iterations"] // 2)
    return settings


def _rename(tree: dict[str, Any], places: Places) -> list[str]:
    """Give keys of an earlier version their names of today, and return a note for each."""
    notes = []
    for old, new in RENAMED.items():
        name, _, key = old.partition(".")
        block, dotted = tree.get(name), f"{name}.{new}"
        if isinstance(block, dict) and key in block and new not in block:
            block[new] = block.pop(key)
            places.given[dotted] = places.of(old)
            notes.append(f"{places.of(old)}: {old} is now {dotted}. Fix: rename the key.")
    return notes


def _first_problems(problems: list[str]) -> str:
    """Return a message of the first problems, as many as a user reads, and how many more there are.

    A line for each; lines that would be cut are left out.
    """
    for most in range(min(len(problems), MOST_LINES), 0, -1):
        n_more = len(problems) - most
        rest = [f"and {pluralise(n_more, 'more problem')}"] if n_more else []
        lines = problems[:most] + rest
        if len(lines) <= MOST_LINES and sum(map(len, lines)) <= MOST_CHARACTERS:
            break
    return "\n".join(lines)


# ---- what pydantic finds wrong, in words: place, key, what is wrong, what to do ----


WANTED = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "model": "a mapping of keys",
    "dict": "a mapping of keys",
}


def _inner(field: FieldInfo) -> tuple[str, Mapping[str, Any]]:
    """Return the key that says of which class the block in a key is, and the classes by its values.

    Both are empty where the key holds no block, and the first where there is one class.
    """

    def parts(annotation: Any) -> Iterator[Any]:
        yield annotation
        for part in get_args(annotation):
            yield from parts(part)

    nested = [*parts(field.annotation), *chain.from_iterable(map(parts, field.metadata))]
    for part in nested:
        if isinstance(part, ByTag):
            return part.tag, part.classes
        if isinstance(part, ByData):
            return "", part.blocks()
    blocks = [part for part in nested if isinstance(part, type) and issubclass(part, Block)]
    return "", {"": blocks[0]} if blocks else {}


def _explained(error: ValidationError, places: Places) -> list[str]:
    """Return one line for each problem."""
    # one problem a key, though each member of a union has its own: the most telling one
    messages: dict[str, tuple[int, str]] = {}
    for problem in error.errors():
        kind, value = problem["type"], problem.get("input")
        keys, block = _locate(problem["loc"], kind == "extra_forbidden")
        dotted = ".".join(shorten(key) for key in keys)
        text = message_for(problem, dotted, block)
        if not dotted:  # a check of several keys says itself which one
            match = re.match(r"([a-z_]+(\.[a-z_]+)*): ", text)
            dotted = match[1] if match else ""
        # a value out of range tells more than a wrong word, and that more than a wrong kind
        telling = 1 if kind.startswith(tuple(WANTED)) or kind == "missing" else 3
        if kind == "literal_error":
            telling = 2 if isinstance(value, str) else 0
        if dotted not in messages or telling > messages[dotted][0]:
            messages[dotted] = (telling, f"{places.of(dotted)}: {text}")
    blocks = {key.rpartition(".")[0] for key in messages if _removed(key)}
    return [  # a removed key may have stood in for one that is required
        text
        for key, (_, text) in messages.items()
        if not (text.endswith(REQUIRED) and key.rpartition(".")[0] in blocks)
    ]


def _locate(location: tuple, unknown: bool) -> tuple[tuple, type[BaseModel]]:
    """Return the keys of the YAML file that lead to a problem, and the block that holds it.

    Pydantic's own path also names the members of unions it went through; an `unknown` key is the
    last part of it.
    """
    keys: list[str | int] = []
    block: type[BaseModel] = Config
    members: Mapping[str, Any] = {}
    for i, part in enumerate(location):
        if isinstance(part, int) or (unknown and i == len(location) - 1):
            keys.append(part)
        elif part in members:
            block, members = block_of_class(members[part]), {}
        elif part in block.model_fields:
            keys.append(part)
            tag, members = _inner(block.model_fields[part])
            if not tag:
                block = members.get("", block)
    return tuple(keys), block


def message_for(problem: Any, dotted: str, block: type[BaseModel]) -> str:
    """Say what is wrong at a key, and what to do."""
    kind, value, context = problem["type"], problem.get("input"), problem.get("ctx", {})
    name = dotted.rpartition(".")[2]
    if kind == "extra_forbidden" and dotted == "model.response":
        return f"{dotted}: is for real responses. Fix: use model.kind: normal or pool"
    if kind == "extra_forbidden":
        unknown = f"{dotted}: unknown key{_suggest(name, sorted(block.model_fields))}"
        return _removed(dotted) or unknown
    if kind.startswith("union_tag"):
        key, members = _inner(block.model_fields[name])
        tags = re.findall(r"'([^']+)'", context.get("expected_tags", "")) or sorted(members)
        if kind == "union_tag_not_found":
            return f"{dotted}.{key}: is required. Fix: use one of {', '.join(tags)}"
        tag = str(context.get("tag"))
        unknown = f"{dotted}.{key}: unknown {key} {quoted(tag)}{_suggest(tag, tags)}"
        return _removed(f"{dotted}.{key}", tag) or unknown
    if kind == "value_error":
        text = str(context.get("error", problem["msg"]))
        return f"{dotted}: {text}" if dotted else text
    if kind == "string_pattern_mismatch":
        return f"{dotted}: use lower-case letters, digits, '.', '_' and '-', not {quoted(value)}"
    if kind == "literal_error":
        allowed = re.findall(r"'([^']+)'", problem["msg"])
        unknown = f"{dotted}: cannot be {quoted(value)}{_suggest(shorten(value), allowed)}"
        return _removed(dotted, value) or unknown
    for stem, words in WANTED.items():
        if kind.startswith(stem):
            return f"{dotted}: needs {words}, got {kind_of(value)}"
    limit = next((number for number in context.values() if isinstance(number, int | float)), 0)
    bound = f"{limit:,}" if type(limit) is int else f"{limit:g}"
    got = shorten(value)
    sentences = {
        "too_short": f"needs at least {bound} entries",
        "too_long": f"needs {bound} entries, got {context.get('actual_length', 'another number')}",
        "missing": REQUIRED,
        "greater_than": f"must be greater than {bound}, got {got}",
        "greater_than_equal": f"must be at least {bound}, got {got}",
        "less_than_equal": f"must be at most {bound}, got {got}",
        "less_than": f"must be less than {bound}, got {got}",
        "finite_number": f"must be a finite number, got {got}",
    }
    return f"{dotted}: {sentences.get(kind) or problem['msg'].lower()}"


def _removed(dotted: str, value: Any = None) -> str:
    """Return the message for a key, or a value of a key, that was removed; "" for all others."""
    key = re.sub(r"\.\d+(?=\.|$)", "", dotted)  # without places in lists
    if value is not None:
        key, dotted = f"{key}: {value}", f"{dotted}: {value}"
    fix = REMOVED.get(key)
    return f"{dotted} was removed. Fix: {fix}" if fix else ""


def _suggest(name: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(name, allowed, 1)
    return f"; did you mean {near[0]!r}?" if near else f". Fix: use one of {list_some(allowed, 25)}"


# ---- what keys mean: for `thesiskit docs`, the docs and editors ----


class Key(NamedTuple):
    """A key of a config.

    block : what has it where there are several, such as "source: colon"; else empty.
    default : as YAML writes it; "required" where there is none, empty where it is not given.
    """

    name: str
    block: str
    default: str
    text: str


@cache
def keys() -> list[Key]:
    """Return all keys, blocks before the keys in them."""
    return list(_keys(Config, "", "", ""))


def _keys(model: type[BaseModel], prefix: str, tag: str, block: str) -> Iterator[Key]:
    """Yield the keys of a block, but for its tag, which `block` says, such as "source: colon"."""
    for name, field in model.model_fields.items():
        if name == tag:
            continue
        whole = f"{prefix}{name}"
        yield Key(whole, block, _default(field), " ".join((field.description or "").split()))
        key, classes = _inner(field)
        inner = {word: block_of_class(entry) for word, entry in classes.items()}
        if key:
            titles = {
                word: (entry.__doc__ or "").partition("\n")[0] for word, entry in inner.items()
            }
            about = " ".join(f"`{word}`: {title}" for word, title in titles.items())
            first = next(iter(inner.values()))
            yield Key(f"{whole}.{key}", block, _default(first.model_fields[key]), about)
        shared: set[str] = set()
        for word, entry in inner.items():
            below = [*_keys(entry, f"{whole}.", key, f"{key}: {word}" if key else block)]
            yield from (nested for nested in below if nested.name not in shared)
            shared |= set() if key else {nested.name for nested in below}


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    return "" if value is None or isinstance(value, BaseModel) else _yaml(value)


def _yaml(value: Any) -> str:
    """Return a short value as YAML writes it on one line."""
    match value:
        case list() | tuple():
            return f"[{', '.join(map(_yaml, value))}]"
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            plain = value.isalpha() or "-" in value
            return value if plain and value.lower() not in ("nan", "na") else repr(value)
        case float():
            return f"{value:g}"
    return str(value)


def described(name: str | None) -> list[str]:
    """Return lines about a key, about all keys of a block, or about all that there are.

    Raises
    ------
    ConfigError: there is no such key; which was perhaps meant.
    """
    exact = [key for key in keys() if key.name == name]
    below = [key for key in keys() if name is None or key.name.startswith(f"{name}.")]
    if not exact and name is not None:
        all_names = list(dict.fromkeys(key.name for key in keys()))
        near = difflib.get_close_matches(shorten(name), all_names, 1)
        near = near or [key for key in all_names if key.rpartition(".")[2] == name][:1]
        hint = f"did you mean {near[0]}?" if near else "`thesiskit docs` lists all keys"
        raise ConfigError(f"{quoted(name)} is not a key; {hint}")
    lines = []
    for key in exact:
        about = [f"({key.block})"] if key.block else []
        about += ["required"] if key.default == "required" else []
        about += [f"default {key.default}"] if key.default not in ("", "required") else []
        lines.append(f"{key.name}  {', '.join(about)}".rstrip())
        lines += textwrap.wrap(key.text, 96, initial_indent="  ", subsequent_indent="  ")
    for key in below:
        first = re.split(r"\.\s+(?=[A-Z`])", key.text)[0].rstrip(".")
        lines.append(f"{key.name}{f' ({key.block})' if key.block else ''}: {first}")
    return lines


def schema() -> dict[str, Any]:
    """Return a JSON schema of configs, with which an editor completes and checks keys."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **Config.model_json_schema()}
