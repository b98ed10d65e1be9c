"""Draws of Markov chains: as ArviZ data, and whether the chains agree."""

import warnings
from typing import Any

import numpy as np

from thesiskit.defaults import MIXTURE_ESS, MIXTURE_RHAT

Named = dict[str, tuple[tuple[str, ...], np.ndarray]]  # dimensions after chain and draw, values


def as_tree(groups: dict[str, Named], diagnostics: Named, attributes: dict[str, Any]):
    """Return ArviZ data: groups of variables (chain, draw, ...), and diagnostics of them."""
    import xarray  # the import takes half a second

    tree = {
        name: xarray.Dataset(
            {key: (("chain", "draw", *dims), values) for key, (dims, values) in group.items()}
        )
        for name, group in groups.items()
    }
    for dataset in tree.values():
        dataset.coords["chain"] = np.arange(dataset.sizes["chain"])
        dataset.coords["draw"] = np.arange(dataset.sizes["draw"])
    tree["diagnostics"] = xarray.Dataset(dict(diagnostics))
    result = xarray.DataTree.from_dict(tree)
    result.attrs.update(attributes)
    return result


def compare_chains(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R-hat and effective sample size, (Q,) each, of (C, D, Q) draws.

    A single chain is cut into halves.  A quantity that no chain ever changes counts as known.
    """
    from arviz_stats.base import array_stats  # seconds: only where chains are compared

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
    apart = ~np.isfinite(rhat)  # each chain is constant, and they differ
    rhat, ess = np.where(apart, np.inf, rhat), np.where(apart, 0.0, ess)
    return np.where(still, 1.0, rhat), np.where(still, float(total), ess)


def reliable(rhat: np.ndarray, ess: np.ndarray) -> bool:
    """Whether chains agree well enough, in every quantity, to believe the answer."""
    return bool((rhat <= MIXTURE_RHAT).all() and (ess >= MIXTURE_ESS).all())
