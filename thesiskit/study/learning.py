"""Learning curves: a method is fitted to parts of training sets, and tested on the same samples."""

from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
from threadpoolctl import threadpool_limits

from thesiskit.errors import DataError, UserError
from thesiskit.files import Results
from thesiskit.models.folds import independent_samples, numbered, stratified
from thesiskit.report import metrics
from thesiskit.study.all_samples import AllSamples
from thesiskit.study.cells import generator
from thesiskit.study.design import Divided, folds_of, group_means, strata
from thesiskit.study.experiment import Watch, open_work

FOLDER = "learning-curve"  # below the results of the experiment
REPEATS = 4  # divisions into folds
LEAST, LEAST_OF_CLASS, LEAST_TESTS = 20, 4, 10  # samples, or groups of samples
UNEVEN = 0.1  # of a training set, by which a part may be too large or too small


class LearningCurve:
    """Parts of the training sets of an experiment, to which a method is fitted.

    pieces, parts : training sets are divided into pieces, and each part is a number of them.  It
        has its share of each class, and whole groups of samples.

    Raises UserError where there is nothing to divide, DataError where that is too small.
    """

    def __init__(self, experiment: AllSamples, pieces: int = 4, parts: tuple[int, ...] = (2, 3, 4)):
        config, self.pieces, self.parts = experiment.tested.config, pieces, parts
        if not config.selects or config.screened is not None:
            data = "a filtered table" if config.selects else "sequences or groups of patterns"
            fix = "use a table that was not filtered, and model.kind: normal, pool or naive-bayes"
            raise UserError(f"{config.experiment}: no learning curve of {data}. Fix: {fix}")
        self.results = Results(experiment.tested.results.folder, FOLDER)
        scheme = config.scheme if config.scheme == "test-set" else "k-fold"
        evaluation = config.evaluation.model_copy(update={"scheme": scheme, "feature_groups": 1})
        config = config.model_copy(update={"evaluation": evaluation})
        self.work = cast(Any, open_work(config, experiment.graph.work.folder))
        self.design, self.groups = self.work.design, self.work.design.sample_groups
        self.data = [self.design.divisions(range(r, r + 1)) for r in range(REPEATS)]
        y, fold = strata(self.data[0]["response"][0]), self.data[0]["fold"][0]
        self.tested, train = fold >= 0, fold < 0 if scheme == "test-set" else fold >= 0
        groups = None if self.groups is None else self.groups[train]
        counts, self.n = independent_samples(y[train], groups, int(y.max()) + 1), int(train.sum())
        if min(counts.sum(), 2 * self.tested.sum()) < LEAST or counts.min() < LEAST_OF_CLASS:
            size = f"{counts.sum()} training samples or groups, {counts.min()} of the rarest class"
            fix = f"use {LEAST} or more, {LEAST_OF_CLASS} of each class, and {LEAST // 2} to test"
            raise DataError(f"too few samples for a learning curve: {size}. Fix: {fix}")
        for repeat, part in product(range(REPEATS), parts):
            [*self._divide(repeat, part, self.data[repeat]["fold"][0], y)]

    def _divide(self, repeat: int, part: int, fold: np.ndarray, response: np.ndarray) -> Divided:
        """Yield each fold with the samples that do not train: its own, and those of no part."""
        y, share = strata(response), part / self.pieces
        for f in folds_of(fold).tolist():
            train = np.flatnonzero(fold != f)
            groups = None if self.groups is None else numbered(self.groups[train].astype(str))
            rng = generator(self.work.config.seed, "learning curve", repeat, f)
            subset = train[stratified(y[train], rng, self.pieces, groups) < part]
            lacks = len(np.unique(y[subset])) < len(np.unique(y))
            if lacks or abs(len(subset) / len(train) - share) > UNEVEN:
                fault = "groups of samples, or a small class, cannot be divided"
                raise DataError(f"learning curve: {fault}. Fix: add samples, or smaller groups")
            yield f, np.setdiff1d(np.arange(len(fold)), subset)

    @threadpool_limits.wrap(limits=1)  # more threads add numbers in another order
    def measure(self, name: str, *, watch: Watch) -> tuple[np.ndarray, np.ndarray]:
        """Return mean sizes of the parts, (S,), and losses (2, repeats, S, tested samples).

        They are log losses of a method, and of class frequencies; of groups of samples their means.
        """
        if name not in self.work.all_methods:
            raise UserError(f"no learning curve of {name}. Fix: name a method with --method")
        method, S = self.work.all_methods[name], len(self.parts)
        losses, sizes = np.full((2, REPEATS, S, len(self.tested)), np.nan), np.zeros(S)
        tasks = [*product(range(REPEATS), range(S))]
        for r, s in watch(tasks, len(tasks), "learning curve"):
            divided, data = partial(self._divide, r, self.parts[s]), self.data[r]
            for split in self.design.splits(range(r, r + 1), data, divided):
                test = np.flatnonzero(data["fold"][0] == split.fold)
                split = replace(split, test=test).transformed(method.transform)
                answer, y = self.work.select_fit_predict(method, split)[0], split.response[test]
                loss = metrics.losses(answer, y) if split.classes else -answer.log_density(y)
                losses[:, r, s, test] = loss, loss - split.excess(answer)
                sizes[s] += len(split.train) / (REPEATS * self.design.folds)
        groups = None if self.groups is None else self.groups[self.tested]
        return sizes, np.apply_along_axis(group_means, 3, losses[..., self.tested], groups)
