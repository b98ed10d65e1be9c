"""Sequences as codes: lines of states, FASTA and arrays, checked case by case."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from thesiskit.datasets.reading.sequence_lines import Lines, split_lines
from thesiskit.datasets.reading.text_files import shown, unreadable
from thesiskit.datasets.source import Sequences
from thesiskit.errors import DataError, brief, quoted
from thesiskit.files import DAMAGES, read_npy


class Raw(NamedTuple):
    """What is read before symbols are put in order.

    codes : (n, width + 1); symbols : of each code; places : the line or row of each case;
    ids : what the cases are called, or empty.
    """

    codes: np.ndarray
    symbols: list[str]
    places: Sequence[int]
    ids: list[str]
    notes: list[str]


def read_lines(
    path: Path,
    width: int | None,
    cut: bool,
    pad: str | None,
    header: bool,
    like: Sequences | None = None,
    *,
    label: bool = False,
) -> Raw:
    """Read a text file.

    like : the lines are histories that continue those of training; what is the last code of each
        means nothing.
    """
    where = shown(path)
    lines = split_lines(path, header=header)
    cases = lines.states
    whole = width == 1 and like is not None and all(one[0] in like.states for one in cases)
    if all(len(fields) == 1 for fields in cases) and not whole:
        cases = [list(fields[0]) or [""] for fields in cases]
    if label and like is None:
        cases = _labelled(lines, where)
    notes = []
    if like is not None and width is not None:
        if not cut and not label and all(len(fields) == width + 1 for fields in cases):
            notes.append(f"{where}: every line has a state more, the response; it is not used")
        else:
            cases = [[*fields, like.classes[0]] for fields in cases]

    keep = width + 1 if width else max(map(len, cases))
    raw: dict[str, int] = {}
    rows = []
    for number, fields in zip(lines.numbers, cases, strict=True):
        if (len(fields) < keep and pad is None) or (len(fields) > keep and not cut):
            raise _length_error(f"{where}: line {number}", len(fields), len(cases[0]), width)
        fields = fields[-keep:]
        for state in fields:
            if state not in raw:
                if means_missing(state):
                    raise DataError(
                        f"{where}: a state is missing in line {number} ({quoted(state)}); fill it "
                        "in, leave the case out, or give missing states a symbol of their own"
                    )
                raw[state] = len(raw)
        rows.append([raw[state] for state in fields])
    if keep < 2:
        raise DataError(f"{where}: one state per line; a case is a history and then a response")
    if pad is not None and any(len(row) < keep for row in rows):
        filler = raw.setdefault(pad, len(raw))
        rows = [[filler] * (keep - len(row)) + row for row in rows]
    ids = lines.ids if len(set(lines.ids)) == len(lines.ids) else []
    return Raw(np.array(rows, dtype=np.int32), list(raw), lines.numbers, ids, notes)


def _labelled(lines: Lines, where: str) -> list[list[str]]:
    """Return sequences that end with their labels."""
    if not lines.labels:
        raise DataError(
            f"{where}: data.predict: label is for FASTA, whose header lines hold labels; leave it "
            "out"
        )
    for label, number in zip(lines.labels, lines.numbers, strict=True):
        if not label:
            raise DataError(
                f"{where}: line {number} holds no label; write one at its end, after a space"
            )
    return [[*states, label] for states, label in zip(lines.states, lines.labels, strict=True)]


def _length_error(where: str, found: int, first: int, width: int | None) -> DataError:
    """Say what is wrong with a case that is not as long as the others, or as `length`."""
    fill = "give pad: SYMBOL to fill short histories on the left"
    if width is None:
        return DataError(
            f"{where} has {found} states where others have more (the first case has {first}); "
            f"{fill}, or history: N to keep the N most recent states"
        )
    if found > width:
        return DataError(
            f"{where} has {found - 1} states before the response, the training cases {width}; "
            f"give length: {width} to keep the most recent states"
        )
    other = f"lower length to {found - 1}" if found > 1 else "leave the case out"
    return DataError(
        f"{where} has {found - 1} states before the response, and {width} are asked for; {fill}, "
        f"or {other}"
    )


def read_array(
    path: Path,
    width: int | None,
    cut: bool,
    pad: str | None,
    header: bool,
    like: Sequences | None = None,
    *,
    label: bool = False,
) -> Raw:
    """Read an array.

    like : as in `read_lines`.
    """
    where = shown(path)
    if header:
        raise DataError(f"{where}: an NPY file has no header line; leave out header")
    if label:
        raise DataError(f"{where}: an NPY file holds no labels; leave out data.predict")
    try:
        array = read_npy(path)
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGES as error:
        raise DataError(
            f"{where}: damaged, or not an NPY file ({brief(str(error))}); save one array with "
            "numpy.save"
        ) from None
    least = 2 if like is None else 1
    if array.ndim != 2 or len(array) == 0 or array.shape[1] < least:
        raise DataError(
            f"{where}: the array has shape {array.shape}; it must have a row for each case: its "
            "history, then its response"
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        row = np.isnan(array).any(axis=1).argmax() + 1
        raise DataError(f"{where}: a state is missing in row {row}; fill it in, or leave it out")
    if array.dtype.kind not in "biu":
        raise DataError(
            f"{where}: states must be whole numbers, got {array.dtype}; use astype(int)"
        )
    if array.dtype.kind == "i" and array.min() < 0:
        row = (array < 0).any(axis=1).argmax() + 1
        raise DataError(
            f"{where}: row {row} holds {array[row - 1].min()}, and states must not be negative; "
            "number them from 0"
        )
    notes = []
    if like is not None and width is not None:
        if not cut and array.shape[1] == width + 1:
            notes.append(f"{where}: every row has a state more, the response; it is not used")
        else:
            array = np.column_stack([array, array[:, :1]])
    found = array.shape[1]
    keep = width + 1 if width else found
    if (found < keep and pad is None) or (found > keep and not cut):
        raise _length_error(f"{where}: row 1", found, found, width)
    values, raw = np.unique(array[:, -keep:], return_inverse=True)
    raw = raw.reshape(len(array), -1)
    labels = [str(int(value)) for value in values]
    if found < keep and pad is not None:
        labels += [pad] if pad not in labels else []
        raw = np.pad(raw, ((0, 0), (keep - found, 0)), constant_values=labels.index(pad))
    return Raw(raw, labels, range(1, len(array) + 1), [], notes)


def means_missing(label: str) -> bool:
    """Whether a symbol stands for a state that is not known."""
    return label in ("", "NA", "?") or label.lower() == "nan"
