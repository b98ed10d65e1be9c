"""Where the truth stands in posteriors of the models of chapter 2.

The case that log odds are of is like the first training case, its response left out: a test case
drawn from the model would itself say something of the parameters, which draws given the training
cases do not know.
"""

import numpy as np

from thesiskit.datasets import Drawn
from thesiskit.experiments.ranks import MOST, Ranks, compare, spaced
from thesiskit.models import naive_draws
from thesiskit.models.mixture import Target
from thesiskit.models.naive_bayes import Posterior
from thesiskit.models.priors import InverseGamma


def naive_ranks(
    posterior: Posterior, drawn: Drawn, kept: np.ndarray, case: np.ndarray, rng: np.random.Generator
) -> Ranks:
    """Rank log alpha, and the log odds of class 1 of a case given alpha and theta.

    kept (k,) are the features kept, case (1, k) their values.
    """
    alpha, theta = naive_draws.sample(posterior, MOST, rng)
    # the truth is the last of the draws
    alpha = np.append(alpha, drawn.alpha)
    theta = np.concatenate([theta, drawn.truth["theta"][None, kept]])
    odds = naive_draws.log_odds(posterior, alpha, theta, case[0])
    return _last({"log alpha": np.log(alpha), "log odds": odds}, rng)


def mixture_ranks(
    target: Target,
    labels: np.ndarray,
    point: np.ndarray,
    drawn: Drawn,
    case: np.ndarray,
    rng: np.random.Generator,
) -> Ranks:
    """Rank what exchanging the components leaves alone.

    log alpha, log alpha_0, agreement (the larger of the number of cases whose label is their
    response, and whose is not), and the log odds of class 1 of a case given labels and both alphas.
    labels (D, n) and point (D, 2) are draws.  A point of the grids stands for a cell, 1 / K of the
    prior: alphas are spread over it by the prior, and for the log odds, which are given points,
    the true ones go to the points of their cells.
    """
    settings, n = target.settings, target.n
    chosen = spaced(len(labels))
    labels = np.concatenate([labels[chosen], drawn.truth["labels"][None]])
    K = settings.alpha_points
    true = (
        InverseGamma(*settings.alpha_prior).cdf(drawn.alpha),
        InverseGamma(*settings.response_alpha_prior).cdf(drawn.truth["alpha_0"]),
    )
    quantile = (point[chosen] + rng.random((len(chosen), 2))) / K
    quantile = np.concatenate([quantile, [true]])
    cell = np.minimum((quantile * K).astype(np.intp), K - 1)
    same = (labels == target.response).sum(axis=1)
    odds = [block[0, 1] - block[0, 0] for block in target.log_joint((labels, cell), case)]
    return _last(
        {
            "log alpha": quantile[:, 0],  # ranks are the same on any scale
            "log alpha_0": quantile[:, 1],
            "agreement": np.maximum(same, n - same),
            "log odds": np.concatenate(odds),
        },
        rng,
    )


def _last(values: dict[str, np.ndarray], rng: np.random.Generator) -> Ranks:
    """Rank the last value of each quantity among the others."""
    return compare(
        {name: one[:-1] for name, one in values.items()},
        {name: one[-1] for name, one in values.items()},
        rng,
    )
