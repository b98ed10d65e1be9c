"""The page of `thesiskit verify`, and the same in CSV and Markdown."""

from collections import Counter
from pathlib import Path
from typing import Any

from thesiskit.report.finished import Finished
from thesiskit.report.layout import Table
from thesiskit.report.outputs import Outputs, csv_text
from thesiskit.report.page import display, markdown, table_item, template
from thesiskit.report.verification import rows as verdicts
from thesiskit.report.verification import tables
from thesiskit.report.verification.compare import compare, frame, summary, uncovered
from thesiskit.report.verification.rows import Row
from thesiskit.store.results import Results

NUMERIC = ("thesis", "here", "sd", "0.5 %", "99.5 %", "percentile", "replicates")


def verify(sources: list[Finished], root: Path) -> tuple[Path, str]:
    """Hold every number of the thesis's experiments against these; return page and summary.

    Writes root/verify/verify.csv, .md and .html; of small forms, to root/verify-smoke.  Raises
    UserError for an experiment that is not the thesis's, or is given twice.
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
    """Say how to read the page, in paragraphs."""
    spreads = [row.spread for row in found if row.spread]
    tested = [one for one in spreads if one.chance > 0]
    paragraphs = [
        "The thesis shows one data set for each experiment. Its numbers are held against the same "
        "numbers of replicates, data sets drawn anew: if they come from the same distribution, "
        "the percentile of the thesis's number is as likely to be one as another. Numbers are "
        "compared as printed, ours rounded to as many digits; equal ones count half. Inside 99 %: "
        "from the 0.5 to the 99.5 % quantile of the replicates.",
        f"Of {len(spreads):,} numbers that differ from data set to data set, {len(tested):,} have "
        f"replicates enough for that, and {sum(one.verdict == verdicts.OUTSIDE for one in tested)} "
        f"of these are outside. By chance alone it would be up to "
        f"{sum(one.chance for one in tested):.1f} in the mean; the cells of a table come from one "
        "data set, so that they fall outside together.",
    ]
    few = [one for one in spreads if one.chance == 0]
    if few:
        most = max(one.replicates for one in few)
        paragraphs.append(
            f"{len(few):,} have too few (up to {most:,}): 99 % takes 199 replicates, of "
            "statements 99. Of these the page says which lie beyond all replicates, which chance "
            "alone does with probability up to 2 / (R + 1) among R."
        )
    missing = Counter(leaf.partition(".")[0] for leaf in uncovered(found))
    if missing:
        words = ", ".join(f"{name} ({n})" for name, n in missing.items())
        paragraphs.append(f"Left out, as their configs were not given: {words}.")
    return paragraphs
