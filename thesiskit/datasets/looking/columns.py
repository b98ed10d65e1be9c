"""What the columns of a table seem to be: kinds of values, the response, names of cases."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from thesiskit.datasets.reading.columns import COUNTERS, NAMELESS, check_column
from thesiskit.datasets.reading.numbers import DATE, FALSE, GROUPED, INFINITE, MISSING, REAL, TRUE
from thesiskit.errors import DataError, few, quoted

UNKNOWN = MISSING
FEW_VALUES = 10  # a whole number with more is a measurement
LONGEST_ID = 200  # characters
MOST_CLASSES = 20  # whole numbers with more values are numbers to predict
DAY = re.compile(r"(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])")  # 20240131
TIME = re.compile(r"[T ][0-9]{1,2}:[0-9]{2}.*")
WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+")
# names of responses, the surest first; the last word of a longer name counts too
MANY_MEASURED = 20  # columns, above which one of classes stands out among measurements
RESPONSES = (
    "y", "class", "label", "target", "response", "outcome", "diagnosis", "status", "phenotype",
    "disease", "affected", "event", "relapse", "survived", "survival", "result", "group",
    "condition",
)  # fmt: skip
IDS = (
    "id", "ids", "name", "sample", "samples", "patient", "subject", "case", "barcode", "accession",
    "identifier", "key", "iid", "number", "no", "nr", "patientid", "sampleid", "caseid",
    "subjectid",
)  # fmt: skip
POSITIVE = (
    "1", "yes", "true", "case", "cases", "tumour", "tumor", "cancer", "carcinoma",
    "malignant", "positive", "pos", "+", "relapse", "recurrence", "dead", "died", "disease",
    "diseased", "sick", "ill", "affected", "abnormal", "event", "mutant", "mut", "responder",
    "present", "treated", "ja", "oui",
)  # fmt: skip
NEGATIVE = (
    "0", "no", "false", "control", "controls", "ctrl", "normal", "healthy", "benign",
    "negative", "neg", "-", "none", "alive", "well", "unaffected", "wildtype", "wt",
    "non-responder", "nonresponder", "absent", "untreated", "nein", "non",
)  # fmt: skip

INITIALS = ("yn", "tf", "tn", "mb", "pn")  # the first is class 1: yes and no, tumour and normal


class Column:
    """The cells of a column, and what they seem to be.

    name : its name; cells : its texts, without spaces around them.
    """

    def __init__(self, name: str, cells: Sequence[str]):
        self.name = name
        self.cells = len(cells)
        self.counts = Counter(cells)
        self.unknown = sorted(one for one in self.counts if one in UNKNOWN)
        for one in self.unknown:
            del self.counts[one]
        self.rising = _rising(cells)

    @property
    def held(self) -> int:
        """Cells that are not missing."""
        return sum(self.counts.values())

    @cached_property
    def kind(self) -> str:
        """empty, constant, date, truth, whole, real or text."""
        values = list(self.counts)
        if not values:
            return "empty"
        if all(_is_date(one) for one in values):
            return "date"
        if len(values) == 1:
            return "constant"
        if len(values) > 2 and all(DAY.fullmatch(one) for one in values):
            return "date"
        if all(one in TRUE or one in FALSE for one in values):
            return "truth"
        numbers = sum(n for one, n in self.counts.items() if _is_number(one))
        if numbers < self.held and 2 * numbers <= self.held:
            return "text"
        # a few words among numbers are mistakes, which the reader of the table will name
        whole = all(_is_whole(one) for one in values if _is_number(one))
        return "whole" if whole else "real"

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers, or truth values."""
        return self.kind in ("truth", "whole", "real")

    @property
    def of_numbers(self) -> bool:
        """Whether all values are numbers, whatever its kind."""
        return all(map(_is_number, self.counts))

    @property
    def broken(self) -> bool:
        """Whether there are words among its numbers."""
        return self.numeric and self.kind != "truth" and not self.of_numbers

    @property
    def coarse(self) -> bool:
        """Whether it has few values, as a discrete feature has."""
        if self.kind in ("text", "truth"):
            return not self.wordy
        most = min(FEW_VALUES, max(2, self.held // 2))
        return self.kind == "whole" and len(self.counts) <= most and not self.broken

    @property
    def measured(self) -> bool:
        """Whether it holds numbers of which there are too many to be codes."""
        return self.numeric and not self.coarse and len(self.counts) > 2

    @property
    def wordy(self) -> bool:
        """Whether it is text of which most cells have words of their own."""
        return self.kind == "text" and len(self.counts) > max(FEW_VALUES, self.held // 2)

    @property
    def unique(self) -> bool:
        """Whether each case has a value of its own."""
        return len(self.counts) == self.cells > 2

    @property
    def class_like(self) -> bool:
        """Whether it could be a response with classes."""
        few_classes = 2 <= len(self.counts) <= min(MOST_CLASSES, max(2, self.held // 3))
        return few_classes and self.kind in ("text", "truth", "whole") and not self.broken

    @property
    def counter(self) -> bool:
        """Whether it numbers the cases."""
        known = self.name in COUNTERS or NAMELESS.fullmatch(self.name) or _is_id(self.name)
        return bool(known) and self.rising and self.unique

    @property
    def names_cases(self) -> bool:
        """Whether it names the cases: texts that all differ, or numbers in a column called so."""
        if not self.unique or self.kind == "date":
            return False
        if any(len(one) > LONGEST_ID or not one.isprintable() for one in self.counts):
            return False
        nameless = bool(NAMELESS.fullmatch(self.name))
        return self.kind == "text" or nameless or (self.kind == "whole" and _is_id(self.name))


# ---- the response ----


def find_response(columns: list[Column], asked: str | None, where: str) -> tuple[Column, str]:
    """Return the column of the response, and why it is this one."""
    if asked is not None:
        check_column(asked, [one.name for one in columns], where)
        return next(one for one in columns if one.name == asked), "asked for"
    by_name = {_last_words(one.name): one for one in reversed(columns)}
    for name in RESPONSES:
        for words, one in by_name.items():
            if words[0] == name and one.kind != "empty":
                return one, "by its name"
    for name in RESPONSES[1:]:
        for words, one in by_name.items():
            if name == words[-1] and one.class_like:
                return one, "by its name"
    free = [one for one in columns if not (one.names_cases or one.counter)]
    free = [one for one in free if one.kind not in ("empty", "constant", "date")]
    if not free:
        raise DataError(
            f"{where}: no column could be a response; say which is with --response COLUMN"
        )
    pairs = [one for one in free if one.class_like and one.kind == "text" and len(one.counts) == 2]
    last = free[-1]
    if last is columns[-1] and last.class_like and (last.kind != "whole" or not pairs):
        return last, "the last column"
    if pairs:
        return pairs[0], "the first column of two words"
    few_valued = [one for one in free if one.class_like]
    if len(few_valued) == 1 and len(free) > MANY_MEASURED:
        return few_valued[0], "the only column that does not hold measurements"
    return last, "the last column"


def find_positive(response: Column) -> tuple[object, str]:
    """Return the value that is class 1, and why; None where the values are 0 and 1."""
    values = list(response.counts)
    if response.kind == "truth":
        return None, "true is class 1"
    if response.numeric:
        numbers = sorted({float(one) for one in values})
        if numbers == [0, 1]:
            return None, "1 is class 1"
        largest = numbers[-1]
        whole = largest.is_integer()
        return (int(largest) if whole else largest), "the larger value"
    said = {one: one.casefold() for one in values}
    for pair in INITIALS:
        if sorted(said.values()) == sorted(pair):
            return next(one for one in values if said[one] == pair[0]), "by its name"
    sure = [one for one in values if said[one] in POSITIVE]
    others = [one for one in values if said[one] in NEGATIVE]
    if len(sure) == 1:
        return sure[0], "by its name"
    if len(others) == 1:
        return next(one for one in values if one != others[0]), f"because {others[0]} is not"
    rarest = min(sorted(values, reverse=True), key=response.counts.__getitem__)
    equal = len(set(response.counts.values())) == 1
    return rarest, "the last by alphabet" if equal else "the rarer class"


def check_rare(response: Column, where: str) -> None:
    """Raise DataError for a class of more than two that has one case, which no model can test."""
    rare = [value for value, cases in response.counts.items() if cases == 1]
    if rare and len(response.counts) > 2:
        raise DataError(
            f"{where}: the response {quoted(response.name)} is {few(rare)} in one case only; give "
            "two cases of each class at least, or leave such cases out"
        )


def about_classes(response: Column) -> tuple[object, str]:
    """Return the value that is class 1, or None, and what is to be said about the classes."""
    if len(response.counts) > 2:
        return None, f"it has {len(response.counts)} classes"
    value, why = find_positive(response)
    return value, why if value is None else f"class 1 is {quoted(value)}: {why}"


# ---- features ----


def find_ids(columns: list[Column]) -> Column | None:
    """Return the column that names the cases, if one does: texts before numbers."""
    found = [one for one in columns if one.names_cases and not one.counter]
    counters = [one for one in columns if one.counter]
    named = sorted(found, key=lambda one: one.kind != "text")
    return next(iter([*named, *counters]), None)


def left_out(one: Column) -> str:
    """Say why a column is no feature; empty if it is one."""
    if one.kind == "empty":
        return "no value at all"
    if one.kind == "constant":
        return f"{quoted(next(iter(one.counts)), 30)} in all cases"
    if one.kind == "date":
        return "dates"
    if one.counter:
        return "numbers the cases"
    if one.names_cases or NAMELESS.fullmatch(one.name):
        return "names the cases"
    return "other words in most cases" if one.wordy else ""


def values_of(one: Column) -> str:
    """Name the values of a response, with how many cases have each; the range of many numbers."""
    if one.numeric and len(one.counts) > MOST_CLASSES:
        numbers = [float(value) for value in one.counts if REAL.fullmatch(value)]
        return f"{min(numbers):.4g} to {max(numbers):.4g}"
    return few([f"{value} ({n:,})" for value, n in one.counts.most_common()], 4)


def _is_number(text: str) -> bool:
    return bool(
        REAL.fullmatch(text) or GROUPED.fullmatch(text) or text.lower().lstrip("+-") in INFINITE
    )


def _is_whole(text: str) -> bool:
    return bool(REAL.fullmatch(text)) and float(text).is_integer()


def _is_date(text: str) -> bool:
    found = DATE.match(text)
    return found is not None and (
        found.end() == len(text) or TIME.fullmatch(text[found.end() :]) is not None
    )


def _is_id(name: str) -> bool:
    words = _last_words(name)
    return words[0] in IDS or words[-1] in IDS


def _last_words(name: str) -> tuple[str, str]:
    """Return a name and its last word, both in small letters without signs."""
    words = [word.casefold() for word in WORD_START.split(name) if word]
    return "".join(words), words[-1] if words else ""


def _rising(cells: Sequence[str]) -> bool:
    """Whether cells are the numbers from 0 or 1 on."""
    start = {"0": 0, "1": 1}.get(cells[0]) if cells else None
    return start is not None and all(
        one == str(number) for number, one in enumerate(cells, start=start)
    )
