"""Selecting from all patterns of one, two and three discrete features.

A *pattern* of order d says that d different features have given values ("rs1 = 2 and rs7 = 0").
As a binary feature of samples it is 1 where all are so, and missing where one of these features is
missing; a sample in which it is missing does not count for it.  Candidates of order d are all
patterns of at most d features that vary among the training samples.  Of a feature with two values,
the pattern of this feature alone is one candidate, as its two values say the same; of several
features, all are.

| symbol | name | shape |
|---|---|---|
| features as bits, one plane for a value | `Planes.words` | (planes, words, LANES) uint64 |
| a pattern | its number: see planes.py | int64 |
| I0, I1, and n0, n1, samples that have all its features | rows of `counts` | (., 4) |
| gamma^2 | `Selection.gamma_squared` | |

Selection is that of selection.py: the k with the largest |COR|, or all above a threshold; ties are
found in integers, and which of them are kept is decided by lot, here by a random order of all
patterns.  As the order is total, the patterns that are kept depend neither on the number of threads
nor on the processor.  With `disjoint`, each feature is used once: patterns are taken as they come
in this order, if none of their features is used.  With `ld`, features are skipped that say nearly
what a feature of a pattern taken before says.

The correction of chapter 2 takes the candidates as independent, given the class and the parameters.
Patterns that share features are not, nor are those of features in linkage disequilibrium; so it is
an approximation, which holds where the kept ones do not say the same thing twice.  That is what
`disjoint` and `ld` are for.  A candidate above gamma that was left out because its feature was used
or skipped was not left out for being weak: it says nothing, and `LeftOut` does not count it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from math import comb
from os import cpu_count

import numpy as np

from thesiskit._kernels import interactions as kernel  # type: ignore[attr-defined]
from thesiskit.errors import UserError
from thesiskit.models.base import splitmix64
from thesiskit.models.pipeline import Selector
from thesiskit.models.selection import (
    AT,
    BELOW,
    NEARLY,
    WITHIN,
    LeftOut,
    Selection,
    check_threshold,
    distinct_counts,
    exact_squares,
    keep,
    squared_correlation,
    squares,
)
from thesiskit.pairs.planes import LANES, MOST_VALUES, Planes, count_bits, decode, encode

MOST_PATTERNS = 2e13
MOST_ABOVE = 5_000_000  # patterns above a threshold
ROWS = 64  # features, or pairs, that meet all others in one block of work
DISJOINT = "disjoint"  # the form of a selection that uses each feature once
LISTED = 1 << 18  # of the best patterns, from which those of disjoint features are taken
ROOM, SLOTS = 1 << 16, 1 << 18  # of the buffers of a thread


class _Tally:
    """How many patterns have n0 and n1 samples, by n0 2^32 + n1."""

    def __init__(self, pairs: np.ndarray | None = None):
        self.pairs = np.empty((0, 2), dtype=np.int64) if pairs is None else pairs

    def add(self, keys: np.ndarray, numbers: np.ndarray | int = 1) -> None:
        more = np.column_stack([keys, np.broadcast_to(numbers, len(keys))])
        pairs = np.concatenate([self.pairs, more])
        keys, place = np.unique(pairs[:, 0], return_inverse=True)
        sums = np.zeros(len(keys), dtype=np.int64)
        np.add.at(sums, place, pairs[:, 1])
        self.pairs = np.column_stack([keys, sums])[sums != 0]

    def add_counts(self, counts: np.ndarray, sign: int = 1) -> None:
        self.add((counts[:, 2] << 32) + counts[:, 3], sign)

    @property
    def total(self) -> int:
        return int(self.pairs[:, 1].sum())

    def rows(self, event: int) -> np.ndarray:
        """Return rows of `LeftOut`."""
        keys, numbers = self.pairs.T
        return np.column_stack([keys >> 32, keys & (2**32 - 1), np.full(len(keys), event), numbers])


class Best:
    """The best patterns of those that were added: a number of them, or all above a bound.

    size : how many are stored; None, and 0: of those above `bound` all, and none.
    bound : patterns below it need not be added: none of them can be stored.
    passed : the numbers of patterns that are passed over when they are added.
    tied : those that have a COR^2 of `bound` and are not stored.
    above : of size 0, those above `bound`.
    """

    def __init__(self, size: int | None, bound: Fraction, seed: int, passed: np.ndarray):
        self.size, self.bound, self.seed, self.passed = size, bound, seed, passed
        self.tied, self.above = _Tally(), _Tally()
        self.enough = 5 * (size or 0) // 4 + ROOM  # so many are stored before they are sorted out
        self.numbers = np.empty(0, dtype=np.int64)
        self.counts = np.empty((0, 4), dtype=np.int64)

    def empty(self) -> "Best":
        """Return another one for part of the patterns, which `merge` takes."""
        return Best(self.size, self.bound, self.seed, self.passed)

    def add(self, numbers: np.ndarray, counts: np.ndarray) -> None:
        """Add patterns: their numbers, and I0, I1, n0, n1 of each, (m, 4)."""
        if len(self.passed):
            new = ~np.isin(numbers, self.passed)
            numbers, counts = numbers[new], counts[new]
        self.numbers = np.concatenate([self.numbers, numbers])
        self.counts = np.concatenate([self.counts, counts])
        if len(self.numbers) > self.enough:
            self.settle()

    def merge(self, best: "Best") -> None:
        """Add what another one has of other patterns."""
        self.add(best.numbers, best.counts)
        if len(best.tied.pairs):
            self.settle()
            if best.bound == self.bound:
                self.tied.add(*best.tied.pairs.T)
        self.above.add(*best.above.pairs.T)

    def settle(self) -> None:
        """Store no more than is to be stored, and raise the bound to the weakest of them."""
        counts, size = self.counts, self.size
        if len(counts) < max(1, size or 0):
            return
        score = squares(counts[:, :2], counts[:, 2:])

        def lot(tied: np.ndarray, size: int) -> np.ndarray:
            return tied[np.argsort(splitmix64(self.numbers[tied], self.seed))[:size]]

        def exact(places: np.ndarray) -> tuple[list[Fraction], np.ndarray]:
            return exact_squares(counts[places], (0, 0))

        cut = None if size else self.bound
        stored, cut, tied, tied_stored = keep(score, exact, size or None, cut, lot)
        if cut > self.bound:
            self.bound, self.tied = cut, _Tally()
        if cut == self.bound and tied_stored < len(tied):
            self.tied.add_counts(counts[np.setdiff1d(tied, stored, assume_unique=True)])
        if size == 0:
            self.above.add_counts(counts[stored])
            stored = stored[:0]
        self.numbers, self.counts = self.numbers[stored], counts[stored]
        self.enough = 5 * max(size or 0, len(stored)) // 4 + ROOM
        if size is None and len(stored) > MOST_ABOVE:
            raise UserError(
                f"more than {MOST_ABOVE:,} patterns are above the threshold. Fix: give a larger "
                "one, or k, the number of patterns to keep"
            )


def ranks(counts: np.ndarray) -> np.ndarray:
    """Return the rank of COR^2 of each row of counts (m, 4): 0 for the largest, equal if it is."""
    if not len(counts):
        return np.empty(0, dtype=np.int64)
    rows, inverse, _ = distinct_counts(counts)
    score = squares(rows[:, :2], rows[:, 2:])
    order = np.argsort(-score, kind="stable")
    fallen = -np.diff(score[order]) > NEARLY * score[order][:-1]
    cluster = np.concatenate([[0], np.cumsum(fallen)])
    is_distinct = np.bincount(cluster)[cluster] == 1  # what is near no other needs no exact square
    sorted_rows = zip(is_distinct.tolist(), rows[order].tolist(), strict=True)
    exact = [0 if skip else -squared_correlation(*row) for skip, row in sorted_rows]
    keys = list(zip(cluster.tolist(), exact, strict=True))
    place = {key: i for i, key in enumerate(sorted(set(keys)))}
    rank = np.empty(len(rows), dtype=np.int64)
    rank[order] = [place[key] for key in keys]
    return rank[inverse]


class _Walk:
    """A walk through all patterns of two or three features, the first of them one of the heads.

    places : of features, in the order in which they stand in a pattern; those at the beginning are
        the heads.
    """

    def __init__(self, planes: Planes, places: np.ndarray, heads: int, order: int):
        self.planes, self.places, self.heads, self.order = planes, places, heads, order
        self.rank = np.full(len(planes.feature), -1)
        self.rank[places] = np.arange(len(places))
        self.kind = np.repeat(2 * planes.values + planes.complete, LANES)
        arrays = (planes.words, planes.counts, planes.first, planes.values, planes.complete)
        self.right = kernel.Right(*arrays, planes.width0)
        self.buffers = threading.local()

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield a first feature (-1: none) and others of one kind, which meet all that follow."""
        if self.order > 1:
            yield from ((-1, part) for part in self._parts(0, self.heads))
        if self.order > 2:
            for i in range(self.heads):
                parts = self._parts(i + 1, len(self.places))
                yield from ((int(self.places[i]), part) for part in parts)

    def _parts(self, start: int, stop: int) -> Iterator[np.ndarray]:
        kinds = self.kind[self.places[start:stop]]
        edges = [0, *(np.flatnonzero(np.diff(kinds)) + 1), stop - start]
        for first, last in pairwise(edges):
            for i in range(start + first, start + last, ROWS):
                yield self.places[i : min(i + ROWS, start + last)]

    def total(self) -> int:
        """How many pairs and triples of features there are."""
        m, rest = len(self.places), len(self.places) - self.heads
        return sum(comb(m, d) - comb(rest, d) for d in range(2, self.order + 1))

    def work(
        self, block: tuple[int, np.ndarray], best: Best, form: int
    ) -> tuple[Best, _Tally, int]:
        """Walk through a block: its best patterns, how many vary, and how many features met."""
        local, varying = best.empty(), _Tally()
        for rows, pairs in self.scan_block(block, form, local):
            local.add(self._numbers(block, rows), rows[:, 3:])
            varying.add(*pairs.T)
        return local, varying, int((len(self.places) - 1 - self.rank[block[1]]).sum())

    def scan_block(
        self, block: tuple[int, np.ndarray], form: int, best: Best | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield what the kernel finds in a block, at or above the bound of `best` at that time.

        That are rows of (row of the block, place, cell, I0, I1, n0, n1), of all cells of the pairs
        or triples that they are of, and pairs of a `_Tally` of what varies.
        """
        first, places = block
        words = self.planes.of(places)
        values, complete = words.shape[1], bool(self.planes.complete[places[0] // LANES])
        if first >= 0:
            head = self.planes.of(np.array([first]))
            words = (head[:, :, None] & words[:, None]).reshape(len(places), -1, words.shape[2])
            complete = complete and bool(self.planes.complete[first // LANES])
        parts = np.split(words, [self.planes.width0], axis=2)
        counts = np.stack([count_bits(part, 2) for part in parts], axis=2)
        side = kernel.Left(words, counts, self.rank[places], words.shape[1] // values, complete)
        buffer, tally, cells = self._buffers()
        scan = kernel.Scan(self.right, side, self.rank, buffer, tally, cells)
        while not scan.done:
            bound = 0.0 if best is None else float(best.bound) * (1 - NEARLY)
            rows = buffer[: scan.go(bound, form)].astype(np.int64)
            nonzero = np.flatnonzero(tally[:, 0])
            pairs = tally[nonzero] - (1, 0)
            tally[nonzero] = 0
            scan.emptied()
            yield rows, pairs

    def cells(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the values u of a block's feature and v of the other, and I0 + I1, of pairs."""
        u, v = np.divmod(rows[:, 2], self.planes.values[rows[:, 1] // LANES])
        return u, v, rows[:, 3] + rows[:, 4]

    def likeness(self, form: int) -> np.ndarray:
        """Return squared correlations of codes of the first place with those of others, (p,)."""
        sums = np.zeros((6, len(self.planes.feature)))
        for rows, _ in self.scan_block((-1, self.places[:1]), form):
            u, v, s = self.cells(rows)
            for total, value in zip(sums[1:], (u, v, u * u, u * v, v * v), strict=True):
                total += np.bincount(rows[:, 1], value * s, len(total))
            sums[0, rows[:, 1]] = rows[:, 5] + rows[:, 6]
        n, x, y, xx, xy, yy = sums
        spread = (n * xx - x * x) * (n * yy - y * y)
        result = np.zeros(self.planes.p)
        vary = spread > 0  # both features
        result[self.planes.feature[vary]] = (n * xy - x * y)[vary] ** 2 / spread[vary]
        return result

    def _buffers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not hasattr(self.buffers, "arrays"):
            cells = MOST_VALUES**self.order
            slots = 4 * LANES if self.planes.complete.all() else SLOTS
            self.buffers.arrays = (
                np.empty((ROOM + cells * LANES, 7), dtype=np.int32),
                np.zeros((slots, 2), dtype=np.int64),
                np.empty(cells * 2 * LANES, dtype=np.int32),
            )
        return self.buffers.arrays

    def _numbers(self, block: tuple[int, np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the patterns that were found."""
        (first, places), feature, values = block, self.planes.feature, self.planes.values
        cell, w = np.divmod(rows[:, 2], values[rows[:, 1] // LANES])
        u, v = np.divmod(cell, values[places[0] // LANES])
        head = np.full(len(rows), -1 if first < 0 else feature[first])
        names = np.column_stack([head, feature[places[rows[:, 0]]], feature[rows[:, 1]]])
        return encode(names, np.column_stack([u, v, w]))


@dataclass(frozen=True)
class Run:
    """How a screening is run; nothing here changes its result.

    threads : how many; None: as many as there are processors.
    watch : is called after each block of work with what is done and all of the present walk, in
        pairs and triples of features, and a function that returns the state as named arrays, from
        which another screening of the same can go on.  What it raises ends the screening.
    state : arrays to go on from.
    form : an index of the kernel's FORMS; the last is the best that the processor has.
    """

    threads: int | None = None
    watch: Callable[[int, int, Callable[[], dict[str, np.ndarray]]], None] | None = None
    state: dict[str, np.ndarray] | None = None
    form: int = -1


class _Screening:
    """A selection while it is made; the arguments are those of `select_patterns`."""

    def __init__(self, planes: Planes, k: int | None, cut: Fraction | None, order: int,
                 disjoint: bool, ld: float | None, at_most: bool, seed: int, run: Run):  # fmt: skip
        self.planes, self.k, self.cut, self.order = planes, k, cut, order
        self.requested, self.at_most = k, at_most
        self.disjoint, self.ld, self.seed, self.run = disjoint, ld, seed, run
        self.selected, self.selected_counts = np.empty(0, np.int64), np.empty((0, 4), np.int64)
        self.varying = _Tally()
        self.lists = 0  # how many lists were made before this one; -1 when what is left is counted
        self.n_before = 0  # how many patterns were kept before this list
        self.blocks = self.n_met = 0  # of the present walk: blocks done, and features met
        self.alike: dict[int, np.ndarray] = {}
        used_lanes = np.flatnonzero(planes.feature >= 0)
        self.place = np.full(planes.p, -1)
        self.place[planes.feature[used_lanes]] = used_lanes
        self.best = self._list()

    def _list(self) -> Best:
        """Return an empty list of the best patterns."""
        if self.k is None:
            return Best(None, self.cut or Fraction(0), self.seed, self.selected[:0])
        choosy = self.disjoint or self.ld is not None
        size = max(LISTED, 2 * self.k) if choosy else self.k  # more than were kept before
        return Best(size, Fraction(0), self.seed, self.selected[:0])

    def _counter(self) -> Best:
        """Return a count of patterns that were not kept, above gamma and tied with it."""
        return Best(0, self._gamma_squared(), self.seed, self.selected)

    def _gamma_squared(self) -> Fraction:
        if self.cut is not None:
            return self.cut
        return squared_correlation(*self.selected_counts[np.argmax(ranks(self.selected_counts))])

    def select(self) -> Selection:
        """Make lists and take of them in turn until all are taken; then count what was left out."""
        if self.run.state is not None:
            self._load(self.run.state)
        while self.lists >= 0:
            excluded = self._excluded()
            places = np.sort(self.place[(self.place >= 0) & ~excluded])
            self._walk(places, len(places))
            best = self.best
            if self.k is not None and self.at_most:
                self.k = min(self.k, self.varying.total)
            if self.k is not None and self.k > self.varying.total:
                raise UserError(
                    f"the number of patterns to select must be from 1 to {self.varying.total:,}, "
                    f"as many as vary, got {self.k:,}"
                )
            self._take(best, excluded)
            whole = len(best.numbers) < (best.size or 0)  # the list has all that there are
            if whole and self.at_most:
                self.k = len(self.selected)
            if self.k is None or len(self.selected) == self.k:
                self.lists, self.best = -1, self._counter()
                self.best.add(best.numbers, best.counts)
                if best.bound == self.best.bound:
                    self.best.tied.add(*best.tied.pairs.T)
            elif whole:
                raise UserError(
                    f"only {len(self.selected):,} patterns can be selected when features are used "
                    f"once or skipped, not {self.k:,}. Fix: select fewer, or allow more patterns "
                    "of a feature"
                )
            else:
                self.lists, self.n_before = self.lists + 1, len(self.selected)
                self.best = self._list()
            self.blocks = self.n_met = 0
        # patterns of features that were not in the last list; what is above a threshold was in it
        gone = self._excluded() & (self.place >= 0) & (self.k is not None)
        heads = np.sort(self.place[gone])
        remaining = np.sort(self.place[(self.place >= 0) & ~gone])
        self._walk(np.concatenate([heads, remaining]), len(heads))
        return self._selection()

    def _walk(self, places: np.ndarray, heads: int) -> None:
        """Add to `best` the patterns whose first feature is one of the heads."""
        walk = _Walk(self.planes, places, heads, self.order)
        total, threads = walk.total(), self.run.threads or cpu_count() or 1
        if self.blocks == 0:
            numbers, counts = self.planes.patterns_of_one()
            at_heads = np.isin(self.place[decode(numbers)[0][:, 2]], places[:heads])
            self.best.add(numbers[at_heads], counts[at_heads])
            if self.lists == 0:
                self.varying.add_counts(counts[at_heads])
        pending: deque[Future] = deque()

        def finish() -> None:
            local, varying, n_met = pending.popleft().result()
            self.best.merge(local)
            if self.lists == 0:
                self.varying.add(*varying.pairs.T)
            self.blocks, self.n_met = self.blocks + 1, self.n_met + n_met
            if self.run.watch is not None:
                self.run.watch(self.n_met, total, self.state)

        with ThreadPoolExecutor(threads) as pool:
            try:
                for block in islice(walk.blocks(), self.blocks, None):
                    pending.append(pool.submit(walk.work, block, self.best, self.run.form))
                    if len(pending) > 2 * threads:
                        finish()
                while pending:
                    finish()
            finally:
                pool.shutdown(cancel_futures=True)
        self.best.settle()

    def _excluded(self) -> np.ndarray:
        """Return which features were used up or skipped before this list was made, (p,)."""
        excluded = np.zeros(self.planes.p, dtype=bool)
        features: set[int] = set()
        if self.disjoint or self.ld is not None:
            for names in decode(self.selected[: self.n_before])[0].tolist():
                self._use(names, features, excluded)
        return excluded

    def _use(self, names: list[int], features: set[int], excluded: np.ndarray) -> None:
        """Note that a pattern of these features was kept."""
        names = [name for name in names if name >= 0]
        features.update(names)
        for name in names if self.ld is not None else ():
            if name not in self.alike:
                first = self.place[name]
                remaining = np.setdiff1d(self.place[self.place >= 0], first)
                walk = _Walk(self.planes, np.append(first, remaining), 1, 2)
                self.alike[name] = np.flatnonzero(walk.likeness(self.run.form) > self.ld)
            excluded[np.setdiff1d(self.alike[name], list(features))] = True
        if self.disjoint:
            excluded[names] = True

    def _take(self, best: Best, excluded: np.ndarray) -> None:
        """Keep patterns of a list in their order, if none of their features is excluded."""
        order = np.lexsort((splitmix64(best.numbers, self.seed), ranks(best.counts)))
        if self.disjoint or self.ld is not None:
            patterns = set(self.selected.tolist())
            used_features = set(decode(self.selected)[0].ravel().tolist())
            selected = []
            numbers = best.numbers[order]
            names = decode(numbers)[0].tolist()
            for i, features, number in zip(order, names, numbers.tolist(), strict=True):
                if len(patterns) == self.k:
                    break
                if number not in patterns and not any(excluded[f] for f in features if f >= 0):
                    patterns.add(number)
                    selected.append(i)
                    self._use(features, used_features, excluded)
            order = np.array(selected, dtype=np.intp)
        self.selected = np.concatenate([self.selected, best.numbers[order]])
        self.selected_counts = np.concatenate([self.selected_counts, best.counts[order]])

    def _selection(self) -> Selection:
        rank = ranks(self.selected_counts)
        order = np.lexsort((self.selected, rank))
        counts, gamma_squared = self.selected_counts[order], self._gamma_squared()
        out, tied = _Tally(self.varying.pairs), self.best.tied
        out.add_counts(counts, -1)
        out.add(*(self.best.above.pairs * (1, -1)).T)
        rows = out.rows(WITHIN)
        if self.k is not None:
            out.add(*(tied.pairs * (1, -1)).T)
            rows = np.concatenate([out.rows(BELOW), tied.rows(AT)])
        tied_kept = 0 if self.k is None else int((rank == rank.max()).sum())
        return Selection(
            selected=self.selected[order],
            gamma_squared=gamma_squared,
            ones=counts[:, :2],
            class_counts=self.planes.class_counts,
            n_features=self.varying.total,
            tied=tied.total + tied_kept,
            tied_kept=tied_kept,
            correlation=np.sqrt(squares(counts[:, :2], counts[:, 2:])),
            left_out=LeftOut(rows[np.lexsort(rows[:, 2::-1].T)], gamma_squared),
            present=None if self.planes.complete.all() else counts[:, 2:],
        )

    def _of(self) -> np.ndarray:
        """Return what a state must agree with."""
        settings = (self.requested, self.cut, self.order, self.disjoint, self.ld, LISTED, ROWS)
        numbers = [np.nan if setting is None else float(setting) for setting in settings]
        weights = np.arange(self.planes.counts.size) % 1009
        digest = float((self.planes.counts.ravel() * weights).sum())
        return np.array([*numbers, *self.planes.class_counts, self.planes.p, digest])

    def state(self) -> dict[str, np.ndarray]:
        """Return all that another screening needs to go on."""
        self.best.settle()
        return {
            "of": self._of(),
            "where": np.array([self.seed, self.lists, self.n_before, self.blocks, self.n_met]),
            "kept": self.selected,
            "kept_counts": self.selected_counts,
            "varying": self.varying.pairs,
            "numbers": self.best.numbers,
            "counts": self.best.counts,
            "tied": self.best.tied.pairs,
            "above": self.best.above.pairs,
        }

    def _load(self, state: dict[str, np.ndarray]) -> None:
        if not np.array_equal(state["of"], self._of(), equal_nan=True):
            raise UserError(
                "the state is of a screening of other data or settings. Fix: start again without it"
            )
        self.seed, self.lists, self.n_before, self.blocks, self.n_met = state["where"].tolist()
        self.selected, self.selected_counts = state["kept"], state["kept_counts"]
        self.varying = _Tally(state["varying"])
        self.best = self._list() if self.lists >= 0 else self._counter()
        self.best.numbers, self.best.counts = state["numbers"], state["counts"]
        self.best.settle()  # finds the bound again
        self.best.tied, self.best.above = _Tally(state["tied"]), _Tally(state["above"])


def select_patterns(
    planes: Planes,
    k: int | None,
    rng: np.random.Generator,
    *,
    order: int = 2,
    threshold: Fraction | float | str | None = None,
    disjoint: bool = False,
    ld: float | None = None,
    at_most: bool = False,
    run: Run = Run(),
) -> Selection:
    """Keep the k patterns with the largest |COR|, or all with |COR| above a threshold.

    Parameters
    ----------
    planes : the features of the training samples.
    k : number of patterns to keep; None when a threshold is given.
    rng : gives the order in which patterns with the same |COR| are taken.
    order : 1 to 3: the most features of a pattern.
    threshold : gamma, as for `selection.select_features`.
    disjoint : use each feature once: a pattern is taken if no feature of it was used before.
    ld : skip the features whose codes have a squared correlation above this, over the samples where
        both are known, with a feature of a pattern that was taken before.
    at_most : keep fewer where there are not so many.
    run : threads, progress, and a state to go on from.

    Returns
    -------
    A Selection of which `selected` has numbers of patterns (planes.decode), by falling |COR|, then
    by number, and `n_features` the patterns that vary.  `left_out` has each that was not kept and
    is not above gamma; with k, those that tie with the weakest kept one are known.

    Raises
    ------
    UserError: k that is more than there are, a bad order, threshold or ld, more than MOST_ABOVE
    patterns above a threshold, more than MOST_PATTERNS patterns, or a state of another screening.
    """
    if (threshold is None) == (k is None):
        raise UserError("give either k or a threshold")
    features = int((planes.feature >= 0).sum())
    if order not in (1, 2, 3) or order > features:
        raise UserError(
            f"the order of patterns must be from 1 to {min(3, features)} with {features:,} "
            f"feature(s), got {order!r}"
        )
    if ld is not None and not 0 <= ld <= 1:
        raise UserError(f"ld, a squared correlation, must be from 0 to 1, got {ld!r}")
    number = planes.number_of_patterns(order)
    if number > MOST_PATTERNS:
        fitting = int(features * (MOST_PATTERNS / number) ** (1 / order))
        raise UserError(
            f"{features:,} features have {number:.2g} patterns of order {order}, too many to "
            f"score. Fix: select about {fitting:,} features first, or use a smaller order"
        )
    most = min(number, features) if disjoint else number
    k = min(k, most) if at_most and k is not None else k
    if k is not None and not 1 <= k <= most:
        raise UserError(f"the number of patterns to select must be from 1 to {most:,}, got {k!r}")
    cut = None if threshold is None else check_threshold(threshold) ** 2
    seed = int(rng.integers(2**63))
    return _Screening(planes, k, cut, order, disjoint, ld, at_most, seed, run).select()


def forecast(planes: Planes, order: int, run: Run = Run()) -> tuple[int, float]:
    """Return how many patterns there are, and about how many seconds it takes to screen them once.

    A small part is searched to find out.  `disjoint` and `ld` can take several times as long.
    """
    places = np.flatnonzero(planes.feature >= 0)
    walk = _Walk(planes, places, len(places), order)
    best = Best(1, Fraction(1), 0, np.empty(0, dtype=np.int64))
    first, seconds, hits = 0 if order > 2 else -1, [], 1  # the place of a first feature
    for _ in range(3 if order > 1 else 0):
        started = time.perf_counter()
        block = places[first + 1 : first + 1 + LANES]
        hits = walk.work((first, block[walk.kind[block] == walk.kind[block[0]]]), best, run.form)[2]
        seconds.append(time.perf_counter() - started)
    threads = run.threads or cpu_count() or 1
    all_ = walk.total() * min(seconds, default=0.0) / max(1, hits) / threads
    return planes.number_of_patterns(order), all_


@dataclass(frozen=True)
class PatternSelector(Selector):
    """Which patterns are selected: the best by correlation with the response.

    order, disjoint, ld : see `select_patterns`.
    run : how patterns are counted; None: in the usual way.
    """

    order: int = 2
    disjoint: bool = False
    ld: float | None = None
    run: Run | None = None

    def select_patterns(self, planes: Planes, rng: np.random.Generator) -> Selection:
        """Select patterns of discrete features, by the planes of the training samples.

        Raises as `select_patterns` does.
        """
        return select_patterns(
            planes,
            self.n_features,
            rng,
            order=self.order,
            threshold=self.threshold,
            disjoint=self.disjoint,
            ld=self.ld,
            at_most=self.at_most,
            run=self.run or Run(),
        )
