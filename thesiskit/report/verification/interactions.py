"""The statements of the thesis about chapter 3's experiments, checked in each of our data sets."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from thesiskit.report.logistic.arm import Arm
from thesiskit.report.logistic.record import LogisticRecord
from thesiskit.report.reduction import ReductionRecord
from thesiskit.report.verification.rows import Row, aside, replicated, statement

ALIKE = 0.02  # error rates that differ by less are called the same


def logistic_rows(record: LogisticRecord, of: str, numbers: dict[str, Any]) -> list[Row]:
    """Return the rows of whatever the thesis says of this experiment."""
    make: dict[str, Callable[..., Iterator[Row]]] = {
        "compressed_over_original_at_order_20": _ratio,
        "helps": _orders,
        "cauchy_better": _cauchy_better,
        "groups_stop_at": _stops,
        "best": _best,
    }
    return [row for key in make if key in numbers for row in make[key](record, of, numbers[key])]


def _by_set(record: LogisticRecord, values: np.ndarray) -> np.ndarray:
    """Return means over the test cases of each data set, (R,), of values (N,)."""
    return values.reshape(record.n_blocks, -1).mean(axis=1)


def _amlp(record: LogisticRecord, arm: Arm) -> np.ndarray:
    return _by_set(record, record.losses(arm))


def _error(record: LogisticRecord, arm: Arm) -> np.ndarray:
    return _by_set(record, record.probability(arm).argmax(axis=1) != record.response)


def _compressions(record: LogisticRecord) -> list[dict[str, np.ndarray]]:
    return [record.results.load("compress", number) for number in range(record.n_blocks)]


def _unasked(of: str, key: str, what: str, needs: str) -> Row:
    """Return the row of a statement that needs models which the config leaves out."""
    return aside(f"{of}.{key}", what, "statement", "holds", f"needs {needs}")


def _ratio(record: LogisticRecord, of: str, printed: float) -> Iterator[Row]:
    key, what = "compressed_over_original_at_order_20", "groups over patterns at order 20"
    if 20 not in record.orders:
        yield _unasked(of, key, what, "order 20 in model.orders")
        return
    place = list(record.compression["order"]).index(20)
    ratios = [found["groups"][place] / found["patterns"][place] for found in _compressions(record)]
    yield replicated(f"{of}.{key}", what, printed, np.array(ratios), 3)


def _orders(record: LogisticRecord, of: str, printed: list[int]) -> Iterator[Row]:
    """Yield that orders up to one help, and of the HMM that more do not."""
    first, last = printed
    highest = max(record.orders)
    for prior in ("cauchy", "gaussian"):
        low, middle, high = (record.find(order, prior) for order in (first, last, highest))
        key, words = f"helps.{prior}", prior.capitalize()
        what = f"order {last} predicts better than {first} ({words})"
        if low is None or middle is None:
            yield _unasked(of, key, what, f"orders {first} and {last} of both priors")
            continue
        amlp = _amlp(record, middle)
        yield statement(f"{of}.{key}.better", what, amlp < _amlp(record, low))
        if of == "hmm" and high is not None and highest > last:
            what = f"order {highest} has a higher AMLP than {last} ({words})"
            yield statement(f"{of}.{key}.worse", what, _amlp(record, high) > amlp)
            what = f"their error rates are within {ALIKE} ({words})"
            change = _error(record, high) - _error(record, middle)
            yield statement(f"{of}.{key}.error", what, np.abs(change) < ALIKE)


def _cauchy_better(record: LogisticRecord, of: str, _: bool) -> Iterator[Row]:
    what = "Cauchy priors predict better than Gaussian ones, at most orders"
    pairs = [[record.find(order, p) for p in ("cauchy", "gaussian")] for order in record.orders]
    better = [_amlp(record, a) < _amlp(record, b) for a, b in pairs if a and b]
    if better:
        yield statement(f"{of}.cauchy_better", what, np.mean(better, axis=0) > 0.5)
    else:
        yield _unasked(of, "cauchy_better", what, "both priors")


def _stops(record: LogisticRecord, of: str, printed: int) -> Iterator[Row]:
    what = f"the number of groups stops growing at order {printed}"
    growth = [found["growth"] for found in _compressions(record)]
    if len(growth[0]) <= printed + 1:
        yield _unasked(of, "groups_stop_at", what, f"orders above {printed}")
    else:
        holds = np.array([one[-1] == one[printed] for one in growth])
        yield statement(f"{of}.groups_stop_at", what, holds)


def _best(record: LogisticRecord, of: str, printed: dict[str, Any]) -> Iterator[Row]:
    order, prior = printed["order"], printed["prior"]
    what = f"order {order} with {prior.capitalize()} priors predicts best"
    claimed = record.find(order, prior)
    others = [arm for arm in record.own if arm.compress and arm != claimed]
    if claimed is None or not others:
        yield _unasked(of, "best", what, f"order {order} and others, with {prior} priors")
        return
    least = np.min([_amlp(record, arm) for arm in others], axis=0)
    yield statement(f"{of}.best", what, _amlp(record, claimed) < least)


def reduction_rows(record: ReductionRecord, of: str, numbers: dict[str, Any]) -> list[Row]:
    """Return the row of the order from which on groups are the same."""
    stated = numbers["converged_at_order"]
    what = f"groups have converged at order {stated}"
    for sweep in record.sweeps:
        if sweep.varied == "order" and stated in sweep.x:
            at = list(sweep.x).index(stated)
            holds = sweep.groups[:, at] == sweep.groups[:, -1]
            return [statement(f"{of}.converged_at_order", what, holds)]
    return [_unasked(of, "converged_at_order", what, f"a sweep of orders with {stated}")]
