"""Draws of Markov chains as ArviZ data: an xarray tree of groups, as arviz_stats takes it."""

from typing import Any

import numpy as np

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
