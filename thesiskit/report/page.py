"""Write the report of an experiment: tables, figures, numbers.tex, timings.csv and one page.

Beside the page go the numbers of all tables as LaTeX macros, and ro-crate-metadata.json, which says
what was made from what.  The index of all reports lists the tables and figures of the thesis.
"""

import json
import re
import unicodedata
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePosixPath
from shutil import copyfile
from typing import TYPE_CHECKING, Any

import pandas as pd

from thesiskit.errors import ResultsError
from thesiskit.files import Results, is_our_index, now, sha256, sweep, write_text
from thesiskit.report.layout import Figure, Table, csv_text, display, explain, read_yaml, template
from thesiskit.report.outputs import Outputs, changed, recorded
from thesiskit.report.parts import PARTS, wanted_parts
from thesiskit.report.record import THESIS, Record
from thesiskit.report.stages import notes, warnings
from thesiskit.report.summary import answer

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

THUMBNAIL = "thumbnail.webp"  # of the first figure
MOST_BYTES = 350_000  # of a page with the rows that only its filters find
MOST_SEARCHED = 100_000  # rows of such a table


def write_report(record: Record, key: str, *, watch: Callable) -> None:
    """Make every part that the config asks for, and the page; record the key of the results."""
    wanted = wanted_parts(record.config)
    made = {name: PARTS[name].make(record) for name in watch(wanted, len(wanted), "report")}
    parts = list(chain.from_iterable(made.values()))
    numbered = _numbered(record.config["experiment"], made)
    names = [*numbered, *(name for part in parts for name in part.files)]
    names += [THUMBNAIL, "report.html", "numbers.tex", "timings.csv", CRATE]
    outputs, told = Outputs(record.results, names), answer(record)
    for part in parts:
        part.write(outputs)
    for second, name in numbered.items():
        with outputs.writing(second) as temporary:
            copyfile(record.results.folder / name, temporary)
    first = next((part for part in parts if isinstance(part, Figure)), None)
    if first is not None:
        with outputs.writing(THUMBNAIL) as temporary:
            first.thumbnail(temporary)
    timings = record.timings()
    if timings:
        outputs.write("timings.csv", csv_text(pd.DataFrame(timings)))
    tables = [part for part in parts if isinstance(part, Table)]
    outputs.write("numbers.tex", macros(record.config["experiment"], tables))
    outputs.write("report.html", render(record, made, told))
    outputs.write(CRATE, crate_text(record.results, outputs.written))
    outputs.finish(key, told[0] if told else "")


def write_index(root: Path) -> Path:
    """Write root/index.html, which links the reports below root; return its path.

    Below the links it lists the tables and figures of the thesis, each with its remake and the
    verdict of `thesiskit verify` on its numbers.
    """
    entries = []
    for page in sorted(Path(root).glob("*/report.html")):
        found, small = Results(root, page.parent.name).provenance(), page.parent / THUMBNAIL
        if "config" not in found:
            continue
        entry = {"link": f"{page.parent.name}/report.html", "config": found["config"]}
        entry["headline"] = found.get("report", {}).get("headline", "")
        if THUMBNAIL in recorded(Results(root, page.parent.name)) and small.exists():
            picture = b64encode(small.read_bytes()).decode()
            entry["picture"] = f"data:image/webp;base64,{picture}"
        entries.append(entry)
    index = Path(root) / "index.html"
    if not is_our_index(index):
        raise ResultsError(f"{index}: thesiskit did not make it, and does not write over it")
    sweep(Path(root), ".index.html")
    verified = "verify/verify.html"
    text = template("index.html.j2").render(
        entries=entries,
        shown=exhibits_found(Path(root)),
        verified=verified if (Path(root) / verified).exists() else "",
    )
    write_text(index, text)
    return index


def render(record: Record, made: dict[str, list], told: Sequence[str]) -> str:
    """Return the page as HTML that needs no other file.

    made : tables and figures by part; the files of figures are written, and so they are laid out.
    told : the sentences that the page opens with.

    Rows that tables do not show are there compressed, for their filters, where the page has room.
    """
    items: list[dict[str, Any]] = []
    hidden: list[tuple[dict[str, Any], Table]] = []
    taken: set[str] = set()
    for part, several in made.items():
        for number, one in enumerate(several):
            item = one.item()
            if number == 0:  # links lead to the first of a part
                item["anchor"] = f"part-{part}"
            if item["name"] in taken:  # a figure can have the name of a table
                item["name"] += "-figure"
            taken.add(item["name"])
            items.append(item)
            if isinstance(one, Table) and len(item["rows"]) < len(one.frame) <= MOST_SEARCHED:
                hidden.append((item, one))
    explain_once(items)
    about = {
        "config": record.config,
        "answer": told,
        "items": items,
        "warnings": warnings(record),
        "notes": notes(record),
        "provenance": record.results.provenance(),
        "figures": {item["name"]: item["values"] for item in items if "values" in item},
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


# ---- the tables and figures of the thesis, and which of our experiments remakes each ----

WELL = ("as printed", "inside 99 %", "not comparable")  # verdicts that need no explanation


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of the thesis; its name has the number in print.

    experiment, part : our experiment, and the part of its report, that remake it. If none does,
        `why` says why.
    numbers : keys of its numbers in `thesiskit verify`, in which * stands for any text. The list
        is empty if the thesis prints no values.
    file : the name of its files without ending, such as figures/figure-2.7.
    link, copy, verdict : in a results folder, where its remake is, the file with its number, and
        how its numbers compare.
    """

    label: str
    name: str
    section: str
    shows: str
    experiment: str = ""
    part: str = ""
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


def _numbered(experiment: str, made: dict[str, list]) -> dict[str, str]:
    """Return the files named by numbers of the thesis, and those of the parts with their content.

    Where a part has several figures or tables, the first has the number.
    """
    found: dict[str, str] = {}
    for one in exhibits():
        several = made.get(one.part, []) if one.experiment == experiment else []
        folder = PurePosixPath(one.file).parent
        alike = (part.files for part in several if PurePosixPath(part.files[0]).parent == folder)
        for name in next(alike, ()):
            found[one.file + PurePosixPath(name).suffix] = name
    return found


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
    found = []
    for one in exhibits():
        config = Results(root, one.experiment).provenance().get("config") if one.part else None
        there = config and one.part in config["report"]["parts"]
        there = there and (root / one.experiment / "report.html").exists()
        link = f"{one.experiment}/report.html#part-{one.part}" if there else ""
        copy = f"{one.experiment}/{one.file}.{'csv' if one.name.startswith('Table') else 'pdf'}"
        copy = copy if there and (root / copy).exists() else ""
        found.append(replace(one, link=link, copy=copy, verdict=_verdict(one, verified, claims)))
    return found if verified is not None or any(one.link for one in found) else []


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
    mine = [any(fnmatchcase(key, one) for one in exhibit.numbers) for key in verified["key"]]
    rows = verified[mine]
    if rows.empty:
        return "not compared"
    counts = rows["verdict"].value_counts()
    others = counts.index.difference(WELL, sort=False)
    if others.empty:
        return ("all " if len(rows) > 1 else "") + " or ".join(counts.index)
    names = sorted({reason.partition(":")[0] for reason in rows["reason"] if reason})
    said = ", ".join(f"{counts[verdict]:,} of {len(rows):,} {verdict}" for verdict in others)
    return said + (f" ({', '.join(names)})" if names else "")


# ---- numbers.tex ----
# The numbers of all tables as LaTeX macros, so that a paper can name them.
#
# The name of a macro is `tk`, then the experiment, the table, the row and the column, in words of
# letters only: \tkNullScoresTenCorrectedAMLP is the AMLP of the row "10, corrected" of the table
# "scores" of the experiment null.  The first columns that tell all rows of a table apart name its
# rows.  The comment above a macro has the same in the words of the table.

ONES = [
    "Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven",
    "Twelve", "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen", "Nineteen",
]  # fmt: skip
TENS = ["Twenty", "Thirty", "Forty", "Fifty", "Sixty", "Seventy", "Eighty", "Ninety"]
SCALES = ((10**9, "Billion"), (10**6, "Million"), (10**3, "Thousand"), (100, "Hundred"))
SIGNS = {"%": "Percent", "±": "PlusMinus", "+": "Plus", "#": "Number", "<": "Below", ">": "Above"}
# a number, with a sign if one stands before it alone; letters; a sign
WORD = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?|\d+|[^\W\d_]+|[%±+#<>]")
ESCAPED = {
    **{mark: f"\\{mark}" for mark in "#%&_${}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"\ensuremath{\pm}", "<": r"\ensuremath{<}", ">": r"\ensuremath{>}", "–": "--", "…": "...",
}  # fmt: skip
# a number with a sign or a power of ten, which is set as mathematics
SIGNED = re.compile(r"(?<![\w.,-])(-?)(\d[\d,]*(?:\.\d+)?)(?:e([+-]?\d+))?(?![\w.]*\w)")


def macros(experiment: str, tables: Sequence[Table]) -> str:
    """Return the text of numbers.tex: a macro for each cell with a number, named once.

    All cells of a column have a macro where one of them has a digit, so that a number that could
    not be computed is there as a dash.
    """
    lines = [
        f"% The numbers in the tables of the experiment {_one_line(experiment)}, as macros.",
        "% In a paper: \\input{numbers}, then a macro with {} behind its name.",
    ]
    taken: set[str] = set()
    for table in tables:
        for row, words, column, cell in _numbers(table):
            name = "tk" + "".join(map(letters, (experiment, table.name, *words, column)))
            while name in taken:  # such as two names that differ in their signs alone
                name += f"Row{letters(str(row))}"
            taken.add(name)
            where = f"{table.name}: {', '.join(words)}: {column}"
            lines += [f"% {_one_line(where)}", f"\\newcommand{{\\{name}}}{{{latex(cell)}}}"]
    return "\n".join(lines) + "\n"


def _numbers(table: Table) -> Iterator[tuple[int, list[str], str, str]]:
    """Yield row, what names the row, column and cell of each number that is shown.

    The first columns that tell the rows apart name them, of words and counts: a column of other
    numbers names no row, nor do those behind it.
    """
    frame = table.visible
    cells, keys, unique = display(frame), 0, False
    for name in frame.columns:
        values = frame[name].tolist()
        if unique or any(isinstance(x, float) and x == x and x != int(x) for x in values):
            break
        keys += 1
        unique = len({tuple(row[:keys]) for row in cells}) == len(cells)
    wanted = [
        place
        for place in range(keys, len(frame.columns))
        if any(re.search(r"\d", row[place]) for row in cells)
    ]
    for number, row in enumerate(cells, 1):
        words = row[:keys] + ([] if unique else [f"row {number}"])
        for place in wanted:
            yield number, words, str(frame.columns[place]), row[place]


def letters(text: str) -> str:
    """Return words and numbers as one word of letters, each part with a capital letter.

    Letters without an English name in Unicode's decomposition, such as Chinese ones, are left out.
    """
    return "".join(_part(word) for word in WORD.findall(text))


def _part(word: str) -> str:
    if word in SIGNS:
        return SIGNS[word]
    number = word.removeprefix("-")
    if not number[0].isdecimal():
        plain = "".join(map(_latin, word))
        return plain[:1].upper() + plain[1:]
    # also of digits of another script
    number = "".join(str(unicodedata.decimal(mark, mark)) for mark in number)
    whole, _, decimals = number.replace(",", "").partition(".")
    minus = "Minus" if word.startswith("-") else ""
    return minus + _spoken(whole) + (f"Point{_digits(decimals)}" if decimals else "")


def _digits(text: str) -> str:
    return "".join(ONES[int(digit)] for digit in text)


def _spoken(whole: str) -> str:
    """Return a whole number in English, without spaces; digit by digit where it is long."""
    number = int(whole)
    if number >= 10**12 or whole != str(number):
        return _digits(whole)
    if number < 20:
        return ONES[number]
    size, name = next((scale for scale in SCALES if number >= scale[0]), (10, ""))
    first = _spoken(str(number // size)) + name if name else TENS[number // 10 - 2]
    return first + (_spoken(str(number % size)) if number % size else "")


def _latin(letter: str) -> str:
    """Return a letter without accents; a Greek one by its name."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", letter) if c.isascii() and c.isalpha())
    if plain:
        return plain
    name = unicodedata.name(letter, "")
    return name.split()[-1].capitalize() if name.startswith("GREEK") and name.isascii() else ""


def latex(cell: str) -> str:
    """Return what a cell shows as LaTeX that stands in text and in mathematics."""
    parts, end = [], 0
    for found in SIGNED.finditer(cell):
        sign, size, power = found.groups()
        if sign or power:
            times = f"\\times10^{{{int(power)}}}" if power else ""
            grouped = size.replace(",", "{,}")
            parts += [escaped(cell[end : found.start()]), f"\\ensuremath{{{sign}{grouped}{times}}}"]
            end = found.end()
    return "".join(parts) + escaped(cell[end:])


def escaped(text: str) -> str:
    """Return text with the characters that mean something to TeX escaped, in one line."""
    return "".join(ESCAPED.get(mark, mark) for mark in _one_line(text))


def _one_line(text: str) -> str:
    return "".join(mark if mark.isprintable() else " " for mark in text)


# ---- ro-crate-metadata.json ----
# What was made from what, as RO-Crate metadata: ro-crate-metadata.json beside the results.
#
# The file has the form of a Process Run Crate (https://w3id.org/ro/wfrun/process/0.5).  Its root is
# the folder of the experiment.  Each stage, and the report, is an action: it has the time at which
# it ended, its instrument is thesiskit with the version and digest of its code, its objects are the
# config, the seed and the data, and its results are files with their sha256.

CRATE = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
TERMS = "https://w3id.org/ro/terms/workflow-run/context"  # it defines sha256
ORDER = ("simulate", "select", "compress", "fit", "predict")  # in which stages are made
MADE = re.compile(r"[0-9]{4}(-[^/]+)?\.(npz|nc)")  # names of the files of stages
KINDS = {
    "csv": "text/csv", "html": "text/html", "json": "application/json", "md": "text/markdown",
    "nc": "application/netcdf", "npz": "application/zip", "pdf": "application/pdf",
    "png": "image/png", "tex": "application/x-tex", "webp": "image/webp",
}  # fmt: skip


def crate_text(results: Results, written: Mapping[str, str]) -> str:
    """Return the text of ro-crate-metadata.json for an experiment that is finished.

    written : the files of its report with their sha256.
    """
    from rocrate.rocrate import ROCrate  # a fifth of a second: only where a report is written

    record = results.provenance()
    config = record["config"]
    ended = {stage: entry["finished"] for stage, entry in record.get("stages", {}).items()}
    crate = ROCrate(version="1.1")
    crate.metadata.extra_contexts.append(TERMS)
    crate.datePublished = max(ended.values(), default=now())
    root = crate.root_dataset
    root["conformsTo"] = _entity(
        crate, PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"
    )
    root["name"] = f"{config['title']} (results of thesiskit, experiment {config['experiment']})"
    root["description"] = config["about"]
    kind, versions = "SoftwareApplication", {"Python": record["python"], **record["packages"]}
    instrument = _entity(
        crate,
        "#thesiskit",
        kind,
        name="thesiskit",
        softwareVersion=record["code"]["version"],
        identifier=f"code digest {record['code']['digest']}",
        operatingSystem=record["machine"]["system"],
        softwareRequirements=[  # the packages that numbers may depend on
            _entity(crate, f"#{name.lower()}", kind, name=name, softwareVersion=version)
            for name, version in versions.items()
        ],
    )
    objects = _objects(crate, record)
    for stage in (*ORDER, "report"):
        folder, files = results.folder / stage, written
        if stage != "report":
            paths = sorted(filter(lambda path: MADE.fullmatch(path.name), folder.glob("*")))
            files = {f"{stage}/{path.name}": sha256(path) for path in paths}
        if not files:
            continue
        entities = [
            crate.add_file(
                dest_path=name,
                properties={
                    "name": name,
                    "sha256": digest,
                    "encodingFormat": KINDS[name.rpartition(".")[2]],
                },
            )
            for name, digest in files.items()
        ]
        action = crate.add_action(
            instrument,
            identifier=f"#make-{stage}",
            object=objects,
            result=entities,
            properties={
                "name": f"thesiskit {stage}",
                "actionStatus": "http://schema.org/CompletedActionStatus",
                **({"endTime": ended[stage]} if stage in ended else {}),
            },
        )
        root.append_to("mentions", action)
        objects = [*objects, *entities]
    return json.dumps(crate.metadata.generate(), indent=2, ensure_ascii=False) + "\n"


def _entity(crate: "ROCrate", name: str, kind: str, /, **properties: Any) -> Any:
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, name, properties={"@type": kind, **properties}))


def _objects(crate: "ROCrate", record: Mapping[str, Any]) -> list[Any]:
    about = {
        "name": "Config and provenance",
        "description": "The config with all defaults, the seed, the digests of data and code, and "
        "when each stage ended. Later commands add to it, so it has no digest here.",
        "encodingFormat": KINDS["json"],
    }
    objects = [
        crate.add_file(dest_path="provenance.json", properties=about),
        _entity(crate, "#seed", "PropertyValue", name="seed", value=record["seed"]),
    ]
    source, data = record["config"].get("data"), record.get("data", {})
    if source is not None:
        how = {"sha256": data["sha256"]} if data.get("sha256") else {}
        name = f"data.source: {source['source']}"
        what = "digest of the data as they were read" if how else "drawn from the seed"
        objects.append(_entity(crate, "#data", "CreativeWork", name=name, description=what, **how))
    for number, (path, digest) in enumerate(sorted(data.get("files", {}).items()), 1):
        # not a part of the folder: it stays where the user has it
        words = {"name": path, "description": "a file of data, outside of this folder"}
        objects.append(
            _entity(crate, f"#data-file-{number}", "CreativeWork", sha256=digest, **words)
        )
    return objects
