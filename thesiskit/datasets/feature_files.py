"""The user's own tables of discrete features."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from thesiskit.blocks import Text, distinct
from thesiskit.datasets.reading.cells import (
    REAL,
    WHOLE,
    check_column,
    check_counter,
    check_text,
    choose_features,
    read_cells,
)
from thesiskit.datasets.reading.text_files import shown
from thesiskit.datasets.source import MISSING, UNSEEN, FeatureTable, Source
from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError, cut, few, quoted

LARGEST = 1e20  # of real responses
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


class TableData(Source):
    """The user's own table of discrete features."""

    family: ClassVar = "features"
    real: ClassVar = True

    source: Literal["table"]
    path: Text  # from the config's folder
    test_path: Text | None = None
    response: Text  # its column
    ignore: list[Text] = []  # columns
    missing: list[Annotated[str, Field(strict=True)]] = ["", "NA", "?", "nan", "NaN"]

    @field_validator("ignore", "missing")
    @classmethod
    def _each_once(cls, value):
        return distinct(value)

    @property
    def own(self) -> bool:
        """Whether cases are read from a file of the user's."""
        return True

    @property
    def has_test_set(self) -> bool:
        """Whether it comes with test cases."""
        return self.test_path is not None

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        """Return the table, or training cases and test cases."""
        found: list[FeatureTable] = []
        for name in (self.path, self.test_path):
            if name is not None:
                found.append(read_features(
                    folder / name, self.response, ignore=tuple(self.ignore),
                    missing=tuple(self.missing), like=found[0] if found else None,
                    continuous=continuous,
                ))  # fmt: skip
        return found


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
    where = shown(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in DELIMITERS:
        raise DataError(
            f"{where}: cannot read {cut(suffix) or 'this'}; use {', '.join(DELIMITERS)}"
        )
    names, rows = read_cells(path, DELIMITERS[suffix])
    if response is None:
        raise DataError(f"{where}: say which column is the response with data.response")
    places = choose_features(names, response, ignore, where)
    features = [names[j] for j in places]
    if like:
        for name in like.features:
            check_column(name, features, where)
        extra = [name for name in features if name not in like.features]
        if extra:
            raise DataError(
                f"{where}: the training table has no feature {few(extra)}; data.ignore it"
            )
        features = like.features
    lines, cases = zip(*rows, strict=True)
    columns = dict(zip(names, zip(*cases, strict=True), strict=True))
    columns = {
        name: tuple(cell.strip() for cell in columns[name]) for name in (*features, response)
    }
    coded = []
    for j, name in enumerate(features):
        if like is None:
            check_counter(name, columns[name], where)
        values = like.values[j] if like else None
        coded.append(_encode(columns[name], missing, values, f"{where}: column {quoted(name)}"))
    where = f"{where}: the response {quoted(response)}"
    labels = columns[response]
    for label, line in zip(labels, lines, strict=True):
        if label in missing:
            raise DataError(
                f"{where} is missing in line {line} ({quoted(label)}); leave such cases out"
            )
    if continuous:
        classes: list[str] = []
        y = _numbers(labels, lines, where)
        if like is None and y.min() == y.max():
            raise DataError(
                f"{where} is {cut(labels[0])} in all cases; there is nothing to predict"
            )
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
    labels: tuple[str, ...], lines: tuple[int, ...], known: list[str] | None, where: str
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of the classes, the known ones if given, and the class of each case."""
    hint = "; if it is a number to predict, model.response: gaussian takes it as it is"
    classes, y = _encode(labels, (), known, where, hint)
    for code, label, line in zip(y, labels, lines, strict=True):
        if code == UNSEEN:
            raise DataError(
                f"{where} is {quoted(label)} in line {line}, which no training case has "
                f"({few(classes)}); leave such cases out, or train with some"
            )
    if len(classes) < 2:
        raise DataError(f"{where} is {quoted(classes[0])} in all cases; two classes are needed")
    return classes, y.astype(np.int32)


def _numbers(labels: tuple[str, ...], lines: tuple[int, ...], where: str) -> np.ndarray:
    """Return real responses."""
    for label, line in zip(labels, lines, strict=True):
        if not (REAL.fullmatch(label) and abs(float(label)) <= LARGEST):
            raise DataError(
                f"{where} is {quoted(label)} in line {line}, which is no number within "
                f"{LARGEST:g}; mend it, or leave such cases out"
            )
    return np.array(labels, dtype=float)


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
            if example.lstrip("+-").isdigit():
                raise DataError(
                    f"{where} has a whole number of {len(example)} digits ({cut(example)}), more "
                    "than 18; if it names something, put a letter before it"
                )
            raise DataError(
                f"{where} has real values ({cut(example)}); cut it into intervals, for example "
                f"with scikit-learn's KBinsDiscretizer{hint}"
            )
        for label in found:
            check_text(label, f"{where}: a value", "write it in other words")
        known = sorted(set(symbol.values()), key=int if whole else str)
        if len(known) > MOST_VALUES:
            raise DataError(
                f"{where} has {len(known)} values, at most {MOST_VALUES} are possible; join some, "
                f"or leave it out{hint}"
            )
    number = {value: code for code, value in enumerate(known)}
    code = {label: number.get(symbol[label], UNSEEN) for label in found}
    return list(known), np.array([code.get(label, MISSING) for label in labels], dtype=np.int16)
