"""What estimators are given: tables of other packages, values of any type, how long chains run."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from thesiskit.defaults import MOST_VALUES, UNTIL_CHAINS, UNTIL_FEWER_ITERATIONS
from thesiskit.errors import UserError, quoted
from thesiskit.frame import (
    CategoryEncoder,
    Column,
    Frame,
    as_pandas,
    check_discrete,
    sorted_symbols,
    warn_of_unknown,
)
from thesiskit.models.chains import Until, cores
from thesiskit.models.packed import above, find_missing, median_thresholds

AUTO = "auto"
LEAST_UNIT, MOST_UNIT = 1e-100, 1e100  # of real responses: their squares are numbers


class NoNumberError(UserError, TypeError):
    """A cell that is no number; also a TypeError, as scikit-learn expects of objects."""


def _is_numeric(X) -> bool:
    """Whether a DataFrame or an array has numbers alone; scikit-learn looks at other tables."""
    types = set(X.dtypes) if isinstance(X, pd.DataFrame) else {getattr(X, "dtype", np.dtype(int))}
    return all(map(pd.api.types.is_numeric_dtype, types))


def as_objects(X):
    """Return a table of columns of several types as one of objects, None where one is missing.

    Dates and numbers have no common type, and NA cannot be compared.
    """
    X = as_pandas(X)
    if _is_numeric(X):
        return X
    if isinstance(X, pd.DataFrame):
        return X.astype(object).where(X.notna(), None)
    return np.where(pd.isna(X), None, X) if X.dtype.kind == "O" else X


def as_numbers(X):
    """Return a table of objects or of text columns as numbers; everything else as it is.

    Tables of other packages become DataFrames.  Raises UserError for what is no number.
    """
    X = as_pandas(X)
    if _is_numeric(X) or X.ndim != 2:
        return X
    named, columns = isinstance(X, pd.DataFrame), []
    for j, values in enumerate((X.iloc[:, j] for j in range(X.shape[1])) if named else X.T):
        column = Column.of_values(str(X.columns[j]) if named else "", values)
        columns.append(column.values)
        if column.odd is not None:
            row, value = column.odd
            name = quoted(column.name) if named else f"number {j + 1}"
            raise NoNumberError(
                f"features must be numbers, and column {name} contains {quoted(value)} in sample "
                f"{row + 1}, where the argument must be a string or a number. "
                "Fix: dummy-code categories (pandas.get_dummies), or drop such columns"
            )
    numbers = np.column_stack(columns)
    return pd.DataFrame(numbers, columns=X.columns) if named else numbers


def check_response(y, *, numeric: bool = False):
    """Return responses (n,) of which none is missing; what is no list stays for scikit-learn.

    numeric : they are returned as numbers.  Raises UserError with the first sample at fault.
    """
    values = np.asarray(y, dtype=object)
    if values.ndim != 1 or not len(values) or np.iscomplexobj(np.asarray(y)):
        return y
    column = Column.of_values("y", values) if numeric else None
    missing = pd.isna(values) if column is None else column.missing
    if missing.any():
        raise UserError(
            f"y is missing in sample {missing.argmax() + 1} (Input y contains NaN). Fix: drop "
            "samples without a response"
        )
    if column is None:
        is_text = np.array([isinstance(value, str) for value in values])
        if is_text.any() and not is_text.all():
            raise UserError(
                f"y is text in sample {is_text.argmax() + 1}, but not in sample "
                f"{is_text.argmin() + 1}. Fix: use one type for all labels"
            )
        return y
    if column.odd is not None:
        row, value = column.odd
        raise UserError(f"y must be numbers, and is {quoted(value)} in sample {row + 1}")
    return column.values


def check_spread(y: np.ndarray) -> np.ndarray:
    """Return real responses (n,); raise UserError for those that cannot be standardised."""
    if y.min() == y.max():
        raise UserError(f"the responses are all {y[0]:g}. Fix: choose another response")
    with np.errstate(over="ignore", invalid="ignore"):
        unit = float(y.std())
    if not LEAST_UNIT <= unit <= MOST_UNIT:
        raise UserError(
            f"the responses run from {y.min():g} to {y.max():g}. Fix: give them in units in "
            f"which their standard deviation is between {LEAST_UNIT:g} and {MOST_UNIT:g}"
        )
    return y.astype(float)


def check_level(level) -> float:
    """Return the probability below a central interval; raise UserError for another level."""
    is_number = isinstance(level, Real) and not isinstance(level, bool)
    if not is_number or not 0 < level < 1:
        raise UserError(f"level must be a number between 0 and 1, got {quoted(level)}")
    return (1 - float(level)) / 2


def coded(estimator: Any, y: Any) -> np.ndarray:
    """Return labels as the places of their classes, (n,), which become `classes_`."""
    check_classification_targets(y)
    values = np.unique(y, return_inverse=True, return_counts=True)
    estimator.classes_, places, estimator.class_count_ = values
    if len(estimator.classes_) < 2:
        (only,) = estimator.classes_.tolist()
        raise ValueError(f"{type(estimator).__name__} needs two classes, got one class: {only!r}")
    return places


def threads_for(n_jobs) -> int | None:
    """Return how many chains run at a time, None for one on each core."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise UserError(
            f"n_jobs must be a whole number other than 0, or None, got {quoted(n_jobs)}"
        )
    jobs = int(n_jobs)  # below 0 as in scikit-learn: -2 leaves a core free
    return jobs if jobs > 0 else None if jobs == -1 else max(1, cores() + 1 + jobs)


class MedianBinarizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make real features binary: 1 above the training median.  0/1 columns stay as they are.

    Missing values (NaN) stay missing, and have no part in the medians.

    Attributes
    ----------
    thresholds_ : (p,) medians of the training columns; 1/2 for columns of 0 and 1.
    """

    def fit(self, X, y=None):  # noqa: ARG002
        """Learn the medians of X (n, p)."""
        X = validate_data(self, as_pandas(X), dtype="numeric", ensure_all_finite="allow-nan")
        self.thresholds_ = median_thresholds(X)
        return self

    def transform(self, X):
        """Return a uint8 table of 0 and 1; with missing values, a float32 table with NaN."""
        check_is_fitted(self)
        table = as_pandas(X)
        X = validate_data(self, table, dtype="numeric", reset=False, ensure_all_finite="allow-nan")
        bits, missing = above(X, self.thresholds_), find_missing(X)
        return bits if missing is None else np.where(missing, np.float32(np.nan), bits)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # uint8, or float32 with missing values
        tags.input_tags.allow_nan = True
        return tags


# ---- discrete values of any type as codes ----


class DiscreteFeatures(BaseEstimator):
    """Features of any discrete values, whose places among `categories_` are their codes."""

    order: Any  # of patterns; none where features are binary
    _encoder: CategoryEncoder

    def _discrete(self, X, **options) -> Any:
        """Return what the checks of scikit-learn leave of a table, whatever its values are.

        Lists and tables may have columns of many types.
        """
        X = as_objects(X)
        usual = {"dtype": None if isinstance(X, np.ndarray) else object, "ensure_all_finite": False}
        return validate_data(self, X, **usual | options)

    def _learn_categories(self, X, most: int = MOST_VALUES, hint: str = "") -> np.ndarray:
        """Learn the values of the columns of a validated table; return their codes (n, p).

        most : values that a feature may have.  hint : what else one can do with real values.
        """
        frame = Frame.of(X).renamed(self._names)
        self._encoder = CategoryEncoder.fit(frame, self._names, most, hint)
        self.categories_ = [Column("", texts=symbols).typed() for symbols in self._encoder.values]
        return self._encoder.transform(frame)[0]

    def _codes(self, X):
        """Return the codes of new samples, (m, p); warn where no value of a column is known."""
        frame = Frame.of(self._discrete(X, reset=False)).renamed(self._names)
        for column in frame.columns:
            check_discrete(sorted_symbols(column), f"column {quoted(column.name)}")
        codes, notes = self._encoder.transform(frame)
        warn_of_unknown(codes, notes)
        return codes

    @property
    def _names(self) -> list[str]:
        """Names of the features; x0, x1, ... if the table has no names."""
        return list(_check_feature_names_in(self, None))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.order:
            tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


# ---- chains ----


def run_length(
    until: Any, given: Mapping[str, Any], usual: Mapping[str, Any], *, judged: bool = True
) -> dict[str, Any]:
    """Return until, and the values of `given` with what stands for None.

    given : chains, iterations and so on, as the user gave them; usual : of chains that are not
    judged; judged : whether the chains can be judged at all.  With until "auto" chains are judged
    unless the user gave a length, or one chain.  Raises UserError for another word than "auto".
    """
    if isinstance(until, str):
        if until != AUTO:
            raise UserError(
                f"until must be 'auto', None or a pair of an R-hat and effective draws, "
                f"got {quoted(until)}"
            )
        lengths = [value for name, value in given.items() if name != "chains"]
        fixed = not judged or given["chains"] == 1 or any(length is not None for length in lengths)
        until = None if fixed else Until()
    if until is not None:
        usual = {
            "chains": UNTIL_CHAINS,
            "iterations": UNTIL_FEWER_ITERATIONS,
            "burn_in": 0,
            "thin": 1,
        }
    values = {name: usual[name] if value is None else value for name, value in given.items()}
    return values | {"until": until}
