"""The common part of the estimators with patterns: settings, chains and predictions."""

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state

from thesiskit import defaults
from thesiskit.errors import UnreliableWarning, UserError
from thesiskit.estimators.inputs import threads_for
from thesiskit.estimators.lengths import run_length
from thesiskit.models import logistic
from thesiskit.models.naive_bayes import CLOSEST
from thesiskit.models.patterns import Groups

USUAL = {  # lengths of chains that are not judged
    "chains": defaults.CHAINS,
    "iterations": defaults.ITERATIONS,
    "burn_in": defaults.BURN_IN,
    "thin": defaults.THIN,
}
SPLIT_DRAWS = 10  # where no expectation is known


class PatternModel(BaseEstimator):
    """A linear function of patterns; subclasses add the kind of cases and of responses."""

    patterns: ClassVar[str]  # "sequences" or "features"
    order: Any
    prior: Any
    compress: Any
    until: Any
    iterations: Any
    burn_in: Any
    thin: Any
    chains: Any
    sigma: Any
    sigma_scale: Any
    n_jobs: Any
    random_state: Any
    compression_: Any
    engine = "slice"
    _unit = 1.0  # of the coefficients

    def _fit(self, codes: np.ndarray, order: int, y: np.ndarray):
        """Run the chains of codes (n, p) and responses y (n,)."""
        response = self._responses(y)
        if self.engine not in ("slice", "gp"):
            raise UserError(f"unknown engine {self.engine!r}; choose slice or gp")
        if not isinstance(self.compress, bool | np.bool_):
            raise UserError(f"compress must be True or False, got {self.compress!r}")
        settings = logistic.Settings(
            prior=self.prior,
            sigma=self.sigma,
            sigma_scale=self.sigma_scale,
            **run_length(self.until, {name: getattr(self, name) for name in USUAL}, USUAL),
            **self._more_settings(),
        )
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        *generators, self._predicting = np.random.default_rng(seed).spawn(settings.chains + 1)
        self._draws = self._sample(codes, order, response, settings, generators)
        rhat, ess = self._draws.compared()
        self.diagnostics_ = {
            "rhat": float(rhat[0]),
            "ess": float(ess[0]),
            "reliable": logistic.reliable(rhat, ess),
        }
        reached = self._draws.judgement
        if reached is not None:
            self.diagnostics_ |= {
                "iterations": int(self._draws.state["done"]),
                "reached": reached.enough,
            }
        self.draws_ = self._draws.as_arviz({}, {"prior": self.prior, "engine": self.engine})
        posterior = self.draws_["posterior"]
        self.draws_["posterior"] = posterior.to_dataset().assign_coords(self._coordinates())
        if not self.diagnostics_["reliable"]:
            warnings.warn(
                f"the chains do not support the predictions (R-hat of the log likelihood "
                f"{rhat[0]:.2f}, effective draws {ess[0]:.0f}): increase iterations",
                UnreliableWarning,
                stacklevel=3,
            )
        return self

    def _responses(self, y: np.ndarray) -> np.ndarray:
        """Return the responses in the form that the model needs."""
        raise NotImplementedError

    def _model(self, response: np.ndarray, settings: logistic.Settings) -> logistic.Linear:
        raise NotImplementedError

    def _group(self, codes: np.ndarray, order: int) -> Groups:
        raise NotImplementedError

    def _codes(self, X) -> np.ndarray:
        """Return test cases as codes (m, p)."""
        raise NotImplementedError

    def _more_settings(self) -> dict[str, Any]:
        return {}

    def _sample(self, codes, order, response, settings, generators) -> Any:
        self.compression_ = self._group(codes, order)
        model = self._model(response, settings)
        probe = None if settings.until is None else self._probe(codes)
        return logistic.sample(model, generators, probe=probe, jobs=threads_for(self.n_jobs))

    def _probe(self, codes: np.ndarray) -> logistic.Probe:
        return logistic.Probe.of_training(self.compression_, codes)

    def _pattern_names(self) -> Iterable[str]:
        """Return a pattern of each group of `compression_`."""
        raise NotImplementedError

    def _coordinates(self) -> dict[str, Any]:
        """Return what the dimensions of the draws are called."""
        found: dict[str, Any] = {"order": np.arange(self._draws.log_sigma.shape[-1])}
        if self.compression_ is not None:
            found["group"] = self.get_feature_names_out()
        return found

    def get_feature_names_out(self, input_features=None):  # noqa: ARG002
        """Return a pattern of each group that has a coefficient, (G,), in the order of `draws_`.

        No name stands for two groups.  The group of all cases is called "(all)".
        """
        check_is_fitted(self)
        if self.compression_ is None:
            raise UserError("a Gaussian process has no coefficients; use engine='slice'")
        return np.array([name or "(all)" for name in self._pattern_names()], dtype=object)

    def _generator(self) -> np.random.Generator:
        """Return a copy of the generator, so that equal calls give equal predictions."""
        rng = np.random.default_rng(0)
        rng.bit_generator.state = self._predicting.bit_generator.state
        return rng

    def original_coefficients(self, random_state=None):
        """Return draws of every original coefficient, (draws, sets, patterns).

        Patterns stand group by group of `compression_`, and by rising order within a group, as
        they do without compressing sequences.  Section "Splitting Compressed Parameters".
        """
        check_is_fitted(self)
        if self.compression_ is None:
            raise UserError("a Gaussian process has no coefficients; use engine='slice'")
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        coefficient, log_sigma = self._draws.flat
        cauchy, rng = self.prior == "cauchy", np.random.default_rng(seed)
        return self._unit * logistic.original_coefficients(
            coefficient, log_sigma, self.compression_, cauchy=cauchy, rng=rng
        )


class PatternClassifier(ClassifierMixin, PatternModel):
    """A logistic function of patterns."""

    exact_cauchy: ClassVar[bool]  # whether each case shares at most one group in part

    def _responses(self, y):
        check_classification_targets(y)
        self.classes_, coded = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            (only,) = self.classes_.tolist()
            raise ValueError(f"{type(self).__name__} needs two classes, got one class: {only!r}")
        return coded

    def _model(self, response, settings):
        return logistic.Model(self.compression_, response, len(self.classes_), settings)

    def _sample(self, codes, order, response, settings, generators):
        if self.engine == "slice":
            return super()._sample(codes, order, response, settings, generators)
        from thesiskit.models import process

        self.compression_ = None
        return process.sample(
            codes, response, len(self.classes_), order, settings, generators,
            patterns=self.patterns, judged=process.judged_at(codes, test=False),
            jobs=threads_for(self.n_jobs),
        )  # fmt: skip

    def predict_proba(self, X, *, split_draws=None):
        """Return the probabilities of the classes, (m, K).

        split_draws : how often each draw of a group's coefficient is split at random between the
            patterns that a case has and those that it does not have.  "exact" computes the
            expectation in place of this.  It is possible for two classes, if priors are Gaussian
            or if each case shares at most one group in part, as histories do; it is then the
            default.  Otherwise the default is 10, and the prediction for a case with new patterns
            depends slightly on the other cases in the same call.
        """
        check_is_fitted(self)
        codes = self._codes(X)
        if split_draws is None:
            known = len(self.classes_) == 2 and (self.exact_cauchy or self.prior == "gaussian")
            split_draws = "exact" if known else SPLIT_DRAWS
        rng = self._generator()
        if self.engine == "gp":
            from thesiskit.models import process

            draws = 1 if split_draws == "exact" else split_draws
            return process.predict(self._draws, codes, rng, draws)
        coefficient, log_sigma = self._draws.flat
        return logistic.predict(
            coefficient,
            log_sigma,
            self.compression_.shared(codes),
            len(self.classes_),
            cauchy=self.prior == "cauchy",
            rng=rng,
            split_draws=split_draws,
        )

    def predict_log_proba(self, X, *, split_draws=None):
        """Return the logs of the probabilities of the classes, (m, K), none below log 2^-53.

        split_draws : as of predict_proba.
        """
        return np.log(np.maximum(self.predict_proba(X, split_draws=split_draws), CLOSEST))

    def _coordinates(self):
        # with two classes there is one set of coefficients, of the second class
        sets = self._draws.flat[0].shape[1]
        return super()._coordinates() | {"set": self.classes_[-sets:]}

    def predict(self, X):
        """Return the most probable label of each case, (m,)."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
