"""The keys of all numbers that the thesis prints."""

from typing import Any

from thesiskit.report.record import thesis_numbers

# of numbers.yaml, for pages alone
NOT_NUMBERS = (
    "calibration_table",
    "calibration_label",
    "seconds_note",
    "shown_sigmas",
    "enlarged",
)


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the values of a tree by dotted keys, as text; what is not given is left out."""
    values: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            values |= flat(value, f"{prefix}{key}.")
        elif value is not None:
            values[f"{prefix}{key}"] = str(value)
    return values


def printed_keys() -> list[str]:
    """Return the keys of numbers.yaml; a list is one number."""
    return [key for key in flat(thesis_numbers()) if key.rpartition(".")[2] not in NOT_NUMBERS]
