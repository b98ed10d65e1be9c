"""Statements of the thesis about logistic models, and whether our results support them."""

from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report.layout import Table
from thesiskit.report.logistic.chains import LAGS, autocorrelation
from thesiskit.report.record import Arm, Record


def statement_table(record: Record) -> list[Table]:
    """Each statement of the thesis, our numbers, and whether they support it."""
    rows: list[dict[str, Any]] = []
    for make in (
        _compression,
        _same_predictions,
        _faster_decay,
        _cauchy_better,
        _high_orders,
        _best,
    ):
        rows += make(record)
    return [
        Table(
            "statements",
            "What the thesis says, and what is found",
            pd.DataFrame(rows),
            "Differences of AMLP are means of paired differences over the test cases, with their "
            "standard errors; the errors do not include that the chains are finite. A statement "
            "of a difference is supported if the difference has the stated direction and is at "
            "least two standard errors. A statement that there is no difference is supported if "
            "the difference is below 0.005, or below three standard errors where these are "
            "together at most 0.02. 'Unclear' means that there are too few cases or iterations.",
        )
    ]


def _row(statement: str, found: str, holds: bool | None) -> dict[str, Any]:
    words = {True: "yes", False: "no", None: "unclear"}[holds]
    return {"the thesis": statement, "here": found, "supported": words}


def _better(difference: tuple[float, float]) -> bool | None:
    """Whether a difference is below 0."""
    d, error = difference
    return None if abs(d) < 2 * error else d < 0


def _alike(difference: tuple[float, float]) -> bool | None:
    """Whether a difference is close enough to 0 to count as none."""
    d, error = abs(difference[0]), difference[1]
    if d < 0.005:
        return True
    return None if 3 * error > 0.02 else d < 3 * error


def _difference(record: Record, a: Arm, b: Arm) -> tuple[float, float]:
    """Return the AMLP of a minus that of b, and its standard error."""
    d = record.losses(a) - record.losses(b)
    return float(d.mean()), record.standard_error(d)


def _words(difference: tuple[float, float]) -> str:
    return f"{difference[0]:+.4f} ± {difference[1]:.4f}"


def _priors(record: Record) -> list[str]:
    return [p for p in ("cauchy", "gaussian") if any(arm.prior == p for arm in record.own)]


def _compression(record: Record) -> list[dict[str, Any]]:
    found = record.compression
    last = int(np.argmax(found["order"]))
    ratio = found["groups"][last] / found["patterns"][last]
    theirs = record.thesis.get("compressed_over_original_at_order_20")
    statement = f"compression leaves few parameters at order {found['order'][last]}"
    if theirs is not None and found["order"][last] == 20:
        statement += f" (ratio {theirs})"
    growth = found["growth"]
    added = int(growth[-1] - growth[-2])
    # at the last order, every distinct history adds one pattern
    new = int(found["rows"][last])
    return [
        _row(statement, f"ratio {ratio:.3f}", bool(ratio < 0.35)),
        _row(
            "beyond some order the number of groups stops growing, that of patterns does not",
            f"order {len(growth) - 1} adds {added:,} groups to {growth[-2]:,}, {new:,} patterns",
            bool(added < new / 4),
        ),
        *_stops(record),
    ]


def _stops(record: Record) -> list[dict[str, Any]]:
    at = record.thesis.get("groups_stop_at")
    growth = record.compression["growth"]
    if at is None or len(growth) <= at + 1:
        return []
    return [
        _row(
            f"the number of groups stops growing at order {at}",
            f"groups of orders {at} to {len(growth) - 1}: "
            + ", ".join(f"{one:,}" for one in growth[at:]),
            bool(growth[-1] == growth[at]),
        )
    ]


def _same_predictions(record: Record) -> list[dict[str, Any]]:
    rows = []
    for prior in _priors(record):
        worst = None
        for order in record.orders:
            a, b = record.of_order(order, prior), record.of_order(order, prior, compress=False)
            if a and b:
                difference = _difference(record, a, b)
                if worst is None or abs(difference[0]) > abs(worst[1][0]):
                    worst = (order, difference, record.supported(a, b))
        if worst:
            rows.append(
                _row(
                    f"compressed and original parameters predict alike ({prior.capitalize()})",
                    f"largest difference of AMLP {_words(worst[1])}, at order {worst[0]}",
                    _alike(worst[1]) if worst[2] else None,
                )
            )
    return rows


def _faster_decay(record: Record) -> list[dict[str, Any]]:
    """Integrated autocorrelation times up to lag 50 of the sigmas that the thesis shows."""
    largest, wanted = record.widest_order, record.shown_sigmas
    rows = []
    for prior in _priors(record):
        pair = [record.of_order(largest, prior, compress=compress) for compress in (True, False)]
        if None in pair:
            continue
        times, short = [], False
        for arm in pair:
            trace = record.log_sigma_trace(arm)
            lags = min(LAGS, trace.shape[1] - 1)
            short |= trace.size < 20 * LAGS * trace.shape[2]
            times.append(
                np.mean([1 + 2 * autocorrelation(trace[:, :, o], lags)[1:].sum() for o in wanted])
            )
        rows.append(
            _row(
                f"autocorrelations of sigma fall faster when compressed ({prior.capitalize()})",
                f"sum up to lag {lags}: {times[0]:.1f} compressed, {times[1]:.1f} original",
                None if short else bool(times[0] < times[1]),
            )
        )
    return rows


def _cauchy_better(record: Record) -> list[dict[str, Any]]:
    if not record.thesis.get("cauchy_better"):
        return []
    differences = {}
    for order in record.orders:
        a, b = record.of_order(order, "cauchy"), record.of_order(order, "gaussian")
        if a and b:
            differences[order] = _difference(record, a, b)
    if not differences:
        return []
    shown = [o for o in (5, 10, 20) if o in differences] or list(differences)[-3:]
    better = sum(d < 0 for d, _ in differences.values())
    return [
        _row(
            "Cauchy priors predict better than Gaussian ones",
            "AMLP, Cauchy less Gaussian: "
            + ", ".join(f"{_words(differences[o])} at order {o}" for o in shown)
            + f"; better at {better} of {len(differences)} orders",
            any(d < -2 * e for d, e in differences.values()) and better > len(differences) / 2,
        )
    ]  # fmt: skip


def _high_orders(record: Record) -> list[dict[str, Any]]:
    """Check that higher orders help up to a certain order, and do no harm beyond it."""
    rows: list[dict[str, Any]] = []
    if "helps" not in record.thesis:
        return []
    before, helped = record.thesis["helps"]
    for prior in _priors(record):
        first, middle = record.of_order(before, prior), record.of_order(helped, prior)
        last = record.of_order(max(record.orders), prior)
        if first and middle and first is not middle:
            d = _difference(record, middle, first)
            rows.append(
                _row(
                    f"order {helped} predicts better than {before} ({prior.capitalize()})",
                    f"difference of AMLP {_words(d)}",
                    _better(d),
                )
            )
        if middle and last and last is not middle:
            d = _difference(record, last, middle)
            rows.append(
                _row(
                    f"orders beyond {helped} do no harm ({prior.capitalize()})",
                    f"AMLP at order {last.order} less that at {helped}: {_words(d)}; error rate "
                    f"{record.error(last):.3f} against {record.error(middle):.3f}",
                    d[0] < 0.02 if abs(d[0]) > 3 * d[1] or 3 * d[1] < 0.02 else None,
                )
            )
    return rows


def _best(record: Record) -> list[dict[str, Any]]:
    """Check which order and prior predict best."""
    if "best" not in record.thesis:
        return []
    prior, order = record.thesis["best"]["prior"], record.thesis["best"]["order"]
    claimed = record.of_order(order, prior)
    if claimed is None:
        return []
    others = [
        arm for arm in record.own if arm.compress and (arm.order, arm.prior) != (order, prior)
    ]
    if not others:
        return []
    rival = min(others, key=lambda arm: record.losses(arm).mean())
    d = _difference(record, claimed, rival)
    return [
        _row(
            f"order {order} with {prior.capitalize()} priors predicts best, the model that the "
            "data are from",
            f"AMLP less that of the best other one ({rival.words.split(',')[0]}, order "
            f"{rival.order}): {_words(d)}",
            None if abs(d[0]) < 2 * d[1] else d[0] < 0,
        )
    ]
