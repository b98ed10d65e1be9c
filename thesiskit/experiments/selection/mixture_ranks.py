"""Calibration of the mixture model: where the truth stands among posterior draws."""

import numpy as np

from thesiskit.datasets.source import Drawn
from thesiskit.experiments.ranks import Ranks, compare_last, spaced
from thesiskit.models.mixture import Target
from thesiskit.models.priors import InverseGamma


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
    return compare_last(
        {
            "log alpha": quantile[:, 0],  # ranks are the same on any scale
            "log alpha_0": quantile[:, 1],
            "agreement": np.maximum(same, n - same),
            "log odds": np.concatenate(odds),
        },
        rng,
    )
