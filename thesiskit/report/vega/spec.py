"""A finished figure of matplotlib as a specification of Vega-Lite, which shows the same.

Each of its axes becomes a panel that zooms, with values under the pointer; each entry of its
legends becomes a switch.  Limits, scales, ticks, titles and colours are those of the figure.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from thesiskit.report.vega.layer import Layer, Panel, UntranslatableError, hex_of
from thesiskit.report.vega.lines import NO_MARKER, marker_of, stroke_of
from thesiskit.report.vega.marks import layers_of
from thesiskit.report.vega.words import axis_of, lines_of, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

INCH = 100  # pixels of the page for an inch of the figure; the page then fits it to its width
MOST_CHARACTERS = 400_000  # of a specification: a larger figure stays a picture


def explorable(figure: Canvas) -> dict[str, Any] | None:
    """Return what the page draws a figure from, or None where it has to stay a picture.

    figure : one that has been drawn, so that its layout is known.  The result has `spec`, in
    Vega-Lite, whose `concat` has a panel for each axes; `panels`, what the page needs to lay
    them out; `series`, the switches; and `scales`, the keys of colours.
    """
    try:
        found = _explorable(figure)
    except UntranslatableError:
        return None
    return found if len(json.dumps(found)) < MOST_CHARACTERS else None


def _explorable(figure: Canvas) -> dict[str, Any]:
    bars = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    every = [axes for axes in figure.axes if axes not in bars]
    shown = [axes for axes in every if axes.get_visible() and axes.axison]
    if not shown or any(axes.get_subplotspec() is None for axes in shown) or figure.patches:
        raise UntranslatableError("no axes in a grid")
    names, looks = _legend(figure)
    series = _series_of(figure, names, looks)
    value = plain(bars[0].get_ylabel() or bars[0].get_xlabel()) if bars else ""
    panels, layouts, used = [], [], set()
    for axes in shown:
        x, y = _axis_title(figure, shown, axes, "x"), _axis_title(figure, shown, axes, "y")
        across, write_x = axis_of(axes.xaxis, axes.spines["bottom"])
        upward, write_y = axis_of(axes.yaxis, axes.spines["left"])
        panel = Panel(axes, x, y, write_x, write_y, value, series)
        layers = layers_of(panel)
        used |= {layer.series for layer in layers}
        panels.append((axes, across, upward, layers))
        layouts.append(_layout(shown, axes))
    switches = {name: f"series{i}" for i, name in enumerate(n for n in names if n in used)}
    spec = {
        "params": [{"name": name, "value": True} for name in switches.values()],
        "columns": _columns(shown[0]),
        "spacing": 18,
        "concat": [
            _panel(axes, i, across, upward, layers, switches)
            for i, (axes, across, upward, layers) in enumerate(panels)
        ],
    }
    return {
        "spec": spec,
        "panels": layouts,
        "x": lines_of(figure.get_supxlabel()),
        "y": lines_of(figure.get_supylabel()),
        "series": [
            {"name": name, "switch": switches.get(name, ""), "swatch": _swatch(looks[name])}
            for name in names
        ],
        "scales": [_key_of_colours(axes) for axes in bars],
    }


# ---- panels ----


def _panel(
    axes: Any, i: int, across: dict, upward: dict, layers: list[Layer], switches: dict[str, str]
) -> dict[str, Any]:
    """Return the panel of some axes; its first layer is empty, and holds the zoom."""
    encoding = {
        "x": _channel(axes, "x", across, lines_of(axes.get_xlabel())),
        "y": _channel(axes, "y", upward, lines_of(axes.get_ylabel())),
    }
    corners = zip(axes.get_xlim(), axes.get_ylim(), strict=True)
    ends = [{"x": float(x), "y": float(y)} for x, y in corners]
    zoom = {
        "name": f"zoom{i}",
        "select": {"type": "interval", "encodings": ["x", "y"],
                   "zoom": "wheel![event.ctrlKey || event.metaKey || event.shiftKey]"},
        "bind": "scales",
    }  # fmt: skip
    anchor = {
        "data": {"values": ends}, "mark": {"type": "point", "opacity": 0, "tooltip": None,
                                           "size": 1},
        "encoding": {"x": {"field": "x"}, "y": {"field": "y"}}, "params": [zoom],
    }  # fmt: skip
    width, height = _size(axes)
    box = all(axes.spines[side].get_visible() for side in ("top", "right"))
    return {
        "title": {"text": lines_of(axes.get_title()) + lines_of(axes.get_title(loc="left"))},
        "width": width,
        "height": height,
        "view": {"stroke": "#1f1f1f" if box else None},
        "encoding": encoding,
        "layer": [anchor, *(layer.spec(switches) for layer in layers)],
    }


def _channel(axes: Any, which: str, drawn: dict[str, Any], title: list[str]) -> dict[str, Any]:
    kind = getattr(axes, f"get_{which}scale")()
    ends = [float(end) for end in getattr(axes, f"get_{which}lim")()]
    scale = {"domain": sorted(ends), "nice": False, "type": kind}
    if kind != "log":
        scale["zero"] = False
    if ends[0] > ends[1]:
        scale["reverse"] = True
    if kind == "symlog":
        scale["constant"] = float(getattr(axes, f"{which}axis").get_transform().linthresh)
    elif kind not in ("linear", "log"):
        raise UntranslatableError(f"a {kind} scale")
    axis = drawn | {"title": title or None}
    label = getattr(axes, f"{which}axis").label
    if which == "y" and label.get_rotation() == 0:
        axis |= {"titleAngle": 0, "titleAlign": "right", "titleBaseline": "middle"}
    return {"type": "quantitative", "scale": scale, "axis": axis}


def _columns(axes: Any) -> int:
    return axes.get_subplotspec().get_gridspec().ncols


def _size(axes: Any) -> tuple[int, int]:
    box, (width, height) = axes.get_position(), axes.get_figure().get_size_inches()
    return round(box.width * width * INCH), round(box.height * height * INCH)


def _place(axes: Any) -> tuple[int, int]:
    spec = axes.get_subplotspec()
    return spec.rowspan.start, spec.colspan.start


def _layout(shown: list, axes: Any) -> dict[str, Any]:
    """Return the place of a panel in the grid, and its title where the grid is folded."""
    row, column = _place(axes)
    heads = sorted(_place(one) for one in shown if _place(one)[1] == column)
    above = next(one for one in shown if _place(one) == heads[0])
    sides = sorted(_place(one) for one in shown if _place(one)[0] == row)
    beside = next(one for one in shown if _place(one) == sides[0])
    own = lines_of(axes.get_title()) + lines_of(axes.get_title(loc="left"))
    title = own if above is axes or axes.get_title() else lines_of(above.get_title()) + own
    named = beside is not axes and not lines_of(axes.get_ylabel())
    return {
        "row": row,
        "column": column,
        "title": title,
        "y": lines_of(beside.get_ylabel()) if named else [],
        "x": [] if lines_of(axes.get_xlabel()) else _below(shown, axes),
    }


def _below(shown: list, axes: Any) -> list[str]:
    row, column = _place(axes)
    under = [one for one in shown if _place(one)[1] == column and _place(one)[0] > row]
    return lines_of(max(under, key=_place).get_xlabel()) if under else []


def _axis_title(figure: Canvas, shown: list, axes: Any, which: str) -> str:
    """Return what an axis means: its own title, that of the row or column, or the figure's."""
    mine = _place(axes)
    same = 0 if which == "y" else 1
    title: Callable[[Any], str] = lambda one: getattr(one, f"get_{which}label")()  # noqa: E731
    whole = figure.get_supxlabel() if which == "x" else figure.get_supylabel()
    others = [title(one) for one in shown if _place(one)[same] == mine[same] and title(one)]
    found = whole or title(axes) or (others[-1] if others else "")
    return " ".join(lines_of(found))


# ---- legends ----


def _legend(figure: Canvas) -> tuple[list[str], dict[str, Any]]:
    """Return the names in the legends of a figure, and what each looks like."""
    found: dict[str, Any] = {}
    legends = [axes.get_legend() for axes in figure.axes] + list(figure.legends)
    for legend in legends:
        if legend is not None:
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                name = " ".join(lines_of(text.get_text()))
                found.setdefault(name, _error_lines(figure).get(name, handle))
    return list(found), found


def _error_lines(figure: Canvas) -> dict[str, Any]:
    """Return the line of each series with error bars, of which a legend has only a bar."""
    from matplotlib.container import ErrorbarContainer

    every = [one for axes in figure.axes for one in axes.containers]
    return {
        " ".join(lines_of(str(one.get_label()))): one.lines[0]
        for one in every
        if isinstance(one, ErrorbarContainer) and one.lines[0] is not None
    }


def _series_of(figure: Canvas, names: list[str], looks: dict[str, Any]) -> Callable[[Any], str]:
    """Return what gives the series of an artist: by its label, or because it looks the same."""
    known = {}
    for axes in figure.axes:
        for container in axes.containers:
            for child in container.get_children():
                known[child] = " ".join(lines_of(str(container.get_label() or "")))
    alike = {signature: name for name, look in looks.items() if (signature := _signature(look))}

    def series(artist: Any) -> str:
        label = known.get(artist) or " ".join(lines_of(str(artist.get_label())))
        return label if label in names else alike.get(_signature(artist), "")

    return series


def _signature(artist: Any) -> str:
    """Return what artists have in common that look the same; "" for what has no such look."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(artist, Line2D):
        marked = artist.get_marker() not in NO_MARKER
        stroke = stroke_of(artist)
        return json.dumps([
            [stroke.get("color"), stroke.get("strokeDash")],
            [[one["shape"], one["fill"], one["stroke"]] for one in marker_of(artist)]
            if marked else [],
        ])  # fmt: skip
    if isinstance(artist, Patch):
        return hex_of(artist.get_facecolor()) or ""
    return ""


def _swatch(handle: Any) -> str:
    """Return a small picture of an entry of a legend in SVG; it has numbers and colours only."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    drawn = ""
    if isinstance(handle, Line2D):
        stroke = stroke_of(handle)
        if stroke:
            dash = ",".join(map(str, stroke.get("strokeDash", [])))
            drawn += (f'<path d="M0,7H30" fill="none" stroke="{stroke["color"]}" stroke-width='
                      f'"{stroke["strokeWidth"]}" stroke-dasharray="{dash}"/>')  # fmt: skip
        if handle.get_marker() not in NO_MARKER:
            for one in marker_of(handle):
                half = one["size"] ** 0.5 / 2
                drawn += (f'<path transform="translate(15,7) scale({half:.3g})" d="{one["shape"]}" '
                          f'fill="{one["fill"]}" stroke="{one["stroke"]}" '
                          f'stroke-width="{one["strokeWidth"] / half:.3g}"/>')  # fmt: skip
    elif isinstance(handle, Patch | Collection):
        from matplotlib.colors import to_hex

        colours: list[Any] = [handle.get_facecolor(), handle.get_edgecolor()]
        faces, edges = (np.atleast_2d(one) for one in colours)
        fill = to_hex(faces[0]) if faces.size and faces[0, 3] else "none"
        edge = to_hex(edges[0]) if edges.size and edges[0, 3] else "none"
        drawn = f'<path d="M5,1H25V13H5Z" fill="{fill}" stroke="{edge}"/>'
    return f'<svg viewBox="0 0 30 14" width="30" height="14" aria-hidden="true">{drawn}</svg>'


def _key_of_colours(axes: Any) -> dict[str, Any]:
    """Return the key of the colours of an image: what they mean, colours, and ticks in percent."""
    from matplotlib.colors import to_hex

    bar = axes._colorbar  # the axes of a colour bar know it by no public name
    low, high = bar.vmin, bar.vmax
    norm, map_of = bar.norm, bar.cmap
    values = np.linspace(low, high, 17)
    ticks = [(place, plain(label.get_text()))
             for place, label in zip(bar.get_ticks(), bar.long_axis.get_ticklabels(), strict=False)
             if low <= place <= high]  # fmt: skip
    return {
        "title": " ".join(lines_of(axes.get_ylabel() or axes.get_xlabel())),
        "colours": [to_hex(map_of(norm(value))) for value in values],
        "ticks": [[round(100 * float((place - low) / (high - low)), 1), label]
                  for place, label in ticks],
    }  # fmt: skip
