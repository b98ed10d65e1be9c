"""The naive Bayes model with normal features and any number of classes, corrected for selection.

| symbol | name | shape |
|---|---|---|
| y_i = g, x_ij | responses 0 to G - 1, real features | (n,), (n, p) |
| n_g, m_g, W of a feature | `FSelection.counts`, `means`, `within` | (k, G), (k, G), (k,) |
| rho | `ratio` | (R,) |
| pi | `pi` | (J,) |
| c | `shapes`, `effect_shapes` | (C,) |
| rho_j | `Nodes.ratio`, 0 first | (M,) |
| a, b | `variance` | (2,) |
| h, 1 - h | `irrelevance`, `relevance` | (k, .) |
| A(rho) | `log_discard` | (C, R) |

    x_ij ~ N(mu_jg, w_j),  mu_jg ~ N(nu_j, rho_j w_j),  nu_j flat,  w_j ~ Inverse-Gamma(a/2, ab/2),
    rho_j = 0 with probability 1 - pi, else rho T_j,  T_j ~ Inverse-Gamma(c/2, c/2) or 1,
    probabilities of the classes ~ Dirichlet.

The idea, to condition on the fact that the features left out were weak, is that of the thesis
(section "Our Method for Avoiding Selection Bias"); its normal form is that of Li (2012), "Bias-
corrected hierarchical Bayesian classification with a selected subset of high-dimensional features",
Journal of the American Statistical Association 107, 120-134.  Here all integrals are by
quadrature.  With r_g = n_g / (1 + rho_j n_g), R = sum r_g, m = sum r_g m_g / R and
Q = sum r_g (m_g - m)^2, the marginal likelihood of a feature is proportional to

    prod sqrt(r_g / n_g) R^(-1/2) (ab + W + Q)^(-(a + N - 1) / 2),

which is averaged over T_j by the trapezoid rule in log rho_j, and mixed with that of rho_j = 0.
Features left out have the factor [(1 - pi) A(0) + pi A(rho)]^(p - k), where A is the probability
that F is at most the threshold.  A missing value has no term in the likelihood.
"""

from thesiskit.models.normal.discards import log_discard_probability
from thesiskit.models.normal.posterior import Posterior, fit, restore
from thesiskit.models.normal.prediction import as_probability, predict, predict_log, promise
from thesiskit.models.normal.screening import (
    FScreened,
    FSelection,
    f_of_correlation,
    select_by_f,
)
from thesiskit.models.normal.settings import Settings

__all__ = [
    "FScreened",
    "FSelection",
    "Posterior",
    "Settings",
    "as_probability",
    "f_of_correlation",
    "fit",
    "log_discard_probability",
    "predict",
    "predict_log",
    "promise",
    "restore",
    "select_by_f",
]
