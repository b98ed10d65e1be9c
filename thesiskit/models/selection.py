"""Screening features by their absolute correlation with the response.

| thesis | name | shape |
|---|---|---|
| x_t^train | rows of `PackedFeatures.words` (models/packed) | (p, ceil(n / 64)) uint64 |
| I0, I1 | `ones[:, 0]`, `ones[:, 1]`: ones of a feature in each class | (p, 2) |
| gamma^2 | `gamma_squared`, a Fraction | |
| N_0, N_1 of a feature; p - k | `LeftOut.rows[:, :2]`; `LeftOut.total` | (D, 2) |

Sections "Our Method for Avoiding Selection Bias" (eq-cor-def) and "Computation of the Adjustment
Factor for Naive Bayes Models" (cor-express).  A feature is dropped when |COR| <= gamma; of binary
features that is decided exactly, in integers.  A sample in which a feature is missing does not
count for it, so that then n0, n1 and n = n0 + n1 differ by feature.

On binary data the weakest feature kept attains gamma exactly, so comparisons that decide are made
on integers: COR^2 = (n I1 - n1 s)^2 / (n0 n1 s (n - s)), s = I0 + I1, and 0 where that is 0 / 0.

The event S is that features were left out.
Where a threshold was given beforehand, each of them has |COR| <= gamma.  Where k features
were kept, gamma is the |COR| of the weakest of them, and on discrete data others can have the same:
of the T features with |COR| = gamma, m were kept by lot, and t = T - m were not.  The selection
knows t; then the others are below gamma.  In a table that somebody else has screened, t is not
known.  With e = P(|COR| = gamma), s = P(|COR| < gamma) of one feature and d = p - k,

    P(S) = (e + s)^d                                            for a threshold,
    P(S) = e^t s^(d - t)                                        where t is known,
    P(S) = sum over t of C(d, t) e^t s^(d - t) / C(m + t, m)    where it is not,

up to factors without parameters.

Real features and any number of classes are screened by the F statistic of a one-way analysis of
variance (`FSelection`).  With two classes |COR|^2 = F / (F + N - 2), the thesis's screening
(eq-cor-def).  A column that does not vary is no feature.

A real response y is the same with another F.  Let z = (y - mean) / sd over the training samples,
of which n_j have feature j, and let b_j be the slope of its least-squares line on z, and W_j the
residual sum of squares.  Then

    F_j = (n_j - 2) b_j^2 S_j / W_j,   S_j = sum of (z - mean of z)^2 over these samples,

so that |COR|^2 = F / (F + n_j - 2) again: one column of `counts`, which stands for two parameters.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from numbers import Real
from operator import index

import numpy as np
from scipy import special

from thesiskit._kernels import screening  # type: ignore[attr-defined]
from thesiskit.errors import DataError, UserError
from thesiskit.models.packed import (
    PackedFeatures,
    as_bits,
    chunks,
    find_missing,
    read_columns,
    sample_masks,
)

TIES = ("exact", "as-printed")
THRESHOLD = "threshold"  # in place of these, where gamma was given beforehand
NEARLY = 1e-12  # relative distance below which floating squared correlations are compared exactly
BLOCK = 1 << 17  # values that are looked at together, so that they stay in a cache
ORDINARY = 1e-100, 1e100  # values whose squares, and sums of these, are exact enough
LARGEST = 1e300  # F where nothing varies within classes
RELATIVE = 1e-12  # of a column's mean: less may be no variation, and of its own rounding
ROUNDING = 1e-15  # of the mean: less is no variation
WITHIN, BELOW, AT, LOT = range(4)  # |COR| <= gamma, < gamma, = gamma; not known how many are equal


@dataclass(frozen=True)
class LeftOut:
    """The features left out.

    Attributes
    ----------
    rows : (D, 4) whole numbers: the samples of class 0 and of class 1 that have a feature, which of
        the events WITHIN, BELOW, AT and LOT it is, and of how many features.
    gamma_squared : the square of gamma.
    tied_kept : of LOT, m: how many features with |COR| = gamma were kept.
    """

    rows: np.ndarray
    gamma_squared: Fraction
    tied_kept: int = 0

    @property
    def total(self) -> int:
        """How many features were left out, p - k."""
        return int(self.rows[:, 3].sum())

    @classmethod
    def of(
        cls,
        counts: dict[int, int],
        class_counts: tuple[int, int],
        gamma_squared: Fraction,
        tied_kept: int = 0,
    ) -> "LeftOut":
        """Return features that all have the same samples: how many there are, by event."""
        rows = [[*class_counts, event, count] for event, count in counts.items() if count]
        return cls(np.array(rows, dtype=np.int64).reshape(-1, 4), gamma_squared, tied_kept)


@dataclass(frozen=True)
class Screened:
    """A table that somebody kept from more features.

    of : how many features there were before.
    threshold : what COR^2 of the kept ones was above, a Fraction, or a float their F; None if the
        best were kept, so that it is the smallest in the table.
    """

    of: int
    threshold: Fraction | float | None = None


@dataclass(frozen=True)
class Selection:
    """The features that were kept, strongest first, and the bound on the others.

    Attributes
    ----------
    selected : (k,) column indices, by falling |COR|, then by column.
    gamma_squared : every feature left out has COR^2 <= gamma_squared.
    ones : (k, 2) ones of the kept features in each class.
    class_counts : (n0, n1).
    n_features : p.
    tied, tied_kept : features whose |COR| equals gamma, and how many of these were kept.
    correlation : (k,) |COR| of the kept features.
    left_out : what is known of the features left out.
    present : (k, 2) samples of each class in which a kept feature is not missing; None where no
        feature has missing values.
    """

    selected: np.ndarray
    gamma_squared: Fraction
    ones: np.ndarray
    class_counts: tuple[int, int]
    n_features: int
    tied: int
    tied_kept: int
    correlation: np.ndarray
    left_out: LeftOut | None = None
    present: np.ndarray | None = None

    @property
    def n_dropped(self) -> int:
        """Features left out, p - k."""
        return self.n_features - len(self.selected)


@dataclass(frozen=True)
class FSelection:
    """The features that were kept by F, strongest first, and what is known of the others.

    Attributes
    ----------
    selected : (k,) column indices, by falling F, then by column.
    threshold : every feature left out that no value lacks has an F of at most this.
    f : (k,) F of the kept features.
    counts : (k, G) samples of each class that have the feature; of a real response (k, 1).
    means : (k, G) class means; 0 where a class has no such sample.  Of a real response (k, 1).
    within : (k,) sums of squares within classes, or about the line, of values times `unit`.
    unit : 1, or the power of two that makes the largest values ordinary numbers.
    class_counts : (G,) samples of each class.
    n_features : p, the columns that vary; of a table that was screened before, how many it had.
    n_constant : columns that do not vary.
    tied, tied_kept : features whose F equals the threshold, and how many of these were kept.
    left_out : (D, G + 1) whole numbers: for each combination of counts among the features left
        out, the counts and how many features have them.
    limits : (D,) what their F is at most: `threshold`, but of a bound on |COR| another F for each
        combination of counts.
    lines : (k, 3) of a real response, standardised to z: the slope b_j, and the mean and S_j of z
        over the samples that have the feature.
    center, spread : mean and standard deviation (divided by n) of a real response.
    """

    selected: np.ndarray
    threshold: float
    f: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    within: np.ndarray
    class_counts: np.ndarray
    n_features: int
    n_constant: int
    tied: int
    tied_kept: int
    left_out: np.ndarray
    limits: np.ndarray
    unit: float = 1.0
    lines: np.ndarray | None = None
    center: float | None = None
    spread: float | None = None

    @property
    def n_dropped(self) -> int:
        """Features left out, p - k."""
        return int(self.left_out[:, -1].sum())

    @property
    def scaled(self) -> np.ndarray:
        """Class means times `unit`, (k, G)."""
        return self.means * self.unit

    @property
    def correlation(self) -> np.ndarray:
        """|COR| of the kept features, (k,); with more than two classes the correlation ratio."""
        return correlation_of_f(self.f, self.counts)


def squared_correlation(ones0: int, ones1: int, n0: int, n1: int) -> Fraction:
    """Return Cor(I0, I1)^2 exactly (cor-express), 0 where the correlation is undefined."""
    ones0, ones1, n0, n1 = (index(count) for count in (ones0, ones1, n0, n1))
    n, s = n0 + n1, ones0 + ones1
    denominator = n0 * n1 * s * (n - s)
    if denominator == 0:
        return Fraction(0)
    return Fraction((n * ones1 - n1 * s) ** 2, denominator)


def distinct_counts(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct rows of counts (m, 2) or (m, 4) in order, the row of each, and copies.

    Complex numbers are compared by real parts, then imaginary ones, much faster than rows are.
    """
    width = np.int64(counts.max(initial=0) + 1)
    code = counts[:, 0] * width + counts[:, 1]
    if counts.shape[1] == 4:
        code = code + 1j * (counts[:, 2] * width + counts[:, 3])  # exact below 2^53
    code, place, copies = np.unique(code, return_inverse=True, return_counts=True)
    parts = (code.real, code.imag)[: counts.shape[1] // 2]
    rows = np.column_stack([digit for part in parts for digit in np.divmod(part, width)])
    return rows.astype(counts.dtype), place, copies


def correlation_lattice(n0: int, n1: int, gamma: Fraction | str) -> tuple[np.ndarray, np.ndarray]:
    """Return Cor(I0, I1) and its kind, (n0 + 1, n1 + 1) each (Figure 2.3).

    Kinds: 0 where Cor = 0, 1 where 0 < |Cor| <= gamma (dropped, too), 2 where a feature is kept.
    """
    shape = (n0 + 1, n1 + 1)
    correlation, kind = np.zeros(shape), np.zeros(shape, dtype=np.uint8)
    cut = Fraction(gamma) ** 2
    for i0, i1 in np.ndindex(shape):
        square = squared_correlation(i0, i1, n0, n1)
        sign = 1 if i1 * n0 > i0 * n1 else -1
        correlation[i0, i1] = sign * float(square) ** 0.5
        kind[i0, i1] = 0 if square == 0 else 1 if square <= cut else 2
    return correlation, kind


@lru_cache(maxsize=256)
def reach(n0: int, n1: int, gamma_squared: Fraction, *, attained: bool = False) -> np.ndarray:
    """Return r[I1], the largest I0 with Cor(I0, I1) > gamma, -1 where there is none, (n1 + 1,).

    Section "Computation of the Adjustment Factor ..."; strictly above, compared in integers.  With
    `attained`, the largest I0 with Cor(I0, I1) >= gamma, which must be positive.
    """
    top, bottom = gamma_squared.numerator, gamma_squared.denominator
    n0, n1 = index(n0), index(n1)  # NumPy's integers would overflow below
    n = n0 + n1
    result = np.full(n1 + 1, -1, dtype=np.intp)
    i0 = -1
    for i1 in range(n1 + 1):
        # Cor falls with I0 and grows with I1, so r never decreases
        while i0 < n0:
            s = i0 + 1 + i1
            d = n * i1 - n1 * s
            if d <= 0:
                break
            deviation, bound = bottom * d * d, top * n0 * n1 * s * (n - s)
            if deviation < bound or (deviation == bound and not attained):
                break
            i0 += 1
        result[i1] = i0
    result.flags.writeable = False
    return result


def tied_pairs(n0: int, n1: int, gamma_squared: Fraction) -> np.ndarray:
    """Return the pairs (I0, I1) with COR^2 = gamma^2 > 0, (., 2)."""
    most = reach(n0, n1, gamma_squared, attained=True)
    positive = np.flatnonzero(most > reach(n0, n1, gamma_squared))
    pairs = np.column_stack([most[positive], positive])
    # zeros and ones exchanged
    return np.concatenate([pairs, (n0, n1) - pairs]).astype(np.intp)


def as_gamma_squared(value) -> Fraction:
    """Return gamma^2, given as a Fraction or a pair of integers, as a Fraction."""
    gamma_squared = Fraction(*value) if isinstance(value, tuple) else Fraction(value)
    if gamma_squared < 0:
        raise UserError(f"gamma_squared must not be negative, got {gamma_squared}")
    return gamma_squared


def select_features(
    X: np.ndarray | PackedFeatures,
    y: np.ndarray,
    k: int | None,
    rng: np.random.Generator,
    *,
    threshold: Fraction | float | str | None = None,
    samples: np.ndarray | None = None,
    ties: str = "exact",
    prefiltered: Screened | None = None,
) -> Selection:
    """Keep the k features with the largest |COR(y, x_t)|, or all with |COR| above a threshold.

    Parameters
    ----------
    X : (n, p) table of 0, 1 and NaN (missing), or PackedFeatures; they are screened in integers.
        A table may be memory-mapped: it is read in chunks.
    y : (n,) responses, 0 and 1.
    k : number of features to keep; None when a threshold is given.
    rng : breaks ties at the cut.
    threshold : gamma; features with |COR| <= gamma are dropped.  A string ("0.2") or Fraction is
        taken exactly.  May keep nothing.
    samples : row numbers to use, by default all.
    ties : what `left_out` says where k features are kept: "exact" counts those that tie at the cut,
        "as-printed" says of all that |COR| <= gamma, as the thesis does.
    prefiltered : what is known of a table that was kept from more features, which are left out,
        too; k is None to keep all that there are.

    Raises
    ------
    UserError: k not in 1..p, fewer features before the screening than now, a weaker feature than
        it can have kept, features or responses that are not binary, lengths that differ, or a
        response with one value.
    """
    y = check_response(y, samples)
    n, p = (X.n, len(X)) if isinstance(X, PackedFeatures) else check_table(X)
    if n != len(y):
        raise DataError(f"{n} samples in the features but {len(y)} responses")
    if k is None and threshold is None and prefiltered is not None:
        k = p
    if (threshold is None) == (k is None):
        raise UserError("give either k or a threshold")
    if ties not in TIES:
        raise UserError(f"unknown ties {ties!r}. Fix: choose {' or '.join(TIES)}")
    cut = None if threshold is None else check_threshold(threshold) ** 2
    if k is not None and not (isinstance(k, Real) and 1 <= k <= p and k == int(k)):
        raise UserError(f"the number of features to select must be from 1 to {p}, got {k!r}")
    k = None if k is None else int(k)
    if not isinstance(X, PackedFeatures) and is_binary(X):
        X = PackedFeatures.pack(X)
    binary = np.isin(y if samples is None else y[samples], (0, 1)).all()
    if not (binary and isinstance(X, PackedFeatures)):
        raise UserError("the naive Bayes model needs binary features and a response of 0 and 1")
    rule = ties if cut is None else THRESHOLD
    result = _select_binary(X, y, samples, k, cut, rng, rule)
    if prefiltered is None:
        return result
    return _leave_out_unseen(result, X, y, samples, rule, prefiltered)


def _select_binary(packed, y, samples, k, cut, rng, rule: str) -> Selection:
    # of features with missing values, all are looked at for how many samples have those left out
    bound = (k, cut) if packed.known is None else (None, Fraction(0))
    columns, counts, score = count_features(packed, y, samples, *bound)

    class_counts = _class_counts(y, samples)
    selected, cut, tied, tied_kept = keep(
        score,
        lambda places: exact_squares(counts[places], class_counts),
        k,
        cut,
        partial(rng.choice, replace=False),
    )
    tied_out, out = len(tied) - tied_kept, len(packed) - len(selected)
    if packed.known is None:
        events = {BELOW: out - tied_out, AT: tied_out} if rule == "exact" else {WITHIN: out}
        left_out = LeftOut.of(events, class_counts, cut)
    else:
        event = np.full((len(packed), 1), BELOW if rule == "exact" else WITHIN)
        if rule == "exact":
            event[np.setdiff1d(tied, selected)] = AT
        rows = np.delete(np.hstack([counts[:, 2:], event]), selected, axis=0)
        left_out = LeftOut(added_up(rows), cut)
    return Selection(
        selected=columns[selected],
        gamma_squared=cut,
        ones=counts[selected, :2],
        class_counts=class_counts,
        n_features=len(packed),
        tied=len(tied),
        tied_kept=tied_kept,
        correlation=np.sqrt(score[selected]),
        left_out=left_out,
        present=None if packed.known is None else counts[selected, 2:],
    )


def _class_counts(y: np.ndarray, samples: np.ndarray | None) -> tuple[int, int]:
    codes = y if samples is None else y[samples]
    n1 = int(codes.sum())
    return len(codes) - n1, n1


def exact_squares(
    counts: np.ndarray, class_counts: tuple[int, int]
) -> tuple[list[Fraction], np.ndarray]:
    """Return COR^2 of the distinct rows of counts (m, 2) or (m, 4), and the row of each."""
    rows, place, _ = distinct_counts(counts)
    return [squared_correlation(*(*row, *class_counts)[:4]) for row in rows.tolist()], place


def _leave_out_unseen(
    selection: Selection, packed: PackedFeatures, y, samples, rule: str, prefiltered: Screened
) -> Selection:
    """Return a selection from a screened table: features that are not in it are left out as well.

    Where some of the table are left out, those that are not in it are below the cut, as if the
    whole table were there.  Where all are kept, the cut is that of the screening.  Nobody has seen
    in which samples they are missing: `_unseen` says.
    """
    assert selection.left_out is not None
    weakest, columns = weakest_features(packed, y, samples)
    p, of = selection.n_features, prefiltered.of
    cut = weakest if prefiltered.threshold is None else Fraction(prefiltered.threshold)
    limit = float(cut) ** 0.5 if cut > weakest else 0.0
    _check_screening(prefiltered, p, columns[0], "|COR|", float(weakest) ** 0.5, limit)
    everything = len(selection.selected) == p
    gamma_squared = cut if everything else selection.gamma_squared
    if rule == THRESHOLD:
        gamma_squared = max(selection.gamma_squared, cut)
    event = BELOW if rule == "exact" and not everything else WITHIN
    # how many of those that tie with the weakest were not kept by the screening, is not known
    if rule != "as-printed" and cut == weakest == gamma_squared:
        event = LOT if everything or rule == "exact" else WITHIN
    rows = selection.left_out.rows
    present = np.broadcast_to(selection.class_counts, selection.ones.shape)
    present = present if selection.present is None else selection.present
    present = np.concatenate([present, rows[:, :2]])
    totals = added_up(present, np.append(np.ones(len(selection.selected)), rows[:, 3]))
    unseen = np.insert(_unseen(totals, of - p, cut), 2, event, axis=1)
    rows = np.concatenate([rows, unseen])
    rows = added_up(rows[:, :-1], rows[:, -1])
    left_out = LeftOut(rows, gamma_squared, len(columns) if event == LOT else 0)
    return replace(selection, n_features=of, gamma_squared=gamma_squared, left_out=left_out)


def added_up(rows: np.ndarray, copies: np.ndarray | None = None) -> np.ndarray:
    """Return the distinct rows, and in one more column how many features each is of."""
    groups, place = np.unique(rows, axis=0, return_inverse=True)
    numbers = np.bincount(place.reshape(-1), copies, len(groups))
    return np.column_stack([groups, numbers]).astype(np.int64)


def _unseen(rows: np.ndarray, number: int, bound: Fraction | float) -> np.ndarray:
    """Return the counts of features that a screening left out, from those that it kept, (D, .).

    rows (m, G + 1) : class counts of those kept, and how many features have them.

    In few samples F is often above the bound by chance, with the probability q.  Of features with
    the same counts q + e are kept, e because they are relevant, so that for each one that was kept
    1 / (q + e) were there (Horvitz and Thompson 1952); e makes this right for all together.
    """
    classes = np.maximum(2, (rows[:, :-1] > 0).sum(axis=1))
    freedom = np.maximum(1, rows[:, :-1].sum(axis=1) - classes)
    chance = special.fdtrc(classes - 1, freedom, f_limits(bound, rows[:, :-1]))
    low, high = 1e-9, 1.0  # of e
    for _ in range(50):
        e = (low * high) ** 0.5
        weights = rows[:, -1] * (1 / np.minimum(chance + e, 1 - 1e-9) - 1)
        low, high = (e, high) if weights.sum() > number else (low, e)
    ends = np.rint(np.cumsum(weights) * (number / weights.sum())).astype(np.int64)
    shares = np.diff(ends, prepend=0)
    return np.column_stack([rows[:, :-1], shares])[shares > 0]


def weakest_features(
    packed: PackedFeatures, y: np.ndarray, samples: np.ndarray | None = None
) -> tuple[Fraction, np.ndarray]:
    """Return the smallest COR^2 among features, and the columns that have it."""
    _, counts, _ = count_features(packed, y, samples)
    squares, place = exact_squares(counts, _class_counts(y, samples))
    weakest = min(squares)
    smallest = np.array([square == weakest for square in squares])
    return weakest, np.flatnonzero(smallest[place])


def count_features(
    packed: PackedFeatures,
    y: np.ndarray,
    samples: np.ndarray | None,
    k: int | None = None,
    cut: Fraction | None = Fraction(0),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return column, counts and COR^2 of every feature that may be kept or tie at the cut.

    counts : ones in each class, (m, 2); where values are missing also the samples of each class
        that have the feature, (m, 4).
    k, cut : how many features are kept, or what their COR^2 is above; by default all are returned.
    """
    masks, class_counts = sample_masks(y, samples), _class_counts(y, samples)
    floor = 0.0 if cut is None else float(cut) * (1 - NEARLY)
    parts: list[tuple[np.ndarray, ...]] = []
    pending, enough = 0, 2 * (k or 0)
    for columns in packed.chunks():
        counts = packed.count_classes(columns, masks)
        score = np.empty(len(counts))
        if packed.known is None:
            screening.score_counts(counts, *class_counts, score)
        else:
            score = squares(counts[:, :2], counts[:, 2:])
        hits = np.flatnonzero(score >= floor)
        parts.append((columns.start + hits, counts[hits], score[hits]))
        pending += len(hits)
        if k is not None and cut is None and pending > enough:
            # raise the floor to the k-th best so far; features that tie with it are kept
            place, counts, score = (np.concatenate(part) for part in zip(*parts, strict=True))
            floor = np.partition(score, pending - k)[pending - k] * (1 - NEARLY)
            hits = np.flatnonzero(score >= floor)
            parts = [(place[hits], counts[hits], score[hits])]
            pending = len(hits)
            enough = 2 * pending
    place, counts, score = (np.concatenate(part) for part in zip(*parts, strict=True))
    return place, counts, score


def squares(n_present: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return COR^2 of each feature over its present samples, 0 for 0 / 0, (p,)."""
    n0, n1 = present.T.astype(float)
    n, s = n0 + n1, n_present.sum(axis=1).astype(float)
    denominator = n0 * n1 * s * (n - s)
    difference = n * n_present[:, 1] - n1 * s
    return np.divide(difference**2, denominator, out=np.zeros(len(s)), where=denominator > 0)


def keep(score, exact, k, cut, lot):
    """Return positions to keep, strongest first, the exact cut, those that tie with it, and how
    many of these are kept.

    Keeps k, or with k None all above `cut`.  `exact` returns the exact squares of some positions:
    a list of distinct squares, and the index of each position in this list.  It is called only
    for positions within NEARLY of the cut.  `lot` chooses so many of those that tie.
    """
    edge = float(cut) if k is None else np.partition(score, len(score) - k)[len(score) - k]
    near = np.abs(score - edge) <= NEARLY * edge
    sure = np.flatnonzero((score > edge) & ~near)
    near = np.flatnonzero(near)
    squares, place = exact(near)
    if k is not None:
        # the square at which the k-th strongest is reached
        room = k - len(sure)
        order = sorted(range(len(squares)), key=squares.__getitem__, reverse=True)
        reached = np.cumsum(np.bincount(place, minlength=len(squares))[order])
        cut = squares[order[int(np.searchsorted(reached, room))]]
    above = near[np.array([square > cut for square in squares], dtype=bool)[place]]
    tied = near[np.array([square == cut for square in squares], dtype=bool)[place]]
    tied_selected = tied[:0]
    if k is not None:
        n_needed = k - len(sure) - len(above)
        tied_selected = tied if n_needed == len(tied) else lot(tied, n_needed)
    positions = np.concatenate([sure, above, tied_selected])
    return positions[np.lexsort((positions, -score[positions]))], cut, tied, len(tied_selected)


def check_response(y: np.ndarray, samples: np.ndarray | None = None) -> np.ndarray:
    """Return y as a float array; raise unless it has two or more values among `samples`."""
    y = np.asarray(y)
    if y.ndim != 1 or len(y) == 0:
        raise DataError(f"the response must be a vector of samples, got shape {y.shape}")
    try:
        y = y.astype(float)
    except (TypeError, ValueError):
        raise DataError(
            f"the response must be numbers, got {y[0]!r}. Fix: code the classes as 0 and 1"
        ) from None
    if not np.isfinite(y).all():
        sample = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"the response is missing in sample {sample + 1}. Fix: remove such samples")
    if samples is not None and (len(samples) == 0 or len(np.unique(samples)) < len(samples)):
        raise UserError("samples must be row numbers, each at most once, and not none")
    codes = y if samples is None else y[samples]
    if (codes == codes[0]).all():
        raise DataError(f"the response has one class only ({codes[0]:g}); both are needed")
    return y


def check_table(X: np.ndarray) -> tuple[int, int]:
    """Return the shape of an (n, p) table; raise unless p > 0."""
    if X.ndim != 2 or X.shape[1] == 0:
        raise DataError(f"the features must be a (samples, features) table, got shape {X.shape}")
    return X.shape


def check_threshold(threshold: Fraction | float | str) -> Fraction:
    """Return the threshold; raise unless it is a number in [0, 1]."""
    try:
        value = Fraction(threshold)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        value = Fraction(-1)
    if not 0 <= value <= 1:
        raise UserError(f"the threshold must be a number from 0 to 1, got {threshold!r}")
    return value


def is_binary(X: np.ndarray) -> bool:
    """Whether every entry is 0, 1 or missing (NaN); an infinite value is an error."""
    for columns in chunks(X):
        block = read_columns(X, columns)
        missing = find_missing(block, columns.start)
        if missing is not None:
            block = np.where(missing, 0, block)
        if as_bits(block, columns.start, finite=True) is None:
            return False
    return True


def correlation_of_f(f: np.ndarray | float, counts: np.ndarray) -> np.ndarray:
    """Return |COR| (eq-cor-def), sqrt(F (G - 1) / (F (G - 1) + N - G)), of class counts (., G)."""
    counts = np.asarray(counts)
    classes = n_parameters(counts)
    between = np.minimum(f, LARGEST) * (classes - 1)
    return np.sqrt(between / (between + counts.sum(axis=-1) - classes))


def n_parameters(counts: np.ndarray) -> np.ndarray:
    """Return how many parameters the mean of a feature has: a class each, or 2 of a line."""
    classes = (counts > 0).sum(axis=-1)
    if counts.shape[-1] > 1:
        return classes
    return np.maximum(classes, 2)


def f_limits(bound: Fraction | float, counts: np.ndarray) -> np.ndarray:
    """Return the F that a bound means for features with class counts (m, G), (m,).

    A bound is an F, or as a Fraction COR^2 (with more than two classes the squared correlation
    ratio), whose F is another where other samples have the feature.
    """
    if not isinstance(bound, Fraction):
        return np.full(len(counts), float(bound))
    classes = n_parameters(counts)
    odds = float(bound / (1 - bound)) if bound < 1 else LARGEST
    f = odds * ((counts.sum(axis=1) - classes) / np.maximum(1, classes - 1))
    return np.minimum(f, LARGEST)


def select_by_f(
    X: np.ndarray,
    y: np.ndarray,
    k: int | None,
    rng: np.random.Generator,
    *,
    threshold: Fraction | float | None = None,
    samples: np.ndarray | None = None,
    prefiltered: Screened | None = None,
    at_most: bool = False,
) -> FSelection:
    """Keep the k features with the largest F, or all with an F above a threshold.

    Parameters
    ----------
    X : (n, p) real features, NaN where one is missing.
    y : (n,) classes 0 to G - 1, or as floats a real response.
    threshold : features with an F of at most this, or if it is a Fraction a COR^2, are left out.
    k, rng, samples, prefiltered : as of `select_features`; each class needs a sample.
    at_most : keep all that vary where they are fewer than k, which else is an error.

    Raises
    ------
    UserError: k above the number of columns that vary, or a table that cannot have been screened
    as `prefiltered` says.  DataError: a class without samples, a constant response, no column that
    varies, values that are infinite or too large.
    """
    n, _ = check_table(X)
    samples_of, z, scale = _check_response(np.asarray(y), n, samples)
    counts = np.array([len(members) for members in samples_of])
    f, present = _statistics(X, samples_of, z)
    varies = np.flatnonzero(f >= 0)
    if not len(varies):
        raise DataError("no column varies within the training samples, so nothing can be learned")
    if prefiltered is not None and k is None and threshold is None:
        k = len(varies)
    if k is not None and at_most:
        k = min(k, len(varies))
    if (threshold is None) == (k is None):
        raise UserError("give either k or a threshold")
    if k is not None and not 1 <= k <= len(varies):
        constant = f" ({len(f) - len(varies):,} do not vary)" if len(varies) < len(f) else ""
        raise UserError(
            f"the number of features to select must be from 1 to {len(varies):,}, got {k}{constant}"
        )
    score = f[varies]
    have = np.broadcast_to(counts, (len(f), len(counts))) if present is None else present
    if threshold is None:
        # F of equal columns can differ in the last digit, so near ones count as equal
        place, cut, ties, tied_kept = keep(
            score,
            lambda at: ([float(score[at].max())], 0 * at),
            k,
            None,
            partial(rng.choice, replace=False),
        )
    else:
        place = np.flatnonzero(score > f_limits(threshold, have[varies]))
        place = place[np.argsort(-score[place], kind="stable")]
        cut, ties, tied_kept = threshold, place[:0], 0
    selected = varies[place]
    _, units, moments = moments_of(read_columns(X, selected), samples_of, z=z)
    unit = float(min(units, default=1.0))
    left_out, bounds, p = _alike(have, np.delete(varies, place)), [cut], len(varies)
    if prefiltered is not None:
        p = prefiltered.of
        bounds.append(_screening_bound(prefiltered, score, varies, have))
        # what is left out of the table is below the cut, and if nothing is, there is no cut
        bounds = bounds[not len(left_out) :]
        unseen = _unseen(_alike(have, varies), p - len(varies), bounds[-1])
        rows = np.concatenate([left_out, unseen])
        left_out = added_up(rows[:, :-1], rows[:, -1])
    limits = np.max([f_limits(bound, left_out[:, :-1]) for bound in bounds], axis=0)
    if z is not None:
        moments[4][:, 0] /= units
    return FSelection(
        selected=selected,
        threshold=max(float(f_limits(bound, counts[None])[0]) for bound in bounds),
        f=f[selected],
        counts=moments[0],
        means=moments[1] / units[:, None] + moments[3][:, None],
        within=moments[2] * (unit / units) ** 2,
        unit=unit,
        class_counts=counts,
        n_features=p,
        n_constant=len(f) - len(varies),
        tied=len(ties),
        tied_kept=tied_kept,
        left_out=left_out,
        limits=limits,
        lines=None if z is None else moments[4],
        **scale,
    )


def _check_response(
    y: np.ndarray, n: int, samples: np.ndarray | None
) -> tuple[list[np.ndarray], np.ndarray | None, dict[str, float]]:
    """Return the samples of each class; or all, a real response in deviations, and its scale."""
    if y.shape != (n,):
        raise DataError(f"{n} samples in the features but responses of shape {y.shape}")
    rows = np.arange(n) if samples is None else np.asarray(samples)
    if y.dtype.kind != "f":
        y = y.astype(np.intp)
        return [rows[y[rows] == g] for g in range(_check_classes(y, samples))], None, {}
    finite = np.isfinite(y[rows])
    if not finite.all():
        sample = int(rows[~finite][0])
        raise DataError(f"the response is missing in sample {sample + 1}. Fix: remove such samples")
    if len(rows) <= 2:
        raise DataError(
            f"{len(rows)} training samples are too few for a line. Fix: give at least 3 samples"
        )
    unit = float(np.abs(y[rows]).max()) or 1.0  # squares of values of any size are numbers
    values = y[rows].astype(float) / unit
    mean, deviation = float(values.mean()), float(values.std())
    if not np.ptp(values) > RELATIVE:
        raise DataError(
            f"the response is {unit * mean:g} in all training samples, so nothing can be learned. "
            "Fix: name another response"
        )
    return [rows], (values - mean) / deviation, {"center": unit * mean, "spread": unit * deviation}


def _check_classes(y: np.ndarray, samples: np.ndarray | None) -> int:
    """Return the number of classes; raise DataError if one has no sample, or all too few."""
    classes = max(2, int(y.max()) + 1)
    counts = np.bincount(y if samples is None else y[samples], minlength=classes)
    if (counts == 0).any():
        raise DataError(f"class {int(np.argmin(counts))} has no training sample; each needs one")
    if counts.sum() <= classes:
        raise DataError(
            f"{counts.sum()} training samples of {classes} classes; more samples than classes are "
            "needed"
        )
    return classes


def _statistics(
    X: np.ndarray, rows: list[np.ndarray], z: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return F of every column, -1 where it does not vary, and its class counts if they differ."""
    f = np.empty(X.shape[1])
    present: np.ndarray | None = None
    everywhere = np.array([len(members) for members in rows], dtype=np.int32)
    for columns in chunks(X):
        block = read_columns(X, columns)
        width = max(1, BLOCK // max(1, len(block)))
        for start in range(0, block.shape[1], width):
            part = slice(columns.start + start, min(columns.start + start + width, columns.stop))
            missing, units, moments = moments_of(
                block[:, start : start + width], rows, part.start, z
            )
            f[part] = _f(units, moments)
            if missing:
                present = np.tile(everywhere, (len(f), 1)) if present is None else present
                present[part] = moments[0]
    return f, present


def moments_of(
    block: np.ndarray, rows: list[np.ndarray], first: int = 0, z: np.ndarray | None = None
) -> tuple[bool, np.ndarray, tuple[np.ndarray, ...]]:
    """Return whether values are missing, units (w,), and of columns counts, means, W and origins.

    first : the number of the first column, for messages.  counts and means are (w, G), W (w,).
    means and W are of values less their origin (w,), times their unit, a power of two.  These are 0
    and 1, unless values are not ORDINARY, or vary by less than RELATIVE of their mean.

    z : of the only rows, a standardised real response.  Then W is about least-squares lines, and
        after the origins come lines (w, 3): slope, mean of z, sum of squares of z about it.
    """
    training = np.concatenate(rows)
    values = block[training].astype(float)
    try:
        missing = find_missing(values, first)
    except DataError:
        find_missing(block, first)  # says the same with the sample's own number
        raise
    if missing is not None:
        values[missing] = 0
    most = np.abs(values).max(axis=0)
    odd = (most > ORDINARY[1]) | ((most > 0) & (most < ORDINARY[0]))
    units = np.ldexp(1.0, np.where(odd, np.clip(-np.frexp(most)[1], -1000, 1000), 0))
    if (units != 1).any():
        values *= units
    parts = [slice(*ends) for ends in pairwise(np.cumsum([0, *map(len, rows)]))]
    width = values.shape[1]
    counts = np.empty((width, len(rows)), dtype=np.int64)
    means = np.empty((width, len(rows)))
    for g, part in enumerate(parts):
        window = values[part]
        counts[:, g] = len(window) if missing is None else len(window) - missing[part].sum(axis=0)
        means[:, g] = window.sum(axis=0) / np.maximum(1, counts[:, g])
    within, origin = np.zeros(width), np.zeros(width)
    for g, part in enumerate(parts):
        away = values[part] - means[:, g]
        if missing is not None:
            away[missing[part]] = 0
        within += np.square(away, out=away).sum(axis=0)
    size = RELATIVE * np.abs(means).max(axis=1)
    flat = np.flatnonzero(
        (size > 0) & (within <= len(training) * size**2) & (np.ptp(means, axis=1) <= size)
    )
    moments: tuple[np.ndarray, ...] = (counts, means, within, origin)
    if z is not None:
        lines, within[:] = least_squares(values - means[:, 0], z, missing)
        moments += (lines,)
    if len(flat):
        near = block[:, flat].astype(float)
        origin[flat] = np.fmin.reduce(near[training], axis=0)
        _, units[flat], again = moments_of(near - origin[flat], rows, z=z)
        for moment, recomputed in zip(moments, again, strict=True):
            if moment is not origin:
                moment[flat] = recomputed
    return missing is not None, units, moments


def least_squares(
    away: np.ndarray, z: np.ndarray, missing: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return lines (w, 3) of `moments_of`, and sums of squares about them, (w,).

    away (n, w) : values less their mean; it becomes what is not on the lines, 0 where missing.
    """
    present = np.ones((len(z), 1)) if missing is None else 1.0 - missing
    middle = z @ present / np.maximum(present.sum(axis=0), 1)
    t = (z[:, None] - middle) * present
    squares = (t**2).sum(axis=0)
    away *= present
    slope = (away * t).sum(axis=0) / np.where(squares > RELATIVE**2, squares, np.inf)
    away -= slope * t
    lines = np.column_stack(np.broadcast_arrays(slope, middle, squares))
    return lines, (away**2).sum(axis=0)


def _f(units: np.ndarray, moments: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return F of each column, -1 where it does not vary or too few samples have it."""
    counts, means, within, origin, *lines = moments
    n, classes = counts.sum(axis=1), n_parameters(counts)
    mean = (counts * means).sum(axis=1) / np.maximum(1, n)
    between = (counts * (means - mean[:, None]) ** 2).sum(axis=1)
    if lines:
        slope, _, squares = lines[0].T
        between = slope**2 * squares
        classes = np.where(squares > RELATIVE**2, classes, 1)
    size = np.maximum(RELATIVE * np.abs(means).max(axis=1), ROUNDING * np.abs(origin * units))
    constant = within + between <= n * size**2
    with np.errstate(divide="ignore", invalid="ignore"):
        f = between / (classes - 1) / (within / (n - classes))
    return np.where(constant | (classes < 2) | (n <= classes), -1.0, np.minimum(f, LARGEST))


def _alike(counts: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the distinct class counts of some features, and how many have them, (D, G + 1)."""
    if not counts.strides[0]:  # all features have the same
        return np.array([[*counts[0], len(features)]], dtype=np.int64)[: min(len(features), 1)]
    return added_up(counts[features])


def _screening_bound(
    prefiltered: Screened, score: np.ndarray, varies: np.ndarray, counts: np.ndarray
) -> Fraction | float:
    """Return what F or COR^2 of the features of a screened table is above; F (., ) is `score`."""
    bound, statistic = prefiltered.threshold, "an F of"
    limit = 0.0 if bound is None else float(bound)
    if isinstance(bound, Fraction):
        statistic, limit, score = "|COR|", limit**0.5, correlation_of_f(score, counts[varies])
    weakest = int(score.argmin())
    _check_screening(prefiltered, len(varies), varies[weakest], statistic, score[weakest], limit)
    return float(score[weakest]) if bound is None else bound


def _check_screening(
    prefiltered: Screened, p: int, feature: int, statistic: str, weakest: float, limit: float
) -> None:
    """Raise UserError for a table that cannot have been screened so; `feature` is its weakest."""
    if prefiltered.of < p:
        raise UserError(
            f"the table has {p:,} features, so it cannot have been selected from "
            f"{prefiltered.of:,}. Fix: give the number of features before the filtering"
        )
    if limit > weakest * (1 + NEARLY):
        raise UserError(
            f"feature {feature + 1} has {statistic} {weakest:.6g}, which is less than the "
            f"threshold {limit:.6g} of the filtering. Fix: give a smaller threshold, or none if "
            "the best features were selected"
        )
