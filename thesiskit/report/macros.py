"""The numbers of all tables as LaTeX macros, so that a paper can name them.

The name of a macro is `tk`, then the experiment, the table, the row and the column, in words of
letters only: \\tkNullScoresTenCorrectedAMLP is the AMLP of the row "10, corrected" of the table
"scores" of the experiment null.  The first columns that tell all rows of a table apart name its
rows.  The comment above a macro has the same in the words of the table.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain

from thesiskit.report.layout import Table, display

ONES = [
    "Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven",
    "Twelve", "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen", "Nineteen",
]  # fmt: skip
TENS = ["Twenty", "Thirty", "Forty", "Fifty", "Sixty", "Seventy", "Eighty", "Ninety"]
SCALES = ((10**9, "Billion"), (10**6, "Million"), (10**3, "Thousand"), (100, "Hundred"))
SIGNS = {"%": "Percent", "±": "PlusMinus", "+": "Plus", "#": "Number", "<": "Below", ">": "Above"}
# a number, with a sign if one stands before it alone; letters; a sign
WORD = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?|\d+|[^\W\d_]+|[%±+#<>]")
ESCAPED = {
    **{mark: f"\\{mark}" for mark in "#%&_${}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"\ensuremath{\pm}", "<": r"\ensuremath{<}", ">": r"\ensuremath{>}", "–": "--", "…": "...",
}  # fmt: skip
# a number with a sign or a power of ten, which is set as mathematics
SIGNED = re.compile(r"(?<![\w.,-])(-?)(\d[\d,]*(?:\.\d+)?)(?:e([+-]?\d+))?(?![\w.]*\w)")


def macros(experiment: str, tables: Sequence[Table]) -> str:
    """Return the text of numbers.tex: a macro for each cell with a number, named once.

    All cells of a column have a macro where one of them has a digit, so that a number that could
    not be computed is there as a dash.
    """
    lines = [
        f"% The numbers in the tables of the experiment {_one_line(experiment)}, as macros.",
        "% In a paper: \\input{numbers}, then a macro with {} behind its name.",
    ]
    taken: set[str] = set()
    for table in tables:
        for row, words, column, cell in _numbers(table):
            name = "tk" + "".join(map(letters, (experiment, table.name, *words, column)))
            while name in taken:  # such as two names that differ in their signs alone
                name += f"Row{letters(str(row))}"
            taken.add(name)
            where = f"{table.name}: {', '.join(words)}: {column}"
            lines += [f"% {_one_line(where)}", f"\\newcommand{{\\{name}}}{{{latex(cell)}}}"]
    return "\n".join(lines) + "\n"


def _numbers(table: Table) -> Iterator[tuple[int, list[str], str, str]]:
    """Yield row, what names the row, column and cell of each number that is shown.

    The first columns that tell the rows apart name them, of words and counts: a column of other
    numbers names no row, nor do those behind it.
    """
    frame = table.visible
    cells, keys, unique = display(frame), 0, False
    for name in frame.columns:
        values = frame[name].tolist()
        if unique or any(isinstance(x, float) and x == x and x != int(x) for x in values):
            break
        keys += 1
        unique = len({tuple(row[:keys]) for row in cells}) == len(cells)
    wanted = [
        place
        for place in range(keys, len(frame.columns))
        if any(re.search(r"\d", row[place]) for row in cells)
    ]
    for number, row in enumerate(cells, 1):
        words = row[:keys] + ([] if unique else [f"row {number}"])
        for place in wanted:
            yield number, words, str(frame.columns[place]), row[place]


def letters(text: str) -> str:
    """Return words and numbers as one word of letters, each part with a capital letter.

    Letters without an English name in Unicode's decomposition, such as Chinese ones, are left out.
    """
    return "".join(_part(word) for word in WORD.findall(text))


def _part(word: str) -> str:
    if word in SIGNS:
        return SIGNS[word]
    number = word.removeprefix("-")
    if number[0].isdecimal():
        if not number.isascii():  # digits of another script
            number = "".join(str(unicodedata.decimal(one, one)) for one in number)
        whole, _, decimals = number.replace(",", "").partition(".")
        spoken = _spoken(int(whole)) if whole == str(int(whole)) else _digits(whole)
        minus = "Minus" if word.startswith("-") else ""
        return minus + spoken + (f"Point{_digits(decimals)}" if decimals else "")
    plain = "".join(chain.from_iterable(_latin(one) for one in word))
    return plain[:1].upper() + plain[1:]


def _digits(text: str) -> str:
    return "".join(ONES[int(one)] for one in text)


def _spoken(number: int) -> str:
    """Return a whole number in English, without spaces."""
    if number < 20:
        return ONES[number]
    if number >= 10**12:
        return _digits(str(number))
    size, name = next((scale for scale in SCALES if number >= scale[0]), (10, ""))
    first = _spoken(number // size) + name if name else TENS[number // 10 - 2]
    return first + (_spoken(number % size) if number % size else "")


def _latin(letter: str) -> str:
    """Return a letter without accents; a Greek one by its name."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", letter) if c.isascii() and c.isalpha())
    if plain:
        return plain
    name = unicodedata.name(letter, "")
    return name.split()[-1].capitalize() if name.startswith("GREEK") and name.isascii() else ""


def latex(cell: str) -> str:
    """Return what a cell shows as LaTeX that stands in text and in mathematics."""
    parts, end = [], 0
    for found in SIGNED.finditer(cell):
        sign, size, power = found.groups()
        if sign or power:
            times = f"\\times10^{{{int(power)}}}" if power else ""
            grouped = size.replace(",", "{,}")
            parts += [escaped(cell[end : found.start()]), f"\\ensuremath{{{sign}{grouped}{times}}}"]
            end = found.end()
    return "".join(parts) + escaped(cell[end:])


def escaped(text: str) -> str:
    """Return text with the characters that mean something to TeX escaped, in one line."""
    return "".join(ESCAPED.get(mark, mark) for mark in _one_line(text))


def _one_line(text: str) -> str:
    return "".join(mark if mark.isprintable() else " " for mark in text)
