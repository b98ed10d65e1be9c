"""Cases of a test of which `make test` runs a few, and `make test-slow` the others."""

from collections.abc import Iterable

import pytest


def slow_but(cases: list, kept: Iterable[int]) -> list:
    """Mark all cases of a parametrised test as slow but those at some places.

    A tuple is the values of several parameters.
    """
    marked = list(cases)
    for place in {*range(len(cases))}.difference(kept):
        case = cases[place]
        if hasattr(case, "marks"):
            marked[place] = case._replace(marks=(*case.marks, pytest.mark.slow))
        else:
            values = case if isinstance(case, tuple) else (case,)
            marked[place] = pytest.param(*values, marks=pytest.mark.slow)
    return marked


def few(cases: Iterable, keep: int = 2) -> list:
    """Mark all but so many evenly spaced cases of a parametrised test as slow."""
    cases = list(cases)
    if len(cases) <= keep:
        return cases
    return slow_but(cases, [round(i * (len(cases) - 1) / max(1, keep - 1)) for i in range(keep)])


def only(cases: Iterable, *kept) -> list:
    """Mark all cases of a parametrised test as slow but those that are named."""
    cases = list(cases)
    return slow_but(cases, map(cases.index, kept))
