"""Draws of Markov chains as ArviZ data in netCDF (arviz_base.from_netcdf reads them)."""

from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.errors import ResultsError
from thesiskit.report.store import replacing

Named = dict[str, tuple[tuple[str, ...], np.ndarray]]  # dimensions after chain and draw, values


def as_tree(groups: dict[str, Named], about: Named, attributes: dict[str, Any]):
    """Return ArviZ data: groups of draws (chain, draw, ...), and `diagnostics` of them."""
    import xarray

    tree = {
        name: xarray.Dataset(
            {key: (("chain", "draw", *dims), values) for key, (dims, values) in group.items()}
        )
        for name, group in groups.items()
    }
    for dataset in tree.values():
        dataset.coords["chain"] = np.arange(dataset.sizes["chain"])
        dataset.coords["draw"] = np.arange(dataset.sizes["draw"])
    tree["diagnostics"] = xarray.Dataset(dict(about))
    result = xarray.DataTree.from_dict(tree)
    result.attrs.update(attributes)
    return result


def write_draws(
    path: Path, groups: dict[str, Named], about: Named, attributes: dict[str, Any]
) -> None:
    """Write draws, whole or not at all."""
    tree = as_tree(groups, about, attributes)
    encoding = {
        f"/{name}": {key: {"zlib": True, "complevel": 1} for key in tree[name].data_vars
                     if tree[name][key].dtype.kind in "iuf"}
        for name in tree.children
    }  # fmt: skip
    with replacing(path) as temporary:
        tree.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)


def read_draws(path: Path) -> dict[str, np.ndarray]:
    """Return all arrays of a file by name."""
    import xarray

    try:
        with xarray.open_datatree(path, engine="h5netcdf") as tree:
            return {
                str(key): values.to_numpy()
                for node in tree.subtree
                for key, values in node.data_vars.items()
            }
    except (OSError, ValueError, KeyError):
        raise ResultsError(
            f"{path}: missing or damaged; run `thesiskit fit-mixture CONFIG --force`"
        ) from None
