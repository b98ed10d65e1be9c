"""Files of draws: ArviZ data in netCDF; xarray.open_datatree opens them."""

import re
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
        try:
            tree.to_netcdf(temporary, engine="h5netcdf", encoding=encoding)
        except RuntimeError as error:  # of HDF5, when it cannot close what it cannot write
            found = re.search(r"errno = (\d+)", str(error))
            raise OSError(int(found[1]) if found else 0, str(error)) from None


def read_draws(
    path: Path, key: str | None = None, *, command: str = "run"
) -> dict[str, np.ndarray]:
    """Return all arrays of a file by name; with a key, only of the file that has it.

    command: what writes such a file, for the error where it is not as it should be.
    """
    import h5py  # xarray would take a tenth of a second for each file

    found: dict[str, np.ndarray] = {}

    def add(name: str, node) -> None:
        if isinstance(node, h5py.Dataset) and "CLASS" not in node.attrs:  # no dimension
            text = h5py.check_string_dtype(node.dtype)
            kind = str if text else node.attrs.get("dtype")  # of booleans: netCDF has none
            values = node.asstr()[()] if text else node[()]
            found[name.rsplit("/", 1)[-1]] = np.asarray(values, dtype=kind)

    try:
        with h5py.File(path) as file:
            if key is not None and file.attrs.get("key") != key:
                raise KeyError(key)
            file.visititems(add)
            return found
    except (OSError, ValueError, KeyError):
        raise ResultsError(
            f"{path}: missing, damaged or of other settings; "
            f"run `thesiskit {command} CONFIG --force`"
        ) from None
