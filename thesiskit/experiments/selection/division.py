"""How the cases of a table are divided into training and test cases."""

from collections.abc import Sequence

import numpy as np

from thesiskit.config import Config
from thesiskit.errors import DataError, cut

NOBODY = -2  # a fold of no cases


def folds_of(fold: np.ndarray) -> np.ndarray:
    """Return the folds that are tested; where all cases only train, one that no case is in."""
    found = np.unique(fold[fold >= 0])
    return found if len(found) else np.array([NOBODY], dtype=fold.dtype)


def divide_cases(
    config: Config, response: np.ndarray, n_test: int, folds: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the fold of each case; -1 where it only trains.

    n_test : of the last cases, which are tested where there is a test set.
    """
    n, classes = len(response), int(response.max()) + 1
    fold = np.full(n, -1, dtype=np.int32)
    if config.scheme == "test-set":
        fold[n - n_test :] = 0
    elif config.scheme == "leave-one-out":
        fold[:] = np.arange(n)
    elif not config.all_train:
        # within each class, so that every training set has all of them
        for y in range(classes):
            cases = rng.permutation(np.flatnonzero(response == y))
            if config.scheme == "k-fold":
                fold[cases] = np.arange(len(cases)) % folds
            else:
                fold[cases[: max(1, round(config.evaluation.test_fraction * len(cases)))]] = 0
    return fold


def check_classes(
    config: Config, names: Sequence[str], response: np.ndarray, fold: np.ndarray
) -> None:
    """Raise DataError for a training set that lacks a class."""
    for number in folds_of(fold):
        counts = np.bincount(response[fold != number], minlength=len(names))
        present = np.flatnonzero(counts)
        if len(present) == len(names):
            continue
        lacking = int(counts.argmin())
        some = f"no case of class {cut(names[lacking])}"
        if len(present) < 2:
            some = f"class {cut(names[present[0]])} only" if len(present) else "no cases"
        hint = "more cases of each class, or a smaller test set, are needed"
        if (response == lacking).sum() == 1:
            hint = "it has one case in all; add cases of it, or leave it out"
        raise DataError(
            f"with evaluation.scheme: {config.scheme} a training set has {some}; {hint}"
        )
