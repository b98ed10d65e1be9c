"""Tables of the page of `thesiskit verify`, each from the rows."""

from collections import Counter
from typing import Any

import pandas as pd

from thesiskit.report.finished import Finished
from thesiskit.report.layout import Table
from thesiskit.report.selection.tables import variant_words
from thesiskit.report.verification import rows as verdicts
from thesiskit.report.verification.compare import SECTIONS, reason
from thesiskit.report.verification.rows import Row, Spread
from thesiskit.report.verification.selections import COLUMNS, WORDS

SHORT = {
    "naive_simulation": "naive Bayes",
    "colon": "gene expression",
    "mixture_simulation": "mixture",
    "logistic_sampling": "chapter 3, sampling",
    "hmm": "hidden Markov",
    "text": "text",
    "parameter_reduction": "reduction",
    "cauchy_classification": "Cauchy data",
}
MANY = 12  # rows of a table that need not be seen at once
NAMED = (verdicts.OUTSIDE, verdicts.DIFFERS, verdicts.BEYOND)


def overview(found: list[Row]) -> Table:
    """Return how many numbers of each section have which verdict."""
    rows = []
    for name, title in SECTIONS.items():
        mine = [row for row in found if row.experiment == name]
        count = Counter(row.verdict for row in mine)
        words = (verdicts.PRINTED, verdicts.INSIDE, *NAMED, verdicts.NOT_COMPARABLE)
        if mine:
            rows.append(
                {"section": title, "numbers": len(mine)} | {word: count[word] for word in words}
            )
    caption = (
        "'As printed' counts settings that are equal to those of the thesis, and numbers that "
        "follow from them. 'Not comparable' counts seconds, and figures without printed values."
    )
    return Table("overview", "Overview", pd.DataFrame(rows), caption)


def named(found: list[Row]) -> list[Table]:
    """Return the tables of numbers that differ here; those without a known reason come first."""
    titles = {
        verdicts.OUTSIDE: ("outside", "Outside 99 %"),
        verdicts.BEYOND: ("beyond", "Beyond all replicates, which are too few for 99 %"),
        verdicts.DIFFERS: ("differs", "Different here"),
    }
    tables = []
    for verdict, (name, title) in titles.items():
        mine = sorted((row for row in found if row.verdict == verdict),
                      key=lambda row: row.reason != verdicts.UNKNOWN)  # fmt: skip
        if mine:
            cells = [_about_number(row) | {"reason": row.reason} for row in mine]
            tables.append(Table(name, title, _without_empty(cells), "", long=len(cells) > MANY))
    return tables


def _about_number(row: Row) -> dict[str, Any]:
    """Return the cells of a row on the page."""
    return {"section": SHORT[row.experiment], "number": row.what, **_cells(row)}


def _cells(row: Row) -> dict[str, Any]:
    one = row.spread
    if row.kind == "statement" or one is None:
        here: Any = _text(row.here)
        one = None
    else:
        here = one.mean
    return {
        "thesis": _text(row.thesis),
        "here": here,
        "sd": one.sd if one else None,
        "0.5 %": one.low if one else None,
        "99.5 %": one.high if one else None,
        "percentile": _percentile(one) if one else "",
        "replicates": row.spread.replicates if row.spread else "",
    }


def _text(value: Any) -> Any:
    """Return lists as text; numbers stay."""
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _percentile(one: Spread) -> str:
    return f"{one.percentile:.1f}"


def _without_empty(cells: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a frame without columns in which nothing is said."""
    made = pd.DataFrame(cells, dtype=object)  # whole numbers stay whole
    empty = [name for name in made if all(value in ("", None) or value != value
                                          for value in made[name])]  # fmt: skip
    return made.drop(columns=empty)


def trusted(found: list[Row]) -> list[Table]:
    """Return what becomes of calibration by the rule or sampler that we trust."""
    cells = []
    for name in SECTIONS:
        mine = [row for row in found if row.experiment == name and row.sound]
        if mine:
            ways = {
                mine[0].way: [(row.key, row.spread) for row in mine],
                mine[0].sound_way: [(row.key, row.sound) for row in mine],
            }
            for way, placed in ways.items():
                count = Counter(one.verdict for _, one in placed if one)
                outside = [key for key, one in placed if one and one.verdict == verdicts.OUTSIDE]
                cells.append(
                    {"section": SHORT[name], "by": variant_words(way), "numbers": len(mine)}
                    | {word: count[word] for word in (verdicts.INSIDE, *NAMED[::2])}
                    | {"reason": "; ".join({reason(key, way): "" for key in outside})}
                )
    if not cells:
        return []
    caption = (
        "Calibration by the rule or the sampler that gave the thesis's numbers, and by the one "
        "that we trust."
    )
    return [Table("ways", "By another rule or sampler", pd.DataFrame(cells), caption)]


def by_section(found: list[Row]) -> list[Table]:
    """Return the tables of every section: its numbers, and of a calibration table the cells."""
    tables = []
    for name, title in SECTIONS.items():
        mine = [row for row in found if row.experiment == name]
        single = [row for row in mine if row.kind in ("replicated", "statement")]
        cells = [row for row in mine if row.kind == "calibration"]
        if single:
            lines = [{"number": row.what} | _cells(row) | {"": row.verdict} for row in single]
            tables.append(Table(name, title, _without_empty(lines), ""))
        if cells:
            tables += _calibration(name, title, cells)
    return tables


def settings(found: list[Row]) -> list[Table]:
    """Return the settings, and what follows from them."""
    cells = [
        {"section": SHORT[row.experiment], "number": row.what, "thesis": _text(row.thesis),
         "here": _text(row.here), "": row.verdict}
        for row in found
        if row.kind in ("setting", "exact")
    ]  # fmt: skip
    caption = "Of our configs; and numbers that follow from them, compared to the digits printed."
    return [Table("settings", "Settings", pd.DataFrame(cells), caption, long=True)]


def _calibration(name: str, title: str, cells: list[Row]) -> list[Table]:
    """Return where the cells of a calibration table lie, and all there is to say of them."""
    places: dict[tuple, dict[str, Any]] = {}
    for row in cells:
        *_, label, method, category, column = row.key.split(".")
        line = places.setdefault(
            (list(COLUMNS).index(column), label, method),
            {"percentile of": WORDS[column], "features": label, "method": method}
            | {str(c): "" for c in range(10)},
        )
        if row.spread:
            mark = {verdicts.OUTSIDE: " ✗", verdicts.BEYOND: " ✗?"}.get(row.verdict, "")
            line[category] = f"{row.spread.percentile:.0f}{mark}"
    by_column = sorted(places, key=lambda place: place[0])
    way = f" By {variant_words(cells[0].way)}." if cells[0].way else ""
    return [
        Table(
            f"{name}-calibration",
            f"{title}: calibration",
            pd.DataFrame([places[place] for place in by_column]),
            "The percentile, among the replicates, of each cell of the thesis's table: the number "
            "of cases, their mean prediction and the fraction in class 1, by the first decimal of "
            f"the prediction. ✗ marks a number outside 99 %.{way}",
        ),
        Table(
            f"{name}-cells",
            f"{title}: all cells",
            pd.DataFrame([_about_cell(row) for row in cells], dtype=object),
            "For means and fractions, only the replicates with a case in the category are used.",
            long=True,
        ),
    ]


def _about_cell(row: Row) -> dict[str, Any]:
    cells = {"number": row.what} | _cells(row) | {"": row.verdict}
    if row.sound:
        way = variant_words(row.sound_way)
        cells |= {
            f"{way}: here": row.sound.mean,
            f"{way}: percentile": _percentile(row.sound),
            f"{way}: ": row.sound.verdict,
        }
    return cells


def seconds(found: list[Row]) -> list[Table]:
    """Return the thesis's seconds beside ours."""
    cells = [
        {"section": SHORT[row.experiment], "number": row.what, "thesis": row.thesis,
         "here": row.here if row.here != "" else None}
        for row in found
        if row.kind == "seconds"
    ]  # fmt: skip
    caption = (
        "Seconds get no verdict. The thesis used a 1.2 GHz UltraSPARC III for naive Bayes and a "
        "2.2 GHz Opteron, with R, for mixtures. Ours are means over replicates on the machines "
        "below."
    )
    return [Table("seconds", "Seconds", pd.DataFrame(cells), caption, long=True)] if cells else []


def lost(found: list[Row]) -> list[Table]:
    """Return the figures of which no value is printed."""
    cells = [
        {"section": SHORT[row.experiment], "figure": row.what}
        for row in found
        if row.kind == "lost"
    ]
    caption = "The pictures are lost, and the text prints none of their values."
    table = Table("lost", "Figures without numbers", pd.DataFrame(cells), caption, long=True)
    return [table] if cells else []


def held_against(sources: list[Finished]) -> Table:
    """Return a table of the results that were compared, and their machines."""
    cells = []
    for source in sources:
        record = source.results.provenance()
        cells.append(
            {
                "experiment": source.config["experiment"],
                "replicates": source.config["replicates"],
                "seed": source.config["seed"],
                "code": record.get("code", {}).get("digest", ""),
                "machine": " ".join(record.get("machine", {}).values()),
            }
        )
    return Table("sources", "The results that were compared", pd.DataFrame(cells), "")
