"""What matplotlib has drawn in a panel, as layers of Vega-Lite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from thesiskit.report.vega.areas import (
    image_layers,
    patch_layers,
    polygon_layers,
    rectangle_layers,
    text_layers,
)
from thesiskit.report.vega.layer import Layer, Panel, UntranslatableError
from thesiskit.report.vega.lines import line_layers, scatter_layers, segment_layers

MOST_POINTS = 20_000  # of a layer


def layers_of(panel: Panel) -> list[Layer]:
    """Return the layers of a panel, in the order in which they are drawn."""
    from matplotlib.collections import LineCollection, PathCollection, PolyCollection
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Rectangle

    axes = panel.axes
    kinds: list[tuple[type, Callable[[Panel, Any], Iterator[Layer]]]] = [
        (Line2D, line_layers), (LineCollection, segment_layers), (PathCollection, scatter_layers),
        (PolyCollection, polygon_layers), (Rectangle, rectangle_layers), (Patch, patch_layers),
        (AxesImage, image_layers),
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
            found += text_layers(panel, text)
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
