"""A finished study of several tables, which may have different features, cases and classes."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.files import Results
from thesiskit.report.data_card import balance
from thesiskit.report.finished import Finished
from thesiskit.report.forecasts import Forecast, Score, aligned
from thesiskit.report.selection.record import Record
from thesiskit.report.selection.ways import Arm

MOST_LINES = 12  # of arms on the terminal


def several_tables(config: dict[str, Any]) -> list[str]:
    """Return the names of the tables of a study of several; nothing of other experiments."""
    sets = (config["data"] or {}).get("sets") or []
    return sets if len(sets) > 1 else []


class Part(Results):
    """The blocks of results of one table, counted from 0."""

    def __init__(self, results: Results, first: int):
        super().__init__(results.root, results.folder.name)
        self.first = first

    def path(self, stage: str, block: int) -> Path:
        """Return the file of a block of this table."""
        return super().path(stage, self.first + block)


class Study(Finished):
    """Several tables, of which each has a record of its own."""

    def __init__(self, results: Results, n_blocks: int, config: dict[str, Any]):
        super().__init__(results, n_blocks, config)
        self.names = several_tables(config)
        each = n_blocks // len(self.names)
        self.tables = {
            name: Record(
                Part(results, i * each),
                each,
                config | {"data": config["data"] | {"sets": [name]}},
            )
            for i, name in enumerate(self.names)
        }

    @property
    def first(self) -> Record:
        """The record of the first table."""
        return self.tables[self.names[0]]

    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show, for the first table."""
        return f"{self.names[0]}: {self.first.summary(stage)} ({len(self.names)} tables in all)"

    @property
    def arms(self) -> list[Arm]:
        """The arms, which are those of every table."""
        return self.first.arms

    @cached_property
    def scored(self) -> dict[str, list[tuple[Forecast, Score]]]:
        """What every arm predicted of each table, and how good it is, in the order of `arms`."""
        return {name: table.scores() for name, table in self.tables.items()}

    @property
    def question(self) -> str:
        """What was asked of the data."""
        return f"Which class is a case of each of {len(self.names)} tables?"

    def card(self) -> list[tuple[str, str]]:
        """Return a line for each table: cases, classes and features."""
        return [(name, _about(table)) for name, table in self.tables.items()]

    @property
    def notes(self) -> list[str]:
        """What the user should know about the tables."""
        return list(dict.fromkeys(note for one in self.tables.values() for note in one.notes))

    def headline(self) -> list[str]:
        """Return lines with mean scores over tables; of many arms, those with the lowest AMLP."""
        found: dict[str, list[float]] = {}
        for i, (one, _) in enumerate(self.scored[self.names[0]]):
            scores = [self.scored[name][i][1] for name in self.names]
            means = [float(np.mean([take(score) for score in scores])) for take in MEASURES]
            if not np.isnan(means[-1]):  # it predicts all tables
                found[one.name] = means
        best = sorted(found, key=lambda name: found[name][-1])[:MOST_LINES]
        shown = [(name, *(f"{x:.3f}" for x in found[name])) for name in best]
        header = [f"means over {len(self.names)} tables", "error", "expected", "AMLP"]
        more = len(self.arms) - len(shown)
        return aligned(header, shown) + ([f"(and {more} more arms)"] if more else [])

    @property
    def variant_name(self) -> str:
        """The word for what varies."""
        return self.first.variant_name

    @property
    def made(self) -> tuple[int, int]:
        """The numbers of training sets and of test cases, of all tables together."""
        sets, cases = zip(*(table.made for table in self.tables.values()), strict=True)
        return sum(sets), sum(cases)

    def timings(self) -> list[dict[str, Any]]:
        """Rows of timings.csv: seconds by arm and stage, of all tables together."""
        several = [table.timings() for table in self.tables.values()]
        rows = []
        for same in zip(*several, strict=True):
            row = dict(same[0])
            for key, value in row.items():
                if isinstance(value, float):
                    row[key] = float(sum(one[key] for one in same))
            rows.append(row)
        return rows


MEASURES: tuple[Callable[[Score], float], ...] = (
    lambda score: score.error,
    lambda score: score.expected,
    lambda score: score.amlp,
)


def _about(table: Record) -> str:
    drawn = table.results.load("simulate", 0, ("response", "group"))
    response = drawn["response"][0].astype(np.int64)
    words = balance(response, table.class_names)
    return f"{len(response):,} cases ({words}), {drawn['group'].shape[1]:,} features"
