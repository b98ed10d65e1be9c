"""Write the report of an experiment: tables, figures, numbers.tex, timings.csv and one page."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from thesiskit.errors import ResultsError
from thesiskit.files import Results, is_our_index, write_text
from thesiskit.report.crate import NAME as CRATE
from thesiskit.report.crate import crate_text
from thesiskit.report.exhibits import exhibits_found
from thesiskit.report.layout import Figure, Page, Table, explain, template
from thesiskit.report.macros import macros
from thesiskit.report.outputs import Outputs, csv_text, display, files_of, write_part
from thesiskit.report.parts import PARTS, wanted_parts
from thesiskit.report.record import Record
from thesiskit.report.stages import notes, warnings
from thesiskit.report.svg import drawing

OURS = ("first division", "fit and predict")  # beside a column that is called "thesis"
CLASSES = "probability: "  # before the name of a class, which is no term
NUMBER = re.compile(r"(< )?-?[0-9,]+(\.[0-9]+)?(e-?[0-9]+)?")  # text that reads as a number


def write_report(record: Record, key: str, *, watch: Callable) -> None:
    """Make every part that the config asks for, and the page; record the key of the results."""
    made: dict[str, list] = {}
    wanted = wanted_parts(record.config)
    for name in watch(wanted, len(wanted), "report"):
        made[name] = PARTS[name].make(record)
    parts = [part for several in made.values() for part in several]
    timings = record.timings()
    names = [name for part in parts for name in files_of(part)]
    names += ["report.html", "numbers.tex", CRATE, *["timings.csv"] * bool(timings)]
    outputs = Outputs(record.results, names)
    for part in parts:
        write_part(outputs, part)
    if timings:
        outputs.write("timings.csv", csv_text(pd.DataFrame(timings)))
    tables = [part for part in parts if isinstance(part, Table)]
    outputs.write("numbers.tex", macros(record.config["experiment"], tables))
    outputs.write("report.html", render(record, made))
    outputs.write(CRATE, crate_text(record.results, outputs.written))
    outputs.finish(key)


def write_index(root: Path) -> Path:
    """Write root/index.html, which links the reports below root; return its path.

    Below the links it lists the tables and figures of the thesis, each with its remake and the
    verdict of `thesiskit verify` on its numbers.
    """
    entries = []
    for page in sorted(Path(root).glob("*/report.html")):
        config = Results(root, page.parent.name).provenance().get("config")
        if config:
            entries.append({"link": f"{page.parent.name}/report.html", "config": config})
    index = Path(root) / "index.html"
    if not is_our_index(index):
        raise ResultsError(f"{index}: thesiskit did not make it, and does not write over it")
    verified = Path(root) / "verify" / "verify.html"
    text = template("index.html.j2").render(
        entries=entries,
        shown=exhibits_found(Path(root)),
        verified="verify/verify.html" if verified.exists() else "",
    )
    write_text(index, text)
    return index


def render(record: Record, made: dict[str, list]) -> str:
    """Return the page as HTML that needs no other file.

    made : tables and figures by part; the files of figures are written, and so they are laid out.
    """
    items = []
    for part, several in made.items():
        found = [_item(one) for one in several]
        if found:  # links lead to the first of a part
            found[0]["anchor"] = f"part-{part}"
        items += found
    taken: set[str] = set()
    for item in items:  # a figure can have the name of a table
        item["name"] += "-figure" * (item["name"] in taken)
        taken.add(item["name"])
    explain_once(items)
    return template("page.html.j2").render(
        config=record.config,
        items=items,
        warnings=warnings(record),
        notes=[] if "data-card" in made else notes(record),  # it tells them
        provenance=record.results.provenance(),
        figures={item["name"]: item["values"] for item in items if "values" in item},
    )


def _item(part: Table | Figure | Page) -> dict[str, Any]:
    """Return what the templates need to show a part."""
    if isinstance(part, Page):
        return {"name": part.name, "title": part.title, "page": part.file, "caption": part.caption}
    if isinstance(part, Table):
        return table_item(part)
    svg, values = drawing(part.canvas, part.name)
    return {
        "name": part.name, "title": part.title, "caption": part.caption,
        "file": files_of(part)[-1], "svg": svg, "values": values,
    }  # fmt: skip


def table_item(table: Table) -> dict[str, Any]:
    """Return what the templates need to show a table."""
    names = [str(name) for name in table.frame.columns]
    groups, short = header(names)
    rows = display(table.visible)
    return {
        "name": table.name,
        "title": table.title,
        "caption": table.whole_caption,
        "lead": table.lead,
        "quiet": table.quiet,
        "rows": rows,
        "blocks": 12 < len(rows) >= 2 * len({row[0] for row in rows}),  # of equal first cells
        "columns": names,
        "groups": groups,
        "short": short,
        "long": table.long,
        "meanings": ["" if name.startswith(CLASSES) else explain(name) for name in names],
        "file": files_of(table)[0],
        "words": [_is_text(table.frame[c]) for c in table.frame],
        "beside": beside(names),
    }


def beside(names: list[str]) -> list[int | None]:
    """Return, for each column with the thesis's numbers, the place of the column with ours."""
    found: list[int | None] = []
    for name in names:
        ours = [name.replace(", thesis", "")] if ", thesis" in name else []
        if re.fullmatch("(the )?thesis", name.rpartition(": ")[2]):
            ours = [name.replace("the thesis", "here").replace("thesis", "here"), *OURS]
        found.append(next((names.index(one) for one in ours if one in names), None))
    return found


def explain_once(items: list[dict[str, Any]]) -> None:
    """Give each table the terms of its header that no table above it has, with what they mean."""
    told: set[str] = set()
    for item in items:
        said = " ".join((item["caption"], *item.get("lead", ())))
        found = {}
        terms = [*zip(item.get("short", ()), item.get("meanings", ()), strict=True)]
        for name, meaning in terms + [(one, explain(one)) for one, _ in item.get("groups", ())]:
            if meaning and meaning not in told:
                told.add(meaning)
                if not any(f"{name}{words} the " in said for words in (",", " is")):
                    found[name] = meaning
        item["terms"] = list(found.items())


def header(names: list[str]) -> tuple[list[tuple[str, int]], list[str]]:
    """Split "group: name" columns into a row of groups with their widths, and a row of names."""
    groups: list[tuple[str, int]] = []
    for name in names:
        group = name.partition(": ")[0] if ": " in name else ""
        if group and groups and groups[-1][0] == group:
            groups[-1] = (group, groups[-1][1] + 1)
        else:
            groups.append((group, 1))
    return groups, [name.partition(": ")[2] or name for name in names]


def _is_text(column: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(column):
        return False
    return not all(NUMBER.fullmatch(str(cell)) for cell in column)
