"""Selections of real features in a split."""

import numpy as np

from thesiskit.experiments.selection.split import Split
from thesiskit.models.selection import FSelection, Screened, select_by_f


def by_f(
    split: Split,
    k: int | None,
    rng: np.random.Generator,
    *,
    threshold: float | None = None,
    screened: Screened | None = None,
    at_most: bool = False,
) -> FSelection:
    """Keep k features, or those above a threshold; memory-mapped tables are not copied.

    at_most : keep all that vary where they are fewer than k.
    """
    X = split.real.with_cases(split.train)
    y = split.response[: len(X)]
    return select_by_f(
        X,
        y,
        k,
        rng,
        threshold=threshold,
        cases=split.train,
        screened=screened,
        at_most=at_most,
    )


def class_counts(split: Split) -> np.ndarray:
    """Return how many training cases of each class there are, (G,)."""
    return np.bincount(split.response[split.train], minlength=split.classes)
