"""The tables of a board: means over its tables, wins and losses, and the scores of each table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report.board.scores import AMLP, ERROR, PROMISED, Board, Mean, board_of, tempered
from thesiskit.report.layout import Table, kept_words
from thesiskit.report.record import Record
from thesiskit.report.selection.temperatures import temperatures
from thesiskit.report.stages import manner_words

RIDGE = "tuned ridge"


def board_table(study: Record) -> list[Table]:
    """Errors, promises and AMLP of every method, means over tables, and wins against ridge."""
    board = board_of(study)
    order = sorted(range(len(board.arms)), key=lambda i: _rank(board, i))
    several = len(board.names)
    return [
        Table(
            "board",
            f"The board: means over {several} tables",
            pd.DataFrame([_row(board, i) for i in order]),
            "Means over the tables that a method can predict (models of two classes leave out the "
            "others), with Student's intervals of 95 % over the tables; ± is the standard error "
            "over cases, for these tables. Promised is the error rate that the predictions "
            f"themselves promise. Against {RIDGE} (logistic regression, L2, of all features): AMLP "
            "less that of ridge on the same tables, so below zero is better; then on how many "
            "tables it is lower and higher, in brackets on how many by more than two standard "
            "errors. Methods are in the order of their mean difference from ridge."
            + manner_words(study),
            lead=statements(board),
        )
    ]


def _rank(board: Board, i: int) -> float:
    return 0.0 if i == board.rival else board.against(i).difference.value


def _row(board: Board, i: int) -> dict[str, Any]:
    arm, amlp = board.arms[i], board.mean(i, AMLP)
    error = board.mean(i, ERROR)
    error, amlp = (one._replace(low=max(0.0, one.low)) for one in (error, amlp))
    error = error._replace(high=min(1.0, error.high))
    row = {
        "kept": arm.label,
        "method": arm.words,
        "tables": int(board.predicts[i].sum()),
        "error rate: mean": error.value,
        "error rate: low": error.low,
        "error rate: high": error.high,
        "error rate: promised": board.mean(i, PROMISED).value,
        "AMLP: mean": amlp.value,
        "AMLP: low": amlp.low,
        "AMLP: high": amlp.high,
        "AMLP: ±": board.within(i),
    }
    names = [f"against ridge: {one}" for one in ("difference", "low", "high", "lower", "higher")]
    if i == board.rival:
        return row | dict.fromkeys(names, None)
    found = board.against(i)
    counts = (
        f"{found.lower} ({found.clearly_lower})",
        f"{found.higher} ({found.clearly_higher})",
    )
    return row | dict(zip(names, (*found.difference, *counts), strict=True))


# ---- in words ----


def statements(board: Board) -> tuple[str, ...]:
    """Say how our corrected methods stand against tuned ridge, and which method is best."""
    ours = [i for i, arm in enumerate(board.arms) if arm.method == "corrected"]
    cooled = [i for i in ours if tempered(board.arms[i])]
    told = [_against_ridge(board, i) for i in cooled or ours]
    best = board.lowest
    others = [i for i in range(len(board.arms)) if board.predicts[i].all()]
    gap = {i: _gap(board, i) for i in others}
    honest = min(gap, key=lambda i: gap[i])
    told.append(
        f"Of all {len(others)} methods that predict every table, {_name(board, best)} has the "
        f"lowest mean AMLP ({board.mean(best, AMLP).value:.3f}). The error rate that is nearest to "
        f"the promised one, by the mean distance over the tables, is that of "
        f"{_name(board, honest)} (off by {gap[honest]:.3f})."
    )
    return tuple(told)


def _gap(board: Board, i: int) -> float:
    """Return how far the promised error rate is from the actual one, mean over tables."""
    return float(np.abs(board.values[i, :, PROMISED] - board.values[i, :, ERROR]).mean())


def _against_ridge(board: Board, i: int) -> str:
    found, mine = board.against(i), board.mean(i, AMLP)
    ridge = board.mean(board.rival, AMLP)
    name = _name(board, i)
    met = "at most" if found.difference.value <= 0 else "above"
    text = (
        f"The mean AMLP of {name} is {mine.value:.3f}, {met} that of {RIDGE} ({ridge.value:.3f}): "
        f"a difference of {_signed(found.difference)}. It is lower than ridge on "
        f"{_counted(found.lower, found.clearly_lower)}, and higher on "
        f"{_counted(found.higher, found.clearly_higher)}"
    )
    worst = _worst(board, i)
    return f"{text}{worst}."


def _counted(tables: int, clearly: int) -> str:
    return (
        f"{tables} tables (clearly on {clearly})"
        if tables != 1
        else f"1 table (clearly: {clearly})"
    )


def _worst(board: Board, i: int) -> str:
    """Name the table on which an arm loses most; nothing where it loses on none."""
    loss = board.values[i, :, AMLP] - board.values[board.rival, :, AMLP]
    if not (loss > 0).any():
        return ""
    s = int(np.nanargmax(loss))
    return f", most on {board.names[s]} ({loss[s]:+.3f})"


def _signed(one: Mean) -> str:
    return f"{one.value:+.3f} ({one.low:+.3f} to {one.high:+.3f})"


def _name(board: Board, i: int) -> str:
    arm = board.arms[i]
    kept = "" if arm.label == "all" else f" ({kept_words(arm.label)})"
    return f"{arm.words}{kept}"


# ---- table by table ----


def board_scores(study: Record) -> list[Table]:
    """The scores of every method on every table, with intervals over cases."""
    board, rows = board_of(study), []
    for s, name in enumerate(board.names):
        taus = {one.arm.row: one.middle for one in temperatures(study.tables[name])}
        for i, arm in enumerate(board.arms):
            if not board.predicts[i, s]:
                continue
            one = board.scores[i][s]
            error, amlp = one.error_interval, one.amlp_interval
            rows.append(
                {
                    "table": name,
                    "kept": arm.label,
                    "method": arm.words,
                    "error rate: made": one.error,
                    "error rate: low": error[0],
                    "error rate: high": error[1],
                    "error rate: promised": one.expected,
                    "AMLP: mean": one.amlp,
                    "AMLP: low": amlp[0],
                    "AMLP: high": amlp[1],
                }
                | ({"temperature": taus.get(arm.row, np.nan)} if taus else {})
            )
    return [
        Table(
            "board-scores",
            "Table by table",
            pd.DataFrame(rows),
            "Intervals of 95 % are over the cases of a table: Wilson's of error rates, the normal "
            "one of AMLP. A case counts once, however often it was tested. A temperature is the "
            "median over training sets.",
            long=True,
        )
    ]
