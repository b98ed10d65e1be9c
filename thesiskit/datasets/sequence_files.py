"""The user's own sequences."""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import StrictBool, model_validator

from thesiskit.blocks import Positive, Text
from thesiskit.datasets.reading.sequence_cases import means_missing, read_array, read_lines
from thesiskit.datasets.reading.text_files import shown
from thesiskit.datasets.source import Sequences, Source, at_least_one, digest_of
from thesiskit.errors import DataError, few, quoted
from thesiskit.errors import cut as cut_text


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
    read = read_array if path.suffix.lower() == ".npy" else read_lines
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
    read = read_array if path.suffix.lower() == ".npy" else read_lines
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
    if pad is not None and means_missing(pad):
        raise DataError(f"pad: {quoted(pad)} means a missing state; choose another symbol")
    return pad


def _recode(raw: np.ndarray, labels: list[str], known: list[str]) -> tuple[list[str], np.ndarray]:
    """Return symbols, the known ones first, and raw codes of labels as codes of these."""
    used = np.zeros(len(labels), dtype=bool)
    used[raw] = True
    found = {label for label, is_used in zip(labels, used, strict=True) if is_used}
    symbols = [*known, *sorted(found - set(known), key=_natural)]
    code = {symbol: number for number, symbol in enumerate(symbols)}
    return symbols, np.array([code.get(label, -1) for label in labels], dtype=np.int32)[raw]


def _natural(label: str) -> tuple[bool, float, str]:
    """Sort numbers by size, then everything else by alphabet."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label
