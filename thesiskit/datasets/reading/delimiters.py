"""Which character stands between the cells of a text table."""

import csv
import re
from pathlib import Path

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
USUAL = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}  # by suffix: tried first
LINES = 20  # that are looked at
HEAD = 1 << 22  # characters that these lie in


def text_suffix(path: Path) -> str:
    """Return the suffix of a text table, without `.gz`; empty for files of other kinds."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in USUAL else ""


def sniff(text: str, usual: str = ",") -> str:
    """Return the delimiter of a text table, looking at its first lines.

    It is one that all lines have equally often, the usual one before others; spaces, also several
    in a row, only where the line of names has no other.  Where the lines are not alike, it is the
    one that the line of names has most often.
    """
    lines = [line for line in re.split(r"\r\n|\r|\n", text[:HEAD]) if line.strip()]
    if len(text) > HEAD and len(lines) > 1:
        del lines[-1]  # it may be cut
    lines = lines[:LINES]
    if not lines:
        return usual
    if _width(lines, usual) > 1:
        return usual
    order = [usual, *(one for one in DELIMITERS if one not in (usual, " "))]
    width = {one: _width(lines, one) for one in order}
    best = max(order, key=width.__getitem__)
    if width[best] > 1:
        return best
    most = max(order, key=lines[0].count)
    if most in lines[0]:
        return most
    return " " if _width(lines, " ") > 1 else usual


def _width(lines: list[str], delimiter: str) -> int:
    """Return how many cells each line has, 0 where they differ."""
    loose = delimiter in ", "
    if delimiter == " ":
        lines = [line.strip(" ") for line in lines]
    try:
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=loose, strict=True)
        widths = {len(row) for row in rows}
    except csv.Error:
        return 0
    return widths.pop() if len(widths) == 1 else 0
