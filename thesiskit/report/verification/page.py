"""The page of `thesiskit verify`, and the same in CSV and Markdown."""

from collections import Counter
from pathlib import Path
from typing import Any

from thesiskit.files import Results
from thesiskit.report.finished import Finished
from thesiskit.report.html import template
from thesiskit.report.layout import Table
from thesiskit.report.outputs import Outputs, csv_text, display, markdown
from thesiskit.report.page import table_item
from thesiskit.report.verification import rows as verdicts
from thesiskit.report.verification import tables
from thesiskit.report.verification.compare import compare, frame, summary, uncovered
from thesiskit.report.verification.rows import Row

NUMERIC = ("thesis", "here", "sd", "0.5 %", "99.5 %", "percentile", "replicates")


def verify(sources: list[Finished], root: Path) -> tuple[Path, str]:
    """Compare every number of the thesis's experiments with these; return page and summary.

    The files are root/verify/verify.csv, .md and .html; for small forms they are in
    root/verify-smoke.  Raises UserError for an experiment that is not in the thesis, or is given
    twice.
    """
    found = compare(sources)
    small = any(source.config["experiment"].endswith("-smoke") for source in sources)
    results = Results(root, "verify-smoke" if small else "verify")
    results.prepare()
    outputs = Outputs(results, ["verify.csv", "verify.md", "verify.html"])
    named = tables.named(found)
    outputs.write("verify.csv", csv_text(frame(found)))
    outputs.write("verify.md", _markdown(found, named))
    parts = [
        tables.overview(found),
        *named,
        *tables.trusted(found),
        *tables.by_section(found),
        *tables.settings(found),
        *tables.seconds(found),
        *tables.lost(found),
        tables.held_against(sources),
    ]
    text = template("verify.html.j2").render(
        summary=summary(found),
        small=small,
        about=about(found),
        items=[_item(part) for part in parts],
    )
    outputs.write("verify.html", text)
    outputs.finish("verify")
    return results.folder / "verify.html", summary(found)


def _markdown(found: list[Row], named: list[Table]) -> str:
    lines = ["# The thesis's numbers among ours", "", f"{summary(found)}.", ""]
    for paragraph in about(found):
        lines += [paragraph, ""]
    for table in [*named, Table("all", "All numbers", frame(found), "")]:
        names = [str(name) for name in table.frame.columns]
        lines += [f"## {table.title}", "", *markdown(names, display(table.frame)), ""]
    return "\n".join(lines)


def _item(table: Table) -> dict[str, Any]:
    """Return a table for the template; columns of numbers and words align as numbers."""
    numeric = [str(name).rpartition(": ")[2] in NUMERIC for name in table.frame]
    item = table_item(table)
    return item | {
        "rows": [[cell.replace(" %", "\u00a0%") for cell in row] for row in item["rows"]],
        "words": [word and not n for word, n in zip(item["words"], numeric, strict=True)],
    }


def about(found: list[Row]) -> list[str]:
    """Return the paragraphs that explain the page."""
    spreads = [row.spread for row in found if row.spread]
    tested = [one for one in spreads if one.chance > 0]
    paragraphs = [
        "The thesis shows one data set for each experiment. Here each of its numbers is compared "
        "with the same number in many replicates, which are new data sets from the same model. If "
        "the number of the thesis comes from the same distribution, then its percentile among the "
        "replicates is uniform. Our numbers are rounded to as many digits as the thesis prints, "
        "and equal numbers count half. 'Inside 99 %' means between the 0.5 % and the 99.5 % "
        "quantile of the replicates.",
        f"{len(spreads):,} numbers differ from data set to data set. {len(tested):,} of them have "
        "enough replicates for this comparison, and "
        f"{sum(one.verdict == verdicts.OUTSIDE for one in tested)} of these are outside. By chance "
        f"alone, at most {sum(one.chance for one in tested):.1f} would be outside on average. The "
        "cells of a table come from one data set, so they are often outside together.",
    ]
    few = [one for one in spreads if one.chance == 0]
    if few:
        most = max(one.replicates for one in few)
        paragraphs.append(
            f"{len(few):,} numbers have too few replicates (at most {most:,}): the limits of 99 % "
            "need 199 replicates, and those of a statement 99. For these numbers the page only "
            "says whether they are beyond all R replicates, which happens by chance with a "
            "probability of at most 2 / (R + 1)."
        )
    missing = Counter(leaf.partition(".")[0] for leaf in uncovered(found))
    if missing:
        words = ", ".join(f"{name} ({n})" for name, n in missing.items())
        paragraphs.append(f"These are left out, because their configs were not given: {words}.")
    return paragraphs
