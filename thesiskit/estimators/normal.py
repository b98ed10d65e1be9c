"""A classifier of real-valued features and any number of classes."""

from typing import ClassVar

import numpy as np

from thesiskit.errors import UserError
from thesiskit.estimators.selecting import DEFAULT_KEPT, SelectingClassifier, check_screened
from thesiskit.models import normal
from thesiskit.models.packed import read_columns
from thesiskit.models.priors import positive, whole
from thesiskit.models.selection import (
    FSelection,
    Screened,
    check_threshold,
    f_of_correlation,
    select_by_f,
)
from thesiskit.models.temperature import temper


class NormalClassifier(SelectingClassifier):
    """Bayesian naive Bayes with normal features, those that differ most between the classes.

    Features are real numbers and are used as they are.  They are screened by the F statistic of
    the analysis of variance, which with two classes orders them as the absolute correlation does.
    With `correct`, the posterior is conditioned on the fact that the features left out were weak,
    which makes the predictive probabilities calibrated.  A missing value (NaN) has no term in the
    likelihood and the predictions, which is exact under the model.  Counts of a large range should
    be given as logarithms, log2(x + 1).

    Parameters
    ----------
    n_features : number of features to keep, from 1 to the number of those that vary (the default
        also keeps all of fewer); None for all of them.
    correct : condition on the selection.
    relevant : "some": each feature is relevant with an unknown probability pi, and else has the
        same mean in all classes; "all": all features are relevant.
    screened : what is known of a table that somebody kept from more features, such as
        {"of": 10000, "threshold": 0.26}: how many of them varied, and the absolute correlation
        (with more classes the correlation ratio) that those kept are above; {"of": 10000,
        "f": 12.3} gives the F statistic.  With "of" alone it is the smallest of the table, as
        where the best ones were kept.  The screening must have used the cases of `fit`.
    class_prior : the Dirichlet prior of the class probabilities: one number, or one for each class.
    effect_shapes : each relevant feature has an effect of its own; its variance is the common one
        times an Inverse-Gamma(c / 2, c / 2) variable.  These are the c's that are averaged over;
        None: the effects of all have the same variance.
    temperature : "cv" divides log odds by tau >= 1, because features that go together are counted
        as so much evidence each; tau is fitted to predictions of parts of the training cases, for
        which selection and fit are repeated without them.  None: tau is 1.
    random_state : breaks ties between features at the cut, and divides the cases for tau.

    Attributes
    ----------
    classes_ : (G,) the labels.
    selected_ : (k,) column indices of the features kept, strongest first.
    threshold_ : the F statistic that no feature left out exceeds.
    relevance_ : (k,) the posterior probability that each feature kept is relevant.
    log_posterior_ : (C, R, J) log posterior probabilities of each shape of effects, of their
        variance (`ratio_`, (R,)) and of pi (`pi_`, (J,)) together; logsumexp is 0.
    tau_ : what log odds are divided by.
    n_features_in_, feature_names_in_ : number of features seen in fit, and their names if X had
        any.
    """

    _many_classes = True
    _validation: ClassVar = {"dtype": "numeric", "ensure_all_finite": "allow-nan"}
    # what is infinite is found where the table is read in chunks
    _validation_of_fit: ClassVar = {"ensure_all_finite": False}

    def __init__(
        self,
        n_features=DEFAULT_KEPT,
        *,
        correct=True,
        relevant="some",
        screened=None,
        class_prior=1.0,
        effect_shapes=(3, 10, None),
        temperature=None,
        random_state=None,
    ):
        self.n_features = n_features
        self.correct = correct
        self.relevant = relevant
        self.screened = screened
        self.class_prior = class_prior
        self.effect_shapes = effect_shapes
        self.temperature = temperature
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to real features X (n, p), NaN where one is missing, and labels y (n,).

        Raises ValueError for infinite values, a label of one value, n_features outside 1..p, where
        p is the number of features that vary, and a table that cannot have been screened as
        `screened` says.
        """
        selection, self._model = self._fit(X, y)
        self.selected_, self.threshold_ = selection.selected, selection.threshold
        self.relevance_, self.log_posterior_ = self._model.relevance, self._model.log_joint
        self.ratio_, self.pi_ = self._model.ratio, self._model.pi
        return self

    def predict_log_proba(self, X):
        """Return the logs of the probabilities of the classes for X (m, p), (m, G).

        Unlike logs of predict_proba, they are exact where a probability is below 2^-53.
        """
        kept = self._kept_of(X)
        log_probability = normal.predict_log(self._model, kept)
        return log_probability if self.tau_ == 1 else temper(log_probability, self.tau_)

    def predict_proba(self, X):
        """Return the probabilities of the classes for X (m, p), (m, G)."""
        return normal.as_probability(self.predict_log_proba(X))

    def predict(self, X):
        """Return the most probable label of each row of X (m, p), (m,)."""
        log_probability = self.predict_log_proba(X)
        return self.classes_[log_probability.argmax(axis=1)]

    def _settings(self) -> normal.Settings:
        return normal.Settings(
            class_prior=self.class_prior,
            effect_shapes=self.effect_shapes,
            relevant=self.relevant,
        )

    def _prepared(self, X: np.ndarray) -> np.ndarray:
        return X

    def _select(self, table, y, cases, rng) -> FSelection:
        k = table.shape[1] if self.n_features is None else int(self.n_features)
        # among the cases of an inner fold fewer features may vary than among all
        at_most = self.n_features in (None, DEFAULT_KEPT) or cases is not None
        return select_by_f(
            table, y, k, rng, cases=cases, screened=self._screened(y), at_most=at_most
        )

    def _screened(self, y) -> Screened | None:
        """Return what is known of a screened table."""
        if self.screened is None:
            return None
        said = check_screened(self.screened, "threshold", "f")
        threshold, correlation = said.get("f"), said.get("threshold")
        if threshold is not None and correlation is not None:
            raise UserError('screened has "threshold" and "f", which say the same; leave out one')
        if threshold is not None:
            threshold = positive('screened["f"]', threshold)
        if correlation is not None:
            threshold = f_of_correlation(float(check_threshold(correlation)), np.bincount(y))
        return Screened(whole('screened["of"]', said["of"]), threshold)

    def _learn(self, table, y, cases, selection, settings, rng) -> normal.Posterior:  # noqa: ARG002
        return normal.fit(selection, settings, correct=bool(self.correct))

    def _predict_cases(self, model, table, cases, selection) -> np.ndarray:
        return normal.predict_log(model, read_columns(table, selection.selected)[cases])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # the checks' blobs need two features
        tags.classifier_tags.poor_score = bool(self.n_features == 1)
        return tags
