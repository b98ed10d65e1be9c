"""The columns of a table: their names, and which hold features, responses and names of cases."""

import difflib
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from thesiskit.errors import DataError, cut, few, quoted

LONGEST = 1000  # characters of a name or of a value
LOOKED_AT = 20_000  # names, for one that was perhaps meant
# what pandas calls a column without a name, and an index; by other names, tools write row numbers
NAMELESS = re.compile(r"Unnamed: [0-9]+|__index_level_[0-9]+__")
COUNTERS = ("index", "level_0", "row.names", "rownames", "X", "...1")
WITHOUT_NUMBERS = "write it without row numbers (pandas: index=False; R: row.names = FALSE)"


@dataclass(frozen=True)
class Wanted:
    """What is to be read of a table.

    response : the column of the response.
    ignore : columns to leave out.
    id : the column that names the cases.
    labels : another table, which has the responses by the names of the cases.
    genes_in_rows : the table is transposed: a feature in each row, a case in each column.
    new : whether the cases are new: they need no response.
    features : of new cases, the features of the training table; None: all other columns.
    header : whether the first line of a text table names the columns.
    missing : texts that stand for a missing value, besides the usual ones.
    """

    response: str | None
    ignore: tuple[str, ...] = ()
    id: str | None = None
    labels: Path | None = None
    genes_in_rows: bool = False
    new: bool = False
    features: list[str] | None = None
    header: bool = True
    missing: tuple[str, ...] = ()

    @property
    def own_response(self) -> str | None:
        """The column of the response in the table itself."""
        return self.response if self.labels is None else None


@dataclass(frozen=True)
class Columns:
    """The places of columns, and what is to be said about them."""

    features: list[int]
    response: int | None
    id: int | None
    notes: list[str] = field(default_factory=list)


def find_columns(
    names: list[str], wanted: Wanted, where: str, index: Collection[str] = ()
) -> Columns:
    """Return where the features, the response and the names of the cases are.

    index : columns that number or name the cases, as a file itself says.

    Raises
    ------
    DataError: as `choose_features` does; of new cases, features that are not there.
    """
    if wanted.new:
        return _match(names, wanted, where)
    response = wanted.own_response
    if wanted.id is not None:
        if wanted.id == response or wanted.id in wanted.ignore:
            other = "data.response" if wanted.id == response else "data.ignore"
            raise DataError(
                f"{where}: data.id and {other} are both {quoted(wanted.id)}; take it out of one"
            )
        check_column(wanted.id, names, where)
    left_out = wanted.ignore if wanted.id is None else (*wanted.ignore, wanted.id)
    features = choose_features(names, response, left_out, where, index)
    return Columns(features, _place(names, response), _place(names, wanted.id))


def _match(names: list[str], wanted: Wanted, where: str) -> Columns:
    """Return where the features of the training table are."""
    others = (*wanted.ignore, wanted.id, wanted.response)
    features = wanted.features
    if features is None:
        features = [name for name in names if name not in others]
    place = {name: j for j, name in enumerate(names)}
    missing = [name for name in features if name not in place]
    if missing:
        known = {*features, *others}
        free = [name for name in names if name not in known][:LOOKED_AT]
        by_letters = {name.casefold(): name for name in free}
        near = difflib.get_close_matches(missing[0].casefold(), by_letters, 1)
        near = [by_letters[one] for one in near]
        hint = f"; is its column {quoted(near[0])} one of these?" if near else ""
        raise DataError(
            f"{where}: it lacks {len(missing):,} of the {len(features):,} features of the "
            f"training table: {few(missing)}{hint}"
        )
    known = {*features, *others}
    extra = [name for name in names if name not in known]
    notes = []
    if wanted.response in place and wanted.response not in features:
        notes.append(f"{where}: the response {quoted(wanted.response)} of new cases is not used")
    if extra:
        columns = "1 column" if len(extra) == 1 else f"{len(extra):,} columns"
        notes.append(f"{where}: {columns} left out, which the training table has not: {few(extra)}")
    return Columns([place[name] for name in features], None, place.get(wanted.id or ""), notes)


def need_response(wanted: Wanted, where: str) -> None:
    """Raise DataError where nothing says which column is the response."""
    if wanted.response is None and not wanted.new and wanted.labels is None:
        raise DataError(f"{where}: say which column is the response with data.response")


def _place(names: list[str], name: str | None) -> int | None:
    return None if name is None else names.index(name)


def check_ids(ids: Sequence[str], name: str, where: str) -> list[str]:
    """Return the names of the cases, or say which case has none, or that of another."""
    found: dict[str, int] = {}
    for number, one in enumerate(ids, start=1):
        if not one:
            raise DataError(
                f"{where}: case {number:,} has no name in {quoted(name)} (data.id); give it one"
            )
        if one in found:
            raise DataError(
                f"{where}: cases {found[one]:,} and {number:,} are both called {quoted(one)} in "
                f"{quoted(name)} (data.id); names of cases must differ"
            )
        check_text(one, f"{where}: the name of case {number}", "rename it")
        found[one] = number
    return list(ids)


def name_columns(names: Sequence[str], where: str, what: str = "column") -> list[str]:
    """Return names of columns without spaces around them, "Unnamed: 0" where there is none.

    what : what has the names.

    Raises
    ------
    DataError: two columns of one name, or of names that look the same; a name that cannot be.
    """
    found = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(names)]
    places: dict[str, int] = {}
    for number, name in enumerate(found, start=1):
        check_text(name, f"{where}: the name of {what} {number}", "rename it")
        looks = name if name.isascii() else _looks(name)
        if looks in places:
            raise DataError(
                f"{where}: two {what}s are called {quoted(name)}; rename one of {what}s "
                f"{places[looks]} and {number}"
            )
        places[looks] = number
    return found


def check_text(text: str, what: str, remedy: str) -> None:
    """Raise DataError for a name or value that no page could show."""
    if len(text) > LONGEST:
        raise DataError(f"{what} has {len(text):,} characters; {remedy}, with {LONGEST:,} at most")
    if not text.isprintable():
        for character in text:
            if unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs"):
                raise DataError(
                    f"{what} holds the control character {character!r} ({quoted(text)}); {remedy}"
                )


def _looks(name: str) -> str:
    """Return what a name looks like: letters composed, and nothing invisible."""
    composed = unicodedata.normalize("NFC", name)
    return "".join(c for c in composed if unicodedata.category(c) != "Cf")


def choose_features(
    names: list[str],
    response: str | None,
    ignore: Collection[str],
    where: str,
    index: Collection[str] = (),
) -> list[int]:
    """Return the places of the columns that are features.

    index : columns that number or name the cases, as a file itself says.

    Raises
    ------
    DataError: a response or a column to ignore that is not there, or is named twice; no features;
        one without a name.
    """
    for number, name in enumerate(ignore):
        if name == response:
            raise DataError(
                f"{where}: data.ignore leaves out {quoted(name)}, which is data.response; take it "
                "out of one of them"
            )
        if name in list(ignore)[:number]:
            raise DataError(f"{where}: data.ignore names {quoted(name)} twice; once is enough")
    for name in ignore if response is None else (response, *ignore):
        check_column(name, names, where)
    left_out = {*ignore, response}
    places = [j for j, name in enumerate(names) if name not in left_out]
    for j in places:
        if NAMELESS.fullmatch(names[j]) or names[j] in index:
            fault = f"({quoted(names[j])}) is the table's index"
            if names[j] == f"Unnamed: {j}":
                fault = "has no name"
            raise DataError(
                f"{where}: column {j + 1} {fault}; {WITHOUT_NUMBERS}, name it, or leave it out "
                f"with data.ignore: [{quoted(names[j])}]"
            )
    if not places:
        raise DataError(f"{where}: no features besides the response {quoted(response)}")
    return places


def check_column(name: str, columns: list[str], where: str) -> None:
    """Say that there is no such column, and which was perhaps meant."""
    if name not in columns:
        near = [one for one in columns if one.lower() == name.lower()][:1]
        near = near or difflib.get_close_matches(cut(name, LONGEST), columns[:LOOKED_AT], 1)
        hint = f"did you mean {quoted(near[0])}?" if near else f"columns: {few(columns)}"
        raise DataError(f"{where}: there is no column {quoted(name)}; {hint}")


def check_counter(name: str, column: Sequence[str] | np.ndarray, where: str) -> None:
    """Raise DataError for a column that numbers the cases, by its name and its values."""
    if name not in COUNTERS or len(column) < 3:
        return
    try:
        values = np.asarray(column, dtype=float)
    except ValueError:
        return
    if values[0] in (0, 1) and (np.diff(values) == 1).all():
        raise DataError(
            f"{where}: column {name!r} numbers the cases; {WITHOUT_NUMBERS}, or leave it out with "
            f"data.ignore: [{name!r}]"
        )
