"""Discrete features as bits, and patterns of them as numbers and as binary features.

A pattern says that up to three features have given values.  Its number is made of 16 feature +
value + 1 for each, in the order of features, the last lowest: twice 30 bits for at most two
features, 0 where there is one; three times 20 bits, and bit 62, for three.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thesiskit._kernels import screening  # type: ignore[attr-defined]
from thesiskit._kernels.interactions import LANES  # type: ignore[attr-defined]
from thesiskit.errors import DataError, quoted
from thesiskit.models.packed import mapping, read_columns, release
from thesiskit.models.selection import check_response

MOST_VALUES = 16  # of a feature
MOST_SAMPLES = 100_000  # (n I1 - n1 s)^2 and n0 n1 s (n - s) have a relative error of 1e-15
WIDE, NARROW = 30, 20  # bits of an indicator
TRIPLE = 62  # the bit that says that three are there
MOST_FEATURES = (1 << WIDE) // MOST_VALUES - 1
CHUNK = 1 << 24  # cells of a table that are unpacked together


@dataclass(frozen=True)
class Planes:
    """Discrete features of training samples as bits: a plane for each value but the last.

    Features stand in groups of LANES with equally many values, those with missing values by
    themselves; these have one more plane, of the samples where the feature is known.  Features that
    do not vary are not there.

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
    def pack(cls, codes: np.ndarray, y: np.ndarray, samples: np.ndarray | None = None) -> "Planes":
        """Pack a table of codes 0 to 15, in which -1 and NaN are missing.

        Parameters
        ----------
        codes : (n, p) whole numbers of any type; an array, which may be memory-mapped, or anything
            with `shape` and [rows, columns].  It is read in chunks of columns.
        y : (n,) classes, 0 and 1.
        samples : row numbers to use, by default all.

        Raises
        ------
        DataError: other codes, more than MOST_SAMPLES samples or MOST_FEATURES features, one class,
        or nothing that varies.
        """
        y = check_response(y, samples)
        n, p = codes.shape
        if len(y) != n:
            raise DataError(f"{n} samples in the features but {len(y)} responses")
        rows = np.arange(n) if samples is None else np.asarray(samples)
        if not np.isin(y[rows], (0, 1)).all():
            raise DataError("patterns are selected for a response of 0 and 1; others were found")
        rows = rows[np.argsort(y[rows], kind="stable")]
        for noun, number, most in (
            ("samples", len(rows), MOST_SAMPLES),
            ("features", p, MOST_FEATURES),
        ):
            if number > most:
                raise DataError(
                    f"{number:,} {noun} are too many for patterns; at most {most:,} can be used"
                )
        n1 = int(y[rows].sum())
        by_kind: dict[tuple[int, bool], list[tuple[np.ndarray, np.ndarray]]] = {}
        step = max(LANES, CHUNK // len(rows))
        for start in range(0, p, step):
            block = _read(codes, rows, slice(start, min(start + step, p)))
            missing, values = np.any(block < 0, axis=0), np.max(block, axis=0) + 1
            smallest: np.ndarray = np.where(block < 0, MOST_VALUES, block).min(axis=0)
            varies: np.ndarray = smallest < values - 1
            kinds = zip(values[varies].tolist(), missing[varies].tolist(), strict=True)
            for kind in set(kinds):
                columns = np.flatnonzero(varies & (values == kind[0]) & (missing == kind[1]))
                parts = by_kind.setdefault(kind, [])
                parts.append((start + columns, _planes(block[:, columns], *kind, len(rows) - n1)))
        if not by_kind:
            raise DataError("no feature varies within the training samples: nothing can be learned")
        return cls._of(by_kind, p, (len(rows) - n1, n1))

    @classmethod
    def _of(cls, by_kind, p: int, class_counts: tuple[int, int]) -> "Planes":
        """Put features of each kind, (m, planes, words), into groups."""
        kinds = sorted(by_kind)
        groups = [-(-sum(len(names) for names, _ in by_kind[kind]) // LANES) for kind in kinds]
        stored = [values - 1 + missing for values, missing in kinds]
        width = by_kind[kinds[0]][0][1].shape[2]
        words = _aligned((int(np.dot(groups, stored)), width, LANES))
        feature = np.full(sum(groups) * LANES, -1)
        row = place = 0
        for kind, size, planes in zip(kinds, groups, stored, strict=True):
            block = words[row : row + size * planes].reshape(size, planes, width, LANES)
            at = 0
            for names, bits in by_kind.pop(kind):
                lanes = np.arange(at, at + len(names))
                block[lanes // LANES, :, :, lanes % LANES] = bits
                feature[place + lanes] = names
                at += len(names)
            row, place = row + size * planes, place + size * LANES
        parts = np.split(words, [-(-class_counts[0] // 64)], axis=1)
        return cls(
            words=words,
            counts=np.stack([count_bits(part, 1) for part in parts], axis=1),
            first=np.append(0, np.cumsum(np.repeat(stored, groups))[:-1]).astype(np.int64),
            values=np.repeat([values for values, _ in kinds], groups).astype(np.int32),
            complete=np.repeat([not missing for _, missing in kinds], groups).astype(np.uint8),
            feature=feature,
            p=p,
            class_counts=class_counts,
        )

    @property
    def width0(self) -> int:
        """Words of class 0."""
        return -(-self.class_counts[0] // 64)

    def of(self, places: np.ndarray) -> np.ndarray:
        """Return the planes of features of one kind, known samples last, (m, values, words)."""
        group, lane = np.divmod(places, LANES)
        values, complete = int(self.values[group[0]]), self.complete[group[0]]
        result = np.empty((len(places), values, self.words.shape[1]), dtype=np.uint64)
        for v in range(values - complete):
            result[:, v] = self.words[self.first[group] + v, :, lane]
        if complete:
            n0, n1 = self.class_counts
            result[:, -1] = np.concatenate([_ones(n0), _ones(n1)])
        return result

    def patterns_of_one(self) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of all patterns of one feature that are candidates, and their counts.

        counts : I0, I1, n0 and n1 of each, (m, 4).
        """
        numbers, counts = [], []
        for group, values in enumerate(self.values.tolist()):
            first = self.first[group]
            planes = self.counts[first : first + values - 1].astype(np.int64)
            n_known = np.repeat(np.array(self.class_counts)[:, None], LANES, axis=1)
            if not self.complete[group]:
                n_known = self.counts[first + values - 1].astype(np.int64)
            n_present = np.concatenate([planes, n_known[None] - planes.sum(axis=0)])
            feature = self.feature[group * LANES : (group + 1) * LANES]
            varies = (n_present.sum(axis=1) > 0) & (feature >= 0)  # none has all: features vary
            # of two values that occur, the first says what the second says
            two = np.flatnonzero(varies.sum(axis=0) == 2)
            varies[np.argmax(varies[:, two], axis=0), two] = False
            value, lane = np.nonzero(varies)
            numbers.append(encode(feature[lane, None], value[:, None]))
            counts.append(np.hstack([n_present[value, :, lane], n_known.T[lane]]))
        return np.concatenate(numbers), np.concatenate(counts)

    def number_of_patterns(self, order: int) -> int:
        """Return how many patterns of at most `order` features there are, varying or not."""
        sums = [1, 0, 0, 0]  # of the products of the numbers of values of 0, 1, 2, 3 features
        for values in np.repeat(self.values, LANES)[self.feature >= 0].tolist():
            for d in (3, 2, 1):
                sums[d] += values * sums[d - 1]
        return sum(sums[1 : order + 1])


def _read(codes: np.ndarray, rows: np.ndarray, columns: slice, least: int = -1) -> np.ndarray:
    """Return some codes as int8, -1 where one is missing."""
    block = codes[rows, columns] if mapping(codes) is None else read_columns(codes, columns)[rows]
    release(codes)
    if block.dtype.kind not in "iufb":
        raise DataError(f"codes of features must be numbers, got {block.dtype}")
    block = np.where(np.isnan(block), -1, block) if block.dtype.kind == "f" else block
    odd = (block < least) | (block >= MOST_VALUES)
    odd |= block != np.floor(block) if block.dtype.kind == "f" else False
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise DataError(
            f"{block[row, column]} in sample {rows[row] + 1}, feature {columns.start + column + 1} "
            f"is not a code. Fix: use whole numbers from 0 to {MOST_VALUES - 1}, and -1 or NaN "
            f"for missing"
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


def count_bits(words: np.ndarray, axis: int) -> np.ndarray:
    """Return how many bits are 1 along an axis of words."""
    return np.bitwise_count(words).sum(axis=axis, dtype=np.int32)


def _ones(n: int) -> np.ndarray:
    """Return words of which n bits are 1."""
    return np.array([(1 << min(64, n - i)) - 1 for i in range(0, n, 64)], dtype=np.uint64)


def check_values(names: Sequence[str], values: Sequence[Sequence[str]]) -> None:
    """Raise DataError for a feature with more than MOST_VALUES values."""
    for name, symbols in zip(names, values, strict=True):
        if len(symbols) > MOST_VALUES:
            raise DataError(
                f"the feature {quoted(name)} has {len(symbols)} values, and patterns can have "
                f"{MOST_VALUES}. Fix: join values, or drop the feature"
            )


def encode(features: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the numbers of patterns of up to three (feature, value), (m, d) each; -1: none."""
    parts = np.where(features >= 0, MOST_VALUES * features.astype(np.int64) + values + 1, 0)
    parts = np.sort(np.pad(parts, ((0, 0), (3 - parts.shape[1], 0))), axis=1)
    third, second, last = parts.T
    triple = (((third << NARROW) | second) << NARROW) | last | (1 << TRIPLE)
    return np.where(third > 0, triple, (second << WIDE) | last)


def decode(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return features and values of patterns, (m, 3) each, in order of features; -1: none."""
    numbers = np.asarray(numbers, dtype=np.int64)[:, None]
    steps = np.array([2, 1, 0])
    triple, pair = (numbers >> (steps * bits) & ((1 << bits) - 1) for bits in (NARROW, WIDE))
    parts = np.where(numbers >> TRIPLE & 1, triple, pair)
    features, values = np.divmod(parts - 1, MOST_VALUES)
    return features, np.where(parts > 0, values, -1)


def features_of(numbers: np.ndarray) -> np.ndarray:
    """Return the features of which some patterns are made, ascending."""
    features = np.unique(decode(numbers)[0])
    return features[features >= 0]


def words(numbers: np.ndarray, names: Sequence[str], values: Sequence[Sequence[str]]) -> list[str]:
    """Return patterns as people write them, such as "rs1=2, rs7=0"."""
    pairs = ([*zip(*pattern, strict=True)] for pattern in zip(*decode(numbers), strict=True))
    return [", ".join(f"{names[f]}={values[f][v]}" for f, v in pair if f >= 0) for pair in pairs]


def express(numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return patterns as binary features of samples, (T, k) float32, NaN where missing.

    codes : as in `Planes.pack`, of any samples; -2 is a value that is in no pattern.
    """
    features, values = decode(numbers)
    rows = np.arange(codes.shape[0])
    needed = features_of(numbers).tolist()
    columns = {f: _read(codes, rows, slice(f, f + 1), -2)[:, 0] for f in needed}
    result = np.ones((len(rows), len(features)), dtype=np.float32)
    for column, names, cells in zip(result.T, features.tolist(), values.tolist(), strict=True):
        for feature, value in zip(names, cells, strict=True):
            if feature >= 0:
                column[:] *= columns[feature] == value
        for feature in names:
            if feature >= 0:
                column[columns[feature] == -1] = np.nan
    return result
