"""Writes the table of claims into docs/thesis.md, from the file claims.csv of `thesiskit verify`.

python docs/site/claims.py results/verify/claims.csv

The table replaces what is between the comments <!-- claims --> and <!-- /claims -->.
"""

import sys
from pathlib import Path

import pandas as pd

from thesiskit.report.claims import ESTIMATES, verdict_counts
from thesiskit.report.layout import markdown

ROOT = Path(__file__).parents[2]
START, END = "<!-- claims -->", "<!-- /claims -->"
NAMES = ["exhibit", "claim", "criterion", ESTIMATES, "verdict", "experiment"]


def table(claims: pd.DataFrame) -> str:
    """Return the counts of verdicts, and a table of claims for each section, as Markdown."""
    lines = [f"{verdict_counts(claims['verdict'])}.", ""]
    for section, rows in claims.groupby("section", sort=False):
        cells = rows[NAMES].assign(experiment=rows["experiment"].map(link))
        lines += [f"**{section}**", "", *markdown(NAMES, cells.to_numpy().tolist()), ""]
    return "\n".join(lines).rstrip()


def link(experiment: str) -> str:
    """Return a link from docs/ to the config of an experiment; nothing for none."""
    paths = (ROOT / "configs").rglob(f"{experiment.removesuffix('-smoke')}.yaml")
    names = [path.relative_to(ROOT).as_posix() for path in paths] if experiment else []
    return f"[{experiment}](../{names[0]})" if names else experiment


def replaced(page: str, text: str) -> str:
    """Return a page with the text between the two comments.

    Raises ValueError if a comment is missing.
    """
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"the page lacks {START} or {END}. Fix: add both comments")
    return f"{before}{START}\n\n{text}\n\n{END}{after}"


if __name__ == "__main__":
    path = ROOT / "docs" / "thesis.md"
    claims = pd.read_csv(sys.argv[1], keep_default_na=False)
    path.write_text(replaced(path.read_text(encoding="utf-8"), table(claims)), encoding="utf-8")
