"""Calibration of the model of normal features: where the truth stands among posterior draws."""

import numpy as np

from thesiskit.datasets.source import Drawn
from thesiskit.experiments.ranks import MOST, Ranks, compare_last
from thesiskit.models.normal import Draws, Posterior, log_probability, sample


def normal_ranks(
    posterior: Posterior,
    drawn: Drawn,
    kept: np.ndarray,
    case: np.ndarray,
    rng: np.random.Generator,
) -> Ranks:
    """Rank log rho, and the log odds of each class against the first, of a case given all effects.

    Where some features are relevant also log pi, and how many of the kept ones are.
    kept (k,) are the features kept, case (k,) their values.
    """
    draws = sample(posterior, MOST, rng)
    effect = drawn.truth["effect"][kept]
    # the truth is the last of the draws
    draws = Draws(
        np.append(draws.ratio, drawn.truth["ratio"]),
        np.append(draws.pi, drawn.truth["pi"]),
        np.append(draws.shape, drawn.truth["shape"]),
        np.concatenate([draws.effect, effect[None]]),
    )
    quantities = {"log rho": np.log(draws.ratio)}
    if posterior.settings.relevant == "some":
        quantities["log pi"] = np.log(draws.pi)
        quantities["relevant features"] = draws.relevant.sum(axis=1)
    log_p = log_probability(posterior, draws, case)
    several = log_p.shape[1] > 2
    for g in range(1, log_p.shape[1]):
        name = f"log odds of class {g}" if several else "log odds"
        quantities[name] = log_p[:, g] - log_p[:, 0]
    return compare_last(quantities, rng)
