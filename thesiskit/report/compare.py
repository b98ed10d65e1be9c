"""Two finished experiments side by side: settings that differ, and arms of the same name.

Where both were tested with the same cases, arms are compared case by case: the mean difference of
minus log probabilities with its standard error, and McNemar's test of the errors.  Where they were
not, the standard errors of both sides are added.
"""

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.errors import UserError
from thesiskit.files import Results
from thesiskit.report import metrics
from thesiskit.report.html import template
from thesiskit.report.layout import Table
from thesiskit.report.metrics import Score, aligned
from thesiskit.report.outputs import Outputs, files_of, write_part
from thesiskit.report.page import table_item
from thesiskit.report.record import Record

FOLDER = "compare"
BEST = "the best arm of each"
LEFT_OUT = ("experiment", "title", "about", "report", "smoke", "cluster", "own", "drawn")
MOST_LINES = 12  # of settings, on the terminal
MOST_NAME = 100  # characters


def read(folder: Path) -> Record:
    """Return the record of a results folder.

    Raises
    ------
    UserError: it is none, or its experiment is not finished.
    """
    results = Results(folder.parent, folder.name)
    config = results.provenance().get("config")
    blocks = len(list(results.path("predict", 0).parent.glob("[0-9]*.npz")))
    if not (isinstance(config, dict) and blocks):
        raise UserError(
            f"{folder}: is not the results folder of a finished experiment; run it first, "
            "or give its config"
        )
    return Record(results, blocks, config)


@dataclass(frozen=True)
class Pair:
    """Two records."""

    a: Record
    b: Record

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called: by their folders where the names are equal."""
        a, b = (one.config["experiment"] for one in (self.a, self.b))
        if a == b:
            a, b = (str(one.results.root / one.results.folder.name) for one in (self.a, self.b))
        return (a, b) if a != b else (f"{a} (first)", f"{b} (second)")

    @cached_property
    def order(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The places of the same test cases in both; None if the test cases differ."""
        keys = [_cases(one) for one in (self.a, self.b)]
        orders = [np.lexsort(one[::-1]) for one in keys]
        left, right = (
            [column[order] for column in one] for one, order in zip(keys, orders, strict=True)
        )
        if not all(np.array_equal(x, y) for x, y in zip(left, right, strict=True)):
            return None
        return orders[0], orders[1]


def _cases(record: Record) -> list[np.ndarray]:
    """Return columns that tell each test case of an experiment.

    Data that are drawn are the same if their first stages have the same key.
    """
    tested = record.tested
    if record.config["drawn"]:
        keys = [record.results.key("simulate", block) for block in range(record.n_blocks)]
        data = ":".join(str(key) for key in keys)
    else:
        data = str(record.results.provenance().get("data", {}).get("sha256"))
    about = np.full(len(tested.ids), hashlib.sha256(data.encode()).hexdigest())
    group = tested.division.get("group", np.zeros(len(tested.ids)))
    return [about, group, tested.repeat, tested.unit, tested.response]


def settings_that_differ(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the keys of two configs that differ, with both values."""
    left, right = _flat(a), _flat(b)
    keys = [key for key in (left | right) if key.partition(".")[0] not in LEFT_OUT]
    return [
        (key, left.get(key, "–"), right.get(key, "–"))
        for key in keys
        if left.get(key, "–") != right.get(key, "–")
    ]


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the values of a config by dotted keys, as text; what is not given is left out."""
    found: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        elif value is not None:
            found[prefix + key] = str(value)
    return found


def score_rows(pair: Pair) -> list[dict[str, Any]]:
    """Return a row for each arm of either: scores, and differences where both have it."""
    ours, theirs = ({one.name: found for one, found in side.scores()} for side in (pair.a, pair.b))
    rows = [
        _row(name, ours.get(name), theirs.get(name), pair)
        for name in dict.fromkeys([*ours, *theirs])
    ]
    first, second = (_best(one) for one in (pair.a, pair.b))
    return rows if first.name == second.name else [*rows, _row(BEST, first, second, pair)]


def _best(record: Record) -> Score:
    return min((found for _, found in record.scores()), key=lambda found: found.amlp)


def _about_best(pair: Pair) -> str:
    """Say which arms are compared in the last row; "" if the best arms have one name."""
    first, second = _best(pair.a).name, _best(pair.b).name
    return "" if first == second else f"Best by AMLP: {first} ({pair.names[0]}), and {second}."


def _row(name: str, ours: Score | None, theirs: Score | None, pair: Pair) -> dict[str, Any]:
    first, second = pair.names
    row: dict[str, Any] = {"arm": name}
    for measure, take in (("error", "error"), ("AMLP", "amlp")):
        for one, label in ((ours, first), (theirs, second)):
            row[f"{measure}: {label}"] = np.nan if one is None else getattr(one, take)
    difference = error = p = np.nan
    if ours is not None and theirs is not None:
        difference = ours.amlp - theirs.amlp
        if pair.order is not None:
            difference, error, p = _paired(ours, theirs, *pair.order)
        else:
            both = [metrics.standard_error(one.tested.by_case(one.loss)) for one in (ours, theirs)]
            error = float(np.hypot(both[0], both[1]))
    return row | {
        "difference of AMLP: mean": difference,
        "difference of AMLP: standard error": error,
        "errors: McNemar's p": p,
    }


def _paired(
    ours: Score, theirs: Score, left: np.ndarray, right: np.ndarray
) -> tuple[float, float, float]:
    """Return the mean difference of losses, its standard error, and McNemar's p-value.

    left, right : the places of the same cases in both.  Cases that are tested several times count
        once in the standard error, and give no p-value.
    """
    losses = np.empty(len(left))
    losses[left] = ours.loss[left] - theirs.loss[right]
    error = metrics.standard_error(ours.tested.by_case(losses))
    again = ours.tested.repeat.max() > 0
    p = np.nan if again else metrics.mcnemar(ours.wrong[left], theirs.wrong[right])
    return float(losses.mean()), error, p


# ---- what is printed and written ----


def compare(a: Record, b: Record, root: Path) -> tuple[Path, list[str]]:
    """Write the page that compares two experiments; return it, and lines for the terminal.

    Raises
    ------
    UserError: one of them has no predictions of classes.
    """
    for one in (a, b):
        if not one.forecasts:
            raise UserError(
                f"{one.config['experiment']} has no predictions of classes; "
                "compare experiments that have"
            )
    pair = Pair(a, b)
    tables = [_score_table(pair), _settings_table(pair)]
    names = [one.results.folder.name for one in (a, b)]
    results = Results(root / FOLDER, "-".join(names)[:MOST_NAME])
    results.prepare()
    outputs = Outputs(results, ["compare.html", *(n for one in tables for n in files_of(one))])
    for table in tables:
        write_part(outputs, table)
    text = template("compare.html.j2").render(
        names=pair.names,
        configs=[one.config for one in (a, b)],
        links=[_link(one, results) for one in (a, b)],
        items=[table_item(one) for one in tables],
    )
    outputs.write("compare.html", text)
    outputs.finish("compare")
    return results.folder / "compare.html", _lines(pair)


def _link(record: Record, results: Results) -> str:
    """Return the link from the page to the report of an experiment, "" if it has none."""
    page = record.results.folder / "report.html"
    return os.path.relpath(page, results.folder) if page.is_file() else ""


def _score_table(pair: Pair) -> Table:
    first, second = pair.names
    if pair.order is not None:
        how = (
            "Both were tested with the same cases, so differences are means over cases of the "
            "difference between the two, and McNemar's test asks whether both make as many errors "
            "in the cases in which only one of them is wrong."
        )
    else:
        how = (
            "The two were not tested with the same cases, so the standard errors of both are added "
            "and there is no test of errors."
        )
    return Table(
        "scores",
        "Scores",
        pd.DataFrame(score_rows(pair)),
        f"AMLP is the average minus log probability of the actual class; lower is better. A "
        f"difference below 0 is in favour of {first}, above 0 in favour of {second}; below two "
        f"standard errors it may be chance. {how} {_about_best(pair)}".strip(),
    )


def _settings_table(pair: Pair) -> Table:
    first, second = pair.names
    rows = settings_that_differ(pair.a.config, pair.b.config)
    codes = [one.results.provenance().get("code", {}).get("digest", "") for one in (pair.a, pair.b)]
    if codes[0] != codes[1]:
        rows.append(("(the code of thesiskit)", *codes))
    return Table(
        "settings",
        "Settings that differ",
        pd.DataFrame(rows, columns=["key", first, second]),
        "All other settings are the same, titles and parts of the report aside."
        if rows
        else "All settings are the same, titles and parts of the report aside.",
    )


def _lines(pair: Pair) -> list[str]:
    """Return what the terminal shows: settings that differ, then scores."""
    first, second = pair.names
    differ = settings_that_differ(pair.a.config, pair.b.config)
    lines = aligned(["setting", first, second], [tuple(_short(one) for one in row)
                                                 for row in differ[:MOST_LINES]])  # fmt: skip
    if len(differ) > MOST_LINES:
        lines.append(f"(and {len(differ) - MOST_LINES} more)")
    header = ["", "error", "", "AMLP", "", "difference", "± s.e.", "McNemar p"]
    rows = []
    for row in score_rows(pair):
        name, *numbers = row.values()
        rows.append([name, *("–" if x != x else f"{x:.3f}" for x in numbers)])
    labelled = ["", first[:12], second[:12], first[:12], second[:12], "", "", ""]
    about = _about_best(pair)
    return [*lines, "", *aligned(header, [labelled, *rows]), *([about] if about else [])]


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
