"""Draft a config for a user's file: commented YAML that runs as it is.

What a file holds is guessed from names and values of columns.  Each guess is a comment of the
config and a note.
"""

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from thesiskit import defaults
from thesiskit.config import Config, load_config
from thesiskit.datasets import reading, sequences, tables
from thesiskit.datasets.checking import likely_transform, suspects
from thesiskit.datasets.reading import Wanted, shown
from thesiskit.datasets.tables import MOST_CLASSES
from thesiskit.errors import DataError, UserError, list_some, quoted, shorten
from thesiskit.frame import DATE, GROUPED, INFINITY, MOST_NAMED, REAL, Column, Frame, categories
from thesiskit.registry import all_candidates, candidates_of

PATTERNS, NAIVE, NORMAL = "patterns", "naive-bayes", "normal"  # models
ABOUT = {  # what features are, by model
    PATTERNS: "discrete features",
    NAIVE: "numeric table, cut at the medians",
    NORMAL: "numeric table",
}
UNFIT = {  # why a column is ignored, where the model takes discrete features, and where numbers
    True: "continuous; cut it into intervals to use it",
    False: "mixes numbers and text, or has too many categories",
}

# columns of a table
FEW_VALUES = 10  # a whole number with more is a measurement
LONGEST_ID = 200  # characters
PROSE = 4  # words of a cell, on average
DAY = re.compile(r"(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])")  # 20240131
WHEN = re.compile(rf"(?:{DATE.pattern})(?:[T ][0-9]{{1,2}}:[0-9]{{2}}.*)?")
NUMBER = re.compile(rf"{REAL.pattern}|{GROUPED.pattern}|{INFINITY.pattern}")
WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+")
# names of responses, the surest first; the last word of a longer name counts too
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

MOST_FLAT = 500  # columns of one number that a config names, to remove them
MOST_PATTERNED = 30  # features: of more numbers, pairs are too many
TURNED = "each line a feature, each column a sample"
RAW = ["FID", "IID", "PAT", "MAT", "SEX", "PHENOTYPE"]  # first columns of plink --recode A
Checks = list[tuple[str, str, str]]  # code, status and a line of each
Keys = dict[str, tuple[Any, str]]  # of the block `data`: the value of each, and why it has this one
# a decimal comma, not one between thousands; a decimal point; both marks, as in 1.234,5
COMMA = re.compile(r"[+-]?([0-9]*,([0-9]{1,2}|[0-9]{4,})|(0|[0-9]{4,}),[0-9]+)([eE][+-]?[0-9]+)?")
POINT = re.compile(r"[+-]?([0-9]*\.([0-9]{1,2}|[0-9]{4,})|(0|[0-9]{4,})\.[0-9]+)([eE][+-]?[0-9]+)?")
BOTH = re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+,[0-9]+")

# sequences
MANY_SEQUENCES = 5_000  # from where mixing may predict better than chains
LEAST_WORD = 4  # letters of a line that is a sequence of one-letter states
MOST_LETTERS = 64
MOST_STATES = 20  # of lines with something between states
LINES = 1000  # that are looked at

# what a config says
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
RESERVED = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
SELECTED = "selected-features"
MOST_FOLDS = 10
LEAST_OF_CLASS, LEAST_SHARE = 20, 0.1  # samples of a class that is not rare, and of all samples
LEAST_TEMPERED = 3  # samples of each class, of which most are in a training set
SIZES = (10, 100)  # of selections
MANY_FEATURES = 100  # up to so many, all are kept too
WIDE = 1000  # values of all features, above which fits take long
PAIRS = 20_000  # of values of two features, up to which their patterns are listed
LEAK = " # a leak? ignore it if it was copied from the response or recorded after it"
REAL_RESPONSE = "The response is a real number (model.response: gaussian)"
LISTED = 20  # columns to ignore, of which each has a line of its own
OWN_PARTS = ["summary", "methods", "reliability", "predictions"]
CHAIN_PARTS = ["reached-table", "chain-table"]
PARTS = {
    "table": [*OWN_PARTS, SELECTED],
    "classes": [*OWN_PARTS, "coefficients", *CHAIN_PARTS],
    "numbers": ["summary", "methods", "predictions", "coefficients", *CHAIN_PARTS],
    "sequences": [*OWN_PARTS, "orders", *CHAIN_PARTS],
}


@dataclass(frozen=True)
class FileGuess:
    """What a file seems to hold."""

    family: str  # of the source
    data: Keys  # `source` first; without `path`
    notes: list[str]  # what was guessed, a line each
    samples: int
    width: int  # features, or states of a history
    values: int  # that a discrete feature, or a state, has at most
    smallest: int  # samples of the rarest class, or all of real responses
    response: str  # what is predicted, in a few words
    classes: int = 2
    continuous: bool = False  # whether responses are real numbers
    real: bool = False  # whether features are, of the family `table`
    leaks: Sequence[str] = ()  # features that tell the response alone


@dataclass(frozen=True)
class Hints:
    """What the user says of a file.

    response : the column to predict; None to guess.
    missing : texts that stand for a missing value.
    decimal, thousands : how numbers are written; without both, a decimal comma is found.
    """

    response: str | None = None
    missing: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None

    @property
    def numbers(self) -> Keys:
        """The keys of `data` that say how numbers are written."""
        marks = {"decimal": self.decimal, "thousands": self.thousands}
        return {key: (value, "given") for key, value in marks.items() if value}


def draft_config(path: Path, hints: Hints, folder: Path) -> tuple[str, Checks, list[str]]:
    """Return a config for a file, as YAML that runs as it stands, with checks and guesses.

    Guesses and remarks are a line each.

    hints : what the user says.
    folder : where the config will be saved, from which its path is written.

    Raises DataError also where no model takes what the file holds.
    """
    guess = inspect_file(path, hints)
    # what the reader of the table refuses or remarks is said now, not when the config is run
    config = _load(starting_config(path, guess, folder))
    samples = config.data.read(folder, continuous=guess.continuous)  # type: ignore[union-attr]
    if guess.family != "sequences":
        groups, leaks = suspects(samples[0])
        if hasattr(config.data, "ignore"):
            columns = [name for name in leaks if "=" not in name]  # not a word of one
            guess = replace(guess, leaks=columns)
        if groups and hasattr(config.data, "sample_groups") and "orientation" not in guess.data:
            guess = with_sample_groups(guess, groups[0], samples[0])
            config = _load(starting_config(path, guess, folder))
            samples = config.data.read(folder, continuous=guess.continuous)  # type: ignore[union-attr]
    form, reason = likely_transform(samples[0]) if guess.real else ("", "")
    if form:
        note = f"Features are transformed (data.transform: {form}), because values are {reason}"
        data = guess.data | {"transform": (form, reason)}
        guess = replace(guess, data=data, notes=[*guess.notes, note])
    text = starting_config(path, guess, folder)
    notes = [*guess.notes, *_left_out(guess), *(note for table in samples for note in table.notes)]
    notes += _class_sizes(guess, samples[0].classes, samples[0].response)
    return text, _load(text).check_tables(samples), notes


def _load(text: str) -> Config:
    """Return a config that is no file."""
    with tempfile.TemporaryDirectory() as folder_of_draft:
        draft = Path(folder_of_draft) / "config.yaml"
        draft.write_text(text, encoding="utf-8")
        return load_config(draft)


def check(path: Path) -> tuple[Checks, list[str]]:
    """Return the checks of the tables of a config, and notes on how the tables were read."""
    config = load_config(path)
    data = config.data
    if data is None or data.drawn or not data.apart:
        raise UserError(f"{shown(path)}: no table to check. Fix: choose a config with a table")
    with config.wrong_data():
        tables = data.read(path.parent, continuous=config.continuous)
    return config.check_tables(tables), [note for table in tables for note in table.notes]


def with_sample_groups(guess: FileGuess, name: str, table: Any) -> FileGuess:
    """Return the guess about a file where samples of one group stay together.

    The guess is unchanged if a class has only one group, which cannot both train and be tested.
    """
    if name in table.aside:
        groups = np.array(table.aside[name])
    else:  # of a column of numbers
        groups = table.inputs[:, table.columns.index(name)].astype(str)
    codes = np.zeros(len(groups)) if guess.continuous else table.response
    smallest = min(len({*groups[codes == k]} - {"", "nan"}) for k in set(codes.tolist()))
    if smallest < 2:
        return guess
    data, ignored = dict(guess.data), dict(guess.data.get("ignore", ([], ""))[0])
    if ignored.pop(name, None) and not ignored:
        del data["ignore"]
    elif ignored:
        data["ignore"] = (list(ignored.items()), "")
    description = f"{len({*groups} - {'', 'nan'}):,} groups of samples, such as patients"
    data["sample_groups"] = (name, f"{description}; each stays in one fold")
    note = f"Groups: {quoted(name)}, {description}; each stays in one fold (data.sample_groups)"
    width = max(1, guess.width - len({*table.encoder.features_of(name)} & {*table.columns}))
    notes = [*guess.notes, note]
    return replace(guess, data=data, notes=notes, smallest=smallest, width=width)


def _left_out(guess: FileGuess) -> list[str]:
    """Return a line for the columns that are ignored for each reason."""
    lines = []
    for reason, names in _by_reason(guess.data.get("ignore", ([], ""))[0]).items():
        columns = list_some([quoted(name, 30) for name in names], MOST_NAMED)
        lines.append(f"Ignored: {columns} ({reason})")
    return lines


def _class_sizes(guess: FileGuess, names: Sequence[str], y: np.ndarray) -> list[str]:
    """Report a rare class, and what few samples, or groups of samples, rule out."""
    if guess.continuous:
        return []
    counts = np.bincount(y, minlength=len(names))
    rarest, n_rarest = quoted(names[int(counts.argmin())], 30), int(counts.min())
    notes = []
    if n_rarest < LEAST_SHARE * len(y):
        notes.append(
            f"Class {rarest} is rare: {n_rarest:,} of {len(y):,} samples. Use the log loss and the "
            "AUC, because always predicting the other classes makes few errors"
        )
    elif n_rarest < LEAST_OF_CLASS:
        notes.append(f"Class {rarest} has only {n_rarest} samples; its error rates are uncertain")
    if guess.family != "sequences" and guess.smallest < defaults.LEAST_CHOSEN:
        unit = "groups of samples" if "sample_groups" in guess.data else "samples"
        without = [f"{max(2, guess.smallest)} folds"]
        if guess.family == "table":
            without.append("no nested cross-validation")
            untempered = guess.real and guess.smallest < LEAST_TEMPERED
            without += ["no temperatures"] if untempered else []
        few = f"Class {rarest} has only {guess.smallest} {unit}"
        notes.append(f"{few}, which allows {', '.join(without)}")
    return notes


def inspect_file(path: Path, hints: Hints) -> FileGuess:
    """Return what a file holds."""
    suffix, file_name, response = path.suffix.lower(), shown(path), hints.response
    reading.opened(path).close()
    others = {end: resolve_name(f) for kind in all_candidates() for end, f in kind.files.items()}
    fasta, of_text = sequences.is_fasta(path), bool(hints.numbers or hints.missing)
    if of_text and (suffix in (*others, ".h5ad") or fasta):
        keys = "--missing, --decimal and --thousands are for text tables and Parquet"
        raise DataError(f"{file_name}: {keys}. Fix: remove them")
    if suffix in others:
        return others[suffix](path, response)
    if suffix in (".parquet", ".h5ad"):
        return _inspect_table(path, hints)
    kinds = ", ".join((*tables.KINDS, *sequences.FASTA[:2]))
    if suffix in tables.SPREADSHEETS:
        raise DataError(
            f"{file_name}: an Excel file. Fix: save it as .csv (in Excel: Save As, CSV UTF-8)"
        )
    if not (reading.text_suffix(path) or fasta):
        raise DataError(
            f"{file_name}: cannot read {shorten(suffix) or 'a file without a suffix'}. Fix: use "
            f"{kinds}; text also packed as .gz"
        )
    if response is None and not of_text and (fasta or _holds_states(path)):
        return _inspect_sequences(path)
    return _inspect_table(path, hints)


# ---- what a column seems to be ----


class ColumnGuess:
    """What a column seems to be.

    n_values, n_present : how many distinct values there are, and rows with one.
    kind : empty, constant, date, truth, whole, real or text.
    """

    def __init__(self, column: Column):
        self.column, self.name, self.n_samples = column, column.name, len(column)
        self._distinct, numbers = np.empty(0), dict[str, int]()
        if column.texts is None:
            known = column.values[~column.missing]
            self._distinct = np.unique(known)
            self.n_values, self.n_present = len(self._distinct), len(known)
        else:
            self.n_values, self.n_present = len(self.counts), self.counts.total()
            numbers = {text: n for text, n in column.counts.items() if NUMBER.fullmatch(text)}
        # all are numbers, whatever the kind
        self.of_numbers = len(numbers) == len(column.counts)
        self.kind = kind = self._kind(numbers)
        self.numeric = kind in ("truth", "whole", "real")  # numbers or truth values
        self.words = categories(column.counts) if kind == "text" and not numbers else []
        whole = self.numeric and (kind == "truth" or self.of_numbers)  # no words among numbers
        # text, of which most cells have words of their own
        self.wordy = kind == "text" and self.n_values > max(FEW_VALUES, self.n_present // 2)
        n_words = sum(len(text.split()) for text in column.counts)
        self.prose = self.wordy and n_words >= PROSE * self.n_values
        # few values, as a discrete feature has
        few = self.n_values <= min(FEW_VALUES, max(2, self.n_present // 2))
        self.coarse = kind == "whole" and whole and few
        if kind in ("text", "truth"):
            self.coarse = not self.wordy
        self.measured = self.numeric and not self.coarse and self.n_values > 2  # no codes
        few_classes = 2 <= self.n_values <= min(MOST_CLASSES, max(2, self.n_present // 3))
        self.class_like = few_classes and kind != "real" and (whole or kind == "text")
        unique = self.n_values == self.n_samples > 2  # each sample has a value of its own
        is_id = not {*_last_words(self.name)}.isdisjoint(IDS)
        nameless = bool(reading.NAMELESS.fullmatch(self.name)) or self.name == reading.ROW_NAMES
        self.counter = (  # it numbers the samples
            unique
            and (self.name in reading.COUNTERS or nameless or is_id)
            and column.values[0] in (0, 1)
            and bool((np.diff(column.values) == 1).all())
        )
        self.names_samples = (  # as texts that all differ do, or numbers in a column called so
            unique
            and not self.prose
            and (kind == "text" or (nameless and kind != "date") or (kind == "whole" and is_id))
            and all(len(text) <= LONGEST_ID and text.isprintable() for text in column.counts)
        )

    @cached_property
    def counts(self) -> Counter[str]:
        """In how many rows each value is, as text, without missing ones."""
        places, symbols = self.column.factorise()
        times = np.bincount(places[places >= 0], minlength=len(symbols)).tolist()
        return Counter(dict(zip(symbols, times, strict=True)))

    def _kind(self, numbers: dict[str, int]) -> str:
        """Return the kind; of texts, `numbers` says which of them are numbers, and how often."""
        counts, distinct = self.column.counts, self._distinct
        if not self.n_values:
            return "empty"
        if counts and all(WHEN.fullmatch(text) for text in counts):
            return "date"
        if self.n_values == 1:
            return "constant"
        texts = counts if self.column.texts is not None else map("{:.12g}".format, distinct)
        if self.n_values > 2 and all(DAY.fullmatch(text) for text in texts):
            return "date"
        if self.column.is_truth:
            return "truth"
        if self.column.texts is None:
            whole = np.isfinite(distinct).all() and (distinct == np.floor(distinct)).all()
            return "whole" if whole else "real"
        n_numbers = sum(numbers.values())
        if n_numbers < self.n_present and 2 * n_numbers <= self.n_present:
            return "text"
        # a few words among numbers are mistakes, which the reader of the table will name
        whole = all(REAL.fullmatch(text) and float(text).is_integer() for text in numbers)
        return "whole" if whole else "real"

    @property
    def left_out(self) -> str:
        """Why it is no feature; empty if it is one."""
        if self.kind == "constant":
            return f"{quoted(next(iter(self.counts)), 30)} in all samples"
        if self.kind in ("empty", "date"):
            return "dates" if self.kind == "date" else "empty"
        if self.counter:
            return "sample numbers"
        if self.names_samples or reading.NAMELESS.fullmatch(self.name):
            return "sample IDs"
        if self.prose:
            return "free text; for word counts, see scikit-learn's CountVectorizer (Python)"
        return "a different text in most samples" if self.wordy else ""

    @property
    def value_counts(self) -> str:
        """Its values, with how many samples have each; the range of many numbers."""
        if self.numeric and self.n_values > MOST_CLASSES:
            values = self.column.values
            return f"{np.nanmin(values):.4g} to {np.nanmax(values):.4g}"
        return list_some([f"{value} ({n:,})" for value, n in self.counts.most_common()], 4)


def _last_words(name: str) -> tuple[str, str]:
    """Return a name and its last word, both in small letters without signs."""
    words = [word.casefold() for word in WORD_START.split(name) if word]
    return "".join(words), words[-1] if words else ""


# ---- the response ----


def find_response(
    columns: list[ColumnGuess], column_name: str | None, file_name: str
) -> tuple[ColumnGuess, str]:
    """Return the column of the response, and why it is this one."""
    if column_name is not None:
        reading.check_column(column_name, [column.name for column in columns], file_name)
        return next(column for column in columns if column.name == column_name), "given"
    by_name = {_last_words(column.name): column for column in reversed(columns)}
    for whole_name, names in ((True, RESPONSES), (False, RESPONSES[1:])):
        for name, (words, column) in product(names, by_name.items()):
            fits = column.kind != "empty" if whole_name else column.class_like
            if name == words[not whole_name] and fits:
                return column, "by its name"
    candidates = (column for column in columns if not (column.names_samples or column.counter))
    free = [column for column in candidates if column.kind not in ("empty", "constant", "date")]
    if not free:
        raise DataError(f"{file_name}: no column looks like a response. Fix: use --response COLUMN")
    few_valued = [column for column in free if column.class_like]
    pairs = [column for column in few_valued if column.kind == "text" and len(column.counts) == 2]
    last = free[-1]
    if last is columns[-1] and last.class_like and (last.kind != "whole" or not pairs):
        return last, "the last column"
    if pairs:
        return pairs[0], "the first column of two words"
    return last, "the last column"


def find_positive(response: ColumnGuess) -> tuple[object, str]:
    """Return the value that is class 1, and why; None where the values are 0 and 1."""
    values = list(response.counts)
    if response.kind == "truth":
        return None, "Positive class: true"
    if response.numeric and response.of_numbers:
        numbers = sorted({float(value) for value in values})
        if numbers == [0, 1]:
            return None, "Positive class: 1"
        largest = numbers[-1]
        return (int(largest) if largest.is_integer() else largest), "the larger value"
    casefolded = {value: value.casefold() for value in values}
    for pair in INITIALS:
        if sorted(casefolded.values()) == sorted(pair):
            return next(value for value in values if casefolded[value] == pair[0]), "by its name"
    sure = [value for value in values if casefolded[value] in POSITIVE]
    negative = [value for value in values if casefolded[value] in NEGATIVE]
    if len(sure) == 1:
        return sure[0], "by its name"
    if len(negative) == 1:
        (positive,) = set(values) - set(negative)
        return positive, f"because {negative[0]} is negative"
    rarest = min(sorted(values, reverse=True), key=response.counts.__getitem__)
    equal = len(set(response.counts.values())) == 1
    reason = "alphabetically last" if equal else "the rarer class"
    return rarest, f"{reason}; change `positive` if wrong"


def _classes(response: ColumnGuess, file_name: str) -> tuple[Keys, str]:
    """Return the key that names class 1, if one is needed, and what to say about the classes.

    Raises DataError for a class of more than two that has one sample, which no model can test.
    """
    if response.n_values > 2:
        rare = [value for value, samples in response.counts.items() if samples == 1]
        if rare:
            raise DataError(
                f"{file_name}: the response {quoted(response.name)} is {list_some(rare)} in only "
                "one sample. Fix: add samples or drop the class; each needs two"
            )
        return {}, ""
    value, reason = find_positive(response)
    if value is None:
        return {}, reason
    return {"positive": (value, reason)}, f"Positive class: {value} ({reason})"


# ---- tables: text between delimiters, Parquet and AnnData ----


@dataclass(frozen=True)
class _Opened:
    """A table, and what was found out about its form.

    frame : features, and other columns but for those of `labels`.
    labels : columns of which the response is one: `obs` of AnnData; else the frame.
    form : keys of `data` that say how it is read.
    missing : texts that stand for a missing value.
    marked : whether rows or other parts of the file say what is a feature, so that all are numbers.
    """

    frame: Frame
    labels: Frame
    form: Keys
    notes: list[str]
    missing: tuple[str, ...] = ()
    marked: bool = False


def _open(path: Path, hints: Hints) -> _Opened:
    suffix = path.suffix.lower()
    if suffix == ".h5ad":
        features, obs, _ = reading.read_h5ad(path)
        if not obs.columns:
            raise DataError(f"{obs.where} has no columns; the response must be one of them")
        return _Opened(features, obs, {}, [], marked=True)
    if suffix == ".parquet":
        frame, _ = reading.read_parquet(path, Wanted(None, missing=hints.missing))
        return _Opened(frame, frame, hints.numbers, [], hints.missing)
    return _open_text(path, hints)


def _open_text(path: Path, hints: Hints) -> _Opened:
    table, form, notes = reading.open_table(path, check_names=False), hints.numbers, list[str]()
    plink = ["-9"] if [name.strip() for name in table.names[: len(RAW)]] == RAW else []
    missing = tuple(dict.fromkeys([*hints.missing, *plink]))
    wanted = Wanted(None, missing=missing)
    if not form:
        frame = reading.frame_of_text(table, wanted)
        form, notes = _marks(table, frame)
    if form:
        wanted = replace(wanted, **{key: value for key, (value, _) in form.items()})
        frame = reading.frame_of_text(table, wanted)
    if table.row_names or _names_columns(table.first, frame, wanted):
        names = reading.name_columns(frame.names, shown(path))
        if names != frame.names:
            frame = frame.renamed(names)
    else:
        form["header"] = (False, "the first line is a sample")
        notes.append("The first line is a sample; columns are named x1, x2, ...")
        frame = reading.frame_of_text(reading.open_table(path, header=False), wanted)
        return _Opened(frame, frame, form, notes, missing)
    turned = _turned(path, frame, wanted, hints.response)
    if turned is None:
        return _Opened(frame, frame, form, notes, missing)
    form["orientation"] = ("genes-in-rows", TURNED)
    notes.append(f"Features are in rows ({TURNED})")
    return _Opened(turned, turned, form, notes, missing, marked=True)


def _turned(path: Path, frame: Frame, wanted: Wanted, response: str | None) -> Frame | None:
    """Return the table with a feature in each row, if that is what it has.

    It is, where a row is called as the response that is asked for, or where one row alone holds
    words, which are classes.
    """
    first, *others = frame.columns
    if response not in (None, *frame.names) and response in first.strings():
        return reading.read_turned(path, wanted)[0]
    rows = {row for column in others for row in column.words}
    if len(rows) != 1 or len(others) < 3 or len(frame) < 2 or not ColumnGuess(first).names_samples:
        return None
    turned, _ = reading.read_turned(path, wanted)
    return turned if ColumnGuess(turned.columns[rows.pop()]).class_like else None


def _marks(table: reading.TextTable, frame: Frame) -> tuple[Keys, list[str]]:
    """Return the keys that say how numbers are written, and a note where that was found."""
    commas = [text for column in frame.columns for text in column.counts if "," in text]
    example = next((text for text in commas if COMMA.fullmatch(text)), "")
    if not example or any(
        POINT.fullmatch(cell.strip()) for _, row in table.rows() for cell in row if "." in cell
    ):
        return {}, []
    keys: Keys = {"decimal": (",", f"numbers such as {example}")}
    large = next((text for text in commas if BOTH.fullmatch(text)), "")
    if large:
        keys["thousands"] = (".", f"numbers such as {large}")
    return keys, [f"Numbers have a decimal comma, such as {large or example}"]


def _names_columns(first: list[str], frame: Frame, wanted: Wanted) -> bool:
    """Whether the first line names the columns: it is no sample among others.

    It is a sample if all of it are numbers, or if there are numbers in it and its words occur in
    their columns again.
    """
    cells = reading.text_column("", first, wanted)
    words = cells.words | {j: "" for j, cell in enumerate(first) if not cell.strip()}
    if not words:
        return False
    if len(words) == len(first):
        return True
    return not all(frame.columns[j].counts[word] for j, word in words.items())


def _inspect_table(path: Path, hints: Hints) -> FileGuess:
    """Return what a table holds; raise DataError where no model here takes it."""
    file_name, response, opened = shown(path), hints.response, _open(path, hints)
    frame, form, notes = opened.frame, opened.form, opened.notes
    labels = [*map(ColumnGuess, opened.labels.columns)]
    columns = labels if opened.labels is frame else [*map(ColumnGuess, frame.columns)]
    if response is None and not opened.marked:
        _check_classes(columns, file_name)
    y, reason = find_response(labels, response, opened.labels.where)
    candidates = [column for column in columns if column is not y]
    ids = [column for column in candidates if column.names_samples or column.counter]
    ids.sort(key=lambda column: (column.counter, column.kind != "text"))  # texts before numbers
    ids = [] if opened.marked else ids[:1]
    candidates = [column for column in candidates if column not in ids]
    reasons = _reasons(candidates, all_flat=labels is columns)
    features = [column for column in candidates if not reasons[column.name]]
    _check_response(y, file_name)
    if not features:
        dropped = [f"{quoted(name)} is {reasons[name]}" for name in reasons if reasons[name]]
        raise DataError(
            f"{file_name}: no features besides the response {quoted(y.name)} ({reason}); "
            f"{'; '.join(dropped[:3])}. Fix: use --response COLUMN, or add features"
        )
    numbers = y.kind in ("whole", "real") and y.n_values > 2 and not y.class_like
    model = _choose_model(y, features, numbers, opened.marked, file_name)
    patterned = model == PATTERNS
    reasons |= {
        column.name: UNFIT[patterned]
        for column in features
        if not (column.coarse if patterned else column.kind != "text" or column.words)
    }
    features = [column for column in features if not reasons[column.name]]
    ignored = [column for column in candidates if reasons[column.name]]
    n_classes = "" if numbers else f"{y.n_values} classes: "
    notes.append(f"Response: {y.name} ({reason}; {n_classes}{y.value_counts})")
    source = ("table" if patterned else "file", ABOUT[model])
    data: Keys = {"source": source, **form, "response": (y.name, f"{reason}: {y.value_counts}")}
    if not patterned:
        keys, remark = ({}, REAL_RESPONSE) if numbers else _classes(y, file_name)
        data, notes = data | keys, [*notes, *filter(None, [remark])]
    for column in ids:
        data["id"] = (column.name, "sample IDs")
        notes.append(f"Sample IDs: column {quoted(column.name)}")
    if ignored:
        data["ignore"] = ([(column.name, reasons[column.name]) for column in ignored], "")
    if opened.missing:
        data["missing"] = ([*opened.missing], "codes of missing values")
    raw = frame.names[: len(RAW)] == RAW
    guess = FileGuess(
        "features" if patterned else "table",
        data,
        notes,
        samples=y.n_present,
        width=sum(
            1 if patterned or len(column.words) < 3 else len(column.words)
            for column in features
            if not (raw and column.name in RAW)
        ),
        values=max(column.n_values for column in features),
        smallest=y.n_present if numbers else min(y.counts.values()),
        response=y.name,
        classes=y.n_values,
        continuous=numbers,
        real=model == NORMAL,
    )
    return _with_names_of_plink(guess, frame) if raw else guess


def _reasons(columns: list[ColumnGuess], *, all_flat: bool) -> dict[str, str]:
    """Return why columns are no features, "" of those that are.

    all_flat : whether columns of one number are left out, which do no harm, unless these are many.
    """
    reasons = {column.name: column.left_out for column in columns}
    flat = [column.name for column in columns if column.kind == "constant" and column.of_numbers]
    if len(flat) > MOST_FLAT or not all_flat:
        reasons |= dict.fromkeys(flat, "")
    return reasons


def _with_names_of_plink(guess: FileGuess, frame: Frame) -> FileGuess:
    """Return what a table of plink --recode A holds: families, names and phenotypes come first."""
    data, families, names = dict(guess.data), ColumnGuess(frame["FID"]), ColumnGuess(frame["IID"])
    ignored = dict(data.pop("ignore", ([], ""))[0])
    ignored |= {name: "of PLINK, not a genotype" for name in RAW if name != guess.response}
    grouped, stay = families.n_values < len(frame), "families; each stays in one fold"
    for key, name, reason, holds in (
        ("id", "IID", "sample IDs", names.n_values == len(frame)),
        ("sample_groups", "FID", stay, grouped),
    ):
        data.pop(key, None)
        if holds and ignored.pop(name, ""):
            data[key] = (name, reason)
    data["ignore"] = ([*ignored.items()], "")
    return replace(guess, data=data)


def _check_classes(columns: list[ColumnGuess], file_name: str) -> None:
    """Raise DataError for measurements without classes, as tables with genes in rows often are."""
    first, *columns_after = columns
    measured = all(column.numeric and not column.coarse for column in columns_after)
    if first.names_samples and len(columns_after) > 2 and measured:
        raise DataError(
            f"{file_name}: no column of classes. Fix: name it with --response; if each line is a "
            "gene, write a config with data.orientation: genes-in-rows and data.labels"
        )


def _check_response(y: ColumnGuess, file_name: str) -> None:
    """Raise DataError for a response from which nothing can be learned."""
    fault = ""
    if y.wordy or y.kind == "date":
        fault = "contains dates" if y.kind == "date" else "has a different text in most samples"
    elif any(map(INFINITY.fullmatch, y.counts)):
        fault = "contains infinity"
    elif not y.counts:
        fault = "is missing in all samples"
    elif len(y.counts) == 1:
        fault = f"is {quoted(next(iter(y.counts)))} in all samples"
    elif len(y.counts) == 2 and min(y.counts.values()) == 1:
        rare = min(y.counts, key=y.counts.__getitem__)
        fault = f"is {quoted(rare)} in only one sample"
    if fault and y.column.gaps:
        gaps = [f"{quoted(text)} ({n:,})" for text, n in y.column.gaps.items()]
        fault += f", and missing in others: {list_some(gaps, 3)}"
    if fault:
        raise DataError(
            f"{file_name}: the response {quoted(y.name)} {fault}. Fix: give two samples of each "
            "class, or use --response COLUMN"
        )


def _choose_model(
    y: ColumnGuess, features: list[ColumnGuess], numbers: bool, in_rows: bool, file_name: str
) -> str:
    """Return which model suits: of patterns of discrete features, naive Bayes, or the normal one.

    Raises DataError where none takes these features with this response.

    numbers : whether responses are real numbers.
    """
    coarse = [] if in_rows else [column for column in features if column.coarse]
    classes, measured = y.n_values, any(column.measured for column in features)
    if numbers:
        return PATTERNS if coarse and not measured else NORMAL
    if classes > MOST_CLASSES:
        if coarse:
            return PATTERNS
        raise DataError(
            f"{file_name}: the response {quoted(y.name)} has {classes:,} classes "
            f"({y.value_counts}), but continuous features need at most {MOST_CLASSES}. Fix: merge "
            "classes, cut features into intervals (KBinsDiscretizer), or use another --response"
        )
    by_numbers = NORMAL if classes > 2 or measured else NAIVE
    if len(coarse) < len(features):
        return by_numbers
    if any(column.kind == "text" for column in features):
        return PATTERNS
    categorical = any(column.n_values > 2 for column in features)
    small = categorical and len(features) <= MOST_PATTERNED
    return PATTERNS if classes > 2 or small else by_numbers


# ---- sequences: lines of states, whole numbers, and FASTA ----


def _holds_states(path: Path) -> bool:
    """Whether a text file holds lines of states, and no table.

    Either each line is one word of letters, and these are few and all lines have them; or all
    columns have the same few words, also in the first line; lines may have unequal lengths.
    """
    lines = [
        line.strip()
        for line in reading.LINE_END.split(reading.utf8(path)[: reading.HEAD])[:LINES]
        if line.strip() and not line.lstrip().startswith("#")
    ]
    samples = [sequences.BETWEEN.split(line) for line in lines]
    if len(samples) < 3:
        return False
    table = path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".tab"))
    if all(len(states) == 1 for states in samples):
        words = [states[0] for states in samples]
        letters = set("".join(words[1:]))
        few_letters = len(letters) <= MOST_LETTERS and letters >= set(words[0])
        lengths = {*map(len, words)}
        return few_letters and min(lengths) >= LEAST_WORD and (len(lengths) == 1 or not table)
    states_after = {state for states in samples[1:] for state in states}
    numbers = all(re.fullmatch(r"[-+.0-9eE]+", state) for state in states_after)
    few_states = len(states_after) <= MOST_STATES and states_after >= set(samples[0])
    return few_states and (not table or (len({*map(len, samples)}) == 1 and not numbers))


def _inspect_sequences(path: Path) -> FileGuess:
    """Return what a file of sequences holds, and the lengths and numbers that these have."""
    file_name = shown(path)
    predict, predicted = "last-state", "the last state"
    keys: Keys = {"source": ("sequences", "each line is a sequence; its last state is predicted")}
    notes = ["Each line is a sequence; its last state is predicted from the states before"]
    if sequences.is_fasta(path):
        keys["source"], predicted = ("sequences", "each record is a sequence"), "the last letter"
        notes = ["No labels in the header lines; the last letter is predicted from those before"]
        labels = Counter(sequences.read_states(path).labels)
        if len(labels) == 1 and "" not in labels:
            notes[0] += f" (the last word of each header line is {quoted(next(iter(labels)), 30)})"
        if 2 <= len(labels) <= sum(labels.values()) // 2 and "" not in labels:
            counts = ", ".join(f"{label} ({n:,})" for label, n in labels.most_common(4))
            predict, predicted = "label", "the label"
            keys["predict"] = (predict, f"the last word of each header line: {counts}")
            notes = [f"Response: the last word of each header line ({counts})"]
    length = _common_length(path, predict)
    if length is not None:
        keys["history"] = (length, "the most recent states, as many as the shortest line has")
        notes.append(f"Lines have unequal lengths; the last {length:,} states are used")
    samples = sequences.read_sequences(path, predict=predict, length=length)
    classes = Counter(samples.response.tolist())
    if len(classes) < 2:
        raise DataError(
            f"{file_name}: {predicted} is {quoted(samples.classes[0])} in all samples; there is "
            "nothing to predict"
        )
    n, width = samples.histories.shape
    smallest = min(classes.values())
    return FileGuess("sequences", keys, notes, n, width, len(samples.states), smallest, predicted)


def _common_length(path: Path, predict: str) -> int | None:
    """Return how many states all histories have, None where they are of the same length."""
    states = sequences.read_states(path).states
    lengths = [len(fields) for fields in states]
    if set(lengths) == {1}:
        lengths = [len(fields[0]) for fields in states]
    if len(set(lengths)) == 1:
        return None
    return max(1, min(lengths) - (predict == "last-state"))


# ---- the config ----


def starting_config(path: Path, guess: FileGuess, folder: Path) -> str:
    """Return the YAML text of a config for a file."""
    stem = path.name.lower()
    for _ in range(2):  # table.csv.gz
        stem = stem.removesuffix(Path(stem).suffix) or stem
    name = re.sub(r"[^a-z0-9]+", "-", stem)[:60].strip("-")
    unit = "states" if guess.family == "sequences" else "features"
    title = f"Predictions of {shorten(guess.response, 40)} in {shorten(path.name, 60)}"
    try:
        relative = Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        relative = path.absolute().as_posix()
    keys: Keys = {
        "source": guess.data["source"],
        "path": (relative, "from the folder of this file"),
        **guess.data,
    }
    lines, leaks = [], [*map(yaml_value, guess.leaks)]
    for key, (value, reason) in keys.items():
        if key == "ignore":
            lines += [*_ignored(value), *(f"    # - {name}{LEAK}" for name in leaks)]
        else:
            comment = f" # {shorten(reason, 120)}" if reason else ""
            lines.append(f"  {key}: {yaml_value(value)}{comment}")
    if leaks and "ignore" not in keys:
        lines.append(f"  # ignore: [{', '.join(leaks)}]{LEAK}")
    data = "\n".join(lines)
    return f"""\
# Written by `thesiskit init` for {shorten(path.name)}. Guesses are marked in comments; edit them
# if wrong. Run: thesiskit run THIS-FILE (first look: add --quick)
experiment: {f"my-{name}" if name else "my-table"} # name of the results folder
title: {yaml_value(title)}
about: {yaml_value(f"{guess.samples:,} samples with {guess.width:,} {unit} each.")}
data:
{data}
{_selection(guess) if guess.family == "table" else _patterns(guess)}"""


def _ignored(columns: list[tuple[str, str]]) -> list[str]:
    """Return the list of columns to leave out, with reasons."""
    lines = ["  ignore:"]
    if len(columns) <= LISTED:
        entries = (f"    - {yaml_value(name)} # {shorten(reason, 80)}" for name, reason in columns)
        return [*lines, *entries]
    for reason, names in _by_reason(columns).items():
        lines += [f"    # {shorten(reason, 80)}", *(f"    - {yaml_value(name)}" for name in names)]
    return lines


def _by_reason(columns: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names of columns that are left out, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in columns:
        heading = "the same in all samples" if "in all samples" in reason else reason
        reasons.setdefault(heading, []).append(name)
    return reasons


def _selection(guess: FileGuess) -> str:
    """Return the blocks of a selection of features."""
    sizes: list[int | str] = [k for k in SIZES if k < guess.width]
    if not sizes and guess.width > 1:
        sizes = [max(1, guess.width // 2)]
    if guess.width <= MANY_FEATURES:
        sizes.append("all")
    parts = [part for part in PARTS["table"] if sizes != ["all"] or part != SELECTED]
    choose = ""
    if guess.smallest >= defaults.LEAST_CHOSEN:
        choose = "\n  choose: true # nested cross-validation"
    measure, kind, rival, third_party = "correlation with the response", "", "ridge", "l2-logistic"
    if guess.real:
        rival, temperature = "models of all features", "[none] # residual needs more samples"
        if guess.smallest >= LEAST_TEMPERED:
            temperature = "[residual] # temperature scaling for correlated features"
        if guess.continuous:
            assumed = "around a line in the response\n  response: gaussian # a real number"
            third_party = "ridge, lasso, pls, pool"
        else:
            assumed, measure = "within each class", "the F statistic"
            third_party = "l2-logistic, pool"
        kind = f"""
  kind: normal # features are normally distributed {assumed}
  temperature: {temperature}"""
    return f"""\
{folds_block(guess, MOST_FOLDS)}{choose}
selection:
  features: {yaml_value(sizes)} # numbers of features to select, by {measure}
model:{kind}
  methods: # corrected for the selection, uncorrected, and {rival}
    [corrected, uncorrected, {third_party}]
  relevant: [some] # the share of relevant features is estimated
report:
  parts: {yaml_value(parts)}
"""


def _patterns(guess: FileGuess) -> str:
    """Return the blocks of a logistic model of sequences, or of discrete features."""
    width, values = guess.width, guess.width * guess.values
    candidates = candidates_of(guess.family)
    if candidates is not None and (draft := candidates.load("draft")(guess)):
        return draft
    of_sequences = guess.family == "sequences"
    wide = values > WIDE and not of_sequences
    folds = folds_block(guess, MOST_FOLDS // 2 if wide or of_sequences else MOST_FOLDS) + "\n"
    orders = [1, 2] if width > 1 and values**2 / 2 <= PAIRS else [1]
    meaning, peer, parts = "features in a pattern", "logistic-regression", "classes"
    response = ""
    if of_sequences:
        orders, parts = sorted({min(2, width), min(5, width)}), "sequences"
        meaning = "last states in a pattern"
        if guess.samples >= MANY_SEQUENCES:
            response = "\n  engine: [chains, mixing] # compared by log loss; mixing has all orders"
    elif guess.continuous:
        peer, parts = "ridge", "numbers"
        response = "\n  response: gaussian # continuous, with normal noise"
    else:
        folds += "  # choose: true # nested cross-validation; takes four times as long\n"
    most = defaults.UNTIL_FEWER_ITERATIONS if wide else defaults.UNTIL_ITERATIONS
    until = f"rhat: {defaults.UNTIL_RHAT:g}, ess: {defaults.UNTIL_ESS:g}"
    return f"""\
{folds}model:
  kind: logistic{response}
  orders: {yaml_value(orders)} # largest number of {meaning}
  chains: {defaults.UNTIL_CHAINS}
  until: {{ {until} }} # chains stop when they have converged
  iterations: {most} # limit; raise it to continue stored chains
  peers: [{peer}] # third-party methods
report:
  parts: {yaml_value(PARTS[parts])}
smoke: # settings of `thesiskit run --smoke`, a demo with few iterations
  model.iterations: 200
  evaluation.folds: 2
"""


def folds_block(guess: FileGuess, most: int) -> str:
    """Return the block `evaluation` with at most so many folds."""
    return f"evaluation:\n  folds: {max(2, min(most, guess.smallest))} # of cross-validation"


def yaml_value(value: Any) -> str:
    """Return a value as YAML that reads as the same value."""
    if isinstance(value, list):
        return f"[{', '.join(map(yaml_value, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    if PLAIN.fullmatch(value) and value.lower() not in RESERVED:
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())
