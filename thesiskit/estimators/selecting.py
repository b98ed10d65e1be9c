"""Classifiers and regressors that first select features, and then fit a model to them.

The parameters of an estimator are the keys of its model (models/base.py), and what all have:
n_features, correct, screened, temperature and random_state.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
    check_random_state,
    column_or_1d,
    validate_data,
)
from threadpoolctl import threadpool_limits

from thesiskit import defaults
from thesiskit.defaults import LOG, RESIDUAL, SCORES
from thesiskit.errors import UnreliableWarning, UserError, list_some, quoted
from thesiskit.estimators.inputs import (
    AUTO,
    DiscreteFeatures,
    as_numbers,
    check_level,
    check_response,
    check_spread,
    coded,
    run_length,
    threads_for,
)
from thesiskit.models import mixture, pool
from thesiskit.models.base import SelectingModel, Training, check_predictions, positive, whole
from thesiskit.models.effects import effect_table
from thesiskit.models.mixture import COLLAPSED, Mixture
from thesiskit.models.naive_bayes import NaiveBayes
from thesiskit.models.normal import Normal
from thesiskit.models.packed import (
    PackedFeatures,
    Transform,
    as_bits,
    check_transform,
    find_missing,
    read_columns,
)
from thesiskit.models.pipeline import Fitted, Selector
from thesiskit.models.pool import Pool
from thesiskit.models.prevalence import at_prevalence
from thesiskit.models.selection import (
    LARGEST,
    RELATIVE,
    FSelection,
    Screened,
    Selection,
    check_threshold,
    is_binary,
)
from thesiskit.models.temperature import Temperature, too_few

DEFAULT_SELECTED = 10  # features; of a table that has fewer, this number keeps all
NOT_BINARY = (
    "features must be 0 or 1. Fix: put MedianBinarizer() before the classifier in a pipeline, "
    "or use NormalClassifier, which accepts real values"
)

UNLIKE = 100  # times the spread of the median feature
SCALES = (
    f"the spread is {UNLIKE} times larger or smaller than the median of the selected features, but "
    "variances share a prior. Fix: put StandardScaler() before the estimator in a pipeline"
)
DIGITS = "the values differ by less than a trillionth of their magnitude. Fix: drop such features"


class SelectingEstimator(BaseEstimator):
    """A selection of features, a model of the selected features, and a temperature."""

    model_class: ClassVar[type[SelectingModel]]
    random_state: Any
    _coded: Callable[..., np.ndarray]  # returns checked responses, as a model takes them
    _of_response: ClassVar[dict[str, int]] = {}  # options of scikit-learn's checks
    # of estimators that have no such parameters
    n_features, correct, screened, temperature = None, True, None, None
    transformation = n_jobs = None
    _transform: Transform | None = None
    _attributes: ClassVar[dict[str, str]] = {}  # after fit, by the name in the posterior

    # ---- fit ----

    @threadpool_limits.wrap(limits=1)  # small matrices; more threads add numbers in another order
    def fit(self, X, y, groups=None):
        """Fit to features X (n, p) and labels y (n,), or the numbers y of a regressor.

        X is 0, 1 or NaN for models of binary features, else real, with NaN where a value is missing
        (a mixture takes none).  groups (n,), such as patients with several samples each: samples
        of a group are in the same fold of a pool, and are simulated together for a temperature.
        Raises ValueError for other values, labels of one class (of three or more, for models of two
        classes), equal numbers, n_features outside 1..p, and a filtered table that contradicts
        `screened`.
        """
        self._model = self._as_model()
        bits = self.model_class.takes == "bits"
        y = check_response(y, numeric=bool(self._of_response))
        # what is infinite among real features is found where the table is read in chunks
        options = self._of_response | ({} if bits else {"ensure_all_finite": False})
        X, y = self._validated(X, y=y, **options)
        y = self._coded(y)
        if groups is not None:
            groups = np.unique(column_or_1d(groups), return_inverse=True)[1]
            check_consistent_length(X, groups)
        self._check_options()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        selection, table = self._select(X, y, rng)
        rngs, jobs = rng.spawn(self._model.chains), threads_for(self.n_jobs)
        training = Training(selection, y, table, bool(self.correct), rngs, jobs, groups)
        if self.temperature and (reason := too_few(selection.class_counts)):
            words = f'temperature="{RESIDUAL}": {reason}; tau is 1'
            warnings.warn(words, UnreliableWarning, stacklevel=2)
        tempered = self.temperature is not None
        self._fitted = Fitted.of(self._model, training, self._transform, tempered=tempered)
        self._posterior = self._fitted.posterior
        softened = self._fitted.temperature or Temperature.none(len(getattr(self, "classes_", ())))
        self.tau_, self.offset_ = softened.tau, softened.offset
        self.selected_ = self._columns = selection.selected
        for name, source in self._attributes.items():
            has = selection if hasattr(selection, source) else self._posterior
            setattr(self, name, getattr(has, source))
        return self

    def _as_model(self, **others: Any) -> SelectingModel:
        """Return the model, with `others` in place of parameters; UserError for wrong options."""
        names = {field.name for field in fields(self.model_class)}  # type: ignore[arg-type]
        values = {name: value for name, value in self.get_params().items() if name in names}
        return self.model_class(**values | others)

    def _validated(self, X, **options: Any) -> Any:
        """Return what the checks of scikit-learn leave of a table."""
        usual = {
            "dtype": None if self.model_class.takes == "bits" else "numeric",
            "ensure_all_finite": "allow-nan" if self.model_class.takes_missing else True,
        }
        return validate_data(self, as_numbers(X), **usual | options)

    def _check_options(self) -> None:
        """Raise UserError for options that no model can have."""
        if not isinstance(self.correct, bool | np.bool_):
            raise UserError(f"correct must be True or False, got {quoted(self.correct)}")
        k = self.n_features
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool)):
            raise UserError(f"n_features must be a whole number or None, got {quoted(k)}")
        for name, values in (("transformation", (LOG, SCORES)), ("temperature", (RESIDUAL,))):
            value = getattr(self, name)
            if value is not None and str(value) not in values:
                words = " or ".join(f'"{word}"' for word in values)
                raise UserError(f"{name}: {quoted(value)} is unknown. Fix: use None or {words}")

    def _select(self, X, y, rng) -> tuple[Selection | FSelection, Callable[[], np.ndarray]]:
        """Select features, or patterns of them, from validated samples.

        Returns also a function that returns the values of those selected, (n, k).
        """
        table, k, takes_bits = X, self.n_features, self.model_class.takes == "bits"
        self._transform = None
        if takes_bits:
            if not is_binary(X):
                raise UserError(NOT_BINARY)
            table = PackedFeatures.pack(X)
        elif self.transformation is not None:
            check_transform(self.transformation, X, _check_feature_names_in(self, None))
            self._transform = Transform.of(self.transformation, X)
            table = self._transform.apply(X)
        prefiltered = as_prefiltered(self.screened, real=not takes_bits)
        p = X.shape[1]
        at_most = k is None or k == DEFAULT_SELECTED
        size = p if k is None else min(int(k), p) if at_most else int(k)
        selector = Selector(size, prefiltered=prefiltered, at_most=at_most)
        if takes_bits:
            selection = selector.select_bits(table, y, rng)
            return selection, partial(table.unpack, selection.selected)
        by_f = selector.select_reals(table, y, rng)
        return by_f, partial(read_columns, table, by_f.selected)

    # ---- features ----

    @property
    def effects_(self) -> pd.DataFrame:
        """Raw and corrected effects of the selected features, with 95% intervals: a DataFrame.

        The columns are raw, raw_low, raw_high: the usual estimate, which is too far from no effect;
        effect, low, high: posterior mean and quantiles, which allow for the selection; relevance.
        Effects are differences of means of two classes (second less first; of more classes, one
        less the average of the others) in residual standard deviations; of a regressor these by one
        standard deviation of the response; of features of 0 and 1, odds ratios.  AttributeError
        where a model has none.
        """
        check_is_fitted(self)
        names = getattr(self, "patterns_", None)
        if names is None:
            numbers = np.arange(self.n_features_in_)
            names = getattr(self, "feature_names_in_", numbers)[self.selected_]
        kind, classes = self.model_class.kind, getattr(self, "classes_", ())
        try:
            return effect_table(kind, self._posterior, names, classes)
        except UserError as error:
            raise AttributeError(str(error)) from None

    def get_support(self, indices=False):
        """Return which features, or features of patterns, were selected, (p,) booleans.

        indices : return their places in rising order instead.
        """
        check_is_fitted(self)
        support = np.isin(np.arange(self.n_features_in_), self._columns)
        return np.flatnonzero(support) if indices else support

    def get_feature_names_out(self, input_features=None):
        """Return the names of the selected features, (k,), in the order of the columns of X.

        Those in `selected_` and `relevance_` are in another order: the strongest is first.

        input_features : names to use where X had none; x0, x1, ... without them.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.get_support()]

    def _selected_values(self, X) -> np.ndarray:
        """Return the values of the selected features of new samples, (m, k)."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if self.transformation is not None:
            check_transform(self.transformation, X, _check_feature_names_in(self, None))
            return self._fitted.transform.apply(X, self.selected_)
        X = read_columns(X, self.selected_)
        if self.model_class.takes == "reals":
            return X
        missing = find_missing(X)
        bits = as_bits(X if missing is None else np.where(missing, 0, X))
        if bits is None:
            raise UserError(NOT_BINARY)
        return bits if missing is None else X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.model_class.takes_missing
        tags.input_tags.positive_only = str(self.transformation) == LOG
        return tags


class SelectingClassifier(ClassifierMixin, SelectingEstimator):
    """A classifier that selects features.

    A classifier of a model of one's own is a subclass with its class in `model_class`, and an
    __init__ whose parameters are fields of the model, or of the list above.
    """

    def _coded(self, y) -> np.ndarray:
        """Return labels as the places of their classes, (n,)."""
        places = coded(self, y)
        if len(self.classes_) > 2 and self.model_class.most_classes == 2:
            raise ValueError(
                "Only binary classification is supported. "
                f"The type of the target is {type_of_target(y)}. "
                f"NormalClassifier accepts {len(self.classes_):,} classes"
            )
        return places

    def predict_proba(self, X, prevalence=None):
        """Return the probabilities of the classes for X (m, p), (m, G).

        prevalence : the shares of classes among such samples, such as {"tumour": 0.02}, if they are
            not those of the training samples; classes that are not named share the rest as there.
        """
        if prevalence is not None:
            return np.exp(self.predict_log_proba(X, prevalence))
        values = self._selected_values(X)  # refuses a model that is not fitted
        with np.errstate(all="ignore"):
            return check_predictions({"probability": self._fitted.predict(values)})["probability"]

    def predict_log_proba(self, X, prevalence=None):
        """Return the logs of the probabilities of the classes for X (m, p), (m, G).

        They come from log odds, so they are exact where a probability is below 2^-53.
        prevalence : as of predict_proba.
        """
        values = self._selected_values(X)  # first: it checks that there is a fit
        with np.errstate(all="ignore"):
            log_probability, training = self._fitted.predict_log(values), self.class_count_
            check_predictions({"probability": np.exp(log_probability)})
        return at_prevalence(log_probability, prevalence, self.classes_, training, log=True)

    def predict(self, X, prevalence=None):
        """Return the most probable label of each row of X (m, p), (m,); of equal ones the first.

        prevalence : as of predict_proba.
        """
        place = self.predict_log_proba(X, prevalence).argmax(axis=1)  # first: it checks for a fit
        return self.classes_[place]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        bits = self.model_class.takes == "bits"
        tags.classifier_tags.multi_class = self.model_class.most_classes != 2
        # the blobs of the checks are not binary, and have two features
        tags.classifier_tags.poor_score = bits or bool(self.n_features == 1)
        return tags


class SelectingRegressor(RegressorMixin, SelectingEstimator):
    """A regressor that selects features, with a predictive distribution of each response."""

    _coded = staticmethod(check_spread)
    _of_response: ClassVar = {"y_numeric": True, "ensure_min_samples": 2}

    def density(self, X):
        """Return the predictive distributions of X (m, p), a `thesiskit.models.density.Density`."""
        values = self._selected_values(X)  # first: it checks that there is a fit
        with np.errstate(all="ignore"):
            density = self._fitted.density(values)
            check_predictions({"location": density.location, "scale": density.scale})
        return density

    def predict(self, X, return_std=False):
        """Return the means of the predictive distributions of X (m, p), (m,).

        return_std : also return their standard deviations, (m,).
        """
        density = self.density(X)
        return (density.mean, density.sd) if return_std else density.mean

    def predict_interval(self, X, level=0.9):
        """Return the ends of central prediction intervals for X (m, p), (m, 2).

        level : the probability that a new response is inside, between 0 and 1.
        """
        tail = check_level(level)
        density = self.density(X)
        ends = [density.quantile(tail), density.quantile(1 - tail)]
        return np.column_stack(ends)

    def predict_density(self, X, y, *, log=False):
        """Return the predictive density of the responses y (m,) for X (m, p), (m,).

        log : return its natural logarithm, which is exact far away, too.
        """
        density = self.density(X)
        y = column_or_1d(check_response(y, numeric=True))
        check_consistent_length(density.location, y)
        log_density = density.log_density(y)
        return log_density if log else np.exp(log_density)


def as_prefiltered(screened: Any, real: bool = False) -> Screened | None:
    """Return what is known of a filtered table, given as {"of": 10000, "threshold": 0.26}.

    real : whether features are real: the threshold may be given as "f" too.
    """
    if screened is None:
        return None
    keys = {"of", "threshold", "f"} if real else {"of", "threshold"}
    if not isinstance(screened, Mapping) or not {"of"} <= set(screened) <= keys:
        also = ', or "f", the F statistic' if "f" in keys else ""
        raise UserError(
            f'screened must be a dict such as {{"of": 10000, "threshold": 0.26}}, got '
            f'{quoted(screened)}. Fix: give "of", the number of features before the filter, and '
            f'if known "threshold", the absolute correlation above which they were selected{also}'
        )
    f, correlation = screened.get("f"), screened.get("threshold")
    if f is not None and correlation is not None:
        raise UserError(
            'screened has "threshold" and "f", which exclude each other. Fix: remove one'
        )
    threshold: Any = None if f is None else positive('screened["f"]', f)
    if correlation is not None:
        threshold = check_threshold(correlation) ** 2
    return Screened(whole('screened["of"]', screened["of"]), threshold)


class NaiveBayesClassifier(DiscreteFeatures, SelectingClassifier):
    """Bayesian naive Bayes on the features that correlate best with the response.

    Section "Application to Bayesian Naive Bayes Models" of the thesis.  With `correct`, the
    posterior is conditioned on the fact that the dropped features were weak, which calibrates the
    probabilities.  A missing value (NaN) has no term in the likelihood and the predictions, which
    is exact under the model.

    With `order`, features have any discrete values, as those of InteractionClassifier, and the
    model's features are patterns of them, such as "rs1=2, rs7=0": of all patterns that vary, those
    that correlate best with the response.  The correction counts all others
    (pairs/interactions.py).

    Parameters
    ----------
    n_features : number of features to select (default: 10, or all if there are fewer); None selects
        all, which makes sense if `screened` is given.  With `order`, the number of patterns.
    correct : whether to condition on the selection.
    relevant : "some": each feature is relevant with an unknown probability pi, and otherwise not
        associated with the response; "all": the thesis's model, all features equally relevant.
    screened : for a table that somebody filtered, such as {"of": 10000, "threshold": 0.26}: the
        number of features before the filter, and the absolute correlation above which features
        were selected.  If only "of" is given, the threshold is the smallest correlation in the
        table.  The filter must have used the samples of `fit`.  Missing values are assumed to be
        as frequent in the lost features as in those of the table.
    pi : the grid of pi; each point is as probable as the others.
    class_prior : (f_0, f_1), the Beta prior of the class probability, by class.
    alpha_prior : (shape, rate) of the Inverse-Gamma prior of alpha.
    alpha_points : number of prior quantiles of alpha to average over.
    quadrature : "exact"; "simpson-21", Simpson's rule as the thesis prints it; or
        "simpson-21-transformed", the same after a transform of theta, as in the author's program
        predbayescor.
    temperature : log odds are divided by tau >= 1, because correlated features count the same
        evidence several times, and each class gets an offset.  "residual": both are fitted to
        samples simulated with the residuals of the training samples.  None: tau is 1.
    order : None for columns of 0 and 1; else 1 to 3, the largest number of features in a pattern.
    disjoint : whether to use each feature in one pattern at most, the one with the largest
        correlation, so that patterns are not redundant.
    ld : skip features whose squared correlation with a feature of a better pattern is above this,
        as loci are in linkage disequilibrium.
    random_state : breaks ties between features at the cut.

    Attributes
    ----------
    classes_ : (2,) the two labels; the second is "class 1".
    selected_ : (k,) column indices of the selected features, strongest first; of patterns,
        their numbers, which pairs.planes.decode reads.
    patterns_ : the k patterns as text, strongest first; None without `order`.
    categories_ : with `order`, p arrays, the values of each feature, sorted.
    gamma_squared_ : Fraction, squared correlation of the weakest selected feature.
    alpha_ : (K,) quadrature points.
    log_discard_ : (K,) log P(|COR| <= gamma given alpha) of one dropped feature (with missing
        values, the mean over these); zeros when nothing was dropped, or not corrected for.
    log_posterior_alpha_ : (K,) log posterior probability of each point; logsumexp is 0.
    pi_, log_posterior_pi_ : (J,) the points of pi, and their log posterior probabilities.
    relevance_ : (k,) the posterior probability that each selected feature is relevant.
    effects_ : DataFrame, odds ratios of the selected features, raw and corrected, with intervals.
    tau_ : what log odds are divided by; 1 where too few samples have a temperature.
    offset_ : (G,) what is then added to the log probability of each class.
    n_features_in_, feature_names_in_ : as scikit-learn's.
    """

    model_class = NaiveBayes
    _attributes: ClassVar = {
        "gamma_squared_": "gamma_squared",
        "alpha_": "alpha",
        "log_discard_": "log_discard",
        "log_posterior_alpha_": "log_posterior",
        "pi_": "pi",
        "log_posterior_pi_": "log_pi",
        "relevance_": "relevance",
    }

    def __init__(
        self,
        n_features=DEFAULT_SELECTED,
        *,
        correct=True,
        screened=None,
        class_prior=defaults.CLASS_PRIOR,
        alpha_prior=defaults.ALPHA_PRIOR,
        alpha_points=defaults.NAIVE_ALPHA_POINTS,
        quadrature="exact",
        relevant="some",
        pi=defaults.PI,
        order=None,
        disjoint=False,
        ld=None,
        temperature=None,
        random_state=None,
    ):
        self.n_features = n_features
        self.correct = correct
        self.screened = screened
        self.class_prior = class_prior
        self.alpha_prior = alpha_prior
        self.alpha_points = alpha_points
        self.quadrature = quadrature
        self.relevant = relevant
        self.pi = pi
        self.order = order
        self.disjoint = disjoint
        self.ld = ld
        self.temperature = temperature
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        """Fit to features X (n, p) and labels y (n,) of two classes.

        X is 0, 1 or NaN; with `order` any discrete values, and None, NaN or NA where one is
        missing.  groups (n,), such as patients with several samples each: samples of a group are
        simulated together for a temperature.  Raises ValueError for other values, with `order` for
        real ones and more than 16 of a feature, for one class or three, more n_features than there
        are, and a filtered table that contradicts `screened`.
        """
        super().fit(X, y, groups)
        self.patterns_ = None
        if self.order:
            from thesiskit.pairs import planes

            self.patterns_ = planes.words(self.selected_, self._names, self._encoder.values)
            self._columns = planes.features_of(self.selected_)
        return self

    def pattern_table(self):
        """Return the selected patterns as a table, the one with the largest correlation first.

        The columns are: pattern, such as "rs1=2, rs7=0"; for each class how many training samples
        have the pattern, and of how many this is known; odds ratio, by how much larger the odds of
        the pattern are in the second class, with 1/2 added to each count, which is too far from 1,
        because the patterns were chosen for it; corrected, its posterior mean, on the log scale
        (`effects_` has intervals); and relevant, the probability that the pattern has to do with
        the class at all.
        """
        check_is_fitted(self)
        if self.patterns_ is None:
            raise UserError("pattern_table is of patterns of features. Fix: give order=2")
        counted = self._posterior.counts
        ones, present = counted.of_each(counted.pairs), counted.of_each(counted.present)
        counts = {
            f"{label}: {words}": pairs[:, y]
            for y, label in enumerate(self.classes_)
            for words, pairs in (("with", ones), ("known", present))
        }
        ratios = self.effects_[["raw", "effect", "relevance"]]
        ratios.columns = ["odds ratio", "corrected", "relevant"]
        return pd.concat(
            [pd.DataFrame({"pattern": self.patterns_} | counts), ratios.reset_index(drop=True)],
            axis=1,
        )

    def _check_options(self) -> None:
        super()._check_options()
        if not self.order:
            if self.disjoint or self.ld is not None:
                raise UserError("disjoint and ld are for patterns of features. Fix: give order=2")
            return
        whole("order", self.order, most=3)
        if not isinstance(self.disjoint, bool | np.bool_):
            raise UserError(f"disjoint must be True or False, got {quoted(self.disjoint)}")
        if self.n_features is None or self.screened is not None:
            raise UserError(
                "there are too many patterns to select all. Fix: give n_features"
                if self.screened is None
                else "screened is for columns. Fix: remove screened"
            )

    def _as_model(self, **others: Any) -> SelectingModel:
        # of millions of patterns a few are relevant
        usual_pi = self.order and np.array_equal(self.pi, defaults.PI)
        return super()._as_model(**others, **({"pi": defaults.PATTERN_PI} if usual_pi else {}))

    def _validated(self, X, **options: Any) -> Any:
        return self._discrete(X, **options) if self.order else super()._validated(X, **options)

    def _select(self, X, y, rng) -> tuple[Selection | FSelection, Callable[[], np.ndarray]]:
        if not self.order:
            return super()._select(X, y, rng)
        from thesiskit.pairs import planes  # which few need
        from thesiskit.pairs.interactions import PatternSelector

        instead = ", or use NormalClassifier, which accepts real values"
        codes = self._learn_categories(X, planes.MOST_VALUES, instead)
        selector = PatternSelector(
            int(self.n_features or 0),
            order=int(self.order),
            disjoint=bool(self.disjoint),
            ld=self.ld,
            at_most=self.n_features == DEFAULT_SELECTED,
        )
        selection = selector.select_patterns(planes.Planes.pack(codes, y), rng)
        return selection, partial(planes.express, selection.selected, codes)

    def _selected_values(self, X) -> np.ndarray:
        if not self.order:
            return super()._selected_values(X)
        from thesiskit.pairs import planes

        check_is_fitted(self)
        return planes.express(self.selected_, self._codes(X))


class NormalEstimator(SelectingEstimator):
    """What the classifier and the regressor of normal features have in common."""

    model_class = Normal
    _attributes: ClassVar = {
        "threshold_": "threshold",
        "relevance_": "relevance",
        "log_posterior_": "log_joint",
        "ratio_": "ratio",
        "pi_": "pi",
    }

    def __init__(
        self,
        n_features=DEFAULT_SELECTED,
        *,
        correct=True,
        screened=None,
        relevant="some",
        temperature=RESIDUAL,
        transformation=None,
        random_state=None,
    ):
        self.n_features = n_features
        self.correct = correct
        self.screened = screened
        self.relevant = relevant
        self.temperature = temperature
        self.transformation = transformation
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        """Fit to real features X (n, p), NaN where one is missing, and labels or numbers y (n,).

        Warns of selected features that are on another scale than the others, or hardly vary.
        """
        super().fit(X, y, groups)
        selection = self._posterior.selection
        spread = np.sqrt(selection.within / selection.counts.sum(axis=1))
        middle = np.median(spread)
        unlike = (spread > UNLIKE * middle) | ((UNLIKE * spread < middle) & (selection.f < LARGEST))
        names = _check_feature_names_in(self, None)[self.selected_]
        for affected, words in (
            (unlike, SCALES),
            (spread < RELATIVE * np.abs(selection.scaled).max(axis=1), DIGITS),
        ):
            if affected.any():
                message = f"{list_some(names[affected])}: {words}"
                warnings.warn(message, UnreliableWarning, stacklevel=2)
        return self


class NormalClassifier(NormalEstimator, SelectingClassifier):
    """Bayesian naive Bayes with normal features, those that differ most between the classes.

    Continuous features are selected by the F statistic of the analysis of variance, which with two
    classes orders them as the absolute correlation does.  `correct` and missing values (NaN) are as
    of NaiveBayesClassifier.  For counts and other skewed values, use transformation="log" or
    "normal-scores".

    Parameters
    ----------
    n_features : number of features to select, at most the number of features that vary (default:
        10, or all if there are fewer); None selects all.
    correct, random_state : as of NaiveBayesClassifier.
    relevant : "some": each feature is relevant with an unknown probability pi, and otherwise has
        the same mean in all classes; "all": all features are relevant.
    screened : for a table that somebody filtered, such as {"of": 10000, "threshold": 0.26}: the
        number of features before the filter, and the absolute correlation (with more classes the
        correlation ratio) above which features were selected; {"of": 10000, "f": 12.3} gives the F
        statistic.  NaiveBayesClassifier explains the assumptions.
    class_prior : the Dirichlet prior of the class probabilities: one number, or one for each class.
    temperature : "residual": log odds are divided by tau >= 1, because correlated features count
        the same evidence several times; NaiveBayesClassifier explains it.  None: tau is 1.
    transformation : "log": log2 of features, or of counts log2 of counts per million;
        "normal-scores": normal quantiles of ranks.  Both are fitted in `fit`, without labels.
        None: values are used as they are.  (A parameter called transform would make it a
        transformer to scikit-learn.)

    Attributes
    ----------
    classes_ : (G,) the labels.
    selected_ : (k,) column indices of the selected features, strongest first.
    threshold_ : the F statistic that no dropped feature exceeds.
    relevance_ : (k,) the posterior probability that each selected feature is relevant.
    effects_ : DataFrame, differences of class means, raw and corrected, with intervals.
    log_posterior_ : (C, R, J) log posterior probabilities of each shape of effects, of their
        variance (`ratio_`, (R,)) and of pi (`pi_`, (J,)) together; logsumexp is 0.
    tau_, offset_, n_features_in_, feature_names_in_ : as of NaiveBayesClassifier.
    """

    def __init__(
        self,
        n_features=DEFAULT_SELECTED,
        *,
        correct=True,
        screened=None,
        class_prior=1.0,
        relevant="some",
        temperature=RESIDUAL,
        transformation=None,
        random_state=None,
    ):
        super().__init__(
            n_features,
            correct=correct,
            screened=screened,
            relevant=relevant,
            temperature=temperature,
            transformation=transformation,
            random_state=random_state,
        )
        self.class_prior = class_prior


class NormalRegressor(NormalEstimator, SelectingRegressor):
    """Bayesian regression with normal features, those that correlate best with the response.

    Each real feature is a linear function of the response plus normal noise.  A prediction is a
    distribution of the response.  `correct` calibrates prediction intervals.

    Parameters
    ----------
    n_features, correct, screened, temperature, transformation, random_state : as of
        NormalClassifier; tau divides log ratios of densities.
    relevant : "some": each feature is relevant with an unknown probability pi, and otherwise
        independent of the response; "all": all features are relevant.

    Attributes
    ----------
    selected_, threshold_, relevance_, effects_, log_posterior_, ratio_, pi_, tau_, n_features_in_,
        feature_names_in_ : as of NormalClassifier, with the slope of a feature in place of
        differences between classes.
    """


class PoolEstimator(SelectingEstimator):
    """What the classifier and the regressor of the pool have in common."""

    model_class = Pool

    def __init__(self, transformation=None, *, random_state=None):
        self.transformation = transformation
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        """Fit to real features X (n, p), NaN where one is missing, and labels or numbers y (n,).

        Raises ValueError for other values, one class, and a table of which no column varies.
        """
        super().fit(X, y, groups)
        effect = pool.effects(self._posterior)
        if hasattr(self, "classes_"):
            self.power_ = self._posterior["power"]
        else:
            effect = effect[0]
        for name, values in (
            ("coef_", effect * self._posterior["scale"]),
            ("effect_", effect),
            ("lasso_share_", pool.lasso_share(self._posterior)),
        ):
            of_all = np.zeros((*values.shape[:-1], self.n_features_in_))
            of_all[..., self.selected_] = values
            setattr(self, name, of_all)
        self.shrinkage_ = float(self._posterior["shrinkage"])
        return self


class PoolClassifier(PoolEstimator, SelectingClassifier):
    """Ridge, lasso and linear discriminants of all features, averaged by how well they predict.

    Features are continuous, and there may be any number of classes.  Use it for features that are
    correlated within classes, which naive Bayes assumes to be independent.  Penalties and weights
    are chosen by cross-validation of the training samples (models/pool.py).  A missing value (NaN)
    is replaced by the mean of its feature in the training samples of each fold.

    Parameters
    ----------
    transformation : as of NormalClassifier; coefficients are then of transformed values.
    random_state : divides the samples into folds.

    Attributes
    ----------
    classes_ : (G,) the labels.
    selected_ : (k,) column indices of the features that vary, strongest first.
    coef_ : (G, p) by how much the log probability of each class is moved by one unit of each
        feature, about: coefficients of all fits, weighted as their predictions are, and damped so
        that X @ coef_.T is near their logs, but for constants; the sum over classes is 0.
    effect_ : (G, p) the same for one standard deviation of each feature, to compare features.
    lasso_share_ : (p,) the weight of those fits of the lasso that use each feature.
    power_ : (3,) the powers of ridge, lasso and discriminants in the product of probabilities.
    shrinkage_ : the weight of the class frequencies in the predictions, near 1 if cross-validation
        shows no benefit of any feature.
    n_features_in_, feature_names_in_ : as of NaiveBayesClassifier.
    """


class PoolRegressor(PoolEstimator, SelectingRegressor):
    """Ridge, lasso and partial least squares of all features, averaged by how well they predict.

    Features may be correlated.  A prediction is a distribution of the response (models/pool.py).

    Parameters
    ----------
    transformation, random_state : as of PoolClassifier.

    Attributes
    ----------
    selected_, lasso_share_, shrinkage_, n_features_in_, feature_names_in_ : as of PoolClassifier,
        with the mean of the response in place of class frequencies.
    coef_ : (p,) by how much the prediction is moved by one unit of each feature.
    effect_ : (p,) the same for one standard deviation of each feature, to compare features.
    """


class MixtureClassifier(SelectingClassifier):
    """A Bayesian mixture of two components on the features that correlate best with the response.

    Section "Application to Bayesian Mixture Models" of the thesis.  The response is one more
    feature of the components.  With `correct`, the posterior is conditioned on the fact that the
    dropped features were weak.  If the chains disagree, `fit` gives an UnreliableWarning.

    Parameters
    ----------
    n_features, correct, screened : as of NaiveBayesClassifier.
    sampler : "collapsed", or "gibbs", the sampler that the thesis describes ("thesis" up to
        version 0.2).
    until : as of SequenceClassifier, for the collapsed sampler.  Log alpha, the log posterior, the
        agreement of labels with responses and the predictions are compared.
    chains, iterations, burn_in : settings of the sampler; None for its defaults.  iterations is
        the number of all iterations, of which the first burn_in are dropped; with `until` it is
        the limit, 4000 unless given, without a burn_in.
    class_prior : (f_0, f_1), the Beta prior of the probability of a component.
    alpha_prior, response_alpha_prior : (shape, rate) of the Inverse-Gamma priors of alpha and
        alpha_0.  The larger alpha is, the more alike are the components in their features;
        alpha_0 is the same for the response.
    alpha_points : points of the grids of alpha and alpha_0; None for the sampler's default.
    n_jobs : as of SequenceClassifier.
    random_state : breaks ties between features at the cut, and seeds the chains.

    Attributes
    ----------
    classes_, selected_, gamma_squared_, tau_, offset_, n_features_in_, feature_names_in_ : as of
        NaiveBayesClassifier.
    alpha_ : (K,) grid of alpha.
    draws_ : ArviZ data (`thesiskit[arviz]`): posterior (log_alpha, log_alpha_0, labels),
        sample_stats (lp, agreement, predictive_probability) by chain and draw.
    diagnostics_ : dict of R-hat ("rhat"), effective sample size ("ess"), each by quantity, and
        "reliable"; with until also "iterations" and "reached", whether the targets were.
    """

    model_class = Mixture
    _attributes: ClassVar = {"gamma_squared_": "gamma_squared"}

    def __init__(
        self,
        n_features=DEFAULT_SELECTED,
        *,
        correct=True,
        screened=None,
        sampler="collapsed",
        until=AUTO,
        chains=COLLAPSED["chains"],
        iterations=None,
        burn_in=None,
        class_prior=defaults.CLASS_PRIOR,
        alpha_prior=defaults.ALPHA_PRIOR,
        response_alpha_prior=defaults.ALPHA_PRIOR,
        alpha_points=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_features = n_features
        self.correct = correct
        self.screened = screened
        self.sampler = sampler
        self.until = until
        self.chains = chains
        self.iterations = iterations
        self.burn_in = burn_in
        self.class_prior = class_prior
        self.alpha_prior = alpha_prior
        self.response_alpha_prior = response_alpha_prior
        self.alpha_points = alpha_points
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        """Fit to binary features X (n, p), 0 or 1, and labels y (n,) of two classes.

        Raises ValueError as NaiveBayesClassifier does, for missing values, and for more than 600
        samples.
        """
        super().fit(X, y, groups)
        target, draws = self._posterior.target, self._posterior.draws
        diagnosis = mixture.diagnose(target, draws)
        self.alpha_ = target.settings.alpha
        self.diagnostics_ = {
            name: dict(zip(mixture.QUANTITIES, map(float, values), strict=True))
            for name, values in (("rhat", diagnosis.rhat), ("ess", diagnosis.ess))
        } | {"reliable": diagnosis.reliable}
        if draws.judgement is not None:
            self.diagnostics_ |= {"iterations": draws.iterations, "reached": draws.judgement.enough}
        if not diagnosis.reliable:
            warnings.warn(
                "predictions are unreliable, because chains have not converged (R-hat "
                f"{diagnosis.rhat.max():.2f}, effective draws {diagnosis.ess.min():.0f}). "
                "Fix: increase iterations",
                UnreliableWarning,
                stacklevel=2,
            )
        return self

    @property
    def draws_(self):
        """The draws of the chains, an xarray DataTree for ArviZ."""
        check_is_fitted(self)
        target, draws = self._posterior.target, self._posterior.draws
        return mixture.as_arviz(target, draws, mixture.diagnose(target, draws)).to_xarray()

    def _as_model(self, **others: Any) -> SelectingModel:
        if self.sampler in ("approximate", "as-printed"):
            raise UserError(
                f"sampler: {self.sampler} draws from no posterior. Fix: use collapsed or gibbs"
            )
        lengths = {name: getattr(self, name) for name in ("chains", "iterations", "burn_in")}
        usual, converges = dict.fromkeys(lengths), self.sampler == "collapsed"
        length = run_length(self.until, lengths, usual, judged=converges)
        return super()._as_model(**length | others)
