"""Cells as codes: values of discrete features, and classes; real responses as numbers."""

import re

import numpy as np

from thesiskit.datasets.reading.columns import check_text
from thesiskit.datasets.reading.numbers import REAL, WHOLE
from thesiskit.datasets.source import MISSING, UNSEEN
from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError, cut, few, quoted

LARGEST = 1e20  # of real responses
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


def as_classes(
    labels: tuple[str, ...], places: list[str], known: list[str] | None, where: str
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of the classes, the known ones if given, and the class of each case."""
    hint = "; if it is a number to predict, model.response: gaussian takes it as it is"
    classes, y = encode(labels, (), known, where, hint)
    for code, label, place in zip(y, labels, places, strict=True):
        if code == UNSEEN:
            raise DataError(
                f"{where} is {quoted(label)} in {place}, which no training case has "
                f"({few(classes)}); leave such cases out, or train with some"
            )
    if len(classes) < 2:
        raise DataError(f"{where} is {quoted(classes[0])} in all cases; two classes are needed")
    return classes, y.astype(np.int32)


def as_numbers(labels: tuple[str, ...], places: list[str], where: str) -> np.ndarray:
    """Return real responses."""
    for label, place in zip(labels, places, strict=True):
        if not (REAL.fullmatch(label) and abs(float(label)) <= LARGEST):
            raise DataError(
                f"{where} is {quoted(label)} in {place}, which is no number within "
                f"{LARGEST:g}; mend it, or leave such cases out"
            )
    return np.array(labels, dtype=float)


def encode(
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
        if found and all(DECIMAL_COMMA.fullmatch(label) for label in found):
            example = next(label for label in labels if label in found)
            raise DataError(
                f"{where} has numbers with a decimal comma ({example}); write them with a "
                f"decimal point{hint}"
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
