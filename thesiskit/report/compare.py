"""Two finished experiments side by side: settings that differ, and arms of the same name.

Where both were tested with the same cases, arms are compared case by case: the mean difference of
minus log probabilities with its standard error, and McNemar's test of the errors.  Where they were
not, the standard errors of both sides are added.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.errors import UserError
from thesiskit.files import Results
from thesiskit.report import metrics
from thesiskit.report.layout import Table, template
from thesiskit.report.metrics import Score, aligned
from thesiskit.report.outputs import Outputs
from thesiskit.report.record import Record, flat

FOLDER = "compare"
BEST = "the best arm of each"
LEFT_OUT = ("experiment", "title", "about", "report", "smoke", "cluster", "own", "drawn")
MOST_LINES = 12  # of settings, on the terminal
MOST_NAME, MOST_TEXT = 100, 40  # characters


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


class Pair:
    """Two records.

    names : what the two are called: by their folders where the names are equal.
    order : the places of the same test cases in both; None if the test cases differ.
    settings : the keys of the two configs that differ, with both values.
    about_best : which arms are compared in the last row; "" if the best arms have one name.
    scores : a row for each arm of either: scores, and differences where both have it.
    """

    def __init__(self, a: Record, b: Record):
        self.both = a, b
        names = [record.config["experiment"] for record in self.both]
        if names[0] == names[1]:
            names = [str(one.results.root / one.results.folder.name) for one in self.both]
        if names[0] == names[1]:
            names = [f"{names[0]} (first)", f"{names[1]} (second)"]
        self.names = names
        cases = [_cases(record) for record in self.both]
        order = np.lexsort(cases[0][::-1]), np.lexsort(cases[1][::-1])
        alike = all(np.array_equal(x[order[0]], y[order[1]]) for x, y in zip(*cases, strict=True))
        self.order = order if alike else None
        left, right = (flat(record.config) for record in self.both)
        keys = [key for key in (left | right) if key.partition(".")[0] not in LEFT_OUT]
        rows = [(key, left.get(key, "–"), right.get(key, "–")) for key in keys]
        self.settings = [row for row in rows if row[1] != row[2]]
        ours, theirs = ({score.name: score for score in record.scores} for record in self.both)
        pairs = {name: (ours.get(name), theirs.get(name)) for name in [*ours, *theirs]}
        best = [min(record.scores, key=lambda score: score.amlp) for record in self.both]
        self.about_best = ""
        if best[0].name != best[1].name:
            self.about_best = f"Best by AMLP: {best[0].name} ({names[0]}), and {best[1].name}."
            pairs[BEST] = best[0], best[1]
        self.scores = [self._row(name, *pair) for name, pair in pairs.items()]

    def _row(self, name: str, ours: Score | None, theirs: Score | None) -> dict[str, Any]:
        row: dict[str, Any] = {"arm": name}
        for measure, take in (("error", "error"), ("AMLP", "amlp")):
            for score, label in zip((ours, theirs), self.names, strict=True):
                row[f"{measure}: {label}"] = np.nan if score is None else getattr(score, take)
        difference = error = p = np.nan
        if ours is not None and theirs is not None:
            difference = ours.amlp - theirs.amlp
            error = float(np.hypot(ours.amlp_error, theirs.amlp_error))
            if self.order is not None:
                left, right = self.order
                same = right[np.argsort(left)]  # in theirs, the cases of ours
                losses, tested = ours.loss - theirs.loss[same], ours.tested
                difference = float(losses.mean())
                error = metrics.standard_error(tested.independent(losses))
                if not tested.repeat.any():  # else a case has several errors
                    p = metrics.mcnemar(ours.wrong, theirs.wrong[same], tested.together)
        return row | {
            "difference of AMLP: mean": difference,
            "difference of AMLP: standard error": error,
            "errors: McNemar's p": p,
        }


def _cases(record: Record) -> list[np.ndarray]:
    """Return columns that tell each test case of an experiment.

    Data that are drawn are the same if their first stages have the same key.
    """
    tested, data = record.tested, str(record.results.provenance().get("data", {}).get("sha256"))
    if record.config["drawn"]:
        keys = [record.results.key("simulate", block) for block in range(record.n_blocks)]
        data = ":".join(map(str, keys))
    about = np.full(len(tested.ids), hashlib.sha256(data.encode()).hexdigest())
    group = tested.division.get("group", np.zeros(len(tested.ids)))
    return [about, group, tested.repeat, tested.unit, tested.response]


# ---- what is printed and written ----


def compare(a: Record, b: Record, root: Path) -> tuple[Path, list[str]]:
    """Write the page that compares two experiments; return it, and lines for the terminal.

    Raises
    ------
    UserError: one of them has no predictions of classes.
    """
    for record in (a, b):
        if not record.scores:
            raise UserError(
                f"{record.config['experiment']} has no predictions of classes; "
                "compare experiments that have"
            )
    pair = Pair(a, b)
    tables = [_score_table(pair), _settings_table(pair)]
    folders = [record.results.folder for record in pair.both]
    results = Results(root / FOLDER, "-".join(folder.name for folder in folders)[:MOST_NAME])
    results.prepare()
    outputs = Outputs(results, ["compare.html", *(n for table in tables for n in table.files)])
    for table in tables:
        table.write(outputs)
    pages = [folder / "report.html" for folder in folders]
    text = template("compare.html.j2").render(
        names=pair.names,
        configs=[record.config for record in pair.both],
        links=[os.path.relpath(p, results.folder) if p.is_file() else "" for p in pages],
        items=[table.item() for table in tables],
    )
    outputs.write("compare.html", text)
    outputs.finish("compare")
    return results.folder / "compare.html", _lines(pair)


def _score_table(pair: Pair) -> Table:
    first, second = pair.names
    how = (
        "Both were tested with the same cases, so differences are means over cases of the "
        "difference between the two, and McNemar's test asks whether both make as many errors "
        "in the cases in which only one of them is wrong."
        if pair.order is not None
        else "The two were not tested with the same cases, so the standard errors of both are "
        "added and there is no test of errors."
    )
    caption = (
        f"AMLP is the average minus log probability of the actual class; lower is better. A "
        f"difference below 0 is in favour of {first}, above 0 in favour of {second}; below two "
        f"standard errors it may be chance. {how} {pair.about_best}"
    )
    return Table("scores", "Scores", pd.DataFrame(pair.scores), caption.strip())


def _settings_table(pair: Pair) -> Table:
    rows = pair.settings
    codes = [side.results.provenance().get("code", {}).get("digest", "") for side in pair.both]
    if codes[0] != codes[1]:
        rows = [*rows, ("(the code of thesiskit)", *codes)]
    frame = pd.DataFrame(rows, columns=["key", *pair.names])
    same = "All other settings" if rows else "All settings"
    caption = f"{same} are the same, titles and parts of the report aside."
    return Table("settings", "Settings that differ", frame, caption)


def _lines(pair: Pair) -> list[str]:
    """Return what the terminal shows: settings that differ, then scores."""
    first, second = pair.names
    few = [
        [text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…" for text in row]
        for row in pair.settings[:MOST_LINES]
    ]
    lines = aligned(["setting", first, second], few)
    if len(pair.settings) > MOST_LINES:
        lines.append(f"(and {len(pair.settings) - MOST_LINES} more)")
    rows = [["", first[:12], second[:12], first[:12], second[:12], "", "", ""]]
    for row in pair.scores:
        name, *numbers = row.values()
        rows.append([name, *("–" if x != x else f"{x:.3f}" for x in numbers)])
    header = ["", "error", "", "AMLP", "", "difference", "± s.e.", "McNemar p"]
    about = [pair.about_best] if pair.about_best else []
    return [*lines, "", *aligned(header, rows), *about]
