"""How lines of methods are drawn: by line style and marker, so that they can be told in grey."""

from typing import Any

from thesiskit.report.layout import INK
from thesiskit.report.record import TEMPERED, Way

STYLES: dict[str, dict[str, Any]] = {
    "corrected": {"linestyle": "--", "marker": "o"},
    "uncorrected": {"linestyle": ":", "marker": "s"},
    "bernoulli-nb": {"linestyle": "-.", "marker": "^"},
    "bernoulli-nb-calibrated": {"linestyle": (0, (5, 1)), "marker": "v"},
    "naive-corrected": {"linestyle": (0, (5, 1)), "marker": "D"},
    "naive-uncorrected": {"linestyle": "-.", "marker": "P"},
    "normal-corrected": {"linestyle": (0, (5, 1)), "marker": "d"},
    "normal-uncorrected": {"linestyle": "-.", "marker": "X"},
}
HALF = {"fillstyle": "left", "markerfacecolor": INK, "markersize": 7}  # with a temperature
FULL = {"markerfacecolor": INK, "markersize": 3.5}  # small, on top of what they may cover
SOME: dict[str, dict[str, Any]] = {  # where some features are relevant
    "corrected": {"linestyle": "-", "marker": "o", **FULL},
    "uncorrected": {"linestyle": (0, (3, 1, 1, 1)), "marker": "s", **FULL},
}


def style(way: Way) -> dict[str, Any]:
    """Return how the line of a method is drawn; with a temperature, its markers are half full."""
    found = SOME[way.method] if way.relevant == "some" else STYLES[way.method]
    return found | (HALF if way.temperature == TEMPERED else {})
