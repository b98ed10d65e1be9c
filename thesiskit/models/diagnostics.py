"""Whether the chains of the mixture model agree, and their draws as ArviZ data."""

import warnings
from dataclasses import dataclass

import numpy as np
from arviz_stats.base import array_stats
from scipy import special

from thesiskit.models.chains import Draws
from thesiskit.models.draws import Named, as_tree
from thesiskit.models.mixture import Target

RELIABLE_RHAT = 1.05
RELIABLE_ESS = 100.0
QUANTITIES = ("log_alpha", "log_posterior", "agreement", "predictive_probability")


@dataclass(frozen=True)
class Diagnostics:
    """R-hat and effective sample size of what exchanging the components leaves alone.

    quantities (C, D, Q) are log alpha, log posterior, agreement (the larger of the number of
    cases whose label is their response, and whose is not) and the predictive probability of
    class 1 for a case like the first; rhat, ess (Q,), by QUANTITIES.
    """

    quantities: np.ndarray
    rhat: np.ndarray
    ess: np.ndarray
    at_end: tuple[float, float]  # fraction of draws with alpha at the ends of its grid

    @property
    def reliable(self) -> bool:
        """Whether chains agree well enough to believe the answer."""
        return bool((self.rhat <= RELIABLE_RHAT).all() and (self.ess >= RELIABLE_ESS).all())


def diagnose(target: Target, draws: Draws) -> Diagnostics:
    """Compare the chains."""
    chains, kept, n = draws.labels.shape
    same = (draws.labels == target.response).sum(axis=2)
    probe = [
        special.expit(np.subtract(*block[0, ::-1]))
        for block in target.log_joint(draws.flat, target.features[:1])
    ]
    quantities = np.stack(
        [
            np.log(target.settings.alpha)[draws.point[:, :, 0]],
            draws.log_posterior,
            np.maximum(same, n - same),
            np.concatenate(probe).reshape(chains, kept),
        ],
        axis=2,
    )
    rhat, ess = _compare(quantities)
    place = draws.point[:, :, 0]
    last = target.settings.alpha_points - 1
    return Diagnostics(
        quantities, rhat, ess, (float((place == 0).mean()), float((place == last).mean()))
    )


def as_arviz(target: Target, draws: Draws, found: Diagnostics):
    """Return draws and diagnostics of one fit as ArviZ data."""
    settings = target.settings
    posterior: Named = {
        "log_alpha": ((), np.log(settings.alpha)[draws.point[:, :, 0]]),
        "log_alpha_0": ((), np.log(settings.response_alpha)[draws.point[:, :, 1]]),
        "labels": (("case",), draws.labels),
    }
    if draws.theta is not None:
        posterior["theta"] = (("feature",), draws.theta)
    return as_tree(
        {
            "posterior": posterior,
            "sample_stats": {
                "lp": ((), draws.log_posterior),
                "agreement": ((), found.quantities[:, :, 2]),
                "predictive_probability": ((), found.quantities[:, :, 3]),
            },
        },
        {
            "rhat": (("quantity",), found.rhat),
            "ess": (("quantity",), found.ess),
            "quantity": (("quantity",), np.array(QUANTITIES)),
        },
        {"sampler": settings.sampler, "starts": ", ".join(draws.starts)},
    )


def _compare(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R-hat and effective sample size of (C, D, Q) draws; one chain is cut in halves."""
    still = np.ptp(values, axis=(0, 1)) <= 1e-12 * np.abs(values).max(axis=(0, 1))
    total = values.shape[0] * values.shape[1]
    if len(values) == 1:
        values = values[:, values.shape[1] % 2 :].reshape(2, -1, values.shape[2])
    rhat, ess = np.full(len(still), np.inf), np.zeros(len(still))
    if values.shape[1] >= 4:
        with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            rhat = np.asarray(array_stats.rhat(values, chain_axis=0, draw_axis=1))
            ess = np.asarray(array_stats.ess(values, chain_axis=0, draw_axis=1))
    apart = ~np.isfinite(rhat)  # chains that stand still, each elsewhere
    rhat, ess = np.where(apart, np.inf, rhat), np.where(apart, 0.0, ess)
    return np.where(still, 1.0, rhat), np.where(still, float(total), ess)
