"""The page of groups of patterns: what it shows, as arrays, and one HTML file with all of it.

The arrays stand in the page as text: little-endian, by byte planes, deflated, in base64.  The
packed bytes are the length of a JSON text as 32 bits, that text in UTF-8, and the arrays one after
another, each as all its first bytes, then all its second bytes, and so on, which deflates far
better than numbers as they stand.  The JSON text has `arrays`, a list of [name, type, length].
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from thesiskit.report.layout import FOLDER, Page, template

if TYPE_CHECKING:
    from thesiskit.report.record import Record

SCRIPTS = ("data", "words", "trie", "list", "case", "page")  # in this order
FILE = "patterns.html"
STATIC = 40  # groups in the table that needs no scripts
LEAST = 1e-6  # of scales of colours
DIGITS = 12  # binary digits of the mantissa that a real number keeps: 1 part in 8,000


@dataclass(frozen=True)
class Ragged:
    """Lists of whole numbers, end to end: list g is items[begin[g] : begin[g + 1]]."""

    begin: np.ndarray
    items: np.ndarray

    @classmethod
    def of(cls, lists: list[list[int]]) -> Ragged:
        """Return lists in this form."""
        lengths = [len(one) for one in lists]
        flat = [item for one in lists for item in one]
        begin = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(begin, np.array(flat, dtype=np.int64))

    def __getitem__(self, g: int) -> list[int]:
        return self.items[self.begin[g] : self.begin[g + 1]].tolist()


def offsets(values: list[list[str]]) -> np.ndarray:
    """Return the item of the first value of each feature, (p,), of the values of all."""
    counts = np.array([len(one) for one in values], dtype=np.int64)
    return np.cumsum(counts) - counts


@dataclass(frozen=True)
class Content:
    """Groups of patterns, with coefficients if there has been a fit.

    model : which model, in words; empty before a fit.  cases_of : what the training cases are.
    classes : none of real responses.  base : what is added to every linear function of those.
    cases, patterns, first, last (G,) : training cases that have a group, how many patterns it has,
    and of which orders.  quantiles (3, S, G) : low end, median and high end of each coefficient,
    None before a fit; S is 1 for two classes, whose coefficient is that of the last one.
    all_groups : how many there are; the page has G of them.

    Sequences: `states`; `above` (G,), the group above each, -1 for none; `edges`, the states by
    which a group is longer than the one above it, most recent first, and `cut`, how many of these
    are left out of the edge of each group.
    Features: `features` and their `values`; `shortest`, a shortest pattern of each group, and
    `longest`, the values that all its cases have besides; an item is offset[feature] + value, where
    the offset is how many values the features before it have.  `cut` as above, of the longest.

    tests : what the groups add to the linear functions of some test cases, each with
    name, truth, predicted in words; worst, whether it is one of those predicted worst; values,
    codes of its states, most recent first, or of its features; groups (M,), those that add most,
    with share (M,), the part of each group's coefficient that the case has, and added (3, S, M),
    the means and the ends of the intervals; others (3, S), what `n_others` groups add together;
    total (3, S), the linear functions.
    """

    title: str
    order: int
    classes: list[str]
    all_groups: int
    n_train: int
    cases: np.ndarray
    patterns: np.ndarray
    first: np.ndarray
    last: np.ndarray
    cut: np.ndarray
    model: str = ""
    about: str = "No coefficients: they come with `thesiskit fit-logistic`."
    quantiles: np.ndarray | None = None
    compressed: bool = True
    base: float = 0.0
    response: str = ""
    states: list[str] = field(default_factory=list)
    above: np.ndarray | None = None
    edges: Ragged | None = None
    features: list[str] = field(default_factory=list)
    values: list[list[str]] = field(default_factory=list)
    shortest: Ragged | None = None
    longest: Ragged | None = None
    tests: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def n_groups(self) -> int:
        """G, the groups on the page."""
        return len(self.cases)

    @property
    def sequences(self) -> bool:
        """Whether the patterns are of sequences."""
        return self.edges is not None

    def pattern(self, g: int, *, shortest: bool = False) -> str:
        """Write the longest pattern of a group that the page has, or a shortest one."""
        if self.edges is not None:
            assert self.above is not None
            codes = self.edges[g]
            if shortest:
                codes = codes[: int(self.first[g] > 0)]
            left_out = "…" if not shortest and self.cut[g] > 0 else ""
            while (g := int(self.above[g])) >= 0:
                codes = self.edges[g] + codes
            apart = "" if all(len(one) == 1 for one in self.states) else " "
            return left_out + apart.join(self.states[code] for code in reversed(codes))
        assert self.shortest is not None
        assert self.longest is not None
        items = self.shortest[g] + ([] if shortest else self.longest[g])
        start = offsets(self.values)
        where = np.searchsorted(start, items, side="right") - 1
        pairs = sorted(zip(where.tolist(), items, strict=True))
        return ", ".join(
            f"{self.features[t]}={self.values[t][item - int(start[t])]}" for t, item in pairs
        )


# ---- the page ----


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
    files = ["patterns.css", *(f"patterns-{name}.js" for name in SCRIPTS)]
    style, *scripts = (Markup((FOLDER / name).read_text(encoding="utf-8")) for name in files)
    return template("patterns.html.j2").render(
        content=content,
        about=_about(content),
        sets=1 if content.quantiles is None else content.quantiles.shape[1],
        example=content.pattern(content.n_groups // 2)[-3:] if content.sequences else "",
        columns=columns,
        rows=rows,
        report=report,
        packed=Markup(packed(content)),
        style=style,
        script=Markup("\n").join(scripts),
    )


def packed(content: Content) -> str:
    """Return the data of the page as text: letters, digits, and +/= only."""
    counts = ("cases", "patterns", "first", "last", "cut")
    arrays = {name: getattr(content, name) for name in counts}
    ragged = {"edge": content.edges, "shortest": content.shortest, "longest": content.longest}
    for name, lists in ragged.items():
        if lists is not None:
            arrays[f"{name}Length"] = np.diff(lists.begin)
            arrays[f"{name}Items"] = lists.items
    if content.above is not None:
        arrays["above"] = content.above
    scale, farthest = 1.0, 1.0  # of colours: a size that few medians exceed, and one near the most
    if content.quantiles is not None:
        arrays["quantiles"] = content.quantiles.reshape(-1)
        sizes = np.abs(content.quantiles[1]).max(axis=0)[1:]
        scale = max(float(np.quantile(sizes, 0.98)) or 1.0 if len(sizes) else 1.0, LEAST)
        farthest = max(float(np.quantile(np.abs(content.quantiles), 0.995)), scale)
        for name in ("groups", "share", "added", "others", "total"):  # of all, one after another
            nothing = np.empty(0, dtype=np.int64 if name == "groups" else float)
            told = [case[name].reshape(-1) for case in content.tests]
            arrays[f"test{name.capitalize()}"] = np.concatenate([*told, nothing])
    named = ("classes", "sequences", "states", "features", "values", "order")
    meta = {name: getattr(content, name) for name in named} | {
        "scale": scale,
        "farthest": farthest,
        "base": content.base,
        "response": content.response,
        "allGroups": content.all_groups,
        "trainCases": content.n_train,
        "tests": [
            {name: case[name] for name in ("name", "truth", "predicted", "worst", "values")}
            | {"cited": len(case["groups"]), "others": case["n_others"]}
            for case in content.tests
        ],
    }
    return pack(meta, arrays)


def _about(content: Content) -> str:
    text = (
        f"{content.all_groups:,} groups of patterns up to order {content.order}, found in "
        f"{content.n_train:,} training cases"
    )
    text += (
        ". All patterns of a group are present in the same of these cases, and have one "
        "coefficient together."
        if content.compressed
        else ": each pattern is one."
    )
    return " ".join([text, *([f"{content.model}."] if content.model else []), content.about])


def _static(content: Content) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table that needs no scripts."""

    def counted(g: int) -> list[str]:
        name = content.pattern(g, shortest=not content.sequences) or "(any)"
        return [name, f"{content.cases[g]:,}"]

    quantiles, columns = content.quantiles, ["pattern", "training cases"]
    if quantiles is None:
        chosen = np.argsort(-content.cases, kind="stable")[:STATIC]
        return columns, [counted(int(g)) for g in chosen]
    sets, groups = quantiles.shape[1:]
    size = np.abs(quantiles[1]).reshape(-1)
    entries = np.argsort(-size, kind="stable")[:STATIC]
    names = content.classes[-sets:] if content.classes else []
    columns += ["class"] * bool(names) + ["coefficient", "5 %", "95 %"]
    columns += ["times the odds"] * bool(names)
    rows = []
    for k, g in (divmod(int(entry), groups) for entry in entries):
        low, median, high = quantiles[:, k, g]
        row = [*counted(g), *([names[k]] if names else [])]
        row += [f"{median:.3g}", f"{low:.3g}", f"{high:.3g}"]
        rows.append(row + ([f"{np.exp(np.clip(median, -700, 700)):.3g}"] if names else []))
    return columns, rows


# ---- arrays as text ----


def pack(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Return meta and arrays of one dimension as text.

    Whole numbers are exact and take as few bytes as they can; real ones are rounded by `rounded`,
    unless they are whole.
    """
    listed, planes = [], []
    for name, values in arrays.items():
        if values.dtype.kind == "f":
            whole_ones = len(values) and bool((np.floor(values) == values).all())
            kind = "f8" if whole_ones else "f4"
        else:  # the smallest type that has them all
            low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
            kind = "i4" if low < 0 else "u1" if high < 2**8 else "u2" if high < 2**16 else "u4"
        ready = rounded(values) if kind == "f4" else values
        content = np.ascontiguousarray(ready, dtype=f"<{kind}")
        listed.append([name, kind, len(content)])
        size = content.itemsize
        planes.append(content.view(np.uint8).reshape(-1, size).T.tobytes())
    head = json.dumps(meta | {"arrays": listed}, ensure_ascii=False).encode("utf-8", "replace")
    whole = len(head).to_bytes(4, "little") + head + b"".join(planes)
    return base64.b64encode(zlib.compress(whole, 9)).decode()


def rounded(values: np.ndarray) -> np.ndarray:
    """Return real numbers as 32 bits of which only DIGITS of the mantissa are used."""
    bits = np.asarray(values, dtype="<f4").view(np.uint32).astype(np.uint64)
    drop = 23 - DIGITS
    kept = (bits + (1 << (drop - 1))) >> drop << drop
    return kept.astype(np.uint32).view("<f4")
