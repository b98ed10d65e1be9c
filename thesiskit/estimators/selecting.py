"""Classifiers that first select features, and then fit a model to them.

The parameters of a classifier are the keys of its model (models/base.py), and what all have:
n_features, correct, screened, temperature and random_state.
"""

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
    check_random_state,
    column_or_1d,
    validate_data,
)

from thesiskit.defaults import (
    ALPHA_PRIOR,
    CLASS_PRIOR,
    LOG,
    NAIVE_ALPHA_POINTS,
    PATTERN_PI,
    PI,
    RESIDUAL,
    SCORES,
)
from thesiskit.errors import UnreliableWarning, UserError, list_some, quoted
from thesiskit.estimators.inputs import (
    AUTO,
    DiscreteFeatures,
    as_numbers,
    check_response,
    coded,
    run_length,
    threads_for,
)
from thesiskit.models import mixture, pool
from thesiskit.models.base import SelectingModel, Training, positive, whole
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

DEFAULT_KEPT = 10  # features; of a table that has fewer, this number keeps all
NOT_BINARY = (
    "features must be 0 or 1. Fix: put MedianBinarizer() before the classifier in a pipeline, "
    "or use NormalClassifier, which accepts real values"
)

UNLIKE = 100  # times the spread of the median feature
SCALES = (
    f"the spread is {UNLIKE} times larger or smaller than the median of the selected features, but "
    "variances share a prior. Fix: put StandardScaler() before the classifier in a "
    "pipeline"
)
DIGITS = "the values differ by less than a trillionth of their magnitude"


class SelectingClassifier(ClassifierMixin, BaseEstimator):
    """A selection of features, a model of those kept, and a temperature.

    A classifier of a model of one's own is a subclass with its class in `model_class`, and an
    __init__ whose parameters are fields of the model, or of the list above.
    """

    model_class: ClassVar[type[SelectingModel]]
    random_state: Any
    # of classifiers that have no such parameters
    n_features, correct, screened, temperature = None, True, None, None
    transformation = None
    _transform: Transform | None = None
    _attributes: ClassVar[dict[str, str]] = {}  # after fit, by the name in the posterior

    # ---- fit ----

    def fit(self, X, y, groups=None):
        """Fit to features X (n, p) and labels y (n,).

        X is 0, 1 or NaN for models of binary features, else real, with NaN where a value is missing
        (a mixture takes none).  groups (n,), such as patients with several samples each, are kept
        together where a pool divides samples, and are imitated together.  Raises ValueError for
        other values, a label of one value (of three or more, for models of two classes), n_features
        outside 1..p, and a table that cannot have been screened as `screened` says.
        """
        self._model = self._as_model()
        bits, y = self.model_class.takes == "bits", check_response(y)
        # what is infinite among real features is found where the table is read in chunks
        X, y = self._validated(X, y=y, **({} if bits else {"ensure_all_finite": False}))
        y = self._coded(y)
        if groups is not None:
            groups = np.unique(column_or_1d(groups), return_inverse=True)[1]
            check_consistent_length(X, groups)
        self._check_options()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        table = self._packed(X)
        selection = self._select(table, y, rng)
        training = replace(self._training(table, y, selection, rng), groups=groups)
        if self.temperature and (reason := too_few(selection.class_counts)):
            words = f'temperature="{RESIDUAL}": {reason}; tau is 1'
            warnings.warn(words, UnreliableWarning, stacklevel=2)
        tempered = self.temperature is not None
        self._fitted = Fitted.of(self._model, training, self._transform, tempered=tempered)
        self._posterior = self._fitted.posterior
        softened = self._fitted.temperature or Temperature.none(len(self.classes_))
        self.tau_, self.offset_ = softened.tau, softened.offset
        self.selected_ = selection.selected
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

    def _packed(self, X) -> Any:
        """Return a validated table of training samples as features are selected from it."""
        if self.model_class.takes != "bits":
            self._transform = None
            if self.transformation is None:
                return X
            check_transform(self.transformation, X, _check_feature_names_in(self, None))
            self._transform = Transform.of(self.transformation, X)
            return self._transform.apply(X)
        if not is_binary(X):
            raise UserError(NOT_BINARY)
        return PackedFeatures.pack(X)

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

    def _check_options(self) -> None:
        """Raise UserError for options that no model can have."""
        if not isinstance(self.correct, bool | np.bool_):
            raise UserError(f"correct must be True or False, got {quoted(self.correct)}")
        form = self.transformation
        if form is not None and str(form) not in (LOG, SCORES):
            raise UserError(
                f'transformation: {quoted(form)} is unknown. Fix: use None, "{LOG}" or "{SCORES}"'
            )
        k = self.n_features
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool)):
            raise UserError(f"n_features must be a whole number or None, got {quoted(k)}")
        if self.temperature not in (None, RESIDUAL):
            raise UserError(
                f'temperature: {quoted(self.temperature)} is unknown. Fix: use None or "{RESIDUAL}"'
            )

    def _select(self, table, y, rng) -> Selection | FSelection:
        """Return the features, or patterns of them, that are selected from a table."""
        k, takes_bits = self.n_features, self.model_class.takes == "bits"
        prefiltered = as_prefiltered(self.screened, real=not takes_bits)
        width = len(table) if takes_bits else table.shape[1]
        at_most = k is None or k == DEFAULT_KEPT
        size = width if k is None else min(int(k), width) if at_most else int(k)
        selector = Selector(size, prefiltered=prefiltered, at_most=at_most)
        if takes_bits:
            return selector.select_bits(table, y, rng)
        return selector.select_reals(table, y, rng)

    def _training(self, table, y, selection, rng) -> Training:
        """Return what the model is fitted to: the features kept of all samples."""
        chains = self._model.chains
        return Training(
            selection, y, lambda: self._kept(table, selection.selected),
            bool(self.correct),
            rngs=rng.spawn(chains) if chains else (),
            jobs=threads_for(getattr(self, "n_jobs", None)) if chains else None,
        )  # fmt: skip

    # ---- predictions ----

    def predict_proba(self, X):
        """Return the probabilities of the classes for X (m, p), (m, G)."""
        values = self._kept_of(X)  # refuses a model that is not fitted
        return self._fitted.predict(values)

    def predict_log_proba(self, X):
        """Return the logs of the probabilities of the classes for X (m, p), (m, G).

        They come from log odds, so they are exact where a probability is below 2^-53.
        """
        values = self._kept_of(X)
        return self._fitted.predict_log(values)

    def predict(self, X):
        """Return the most probable label of each row of X (m, p), (m,); of equal ones the first."""
        place = self.predict_log_proba(X).argmax(axis=1)  # first: it checks that there is a fit
        return self.classes_[place]

    # ---- features ----

    def get_support(self, indices=False):
        """Return which features were kept, or are of the patterns kept, (p,) booleans.

        indices : return their places in rising order instead.
        """
        check_is_fitted(self)
        support = np.isin(np.arange(self.n_features_in_), self._columns_kept())
        return np.flatnonzero(support) if indices else support

    def _columns_kept(self) -> np.ndarray:
        """Return the columns that predictions depend on."""
        return self.selected_

    def get_feature_names_out(self, input_features=None):
        """Return the names of the features kept, (k,), in the order of the columns of X.

        Those in `selected_` and `relevance_` are in another order: the strongest is first.

        input_features : names to use where X had none; x0, x1, ... without them.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.get_support()]

    def _kept(self, table, selected) -> np.ndarray:
        """Return the features kept of the training samples, (n, k)."""
        if self.model_class.takes == "bits":
            return table.unpack(selected)
        return read_columns(table, selected)

    def _kept_of(self, X) -> np.ndarray:
        """Return the features kept of new samples, (m, k)."""
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
        bits = self.model_class.takes == "bits"
        tags.classifier_tags.multi_class = self.model_class.most_classes != 2
        tags.input_tags.allow_nan = self.model_class.takes_missing
        tags.input_tags.positive_only = str(self.transformation) == LOG
        # the blobs of the checks are not binary, and have two features
        tags.classifier_tags.poor_score = bits or bool(self.n_features == 1)
        return tags


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
    selected_ : (k,) column indices of the features kept, strongest first; of patterns, their
        numbers, which pairs.planes.decode reads.
    patterns_ : the k patterns as text, strongest first; None without `order`.
    categories_ : with `order`, p arrays, the values of each feature, sorted.
    gamma_squared_ : Fraction, squared correlation of the weakest feature kept.
    alpha_ : (K,) quadrature points.
    log_discard_ : (K,) log P(|COR| <= gamma given alpha) of one dropped feature (with missing
        values, the mean over these); zeros when nothing was dropped, or not corrected for.
    log_posterior_alpha_ : (K,) log posterior probability of each point; logsumexp is 0.
    pi_, log_posterior_pi_ : (J,) the points of pi, and their log posterior probabilities.
    relevance_ : (k,) the posterior probability that each feature kept is relevant.
    tau_ : what log odds are divided by; 1 where too few samples have a temperature.
    offset_ : (G,) what is then added to the log probability of each class.
    n_features_in_, feature_names_in_ : number of features seen in fit, and their names if X had
        any.
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
        n_features=DEFAULT_KEPT,
        *,
        correct=True,
        screened=None,
        class_prior=CLASS_PRIOR,
        alpha_prior=ALPHA_PRIOR,
        alpha_points=NAIVE_ALPHA_POINTS,
        quadrature="exact",
        relevant="some",
        pi=PI,
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
        missing.  groups (n,), such as patients with several samples each, are kept together
        where samples are imitated for a temperature.  Raises ValueError for other values, with
        `order` real ones and more than 16 of a feature, a label of one value or three, more
        n_features than there are, and a table that cannot have been screened as `screened` says.
        """
        super().fit(X, y, groups)
        self.patterns_ = None
        if self.order:
            self.patterns_ = self._planes.words(self.selected_, self._names, self._encoder.values)
        return self

    def pattern_table(self):
        """Return the patterns kept as a table, the one with the largest correlation first.

        The columns are: pattern, such as "rs1=2, rs7=0"; for each class how many training samples
        have the pattern, and of how many this is known; odds ratio, by how much larger the odds of
        the pattern are in the second class, with 1/2 added to each count, which is too far from 1,
        because the patterns were chosen for it; corrected, the same as the model expects it of new
        samples; and relevant, the probability that the pattern has to do with the class at all.
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
        ratio = self._posterior.odds_ratios
        return pd.DataFrame(
            {"pattern": self.patterns_} | counts
            | {"odds ratio": ratio[:, 0], "corrected": ratio[:, 1], "relevant": self.relevance_}
        )  # fmt: skip

    @property
    def _planes(self) -> Any:
        """Patterns of features, which few need."""
        from thesiskit.pairs import planes

        return planes

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
        usual_pi = self.order and np.array_equal(self.pi, PI)
        return super()._as_model(**others, **({"pi": PATTERN_PI} if usual_pi else {}))

    def _validated(self, X, **options: Any) -> Any:
        return self._discrete(X, **options) if self.order else super()._validated(X, **options)

    def _packed(self, X) -> Any:
        if not self.order:
            return super()._packed(X)
        instead = ", or use NormalClassifier, which accepts real values"
        return self._learn_categories(X, self._planes.MOST_VALUES, instead)

    def _select(self, table, y, rng) -> Selection | FSelection:
        if not self.order:
            return super()._select(table, y, rng)
        from thesiskit.pairs.interactions import PatternSelector

        selector = PatternSelector(
            int(self.n_features or 0),
            order=int(self.order),
            disjoint=bool(self.disjoint),
            ld=self.ld,
            at_most=self.n_features == DEFAULT_KEPT,
        )
        return selector.select_patterns(self._planes.Planes.pack(table, y), rng)

    def _columns_kept(self) -> np.ndarray:
        return self._planes.features_of(self.selected_) if self.order else self.selected_

    def _kept(self, table, selected) -> np.ndarray:
        if not self.order:
            return super()._kept(table, selected)
        return self._planes.express(selected, table)

    def _kept_of(self, X) -> np.ndarray:
        if not self.order:
            return super()._kept_of(X)
        check_is_fitted(self)
        return self._planes.express(self.selected_, self._codes(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = bool(self.order)
        return tags


class NormalClassifier(SelectingClassifier):
    """Bayesian naive Bayes with normal features, those that differ most between the classes.

    Continuous features are selected by the F statistic of the analysis of variance, which with two
    classes orders them as the absolute correlation does.  With `correct`, the posterior is
    conditioned on the fact that the dropped features were weak, which calibrates the probabilities.
    A missing value (NaN) has no term in the likelihood and the predictions, which is exact under
    the model.  For counts and other skewed values, use transformation="log" or "normal-scores".

    Parameters
    ----------
    n_features : number of features to select, at most the number of features that vary (default:
        10, or all if there are fewer); None selects all.
    correct : whether to condition on the selection.
    relevant : "some": each feature is relevant with an unknown probability pi, and otherwise has
        the same mean in all classes; "all": all features are relevant.
    screened : for a table that somebody filtered, such as {"of": 10000, "threshold": 0.26}: the
        number of features before the filter, and the absolute correlation (with more classes the
        correlation ratio) above which features were selected; {"of": 10000, "f": 12.3} gives the F
        statistic.  If only "of" is given, the threshold is the smallest F statistic in the table.
        The filter must have used the samples of `fit`.  The lost features are assumed to have as
        many missing values as those in the table.
    class_prior : the Dirichlet prior of the class probabilities: one number, or one for each class.
    temperature : "residual": log odds are divided by tau >= 1, because correlated features count
        the same evidence several times; NaiveBayesClassifier explains it.  None: tau is 1.
    transformation : "log": log2 of features, or of counts log2 of counts per million;
        "normal-scores": normal quantiles of ranks.  Both are fitted in `fit`, without labels.
        None: values are used as they are.  (A parameter called transform would make it a
        transformer to scikit-learn.)
    random_state : breaks ties between features at the threshold.

    Attributes
    ----------
    classes_ : (G,) the labels.
    selected_ : (k,) column indices of the selected features, strongest first.
    threshold_ : the F statistic that no dropped feature exceeds.
    relevance_ : (k,) the posterior probability that each selected feature is relevant.
    log_posterior_ : (C, R, J) log posterior probabilities of each shape of effects, of their
        variance (`ratio_`, (R,)) and of pi (`pi_`, (J,)) together; logsumexp is 0.
    tau_ : the temperature; 1 if there are too few samples to estimate it.
    offset_ : (G,) what is then added to the log probability of each class.
    n_features_in_, feature_names_in_ : number of features seen in fit, and their names if X had
        any.
    """

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
        n_features=DEFAULT_KEPT,
        *,
        correct=True,
        screened=None,
        class_prior=1.0,
        relevant="some",
        temperature=RESIDUAL,
        transformation=None,
        random_state=None,
    ):
        self.n_features = n_features
        self.correct = correct
        self.screened = screened
        self.class_prior = class_prior
        self.relevant = relevant
        self.temperature = temperature
        self.transformation = transformation
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        """Fit to real features X (n, p), NaN where one is missing, and labels y (n,).

        Warns of features kept that are on another scale than the others, or hardly vary.
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
                warnings.warn(
                    f"{list_some(names[affected])}: {words}", UnreliableWarning, stacklevel=2
                )
        return self


class PoolClassifier(SelectingClassifier):
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
    n_features_in_, feature_names_in_ : number of features seen in fit, and their names if X had
        any.
    """

    model_class = Pool

    def __init__(self, transformation=None, *, random_state=None):
        self.transformation = transformation
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        """Fit to real features X (n, p), NaN where one is missing, and labels y (n,).

        Raises ValueError for other values, one class, and a table of which no column varies.
        """
        super().fit(X, y, groups)
        effect = pool.effects(self._posterior)
        for name, values in (
            ("coef_", effect * self._posterior["scale"]),
            ("effect_", effect),
            ("lasso_share_", pool.lasso_share(self._posterior)),
        ):
            of_all = np.zeros((*values.shape[:-1], self.n_features_in_))
            of_all[..., self.selected_] = values
            setattr(self, name, of_all)
        self.power_ = self._posterior["power"]
        self.shrinkage_ = float(self._posterior["shrinkage"])
        return self


class MixtureClassifier(SelectingClassifier):
    """A Bayesian mixture of two components on the features that correlate best with the response.

    Section "Application to Bayesian Mixture Models" of the thesis.  The response is one more
    feature of the components.  With `correct`, the posterior is conditioned on the fact that the
    features left out were weak.  If the chains disagree, `fit` gives an UnreliableWarning.

    Parameters
    ----------
    n_features, screened : as of NaiveBayesClassifier.
    correct : condition on the selection.
    sampler : "collapsed", or "gibbs", the sampler that the thesis describes ("thesis" up to
        version 0.2).
    until : "auto", None, or a pair of an R-hat and effective draws, such as (1.01, 400), of the
        collapsed sampler.  Chains are compared after 200, 300, 450, ... iterations, of which the
        second half counts, and stop when log alpha, the log posterior, the agreement of labels with
        responses and the predictions for up to 20 training samples have reached both.  At most
        1,000 draws are kept.  "auto" is (1.01, 400), unless iterations or burn_in are given, or one
        chain.
    chains, iterations, burn_in : settings of the sampler; None for its defaults.  iterations is
        the number of all iterations, of which the first burn_in are not kept; with `until` it is
        the limit, 4000 unless given, and burn_in is left out.
    class_prior : (f_0, f_1), the Beta prior of the probability of a component.
    alpha_prior, response_alpha_prior : (shape, rate) of the Inverse-Gamma priors of alpha and
        alpha_0.  The larger alpha is, the more alike are the components in their features;
        alpha_0 is the same for the response.
    alpha_points : points of the grids of alpha and alpha_0; None for the sampler's default.
    n_jobs : how many chains run at the same time, in threads; None or -1 for one on each core.
        It changes no draw.
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
        n_features=DEFAULT_KEPT,
        *,
        correct=True,
        screened=None,
        sampler="collapsed",
        until=AUTO,
        chains=COLLAPSED["chains"],
        iterations=None,
        burn_in=None,
        class_prior=CLASS_PRIOR,
        alpha_prior=ALPHA_PRIOR,
        response_alpha_prior=ALPHA_PRIOR,
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
                f"predictions are unreliable, because chains have not converged (R-hat "
                f"{diagnosis.rhat.max():.2f}, "
                f"effective draws {diagnosis.ess.min():.0f}). Fix: increase iterations",
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
