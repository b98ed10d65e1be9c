"""Numbers of patterns and of groups of uniform features: no responses, no model, one stage."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.datasets.features import draw_uniform
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.work import Block, Work
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import FeatureGroups, compress_features

TIMES = 3  # of which the best counts


class ReductionWork(Work):
    """Each setting of each sweep, compressed by the thesis's algorithm and by ours."""

    stages = ("compress",)

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        assert config.reduction is not None
        self.reduction = config.reduction

    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage."""
        return [self.config.seed, self.reduction.model_dump()]

    @property
    def _settings(self) -> list[tuple[int, ...]]:
        """Number of the sweep, features, values and order of each setting."""
        sweeps = self.reduction.sweeps
        return [(i, *one) for i, sweep in enumerate(sweeps) for one in sweep.settings]

    def make(self, stage: str, block: Block) -> Arrays:
        """Return arrays of settings (S,), and of replicates by settings (R, S)."""
        settings, replicates = self._settings, block.replicates
        cells = [(replicate, *one[1:]) for replicate in replicates for one in settings]
        found = [self._compress(*cell) for cell in cells]
        shape = (len(replicates), len(settings))
        arrays = {name: np.array([one[name] for one in found]).reshape(shape) for name in found[0]}
        names = ("sweep", "features", "values", "order")
        return dict(zip(names, np.array(settings).T, strict=True)) | arrays

    def _compress(self, replicate: int, features: int, values: int, order: int) -> dict[str, Any]:
        cases = self.reduction.cases
        # by what is drawn alone: all orders have the same data
        rng = generator(self.config.seed, "uniform features", features, values, cases, replicate)
        X = draw_uniform(rng, features=features, values=values, cases=cases).X
        thesis, thesis_seconds = _timed(X, order, "thesis")
        closed, closed_seconds = _timed(X, order, "closed")
        return {
            "patterns": closed.n_patterns,
            "groups": closed.n_groups,
            "superpatterns": thesis.n_intervals,
            "intervals": closed.n_intervals,
            "thesis_seconds": thesis_seconds,
            "closed_seconds": closed_seconds,
            "same": _content(thesis) == _content(closed),
        }


def _timed(X: np.ndarray, order: int, algorithm: str) -> tuple[FeatureGroups, float]:
    """Return the groups, and the seconds of the quickest of several times."""
    seconds = []
    for _ in range(TIMES):
        started = time.perf_counter()
        groups = compress_features(X, order, algorithm=algorithm)
        seconds.append(time.perf_counter() - started)
    return groups, min(seconds)


def _content(groups: FeatureGroups) -> dict[bytes, bytes]:
    """Return the numbers of patterns by order of each expression."""
    expressions = np.split(groups.indices, groups.indptr[1:-1])
    return {
        cases.tobytes(): counts.tobytes()
        for cases, counts in zip(expressions, groups.patterns_per_order, strict=True)
    }
