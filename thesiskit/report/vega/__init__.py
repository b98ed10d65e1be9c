"""Figures that one explores in a page: zoom, values under the pointer, series that switch."""

from thesiskit.report.vega.bundle import library, picture
from thesiskit.report.vega.spec import explorable

__all__ = ["explorable", "library", "picture"]
