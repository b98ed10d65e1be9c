"""What matplotlib has drawn in a panel, as layers of Vega-Lite."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thesiskit.report.explore.words import Writer, number_words, plain, quoted

POINT = 1.35  # pixels of the page for a point of matplotlib
MOST_CELLS, MOST_POINTS, MOST_HOVERED = 5_000, 20_000, 1_500  # of an image, a layer, a line
CODES = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}  # of a path of matplotlib
HIT = 90  # square pixels around a point in which the pointer finds it


class UntranslatableError(Exception):
    """The figure has something that cannot be translated: it stays a picture."""


@dataclass(frozen=True)
class Panel:
    """What the layers of a panel share.

    axes : the drawn axes of matplotlib.
    x, y : the titles of the axes; write_x and write_y write their values.
    value : what the colours of an image mean.
    series : returns the series of an artist; "" if it belongs to none.
    """

    axes: Any
    x: str
    y: str
    write_x: Writer
    write_y: Writer
    value: str
    series: Callable[[Any], str]

    def tooltip(self, series: str, *pairs: tuple[str, str]) -> dict[str, Any]:
        """Return the expression of what is shown under the pointer; pairs are (title, value)."""
        shown = [("title", quoted(series))] if series else []
        text = ", ".join(f"{quoted(name)}: {value}" for name, value in [*shown, *pairs])
        return {"value": {"expr": f"{{{text}}}"}}

    def told(self, which: str, column: str) -> tuple[str, str]:
        """Return the title of an axis, and what writes a column of the data on it."""
        title, write = (self.x, self.write_x) if which == "x" else (self.y, self.write_y)
        return title or which, write(f"datum.{column}")


@dataclass
class Layer:
    """Marks of one kind and style.

    look : the mark.  encoding : beyond x and y.  rows : the data, a tuple for each row of columns.
    """

    look: dict[str, Any]
    columns: tuple[str, ...]
    rows: list[tuple]
    order: float
    series: str = ""
    encoding: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What layers have in common that are drawn as one."""
        same = [self.look, self.columns, self.order, self.series, self.encoding]
        return json.dumps(same, sort_keys=True)

    def spec(self, switches: dict[str, str]) -> dict[str, Any]:
        """Return the layer as Vega-Lite; switches has the name of the switch of each series."""
        lines = [",".join(self.columns), *(",".join(map(_cell, row)) for row in self.rows)]
        parse = {name: "string" if name in ("c", "t") else "number" for name in self.columns}
        place = {name: {"field": name} for name in self.columns if name in ("x", "y", "x2", "y2")}
        found: dict[str, Any] = {
            "data": {"values": "\n".join(lines), "format": {"type": "csv", "parse": parse}},
            "mark": self.look,
            "encoding": place | self.encoding,
        }
        if self.series in switches:
            found["transform"] = [{"filter": switches[self.series]}]
        return found


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""').replace("\n", " ") + '"'
    return f"{value:.5g}" if np.isfinite(value) else ""


def layers_of(panel: Panel) -> list[Layer]:
    """Return the layers of a panel, in the order in which they are drawn."""
    from matplotlib.collections import LineCollection, PathCollection, PolyCollection
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Rectangle

    axes = panel.axes
    kinds: list[tuple[type, Callable[[Panel, Any], Iterator[Layer]]]] = [
        (Line2D, _line), (LineCollection, _segments), (PathCollection, _scatter),
        (PolyCollection, _polygons), (Rectangle, _rectangle), (Patch, _patch), (AxesImage, _image),
    ]  # fmt: skip
    artists = [*axes.patches, *axes.collections, *axes.images, *axes.lines, *axes.artists]
    found: list[Layer] = []
    for artist in sorted(artists, key=lambda one: one.get_zorder()):
        if not artist.get_visible():
            continue
        make = next((make for kind, make in kinds if isinstance(artist, kind)), None)
        if make is None:
            raise UntranslatableError(type(artist).__name__)
        found += make(panel, artist)
    for text in axes.texts:
        if text.get_visible() and text.get_text().strip():
            found += _text(panel, text)
    merged: dict[str, Layer] = {}
    for layer in found:
        if layer.key in merged:
            before = merged[layer.key].rows
            step = before[-1][-1] + 1 if layer.columns[-1] == "g" and before else 0
            before += [(*row[:-1], step) for row in layer.rows] if step else layer.rows
        else:
            merged[layer.key] = layer
    if any(len(layer.rows) > MOST_POINTS for layer in merged.values()):
        raise UntranslatableError("too many marks")
    return [layer for layer in merged.values() if layer.rows]


# ---- lines and points ----


def _line(panel: Panel, line: Any) -> Iterator[Layer]:
    axes, series, order = panel.axes, panel.series(line), line.get_zorder()
    x, y = (np.ma.filled(np.ma.asarray(one, dtype=float), np.nan)
            for one in line.get_data(orig=False))  # fmt: skip
    if len(x) == 0:
        return
    look = stroke_of(line)
    if hasattr(line, "get_slope"):  # a line without ends
        x, y = _without_ends(axes, line)
    else:
        in_x, in_y = line.get_transform().contains_branch_seperately(axes.transData)
        if not in_x and not in_y:
            raise UntranslatableError("a line that is not in the data")
        if not in_x or not in_y:  # across the whole panel
            name, value = ("x", x[0]) if in_x else ("y", y[0])
            tip = panel.tooltip(series, panel.told(name, name))
            yield Layer({"type": "rule", **look}, (name,), [(value,)], order, series,
                        {"tooltip": tip})  # fmt: skip
            return
    tip = panel.tooltip(series, panel.told("x", "x"), panel.told("y", "y"))
    marked = line.get_marker() not in ("None", "none", "", " ", None)
    if look and len(x) > 1:
        steps = {"steps-post": "step-after", "steps-pre": "step-before", "steps-mid": "step"}
        shape = steps.get(line.get_drawstyle(), "linear")
        rows = [(*pair, i, 0) for i, pair in enumerate(zip(x, y, strict=True))]
        yield Layer(
            {"type": "line", "interpolate": shape, "clip": line.get_clip_on(), **look},
            ("x", "y", "n", "g"), rows, order, series, _ordered(),
        )  # fmt: skip
        if not marked and len(x) > 2 and not hasattr(line, "get_slope"):
            thin = rows[:: -(-len(rows) // MOST_HOVERED)]
            yield Layer(
                {"type": "point", "filled": True, "size": HIT, "opacity": 0, "clip": True,
                 "color": look["color"]},
                ("x", "y"), [row[:2] for row in thin], order + 1e-3, series, {"tooltip": tip},
            )  # fmt: skip
    if marked:
        rows = list(zip(x, y, strict=True))
        for look in marker_of(line):
            yield Layer({"type": "point", "clip": line.get_clip_on(), **look}, ("x", "y"), rows,
                        order + 2e-3, series, {"tooltip": tip})  # fmt: skip
        if line.get_markersize() * POINT < 8 and len(rows) <= MOST_HOVERED:
            yield Layer({"type": "point", "filled": True, "size": HIT, "opacity": 0, "clip": True},
                        ("x", "y"), rows, order + 3e-3, series, {"tooltip": tip})  # fmt: skip


def _ordered() -> dict[str, Any]:
    return {"order": {"field": "n", "type": "quantitative"},
            "detail": {"field": "g", "type": "nominal"}}  # fmt: skip


def _without_ends(axes: Any, line: Any) -> tuple[np.ndarray, np.ndarray]:
    if axes.get_xscale() != "linear" or axes.get_yscale() != "linear" or line.get_xy2() is not None:
        raise UntranslatableError("a line through two points")
    x, y = line.get_xy1()
    low, high = axes.get_xlim()
    ends = np.array([low - 3 * (high - low), high + 3 * (high - low)])
    return ends, y + line.get_slope() * (ends - x)


def stroke_of(line: Any) -> dict[str, Any]:
    """Return the look of a line; {} if only its points are drawn."""
    if line.get_linestyle() in ("None", "none", "", " "):
        return {}
    dashes = line._unscaled_dash_pattern[1]  # matplotlib has no public name for it
    return _stroke(line.get_color(), line.get_alpha(), line.get_linewidth(), dashes)


def _stroke(colour: Any, alpha: float | None, width: float, dashes: Any) -> dict[str, Any]:
    found = {"color": _hex(colour), "strokeWidth": round(float(width) * POINT, 2),
             "opacity": _opacity(colour, alpha)}  # fmt: skip
    if dashes is not None:
        found["strokeDash"] = [round(float(one) * max(width, 1) * POINT, 1) for one in dashes]
    return found


def marker_of(line: Any) -> list[dict[str, Any]]:
    """Return the looks of the points of a line, from back to front."""
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(line.get_marker(), line.get_fillstyle())
    size = round((line.get_markersize() * POINT) ** 2, 1)
    face = line.get_markerfacecolor()
    edge = {"stroke": _hex(line.get_markeredgecolor()) or _hex(line.get_color()),
            "strokeWidth": round(line.get_markeredgewidth() * POINT, 2)}  # fmt: skip
    common = {"size": size, "opacity": _opacity(line.get_color(), line.get_alpha()), **edge}
    if line.get_marker() == "." and not line.get_alpha():
        common["strokeWidth"] = 0
    fill = _hex(face) if style.is_filled() else None
    shape = svg_path(style.get_path().transformed(style.get_transform()), 2)
    other = style.get_alt_path()
    looks = [{"shape": shape, "fill": fill or "transparent", **common}]
    if other is not None:
        back = svg_path(other.transformed(style.get_alt_transform()), 2)
        alternative = _hex(line.get_markerfacecoloralt()) or "#ffffff"
        looks.insert(0, {"shape": back, "fill": alternative, **common})
    return looks


def svg_path(path: Any, times: float) -> str:
    """Return a path of matplotlib in the letters of SVG, whose y axis points down."""
    words = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        places = [] if code == 79 else np.asarray(points).reshape(-1, 2) * (times, -times)
        words.append(CODES[int(code)] + ",".join(f"{one:.3g}" for pair in places for one in pair))
    return "".join(words)


def _scatter(panel: Panel, found: Any) -> Iterator[Layer]:
    places = np.ma.filled(np.ma.asarray(found.get_offsets(), dtype=float), np.nan)
    faces, sizes = found.get_facecolors(), found.get_sizes()
    edges, paths = found.get_edgecolors(), found.get_paths()
    if len(paths) != 1 or not _in_data(panel, found.get_offset_transform()):
        raise UntranslatableError("points of several shapes")
    n = len(places)
    colours = [_hex(faces[i % len(faces)]) or "transparent" if len(faces) else "transparent"
               for i in range(n)]  # fmt: skip
    areas = [float(sizes[i % len(sizes)]) * POINT**2 for i in range(n)]
    series = panel.series(found)
    look = {"type": "point", "clip": found.get_clip_on(), "shape": svg_path(paths[0], 2),
            "opacity": _opacity(faces[0] if len(faces) else None, found.get_alpha()),
            "stroke": _hex(edges[0]) if len(edges) else None}  # fmt: skip
    yield Layer(
        look, ("x", "y", "c", "a"),
        [(*place, c, a) for place, c, a in zip(places, colours, areas, strict=True)],
        found.get_zorder(), series,
        {"fill": _as_it_is("c"), "size": _as_it_is("a", "quantitative"),
         "tooltip": panel.tooltip(series, panel.told("x", "x"), panel.told("y", "y"))},
    )  # fmt: skip


def _as_it_is(column: str, kind: str = "nominal") -> dict[str, Any]:
    return {"field": column, "type": kind, "scale": None, "legend": None}


def _segments(panel: Panel, found: Any) -> Iterator[Layer]:
    if not _in_data(panel, found.get_transform()):
        raise UntranslatableError("segments that are not in the data")
    colours, widths = found.get_colors(), found.get_linewidths()
    dashes, series = found.get_linestyle(), panel.series(found)
    for i, segment in enumerate(found.get_segments()):
        if len(segment) != 2:
            raise UntranslatableError("a segment that is bent")
        look = _stroke(colours[i % len(colours)], found.get_alpha(), widths[i % len(widths)],
                       dashes[i % len(dashes)][1])  # fmt: skip
        (x, y), (x2, y2) = segment
        across = "x" if y == y2 else "y"
        tip = panel.tooltip(
            series,
            panel.told("y" if across == "x" else "x", "y" if across == "x" else "x"),
            ("from", panel.told(across, across)[1]), ("to", panel.told(across, f"{across}2")[1]),
        )  # fmt: skip
        yield Layer({"type": "rule", "clip": found.get_clip_on(), **look}, ("x", "y", "x2", "y2"),
                    [(x, y, x2, y2)], found.get_zorder(), series, {"tooltip": tip})  # fmt: skip


# ---- areas and images ----


def _polygons(panel: Panel, found: Any) -> Iterator[Layer]:
    if not _in_data(panel, found.get_transform()):
        raise UntranslatableError("an area that is not in the data")
    faces, edges = found.get_facecolors(), found.get_edgecolors()
    for i, path in enumerate(found.get_paths()):
        face = faces[i % len(faces)] if len(faces) else None
        edge = edges[i % len(edges)] if len(edges) else None
        width = float(found.get_linewidths()[0]) if len(found.get_linewidths()) else 0
        yield _polygon(panel, found, path.vertices, face, edge, width)


def _polygon(panel, artist, places, face, edge, width) -> Layer:
    fill, stroke = _hex(face), _hex(edge)
    look = {"type": "line", "clip": artist.get_clip_on(), "fill": fill or "transparent",
            "color": stroke or "transparent", "strokeWidth": round(width * POINT, 2),
            "opacity": _opacity(face if fill else edge, artist.get_alpha())}  # fmt: skip
    if fill:
        look["interpolate"] = "linear-closed"
    rows = [(*pair, n, 0) for n, pair in enumerate(places)]
    return Layer(look, ("x", "y", "n", "g"), rows, artist.get_zorder(), panel.series(artist),
                 _ordered())  # fmt: skip


def _rectangle(panel: Panel, found: Any) -> Iterator[Layer]:
    if found.get_angle() or not _in_data(panel, found.get_transform()):
        raise UntranslatableError("a rectangle that is not in the data")
    x, y, width, height = (float(one) for one in (*found.get_xy(), found.get_width(),
                                                  found.get_height()))  # fmt: skip
    face, edge, series = found.get_facecolor(), found.get_edgecolor(), panel.series(found)
    look = {"type": "rect", "clip": found.get_clip_on(), "fill": _hex(face) or "transparent",
            "stroke": _hex(edge), "strokeWidth": round(found.get_linewidth() * POINT, 2),
            "opacity": _opacity(face if _hex(face) else edge, found.get_alpha())}  # fmt: skip
    encoding = {}
    if any(found in one.patches for one in panel.axes.containers if hasattr(one, "patches")):
        name, value = panel.told("x", "x")
        span = f"{value} + ' to ' + {panel.told('x', 'x2')[1]}"
        encoding["tooltip"] = panel.tooltip(series, (name, span), panel.told("y", "y2"))
    yield Layer(look, ("x", "y", "x2", "y2"), [(x, y, x + width, y + height)],
                found.get_zorder(), series, encoding)  # fmt: skip


def _patch(panel: Panel, found: Any) -> Iterator[Layer]:
    if not _in_data(panel, found.get_transform()):
        raise UntranslatableError("a shape that is not in the data")
    path = found.get_path().transformed(found.get_patch_transform())
    if path.codes is not None and set(path.codes) - {1, 2, 79}:
        raise UntranslatableError("a shape that is bent")
    face = found.get_facecolor() if found.get_fill() else None
    closed = path.codes is not None and path.codes[-1] == 79
    places = np.vstack([path.vertices[:-1], path.vertices[:1]]) if closed else path.vertices
    yield _polygon(panel, found, places, face, found.get_edgecolor(), found.get_linewidth())


def _image(panel: Panel, found: Any) -> Iterator[Layer]:
    cells = np.ma.asarray(found.get_array())
    if cells.ndim != 2 or cells.size > MOST_CELLS:
        raise UntranslatableError("a picture")
    values = np.ma.filled(cells.astype(float), np.nan)
    left, right, bottom, top = found.get_extent()
    x = np.linspace(left, right, values.shape[1] + 1)
    y = np.linspace(bottom, top, values.shape[0] + 1)
    if found.origin == "upper":
        y = y[::-1]
    colours = found.cmap(found.norm(cells))
    rows = [(x[j], y[i], x[j + 1], y[i + 1], value, _hex(colours[i, j]) or "transparent")
            for (i, j), value in np.ndenumerate(values) if np.isfinite(value)]  # fmt: skip
    value = (panel.value or "value", number_words("datum.v"))
    yield Layer(
        {"type": "rect", "clip": True}, ("x", "y", "x2", "y2", "v", "c"), rows,
        found.get_zorder(), "", {"fill": _as_it_is("c"), "tooltip": panel.tooltip("", value)},
    )  # fmt: skip


# ---- text ----


def _text(panel: Panel, found: Any) -> Iterator[Layer]:
    if getattr(found, "arrow_patch", None) is not None:
        raise UntranslatableError("an arrow")
    axes, dx, dy = panel.axes, 0.0, 0.0
    if hasattr(found, "xycoords"):  # an annotation: its place, and points away from it
        places, coordinates = found.xy, found.xycoords
        kinds = coordinates if isinstance(coordinates, tuple) else (coordinates, coordinates)
        if found.anncoords == "offset points":
            dx, dy = found.xyann[0] * POINT, -found.xyann[1] * POINT
        elif tuple(found.xyann) != tuple(found.xy):
            raise UntranslatableError("a text beside its place")
        if set(kinds) - {"data", "axes fraction"}:
            raise UntranslatableError("a text that is not in the data")
        in_data = [kind == "data" for kind in kinds]
    else:
        places = found.get_position()
        in_data = list(found.get_transform().contains_branch_seperately(axes.transData))
    columns, encoding, row = [], {}, []
    for name, place, inside in zip("xy", places, in_data, strict=True):
        if inside:
            columns.append(name)
            row.append(float(place))
        elif name == "x":
            encoding["x"] = {"value": 0 if place < 0.5 else "width"}
        else:
            encoding["y"] = {"value": "height" if place < 0.5 else 0}
            dy -= 4 if place > 1 else 0
    beyond = [place for place, inside in zip(places, in_data, strict=True) if not inside]
    if not all(0 <= place <= 1.1 for place in beyond):
        raise UntranslatableError("a text far from its panel")
    lines = plain(found.get_text())
    upright = {"center": "middle", "center_baseline": "middle", "bottom": "bottom", "top": "top",
               "baseline": "alphabetic"}[found.get_va()]  # fmt: skip
    heavy = found.get_weight() in ("bold", "semibold", 700, 600)
    yield Layer(
        {"type": "text", "align": found.get_ha(), "baseline": upright, "lineBreak": "|",
         "fontSize": round(found.get_fontsize() * POINT, 1), "color": _hex(found.get_color()),
         "fontWeight": "bold" if heavy else "normal", "angle": -float(found.get_rotation()),
         "dx": round(dx, 1), "dy": round(dy, 1), "clip": False},
        (*columns, "t"), [(*row, lines.replace("\n", "|"))], found.get_zorder() + 1e3,
        panel.series(found), encoding | {"text": {"field": "t", "type": "nominal"}},
    )  # fmt: skip


# ---- helpers ----


def _in_data(panel: Panel, transform: Any) -> bool:
    return all(transform.contains_branch_seperately(panel.axes.transData))


def _hex(colour: Any) -> str | None:
    """Return a colour as #rrggbb; None for no colour."""
    from matplotlib.colors import to_hex, to_rgba

    if colour is None or to_rgba(colour)[3] == 0:
        return None
    return to_hex(colour)


def _opacity(colour: Any, alpha: float | None) -> float:
    from matplotlib.colors import to_rgba

    if alpha is not None:
        return float(alpha)
    return float(to_rgba(colour)[3]) if colour is not None else 1.0
