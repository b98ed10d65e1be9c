"""Files of draws: ArviZ data in netCDF, which xarray.open_datatree opens.

netCDF does not notice all damage.  Therefore each file of draws has a second file beside it, its
seal, which holds the key of its cell and its sha256.
"""

import hashlib
from pathlib import Path

import numpy as np

from thesiskit.errors import ResultsError
from thesiskit.store.results import read_record, remove, replacing, sha256, write_record


def write_draws(path: Path, tree) -> None:
    """Write draws and their seal; an interrupted call leaves no file of draws.

    tree : its attribute `key` is that of the cell.
    """
    encoding = {
        f"/{name}": {
            key: {"zlib": True, "complevel": 1}
            for key, values in node.data_vars.items()
            if values.dtype.kind in "iuf"
        }
        for name, node in tree.children.items()
    }
    seal, key = _seal(path), tree.attrs.get("key", "")
    if not sealed(path, key):
        remove(seal)  # of another file of this name
    # The file is made in memory first, because HDF5 crashes if it closes a file on a full disk.
    content = bytes(tree.to_netcdf(engine="h5netcdf", encoding=encoding))
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    write_record(seal, {"key": key, "sha256": hashlib.sha256(content).hexdigest()})


def sealed(path: Path, key: str | None = None, *, thorough: bool = False) -> bool:
    """Whether a file of draws exists with its seal, and has this key if one is given.

    thorough : also compare its sha256 with that in the seal.
    """
    record = read_record(_seal(path))
    if record is None or key not in (None, record.get("key")):
        return False
    return sha256(path) == record.get("sha256") if thorough else path.is_file()


def remove_draws(path: Path) -> None:
    """Remove a file of draws; its seal is removed first."""
    remove(_seal(path))
    remove(path)


def _seal(path: Path) -> Path:
    """Return the path of the seal of a file of draws."""
    return path.with_name(f"{path.stem}.key")


def read_draws(
    path: Path, key: str | None = None, *, command: str = "run"
) -> dict[str, np.ndarray]:
    """Return all arrays of a file by name; raise if the file has another key than the one given.

    command : the command that writes such a file, for the error message.
    """
    import h5py  # xarray would take a tenth of a second for each file

    found: dict[str, np.ndarray] = {}

    def add(name: str, node) -> None:
        if isinstance(node, h5py.Dataset) and "CLASS" not in node.attrs:  # no dimension
            text = h5py.check_string_dtype(node.dtype)
            kind = str if text else node.attrs.get("dtype")  # of booleans: netCDF has none
            values = node.asstr()[()] if text else node[()]
            found[name.rsplit("/", 1)[-1]] = np.asarray(values, dtype=kind)

    if not sealed(path, key, thorough=True):
        raise ResultsError(
            f"{path}: missing, damaged or of other settings; `thesiskit {command} CONFIG` makes "
            "it again"
        )
    with h5py.File(path) as file:
        file.visititems(add)
    return found
