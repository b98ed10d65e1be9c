"""Binary features as bits, thresholds that make real features binary, and transforms of real ones.

Tables are read in chunks of columns, so a memory-mapped table is never in memory as a whole.
"""

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from thesiskit._kernels import screening  # type: ignore[attr-defined]
from thesiskit.defaults import LOG, NO_TRANSFORM, SCORES
from thesiskit.errors import DataError, quoted

CHUNK_BYTES = 1 << 26  # of a table, looked at together
ROWS = 64  # of a memory-mapped table, read together: a row's piece can make resident a megabyte
CHUNK_WORDS = 1 << 21  # of packed features: they stay in the second-level cache
LEAST_COUNTED = 20  # columns whose sum is a library size: in fewer, a feature is much of the sum
PRIOR_COUNT = 0.5  # added to counts before logs, as limma's voom does
SHARES = (0, 0.1, 0.3, 1)  # of the mean of a feature, which may be added too


@dataclass(frozen=True)
class PackedFeatures:
    """Binary features, one row of 64-bit words per feature, one bit per sample.

    words : (p, ceil(n / 64)) uint64, may be memory-mapped; 0 where a value is missing.
    n : number of samples.
    known : the same for the values that are not missing; None where none is.
    """

    words: np.ndarray
    n: int
    known: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def pack(cls, *tables: np.ndarray, samples: np.ndarray | None = None) -> "PackedFeatures":
        """Pack (n, p) tables, one below the other.

        Columns that are not 0/1 become 1 above their median: see `median_thresholds`.  NaN is a
        missing value.

        Medians are taken over `samples` (row numbers), by default over all rows.

        Raises
        ------
        DataError: a value is infinite.
        """
        n, p = sum(len(table) for table in tables), tables[0].shape[1]
        if any(table.shape[1] != p for table in tables):
            widths = " and ".join(str(table.shape[1]) for table in tables)
            raise DataError(f"tables one below the other need the same columns, got {widths}")
        words = np.empty((p, -(-n // 64)), dtype=np.uint64)
        known = None
        for columns in chunks(tables[0]):
            parts = [read_columns(table, columns) for table in tables]
            block = parts[0] if len(parts) == 1 else np.concatenate(parts)
            missing = find_missing(block, columns.start)
            bits = as_bits(block, columns.start, finite=True) if missing is None else None
            if bits is None:
                bits = above(block, median_thresholds(block if samples is None else block[samples]))
            screening.pack_columns(np.ascontiguousarray(bits), words[columns])
            if missing is not None:
                if known is None:  # of all values so far
                    row = np.empty((1, words.shape[1]), dtype=np.uint64)
                    screening.pack_columns(np.ones((n, 1), dtype=np.uint8), row)
                    known = np.repeat(row, p, axis=0)
                screening.pack_columns((~missing).view(np.uint8), known[columns])
        return cls(words, n, known)

    def take(self, columns: np.ndarray) -> "PackedFeatures":
        """Return some of the features."""
        known = None if self.known is None else np.ascontiguousarray(self.known[columns])
        return PackedFeatures(np.ascontiguousarray(self.words[columns]), self.n, known)

    def unpack(self, columns: np.ndarray, samples: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the (samples, len(columns)) uint8 table of the columns asked for.

        Where values are missing, it is a float32 table with NaN.
        """
        bits = self._unpacked(self.words, columns, samples)
        if self.known is None:
            return bits
        known = self._unpacked(self.known, columns, samples)
        return bits if known.all() else np.where(known, bits, np.float32(np.nan))

    def _unpacked(self, words: np.ndarray, columns, samples) -> np.ndarray:
        rows = np.ascontiguousarray(words[columns])
        bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little", count=self.n)
        return np.ascontiguousarray(bits[:, samples].T)

    def chunks(self) -> Iterator[slice]:
        """Yield slices of features that together cover all of them."""
        return chunks(self.words.T, CHUNK_WORDS)

    def count_classes(self, columns: slice, masks: np.ndarray) -> np.ndarray:
        """Return I0 and I1, (features, 2), of a slice of features; masks from `sample_masks`.

        Where values are missing, also how many are not in each class, (features, 4).
        """
        found = []
        for words in (self.words,) if self.known is None else (self.words, self.known):
            part = np.ascontiguousarray(words[columns])
            found.append(np.empty((len(part), 2), dtype=np.int32))
            screening.count_classes(part, masks[0], masks[1], found[-1])
            release(words)
        return np.hstack(found)


def sample_masks(y: np.ndarray, samples: np.ndarray | None = None) -> np.ndarray:
    """Return the bits of the samples of class 0 and of class 1 among `samples`, (2, words)."""
    member = np.zeros((len(y), 2), dtype=np.uint8)  # column y marks the samples of class y
    rows = np.arange(len(y)) if samples is None else samples
    member[rows, y[rows].astype(np.intp)] = 1
    masks = np.empty((2, -(-len(y) // 64)), dtype=np.uint64)
    screening.pack_columns(member, masks)
    return masks


def as_bits(block: np.ndarray, first: int = 0, *, finite: bool = False) -> np.ndarray | None:
    """Return 0/1 data as uint8 (no copy where they already are), None for other numbers.

    Raises DataError for a missing value, unless `finite` says that none is there; `first` is the
    number of the block's first column.
    """
    if block.dtype == bool:
        return block.view(np.uint8)
    if block.dtype == np.uint8:
        return block if block.max(initial=0) <= 1 else None
    if block.dtype.kind not in "iuf":
        raise DataError(f"features must be numbers, got {block.dtype}")
    if not finite:
        check_finite(block, first)
    return block.astype(np.uint8) if ((block == 0) | (block == 1)).all() else None


def find_missing(block: np.ndarray, first: int = 0) -> np.ndarray | None:
    """Return which values are missing (NaN), None where none is; DataError for infinite ones."""
    if block.dtype.kind != "f":
        return None
    finite = np.isfinite(block)
    if finite.all():
        return None
    missing = np.isnan(block)
    check_finite(np.where(missing, 0, block), first)
    return missing


def check_finite(block: np.ndarray, first: int = 0) -> None:
    """Raise DataError for a missing or infinite value; `first` as in as_bits."""
    if block.dtype.kind == "f" and not np.isfinite(block).all():
        row, column = np.argwhere(~np.isfinite(block))[0]
        what = "missing" if np.isnan(block[row, column]) else "infinite"
        raise DataError(
            f"{what} value in sample {row + 1}, feature {first + column + 1}. Fix: "
            "fill it in, or drop the sample or the feature"
        )


def median_thresholds(block: np.ndarray) -> np.ndarray:
    """Return the thresholds above which values become 1: each column's median, (p,).

    A column of two values is split between them (at 1/2 for 0 and 1).  If the median is the largest
    value, that value becomes 1, because no value is above it.  Missing values (NaN) do not count.
    """
    missing = find_missing(block)
    if missing is None:
        low, high = block.min(axis=0), block.max(axis=0)
        median = np.median(block, axis=0)
    else:
        low, high = np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)
        median = _median_of_present(block, missing)
    median = np.where(median >= high, np.nextafter(high.astype(float), -np.inf), median)
    absent = False if missing is None else missing
    two = ((block == low) | (block == high) | absent).all(axis=0) & (low < high)
    binary = ((block == 0) | (block == 1) | absent).all(axis=0)
    return np.where(binary, 0.5, np.where(two, low + (high.astype(float) - low) / 2, median))


def count_columns(*tables: np.ndarray) -> np.ndarray:
    """Count columns that are 0 and 1, have two other values, have more, have one; missing cells.

    Returns (5,), of the rows of all tables together.  A missing value (NaN) counts as no value.
    """
    counts = np.zeros(5, dtype=np.int64)
    for columns in chunks(tables[0]):
        block = np.concatenate([read_columns(table, columns) for table in tables])
        low, high = np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)
        missing = block != block
        two = ((block == low) | (block == high) | missing).all(axis=0) & (low < high)
        binary = two & (low == 0) & (high == 1)
        more = ~two & (low < high)
        counts += [binary.sum(), (two & ~binary).sum(), more.sum(), (~two & ~more).sum(),
                   missing.sum()]  # fmt: skip
    return counts


def _median_of_present(block: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return the medians of the values that are not missing; NaN where all are."""
    ordered = np.sort(block, axis=0)  # NaN comes last
    count = len(block) - missing.sum(axis=0)
    middle = np.stack([np.maximum(count - 1, 0) // 2, np.minimum(count // 2, len(block) - 1)])
    return np.take_along_axis(ordered, middle, axis=0).sum(axis=0) / 2


def above(block: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return which values exceed their column's threshold, as uint8."""
    return (block > thresholds).view(np.uint8)


def chunks(array: np.ndarray, size: int = CHUNK_BYTES) -> Iterator[slice]:
    """Yield slices of columns, of about `size` bytes, that together cover an (n, p) table."""
    n, p = array.shape
    step = max(512, size // max(n * array.itemsize, 1))
    for start in range(0, p, step):
        yield slice(start, min(start + step, p))


@dataclass(frozen=True)
class Transform:
    """A transform of real features, fitted to training samples without their classes.

    "log" of counts: log2 of counts per million, with c = PRIOR_COUNT added at the mean library size
    (edgeR, Robinson et al. 2010; limma's voom, Law et al. 2014).  The relative library size of a
    sample is the sum of its values divided by the sum of the training means of the same features,
    so that missing values matter to neither.  "log" of others: log2(x + c), c = 0 where all
    training values of a feature are positive, else half the smallest positive one.  To c one of
    SHARES of the mean of the feature is added, the same share for all: that with which skewness^2 +
    excess kurtosis^2 / 4 (Jarque and Bera 1980) of the median feature is smallest.  Excess zeros,
    and the noise of small counts, need more than 0.
    "normal-scores": normal quantiles of mid-ranks, between training values by interpolation, at the
    ends clamped.

    kind : "log" or "normal-scores".
    mean : (p,) training means of counts, else (0,).
    state : (., k) of each feature that is transformed; of "log" c and the least that x + c is
        taken to be, of "normal-scores" the sorted training values, then infinity for each missing
        value.
    """

    kind: str
    mean: np.ndarray
    state: np.ndarray

    @classmethod
    def of(cls, kind: str, X: np.ndarray) -> "Transform":
        """Return a transform fitted to training samples (n, p); DataError for infinite values."""
        find_missing(X)
        X, none = X.astype(float), np.empty(0)
        if kind == SCORES:
            return cls(kind, none, np.sort(np.where(np.isnan(X), np.inf, X), axis=0))
        have = np.maximum(1, (~np.isnan(X)).sum(axis=0))
        mean = np.nansum(X, axis=0) / have
        least = np.fmin.reduce(np.where(X > 0, X, np.nan), axis=0) / 2
        least = np.where(np.isnan(least), 1, np.maximum(least, np.finfo(float).tiny))
        first = cls(kind, none, np.stack([np.where((X == 0).any(axis=0), least, 0), least]))
        if X.shape[1] >= LEAST_COUNTED and ((np.floor(X) == X) | np.isnan(X)).all():
            counts = cls(kind, mean, np.full_like(first.state, PRIOR_COUNT))
            # library sizes are sizes of something if logs vary less without them
            tables = counts.apply(X), np.log2(np.maximum(X, 0) + PRIOR_COUNT)
            spread = [np.nansum((one - np.nansum(one, axis=0) / have) ** 2) for one in tables]
            first = counts if spread[0] < spread[1] else first
        shifts = np.array([mean, np.zeros_like(mean)])
        each = [replace(first, state=first.state + share * shifts) for share in SHARES]
        return min(each, key=lambda one: _departure(one.apply(X)))

    def take(self, columns: np.ndarray) -> "Transform":
        """Return the transform of some of the features that `state` is of."""
        return replace(self, state=self.state[:, columns])

    def apply(self, X: np.ndarray, columns: Any = slice(None)) -> np.ndarray:
        """Return the transformed features (T, k) of samples (T, p).

        columns : those that `state` is of.
        """
        block = read_columns(X, columns).astype(float)
        find_missing(block)
        if self.kind == SCORES:
            return _normal_scores(block, self.state)
        if not len(self.mean):
            return np.log2(np.maximum(block + self.state[0], self.state[1]))
        of_present = np.where(np.isnan(X), 0, self.mean).sum(axis=1)
        size = np.nansum(X, axis=1) / np.where(of_present > 0, of_present, 1)
        block = block / np.where(size > 0, size, 1)[:, None] + self.state[0]
        return np.log2(block * (1e6 / max(1, self.mean.sum())))


def _departure(X: np.ndarray) -> float:
    """Return how far the median feature (n, p) that varies is from normal: see `Transform`."""
    missing = np.isnan(X)
    have = np.maximum(1, len(X) - missing.sum(axis=0))
    away = np.where(missing, 0, X - np.nansum(X, axis=0) / have)
    squared = away * away  # ten times as fast as powers
    factors = (away, away), (squared, away), (squared, squared)
    square, cube, fourth = (np.einsum("ij,ij->j", *pair) / have for pair in factors)
    if not (varies := square > np.finfo(float).eps).any():
        return 0.0
    square, cube, fourth = square[varies], cube[varies], fourth[varies]
    return float(np.median(cube**2 / square**3 + (fourth / square**2 - 3) ** 2 / 4))


def _normal_scores(block: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return the normal quantiles of the mid-ranks of values (T, k) among sorted ones (n, k)."""
    scores = block.copy()  # missing values stay
    for j, column in enumerate(state.T):
        values, new = column[np.isfinite(column)], ~np.isnan(block[:, j])
        if len(values):
            sides = [np.searchsorted(values, values, side) for side in ("left", "right")]
            of_values = special.ndtri(sum(sides) / (2 * len(values)))
            scores[new, j] = np.interp(block[new, j], values, of_values)
    return scores


def check_transform(kind: str, X: np.ndarray, names: Sequence[str] = ()) -> None:
    """Raise DataError for a value of a table (n, p) that a transform does not take."""
    for columns in chunks(X) if kind == LOG else ():
        block = read_columns(X, columns)
        if (block < 0).any():
            row, column = np.argwhere(block < 0)[0]
            place = columns.start + column
            name = quoted(names[place]) if len(names) else f"number {place + 1}"
            raise DataError(
                f"feature {name} is {block[row, column]:g} in sample {row + 1}, and {LOG} does not "
                f"accept negative values. Fix: use {SCORES} or {NO_TRANSFORM}, or correct the value"
            )


def read_columns(array: np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
    """Return array[:, columns]; for a memory-mapped array, copy them and release its pages."""
    if mapping(array) is None:
        return array[:, columns]
    parts = []
    for start in range(0, len(array), ROWS):
        parts.append(np.array(array[start : start + ROWS, columns]))
        release(array)
    return np.concatenate(parts)


def mapping(array: np.ndarray) -> mmap.mmap | None:
    """Return the map of the file that an array is a view of, if its pages can be read again.

    A private map (mode "c") does not qualify: its pages hold changes that are stored nowhere else.
    """
    base: np.ndarray | None = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode in ("r", "r+"):
            return base._mmap  # type: ignore[attr-defined]
        base = base.base
    return None


def release(array: np.ndarray) -> None:
    """Let the system take back the pages of a memory-mapped array that were read."""
    mapped = mapping(array)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
