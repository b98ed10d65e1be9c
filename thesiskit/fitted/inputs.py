"""What the cases of a fitted model are: names and values of features, states, medians.

New cases are coded as the training cases were.  They come from a table that a source has read, or
in Python from a DataFrame or an array.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from thesiskit.datasets.source import MISSING, UNSEEN, FeatureTable, Sequences, Table
from thesiskit.errors import DataError, few, quoted
from thesiskit.models.chains import Arrays
from thesiskit.models.packed import above, find_missing, read_columns
from thesiskit.models.patterns import Groups, compress_features, compress_sequences


class Inputs(ABC):
    """What is known of the cases of one family of data.

    classes : what the classes are called; none of real responses.
    """

    family: ClassVar[str]

    def __init__(self, classes: list[str]):
        self.classes = classes

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """What the columns are called; empty where they have no names."""

    @property
    @abstractmethod
    def like(self) -> Any:
        """The training cases as a source sees them, without any case: names, values, states."""

    @abstractmethod
    def of_array(self, X: np.ndarray) -> np.ndarray:
        """Return cases (T, p), with the columns in order, as `predict` of arms takes them."""

    @abstractmethod
    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""

    @classmethod
    @abstractmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays) -> "Inputs":
        """Return the inputs that `stored` described."""

    @staticmethod
    def of_table(table: Any) -> np.ndarray:
        """Return the cases of what a source has read."""
        return table.inputs

    def of_data(self, X: Any) -> np.ndarray:
        """Return cases from a DataFrame or AnnData, matched by name, or from an array."""
        if hasattr(X, "to_df"):
            X = X.to_df()
        if isinstance(X, pd.DataFrame) and self.names:
            columns = [str(name) for name in X.columns]
            lacking = [name for name in self.names if name not in columns]
            if lacking:
                raise DataError(
                    f"the table has no column {few([quoted(name) for name in lacking])}"
                )
            X = X.iloc[:, [columns.index(name) for name in self.names]]
        X = X.to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)
        width = len(self.names) or self.like.inputs.shape[1]
        if X.ndim != 2 or X.shape[1] != width:
            raise DataError(f"the model has {width:,} columns; got a table of shape {X.shape}")
        if not len(X):
            raise DataError("there are no cases to predict")
        return self.of_array(X)


class TableInputs(Inputs):
    """Features that are numbers, and where arms take binary ones, above what they are 1.

    width : number of features.
    columns : (c,) features that some arm of binary features keeps, ascending, with thresholds (c,).
    """

    family = "table"

    def __init__(
        self,
        classes: list[str],
        names: list[str],
        width: int,
        columns: np.ndarray,
        thresholds: np.ndarray,
    ):
        super().__init__(classes)
        self._names, self.width = names, width
        self.columns, self.thresholds = columns, thresholds

    @property
    def names(self) -> list[str]:
        """What the features are called."""
        return self._names

    @property
    def like(self) -> Table:
        """The training table without its cases."""
        none = np.empty(0, dtype=np.uint8)
        return Table(np.empty((0, self.width)), none, self._names, classes=tuple(self.classes))

    @staticmethod
    def of_table(table: Table) -> np.ndarray:
        """Return the cases of what a source has read."""
        return table.features

    def of_array(self, X: np.ndarray) -> np.ndarray:
        """Return cases (T, p) as numbers."""
        if X.dtype.kind not in "biuf":
            try:
                X = X.astype(float)
            except (TypeError, ValueError):
                raise DataError("features must be numbers") from None
        return X

    def bits(self, cases: np.ndarray, selected: np.ndarray) -> np.ndarray:
        """Return some features of cases (T, p) as 0 and 1, (T, k); NaN where one is missing."""
        block = read_columns(cases, selected)
        missing = find_missing(block)
        thresholds = self.thresholds[np.searchsorted(self.columns, selected)]
        bits = np.ascontiguousarray(above(block, thresholds))
        return bits if missing is None else np.where(missing, np.float32(np.nan), bits)

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""
        return {"names": self._names, "width": self.width}, {
            "columns": self.columns, "thresholds": self.thresholds,
        }  # fmt: skip

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays) -> "TableInputs":
        """Return the inputs that `stored` described."""
        columns, thresholds = arrays["columns"].astype(np.intp), arrays["thresholds"].astype(float)
        names, width = [str(name) for name in about["names"]], int(about["width"])
        inside = columns.ndim == 1 and not ((columns < 0) | (columns >= width)).any()
        if not inside or columns.shape != thresholds.shape or (np.diff(columns) <= 0).any():
            raise ValueError("its columns are damaged")
        if len(about["classes"]) < 2 or (names and len(names) != width):
            raise ValueError("its names are damaged")
        return cls([str(one) for one in about["classes"]], names, width, columns, thresholds)


class PatternInputs(Inputs):
    """Cases that are described by patterns of codes."""

    def __init__(self, classes: list[str]):
        super().__init__(classes)
        self._groups: dict[tuple, Groups] = {}

    def groups(self, codes: np.ndarray, order: int, *, compress: bool, min_cases: int) -> Groups:
        """Return the groups of the training cases, codes (n, p); those of a model are found once.

        compress, min_cases : as `compress_features` takes them.
        """
        key = (order, compress, min_cases)
        if key not in self._groups:
            self._groups[key] = self._find(codes, order, compress=compress, min_cases=min_cases)
        return self._groups[key]

    @abstractmethod
    def _find(self, codes: np.ndarray, order: int, *, compress: bool, min_cases: int) -> Groups:
        """Return the groups of the training cases."""


class FeatureInputs(PatternInputs):
    """Discrete features.

    features, values : their names, and the symbol of each code of each.
    """

    family = "features"

    def __init__(self, classes: list[str], features: list[str], values: list[list[str]]):
        super().__init__(classes)
        self.features, self.values = features, values

    @property
    def names(self) -> list[str]:
        """What the features are called."""
        return self.features

    @property
    def like(self) -> FeatureTable:
        """The training table without its cases."""
        response = np.empty(0, dtype=np.int32 if self.classes else np.float64)
        X = np.empty((0, len(self.features)), dtype=np.int16)
        return FeatureTable(X, response, self.features, self.values, self.classes)

    def _find(self, codes: np.ndarray, order: int, *, compress: bool, min_cases: int) -> Groups:
        return compress_features(codes, order, compress=compress, min_cases=min_cases)

    def of_array(self, X: np.ndarray) -> np.ndarray:
        """Return the codes of values (T, p) of any type."""
        columns = []
        for column, values in zip(X.T, self.values, strict=True):
            code = {symbol: number for number, symbol in enumerate(values)}
            missing = pd.isna(column)
            found = [code.get(_symbol(value), UNSEEN) for value in column.tolist()]
            columns.append(np.where(missing, MISSING, found))
        return np.column_stack(columns).astype(np.int16)

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""
        return {"features": self.features, "values": self.values}, {}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays) -> "FeatureInputs":  # noqa: ARG003
        """Return the inputs that `stored` described."""
        features = [str(name) for name in about["features"]]
        values = [[str(one) for one in some] for some in about["values"]]
        if len(features) != len(values) or not features:
            raise ValueError("its features are damaged")
        return cls([str(one) for one in about["classes"]], features, values)


class SequenceInputs(PatternInputs):
    """Histories of states.

    states : the symbol of each code.
    length : states in a history.
    """

    family = "sequences"

    def __init__(self, classes: list[str], states: list[str], length: int):
        super().__init__(classes)
        self.states, self.length = states, length

    @property
    def names(self) -> list[str]:
        """States of a history have none."""
        return []

    @property
    def like(self) -> Sequences:
        """The training cases without any."""
        histories = np.empty((0, self.length), dtype=np.int32)
        none = np.empty(0, dtype=np.int32)
        return Sequences(histories, none, self.states, self.classes)

    def _find(self, codes: np.ndarray, order: int, *, compress: bool, min_cases: int) -> Groups:
        if min_cases > 1:
            raise ValueError("sequences have all their patterns")
        return compress_sequences(codes, order, compress=compress)

    def of_array(self, X: np.ndarray) -> np.ndarray:
        """Return the codes of states (T, length), in time order."""
        code = {symbol: number for number, symbol in enumerate(self.states)}
        found = [[code.get(_symbol(value), UNSEEN) for value in row] for row in X.tolist()]
        return np.array(found, dtype=np.int32)

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""
        return {"states": self.states, "length": self.length}, {}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays) -> "SequenceInputs":  # noqa: ARG003
        """Return the inputs that `stored` described."""
        classes = [str(one) for one in about["classes"]]
        states, length = [str(one) for one in about["states"]], int(about["length"])
        if not states or length < 0:
            raise ValueError("its states are damaged")
        return cls(classes, states, length)


INPUTS: dict[str, type[Inputs]] = {
    one.family: one for one in (TableInputs, FeatureInputs, SequenceInputs)
}


def _symbol(value: object) -> str:
    """Return a value as tables write it: 1 for 1.0 and for True."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
