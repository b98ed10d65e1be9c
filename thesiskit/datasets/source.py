"""What a source of data answers, and what it returns.

A source is one class.  Its fields are the keys of `data` in a config, its methods say what the data
are and read or draw them.  Three families serve two kinds of experiments:

- "table": a `Table` of features with classes, for selections of features (chapter 2);
- "sequences" and "features": `Sequences` and `FeatureTable`, for logistic models (chapter 3).

A source that reads implements `read`; one that draws sets `drawn`, and implements `draw` and
`sizes`.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field

from thesiskit.blocks import Block, Text
from thesiskit.defaults import ALPHA_PRIOR, CLASS_PRIOR, MISSING, UNSEEN
from thesiskit.errors import DataError, UserError, quoted
from thesiskit.frame import CategoryEncoder, NumberEncoder, symbol_of

# what a table is checked for: by code, the title of a check and what it looked at
CHECKS = {
    "D01": ("Duplicate samples", "no two samples have equal or nearly equal features"),
    "D02": ("Leak", "no feature predicts the response perfectly by itself"),
    "D03": ("Batch", "no column of batches, sites or dates is associated with the response"),
    "D04": ("Sample order", "the order of the samples is not associated with the response"),
    "D05": ("Groups", "no column has groups of samples that could be split between folds"),
    "D06": ("Samples per class", "each class has at least as many samples as there are folds"),
    "D07": ("Missing values", "missing values are not associated with the response"),
    "D08": ("Constant features", "each feature has at least two values"),
    "D09": ("Equal features", "no two features are equal"),
    "D10": ("IDs and dates", "no feature looks like sample IDs or dates"),
    "D11": ("Gene symbols", "no gene symbol was converted to a date"),
    "D12": ("Scales", "all features have similar spreads"),
    "D13": ("Long tails", "no feature needs a logarithm"),
    "D14": ("Extreme values", "no value is far from all others"),
    "D15": ("Coverage", "all features were checked"),
}
FILE_KEYS = ("path", "test_path", "labels", "response")  # of sources; a response can be a column
READ_NEW = ("file", "table", "plink", "sequences", "text")  # sources that read new samples


# ---- what is returned ----


def check_codes(codes: list[str]) -> list[str]:
    """Return codes of checks; raise ValueError for one that does not exist."""
    unknown = [code for code in codes if code not in CHECKS]
    if unknown:
        choice = ", ".join(f"{code} ({title})" for code, (title, _) in CHECKS.items())
        raise ValueError(f"no check has the code {quoted(unknown[0])}. Fix: choose {choice}")
    return codes


Accepted = Annotated[
    list[Text],
    AfterValidator(check_codes),
    Field(
        description="Checks of the table, by code, whose warnings you accept: `[D02]` silences the "
        "warning of a leak."
    ),
]


@dataclass(frozen=True, kw_only=True)
class SampleData:
    """What all samples have besides what responses are predicted from.

    Attributes
    ----------
    digest : identifies the content, for provenance.
    source : where they come from, for people.
    ids : what the samples are called, or empty: their numbers from 1.
    notes : what the user should know about the data, a line each.
    groups : of which group each sample is, or empty where every sample is alone; so is one without.
    aside : columns of the file that are no features, or words, as text: for the check of the table.
    covariates : numbers by name, (n,) each, NaN where one is missing.
    """

    family: ClassVar[str]
    predictors: ClassVar[str]  # the field that responses are predicted from
    columns: ClassVar[list[str]] = []  # what the columns are called, or empty

    digest: str = ""
    source: str = ""
    ids: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    aside: dict[str, list[str]] = field(default_factory=dict)
    covariates: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def inputs(self) -> np.ndarray:
        return getattr(self, self.predictors)


@dataclass(frozen=True)
class Table(SampleData):
    """Samples with features and a response of some classes, two unless the data say others.

    Attributes
    ----------
    features : (n, p) array; 0/1 or real values, NaN where one is missing.
    response : (n,) codes of the classes from 0, uint8; of new samples they mean nothing.
    names : feature names, or empty where there are none.
    classes : what the classes are called.
    missing : how many values are missing.
    encoder : what makes features of the columns of the file; of other tables nothing.
    lacking : columns of the training table that new samples have not, all of whose values are
        missing; and a hint, where one is perhaps called otherwise.
    values : of discrete features, whose codes `features` has, the symbol of each code.
    """

    family, predictors = "table", "features"

    features: np.ndarray
    response: np.ndarray
    names: list[str] = field(default_factory=list)
    classes: tuple[str, ...] = ("0", "1")
    missing: int = 0
    encoder: NumberEncoder = field(default_factory=NumberEncoder)
    lacking: dict[str, str] = field(default_factory=dict)
    values: list[list[str]] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:  # type: ignore[override]
        return self.names


@dataclass(frozen=True)
class Drawn:
    """A simulated data set: what was drawn, and what it was drawn with.

    alpha : NaN where the data are not drawn from a model with one.
    truth : theta (p,); of naive Bayes where only some features are relevant also pi, and relevant
        (p,), which ones; of a mixture also labels (n,) of the training samples, and alpha_0 where
        it was drawn with that.  Nothing where the data are not drawn from a model.
    """

    train: Table
    test: Table
    alpha: float
    truth: dict[str, np.ndarray]


@dataclass(frozen=True)
class Sequences(SampleData):
    """Histories with the state that follows each.

    Attributes
    ----------
    histories : (n, length) int32 codes from 0, in time order: the last column is the most recent.
        May be a read-only sliding view of one text.
    response : (n,) int32 codes from 0.
    states : the symbol of each code of a history.
    classes : the symbol of each code of a response.
    """

    family, predictors = "sequences", "histories"

    histories: np.ndarray
    response: np.ndarray
    states: list[str]
    classes: list[str]

    @property
    def n_values(self) -> int:
        return len(self.states)

    def coded(self, X: np.ndarray) -> np.ndarray:
        """Return the codes of states (T, length), in time order."""
        code = {symbol: number for number, symbol in enumerate(self.states)}
        rows = [[code.get(symbol_of(value), UNSEEN) for value in row] for row in X.tolist()]
        return np.array(rows, dtype=np.int32)


@dataclass(frozen=True)
class FeatureTable(SampleData):
    """Samples with discrete features and a response.

    Attributes
    ----------
    X : (n, p) int16 codes from 0, MISSING or UNSEEN; or what stays in files, such as
        plink.Genotypes, which is read by [rows, columns].
    response : (n,) int32 codes from 0, or float64 real responses.
    features : the name of each feature.
    values : for each feature, the symbol of each code.
    classes : the symbol of each code of the response; none of real ones.
    alleles : of loci, the one whose copies are counted and the other one.
    lacking : as of a Table, features that new samples have not.
    """

    family, predictors = "features", "X"

    X: Any
    response: np.ndarray
    features: list[str]
    values: list[list[str]]
    classes: list[str]
    alleles: list[tuple[str, str]] = field(default_factory=list)
    lacking: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        named = (self.X.shape, self.features, self.values, self.classes)
        names = repr((*named, self.alleles) if self.alleles else named)
        whole = hashlib.sha256(names.encode(errors="surrogatepass"))
        filed = getattr(self.X, "content", None)  # of what is not in memory
        whole.update(self.X.astype("<i2").tobytes() if filed is None else filed.encode())
        codes = self.response.dtype.kind in "iu"
        whole.update(self.response.astype("<i4" if codes else "<f8").tobytes())
        if self.ids:
            whole.update(repr(self.ids).encode(errors="surrogatepass"))
        object.__setattr__(self, "digest", whole.hexdigest())

    @property
    def n_values(self) -> int:
        return max(map(len, self.values))

    @property
    def columns(self) -> list[str]:  # type: ignore[override]
        return self.features

    def as_table(self) -> Table:
        """Return the same samples as a table of codes, of which patterns are selected."""
        shared = {one.name: getattr(self, one.name) for one in fields(SampleData)}
        step = max(1, (1 << 24) // max(1, len(self.response)))
        starts = range(0, self.X.shape[1], step)
        filed = getattr(self.X, "missing", None)
        parts = (self.X[:, s : s + step] == MISSING for s in starts) if filed is None else [filed]
        missing = sum(int(part.sum()) for part in parts)
        return Table(
            features=self.X, response=self.response.astype(np.uint8), names=self.features,
            classes=tuple(self.classes), values=self.values, missing=missing, **shared,
        )  # fmt: skip

    @property
    def encoder(self) -> CategoryEncoder:
        """What makes codes of the columns of a file."""
        return CategoryEncoder(self.features, self.values)


@dataclass(frozen=True)
class Sizes:
    """How large data are."""

    train: int  # samples; where they are divided at random, all of them both times
    test: int
    width: int  # features, or states of a history
    values: int = 2  # of each feature or state
    classes: int = 2


# ---- what data can be drawn with ----


@dataclass(frozen=True)
class SelectionPriors:
    """Priors of a model of chapter 2.

    class_prior : (f_0, f_1).
    alpha_prior, response_alpha_prior : (shape, rate) of Inverse-Gamma distributions; the second of
        a mixture, None of naive Bayes.
    pi : the values, equally probable, that the probability of being relevant can have.
    """

    class_prior: tuple[float, float] = CLASS_PRIOR
    alpha_prior: tuple[float, float] = ALPHA_PRIOR
    response_alpha_prior: tuple[float, float] | None = None
    pi: Any = (1.0,)


class WrongKeyError(DataError):
    """A key of a source says something that the data show to be wrong."""

    def __init__(self, key: str, text: str):
        super().__init__(text)
        self.key = key


class Source(Block):
    """Where the samples of an experiment come from: the block `data` of a config.

    Attributes
    ----------
    family : which of the three it is.
    drawn : whether samples are drawn with random numbers, not read.
    real : whether responses can be real numbers.
    apart : whether each sample is by itself; windows of one text overlap.
    published : of a published table, what it is and under which licence; else empty.
    """

    family: ClassVar[Literal["table", "sequences", "features"]]
    drawn: ClassVar[bool] = False
    real: ClassVar[bool] = False
    apart: ClassVar[bool] = True
    published: ClassVar[str] = ""

    source: str  # its name, as a Literal

    # ---- what config and estimates ask; nothing is read for it ----
    # `path` is a file of the user's, `test_path` one of test samples, `train` counts training
    # samples

    @property
    def own(self) -> bool:
        """Whether samples are read from a file of the user's."""
        return getattr(self, "path", None) is not None

    @property
    def has_test_set(self) -> bool:
        """Whether it comes with test samples; otherwise samples are divided at random."""
        named = [getattr(self, key, None) for key in ("test_path", "train")]
        return self.drawn or named != [None, None]

    @property
    def divided_at(self) -> tuple[int, int | None] | None:
        """How many of the first samples train, and how many of the others are tested (None: all).

        None where `read` returns test samples by themselves, or all samples are divided at random.
        """
        train = None if self.family == "table" else getattr(self, "train", None)
        return None if train is None else (train, getattr(self, "test", None))

    @property
    def sizes(self) -> Sizes | None:
        """How large drawn data are; None of data that must be read to know."""
        return None

    @property
    def n_models(self) -> int:
        """How many models data sets are drawn from: `replicates` data sets of each in turn."""
        return 1

    def with_model(self, number: int) -> "Source":
        """Return the source that draws from one of these models."""
        return self

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield keys of data, or features, that the model does not take."""
        if "transform" in self.model_fields_set and not config.takes_reals:
            yield "data.transform: is for real features. Fix: use model.kind: normal or pool"
        if self.sizes and config.takes_reals:
            yield (
                f"data.source: {self.source} draws binary features. Fix: use continuous features, "
                "of data.source: file"
            )

    def files(self, folder: Path) -> list[str]:
        """Return the files of the user's that keys name, as the config has them.

        folder : paths start there.
        """
        named = [getattr(self, key, None) for key in FILE_KEYS]
        return [str(one) for one in named if one and (folder / str(one)).is_file()]

    # ---- reading and drawing ----

    def read(self, folder: Path, *, continuous: bool = False) -> list[Any]:
        """Return the samples in one piece, or training samples and then test samples.

        folder : paths start there.
        continuous : responses are real numbers.

        Raises
        ------
        WrongKeyError, DataError: what is wrong, where, and what to do.
        """
        raise NotImplementedError

    def draw(self, rng: np.random.Generator, *given: Any, **options: Any) -> Any:
        """Return what is drawn.

        A table: `draw(rng, priors)`, with SelectionPriors, returns `Drawn`.  Others:
        `draw(rng, continuous=False)` returns Sequences or a FeatureTable, training samples first;
        continuous : responses are real numbers.
        """
        raise NotImplementedError

    def read_new(self, path: Path, like: Any) -> Any:
        """Return samples without a response, of the type and with the codes of `like`.

        Features are matched by name.  A response that is there is not used, and neither are other
        columns; `notes` say so.  The response of what is returned means nothing.

        Raises
        ------
        UserError: the source has no files of samples.  DataError: what is wrong, where, what to do.
        """
        raise UserError(
            f"data.source: {self.source} does not read new samples; {', '.join(READ_NEW)} do"
        )

    def read_tested(self, path: Path, like: Any) -> Any:
        """Return new samples as `read_new` does, with their responses, coded as those of `like`.

        Samples without a response are left out; `notes` say so.
        """
        fault = f"data.source: {self.source} does not read responses of new samples"
        raise UserError(f"{fault}. Fix: use data.source: file or table")

    @property
    def settings_of_draws(self) -> dict[str, Any]:
        """What the generator depends on."""
        return self.model_dump()


# ---- what several sources need ----


def numbered(n: int) -> list[str]:
    """Return the symbols of drawn states, values or classes: 1 to n."""
    return [str(i + 1) for i in range(n)]


def at_least_one(**numbers: int) -> None:
    """Name a number below 1."""
    for name, number in numbers.items():
        if number < 1:
            raise DataError(f"{name} is {number}; it must be at least 1")


def digest_of(*parts: np.ndarray | Iterable[str] | int) -> str:
    """Return a sha256 of codes and symbols."""
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            whole.update(repr(part.shape).encode() + part.astype("<i4").tobytes())
        else:
            whole.update(repr(part).encode())
    return whole.hexdigest()
