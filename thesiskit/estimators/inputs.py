"""What estimators are given: tables of other packages, and how many chains run at a time."""

import inspect
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.errors import UserError, few, quoted
from thesiskit.models.chains import cores
from thesiskit.models.patterns import available_memory

GIGABYTE = 1e9
REQUIRED = inspect.Parameter.empty  # in place of a default


def as_table(X):
    """Return the features of AnnData as a DataFrame with a column for each variable.

    AnnData is known by its `X` and `var_names`, so that the package itself is not needed.  A sparse
    X is filled with its zeros.  Everything else is returned as it is.

    Raises UserError for names that occur twice, and for more values than memory would hold.
    """
    names = getattr(X, "var_names", None)
    if names is None or not hasattr(X, "X"):
        return X
    values, names = X.X, pd.Index(names).astype(str)
    if values is None:
        raise UserError("the AnnData has no X; put the features there, such as from a layer")
    if not names.is_unique:
        twice = list(dict.fromkeys(names[names.duplicated()]))
        raise UserError(
            f"var_names has {few(twice)} more than once; call var_names_make_unique() first"
        )
    if hasattr(values, "toarray"):
        needed = 8.0 * np.prod(values.shape)
        if needed > available_memory() / 2:
            raise UserError(
                f"X is sparse, and without gaps its {values.shape[0]:,} x {values.shape[1]:,} "
                f"values take {needed / GIGABYTE:.0f} GB; choose variables first, such as "
                "adata[:, adata.var.highly_variable]"
            )
        values = values.toarray()
    return pd.DataFrame(np.asarray(values[:]), columns=names)


def as_numbers(X):
    """Return a table of objects or of text columns as numbers; everything else as it is.

    Raises UserError for what is no number, and for arrays of text.
    """
    if isinstance(X, pd.DataFrame):
        kinds = X.dtypes.tolist()
        numeric = {one: pd.api.types.is_numeric_dtype(one) for one in set(kinds)}
        others = np.flatnonzero([not numeric[one] for one in kinds])
        if not len(others):
            return X
        names = X.columns[others]
        _floats(_objects(X.iloc[:, others[:1]]), names)  # where all are words that is enough
        if len(others) == X.shape[1]:
            return pd.DataFrame(_floats(_objects(X), names), columns=X.columns)
        found = np.empty(X.shape)
        found[:, others] = _floats(_objects(X.iloc[:, others]), names)
        rest = np.setdiff1d(np.arange(X.shape[1]), others)
        found[:, rest] = X.iloc[:, rest].to_numpy(float, na_value=np.nan)
        return pd.DataFrame(found, columns=X.columns)
    if not isinstance(X, np.ndarray) or X.dtype.kind in "biufc":
        return X
    if X.dtype.kind != "O":
        raise UserError(
            f"features must be numbers, got an array of {X.dtype}; X.astype(float) makes numbers "
            "of text that is one"
        )
    return _floats(X, None) if X.ndim == 2 else X


def _objects(frame: pd.DataFrame) -> np.ndarray:
    return frame.to_numpy(dtype=object, na_value=np.nan)


def _floats(values: np.ndarray, names: pd.Index | None) -> np.ndarray:
    """Return objects (n, p) as numbers; names (p,) are those of the columns."""
    try:
        return values.astype(float)
    except ValueError:
        for j, column in enumerate(values.T):
            for i, value in enumerate(column):
                try:
                    float(value)
                except ValueError:
                    name = f"number {j + 1}" if names is None else quoted(names[j])
                    raise UserError(
                        f"features must be numbers, and column {name} holds {quoted(value)} in "
                        f"case {i + 1}; make categories columns of 0 and 1 (pandas.get_dummies), "
                        "or leave such columns out"
                    ) from None
        raise


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


def initialiser(parameters: Mapping[str, Any]) -> Any:
    """Return an __init__ with a signature, as scikit-learn reads it: all but the first by name.

    parameters : their defaults; of one that has to be given, REQUIRED.
    """
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    listed = [inspect.Parameter("self", kinds[0])]
    listed += [inspect.Parameter(name, kinds[i > 0], default=default)
               for i, (name, default) in enumerate(parameters.items())]  # fmt: skip
    signature = inspect.Signature(listed)

    def __init__(self, *given, **named):
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        for name in parameters:
            setattr(self, name, bound.arguments[name])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
