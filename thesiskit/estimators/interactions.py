"""A classifier and a regressor with interactions of discrete features."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from thesiskit import defaults
from thesiskit.errors import UserError
from thesiskit.estimators.features import FeatureModel
from thesiskit.estimators.logistic import SPLIT_DRAWS, PatternClassifier
from thesiskit.models import logistic
from thesiskit.models.priors import positive

LEAST_UNIT, MOST_UNIT = 1e-100, 1e100  # of real responses: their squares are numbers


class InteractionClassifier(FeatureModel, PatternClassifier):
    """Bayesian logistic classification with interactions of discrete features, of any order.

    Section "Application to Logistic Classification Models" of the thesis.  Features are any
    discrete values: strings, whole numbers, booleans, objects, columns of a DataFrame.  If a value
    is missing in a case (None, NaN or NA), no pattern that fixes this feature is present in the
    case.  A value that no training case has makes new patterns.  If the chains have not mixed,
    `fit` gives an UnreliableWarning.

    Parameters
    ----------
    order : the largest number of features that a pattern fixes, or "all".
    prior : "cauchy" or "gaussian", of the coefficients.
    compress : whether patterns that are present in the same training cases share a coefficient.
    min_cases : patterns that are present in fewer training cases are left out of the model.
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
    categories_ : p arrays, the values of each feature, sorted; their places are the codes.
    compression_ : groups of patterns of the codes, as `models.patterns.compress_features` returns
        them; None with engine "gp".
    draws_ : ArviZ data: posterior (coefficient by chain, draw, set and group, log_sigma; with
        engine "gp" latent), sample_stats (log_likelihood, log_prior, evaluations).  A set is
        called by its class and a group by a pattern, as get_feature_names_out returns them.
    diagnostics_ : dict of R-hat ("rhat") and effective draws ("ess") of the log likelihood, and
        "reliable"; with until also "iterations" and "reached", whether the targets were.
    n_features_in_, feature_names_in_ : as scikit-learn's.
    """

    exact_cauchy = False

    def __init__(
        self,
        order,
        *,
        prior=defaults.PRIOR,
        compress=True,
        min_cases=defaults.MIN_CASES,
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
        self.min_cases = min_cases
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
        """Fit to features X (n, p) and labels y (n,).

        Raises ValueError for real or infinite values, more than 255 values of a feature, an order
        above p, one class, and groups that memory would not hold.
        """
        if self.engine == "gp" and self.min_cases != 1:
            raise UserError("a Gaussian process has all patterns; leave out min_cases")
        return self._fit(*self._learn(X, y))


class InteractionRegressor(RegressorMixin, FeatureModel):
    """Bayesian linear regression with interactions of discrete features, of any order.

    The model of section "Application to Logistic Classification Models" of the thesis with
    another likelihood: the response is the linear function of the patterns plus normal noise.
    Features are as for InteractionClassifier.  Responses are standardised, so the widths and the
    coefficients in `draws_` are in units of the responses' standard deviation; all other results
    are in the units of the responses.  If the chains have not mixed, `fit` gives an
    UnreliableWarning.

    Parameters
    ----------
    order, prior, compress, min_cases, until, iterations, burn_in, thin, chains, sigma, sigma_scale,
        n_jobs, random_state : as of InteractionClassifier.
    noise : None to sample the standard deviation of the noise, or its value.

    Attributes
    ----------
    categories_, compression_, draws_, diagnostics_, n_features_in_, feature_names_in_ : as of
        InteractionClassifier; draws_ has log_noise too.
    noise_ : posterior median of the standard deviation of the noise.
    """

    def __init__(
        self,
        order,
        *,
        prior=defaults.PRIOR,
        compress=True,
        min_cases=defaults.MIN_CASES,
        noise=None,
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
        self.min_cases = min_cases
        self.noise = noise
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
        """Fit to features X (n, p) and numbers y (n,).

        Raises ValueError as InteractionClassifier does, and for responses that are missing,
        infinite or all the same.
        """
        self._fit(*self._learn(X, y, y_numeric=True, ensure_min_samples=2))
        self.noise_ = float(self._unit * np.median(np.exp(self._draws.log_noise)))
        return self

    def _responses(self, y):
        if y.min() == y.max():
            raise UserError(f"the responses are all {y[0]:g}; there is nothing to predict")
        with np.errstate(over="ignore", invalid="ignore"):
            self._mean, self._unit = float(y.mean()), float(y.std())
        if not LEAST_UNIT <= self._unit <= MOST_UNIT:
            raise UserError(
                f"the responses run from {y.min():g} to {y.max():g}; give them in units in which "
                f"their standard deviation is between {LEAST_UNIT:g} and {MOST_UNIT:g}"
            )
        return (y - self._mean) / self._unit

    def _more_settings(self):
        noise = self.noise
        return {"noise": None if noise is None else positive("noise", noise) / self._unit}

    def _model(self, response, settings):
        return logistic.Normal(self.compression_, response, settings)

    def predict(self, X):
        """Return the medians of the responses, (m,).

        With Cauchy priors the mean does not exist, because the coefficient of a new pattern has
        no mean.
        """
        return self.predict_quantiles(X, [0.5])[:, 0]

    def predict_quantiles(self, X, q, *, split_draws=SPLIT_DRAWS):
        """Return quantiles of the responses, noise included, (m, len(q)).

        q : levels between 0 and 1.
        split_draws : how often each draw of the parameters is split between what a case shares
            with the training cases and what it does not.
        """
        check_is_fitted(self)
        shared = self.compression_.shared(self._codes(X))
        coefficient, log_sigma = self._draws.flat
        found = logistic.predict_response(
            coefficient, log_sigma, self._draws.log_noise.reshape(-1), shared,
            cauchy=self.prior == "cauchy", rng=self._generator(), split_draws=split_draws,
        )  # fmt: skip
        return self._mean + self._unit * found.quantile(q).T
