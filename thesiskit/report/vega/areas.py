"""Areas, images and text that matplotlib has drawn, as layers of Vega-Lite."""

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
    opacity_of,
)
from thesiskit.report.vega.words import number_words, plain

MOST_CELLS = 5_000  # of an image


def polygon_layers(panel: Panel, found: Any) -> Iterator[Layer]:
    """Yield areas, such as those of fill_between."""
    if not in_data(panel, found.get_transform()):
        raise UntranslatableError("an area that is not in the data")
    faces, edges = found.get_facecolors(), found.get_edgecolors()
    for i, path in enumerate(found.get_paths()):
        face = faces[i % len(faces)] if len(faces) else None
        edge = edges[i % len(edges)] if len(edges) else None
        width = float(found.get_linewidths()[0]) if len(found.get_linewidths()) else 0
        yield _polygon(panel, found, path.vertices, face, edge, width)


def _polygon(panel, artist, places, face, edge, width) -> Layer:
    fill, stroke = hex_of(face), hex_of(edge)
    look = {"type": "line", "clip": artist.get_clip_on(), "fill": fill or "transparent",
            "color": stroke or "transparent", "strokeWidth": round(width * POINT, 2),
            "opacity": opacity_of(face if fill else edge, artist.get_alpha())}  # fmt: skip
    if fill:
        look["interpolate"] = "linear-closed"
    rows = [(*pair, n, 0) for n, pair in enumerate(places)]
    return Layer(look, ("x", "y", "n", "g"), rows, artist.get_zorder(), panel.series(artist),
                 in_order())  # fmt: skip


def rectangle_layers(panel: Panel, found: Any) -> Iterator[Layer]:
    """Yield a rectangle; one of a bar or a histogram shows its value."""
    if found.get_angle() or not in_data(panel, found.get_transform()):
        raise UntranslatableError("a rectangle that is not in the data")
    x, y, width, height = (float(one) for one in (*found.get_xy(), found.get_width(),
                                                  found.get_height()))  # fmt: skip
    face, edge, series = found.get_facecolor(), found.get_edgecolor(), panel.series(found)
    look = {"type": "rect", "clip": found.get_clip_on(), "fill": hex_of(face) or "transparent",
            "stroke": hex_of(edge), "strokeWidth": round(found.get_linewidth() * POINT, 2),
            "opacity": opacity_of(face if hex_of(face) else edge, found.get_alpha())}  # fmt: skip
    encoding = {}
    if any(found in one.patches for one in panel.axes.containers if hasattr(one, "patches")):
        name, value = panel.told("x", "x")
        span = f"{value} + ' to ' + {panel.told('x', 'x2')[1]}"
        encoding["tooltip"] = panel.tooltip(series, (name, span), panel.told("y", "y2"))
    yield Layer(look, ("x", "y", "x2", "y2"), [(x, y, x + width, y + height)],
                found.get_zorder(), series, encoding)  # fmt: skip


def patch_layers(panel: Panel, found: Any) -> Iterator[Layer]:
    """Yield any shape with straight sides."""
    if not in_data(panel, found.get_transform()):
        raise UntranslatableError("a shape that is not in the data")
    path = found.get_path().transformed(found.get_patch_transform())
    if path.codes is not None and set(path.codes) - {1, 2, 79}:
        raise UntranslatableError("a shape that is bent")
    face = found.get_facecolor() if found.get_fill() else None
    closed = path.codes is not None and path.codes[-1] == 79
    places = np.vstack([path.vertices[:-1], path.vertices[:1]]) if closed else path.vertices
    yield _polygon(panel, found, places, face, found.get_edgecolor(), found.get_linewidth())


def image_layers(panel: Panel, found: Any) -> Iterator[Layer]:
    """Yield an image as squares that show their values."""
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
    rows = [(x[j], y[i], x[j + 1], y[i + 1], value, hex_of(colours[i, j]) or "transparent")
            for (i, j), value in np.ndenumerate(values) if np.isfinite(value)]  # fmt: skip
    value = (panel.value or "value", number_words("datum.v"))
    yield Layer(
        {"type": "rect", "clip": True}, ("x", "y", "x2", "y2", "v", "c"), rows,
        found.get_zorder(), "", {"fill": as_it_is("c"), "tooltip": panel.tooltip("", value)},
    )  # fmt: skip


def text_layers(panel: Panel, found: Any) -> Iterator[Layer]:
    """Yield a text at a place of the data, or at an edge of the panel."""
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
         "fontSize": round(found.get_fontsize() * POINT, 1), "color": hex_of(found.get_color()),
         "fontWeight": "bold" if heavy else "normal", "angle": -float(found.get_rotation()),
         "dx": round(dx, 1), "dy": round(dy, 1), "clip": False},
        (*columns, "t"), [(*row, lines.replace("\n", "|"))], found.get_zorder() + 1e3,
        panel.series(found), encoding | {"text": {"field": "t", "type": "nominal"}},
    )  # fmt: skip
