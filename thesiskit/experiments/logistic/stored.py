"""What the stages of chapter 3 keep for those after them: cases, and groups of patterns."""

from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from thesiskit.experiments.logistic.cases import Cases
from thesiskit.experiments.logistic.design import PATTERNS, Patterns
from thesiskit.experiments.work import Block
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import Groups, Shared

TRUE = "true_"  # before the names of what drawn cases were drawn with


def case_arrays(cases: Cases, patterns: Patterns) -> Arrays:
    """Return what the simulate stage keeps: codes (n, .) of all cases, the training cases first.

    States and values have at most 255 codes; features may have negative ones, of missing values.
    """
    both = np.concatenate([cases.train, cases.test])
    return {
        "response": np.concatenate([cases.train_response, cases.test_response]),
        "train_cases": np.array(len(cases.train_response)),
        "classes": np.array(cases.classes),
        "ids": np.array(cases.ids, dtype=str),  # none of cases that are drawn
        "notes": np.array(cases.notes, dtype=str),
        **patterns.arrays(),
        **(
            {"histories": both.astype(np.uint8)}
            if patterns.kind == "sequences"
            else {"cases": both}
        ),
        **{f"{TRUE}{name}": values for name, values in cases.truth.items()},
    }


def group_arrays(groups: Groups, test: np.ndarray, order: int, *, compress: bool) -> Arrays:
    """Return what the compress stage keeps: groups, and what test cases share with them, if any."""
    shared = asdict(groups.shared(test)) if len(test) else {}
    found = groups.arrays() | {f"shared/{name}": values for name, values in shared.items()}
    return {f"{_of(order, compress)}/{name}": values for name, values in found.items()}


def _of(order: int, compress: bool) -> str:
    return f"order {order}, {'compressed' if compress else 'original'}"


class Stored:
    """What was kept of a block."""

    def __init__(self, block: Block, min_cases: int):
        self.block, self.min_cases = block, min_cases

    @cached_property
    def _arrays(self) -> Arrays:
        return self.block.load("simulate")

    @cached_property
    def cases(self) -> Cases:
        """The training and the test cases."""
        arrays, n = self._arrays, int(self._arrays["train_cases"])
        both = arrays["histories"].astype(np.int32) if "histories" in arrays else arrays["cases"]
        response = arrays["response"]
        return Cases(
            both[:n], response[:n], both[n:], response[n:],
            [str(one) for one in arrays["classes"]],
            {k.removeprefix(TRUE): v for k, v in arrays.items() if k.startswith(TRUE)},
        )  # fmt: skip

    @cached_property
    def patterns(self) -> Patterns:
        """What the patterns of the cases are."""
        kind = "sequences" if "histories" in self._arrays else "features"
        return PATTERNS[kind].restore(self._arrays)

    def groups(self, order: int, *, compress: bool) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of patterns that an arm has."""
        arrays = self._load(_of(order, compress), self.patterns.stored)
        return self.find_groups(order, compress=compress, arrays=arrays)

    def find_groups(
        self, order: int, *, compress: bool = True, arrays: Arrays | None = None
    ) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of patterns of the training cases."""
        return self.patterns.groups(
            self.cases.train, order, compress=compress, min_cases=self.min_cases, arrays=arrays
        )

    def shared(self, order: int, *, compress: bool) -> Shared:
        """Return what the test cases share with the groups of an arm."""
        return Shared(**self._load(f"{_of(order, compress)}/shared", Shared.names()))

    def _load(self, folder: str, names: tuple[str, ...]) -> Arrays:
        found = self.block.load("compress", [f"{folder}/{name}" for name in names])
        return {name: found[f"{folder}/{name}"] for name in names}
