"""The user's own sequences."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import StrictBool, model_validator

from thesiskit.blocks import Positive, Text
from thesiskit.datasets.reading.sequence_lines import Lines, split_lines
from thesiskit.datasets.reading.text_files import shown, unreadable
from thesiskit.datasets.source import Sequences, Source, at_least_one, digest_of
from thesiskit.errors import DataError, brief, few, quoted
from thesiskit.errors import cut as cut_text
from thesiskit.safe_io import DAMAGES, read_npy


class SequenceFileData(Source):
    """The user's own sequences."""

    family: ClassVar = "sequences"

    source: Literal["sequences"]
    path: Text
    """The file, one case a line; relative to the folder of the config."""
    test_path: Text | None = None
    """A file of test cases."""
    train: Positive | None = None
    """Without `test_path`: so many first cases are training cases, the others test cases."""
    history: Positive | None = None
    """Number of states before the one that is predicted; all unless given."""
    pad: Text | None = None
    """A state that fills short histories on the left."""
    header: StrictBool = False
    """Whether the first line is a header."""
    predict: Literal["last-state", "label"] = "last-state"
    """What is predicted: the last state of each line, or, of FASTA files, `label`: the last word
    of each header line, from the whole sequence."""

    @model_validator(mode="after")
    def _a_test_set(self):
        if (self.test_path is None) == (self.train is None):
            raise ValueError("give either data.test_path or data.train, the cases to train with")
        return self

    @property
    def own(self) -> bool:
        """Whether cases are read from a file of the user's."""
        return True

    @property
    def has_test_set(self) -> bool:
        """Whether it comes with test cases."""
        return True

    @property
    def divided_at(self) -> tuple[int, None] | None:
        """The first cases train, unless there is a test file."""
        return None if self.train is None else (self.train, None)

    def read(self, folder: Path, *, continuous: bool = False) -> list[Sequences]:  # noqa: ARG002
        """Return the cases, or training cases and test cases."""
        found: list[Sequences] = []
        for name in (self.path, self.test_path):
            if name is not None:
                like = found[0] if found else None
                found.append(read_sequences(
                    folder / name, length=self.history, pad=self.pad, header=self.header, like=like,
                    predict=self.predict,
                ))  # fmt: skip
        return found

    def read_new(self, path: Path, like: Sequences) -> Sequences:
        """Return histories without the state that follows, coded as those of training."""
        return read_new_histories(
            path, like, length=self.history, pad=self.pad, header=self.header, predict=self.predict
        )


def read_sequences(
    path: Path,
    *,
    length: int | None = None,
    pad: str | None = None,
    header: bool = False,
    like: Sequences | None = None,
    predict: str = "last-state",
) -> Sequences:
    """Read sequences, one case per line: the last state is the response, the rest its history.

    Parameters
    ----------
    path : text with states (any labels) between commas, spaces or tabs, or, where no line has any
        of these, one word of one-character states per line (ACGTT); blank lines and lines that
        start with # are skipped.  `.csv` has commas only, and labels may be quoted.  `.fa`,
        `.fasta`, `.fna` and `.faa` are FASTA.  All these may be packed as `.gz`.  `.npy` holds
        whole numbers, (n, length + 1).
    length : keep the so many most recent states of each history.
    pad : the symbol that fills short histories on the left; a state of its own unless it occurs.
    header : whether the first line names columns.
    like : use the coding and the length of these sequences.  New states come after theirs.
    predict : "last-state"; of FASTA also "label", the last word of each header line.

    Returns
    -------
    Sequences, codes in the order of the labels: numbers first, by size, then by alphabet.

    Raises
    ------
    DataError: what is wrong, in which line, and what to do.
    """
    path = Path(path)
    where = shown(path)
    pad = _checked(length, pad)
    width = length
    if like:
        width = like.histories.shape[1]
        if length not in (None, width):
            raise DataError(f"length is {length}, but the training cases have {width} states")
    cut = length is not None or pad is not None
    read = _read_npy if path.suffix.lower() == ".npy" else _read_lines
    found = read(path, width, cut, pad, header, label=predict == "label")
    unit = "row" if path.suffix.lower() == ".npy" else "line"

    raw = found.codes
    states, histories = _recode(raw[:, :-1], found.symbols, like.states if like else [])
    classes, response = _recode(raw[:, -1], found.symbols, like.classes if like else [])
    if like and len(classes) > len(like.classes):
        case = int(np.argmax(response >= len(like.classes)))
        raise DataError(
            f"{where}: {unit} {found.places[case]} ends with {quoted(classes[response[case]])}, "
            f"which is no response in the training cases ({few(like.classes)}); leave such cases "
            "out, or train with some"
        )
    digest = digest_of(histories, response, states, classes)
    notes = [f"{cut_text(path.name)}: {one}" for one in _new_states(histories, states, like)]
    return Sequences(histories, response, states, classes, digest, path.name, found.ids, notes)


def read_new_histories(
    path: Path,
    like: Sequences,
    *,
    length: int | None = None,
    pad: str | None = None,
    header: bool = False,
    predict: str = "last-state",
) -> Sequences:
    """Read histories without the state that follows them, one case per line.

    They are as long as those of the training cases `like`; with `length` or `pad` the most recent
    states of longer ones count, and `pad` fills shorter ones.  Without these, if every line has one
    state more, the last one is a response, which is not used.  New states come after those of
    `like`; the notes say so.  The response of what is returned means nothing: it is 0.

    Raises
    ------
    DataError: what is wrong, in which line, and what to do.
    """
    path = Path(path)
    pad = _checked(length, pad)
    read = _read_npy if path.suffix.lower() == ".npy" else _read_lines
    cut = length is not None or pad is not None
    found = read(path, like.histories.shape[1], cut, pad, header, like, label=predict == "label")
    states, histories = _recode(found.codes[:, :-1], found.symbols, like.states)
    new = _new_states(histories, states, like)
    notes = [*found.notes, *(f"{shown(path)}: {one}" for one in new)]
    response = np.zeros(len(histories), dtype=np.int32)
    digest = digest_of(histories, states)
    return Sequences(histories, response, states, like.classes, digest, path.name, found.ids, notes)


def _new_states(histories: np.ndarray, states: list[str], like: Sequences | None) -> list[str]:
    """Say which states the training cases have not."""
    known = len(states) if like is None else len(like.states)
    if len(states) == known:
        return []
    cases = int((histories >= known).any(axis=1).sum())
    return [
        f"states that no training case has, in {cases:,} case{'s' * (cases != 1)}: "
        f"{few(states[known:])}"
    ]


def _checked(length: int | None, pad: str | None) -> str | None:
    """Return the symbol that fills short histories; raise DataError for what cannot be."""
    if length is not None:
        at_least_one(length=length)
    pad = None if pad is None else str(pad)
    if pad is not None and _missing(pad):
        raise DataError(f"pad: {quoted(pad)} means a missing state; choose another symbol")
    return pad


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


def _recode(raw: np.ndarray, labels: list[str], known: list[str]) -> tuple[list[str], np.ndarray]:
    """Return symbols, the known ones first, and raw codes of labels as codes of these."""
    used = np.zeros(len(labels), dtype=bool)
    used[raw] = True
    found = {label for label, is_used in zip(labels, used, strict=True) if is_used}
    symbols = [*known, *sorted(found - set(known), key=_natural)]
    code = {symbol: number for number, symbol in enumerate(symbols)}
    return symbols, np.array([code.get(label, -1) for label in labels], dtype=np.int32)[raw]


def _read_lines(
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
                if _missing(state):
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


def _read_npy(
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

    like : as in `_read_lines`.
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


def _missing(label: str) -> bool:
    return label in ("", "NA", "?") or label.lower() == "nan"


def _natural(label: str) -> tuple[bool, float, str]:
    """Sort numbers by size, then everything else by alphabet."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label
