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
from thesiskit.errors import UserError
from thesiskit.estimators.logistic import PatternClassifier
from thesiskit.models.patterns import UNSEEN, check_histories, check_order, compress_sequences


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
    until : "auto", None, or a pair of an R-hat and effective draws, such as (1.01, 400).  Chains
        are compared after 200, 300, 450, ... iterations, of which the second half counts, and stop
        when the log likelihood and the predictions for up to 20 training cases have reached both.
        At most 1,000 draws are kept.  "auto" is (1.01, 400), unless iterations, burn_in or thin
        are given, or one chain; None never stops before `iterations`.
    iterations, burn_in, thin, chains : None for what suits `until`.  iterations is the number of
        all iterations of a chain, with `until` the limit: 4000 unless given, with 4 chains.
        Without `until` the first burn_in (750) of 2000 iterations are not kept, of the others
        every thin-th (5th) is, of one chain; with it, leave burn_in and thin out.
    sigma : None to sample the widths of the priors, or their values for orders 0 to `order`.
    sigma_scale : "log", or "natural" to update sigma on its own scale, as the thesis does.
    n_jobs : how many chains run at the same time, in threads; None or -1 for one on each core.
        It changes no draw.
    random_state : seeds the chains and the predictions.

    Attributes
    ----------
    classes_ : (K,) labels.
    states_ : (V,) the strings that are states, sorted, whose places are the codes; None where
        states are whole numbers.
    compression_ : groups of patterns, as `models.patterns.compress_sequences` returns them; None
        with engine "gp".
    draws_ : ArviZ data: posterior (coefficient by chain, draw, set and group, log_sigma; with
        engine "gp" latent), sample_stats (log_likelihood, log_prior, evaluations).  A set is
        called by its class and a group by a pattern, as get_feature_names_out returns them.
    diagnostics_ : dict of R-hat ("rhat") and effective draws ("ess") of the log likelihood, and
        "reliable"; with until also "iterations" and "reached", whether the targets were.
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
        until="auto",
        iterations=None,
        burn_in=None,
        thin=None,
        chains=None,
        sigma=None,
        sigma_scale=defaults.SIGMA_SCALE,
        n_jobs=None,
        random_state=None,
    ):
        self.order = order
        self.prior = prior
        self.compress = compress
        self.engine = engine
        self.until = until
        self.iterations = iterations
        self.burn_in = burn_in
        self.thin = thin
        self.chains = chains
        self.sigma = sigma
        self.sigma_scale = sigma_scale
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to histories X (n, length) and the labels y (n,) that follow them.

        X holds states in time order, the last column most recent: whole numbers from 0, or
        strings.  Raises ValueError for missing or negative states, an order above the length, one
        class.
        """
        if y is None:
            raise ValueError("SequenceClassifier requires y to be passed, but the target y is None")
        X, y = self._checked(X, y)
        if np.asarray(X).dtype.kind in "if":
            check_non_negative(X, "SequenceClassifier")
        self.states_ = _states(X)
        histories = check_histories(self._as_codes(X), "histories")
        order = check_order(self.order, histories.shape[1], self.patterns)
        return self._fit(histories, order, y)

    def _group(self, codes, order):
        return compress_sequences(codes, order, compress=bool(self.compress))

    def _codes(self, X):
        return check_histories(self._as_codes(self._checked(X)), "histories", unseen=True)

    def _as_codes(self, X):
        """Return states as whole numbers, UNSEEN where no training case has a string."""
        if self.states_ is None:
            if _states(X) is not None:
                raise UserError("the states were whole numbers in fit; give whole numbers here")
            return X
        if _states(X) is None:
            raise UserError("the states were strings in fit; give strings here")
        X = X.astype(str)
        place = np.minimum(np.searchsorted(self.states_, X), len(self.states_) - 1)
        return np.where(self.states_[place] == X, place, UNSEEN)

    def _pattern_names(self):
        groups = self.compression_
        known = range(int(groups.histories.max()) + 1) if self.states_ is None else self.states_
        names = [str(state) for state in known]
        return [groups.pattern(g, names) for g in range(groups.n_groups)]

    def _checked(self, X, y=None):
        """Return what scikit-learn's own checks leave of the data."""
        sliding = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu"
        # a window over one sequence must not be copied, as check_array would
        options: dict[str, Any] = {"skip_check_array": True} if sliding else {"dtype": None}
        if y is None:
            X = validate_data(self, X, reset=False, **options)
            return _numbers(X)
        if sliding:
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, **options)
        return _numbers(X), y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        tags.classifier_tags.poor_score = True  # the checks' blobs are not sequences
        return tags


def _states(X) -> np.ndarray | None:
    """Return the strings of X, sorted; None if X holds numbers."""
    X = np.asarray(X)
    if X.dtype.kind == "O":
        kinds = {isinstance(value, str) for value in X.flat}
        if kinds == {True, False}:
            raise UserError("some states are strings and some are not; make them all strings")
        return np.unique(X.astype(str)) if kinds == {True} else None
    return np.unique(X.astype(str)) if X.dtype.kind in "US" else None


def _numbers(X):
    """Return objects that are no strings as numbers."""
    return X.astype(float) if X.dtype.kind == "O" and _states(X) is None else X
