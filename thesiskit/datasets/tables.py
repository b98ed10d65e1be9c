"""The user's own tables of numbers: text, Parquet and AnnData.

`reading` makes a frame of the file; an encoder makes numbers of its columns, and classes of the
response.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from thesiskit.blocks import Decimal, SampleGroups, Text, Thousands, Transforms
from thesiskit.datasets import reading
from thesiskit.datasets.reading import Wanted, shown
from thesiskit.datasets.source import Accepted, FeatureTable, Source, Table
from thesiskit.defaults import MISSING, NO_TRANSFORM
from thesiskit.errors import DataError, list_some, quoted, shorten
from thesiskit.files import sha256
from thesiskit.frame import (
    MOST_NAMED,
    CategoryEncoder,
    Coding,
    Column,
    Frame,
    NumberEncoder,
    check_plain,
    check_text,
    encode,
    encode_classes,
    sorted_symbols,
)

SPREADSHEETS = (".xlsx", ".xls", ".ods")
KINDS = (*reading.USUAL, ".parquet", ".h5ad")
MOST_CLASSES = 20

Positive = str | float | bool | None  # the response that is class 1


class FileData(Source):
    """The user's own table."""

    family: ClassVar = "table"
    real: ClassVar = True

    source: Literal["file"]
    path: Text
    """The table, one sample a row; relative to the folder of the config."""
    header: StrictBool = True
    """Whether the first line of a text table names the columns. Without this line columns are named
    `x1`, `x2` and so on."""
    response: Text | None = None
    """The column of the response; of an `.h5ad`, a column of `obs`."""
    positive: StrictBool | StrictStr | StrictInt | StrictFloat | None = None
    """The value of the response that is class 1; not needed if the values are 0 and 1. A response
    with more values has a class for each (`model.kind: normal`), or is a number to predict
    (`model.response: gaussian`)."""
    id: Text | None = None
    """The column that names the samples. It is not a feature, and its values must be unique.
    AnnData files have their own sample names."""
    ignore: list[Text] = []
    """Columns to ignore. Columns without a name (`Unnamed: 0`), an index written by pandas and
    sample numbers are refused, unless they are listed here."""
    sample_groups: SampleGroups = None
    accept: Accepted = []
    missing: list[Annotated[str, Field(strict=True)]] = []
    """Codes of missing values in text or Parquet, in addition to empty cells, `NA`, `?` and the
    like. Naive Bayes omits missing values; the mixture model does not accept them."""
    decimal: Decimal = "."
    thousands: Thousands = None
    orientation: Literal["samples-in-rows", "genes-in-rows"] = "samples-in-rows"
    """`genes-in-rows` is for a text table with one feature per row: its name, then its values. The
    first line names the samples. The response is the row that `data.response` names, or a column of
    `data.labels`."""
    labels: Text | None = None
    """A text table of responses, if the table itself has none. `data.response` is one of its
    columns. Samples are matched by name, in the column `data.id` or else the first column."""
    test_path: Text | None = None
    """A table of test samples with the same columns."""
    binarise: Literal["all-medians", "training-medians"] = "training-medians"
    """`training-medians`: a feature is 1 above its median over the training samples; `all-medians`:
    over all samples. A column with two values is split between them."""

    transform: Transforms = [NO_TRANSFORM]

    _differ = model_validator(mode="after")(reading.check_keys)

    @property
    def _keys(self) -> dict[str, Any]:
        """What is to be read of a table besides the response, but for labels."""
        # labels and obs are no features anyway
        inside = self.labels is None and not self.path.endswith(".h5ad")
        return {
            "ignore": tuple(reading.left_out(self.ignore, self.sample_groups if inside else None)),
            "id": self.id,
            "genes_in_rows": self.orientation == "genes-in-rows",
            "header": self.header,
            "missing": tuple(self.missing),
            "decimal": self.decimal,
            "thousands": self.thousands,
        }

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:
        keys = self._keys | {"positive": self.positive, "continuous": continuous}
        keys["labels"] = None if self.labels is None else folder / self.labels
        train = read_table(folder / self.path, self.response, **keys)
        if self.test_path is None:
            return [reading.grouped(train, self.sample_groups, self.path)]
        test = read_table(folder / self.test_path, self.response, like=train, **keys)
        tables = (train, self.path), (test, self.test_path)
        return [reading.grouped(table, self.sample_groups, where) for table, where in tables]

    def read_new(self, path: Path, like: Table, **options: Any) -> Table:
        """Return new samples with the features of the training table; options : of `read_table`."""
        keys = self._keys | {"new": True, "gaps": True, "features": like.encoder.names}
        return read_table(path, self.response, like=like, **keys, **options)

    def read_tested(self, path: Path, like: Table) -> Table:
        options = {"tested": True, "continuous": not like.classes}
        table = self.read_new(path, like, **options)
        groups = self.sample_groups if self.sample_groups in table.aside else None
        return reading.grouped(table, groups, path.name)


def read_coded(
    path: Path,
    wanted: Wanted,
    like: Table | FeatureTable | None,
    kind: type[NumberEncoder | CategoryEncoder],
    *,
    texts: bool = False,
) -> tuple[reading.Samples, Any, np.ndarray, list[str]]:
    """Return the samples of a user's table, what codes their features, the features, and notes.

    like : the training table, whose encoder is used; None where this is the training table.
    kind : NumberEncoder or CategoryEncoder, which is fitted to a training table.
    texts : as `read_samples` takes it.
    """
    where, in_both = shown(path), list[str]()
    samples = reading.read_samples(path, wanted, texts=texts)
    if like is not None and not wanted.new:
        known, present = set(like.encoder.names), set(samples.features)
        if not known <= present:
            lacking = next(name for name in like.encoder.names if name not in present)
            reading.check_column(lacking, samples.features, where)
        extra = [name for name in samples.features if name not in known]
        if extra:
            fault = f"{where}: the training table has no feature {list_some(extra)}"
            raise DataError(f"{fault}\nFix: data.ignore it")
    if like is not None and wanted.has_response:
        in_both = reading.samples_of_both(like.ids, samples.ids)
    encoder: Any = kind.fit(samples.frame, samples.features) if like is None else like.encoder
    X, unseen = encoder.transform(samples.frame)
    missing = np.isnan(X) if X.dtype.kind == "f" else X == MISSING
    remarks = [*unseen, *reading.missing_values(missing), *in_both]
    # notes are kept: they do not depend on folders
    notes = [*samples.notes, *(f"{shorten(path.name)}: {remark}" for remark in remarks)]
    return samples, encoder, X, notes


def read_table(
    path: Path,
    response: str | None,
    *,
    positive: Positive = None,
    like: Table | None = None,
    continuous: bool = False,
    **keys: Any,
) -> Table:
    """Read a table of samples, with the response as classes; of new ones it means nothing.

    Parameters
    ----------
    path : features, one sample per row.  Text (`.csv`, `.tsv`, `.tab`, `.txt`, also packed as
        `.gz`) and `.parquet` hold the response in a column, `.h5ad` (AnnData) in a column of `obs`.
    response : the column.
    positive : as `find_classes` takes it.
    like : the training table, whose features (in any order), words and classes count.
    continuous : the responses are real numbers, not classes.
    keys : others of `Wanted`.
    """
    where, wanted = shown(path), Wanted(response, **keys)
    _check_kind(path, wanted)
    samples, encoder, X, notes = read_coded(path, wanted, like, NumberEncoder)
    names = reading.name_columns(encoder.features, where) if encoder.coding else encoder.features
    if 0 in X.shape:
        raise DataError(f"{where}: no samples or no features; the table has shape {X.shape}")
    _check_finite(X, names, where)
    aside, column = samples.aside, samples.response
    if like is None:
        notes += [f"{shorten(path.name)}: {line}" for line in _words_as_numbers(encoder.coding)]
        aside |= {name: samples.frame[name].strings() for name in encoder.coding}
    if column is None:
        codes, classes = np.zeros(len(X), dtype=np.uint8), like.classes if like else ()
    else:
        check_plain(column, samples.frame)
    if column is not None and continuous:
        codes, classes = real_responses(column, samples.frame, training=like is None), ()
        notes += [f"{shorten(path.name)}: {line}" for line in _few_values(codes) if like is None]
    elif column is not None:
        classes = find_classes(column, positive, where) if like is None else like.classes
        codes = encode_classes(column, classes, samples.frame).astype(np.uint8)
    # the response and the names can come from other files than the features
    content = sha256(path).encode() + codes.tobytes() + repr(names).encode()
    return Table(
        X, codes, names, classes, int(np.isnan(X).sum()), encoder, samples.lacking,
        digest=hashlib.sha256(content).hexdigest(), source=path.name, ids=samples.ids, notes=notes,
        aside=aside,
    )  # fmt: skip


def _check_kind(path: Path, wanted: Wanted) -> None:
    """Raise DataError for files of kinds that are not read, or with keys of other kinds."""
    where, suffix = shown(path), path.suffix.lower()
    text = bool(reading.text_suffix(path))
    for key in ("missing", "decimal", "thousands"):
        if getattr(wanted, key) != getattr(Wanted, key) and not text and suffix != ".parquet":
            raise DataError(f"{where}: data.{key} is for text and Parquet. Fix: remove it")
    if not wanted.header and (wanted.genes_in_rows or not text):
        what = "orientation: genes-in-rows" if wanted.genes_in_rows else "a file that is not text"
        raise DataError(f"{where}: data.header is not for {what}. Fix: remove it")
    reading.opened(path).close()
    if suffix == ".bed":
        raise DataError(
            f"{where}: data.source: file no longer reads PLINK files\nFix: write data.source: plink"
        )
    if not text and suffix not in KINDS and not wanted.genes_in_rows:
        hint = ". Fix: save the sheet as .csv" if suffix in SPREADSHEETS else ""
        raise DataError(
            f"{where}: cannot read {shorten(path.suffix) or 'this'}. Fix: use {', '.join(KINDS)}, "
            f"or text packed as .gz{hint}"
        )


def _words_as_numbers(coding: Coding) -> list[str]:
    """Say how words of columns became numbers."""
    pairs = [f"{shorten(name, 30)} ({shorten(words[0], 20)} = 0, {shorten(words[1], 20)} = 1)"
             for name, words in coding.items() if len(words) == 2]  # fmt: skip
    several = [f"{shorten(name, 30)} ({list_some(words, 3, 20)})"
               for name, words in coding.items() if len(words) > 2]  # fmt: skip
    listed, rest = pairs[:MOST_NAMED], len(pairs) - MOST_NAMED
    listed += [f"and {rest:,} more"] if rest > 0 else []
    lines = [f"Recoded: {'; '.join(listed)}"] if pairs else []
    if several:
        lines.append(f"Dummy-coded: {list_some(several, MOST_NAMED, 110)}")
    return lines


def _check_finite(X: np.ndarray, names: list[str], where: str) -> None:
    """Raise DataError for an infinite value."""
    odd = np.argwhere(np.isinf(X))
    if len(odd):
        sample, place = odd[0]
        feature = shorten(names[place])
        more = f" (and {len(odd) - 1:,} more)" if len(odd) > 1 else ""
        raise DataError(
            f"{where}: a value is infinite in sample {sample + 1}, feature {feature}{more}. "
            "Fix: correct it, or drop the sample or the feature"
        )


def find_classes(column: Column, positive: Positive, where: str) -> tuple[str, ...]:
    """Return the classes of the response of a training table, in order.

    0 and 1 are two classes, and so are False and True.  Of three values or more each is a class.

    positive : the response that is class 1, where there are two.
    """
    symbols = sorted_symbols(column)
    values, count = list_some(symbols), len(symbols)
    for symbol in symbols:
        check_text(symbol, f"{where}: a response", "rename it")
    if positive is not None:
        own = _find_positive(symbols, positive)
        if own is None:
            raise DataError(
                f"{where}: no response is {quoted(positive)} (data.positive); found {values}"
            )
        if count > 2:
            raise DataError(
                f"{where}: the response has {count:,} values ({values}), and "
                "data.positive is for two. Fix: remove other samples, or remove data.positive: "
                "each value is then a class, for model.kind: normal"
            )
        return next((symbol for symbol in symbols if symbol != own), f"not {own}"), own
    for bits in ("0", "1"), ("False", "True"):
        if {*symbols} <= {*bits}:
            return bits
    if count <= 2:
        raise DataError(
            f"{where}: the response must be 0 and 1, found {values}. Fix: set data.positive"
        )
    if count > min(MOST_CLASSES, len(column) // 2):
        limit = f"too many classes for {len(column):,} samples"
        if count > MOST_CLASSES:
            limit = f"at most {MOST_CLASSES} can be classes"
        raise DataError(
            f"{where}: the response has {count:,} values ({values}), {limit}; if it is a number to "
            "predict, set model.response: gaussian (model.kind: normal, pool or logistic)"
        )
    return tuple(symbols)


def real_responses(column: Column, frame: Frame, *, training: bool) -> np.ndarray:
    """Return real responses, (n,); DataError for other values, or of training samples one value."""
    fix = "correct the value, or remove these samples"
    y = reading.real_numbers(column, frame, "response", fix)
    if training and y.min() == y.max():
        fault = f"the response {quoted(column.name)} is {shorten(column.text(0))} in all samples"
        raise DataError(f"{frame.where}: {fault}. Fix: choose another response")
    return y


def _few_values(y: np.ndarray) -> list[str]:
    """Return a note on real responses that could be classes, or counts."""
    values = np.unique(y)
    whole = len(values) <= MOST_CLASSES and (values == np.floor(values)).all()
    text = f"the response has {len(values)} values, all whole numbers; counts or ordered classes "
    text += "are predicted as real numbers, between and beyond these values"
    if len(values) == 2:
        text = f"the response has two values, {values[0]:g} and {values[1]:g}; to predict them as "
        text += "classes, remove model.response"
    return [text] if whole or len(values) == 2 else []


def _find_positive(symbols: list[str], positive: Positive) -> str | None:
    """Return the value that `data.positive` means, in letters of any sample if need be."""
    key = Column.of_values("positive", [positive])
    place = int(encode(key, symbols)[0])
    if place >= 0:
        return symbols[place]
    folded = str(positive).casefold()
    return next((symbol for symbol in symbols if symbol.casefold() == folded), None)
