"""Sequences in text files: lines of states, and FASTA."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from thesiskit.datasets.reading.text_files import shown, utf8
from thesiskit.errors import DataError, quoted

FASTA = (".fa", ".fasta", ".fna", ".faa")
LABEL = re.compile(r"^\w+[=:]")  # of a header line: class=promoter stands for promoter


@dataclass(frozen=True)
class Lines:
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

    @property
    def shortest(self) -> int:
        """How many states the shortest sequence has."""
        return min(map(len, self.states))


def is_fasta(path: Path) -> bool:
    """Whether a file is FASTA, by its name."""
    return path.name.lower().removesuffix(".gz").endswith(FASTA)


def split_lines(path: Path, *, header: bool = False) -> Lines:
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
        return _split_fasta(path)
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
    if path.name.lower().removesuffix(".gz").endswith(".csv"):
        reader = csv.reader((line for _, line in lines), skipinitialspace=True)
        try:
            cases = [[field.strip() for field in row] for row in reader]
        except csv.Error as error:
            raise DataError(f"{where}: not CSV: {error}") from None
        if len(cases) != len(lines):
            raise DataError(f"{where}: a quoted label runs over the end of a line; mend the quotes")
    else:
        cases = [re.split(r"[ \t]*,[ \t]*| *\t *| +", line) for _, line in lines]
    return Lines(cases, [number for number, _ in lines], [], [])


def _split_fasta(path: Path) -> Lines:
    """Return the records of a FASTA file; letters are taken as capitals."""
    where = shown(path)
    found = Lines([], [], [], [])
    for number, text in enumerate(re.split(r"\r\n|\r|\n", utf8(path)), start=1):
        line = text.strip()
        if line.startswith(">"):
            words = [word for word in re.split(r"[\s|;]+", line[1:]) if word]
            found.states.append([])
            found.numbers.append(number)
            found.ids.append(words[0] if words else "")
            found.labels.append(LABEL.sub("", words[-1]) if len(words) > 1 else "")
        elif line and not line.startswith(";"):
            if not found.states:
                raise DataError(
                    f"{where}: line {number} is {quoted(line, 30)}; FASTA begins with a line of >"
                )
            found.states[-1] += line.upper().removesuffix("*").replace(" ", "")
    if not found.states:
        raise DataError(f"{where}: no sequences in it; each begins with a line of >")
    for states, number in zip(found.states, found.numbers, strict=True):
        if not states:
            raise DataError(
                f"{where}: line {number} begins a sequence without letters; leave it out"
            )
    return found
