"""Write the report of an experiment: tables, figures, numbers.tex, timings.csv and one page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from thesiskit.errors import ResultsError
from thesiskit.files import Results, is_our_index, write_text
from thesiskit.report.crate import NAME as CRATE
from thesiskit.report.crate import crate_text
from thesiskit.report.exhibits import exhibits_found
from thesiskit.report.layout import Table, csv_text, explain, template
from thesiskit.report.macros import macros
from thesiskit.report.outputs import Outputs
from thesiskit.report.parts import PARTS, wanted_parts
from thesiskit.report.record import Record
from thesiskit.report.stages import notes, warnings


def write_report(record: Record, key: str, *, watch: Callable) -> None:
    """Make every part that the config asks for, and the page; record the key of the results."""
    made: dict[str, list] = {}
    wanted = wanted_parts(record.config)
    for name in watch(wanted, len(wanted), "report"):
        made[name] = PARTS[name].make(record)
    parts = [part for several in made.values() for part in several]
    timings = record.timings()
    names = [name for part in parts for name in part.files]
    names += ["report.html", "numbers.tex", CRATE, *["timings.csv"] * bool(timings)]
    outputs = Outputs(record.results, names)
    for part in parts:
        part.write(outputs)
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
        found = [one.item() for one in several]
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
