"""What estimators are given: tables of other packages, values of any type, how long chains run."""

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from thesiskit.defaults import MOST_VALUES, UNTIL_CHAINS, UNTIL_FEWER_ITERATIONS
from thesiskit.errors import DataError, UserError, list_some, quoted
from thesiskit.models.chains import Until, cores
from thesiskit.models.packed import above, find_missing, median_thresholds
from thesiskit.models.patterns import MISSING, UNSEEN, available_memory

AUTO = "auto"
GIGABYTE = 1e9


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
            f"var_names has {list_some(twice)} more than once; call var_names_make_unique() first"
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
        if all(map(pd.api.types.is_numeric_dtype, set(X.dtypes))):
            return X
        numbers = _floats(X.to_numpy(dtype=object, na_value=np.nan), X.columns)
        return pd.DataFrame(numbers, columns=X.columns)
    if not isinstance(X, np.ndarray) or X.dtype.kind in "biufc":
        return X
    if X.dtype.kind != "O":
        raise UserError(
            f"features must be numbers, got an array of {X.dtype}; X.astype(float) makes numbers "
            "of text that is one"
        )
    return _floats(X, None) if X.ndim == 2 else X


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


def coded(estimator: Any, y: Any) -> np.ndarray:
    """Return labels as the places of their classes, (n,), which become `classes_`."""
    check_classification_targets(y)
    estimator.classes_, places = np.unique(y, return_inverse=True)
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
        X = validate_data(self, as_table(X), dtype="numeric", ensure_all_finite="allow-nan")
        self.thresholds_ = median_thresholds(X)
        return self

    def transform(self, X):
        """Return a uint8 table of 0 and 1; with missing values, a float32 table with NaN."""
        check_is_fitted(self)
        table = as_table(X)
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

    def _discrete(self, X, **options) -> Any:
        """Return what the checks of scikit-learn leave of a table, whatever its values are.

        Lists and tables may have columns of many types.
        """
        X = as_table(X)
        usual = {"dtype": None if isinstance(X, np.ndarray) else object, "ensure_all_finite": False}
        return validate_data(self, X, **usual | options)

    def _codes(self, X):
        """Return the codes of new cases, (m, p)."""
        return encode(self._discrete(X, reset=False), self._names, self.categories_)

    @property
    def _names(self) -> list[str]:
        """Names of the features; x0, x1, ... if the table has no names."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)


def find_categories(
    X: np.ndarray, names: Sequence[str], most: int = MOST_VALUES, instead: str = ""
) -> list[np.ndarray]:
    """Return the values in each column of X (n, p), sorted, without None, NaN and NA.

    Values that are equal in Python, such as 1, 1.0 and True, are one value.  Raises DataError for a
    column of real or infinite numbers, of values that cannot be compared, or of more than `most`.

    instead : what messages say that one can do with real values.
    """
    found = []
    for name, (_, values) in zip(names, _columns(X, names, instead), strict=True):
        if len(values) > most:
            raise DataError(
                f"column {name} has {len(values)} values; a feature may have {most}: "
                f"put them together in classes{instead}, or leave the column out"
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


def _columns(
    X: np.ndarray, names: Sequence[str], instead: str = ""
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
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
                if isinstance(value, Integral) or not isinstance(value, Real):
                    continue
                if float(value).is_integer():
                    continue
                fault = "infinity is no value of a feature"
                if not np.isinf(float(value)):
                    fault = (
                        "real values must be cut into intervals first, for example by "
                        f"scikit-learn's KBinsDiscretizer{instead}"
                    )
                raise DataError(f"column {name} holds {value:g}; {fault}")
        yield which, values


# ---- chains ----


def run_length(
    until: Any, given: Mapping[str, Any], usual: Mapping[str, Any], *, judged: bool = True
) -> dict[str, Any]:
    """Return until, and the values of `given` with what stands for None.

    given : chains, iterations and so on, as the user gave them; usual : of chains that are not
    judged.  With until "auto" chains are judged unless the user gave a length, or one chain.

    judged : whether the chains can be judged at all.
    Raises UserError for another word than "auto".
    """
    if isinstance(until, str):
        if until != AUTO:
            raise UserError(
                f"until must be 'auto', None or a pair of an R-hat and effective draws, "
                f"got {quoted(until)}"
            )
        lengths = [value for name, value in given.items() if name != "chains"]
        fixed = not judged or given["chains"] == 1 or any(one is not None for one in lengths)
        until = None if fixed else Until()
    if until is not None:
        usual = {
            "chains": UNTIL_CHAINS,
            "iterations": UNTIL_FEWER_ITERATIONS,
            "burn_in": 0,
            "thin": 1,
        }
    found = {name: usual[name] if value is None else value for name, value in given.items()}
    return found | {"until": until}
