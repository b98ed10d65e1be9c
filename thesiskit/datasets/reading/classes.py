"""The response of a table as two classes."""

from numbers import Real

import numpy as np
import pandas as pd

from thesiskit.datasets.reading.columns import check_text
from thesiskit.datasets.reading.numbers import REAL
from thesiskit.errors import DataError, few, quoted

Positive = str | float | bool | None  # the response that is class 1


def as_classes(
    y: np.ndarray, positive: Positive, where: str
) -> tuple[np.ndarray, list[str], tuple[str, str]]:
    """Return the response as 0 and 1, the values that are class 0, and the names of the classes."""
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    values = y.tolist()
    missing = np.flatnonzero(pd.isna(y))
    if len(missing):
        raise DataError(
            f"{where}: the response is missing in case {missing[0] + 1}; leave such cases out"
        )
    held = {_told(value): value for value in values}
    found = sorted(held)
    if positive is not None:
        if not any(_same(value, positive) for value in held.values()):
            raise DataError(
                f"{where}: no response is {quoted(positive)} (data.positive); found {few(found)}"
            )
        if len(held) > 2:
            raise DataError(
                f"{where}: the response has {len(held):,} values ({few(found)}); the model has "
                "two classes, so leave other cases out"
            )
        for text in held:
            check_text(text, f"{where}: a response", "write it in other words")
        others = [text for text, value in held.items() if not _same(value, positive)]
        own = next(_label(value) for value in held.values() if _same(value, positive))
        other = _label(held[others[0]]) if others else f"not {own}"
        ones = np.array([_same(value, positive) for value in values], dtype=np.uint8)
        return ones, others, (other, own)
    if not all(isinstance(value, Real) and value in (0, 1) for value in held.values()):
        raise DataError(
            f"{where}: the response must be 0 and 1, found {few(found)}; "
            "say which value is class 1 with data.positive"
        )
    truth = all(isinstance(value, bool) for value in held.values())
    classes = ("False", "True") if truth else ("0", "1")
    return np.array(values, dtype=float).astype(np.uint8), ["0"], classes


def _told(value: object) -> str:
    """Return a response as messages tell it: a text that looks like a number as text."""
    if isinstance(value, str):
        return f"the text {value!r}" if REAL.fullmatch(value) else value
    return str(value) if isinstance(value, Real) else f"{type(value).__name__} {value}"


def _label(value: object) -> str:
    """Return a response as the name of a class: 1.0 is 1."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]


def _same(value: object, positive: object) -> bool:
    """Whether a response is the one the config names: 1.0 is 1, and True is true."""
    if isinstance(value, Real) and isinstance(positive, Real):
        return value == positive
    return str(value).lower() == str(positive).lower()
