"""What files of sequences seem to hold: lines of states, whole numbers, and FASTA."""

import re
from collections import Counter
from pathlib import Path

import numpy as np

from thesiskit.datasets.looking.found import Found, Key
from thesiskit.datasets.reading.sequence_lines import is_fasta, split_lines
from thesiskit.datasets.reading.text_files import shown, utf8
from thesiskit.datasets.sequence_files import read_sequences
from thesiskit.errors import DataError, quoted

LEAST_WORD = 4  # letters of a line that is a sequence of one-letter states
MOST_LETTERS = 64
MOST_STATES = 20  # of lines with something between states
SHARE = 0.7  # of the cases train
LINES, HEAD = 1000, 1 << 22  # lines and characters that are looked at


def is_sequences(path: Path) -> bool:
    """Whether a text file holds lines of states, and no table.

    Either each line is one word of letters, and these are few and all lines have them; or all
    columns have the same few words, also in the first line.
    """
    if is_fasta(path):
        return True
    lines = [
        line.strip()
        for line in re.split(r"\r\n|\r|\n", utf8(path)[:HEAD])[:LINES]
        if line.strip() and not line.lstrip().startswith("#")
    ]
    cases = [re.split(r"[ \t]*,[ \t]*| *\t *| +", line) for line in lines]
    if len(cases) < 3:
        return False
    table = path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".tab"))
    if all(len(one) == 1 for one in cases):
        words = [one[0] for one in cases]
        letters = set("".join(words[1:]))
        short = min(map(len, words)) < LEAST_WORD
        same = len(set(map(len, words))) == 1
        return (
            not short
            and len(letters) <= MOST_LETTERS
            and letters >= set(words[0])
            and (same or not table)
        )
    states = {state for one in cases[1:] for state in one}
    numbers = all(re.fullmatch(r"[-+.0-9eE]+", state) for state in states)
    few_states = len(states) <= MOST_STATES and states >= set(cases[0])
    return few_states and len({len(one) for one in cases}) == 1 and not (numbers and table)


def is_prose(start: bytes) -> bool:
    """Whether the beginning of a file is sentences: words of letters, of many lengths."""
    words = start.decode("utf-8", "ignore").split()
    plain = [word for word in words if word.strip(".,;:!?'\"()-").isalpha()]
    ends = sum(word.endswith((".", ",", ";")) for word in words)
    lengths = len({len(word) for word in plain})
    return len(words) > 30 and len(plain) > 0.9 * len(words) and lengths > 5 and ends > 2


def look_at_sequences(path: Path, response: str | None) -> Found:
    """Return what a file of sequences holds."""
    where = shown(path)
    if response is not None:
        raise DataError(
            f"{where}: of sequences, the last state of each line is the response; leave out "
            "--response"
        )
    if is_fasta(path):
        return _fasta(path)
    data = [Key("source", "sequences", "each line a history; its last state is to be predicted")]
    data.append(Key("path", str(path)))
    notes = ["each line is a sequence, whose last state is predicted from those before it"]
    return _read(path, data, notes, "the last state")


def _fasta(path: Path) -> Found:
    """Return what a FASTA file holds: sequences, or sequences and their labels."""
    labels = Counter(split_lines(path).labels)
    labelled = 2 <= len(labels) <= sum(labels.values()) // 2 and "" not in labels
    about = "each record a sequence"
    data = [Key("source", "sequences", about), Key("path", str(path))]
    if labelled:
        said = ", ".join(f"{label} ({n:,})" for label, n in labels.most_common(4))
        data.append(Key("predict", "label", f"the last word of each header line: {said}"))
        notes = [f"the response is the last word of each header line: {said}"]
    else:
        notes = ["no labels in the header lines; the last letter is predicted from those before it"]
    return _read(path, data, notes, "the label" if labelled else "the last letter")


def _read(path: Path, data: list[Key], notes: list[str], response: str) -> Found:
    """Return what was found, with the lengths and numbers that the sequences have."""
    predict = next((one.value for one in data if one.name == "predict"), "last-state")
    length = None if path.suffix == ".npy" else _common_length(path, predict)
    if length is not None:
        data = [*data, Key("history", length, "the most recent states, as many as all lines have")]
        notes = [*notes, f"the lines are of unequal length; the last {length:,} states count"]
    found = read_sequences(path, predict=predict, length=length)
    classes = Counter(found.response.tolist())
    if len(classes) < 2:
        raise DataError(
            f"{shown(path)}: {response} is {quoted(found.classes[0])} in all cases; there is "
            "nothing to predict"
        )
    cases, width = found.histories.shape
    train = min(max(2, round(SHARE * cases)), cases - 1)
    while len(set(found.response[:train].tolist())) < len(classes) and train < cases - 1:
        train += 1
    if np.ptp(found.response[train:]) == 0 and len(classes) == 2:
        notes = [*notes, "the cases seem to be sorted by the response; shuffle the lines"]
    data = [*data, Key("train", train, "the first cases train, the others are predicted")]
    return Found(
        data,
        "sequences",
        cases=cases,
        width=width,
        values=len(found.states),
        smallest=min(classes.values()),
        response=response,
        notes=notes,
    )


def _common_length(path: Path, predict: str) -> int | None:
    """Return how many states all histories have, None where they are of the same length."""
    lengths = [len(one) for one in split_lines(path).states]
    if set(lengths) == {1}:
        lengths = [len(one[0]) for one in split_lines(path).states]
    if len(set(lengths)) == 1:
        return None
    return max(1, min(lengths) - (predict == "last-state"))
