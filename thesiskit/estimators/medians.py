"""A transformer that makes features binary."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from thesiskit.estimators.inputs import as_table
from thesiskit.models.packed import above, find_missing, median_thresholds


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
