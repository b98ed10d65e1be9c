"""Codes for discrete values of any type: the categories of each column, missing, and unseen."""

from collections.abc import Iterator, Sequence
from numbers import Integral, Real

import numpy as np
import pandas as pd

from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError
from thesiskit.models.patterns import MISSING, UNSEEN


def find_categories(X: np.ndarray, names: Sequence[str]) -> list[np.ndarray]:
    """Return the values in each column of X (n, p), sorted, without None, NaN and NA.

    Values that are equal in Python, such as 1, 1.0 and True, are one value.  Raises DataError for a
    column of real or infinite numbers, of values that cannot be compared, or of more than 255.
    """
    found = []
    for name, (_, values) in zip(names, _columns(X, names), strict=True):
        if len(values) > MOST_VALUES:
            raise DataError(
                f"column {name} has {len(values)} values; a feature may have {MOST_VALUES}: "
                "put them together in classes, or leave the column out"
            )
        try:
            values = np.sort(values)
        except TypeError:  # of several types
            place = [(type(value).__name__, str(value)) for value in values]
            values = values[sorted(range(len(values)), key=place.__getitem__)]
        found.append(values)
    return found


def encode(X: np.ndarray, names: Sequence[str], categories: list[np.ndarray]) -> np.ndarray:
    """Return codes (n, p): places in the categories, or MISSING, or UNSEEN."""
    codes = np.empty(X.shape, dtype=np.int16)
    for j, (which, values) in enumerate(_columns(X, names)):
        place = {value: code for code, value in enumerate(categories[j].tolist())}
        # the last entry is for -1, the code of pandas for a missing value
        code = [*(place.get(value, UNSEEN) for value in values.tolist()), MISSING]
        codes[:, j] = np.array(code)[which]
    return codes


def symbols(categories: np.ndarray) -> list[str]:
    """Return the values of a column as text; whole numbers are written without a point."""
    return [f"{v:.0f}" if isinstance(v, float) else str(v) for v in categories.tolist()]


def _columns(X: np.ndarray, names: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield of each column (n,) codes, and the value of each code; -1 is missing."""
    for name, column in zip(names, X.T, strict=True):
        try:
            which, values = pd.factorize(column)
        except TypeError as error:
            raise DataError(
                f"column {name} holds values that cannot be features: {error}"
            ) from None
        if values.dtype.kind in "fO":
            for value in values:
                _check_whole(value, name)
        yield which, values


def _check_whole(value, name: str) -> None:
    if not isinstance(value, Real) or isinstance(value, Integral) or float(value).is_integer():
        return
    if np.isinf(float(value)):
        raise DataError(f"column {name} holds {value:g}; infinity is no value of a feature")
    raise DataError(
        f"column {name} holds {value:g}; real values must be cut into classes first, for example "
        "by scikit-learn's KBinsDiscretizer"
    )
