"""The user's own tables of discrete features."""

import csv
import io
import re
from pathlib import Path

import numpy as np

from thesiskit.datasets.features import MISSING, MOST_VALUES, UNSEEN, FeatureTable
from thesiskit.datasets.files import check_column, few
from thesiskit.datasets.sequences import utf8
from thesiskit.errors import DataError

WHOLE = re.compile(r"([+-]?[0-9]{1,18})(\.0*)?")
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LARGEST = 1e20  # of real responses
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def read_features(
    path: Path,
    response: str | None,
    *,
    ignore: tuple[str, ...] = (),
    missing: tuple[str, ...] = ("", "NA", "?", "nan", "NaN"),
    like: FeatureTable | None = None,
    continuous: bool = False,
) -> FeatureTable:
    """Read a table of discrete features, one case per line under a line of names.

    Parameters
    ----------
    path : `.csv` (commas), `.tsv` or `.tab` (tabs), or one of these as `.gz`; UTF-8.
    response : the column of the classes.
    ignore : columns to leave out.
    missing : what stands for a missing value; a column may have nothing else.
    like : the training table, whose features (in any order), values and classes count; other
        values are UNSEEN.
    continuous : the responses are real numbers, not classes.

    Returns
    -------
    FeatureTable, codes in the order of the numbers where all values of a column are whole numbers
    (1.0 is 1), otherwise of the alphabet.

    Raises
    ------
    DataError: what is wrong, in which line or column, and what to do.
    """
    path = Path(path)
    names, cases, lines = _read_cells(path)
    if response is None:
        raise DataError(f"{path}: say which column is the response with data.response")
    for name in (response, *ignore):
        check_column(name, names, path)
    columns = dict(zip(names, zip(*cases, strict=True), strict=True))
    features = [name for name in names if name not in (response, *ignore)]
    if like:
        for name in like.features:
            check_column(name, features, path)
        extra = [name for name in features if name not in like.features]
        if extra:
            raise DataError(
                f"{path}: the training table has no feature {few(extra)}; data.ignore it"
            )
        features = like.features
    if not features:
        raise DataError(f"{path}: no features besides the response {response!r}")

    coded = [
        _encode(
            columns[name], missing, like.values[j] if like else None, f"{path}: column {name!r}"
        )
        for j, name in enumerate(features)
    ]
    where = f"{path}: the response {response!r}"
    labels = columns[response]
    for label, line in zip(labels, lines, strict=True):
        if label in missing:
            raise DataError(f"{where} is missing in line {line} ({label!r}); leave such cases out")
    if continuous:
        classes: list[str] = []
        y = _numbers(labels, lines, where)
        if like is None and y.min() == y.max():
            raise DataError(f"{where} is {labels[0]} in all cases; there is nothing to predict")
    else:
        classes, y = _classes(labels, lines, like.classes if like else None, where)
    return FeatureTable(
        np.column_stack([codes for _, codes in coded]),
        y,
        list(features),
        [values for values, _ in coded],
        classes,
        path.name,
    )


def _classes(
    labels: tuple[str, ...], lines: list[int], known: list[str] | None, where: str
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of the classes, the known ones if given, and the class of each case."""
    hint = "; if it is a number to predict, model.response: gaussian takes it as it is"
    classes, y = _encode(labels, (), known, where, hint)
    for code, label, line in zip(y, labels, lines, strict=True):
        if code == UNSEEN:
            raise DataError(
                f"{where} is {label!r} in line {line}, which no training case has "
                f"({few(classes)}); leave such cases out, or train with some"
            )
    if len(classes) < 2:
        raise DataError(f"{where} is {classes[0]!r} in all cases; two classes are needed")
    return classes, y.astype(np.int32)


def _numbers(labels: tuple[str, ...], lines: list[int], where: str) -> np.ndarray:
    """Return real responses."""
    for label, line in zip(labels, lines, strict=True):
        if not (REAL.fullmatch(label) and abs(float(label)) <= LARGEST):
            raise DataError(
                f"{where} is {label!r} in line {line}, which is no number within {LARGEST:g}; "
                "mend it, or leave such cases out"
            )
    return np.array(labels, dtype=float)


def _read_cells(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the names of the columns, the cells of each case, and its line."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in DELIMITERS:
        raise DataError(f"{path}: cannot read {suffix or 'this'}; use {', '.join(DELIMITERS)}")
    reader = csv.reader(
        io.StringIO(utf8(path), newline=""),
        delimiter=DELIMITERS[suffix],
        skipinitialspace=suffix == ".csv",
        strict=True,
    )
    try:
        rows = [([cell.strip() for cell in row], reader.line_num) for row in reader]
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num}: {error}; mend the quotes") from None
    rows = [row for row in rows if row[0] not in ([], [""])]
    if not rows:
        raise DataError(f"{path}: empty; give a line of names, then one case per line")
    names = rows[0][0]
    for number, name in enumerate(names, start=1):
        if not name:
            raise DataError(f"{path}: column {number} has no name; name it, or take it out")
        if name in names[: number - 1]:
            raise DataError(f"{path}: two columns are called {name!r}; rename one")
    cases, lines = [cells for cells, _ in rows[1:]], [line for _, line in rows[1:]]
    if not cases:
        raise DataError(f"{path}: a line of names but no cases")
    for cells, line in zip(cases, lines, strict=True):
        if len(cells) != len(names):
            raise DataError(
                f"{path}: line {line} has {len(cells)} cells, the line of names {len(names)}"
            )
    return names, cases, lines


def _encode(
    labels: tuple[str, ...],
    missing: tuple[str, ...],
    known: list[str] | None,
    where: str,
    hint: str = "",
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of a column, the known ones if given, and its int16 codes."""
    found = set(labels) - set(missing)
    whole = all(WHOLE.fullmatch(label) for label in (found if known is None else known))
    symbol = {
        label: str(int(match[1])) if whole and (match := WHOLE.fullmatch(label)) else label
        for label in found
    }
    if known is None:
        if not whole and all(REAL.fullmatch(label) for label in found):
            example = next(
                label for label in labels if label in found and not WHOLE.fullmatch(label)
            )
            raise DataError(
                f"{where} has real values ({example}); cut it into intervals, for example with "
                f"scikit-learn's KBinsDiscretizer{hint}"
            )
        known = sorted(set(symbol.values()), key=int if whole else str)
        if len(known) > MOST_VALUES:
            raise DataError(
                f"{where} has {len(known)} values, at most {MOST_VALUES} are possible; join some, "
                f"or leave it out{hint}"
            )
    number = {value: code for code, value in enumerate(known)}
    code = {label: number.get(symbol[label], UNSEEN) for label in found}
    return list(known), np.array([code.get(label, MISSING) for label in labels], dtype=np.int16)
