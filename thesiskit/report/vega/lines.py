"""Lines, points and segments that matplotlib has drawn, as layers of Vega-Lite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from thesiskit.report.vega.layer import (
    POINT,
    Layer,
    Panel,
    UntranslatableError,
    as_it_is,
    hex_of,
    in_data,
    in_order,
    numbers,
    opacity_of,
)

MOST_HOVERED = 1_500  # points of a line that the pointer finds
HIT = 90  # square pixels around a point in which the pointer finds it
CODES = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}  # of a path of matplotlib
NO_MARKER = ("None", "none", "", " ", None)


def line_layers(panel: Panel, line: Any) -> Iterator[Layer]:
    """Yield a line and its points, which show their values."""
    axes, series, order = panel.axes, panel.series(line), line.get_zorder()
    x, y = map(numbers, line.get_data(orig=False))
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
    marked = line.get_marker() not in NO_MARKER
    if look and len(x) > 1:
        steps = {"steps-post": "step-after", "steps-pre": "step-before", "steps-mid": "step"}
        shape = steps.get(line.get_drawstyle(), "linear")
        rows = [(*pair, i, 0) for i, pair in enumerate(zip(x, y, strict=True))]
        yield Layer(
            {"type": "line", "interpolate": shape, "clip": line.get_clip_on(), **look},
            ("x", "y", "n", "g"), rows, order, series, in_order(),
        )  # fmt: skip
        if not marked and len(x) > 2 and not hasattr(line, "get_slope"):
            thin = rows[:: -(-len(rows) // MOST_HOVERED)]
            yield Layer(
                {"type": "point", "filled": True, "size": HIT, "opacity": 0, "clip": True,
                 "color": look["color"]},
                ("x", "y"), [row[:2] for row in thin], order + 1e-3, series, {"tooltip": tip},
            )  # fmt: skip
    if marked:
        points = list(zip(x, y, strict=True))
        for look in marker_of(line):
            yield Layer({"type": "point", "clip": line.get_clip_on(), **look}, ("x", "y"), points,
                        order + 2e-3, series, {"tooltip": tip})  # fmt: skip
        if line.get_markersize() * POINT < 8 and len(points) <= MOST_HOVERED:
            yield Layer({"type": "point", "filled": True, "size": HIT, "opacity": 0, "clip": True},
                        ("x", "y"), points, order + 3e-3, series, {"tooltip": tip})  # fmt: skip


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
    found: dict[str, Any] = {"color": hex_of(colour), "strokeWidth": round(float(width) * POINT, 2),
             "opacity": opacity_of(colour, alpha)}  # fmt: skip
    if dashes is not None:
        found["strokeDash"] = [round(float(one) * max(width, 1) * POINT, 1) for one in dashes]
    return found


def marker_of(line: Any) -> list[dict[str, Any]]:
    """Return the looks of the points of a line, from back to front."""
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(line.get_marker(), line.get_fillstyle())
    size = round((line.get_markersize() * POINT) ** 2, 1)
    face = line.get_markerfacecolor()
    edge = {"stroke": hex_of(line.get_markeredgecolor()) or hex_of(line.get_color()),
            "strokeWidth": round(line.get_markeredgewidth() * POINT, 2)}  # fmt: skip
    common = {"size": size, "opacity": opacity_of(line.get_color(), line.get_alpha()), **edge}
    if line.get_marker() == "." and not line.get_alpha():
        common["strokeWidth"] = 0
    fill = hex_of(face) if style.is_filled() else None
    shape = svg_path(style.get_path().transformed(style.get_transform()), 2)
    other = style.get_alt_path()
    looks = [{"shape": shape, "fill": fill or "transparent", **common}]
    if other is not None:
        back = svg_path(other.transformed(style.get_alt_transform()), 2)
        alternative = hex_of(line.get_markerfacecoloralt()) or "#ffffff"
        looks.insert(0, {"shape": back, "fill": alternative, **common})
    return looks


def svg_path(path: Any, times: float) -> str:
    """Return a path of matplotlib in the letters of SVG, whose y axis points down."""
    words = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        places = np.asarray(points).reshape(-1, 2) * (times, -times)
        found = [] if code == 79 else places.ravel().tolist()
        words.append(CODES[int(code)] + ",".join(f"{one:.3g}" for one in found))
    return "".join(words)


def scatter_layers(panel: Panel, found: Any) -> Iterator[Layer]:
    """Yield the points of a scatter plot."""
    places = numbers(found.get_offsets())
    faces, sizes = found.get_facecolors(), found.get_sizes()
    edges, paths = found.get_edgecolors(), found.get_paths()
    if len(paths) != 1 or not in_data(panel, found.get_offset_transform()):
        raise UntranslatableError("points of several shapes")
    n = len(places)
    colours = [hex_of(faces[i % len(faces)]) or "transparent" if len(faces) else "transparent"
               for i in range(n)]  # fmt: skip
    areas = [float(sizes[i % len(sizes)]) * POINT**2 for i in range(n)]
    series = panel.series(found)
    look = {"type": "point", "clip": found.get_clip_on(), "shape": svg_path(paths[0], 2),
            "opacity": opacity_of(faces[0] if len(faces) else None, found.get_alpha()),
            "stroke": hex_of(edges[0]) if len(edges) else None}  # fmt: skip
    yield Layer(
        look, ("x", "y", "c", "a"),
        [(*place, c, a) for place, c, a in zip(places, colours, areas, strict=True)],
        found.get_zorder(), series,
        {"fill": as_it_is("c"), "size": as_it_is("a", "quantitative"),
         "tooltip": panel.tooltip(series, panel.told("x", "x"), panel.told("y", "y"))},
    )  # fmt: skip


def segment_layers(panel: Panel, found: Any) -> Iterator[Layer]:
    """Yield segments, such as those of vlines and of error bars."""
    if not in_data(panel, found.get_transform()):
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
