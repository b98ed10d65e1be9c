"""Other classifiers, beside ours: what they predict in a split, and what errors they promise."""

from collections.abc import Callable

import numpy as np

from thesiskit.config import WHOLE
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.selection.design import Design
from thesiskit.experiments.selection.split import Split
from thesiskit.models import peers
from thesiskit.models.peers import BITS, PEERS, REALS, Task


def predict_rival(
    design: Design, method: str, split: Split, k: int, group: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the predictions for the test cases of a split, and a promise.

    The promise is the error rate by cross-validation, NaN where nobody screened the table.

    k : how many features are selected, by a method that selects.
    group : (p,) the group of each feature.
    """
    rng = generator(design.config.seed, method, *split.place)
    seed, other = (int(rng.integers(2**31)) for _ in range(2))
    selection = design.config.selection
    screened = selection is not None and selection.screened is not None
    predict = _predictor(design, method, split, k, group, seed, again=screened)
    peers.load([method])
    answer = predict(split.train, split.test)
    if not screened:
        return answer, float("nan")
    inner = lambda train, test: predict(split.train[train], split.train[test])  # noqa: E731
    return answer, peers.cross_validated(inner, split.response[split.train], other)


def _predictor(
    design: Design, method: str, split: Split, k: int, group: np.ndarray, seed: int, *, again: bool
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return what predicts some cases from others; again : more than once."""
    y, classes = split.response, split.classes
    if method == WHOLE:
        blocks = design.column_blocks(split, group)
        columns = list(blocks) if again else blocks  # few columns, if several models are made
        return lambda train, test: peers.l2_logistic(columns, train, y[train], test, seed, classes)
    task = Task(REALS if REALS in PEERS[method].takes else BITS, classes, k)
    if task.kind == REALS:
        tables = split.real.tables
        table = tables[0] if len(tables) == 1 else np.concatenate(tables)
    else:
        table = split.features.unpack(np.arange(len(split.features)))

    def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        p = peers.fit_predict(method, task, table[train], y[train], table[test], seed)
        return p[:, 1] if classes == 2 else p

    return predict
