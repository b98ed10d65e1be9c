"""The user's own sequences: lines of states, FASTA, and arrays of whole numbers."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import StrictBool, model_validator

from thesiskit.blocks import Positive, Text
from thesiskit.datasets.reading import shown, split_lines, unreadable, utf8
from thesiskit.datasets.source import Sequences, Source, at_least_one, digest_of
from thesiskit.errors import DataError, brief, few, quoted
from thesiskit.errors import cut as cut_text
from thesiskit.files import DAMAGES, read_npy

FASTA = (".fa", ".fasta", ".fna", ".faa")
LABEL = re.compile(r"^\w+[=:]")  # of a header line: class=promoter stands for promoter
BETWEEN = re.compile(r"[ \t]*,[ \t]*| *\t *| +")  # states


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

    def read(self, folder: Path, *, continuous: bool = False) -> list[Sequences]:
        train = self._read(folder / self.path, None)
        return [train] if self.test_path is None else [
            train, self._read(folder / self.test_path, train)
        ]  # fmt: skip

    def read_new(self, path: Path, like: Sequences) -> Sequences:
        """Return histories without the state that follows, coded as those of training."""
        return self._read(path, like, new=True)

    def _read(self, path: Path, like: Sequences | None, *, new: bool = False) -> Sequences:
        return read_sequences(
            path, length=self.history, pad=self.pad, header=self.header, like=like,
            predict=self.predict, new=new,
        )  # fmt: skip


def read_sequences(
    path: Path,
    *,
    length: int | None = None,
    pad: str | None = None,
    header: bool = False,
    like: Sequences | None = None,
    predict: str = "last-state",
    new: bool = False,
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
    new : the lines are histories, without the state that follows; with neither `length` nor `pad`,
        if every line has one state more, that is a response, which is not used.  The response of
        what is returned means nothing: it is 0.

    Returns
    -------
    Sequences, codes in the order of the labels: numbers first, by size, then by alphabet.

    Raises
    ------
    DataError: what is wrong, in which line, and what to do.
    """
    path = Path(path)
    where = shown(path)
    if length is not None:
        at_least_one(length=length)
    if pad is not None and _means_missing(pad):
        raise DataError(f"pad: {quoted(pad)} means a missing state; choose another symbol")
    width = like.histories.shape[1] if like else length
    if not new and length not in (None, width):
        raise DataError(f"length is {length}, but the training cases have {width} states")
    cut, unit = length is not None or pad is not None, "line"
    form = Form(width, cut, pad, header, predict == "label", like if new else None)
    if path.suffix.lower() == ".npy":
        raw, unit = _read_array(path, form), "row"
    else:
        raw = _read_lines(path, form)
    states, histories = _recode(raw.codes[:, :-1], raw.symbols, like.states if like else [])
    notes = raw.notes
    if like and len(states) > len(like.states):
        cases = int((histories >= len(like.states)).any(axis=1).sum())
        notes = [
            *notes,
            f"{where if new else cut_text(path.name)}: states that no training case has, in "
            f"{cases:,} case{'s' * (cases != 1)}: {few(states[len(like.states) :])}",
        ]
    if new and like:
        response = np.zeros(len(histories), dtype=np.int32)
        digest, classes = digest_of(histories, states), like.classes
        return Sequences(histories, response, states, classes, digest, path.name, raw.ids, notes)
    classes, response = _recode(raw.codes[:, -1], raw.symbols, like.classes if like else [])
    if like and len(classes) > len(like.classes):
        case = int(np.argmax(response >= len(like.classes)))
        raise DataError(
            f"{where}: {unit} {raw.places[case]} ends with {quoted(classes[response[case]])}, "
            f"which is no response in the training cases ({few(like.classes)}); leave such cases "
            "out, or train with some"
        )
    digest = digest_of(histories, response, states, classes)
    return Sequences(histories, response, states, classes, digest, path.name, raw.ids, notes)


def _recode(raw: np.ndarray, labels: list[str], known: list[str]) -> tuple[list[str], np.ndarray]:
    """Return symbols, the known ones first, and raw codes of labels as codes of these."""

    def natural(label: str) -> tuple[bool, float, str]:
        """Sort numbers by size, then everything else by alphabet."""
        try:
            return False, float(label), label
        except ValueError:
            return True, 0.0, label

    used = {labels[code] for code in np.flatnonzero(np.bincount(raw.reshape(-1)))}
    symbols = [*known, *sorted(used - set(known), key=natural)]
    code = {symbol: number for number, symbol in enumerate(symbols)}
    return symbols, np.array([code.get(label, -1) for label in labels], dtype=np.int32)[raw]


# ---- codes, before symbols are put in order ----


class Form(NamedTuple):
    """How the cases of a file are laid out.

    width : states before the response; None: as many as there are.
    cut : whether longer ones lose their first states; pad : the state that fills shorter ones.
    label : whether the response is the label of a FASTA record.
    like : cases are histories that continue these; what is then the last code of each means
        nothing.
    """

    width: int | None
    cut: bool
    pad: str | None
    header: bool
    label: bool
    like: Sequences | None


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


def _read_lines(path: Path, form: Form) -> Raw:
    """Read a text file."""
    where, (width, cut, pad, header, label, like) = shown(path), form
    lines = read_states(path, header=header)
    cases, notes = lines.states, []
    whole = width == 1 and like is not None and all(fields[0] in like.states for fields in cases)
    if all(len(fields) == 1 for fields in cases) and not whole:
        cases = [list(fields[0]) or [""] for fields in cases]
    if label and like is None:
        if not lines.labels:
            raise DataError(
                f"{where}: data.predict: label is for FASTA, whose header lines hold labels; leave "
                "it out"
            )
        if "" in lines.labels:
            raise DataError(
                f"{where}: line {lines.numbers[lines.labels.index('')]} holds no label; write one "
                "at its end, after a space"
            )
        cases = [[*states, word] for states, word in zip(lines.states, lines.labels, strict=True)]
    if like is not None and width is not None:
        if not cut and not label and all(len(fields) == width + 1 for fields in cases):
            notes.append(f"{where}: every line has a state more, the response; it is not used")
        else:
            cases = [[*fields, like.classes[0]] for fields in cases]

    keep = width + 1 if width else max(map(len, cases))
    symbols: dict[str, int] = {}
    rows = []
    for number, fields in zip(lines.numbers, cases, strict=True):
        if (len(fields) < keep and pad is None) or (len(fields) > keep and not cut):
            raise _length_error(f"{where}: line {number}", len(fields), len(cases[0]), width)
        fields = fields[-keep:]
        for state in fields:
            if state not in symbols:
                if _means_missing(state):
                    raise DataError(
                        f"{where}: a state is missing in line {number} ({quoted(state)}); fill it "
                        "in, leave the case out, or give missing states a symbol of their own"
                    )
                symbols[state] = len(symbols)
        rows.append([symbols[state] for state in fields])
    if keep < 2:
        raise DataError(f"{where}: one state per line; a case is a history and then a response")
    if pad is not None and any(len(row) < keep for row in rows):
        filler = symbols.setdefault(pad, len(symbols))
        rows = [[filler] * (keep - len(row)) + row for row in rows]
    ids = lines.ids if len(set(lines.ids)) == len(lines.ids) else []
    return Raw(np.array(rows, dtype=np.int32), list(symbols), lines.numbers, ids, notes)


def _read_array(path: Path, form: Form) -> Raw:
    """Read an array of whole numbers."""
    where, (width, cut, pad, header, label, like) = shown(path), form
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
    held = array.shape[1]
    keep = width + 1 if width else held
    if (held < keep and pad is None) or (held > keep and not cut):
        raise _length_error(f"{where}: row 1", held, held, width)
    values, codes = np.unique(array[:, -keep:], return_inverse=True)
    codes = codes.reshape(len(array), -1)
    symbols = [str(int(value)) for value in values]
    if held < keep and pad is not None:
        symbols += [pad] if pad not in symbols else []
        codes = np.pad(codes, ((0, 0), (keep - held, 0)), constant_values=symbols.index(pad))
    return Raw(codes, symbols, range(1, len(array) + 1), [], notes)


def _length_error(where: str, held: int, first: int, width: int | None) -> DataError:
    """Say what is wrong with a case that is not as long as the others, or as `length`."""
    fill = "give pad: SYMBOL to fill short histories on the left"
    if width is None:
        return DataError(
            f"{where} has {held} states where others have more (the first case has {first}); "
            f"{fill}, or history: N to keep the N most recent states"
        )
    if held > width:
        return DataError(
            f"{where} has {held - 1} states before the response, the training cases {width}; "
            f"give length: {width} to keep the most recent states"
        )
    other = f"lower length to {held - 1}" if held > 1 else "leave the case out"
    return DataError(
        f"{where} has {held - 1} states before the response, and {width} are asked for; {fill}, "
        f"or {other}"
    )


def _means_missing(label: str) -> bool:
    """Whether a symbol stands for a state that is not known."""
    return label in ("", "NA", "?") or label.lower() == "nan"


# ---- lines ----


class Lines(NamedTuple):
    """Sequences, and where each is.

    states : of each sequence.
    numbers : the line of each; of FASTA, its header line.
    ids, labels : of FASTA, the first and the last word of each header line; the last is empty where
        there is one word.
    """

    states: list[list[str]]
    numbers: list[int]
    ids: list[str]
    labels: list[str]


def is_fasta(path: Path) -> bool:
    """Whether a file is FASTA, by its name."""
    return path.name.lower().removesuffix(".gz").endswith(FASTA)


def read_states(path: Path, *, header: bool = False) -> Lines:
    """Return the sequences of a text file.

    Without commas, spaces and tabs in all lines, each line is a word of one-letter states.

    Raises
    ------
    DataError: what is wrong, in which line, and what to do.
    """
    where = shown(path)
    if is_fasta(path):
        if header:
            raise DataError(f"{where}: FASTA has no line of names; leave out data.header")
        return _read_fasta(path)
    lines = [
        (number, line.strip(" "))
        for number, line in enumerate(split_lines(utf8(path)), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ][header:]
    if not lines:
        raise DataError(f"{where}: no cases in it; give one case per line")
    for number, line in lines:
        if ";" in line:
            raise DataError(f"{where}: line {number} holds ';'; put commas between states")
    if path.name.lower().removesuffix(".gz").endswith(".csv"):
        reader = csv.reader((line for _, line in lines), skipinitialspace=True)
        try:
            cases = [[field.strip() for field in row] for row in reader]
        except csv.Error as error:
            raise DataError(f"{where}: not CSV: {error}") from None
        if len(cases) != len(lines):
            raise DataError(f"{where}: a quoted label runs over the end of a line; mend the quotes")
    else:
        cases = [BETWEEN.split(line) for _, line in lines]
    return Lines(cases, [number for number, _ in lines], [], [])


def _read_fasta(path: Path) -> Lines:
    """Return the records of a FASTA file; letters are taken as capitals."""
    where = shown(path)
    records = Lines([], [], [], [])
    for number, text in enumerate(split_lines(utf8(path)), start=1):
        line = text.strip()
        if line.startswith(">"):
            words = [word for word in re.split(r"[\s|;]+", line[1:]) if word]
            records.states.append([])
            records.numbers.append(number)
            records.ids.append(words[0] if words else "")
            records.labels.append(LABEL.sub("", words[-1]) if len(words) > 1 else "")
        elif line and not line.startswith(";"):
            if not records.states:
                raise DataError(
                    f"{where}: line {number} is {quoted(line, 30)}; FASTA begins with a line of >"
                )
            records.states[-1].extend(line.upper().removesuffix("*").replace(" ", ""))
    if not records.states:
        raise DataError(f"{where}: no sequences in it; each begins with a line of >")
    if [] in records.states:
        number = records.numbers[records.states.index([])]
        raise DataError(f"{where}: line {number} begins a sequence without letters; leave it out")
    return records
