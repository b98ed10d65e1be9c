"""What the samples of a fitted model are: names and values of features, states, medians.

New samples are coded as the training samples were.  They come from a table that a source has read,
or in Python from a DataFrame or an array.
"""

import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from thesiskit.datasets.source import FeatureTable, Sequences, Table
from thesiskit.errors import DataError, list_some, quoted
from thesiskit.frame import MOST_NAMED, Frame, NumberEncoder, as_pandas, check_text, warn_of_unknown
from thesiskit.models.base import check
from thesiskit.models.chains import Arrays
from thesiskit.models.likeness import MOST_DISCRETE, Likeness, indicators
from thesiskit.models.packed import above, find_missing, read_columns
from thesiskit.models.patterns import PATTERNS, Groups

NONE = np.empty(0, dtype=np.intp)


class Inputs:
    """What is known of the samples.

    like : the training samples as a source sees them, without any sample: names, values, states.
    columns : (c,) features that some method of binary features keeps, ascending.
    thresholds : (c,) above what these are 1.
    classes : what the classes are called; none of real responses.
    names : what the columns are called; empty where they have no names.
    width : how many features samples have, or states a history.
    n_values : how many values each of discrete features has, (p,), or each state; else 0.
    """

    def __init__(
        self, like: Table | FeatureTable | Sequences, columns: np.ndarray = NONE,
        thresholds: np.ndarray = NONE,
    ):  # fmt: skip
        self.like, self.columns, self.thresholds = like, columns, thresholds
        self.family, self.names, self.width = like.family, like.columns, like.inputs.shape[1]
        self.classes = list(like.classes)
        values = getattr(like, "values", None)
        states = len(getattr(like, "states", ()))
        self.n_values: Any = states if values is None else [*map(len, values)]
        self._groups: dict[tuple, Groups] = {}

    def of_data(self, X: Any) -> np.ndarray:
        """Return samples from a DataFrame or AnnData, matched by name, or from an array."""
        if self.family == "sequences":
            states = np.asarray(as_pandas(X))
            self._check_shape(states.shape)
            return cast(Sequences, self.like).coded(states)
        frame = Frame.of(X)
        encoder: Any = self.like.encoder  # type: ignore[union-attr]
        if not (frame.named and self.names):
            self._check_shape((len(frame), len(frame.columns)))
            frame = frame.renamed(self.names or encoder.names)
        if self.family == "table" and not {*encoder.names} <= {*frame.names}:
            encoder = NumberEncoder(self.names)  # the features made of columns of words
        twice = [quoted(name) for name, n in Counter(frame.names).items() if n > 1]
        if twice:
            raise DataError(f"the table has two columns called {list_some(twice, MOST_NAMED)}")
        lacking = [quoted(name) for name in encoder.names if name not in frame]
        if lacking:
            raise DataError(f"the table has no column {list_some(lacking, MOST_NAMED)}")
        if not len(frame):
            raise DataError("there are no samples to predict")
        X, notes = encoder.transform(frame)
        notes = [f"{frame.where}: {note}" for note in notes]
        if self.family == "features":
            warn_of_unknown(X, notes)
            return X
        for note in notes:
            warnings.warn(note, stacklevel=4)
        infinite = np.argwhere(np.isinf(X))
        if len(infinite):
            raise DataError(f"a value is infinite in {frame.place(int(infinite[0, 0]))}")
        return X

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[1] != self.width:
            raise DataError(f"the model has {self.width:,} columns; got a table of shape {shape}")
        if not shape[0]:
            raise DataError("there are no samples to predict")

    def table(self, samples: np.ndarray, selected: np.ndarray, *, bits: bool) -> np.ndarray:
        """Return some features of samples (T, p), (T, k), or 1 where they are above thresholds.

        NaN is a missing value, also among bits.
        """
        block = read_columns(samples, selected)
        if not bits:
            return block
        missing = find_missing(block)
        thresholds = self.thresholds[np.searchsorted(self.columns, selected)]
        ones = np.ascontiguousarray(above(block, thresholds))
        return ones if missing is None else np.where(missing, np.float32(np.nan), ones)

    def compared(self, samples: np.ndarray) -> np.ndarray:
        """Return what of samples (T, p) is compared with training samples, a table of numbers."""
        # genotypes that are packed in their file are unpacked
        return indicators(samples[:, :], self.n_values) if self.family == "features" else samples

    def likeness(
        self, codes: np.ndarray, y: np.ndarray, groups: np.ndarray | None
    ) -> Likeness | None:
        """Return what new samples of discrete features are compared with; None of too many."""
        if self.width > MOST_DISCRETE:
            return None
        return Likeness.of(self.compared(codes), y, NONE, groups, least=1 / len(y))

    def checked(self, selected: np.ndarray, *, bits: bool) -> np.ndarray:
        """Return columns (k,) of a model file; ValueError for what `table` cannot take."""
        selected = selected.astype(np.intp)
        check(len(np.unique(selected)) == selected.size)
        check(selected.ndim == 1 and ((selected >= 0) & (selected < self.width)).all())
        check(not bits or np.isin(selected, self.columns).all())  # these have thresholds
        return selected

    def groups(self, codes: np.ndarray, order: int, *, compress: bool, min_samples: int) -> Groups:
        """Return the groups of the training samples, codes (n, p); those of a model are found once.

        compress, min_samples : as `compress_features` takes them.
        """
        if self.family == "sequences" and min_samples != 1:
            raise ValueError("sequences have all their patterns")
        key = (order, compress, min_samples)
        if key not in self._groups:
            patterns = PATTERNS[self.family].like(self.like)
            self._groups[key] = patterns.groups(
                codes, order, compress=compress, min_samples=min_samples
            )
        return self._groups[key]

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""
        like: Any = self.like
        about: dict[str, Any] = {"classes": self.classes}
        if self.family == "features":
            about |= {"features": like.features, "values": like.values}
            return about | ({"alleles": like.alleles} if like.alleles else {}), {}
        if self.family == "sequences":
            return about | {"states": like.states, "length": self.width}, {}
        arrays = {"columns": self.columns, "thresholds": self.thresholds}
        about |= {"names": like.names, "width": self.width, "coding": like.encoder.coding}
        return about, arrays

    @classmethod
    def restore(cls, family: str, about: Mapping[str, Any], arrays: Arrays) -> "Inputs":
        """Return the inputs of a family of data that `stored` described."""
        classes = distinct("classes", about["classes"])
        codes = np.empty(0, dtype=np.int32)
        if family == "features":
            features = distinct("features", about["features"])
            values = [distinct("values", symbols) for symbols in about["values"]]
            alleles = [(str(one), str(other)) for one, other in about.get("alleles", ())]
            lengths = {len(features), len(values), len(alleles or features)}
            if len(lengths) > 1 or not features:
                raise ValueError("its features are damaged")
            none = np.empty((0, len(features)), dtype=np.int16)
            return cls(FeatureTable(none, codes, features, values, classes, alleles))
        if family == "sequences":
            states, length = distinct("states", about["states"]), int(about["length"])
            if not states or length < 0:
                raise ValueError("its states are damaged")
            none = np.empty((0, length), dtype=np.int32)
            return cls(Sequences(none, codes, states, classes))
        columns, thresholds = arrays["columns"].astype(np.intp), arrays["thresholds"].astype(float)
        names, width = distinct("names", about["names"]), int(about["width"])
        inside = columns.ndim == 1 and not ((columns < 0) | (columns >= width)).any()
        if not inside or columns.shape != thresholds.shape or (np.diff(columns) <= 0).any():
            raise ValueError("its columns are damaged")
        if len(classes) == 1 or (names and len(names) != width):
            raise ValueError("its names are damaged")
        coding = {str(name): [*map(str, words)] for name, words in about.get("coding", {}).items()}
        features = names or [f"x{j + 1}" for j in range(width)]
        encoder = NumberEncoder.of_features(features, coding)
        several = all(len(words) > 1 for words in coding.values())
        if encoder.features != features or not coding.keys() <= {*encoder.names} or not several:
            raise ValueError("its words are damaged")
        like = Table(np.empty((0, width)), codes, names, tuple(classes), encoder=encoder)
        return cls(like, columns, thresholds)


def distinct(entry: str, names: Any) -> list[str]:
    """Return the names of an entry of a model file; ValueError where two of them are equal.

    Or where one has control characters, unless these are values of features.
    """
    held = [str(name) for name in names]
    for name in () if entry == "values" else held:
        check_text(name, entry, "export the model again")
    twice = next((name for name, number in Counter(held).items() if number > 1), None)
    if twice is not None:
        raise ValueError(f"{entry} has {quoted(twice, 30)} twice")
    return held
