"""Cases of a test of which `make test` runs a few, and `make test-slow` the others."""

from collections.abc import Iterable

import pytest


def few(cases: Iterable, keep: int = 2) -> list:
    """Mark all but so many evenly spaced cases of a parametrised test as slow."""
    cases = list(cases)
    kept = {round(i * (len(cases) - 1) / max(1, keep - 1)) for i in range(keep)}
    return [
        case if i in kept or len(cases) <= keep
        else case._replace(marks=(*case.marks, pytest.mark.slow)) if hasattr(case, "marks")
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for i, case in enumerate(cases)
    ]  # fmt: skip


def only(cases: Iterable, *kept) -> list:
    """Mark all cases of a parametrised test as slow but those that are named."""
    cases = list(cases)
    assert all(case in cases for case in kept)
    return [
        case if case in kept
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]  # fmt: skip
