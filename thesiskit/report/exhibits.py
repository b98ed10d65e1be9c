"""The tables and figures of the thesis, and which of our experiments remakes each."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from thesiskit.files import Results
from thesiskit.report.outputs import changed
from thesiskit.report.record import THESIS

WELL = ("as printed", "inside 99 %", "not comparable")  # verdicts that need no explanation


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of the thesis.

    experiment, part : our experiment, and the part of its report, that remake it. If none does,
        `why` says why.
    numbers : keys of its numbers in `thesiskit verify`, in which * stands for any text. The list
        is empty if the thesis prints no values.
    """

    label: str
    kind: str
    section: str
    shows: str
    experiment: str = ""
    part: str = ""
    why: str = ""
    numbers: list[str] = field(default_factory=list)


@lru_cache(maxsize=1)
def exhibits() -> list[Exhibit]:
    """Return all tables and figures, in the order of the thesis."""
    text = (THESIS / "exhibits.yaml").read_text(encoding="utf-8")
    return [Exhibit(**entry) for entry in yaml.safe_load(text)]


class Found(NamedTuple):
    """What a results folder contains for an exhibit.

    link : leads to its remake; "" if that has not been run.
    verdict : says how its numbers compare.
    """

    exhibit: Exhibit
    link: str
    verdict: str


def exhibits_found(root: Path) -> list[Found]:
    """Return every exhibit with its remake below root and the verdict on its numbers.

    The list is empty if root has neither a remake nor verified numbers.
    """
    results, verified = Results(root, "verify"), None
    if changed(results, "verify") == []:  # else there is no page of `verify`, or a changed one
        verified = pd.read_csv(results.folder / "verify.csv", keep_default_na=False)
    found = []
    for one in exhibits():
        folder = root / one.experiment
        config = Results(root, one.experiment).provenance().get("config") if one.part else None
        there = config and one.part in config["report"]["parts"]
        there = there and (folder / "report.html").exists()
        link = f"{one.experiment}/report.html#part-{one.part}" if there else ""
        found.append(Found(one, link, _verdict(one, verified)))
    return found if verified is not None or any(one.link for one in found) else []


def _verdict(exhibit: Exhibit, verified: pd.DataFrame | None) -> str:
    """Return a phrase that says how the numbers of an exhibit compare."""
    if not exhibit.numbers:
        return "values not printed" if exhibit.part else ""
    if verified is None:
        return ""
    mine = [any(fnmatchcase(key, one) for one in exhibit.numbers) for key in verified["key"]]
    rows = verified[mine]
    if rows.empty:
        return "not compared"
    counts = rows["verdict"].value_counts()
    well = [verdict for verdict in counts.index if verdict in WELL]
    others = [verdict for verdict in counts.index if verdict not in WELL]
    if not others:
        return ("all " if len(rows) > 1 else "") + " or ".join(well)
    names = sorted({reason.partition(":")[0] for reason in rows["reason"] if reason})
    said = ", ".join(f"{counts[verdict]:,} of {len(rows):,} {verdict}" for verdict in others)
    return said + (f" ({', '.join(names)})" if names else "")
