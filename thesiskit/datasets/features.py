"""Tables of discrete features: drawn, played, and the user's own.

Features are drawn uniformly (section "Experiments Demonstrating Parameter Reduction"), and
responses from the model itself ("Experiments with Data from Cauchy Models").

thesis        here         shape
x_{1:p}       X            (n, p), codes from 0
y             response     (n,), codes from 0
K_t           values       the symbols of each feature
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool, field_validator, model_validator

from thesiskit.blocks import (
    Covariates,
    Decimal,
    Positive,
    PositiveNumber,
    SampleGroups,
    Text,
    Thousands,
    distinct,
)
from thesiskit.datasets import reading
from thesiskit.datasets.reading import COVARIATE, Samples, Wanted, grouped, left_out, shown
from thesiskit.datasets.source import Accepted, FeatureTable, Sizes, Source, at_least_one, numbered
from thesiskit.datasets.synthetic import draw_linear, draw_responses
from thesiskit.datasets.tables import read_coded, real_responses
from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError, quoted, shorten
from thesiskit.frame import CategoryEncoder, check_plain, encode_classes, find_symbols

Values = Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)]
Widths = Annotated[list[Annotated[float, Field(strict=True, ge=0, le=1e20)]], Field(min_length=1)]


class InteractionData(Source):
    """Uniform features, and responses from all their patterns up to an order."""

    family: ClassVar = "features"
    drawn: ClassVar = True
    real: ClassVar = True

    source: Literal["interactions"]
    features: Positive
    """Number of uniform features."""
    values: Values
    """Number of values of each feature."""
    sigma: Widths
    """The widths of the Cauchy coefficients of orders 0, 1, ... with which responses of two classes
    are drawn; 0 leaves an order out."""
    noise: PositiveNumber = 0.5
    """With `model.response: gaussian`: standard deviation of the noise about the linear function.
    """
    train: Positive
    """Number of training samples."""
    test: Positive
    """Number of test samples."""

    @model_validator(mode="after")
    def _orders(self):
        if len(self.sigma) > self.features + 1:
            raise ValueError(
                f"sigma has widths up to order {len(self.sigma) - 1}, but there are "
                f"{self.features} features"
            )
        return self

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.train, self.test, self.features, self.values)

    @property
    def settings_of_draws(self) -> dict[str, Any]:
        """What the generator depends on: noise only scales what is drawn."""
        return self.model_dump(exclude={"noise"}) | {"prior": "cauchy", "classes": 2}

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield a key that is for other responses."""
        if "noise" in self.model_fields_set and not config.continuous:
            yield "data.noise: is for model.response: gaussian. Fix: remove it"
        yield from super().incompatibilities(config)

    def draw(self, rng: np.random.Generator, *, continuous: bool = False) -> FeatureTable:
        table, _ = draw_interactions(
            rng,
            features=self.features,
            values=self.values,
            order=len(self.sigma) - 1,
            sigma=np.array(self.sigma),
            samples=self.train + self.test,
            train=self.train,
            noise=self.noise if continuous else None,
        )
        return table


class TicTacToeData(Source):
    """All boards at the end of a game of noughts and crosses; has x won?"""

    family: ClassVar = "features"
    published: ClassVar = "the 958 boards at the end of a game of noughts and crosses; computed"

    source: Literal["tic-tac-toe"]

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        return [tic_tac_toe()]


# ---- uniform features ----


def draw_uniform(
    rng: np.random.Generator, *, features: int, values: int, samples: int
) -> FeatureTable:
    """Draw features x1 to xp, uniform on 1 to `values`; there is one class only.

    For the experiments on the number of parameters, which the response does not change.
    """
    at_least_one(features=features, values=values, samples=samples)
    if values > MOST_VALUES:
        raise DataError(f"values is {values}; it must be at most {MOST_VALUES}")
    return FeatureTable(
        rng.integers(0, values, (samples, features), dtype=np.int16),
        np.zeros(samples, dtype=np.int32),
        [f"x{j + 1}" for j in range(features)],
        [numbered(values) for _ in range(features)],
        ["1"],
        source="uniform features",
    )


def draw_interactions(
    rng: np.random.Generator,
    *,
    features: int,
    values: int,
    order: int,
    sigma: np.ndarray,
    samples: int,
    train: int,
    noise: float | None = None,
) -> tuple[FeatureTable, np.ndarray]:
    """Draw uniform features, and responses from all their patterns up to an order.

    Parameters
    ----------
    order : of the patterns that have a coefficient, at most `features`.
    sigma : (order + 1,) widths; 0 makes the coefficients of an order 0.
    train : among so many first responses there are two classes at least.
    noise : None for two classes; or the standard deviation of the noise of real responses.

    Returns
    -------
    The table, and the probabilities (samples, 2) or linear function (samples,) of its responses.
    """
    table = draw_uniform(rng, features=features, values=values, samples=samples)
    if not 2 <= train <= samples:
        raise DataError(f"train is {train}; it must be from 2 to the {samples} samples")
    sigma = np.asarray(sigma, dtype=float)

    # the patterns of a subset are those of one less, each cut by one more feature
    level: dict[tuple[int, ...], np.ndarray] = {(): np.zeros(samples, dtype=np.int32)}
    patterns = [list(level.values())]
    for o in range(1, order + 1):
        level = {
            subset: np.unique(
                level[subset[:-1]] * values + table.X[:, subset[-1]], return_inverse=True
            )[1].astype(np.int32)
            for subset in combinations(range(features), o)
        }
        patterns.append(list(level.values()))
    if noise is None:
        response, expected = draw_responses(rng, patterns, sigma, train=train)
        symbols = numbered(2)
    else:
        expected = draw_linear(rng, patterns, sigma)
        response = expected + noise * rng.standard_normal(samples)
        symbols = []
    source = f"drawn from a model of order {order}"
    return replace(table, response=response, classes=symbols, source=source), expected


# ---- tic-tac-toe ----

ROWS, COLUMNS = ("top", "middle", "bottom"), ("left", "middle", "right")
LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


def tic_tac_toe() -> FeatureTable:
    """Return the 958 boards on which games of tic-tac-toe end, x first; class 1 is x wins.

    Each square has x, o or b (blank).  Boards on which x wins come first; then in the order of
    their squares.
    """
    boards, ends = {"b" * 9}, []
    for mark in "xoxoxoxox":
        boards = {
            board[:square] + mark + board[square + 1 :]
            for board in boards
            for square in range(9)
            if board[square] == "b"
        }
        won = {b for b in boards if any(all(b[int(s)] == mark for s in line) for line in LINES)}
        ends += [(mark == "x", board) for board in won]
        boards -= won
    ends += [(False, board) for board in boards]
    rows = sorted((not x_wins, ["xob".index(mark) for mark in board]) for x_wins, board in ends)
    return FeatureTable(
        np.array([codes for _, codes in rows], dtype=np.int16),
        np.array([not lost for lost, _ in rows], dtype=np.int32),
        [f"{row}-{column}" for row in ROWS for column in COLUMNS],
        [["x", "o", "b"] for _ in range(9)],
        ["x does not win", "x wins"],
        source="all ends of tic-tac-toe",
    )


# ---- the user's own tables ----


class TableData(Source):
    """The user's own table of discrete features."""

    family: ClassVar = "features"
    real: ClassVar = True

    source: Literal["table"]
    path: Text
    """The table, one sample a row under a line of names; relative to the folder of the config. A
    feature may have up to 255 values; real numbers are refused."""
    header: StrictBool = True
    """Whether the first line of a text table names the columns. Without this line columns are named
    `x1`, `x2` and so on."""
    test_path: Text | None = None
    """A table of test samples with the same columns."""
    response: Text
    """The column to predict."""
    id: Text | None = None
    """The column that names the samples. It is not a feature, and its values must be unique."""
    ignore: list[Text] = []
    """Columns to ignore."""
    sample_groups: SampleGroups = None
    accept: Accepted = []
    covariates: Covariates = []
    missing: list[Annotated[str, Field(strict=True)]] = []
    """Codes of missing values, in addition to empty cells, `NA`, `?` and the like. A pattern of a
    missing value is not present in the sample."""

    decimal: Decimal = "."
    thousands: Thousands = None

    _differ = model_validator(mode="after")(reading.check_keys)

    _each_once = field_validator("ignore", "missing")(distinct)

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        train = self._read(folder / self.path, continuous=continuous)
        train = grouped(train, self.sample_groups, self.path)
        if self.test_path is None:
            return [train]
        return [train, self._read(folder / self.test_path, like=train, continuous=continuous)]

    def read_new(self, path: Path, like: FeatureTable) -> FeatureTable:
        return self._read(path, like=like, new=True)

    def read_tested(self, path: Path, like: FeatureTable) -> FeatureTable:
        options = {"new": True, "tested": True, "continuous": not like.classes}
        table = self._read(path, like=like, **options)
        groups = self.sample_groups if self.sample_groups in table.aside else None
        return grouped(table, groups, path.name)

    def _read(self, path: Path, **options: Any) -> FeatureTable:
        ignore = left_out(self.ignore, self.sample_groups)
        keys: dict[str, Any] = {"ignore": tuple(ignore), "missing": tuple(self.missing)}
        keys |= {"decimal": self.decimal, "thousands": self.thousands}
        keys |= {"covariates": tuple(self.covariates)}
        return read_features(path, self.response, id=self.id, header=self.header, **keys, **options)


def read_features(
    path: Path,
    response: str,
    *,
    like: FeatureTable | None = None,
    continuous: bool = False,
    new: bool = False,
    **keys: Any,
) -> FeatureTable:
    """Read a table of discrete features, one sample per line under a line of names.

    Parameters
    ----------
    path : text (`.csv`, `.tsv`, `.tab`, `.txt`, also packed as `.gz`; UTF-8), or `.parquet`.
    response : the column of the classes.
    like : the training table, whose features (in any order), values and classes count; other
        values are UNSEEN.
    continuous : the responses are real numbers, not classes.
    new : the samples are new: the response of what is returned means nothing.
    keys : others of `Wanted`.

    Returns
    -------
    FeatureTable, codes in the order of the numbers where all values of a column are whole numbers
    (1.0 is 1), otherwise of the alphabet.
    """
    path = Path(path)
    where, names = shown(path), None if like is None else like.features
    if path.suffix.lower() != ".parquet" and not reading.text_suffix(path):
        fault = f"{where}: cannot read {shorten(path.suffix) or 'this'}"
        raise DataError(f"{fault}. Fix: use {', '.join(reading.USUAL)} (also as .gz) or .parquet")
    wanted = Wanted(response, new=new, features=names, **keys)
    samples, encoder, X, notes = read_coded(path, wanted, like, CategoryEncoder, texts=True)
    frame = samples.frame
    columns = [frame[name] for name in wanted.covariates]
    covariates = {x.name: reading.real_numbers(x, frame, *COVARIATE) for x in columns}
    if like is not None and not wanted.has_response:
        classes, y = like.classes, np.zeros(len(X), dtype=like.response.dtype)
    else:
        classes, y = _responses(samples, continuous, like)
    aside = {name: cells for name, cells in samples.aside.items() if name in wanted.ignore}
    return FeatureTable(
        X, y, encoder.names, encoder.values, classes, source=path.name, ids=samples.ids,
        notes=notes, aside=aside, covariates=covariates,
    )  # fmt: skip


def _responses(
    samples: Samples, continuous: bool, like: FeatureTable | None
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of the classes and the class of each sample; or none, and real numbers."""
    frame, column = samples.frame, samples.response
    assert column is not None
    check_plain(column, frame)
    what = f"{frame.where}: the response {quoted(column.name)}"
    if continuous:
        return [], real_responses(column, frame, training=like is None)
    hint = "; if it is a number to predict, model.response: gaussian predicts it as a number"
    classes = find_symbols(column, what, hint=hint) if like is None else like.classes
    codes = encode_classes(column, classes, frame)
    if len(classes) < 2:
        fault = f"{what} is {quoted(classes[0])} in all samples"
        raise DataError(f"{fault}. Fix: choose a response with two classes")
    return classes, codes.astype(np.int32)
