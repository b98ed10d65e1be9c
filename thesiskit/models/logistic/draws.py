"""Draws of logistic models, and the state from which their chains can be continued."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thesiskit.defaults import RELIABLE_ESS, RELIABLE_RHAT
from thesiskit.models.draws import Named, as_tree, compare_chains
from thesiskit.models.logistic.settings import Settings
from thesiskit.models.running import Arrays
from thesiskit.models.until import Judgement, as_named, from_named

INFO = ("log_likelihood", "log_prior", "coefficient_evaluations", "width_evaluations")
DIMENSIONS = {
    "coefficient": ("set", "group"),
    "log_sigma": ("order",),
    "log_noise": ("noise",),
    "tuning": ("tuned",),
}


@dataclass(frozen=True)
class Draws:
    """The draws of chains, and the state at their ends.

    coefficient (C, D, S, G) and log_sigma (C, D, O + 1) of the draws kept; trace (C, I, O + 1),
    log sigma of every iteration, and info (C, I, 4), by INFO; `state`, where the chains stand.
    Where responses have noise, log_noise (C, D) and noise_trace (C, I) are its standard deviation.
    Of chains that ran until they agree, `judgement` says what they reached, and `state` has their
    judged quantities.
    """

    coefficient: np.ndarray
    trace: np.ndarray
    noise_trace: np.ndarray | None
    info: np.ndarray
    settings: Settings
    state: Arrays = field(repr=False)
    judgement: Judgement | None = None

    @property
    def first(self) -> int:
        """How many iterations come before those that count."""
        return self.settings.burn_in if self.judgement is None else int(self.state["done"]) // 2

    @property
    def log_sigma(self) -> np.ndarray:
        """Log sigma of the draws kept, (C, D, O + 1)."""
        return self.thinned(self.trace)

    @property
    def log_noise(self) -> np.ndarray:
        """Log of the noise's standard deviation in the draws kept, (C, D)."""
        assert self.noise_trace is not None, "classes have no noise"
        return self.thinned(self.noise_trace)

    def thinned(self, trace: np.ndarray) -> np.ndarray:
        """Return of a trace (C, I, ...) the iterations that are kept."""
        if self.judgement is not None:
            return trace[:, self.state["draws-0-kept_at"] - 1]
        settings = self.settings
        return trace[:, settings.burn_in + settings.thin - 1 :: settings.thin]

    @property
    def log_likelihood(self) -> np.ndarray:
        """Log likelihood of the draws kept, (C, D)."""
        return self.thinned(self.info[:, :, 0])

    @property
    def saved(self) -> Arrays:
        """What `sample` takes as `saved`, to go on."""
        traces = {"coefficient": self.coefficient, "log_sigma": self.trace, "info": self.info}
        if self.noise_trace is not None:
            traces["log_noise"] = self.noise_trace
        return self.state | {
            f"draws-{c}-{name}": values[c]
            for name, values in traces.items()
            for c in range(len(values))
        }

    @property
    def evaluations(self) -> np.ndarray:
        """Evaluations of densities in an iteration, for coefficients and for widths: means, (2,).

        Steps of the trajectories of joint updates count as evaluations for widths.
        """
        return self.info[:, :, 2:].mean(axis=(0, 1))

    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return R-hat and effective sample size of log likelihood, log prior and log sigmas.

        (O + 2,) each, over all iterations that count; the log noise is last where there is any.
        """
        parts = [self.info[:, :, :2], self.trace[:, :, 1:]]
        if self.noise_trace is not None:
            parts.append(self.noise_trace[:, :, None])
        return compare_chains(np.concatenate(parts, axis=2)[:, self.first :])

    def as_arviz(self, diagnostics: Named, attributes: dict[str, Any]):
        """Return ArviZ data: draws, traces of all iterations, and the state of the chains."""
        posterior: Named = {
            "coefficient": (("set", "group"), self.coefficient.astype(np.float32)),
            "log_sigma": (("order",), self.log_sigma),
        }
        trace: Named = {f"{name}_trace": ((), self.info[:, :, i]) for i, name in enumerate(INFO)}
        trace["log_sigma_trace"] = (("order",), self.trace)
        if self.noise_trace is not None:
            posterior["log_noise"] = ((), self.log_noise)
            trace["log_noise_trace"] = ((), self.noise_trace)
        state: Named = {"done": ((), self.state["done"])}
        for name in _names(self.state, "state-0-"):
            values = [self.state[f"state-{c}-{name}"] for c in range(len(self.coefficient))]
            state[f"state_{name}"] = (("chain", *DIMENSIONS.get(name, ())), np.array(values))
        groups: dict[str, Named] = {
            "posterior": posterior,
            "sample_stats": {
                name: ((), self.thinned(self.info[:, :, i])) for i, name in enumerate(INFO)
            },
            "trace": trace,
        }
        if self.judgement is not None:
            groups["judged"], reached = as_named(self.state, self.judgement)
            state |= reached
        return as_tree(
            groups,
            state | diagnostics,
            {**attributes, "burn_in": self.first, "thin": self._thin},
        )

    @property
    def _thin(self) -> int:
        """Of how many iterations one is kept."""
        if self.judgement is None:
            return self.settings.thin
        at = self.state["draws-0-kept_at"]
        return int(at[1] - at[0]) if len(at) > 1 else 1

    @property
    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (C D, S, G) and log sigma (C D, O + 1) of all draws in a row."""
        return flat(self.coefficient, self.log_sigma)


def flat(coefficient: np.ndarray, log_sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (C, D, ...) values of chains as (C D, ...), one draw after another."""
    return (
        coefficient.reshape(-1, *coefficient.shape[2:]),
        log_sigma.reshape(-1, log_sigma.shape[-1]),
    )


def reliable(rhat: np.ndarray, ess: np.ndarray) -> bool:
    """Whether chains support predictions: R-hat and effective draws of the log likelihood.

    Sigmas are not included: those of orders that matter little may mix slowly without changing
    the predictions.
    """
    return bool(rhat[0] <= RELIABLE_RHAT and ess[0] >= RELIABLE_ESS)


def saved_from(arrays: Arrays) -> Arrays:
    """Return what `sample` takes as `saved`, from the arrays of `Draws.as_arviz`."""
    saved: Arrays = {"done": arrays["done"]}
    for c in range(len(arrays["coefficient"])):
        saved |= {
            f"state-{c}-{name}": arrays[f"state_{name}"][c] for name in _names(arrays, "state_")
        }
        saved |= {
            f"draws-{c}-coefficient": arrays["coefficient"][c].astype(float),
            f"draws-{c}-info": np.stack([arrays[f"{name}_trace"][c] for name in INFO], axis=1),
        }
        saved |= {
            f"draws-{c}-{name}": arrays[f"{name}_trace"][c]
            for name in ("log_sigma", "log_noise")
            if f"{name}_trace" in arrays
        }
    return saved | from_named(arrays)


def _names(arrays: Arrays, mark: str) -> list[str]:
    return [name.removeprefix(mark) for name in arrays if name.startswith(mark)]
