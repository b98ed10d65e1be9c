"""AnnData files, as the package anndata writes them, and as its version 0.7 did."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest


def write_anndata(path: Path, X: Any, obs: pd.DataFrame, var: pd.DataFrame) -> None:
    """Write a file with the package; skip the test where it is not installed.

    Texts are objects: not every version writes the texts of pandas 3.
    """
    anndata = pytest.importorskip("anndata")
    with pd.option_context("future.infer_string", False):
        anndata.AnnData(X, obs=with_objects(obs), var=with_objects(var)).write_h5ad(path)


def with_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts are objects of Python."""
    columns = {}
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            symbols = column.cat.categories
            columns[name] = column.cat.rename_categories(symbols.astype(object).tolist())
        else:
            columns[name] = column.astype(object) if column.dtype == "str" else column
    result = pd.DataFrame(columns, index=frame.index)
    return result.set_axis(frame.index.astype(object), axis=0)


def write_anndata_07(path: Path, X: np.ndarray, obs: pd.DataFrame, var: pd.DataFrame) -> None:
    """Write a file in which columns of words are codes, and refer to their words.

    An empty word is a missing value.
    """
    pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")
    texts = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        file["X"] = X
        for part, frame in (("obs", obs), ("var", var)):
            group = file.create_group(part)
            group.create_dataset("index", data=[*frame.index], dtype=texts)
            group.attrs["column-order"] = np.array([*frame.columns], dtype=texts)
            group.attrs["_index"] = "index"
            group.attrs["encoding-type"], group.attrs["encoding-version"] = "dataframe", "0.1.0"
        for name, cells in obs.items():
            words = sorted({*cells} - {""})
            stored = file.create_dataset(f"obs/__categories/{name}", data=words, dtype=texts)
            stored.attrs["ordered"] = False
            codes = [words.index(cell) if cell else -1 for cell in cells]
            file[f"obs/{name}"] = np.array(codes, dtype=np.int8)
            file[f"obs/{name}"].attrs["categories"] = stored.ref
