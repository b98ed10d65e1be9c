"""What files of arrays seem to hold: NPZ, NPY with another NPY beside it, PLINK .bed, AnnData."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thesiskit.datasets.looking.columns import (
    FEW_VALUES,
    MOST_CLASSES,
    RESPONSES,
    Column,
    about_classes,
    check_rare,
    find_response,
    values_of,
)
from thesiskit.datasets.looking.found import ABOUT, NAIVE, NORMAL, Found, Key
from thesiskit.datasets.reading import binary_files
from thesiskit.datasets.reading.anndata_files import read_h5ad, read_obs
from thesiskit.datasets.reading.columns import Wanted
from thesiskit.datasets.reading.content import Content
from thesiskit.datasets.reading.text_files import shown, unreadable
from thesiskit.errors import DataError, cut, few, quoted
from thesiskit.files import DAMAGES, read_npy, read_npz

LOOKED_AT = 1 << 22  # values of features


def look_at_npz(path: Path, response: str | None) -> Found:
    """Return what an NPZ file holds."""
    try:
        held, names = read_npz(path)
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGES as error:
        raise DataError(f"{shown(path)}: damaged, or not an NPZ file: {cut(error, 160)}") from None
    if "X" not in held:
        raise DataError(
            f"{shown(path)}: no array 'X' with the features; it holds {few(names)}; save it with "
            "numpy.savez(path, X=..., y=...)"
        )
    vectors = [name for name in names if held[name].shape == held["X"].shape[:1]]
    key, why = _choose(vectors, response, f"{shown(path)}: no array of one value for each case")
    ids = [
        name
        for name in vectors
        if name != key and (one := _column(name, held[name])).kind == "text" and one.unique
    ]
    keys = [Key("response", key, why)] + [Key("id", name, "names the cases") for name in ids[:1]]
    notes = [f"the response is the array {quoted(key)}, {why}"]
    return _found(path, binary_files.read_npz_table(path, Wanted(key)), keys, key, notes)


def look_at_npy(path: Path, response: str | None) -> Found | None:
    """Return what an NPY table and the response beside it hold; None if there is no response.

    Whole numbers without a response can be sequences.
    """
    features = binary_files.read_npy_table(path, Wanted(None, new=True)).features
    if features.ndim != 2:
        raise DataError(
            f"{shown(path)}: the array has shape {features.shape}; it must have a row for each case"
        )
    beside = [response] if response else _vectors_beside(path, len(features))
    if not beside:
        if features.dtype.kind in "iu" and len(np.unique(features[:100])) <= MOST_CLASSES:
            return None
        raise DataError(
            f"{shown(path)}: no .npy file with {len(features):,} responses beside it; name it with "
            "--response FILE"
        )
    name, why = _choose(beside, response, "")
    content = binary_files.read_npy_table(path, Wanted(name))
    notes = [f"the responses are in {name}, {why}"]
    return _found(path, content, [Key("response", name, why)], name, notes)


def look_at_bed(path: Path, response: str | None) -> Found:
    """Return what PLINK files hold."""
    if response is not None:
        raise DataError(f"{shown(path)}: the response is the phenotype in the .fam; no --response")
    content = binary_files.read_bed(path, Wanted(None))
    return _found(path, content, [], "phenotype", ["the response is the phenotype in the .fam"])


def look_at_h5ad(path: Path, response: str | None) -> Found:
    """Return what an AnnData file holds; the response is a column of obs."""
    columns = [_column(name, values) for name, values in read_obs(path).items()]
    if not columns:
        raise DataError(f"{shown(path)}: obs has no columns; the response must be one of them")
    y, why = find_response(columns, response, f"{shown(path)}: obs")
    content = read_h5ad(path, Wanted(y.name))
    notes = [f"the response is the column {quoted(y.name)} of obs, {why}"]
    return _found(
        path, content, [Key("response", y.name, f"a column of obs, {why}")], y.name, notes
    )


def _choose(names: Sequence[str], asked: str | None, problem: str) -> tuple[str, str]:
    """Return the name of the response, and why it is this one."""
    if asked is not None:
        return asked, "asked for"
    if not names:
        raise DataError(f"{problem}, which a response needs; name it with --response")
    for wanted in RESPONSES:
        for name in names:
            if wanted in (_bare(name), _bare(name).rstrip("s")):
                return name, "by its name"
    return names[-1], "the last that fits"


def _bare(name: str) -> str:
    return name.lower().removesuffix(".npy").strip("_-. ")


def _vectors_beside(path: Path, cases: int) -> list[str]:
    """Return names of NPY files in the same folder that hold a value for each case."""
    names = []
    for other in sorted(path.parent.glob("*.npy")):
        try:
            if other != path and read_npy(other, mapped=True).shape == (cases,):
                names.append(other.name)
        except (OSError, *DAMAGES):
            continue
    own = [name for name in names if path.stem.lower() in name.lower()]
    return own or names


def _column(name: str, values: np.ndarray) -> Column:
    """Return an array of one value for each case as a column of text."""
    texts = []
    for value in np.asarray(values).tolist():
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        texts.append("" if value is None or value != value else str(value))
    return Column(name, texts)


def _found(path: Path, content: Content, keys: list[Key], name: str, notes: list[str]) -> Found:
    """Return what was found, once the response is known to have classes."""
    assert content.response is not None
    y = _column(name, content.response)
    where = f"{shown(path)}: the response {quoted(name)}"
    if len(y.counts) < 2:
        raise DataError(f"{where} is the same in all cases; there is nothing to predict")
    real = _measured(content.features)
    if len(y.counts) > 2 and not (real and y.class_like):
        held = "a real number" if y.kind == "real" else f"one of {len(y.counts):,} values"
        raise DataError(
            f"{where} is {held} ({values_of(y)}), and this model takes two classes (of real "
            f"features up to {MOST_CLASSES}). Leave other cases out, or save discrete features as "
            "a CSV table, for the model of interactions"
        )
    check_rare(y, shown(path))
    value, why = about_classes(y)
    if value is not None:
        keys = [*keys, Key("positive", value, why)]
    if content.classes is not None:
        why = f"class 1 is {content.classes[1]}"
    return Found(
        [Key("source", "file", ABOUT[NORMAL if real else NAIVE]), Key("path", str(path)), *keys],
        "table",
        cases=len(content.features),
        width=content.features.shape[1],
        values=2,
        smallest=min(y.counts.values()),
        response=name,
        real=real,
        notes=[*notes, f"{values_of(y)}; {why}"],
    )


def _measured(features: np.ndarray) -> bool:
    """Whether some feature has real numbers, or too many whole ones to be codes."""
    width = max(1, LOOKED_AT // len(features))
    most_codes = min(FEW_VALUES, max(2, len(features) // 2))
    for start in range(0, features.shape[1], width):
        block = np.sort(features[:, start : start + width], axis=0)
        steps = (np.diff(block, axis=0) > 0).sum(axis=0)  # missing values come last
        whole = (block == np.floor(block)) | (block != block)
        most = np.where(whole.all(axis=0), most_codes, 2)
        if (steps + 1 > most).any():
            return True
    return False
