"""Classifiers and a regressor with patterns: of sequences, and of interactions of features."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    check_non_negative,
    check_random_state,
    column_or_1d,
    validate_data,
)

from thesiskit import defaults
from thesiskit.errors import UnreliableWarning, UserError
from thesiskit.estimators.inputs import (
    AUTO,
    DiscreteFeatures,
    as_numbers,
    as_objects,
    check_level,
    check_response,
    check_spread,
    coded,
    run_length,
    threads_for,
)
from thesiskit.models import mixing
from thesiskit.models.base import CLOSEST, PatternTraining, check_predictions, whole
from thesiskit.models.logistic import SPLIT_DRAWS, Logistic
from thesiskit.models.patterns import (
    UNSEEN,
    FeaturePatterns,
    Patterns,
    SequencePatterns,
    check_histories,
    check_order,
)
from thesiskit.models.prevalence import at_prevalence
from thesiskit.models.splitting import original_coefficients

USUAL = {  # lengths of chains that are not judged
    "iterations": defaults.ITERATIONS,
    "burn_in": defaults.BURN_IN,
    "thin": defaults.THIN,
    "chains": defaults.CHAINS,
}


class PatternModel(BaseEstimator):
    """A linear function of patterns; subclasses add the kind of samples and of responses."""

    min_samples = defaults.MIN_SAMPLES
    _unit = 1.0  # of the coefficients
    _codes: Callable[[Any], np.ndarray]  # returns test samples as codes (m, p)

    def __init__(
        self,
        order,
        *,
        engine="chains",
        prior=defaults.PRIOR,
        compress=True,
        until=AUTO,
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
        self.engine = engine
        self.prior = prior
        self.compress = compress
        self.until = until
        self.iterations = iterations
        self.burn_in = burn_in
        self.thin = thin
        self.chains = chains
        self.sigma = sigma
        self.sigma_scale = sigma_scale
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, patterns: Patterns, codes: np.ndarray, order: int, response: np.ndarray):
        """Run the chains of codes (n, p) of patterns, and responses (n,): classes or numbers."""
        if not isinstance(self.compress, bool | np.bool_):
            raise UserError(f"compress must be True or False, got {self.compress!r}")
        compress = bool(self.compress)
        length = run_length(self.until, {name: getattr(self, name) for name in USUAL}, USUAL)
        names = ("prior", "min_samples", "sigma", "sigma_scale")
        options = {name: getattr(self, name) for name in names} | length
        self._model = Logistic(order=order, compress=compress, **options)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        *generators, last = np.random.default_rng(seed).spawn(self._model.chains + 1)
        self._seed = int(last.integers(np.iinfo(np.int32).max))  # of predictions
        find = partial(
            patterns.groups, codes, order, compress=compress, min_samples=self.min_samples
        )
        classes = len(getattr(self, "classes_", ()))
        self._training = PatternTraining(patterns, codes, response, classes, find)
        self.compression_ = self._training.groups
        self._draws = self._model.sample(self._training, generators, jobs=threads_for(self.n_jobs))
        rhat, ess = self._draws.compared()
        self.diagnostics_ = {
            "rhat": float(rhat[0]),
            "ess": float(ess[0]),
            "reliable": self._model.reliable(rhat, ess),
        }
        if self._draws.judgement is not None:
            iterations, reached = int(self._draws.state["done"]), self._draws.judgement.enough
            self.diagnostics_ |= {"iterations": iterations, "reached": reached}
        if not self.diagnostics_["reliable"]:
            warnings.warn(
                "predictions are unreliable, because chains have not converged (R-hat of the log "
                f"likelihood {rhat[0]:.2f}, effective draws {ess[0]:.0f}). "
                "Fix: increase iterations",
                UnreliableWarning,
                stacklevel=3,
            )
        return self

    @property
    def draws_(self):
        """The draws of the chains, an xarray DataTree for ArviZ."""
        check_is_fitted(self)
        draws = self._draws.as_arviz({}, {"prior": self._model.prior})
        posterior = draws.groups["posterior"]
        posterior["order"] = (("order",), np.arange(self._draws.log_sigma.shape[-1]))
        if self.compression_ is not None:
            posterior["group"] = (("group",), self.get_feature_names_out())
        if self._training.classes:
            # with two classes there is one set of coefficients, of the second class
            posterior["set"] = (("set",), self.classes_[-self._draws.flat[0].shape[1] :])
        return draws.to_xarray()

    def get_feature_names_out(self, input_features=None):  # noqa: ARG002
        """Return a pattern of each group that has a coefficient, (G,), in the order of `draws_`.

        No name stands for two groups.  The group of all samples is called "(all)".
        """
        check_is_fitted(self)
        groups, names = self.compression_, self._training.patterns.names
        patterns = [groups.pattern(g, *names) for g in range(groups.n_groups)]
        return np.array([pattern or "(all)" for pattern in patterns], dtype=object)

    def original_coefficients(self, random_state=None):
        """Return draws of every original coefficient, (draws, sets, patterns).

        Patterns stand group by group of `compression_`, and by rising order within a group, as
        they do without compressing sequences.  Section "Splitting Compressed Parameters".
        """
        check_is_fitted(self)
        groups = self.compression_
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        coefficient, log_sigma = self._draws.flat
        cauchy, rng = self.prior == "cauchy", np.random.default_rng(seed)
        return self._unit * original_coefficients(
            coefficient, log_sigma, groups, cauchy=cauchy, rng=rng
        )


class PatternClassifier(ClassifierMixin, PatternModel):
    """A logistic function of patterns."""

    def predict_proba(self, X, *, split_draws=SPLIT_DRAWS, prevalence=None):
        """Return the probabilities of the classes, (m, K).

        split_draws : how often each draw of a group's coefficient is split at random between the
            patterns that a sample has and those that it does not have.  No prediction depends on
            the other samples in the same call.  The standard error of a probability by splits is
            at most 0.5 / sqrt(draws split_draws): .005 for 1,000 draws of the chains.  Mixing,
            an engine of SequenceClassifier, draws nothing.
        prevalence : as of NaiveBayesClassifier.
        """
        check_is_fitted(self)
        codes = self._codes(X)
        if "_mixed" in vars(self):
            probability = self._mixed.predict(codes)
        else:
            posterior = self._draws.posterior(self._model, self._training)
            probability = posterior.predict_alone(codes, self._seed, split_draws)
        check_predictions({"probability": probability})
        return at_prevalence(probability, prevalence, self.classes_, self.class_count_)

    def predict_log_proba(self, X, *, split_draws=SPLIT_DRAWS, prevalence=None):
        """Return the logs of the probabilities of the classes, (m, K), none below log 2^-53.

        split_draws, prevalence : as of predict_proba.
        """
        probability = self.predict_proba(X, split_draws=split_draws, prevalence=prevalence)
        return np.log(np.maximum(probability, CLOSEST))

    def predict(self, X, prevalence=None):
        """Return the most probable label of each sample, (m,); prevalence as of predict_proba."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X, prevalence=prevalence).argmax(axis=1)]


# ---- sequences ----


class SequenceClassifier(PatternClassifier):
    """Bayesian logistic sequence prediction with patterns of any order.

    Sections "Bayesian Logistic Sequence Prediction Models" and "Application to Sequence Prediction
    Models" of the thesis.  If the chains have not mixed, `fit` gives an UnreliableWarning.

    Parameters
    ----------
    order : the largest number of recent states that a pattern fixes, or "all".
    engine : "chains", the model of the thesis; or "mixing", a logistic model of the same contexts,
        with counts in place of coefficients of their own, up to order 64 and 256 states or classes.
        It learns the samples in their order, in seconds for a million; orders from 10 on suit it.
        Nothing is drawn: of the other parameters only n_jobs and random_state may be given, which
        change nothing.  A new state ends the context; the states after it still predict.
    prior : "cauchy" or "gaussian", of the coefficients.
    compress : whether patterns that are present in the same training samples share a coefficient.
    until : "auto", None, or a pair of an R-hat and effective draws, such as (1.01, 400).  Chains
        are compared after 200, 300, 450, ... iterations, of which the second half counts, and stop
        when the log likelihood and the predictions for up to 20 training samples have reached both.
        At most 1,000 draws are kept.  "auto" is (1.01, 400), unless iterations, burn_in or thin
        are given, or one chain; None never stops before `iterations`.
    iterations, burn_in, thin, chains : None for what suits `until`.  iterations is the number of
        all iterations of a chain, with `until` the limit: 4000 unless given, with 4 chains.
        Without `until` the first burn_in (750) of 2000 iterations are dropped; of the others
        every thin-th (5th) is, of one chain; with it, leave burn_in and thin out.
    sigma : None to sample the widths of the priors, or their values for orders 0 to `order`.
    sigma_scale : "log", or "natural" to update sigma on its own scale, as the thesis implies.
    n_jobs : how many chains run at the same time, in threads; None or -1 for one on each core.
        It changes no draw.
    random_state : seeds the chains and the predictions.

    Attributes
    ----------
    classes_ : (K,) labels.
    states_ : (V,) the strings that are states, sorted, whose places are the codes; None where
        states are whole numbers.
    compression_ : groups of patterns, as `models.patterns.compress_sequences` returns them.
    draws_ : ArviZ data (`thesiskit[arviz]`): posterior (coefficient by chain, draw, set and group,
        log_sigma), sample_stats (log_likelihood, log_prior, evaluations).  A set is called by its
        class and a group by a pattern, as get_feature_names_out returns them.
    diagnostics_ : dict of R-hat ("rhat") and effective draws ("ess") of the log likelihood, and
        "reliable"; with until also "iterations" and "reached", whether the targets were.
    training_loss_ : of mixing, the mean log loss of each sample before it was learnt; mixing has
        no compression_, draws_ and diagnostics_.
    """

    def fit(self, X, y):
        """Fit to histories X (n, length) and the labels y (n,) that follow them.

        X holds states in time order, the last column most recent: whole numbers from 0, or
        strings.  Raises ValueError for missing or negative states, an order above the length, one
        class.
        """
        if y is None:
            raise ValueError("SequenceClassifier requires y to be passed, but the target y is None")
        X, y = self._checked(X, y=check_response(y))
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        self._check_engine()
        self.states_, X = _states(X)
        if X.dtype.kind in "if":
            check_non_negative(X, "SequenceClassifier")
        histories = check_histories(self._as_codes(X), "histories")
        order = check_order(self.order, histories.shape[1], "sequences")
        symbols: Any = self.states_
        if symbols is None:
            symbols = range(int(histories.max(initial=-1)) + 1)
        response = coded(self, y)
        for attribute in ("_mixed", "training_loss_", "_draws", "compression_", "diagnostics_"):
            self.__dict__.pop(attribute, None)  # of an earlier fit, maybe by the other engine
        if self.engine == "mixing":
            self._mixed = mixing.fit(histories, response, order, len(symbols), len(self.classes_))
            self.training_loss_ = float(self._mixed.loss.mean())
            return self
        patterns = SequencePatterns([str(state) for state in symbols])
        return self._fit(patterns, histories, order, response)

    def __getattr__(self, name):
        problem = f"{type(self).__name__!r} object has no attribute {name!r}"
        if "_mixed" in vars(self):
            problem += ": engine='mixing' has no draws and no groups. Fix: use engine='chains'"
        raise AttributeError(problem)

    def _check_engine(self):
        """Raise UserError for an unknown engine, and for arguments that mixing does not use."""
        if self.engine not in ("chains", "mixing"):
            raise UserError(f"unknown engine {self.engine!r}. Fix: choose chains or mixing")
        usual = type(self)(self.order, engine=self.engine).get_params()
        usual |= {"n_jobs": self.n_jobs, "random_state": self.random_state}  # change no prediction
        for name, value in self.get_params().items():
            if self.engine == "mixing" and np.any(value != usual[name]):
                raise UserError(f"{name} does not apply to engine='mixing'. Fix: remove it")

    def _codes(self, X):
        states = self._as_codes(self._checked(X, reset=False))
        return check_histories(states, "histories", unseen=True)

    def _as_codes(self, X):
        """Return states as whole numbers, UNSEEN where no training sample has a string."""
        states, X = _states(X)
        if self.states_ is None:
            if states is not None:
                raise UserError("the states were whole numbers in fit. Fix: give whole numbers")
            return X
        if states is None:
            raise UserError("the states were strings in fit. Fix: give strings here")
        place = np.minimum(np.searchsorted(self.states_, X), len(self.states_) - 1)
        return np.where(self.states_[place] == X, place, UNSEEN)

    def _checked(self, X, **options) -> Any:
        """Return what scikit-learn's own checks leave of the data."""
        X = as_objects(X)
        sliding = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu"
        # a window over one sequence must not be copied, as check_array would
        usual: dict[str, Any] = {"skip_check_array": True} if sliding else {"dtype": None}
        return validate_data(self, X, **usual | options)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        tags.classifier_tags.poor_score = True  # the checks' blobs are not sequences
        return tags


def _states(X) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the strings of X, sorted, and X as strings; None and numbers if X holds numbers."""
    if X.dtype.kind == "O":
        kinds = {isinstance(value, str) for value in X.flat}
        if kinds == {True, False}:
            if len(places := np.argwhere(pd.isna(X))):
                row, column = places[0] + 1
                raise UserError(f"a state is missing in sample {row}, column {column}")
            raise UserError("some states are strings and some are not. Fix: make them all strings")
        if kinds != {True}:
            return None, as_numbers(X)
    elif X.dtype.kind not in "US":
        return None, X
    X = X.astype(str)
    return np.unique(X), X


# ---- features ----


class FeatureModel(DiscreteFeatures, PatternModel):
    """Features of any discrete values, and the groups of their patterns."""

    def __init__(
        self,
        order,
        *,
        prior=defaults.PRIOR,
        compress=True,
        min_samples=defaults.MIN_SAMPLES,
        until=AUTO,
        iterations=None,
        burn_in=None,
        thin=None,
        chains=None,
        sigma=None,
        sigma_scale=defaults.SIGMA_SCALE,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            order,
            prior=prior,
            compress=compress,
            until=until,
            iterations=iterations,
            burn_in=burn_in,
            thin=thin,
            chains=chains,
            sigma=sigma,
            sigma_scale=sigma_scale,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.min_samples = min_samples

    def _learn(self, X, y, **checks):
        """Return patterns, codes (n, p), the order and the responses; learn the categories."""
        y = check_response(y, numeric="y_numeric" in checks)
        X, y = self._discrete(X, y=y, **checks)
        order = check_order(self.order, X.shape[1], "features")
        codes = self._learn_categories(X)
        return FeaturePatterns(self._names, self._encoder.values), codes, order, y

    def largest(self, k=20):
        """Return the k groups of patterns with the largest coefficients, by absolute median.

        The columns of the table are: pattern, a shortest pattern of the group, such as
        "size=small, form=round"; patterns, the number of patterns that share the coefficient;
        samples, the number of training samples in which the patterns are present; class, the class
        that the coefficient belongs to (with two classes, the second); low, high and median, the
        90% interval and the median of the posterior.  The group of all samples is dropped.
        """
        check_is_fitted(self)
        groups = self.compression_
        draws = self._unit * self._draws.flat[0]
        median = np.median(draws, axis=0)
        interactions = np.flatnonzero(groups.kinds[groups.kind, 0] == 0)
        size = np.abs(median[:, interactions])
        largest = np.argsort(-size, axis=None, kind="stable")[: whole("k", k)]
        sets, place = np.unravel_index(largest, size.shape)
        group = interactions[place]
        low, high = np.quantile(draws[:, sets, group], (0.05, 0.95), axis=0)
        names = self._training.patterns.names
        labels = getattr(self, "classes_", None)  # the last is that of a single set
        return pd.DataFrame({
            "pattern": [groups.pattern(g, *names) for g in group],
            "patterns": groups.patterns_per_order[group].sum(axis=1),
            "samples": np.diff(groups.indptr)[group],
            **({} if labels is None else {"class": labels[-len(size) :][sets]}),
            "low": low,
            "high": high,
            # last, because a narrow terminal leaves out columns in the middle
            "median": median[sets, group],
        })  # fmt: skip


class InteractionClassifier(FeatureModel, PatternClassifier):
    """Bayesian logistic classification with interactions of discrete features, of any order.

    Section "Application to Logistic Classification Models" of the thesis.  Features are any
    discrete values: strings, whole numbers, booleans, objects, columns of a DataFrame.  If a value
    is missing in a sample (None, NaN or NA), no pattern that fixes this feature is present in the
    case.  A value that no training sample has makes new patterns.  If the chains have not mixed,
    `fit` gives an UnreliableWarning.

    Parameters
    ----------
    order : the largest number of features that a pattern fixes, or "all".
    min_samples : patterns that are present in fewer training samples are dropped from the model.
    prior, compress, until, iterations, burn_in, thin, chains, sigma, sigma_scale, n_jobs,
        random_state : as of SequenceClassifier.

    Attributes
    ----------
    classes_ : (K,) labels.
    categories_ : p arrays, the values of each feature, sorted; their places are the codes.
    compression_ : groups of patterns of the codes, as `models.patterns.compress_features` returns
        them.
    draws_, diagnostics_ : as of SequenceClassifier.
    n_features_in_, feature_names_in_ : as scikit-learn's.
    """

    def fit(self, X, y):
        """Fit to features X (n, p) and labels y (n,).

        Raises ValueError for real or infinite values, more than 255 values of a feature, an order
        above p, one class, and groups that memory would not hold.
        """
        patterns, codes, order, y = self._learn(X, y)
        return self._fit(patterns, codes, order, coded(self, y))


class InteractionRegressor(RegressorMixin, FeatureModel):
    """Bayesian linear regression with interactions of discrete features, of any order.

    The model of section "Application to Logistic Classification Models" of the thesis with another
    likelihood: the response is the linear function of the patterns plus normal noise. Features are
    as for InteractionClassifier.  Responses are standardised, so the widths and the coefficients in
    `draws_` are in units of the responses' standard deviation; all other results are in the units
    of the responses.  If the chains have not mixed, `fit` gives an UnreliableWarning.

    Parameters
    ----------
    order, prior, compress, min_samples, until, iterations, burn_in, thin, chains, sigma,
        sigma_scale, n_jobs, random_state : as of InteractionClassifier.

    Attributes
    ----------
    categories_, compression_, draws_, diagnostics_, n_features_in_, feature_names_in_ : as of
        InteractionClassifier; draws_ has log_noise too.
    noise_ : posterior median of the standard deviation of the noise.
    """

    def fit(self, X, y):
        """Fit to features X (n, p) and numbers y (n,).

        Raises ValueError as InteractionClassifier does, and for responses that are missing,
        infinite or all the same.
        """
        patterns, codes, order, y = self._learn(X, y, y_numeric=True, ensure_min_samples=2)
        self._unit = float(check_spread(y).std())
        self._fit(patterns, codes, order, y)
        self.noise_ = float(self._unit * np.median(np.exp(self._draws.log_noise)))
        return self

    def predict(self, X):
        """Return the medians of the responses, (m,).

        With Cauchy priors the mean does not exist, because the coefficient of a new pattern has
        no mean.
        """
        return self.predict_quantiles(X, [0.5])[:, 0]

    def predict_interval(self, X, level=0.9, *, split_draws=SPLIT_DRAWS):
        """Return the ends of central intervals, (m, 2), with this probability of a new response."""
        tail = check_level(level)
        return self.predict_quantiles(X, [tail, 1 - tail], split_draws=split_draws)

    def predict_quantiles(self, X, q, *, split_draws=SPLIT_DRAWS):
        """Return quantiles of the responses, noise included, (m, len(q)).

        q : levels between 0 and 1.
        split_draws : how often each draw of the parameters is split between what a sample shares
            with the training samples and what it does not.
        """
        check_is_fitted(self)
        codes = self._codes(X)
        posterior = self._draws.posterior(self._model, self._training)
        quantiles = posterior.quantiles_alone(codes, q, self._seed, split_draws)
        return check_predictions({"quantiles": quantiles.T})["quantiles"]
