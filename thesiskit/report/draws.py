"""Files of draws: ArviZ data in netCDF; xarray.open_datatree opens them."""

from pathlib import Path

import numpy as np

from thesiskit.errors import ResultsError
from thesiskit.report.store import replacing


def write_draws(path: Path, tree) -> None:
    """Write draws, whole or not at all."""
    encoding = {
        f"/{name}": {
            key: {"zlib": True, "complevel": 1}
            for key, values in node.data_vars.items()
            if values.dtype.kind in "iuf"
        }
        for name, node in tree.children.items()
    }
    with replacing(path) as temporary:
        tree.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)


def read_draws(
    path: Path, key: str | None = None, *, command: str = "run"
) -> dict[str, np.ndarray]:
    """Return all arrays of a file by name; with a key, only of the file that has it.

    command: what writes such a file, for the error where it is not as it should be.
    """
    import xarray

    try:
        with xarray.open_datatree(path, engine="h5netcdf") as tree:
            if key is not None and tree.attrs.get("key") != key:
                raise KeyError(key)
            return {
                str(key): values.to_numpy()
                for node in tree.subtree
                for key, values in node.data_vars.items()
            }
    except (OSError, ValueError, KeyError):
        raise ResultsError(
            f"{path}: missing, damaged or of other settings; "
            f"run `thesiskit {command} CONFIG --force`"
        ) from None
