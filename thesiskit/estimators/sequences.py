"""A classifier of what follows a history of discrete states."""

from typing import Any

import numpy as np
from sklearn.utils.validation import (
    check_consistent_length,
    check_non_negative,
    column_or_1d,
    validate_data,
)

from thesiskit import defaults
from thesiskit.estimators.logistic import PatternClassifier
from thesiskit.models.patterns import check_histories, check_order, compress_sequences


class SequenceClassifier(PatternClassifier):
    """Bayesian logistic sequence prediction with patterns of any order.

    Sections "Bayesian Logistic Sequence Prediction Models" and "Application to Sequence Prediction
    Models" of the thesis.  If the chains have not mixed, `fit` gives an UnreliableWarning.

    Parameters
    ----------
    order : the largest number of recent states that a pattern fixes, or "all".
    prior : "cauchy" or "gaussian", of the coefficients.
    compress : whether patterns that are present in the same training cases share a coefficient.
    engine : "slice", or for Gaussian priors "gp", a Gaussian process, which needs n^2 memory.
    iterations, burn_in, thin, chains : iterations is the number of all iterations of a chain; the
        first burn_in are not kept, and of the others every thin-th is kept.
    sigma : None to sample the widths of the priors, or their values for orders 0 to `order`.
    sigma_scale : "log", or "natural" to update sigma on its own scale, as the thesis does.
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

    patterns = "sequences"
    exact_cauchy = True

    def __init__(
        self,
        order,
        *,
        prior=defaults.PRIOR,
        compress=True,
        engine="slice",
        iterations=defaults.ITERATIONS,
        burn_in=defaults.BURN_IN,
        thin=defaults.THIN,
        chains=defaults.CHAINS,
        sigma=None,
        sigma_scale=defaults.SIGMA_SCALE,
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
        order = check_order(self.order, histories.shape[1], self.patterns)
        return self._fit(histories, order, y)

    def _group(self, codes, order):
        return compress_sequences(codes, order, compress=bool(self.compress))

    def _codes(self, X):
        return check_histories(self._checked(X), "histories", unseen=True)

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
