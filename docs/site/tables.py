"""Writes the tables of docs/evidence.md, and the site's page of claims, from docs/evidence/*.csv.

A table of docs/evidence.md is between `<!-- table: FILE; ROWS; COLUMNS -->` and `<!-- end -->`.
ROWS is a query of pandas, or `all`.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import yaml

DOCS = Path(__file__).parents[1]
TEXTS = yaml.safe_load((DOCS / "site/texts.yaml").read_text(encoding="utf-8"))
MARKED = re.compile(r"<!-- table: (.+?); (.+?); (.+?) -->\n.*?<!-- end -->", re.DOTALL)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        cells = (cell.replace("|", "\\|") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def read(name: str) -> pd.DataFrame:
    """Read a CSV file of docs/evidence/ as text."""
    return pd.read_csv(DOCS / f"evidence/{name}.csv", dtype=str, keep_default_na=False)


def filled(page: str) -> str:
    """Return a page with its tables replaced by rows and columns of the CSV files."""

    def table(comment: re.Match) -> str:
        name, query, columns = comment.groups()
        frame = read(name) if query == "all" else read(name).query(query)
        frame = frame[columns.split(", ")]
        start = comment[0].partition("\n")[0]
        return f"{start}\n\n{markdown(list(frame), frame.to_numpy())}\n\n<!-- end -->"

    return MARKED.sub(table, page)


def claims_page() -> str:
    """Return the site's page of claims, errata and assumptions."""
    page = TEXTS["claims"]
    for section, rows in read("claims").groupby("section", sort=False):
        frame = rows.drop(columns="section")
        page += f"\n## {section}\n\n{markdown(list(frame), frame.to_numpy())}\n"
    for title in ("Errata", "Assumptions"):
        frame = read(title.lower())
        page += f"\n## {title}\n\n{markdown(list(frame), frame.to_numpy())}\n"
    return page


if __name__ == "__main__":
    evidence = DOCS / "evidence.md"
    evidence.write_text(filled(evidence.read_text(encoding="utf-8")), encoding="utf-8")
