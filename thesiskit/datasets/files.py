"""The user's own table: CSV, Parquet, NPZ, NPY (memory-mapped) and PLINK .bed."""

import difflib
import hashlib
import zipfile
from numbers import Real
from pathlib import Path

import numpy as np
import pandas as pd

from thesiskit.datasets import Table
from thesiskit.datasets.gene_expression import sha256
from thesiskit.errors import DataError

KINDS = (".csv", ".parquet", ".npz", ".npy", ".bed")


def read_table(
    path: Path,
    response: str | None,
    *,
    positive: str | float | bool | None = None,
    ignore: tuple[str, ...] = (),
) -> Table:
    """Read a table of cases.

    Parameters
    ----------
    path : features, one case per row.  `.csv` and `.parquet` hold the response in a column;
        `.npz` in an array (features in `X`); `.npy` features are memory-mapped and the response is
        another `.npy`, beside it; `.bed` takes the phenotype of its `.fam`.
    response : the column, NPZ key (default `y`) or NPY file.
    positive : the response that is class 1; without it the response must be 0 and 1.
    ignore : columns to leave out.

    Raises
    ------
    DataError: what is wrong, where, and what to do.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path}: there is no such file")
    readers = {
        ".csv": _read_frame,
        ".parquet": _read_frame,
        ".npz": _read_npz,
        ".npy": _read_npy,
        ".bed": _read_bed,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: cannot read {path.suffix or 'this'}; use {', '.join(KINDS)}")
    try:
        features, y, names = reader(path, response, ignore)
    except PermissionError:
        raise DataError(f"{path}: no permission to read it") from None
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(f"{path}: no cases or no features; the table has shape {features.shape}")
    y = np.asarray(y)
    if y.ndim != 1:
        raise DataError(f"{path}: the response must be a vector, got shape {y.shape}")
    if len(y) != len(features):
        raise DataError(f"{path}: {len(features)} rows of features but {len(y)} responses")
    _check_values(features, names, path)
    classes = as_classes(y, positive, path)
    # the response and the names can come from other files than the features
    digest = hashlib.sha256(sha256(path).encode() + classes.tobytes() + repr(names).encode())
    return Table(features, classes, names, digest.hexdigest(), path.name)


def _check_values(features: np.ndarray, names: list[str], path: Path) -> None:
    """Say where a value is missing; a memory-mapped table is looked at when it is read."""
    if isinstance(features, np.memmap) or features.dtype.kind != "f":
        return
    bad = np.argwhere(~np.isfinite(features))
    if len(bad):
        case, column = bad[0]
        name = names[column] if names else f"number {column + 1}"
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise DataError(
            f"{path}: a value is missing or infinite in case {case + 1}, feature {name}{more}; "
            "fill it in, or leave the case or the feature out"
        )


def as_classes(y: np.ndarray, positive: str | float | bool | None, where: Path) -> np.ndarray:
    """Return the response as 0 and 1."""
    values = y.tolist()
    missing = np.flatnonzero(pd.isna(y))
    if len(missing):
        raise DataError(
            f"{where}: the response is missing in case {missing[0] + 1}; leave such cases out"
        )
    found = sorted(set(values), key=str)
    if positive is not None:
        if not any(_same(value, positive) for value in found):
            raise DataError(
                f"{where}: no response is {positive!r} (data.positive); found {few(found)}"
            )
        if len(found) > 2:
            raise DataError(
                f"{where}: the response has {len(found)} values ({few(found)}); the model has "
                "two classes, so leave other cases out"
            )
        return np.array([_same(value, positive) for value in values], dtype=np.uint8)
    if not all(isinstance(value, Real) and value in (0, 1) for value in found):
        raise DataError(
            f"{where}: the response must be 0 and 1, found {few(found)}; "
            "say which value is class 1 with data.positive"
        )
    return np.array(values, dtype=float).astype(np.uint8)


def _same(value: object, positive: object) -> bool:
    """Whether a response is the one the config names: 1.0 is 1, and True is true."""
    if isinstance(value, Real) and isinstance(positive, Real):
        return value == positive
    return str(value).lower() == str(positive).lower()


def few(values: list) -> str:
    """Name the first five."""
    shown = ", ".join(str(value) for value in values[:5])
    return shown + (f" and {len(values) - 5} more" if len(values) > 5 else "")


def _read_frame(path: Path, response, ignore):
    try:
        frame = pd.read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)
    except ImportError:
        raise DataError(f"{path}: Parquet needs: pip install 'thesiskit[parquet]'") from None
    except PermissionError:
        raise
    except (ValueError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(f"{path}: damaged, or not a table: {reason}") from None
    frame.columns = [str(name) for name in frame.columns]
    if response is None:
        raise DataError(f"{path}: say which column is the response with data.response")
    for name in (response, *ignore):
        check_column(name, list(frame.columns), path)
    if len(frame) == 0:
        raise DataError(f"{path}: a header but no cases")
    y = frame[response].to_numpy(dtype=object)
    features = frame.drop(columns=[response, *ignore])
    words = [name for name in features.columns if not _numeric(features[name])]
    if words:
        example = features[words[0]].dropna().iloc[:1].tolist()
        raise DataError(
            f"{path}: {len(words)} column(s) are categorical: {few(words)} (for example "
            f"{example[0] if example else 'nothing'!r}); make each category a 0/1 column "
            "(pandas.get_dummies), or data.ignore it"
        )
    return features.to_numpy(dtype=float), y, list(features.columns)


def check_column(name: str, columns: list[str], path: Path) -> None:
    """Say that there is no such column, and which was perhaps meant."""
    if name not in columns:
        near = difflib.get_close_matches(name, columns, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"columns: {few(columns)}"
        raise DataError(f"{path}: there is no column {name!r}; {hint}")


def _numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _read_npz(path: Path, response, ignore):
    key = response or "y"
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            held = sorted(arrays)
            loaded = {name: arrays[name] for name in ("X", key) if name in arrays}
    except PermissionError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: damaged, or not an NPZ file: {error}") from None
    for name in ("X", key):
        if name not in loaded:
            raise DataError(f"{path}: no array {name!r}; it holds {few(held)}")
    return _columns(loaded["X"], ignore, path), loaded[key], []


def _read_npy(path: Path, response, ignore):
    if response is None:
        raise DataError(f"{path}: name the .npy file of the responses with data.response")
    return _columns(_load_npy(path), ignore, path), _load_npy(path.parent / response), []


def _load_npy(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except PermissionError:
        raise
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: damaged, or not an NPY file: {error}") from None


def _columns(array: np.ndarray, ignore, path: Path) -> np.ndarray:
    if ignore:
        raise DataError(f"{path}: arrays have no column names; leave out data.ignore")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{path}: features must be numbers, got {array.dtype}")
    return array


def _read_bed(path: Path, response, ignore):
    try:
        from bed_reader import open_bed
    except ImportError:
        raise DataError(f"{path}: PLINK files need: pip install 'thesiskit[plink]'") from None
    if response is not None:
        raise DataError(f"{path}: the response is the phenotype in the .fam; drop data.response")
    try:
        with open_bed(path) as bed:
            genotypes = bed.read(dtype="int8")
            phenotype = np.asarray(bed.pheno)
            names = [str(name) for name in bed.sid]
    except Exception as error:  # bed-reader raises errors of many kinds
        raise DataError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    missing = np.argwhere(genotypes < 0)
    if len(missing):
        case, feature = missing[0]
        raise DataError(
            f"{path}: {len(missing)} genotypes are missing, first in case {case + 1}, "
            f"{names[feature]}; impute them, or drop those variants (plink --geno 0)"
        )
    for name in ignore:
        check_column(name, names, path)
    keep = [j for j, name in enumerate(names) if name not in ignore]
    unknown = np.flatnonzero(np.isin(phenotype, ("0", "-9", "NA", "nan", "")))
    if len(unknown) and set(phenotype.tolist()) - {"0", "1"}:  # in a 0/1 coding, 0 is a class
        raise DataError(
            f"{path}: the phenotype is missing in case {unknown[0] + 1}; leave such cases out "
            "(plink --prune)"
        )
    if set(phenotype.tolist()) <= {"1", "2"}:  # PLINK's control and case
        phenotype = (phenotype == "2").astype(np.uint8)
    elif set(phenotype.tolist()) <= {"0", "1"}:
        phenotype = phenotype.astype(np.uint8)
    return genotypes[:, keep], phenotype, [names[j] for j in keep]


def breast_cancer() -> Table:
    """Return the Wisconsin breast-cancer table of scikit-learn: 569 cases, malignant is 1."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    response = (data.target == 0).astype(np.uint8)
    names = [str(name) for name in data.feature_names]
    digest = hashlib.sha256(np.ascontiguousarray(data.data).tobytes()).hexdigest()
    return Table(data.data, response, names, digest, "scikit-learn's breast-cancer table")
