"""Groups of interaction patterns that the same training cases express, for the samplers.

| thesis | name | shape |
|---|---|---|
| N, O | number of training cases, `order` | scalars |
| G | `n_groups` | scalar |
| n_g | patterns in group g; `patterns_per_order` counts them by order | (G, O + 1) |
| E_P | expression: `indptr`, `indices` | (G + 1,), (.) |
| t_g | patterns of group g that a test case expresses too | `Shared` |

Section "Compressing Parameters".  Only combinatorics lives in this package: no responses, no
priors.
"""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from thesiskit.errors import UserError

MISSING = -1  # the code of a value that is not known
UNSEEN = -2  # the code of a value that no training case has
MOST_ORDER = {
    "sequences": ("the length of the histories", "longer histories"),
    "features": ("the number of features", "more features"),
}


@dataclass(frozen=True)
class Shared:
    """What each of D distinct test cases has in common with the groups of the training cases.

    case_of (T,) says which distinct case each test case is.  Distinct case d expresses all patterns
    of the groups whole[whole_begin[d] : whole_begin[d + 1]], and some patterns of the groups
    partial[partial_begin[d] : partial_begin[d + 1]]: by order, shared_counts[partial_kind[.]] of
    these, and not the other_counts[partial_kind[.]].  new_counts[new_kind[d]] of its patterns are
    expressed by no training case.  Arrays of counts are (kinds, O + 1).
    """

    case_of: np.ndarray
    whole_begin: np.ndarray
    whole: np.ndarray
    partial_begin: np.ndarray
    partial: np.ndarray
    partial_kind: np.ndarray
    shared_counts: np.ndarray
    other_counts: np.ndarray
    new_kind: np.ndarray
    new_counts: np.ndarray

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the arrays."""
        return tuple(one.name for one in fields(cls))


class Groups:
    """Groups of patterns, in the form that a sampler needs.

    Training cases that no pattern tells apart are one row: row_of (N,).  The expression of group
    g is the rows members[begin[g] : end[g]]; its patterns are of the orders counted by
    kinds[kind[g]], kinds (C, O + 1) being the distinct vectors of counts.

    Where groups are a tree, any two of them being nested or disjoint, above (G,) is the smallest
    other group that holds each, -1 for none, and stands before it.

    stored : the arrays from which groups are restored without being found again.
    """

    stored: ClassVar[tuple[str, ...]]
    order: int
    row_of: np.ndarray
    n_rows: int
    begin: np.ndarray
    end: np.ndarray
    members: np.ndarray
    kind: np.ndarray
    kinds: np.ndarray
    above: np.ndarray = np.empty(0, dtype=np.int32)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays from which these groups can be restored."""
        return {name: getattr(self, name) for name in self.stored}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take what `arrays` of the same groups returned."""
        for name in self.stored:
            setattr(self, name, arrays[name])

    def shared(self, X) -> Shared:
        """Return what test cases X (T, .) share with the groups."""
        raise NotImplementedError

    def growth(self) -> np.ndarray:
        """Number of groups of the compressed model of each order 0..O, (O + 1,)."""
        raise NotImplementedError

    @property
    def n_cases(self) -> int:
        """N."""
        return len(self.row_of)

    @property
    def n_groups(self) -> int:
        """G, the number of parameters for each class."""
        return len(self.begin)

    @property
    def n_patterns(self) -> int:
        """Patterns that some training case expresses."""
        groups = np.bincount(self.kind, minlength=len(self.kinds))
        return sum(int(n) * int(g) for n, g in zip(self.kinds.sum(axis=1), groups, strict=True))

    @property
    def expressed(self) -> np.ndarray:
        """Training cases that express each group, (G,)."""
        cases = np.bincount(self.row_of, minlength=self.n_rows)
        before = np.concatenate([[0], np.cumsum(cases[self.members])])
        return before[self.end] - before[self.begin]

    @property
    def patterns_per_order(self) -> np.ndarray:
        """Patterns of each group by order, (G, O + 1)."""
        return self.kinds[self.kind]


def check_order(order, most: int, patterns: str) -> int:
    """Return the order as a number; raise UserError if it is not possible.

    patterns : "sequences" or "features", of which there are `most` states or features.
    """
    if isinstance(order, str) and order == "all":
        return most
    if isinstance(order, bool) or not isinstance(order, int | np.integer):
        raise UserError(f"order must be a whole number or 'all', got {order!r}")
    if order < 0:
        raise UserError(f"order must not be negative, got {order}")
    if order > most:
        what, more = MOST_ORDER[patterns]
        raise UserError(f"order {order} is above {what}, {most}; use at most {most}, or {more}")
    return int(order)


def distinct_rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a row number of each distinct row of values (n, m), and which each row is, (n,).

    Rows are compared by 64-bit keys, because sorting rows is slow; the result is checked.
    """
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    shift: np.ndarray = np.random.default_rng(0).integers(0, 2**63, bits.shape[1:], dtype=np.uint64)
    key = np.zeros(len(bits), dtype=np.uint64)
    for column in range(bits.shape[1]):
        x = bits[:, column] + shift[column]
        x = (x ^ (x >> 30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> 27)) * np.uint64(0x94D049BB133111EB)
        key += x ^ (x >> 31)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    if not np.array_equal(values[first][which], values):  # one of 1e19 / n^2 tables
        _, first, which = np.unique(values, axis=0, return_index=True, return_inverse=True)
    return first, which.reshape(-1).astype(np.int32)
