"""Covariates: a first model of the classes, whose log odds are added to those of features.

| symbol | name | shape |
|---|---|---|
| c, standardised in the training samples | `standardised` | (n, q) |
| P(y = 1 given c) = 1 / (1 + exp(-(b_0 + b c))) | `slope`, `intercept` | (q,) |
| P(y = 1), the share of class 1 | `share` | |

If features x and covariates c are independent given the class, Bayes' rule says

    P(y given x, c) is proportional to P(y given x) P(y given c) / P(y),

whatever model P(y given x) is of.  This uses what is known of a sample besides its features; it
does not remove what covariates and features have in common, such as the origin of families: a
feature that is selected because it goes with a covariate counts once more.  For that the screening
itself would have to be stratified, which is not done here.
"""

from dataclasses import dataclass, fields

import numpy as np
from scipy import special

from thesiskit.models.base import LARGEST, check
from thesiskit.models.chains import Arrays
from thesiskit.models.folds import column_means

SPREAD = 2.5  # of the normal prior of b, not of b_0, as Gelman et al. (2008) scale it


@dataclass(frozen=True)
class Covariates:
    """What covariates of training samples say of their classes; see the table above.

    mean, spread, slope : (q,).  intercept, share : numbers.
    """

    mean: np.ndarray
    spread: np.ndarray
    slope: np.ndarray
    intercept: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, y: np.ndarray) -> "Covariates":
        """Fit the regression to values (n, q), NaN where one is missing, and classes y (n,)."""
        from sklearn.linear_model import LogisticRegression  # few commands need it

        mean = column_means(values)
        spread = np.sqrt(column_means((values - mean) ** 2))
        spread = np.where(spread > 1e-9 * np.abs(mean), spread, np.inf)
        c = np.nan_to_num((values - mean) / spread)
        fit = LogisticRegression(C=SPREAD**2, solver="newton-cholesky", tol=1e-12).fit(c, y)
        return cls(mean, spread, fit.coef_[0], fit.intercept_[0], np.mean(y))

    def adjusted(self, p: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return P(class) given features and covariates, (T, 2).

        p (T, 2) or (T,) of class 1 is given the features; values (T, q), NaN where one is missing.
        """
        c = np.nan_to_num((values - self.mean) / self.spread)
        probabilities = np.column_stack([1 - p, p]) if p.ndim == 1 else p
        odds = self.intercept + c @ self.slope - special.logit(self.share)
        with np.errstate(divide="ignore"):
            log = np.log(probabilities) + np.outer(odds, [0, 1])
        return special.softmax(log, axis=1)

    @classmethod
    def restored(cls, arrays: Arrays, width: int) -> "Covariates":
        """Return what a model file has; ValueError for arrays that do not fit together."""
        fit = cls(*(arrays[field.name].astype(float) for field in fields(cls)))
        check(fit.mean.shape == fit.spread.shape == fit.slope.shape == (width,))
        check(fit.intercept.shape == fit.share.shape == () and 0 < fit.share < 1)
        for values in (fit.mean, fit.slope, fit.intercept):
            check((np.abs(values) < LARGEST).all())
        check((fit.spread > 0).all())
        return fit
