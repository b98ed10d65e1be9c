"""Tables of discrete features: drawn, played, and the user's own.

Features are drawn uniformly (section "Experiments Demonstrating Parameter Reduction"), and
responses from the model itself ("Experiments with Data from Cauchy Models").

thesis        here         shape
x_{1:p}       X            (n, p), codes from 0
y             response     (n,), codes from 0
K_t           values       the symbols of each feature
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, StrictBool, field_validator, model_validator

from thesiskit.blocks import (
    CaseGroups,
    Covariates,
    Decimal,
    Positive,
    PositiveNumber,
    Text,
    Thousands,
    distinct,
)
from thesiskit.datasets import reading
from thesiskit.datasets.reading import MOST_REAL, REAL, WHOLE, Wanted, grouped, left_out, shown
from thesiskit.datasets.source import (
    MISSING,
    UNSEEN,
    FeatureTable,
    Sizes,
    Source,
    at_least_one,
    numbered,
)
from thesiskit.datasets.synthetic import (
    draw_real_responses,
    draw_responses,
)
from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError, list_some, quoted, shorten

Values = Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)]
MISSING_TEXTS = ("", "NA", "?", "nan", "NaN")
NULL = "\0"  # of Parquet; no text has it
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
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
    """Number of training cases."""
    test: Positive
    """Number of test cases."""

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
        if "noise" in self.model_fields_set and not getattr(config.model, "continuous", False):
            yield "data.noise: is for model.response: gaussian; leave it out"
        yield from super().incompatibilities(config)

    def draw(self, rng: np.random.Generator, *, continuous: bool = False) -> FeatureTable:
        table, _ = draw_interactions(
            rng,
            features=self.features,
            values=self.values,
            order=len(self.sigma) - 1,
            sigma=np.array(self.sigma),
            cases=self.train + self.test,
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
    rng: np.random.Generator, *, features: int, values: int, cases: int
) -> FeatureTable:
    """Draw features x1 to xp, uniform on 1 to `values`; there is one class only.

    For the experiments on the number of parameters, which the response does not change.
    """
    at_least_one(features=features, values=values, cases=cases)
    if values > MOST_VALUES:
        raise DataError(f"values is {values}; it must be at most {MOST_VALUES}")
    return FeatureTable(
        rng.integers(0, values, (cases, features), dtype=np.int16),
        np.zeros(cases, dtype=np.int32),
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
    cases: int,
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
    The table, and the probabilities (cases, 2) or linear function (cases,) of its responses.
    """
    table = draw_uniform(rng, features=features, values=values, cases=cases)
    if not 2 <= train <= cases:
        raise DataError(f"train is {train}; it must be from 2 to the {cases} cases")
    sigma = np.asarray(sigma, dtype=float)

    # the patterns of a subset are those of one less, each cut by one more feature
    level: dict[tuple[int, ...], np.ndarray] = {(): np.zeros(cases, dtype=np.int32)}
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
        response, expected = draw_real_responses(rng, patterns, sigma, noise=noise)
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
    """The table, one case a row under a line of names; relative to the folder of the config. A
    feature may have up to 255 values; real numbers are refused."""
    header: StrictBool = True
    """Whether the first line of a text table names the columns. Without such a line they are called
    `x1`, `x2` and so on."""
    test_path: Text | None = None
    """A table of test cases with the same columns."""
    response: Text
    """The column to predict."""
    id: Text | None = None
    """The column that names the cases. It is no feature, and its values must differ."""
    ignore: list[Text] = []
    """Columns to leave out."""
    case_groups: CaseGroups = None
    covariates: Covariates = []
    missing: list[Annotated[str, Field(strict=True)]] = list(MISSING_TEXTS)
    """The texts that stand for a missing value. A pattern that fixes a missing value is not present
    in the case."""

    decimal: Decimal = "."
    thousands: Thousands = None

    _differ = model_validator(mode="after")(reading.check_keys)

    _each_once = field_validator("ignore", "missing")(distinct)

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        train = self._read(folder / self.path, continuous=continuous)
        train = grouped(train, self.case_groups, self.path)
        if self.test_path is None:
            return [train]
        return [train, self._read(folder / self.test_path, like=train, continuous=continuous)]

    def read_new(self, path: Path, like: FeatureTable) -> FeatureTable:
        return self._read(path, like=like, new=True)

    def _read(self, path: Path, **options: Any) -> FeatureTable:
        ignore = left_out(self.ignore, self.case_groups)
        keys: dict[str, Any] = {"ignore": tuple(ignore), "missing": tuple(self.missing)}
        keys |= {"decimal": self.decimal, "thousands": self.thousands}
        keys |= {"covariates": tuple(self.covariates)}
        return read_features(path, self.response, id=self.id, header=self.header, **keys, **options)


def read_features(
    path: Path,
    response: str,
    *,
    missing: tuple[str, ...] = MISSING_TEXTS,
    like: FeatureTable | None = None,
    continuous: bool = False,
    new: bool = False,
    **keys: Any,
) -> FeatureTable:
    """Read a table of discrete features, one case per line under a line of names.

    Parameters
    ----------
    path : text (`.csv`, `.tsv`, `.tab`, `.txt`, also packed as `.gz`; UTF-8), or `.parquet`.
    response : the column of the classes.
    missing : what stands for a missing value; a column may have nothing else.
    like : the training table, whose features (in any order), values and classes count; other
        values are UNSEEN.
    continuous : the responses are real numbers, not classes.
    new : the cases are new: the response of what is returned means nothing.
    keys : others of `Wanted`.

    Returns
    -------
    FeatureTable, codes in the order of the numbers where all values of a column are whole numbers
    (1.0 is 1), otherwise of the alphabet.
    """
    path = Path(path)
    source, training_features = shown(path), like.features if like else None
    cells = _read_cells(path, Wanted(response, new=new, features=training_features, **keys))
    features = training_features or cells.features
    if training_features and not new:
        for name in training_features:
            reading.check_column(name, cells.features, source)
        extra = [name for name in cells.features if name not in training_features]
        if extra:
            raise DataError(
                f"{source}: the training table has no feature {list_some(extra)}; data.ignore it"
            )
    values, coded = [], []
    for j, name in enumerate(features):
        column, symbols = cells.columns[name], like.values[j] if like else None
        if like is None:
            reading.check_counter(name, column, source)
        column_name = f"{source}: column {quoted(name)}"
        symbols, codes = encode(column, (*missing, NULL), symbols, column_name)
        values.append(symbols)
        coded.append(codes)
    X = np.column_stack(coded)
    unseen = _unseen(cells, X, like) if like else []
    covariates = {
        name: reading.covariate(name, cells.columns[name], cells.places, (*missing, NULL), source)
        for name in keys.get("covariates", ())
    }
    if like and new:
        no_response = np.zeros(len(X), dtype=like.response.dtype)
        notes = [*cells.notes, *(f"{source}: {remark}" for remark in unseen)]
        return replace(
            like, X=X, response=no_response, source=path.name, ids=cells.ids, notes=notes,
            covariates=covariates,
        )  # fmt: skip
    classes, y = _responses(cells, response, missing, source, continuous, like)
    remarks = reading.missing_values(X == MISSING)
    if like is not None:
        remarks += [*unseen, *reading.cases_of_both(like.ids, cells.ids)]
    notes = [*cells.notes, *(f"{shorten(path.name)}: {remark}" for remark in remarks)]
    return FeatureTable(
        X, y, list(features), values, classes, source=path.name, ids=cells.ids, notes=notes,
        aside={name: list(cells.columns[name]) for name in keys.get("ignore", ())
               if name in cells.columns},
        covariates=covariates,
    )  # fmt: skip


def _responses(
    cells: "Cells",
    response: str,
    missing: tuple[str, ...],
    source: str,
    continuous: bool,
    like: FeatureTable | None,
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of the classes and the class of each case; or none, and real numbers."""
    source = f"{source}: the response {quoted(response)}"
    labels = cells.columns[response]
    cases = list(zip(labels, cells.places, strict=True))
    for label, place in cases:
        if label in missing or label == NULL:
            text = "" if label == NULL else f" ({quoted(label)})"
            raise DataError(f"{source} is missing in {place}{text}; leave such cases out")
    if continuous:
        for label, place in cases:
            if not (REAL.fullmatch(label) and abs(float(label)) <= MOST_REAL):
                raise DataError(
                    f"{source} is {quoted(label)} in {place}, which is no number within "
                    f"{MOST_REAL:g}; mend it, or leave such cases out"
                )
        y = np.array(labels, dtype=float)
        if like is None and y.min() == y.max():
            raise DataError(
                f"{source} is {shorten(labels[0])} in all cases; there is nothing to predict"
            )
        return [], y
    hint = "; if it is a number to predict, model.response: gaussian takes it as it is"
    classes, codes = encode(labels, (), like.classes if like else None, source, hint)
    for code, (label, place) in zip(codes, cases, strict=True):
        if code == UNSEEN:
            raise DataError(
                f"{source} is {quoted(label)} in {place}, which no training case has "
                f"({list_some(classes)}); leave such cases out, or train with some"
            )
    if len(classes) < 2:
        raise DataError(f"{source} is {quoted(classes[0])} in all cases; two classes are needed")
    return classes, codes.astype(np.int32)


def _unseen(cells: "Cells", X: np.ndarray, like: FeatureTable) -> list[str]:
    """Say which values no training case has."""
    odd = np.flatnonzero((X == UNSEEN).any(axis=0))
    if not len(odd):
        return []
    examples = []
    for j in odd[:3]:
        column = np.array(cells.columns[like.features[j]], dtype=object)
        values = list(dict.fromkeys(column[X[:, j] == UNSEEN]))
        examples.append(f"{quoted(like.features[j], 30)} is {list_some(values, 3)}")
    more = f", and so in {len(odd) - 3:,} other features" if len(odd) > 3 else ""
    cases = int((X == UNSEEN).any(axis=1).sum())
    return [
        f"values that no training case has, in {cases:,} "
        f"case{'s' * (cases != 1)}: {'; '.join(examples)}{more}"
    ]


class Cells(NamedTuple):
    """The cells of a table as text."""

    features: list[str]  # names
    columns: dict[str, tuple[str, ...]]  # by name: features, the response, those set aside
    places: list[str]  # where each case is, such as "line 3"
    ids: list[str]
    notes: list[str]


def _read_cells(path: Path, request: Wanted) -> Cells:
    source = shown(path)
    parquet = path.suffix.lower() == ".parquet"
    if not (parquet or reading.text_suffix(path)):
        raise DataError(
            f"{source}: cannot read {shorten(path.suffix) or 'this'}; use "
            f"{', '.join(reading.USUAL)} (also as .gz) or .parquet"
        )
    if parquet:
        frame, columns = reading.read_frame(path, request)
        names = list(frame.columns)
        places = [f"row {row:,}" for row in range(1, len(frame) + 1)]
    else:
        names, rows = reading.read_cells(path, header=request.header)
        reading.need_response(request, source)
        columns = reading.find_columns(names, request, source)
        lines, cases = zip(*rows, strict=True)
        places = [f"line {line}" for line in lines]
    plain = reading.plain_numbers(request.decimal, request.thousands)
    cells_of: dict[int, tuple[str, ...]] = {}
    aside = map(names.index, request.set_aside)
    for j in (*columns.features, columns.response, columns.id, *aside):
        if j is not None:
            column = frame.iloc[:, j].tolist() if parquet else [row[j] for row in cases]
            cells_of[j] = tuple(NULL if cell is None or cell != cell else str(cell).strip()
                            for cell in column)  # fmt: skip
            if plain is not None and j != columns.id:
                pairs = zip(cells_of[j], column, strict=True)
                cells_of[j] = tuple(
                    (type(raw) is str and plain(cell)) or cell for cell, raw in pairs
                )
    ids = (
        []
        if columns.id is None
        else reading.check_ids(cells_of[columns.id], names[columns.id], source)
    )
    by_name = {names[j]: column for j, column in cells_of.items()}
    return Cells(columns.names, by_name, places, ids, columns.notes)


def encode(
    labels: tuple[str, ...],
    missing: tuple[str, ...],
    symbols: list[str] | None,
    source: str,
    hint: str = "",
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of a column, the known ones if given, and its int16 codes."""
    values = set(labels) - set(missing)
    whole = all(WHOLE.fullmatch(label) for label in (values if symbols is None else symbols))
    symbol = {
        label: str(int(match[1])) if whole and (match := WHOLE.fullmatch(label)) else label
        for label in values
    }
    if symbols is None:
        if not whole and all(REAL.fullmatch(label) for label in values):
            odd = (label for label in labels if label in values and not WHOLE.fullmatch(label))
            example = next(odd)
            if example.lstrip("+-").isdigit():
                raise DataError(
                    f"{source} has a whole number of {len(example)} digits ({shorten(example)}), "
                    "more than 18; if it names something, put a letter before it"
                )
            raise DataError(
                f"{source} has real values ({shorten(example)}); cut it into intervals, for "
                f"example with scikit-learn's KBinsDiscretizer{hint}"
            )
        if values and all(DECIMAL_COMMA.fullmatch(label) for label in values):
            example = next(label for label in labels if label in values)
            raise DataError(
                f"{source} has numbers with a decimal comma ({example}); write them with a "
                f"decimal point{hint}"
            )
        for label in values:
            reading.check_text(label, f"{source}: a value", "write it in other words")
        symbols = sorted(set(symbol.values()), key=int if whole else str)
        if len(symbols) > MOST_VALUES:
            raise DataError(
                f"{source} has {len(symbols)} values, at most {MOST_VALUES} are possible; "
                f"join some, or leave it out{hint}"
            )
    number = {value: code for code, value in enumerate(symbols)}
    code = {label: number.get(symbol[label], UNSEEN) for label in values}
    return list(symbols), np.array([code.get(label, MISSING) for label in labels], dtype=np.int16)
