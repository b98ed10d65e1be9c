"""Models with Gaussian priors as Gaussian processes: no patterns, only cases and what they share.

| symbol | name | shape |
|---|---|---|
| l(x, beta) of R distinct cases | `latent` | (S, R), S = 1 for two classes, else K |
| sigma_o | `exp(log_sigma)` | (O + 1,) |
| h, what two cases share | `agreement` | (n, m) |
| how many patterns of order o express two cases that share h | `shared_patterns` | (h, o) |
| Cov(l(x), l(x')), the sum over o of sigma_o^2 times that | `covariance` | (n, m) |

The models are those of sections "Bayesian Logistic Sequence Prediction Models" and "Application to
Logistic Classification Models" with Gaussian priors: the linear function is a sum of independent
Gaussians, one for each pattern.  Histories share the patterns up to the length of their common
recent past, one of each order; cases that agree in h features share C(h, o) of order o.  That the
sum over all patterns is this process is our own remark, not the thesis's.  It takes neither
compressing nor splitting.

The sampler works with steps, independent combinations of the values of `latent`, each of which
does not feel the sigmas below its level.  Steps, unlike values, are never nearly collinear: one
sigma of 1e7 beside another of 1e-2, which the priors expect, costs no digits, and no jitter is
needed.  The exception is a case with missing features, which high orders leave out: where a sigma
is 1e5 or more times that of a lower order, its latent value can have fewer than six digits.  In
training, such sigmas count as impossible (LEAST_PIVOT); in predictions they are let pass.

Memory is of the order R^2, for features R^2 (O + 3).  A change of latent costs R^2, an evaluation
of a sigma R^3 / 3 (about seven for each of two updates of each sigma in an iteration), a draw in
predictions R^3 / 3.
"""

from thesiskit.models.process.inputs import agreement, covariance, shared_patterns
from thesiskit.models.process.prediction import judged_at, normal_posterior, predict, probabilities
from thesiskit.models.process.sampler import Chain, Draws, Process, sample, saved_from

__all__ = [
    "Chain",
    "Draws",
    "Process",
    "agreement",
    "covariance",
    "judged_at",
    "normal_posterior",
    "predict",
    "probabilities",
    "sample",
    "saved_from",
    "shared_patterns",
]
