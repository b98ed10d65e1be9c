"""About how many patterns, and groups of patterns, there will be."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thesiskit.experiments.logistic.design import LogisticDesign


def patterns_of_case(width: int, order: int, *, features: bool) -> float:
    """Return how many patterns a case expresses."""
    if not features:
        return order + 1
    logs = (math.lgamma(width + 1) - math.lgamma(o + 1) - math.lgamma(width - o + 1)
            for o in range(order + 1))  # fmt: skip
    return sum(math.exp(min(one, 600.0)) for one in logs)


def groups_of(
    design: "LogisticDesign", order: int, train: int, values: int, *, compress: bool
) -> int:
    """Return about how many groups of patterns there are, or at most how many patterns."""
    if design.data.family != "sequences":
        width = design.sizes.width
        return patterns(width, order, train, values, compress=compress)
    short = min(order, int(math.log(train) / math.log(max(values, 2))))  # fewer than cases
    every = sum(values**o for o in range(short + 1)) + (order - short) * train
    return min(every, 2 * train) if compress else every


def patterns(width: int, order: int, train: int, values: int, *, compress: bool) -> int:
    """Return how many patterns of uniform features are expressed: by two cases, if compressed."""
    count: float = 1.0
    for o in range(1, order + 1):
        chosen = math.lgamma(width + 1) - math.lgamma(o + 1) - math.lgamma(width - o + 1)
        kinds = o * math.log(max(values, 2))
        rate = math.exp(math.log(train) - kinds)  # cases that express one of them
        if compress:  # Poisson; 1 - exp(-r) (1 + r)
            twice = -math.expm1(-rate) - rate * math.exp(-rate) if rate > 1e-4 else rate**2 / 2
            expressed = kinds + math.log(max(twice, 1e-300))
        else:
            expressed = min(kinds, math.log(train))
        count += math.exp(min(chosen + expressed, 600.0))
        if count > 1e18:
            break
    return int(min(count + (train if compress else 0), 1e18))
