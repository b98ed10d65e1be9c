"""Models with Gaussian priors as Gaussian processes: no patterns, only what samples share.

The linear function of a logistic model (sections "Bayesian Logistic Sequence Prediction Models" and
"Application to Logistic Classification Models") is with Gaussian priors a sum of independent
Gaussians, one for each pattern.  Histories share the patterns up to the length of their common
recent past, one of each order; samples that agree in h features share C(h, o) of order o.  This is
an oracle: it takes neither compressing nor splitting.
"""

import numpy as np
from scipy import special

from thesiskit.models.patterns import MISSING


def agreement(X, Y=None, patterns: str = "sequences") -> np.ndarray:
    """Return what samples X (n, p) and Y (m, p) share, (n, m); Y is X where it is not given.

    Of histories, columns in time order, the length of their common recent past.  Of features, in
    how many they agree: those of negative code (missing, unseen) agree with no other sample's, and
    a sample agrees with itself in all that are not missing.
    """
    X = np.asarray(X)
    other = X if Y is None else np.asarray(Y)
    shared = np.zeros((len(X), len(other)), dtype=np.int32)
    if patterns == "features":
        for mine, theirs in zip(X.T, other.T, strict=True):
            shared += (mine[:, None] == theirs) & (mine[:, None] >= 0)
        if Y is None:
            np.fill_diagonal(shared, (X != MISSING).sum(axis=1))
        return shared
    same = np.ones(shared.shape, dtype=bool)
    for t in reversed(range(X.shape[1])):
        same &= X[:, t, None] == other[None, :, t]
        if not same.any():
            break
        shared += same
    return shared


def shared_patterns(most: int, order: int, patterns: str = "sequences") -> np.ndarray:
    """Return how many patterns of order o express two samples that share h, (most + 1, O + 1)."""
    h, o = np.arange(most + 1)[:, None], np.arange(order + 1)
    return special.comb(h, o) if patterns == "features" else (o <= h).astype(float)


def covariance(shared, sigma, patterns: str = "sequences") -> np.ndarray:
    """Return Cov(l(x), l(x')), of the shape of `shared`, the agreement of x and x'.

    sigma (O + 1,).
    """
    sigma = np.asarray(sigma, dtype=float)
    return (shared_patterns(np.max(shared), len(sigma) - 1, patterns) @ sigma**2)[shared]
