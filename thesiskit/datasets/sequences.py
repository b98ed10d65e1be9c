"""Sequences: drawn, windows of a text (section sec-text-blsm), and the user's own files.

They are drawn from a hidden Markov model (section sec-sim-blsm), or from the logistic model.

thesis        here              shape
x_{1:O}       histories         (n, length), codes from 0; the last column is x_O
x_{O+1}       response          (n,), codes from 0
O             length
"""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, StrictBool, field_validator, model_validator

from thesiskit.blocks import Positive, Probability, Text
from thesiskit.datasets.reading import LINE_END, shown, utf8
from thesiskit.datasets.source import (
    Accepted,
    Sequences,
    Sizes,
    Source,
    WrongKeyError,
    at_least_one,
    digest_of,
    numbered,
)
from thesiskit.datasets.synthetic import draw_rows
from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError, list_some, quoted, shorten

# symbol -> its characters, in the order of the thesis's codes 1, 2, 3; None is all others
THESIS_STATES: Mapping[str, str | None] = {"V": "aeiou", "C": "bcdfghjklmnpqrstvwxyz", "_": None}
ARROW_PROBABILITY = 0.95  # of the likely move from a hidden state
SHIPPED = Path(__file__).parent / "text" / "sotu-1790.txt"
# sha256 of its digits, without line ends
SHIPPED_DIGITS = "fd13ab0989061ee5d78e0fcda64aae835a1674e8a3c6a2a00cf7ec903d640ddc"
FASTA = (".fa", ".fasta", ".fna", ".faa", ".fas")
LABEL = re.compile(r"^\w+[=:]")  # of a header line: class=promoter stands for promoter
MISSING_STATE = re.compile(r"|NA|\?|(?i:nan)")  # that is not known
# between states; a comma is looked for at the beginning of a run of blanks alone: linear time
BETWEEN = re.compile(r"(?:(?<![ \t])[ \t]+)?,[ \t]*| *\t *| +")


# ---- drawn ----


class _DrawnHistories(Source):
    """Sequences that are drawn."""

    family: ClassVar = "sequences"
    drawn: ClassVar = True

    history: Positive
    """Number of states before the one that is predicted."""
    train: Positive
    """Number of training samples."""
    test: Positive
    """Number of test samples."""


class _HiddenMarkov(_DrawnHistories):
    """Sequences drawn from a hidden Markov model."""

    emission: list[Annotated[list[Probability], Field(max_length=MOST_VALUES)]]
    """The probability of each observed state in each hidden state; rows sum to 1."""

    @property
    def sizes(self) -> Sizes:
        states = len(self.emission[0]) if self.emission else 0
        return Sizes(self.train, self.test, self.history, states, states)


class HiddenMarkovData(_HiddenMarkov):
    """Sequences drawn from a hidden Markov model."""

    source: Literal["hidden-markov"]
    transition: list[list[Probability]]
    """The probability of moving from each hidden state to each other; rows sum to 1."""

    def draw(self, rng: np.random.Generator, *, continuous: bool = False) -> Sequences:
        model: dict[str, Any] = {"transition": self.transition, "emission": self.emission}
        samples = self.train + self.test
        try:
            return draw_hidden_markov(rng, **model, length=self.history, samples=samples)
        except DataError as error:
            name = "emission" if str(error).startswith("emission") else "transition"
            raise WrongKeyError(name, str(error)) from None


class PermutedMarkovData(_HiddenMarkov):
    """Sequences drawn from hidden Markov models whose likely moves are a permutation.

    The other probabilities are drawn for each data set, and the first hidden state is uniform, as
    the author of the thesis draws hidden Markov models (gen_hmm of his R package BPHO).
    """

    source: Literal["permuted-hidden-markov"]
    arrows: Annotated[list[list[Positive]], Field(min_length=1)]
    """For each model the state, from 1, that each hidden state moves to with probability 0.95: a
    permutation. The probabilities of all other moves are uniform random numbers, scaled to sum to
    the rest. `replicates` is the number of data sets of each model."""

    @field_validator("arrows")
    @classmethod
    def _permutations(cls, value):
        states = max(2, len(value[0]))
        for number, arrows in enumerate(value, start=1):
            if sorted(arrows) != list(range(1, states + 1)):
                raise ValueError(
                    f"entry {number} is not a permutation. Fix: list each state from 1 to {states} "
                    "once"
                )
        return value

    @property
    def n_models(self) -> int:
        return len(self.arrows)

    def with_model(self, number: int) -> "PermutedMarkovData":
        return self.model_copy(update={"arrows": [self.arrows[number]]})

    def draw(self, rng: np.random.Generator, *, continuous: bool = False) -> Sequences:
        """Return sequences of the first model."""
        transition = draw_transition(rng, self.arrows[0], ARROW_PROBABILITY)
        start, samples = np.full(len(transition), 1 / len(transition)), self.train + self.test
        model: Any = {"transition": transition, "emission": self.emission, "start": start}
        return draw_hidden_markov(rng, **model, length=self.history, samples=samples)


def draw_transition(
    rng: np.random.Generator, arrows: Sequence[int], probability: float
) -> np.ndarray:
    """Draw a transition matrix (H, H) with a large probability in each row and others at random.

    arrows : (H,) columns of the large ones, from 1; the others are uniform, scaled to the rest.
    """
    row, column = np.arange(len(arrows)), np.asarray(arrows) - 1
    transition = rng.random((len(arrows), len(arrows)))
    transition[row, column] = 0
    transition *= (1 - probability) / transition.sum(axis=1, keepdims=True)
    transition[row, column] = probability
    return transition


def draw_hidden_markov(
    rng: np.random.Generator,
    *,
    transition: ArrayLike,
    emission: ArrayLike,
    length: int,
    samples: int,
    start: np.ndarray | None = None,
) -> Sequences:
    """Draw sequences of `length` + 1 states from a hidden Markov model (section sec-sim-blsm).

    Parameters
    ----------
    transition : (H, H) probabilities of the next hidden state.
    emission : (H, M) probabilities of the observable states, whose symbols are 1 to M.
    length, samples : states in a history, and sequences.
    start : (H,) probabilities of the first hidden state, the stationary ones if None.
    """
    at_least_one(length=length, samples=samples)
    start = stationary(transition) if start is None else start
    transition = _distributions(transition, "transition")
    emission = _distributions(emission, "emission")
    if len(emission) != len(transition):
        raise DataError(
            f"emission has {len(emission)} rows; it needs one for each of the {len(transition)} "
            "hidden states of transition"
        )
    states = np.empty((samples, length + 1), dtype=np.int32)
    hidden = draw_rows(rng, start[None], np.zeros(samples, dtype=np.int64))
    for t in range(length + 1):
        if t:
            hidden = draw_rows(rng, transition, hidden)
        states[:, t] = draw_rows(rng, emission, hidden)
    symbols = numbered(emission.shape[1])
    return Sequences(
        states[:, :-1],
        states[:, -1].copy(),
        symbols,
        list(symbols),
        digest=digest_of(states, symbols),
        source="drawn from a hidden Markov model",
    )


def stationary(transition: ArrayLike) -> np.ndarray:
    """Return the (H,) distribution that a chain with these (H, H) probabilities keeps."""
    transition = _distributions(transition, "transition")
    hidden = len(transition)
    if transition.shape[1] != hidden:
        raise DataError(f"transition must be square, got shape {transition.shape}")
    # pi (P - I) = 0 and sum pi = 1: H + 1 equations of rank H where pi is unique
    equations = np.vstack([transition.T - np.eye(hidden), np.ones(hidden)])
    pi, _, rank, _ = np.linalg.lstsq(equations, np.eye(hidden + 1)[hidden], rcond=None)
    if rank < hidden:
        raise DataError(
            "transition has more than one stationary distribution, because some hidden states "
            "never reach each other. Fix: set small probabilities for the moves between them"
        )
    pi = np.maximum(pi, 0)
    return pi / pi.sum()


def _distributions(matrix: ArrayLike, name: str) -> np.ndarray:
    """Return a matrix with rows that sum to 1; up to 1e-6 is taken as rounding."""
    try:
        matrix = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be rows of numbers, all of one length") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(f"{name} must be a matrix, got shape {matrix.shape}")
    for number, row in enumerate(matrix, start=1):
        if not (np.isfinite(row).all() and (row >= 0).all()):
            wrong = row[~(np.isfinite(row) & (row >= 0))][0]
            raise DataError(f"{name}: row {number} contains {wrong:g}, which is not a probability")
        if abs(row.sum() - 1) > 1e-6:
            raise DataError(f"{name}: row {number} sums to {row.sum():.6g}; it must sum to 1")
    return matrix / matrix.sum(axis=1, keepdims=True)


# ---- windows of a text ----


class TextData(Source):
    """Overlapping windows of a text, coded by kinds of characters."""

    family: ClassVar = "sequences"
    apart: ClassVar = False
    published: ClassVar = "8,247 coded characters of a speech of George Washington; public domain"

    source: Literal["text"]
    path: Text | None = None
    """The text; relative to the folder of the config. Default: the included text."""
    states: dict[Text, Text | None] | None = None
    """The characters of each symbol, such as `{V: aeiou, C: bcd, _: null}`; `null` stands for all
    other characters, and a run of these becomes one state. Default: the three of the thesis."""
    limit: Positive | None = None
    """Number of states to use, from the start."""
    history: Positive
    """Number of states before the one that is predicted."""
    train: Positive
    """Number of training samples: the first windows."""
    test: Positive | None = None
    """Largest number of test samples among the other windows. Default: all."""

    def read(self, folder: Path, *, continuous: bool = False) -> list[Sequences]:
        notes = []
        if self.path is not None:
            states = self.states or THESIS_STATES
            codes, symbols, _ = read_text(folder / self.path, states)
            notes = [
                f"{shorten(Path(self.path).name)}: {remark}"
                for remark in left_out(utf8(folder / self.path), states)
            ]
        elif self.states is not None:
            raise WrongKeyError("states", "the shipped text is coded. Fix: give data.path")
        else:
            codes, symbols, _ = shipped_text()
        samples = windows(codes, self.history, states=symbols, limit=self.limit)
        return [replace(samples, notes=notes)]

    def read_new(self, path: Path, like: Sequences) -> Sequences:
        """Return every history of a text, also the last one, which nothing follows yet."""
        codes, symbols, digest = read_text(path, self.states or THESIS_STATES)
        if len(codes) < self.history:
            raise DataError(
                f"{shown(path)}: it has {len(codes):,} states, too few for a history of "
                f"{self.history:,}. Fix: use more text"
            )
        histories = np.lib.stride_tricks.sliding_window_view(codes, self.history)
        response = np.zeros(len(histories), dtype=np.int32)
        return Sequences(
            histories, response, symbols, like.classes, digest=digest, source=path.name
        )


def encode_text(
    text: str, states: Mapping[str, str | None] = THESIS_STATES
) -> tuple[np.ndarray, list[str]]:
    """Return the int32 code of each state of a text, and the symbol of each code.

    Parameters
    ----------
    text : a run of characters that belong to the None state counts once; without a None state
        they are dropped.  Sample does not matter.
    states : symbol -> its characters, or None for all characters that no other state names.
    """
    table, other_code = _table(states)
    if not text:
        raise DataError("the text is empty")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    codes = table[np.minimum(points, len(table) - 1)]
    keep = codes != other_code
    if not keep.any():
        listing = "".join(characters for characters in states.values() if characters)
        raise DataError(
            f"the text has none of the characters {listing}; there is nothing to predict"
        )
    if other_code >= 0:  # the first of each run
        keep[1:] |= keep[:-1]
        keep[0] = True
    return codes[keep], list(states)


def left_out(text: str, states: Mapping[str, str | None]) -> list[str]:
    """Say which characters of a text belong to no state, so that they are dropped."""
    table, other_code = _table(states)
    if other_code >= 0:
        return []
    counts = Counter(
        character
        for character in text
        if table[min(ord(character), len(table) - 1)] < 0 and not character.isspace()
    )
    if not counts:
        return []
    often = list_some([quoted(character) for character, _ in counts.most_common(5)])
    return [
        f"{counts.total():,} characters belong to none of data.states and are dropped, "
        f"most often {often}"
    ]


def _table(states: Mapping[str, str | None]) -> tuple[np.ndarray, int]:
    """Return the code of each character, and of all others (the last entry): -1 if they drop."""
    if len(states) < 2:
        raise DataError(f"states: {len(states)} given, at least two are needed")
    code: dict[str, int] = {}
    other_code = -1
    for number, (symbol, characters) in enumerate(states.items()):
        if not isinstance(symbol, str) or len(symbol) != 1:
            raise DataError(f"states: the symbol {symbol!r} must be one character, in quotes")
        if characters is None:
            if other_code >= 0:
                raise DataError(
                    f"states: {list(states)[other_code]} and {symbol} are both all other "
                    "characters. Fix: list the characters of one of them"
                )
            other_code = number
            continue
        if not isinstance(characters, str) or not characters:
            raise DataError(f"states: give the characters of {symbol} as text, or null for others")
        for character in characters:
            # Σ.lower() is not ς: a capital belongs to the letter that it goes back to
            for form in {character, character.lower(), character.upper()}:
                if len(form) > 1 or form.lower() != character.lower():
                    continue
                if code.setdefault(form, number) != number:
                    raise DataError(
                        f"states: {character!r} is in {list(states)[code[form]]} and in {symbol} "
                        "(upper and lower case are not distinguished). Fix: keep it in one of them"
                    )
    table = np.full(max(map(ord, code)) + 2, other_code, dtype=np.int32)
    table[[ord(character) for character in code]] = list(code.values())
    return table, other_code


def read_text(
    path: Path, states: Mapping[str, str | None] = THESIS_STATES
) -> tuple[np.ndarray, list[str], str]:
    """Read a UTF-8 text; return its codes and symbols as encode_text does, and their digest."""
    _table(states)  # its errors are not the file's
    text = utf8(Path(path))
    try:
        codes, symbols = encode_text(text, states)
    except DataError as error:
        raise DataError(f"{shown(path)}: {error}") from None
    return codes, symbols, digest_of(codes, symbols)


def shipped_text() -> tuple[np.ndarray, list[str], str]:
    """Return codes, symbols and digest of the text that comes with the project (data/README.md).

    It is Washington's address of 8 December 1790 in the thesis's three states: 8,247 of them.
    """
    digits = "".join(utf8(SHIPPED).split())
    if hashlib.sha256(digits.encode()).hexdigest() != SHIPPED_DIGITS:
        raise DataError(f"{SHIPPED}: altered or damaged. Fix: reinstall thesiskit")
    codes = (np.frombuffer(digits.encode(), dtype=np.uint8) - ord("1")).astype(np.int32)
    symbols = list(THESIS_STATES)
    return codes, symbols, digest_of(codes, symbols)


def windows(
    codes: np.ndarray, length: int, *, states: list[str] | None = None, limit: int | None = None
) -> Sequences:
    """Return all overlapping windows of `length` + 1 states, in order, without copying them.

    Parameters
    ----------
    codes : (T,) codes from 0; T states give T - length windows.
    length : states in a history.
    states : the symbol of each code; without them 0, 1, ...
    limit : use the first so many states only (the thesis has 3,930, hence 3,910 of length 20).
    """
    at_least_one(length=length, limit=1 if limit is None else limit)
    codes = np.asarray(codes)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise DataError(f"codes must be a vector of whole numbers, got {codes.dtype} {codes.shape}")
    whole = len(codes)
    codes = np.ascontiguousarray(codes[:limit], dtype=np.int32)
    if len(codes) <= length:
        remedy = f"lower length to {len(codes) - 1} or less" if len(codes) > 1 else "use more text"
        if len(codes) < whole:
            remedy += f", or raise limit (the whole text has {whole:,})"
        raise DataError(
            f"the text has {len(codes):,} states, too few for a history of {length:,} and the "
            f"state that follows it. Fix: {remedy}"
        )
    symbols = [str(code) for code in range(codes.max() + 1)] if states is None else list(states)
    if codes.min() < 0 or codes.max() >= len(symbols):
        raise DataError(
            f"codes run from {codes.min()} to {codes.max()}, but there are symbols for 0 to "
            f"{len(symbols) - 1}"
        )
    view = np.lib.stride_tricks.sliding_window_view(codes, length + 1)
    return Sequences(
        view[:, :-1],
        view[:, -1],
        symbols,
        list(symbols),
        digest=digest_of(codes, length, symbols),
        source=f"{len(view):,} windows of a text of {len(codes):,} states",
    )


# ---- files of sequences ----


class SequenceFileData(Source):
    """The user's own sequences."""

    family: ClassVar = "sequences"

    source: Literal["sequences"]
    path: Text
    """The file, one sample a line; relative to the folder of the config."""
    test_path: Text | None = None
    """A file of test samples."""
    accept: Accepted = []
    train: Positive | None = None
    """Without `test_path`: number of training samples, from the start; the others are test samples.
    Without either, the samples are divided at random (`evaluation.folds`)."""
    history: Positive | None = None
    """Number of states before the one that is predicted. Default: all."""
    header: StrictBool = False
    """Whether the first line is a header."""
    predict: Literal["last-state", "label"] = "last-state"
    """What is predicted: the last state of each line, or with `label` (FASTA files) the last word
    of each header line."""

    @model_validator(mode="after")
    def _one_test_set(self):
        if None not in (self.test_path, self.train):
            raise ValueError(
                "data.test_path and data.train both define the test samples. Fix: remove one"
            )
        return self

    def read(self, folder: Path, *, continuous: bool = False) -> list[Sequences]:
        train = self._read(folder / self.path)
        if self.test_path is None:
            return [train]
        return [train, self._read(folder / self.test_path, like=train)]

    def read_new(self, path: Path, like: Sequences) -> Sequences:
        return self._read(path, like=like, new=True)

    def _read(self, path: Path, **options: Any) -> Sequences:
        return read_sequences(
            path, predict=self.predict, length=self.history, header=self.header, **options
        )


def read_sequences(
    path: Path,
    *,
    length: int | None = None,
    header: bool = False,
    like: Sequences | None = None,
    predict: str = "last-state",
    new: bool = False,
) -> Sequences:
    """Read sequences, one sample per line: the last state is the response, the rest its history.

    Parameters
    ----------
    path : text with states (any labels) between commas, spaces or tabs, or, where no line has any
        of these, one word of one-character states per line (ACGTT); blank lines and lines that
        start with # are skipped.  `.csv` has commas only, and labels may be quoted.  `.fa`,
        `.fasta`, `.fna`, `.faa` and `.fas` are FASTA.  All these may be packed as `.gz`.
    length : keep the so many most recent states of each history.
    header : whether the first line names columns.
    like : use the coding and the length of these sequences.  New states come after theirs.
    predict : "last-state"; of FASTA also "label", the last word of each header line.
    new : the lines are histories, without the state that follows; without `length`,
        if every line has one state more, that is a response, which is not used.  The response of
        what is returned means nothing: it is 0.

    Returns
    -------
    Sequences, codes in the order of the labels: numbers first, by size, then by alphabet.
    """
    path = Path(path)
    source, width = shown(path), like.histories.shape[1] if like else length
    if length is not None:
        at_least_one(length=length)
    if not new and length not in (None, width):
        raise DataError(f"length is {length}, but the training samples have {width} states")
    follows = like if new else None  # samples are histories that continue these
    label, cut, notes = predict == "label", length is not None, []
    lines = read_states(path, header=header)
    samples = _of_lines(lines, source, label, follows)
    if follows is not None:
        length = follows.histories.shape[1]
        if not (cut or label) and all(len(states) == length + 1 for states in samples):
            notes.append(f"{source}: every line has one more state, the response, which is ignored")
        else:  # the last state of each means nothing
            samples = [[*states, follows.classes[0]] for states in samples]
    samples = _of_one_length(samples, lines.numbers, source, width, cut)
    ids = lines.ids if len(set(lines.ids)) == len(lines.ids) else []
    states, histories = _coded([sample[:-1] for sample in samples], like.states if like else [])
    if like and len(states) > len(like.states):
        odd = int((histories >= len(like.states)).any(axis=1).sum())
        notes.append(
            f"{source if new else shorten(path.name)}: states that no training sample has, in "
            f"{odd:,} sample{'s' * (odd != 1)}: {list_some(states[len(like.states) :])}"
        )
    about: dict[str, Any] = {"source": path.name, "ids": ids, "notes": notes}
    if follows is not None:
        no_response, digest = np.zeros(len(histories), dtype=np.int32), digest_of(histories, states)
        return Sequences(histories, no_response, states, follows.classes, digest=digest, **about)
    classes, codes = _coded([sample[-1:] for sample in samples], like.classes if like else [])
    response = codes[:, 0]
    if like and len(classes) > len(like.classes):
        sample = int(np.argmax(response >= len(like.classes)))
        raise DataError(
            f"{source}: line {lines.numbers[sample]} ends with "
            f"{quoted(classes[response[sample]])}, which is not a response of the training samples "
            f"({list_some(like.classes)}). Fix: remove these samples, or include such samples in "
            "training"
        )
    digest = digest_of(histories, response, states, classes)
    return Sequences(histories, response, states, classes, digest=digest, **about)


def _of_one_length(
    samples: list[list[str]], numbers: list[int], source: str, width: int | None, cut: bool
) -> list[list[str]]:
    """Return samples of `width` states and the response, or say which is shorter or longer.

    numbers : of the lines of samples.
    width : None: as many as there are.
    cut : whether longer samples lose their first states.
    """
    keep = width + 1 if width else max(map(len, samples))
    checked_states: set[str] = set()
    rows = []
    for number, states in zip(numbers, samples, strict=True):
        n_states, first = len(states), len(samples[0])
        if n_states < keep or (n_states > keep and not cut):
            fault = f"{n_states} states where others have more (the first sample has {first})"
            remedy = "give history: N to keep the N most recent states, or drop the sample"
            if width is not None:
                history = f"{n_states - 1} states before the response"
                fault = f"{history}, but the config requires {width}"
                remedy = f"lower length to {n_states - 1}" if n_states > 1 else "drop the sample"
                if n_states > width:
                    fault = f"{history}, the training samples {width}"
                    remedy = f"give length: {width} to keep the most recent states"
            raise DataError(f"{source}: line {number} has {fault}. Fix: {remedy}")
        row = states[-keep:]
        for state in row:
            if state not in checked_states and MISSING_STATE.fullmatch(state):
                raise DataError(
                    f"{source}: a state is missing in line {number} ({quoted(state)}). Fix: fill "
                    "it in, drop the sample, or code missing states as a separate symbol"
                )
            checked_states.add(state)
        rows.append(row)
    if keep < 2:
        raise DataError(f"{source}: one state per line; a sample is a history and then a response")
    return rows


def _natural(label: str) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by size, then everything else by alphabet."""
    with suppress(ValueError):
        if (value := float(label)) == value:  # by NaN nothing can be sorted
            return False, value, label
    return True, 0.0, label


def _coded(samples: list[list[str]], first_symbols: list[str]) -> tuple[list[str], np.ndarray]:
    """Return symbols, the known ones first, and the samples as their codes."""
    used = {state for sample in samples for state in sample}
    symbols = [*first_symbols, *sorted(used - set(first_symbols), key=_natural)]
    code = {symbol: number for number, symbol in enumerate(symbols)}
    return symbols, np.array(
        [[code[state] for state in sample] for sample in samples], dtype=np.int32
    )


def _of_lines(
    lines: "Lines", source: str, label: bool, follows: Sequences | None
) -> list[list[str]]:
    """Return the states of each sample of a text file, the response last unless it is new."""
    samples = lines.states
    words = all(len(states) == 1 for states in samples)
    if follows is not None and follows.histories.shape[1] == 1:  # a word can be a state
        words = words and not all(states[0] in follows.states for states in samples)
    if words:
        samples = [list(states[0]) or [""] for states in samples]
    if not label or follows is not None:
        return samples
    if not lines.labels:
        raise DataError(
            f"{source}: data.predict: label is for FASTA, whose header lines contain labels. Fix: "
            "remove it"
        )
    if "" in lines.labels:
        raise DataError(
            f"{source}: line {lines.numbers[lines.labels.index('')]} has no label. Fix: write one "
            "at its end, after a space"
        )
    return [[*states, word] for states, word in zip(lines.states, lines.labels, strict=True)]


class Lines(NamedTuple):
    """Sequences, and where each is."""

    states: list[list[str]]
    numbers: list[int]  # the line of each; of FASTA, its header line
    ids: list[str] = []  # of FASTA, the first word of each header line
    labels: list[str] = []  # of FASTA, the last one; empty where there is one word


def is_fasta(path: Path) -> bool:
    """Whether a file is FASTA, by its name."""
    return path.name.lower().removesuffix(".gz").endswith(FASTA)


def read_states(path: Path, *, header: bool = False) -> Lines:
    """Return the sequences of a text file.

    Without commas, spaces and tabs in all lines, each line is a word of one-letter states.
    """
    source = shown(path)
    if is_fasta(path):
        if header:
            raise DataError(f"{source}: FASTA has no line of names. Fix: remove data.header")
        return _read_fasta(path)
    lines = [
        (number, line.strip(" "))
        for number, line in enumerate(LINE_END.split(utf8(path)), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ][header:]
    if not lines:
        raise DataError(f"{source}: contains no samples. Fix: write one sample per line")
    for number, line in lines:
        if ";" in line:
            raise DataError(f"{source}: line {number} contains ';'. Fix: put commas between states")
    if path.name.lower().removesuffix(".gz").endswith(".csv"):
        reader = csv.reader((line for _, line in lines), skipinitialspace=True)
        try:
            samples = [[field.strip() for field in row] for row in reader]
        except csv.Error as error:
            raise DataError(f"{source}: not CSV: {error}") from None
        if len(samples) != len(lines):
            raise DataError(
                f"{source}: a quoted label continues over the end of a line. Fix: correct the "
                "quotes"
            )
    else:
        samples = [BETWEEN.split(line) for _, line in lines]
    return Lines(samples, [number for number, _ in lines])


def _read_fasta(path: Path) -> Lines:
    """Return the records of a FASTA file; letters are taken as capitals."""
    source = shown(path)
    records = Lines([], [], [], [])
    for number, text in enumerate(LINE_END.split(utf8(path)), start=1):
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
                    f"{source}: line {number} is {quoted(line, 30)}; FASTA begins with a line of >"
                )
            records.states[-1].extend(line.upper().removesuffix("*").replace(" ", ""))
    if not records.states:
        raise DataError(f"{source}: contains no sequences; each begins with a line of >")
    if [] in records.states:
        number = records.numbers[records.states.index([])]
        raise DataError(
            f"{source}: line {number} begins a sequence without letters. Fix: remove it"
        )
    return records
