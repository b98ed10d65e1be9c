"""The binary naive Bayes model of selected features, with the correction for the selection.

| thesis | name | shape |
|---|---|---|
| f_0, f_1 | `class_prior` | pair |
| a, b | `alpha_prior` | pair |
| N_0, N_1 | `class_counts`; of features with missing values `present` | pair; (D, 2) |
| I_{0,j}, I_{1,j} | distinct ones are `pairs`; `group` has the row of each feature | (D, 2); (k,) |
| alpha at the quadrature points | `alpha` | (K,) |
| E(theta_j given x_j^train, y^train, alpha) | `theta_mean` | (D, K) |
| E(1 - theta_j given the same) | `complement_mean` | (D, K) |
| log P(S given alpha, y^train) / (p - k) | `log_discard` | (K,) |
| pi, the probability that a feature is relevant; not in the thesis | `pi` | (J,) |

Sections "Application to Bayesian Naive Bayes Models" (py-b to eq-corfact) and "Computation of the
Adjustment Factor for Naive Bayes Models".  Two facts keep the computation small.  The posterior
depends on a feature only through its pair of counts (I0, I1), so integrals are computed once for
each distinct pair.  The predictive integral eq-jfact is an average of phi-hat, which is linear in
theta, so a prediction needs only the posterior mean of theta:
P(x* = 1) = (alpha E(theta) + I_y) / (alpha + N_y).

The thesis's model has one alpha for all features (`relevant="all"`).  With `relevant="some"`, each
feature is relevant with probability pi, and else phi_0 = phi_1 = theta: alpha is infinite for it.
Then the posterior is over (alpha, pi), and what a feature says of both, and of a test case, is a
mixture, with the probability r that it is relevant given its counts, alpha and pi:

    M = P(counts given alpha),   M_0 = P(counts given alpha infinite),
    r = pi M / (pi M + (1 - pi) M_0),
    P(x* = 1 given y*) = r (alpha E(theta) + I_y) / (alpha + N_y) + (1 - r) (I + 1) / (N + 2),

with I = I_0 + I_1 ones of N = N_0 + N_1 cases.

A missing value has no term in the likelihood, which is exact under the model where values are
missing whatever they would be.  So N_0 and N_1 differ by feature; a test case has terms of the
features that it has; and the probability that a feature is left out depends on its own N_0 and N_1.
"""

from thesiskit.models.naive_bayes.posterior import (
    Posterior,
    Settings,
    fit,
    log_alpha_density,
    restore,
)
from thesiskit.models.naive_bayes.prediction import (
    CLOSEST,
    as_probability,
    predict,
    predict_log_odds,
    promise,
)

__all__ = [
    "CLOSEST",
    "Posterior",
    "Settings",
    "as_probability",
    "fit",
    "log_alpha_density",
    "predict",
    "predict_log_odds",
    "promise",
    "restore",
]
