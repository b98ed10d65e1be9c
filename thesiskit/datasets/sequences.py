"""Sequences: histories of states, and the state that follows each.

Drawn from a hidden Markov model (section sec-sim-blsm), cut from a text (sec-text-blsm), or read
from the user's own file.

thesis        here              shape
x_{1:O}       histories         (n, length), codes from 0; the last column is x_O
x_{O+1}       response          (n,), codes from 0
O             length
"""

import csv
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thesiskit.datasets.synthetic import draw_responses, draw_rows, draw_sigma
from thesiskit.datasets.text_files import shown, unreadable, utf8
from thesiskit.errors import DataError, brief, few, quoted
from thesiskit.safe_io import DAMAGES, read_npy

# symbol -> its characters, in the order of the thesis's codes 1, 2, 3; None is all others
THESIS_STATES: Mapping[str, str | None] = {"V": "aeiou", "C": "bcdfghjklmnpqrstvwxyz", "_": None}
SHIPPED = Path(__file__).parent / "text" / "sotu-1790.txt"
# sha256 of its digits, without line ends
SHIPPED_DIGITS = "fd13ab0989061ee5d78e0fcda64aae835a1674e8a3c6a2a00cf7ec903d640ddc"


@dataclass(frozen=True)
class Sequences:
    """Histories with the state that follows each.

    Attributes
    ----------
    histories : (n, length) int32 codes from 0, in time order: the last column is the most recent.
        May be a read-only sliding view of one text.
    response : (n,) int32 codes from 0.
    states : the symbol of each code of a history.
    classes : the symbol of each code of a response.
    digest : sha256 of codes and symbols, for provenance.
    source : where they come from, for people.
    """

    histories: np.ndarray
    response: np.ndarray
    states: list[str]
    classes: list[str]
    digest: str = ""
    source: str = ""


def numbered(n: int) -> list[str]:
    """Return the symbols of drawn states, values or classes: 1 to n."""
    return [str(i + 1) for i in range(n)]


# ---- a hidden Markov model ----


def draw_hidden_markov(
    rng: np.random.Generator,
    *,
    transition: np.ndarray,
    emission: np.ndarray,
    length: int,
    cases: int,
) -> Sequences:
    """Draw sequences of `length` + 1 states from a hidden Markov model (section sec-sim-blsm).

    Parameters
    ----------
    transition : (H, H) probabilities of the next hidden state; the chain starts stationary.
    emission : (H, M) probabilities of the observable states, whose symbols are 1 to M.
    length, cases : states in a history, and sequences.

    Raises
    ------
    DataError: which row is not a distribution; several stationary distributions; length or cases
        below 1.
    """
    at_least_one(length=length, cases=cases)
    start = stationary(transition)
    transition = _distributions(transition, "transition")
    emission = _distributions(emission, "emission")
    if len(emission) != len(transition):
        raise DataError(
            f"emission has {len(emission)} rows; it needs one for each of the {len(transition)} "
            "hidden states of transition"
        )
    states = np.empty((cases, length + 1), dtype=np.int32)
    hidden = draw_rows(rng, start[None], np.zeros(cases, dtype=np.int64))
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
        _digest(states, symbols),
        "drawn from a hidden Markov model",
    )


def draw_logistic(
    rng: np.random.Generator,
    *,
    states: int,
    classes: int,
    length: int,
    order: int,
    cases: int,
    train: int,
    cauchy: bool,
    sigma_0: float,
    sigma_shape: float,
    sigma_mode: float,
) -> tuple[Sequences, dict[str, np.ndarray]]:
    """Draw from the logistic sequence model, equations eqn-softmax to eqn-cc-prior.

    Histories are uniform.  Returns the sequences, and what they were drawn with: log_sigma
    (order + 1,) and probability (cases, classes).  Drawn again, parameters and responses, until
    the first `train` responses are of two classes at least: to condition on that leaves the
    posterior given these as it is.
    """
    histories = rng.integers(0, states, (cases, length), dtype=np.int32)
    patterns = [
        [np.unique(histories[:, length - o :], axis=0, return_inverse=True)[1].reshape(-1)]
        for o in range(order + 1)
    ]
    response, truth = draw_responses(
        rng,
        patterns,
        lambda: draw_sigma(rng, order, sigma_0, sigma_shape, sigma_mode),
        classes=classes,
        train=train,
        cauchy=cauchy,
    )
    drawn = Sequences(
        histories, response, numbered(states), numbered(classes),
    )  # fmt: skip
    return drawn, truth


def stationary(transition: np.ndarray) -> np.ndarray:
    """Return the (H,) distribution that a chain with these (H, H) probabilities keeps.

    Raises
    ------
    DataError: which row is not a distribution; or several distributions are kept.
    """
    transition = _distributions(transition, "transition")
    hidden = len(transition)
    if transition.shape[1] != hidden:
        raise DataError(f"transition must be square, got shape {transition.shape}")
    # pi (P - I) = 0 and sum pi = 1: H + 1 equations of rank H where pi is unique
    equations = np.vstack([transition.T - np.eye(hidden), np.ones(hidden)])
    pi, _, rank, _ = np.linalg.lstsq(equations, np.eye(hidden + 1)[hidden], rcond=None)
    if rank < hidden:
        raise DataError(
            "transition keeps more than one distribution, because some hidden states never reach "
            "each other; give small probabilities to the moves between them"
        )
    pi = np.maximum(pi, 0)
    return pi / pi.sum()


def _distributions(matrix: np.ndarray, name: str) -> np.ndarray:
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
            raise DataError(f"{name}: row {number} holds {wrong:g}, which is not a probability")
        if abs(row.sum() - 1) > 1e-6:
            raise DataError(f"{name}: row {number} sums to {row.sum():.6g}; it must sum to 1")
    return matrix / matrix.sum(axis=1, keepdims=True)


# ---- text ----


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
    return codes, symbols, _digest(codes, symbols)


def shipped_text() -> tuple[np.ndarray, list[str], str]:
    """Return codes, symbols and digest of the text that comes with the project (data/README.md).

    It is Washington's address of 8 December 1790 in the thesis's three states: 8,247 of them.
    """
    digits = "".join(utf8(SHIPPED).split())
    if hashlib.sha256(digits.encode()).hexdigest() != SHIPPED_DIGITS:
        raise DataError(f"{SHIPPED}: altered or damaged; install thesiskit again")
    codes = (np.frombuffer(digits.encode(), dtype=np.uint8) - ord("1")).astype(np.int32)
    symbols = list(THESIS_STATES)
    return codes, symbols, _digest(codes, symbols)


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
        _digest(codes, length, symbols),
        f"{len(view):,} windows of a text of {len(codes):,} states",
    )


# ---- the user's own sequences ----


def read_sequences(
    path: Path,
    *,
    length: int | None = None,
    pad: str | None = None,
    header: bool = False,
    like: Sequences | None = None,
) -> Sequences:
    """Read sequences, one case per line: the last state is the response, the rest its history.

    Parameters
    ----------
    path : text with states (any labels) between commas, spaces or tabs, or, where no line has any
        of these, one word of one-character states per line (ACGTT); blank lines and lines that
        start with # are skipped.  `.csv` has commas only, and labels may be quoted.  `.npy` holds
        whole numbers, (n, length + 1).
    length : keep the so many most recent states of each history.
    pad : the symbol that fills short histories on the left; a state of its own unless it occurs.
    header : whether the first line names columns.
    like : use the coding and the length of these sequences.  New states come after theirs.

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
    pad = None if pad is None else str(pad)
    if pad is not None and _missing(pad):
        raise DataError(f"pad: {quoted(pad)} means a missing state; choose another symbol")
    width = length
    if like:
        width = like.histories.shape[1]
        if length not in (None, width):
            raise DataError(f"length is {length}, but the training cases have {width} states")
    cut = length is not None or pad is not None
    read = _read_npy if path.suffix.lower() == ".npy" else _read_lines
    raw, labels, lines = read(path, width, cut, pad, header)
    unit = "row" if path.suffix.lower() == ".npy" else "line"

    states, histories = _recode(raw[:, :-1], labels, like.states if like else [])
    classes, response = _recode(raw[:, -1], labels, like.classes if like else [])
    if like and len(classes) > len(like.classes):
        case = int(np.argmax(response >= len(like.classes)))
        raise DataError(
            f"{where}: {unit} {lines[case]} ends with {quoted(classes[response[case]])}, which is "
            f"no response in the training cases ({few(like.classes)}); leave such cases out, "
            "or train with some"
        )
    digest = _digest(histories, response, states, classes)
    return Sequences(histories, response, states, classes, digest, path.name)


def _recode(raw: np.ndarray, labels: list[str], known: list[str]) -> tuple[list[str], np.ndarray]:
    """Return symbols, the known ones first, and raw codes of labels as codes of these."""
    used = np.zeros(len(labels), dtype=bool)
    used[raw] = True
    found = {label for label, is_used in zip(labels, used, strict=True) if is_used}
    symbols = [*known, *sorted(found - set(known), key=_natural)]
    code = {symbol: number for number, symbol in enumerate(symbols)}
    return symbols, np.array([code.get(label, -1) for label in labels], dtype=np.int32)[raw]


def _read_lines(
    path: Path, width: int | None, cut: bool, pad: str | None, header: bool
) -> tuple[np.ndarray, list[str], list[int]]:
    """Return raw codes (n, width + 1), the label of each, and the line of each case."""
    where = shown(path)
    lines = [
        (number, line.strip(" "))
        for number, line in enumerate(re.split(r"\r\n|\r|\n", utf8(path)), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ][header:]
    if not lines:
        raise DataError(f"{where}: no cases in it; give one case per line")
    for number, line in lines:
        if ";" in line:
            raise DataError(f"{where}: line {number} holds ';'; put commas between states")
    if path.suffix.lower() == ".csv":
        reader = csv.reader((line for _, line in lines), skipinitialspace=True)
        try:
            cases = [[field.strip() for field in row] for row in reader]
        except csv.Error as error:
            raise DataError(f"{where}: not CSV: {error}") from None
        if len(cases) != len(lines):
            raise DataError(f"{where}: a quoted label runs over the end of a line; mend the quotes")
    else:
        cases = [re.split(r"[ \t]*,[ \t]*| *\t *| +", line) for _, line in lines]
    if all(len(fields) == 1 for fields in cases):
        cases = [list(fields[0]) or [""] for fields in cases]

    keep = width + 1 if width else max(map(len, cases))
    raw: dict[str, int] = {}
    rows = []
    for (number, _), fields in zip(lines, cases, strict=True):
        if (len(fields) < keep and pad is None) or (len(fields) > keep and not cut):
            raise _length_error(f"{where}: line {number}", len(fields), len(cases[0]), width)
        fields = fields[-keep:]
        for label in fields:
            if label not in raw:
                if _missing(label):
                    raise DataError(
                        f"{where}: a state is missing in line {number} ({quoted(label)}); fill it "
                        "in, leave the case out, or give missing states a symbol of their own"
                    )
                raw[label] = len(raw)
        rows.append([raw[label] for label in fields])
    if keep < 2:
        raise DataError(f"{where}: one state per line; a case is a history and then a response")
    if pad is not None and any(len(row) < keep for row in rows):
        filler = raw.setdefault(pad, len(raw))
        rows = [[filler] * (keep - len(row)) + row for row in rows]
    return np.array(rows, dtype=np.int32), list(raw), [number for number, _ in lines]


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
    path: Path, width: int | None, cut: bool, pad: str | None, header: bool
) -> tuple[np.ndarray, list[str], range]:
    """Return raw codes (n, width + 1), the label of each, and the row of each case from 1."""
    where = shown(path)
    if header:
        raise DataError(f"{where}: an NPY file has no header line; leave out header")
    try:
        array = read_npy(path)
    except OSError as error:
        raise unreadable(path, error) from None
    except DAMAGES as error:
        raise DataError(
            f"{where}: damaged, or not an NPY file ({brief(str(error))}); save one array with "
            "numpy.save"
        ) from None
    if array.ndim != 2 or len(array) == 0 or array.shape[1] < 2:
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
    return raw, labels, range(1, len(array) + 1)


def _missing(label: str) -> bool:
    return label in ("", "NA", "?") or label.lower() == "nan"


def _natural(label: str) -> tuple[bool, float, str]:
    """Sort numbers by size, then everything else by alphabet."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label


def at_least_one(**numbers: int) -> None:
    """Name a number below 1."""
    for name, number in numbers.items():
        if number < 1:
            raise DataError(f"{name} is {number}; it must be at least 1")


def _digest(*parts: np.ndarray | Iterable[str] | int) -> str:
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            whole.update(repr(part.shape).encode() + part.astype("<i4").tobytes())
        else:
            whole.update(repr(part).encode())
    return whole.hexdigest()
