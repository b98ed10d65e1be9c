"""What the page of groups shows, as arrays: it is given to the page, which knows no model."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Ragged:
    """Lists of whole numbers, end to end: list g is items[begin[g] : begin[g + 1]]."""

    begin: np.ndarray
    items: np.ndarray

    @classmethod
    def of(cls, lists: list[list[int]]) -> "Ragged":
        """Return lists in this form."""
        lengths = [len(one) for one in lists]
        flat = [item for one in lists for item in one]
        begin = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(begin, np.array(flat, dtype=np.int64))

    def __getitem__(self, g: int) -> list[int]:
        return self.items[self.begin[g] : self.begin[g + 1]].tolist()


def offsets(values: list[list[str]]) -> np.ndarray:
    """Return the item of the first value of each feature, (p,), of the values of all."""
    counts = np.array([len(one) for one in values], dtype=np.int64)
    return np.cumsum(counts) - counts


@dataclass(frozen=True)
class Case:
    """One test case, and what the groups add to its linear functions.

    name, truth, predicted : in words.  worst : whether it is one of those predicted worst.
    values : codes of its states, most recent first, or of its features.
    groups (M,) : those that add most, with share (M,), the part of each group's coefficient that
    the case has, and added (3, S, M), the means and the ends of the intervals.
    others (3, S) : what `n_others` groups add together.  total (3, S) : the linear functions.
    """

    name: str
    truth: str
    predicted: str
    worst: bool
    values: list[int]
    groups: np.ndarray
    share: np.ndarray
    added: np.ndarray
    others: np.ndarray
    n_others: int
    total: np.ndarray


@dataclass(frozen=True)
class Content:
    """Groups of patterns, with coefficients if there has been a fit.

    model : which model, in words; empty before a fit.  cases_of : what the training cases are.
    classes : none of real responses.  base : what is added to every linear function of those.
    cases, patterns, first, last (G,) : training cases that have a group, how many patterns it has,
    and of which orders.  quantiles (3, S, G) : low end, median and high end of each coefficient,
    None before a fit; S is 1 for two classes, whose coefficient is that of the last one.
    all_groups : how many there are; the page has G of them.

    Sequences: `states`; `above` (G,), the group above each, -1 for none; `edges`, the states by
    which a group is longer than the one above it, most recent first, and `cut`, how many of these
    are left out of the edge of each group.
    Features: `features` and their `values`; `shortest`, a shortest pattern of each group, and
    `longest`, the values that all its cases have besides; an item is offset[feature] + value, where
    the offset is how many values the features before it have.  `cut` as above, of the longest.
    """

    title: str
    model: str
    about: str
    order: int
    classes: list[str]
    all_groups: int
    n_train: int
    cases: np.ndarray
    patterns: np.ndarray
    first: np.ndarray
    last: np.ndarray
    cut: np.ndarray
    quantiles: np.ndarray | None = None
    compressed: bool = True
    base: float = 0.0
    response: str = ""
    states: list[str] = field(default_factory=list)
    above: np.ndarray | None = None
    edges: Ragged | None = None
    features: list[str] = field(default_factory=list)
    values: list[list[str]] = field(default_factory=list)
    shortest: Ragged | None = None
    longest: Ragged | None = None
    tests: list[Case] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def n_groups(self) -> int:
        """G, the groups on the page."""
        return len(self.cases)

    @property
    def sequences(self) -> bool:
        """Whether the patterns are of sequences."""
        return self.edges is not None

    @property
    def scale(self) -> float:
        """A size of coefficients that counts as large, for colours: few medians exceed it."""
        if self.quantiles is None:
            return 1.0
        sizes = np.abs(self.quantiles[1]).max(axis=0)
        return float(np.quantile(sizes[1:], 0.98)) or 1.0 if len(sizes) > 1 else 1.0

    # ---- in words ----

    def pattern(self, g: int, *, shortest: bool = False) -> str:
        """Write the longest pattern of a group that the page has, or a shortest one."""
        if self.sequences:
            return self._sequence(g, shortest=shortest)
        assert self.shortest is not None
        assert self.longest is not None
        items = self.shortest[g] + ([] if shortest else self.longest[g])
        start = offsets(self.values)
        where = np.searchsorted(start, items, side="right") - 1
        pairs = sorted(zip(where.tolist(), items, strict=True))
        return ", ".join(
            f"{self.features[t]}={self.values[t][item - int(start[t])]}" for t, item in pairs
        )

    def _sequence(self, g: int, *, shortest: bool) -> str:
        assert self.edges is not None
        assert self.above is not None
        codes = self.edges[g]
        if shortest:
            codes = codes[: int(self.first[g] > 0)]
        left_out = not shortest and self.cut[g] > 0
        while (g := int(self.above[g])) >= 0:
            codes = self.edges[g] + codes
        symbols = [self.states[code] for code in reversed(codes)]
        joined = ("" if all(len(one) == 1 for one in self.states) else " ").join(symbols)
        return ("…" if left_out else "") + joined
