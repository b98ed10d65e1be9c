"""Classifiers that first select features, and a transformer that makes features binary."""

import warnings
from collections.abc import Mapping
from numbers import Integral

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    check_random_state,
    validate_data,
)

from thesiskit.defaults import ALPHA_PRIOR, CLASS_PRIOR, COLLAPSED, NAIVE_ALPHA_POINTS, PI
from thesiskit.errors import UnreliableWarning, UserError, quoted
from thesiskit.estimators.inputs import as_table, threads_for
from thesiskit.models import naive_bayes
from thesiskit.models.left_out import Screened
from thesiskit.models.packed import (
    PackedFeatures,
    above,
    as_bits,
    find_missing,
    median_thresholds,
    read_columns,
)
from thesiskit.models.priors import whole
from thesiskit.models.selection import check_threshold, is_binary, select_features

NOT_BINARY = "features must be 0 or 1; put MedianBinarizer() before the classifier in a pipeline"


def as_screened(screened) -> Screened | None:
    """Return what is known of a screened table, given as {"of": 10000, "threshold": "0.26"}."""
    if screened is None:
        return None
    if not isinstance(screened, Mapping) or not {"of"} <= set(screened) <= {"of", "threshold"}:
        raise UserError(
            'screened must be a dict such as {"of": 10000, "threshold": "0.26"}: the number of '
            f"features before, and the |COR| that those kept are above; got {quoted(screened)}"
        )
    threshold = screened.get("threshold")
    square = None if threshold is None else check_threshold(threshold) ** 2
    return Screened(whole('screened["of"]', screened["of"]), square)


class SelectingClassifier(ClassifierMixin, BaseEstimator):
    """The common part of both classifiers: two classes, binary features, a selection."""

    _finite: bool | str = True  # whether missing values are refused, as scikit-learn says it

    def _select(self, X, y):
        """Check the data, select features; return them, the selection and the generator."""
        X, y = validate_data(self, as_table(X), y, dtype=None, ensure_all_finite=self._finite)
        check_classification_targets(y)
        self.classes_, coded = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. "
                f"The type of the target is {type_of_target(y)}."
            )
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes, got one class: {self.classes_[0]!r}"
            )
        if not isinstance(self.correct, bool | np.bool_):
            raise UserError(f"correct must be True or False, got {quoted(self.correct)}")
        k = self.n_features
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool)):
            raise UserError(f"n_features must be a whole number or None, got {quoted(k)}")
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        packed, screened = _packed(X), as_screened(self.screened)
        k = len(packed) if k is None else int(k)
        selection = select_features(packed, coded, k, rng, screened=screened)
        self.selected_ = selection.selected
        self.gamma_squared_ = selection.gamma_squared
        return X, coded, selection, rng

    def get_support(self, indices=False):
        """Return which features were kept: (p,) booleans, or their places in rising order, (k,)."""
        check_is_fitted(self)
        kept = np.zeros(self.n_features_in_, dtype=bool)
        kept[self.selected_] = True
        return np.flatnonzero(kept) if indices else kept

    def get_feature_names_out(self, input_features=None):
        """Return the names of the features kept, (k,), in the order of the columns of X.

        input_features : names to use where X had none; x0, x1, ... without them.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.get_support()]

    def predict_proba(self, X):
        """Return the probabilities of the two classes for X (m, p), (m, 2)."""
        p = naive_bayes.as_probability(self._log_odds(X))
        return np.stack([1 - p, p], axis=1)

    def predict_log_proba(self, X):
        """Return the logs of the probabilities of the two classes for X (m, p), (m, 2).

        They are computed from log odds: unlike logs of predict_proba, they are exact where a
        probability is below 2^-53.
        """
        odds = self._log_odds(X)
        return special.log_expit(np.stack([-odds, odds], axis=1))

    def _log_odds(self, X):
        """Return log P(second class) - log P(first class), (m,)."""
        check_is_fitted(self)
        X = validate_data(
            self, as_table(X), dtype=None, reset=False, ensure_all_finite=self._finite
        )
        return self._odds_of(_bits(read_columns(X, self.selected_)))

    def _odds_of(self, bits):
        """Return the same from the features kept, (m, k) of 0 and 1."""
        raise NotImplementedError

    def predict(self, X):
        """Return the more probable label of each row of X (m, p), (m,)."""
        probability = self.predict_proba(X)
        return self.classes_[(probability[:, 1] >= 0.5).astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # the checks' blobs are not binary
        tags.input_tags.allow_nan = self._finite is not True
        return tags


class NaiveBayesClassifier(SelectingClassifier):
    """Bayesian naive Bayes on the features that correlate best with the response.

    Section "Application to Bayesian Naive Bayes Models" of the thesis.  With `correct`, the
    posterior is conditioned on the fact that the features left out were weak, which makes the
    predictive probabilities calibrated.  A missing value (NaN) has no term in the likelihood and
    the predictions, which is exact under the model.

    Parameters
    ----------
    n_features : number of features to keep, from 1 to the number there are; None for all of them,
        which makes sense where `screened` is given.
    correct : condition on the selection.
    relevant : "some": each feature is relevant with an unknown probability pi, and else has nothing
        to do with the response; "all": the thesis's model, where all features are relevant alike.
    screened : what is known of a table that somebody kept from more features, such as
        {"of": 10000, "threshold": "0.26"}: how many there were, and the absolute correlation that
        those kept are above.  Without "threshold" it is the smallest of the table, as where the
        best ones were kept.  The screening must have used the cases of `fit`.
    pi : the grid of pi; each point is as probable as the others.
    class_prior : (f_0, f_1), the Beta prior of the class probability, by class.
    alpha_prior : (shape, rate) of the Inverse-Gamma prior of alpha.
    alpha_points : number of prior quantiles of alpha to average over.
    quadrature : "exact", or "simpson-21" to replicate the thesis.
    random_state : breaks ties between features at the cut.

    Attributes
    ----------
    classes_ : (2,) the two labels; the second is "class 1".
    selected_ : (k,) column indices of the features kept, strongest first.
    gamma_squared_ : Fraction, squared correlation of the weakest feature kept.
    alpha_ : (K,) quadrature points.
    log_discard_ : (K,) log P(|COR| <= gamma given alpha) of one dropped feature (with missing
        values, the mean over these); zeros when nothing was dropped, or not corrected for.
    log_posterior_alpha_ : (K,) log posterior probability of each point; logsumexp is 0.
    pi_, log_posterior_pi_ : (J,) the points of pi, and their log posterior probabilities.
    relevance_ : (k,) the posterior probability that each feature kept is relevant.
    n_features_in_, feature_names_in_ : number of features seen in fit, and their names if X had
        any.
    """

    _finite = "allow-nan"

    def __init__(
        self,
        n_features=10,
        *,
        correct=True,
        relevant="some",
        screened=None,
        pi=PI,
        class_prior=CLASS_PRIOR,
        alpha_prior=ALPHA_PRIOR,
        alpha_points=NAIVE_ALPHA_POINTS,
        quadrature="exact",
        random_state=None,
    ):
        self.n_features = n_features
        self.correct = correct
        self.relevant = relevant
        self.screened = screened
        self.pi = pi
        self.class_prior = class_prior
        self.alpha_prior = alpha_prior
        self.alpha_points = alpha_points
        self.quadrature = quadrature
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to binary features X (n, p), 0, 1 or NaN, and labels y (n,) of two classes.

        Raises ValueError for features that are not 0/1, a label of one or of three values, and
        n_features outside 1..p, and a table that cannot have been screened as `screened` says.
        """
        settings = naive_bayes.Settings(
            class_prior=self.class_prior,
            alpha_prior=self.alpha_prior,
            alpha_points=self.alpha_points,
            quadrature=self.quadrature,
            relevant=self.relevant,
            pi=self.pi,
        )
        _, _, selection, _ = self._select(X, y)
        self._posterior = naive_bayes.fit(selection, settings, correct=self.correct)
        self.alpha_ = self._posterior.alpha
        self.log_discard_ = self._posterior.log_discard
        self.log_posterior_alpha_ = self._posterior.log_posterior
        self.pi_, self.log_posterior_pi_ = self._posterior.pi, self._posterior.log_pi
        self.relevance_ = self._posterior.relevance
        return self

    def _odds_of(self, bits):
        return naive_bayes.predict_log_odds(self._posterior, bits)


class MixtureClassifier(SelectingClassifier):
    """A Bayesian mixture of two components on the features that correlate best with the response.

    Section "Application to Bayesian Mixture Models" of the thesis.  The response is one more
    feature of the components.  With `correct`, the posterior is conditioned on the fact that the
    features left out were weak.  If the chains disagree, `fit` gives an UnreliableWarning.

    Parameters
    ----------
    n_features, screened : as of NaiveBayesClassifier.
    correct : condition on the selection.
    sampler : "collapsed", or "thesis" to replicate the thesis.
    chains, iterations, burn_in : settings of the sampler; None for its defaults.  iterations is
        the number of all iterations, of which the first burn_in are not kept.
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
    classes_, selected_, gamma_squared_, n_features_in_, feature_names_in_ : as of
        NaiveBayesClassifier.
    alpha_ : (K,) grid of alpha.
    draws_ : ArviZ data: posterior (log_alpha, log_alpha_0, labels), sample_stats (lp, agreement,
        predictive_probability) by chain and draw.
    diagnostics_ : dict of R-hat ("rhat"), effective sample size ("ess"), each by quantity, and
        "reliable".
    """

    def __init__(
        self,
        n_features=10,
        *,
        correct=True,
        screened=None,
        sampler="collapsed",
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
        self.chains = chains
        self.iterations = iterations
        self.burn_in = burn_in
        self.class_prior = class_prior
        self.alpha_prior = alpha_prior
        self.response_alpha_prior = response_alpha_prior
        self.alpha_points = alpha_points
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to binary features X (n, p), 0 or 1, and labels y (n,) of two classes.

        Raises ValueError as NaiveBayesClassifier does, for missing values, and for more than 600
        cases.
        """
        from thesiskit.models import mixture

        if self.sampler == "as-printed":
            raise UserError("sampler as-printed samples no posterior; use collapsed or thesis")
        settings = mixture.Settings(
            class_prior=self.class_prior,
            alpha_prior=self.alpha_prior,
            response_alpha_prior=self.response_alpha_prior,
            sampler=self.sampler,
            chains=self.chains,
            iterations=self.iterations,
            burn_in=self.burn_in,
            alpha_points=self.alpha_points,
        )
        X, coded, selection, rng = self._select(X, y)
        self._target = mixture.Target(
            _bits(read_columns(X, selection.selected)),
            coded,
            settings,
            selection.left_out if self.correct else None,
        )
        draws = mixture.sample(
            self._target, rng.spawn(settings.chains), jobs=threads_for(self.n_jobs)
        )
        found = mixture.diagnose(self._target, draws)
        self._flat = draws.flat
        self.alpha_ = settings.alpha
        self.draws_ = mixture.as_arviz(self._target, draws, found)
        self.diagnostics_ = {
            name: dict(zip(mixture.QUANTITIES, map(float, values), strict=True))
            for name, values in (("rhat", found.rhat), ("ess", found.ess))
        } | {"reliable": found.reliable}
        if not found.reliable:
            warnings.warn(
                f"the chains do not support the predictions (R-hat {found.rhat.max():.2f}, "
                f"effective draws {found.ess.min():.0f}): increase iterations",
                UnreliableWarning,
                stacklevel=2,
            )
        return self

    def _odds_of(self, bits):
        return self._target.predict_log_odds(self._flat, bits)


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


def _packed(X: np.ndarray) -> PackedFeatures:
    """Pack a table of 0 and 1, in chunks."""
    if X.dtype == object:
        X = X.astype(float)
    if not is_binary(X):
        raise UserError(NOT_BINARY)
    return PackedFeatures.pack(X)


def _bits(X: np.ndarray) -> np.ndarray:
    """Return features as 0 and 1, where some are missing as they are."""
    X = X.astype(float) if X.dtype == object else X
    missing = find_missing(X)
    bits = as_bits(X if missing is None else np.where(missing, 0, X))
    if bits is None:
        raise UserError(NOT_BINARY)
    return bits if missing is None else X
