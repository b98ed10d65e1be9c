"""The page of groups: one HTML file with its data, styles and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from thesiskit.report.explorer.content import Case, Content
from thesiskit.report.explorer.packing import pack
from thesiskit.report.html import FOLDER, template
from thesiskit.report.layout import Page

if TYPE_CHECKING:
    from thesiskit.report.record import Record

SCRIPTS = ("data", "words", "trie", "list", "case", "page")  # in this order
FILE = "patterns.html"
STATIC = 40  # groups in the table that needs no scripts
LEAST = 1e-6  # of scales of colours


def pattern_explorer(record: Record) -> list[Page]:
    """The groups of patterns of a fitted model, on a page of their own to look into."""
    assert record.explore is not None
    content = record.explore()
    words = "the trie of its patterns, " if content.sequences else ""
    caption = (
        f"{content.model}: {words}its {content.all_groups:,} groups of patterns with their "
        "coefficients, and what they say of single test cases."
    )
    text = explorer_page(content, report="report.html")
    return [Page("patterns", "Groups of patterns, to look into", FILE, text, caption)]


def explorer_page(content: Content, *, report: str = "") -> str:
    """Return the page as HTML that needs no other file.

    report : the file of the report that it belongs to, for a link.
    """
    columns, rows = _static(content)
    return template("patterns.html.j2").render(
        content=content,
        about=_about(content),
        sets=1 if content.quantiles is None else content.quantiles.shape[1],
        example=content.pattern(content.n_groups // 2)[-3:] if content.sequences else "",
        columns=columns,
        rows=rows,
        report=report,
        packed=Markup(packed(content)),
        style=_file("patterns.css"),
        script=Markup("\n").join(_file(f"patterns-{name}.js") for name in SCRIPTS),
    )


def packed(content: Content) -> str:
    """Return the data of the page as text: letters, digits, and +/= only."""
    arrays = {
        "cases": content.cases,
        "patterns": content.patterns,
        "first": content.first,
        "last": content.last,
        "cut": content.cut,
    }
    ragged = {"edge": content.edges, "shortest": content.shortest, "longest": content.longest}
    for name, lists in ragged.items():
        if lists is not None:
            arrays[f"{name}Length"] = np.diff(lists.begin)
            arrays[f"{name}Items"] = lists.items
    if content.above is not None:
        arrays["above"] = content.above
    scale, farthest = 1.0, 1.0
    if content.quantiles is not None:
        arrays["quantiles"] = content.quantiles.reshape(-1)
        scale = max(content.scale, LEAST)
        farthest = max(float(np.quantile(np.abs(content.quantiles), 0.995)), scale)
        arrays |= _test_arrays(content.tests)
    meta = {
        "classes": content.classes,
        "sequences": content.sequences,
        "states": content.states,
        "features": content.features,
        "values": content.values,
        "order": content.order,
        "scale": scale,
        "farthest": farthest,
        "base": content.base,
        "response": content.response,
        "allGroups": content.all_groups,
        "trainCases": content.n_train,
        "tests": [
            {
                "name": one.name, "truth": one.truth, "predicted": one.predicted,
                "worst": one.worst, "values": one.values, "cited": len(one.groups),
                "others": one.n_others,
            }
            for one in content.tests
        ],
    }  # fmt: skip
    return pack(meta, arrays)


def _test_arrays(tests: list[Case]) -> dict[str, np.ndarray]:
    """Return what is said of all test cases, one after another."""
    joined = {
        "testGroups": [one.groups for one in tests],
        "testShare": [one.share for one in tests],
        "testAdded": [one.added.reshape(-1) for one in tests],
        "testOthers": [one.others.reshape(-1) for one in tests],
        "testTotal": [one.total.reshape(-1) for one in tests],
    }
    return {name: np.concatenate([*parts, []] if name != "testGroups" else [
        *parts, np.empty(0, dtype=np.int64)]) for name, parts in joined.items()}  # fmt: skip


def _about(content: Content) -> str:
    """Say what is on the page."""
    what = f"{content.all_groups:,} groups of patterns up to order {content.order}"
    text = (
        f"{what}, found in {content.n_train:,} training cases. All patterns of a group are present "
        "in the same of these cases, and have one coefficient together."
    )
    if not content.compressed:
        text = f"{what}, found in {content.n_train:,} training cases: each pattern is one."
    if not content.model:
        return f"{text} {content.about}"
    return f"{text} {content.model}. {content.about}"


def _static(content: Content) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table that needs no scripts."""
    quantiles, columns = content.quantiles, ["pattern", "training cases"]
    if quantiles is None:
        chosen = np.argsort(-content.cases, kind="stable")[:STATIC]
        return columns, [_counted(content, int(g)) for g in chosen]
    sets, groups = quantiles.shape[1:]
    size = np.abs(quantiles[1]).reshape(-1)
    entries = np.argsort(-size, kind="stable")[:STATIC]
    names = content.classes[-sets:] if content.classes else []
    columns += ["class"] * bool(names) + ["coefficient", "5 %", "95 %"]
    columns += ["times the odds"] * bool(names)
    rows = []
    for k, g in (divmod(int(entry), groups) for entry in entries):
        low, median, high = quantiles[:, k, g]
        row = [*_counted(content, g), *([names[k]] if names else [])]
        row += [f"{median:.3g}", f"{low:.3g}", f"{high:.3g}"]
        rows.append(row + ([f"{np.exp(np.clip(median, -700, 700)):.3g}"] if names else []))
    return columns, rows


def _counted(content: Content, g: int) -> list[str]:
    name = content.pattern(g, shortest=not content.sequences) or "(any)"
    return [name, f"{content.cases[g]:,}"]


def _file(name: str) -> Markup:
    return Markup((FOLDER / name).read_text(encoding="utf-8"))
