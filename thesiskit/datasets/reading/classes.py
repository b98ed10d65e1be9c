"""The response of a table as classes."""

from numbers import Real

import numpy as np
import pandas as pd

from thesiskit.datasets.reading.columns import check_text
from thesiskit.datasets.reading.numbers import REAL
from thesiskit.errors import DataError, few, quoted

Positive = str | float | bool | None  # the response that is class 1
Held = dict[str, object]  # the distinct responses, by what messages call them
MOST_CLASSES = 20


def as_classes(
    y: np.ndarray, positive: Positive, where: str, known: tuple[str, ...] | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the response as codes from 0, and the names of the classes.

    0 and 1 are two classes, and so is `positive` beside another value.  Of three values or more
    each is a class, numbers in their order, then words in theirs.

    known : the classes of the training table, to code test cases as its cases are coded.
    """
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    values = y.tolist()
    missing = np.flatnonzero(pd.isna(y))
    if len(missing):
        raise DataError(
            f"{where}: the response is missing in case {missing[0] + 1}; leave such cases out"
        )
    held = {_told(value): value for value in values}
    two = known is None or len(known) == 2
    if positive is None and two and all(map(_zero_or_one, held.values())):
        truth = all(isinstance(value, bool) for value in held.values())
        bits = ("False", "True") if truth else ("0", "1")
        return np.array(values, dtype=float).astype(np.uint8), known or bits
    if positive is not None:
        _check_positive(held, positive, where)
        names = _of_positive(held, positive)
        ours = (names[0], names[1] if known is None else known[1])
        label = {text: ours[_same(value, positive)] for text, value in held.items()}
    else:
        names = _each_a_class(held, len(values), where) if known is None else known
        label = {text: _label(value) for text, value in held.items()}
    names = names if known is None else known
    alien = [text for text in held if label[text] not in names]
    if alien:
        raise DataError(
            f"{where} has the response {few(alien[:1])}, which no training case has "
            f"({few(names)}); leave such cases out"
        )
    code = {text: names.index(label[text]) for text in held}
    return np.array([code[_told(value)] for value in values], dtype=np.uint8), names


def _check_positive(held: Held, positive: Positive, where: str) -> None:
    """Raise DataError unless a response is the positive one, beside at most one other."""
    found = sorted(held)
    if not any(_same(value, positive) for value in held.values()):
        raise DataError(
            f"{where}: no response is {quoted(positive)} (data.positive); found {few(found)}"
        )
    if len(held) > 2:
        raise DataError(
            f"{where}: the response has {len(held):,} values ({few(found)}), and data.positive is "
            "for two; leave other cases out, or leave out data.positive: each value is then a "
            "class, for model.kind: normal"
        )
    _check_texts(held, where)


def _of_positive(held: Held, positive: Positive) -> tuple[str, ...]:
    """Return the names of the classes, the positive one last."""
    own = next(_label(value) for value in held.values() if _same(value, positive))
    others = [_label(value) for value in held.values() if not _same(value, positive)]
    return (others[0] if others else f"not {own}", own)


def _each_a_class(held: Held, cases: int, where: str) -> tuple[str, ...]:
    """Return the names of the classes where each response is one."""
    found = sorted(held)
    if len(held) <= 2:
        raise DataError(
            f"{where}: the response must be 0 and 1, found {few(found)}; "
            "say which value is class 1 with data.positive"
        )
    if len(held) > min(MOST_CLASSES, cases // 2):
        limit = f"too many classes for {cases:,} cases"
        if len(held) > MOST_CLASSES:
            limit = f"at most {MOST_CLASSES} can be classes"
        raise DataError(
            f"{where}: the response has {len(held):,} values ({few(found)}), {limit}; if it is "
            "a number to predict, use data.source: table with model.kind: logistic and "
            "model.response: gaussian"
        )
    _check_texts(held, where)
    names = tuple(_label(value) for value in sorted(held.values(), key=_place))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"{where}: the response {quoted(twice)} is a number in some cases and a text in "
            "others; write it in one way"
        )
    return names


def _check_texts(held: Held, where: str) -> None:
    for text in held:
        check_text(text, f"{where}: a response", "write it in other words")


def _zero_or_one(value: object) -> bool:
    return isinstance(value, Real) and value in (0, 1)


def _place(value: object) -> tuple[float, str]:
    """Return where a response stands in the order of the classes."""
    return (float(value), "") if isinstance(value, Real) else (np.inf, str(value))


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
