"""The largest coefficients of groups of patterns, over all divisions of the cases."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report.layout import Table
from thesiskit.report.record import Arm, Record

SHOWN_GROUPS = 20  # on the page
MOST_GROUPS = 2000  # in the file
ENDS = [0.05, 0.5, 0.95]


@dataclass
class Coefficient:
    """The coefficient of a group for a class: a row for each division that has the group.

    quantiles : low end, median and high end.
    cases : training cases that express the group.
    patterns : how many it has; none where draws do not say.
    """

    quantiles: list[np.ndarray] = field(default_factory=list)
    cases: list[int] = field(default_factory=list)
    patterns: list[int] = field(default_factory=list)


def coefficient_table(record: Record) -> list[Table]:
    """The groups with the largest coefficients, over the divisions that have them."""
    order = record.drawn_order
    priors = record.config["model"]["priors"]
    arm = next(arm for prior in priors if (arm := record.of_order(order, prior)))
    divisions = coefficient_divisions(record)
    found = coefficients(record, arm, divisions)
    width = 1 + max(k for _, k in found)  # two classes share a coefficient, that of the last
    classes = record.classes[-width:]
    rows = [_row(classes, key, one, divisions) for key, one in found.items()]
    # an absent group has the coefficient 0: one that is rare must be large to come first
    size = [
        abs(row["median"]) * len(one.cases) for row, one in zip(rows, found.values(), strict=True)
    ]
    chosen = np.argsort(-np.array(size), kind="stable")[:MOST_GROUPS]
    frame = pd.DataFrame([rows[place] for place in chosen])
    shown = min(SHOWN_GROUPS, len(frame))
    zero = (frame["5 %"] <= 0) & (frame["95 %"] >= 0)
    several = divisions > 1
    return [
        Table(
            "coefficients",
            "The largest coefficients",
            frame,
            f"{arm.words}, order {order}: the groups whose coefficients have the largest absolute "
            "medians, without the intercept. "
            + (
                f"Medians and ends of the intervals of 90 % are medians over those of the "
                f"{divisions:,} divisions of the cases whose training cases have the pattern. "
                if several
                else ""
            )
            + "A row is grey if its interval contains 0. Each group is shown as one of its "
            "shortest patterns, and its coefficient is the sum of the coefficients of its patterns"
            + (", in the units of the response." if record.continuous else "."),
            shown=tuple(range(shown)),
            quiet=tuple(int(row) for row in np.flatnonzero(zero[:shown])),
        )
    ]  # fmt: skip


def coefficient_divisions(record: Record) -> int:
    """Return of how many divisions patterns can be compared: those of the same cases."""
    if not record.config["drawn"]:
        return record.n_blocks if record.folded else 1
    return record.folds


def coefficients(record: Record, arm: Arm, divisions: int) -> dict[tuple[str, int], Coefficient]:
    """Return the coefficients of an arm by pattern and class, without the intercept."""
    found: dict[tuple[str, int], Coefficient] = {}
    for division in range(divisions):
        draws = record.draws(arm, division)
        values = draws["coefficient"].reshape(-1, *draws["coefficient"].shape[2:])
        quantiles = np.quantile(values, ENDS, axis=0)  # (3, K, G)
        for k in range(values.shape[1]):
            for g in np.flatnonzero(draws["cases"] < draws["cases"].max()):
                one = found.setdefault((str(draws["pattern"][g]), k), Coefficient())
                one.quantiles.append(quantiles[:, k, g])
                one.cases.append(int(draws["cases"][g]))
                if "patterns" in draws:
                    one.patterns.append(int(draws["patterns"][g]))
    return found


def _row(
    classes: list[str], key: tuple[str, int], one: Coefficient, divisions: int
) -> dict[str, Any]:
    """Return the row of a coefficient."""
    pattern, k = key
    low, median, high = np.median(one.quantiles, axis=0)  # heavy tails rule a mean
    row: dict[str, Any] = {"pattern": pattern}
    if classes:
        row["class"] = classes[k]
    if one.patterns:
        row["patterns in its group"] = _mean(one.patterns)
    row["training cases"] = _mean(one.cases)
    if divisions > 1:
        row["divisions"] = len(one.cases)
    return row | {"median": median, "5 %": low, "95 %": high}


def _mean(counts: list[int]) -> int:
    return round(float(np.mean(counts)))
