"""Selecting from all patterns of one, two and three discrete features.

A *pattern* of order d says that d different features have given values ("rs1 = 2 and rs7 = 0").  As a
binary feature of cases it is 1 where all are so, and missing where one of these features is missing;
a case in which it is missing does not count for it.  Candidates of order d are all patterns of at
most d features that vary among the training cases.  Of a feature with two values, the pattern of this
feature alone is one candidate, as its two values say the same; of several features, all are.

| symbol | name | shape |
|---|---|---|
| features as bits, one plane for a value | `Planes.words` | (planes, words, LANES) uint64 |
| a pattern | its number: see `encode` | int64 |
| I0, I1, and n0, n1, cases that have all its features | rows of `counts` | (., 4) |
| gamma^2 | `Selection.gamma_squared` | |

Selection is that of selection.py: the k with the largest |COR|, or all above a threshold; ties are
found in integers, and which of them are kept is decided by lot, here by a random order of all
patterns.  As the order is total, the patterns that are kept depend neither on the number of threads
nor on the processor.  With `disjoint`, each feature is used once: patterns are taken as they come
in this order, if none of their features is used.  With `ld`, features are skipped that say nearly what
a feature of a pattern taken before says.

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
from typing import Any

import numpy as np

from thesiskit._kernels import interactions as kernel  # type: ignore[attr-defined]
from thesiskit._kernels import screening  # type: ignore[attr-defined]
from thesiskit.errors import DataError, UserError
from thesiskit.models.packed import mapping, read_columns, release
from thesiskit.models.selection import (
    AT,
    BELOW,
    NEARLY,
    WITHIN,
    LeftOut,
    Selection,
    check_response,
    check_threshold,
    distinct_counts,
    exact_squares,
    keep,
    squared_correlation,
    squares,
)

LANES = kernel.LANES
MOST_VALUES = 16  # of a feature
MOST_CASES = 100_000  # (n I1 - n1 s)^2 and n0 n1 s (n - s) have a relative error of 1e-15
BITS = 21  # of an indicator: 16 feature + value + 1; three of them make a number
MOST_FEATURES = (1 << BITS) // MOST_VALUES - 1
MOST_PATTERNS = 2e12
MOST_ABOVE = 5_000_000  # patterns above a threshold
CHUNK = 1 << 24  # cells of a table that are unpacked together
ROWS = 64  # features, or pairs, that meet all others in one block of work
LISTED = 1 << 18  # of the best patterns, from which those of disjoint features are taken
ROOM, SLOTS = 1 << 16, 1 << 18  # of the buffers of a thread


@dataclass(frozen=True)
class Planes:
    """Discrete features of training cases as bits: a plane for each value but the last.

    Features stand in groups of LANES with equally many values, those with missing values by
    themselves; these have one more plane, of the cases where the feature is known.  Features that do not
    vary are not there.

    Attributes
    ----------
    words : (planes, words, LANES) uint64; the words of class 0, then those of class 1.
    counts : (planes, 2, LANES) int32, bits in each class.
    first : (groups,) the first plane of each group.
    values : (groups,) how many values its features have, which are 0, 1, ...
    complete : (groups,) uint8, whether no value is missing.
    feature : (places,) the column of the feature at each place; -1 at a place that is empty.
    p : columns of the table.
    class_counts : (n0, n1).
    """

    words: np.ndarray
    counts: np.ndarray
    first: np.ndarray
    values: np.ndarray
    complete: np.ndarray
    feature: np.ndarray
    p: int
    class_counts: tuple[int, int]

    @classmethod
    def pack(cls, codes: Any, y: np.ndarray, cases: np.ndarray | None = None) -> "Planes":
        """Pack a table of codes 0 to 15, in which -1 and NaN are missing.

        Parameters
        ----------
        codes : (n, p) whole numbers of any type; an array, which may be memory-mapped, or anything
            with `shape` and [rows, columns].  It is read in chunks of columns.
        y : (n,) classes, 0 and 1.
        cases : row numbers to use, by default all.

        Raises
        ------
        DataError: other codes, more than MOST_CASES cases or MOST_FEATURES features, one class, or
        nothing that varies.
        """
        y = check_response(y, cases)
        n, p = codes.shape
        if len(y) != n:
            raise DataError(f"{n} cases in the features but {len(y)} responses")
        rows = np.arange(n) if cases is None else np.asarray(cases)
        by_class = [rows[y[rows] == c] for c in (0, 1)]
        n0, n1 = map(len, by_class)
        if n0 + n1 < len(rows):
            raise DataError("patterns are selected for a response of 0 and 1; others were found")
        for what, number, most in (
            ("cases", len(rows), MOST_CASES),
            ("features", p, MOST_FEATURES),
        ):
            if number > most:
                raise DataError(
                    f"{number:,} {what} are too many to screen patterns; at most {most:,} can be used"
                )
        found: dict[tuple[int, bool], list[tuple[np.ndarray, np.ndarray]]] = {}
        step = max(LANES, CHUNK // len(rows))
        for start in range(0, p, step):
            block = _read(codes, np.concatenate(by_class), slice(start, min(start + step, p)))
            missing, values = (block < 0).any(axis=0), block.max(axis=0) + 1
            varies = np.where(block < 0, MOST_VALUES, block).min(axis=0) < values - 1
            for kind in sorted(
                {*zip(values[varies].tolist(), missing[varies].tolist(), strict=True)}
            ):
                mine = np.flatnonzero(varies & (values == kind[0]) & (missing == kind[1]))
                planes = _planes(block[:, mine], *kind, n0)
                found.setdefault(kind, []).append((start + mine, planes))
        if not found:
            raise DataError(
                "no feature varies within the training cases, so nothing can be learned"
            )
        return cls._of(found, p, (n0, n1))

    @classmethod
    def _of(cls, found, p: int, class_counts: tuple[int, int]) -> "Planes":
        """Put features of each kind, (m, planes, words), into groups."""
        groups = {kind: -(-sum(len(f) for f, _ in parts) // LANES) for kind, parts in found.items()}
        stored = {(v, missing): v - 1 + missing for v, missing in found}
        width = next(iter(found.values()))[0][1].shape[2]
        total = sum(groups[kind] * stored[kind] for kind in found)
        words = _aligned((total, width, LANES))
        feature = np.full(sum(groups.values()) * LANES, -1)
        done = place = 0
        for kind in sorted(found):
            parts, rows = found.pop(kind), groups[kind] * stored[kind]
            mine = words[done : done + rows].reshape(groups[kind], stored[kind], width, LANES)
            at = 0
            for names, planes in parts:
                where = np.arange(at, at + len(names))
                mine[where // LANES, :, :, where % LANES] = planes
                feature[place + where] = names
                at += len(names)
            done, place = done + rows, place + groups[kind] * LANES
        kinds = sorted(groups)
        repeats = [groups[kind] for kind in kinds]
        planes_of = np.repeat([stored[kind] for kind in kinds], repeats)
        w0 = -(-class_counts[0] // 64)
        parts = [words[:, :w0], words[:, w0:]]
        return cls(
            words=words,
            counts=np.stack([_bits(part, 1) for part in parts], axis=1),
            first=np.concatenate([[0], np.cumsum(planes_of)[:-1]]).astype(np.int64),
            values=np.repeat([v for v, _ in kinds], repeats).astype(np.int32),
            complete=np.repeat([not missing for _, missing in kinds], repeats).astype(np.uint8),
            feature=feature,
            p=p,
            class_counts=class_counts,
        )

    @property
    def width0(self) -> int:
        """Words of class 0."""
        return -(-self.class_counts[0] // 64)

    def of(self, places: np.ndarray) -> np.ndarray:
        """Return all planes, with that of known cases, of features of one kind, (m, values, words)."""
        group, lane = np.divmod(places, LANES)
        values, complete = int(self.values[group[0]]), self.complete[group[0]]
        result = np.empty((len(places), values, self.words.shape[1]), dtype=np.uint64)
        for v in range(values - complete):
            result[:, v] = self.words[self.first[group] + v, :, lane]
        if complete:
            n0, n1 = self.class_counts
            result[:, -1] = np.concatenate([_mask(n0), _mask(n1)])
        return result

    def patterns_of_one(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers and counts of all patterns of one feature that are candidates."""
        numbers, counts = [], []
        for group, values in enumerate(self.values):
            stop = values - 1 + (not self.complete[group])
            planes = self.counts[self.first[group] : self.first[group] + stop].astype(np.int64)
            known = np.broadcast_to(np.array(self.class_counts)[:, None], (2, LANES))
            known = known if self.complete[group] else planes[-1]
            last = known - planes[: values - 1].sum(axis=0)
            ones = np.concatenate([planes[: values - 1], last[None]]).transpose(2, 0, 1)
            s = ones.sum(axis=2)
            wanted = (s > 0) & (s < known.sum(axis=0)[:, None])
            # of two values that occur, the first says what the second says
            wanted[(s > 0).sum(axis=1) == 2, np.argmax(s > 0, axis=1)[(s > 0).sum(axis=1) == 2]] = (
                False
            )
            feature = self.feature[group * LANES : (group + 1) * LANES]
            lane, value = np.nonzero(wanted & (feature >= 0)[:, None])
            numbers.append(encode(feature[lane, None], value[:, None]))
            counts.append(np.hstack([ones[lane, value], known.T[lane]]))
        return np.concatenate(numbers), np.concatenate(counts)

    def number_of_patterns(self, order: int) -> int:
        """Return how many patterns of at most `order` features there are, whether they vary or not."""
        values = np.repeat(self.values.astype(np.int64), LANES)[self.feature >= 0].tolist()
        sums = [1, 0, 0, 0]  # of the products of the numbers of values of 0, 1, 2, 3 features
        for v in values:
            for d in (3, 2, 1):
                sums[d] += v * sums[d - 1]
        return sum(sums[1 : order + 1])


def _read(codes: Any, rows: np.ndarray, columns: slice) -> np.ndarray:
    """Return some codes as int8, -1 where one is missing."""
    block = codes[rows, columns] if mapping(codes) is None else read_columns(codes, columns)[rows]
    release(codes)
    if block.dtype.kind not in "iufb":
        raise DataError(f"codes of features must be numbers, got {block.dtype}")
    block = np.where(np.isnan(block), -1, block) if block.dtype.kind == "f" else block
    odd = (block < -1) | (block >= MOST_VALUES)
    odd |= block != np.floor(block) if block.dtype.kind == "f" else False
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise DataError(
            f"{block[row, column]} in case {rows[row] + 1}, feature {columns.start + column + 1} is no "
            f"code; give whole numbers from 0 to {MOST_VALUES - 1}, and -1 or NaN where one is missing"
        )
    return block.astype(np.int8)


def _planes(block: np.ndarray, values: int, missing: bool, n0: int) -> np.ndarray:
    """Return the planes that are stored of features of one kind, (features, planes, words)."""
    n = len(block)
    w0, w1 = -(-n0 // 64), -(-(n - n0) // 64)
    words = np.empty((block.shape[1], values - 1 + missing, w0 + w1), dtype=np.uint64)
    for v in range(words.shape[1]):
        bits = (block == v if v < values - 1 else block >= 0).view(np.uint8)
        for part, width, first in ((bits[:n0], w0, 0), (bits[n0:], w1, w0)):
            packed = np.empty((block.shape[1], width), dtype=np.uint64)
            screening.pack_columns(np.ascontiguousarray(part), packed)
            words[:, v, first : first + width] = packed
    return words


def _aligned(shape: tuple[int, ...]) -> np.ndarray:
    """Return zeros that begin at a line of the cache."""
    size = int(np.prod(shape))
    whole = np.zeros(size + 8, dtype=np.uint64)
    first = -(whole.ctypes.data // 8) % 8
    return whole[first : first + size].reshape(shape)


def _bits(words: np.ndarray, axis: int) -> np.ndarray:
    return np.bitwise_count(words).sum(axis=axis, dtype=np.int32)


def _mask(n: int) -> np.ndarray:
    """Return words of which n bits are 1."""
    return np.array([(1 << min(64, n - i)) - 1 for i in range(0, n, 64)], dtype=np.uint64)


def encode(features: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the numbers of patterns of up to three (feature, value), (m, d) each; -1: no feature.

    A number is made of three times 21 bits, of 16 feature + value + 1 each, those of the last feature
    lowest, and 0 where there are fewer features.
    """
    parts = np.where(features >= 0, MOST_VALUES * features.astype(np.int64) + values + 1, 0)
    number = np.zeros(len(parts), dtype=np.int64)
    for part in np.sort(parts, axis=1).T:
        number = (number << BITS) | part
    return number


def decode(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return features and values of patterns, (m, 3) each, in order of features; -1: none."""
    numbers = np.asarray(numbers, dtype=np.int64)[:, None]
    parts = (numbers >> np.array([2 * BITS, BITS, 0])) & ((1 << BITS) - 1)
    features, values = np.divmod(parts - 1, MOST_VALUES)
    return features, np.where(parts > 0, values, -1)


def express(numbers: np.ndarray, codes: Any) -> np.ndarray:
    """Return the table of patterns as binary features of cases, (T, k) float32, NaN where missing.

    codes : as in `Planes.pack`, of any cases.
    """
    features, values = decode(numbers)
    rows = np.arange(codes.shape[0])
    columns = {f: _read(codes, rows, slice(f, f + 1))[:, 0] for f in np.unique(features).tolist()
               if f >= 0}  # fmt: skip
    result = np.ones((len(rows), len(features)), dtype=np.float32)
    for column, names, wanted in zip(result.T, features.tolist(), values.tolist(), strict=True):
        for feature, value in zip(names, wanted, strict=True):
            if feature >= 0:
                column[:] *= columns[feature] == value
        for feature in names:
            if feature >= 0:
                column[columns[feature] < 0] = np.nan
    return result


def priorities(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Return the lots of patterns, (m,) uint64, all different: SplitMix64 of number and seed."""
    x = numbers.astype(np.uint64) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


class _Tally:
    """How many patterns have n0 and n1 cases, by n0 2^32 + n1."""

    def __init__(self, pairs: np.ndarray | None = None):
        self.pairs = np.empty((0, 2), dtype=np.int64) if pairs is None else pairs

    def add(self, keys: np.ndarray, numbers: np.ndarray | int = 1) -> None:
        more = np.column_stack([keys, np.broadcast_to(numbers, len(keys))])
        pairs = np.concatenate([self.pairs, more])
        keys, which = np.unique(pairs[:, 0], return_inverse=True)
        sums = np.zeros(len(keys), dtype=np.int64)
        np.add.at(sums, which, pairs[:, 1])
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

    def merge(self, other: "Best") -> None:
        """Add what another one has of other patterns."""
        self.add(other.numbers, other.counts)
        if len(other.tied.pairs):
            self.settle()
            if other.bound == self.bound:
                self.tied.add(*other.tied.pairs.T)
        self.above.add(*other.above.pairs.T)

    def settle(self) -> None:
        """Store no more than is to be stored, and raise the bound to the weakest of them."""
        counts, size = self.counts, self.size
        if len(counts) < max(1, size or 0):
            return
        score = squares(counts[:, :2], counts[:, 2:])

        def lot(tied: np.ndarray, wanted: int) -> np.ndarray:
            return tied[np.argsort(priorities(self.numbers[tied], self.seed))[:wanted]]

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
                f"more than {MOST_ABOVE:,} patterns are above the threshold; give a larger one, or k, "
                "the number of patterns to keep"
            )


def ranks(counts: np.ndarray) -> np.ndarray:
    """Return the rank of COR^2 of each row of counts (m, 4), from 0, the largest; equal if it is."""
    if not len(counts):
        return np.empty(0, dtype=np.int64)
    rows, which, _ = distinct_counts(counts)
    score = squares(rows[:, :2], rows[:, 2:])
    order = np.argsort(-score, kind="stable")
    fallen = -np.diff(score[order]) > NEARLY * score[order][:-1]
    cluster = np.concatenate([[0], np.cumsum(fallen)])
    alone = np.bincount(cluster)[cluster] == 1  # what is near no other needs no exact square
    exact = [0 if one else -squared_correlation(*row)
             for one, row in zip(alone.tolist(), rows[order].tolist(), strict=True)]  # fmt: skip
    keys = list(zip(cluster.tolist(), exact, strict=True))
    place = {key: i for i, key in enumerate(sorted(set(keys)))}
    rank = np.empty(len(rows), dtype=np.int64)
    rank[order] = [place[key] for key in keys]
    return rank[which]


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
        self.right = kernel.Right(planes.words, planes.counts, planes.first, planes.values,
                                  planes.complete, planes.width0)  # fmt: skip
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
        scan, b = self._scan(block)
        found, tally, _ = self._buffers()
        mine, varying = best.empty(), _Tally()
        while not scan.done:
            rows = found[: scan.go(float(mine.bound) * (1 - NEARLY), form)].astype(np.int64)
            mine.add(self._numbers(block, b, rows), rows[:, 3:])
            taken = np.flatnonzero(tally[:, 0])
            varying.add(tally[taken, 0] - 1, tally[taken, 1])
            tally[taken] = 0
            scan.emptied()
        return mine, varying, int((len(self.places) - 1 - self.rank[block[1]]).sum())

    def likeness(self, form: int) -> np.ndarray:
        """Return the squared correlation of the codes of the first place with those of others, (p,)."""
        scan, _ = self._scan((-1, self.places[:1]))
        found, tally, _ = self._buffers()
        sums = np.zeros((6, len(self.planes.feature)))
        while not scan.done:
            rows = found[: scan.go(0.0, form)].astype(np.int64)
            u, v = np.divmod(rows[:, 2], self.planes.values[rows[:, 1] // LANES])
            s = rows[:, 3] + rows[:, 4]
            for one, value in zip(sums[1:], (u, v, u * u, u * v, v * v), strict=True):
                one += np.bincount(rows[:, 1], value * s, len(one))
            sums[0, rows[:, 1]] = rows[:, 5] + rows[:, 6]
            tally[:] = 0
            scan.emptied()
        n, x, y, xx, xy, yy = sums
        spread = (n * xx - x * x) * (n * yy - y * y)
        result = np.zeros(self.planes.p)
        there = spread > 0  # nowhere else do both vary
        result[self.planes.feature[there]] = (n * xy - x * y)[there] ** 2 / spread[there]
        return result

    def _scan(self, block: tuple[int, np.ndarray]) -> tuple[kernel.Scan, int]:
        """Return the kernel's walk through a block, and how many values its features have."""
        first, places = block
        words = self.planes.of(places)
        values, complete = words.shape[1], bool(self.planes.complete[places[0] // LANES])
        if first >= 0:
            head = self.planes.of(np.array([first]))
            words = (head[:, :, None] & words[:, None]).reshape(len(places), -1, words.shape[2])
            complete = complete and bool(self.planes.complete[first // LANES])
        parts = np.split(words, [self.planes.width0], axis=2)
        counts = np.stack([_bits(part, 2) for part in parts], axis=2)
        left = kernel.Left(words, counts, self.rank[places], words.shape[1] // values, complete)
        return kernel.Scan(self.right, left, self.rank, *self._buffers()), values

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

    def _numbers(self, block: tuple[int, np.ndarray], b: int, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the patterns that were found; b: values of the block's features."""
        (first, places), feature = block, self.planes.feature
        cell, w = np.divmod(rows[:, 2], self.planes.values[rows[:, 1] // LANES])
        u, v = np.divmod(cell, b)
        head = np.full(len(rows), -1 if first < 0 else feature[first])
        names = np.column_stack([head, feature[places[rows[:, 0]]], feature[rows[:, 1]]])
        return encode(names, np.column_stack([u, v, w]))


@dataclass(frozen=True)
class Run:
    """How a screening is run; nothing here changes its result.

    threads : how many; None: as many as there are processors.
    watch : is called after each block of work with what is done and all of the present walk, in pairs
        and triples of features, and a function that returns the state as named arrays, from which
        another screening of the same can go on.  What it raises ends the screening.
    state : arrays to go on from.
    form : an index of the kernel's FORMS; None: the best that the processor has.
    """

    threads: int | None = None
    watch: Callable[[int, int, Callable[[], dict[str, np.ndarray]]], None] | None = None
    state: dict[str, np.ndarray] | None = None
    form: int = -1


class _Screening:
    """A selection while it is made; the arguments are those of `select_patterns`."""

    def __init__(self, planes: Planes, k: int | None, cut: Fraction | None, order: int,
                 disjoint: bool, ld: float | None, seed: int, run: Run):  # fmt: skip
        self.planes, self.k, self.cut, self.order = planes, k, cut, order
        self.disjoint, self.ld, self.seed, self.run = disjoint, ld, seed, run
        self.form = range(len(kernel.FORMS))[run.form]
        self.kept, self.kept_counts = np.empty(0, dtype=np.int64), np.empty((0, 4), dtype=np.int64)
        self.varying = _Tally()
        self.lists = 0  # how many lists were made before this one; -1 when what is left is counted
        self.before = 0  # how many patterns were kept before this list
        self.blocks = self.met = 0  # of the present walk: blocks done, and features met
        self.alike: dict[int, np.ndarray] = {}
        there = np.flatnonzero(planes.feature >= 0)
        self.place = np.full(planes.p, -1)
        self.place[planes.feature[there]] = there
        self.best = self._list()

    def _list(self) -> Best:
        """Return an empty list of the best patterns."""
        if self.k is None:
            return Best(None, self.cut or Fraction(0), self.seed, self.kept[:0])
        choosy = self.disjoint or self.ld is not None
        size = max(LISTED, 2 * self.k) if choosy else self.k  # more than were kept before
        return Best(size, Fraction(0), self.seed, self.kept[:0])

    def _counter(self) -> Best:
        """Return a count of patterns that were not kept, above gamma and tied with it."""
        return Best(0, self._gamma_squared(), self.seed, self.kept)

    def _gamma_squared(self) -> Fraction:
        if self.cut is not None:
            return self.cut
        return squared_correlation(*self.kept_counts[np.argmax(ranks(self.kept_counts))])

    def select(self) -> Selection:
        """Make lists and take of them in turn until all are taken; then count what was left out."""
        if self.run.state is not None:
            self._load(self.run.state)
        while self.lists >= 0:
            excluded = self._excluded()
            places = np.sort(self.place[(self.place >= 0) & ~excluded])
            self._walk(places, len(places))
            found = self.best
            if self.k is not None and self.k > self.varying.total:
                raise UserError(
                    f"the number of patterns to keep must be from 1 to {self.varying.total:,}, as many "
                    f"as vary, got {self.k:,}"
                )
            self._take(found, excluded)
            if self.k is None or len(self.kept) == self.k:
                self.lists, self.best = -1, self._counter()
                self.best.add(found.numbers, found.counts)
                if found.bound == self.best.bound:
                    self.best.tied.add(*found.tied.pairs.T)
            elif len(found.numbers) < (found.size or 0):
                raise UserError(
                    f"only {len(self.kept):,} patterns can be kept when features are used once or "
                    f"skipped, not {self.k:,}; keep fewer, or allow more of a feature"
                )
            else:
                self.lists, self.before, self.best = self.lists + 1, len(self.kept), self._list()
            self.blocks = self.met = 0
        # patterns of features that were not in the last list; all above a threshold were in the list
        gone = self._excluded() & (self.place >= 0) & (self.k is not None)
        heads = np.sort(self.place[gone])
        others = np.sort(self.place[(self.place >= 0) & ~gone])
        self._walk(np.concatenate([heads, others]), len(heads))
        return self._selection()

    def _walk(self, places: np.ndarray, heads: int) -> None:
        """Add to `best` the patterns whose first feature is one of the heads."""
        walk = _Walk(self.planes, places, heads, self.order)
        total, threads = walk.total(), self.run.threads or cpu_count() or 1
        if self.blocks == 0:
            numbers, counts = self.planes.patterns_of_one()
            mine = np.isin(self.place[decode(numbers)[0][:, 2]], places[:heads])
            self.best.add(numbers[mine], counts[mine])
            if self.lists == 0:
                self.varying.add_counts(counts[mine])
        pending: deque[Future] = deque()

        def finish() -> None:
            mine, varying, met = pending.popleft().result()
            self.best.merge(mine)
            if self.lists == 0:
                self.varying.add(*varying.pairs.T)
            self.blocks, self.met = self.blocks + 1, self.met + met
            if self.run.watch is not None:
                self.run.watch(self.met, total, self.state)

        with ThreadPoolExecutor(threads) as pool:
            try:
                for block in islice(walk.blocks(), self.blocks, None):
                    pending.append(pool.submit(walk.work, block, self.best, self.form))
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
        used: set[int] = set()
        if self.disjoint or self.ld is not None:
            for names in decode(self.kept[: self.before])[0].tolist():
                self._use(names, used, excluded)
        return excluded

    def _use(self, names: list[int], used: set[int], excluded: np.ndarray) -> None:
        """Note that a pattern of these features was kept."""
        names = [name for name in names if name >= 0]
        used.update(names)
        for name in names if self.ld is not None else ():
            if name not in self.alike:
                first = self.place[name]
                others = np.setdiff1d(self.place[self.place >= 0], first)
                walk = _Walk(self.planes, np.append(first, others), 1, 2)
                self.alike[name] = np.flatnonzero(walk.likeness(self.form) > self.ld)
            excluded[np.setdiff1d(self.alike[name], list(used))] = True
        if self.disjoint:
            excluded[names] = True

    def _take(self, found: Best, excluded: np.ndarray) -> None:
        """Keep patterns of a list in their order, if none of their features is excluded."""
        order = np.lexsort((priorities(found.numbers, self.seed), ranks(found.counts)))
        taken = order
        if self.disjoint or self.ld is not None:
            before = set(self.kept.tolist())
            used = set(decode(self.kept)[0].ravel().tolist())
            taken = []
            names, numbers = decode(found.numbers[order])[0].tolist(), found.numbers[order].tolist()
            for i, features, number in zip(order, names, numbers, strict=True):
                if len(before) == self.k:
                    break
                if number not in before and not any(excluded[f] for f in features if f >= 0):
                    before.add(number)
                    taken.append(i)
                    self._use(features, used, excluded)
        self.kept = np.concatenate([self.kept, found.numbers[taken]])
        self.kept_counts = np.concatenate([self.kept_counts, found.counts[taken]])

    def _selection(self) -> Selection:
        rank = ranks(self.kept_counts)
        order = np.lexsort((self.kept, rank))
        counts, gamma_squared = self.kept_counts[order], self._gamma_squared()
        out, tied = _Tally(self.varying.pairs), self.best.tied
        out.add_counts(counts, -1)
        out.add(*(self.best.above.pairs * (1, -1)).T)
        rows = out.rows(WITHIN)
        if self.k is not None:
            out.add(*(tied.pairs * (1, -1)).T)
            rows = np.concatenate([out.rows(BELOW), tied.rows(AT)])
        tied_kept = 0 if self.k is None else int((rank == rank.max()).sum())
        return Selection(
            selected=self.kept[order],
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
        settings = (self.k, self.cut, self.order, self.disjoint, self.ld, LISTED, ROWS)
        numbers = [np.nan if one is None else float(one) for one in settings]
        weights = np.arange(self.planes.counts.size) % 1009
        digest = float((self.planes.counts.ravel() * weights).sum())
        return np.array([*numbers, *self.planes.class_counts, self.planes.p, digest])

    def state(self) -> dict[str, np.ndarray]:
        """Return all that another screening needs to go on."""
        self.best.settle()
        return {
            "of": self._of(),
            "where": np.array([self.seed, self.lists, self.before, self.blocks, self.met]),
            "kept": self.kept,
            "kept_counts": self.kept_counts,
            "varying": self.varying.pairs,
            "numbers": self.best.numbers,
            "counts": self.best.counts,
            "tied": self.best.tied.pairs,
            "above": self.best.above.pairs,
        }

    def _load(self, state: dict[str, np.ndarray]) -> None:
        if not np.array_equal(state["of"], self._of(), equal_nan=True):
            raise UserError(
                "the state is of a screening of other data or with other settings; begin again without"
            )
        self.seed, self.lists, self.before, self.blocks, self.met = state["where"].tolist()
        self.kept, self.kept_counts = state["kept"], state["kept_counts"]
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
    run: Run = Run(),  # noqa: B008
) -> Selection:
    """Keep the k patterns with the largest |COR|, or all with |COR| above a threshold.

    Parameters
    ----------
    planes : the features of the training cases.
    k : number of patterns to keep; None when a threshold is given.
    rng : gives the order in which patterns with the same |COR| are taken.
    order : 1 to 3: the most features of a pattern.
    threshold : gamma, as for `selection.select_features`.
    disjoint : use each feature once: a pattern is taken if no feature of it was used before.
    ld : skip the features whose codes have a squared correlation above this, over the cases where both
        are known, with a feature of a pattern that was taken before.
    run : threads, progress, and a state to go on from.

    Returns
    -------
    A Selection of which `selected` has numbers of patterns (`decode`), by falling |COR|, then by number,
    and `n_features` the patterns that vary.  `left_out` has each that was not kept and is not above
    gamma; with k, those that tie with the weakest kept one are known.

    Raises
    ------
    UserError: k that is more than there are, a bad order, threshold or ld, more than MOST_ABOVE patterns
    above a threshold, more than MOST_PATTERNS patterns, or a state of another screening.
    """
    if (threshold is None) == (k is None):
        raise UserError("give either k or a threshold")
    features = int((planes.feature >= 0).sum())
    if order not in (1, 2, 3) or order > features:
        most = min(3, features)
        raise UserError(f"the order of patterns must be from 1 to {most} here, got {order!r}")
    if ld is not None and not 0 <= ld <= 1:
        raise UserError(f"ld, a squared correlation, must be from 0 to 1, got {ld!r}")
    number = planes.number_of_patterns(order)
    if number > MOST_PATTERNS:
        fitting = int(features * (MOST_PATTERNS / number) ** (1 / order))
        raise UserError(
            f"{features:,} features have {number:.2g} patterns of order {order}, more than can be "
            f"screened; keep about {fitting:,} of them first, or take a smaller order"
        )
    most = min(number, features) if disjoint else number
    if k is not None and not 1 <= k <= most:
        raise UserError(f"the number of patterns to keep must be from 1 to {most:,}, got {k!r}")
    cut = None if threshold is None else check_threshold(threshold) ** 2
    seed = int(rng.integers(2**63))
    return _Screening(planes, k, cut, order, disjoint, ld, seed, run).select()


def forecast(planes: Planes, order: int, run: Run = Run()) -> tuple[int, float]:  # noqa: B008
    """Return how many patterns there are, and about how many seconds it takes to screen them once.

    A small part is screened to find out.  `disjoint` and `ld` can take several times as long.
    """
    walk = _Walk(planes, np.flatnonzero(planes.feature >= 0), 1, order)
    walk.heads = len(walk.places)
    best = Best(1, Fraction(1), 0, np.empty(0, dtype=np.int64))
    form, seconds, met = range(len(kernel.FORMS))[run.form], 0.0, 0
    first = int(walk.places[0]) if order == 3 else -1
    for part in islice(walk._parts(order - 2, len(walk.places)), 1 if order > 1 else 0):
        started = time.perf_counter()
        met = walk.work((first, part[:LANES]), best, form)[2]
        seconds = time.perf_counter() - started
    threads = run.threads or cpu_count() or 1
    return planes.number_of_patterns(order), walk.total() * seconds / max(1, met) / threads
