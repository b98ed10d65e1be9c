"""Selections of real features in a split."""

from dataclasses import replace

import numpy as np

from thesiskit.experiments.selection.split import Split
from thesiskit.models.normal import FScreened, FSelection, select_by_f


def by_f(
    split: Split,
    k: int | None,
    rng: np.random.Generator,
    *,
    threshold: float | None = None,
    screened: FScreened | None = None,
) -> FSelection:
    """Keep k features, or those above a threshold; memory-mapped tables are not copied."""
    X = split.real.with_cases(split.train)
    y = split.response[: len(X)]
    return select_by_f(X, y, k, rng, threshold=threshold, cases=split.train, screened=screened)


def everything(split: Split, rng: np.random.Generator) -> FSelection:
    """Keep all features that vary; none is left out."""
    found = by_f(split, None, rng, screened=FScreened(split.width))
    return replace(found, n_features=len(found.selected), left_out=found.left_out[:0])


def class_counts(split: Split) -> np.ndarray:
    """Return how many training cases of each class there are, (G,)."""
    return np.bincount(split.response[split.train], minlength=int(split.response.max()) + 1)
