"""Experiments without samples: correlations of counts, numbers of patterns."""

import math
import time
from typing import Any

import numpy as np

from thesiskit.datasets.features import draw_uniform
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import FeatureGroups, compress_features
from thesiskit.models.selection import correlation_lattice
from thesiskit.study.cells import Cell, CellBlock, Needs, Unfinished, Work, generator

TIMES = 3  # of which the best counts


class LatticeWork(Work):
    """The display of Cor(I0, I1): correlations of all counts, and which of them are kept."""

    stages = ("select",)
    config: Any  # with a lattice

    def settings_of(self, stage: str, method: str = "") -> object:
        return self.config.lattice.model_dump()

    def needs(self, replicates: int) -> Needs:
        """Return what the display needs: a number and a kind of each count."""
        points = math.prod(n + 1 for n in self.config.lattice.class_counts)
        return Needs(disk=9.0 * points, memory=9.0 * points)

    def make(self, cell: Cell, block: CellBlock, unfinished: Unfinished) -> Arrays:
        """Return the correlations (n0 + 1, n1 + 1), and whether each is kept."""
        lattice = self.config.lattice
        n0, n1 = lattice.class_counts
        correlation, kind = correlation_lattice(n0, n1, str(lattice.gamma))
        return {"correlation": correlation, "kind": kind}


class ReductionWork(Work):
    """Numbers of patterns and of groups of uniform features: no responses, no model, one stage.

    Each setting of each sweep is compressed by the thesis's algorithm and by ours.
    """

    stages = ("compress",)
    config: Any  # with a reduction

    def settings_of(self, stage: str, method: str = "") -> object:
        return [self.config.seed, self.config.reduction.model_dump()]

    def needs(self, replicates: int) -> Needs:
        settings = [one for sweep in self.config.reduction.sweeps for one in sweep.settings]
        widest = max(features for features, _, _ in settings)
        fits, held = replicates * len(settings), 1.0 * self.config.reduction.samples * widest
        return Needs(fits=fits, disk=8.0 * 9 * fits, memory=held)

    def make(self, cell: Cell, block: CellBlock, unfinished: Unfinished) -> Arrays:
        """Return arrays of settings (S,), and of replicates by settings (R, S)."""
        settings = [
            (number, *setting)
            for number, sweep in enumerate(self.config.reduction.sweeps)
            for setting in sweep.settings
        ]
        rows = [
            self._compress(replicate, *setting[1:])
            for replicate in block.replicates
            for setting in settings
        ]
        shape = (len(block.replicates), len(settings))
        arrays = {name: np.array([row[name] for row in rows]).reshape(shape) for name in rows[0]}
        names = ("sweep", "features", "values", "order")
        return dict(zip(names, np.array(settings).T, strict=True)) | arrays

    def _compress(self, replicate: int, features: int, values: int, order: int) -> dict[str, float]:
        samples = self.config.reduction.samples
        # by what is drawn alone: all orders have the same data
        rng = generator(self.config.seed, "uniform features", features, values, samples, replicate)
        X = draw_uniform(rng, features=features, values=values, samples=samples).X
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
        started = time.process_time()
        groups = compress_features(X, order, algorithm=algorithm)
        seconds.append(time.process_time() - started)
    return groups, min(seconds)


def _content(groups: FeatureGroups) -> dict[bytes, bytes]:
    """Return the numbers of patterns by order of each expression."""
    expressions = np.split(groups.indices, groups.indptr[1:-1])
    return {
        samples.tobytes(): counts.tobytes()
        for samples, counts in zip(expressions, groups.patterns_per_order, strict=True)
    }
