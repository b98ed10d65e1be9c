"""Windows of a text, coded by kinds of characters (section sec-text-blsm)."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from thesiskit.blocks import Positive, Text
from thesiskit.datasets.reading import shown, utf8
from thesiskit.datasets.source import Sequences, Source, WrongKeyError, at_least_one, digest_of
from thesiskit.errors import DataError, cut, few, quoted

# symbol -> its characters, in the order of the thesis's codes 1, 2, 3; None is all others
THESIS_STATES: Mapping[str, str | None] = {"V": "aeiou", "C": "bcdfghjklmnpqrstvwxyz", "_": None}
SHIPPED = Path(__file__).parent / "text" / "sotu-1790.txt"
# sha256 of its digits, without line ends
SHIPPED_DIGITS = "fd13ab0989061ee5d78e0fcda64aae835a1674e8a3c6a2a00cf7ec903d640ddc"


class TextData(Source):
    """Overlapping windows of a text, coded by kinds of characters."""

    family: ClassVar = "sequences"
    published: ClassVar = "8,247 coded characters of a speech of George Washington; public domain"

    source: Literal["text"]
    path: Text | None = None
    """The text; relative to the folder of the config. Without it, the text that is shipped."""
    states: dict[Text, Text | None] | None = None
    """The characters of each symbol, such as `{V: aeiou, C: bcd, _: null}`; `null` stands for all
    other characters, and a run of these becomes one state. The thesis's three unless given."""
    limit: Positive | None = None
    """Use only so many states, from the start."""
    history: Positive
    """Number of states before the one that is predicted."""
    train: Positive
    """Number of training cases: the first windows."""
    test: Positive | None = None
    """At most so many of the other windows are test cases; all unless given."""

    def read(self, folder: Path, *, continuous: bool = False) -> list[Sequences]:
        notes = []
        if self.path is not None:
            states = self.states or THESIS_STATES
            codes, symbols, _ = read_text(folder / self.path, states)
            notes = [f"{cut(Path(self.path).name)}: {one}"
                     for one in left_out(utf8(folder / self.path), states)]  # fmt: skip
        elif self.states is not None:
            raise WrongKeyError("states", "the shipped text is coded; give data.path")
        else:
            codes, symbols, _ = shipped_text()
        found = windows(codes, self.history, states=symbols, limit=self.limit)
        return [replace(found, notes=notes)]

    def read_new(self, path: Path, like: Sequences) -> Sequences:
        """Return every history of a text, also the last one, which nothing follows yet."""
        codes, symbols, digest = read_text(path, self.states or THESIS_STATES)
        if len(codes) < self.history:
            raise DataError(
                f"{shown(path)}: it has {len(codes):,} states, too few for a history of "
                f"{self.history:,}; use more text"
            )
        histories = np.lib.stride_tricks.sliding_window_view(codes, self.history)
        response = np.zeros(len(histories), dtype=np.int32)
        return Sequences(histories, response, symbols, like.classes, digest, path.name)


def encode_text(
    text: str, states: Mapping[str, str | None] = THESIS_STATES
) -> tuple[np.ndarray, list[str]]:
    """Return the int32 code of each state of a text, and the symbol of each code.

    Parameters
    ----------
    text : a run of characters that belong to the None state counts once; without a None state
        they are dropped.  Case does not matter.
    states : symbol -> its characters, or None for all characters that no other state names.

    Raises
    ------
    DataError: a map that says nothing valid; a text with none of its characters.
    """
    table, other = _table(states)
    if not text:
        raise DataError("the text is empty")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    codes = table[np.minimum(points, len(table) - 1)]
    keep = codes != other
    if not keep.any():
        named = "".join(characters for characters in states.values() if characters)
        raise DataError(f"the text has none of the characters {named}; nothing is left to predict")
    if other >= 0:  # the first of each run
        keep[1:] |= keep[:-1]
        keep[0] = True
    return codes[keep], list(states)


def left_out(text: str, states: Mapping[str, str | None]) -> list[str]:
    """Say which characters of a text belong to no state, so that they are dropped."""
    table, other = _table(states)
    if other >= 0:
        return []
    counts = Counter(
        one for one in text if table[min(ord(one), len(table) - 1)] < 0 and not one.isspace()
    )
    if not counts:
        return []
    shown = few([quoted(one) for one, _ in counts.most_common(5)])
    return [
        f"{counts.total():,} characters belong to none of data.states and are dropped, "
        f"most often {shown}"
    ]


def _table(states: Mapping[str, str | None]) -> tuple[np.ndarray, int]:
    """Return the code of each character, and of all others (the last entry): -1 if they drop."""
    if len(states) < 2:
        raise DataError(f"states: {len(states)} given, at least two are needed")
    code: dict[str, int] = {}
    other = -1
    for number, (symbol, characters) in enumerate(states.items()):
        if not isinstance(symbol, str) or len(symbol) != 1:
            raise DataError(f"states: the symbol {symbol!r} must be one character, in quotes")
        if characters is None:
            if other >= 0:
                raise DataError(
                    f"states: {list(states)[other]} and {symbol} are both all other characters; "
                    "list the characters of one of them"
                )
            other = number
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
                        "(case does not matter); leave it in one of them"
                    )
    table = np.full(max(map(ord, code)) + 2, other, dtype=np.int32)
    table[[ord(character) for character in code]] = list(code.values())
    return table, other


def read_text(
    path: Path, states: Mapping[str, str | None] = THESIS_STATES
) -> tuple[np.ndarray, list[str], str]:
    """Read a UTF-8 text; return its codes and symbols as encode_text does, and their digest.

    Raises
    ------
    DataError: what is wrong, where, and what to do.
    """
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
        raise DataError(f"{SHIPPED}: altered or damaged; install thesiskit again")
    codes = (np.frombuffer(digits.encode(), dtype=np.uint8) - ord("1")).astype(np.int32)
    symbols = list(THESIS_STATES)
    return codes, symbols, digest_of(codes, symbols)


def windows(
    codes: np.ndarray,
    length: int,
    *,
    states: list[str] | None = None,
    limit: int | None = None,
) -> Sequences:
    """Return all overlapping windows of `length` + 1 states, in order, without copying them.

    Parameters
    ----------
    codes : (T,) codes from 0; T states give T - length windows.
    length : states in a history.
    states : the symbol of each code; without them 0, 1, ...
    limit : use the first so many states only (the thesis has 3,930, hence 3,910 of length 20).

    Raises
    ------
    DataError: too few states; codes without a symbol.
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
            f"state that follows it; {remedy}"
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
        digest_of(codes, length, symbols),
        f"{len(view):,} windows of a text of {len(codes):,} states",
    )
