"""What a table of columns seems to hold: text between delimiters, and Parquet."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from thesiskit.datasets.looking.columns import (
    MOST_CLASSES,
    Column,
    about_classes,
    check_rare,
    find_ids,
    find_response,
    left_out,
    values_of,
)
from thesiskit.datasets.looking.found import ABOUT, NAIVE, NORMAL, PATTERNS, Found, Key
from thesiskit.datasets.reading.binary_files import read_frame
from thesiskit.datasets.reading.cells import read_cells
from thesiskit.datasets.reading.columns import Wanted, name_columns
from thesiskit.datasets.reading.text_files import shown
from thesiskit.errors import DataError, few, quoted

MOST_CELLS = 4_000_000  # that are looked at; of larger tables, all cases in some columns
LEAST_CASES = 200
MOST_FLAT = 500  # columns of one number that a config names, to leave them out
FOLLOWED = 50  # such columns, from either end
MOST_PATTERNED = 30  # features: of more numbers, pairs are too many
STANDARD_MISSING = ["", "NA", "?", "nan", "NaN"]  # of `source: table`
TOLD = 4  # columns that a note names
TURNED = "each line a feature, each column a case"
UNFIT = {  # why a column is left out, where the model takes discrete features, and where numbers
    True: "a real number: cut it into intervals to use it",
    False: "words: make it columns of 0 and 1 to use it",
}


@dataclass(frozen=True)
class Columns:
    """The columns of a file.

    header : whether its first line names them.
    turned : whether they stand in rows, below a line with the names of the cases.
    rows : how many cases were looked at.
    """

    found: list[Column]
    header: bool
    turned: bool
    rows: int
    notes: list[str]


@dataclass(frozen=True)
class Roles:
    """What each column is for.

    why : why y is the response; real : whether it is a number to predict.
    ignored : the columns left out, each with its reason.
    """

    y: Column
    why: str
    real: bool
    ids: Column | None
    features: list[Column]
    ignored: list[tuple[Column, str]]


def look_at_table(path: Path, response: str | None) -> Found:
    """Return what a table holds; raise DataError where no model here takes it."""
    where = shown(path)
    read = _parquet_columns if path.suffix.lower() == ".parquet" else _text_columns
    columns = read(path)
    if response is None:
        _check_classes(columns.found, where)
    roles = _assign(columns, response, where)
    _check_response(roles.y, where)
    if not roles.features:
        raise DataError(
            f"{where}: no features besides the response {quoted(roles.y.name)} ({roles.why}); "
            "choose another response with --response COLUMN, or add features"
        )
    model = _choose(roles, columns.turned, where)
    patterned = model == PATTERNS
    if model == NORMAL:
        check_rare(roles.y, where)
    unfit = [one for one in roles.features if _unfit(one, patterned)]
    roles = replace(
        roles,
        features=[one for one in roles.features if one not in unfit],
        ignored=[*roles.ignored, *((one, UNFIT[patterned]) for one in unfit)],
    )
    data, said = _keys(path, columns, roles, model)
    return Found(
        data,
        "features" if patterned else "table",
        cases=columns.rows,
        width=len(roles.features),
        values=max(len(one.counts) for one in roles.features),
        smallest=columns.rows if roles.real else min(roles.y.counts.values()),
        response=roles.y.name,
        continuous=roles.real,
        real=model == NORMAL,
        notes=[*columns.notes, *said],
    )


def _assign(columns: Columns, response: str | None, where: str) -> Roles:
    """Return what each column is for, whichever the model."""
    y, why = find_response(columns.found, response, where)
    others = [one for one in columns.found if one is not y]
    ids = None if columns.turned else find_ids(others)  # the first line names turned cases
    reasons = [(one, left_out(one)) for one in others if one is not ids]
    flat = [one for one, _ in reasons if one.kind == "constant" and one.of_numbers]
    if len(flat) > MOST_FLAT:  # they do no harm, and would fill the config
        reasons = [(one, "" if one in flat else reason) for one, reason in reasons]
    return Roles(
        y,
        why,
        y.kind in ("whole", "real") and len(y.counts) > 2 and not y.class_like,
        ids,
        [one for one, reason in reasons if not reason],
        [(one, reason) for one, reason in reasons if reason],
    )


def _keys(path: Path, columns: Columns, roles: Roles, model: str) -> tuple[list[Key], list[str]]:
    """Return the block `data`, and what is to be said about it."""
    y, ids, ignored = roles.y, roles.ids, roles.ignored
    notes = [f"the response is {quoted(y.name)}, {roles.why}: {values_of(y)}", *_told(ignored)]
    patterned = model == PATTERNS
    data = [Key("source", "table" if patterned else "file", ABOUT[model]), Key("path", str(path))]
    if not columns.header:
        data.append(Key("header", False, "the first line is a case"))
    if columns.turned:
        data.append(Key("orientation", "genes-in-rows", TURNED))
    data.append(Key("response", y.name, f"{roles.why}: {values_of(y)}"))
    if not patterned:
        value, why = about_classes(y)
        data += [] if value is None else [Key("positive", value, why)]
        notes.append(why)
    if ids:
        data.append(Key("id", ids.name, "names the cases"))
        notes.append(f"{quoted(ids.name)} names the cases")
    if ignored:
        data.append(Key("ignore", [(one.name, reason) for one, reason in ignored]))
    return data + (_missing(roles.features) if patterned else []), notes


def _check_classes(columns: list[Column], where: str) -> None:
    """Say so where a table of measurements has no classes, as one with genes in rows often has."""
    first, *others = columns
    measured = all(one.kind == "real" or (one.numeric and not one.coarse) for one in others)
    if first.names_cases and len(others) > 2 and measured:
        raise DataError(
            f"{where}: names and numbers, and no classes. If each line is a gene, write a config "
            "with data.orientation: genes-in-rows and the classes in data.labels (thesiskit docs "
            "data); else add a column of classes, or name it with --response"
        )


def _check_response(y: Column, where: str) -> None:
    """Raise DataError for a response from which nothing can be learned."""
    fault = ""
    if y.wordy or y.kind == "date":
        fault = "holds dates" if y.kind == "date" else "holds other words in most cases"
    elif not y.counts:
        fault = "is missing in all cases"
    elif len(y.counts) == 1:
        fault = f"is {quoted(next(iter(y.counts)))} in all cases"
    elif len(y.counts) == 2 and min(y.counts.values()) == 1:
        rare = min(y.counts, key=y.counts.__getitem__)
        fault = f"is {quoted(rare)} in one case only, and none is left to predict"
    if fault:
        raise DataError(
            f"{where}: the response {quoted(y.name)} {fault}; give two cases of each class at "
            "least, or name another column with --response COLUMN"
        )


# ---- which model ----


def _choose(roles: Roles, turned: bool, where: str) -> str:
    """Return which model suits: of patterns of discrete features, naive Bayes, or the normal one.

    Raises DataError where none takes these features with this response.
    """
    features, y = roles.features, roles.y
    coarse = [] if turned else [one for one in features if one.coarse]
    classes = len(y.counts)
    if roles.real or classes > MOST_CLASSES:
        if coarse:
            return PATTERNS
        held, remedy = "is a real number", "Make"
        if not roles.real:
            held = f"has {classes:,} classes ({values_of(y)})"
            remedy = f"Put classes together ({MOST_CLASSES} at most), or make"
        raise DataError(
            f"{where}: the response {quoted(y.name)} {held}, and the features are real numbers: "
            f"the normal model takes classes, other models take discrete features. {remedy} the "
            "features discrete (scikit-learn's KBinsDiscretizer), or name another --response"
        )
    by_numbers = NORMAL if classes > 2 or any(one.measured for one in features) else NAIVE
    if any(one.kind == "text" for one in features):
        return PATTERNS if 2 * len(coarse) >= len(features) else by_numbers
    if len(coarse) < len(features):
        return by_numbers
    if classes > 2:
        return PATTERNS
    several = any(len(one.counts) > 2 for one in features)
    return PATTERNS if several and len(features) <= MOST_PATTERNED else by_numbers


def _unfit(one: Column, patterned: bool) -> bool:
    """Whether a model cannot take a column."""
    return not one.coarse if patterned else one.kind == "text"


def _missing(features: list[Column]) -> list[Key]:
    """Return the key that says what stands for a missing value, where that is unusual."""
    found = {text for one in features if one.numeric for text in one.unknown}
    more = sorted(found - set(STANDARD_MISSING))
    if not more:
        return []
    return [Key("missing", [*STANDARD_MISSING, *more], "what stands for a missing value")]


def _told(ignored: list[tuple[Column, str]]) -> list[str]:
    """Say which columns are left out, those of one reason in a line."""
    reasons: dict[str, list[str]] = {}
    for one, why in ignored:
        reasons.setdefault("all cases alike" if one.kind == "constant" else why, []).append(
            quoted(one.name, 30)
        )
    return [f"left out: {few(names, TOLD)} ({why})" for why, names in reasons.items()]


# ---- reading ----


def _text_columns(path: Path) -> Columns:
    """Return the columns of a text table."""
    _, rows = read_cells(path, header=False)
    _, first = next(rows)
    most = max(LEAST_CASES, MOST_CELLS // len(first))
    cases = [[cell.strip() for cell in cells] for _, cells in islice(rows, most)]
    first = [cell.strip() for cell in first]
    header = _names_columns(first, cases)
    if header:
        names = name_columns(first, shown(path))
    else:
        names, cases = [f"x{j + 1}" for j in range(len(first))], [first, *cases]
    if not cases:
        raise DataError(f"{shown(path)}: a line of names but no cases")
    notes = []
    if not header:
        notes.append("the first line is a case, so that columns are called x1, x2, ...")
    columns = [Column(name, [row[j] for row in cases]) for j, name in enumerate(names)]
    looked_at = len(cases)
    if looked_at >= most:
        columns, number = _follow(columns, cases, rows)
        if number > looked_at:
            notes.append(f"of most columns only the first {looked_at:,} cases were looked at")
        return Columns(columns, header, False, number, notes)
    if header and _turned(columns, cases):
        notes.append(f"features are in rows ({TURNED})")
        turned = [Column(cells[0], cells[1:]) for cells in cases]
        return Columns(turned, True, True, len(names) - 1, notes)
    return Columns(columns, header, False, len(cases), notes)


def _follow(
    columns: list[Column], cases: list[list[str]], rows: Iterable[tuple[int, list[str]]]
) -> tuple[list[Column], int]:
    """Look at the other cases of a large table, in columns that could be responses or names.

    Returns all columns, and the number of cases.
    """
    places = [j for j, one in enumerate(columns) if one.kind != "real"]
    places = sorted({*places[:FOLLOWED], *places[-FOLLOWED:]})
    cells = {j: [row[j] for row in cases] for j in places}
    number = len(cases)
    for _, row in rows:
        number += 1
        for j in places:
            cells[j].append(row[j].strip())
    return [
        Column(one.name, cells[j]) if j in cells else one for j, one in enumerate(columns)
    ], number


def _turned(columns: list[Column], cases: list[list[str]]) -> bool:
    """Whether features are in rows: the first cell of each names it, and one row holds classes.

    All other cells are numbers.
    """
    if len(columns) < 4 or len(cases) < 2 or not columns[0].names_cases:
        return False
    rows = [Column(cells[0], cells[1:]) for cells in cases]
    classes = [one for one in rows if not one.numeric and one.class_like]
    numbers = [one for one in rows if one.numeric]
    return len(classes) == 1 and len(numbers) == len(rows) - 1


def _names_columns(first: list[str], cases: list[list[str]]) -> bool:
    """Whether the first line names the columns: it is no case among others.

    It is a case if all of it are numbers, or if there are numbers in it and its words occur in
    their columns again.
    """
    numbers = [cell for cell in first if Column("", [cell]).numeric or _number(cell)]
    if len(numbers) == len(first):
        return False
    if not numbers or not cases:
        return True
    words = [j for j, cell in enumerate(first) if not _number(cell)]
    return not all(any(row[j] == first[j] for row in cases) for j in words)


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet_columns(path: Path) -> Columns:
    """Return the columns of a Parquet table, as text."""
    frame, _ = read_frame(path, Wanted(None, new=True, features=[]))
    columns = []
    for name in frame.columns:
        values = frame[name].tolist()
        columns.append(Column(str(name), ["" if v is None or v != v else str(v) for v in values]))
    return Columns(columns, True, False, len(frame), [])
