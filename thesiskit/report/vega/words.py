"""What figures say, without matplotlib's notation: labels, ticks and how numbers are written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "lambda": "λ", "mu": "μ", "pi": "π",
    "sigma": "σ", "tau": "τ", "theta": "θ", "phi": "φ", "leq": "≤", "geq": "≥", "times": "×",
    "cdot": "·", "pm": "±", "infty": "∞",
}  # fmt: skip
RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
LOWERED = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")


def plain(text: str) -> str:
    r"""Return a text of a figure without mathtext: "$\sigma_{10}$" becomes "σ₁₀"."""
    inside = re.sub(r"(?<!\\)\$(.+?)(?<!\\)\$", lambda found: _plain_formula(found[1]), text)
    return inside.replace(r"\$", "$")


def _plain_formula(formula: str) -> str:
    known = re.sub(r"\\([a-zA-Z]+)", lambda found: GREEK.get(found[1], ""), formula)
    raised = re.sub(r"\^(?:\{([^{}]*)\}|(.))", lambda f: (f[1] or f[2]).translate(RAISED), known)
    lowered = re.sub(r"_(?:\{([^{}]*)\}|(.))", lambda f: (f[1] or f[2]).translate(LOWERED), raised)
    return lowered.replace("{", "").replace("}", "").strip()


def lines_of(text: str) -> list[str]:
    """Return the lines of a label, empty ones left out."""
    return [line for line in plain(text).split("\n") if line.strip()]


Writer = Callable[[str], str]  # from an expression to one that writes its value as text


def axis_of(axis: Any, spine: Any) -> tuple[dict[str, Any], Writer]:
    """Return an axis as Vega-Lite wants it, and what writes one of its values.

    axis, spine : the x or y axis of drawn axes of matplotlib, and the line along it.
    """
    ticks = axis.get_major_ticks()
    shown = bool(ticks) and (ticks[0].label1.get_visible() or ticks[0].label2.get_visible())
    low, high = sorted(axis.get_view_interval())
    reach = 1e-9 * (high - low)
    found = [
        (float(place), plain(label.get_text()))
        for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False)
        if low - reach <= place <= high + reach
    ]
    drawn = {
        "labels": shown,
        "ticks": shown and bool(ticks) and ticks[0].tick1line.get_markersize() > 0,
        "domain": bool(spine.get_visible()),
        "grid": bool(ticks) and ticks[0].gridline.get_visible(),
    }
    write: Writer = number_words
    percent = bool(found) and all(_percent(place, label) for place, label in found)
    texts = {_key(place): label for place, label in found}
    named = any(label and _number(label) is None for label in texts.values()) and not percent
    fixed = type(axis.get_major_locator()).__name__ == "FixedLocator"
    if percent:
        write = percent_words
        drawn |= {"labelExpr": percent_words("datum.value"), "tickCount": len(found)}
    elif fixed or (named and axis.get_scale() != "log"):
        drawn |= {"values": [place for place, _ in found], "labelExpr": _lookup(texts)}
        if named and all(place == int(place) for place, _ in found):

            def write(value: str) -> str:
                return f"({_lookup(texts, value)} || {number_words(value)})"
    else:
        drawn |= {"tickCount": max(len(found), 2), "format": "~g" if axis.get_scale() == "log"
                  else ",.4~g"}  # fmt: skip
        if found and all(place == int(place) for place, _ in found) and axis.get_scale() != "log":
            drawn["tickMinStep"] = 1
    return drawn, write


def number_words(value: str) -> str:
    """Return an expression that writes a number."""
    return f"format({value}, '.4~g')"


def percent_words(value: str) -> str:
    """Return an expression that writes a fraction in percent."""
    return f"format(100 * {value}, '.3~g') + ' %'"


def _key(place: float) -> str:
    """Return a place as Vega writes it with twelve digits."""
    return np.format_float_positional(place, precision=12, unique=False, fractional=False, trim="-")


def _lookup(texts: dict[str, str], value: str = "datum.value") -> str:
    """Return an expression that finds the label of a place."""
    pairs = ", ".join(f"{quoted(place)}: {quoted(label)}" for place, label in texts.items())
    return f"({{{pairs}}})[format({value}, '.12~r')]" if texts else "''"


def quoted(text: str) -> str:
    """Return a text as a string in an expression of Vega."""
    clean = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"'{clean}'"


def _number(label: str) -> float | None:
    try:
        return float(label.replace(",", "").replace("−", "-"))
    except ValueError:
        return None


def _percent(place: float, label: str) -> bool:
    if not label.endswith("%"):
        return False
    number = _number(label[:-1].strip())
    return number is not None and abs(number - 100 * place) < 0.51
