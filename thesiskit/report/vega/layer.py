"""Layers of Vega-Lite, the panel that they are in, and colours as they are written there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thesiskit.report.vega.words import Writer, quoted

POINT = 1.35  # pixels of the page for a point of matplotlib


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


def in_data(panel: Panel, transform: Any) -> bool:
    """Whether a transform begins with the data in both directions."""
    return all(transform.contains_branch_seperately(panel.axes.transData))


def as_it_is(column: str, kind: str = "nominal") -> dict[str, Any]:
    """Return the encoding of a column that holds colours or sizes themselves."""
    return {"field": column, "type": kind, "scale": None, "legend": None}


def in_order() -> dict[str, Any]:
    """Return the encoding of points that are joined in the order of the data."""
    return {"order": {"field": "n", "type": "quantitative"},
            "detail": {"field": "g", "type": "nominal"}}  # fmt: skip


def hex_of(colour: Any) -> str | None:
    """Return a colour as #rrggbb; None for no colour."""
    from matplotlib.colors import to_hex, to_rgba

    if colour is None or to_rgba(colour)[3] == 0:
        return None
    return to_hex(colour)


def opacity_of(colour: Any, alpha: float | None) -> float:
    """Return how opaque a colour is."""
    from matplotlib.colors import to_rgba

    if alpha is not None:
        return float(alpha)
    return float(to_rgba(colour)[3]) if colour is not None else 1.0


def numbers(values: Any) -> np.ndarray:
    """Return an array of numbers, with NaN where it is masked."""
    return np.asarray(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))
