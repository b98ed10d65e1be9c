"""Classifiers of two classes that take binary features: naive Bayes and the mixture model."""

import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from thesiskit.defaults import ALPHA_PRIOR, CLASS_PRIOR, COLLAPSED, NAIVE_ALPHA_POINTS, PI
from thesiskit.errors import UnreliableWarning, UserError
from thesiskit.estimators.inputs import threads_for
from thesiskit.estimators.lengths import run_length
from thesiskit.estimators.selecting import DEFAULT_KEPT, SelectingClassifier, check_screened
from thesiskit.models import naive_bayes
from thesiskit.models.packed import PackedFeatures, as_bits, find_missing
from thesiskit.models.priors import whole
from thesiskit.models.selection import (
    Screened,
    Selection,
    check_threshold,
    is_binary,
    select_features,
)
from thesiskit.models.temperature import as_log_probability

if TYPE_CHECKING:
    from thesiskit.models import mixture

NOT_BINARY = (
    "features must be 0 or 1; put MedianBinarizer() before the classifier in a pipeline, or take "
    "NormalClassifier, which uses real values as they are"
)


class BinaryClassifier(SelectingClassifier):
    """The common part of both: two classes, binary features."""

    def _prepared(self, X: np.ndarray) -> PackedFeatures:
        """Return a training table (n, p) as bits."""
        return _packed(X)

    def _select(self, table, y, cases, rng) -> Selection:
        """Select features by some cases, (m,) row numbers; None for all."""
        k = len(table) if self.n_features is None else int(self.n_features)
        if k == DEFAULT_KEPT:
            k = min(k, len(table))
        screened = as_screened(self.screened)
        return select_features(table, y, k, rng, cases=cases, screened=screened)

    def _predict_cases(self, model, table, cases, selection) -> np.ndarray:
        """Return log probabilities of the classes (m, 2) of some cases of a training table."""
        return as_log_probability(self._log_odds(model, table.unpack(selection.selected, cases)))

    @abstractmethod
    def _log_odds(self, model, bits: np.ndarray) -> np.ndarray:
        """Return log P(second class) - log P(first class), (m,), from the features kept (m, k)."""

    def _odds(self, X) -> np.ndarray:
        """Return the log odds of new cases, divided by the temperature, (m,)."""
        bits = _bits(self._kept_of(X))
        return self._log_odds(self._model, bits) / self.tau_

    def predict_proba(self, X):
        """Return the probabilities of the two classes for X (m, p), (m, 2)."""
        p = naive_bayes.as_probability(self._odds(X))
        return np.stack([1 - p, p], axis=1)

    def predict_log_proba(self, X):
        """Return the logs of the probabilities of the two classes for X (m, p), (m, 2).

        They are computed from log odds: unlike logs of predict_proba, they are exact where a
        probability is below 2^-53.
        """
        return as_log_probability(self._odds(X))

    def predict(self, X):
        """Return the more probable label of each row of X (m, p), (m,)."""
        probability = self.predict_proba(X)
        return self.classes_[(probability[:, 1] >= 0.5).astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # the checks' blobs are not binary
        return tags


class NaiveBayesClassifier(BinaryClassifier):
    """Bayesian naive Bayes on the features that correlate best with the response.

    Section "Application to Bayesian Naive Bayes Models" of the thesis.  With `correct`, the
    posterior is conditioned on the fact that the features left out were weak, which makes the
    predictive probabilities calibrated.  A missing value (NaN) has no term in the likelihood and
    the predictions, which is exact under the model.

    Parameters
    ----------
    n_features : number of features to keep, from 1 to the number there are (the default also keeps
        all of fewer); None for all of them, which makes sense where `screened` is given.
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
    temperature : "cv" divides log odds by tau >= 1, because features that go together are counted
        as so much evidence each; tau is fitted to predictions of parts of the training cases, for
        which selection and fit are repeated without them.  None: tau is 1.
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
    tau_ : what log odds are divided by.
    n_features_in_, feature_names_in_ : number of features seen in fit, and their names if X had
        any.
    """

    _validation: ClassVar = {"dtype": None, "ensure_all_finite": "allow-nan"}

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
        temperature=None,
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
        self.temperature = temperature
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to binary features X (n, p), 0, 1 or NaN, and labels y (n,) of two classes.

        Raises ValueError for features that are not 0/1, a label of one or of three values, and
        n_features outside 1..p, and a table that cannot have been screened as `screened` says.
        """
        selection, self._model = self._fit(X, y)
        self.selected_, self.gamma_squared_ = selection.selected, selection.gamma_squared
        self.alpha_ = self._model.alpha
        self.log_discard_ = self._model.log_discard
        self.log_posterior_alpha_ = self._model.log_posterior
        self.pi_, self.log_posterior_pi_ = self._model.pi, self._model.log_pi
        self.relevance_ = self._model.relevance
        return self

    def _settings(self) -> naive_bayes.Settings:
        return naive_bayes.Settings(
            class_prior=self.class_prior,
            alpha_prior=self.alpha_prior,
            alpha_points=self.alpha_points,
            quadrature=self.quadrature,
            relevant=self.relevant,
            pi=self.pi,
        )

    def _learn(self, table, y, cases, selection, settings, rng) -> naive_bayes.Posterior:  # noqa: ARG002
        return naive_bayes.fit(selection, settings, correct=bool(self.correct))

    def _log_odds(self, model, bits):
        return naive_bayes.predict_log_odds(model, bits)


class MixtureClassifier(BinaryClassifier):
    """A Bayesian mixture of two components on the features that correlate best with the response.

    Section "Application to Bayesian Mixture Models" of the thesis.  The response is one more
    feature of the components.  With `correct`, the posterior is conditioned on the fact that the
    features left out were weak.  If the chains disagree, `fit` gives an UnreliableWarning.

    Parameters
    ----------
    n_features, screened, temperature : as of NaiveBayesClassifier.  With a temperature the chains
        run for each of the inner folds as well.
    correct : condition on the selection.
    sampler : "collapsed", or "thesis" to replicate the thesis.
    until : "auto", None, or a pair of an R-hat and effective draws, such as (1.01, 400), of the
        collapsed sampler.  Chains are compared after 200, 300, 450, ... iterations, of which the
        second half counts, and stop when log alpha, the log posterior, the agreement of labels with
        responses and the predictions for up to 20 training cases have reached both.  At most 1,000
        draws are kept.  "auto" is (1.01, 400), unless iterations or burn_in are given, or one
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
    classes_, selected_, gamma_squared_, tau_, n_features_in_, feature_names_in_ : as of
        NaiveBayesClassifier.
    alpha_ : (K,) grid of alpha.
    draws_ : ArviZ data: posterior (log_alpha, log_alpha_0, labels), sample_stats (lp, agreement,
        predictive_probability) by chain and draw.
    diagnostics_ : dict of R-hat ("rhat"), effective sample size ("ess"), each by quantity, and
        "reliable"; with until also "iterations" and "reached", whether the targets were.
    """

    _validation: ClassVar = {"dtype": None, "ensure_all_finite": True}

    def __init__(
        self,
        n_features=10,
        *,
        correct=True,
        screened=None,
        sampler="collapsed",
        until="auto",
        chains=COLLAPSED["chains"],
        iterations=None,
        burn_in=None,
        class_prior=CLASS_PRIOR,
        alpha_prior=ALPHA_PRIOR,
        response_alpha_prior=ALPHA_PRIOR,
        alpha_points=None,
        temperature=None,
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
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to binary features X (n, p), 0 or 1, and labels y (n,) of two classes.

        Raises ValueError as NaiveBayesClassifier does, for missing values, and for more than 600
        cases.
        """
        from thesiskit.models import mixture

        selection, self._model = self._fit(X, y)
        target, draws = self._model
        self.selected_, self.gamma_squared_ = selection.selected, selection.gamma_squared
        found = mixture.diagnose(target, draws)
        self.alpha_ = target.settings.alpha
        self.draws_ = mixture.as_arviz(target, draws, found)
        self.diagnostics_ = {
            name: dict(zip(mixture.QUANTITIES, map(float, values), strict=True))
            for name, values in (("rhat", found.rhat), ("ess", found.ess))
        } | {"reliable": found.reliable}
        if draws.judgement is not None:
            self.diagnostics_ |= {
                "iterations": draws.iterations,
                "reached": draws.judgement.enough,
            }
        if not found.reliable:
            warnings.warn(
                f"the chains do not support the predictions (R-hat {found.rhat.max():.2f}, "
                f"effective draws {found.ess.min():.0f}): increase iterations",
                UnreliableWarning,
                stacklevel=2,
            )
        return self

    def _settings(self) -> "mixture.Settings":
        from thesiskit.models import mixture

        if self.sampler == "as-printed":
            raise UserError("sampler as-printed samples no posterior; use collapsed or thesis")
        names = ("chains", "iterations", "burn_in")
        length = run_length(
            self.until, {name: getattr(self, name) for name in names}, dict.fromkeys(names),
            judged=self.sampler == "collapsed",
        )  # fmt: skip
        return mixture.Settings(
            class_prior=self.class_prior,
            alpha_prior=self.alpha_prior,
            response_alpha_prior=self.response_alpha_prior,
            sampler=self.sampler,
            **length,
            alpha_points=self.alpha_points,
        )

    def _learn(self, table, y, cases, selection, settings, rng):
        """Return the posterior, and draws of it."""
        from thesiskit.models import mixture

        rows = slice(None) if cases is None else cases
        target = mixture.Target(
            table.unpack(selection.selected, rows),
            y[rows],
            settings,
            selection.left_out if self.correct else None,
        )
        jobs = threads_for(self.n_jobs)
        return target, mixture.sample(target, rng.spawn(settings.chains), jobs=jobs)

    def _log_odds(self, model, bits):
        target, draws = model
        return target.predict_log_odds(draws.flat, bits)


def _packed(X: np.ndarray) -> PackedFeatures:
    """Pack a table of 0 and 1, in chunks."""
    if not is_binary(X):
        raise UserError(NOT_BINARY)
    return PackedFeatures.pack(X)


def _bits(X: np.ndarray) -> np.ndarray:
    """Return features as 0 and 1, where some are missing as they are."""
    missing = find_missing(X)
    bits = as_bits(X if missing is None else np.where(missing, 0, X))
    if bits is None:
        raise UserError(NOT_BINARY)
    return bits if missing is None else X


def as_screened(screened: Any) -> Screened | None:
    """Return what is known of a screened table, given as {"of": 10000, "threshold": "0.26"}."""
    if screened is None:
        return None
    threshold = check_screened(screened, "threshold").get("threshold")
    square = None if threshold is None else check_threshold(threshold) ** 2
    return Screened(whole('screened["of"]', screened["of"]), square)
