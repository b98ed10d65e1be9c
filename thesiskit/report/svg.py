"""A finished figure of matplotlib as SVG that stands in a page, and the values that it shows.

The picture is the one of the PNG and PDF files.  Its series, panels, ticks and entries of legends
get ids and classes here, which templates/figures.js looks up: they are read from the finished
figure, so that the functions that draw know nothing of pages.  Ids begin with the name of the
figure, which a page has once, and the same figure gives the same bytes.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

INCH = 72  # units of SVG; the page shows an inch of the figure with WIDE pixels
WIDE = 100
DOTS = 100  # per inch, of what stays an image: clouds of many points, and squares of colours
ROOM = 40_000  # characters for the points of a figure: the largest clouds become images
POINT, PLACE = 60, 14  # characters of a point with a shape of its own, and of a place of a line
MOST_VALUES = 2_500  # points of a figure that tell their values: of more, each so many-th one
FONT = re.compile(r"(?:; )?font-family: [^;\"]*")
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "lambda": "λ", "mu": "μ", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "theta": "θ", "phi": "φ", "leq": "≤", "geq": "≥",
    "times": "×", "cdot": "·", "pm": "±", "infty": "∞",
}  # fmt: skip
SHIFTED = r"(?:\{([^{}]*)\}|(.))"  # what is raised or lowered
RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
LOWERED = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")


def drawing(figure: Canvas, name: str) -> tuple[str, dict[str, Any]]:
    """Return a figure as the rest of an SVG element, behind `<svg `, and the values that it shows.

    figure : one that has been drawn, so that its layout is known; nothing is drawn after this.
    name : what all ids begin with.
    The values have `panels`, each with its place, its axes, and its marks with their points, and
    `legend`, the entries with the series that they switch.
    """
    from matplotlib import rc_context

    figure.set_layout_engine("none")  # all stays where it was drawn
    written: dict[str, str] = {}  # what stands in the tag of an artist, by its id
    values = _shown(figure, name, written)
    text = io.StringIO()
    nothing: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    own: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "svg.image_inline": True}
    with rc_context(own), warnings.catch_warnings():
        # the browser has letters that matplotlib's font does not have
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        figure.savefig(text, format="svg", dpi=DOTS, metadata=nothing)
    clips = ""
    for panel in values["panels"]:  # beyond its rectangle its marks are not seen
        left, bottom, right, top = panel["box"]
        size = f'width="{right - left:.2f}" height="{bottom - top:.2f}"'
        rectangle = f'<rect x="{left}" y="{top}" {size}/>'
        clips += f'<clipPath id="{panel["id"]}-clip">{rectangle}</clipPath>'
    return _compact(text.getvalue(), name, written, clips), values


# ---- the text ----


def _compact(text: str, name: str, written: dict[str, str], clips: str) -> str:
    """Return the SVG element of a file of matplotlib: ids of the page, short numbers, no fonts."""
    width, height = map(float, re.findall(r'(?:width|height)="([\d.]+)pt"', text)[:2])
    body = text[text.index(">", text.index("<svg")) + 1 : text.rindex("</svg>")]
    body = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.S)
    body = body.replace("xlink:href", "href").replace("base64,\n", "base64,")
    body = re.sub(r">\s+<", "><", body).strip()
    links = re.findall(r'<[^>]*?(?:href="#|url\(#)([^")]+)', body)
    shared = {old: f"{name}--m{i}" for i, old in enumerate(dict.fromkeys(links))}
    written = written | {old: f'id="{new}"' for old, new in shared.items()}
    body = re.sub(r"<[^>]*>", lambda tag: _tag_of_page(tag[0], written, shared), body)
    defined = clips + "".join(re.findall(r"<defs>(.*?)</defs>", body, flags=re.S))
    body = re.sub(r"<defs>.*?</defs>|<defs/>|<g></g>", "", body, flags=re.S)
    size = f'viewBox="0 0 {width:g} {height:g}" style="width:{width * WIDE / INCH:.0f}px"'
    return f"{size}><defs>{defined}</defs>{body}</svg>"


def _tag_of_page(tag: str, written: dict[str, str], shared: dict[str, str]) -> str:
    """Return a tag as it stands in the page: short numbers, the page's ids and no fonts."""
    if not tag.startswith("<image"):
        tag = re.sub(
            r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), tag
        )
        tag = FONT.sub("", tag)
        tag = re.sub(r'(href="#|url\(#)([^")]+)', lambda link: link[1] + shared[link[2]], tag)
    tag = re.sub(r' id="([^"]*)"', lambda known: " " + written.get(known[1], ""), tag)
    tag = re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag).replace(" >", ">").replace(" />", "/>")
    return f'<g class="mark free">{tag}</g>' if tag.startswith("<image") else tag


# ---- what is shown ----


def _shown(figure: Canvas, name: str, written: dict[str, str]) -> dict[str, Any]:
    """Return the values that a figure shows; write what the page looks up into its tags."""
    legend: list[dict[str, str]] = []  # the id of each entry, and the series that it names
    for handle, text in _entries(figure):
        entry = f"{name}--legend-{len(legend)}"
        _tag(text, entry, f'id="{entry}"', written)
        _tag(handle, f"{entry}-sign", f'id="{entry}-sign"', written)
        legend.append({"id": entry, "series": plain(text.get_text())})
    series_of = _series(figure)
    bars = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    seen = [axes for axes in figure.axes if axes not in bars and axes.get_visible()]
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    panels, marks = [], []
    for number, axes in enumerate(axes for axes in seen if axes.axison):
        place = f"{name}--{number}"
        _tag(axes, place, f'id="{place}"', written)
        box = axes.bbox.transformed(_to_units(figure))
        mine = _marks(axes, place, series_of)
        marks += mine
        _write_moving(axes, place, written)
        panels.append({
            "id": place, "title": plain(axes.get_title() or axes.get_title(loc="left")),
            "box": [round(float(edge), 2) for edge in (box.x0, box.y0, box.x1, box.y1)],
            "x": _axis(figure, seen, axes, "x"), "y": _axis(figure, seen, axes, "y"),
            "marks": mine,
        })  # fmt: skip
    _make_images(marks, written)
    drawn = {mark["series"] for mark in marks if mark["id"]}
    return {
        "value": plain(bars[0].get_ylabel() or bars[0].get_xlabel()) if bars else "value",
        "legend": [entry for entry in legend if entry["series"] in drawn],
        "panels": panels,
    }


def _tag(artist: Any, key: str, attributes: str, written: dict[str, str]) -> None:
    """Let an artist have attributes in its tag."""
    artist.set_gid(key)
    written[key] = attributes


def _to_units(figure: Canvas) -> Any:
    """Return the transform from matplotlib's pixels to the units of SVG, whose y points down."""
    from matplotlib.transforms import Affine2D

    times = INCH / figure.dpi
    return Affine2D().scale(times, -times).translate(0, figure.get_size_inches()[1] * INCH)


def _entries(figure: Canvas) -> list[tuple[Any, Any]]:
    """Return the sign and the text of each entry of all legends."""
    legends = filter(None, [*(axes.get_legend() for axes in figure.axes), *figure.legends])
    each = [zip(one.legend_handles, one.get_texts(), strict=True) for one in legends]
    return list(chain.from_iterable(each))


def _series(figure: Canvas) -> Callable[[Any], str]:
    """Return what gives the series of an artist: its label, or that of an entry that looks so."""
    known: dict[Any, str] = {}
    looks: dict[tuple, str] = {}
    for axes in figure.axes:
        for container in axes.containers:
            known |= dict.fromkeys(container.get_children(), str(container.get_label()))
    for handle, text in _entries(figure):
        look, name = _look(handle), plain(text.get_text())
        looks[look] = name if looks.get(look, name) == name else ""

    def series(artist: Any) -> str:
        label = known.get(artist, str(artist.get_label()))
        return looks.get(_look(artist), "") if label[:1] in ("_", "") else plain(label)

    return series


def _look(artist: Any) -> tuple:
    """Return what artists have in common that look the same."""
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    match artist:
        case Line2D():
            shape = artist.get_marker(), artist.get_fillstyle(), str(artist.get_markerfacecolor())
            return (to_hex(artist.get_color()), artist.get_linestyle(), *shape)
        case Patch():
            return (to_hex(artist.get_facecolor()),)
    return (id(artist),)


# ---- marks ----


def _marks(axes: Any, place: str, series_of: Callable[[Any], str]) -> list[dict[str, Any]]:
    """Return the marks of a panel: id, series, and the values of its points.

    A point is [x, y]; or [x, y, x2, y2] of a bar, a segment or a square, which can have a value
    behind these.  What goes across the whole panel has null in that direction.
    """
    found: list[dict[str, Any]] = []
    spans = [abs(end - start) for start, end in (axes.get_xlim(), axes.get_ylim())] * 2 + [0]
    for artist in (*axes.collections, *axes.patches, *axes.lines, *axes.images):
        if artist.get_visible():
            series = series_of(artist)
            word = re.sub(r"[^a-z0-9]+", "-", series.lower()).strip("-") or "mark"
            found.append({
                "id": f"{place}-{word}-{len(found)}", "series": series, "artist": artist,
                "panel": place, "points": [point for point in _points(axes, artist)
                           if all(value is None or np.isfinite(value) for value in point)],
                "spans": spans,
            })  # fmt: skip
    return found


def _points(axes: Any, artist: Any) -> list:
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    inside = artist.get_transform().contains_branch_seperately(axes.transData)
    bars = [patch for one in axes.containers for patch in getattr(one, "patches", ())]
    match artist:
        case AxesImage():
            return _squares(artist)
        case PathCollection():
            return np.ma.filled(np.ma.asarray(artist.get_offsets(), dtype=float), np.nan).tolist()
        case Line2D():
            x, y = (np.ma.filled(np.ma.asarray(one, dtype=float), np.nan).tolist()
                    for one in artist.get_data(orig=False))  # fmt: skip
            if all(inside):  # a line without symbols between two points tells nothing
                bare = hasattr(artist, "get_slope") or (len(x) < 3 and not _symbols(artist))
                return [] if bare else [list(pair) for pair in zip(x, y, strict=True)]
            across = [x[0], None] if inside[0] else [None, y[0]]
            return [across * 2] if any(inside) else []
        case LineCollection() if all(inside):
            ends = [segment.ravel().tolist() for segment in artist.get_segments()]
            return [four for four in ends if len(four) == 4]
        case Rectangle() if artist in bars:
            (x, y), width, height = artist.get_xy(), artist.get_width(), artist.get_height()
            return [[float(x), float(y), float(x + width), float(y + height)]]
    return []


def _symbols(artist: Any) -> bool:
    """Whether each point of an artist has a symbol of its own."""
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

    match artist:
        case Line2D():
            return artist.get_marker() not in ("None", "none", "", " ", None)
        case PathCollection():
            return True
    return False


def _squares(image: Any) -> list[list[float]]:
    cells: np.ndarray = np.ma.asarray(image.get_array(), dtype=float)
    if cells.ndim != 2 or cells.size > MOST_VALUES:
        return []
    left, right, bottom, top = image.get_extent()
    x = np.linspace(left, right, cells.shape[1] + 1).tolist()
    y = np.linspace(bottom, top, cells.shape[0] + 1).tolist()
    y = y[::-1] if image.origin == "upper" else y
    values = np.ma.filled(cells, np.nan)
    return [[x[j], y[i], x[j + 1], y[i + 1], float(v)] for (i, j), v in np.ndenumerate(values)]


def _make_images(marks: list[dict[str, Any]], written: dict[str, str]) -> None:
    """Make images of the largest clouds until the others have room; round and thin the values.

    An image has no id, so that no entry of a legend switches it; its points tell their values.
    """

    def size(mark: dict[str, Any]) -> int:
        return len(mark["points"]) * (POINT if _symbols(mark["artist"]) else PLACE)

    room, step = ROOM, max(1, -(-sum(len(mark["points"]) for mark in marks) // MOST_VALUES))
    for mark in sorted(marks, key=size):
        artist, spans, panel = (mark.pop(key) for key in ("artist", "spans", "panel"))
        room -= size(mark | {"artist": artist})
        image = room < 0 or hasattr(artist, "get_extent")
        if not image:
            kinds = ["mark", *["points"] * _symbols(artist), *["free"] * (not artist.get_clip_on())]
            clip = f' clip-path="url(#{panel}-clip)"' if artist.get_clip_on() else ""
            _tag(artist, mark["id"], f'id="{mark["id"]}" class="{" ".join(kinds)}"{clip}', written)
            artist.set_clip_on(False)  # the tag clips it
        artist.set_rasterized(image)
        mark["id"] = "" if image else mark["id"]
        mark["points"] = [
            [value if value is None else _rounded(value, span)
             for value, span in zip(point, spans, strict=False)]
            for point in mark["points"][::step]
        ]  # fmt: skip


def _rounded(value: float, span: float) -> float:
    """Return a number with four digits, or more where an axis of this span shows more."""
    sizes = [math.floor(math.log10(size)) for size in (abs(value), span) if size > 0]
    short = round(value, 3 - min(sizes, default=0))
    return int(short) if short == int(short) else short


def _write_moving(axes: Any, place: str, written: dict[str, str]) -> None:
    """Write where ticks and texts are, in units, for the directions in which a zoom moves them."""
    to_units = axes.transData + _to_units(axes.get_figure())
    corner = axes.get_xlim()[0], axes.get_ylim()[0]
    moving: list[tuple[Any, str, tuple]] = []
    for axis, which in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            place_of = (tick.get_loc(), None) if which == "x" else (None, tick.get_loc())
            moving.append((tick, f'class="{which}tick"', place_of))
    for text in axes.texts:
        if hasattr(text, "xycoords"):  # an annotation: its place, and points away from it
            kinds = text.xycoords if isinstance(text.xycoords, tuple) else (text.xycoords,) * 2
            inside, at = [kind == "data" for kind in kinds], text.xy
        else:
            inside = text.get_transform().contains_branch_seperately(axes.transData)
            at = text.get_position()
        moving.append((text, "", tuple(v if i else None for v, i in zip(at, inside, strict=True))))
    for number, (artist, tag, at) in enumerate(moving):
        units = to_units.transform([c if v is None else v for v, c in zip(at, corner, strict=True)])
        for which, value, unit in zip("xy", at, units, strict=True):
            tag += "" if value is None else f' data-{which}="{unit:.2f}"'
        _tag(artist, f"{place}-moves-{number}", tag.strip(), written)


# ---- axes ----


def _axis(figure: Canvas, panels: list, axes: Any, which: str) -> dict[str, Any]:
    """Return an axis: its name, its ends as its scale has them, and how values are written.

    words : what the ticks say, where they say no numbers.  unit : "%" where values are fractions.
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    ends = [float(end) for end in (axes.get_xlim() if which == "x" else axes.get_ylim())]
    found: dict[str, Any] = {"name": _name(figure, panels, axes, which), "ends": ends}
    labels = {
        float(place): plain(label.get_text())
        for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False)
        if min(ends) <= place <= max(ends) and label.get_text()
    }
    if axis.get_scale() == "log":
        found |= {"log": True, "ends": [math.log(end) for end in ends]}
    elif axis.get_scale() == "symlog":
        transform = axis.get_transform()
        scaled = 0.9 * transform.transform(ends)  # values themselves where it is linear
        found |= {"symlog": transform.linthresh, "ends": scaled.tolist()}
    elif labels and all(label.endswith("%") for label in labels.values()):
        found["unit"] = "%"
    elif any(not re.fullmatch(r"[-−]?[\d,.]+", label) for label in labels.values()):
        places = (str(_rounded(place, 0)).replace("-", "−") for place in labels)
        found["words"] = dict(zip(places, labels.values(), strict=True))
    return found if found["name"] or "words" in found else found | {"name": which}


def _name(figure: Canvas, panels: list, axes: Any, which: str) -> str:
    """Return what an axis means: its own title, that of its row or column, or the figure's."""
    whole = figure.get_supxlabel() if which == "x" else figure.get_supylabel()
    own = plain(getattr(axes, f"get_{which}label")() or whole)
    if own or axes.get_subplotspec() is None:
        return own
    span = "colspan" if which == "x" else "rowspan"
    mine = getattr(axes.get_subplotspec(), span)
    alike = [plain(getattr(one, f"get_{which}label")()) for one in panels
             if one.get_subplotspec() and getattr(one.get_subplotspec(), span) == mine]  # fmt: skip
    return next(filter(None, reversed(alike)), "")


def plain(text: str) -> str:
    r"""Return a text of a figure in a line, without mathtext: "$\sigma_{10}$" becomes "σ₁₀"."""

    def formula(found: re.Match) -> str:
        known = re.sub(r"\\([a-zA-Z]+)", lambda greek: GREEK.get(greek[1], ""), found[1])
        known = re.sub(rf"\^{SHIFTED}", lambda f: (f[1] or f[2]).translate(RAISED), known)
        known = re.sub(f"_{SHIFTED}", lambda f: (f[1] or f[2]).translate(LOWERED), known)
        return known.replace("{", "").replace("}", "").strip()

    inside = re.sub(r"(?<!\\)\$(.+?)(?<!\\)\$", formula, text)
    return " ".join(inside.replace(r"\$", "$").split())
