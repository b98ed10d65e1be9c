"""What a table of columns seems to hold: text between delimiters, and Parquet."""

from dataclasses import dataclass
from pathlib import Path

from thesiskit.datasets.looking.columns import (
    Column,
    find_ids,
    find_positive,
    find_response,
    left_out,
    values_of,
)
from thesiskit.datasets.looking.found import Found, Key
from thesiskit.datasets.reading.binary_files import read_frame
from thesiskit.datasets.reading.cells import read_cells
from thesiskit.datasets.reading.columns import Wanted, name_columns
from thesiskit.datasets.reading.text_files import shown
from thesiskit.errors import DataError, few, quoted

MOST_CELLS = 20_000_000  # that are looked at
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


def look_at_table(path: Path, response: str | None) -> Found:
    """Return what a table holds; raise DataError where no model here takes it."""
    where = shown(path)
    read = _parquet_columns if path.suffix.lower() == ".parquet" else _text_columns
    columns = read(path)
    if response is None:
        _check_classes(columns.found, where)
    y, why = find_response(columns.found, response, where)
    notes = [*columns.notes, f"the response is {quoted(y.name)}, {why}: {values_of(y)}"]
    ids = find_ids([one for one in columns.found if one is not y])
    rest = [one for one in columns.found if one not in (y, ids)]
    reasons = [(one, left_out(one)) for one in rest]
    ignored = [(one, reason) for one, reason in reasons if reason]
    features = [one for one, reason in reasons if not reason]
    real = _is_real(y)
    if y.wordy or y.kind == "date":
        held = "dates" if y.kind == "date" else "other words in most cases"
        raise DataError(
            f"{where}: the response {quoted(y.name)} holds {held}; name a column of classes or "
            "numbers with --response COLUMN"
        )
    if min(y.counts.values(), default=0) == 1 and len(y.counts) == 2:
        rare = min(y.counts, key=y.counts.__getitem__)
        raise DataError(
            f"{where}: the response {quoted(y.name)} is {quoted(rare)} in one case only; give two "
            "cases at least, one to learn from and one to predict, or name another --response"
        )
    if len(y.counts) < 2:
        held = quoted(next(iter(y.counts))) if y.counts else "missing"
        raise DataError(
            f"{where}: the response {quoted(y.name)} is {held} in all cases; there is nothing to "
            "predict, so choose another column with --response COLUMN"
        )
    if not features:
        raise DataError(
            f"{where}: no features besides the response {quoted(y.name)} ({why}); choose another "
            "response with --response COLUMN, or add features"
        )
    patterned = _choose(features, y, real, where)
    refused = [one for one in features if one.coarse != patterned and _unfit(one, patterned)]
    ignored += [(one, UNFIT[patterned]) for one in refused]
    features = [one for one in features if one not in refused]
    notes += _told(ignored)
    if ids:
        notes.append(f"{quoted(ids.name)} names the cases")
    data = [
        Key("source", "table" if patterned else "file", _about_source(patterned)),
        Key("path", str(path)),
        *([] if columns.header else [Key("header", False, "the first line is a case")]),
        *([Key("orientation", "genes-in-rows", TURNED)] if columns.turned else []),
        Key("response", y.name, f"{why}: {values_of(y)}"),
    ]
    if not real and not patterned:
        value, chosen = find_positive(y)
        if value is not None:
            data.append(Key("positive", value, f"class 1: {chosen}"))
        said = chosen if value is None else f"class 1 is {quoted(value)}: {chosen}"
        notes.append(said)
    if ids:
        data.append(Key("id", ids.name, "names the cases"))
    if ignored:
        data.append(Key("ignore", [(one.name, why) for one, why in ignored]))
    if patterned:
        data += _missing(features)
    counts = list(y.counts.values())
    return Found(
        data,
        "features" if patterned else "table",
        cases=columns.rows,
        width=len(features),
        values=max(len(one.counts) for one in features),
        smallest=columns.rows if real else min(counts),
        response=y.name,
        continuous=real,
        notes=notes,
    )


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


# ---- which model ----


def _is_real(y: Column) -> bool:
    """Whether a response is a number to predict, not a class."""
    return y.kind in ("whole", "real") and len(y.counts) > 2 and not y.class_like


def _choose(features: list[Column], y: Column, real: bool, where: str) -> bool:
    """Return whether the model of discrete features suits, or else naive Bayes.

    Raises DataError where neither takes these features with this response.
    """
    coarse = [one for one in features if one.coarse]
    if real or len(y.counts) > 2:
        if coarse:
            return True
        held = "is a real number" if real else f"has {len(y.counts):,} classes ({values_of(y)})"
        remedy = "leave out the cases of all but two classes, or "
        raise DataError(
            f"{where}: the response {quoted(y.name)} {held}, and the features are real numbers: "
            "naive Bayes takes two classes, other models take discrete features. "
            f"{'M' if real else remedy.capitalize() + 'm'}ake the features discrete "
            "(scikit-learn's KBinsDiscretizer), or name another --response"
        )
    words = [one for one in features if one.kind == "text"]
    if words:
        return 2 * len(coarse) >= len(features)
    if len(features) > MOST_PATTERNED or len(coarse) < len(features):
        return False
    return any(len(one.counts) > 2 for one in features)


def _unfit(one: Column, patterned: bool) -> bool:
    """Whether a model cannot take a column."""
    return not one.coarse if patterned else one.kind == "text"


def _about_source(patterned: bool) -> str:
    return "discrete features" if patterned else "numbers; above or below the median counts"


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
    most = max(200, MOST_CELLS // len(first))
    cases: list[list[str]] = []
    more = False
    for _, cells in rows:
        if len(cases) == most:
            more = True
            break
        cases.append([cell.strip() for cell in cells])
    first = [cell.strip() for cell in first]
    header = _names_columns(first, cases)
    if header:
        names = name_columns(first, shown(path))
    else:
        names, cases = [f"x{j + 1}" for j in range(len(first))], [first, *cases]
    if not cases:
        raise DataError(f"{shown(path)}: a line of names but no cases")
    notes = [f"only the first {most:,} cases were looked at"] if more else []
    if not header:
        notes.append("the first line is a case, so that columns are called x1, x2, ...")
    columns = [Column(name, [row[j] for row in cases]) for j, name in enumerate(names)]
    if header and not more and _turned(columns, cases):
        notes.append(f"features are in rows ({TURNED})")
        turned = [Column(cells[0], cells[1:]) for cells in cases]
        return Columns(turned, True, True, len(names) - 1, notes)
    return Columns(columns, header, False, len(cases), notes)


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
