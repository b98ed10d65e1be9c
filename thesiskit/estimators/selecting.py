"""The common part of classifiers that first select features, and then fit a model to them."""

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    check_random_state,
    validate_data,
)

from thesiskit.errors import UserError, quoted
from thesiskit.estimators.inputs import as_numbers, as_table
from thesiskit.models.packed import read_columns
from thesiskit.models.temperature import cross_validated

DEFAULT_KEPT = 10  # features; of a table that has fewer, this number keeps all


class SelectingClassifier(ClassifierMixin, BaseEstimator):
    """A selection of features, a model of those kept, and a temperature."""

    n_features: Any
    correct: Any
    screened: Any
    temperature: Any
    random_state: Any

    _validation: ClassVar[dict[str, Any]]  # how scikit-learn should check tables
    _validation_of_fit: ClassVar[dict[str, Any]] = {}  # where that differs
    _many_classes: ClassVar[bool] = False

    # ---- what depends on the model ----

    @abstractmethod
    def _settings(self) -> Any:
        """Return the settings of the model; UserError for options that are not valid."""

    @abstractmethod
    def _prepared(self, X: np.ndarray) -> Any:
        """Return a training table (n, p) as selections take it."""

    @abstractmethod
    def _select(self, table, y, cases, rng) -> Any:
        """Select features by some cases, (m,) row numbers; None for all."""

    @abstractmethod
    def _learn(self, table, y, cases, selection, settings, rng) -> Any:
        """Return the model of the features kept, fitted to some cases."""

    @abstractmethod
    def _predict_cases(self, model, table, cases, selection) -> np.ndarray:
        """Return log probabilities of the classes (m, G) of some cases of a training table."""

    # ---- fit ----

    def _fit(self, X, y) -> tuple[Any, Any]:
        """Fit to a table and labels; return the selection and the model."""
        settings = self._settings()
        X = as_numbers(as_table(X))
        X, y = validate_data(self, X, y, **self._validation | self._validation_of_fit)
        coded = self._coded(y)
        if not isinstance(self.correct, bool | np.bool_):
            raise UserError(f"correct must be True or False, got {quoted(self.correct)}")
        k = self.n_features
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool)):
            raise UserError(f"n_features must be a whole number or None, got {quoted(k)}")
        wanted = self.temperature
        if wanted is not None and not (isinstance(wanted, str) and wanted == "cv"):
            raise UserError(f'temperature must be None or "cv", got {quoted(wanted)}')
        if wanted is not None and self.screened is not None:
            raise UserError(
                'temperature="cv" repeats the selection inside, and a screening has seen all cases '
                "already; leave out temperature, or fit to the table before its screening"
            )
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        table = self._prepared(X)
        selection = self._select(table, coded, None, rng)
        # it has a generator of its own: the fit is the same with a temperature and without
        self.tau_ = self._temperature(table, coded, settings, np.random.default_rng([seed, 1]))
        return selection, self._learn(table, coded, None, selection, settings, rng)

    def _coded(self, y) -> np.ndarray:
        """Return labels as the places of their classes, (n,)."""
        check_classification_targets(y)
        self.classes_, coded = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2 and not self._many_classes:
            raise ValueError(
                "Only binary classification is supported. "
                f"The type of the target is {type_of_target(y)}. "
                f"NormalClassifier takes {len(self.classes_):,} classes"
            )
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes, got one class: {self.classes_[0]!r}"
            )
        return coded

    def _temperature(self, table, y, settings, rng: np.random.Generator) -> float:
        """Return what log odds are divided by, found by predicting parts of the training cases."""
        if self.temperature is None:
            return 1.0
        cases = np.bincount(y)
        if cases.min() < 2:
            rare = self.classes_.tolist()[cases.argmin()]
            raise UserError(
                'temperature="cv" needs two training cases of each class, and class '
                f"{quoted(rare)} has one; leave out temperature, or add cases of this class"
            )

        def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            selection = self._select(table, y, train, rng)
            model = self._learn(table, y, train, selection, settings, rng)
            return self._predict_cases(model, table, test, selection)

        return float(cross_validated(predict, y, rng))

    # ---- features ----

    def get_support(self, indices=False):
        """Return which features were kept: (p,) booleans, or their places in rising order, (k,)."""
        check_is_fitted(self)
        kept = np.zeros(self.n_features_in_, dtype=bool)
        kept[self.selected_] = True
        return np.flatnonzero(kept) if indices else kept

    def get_feature_names_out(self, input_features=None):
        """Return the names of the features kept, (k,), in the order of the columns of X.

        Those in `selected_` and `relevance_` are in another order: the strongest is first.

        input_features : names to use where X had none; x0, x1, ... without them.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.get_support()]

    def _kept_of(self, X) -> np.ndarray:
        """Return the features kept of new cases, (m, k)."""
        check_is_fitted(self)
        X = validate_data(self, as_numbers(as_table(X)), reset=False, **self._validation)
        return read_columns(X, self.selected_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._many_classes
        tags.input_tags.allow_nan = self._validation["ensure_all_finite"] is not True
        return tags


def check_screened(screened: Any, *thresholds: str) -> Mapping[str, Any]:
    """Return what is said of a screened table: "of", and one of some thresholds at most."""
    known = {"of", *thresholds}
    if not isinstance(screened, Mapping) or not {"of"} <= set(screened) <= known:
        also = "; or f, the F statistic, in place of threshold" if "f" in known else ""
        raise UserError(
            'screened must be a dict such as {"of": 10000, "threshold": "0.26"}: the number of '
            f"features before, and the |COR| that those kept are above{also}; "
            f"got {quoted(screened)}"
        )
    return screened
