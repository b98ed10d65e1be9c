"""Whether the chains of the mixture model agree, and their draws as ArviZ data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thesiskit.models.draws import Named, as_tree, compare_chains, reliable
from thesiskit.models.mixture.agreement import QUANTITIES
from thesiskit.models.mixture.agreement import quantities as quantities_of
from thesiskit.models.mixture.chains import Draws
from thesiskit.models.mixture.target import Target


@dataclass(frozen=True)
class Diagnostics:
    """R-hat and effective sample size of quantities that do not change if components are exchanged.

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
        return reliable(self.rhat, self.ess)


def diagnose(target: Target, draws: Draws) -> Diagnostics:
    """Compare the chains."""
    chains, kept, _ = draws.labels.shape
    drawn = dict(zip(("labels", "point", "theta"), draws.flat, strict=False))
    drawn["log_posterior"] = draws.log_posterior.reshape(-1)
    found = quantities_of(target, drawn, target.features[:1])
    quantities = found.reshape(chains, kept, len(QUANTITIES))
    rhat, ess = compare_chains(quantities)
    place = draws.point[:, :, 0]
    last = target.settings.alpha_points - 1
    return Diagnostics(
        quantities, rhat, ess, (float((place == 0).mean()), float((place == last).mean()))
    )


def as_arviz(target: Target, draws: Draws, found: Diagnostics):
    """Return draws and diagnostics of one fit as ArviZ data."""
    settings = target.settings
    arrays = {
        "labels": draws.labels,
        "point": draws.point,
        "log_posterior": draws.log_posterior,
        "quantities": found.quantities,
        "rhat": found.rhat,
        "ess": found.ess,
    }
    return draws_tree(
        arrays | ({} if draws.theta is None else {"theta": draws.theta}),
        (settings.alpha, settings.response_alpha),
        {"sampler": settings.sampler, "starts": ", ".join(draws.starts)},
    )


def draws_tree(
    arrays: dict[str, np.ndarray],
    grids: tuple[np.ndarray, np.ndarray],
    attributes: dict[str, Any],
    *,
    split: tuple[str, ...] = (),
    more: dict[str, Named] | None = None,
):
    """Return ArviZ data of one fit, or of several side by side.

    arrays: labels, point, log_posterior, quantities and perhaps theta, by chain, draw and the
    dimensions `split` (points are -1 where a fit has fewer draws than others); rhat and ess by
    `split` and quantity.  grids: of alpha and alpha_0.
    more: variables to add to a group.
    """
    point, q = arrays["point"], arrays["quantities"]
    log_alpha = [np.where(point[..., i] < 0, np.nan, np.log(grid)[point[..., i]])
                 for i, grid in enumerate(grids)]  # fmt: skip
    groups: dict[str, Named] = {
        "posterior": {
            "log_alpha": (split, log_alpha[0]),
            "log_alpha_0": (split, log_alpha[1]),
            "labels": ((*split, "case"), arrays["labels"]),
        },
        "sample_stats": {
            "lp": (split, arrays["log_posterior"]),
            "agreement": (split, q[..., 2]),
            "predictive_probability": (split, q[..., 3]),
        },
        "diagnostics": {
            "rhat": ((*split, "quantity"), arrays["rhat"]),
            "ess": ((*split, "quantity"), arrays["ess"]),
            "quantity": (("quantity",), np.array(QUANTITIES)),
        },
    }
    if "theta" in arrays:
        groups["posterior"]["theta"] = ((*split, "feature"), arrays["theta"])
    for name, variables in (more or {}).items():
        groups[name] |= variables
    about = groups.pop("diagnostics")
    return as_tree(groups, about, attributes)
