"""Write the report of an experiment: tables, figures, timings.csv and one page.

The index of all reports lists the tables and figures of the thesis.
"""

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePosixPath
from shutil import copyfile

import pandas as pd

from thesiskit.errors import ResultsError
from thesiskit.files import Results, is_our_index, sweep, write_text
from thesiskit.report.claims import opening
from thesiskit.report.layout import (
    Figure,
    Outputs,
    PageTable,
    changed,
    csv_text,
    explain,
    prose,
    prose_rows,
    read_yaml,
    recorded,
    styled,
    template,
)
from thesiskit.report.parts import PARTS, wanted_parts
from thesiskit.report.record import THESIS, Record
from thesiskit.report.stages import notes, warnings
from thesiskit.report.summary import numbers, opening_facts

THUMBNAIL = "thumbnail.webp"  # of the first figure
MOST_BYTES = 350_000  # of a page with the rows that only its filters find
MOST_SEARCHED = 100_000  # rows of such a table


def write_report(record: Record, key: str, *, watch: Callable) -> None:
    """Make every part that the config asks for, and the page; record the key of the results."""
    part_names = wanted_parts(record.config)
    steps = watch(part_names, len(part_names), "report")
    with styled():
        by_part = {name: PARTS[name].make(record) for name in steps}
    remade = _remade(record.config["experiment"].removesuffix("-smoke"), by_part)
    for parts in by_part.values():
        for i, part in enumerate(parts):
            if exhibit := remade.get(part.files[0].rpartition(".")[0]):
                parts[i] = replace(part, title=f"{exhibit.name}: {part.title}")
    parts = list(chain.from_iterable(by_part.values()))
    numbered = {} if record.small else _numbered(remade, parts)
    names = [*numbered, *(name for part in parts for name in part.files)]
    names += [THUMBNAIL, "report.html", "timings.csv"]
    own = record.config.get("own")
    names += ["report.json"] if own else []
    outputs, facts = Outputs(record.results, names), opening_facts(record)
    for part in parts:
        part.write(outputs)
    for second, name in numbered.items():
        with outputs.writing(second) as temporary:
            copyfile(record.results.folder / name, temporary)
    first = next((part for part in parts if isinstance(part, Figure)), None)
    if first is not None:
        with outputs.writing(THUMBNAIL) as temporary:
            first.thumbnail(temporary)
    if len(record.timings):
        outputs.write("timings.csv", csv_text(record.timings))
    if own:
        outputs.write("report.json", numbers(record, by_part["methods"][0].frame))
    outputs.write("report.html", render(record, by_part, facts))
    outputs.finish(key, prose("answer", x=facts))


def write_index(root: Path) -> Path:
    """Write root/index.html, which links the reports below root; return its path.

    Below the links it lists the tables and figures of the thesis, each with its remake and the
    verdict of `thesiskit verify` on its numbers.
    """
    entries = []
    for page in sorted(Path(root).glob("*/report.html")):
        provenance, small = Results(root, page.parent.name).provenance(), page.parent / THUMBNAIL
        if "config" not in provenance:
            continue
        entry = {"link": f"{page.parent.name}/report.html", "config": provenance["config"]}
        entry["headline"] = provenance.get("report", {}).get("headline", "")
        if THUMBNAIL in recorded(Results(root, page.parent.name)) and small.exists():
            picture = b64encode(small.read_bytes()).decode()
            entry["picture"] = f"data:image/webp;base64,{picture}"
        entries.append(entry)
    index = Path(root) / "index.html"
    if not is_our_index(index):
        raise ResultsError(f"{index}: was not created by thesiskit and will not be overwritten")
    sweep(Path(root), ".index.html")
    verified = "verify/verify.html"
    text = template("index.html.j2").render(
        entries=entries,
        shown=exhibits_found(Path(root)),
        verified=verified if (Path(root) / verified).exists() else "",
    )
    write_text(index, text)
    return index


def render(record: Record, by_part: dict[str, list], facts: dict[str, object]) -> str:
    """Return the page as HTML that needs no other file.

    by_part : tables and figures; the files of figures are written, and so they are laid out.
    facts : what its first sentences need.

    Rows that tables do not show are there compressed, for their filters, where the page has room.
    """
    items: list[dict] = []
    hidden: list[tuple[dict, PageTable]] = []
    names: set[str] = set()
    for part, exhibits in by_part.items():
        for number, exhibit in enumerate(exhibits):
            item = exhibit.item()
            if number == 0:  # links lead to the first of a part
                item["anchor"] = f"part-{part}"
            if item["name"] in names:  # a figure can have the name of a table
                item["name"] += "-figure"
            names.add(item["name"])
            items.append(item)
            n_rows = len(exhibit.frame) if isinstance(exhibit, PageTable) else 0
            if len(item.get("rows", ())) < n_rows <= MOST_SEARCHED:
                hidden.append((item, exhibit))
    claimed = opening(record) if record.config["report"].get("thesis") else {}
    if claimed:  # the figure that shows the claims comes first
        start = f"{claimed['exhibit']}:"
        about_claims = [item for item in items if item["title"].startswith(start)]
        first = [*about_claims, *(item for item in items if "image" in item)][:1]
        items.sort(key=lambda item: item not in first)
    glossary = explain_once(items)
    has_summary = "summary" in by_part
    about = {
        "opening": claimed,
        "config": record.config,
        "answer": prose("answer", x=facts),
        "cards": prose_rows("cards", x=facts) if has_summary else [],
        "recommended": prose("recommended", x=facts) if has_summary else "",
        "items": items,
        "n_first": len(by_part["summary"]) if has_summary else 0,
        "glossary": glossary,
        "warnings": warnings(record),
        "notes": notes(record),
        "provenance": record.results.provenance(),
    }
    page = template("page.html.j2").render(about)
    for item, table in hidden:
        columns = [*zip(*table.hidden, strict=True)]
        text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
        packed = b64encode(zlib.compress(text.encode(), 9)).decode()
        if len(page.encode()) + len(packed) < MOST_BYTES:
            item["packed"] = packed
            page = template("page.html.j2").render(about)
    return page


def explain_once(items: list[dict]) -> list[tuple[str, str, str]]:
    """Return the glossary (place, term, meaning), and give each table the terms that it uses."""
    places: dict[str, str] = {}
    glossary = []
    for item in items:
        shown = [not hidden for hidden in item.get("more", ())]
        terms = [*zip(item.get("short", ()), item.get("meanings", ()), shown, strict=True)]
        hidden_groups = item.get("more_groups", ())
        groups = [head for head, _ in item.get("groups", ())]
        terms += [(head, explain(head), head not in hidden_groups) for head in groups]
        used = {}
        for name, meaning, is_shown in terms:
            if not meaning:
                continue
            if meaning not in places:
                places[meaning] = f"term-{len(places) + 1}"
                glossary.append((places[meaning], name, meaning))
            if is_shown:
                used[places[meaning]] = name
        item["terms"] = [(name, place) for place, name in used.items()]
    return sorted(glossary, key=lambda entry: entry[1].lower())


# ---- the tables and figures of the thesis, and which of our experiments remakes each ----

WELL = ("as printed", "inside 99%", "not comparable")  # verdicts that need no explanation


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of the thesis; its name has the number in print.

    experiment, part : our experiment, and the part of its report, that remake it. If none does,
        `why` says why.
    output : the name of the figure or table in the part, if it is not the first.
    numbers : keys of its numbers in `thesiskit verify`, in which * stands for any text. The list
        is empty if the thesis prints no values.
    file : the name of its files without ending, such as figures/figure-2.7.
    link, copy, verdict : in a results folder, where its remake is, the file with its number, and
        how its numbers compare.
    """

    name: str
    section: str
    shows: str
    experiment: str = ""
    part: str = ""
    output: str = ""
    why: str = ""
    numbers: list[str] = field(default_factory=list)
    link: str = ""
    copy: str = ""
    file: str = ""
    verdict: str = ""


def exhibits() -> list[Exhibit]:
    """Return all tables and figures, in the order of the thesis."""
    entries = read_yaml(THESIS / "exhibits.yaml")
    names = [re.sub("(.*) (.*)", r"\1s/\1-\2", entry["name"].lower()) for entry in entries]
    return [Exhibit(**entry, file=name) for entry, name in zip(entries, names, strict=True)]


def _remade(experiment: str, by_part: dict[str, list]) -> dict[str, Exhibit]:
    """Return the exhibits among the tables and figures, by the names of their files without ending.

    Where a part has several figures or tables, the first is the exhibit, or the one that it names.
    """
    remade: dict[str, Exhibit] = {}
    for exhibit in (entry for entry in exhibits() if entry.experiment == experiment):
        folder = exhibit.file.partition("/")[0]
        stems = [
            f"{folder}/{part.name}"
            for part in by_part.get(exhibit.part, [])
            if part.files[0].startswith(folder) and exhibit.output in ("", part.name)
        ]
        remade |= dict.fromkeys(stems[:1], exhibit)
    return remade


def _numbered(remade: dict[str, Exhibit], parts: Sequence[PageTable | Figure]) -> dict[str, str]:
    """Return the files named by numbers of the thesis, and the files of parts that they copy."""
    names = [PurePosixPath(name) for part in parts for name in part.files]
    return {
        f"{remade[stem].file}{name.suffix}": str(name)
        for name in names
        if (stem := str(name.with_suffix(""))) in remade
    }


def exhibits_found(root: Path) -> list[Exhibit]:
    """Return every exhibit with its remake below root and the verdict on its numbers.

    The list is empty if root has neither a remake nor verified numbers.
    """
    results, verified, claims = Results(root, "verify"), None, None
    if changed(results, "verify") == []:  # else there is no page of `verify`, or a changed one
        verified, claims = (
            pd.read_csv(results.folder / f"{name}.csv", keep_default_na=False)
            for name in ("verify", "claims")
        )
    located = []
    for exhibit in exhibits():
        name, part = exhibit.experiment, exhibit.part
        config = Results(root, name).provenance().get("config") if part else None
        is_made = config and part in config["report"]["parts"]
        is_made = is_made and (root / name / "report.html").exists()
        link = f"{name}/report.html#{exhibit.output or f'part-{part}'}" if is_made else ""
        copy = f"{name}/{exhibit.file}.{'csv' if exhibit.name.startswith('Table') else 'pdf'}"
        copy = copy if is_made and (root / copy).exists() else ""
        verdict = _verdict(exhibit, verified, claims)
        located.append(replace(exhibit, link=link, copy=copy, verdict=verdict))
    return located if verified is not None or any(exhibit.link for exhibit in located) else []


def _verdict(exhibit: Exhibit, verified: pd.DataFrame | None, claims: pd.DataFrame | None) -> str:
    """Return a phrase on the numbers of an exhibit, and on the claims about it."""
    phrase = _of_numbers(exhibit, verified)
    if claims is not None:
        tested = claims[(claims["exhibit"] == exhibit.name) & (claims["experiment"] != "")]
        if len(tested):
            phrase += f"; {(tested['verdict'] == 'found').sum()} of {len(tested)} claims found"
    return phrase


def _of_numbers(exhibit: Exhibit, verified: pd.DataFrame | None) -> str:
    """Return a phrase that says how the numbers of an exhibit compare."""
    if not exhibit.numbers:
        return "values not printed" if exhibit.part else ""
    if verified is None:
        return ""
    covered = [any(fnmatchcase(key, text) for text in exhibit.numbers) for key in verified["key"]]
    rows = verified[covered]
    if rows.empty:
        return "not compared"
    counts = rows["verdict"].value_counts()
    exceptions = counts.index.difference(WELL, sort=False)
    if exceptions.empty:
        return ("all " if len(rows) > 1 else "") + " or ".join(counts.index)
    names = sorted({reason.partition(":")[0] for reason in rows["reason"] if reason})
    parts = [f"{counts[verdict]:,} of {len(rows):,} {verdict}" for verdict in exceptions]
    return ", ".join(parts) + (f" ({', '.join(names)})" if names else "")
