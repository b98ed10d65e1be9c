"""The common part of models with interactions: tables as codes, and the largest groups."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted, validate_data

from thesiskit.errors import UserError
from thesiskit.estimators.categories import encode, find_categories, symbols
from thesiskit.estimators.inputs import as_table
from thesiskit.estimators.logistic import PatternModel
from thesiskit.models.patterns import check_order, compress_features
from thesiskit.models.priors import whole

LEVELS = (0.05, 0.95)  # of the intervals of `largest`


class FeatureModel(PatternModel):
    """Features of any discrete values, and the groups of their patterns."""

    patterns = "features"
    min_cases: Any

    def _learn(self, X, y, **checks):
        """Return codes (n, p), the order and the responses, once the categories are known."""
        X = as_table(X)
        X, y = validate_data(self, X, y, **_options(X), **checks)
        order = check_order(self.order, X.shape[1], self.patterns)
        self.categories_ = find_categories(X, self._names)
        return encode(X, self._names, self.categories_), order, y

    def _group(self, codes, order):
        return compress_features(
            codes, order, compress=bool(self.compress), min_cases=self.min_cases
        )

    def _codes(self, X):
        X = as_table(X)
        X = validate_data(self, X, reset=False, **_options(X))
        return encode(X, self._names, self.categories_)

    @property
    def _names(self) -> list[str]:
        """Names of the features; x0, x1, ... if the table has no names."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

    def _pattern_names(self):
        values = [symbols(one) for one in self.categories_]
        groups = self.compression_
        return [groups.pattern(g, self._names, values) for g in range(groups.n_groups)]

    def largest(self, k=20):
        """Return the k groups of patterns with the largest coefficients, by absolute median.

        The columns of the table are: pattern, a shortest pattern of the group, such as
        "size=small, form=round"; patterns, the number of patterns that share the coefficient;
        cases, the number of training cases in which the patterns are present; class, the class
        that the coefficient belongs to (with two classes, the second); low, high and median, the
        90% interval and the median of the posterior.  The group of all cases is left out.
        """
        check_is_fitted(self)
        groups = self.compression_
        if groups is None:
            raise UserError("a Gaussian process has no coefficients; use engine='slice'")
        draws = self._unit * self._draws.flat[0]
        median = np.median(draws, axis=0)
        interactions = np.flatnonzero(groups.kinds[groups.kind, 0] == 0)
        size = np.abs(median[:, interactions])
        largest = np.argsort(-size, axis=None, kind="stable")[: whole("k", k)]
        sets, place = np.unravel_index(largest, size.shape)
        found = interactions[place]
        low, high = np.quantile(draws[:, sets, found], LEVELS, axis=0)
        values = [symbols(one) for one in self.categories_]
        labels = getattr(self, "classes_", None)  # the last is that of a single set
        return pd.DataFrame({
            "pattern": [groups.pattern(g, self._names, values) for g in found],
            "patterns": groups.patterns_per_order[found].sum(axis=1),
            "cases": np.diff(groups.indptr)[found],
            **({} if labels is None else {"class": labels[-len(size) :][sets]}),
            "low": low,
            "high": high,
            # last, because a narrow terminal leaves out columns in the middle
            "median": median[sets, found],
        })  # fmt: skip

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


def _options(X) -> dict[str, Any]:
    """Return what scikit-learn should check: lists and tables may have columns of many types."""
    return {"dtype": None if isinstance(X, np.ndarray) else object, "ensure_all_finite": False}
