"""Experiments that select patterns of discrete features, which are the features of naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from thesiskit.config import Config
from thesiskit.datasets.source import Drawn, SelectionPriors, Table
from thesiskit.defaults import PATTERN_PI
from thesiskit.models.base import OWN, Arrays, SelectingModel
from thesiskit.models.naive_bayes import NaiveBayes
from thesiskit.models.peers import BITS, FEATURES, Method, Task
from thesiskit.models.selection import FSelection, Selection
from thesiskit.pairs.block import PatternSelection
from thesiskit.pairs.covariates import Covariates
from thesiskit.pairs.genotypes import GENOTYPES, GenotypesData
from thesiskit.pairs.interactions import DISJOINT, PatternSelector, Run, forecast
from thesiskit.pairs.planes import Planes, check_values, decode, express, words
from thesiskit.study.cells import CellBlock, Needs, Unfinished
from thesiskit.study.design import Design, Split
from thesiskit.study.selecting import (
    SelectionWork,
    pack_selections,
    select_one,
    selections,
    unpack_selections,
)

FEW, PART = 20_000, 2048  # features of which pairs are counted in seconds, and of a forecast
MOST_PAIRS = 10  # of features whose cells are counted


@dataclass(frozen=True)
class PairSplit(Split):
    """A training set of discrete features; `reals` are their codes, and what is selected patterns.

    n_values : (p,) how many values each feature has.
    covariates : (n, q) numbers that are no features, or None.
    """

    n_values: Sequence[int] = ()
    covariates: np.ndarray | None = None

    @cached_property
    def codes(self) -> Any:
        """The codes of discrete features of all samples, (n, p)."""
        tables = self.reals()
        return tables[0] if len(tables) == 1 else np.concatenate(tables)

    @cached_property
    def planes(self) -> Planes:
        """The discrete features of the training samples, of which patterns are selected."""
        return Planes.pack(self.codes, self.response, self.train)

    def values(self, columns: np.ndarray, samples: np.ndarray, takes: str) -> np.ndarray:
        return express(columns, self.codes[samples])

    def selector(self, config: Config, method: Method, **options: Any) -> PatternSelector:
        block = cast(PatternSelection, config.selection)
        options, disjoint = {"run": Run(threads=1)} | options, method.form == DISJOINT
        return PatternSelector(order=block.order, disjoint=disjoint, ld=block.ld, **options)

    def select(self, selector: Any, takes: str, rng: np.random.Generator) -> Selection | FSelection:
        return selector.select_patterns(self.planes, rng)

    def task(self, method: str, k: int) -> Task:
        return Task(FEATURES, self.classes, k, self.n_values)

    def table(self, task: Task) -> np.ndarray:
        return np.asarray(self.codes[:, :])

    def adjusted(self, p: np.ndarray) -> np.ndarray:
        if self.covariates is None:
            return p
        first = Covariates.of(self.covariates[self.train], self.response[self.train])
        return first.adjusted(p, self.covariates[self.test])


class PairDesign(Design):
    """Discrete features, divided into splits."""

    stores_bits = False

    @cached_property
    def tables(self) -> list[Table]:
        """The table of the config, then its test table, as codes; none for simulated data."""
        return [] if self.data.drawn else [table.as_table() for table in self.stored]

    @cached_property
    def covariates(self) -> np.ndarray | None:
        """Numbers of all samples of the tables that are no features, (n, q); None without any."""
        if not self.tables or not self.tables[0].covariates:
            return None
        parts = [np.column_stack([*table.covariates.values()]) for table in self.tables]
        return np.concatenate(parts)

    @cached_property
    def named(self) -> tuple[list[str], list[list[str]]]:
        """The names of discrete features, and of the values of each."""
        if not self.data.drawn:
            return self.tables[0].names, self.tables[0].values
        names = cast(GenotypesData, self.data).names
        return names, [GENOTYPES] * len(names)

    def count_columns(self) -> np.ndarray:
        many = np.array([*map(len, self.tables[0].values)])
        missing = sum(table.missing for table in self.tables)
        return np.array([(many == 2).sum(), 0, (many > 2).sum(), (many < 2).sum(), missing])

    def draw_from(self, rng: np.random.Generator, priors: SelectionPriors) -> Drawn:
        whole, data = self.data.draw(rng).as_table(), self.data
        assert data.sizes is not None
        train, test = (
            replace(whole, features=whole.features[rows], response=whole.response[rows])
            for rows in (slice(data.sizes.train), slice(data.sizes.train, None))
        )
        return Drawn(train, test, float("nan"), {})

    def split(self, split: Split) -> PairSplit:
        parts = {part.name: getattr(split, part.name) for part in fields(split) if part.init}
        n_values = [*map(len, self.named[1])]
        return PairSplit(**parts, n_values=n_values, covariates=self.covariates)

    def notes_of_missing(self) -> list[str]:
        return []


class PairWork(SelectionWork):
    """Patterns are selected in every split, then each method is fitted and predicts."""

    design_class = PairDesign
    design: PairDesign

    @property
    def notes(self) -> list[str]:
        third_party = [name for name in self.model.methods if name not in OWN]
        without = third_party and self.design.covariates is not None
        first = [f"data.covariates: {', '.join(third_party)}: without them"] if without else []
        return [*first, *super().notes]

    @property
    def described(self) -> dict[str, Any]:
        return super().described | {"candidates": self.design.data.family}

    def check(self) -> None:
        check_values(*self.design.named)
        super().check()

    def _model_of(self, method: Method) -> SelectingModel:
        model = cast(NaiveBayes, super()._model_of(method))
        # of millions of patterns a few are relevant
        return model if "pi" in self.model.model_fields_set else replace(model, pi=PATTERN_PI)

    def needs(self, replicates: int) -> Needs:
        needed, block = super().needs(replicates), self._block
        # features that are used once, or skipped, take a second walk
        walks = [2 if method.form or block.ld else 1 for method in selections(self.config)]
        needed.screening = replicates * self.design.folds * sum(walks) * self._seconds_of_walk()
        return needed

    @property
    def _block(self) -> PatternSelection:
        """The block `selection` of the config."""
        return cast(PatternSelection, self.config.selection)

    def _seconds_of_walk(self) -> float:
        """Return about how long a walk over all patterns takes a processor."""
        design, order = self.design, self._block.order
        p = len(design.named[0])
        if p < FEW ** (2 / order):  # it takes seconds
            return 0.0
        table = design.drawn(0).train if design.data.drawn else design.tables[0]
        part = min(p, PART)  # pairs, or triples, are counted from this
        planes = Planes.pack(np.asarray(table.features[:, :part]), table.response)
        _, seconds = forecast(planes, order, Run(threads=1))
        return seconds * (p / part) ** order

    # ---- selecting ----

    def select(self, block: CellBlock, unfinished: Unfinished) -> Arrays:
        methods, named = selections(self.config), self.design.named
        made: list[Selection | FSelection] = []
        seconds: list[float] = []
        for split in self.splits(block):
            for method in methods:
                fit = self._selected_by(split, method, unfinished, len(made))
                made += unpack_selections(fit)
                seconds.append(float(fit["seconds"][0]))
        arrays = {"label": np.array([method.label for method in methods])}
        arrays |= pack_selections(made, np.array(seconds))
        arrays["pattern"] = np.array(words(arrays["selected"], *named), dtype=str)
        if block.number == 0:
            arrays |= _cells(next(self.splits(block)), arrays, *named)  # type: ignore[arg-type]
        return arrays

    def _selected_by(
        self, split: Split, method: Method, unfinished: Unfinished, place: int
    ) -> Arrays:
        """Return a selection of patterns and its seconds; one that was stopped goes on."""
        if place not in unfinished.fits:
            running = unfinished.begin(place)
            alone = self.config.replicates == 1  # then no other cell needs a processor
            run = Run(None if alone else 1, running.watch, running.saved)
            selection = select_one(self.config, split, method, BITS, run=run)
            unfinished.finish(pack_selections([selection], running.seconds[None]))
        return unfinished.fits[place]


def _cells(split: PairSplit, arrays: Arrays, names: list[str], values: list[list[str]]) -> Arrays:
    """Count the values of pairs of features, those of the best patterns of the first training set.

    pair_feature (m, 2) and pair_value (m, 2, V) are words, of which those of a feature with fewer
    values are empty; cells (m, V, V, 2) are samples in each class.
    """
    labels = arrays["label"]
    label = np.repeat(labels, np.diff(arrays["offset"][: len(labels) + 1]))
    apart = np.char.find(label, DISJOINT) >= 0  # pairs of one good feature and others say little
    columns = np.flatnonzero(apart | ~apart.any())
    best = columns[np.argsort(-arrays["correlation"][columns], kind="stable")]
    features = decode(arrays["selected"][best])[0]
    of_two = features[(features[:, 0] < 0) & (features[:, 1] >= 0), 1:]
    pairs = np.array([*dict.fromkeys(map(tuple, of_two.tolist()))][:MOST_PAIRS]).reshape(-1, 2)
    V = max(map(len, values))
    cells = np.zeros((len(pairs), V, V, 2), dtype=np.int32)
    for counts, pair in zip(cells, pairs, strict=True):
        a, b = (split.codes[split.train, f] for f in pair)
        present = (a >= 0) & (b >= 0)
        np.add.at(counts, (a[present], b[present], split.response[split.train][present]), 1)
    symbols = [[[*values[f], *[""] * (V - len(values[f]))] for f in pair] for pair in pairs]
    return {
        "pair_feature": np.array([[names[f] for f in pair] for pair in pairs], dtype=str),
        "pair_value": np.array(symbols, dtype=str),
        "cells": cells,
    }
