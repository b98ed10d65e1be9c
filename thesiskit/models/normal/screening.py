"""Screening real features by the F statistic of a one-way analysis of variance.

| symbol | name | shape |
|---|---|---|
| n_g, cases of class g that have the feature | `counts` | (k, G) |
| m_g, class means | `means` | (k, G) |
| W, sum of squares within classes | `within` | (k,) |
| F | `f` | (k,) |

With two classes |COR|^2 = F / (F + N - 2), the thesis's screening (section "Our Method for Avoiding
Selection Bias", eq-cor-def).  A case in which a feature is missing does not count for it, so that
then n_g and the degrees of freedom differ by feature.  A column that does not vary is no feature.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from thesiskit.errors import DataError, UserError
from thesiskit.models.packed import chunks, find_missing, read_columns
from thesiskit.models.selection import NEARLY, check_table

BLOCK = 1 << 17  # values that are looked at together, so that they stay in a cache
LARGEST = 1e300  # F where nothing varies within classes
RELATIVE = 1e-12  # of a column's mean: less is no variation


@dataclass(frozen=True)
class FScreened:
    """A table that somebody kept from more features.

    of : how many features there were before.
    threshold : the F that those kept were above; None if the best ones were kept, so that it is
        the smallest F in the table.
    """

    of: int
    threshold: float | None = None


@dataclass(frozen=True)
class FSelection:
    """The features that were kept, strongest first, and what is known of the others.

    Attributes
    ----------
    selected : (k,) column indices, by falling F, then by column.
    threshold : every feature left out has an F of at most this.
    f : (k,) F of the kept features.
    counts : (k, G) cases of each class that have the feature.
    means : (k, G) class means; 0 where a class has no such case.
    within : (k,) sums of squares within classes.
    class_counts : (G,) cases of each class.
    n_features : p, the columns that vary; of a table that was screened before, how many it had.
    n_constant : columns that do not vary.
    tied, tied_kept : features whose F equals the threshold, and how many of these were kept.
    left_out : (D, G + 1) whole numbers: for each combination of counts among the features left
        out, the counts and how many features have them.
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

    @property
    def n_dropped(self) -> int:
        """Features left out, p - k."""
        return int(self.left_out[:, -1].sum())

    @property
    def correlation(self) -> np.ndarray:
        """|COR| of the kept features, (k,); with more than two classes the correlation ratio."""
        return correlation_of_f(self.f, self.counts)

    @property
    def gamma(self) -> float:
        """The same of the threshold, for features without missing values."""
        return float(correlation_of_f(np.array([self.threshold]), self.class_counts[None])[0])


def correlation_of_f(f: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return sqrt(F (G - 1) / (F (G - 1) + N - G)) of features with these class counts (., G)."""
    counts = np.asarray(counts)
    classes = (counts > 0).sum(axis=1)
    between = np.minimum(f, LARGEST) * (classes - 1)
    return np.sqrt(between / (between + counts.sum(axis=1) - classes))


def f_of_correlation(correlation: float, class_counts: np.ndarray) -> float:
    """Return the F statistic of a |COR| (with more than two classes: of a correlation ratio)."""
    classes = int((np.asarray(class_counts) > 0).sum())
    square = float(correlation) ** 2
    if square >= 1:
        return LARGEST
    return square / (1 - square) * (int(np.sum(class_counts)) - classes) / (classes - 1)


def select_by_f(
    X: np.ndarray,
    y: np.ndarray,
    k: int | None,
    rng: np.random.Generator,
    *,
    threshold: float | None = None,
    cases: np.ndarray | None = None,
    screened: FScreened | None = None,
    at_most: bool = False,
) -> FSelection:
    """Keep the k features with the largest F, or all with an F above a threshold.

    Parameters
    ----------
    X : (n, p) real features, NaN where one is missing; may be memory-mapped: it is read in parts.
    y : (n,) classes 0 to G - 1.
    k : number of features to keep; None when a threshold is given.
    rng : breaks ties at the cut.
    threshold : features with an F of at most this are left out.  May keep nothing.
    cases : row numbers to use, by default all; each class needs one of them.
    screened : what is known of a table that was kept from more features.  They are left out, too;
        k is None to keep all that there are.
    at_most : keep all that vary where they are fewer than k, which else is an error.

    Raises
    ------
    UserError: k above the number of columns that vary, or a table that cannot have been screened
    as `screened` says.  DataError: a class without cases, no column that varies, infinite values.
    """
    n, _ = check_table(X)
    y, counts = _check_classes(y, n, cases)
    used = np.arange(n) if cases is None else np.asarray(cases)
    rows = [used[y[used] == g] for g in range(len(counts))]
    f, present = _statistics(X, rows)
    varies = np.flatnonzero(f >= 0)
    if not len(varies):
        raise DataError("no column varies within the training cases, so nothing can be learned")
    if screened is not None and k is None and threshold is None:
        k = len(varies)
    if k is not None and at_most:
        k = min(k, len(varies))
    if (threshold is None) == (k is None):
        raise UserError("give either k or a threshold")
    if k is not None and not 1 <= k <= len(varies):
        constant = f" ({len(f) - len(varies):,} do not vary)" if len(varies) < len(f) else ""
        raise UserError(
            f"the number of features to keep must be from 1 to {len(varies):,}, got {k}{constant}"
        )
    place, cut, tied, tied_kept = _keep(f[varies], k, threshold, rng)
    selected = varies[place]
    selected = selected[np.lexsort((selected, -f[selected]))]
    _, moments = _moments(read_columns(X, selected), rows)
    rest = np.setdiff1d(varies, selected, assume_unique=True)
    found = FSelection(
        selected=selected,
        threshold=cut,
        f=f[selected],
        counts=moments[0],
        means=moments[1],
        within=moments[2],
        class_counts=counts,
        n_features=len(varies),
        n_constant=len(f) - len(varies),
        tied=tied,
        tied_kept=tied_kept,
        left_out=_count_left_out(counts, None if present is None else present[rest], len(rest)),
    )
    return found if screened is None else _add_unseen(found, screened, float(f[varies].min()))


def _check_classes(y, n: int, cases) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes as whole numbers, and how many cases of each there are."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise DataError(f"{n} cases in the features but responses of shape {y.shape}")
    y = y.astype(np.intp)
    classes = max(2, int(y.max()) + 1)
    counts = np.bincount(y if cases is None else y[cases], minlength=classes)
    if (counts == 0).any():
        raise DataError(
            f"class {int(np.argmin(counts))} has no training case; every class needs one"
        )
    if counts.sum() <= classes:
        raise DataError(
            f"{counts.sum()} training cases of {classes} classes; more cases than classes are "
            "needed"
        )
    return y, counts


def _statistics(X: np.ndarray, rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
    """Return F of every column, -1 where it does not vary, and its class counts if they differ."""
    f = np.empty(X.shape[1])
    present: np.ndarray | None = None
    everywhere = [len(one) for one in rows]
    for columns in chunks(X):
        block = read_columns(X, columns)
        width = max(1, BLOCK // max(1, len(block)))
        for start in range(0, block.shape[1], width):
            part = slice(columns.start + start, min(columns.start + start + width, columns.stop))
            missing, moments = _moments(block[:, start : start + width], rows, part.start)
            f[part] = _f(*moments)
            if missing and present is None:
                present = np.tile(np.array(everywhere, dtype=np.int32), (len(f), 1))
            if missing and present is not None:
                present[part] = moments[0]
    return f, present


def _moments(
    block: np.ndarray, rows: list[np.ndarray], first: int = 0
) -> tuple[bool, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return whether values are missing, and counts (w, G), means (w, G) and W (w,) of columns.

    first : the number of the first column, for messages.  What varies by less than RELATIVE of its
    mean is constant: its means are equal and its W is 0.
    """
    used = np.concatenate(rows)
    values = block[used].astype(float)
    try:
        missing = find_missing(values, first)
    except DataError:
        find_missing(block, first)  # says the same with the case's own number
        raise
    if missing is not None:
        values[missing] = 0
    ends = np.cumsum([0, *map(len, rows)])
    parts = [slice(*pair) for pair in pairwise(ends)]
    width = values.shape[1]
    counts = np.empty((width, len(rows)), dtype=np.int64)
    means = np.empty((width, len(rows)))
    for g, part in enumerate(parts):
        mine = values[part]
        counts[:, g] = len(mine) if missing is None else len(mine) - missing[part].sum(axis=0)
        means[:, g] = mine.sum(axis=0) / np.maximum(1, counts[:, g])
    within = np.zeros(width)
    for g, part in enumerate(parts):
        away = values[part] - means[:, g]
        if missing is not None:
            away[missing[part]] = 0
        within += np.square(away, out=away).sum(axis=0)
    return missing is not None, (counts, means, within)


def _f(counts: np.ndarray, means: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return F of each column, -1 where it does not vary or too few cases have it."""
    n, classes = counts.sum(axis=1), (counts > 0).sum(axis=1)
    mean = (counts * means).sum(axis=1) / np.maximum(1, n)
    between = (counts * (means - mean[:, None]) ** 2).sum(axis=1)
    size = np.square(means).max(axis=1) * n
    constant = within + between <= RELATIVE**2 * size
    with np.errstate(divide="ignore", invalid="ignore"):
        f = between / (classes - 1) / (within / (n - classes))
    return np.where(constant | (classes < 2) | (n <= classes), -1.0, np.minimum(f, LARGEST))


def _keep(f: np.ndarray, k: int | None, threshold: float | None, rng):
    """Return which to keep, the cut, and how many tie with it and are kept.

    Equal columns can have an F that differs in the last digit, so near ones count as equal.
    """
    if threshold is not None:
        return np.flatnonzero(f > threshold), float(threshold), 0, 0
    assert k is not None
    edge = float(np.partition(f, len(f) - k)[len(f) - k])
    near = np.abs(f - edge) <= NEARLY * edge
    sure, tied = np.flatnonzero((f > edge) & ~near), np.flatnonzero(near)
    wanted = k - len(sure)
    kept = tied if wanted == len(tied) else rng.choice(tied, wanted, replace=False)
    return np.concatenate([sure, kept]), float(f[tied].max()), len(tied), len(kept)


def _count_left_out(counts: np.ndarray, present: np.ndarray | None, rest: int) -> np.ndarray:
    """Return class counts, and how many of the features left out have them, (D, G + 1)."""
    if rest == 0:
        return np.empty((0, len(counts) + 1), dtype=np.int64)
    if present is None:
        return np.array([[*counts, rest]], dtype=np.int64)
    groups, copies = np.unique(present, axis=0, return_counts=True)
    return np.column_stack([groups, copies]).astype(np.int64)


def _add_unseen(found: FSelection, screened: FScreened, weakest: float) -> FSelection:
    """Return a selection from a screened table: features that are not in it are left out as well.

    weakest : the smallest F in the table.
    """
    unseen = screened.of - found.n_features
    if unseen < 0:
        raise UserError(
            f"the table has {found.n_features:,} features that vary, so it cannot have been kept "
            f"from {screened.of:,}; give the number of features before the screening"
        )
    cut = weakest if screened.threshold is None else screened.threshold
    if cut > weakest * (1 + NEARLY):
        raise UserError(
            f"a feature of the table has an F of {weakest:.6g}, which is less than the threshold "
            f"{cut:.6g} of the screening; give a smaller threshold, or none if the best features "
            "were kept"
        )
    everything = len(found.selected) == found.n_features
    threshold = cut if everything else max(found.threshold, cut)
    rows = _count_left_out(found.class_counts, None, unseen)
    groups, which = np.unique(
        np.concatenate([found.left_out, rows])[:, :-1], axis=0, return_inverse=True
    )
    numbers = np.concatenate([found.left_out[:, -1], rows[:, -1]])
    copies = np.bincount(which.reshape(-1), numbers, len(groups)).astype(np.int64)
    return replace(
        found,
        n_features=screened.of,
        threshold=threshold,
        left_out=np.column_stack([groups, copies]),
    )
