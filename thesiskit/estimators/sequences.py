"""A classifier of what follows a history of discrete states."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    check_non_negative,
    check_random_state,
    column_or_1d,
    validate_data,
)

from thesiskit.errors import UnreliableWarning, UserError
from thesiskit.models import logistic
from thesiskit.models.patterns import (
    SequenceGroups,
    check_histories,
    check_history,
    compress_sequences,
)
from thesiskit.models.prediction import original_coefficients, predict


class SequenceClassifier(ClassifierMixin, BaseEstimator):
    """Bayesian logistic sequence prediction with patterns of any order.

    Sections "Bayesian Logistic Sequence Prediction Models" and "Application to Sequence Prediction
    Models" of the thesis.  Chains that have not mixed are warned of (UnreliableWarning).

    Parameters
    ----------
    order : the largest number of recent states that a pattern fixes, or "all".
    prior : "cauchy" or "gaussian", of the coefficients.
    compress : one coefficient for all patterns that the same training cases express.
    engine : "slice", or "gp" for Gaussian priors: a Gaussian process, at n^2 memory.
    iterations, burn_in, thin, chains : iterations counts all, burn_in the first ones; every
        thin-th of the others is kept.
    sigma : None to sample the widths of the priors, or their values for orders 0 to `order`.
    sigma_scale : "log", or "natural" to update sigma on its own scale as the thesis.
    random_state : seeds the chains and the predictions.

    Attributes
    ----------
    classes_ : (K,) labels.
    compression_ : groups of patterns, as `models.patterns.compress_sequences` returns them; None
        with engine "gp".
    draws_ : ArviZ data: posterior (coefficient by chain, draw, set and group, log_sigma; with
        engine "gp" latent), sample_stats (log_likelihood, log_prior, evaluations).
    diagnostics_ : dict of R-hat ("rhat") and effective draws ("ess") of the log likelihood, and
        "reliable".
    """

    def __init__(
        self,
        order,
        *,
        prior="cauchy",
        compress=True,
        engine="slice",
        iterations=2000,
        burn_in=750,
        thin=5,
        chains=1,
        sigma=None,
        sigma_scale="log",
        random_state=None,
    ):
        self.order = order
        self.prior = prior
        self.compress = compress
        self.engine = engine
        self.iterations = iterations
        self.burn_in = burn_in
        self.thin = thin
        self.chains = chains
        self.sigma = sigma
        self.sigma_scale = sigma_scale
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to histories X (n, length) and the labels y (n,) that follow them.

        X holds states as whole numbers from 0, in time order, the last column most recent.
        Raises ValueError for missing or negative states, an order above the length, one class.
        """
        if y is None:
            raise ValueError("SequenceClassifier requires y to be passed, but the target y is None")
        X, y = self._checked(X, y)
        if np.asarray(X).dtype.kind in "if":
            check_non_negative(X, "SequenceClassifier")
        histories = check_histories(X, "histories")
        check_classification_targets(y)
        self.classes_, coded = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            (only,) = self.classes_.tolist()
            raise ValueError(f"SequenceClassifier needs two classes, got one class: {only!r}")
        if self.engine not in ("slice", "gp"):
            raise UserError(f"unknown engine {self.engine!r}; choose slice or gp")
        if not isinstance(self.compress, bool | np.bool_):
            raise UserError(f"compress must be True or False, got {self.compress!r}")
        order = check_history(self.order, histories)
        settings = logistic.Settings(
            prior=self.prior,
            sigma=self.sigma,
            sigma_scale=self.sigma_scale,
            iterations=self.iterations,
            burn_in=self.burn_in,
            thin=self.thin,
            chains=self.chains,
        )
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        *generators, self._predicting = np.random.default_rng(seed).spawn(settings.chains + 1)
        self.compression_: SequenceGroups | None = None
        if self.engine == "gp":
            from thesiskit.models import gaussian_process

            draws: Any = gaussian_process.sample(
                histories, coded, len(self.classes_), order, settings, generators
            )
        else:
            self.compression_ = compress_sequences(histories, order, compress=bool(self.compress))
            model = logistic.Model(self.compression_, coded, len(self.classes_), settings)
            draws = logistic.sample(model, generators)
        self._draws = draws
        rhat, ess = self._draws.compared()
        self.diagnostics_ = {
            "rhat": float(rhat[0]),
            "ess": float(ess[0]),
            "reliable": logistic.reliable(rhat, ess),
        }
        self.draws_ = self._draws.as_arviz({}, {"prior": self.prior, "engine": self.engine})
        if not self.diagnostics_["reliable"]:
            warnings.warn(
                f"the chains do not support the predictions (R-hat of the log likelihood "
                f"{rhat[0]:.2f}, effective draws {ess[0]:.0f}): increase iterations",
                UnreliableWarning,
                stacklevel=2,
            )
        return self

    def predict_proba(self, X, *, split_draws=None):
        """Return the probabilities of the classes, (m, K).

        split_draws : how often each draw of the parameters is split between what a history shares
            with the training cases and what it does not; "exact" needs no such draws, where the
            expectation is known: for two classes, whose default it is.  The default for more is
            10; then the answer for a history that holds new patterns depends a little on which
            histories are asked about together.
        """
        check_is_fitted(self)
        histories = check_histories(self._checked(X), "histories", unseen=True)
        # a copy: asking twice must answer twice alike
        if split_draws is None:
            split_draws = "exact" if len(self.classes_) == 2 else 10
        rng = np.random.default_rng(0)
        rng.bit_generator.state = self._predicting.bit_generator.state
        if self.engine == "gp":
            from thesiskit.models import gaussian_process

            draws = 1 if split_draws == "exact" else split_draws
            return gaussian_process.predict(self._draws, histories, rng, draws)
        assert self.compression_ is not None
        coefficient, log_sigma = self._draws.flat
        return predict(
            coefficient,
            log_sigma,
            self.compression_.shared(histories),
            len(self.classes_),
            cauchy=self.prior == "cauchy",
            rng=rng,
            split_draws=split_draws,
        )

    def predict(self, X):
        """Return the most probable label of each history, (m,)."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def original_coefficients(self, random_state=None):
        """Return draws of every original coefficient, (draws, sets, patterns).

        Patterns are those of `compress_sequences(X, order, compress=False)`, in its order.
        """
        check_is_fitted(self)
        if self.compression_ is None:
            raise UserError("a Gaussian process has no coefficients; use engine='slice'")
        rng = np.random.default_rng(
            check_random_state(random_state).randint(np.iinfo(np.int32).max)
        )
        coefficient, log_sigma = self._draws.flat
        return original_coefficients(
            coefficient, log_sigma, self.compression_, cauchy=self.prior == "cauchy", rng=rng
        )

    def _checked(self, X, y=None):
        """Return what scikit-learn's own checks leave of the data."""
        sliding = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu"
        # a window over one sequence must not be copied, as check_array would
        options: dict[str, Any] = {"skip_check_array": True} if sliding else {"dtype": None}
        if y is None:
            X = validate_data(self, X, reset=False, **options)
            return X.astype(float) if X.dtype.kind == "O" else X
        if sliding:
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, **options)
        return (X.astype(float) if X.dtype.kind == "O" else X), y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # the checks' blobs are not sequences
        return tags
